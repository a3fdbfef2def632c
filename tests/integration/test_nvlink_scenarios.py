# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What machines really say of their NVLinks, and what fmd makes of it: a table of scenarios, all played at once to one fmd.

A scenario is a machine (nvlink_player.py) with an exporter and steps: what happens, and the state that fmd should come to and stay in. The states are
what NVIDIA's documents and operators say of such a machine: whether jobs start (P2P whole, fabric manager done), links are down beside whole
P2P, or nobody can tell. Where documents leave two answers, either is right. A host without an exporter is known by its kernel's log alone.
"""
import itertools
import socket
import time

import pytest

from exporter import Exporters, says
from fabric import Fabric
from nvlink_player import (BLANK32, BLANK64, DRIVER_START, MASK_ROUTE_UNHEALTHY, OFF_AT_PROBE, OFF_THE_BUS, Machine, recovery_line,
                           sxid_line, xid_line)

pytestmark = pytest.mark.long

INTERVAL_S, STAYS = 0.3, 6  # answers that a state outlives
DEADLINE_S = 120  # a step that fails takes it whole; none that passes comes near
CONF = {"nvswitch_poll_interval": INTERVAL_S, "nvswitch_worsen_hold": 0.5, "nvswitch_recover_hold": 0.5,
        "nvswitch_timeout": 30, "nvswitch_guard": 100, "nvswitch_second_source": "never",
        "nvswitch_log_hold": 1}  # of older files: a fault in a log was over after that time
WELL, DEGRADED, NO_P2P, FATAL, UNKNOWN = "HEALTHY", "DEGRADED_LINK", "NO_P2P", "FATAL", "UNKNOWN"
BROKEN = (NO_P2P, FATAL)  # no job of several GPUs runs
ILL = (DEGRADED, *BROKEN)
NOT_ILL = (WELL, UNKNOWN)


def every(machine, value):
    return {gpu: value for gpu in range(machine.gpus)}


# ---- What happens to a machine


def does(**values):
    """Fields of the machine become these; a function is called with the machine for its value."""
    def step(play):
        for name, value in values.items():
            setattr(play.machine, name, value(play.machine) if callable(value) else value)
    return step


def nothing(play):
    pass


def logs(*lines):
    def step(play):
        for line in lines:
            play.log(line)
    return step


def default_counters(play):
    play.machine.asked = {"xid"}


def without(*fields):
    def step(play):
        play.machine.asked -= set(fields)
    return step


def with_summary(value):
    def step(play):
        play.machine.asked.add("summary")
        play.machine.summary = {**play.machine.summary, 2: value}
    return step


def blanks(play):
    """As exporters print them that are not NVIDIA's."""
    play.machine.fm = every(play.machine, BLANK32)
    play.machine.xid = every(play.machine, BLANK64)
    play.machine.recovery = every(play.machine, BLANK64 + 1)
    play.machine.reset = {switch: BLANK64 for switch in range(play.machine.switches)}
    play.machine.sxid = {switch: BLANK64 for switch in range(play.machine.switches)}


def p2p_blank(play):
    play.machine.p2p_blank = set(range(play.machine.gpus))
    name = play.machine.name("p2p")
    play.machine.extra = play.machine.family(name, ((play.machine.gpu_labels(gpu), BLANK64) for gpu in range(play.machine.gpus)))


def steps(*pairs):
    """(what happens, should), ..; the machine is well before."""
    return [(nothing, WELL), *pairs]


ALL_LOST = {"p2p_lost": lambda m: set(itertools.permutations(range(m.gpus), 2))}
DAY = [(does(xid={gpu: number}), WELL) for gpu, number in enumerate((13, 31, 43, 45, 94, 13))]
OFF_BUS = {"absent": {3}, "p2p_blank": set(range(8))}

