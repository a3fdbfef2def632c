#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""People repair, replace and add while hosts work: all of it is in use at once, and nothing is held.

    right_cables.py [--bin FOLDER] [--size HCAS] [--seeds N] [--first SEED] [--json FILE]

On fmsim, while a host asks the SA for paths without end. Before the manager first starts cables of a leaf, a spine and some HCAs are out. Each seed is one change, of a kind in turn: a repair
(a cable is pulled and plugged again), a replacement (a switch or an HCA by one of another GUID), an addition (a cable of what was never there). What the devices forward counts: after each change
no pair of HCAs that cables connect is dead, within --limit seconds. A line in the end: changes by kind, seconds until all pairs were alive, links that were held. Exit status 1 where one was.
"""
import collections
import json
import random
import statistics
import sys
import time

sys.dont_write_bytecode = True

import fabrics
import managers as m
import world as w

ADDED_HCAS = 40


class Trial:
    def __init__(self, world, options):
        netfile = fabrics.generated(world, options.size)
        self.world, self.options, self.sim = world, options, w.Fmsim(world, netfile)
        self.manager = m.Fmd(world, self.sim, "dgx-su01-01")
        special = {line.split()[1] for line in self.sim.tell("state").splitlines() if line.startswith("node") and "Aggregation" in line}
        self.cables = [link for link in m.cables(self.sim) if link[0] not in special and link[2] not in special]
        self.hosts = m.hosts(netfile)
        self.own = {node for node, _ in self.hosts[:8]}
        leaf_of = {link[2]: link[0] for link in self.cables}
        self.seats = {leaf_of[self.hosts[0][0]], leaf_of[self.hosts[100][0]]}
        self.late = max(leaf for leaf in leaf_of.values() if leaf not in self.seats and leaf in {leaf_of[node] for node, _ in self.hosts})
        self.asks = [node for node, _ in self.hosts[100:131] if leaf_of[node] != self.late]
        self.times, self.kinds, self.number, self.dice = [], collections.Counter(), 0, random.Random(options.first)

    def plug(self, link):
        self.sim.tell(f"link {link[0]}:{link[1]} {link[2]}:{link[3]}")

    def pull(self, link):
        self.sim.tell(f"unlink {link[0]}:{link[1]}")

    def take_out(self):
        """What is to be added later: a leaf, a spine and some HCAs."""
        between = [link for link in self.cables if link[2].startswith("S-")]
        hosts = [link for link in self.cables if link[2].startswith("H-") and link[2] not in self.own and link[2] not in self.asks and link[0] != self.late]
        spine = max(end for link in between if self.late in link for end in (link[0], link[2]) if end != self.late)
        self.out = [link for link in self.cables if self.late in link or spine in link] + self.dice.sample(hosts, ADDED_HCAS)
        for link in self.out:
            self.pull(link)
        self.cables = [link for link in self.cables if link not in self.out]
        self.dice.shuffle(self.out)

    def repair(self):
        link = self.dice.choice([link for link in self.cables if link[2] not in self.own | set(self.asks)])
        self.pull(link)
        time.sleep(self.dice.choice((0, 0.05, 0.5)))
        self.plug(link)

    def replace(self):
        busy = self.own | set(self.asks) | self.seats
        node = self.dice.choice(sorted({end for link in self.cables for end in (link[0], link[2])} - busy - {end for link in self.out for end in (link[0], link[2])}))
        self.number += 1
        self.sim.tell(f"replace {node} 0x{0xabc0000000000000 + (self.options.first << 32) + (self.number << 16):016x}")

    def add(self):
        there = {end for link in self.cables for end in (link[0], link[2])}
        link = next(link for link in self.out if link[0] in there or link[2] in there)  # else it is in no fabric yet
        self.out.remove(link)
        self.plug(link)
        self.cables.append(link)

    def settle(self, what):
        began = time.time()
        try:
            m.until(lambda: not json.loads(self.sim.tell("judge --json"))["dead"], f"{what}: all pairs are alive", self.options.limit, every_s=0.05)
        except w.BenchError:
            print(self.sim.tell("judge"), json.dumps(self.manager.status())[:3000], *[text for _, text in self.manager.log.lines[-30:]], sep="\n", file=sys.stderr)
            raise
        self.times.append(time.time() - began)

    def run(self):
        try:
            self.take_out()
            self.manager.start()
            m.until(self.manager.is_master, "the fabric is up", every_s=0.2)
            self.settle("start")
            self.times.clear()
            load = m.Paths(self.world, self.sim, self.asks[0], dict(self.hosts)[self.asks[0]], [dict(self.hosts)[node] for node in self.asks[1:]], 2000, 1000, 3)
            for number in range(self.options.first, self.options.first + self.options.seeds):
                kind = ("repair", "replace", "add")[number % 3]
                if kind == "add" and not self.out:
                    kind = "repair"
                getattr(self, kind)()
                self.settle(f"change {number}: {kind}")
                self.kinds[kind] += 1
            time.sleep(2)
            held = [line for _, line in self.manager.log.lines if "new, and held" in line]
            unanswered = sum(us < 0 for _, us in load.samples())
            row = {"size": self.options.size, "first": self.options.first, **self.kinds, "alive_median_s": round(statistics.median(self.times), 3),
                   "alive_worst_s": round(max(self.times), 3), "held": len(held), "links_held": self.manager.status()["links_held"], "unanswered": unanswered}
            row["ok"] = not held and not row["links_held"]
            for line in held[:5]:
                print(line, file=sys.stderr)
            return row
        finally:
            self.manager.end()
            self.sim.close()


def main():
    parser = w.parser(__doc__)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--limit", type=float, default=30)
    options = parser.parse_args()
    w.trials(options, lambda world: [Trial(world, options).run()])


if __name__ == "__main__":
    main()
