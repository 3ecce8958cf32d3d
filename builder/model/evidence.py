"""What was shown to work: probe results, records, outcomes of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from builder.model.matrix import Tier
from builder.model.oci import Digest, Platform


class ProbeStatus(StrEnum):
    """How one probe ended: exit 0, exit 77, anything else."""

    PASSED = "passed"
    SKIPPED = "skipped"
    FAILED = "failed"


JsonValue = str | int | float | bool | None | list["JsonValue"] | dict[str, "JsonValue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeScript:
    """A probe that applies to a variant: its name, the tier its passing shows, and its text.

    ``stack`` is the stack whose device a probe of the tier ``device`` must compute on.
    """

    name: str
    tier: Tier
    text: str
    sha256: str
    stack: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """What one probe reported. ``values`` is the JSON object of its last line; ``reason`` says why it did not pass."""

    name: str
    tier: Tier
    status: ProbeStatus
    seconds: float
    reason: str | None = None
    values: Mapping[str, JsonValue] = field(default_factory=dict)
    script_sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A record: this image gave these results on this target. ``recorded`` is UTC, ISO 8601.

    ``target`` and ``accelerator`` are empty for the host that builds when it is no target: such a
    record shows at most ``host-cpu``. ``stack`` is the name of the variant's stack. ``host`` are
    facts of the host that ran it (cpu model, kernel, driver, engine). ``content`` is the content
    id of what was built; ``signed`` is false for records that are files here.
    """

    variant: str
    target: str
    accelerator: str
    platform: Platform
    digest: Digest | None
    image_id: Digest
    content: str
    recorded: str
    engine: str
    tier: Tier
    results: tuple[ProbeResult, ...]
    host: Mapping[str, str] = field(default_factory=dict)
    actual: Mapping[str, JsonValue] = field(default_factory=dict)
    simulated: bool = False
    signed: bool = False
    stack: str = ""


class Status(StrEnum):
    """The end state of one variant in a run."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one variant ended.

    ``exit_code`` is the exit code its failure asks for, 0 when it did not fail; ``tier`` is the
    lowest over applicable targets, ``None`` when nothing was shown; ``digests`` and ``images``, the
    engine's names for what passed, by platform.
    ``fresh`` is false when an earlier run's image and results still hold and nothing was done.
    """

    variant: str
    status: Status
    tier: Tier | None = None
    digest: Digest | None = None
    digests: Mapping[str, Digest] = field(default_factory=dict)
    images: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    reason: str | None = None
    hint: str | None = None
    exit_code: int = 0
    fresh: bool = True
    log: str | None = None