# name: (kind of machine, DCGM release, steps)
SCENARIOS = {
    # well, each as its generation says it
    "A100, DCGM 3": ("A100", "3.3.9", steps()),
    "H100, DCGM 3": ("H100", "3.3.9", steps()),
    "H100, DCGM 4.2": ("H100", "4.2.3", steps()),
    "H100, DCGM 4.4": ("H100", "4.4.2", steps()),
    "A100 whose fabric manager status is 0": ("A100", "4.4.2", steps()),
    "H20": ("H20", "4.5.3", steps()),
    "B200": ("B200", "4.5.3", steps()),
    "H200 with the names of DCGM 4.6": ("H200", "4.6.0", steps()),
    "GB200 tray": ("GB200", "4.6.0", steps()),
    # no NVSwitches: nothing is expected
    "A100 cards": ("A100 PCIE", "4.4.2", [(nothing, NOT_ILL)]),
    "H100 NVL cards, blanks in the name replaced": ("H100 NVL", "4.4.2", [(does(model="NVIDIA-H100-NVL"), NOT_ILL)]),
    "L40S": ("L40S", "4.5.3", [(nothing, NOT_ILL)]),
    # the exporter was not told to ask
    "default counters say nothing": ("H100", "4.4.2", [(default_counters, UNKNOWN)]),
    "default counters and a crashed job": ("H100", "4.4.2", [(default_counters, UNKNOWN), (does(xid={5: 13}), UNKNOWN)]),
    # applications
    "a crashed job": ("H100", "4.4.2", steps((does(xid={5: 13}), WELL))),
    "a crashed job on GB200": ("GB200", "4.6.0", steps((does(xid={1: 31}, xid_counts={(1, 31): 4}), WELL))),
    "Xid 0 everywhere": ("H100", "4.4.2", steps((does(xid=lambda m: every(m, 0)), WELL))),
    "a day of crashed jobs": ("A100", "4.4.2", steps(*DAY)),
    "a day of crashed jobs, by counts": ("H20", "4.5.3", steps(
        *[(does(xid={gpu: number}, xid_counts={(gpu, number): 3}), WELL) for gpu, number in enumerate((13, 31, 43, 45, 94))])),
    # the Xid gauge stays
    "an old Xid 79, all else well": ("H100", "4.4.2", [(does(xid={2: 79}), WELL)]),
    "an old Xid 74, all else well": ("A100", "4.4.2", [(does(xid={2: 74}), WELL)]),
    "NVLink error, repaired, the gauge stays": ("H100", "4.5.3", steps(
        (does(xid={2: 74}, p2p_lost={(2, 0), (0, 2)}, recovery=lambda m: {**every(m, 0), 2: 1}), NO_P2P),
        (does(p2p_lost=set(), recovery=lambda m: every(m, 0)), WELL))),
    "NVLink error hidden by Xid 45": ("H100", "4.4.2", steps(
        (does(xid={2: 74}, p2p_lost={(2, 0), (0, 2)}), NO_P2P), (does(xid={2: 45}), NO_P2P))),
    "off the bus, hidden by Xid 154": ("H100", "4.5.3", steps(
        (does(xid={3: 79}, **OFF_BUS), BROKEN), (does(xid={3: 154}), BROKEN))),
    "recovery action remains when the Xid is hidden": ("H100", "4.5.3", steps(
        (does(xid={2: 74}, recovery=lambda m: {**every(m, 0), 2: 1}), BROKEN), (does(xid={2: 13}), BROKEN),
        (does(recovery=lambda m: every(m, 0)), WELL))),
    # the fabric manager
    "fabric manager never started": ("H100", "4.4.2", steps((does(fm=lambda m: every(m, 1), **ALL_LOST), FATAL))),
    "fabric manager never started, P2P not asked": ("H200", "4.2.3", steps((does(fm=lambda m: every(m, 1)), FATAL))),
    "fabric manager in progress, no P2P": ("H100", "4.4.2", steps((does(fm=lambda m: every(m, 2), **ALL_LOST), BROKEN))),
    "fabric manager in progress, P2P not asked": ("H100", "4.2.3", steps((does(fm=lambda m: every(m, 2)), ILL))),
    "fabric manager's status not recognised": ("B200", "4.4.2", steps((does(fm=lambda m: every(m, 5)), BROKEN))),
    "fabric manager's NVML too old": ("H100", "4.4.2", steps((does(fm=lambda m: every(m, 6)), BROKEN))),
    "fabric manager failed for all": ("H20", "4.4.2", steps((does(fm=lambda m: every(m, 4)), FATAL))),
    "fabric manager failed for one": ("H100", "4.4.2", steps((does(fm=lambda m: {**every(m, 3), 4: 4}), NO_P2P))),
    "fabric manager not started for one": ("H100", "4.4.2", steps((does(fm=lambda m: {**every(m, 3), 4: 1}), NO_P2P))),
    # MIG
    "H100 all in MIG": ("H100", "4.4.2", steps((does(mig=lambda m: every(m, 7)), WELL))),
    "H100 one in MIG": ("H100", "4.4.2", steps((does(mig={3: 7}), WELL), (does(mig={}), WELL))),
    "A100 MIG mode without instances": ("A100", "4.4.2", steps((does(mig={2: 0, 3: 0}), WELL))),
    "A100 one in MIG, P2P by pairs": ("A100", "4.4.2", steps((does(mig={3: 7}, pairs=True), WELL))),
    "A100 all in MIG": ("A100", "4.4.2", steps((does(mig=lambda m: every(m, 7)), WELL))),
    "B200 two in MIG": ("B200", "4.5.3", steps((does(mig={0: 4, 1: 4}), WELL))),
    "one in MIG and two others lost each other": ("H100", "4.4.2", steps(
        (does(mig={3: 7}), WELL), (does(p2p_lost={(0, 1), (1, 0)}), NO_P2P))),
    "56 instances on Kubernetes": ("H100", "4.5.3", [(does(kubernetes=True, mig=lambda m: every(m, 7), extra="pad 1\n" * 60000), WELL)]),
    # blank values in digits
    "P2P blank": ("H100", "4.4.2", steps((p2p_blank, NOT_ILL))),
    "one GPU's P2P blank, all else not asked": ("H100", "4.4.2", [
        (without("fm", "mask", "recovery", "link", "gpu_link", "reset"), WELL), (does(p2p_blank={2}), NOT_ILL)]),
    "one GPU's P2P blank, with the names of DCGM 4.6": ("H100", "4.6.0", [
        (without("fm", "mask", "recovery", "link", "gpu_link", "reset"), WELL), (does(p2p_blank={2}), NOT_ILL)]),
    "all blank but the bitmap": ("H100", "4.5.3", steps((blanks, WELL))),
    # things gone
    "a switch gone, links not asked": ("A100", "4.4.2", [
        (without("link", "gpu_link"), WELL), (does(switches_absent={4}), ILL)]),
    "four of eight GPUs gone": ("H100", "4.4.2", steps((does(absent={4, 5, 6, 7}), BROKEN))),
    "a GPU gone": ("B200", "4.5.3", steps((does(absent={6}, p2p_blank=set(range(8))), BROKEN))),
    # links beside whole P2P
    "a link off": ("H100", "4.4.2", steps((does(links_down={(2, 7): 0}), DEGRADED), (does(links_down={}), WELL))),
    "a link that was down before the exporter began": ("A100", "4.4.2", steps((does(links_down={(2, 7): None}), DEGRADED))),
    "a link in error, DCGM 3": ("A100", "3.3.9", steps((does(links_down={(0, 1): 3}), DEGRADED))),
    "a GPU's link off": ("GB200", "4.6.0", steps((does(gpu_links_down={(1, 5): 0}), DEGRADED), (does(gpu_links_down={}), WELL))),
    # P2P
    "a lost pair": ("A100", "4.4.2", steps((does(p2p_lost={(2, 0), (0, 2)}), NO_P2P), (does(p2p_lost=set()), WELL))),
    "a lost pair, by pairs": ("H100", "4.5.3", steps((does(p2p_lost={(2, 0)}, pairs=True), NO_P2P))),
    "a lost pair on H20": ("H20", "4.5.3", steps((does(p2p_lost={(2, 0)}), NO_P2P))),
    "a lost pair in a GB200 tray": ("GB200", "4.6.0", steps((does(p2p_lost={(1, 0)}), NO_P2P))),
    # what DCGM and the driver say themselves
    "a GPU wants a reset": ("H100", "4.5.3", steps((does(recovery=lambda m: {**every(m, 0), 1: 1}), BROKEN))),
    "a GPU wants a reboot": ("GB200", "4.6.0", steps((does(recovery=lambda m: {**every(m, 0), 1: 2}), BROKEN))),
    "a GPU's P2P is to be drained": ("B200", "4.5.3", steps((does(recovery=lambda m: {**every(m, 0), 1: 3}), ILL))),
    "a route is unhealthy": ("H100", "4.4.2", steps((does(mask=lambda m: {**m.mask, 1: MASK_ROUTE_UNHEALTHY}), ILL))),
    "bandwidth is degraded": ("GB200", "4.6.0", steps((does(mask=lambda m: {**m.mask, 1: 0x1A9}), ILL))),
    "the NVLink fabric is unhealthy": ("GB200", "4.6.0", [(with_summary(1), WELL), (with_summary(2), BROKEN)]),
    "the NVLink fabric is limited": ("B200", "4.6.0", [(with_summary(1), WELL), (with_summary(3), DEGRADED)]),
    "DCGM's own health watch": ("H100", "4.4.2", steps((does(health={2: ("NVLINK", "DCGM_FR_NVLINK_DOWN", 20)}), ILL))),
    "DCGM's health watch of something else": ("H100", "4.4.2", steps((does(health={2: ("PCIE", "DCGM_FR_PCI_REPLAY_RATE", 20)}), WELL))),
    "a switch wants a reset": ("H100", "3.3.9", steps((does(reset={2: 1}), FATAL))),
}
LOGGED = {
    # kernel lines, of a host without an exporter, which is UNKNOWN until one tells of its NVLinks
    "a crashed job": [(logs(xid_line("0000:34:00", 13)), UNKNOWN), (logs(xid_line("0000:34:00", 31)), UNKNOWN)],
    "a job killed": [(logs("NVRM: Xid (PCI:0000:34:00): 45, Ch 00000010"), UNKNOWN)],
    "a contained error in MIG": [(logs("NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: SM (0x1)"), UNKNOWN)],
    "off the bus, without an Xid": [(logs(OFF_THE_BUS), BROKEN), (logs(DRIVER_START), WELL)],
    "off the bus at probe": [(logs(*OFF_AT_PROBE), BROKEN)],
    "Xid 79": [(logs(xid_line("0000:34:00", 79, "pid=1, name=x, GPU has fallen off the bus.")), BROKEN)],
    "the driver wants a GPU reset": [(logs(recovery_line(1, "GPU Reset Required")), BROKEN)],
    "the driver wants a reboot": [(logs(recovery_line(2, "Node Reboot Required")), BROKEN)],
    "the driver wants nothing any more": [
        (logs(recovery_line(1, "GPU Reset Required")), BROKEN),
        (logs(xid_line("0000:43:00", 154, "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)")), WELL)],
    "a switch too hot": [(logs(sxid_line(1, 10006, "TSENSE OVERT Threshold reached. Shutting Down")), FATAL)],
    "a switch without firmware": [(logs(sxid_line(1, 10008, "Fatal, Firmware initialization failure (0x1)")), FATAL)],
    "a switch's processor halted": [(logs(sxid_line(1, 26006, "SOE HALTED")), FATAL)],
    "a switch's link fell": [(logs(sxid_line(2, 20034, "Fatal, Link 30 LTSSM Fault Up"), sxid_line(
        2, 20034, "Severity 1 Engine instance 30 Sub-engine instance 00")), NO_P2P)],
    "non-fatal, once": [(logs(sxid_line(2, 12028, "Non-fatal, Link 61 egress non-posted PRIV error (First)")), UNKNOWN)],
    "an NVLink5 error of GB200": [(logs("NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 0x0)"),
                                   ILL)],
    "a job's own NVLink5 error": [(logs("NVRM: Xid (PCI:0009:01:00): 145, RLW_REMAP Nonfatal XC0 i0 Link 00 (0x4 0x4 0x0)",
                                        xid_line("0009:01:00", 45)), UNKNOWN)],
    "an NVLink5 error, and the driver wants a reset": [
        (logs("NVRM: Xid (PCI:0009:01:00): 145, RLW_REMAP Nonfatal XC0 i0 Link 00 (0x4 0x4 0x0)",
              recovery_line(1, "GPU Reset Required", "0009:01:00")), BROKEN)],
    "training failed": [(logs(xid_line("0000:34:00", 136, "ALI training failure")), ILL)],
    "uncontained": [(logs(xid_line("0000:34:00", 95, "pid=7062, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No")), BROKEN),
                    (logs("GPU reset executed: GPU-c43f0536-0000-0000-0000-000000000000, success: true"), WELL)],
    "the fabric manager does not start": [(logs(
        "detected number of NVSwitches don't match with any supported system topology, aborting fabric manager"), FATAL)],
}


