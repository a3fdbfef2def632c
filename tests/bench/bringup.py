# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A dark fabric comes up: wall time, SMPs and memory of fmd and OpenSM, each on a simulator (RIG: ibsim, fmsim) started for it.

Up is fmd's word "up" and OpenSM's "SUBNET UP"; the simulator's own view of its ports is read afterwards, and a run that left a
link other than Active does not count as reached. The runs of the two take turns, and medians are shown.

OpenSM is to be compared with at its faster, by min-hop: its ftree ends so on pods with aggregation nodes, and where it does not, min-hop is asked for.
A row below has its ftree: on the pod without aggregation nodes, and on the tree.
"""
import statistics
import sys
import time

import fabrics
import parts as p
import table
import world as w

SIZES = (1024, 4096, 11664)
REPEAT = {"ibsim": {1024: 5, 4096: 3, 11664: 2}, "fmsim": {1024: 3, 4096: 3, 11664: 1}}
TIME_BOUND = {1024: 0.25, 4096: 0.18, 11664: 0.17}
SMP_BOUND = 0.75
MEMORY_MB = {11664: 70}
LIMIT_S = {1024: 90, 4096: 180, 11664: 330}
FTREE_LIMIT_S = {1024: 45, 4096: 75, 11664: 180}
UP_LIMIT_S = {1024: 30, 4096: 50, 11664: 130}
ENGINE = {11664: "minhop"}


def measure(world, netfile, manager, size):
    sim = w.simulator(world, netfile)
    try:
        loading_s, sm = sim.cpu_s(), manager(world, sim)
        try:
            sample = {"up_s": sm.wait_up(UP_LIMIT_S.get(size, 200)), "smps": sm.counts.smps(), "peak_kb": sm.peak_kb(),
                      "cpu_s": sm.cpu_s(), "ibsim_cpu_s": sim.cpu_s() - loading_s, "last_link_s": sm.last_set_s()}
            sample["links"] = sim.links()
            sample["sent"] = {f"{c:02x}.{m:02x}.{a:04x}": sent for (c, m, a), (sent, _) in sm.counts.read().items()}
        finally:
            sm.close()
    finally:
        sim.close()
    print(f"  bringup {sm.name}: " + ", ".join(f"{key} {table.show(sample[key])}" for key in
                                               ("up_s", "last_link_s", "smps", "peak_kb", "cpu_s", "ibsim_cpu_s")) +
          f", {sample['links']}", file=sys.stderr, flush=True)
    return sample


def turns(world, size, repeat):
    """(fmd's samples, OpenSM's, why OpenSM has no more)"""
    def opensm(*where):
        return w.Opensm(*where, engine=ENGINE[size]) if size in ENGINE else w.Opensm(*where)

    netfile, limit_s, why = fabrics.generated(world, size), LIMIT_S.get(size, 600), None
    samples, began = {w.Fmd: [], opensm: []}, time.monotonic()
    for turn in range(repeat):
        if turn and (time.monotonic() - began) * (turn + 1) / turn > limit_s:
            break  # on a slow machine what there is will do
        for manager in list(samples)[::1 if turn % 2 == 0 else -1]:
            try:
                samples[manager].append(measure(world, netfile, manager, size))
            except w.BenchError as error:
                if manager is w.Fmd:
                    raise
                why = str(error)
    return *samples.values(), why


def not_active(samples):
    return max((sum(n for state, n in sample["links"].items() if state != "Active") for sample in samples), default=0)


def rows(size, fmd, opensm, why):
    def medians(key, scale=1):
        return [statistics.median(sample[key] for sample in samples) * scale if samples else None for samples in (fmd, opensm)]

    made = table.readme(table.share(f"bring-up, {size:,} HCAs", *medians("up_s"), "s", TIME_BOUND.get(size)))
    made += [table.share("— the manager's processor time", *medians("cpu_s"), "s"),
             table.share("— SMPs sent", *(count and int(count) for count in medians("smps")), "", SMP_BOUND),
             table.share("— peak memory until then", *medians("peak_kb", 1 / 1024), "MB")]
    if size in MEMORY_MB:
        made[3].bound, made[3].met = f"≤ {MEMORY_MB[size]} MB", made[3].fmd <= MEMORY_MB[size]
        table.readme(*made)
    if not opensm:
        made[0].lacks_opensm(why)
    for who, samples in (("fmd", fmd), ("OpenSM", opensm)):
        if not_active(samples):
            made[0].spoil(f"{who} left {not_active(samples)} port ends not Active")
    return made


def beside_minhop(world, options, size):
    fmd, opensm, why = turns(world, size, options.repeat or REPEAT[w.rig().kind].get(size, 1))
    return rows(size, fmd, opensm, why), {"size": size, "fmd": fmd, "opensm": opensm}


def beside_ftree(world, size, what):
    """Once. Where OpenSM ends by ftree after all, fmd's time is on that fabric too."""
    samples = {manager: measure(world, fabrics.generated(world, size, sharp=False), manager, size) for manager in (w.Fmd, w.Opensm)}
    row = table.share(what, *(sample["up_s"] for sample in samples.values()), "s", engine=world.engines[-1] if world.engines else None)
    return table.readme(row), {"size": size, "ftree": list(samples.values())}


def parts(world, options):
    made = []
    for size in options.sizes or SIZES:
        if size > 16384:
            continue  # ibsim is not made for it
        made.append(p.Part(f"bring-up, {size:,} HCAs", LIMIT_S.get(size, 600), lambda size=size: beside_minhop(world, options, size), routed=True))
        if w.rig() is w.Fmsim and size > 4096:
            continue  # a minute and a half more
        what = f"{table.DETAIL}OpenSM's ftree{', without aggregation nodes' if fabrics.has_sharp(size) else ''}"
        made.append(p.Part(what, FTREE_LIMIT_S.get(size, 600), lambda size=size, what=what: beside_ftree(world, size, what)))
    return made
