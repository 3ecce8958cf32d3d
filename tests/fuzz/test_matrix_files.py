"""Matrix files that went wrong in any way: complaints with a place and a hint, or a plan; never another error.

Each file is made from a number alone, so that one that fails can be made again.
"""

from __future__ import annotations

import json
import random

import pytest

from builder.catalog.query import load_catalog
from builder.documents.matrix import Reading, examine_matrix_text
from builder.errors import Complaint, DocumentError
from builder.expand import examine, lint
from builder.resources import shipped
from builder.solve.explain import plan_json, plan_lines
from builder.solve.lint import lint as lint_names
from builder.solve.solver import plan
from builder.solve.tags import complaints as lint_tags

FEW, MANY, BLOCK = 500, 20_000, 1_000
CATALOG = load_catalog()
LINES = (shipped("matrices") / "annotated.yaml").read_text("utf-8").splitlines(keepends=True)
BARE = [line for line in LINES if line.strip() and not line.lstrip().startswith("#")]
WORDS = (
    *("3.10", "~", "null", "yes", "{}", "[]", "[", "]", "{", "}", ":", "- ", "? ", "|", ">", "#", "---", "...", "%YAML 1.2"),
    *("&a", "*a", "<<: *defaults", "!!python/object:os.system", '"', "'", "\\", '"\\ud800"', '"\\0"'),
    *("\t", "\n", "\r", "\0", "\x07", "\ufeff", "\u2028", "\x85", "é", "\U0001f525"),
    *("0x10", "1_000", "1e999", ".inf", ".nan", "-1", "9" * 25, "2026-12-01", "a" * 200, "$(id)", "`", "--privileged"),
    *("latest", "cuda", "cpu", "pytorch", "jax==0.11.*", ">=2", "==2.9.*", "==2.9.*,!=2.9.1", "~=2", "===x", "==1!2.9", "*"),
    *(
        "matrix:",
        "exclude:",
        "include:",
        "when: {stack: cuda}",
        "{framework}",
        "{date}",
        "{",
        "kernel:6.14 xe",
        "module:1",
        "580",
    ),
)


def made(number: int) -> str | bytes:
    """Return a file of one to four changes to the annotated one, every tenth with changed bytes as well."""
    chance = random.Random(number)  # noqa: S311  # no secret: the same number must make the same file
    lines = list(chance.choice((LINES, BARE)))
    for _ in range(chance.randint(1, 4)):
        if lines:
            _change(lines, chance)
    text = "".join(lines)
    if chance.random() > 0.1:
        return text
    raw = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(min(3, len(raw))):
        raw[chance.randrange(len(raw))] = chance.randrange(256)
    return bytes(raw)


def _change(lines: list[str], chance: random.Random) -> None:
    at, kind = chance.randrange(len(lines)), chance.random()
    if kind < 0.12:
        del lines[at]
    elif kind < 0.22:
        lines.insert(at, chance.choice(LINES))
    elif kind < 0.30:
        other = chance.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif kind < 0.36:
        lines[at] = " " * chance.randint(0, 8) + lines[at].lstrip(" ")
    elif kind < 0.40:
        del lines[at:]
    else:
        lines[at] = _spoilt(lines[at], chance, kind)


def _spoilt(line: str, chance: random.Random, kind: float) -> str:
    begin = chance.randrange(len(line) + 1)
    end = begin + chance.choice((0, 0, 1, 1, 3, 8))
    if kind < 0.70:
        return line[:begin] + chance.choice(WORDS) + line[end:]
    if kind < 0.85:
        return line[:begin] + line[end:]
    words = line.rstrip("\n").split(" ")
    words[chance.randrange(len(words))] = chance.choice(WORDS)
    return " ".join(words) + "\n"


def _read(text: str | bytes) -> tuple[Reading | None, tuple[Complaint, ...]]:
    try:
        reading = examine_matrix_text(text, "m.yaml")
    except DocumentError as error:
        return None, error.complaints
    return reading, lint(reading)


def complaints(text: str | bytes) -> tuple[Complaint, ...]:
    """Return all that is said about a file; one that nothing is said about is planned, and written both ways."""
    reading, found = _read(text)
    if reading is None or reading.matrix is None:
        assert found
        return found
    found = (*found, *lint_names(reading.matrix, CATALOG))
    if not found:
        expansion, _ = examine(reading.matrix)
        planned = plan(reading.matrix, expansion, CATALOG)
        found = lint_tags(reading.matrix, planned)
        assert plan_lines(planned)
        assert json.loads(json.dumps(plan_json(planned)))["schema"] == "imgbuild/plan/1"
    return found


def check(number: int) -> None:
    text = made(number)
    whole = text if isinstance(text, str) else text.decode("utf-8", "replace")
    last = len(whole.splitlines()) + 1
    for one in complaints(text):
        said = f"file {number}: {one}"
        assert 1 <= one.where.line <= last, said
        assert one.where.column >= 1, said
        assert one.message.isprintable(), said
        assert one.hint, said
        assert one.hint.isprintable(), said


def test_some() -> None:
    for number in range(FEW):
        check(number)


@pytest.mark.long
@pytest.mark.parametrize("first", range(FEW, MANY, BLOCK))
def test_many(first: int) -> None:
    for number in range(first, first + BLOCK):
        check(number)


def test_they_are_of_many_kinds() -> None:
    """A check that cannot fail is none: most files are wrong, in many ways, and some are still right."""
    said = [complaints(made(number)) for number in range(FEW)]
    assert sum(not found for found in said) > FEW // 20
    assert sum(bool(found) for found in said) > FEW // 2
    assert len({one.message for found in said for one in found}) > 100
