#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The manager's machine has eight HCAs on eight leaves and loses the one in use: by its leaf, by itself, or as its cable is moved into another fabric.

    own_port.py [--bin FOLDER] [--size HCAS] [--cases "WORD .."] [--hand S] [--json FILE]

On fmsim; cases: leaf, hca, moved (the cable is out for --hand seconds). A line a case: the port before and behind, seconds from the loss until a fault elsewhere, made a second later, is rerouted (from that fault),
entries of this fabric's tables that the loss changed though it took away neither their LID nor their link, what hosts had registered (members, services, subscriptions) and what of that is lost, LIDs that moved (the HCA's own in the other fabric is one), and whether the other fabric's manager is up.
"""
import json
import sys
import time

sys.dont_write_bytecode = True

import managers as m
import merge
import world as w

BOUND_S = 0.5


def up_ports(sim):
    node = None
    for line in sim.tell("state").splitlines():
        words = line.split()
        if words[0] == "node":
            node = words[1]
        elif words[0] == "port" and words[3] == "LinkUp":
            yield node, int(words[1])


def others(before, now, up):
    """Entries of the first fabric that are others although their LID and the link that they led to are still there."""
    gone = {lid for end, lid in before[1].items() if end not in now[1]}
    return sum(port != now[0][switch].get(lid) for switch, table in before[0].items() if switch.startswith("S-0002c903") and switch in now[0]
               for lid, port in table.items() if lid not in gone and (switch, port) in up)


class Trial:
    def __init__(self, world, options, case):
        self.options, self.case = options, case
        self.sim = w.Fmsim(world, merge.two_pods(world, options.size))
        self.manager = m.Fmd(world, self.sim, "dgx-su01-01")
        self.other = m.Fmd(world, self.sim, "dgx-suk1-01")
        self.world = world
        self.row = {"case": case, "size": options.size}

    def seat(self):
        status = self.manager.status() or {}
        return (status.get("own_port") or {}).get("guid")

    def lose(self):
        if self.case == "leaf":
            self.sim.tell("node off leaf-su01-rail0")
        elif self.case == "hca":
            self.sim.tell('node off "dgx-su01-01 mlx5_0"')
        else:
            self.sim.tell("unlink leaf-su01-rail0:1")
            self.sim.tell('unlink leaf-suk1-rail0:33')
            time.sleep(self.options.hand)
            self.sim.tell('link "dgx-su01-01 mlx5_0":1 leaf-suk1-rail0:33')

    def run(self):
        try:
            for manager in (self.manager, self.other):
                manager.start()
                m.until(manager.is_master, "the fabric is up", every_s=0.2)
            hosts = m.hosts(merge.two_pods(self.world, self.options.size))[100:140]
            books = m.Books(self.world, self.sim, f"0x{hosts[0][0][2:]}")
            for number, (_, guid) in enumerate(hosts):
                books.do(do="join", guid=guid, mgid=f"ff12601bffff{number % 8 + 1:020x}")
                books.do(do="register", guid=guid, id=number + 1)
            books.do(do="subscribe")
            row, before = self.row, self.seat()
            m.until(lambda: not json.loads(self.sim.tell("judge --json"))["dead"], "all pairs are alive", every_s=0.2)
            had = books.read_all()
            self.sim.tell("judge mark")
            tables = m.tables(self.sim)
            lost = time.time()
            self.lose()
            time.sleep(0.8)
            now, up = m.tables(self.sim), set(up_ports(self.sim))
            time.sleep(max(0, lost + 1 - time.time()))
            at = time.time()
            self.sim.tell("unlink leaf-su01-rail3:33")
            found = m.until(lambda: self.manager.stamps("leaf-su01-rail3 .*rerouted", at), "the fault elsewhere is rerouted", 60, every_s=0.01)
            row.update(before=before, others=others(tables, now, up), rerouted_s=round(found[0] - at, 3), behind=self.seat(),
                       moved_s=[round(stamp - lost, 3) for stamp in self.manager.stamps("port-moved|goes on through|own port", lost)][:1])
            left = books.read_all()
            row.update(had={key: len(value) for key, value in had.items()}, lost={key: len(had[key] - left[key]) for key in had},
                       moved=json.loads(self.sim.tell("judge --json"))["moved"], ups=len(self.manager.stamps(m.UP)),
                       other_up=self.other.is_master(), alerts=sorted({alert["what"] for alert in (self.manager.status() or {}).get("alerts", [])}))
            row["ok"] = not row["others"] and row["rerouted_s"] <= BOUND_S and not any(row["lost"].values()) and row["moved"] <= (self.case == "moved") and row["ups"] == 1 and row["behind"] != before
            return row
        finally:
            if not self.row.get("ok"):
                sys.stderr.write("".join(f"{when:.3f} {text}\n" for when, text in self.manager.log.lines[-25:]))
            self.manager.end()
            self.other.end()
            self.sim.close()


def main():
    parser = w.parser(__doc__)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--cases", default="leaf hca moved")
    parser.add_argument("--hand", type=float, default=0.5)
    options = parser.parse_args()
    w.trials(options, lambda world: (Trial(world, options, case).run() for case in options.cases.split()))


if __name__ == "__main__":
    main()
