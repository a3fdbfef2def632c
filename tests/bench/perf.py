# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The counters of all ports are read once: fmd on demand, OpenSM by its performance manager, both from the first packet to the last.

The times are of the counting library: both send PortCounters, one packet a port, and answers come back as fast as the
simulator gives them. A pass that both have made before is measured, when it is known what agents can do.
"""
import time

import fabrics
import parts as p
import table
import world as w

SIZES = (4096,)
TIME_BOUND, SIZE_BOUND = 1 / 2, 4096
PERF_CLASS, CALM_S, LIMIT_S, PART_LIMIT_S = 0x04, 1.5, 60, 150
SWEEP_S = 5
OUTSTANDING = 32  # with its default of 500 the simulator loses packets, and OpenSM stands still for ever


def sent(manager):
    """(packets of performance management so far, time of the last)"""
    mine = [entry for (c, _, _), entry in manager.counts.read().items() if c == PERF_CLASS]
    return sum(n for n, _ in mine), max((last for _, last in mine), default=0)


def next_pass(manager):
    """(packets, seconds) of the next pass that begins."""
    before, _ = sent(manager)
    until, began = time.time() + LIMIT_S, None
    while True:
        now, last = sent(manager)
        if began is None and now > before:
            began = time.time()
        if began and time.time() - last > CALM_S:
            return now - before, last - began
        if time.time() > until:
            raise w.BenchError(f"{manager.name}: no pass over the counters within {LIMIT_S} s")
        time.sleep(0.002)


def measure_fmd(world, netfile):
    sim = w.Ibsim(world, netfile)
    try:
        fmd = w.Fmd(world, sim, settings="perf_interval = 0;\n")
        try:
            fmd.wait_up(LIMIT_S)
            fmd.ask("health", "--read")
            before = sent(fmd)[0]
            health = fmd.ask("health", "--read")
            return {"mads": sent(fmd)[0] - before, "s": health["pass_ms"] / 1e3, "ports": health["ports_read"]}
        finally:
            fmd.close()
    finally:
        sim.close()


def measure_opensm(world, netfile):
    sim = w.Ibsim(world, netfile)
    try:
        osm = w.Opensm(world, sim, perfmgr="TRUE", perfmgr_sweep_time_s=SWEEP_S, sweep_interval=0, perfmgr_max_outstanding_queries=OUTSTANDING)
        try:
            osm.wait_up(LIMIT_S)
            next_pass(osm)
            mads, seconds = next_pass(osm)
            return {"mads": mads, "s": seconds}
        finally:
            osm.close()
    finally:
        sim.close()


def compare(world, size):
    netfile = fabrics.generated(world, size)
    fmd, osm = measure_fmd(world, netfile), measure_opensm(world, netfile)
    p.say(f"  perf {size}: fmd {fmd}, OpenSM {osm}")
    bound = TIME_BOUND if size >= SIZE_BOUND else None
    made = table.readme(table.share(f"counters of all ports read, {size:,} HCAs, {fmd['ports']:,} ports", fmd["s"], osm["s"], "s", bound))
    return [*made, table.share("— MADs sent", fmd["mads"], osm["mads"], "", 1)], {"size": size, "fmd": fmd, "opensm": osm}


def parts(world, options):
    return [p.Part(f"counters of all ports read, {size:,} HCAs", PART_LIMIT_S, lambda size=size: compare(world, size)) for size in options.sizes or SIZES]
