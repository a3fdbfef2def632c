# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""fmctl assess: nothing where nothing is wrong; else each defect with its device and port, by the master and by an observer of what another manager left."""
import re
import shutil

from fabric import until

LEAF, HCA = "leaf-su01-rail0", "dgx-su01-07 mlx5_3"


def test_nothing_is_found_in_an_intact_fabric(pod):
    report = pod.ask("assess")
    assert report["findings"] == [] and (report["critical"], report["warning"], report["notice"]) == (0, 0, 0)
    assert report["proof"] == pod.ask("check")["proof"]
    assert report["differ"]["entries"] == 0 and report["ebb"] == report["own"]["ebb"] and report["busiest"]["flows"] > 0
    assert "nothing was found" in pod.fmctl("assess").stdout
    assert pod.fmctl("assess", "--html", "--markdown", check=False).returncode == 2


def test_an_observer_reports_what_it_read_when_it_was_asked(start, pod_net):
    """One look: no second one is needed. Of a device that an M_Key of level 2 hides the port is named that leads there."""
    fabric = start(pod_net)
    links = [link for link in fabric.ask("links") if link["a"]["name"] == LEAF and link["b"] and link["b"]["name"].startswith("dgx")]
    guids = {node["name"]: node["guid"] for node in fabric.ask("nodes")}
    lid = next(node["lid"] for node in fabric.ask("nodes") if node["name"] == HCA)
    hidden, twice, other = links[3], links[4], links[5]
    fabric.stop_fmd()
    shutil.rmtree(fabric.state_dir)  # it was never met
    fabric.ibsim.tell(f'mkey "{hidden["b"]["name"]}" 0x99 2')
    fabric.write_conf(observe=True)
    fabric.start_fmd()
    fabric.wait(lambda s: s["state"] == "observing", "it observes")
    report = fabric.ask("assess")
    assert [(row["node_name"], row["port"], "level 2" in row["text"]) for row in report["findings"] if row["kind"] == "silent"] == [(LEAF, hidden["a"]["port"], True)]
    assert {row["kind"] for row in report["findings"]} <= {"silent", "tables"}, report["findings"]  # its LID is nobody's; one fault is one finding
    assert report["partitions"] == [{"pkey": "0x7fff", "full": len(guids) - report["switches"] - 1 - sum("Aggregation" in name for name in guids), "limited": 0}]
    fabric.ibsim.tell(f'entry "{LEAF}" {lid} 255')
    fabric.ibsim.tell(f'guid "{twice["b"]["name"]}" {guids[other["b"]["name"]]}')
    kinds = [row["kind"] for row in fabric.ask("assess")["findings"]]
    assert kinds.count("no-path") == 1 and kinds.count("guid-twice") == 1
    assert "0x7fff" in fabric.fmctl("assess").stdout and "## M_Keys, P_Keys, multicast" in fabric.fmctl("assess", "--markdown").stdout


def is_brought_up(fabric, port):
    link = next(link for link in fabric.ask("links") if (link["a"]["name"], link["a"]["port"]) == (LEAF, port))
    assert (link["speed"], link["state"]) == ("EDR", "Active")


def test_an_observer_names_what_is_wrong_with_device_and_port(start, pod_net):
    fabric = start(pod_net)
    links = [link for link in fabric.ask("links") if link["a"]["name"] == LEAF and link["b"] and link["b"]["name"].startswith("dgx")]
    lid = next(node["lid"] for node in fabric.ask("nodes") if node["name"] == HCA)
    down, slow, renamed = links[3]["a"]["port"], links[4]["a"]["port"], links[3]["b"]["name"]
    fabric.ibsim.tell(f'train "{LEAF}":{slow} EDR')
    until(lambda: is_brought_up(fabric, slow))
    fabric.stop_fmd()
    fabric.ibsim.tell(f'unlink "{LEAF}":{down}')
    fabric.ibsim.tell(f'link "{LEAF}":{down}')  # nobody brings it up
    fabric.ibsim.tell(f'entry "{LEAF}" {lid} 255')
    fabric.ibsim.tell(f'rename "{renamed}" "<script>alert(1)</script> mlx5_0"')
    fabric.write_conf(observe=True)
    fabric.start_fmd()
    fabric.wait(lambda s: s["state"] == "observing", "it observes")

    def found():
        rows = fabric.ask("assess")["findings"]
        assert any(row["kind"] == "port-state" and row["port"] == down for row in rows), rows
        assert any(row["kind"] in ("slow", "cabling") and row["port"] == slow for row in rows), rows
        assert any(row["kind"] == "no-path" and f"LID {lid} ({HCA})" in row["text"] for row in rows), rows
        assert all(row["node_name"] == LEAF for row in rows), rows
        assert [row["severity"] for row in rows] == sorted((row["severity"] for row in rows), key=["critical", "warning", "notice"].index)

    found()
    html, markdown = fabric.fmctl("assess", "--html").stdout, fabric.fmctl("assess", "--markdown").stdout
    assert html.startswith("<!DOCTYPE html>") and html.count("<svg") == 1 and "<script" not in html and f"LID {lid}" in html
    assert "- &lt;script&gt;alert(1)" in html and "- \\<script>alert(1)" in markdown, markdown
    assert re.search(r"^- \*\*critical\*\* \(no-path\): .*leaf-su01-rail0", markdown, re.M)
    assert fabric.status()["mads_refused"] == 0
