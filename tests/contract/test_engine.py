"""What every engine does: the fake, podman, Docker with either image store."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from builder.errors import BuildFailedError, InterruptedRunError, MismatchError, UnreachableError, UsageError
from builder.model.build import RunRequest
from builder.model.oci import LINUX_AMD64, ImageReference
from tests.contract.bench import FROM_ROOTFS, HANG, REPOSITORY, Bench, RealBench, shell


def quiet(_line: str) -> None:
    """Take a line and say nothing."""


def test_version_names_numbers(bench: Bench) -> None:
    assert bench.engine.version()[0].isdigit()


def test_a_built_image_is_what_its_dockerfile_says(bench: Bench) -> None:
    text = (
        FROM_ROOTFS
        + 'ENV A="b c"\nLABEL here="in file"\nRUN touch /made\nUSER app\nWORKDIR /work\nENTRYPOINT ["/bin/cat", "-"]\n'
    )
    lines: list[str] = []
    request = bench.request(text, labels={"imgbuild.variant": "v 1", "quote": 'it\'s "$HOME" \\ `x`'})
    image = bench.engine.build(request, on_line=lines.append)
    assert image.platform == LINUX_AMD64
    assert (image.env["A"], image.env["PATH"]) == ("b c", "/bin")
    wanted = {"here": "in file", "imgbuild.variant": "v 1", "quote": 'it\'s "$HOME" \\ `x`'}
    assert {name: image.labels.get(name) for name in wanted} == wanted
    assert (image.user, image.workdir, image.entrypoint) == ("app", "/work", ("/bin/cat", "-"))
    assert image.size >= bench.rootfs.stat().st_size * 0.9
    assert (image.digest is not None) == bench.keeps_manifests
    assert image.digest != image.image_id
    assert bench.engine.inspect(request.tag) == image
    assert any("touch /made" in line for line in lines)


def test_the_same_build_twice_is_the_same_image(bench: Bench) -> None:
    request = bench.request(FROM_ROOTFS + "RUN touch /made\n", labels={"a": "b"})
    first = bench.engine.build(request, on_line=quiet)
    assert bench.engine.build(request, on_line=quiet) == first


def test_a_failing_step_is_named_with_the_end_of_the_log(bench: Bench) -> None:
    request = bench.request(FROM_ROOTFS + "RUN echo to-the-log && exit 3\nRUN touch /never\n", "failing")
    with pytest.raises(BuildFailedError) as caught:
        bench.engine.build(request, on_line=quiet)
    said = "it ended with code 3, and its last line was 'to-the-log' (step RUN echo to-the-log && exit 3)"
    assert caught.value.message == f"failing did not build: {said}"
    assert any("to-the-log" in line for line in caught.value.details)
    assert caught.value.hint
    assert bench.engine.inspect(request.tag) is None


def test_a_build_that_hangs_is_ended_by_its_time_limit(bench: Bench) -> None:
    request = bench.request(FROM_ROOTFS + f"RUN {HANG}\n", "slow", seconds=3)
    with pytest.raises(BuildFailedError, match="slow did not build within 3 seconds") as caught:
        bench.engine.build(request, on_line=quiet)
    assert "limits" in (caught.value.hint or "")
    assert bench.engine.inspect(request.tag) is None


def test_a_stop_in_the_middle_of_a_build_leaves_nothing(bench: Bench) -> None:
    request = bench.request(FROM_ROOTFS + f"RUN touch /made-{bench.rootfs.stat().st_mtime_ns}\nRUN {HANG}\n", "stopped")
    bench.built()
    before = bench.images()

    def stop(line: str) -> None:
        if line.endswith("hanging"):
            threading.Thread(target=bench.processes.stop).start()

    with pytest.raises(InterruptedRunError):
        bench.engine.build(request, on_line=stop)
    assert bench.images() == before


def test_of_two_builds_at_once_one_may_fail_alone(bench: Bench) -> None:
    good = bench.request(FROM_ROOTFS + "RUN touch /good\n", "good")
    bad = bench.request(FROM_ROOTFS + "RUN echo to-the-log && exit 3\n", "bad")
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(bench.engine.build, good, on_line=quiet)
        other = pool.submit(bench.engine.build, bad, on_line=quiet)
        assert isinstance(other.exception(60), BuildFailedError)
        image = one.result(60)
    assert bench.engine.inspect(good.tag) == image


def test_mirrors_are_refused_in_words(bench: Bench) -> None:
    with pytest.raises(UsageError, match=r"'nvcr\.io'"):
        bench.engine.build(bench.request(FROM_ROOTFS, mirrors={"nvcr.io": "registry.local/nv"}), on_line=quiet)


@pytest.mark.usefixtures("lab_registry")
def test_a_base_that_is_not_in_its_registry_is_a_mismatch(bench: Bench) -> None:
    with pytest.raises(MismatchError, match="the base of lost is not in its registry") as caught:
        bench.engine.build(bench.request(f"FROM {bench.absent()}\nENV A=b\n", "lost"), on_line=quiet)
    assert caught.value.hint


def test_a_base_whose_registry_does_not_answer_is_unreachable(bench: Bench) -> None:
    with pytest.raises(UnreachableError, match="the registry could not be asked for the base of alone") as caught:
        bench.engine.build(bench.request("FROM 127.0.0.1:1/some/base:1\nENV A=b\n", "alone"), on_line=quiet)
    assert caught.value.hint


@pytest.mark.parametrize("how", ["@{}", ":1@{}", ":all"])
@pytest.mark.usefixtures("lab_registry")
def test_a_pulled_image_is_that_platforms(bench: Bench, how: str) -> None:
    name, manifest, config = bench.put_image(f"pulled-{bench.engine.name}")
    reference = ImageReference.parse(name + how.format(manifest))
    image = bench.engine.pull(reference, LINUX_AMD64, on_line=quiet)
    assert image.digest == (manifest if bench.keeps_manifests else None)
    assert image.image_id == config
    assert image.platform == LINUX_AMD64
    assert image.env["FROM_REGISTRY"] == "yes"
    held = name + (":all" if how == ":all" else f"@{manifest}")
    if isinstance(bench, RealBench):
        assert bench.engine.inspect(held) == image
        assert bench.engine.run(shell(held, 'echo "$FROM_REGISTRY"')).stdout == "yes\n"


@pytest.mark.usefixtures("lab_registry")
def test_a_pinned_base_with_a_tag_beside_its_digest_is_pulled_by_the_build(bench: Bench) -> None:
    name, manifest, _ = bench.put_image(f"base-{bench.engine.name}")
    image = bench.engine.build(bench.request(f"FROM {name}:1@{manifest}\nENV MORE=yes\n"), on_line=quiet)
    assert (image.env["FROM_REGISTRY"], image.env["MORE"]) == ("yes", "yes")


@pytest.mark.usefixtures("lab_registry")
def test_pulling_what_is_not_there_is_a_mismatch(bench: Bench) -> None:
    with pytest.raises(MismatchError, match="is not in its registry"):
        bench.engine.pull(ImageReference.parse(bench.absent()), LINUX_AMD64, on_line=quiet)


def test_pulling_from_a_registry_that_does_not_answer_is_unreachable(bench: Bench) -> None:
    with pytest.raises(UnreachableError, match="could not be asked"):
        bench.engine.pull(ImageReference.parse("127.0.0.1:1/some/base:1"), LINUX_AMD64, on_line=quiet)


def test_a_run_gives_back_streams_and_code_and_hears_stdin(bench: Bench) -> None:
    heard: list[str] = []
    request = shell(bench.built(), "cat; echo err >&2; exit 7", stdin=b"fed\n")
    done = bench.engine.run(request, on_line=heard.append)
    assert (done.code, done.stdout, done.stderr, done.timed_out) == (7, "fed\n", "err\n", False)
    assert sorted(heard) == ["err", "fed"]


def test_a_run_replaces_the_entry_point(bench: Bench) -> None:
    image = bench.built(FROM_ROOTFS + 'ENTRYPOINT ["/no/such/program"]\nCMD ["/neither"]\n')
    assert bench.engine.run(RunRequest(image=image, argv=("id", "-u"))).stdout == "0\n"


def test_a_run_has_the_user_asked_for(bench: Bench) -> None:
    assert bench.engine.run(RunRequest(image=bench.built(), argv=("id", "-u"), user="app")).stdout == "1000\n"


@pytest.mark.parametrize("value", ["", "a b", "two\nlines\n", 'it\'s "$HOME" `x` \\ = *', "é\N{SNOWMAN}\t"])
def test_environment_values_arrive_as_they_are(bench: Bench, value: str) -> None:
    done = bench.engine.run(shell(bench.built(), 'printf "%s" "$GIVEN"', env={"GIVEN": value, "PATH": "/bin"}))
    assert (done.stdout, done.code) == (value, 0)


def test_a_run_that_hangs_is_ended_and_its_container_removed(bench: Bench) -> None:
    done = bench.engine.run(shell(bench.built(), HANG, seconds=2.0))
    assert done.timed_out
    assert done.code < 0
    assert done.stdout == "hanging\n"
    assert done.seconds < 30
    assert bench.left() == set()


def test_a_stop_removes_the_container_that_runs(bench: Bench) -> None:
    image = bench.built()

    def stop(line: str) -> None:
        assert line == "hanging"
        threading.Thread(target=bench.processes.stop).start()

    with pytest.raises(InterruptedRunError):
        bench.engine.run(shell(image, HANG, seconds=60.0), on_line=stop)
    assert bench.left() == set()


def test_a_flood_of_output_comes_through(bench: Bench) -> None:
    done = bench.engine.run(shell(bench.built(), "head -c 20000000 /dev/zero; echo; echo last"))
    assert done.code == 0
    assert len(done.stdout) == 20_000_006
    assert done.stdout.endswith("\nlast\n")


def test_a_container_has_no_network_unless_asked(bench: Bench) -> None:
    image = bench.built()

    def interfaces(*, network: bool) -> list[str]:
        done = bench.engine.run(RunRequest(image=image, argv=("cat", "/proc/net/dev"), network=network))
        return [line.split(":")[0].strip() for line in done.stdout.splitlines()[2:]]

    assert interfaces(network=False) == ["lo"]
    assert set(interfaces(network=True)) > {"lo"}


def test_a_program_that_is_not_in_the_image_ends_with_127(bench: Bench) -> None:
    done = bench.engine.run(RunRequest(image=bench.built(), argv=("no-such-program",)))
    assert done.code == 127
    assert "not found" in done.stderr


def test_running_an_image_that_is_not_there_is_a_mismatch(bench: Bench) -> None:
    with pytest.raises(MismatchError, match="no image 'localhost/imgbuild-contract/none:1'"):
        bench.engine.run(RunRequest(image=f"{REPOSITORY}/none:1", argv=("sh",)))


def test_what_is_not_there_is_none_and_removing_it_no_error(bench: Bench) -> None:
    assert bench.engine.inspect(f"{REPOSITORY}/none:1") is None
    bench.engine.remove(f"{REPOSITORY}/none:1")


def test_removing_takes_the_tag_away(bench: Bench) -> None:
    tag = bench.built()
    bench.engine.remove(tag)
    assert bench.engine.inspect(tag) is None


def test_a_root_file_system_becomes_an_image_under_the_tag_given(bench: Bench) -> None:
    tag = f"{REPOSITORY}/imported:1"
    bench.tags.append(tag)
    image = bench.engine.import_rootfs(bench.rootfs, tag, LINUX_AMD64)
    assert image.platform == LINUX_AMD64
    assert bench.engine.inspect(tag) == image
    done = bench.engine.run(RunRequest(image=tag, argv=("id", "-u"), env={"PATH": "/bin"}))
    assert (done.code, done.stdout) == (0, "0\n")
    again = bench.engine.import_rootfs(bench.rootfs, tag, LINUX_AMD64)
    assert bench.engine.inspect(tag) == again
