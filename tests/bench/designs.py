#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""First tables of 60 random designs of unlike parts: the worst channel of all-to-all traffic over its tier's bound.

    designs.py FMCTL [SEED]

The bound of a tier is what its links carry on average, or in tier 1 what the links of its fullest leaf have to. The second figure
is by parts: where leaves have no more hosts than links, and shifts are to have one flow a link, all leaves have to send a LID to the same
slot. (When host i sends to host i + k, the leaf before sends to the first hosts of another leaf, and this leaf to the others; then to one
host more and one less: both take the same link down for it.) So of each subtree one switch sends a LID upwards, by one link, and tiers
above the first carry a LID in parts as large as a subtree. The third takes into account that a LID mostly comes down to its leaf by one
link of each tier, and that the hosts below a switch's like send to it by one link upwards, so that some links carry whole LIDs more than
others. Designs above LIMIT by parts show all bounds of each tier.
"""
import json
import math
import random
import re
import statistics
import subprocess
import sys
import tempfile

EACH = 15
LIMIT = 1.25
BOUNDS = "links", "parts", "whole LIDs"


def fmctl(*arguments):
    return subprocess.run([sys.argv[1], *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout


def fullest(net):
    """Flows that each link of the fullest leaf has to carry, and whether some leaf has more hosts than links."""
    hosts, links, switch = {}, {}, None
    for line in net.splitlines():
        if m := re.match(r'(Switch|Ca)\s+\d+\s+"([^"]+)"(.*)', line):
            switch = m[2] if m[1] == "Switch" else None
        elif switch and (m := re.match(r'\[\d+\](?:\([^)]*\))?\s+"([HS])', line)) and "Aggregation Node" not in line:
            count = hosts if m[1] == "H" else links
            count[switch] = count.get(switch, 0) + 1
    every = sum(hosts.values())
    return (max((n * (every - n) / links[leaf] for leaf, n in hosts.items() if leaf in links), default=0),
            any(n > links.get(leaf, n) for leaf, n in hosts.items()))


def judge(net):
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(net)
        file.flush()
        plan = json.loads(fmctl("--json", "plan", file.name))
    if any(plan["proof"][key] for key in ("unreachable", "loops", "credit_cycles")):
        sys.exit("not proven")
    ratios, tiers = [0] * len(BOUNDS), []
    (leaf, tapered), hcas = fullest(net), plan["hcas"]
    for tier in plan["tiers"]:
        for way in ("up", "down"):
            links, mean, worst = tier[way]["channels"], tier[way]["mean"], tier[way]["max"]
            bound = max(mean, 0 if tier["level"] else leaf)
            remote = mean * links / hcas  # LIDs beyond a subtree, where all are of one size
            below = hcas - remote
            parts = 0 if tapered or not tier["level"] else below * math.ceil(remote * hcas / below / links - 1e-9)
            whole = below * math.ceil(remote * hcas / below / links - 1e-9) if way == "up" and below else 0
            whole = remote * math.ceil(hcas / links) if way == "down" else whole
            if bound:
                bounds = bound, max(bound, parts), max(bound, whole)
                ratios = [max(ratio, worst / by) for ratio, by in zip(ratios, bounds)]
                tiers.append(f"       tier {tier['level'] + 1} {way}: {links} links, worst {worst}, bound "
                             + ", ".join(f"by {name} {by:.1f}" for name, by in zip(BOUNDS, bounds)))
    return ratios, tiers if ratios[1] > LIMIT else []


def directors(r):
    number, cards, spines = r.choice((2, 4)), r.choice((4, 6, 8)), r.choice((2, 4))
    return "directors", f"{cards * r.randint(2, 4)},{number * r.choice((2, 4)) * spines // 2},{number},{cards},{spines}"


def mixes(r):
    ports, trunks = r.choice((16, 20, 32)), []
    while sum(trunks) < ports // 2:
        trunks.append(r.randint(1, 4))
    return ("mixed", "--size", f"{r.choice((8, 12, 16, 24))},{ports}", "--kinds", ",".join(f"{n}xNDR" for n in r.sample((1, 2, 4, 8), r.randint(2, 4))),
            "--trunks", ",".join(f"{n}xNDR" for n in trunks))


def tapered(r):
    return "pgft", "3", f"{r.choice((8, 12, 16))},{r.choice((4, 6, 8))},{r.randint(3, 6)}", f"1,{r.randint(2, 6)},{r.randint(2, 4)}"


def half_grown(r):
    units = r.choice((4, 8, 16))
    return "superpod", "--su", str(units), "--grown", str(r.randint(units // 2, units - 1))


def show(name, found):
    for i, bound in enumerate(BOUNDS):
        print(f"{name}, bound by {bound}: mean {statistics.mean(f[i] for f in found):.3f}, worst {max(f[i] for f in found):.2f}")


def main():
    r, every = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1), []
    for kind in (directors, mixes, tapered, half_grown):
        done = 0
        while done < EACH:
            design = kind(r)
            try:
                net = fmctl("generate", *design)
            except subprocess.CalledProcessError:
                continue  # parts that do not fit together
            ratios, tiers = judge(net)
            every.append(ratios)
            done += 1
            print(*(f"{ratio:5.2f}" for ratio in ratios), "", *design)
            print(*(line + "\n" for line in tiers), sep="", end="", flush=True)
        show(kind.__name__, every[-EACH:])
    show("all", every)


main()
