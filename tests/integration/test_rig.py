# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""fmsim as a place for InfiniBand's tools: each runs in it unchanged, sees what it sees on ibsim, and gets long answers whole."""
import re
import subprocess

import pytest

from fabric import Fabric, program

HOST, FAR = "H-0002c90380000100", "H-0002c90380008300"
MANY = 280  # nodes

TOOLS = [
    (["ibnetdiscover"], r'Switch\s+65 "S-'),
    (["iblinkinfo"], "leaf-su01-rail0"),
    (["ibqueryerrors"], "Summary: 280 nodes checked"),
    (["ibnodes"], "spine-01"),
    (["ibhosts"], "dgx-su01-01"),
    (["ibswitches"], "spine-01"),
    (["ibrouters"], "^$"),
    (["ibstat"], "State: Active"),
    (["ibaddr"], "LID start 0x"),
    (["sminfo"], "SMINFO_MASTER"),
    (["sminfo", "-D", "0"], "SMINFO_MASTER"),
    (["smpquery", "nodeinfo", "1"], "# Node info"),
    (["smpquery", "nodedesc", "1"], "HCA|mlx5"),
    (["smpquery", "portinfo", "1", "1"], "LinkState:.*Active"),
    (["smpquery", "-x", "portinfo", "1", "1"], "LinkSpeedExtActive:.*106.25 Gbps"),
    (["smpquery", "switchinfo", "257"], "LinearFdbTop"),
    (["smpquery", "guidinfo", "1"], "0x0002c9"),
    (["smpquery", "pkeys", "1"], "0xffff"),
    (["smpquery", "sl2vl", "1"], "SL2VL table"),
    (["smpquery", "vlarb", "1"], "VLArbitration tables"),
    (["smpquery", "mepi", "257", "1"], "LinkSpeedActive"),
    (["smpquery", "-D", "nodeinfo", "0,1"], "NodeType:.*Switch"),
    (["smpdump", "1", "17"], "0000"),
    (["ibportstate", "257", "1", "query"], "LinkState:.*Active(.|\n)*Peer"),
    (["perfquery", "1", "1"], "PortXmitWait"),
    (["perfquery", "-x", "1", "1"], "PortXmitData"),
    (["perfquery", "-a", "257"], "PortXmitWait"),
    (["perfquery", "-E", "1", "1"], "PortLoopingErrors|PortRcvErrors|PortBufferOverrun"),
    (["perfquery", "-R", "1", "1"], "^$"),
    (["ibtracert", "1", "9"], "To ca"),
    (["ibroute", "257"], "Unicast lids"),
    (["ibroute", "-M", "257"], "Multicast mlids"),
    (["dump_fts"], "280 valid lids dumped"),
    (["vendstat", "-N", "257"], "SIMULATED"),
    (["ibccquery", "CongestionInfo", "257"], "ControlTableCap"),
    *[(["saquery", record], "Record dump")
      for record in ("NR", "PIR", "SWIR", "LR", "LFTR", "SMIR", "MCMR", "SL2VL", "VLAR")],
    (["saquery", "PR", "--src-to-dst", "1:9"], "PathRecord dump"),
    (["saquery", "GIR", "1/0"], "Record dump"),
    (["saquery", "MFTR", "257/0/0"], "Record dump|"),
    (["saquery", "--smkey", "1", "PKTR", "1/1/0"], "Record dump"),
    (["saquery", "SR"], "^$"),
    (["saquery", "IIR"], "^$"),
    (["saquery", "-g"], "MCMemberRecord group dump"),
    (["saquery", "-s"], "IsSM ports"),
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


def picture(text):
    """All of it, speeds and LIDs too, but for the head, which has the date."""
    return [line for line in text.splitlines() if not re.match(r"# (Topology file|Initiated from)|#$|$", line)]


@pytest.mark.long
def test_the_fabric_is_the_one_of_ibsim(small_net, tmp_path_factory):
    """One file, one manager, two simulators: ibnetdiscover's pictures are the same, line by line."""
    pictures = []
    for rig in ("fmsim", "ibsim"):
        fabric = Fabric(tmp_path_factory.mktemp(rig), small_net, rig=rig)
        try:
            fabric.start_fmd()
            fabric.wait_up()
            pictures.append(picture(fabric.run("ibnetdiscover").stdout))
        finally:
            fabric.stop()
    assert pictures[0] == pictures[1] and len(pictures[0]) > 100


STAGE = re.compile(r"^ +(\S.*\S) +(\d+) +(\d+) *$", re.M)


@pytest.mark.long
def test_ibdiagnet_finds_nothing_in_a_whole_fabric(start, small_net):
    """ibutils': all of its stages, and the fabric that it writes. Of IPoIB's group it says that it is slower than its members, as groups are."""
    fabric = start(small_net, rig="fmsim")
    folder = fabric.folder("diag")
    said = fabric.run("ibdiagnet", "-o", folder).stdout
    assert not re.findall("^-E-.*", said, re.M)
    stages = {name: (int(errors), int(warnings)) for name, errors, warnings in STAGE.findall(said)}
    assert len(stages) == 6 and all(errors == 0 for errors, _ in stages.values()), said[-2000:]
    assert [name for name, (_, warnings) in stages.items() if warnings] in ([], ["IPoIB Subnets Check"])
    assert (folder / "ibdiagnet.lst").read_text().count("{ CA") >= 16


@pytest.mark.long
def test_ibdiagnet_names_what_is_wrong(start, small_net):
    """A counter, and a GUID that two HCAs have."""
    fabric = start(small_net, rig="fmsim")
    fabric.ibsim.tell("count leaf-0002:1 symbol_errors 40")
    fabric.ibsim.tell("guid node-0003 0x0002c90380000400")
    said = fabric.run("ibdiagnet", "-o", fabric.folder("diag"), "-P", "all=1", check=False).stdout
    assert re.search(r"symbol_error_counter +: 0x28", said), said[-3000:]
    assert re.search(r"2 Devices with identical NodeGUID=0x0002c90380000400", said), said[-3000:]


@pytest.mark.long
def test_long_answers_survive_loss(start, pod_net):
    """1% of packets each way: half a percent as they leave a port, half as they come to one. saquery asks once: what fmd heard is answered whole."""
    fabric = start(pod_net, HOST, rig="fmsim", sim_options=("--loss", "5"))
    for _ in range(5):
        assert fabric.saquery_heard("NR", host=FAR)[0].stdout.count("NodeRecord dump") == MANY


@pytest.mark.long
def test_records_of_four_thousand_hosts_survive_loss(start, tmp_path):
    """Some 2,700 segments an answer, of which 1% is lost each way; tests/bench/long_answers.py asks a hundred times."""
    net = tmp_path / "pod.net"
    net.write_text(subprocess.run([program("fmctl"), "generate", "superpod", "--su", "16"], capture_output=True, text=True, check=True).stdout)
    fabric = start(net, rig="fmsim", sim_options=("--loss", "5"))
    far = re.findall(r'^Ca.*"(H-\w+)"\s+# "dgx', net.read_text(), re.M)[-1]
    for _ in range(3):
        assert fabric.saquery_heard("NR", host=far, patience_ms=60000)[0].stdout.count("NodeRecord dump") == 4096 + 2 * 320
