"""Hold what the image is against what plan and lock declare: versions, Python, environment, constraints.

The framework is compared with its local label, because a public version matches any local label
and so no constraint can stop a vendor's build from being replaced.
"""

# --- block: protocol (the same in every script that has it; a test holds them together)
import json
import os
import sys

REPORT = sys.stdout
if __name__ == "__main__":
    REPORT = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the framework prints is no part of the report
EXPECT = json.loads(os.environ.get("IMGBUILD_EXPECT") or "{}")
STACK = (EXPECT.get("stack") or {}).get("name") or "cpu"


def finish(code, reason=None, **values):
    """End with the report as the last line: 0 passed, 77 skipped, anything else failed."""
    REPORT.write(json.dumps({"values": values, "reason": reason}) + "\n")
    REPORT.flush()
    sys.exit(code)


# --- end of block


# --- block: versions (the same in every script that has it; a test holds them together)
def canonical(name):
    """Return the name of a distribution as PEP 503 compares it."""
    import re

    return re.sub(r"[-_.]+", "-", name).lower()


def version_key(text):
    """Return what PEP 440 orders versions by, or None when the text is no version."""
    import re

    found = re.fullmatch(
        r"v?(?:(\d+)!)?(\d+(?:\.\d+)*)(?:[-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?(\d*))?"
        r"(?:-(\d+)|[-_.]?(?:post|rev|r)[-_.]?(\d*))?(?:[-_.]?dev[-_.]?(\d*))?(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?",
        text.strip().lower(),
    )
    if found is None:
        return None
    epoch, release, letter, number, dash, post, dev, local = found.groups()
    numbers = [int(part) for part in release.split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    after = dash if dash is not None else post
    letters = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
    if letter:
        before = (0, letters.get(letter, letter), int(number or 0))
    else:
        before = (-1, "", 0) if after is None and dev is not None else (1, "", 0)
    parts = re.split(r"[-_.]", local) if local else []
    label = tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts)
    return (
        int(epoch or 0),
        tuple(numbers),
        before,
        -1 if after is None else int(after or 0),
        float("inf") if dev is None else int(dev or 0),
        (1,) + label if parts else (0,),
    )


# --- end of block


def installed():
    """Return the version of every distribution that Python would import, by canonical name."""
    from importlib import metadata

    found = {}
    for one in metadata.distributions():
        name = one.metadata["Name"]
        if name:
            found.setdefault(canonical(name), one.version)  # the first on the path is the one imported
    return found


def same(one, other):
    key = version_key(one)
    return one == other or (key is not None and key == version_key(other))


def differing(declared, actual, why):
    """Yield a sentence for each distribution that is not at the version declared."""
    for name, version in sorted(declared.items()):
        have = actual.get(canonical(name))
        if have is None:
            yield "%s: declared %s (%s), but it is not there" % (name, version, why)
        elif not same(version, have):
            yield "%s: declared %s (%s), actual %s" % (name, version, why, have)


def starts_with(said, public):
    """Return whether a module's own version is a public version, alone or with a label behind it."""
    rest = said[len(public) :]
    return said.startswith(public) and not rest[:1].isalnum() and rest[:1] != "."


def module_versions(distributions):
    """Yield (distribution, module, its ``__version__``) for the framework's modules."""
    import importlib

    for name in EXPECT.get("imports") or []:
        said = getattr(importlib.import_module(name), "__version__", None)
        brought = [one for one in distributions if provides(one, name)]
        if isinstance(said, str) and brought:
            yield brought[0], name, said


def provides(distribution, module):
    """Return whether a distribution brought a top-level module."""
    from importlib import metadata

    try:
        files = metadata.distribution(distribution).files or []
    except metadata.PackageNotFoundError:
        return False
    top = module.split(".")[0]
    return any(path.parts[0] == top or path.parts[0] == top + ".py" for path in files if path.parts)


def framework(actual):
    """Yield what is wrong with the framework's distributions, and put their versions into ``actual``."""
    expected = (EXPECT.get("framework") or {}).get("distributions") or {}
    packages = installed()
    declared = {name: known["version"] for name, known in expected.items()}
    for name in list(expected)[:1]:
        actual["framework_version"] = packages.get(canonical(name))
    for sentence in differing(declared, packages, "framework"):
        yield sentence
    for name, module, said in module_versions(list(expected)):
        actual["module_version"] = said
        known = expected[name].get("module_version")
        if known is not None and said != known:
            yield "%s.__version__: declared %s, actual %s" % (module, known, said)
        elif known is None and not starts_with(said, declared[name]):
            yield "%s.__version__: declared %s, actual %s" % (module, declared[name], said)


