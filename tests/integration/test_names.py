# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A node-name-map as OpenSM and infiniband-diags have it: nodes are called by it, found by it, and a bad one changes nothing."""
import json
import re
import signal
import subprocess

import pytest

from fabric import RIG, program

SM_HOST = "H-0002c90380000100"


def leaf_of(net):
    """(GUID, description) of the first leaf of a file"""
    return re.search(r'^Switch\s+\d+\s+"S-([0-9a-f]{16})"\s+# "(leaf-[^"]+)"', open(net).read(), re.M).groups()


def test_names_of_the_map_are_in_lists_events_and_dumps(start, pod_net, tmp_path):
    guid, desc = leaf_of(pod_net)
    names = tmp_path / "names"
    names.write_text(f'# rack 1\n0x{guid} "rack 1 lower leaf"\n')
    fabric = start(pod_net, SM_HOST, node_name_map=str(names))
    fabric.wait_up()
    row, = (s for s in fabric.ask("switches") if s["guid"] == f"0x{guid}")
    assert (row["name"], row["description"]) == ("rack 1 lower leaf", desc)
    assert fabric.ask("lft", "rack 1 lower leaf")["guid"] == fabric.ask("lft", desc)["guid"] == f"0x{guid}"
    assert '# "rack 1 lower leaf" ' in fabric.fmctl("topology", "--format", "ibnetdiscover").stdout
    assert "('rack 1 lower leaf'):" in (fabric.dump() / "opensm-lfts.dump").read_text()
    assert any("rack 1 lower leaf" in hop["name"] for hop in fabric.ask("path", *two_hosts_of(pod_net, guid))["hops"])
    cut = next(link for link in fabric.ask("links") if f"0x{guid}" in (link["a"]["guid"], link["b"]["guid"]) and link["b"]["role"] == "spine")
    fabric.fmctl("cordon", f"rack 1 lower leaf:{cut['a' if cut['a']['guid'].endswith(guid) else 'b']['port']}")
    assert any("rack 1 lower leaf" in event["text"] for event in fabric.ask("events", "-n", 50))
    moved = fabric.status()["lft_blocks_written"]
    names.write_text(f'0x{guid} "leaf of rack 2"\n')
    fabric.fmd.send_signal(signal.SIGHUP)
    fabric.wait(lambda status: any(s["name"] == "leaf of rack 2" for s in fabric.ask("switches")), "the new name is shown")
    assert fabric.status()["lft_blocks_written"] == moved


def two_hosts_of(net, guid):
    """Two HCAs at that leaf, by GUID."""
    text = open(net).read()
    block = re.search(rf'^Switch[^\n]*"S-{guid}".*?(?:\n\n|\Z)', text, re.M | re.S).group()
    return re.findall(r'"(H-[0-9a-f]{16})"', block)[:2]


def test_a_bad_map_is_refused_by_its_line_and_the_old_names_stay(start, pod_net, tmp_path):
    guid, desc = leaf_of(pod_net)
    names = tmp_path / "names"
    names.write_text(f'0x{guid} "lower leaf"\n')
    fabric = start(pod_net, SM_HOST, node_name_map=str(names))
    fabric.wait_up()
    names.write_text(f'0x{guid} "upper leaf"\nnonsense\n')
    refused = fabric.fmctl("reload", check=False)
    assert refused.returncode == 1 and f"{names}:2: " in refused.stderr, refused.stderr
    assert fabric.ask("lft", "lower leaf")["guid"] == f"0x{guid}"
    conf = tmp_path / "check.conf"
    conf.write_text(f'node_name_map = "{names}";\n')
    checked = subprocess.run([program("fmd"), "--check-config", conf], capture_output=True, text=True)
    assert checked.returncode == 1 and f"{names}:2: " in checked.stderr


def test_plan_reads_a_map(pod_net, tmp_path):
    guid, desc = leaf_of(pod_net)
    names = tmp_path / "names"
    names.write_text(f'0x{guid} "rack 1 lower leaf"\n')
    words = [program("fmctl"), "--json", "plan", pod_net, "--fail", "rack 1 lower leaf"]
    assert subprocess.run(words, capture_output=True).returncode == 1
    done = subprocess.run([*words, "--node-name-map", names], capture_output=True, text=True)
    assert json.loads(done.stdout)["delta"]["switches"] > 0, done.stderr
    names.write_text("0x10\n")
    done = subprocess.run([*words, "--node-name-map", names], capture_output=True, text=True)
    assert done.returncode == 1 and f"{names}:1: " in done.stderr


@pytest.mark.skipif(RIG == "ibsim", reason="only fmsim's devices know HierarchyInfo")
def test_cages_of_devices_that_tell_them_are_in_links(start, small_net):
    """One leaf tells them, one refuses what it claims to know, one contradicts itself, one host tells its place on the PCI bus."""
    fabric = start(small_net, fmd=False)
    for how, node in (("on", "leaf-0001"), ("refused", "leaf-0002"), ("wrong", "leaf-0003"), ("on", "node-0005")):
        fabric.ibsim.tell(f"labels {how} {node}")
    fabric.start_fmd()
    fabric.wait_up()

    def labels():
        ends = [end for link in fabric.ask("links") for end in (link["a"], link["b"])]
        return {(end["name"], end["port"]): end["label"] for end in ends if "label" in end}

    fabric.wait(lambda status: len(labels()) >= 7, "ports have labels")
    told = labels()
    assert {name for name, port in told} == {"leaf-0001", "node-0005 HCA-1"}
    assert told["leaf-0001", 1] == "cage 1/1" and told["leaf-0001", 4] == "cage 2/2" and told["node-0005 HCA-1", 1] == "PCI 10:00.0"
    assert "cage 1/1" in fabric.fmctl("links").stdout and "cage 1/1" in fabric.fmctl("show", "leaf-0001").stdout
    assert fabric.ask("show", "leaf-0001:1")["label"] == "cage 1/1"
    found = fabric.ask("show", "leaf-0001:cage 2/2")
    assert (found["kind"], found["port"], found["label"]) == ("port", 4, "cage 2/2")
    assert fabric.ask("show", "node-0005 HCA-1 pci 10:00.0")["node"] == "node-0005 HCA-1"
    assert fabric.ask("show", "node-0005")["ports"][0]["label"] == "PCI 10:00.0"
    assert "no node matches" in fabric.fmctl("show", "leaf-0001:cage 7/7", check=False).stderr
    assert fabric.status()["state"] == "up" and not fabric.status()["alerts"]
