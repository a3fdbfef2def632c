#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Writes README's tables of Performance: what the last whole run on each rig measured, and what make bench-long has.

    readme.py README IBSIM.json FMSIM.json LONG.json

Between the lines BEGIN and END all is replaced. A row that was not measured has no place there, a bound that was missed is told behind its ratio.
LONG.json may be missing. Ends with 1, and README stays as it is, where there is no whole run of a rig.
"""
import json
import os
import sys

sys.dont_write_bytecode = True

import table

BEGIN, END = "<!-- make bench-readme: begin -->", "<!-- make bench-readme: end -->"
COMPARED = ("s", "ms", "MB")  # units of which less is better


class NoRun(Exception):
    pass


def rows_of(document):
    """Those for README; without the details of a row that is not among them."""
    shown, heading = [], None
    for words in document["rows"]:
        row = table.Row(**{key: value for key, value in words.items() if key not in ("section", "machine")})
        row.section, row.machine = words["section"], words.get("machine")
        wanted = row.in_readme and not row.missing
        if not row.what.startswith(table.DETAIL):
            heading = row if wanted else None
        if wanted and heading:
            shown.append(row)
    return shown


def quotient(row):
    """fmd's part of OpenSM's figure, or how many times it is."""
    if not all(isinstance(value, (int, float)) and value for value in (row.fmd, row.opensm)):
        return ""
    part = row.fmd / row.opensm
    if row.unit == "/s":
        return f"{part:.2f}x"
    if row.unit not in COMPARED and not row.ratio:
        return ""
    return f"1/{1 / part:,.0f}" if part < 0.1 else f"{part:.2f}"


def judged(row):
    missed = f"**missed: {row.bound}**" if row.met is False else ""
    return " ".join(filter(None, (quotient(row), missed)))


def markdown(head, lines):
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] + ["---:"] * (len(head) - 1), *lines))


def on_machine(here):
    return f"{here['cpus']} x {here['cpu']}, Linux {here['kernel']}, {here['date']}, commit {here['commit']}"


def rig_table(document):
    here = document["machine"]
    lines = [[row.what, table.show(row.fmd, row.unit), "" if row.opensm is None else row.theirs(), judged(row)] for row in rows_of(document)]
    return f"On {here['rig']} ({on_machine(here)}):\n\n" + markdown(["", "fmd", f"OpenSM {here['opensm']}", ""], lines)


def long_table(document):
    lines = [[row.what, table.show(row.fmd, row.unit) + (f" **missed: {row.bound}**" if row.met is False else ""), f"{row.machine['date']}, {row.machine['commit']}"]
             for row in rows_of(document)]
    return "`make bench-long`, with date and commit:\n\n" + markdown(["", "fmd", ""], lines)


def tables(rigs, long):
    """The text between the markers."""
    for document in rigs:
        if document["interrupted"]:
            raise NoRun(f"the run on {document['machine']['rig']} was interrupted")
    made = [rig_table(document) for document in rigs]
    if long and rows_of(long):
        made.append(long_table(long))
    return "\n\n".join(made)


def replaced(text, made):
    before, begin, rest = text.partition(BEGIN)
    _, end, behind = rest.partition(END)
    if not begin or not end:
        raise NoRun(f"README has no lines {BEGIN} and {END}")
    return f"{before}{begin}\n\n{made}\n\n{end}{behind}"


def load(path, how):
    try:
        with open(path) as file:
            return json.load(file)
    except OSError:
        raise NoRun(f"there is no {path}: {how}") from None


def main(readme, ibsim, fmsim, long):
    rigs = [load(ibsim, "make bench"), load(fmsim, "make bench RIG=fmsim")]
    made = tables(rigs, load(long, "") if os.path.exists(long) else None)
    with open(readme) as file:
        text = replaced(file.read(), made)
    with open(readme, "w") as file:
        file.write(text)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except NoRun as why:
        sys.exit(f"bench-readme: {why}")
