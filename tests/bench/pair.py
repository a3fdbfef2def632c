#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Two builds of fmd by the sections of the benchmarks, interleaved: what does a change cost?

    pair.py --old FOLDER [--bin FOLDER] [--programs FOLDER] [--times N] [--json FILE] SECTION...

FOLDERs hold fmd and fmctl. Each section is run N times (7); in each of these the two builds take turns, and who is first changes. A row
shows both medians, the median of the N ratios new : old (of rates old : new, so that more than 1 is always worse), and the scatter:
the ratios of one build to itself, one time to the next, from the tenth lowest to the tenth highest of a hundred. The last row of a section is
the processor time of all its fmd processes. A row is within when its ratio is <= BOUND, or no worse than the scatter reaches.

Where a section treats all managers alike, the old build stands where OpenSM does, at the same moments; the others are run
once with each build, without OpenSM. Ends with 1 when a row is not within. From the environment: BENCH, BENCH_SIZES, BENCH_TIMES, BENCH_JSON.
"""
import argparse
import collections
import json
import os
import signal
import statistics
import sys

sys.dont_write_bytecode = True

import fault
import idle
import perf
import restart
import routing
import run as bench
import sa
import table
import world as w

BOUND = 1.05
ALIKE = ("bringup", "idle", "mcast", "osmtest", "sa")
SETTINGS = {"sa": sa.NO_LIMIT, "mcast": "audit_after = 600.0;\n"}  # of both builds; ports are read back for no join
AUDIT = "audit_rate = 100;\n"  # what 0249ef56 reads back by default; what more costs is audit.py's
CPU = "processor time of fmd"
NONE = collections.defaultdict(type(None))
OPENSM_LEFT_OUT = [  # what measures it in sections that don't treat all alike, and what stands for its figures
    (fault, "measure_opensm", lambda *_: {"cables": [], "spine": NONE, "why": None}),
    (perf, "measure_opensm", lambda *_: NONE),
    (restart, "measure", lambda world, netfile, manager, kept, measure=restart.measure:
        collections.defaultdict(lambda: NONE) if manager is restart.Opensm else measure(world, netfile, manager, kept)),
    (routing, "opensm_ms", lambda *_: None),
    (idle, "opensm", lambda world, sim: w.Opensm(world, sim, settings=idle.SETTINGS)),
]
Plain = w.Fmd


class Build:
    """A folder's fmd, as a manager that sections can start; notes the processor time of each process."""

    def __init__(self, world, folder):
        self.world, self.paths = world, [os.path.join(os.path.abspath(folder), name) for name in ("fmd", "fmctl")]
        self.settings, self.cpu_us = "", 0
        if not os.access(self.paths[0], os.X_OK):
            raise SystemExit(f"pair: no fmd in {folder}")

    def use(self):
        self.world.fmd, self.world.fmctl = self.paths

    def manager(self):
        build = self

        class Built(Plain):
            def __init__(self, world, sim, settings="", state=None, engine=None):
                build.use()
                settings = build.settings or settings
                super().__init__(world, sim, settings if "audit_" in settings else settings + AUDIT, state)

            def ask(self, *command):
                build.use()
                return super().ask(*command)

            def close(self):
                if self.process.poll() is None:
                    build.cpu_us += w.run_us(self.process.pid)
                super().close()

        return Built


def section_rows(world, name, options):
    return [row for part in bench.SECTIONS[name].parts(world, options) for row in part.measure()[0]]


def figures(rows, side):
    """{what: (value, unit)} of the rows that are numbers; a row's words may tell of what was measured, so its place counts too."""
    return {(i, row.what.split(" (")[0]): (getattr(row, side), row.unit) for i, row in enumerate(rows)
            if isinstance(getattr(row, side), (int, float))}


