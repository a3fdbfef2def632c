# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What a sweep costs while nothing changes: SMPs sent over some sweeps, divided by their number.

Both managers sweep every INTERVAL_S here, instead of every 10 s by default. In fmd and in OpenSM a sweep asks every
switch for SwitchInfo once, so the number of these requests shows how many sweeps there were in that time.
"""
import time

import fabrics
import parts as p
import table
import world as w

SIZES = (1024,)
INTERVAL_S = 2
SETTINGS = f"sweep_interval = {INTERVAL_S:.1f};\naudit_after = 60.0;\n"
SETTLE_S = 2.5 * INTERVAL_S
SWEEPS = 4
LIVENESS_PER_S = 1
LIMIT_S = 90


def fmd(world, sim):
    return w.Fmd(world, sim, settings=SETTINGS)


def opensm(world, sim):
    return w.Opensm(world, sim, sweep_interval=INTERVAL_S)


def measure(world, netfile, manager):
    """(SMPs a sweep, switches)"""
    sim = w.Ibsim(world, netfile)
    try:
        sm = manager(world, sim)
        try:
            sm.wait_up(LIMIT_S)
            time.sleep(SETTLE_S)
            smps, asked = sm.counts.smps(), sm.counts.sent(w.GET, w.SWITCH_INFO)
            time.sleep(SWEEPS * INTERVAL_S)
            smps, asked = sm.counts.smps() - smps, sm.counts.sent(w.GET, w.SWITCH_INFO) - asked
        finally:
            sm.close()
    finally:
        sim.close()
    if not asked:
        raise w.BenchError(f"{sm.name} did not sweep within {SWEEPS * INTERVAL_S} s")
    return smps, asked


def compare(world, size):
    netfile = fabrics.generated(world, size)
    with open(netfile) as lines:
        switches = sum(line.startswith("Switch") for line in lines)
    per_sweep, raw = [], {"size": size, "switches": switches, "interval_s": INTERVAL_S}
    for manager in (fmd, opensm):
        smps, asked = measure(world, netfile, manager)
        per_sweep.append(smps * switches / asked)
        raw[manager.__name__] = {"smps": smps, "switch_infos": asked}
    what = f"SMPs in a sweep without news, {size:,} HCAs, {switches:,} switches"
    return table.readme(table.limit(what, *per_sweep, "", switches + LIVENESS_PER_S * INTERVAL_S)), raw


def parts(world, options):
    return [p.Part(f"SMPs in a sweep without news, {size:,} HCAs", LIMIT_S, lambda size=size: compare(world, size)) for size in options.sizes or SIZES]
