# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Two fmd that were both master for a while: one that stood still, and two halves of a fabric that were cut apart. What each knows behind it."""
import collections
import pathlib
import re
import signal
import subprocess

import pytest

from bad_link import BadLink
from fabric import free_door, poll, until
from test_mirror import FAST, HERE, HOST, MGID, THERE, client, managed, port_guid, rows, secret, two, whole  # noqa: F401

pytestmark = pytest.mark.long

LATER = "ff12401bffff00000000000000000077"


def groups(fabric):
    """{the end of a group's MGID: how many full members it has}"""
    return {g["mgid"][-2:]: g["full"] for g in fabric.ask("groups") if g["full"]}


def members(fabric):
    return sum(groups(fabric).values())


def test_a_master_that_stood_still_has_what_was_done_meanwhile(two):  # noqa: F811
    """It has the higher rank: nothing but the time tells it that another was master."""
    first, second = two()
    whole(second)
    client(first, "join", port_guid(HOST), MGID, "1")
    first.wait(lambda s: s["mirror"]["whole"] and s["mirror"]["standbys"][0]["behind"] == 0, "the standby has that")
    first.fmd.send_signal(signal.SIGSTOP)
    try:
        second.wait(managed, "it has taken over")
        client(second, "join", port_guid(HOST), LATER, "1")
        client(second, "register", port_guid(HOST), "1", "later")
        second.fmctl("cordon", "spine-02")
        cordoned = second.status()["links_cordoned"]
    finally:
        first.fmd.send_signal(signal.SIGCONT)
    first.wait(lambda s: s["sm"] == "standby", "it stands by")
    assert managed(second.status()) and members(second) == 2
    assert any(e["kind"] == "stood-still" for e in first.ask("events", "-n", "200"))
    first.wait(lambda s: s["mirror"]["whole"], "it has a whole copy")
    second.wait(lambda s: "standby" in [o["state"] for o in s["election"]["others"]], "the master knows of it")
    second.ask("handover")
    status = first.wait(managed, "it was handed the fabric back")
    assert members(first) == 2 and status["sa"]["services"] == 1 and status["links_cordoned"] == cordoned > 0


def test_a_master_whose_machine_was_suspended_asks_first(two, tmp_path, monkeypatch):  # noqa: F811
    library, suspended = tmp_path / "suspended.so", tmp_path / "suspended"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, pathlib.Path(__file__).with_name("suspended.c")], check=True)
    first, second = two()
    first.stop_fmd()
    own = first.environment
    monkeypatch.setattr(first, "environment", lambda host=None: {**own(host), "LD_PRELOAD": f"{library} {own(host)['LD_PRELOAD']}",
                                                                 "SUSPENDED": str(suspended)})
    first.start_fmd(HERE)
    monkeypatch.setattr(first, "environment", own)
    second.wait(managed, "it has taken over")
    first.wait(lambda s: s["sm"] == "standby", "it stands by")
    second.wait(lambda s: "standby" in [o["state"] for o in s["election"]["others"]], "the master knows of it")
    second.ask("handover")
    first.wait(lambda s: managed(s) and "standby" in [o["state"] for o in s["election"]["others"]], "it is master, with a standby")
    suspended.touch()
    poll(lambda: [e for e in first.ask("events", "-n", "200") if e["kind"] == "stood-still"], "it asks who is master")
    poll(lambda: [managed(it.status()) for it in (first, second)].count(True) == 1, "one of them is")



# ---- Halves

SPINES_LOW = {"S-0002c90300000900", "S-0002c90300000a00"}
NEAR, FAR = "H-0002c90380000200", "H-0002c90380000700"  # of either half: both join and register there
OFF = ["H-0002c90380000a00", "H-0002c90380000b00", "H-0002c90380000e00", "H-0002c90380000f00"]  # two of either half
NEW = ["H-0002c9038000f200", "H-0002c9038000f700"]  # one of either half, that nobody has met before
QUIET = {"rebalance": 0, "flap_count": 0}  # tables are to be compared, and cables to be cut more than once


class Halves:
    """A master (of the higher rank) and its standby, whose connections can be cut; each in a half of the fabric."""

    def __init__(self, start, net, keys):
        doors = free_door(), free_door()
        self.links = [BadLink(door) for door in doors]
        confs = [{"peer_listen": doors[at], "peers": self.links[1 - at].address, **keys, **FAST, **QUIET} for at in (0, 1)]
        self.low = start(net, HERE, fmd=False, **confs[0])
        ends = self.low.simulated()
        leaf = {port["peer"][0]: node for (node, _), port in ends.items() if port["peer"] and port["peer"][0].startswith("H-")}
        leaves = sorted({end[0] for end in ends if end[0].startswith("S-")} - SPINES_LOW - {"S-0002c90300000b00", "S-0002c90300000c00"})
        self.half = set(leaves[:4]) | SPINES_LOW
        assert [leaf[host] in self.half for host in (HERE, THERE, NEAR, FAR, *OFF, *NEW)] == [True, False, True, False, True, True, False, False, True, False]
        self.between = sorted(end for end, port in ends.items() if end[0] in self.half and port["peer"] and port["peer"][0].startswith("S-")
                              and port["peer"][0] not in self.half)
        self.power(NEW, False)
        self.low.start_fmd(HERE)
        self.low.wait_up()
        self.high = self.low.another(**confs[1])
        self.high.start_fmd(THERE)
        self.high.wait(lambda s: s["sm"] == "standby", "it stands by")
        whole(self.high)

    def power(self, hosts, on):
        for host in hosts:
            self.low.ibsim.tell(f"node {'on' if on else 'off'} {host}")

    def cables(self, word):
        for node, num in self.between:
            self.low.ibsim.tell(f"{word} {node}:{num}")

    def connected(self, on):
        for link in self.links:
            link.mode = "pass" if on else "cut"

    def live(self):
        """LID by port, of ports with a link."""
        return {end: port["lid"] for end, port in self.low.simulated().items() if port["peer"] and port["lid"]}

    def stop(self):
        for link in self.links:
            link.stop()
        self.high.stop()