def built_for():
    """Return the stack and version, and the code list, that a framework says it was compiled for."""
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        version = torch.version.cuda or getattr(torch.version, "hip", None)
        stack = "cuda" if torch.version.cuda else "rocm" if version else "cpu"
        flags = getattr(getattr(torch, "_C", None), "_cuda_getArchFlags", lambda: None)()
        return stack, version, flags.split() if flags else None
    if "tensorflow" in sys.modules:
        info = sys.modules["tensorflow"].sysconfig.get_build_info()
        if info.get("is_cuda_build"):
            return "cuda", info.get("cuda_version"), info.get("cuda_compute_capabilities")
        return ("rocm", info.get("rocm_version"), None) if info.get("is_rocm_build") else ("cpu", None, None)
    return None, None, None


def stack(actual):
    """Yield what differs between the stack of the plan and the one that the framework was compiled for."""
    declared = EXPECT.get("stack") or {}
    name, version, codes = built_for()
    if name:
        actual["framework_stack"] = ("%s %s" % (name, version)) if version else name
    if codes:
        actual["arch_list"] = list(codes)
    if declared.get("name") not in ("cuda", "rocm") or name is None:
        return
    wanted = declared.get("version")
    if name != declared["name"]:
        yield "stack: declared %s, but the framework is built for %s" % (declared["name"], name)
    elif wanted and version and version.split(".")[:2] != wanted.split(".")[:2]:
        yield "stack: declared %s %s, but the framework is built for %s %s" % (name, wanted, name, version)
    known = EXPECT.get("arch_list")
    if known and codes and sorted(known) != sorted(codes):
        yield "code: declared %s, actual %s" % (" ".join(known), " ".join(codes))


def python(actual):
    import platform

    actual["python"] = platform.python_version()
    actual["machine"] = platform.machine()
    try:
        actual["glibc"] = os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):
        actual["glibc"] = None
    declared = EXPECT.get("python")
    if declared and "%d.%d" % sys.version_info[:2] != ".".join(declared.split(".")[:2]):
        yield "Python: declared %s, actual %s" % (declared, actual["python"])
    machine = {"linux/amd64": "x86_64", "linux/arm64": "aarch64"}.get(EXPECT.get("platform"))
    if machine and actual["machine"] != machine:
        yield "platform: declared %s, actual %s" % (EXPECT["platform"], actual["machine"])


def packages(actual):
    have = installed()
    locked, kept = EXPECT.get("packages") or {}, EXPECT.get("kept") or {}
    actual["packages"] = len(locked)
    for sentence in differing(locked, have, "lock"):
        yield sentence
    for sentence in differing(kept, have, "base"):
        yield sentence


def debs(actual):
    """Yield the Debian packages that are not at their locked version; silent where the image has no package list."""
    declared = EXPECT.get("debs") or {}
    have = deb_versions("/var/lib/dpkg/status")
    if not declared or have is None:
        actual["debs"] = None
        return
    actual["debs"] = len(declared)
    for name, version in sorted(declared.items()):
        if have.get(name) != version:
            yield "%s: declared %s (Debian package), actual %s" % (name, version, have.get(name) or "not there")


def deb_versions(path):
    """Return the versions of installed Debian packages by name, None where there is no list."""
    if not os.path.exists(path):
        return None
    found, name, there = {}, None, False
    with open(path, encoding="utf-8", errors="replace") as status:
        for line in status:
            if line.startswith("Package:"):
                name, there = line.split(":", 1)[1].strip(), False
            elif line.startswith("Status:"):
                there = line.split()[-1] in ("installed", "triggers-pending", "triggers-awaited")
            elif line.startswith("Version:") and there:
                found[name] = line.split(":", 1)[1].strip()
    return found


def environment(actual):
    """Yield what differs in environment and constraints: these keep the framework in the user's hands."""
    import re

    constraints = EXPECT.get("constraints") or {}
    variables = constraints.get("variables") or []
    for name, value in sorted((EXPECT.get("env") or {}).items()):
        if name not in variables and os.environ.get(name) != value:
            yield "environment: declared %s=%r, actual %r" % (name, value, os.environ.get(name))
    versions, path = constraints.get("versions") or {}, constraints.get("path")
    if not versions:
        return
    actual["constraints"] = path
    try:
        with open(path, encoding="utf-8") as file:
            lines = [re.fullmatch(r"([^=\s]+)={2,3}(\S+)", line.strip()) for line in file]
    except OSError as error:
        yield "constraints: %s cannot be read: %s" % (path, error.strerror)
        return
    held = {(canonical(line.group(1)), line.group(2)) for line in lines if line}
    for name, version in sorted(versions.items()):
        if (name, version) not in held:
            yield "constraints: %s does not hold %s==%s" % (path, name, version)
    for variable in variables:
        if path not in os.environ.get(variable, "").split():
            yield "environment: %s does not name %s" % (variable, path)


def main():
    if not EXPECT:
        finish(77, "nothing is declared: IMGBUILD_EXPECT is empty", packages=len(installed()))
    actual, problems = {}, []
    for check in (python, framework, stack, packages, debs, environment):
        problems += check(actual)
    if problems:
        more = "; and %d more" % (len(problems) - 5) if len(problems) > 5 else ""
        finish(1, "; ".join(problems[:5]) + more, problems=problems[:50], **actual)
    finish(0, **actual)


if __name__ == "__main__":
    main()
