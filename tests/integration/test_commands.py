# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""fmctl's commands against a fabric that is up: as tables and as JSON; and the fabric's file in every format."""
import json
import os
import re
import xml.etree.ElementTree as xml

import pytest

from fabric import Fabric, without

LEAF, SPINE, HOST = "leaf-su01-rail0", "spine-01", "dgx-su01-01 mlx5_0"
FIRMWARE = ("firmware", "psid")  # which devices report behind "up"


# ---- Each command, for people and for programs

@pytest.mark.parametrize("arguments, word", [
    (["status"], "verified"), (["topology"], "tier 2: spine switches"), (["nodes"], HOST), (["switches"], SPINE),
    (["links"], "Active"), (["links", "--down"], "FROM"), (["hosts"], "dgx-su01-32"), (["lft", LEAF], "LID"),
    (["path", "dgx-su01-01 mlx5_0", "dgx-su01-02 mlx5_0"], LEAF), (["check"], "verified"),
    (["check", "--readback"], "as programmed"), (["events"], "fabric: up"), (["reroute"], "fabric UP"),
    (["sweep"], "fabric UP"), (["loglevel", "sweep", "info"], "sweep")])
def test_command_answers_in_both_ways(pod, arguments, word):
    shown = pod.fmctl(*arguments).stdout
    assert word in shown
    document = json.loads(pod.fmctl("--json", *arguments).stdout)
    assert isinstance(document, (dict, list))


def test_nodes_have_lids_roles_and_rails(pod):
    nodes = pod.ask("nodes")
    assert len(nodes) == 280
    assert len({node["lid"] for node in nodes}) == 280 and all(node["lid"] for node in nodes)
    assert {node["state"] for node in nodes} == {"Active"}
    leaf = next(node for node in nodes if node["name"] == LEAF)
    assert (leaf["role"], leaf["rail"], leaf["su"], leaf["level"]) == ("leaf", 0, 0, 0)
    host = next(node for node in nodes if node["name"] == HOST)
    assert (host["role"], host["rail"], host["su"], host["host"]) == ("host", 0, 0, "dgx-su01-01")
    switches = pod.ask("switches")
    assert all("ar" in switch for switch in switches)  # adaptive routing is a switch's alone
    assert [{**switch, "ar": None} for switch in switches] == [{**node, "ar": None} for node in nodes
                                                               if node["type"] == "switch"]


def test_hosts_of_a_leaf_have_lids_in_a_row(pod):
    for rail in range(8):
        lids = sorted(node["lid"] for node in pod.ask("nodes") if node["type"] == "ca" and node["rail"] == rail)
        assert lids == list(range(lids[0], lids[0] + 32))


def test_links_name_both_ends(pod):
    links = pod.ask("links")
    assert len(links) == 524
    assert all(link["up"] and link["state"] == "Active" for link in links)
    assert pod.ask("links", "--down") == []
    assert {(link["a"]["role"], link["b"]["role"]) for link in links} <= {("leaf", "host"), ("leaf", "spine"),
                                                                          ("spine", "leaf"), ("leaf", "sharp"), ("spine", "sharp")}


def test_hosts_have_eight_adapters(pod):
    hosts = pod.ask("hosts")
    assert len(hosts) == 32
    assert {len(host["hcas"]) for host in hosts} == {8}


def test_lft_is_what_the_switch_holds(pod):
    table = pod.ask("lft", LEAF)
    held = pod.simulated_tables()[1]["S-" + table["guid"][2:]]
    assert {entry["lid"]: entry["port"] for entry in table["entries"]} == {lid: held[lid] for lid in range(1, 281)}


@pytest.mark.parametrize("name", ["0x0002c90380000100", "H-0002c90380000100", HOST, f"{HOST}:1", "guid:0x0002c90380000100",
                                  "dgx-su01-01/mlx5_0", "fe80::2:c903:8000:100"])
def test_node_may_be_named_in_several_ways(pod, name):
    assert pod.ask("path", name, "dgx-su01-02 mlx5_0")["hops"][0]["name"] == HOST


def test_a_number_is_the_lid_of_whoever_has_it(pod):
    lid = pod.ask("path", HOST, "dgx-su01-02 mlx5_0")["dlid"]
    for name in (str(lid), hex(lid), f"lid:{lid}"):
        assert pod.ask("path", HOST, name)["hops"][-1]["name"] == "dgx-su01-02 mlx5_0"
    leaf = pod.ask("lft", LEAF)
    assert pod.ask("lft", str(leaf["lid"])) == leaf


def test_path_between_hosts_has_a_row_for_each_rail(pod):
    paths = pod.ask("path", "dgx-su01-01", "dgx-su01-02")["paths"]
    assert [(row["from"], row["to"], row["via"]) for row in paths] == [
        (f"dgx-su01-01 {device}", f"dgx-su01-02 {device}", [f"leaf-su01-rail{rail}"])
        for rail, device in enumerate(f"mlx5_{n}" for n in (0, 3, 4, 5, 6, 9, 10, 11))]
    assert [row["to"] for row in pod.ask("path", HOST, "dgx-su01-02")["paths"]][0] == "dgx-su01-02 mlx5_0"


