#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Agents hang, and the manager changes: no pair of HCAs that worked may be lost by that.

    hung.py [--bin FOLDER] [--size HCAS] [--seeds FIRST-LAST] [--ways "WORD .."] [--watch S] [--keep FOLDER] [--json FILE]

On fmsim. Each seed hangs the agents of one to six random switches and HCAs, which forward on, and then the manager is restarted (kill -9), upgraded (SIGTERM, and started
again), loses its fabric to its standby (takeover: kill -9) or hands it over (handover). What devices forward is judged, by fmsim, until --watch seconds behind the
moment when there is a master. The leaf of a manager may be among them: then no SMP of that one leaves its port, so it can be no master; it has to have lost nothing,
to say so (alert neighbour-silent), and to be master once the leaf answers. One line a seed and a sum. --keep: logs of each that is not ok. Exit status 1
where a pair was lost, or no master came.
"""
import json
import os
import pathlib
import random
import signal
import sys
import time

sys.dont_write_bytecode = True

import ills
import managers as m
import world as w

WAYS = "restart upgrade takeover handover"
PATIENCE_S = 20


class Trial:
    def __init__(self, bench, seed, way):
        self.bench, self.sim, self.random, self.way = bench, bench.sim, random.Random(seed), way
        seats = [manager.node for manager in bench.managers]
        switches, hcas = bench.switches + [bench.leaf_of(bench.managers[0])], [node for node in bench.hcas if node not in seats]
        count = self.random.randint(1, 6)
        self.nodes = sorted({self.random.choice(switches if self.random.random() < 0.5 else hcas) for _ in range(count)})
        self.row = {"seed": seed, "way": way, "hung": [bench.names[node] for node in self.nodes], "dead": 0, "master_s": None}

    def hang(self, word):
        for node in self.nodes:
            self.sim.tell(f"hang {node} {word}")

    def change(self):
        """Where there is a standby, it follows a master that is upgraded, too."""
        master = self.bench.fmd
        if self.way == "handover":
            master.ask("handover")
        else:
            master.end(signal.SIGTERM if self.way == "upgrade" else signal.SIGKILL)
        if self.way in ("restart", "upgrade"):
            master.start()

    def watch(self, until):
        """Until that moment, or so long behind the one when a manager is master."""
        while time.monotonic() < until:
            self.row["dead"] = max(self.row["dead"], self.bench.judge()["dead"])
            for status in filter(None, (manager.status() for manager in self.bench.managers)):
                if self.row["master_s"] is None and status["sm"] == "master":
                    self.row["master_s"] = round(time.monotonic() - self.began, 2)
                    until = min(until, time.monotonic() + self.bench.options.watch)
                if any(alert["what"] == "neighbour-silent" for alert in status["alerts"]):
                    self.row["told_s"] = self.row.get("told_s", round(time.monotonic() - self.began, 2))
            time.sleep(0.05)

    def run(self):
        self.hang("")
        if self.random.random() < 0.5:
            time.sleep(self.random.uniform(0, 3))
        self.began = time.monotonic()
        self.change()
        running = [manager for manager in self.bench.managers if manager.runs()]
        cut_off = self.row["cut_off"] = any(self.bench.leaf_of(manager) in self.nodes for manager in running)
        alone = cut_off and len(running) == 1
        self.watch(self.began + (self.bench.options.watch + 4 if alone else PATIENCE_S))
        self.hang("off")
        if self.row["master_s"] is None:
            self.watch(time.monotonic() + PATIENCE_S)
            if not alone:
                self.row["late_s"], self.row["master_s"] = self.row["master_s"], None
        self.row["ok"] = not self.row["dead"] and self.row["master_s"] is not None and (not alone or "told_s" in self.row)
        if self.bench.options.keep and not self.row["ok"]:
            self.keep()
        return self.row

    def keep(self):
        folder = pathlib.Path(self.bench.options.keep) / f"{self.bench.options.size}-{self.row['seed']}-{self.way}"
        folder.mkdir(parents=True, exist_ok=True)
        folder.joinpath("row.json").write_text(json.dumps(self.row, indent=1))
        folder.joinpath("judge").write_text(self.sim.tell("judge"))
        began = time.time() - (time.monotonic() - self.began)
        for number, manager in enumerate(self.bench.managers):
            folder.joinpath(f"log-{number}").write_text("".join(f"{when - began:.3f} {text}\n" for when, text in manager.log.lines))
            folder.joinpath(f"status-{number}").write_text(json.dumps(manager.status(), indent=1))


class Bench(ills.Bench):
    """With a standby, where ways want one."""

    def __init__(self, world, options):
        self.psk = m.secret(world)
        super().__init__(world, options)

    def leaf_of(self, manager):
        return self.cables[manager.node][0][1]

    def manage(self, hcas):
        self.managers, self.standby = [], None
        if not {"takeover", "handover"} & set(self.options.ways.split()):
            super().manage(hcas)
            self.managers = [self.fmd]
            return
        ports = [m.free_port(), m.free_port()]
        seats = hcas[0], hcas[len(hcas) // 2 + 5]
        self.managers = [m.Fmd(self.world, self.sim, seat, ports[i:] + ports[:i], self.psk) for i, seat in enumerate(seats)]
        self.fmd, self.standby = self.managers
        for manager in self.managers:
            manager.start()
            m.until(manager.is_master if manager is self.fmd else manager.stands_by, "the fabric is up", every_s=0.1)

    def ready(self):
        """Both are as they were: a master that is up, and a standby that has all."""
        for manager in self.managers:
            if not manager.runs():
                manager.start()
        if self.standby:
            self.fmd = m.until(lambda: next((manager for manager in self.managers if manager.is_master()), None), "one is master", every_s=0.1)
        self.fmd.ask("sweep")  # a standby that was started anew is found by that
        self.well()
        if self.standby:  # A master that a restarted one outranks may hand over until now.
            self.fmd = m.until(lambda: next((manager for manager in self.managers if self.has_standby(manager)), None), "the standby is ready")
            self.standby = self.managers[self.managers[0] is self.fmd]

    @staticmethod
    def has_standby(manager):
        status = manager.status()
        return bool(status) and (status["sm"] == "master" and status["election"]["others"] and status["election"]["others"][0]["state"] == "standby"
                                 and status["mirror"]["whole"])


def line(row):
    master = f"master after {row['master_s']} s" if row["master_s"] is not None else f"NO MASTER (after {row.get('late_s')} s)"
    cut = f", a manager's leaf hangs, told after {row.get('told_s')} s" if row["cut_off"] else ""
    return f"seed {row['seed']} {row['way']}: {'ok' if row['ok'] else 'BAD'}: {row['dead']} pairs dead, {master}{cut}; {', '.join(row['hung'])}"


def main():
    parser = w.parser(__doc__)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--seeds", default="1-8")
    parser.add_argument("--ways", default=WAYS)
    parser.add_argument("--watch", type=float, default=2)
    parser.add_argument("--keep")
    options = parser.parse_args()
    world, rows, ways = w.World(os.path.abspath(options.bin)), [], options.ways.split()
    try:
        bench = Bench(world, options)
        for seed in w.seeds(options.seeds):
            bench.ready()
            rows.append(Trial(bench, seed, ways[seed % len(ways)]).run())
            print(line(rows[-1]), flush=True)
    finally:
        world.close()
        masters = [row["master_s"] for row in rows if not row["cut_off"] and row["master_s"] is not None]
        print(f"{len(rows)} sets at {options.size} HCAs: {sum(row['dead'] > 0 for row in rows)} with pairs lost, {sum(row['cut_off'] for row in rows)} with a manager's leaf, "
              f"{sum(not row['ok'] for row in rows)} not ok; master after {max(masters, default=None)} s at the latest where its leaf answers")
    w.finish(rows, options.json)


if __name__ == "__main__":
    main()
