#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Trees as they are built: aggregation nodes, damage, disguises and directors, judged by a program that shares nothing with fmd (judge.c).

    trees.py [--bin FOLDER] [--judge PROGRAM] [--seeds N] [--no-opensm] PART [FILE...]

PARTs:
    whole      SuperPODs with an aggregation node behind each switch, and without
    damage     the same with 1 and 5 % of the cables between switches dead, after re-balancing
    permuted   shapes of `fmctl generate` beside the same with GUIDs, ports and order of everything permuted
    field      the real fabrics and directors, whole and without a card, and FILEs, beside OpenSM's updn, ftree and dfsssp
    plot FILE  shift and all-to-all against 0 to 20 % dead cables, with and without aggregation nodes: writes FILE.svg and FILE.tsv

Each prints a table as it goes. Figures: flows (time, by the links' rates) on the worst channel when host i sends to host i + k, mean over 200 shifts and in brackets the worst; all-to-all
load of the worst channel over the mean.
"""
import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading

sys.dont_write_bytecode = True

import fabrics
import quality
import trees_plot
import world as w

PODS = [("superpod", "--su", str(su), "--system", system) for system in ("h100", "b200") for su in (4, 16, 64)] + [
    ("superpod", "--su", str(su), "--system", "a100") for su in (4, 7)]
DAMAGED = [pod for pod in PODS if pod[2] != "64"] + [pod for pod in PODS if pod[2] == "64"]
SHAPES = [
    ("superpod", "--su", "4"), ("superpod", "--su", "5", "--system", "a100"), ("superpod", "--su", "16"),
    ("pgft", "2", "18,36", "1,18"), ("pgft", "2", "12,12", "1,4", "1,3"), ("pgft", "3", "6,6,12", "1,6,6"),
    ("pgft", "3", "8,6,4", "1,4,6", "1,2,1"), ("pgft", "3", "18,18,36", "1,18,18"),
    ("pgft", "4", "4,4,4,8", "1,4,4,4"), ("pgft", "4", "6,6,6,6", "1,6,6,6"), ("pgft", "5", "3,3,3,3,6", "1,3,3,3,3"),
]
ENGINES = ("updn", "ftree", "dfsssp")
HEADS = {
    "whole": ("fabric", "with ANs", "all-to-all", "without", "all-to-all", "route ms with / without", "AN pairs open"),
    "damage": ("fabric", "dead", "with ANs", "all-to-all", "without", "all-to-all", "shift", "a2a", "AN pairs open"),
    "permuted": ("fabric", "as generated", "all-to-all", "permuted", "all-to-all"),
    "field": ("fabric", "hosts", "tables by", "shift", "all-to-all", "unreached", "waiting in a circle"),
}


class Judged:
    def __init__(self, world, program):
        self.world, self.program, self.count, self.engines = world, program, 0, ENGINES

    def path(self, name):
        self.count += 1
        return os.path.join(self.world.dir, f"{self.count}-{name}")

    def tables(self, netfile, lfts, order=None):
        run = subprocess.run([self.program, netfile, lfts, *([order] if order else [])], stdout=subprocess.PIPE, check=True)
        return json.loads(run.stdout)

    def fmd(self, netfile, *options, damaged=None, keep=None):
        """(judgement, document of plan): tables go through a pipe, for they can be gigabytes, or into a file to be kept."""
        lfts = keep or self.path("lfts")
        if keep:
            document = quality.plan(self.world, netfile, "--lfts", lfts, *options)
            return self.tables(damaged or netfile, lfts), document
        os.mkfifo(lfts)
        got = {}
        reader = threading.Thread(target=lambda: got.update(self.tables(damaged or netfile, lfts)))
        reader.start()
        document = quality.plan(self.world, netfile, "--lfts", lfts, *options)
        reader.join()
        os.unlink(lfts)
        return got, document

    def generated(self, arguments):
        path = self.path("fabric.net")
        with open(path, "wb") as out:
            subprocess.run([self.world.fmctl, "generate", *arguments], stdout=out, check=True)
        return path


def shift(found):
    return f"{found['shift_mean']:.2f} ({found['shift_worst']})"


def sound(found):
    for key in ("unreached", "loops", "cycle"):
        if found[key]:
            raise w.BenchError(f"{key}: {found[key]}")
    return found


def name_of(arguments):
    return " ".join(arguments).replace("--", "")


# ---- SuperPODs

def whole(judged, options):
    for pod in PODS:
        found = [judged.fmd(judged.generated([*pod, *extra]), "--repeat", "9") for extra in ((), ("--no-sharp",))]
        (ours, document), (plain, plain_document) = [(sound(found), document) for found, document in found]
        yield [name_of(pod), shift(ours), f"{ours['all_to_all']:.2f}", shift(plain), f"{plain['all_to_all']:.2f}",
               f"{document['route_ms']:.2f} / {plain_document['route_ms']:.2f}", f"{ours['unreached_special']:,}"]


def damage_one(judged, pod, share, seed):
    """Judgements with and without aggregation nodes; the same cables are dead."""
    for extra in ((), ("--no-sharp",)):
        netfile = judged.generated([*pod, *extra])
        cables = quality.Cables(netfile)
        dead = random.Random(seed).sample(cables.all, round(len(cables.all) * share / 100))
        damaged = judged.path("damaged.net")
        cables.write_without(dead, damaged)
        fails = [word for cable in dead for word in ("--fail", "{}:{}".format(*cable[0]))]
        yield judged.fmd(netfile, "--rebalance", *fails, damaged=damaged)[0]
        os.unlink(netfile)
        os.unlink(damaged)


def mean(found, key):
    return sum(one[key] for one in found) / len(found)


def damage_cells(found):
    worst = max(one["shift_worst"] for one in found)
    return f"{mean(found, 'shift_mean'):.2f} ({worst})", f"{mean(found, 'all_to_all'):.2f}"


def ratio(ours, plain, key):
    return f"{mean(ours, key) / mean(plain, key):.3f}x"


def damage(judged, options):
    for pod in DAMAGED:
        for share in (1, 5):
            seeds = range(1, (options.seeds if pod[2] != "64" else 1) + 1)
            pairs = [[sound(found) for found in damage_one(judged, pod, share, seed)] for seed in seeds]
            ours, plain = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
            yield [name_of(pod), f"{share} %", *damage_cells(ours), *damage_cells(plain), ratio(ours, plain, "shift_mean"),
                   ratio(ours, plain, "all_to_all"), f"{mean(ours, 'unreached_special'):,.0f}"]


# ---- Disguises

NODE = re.compile(r'^(Switch|Ca)\t(\d+) "([SH])-([0-9a-f]{16})"\s*# "([^"]*)"')
PEER = re.compile(r'^\[(\d+)\]\S*\s+"([SH]-[0-9a-f]{16})"\[(\d+)\]')


def permute(netfile, path, seed):
    """The same fabric with other GUIDs, other port numbers, its own names and another order."""
    dice, nodes, at = random.Random(seed), {}, None
    with open(netfile) as file:
        for line in file:
            node, peer = NODE.match(line), PEER.match(line)
            if node:
                at = f"{node[3]}-{node[4]}"
                nodes[at] = {"kind": node[1], "ports": int(node[2]), "name": node[5], "peers": {}}
            elif peer and at:
                nodes[at]["peers"][int(peer[1])] = peer[2], int(peer[3])
    names = list(nodes)
    numbers = dice.sample(range(1, 1 << 24), len(names))
    guid = {name: 0x0002C90000000000 + number * 16 for name, number in zip(names, numbers)}
    ports = {name: dict(zip(range(1, node["ports"] + 1), dice.sample(range(1, node["ports"] + 1), node["ports"])))
             for name, node in nodes.items()}
    dice.shuffle(names)
    with open(path, "w") as out:
        for name in names:
            node, letter = nodes[name], name[0]
            special = "Aggregation Node" in node["name"]
            known = node["name"] if letter == "H" else f"switch-{guid[name]:x}"
            out.write(f"\nvendid=0x2c9\ndevid=0x{0xcf09 if special else 0xd2f2 if letter == 'S' else 0x1021:x}\n"
                      f"sysimgguid=0x{guid[name]:x}\n{'switch' if letter == 'S' else 'ca'}guid=0x{guid[name]:x}\n"
                      f'{node["kind"]}\t{node["ports"]} "{letter}-{guid[name]:016x}"\t\t# "{known}"\n')
            mine = ports[name] if letter == "S" else {port: port for port in ports[name]}
            for port, (far, far_port) in sorted(node["peers"].items(), key=lambda item: mine[item[0]]):
                theirs = ports[far][far_port] if far[0] == "S" else far_port
                out.write(f'[{mine[port]}]\t"{far[0]}-{guid[far]:016x}"[{theirs}]\t\t# "x" lid 0 4xNDR\n')


def permuted(judged, options):
    for shape in SHAPES:
        netfile, path = judged.generated(shape), judged.path("permuted.net")
        plain, found = sound(judged.fmd(netfile)[0]), []
        for seed in range(1, options.seeds + 1):
            permute(netfile, path, seed)
            found.append(sound(judged.fmd(path)[0]))
        yield [name_of(shape), shift(plain), f"{plain['all_to_all']:.2f}", *damage_cells(found)]


# ---- The field

def write_net(path, switches, hosts, links):
    """switches: {name: ports}; hosts: {name: (switch, port)}; links: ((switch, port), (switch, port))."""
    guid = {name: 0x0008F10400000000 + 0x100 * (i + 1) for i, name in enumerate([*switches, *hosts])}
    ports = {name: {} for name in switches}
    for a, b in links:
        ports[a[0]][a[1]], ports[b[0]][b[1]] = ("S", *b), ("S", *a)
    for name, (switch, port) in hosts.items():
        ports[switch][port] = ("H", name, 1)
    with open(path, "w") as out:
        for name, count in switches.items():
            out.write(f'\nvendid=0x8f1\ndevid=0x5a30\nswitchguid=0x{guid[name]:x}\n'
                      f'Switch\t{count} "S-{guid[name]:016x}"\t\t# "{name}"\n')
            for port, (letter, far, far_port) in sorted(ports[name].items()):
                out.write(f'[{port}]\t"{letter}-{guid[far]:016x}"[{far_port}]\t\t# "{far}" lid 0 4xQDR\n')
        for name, (switch, port) in hosts.items():
            out.write(f'\nvendid=0x2c9\ndevid=0x1003\ncaguid=0x{guid[name]:x}\nCa\t1 "H-{guid[name]:016x}"\t\t# "{name}"\n'
                      f'[1]\t"S-{guid[switch]:016x}"[{port}]\t\t# "{switch}" lid 0 4xQDR\n')


def two_stages(path, cards, spines, lanes, without_spines=()):
    """A director of line cards with one chip each; every chip has `lanes` cables to each spine card, and a host for each cable of the whole."""
    switches, hosts, links = {}, {}, []
    for s in range(spines):
        if s not in without_spines:
            switches[f"spine-card-{s + 1:02}"] = cards * lanes
    for card in range(cards):
        line = f"line-card-{card + 1:02}"
        switches[line] = 2 * spines * lanes
        for s in range(spines * lanes):
            hosts[f"node-{card * spines * lanes + s + 1:04} HCA-1"] = line, s + 1
            if s // lanes not in without_spines:
                spine = f"spine-card-{s // lanes + 1:02}"
                links.append(((line, spines * lanes + s + 1), (spine, card * lanes + s % lanes + 1)))
    write_net(path, switches, hosts, links)


def three_stages(path, leaves, up, directors, cards, spines, without=()):
    """Leaves of `up` hosts with one cable to a line card of each director in turn; without: (director, "line" or "spine", card)."""
    switches, hosts, links = {}, {}, []
    per_card = leaves * up // directors // cards  # leaf ports of a line card
    lanes = per_card // spines
    for d in range(directors):
        for card in range(cards):
            if (d, "line", card) not in without:
                switches[f"director-{d + 1}/line-{card + 1:02}"] = 2 * per_card
        for s in range(spines):
            if (d, "spine", s) in without:
                continue
            spine = f"director-{d + 1}/spine-{s + 1:02}"
            switches[spine] = cards * lanes
            links += [((f"director-{d + 1}/line-{card + 1:02}", per_card + s * lanes + lane + 1),
                       (spine, card * lanes + lane + 1))
                      for card in range(cards) if (d, "line", card) not in without for lane in range(lanes)]
    used = {}
    for leaf in range(leaves):
        name = f"leaf-{leaf + 1:03}"
        switches[name] = 2 * up
        for port in range(up):
            hosts[f"node-{leaf * up + port + 1:05} HCA-1"] = name, port + 1
            d, turn = port % directors, port // directors
            card = (leaf * (up // directors) + turn) // per_card
            line = f"director-{d + 1}/line-{card + 1:02}"
            used[line] = used.get(line, 0) + 1
            if line in switches:
                links.append(((name, up + port + 1), (line, used[line])))
    write_net(path, switches, hosts, links)


def made(judged):
    """(name, file) of directors."""
    def two(name, *arguments, **more):
        path = judged.path(f"{name}.net".replace(" ", "-"))
        two_stages(path, *arguments, **more)
        return name, path

    def three(name, *arguments, **more):
        path = judged.path(f"{name}.net".replace(" ", "-"))
        three_stages(path, *arguments, **more)
        return name, path

    yield two("director 18x9", 18, 9, 2)
    yield two("director 18x9 without a spine card", 18, 9, 2, without_spines=(4,))
    yield two("director 36x18 without two", 36, 18, 1, without_spines=(3, 4))
    yield three("3 stages", 36, 12, 2, 6, 6)
    yield three("3 stages without a line card", 36, 12, 2, 6, 6, without={(1, "line", 2)})
    yield three("3 stages without a spine card", 36, 12, 2, 6, 6, without={(0, "spine", 1)})


def field_rows(judged, name, netfile):
    plain = judged.path("plain.net")  # ibsim counts port GUIDs from the nodes', and so does fmctl of a file that has none
    quality.Cables(netfile).write_without([], plain)
    order = judged.path("order.lfts")
    judged.fmd(plain, keep=order)
    for what, options in (("fmd, first", ()), ("fmd, quiet", ("--rebalance",))):
        found, document = judged.fmd(plain, *options)
        yield what + ("" if document["engine"] == "ftree" else f" ({document['engine']})"), found
    for engine in judged.engines:
        try:
            dump, told = quality.opensm_tables(judged.world, plain, engine)
            yield told, judged.tables(plain, dump, order)
            os.unlink(dump)
        except (w.BenchError, OSError, subprocess.SubprocessError) as error:
            print(f"  {name}: {engine}: {error}", file=sys.stderr, flush=True)


def field(judged, options):
    real = [(os.path.splitext(os.path.basename(path))[0], path) for path in fabrics.real()]
    for name, netfile in [*real, *made(judged), *[(os.path.basename(path), path) for path in options.files]]:
        for engine, found in field_rows(judged, name, netfile):
            yield [name, f"{found['hosts']:,}", engine, shift(found), f"{found['all_to_all']:.2f}", f"{found['unreached']:,}",
                   f"{found['cycle']:,}"]


# ---- The plot

def plot(judged, options):
    pod, rows = ("superpod", "--su", "4"), []
    for share in (0, 0.5, 1, 2, 3, 5, 7.5, 10, 12.5, 15, 17.5, 20):
        pairs = [list(damage_one(judged, pod, share, seed)) for seed in range(1, options.seeds + 1)]
        row = [share] + [mean([pair[i] for pair in pairs], key) for i in (0, 1) for key in ("shift_mean", "all_to_all")]
        rows.append(row)
        print("  " + "\t".join(f"{value:.3f}" for value in row), file=sys.stderr, flush=True)
    head = ["dead %", "shift, ANs", "all-to-all, ANs", "shift", "all-to-all"]
    with open(f"{options.files[0]}.tsv", "w") as out:
        out.writelines("\t".join(map(str, line)) + "\n" for line in [head, *rows])
    with open(f"{options.files[0]}.svg", "w") as out:
        out.write(trees_plot.svg(f"{name_of(pod)}, after re-balancing, mean of {options.seeds} samples", rows))


# ---- The program

PARTS = {"whole": whole, "damage": damage, "permuted": permuted, "field": field}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("FMD_BIN", "build"))
    parser.add_argument("--judge", default="build/release/bench/judge")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--no-opensm", action="store_true")
    parser.add_argument("part", choices=[*PARTS, "plot"])
    parser.add_argument("files", nargs="*")
    return parser.parse_args()


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, quality.terminated)
    world = w.World(os.path.abspath(options.bin))
    judged = Judged(world, os.path.abspath(options.judge))
    judged.engines = () if options.no_opensm else ENGINES
    try:
        if options.part == "plot":
            plot(judged, options)
            return 0
        for line in (HEADS[options.part], ["---"] * len(HEADS[options.part])):
            print("| " + " | ".join(line) + " |", flush=True)
        for row in PARTS[options.part](judged, options):
            print("| " + " | ".join(row) + " |", flush=True)
    except w.BenchError as error:
        print(f"trees: {error}", file=sys.stderr)
        return 1
    finally:
        world.close()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
