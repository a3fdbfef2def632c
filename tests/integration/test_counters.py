# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What ports count and which links are busiest: on fmsim, which carries a load when it is told to."""
import json
import os
import re
import subprocess

import pytest

from fabric import poll, program

LEAF, ID = "leaf-su01-rail0", "S-0002c90300000100"

pytestmark = pytest.mark.skipif(os.environ.get("RIG", "fmsim") != "fmsim", reason="ibsim's ports carry nothing")


def test_the_busiest_links_and_those_with_errors_are_told(start, pod_net):
    fabric = start(pod_net, perf_interval=1)
    fabric.ibsim.tell("load shift 5 70%")
    poll(lambda: (doc := fabric.ask("top", "-n", "3"))["known"] == doc["links"] == 512 and len(doc["hottest"]) == 3
         and all(row["load_percent"] > 60 for row in doc["hottest"]), "three links are hot, and all are known")
    fabric.ibsim.tell(f"count {ID}:34 symbol_errors 5000")
    errors = poll(lambda: fabric.ask("top", "--leaf", LEAF)["errors"], "errors are told")
    assert (errors[0]["from"]["name"], errors[0]["from"]["port"]) in ((LEAF, 34), ("spine-01", 2))
    assert fabric.ask("top", "--leaf", "leaf-su01-rail5")["errors"] == []
    shown = fabric.fmctl("top").stdout
    assert "LOAD %" in shown and shown.startswith("512 links are up")


def test_counters_are_those_of_the_ports_that_are_asked_for(start, pod_net):
    fabric = start(pod_net, perf_interval=1)
    fabric.ibsim.tell(f"count {ID}:33 symbol_errors 77")
    ends = poll(lambda: (rows := fabric.ask("counters", f"{LEAF}:33")) and rows[0].get("values", {}).get("symbol_errors") and rows, "errors are read")
    assert [row["name"] for row in ends] == [LEAF, "spine-01"]
    assert ends[0]["values"]["symbol_errors"] == 77 and "rates" not in ends[0]
    poll(lambda: all(row.get("load_percent") is not None for row in fabric.ask("counters", "dgx-su01-05", "--rates")), "rates are known")
    assert len(fabric.ask("counters", "dgx-su01-05")) == 8
    assert "SYMBOL" in fabric.fmctl("counters", f"{LEAF}:33").stdout and "LOAD %" in fabric.fmctl("counters", LEAF, "--rates").stdout
    assert fabric.fmctl("counters", "moon", check=False).returncode == 1


# Gb/s of data on one lane: with 8b/10b four fifths of the kernel's `rate`, of FDR 64 of 66 parts; of the others `rate` is the data rate. fmsim has no FDR10.
DATA = {"SDR": 2, "DDR": 4, "QDR": 8, "FDR": 14.0625 * 64 / 66, "EDR": 25, "HDR": 50, "NDR": 100, "XDR": 200}
SYSFS = {**DATA, "SDR": 2.5, "DDR": 5, "QDR": 10, "FDR": 14}


