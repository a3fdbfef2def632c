# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Judges a page of Prometheus' text format 0.0.4 as strictly as `promtool check metrics`: its grammar and its naming rules."""
import pathlib
import re
import shutil
import subprocess

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{((?:{LABEL})(?:,{LABEL})*),?\}})? (\S+)(?: (-?\d+))?$")
META = re.compile(rf"# (HELP|TYPE) ({NAME}) (.*)$")
TYPES = {"counter", "gauge", "untyped", "histogram", "summary"}
ABBREVIATED = {"s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "tb", "pb", "m", "h", "d"}
NOT_BASE = re.compile(r"(milli|micro|nano|kilo|mega|giga|tera|deci|centi|kibi|mebi|gibi)\w+|minutes?|hours?|days?|weeks?|bits?|"
                      r"inch(es)?|feet|miles?|pounds?|ounces?|kelvin|fahrenheit|percent(age)?s?|degrees?")
REAL = pathlib.Path(__file__).resolve().parent.parent.parent / "build" / "tools" / "promtool"


def is_number(text):
    try:
        float(text)
        return "_" not in text
    except ValueError:
        return False


def lint(name, kind):
    """What promtool says of a metric's name, for its type."""
    words = name.split("_")
    if kind == "counter" and not name.endswith("_total"):
        yield f"{name}: a counter has to end in _total"
    if kind != "counter" and name.endswith("_total"):
        yield f"{name}: only a counter may end in _total"
    if re.search(r"[a-z][A-Z]", name) or ":" in name:
        yield f"{name}: not snake_case"
    if words[-1] in ("counter", "gauge", "histogram", "summary") or set(words) & {"count", "sum", "bucket"} & {words[-1]}:
        yield f"{name}: the type is no part of the name"
    yield from (f"{name}: {word} is an abbreviated unit" for word in words if word in ABBREVIATED)
    yield from (f"{name}: {word} is no base unit" for word in words if NOT_BASE.fullmatch(word))


def problems(text):
    """Every reason to refuse the page, as a list of strings."""
    found, helps, types, samples, closed, current = [], {}, {}, set(), set(), None
    if text and not text.endswith("\n"):
        found.append("the last line has no end")
    for number, line in enumerate(text.splitlines(), 1):
        meta, sample = META.match(line), SAMPLE.match(line)
        if line.startswith("#") and not meta or not line:
            continue  # a remark
        if not meta and not sample:
            found.append(f"{number}: neither HELP, TYPE nor a sample: {line}")
            continue
        name = meta[2] if meta else sample[1]
        if name != current:
            if name in closed:
                found.append(f"{number}: {name} stands in two places")
            closed.add(current)
            current = name
        if meta:
            known = helps if meta[1] == "HELP" else types
            if name in known:
                found.append(f"{number}: second {meta[1]} line for {name}")
            known[name] = meta[3]
            if meta[1] == "TYPE" and (meta[3] not in TYPES or any(s[0] == name for s in samples)):
                found.append(f"{number}: TYPE {meta[3]} of {name} is none, or stands behind a sample")
        else:
            key = name, tuple(sorted(re.findall(LABEL, sample[2] or "")))
            labels = [label.split("=")[0] for label in key[1]]
            if key in samples:
                found.append(f"{number}: {line}: the same sample again")
            if len(labels) != len(set(labels)):
                found.append(f"{number}: {line}: a label twice")
            if not is_number(sample[3]):
                found.append(f"{number}: {sample[3]} is no number")
            samples.add(key)
    for name in sorted({name for name, _ in samples}):
        if not helps.get(name):
            found.append(f"{name}: no help")
        found.extend(lint(name, types.get(name, "untyped")))
    return found


def promtool():
    """Where the original is, or None."""
    return shutil.which("promtool") or (str(REAL) if REAL.exists() else None)


def promtool_says(text):
    """(status, output) of `promtool check metrics`."""
    run = subprocess.run([promtool(), "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
    return run.returncode, run.stdout + run.stderr
