# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What happened: which of it is asked for, and over restarts."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess

import pytest

from fabric import RIG, alike, poll, program

# A name that another begins with, one that is a word of many sentences; all may have blanks.
ODD_NAMES = """Switch	4 "S-0000000000000a01"		# "leaf 1" base port 0 lid 1 lmc 0
[1]	"H-0000000000000b01"[1](b02) 		# "node-1 HCA-1" lid 5 4xHDR
[2]	"H-0000000000000b11"[1](b12) 		# "node-2 HCA-1" lid 6 4xHDR
[3]	"S-0000000000000a03"[1]		# "up" lid 3 4xHDR

Switch	4 "S-0000000000000a02"		# "leaf 1 b" base port 0 lid 2 lmc 0
[1]	"H-0000000000000b21"[1](b22) 		# "node-3 HCA-1" lid 7 4xHDR
[2]	"H-0000000000000b31"[1](b32) 		# "node-4 HCA-1" lid 8 4xHDR
[3]	"S-0000000000000a03"[2]		# "up" lid 3 4xHDR
[4]	"S-0000000000000a04"[2]		# "spine-2" lid 4 4xHDR

Switch	4 "S-0000000000000a03"		# "up" base port 0 lid 3 lmc 0
[1]	"S-0000000000000a01"[3]		# "leaf 1" lid 1 4xHDR
[2]	"S-0000000000000a02"[3]		# "leaf 1 b" lid 2 4xHDR

Switch	4 "S-0000000000000a04"		# "spine-2" base port 0 lid 4 lmc 0
[2]	"S-0000000000000a02"[4]		# "leaf 1 b" lid 2 4xHDR

Ca	1 "H-0000000000000b01"		# "node-1 HCA-1"
[1](b02) 	"S-0000000000000a01"[1]		# lid 5 lmc 0 "leaf 1" lid 1 4xHDR

Ca	1 "H-0000000000000b11"		# "node-2 HCA-1"
[1](b12) 	"S-0000000000000a01"[2]		# lid 6 lmc 0 "leaf 1" lid 1 4xHDR

Ca	1 "H-0000000000000b21"		# "node-3 HCA-1"
[1](b22) 	"S-0000000000000a02"[1]		# lid 7 lmc 0 "leaf 1 b" lid 2 4xHDR

Ca	1 "H-0000000000000b31"		# "node-4 HCA-1"
[1](b32) 	"S-0000000000000a02"[2]		# lid 8 lmc 0 "leaf 1 b" lid 2 4xHDR
"""
LEAF, SPINE, OTHER = "leaf-su01-rail0", "S-0002c90300000900", "S-0002c90300000100"


def cut_and_mend(fabric):
    fabric.console(f'Unlink "{OTHER}"[33]')
    fabric.wait_up(lambda s: s["links_down"] == 1, "the cut is seen")
    fabric.console(f'Relink "{OTHER}"[33]')
    fabric.wait_up(lambda s: s["links_down"] == 0, "the repair is seen")


def test_reasons_of_the_links_of_one_device_are_one_line(start, pod_net):
    if RIG == "ibsim":
        pytest.skip("ibsim has no registers")
    fabric, away = start(pod_net), "leaf-su01-rail1"
    for port in range(33, 45):  # of 32 uplinks
        fabric.ibsim.tell(f'down "{away}":{port} reason 46')

    def reasons():
        return fabric.ask("events", "--kind", "link-down-reason", "-n", "100")

    fabric.wait(lambda s: len(reasons()) == 12 and not s["registers"]["waiting"], "reasons were read")
    told = reasons()
    assert all(away in (event["node_name"], event["peer_name"]) for event in told)
    lines = fabric.fmctl("events", "-n", "10").stdout.splitlines()
    behind = sum(int(number) for number in re.findall(rf"; (\d+) more links? of {away}", "\n".join(lines)))
    assert 0 < len(lines) <= 10 and behind + sum("went down: laser fault" in line for line in lines) == 12, lines
    assert len(fabric.ask("events", "-n", "10")) == 10


