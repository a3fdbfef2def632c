#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Joins a second of two builds of fmd, which take turns: each join is answered once what it changes is kept.

    joins.py --old FOLDER [--bin FOLDER] [--times N] [--size N] [--joins N] [WINDOW ...]

FOLDERs hold fmd and fmctl, --bin fmsim as well. One client joins for ports all over a fabric of so many HCAs, WINDOW (1, 16, 64)
requests at a time. RIG: ibsim, fmsim. Prints the joins a second of each run and the median of the ratios new : old.
"""
import argparse
import os
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True

import fabrics
import mcast
import pair
import sa
import world as w

LIMIT_S = 120


def measure(world, build, netfile, window):
    """(joins a second, processor time of fmd in us for each)"""
    ids, guids = sa.hosts(netfile)
    lines = mcast.joins(guids)
    sim = w.simulator(world, netfile)
    try:
        sm = build.manager()(world, sim, pair.SETTINGS["mcast"] + pair.SETTINGS["sa"])
        try:
            sm.wait_up(LIMIT_S)
            preload = {"LD_PRELOAD": world.umad2sim} if sim.kind == "ibsim" else {}
            begin = w.run_us(sm.process.pid)
            done = subprocess.run([sys.executable, mcast.CLIENT, "0", str(window)], input=lines, text=True, capture_output=True,
                                  env={**os.environ, **preload, **sim.at(ids[-1])}, timeout=LIMIT_S)
            if done.returncode:
                raise w.BenchError(f"mcast_join: {done.stderr}")
            return mcast.JOINS / float(done.stdout), (w.run_us(sm.process.pid) - begin) / mcast.JOINS
        finally:
            sm.close()
    finally:
        sim.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", required=True)
    parser.add_argument("--bin", default=os.environ.get("FMD_BIN", "build"))
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--joins", type=int, default=6000)
    parser.add_argument("windows", nargs="*", type=int, default=[1, 16, 64])
    options = parser.parse_args()
    os.environ.setdefault("RIG", "ibsim")
    mcast.JOINS = options.joins
    world = w.World(os.path.abspath(options.bin))
    try:
        builds, netfile = [pair.Build(world, folder) for folder in (options.old, options.bin)], fabrics.generated(world, options.size)
        for window in options.windows:
            runs = [[], []]
            for turn in range(options.times):
                for i in (0, 1) if turn % 2 else (1, 0):
                    runs[i].append(measure(world, builds[i], netfile, window))
            for name, side in zip(("old", "new"), runs):
                print(f"window {window}, {name}: joins/s {[round(rate) for rate, _ in side]}, us of fmd a join {[round(us) for _, us in side]}")
            ratio = statistics.median(new[0] / old[0] for old, new in zip(*runs))
            print(f"window {window}: new : old {ratio:.2f}", flush=True)
    finally:
        world.close()


if __name__ == "__main__":
    main()
