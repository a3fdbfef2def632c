# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Attacks at the managers' port: the copying of who is entitled goes on, memory is bounded, and the status tells what was refused and why."""
import contextlib
import os
import pathlib
import re
import socket
import ssl
import struct
import subprocess

import pytest

from fabric import free_door, own_address, poll, split
from test_lying_peer import Liar, rows_of
from test_mirror import FAST, HERE, HOST, MGID, THERE, certificate, client, port_guid, secret, whole
from test_peer_links import GROWTH_KB, closed, connect, frame, peak_kb, peers, standbys  # noqa: F401: a fixture

pytestmark = pytest.mark.long

STRANGER, OTHER = "0x00000000dead0001", "0x00000000dead0002"
HUNDRED = 100
WAITING = 64  # connections that fmd keeps in all before they have said something


def expired(folder, name, ca):
    keys = certificate(folder, name, ca)
    subprocess.run(["openssl", "x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", "-CAcreateserial", "-days", "-1",
                    "-out", f"{name}.pem"], check=True, capture_output=True, cwd=folder)
    return keys


def context_of(keys, ca=None, side=ssl.PROTOCOL_TLS_CLIENT):
    context = ssl.SSLContext(side)
    context.check_hostname = False
    context.load_verify_locations((ca or keys)["peer_ca"])
    context.verify_mode = ssl.CERT_REQUIRED
    if keys:
        context.load_cert_chain(keys["peer_cert"], keys["peer_key"])
    return context


def only_tls_1_2(context):
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context


def proofs(folder, side):
    """What who is not entitled has to show, by name: its TLS, and the words in which it is refused."""
    good = certificate(folder, "good", "ca")
    of = {
        "TLS 1.2": lambda: (only_tls_1_2(context_of(good, side=side)), "protocol"),
        "expired": lambda: (context_of(expired(folder, "late", "ca"), side=side), "certificate has expired"),
        "another CA": lambda: (context_of(certificate(folder, "other", "otherca"), good, side), "certificate"),
        "no certificate": lambda: (context_of(None, good, side), "did not return a certificate"),
    }
    return of


class Impostor(Liar):
    """At a peer's address, by that TLS: for each connection anew."""

    def __init__(self, keys, context):
        self.offered = context
        super().__init__(keys, port_guid(HERE), {"cordons": {"0x00000000dead0002 0": ""}})

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                end = self.door.accept()[0]
                with contextlib.suppress(OSError), self.offered.wrap_socket(end, server_side=True) as self.channel:
                    self.lie()


@pytest.fixture
def certified(peers, tmp_path):  # noqa: F811
    """Two managers with certificates of one CA, and a certificate of that CA in other hands."""
    it = peers(certificate(tmp_path, "one", "ca"))
    it.stranger = context_of(certificate(tmp_path, "stranger", "ca"))
    it.master.wait(lambda s: s["mirror"]["whole"], "the standby has said that it has all")
    it.rows = standbys(it.master)
    it.rss = peak_kb(it.master)
    return it


def mirror(fabric):
    return fabric.status()["mirror"]


def has_all(it):
    """The standby has what the master has, both say so, and nobody else copies it."""
    there = mirror(it.master)
    return (there["whole"] and not there["error"] and not mirror(it.standby)["error"] and there["standbys"][0]["behind"] == 0
            and [(row["port_guid"], row["whole"]) for row in there["standbys"]] == it.rows)


def goes_on(it):
    """What a host registers now reaches the standby, and nothing else has changed."""
    assert peak_kb(it.master) < it.rss + GROWTH_KB
    assert it.seen() == it.before
    client(it.master, "join", port_guid(HOST), MGID, "1")
    poll(lambda: has_all(it), "the standby has taken it, and nothing else is connected")
    assert it.standby.status()["sm"] == "standby"


# ---- Who can't prove who it is ------------------------------------------------------------------------------------

