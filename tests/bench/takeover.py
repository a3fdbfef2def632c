#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What hosts see of a change of masters: the SA's answers in each second, as a plot.

    takeover.py [--bin FOLDER] [--size HCAS] [--times N] [--csv FILE] [--svg FILE] [--json FILE] [--hosts N] [--opensm] [--hang NODE]... [EVENT...]

EVENT: sigterm, handover (fmctl), lower (a reload with a lower priority), kill (-9); all by default. Two fmd on fmsim copy each other's
state_dir. At some hosts a client each asks for paths, RATE a second together. As the kernel does, it sends to the SM LID that its port has at that moment,
and repeats a request 10 times, 100 ms apart, to where it went first. An event is done N times, by turns; with --opensm the standby is OpenSM, each time. Printed for each: how many requests were
never answered, how many only when repeated, the longest time without any answer, and answers in each twentieth of a second around the event
that was worst; the CSV has all of them, the SVG a curve of those. The agents of NODEs hang from before the first event on; they forward still. What the devices
forward behind each event is judged by fmsim: pairs that are dead.
"""
import argparse
import json
import os
import signal
import statistics
import sys
import time

sys.dont_write_bytecode = True

import fabrics
import managers as m
import takeover_plot
import world as w

RATE, TRY_MS, TRIES = 1000, 100, 10
BEFORE_S, AFTER_S = 0.8, {"sigterm": 2.5, "handover": 2.5, "lower": 2.5, "kill": 7.0}
BIN_S, BAR = 0.05, 60
OPENSM_S = 8  # it asks for its master's life, and then sweeps


def is_ready(status):
    others = status["election"]["others"]
    return (status["sm"] == "master" and status["state"] == "up" and others and others[0]["state"] == "standby"
            and ("mirror" not in status or status["mirror"]["whole"]))


def act(event, master):
    if event in ("sigterm", "kill"):
        master.tell(signal.SIGTERM if event == "sigterm" else signal.SIGKILL)
    elif event == "handover":
        master.ask("handover")
    else:
        master.configure(sm_priority=1)
        master.ask("reload")


def measure(event, master, standby, start_clients):
    """{unanswered, repeated, gap_ms, ended_ms, up_ms, samples: (seconds from the event, us)}"""
    running = start_clients()
    time.sleep(BEFORE_S)
    when = time.time()
    act(event, master)
    ended = None
    if event in ("sigterm", "kill"):
        master.process.wait(60)
        ended = time.time() - when
    up = m.until(lambda: standby.master_since(when), "the standby is master")
    time.sleep(max(0, when + AFTER_S[event] - time.time()))
    dead = json.loads(master.sim.tell("judge --json"))["dead"]
    samples = sorted((sent - when, us) for client in running for sent, us in client.samples())
    answers = sorted(sent + us / 1e6 for sent, us in samples if us >= 0)
    gaps = [b - a for a, b in zip(answers, answers[1:])]
    return {"event": event, "asked": len(samples), "unanswered": sum(us < 0 for _, us in samples),
            "repeated": sum(us >= TRY_MS * 1000 for _, us in samples), "gap_ms": max(gaps, default=0) * 1e3,
            "slowest_ms": max((us for _, us in samples), default=0) / 1e3, "ended_ms": ended and ended * 1e3, "up_ms": (up - when) * 1e3, "dead": dead, "samples": samples}


def rates(result):
    """[(seconds from the event, answers a second)]"""
    bins = {}
    for sent, us in result["samples"]:
        if us >= 0:
            at = int((sent + us / 1e6) // BIN_S)
            bins[at] = bins.get(at, 0) + 1
    last = int(min(max(bins, default=0), AFTER_S[result["event"]] / BIN_S)) - 1
    return [(at * BIN_S, bins.get(at, 0) / BIN_S) for at in range(int(-0.5 / BIN_S), last)]


def worst(results):
    return max(results, key=lambda result: (result["unanswered"], result["gap_ms"]))


def show(event, results):
    def spread(key):
        values = [result[key] for result in results if result[key] is not None]
        return f"{statistics.median(values):.0f} / {max(values):.0f}" if values else "-"

    print(f"{event}: {len(results)} times, median / worst: new master up after {spread('up_ms')} ms, unanswered {spread('unanswered')}, only when repeated {spread('repeated')}, "
          f"longest without any answer {spread('gap_ms')} ms, slowest {spread('slowest_ms')} ms, process ended after {spread('ended_ms')} ms, "
          f"pairs dead {spread('dead')}")
    for at, rate in rates(worst(results)):
        print(f"  {at:6.2f} s {rate:6.0f}/s {'#' * int(rate / RATE * BAR * 0.5)}")
    sys.stdout.flush()


class Bench:
    def __init__(self, world, options):
        self.world, self.options, self.turn = world, options, 0
        netfile = fabrics.generated(world, options.size)
        self.sim, self.hosts = w.simulator(world, netfile), m.hosts(netfile)
        step = max(1, (len(self.hosts) - 4) // options.hosts)
        self.places = [2 + i * step for i in range(options.hosts)]
        ports, psk = [m.free_port(), m.free_port()], m.secret(world)
        conf = {"sm_priority": 5}
        self.master = m.Fmd(world, self.sim, self.hosts[0][0], () if options.opensm else ports, psk, **conf)
        if options.opensm:
            self.standby = m.Opensm(world, self.sim, self.hosts[1][0], sm_priority=3)
        else:
            self.standby = m.Fmd(world, self.sim, self.hosts[1][0], ports[::-1], psk, **conf)

    def clients(self):
        others = [guid for _, guid in self.hosts[2:42]]
        return [m.Paths(self.world, self.sim, *self.hosts[place], others, RATE / self.options.hosts, TRY_MS, TRIES) for place in self.places]

    def again(self, event):
        """All is as before an event, with the roles exchanged; beside OpenSM they are not: that one begins anew."""
        master, standby = self.master, self.standby
        if master.process and not master.runs():
            master.forget()
        if self.options.opensm:
            standby.end()
            if not master.runs():
                master.start()
            master.configure(sm_priority=5)
            master.ask("reload")
            m.until(master.is_master, "fmd is master again")
            standby.start()
            m.until(standby.stands_by, "OpenSM stands by")
            return
        self.turn += 1  # only another priority than before is shown by who has handed over
        master.configure(sm_priority=2 + self.turn % 12)
        if master.runs():
            m.until(master.stands_by, "it stands by")
            master.ask("reload")
        else:
            master.start()
        self.master, self.standby = standby, master

    def run(self):
        done = []
        self.master.start()
        m.until(self.master.is_master, "it is master")
        self.standby.start()
        if self.options.hang:
            self.master.wait(is_ready, "the master has a standby that is ready")
            [self.sim.tell(f'hang "{node}"') for node in self.options.hang]
            self.master.ask("sweep")
            self.master.wait(lambda status: status["silent"] >= len(self.options.hang), "they are silent")
        for event in self.options.events:
            results = []
            for _ in range(self.options.times):
                self.master.wait(is_ready, "the master has a standby that is ready")
                m.until(self.standby.stands_by, "it stands by")
                results.append(measure(event, self.master, self.standby, self.clients))
                self.again(event)
            show(event, results)
            done += results
        return done

    def close(self):
        for it in (self.master, self.standby):
            it.end()
        self.sim.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("FMD_BIN", "build"))
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--opensm", action="store_true")
    parser.add_argument("--hang", action="append", default=[])
    parser.add_argument("--csv")
    parser.add_argument("--svg")
    parser.add_argument("--json")
    parser.add_argument("events", nargs="*", default=[])
    options = parser.parse_args()
    options.events = options.events or list(AFTER_S)
    os.environ["RIG"] = "fmsim"
    world = w.World(os.path.abspath(options.bin))
    bench = Bench(world, options)
    try:
        done = bench.run()
    finally:
        bench.close()
        world.close()
    if options.json:
        with open(options.json, "w") as out:
            json.dump([{key: value for key, value in result.items() if key != "samples"} for result in done], out)
    if options.csv:
        with open(options.csv, "w") as out:
            out.write("event,run,sent_s,took_us\n")
            for number, result in enumerate(done):
                out.writelines(f"{result['event']},{number},{sent:.6f},{us}\n" for sent, us in result["samples"])
    if options.svg:
        curves = [(event, rates(worst([result for result in done if result["event"] == event]))) for event in options.events]
        with open(options.svg, "w") as out:
            out.write(takeover_plot.svg(f"Answers of the SA a second over a change of masters, {options.size} HCAs", curves))


if __name__ == "__main__":
    main()
