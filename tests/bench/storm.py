# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A link is cut while hosts ask the SA for twice as many paths as it answers: what that takes from the reroute.

On fmsim. How many paths a second fmd answers is measured first, then links are cut in three states by turns: in quiet; while twice as many requests
go to another host, whom they do not concern ("beside": what fmsim, the sender and two processors cost); while they go to fmd. fmd and fmsim are asked for the
same links in each. From the trap to the last Set(LinearForwardingTable) counts what a library in front of libibumad sees (count_reroute.c): the processor time of
fmd's thread, which is what a storm can take where fmd has a processor of its own; the wall time, and without the time that the thread stood in line for
a processor. sa_rate_limit is off: it would refuse a storm of one host. Counters are read as they
are by default: their answers share the window of SMPs.
"""
import json
import os
import statistics
import struct
import subprocess
import sys
import time

import fabrics
import fault
import parts as p
import sa
import table
import world as w

SIZES = (11664,)
TURNS, CUTS = 5, 3  # of each state; cables a turn
RATE_TRY, RATE_S = 1000000, 2
TIMES = 2
BOUND = 1.1
LIMIT_S, PART_LIMIT_S = 120, 900
STORM_S = 600  # ended before
WARM_S = 0.5
LFT = 0x19
CALM_S = 0.6  # nothing written for so long; longer than count_reroute.c's QUIET_NS
STATES = ("quiet", "beside", "storm")
MOMENT = ("wall_ns", "cpu_ns", "wait_ns", "requests", "answers")
RECORD = struct.Struct("=11Q")


def say(text):
    print(f"  storm {text}", file=sys.stderr, flush=True)


def start_storm(rig, seconds, rate, lid=None):
    program = sa.program_path(rig.options, "sa_storm")
    environment = {**os.environ, **rig.sim.environment, "LD_PRELOAD": rig.sim.library, "FMSIM_NODE": rig.sender}
    return rig.world.start([program, str(seconds), str(rate), *([str(lid)] if lid else ())], env=environment,
                           stdout=subprocess.PIPE, cwd=rig.world.folder("sa_storm"))


class Rig:
    """fmd on a fabric in fmsim, hosts that ask it and one that is asked in its place."""

    def __init__(self, world, options, size):
        netfile = fabrics.generated(world, size)
        self.world, self.options, self.plan = world, options, fault.Plan(netfile)
        self.sender = sa.hosts(netfile)[0][-1]
        self.sim, self.fmd = w.Fmsim(world, netfile), None
        try:
            self.fmd = w.Fmd(world, self.sim, settings=sa.NO_LIMIT + "sweep_interval = 0;\nrebalance = 0;\n")
            self.fmd.wait_up(LIMIT_S)
            self.settle(0)
        except BaseException:
            self.close()
            raise

    def tell(self, command):
        subprocess.run([self.sim.program, "-c", self.sim.name, "--tell", command], check=True, stdout=subprocess.DEVNULL,
                       timeout=60)

    def settle(self, links_down):
        """Until nothing is under way; who asks takes the processors from those measured, so this is after the fault."""
        until, before = time.time() + 60, None
        while True:
            time.sleep(CALM_S)
            status, written = self.fmd.ask("status"), self.fmd.counts.sent(w.SET, LFT)
            if status["state"] == "up" and status["links_down"] == links_down and written == before:
                return status
            before = written
            if time.time() > until:
                raise w.BenchError(f"fmd does not come to rest: {status['state']}, {status['links_down']} links down")

    def record(self):
        with open(self.fmd.environment["COUNT_UMAD_REROUTE"], "rb") as file:
            figures = RECORD.unpack(file.read(RECORD.size))
        n = len(MOMENT)
        return {**{key: figures[n + i] - figures[i] for i, key in enumerate(MOMENT)}, "sets": figures[2 * n], "trap": figures[0]}

    def cut(self, cable):
        before, late = self.record()["trap"], self.fmd.ask("status")["smps_timed_out"]
        self.tell(f"unlink {cable.node}:{cable.port}")
        status, sample = self.settle(1), self.record()
        if sample["trap"] == before:
            raise w.BenchError("no table was written after the cut")
        sample["smps_timed_out"] = status["smps_timed_out"] - late
        self.tell(f"link {cable.node}:{cable.port}")
        self.settle(0)
        return sample

    def close(self):
        if self.fmd:
            self.fmd.close()
        self.sim.close()


def answered_per_s(rig):
    process = start_storm(rig, RATE_S, RATE_TRY)
    out = json.loads(process.communicate(timeout=RATE_S + 60)[0])
    rig.world.processes.remove(process)
    say(f"flood: {out}")
    return out["answered_per_s"]


def turn(rig, state, cables, rate):
    lids = {"quiet": None, "storm": None, "beside": rig.bystander}
    process = start_storm(rig, STORM_S, rate, lids[state]) if state != "quiet" else None
    try:
        time.sleep(WARM_S)
        samples = [rig.cut(cable) for cable in cables]
    finally:
        if process:
            rig.world.stop(process)
            process.stdout.close()
    for sample in samples:
        say(f"{state}: processor {sample['cpu_ns'] / 1e6:.1f} ms, wall {sample['wall_ns'] / 1e6:.1f} ms, in line for a processor "
            f"{sample['wait_ns'] / 1e6:.1f} ms; {sample['requests']} requests taken, {sample['answers']} answered, {sample['sets']} blocks, "
            f"{sample['smps_timed_out']} SMPs late")
    return samples


def a_bystander(rig):
    """LID of an adapter where nobody takes requests to the SA."""
    lids = [node["lid"] for node in rig.fmd.ask("nodes") if node["type"] == "ca" and node["role"] == "host"]
    return lids[len(lids) // 2]


def measure(world, options, size):
    rig = Rig(world, options, size)
    try:
        rig.bystander = a_bystander(rig)
        rate = TIMES * answered_per_s(rig)
        rig.settle(0)
        turns = options.repeat or TURNS
        cables, samples = rig.plan.far_cables(turns * CUTS), {state: [] for state in STATES}
        for i in range(turns):
            for state in STATES if i % 2 == 0 else STATES[::-1]:
                samples[state] += turn(rig, state, cables[i * CUTS:(i + 1) * CUTS], rate)
        return {"rate": rate, **samples}
    finally:
        rig.close()


def middle(samples, key):
    return statistics.median(key(sample) for sample in samples) / 1e6


def cpu(sample):
    return sample["cpu_ns"]


def wall(sample):
    return sample["wall_ns"]


def own_wall(sample):
    return sample["wall_ns"] - sample["wait_ns"]


def rows(size, made):
    quiet, beside, storm = (middle(made[state], cpu) for state in STATES)
    row = table.Row(f"reroute beside {made['rate']:,.0f} requests to the SA a second, {size:,} HCAs: fmd's processor time", storm, None, "ms",
                    f"{storm / quiet:.2f} of {quiet:.3g} ms", f"≤ {BOUND}", storm <= BOUND * quiet)
    taken = statistics.median(sample["requests"] for sample in made["storm"])
    result = [row, table.Row(f"{table.DETAIL}requests taken meanwhile", int(taken)),
              table.Row(f"{table.DETAIL}processor time beside as many requests to another host", beside, None, "ms", f"{beside / quiet:.2f}")]
    for what, key in (("trap to last block", wall), ("the same, less waiting for a processor", own_wall)):
        quiet, beside, storm = (middle(made[state], key) for state in STATES)
        result.append(table.Row(f"{table.DETAIL}{what} ({quiet:.3g} ms in quiet, {beside:.3g} ms beside the other host's)", storm, None, "ms",
                                f"{storm / quiet:.2f}"))
    return result


def with_size(world, options, size):
    made = measure(world, options, size)
    shown = rows(size, made)
    table.readme(shown[0])
    return shown, {"size": size, **made}


def parts(world, options):
    return [p.Part(f"reroute beside a storm of requests, {size:,} HCAs", PART_LIMIT_S, lambda size=size: with_size(world, options, size))
            for size in options.sizes or SIZES]
