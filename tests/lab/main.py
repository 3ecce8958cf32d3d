"""The lab's command line."""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from tests.lab import certificates, clients, daemons, network, place, programs, publish
from tests.lab.place import LabError, Place
from tests.lab.process import pid_of

HOST_BLOCKED = 8
INTERRUPTED = 130
T = TypeVar("T")


def main() -> int:
    """Run one command and return its exit code."""
    given = parser().parse_args()
    try:
        return int(given.command(given) or 0)
    except LabError as error:
        say(f"lab: {error}")
        return HOST_BLOCKED
    except KeyboardInterrupt:
        say("lab: interrupted; 'lab down' stops what was started")
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    """Return the grammar."""
    top = argparse.ArgumentParser(
        prog="lab", description="Real engines, a registry and stand-in bases on loopback, for imgbuild's own tests."
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    up = commands.add_parser("up", help="start everything that does not run yet")
    up.add_argument("--classic", action="store_true", help="also a second Docker with the classic image store")
    up.add_argument("--no-bases", action="store_true", help="leave the registry without stand-in bases")
    beside = "hosts the proxy lets pass, beside the package indexes"
    up.add_argument("--pass", nargs="+", default=[], metavar="HOST", dest="passed", help=beside)
    up.set_defaults(command=bring_up)

    down = commands.add_parser("down", help="stop everything; images, logs and the cache stay")
    down.add_argument("--purge", action="store_true", help="remove the lab's folder too")
    down.set_defaults(command=take_down)

    status = commands.add_parser("status", help="what runs")
    status.add_argument("--json", action="store_true")
    status.set_defaults(command=show_status)

    listed = commands.add_parser("bases", help="the stand-in bases in the registry")
    listed.add_argument("--json", action="store_true")
    listed.set_defaults(command=show_bases)

    commands.add_parser("env", help='shell lines: eval "$(tests/lab/lab env)"').set_defaults(command=show_env)

    run = commands.add_parser("run", help="run a program in the lab's environment")
    run.add_argument("argv", nargs=argparse.REMAINDER, metavar="PROGRAM …")
    run.set_defaults(command=run_program)
    return top


def say(line: str) -> None:
    """Tell what happens, on stderr."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def timed(what: str, step: Callable[[], T]) -> T:
    """Do one step and say how long it took."""
    begun = time.monotonic()
    result = step()
    say(f"lab: {time.monotonic() - begun:5.1f} s  {what}")
    return result


@contextmanager
def alone(state: Path) -> Iterator[None]:
    """Keep a second ``up`` or ``down`` of the same lab waiting."""
    state.mkdir(parents=True, exist_ok=True)
    with (state / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def bring_up(given: argparse.Namespace) -> None:
    """Start what does not run."""
    programs.check_host()
    with alone(place.state_folder()):
        here = place.make(lambda lab, service: pid_of(lab.run / f"{service}.pid") is not None)
        here.cache.mkdir(parents=True, exist_ok=True)
        timed("programs of this release", programs.install)
        root = timed("newer programs, unpacked", lambda: programs.unpack(here))
        programs.link(here, root)
        certificates.make(here)
        clients.make(here, root)
        timed("registry", lambda: daemons.registry(here))
        timed("proxy", lambda: daemons.proxy(here, given.passed))
        if not given.no_bases:
            listed = timed("stand-in bases", lambda: publish.publish(here, say))
            say(f"lab: {sum(one['missing'] is None for one in listed)} stand-in bases")
        mtu = network.up(here)
        timed("docker", lambda: daemons.docker(here, "docker", mtu))
        if given.classic:
            timed("docker, classic store", lambda: daemons.docker(here, "docker-classic", mtu))
    say(f'lab: up; eval "$({Path(sys.argv[0])} env)" to use it')


def take_down(given: argparse.Namespace) -> None:
    """Stop what runs and take away what ``up`` made outside the lab's folder."""
    here = place.existing()
    if here is None:
        say("lab: there is none here")
        return
    with alone(here.state):
        ran = daemons.down(here)
        if Path("/usr/sbin/iptables").exists():
            network.down(here)
        if here.daemons != here.run:
            shutil.rmtree(here.daemons, ignore_errors=True)
        say(f"lab: stopped {', '.join(ran) or 'nothing'}")
        if given.purge:
            shutil.rmtree(here.state)


def running(here: Place) -> dict[str, int]:
    """Return the services that run, with their pids."""
    found = {path.stem: pid_of(path) for path in sorted(here.run.glob("*.pid"))}
    return {name: pid for name, pid in found.items() if pid}


def show_status(given: argparse.Namespace) -> int:
    """Say what runs; 0 only when something does."""
    here = place.existing()
    services = running(here) if here else {}
    if given.json:
        sys.stdout.write(json.dumps({"state": str(place.state_folder()), "running": services}) + "\n")
    else:
        for name, pid in services.items():
            sys.stdout.write(f"{name:<16} pid {pid}\n")
        sys.stdout.write("" if services else "nothing runs\n")
    return 0 if services else 1


def show_bases(given: argparse.Namespace) -> None:
    """List the stand-ins that the registry has, and those that were left out."""
    here = up_or_refuse()
    kept = here.state / "bases.json"
    listed = json.loads(kept.read_text())["bases"] if kept.exists() else []
    if given.json:
        sys.stdout.write(json.dumps(listed, indent=1) + "\n")
        return
    for one in listed:
        sys.stdout.write(f"{one['reference']}  {one['missing'] or one['digest']}\n")


def show_env(_given: argparse.Namespace) -> None:
    """Print the exports."""
    sys.stdout.write(clients.exports(up_or_refuse()))


def run_program(given: argparse.Namespace) -> None:
    """Become a program in the lab's environment."""
    here = up_or_refuse()
    argv = given.argv[1:] if given.argv[:1] == ["--"] else given.argv
    if not argv:
        msg = "name the program to run: lab run -- PROGRAM …"
        raise LabError(msg)
    environment = {**os.environ, **clients.variables(here), "PATH": f"{here.bin}:{os.environ['PATH']}"}
    for name in ("DOCKER_CONTEXT", "DOCKER_TLS_VERIFY"):
        environment.pop(name, None)
    try:
        os.execvpe(argv[0], argv, environment)  # noqa: S606  # running the program that was named is the command's purpose
    except OSError as error:
        msg = f"cannot run {argv[0]!r}: {error.strerror}"
        raise LabError(msg) from error


def up_or_refuse() -> Place:
    """Return the lab that runs."""
    here = place.existing()
    if here is None or not running(here):
        msg = "nothing runs here; 'make lab-up' starts it"
        raise LabError(msg)
    return here
