# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""fmd as the system's service manager and its operators meet it: readiness, watchdog, signals, reload, its socket."""
import pathlib
import signal
import socket
import subprocess
import urllib.request

import pytest

from fabric import Fabric, end_process, own_address, poll, program

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    path = tmp_path_factory.mktemp("net") / "tree.net"
    made = subprocess.run([program("fmctl"), "generate", "pgft", "2", "4,4", "1,2"], capture_output=True, check=True)
    path.write_bytes(made.stdout.replace(b"4xNDR", b"4xHDR"))
    return path


@pytest.fixture
def fabric(tmp_path, net):
    made = Fabric(tmp_path, net)
    yield made
    made.stop()


class Notify:
    """The service manager's end of sd_notify."""

    def __init__(self, folder, monkeypatch):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(folder / "notify"))
        self.socket.setblocking(False)
        self.said = []
        monkeypatch.setenv("NOTIFY_SOCKET", str(folder / "notify"))

    def heard(self, text):
        try:
            while True:
                self.said.append(self.socket.recv(4096).decode())
        except BlockingIOError:
            return any(text in said for said in self.said)

    def wait(self, text):
        poll(lambda: self.heard(text), f"fmd says {text}; it said {self.said[-3:]}")


@pytest.fixture
def notify(tmp_path, monkeypatch):
    return Notify(tmp_path, monkeypatch)


def test_a_taken_address_keeps_nobody_from_managing_the_fabric(tmp_path, net):
    address = own_address()
    holder = socket.socket()
    holder.bind((address, 9810))
    holder.listen()
    fabric = Fabric(tmp_path, net, http_listen=f"{address}:9810", retry_interval=0.1)
    try:
        fabric.start_fmd()
        fabric.wait_up()
        assert [trouble["what"] for trouble in fabric.status()["troubles"]] == ["http"]
        assert "Address already in use" in fabric.fmctl("status").stdout
        holder.close()
        poll(lambda: not fabric.status()["troubles"], "the address is had")
        with urllib.request.urlopen(f"http://{address}:9810/metrics", timeout=60) as answer:
            assert "fmd_troubles 0" in answer.read().decode()
        kinds = [event["kind"] for event in fabric.ask("events", "-n", "1000")]
        assert kinds.count("trouble") == kinds.count("trouble-over") == 1
    finally:
        holder.close()
        fabric.stop()


def test_service_manager_is_told_of_readiness_state_and_end(fabric, notify):
    fabric.start_fmd()
    notify.wait("READY=1")
    notify.wait("STATUS=up: 16 HCAs, ")
    assert not notify.heard("WATCHDOG=1")  # nobody waits for it
    assert fabric.stop_fmd() == 0
    notify.wait("STOPPING=1")


def test_service_manager_is_told_first_of_what_is_cut_off(tmp_path, pod_net, notify):
    fabric = Fabric(tmp_path, pod_net, rig="fmsim")
    try:
        fabric.start_fmd()
        fabric.wait_up()
        notify.wait("STATUS=up: 256 HCAs, 12 switches, 0 links down")
        fabric.ibsim.tell("node off leaf-su01-rail2")
        notify.wait("STATUS=32 HCAs cut off: leaf-su01-rail2 is down; up: 256 HCAs, 12 switches, 64 links down")
        assert fabric.fmctl("status").stdout.startswith("cut off     32 HCAs cut off: leaf-su01-rail2 is down\nfabric      UP")
        fabric.ibsim.tell("node on leaf-su01-rail2")
        poll(lambda: notify.heard("STATUS=") and [said for said in notify.said if "STATUS=" in said][-1].startswith("STATUS=up: 256"), "all is well again")
    finally:
        fabric.stop()


