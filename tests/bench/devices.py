# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Bring-up of fmd and OpenSM on fmsim, each with its defaults, for several times that a device's agent needs for one SMP.

Readers choose the row that is nearest to their own switches. No manager can be up before the busiest device has handled its SMPs; the row of the
largest fabric shows how near fmd comes to that bound, and to its own processor time.
"""
import statistics
import sys

import bringup
import fabrics
import table
import world as w

SIZE, TIMES = 1024, ("5us", "20us", "100us", "300us", "1ms")
LARGE, LARGE_TIME, LARGE_BOUND = 16384, "20us", 1.25


def measure(world, netfile, device, manager):
    sim = w.Fmsim(world, netfile, device)
    try:
        sm = manager(world, sim)
        try:
            sample = {"up_s": sm.wait_up(bringup.LIMIT_S), "cpu_s": w.run_us(sm.process.pid) / 1e6,
                      "busiest_s": sim.busiest_s(), "links": sim.links()}
        finally:
            sm.close()
    finally:
        sim.close()
    print(f"  devices {device} {sm.name}: {sample}", file=sys.stderr, flush=True)
    return sample


def row(device, fmd, opensm):
    made = table.share(f"bring-up, {SIZE:,} HCAs, {device} a device's SMP", fmd["up_s"], opensm["up_s"], "s")
    made.note = (f"processor {table.show(fmd['cpu_s'], 's')}, {table.show(opensm['cpu_s'], 's')}; "
                 f"busiest device {table.show(fmd['busiest_s'], 's')}, {table.show(opensm['busiest_s'], 's')}")
    if any(set(sample["links"]) != {"Active"} for sample in (fmd, opensm)):
        made.spoil("links are not Active")
    return made


def large_rows(samples):
    ratios = [sample["up_s"] / max(sample["cpu_s"], sample["busiest_s"]) for sample in samples]
    middle = samples[ratios.index(statistics.median_low(ratios))]
    return [table.Row(f"bring-up, {LARGE:,} HCAs, {LARGE_TIME} a device's SMP", middle["up_s"], None, "s"),
            table.limit("— times the larger of fmd's processor time and the busiest device's time",
                        statistics.median_low(ratios), None, "", LARGE_BOUND)]


def run(world, options):
    netfile = fabrics.generated(world, SIZE)
    for device in TIMES:
        fmd, opensm = (measure(world, netfile, device, manager) for manager in (w.Fmd, w.Opensm))
        yield [row(device, fmd, opensm)], {"device": device, "fmd": fmd, "opensm": opensm}
    netfile = fabrics.generated(world, LARGE)
    samples = [measure(world, netfile, LARGE_TIME, w.Fmd) for _ in range(options.repeat or 3)]
    yield large_rows(samples), {"device": LARGE_TIME, "size": LARGE, "fmd": samples}
