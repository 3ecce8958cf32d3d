"""What a set of probe results shows: the policy of tiers, in one place.

A tier is reached when something of it passed and nothing of it, or of a tier below it, failed:

* ``built``: there is an image; no result is needed.
* ``imported``: the import probe passed, and no other probe of that tier (declared is actual,
  packages fit) failed: an image that is not what it says shows nothing about the variant.
* ``host-cpu``: something was computed and its numbers were checked, on whatever device, and
  nothing that computes failed.
* ``device``: that, on the device of the variant's stack, with what proves the device:
  for ``cpu`` its model and level and a checked result; for others the device's identity (UUID,
  serial or PCI address), its arch, the driver where the vendor has one, and the name of a kernel
  that was seen to run there. Simulated and emulated devices never give it, nor does a record
  without a target, nor a CPU below the level that the target names.

``fleet`` is no tier of one record: it is every applicable target at ``device``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from builder.model.evidence import Evidence, ProbeResult, ProbeStatus
from builder.model.matrix import Tier

_LEVELS = ("x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4")
_WITHOUT_DRIVER = frozenset({"tpu"})
_IDENTITIES = ("uuid", "serial", "pci")
_CPU = "cpu"


def shown_tier(stack: str, results: Sequence[ProbeResult], *, accelerator: str | None = None, simulated: bool = False) -> Tier:
    """Return the tier that the results of one image on one host show.

    ``stack`` is a stack's name; ``accelerator`` the target's (``cpu/x86-64-v3``), where only its
    CPU level is compared with what was measured.
    """
    imported = [result for result in results if result.tier is Tier.IMPORTED]
    computed = [result for result in results if result.tier.rank > Tier.IMPORTED.rank]
    if not (_holds(imported) and any(_passed(result) and result.name == "import" for result in imported)):
        return Tier.BUILT
    if not (_holds(computed) and any(_checked(result) for result in computed)):
        return Tier.IMPORTED
    values = _merged(computed)
    if simulated or any(result.values.get("emulated") for result in results):
        return Tier.HOST_CPU
    return Tier.DEVICE if _on_device(stack, computed, values, accelerator) else Tier.HOST_CPU


def record_tier(evidence: Evidence) -> Tier:
    """Return the tier that a record's own results show, whatever tier it claims."""
    tier = shown_tier(evidence.stack, evidence.results, accelerator=evidence.accelerator or None, simulated=evidence.simulated)
    return tier if evidence.target else min(tier, Tier.HOST_CPU, key=lambda one: one.rank)


def fits_level(accelerator: str, measured: str) -> bool:
    """Return whether a CPU of the measured level is, or includes, the one a target names.

    An accelerator that is not named by a level (``cpu/epyc-9654``) fits: its level is not claimed.
    """
    level = accelerator.removeprefix("cpu/")
    if level in _LEVELS:
        return measured in _LEVELS and _LEVELS.index(measured) >= _LEVELS.index(level)
    if level.startswith(("arm", "aarch")):
        return measured.startswith(("arm", "aarch"))
    return True


def _passed(result: ProbeResult) -> bool:
    return result.status is ProbeStatus.PASSED


def _holds(results: Sequence[ProbeResult]) -> bool:
    return any(_passed(result) for result in results) and all(result.status is not ProbeStatus.FAILED for result in results)


def _checked(result: ProbeResult) -> bool:
    """Whether a probe compared at least one computed number with one it knew."""
    count = result.values.get("checked")
    return _passed(result) and isinstance(count, int) and not isinstance(count, bool) and count > 0


def _merged(results: Sequence[ProbeResult]) -> dict[str, object]:
    return {name: value for result in results if _passed(result) for name, value in result.values.items()}


def _on_device(stack: str, computed: Sequence[ProbeResult], values: dict[str, object], accelerator: str | None) -> bool:
    there = [result for result in computed if _checked(result) and result.values.get("device") == stack]
    if not stack or not there:
        return False
    if stack == _CPU:
        level = values.get("level")
        return _said(values, "model") and isinstance(level, str) and fits_level(accelerator or "", level)
    driver = stack in _WITHOUT_DRIVER or _said(values, "driver")
    identity = any(_said(values, name) for name in _IDENTITIES)
    kernel = any(_said(result.values, "kernel") for result in there)
    return driver and identity and kernel and _said(values, "arch")


def _said(values: Mapping[str, object], name: str) -> bool:
    value = values.get(name)
    return isinstance(value, str) and bool(value.strip())
