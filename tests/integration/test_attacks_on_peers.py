# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Named attacks at both ends of the copying between managers (fmd-security(7)): no byte of theirs is adopted, and memory stays small."""
import contextlib
import ssl
import struct
import subprocess

import pytest

from fabric import free_door, poll, program
from test_lying_peer import Liar, rows_of
from test_mirror import FAST, HERE, THERE, certificate, port_guid, secret, whole
from test_peer_attacks import context_of, expired, large, only_tls_1_2, without_proof
from test_peer_links import connect, frame, peak_kb

pytestmark = pytest.mark.long

MEMORY_KB = 64 << 10
STRANGER, THIRD = "0x00000000dead0001", "0x00000000dead0003"
SPOIL = rows_of({"cordons": {"0x00000000dead0002 0": ""}})


def named(folder, name, ca="ca"):
    """A certificate for NAME.example."""
    keys = certificate(folder, name, ca)
    (folder / f"{name}.ext").write_text(f"subjectAltName=DNS:{name}.example\n")
    subprocess.run(["openssl", "x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", "-CAcreateserial",
                    "-extfile", f"{name}.ext", "-out", f"{name}.pem"], check=True, capture_output=True, cwd=folder)
    return keys


def fingerprint(keys):
    out = subprocess.run(["openssl", "x509", "-in", keys["peer_cert"], "-noout", "-fingerprint", "-sha256"], check=True, capture_output=True, text=True)
    return out.stdout.strip().split("=")[1]


def hello(guid, **more):
    return frame(b"H", {"protocol": 2, "port_guid": guid, "name": "liar", "takeovers": [], **more})


def some(rows=SPOIL):
    return frame(b"K", {"seq": 1}, rows)


def role(guid):
    return frame(b"R", {"master": True, "takeovers": [[1, guid]]})


def all_of(*frames):
    return b"".join(frames) + frame(b"W", {"seq": 1})


GARBAGE = b"\x16\x03\x01\x02\x00" + bytes(range(256)) * 8
PROOFS = "TLS 1.2", "an expired certificate", "a certificate of another CA", "no certificate", "a certificate of that CA with another name"


def context(folder, who, side):
    """What an attacker shows; None: the certificate of a manager, stolen."""
    good = {"peer_ca": str(folder / "ca.pem")}
    return {
        "TLS 1.2": lambda: only_tls_1_2(context_of(named(folder, "stranger"), side=side)),
        "an expired certificate": lambda: context_of(expired(folder, "late", "ca"), side=side),
        "a certificate of another CA": lambda: context_of(certificate(folder, "other", "otherca"), good, side),
        "no certificate": lambda: context_of(None, good, side),
        "a certificate of that CA with another name": lambda: context_of(named(folder, "stranger"), side=side),
    }[who]()


