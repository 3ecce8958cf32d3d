"""Settings that may be for some cells only: the plain value, or a list of entries with ``when:``."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationInfo, WithJsonSchema, model_validator

from builder.documents.fields import (
    AptName,
    AxisName,
    AxisText,
    EnvName,
    EnvValue,
    PipRequirement,
    ProbeName,
    User,
    argument,
    leaf,
    refuse,
)
from builder.documents.nodes import Table, Text
from builder.documents.places import BaseText


class UnknownKeys:
    """Collects the unknown keys of all mappings, each with the keys that are known there."""

    def __init__(self) -> None:
        self.found: list[tuple[Text, tuple[str, ...]]] = []


class Section(BaseModel):
    """A mapping with a closed set of keys."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)

    @model_validator(mode="before")
    @classmethod
    def _keep_unknown_keys_apart(cls, data: object, info: ValidationInfo) -> object:
        """Take unknown keys out, so that the complaint can say which keys are known here."""
        if not isinstance(data, Table) or not isinstance(info.context, UnknownKeys) or cls.model_config.get("extra") != "forbid":
            return data
        known = tuple(cls.model_fields)
        kept = Table((key, value) for key, value in data.items() if key in known)
        kept.at = data.at
        info.context.found.extend((key, known) for key in data if key not in known and isinstance(key, Text))
        return kept


def _one_or_many(value: object) -> str:
    return "many" if isinstance(value, list) else "one"


def _plain_or_entries(value: object) -> str:
    """Return the form of a setting: a list with a mapping in it is one of entries, each with a ``when:`` of its own."""
    return "entries" if isinstance(value, list) and any(isinstance(item, dict) for item in value) else "plain"


OneOrMany = Annotated[
    Annotated[AxisText, Tag("one")] | Annotated[list[AxisText], Field(min_length=1), Tag("many")], Discriminator(_one_or_many)
]
WhenMap = Annotated[dict[AxisName, OneOrMany], Field(min_length=1)]


class Conditional(Section):
    """A setting that may be for some cells only."""

    when: WhenMap | None = Field(
        default=None,
        description="The cells this entry is for: axis to value, or to a list of which one must match. Left out: every cell. "
        "A value matches as in exclude: equal, or the bare name, or a specifier that contains the version written.",
    )


Pip = Annotated[list[PipRequirement], Field(description="Python requirements, as PEP 508 writes them; the lock pins them.")]
Apt = Annotated[list[AptName], Field(description="Names of Debian packages; the lock pins their versions.")]


class PackagesEntry(Conditional):
    """Packages to add. Of all entries that apply to a cell, the packages add up."""

    pip: Pip = Field(default_factory=list)
    apt: Apt = Field(default_factory=list)

    @model_validator(mode="after")
    def _names_packages(self) -> PackagesEntry:
        if not self.pip and not self.apt:
            refuse("this entry names no packages", "write pip: [...] or apt: [...]")
        return self


BaseList = Annotated[list[BaseText], Field(min_length=1)]
PlainBase = Annotated[
    Annotated[BaseText, Tag("one")] | Annotated[BaseList, Tag("many")],
    Discriminator(_one_or_many),
]
ProbeList = Annotated[list[ProbeName], Field(min_length=1)]
PlainProbes = Annotated[
    Annotated[ProbeName, Tag("one")] | Annotated[ProbeList, Tag("many")],
    Discriminator(_one_or_many),
]


def _program(text: str) -> str:
    value = argument(text)
    if " " in value:
        refuse(f"'{value}' is more than one word, and no shell reads it", f"write a list: [{', '.join(value.split())}]")
    return value


Program = Annotated[str, leaf(_program), WithJsonSchema({"type": "string", "pattern": "^[^\\s-]\\S*$"})]
Word = Annotated[str, leaf(str, as_written=True, empty=True), WithJsonSchema({"type": ["string", "number", "boolean"]})]
PlainEntrypoint = Annotated[
    Annotated[Program, Tag("one")] | Annotated[list[Word], Tag("many")],
    Discriminator(_one_or_many),
]
EnvMap = dict[EnvName, EnvValue]


class BaseEntry(Conditional):
    """A list of bases for some cells. Of the entries that apply to a cell, the last wins."""

    base: PlainBase = Field(description="What to start from: see base.")


class EnvEntry(Conditional):
    """Environment variables for some cells. Entries merge by name; of one name, the last wins."""

    env: EnvMap = Field(description="Environment variables of the finished image.")


class ProbesEntry(Conditional):
    """Probes for some cells. Of the entries that apply to a cell, the last wins."""

    probes: PlainProbes = Field(description="Names of the probes that test the image.")


class UserEntry(Conditional):
    """A user for some cells. Of the entries that apply to a cell, the last wins."""

    user: User = Field(description="The user of the finished image.")


class EntrypointEntry(Conditional):
    """An entry point for some cells. Of the entries that apply to a cell, the last wins."""

    entrypoint: PlainEntrypoint = Field(description="The entry point of the finished image.")


BaseSetting = Annotated[
    Annotated[PlainBase, Tag("plain")] | Annotated[list[BaseEntry], Field(min_length=1), Tag("entries")],
    Discriminator(_plain_or_entries),
]
EnvSetting = Annotated[
    Annotated[EnvMap, Tag("plain")] | Annotated[list[EnvEntry], Field(min_length=1), Tag("entries")],
    Discriminator(_plain_or_entries),
]
ProbesSetting = Annotated[
    Annotated[PlainProbes, Tag("plain")] | Annotated[list[ProbesEntry], Field(min_length=1), Tag("entries")],
    Discriminator(_plain_or_entries),
]
UserSetting = Annotated[
    Annotated[User, Tag("plain")] | Annotated[list[UserEntry], Field(min_length=1), Tag("entries")],
    Discriminator(_plain_or_entries),
]
EntrypointSetting = Annotated[
    Annotated[PlainEntrypoint, Tag("plain")] | Annotated[list[EntrypointEntry], Field(min_length=1), Tag("entries")],
    Discriminator(_plain_or_entries),
]
