# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Forwarding tables: fmd's computation against that of OpenSM's ftree on the same fabric, and against memory's speed.

fmd: `fmctl plan --repeat`, from the frozen snapshot and its LIDs to complete tables, median. OpenSM: between two lines
of its verbose log, "building routing with 'ftree'" and "FatTree routing is done", which enclose ranking, indexing, hop
matrices and all tables; writing them to the switches comes after. Nothing in between logs more than a line a switch.

The program route (route.c) adds the floor: storing as many bytes past the cache, in the same process and minute.
"""
import json
import os
import subprocess
import sys

import fabrics
import table
import world as w

SIZES = (4096, 11664, 45360)
FLOOR_SIZES = (4096, 16384, 11664, 45360)
FASTER_BOUND = {4096: 300, 11664: 1500}
LIMIT_BOUND_MS = {45360: 100}
FLOOR_BOUND = 8
OPENSM_LARGEST = 16384  # above, its calculation takes the better part of an hour
LIMIT_S = 900


def plan(world, netfile, repeat):
    run = subprocess.run([world.fmctl, "--json", "plan", netfile, "--repeat", str(repeat)], stdout=subprocess.PIPE,
                         check=True)
    return json.loads(run.stdout)


def opensm_ms(world, netfile):
    sim = w.Ibsim(world, netfile)
    try:
        sm = w.Opensm(world, sim, options=("-D", "7"), flush=False)
        try:
            end = sm.wait("FatTree routing is done", LIMIT_S, every_s=1)
            start = sm.stamp("building routing with 'ftree'")
        finally:
            sm.close()
    finally:
        sim.close()
    return (end - start) * 1000


def compare(world, size, repeat):
    netfile = fabrics.generated(world, size)
    ours = plan(world, netfile, repeat)
    theirs = opensm_ms(world, netfile) if size <= OPENSM_LARGEST else None
    what = f"tables, {size:,} HCAs, {ours['switches']:,} switches"
    if size in LIMIT_BOUND_MS:
        made = table.limit(what, ours["route_ms"], theirs, "ms", LIMIT_BOUND_MS[size])
    else:
        made = table.faster(what, ours["route_ms"], theirs, "ms", FASTER_BOUND.get(size))
    proof = table.Row("— their whole proof", ours["check_ms"], None, "ms")
    if any(ours["proof"][key] for key in ("unreachable", "loops", "credit_cycles")):
        made.spoil("not proven")
    print(f"  route {size}: fmd {ours['route_ms']:.3f} ms, OpenSM {theirs} ms", file=sys.stderr, flush=True)
    return [made, proof], {"size": size, "plan": ours, "opensm_ms": theirs}


def floor_rows(result, judged):
    def row(what, ms):
        ratio = ms / result["floor_ms"]
        bound = (f"≤ {FLOOR_BOUND}x floor", ratio <= FLOOR_BOUND) if judged else ()
        return table.Row(what, ms, None, "ms", f"{ratio:.1f}x floor", *bound)

    floor = table.Row(f"{result['fabric']}, {result['lft_bytes'] / 1e6:.1f} MB of tables: floor, storing them",
                      result["floor_ms"], None, "ms")
    change = result["delta"]
    return [floor, row("— tables, intact", result["route_ms"]),
            row(f"— tables, one cable dead ({change['entries']:,} entries in {change['blocks']:,} blocks differ)",
                result["fault_ms"]),
            table.Row("— which entries differ", result["delta_ms"], None, "ms"),
            table.Row("— whole proof", result["check_ms"], None, "ms")]


def floor(world, size, program):
    run = subprocess.run([program, "--json", *fabrics.GENERATED[size]], stdout=subprocess.PIPE, check=True)
    result = {"fabric": f"{size:,} HCAs", **json.loads(run.stdout)}
    return floor_rows(result, size in FLOOR_SIZES), result


def run(world, options):
    for size in options.sizes or SIZES:
        yield compare(world, size, options.repeat or (25 if size <= 16384 else 11))
    program = os.path.join(options.programs, "route")
    if not os.path.exists(program):
        raise w.BenchError(f"{program} is not built")
    for size in options.sizes or FLOOR_SIZES:
        yield floor(world, size, program)
