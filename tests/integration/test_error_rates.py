# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Links whose bit error rate is over its limit: out of transit, shown with their rate, kept over a restart, an operator's to release."""
import pytest

from fabric import poll

LEAF = "S-0002c90300000100"
UPLINK = 40  # of the leaf, to a spine


def errors(fabric, count):
    fabric.console(f'PerformanceSet "{LEAF}"[{UPLINK}] PortCounters.SymbolErrorCounter={count}')


def sick(fabric):
    return [row for row in fabric.ask("links", "--sick") if row["sick"] == "quarantined"]


def test_a_link_over_its_error_rate_is_out_until_it_is_clean_or_released(start, pod_net):
    fabric = start(pod_net, perf_interval=1.0, health_symbol_errors=0)
    poll(lambda: fabric.status()["health"]["ports_read"] >= 1024, "all ports were read")
    fabric.ask("health", "--read")
    errors(fabric, 50)
    fabric.ask("health", "--read")
    row = poll(lambda: sick(fabric), "the link is out")[0]
    assert row["a"]["port"] == UPLINK and row["until_clean"] is True and row["left_s"] is None
    assert row["why"].startswith("symbol BER ") and "in 12 min (limit 1e-14)" in row["why"]
    rows = [other for other in fabric.ask("links", "--sick") if other["a"] == row["a"]]
    assert len(rows) == 1 and rows[0]["ber"]["over"] and rows[0]["why"].count("symbol BER") == 1, rows
    note = fabric.ask("show", f'{row["a"]["name"]}:{UPLINK}')["note"]
    assert "symbol BER" in note and note.endswith("until it was clean for 600 s"), note
    health = fabric.ask("health")
    over = next(link for link in health["links"] if link.get("ber"))
    assert over["ber"]["over"] and over["ber"]["symbol"]["long"] > health["ber"]["windows"]["long"]["limit"]
    assert health["ber"]["windows"]["short"] == {"seconds": 720, "limit": 1e-14} and health["over_error_rate"] == 1
    assert "1 port over its limits (1e-14 in 12 min, 1e-15 in 125 min)" in fabric.fmctl("health").stdout
    fabric.stop_fmd()
    fabric.start_fmd()
    fabric.wait_up()
    assert sick(fabric)[0]["why"] == row["why"]
    fabric.fmctl("release", f'{row["a"]["name"]}:{UPLINK}')
    assert sick(fabric) == []
    assert [event["kind"] for event in fabric.ask("events", "-n", "100")].count("quarantined") == 1  # it was out all the time


@pytest.mark.long
def test_a_dry_run_says_what_it_would_do(start, pod_net):
    fabric = start(pod_net, perf_interval=1.0, health_symbol_errors=0, health_ber_dry_run=True)
    poll(lambda: fabric.status()["health"]["ports_read"] >= 1024, "all ports were read")
    fabric.ask("health", "--read")
    errors(fabric, 50)
    fabric.ask("health", "--read")
    texts = poll(lambda: [event["text"] for event in fabric.ask("events", "-n", "100") if event["kind"] == "quarantine-refused"], "it is told")
    assert "dry run: it would be isolated from routing" in texts[0]
    assert sick(fabric) == [] and fabric.status()["links_quarantined"] == 0


@pytest.mark.long
def test_blocks_that_fec_could_not_correct_are_told_and_isolate_nothing(start, pod_net):
    """health_fec_action = "warn": their limits were never tried on hardware."""
    fabric = start(pod_net, perf_interval=1.0)
    poll(lambda: fabric.status()["health"]["ports_read"] >= 1024, "all ports were read")
    fabric.ask("health", "--read")
    fabric.ibsim.tell("count leaf-su01-rail3:40 uncorrected_blocks 5000")
    fabric.ask("health", "--read")
    rows = poll(lambda: fabric.ask("links", "--sick"), "it is told")
    assert {(row["a"]["name"], row["a"]["port"], row["sick"]) for row in rows} <= {("leaf-su01-rail3", 40, "sick"), ("leaf-su01-rail3", 40, "errors"), ("leaf-su01-rail3", 40, "warn")}
    assert fabric.status()["links_quarantined"] == 0
