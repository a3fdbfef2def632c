#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What reading registers costs a reroute: one fabric whose devices have AccessRegister beside one whose have not.

    registers.py [--bin FOLDER] [--size HCAS] [--cuts N] [--json FILE]

On two fmsims with a manager each. The same cable between switches is cut in the one and then in the other, in turns that change, and mended. Of each cut, by the devices' clock: from the first trap that reached
a port to the last block that was answered, and whether a device was asked for a register before that. A row: both medians in ms, the median of the ratios of pairs, how many cuts had a register too early, and how
many registers were read behind a cut. Good: none too early, one behind each cut with registers, and a ratio of 1.03 at most.
"""
import json
import random
import statistics
import sys
import time

sys.dont_write_bytecode = True

import fabrics
import managers as m
import world as w

BOUND = 1.03
LIMIT_S = 60
ALONE_S = 0.15  # behind a cut or a mend nothing runs beside the reroute, which takes a few milliseconds


class Side:
    def __init__(self, world, options, registers):
        self.sim, self.registers = w.Fmsim(world, fabrics.generated(world, options.size)), registers
        self.sim.tell(f"registers {'on' if registers else 'off'} all")
        self.manager = m.Fmd(world, self.sim, "dgx-su01-01")
        self.took, self.early, self.behind = [], 0, 0

    def start(self):
        self.manager.start()
        m.until(self.manager.is_master, "the fabric is up", every_s=0.2)
        self.quiet()

    def stamps(self, *words):
        return json.loads(self.sim.tell(" ".join(("stamps", *words))))

    def quiet(self):
        m.until(lambda: not self.stamps()["traps"] and (status := self.manager.status())["state"] == "up" and not status["in_force"]["pairs_waiting"], "it is in force", LIMIT_S, every_s=0.05)

    def cut(self, cable):
        """ms, or None where the cut moved no block."""
        self.stamps("reset")
        self.sim.tell(f"unlink {cable[0]}:{cable[1]}")
        time.sleep(ALONE_S)
        self.quiet()
        if self.registers:
            m.until(lambda: self.stamps()["register"], "the reason is asked for", LIMIT_S, every_s=0.05)
        stamps = self.stamps()
        self.sim.tell(f"link {cable[0]}:{cable[1]}")
        self.early += 0 < stamps["register"] < stamps["answered"]
        self.behind += stamps["register"] > stamps["answered"] > 0
        time.sleep(ALONE_S)
        self.quiet()
        return (stamps["answered"] - stamps["trap"]) / 1e3 if stamps["blocks"] and stamps["trap"] else None

    def close(self):
        self.manager.end()
        self.sim.close()


def play(world, options):
    sides = [Side(world, options, True), Side(world, options, False)]
    try:
        for side in sides:
            side.start()
        cables = [cable for cable in m.cables(sides[0].sim) if cable[2].startswith("S-")]
        dice, ratios = random.Random(37), []
        while len(ratios) < options.cuts:
            cable, pair = dice.choice(cables), {}
            for side in sides if dice.random() < 0.5 else sides[::-1]:
                pair[side.registers] = side.cut(cable)
            if None in pair.values():
                continue
            for side in sides:
                side.took.append(pair[side.registers])
            ratios.append(pair[True] / pair[False])
        on, off = (statistics.median(side.took) for side in sides)
        row = {"size": options.size, "cuts": len(ratios), "on_ms": round(on, 3), "off_ms": round(off, 3), "ratio": round(statistics.median(ratios), 3),
               "early": sides[0].early + sides[1].early, "read_behind": sides[0].behind, "read_behind_off": sides[1].behind}
        row["ok"] = row["ratio"] <= BOUND and not row["early"] and row["read_behind"] >= options.cuts and not row["read_behind_off"]
        yield row
    finally:
        for side in sides:
            side.close()


def main():
    parser = w.parser(__doc__)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--cuts", type=int, default=200)
    options = parser.parse_args()
    w.trials(options, lambda world: play(world, options))


if __name__ == "__main__":
    main()
