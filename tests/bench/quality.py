#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""How well tables spread traffic: fmd's beside those of OpenSM's engines, on the same whole and damaged fabrics.

    quality.py [--bin FOLDER] [--seed N] [--json FILE] [FABRIC...]

FABRICs: pod4, pod16 (each with 0, 1 and 5 % of the cables between switches dead) and the names of the real ones; all by
default. OpenSM runs once for each engine under ibsim and leaves opensm-lfts.dump, which `fmctl plan --tables` measures
as it measures fmd's own. fmd is there twice under damage: once on the damaged file alone, as OpenSM sees it, and once
with the cables known and down (`--fail`), as a running fmd that saw them die. Figures are flows on the worst
channel, mean over 200 samples and in brackets the worst. Credit cycles are counted as on one VL (dfsssp asks for more).
Prints a markdown table, and names what is better elsewhere; progress goes to stderr.
"""
import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys

sys.dont_write_bytecode = True

import fabrics
import world as w

ENGINES = ("ftree", "updn", "minhop", "dfsssp")
DAMAGE = (0, 1, 5)  # percent
PODS = {"pod4": 1024, "pod16": 4096}
LIMIT_S = 300
PATTERNS = (("shift", "shift"), ("rail_shift", "rail shift"), ("random", "random"), ("storage", "to storage"))
FIRST_LINE = re.compile(r'(\w+)\s+\d+\s+"([SH]-\w+)"')
CABLE = re.compile(r'\[(\d+)\]\S*\s+"(S-\w+)"\[(\d+)\]')
PORT_GUID = re.compile(r"\]\([0-9a-fA-F]+\)")  # ibsim makes its own from the node's; left out, fmctl makes the same


class Cables:
    """Cables between switches of an ibnetdiscover file, and the file without some of them."""

    def __init__(self, netfile):
        with open(netfile) as file:
            self.lines = [PORT_GUID.sub("]", line) for line in file]
        self.ends = [None] * len(self.lines)  # the switch port that the line is of
        found, switch = set(), None
        for number, line in enumerate(self.lines):
            first, cable = FIRST_LINE.match(line), CABLE.match(line)
            if first:
                switch = first[2] if first[1] == "Switch" else None
            elif switch and cable:
                self.ends[number] = switch, int(cable[1])
                found.add(tuple(sorted((self.ends[number], (cable[2], int(cable[3]))))))
        self.all = sorted(found)

    def sample(self, percent, seed):
        return random.Random(seed).sample(self.all, round(len(self.all) * percent / 100))

    def write_without(self, dead, path):
        ends = {end for cable in dead for end in cable}
        with open(path, "w") as out:
            out.writelines(line for end, line in zip(self.ends, self.lines) if end is None or end not in ends)


def plan(world, netfile, *options):
    run = subprocess.run([world.fmctl, "--json", "plan", netfile, *options], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    if run.returncode:
        raise w.BenchError(f"fmctl plan {netfile}: {run.stderr.decode().strip()}")
    return json.loads(run.stdout)


def opensm_tables(world, netfile, engine):
    """(dump file, the engine that made it): OpenSM's, after what it fell back to."""
    sim = w.Ibsim(world, netfile)
    try:
        sm = w.Opensm(world, sim, ("-R", engine, "-D", "0x43"))
        try:
            sm.wait_up(LIMIT_S)
            with open(sm.log, errors="replace") as log:
                text = log.read()
        finally:
            sm.close()
    finally:
        sim.close()
    used = re.findall(r"(\w+) tables configured on all switches", text)
    why = re.search(r"ERR (AB\w\w)", text)
    name = f"OpenSM {engine}"
    if used and used[0] != engine:
        name += f" gave up ({why[1]}): {used[0]}" if why else f": {used[0]}"
    return os.path.join(sm.dir, "opensm-lfts.dump"), name


def measure_opensm(world, netfile, engine):
    dump, name = opensm_tables(world, netfile, engine)
    try:
        return name, plan(world, netfile, "--tables", dump)
    finally:
        os.unlink(dump)  # 100 MB of pod16


