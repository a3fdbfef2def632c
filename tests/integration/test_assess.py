# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""fmctl assess: nothing where nothing is wrong; else each defect with its device and port, by the master and by an observer of what another manager left."""
import re

from fabric import until

LEAF, HCA = "leaf-su01-rail0", "dgx-su01-07 mlx5_3"


def test_nothing_is_found_in_an_intact_fabric(pod):
    report = pod.ask("assess")
    assert report["findings"] == [] and (report["critical"], report["warning"], report["notice"]) == (0, 0, 0)
    assert report["proof"] == pod.ask("check")["proof"]
    assert report["differ"]["entries"] == 0 and report["ebb"] == report["own"]["ebb"] and report["busiest"]["flows"] > 0
    assert "nothing was found" in pod.fmctl("assess").stdout
    assert pod.fmctl("assess", "--html", "--markdown", check=False).returncode == 2


def is_brought_up(fabric, port):
    link = next(link for link in fabric.ask("links") if (link["a"]["name"], link["a"]["port"]) == (LEAF, port))
    assert (link["speed"], link["state"]) == ("EDR", "Active")


def test_an_observer_names_what_is_wrong_with_device_and_port(start, pod_net):
    fabric = start(pod_net)
    links = [link for link in fabric.ask("links") if link["a"]["name"] == LEAF and link["b"] and link["b"]["name"].startswith("dgx")]
    lid = next(node["lid"] for node in fabric.ask("nodes") if node["name"] == HCA)
    down, slow, renamed = links[3]["a"]["port"], links[4]["a"]["port"], links[5]["b"]["name"]
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

    until(found)
    html, markdown = fabric.fmctl("assess", "--html").stdout, fabric.fmctl("assess", "--markdown").stdout
    assert html.startswith("<!DOCTYPE html>") and html.count("<svg") == 1 and "<script" not in html and f"LID {lid}" in html
    assert re.search(r"^- \*\*critical\*\* \(no-path\): .*leaf-su01-rail0", markdown, re.M)
    assert fabric.status()["mads_refused"] == 0
