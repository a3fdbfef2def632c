# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Multicast groups as hosts and their tools meet them: joins, saquery, ibdmchk and osmtest on what is programmed, a restart."""
import pathlib
import re
import sys

import pytest

CLIENT = pathlib.Path(__file__).with_name("sa_client.py")
HOSTS = ["H-0002c90380000100", "H-0002c90380000900", "H-0002c90380000a00", "H-0002c90380002200", "H-0002c90380008300"]
SM_HOST, HOST = HOSTS[0], HOSTS[-1]
BROADCAST = "ff12:401b:ffff::ffff:ffff"
MGID = "ff12401bffff00000000000000000042"
SHOWN = "ff12:401b:ffff::42"


def port_guid(host):
    return f"0x{int(host[2:], 16) + 1:016x}"


def client(fabric, *arguments, host=HOST, **options):
    return fabric.run(sys.executable, CLIENT, fabric.status()["sm_lid"], *arguments, host=host, **options)


def join(fabric, host, mgid=MGID, state=1):
    client(fabric, "join", port_guid(host), mgid, state, host=host)


def written(fabric):
    return fabric.status()["multicast"]["mft_blocks_written"]


def wait_tree(fabric, members, mgid=SHOWN):
    """The group, once it has a tree for so many members; None when it is gone."""
    def ready(status):
        group = next((g for g in fabric.ask("groups") if g["mgid"] == mgid), None)
        if not members:
            return group is None
        return group and group["tree"] and len(group["members"]) == members and group["tree"]["left_out"] == 0
    fabric.wait(ready, f"{mgid} has a tree for {members} members")
    return next((g for g in fabric.ask("groups") if g["mgid"] == mgid), None)


def judge(fabric, group, members):
    """By ibdmchk's words on what is dumped; it ends with a fault of its own on OpenSM's files as well."""
    folder = fabric.dump()
    said = fabric.run("ibdmchk", "-s", folder / "opensm-subnet.lst", "-f", folder / "opensm.fdbs", "-m",
                      folder / "opensm.mcfdbs", check=False).stdout
    found = re.search(rf"Multicast Group:{group['mlid']} has:(\d+) switches and:(\d+) HCAs", said, re.I)
    assert found and found.groups() == (str(group["tree"]["switches"]), str(members)), said
    assert not re.search(r"^-[EF]-", said, re.M), said


def tables(fabric):
    return (fabric.dump() / "opensm.mcfdbs").read_text()


def used_cable(dumped):
    """A leaf's port to a spine that a group goes by: leaves have their hosts at the first 32 ports."""
    for switch, entries in re.findall(r"Switch 0x(\w+)\nLID.*\n((?:0x.*\n)+)", dumped):
        for port in re.findall(r" 0x(\w{3}) ", entries):
            if int(port, 16) > 32:
                return switch, int(port, 16)
    raise AssertionError(f"no group leaves its leaf:\n{dumped}")


@pytest.fixture
def fabric(start, pod_net_64):
    return start(pod_net_64, SM_HOST)


def test_the_broadcast_group_is_there_before_anybody_joins(fabric):
    said = fabric.run("saquery", "-g", host=HOST).stdout
    assert re.search(rf"MGID\.+{BROADCAST}\s", said), said
    assert re.search(r"Mlid\.+0xC000", said) and re.search(r"pkey\.+0xFFFF", said, re.I), said


@pytest.mark.on_ibsim("joins, and the tables that come of them, judged by ibdmchk")
def test_hosts_join_and_leave_and_tools_see_it(fabric, ibdmchk_report):
    for host in HOSTS:
        join(fabric, host)
    group = wait_tree(fabric, len(HOSTS))
    assert (group["full"], group["tree"]["turns"]) == (len(HOSTS), 0)
    assert SHOWN in fabric.fmctl("groups").stdout
    assert group["members"][0]["name"] in fabric.fmctl("groups", SHOWN).stdout
    assert fabric.fmctl("groups", "ff12::9", check=False).returncode == 1
    judge(fabric, group, len(HOSTS))
    client(fabric, "leave", port_guid(HOST), MGID)
    wait_tree(fabric, len(HOSTS) - 1)
    assert client(fabric, "leave", port_guid(HOST), MGID, check=False).returncode != 0
    for host in HOSTS[:-1]:
        client(fabric, "leave", port_guid(host), MGID, host=host)
    wait_tree(fabric, 0)


def test_members_are_for_trusted_eyes(fabric):
    join(fabric, HOST)
    told = fabric.run("saquery", "--smkey", "1", "MCMR", f"--mgid={SHOWN}", host=HOSTS[1], check=False).stdout
    assert re.search(rf"PortGid\.+fe80::2:c903:8000:8301", told), told
    told = fabric.run("saquery", "-g", host=HOSTS[1]).stdout
    assert SHOWN in told and "8000:8301" not in told


def test_the_path_to_a_group_is_the_groups(fabric):
    fabric.wait_up()
    join(fabric, HOST)
    group = wait_tree(fabric, 1)
    source, other = (f"fe80::2:c903:8000:{host[-4:-2]}01" for host in (HOST, HOSTS[1]))
    told = fabric.run("saquery", "PR", "--sgid", source, "--dgid", SHOWN, host=HOSTS[1]).stdout
    assert re.search(rf"dgid\.+{SHOWN}\s", told) and re.search(rf"dlid\.+{int(group['mlid'], 16)}\s", told), told
    told = fabric.run("saquery", "PR", "--sgid", other, "--dgid", SHOWN, host=HOSTS[1], check=False).stdout
    assert "dlid" not in told, "of a source that is no member"


def test_a_dead_cable_moves_the_trees_that_used_it(fabric, ibdmchk_report):
    for host in HOSTS:
        join(fabric, host)
    group = wait_tree(fabric, len(HOSTS))
    before = tables(fabric)
    at, port = used_cable(before)
    fabric.console(f'Unlink "S-{at}"[{port}]')
    fabric.wait_up(lambda s: s["links_down"] == 1)
    fabric.wait(lambda s: tables(fabric) != before, "the tree moves")
    judge(fabric, wait_tree(fabric, len(HOSTS)), len(HOSTS))


def test_a_restart_writes_no_table_and_forgets_no_member(fabric):
    for host in HOSTS:
        join(fabric, host)
    group = wait_tree(fabric, len(HOSTS))
    assert fabric.stop_fmd() == 0
    fabric.start_fmd(SM_HOST)
    fabric.wait_up()
    assert wait_tree(fabric, len(HOSTS)) == group
    assert written(fabric) == 0


@pytest.mark.long
@pytest.mark.parametrize("mode", ["2"])  # 1 and 3 count groups in a table that ibsim cuts at three; 4 takes long
def test_osmtest_finds_multicast_as_the_standard_has_it(start, pod_net, mode):
    fabric = start(pod_net, SM_HOST, rig="ibsim")  # osmtest takes 300 Gb/s, which a link of fmsim has, for more than any link has
    fabric.run("osmtest", "-f", "c", host=SM_HOST)
    said = fabric.run("osmtest", "-f", "m", "-M", mode, host=SM_HOST, check=False)
    assert said.returncode == 0, said.stdout[-3000:]