class Play:
    """A scenario under way: `go` is called again and again until it is over."""

    def __init__(self, world, host, machine, plan):
        self.world, self.host, self.machine, self.plan = world, host, machine, plan
        self.did, self.at = [], -1
        self.begin()

    def begin(self):
        self.at += 1
        if self.at == len(self.plan):
            return
        self.plan[self.at][0](self)
        if self.machine:
            self.world.exporters.say(self.host, self.machine.text())
        self.began, self.asked, self.since = time.monotonic(), self.answers(), None

    def answers(self):
        return self.world.exporters.asked[self.host] if self.machine else int((time.monotonic() - self.world.began) / INTERVAL_S)

    def log(self, line):
        self.world.log(self.host, line)

    def over(self):
        return self.at == len(self.plan)

    def go(self, state):
        """The state has to come, and to outlive STAYS answers."""
        should = self.plan[self.at][1]
        holds = state == should or state in should and isinstance(should, tuple)
        late = time.monotonic() - self.began > DEADLINE_S
        if holds and self.since is None:
            self.since = self.answers()
        elif not holds:
            self.since = None
        if late or (holds and self.answers() - max(self.since, self.asked) > STAYS):
            self.did.append(state)
            self.begin()

    def should(self):
        return [" or ".join(s) if isinstance(s, tuple) else s for _, s in self.plan]

    def as_told(self):
        return all(state == should or isinstance(should, tuple) and state in should
                   for state, (_, should) in zip(self.did, self.plan))


