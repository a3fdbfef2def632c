# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Where kernel logs come in: journald and relays by a unix socket, syslog of every form; and what is counted of it."""
import json
import os
import socket
import subprocess
import urllib.request

import pytest

from fabric import Fabric, own_address, poll
from nvlink_player import sxid_line

HOSTS = [f"dgx-su01-{number:02}" for number in range(1, 33)]
FAULT = sxid_line(2, 20034, "Fatal, Link 30 LTSSM Fault Up")
NOISE = "usb 1-1: new high-speed USB device number 7 using xhci_hcd"
HOLDS = {"nvswitch_worsen_hold": 0, "nvswitch_recover_hold": 0, "nvswitch_guard": 100}


class World:
    def __init__(self, scratch, net, **conf):
        self.http = (own_address(), 9090)
        self.socket = scratch / "log.sock"
        (scratch / "aliases").write_text(f"{HOSTS[20]} 127.0.0.1 {socket.gethostname()}\n")
        keys = {"log_socket": str(self.socket),
                "nvswitch_alias_file": str(scratch / "aliases"), "http_listen": "{}:{}".format(*self.http), **HOLDS, **conf}
        self.fabric = Fabric(scratch, net, **keys)
        self.fabric.start_fmd("H-0002c90380000100")
        self.fabric.wait_up()

    def heard(self, host):
        """The host is spoken of, with a fault."""
        return any("20034" in finding["text"] for finding in self.fabric.ask("nvswitch", host)["evidence"])

    def wait_heard(self, host):
        poll(lambda: self.heard(host), f"the fault of {host} is heard")

    def senders(self):
        return {row["sender"]: row for row in self.fabric.ask("nvswitch", "logs")}

    def by_unix(self, *pieces):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as out:
            out.connect(str(self.socket))
            for piece in pieces:
                out.sendall(piece)

    def by_syslog(self, text):
        self.by_unix(text.encode() + b"\n")

    def stop(self):
        self.fabric.stop()


@pytest.fixture(scope="module")
def world(pod_net, tmp_path_factory):
    it = World(tmp_path_factory.mktemp("logs"), pod_net)
    yield it
    it.stop()


def exported(host, message):
    """As journald forwards it; the kernel's own fields around those that count."""
    return (f"__CURSOR=s=0;i=1\n__REALTIME_TIMESTAMP=1721720000000000\n_TRANSPORT=kernel\nPRIORITY=3\nSYSLOG_IDENTIFIER=kernel\n"
            f"_HOSTNAME={host}\nMESSAGE={message}\n\n").encode()


def as_json(host, message):
    return (json.dumps({"__CURSOR": "s=0", "_TRANSPORT": "kernel", "_HOSTNAME": host, "MESSAGE": message}) + "\n").encode()


def test_journald_and_a_relay_speak_by_the_unix_socket(world):
    world.by_unix(exported(HOSTS[0], NOISE), exported(HOSTS[0], FAULT)[:60], exported(HOSTS[0], FAULT)[60:])
    world.by_unix(as_json(HOSTS[1], FAULT), b"{broken\n")
    world.by_unix(f"<3>Nov 21 01:02:03 {HOSTS[2]} kernel: {FAULT}\n".encode())
    for host in HOSTS[:3]:
        world.wait_heard(host)
    poll(lambda: world.fabric.ask("nvswitch", HOSTS[0])["state"] == "NO_P2P", "who may write there vouches for it: it counts alone")

    def counted():
        row = world.senders()["this machine"]
        return row["understood"] >= 3 and row["ignored"] >= 1 and row["malformed"] >= 1

    poll(counted, "every line is counted")
    assert os.stat(world.socket).st_mode & 0o777 == 0o660