def test_without_a_device_fmd_is_ready_and_waits(tmp_path, notify):
    """Not on ibsim: on this machine, which has no adapter that we may use."""
    conf = tmp_path / "fmd.conf"
    conf.write_text(f'device = "nosuch_0";\nstate_dir = "{tmp_path}/state";\nsocket = "{tmp_path}/s/fmd.sock";\n')
    fmd = subprocess.Popen([program("fmd"), "-c", conf], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        notify.wait("READY=1")
        notify.wait("STATUS=no-device")
        asked = subprocess.run([program("fmctl"), "-s", tmp_path / "s/fmd.sock", "status"], capture_output=True, text=True)
        assert asked.returncode == 0 and "DOWN (no-device)" in asked.stdout and "InfiniBand" in asked.stdout, asked
    finally:
        assert end_process(fmd) == 0


def test_watchdog_is_fed_at_half_its_time(fabric, notify, monkeypatch):
    monkeypatch.setenv("WATCHDOG_USEC", "200000")
    fabric.start_fmd()
    poll(lambda: notify.heard("WATCHDOG=1") and notify.said.count("WATCHDOG=1") >= 4, "signs of life")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_fmd_and_takes_the_socket_away(fabric, how):
    fabric.start_fmd()
    fabric.wait_up()
    assert fabric.stop_fmd(how) == 0
    assert not fabric.socket.exists()


def test_hangup_takes_the_new_configuration_into_force(fabric):
    fabric.start_fmd()
    fabric.wait_up(lambda s: s["engine"] == "ftree")
    fabric.write_conf(routing_engine="updn")
    fabric.fmd.send_signal(signal.SIGHUP)
    fabric.wait_up(lambda s: s["engine"] == "updn")
    assert fabric.ask("check")["sound"]


def test_wrong_configuration_is_refused_and_the_old_one_stays(fabric):
    fabric.start_fmd()
    fabric.wait_up()
    fabric.write_conf(routing_engine="minhop")
    refused = fabric.fmctl("reload", check=False)
    assert refused.returncode == 1
    assert f"{fabric.conf}:3: routing_engine = \"minhop\" is not one of ftree, updn" in refused.stderr
    fabric.fmd.send_signal(signal.SIGHUP)
    poll(lambda: "configuration unchanged" in fabric.log.read_text(), "the refusal is logged")
    assert fabric.status()["engine"] == "ftree"


def test_reload_warns_of_what_a_restart_would_change(fabric):
    fabric.start_fmd()
    fabric.wait_up()
    fabric.write_conf(state_dir=str(fabric.scratch / "elsewhere"))
    assert fabric.fmctl("reload").returncode == 0
    assert "change at a restart" in fabric.log.read_text()
    assert not (fabric.scratch / "elsewhere").exists()


def test_log_level_changes_while_fmd_runs(fabric):
    fabric.start_fmd()
    fabric.wait_up()
    fabric.fmctl("loglevel", "error")
    begin = fabric.log.stat().st_size
    fabric.fmctl("reroute")
    assert fabric.log.stat().st_size == begin


def test_second_fmd_on_the_socket_is_refused(fabric):
    fabric.start_fmd()
    fabric.wait_up()
    conf = fabric.scratch / "second.conf"
    conf.write_text(f'state_dir = "{fabric.scratch}/second";\nsocket = "{fabric.socket}";\n')
    second = fabric.run(program("fmd"), "-c", conf, host=None, check=False)
    assert second.returncode == 1
    assert "another fmd uses it" in second.stderr
    fabric.wait_up()


def test_socket_of_a_killed_fmd_is_taken_over(fabric):
    fabric.start_fmd()
    fabric.wait_up()
    assert fabric.stop_fmd(signal.SIGKILL) == -signal.SIGKILL
    assert fabric.socket.exists()
    fabric.start_fmd()
    fabric.wait_up()


def test_socket_option_goes_before_the_configuration(fabric):
    fabric.socket = fabric.scratch / "other" / "fmd.sock"
    with open(fabric.log, "a") as log:
        fabric.fmd = subprocess.Popen([program("fmd"), "-c", fabric.conf, "-s", fabric.socket], stdout=log, stderr=log,
                                      cwd=fabric.scratch, env=fabric.environment())
    fabric.wait_up()
    assert fabric.socket.parent.stat().st_mode & 0o777 == 0o755


@pytest.mark.long
def test_demo_ends_by_itself_with_0():
    demo = subprocess.run([ROOT / "tests/demo/demo"], capture_output=True, text=True, timeout=800)
    assert demo.returncode == 0, demo.stderr
    assert "the very same as in the beginning" in demo.stdout
    assert "\033" not in demo.stdout