def test_filters_say_which_events_are_shown(start, pod_net):
    fabric = start(pod_net)
    cut_and_mend(fabric)
    told = fabric.ask("events", "--since", "1h")
    assert [event["seq"] for event in told] == list(range(len(told)))
    assert {event["kind"] for event in fabric.ask("events", "--kind", "link-down,link-up")} == {"link-down", "link-up"}
    assert [event["kind"] for event in fabric.ask("events", "--level", "warning")] == ["link-down"]
    about = alike(lambda: fabric.ask("events", "--node", LEAF), lambda: fabric.ask("events", "--node", "0x0002c90300000100"))
    assert about and all(LEAF in event["text"] for event in about)
    assert fabric.ask("events", "--node", "leaf-su01-rail7") == []
    assert fabric.ask("events", "--since", "2100-01-01") == []
    shown = fabric.fmctl("events", "--kind", "link-down").stdout.splitlines()
    assert len(shown) == 1 and shown[0].split()[1] == "warning"
    for wrong in (["--since", "yesterday"], ["--level", "terrible"], ["--moon"]):
        assert fabric.fmctl("events", *wrong, check=False).returncode in (1, 2)


def test_events_go_by_guids_whatever_nodes_are_called(start, tmp_path):
    leaf, namesake, host = (f"0x{guid:016x}" for guid in (0xa01, 0xa02, 0xb11))
    names, net = tmp_path / "names", tmp_path / "odd.net"
    names.write_text("")
    net.write_text(ODD_NAMES)
    fabric = start(net, "H-0000000000000b01", node_name_map=str(names))
    fabric.wait_up()
    for sw, port in (("a01", 2), ("a02", 2)):
        fabric.console(f'Unlink "S-{int(sw, 16):016x}"[{port}]')
    fabric.wait_up(lambda s: s["links_down"] == 2, "the cuts are seen")

    def about(what):
        told = fabric.ask("events", "--node", what)
        assert told and not [event for event in told if event["text"].startswith("fabric: ")]
        return {guid for event in told for guid in (event.get("node"), event.get("peer")) if guid}

    assert about("leaf 1") == {leaf, host}
    assert namesake in about("leaf 1 b") and leaf not in about("leaf 1 b")
    down, = (event for event in fabric.ask("events", "--node", "leaf 1") if event["kind"] == "link-down")
    assert {(down["node"], down["port"]), (down["peer"], down["peer_port"])} == {(leaf, 2), (host, 1)}
    assert down["host"] == "node-2"
    assert down in fabric.ask("events", "--node", "node-2")
    assert fabric.fmctl("events", "--node", "up", check=False).stdout == "" and fabric.ask("show", "up")["events"] == []
    names.write_text(f'{leaf} "lower switch"\n')
    fabric.fmd.send_signal(signal.SIGHUP)
    fabric.wait(lambda status: any(s["name"] == "lower switch" for s in fabric.ask("switches")), "its name is another")
    assert down in fabric.ask("events", "--node", "lower switch") and down in fabric.ask("events", "--node", leaf)
    assert down["text"] in [event["text"] for event in fabric.ask("show", "lower switch")["events"]]


def test_events_outlive_a_restart_and_a_kill(start, pod_net):
    fabric = start(pod_net)
    cut_and_mend(fabric)
    before = fabric.ask("events", "-n", "1000")
    fabric.stop_fmd()
    fabric.start_fmd()
    fabric.wait_up()
    after = fabric.ask("events", "-n", "1000")
    assert after[:len(before)] == before
    assert [event["seq"] for event in after] == list(range(len(after)))
    assert "started" in [event["kind"] for event in after[len(before):]]
    poll(lambda: str(after[-1]["seq"]) in fabric.rows("events"), "all are on disk")
    fabric.stop_fmd(signal.SIGKILL)
    fabric.start_fmd()
    fabric.wait_up()
    assert fabric.ask("events", "-n", "1000")[:len(after)] == after


