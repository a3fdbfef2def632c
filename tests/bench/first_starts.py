#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""fmd starts, with no state, on a fabric whose tables OpenSM has made: what switches held after each write on the way.

    first_starts.py [--bin FOLDER] [--fabrics WORDS] [--engines WORDS] [--seeds N] [--json FILE]

On fmsim, which keeps each block as a switch takes it over (`sequence`) and judges the tables after it: loops, cycles of channel dependencies that had not been there, LIDs of hosts that a path led to before
and leads to afterwards, and none meanwhile. OpenSM is killed (-9). With each odd seed one cable of a hundred between switches is pulled before fmd starts. A line a start; exit status 1 where something looped,
a cycle came, hosts of a tree were dark, or more than 64 LIDs of another fabric, or fewer LIDs were told of than were dark.
"""
import json
import random
import re
import signal
import sys
import time

sys.dont_write_bytecode = True

import managers as m
import world as w

FABRICS = {
    "pod": ("superpod", "--su", "1"), "pods": ("superpod", "--su", "4"), "tree": ("pgft", "3", "8,6,4", "1,4,2", "1,1,2"), "directors": ("directors", "12,8,2,6,2"),
    "torus": ("torus", "8,8", "--hosts", "4"), "torus3": ("torus", "6,6,6", "--hosts", "4"), "dragonfly": ("dragonfly+", "9,8,8"), "hypercube": ("hypercube", "6", "--hosts", "4"),
}
TREES = ("pod", "pods", "tree", "directors")
ENGINES = {True: ("minhop", "updn", "ftree"), False: ("minhop", "updn", "dfsssp")}
QUIET_S = 1.0
AT_A_TIME = r"drained \d+ LIDs for [\d.]+ ms, of hosts (\d+) at a time"


def settled(sim, manager):
    """Nothing was written for a while, and all is in force."""
    stamps = json.loads(sim.tell("stamps"))
    status = manager.status()
    return status["state"] == "up" and not status["in_force"]["pairs_waiting"] and stamps["now"] - stamps["answered"] > QUIET_S * 1e6


def roots(world, netfile):
    """A file with the GUID of the first switch: updn needs a root where no tiers tell of one."""
    with open(netfile) as lines:
        guid = next(found[1] for line in lines if (found := re.match(r"switchguid=(0x\w+)", line)))
    path = f"{netfile}.root"
    with open(path, "w") as out:
        out.write(f"{guid}\n")
    return path


def start(world, name, engine, seed):
    netfile = world.generate(name, FABRICS[name])
    sim = w.Fmsim(world, netfile)
    node = m.hosts(netfile)[0][0]
    tree = name in TREES
    opensm, manager = m.Opensm(world, sim, node, routing_engine=engine, **({} if tree else {"root_guid_file": roots(world, netfile)})), m.Fmd(world, sim, node)
    try:
        opensm.start()
        m.until(opensm.is_master, "OpenSM's subnet is up", every_s=0.1)
        with open(opensm.file, errors="replace") as log:
            used = re.findall(r"(\w+) tables configured on all switches", log.read())[-1]
        opensm.end(signal.SIGKILL)
        cables = [cable for cable in m.cables(sim) if cable[2].startswith("S-")]
        for switch, port, *_ in random.Random(seed).sample(cables, max(1, len(cables) // 100)) if seed % 2 else ():
            sim.tell(f"unlink {switch}:{port}")
        sim.tell("sequence begin")
        manager.start()
        m.until(manager.is_master, "fmd is up", every_s=0.1)
        m.until(lambda: settled(sim, manager), "nothing is written any more", every_s=0.2)
        row = {"fabric": name, "opensm": engine, "used": used, "damaged": seed % 2 == 1, **json.loads(sim.tell("sequence")), "drained": manager.status()["drained"],
               "told_at_a_time": max((int(found[1]) for _, line in manager.log.lines if (found := re.search(AT_A_TIME, line))), default=0)}
        row["ok"] = not row["fault"] and not row["cycles"] and (not row["dark_hosts"] if tree else row["dark"] <= 64) and row["dark"] <= row["drained"]["lids"]
        return row
    finally:
        opensm.end(signal.SIGKILL)
        manager.end()
        sim.close()


def main():
    parser = w.parser(__doc__)
    parser.add_argument("--fabrics", default=" ".join(FABRICS))
    parser.add_argument("--engines")
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    w.trials(options, lambda world: (start(world, name, engine, seed) for name in options.fabrics.split()
                                     for engine in (options.engines.split() if options.engines else ENGINES[name in TREES]) for seed in range(options.seeds)))


if __name__ == "__main__":
    main()
