# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""srp_daemon and ibacm live with fmd: what they ask is asked by a client of ours (host_client.py), on fmsim."""
import json
import pathlib
import re
import subprocess
import sys

import pytest

from fabric import Fabric, end_process, poll

CLIENT = pathlib.Path(__file__).with_name("host_client.py")
STORAGE, HOST = "H-0002c90380000300", "H-0002c90380001000"
STORAGE_GUID, HOST_GUID = "0x0002c90380000301", "0x0002c90380001001"
IS_DM = 0x80000


@pytest.fixture(scope="module")
def fabric(small_net, tmp_path_factory):
    fabric = Fabric(tmp_path_factory.mktemp("clients"), small_net, rig="fmsim")
    try:
        fabric.start_fmd()
        fabric.wait_up()
        yield fabric
    finally:
        fabric.stop()


def command(fabric, *arguments):
    return [sys.executable, str(CLIENT), str(fabric.status()["sm_lid"]), *map(str, arguments)]


def ask(fabric, *arguments, host=HOST):
    return json.loads(fabric.run(*command(fabric, *arguments), host=host).stdout)


@pytest.fixture
def begin(fabric):
    """begin(words .., host=..): a client that goes on until the test ends; its standard output."""
    mine = []

    def run(*arguments, host=HOST):
        folder = fabric.folder("client")
        mine.append(subprocess.Popen(command(fabric, *arguments), stdout=subprocess.PIPE, text=True, cwd=folder, env=fabric.environment(host)))
        assert mine[-1].stdout.readline() in ("subscribed\n", "serves\n")
        return mine[-1].stdout

    try:
        yield run
    finally:
        for process in mine:
            end_process(process) if process.poll() is None else process.wait()


def announce(fabric, on):
    """As ib_srpt does it: the port's capability mask says that there is device management."""
    fabric.ibsim.tell(f"capability node-0003:1 {IS_DM:#x} {'on' if on else 'off'}")


def test_srp_daemon_finds_the_targets_by_their_capability(fabric, begin):
    assert ask(fabric, "targets") == {"mask_match": True, "targets": []}
    begin("target", "SRP.T10:0002c90380000300", host=STORAGE)
    announce(fabric, True)
    found = poll(lambda: ask(fabric, "targets")["targets"], "the SA tells of the target")
    lid = fabric.lids()[STORAGE_GUID.replace("301", "300")]
    assert found == [{"lid": lid, "port_guid": STORAGE_GUID, "prefix": True, "is_dm": True, "pkey": 0xFFFF, "lid_by_gid": lid,
                      "controllers": [{"ioc": "a target", "services": ["SRP.T10:0002c90380000300"]}]}]
    announce(fabric, False)
    poll(lambda: not ask(fabric, "targets")["targets"], "the SA tells of none")


def test_srp_daemon_sees_all_ports_where_masks_are_not_matched(fabric):
    ports = ask(fabric, "ports")
    assert len(ports) == 22 and [fabric.lids()["0x0002c90380001000"], HOST_GUID] in ports


def test_srp_daemon_hears_of_a_target_that_comes(fabric, begin):
    """Trap 144 of a port whose mask changed, trap 64 of a port that is in service again. Who hears of a mask asks for it at once."""
    told = begin("watch", 3)
    announce(fabric, True)
    first = json.loads(told.readline())
    assert (first["trap"], first["lid"]) == (144, fabric.lids()["0x0002c90380000300"]) and first["capmask"] & first["shown"] & IS_DM
    announce(fabric, False)
    last = json.loads(told.readline())
    assert not (last["capmask"] | last["shown"]) & IS_DM
    fabric.ibsim.tell("unlink node-0003:1")
    fabric.wait(lambda s: s["links_down"] == 1, "its cable is out")
    fabric.ibsim.tell("link node-0003:1")
    assert {**json.loads(told.readline()), "issuer": 0} == {"trap": 64, "issuer": 0, "guid": STORAGE_GUID}


def test_the_sa_shows_the_priority_that_the_manager_shows(fabric):
    said = fabric.run("saquery", "SMIR", host=HOST).stdout
    assert [int(priority) for priority in re.findall(r"priority\W+(\d+)", said, re.I)] == [fabric.status()["election"]["priority"]] == [14], said


def test_a_port_without_device_management_refuses_it(fabric):
    """Its kernel does: srp_daemon goes on at once."""
    announce(fabric, True)
    found = poll(lambda: ask(fabric, "targets")["targets"], "the SA tells of the port")
    assert found[0]["controllers"] is None
    announce(fabric, False)
    poll(lambda: not ask(fabric, "targets")["targets"], "the SA tells of none")


def test_ibacm_joins_its_group_and_resolves_a_path(fabric):
    lids = fabric.lids()
    found = [ask(fabric, "resolve", source, target, host=host)
             for source, target, host in ((HOST_GUID, STORAGE_GUID, HOST), (STORAGE_GUID, HOST_GUID, STORAGE))]
    here, there = (lids[guid[:-1] + "0"] for guid in (HOST_GUID, STORAGE_GUID))
    assert [(f["slid"], f["dlid"], f["pkey"]) for f in found] == [(here, there, 0xFFFF), (there, here, 0xFFFF)]
    assert found[0]["mlid"] == found[1]["mlid"] >= 0xC000
    assert {(f["mtu"], f["rate"]) for f in found} == {(5, 17)}  # 4,096 bytes, 200 Gb/s
    group = [g for g in fabric.ask("groups") if g["mgid"].startswith("ff15:4001:ffff")]
    assert len(group) == 1 and len(group[0]["members"]) == 2
