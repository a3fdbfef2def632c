# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Two subnet managers on one fabric: fmd and fmd, fmd and OpenSM. One of them changes it, the other waits."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import pytest

from fabric import end_process, poll, tail

sys.path.append(str(pathlib.Path(__file__).parents[1] / "lib"))
import far_judge

HERE, THERE = "H-0002c90380000100", "H-0002c9038000ff00"
UNDAMPED = {"master_sm_priority": 0}  # the highest priority is master at any time
FAST = {"sminfo_polling_timeout": 1500}  # 4.5 s of silence: a busy machine is not taken for a dead one


class Opensm:
    """At a node of the simulated fabric, with a log that is flushed line by line (-d2)."""

    def __init__(self, fabric, host, priority):
        folder = fabric.folder("opensm")
        self.log = folder / "osm.log"
        environment = {**fabric.environment(host), "OSM_TMP_DIR": str(folder), "OSM_CACHE_DIR": str(folder)}
        self.process = subprocess.Popen(["opensm", "-R", "ftree", "-p", str(priority), "-s", "1", "-f", self.log, "-d2"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        cwd=folder, env=environment)

    def said(self, pattern):
        return re.search(pattern, self.log.read_text(errors="replace")) if self.log.exists() else None

    def wait(self, pattern):
        def holds():
            assert self.process.poll() is None, f"opensm ended:\n{tail(self.log)}"
            return self.said(pattern)

        try:
            poll(holds, f"OpenSM says {pattern}")
        except AssertionError as late:
            raise AssertionError(f"{late}:\n{tail(self.log)}") from None

    def sweep(self):
        """A whole one, as trap 144 makes it when a port comes to be a manager's: fmsim does not send that, and by itself OpenSM looks at switches only."""
        self.process.send_signal(signal.SIGHUP)

    def stop(self):
        end_process(self.process)


@pytest.fixture
def second(start):
    """second(fabric, **conf): another fmd's side of it; opensm(fabric, host, priority): OpenSM. Both end with the test."""
    mine = []

    def begin(fabric, **conf):
        mine.append(fabric.another(**conf))
        return mine[-1]

    try:
        yield begin
    finally:
        for it in mine:
            it.stop()


@pytest.fixture
def opensm(start):
    mine = []

    def begin(fabric, host, priority):
        mine.append(Opensm(fabric, host, priority))
        return mine[-1]

    if not shutil.which("opensm"):
        pytest.skip("opensm is not installed")
    try:
        yield begin
    finally:
        for it in mine:
            it.stop()


def managed(status):
    return status["sm"] == "master" and status["state"] == "up"


def all_reached(fabric):
    reached, pairs = fabric.pairs_reached()
    return reached == pairs > 0


def held(fabric):
    """What switches and ports hold: tables and LIDs."""
    ports, tables = fabric.simulated_tables()
    return tables, {end: port["lid"] for end, port in ports.items()}


def took_over(fabric):
    return [event for event in fabric.ask("events", "-n", "100") if event["kind"] == "take-over"]


@pytest.mark.on_ibsim("SMInfo, both ways")
def test_the_second_fmd_stands_by_and_takes_over_without_a_write(start, pod_net, second):
    master = start(pod_net, HERE)
    before = held(master)
    standby = second(master, **FAST)
    standby.start_fmd(THERE)
    standby.wait(lambda s: s["sm"] == "standby", "it stands by")
    assert standby.status()["election"]["master"]["priority"] == 14
    refused = standby.fmctl("reroute", check=False)
    assert refused.returncode == 1 and "is standby" in refused.stderr, refused
    assert "standby" in standby.fmctl("status").stdout
    assert held(master) == before
    assert master.stop_fmd() == 0
    status = standby.wait(managed, "it has taken over")
    assert status["lft_blocks_written"] == 0
    assert held(master) == before
    assert all_reached(standby)
    told = took_over(standby)
    assert len(told) == 1 and told[0]["lft_blocks_written"] == 0 and told[0]["silent_ms"] == 0  # handed over
    print("taken over after", told[0]["silent_ms"], "ms of silence in", told[0]["took_ms"], "ms")


def observes(status):
    return status["role"] == "observer" and status["state"] == "observing"


def sets(fabric):
    """Sets that devices got, by management class, as fmsim counts them."""
    return fabric.ibsim.tell("sets")


def test_an_observer_beside_a_master_sets_nothing_and_shows_its_tables(start, pod_net, second):
    master = start(pod_net, HERE)
    before, sent = held(master), sets(master)
    observer = second(master, observe=True, sm_priority=15)
    observer.start_fmd(THERE)
    status = observer.wait(observes, "it observes")
    assert status["switches"] == master.status()["switches"] and status["proof"]["unreachable"] == 0
    refused = observer.fmctl("reroute", check=False)
    assert refused.returncode == 1 and "is an observer" in refused.stderr, refused
    assert held(master) == before and sets(master) == sent
    assert managed(master.status())
    assert not master.status()["election"]["others"], "the observer shows no IsSM"


def packing(fabric):
    """Of the first switch, as fmsim has drawn it."""
    line = fabric.ibsim.tell("adaptive").splitlines()[0]
    return {name: int(value) for name, value in re.findall(r"((?:lft|group)_\w+) (\d+)", line)}


@pytest.mark.parametrize("seed", [5, 6])
def test_an_observer_learns_the_packing_and_sets_nothing(start, pod_net, second, seed):
    former = start(pod_net, HERE)
    assert former.stop_fmd() == 0
    former.ibsim.tell(f"adaptive able {seed}")
    former.ibsim.tell(f"adaptive run {seed}")
    sent = former.ibsim.tell("sets")
    observer = second(former, observe=True)
    observer.start_fmd(THERE)
    observer.wait(lambda status: status["state"] == "observing", "it observes")
    found, drawn = observer.ask("probe", "ar"), packing(former)
    assert len(found) == 1 and found[0]["result"] in ("found", "no groups"), found
    assert found[0]["lft"]["bit"] == drawn["lft_block"], (found, drawn)
    right, judged = found[0]["lft"]["agree"].split("/")
    assert right == judged and int(judged) >= 8, found
    if found[0]["result"] == "found":
        assert found[0]["group"]["bit"] == drawn["group_block"], (found, drawn)
    shown = observer.fmctl("probe", "ar", "leaf-su01-rail0").stdout
    assert shown.startswith("DEVICE") and "1/1" in shown, shown
    assert {row["ar"] for row in observer.ask("switches")} == {"on"}
    for kind in ("noise", "garbage", "same", "refuses"):
        former.ibsim.tell(f"adaptive answers {kind}")
        assert observer.ask("probe", "ar")[0]["result"] in ("found earlier", "not found"), kind
    again = observer.fmctl("probe", "sharp", check=False)
    assert again.returncode == 1 and "ar is expected" in again.stderr, again
    assert not observer.status()["alerts"], observer.status()["alerts"]
    assert former.ibsim.tell("sets") == sent, "the probe sends Gets alone"


def held_groups(fabric, lids):
    """As far_judge.read() has it, of these LIDs, from the blocks of fmsim's switches."""
    (fabric.scratch / "blocks").unlink(missing_ok=True)
    fabric.ibsim.tell(f"adaptive write {fabric.scratch / 'blocks'}")
    guids, switches, steps = {node["name"]: int(node["guid"], 16) for node in fabric.ask("switches")}, {}, {}
    for name, count, way in re.findall(r"^(.*): on, sub-groups (\d+),.* (stacked|interleaved),", fabric.ibsim.tell("adaptive"), re.M):
        steps[guids[name]] = 1 if way == "stacked" else int(count)
    for line in (fabric.scratch / "blocks").read_text().splitlines():
        guid, kind, block, data = line.split()
        groups, entries = switches.setdefault(int(guid, 16), ({}, {}))
        block, data = int(block), bytes.fromhex(data)
        for at in range(2) if kind == "groups" else ():
            group, rest = divmod(2 * block + at, steps[int(guid, 16)])
            mask = int.from_bytes(data[32 * at:32 * at + 32], "big")
            if mask and not rest:
                groups[group] = {port for port in range(256) if mask >> port & 1}
        for at in range(16) if kind == "entries" else ():
            lid, entry = 16 * block + at, data[4 * at:4 * at + 4]
            if lid in lids and entry[1] != 255:
                entries[lid] = entry[1], int.from_bytes(entry[2:], "big") if entry[0] >> 6 == 1 else None
    return switches


def test_what_was_probed_forwards_by_groups_when_adaptive_routing_is_on(start, pod_net, second):
    former = start(pod_net, HERE)
    assert former.stop_fmd() == 0
    former.ibsim.tell("firmware leaf-su01-rail0 35.1.1")
    former.ibsim.tell("adaptive able 5")
    former.ibsim.tell("adaptive run 5")
    fabric = second(former, observe=True)
    fabric.start_fmd(THERE)
    fabric.wait(observes, "it observes")
    drawn = {int(bit) for bit in re.findall(r"lft_block (\d+)", fabric.ibsim.tell("adaptive"))}
    found = fabric.ask("probe", "ar")
    assert {row["result"] for row in found} == {"found"} and "35.1.0001" in {row["firmware"] for row in found}, found
    assert {row["lft"]["bit"] for row in found} == drawn and len(found) == len(drawn) == 2, (found, drawn)
    assert fabric.stop_fmd() == 0
    fabric.write_conf(adaptive_routing="on")
    fabric.start_fmd(THERE)
    fabric.wait_up()
    fabric.wait(lambda status: {row["ar"] for row in fabric.ask("switches")} == {"on"}, "all switches have it on")
    assert ": off," not in fabric.ibsim.tell("adaptive") and not fabric.status()["alerts"], fabric.status()["alerts"]
    fabric.wait(lambda status: {row.get("out_of_order_sls") for row in fabric.ask("nodes") if "host" in row} == {"0xffff"}, "HCAs have the masks")
    assert fabric.ask("show", "dgx-su01-05 mlx5_0")["ports"][0]["adaptive_timeout_sls"] == "0xffff"
    assert "OUT OF ORDER" in fabric.fmctl("nodes", "dgx-su01-05").stdout
    hop = fabric.ask("path", "dgx-su01-01 mlx5_0", "dgx-su01-05 mlx5_3")["hops"][1]
    entry = next(row for row in fabric.ask("lft", hop["name"])["entries"] if row["to"] == "dgx-su01-05 mlx5_3")
    assert entry["choice"] == hop["choice"] and entry["choice"].startswith("one of "), (entry, hop)
    assert f"{entry['choice']}\n" in fabric.fmctl("lft", hop["name"]).stdout
    dump = fabric.dump()
    far = far_judge.read(dump / "fmd.far")
    held = held_groups(fabric, set(fabric.lids().values()))
    assert far.keys() == held.keys()
    for guid, (groups, entries) in far.items():
        assert entries == held[guid][1] and {group for _, group in entries.values()} - {None} <= groups.keys()
        assert groups.items() <= held[guid][0].items()  # others are the former manager's
    verdict = far_judge.judge(pod_net, dump / "fmd.far", dump / "opensm-lfts.dump")
    assert verdict.sound and verdict.pairs == 8 * 256 and verdict.free > 256, vars(verdict)
    fabric.write_conf()
    fabric.fmd.send_signal(signal.SIGHUP)
    fabric.wait(lambda status: {row["ar"] for row in fabric.ask("switches")} == {"off"}, "no switch has it on")
    assert ": on," not in fabric.ibsim.tell("adaptive")
    assert not (fabric.dump() / "fmd.far").exists() and "choice" not in str(fabric.ask("lft", hop["name"]))


@pytest.mark.parametrize("how", [None, signal.SIGKILL, signal.SIGTERM], ids=["whole", "killed", "ended"])
def test_a_new_fabric_is_calibrated_and_who_ends_meanwhile_leaves_nothing_on(start, pod_net, how):
    """Nobody has adaptive routing on: one leaf shows how its kind of device is written, before its HCAs are up."""
    fabric = start(pod_net, fmd=False, adaptive_routing="calibrate")
    fabric.ibsim.tell("adaptive able 5")
    fabric.start_fmd(HERE)
    if how:
        poll(lambda: ": on," in fabric.ibsim.tell("adaptive"), "a leaf, or all switches, are on")
        fabric.stop_fmd(how)
        fabric.write_conf()
        fabric.start_fmd(HERE)
        fabric.wait_up()
        fabric.wait(lambda status: ": on," not in fabric.ibsim.tell("adaptive"), "no switch has it on")
        poll(lambda: not json.loads(fabric.ibsim.tell("judge --json"))["dead"], "all pairs are alive")
        return
    fabric.wait_up()
    fabric.wait(lambda status: "on" in {row["ar"] for row in fabric.ask("switches")}, "that leaf has joined, the others are asked in quiet")
    found = fabric.ask("probe", "ar")[0]
    assert (found["lft"]["bit"], found["group"]["bit"]) == (packing(fabric)["lft_block"], packing(fabric)["group_block"]), found
    poll(lambda: not json.loads(fabric.ibsim.tell("judge --json"))["dead"], "all pairs are alive")


@pytest.mark.long
def test_an_observer_beside_opensm_sets_nothing_and_is_not_logged(start, pod_net, opensm):
    fabric = start(pod_net, fmd=False, observe=True, sm_priority=15)
    other = opensm(fabric, THERE, 0)
    other.wait("SUBNET UP")
    before, sent, logged = held(fabric), sets(fabric), other.log.read_text(errors="replace")
    fabric.start_fmd(HERE)
    status = fabric.wait(observes, "it observes")
    assert status["proof"]["unreachable"] == 0
    assert held(fabric) == before and sets(fabric) == sent
    assert not re.search("ERR|STANDBY|HANDOVER", other.log.read_text(errors="replace")[len(logged):])


@pytest.mark.long
def test_a_killed_master_is_followed_without_a_write(start, pod_net, second):
    master = start(pod_net, HERE)
    before = held(master)
    standby = second(master, **FAST)
    standby.start_fmd(THERE)
    standby.wait(lambda s: s["sm"] == "standby", "it stands by")
    master.stop_fmd(signal.SIGKILL)
    status = standby.wait(managed, "it has taken over")
    assert status["lft_blocks_written"] == 0 and status["role_changes"] == 1
    assert held(standby) == before
    assert took_over(standby)[0]["silent_ms"] > 0


def test_a_higher_fmd_that_comes_later_takes_nothing(start, pod_net, second):
    lower = start(pod_net, HERE, **FAST)
    before = held(lower)
    higher = second(lower, sm_priority=9, **FAST)
    higher.start_fmd(THERE)
    higher.wait(lambda s: s["sm"] == "standby", "it stands by")
    lower.wait(lambda s: [o["state"] for o in s["election"]["others"]] == ["standby"], "the master knows of it")
    assert managed(lower.status()) and held(lower) == before
    lower.write_conf(sm_priority=3, **FAST)
    assert lower.fmctl("reload").returncode == 0
    lower.wait(lambda s: managed(s) and s["election"]["priority"] == 14, "more than it was is no wish to hand over")
    lower.write_conf(sm_priority=1, **FAST)
    lower.fmctl("reload")
    higher.wait(managed, "it was handed the fabric")
    lower.wait(lambda s: s["sm"] == "standby", "and stays behind it")
    assert held(lower) == before


def test_an_operator_hands_over_and_back(start, pod_net, second):
    one = start(pod_net, HERE, **FAST)
    before = held(one)
    alone = one.fmctl("handover", check=False)
    assert alone.returncode == 1 and "no other subnet manager" in alone.stderr, alone
    two = second(one, **FAST)
    two.start_fmd(THERE)
    one.wait(lambda s: [o["state"] for o in s["election"]["others"]] == ["standby"], "the master knows of it")
    name = one.status()["election"]["others"][0]["name"]
    nobody = one.fmctl("handover", "nobody", check=False)
    assert nobody.returncode == 1 and "no node matches 'nobody'" in nobody.stderr, nobody
    elsewhere = one.fmctl("handover", "dgx-su01-03", check=False)
    assert elsewhere.returncode == 1 and "no other subnet manager is known at" in elsewhere.stderr, elsewhere
    works = two.fmctl("takeover", two.status()["election"]["master"]["port_guid"], check=False)
    assert works.returncode == 1 and "use fmctl handover there" in works.stderr, works
    itself = one.fmctl("takeover", check=False)
    assert itself.returncode == 1 and "is the master" in itself.stderr, itself
    answer = one.ask("handover", name)
    assert answer["to"] == name and answer["took_ms"] >= 0
    two.wait(managed, "it was handed the fabric")
    one.wait(lambda s: s["sm"] == "standby", "the other stands by")
    refused = one.fmctl("handover", check=False)
    assert refused.returncode == 1 and "is standby" in refused.stderr, refused
    two.wait(lambda s: [o["state"] for o in s["election"]["others"]] == ["standby"], "the new master knows of it")
    two.ask("handover", two.status()["election"]["others"][0]["port_guid"])
    one.wait(managed, "it was handed back")
    assert held(one) == before


@pytest.mark.parametrize("sent", [True, False], ids=["sent", "received"])
def test_a_master_whose_packets_are_lost_asks_and_stands_by_for_who_took_over(start, pod_net, second, sent):
    """What it sends, or what is sent to it. Both have the same priority, and it has the lower GUID."""
    master = start(pod_net, HERE, sm_priority=14, **FAST)
    standby = second(master, sm_priority=14, **FAST)
    standby.start_fmd(THERE)
    standby.wait(lambda s: s["sm"] == "standby", "it stands by")
    master.wait(lambda s: [o["state"] for o in s["election"]["others"]] == ["standby"], "the master knows of it")
    leaf, port = master.simulated()[HERE, 1]["peer"]
    way = f"{HERE}:1" if sent else f"{leaf}:{port}"
    master.ibsim.tell(f"lose {way} 100% one-way")
    master.wait(lambda s: s["state"] == "asking" and not s["fabric_up"], "it asks")
    assert master.fmctl("check", check=False).returncode == 1
    assert "DOWN (asking)" in master.fmctl("status").stdout.replace("\x1b", "")
    standby.wait(managed, "it has taken over")
    assert master.status()["state"] == "asking"
    master.ibsim.tell(f"lose {way} off one-way")
    master.wait(lambda s: s["sm"] == "standby", "it stands by")
    assert managed(standby.status()) and not took_over(master)


@pytest.mark.long
def test_a_higher_fmd_is_handed_the_fabric(start, pod_net, second):
    lower = start(pod_net, HERE, **FAST, **UNDAMPED)
    before = held(lower)
    higher = second(lower, sm_priority=5, **FAST)
    higher.start_fmd(THERE)
    higher.wait(managed, "the higher one is master")
    lower.wait(lambda s: s["sm"] == "standby", "the lower one stands by")
    assert held(lower) == before
    lower.console('Unlink "S-0002c90300000100"[33]')
    higher.wait_up(lambda s: s["links_down"] == 1, "the new master answers a fault")
    lower.wait(lambda s: s["sm"] == "standby", "the lower one stands by still")
    assert all_reached(higher)


@pytest.mark.long
def test_fmd_stands_by_for_opensm_and_takes_over(start, pod_net, opensm):
    fabric = start(pod_net, fmd=False, sm_priority=1, **FAST)
    other = opensm(fabric, THERE, 14)
    other.wait("SUBNET UP")
    before = held(fabric)
    fabric.start_fmd(HERE)
    fabric.wait(lambda s: s["sm"] == "standby", "fmd stands by")
    assert fabric.status()["lft_blocks_written"] == 0
    assert held(fabric) == before
    other.stop()
    fabric.wait(managed, "fmd has taken over")
    assert held(fabric)[1] == before[1]  # LIDs
    assert all_reached(fabric)
    told = took_over(fabric)
    assert len(told) == 1
    print("taken over after", told[0]["silent_ms"], "ms of silence in", told[0]["took_ms"], "ms")


@pytest.mark.long
def test_a_lower_opensm_stands_by_for_fmd_and_is_followed_by_nothing(start, pod_net, opensm):
    fabric = start(pod_net, HERE, sm_priority=9, sweep_interval=0.5)
    before = held(fabric)
    other = opensm(fabric, THERE, 3)
    other.wait("Entering STANDBY state")
    fabric.wait(lambda s: [o["state"] for o in s["election"]["others"]] == ["standby"], "fmd knows of it")
    assert managed(fabric.status())
    assert held(fabric) == before


@pytest.mark.long
def test_a_higher_opensm_is_handed_the_fabric(start, pod_net, opensm):
    """ibsim drops the TrapRepress that OpenSM waits for, so OpenSM gets no further here than to be master."""
    fabric = start(pod_net, HERE, sm_priority=5, **FAST, **UNDAMPED)
    before = held(fabric)
    other = opensm(fabric, THERE, 9)
    other.wait("Entering MASTER state")
    fabric.wait(lambda s: s["sm"] == "standby", "fmd stands by")
    assert held(fabric) == before
    other.stop()
    fabric.wait(managed, "fmd is master again")
    assert held(fabric) == before
    assert took_over(fabric)


@pytest.mark.long
def test_a_higher_opensm_that_comes_later_takes_nothing(start, pod_net, opensm):
    fabric = start(pod_net, HERE, sm_priority=5, sweep_interval=0.5)
    before = held(fabric)
    other = opensm(fabric, THERE, 9)
    other.wait("Entering STANDBY state")
    fabric.wait(lambda s: [o["state"] for o in s["election"]["others"]] == ["standby"], "fmd knows of it")
    assert managed(fabric.status()) and held(fabric) == before


@pytest.mark.long
def test_a_manager_that_ends_hands_over_to_opensm(start, pod_net, opensm):
    fabric = start(pod_net, HERE, sm_priority=5, sweep_interval=0.5)
    before = held(fabric)
    other = opensm(fabric, THERE, 3)
    other.wait("Entering STANDBY state")
    fabric.wait(lambda s: [o["state"] for o in s["election"]["others"]] == ["standby"], "fmd knows of it")
    assert fabric.stop_fmd() == 0
    other.wait("Entering MASTER state")
    assert "handing over to it" in fabric.log.read_text()
    fabric.write_conf(sm_priority=1, sweep_interval=0.5)  # or OpenSM would hand it back
    fabric.start_fmd(HERE)
    fabric.wait(lambda s: s["sm"] == "standby", "fmd is back, and stands by")
    assert held(fabric)[1] == before[1]


@pytest.mark.long
def test_opensm_hands_over_to_a_higher_fmd(start, pod_net, opensm):
    fabric = start(pod_net, fmd=False, sm_priority=9, **FAST)
    other = opensm(fabric, THERE, 3)
    other.wait("SUBNET UP")
    before = held(fabric)
    fabric.start_fmd(HERE)
    fabric.wait(lambda s: s["sm"] in ("standby", "master"), "fmd knows of OpenSM")
    other.sweep()
    fabric.wait(managed, "fmd was handed the fabric")
    other.wait("(?s)MASTER state.*Entering STANDBY state")
    assert held(fabric)[1] == before[1]
    assert all_reached(fabric)
    told = took_over(fabric)
    assert len(told) == 1 and told[0]["silent_ms"] == 0
