# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A standby without peers asks its master's SA for what hosts registered, and has it when that one dies: OpenSM's, and fmd's. On fmsim: ibsim has no RMPP."""
import pathlib
import re
import signal
import sys

import pytest

from fabric import Fabric, poll, program
from test_manual_ha import typed
from test_rig_opensm import OpenSm

pytestmark = pytest.mark.long

HERE, THERE = "H-0002c90380000100", "H-0002c90380001000"
HOSTS = ["H-0002c90380000300", "H-0002c90380000500", "H-0002c90380000700", "H-0002c90380000900"]
CLIENT = pathlib.Path(__file__).with_name("sa_client.py")
MGID = "ff12401bffff000000000000000000%02x"
ASKING = {"mirror_interval": 0.5, "rig": "fmsim"}


def port_guid(host):
    return f"0x{int(host[2:], 16) + 1:016x}"


def register(fabric):
    """Each host is in two groups and offers a service, one subscribes."""
    sm_lid = re.search(r"SM lid: (\d+)", fabric.run("ibstat", host=HOSTS[0]).stdout)[1]
    for number, host in enumerate(HOSTS):
        for group in 1, 2:
            fabric.run(sys.executable, CLIENT, sm_lid, "join", port_guid(host), MGID % group, host=host)
        fabric.run(sys.executable, CLIENT, sm_lid, "register", port_guid(host), str(number + 1), f"storage-{number}", host=host)
    fabric.run(sys.executable, CLIENT, sm_lid, "subscribe", host=HOSTS[0])


def copy_of(status):
    copy = status.get("registrations") or {}
    return copy.get("members"), copy.get("services"), copy.get("subscriptions")


def assert_nothing_is_lost(standby, mlids):
    status = standby.wait(lambda s: s["sm"] == "master" and s["state"] == "up", "it has taken over")
    assert (status["sa"]["services"], status["sa"]["subscriptions"]) == (len(HOSTS), 1)
    groups = {group["mgid"].replace(":", ""): group for group in standby.ask("groups")}
    assert sum(group["full"] for group in groups.values()) == 2 * len(HOSTS), groups
    assert {int(str(group["mlid"]), 0) for group in groups.values() if group["full"]} == mlids
    print("mft blocks written:", status["multicast"]["mft_blocks_written"], "took over after", status["election"].get("take_over_ms"), "ms")
    return status


def mlids_of(fabric, host):
    text = fabric.run("saquery", "-g", host=host).stdout
    return {int(lid, 16) for mgid, lid in re.findall(r"MGID\.+(\S+)\s+Mlid\.+(0x\w+)", text) if re.fullmatch(r"ff12:401b:ffff::[12]", mgid)}


@pytest.fixture
def beside_opensm(small_net, tmp_path):
    """(its fabric, OpenSM, fmd that stands by)"""
    fabric = Fabric(tmp_path, small_net, **ASKING)
    opensm = OpenSm(fabric, HERE)
    try:
        poll(lambda: opensm.said("SUBNET UP"), "OpenSM's subnet is up")
        register(fabric)
        fabric.start_fmd(THERE)
        fabric.wait(lambda s: s["sm"] == "standby", "fmd stands by")
        yield fabric, opensm
    finally:
        opensm.end()
        fabric.stop()


def test_what_hosts_registered_with_a_killed_opensm_is_there(beside_opensm):
    fabric, opensm = beside_opensm
    status = fabric.wait(lambda s: copy_of(s) == (2 * len(HOSTS), len(HOSTS), 1), "it has what OpenSM knows")
    assert status["registrations"]["whole"] and status["registrations"]["error"] is None
    said = f"SA copy +{2 * len(HOSTS)} group members, {len(HOSTS)} services, 1 subscriptions of the master's SA, [0-9]+ s old"
    assert re.search(said, fabric.fmctl("status").stdout), fabric.fmctl("status").stdout
    mlids = mlids_of(fabric, HOSTS[0])
    assert len(mlids) == 2
    opensm.process.send_signal(signal.SIGKILL)
    opensm.process.wait()
    status = assert_nothing_is_lost(fabric, mlids)
    assert not [e for e in fabric.ask("events", "-n", "200") if "entries of the previous manager were cleared" in e["text"]]


def test_opensm_hands_over_to_an_fmd_that_has_read_all(beside_opensm):
    """As fmd-ha(7) has it: in OpenSM's place, and nothing that hosts registered is lost."""
    fabric, opensm = beside_opensm
    fabric.wait(lambda s: copy_of(s) == (2 * len(HOSTS), len(HOSTS), 1), "it has what OpenSM knows")
    typed("until fmctl", '"registrations"', "fmctl", f"{program('fmctl')} -s {fabric.socket}")
    mlids = mlids_of(fabric, HOSTS[0])
    fabric.write_conf(sm_priority=15, **{key: value for key, value in ASKING.items() if key != "rig"})
    fabric.fmctl("reload")
    assert_nothing_is_lost(fabric, mlids)
    poll(lambda: opensm.said("Entering STANDBY"), "OpenSM stands by")
    opensm.end()
    assert fabric.status()["election"]["take_overs"] == 1


def test_another_sa_key_is_told_and_nothing_is_taken(small_net, tmp_path):
    fabric = Fabric(tmp_path, small_net, sa_key="0x1234", **ASKING)
    opensm = OpenSm(fabric, HERE)
    try:
        poll(lambda: opensm.said("SUBNET UP"), "OpenSM's subnet is up")
        fabric.start_fmd(THERE)
        status = fabric.wait(lambda s: (s.get("registrations") or {}).get("error"), "it says why it has nothing")
        assert "its sa_key differs" in status["registrations"]["error"] and not status["registrations"]["whole"]
        assert re.search(r"^SA copy +none: .*its sa_key differs", fabric.fmctl("status").stdout, re.M)
        assert not fabric.was_kept("groups")
    finally:
        opensm.end()
        fabric.stop()


def test_a_standby_of_an_fmd_without_peers_has_it_too(start, small_net):
    master = start(small_net, HERE, **ASKING)
    register(master)
    standby = master.another(mirror_interval=0.5)
    try:
        standby.start_fmd(THERE)
        standby.wait(lambda s: copy_of(s)[1:] == (len(HOSTS), 1), "it has what its master knows")
        mlids = mlids_of(master, HOSTS[0])
        master.stop_fmd(signal.SIGKILL)
        assert_nothing_is_lost(standby, mlids)
    finally:
        standby.stop()
