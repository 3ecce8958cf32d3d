"""The matrix file as pydantic models: its keys, their meaning in words, and the JSON Schema's source."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Discriminator, Field, PlainValidator, Tag, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from builder.documents import places
from builder.documents.fields import (
    AxisName,
    AxisText,
    Label,
    LinuxPlatform,
    Name,
    OptionText,
    TargetName,
    choice,
    leaf,
    refuse,
    tag_template,
    text_of,
    word,
)
from builder.documents.nodes import Table
from builder.documents.settings import (
    BaseSetting,
    EntrypointSetting,
    EnvSetting,
    PackagesEntry,
    ProbesSetting,
    Section,
    UserSetting,
)

FORMAT = 1
"""The format of matrix files that this program reads (``imgbuild: 1``)."""


class LocalRunner(Section):
    """This host."""

    kind: Literal["local"] = Field(description="How the target is reached.")


class SshRunner(Section):
    """A host reached by ssh, with the user's own ssh configuration."""

    kind: Literal["ssh"] = Field(description="How the target is reached.")
    host: OptionText = Field(description="The host as ssh takes it: builder@h100, or a name of the ssh configuration.")
    port: OptionText | None = Field(default=None, description="The port, where the ssh configuration does not say it.")
    key: OptionText | None = Field(default=None, description="The file of the private key.")
    jump: OptionText | None = Field(default=None, description="A host to go through, as ssh -J takes it.")


class SlurmRunner(Section):
    """A job of a Slurm cluster."""

    kind: Literal["slurm"] = Field(description="How the target is reached.")
    partition: OptionText | None = Field(default=None, description="The partition, as sbatch --partition takes it.")
    gres: OptionText | None = Field(default=None, description="The devices to ask for, such as gpu:1.")
    account: OptionText | None = Field(default=None, description="The account, as sbatch --account takes it.")
    qos: OptionText | None = Field(default=None, description="The quality of service, as sbatch --qos takes it.")
    constraint: OptionText | None = Field(default=None, description="Features that a node must have.")
    reservation: OptionText | None = Field(default=None, description="The reservation to use.")
    time: OptionText | None = Field(default=None, description='The time limit, as sbatch --time takes it: "00:30:00".')
    host: OptionText | None = Field(default=None, description="The login node, reached by ssh, where sbatch is not here.")


class KubernetesRunner(Section):
    """A job of a Kubernetes cluster."""

    kind: Literal["kubernetes"] = Field(description="How the target is reached.")
    resource: OptionText | None = Field(default=None, description="The device resource to ask for, such as habana.ai/gaudi.")
    count: OptionText | None = Field(default=None, description="How many of that resource.")
    namespace: OptionText | None = Field(default=None, description="The namespace of the job.")
    context: OptionText | None = Field(default=None, description="The context of the kubectl configuration.")
    node_selector: OptionText | None = Field(default=None, description="Labels of the node: key=value, key=value.")
    runtime_class: OptionText | None = Field(default=None, description="The runtime class, such as nvidia.")
    service_account: OptionText | None = Field(default=None, description="The service account of the job.")
    pull_secret: OptionText | None = Field(default=None, description="The name of the secret to pull images with.")


RUNNERS: dict[str, type[Section]] = {
    "local": LocalRunner,
    "ssh": SshRunner,
    "slurm": SlurmRunner,
    "kubernetes": KubernetesRunner,
}
_kind = choice(*RUNNERS)


def _runner_form(value: object) -> str:
    kind = value.get("kind") if isinstance(value, dict) else None
    return str(kind) if isinstance(kind, str) and kind in RUNNERS else "bare"


def _bare_runner(value: object) -> str:
    """Read a runner that is a bare kind; a mapping comes here when its kind is none that is known."""
    if isinstance(value, Table):
        if "kind" not in value:
            refuse("the runner has no kind", f"add kind: {', '.join(RUNNERS)}")
        try:
            return _kind(text_of(value["kind"]))
        except PydanticCustomError as error:
            refuse(error.message(), (error.context or {}).get("hint"), at=value["kind"].at)
    kind = _kind(text_of(value))
    if kind == "ssh":
        refuse("the runner ssh needs a host", "write {kind: ssh, host: user@name}")
    return kind


