#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A live fabric grows unit by unit, cable by cable: no working pair loses its path, no LID moves, and each step does what `whatif --plan` said before.

    growth.py [--bin FOLDER] [--units N] [--old N] [--last N] [--seed N] [--json FILE]

On fmsim: a superpod of --units of which --old are there; the plan of all is admitted. For each further unit up to --last `whatif --plan` is asked, then the cables of its leaves are plugged one by one in a random
order; some come and go first (half-plugged), some are plugged where another belongs (and are to be held, with an alert within two seconds). What the devices forward counts. A line a unit: cables,
of these half-plugged and wrong, what was said (LIDs, pairs, entries) and what came. Exit status 1 where a pair was lost, a LID moved, a wrong cable was not held, or a step was not as it was said.
"""
import json
import pathlib
import random
import re
import sys
import time

sys.dont_write_bytecode = True

import managers as m
import world as w

ALERT_S, SETTLE_S = 2, 60


class Trial:
    def __init__(self, world, options):
        netfile = world.generate(f"grows-{options.units}-{options.no_sharp}", ["superpod", "--su", str(options.units), *(["--no-sharp"] if options.no_sharp else [])])
        self.world, self.options, self.sim, self.dice = world, options, w.Fmsim(world, netfile), random.Random(options.seed)
        self.manager = m.Fmd(world, self.sim, "dgx-su01-01")
        text = pathlib.Path(netfile).read_text()
        self.names = dict(re.findall(r'^(?:Switch|Ca)\s+\d+\s+"([^"]+)".*?#\s*"([^"]*)"', text, re.M))
        special = {node for node, name in self.names.items() if "Aggregation" in name}
        self.cables = [link for link in m.cables(self.sim) if link[0] not in special and link[2] not in special]
        self.special = special  # their links are no cables, and in no plan
        self.alive, self.bad, self.judge_s = 0, [], 0

    def unit(self, link):
        """Of the newest of its two ends; 0 = of none."""
        return max(int(found[1]) if (found := re.search(r"-su(\d+)", self.names[end])) else 0 for end in (link[0], link[2]))

    def plan(self, units):
        path = pathlib.Path(self.world.dir) / f"plan-{units}.conf"
        path.write_text("".join(f"0x{a[2:]},{pa},0x{b[2:]},{pb},Any,Active\n" for a, pa, b, pb in self.cables if self.unit((a, pa, b, pb)) <= units))
        return str(path)

    def plug(self, a, pa, b, pb):
        self.sim.tell(f"link {a}:{pa} {b}:{pb}")

    def pull(self, link):
        self.sim.tell(f"unlink {link[0]}:{link[1]}")

    def watch(self, what):
        """Pairs that were alive are, and LIDs are where they were."""
        asked = time.time()
        found = json.loads(self.sim.tell("judge --json"))
        self.judge_s += time.time() - asked
        if found["alive"] < self.alive:
            self.bad.append(f"{what}: {self.alive - found['alive']} pairs lost")
        if found["moved"]:
            self.bad.append(f"{what}: {found['moved']} LIDs moved")
        self.alive = found["alive"]
        return found

    def held(self):
        """Tables of switches that are in the fabric, and LIDs, but those of aggregation nodes."""
        lfts, lids = m.tables(self.sim)
        lids = {end: lid for end, lid in lids.items() if end[0] not in self.special}
        return {switch: table for switch, table in lfts.items() if (switch, 0) in lids}, lids

    def wrong(self, link, others):
        """Its leaf's end in the port of another uplink."""
        leaf = 0 if "leaf" in self.names[link[0]] else 2
        mine, far = link[leaf:leaf + 2], link[2 - leaf:4 - leaf]
        ports = [other[i + 1] for other in others for i in (0, 2) if other is not link and other[i] == mine[0] and other[2 - i].startswith("S-")]
        if not ports:
            return False
        self.plug(mine[0], self.dice.choice(ports), *far)
        plugged = time.time()
        try:
            m.until(lambda: self.manager.stamps(f"{re.escape(self.names[mine[0]])}.*new, and held|new, and held.*{re.escape(self.names[mine[0]])}", plugged), "held", ALERT_S, 0.02)
        except w.BenchError:
            self.bad.append(f"{link}: not held")
        self.watch(f"wrong {link}")
        self.pull(far)
        return True

    def grow(self, unit):
        began, self.judge_s, spent = time.time(), 0, (w.cpu_s(self.manager.process.pid), self.sim.cpu_s())
        said = self.manager.ask("whatif", "--plan", self.plan(unit))
        before, pairs = self.held(), self.manager.status()["proof"]["reachable"]
        left = [link for link in self.cables if self.unit(link) == unit]
        self.dice.shuffle(left)
        left.sort(key=lambda link: link[0] if "leaf" in self.names[link[0]] else link[2])  # leaf by leaf
        row = {"unit": unit, "cables": len(left), "half": 0, "wrong": 0}
        met = set()
        while left:
            leaf = left[-1][0] if "leaf" in self.names[left[-1][0]] else left[-1][2]
            link = left.pop()
            kind = self.dice.randrange(20) if self.options.err else 20
            if kind == 0 and leaf in met and link[0].startswith("S-") and link[2].startswith("S-"):
                row["wrong"] += self.wrong(link, left)
            elif kind in (1, 2):
                row["half"] += 1
                self.plug(*link)
                time.sleep(self.dice.uniform(0.002, 0.06))
                self.pull(link)
                time.sleep(self.dice.uniform(0.002, 0.06))
            self.plug(*link)
            if self.names[link[0]].startswith("spine") or self.names[link[2]].startswith("spine"):
                if leaf not in met:
                    m.until(lambda: self.manager.stamps(re.escape(self.names[leaf])), f"{self.names[leaf]} is met", SETTLE_S)
                met.add(leaf)
            time.sleep(self.options.pause)
            if len(left) % 32 == 0:
                self.watch(f"{link}")
        try:
            m.until(lambda: not self.watch(f"end of unit {unit}")["dead"], f"unit {unit}: all pairs are alive", SETTLE_S, every_s=0.3)
        except w.BenchError:
            print(self.sim.tell("judge"), json.dumps(self.manager.status())[:3000], *[text for _, text in self.manager.log.lines[-30:]], sep="\n", file=sys.stderr)
            raise
        m.until(lambda: (status := self.manager.status())["state"] == "up" and not status["in_force"]["pairs_waiting"], "it is in force", SETTLE_S, every_s=0.2)
        status, after = self.manager.status(), self.held()
        entries = sum(before[0][sw].get(lid, 255) != after[0][sw].get(lid, 255) for sw in before[0].keys() & after[0].keys() for lid in before[1].values())
        came = {"lids_new": len(after[1].keys() - before[1].keys()), "pairs_gained": status["proof"]["reachable"] - pairs, "entries": entries}
        told = {"lids_new": said["growth"]["lids_new"], "pairs_gained": said["growth"]["pairs_gained"], "entries": said["delta"]["entries"]}
        if not self.options.no_sharp:  # a plan has no aggregation nodes, and those of new leaves change the ways to the others
            told.pop("entries")
            row["entries"] = came.pop("entries")
        row.update(took_s=round(time.time() - began, 1), judge_s=round(self.judge_s, 1), fmd_cpu_s=round(w.cpu_s(self.manager.process.pid) - spent[0], 1), sim_cpu_s=round(self.sim.cpu_s() - spent[1], 1), said=told, came=came, held=status["links_held"], lids_moved_said=said["growth"]["lids_moved"], as_said=told == came)
        if told != came or status["links_held"] or said["growth"]["lids_moved"]:
            self.bad.append(f"unit {unit}: said {told}, came {came}, held {status['links_held']}")
        return row

    def run(self):
        rows = []
        try:
            for link in self.cables:
                if self.unit(link) > self.options.old:
                    self.pull(link)
            self.manager.start()
            m.until(self.manager.is_master, "the fabric is up", every_s=0.2)
            if not self.manager.ask("admit", "--plan", self.plan(self.options.units)):
                raise w.BenchError(f"admit --plan: {self.manager.refusal}")
            self.sim.tell("judge mark")
            for unit in range(self.options.old + 1, (self.options.last or self.options.units) + 1):
                rows.append(self.grow(unit))
                print(json.dumps(rows[-1]), flush=True)
            row = {"units": self.options.units, "old": self.options.old, "seed": self.options.seed, "alive": self.alive, "bad": self.bad[:20], "ok": not self.bad}
            return row
        finally:
            self.manager.end()
            self.sim.close()


def main():
    parser = w.parser(__doc__)
    parser.add_argument("--units", type=int, default=24)
    parser.add_argument("--old", type=int, default=16)
    parser.add_argument("--last", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-sharp", action="store_true", help="without aggregation nodes")
    parser.add_argument("--no-err", dest="err", action="store_false", help="no wrong and half-plugged cables")
    parser.add_argument("--pause", type=float, default=0.03, help="seconds between two cables")
    options = parser.parse_args()
    w.trials(options, lambda world: [Trial(world, options).run()])


if __name__ == "__main__":
    main()
