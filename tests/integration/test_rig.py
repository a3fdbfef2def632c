# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""fmsim as a place for InfiniBand's tools: each runs in it unchanged, sees what it sees on ibsim, and gets long answers whole."""
import os
import re
import signal
import subprocess

import pytest

from fabric import Fabric, end_process, poll

HOST, FAR = "H-0002c90380000100", "H-0002c90380008300"
MANY = 280  # nodes

TOOLS = [
    (["ibnetdiscover"], r'Switch\s+65 "S-'),
    (["iblinkinfo"], "leaf-su01-rail0"),
    (["sminfo"], "SMINFO_MASTER"),
    (["smpquery", "nodeinfo", "1"], "# Node info"),
    (["smpquery", "portinfo", "1", "1"], "LinkState:.*Active"),
    (["perfquery", "1", "1"], "PortXmitWait"),
    (["ibtracert", "1", "9"], "To ca"),
    (["ibroute", "257"], "Unicast lids"),
    (["ibstat"], "State: Active"),
    (["ibhosts"], "dgx-su01-01"),
    (["ibswitches"], "spine-01"),
    (["ibaddr"], "LID start 0x"),
    *[(["saquery", record], "Record dump") for record in ("NR", "PIR", "SWIR", "LR", "LFTR", "SMIR")],
    (["saquery", "--smkey", "1", "PKTR", "1/1/0"], "Record dump"),
    (["saquery", "-c"], "ClassPortInfo"),
    (["osmtest", "-f", "c"], "PASS"),
]


@pytest.fixture(scope="module")
def rig(pod_net, tmp_path_factory):
    fabric = Fabric(tmp_path_factory.mktemp("rig"), pod_net, rig="fmsim")
    try:
        fabric.start_fmd(HOST)
        fabric.wait_up()
        yield fabric
    finally:
        fabric.stop()


@pytest.mark.parametrize("command, said", TOOLS, ids=lambda value: "-".join(value) if isinstance(value, list) else "")
def test_the_tool_runs(rig, command, said):
    done = rig.run(*command, host=HOST)
    assert re.search(said, done.stdout), done.stdout[-2000:] + done.stderr[-2000:]


def test_a_long_answer_comes_whole_to_any_host(rig):
    assert rig.run("saquery", "NR", host=FAR).stdout.count("NodeRecord dump") == MANY


def links_of(text):
    """Without date, speeds (ibsim knows none above HDR) and remarks."""
    return sorted(re.sub(r"\s*#.*", "", line) for line in text.splitlines() if re.match(r"\[|Switch|Ca", line))


def test_the_fabric_is_the_one_of_ibsim(start, rig, pod_net):
    other = start(pod_net, HOST, rig="ibsim")
    assert links_of(rig.run("ibnetdiscover", host=HOST).stdout) == links_of(other.run("ibnetdiscover", host=HOST).stdout)


def heard(fabric):
    return fabric.status()["sa"]["requests"]


def test_long_answers_survive_loss(start, pod_net):
    """1% of packets each way: half a percent as they leave a port, half as they come to one. saquery asks once: what fmd heard is answered whole."""
    fabric = start(pod_net, HOST, rig="fmsim", sim_options=("--loss", "5"))
    answers = 0
    while answers < 5:
        before = heard(fabric)
        done = fabric.run("saquery", "-t", 10000, "NR", host=FAR, check=False)
        if done.returncode and heard(fabric) == before:
            continue  # the request was lost
        assert done.stdout.count("NodeRecord dump") == MANY, done.stdout[-300:] + done.stderr
        answers += 1


def capability(fabric):
    return int(re.search(r"Capability mask: (0x\w+)", fabric.run("ibstat", host=HOST).stdout)[1], 16)


def test_opensm_brings_it_up_and_takes_is_sm_along(start, pod_net):
    fabric = start(pod_net, fmd=False, rig="fmsim")
    folder = fabric.folder("opensm")
    environment = {**fabric.environment(HOST), "OSM_TMP_DIR": str(folder), "OSM_CACHE_DIR": str(folder)}
    log = folder / "osm.log"
    opensm = subprocess.Popen(["opensm", "-f", log, "-d2"], cwd=folder, env=environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        poll(lambda: log.exists() and "SUBNET UP" in log.read_text(errors="replace"), "OpenSM's subnet is up")
        assert not [end for end, port in fabric.simulated().items() if port["cable"] and port["state"] != "Active"]
        fabric.run("osmtest", "-f", "c", host=FAR)
        assert "SMINFO_MASTER" in fabric.run("sminfo", host=FAR).stdout
        assert capability(fabric) & 2
        os.kill(opensm.pid, signal.SIGKILL)
        opensm.wait()
        poll(lambda: not capability(fabric) & 2, "the simulator sees that its process is gone")
    finally:
        if opensm.poll() is None:
            end_process(opensm)