@pytest.mark.parametrize("who", ["TLS 1.2", "expired", "another CA", "no certificate"])
def test_who_is_not_entitled_is_refused_and_the_status_tells_why(certified, tmp_path, who):
    it, (context, why) = certified, proofs(tmp_path, ssl.PROTOCOL_TLS_CLIENT)[who]()
    refused = mirror(it.master)["refused"]
    with contextlib.suppress(OSError), connect(it.door) as end, context.wrap_socket(end) as channel:
        channel.sendall(hello())
        assert not said(channel), "nothing is told to who has not proven who it is"
    status = it.master.wait(lambda s: s["mirror"]["refused"] == refused + 1, "it is counted")
    assert why in status["mirror"]["refused_last"], status["mirror"]
    goes_on(it)


@pytest.mark.parametrize("who", ["TLS 1.2", "expired", "another CA"])
def test_a_standby_takes_nothing_from_who_is_not_entitled(start, pod_net, tmp_path, who):
    """Somebody who answers at a peer's address."""
    context, why = proofs(tmp_path, ssl.PROTOCOL_TLS_SERVER)[who]()
    context.load_verify_locations(tmp_path / "ca.pem")
    master = start(pod_net, HERE, **FAST)
    liar = Impostor(certificate(tmp_path, "two", "ca"), context)
    standby = master.another(peers=liar.address, **certificate(tmp_path, "one", "ca"), **FAST)
    try:
        standby.start_fmd(THERE)
        status = standby.wait(lambda s: s["sm"] == "standby" and s["mirror"]["peers"][0]["error"], "it is refused")
        row = status["mirror"]["peers"][0]
        assert why in row["error"] and (row["connected"], row["master"], row["name"]) == (False, False, "")
        assert not status["mirror"]["whole"] and not standby.was_kept("cordons")
    finally:
        standby.stop()
        liar.door.close()


def without_proof(folder, side):
    """A certificate of its own making, and no secret."""
    keys = certificate(folder, "nobody", "nobodysca")
    context = ssl.SSLContext(side)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(keys["peer_cert"], keys["peer_key"])
    return context


def test_a_certificate_proves_nothing_where_managers_share_a_key(start, pod_net, tmp_path):
    """In TLS 1.3 a server may pass over the key that it is offered, and show a certificate."""
    psk = {"peer_psk_file": secret(tmp_path / "psk")}
    master = start(pod_net, HERE, peer_listen=free_door(), **psk, **FAST)
    liar = Impostor(certificate(tmp_path, "two", "ca"), without_proof(tmp_path, ssl.PROTOCOL_TLS_SERVER))
    standby = master.another(peers=liar.address, **psk, **FAST)
    try:
        standby.start_fmd(THERE)
        status = standby.wait(lambda s: s["sm"] == "standby" and (s["mirror"]["whole"] or s["mirror"]["peers"][0]["error"]), "it is refused, or believed")
        row = status["mirror"]["peers"][0]
        assert not status["mirror"]["whole"] and not standby.was_kept("cordons")
        assert "certificate" in row["error"] and (row["connected"], row["master"], row["name"]) == (False, False, ""), row
    finally:
        standby.stop()
        liar.door.close()
    door = re.search(r'peer_listen = "(.*?)"', master.conf.read_text())[1]
    with contextlib.suppress(OSError), connect(door) as end, without_proof(tmp_path, ssl.PROTOCOL_TLS_CLIENT).wrap_socket(end) as channel:
        channel.sendall(hello())
        assert not said(channel), "nothing is told to who has no key"
    master.wait(lambda s: s["mirror"]["refused"] and not s["mirror"]["standbys"], "it is counted")


# ---- Who has a certificate, and says what was said before ---------------------------------------------------------

def hello(guid=STRANGER, **more):
    return frame(b"H", {"protocol": 2, "port_guid": guid, "name": "stranger", "takeovers": [], **more})


def said(channel):
    """The first bytes that come, b"" when the other end closes."""
    try:
        return channel.recv(65536)
    except (ssl.SSLError, ConnectionError):
        return b""


def introduced(it, *frames):
    """A connection of the stranger that has said its HELLO, and these frames behind."""
    channel = it.stranger.wrap_socket(connect(it.door))
    channel.sendall(b"".join(frames))
    return channel


