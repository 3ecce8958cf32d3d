"""What one Python of a base is, as one line of JSON: version, distributions, constraints, the framework's own word.

Run by facts.sh with each Python that a base may have, or by hand: ``python facts.py``. Works on
Python 3.6 and later with the standard library alone. ``IMGBUILD_FACTS_FRAMEWORKS`` holds name
patterns of the distributions that matter, separated by spaces. Ends with 10 when all are here.
"""

import configparser
import fnmatch
import json
import os
import platform
import re
import subprocess
import sys
import sysconfig

if sys.path and sys.path[0] == "":
    del sys.path[0]  # the working folder of an image is not its Python

ALL_HERE = 10
MOST_BYTES = 256 * 1024
MOST_DISTRIBUTIONS = 4000
MOST_MODULES = 8
SECONDS = 120
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")

CHILD = """
import importlib, json, sys
name = sys.argv[1]
module = importlib.import_module(name)
answer = {"version": getattr(module, "__version__", None)}
if answer["version"] is not None:
    answer["version"] = str(answer["version"])
if name == "torch":
    flags = None
    for ask in ("_cuda_getArchFlags", "_xpu_getArchFlags"):
        try:
            flags = flags or getattr(module._C, ask)()
        except Exception:
            pass
    answer["arch_list"] = flags.split() if flags else None
sys.stdout.write("\\n" + json.dumps(answer) + "\\n")
"""


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def distributions():
    """Return every distribution by canonical name; the first on the path is the one that counts."""
    from importlib import metadata

    found = {}
    for one in metadata.distributions():
        try:
            name, version = one.metadata["Name"], one.version
            if not name or not version or NAME.fullmatch(name) is None or canonical(name) in found:
                continue
            found[canonical(name)] = (one, {
                "name": name,
                "version": version,
                "location": str(one.locate_file("")),
                "requires": list(one.requires or []),
            })
        except Exception:  # a broken distribution is as good as none
            continue
        if len(found) >= MOST_DISTRIBUTIONS:
            break
    return found


def module_of(name, distribution):
    """Return the module to import for a distribution: what it says itself, else its name."""
    try:
        tops = (distribution.read_text("top_level.txt") or "").split()
    except Exception:
        tops = []
    own = name.replace("-", "_")
    if own in tops or not tops:
        return own
    return next((top for top in tops if not top.startswith("_")), own)


def ask(module):
    """Import a module in a child and return what it says, and why it does not."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", CHILD, module], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return {}, "importing %s took longer than %d s" % (module, SECONDS)
    except OSError as error:
        return {}, "importing %s: %s" % (module, error)
    lines = done.stdout.decode("utf-8", "replace").split("\n")
    for line in reversed(lines):
        if line.startswith("{"):
            try:
                return json.loads(line), None
            except ValueError:
                break
    errors = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    last = errors[-1].strip()[:300] if errors else "no reason given"
    return {}, "importing %s ended with %d: %s" % (module, done.returncode, last)


def constraint_files():
    """Return the constraint files that pip and uv use here, path to content."""
    paths = []
    for name in ("PIP_CONSTRAINT", "UV_CONSTRAINT"):
        paths += os.environ.get(name, "").split()
    places = [os.environ.get("PIP_CONFIG_FILE", ""), "/etc/pip.conf", "/etc/xdg/pip/pip.conf"]
    places += [os.path.expanduser("~/.config/pip/pip.conf"), os.path.expanduser("~/.pip/pip.conf"), os.path.join(sys.prefix, "pip.conf")]
    for place in places:
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read(place)
        except Exception:
            continue
        for section in ("global", "install"):
            if parser.has_option(section, "constraint"):
                paths += parser.get(section, "constraint").split()
    paths.append("/etc/pip/constraint.txt")
    found = {}
    for path in paths:
        if os.path.isabs(path) and path not in found and os.path.isfile(path):
            try:
                with open(path, "rb") as stream:
                    found[path] = stream.read(MOST_BYTES).decode("utf-8", "replace")
            except OSError:
                continue
    return found


def externally_managed():
    """Return whether PEP 668 keeps pip out of this Python."""
    if sys.prefix != sys.base_prefix:
        return False
    return os.path.exists(os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED"))


def libc():
    try:
        return os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, ValueError, OSError):
        return None


def main():
    patterns = [canonical(word) if "*" not in word else word for word in os.environ.get("IMGBUILD_FACTS_FRAMEWORKS", "").split()]
    try:
        here, why = distributions(), None
    except ImportError as error:
        here, why = {}, "this Python cannot list its distributions: %s" % error
    matched = {name for name in here if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)}
    arch_list = None
    for name in sorted(matched)[:MOST_MODULES]:
        distribution, row = here[name]
        answer, unread = ask(module_of(name, distribution))
        version = answer.get("version")
        row["module_version"] = version if isinstance(version, str) else None
        row["unread"] = unread or (None if version else "the module has no __version__")
        arch_list = answer.get("arch_list") or arch_list
    missing = [pattern for pattern in patterns if not any(fnmatch.fnmatchcase(name, pattern) for name in here)]
    facts = {
        "python": sys.argv[1] if len(sys.argv) > 1 and os.path.isabs(sys.argv[1]) else sys.executable,
        "version": platform.python_version(),
        "libc": libc(),
        "externally_managed": externally_managed(),
        "pip": here["pip"][1]["version"] if "pip" in here else None,
        "missing": missing,
        "unlisted": why,
        "constraints": constraint_files(),
        "distributions": [here[name][1] for name in sorted(here)],
        "arch_list": arch_list,
    }
    mark = os.environ.get("IMGBUILD_FACTS_MARK", "imgbuild-facts")
    sys.stdout.write("\n%s python %s\n" % (mark, json.dumps(facts, sort_keys=True)))
    sys.stdout.flush()
    return 0 if missing or why else ALL_HERE


if __name__ == "__main__":
    sys.exit(main())
