#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""fmd side by side with OpenSM, on the same simulated fabrics in the same run.

    run.py [--bin FOLDER] [--programs FOLDER] [--json FILE] [SECTION...]

FOLDERs hold fmd and fmctl, and the benchmark programs. Sections, all by default: bringup, devices, route, idle, restart, fault, health,
perf, sa, storm, mcast, records, osmtest, fabrics, quality, cabling. From the environment, so that `make bench BENCH=bringup BENCH_SIZES=1024` works: BENCH
(sections), RIG (ibsim; fmsim: bringup, devices, restart, fault and sa by default), BENCH_DEVICE (fmsim's time of an SMP, 20us),
BENCH_SIZES (HCAs), BENCH_SHARP=0 (no aggregation nodes), BENCH_REPEAT (runs of each), BENCH_JSON. Prints README's table of
Performance; progress goes to stderr. A bound that is missed is said in the last line and is no failure of the benchmark: it ends with 0, and with 1 when it could not measure.

A section is a module with run(world, options) that yields (rows, raw figures) as it has them.
"""
import argparse
import json
import os
import platform
import signal
import sys
import time

sys.dont_write_bytecode = True

import bringup
import cabling
import devices
import fault
import health
import idle
import mcast
import osmtest
import page
import perf
import quality
import real
import records
import restart
import routing
import sa
import storm
import table
import world as w

SECTIONS = {"bringup": bringup, "devices": devices, "route": routing, "idle": idle, "restart": restart, "fault": fault, "health": health,
            "perf": perf, "sa": sa, "storm": storm, "mcast": mcast, "records": records, "osmtest": osmtest, "fabrics": real,
            "quality": quality, "cabling": cabling}
ON_FMSIM = ["bringup", "devices", "restart", "fault", "sa"]  # the others are ibsim's


def words(name):
    return [word for word in os.environ.get(name, "").replace(",", " ").split() if word]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("FMD_BIN", "build"))
    parser.add_argument("--programs", default="build/release/bench")
    parser.add_argument("--json", default=os.environ.get("BENCH_JSON"))
    parser.add_argument("sections", nargs="*", default=words("BENCH") or (ON_FMSIM if w.rig() is w.Fmsim else [name for name in SECTIONS if name not in ALONE]))
    options = parser.parse_args()
    options.sizes = [int(word) for word in words("BENCH_SIZES")]
    options.repeat = int(os.environ.get("BENCH_REPEAT") or 0)
    for name in options.sections:
        if name not in SECTIONS:
            parser.error(f"what is {name}? Sections: {', '.join(SECTIONS)}")
    for size in options.sizes:
        if size not in bringup.fabrics.GENERATED:
            parser.error(f"no fabric of {size} HCAs; there are {', '.join(map(str, bringup.fabrics.GENERATED))}")
    return options


def machine():
    with open("/proc/cpuinfo") as info:
        model = next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")), "?")
    return {"cpu": model, "cpus": os.cpu_count(), "kernel": platform.release(), "opensm": w.opensm_version(),
            "load_at_start": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d %H:%M")}


def run_sections(world, options, document):
    """All rows; what could not be measured is in document["errors"]."""
    rows = []
    for name in options.sections:
        print(f"{name}:", file=sys.stderr, flush=True)
        try:
            for made, raw in SECTIONS[name].run(world, options):
                rows += made
                document["rows"] += [row.json(name) for row in made]
                document["raw"].setdefault(name, []).append(raw)
        except (w.BenchError, OSError, w.subprocess.SubprocessError) as error:
            document["errors"].append(f"{name}: {error}")
    return rows


def verdict(rows, errors):
    judged, missed, heading = sum(row.met is not None for row in rows), [], ""
    for row in rows:
        detail = row.what.startswith(table.DETAIL)
        heading = heading if detail else row.what
        if row.met is False:
            missed.append(f"{heading.split(':')[0]} {row.what.split(' (')[0]}" if detail else row.what)
    said = f"{judged - len(missed)} of {judged} bounds met"
    if missed:
        said += "; missed: " + "; ".join(missed)
    if errors:
        said += "; not measured: " + "; ".join(errors)
    return said


def terminated(signum, frame):
    raise SystemExit(128 + signum)


def main():
    options = arguments()
    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, terminated)
    document = {"machine": machine(), "rows": [], "raw": {}, "errors": []}
    world = w.World(os.path.abspath(options.bin))
    try:
        rows = run_sections(world, options, document)
    finally:
        world.close()
    here = document["machine"]
    print(f"on {w.rig().kind}, {here['cpus']} x {here['cpu']}, Linux {here['kernel']}, load {here['load_at_start']:.1f} at start, "
          f"{here['date']}\n")
    print(table.markdown(rows, f"OpenSM {here['opensm'] or '(missing)'}"))
    if options.json:
        with open(options.json, "w") as out:
            json.dump(document, out, indent=1)
    print("\n" + verdict(rows, document["errors"]))
    return 1 if document["errors"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