FORMS = [
    f"<3>{HOSTS[4]} kernel: {FAULT}",
    f"<3>Nov 21 01:02:03 s_sys@{HOSTS[5]} kernel: {FAULT}",
    f"<3>Nov 21 01:02:03 relay-7/{HOSTS[6]} kernel: {FAULT}",
    f"<3>Nov 21 01:02:03 {HOSTS[7]}/relay-7 kernel: {FAULT}",
    f"<3>kernel: {FAULT}",
    f"<3>1 2024-07-23T07:53:55Z {HOSTS[9]}.cluster.example kernel - - - {FAULT}",
]
OF = [HOSTS[4], HOSTS[5], HOSTS[6], HOSTS[7], HOSTS[20], HOSTS[9]]  # without a host it is of this machine, here by the list of aliases


@pytest.mark.parametrize("text,host", zip(FORMS, OF), ids=["no time", "source", "relay first", "relay last", "no host", "5424"])
def test_every_form_of_syslog_reaches_its_host(world, text, host):
    world.by_syslog(text)
    world.wait_heard(host)


def test_journals_of_systemd_journal_remote_are_read_within_the_sandbox(pod_net, tmp_path):
    writer = "/lib/systemd/systemd-journal-remote"
    if not os.access(writer, os.X_OK):
        pytest.skip("no systemd-journal-remote")

    def upload(host):
        record = b"__REALTIME_TIMESTAMP=1721720000000000\n__MONOTONIC_TIMESTAMP=1\n_BOOT_ID=00112233445566778899aabbccddeeff\n"
        subprocess.run([writer, "-o", tmp_path / "remote/remote.journal", "-"], check=True, capture_output=True,
                       input=record + f"_HOSTNAME={host}\nMESSAGE={FAULT}\n\n".encode())

    (tmp_path / "remote").mkdir()
    upload(HOSTS[0])
    it = World(tmp_path, pod_net, log_journal=str(tmp_path / "remote"))
    try:
        upload(HOSTS[1])
        it.wait_heard(HOSTS[1])
        assert not it.heard(HOSTS[0])  # that was before fmd began
        assert not [alert for alert in it.fabric.status()["alerts"] if "sandbox" in alert["text"]]
    finally:
        it.stop()


def test_lines_are_counted_and_shown(world):
    before = world.senders()["this machine"]
    for _ in range(3):
        world.by_syslog(f"<3>Nov 21 01:02:03 {HOSTS[0]} kernel: {NOISE}")
    world.by_syslog("what is this")

    def counted():
        row = world.senders()["this machine"]
        return (row["malformed"], row["ignored"]) == (before["malformed"] + 1, before["ignored"] + 3)

    poll(counted, "the odd line and the others are counted")
    shown = world.fabric.fmctl("nvswitch", "logs").stdout
    assert "SENDER" in shown and "this machine" in shown
    assert "lines of kernel logs understood" in world.fabric.fmctl("nvswitch").stdout
    with urllib.request.urlopen("http://{}:{}/metrics".format(*world.http), timeout=60) as answer:
        metrics = answer.read().decode()
    assert 'fmd_nvswitch_log_lines_total{use="ignored"}' in metrics
    assert 'fmd_nvswitch_log_unread_total{sender="this machine"}' in metrics


def test_keys_of_the_syslog_server_of_before_are_an_alert_with_the_recipe(pod_net, tmp_path):
    it = World(tmp_path, pod_net, syslog_allow="10.0.0.0/8", syslog_listen="10.0.0.5:5514", kmsg="/dev/kmsg")
    try:
        alerts = [alert["text"] for alert in it.fabric.status()["alerts"]]
        for key in "syslog_listen", "syslog_allow", "kmsg":
            assert any(key in text and "KERNEL LOGS" in text for text in alerts), alerts
        it.by_unix(exported(HOSTS[0], FAULT))
        it.wait_heard(HOSTS[0])
    finally:
        it.stop()


def test_an_old_socket_is_taken_away_and_another_process_is_left_alone(pod_net, tmp_path):
    old = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    old.bind(str(tmp_path / "log.sock"))
    old.close()  # the file stays
    it = World(tmp_path, pod_net)
    try:
        it.by_unix(exported(HOSTS[0], FAULT))
        it.wait_heard(HOSTS[0])
    finally:
        it.stop()
    assert not it.socket.exists()
