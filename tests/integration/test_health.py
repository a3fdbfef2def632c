# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Sick cables: counters are read from the simulator's ports, judged, shown and acted upon; never cleared."""
import pytest

SM_HOST = "H-0002c90380000100"
LEAF, PORT = "S-0002c90300000300", 40  # to a spine
NAME = "leaf-su01-rail2"


def errors(fabric, count, field="PortCounters.SymbolErrorCounter"):
    fabric.console(f'PerformanceSet "{LEAF}"[{PORT}] {field}={count}')


def fall_ill(fabric):
    """More errors in each pass until the port is sick."""
    count = 0

    def sick(_):
        nonlocal count
        count = min(count + 500, 60000)
        errors(fabric, count)
        fabric.ask("health", "--read")
        return fabric.status()["health"]["sick"] == 1

    fabric.wait(sick, "the port is sick")
    return count


@pytest.mark.long
def test_all_ports_are_read_at_two_packets_each(start, pod_net):
    fabric = start(pod_net, SM_HOST, rig="ibsim", sweep_interval=0, audit_rate=0)  # whose agents count errors in PortCounters alone, and data in 64 bits too
    fabric.ask("health", "--read")
    before = fabric.status()["smps_sent"]
    health = fabric.ask("health", "--read")
    assert (health["ports_read"], health["silent"]) == (1048, 0)
    assert health["pass_mads"] == 2 * 1048  # what agents can do was asked the first time
    assert health["links"] == [] and fabric.status()["smps_sent"] - before < 20


def test_sick_cable_is_told_shown_and_avoided(start, pod_net):
    fabric = start(pod_net, SM_HOST)
    before = fabric.tables()
    fall_ill(fabric)
    fabric.wait_up(lambda s: s["links_quarantined"] == 1, "it is in quarantine")
    fabric.wait_up(lambda s: "symbol errors a minute" in fabric.ask("links", "--sick")[0]["why"], "it is judged by its rate too")
    row, = fabric.ask("links", "--sick")
    assert row["sick"] == "quarantined" and row["quarantined"]  # what is done about it; why says all that is known
    assert (row["a"]["name"], row["a"]["port"]) == (NAME, PORT) or (row["b"]["name"], row["b"]["port"]) == (NAME, PORT)
    assert "symbol errors a minute" in row["why"] and row["counters"]["values"]["symbol_errors"] > 0
    kinds = [event["kind"] for event in fabric.ask("events", "-n", "50")]
    assert "link-warn" in kinds and "link-sick" in kinds
    assert fabric.pairs_reached() == (256 * 255, 256 * 255)
    uses = [port for port in fabric.simulated_tables()[1][LEAF].values() if port == PORT]
    assert len(uses) <= 1  # the spine's own LID, perhaps
    fabric.fmctl("release", f"{NAME}:{PORT}")
    assert fabric.tables() == before
    assert "sick" in fabric.fmctl("health").stdout


def test_counters_of_others_are_not_cleared(start, pod_net):
    fabric = start(pod_net, SM_HOST, health_action="warn")
    count = fall_ill(fabric)
    lid = fabric.lids()["0x" + LEAF[2:]]
    said = fabric.run("perfquery", str(lid), str(PORT)).stdout
    assert f"SymbolErrorCounter:..............{count}" in said.replace(" ", "")
    assert fabric.status()["links_quarantined"] == 0


@pytest.mark.parametrize("arguments", [["health", "--write"]])
def test_usage_is_said(pod, arguments):
    assert pod.fmctl(*arguments, check=False).returncode == 2


def test_status_of_the_passes_is_by_the_interval(start, pod_net):
    fabric = start(pod_net, SM_HOST, perf_interval=1.0)
    status = fabric.wait(lambda s: s["health"]["ports_read"] == 1048, "a pass was made by itself")
    assert status["health"]["pass_ms"] >= 500 and status["health"]["sick"] == 0
