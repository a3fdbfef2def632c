#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Writes the tables of fmd-performance(7), and README's five rows: what the last whole run on each rig measured, and what make bench-long has.

    readme.py README PAGE IBSIM.json FMSIM.json LONG.json

Between the lines BEGIN and END all is replaced. A row that was not measured has no place there, a bound that was missed is told behind its ratio.
LONG.json may be missing. Ends with 1, and both files stay as they are, where there is no whole run of a rig.
"""
import json
import os
import pathlib
import sys

sys.dont_write_bytecode = True

import table

BEGIN, END = "make bench-readme: begin", "make bench-readme: end"
# README's rows, of fmsim.
FIVE = ("bring-up, 4,096 HCAs", "one leaf-spine cable cut, 4,096 HCAs: trap to last block", "spine dies, 4,096 HCAs: cut to last block",
        "restart of the manager, 4,096 HCAs: until it answers again", "PathRecord Get, window 64, 1,024 HCAs")
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
    missed = f"(bound missed: {row.bound})" if row.met is False else ""
    return " ".join(filter(None, (quotient(row), missed)))


def markdown(head, lines):
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] + ["---:"] * (len(head) - 1), *lines))


def roff(head, lines, widths=(24, 10, 15, 12)):
    """For tbl: a cell that is wider than its column is a block of text."""
    def cell(text, width):
        text = text.replace("\\", "\\e").replace("-", "\\-")
        return f"T{{\n{text}\nT}}" if len(text) > width else text

    rows = ["\\&" + "\t".join(map(cell, cells, widths)) if len(cells[0]) <= widths[0] else "\t".join(map(cell, cells, widths)) for cells in (head, *lines)]
    form = " ".join(f"{'r' if column else 'l'}w({width}n)" for column, width in zip(range(len(head)), widths))
    return "\n".join([".na", ".nh", ".TS", f"{form}.", *rows, ".TE", ".hy", ".ad"])


def on_machine(here):
    return f"{here['cpus']} x {here['cpu']}, Linux {here['kernel']}, {here['date']}, commit {here['commit']}"


def cells_of(row):
    return [row.what, table.show(row.fmd, row.unit), "" if row.opensm is None else row.theirs(), judged(row)]


def rig_table(document):
    here = document["machine"]
    return f".SS On {here['rig']}\n{on_machine(here)}:\n.PP\n" + roff(["", "fmd", f"OpenSM {here['opensm']}", ""], map(cells_of, rows_of(document)))


def long_table(document):
    lines = [[row.what, table.show(row.fmd, row.unit) + (f" (bound missed: {row.bound})" if row.met is False else ""), f"{row.machine['date']}, {row.machine['commit']}"]
             for row in rows_of(document)]
    return ".SS make bench\\-long\nWith date and commit:\n.PP\n" + roff(["", "fmd", ""], lines)


def tables(rigs, long):
    """The page's text between the markers."""
    for document in rigs:
        if document["interrupted"]:
            raise NoRun(f"the run on {document['machine']['rig']} was interrupted")
    made = [rig_table(document) for document in rigs]
    if long and rows_of(long):
        made.append(long_table(long))
    return "\n".join(made)


def five(document):
    """README's."""
    here = document["machine"]
    lines = [cells_of(row) for row in rows_of(document) if row.what in FIVE]
    return f"On {here['rig']}, {on_machine(here)}:\n\n" + markdown(["", "fmd", f"OpenSM {here['opensm']}", ""], lines)


def replaced(text, made):
    """The markers are within a comment each, of markdown or roff."""
    before, begin, rest = text.partition(BEGIN)
    _, end, behind = rest.partition(END)
    if not begin or not end:
        raise NoRun(f"no lines `{BEGIN}` and `{END}`")
    first, _, _ = rest.partition("\n")
    lead = text[text.rindex("\n", 0, text.index(END)) + 1:text.index(END)]
    return f"{before}{begin}{first}\n{made}\n{lead}{end}{behind}"


def load(path, how):
    try:
        with open(path) as file:
            return json.load(file)
    except OSError:
        raise NoRun(f"there is no {path}: {how}") from None


def main(readme, page, ibsim, fmsim, long):
    rigs = [load(ibsim, "make bench"), load(fmsim, "make bench RIG=fmsim")]
    made = {page: tables(rigs, load(long, "") if os.path.exists(long) else None), readme: f"\n{five(rigs[1])}\n"}
    made = {path: replaced(pathlib.Path(path).read_text(), text) for path, text in made.items()}
    for path, text in made.items():
        pathlib.Path(path).write_text(text)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except NoRun as why:
        sys.exit(f"bench-readme: {why}")
