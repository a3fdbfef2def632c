# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The fabrics that are measured on: generated ones by their number of HCAs, and the real ones' folder."""
import glob
import os

GENERATED = {
    256: ("superpod", "--su", "1"),
    1024: ("superpod", "--su", "4"),
    4096: ("superpod", "--su", "16"),
    11664: ("pgft", "3", "18,18,36", "1,18,18"),
    16384: ("superpod", "--su", "64"),
    45360: ("pgft", "3", "36,36,35", "1,36,18", "1,1,2"),
}


def has_sharp(size):
    """Pods have aggregation nodes, but where BENCH_SHARP=0 leaves them out: builds from before fmd knew them are paired so."""
    return GENERATED[size][0] == "superpod" and os.environ.get("BENCH_SHARP") != "0"


def generated(world, size, sharp=True):
    """With aggregation nodes, where there are any, or without them."""
    if GENERATED[size][0] != "superpod" or sharp and has_sharp(size):
        return world.generate(str(size), GENERATED[size])
    return world.generate(f"{size}-plain", [*GENERATED[size], "--no-sharp"])


def real():
    """The files of FMD_FABRICS, else of shared/fabrics beside the checkout; empty when there are none."""
    here = os.path.dirname(os.path.abspath(__file__))
    folder = os.environ.get("FMD_FABRICS") or os.path.join(here, "..", "..", "..", "shared", "fabrics")
    return sorted(glob.glob(os.path.join(folder, "*.net")))
