#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What operators' commands cost at a large pod: seconds until fmctl is done, bytes of its answer, and the longest hold of fmd's loop meanwhile.

    commands.py [--units 64] [COMMAND ..]

The hold is fmd's own figure (loop_longest_us of the last 10 to 20 s), so a span without commands goes before each; on a busy machine it has in it
what others took. Ends with 1 where a command held the loop longer than 20 ms.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))
os.environ.setdefault("FMD_BIN", str(ROOT / "build"))
from fabric import Fabric, program  # noqa: E402

HELD_MOST_MS, SPAN_S = 20, 20.5
LINK, SPINE = "leaf-su01-rail0:33", "spine-p01-02"
COMMANDS = (("links",), ("counters",), ("hosts",), ("topology", "--format", "json"), ("show", LINK), ("dump", "{dump}"), ("cordon", LINK), ("uncordon", LINK),
            ("cordon", SPINE), ("uncordon", SPINE), ("reroute",), ("sweep",), ("whatif", "--fail", SPINE), ("whatif", "--cordon", SPINE), ("check",),
            ("check", "--readback"), ("health", "--read"))


def held(fabric):
    status = fabric.status()
    return status["loop_longest_us"] / 1e3, status["loop_longest_step"]


def asked(fabric, words):
    """(seconds, bytes, ms that the loop was held, by what)"""
    time.sleep(SPAN_S)
    began = time.monotonic()
    done = fabric.fmctl(*words)
    took = time.monotonic() - began
    size = sum(file.stat().st_size for file in (fabric.scratch / "dump").iterdir()) if words[0] == "dump" else len(done.stdout)
    return took, size, *held(fabric)


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--units", type=int, default=64)
    words.add_argument("only", nargs="*", help="these commands")
    words = words.parse_args()
    over = 0
    with tempfile.TemporaryDirectory() as scratch:
        net = pathlib.Path(scratch) / "pod.net"
        with open(net, "w") as out:
            subprocess.run([program("fmctl"), "generate", "superpod", "--su", str(words.units)], stdout=out, check=True)
        fabric = Fabric(scratch, net, rig="fmsim", perf_interval=0)
        try:
            fabric.start_fmd()
            fabric.wait_up(lambda s: s["switches"] + s["hcas"] > 0, deadline_s=300)
            for command in (c for c in COMMANDS if not words.only or c[0] in words.only):
                took, size, ms, step = asked(fabric, [word.format(dump=fabric.scratch / "dump") for word in command])
                over += ms > HELD_MOST_MS
                print(f"{' '.join(command):34} {took:7.2f} s {size / 1e6:8.2f} MB  loop held {ms:5.1f} ms ({step})", flush=True)
        finally:
            fabric.stop()
    sys.exit(over > 0)


main()
