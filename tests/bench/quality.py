#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""How well tables spread traffic: fmd's beside those of OpenSM's engines, on the same whole and damaged fabrics.

    quality.py [--bin FOLDER] [--seed N] [--json FILE] [FABRIC...]

FABRICs: pod4, pod16 (each whole, with one cable between switches dead, with 1 and 5 % of them, and with 2 % of the spines)
and the names of the real ones; all by default. OpenSM runs once for each engine under ibsim and leaves
opensm-lfts.dump, which `fmctl plan --tables` measures as it measures fmd's own. fmd is there three times under damage: on
the damaged file alone, as OpenSM sees it; with the cables known and down (`--fail`), as a running fmd that saw them
die; and as that comes to be when it is quiet (`--rebalance`). Figures are flows on the worst channel, mean over 200
samples and in brackets the worst. Credit cycles are counted as on one VL (dfsssp asks for more).
Prints a markdown table, and names what is better elsewhere; progress goes to stderr.

As a section of run.py: the pods alone. The bounds are the best of OpenSM's columns, figure by figure, on the same file.
fmd's figures are measured on SEEDS samples of each damage besides; OpenSM's on the first.
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
import parts as p
import table
import world as w

ENGINES = ("ftree", "updn", "minhop", "dfsssp")
DAMAGE = ("none", "1 link", "1 % of links", "5 % of links", "2 % of spines")
SEEDS = 8
DFSSSP_SLOW = 4096  # HCAs, from where on it takes minutes: only with links dead by percent
PODS = {"pod4": 1024, "pod16": 4096}
LIMIT_S, PART_LIMIT_S = 300, 1200
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
        found, hosts, switch = set(), set(), None
        for number, line in enumerate(self.lines):
            first, cable = FIRST_LINE.match(line), CABLE.match(line)
            if switch and not first and '"H-' in line and "Aggregation Node" not in line:
                hosts.add(switch)
            if first:
                switch = first[2] if first[1] == "Switch" else None
            elif switch and cable:
                self.ends[number] = switch, int(cable[1])
                found.add(tuple(sorted((self.ends[number], (cable[2], int(cable[3]))))))
        self.all = sorted(found)
        ends = {end[0] for cable in self.all for end in cable}
        below = {a[0] for cable in self.all for a, b in (cable, cable[::-1]) if b[0] in hosts}
        self.spines = sorted((ends - hosts) & below)

    def sample(self, damage, seed):
        """The dead ones of a damage of DAMAGE."""
        dice, words = random.Random(seed), damage.split()
        if damage == "none":
            return []
        if words[-1] == "spines":
            dead = set(dice.sample(self.spines, max(1, round(len(self.spines) * int(words[0]) / 100))))
            return [cable for cable in self.all if cable[0][0] in dead or cable[1][0] in dead]
        return dice.sample(self.all, 1 if words[1] == "link" else round(len(self.all) * int(words[0]) / 100))

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
        sm = w.Opensm(world, sim, engine, options=("-D", "0x43"))
        try:
            sm.wait_up(LIMIT_S)
            used, why = sm.engine()
        finally:
            sm.close()
    finally:
        sim.close()
    name = f"OpenSM {engine}"
    if used and used != engine:
        name += f" gave up ({why.split(':')[0].replace('ERR ', '')}): {used}" if why else f": {used}"
    return os.path.join(sm.dir, "opensm-lfts.dump"), name


def measure_opensm(world, netfile, engine):
    dump, name = opensm_tables(world, netfile, engine)
    try:
        return name, plan(world, netfile, "--tables", dump)
    finally:
        os.unlink(dump)  # 100 MB of pod16


def fmd_rows(world, netfile, dead):
    """fmd that saw them die: at once, and when it is quiet."""
    fails = [word for cable in dead for word in ("--fail", "{}:{}".format(*cable[0]))]
    document = plan(world, netfile, "--rebalance", *fails)
    yield "fmd, saw them die", dict(document, congestion=document["rebalance"]["before"])
    yield "fmd, re-balanced", document


def opensm_rows(world, name, damage, damaged, engines):
    for engine in engines:
        print(f"  {name}, {damage}: {engine}", file=sys.stderr, flush=True)
        try:
            yield measure_opensm(world, damaged, engine)
        except w.BenchError as error:
            print(f"  {error}", file=sys.stderr, flush=True)


def measure(world, name, netfile, damage, seed):
    """Rows (engine, document of fmctl plan) of one fabric with one damage."""
    cables = Cables(netfile)
    dead = cables.sample(damage, seed)
    damaged = os.path.join(world.dir, f"{name}.net")
    cables.write_without(dead, damaged)
    yield "fmd", plan(world, damaged)
    if dead:
        yield from fmd_rows(world, netfile, dead)
    yield from opensm_rows(world, name, damage, damaged, ENGINES)


def cells(name, damage, engine, document):
    congestion, proof = document["congestion"], document["proof"]
    spread = [f"{congestion[key + '_mean']:.2f} ({congestion[key + '_max']})" for key, _ in PATTERNS]
    return [name, damage, engine, *spread, f"{congestion['all_to_all_ratio']:.2f}",
            f"{proof['unreachable']:,}", f"{proof['credit_cycles']:,}"]


def markdown(rows):
    head = ["fabric", "dead", "tables by", *(title for _, title in PATTERNS), "all-to-all", "unreachable",
            "credit cycles"]
    lines = [head, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    pad = [[cell.ljust(width) if i < 3 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths))]
           for line in lines]
    rule = ["-" * width if i < 3 else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [pad[0], rule, *pad[1:]])


