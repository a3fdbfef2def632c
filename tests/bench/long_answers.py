#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""How many long answers of the SA arrive whole where the fabric loses MADs: NodeRecords of a pod, asked by saquery at a host that is not fmd's.

    long_answers.py [--units 16] [--loss 5] [--tries 100]

--loss: of a thousand MADs so many as they leave a port, and again as they come to one: 5 is about 1% each way.
saquery sends its request once: where that is lost, fmd never heard of it (its count of requests tells), and the question is asked again.
The last line is `whole: N of TRIES` with the seconds that one took, median and worst; ends with 1 where one was not whole.
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


PATIENCE_MS = 30000


def last_host(net):
    return [line.split('"')[1] for line in net.read_text().splitlines() if line.startswith("Ca") and "Aggregation" not in line][-1]


def asked(fabric, host, nodes):
    """(whether it was whole, seconds, how many requests were lost before)"""
    began = time.monotonic()
    said, lost = fabric.saquery_heard("NR", host=host, patience_ms=PATIENCE_MS)
    whole = said.returncode == 0 and said.stdout.count("NodeRecord dump") == nodes
    if not whole:
        print(f"not whole: {said.returncode}, {said.stdout.count('NodeRecord dump')} rows, {said.stderr.strip()[-200:]}")
    return whole, time.monotonic() - began - lost * PATIENCE_MS / 1000, lost


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--units", type=int, default=16)
    words.add_argument("--loss", type=int, default=5)
    words.add_argument("--tries", type=int, default=100)
    words = words.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        net = pathlib.Path(scratch) / "pod.net"
        with open(net, "w") as out:
            subprocess.run([program("fmctl"), "generate", "superpod", "--su", str(words.units)], stdout=out, check=True)
        nodes = sum(line.startswith(("Switch", "Ca")) for line in net.read_text().splitlines())
        fabric = Fabric(scratch, net, rig="fmsim", sim_options=("--loss", str(words.loss)))
        try:
            fabric.start_fmd()
            fabric.wait_up(lambda s: s["switches"] + s["hcas"] > 0)
            tries = [asked(fabric, last_host(net), nodes) for _ in range(words.tries)]
        finally:
            fabric.stop()
    whole, times = sum(good for good, *_ in tries), sorted(seconds for _, seconds, _ in tries)
    lost = sum(lost for *_, lost in tries)
    print(f"{nodes} NodeRecords, {words.loss / 5:g}% of MADs lost each way; {lost} requests lost and asked again")
    print(f"whole: {whole} of {words.tries}, median {statistics.median(times):.2f} s, worst {times[-1]:.2f} s")
    sys.exit(whole < words.tries)


main()
