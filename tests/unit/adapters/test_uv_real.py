"""The real uv, on indexes of stub wheels made here; and once on the index this machine reaches."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from packaging.version import Version

from builder.adapters.index import SimpleIndex
from builder.adapters.pip_config import PipConfig, named_indexes
from builder.adapters.process import LocalProcesses
from builder.adapters.stub_wheels import stub_wheel
from builder.adapters.uv import UvResolver
from builder.cli.services import Services
from builder.errors import UnsatisfiableError
from builder.model.lock import Installed, LockedPackage
from builder.model.oci import Platform
from builder.model.plan import Index

AMD64 = Platform.parse("linux/amd64")


def put(folder: Path, name: str, version: str, *requires: str) -> Path:
    """Write a wheel into a folder, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    file, data = stub_wheel(name, Version(version), requires)
    (folder / file).write_bytes(data)
    return folder / file


def index(root: Path, projects: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    """Write a simple index of wheels into a folder, and return its URL."""
    for project, versions in projects.items():
        folder = root / "simple" / project
        links = []
        for version, requires in versions.items():
            path = put(folder, project, version, *requires)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            links.append(f'<a href="{path.name}#sha256={digest}">{path.name}</a>')
        (folder / "index.html").write_text("<!DOCTYPE html><html><body>" + "\n".join(links) + "</body></html>")
    return (root / "simple").as_uri()


def resolve(
    tmp_path: Path,
    config: PipConfig,
    requirements: Sequence[str],
    installed: Sequence[Installed] = (),
    indexes: Sequence[Index] = (),
) -> dict[str, LockedPackage]:
    resolver = UvResolver(LocalProcesses(), config=config, cache=tmp_path / "cache", environment=os.environ)
    found = resolver.resolve(requirements, python="3.12", platform=AMD64, glibc="2.36", indexes=indexes, installed=installed)
    return {package.name: package for package in found}


@pytest.mark.process
def test_a_name_comes_only_from_the_first_index_that_has_it(tmp_path: Path) -> None:
    own = Index(name="cu126", url=index(tmp_path / "cu126", {"torch": {"2.9.1+cu126": ["triton==3.5"]}, "triton": {"3.5": []}}))
    pip = index(tmp_path / "pip", {"torch": {"2.9.1": [], "2.10": []}, "app": {"1": ["torch==2.9.*"]}})
    extra = index(tmp_path / "extra", {"app": {"9": []}, "private": {"4": []}})
    config = PipConfig(indexes=named_indexes("index", [pip, extra]))
    found = resolve(tmp_path, config, ["app", "private"], indexes=(own,))
    assert {name: (package.version, package.index) for name, package in found.items()} == {
        "app": ("1", config.indexes[0].name),
        "private": ("4", config.indexes[1].name),
        "torch": ("2.9.1+cu126", "cu126"),
        "triton": ("3.5", "cu126"),
    }
    assert found["torch"].file == "torch-2.9.1+cu126-py3-none-any.whl"
    wheel = next((tmp_path / "cu126").rglob("torch-*.whl"))
    assert found["torch"].sha256 == hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert (found["torch"].requested_by, found["triton"].requested_by) == (("app",), ("torch",))


@pytest.mark.process
def test_an_index_that_counts_for_some_names_only_is_asked_for_no_other(tmp_path: Path) -> None:
    projects: dict[str, dict[str, list[str]]] = {
        "torch": {"2.9.1+cu126": ["triton==3.5", "requests"]},
        "triton": {"3.5": []},
        "requests": {"2.10": []},
    }
    own = Index(name="cu126", url=index(tmp_path / "cu126", projects), only=("torch", "Triton", "torchvision"))
    pip = index(
        tmp_path / "pip", {"torch": {"2.10": []}, "triton": {"0.1": []}, "requests": {"2.32": []}, "app": {"1": ["torch"]}}
    )
    config = PipConfig(indexes=named_indexes("index", [pip]))
    found = resolve(tmp_path, config, ["app"], indexes=(own,))
    assert {name: (package.version, package.index) for name, package in found.items()} == {
        "app": ("1", config.indexes[0].name),
        "requests": ("2.32", config.indexes[0].name),
        "torch": ("2.9.1+cu126", "cu126"),
        "triton": ("3.5", "cu126"),
    }
    wheel = next((tmp_path / "cu126").rglob("torch-*.whl"))
    assert found["torch"].sha256 == hashlib.sha256(wheel.read_bytes()).hexdigest()


@pytest.mark.process
def test_the_base_stays_as_it_is_and_links_are_candidates(tmp_path: Path) -> None:
    put(tmp_path / "wheels", "app", "2", "torch==2.9.*", "numpy==1.*")
    config = PipConfig(
        indexes=named_indexes(
            "index", [index(tmp_path / "pip", {"app": {"1": []}, "numpy": {"2.0": []}, "torch": {"2.10": []}})]
        ),
        find_links=named_indexes("find-links", [str(tmp_path / "wheels"), str(tmp_path / "missing")]),
    )
    base = (
        Installed(name="torch", version="2.9.0a0+145a3a7bda.nv25.10", requires=("numpy", "gone>=1")),
        Installed(name="numpy", version="1.26.4"),
    )
    found = resolve(tmp_path, config, ["app", "torch==2.9.*"], installed=base)
    assert {name: (package.version, package.index) for name, package in found.items()} == {
        "app": ("2", config.find_links[0].name)
    }


@pytest.mark.process
def test_a_conflict_with_the_base_is_explained(tmp_path: Path) -> None:
    config = PipConfig(
        indexes=named_indexes("index", [index(tmp_path / "pip", {"app": {"1": ["numpy==2.0"]}, "numpy": {"2.0": []}})])
    )
    with pytest.raises(UnsatisfiableError) as caught:
        resolve(tmp_path, config, ["app"], installed=(Installed(name="numpy", version="1.26.4"),))
    assert caught.value.message.startswith("the base has numpy 1.26.4, which does not fit: because ")
    assert "app" in caught.value.message


@pytest.mark.process
def test_pips_constraints_hold(tmp_path: Path) -> None:
    (tmp_path / "constraints.txt").write_text("app<2\n")
    config = PipConfig(
        indexes=named_indexes("index", [index(tmp_path / "pip", {"app": {"1": [], "2": []}})]),
        constraints=(str(tmp_path / "constraints.txt"),),
    )
    assert resolve(tmp_path, config, ["app"])["app"].version == "1"


@pytest.mark.network
def test_the_index_this_machine_reaches_answers_for_another_python_and_platform(tmp_path: Path) -> None:
    config = Services().pip
    resolver = UvResolver(LocalProcesses(), config=config, cache=tmp_path, environment=os.environ)
    found = resolver.resolve(
        ["numpy==2.4.*"], python="3.13", platform=Platform.parse("linux/arm64"), glibc="2.36", indexes=(), installed=()
    )
    assert [package.name for package in found] == ["numpy"]
    assert "cp313" in found[0].file
    assert found[0].file.endswith("aarch64.whl")
    assert len(found[0].sha256) == 64


@pytest.mark.network
def test_what_was_resolved_there_can_be_fetched_from_there(tmp_path: Path) -> None:
    config = Services().pip
    resolver = UvResolver(LocalProcesses(), config=config, cache=tmp_path, environment=os.environ)
    (package,) = resolver.resolve(["packaging==25.0"], python="3.12", platform=AMD64, glibc="2.36", indexes=(), installed=())
    path = SimpleIndex(cache=tmp_path, config=config).fetch(package, ())
    assert path.name == "packaging-25.0-py3-none-any.whl"
    assert (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_size) == (package.sha256, package.size)


@pytest.mark.network
def test_a_version_whose_python_ends_below_ours_is_passed_over_as_pip_does(tmp_path: Path) -> None:
    resolver = UvResolver(LocalProcesses(), config=Services().pip, cache=tmp_path, environment=os.environ)
    found = resolver.resolve(["ai-edge-litert==2.3.0"], python="3.13.5", platform=AMD64, glibc="2.41", indexes=(), installed=())
    versions = {package.name: package.version for package in found}
    assert (versions["ai-edge-litert"], versions["backports-strenum"]) == ("2.3.0", "1.2.8")
    with pytest.raises(UnsatisfiableError) as caught:
        resolver.resolve(["backports.strenum>1.3"], python="3.13.5", platform=AMD64, glibc="2.41", indexes=(), installed=())
    said = "backports-strenum 1.3.1 is for Python >=3.8.6,<3.11, not for 3.13.5, and no other version fits"
    assert caught.value.message == said


@pytest.mark.process
def test_a_matrix_that_says_where_an_index_is_means_no_other_place(tmp_path: Path) -> None:
    config = PipConfig(indexes=(Index(name="pypi", url=index(tmp_path / "pip", {"numpy": {"1": []}, "app": {"9": []}})),))
    own = Index(name="pypi", url=index(tmp_path / "own", {"app": {"1": []}}))
    assert resolve(tmp_path, config, ["app"], indexes=(own,))["app"].version == "1"
    with pytest.raises(UnsatisfiableError, match="numpy was not found in the package registry"):
        resolve(tmp_path, config, ["numpy"], indexes=(own,))


@pytest.mark.process
def test_a_wheel_by_itself_is_a_link_and_a_broken_one_is_named(tmp_path: Path) -> None:
    url = index(tmp_path / "pip", {"other": {"1": []}})
    wheel = put(tmp_path / "wheels", "app", "2")
    config = PipConfig(indexes=named_indexes("index", [url]), find_links=named_indexes("find-links", [str(wheel)]))
    found = resolve(tmp_path, config, ["app"])["app"]
    assert (found.version, found.index) == ("2", config.find_links[0].name)
    assert SimpleIndex(cache=tmp_path / "cache", config=config).fetch(found, ()).read_bytes() == wheel.read_bytes()
    folder = tmp_path / "more"
    put(folder, "app", "3").write_bytes(b"no wheel")
    (folder / "app-4.x-py3-none-any.whl").write_bytes(b"nor a version")
    config = PipConfig(indexes=named_indexes("index", [url]), find_links=named_indexes("find-links", [str(folder)]))
    with pytest.raises(UnsatisfiableError) as caught:
        resolve(tmp_path, config, ["app"])
    assert caught.value.message.startswith(f"{folder}/app-3-py3-none-any.whl is not a wheel, or not the whole of one: ")


@pytest.mark.process
def test_a_constraint_to_a_url_is_not_locked_as_nothing(tmp_path: Path) -> None:
    wheel = put(tmp_path / "wheels", "app", "2")
    (tmp_path / "c.txt").write_text(f"app @ {wheel.as_uri()}\n")
    config = PipConfig(
        indexes=named_indexes("index", [index(tmp_path / "pip", {"app": {"1": []}})]), constraints=(str(tmp_path / "c.txt"),)
    )
    with pytest.raises(UnsatisfiableError, match="pip's configuration constrains app to a URL, and a lock holds no URLs"):
        resolve(tmp_path, config, ["app"])


@pytest.mark.process
def test_a_file_with_another_hash_than_a_lock_has_is_refused_and_one_without_is_hashed(tmp_path: Path) -> None:
    url = index(tmp_path / "pip", {"app": {"1": []}, "bare": {"1": []}})
    config = PipConfig(indexes=named_indexes("index", [url]))
    for name, fragment in (("app", "#md5=d41d8cd98f00b204e9800998ecf8427e"), ("bare", "")):
        page = tmp_path / "pip" / "simple" / name / "index.html"
        page.write_text(f'<a href="{name}-1-py3-none-any.whl{fragment}">{name}-1-py3-none-any.whl</a>')
    with pytest.raises(UnsatisfiableError) as caught:
        resolve(tmp_path, config, ["app"])
    name = config.indexes[0].name
    assert caught.value.message == f"the index '{name}' offers app-1-py3-none-any.whl without a SHA-256, and a lock needs one"
    wheel = tmp_path / "pip" / "simple" / "bare" / "bare-1-py3-none-any.whl"
    assert resolve(tmp_path, config, ["bare"])["bare"].sha256 == hashlib.sha256(wheel.read_bytes()).hexdigest()


@pytest.mark.process
@pytest.mark.parametrize(
    ("requirements", "found"),
    [
        (["App_One==1.0"], {"app-one": "1.0"}),
        (["APP.one[More]"], {"app-one": "2.0", "more": "1"}),
        (["app-one==1.0; python_version >= '3.12'", "app-one==2.0; python_version < '3.12'"], {"app-one": "1.0"}),
        (["more; sys_platform == 'win32'"], {}),
        (["tor==2.9.1"], {"tor": "2.9.1+cpu"}),
        (["tor==2.9.1+cpu"], {"tor": "2.9.1+cpu"}),
        (["yanked==2"], {"yanked": "2"}),
        (["yanked"], {"yanked": "1"}),
    ],
)
def test_names_markers_extras_local_versions_and_yanked_releases(
    tmp_path: Path, requirements: list[str], found: dict[str, str]
) -> None:
    projects: dict[str, dict[str, list[str]]] = {
        "app-one": {"1.0": [], "2.0": ["more; extra == 'more'"]},
        "more": {"1": []},
        "tor": {"2.9.1": [], "2.9.1+cpu": []},
        "yanked": {"1": [], "2": []},
    }
    config = PipConfig(indexes=named_indexes("index", [index(tmp_path, projects)]))
    page = tmp_path / "simple" / "yanked" / "index.html"
    page.write_text(page.read_text().replace('<a href="yanked-2-', '<a data-yanked="it was bad" href="yanked-2-'))
    assert {name: package.version for name, package in resolve(tmp_path, config, requirements).items()} == found


@pytest.mark.process
def test_a_distribution_of_the_base_brings_what_its_extras_ask_for(tmp_path: Path) -> None:
    config = PipConfig(indexes=named_indexes("index", [index(tmp_path, {"opt": {"1": []}, "torch-x": {"3": []}})]))
    base = (Installed(name="Torch_X", version="2.9.0a0+145a3a7bda.nv25.10", requires=("opt; extra == 'opt-einsum'", "gone")),)
    for requirement in ("torch-x[opt_einsum]", "TORCH.X[opt-einsum]==2.9.*"):
        assert set(resolve(tmp_path, config, [requirement], installed=base)) == {"opt"}
    with pytest.raises(UnsatisfiableError) as caught:
        resolve(tmp_path, config, ["torch_x[opt-einsum]>=2.9"], installed=base)
    said = "the base has Torch_X 2.9.0a0+145a3a7bda.nv25.10, your matrix asks torch_x[opt-einsum]>=2.9"
    assert caught.value.message == said


@pytest.mark.process
def test_a_package_with_only_a_source_archive_is_not_built(tmp_path: Path) -> None:
    folder = tmp_path / "simple" / "old"
    folder.mkdir(parents=True)
    (folder / "index.html").write_text(f'<a href="old-1.0.tar.gz#sha256={"a" * 64}">old-1.0.tar.gz</a>')
    config = PipConfig(indexes=named_indexes("index", [(tmp_path / "simple").as_uri()]))
    with pytest.raises(
        UnsatisfiableError, match=r"there is no wheel for Python 3\.12 on linux/amd64 with glibc 2\.36: because old"
    ):
        resolve(tmp_path, config, ["old"])
