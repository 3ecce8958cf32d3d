"""No value leaves its place: what is rendered is read back, and says what was put in."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import UndefinedError, nodes

from builder.errors import ImgbuildError
from builder.model.image_text import why_not_argument, why_not_one_line
from builder.render.escape import FILTERS, only_escaped
from builder.render.recipes import templates
from tests.golden.build import Case, deb, wheel
from tests.unit.render.dockerfile import Instruction, read
from tests.unit.render.make import DEBIAN, NGC, TRITON, added_env, context, env, instructions, only, with_facts

NASTY = [
    *('say "hi"', "it's", '["a"]', '\\"', "%s", "!", "*", "~"),
    *("$HOME", "${PATH}", "$(reboot)", "`reboot`", "a\\$b", "&& reboot", "; reboot", "| reboot", "<<EOF"),
    *("{{ 7 * 7 }}", "{% raw %}", "# no comment", "a # b", "a=b c=d", "--flag"),
    *("\\", "ends in \\", "\\\\", "\t tab", "  spaces  ", "", "é ✓ 漢", "\u00a0", "\ufeff"),
]
IMPOSSIBLE = ["a\nb", "a\rb", "RUN x\n", "\0", "a\x1bb", "\x7f", "\x85", "\u2028", "\ud800"]
PIECES = st.sampled_from([*NASTY, *IMPOSSIBLE, "\nRUN reboot\n", "x", " "])
TEXT = st.one_of(st.text(max_size=12), st.lists(PIECES, max_size=4).map("".join))
FEW = settings(max_examples=60, deadline=None)


def keywords(case: Case) -> list[str]:
    return [instruction.keyword for instruction in instructions(case)]


@FEW
@given(st.dictionaries(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True), TEXT, min_size=1, max_size=4))
def test_env_values_of_the_matrix(values: dict[str, str]) -> None:
    case = replace(NGC, variant=replace(NGC.variant, env=values))
    if any(why_not_one_line(value) for value in values.values()):
        with pytest.raises(ImgbuildError, match=r"which a Dockerfile cannot hold|no program can be given|surrogate"):
            context(case)
        return
    assert keywords(case) == keywords(NGC)
    found = env(case)
    paths = {"PATH", "LD_LIBRARY_PATH", "PIP_CONSTRAINT", "UV_CONSTRAINT", "PIP_BUILD_CONSTRAINT", "UV_BUILD_CONSTRAINT"}
    assert {name: found[name] for name in values.keys() - paths} == {name: values[name] for name in values.keys() - paths}


@FEW
@given(TEXT)
def test_env_names(name: str) -> None:
    case = replace(NGC, variant=replace(NGC.variant, env={name: "value"}))
    try:
        found = added_env(case)
    except ImgbuildError as error:
        assert "is not the name of an environment variable" in error.message  # noqa: PT017 - either refused or in its place
    else:
        assert "value" in found[name]


@FEW
@given(st.lists(TEXT, max_size=4))
def test_entrypoint(words: list[str]) -> None:
    case = replace(TRITON, variant=replace(TRITON.variant, entrypoint=tuple(words)))
    if any(why_not_argument(word) for word in words):
        with pytest.raises(ImgbuildError, match=r"NUL|surrogate"):
            context(case)
        return
    assert keywords(case) == keywords(TRITON)
    assert only(case, "ENTRYPOINT").json() == words


@FEW
@given(TEXT)
def test_user(user: str) -> None:
    case = replace(TRITON, variant=replace(TRITON.variant, user=user))
    try:
        found = only(case, "USER").rest
    except ImgbuildError as error:
        assert "is not a user such as" in error.message  # noqa: PT017 - either refused or in its place
    else:
        assert found == user


@FEW
@given(TEXT)
def test_the_path_of_the_python(path: str) -> None:
    case = with_facts(TRITON, replace(TRITON.base.facts, python=f"/{path}"))
    if why_not_one_line(path):
        with pytest.raises(ImgbuildError):
            context(case)
        return
    assert keywords(case) == keywords(TRITON)
    install = next(one for one in instructions(case) if one.keyword == "RUN" and "--mount" in one.rest)
    assert install.command()[:3] == [f"/{path}", "/mnt/wheels/pip-25.3-py3-none-any.whl/pip", "install"]


@FEW
@given(TEXT, TEXT)
def test_what_the_base_says(path: str, constraint: str) -> None:
    facts = replace(NGC.base.facts, env={**NGC.base.facts.env, "PIP_CONSTRAINT": constraint, "UV_CONSTRAINT": path})
    case = with_facts(NGC, facts)
    try:
        found = added_env(case)
    except ImgbuildError:
        assert why_not_one_line(path) or why_not_one_line(constraint)
    else:
        assert keywords(case) == keywords(NGC)
        assert found["PIP_CONSTRAINT"].split()[:-1] == list(dict.fromkeys(constraint.split()))


@FEW
@given(TEXT.filter(bool))
def test_labels_and_comments_hold_the_id(identifier: str) -> None:
    case = replace(NGC, variant=replace(NGC.variant, id=identifier), locked=replace(NGC.locked, id=identifier))
    if why_not_one_line(identifier):
        with pytest.raises(ImgbuildError):
            context(case)
        return
    assert keywords(case) == keywords(NGC)
    assert only(case, "LABEL").pairs()["imgbuild.variant"] == identifier


@FEW
@given(TEXT)
def test_base_references(reference: str) -> None:
    case = replace(NGC, base=replace(NGC.base, reference=reference))
    try:
        found = [one.rest for one in instructions(case) if one.keyword == "FROM"]
    except ImgbuildError as error:
        assert "is not" in error.message  # noqa: PT017 - either refused or in its place
    else:
        assert found[0].split()[0].endswith(f"@{NGC.base.digest}")
        assert len(found[0].split()) == 3


@FEW
@given(TEXT, TEXT, TEXT)
def test_debian_packages(name: str, version: str, architecture: str) -> None:
    nasty = deb(f"a{name}", f"1{version}", f"a{architecture}")
    case = replace(DEBIAN, locked=replace(DEBIAN.locked, debs=(*DEBIAN.locked.debs, nasty)))
    try:
        command = next(one for one in instructions(case) if one.keyword == "RUN").command()
    except ImgbuildError as error:
        assert "which no Debian package can have" in error.message  # noqa: PT017 - either refused or in its place
    else:
        assert f"{nasty.name}={nasty.version}" in command
        assert keywords(case) == keywords(DEBIAN)


@FEW
@given(TEXT)
def test_wheel_names(name: str) -> None:
    package = replace(wheel("numpy", "1.0"), file=f"{name}.whl")
    with pytest.raises(ImgbuildError, match=r"which is not a wheel's file name|another package or version"):
        context(replace(NGC, locked=replace(NGC.locked, packages=(package,))))


@pytest.mark.parametrize("value", IMPOSSIBLE)
def test_what_is_impossible_is_refused_in_words(value: str) -> None:
    case = replace(NGC, variant=replace(NGC.variant, env={"GREETING": value}))
    with pytest.raises(ImgbuildError, match="the value of GREETING") as caught:
        context(case)
    assert caught.value.hint
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    "path",
    templates().list_templates(
        filter_func=lambda path: path.partition("/")[0] in {"Dockerfile.j2", "bases", "stacks", "frameworks"}
    ),
)
def test_templates_print_through_filters_only(path: str) -> None:
    loader = templates().loader
    assert loader is not None
    tree = templates().parse(loader.get_source(templates(), path)[0])
    printed = [
        node for output in tree.find_all(nodes.Output) for node in output.nodes if not isinstance(node, nodes.TemplateData)
    ]
    assert [node for node in printed if not isinstance(node, nodes.Filter) or node.name not in FILTERS] == []


def test_the_reader_of_these_tests_sees_what_it_should() -> None:
    with pytest.raises(AssertionError, match="heredoc"):
        Instruction("RUN", "cat <<EOF").command()
    with pytest.raises(AssertionError, match="expanded"):
        Instruction("ENV", 'A="$B"').pairs()
    with pytest.raises(AssertionError, match="parser directive"):
        read("# escape=`\nFROM a\n")
    assert Instruction("ENV", """A="a\\\\b\\"" B='c d' C=e\\ f""").pairs() == {"A": 'a\\b"', "B": "c d", "C": "e f"}


def test_a_forgotten_filter_is_an_error() -> None:
    with pytest.raises(TypeError, match="without one of"):
        templates().from_string("ENV A={{ value }}").render(value="x\nRUN reboot")
    with pytest.raises(TypeError, match="without one of"):
        only_escaped("x")


def test_a_name_that_nobody_defined_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'missing' is undefined"):
        templates().from_string("{% if missing %}x{% endif %}").render()
