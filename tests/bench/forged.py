#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What forged control packets of SMInfo cost: HANDOVER and DISABLE at a master and its standby, many a second, for minutes.

    forged.py [--bin FOLDER] [--size HCAS] [--minutes N] [--rate N] [--json FILE]

The fabric is fmsim's. The packets come in the name of an unknown manager, of the standby and of the master, with the default SM_Key, which everybody
knows. Spans without packets lie between the spans with them, so that both meet the same machine. A host asks for paths all the time; the figure is the
99th percentile of its answers with packets, divided by that without. The status of both managers is read all the time, and the program reports each
moment at which one is neither master and up nor standby. Then the master is killed, while the packets go on.
"""
import argparse
import json
import os
import signal
import statistics
import sys
import threading
import time

sys.dont_write_bytecode = True

import fabrics
import managers as m
import world as w

SPAN_S, QUIET_S = 30, 10
RATE, TRY_MS, TRIES = 500, 500, 1
STRANGER = "00000000deadbeef"
LOOK_S = 0.2


class Watch(threading.Thread):
    """What both say of themselves, from begin to end. A standby may be told by its master to be not active, and nobody can prove who that was."""

    def __init__(self, master, standby):
        super().__init__(daemon=True)
        self.both, self.looks, self.wrong, self.disabled, self.ended = ((master, ("master",), "up"), (standby, ("standby", "not active"), "standby")), 0, [], 0, False
        self.start()

    def run(self):
        while not self.ended:
            for it, roles, state in self.both:
                status = it.status()
                self.looks += 1
                self.disabled += bool(status) and status["sm"] == "not active"
                if not status or status["sm"] not in roles or status["state"] != state:
                    self.wrong.append((time.time(), roles[0], status and (status["sm"], status["state"])))
            time.sleep(LOOK_S)


def p99_ms(took):
    return sorted(took)[len(took) * 99 // 100] / 1e3


def spans_of(samples, spans):
    """Microseconds that answers took, by span."""
    return [[us for sent, us in samples if begin <= sent < end] for begin, end in spans]


def measure(world, options):
    netfile = fabrics.generated(world, options.size)
    sim, hosts = w.simulator(world, netfile), m.hosts(netfile)
    ports, psk = [m.free_port(), m.free_port()], m.secret(world)
    master, standby = (m.Fmd(world, sim, hosts[-at][0], [ports[at], ports[1 - at]], psk) for at in (0, 1))
    closing = [sim.close]
    try:
        for it in (master, standby):
            it.start()
            closing.insert(0, it.end)
            m.until(it.is_master if it is master else it.stands_by, "it is ready")
        standby.wait(lambda s: s["mirror"]["whole"], "it has a whole copy")
        master.wait(lambda s: [o["state"] for o in s["election"]["others"]] == ["standby"], "the master knows of it")
        lids = [str(master.status()["sm_lid"]), str(master.status()["election"]["others"][0]["lid"])]
        guids = [STRANGER, hosts[-1][1], hosts[0][1]]
        forger = m.Client(world, sim, hosts[len(hosts) // 2][0], "sm_forger.py", options.rate, ",".join(lids), ",".join(guids))
        closing.insert(0, forger.finish)
        paths = m.Paths(world, sim, hosts[20][0], hosts[20][1], [guid for _, guid in hosts[30:400:7]], RATE, TRY_MS, TRIES)
        watch, spans, refused = Watch(master, standby), {False: [], True: []}, refusals(master, standby)
        for _ in range(max(1, round(options.minutes * 60 / SPAN_S))):
            for on, length in ((False, QUIET_S), (True, SPAN_S)):
                sent = forger.ask(on=on)["sent"]
                begin = time.time()
                time.sleep(length)
                spans[on].append((begin + 0.5, time.time()))
        watch.ended = True
        watch.join()
        refused = [after - before for before, after in zip(refused, refusals(master, standby))]
        killed = time.time()
        master.tell(signal.SIGKILL)
        up = m.until(lambda: standby.master_since(killed), "the standby takes over")
        sent = forger.ask(on=False)["sent"]
        samples = [(when, us) for when, us in paths.samples() if when < killed - TRY_MS / 1e3]
        return sent, refused, watch, spans, samples, up - killed
    finally:
        for close in closing:
            close()


def refusals(*managers):
    return [it.status()["election"]["controls_refused"] for it in managers]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("FMD_BIN", "build"))
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rate", type=float, default=50)
    parser.add_argument("--json")
    options = parser.parse_args()
    os.environ["RIG"] = "fmsim"
    world = w.World(os.path.abspath(options.bin))
    try:
        sent, refused, watch, spans, samples, took = measure(world, options)
    finally:
        world.close()
    quiet, forged = (spans_of(samples, spans[on]) for on in (False, True))
    pairs = [(p99_ms(one), p99_ms(two)) for one, two in zip(quiet, forged)]
    lost = sum(us < 0 for _, us in samples)
    ratio = p99_ms(sum(forged, [])) / p99_ms(sum(quiet, []))
    print(f"{options.size} HCAs: {sent} packets forged, {options.rate:.0f}/s for {len(pairs) * SPAN_S / 60:.1f} min; refused by the master {refused[0]}, by the standby {refused[1]}")
    print(f"{watch.looks} looks at both, {len(watch.wrong)} without a master that is up and a standby, which was disabled in its master's name at {watch.disabled}; "
          f"{len(samples)} requests, {lost} not answered; the master killed behind it, under forged packets: the standby is up after {took:.2f} s")
    print(f"99th percentile: quiet {p99_ms(sum(quiet, [])):.2f} ms, forged {p99_ms(sum(forged, [])):.2f} ms: ratio {ratio:.2f}; span by span, median of the ratios "
          f"{statistics.median(two / one for one, two in pairs):.2f}: {', '.join(f'{one:.2f}/{two:.2f}' for one, two in pairs)}")
    for wrong in watch.wrong[:10]:
        print("  ", wrong)
    if options.json:
        with open(options.json, "w") as out:
            json.dump({"ratio": ratio, "pairs_ms": pairs, "sent": sent, "refused": refused, "wrong": watch.wrong, "lost": lost}, out)
    sys.exit(1 if watch.wrong or lost else 0)


if __name__ == "__main__":
    main()
