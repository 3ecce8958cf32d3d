"""Recipes: what a stack, a framework and a family of bases need, read from the templates.

A recipe is a template that sets variables: ``why`` (one comment line), ``env`` (only fills in what
the base does not set), ``loader_path`` (folders of shared libraries, appended), ``protected``
(name patterns of the framework's distributions), ``in_python`` (whether a vendor's image has to have
one of those), ``repositories`` (patterns of image names, in a family of bases). All are optional.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from operator import itemgetter

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateNotFound

from builder.errors import UnsatisfiableError
from builder.model.lock import LockedBase
from builder.model.matrix import BaseKind
from builder.model.plan import Variant
from builder.render.escape import FILTERS, only_escaped
from builder.resources import shipped

ROOT = "Dockerfile.j2"
_ASSEMBLED = "bases/assembled.j2"
_DISTRIBUTION = "bases/distribution.j2"
_ANY_IMAGE = "bases/image.j2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What one template asks for."""

    why: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    loader_path: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    in_python: bool = True
    repositories: tuple[str, ...] = ()


@cache
def templates() -> Environment:
    """Return the environment that reads the shipped templates; it prints nothing that is not escaped."""
    environment = Environment(
        loader=FileSystemLoader(shipped("templates")),
        undefined=StrictUndefined,
        finalize=only_escaped,
        autoescape=False,  # noqa: S701 - HTML's escapes would be wrong here; finalize lets only our own through
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        newline_sequence="\n",
    )
    environment.filters.update(FILTERS)
    return environment


def stack_recipe(variant: Variant, context: Mapping[str, object]) -> Recipe:
    """Return the recipe of the variant's stack."""
    return _named("stack", f"stacks/{variant.stack.name}.j2", variant.stack.name, context)


def framework_recipe(variant: Variant, context: Mapping[str, object]) -> Recipe:
    """Return the recipe of the variant's framework."""
    return _named("framework", f"frameworks/{variant.framework.name}.j2", variant.framework.name, context)


def family_recipe(variant: Variant, base: LockedBase, context: Mapping[str, object]) -> Recipe:
    """Return the recipe of the base's family.

    For a vendor's image the family is the one with the longest ``repositories`` pattern that
    matches its name; ``bases/image.j2`` is for all others.
    """
    if base.assembled:
        return _read(_ASSEMBLED, context)
    if variant.base.kind is BaseKind.DISTRIBUTION:
        return _read(_DISTRIBUTION, context)
    name = variant.base.reference.name
    vendors = {path for path in templates().list_templates() if path.startswith("bases/")} - {
        _ASSEMBLED,
        _DISTRIBUTION,
        _ANY_IMAGE,
    }
    families = [_read(path, context) for path in sorted(vendors)]
    matching = [(len(pattern), family) for family in families for pattern in family.repositories if fnmatchcase(name, pattern)]
    return max(matching, key=itemgetter(0))[1] if matching else _read(_ANY_IMAGE, context)


def _named(kind: str, path: str, name: str, context: Mapping[str, object]) -> Recipe:
    try:
        return _read(path, context)
    except TemplateNotFound as error:
        known = [
            path.removesuffix(".j2").partition("/")[2] for path in templates().list_templates() if path.startswith(f"{kind}s/")
        ]
        msg = f"there is no recipe for the {kind} {name!r}"
        raise UnsatisfiableError(msg, hint=f"recipes exist for {', '.join(known)}; a new one is templates/{path}") from error


def _read(path: str, context: Mapping[str, object]) -> Recipe:
    module = templates().get_template(path).make_module(dict(context))
    return Recipe(
        why=getattr(module, "why", ""),
        env=dict(getattr(module, "env", {})),
        loader_path=_strings(getattr(module, "loader_path", ())),
        protected=_strings(getattr(module, "protected", ())),
        in_python=bool(getattr(module, "in_python", True)),
        repositories=_strings(getattr(module, "repositories", ())),
    )


def _strings(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)
