#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Hostile MADs at a manager: kinds by turns, most of them with the TID of the request, and what is left of each when it has ended.

    hostile.py [--bin FOLDER] [--sim FOLDER] [--size HCAS] [--minutes N] [--share PER_MILLE] [--kinds NAME,..] [--json FILE]

The fabric is fmsim's. A library before the manager's umad (hostile_umad.c) falsifies a share of what it receives, while cables are cut and repaired, the
fabric is swept, and a host asks for paths. Behind each kind the cables are whole again, and nothing may be left: the manager is up and master without
alerts, no link is quarantined, held or unhealthy, every host is well, and the simulator's judge finds no dead pair, no loop, no cycle and no LID moved. What is
left by then is to go with a sweep that an operator asks for; what stays behind that too is printed, and the next kind begins with a new manager. --bin is a
build with sanitizers: any report of theirs ends the manager, and the run.
"""
import argparse
import json
import mmap
import os
import random
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import fabrics
import managers as m
import world as w

ANSWERS = ["bit", "byte", "zeros", "ones", "noise", "status", "attribute", "modifier", "method", "class", "class version", "base version", "truncated",
           "shorter than a header", "twice", "another's data", "hop pointer and count", "paths", "forged first, true behind", "given back by the kernel",
           "NodeInfo", "NodeInfo of another device", "NodeDescription", "PortInfo", "SwitchInfo", "tables", "P_Keys and GUIDs", "M_Key", "SMInfo of a master",
           "counters"]
UNASKED = ["answers of before", "TIDs next to true ones", "traps", "requests to the manager's port", "SMInfo controls", "SA noise", "SA component masks", "SA RMPP",
           "SA multicast", "SA InformInfo", "SA services", "answers to Reports", "SA sources", "unknown classes", "lengths"]
KINDS = ANSWERS + UNASKED
CALM_S, EVERY_S = 60, 1.5
ALLOWED = ("name-conflict", "counters-untrue")  # the first waits for an operator, the second fades within the hour; both judge nobody but the device
HOSTILE = struct.Struct("=IIQ64Q")


class Falsifier:
    """The file by which hostile_umad.c is told."""

    def __init__(self, world, per_mille):
        self.path, self.library = os.path.join(world.dir, "hostile"), os.path.join(world.dir, "hostile_umad.so")
        here = os.path.dirname(os.path.abspath(__file__))
        subprocess.run([os.environ.get("CC", "gcc"), "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", "-isystem", "/usr/include/infiniband", "-o",
                        self.library, os.path.join(here, "hostile_umad.c"), "-ldl"], check=True)
        with open(self.path, "wb") as out:
            out.write(bytes(HOSTILE.size))
        self.file = open(self.path, "r+b")
        self.memory = mmap.mmap(self.file.fileno(), HOSTILE.size)
        self.per_mille = per_mille

    def set(self, kind):
        struct.pack_into("=II", self.memory, 0, kind, self.per_mille if kind else 0)

    def done(self, kind):
        return HOSTILE.unpack_from(self.memory)[3 + kind]


class Side:
    """A fabric, its manager behind the falsifier, and a host that asks."""

    def __init__(self, world, netfile, falsifier, sim_bin):
        world.fmd, fmd = os.path.join(sim_bin, "fmd"), world.fmd
        self.sim = w.simulator(world, netfile)
        world.fmd = fmd
        hosts = m.hosts(netfile)
        self.fmd = m.Fmd(world, self.sim, hosts[-1][0])
        self.fmd.environment.update(HOSTILE=falsifier.path, LD_PRELOAD=f"{falsifier.library}:{self.sim.library}",
                                    ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0:detect_odr_violation=0")
        self.fmd.start()
        self.fmd.wait(lambda s: s["sm"] == "master" and s["state"] == "up" and not s["alerts"], "it is up")
        self.sim.tell("judge mark")
        self.cables = [cable for cable in m.cables(self.sim) if cable[2].startswith("S-")]
        self.paths = m.Paths(world, self.sim, hosts[20][0], hosts[20][1], [guid for _, guid in hosts[30:90:7]], 50, 500, 0)
        self.cut = []

    def disturb(self, chance):
        if len(self.cut) < 3 and chance.random() < 0.6:
            self.cut.append(chance.choice([cable for cable in self.cables if cable not in self.cut]))
            self.sim.tell(f"unlink {self.cut[-1][0]}:{self.cut[-1][1]}")
        elif self.cut:
            cable = self.cut.pop(0)
            self.sim.tell(f"link {cable[0]}:{cable[1]}")
        if chance.random() < 0.2:
            subprocess.Popen([self.fmd.world.fmctl, "-s", self.fmd.socket, "--timeout", "20", "sweep"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def repair(self):
        for cable in self.cut:
            self.sim.tell(f"link {cable[0]}:{cable[1]}")
        self.cut = []

    def left(self):
        """What is not as it was, in words. Whose port sent forged traps is told for a while, and is so."""
        status = self.fmd.status()
        if not status:
            return ["no status"]
        found = [f"{key}={status[key]}" for key, wanted in (("sm", "master"), ("state", "up"), ("links_down", 0)) if status[key] != wanted]
        found += [f"alert {alert['what']}: {alert['text']}" for alert in status["alerts"] if alert["what"] not in ALLOWED]
        found += [f"link {link['a']['name']}:{link['a']['port']}: {link.get('why')}" for link in self.fmd.ask("links", "--sick") or [] if "traps" not in (link.get("why") or "")]
        found += [f"host {host['name']} {host['verdict']}" for host in self.fmd.ask("hosts") or [] if host["verdict"] != "HEALTHY"]
        judge = json.loads(self.sim.tell("judge --json"))
        found += [f"judge {key}={judge[key]}" for key in ("pairs_dead", "loops", "cycles", "lids_moved") if judge[key]]
        return found

    def close(self):
        self.paths.finish()
        self.fmd.end()
        self.sim.close()


def turn(side, falsifier, kind, length_s, chance):
    """Seconds until nothing was left (None: something stays), what is left, MADs falsified."""
    before = falsifier.done(kind)
    falsifier.set(kind)
    end = time.time() + length_s
    while time.time() < end:
        side.disturb(chance)
        time.sleep(EVERY_S)
        if not side.fmd.runs():
            return None, ["the manager ended: " + "\n".join(line for _, line in side.fmd.log.lines[-60:])], falsifier.done(kind) - before, None
    side.repair()
    falsifier.set(0)
    begin, swept = time.time(), None
    while True:
        left = side.left()
        if left and not swept and time.time() > begin + CALM_S:
            swept = left
            side.fmd.ask("sweep")
        if not left or time.time() > begin + 2 * CALM_S or not side.fmd.runs():
            break
        time.sleep(0.5)
    return (None if left else time.time() - begin), left, falsifier.done(kind) - before, swept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("FMD_BIN", "build"))
    parser.add_argument("--sim", default="build")
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--share", type=int, default=20)
    parser.add_argument("--kinds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json")
    options = parser.parse_args()
    os.environ["RIG"] = "fmsim"
    world, rows, chance = w.World(os.path.abspath(options.bin)), [], random.Random(options.seed)
    names = options.kinds.split(",") if options.kinds else KINDS
    # The manager's sanitized programs stand alone; the simulator is the plain build's.
    world.fmctl = os.path.join(os.path.abspath(options.sim), "fmctl")
    begin, side, round_ = time.time(), None, 0
    try:
        falsifier = Falsifier(world, options.share)
        netfile = fabrics.generated(world, options.size)
        while time.time() < begin + options.minutes * 60:
            round_ += 1
            for name in names:
                if time.time() > begin + options.minutes * 60:
                    break
                side = side or Side(world, netfile, falsifier, os.path.abspath(options.sim))
                took, left, done, swept = turn(side, falsifier, KINDS.index(name) + 1, options.minutes * 60 / len(names) / 3, chance)
                rows.append((name, done, took, left, swept))
                print(f"{time.time() - begin:7.0f} s  {name:32} {done:7} falsified; " + ("nothing left after " + format(took, ".1f") + " s" + (", with a sweep, before it: " + "; ".join(swept[:3]) if swept else "") if not left else
                                                                                       "LEFT: " + "; ".join(left[:12])), flush=True)
                if left:
                    runs = side.fmd.runs()
                    for _, line in side.fmd.log.lines[-25:]:
                        print("     ", line, flush=True)
                    if not runs:
                        return 1
                    side.close()
                    side = None
        print(f"{len(names)} kinds ({sum(name in ANSWERS for name in names)} with the TID of the request), {round_} rounds, {(time.time() - begin) / 60:.1f} min, "
              f"{sum(row[1] for row in rows)} MADs falsified; {sum(bool(row[3]) for row in rows)} of {len(rows)} turns left something, {sum(bool(row[4]) and not row[3] for row in rows)} until a sweep")
        if options.json:
            with open(options.json, "w") as out:
                json.dump(rows, out, indent=1)
        return 1 if any(row[3] for row in rows) else 0
    finally:
        world.close()


if __name__ == "__main__":
    sys.exit(main())
