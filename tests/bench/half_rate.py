#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Half of the spines at half the rate of the others: what all-to-all traffic puts on their links, by the tables that the switches hold.

    half_rate.py [--bin FOLDER] [--sizes HCAS ..] [--json FILE]

On fmsim: every second spine is HDR among NDR, or (trained) its cables have come up with half their speed; then fmd brings the fabric up. Each pair of hosts is followed through the tables. `ratio`: flows on links
of fast spines, mean, over those on links of slow ones; `all_to_all_up`, `_down`: what each link of a leaf has to carry by its rate, over what the fullest does. A line a fabric; exit status 1 where the ratio is off 2 by
more than 3 %, or the share is below 0.97.
"""
import collections
import json
import statistics
import sys

sys.dont_write_bytecode = True

import managers as m
import world as w


QUIET_S = 5
SIZES = {256: (16, 16, 16), 1024: (32, 32, 16)}  # leaves, hosts of each, spines


def flows(sim):
    """{(switch, port): pairs of hosts that leave a switch by that port to another}, of all-to-all traffic."""
    lfts, lids = m.tables(sim)
    ends = {(a, pa): (b, pb) for cable in m.cables(sim) for (a, pa), (b, pb) in ((cable[:2], cable[2:]), (cable[2:], cable[:2]))}
    home = {lid: ends[node, port][0] for (node, port), lid in lids.items() if node.startswith("H-") and (node, port) in ends}
    hosts, carried = collections.Counter(home.values()), collections.Counter()
    for lid, last in home.items():
        for leaf, count in hosts.items():
            at = leaf
            while at != last:
                out = at, lfts[at][lid]
                carried[out] += count
                at = ends[out][0]
    return carried, hosts, ends


def play(world, size, trained):
    leaves, hosts, spines = SIZES[size]
    speeds = ["NDR"] * spines if trained else ["NDR", "HDR"] * (spines // 2)
    netfile = world.generate(f"{size}-{trained}", ["mixed", "--size", f"{leaves},{hosts}", "--kinds", "1xNDR", "--trunks", ",".join(f"{hosts // spines}x{speed}" for speed in speeds)])
    sim = w.Fmsim(world, netfile)
    manager = m.Fmd(world, sim, m.hosts(netfile)[0][0])
    try:
        cables = [cable for cable in m.cables(sim) if cable[2].startswith("S-")]
        leaves = {cable[0] for cable in m.cables(sim) if cable[2].startswith("H-")}
        spines = sorted({end for cable in cables for end in (cable[0], cable[2])} - leaves)
        slow = set(spines[1::2])
        for a, pa, b, _ in cables if trained else ():
            if a in slow or b in slow:
                sim.tell(f"train {a}:{pa} HDR")
        manager.start()
        m.until(manager.is_master, "the fabric is up", every_s=0.2)
        m.until(lambda: not json.loads(sim.tell("judge --json"))["dead"], "all pairs are alive", every_s=0.2)
        # The first tables are made in haste; those that share links follow.
        m.until(lambda: (stamps := json.loads(sim.tell("stamps")))["now"] - stamps["answered"] > QUIET_S * 1e6, "nothing is written any more", every_s=0.2)
        carried, hosts, ends = flows(sim)
        rate = lambda end: 1 if end[0] in slow or ends[end][0] in slow else 2
        by_rate = {r: [carried[end] for end in ends if not (end[0] + ends[end][0]).count("H-") and rate(end) == r] for r in (1, 2)}
        ratio = statistics.mean(by_rate[2]) / statistics.mean(by_rate[1])
        share = {True: 1, False: 1}
        for leaf in hosts:
            for up in share:
                links = [end if up else ends[end] for end in ends if end[0] == leaf and not ends[end][0].startswith("H-")]
                even = sum(carried[end] for end in links) / sum(map(rate, links))
                share[up] = min(share[up], even / max(carried[end] / rate(end) for end in links))
        return {"size": size, "trained": trained, "spines": len(spines), "slow": len(slow), "ratio": round(ratio, 3), "all_to_all_up": round(share[True], 3), "all_to_all_down": round(share[False], 3),
                "ok": abs(ratio - 2) <= 0.06 and min(share.values()) >= 0.97}
    finally:
        manager.end()
        sim.close()


def main():
    parser = w.parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    options = parser.parse_args()
    w.trials(options, lambda world: (play(world, size, trained) for size in options.sizes for trained in (False, True)))


if __name__ == "__main__":
    main()
