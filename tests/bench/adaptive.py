# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Adaptive routing: what random pairs get, by groups and beside what no routing could exceed; a judge of what fmd plans; flows behind a cut.

`plan` computes bandwidths. On fmsim they are measured as switches forward that hold the groups of `plan --write-far`: fmd brings the fabric
up and ends, then the switches get the file. There, too, the flows of 1,000 are counted that lose packets behind a cut link, which no manager
answers: without fast recovery, with it, and with notifications between switches.

The optimum of random pairs is bounded by a maximum flow between leaves: none sends or gets more than its links to other switches carry. The
judge (tests/lib/far_judge.py) reads what is planned for superpods as they are built, with other GUIDs in another order, and with 1 % of the
links between switches gone.
"""
import collections
import itertools
import json
import os
import random
import re
import subprocess
import sys
import threading

import fabrics
import parts as p
import table
import world as w

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import far_judge

SIZES = (1024, 4096)
UNITS = {"a100": (4, 7), "h100": (4, 8, 16, 32, 64), "b200": (4, 8, 16, 32, 64)}
FORWARDED = 1024  # HCAs of the fabric on fmsim
MEAN, SLOWEST, OF_OPTIMUM = 0.95, 0.85, 0.85
PERCENT, SEED, SAMPLES, FLOWS = 1, 7, 6, 1000
LIMIT_S, JUDGE_LIMIT_S = 300, 1800
LARGE, TIMES, PROOF_MS, LOWEST_CAP = 16384, 2, 60, 1023
HALVED = {1024: ("pgft", "2", "32,32", "1,16"), 4096: ("pgft", "3", "32,16,8", "1,16,16")}
GROWN = (16, 20)  # units of 24


# ---- Fabrics -------------------------------------------------------------------------------------

NODE = re.compile(r'^(?:Switch|Ca)\s+\d+ "([SH])-([0-9a-f]+)"', re.M)
PORT = re.compile(r'^\[(\d+)\](?:\([0-9a-f]+\))?\s+"([SH])-([0-9a-f]+)"\[(\d+)\]')


def damaged(text, percent, seed):
    """Without some of the cables between switches."""
    here, ends, lines = None, {}, text.splitlines(keepends=True)
    for at, line in enumerate(lines):
        node, port = NODE.match(line), PORT.match(line)
        here = node.groups() if node else here
        if port and here[0] == port[2] == "S":
            ends.setdefault(frozenset([(here[1], port[1]), (port[3], port[4])]), []).append(at)
    gone = random.Random(seed).sample(sorted(ends, key=sorted), len(ends) * percent // 100)
    dropped = {at for cable in gone for at in ends[cable]}
    return "".join(line for at, line in enumerate(lines) if at not in dropped)


def permuted(text, seed):
    """With the GUIDs of nodes of a kind exchanged, and the nodes in another order."""
    dice, new = random.Random(seed), {}
    for kind in "SH":
        guids = [int(guid, 16) for of, guid in NODE.findall(text) if of == kind]
        new.update(zip(guids, dice.sample(guids, len(guids))))

    def exchange(found):
        guid = int(found[0], 16)
        return format(new[guid] if guid in new else new[guid - 1] + 1 if guid - 1 in new else guid, "x").zfill(len(found[0]))

    head, *nodes = re.split(r"\n\n(?=vendid)", text)
    dice.shuffle(nodes)
    return re.sub(r"(?<![0-9a-f])[0-9a-f]{10,16}(?![0-9a-f])", exchange, "\n\n".join([head, *(node.rstrip("\n") for node in nodes)])) + "\n"


def written(world, name, text):
    path = os.path.join(world.dir, f"{name}.net")
    with open(path, "w") as out:
        out.write(text)
    return path


def changed(world, name, netfile, change, *arguments):
    with open(netfile) as text:
        return written(world, name, change(text.read(), *arguments))


# ---- What random pairs get -----------------------------------------------------------------------

def plan(world, netfile, *options):
    run = subprocess.run([world.fmctl, "--json", "plan", netfile, *options], stdout=subprocess.PIPE, check=False)
    return json.loads(run.stdout)


def leaves(netfile):
    """(leaf of each HCA, {leaf: cables to other switches}); all links have one rate."""
    here, leaf_of, up = None, [], collections.Counter()
    with open(netfile) as lines:
        for line in lines:
            node, port = NODE.match(line), PORT.match(line)
            here = node.groups() if node else here
            if port and here[0] == "S" and port[2] == "S":
                up[here[1]] += 1
            elif port and here[0] == "S" and "Aggregation Node" not in line:
                leaf_of.append(here[1])
    return leaf_of, up


def most(flows, up):
    """Of that many flows between leaves, how many no routing exceeds: a maximum flow by augmenting paths, in blocks of shortest ones."""
    left = collections.defaultdict(dict)
    for (a, b), count in flows.items():
        left["from"]["s", a] = up[a]
        left["s", a]["d", b] = count
        left["d", b]["to"] = up[b]
    for a in list(left):
        for b in list(left[a]):
            left[b].setdefault(a, 0)
    total = 0
    while True:
        depth, queue = {"from": 0}, collections.deque(["from"])
        while queue:
            at = queue.popleft()
            for to, room in left[at].items():
                if room and to not in depth:
                    depth[to] = depth[at] + 1
                    queue.append(to)
        if "to" not in depth:
            return total
        steps, path = {at: list(left[at]) for at in depth}, ["from"]
        while path:
            at = path[-1]
            if at == "to":
                room = min(left[a][b] for a, b in itertools.pairwise(path))
                for a, b in itertools.pairwise(path):
                    left[a][b] -= room
                    left[b][a] += room
                total += room
                path = ["from"]
            elif not steps[at]:  # no way on from there
                path.pop()
                if path:
                    steps[path[-1]].pop()
            elif left[at][steps[at][-1]] and depth.get(steps[at][-1]) == depth[at] + 1:
                path.append(steps[at][-1])
            else:
                steps[at].pop()


def optimum(netfile):
    """What a flow of random pairs gets in the mean, at most."""
    (leaf_of, up), dice, shares = leaves(netfile), random.Random(SEED), []
    for _ in range(SAMPLES):
        ports = leaf_of[:]
        dice.shuffle(ports)
        pairs = [pair for a, b in zip(ports[::2], ports[1::2]) for pair in ((a, b), (b, a))]
        between = collections.Counter(pair for pair in pairs if pair[0] != pair[1])
        shares.append((len(pairs) - sum(between.values()) + most(between, up)) / len(pairs))
    return sum(shares) / len(shares)


def at_least(what, value, bound, note):
    return table.Row(what, f"{value:.3f}", bound=f"≥ {bound:.2f}", met=value >= bound, note=note)


def measure_whole(world, size):
    found = plan(world, fabrics.generated(world, size))
    ebb, tables = found["adaptive"]["ebb"]["bisection"], found["ebb"]["bisection"]
    what = f"bandwidth of random pairs with groups, {size:,} HCAs"
    return [at_least(what, ebb["mean"], MEAN, f"tables alone {tables['mean']:.3f}"),
            at_least(f"{table.DETAIL}nine of ten get", ebb["slowest_tenth"], SLOWEST, f"tables alone {tables['slowest_tenth']:.3f}")], found["adaptive"]


def measure_part(world, what, netfile):
    found, best = plan(world, netfile), optimum(netfile)
    ebb = found["adaptive"]["ebb"]["bisection"]
    note = f"{ebb['mean']:.3f} of at most {best:.3f}; nine of ten {ebb['slowest_tenth']:.3f}; tables alone {found['ebb']['bisection']['mean']:.3f}"
    return [at_least(f"of the optimum with groups, {what}", ebb["mean"] / best, OF_OPTIMUM, note)], {**found["adaptive"], "optimum": best}


def measure_dead(world, size):
    return measure_part(world, f"{size:,} HCAs, {PERCENT} % of links dead",
                        changed(world, f"dead-{size}", fabrics.generated(world, size), damaged, PERCENT, SEED))


def measure_grown(world, units):
    return measure_part(world, f"{units} of 24 SU", world.generate(f"grown-{units}", ["superpod", "--su", "24", "--grown", str(units)]))


def measure_halved(world, size):
    return measure_part(world, f"{size:,} HCAs, oversubscribed 2:1", world.generate(f"halved-{size}", HALVED[size]))


# ---- What switches forward -----------------------------------------------------------------------

def forwarding(world, netfile):
    """fmsim whose switches hold the groups of the plan; no manager is there any more."""
    far = os.path.join(world.dir, "forwarded.far")
    subprocess.run([world.fmctl, "plan", netfile, "--write-far", far], stdout=subprocess.DEVNULL, check=True)
    sim = w.Fmsim(world, netfile)
    manager = w.Fmd(world, sim)
    manager.wait_up(LIMIT_S)
    manager.close()
    sim.tell("adaptive able 7")
    sim.tell(f"adaptive read {far}")
    return sim


def uplink(netfile):
    """A cable between two switches, by one of its ends."""
    here = None
    with open(netfile) as lines:
        for line in lines:
            node, port = NODE.match(line), PORT.match(line)
            here = node.groups() if node else here
            if port and here[0] == port[2] == "S":
                return f"0x{here[1]}:{port[1]}"
    raise w.BenchError(f"{netfile}: no cable between switches")


def losing(sim):
    found = re.search(r"flows that lose packets (\d+)", sim.tell("load"))
    return int(found[1]) if found else 0


def measure_forwarding(world, size):
    netfile = fabrics.generated(world, size)
    sim = forwarding(world, netfile)
    verdict, ebb = json.loads(sim.tell("judge --json")), json.loads(sim.tell(f"load ebb {SAMPLES}"))
    raw, cable = {"judge": verdict, "ebb": ebb, "losing": {}}, uplink(netfile)
    rows = [at_least(f"bandwidth of random pairs as fmsim forwards, {size:,} HCAs", ebb["mean"], MEAN, f"busiest link {ebb['worst_link']:.2f}"),
            at_least(f"{table.DETAIL}nine of ten get", ebb["slowest_tenth"], SLOWEST, ""),
            table.limit(f"{table.DETAIL}pairs dead, loops, cycles with all members at once", verdict["dead"] + verdict["loops"] + verdict["cycles"], None, "", 0)]
    sim.tell(f"load random {FLOWS} {SEED} 10%")
    if losing(sim):
        raise w.BenchError("flows lose packets before the cut")
    sim.tell(f"unlink {cable}")
    for how, words in {"off": "without fast recovery", "fr": "with it", "rn": "with notifications too"}.items():
        sim.tell(f"adaptive recovery {how}")
        count = raw["losing"][how] = losing(sim)
        row = table.Row(f"{table.DETAIL if how != 'off' else ''}of {FLOWS:,} flows lose packets behind a cut link, {words}", count)
        if how == "rn":
            row.bound, row.met = "≤ 0", not count
        rows.append(row)
    sim.close()
    return rows, raw


# ---- What groups cost ----------------------------------------------------------------------------

def measure_cost(program, size):
    """As they are made behind a fault: of what is kept of those before, as the tables are."""
    run = subprocess.run([program, "--json", *fabrics.GENERATED[size]], stdout=subprocess.PIPE, check=True)
    raw = json.loads(run.stdout)
    tables, groups = raw["fault_ms"], raw["fault_groups_ms"]
    return [table.limit(f"tables and groups behind a fault, {size:,} HCAs, times tables alone", (tables + groups) / tables, None, "", TIMES,
                        note=f"{tables:.2f} and {groups:.2f} ms"),
            table.limit(f"{table.DETAIL}proof of all tables and groups", raw["proven_ms"], None, "ms", PROOF_MS, note=f"of tables alone {raw['check_ms']:.1f} ms"),
            table.limit(f"{table.DETAIL}highest number of a group", raw["highest_group"], None, "", LOWEST_CAP)], raw


# ---- The judge -----------------------------------------------------------------------------------

def judge(world, name, netfile):
    """What is written is judged as it comes: the texts of large fabrics are of a gigabyte."""
    pipes = [os.path.join(world.folder(name), kind) for kind in ("far", "lfts")]
    for pipe in pipes:
        os.mkfifo(pipe)
    planner = world.start([world.fmctl, "plan", netfile, "--write-far", pipes[0], "--lfts", pipes[1]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    watch = threading.Thread(target=lambda: planner.wait(), daemon=True)
    watch.start()
    try:
        return far_judge.judge(netfile, *pipes)
    finally:
        planner.stderr.close()
        world.stop(planner)


def measure_judge(world, system, units):
    netfile = world.generate(f"{system}-{units}", ["superpod", "--su", str(units), "--system", system])
    fabrics_of = {"as built": netfile, "permuted": changed(world, f"{system}-{units}-permuted", netfile, permuted, SEED),
                  "damaged": changed(world, f"{system}-{units}-damaged", netfile, damaged, PERCENT, SEED)}
    rows, raw = [], {}
    for name, path in fabrics_of.items():
        verdict = raw[name] = judge(world, f"judge-{name.split()[0]}", path)
        wrong = verdict.loops + verdict.cycles + verdict.lost + verdict.thin + verdict.bad + verdict.strangers
        note = f"{verdict.pairs:,} pairs of a leaf and a LID, {verdict.groups:,} groups" + (f"; {verdict.first}" if wrong else "")
        rows.append(table.limit(f"loops, cycles, pairs lost as another judge finds, {system} {units} SU, {name}", wrong, None, "", 0, note=note))
        raw[name] = vars(verdict)
        os.unlink(path)
    return rows, raw


def parts(world, options):
    sizes = options.sizes or SIZES
    made = [p.Part(f"random pairs, {size:,} HCAs", LIMIT_S, lambda size=size: measure_whole(world, size)) for size in sizes]
    made += [p.Part(f"random pairs, {size:,} HCAs, damaged", LIMIT_S, lambda size=size: measure_dead(world, size)) for size in sizes]
    made += [p.Part(f"random pairs, {size:,} HCAs, 2:1", LIMIT_S, lambda size=size: measure_halved(world, size)) for size in sizes if size in HALVED]
    if 4096 in sizes:
        made += [p.Part(f"random pairs, {units} of 24 SU", LIMIT_S, lambda units=units: measure_grown(world, units)) for units in GROWN]
    if min(sizes) <= FORWARDED:
        made.append(p.Part("what switches forward", LIMIT_S, lambda: measure_forwarding(world, min(sizes))))
    if not options.sizes or LARGE in options.sizes:
        made.append(p.Part(f"what groups cost, {LARGE:,} HCAs", LIMIT_S, lambda: measure_cost(os.path.join(options.programs, "route"), LARGE)))
    made += [p.Part(f"judge, {system} {units} SU", JUDGE_LIMIT_S, lambda system=system, units=units: measure_judge(world, system, units))
             for system, all_units in UNITS.items() for units in all_units if not options.sizes or 256 * units <= max(options.sizes)]
    return made
