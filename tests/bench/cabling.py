# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Miswirings of all kinds, seeded, in SuperPODs of 1 to 16 units of all systems: how many `fmctl cabling` finds and names
(the kind and both cables right), without a plan and with one; and what it finds where nothing is wrong.

The program of the same name plants and judges; nothing is simulated, as only the snapshot counts. Findings in published
fabrics are shown as they are: each was looked at, and is a cable that is missing, elsewhere than its like, or slow.
"""
import collections
import json
import os
import subprocess

import fabrics
import parts as p
import table
import world as w

AT_ONCE = (1, 4, 10)  # mistakes in a fabric at a time
ROUNDS = 6
PART_LIMIT_S = 600


def judged(options, at_once, files):
    program = os.path.join(options.programs, "cabling")
    run = subprocess.run([program, "--each", str(at_once), "--rounds", str(ROUNDS), *files], capture_output=True, text=True, timeout=600)
    if run.returncode:
        raise w.BenchError(run.stderr.strip().splitlines()[-1])
    return json.loads(run.stdout)


def share(part, whole):
    return f"{part} of {whole}"


def mistake_row(row):
    plan = f"with a plan {share(row['plan_named'], row['plan_planted'])}" if row["plan_planted"] else "no plan has it"
    if row["untold"]:
        return table.Row(table.DETAIL + row["name"], f"cannot be told: {row['untold']}", note=plan)
    return table.Row(table.DETAIL + row["name"], share(row["named"], row["planted"]), note=f"found {row['found']}; {plan}")


def total_row(at_once, document):
    told = [row for row in document["mistakes"] if not row["untold"]]
    planted, named = (sum(row[key] for row in told) for key in ("planted", "named"))
    with_plan, by_plan = (sum(row[key] for row in document["mistakes"]) for key in ("plan_planted", "plan_named"))
    good = named >= 0.99 * planted and by_plan == with_plan and not document["strange"]
    return table.Row(f"Miswirings, {at_once} at once: named by the pattern", share(named, planted), bound="≥ 99%", met=good,
                     note=f"with a plan {share(by_plan, with_plan)}; {document['strange']} findings beside them")


def intact_row(document):
    pods = [row for row in document["intact"] if not row["fabric"].endswith(".net")]
    alarms = sum(len(row["findings"]) for row in pods)
    return table.Row(f"Intact pods, with 2% dead links, partly populated ({len(pods)}): findings", alarms, bound="0", met=not alarms)


def compare(options, at_once):
    files = fabrics.real() if at_once == AT_ONCE[0] else []
    document = judged(options, at_once, files)
    rows = [total_row(at_once, document)]
    if at_once == AT_ONCE[-1]:
        rows += [mistake_row(row) for row in document["mistakes"]]
    rows.append(intact_row(document))
    for row in document["intact"]:
        if row["fabric"].endswith(".net"):
            name = os.path.splitext(os.path.basename(row["fabric"]))[0]
            kinds = collections.Counter(line.split(" at ")[0] for line in row["findings"])
            rows.append(table.Row(f"{table.DETAIL}{name}: findings", len(row["findings"]), note=", ".join(f"{kind}: {count}" for kind, count in kinds.items())))
    return rows, document


def parts(world, options):
    return [p.Part(f"Miswirings, {at_once} at once", PART_LIMIT_S, lambda at_once=at_once: compare(options, at_once)) for at_once in AT_ONCE]
