#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""fmd side by side with OpenSM, on the same simulated fabrics in the same run.

    run.py [--bin FOLDER] [--programs FOLDER] [--json FILE] [--long] [SECTION...]

FOLDERs hold fmd and fmctl, and the benchmark programs. Sections by default: BY_DEFAULT of the rig ("fabrics" where FMD_FABRICS has some); with --long those of LONG. From the environment, so
that `make bench BENCH=bringup BENCH_SIZES=1024` works: BENCH (sections), RIG (ibsim; fmsim), BENCH_DEVICE (fmsim's time of an SMP, 20us),
BENCH_SIZES (HCAs), BENCH_SHARP=0 (no aggregation nodes), BENCH_REPEAT (runs of each), BENCH_LIMIT (minutes for all), BENCH_JSON.

Prints all rows; progress goes to stderr. Each part of a section has a time limit, and so has the run: what it has no time for, or what cannot be measured,
is a row that says why. An interrupted run prints what it has. A bound that is missed is said in the last line and is no failure of the benchmark: it
ends with 0, and with 1 when something could not be measured.

The results of a whole run go to bench-ibsim.json or bench-fmsim.json in the folder of fmd, from which `make bench-readme` makes README's tables; those of
another one (some sections, other sizes, interrupted) to the same name with -part. --long keeps the sections that it measured, at their own sizes and
repeats, in tests/bench/long.json.
"""
import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import adaptive
import ar_cuts
import bringup
import cabling
import devices
import ebb
import fault
import health
import idle
import long
import mcast
import osmtest
import parts
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
            "quality": quality, "ebb": ebb, "adaptive": adaptive, "ar_cuts": ar_cuts, "cabling": cabling, **long.SECTIONS}
BY_DEFAULT = {"ibsim": ["bringup", "route", "fault", "restart", "sa", "perf", "mcast", "idle", "fabrics"],
              "fmsim": ["bringup", "devices", "restart", "fault", "sa"]}
LONG = ["health", "storm", "records", "osmtest", "cabling", "quality", *long.SECTIONS]
LIMIT_MINUTES = {False: 18, True: 12 * 60}
LEAST_S = 2  # with less time than that nothing is begun
CHANGED = ("BENCH_DEVICE", "BENCH_SIZES", "BENCH_SHARP", "BENCH_REPEAT")  # what makes the figures others
LONG_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "long.json")


def by_default():
    """The published fabrics are not part of the sources."""
    return [name for name in BY_DEFAULT[w.rig().kind] if name != "fabrics" or real.fabrics.real()]


def words(name):
    return [word for word in os.environ.get(name, "").replace(",", " ").split() if word]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("FMD_BIN", "build"))
    parser.add_argument("--programs", default="build/release/bench")
    parser.add_argument("--json", default=os.environ.get("BENCH_JSON"))
    parser.add_argument("--long", action="store_true")
    parser.add_argument("sections", nargs="*", default=words("BENCH"))
    options = parser.parse_args()
    options.changed = any(os.environ.get(name) for name in CHANGED)
    options.whole = not options.sections and not options.changed
    options.sections = options.sections or (LONG if options.long else by_default())
    options.sizes = [int(word) for word in words("BENCH_SIZES")]
    options.repeat = int(os.environ.get("BENCH_REPEAT") or 0)
    options.limit_s = 60 * float(os.environ.get("BENCH_LIMIT") or LIMIT_MINUTES[options.long])
    for name in options.sections:
        if name not in SECTIONS:
            parser.error(f"what is {name}? Sections: {', '.join(SECTIONS)}")
    for size in options.sizes:
        if size not in bringup.fabrics.GENERATED:
            parser.error(f"no fabric of {size} HCAs; there are {', '.join(map(str, bringup.fabrics.GENERATED))}")
    return options


def git(*arguments):
    try:
        return subprocess.run(["git", "-C", os.path.dirname(LONG_FILE), *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
    except OSError:
        return ""


def commit():
    """Of the sources; + where they are not quite that commit's."""
    changed = [line for line in git("status", "--porcelain", "--untracked-files=no").splitlines() if not line.endswith((" README.md", "/long.json"))]
    return (git("rev-parse", "--short=8", "HEAD") or "unknown") + ("+" if changed else "")


def machine():
    with open("/proc/cpuinfo") as info:
        model = next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")), "?")
    return {"rig": w.rig().kind, "cpu": model, "cpus": os.cpu_count(), "kernel": platform.release(), "opensm": w.opensm_version(),
            "load_at_start": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d"), "time": time.strftime("%H:%M"), "commit": commit()}


class Run:
    def __init__(self, world, options):
        self.world, self.options, self.ends = world, options, time.monotonic() + options.limit_s
        self.rows, self.document = [], {"machine": machine(), "rows": [], "raw": {}, "seconds": {}, "interrupted": None}

    def keep(self, section, rows, raw=None):
        self.rows += rows
        self.document["rows"] += [row.json(section) for row in rows]
        if raw is not None:
            self.document["raw"].setdefault(section, []).append(raw)

    def part(self, section, part):
        left_s = self.ends - time.monotonic()
        if self.document["interrupted"]:
            self.keep(section, [table.unmeasured(part.what, self.document["interrupted"])])
        elif left_s < LEAST_S:
            self.keep(section, [table.unmeasured(part.what, f"the {self.options.limit_s / 60:.0f} minutes of the run were over")])
        else:
            self.keep(section, *parts.measured(self.world, part, min(part.limit_s, left_s)))

    def section(self, name):
        parts.say(f"{name}:")
        began = time.monotonic()
        for part in SECTIONS[name].parts(self.world, self.options):
            try:
                self.part(name, part)
            except (KeyboardInterrupt, SystemExit) as end:
                self.document["interrupted"] = "interrupted"
                self.status = end.code if isinstance(end, SystemExit) else 130
                self.part(name, part)
        self.document["seconds"][name] = round(time.monotonic() - began, 1)

    def all(self):
        """The exit status."""
        self.status = 0
        for name in self.options.sections:
            self.section(name)
        return self.status or int(any(row.missing or row.opensm == table.LACKING for row in self.rows))


def verdict(rows):
    """What README's reader has to know of the run: bounds that it missed, and what it could not measure."""
    judged, missed, missing, heading = sum(row.met is not None for row in rows), [], [], ""
    for row in rows:
        what = row.what.split(" (")[0]
        if row.what.startswith(table.DETAIL):
            what = f"{heading.split(':')[0]} {what}"
        else:
            heading = row.what
        if row.met is False:
            missed.append(what)
        if row.missing or row.opensm == table.LACKING:
            missing.append(f"{what} ({row.missing or row.note})")
    said = f"{judged - len(missed)} of {judged} bounds met"
    if missed:
        said += "; missed: " + "; ".join(missed)
    if missing:
        said += "; not measured: " + "; ".join(missing)
    return said


def terminated(signum, frame):
    raise SystemExit(128 + signum)


def json_path(options, interrupted):
    whole = options.whole and not interrupted
    return options.json or os.path.join(options.bin, f"bench-{'long' if options.long else w.rig().kind}{'' if whole else '-part'}.json")


def add_to_long(document):
    """Sections of which something was measured take the place of what the file had of them."""
    try:
        with open(LONG_FILE) as old:
            rows = json.load(old)["rows"]
    except OSError:
        rows = []
    here = {key: document["machine"][key] for key in ("cpu", "cpus", "kernel", "opensm", "date", "commit")}
    measured = {row["section"] for row in document["rows"] if not row["missing"]}
    rows = [row for row in rows if row["section"] not in measured]
    rows += [{**row, "machine": here} for row in document["rows"] if row["section"] in measured and not row["missing"]]
    write_json(LONG_FILE, {"rows": rows})


def write_json(path, document):
    with open(path + ".new", "w") as out:
        json.dump(document, out, indent=1, ensure_ascii=False)
        out.write("\n")
    os.replace(path + ".new", path)


def report(run, options):
    here, seconds = run.document["machine"], run.document["seconds"]
    print(f"on {here['rig']}, {here['cpus']} x {here['cpu']}, Linux {here['kernel']}, load {here['load_at_start']:.1f} at start, "
          f"{here['date']} {here['time']}, commit {here['commit']}\n")
    print(table.markdown(run.rows, f"OpenSM {here['opensm'] or '(missing)'}"))
    path = json_path(options, run.document["interrupted"])
    write_json(path, run.document)
    if options.long and not options.changed:
        add_to_long(run.document)
    print(f"\nseconds: {', '.join(f'{name} {taken:.0f}' for name, taken in seconds.items())}; in all {sum(seconds.values()):.0f}. Results: {path}")
    print("\n" + verdict(run.rows), flush=True)


def main():
    options = arguments()
    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, terminated)
    if options.long:
        os.environ.setdefault("RIG", "ibsim")
    world = w.World(os.path.abspath(options.bin))
    try:
        run = Run(world, options)
        status = run.all()
    except (KeyboardInterrupt, SystemExit):  # between two parts
        run.document["interrupted"], status = "interrupted", 130
    finally:
        world.close()
    report(run, options)
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
