#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""How long a restart and a take-over take while devices do not answer: 0 to 64 switches and HCAs whose agents hang.

    silent.py [--bin FOLDER] [--sizes HCAS ..] [--sets "WORD .."] [--times N] [--json FILE]

On fmsim; sets: none, spine, leaf, switches (two spines and a leaf), hcas (64), mixed (4 switches, 60 HCAs). The master has seen them silent for a while. A restart (kill -9, and
started again) is over when fmd is master of what it knew and answers; a take-over (kill -9 of the master) when the standby is. Both are told with the moment when all is
known to be as wanted, the longest time without any answer of the SA, of 200 requests a second, and pairs dead at any moment. One line a set and size: the worst of
--times. Exit status 1 where a restart took longer than 1 s, a take-over longer than 3.2 s, or a pair was dead.
"""
import os
import signal
import sys
import time

sys.dont_write_bytecode = True

import hung
import managers as m
import world as w

SETS = "none spine leaf switches hcas mixed"
BOUNDS_S = {"restart": 1, "takeover": 3.2}
RATE, TRY_MS, TRIES = 200, 100, 20
LIMIT_S, BEHIND_S = 30, 1


class Bench(hung.Bench):
    def nodes_of(self, name):
        seats = [manager.node for manager in self.managers]
        leaves = [node for node in self.switches if "leaf" in self.names[node] and node not in map(self.leaf_of, self.managers)]
        tops = [node for node in self.switches if "leaf" not in self.names[node]]
        hcas = [node for node in self.hcas if node not in seats and self.cables[node][0][1] not in leaves[-2:]]  # what is behind a silent leaf is asked by nobody
        some = hcas[3::max(1, len(hcas) // 64)]
        return {"none": [], "spine": tops[:1], "leaf": leaves[-1:], "switches": tops[:2] + leaves[-1:], "hcas": some[:64],
                "mixed": tops[:2] + leaves[-2:] + some[:60]}[name]

    def clients(self):
        """Hosts that answer, at leaves that do."""
        silent = set(self.silent)
        hosts = [(node, guid) for node, guid in m.hosts(self.netfile) if not silent & {f"0x{node[2:]}", self.cables[f"0x{node[2:]}"][0][1]}]
        others = [guid for _, guid in hosts[20:40]]
        return [m.Paths(self.world, self.sim, *hosts[len(hosts) // 3], others, RATE, TRY_MS, TRIES)]

    def hang(self, name):
        self.silent = self.nodes_of(name)
        for node in self.silent:
            self.sim.tell(f"hang {node}")
        self.fmd.ask("sweep")
        self.fmd.wait(lambda status: status["silent"] >= len(self.silent), "they are silent", LIMIT_S)
        time.sleep(3)

    def measure(self, way):
        clients = self.clients()
        time.sleep(0.5)
        began, dead = time.time(), 0
        self.fmd.end(signal.SIGKILL)
        manager = self.fmd
        if way == "restart":
            manager.start()
        else:
            manager = self.standby
        master = up = None
        while time.time() - began < LIMIT_S and not (up and time.time() - up > BEHIND_S):
            dead = max(dead, self.judge()["dead"])
            master = master or next(iter(manager.stamps("sm: now master", began)), None)
            up = up or manager.master_since(began)
            time.sleep(0.02)
        samples = sorted((sent, us) for client in clients for sent, us in client.samples())
        answers = sorted(sent + us / 1e6 for sent, us in samples if us >= 0)
        gap = max((b - a for a, b in zip(answers, answers[1:]) if b > began), default=LIMIT_S)
        return {"master_s": master and round(master - began, 2), "up_s": up and round(up - began, 2), "gap_s": round(gap, 2), "dead": dead}

    def again(self, way):
        """The roles are exchanged by a take-over."""
        if way == "takeover":
            self.fmd.start()
            self.fmd, self.standby = self.standby, self.fmd
            self.fmd.wait(lambda status: (status["sm"] == "master" and status["state"] == "up" and status["election"]["others"] and
                                          status["election"]["others"][0]["state"] == "standby" and status["mirror"]["whole"]), "the standby is ready")
        self.fmd.wait(lambda status: status["silent"] >= len(self.silent), "they are silent", LIMIT_S)
        time.sleep(3)


def worst(rows, key):
    return max((row[key] if row[key] is not None else float("inf") for row in rows), default=None)


def run(bench, name, way):
    rows = []
    for _ in range(bench.options.times):
        rows.append(bench.measure(way))
        bench.again(way)
    row = {"size": bench.options.size, "set": name, "way": way, "silent": len(bench.silent), **{key: worst(rows, key) for key in rows[0]}}
    row["ok"] = not row["dead"] and row["master_s"] <= BOUNDS_S[way]
    print(f"{row['size']} {way}, {name} ({row['silent']} silent): {'ok' if row['ok'] else 'BAD'}: master after {row['master_s']} s, all known after {row['up_s']} s, "
          f"{row['gap_s']} s without an answer of the SA, {row['dead']} pairs dead; worst of {len(rows)}", flush=True)
    return row


def main():
    parser = w.parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[256, 1024, 4096])
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--times", type=int, default=2)
    options = parser.parse_args()
    world, rows = w.World(os.path.abspath(options.bin)), []
    try:
        for options.size in options.sizes:
            for way in BOUNDS_S:
                options.ways = way
                bench = Bench(world, options)
                for name in options.sets.split():
                    bench.ready()
                    bench.hang(name)
                    rows.append(run(bench, name, way))
                    for node in bench.silent:
                        bench.sim.tell(f"hang {node} off")
                world.stop_all()
    finally:
        world.close()
    w.finish(rows, options.json)


if __name__ == "__main__":
    main()
