#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""LIDs of running ports while others meddle with them: none may be left at another one.

    lids.py [--bin FOLDER] [--size HCAS] [--seeds FIRST-LAST] [--kinds "WORD .."] [--json FILE]

On fmsim, with two fmd that copy each other. Kinds, one a seed by turns:
stray    an OpenSM of another sm_key, with reassign_lids, is started at a random HCA and runs for 3 to 12 s, at priority 0, 3 or 14. It writes LIDs, and that is its doing:
         counted are LIDs that are not what they were when it has ended, and for how long; and whether fmd told of it.
islands  all switches without HCAs are off for 3 to 8 s, so the fabric is islands of one leaf; both managers are master of theirs. Meanwhile 12 HCAs come with each other's
         LIDs, as their flash has them; then the switches have power again, one by one.
flash    12 HCAs have each other's LIDs in their flash and boot; in half of the seeds the master is killed (-9) and started in the middle of that.
Judged by fmsim's mark: LIDs of ports that are Armed or Active and were another one before. One line a seed and a sum. Exit status 1 where a LID had moved (islands, flash:
at any moment; stray: a second behind its end), or pairs stayed dead.
"""
import os
import random
import signal
import sys
import time

sys.dont_write_bytecode = True

import hung
import managers as m
import world as w

KINDS = "stray islands flash"
VICTIMS, LIMIT_S, AGAIN_S = 12, 60, 1


class Trial:
    def __init__(self, bench, seed, kind):
        self.bench, self.sim, self.random = bench, bench.sim, random.Random(seed)
        self.row = {"seed": seed, "kind": kind, "most": 0, "moved": 0, "told": set()}

    def watch(self, seconds, done=None, count=True):
        """So long, or until it is done."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            now = self.bench.judge()
            self.row["most"] = max(self.row["most"], now["moved"])
            if count:
                self.row["moved"] = max(self.row["moved"], now["moved"])
            for manager in self.bench.managers:
                status = manager.status()
                if status and status["sm"] == "master":
                    self.row["told"] |= {alert["what"] for alert in status["alerts"]}
            if done and done(now):
                return True
            time.sleep(0.05)
        return False

    def is_whole(self, now):
        size = self.bench.options.size
        return now["pairs"] == size * (size - 1) and not now["dead"]

    def flash(self):
        """HCAs that hold each other's LIDs in their flash; they boot."""
        seats = [manager.node for manager in self.bench.managers]
        nodes = self.random.sample([node for node in self.bench.hcas if node not in seats], VICTIMS)
        held = {f"0x{node[2:]}": lid for (node, _), lid in m.tables(self.sim)[1].items()}
        for node, other in zip(nodes, nodes[1:] + nodes[:1]):
            self.sim.tell(f"flash {node}:1 {held[other]}")
        for node in nodes:
            self.sim.tell(f"reboot {node}")
        return nodes

    def stray(self):
        node = self.random.choice(self.bench.hcas)
        stray = m.Opensm(self.bench.world, self.sim, node, sm_key=f"0x{self.random.randint(2, 1 << 40):x}", reassign_lids="TRUE", sm_priority=self.random.choice((0, 3, 14)))
        stray.start()
        self.watch(self.random.uniform(3, 12), count=False)
        stray.end(signal.SIGKILL)
        ended = time.monotonic()
        self.row["restored"] = self.watch(LIMIT_S, lambda now: not now["moved"] and self.is_whole(now), count=False)
        self.row["restored_s"] = round(time.monotonic() - ended, 2)
        self.watch(AGAIN_S)

    def islands(self):
        tops = [node for node in self.bench.switches if "leaf" not in self.bench.names[node]]
        for node in tops:
            self.sim.tell(f"node off {node}")
        self.watch(1)
        nodes = self.flash()
        self.watch(self.random.uniform(2, 7))
        self.random.shuffle(tops)
        for node in tops:
            self.sim.tell(f"node on {node}")
            self.watch(self.random.uniform(0, 1))
        self.settle(nodes)

    def flash_alone(self):
        nodes = self.flash()
        if self.random.random() < 0.5:
            self.watch(self.random.uniform(0, 0.5))
            self.bench.fmd.end(signal.SIGKILL)
            self.bench.fmd.start()
        self.settle(nodes)

    def settle(self, nodes):
        began = time.monotonic()
        self.row["restored"] = self.watch(LIMIT_S, self.is_whole)
        self.row["restored_s"] = round(time.monotonic() - began, 2)
        self.watch(AGAIN_S)
        for node in nodes:
            self.sim.tell(f"flash {node}:1 off")

    def run(self):
        self.sim.tell("judge mark")
        {"stray": self.stray, "islands": self.islands, "flash": self.flash_alone}[self.row["kind"]]()
        self.row["told"] = sorted(self.row["told"])
        self.row["ok"] = self.row["restored"] and not self.row["moved"]
        return self.row


def line(row):
    return (f"seed {row['seed']} {row['kind']}: {'ok' if row['ok'] else 'BAD'}: {row['moved']} LIDs moved{' by fmd' if row['kind'] == 'stray' else ''}, "
            f"at most {row['most']} at once; {'all as before' if row['restored'] else 'NOT as before'} after {row['restored_s']} s; alerts {' '.join(row['told']) or 'none'}")


def main():
    parser = w.parser(__doc__)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--seeds", default="1-6")
    parser.add_argument("--kinds", default=KINDS)
    options = parser.parse_args()
    options.ways = "takeover"  # with a standby
    world, rows, kinds = w.World(os.path.abspath(options.bin)), [], options.kinds.split()
    try:
        bench = hung.Bench(world, options)
        for seed in w.seeds(options.seeds):
            bench.ready()
            rows.append(Trial(bench, seed, kinds[seed % len(kinds)]).run())
            print(line(rows[-1]), flush=True)
    finally:
        world.close()
        print(f"{len(rows)} seeds at {options.size} HCAs: {sum(row['moved'] > 0 for row in rows)} with LIDs moved, {sum(not row['ok'] for row in rows)} not ok")
    w.finish(rows, options.json)


if __name__ == "__main__":
    main()
