# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A hundred Linux hosts, and a thousand (linux_hosts.c), live through every change of managers: no request of theirs ends in an error."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

from conftest import generate_pod
from fabric import aggregation_nodes, free_door, poll, program
from test_mirror import HERE, THERE, managed, secret, whole

SOURCE = pathlib.Path(__file__).with_name("linux_hosts.c")
RATES = {100: 4, 1000: 1}  # requests a second of a host, by their number
TIMEOUT_MS = 2000
BEFORE_S, AFTER_S = 1, 5
RESTART_S = 0.1  # RestartSec= of fmd.service


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    binary = tmp_path_factory.mktemp("linux") / "linux_hosts"
    subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Werror", "-o", binary, SOURCE, "-libumad"], check=True)
    return binary


@pytest.fixture(scope="module", params=[100, pytest.param(1000, marks=pytest.mark.long)])
def hosts(request):
    return request.param


@pytest.fixture(scope="module")
def net(hosts, pod_net, tmp_path_factory):
    return pod_net if hosts < 256 else generate_pod(tmp_path_factory.mktemp("nets"), "--su", "4")


class Service:
    """fmd at a node as systemd runs it: what it gives to the descriptor store is there for its next process."""

    def __init__(self, fabric, node, folder):
        self.fabric, self.node, self.store = fabric, node, {}
        self.path = str(folder / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        while True:
            text, fds, _, _ = socket.recv_fds(self.socket, 4096, 8)
            words = dict(line.split("=", 1) for line in text.decode().splitlines())
            if "END" in words:
                return
            if "FDSTOREREMOVE" in words:
                for fd in self.store.pop(words["FDNAME"], []):
                    os.close(fd)
            elif "FDSTORE" in words:
                self.store.setdefault(words["FDNAME"], []).extend(fds)

    def start(self):
        kept = [(fd, name) for name, fds in self.store.items() for fd in fds]
        moves = " ".join([f"{3 + i}<&{fd}" for i, (fd, _) in enumerate(kept)] + [f"{fd}<&-" for fd, _ in kept if fd >= 3 + len(kept)])
        environment = {**self.fabric.environment(self.node), "NOTIFY_SOCKET": self.path, "LISTEN_FDS": str(len(kept)),
                       "LISTEN_FDNAMES": ":".join(name for _, name in kept)}
        with open(self.fabric.log, "a") as log:
            self.fabric.fmd = subprocess.Popen(["bash", "-c", f'export LISTEN_PID=$$; exec {moves}; exec "$0" "$@"', program("fmd"), "-c", self.fabric.conf],
                                               stdout=log, stderr=log, cwd=self.fabric.folder("fmd"), env=environment, pass_fds=[fd for fd, _ in kept])

    def restart(self, how):
        self.fabric.fmd.send_signal(how)
        self.fabric.fmd.wait()
        if how == signal.SIGKILL:
            time.sleep(RESTART_S)
        self.start()

    def holders(self):
        """Processes of fmd, by name, that have one of the descriptors that are kept."""
        kept = {os.readlink(f"/proc/self/fd/{fd}") for fds in self.store.values() for fd in fds}
        children = pathlib.Path(f"/proc/{self.fabric.fmd.pid}/task/{self.fabric.fmd.pid}/children").read_text().split()
        return [pathlib.Path(f"/proc/{pid}/comm").read_text().strip() for pid in (self.fabric.fmd.pid, *children)
                if kept & {os.readlink(fd) for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir()}]

    def close(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.sendto(b"END=1", self.path)
        self.thread.join()
        for fds in self.store.values():
            for fd in fds:
                os.close(fd)
        self.socket.close()


@pytest.fixture
def manager(start, net, tmp_path):
    """manager(**conf): fmd as a service at HERE, master."""
    mine = []

    def begin(**conf):
        fabric = start(net, fmd=False, **conf)
        mine.append(Service(fabric, HERE, tmp_path))
        mine[-1].start()
        fabric.wait(managed, "it is master")
        return mine[-1]

    try:
        yield begin
    finally:
        for it in mine:
            it.fabric.stop()
            it.close()


@pytest.fixture
def pair(manager, tmp_path):
    """The service, and a standby that has a copy of all that it keeps."""
    doors = free_door(), free_door()
    psk = secret(tmp_path / "psk")
    master = manager(peer_listen=doors[0], peers=doors[1], peer_psk_file=psk)
    standby = master.fabric.another(peer_listen=doors[1], peers=doors[0], peer_psk_file=psk)
    standby.start_fmd(THERE)
    whole(standby)
    try:
        yield master, standby
    finally:
        standby.stop()


@pytest.fixture
def lives_through(model, hosts):
    """lives_through(fabric, event): what the hosts saw meanwhile: asked, answered, failed."""
    return lambda fabric, event: live(model, fabric, hosts, event)


def hosts_of(fabric, count):
    net = fabric.ibsim.net
    special = {HERE, THERE, *aggregation_nodes(net)}
    nodes = [node for node in re.findall(r'^Ca\s+\d+\s+"(H-[0-9a-f]+)"', net.read_text(), re.M) if node not in special]
    return "".join(f"{node} {int(node[2:], 16) + 1:#x}\n" for node in nodes[:count])


def live(model, fabric, hosts, event):
    run = subprocess.Popen([model, str(BEFORE_S + AFTER_S), str(RATES[hosts]), str(TIMEOUT_MS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                           env=fabric.environment(), cwd=fabric.folder("hosts"))
    run.stdin.write(hosts_of(fabric, hosts))
    run.stdin.close()
    assert run.stdout.readline() == "ready\n"
    time.sleep(BEFORE_S)
    event()
    seen = json.loads(run.stdout.read())
    assert run.wait() == 0
    print({key: seen[key] for key in ("paths", "joins", "services", "slowest_ms")}, len(seen["failed"]), "failed", seen["failed"][:8])
    return seen


def nothing_failed(seen):
    assert seen["failed"] == []
    assert all(answered == asked > 100 for asked, answered in (seen["paths"], seen["joins"], seen["services"]))


def test_no_request_of_a_linux_host_fails_when_the_master_hands_over(lives_through, pair):
    master, _ = pair
    nothing_failed(lives_through(master.fabric, lambda: master.fabric.fmctl("handover")))


def test_no_request_of_a_linux_host_fails_when_the_master_is_asked_to_end_and_another_stands_by(lives_through, pair):
    master, standby = pair

    def end():
        master.fabric.stop_fmd()

    nothing_failed(lives_through(master.fabric, end))
    assert managed(standby.status())


def test_no_request_of_a_linux_host_fails_when_a_lone_master_is_restarted(lives_through, manager):
    master = manager()
    nothing_failed(lives_through(master.fabric, lambda: master.restart(signal.SIGTERM)))


def test_no_request_of_a_linux_host_fails_when_a_lone_master_crashes_and_is_started_again(lives_through, manager):
    master = manager()
    nothing_failed(lives_through(master.fabric, lambda: master.restart(signal.SIGKILL)))
    assert master.holders() == ["fmd"], "and not its helper: what fmd closes is closed"


def test_no_request_of_a_linux_host_fails_when_a_master_without_a_service_manager_crashes_and_is_started_again(lives_through, start, net):
    fabric = start(net, fmd=False)
    fabric.start_fmd(HERE)
    fabric.wait(managed, "it is master")

    def crash():
        fabric.fmd.send_signal(signal.SIGKILL)
        fabric.fmd.wait()
        time.sleep(RESTART_S)
        fabric.start_fmd(HERE)

    for _ in range(2):  # its helper has what it had of the one before
        nothing_failed(lives_through(fabric, crash))


def test_no_request_of_a_linux_host_fails_when_a_master_with_a_standby_crashes_and_is_started_again(lives_through, pair):
    master, _ = pair
    nothing_failed(lives_through(master.fabric, lambda: master.restart(signal.SIGKILL)))


def test_where_a_crashed_master_stays_away_only_what_was_asked_before_its_successor_reached_the_port_fails(lives_through, pair):
    master, standby = pair
    when = []

    def kill():
        master.fabric.fmd.send_signal(signal.SIGKILL)
        master.fabric.fmd.wait()
        master.fabric.fmd = None
        poll(lambda: managed(standby.status()), "the standby is master")
        when.append(standby.status()["sm_lid"])

    seen = lives_through(standby, kill)
    assert all(lid != when[0] for _, _, _, lid, _ in seen["failed"]), "what was asked of the new master was answered"