def host_share(document, key):
    """Flows that end at one port whatever the tables: a channel with no more than that is not what holds them up."""
    ports = document["congestion"]["storage_ports"]
    return (document["hcas"] - ports) / ports if key == "storage_mean" and ports else 0


def lost(name, damage, rows):
    """Where tables that reach everything are more than 1 % better than the better of fmd's."""
    keys = [(key + "_mean", title) for key, title in PATTERNS] + [("all_to_all_ratio", "all-to-all")]
    whole = [(engine, document) for engine, document in rows if not document["proof"]["unreachable"]]
    for key, title in keys:
        ours = min(document["congestion"][key] for engine, document in rows if engine.startswith("fmd"))
        theirs = [(max(document["congestion"][key], host_share(document, key)), engine)
                  for engine, document in whole if not engine.startswith("fmd")]
        if theirs and min(theirs)[0] < ours * 0.99:
            yield f"{name}, {damage}: {title} {ours:.2f}, {min(theirs)[1]} {min(theirs)[0]:.2f}"


def chosen(world, names):
    """(name, file, damages) of the fabrics asked for."""
    real = {os.path.splitext(os.path.basename(path))[0]: path for path in fabrics.real()}
    for name in names or [*PODS, *real]:
        if name in PODS:
            yield name, fabrics.generated(world, PODS[name]), DAMAGE
        elif name in real:
            yield name, real[name], DAMAGE[:1]
        else:
            raise w.BenchError(f"what is {name}? There are {', '.join([*PODS, *real])}")


def compare(world, options):
    """Table rows, what was lost, and all documents."""
    lines, missed, documents = [], [], []
    for name, netfile, damages in chosen(world, options.fabrics):
        for damage in damages:
            rows = list(measure(world, name, netfile, damage, options.seed))
            lines += [cells(name, damage, engine, document) for engine, document in rows]
            missed += lost(name, damage, rows)
            documents += [{"fabric": name, "dead": damage, "tables_by": engine, "plan": document}
                          for engine, document in rows]
    return lines, missed, documents


# ---- As a section of run.py

BOUND = (("shift_mean", "shift"), ("rail_shift_mean", "rail shift"), ("all_to_all_ratio", "all-to-all"))


def bound_row(what, key, title, ours, theirs):
    """ours, theirs: (engine, congestion); the last of ours is what counts."""
    best = min((document[key] for _, document in theirs), default=None)
    counts = ours[-1][1][key]
    told = ", ".join(f"{document[key]:.2f} {engine}" for engine, document in theirs)
    mine = f"{counts:.2f}" if len(ours) == 1 else f"{counts:.2f} (at once {ours[0][1][key]:.2f})"
    if best is None:
        return table.Row(f"{what}: {title}", mine)
    return table.Row(f"{what}: {title}", mine, told, ratio=f"{counts / best:.2f}", bound="≤ best of them",
                     met=counts <= best * 1.005)


def mean_rows(world, netfile, cables, damage):
    """fmd's figures over all samples, at once and re-balanced."""
    samples = [[document["congestion"] for _, document in fmd_rows(world, netfile, cables.sample(damage, seed))]
               for seed in range(1, SEEDS + 1)]
    for key, title in BOUND:
        once, quiet = (sum(sample[i][key] for sample in samples) / SEEDS for i in (0, 1))
        worst = max(sample[1][key] for sample in samples)
        yield table.Row(f"{table.DETAIL}{title}, {SEEDS} samples", f"{quiet:.2f}, worst {worst:.2f} (at once {once:.2f})")


def section_engines(hcas, damage):
    """ftree gives a damaged fabric up, and what it falls back to is minhop."""
    slow = hcas >= DFSSSP_SLOW and "% of links" not in damage
    return [engine for engine in ENGINES
            if not (engine == "dfsssp" and slow) and not (engine == "minhop" and damage != "none")]


def section_rows(world, name, netfile, damage):
    cables = Cables(netfile)
    dead = cables.sample(damage, 1)
    damaged = os.path.join(world.dir, f"{name}.net")
    cables.write_without(dead, damaged)
    whole = plan(world, netfile)
    ours = [(engine, document["congestion"]) for engine, document in fmd_rows(world, netfile, dead)] if dead else \
        [("fmd", whole["congestion"])]
    theirs = [(engine.replace("OpenSM ", ""), document["congestion"]) for engine, document in
              opensm_rows(world, name, damage, damaged, section_engines(whole["hcas"], damage))]
    dead_words = "whole" if damage == "none" else f"{damage} dead"
    for key, title in BOUND:
        yield bound_row(f"{name}, {dead_words}", key, title, ours, theirs)
    if dead:
        yield from mean_rows(world, netfile, cables, damage)


def with_damage(world, name, size, damage):
    rows = list(section_rows(world, name, fabrics.generated(world, size), damage))
    return rows, {"fabric": name, "dead": damage, "rows": [row.json("quality") for row in rows]}


def parts(world, options):
    return [p.Part(f"{name}, {damage} dead: spread of the traffic", PART_LIMIT_S, lambda name=name, size=size, damage=damage: with_damage(world, name, size, damage))
            for name, size in PODS.items() if not options.sizes or size in options.sizes for damage in DAMAGE]


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
        lines, missed, documents = compare(world, options)
    except w.BenchError as error:
        print(f"quality: {error}", file=sys.stderr)
        return 1
    finally:
        world.close()
    print(markdown(lines))
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