def talk(victim, other):
    """What who has stolen the certificate of a manager says: attacks that serve at either end."""
    return {
        "a frame before its HELLO": frame(b"T", {"seq": 0, "whole": True}),
        "a HELLO of 32 kB": large(b"H", 32768 // 3),
        "a HELLO of 4 MB": large(b"H", (4 << 20) // 3),
        "a frame of 4 GB": b"\xff\xff\xff\xffH{",
        "an empty frame": b"\0\0\0\0",
        "a HELLO that is no object": struct.pack(">I", 5) + b"H[1]\n",
        "a HELLO without a port GUID": hello("0x0"),
        "another version of the protocol": hello(STRANGER, protocol=9),
        "the victim's own port GUID": hello(victim),
        "the port GUID of a manager with another key": hello(other),
        "two names in turn": hello(STRANGER) + hello(THIRD),
        "a take-over that can not be": hello(STRANGER, takeovers=[[2**62, STRANGER]]),
        "a head of 4 MB behind its HELLO": hello(STRANGER) + large(b"R", (4 << 20) // 3),
    }


AT_THE_DOOR = {
    "an acknowledgement of what was never sent": hello(STRANGER) + frame(b"T", {"seq": 10**9, "whole": True}),
    "an acknowledgement of less than nothing": hello(STRANGER) + frame(b"T", {"seq": -1, "whole": True}),
}


def at_an_address(master):
    return {
        "rows before its HELLO": some(),
        "rows that are longer than any": hello(STRANGER) + struct.pack(">I", (256 << 20) + 9) + some()[4:],
        "a row that does not end": hello(master) + role(master) + all_of(some(SPOIL[:-1])),
        "rows behind one that is none": hello(master) + role(master) + all_of(some(b"2 3\0cordons\0x\0\0" + SPOIL)),
        "a row of no kind": hello(master) + role(master) + all_of(some(rows_of({"": {"key": ""}}) + SPOIL)),
        "a row without a key": hello(master) + role(master) + all_of(some(rows_of({"cordons": {"": "0"}}) + SPOIL)),
        "a kind with a name of 4 kB": hello(master) + role(master) + all_of(some(rows_of({"k" * 4096: {"key": ""}}) + SPOIL)),
        "a manager that is not the elected master": hello(STRANGER) + role(STRANGER) + all_of(some()),
    }


def quiet_end(channel, patience_s=20):
    """What is said until the other end closes."""
    said = b""
    channel.settimeout(patience_s)
    with contextlib.suppress(OSError):
        while piece := channel.recv(65536):
            said += piece
    return said


class Attacker(Liar):
    """At a peer's address: one attack a connection, then nothing more."""

    def __init__(self, keys, attacks):
        self.attacks, self.made = list(attacks.items()), []
        super().__init__(keys, port_guid(HERE), {})

    def run(self):
        with contextlib.suppress(OSError):
            for name, (shown, words) in self.attacks:
                end = self.door.accept()[0]
                with contextlib.suppress(OSError):
                    if shown is None:
                        end.sendall(words)
                        quiet_end(end)
                    else:
                        with shown.wrap_socket(end, server_side=True) as channel:
                            channel.sendall(words)
                            quiet_end(channel)
                end.close()
                self.made.append(name)


def attack_the_door(it, folder, stolen):
    for who in PROOFS:
        with contextlib.suppress(OSError), connect(it.door) as end, context(folder, who, ssl.PROTOCOL_TLS_CLIENT).wrap_socket(end) as channel:
            channel.sendall(hello(STRANGER))
            assert not quiet_end(channel), f"{who}: is told something"
        yield who
    for who, words in {"plain text": b"GET / HTTP/1.0\r\n\r\n", "no TLS": GARBAGE}.items():
        with contextlib.suppress(OSError), connect(it.door) as end:
            end.sendall(words)
            quiet_end(end)
        yield who
    for who, words in {**talk(it.guid, THIRD), **AT_THE_DOOR}.items():
        with contextlib.suppress(OSError), connect(it.door) as end, stolen.wrap_socket(end) as channel:
            channel.sendall(words)
            quiet_end(channel)
        yield who


def test_no_attack_on_the_copying_between_managers_is_adopted(start, pod_net, tmp_path, capsys):
    one, two, three = (named(tmp_path, name) for name in ("one", "two", "three"))
    doors = free_door(), free_door()
    master = start(pod_net, HERE, peer_listen=doors[0], peers=f"{doors[1]}=two.example {free_door()}=three.example", **one, **FAST)
    master.door, master.guid = doors[0], port_guid(HERE)
    standby = master.another(peer_listen=doors[1], peers=f"{doors[0]}=nobody.example,{fingerprint(one)}", **two, **FAST)
    victim, attacker = None, None
    try:
        standby.start_fmd(THERE)
        whole(standby)
        with connect(doors[0]) as end, context_of(three).wrap_socket(end) as channel:
            channel.sendall(hello(THIRD))
            poll(lambda: THIRD in master.rows("peer_keys"), "it is known")
        poll(lambda: len(master.status()["mirror"]["standbys"]) == 1, "the third has gone")
        peak, refused, made = peak_kb(master), master.status()["mirror"]["refused"], []
        for who in attack_the_door(master, tmp_path, context_of(two)):
            made.append(who)
            rows = master.status()["mirror"]["standbys"]
            assert port_guid(THERE) in [row["port_guid"] for row in rows], f"{who}: the standby has gone"
            poll(lambda: len(master.status()["mirror"]["standbys"]) == 1, f"{who}: it is let go")
        status = master.wait(lambda s: s["mirror"]["whole"], "the standby has all, as before")
        assert status["mirror"]["refused"] >= refused + len(PROOFS) and peak_kb(master) < peak + MEMORY_KB
        assert [a["text"] for a in status["alerts"] if a["what"] == "peer-key" and THIRD in a["text"]]
        longest = status["loop_longest_us"]
        standby.stop_fmd()

        attacks = {who: (context(tmp_path, who, ssl.PROTOCOL_TLS_SERVER), hello(master.guid) + role(master.guid) + all_of(some()))
                   for who in PROOFS if who != "no certificate"}
        attacks |= {"plain text": (None, b"HTTP/1.0 200 OK\r\n\r\n"), "no TLS": (None, GARBAGE)}
        stolen = context_of(one, side=ssl.PROTOCOL_TLS_SERVER)
        said = {**talk(port_guid(THERE), STRANGER), **at_an_address(master.guid)}
        del said["the port GUID of a manager with another key"]  # nobody else has been seen at that address
        attacks |= {who: (stolen, words) for who, words in said.items()}
        attacker = Attacker(one, attacks)
        victim = master.another(peers=f"{attacker.address}=one.example", **two, **FAST)
        victim.start_fmd(THERE)
        for number in range(len(attacks)):
            poll(lambda: len(attacker.made) > number, f"attack {list(attacks)[number]} was made")
        status = victim.status()
        assert not status["mirror"]["whole"] and not victim.was_kept("cordons") and status["sm"] == "standby"
        assert peak_kb(victim) < MEMORY_KB + peak
        with capsys.disabled():
            print(f"\nattacks at the door: {len(made)}, at an address: {len(attacks)}; adopted: 0; peak {peak_kb(master)} and {peak_kb(victim)} kB; "
                  f"longest step {longest} and {status['loop_longest_us']} us")
    finally:
        for it in (standby, victim):
            if it:
                it.stop()
        if attacker:
            attacker.door.close()


def test_without_the_secret_neither_end_is_a_peer(start, pod_net, tmp_path):
    """Who has another key, or none."""
    psk = {"peer_psk_file": secret(tmp_path / "psk")}
    door = free_door()
    master = start(pod_net, HERE, peer_listen=door, **psk, **FAST)
    wrong = subprocess.run(["openssl", "s_client", "-connect", door, "-tls1_3", "-psk", "ff" * 16, "-psk_identity", "fmd", "-ciphersuites",
                            "TLS_AES_128_GCM_SHA256", "-quiet"], input=hello(STRANGER), capture_output=True, timeout=60)
    assert b"takeovers" not in wrong.stdout
    with contextlib.suppress(OSError), connect(door) as end, without_proof(tmp_path, ssl.PROTOCOL_TLS_CLIENT).wrap_socket(end) as channel:
        channel.sendall(hello(STRANGER))
        assert not quiet_end(channel)
    status = master.wait(lambda s: s["mirror"]["refused"] >= 2, "both are refused")
    assert not status["mirror"]["standbys"]


def test_a_manager_that_is_off_is_not_replaced_by_another_certificate_of_the_ca(start, pod_net, tmp_path):
    """Without names in peers as well: its port GUID belongs to the key that came with it first, over a restart."""
    one, two, stranger = (certificate(tmp_path, name, "ca") for name in ("one", "two", "stranger"))
    door = free_door()
    master = start(pod_net, HERE, peer_listen=door, **one, **FAST)
    thief, guid = context_of(stranger), port_guid(THERE)

    def accepted(shown):
        with contextlib.suppress(OSError), connect(door) as end, shown.wrap_socket(end) as channel:
            channel.sendall(hello(guid))
            channel.settimeout(20)
            said = b""
            while b"master" not in said:
                piece = channel.recv(65536)
                if not piece:
                    return False
                said += piece
            return True
        return False

    assert accepted(context_of(two))
    poll(lambda: guid in master.rows("peer_keys"), "it is kept")
    assert not accepted(thief)
    alerts = [a["text"] for a in master.status()["alerts"] if a["what"] == "peer-key"]
    assert len(alerts) == 1 and guid in alerts[0] and "peer_keys" in alerts[0]
    master.stop_fmd()
    master.start_fmd(HERE)
    master.wait_up()
    assert not accepted(thief)
    assert accepted(context_of(two))
    assert not [a for a in master.status()["alerts"] if a["what"] == "peer-key"]
    master.stop_fmd()
    master.edit_row("peer_keys", guid, None)
    master.start_fmd(HERE)
    master.wait_up()
    assert accepted(thief), "its key was replaced"


def test_who_has_the_shared_key_does_not_take_the_place_of_a_manager_that_is_off(start, pod_net, tmp_path):
    """With one key for all a port GUID belongs to the machine that came with it first, over restarts of both."""
    psk = {"peer_psk_file": secret(tmp_path / "psk")}
    door, guid = free_door(), port_guid(THERE)
    master = start(pod_net, HERE, peer_listen=door, **psk, **FAST)
    standby = master.another(peers=door, **psk, **FAST)

    def said(words):
        talk = subprocess.Popen(["openssl", "s_client", "-connect", door, "-tls1_3", "-psk", "00112233445566778899aabbccddeeff", "-psk_identity", "fmd",
                                 "-ciphersuites", "TLS_AES_128_GCM_SHA256", "-quiet"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        refused = master.status()["mirror"]["refused"]
        talk.stdin.write(words)
        talk.stdin.flush()
        poll(lambda: (s := master.status()["mirror"])["refused"] > refused or s["standbys"], "it is refused, or believed")
        if master.status()["mirror"]["standbys"]:
            talk.kill()  # whom the master refuses it hangs up on
        return talk.communicate()[0]

    try:
        standby.start_fmd(THERE)
        whole(standby)
        standby.stop_fmd()
        poll(lambda: not master.status()["mirror"]["standbys"], "it is off")
        for signature in "", "ab" * 96, "no digits", None:
            assert b"takeovers" in (answer := said(hello(guid, signed=signature))) and b'"master"' not in answer, signature
        master.stop_fmd()
        master.start_fmd(HERE)
        master.wait_up()
        assert b'"master"' not in said(hello(guid))
        assert [a["text"] for a in master.status()["alerts"] if a["what"] == "peer-key" and guid in a["text"]]
        standby.start_fmd(THERE)
        whole(standby)
        assert not [a for a in master.status()["alerts"] if a["what"] == "peer-key"]
        poll(lambda: master.status()["mirror"]["whole"], "the master knows")
        standby.stop_fmd()
        assert b'"master"' in said(hello(STRANGER)), "one that is nobody's"
    finally:
        standby.stop()


def test_names_in_peers_are_checked_with_the_configuration(tmp_path):
    psk = secret(tmp_path / "psk")
    for peers, keys, why in (("mgmt2:9811=", "", "NAME"), ("mgmt2:9811=a,,b", "", "NAME"), ("mgmt2=a", "", "HOST:PORT"),
                             ("mgmt2:9811=a", f'peer_psk_file = "{psk}";\n', "peer_psk_file")):
        path = tmp_path / "peers.conf"
        path.write_text(f'peers = "{peers}";\n{keys}')
        told = subprocess.run([program("fmd"), "--check-config", path], capture_output=True, text=True)
        assert told.returncode and why in told.stderr, (peers, told)
