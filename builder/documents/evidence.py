"""Evidence records on disk: JSON, one record a file, checked when read.

A record that is a file is unsigned: what a reader can hold against it is that its tier is what
its own results show. Signed records, as in-toto statements, carry the same fields as predicate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from builder.errors import Complaint, DocumentError, Where
from builder.model.evidence import Evidence, ProbeResult, ProbeStatus
from builder.model.matrix import Tier
from builder.model.oci import Digest, Platform
from builder.model.tier import record_tier

SCHEMA = "imgbuild/evidence/1"
_MAX_BYTES = 4 * 1024 * 1024
_HINT = "delete the file and test the variant again: imgbuild matrix test FILE"


def _a_digest(text: str) -> str:
    Digest.parse(text)
    return text


def _a_platform(text: str) -> str:
    Platform.parse(text)
    return text


_Digest = Annotated[str, AfterValidator(_a_digest)]
_Text = Annotated[str, Field(min_length=1, max_length=4096)]
_Instant = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class _Result(_Record):
    name: _Text
    tier: Tier
    status: ProbeStatus
    seconds: Annotated[float, Field(ge=0)]
    reason: str | None
    script_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    values: dict[str, JsonValue]


class _Evidence(_Record):
    schema_: Literal["imgbuild/evidence/1"] = Field(alias="schema")
    variant: _Text
    stack: _Text
    target: _Text | None
    accelerator: _Text | None
    platform: Annotated[str, AfterValidator(_a_platform)]
    digest: _Digest | None
    image_id: _Digest
    content: Annotated[str, Field(pattern=r"^c-[0-9a-f]{32}$")]
    recorded: _Instant
    engine: _Text
    tier: Tier
    simulated: bool
    host: dict[str, str]
    results: list[_Result]
    actual: dict[str, JsonValue]

    @model_validator(mode="after")
    def _hold(self) -> _Evidence:
        names = [result.name for result in self.results]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            msg = f"the probe {twice[0]!r} is there twice"
            raise ValueError(msg)
        if (self.target is None) != (self.accelerator is None):
            msg = "a record has both a target and its accelerator, or neither"
            raise ValueError(msg)
        shown = record_tier(_value(self))
        if shown is not self.tier:
            msg = f"the record says tier {self.tier.value!r}, and its results show {shown.value!r}"
            raise ValueError(msg)
        return self


def read_evidence(path: Path) -> Evidence:
    """Read one record; ``DocumentError`` naming the file, and line and field where they are known.

    A record is refused when its tier is not what its own results show. A file never counts as signed.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _refusal(path, f"it cannot be read: {error.strerror or error}") from error
    if len(data) > _MAX_BYTES:
        raise _refusal(path, f"it is {len(data)} bytes long, a record has at most {_MAX_BYTES}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refusal(path, f"it is not UTF-8: byte {error.start} is {data[error.start]:#04x}") from error
    document = _parsed(path, text)
    found = document.get("schema")
    if found != SCHEMA:
        raise _refusal(path, f"its schema is {found!r}, expected {SCHEMA!r}")
    try:
        return _value(_Evidence.model_validate_json(text))
    except ValidationError as error:
        raise DocumentError(tuple(_complaints(path, text, error)), hint=_HINT) from error


def evidence_text(evidence: Evidence) -> str:
    """Return a record as its file holds it: JSON, keys in a fixed order, ending in a line end."""
    document = {
        "schema": SCHEMA,
        "variant": evidence.variant,
        "stack": evidence.stack,
        "target": evidence.target or None,
        "accelerator": evidence.accelerator or None,
        "platform": str(evidence.platform),
        "digest": str(evidence.digest) if evidence.digest else None,
        "image_id": str(evidence.image_id),
        "content": evidence.content,
        "recorded": evidence.recorded,
        "engine": evidence.engine,
        "tier": evidence.tier.value,
        "simulated": evidence.simulated,
        "host": dict(sorted(evidence.host.items())),
        "results": [_result(result) for result in evidence.results],
        "actual": dict(evidence.actual),
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _result(result: ProbeResult) -> dict[str, Any]:
    return {
        "name": result.name,
        "tier": result.tier.value,
        "status": result.status.value,
        "seconds": result.seconds,
        "reason": result.reason,
        "script_sha256": result.script_sha256,
        "values": dict(result.values),
    }


def _value(read: _Evidence) -> Evidence:
    return Evidence(
        variant=read.variant,
        target=read.target or "",
        accelerator=read.accelerator or "",
        platform=Platform.parse(read.platform),
        digest=Digest.parse(read.digest) if read.digest else None,
        image_id=Digest.parse(read.image_id),
        content=read.content,
        recorded=read.recorded,
        engine=read.engine,
        tier=read.tier,
        results=tuple(ProbeResult(**result.model_dump()) for result in read.results),
        host=read.host,
        actual=read.actual,
        simulated=read.simulated,
        stack=read.stack,
    )


def _parsed(path: Path, text: str) -> Mapping[str, Any]:
    try:
        document = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise _refusal(path, f"it is not JSON: {error.msg.lower()}", line=error.lineno, column=error.colno) from error
    except (ValueError, RecursionError) as error:
        raise _refusal(path, f"it is not a record: {error}") from error
    if not isinstance(document, dict):
        raise _refusal(path, "it is not a record: expected a JSON object")
    return document


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        names = [name for name, _ in pairs]
        msg = f"the key {next(name for name in names if names.count(name) > 1)!r} appears twice"
        raise ValueError(msg)
    return document


def _refusal(path: Path, message: str, *, line: int = 1, column: int = 1) -> DocumentError:
    return DocumentError((Complaint(where=Where(file=str(path), line=line, column=column), message=message),), hint=_HINT)


def _complaints(path: Path, text: str, error: ValidationError) -> list[Complaint]:
    complaints = []
    for fault in error.errors(include_url=False, include_input=False):
        place = fault["loc"]
        line, column = _position(text, place)
        field = ".".join(str(part) for part in place)
        message = fault["msg"].removeprefix("Value error, ")
        where = Where(file=str(path), line=line, column=column, field=field)
        complaints.append(Complaint(where=where, message=message[:1].lower() + message[1:]))
    return complaints


def _position(text: str, place: Sequence[int | str]) -> tuple[int, int]:
    """Return the line and column of a field: JSON is YAML, and PyYAML knows where it read a node."""
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        return 1, 1
    for part in place:
        inner = _child(node, part)
        if inner is None:
            break
        node = inner
    return (node.start_mark.line + 1, node.start_mark.column + 1) if node is not None else (1, 1)


def _child(node: yaml.Node | None, part: int | str) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == part), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        item: yaml.Node = node.value[part]
        return item
    return None