@pytest.fixture
def halves(start, pod_net, tmp_path):
    mine = []

    def begin():
        mine.append(Halves(start, pod_net, {"peer_psk_file": secret(tmp_path / "psk")}))
        return mine[-1]

    try:
        yield begin
    finally:
        for it in mine:
            it.stop()


def asked(fabric, host):
    """How often the port was asked to register anew."""
    found = re.search(r"asked (\d+) times", fabric.ibsim.tell(f"dump ports {host}"))
    return int(found[1]) if found else 0


def join(fabric, host, mgid):
    client(fabric, "join", port_guid(host), mgid, "1", host=host)


def no_lid_twice(ports):
    ends = [lid for (node, num), lid in ports.items() if num == 0 or node.startswith("H-")]
    return not [lid for lid, count in collections.Counter(ends).items() if count > 1]


@pytest.mark.parametrize("connected", [True, False], ids=["peers connected", "peers cut off too"])
def test_halves_that_meet_again_go_on_with_what_the_elected_one_knows(halves, connected):
    it = halves()
    low, high = it.low, it.high
    it.power(OFF, False)
    low.wait_up(lambda s: s["links_down"] == len(OFF), "some hosts are off")
    for host in (NEAR, FAR):
        join(low, host, MGID)
        client(low, "register", port_guid(host), "1", "before", host=host)
    low.fmctl("cordon", "spine-01")
    low.wait(lambda s: s["mirror"]["whole"] and s["mirror"]["standbys"][0]["behind"] == 0, "the standby has it")
    lids, before, tables = low.lids(), it.live(), low.simulated_tables()[1]

    it.connected(connected)
    it.cables("unlink")
    high.wait(managed, "the other half has a master of its own")
    low.wait(lambda s: managed(s) and s["hcas_cut_off"] > 0, "the first is that of its half")
    assert {end: lid for end, lid in it.live().items() if end in before} == before
    it.power(NEW, True)
    for fabric, host in ((low, NEW[0]), (high, NEW[1])):
        fabric.wait(lambda s: it.live().get((host, 1)), "a host has come that was never met")
    low.fmctl("nvswitch", "set", "dgx-su01-05", "NO_P2P")
    low.fmctl("uncordon", "spine-01")
    high.fmctl("cordon", "spine-03")
    high.fmctl("nvswitch", "set", "dgx-su01-06", "NO_P2P")
    for fabric, host in ((low, NEAR), (high, FAR)):
        join(fabric, host, LATER)
        client(fabric, "register", port_guid(host), "2", "later", host=host)
    count = asked(low, FAR)

    it.cables("link")
    it.connected(True)
    high.wait(lambda s: s["sm"] == "standby", "the one of the lower rank stands by")
    status = low.wait(lambda s: managed(s) and s["links_down"] == len(OFF), "the elected one has all of the fabric")
    hosts = {h["host"]: h["state"] for h in low.ask("nvswitch")["hosts"]}
    assert (hosts["dgx-su01-05"], hosts["dgx-su01-06"]) == ("NO_P2P", "UNKNOWN")
    low.wait(lambda s: s["links_cordoned"] == 128, "what either had taken out of transit stays so")
    assert [e for e in low.ask("events", "-n", "200") if e["kind"] == "cordoned" and "master too" in e["text"]]
    for name in ("spine-01", "spine-03"):
        low.fmctl("uncordon", name)
    poll(lambda: asked(low, FAR) > count, "who registered with the other is asked to do so again")
    join(low, FAR, LATER)
    client(low, "register", port_guid(FAR), "2", "later", host=FAR)
    assert groups(low) == {MGID[-2:]: 2, LATER[-2:]: 2} and low.status()["sa"]["services"] == 4

    after = until(lambda: settled(it))
    moved = {end: (lid, after.get(end)) for end, lid in before.items() if after.get(end) != lid}
    assert not moved and no_lid_twice(after)
    whole(high)
    it.power(OFF[::-1], True)
    low.wait_up(lambda s: s["links_down"] == 0, "those that were off are back")
    assert {guid: lid for guid, lid in low.lids().items() if guid in lids} == lids
    it.power(OFF + NEW, False)
    low.wait_up(lambda s: s["links_down"] == len(OFF + NEW), "all is as before")
    for host in NEW:
        low.fmctl("forget", f"0x{host[2:]}")
    low.fmctl("cordon", "spine-01")
    assert without(low.simulated_tables()[1], set(it.live().values())) == without(tables, set(before.values()))
    low.fmctl("check", "--readback")

    poll(lambda: not [host for host in NEW if host[2:] in str(rows(low)["nodes"])] and rows(low) == rows(high), "the standby's rows are the master's")
    known, written = groups(low), high.status()["lft_blocks_written"]  # as master of its half
    low.stop_fmd(signal.SIGKILL)
    status = high.wait(managed, "it has taken over")
    assert status["lft_blocks_written"] == written and groups(high) == known and status["sa"]["services"] == 4
    assert status["links_cordoned"] > 0


def settled(it):
    ports = it.live()
    assert all((host, 1) in ports for host in NEW), "hosts that came meanwhile have a LID"
    assert no_lid_twice(ports)
    return ports


def without(tables, lids):
    """Entries of those LIDs alone."""
    return {switch: {lid: port for lid, port in table.items() if lid in lids} for switch, table in tables.items()}
