# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What fmd-ha(7) tells of two managers holds, by the lines that it prints where these can be typed here."""
import pathlib
import re
import subprocess

import pytest

from fabric import DEADLINE_S, poll, program
from test_mirror import HERE, THERE, managed, put_aside, secret, two, whole  # noqa: F401  (two is a fixture)

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEAF = "S-0002c90300000100"  # of HERE
UPLINKS = range(33, 65)


def lines():
    text = (ROOT / "etc/fmd-ha.7").read_text()
    blocks = re.findall(r"^\.RS\n(.*?)^\.RE$", text, re.M | re.S)
    return [line.replace("\\-", "-").replace("\\e", "\\") for block in blocks for line in block.splitlines()]


def typed(beginning, has, words, instead):
    """Types the line of the page that begins so and has that, with other words instead of those."""
    line, = {line for line in lines() if line.startswith(beginning) and has in line}
    assert words in line
    subprocess.run(["sh", "-c", line.replace(words, str(instead))], check=True, timeout=120)


def copied(fabric):
    typed("until fmctl", '"mirror"', "fmctl", f"{program('fmctl')} -s {fabric.socket}")


def others(status):
    return [other["state"] for other in status["election"]["others"]]


def hand_over(one, other):
    one.wait(lambda s: "standby" in others(s), "the master knows of its standby")
    one.fmctl("handover")
    other.wait(managed, "it was handed the fabric")
    one.wait(lambda s: s["sm"] == "standby", "the first stands by")


def test_the_secret_of_the_page_is_taken_and_either_can_be_replaced(two, tmp_path):  # noqa: F811
    typed("(umask", "openssl", "/etc/fmd", tmp_path)
    one, other = two({"peer_psk_file": str(tmp_path / "peers.secret")})
    copied(other)
    one.fmctl("cordon", "spine-02")
    cordoned = one.status()["links_cordoned"]
    assert other.stop_fmd() == 0
    other.start_fmd(THERE)
    copied(other)
    hand_over(one, other)
    assert one.stop_fmd() == 0
    one.start_fmd(HERE)
    one.wait(lambda s: s["sm"] == "standby", "the first stands by again")
    copied(one)
    assert managed(other.status()), "who returns takes nothing"
    copied(other)
    hand_over(other, one)
    assert one.status()["links_cordoned"] == cordoned > 0
    one.fmctl("check", "--readback")


def test_a_handover_there_and_back_at_once_loses_nothing(two):  # noqa: F811
    """Whoever stands by since just now has all that the other acknowledged in its short time as master."""
    one, other = two()
    copied(other)
    hand_over(one, other)
    other.fmctl("cordon", "spine-02")
    other.fmctl("handover")
    status = one.wait(managed, "it is master again")
    assert status["links_cordoned"] > 0
    whole(other)
    assert not put_aside(one) + put_aside(other)


@pytest.mark.long
def test_a_handover_to_a_manager_without_a_copy_says_so(two, tmp_path):  # noqa: F811
    one, other = two(None, {"peer_psk_file": secret(tmp_path / "another", "ff" * 16)})
    hand_over(one, other)
    told = [event["text"] for event in one.ask("events", "--kind", "handover")]
    assert [text for text in told if "no standby has a complete copy" in text], told


@pytest.mark.long
def test_a_split_fabric_has_a_master_in_each_part_and_one_when_it_is_whole_again(two):  # noqa: F811
    low, high = two()  # by their port GUIDs
    whole(high)
    before = low.lids()
    low.console(*[f'Unlink "{LEAF}"[{port}]' for port in UPLINKS])
    high.wait(managed, "the other part has a master of its own")
    low.wait(lambda s: managed(s) and s["hcas_cut_off"] > 0, "the first is that of its part")
    assert high.status()["hcas_cut_off"] > 0
    high.fmctl("cordon", "spine-03")
    assert high.status()["links_cordoned"] > 0
    low.console(*[f'Relink "{LEAF}"[{port}]' for port in UPLINKS])
    high.wait(lambda s: s["sm"] == "standby", "the one with the higher port GUID hands over")
    low.wait(lambda s: managed(s) and s["links_down"] == 0, "the other has all of the fabric")
    low.wait(lambda s: s["links_cordoned"] > 0, "cordons of both parts hold")
    whole(high)
    assert low.lids() == before
    told = {event["kind"] for event in high.ask("events", "-n", "200")}
    assert {"handover", "standby"} <= told
    poll(lambda: not low.status()["election"]["two_masters"], "nobody tells of two masters")


def test_commands_of_the_page_are_there():
    for line in lines():
        words = line.split()
        if words and words[0] == "fmctl":
            name = next(word for word in words[1:] if not word.startswith("-"))
            assert subprocess.run([program("fmctl"), "help", name], capture_output=True, timeout=DEADLINE_S).returncode == 0, line
