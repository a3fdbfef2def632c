#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A cold start with one device that is ill: seconds until all pairs of HCAs that can avoid it are alive, and until it is named; and which alerts it is told by.

    cold.py [--bin FOLDER] [--sizes HCAS ..] [--places "WORD .."] [--ills "WORD .."] [--later] [--json FILE]

On fmsim; places: top (a switch without HCAs), leaf, hca; ills: hang, deaf, refuse, slow (1 s a MAD), pretend. --later: the device falls ill while the fabric is up, and
a deaf, refusing, slow or pretending one boots then. What devices forward is judged, by fmsim. Of a leaf or an HCA that takes nothing its own pairs are left out. One line
each; the alerts are those 8 s behind. What never answered is named by the ports that lead to it. Exit status 1 where the pairs or the alert took longer than 2 s, or
it was told by another alert too.
"""
import json
import sys
import time

sys.dont_write_bytecode = True

import ills
import managers as m
import world as w

ILLS = {"hang": "hang {}", "deaf": "deaf {}", "refuse": "refuse {}", "slow": "slow 1s {}", "pretend": "pretend {}"}
PLACES = "top leaf hca"
BOUND_S, WATCH_S = 2, 8
# A judge of 4,096 HCAs takes a third of a second of a processor: none runs before the bound. What it finds alive is alive since the last change before it.
JUDGE_S = 0.5
ASK_S = 0.1  # between two questions for the alerts


class Bench(ills.Bench):
    """fmd has not been started yet, where it is to meet the device at its start."""

    def manage(self, hcas):
        self.fmd = m.Fmd(self.world, self.sim, hcas[0])
        if self.options.later:
            super().manage(hcas)

    def judge(self):
        return super().judge() if self.fmd.process else {"dead": 0}

    def node_at(self, place):
        if place == "hca":
            return self.hcas[len(self.hcas) // 2]
        return next(node for node in self.switches[1:] if ("leaf" in self.names[node]) == (place == "leaf"))

    def avoid(self, place):
        """So many pairs do not need it."""
        left = self.options.size - {"top": 0, "leaf": self.leaf_hcas, "hca": 1}[place]
        return left * (left - 1)

    def run(self, place, ill):
        node = self.node_at(place)
        row = {"size": self.options.size, "place": place, "ill": ill, "name": self.names[node], "alive_s": None, "named_s": None,
               "kind": "isolated" if ill in ("deaf", "refuse", "pretend") else "hcas-silent" if place == "hca" else "switches-silent"}
        if self.options.later:
            time.sleep(9)
        self.sim.tell(ILLS[ill].format(node))
        clock = -time.monotonic()  # of fmsim, beside this one; devices that nobody manages answer at once
        clock += json.loads(self.sim.tell("judge --json"))["now"]
        began = time.monotonic()
        if not self.options.later:
            self.fmd.start()
        elif ill != "hang":
            self.sim.tell(f"reboot {node}")
        judged = began + BOUND_S - JUDGE_S
        while time.monotonic() - began < WATCH_S:
            if time.monotonic() - judged >= JUDGE_S:
                judged, now = time.monotonic(), self.judge()
                if now["alive"] < self.avoid(place):
                    row["alive_s"] = None
                elif row["alive_s"] is None:
                    row["alive_s"] = round(now["changed"] - clock - began, 2)
            status = self.fmd.status()
            if status and row["named_s"] is None and any(alert["what"] == row["kind"] for alert in status["alerts"]):
                row["named_s"] = round(time.monotonic() - began, 2)
            time.sleep(ASK_S)
        row["alerts"] = [f"{alert['what']}: {alert['text']}" for alert in status["alerts"]]
        now = self.judge()
        row["in_force"], row["true"] = status["in_force"]["pairs_in_force"], now["alive"]
        row["ok"] = (row["alive_s"] is not None and row["alive_s"] <= BOUND_S and row["named_s"] is not None and row["named_s"] <= BOUND_S
                     and [alert["what"] for alert in status["alerts"]] == [row["kind"]] and row["in_force"] == row["true"])
        return row

    def close(self):
        self.fmd.end()
        self.sim.close()


def line(row):
    return (f"{row['size']} {row['ill']} {row['name']}: {'ok' if row['ok'] else 'BAD'}: pairs that avoid it alive after {row['alive_s']} s, named after {row['named_s']} s, "
            f"{row['in_force']} pairs in force of {row['true']}, {len(row['alerts'])} alerts: {'; '.join(row['alerts'])[:260]}")


def play(world, options):
    for options.size in options.sizes:
        for place in options.places.split():
            for ill in options.ills.split():
                if (place, ill) == ("hca", "pretend"):
                    continue  # it has no tables
                bench = Bench(world, options)
                row = bench.run(place, ill)
                bench.close()
                yield row


def main():
    parser = w.parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[256, 1024, 4096])
    parser.add_argument("--places", default=PLACES)
    parser.add_argument("--ills", default=" ".join(ILLS))
    parser.add_argument("--later", action="store_true")
    options = parser.parse_args()
    w.trials(options, lambda world: play(world, options), line)


if __name__ == "__main__":
    main()
