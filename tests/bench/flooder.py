#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""One host floods the SA beside forty that ask as Linux does: what that costs the forty, a line a state.

    flooder.py [--bin FOLDER] [--programs FOLDER] [--turns N] [--rate N] [--json FILE]

On fmsim, 256 HCAs, fmd with its defaults. Forty hosts (linux_hosts.c) ask HOST_RATE times a second each, in three states by turns: in quiet; while another host
sends as many requests to a host that is no manager ("beside": what fmsim, the sender and two processors cost); while it sends them to fmd. The flooder
(sa_storm) asks for paths at a rate that does not ask whether answers come. Printed are the middles over the turns, and the median of the ratios turn by turn.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import fabrics
import managers as m
import sa
import world as w

HOSTS, HOST_RATE, TIMEOUT_MS = 40, 25, 2000
SECONDS, WARM_S = 2.0, 0.3
BOUND = 1.2
STATES = ("quiet", "beside", "flood")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration", "linux_hosts.c")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("FMD_BIN", "build"))
    parser.add_argument("--programs", default="build/release/bench")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--rate", type=int, default=50000)
    parser.add_argument("--json")
    return parser.parse_args()


class Rig:
    def __init__(self, world, options):
        netfile = fabrics.generated(world, 256)
        self.world, self.options = world, options
        self.model = os.path.join(world.dir, "linux_hosts")
        subprocess.run([os.environ.get("CC", "gcc"), "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-o", self.model, SOURCE, "-libumad"], check=True)
        self.sim = w.Fmsim(world, netfile)
        self.fmd = w.Fmd(world, self.sim, settings="rebalance = 0;\n")
        self.fmd.wait_up(60)
        hosts = m.hosts(netfile)
        self.hosts, self.flooder = hosts[1:1 + HOSTS], hosts[-1][0]
        lids = {node["guid"]: node["lid"] for node in self.fmd.ask("nodes")}
        self.other = lids["0x" + hosts[-2][0][2:]]

    def ask(self):
        run = subprocess.run([self.model, str(SECONDS), str(HOST_RATE), str(TIMEOUT_MS)], input="".join(f"{node} {int(guid, 16):#x}\n" for node, guid in self.hosts),
                             stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **self.sim.at(self.hosts[0][0])}, cwd=self.world.folder("hosts"))
        return json.loads(run.stdout.splitlines()[1])

    def measure(self, state):
        if state == "quiet":
            return self.ask()
        to = [str(self.other)] if state == "beside" else []
        flood = self.world.start([sa.program_path(self.options, "sa_storm"), str(SECONDS + 4 * WARM_S), str(self.options.rate), *to], stdout=subprocess.PIPE,
                                 env={**os.environ, **self.sim.at(self.flooder)}, cwd=self.world.folder("flooder"))
        time.sleep(WARM_S)
        seen = self.ask()
        seen["flood"] = json.loads(flood.communicate(timeout=60)[0])
        self.world.processes.remove(flood)
        return seen

    def close(self):
        self.fmd.close()
        self.sim.close()


def middle(samples, key):
    return statistics.median(sample[key] for sample in samples)


def print_rows(turns):
    print(f"{'state':8} {'p50 ms':>8} {'p99 ms':>8} {'slowest':>8} {'failed':>7} {'answered/s':>11} {'flooder: sent/s':>16} {'answered/s':>11}")
    for state in STATES:
        seen = [turn[state] for turn in turns]
        answered = statistics.median(sum(one[kind][1] for kind in ("paths", "joins", "services")) for one in seen) / SECONDS
        flood = [one["flood"] for one in seen if "flood" in one]
        words = (f"{middle(flood, key):.0f}" for key in ("sent_per_s", "answered_per_s")) if flood else ("", "")
        print(f"{state:8} {middle(seen, 'p50_ms'):8.3f} {middle(seen, 'p99_ms'):8.3f} {middle(seen, 'slowest_ms'):8.1f} {sum(len(one['failed']) for one in seen):7} "
              f"{answered:11.0f} {next(words := iter(words)):>16} {next(words):>11}")
    for base in ("quiet", "beside"):
        ratio = statistics.median(turn["flood"]["p99_ms"] / turn[base]["p99_ms"] for turn in turns)
        print(f"p99 of the forty, flood to {base}: {ratio:.2f}" + (f" (at most {BOUND})" if base == "beside" else ""))


def main():
    options = arguments()
    world = w.World(os.path.abspath(options.bin))
    try:
        rig = Rig(world, options)
        try:
            turns = []
            for turn in range(options.turns):
                order = STATES[::-1] if turn % 2 else STATES
                turns.append({state: rig.measure(state) for state in order})
        finally:
            rig.close()
    finally:
        world.close()
    print_rows(turns)
    if options.json:
        with open(options.json, "w") as out:
            json.dump(turns, out)


if __name__ == "__main__":
    main()
