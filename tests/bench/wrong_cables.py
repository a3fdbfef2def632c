#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""People err while hosts work: cables of a running fabric are plugged wrongly, and back again.

    wrong_cables.py [--bin FOLDER] [--size HCAS] [--seeds N] [--first SEED] [--json FILE]

On fmsim, while a host asks the SA for paths without end. With each seed two cables are pulled and two of their ends joined: of two switches of one tier, or (each fourth) an HCA with a port for
switches. What the switches hold counts: no table may change for the wrong cable. Then the right cables come back, which are to be in use at once, with nothing held. A line in the end: seconds
until the alert that names both ends, tables that changed, links that were held although they were right. Exit status 1 where an alert came later than two seconds or any of these is not 0.
"""
import hashlib
import random
import statistics
import sys
import time

sys.dont_write_bytecode = True

import fabrics
import managers as m
import world as w

ALERT_S = 2


def tables(sim):
    text = "".join(line for line in sim.tell("state").splitlines() if line.startswith(("node S-", "lft")))
    return hashlib.sha1(text.encode()).hexdigest()


class Trial:
    def __init__(self, world, options):
        netfile = fabrics.generated(world, options.size)
        self.sim, self.options = w.Fmsim(world, netfile), options
        self.manager = m.Fmd(world, self.sim, "dgx-su01-01")
        self.hosts = m.hosts(netfile)
        self.alerts_s, self.changed, self.held, self.right = [], 0, 0, 0
        self.world = world

    def settled(self, down):
        def is_so():
            status = self.manager.status()
            return status["links_down"] == down and status["state"] == "up" and not status["in_force"]["pairs_waiting"] and status

        return m.until(is_so, f"{down} links are down", 30, every_s=0.05)

    def choose(self, dice):
        """Two cables, as (node, port, node, port), of which the first ends are joined."""
        if dice.randrange(4) == 0:
            leaf, up, spine, down = dice.choice([link for link in self.links if "leaf" in link[0]])
            host = dice.choice([link for link in self.host_links if not link[0].startswith("dgx-su01-01 ")])
            return (leaf, up, spine, down), host
        tier = dice.choice(("leaf", "spine"))
        ends = [link if tier in link[0] else link[2:] + link[:2] for link in self.links]
        one = dice.choice(ends)
        return one, dice.choice([end for end in ends if end[0] != one[0] and end[0].split("-")[0] == one[0].split("-")[0]])

    def plug(self, a, pa, b, pb):
        self.sim.tell(f'link "{a}":{pa} "{b}":{pb}')

    def seed(self, number):
        one, two = self.choose(random.Random(number))
        for end in (one, two):
            self.sim.tell(f'unlink "{end[0]}":{end[1]}')
        self.settled(2)
        time.sleep(0.3)
        before, plugged = tables(self.sim), time.time()
        self.plug(*one[:2], *two[:2])

        def named():
            return any(alert["what"] == "miswired" and one[0] in alert["text"] and two[0] in alert["text"] for alert in self.manager.status()["alerts"])

        m.until(named, f"seed {number}: an alert names {one} and {two}", 20, every_s=0.01)
        self.alerts_s.append(time.time() - plugged)
        time.sleep(max(0, plugged + 2 - time.time()))
        self.changed += tables(self.sim) != before
        self.sim.tell(f'unlink "{one[0]}":{one[1]}')
        self.plug(*one)
        self.plug(*two)
        status = self.settled(0)
        self.right += 2
        self.held += status["links_held"]

    def run(self):
        try:
            self.manager.start()
            m.until(self.manager.is_master, "the fabric is up", every_s=0.2)
            names = {"0x" + row["guid"][2:] if row["guid"].startswith("0x") else row["guid"]: row["name"] for row in self.manager.ask("nodes")}
            cables = [(names.get("0x" + a[2:]), pa, names.get("0x" + b[2:]), pb) for a, pa, b, pb in m.cables(self.sim)]
            cables = [link for link in cables if link[0] and link[2] and "Aggregation" not in link[0] + link[2]]
            self.links = [link if "leaf" in link[0] else link[2:] + link[:2] for link in cables if not any(end.startswith("dgx") for end in (link[0], link[2]))]
            self.host_links = [link[2:] + link[:2] if link[2].startswith("dgx") else link for link in cables if any(end.startswith("dgx") for end in (link[0], link[2]))]
            (node, own), others = self.hosts[100], [guid for _, guid in self.hosts[101:131]]
            load = m.Paths(self.world, self.sim, node, own, others, 2000, 1000, 3)
            for number in range(self.options.first, self.options.first + self.options.seeds):
                self.seed(number)
            unanswered = sum(us < 0 for _, us in load.samples())
            row = {"size": self.options.size, "seeds": self.options.seeds, "first": self.options.first, "alert_median_s": round(statistics.median(self.alerts_s), 3),
                   "alert_worst_s": round(max(self.alerts_s), 3), "changed": self.changed, "right": self.right, "held": self.held, "unanswered": unanswered}
            row["ok"] = row["alert_worst_s"] <= ALERT_S and not row["changed"] and not row["held"]
            return row
        finally:
            self.manager.end()
            self.sim.close()


def main():
    parser = w.parser(__doc__)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--first", type=int, default=1)
    options = parser.parse_args()
    w.trials(options, lambda world: [Trial(world, options).run()])


if __name__ == "__main__":
    main()
