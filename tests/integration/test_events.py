# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What happened: which of it is asked for, and over restarts."""
import json
import signal
import subprocess

from fabric import alike, poll, program

LEAF, SPINE, OTHER = "leaf-su01-rail0", "S-0002c90300000900", "S-0002c90300000100"


def cut_and_mend(fabric):
    fabric.console(f'Unlink "{OTHER}"[33]')
    fabric.wait_up(lambda s: s["links_down"] == 1, "the cut is seen")
    fabric.console(f'Relink "{OTHER}"[33]')
    fabric.wait_up(lambda s: s["links_down"] == 0, "the repair is seen")


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
    held = fabric.state_dir / "events-0"
    poll(lambda: f'"seq":{after[-1]["seq"]},' in held.read_text(), "all are on disk")
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
