# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""fmsim as a program: its script and seed, the view of a port that tools have, hosts with several HCAs."""
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from fabric import DEADLINE_S, Fabric, poll, program

ORPHAN = pathlib.Path(__file__).with_name("orphan.py")
PROBE = pathlib.Path(__file__).with_name("probe.py")
HOST, NAME = "H-0002c90380000100", "node-0001"
PROBES = 120

# What each of a hundred and twenty askings meets is left to chance; the script changes the odds in between.
SCRIPT = """\
lose node-0001:1 20%
slow leaf-0001 100us
at 5ms flap node-0002:1 2 1ms
at 1000ms count leaf-0002:1 symbol_errors 7
"""


def replayed(small_net, folder, seed):
    """(which probes were answered, what the script said, all that the fabric holds at the end) of a run of its own."""
    folder.mkdir()
    (folder / "script").write_text(SCRIPT)
    fabric = Fabric(folder, small_net, rig="fmsim", sim_options=("--seed", str(seed), "--run", str(folder / "script")))
    try:
        heard = fabric.run(sys.executable, PROBE, PROBES, host=HOST).stdout
        poll(lambda: "count leaf" in fabric.ibsim.log.read_text(), "the script is at its end")
        said = [re.sub(r"^[0-9.]+ ", "", line) for line in fabric.ibsim.log.read_text().splitlines()]
        return heard, said, fabric.ibsim.tell("state")
    finally:
        fabric.stop()


def test_the_same_seed_and_script_are_the_same_run(small_net, tmp_path):
    one, two, other = (replayed(small_net, tmp_path / name, seed) for name, seed in (("one", 5), ("two", 5), ("other", 6)))
    assert one == two
    assert one[0] != other[0] and 0 < one[0].count("0") < PROBES / 2


# ---- What tools see of a port (sysfs on a real machine)


def port_view(fabric, host=HOST):
    return dict(re.findall(r"^\s*(State|Physical state|Rate|Base lid|SM lid|Link layer): (.*)$", fabric.run("ibstat", host=host).stdout, re.M))


def test_the_view_of_a_port_follows_it(start, small_net):
    fabric = start(small_net, fmd=False, rig="fmsim")
    dark = port_view(fabric)
    assert (dark["State"], dark["Physical state"], dark["Base lid"]) == ("Initializing", "LinkUp", "0")
    fabric.start_fmd(HOST)
    fabric.wait_up()
    lid = str(fabric.lids()["0x0002c90380000100"])
    assert port_view(fabric) == {"State": "Active", "Physical state": "LinkUp", "Rate": "200", "Base lid": lid, "SM lid": lid, "Link layer": "InfiniBand"}
    fabric.ibsim.tell("unlink node-0002:1")
    assert (port_view(fabric, "H-0002c90380000200")["State"], port_view(fabric, "H-0002c90380000200")["Physical state"]) == ("Down", "Polling")


@pytest.mark.parametrize("cable, rate", [("4xXDR", 800), ("2xXDR", 400), ("4xNDR", 400), ("2xNDR", 200), ("4xHDR", 200), ("2xHDR", 100), ("4xEDR", 100), ("4xFDR", 56), ("4xQDR", 40)])
def test_a_ports_rate_is_that_of_its_cable(start, small_net, tmp_path, cable, rate):
    net = tmp_path / "net"
    net.write_text(small_net.read_text().replace("4xHDR", cable))
    fabric = start(net, rig="fmsim")
    assert port_view(fabric)["Rate"] == str(rate)
    assert not fabric.dark_links()


def test_a_host_has_all_of_its_hcas(start, pod_net):
    """FMSIM_NODE names a host, or one HCA of it by GUID."""
    fabric = start(pod_net, fmd=False, rig="fmsim")
    assert re.findall(r"^CA '(.*)'", fabric.run("ibstat", host="dgx-su01-01").stdout, re.M) == [f"mlx5_{n}" for n in range(8)]
    assert fabric.run("ibstat", "-l", host="dgx-su01-01").stdout.split() == [f"mlx5_{n}" for n in range(8)]


# ---- A simulator that is killed


@pytest.mark.parametrize("what", ["send", "read"])
def test_clients_of_a_simulator_that_was_killed_fail_as_by_a_lost_device(start, small_net, what):
    fabric = start(small_net, fmd=False, rig="fmsim")
    client = subprocess.Popen([sys.executable, ORPHAN, what], env={**os.environ, **fabric.environment(HOST)}, stdout=subprocess.PIPE, text=True)
    try:
        assert client.stdout.readline() == "begun\n"
        fabric.ibsim.process.kill()
        said, _ = client.communicate(timeout=DEADLINE_S)
        assert (client.returncode, said) == (0, "-5\n")  # EIO
    finally:
        client.kill()
        client.wait()


# ---- Commands by a shell


