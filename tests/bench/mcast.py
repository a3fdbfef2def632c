# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What joins cost: Set(MulticastForwardingTable) until all of JOINS joins into GROUPS groups are in the switches.

One client joins for ports all over the fabric, one join after the other, with GAPS_US between two, as jobs start: the same joins for fmd and OpenSM.
(With no gap OpenSM writes all blocks of all switches but a few times; the 100 trees alone are 2,240 blocks, so that there would be no bound.)
"""
import os
import random
import subprocess
import sys
import time

import fabrics
import parts as p
import sa
import table
import world as w

SIZE, JOINS, GROUPS = 4096, 1000, 100
GAPS_US = (10000,)
MFT = 0x1B
SHARE = 0.1
LIMIT_S, PART_LIMIT_S = 90, 180
QUIET_S = 3.0  # nothing written for so long: all is in place
CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mcast_join.py")


def joins(guids):
    """Each group has JOINS / GROUPS members, all of them different."""
    choose = random.Random(1)
    lines = [(guid, f"ff12a01cfe80{group:020x}") for group in range(GROUPS)
             for guid in choose.sample(guids, JOINS // GROUPS)]
    choose.shuffle(lines)
    return "".join(f"{guid} {mgid}\n" for guid, mgid in lines)


def settle(sm):
    sent = -1
    while sent != sm.counts.sent(w.SET, MFT):
        sent = sm.counts.sent(w.SET, MFT)
        time.sleep(QUIET_S)
    return sent


def measure(world, netfile, manager, gap_us):
    ids, guids = sa.hosts(netfile)
    sim = w.Ibsim(world, netfile)
    try:
        sm = manager(world, sim)
        try:
            sm.wait_up(LIMIT_S)
            before = settle(sm)
            environment = {**os.environ, "IBSIM_SOCKNAME": sim.name, "LD_PRELOAD": world.umad2sim, "SIM_HOST": ids[-1]}
            done = subprocess.run([sys.executable, CLIENT, str(gap_us)], input=joins(guids), text=True,
                                  capture_output=True, cwd=world.folder("mcast_join"), env=environment, timeout=LIMIT_S)
            if done.returncode:
                raise w.BenchError(f"mcast_join at {sm.name}: {done.stderr}")
            sample = {"join_s": float(done.stdout), "mft_sets": settle(sm) - before}
        finally:
            sm.close()
    finally:
        sim.close()
    print(f"  mcast {sm.name} gap {gap_us} us: {sample}", file=sys.stderr, flush=True)
    return sample


def compare(world, gap_us, what):
    netfile = fabrics.generated(world, SIZE)
    fmd, opensm = (measure(world, netfile, manager, gap_us) for manager in (w.Fmd, w.Opensm))
    return table.readme(table.share(what, fmd["mft_sets"], opensm["mft_sets"], "", SHARE if gap_us else None)), {"gap_us": gap_us, "fmd": fmd, "opensm": opensm}


def parts(world, options):
    made = []
    for gap_us in GAPS_US:
        pace = f"one each {gap_us // 1000} ms" if gap_us else "at once"
        what = f"MFT blocks for {JOINS:,} joins into {GROUPS} groups, {pace}, {SIZE:,} HCAs"
        made.append(p.Part(what, PART_LIMIT_S, lambda gap_us=gap_us, what=what: compare(world, gap_us, what)))
    return made