def test_a_full_link_has_a_load_of_100_percent_at_every_speed_and_width(start, tmp_path):
    kinds = [(speed, lanes) for speed in DATA for lanes in (1, 2, 4, 8, 12)]
    text = subprocess.run([program("fmctl"), "generate", "pgft", "2", "40,3", "1,1", "1,1"], check=True, capture_output=True, text=True).stdout

    def ports(found):
        """Of two hosts each the ports have the width of one kind."""
        kind = (int(found[1]) - 1) // 2
        return found[0].replace("4xNDR", f"{kinds[kind][1]}xXDR") if kind < len(kinds) else found[0]

    net = tmp_path / "pairs.net"
    text = re.sub(r'# "node-(\d+) HCA-1" lid .*', ports, text)
    net.write_text(re.sub(r'# "node-(\d+) HCA-1"\n(?:.+\n)+', ports, text))
    fabric = start(net, perf_interval=4)
    hosts = {node["name"]: node for node in fabric.ask("nodes") if node["role"] == "host"}
    pairs = {kind: [hosts[f"node-{2 * at + end:04} HCA-1"] for end in (1, 2)] for at, kind in enumerate(kinds)}
    for (speed, lanes), ends in pairs.items():
        for end in ends:
            fabric.ibsim.tell(f'train "{end["name"]}":1 {speed} {lanes}')
    for one, other in pairs.values():
        fabric.ibsim.tell(f'load pair "{one["name"]}":1 "{other["name"]}":1 100%')

    def loads():
        done = fabric.fmctl("--json", "counters", "--rates", check=False)  # the own port trains too: fmd begins anew
        return not done.returncode and {row["name"]: row for row in json.loads(done.stdout) if row["port"] == 1}

    rows = poll(lambda: (rows := loads()) and all((rows.get(one["name"], {}).get("load_percent") or 0) >= 99 for one, _ in pairs.values()) and rows, "all links are full")
    for (speed, lanes), (one, other) in pairs.items():
        row = rows[one["name"]]
        assert (row["speed"], row["width"]) == (speed, lanes) and abs(row["load_percent"] - 100) <= 1, row
        assert abs(row["xmit_gbps"] - DATA[speed] * lanes) <= DATA[speed] * lanes / 100, row
        assert abs(fabric.ask("show", f"{one['name']}:1")["link_gbps"] - DATA[speed] * lanes) < 0.01 * lanes
        rate = re.search(r"Rate: (\d+)", fabric.run("ibstat", host=f"H-{one['guid'][2:]}").stdout)
        assert int(rate[1]) == int(SYSFS[speed] * lanes), (speed, lanes)


def test_cables_have_their_serial_numbers_and_the_hottest_comes_first(start, pod_net):
    fabric = start(pod_net)
    fabric.ibsim.tell(f"cable {ID}:33 SN0001 MCP7H00")
    fabric.ibsim.tell(f"heat {ID}:34 81")
    fabric.ibsim.tell(f"firmware {ID} 31.2099.7")
    fabric.ibsim.tell(f"count {ID}:33 uncorrected_blocks 7")
    ends = poll(lambda: len(rows := fabric.ask("cables", f"{LEAF}:33")) == 2 and rows, "both ends of a link are read")
    assert [(row["name"], row["serial"], row["part"], row["flaps"]) for row in ends] == [(LEAF, "SN0001", "MCP7H00", 0), ("spine-01", "SN0001", "MCP7H00", 0)]
    poll(lambda: any(alert["what"] == "modules-hot" and f"{LEAF} p34 at 81 C, limit 75 C" in alert["text"] for alert in fabric.status()["alerts"]),
         "a module above its limit is an alert")
    hottest = fabric.fmctl("cables", LEAF, "--sort", "-temperature").stdout.splitlines()
    assert hottest[1].split()[:2] == [LEAF, "34"]
    lines = fabric.fmctl("cables", f"{LEAF}:33", "--csv").stdout.splitlines()
    assert lines[0].startswith("name,port,to.name,to.port,kind,length_m,vendor,part,serial,") and len(lines) == 3
    assert lines[1].split(",")[:4] == [LEAF, "33", "spine-01", lines[2].split(",")[1]] and lines[1].split(",")[7:9] == ["MCP7H00", "SN0001"]
    assert fabric.fmctl("status", "--csv", check=False).returncode == 2
    shown = fabric.ask("show", f"{LEAF}:33")["modules"]
    assert [(row["serial"], row["limit_c"]) for row in shown] == [("SN0001", 75.0)] * 2
    read = fabric.fmctl("show", f"{LEAF}:33", "--read").stdout
    assert re.search(rf"^{LEAF} +33 +\d\.\de-\d+ +\d\.\de-\d+ +\S+ +7 ", read, re.M), read  # of them 7 behind error correction
    assert re.search(r"^ *SYMBOLS +HERE +THERE$", read, re.M) and not fabric.ask("show", f"{LEAF}:35")["fec_histogram"], read
    spines = poll(lambda: (rows := [row["firmware"] for row in fabric.ask("nodes") if row["role"] in ("leaf", "spine")]) and all(rows) and rows, "all switches report their firmware")
    assert spines.count("31.2099.0007") == 1 and len(set(spines)) == 2
    assert re.search(rf"^{LEAF} +31\.2099\.0007$", fabric.fmctl("nodes", "--columns", "name,FIRMWARE").stdout, re.M)
    assert fabric.fmctl("nodes", LEAF, "--columns", "firmware,name", "--csv").stdout == f"firmware,name\n31.2099.0007,{LEAF}\n"
    for words, why in (("nodes --columns moon", "unknown column moon"), ("status --columns name", "no table"), ("nodes --json --columns name", "--json")):
        refused = fabric.fmctl(*words.split(), check=False)
        assert refused.returncode == 2 and why in refused.stderr, refused
    assert [(row["node_name"], "31.2099.0007" in row["text"]) for row in fabric.ask("assess")["findings"] if row["kind"] == "firmware"] == [(LEAF, True)]
    fabric.ibsim.tell(f"unlink {ID}:33")
    fabric.wait(lambda s: s["links_down"] == 1, "its link went down")
    fabric.ibsim.tell(f"link {ID}:33")
    fabric.wait_up(lambda s: not s["links_down"], "its link is up again")
    assert [row["flaps"] for row in fabric.ask("cables", f"{LEAF}:33")] == [1, 1]
    assert "SN0001: 1 times on 2 ports" in fabric.fmctl("show", f"{LEAF}:33").stdout


