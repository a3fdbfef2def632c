# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Forwarding tables: fmd's computation against that of OpenSM's ftree on the same fabric, and against memory's speed.

fmd: `fmctl plan --repeat`, from the frozen snapshot and its LIDs to complete tables, median. OpenSM: between two lines
of its verbose log, "building routing with 'ftree'" and "FatTree routing is done", which enclose ranking, indexing, hop
matrices and all tables; writing them to the switches comes after. Nothing in between logs more than a line a switch. On pods
as they are delivered it ends by min-hop, whose tables are sent while they are made, so that its time has that in it.

The program route (route.c) adds the floor: storing as many bytes past the cache, in the same process and minute.
"""
import json
import os
import subprocess

import fabrics
import parts as p
import table
import world as w

SIZES = (4096, 11664, 45360)
FLOOR_SIZES = (4096, 16384, 11664, 45360)
FASTER_BOUND = {4096: 300, 11664: 1500}
LIMIT_BOUND_MS = {45360: 100}
FLOOR_BOUND = 8
OPENSM_LARGEST = 16384  # above, its calculation takes the better part of an hour
LIMIT_S, PART_LIMIT_S, FLOOR_LIMIT_S = 100, 180, 60


def plan(world, netfile, repeat):
    run = subprocess.run([world.fmctl, "--json", "plan", netfile, "--repeat", str(repeat)], stdout=subprocess.PIPE,
                         check=True)
    return json.loads(run.stdout)


def opensm_ms(world, netfile, engine, begin, end):
    sim = w.Ibsim(world, netfile)
    try:
        sm = w.Opensm(world, sim, engine, options=("-D", "7"), flush=False)
        try:
            done = sm.wait(end, LIMIT_S, every_s=0.5)
            return (done - sm.stamp(begin)) * 1000
        finally:
            sm.process.kill()  # it sends its tables first, where it is only asked to end
            sm.close()
    finally:
        sim.close()


def ftree_ms(world, netfile):
    return opensm_ms(world, netfile, "ftree", "building routing with 'ftree'", "FatTree routing is done")


def minhop_ms(world, netfile):
    """It sends tables while it makes them."""
    return opensm_ms(world, netfile, "minhop", "building routing with 'minhop'", "minhop tables configured on all switches")


def compared(world, size, repeat, netfile, their_ms, engine, what, bound):
    ours = plan(world, netfile, repeat)
    theirs = why = None
    try:
        theirs = their_ms(world, netfile) if size <= OPENSM_LARGEST else None
    except w.BenchError as error:
        why = str(error)
    engine = engine if theirs else None
    make = table.limit if size in LIMIT_BOUND_MS else table.faster
    made = make(what, ours["route_ms"], theirs, "ms", LIMIT_BOUND_MS.get(size, bound), engine=engine)
    if any(ours["proof"][key] for key in ("unreachable", "loops", "credit_cycles")):
        made.spoil("not proven")
    if why:
        made.lacks_opensm(why)
    p.say(f"  route {size}: fmd {ours['route_ms']:.3f} ms, OpenSM {theirs} ms")
    return made, {"size": size, "plan": ours, "opensm_ms": theirs, "engine": engine}


def as_delivered(world, size, repeat):
    """Pods have aggregation nodes, which OpenSM's ftree gives up: it ends by min-hop."""
    pod = fabrics.has_sharp(size)
    engine, their_ms = ("minhop, sent meanwhile", minhop_ms) if pod else ("ftree", ftree_ms)
    made, raw = compared(world, size, repeat, fabrics.generated(world, size), their_ms, engine, f"tables, {size:,} HCAs", None if pod else FASTER_BOUND.get(size))
    return table.readme(made, table.Row("— their whole proof", raw["plan"]["check_ms"], None, "ms")), raw


def without_sharp(world, size, repeat, what):
    made, raw = compared(world, size, repeat, fabrics.generated(world, size, sharp=False), ftree_ms, "ftree", what, FASTER_BOUND.get(size))
    return table.readme(made), raw


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
    if not os.path.exists(program):
        raise w.BenchError(f"{program} is not built")
    run = subprocess.run([program, "--json", *fabrics.GENERATED[size]], stdout=subprocess.PIPE, check=True)
    result = {"fabric": f"{size:,} HCAs", **json.loads(run.stdout)}
    return floor_rows(result, size in FLOOR_SIZES), result


def parts(world, options):
    made = []
    for size in options.sizes or SIZES:
        repeat = options.repeat or (25 if size <= 16384 else 11)
        made.append(p.Part(f"tables, {size:,} HCAs", PART_LIMIT_S, lambda size=size, repeat=repeat: as_delivered(world, size, repeat)))
        if fabrics.has_sharp(size):
            what = f"{table.DETAIL}the pod without aggregation nodes"
            made.append(p.Part(what, PART_LIMIT_S, lambda size=size, repeat=repeat, what=what: without_sharp(world, size, repeat, what)))
    program = os.path.join(options.programs, "route")
    return made + [p.Part(f"{size:,} HCAs: floor of tables", FLOOR_LIMIT_S, lambda size=size: floor(world, size, program)) for size in options.sizes or FLOOR_SIZES]
