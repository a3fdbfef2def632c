# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A dark fabric comes up: irregular ones, and a SuperPOD unit as people's tools see it."""
import pathlib
import re

import pytest

from fabric import FABRICS, NO_ROUTE, ROOT, aggregation_nodes

# What is like the world's is in the source; published fabrics are used where this machine has them.
WHOLE = [net for net in (ROOT / "tests" / "fabrics").glob("*.net") if net.stem != "broken_tree"]
IRREGULAR = [*sorted(WHOLE), *(pytest.param(net, marks=pytest.mark.long) for net in sorted(FABRICS.glob("*.net")))]
SM_HOST = "H-0002c90380000100"
FIVE_HOSTS = [SM_HOST, "H-0002c90380000400", "H-0002c90380006900", "H-0002c9038000b600", "H-0002c90380010000"]
STATUS_KEYS = {"state": str, "fabric_up": bool, "engine": str, "switches": int, "hcas": int, "links": int,
               "links_down": int, "lids": int, "sweep_ms": float, "route_ms": float, "program_ms": float,
               "lft_blocks_written": int, "smps_sent": int, "smps_timed_out": int, "proof": dict, "uptime_s": int,
               "rss_kb": int}


def cables(net):
    """Cables of a file: its port lines, each cable twice."""
    return len(re.findall(r'^\[\d+\](?:\([0-9a-f]+\))?\s+"', net.read_text(), re.M)) // 2


# ---- Irregular fabrics

@pytest.mark.parametrize("net", IRREGULAR, ids=lambda net: net.stem)
def test_irregular_fabric_comes_up_as_a_fat_tree(start, net):
    fabric = start(net)
    status = fabric.status()
    assert (status["engine"], status["fabric_up"]) == ("ftree", True)
    special = aggregation_nodes(net)
    assert (status["links"] + status["links_special"], status["links_down"]) == (cables(net), 0)
    assert status["aggregation_nodes"] == len(special)
    proof = status["proof"]
    assert (proof["unreachable"], proof["loops"], proof["credit_cycles"]) == (0, 0, 0)
    assert proof["reachable"] == status["hcas"] * (status["hcas"] - 1)
    assert fabric.dark_links() == {}
    assert status["hcas"] + len(special) == sum(1 for node in fabric.ask("nodes") if node["type"] == "ca")
    reached, pairs = fabric.pairs_reached()
    assert reached == pairs == proof["reachable"]
    assert fabric.ask("check", "--readback")["differ"] == 0


# ---- fmctl status

def test_status_has_every_field_of_the_contract(pod):
    status = pod.status()
    for key, kind in STATUS_KEYS.items():
        assert isinstance(status[key], kind), key
    assert status["last_fault"] is None
    assert {"reachable", "unreachable", "loops", "credit_cycles"} <= set(status["proof"])
    assert (status["switches"], status["hcas"], status["links"], status["lids"]) == (12, 256, 512, 280)
    assert (status["aggregation_nodes"], status["links_special"]) == (12, 12)
    assert status["rss_kb"] > 1000 and status["smps_sent"] > 512


# ---- A SuperPOD unit with people's tools

@pytest.mark.on_ibsim("a fabric comes up by SMPs of which a simulator that is not ours says that they are right")
def test_iblinkinfo_sees_every_link_active(pod):
    lines = [line for line in pod.run("iblinkinfo", "-l", "--switches-only").stdout.splitlines() if "==>" in line]
    up = [line for line in lines if "Active/" in line and "LinkUp" in line]
    assert len(up) == len(lines) == 8 * 65 + 4 * 65  # every port of every switch is cabled


def tracert(fabric, source, target):
    """(out port, GUID of the next node or its port, in port) a hop, by ibtracert."""
    said = fabric.run("ibtracert", source, target).stdout
    assert re.search(r"^To ca ", said, re.M), said
    return re.findall(r"^\[(\d+)\] -> \S+ port \{(0x[0-9a-f]+)\}\[(\d+)\]", said, re.M)


@pytest.mark.parametrize("source, target", [
    ("dgx-su01-01 mlx5_0", "dgx-su01-01 mlx5_3"), ("dgx-su01-13 mlx5_0", "dgx-su01-04 mlx5_5"),
    ("dgx-su01-32 mlx5_11", "dgx-su01-01 mlx5_0"), ("dgx-su01-20 mlx5_4", "dgx-su01-21 mlx5_4")])