def test_a_line_is_said_from_a_shell(start, small_net):
    fabric = start(small_net, rig="fmsim")

    def tell(line):
        return subprocess.run([program("fmd").parent / "fmsim", "--tell", line], env={"FMSIM": fabric.ibsim.name}, capture_output=True, text=True)

    way = tell("packet node-0001 node-0016")
    assert way.returncode == 0 and "leaf-0001" in way.stdout and "node-0016" in way.stdout, way
    assert tell("unlink node-0016:1").returncode == 0
    dies = tell("packet node-0001 node-0016 0")
    assert dies.returncode == 0 and dies.stdout != way.stdout
    assert "node-0001" in tell("load shift 3").stdout or tell("load").stdout
    wrong = tell("lose leaf-9999:1 5%")
    assert wrong.returncode == 1 and "leaf-9999" in wrong.stdout + wrong.stderr


# ---- Switches that hold the groups of a file


def close(said, seen, within):
    return all(abs(said[key] - seen[key]) <= within for key in ("mean", "slowest_tenth"))


def test_switches_forward_by_the_groups_of_a_plan(start, pod_net, tmp_path):
    far, without = tmp_path / "ibdiagnet2.far", tmp_path / "without.far"
    planned = json.loads(subprocess.check_output([program("fmctl"), "--json", "plan", pod_net, "--write-far", far]))
    subprocess.run([program("fmctl"), "plan", pod_net, "--fail", "spine-01", "--write-far", without], stdout=subprocess.DEVNULL, check=True)
    fabric = start(pod_net, rig="fmsim")
    foretold = fabric.ask("whatif", "--fail", "spine-01")
    shown = fabric.fmctl("whatif", "--fail", "spine-01").stdout
    fabric.stop_fmd()
    tell = fabric.ibsim.tell
    tables = json.loads(tell("load ebb 20"))
    tell("adaptive able 3")
    assert tell(f"adaptive read {far}") == "switches 12\n"
    groups, verdict = json.loads(tell("load ebb 20")), json.loads(tell("judge --json"))
    assert (verdict["dead"], verdict["loops"], verdict["cycles"]) == (0, 0, 0) and verdict["pairs"] == 256 * 255
    assert tables["mean"] < 0.8 < 0.99 < groups["slowest_tenth"] <= groups["mean"] <= 1
    for said in planned, foretold["before"]:  # what fmd computes is what the simulator's switches forward
        assert close(said["ebb"]["bisection"], tables, 0.05) and close(said["adaptive"]["ebb"]["bisection"], groups, 0.01), said

    losing = {}
    tell("load random 1000 1 10%")
    assert "lose packets" not in tell("load")
    tell("unlink leaf-su01-rail0:33")
    for how in "off", "fr":
        tell(f"adaptive recovery {how}")
        found = re.search(r"flows that lose packets (\d+), packets lost so far \d+", tell("load"))
        losing[how] = int(found[1])
    assert losing["off"] > losing["fr"] == 0
    # To a member whose link is down packets are lost, and its flows are dead; left out, nobody's are.
    assert json.loads(tell("judge --json"))["dead"] == 0
    tell("adaptive recovery off")
    assert json.loads(tell("judge --json"))["dead"] > 0

    tell("link leaf-su01-rail0:33")
    tell("node off spine-01")
    tell(f"adaptive read {without}")
    rest = json.loads(tell("load ebb 20"))
    assert rest["mean"] < 0.9 and close(foretold["adaptive"]["ebb"]["bisection"], rest, 0.03), (rest, foretold["adaptive"])
    assert re.search(rf"with groups.*\n  bisection +1.00 +1.00 +{foretold['adaptive']['ebb']['bisection']['mean']:.2f} ", shown), shown


# ---- Faults by command, as a manager meets them

LEAF, SPINE, LINK = "leaf-0002", "spine-0001", "leaf-0002:5"
FAULTS = [f"lose {LINK} 20% one-way", f"duplicate {LINK} 50%", f"hang {LEAF}", f"mum {LEAF}", f"garble {LEAF} 20%", "stuck node-0006:1",
          *(pytest.param(fault, marks=pytest.mark.long) for fault in (
              f"lose {LINK} 20%", f"reorder {LINK} 50%", f"delay {LINK} 2ms", "lose 3%", "slow 200us", f"slow {LEAF} 2ms", f"late {LEAF} 5ms", f"echo {LEAF} 30%",
              f"lie {LEAF} 5%",
              # A switch that took no Set is tried again after a minute.
              f"deaf {LEAF}", f"refuse {LEAF}", f"complain {LEAF} 20%"))]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_ends_leaves_nothing(start, small_net, fault):
    """A cable falls and returns, and all is looked at anew, while it lasts. Then the fabric is as it was: names, links, tables, proof."""
    fabric = start(small_net, rig="fmsim", sweep_interval=1)
    before, nodes = fabric.tables(), sorted(node["name"] for node in fabric.ask("nodes"))
    fabric.ibsim.tell(fault)
    fabric.ibsim.tell("unlink node-0006:1")
    fabric.fmctl("sweep", check=False)
    fabric.ibsim.tell("link node-0006:1")
    fabric.fmctl("sweep", check=False)
    fabric.ibsim.tell("mend")

    def whole(status):
        return (status["state"] == "up" and not status["links_down"] and not status["links_isolated"] and not status["silent"]
                and not fabric.dark_links() and fabric.tables() == before and sorted(n["name"] for n in fabric.ask("nodes")) == nodes)

    fabric.wait(whole, "the fabric is as it was", 300)
