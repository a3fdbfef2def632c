# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Paths asked of the SA by another host: how many a second, how late the slowest, and how late while a cable is cut.

A second client of ibsim (sa_load.c) keeps WINDOW Get(PathRecord) out, of random pairs by GIDs as rdma_cm asks. fmd and
OpenSM take turns on the same fabric. Most of the time of a request is ibsim's, the client's and their sockets': the
manager's own is told apart. While cables are cut, the worst tenth of a second is what counts.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time

import fabrics
import fault
import table
import world as w

RATE_SIZE, CUT_SIZE = 1024, 4096
WINDOW = 64
SECONDS, CUT_SECONDS = 2, 4
RUNS = 3
CUTS, CUT_EVERY_S = 3, 1.0
RATE_BOUND, P99_BOUND, CUT_P99_MS = 1.5, 0.5, 25
LIMIT_S = 600
SETTLE_S = 1.0
CA_PORT = re.compile(r"\[\d+\]\(([0-9a-f]+)\)\s+\"S-")


def hosts(netfile):
    """(node ids of the adapters, their port GUIDs)"""
    ids, guids, is_switch = [], [], True
    with open(netfile) as lines:
        for line in lines:
            head = re.match(r'(Switch|Ca)\s+\d+\s+"([^"]+)"', line)
            if head:
                is_switch = head[1] == "Switch"
                if not is_switch:
                    ids.append(head[2])
            port = CA_PORT.match(line)
            if port and not is_switch:
                guids.append(port[1])
    return ids, guids


def start_load(world, sim, program, client, seconds):
    environment = {**os.environ, "IBSIM_SOCKNAME": sim.name, "LD_PRELOAD": world.umad2sim, "SIM_HOST": client}
    return world.start([program, str(seconds), str(WINDOW)], cwd=world.folder("sa_load"), env=environment,
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def finish_load(world, process, guids, seconds):
    late = threading.Timer(seconds + 60, process.kill)
    late.start()
    try:
        out = process.communicate("\n".join(guids).encode())[0]
    finally:
        late.cancel()
    world.processes.remove(process)
    if process.returncode:
        raise w.BenchError(f"sa_load ended with {process.returncode}")
    return json.loads(out)


def load(world, sim, options, netfile, seconds):
    ids, guids = hosts(netfile)
    process = start_load(world, sim, os.path.abspath(os.path.join(options.programs, "sa_load")), ids[-1], seconds)
    return finish_load(world, process, guids, seconds)


def user_s(sm):
    """Processor time outside the system, which is the sockets of ibsim."""
    with open(f"/proc/{sm.process.pid}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[11]) / os.sysconf("SC_CLK_TCK")


def cut_cables(sim, netfile):
    for i, cable in enumerate(fault.Plan(netfile).far_cables(CUTS)):
        time.sleep(CUT_EVERY_S if i else SETTLE_S / 2)
        fault.console(sim, fault.cut(cable))


def measure(world, options, netfile, manager, cutting):
    sim = w.Ibsim(world, netfile)
    try:
        sm = manager(world, sim)
        try:
            sm.wait_up(LIMIT_S)
            time.sleep(SETTLE_S)
            scissors = threading.Thread(target=cut_cables, args=(sim, netfile))
            if cutting:
                scissors.start()
            user = user_s(sm)
            sample = load(world, sim, options, netfile, CUT_SECONDS if cutting else SECONDS)
            sample["user_us"] = (user_s(sm) - user) * 1e6 / max(1, sample["answered"])
            if cutting:
                scissors.join()
        finally:
            sm.close()
    finally:
        sim.close()
    print(f"  sa {sm.name}{' cutting' if cutting else ''}: {sample}", file=sys.stderr, flush=True)
    return sample


def middle(samples, key):
    return statistics.median(sample[key] for sample in samples)


def wrong(samples):
    return sum(sample["errors"] + sample["lost"] + sample["busy"] for sample in samples)


def rate_rows(fmd, opensm):
    rate = table.Row(f"PathRecord Get, window {WINDOW}, {RATE_SIZE:,} HCAs", middle(fmd, "rate"),
                     middle(opensm, "rate"), "/s", f"{middle(fmd, 'rate') / middle(opensm, 'rate'):.2f}",
                     f"≥ {RATE_BOUND}", middle(fmd, "rate") >= RATE_BOUND * middle(opensm, "rate"))
    p99 = table.share(f"{table.DETAIL}99th percentile", middle(fmd, "p99_us") / 1e3, middle(opensm, "p99_us") / 1e3,
                      "ms", P99_BOUND)
    if wrong(fmd):
        rate.spoil(f"{wrong(fmd)} not answered with a path")
    return [rate, p99, table.share(f"{table.DETAIL}the manager's own processor time a request, µs",
                                   middle(fmd, "user_us"), middle(opensm, "user_us"), "")]


def run(world, options):
    netfile = fabrics.generated(world, RATE_SIZE)
    fmd, opensm = [], []
    for _ in range(options.repeat or RUNS):
        fmd.append(measure(world, options, netfile, w.Fmd, False))
        opensm.append(measure(world, options, netfile, w.Opensm, False))
    yield rate_rows(fmd, opensm), {"size": RATE_SIZE, "fmd": fmd, "opensm": opensm}
    netfile = fabrics.generated(world, CUT_SIZE)
    fmd, opensm = (measure(world, options, netfile, manager, True) for manager in (w.Fmd, w.Opensm))
    row = table.Row(f"PathRecord Get while cables are cut, {CUT_SIZE:,} HCAs: worst p99 of 0.1 s",
                    fmd["worst_p99_us"] / 1e3, opensm["worst_p99_us"] / 1e3, "ms", None, f"≤ {CUT_P99_MS} ms",
                    fmd["worst_p99_us"] <= CUT_P99_MS * 1000)
    if fmd["lost"]:
        row.spoil(f"{fmd['lost']} were not answered")
    yield [row], {"size": CUT_SIZE, "fmd": fmd, "opensm": opensm}
