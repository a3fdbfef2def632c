# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A link is cut on a fabric with adaptive routing on, beside the same cut on one without.

On two fmsims. The packing is probed on what another manager left (fmctl probe ar), then fmd starts anew with adaptive_routing = "on". The same cable between
switches is cut in the one and then in the other, in turns that change. By the devices' clock, from the first trap that reached a port to the last block that was
answered: of a LFT, of entries or of groups. What was written beside the tables is compared with the blocks whose bytes are others in the end: no fewer can do.
"""
import json
import os
import random
import statistics
import time

import fabrics
import managers as m
import parts as p
import table
import world as w

CUTS = {1024: 20, 4096: 12}
MANY = 100  # blocks of LFTs
RATIO, ALONE_S, REST_S, LIMIT_S = 1.3, 0.2, 0.4, 900
SEED, PLAN = 36, 4  # of the cables; of what the manager before left


class Side:
    def __init__(self, world, size, adaptive):
        self.world, self.adaptive = world, adaptive
        netfile = fabrics.generated(world, size)
        self.sim, self.node = w.Fmsim(world, netfile), "dgx-su01-01"
        self.sim.tell("registers off all")
        self.manager = m.Fmd(world, self.sim, self.node)
        self.took = []

    def start(self):
        self.manager.start()
        self.manager.wait(lambda status: status["state"] == "up" and status["sm"] == "master", "the fabric is up")
        self.rest()
        if not self.adaptive:
            return
        self.sim.tell("adaptive able 7")
        self.manager.end()
        self.sim.tell(f"adaptive run {PLAN}")
        self.manager.configure(observe=True)
        self.manager.start()
        rows = m.until(lambda: self.manager.ask("probe", "ar"), "a probe", every_s=1)
        if any(row["result"] != "found" for row in rows):
            raise w.BenchError(f"probed: {rows}")
        self.manager.end()
        self.manager.configure(observe=False, adaptive_routing="on")
        self.manager.start()
        self.manager.wait(lambda status: status["state"] == "up" and status["sm"] == "master", "the fabric is up")
        # Of the last switch that joins: its groups are proven, written and read back.
        m.until(lambda: all(row["ar"] == "on" for row in self.manager.ask("switches") or [{"ar": None}]), "adaptive routing is on", every_s=1)
        m.until(lambda: self.manager.stamps("adaptive routing was turned on at"), "the groups of all are proven")
        self.rest()

    def stamps(self, *words):
        return json.loads(self.sim.tell(" ".join(("stamps", *words))))

    def rest(self):
        """Nothing is on its way, was written for a while, and no trap is repeated. Groups are proven and grow within that while."""
        def rests():
            before, status = self.written(), self.manager.status()
            time.sleep(REST_S)
            return bool(status) and status["state"] == "up" and before == self.written() and not self.stamps()["traps"]

        m.until(rests, "nothing is written any more", LIMIT_S)

    def written(self):
        stamps = self.stamps()
        return [stamps[key] for key in ("blocks", "entries", "groups")]

    def tables(self):
        if not self.adaptive:
            return {}
        path = os.path.join(self.manager.dir, "held")
        self.sim.tell(f"adaptive write {path}")
        with open(path) as lines:
            return {tuple(words[:3]): words[3] for words in map(str.split, lines)}

    def cut(self, cable):
        before = self.tables()
        self.stamps("reset")
        cpu = w.run_us(self.manager.process.pid)
        self.sim.tell(f"unlink {cable[0]}:{cable[1]}")
        time.sleep(ALONE_S)
        cpu = w.run_us(self.manager.process.pid) - cpu
        self.rest()
        stamps, after = self.stamps(), self.tables()
        none = "0" * 128
        forced = sum(after.get(key, none) != before.get(key, none) for key in {*before, *after})
        self.sim.tell(f"link {cable[0]}:{cable[1]}")
        time.sleep(ALONE_S)
        self.rest()
        return {"ms": (stamps["answered"] - stamps["trap"]) / 1e3, "cpu_ms": cpu / 1e3, "forced": forced,
                **{key: stamps[key] for key in ("blocks", "entries", "groups", "trap")}}

    def close(self):
        self.manager.end()
        self.sim.close()


def measure(world, size):
    sides = [Side(world, size, True), Side(world, size, False)]
    pairs, dice = [], random.Random(SEED)
    try:
        for side in sides:
            side.start()
        cables = [cable for cable in m.cables(sides[0].sim) if cable[2].startswith("S-")]
        while len(pairs) < CUTS.get(size, 10):
            cable, pair = dice.choice(cables), {}
            for side in sides if dice.random() < 0.5 else sides[::-1]:
                pair[side.adaptive] = side.cut(cable)
            p.say(f"  {cable}: on {pair[True]}, off {pair[False]}")
            if pair[True]["trap"] and pair[False]["trap"] and pair[False]["blocks"]:
                pairs.append(pair)
        loops = sides[0].sim.tell("judge --json")
    finally:
        for side in sides:
            side.close()
    return rows(size, pairs), {"pairs": pairs, "judge": loops}


def rows(size, pairs):
    on, off = (statistics.median(pair[adaptive]["ms"] for pair in pairs) for adaptive in (True, False))
    ratio = statistics.median(pair[True]["ms"] / pair[False]["ms"] for pair in pairs)
    sets = [pair[True]["entries"] + pair[True]["groups"] for pair in pairs]
    more = max(made - pair[True]["forced"] for made, pair in zip(sets, pairs))
    made = [table.limit(f"a cut with adaptive routing on, {size:,} HCAs: trap to last block, times that without", ratio, None, "", RATIO,
                        note=f"{on:.2f} and {off:.2f} ms, medians of {len(pairs)}")]
    for what, kind in ("few", [pair for pair in pairs if pair[False]["blocks"] < MANY]), ("many", [pair for pair in pairs if pair[False]["blocks"] >= MANY]):
        if kind:
            on, off = (statistics.median(pair[adaptive]["ms"] for pair in kind) for adaptive in (True, False))
            made.append(table.Row(f"{table.DETAIL}of {len(kind)} cables behind which {what} blocks change",
                                  f"{statistics.median(pair[True]['ms'] / pair[False]['ms'] for pair in kind):.2f}", note=f"{on:.2f} and {off:.2f} ms"))
    return made + [
        table.limit(f"{table.DETAIL}Sets of entries and groups beyond the blocks that differ", more, None, "", 0,
                    note=f"{statistics.median(sets):.0f} Sets; {statistics.median(pair[False]['blocks'] for pair in pairs):.0f} blocks of LFTs without")]


def parts(world, options):
    return [p.Part(f"cuts with adaptive routing on, {size:,} HCAs", LIMIT_S, lambda size=size: measure(world, size))
            for size in options.sizes or CUTS]
