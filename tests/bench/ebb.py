# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Effective bisection bandwidth of the tables of fmd: what random pairs of ports get, each flow its share of its busiest link.

Computed by `fmctl plan`, not sent: of the tables with lmc 0 to 3, where each flow uses all LIDs of its destination. A row for each
lmc has what flows get on average and, in its note, what nine of ten get, and the figures of a job on 40 % of the machines.
"""
import json
import os
import subprocess

import fabrics
import parts as p
import table

SIZES = (1024, 4096)
LIMIT_S = 120


def row(what, ebb):
    pairs, job = ebb["bisection"], ebb["job"]
    return table.Row(what, f"{pairs['mean']:.2f}", note=f"nine of ten {pairs['slowest_tenth']:.2f}, worst link {pairs['worst_link']:.1f}; "
                     f"40 % of machines {job['mean']:.2f}, {job['slowest_tenth']:.2f}")


def measure(world, size):
    netfile, rows, raw = fabrics.generated(world, size), [], {}
    for lmc in range(4):
        config = os.path.join(world.dir, "ebb.conf")
        with open(config, "w") as out:
            out.write(f"lmc = {lmc}\n")
        run = subprocess.run([world.fmctl, "--json", "plan", netfile, "--config", config], stdout=subprocess.PIPE, check=True)
        raw[lmc] = json.loads(run.stdout)["ebb"]
        rows.append(row(f"{table.DETAIL if lmc else ''}bandwidth of random pairs, {size:,} HCAs, lmc {lmc}", raw[lmc]))
    return rows, raw


def parts(world, options):
    return [p.Part(f"bandwidth of random pairs, {size:,} HCAs", LIMIT_S, lambda size=size: measure(world, size))
            for size in options.sizes or SIZES]