BareRunner = Annotated[str, PlainValidator(_bare_runner), WithJsonSchema({"enum": [kind for kind in RUNNERS if kind != "ssh"]})]
AnyRunner = Annotated[
    Annotated[BareRunner, Tag("bare")]
    | Annotated[LocalRunner, Tag("local")]
    | Annotated[SshRunner, Tag("ssh")]
    | Annotated[SlurmRunner, Tag("slurm")]
    | Annotated[KubernetesRunner, Tag("kubernetes")],
    Discriminator(_runner_form),
]


class TargetSection(Section):
    """A named place where images must run."""

    accelerator: places.Accelerator = Field(description="The device, vendor/model: nvidia/h100, cpu/x86-64-v3.")
    driver: places.Driver | None = Field(
        default=None,
        description="The kernel-side software of the host, in quotes. nvidia: the module's version, or the five digits of "
        "cudaDriverGetVersion. amd: AMD's number (30.30.0), or module:6.16.13. gaudi: the driver release. Intel GPU: "
        "kernel:6.14 xe. neuron: the dkms version. tpu and cpu have none.",
    )
    platform: LinuxPlatform | None = Field(
        default=None, description="OS and CPU architecture of the host; linux/amd64 if left out."
    )
    runner: AnyRunner = Field(default="local", description="How the target is reached; a bare kind is short for {kind: ...}.")
    labels: list[Label] = Field(
        default_factory=list, description="Labels of the CI runner that reaches this target. Not acted on yet."
    )
    engine: places.Engine | None = Field(
        default=None, description="What runs containers there, where it is not the matrix's engine. Not acted on yet."
    )
    container_path: places.ContainerPath | None = Field(
        default=None, description="How devices get into containers there: legacy (the hook) or cdi. Not acted on yet."
    )
    toolkit: places.Toolkit | None = Field(
        default=None, description="The version of the container toolkit there, in quotes. Not acted on yet."
    )
    nodes: places.Positive = Field(default=1, description="How many hosts work together as this target. Not acted on yet.")
    fabric: dict[places.FabricName, OptionText] = Field(
        default_factory=dict,
        description="The network between several nodes, name to value, such as ofed or libfabric with a version. "
        "Not acted on yet.",
    )


class ExcludeEntry(Section):
    """Cells to leave out: axis to value. The other axes do not matter."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")
    __pydantic_extra__: dict[AxisName, AxisText]

    reason: Annotated[str, leaf(word), WithJsonSchema({"type": "string"})] | None = Field(
        default=None, description="Why; shown wherever these cells are missed."
    )

    @model_validator(mode="after")
    def _names_an_axis(self) -> ExcludeEntry:
        if not self.__pydantic_extra__:
            refuse("this exclude names no axis", "write axis: value, such as {stack: cuda, reason: ...}")
        return self


IncludeEntry = Annotated[dict[AxisName, AxisText], Field(min_length=1)]


class AxesSection(Section):
    """The axes, each a list of values: their product, minus exclude, plus include, as GitHub Actions does it."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")
    __pydantic_extra__: dict[AxisName, Annotated[list[AxisText], Field(min_length=1)]]

    exclude: list[ExcludeEntry] = Field(
        default_factory=list,
        description="Cells to leave out. A value matches when it is equal, or the bare name, or a specifier of the same name "
        "that contains the version written (==X, or ==X.* read as X).",
    )
    include: list[IncludeEntry] = Field(
        default_factory=list,
        description="After exclude: extends every cell of the product whose values it does not contradict, else adds a cell.",
    )


class PublishSection(Section):
    """What must have been shown before a variant is published."""

    tier: places.TierName = Field(
        description="The lowest tier that is published: rendered < built < imported < host-cpu < device < fleet."
    )


class LimitsSection(Section):
    """Upper bounds."""

    size: places.Size | None = Field(default=None, description='Of a finished image: bytes, or a text such as "20GB" or "20GiB".')
    seconds: places.Seconds | None = Field(default=None, description='Of one build or probe: seconds, or a text such as "30m".')


class BasesSection(Section):
    """How bases are had."""

    mode: places.BaseMode = Field(
        default="reference", description="reference: from where the vendor keeps them; mirror: from a copy in your own registry."
    )
    distribution: places.DistributionMode = Field(
        default="auto",
        description="assembled: made here from the distribution's own packages, without a registry; registry: pulled by digest; "
        "auto: assembled where this host can, else registry.",
    )


