# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""How long it takes after a fault until the tables are right again: fmd and OpenSM on the same fabric, with the same links cut.

fmd's figure is its own: from the trap (or the poll's answer) to the last acknowledged block of a proven change. OpenSM's
figure is from the trap to SUBNET UP, both by its log. The rig's floor is the time that as many SMPs take without any
computation (smp_floor.c). Links are cut one at a time and restored in between; the table has medians.
"A spine dies" cuts all its links at once. "The line card" cuts 200 links within a second.
"""
import collections
import os
import random
import re
import statistics
import subprocess
import sys
import time

import fabrics
import parts as p
import table
import world as w

SIZES = {"ibsim": (4096, 11664), "fmsim": (4096,)}
CABLES, OPENSM_CABLES = {4096: 5, 11664: 3}, {4096: 2, 11664: 1}  # cut one after the other
CABLE_MS, CABLE_FASTER = {4096: 20, 11664: 80}, {4096: 50, 11664: 300}
SMP_SLACK = 1.1
SPINE_MS = {4096: 150}
CARD_CABLES, CARD_S, CARD_MS, CARD_REROUTES = 200, 1.0, 500, 6
LOSS_PERCENT, LOSS_SIZE, LOSS_TIMES, LOSS_LIMIT_S = 10, 1024, 10, 60
READBACK_LIMIT_S = 15
LIMIT_S, ANSWER_LIMIT_S = 120, 60
OPENSM_LIMIT_S, PART_LIMIT_S, LOSS_PART_LIMIT_S = 180, 300, 90
FLOOR_WINDOWS = (16, 32, 64)
QUIET_S = 1.0
ANSWERED = r": (rerouted|answered) in "  # the latter: builds that a pair may compare with

Cable = collections.namedtuple("Cable", "node port peer peer_port")


class Plan:
    """The cables between switches of an ibnetdiscover file, leaves first named, and how many ports each switch has."""

    def __init__(self, netfile):
        self.ports, peers = {}, []
        with open(netfile) as lines:
            for line in lines:
                head = re.match(r'(Switch|Ca)\s+(\d+)\s+"([^"]+)"', line)
                if head:
                    node, is_switch = head[3], head[1] == "Switch"
                    if is_switch:
                        self.ports[node] = int(head[2])
                cable = re.match(r'\[(\d+)\](?:\([^)]*\))?\s+"([^"]+)"\[(\d+)\]', line)
                if cable and is_switch and "Aggregation Node" not in line:
                    peers.append(Cable(node, int(cable[1]), cable[2], int(cable[3])))
        leaves = {c.node for c in peers if c.peer not in self.ports}
        self.between = [c for c in peers if c.peer in self.ports]  # each cable twice
        self.cables = [c for c in self.between if c.node in leaves]
        self.first = peers[0].node  # where the managers sit, or next to it

    def far_cables(self, count):
        """Cables of leaves that are not the managers' own, spread over the fabric."""
        far = [c for c in self.cables if c.node != self.first]
        return [far[i * len(far) // count] for i in range(count)]

    def far_spine(self):
        return self.far_cables(2)[1].peer

    def line_card(self, count):
        return random.Random(1).sample([c for c in self.cables if c.node != self.first], count)


def say(text):
    print(f"  fault {text}", file=sys.stderr, flush=True)


def console(sim, *commands):
    sim.say(*commands)


def cut(cable):
    return f'Unlink "{cable.node}"[{cable.port}]'


def mend(cable):
    return f'Link "{cable.node}"[{cable.port}] "{cable.peer}"[{cable.peer_port}]'


# ---- fmd -----------------------------------------------------------------------------------------------------

def settle(fmd, links_down, limit_s=60):
    """The status once nothing is under way any more and so many links are down. Asked when the answer to what went before
    is over: who asks takes the processors away from those who are measured."""
    time.sleep(0.25)
    until, quiet = time.time() + limit_s, 0
    while True:
        status, smps = fmd.ask("status"), fmd.counts.smps()
        calm = status["state"] == "up" and status["links_down"] == links_down and smps == quiet
        if calm:
            return status
        if time.time() > until:
            raise w.BenchError(f"fmd does not come to rest: {status['state']}, {status['links_down']} links down")
        quiet = smps
        time.sleep(0.25)


def answered(fmd, mark, limit_s=60):
    """The processor time fmd has used when it says that a fault is answered; `mark` lines were there before."""
    until = time.time() + limit_s
    while not any(re.search(ANSWERED, line) for _, line in fmd.log.lines[mark:]):
        if time.time() > until:
            raise w.BenchError("fmd does not answer a cut cable")
        time.sleep(0.002)
    return w.run_us(fmd.process.pid)


def fmd_cable(fmd, sim, plan, cable):
    before, mark, cpu_us = fmd.counts.smps(), len(fmd.log.lines), w.run_us(fmd.process.pid)
    console(sim, cut(cable))
    cpu_us = answered(fmd, mark) - cpu_us
    status = settle(fmd, 1)
    fault = status["last_fault"]
    sample = {"ms": fault["detected_to_programmed_ms"], "entries": fault["lft_entries_changed"],
              "blocks": fault["lft_blocks_written"], "cpu_ms": cpu_us / 1e3, "smps": fmd.counts.smps() - before,
              "smps_allowed": (plan.ports[cable.node] + plan.ports[cable.peer] + 2 * fault["lft_blocks_written"]) * SMP_SLACK,
              "unreachable": status["proof"]["unreachable"]}
    console(sim, mend(cable))
    settle(fmd, 0)
    return sample


def fmd_spine(fmd, sim, plan, spine):
    """Until the last block of the last of what it was answered in, from the first trap."""
    mark = len(fmd.log.lines)
    cut_at = time.time()
    console(sim, f'Clear "{spine}"')
    cables = sum(c.node == spine for c in plan.between)
    settle(fmd, cables)
    answers = [when for when, line in fmd.log.lines[mark:] if re.search(ANSWERED, line)]
    if not answers:
        raise w.BenchError("fmd said nothing of the dead spine")
    return {"ms": (answers[-1] - cut_at) * 1e3, "reroutes": len(answers), "cables": cables}


def fmd_card(fmd, sim, cables):
    mark, began = len(fmd.log.lines), time.time()
    for i, cable in enumerate(cables):
        console(sim, cut(cable))
        time.sleep(max(0.0, began + (i + 1) * CARD_S / len(cables) - time.time()))
    last = time.time()
    status = settle(fmd, len(cables))
    answers = [when for when, line in fmd.log.lines[mark:] if re.search(ANSWERED, line)]
    sample = {"ms": (max(answers, default=last) - last) * 1e3, "reroutes": len(answers),
              "unreachable": status["proof"]["unreachable"]}
    console(sim, *map(mend, cables))
    settle(fmd, 0)
    return sample


def floor_ms(world, sim, program, smps):
    """The best of some windows, of each the middle of its rounds."""
    made = []
    for window in FLOOR_WINDOWS:
        run = subprocess.run([program, str(smps), str(window)], cwd=world.folder("floor"), stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, check=True, timeout=60, env={**os.environ, **sim.environment, "LD_PRELOAD": sim.library})
        made.append(statistics.median(map(float, run.stdout.split())))
    return min(made)


def measure_fmd(world, netfile, size, floor=None):
    plan, sim = Plan(netfile), w.simulator(world, netfile)
    try:
        fmd = w.Fmd(world, sim, settings="sweep_interval = 0;\naudit_after = 60.0;\n")
        try:
            fmd.wait_up(LIMIT_S)
            settle(fmd, 0)
            raw = {"cables": [fmd_cable(fmd, sim, plan, cable) for cable in plan.far_cables(CABLES[size])]}
            say(f"{size} fmd cables: " + ", ".join(f"{s['ms']:.1f} ms {s['smps']} SMPs" for s in raw["cables"]))
            if size in SPINE_MS:
                raw["card"] = fmd_card(fmd, sim, plan.line_card(CARD_CABLES))
                say(f"{size} fmd line card: {raw['card']}")
                raw["spine"] = fmd_spine(fmd, sim, plan, plan.far_spine())
                say(f"{size} fmd spine: {raw['spine']}")
        finally:
            fmd.close()
        if floor:
            raw["floor_ms"] = floor_ms(world, sim, floor, int(median(raw["cables"], "smps")))
            say(f"{size} rig floor: {raw['floor_ms']:.1f} ms")
    finally:
        sim.close()
    return raw


# ---- OpenSM --------------------------------------------------------------------------------------------------

def opensm_answer(osm, sim, command):
    """Milliseconds from the trap to SUBNET UP, and of processor time meanwhile."""
    cut_at, cpu_us = time.time(), w.run_us(osm.process.pid)
    console(sim, command)
    trap = osm.wait(r"num:128|Trap.*128", ANSWER_LIMIT_S, after=cut_at)
    up = osm.wait("SUBNET UP", ANSWER_LIMIT_S, after=trap)
    return {"ms": (up - trap) * 1e3, "cpu_ms": (w.run_us(osm.process.pid) - cpu_us) / 1e3}


def measure_opensm(world, netfile, size):
    """What it has within OPENSM_LIMIT_S; why it has no more. The first cable is left out: OpenSM's own paths lead over it, so that it would wait for a
    minute's time-outs on a rig that has any."""
    plan, sim, raw = Plan(netfile), w.simulator(world, netfile), {"cables": [], "spine": {"ms": None}, "why": None}
    try:
        osm = w.Opensm(world, sim)
        osm.ends = time.time() + OPENSM_LIMIT_S
        try:
            osm.wait_up(LIMIT_S)
            time.sleep(QUIET_S)
            for cable in plan.far_cables(CABLES[size])[1:1 + OPENSM_CABLES[size]]:
                raw["cables"].append(opensm_answer(osm, sim, cut(cable)))
                if size in SPINE_MS:
                    opensm_answer_to_mending(osm, sim, cable)
            say(f"{size} OpenSM cables: " + ", ".join(f"{s['ms']:.0f} ms" for s in raw["cables"]))
            if size in SPINE_MS:
                raw["spine"] = opensm_answer(osm, sim, f'Clear "{plan.far_spine()}"')
        except w.BenchError as why:
            raw["why"] = str(why)
            say(f"{size} {why}")
        finally:
            osm.close()
    finally:
        sim.close()
    return raw


def opensm_answer_to_mending(osm, sim, cable):
    """A link that comes up sends no trap in ibsim: the next sweep finds it, or the next cut's does."""
    mended = time.time()
    console(sim, mend(cable))
    osm.wait("SUBNET UP", ANSWER_LIMIT_S, after=mended)
    time.sleep(QUIET_S)


# ---- Lost packets --------------------------------------------------------------------------------------------

def lossy(sim, netfile, percent):
    with open(netfile) as lines:
        nodes = re.findall(r'^(?:Switch|Ca)\s+\d+\s+"([^"]+)"', lines.read(), re.M)
    console(sim, *(f'Error "{node}" {percent}' for node in nodes))


def all_active_s(fmd, sim, limit_s):
    """(seconds from start until ibsim has every link Active, its view of the links then)"""
    fmd.wait_up(limit_s)
    while True:
        links, passed = sim.links(), time.time() - fmd.started
        if set(links) == {"Active"} or passed > limit_s:
            return passed, links
        time.sleep(0.02)


def read_back(fmd):
    """Blocks that were not acknowledged are written again at growing intervals: some may be due."""
    until = time.time() + READBACK_LIMIT_S
    while True:
        try:
            return fmd.ask("check", "--readback")
        except w.BenchError:
            if time.time() > until:
                raise
        time.sleep(QUIET_S)


def measure_loss(world, netfile):
    """Bring-up without and with loss, to the last link and the last block."""
    made = []
    for percent in (0, LOSS_PERCENT):
        sim = w.simulator(world, netfile)
        try:
            lossy(sim, netfile, percent)
            fmd = w.Fmd(world, sim, settings="sweep_interval = 1.0;\naudit_after = 60.0;\n")
            try:
                up_s, links = all_active_s(fmd, sim, LOSS_LIMIT_S)
                lossy(sim, netfile, 0)
                readback = read_back(fmd)
                made.append({"up_s": up_s, "links": links, "differ": readback["differ"]})
            finally:
                fmd.close()
        finally:
            sim.close()
    say(f"loss: {made}")
    return made


# ---- Rows ----------------------------------------------------------------------------------------------------

def median(samples, key):
    return statistics.median(sample[key] for sample in samples) if samples else None


def rows(size, fmd, osm):
    ms, blocks = median(fmd["cables"], "ms"), int(median(fmd["cables"], "blocks"))
    made = [table.limit(f"one leaf-spine cable cut, {size:,} HCAs: trap to last block", ms, median(osm["cables"], "ms"),
                        "ms", CABLE_MS[size]),
            table.faster("— OpenSM's time to SUBNET UP over fmd's", ms, median(osm["cables"], "ms"), "ms",
                         CABLE_FASTER[size]),
            table.limit("— SMPs sent, of ports of both switches + blocks + 10%",
                        int(max(s["smps"] for s in fmd["cables"])), None, "",
                        int(min(s["smps_allowed"] for s in fmd["cables"])))]
    made.insert(1, table.share("— the manager's processor time", median(fmd["cables"], "cpu_ms"), median(osm["cables"], "cpu_ms"), "ms"))
    made[0].note = f"{int(median(fmd['cables'], 'entries')):,} entries in {blocks} blocks"
    if "floor_ms" in fmd:
        made.append(table.Row(table.DETAIL + "the rig's floor: as many SMPs, with nothing behind them", fmd["floor_ms"], None, "ms"))
    if any(s["unreachable"] for s in fmd["cables"]):
        made[0].spoil("pairs were left unreachable")
    if "spine" in fmd:
        made.append(table.limit(f"spine dies, {size:,} HCAs: cut to last block", fmd["spine"]["ms"], osm["spine"]["ms"],
                                "ms", SPINE_MS[size]))
    if "card" in fmd:
        made.append(table.limit(f"{CARD_CABLES} cables cut within a second, {size:,} HCAs: last cut to last block",
                                fmd["card"]["ms"], None, "ms", CARD_MS))
        made.append(table.limit("— reroutes in all", fmd["card"]["reroutes"], None, "", CARD_REROUTES))
    for row in made:
        if osm["why"] and row.opensm is None and row.what.startswith(("one leaf-spine", "spine dies")):
            row.lacks_opensm(osm["why"])
    table.readme(*(row for row in made if not row.what.startswith(table.DETAIL)))
    return made


def loss_row(clean, lost):
    row = table.limit(f"bring-up with {LOSS_PERCENT}% of MADs lost at every port, {LOSS_SIZE} HCAs, times that without",
                      lost["up_s"] / clean["up_s"], None, "", LOSS_TIMES)
    if lost["links"] != clean["links"] or lost["differ"]:
        row.spoil(f"links: {lost['links']}, {lost['differ']} blocks differ")
    return row


def with_size(world, options, size):
    netfile = fabrics.generated(world, size)
    floor = os.path.abspath(os.path.join(options.programs, "smp_floor"))
    fmd, osm = measure_fmd(world, netfile, size, floor), measure_opensm(world, netfile, size)
    return rows(size, fmd, osm), {"size": size, "fmd": fmd, "opensm": osm}


def with_loss(world):
    clean, lost = measure_loss(world, fabrics.generated(world, LOSS_SIZE))
    return [loss_row(clean, lost)], {"size": LOSS_SIZE, "clean": clean, "lost": lost}


def parts(world, options):
    made = [p.Part(f"faults, {size:,} HCAs", PART_LIMIT_S, lambda size=size: with_size(world, options, size), routed=True)
            for size in options.sizes or SIZES[w.rig().kind] if size in CABLE_MS]
    if w.rig() is w.Ibsim:  # the loss is ibsim's, at nodes
        made.append(p.Part(f"bring-up with {LOSS_PERCENT}% of MADs lost at every port, {LOSS_SIZE} HCAs", LOSS_PART_LIMIT_S, lambda: with_loss(world)))
    return made
