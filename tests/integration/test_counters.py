# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What ports count and which links are busiest: on fmsim, which carries a load when it is told to."""
import os

import pytest

from fabric import poll

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
