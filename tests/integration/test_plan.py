# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""fmctl plan as its users call it: the document's keys, pictures, storage, and tables that others made."""
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest

from fabric import program

sys.path.append(str(pathlib.Path(__file__).parents[1] / "lib"))
import far_judge

SVG = "{http://www.w3.org/2000/svg}"


def fmctl(*words, code=0):
    done = subprocess.run([program("fmctl"), *map(str, words)], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    return done


def plan(*words):
    return json.loads(fmctl("--json", "plan", *words).stdout)


def a_leaf(net):
    """(node name, a port that leads to a switch)"""
    leaf = None
    for line in open(net):
        if line.startswith("Switch"):
            leaf = line.split('"')[1]
        elif leaf and line.startswith("[") and '"S-' in line:
            return leaf, int(line[1:line.index("]")])
    raise AssertionError("no link between switches")


def test_document_has_the_keys_of_the_contract(pod_net):
    leaf, port = a_leaf(pod_net)
    document = plan(pod_net, "--fail", f"{leaf}:{port}", "--repeat", 3)
    assert {"switches", "hcas", "links", "levels", "engine", "route_ms", "route_ms_all", "check_ms", "lft_bytes",
            "proof", "congestion", "delta"} <= document.keys()
    assert len(document["route_ms_all"]) == 3
    assert {"shift_max", "rail_shift_max", "random_max", "storage_max", "all_to_all_ratio"} <= \
        document["congestion"].keys()
    assert document["delta"].keys() == {"entries", "entries_minimum", "blocks", "switches"}
    bins = document["tiers"][0]["up"]
    assert sum(bins["bins"]) == bins["channels"] == document["tiers"][0]["down"]["channels"]
    assert len(bins["bins"]) == len(document["tier_edges"]) + 1


def test_path_bits_of_the_configuration_raise_the_bandwidth_of_random_pairs(pod_net, tmp_path):
    found = []
    for lmc in 0, 3:
        config = tmp_path / "fmd.conf"
        config.write_text(f"lmc = {lmc}\n")
        document = plan(pod_net, "--config", config)
        assert document["lmc"] == lmc and document["proof"]["unreachable"] == 0
        assert document["ebb"].keys() == {"bisection", "job", "storage"}
        found.append(document["ebb"]["bisection"])
    one, eight = found
    assert one["slowest_tenth"] < one["mean"] < 0.8 < eight["mean"] <= 1
    assert eight["worst_link"] < one["worst_link"] and eight["slowest_tenth"] > one["slowest_tenth"]


def test_a_host_without_p2p_is_planned_by_rates_and_moves_nothing(pod_net, tmp_path):
    host = "dgx-su01-05"
    document = plan(pod_net, "--nvswitch", f"{host}=NO_P2P")
    row = document["nvswitch"][0]
    assert document["delta"]["entries"] == 0 and (row["host"], row["class"], row["was"]) == (host, "unchanged", "HEALTHY")
    assert row["cross_rail"]["rate"] == row["cross_rail_before"]["rate"] == row["cross_rail"]["rate_of"] == 8
    assert row["cross_rail"]["others_rate"] <= row["cross_rail"]["others_alone"]
    assert "its cross-rail traffic 8.00 now, 8.00 then" in fmctl("plan", pod_net, "--nvswitch", f"{host}=NO_P2P").stdout
    assert "no host moon" in fmctl("plan", pod_net, "--nvswitch", "moon=FATAL", code=1).stderr
    conf = tmp_path / "fmd.conf"
    conf.write_text('nvswitch_no_p2p_class = "crossrail";\nnvswitch_fatal_weight = 0;\n')  # keys of before are no error
    assert plan(pod_net, "--config", conf, "--nvswitch", f"{host}=NO_P2P")["delta"]["entries"] == 0
    conf.write_text("port = 1;\nnvswitch_guard = 101;\n")
    assert f"{conf}:2: " in fmctl("plan", pod_net, "--config", conf, code=1).stderr


ALL_BUT = "lost        32 HCAs lost: 32 hosts keep 7 of 8 HCAs (dgx-su01-[01-32])"


@pytest.mark.parametrize("fails, line, hcas, cut_off, degraded", [
    (["leaf-su01-rail2"], ALL_BUT, 32, 0, 32),
    (["spine-01"], "lost        no HCA lost; 8 switches keep 3 of 4 spines (leaf-su01-rail[0-7])", 0, 0, 0),
    (["leaf-su01-rail2:3"], "lost        1 HCA lost: 1 host keeps 7 of 8 HCAs (dgx-su01-03)", 1, 0, 1),
    (["dgx-su01-07"], "lost        8 HCAs lost: 1 host cut off (dgx-su01-07)", 8, 1, 0),
    (["spine-01", "leaf-su01-rail2", "dgx-su01-32", "leaf-su01-rail0:33"],
     "lost        39 HCAs lost: 1 host cut off (dgx-su01-32), 31 hosts keep 7 of 8 HCAs (dgx-su01-[01-31]); "
     "7 switches keep 3 of 4 spines (leaf-su01-rail[0-1,3-7])", 39, 1, 31),
    ([f"spine-0{n}" for n in range(1, 5)], "lost        224 HCAs lost: 32 hosts keep 1 of 8 HCAs (dgx-su01-[01-32])", 224, 0, 32)])
def test_who_loses_what_comes_first_and_decides_with_check(pod_net, fails, line, hcas, cut_off, degraded):
    words = [pod_net, *(word for what in fails for word in ("--fail", what))]
    assert fmctl("plan", *words).stdout.splitlines()[0] == line
    assert fmctl("plan", "--check", *words, code=int(hcas > 0)).stdout.splitlines()[0] == line
    lost = json.loads(fmctl("--json", "plan", "--check", *words, code=int(hcas > 0)).stdout)["lost"]
    assert [len(lost[key]) for key in ("hcas", "hosts_cut_off", "hosts_degraded")] == [hcas, cut_off, degraded]
    assert line.endswith(lost["text"])


def test_without_a_failure_nobody_is_asked_about(pod_net):
    assert "lost" not in plan(pod_net, "--check") and not fmctl("plan", pod_net).stdout.startswith("lost")


def test_others_tables_lose_the_same(pod_net, tmp_path):
    dump = tmp_path / "opensm-lfts.dump"
    fmctl("plan", pod_net, "--lfts", dump)
    done = fmctl("plan", pod_net, "--tables", dump, "--fail", "leaf-su01-rail2", "--check", code=1)
    assert done.stdout.splitlines()[0] == ALL_BUT


def test_rebalancing_moves_entries_for_less_load_and_none_of_a_whole_fabric(pod_net):
    leaf, port = a_leaf(pod_net)
    document = plan(pod_net, "--fail", f"{leaf}:{port}", "--rebalance")
    moved = document["rebalance"]
    assert moved["entries"] > 0 and moved["after"] == document["congestion"]
    assert moved["after"]["all_to_all_ratio"] < moved["before"]["all_to_all_ratio"]
    assert document["proof"]["unreachable"] == document["proof"]["credit_cycles"] == 0
    assert plan(pod_net, "--fail", f"{leaf}:{port}", "--rebalance=3")["rebalance"]["entries"] <= 3
    assert plan(pod_net, "--rebalance")["rebalance"]["entries"] == 0
    assert "rebalance   " in fmctl("plan", pod_net, "--fail", leaf, "--rebalance").stdout


def test_heatmap_has_a_cell_for_each_cabled_pair(pod_net, tmp_path):
    leaf, _ = a_leaf(pod_net)
    picture = tmp_path / "heat.svg"
    fmctl("plan", pod_net, "--fail", leaf, "--heatmap", picture)
    root = xml.parse(picture).getroot()
    cells = [rect for rect in root.iter(SVG + "rect") if rect.find(SVG + "title") is not None]
    assert len(cells) == 8 * 4
    assert sum(cell.get("fill") == "url(#dead)" for cell in cells) == 4
    words = " ".join(text.text for text in root.iter(SVG + "text"))
    assert "leaf x spine" in words and "of the mean" in words


def test_heatmap_in_characters_has_a_line_for_each_leaf(pod_net):
    lines = fmctl("plan", pod_net, "--heatmap", "-").stdout.splitlines()
    assert sum(line.endswith(" 4444") for line in lines) == 8


def test_tables_read_back_measure_the_same(pod_net, tmp_path):
    dump = tmp_path / "opensm-lfts.dump"
    ours = plan(pod_net, "--lfts", dump)
    theirs = plan(pod_net, "--tables", dump)
    assert theirs["engine"] == "tables" and theirs["switches_without_table"] == 0
    assert theirs["congestion"] == ours["congestion"] and theirs["proof"] == ours["proof"]


def test_tables_of_another_fabric_are_refused_by_line(pod_net, tmp_path):
    dump = tmp_path / "opensm-lfts.dump"
    fmctl("plan", pod_net, "--lfts", dump)
    text = dump.read_text().splitlines(True)
    text[0] = text[0].replace("guid 0x", "guid 0xf")
    dump.write_text("".join(text))
    assert f"{dump}:1: " in fmctl("plan", pod_net, "--tables", dump, code=1).stderr


def test_storage_is_named_by_pattern(pod_net):
    name = next(line.split('"')[3] for line in open(pod_net) if line.startswith("Ca"))
    assert plan(pod_net)["congestion"]["storage_ports"] == 8
    host, device = name.split()
    assert plan(pod_net, "--storage", f"{host}?{device}")["congestion"]["storage_ports"] == 1
    assert plan(pod_net, "--storage", f"nobody {host}")["congestion"]["storage_ports"] == 8
    assert "no such node" in fmctl("plan", pod_net, "--storage", "nobody-*", code=1).stderr


@pytest.mark.parametrize("words", [["--tables", "x", "--engine", "ftree"], ["--repeat", "0"], ["--rebalance=0"], ["--rebalance=100001"],
                                   ["--rebalance=x"], ["--heatmap"], ["--nvswitch", "moon"], ["--nvswitch", "dgx-su01-01=MOON"]])
def test_wrong_options_are_refused(pod_net, words):
    assert fmctl("plan", pod_net, *words, code=2).stderr


@pytest.mark.parametrize("words", [["--tables", "/nonexistent"], ["--config", "/nonexistent"], ["--fail", "moon"]])
def test_what_is_not_there_is_no_wrong_usage(pod_net, words):
    assert words[1] in fmctl("plan", pod_net, *words, code=1).stderr


def test_two_answers_do_not_share_standard_output(pod_net):
    fmctl("--json", "plan", pod_net, "--heatmap", "-", code=2)


@pytest.mark.parametrize("shape", [["torus", "4,4"], ["dragonfly+", "5,2,2,2"], ["hypercube", "4"]])
def test_what_is_no_tree_is_planned_by_its_own_engine(shape, tmp_path):
    net = tmp_path / "shape.net"
    net.write_text(fmctl("generate", *shape).stdout)
    document = plan(net)
    assert document["engine"] == "updn-root" and "are not a tree" in document["engine_why"]
    assert document["proof"]["unreachable"] == document["proof"]["credit_cycles"] == 0
    assert "are not a tree" in fmctl("plan", net).stdout
    assert plan(net, "--engine", "updn")["engine"] == "updn"
    asked = plan(net, "--engine", "updn-root")
    assert asked["engine"] == "updn-root" and "engine_why" not in asked
    leaf, port = a_leaf(net)
    cut = plan(net, "--fail", f"{leaf}:{port}")
    assert cut["engine_why"] == document["engine_why"]  # by known cables, dead ones too
    assert cut["delta"]["entries_minimum"] <= cut["delta"]["entries"] < 3 * cut["delta"]["entries_minimum"]


def test_a_tree_that_leaves_pairs_open_says_so_and_what_it_costs():
    document = plan("tests/fabrics/broken_tree.net")
    assert document["engine"] == "updn-root" and document["proof"]["unreachable"] == 0
    assert re.search(r"leaves 1 pair of leaves without a path, first .leaf-0001. to .leaf-0004.; "
                     r"\d+ flows on the busiest link instead of the tree's \d+, [0-9.]+ links on a path", document["engine_why"])


def test_pairs_without_a_path_end_with_failure(pod_net, tmp_path):
    dump = tmp_path / "opensm-lfts.dump"
    fmctl("plan", pod_net, "--lfts", dump)
    lines = dump.read_text().splitlines(True)
    gap = next(i for i, line in enumerate(lines) if "Channel Adapter" in line)
    dump.write_text("".join(lines[:gap] + lines[gap + 1:]))
    done = fmctl("--json", "plan", pod_net, "--tables", dump, code=1)
    assert json.loads(done.stdout)["proof"]["unreachable"] > 0
    assert "have no path" in done.stderr


# ---- Adaptive routing ---------------------------------------------------------------------------------------------------------------


def test_groups_are_planned_written_and_read_as_another_managers(pod_net, tmp_path):
    far = tmp_path / "ibdiagnet2.far"
    own = plan(pod_net, "--write-far", far)["adaptive"]
    assert own["sound"] and own["proof"]["first"] == "" and own["groups_most"] > 0
    assert own["ebb"]["bisection"]["mean"] > 0.99
    read = plan(pod_net, "--far", far)["far"]
    assert read["sound"] and read["entries"] > 0 and read["ports_differ"] == read["members_differ"] == 0
    assert read["ebb"] == own["ebb"]

    text = far.read_text()
    ports = re.search(r"^0 +0 +0 +((\d+),.*,(\d+),)$", text, re.M)
    entry = re.search(rf"^(0x\w+ +)({ports[2]}|{ports[3]})( +Free .*)$", text, re.M)
    other = ports[3] if entry[2] == ports[2] else ports[2]
    far.write_text(text.replace(entry[0], entry[1] + other + entry[3], 1))
    read = plan(pod_net, "--far", far)["far"]
    assert read["sound"] and (read["ports_differ"], read["members_differ"]) == (1, 0)

    far.write_text(text.replace(ports[1], "1," + ports[1], 1))  # a port to a host
    read = plan(pod_net, "--far", far)["far"]
    assert not read["sound"] and "a port without a live link: 1" in read["proof"]["first"] and read["members_differ"] > 0

    far.write_text(text.replace("Switch 0x", "Switch 0x9", 1))
    done = fmctl("plan", pod_net, "--far", far, code=1)
    assert f"{far}:3: the fabric has no such switch" in done.stderr


# ---- Another judge (tests/lib/far_judge.py) ------------------------------------------------------

@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A superpod, what is planned of its adaptive routing, and whose LIDs are which."""
    net, far, lfts = (tmp_path_factory.mktemp("judge") / name for name in ("net", "far", "lfts"))
    net.write_text(fmctl("generate", "superpod", "--su", 2).stdout)
    plan(net, "--write-far", far, "--lfts", lfts)
    return net, far.read_text(), lfts


def judged(planned, tmp_path, change=lambda text: text):
    net, text, lfts = planned
    far = tmp_path / "far"
    far.write_text(change(text))
    return far_judge.judge(net, far, lfts)


def of_switch(text, name):
    """The switch's part of the text: (what is before, it, what follows)."""
    start = text.index(f" {name}\n")
    end = text.find("\nSwitch", start)
    return text[:start], text[start:end], text[end:]


def in_switch(name, pattern, new):
    """A change of the first line of that switch that matches."""
    def change(text):
        before, part, after = of_switch(text, name)
        changed, count = re.subn(pattern, new, part, count=1, flags=re.M)
        assert count == 1
        return before + changed + after
    return change


def test_another_judge_finds_nothing_in_what_is_planned(planned, tmp_path):
    verdict = judged(planned, tmp_path)
    assert verdict.sound and verdict.first is None
    leaves, hcas = 16, 512
    assert verdict.pairs == leaves * hcas
    assert verdict.free > hcas and verdict.groups > leaves


@pytest.mark.parametrize("key, name, pattern, new", [
    ("thin", "leaf-su01-rail0", r"^(0 +0 +0 +)\d+,.*", r"\g<1>33,"),
    ("bad", "leaf-su01-rail0", r"^(0 +0 +0 +)", r"\g<1>1,"),
    ("lost", "leaf-su01-rail0", r"^0x\w+  \d+ +Free .*\n", ""),
    ("strangers", "leaf-su01-rail0", r"^(0x\w+  )1( +Static)", r"\g<1>2\2"),
    ("cycles", "spine-01", r"^(\d+ +0 +0 +)(?=[2-9])", r"\g<1>1,"),
], ids=("thin", "bad", "lost", "strangers", "cycles"))
def test_another_judge_finds_what_was_planted(planned, tmp_path, key, name, pattern, new):
    verdict = judged(planned, tmp_path, in_switch(name, pattern, new))
    assert getattr(verdict, key) > 0 and not verdict.sound and verdict.first
    if key == "cycles":
        assert verdict.loops > 0