def test_followers_get_what_they_asked_for(start, pod_net):
    fabric = start(pod_net)
    follower = subprocess.Popen([program("fmctl"), "-s", fabric.socket, "--json", "events", "-f", "--kind", "link-down,link-up"],
                                stdout=subprocess.PIPE, text=True)
    try:
        cut_and_mend(fabric)
        assert [json.loads(follower.stdout.readline())["kind"] for _ in range(2)] == ["link-down", "link-up"]
    finally:
        follower.kill()
        follower.wait()


# ---- For other programs

def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_event_hook_gets_each_event_once_in_order_and_goes_on_behind_a_restart(start, pod_net, tmp_path):
    hook, got = tmp_path / "hook", tmp_path / "got"
    hook.write_text(f'#!/bin/sh\ntest "$FMD_EVENT" = "$(tee -a {got})"\n')
    hook.chmod(0o755)
    fabric = start(pod_net, event_hook=str(hook))
    cut_and_mend(fabric)
    poll(lambda: [event["kind"] for event in lines(got)][-1:] == ["restored"], "the repair's event")
    fabric.stop_fmd()
    hook.chmod(0o644)
    hook.write_text(f"#!/bin/sh\ncat >>{got}\n")
    hook.chmod(0o755)
    fabric.start_fmd()
    fabric.wait_up()
    newest = fabric.ask("events", "-n", "1")[0]["seq"]
    poll(lambda: lines(got)[-1]["seq"] >= newest, "those of the second start")
    seen = [event["seq"] for event in lines(got)]
    assert sorted(set(seen)) == list(range(seen[0], seen[-1] + 1)) and seen == sorted(seen)
    shown = {event["seq"]: event for event in fabric.ask("events", "-n", "1000")}
    assert all(shown[event["seq"]] == event for event in lines(got))


def test_event_hook_that_fails_is_an_alert_and_holds_later_events_back(start, pod_net, tmp_path):
    hook, got = tmp_path / "hook", tmp_path / "got"
    hook.write_text(f"#!/bin/sh\ncat >>{got}\nexit 1\n")
    hook.chmod(0o755)
    fabric = start(pod_net, event_hook=str(hook))
    fabric.wait(lambda s: [alert for alert in s["alerts"] if alert["what"] == "event-hook"], "the alert")
    cut_and_mend(fabric)
    assert len({event["seq"] for event in lines(got)}) == 1


def test_the_journal_has_kind_and_subject_of_an_event_as_fields(start, pod_net):
    """As journald has them from its socket; where a journald runs this test does nothing."""
    place = pathlib.Path("/run/systemd/journal/socket")
    if place.exists() or os.geteuid():
        pytest.skip("a journal runs here, or its socket's place is not ours")
    place.parent.mkdir(parents=True, exist_ok=True)
    journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    journal.bind(str(place))
    journal.settimeout(60)
    try:
        fabric = start(pod_net, fmd=False)
        fabric.log.touch()
        at = fabric.log.stat()
        fabric.start_fmd(JOURNAL_STREAM=f"{at.st_dev}:{at.st_ino}")
        fabric.wait_up()
        fabric.console(f'Unlink "{OTHER}"[33]')
        while b"FMD_KIND=link-down" not in (entry := journal.recv(65536)):
            pass
    finally:
        journal.close()
        place.unlink()
    fields = dict(line.split("=", 1) for line in entry.decode().splitlines())
    down = fabric.ask("events", "--kind", "link-down")[0]
    assert fields["FMD_NODE"] == down["node"] and fields["FMD_PORT"] == str(down["port"]) and fields["FMD_NODE_NAME"] == down["node_name"]
    assert fields["PRIORITY"] == "4" and down["text"] in fields["MESSAGE"] and fields["MESSAGE_ID"] == "5f6d1c6a8a2e4b0dac1ebf2c2f4fee98"
    assert down["text"] not in fabric.log.read_text()
