# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What a bad connection between two managers, or somebody hostile at their port, changes: the age of the copy, and nothing else."""
import json
import os
import re
import resource
import signal
import socket
import ssl
import struct
import time

import pytest

from bad_link import BadLink
from fabric import free_door, poll, split
from test_mirror import FAST, HERE, HOST, MGID, THERE, certificate, client, managed, port_guid, secret, whole

STALE_MS = 2 * 3 * FAST["sminfo_polling_timeout"] + 2000  # older than this a copy is not gone on with
GROWTH_KB = 24 * 1024
MANY = 1000


class Peers:
    """A master and its standby; what the standby copies comes over a link that can be made bad."""

    def __init__(self, start, net, keys):
        self.door, second = free_door(), free_door()
        self.link = BadLink(self.door)
        self.master = start(net, HERE, peer_listen=self.door, peers=second, **keys, **FAST)
        self.standby = self.master.another(peer_listen=second, peers=self.link.address, **keys, **FAST)
        self.standby.start_fmd(THERE)
        self.standby.wait(lambda s: s["sm"] == "standby", "it stands by")
        whole(self.standby)
        self.before = self.seen()

    def seen(self):
        status = self.master.status()
        return {"lids": self.master.lids(), "tables": self.master.simulated_tables()[1], "alive": managed(status),
                "written": status["lft_blocks_written"], "changes": status["role_changes"]}

    def assert_as_before(self):
        assert self.seen() == self.before
        assert self.standby.status()["sm"] == "standby"

    def stop(self):
        self.link.stop()
        self.standby.stop()


@pytest.fixture
def peers(start, pod_net, tmp_path):
    mine = []

    def begin(keys=None):
        mine.append(Peers(start, pod_net, keys or {"peer_psk_file": secret(tmp_path / "psk")}))
        return mine[-1]

    try:
        yield begin
    finally:
        for it in mine:
            it.stop()


@pytest.mark.long
@pytest.mark.parametrize("mode", ["drip", "hole", "cut"])
def test_a_copy_that_is_old_is_not_taken_for_a_whole_one(peers, mode):
    it = peers()
    it.link.mode = mode
    status = it.standby.wait(lambda s: s["mirror"]["age_ms"] > STALE_MS, "the copy is old")
    assert not status["mirror"]["whole"] and status["mirror"]["error"]
    it.master.wait(lambda s: not s["mirror"]["whole"] and s["mirror"]["age_ms"] > 0, "the master says so, too")
    it.assert_as_before()
    it.master.stop_fmd(signal.SIGKILL)
    it.standby.wait(managed, "it has taken over")
    assert it.standby.lids() == it.before["lids"] and it.standby.simulated_tables()[1] == it.before["tables"]


@pytest.mark.long
def test_a_bad_link_that_is_good_again_has_the_copy_whole_again(peers):
    it = peers()
    for mode in ("garble", "cut", "hole"):
        it.link.mode = mode
        it.standby.wait(lambda s: not s["mirror"]["whole"], "the copy is not whole")
        it.assert_as_before()
        it.link.mode = "pass"
        assert whole(it.standby)["mirror"]["error"] is None


def test_status_tells_in_words_how_old_the_copy_is(peers):
    it = peers()
    it.master.wait(lambda s: s["mirror"]["whole"], "the standby has said that it has all")
    for fabric, word in ((it.master, "copied by"), (it.standby, "copy of")):
        assert re.search(rf"^mirror +{word} \S+, [0-9.]+ s old$", fabric.fmctl("status").stdout, re.M), fabric.fmctl("status").stdout
    it.link.mode = "cut"
    for fabric in (it.master, it.standby):
        fabric.wait(lambda s: not s["mirror"]["whole"], "the copy is not whole")
        assert re.search(r"^mirror +incomplete for [0-9]+ s: \S", fabric.fmctl("status").stdout, re.M), fabric.fmctl("status").stdout


@pytest.mark.long
def test_a_link_of_half_a_second_delays_a_hand_over_and_loses_nothing(peers):
    it = peers()
    it.link.mode = "late"
    for step in range(3):
        client(it.master, "join", port_guid(HOST), f"ff12401bffff0000000000000000{step:04x}", "1")
    it.master.wait(lambda s: s["mirror"]["whole"], "the standby has it")
    assert it.standby.status()["mirror"]["age_ms"] < STALE_MS
    it.master.ask("handover")
    it.standby.wait(managed, "it was handed the fabric")
    assert sum(g["full"] > 0 for g in it.standby.ask("groups")) == 3
    assert not any("register anew" in e["text"] for e in it.standby.ask("events", "-n", "200"))


def connect(door, patience_s=60):
    return socket.create_connection(split(door), timeout=patience_s)


def closed(end):
    """The other end closes; what it says before is read."""
    try:
        while end.recv(65536):
            pass
    except ssl.SSLError:
        pass
    except ConnectionError:
        pass
    return True


