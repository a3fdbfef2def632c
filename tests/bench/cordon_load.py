#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Seconds that `fmctl cordon` and `uncordon` of a spine take on fmsim, without and with a load on all links, by turns.

    cordon_load.py [--units 16] [--turns 5]

A load must not slow a rehearsal: the last line is the ratio of the medians, by the clock and by the processor time of fmd and fmsim, which
a busy machine does not change.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))
os.environ.setdefault("FMD_BIN", str(ROOT / "build"))
from fabric import Fabric, program  # noqa: E402


def work_s(fabric):
    """Processor time of fmd and fmsim, all threads."""
    return sum(int(file.read_text().split()[0]) for process in (fabric.fmd, fabric.ibsim.process) for file in pathlib.Path(f"/proc/{process.pid}/task").glob("*/schedstat")) / 1e9


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--units", type=int, default=16)
    words.add_argument("--turns", type=int, default=5)
    words = words.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        net = pathlib.Path(scratch) / "pod.net"
        with open(net, "w") as out:
            subprocess.run([program("fmctl"), "generate", "superpod", "--su", str(words.units)], stdout=out, check=True)
        fabric = Fabric(scratch, net, rig="fmsim", perf_interval=5)
        took, worked = {False: [], True: []}, {False: [], True: []}
        try:
            fabric.start_fmd()
            fabric.wait_up(lambda s: s["switches"] + s["hcas"] > 0)
            spine = next(node["name"] for node in fabric.ask("switches") if node["role"] == "spine")
            for turn in range(2 * words.turns):
                loaded = turn % 2 == 1
                fabric.ibsim.tell("load shift 33 100%" if loaded else "load off")
                fabric.fmctl("health", "--read")
                for command in ("cordon", "uncordon"):
                    began, work = time.monotonic(), work_s(fabric)
                    fabric.fmctl(command, spine)
                    took[loaded].append(time.monotonic() - began)
                    worked[loaded].append(work_s(fabric) - work)
        finally:
            fabric.stop()
    for what, turns in (("by the clock", took), ("of work", worked)):
        for loaded, seconds in turns.items():
            print(f"{'with a load' if loaded else 'without':<12} {statistics.median(seconds):.3f} s {what} ({min(seconds):.3f} to {max(seconds):.3f})")
        print(f"ratio        {statistics.median(turns[True]) / statistics.median(turns[False]):.2f} {what}")


if __name__ == "__main__":
    main()
