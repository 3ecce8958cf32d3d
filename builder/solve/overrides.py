"""What-if questions: a matrix with single settings of its targets replaced."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import replace

from builder.errors import UsageError
from builder.model.matrix import Matrix, Target
from builder.model.oci import Platform


def _platform(target: Target, value: str) -> Target:
    try:
        return replace(target, platform=Platform.parse(value))
    except ValueError as error:
        raise UsageError(str(error), hint="write a platform such as linux/arm64") from error


def _container_path(target: Target, value: str) -> Target:
    if value not in _CONTAINER_PATHS:
        msg = f"{value!r} is no way for devices to get into containers"
        raise UsageError(msg, hint=f"write {' or '.join(_CONTAINER_PATHS)}")
    return replace(target, container_path=value)


_CONTAINER_PATHS = ("legacy", "cdi")
_SETTERS: Mapping[str, Callable[[Target, str], Target]] = {
    "driver": lambda target, value: replace(target, driver=value),
    "accelerator": lambda target, value: replace(target, accelerator=value),
    "platform": _platform,
    "toolkit": lambda target, value: replace(target, toolkit=value),
    "container_path": _container_path,
}


def with_overrides(matrix: Matrix, overrides: Mapping[str, str]) -> Matrix:
    """Return the matrix with ``{"h100.driver": "590.44.01"}`` applied; ``UsageError`` names what does not exist."""
    targets = {target.name: target for target in matrix.targets}
    for key, value in overrides.items():
        name, dot, field = key.rpartition(".")
        if not dot or name not in targets:
            raise _no_target(key, name or key, tuple(targets))
        if field not in _SETTERS:
            close = difflib.get_close_matches(field, _SETTERS, n=1)
            hint = f"did you mean {name}.{close[0]}?" if close else f"settings are: {', '.join(_SETTERS)}"
            msg = f"a target has no setting {field!r} that can be tried out"
            raise UsageError(msg, hint=hint)
        targets[name] = _SETTERS[field](targets[name], value)
    return replace(matrix, targets=tuple(targets[target.name] for target in matrix.targets))


def _no_target(key: str, name: str, known: tuple[str, ...]) -> UsageError:
    close = difflib.get_close_matches(name, known, n=1)
    message = f"the matrix has no target {name!r} (in {key!r})"
    hint = f"did you mean {close[0]}?" if close else f"targets are: {', '.join(known) or 'none'}"
    return UsageError(message, hint=hint)
