# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Bring-up of fmd and OpenSM on fmsim, each with its defaults, for several times that a device's agent needs for one SMP.

Readers choose the row that is nearest to their own switches. No manager can be up before the busiest device has handled its SMPs; the row of the
largest fabric shows how near fmd comes to that bound, and to its own processor time.
"""
import statistics
import sys

import fabrics
import parts as p
import table
import world as w

SIZE, TIMES = 1024, ("5us", "20us", "100us", "300us", "1ms")
LARGE, LARGE_TIME, LARGE_BOUND = 16384, "20us", 1.25
LIMIT_S, LARGE_LIMIT_S = 90, 120


def measure(world, netfile, device, manager):
    sim = w.Fmsim(world, netfile, device)
    try:
        sm = manager(world, sim)
        try:
            sample = {"up_s": sm.wait_up(LIMIT_S), "cpu_s": w.run_us(sm.process.pid) / 1e6,
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


def with_time(world, device):
    netfile = fabrics.generated(world, SIZE)
    fmd, opensm = (measure(world, netfile, device, manager) for manager in (w.Fmd, w.Opensm))
    return table.readme(row(device, fmd, opensm)), {"device": device, "fmd": fmd, "opensm": opensm}


def large(world, options):
    netfile = fabrics.generated(world, LARGE)
    samples = [measure(world, netfile, LARGE_TIME, w.Fmd) for _ in range(options.repeat or 3)]
    made = large_rows(samples)
    table.readme(made[0])
    return made, {"device": LARGE_TIME, "size": LARGE, "fmd": samples}


def parts(world, options):
    made = [p.Part(f"bring-up, {SIZE:,} HCAs, {device} a device's SMP", LIMIT_S, lambda device=device: with_time(world, device), routed=True) for device in TIMES]
    return [*made, p.Part(f"bring-up, {LARGE:,} HCAs, {LARGE_TIME} a device's SMP", LARGE_LIMIT_S, lambda: large(world, options))]
