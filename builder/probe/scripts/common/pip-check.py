"""Check that every installed distribution finds what it requires: ``pip check``, or the same without pip.

What was broken in the base before anything was added is named in IMGBUILD_EXPECT and ignored.
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


def pip_lines():
    """Return the complaints of ``pip check``, or None where there is no pip."""
    import importlib.util
    import subprocess

    if importlib.util.find_spec("pip") is None:
        return None
    environment = dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_COLOR="1")
    command = [sys.executable, "-m", "pip", "check"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, universal_newlines=True)
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    if done.returncode == 0:
        return []
    if not lines:
        finish(1, "pip check failed: %s" % (done.stderr.strip().splitlines() or ["it said nothing"])[-1])
    return lines


def problem_of(line):
    """Return (distribution, what it requires) of one complaint of pip, by canonical names."""
    import re

    found = re.match(r"(\S+) \S+ (?:requires|has requirement) ([A-Za-z0-9._-]+)", line)
    if found is None:
        return canonical(line.split()[0]), ""
    return canonical(found.group(1)), canonical(found.group(2))


def holds(version, specifier):
    """Return whether a version satisfies one specifier of PEP 440, such as ``>=1.2``."""
    import re

    found = re.fullmatch(r"\s*(===|==|!=|~=|<=|>=|<|>)\s*(\S+)\s*", specifier)
    if found is None:
        return True  # what cannot be read is no complaint
    sign, wanted = found.groups()
    if sign == "===":
        return version.lower() == wanted.lower()
    if wanted.endswith(".*"):
        prefix = version_key(wanted[:-2])
        inside = in_series(version, wanted[:-2]) if prefix else True
        return inside if sign == "==" else not inside
    key, other = version_key(version), version_key(wanted)
    if key is None or other is None:
        return True
    if "+" not in wanted:
        key = key[:5] + ((0,),)
    if sign == "~=":
        return key >= other and in_series(version, wanted.rpartition(".")[0])
    return compared(sign, key, other)


def compared(sign, key, other):
    if sign == ">":
        plain = other[3] == -1 and other[4] == float("inf")
        return key > other and not (plain and key[:3] == other[:3])
    if sign == "<":
        first_early = other[:2] + ((-1, "", 0), -1, 0, (0,)) if other[3] == -1 else other[:4] + (0, (0,))
        return key < other and (is_early(other) or key < first_early)
    return {"==": key == other, "!=": key != other, "<=": key <= other, ">=": key >= other}[sign]


def is_early(key):
    return key[2][0] == 0 or key[4] != float("inf")


def in_series(version, prefix):
    """Return whether a version is of a series: 1.4.2 and 1.4rc1 are of 1.4."""
    import re

    def numbers(text):
        found = re.match(r"v?(?:(\d+)!)?(\d+(?:\.\d+)*)", text.strip().lower())
        return (int(found.group(1) or 0), [int(part) for part in found.group(2).split(".")]) if found else (0, [])

    epoch, wanted = numbers(prefix)
    mine, have = numbers(version)
    return mine == epoch and (have + [0] * len(wanted))[: len(wanted)] == wanted


def applies(marker):
    """Return whether an environment marker holds here, with no extra; a marker that cannot be read does not."""
    import ast
    import platform
    import re

    values = {
        "implementation_name": sys.implementation.name,
        "implementation_version": platform.python_version(),
        "os_name": os.name,
        "platform_machine": platform.machine(),
        "platform_python_implementation": platform.python_implementation(),
        "platform_release": platform.release(),
        "platform_system": platform.system(),
        "platform_version": platform.version(),
        "python_full_version": platform.python_version(),
        "python_version": "%d.%d" % sys.version_info[:2],
        "sys_platform": sys.platform,
        "extra": "",
    }

    def value(node):
        return values[node.id] if isinstance(node, ast.Name) else str(ast.literal_eval(node))

    def truth(node):
        if isinstance(node, ast.BoolOp):
            parts = [truth(part) for part in node.values]
            return all(parts) if isinstance(node.op, ast.And) else any(parts)
        left, right = value(node.left), value(node.comparators[0])
        kind = type(node.ops[0])
        if kind in (ast.In, ast.NotIn):
            return (left in right) == (kind is ast.In)
        sign = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}[kind]
        mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
        if isinstance(node.left, ast.Constant):
            left, right, sign = right, left, mirrored.get(sign, sign)
        if version_key(left) and version_key(right.rstrip(".*") or "-"):
            return holds(left, sign + right)
        return {"==": left == right, "!=": left != right}.get(sign, False)

    text = re.sub(r"~=\s*(['\"])(\d+)\.(\d+)[^'\"]*\1", r">= \1\2.\3\1", marker)
    try:
        return truth(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, KeyError, ValueError, AttributeError, TypeError):
        return False


def own_lines():
    """Return complaints in pip's words, found by the standard library alone."""
    import re
    from importlib import metadata

    have, requirements = {}, []
    for one in metadata.distributions():
        name = one.metadata["Name"]
        if name and canonical(name) not in have:
            have[canonical(name)] = one.version
            requirements.append((name, one.version, one.requires or []))
    lines = []
    for name, version, texts in requirements:
        for text in texts:
            found = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;)]*)\)?\s*(?:;(.*))?$", text)
            if found is None or "@" in found.group(2) or (found.group(3) and not applies(found.group(3))):
                continue
            wanted, specifiers = found.group(1), found.group(2).strip()
            there = have.get(canonical(wanted))
            if there is None:
                lines.append("%s %s requires %s, which is not installed." % (name, version, wanted))
            elif not all(holds(there, one) for one in specifiers.split(",") if one.strip()):
                said = (name, version, wanted, specifiers, wanted, there)
                lines.append("%s %s has requirement %s%s, but you have %s %s." % said)
    return lines


def main():
    known = {tuple(pair) for pair in EXPECT.get("broken") or []}
    lines, by = pip_lines(), "pip"
    if lines is None:
        lines, by = own_lines(), "metadata"
    new = [line for line in lines if problem_of(line) not in known]
    old = len(lines) - len(new)
    if new:
        more = "; and %d more" % (len(new) - 5) if len(new) > 5 else ""
        finish(1, "; ".join(new[:5]) + more, by=by, problems=new[:50], known_from_base=old)
    finish(0, by=by, problems=[], known_from_base=old)


if __name__ == "__main__":
    main()
