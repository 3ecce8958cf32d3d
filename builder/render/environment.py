"""The environment variables of an image, in blocks with a reason each.

Paths add up and are never lost: what the matrix sets comes before what imgbuild adds, and the
base's own folders stay. What a recipe wants gives way to what the base sets; the matrix has the
last word on everything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from builder.render import guard
from builder.render.python import VENV
from builder.render.recipes import Recipe

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LOADER_PATH = "LD_LIBRARY_PATH"
_PATHS = frozenset({"PATH", LOADER_PATH})


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Variables that are set together, in this order, and why; ``guard`` for those that name the constraint file."""

    why: str
    variables: tuple[tuple[str, str], ...]
    guard: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """Who wants what: ``venv`` whether there is a virtual environment, ``guarded`` whether there is a constraint file."""

    base: Mapping[str, str]
    recipes: Sequence[Recipe]
    matrix: Mapping[str, str]
    venv: bool
    guarded: bool


def blocks(wishes: Wishes) -> tuple[Block, ...]:
    """Return what ``ENV`` has to set on top of the base, block by block."""
    now = {"PATH": DEFAULT_PATH, **wishes.base}
    found: list[Block] = []
    if wishes.venv:
        path = join_paths(f"{VENV}/bin", now["PATH"])
        found.append(
            Block(
                why="Commands come from the virtual environment first.", variables=_set(now, {"VIRTUAL_ENV": VENV, "PATH": path})
            )
        )
    elif "PATH" not in wishes.base:
        found.append(Block(why="Where commands are.", variables=_set(now, {"PATH": DEFAULT_PATH})))
    found += [_recipe(recipe, now) for recipe in wishes.recipes]
    if wishes.guarded:
        why = "A later install by pip or uv keeps the framework that is here."
        found.append(Block(why=why, variables=_set(now, guard.variables(wishes.base, wishes.matrix)), guard=True))
    found.append(Block(why="Set by the matrix.", variables=_matrix(wishes, now)))
    return tuple(block for block in found if block.variables)


def join_paths(*paths: str) -> str:
    """Return the folders of all paths in order, each once; empty ones, which would mean the working folder, left out."""
    return ":".join(dict.fromkeys(folder for path in paths for folder in path.split(":") if folder))


def _set(now: dict[str, str], variables: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    now.update(variables)
    return tuple(variables.items())


def _recipe(recipe: Recipe, now: dict[str, str]) -> Block:
    wanted = {name: value for name, value in recipe.env.items() if name not in now}
    loader_path = join_paths(now.get(LOADER_PATH, ""), *recipe.loader_path)
    if loader_path != now.get(LOADER_PATH, ""):
        wanted[LOADER_PATH] = loader_path
    return Block(why=recipe.why, variables=_set(now, wanted))


def _matrix(wishes: Wishes, now: dict[str, str]) -> tuple[tuple[str, str], ...]:
    guarded = guard.VARIABLES if wishes.guarded else ()
    wanted = {name: value for name, value in sorted(wishes.matrix.items()) if name not in guarded}
    merged = {name: join_paths(value, now.get(name, "")) if name in _PATHS else value for name, value in wanted.items()}
    return _set(now, merged)
