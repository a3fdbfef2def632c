#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Times that fmd reports, against the clock of the devices (fmsim's `stamps`).

    times.py [--bin FOLDER] [--size HCAS] [--seeds N] [--first SEED] [--json FILE] [--lanes]

On fmsim, one change at a time: a cable between switches is pulled, or comes back; a switch loses power, or returns; fmd restarts. Compared are `up` with the first SMP and the line in the log,
`rerouted` and `restored` (event and last_fault or last_repair of status) from the first trap that reached a port to the last block that was answered. Of cables, which take one update, also program_ms
with the first and the last block, what that leaves with the first block, and detected_to_proven_ms, which lies between the sweep's first SMP and the first block: devices do not see a proof. A row in
the end: times judged by kind, how often fmd and the devices were ready and had no processor for more than a millisecond, and the worst by how much it was off, in ms and in percent. Exit status 1 where
one was off by more than 5 %, and by more than a millisecond and what they waited for a processor.

--lanes: each cable is pulled and comes back; then it trains to one of its four lanes, and to four again. From the first trap to the last block, by the devices' clock, in ms: pulled, one lane, their ratio,
and the entries that differ from before when the cable has four lanes again.
"""
import collections
import glob
import json
import pathlib
import random
import re
import statistics
import sys
import time

sys.dont_write_bytecode = True

import fabrics
import managers as m
import world as w

MS, SHARE = 1.0, 0.05
QUIET_S = 0.2
TOLD = r": (rerouted|restored) in "


class Trial:
    def __init__(self, world, options):
        netfile = fabrics.generated(world, options.size)
        self.sim, self.options = w.Fmsim(world, netfile), options
        self.manager = m.Fmd(world, self.sim, "dgx-su01-01")
        self.cables = [link for link in m.cables(self.sim) if link[2].startswith("S-")]
        special = {line.split()[1] for line in self.sim.tell("state").splitlines() if line.startswith("node") and "Aggregation" in line}
        leaves = {link[0] for link in m.cables(self.sim) if link[2].startswith("H-") and link[2] not in special}
        self.spines = sorted({end for link in self.cables for end in (link[0], link[2])} - leaves)
        self.judged, self.worst, self.bad, self.waited = collections.Counter(), {}, [], 0.0

    def waited_ms(self):
        """How long fmd and the devices were ready to run and had no processor."""
        paths = [path for process in (self.manager.process, self.sim.process) for path in glob.glob(f"/proc/{process.pid}/task/*/schedstat")]
        return sum(int(pathlib.Path(path).read_text().split()[1]) for path in paths) / 1e6

    def stamps(self, *words):
        return json.loads(self.sim.tell(" ".join(("stamps", *words))))

    def judge(self, what, told_ms, is_ms):
        off = abs(told_ms - is_ms)
        self.judged[what] += 1
        if off >= self.worst.get(what, (0,))[0]:
            self.worst[what] = (round(off, 3), round(100 * off / is_ms, 2) if is_ms else 0)
        if off > MS + self.waited and off > SHARE * is_ms:
            self.bad.append((what, round(told_ms, 3), round(is_ms, 3)))

    def start(self):
        wall = time.time() - self.stamps("reset")["now"] / 1e6
        self.manager.start()
        m.until(self.manager.is_master, "the fabric is up", every_s=0.2)
        told = next((when, line) for when, line in self.manager.log.lines if re.search(m.UP, line))
        self.judge("up", float(re.search(r"([\d.]+) ms$", told[1])[1]), (told[0] - wall - self.stamps()["first"] / 1e6) * 1e3)
        m.until(lambda: not json.loads(self.sim.tell("judge --json"))["dead"], "all pairs are alive", every_s=0.2)
        self.quiet()

    def quiet(self):
        # A repeated trap, which tells of an earlier change, may come just before the next one.
        m.until(lambda: not self.stamps()["traps"] and (status := self.manager.status())["state"] == "up" and not status["in_force"]["pairs_waiting"], "it is in force", 30, every_s=0.05)
        time.sleep(QUIET_S)

    def newest(self, kinds, after):
        rows = [row for row in self.manager.ask("events", "-n", 50) if row["seq"] > after and row["kind"] in kinds]
        return rows[-1] if rows else None

    def change(self, line, one=True):
        """A change, and what was told of it; one: it takes one update, so that its first block is that of the tables told of."""
        number = max(row["seq"] for row in self.manager.ask("events", "-n", 1))
        self.stamps("reset")
        lines, waited = len(self.manager.log.lines), self.waited_ms()
        self.sim.tell(line)
        # No program runs beside it: what takes a processor for a millisecond is seen in these times.
        m.until(lambda: any(re.search(TOLD, text) for _, text in self.manager.log.lines[lines:]), "it is told", 30, every_s=0.05)
        waited = self.waited_ms() - waited
        time.sleep(QUIET_S)
        event = self.newest(("rerouted", "restored"), number)
        self.quiet()
        stamps, status = self.stamps(), self.manager.status()
        rows = [row for row in self.manager.ask("events", "-n", 50) if row["seq"] > number and row["kind"] in ("rerouted", "restored")]
        if len(rows) > 1 or not event["lft_blocks_written"] or not stamps["trap"]:
            self.judged["told as several, or no block"] += 1
            return
        self.waited = waited
        self.judged["waited for a processor"] += waited > MS
        kind = event["kind"]
        told = event["detected_to_programmed_ms"]
        self.judge(kind, told, (stamps["answered"] - stamps["trap"]) / 1e3)
        last = status["last_fault" if kind == "rerouted" else "last_repair"]
        self.judge("last", last["detected_to_programmed_ms"], (stamps["answered"] - stamps["trap"]) / 1e3)
        swept, block = ((stamps[name] - stamps["trap"]) / 1e3 for name in ("first", "block"))
        if self.options.each:
            print({"kind": kind, "waited": round(waited, 3), "told": round(told, 3), "is": (stamps["answered"] - stamps["trap"]) / 1e3, "proven": round(event["detected_to_proven_ms"], 3), "swept": swept,
                   "block": block, "program": round(status["program_ms"], 3), "program_is": (stamps["answered"] - stamps["block"]) / 1e3}, flush=True)
        if not one:
            return
        if stamps["blocks"] != event["lft_blocks_written"]:
            self.judged["several tables, told as one"] += 1
            return
        proven = event["detected_to_proven_ms"]
        self.judge("proven", proven, min(max(proven, swept), block))
        self.judge("first block", told - status["program_ms"], block)
        self.judge("program", status["program_ms"], (stamps["answered"] - stamps["block"]) / 1e3)

    def run(self):
        try:
            self.start()
            for number in range(self.options.first, self.options.first + self.options.seeds, 2):
                dice = random.Random(number)
                if number % 10 == 9:
                    spine = dice.choice(self.spines)
                    self.change(f"node off {spine}", one=False)
                    self.change(f"node on {spine}", one=False)
                else:
                    node, port, *_ = dice.choice(self.cables)
                    self.change(f"unlink {node}:{port}")
                    self.change(f"link {node}:{port}")
                if number % 50 == 49:
                    self.manager.end()
                    self.start()
            row = {"size": self.options.size, "first": self.options.first, "judged": dict(self.judged), "worst_ms_percent": self.worst, "bad": self.bad[:20], "ok": not self.bad}
            return row
        finally:
            self.manager.end()
            self.sim.close()


    def until_last_block(self, line):
        """ms from the first trap to the last block, when all that followed is over."""
        self.stamps("reset")
        self.sim.tell(line)
        m.until(lambda: self.stamps()["trap"], "a trap", 30, every_s=0.05)
        time.sleep(QUIET_S)
        m.until(lambda: (status := self.manager.status())["state"] == "up" and not status["in_force"]["pairs_waiting"], "it is in force", 30, every_s=0.05)
        time.sleep(QUIET_S)
        stamps = self.stamps()
        return (stamps["answered"] - stamps["trap"]) / 1e3

    def tables(self):
        return [self.sim.tell(f"dump lft {switch}") for switch in sorted({link[0] for link in self.cables})]

    def lanes(self):
        try:
            self.start()
            pulled, trained, differ = [], [], 0
            for number in range(self.options.first, self.options.first + self.options.seeds):
                node, port, *_ = random.Random(number).choice(self.cables)
                tables = self.tables()
                pulled.append(self.until_last_block(f"unlink {node}:{port}"))
                self.until_last_block(f"link {node}:{port}")
                trained.append(self.until_last_block(f"train {node}:{port} NDR 1"))
                self.until_last_block(f"train {node}:{port} NDR 4")
                differ += tables != self.tables()
                if self.options.each:
                    print({"cable": f"{node}:{port}", "pulled": pulled[-1], "one lane": trained[-1]}, flush=True)
            ratio = statistics.median(trained) / statistics.median(pulled)
            return {"size": self.options.size, "cables": len(pulled), "pulled_ms": statistics.median(pulled), "one_lane_ms": statistics.median(trained), "ratio": round(ratio, 2),
                    "differ": differ, "ok": ratio <= 1.3 and not differ}
        finally:
            self.manager.end()
            self.sim.close()


def main():
    parser = w.parser(__doc__)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--lanes", action="store_true")
    options = parser.parse_args()
    w.trials(options, lambda world: [Trial(world, options).lanes() if options.lanes else Trial(world, options).run()])


if __name__ == "__main__":
    main()
