# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""OpenSM on fmsim, and osmtest's flows with it: what the rig is worth is shown by a manager that is not ours and its own test."""
import os
import re
import signal
import subprocess

import pytest

from fabric import Fabric, end_process, poll

pytestmark = pytest.mark.long

FAR = "H-0002c90380001000"
QUICK = ("-t", "200")  # what OpenSM drops on purpose is waited for so long and no longer


class OpenSm:
    def __init__(self, fabric, host=None):
        self.folder = fabric.folder("opensm")
        self.log = self.folder / "osm.log"
        environment = {**fabric.environment(host), "OSM_TMP_DIR": str(self.folder), "OSM_CACHE_DIR": str(self.folder)}
        self.process = subprocess.Popen(["opensm", "-f", self.log, "-d2"], cwd=self.folder, env=environment,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def said(self, word):
        return self.log.exists() and word in self.log.read_text(errors="replace")

    def end(self):
        if self.process.poll() is None:
            end_process(self.process)


@pytest.fixture(scope="module")
def managed(small_net, tmp_path_factory):
    """(fabric, OpenSM) that is up."""
    fabric = Fabric(tmp_path_factory.mktemp("opensm"), small_net, rig="fmsim")
    opensm = OpenSm(fabric)
    try:
        poll(lambda: opensm.said("SUBNET UP"), "OpenSM's subnet is up")
        yield fabric, opensm
    finally:
        opensm.end()
        fabric.stop()


def capabilities(fabric, host=None):
    return int(re.search(r"Capability mask: (0x\w+)", fabric.run("ibstat", host=host).stdout)[1], 16)


def test_opensm_makes_every_link_active(managed):
    fabric, _ = managed
    assert not [end for end, port in fabric.simulated().items() if port["cable"] and port["state"] != "Active"]
    assert "SMINFO_MASTER" in fabric.run("sminfo", host=FAR).stdout


# Of the flows e and t osmtest says that they are not implemented, and passes; they are here so that a later osmtest's are seen.
FLOWS = [
    ("c",), ("a", *QUICK), ("q",), ("e",), ("t",), ("m", "-M", "1"), ("m", "-M", "2"), ("f", "-s", "2"),
    *(pytest.param(flow, marks=pytest.mark.long)
      for flow in (("v", *QUICK), ("s",), ("m", "-M", "3", *QUICK), ("m", "-M", "4", *QUICK), ("f", "-s", "1"), ("f", "-s", "3"), ("f", "-s", "4"))),
]


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: "".join(flow[:1] + flow[2:3]))
def test_osmtest_passes(managed, flow):
    fabric, _ = managed
    folder = fabric.scratch / "osmtest"
    folder.mkdir(exist_ok=True)
    if not (folder / "osmtest.dat").exists():
        run_osmtest(fabric, folder, "c")
    run_osmtest(fabric, folder, *flow)


def run_osmtest(fabric, folder, *flow):
    """The inventory, which the flows of validation compare with, is a file of the folder."""
    done = fabric.run("osmtest", "-i", folder / "osmtest.dat", "-l", folder / "osmtest.log", "-f", *flow, host=FAR, check=False, timeout=600)
    assert done.returncode == 0 and "PASS" in done.stdout, done.stdout[-500:] + tail(folder / "osmtest.log")


def tail(log):
    return "\n".join(line for line in log.read_text(errors="replace").splitlines() if "ERR" in line)[-3000:]


# ---- IsSM -----------------------------------------------------------------------------------------


def test_a_killed_manager_leaves_no_is_sm(start, small_net):
    fabric = start(small_net, fmd=False, rig="fmsim")
    opensm = OpenSm(fabric)
    try:
        poll(lambda: opensm.said("SUBNET UP"), "OpenSM's subnet is up")
        assert capabilities(fabric) & 2
        os.kill(opensm.process.pid, signal.SIGKILL)
        opensm.process.wait()
        poll(lambda: not capabilities(fabric) & 2, "IsSM is gone")
    finally:
        opensm.end()


def test_a_manager_that_comes_is_told_to_the_master_by_trap_144(managed):
    """A second OpenSM's IsSM is a change of its port's capability mask: the master hears of it by the port's own trap."""
    fabric, opensm = managed
    second = OpenSm(fabric, host=FAR)
    try:
        poll(lambda: second.said("Entering STANDBY"), "the second stands by")
        poll(lambda: opensm.said("num:144"), "trap 144 arrived")
    finally:
        second.end()


@pytest.mark.parametrize("number", [128, 129, 130, 131, 144, 145, 256, 257, 258, 259])
def test_each_trap_of_a_device_reaches_the_manager(managed, number):
    """From a switch, or from an HCA where only those have it; OpenSM reads producer and number."""
    fabric, opensm = managed
    node = "node-0016" if number in (144, 257, 258) else "leaf-0002"
    fabric.ibsim.tell(f"trap {node} {number} 1")
    poll(lambda: opensm.said(f"num:{number} "), f"OpenSM heard of trap {number}")
