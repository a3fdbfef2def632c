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
    lines = [f"group 0x{mgid[:16]} 0x{mgid[16:]} 0x{mlid:x} 0x{pkey:x} 0xb1b 4 3 18 0 0x0 0 0"]
    return "\n".join([*lines, *(f"member {guid} 1 0" for guid in sorted(members))]) + "\n"


def state_sum(data):
    """Of fm/state/state_file.h."""
    def add(total, word):
        total = (total + word + 1) * 0x9E3779B97F4A7C15 % 2**64
        return total ^ total >> 32

    total = add(0, len(data))
    for at in range(0, len(data), 8):
        total = add(total, int.from_bytes(data[at:at + 8], "little"))
    return total


class Liar(threading.Thread):
    def __init__(self, keys, master_guid, files):
        super().__init__(daemon=True)
        self.keys = keys
        self.address, self.guid, self.files = free_door(), master_guid, files
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
        self.send("H", {"protocol": 1, "port_guid": self.guid, "name": "liar", "records": True, "takeovers": [[1, self.guid]]})
        self.send("R", {"master": True, "takeovers": [[1, self.guid]]})
        self.send("Z", {"of": "a newer version"}, b"anything")
        for number, (name, text) in enumerate(self.files.items()):
            data = text.encode()
            self.send("F", {"name": name, "keep_head": 0, "keep_tail": 0, "length": len(data), "sum": f"{state_sum(data):016x}", "seq": number}, data)
        self.send("W", {"names": list(self.files), "seq": len(self.files)})
        while self.channel.recv(65536):
            pass


KEPT = 8  # names that it does not know
LIE = "of a liar\n"
OWN = ["guid2mkey", "journal-0", "journal-1", "lock", "manifest", "peer_keys", "tables", "unshared"]  # files of a state_dir that no other manager has a say in


@pytest.fixture
def lied_to(start, pod_net, tmp_path):
    """(an honest master without a mirror, a standby that was lied to)"""
    (tmp_path / "partitions.conf").write_text(PARTITIONS)
    keys = certificate(tmp_path, "one", "ca")
    master = start(pod_net, HERE, partition_config_file=str(tmp_path / "partitions.conf"), **FAST)
    master.wait(lambda s: (master.state_dir / "lids").exists(), "its LIDs are on disk")
    lids = dict(re.findall(r"^(0x\w+) (\d+) ", (master.state_dir / "lids").read_text(), re.M))
    swapped = {**lids, MEMBER: lids[OUTSIDER], OUTSIDER: lids[MEMBER]}
    text = "".join(f"{guid} {lid} 0\n" for guid, lid in sorted(swapped.items()))
    files = {"lids": text, "cordons": "0x00000000dead0002 0\n", "services": "", "subscriptions": "", "takeovers": f"1\n1 {port_guid(HERE)}\n",
             **{name: LIE for name in OWN}, "groups": group(OPEN, 0xC010, 0xFFFF, MEMBER, GHOST) + group(CLOSED, 0xC011, 0x8005, MEMBER, OUTSIDER)}
    liar = Liar(certificate(tmp_path, "two", "ca"), port_guid(HERE), files)
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
    standby.wait(lambda s: (standby.state_dir / "cordons").exists() and (standby.state_dir / "groups").exists(), "its copy is on disk")
    assert not [path.name for path in standby.state_dir.iterdir() if LIE.encode() in path.read_bytes()]
    before = master.lids()
    master.stop_fmd(signal.SIGKILL)
    status = standby.wait(managed, "it has taken over")
    assert standby.lids() == before  # a live port's LID wins over every file
    assert (status["lft_blocks_written"], status["links_cordoned"], status["proof"]["unreachable"]) == (0, 0, 0)
    groups = {g["mgid"]: g for g in standby.ask("groups")}
    ghost = next(m for m in groups[SHOWN_OPEN]["members"] if m["guid"] == GHOST)
    assert ghost["waits"]  # for a port that there is not, no longer than for one that is off
    assert {m["guid"] for m in groups[SHOWN_CLOSED]["members"]} == {MEMBER, OUTSIDER}
    leads = re.findall(r"^(0xc01[01]) : ((?:0x\w+ ?)+)", (standby.dump() / "opensm.mcfdbs").read_text(), re.M | re.I)
    assert sorted((mlid.lower(), len(ports.split())) for mlid, ports in leads) == [("0xc010", 1), ("0xc011", 1)], leads
    assert standby.fmctl("check", check=False).returncode == 0


@pytest.mark.long
@pytest.mark.parametrize("count", [63, 64, 65])
def test_names_that_a_peer_makes_up_do_not_crowd_out_those_of_fmd(start, pod_net, tmp_path, count):
    """Who takes over with them is copied by the next standby, and goes on."""
    made_up = {f"a{i:02}": f"{i}\n" for i in range(count)}
    keys = certificate(tmp_path, "one", "ca")
    master = start(pod_net, HERE, **FAST)
    liar = Liar(certificate(tmp_path, "two", "ca"), port_guid(HERE), made_up)
    door = free_door()
    standby = master.another(peers=liar.address, peer_listen=door, **keys, **FAST)
    try:
        standby.start_fmd(THERE)
        standby.wait(lambda s: s["sm"] == "standby" and s["mirror"]["whole"], "it believes the peer")
        poll(lambda: len(list(standby.state_dir.glob("a[0-9][0-9]"))) >= KEPT, "its copy is on disk")
        master.stop_fmd(signal.SIGKILL)
        standby.wait(managed, "it has taken over")
        third = liar.context_of_a_client()
        with socket.create_connection(split(door)) as end, third.wrap_socket(end) as channel:
            text = json.dumps({"protocol": 1, "port_guid": GHOST, "name": "third", "records": True, "takeovers": []}).encode()
            channel.sendall(struct.pack(">IB", len(text) + 2, ord("H")) + text + b"\n")
            standby.wait(lambda s: [row["name"] for row in s["mirror"]["standbys"]] == ["third"], "it is copied")
            client(standby, "join", port_guid(HOST), MGID, "1")
            received = b""
            while b'"name":"groups"' not in received.replace(b" ", b""):
                piece = channel.recv(65536)
                assert piece, f"it has ended:\n{standby.log.read_text()[-2000:]}"
                received += piece
        assert managed(standby.status()) and len(list(standby.state_dir.glob("a[0-9][0-9]"))) == KEPT
    finally:
        standby.stop()
        liar.door.close()


def test_all_files_of_state_dir_that_are_copied_are_known_by_name():
    """Others are of another version, and few of them are kept."""
    sources = "".join(path.read_text() for path in sorted((ROOT / "fm").rglob("*.c")))
    files = re.findall(r"struct state_file \w+ = \{\s*\.name = (\S+),", sources)
    headers = "".join(path.read_text() for path in (ROOT / "fm").rglob("*.h"))
    macros = dict(re.findall(r'#define (\w+_FILE) "(\w+)"', sources + headers))
    names = {macros.get(name) or name.strip('"') for name in files} | {f"events-{number}" for number in range(8)}
    known, own = (re.findall(r'"([\w-]+)"', re.search(rf"{table}\[\] = \{{(.*?)\}};", sources, re.S)[1]) for table in ("shared_files", "own_files"))
    assert len(names) > 20 and names - set(own) == set(known)
    assert set(OWN) == set(own)
