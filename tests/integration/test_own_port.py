# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The manager's own cable on ibsim: it comes later than the manager, goes and comes back, as master and as standby."""
import pytest

from fabric import poll

HERE, THERE = "H-0002c90380000100", "H-0002c9038000ff00"
LEAF = '"S-0002c90300000100"[1]'
FAST = {"sminfo_polling_timeout": 1500}


def managed(status):
    return status["sm"] == "master" and status["state"] == "up"


def all_reached(fabric):
    reached, pairs = fabric.pairs_reached()
    return reached == pairs > 0


def held(fabric):
    ports, tables = fabric.simulated_tables()
    return tables, {end: port["lid"] for end, port in ports.items()}


def unlink(fabric):
    fabric.console(f'Unlink "{HERE}"[1]')


def link(fabric):
    fabric.console(f'Link "{HERE}"[1] {LEAF}')


@pytest.mark.on_ibsim("the descriptor that no loop can watch")
def test_the_link_comes_later_than_the_manager(start, pod_net):
    fabric = start(pod_net, fmd=False)
    unlink(fabric)
    fabric.start_fmd(HERE)
    status = fabric.wait(lambda s: s["state"] == "no-link", "it waits for its link")
    assert not status["fabric_up"] and status["role"] == "none" and status["smps_sent"] == 0
    assert [alert["what"] for alert in status["alerts"]] == ["no-link"]
    assert "DOWN (no-link)" in fabric.fmctl("status").stdout
    refused = fabric.fmctl("sweep", check=False)
    assert refused.returncode == 1 and "has no link" in refused.stderr, refused
    link(fabric)
    fabric.wait(managed, "it is master by itself")
    assert all_reached(fabric)
    assert not fabric.status()["alerts"]


@pytest.mark.long
def test_a_manager_that_lost_its_link_writes_nothing_when_it_is_back(start, pod_net):
    fabric = start(pod_net, HERE)
    before = held(fabric)
    unlink(fabric)
    status = fabric.wait(lambda s: s["state"] == "no-link", "it noticed")
    assert status["role"] == "none" and not status["fabric_up"]
    link(fabric)
    status = fabric.wait(managed, "it is master by itself")
    assert status["lft_blocks_written"] == 0 and status["role_changes"] == 2
    poll(lambda: held(fabric) == before, "all is as it was")
    assert all_reached(fabric)


@pytest.mark.long
def test_a_standby_that_lost_its_link_takes_nothing(start, pod_net):
    master = start(pod_net, THERE, **FAST)
    standby = master.another(**FAST)
    try:
        standby.start_fmd(HERE)
        standby.wait(lambda s: s["sm"] == "standby", "it stands by")
        unlink(standby)
        standby.wait(lambda s: s["state"] == "no-link", "it noticed")
        master.wait(lambda s: managed(s) and s["links_down"] == 1, "so did the master")
        link(standby)
        standby.wait(lambda s: s["sm"] == "standby", "it stands by again")
        master.wait(lambda s: managed(s) and s["links_down"] == 0, "the master has all")
        assert standby.status()["lft_blocks_written"] == 0
        assert [event for event in standby.ask("events", "-n", "100") if event["kind"] == "take-over"] == []
        assert master.status()["role_changes"] == 0
    finally:
        standby.stop()
