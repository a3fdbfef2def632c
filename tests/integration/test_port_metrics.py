# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A series a port, under /metrics/ports; and what /metrics says of all of them."""
import gzip
import re
import socket
import urllib.error
import urllib.parse
import urllib.request

import pytest

import promtext
from fabric import own_address, poll

HOST = "H-0002c90380000100"
UPLINK = "S-0002c90300000100", 33
SAMPLE = re.compile(r"([a-z0-9_]+)\{(.*)\} (\S+)$")
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')
SWITCH_PORTS = 12 * 64 + 12  # those to aggregation nodes too


@pytest.fixture
def web(start, pod_net):
    """Counters are read when a test asks for it."""
    def begin(**conf):
        address = own_address()
        fabric = start(pod_net, host=HOST, **{"http_listen": f"{address}:9810", "perf_interval": 0, "port_metrics_counters": "all", **conf})
        fabric.url = f"http://{address}:9810/metrics/ports"
        return fabric
    return begin


def page_of(fabric):
    with urllib.request.urlopen(fabric.url, timeout=60) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return answer.read().decode()


def series(page):
    """{name: {(guid, port): (labels, value)}}"""
    found = {}
    for line in page.splitlines():
        if not line.startswith("#"):
            name, labels, value = SAMPLE.match(line).groups()
            labels = dict(LABEL.findall(labels))
            found.setdefault(name, {})[labels["guid"], int(labels["port"])] = labels, float(value)
    return found


def test_links_have_series_from_the_first_sweep_on_and_counters_from_their_first_reading(web):
    fabric = web()
    page = page_of(fabric)
    assert promtext.problems(page) == []
    before = series(page)
    assert len(before["fmd_port_state"]) == len(before["fmd_port_link_up"]) == SWITCH_PORTS
    assert set(value for _, value in before["fmd_port_state"].values()) == {4}
    assert not [name for name in before if name.endswith("_total")]

    fabric.console('PerformanceSet "%s"[%d] PortCounters.PortXmitData=1000' % UPLINK, 'PerformanceSet "%s"[%d] PortCounters.SymbolErrorCounter=3' % UPLINK)
    fabric.fmctl("health", "--read")
    page = page_of(fabric)
    assert promtext.problems(page) == []
    if promtext.promtool():
        assert promtext.promtool_says(page) == (0, "")
    after, at = series(page), (UPLINK[0].replace("S-", "0x"), UPLINK[1])
    assert all(len(ports) == SWITCH_PORTS for name, ports in after.items() if name.startswith("infiniband_switch_port_"))
    labels, sent = after["infiniband_switch_port_transmit_data_bytes_total"][at]
    assert (sent, after["infiniband_switch_port_symbol_error_total"][at][1]) == (4000, 3)
    assert labels == {"guid": at[0], "port": "33", "switch": "leaf-su01-rail0"}
    labels = after["fmd_port_info"][at][0]
    assert labels["node"] == "leaf-su01-rail0" and labels["peer"] == "spine-01" and int(labels["peer_port"]) > 0


def test_a_scrape_asks_for_groups_and_for_a_leaf_and_may_be_packed(web):
    fabric = web(port_metrics="all", port_metrics_counters="essential")
    fabric.console('PerformanceSet "%s"[%d] PortCounters.SymbolErrorCounter=3' % UPLINK)
    fabric.fmctl("health", "--read")
    whole = page_of(fabric)
    assert promtext.problems(whole) == []
    now = series(whole)
    assert len(now["infiniband_switch_port_transmit_data_bytes_total"]) == SWITCH_PORTS
    assert len(now["infiniband_switch_port_symbol_error_total"]) == 1 and "fmd_port_state" not in now
    assert len([name for name in now if name.startswith("infiniband_switch_port_")]) == 4 and "fmd_port_link_up" not in now
    base, fabric.url = fabric.url, fabric.url + "?collect[]=errors&collect%5B%5D=state&leaf=leaf-su01-rail2"
    part = series(page_of(fabric))
    assert len(part["fmd_port_state"]) == 65 + 32 + 1 and len(part["infiniband_hca_port_vl15_dropped_total"]) == 32 + 1
    assert "fmd_port_info" not in part and not [name for name in part if name.endswith("_bytes_total")]
    with urllib.request.urlopen(urllib.request.Request(base, headers={"Accept-Encoding": "gzip"}), timeout=60) as answer:
        packed = answer.read()
        assert answer.headers["Content-Encoding"] == "gzip" and len(packed) < len(whole) / 5
    assert series(gzip.decompress(packed).decode()).keys() == now.keys()
    for wrong in ("?collect[]=everything", "?leaf=moon", "?moon=1"):
        with pytest.raises(urllib.error.HTTPError) as refusal:
            urllib.request.urlopen(base + wrong, timeout=60)
        assert refusal.value.code == 400