def measure(world, name, netfile, percent, seed):
    """Rows (engine, document of fmctl plan) of one fabric with one damage."""
    cables = Cables(netfile)
    dead = cables.sample(percent, seed)
    damaged = os.path.join(world.dir, f"{name}-{percent}.net")
    cables.write_without(dead, damaged)
    yield "fmd", plan(world, damaged)
    if dead:
        fails = [word for cable in dead for word in ("--fail", "{}:{}".format(*cable[0]))]
        yield "fmd, saw them die", plan(world, netfile, *fails)
    for engine in ENGINES:
        print(f"  {name}, {percent} %: {engine}", file=sys.stderr, flush=True)
        try:
            yield measure_opensm(world, damaged, engine)
        except w.BenchError as error:
            print(f"  {error}", file=sys.stderr, flush=True)


def cells(name, percent, engine, document):
    congestion, proof = document["congestion"], document["proof"]
    spread = [f"{congestion[key + '_mean']:.2f} ({congestion[key + '_max']})" for key, _ in PATTERNS]
    return [name, f"{percent} %", engine, *spread, f"{congestion['all_to_all_ratio']:.2f}",
            f"{proof['unreachable']:,}", f"{proof['credit_cycles']:,}"]


def markdown(rows):
    head = ["fabric", "dead", "tables by", *(title for _, title in PATTERNS), "all-to-all", "unreachable",
            "credit cycles"]
    table = [head, *rows]
    widths = [max(len(line[i]) for line in table) for i in range(len(head))]
    pad = [[cell.ljust(width) if i < 3 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths))]
           for line in table]
    rule = ["-" * width if i < 3 else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [pad[0], rule, *pad[1:]])


def host_share(document, key):
    """Flows that end at one port whatever the tables: a channel with no more than that is not what holds them up."""
    ports = document["congestion"]["storage_ports"]
    return (document["hcas"] - ports) / ports if key == "storage_mean" and ports else 0


def lost(name, percent, rows):
    """Where tables that reach everything are more than 1 % better than the better of fmd's."""
    keys = [(key + "_mean", title) for key, title in PATTERNS] + [("all_to_all_ratio", "all-to-all")]
    whole = [(engine, document) for engine, document in rows if not document["proof"]["unreachable"]]
    for key, title in keys:
        ours = min(document["congestion"][key] for engine, document in rows if engine.startswith("fmd"))
        theirs = [(max(document["congestion"][key], host_share(document, key)), engine)
                  for engine, document in whole if not engine.startswith("fmd")]
        if theirs and min(theirs)[0] < ours * 0.99:
            yield f"{name} {percent} %: {title} {ours:.2f}, {min(theirs)[1]} {min(theirs)[0]:.2f}"


def chosen(world, names):
    """(name, file, percents) of the fabrics asked for."""
    real = {os.path.splitext(os.path.basename(path))[0]: path for path in fabrics.real()}
    for name in names or [*PODS, *real]:
        if name in PODS:
            yield name, fabrics.generated(world, PODS[name]), DAMAGE
        elif name in real:
            yield name, real[name], (0,)
        else:
            raise w.BenchError(f"what is {name}? There are {', '.join([*PODS, *real])}")


def compare(world, options):
    """Table rows, what was lost, and all documents."""
    table, missed, documents = [], [], []
    for name, netfile, percents in chosen(world, options.fabrics):
        for percent in percents:
            rows = list(measure(world, name, netfile, percent, options.seed))
            table += [cells(name, percent, engine, document) for engine, document in rows]
            missed += lost(name, percent, rows)
            documents += [{"fabric": name, "dead_percent": percent, "tables_by": engine, "plan": document}
                          for engine, document in rows]
    return table, missed, documents


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("FMD_BIN", "build"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json")
    parser.add_argument("fabrics", nargs="*")
    return parser.parse_args()


def terminated(signum, frame):
    raise SystemExit(128 + signum)


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, terminated)
    world = w.World(os.path.abspath(options.bin))
    try:
        table, missed, documents = compare(world, options)
    except w.BenchError as error:
        print(f"quality: {error}", file=sys.stderr)
        return 1
    finally:
        world.close()
    print(markdown(table))
    print("\nbetter elsewhere: " + ("; ".join(missed) or "nothing"))
    if options.json:
        with open(options.json, "w") as out:
            json.dump(documents, out, indent=1)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