def ended(it, channel, check=lambda: None):
    """Until the other end closes, each check passes."""
    channel.settimeout(0.1)
    while True:
        check()
        try:
            if not channel.recv(65536):
                break
        except TimeoutError:
            continue
        except (ssl.SSLError, ConnectionError):
            break
    poll(lambda: STRANGER not in [row[0] for row in standbys(it.master)], "the stranger is no standby")


def test_a_second_hello_ends_the_connection(certified):
    it = certified

    def same():
        assert OTHER not in [row[0] for row in standbys(it.master)], "it is somebody else now"

    ended(it, introduced(it, hello(), hello(OTHER)), same)
    goes_on(it)


def test_an_old_hello_of_the_standby_does_not_put_it_off(certified):
    it = certified
    guid = it.rows[0][0]
    connections = mirror(it.master)["refused"]
    for number in range(5):
        channel = introduced(it, hello(guid, name="standby", takeovers=[[1, port_guid(HERE)]]))
        closed(channel)
    it.master.wait(lambda s: s["mirror"]["refused"] >= connections + 5, "they are counted")
    poll(lambda: has_all(it), "the standby goes on")
    assert "stopped copying" not in it.master.log.read_text(), "its connection has not ended"
    assert "another" in mirror(it.master)["refused_last"]
    goes_on(it)


def mirror_events(fabric):
    return [e["text"] for e in fabric.ask("events", "--kind", "mirror", "-n", "4000")]


@pytest.mark.parametrize("takeovers", [[], [[1, STRANGER]], [[7, STRANGER]]], ids=["none", "as many", "more"])
def test_a_hello_with_an_old_generation_counts_once(certified, takeovers):
    it = certified
    before, number = len(mirror_events(it.master)), mirror(it.master)["takeovers"]
    for _ in range(40):
        with introduced(it, hello(takeovers=takeovers)) as channel:
            assert said(channel)
    status = mirror(it.master)
    assert len(mirror_events(it.master)) - before <= 1
    assert status["takeovers"] <= max(number, takeovers[-1][0] if takeovers else 0) + 1
    poll(lambda: standbys(it.master) == it.rows, "the stranger has gone")
    goes_on(it)


@pytest.mark.parametrize("number", [2**63 - 2, 2**62, 10**9])
def test_a_take_over_that_can_not_be_is_not_counted_from(certified, number):
    it = certified
    before = mirror(it.master)["takeovers"]
    channel = introduced(it, hello(takeovers=[[number, STRANGER]]))
    ended(it, channel)
    assert mirror(it.master)["takeovers"] == before
    assert "take-over" in mirror(it.master)["refused_last"]
    goes_on(it)


LIES = {
    "before its HELLO": [frame(b"T", {"seq": 0, "whole": True})],
    "what was never sent": [hello(), frame(b"T", {"seq": 10**9, "whole": True})],
    "less than nothing": [hello(), frame(b"T", {"seq": -1, "whole": True})],
}


@pytest.mark.parametrize("lie", LIES)
def test_who_says_that_it_has_what_it_can_not_have_is_let_go(certified, lie):
    it = certified
    it.link.mode = "cut"
    poll(lambda: not standbys(it.master), "the master has no standby")

    def disbelieved():
        status = mirror(it.master)
        assert not status["whole"] and status["behind"] >= 0, "it is believed"

    ended(it, introduced(it, *LIES[lie]), disbelieved)
    if lie == "before its HELLO":
        assert "did not introduce itself" in mirror(it.master)["refused_last"]
    it.link.mode = "pass"
    whole(it.standby)
    goes_on(it)


# ---- Frames that are longer than they need be ---------------------------------------------------------------------

def large(kind, count):
    """A frame whose object has so many members: in memory each of them is a hundred times as long."""
    content = kind + b'{"a":[' + b"{}," * count + b"0]}\n"
    return struct.pack(">I", len(content)) + content


class Talker(Liar):
    """A peer with a certificate that says these bytes."""

    def __init__(self, keys, guid, introduces, words):
        self.introduces, self.words = introduces, words
        super().__init__(keys, guid, {})

    def lie(self):
        if self.introduces:
            self.send("H", {"protocol": 2, "port_guid": self.guid, "name": "liar", "takeovers": []})
        self.channel.sendall(self.words)
        while self.channel.recv(65536):
            pass


