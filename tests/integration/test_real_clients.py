# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Debian's srp_daemon, ibacm and osmtest at hosts of a fabric that fmd manages, on fmsim; ibdiagnet is in test_rig.py.

The first two use libibverbs too, of which verbs.c has as much as they need.
"""
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading

import pytest

from fabric import Fabric, end_process, poll
from test_host_clients import HOST, HOST_GUID, STORAGE, STORAGE_GUID, announce, begin, fabric  # noqa: F401 (fixtures)

SOURCE = pathlib.Path(__file__).with_name("verbs.c")
ID = "0002c90380000300"

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def verbs(tmp_path_factory):
    library = tmp_path_factory.mktemp("verbs") / "libverbs.so"
    subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, SOURCE, "-libumad", "-ldl", "-lpthread"],
                   check=True)
    return library


class Lines:
    """What a program prints, line by line."""

    def __init__(self, process):
        self.process, self.lines, self.more = process, [], threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with self.more:
                self.lines.append(line.rstrip("\n"))
                self.more.notify_all()

    def count(self, pattern):
        with self.more:
            return sum(bool(re.search(pattern, line)) for line in self.lines)

    def wait(self, pattern, count=1, seconds=60):
        with self.more:
            found = self.more.wait_for(lambda: sum(bool(re.search(pattern, line)) for line in self.lines) >= count, seconds)
            assert found, f"{count} times {pattern}: " + "\n".join(self.lines)


@pytest.fixture
def launch(fabric, verbs, tmp_path):  # noqa: F811
    """launch(words .., host=..): a program that goes on until the test ends."""
    mine = []

    def run(*command, host=HOST, **options):
        environment = fabric.environment(host)
        environment.update(LD_PRELOAD=f"{verbs}:{environment['LD_PRELOAD']}", SYSFS_PATH=str(tmp_path / "sys"))
        environment.update(options.pop("environment", {}))
        mine.append(subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path, env=environment, **options))
        return Lines(mine[-1])

    try:
        yield run
    finally:
        for process in mine:
            if process.poll() is None:
                end_process(process)


def device(fabric, host):  # noqa: F811
    return re.search(r"CA '(\S+)'", fabric.run("ibstat", host=host).stdout)[1]


def srp_daemon(launch, fabric, *words):  # noqa: F811
    return launch("srp_daemon", "-a", "-c", *words, "-i", device(fabric, HOST), "-p", "1")


def test_srp_daemon_finds_a_target_at_once_and_when_it_comes(fabric, launch, begin):  # noqa: F811
    target = f"id_ext={ID[-16:]}.*dgid=fe80000000000000{STORAGE_GUID[2:]}.*pkey=ffff"
    begin("target", f"SRP.T10:{ID}", host=STORAGE)
    daemon = srp_daemon(launch, fabric, "-V", "-R", "3600")
    daemon.wait("Advanced SM, performing a capability query")
    assert not daemon.count(target)
    poll(lambda: sorted(s for s in subscribed(fabric)) == [64, 144], "it subscribed to both traps")
    announce(fabric, True)  # trap 144
    daemon.wait(target)
    once = srp_daemon(launch, fabric, "-o")
    once.wait(target)
    assert once.process.wait(30) == 0
    fabric.ibsim.tell("unlink node-0003:1")
    fabric.wait(lambda s: s["links_down"] == 1, "its cable is out")
    fabric.ibsim.tell("link node-0003:1")  # trap 64
    daemon.wait(target, count=2)
    announce(fabric, False)
    daemon.process.send_signal(signal.SIGTERM)
    daemon.wait("Finished trap deregistration")
    assert daemon.process.wait(30) == 0


def subscribed(fabric):  # noqa: F811
    """Traps that the host has subscribed to."""
    said = fabric.run("saquery", "-I", host=HOST, check=False).stdout
    for record in said.split("InformInfoRecord dump")[1:]:
        yield int(re.search(r"trap_?num\W+(\d+)", record, re.I)[1])


def test_srp_daemon_looks_again_when_it_is_asked_to_register_anew(fabric, launch):  # noqa: F811
    """CLIENT_REREGISTER: an fmd that has lost its state asks all hosts for their subscriptions."""
    daemon = srp_daemon(launch, fabric, "-V", "-R", "3600")
    daemon.wait("performing a capability query")
    poll(lambda: sorted(subscribed(fabric)) == [64, 144], "it subscribed to both traps")
    fabric.stop_fmd()
    shutil.rmtree(fabric.state_dir)
    fabric.start_fmd()
    fabric.wait_up()
    daemon.wait("performing a capability query", count=2)
    poll(lambda: sorted(subscribed(fabric)) == [64, 144], "it subscribed again")


def test_ibacm_resolves_paths_as_the_sa_has_them(fabric, launch, tmp_path):  # noqa: F811
    door = tmp_path / "acm"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(door))
        listener.listen()
        listener.set_inheritable(True)
        options = tmp_path / "options"
        options.write_text(f"log_file stdout\nlog_level 1\nlock_file {tmp_path}/lock\naddr_prot acm\nroute_prot sa\nloopback_prot none\n")
        addresses = tmp_path / "addresses"
        addresses.write_text(f"here {device(fabric, HOST)} 1 default\n")
        daemon = launch("bash", "-c", f'exec 3<&{listener.fileno()}; export LISTEN_PID=$$ LISTEN_FDS=1; exec ibacm --systemd -A "$0" -O "$1"', addresses, options,
                        pass_fds=[listener.fileno()])
        poll(lambda: [g for g in fabric.ask("groups") if g["mgid"].startswith("ff15:4001:ffff")], "it joined its group")
        lids = fabric.lids()
        here, there = lids[HOST_GUID[:-1] + "0"], lids[STORAGE_GUID[:-1] + "0"]
        asked = launch("ib_acme", "-f", "l", "-s", here, "-d", there, "-v", "-S", door)
        assert asked.process.wait(60) == 0, "\n".join(asked.lines + daemon.lines)
        asked.wait("SA verification: success")
        asked.wait(rf"dlid: {there}\b")
        asked.wait(r"pkey: 0xffff")


@pytest.fixture(scope="module")
def proxies(small_net, tmp_path_factory):
    """osmtest joins ports to groups for others, and deletes what it finds: it wants a manager of its own."""
    fabric = Fabric(tmp_path_factory.mktemp("osmtest"), small_net, rig="fmsim", sa_proxy_join=True)
    try:
        fabric.start_fmd()
        fabric.wait_up()
        yield fabric
    finally:
        fabric.stop()


@pytest.mark.parametrize("words", ["c", "s", "e", "q", "m -M 1", "m -M 2", "m -M 3", "m -M 4", "f -s 1", "f -s 2"])
def test_osmtest_passes(proxies, tmp_path, words):
    """Creates an inventory, services, events, queries, multicast, floods."""
    environment = {**proxies.environment(HOST), "OSM_TMP_DIR": str(tmp_path), "OSM_CACHE_DIR": str(tmp_path)}

    def osmtest(*flow):
        return subprocess.run(["osmtest", "-g", HOST_GUID, "-i", tmp_path / "inventory", "-f", *flow], cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)

    done = [osmtest("c")] + ([osmtest(*words.split())] if words != "c" else [])
    assert all(one.returncode == 0 and "PASS" in one.stdout for one in done), "\n".join(one.stdout for one in done)
