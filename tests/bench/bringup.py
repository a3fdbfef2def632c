# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A dark fabric comes up: wall time, SMPs and memory of fmd and OpenSM, each on a simulator (RIG: ibsim, fmsim) started for it.

Up is fmd's word "up" and OpenSM's "SUBNET UP"; ibsim's own view of its ports is read afterwards, and a run that left a
link other than Active does not count as reached. The runs of the two take turns, and medians are shown.
"""
import statistics
import sys

import fabrics
import table
import world as w

SIZES = (1024, 4096, 11664)
TIME_BOUND = {1024: 1 / 2, 4096: 1 / 3, 11664: 1 / 6}
SMP_BOUND = 0.75
MEMORY_BOUND = {11664: 1 / 8}
LIMIT_S = 600


def measure(world, netfile, manager):
    sim = w.simulator(world, netfile)
    try:
        loading_s, sm = sim.cpu_s(), manager(world, sim)
        try:
            sample = {"up_s": sm.wait_up(LIMIT_S), "smps": sm.counts.smps(), "peak_kb": sm.peak_kb(),
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


def turns(world, netfile, repeat):
    samples = {w.Fmd: [], w.Opensm: []}
    for turn in range(repeat):
        for manager in (w.Fmd, w.Opensm) if turn % 2 == 0 else (w.Opensm, w.Fmd):
            samples[manager].append(measure(world, netfile, manager))
    return samples[w.Fmd], samples[w.Opensm]


def not_active(samples):
    return max(sum(n for state, n in sample["links"].items() if state != "Active") for sample in samples)


def rows(size, fmd, opensm):
    def medians(key):
        return [statistics.median(sample[key] for sample in samples) for samples in (fmd, opensm)]

    made = [table.share(f"bring-up, {size:,} HCAs", *medians("up_s"), "s", TIME_BOUND.get(size)),
            table.share("— the manager's processor time", *medians("cpu_s"), "s"),
            table.share("— SMPs sent", *map(int, medians("smps")), "", SMP_BOUND),
            table.share("— peak memory", *(kb / 1024 for kb in medians("peak_kb")), "MB", MEMORY_BOUND.get(size))]
    for who, samples in (("fmd", fmd), ("OpenSM", opensm)):
        if not_active(samples):
            made[0].spoil(f"{who} left {not_active(samples)} port ends not Active")
    return made


def run(world, options):
    """Yields (rows, raw samples) a size."""
    for size in options.sizes or SIZES:
        if size > 16384:
            continue  # ibsim is not made for it
        fmd, opensm = turns(world, fabrics.generated(world, size), options.repeat or (3 if size <= 4096 else 2))
        yield rows(size, fmd, opensm), {"size": size, "fmd": fmd, "opensm": opensm}