class First:
    def __init__(self, machine):
        self.machine = machine


class World:
    def __init__(self, scratch, net):
        self.hosts = {name: f"box-{n:02}" for n, name in enumerate(SCENARIOS)}
        self.logged = {name: f"dgx-su01-{n + 1:02}" for n, name in enumerate(LOGGED)}
        self.exporters = Exporters(self.hosts.values())
        self.socket = scratch / "log.sock"
        self.fabric = Fabric(scratch, net, nvswitch_hosts_file=self.exporters.write_hosts(scratch / "hosts"),
                             log_socket=str(self.socket), **CONF)
        self.began = time.monotonic()
        for name, host in self.hosts.items():
            kind, release, plan = SCENARIOS[name]
            first = First(Machine(kind, release, host))
            plan[0][0](first)  # fmd meets the machine like this
            self.exporters.say(host, first.machine.text())
        self.fabric.start_fmd("H-0002c90380000100")
        self.fabric.wait_up()

    def log(self, host, line):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as out:
            out.connect(str(self.socket))
            out.sendall(f"<3>Nov 21 01:02:03 {host} kernel: {line}\n".encode())

    def play(self):
        plays = {}
        for name, host in self.hosts.items():
            kind, release, plan = SCENARIOS[name]
            plays[name] = Play(self, host, Machine(kind, release, host), plan)
        for name, host in self.logged.items():
            plays[f"log: {name}"] = Play(self, host, None, LOGGED[name])
        left = dict(plays)
        while left:
            rows = {row["host"]: row["state"] for row in self.fabric.ask("nvswitch")["hosts"]}
            for play in left.values():
                play.go(rows.get(play.host, "absent"))
            left = {name: play for name, play in left.items() if not play.over()}
            time.sleep(0.05)
        return plays


@pytest.fixture(scope="module")
def world(pod_net, tmp_path_factory):
    it = World(tmp_path_factory.mktemp("scenarios"), pod_net)
    try:
        it.played = it.play()
        yield it
    finally:
        it.fabric.stop()
        it.exporters.stop()


@pytest.mark.parametrize("name", [*SCENARIOS, *(f"log: {name}" for name in LOGGED)])
def test_fmd_comes_to_the_state_that_a_machine_is_in(world, name):
    play = world.played[name]
    assert play.as_told(), f"should: {' > '.join(play.should())}; did: {' > '.join(play.did)}"


def test_an_exporter_with_default_counters_is_told_which_fields_are_missing_and_what_for(world):
    host = world.hosts["default counters say nothing"]
    said = world.fabric.fmctl("nvswitch", host).stdout
    for field, unknown in (("P2P_NVLINK_STATUS", "whether GPUs reach each other by NVLink"), ("MIG_MODE", "(MIG)"),
                           ("FABRIC_MANAGER_STATUS", "whether the fabric manager has set up the GPUs")):
        assert any(f"DCGM_FI_DEV_{field}" in line and unknown in line for line in said.splitlines()), said