@pytest.mark.parametrize("arguments, reason", [
    (["lft", "moon"], "moon"), (["lft", HOST], "not a switch"), (["path", HOST, "moon"], "moon"),
    (["path", "dgx-su01-0", HOST], "'dgx-su01-0' matches 9 hosts, among them 'dgx-su01-01'")])
def test_refusal_has_its_reason_and_ends_with_1(pod, arguments, reason):
    done = pod.fmctl(*arguments, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert reason in done.stderr


@pytest.mark.parametrize("arguments", [["lft"], ["path", HOST], ["status", "now"], ["links", "--sideways"],
                                       ["frobnicate"], ["dump"], ["events", "-n", "x"]])
def test_wrong_usage_ends_with_2(pod, arguments):
    done = pod.fmctl(*arguments, check=False)
    assert done.returncode == 2 and done.stderr and done.stdout == ""


def test_dump_has_opensms_four_files(pod):
    folder = pod.dump("four")
    assert sorted(os.listdir(folder)) == ["opensm-lfts.dump", "opensm-subnet.lst", "opensm.fdbs", "opensm.mcfdbs"]
    assert (folder / "opensm-lfts.dump").read_text().count("Unicast lids") == 12
    assert (folder / "opensm.fdbs").read_text().count("dump_ucast_routes") == 12


def test_readback_finds_an_entry_changed_behind_fmd(start, pod_net):
    fabric = start(pod_net, sweep_interval=0, audit_rate=0)
    block = bytearray(fabric.get_smp("S-0002c90300000900", 0x19, 1))
    block[7] ^= 1
    fabric.set_smp("S-0002c90300000900", 0x19, 1, block)
    done = fabric.fmctl("--json", "check", "--readback", check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["differ"] == 1


def test_events_tell_the_story_in_order(pod):
    events = pod.ask("events", "-n", "1000")
    assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)
    assert any(event["kind"] == "up" and "12 switches, 256 HCAs" in event["text"] for event in events)
    assert len(pod.ask("events", "-n", "1")) == 1


def test_answer_is_whole_while_several_ask(pod):
    """32 askers at once get the same document."""
    import concurrent.futures as futures
    with futures.ThreadPoolExecutor(8) as pool:
        answers = [without(json.loads(text), FIRMWARE) for text in pool.map(lambda _: pod.fmctl("--json", "nodes").stdout, range(32))]
    assert all(answer == answers[0] for answer in answers) and len(answers[0]) == 280


# ---- Formats of the topology

def peers(fabric_or_ports):
    return {end: port["peer"] for end, port in fabric_or_ports.items() if port["peer"]}


def test_ibnetdiscover_format_is_read_by_plan_and_ibsim(pod, tmp_path):
    net = tmp_path / "again.net"
    net.write_text(pod.fmctl("topology", "--format", "ibnetdiscover").stdout)
    plan = pod.ask("plan", net)
    status = pod.status()
    assert [plan[key] for key in ("switches", "hcas", "links", "levels")] == [
        status[key] for key in ("switches", "hcas", "links", "levels")]
    assert plan["proof"]["reachable"] == status["proof"]["reachable"]
    again = Fabric(tmp_path, net)
    try:
        assert peers(again.simulated()) == peers(pod.simulated())
    finally:
        again.stop()


def test_file_of_ibnetdiscover_is_the_same_fabric(pod, tmp_path):
    net = tmp_path / "tool.net"
    net.write_text(pod.run("ibnetdiscover").stdout)
    plan = pod.ask("plan", net)
    assert (plan["switches"], plan["hcas"], plan["links"]) == (12, 256, 512)
    assert plan["proof"]["unreachable"] == 0


def test_json_format_is_one_document_with_everything(pod):
    document = json.loads(pod.fmctl("topology", "--format", "json").stdout)
    assert (len(document["nodes"]), len(document["links"]), len(document["hosts"])) == (280, 524, 32)
    assert document["nodes"] == without(pod.ask("nodes"), FIRMWARE)


def test_slurm_format_names_every_host_once(pod):
    text = pod.fmctl("topology", "--format", "slurm").stdout
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert lines and all(re.fullmatch(r"SwitchName=\S+ (Nodes|Switches)=\S+.*", line) for line in lines)
    assert "dgx-su01-[01-32]" in text


def test_dot_format_draws_every_switch(pod):
    text = pod.fmctl("topology", "--format", "dot").stdout
    assert re.match(r"(di)?graph ", text) and text.count("{") == text.count("}")
    for switch in pod.ask("switches"):
        assert f'"{switch["name"]}"' in text


def test_svg_format_is_well_formed(pod):
    picture = xml.fromstring(pod.fmctl("topology", "--format", "svg").stdout)
    assert picture.tag.endswith("svg")
    text = "".join(picture.itertext())
    assert all(switch["name"] in text for switch in pod.ask("switches"))


def test_lst_format_has_each_cable_at_both_ends(pod):
    lines = pod.fmctl("topology", "--format", "lst").stdout.splitlines()
    assert len(lines) == 1048
    assert all(line.startswith("{ ") and "LOG=ACT" in line for line in lines)