class BoundSection(Section):
    """Bounds of one measured value, in its own unit."""

    minimum: places.Number | None = Field(default=None, description="The least it may be.")
    maximum: places.Number | None = Field(default=None, description="The most it may be.")

    @model_validator(mode="after")
    def _bounds_something(self) -> BoundSection:
        if self.minimum is None and self.maximum is None:
            refuse("this bound has no minimum and no maximum", "write minimum: or maximum:")
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            refuse(f"the minimum {self.minimum:g} is above the maximum {self.maximum:g}", "swap them")
        return self


def _format(value: object) -> int:
    number = places.whole(value)
    if number != FORMAT:
        refuse(f"this file says format {number}, and this program reads format {FORMAT}", f"write imgbuild: {FORMAT}")
    return number


Format = Annotated[int, PlainValidator(_format), WithJsonSchema({"const": FORMAT})]
Tags = Annotated[
    list[Annotated[str, leaf(tag_template), WithJsonSchema({"type": "string", "minLength": 1})]], Field(min_length=1)
]


class MatrixFile(Section):
    """What to build, where it must run, and how it is tested."""

    imgbuild: Format = Field(description="The format of this file.")
    name: Name = Field(description="The name of the matrix, a part of image names where there is no repository.")
    repository: places.Repository | None = Field(
        default=None, description="Where images go, without a tag; localhost/imgbuild/NAME if left out."
    )
    targets: dict[TargetName, TargetSection] = Field(default_factory=dict, description="Named places where images must run.")
    matrix: AxesSection = Field(description="The axes; framework, stack and python are needed, your own come on top.")
    base: BaseSetting | None = Field(
        default=None,
        description="What to start from, in order of preference: vendor, stack, distribution, or an image with tag or digest. "
        "The first that exists for the cell is taken.",
    )
    packages: list[PackagesEntry] = Field(default_factory=list, description="Packages to add, all or for some cells.")
    env: EnvSetting | None = Field(default=None, description="Environment variables of the finished image.")
    probes: ProbesSetting | None = Field(default=None, description="The smoke tests of the finished image.")
    user: UserSetting | None = Field(
        default=None, description="The user of the finished image: a name or number, group behind a colon."
    )
    entrypoint: EntrypointSetting | None = Field(
        default=None, description="The entry point of the finished image, a list of words; [] takes the base's away."
    )
    tags: Tags = Field(
        default_factory=lambda: ["{id}"],
        description="Tags of the finished images: {framework} (pytorch2.9.1), {stack} (rocm7.2.4), {python} (3.12), {id}, "
        "{base}, {date} (of the lock), and your own axes by name.",
    )
    platforms: Annotated[list[LinuxPlatform], Field(min_length=1)] | None = Field(
        default=None, description="Platforms of every image, one index per variant; linux/amd64 if left out."
    )
    publish: PublishSection | None = Field(default=None, description="What is published. Not acted on yet: nothing publishes.")
    licence: dict[places.ImageName, places.Accepted] = Field(
        default_factory=dict,
        description="Images of vendors whose terms you have read and accept: name to accepted. "
        "Not acted on yet: nothing publishes.",
    )
    engine: places.Engine | None = Field(
        default=None, description="What builds and runs containers; auto takes the one that answers."
    )
    builders: list[places.BuilderName] = Field(
        default_factory=list, description="Names of buildx builders to spread builds over. Not acted on yet."
    )
    mirrors: dict[places.ImagePrefix, places.ImagePrefix] = Field(
        default_factory=dict, description="Registries to ask instead: nvcr.io to registry.local/nv."
    )
    limits: LimitsSection | None = Field(default=None, description="Upper bounds.")
    bases: BasesSection | None = Field(default=None, description="How bases are had.")
    indexes: dict[places.IndexName, places.IndexUrl] = Field(
        default_factory=dict, description="Python package indexes by name; locks keep the name, never the URL."
    )
    bounds: dict[places.BoundName, BoundSection] = Field(
        default_factory=dict, description="Bounds of values that probes measure. Not acted on yet."
    )
