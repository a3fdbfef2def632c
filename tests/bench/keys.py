#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A dark fabric comes up without M_Keys, with one of all ports, and with one of each port: SMPs, processor time, wall time.

    keys.py [--bin FOLDER] [HCAS ..]

Each on an fmsim started for it, in turns; the ratio is to the runs without. With a key of its own for each port the manager
computes an HMAC a port once, and sends no packet more: each key goes with the Set that a port gets in any case.
"""
import argparse
import os
import statistics
import sys

sys.dont_write_bytecode = True

import fabrics
import world as w

LIMIT_S = 900


def kinds(folder):
    secret = os.path.join(folder, "secret")
    with open(os.open(secret, os.O_WRONLY | os.O_CREAT, 0o600), "w") as out:
        out.write("0f1e2d3c4b5a69788796a5b4c3d2e1f0\n")
    return {"none": "", "one key": 'm_key = "0x1122334455667788";\n', "key per port": f'm_key_secret_file = "{secret}";\n',
            "per port, level 2": f'm_key_secret_file = "{secret}";\nm_key_protection_level = 2;\n'}


def measure(world, netfile, settings):
    sim = w.Fmsim(world, netfile)
    try:
        sm = w.Fmd(world, sim, settings)
        try:
            up_s = sm.wait_up(LIMIT_S)
            return {"SMPs": sm.counts.smps(), "cpu_s": sm.cpu_s(), "up_s": up_s}
        finally:
            sm.close()
    finally:
        sim.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("FMD_BIN", "build"))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("sizes", nargs="*", type=int, default=[4096, 16384])
    options = parser.parse_args()
    world = w.World(os.path.abspath(options.bin))
    try:
        for size in options.sizes:
            netfile = fabrics.generated(world, size)
            samples = {}
            for _ in range(options.repeat):
                for name, settings in kinds(world.dir).items():
                    samples.setdefault(name, []).append(measure(world, netfile, settings))
            for name, runs in samples.items():
                median = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
                ratio = {key: value / statistics.median(run[key] for run in samples["none"]) for key, value in median.items()}
                print(f"{size} HCAs, {name}: " + ", ".join(f"{key} {median[key]:.7g} ({ratio[key]:.3f})" for key in median), flush=True)
    finally:
        world.close()


main()
