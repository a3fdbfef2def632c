# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What only a process meets: its device leaves the machine and returns, the port is another manager's, the disk stops. On fmsim, whose
umad files die with a device (EIO, EPOLLERR) and whose issm files are one opener's at a time, as Linux' are."""
import os
import pathlib
import signal
import subprocess

import pytest

from fabric import free_door, poll
from test_mirror import secret, whole

HERE, THERE = "H-0002c90380000100", "H-0002c90380001000"
HERE_NAME, CABLE = "node-0001", "leaf-0002:5"
FAST = {"sminfo_polling_timeout": 500, "polling_retry_number": 9}  # 4.5 s of silence: a busy machine is not taken for a dead one
IS_SM = 2


def managed(status):
    return status["sm"] == "master" and status["state"] == "up"


def device(fabric, state):
    fabric.ibsim.tell(f"device {HERE_NAME} {state}")


def is_sm(fabric, host):
    """As the port's own PortInfo shows it."""
    return bool(int.from_bytes(fabric.get_smp(host, 0x15, 1)[20:24], "big") & IS_SM)


def test_a_device_that_goes_is_told_and_one_that_returns_is_taken_again(start, small_net):
    fabric = start(small_net, HERE, rig="fmsim")
    before, lids, written = fabric.tables(), fabric.lids(), fabric.status()["lft_blocks_written"]
    device(fabric, "off")
    status = fabric.wait(lambda s: s["state"] == "no-device", "it noticed")
    assert status["role"] == "none" and not status["fabric_up"]
    assert [alert["what"] for alert in status["alerts"]] == ["no-device"]
    assert "DOWN (no-device)" in fabric.fmctl("status").stdout
    device(fabric, "on")
    status = fabric.wait(managed, "it is master by itself")
    assert status["lft_blocks_written"] == written and not status["alerts"]
    assert (fabric.tables(), fabric.lids()) == (before, lids)
    poll(lambda: is_sm(fabric, HERE), "IsSM is set again")


def test_a_fault_that_happened_without_the_device_is_found(start, small_net):
    fabric = start(small_net, HERE, rig="fmsim")
    device(fabric, "off")
    fabric.wait(lambda s: s["state"] == "no-device", "it noticed")
    fabric.ibsim.tell(f"unlink {CABLE}")
    device(fabric, "on")
    fabric.wait(lambda s: managed(s) and s["links_down"] == 1, "it knows of the cable")
    reached, pairs = fabric.pairs_reached()
    assert reached == pairs > 0


@pytest.mark.long
def test_a_standby_serves_while_the_masters_device_is_gone(start, small_net):
    standby = start(small_net, THERE, rig="fmsim", **FAST)
    master = standby.another(sm_priority=15, **FAST)
    try:
        master.start_fmd(HERE)
        master.wait(managed, "the higher one is master")
        standby.wait(lambda s: s["sm"] == "standby", "the other stands by")
        device(master, "off")
        status = standby.wait(managed, "it took over")
        assert status["links_down"] == 0  # of the host only the driver is gone
        device(master, "on")
        poll(lambda: sum(f.status()["sm"] == "master" for f in (master, standby)) == 1
             and sum(f.status()["sm"] == "standby" for f in (master, standby)) == 1, "one is master, one stands by")
        assert not any(f.status()["election"]["two_masters"] for f in (master, standby))
    finally:
        master.stop()