LONG = 4 << 20  # bytes of an object
TALK = {
    "a HELLO of 4 MB": (False, large(b"H", LONG // 3)),
    "a HELLO of 32 kB": (False, large(b"H", 32768 // 3)),
    "rows before its HELLO": (False, frame(b"K", {"seq": 1}, rows_of({"cordons": {"0x00000000dead0002 0": ""}}))),
    "a role of 4 MB": (True, large(b"R", LONG // 3)),
    "rows with a head of 4 MB": (True, large(b"K", LONG // 3)),
    "rows that are longer than any": (True, struct.pack(">I", (256 << 20) + 9) + b'K{"seq":1}\n'),
    "a row that does not end": (True, frame(b"K", {"seq": 1}, b"1\0cordons\0key\0value")),
}


@pytest.mark.parametrize("talk", TALK)
def test_a_peer_that_says_too_much_is_let_go_before_it_costs_memory(start, pod_net, tmp_path, talk):
    liar = Talker(certificate(tmp_path, "two", "ca"), STRANGER, *TALK[talk])
    try:
        fabric = start(pod_net, HERE, peers=liar.address, **certificate(tmp_path, "one", "ca"), **FAST)
        status = fabric.wait(lambda s: s["mirror"]["peers"][0]["error"], "it is let go")
        row = status["mirror"]["peers"][0]
        assert re.search("it sent invalid data|invalid rows|did not introduce itself", row["error"]) and not row["connected"], row
        assert peak_kb(fabric) < 2 * GROWTH_KB
    finally:
        liar.door.close()


# ---- Connections that come to nothing -----------------------------------------------------------------------------

def connections(fabric):
    """Descriptors of it that are sockets."""
    folder, found = pathlib.Path(f"/proc/{fabric.fmd.pid}/fd"), 0
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            found += os.readlink(path).startswith("socket:")
    return found


@pytest.mark.parametrize("how", ["TCP alone", "TLS alone"])
def test_a_hundred_half_open_connections_keep_nobody_away(certified, how):
    it = certified
    before, ends = connections(it.master), []
    refused = mirror(it.master)["refused"]
    try:
        for _ in range(HUNDRED + WAITING):
            end = connect(it.door)
            ends.append(end if how == "TCP alone" else it.stranger.wrap_socket(end))
        status = it.master.wait(lambda s: s["mirror"]["refused"] >= refused + HUNDRED, "the oldest have made way")
        assert "in time" in status["mirror"]["refused_last"] and connections(it.master) <= before + WAITING
        it.link.mode = "cut"
        it.standby.wait(lambda s: not s["mirror"]["whole"], "the standby is cut off")
        it.link.mode = "pass"
        whole(it.standby)
        goes_on(it)
        for end in ends:
            closed(end)  # all of them are let go, without a word of theirs
        status = it.master.wait(lambda s: s["mirror"]["refused"] >= refused + HUNDRED + WAITING, "they are counted")
        assert "no data received" in status["mirror"]["refused_last"]
        poll(lambda: connections(it.master) <= before, "they cost nothing any more")
    finally:
        for end in ends:
            end.close()


def test_connections_without_end_from_elsewhere_put_nobody_off(certified):
    """Whoever comes from another address than most has the time that a handshake takes."""
    it, ends, elsewhere = certified, [], own_address()
    refused = mirror(it.master)["refused"]
    first = connect(it.door)
    try:
        for _ in range(HUNDRED + WAITING):
            ends.append(socket.create_connection(split(it.door), timeout=60, source_address=(elsewhere, 0)))
        status = it.master.wait(lambda s: s["mirror"]["refused"] >= refused + HUNDRED, "the oldest have made way")
        assert status["mirror"]["refused_last"].startswith(f"{elsewhere}: ")
        with it.stranger.wrap_socket(first) as channel:
            channel.sendall(hello())
            assert said(channel)
        poll(lambda: standbys(it.master) == it.rows, "the stranger has gone")
        goes_on(it)
    finally:
        for end in (first, *ends):
            end.close()
