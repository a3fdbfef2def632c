#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What fmd says of the fabric, beside what devices really forward, in random ill states.

    ills.py [--bin FOLDER] [--size HCAS] [--seeds FIRST-LAST] [--limit S] [--json FILE]

Each state makes one to three devices ill (deaf, hung, refusing, slow, pretending, a flapping or cut cable, two swapped ones, a factory's name, no power), some of
which boot with it; a third of them begin with fmd, which has no state then. When the fabric has been the same for a moment, by fmsim's command `judge', fmd's status
is asked for: its pairs in force, its HCAs that have a link and `hcas_cut_off' have to be the judge's within --limit seconds (2), so dead pairs are the same too. Where
they are not, alerts about devices that do not answer have to account for it: what is behind a switch that nobody has ever heard, and what has happened behind one
that is silent, is not to be known, nor who an HCA is that has never answered; but the alert says how many of these there are. An HCA behind a link that is held
is named by that link's alert.
One line a state, and a sum. Exit status 1 if there was one.
"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import signal
import sys
import time

sys.dont_write_bytecode = True

import fabrics
import managers as m
import world as w

KINDS = "deaf hung refusing slow pretend flapping cut swapped factory off".split()
COMMANDS = {"deaf": "deaf {0}", "hung": "hang {0}", "refusing": "refuse {0}", "slow": "slow 1s {0}", "pretend": "pretend {0}"}
SETTLED_S, PATIENCE_S = 0.5, 60


class State:
    def __init__(self, bench, seed):
        self.bench, self.sim, self.random = bench, bench.sim, random.Random(seed)
        self.row = {"seed": seed, "ills": [], "fresh": self.random.random() < 1 / 3}
        self.undo, self.down = [], set()

    def say(self, line, undo=None):
        self.sim.tell(line)
        if undo:
            self.undo.insert(0, undo)

    def node(self):
        """A switch more often than an HCA; never that of fmd, nor its leaf."""
        nodes = self.bench.switches if self.random.random() < 0.6 else self.bench.hcas
        return self.random.choice(nodes)

    def cable(self):
        while True:
            node = self.random.choice(self.bench.switches)
            ends = [end for end in self.bench.cables[node] if end[1] in self.bench.cables and end[1] not in self.bench.own]
            if ends:
                return f"{node}:{self.random.choice(ends)[0]}"

    def make_ill(self, kind):
        self.row["ills"].append(kind)
        if kind in COMMANDS:
            node = self.node()
            self.say(COMMANDS[kind].format(node), COMMANDS[kind].format(node) + " off" if kind != "slow" else f"slow off {node}")
            if self.random.random() < 0.3 and node not in self.down:
                self.row["ills"][-1] += "+boot"
                self.say(f"reboot {node}")
        elif kind == "off":
            node = self.random.choice(self.bench.hcas) if self.row["fresh"] else self.node()  # nobody knows who is behind a leaf without power
            self.down.add(node)
            self.say(f"node off {node}", f"node on {node}")
        elif kind == "factory":
            node = self.random.choice(self.bench.hcas)
            self.say(f'rename {node} "MT4129 ConnectX7 Mellanox Technologies"', f'describe {node} "{self.bench.names[node]}"')
        elif kind == "cut":
            port = self.cable()
            self.say(f"unlink {port}", f"link {port}")
        elif kind == "flapping":
            self.say(f"flap {self.cable()} {self.random.randint(1, 12)} 300ms")
        else:
            one, other = self.cable(), self.cable()
            if one == other:
                return
            for port in (one, other):
                self.say(f"unlink {port}")
            self.say(f"swap {one} {other}")
            for port in (one, other):
                self.say(f"link {port}")
            self.undo[:0] = [f"unlink {one}", f"unlink {other}", f"swap {one} {other}", f"link {one}", f"link {other}"]

    def wait_still(self):
        """Until what devices forward has been the same for a moment."""
        since, before, began = time.monotonic(), None, time.monotonic()
        while time.monotonic() - since < SETTLED_S and time.monotonic() - began < PATIENCE_S:
            now = self.bench.judge()
            key = [now[word] for word in ("pairs", "alive", "pairs_cut", "unreached", "training", "off")]
            if key != before or now["training"] or now["to_come"]:
                since, before = time.monotonic(), key
            time.sleep(0.05)

    def compare(self):
        """What differs between fmd's word and the judge's, both of a time when nothing moved."""
        before = self.bench.judge()
        status = self.bench.fmd.status()
        judge = self.bench.judge()
        if not status or any(before[word] != judge[word] for word in ("alive", "pairs", "unreached")):
            return None
        force = status["in_force"]
        if force["pairs_in_force"] is None:
            return None
        fabric = status.get("fabric", status)
        said = {"in_force": force["pairs_in_force"], "hcas": fabric["hcas"] - status["hcas_off"], "cut_off": status["hcas_cut_off"]}
        true = {"in_force": judge["alive"], "hcas": judge["hcas"], "cut_off": judge["unreached"]}
        self.row.update(said=said, true=true, alerts=[f"{alert['what']}: {alert['text']}" for alert in status["alerts"]])
        return {word: true[word] - said[word] for word in said if true[word] != said[word]}

    def is_told(self, differs):
        """Alerts name as many silent or held devices as HCAs are missing: each is one, or a switch with at most a leaf's."""
        silent = {"switches-silent": 0, "hcas-silent": 0, "miswired": 0, "link-held": 0}
        for alert in self.row["alerts"]:
            what, text = alert.split(": ", 1)
            if what in silent:
                count = re.match(r"\d+", text)
                silent[what] += int(count[0]) if count else 1
        most = sum(silent.values()) + silent["switches-silent"] * (self.bench.leaf_hcas - 1)
        pairs = 2 * most * (self.bench.options.size - 1)  # a silent HCA may still send
        return most >= max(abs(differs.get("cut_off", 0)), abs(differs.get("hcas", 0))) and pairs >= abs(differs.get("in_force", 0))

    def run(self):
        bench = self.bench
        if self.row["fresh"]:
            bench.fmd.end(signal.SIGKILL)
        for kind in self.random.sample(KINDS, self.random.randint(1, 3)):
            self.make_ill(kind)
        if self.row["fresh"]:
            bench.fresh(self.down)
        m.until(lambda: (bench.fmd.status() or {}).get("sm") == "master" and not (bench.fmd.status() or {}).get("state") == "starting", "fmd is master", every_s=0.1)
        self.wait_still()
        began, told = time.monotonic(), False
        while True:
            differs = self.compare()
            told = bool(differs) and self.is_told(differs)
            if differs == {} or told or time.monotonic() - began > bench.options.limit:
                break
            time.sleep(0.05)
        self.row.update(differs=differs, told=told, took_s=round(time.monotonic() - began, 2), ok=differs == {} or told)
        if not self.row["ok"]:
            self.late(began)
        for line in self.undo:
            self.sim.tell(line)
        return self.row

    def late(self, began):
        """How long it took in the end."""
        while time.monotonic() - began < PATIENCE_S / 3:
            differs = self.compare()
            if differs == {} or differs and self.is_told(differs):
                self.row["late_s"] = round(time.monotonic() - began, 2)
                return
            time.sleep(0.2)


class Bench:
    def __init__(self, world, options):
        self.world, self.options = world, options
        self.netfile = fabrics.generated(world, options.size)
        self.begin()

    def begin(self):
        self.sim = w.Fmsim(self.world, self.netfile)
        self.names, self.cables, kinds, node = {}, {}, {}, None
        for line in pathlib.Path(self.netfile).read_text().splitlines():
            head = re.match(r'(Switch|Ca)\s+\d+\s+"[SH]-([0-9a-f]+)"\s+#\s+"([^"]*)"', line)
            end = re.match(r'\[(\d+)\].*"[SH]-([0-9a-f]+)"\[', line)
            if head:
                node = "0x" + head[2]
                kinds[node], self.names[node], self.cables[node] = head[1], head[3], []
            elif end and node:
                self.cables[node].append((int(end[1]), "0x" + end[2]))
        hcas = [node for node in kinds if kinds[node] == "Ca" and "Aggregation" not in self.names[node]]
        mine = hcas[0]
        self.own = {mine, *(far for _, far in self.cables[mine])}
        self.leaf_hcas = max(sum(far in hcas for _, far in ends) for ends in self.cables.values())
        self.hcas = [node for node in hcas if node not in self.own]
        self.switches = [node for node in kinds if kinds[node] == "Switch" and node not in self.own]
        self.manage(hcas)
        m.until(lambda: not self.judge()["dead"], "all pairs are alive", every_s=0.1)

    def manage(self, hcas):
        """Managers, of which self.fmd is master."""
        self.fmd = m.Fmd(self.world, self.sim, hcas[0])
        self.fmd.start()
        m.until(self.fmd.is_master, "the fabric is up", every_s=0.1)

    def judge(self):
        return json.loads(self.sim.tell("judge --json"))

    def fresh(self, down):
        """fmd anew, that knows nothing of before, on a fabric that has lost its tables and links."""
        for node in set(self.switches) - down:
            self.sim.tell(f"reboot {node}")
        for file in pathlib.Path(self.fmd.state_dir).iterdir():
            if not file.is_socket():  # by which the one before hands over what clients of the SA use
                shutil.rmtree(file) if file.is_dir() else file.unlink()
        self.fmd.start()

    def well(self):
        """All is well again; a fabric that is not, for a minute, is left behind."""
        def is_well():
            now, status = self.judge(), self.fmd.status()
            return status and now["pairs"] == self.options.size * (self.options.size - 1) and not now["dead"] and not status["alerts"] and status["state"] == "up"
        try:
            m.until(is_well, "all is well", limit_s=PATIENCE_S, every_s=0.2)
        except w.BenchError:
            self.fmd.end(signal.SIGKILL)
            self.sim.close()
            self.begin()


def line(row):
    head = f"seed {row['seed']} {' '.join(row['ills'])}{' fresh' if row['fresh'] else ''}:"
    if row["ok"]:
        return f"{head} ok: {'told by an alert' if row['told'] else 'equal'} after {row['took_s']} s"
    return (f"{head} BAD: said {row.get('said')}, true {row.get('true')}, equal or told after {row.get('late_s', 'NEVER')} s; "
            f"{'; '.join(row.get('alerts', []))[:300]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("FMD_BIN", "build"))
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--seeds", default="1-12")
    parser.add_argument("--limit", type=float, default=2)
    parser.add_argument("--json")
    options = parser.parse_args()
    world, rows = w.World(os.path.abspath(options.bin)), []
    try:
        bench = Bench(world, options)
        for seed in w.seeds(options.seeds):
            row = State(bench, seed).run()
            rows.append(row)
            print(line(row), flush=True)
            bench.well()
    finally:
        world.close()
        equal, told = sum(row["differs"] == {} for row in rows), sum(row["told"] for row in rows)
        worst = max((row["took_s"] for row in rows if row["ok"]), default=0)
        print(f"{len(rows)} states at {options.size} HCAs: {equal} as the judge has it, {told} told by an alert, {len(rows) - equal - told} neither; slowest {worst} s")
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(rows, indent=1))
    sys.exit(0 if all(row["ok"] for row in rows) else 1)


if __name__ == "__main__":
    main()