def peak_kb(fabric):
    with open(f"/proc/{fabric.fmd.pid}/status") as text:
        return int(re.search(r"VmHWM:\s+(\d+)", text.read())[1])


def standbys(fabric):
    return [(row["port_guid"], row["whole"]) for row in fabric.status()["mirror"]["standbys"]]


def test_what_was_recorded_is_of_no_use(peers):
    it = peers()
    before = standbys(it.master)
    assert it.link.recorded
    with connect(it.door) as end:
        end.sendall(it.link.recorded)
        closed(end)
    assert standbys(it.master) == before
    it.master.wait(lambda s: s["mirror"]["refused"] > 0, "it is counted")
    it.assert_as_before()


@pytest.mark.long
def test_who_says_nothing_or_almost_nothing_is_let_go(peers):
    it = peers()
    with connect(it.door) as silent, connect(it.door) as slow:
        hello = it.link.recorded[:200]
        begun = time.monotonic()
        slow.setblocking(False)
        for byte in hello:  # a byte a second of a beginning that is right
            slow.send(bytes([byte]))
            try:
                if slow.recv(100) == b"":
                    break
            except BlockingIOError:
                time.sleep(1)
            except ConnectionError:
                break
        else:
            raise AssertionError("who never comes to an end is waited for")
        print(f"let go after {time.monotonic() - begun:.0f} s")
        assert closed(silent)
    it.assert_as_before()


@pytest.mark.long
def test_a_thousand_connections_cost_nothing(peers):
    it = peers()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * MANY), hard))
    before = peak_kb(it.master)
    fds = len(os.listdir(f"/proc/{it.master.fmd.pid}/fd"))
    ends = []
    try:
        for number in range(MANY):
            ends.append(connect(it.door))
            if number % 2:
                ends[-1].sendall(os.urandom(300))
        assert len(os.listdir(f"/proc/{it.master.fmd.pid}/fd")) < fds + 100
        client(it.master, "join", port_guid(HOST), MGID, "1")
        it.link.mode = "cut"
        it.standby.wait(lambda s: not s["mirror"]["whole"], "the standby is cut off")
        it.link.mode = "pass"
        whole(it.standby)
        assert peak_kb(it.master) < before + GROWTH_KB
        it.assert_as_before()
    finally:
        for end in ends:
            end.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# ---- Who has a certificate, and lies ----------------------------------------------------------------------------

def frame(kind, head, body=b""):
    text = (head if isinstance(head, bytes) else json.dumps(head).encode()) + b"\n" + body
    return struct.pack(">I", len(text) + 1) + kind + text


HELLO = frame(b"H", {"protocol": 2, "port_guid": "0x00000000dead0001", "name": "stranger", "takeover": 99})
LIES = {
    "a length of 256 MB": struct.pack(">I", 256 << 20) + b"H",
    "a length of 4 GB": struct.pack(">I", 0xffffffff) + b"H",
    "no line feed": struct.pack(">I", 1 << 20) + b"H" + b"{" * 1024,
    "no object": frame(b"T", b"[]"),
    "a deep object": frame(b"T", b'{"a":' * 5000 + b"1" + b"}" * 5000),
}


@pytest.fixture
def stranger(tmp_path):
    """A certificate of the managers' CA, in other hands."""
    keys = certificate(tmp_path, "stranger", "ca")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(keys["peer_ca"])
    context.load_cert_chain(keys["peer_cert"], keys["peer_key"])
    return context


@pytest.mark.parametrize("lie", [lie if lie == "no object" else pytest.param(lie, marks=pytest.mark.long) for lie in LIES])
def test_frames_that_are_none_end_a_connection_and_nothing_else(peers, stranger, tmp_path, lie):
    it = peers(certificate(tmp_path, "one", "ca"))
    rss = peak_kb(it.master)
    with stranger.wrap_socket(connect(it.door)) as end:
        end.sendall(HELLO)
        try:
            end.sendall(LIES[lie])
            for _ in range(64 if "length" in lie or "feed" in lie else 0):
                end.sendall(bytes(1 << 20))
        except OSError:
            pass
        closed(end)
    assert peak_kb(it.master) < rss + GROWTH_KB
    it.assert_as_before()


@pytest.mark.long
def test_frames_without_an_end_and_answers_that_nobody_reads_take_no_memory(peers, stranger, tmp_path):
    it = peers(certificate(tmp_path, "one", "ca"))
    rss = peak_kb(it.master)
    end = stranger.wrap_socket(connect(it.door))
    end.sendall(HELLO)
    end.settimeout(2)
    asked = time.monotonic()
    try:
        while time.monotonic() - asked < 5:
            end.sendall(frame(b"T", {"seq": 1, "whole": True}) * 500 + frame(b"x", {"unknown": 1}) * 500)
    except OSError:
        pass
    assert peak_kb(it.master) < rss + GROWTH_KB
    end.close()
    it.assert_as_before()
    poll(lambda: len(standbys(it.master)) == 1, "the stranger is forgotten")
