# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Path requests to the SA from another host: how many it answers a second, how late the slowest is, also while a link is cut.

A second client of ibsim (sa_load.c) keeps WINDOW Get(PathRecord) out, of random pairs by GIDs as rdma_cm asks. Each manager
has an ibsim of its own; they are asked in short bursts by turns, in both orders, while the others and their simulators
stand still (SIGSTOP), so that what else the machine does meets all alike. A request passes ibsim's one thread twice, and
libumad2sim's sockets: how much that leaves to gain is measured with a program that hands each request back unread (sa_stub.c),
in the same turns. fmd's limit of requests of one host is off, for the client would meet it. While cables are
cut, the worst tenth of a second is what counts.
"""
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time

import fabrics
import fault
import parts as p
import table
import world as w

RATE_SIZE, CUT_SIZE = 1024, 4096
WINDOW = 64
BURST_S, CUT_SECONDS = 0.5, 4
BURSTS = 12
NO_LIMIT = "sa_rate_limit = 0;\n"
CUTS, CUT_EVERY_S = 3, 1.0
RATE_BOUND, P99_BOUND, CUT_P99_MS = 1.5, 0.5, 25
LIMIT_S, PART_LIMIT_S = 60, 150
SETTLE_S = 1.0
THAW_S = 0.1
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
    environment = {**os.environ, **sim.at(client)}
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


def program_path(options, name):
    return os.path.abspath(os.path.join(options.programs, name))


def load(world, sim, options, netfile, seconds):
    ids, guids = hosts(netfile)
    process = start_load(world, sim, program_path(options, "sa_load"), ids[-1], seconds)
    return finish_load(world, process, guids, seconds)


class Stub(w.Manager):
    """sa_stub in the place of a manager, on a fabric that fmd has brought up."""

    def __init__(self, world, sim, options):
        fmd = w.Fmd(world, sim)
        try:
            fmd.wait_up(LIMIT_S)
        finally:
            fmd.close()
        super().__init__(world, sim, "stub")
        self.launch([program_path(options, "sa_stub")], stderr=subprocess.DEVNULL)

    def wait_up(self, limit_s):
        return None


class Rig:
    """A manager on a fabric of its own, which stands still but in its bursts."""

    def __init__(self, world, netfile, manager):
        self.world, self.netfile, self.samples = world, netfile, []
        self.sim, self.sm = w.simulator(world, netfile), None
        try:
            self.sm = manager(world, self.sim)
            self.sm.wait_up(LIMIT_S)
            time.sleep(SETTLE_S)
            self.tell(signal.SIGSTOP)
        except BaseException:
            self.close()
            raise

    def tell(self, signum):
        for owner in (self.sim, self.sm):
            if owner and owner.process.poll() is None:
                owner.process.send_signal(signum)

    def burst(self, options):
        self.tell(signal.SIGCONT)
        time.sleep(THAW_S)
        pids = [owner.process.pid for owner in (self.sm, self.sim)]
        before = [w.run_us(pid) for pid in pids]
        sample = load(self.world, self.sim, options, self.netfile, BURST_S)
        after = [w.run_us(pid) for pid in pids]
        self.tell(signal.SIGSTOP)
        for key, end, start in zip(("manager_us", "ibsim_us"), after, before):
            sample[key] = (end - start) / max(1, sample["answered"])
        self.samples.append(sample)
        print(f"  sa {self.sm.name}: {sample}", file=sys.stderr, flush=True)

    def middle(self, key):
        return statistics.median(sample[key] for sample in self.samples)

    def close(self):
        self.tell(signal.SIGCONT)
        if self.sm:
            self.sm.close()
        self.sim.close()


def cut_cables(sim, netfile):
    for i, cable in enumerate(fault.Plan(netfile).far_cables(CUTS)):
        time.sleep(CUT_EVERY_S if i else SETTLE_S / 2)
        fault.console(sim, fault.cut(cable))


def measure_cutting(world, options, netfile, manager):
    sim = w.simulator(world, netfile)
    try:
        sm = manager(world, sim)
        try:
            sm.wait_up(LIMIT_S)
            time.sleep(SETTLE_S)
            scissors = threading.Thread(target=cut_cables, args=(sim, netfile))
            scissors.start()
            sample = load(world, sim, options, netfile, CUT_SECONDS)
            scissors.join()
        finally:
            sm.close()
    finally:
        sim.close()
    print(f"  sa {sm.name} cutting: {sample}", file=sys.stderr, flush=True)
    return sample


def wrong(samples):
    return sum(sample["errors"] + sample["lost"] + sample["busy"] for sample in samples)


def rate_rows(fmd, opensm, stub):
    rates = [rig.middle("rate") for rig in (fmd, opensm)]
    ceiling = stub.middle("rate")
    rate = table.Row(f"PathRecord Get, window {WINDOW}, {RATE_SIZE:,} HCAs", *rates, "/s", f"{rates[0] / rates[1]:.2f}",
                     f"≥ {RATE_BOUND}", rates[0] >= RATE_BOUND * rates[1])
    if wrong(fmd.samples):
        rate.spoil(f"{wrong(fmd.samples)} not answered with a path")
    p99 = table.share(f"{table.DETAIL}99th percentile", fmd.middle("p99_us") / 1e3, opensm.middle("p99_us") / 1e3, "ms",
                      P99_BOUND)
    reached = table.Row(f"{table.DETAIL}part of what a program reaches here that hands requests back unread "
                        f"({ceiling:,.0f}/s, 99th percentile {stub.middle('p99_us') / 1e3:.2g} ms)",
                        *(rate / ceiling for rate in rates))
    return [rate, p99, reached,
            table.share(f"{table.DETAIL}the manager's processor time a request, µs ({stub.middle('manager_us'):.2g} of them "
                        "to hand it back unread)", fmd.middle("manager_us"), opensm.middle("manager_us"), ""),
            table.Row(f"{table.DETAIL}{fmd.sim.kind}'s, in its one thread, µs", fmd.middle("ibsim_us"), opensm.middle("ibsim_us"))]


def unlimited(world, sim):
    return w.Fmd(world, sim, settings=NO_LIMIT)


def measure_rate(world, options):
    netfile = fabrics.generated(world, RATE_SIZE)
    makers = (unlimited, w.Opensm, lambda *where: Stub(*where, options))
    rigs = []
    try:
        for maker in makers:
            rigs.append(Rig(world, netfile, maker))
        for turn in range(options.repeat or BURSTS):
            for rig in rigs[::-1] if turn % 2 else rigs:
                rig.burst(options)
    finally:
        for rig in rigs:
            rig.close()
    return rigs


def rate(world, options):
    rigs = measure_rate(world, options)
    made = rate_rows(*rigs)
    table.readme(made[0])
    return made, {"size": RATE_SIZE, **{rig.sm.name: rig.samples for rig in rigs}}


def while_cut(world, options):
    netfile = fabrics.generated(world, CUT_SIZE)
    fmd, opensm = (measure_cutting(world, options, netfile, manager) for manager in (unlimited, w.Opensm))
    row = table.Row(f"PathRecord Get while cables are cut, {CUT_SIZE:,} HCAs: worst p99 of 0.1 s",
                    fmd["worst_p99_us"] / 1e3, opensm["worst_p99_us"] / 1e3, "ms", None, f"≤ {CUT_P99_MS} ms",
                    fmd["worst_p99_us"] <= CUT_P99_MS * 1000)
    if fmd["lost"]:
        row.spoil(f"{fmd['lost']} were not answered")
    return table.readme(row), {"size": CUT_SIZE, "fmd": fmd, "opensm": opensm}


def parts(world, options):
    return [p.Part(f"PathRecord Get, {RATE_SIZE:,} HCAs", PART_LIMIT_S, lambda: rate(world, options)),
            p.Part(f"PathRecord Get while cables are cut, {CUT_SIZE:,} HCAs", PART_LIMIT_S, lambda: while_cut(world, options))]
