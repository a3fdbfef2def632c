#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Tables of a fabric that is damaged, has slow links and was re-balanced: a restart, a take-over by a standby at the other end and one back leave each entry as it is.

    same_tables.py [--bin FOLDER] [--size HCAS] [--seeds N] [--first SEED] [--json FILE]

On fmsim: two cables of a hundred between switches are pulled, three train to one lane or half their speed, and the two managers have QUIET_S to balance. Then the master is ended and started (SIGTERM), killed and
started (-9), and the master of the moment is killed twice, so that the other one takes over. A line a seed: entries that differed, and blocks that were written, after each; exit status 1 where there were any.
"""
import random
import signal
import sys
import time

sys.dont_write_bytecode = True

import fabrics
import managers as m
import times
import world as w

QUIET_S = 20


class Trial(times.Trial):
    def __init__(self, world, options, seed):
        self.sim, self.options = w.Fmsim(world, fabrics.generated(world, options.size)), options
        ports, psk = [m.free_port(), m.free_port()], m.secret(world)
        nodes = [node for node, _ in m.hosts(fabrics.generated(world, options.size))]
        self.managers = [m.Fmd(world, self.sim, node, order, psk) for node, order in ((nodes[0], ports), (nodes[-1], ports[::-1]))]
        self.cables = [link for link in m.cables(self.sim) if link[2].startswith("S-")]
        self.dice = random.Random(seed)

    def settle(self):
        m.until(lambda: any(manager.is_master() for manager in self.managers), "one is master", every_s=0.1)
        self.manager = next(manager for manager in self.managers if manager.is_master())
        m.until(lambda: all(manager is self.manager or manager.stands_by() for manager in self.managers), "the other stands by", every_s=0.1)
        time.sleep(QUIET_S)
        self.quiet()

    def run(self, seed):
        try:
            for manager in self.managers:
                manager.start()
            self.settle()
            harmed = self.dice.sample(self.cables, max(5, len(self.cables) // 20))
            for i, (node, port, *_) in enumerate(harmed):
                self.sim.tell(f"unlink {node}:{port}" if i % 5 < 2 else f"train {node}:{port} {'NDR 1' if i % 5 < 4 else 'HDR'}")
            self.settle()
            row, held = {"size": self.options.size, "seed": seed}, self.tables()
            for what, number, again in (("restart", signal.SIGTERM, True), ("crash", signal.SIGKILL, True), ("take_over", signal.SIGKILL, False), ("take_over_back", signal.SIGKILL, False)):
                ended = self.manager
                self.stamps("reset")
                ended.end(number)
                if not again:
                    other = self.managers[ended is self.managers[0]]
                    m.until(other.is_master, "the other takes over", every_s=0.1)
                ended.start()
                self.settle()
                row[what] = {"differ": sum(a != b for a, b in zip(held, self.tables())), "blocks": self.stamps()["blocks"]}
            row["ok"] = not any(value for what in row.values() if isinstance(what, dict) for value in what.values())
            return row
        finally:
            for manager in self.managers:
                manager.end()
            self.sim.close()


def main():
    parser = w.parser(__doc__)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=1)
    options = parser.parse_args()
    w.trials(options, lambda world: (Trial(world, options, seed).run(seed) for seed in range(options.first, options.first + options.seeds)))


if __name__ == "__main__":
    main()
