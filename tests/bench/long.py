# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Sections of `make bench-long` that are programs of their own, or need a fabric of 16,384 HCAs: each takes from a minute to some hours."""
import json
import os
import signal
import statistics
import subprocess
import sys
import time

import fabrics
import parts as p
import table
import world as w

HERE = os.path.dirname(os.path.abspath(__file__))
LARGE = 16384
GRACE_S = 60  # for a program to end its own processes
UP_LIMIT_S, DUMPS = 120, 3


def program(world, name, *arguments):
    """What a program of this folder writes by --json. When it has to be ended, it is told as by Ctrl-C, so that it ends what it started."""
    out, log = (os.path.join(world.folder(name), kind) for kind in ("json", "log"))
    bin_dir = os.path.dirname(os.path.abspath(world.fmd))
    with open(log, "w") as said:
        process = world.start([sys.executable, os.path.join(HERE, f"{name}.py"), "--bin", bin_dir, "--json", out, *map(str, arguments)],
                              stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
    try:
        process.wait()
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        world.processes.remove(process)
    try:
        with open(out) as file:
            return json.load(file)
    except (OSError, ValueError):
        with open(log) as said:
            raise w.BenchError(f"{name}.py ended with {process.returncode}: {' '.join(said.read().split())[-150:]}") from None


# ---- What hosts have of a change of masters

def takeover(world, times):
    done = program(world, "takeover", "--times", times, "handover", "kill")
    rows = []
    for event, words in (("handover", "`fmctl handover`"), ("kill", "the master is killed")):
        runs = [run for run in done if run["event"] == event]
        rows.append(table.Row(f"{words}, 256 HCAs on fmsim, 1,000 path requests/s, {len(runs)} runs: requests not answered", sum(run["unanswered"] for run in runs)))
        rows.append(table.Row(f"{table.DETAIL}longest time without an answer, worst", max(run["gap_ms"] for run in runs), None, "ms"))
    return table.readme(*rows), done


def kills(world, size, count):
    """Where anything was lost, the program says what; here it is a bound."""
    made = program(world, "kills", "--size", size, "--kills", count)
    return table.readme(table.limit(f"the master is killed under load, {len(made['times'])} times, {size:,} HCAs: what was lost or wrong", len(made["failures"]), None, "", 0),
                        table.Row(f"{table.DETAIL}from the kill to up, median", statistics.median(made["times"]), None, "s"),
                        table.Row(f"{table.DETAIL}worst", max(made["times"]), None, "s")), made


def interop(world):
    made = program(world, "interop")
    lost = [row for row in made if any(int(number) for number in str(row["lost"]).split("/") if number.isdigit())]
    return table.readme(table.Row("changes of masters, fmd and OpenSM in every role", len(made)), table.Row(f"{table.DETAIL}of them with a registration lost", len(lost))), made


def mirror(world, size):
    made = program(world, "mirror", size)[str(size)]
    seen = next(value for key, value in made.items() if key.startswith("seen at 100/s"))
    return table.readme(table.Row(f"a join at the master known at its standby, {size:,} HCAs, 100 changes/s: median", seen["median"], None, "ms"),
                        table.Row(f"{table.DETAIL}99th percentile", seen["p99"], None, "ms")), made


# ---- Large answers

def dump(world):
    sim = w.Fmsim(world, fabrics.generated(world, LARGE))
    try:
        fmd = w.Fmd(world, sim)
        try:
            fmd.wait_up(UP_LIMIT_S)
            took = []
            for number in range(DUMPS):
                folder = world.folder(f"dump-{number}")
                began = time.monotonic()
                fmd.ask("dump", folder)
                took.append(time.monotonic() - began)
                written = sum(file.stat().st_size for file in os.scandir(folder))
                for file in os.scandir(folder):
                    os.unlink(file.path)
        finally:
            fmd.close()
    finally:
        sim.close()
    return table.readme(table.Row(f"`fmctl dump` of all tables, {written / 1e9:.1f} GB, {LARGE:,} HCAs", statistics.median(took), None, "s")), {"s": took, "bytes": written}


def page(world, minutes):
    import page as pages  # needs what drives a browser

    raw = pages.measure(pages.UNITS, pages.TRIES, int(minutes * 60 * pages.A_SECOND), by_the_clock=True)
    rows = pages.rows(raw)
    if raw["errors"]:
        rows[0].spoil(f"{len(raw['errors'])} errors of the page")
    return table.readme(*rows), raw


class Section:
    def __init__(self, what, limit_s, measure):
        """measure(world, options)"""
        self.what, self.limit_s, self.measure = what, limit_s, measure

    def parts(self, world, options):
        return [p.Part(self.what, self.limit_s, lambda: self.measure(world, options))]


SECTIONS = {
    "dump": Section("`fmctl dump` of all tables", 600, lambda world, options: dump(world)),
    "mirror": Section("a standby that copies its master", 3600, lambda world, options: mirror(world, (options.sizes or [LARGE])[0])),
    "takeover": Section("a change of masters", 3600, lambda world, options: takeover(world, options.repeat or 50)),
    "interop": Section("changes of masters, fmd and OpenSM in every role", 3600, lambda world, options: interop(world)),
    "kills": Section("the master is killed under load", 3 * 3600, lambda world, options: kills(world, (options.sizes or [4096])[0], options.repeat or 200)),
    "page": Section("the page for an hour", 2 * 3600, lambda world, options: page(world, options.repeat or 60)),
}
