# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A peer with a valid certificate that claims to be the master and lies: what it says of ports is checked against the fabric."""
import json
import re
import signal
import socket
import ssl
import struct
import threading

import pytest

from fabric import ROOT, free_door, poll, split
from test_mirror import FAST, HERE, HOST, MGID, THERE, certificate, client, managed, port_guid

pytestmark = pytest.mark.long

MEMBER, OUTSIDER, GHOST = port_guid("H-0002c90380008300"), port_guid("H-0002c90380008400"), "0x00000000dead0001"
OPEN, CLOSED = "ff12401bffff00000000000000000042", "ff12401b800500000000000000000042"
SHOWN_OPEN, SHOWN_CLOSED = "ff12:401b:ffff::42", "ff12:401b:8005::42"
PARTITIONS = f"Default=0x7fff, ipoib: ALL=full;\nclosed=0x0005: {MEMBER}=full;\n"


def group(mgid, mlid, pkey, *members):
    words = f"0x{mgid[:16]} 0x{mgid[16:]}"
    return {f"group {words}": f"0x{mlid:x} 0x{pkey:x} 0xb1b 4 3 18 0 0x0 0 0", **{f"joined {words} {guid}": "1 0" for guid in members}}


def rows_of(kinds):
    """As bytes (fm/state/rows.h) of {kind: {key: value}}; value None: that row is removed."""
    return b"".join(f"{int(value is not None)}\0{kind}\0{key}\0{value or ''}\0".encode() for kind, rows in kinds.items() for key, value in rows.items())