def run_once(world, name, options, builds, turn):
    """[old, new] figures of one run."""
    old, new = builds
    for build in builds:
        build.settings, build.cpu_us = SETTINGS.get(name, ""), 0
    w.Fmd, opensm = new.manager(), w.Opensm
    try:
        if name in ALIKE:
            w.Opensm = old.manager()
            rows = section_rows(world, name, options)
            sides = [figures(rows, "opensm"), figures(rows, "fmd")]
        else:
            sides = [None, None]
            for i in (0, 1) if turn % 2 else (1, 0):
                w.Fmd = builds[i].manager()
                builds[i].use()
                sides[i] = figures(section_rows(world, name, options), "fmd")
    finally:
        w.Fmd, w.Opensm = Plain, opensm
    for side, build in zip(sides, builds):
        side[len(side) + 1000, CPU] = build.cpu_us / 1e6, "s"
    return sides


def ratio(a, b, what, unit):
    """How much worse a is than b."""
    a, b = (b, a) if unit == "/s" or "part of what a program reaches" in what else (a, b)
    return a / b if b else 1.0 if a == b else float("inf")


def judged(what, unit, old, new):
    """A line of the table, and is it within?"""
    middle = statistics.median(ratio(n, o, what, unit) for n, o in zip(new, old))
    same = sorted(ratio(b, a, what, unit) for side in (old, new) for a, b in zip(side, side[1:])) or [1.0]
    low, high = same[len(same) // 10], same[-1 - len(same) // 10]
    within = middle <= max(BOUND, high)
    return [what, table.show(statistics.median(new), unit), table.show(statistics.median(old), unit), f"{middle:.3f}",
            f"{low:.2f} .. {high:.2f}", "yes" if within else "**no**"], within


def compare(runs):
    """Table lines of a section, and are all within? Rows that one of the runs lacks are left out."""
    lines, all_within = [], True
    for key in [key for key in runs[0][1] if all(key in side for sides in runs for side in sides)]:
        old, new = ([sides[i][key][0] for sides in runs] for i in (0, 1))
        line, within = judged(key[1], runs[0][1][key][1], old, new)
        lines.append(line)
        all_within &= within
    return lines, all_within


def markdown(lines):
    cells = [["", "new", "old", "new : old", "itself : itself", "within"], *lines]
    widths = [max(len(line[i]) for line in cells) for i in range(6)]
    pad = [" | ".join(cell.ljust(width) for cell, width in zip(line, widths)) for line in cells]
    return "\n".join(f"| {line} |" for line in [pad[0], " | ".join("-" * width for width in widths), *pad[1:]])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", required=True)
    parser.add_argument("--bin", default=os.environ.get("FMD_BIN", "build"))
    parser.add_argument("--programs", default="build/release/bench")
    parser.add_argument("--times", type=int, default=int(os.environ.get("BENCH_TIMES") or 7))
    parser.add_argument("--json", default=os.environ.get("BENCH_JSON"))
    parser.add_argument("sections", nargs="*", default=bench.words("BENCH"))
    options = parser.parse_args()
    options.sizes, options.repeat = [int(word) for word in bench.words("BENCH_SIZES")], 2  # each first once
    unknown = [name for name in options.sections if name not in bench.SECTIONS]
    if unknown or not options.sections:
        parser.error(f"which sections? {', '.join(bench.SECTIONS)}")
    return options


def main():
    options = arguments()
    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, bench.terminated)
    world, all_within, document = w.World(os.path.abspath(options.bin)), True, {}
    builds = [Build(world, folder) for folder in (options.old, options.bin)]
    for section, name, instead in OPENSM_LEFT_OUT:
        setattr(section, name, instead)
    try:
        for name in options.sections:
            runs = []
            for turn in range(options.times):
                print(f"{name} {turn + 1} of {options.times}:", file=sys.stderr, flush=True)
                runs.append(run_once(world, name, options, builds, turn))
            lines, within = compare(runs)
            all_within &= within
            document[name] = [[{what: value for (_, what), value in side.items()} for side in sides] for sides in runs]
            print(f"{name}, {options.times} times:\n\n{markdown(lines)}\n", flush=True)
    finally:
        world.close()
    if options.json:
        with open(options.json, "w") as out:
            json.dump(document, out, indent=1)
    return 0 if all_within else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except w.BenchError as error:
        sys.exit(f"pair: {error}")
