# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Two fmd that were both master for a while: one that stood still, and two halves of a fabric that were cut apart. What each knows behind it."""
import collections
import signal
import sys

import pytest

from bad_link import BadLink
from fabric import poll, until
from test_mirror import CLIENT, FAST, HERE, HOST, MGID, THERE, client, free_port, managed, port_guid, secret, two, whole  # noqa: F401

LATER = "ff12401bffff00000000000000000077"


def groups(fabric):
    """{MGID: port GUIDs of its full members}"""
    return {g["mgid"].replace(":", ""): g["full"] for g in fabric.ask("groups")}


def members(fabric):
    return sum(g["full"] for g in fabric.ask("groups"))


def roles(*fabrics):
    return sorted(it.status()["sm"] for it in fabrics)


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