class Liar(threading.Thread):
    def __init__(self, keys, master_guid, kinds):
        super().__init__(daemon=True)
        self.keys = keys
        self.address, self.guid, self.kinds = free_door(), master_guid, kinds
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(keys["peer_cert"], keys["peer_key"])
        self.context.load_verify_locations(keys["peer_ca"])
        self.context.verify_mode = ssl.CERT_REQUIRED
        self.door = socket.create_server(split(self.address))
        self.start()

    def context_of_a_client(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(self.keys["peer_ca"])
        context.load_cert_chain(self.keys["peer_cert"], self.keys["peer_key"])
        return context

    def send(self, kind, head, body=b""):
        text = json.dumps(head).encode()
        self.channel.sendall(struct.pack(">IB", len(text) + 2 + len(body), ord(kind)) + text + b"\n" + body)

    def run(self):
        try:
            while True:
                self.channel = self.context.wrap_socket(self.door.accept()[0], server_side=True)
                self.lie()
        except OSError:
            pass

    def lie(self):
        self.send("H", {"protocol": 2, "port_guid": self.guid, "name": "liar", "takeovers": [[1, self.guid]]})
        self.send("R", {"master": True, "takeovers": [[1, self.guid]]})
        self.send("Z", {"of": "a newer version"}, b"anything")
        for number, (kind, rows) in enumerate(self.kinds.items()):
            self.send("K", {"seq": number}, rows_of({kind: rows}))
        self.send("W", {"seq": len(self.kinds)})
        while self.channel.recv(65536):
            pass


KEPT = 8  # kinds that it does not know
LIE = "of a liar"
OWN = ["guid2mkey", "peer_keys", "tables", "unshared"]  # kinds that no other manager has a say in


@pytest.fixture
def lied_to(start, pod_net, tmp_path):
    """(an honest master without a mirror, a standby that was lied to)"""
    (tmp_path / "partitions.conf").write_text(PARTITIONS)
    keys = certificate(tmp_path, "one", "ca")
    master = start(pod_net, HERE, partition_config_file=str(tmp_path / "partitions.conf"), **FAST)
    lids = poll(lambda: master.rows("lids"), "its LIDs are on disk")
    kinds = {"lids": {**lids, MEMBER: lids[OUTSIDER], OUTSIDER: lids[MEMBER]}, "cordons": {"0x00000000dead0002 0": ""},
             "takeovers": {"text": f"1\n1 {port_guid(HERE)}\n"}, **{name: {"text": LIE} for name in [*OWN, "cordons.aside"]},
             "groups": group(OPEN, 0xC010, 0xFFFF, MEMBER, GHOST) | group(CLOSED, 0xC011, 0x8005, MEMBER, OUTSIDER)}
    liar = Liar(certificate(tmp_path, "two", "ca"), port_guid(HERE), kinds)
    standby = master.another(peers=liar.address, peer_listen=free_door(),
                             partition_config_file=str(tmp_path / "partitions.conf"), **keys, **FAST)
    try:
        standby.start_fmd(THERE)
        yield master, standby
    finally:
        standby.stop()
        liar.door.close()


def test_what_a_lying_peer_says_of_ports_is_checked_against_the_fabric(lied_to):
    master, standby = lied_to
    standby.wait(lambda s: s["sm"] == "standby" and s["mirror"]["whole"], "it believes the peer so far")
    standby.wait(lambda s: all(standby.kinds("cordons", "groups").values()), "its copy is on disk")
    assert not [kind for kind, rows in standby.kinds().items() if LIE in rows.values()]
    before = master.lids()
    master.stop_fmd(signal.SIGKILL)
    status = standby.wait(managed, "it has taken over")
    assert standby.lids() == before  # a live port's LID wins over every file
    assert (status["lft_blocks_written"], status["links_cordoned"], status["proof"]["unreachable"]) == (0, 0, 0)
    groups = {g["mgid"]: g for g in standby.ask("groups")}
    ghost = next(m for m in groups[SHOWN_OPEN]["members"] if m["guid"] == GHOST)
    assert ghost["waits"]  # for a port that there is not, no longer than for one that is off
    standby.wait(lambda s: [{m["guid"] for m in g["members"]} for g in standby.ask("groups") if g["mgid"] == SHOWN_CLOSED] == [{MEMBER}],
                 "who is not of its partition is no member")
    leads = re.findall(r"^(0xc01[01]) : ((?:0x\w+ ?)+)", (standby.dump() / "opensm.mcfdbs").read_text(), re.M | re.I)
    assert sorted((mlid.lower(), len(ports.split())) for mlid, ports in leads) == [("0xc010", 1), ("0xc011", 1)], leads
    assert standby.fmctl("check", check=False).returncode == 0


@pytest.mark.long
@pytest.mark.parametrize("count", [63, 64, 65])
def test_names_that_a_peer_makes_up_do_not_crowd_out_those_of_fmd(start, pod_net, tmp_path, count):
    """Who takes over with them is copied by the next standby, and goes on."""
    made_up = {f"a{i:02}": {"text": str(i)} for i in range(count)}
    keys = certificate(tmp_path, "one", "ca")
    master = start(pod_net, HERE, **FAST)
    liar = Liar(certificate(tmp_path, "two", "ca"), port_guid(HERE), made_up)
    door = free_door()
    standby = master.another(peers=liar.address, peer_listen=door, **keys, **FAST)
    try:
        standby.start_fmd(THERE)
        standby.wait(lambda s: s["sm"] == "standby" and s["mirror"]["whole"], "it believes the peer")
        poll(lambda: len(made_up.keys() & standby.kinds().keys()) >= KEPT, "its copy is on disk")
        master.stop_fmd(signal.SIGKILL)
        standby.wait(managed, "it has taken over")
        third = liar.context_of_a_client()
        with socket.create_connection(split(door)) as end, third.wrap_socket(end) as channel:
            text = json.dumps({"protocol": 2, "port_guid": GHOST, "name": "third", "takeovers": []}).encode()
            channel.sendall(struct.pack(">IB", len(text) + 2, ord("H")) + text + b"\n")
            standby.wait(lambda s: [row["name"] for row in s["mirror"]["standbys"]] == ["third"], "it is copied")
            client(standby, "join", port_guid(HOST), MGID, "1")
            received = b""
            while f"groups\0joined 0x{MGID[:16]} 0x{MGID[16:]} {port_guid(HOST)}\0".encode() not in received:
                piece = channel.recv(65536)
                assert piece, f"it has ended:\n{standby.log.read_text()[-2000:]}"
                received += piece
        assert managed(standby.status()) and len(made_up.keys() & standby.kinds().keys()) == KEPT
    finally:
        standby.stop()
        liar.door.close()


def test_all_kinds_that_owners_keep_are_known_by_name():
    """Others are of another version, and few of them are kept."""
    sources = "".join(path.read_text() for path in sorted((ROOT / "fm").rglob("*.c")))
    headers = "".join(path.read_text() for path in (ROOT / "fm").rglob("*.h"))
    macros = dict(re.findall(r'#define (\w+) "(\w+)"', sources + headers))
    kept = re.findall(r"struct state_kind \w+ = \{\s*\.name = (\S+?),", sources)
    rules = re.findall(r'\{ \.name = "(\w+)"(.*?)\}', re.search(r"state_rules\[\] = \{(.*?)\n\};", sources, re.S)[1], re.S)
    assert len(kept) > 20 and {macros.get(name) or name.strip('"') for name in kept} <= {name for name, _ in rules}
    assert {name for name, rule in rules if ".own = true" in rule} == set(OWN)