def test_a_port_whose_last_hour_is_asked_for_is_read_every_ten_seconds(start, pod_net):
    fabric = start(pod_net, perf_interval=3600)
    fabric.ibsim.tell("load shift 5 70%")
    fabric.fmctl("health", "--read")
    port, other = "leaf-su01-rail5:13", "leaf-su01-rail6:13"
    rows = poll(lambda: [row for row in fabric.ask("history", port, "--step", "10")["rows"] if row["sent_percent"]][1:], "two readings beside that pass have a rate")
    assert rows[0]["sent_percent"] > 60
    assert not [row for row in fabric.ask("history", other)["rows"] if row["sent_percent"]]


def test_history_of_a_port_is_kept_over_a_restart(start, pod_net):
    fabric = start(pod_net, perf_interval=1)
    fabric.ibsim.tell("load shift 5 70%")
    port = "leaf-su01-rail5:13"
    poll(lambda: any((row["sent_percent"] or 0) > 60 for row in fabric.ask("history", port, "--step", "10")["rows"]), "its load is a row of the last hour")
    fabric.ibsim.tell(f"count {ID}:34 symbol_errors 5000")
    poll(lambda: any((row["sent_percent"] or 0) > 30 for row in fabric.ask("history", port, "--step", "10")["rows"]), "its load is a row of the last hour")
    poll(lambda: fabric.ask("counters", f"{LEAF}:34")[0]["values"]["symbol_errors"] == 5000, "errors are read")
    passes = fabric.ask("history", port, "--step", "1")["rows"]
    poll(lambda: fabric.ask("history", port, "--step", "1")["rows"] != passes, "the pass that read them has ended")
    fabric.stop_fmd()
    fabric.start_fmd()
    fabric.wait_up()
    rows = poll(lambda: fabric.ask("history", port)["rows"], "the row that had begun is kept")
    assert rows[0]["sent_most_percent"] > 20 and rows[0]["received_percent"] is not None and rows[0]["sent_plot"].startswith("####")
    assert any("symbol_errors +" in row["changes"] for row in fabric.ask("history", f"{LEAF}:34")["rows"])
    assert "SENT %" in fabric.fmctl("history", port).stdout
    refused = fabric.fmctl("history", LEAF, check=False)
    assert refused.returncode == 1 and "name one of them" in refused.stderr