def test_a_link_that_is_down_says_so_and_keeps_its_series(web):
    fabric = web()
    fabric.console('Unlink "%s"[%d]' % UPLINK)
    fabric.wait(lambda s: s["links_down"] == 1, "the cut is seen")
    at, now = (UPLINK[0].replace("S-", "0x"), UPLINK[1]), series(page_of(fabric))
    assert now["fmd_port_link_up"][at][1] == 0 and now["fmd_port_width_lanes"][at][1] == 0
    assert sum(value for _, value in now["fmd_port_link_up"].values()) == SWITCH_PORTS - 2


def test_whose_ports_have_series_is_configured_and_reloaded(web):
    fabric = web(port_metrics="off")
    with pytest.raises(urllib.error.HTTPError) as refusal:
        page_of(fabric)
    assert refusal.value.code == 404 and "port_metrics" in refusal.value.read().decode()
    text = fabric.conf.read_text()
    fabric.conf.write_text(text.replace('"off"', '"all"'))
    fabric.fmctl("reload")
    fabric.fmctl("health", "--read")
    page = page_of(fabric)
    assert promtext.problems(page) == []
    now = series(page)
    assert len(now["fmd_port_state"]) == 2 * (512 + 12)
    assert len(now["infiniband_hca_port_transmit_data_bytes_total"]) == 256 + 12
    assert not set(now["infiniband_hca_port_receive_errors_total"]) & set(now["infiniband_switch_port_receive_errors_total"])


def test_clients_that_do_not_read_hold_no_more_than_a_few_snapshots(web):
    """Each answer on its way holds the snapshot that it began with; whoever comes beyond is refused, and served when one is done."""
    fabric = web(port_metrics="all")
    fabric.fmctl("health", "--read")
    address = urllib.parse.urlsplit(fabric.url)
    slow = []

    def status_for(source):
        slow.append(socket.socket())
        slow[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow[-1].bind((source, 0))
        slow[-1].connect((address.hostname, address.port))
        slow[-1].sendall(f"GET {address.path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return slow[-1].recv(12)

    for source in ("127.0.0.2", "127.0.0.2", "127.0.0.3", "127.0.0.3"):
        assert status_for(source) == b"HTTP/1.1 200"
    assert status_for("127.0.0.4") == b"HTTP/1.1 503"
    for client in slow:
        client.close()

    def served():
        try:
            return page_of(fabric)
        except urllib.error.HTTPError as error:
            assert error.code == 503
    assert promtext.problems(poll(served, "a place is free again")) == []


PROMISED = ["fmd_hcas_cut_off", "fmd_role_changes_total", "fmd_alerts", "fmd_mlids_used", "fmd_mlids_capacity"]


def test_the_fabric_has_figures_of_what_an_operator_waits_for(web):
    fabric = web()
    fabric.fmctl("health", "--read")
    with urllib.request.urlopen(fabric.url.replace("/ports", ""), timeout=60) as answer:
        page = answer.read().decode()
    assert promtext.problems(page) == []
    figures = dict(line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))
    assert not [name for name in PROMISED if name not in figures]
    assert figures['fmd_state{state="up"}'] == figures['fmd_role{role="master"}'] == "1"
    assert figures['fmd_state{state="no-link"}'] == figures["fmd_health_links_slow"] == "0"
    assert int(figures["fmd_counters_ports_read"]) == 2 * (512 + 12)
    assert 0 <= float(figures["fmd_counters_pass_age_seconds"]) < 600
    assert 0 <= float(figures["fmd_last_reroute_age_seconds"]) < 600
    assert int(figures['fmd_events_total{level="notice"}']) > 0 and int(figures["fmd_lft_blocks_failed"]) == 0
