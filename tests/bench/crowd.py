#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Cables that die together: of those between switches 1 % are pulled at once, a hundred times, each time others.

    crowd.py [--bin FOLDER] [--size HCAS] [--seeds N] [--first SEED] [--at-once] [--each] [--json FILE]

On fmsim, by its own clock and its judge: pairs of hosts whose entries lead into a dead cable when 100 ms have passed since the last of them was pulled, and the time of the last block that was written. Then all
come back, and with --at-once the next are pulled as soon as they are up. A line in the end; exit status 1 where a pair was dead after 100 ms, or anything looped.
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

BOUND_S = 0.1
QUIET_S = 0.3  # until what follows a repair is over: SMPs that are under way over a cable that dies are waited for


def play(world, options):
    netfile = fabrics.generated(world, options.size)
    sim = w.Fmsim(world, netfile)
    manager = m.Fmd(world, sim, "dgx-su01-01")
    times, late, loops, cycles = [], [], 0, 0
    try:
        manager.start()
        m.until(manager.is_master, "the fabric is up", every_s=0.2)
        cables = [cable for cable in m.cables(sim) if cable[0].startswith("S-") and cable[2].startswith("S-")]
        judge = lambda: json.loads(sim.tell("judge --json"))
        for seed in range(options.first, options.first + options.seeds):
            m.until(lambda: not judge()["dead"] and manager.status()["links_down"] == 0, f"seed {seed}: the fabric is whole", 60, every_s=0.05)
            if not options.at_once:
                time.sleep(QUIET_S)
            chosen = random.Random(seed).sample(cables, max(2, len(cables) // 100))
            lines, pulled, dropped = len(manager.log.lines), time.time(), sim.tell("status")
            for a, pa, _, _ in chosen:
                sim.tell(f'unlink "{a}":{pa}')
            clock = lambda: json.loads(sim.tell("stamps"))["now"] / 1e6
            began = clock()  # a judgement takes the simulator's time: none before the bound
            time.sleep(BOUND_S)
            now = judge()
            late += [seed] if now["dead"] else []
            loops, cycles = max(loops, now["loops"]), max(cycles, now["cycles"])
            m.until(lambda: not judge()["dead"], f"seed {seed}: no pair is dead", 30, every_s=0.05)
            times.append(json.loads(sim.tell("stamps"))["answered"] / 1e6 - began)
            if options.each:
                if now["dead"]:
                    print(dropped, sim.tell("status"), sep="\n", flush=True)
                for when, line in manager.log.lines[lines:] if now["dead"] else ():
                    print(f"{1e3 * (when - pulled):.1f} ms {line}", flush=True)
                print({"seed": seed, "dead": now["dead"], "last_block_s": round(times[-1], 4)}, flush=True)
            for a, pa, b, pb in chosen:
                sim.tell(f'link "{a}":{pa} "{b}":{pb}')
        row = {"size": options.size, "seeds": options.seeds, "cables": len(chosen), "median_s": round(statistics.median(times), 4),
               "worst_s": round(max(times), 4), "dead_after_100_ms": len(late), "seeds_late": late, "loops": loops, "cycles": cycles}
        row["ok"] = not late and not loops
        return row
    finally:
        manager.end()
        sim.close()


def main():
    parser = w.parser(__doc__)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--at-once", action="store_true")
    options = parser.parse_args()
    w.trials(options, lambda world: [play(world, options)])


if __name__ == "__main__":
    main()