def test_ibtracert_goes_where_fmctl_path_says(pod, source, target):
    nodes = {node["name"]: node for node in pod.ask("nodes")}
    hops = pod.ask("path", source, target)["hops"]
    told = [(str(a["out_port"]), b["guid"], str(b["in_port"])) for a, b in zip(hops, hops[1:])]
    went = tracert(pod, nodes[source]["lid"], nodes[target]["lid"])
    assert went[:-1] == told[:-1]
    assert (went[-1][0], went[-1][2]) == (told[-1][0], told[-1][2])
    assert hops[-1]["guid"] == nodes[target]["guid"]
    crosses = nodes[source]["rail"] != nodes[target]["rail"]
    assert [hop["role"] for hop in hops[1:-1]] == (["leaf", "spine", "leaf"] if crosses else ["leaf"])


@pytest.mark.parametrize("host", FIVE_HOSTS)
def test_saquery_answers_at_a_host(pod, host):
    nodes = {node["guid"]: node for node in pod.ask("nodes")}
    here = nodes["0x" + host[2:]]["lid"]
    there = nodes["0x0002c90380008300"]["lid"]

    def ask(*arguments):
        return pod.run("saquery", *arguments, host=host).stdout

    assert re.search(r"\bdlid\.+1$", ask("-p"), re.M)  # every path, as much of it as ibsim carries
    path = ask("--src-to-dst", f"{here}:{there}")
    assert re.search(rf"dlid\.+{there}$", path, re.M) and re.search(rf"slid\.+{here}$", path, re.M)
    assert "0x0002c90380008300" in ask("NR", str(there))
    info = ask("PIR", f"{there}/1")
    assert re.search(r"LinkState:\.+Active", info) and re.search(rf"\bLid:\.+{there}$", info, re.M)
    assert "ClassPortInfo" in ask("-c")


def test_saquery_needs_the_tables(start, pod_net):
    """What carries its packets is what fmd programmed: without an entry they do not arrive."""
    fabric = start(pod_net, SM_HOST, sweep_interval=0, audit_rate=0)
    leaf, host = "S-0002c90300000200", "H-0002c90380000a00"
    sm_lid = fabric.status()["sm_lid"]
    assert fabric.run("saquery", "-c", host=host).returncode == 0
    block = fabric.get_smp(leaf, 0x19, sm_lid // 64)
    spoilt = bytearray(block)
    spoilt[sm_lid % 64] = 255
    fabric.set_smp(leaf, 0x19, sm_lid // 64, spoilt)
    assert fabric.run("saquery", "-t", "200", "-c", host=host, check=False).returncode != 0
    fabric.set_smp(leaf, 0x19, sm_lid // 64, block)
    assert fabric.run("saquery", "-c", host=host).returncode == 0


def test_ibdmchk_finds_nothing_in_the_dump(pod, ibdmchk_report):
    """Judged by its words: 1.5.7 ends with a fault of its own on OpenSM's files as well."""
    folder = pod.dump()
    said = pod.run("ibdmchk", "-s", folder / "opensm-subnet.lst", "-f", folder / "opensm.fdbs",
                   "-m", folder / "opensm.mcfdbs", check=False).stdout
    assert "-I- Defined 280/280 systems/nodes" in said
    assert f"-I- Scanned:{268 * 267} CA to CA paths" in said
    assert "-I- no credit loops found" in said
    assert not re.search(r"^-[EF]-", said, re.M), said


def test_tables_of_the_dump_are_those_in_the_switches(pod):
    held = pod.simulated_tables()[1]
    text = (pod.dump() / "opensm-lfts.dump").read_text()
    for guid, entries in re.findall(r"guid 0x([0-9a-f]{16}) \(.*?\):\n(.*?)^\d+ lids dumped", text, re.M | re.S):
        told = {int(lid, 16): int(port) for lid, port in re.findall(r"^0x([0-9a-f]+) (\d+) #", entries, re.M)}
        assert len(told) >= 265  # from a spine no up/down path leads to the three others
        assert told == {lid: port for lid, port in held[f"S-{guid}"].items() if lid and port != NO_ROUTE}