@pytest.mark.long
def test_a_port_that_another_manager_has_is_waited_for(start, small_net):
    """Registered for SMPs, a port is one manager's at a time; fmd says so, and begins when that is gone."""
    fabric = start(small_net, fmd=False, rig="fmsim")
    folder = fabric.folder("opensm")
    opensm = subprocess.Popen(["opensm", "-f", folder / "osm.log", "-d2"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env={**fabric.environment(HERE), "OSM_TMP_DIR": str(folder), "OSM_CACHE_DIR": str(folder)})
    try:
        poll(lambda: "SUBNET UP" in (folder / "osm.log").read_text(errors="replace") if (folder / "osm.log").exists() else False, "OpenSM is up")
        fabric.start_fmd(HERE)
        status = fabric.wait(lambda s: s["state"] == "port-busy", "it says why it waits")
        assert [alert["what"] for alert in status["alerts"]] == ["port-busy"] and status["role"] == "none"
        os.kill(opensm.pid, signal.SIGKILL)
        opensm.wait()
        fabric.wait(managed, "it manages the fabric")
    finally:
        if opensm.poll() is None:
            opensm.kill()
            opensm.wait()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["asked", "killed"])
def test_is_sm_goes_with_the_process(start, small_net, how):
    fabric = start(small_net, HERE, rig="fmsim")
    assert is_sm(fabric, HERE) and not is_sm(fabric, THERE)
    fabric.stop_fmd(how)
    poll(lambda: not is_sm(fabric, HERE), "no manager is announced")


@pytest.mark.long
def test_a_standby_that_comes_has_what_its_masters_disk_has_not_taken_yet(start, small_net, bad_disk, tmp_path):
    """Of a master that has just taken over the number of that take-over: without it both would count from the same one."""
    held, door, psk = tmp_path / "held", free_door(), {"peer_psk_file": secret(tmp_path / "psk")}
    held.touch()
    master = start(small_net, fmd=False, rig="fmsim", peer_listen=door, state_synchronous="full", **psk, **FAST)
    standby = master.another(peers=door, **psk, **FAST)
    try:
        master.start_fmd(HERE, library=bad_disk, SLOW_DISK=held)
        master.wait_up()
        poll(lambda: pathlib.Path(f"{held}.asked").exists(), "something waits for the disk")
        standby.start_fmd(THERE)
        standby.wait(lambda s: s["sm"] == "standby", "it stands by")
        whole(standby)
        master.wait(lambda s: s["mirror"]["standbys"][0]["behind"] == 0, "the standby has taken all")
        assert len(pathlib.Path(f"{held}.asked").read_bytes()) == 1, "the first change of all is not on disk"
        master.stop_fmd(signal.SIGKILL)
        assert standby.wait(managed, "it has taken over")["mirror"]["takeovers"] == 2
    finally:
        held.unlink(missing_ok=True)
        standby.stop()


@pytest.mark.long
@pytest.mark.parametrize("synchronous", ["normal", "full"])
def test_a_disk_that_stops_holds_up_neither_faults_nor_the_election(start, small_net, bad_disk, tmp_path, synchronous):
    """While no byte gets to the disk: a cable is rerouted, a host's query is answered, and a standby that polls takes nothing."""
    held = tmp_path / "held"
    fabric = start(small_net, fmd=False, rig="fmsim", state_synchronous=synchronous, **FAST)
    fabric.start_fmd(HERE, library=bad_disk, SLOW_DISK=held)
    fabric.wait_up()
    standby = fabric.another(**FAST)
    try:
        standby.start_fmd(THERE)
        standby.wait(lambda s: s["sm"] == "standby", "it stands by")
        held.touch()
        polls = standby.status()["smps_sent"]
        fabric.ibsim.tell(f"unlink {CABLE}")
        status = fabric.wait(lambda s: s["links_down"] == 1 and s["state"] == "up", "the cut is answered")
        assert status["sm"] == "master"
        poll(lambda: pathlib.Path(f"{held}.asked").exists(), "something waits for the disk")
        fabric.ibsim.tell(f"link {CABLE}")
        fabric.wait(lambda s: s["links_down"] == 0 and s["state"] == "up", "the repair is answered")
        assert "NodeRecord dump" in fabric.run("saquery", "NR", "1", host=THERE).stdout
        poll(lambda: standby.status()["smps_sent"] >= polls + 5, "the standby has polled the master")
        assert standby.status()["sm"] == "standby" and standby.status()["role_changes"] == 0
    finally:
        held.unlink(missing_ok=True)
        standby.stop()
