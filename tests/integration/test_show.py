# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`fmctl show WHAT`: one screen about each kind of thing, whole and damaged."""
import re
import urllib.request

import pytest

import promtext
from fabric import RIG, alike, own_address, poll

LEAF, SPINE, HOST, HCA = "leaf-su01-rail0", "spine-01", "dgx-su01-07", "dgx-su01-07 mlx5_0"
LEAF_GUID = "0x0002c90300000100"
CABLE = f"{LEAF} p33 - {SPINE} p1"


def by(rows, **members):
    found = [row for row in rows if all(row[key] == value for key, value in members.items())]
    assert len(found) == 1, (members, found)
    return found[0]


# ---- A whole fabric

def test_switch_has_its_place_its_ports_and_what_its_tables_do(pod):
    leaf = pod.ask("show", LEAF)
    assert (leaf["kind"], leaf["name"], leaf["guid"]) == ("switch", LEAF, LEAF_GUID)
    assert leaf["place"] == "leaf, tier 1 of 2, SU 1, rail 0" and (leaf["su"], leaf["rail"], leaf["level"]) == (0, 0, 0)
    assert (leaf["links_up"], leaf["links_down"], leaf["hcas"], leaf["switches_above"]) == (65, 0, 32, 4)
    assert leaf["lids_forwarded"] == 280 and leaf["lids_dropped"] == 0 and not leaf["cordoned"]
    assert len(leaf["ports"]) == 65 and sum(row["lids"] for row in leaf["ports"]) == 279  # all but its own
    port = by(leaf["ports"], port=7)
    assert (port["state"], port["speed"], port["width"], port["to"], port["to_port"], port["lids"]) == (
        "Active", "NDR", 4, HCA, 1, 1)
    assert port["note"] is None


def test_host_has_its_rails_and_a_verdict(pod):
    host = pod.ask("show", HOST)
    assert (host["kind"], host["hcas"], host["verdict"], host["missing"]) == ("host", "8/8", "HEALTHY", [])
    assert [row["rail"] for row in host["ports"]] == list(range(8))
    assert [row["to"] for row in host["ports"]] == [f"leaf-su01-rail{rail}" for rail in range(8)]
    assert host["partitions"] == [{"pkey": "0xffff", "name": "Default", "membership": "full", "ports": 8}]
    assert (host["nvlink_state"], host["nvlink_observed"]) == ("UNKNOWN", "UNKNOWN")  # no source: nothing says that they are well
    assert "nvlink since" not in pod.fmctl("show", HOST).stdout  # a state that it has been in since nobody knows when
    text = pod.fmctl("nvswitch", HOST).stdout
    assert text.startswith(f"{HOST}: UNKNOWN: no telemetry source configured\n") and "observed    UNKNOWN\n" in text, text


def test_switch_sums_up_its_neighbours(pod):
    rows = pod.ask("show", LEAF)["neighbours"]
    assert [(row["switch"], row["cables"], row["up"], row["ports"]) for row in rows] == [
        (f"spine-0{n}", 8, 8, f"{25 + 8 * n}-{32 + 8 * n}") for n in range(1, 5)]
    assert sum(row["lids"] for row in rows) == 7 * 32 + 7 + 4 + 11  # of other leaves: HCAs, they, spines, aggregation nodes


def test_who_manages_the_subnet_is_marked(pod):
    assert pod.ask("show", "dgx-su01-01 mlx5_0")["subnet_manager"]
    assert "subnet_manager" not in pod.ask("show", HCA)


def test_path_between_hosts_is_a_line_a_rail(pod):
    lines = pod.fmctl("path", "dgx-su01-01", HOST).stdout.splitlines()
    assert len(lines) == 9 and lines[0].split() == ["FROM", "TO", "LID", "BY"]
    assert re.match(r"dgx-su01-01 mlx5_3 +dgx-su01-07 mlx5_3 +\d+ +leaf-su01-rail1$", lines[2])


def test_hca_knows_its_host_and_leaf(pod):
    guid = pod.ask("show", HCA)["guid"]
    hca = alike(lambda: pod.ask("show", HCA), lambda: pod.ask("show", guid), but=["counters", "modules", "bit_errors", "firmware", "psid", "up_s"])  # registers are read behind "up"
    assert (hca["kind"], hca["host"], hca["leaf"], hca["leaf_port"]) == ("hca", HOST, LEAF, 7)


def test_port_and_cable_have_both_ends_and_their_share_of_the_tables(pod):
    port, cable = pod.ask("show", f"{LEAF}:33"), pod.ask("show", CABLE)
    assert (port["kind"], port["name"]) == ("port", f"{LEAF} p33")
    assert (cable["kind"], cable["name"]) == ("cable", CABLE)
    ends = alike(lambda: pod.ask("show", f"{LEAF}:33")["ends"], lambda: pod.ask("show", CABLE)["ends"])
    assert [end["name"] for end in ends] == [LEAF, SPINE]
    leaf = by(pod.ask("show", LEAF)["ports"], port=33)
    assert port["ends"][0]["lids"] == leaf["lids"] > 0
    # 32 hosts to each HCA of another leaf whose LID leaves here
    lids = sum(1 for row in pod.ask("lft", LEAF)["entries"] if row["port"] == 33 and row["to"].startswith("dgx"))
    assert port["ends"][0]["host_pairs"] == 32 * lids
    assert port["mtu"] == 4096 and port["link_gbps"] == 400 and not port["cordoned"]


def test_lid_is_shown_with_its_owner_and_its_path(pod):
    lid = pod.ask("path", LEAF, HCA)["dlid"]
    shown = pod.ask("show", str(lid))
    assert (shown["kind"], shown["name"], shown["of"]) == ("lid", f"LID {lid}", HCA)
    assert shown["switches_forwarding"] == 12 and shown["switches_dropping"] == 0
    assert shown["path_from"] == "dgx-su01-01 mlx5_0" and shown["path"][-1]["name"] == HCA  # the subnet manager's
    far = pod.ask("show", str(lid), "--from", "dgx-su01-09 mlx5_3")["path"]
    assert [(hop["name"], hop["out_port"]) for hop in far] == [
        (hop["name"], hop["out_port"]) for hop in pod.ask("path", "dgx-su01-09 mlx5_3", HCA)["hops"]]
    leaf = pod.ask("show", str(pod.ask("lft", LEAF)["lid"]))
    assert (leaf["of"], leaf["hcas"]) == (LEAF, 32)  # what is known of the switch comes with it


def test_partition_has_its_members_and_groups(pod):
    for name in ("pkey:0x7fff", "pkey:0xffff", "Default"):
        shown = pod.ask("show", name)
        assert (shown["kind"], shown["pkey"]) == ("partition", "0x7fff")
        assert len(shown["members"]) == shown["full"] + shown["limited"] > 256


@pytest.mark.parametrize("what, reason", [
    ("leaf-su01-rial0", "near: 'leaf-su01-rail0'"), ("leaf-su01", "matches 8 nodes"), ("0xc123", "no multicast group has MLID 0xc123"),
    ("pkey:0x1234", "no partition has P_Key 0x1234"), ("lid:9999", "no port has LID 9999"), (f"{LEAF}:99", "ports 1 to 65")])
def test_what_can_not_be_shown_has_a_reason(pod, what, reason):
    done = pod.fmctl("show", what, check=False)
    assert (done.returncode, done.stdout) == (1, "") and reason in done.stderr


@pytest.mark.parametrize("what", [LEAF, SPINE, HOST, HCA, f"{LEAF}:33", CABLE, f"{HCA}:1", "1", "pkey:0x7fff", "guid:" + LEAF_GUID])
def test_screen_names_the_kind_and_has_nothing_unknown(pod, what):
    document, text = pod.ask("show", what), pod.fmctl("show", what).stdout
    kind = {"cable": "link"}.get(document["kind"], document["kind"])  # JSON's word is a contract, people read the field's
    assert text.splitlines()[0] == f"{kind}: {document['name']}" and "CABLES" not in text
    assert "null" not in text and "None" not in text
    assert all(re.match(r"\S", line) or not line or line.startswith("  ") for line in text.splitlines())
    for key, value in document.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            assert f"\n{key.replace('_', ' ').capitalize()}\n" in text


# ---- Damaged

def test_host_with_a_dead_cable_has_7_of_8_hcas_and_says_which(start, pod_net):
    fabric = start(pod_net)
    fabric.console('Unlink "S-0002c90300000400"[7]')
    fabric.wait_up(lambda s: s["links_down"] == 1, "the cut is seen")
    host = poll(lambda: (shown := fabric.ask("show", HOST))["events"] and shown, "it is told of the host")
    assert (host["hcas"], host["verdict"]) == ("7/8", "DEGRADED")
    assert re.fullmatch(r"mlx5_5 at leaf-su01-rail3 p7: down since 20\d\d-.*Z", host["missing"][0]) and len(host["missing"]) == 1
    assert by(host["ports"], rail=3)["state"] == "Down"
    assert any("leaf-su01-rail3 p7" in event["text"] for event in host["events"])
    port = fabric.ask("show", "leaf-su01-rail3:7")
    assert not port["up"] and port["note"].startswith("down since 20") and port["to"] == f"{HOST} mlx5_5"
    assert [end["lids"] for end in port["ends"]] == [0, None] and [end["host_pairs"] for end in port["ends"]] == [0, 0]
    screen = fabric.fmctl("show", HOST).stdout
    assert "7/8" in screen and "mlx5_5 at leaf-su01-rail3 p7: down since" in screen


def test_hca_that_was_never_met_is_missing_where_others_of_its_unit_have_one(start, pod_net, tmp_path):
    gone = re.search(r'\nCa\t1 "(\S+)"[^\n]*"dgx-su01-07 mlx5_5"', pod_net.read_text()).group(1)
    net = tmp_path / "without.net"
    net.write_text("\n\n".join("\n".join(line for line in block.splitlines() if gone not in line)
                              for block in pod_net.read_text().split("\n\n") if f'Ca\t1 "{gone}"' not in block))
    host = start(net).ask("show", HOST)
    assert host["hcas"] == "7/8" and host["missing"] == ["rail 3: no HCA was ever seen"] and len(host["ports"]) == 7


def test_cordoned_spine_and_cable_are_shown_as_such(start, pod_net):
    fabric = start(pod_net)
    fabric.fmctl("cordon", "spine-02")
    fabric.fmctl("cordon", CABLE)  # both ends are one cable
    spine, leaf = fabric.ask("show", "spine-02"), fabric.ask("show", LEAF)
    assert spine["cordoned"] and spine["links_cordoned"] == 64
    assert {row["note"] for row in spine["ports"] if row["to"].startswith("leaf")} == {"cordoned"}
    told = [event["time"] for event in spine["events"] if event["kind"] == "cordoned"]
    assert told and fabric.ask("events", "-n", "1000")[0]["time"] < spine["cordoned_since"] <= told[-1]  # when it was asked for
    assert not leaf["cordoned"] and leaf["links_cordoned"] == 9
    cable = fabric.ask("show", f"{SPINE}:1")
    assert cable["cordoned"] and cable["ends"][0]["host_pairs"] == 0
    fabric.fmctl("uncordon", f"{SPINE} p1")
    assert not fabric.ask("show", CABLE)["cordoned"]


def test_quarantined_cable_says_why_and_for_how_long(start, pod_net):
    fabric = start(pod_net, flap_count=1, flap_window=60)
    for _ in range(2):
        fabric.console('Unlink "S-0002c90300000100"[33]')
        fabric.wait(lambda s: s["links_down"] == 1, "the cut is seen")
        fabric.console('Relink "S-0002c90300000100"[33]')
        fabric.wait(lambda s: s["links_down"] == 0, "the cable is back")
    fabric.wait(lambda s: s["links_quarantined"] == 1, "it is quarantined")
    cable = fabric.ask("show", CABLE)
    assert cable["quarantined"] and not cable["cordoned"] and cable["sick"] == "quarantined"
    assert "went down 2 times" in cable["why"] and 0 < cable["left_s"] and "s more" in cable["note"]
    assert fabric.ask("show", SPINE)["links_quarantined"] == 1
    assert {"quarantined", "link-down"} <= {event["kind"] for event in cable["events"]}
    fabric.fmctl("release", CABLE)
    assert not fabric.ask("show", CABLE)["quarantined"]


@pytest.mark.skipif(RIG == "ibsim", reason="only fmsim's devices know PortInfoExtended")
def test_error_correction_is_read_when_a_link_comes_up_and_not_at_each_poll(start, pod_net):
    """One port uses another mode, one device refuses, one answers nonsense."""
    address = own_address()
    fabric = start(pod_net, fmd=False, http_listen=f"{address}:9810", sweep_interval=1, transaction_timeout=10000)  # a busy simulator is not silent
    for what, how in ((f"{LEAF}:33", "2"), (f"{HCA}:1", "refused"), ("dgx-su01-08 mlx5_0:1", "wrong")):
        fabric.ibsim.tell(f"fec \"{what}\" {how}")
    fabric.start_fmd()
    fabric.wait_up()

    def mode(what):
        return fabric.ask("show", what)["fec"]

    def answered(status):
        counts = status["health"]["fec_modes"]
        return counts["read"] + counts["refused"] + counts["malformed"]

    fabric.wait(lambda status: answered(status) == 2 * (status["links"] + status["links_special"]), "all ports have answered")
    port = fabric.ask("show", f"{LEAF}:33")
    assert (port["fec"], port["fec_supported"], port["fec_enabled"]) == ("rs-528-514", ["none", "rs-544-514"], ["rs-544-514"])
    assert [end["fec"] for end in port["ends"]] == ["rs-528-514", "rs-544-514"]
    assert by(fabric.ask("show", LEAF)["ports"], port=33)["fec"] == "rs-528-514"
    assert mode(f"{HCA}:1") is None and mode("dgx-su01-08 mlx5_0:1") is None
    assert "rs-528-514" in fabric.fmctl("show", f"{LEAF}:33").stdout
    with urllib.request.urlopen(f"http://{address}:9810/metrics/ports?collect[]=fec", timeout=60) as answer:
        page = answer.read().decode()
    assert promtext.problems(page) == []
    assert re.search(r'\{guid="0x[0-9a-f]{16}",port="33"[^}]*,mode="rs-528-514"\} 1\n', page)
    counts = fabric.status()["health"]["fec_modes"]
    assert (counts["refused"], counts["malformed"], counts["unanswered"]) == (1, 1, 0)
    assert fabric.status()["state"] == "up" and not fabric.status()["alerts"]

    polls = fabric.status()["polls"]
    fabric.wait(lambda status: status["polls"] > polls + 3, "polls pass")
    assert fabric.status()["health"]["fec_modes"] == counts
    fabric.console('Unlink "S-0002c90300000100"[33]')
    fabric.wait(lambda status: status["links_down"] == 1, "the cut is seen")
    assert "fec" not in fabric.ask("show", f"{LEAF}:33")
    fabric.ibsim.tell(f"fec {LEAF}:33 4")
    fabric.console('Relink "S-0002c90300000100"[33]')
    fabric.wait(lambda status: status["links_down"] == 0 and answered(status) == counts["asked"] + 2, "it is up again, and both ends have answered")
    assert mode(f"{LEAF}:33") == "rs-544-514"
    assert fabric.status()["health"]["fec_modes"]["asked"] == counts["asked"] + 2


def test_of_a_switch_that_takes_no_sets_the_screen_begins_with_that(start, pod_net):
    fabric = start(pod_net, rig="fmsim")
    fabric.wait_up()
    fabric.ibsim.tell(f"refuse {LEAF}")
    fabric.ibsim.tell(f"unlink {LEAF}:40")
    fabric.wait(lambda status: any(alert["what"] == "refusing" or "no Sets" in alert["text"] for alert in status["alerts"]), "it is noticed")
    lines = fabric.fmctl("show", LEAF).stdout.splitlines()
    assert lines[0] == f"switch: {LEAF}" and re.match(r"note +answers Gets, but no Sets", lines[1]), lines[:3]
    assert fabric.ask("show", "leaf-su01-rail1").get("note") is None


def test_of_a_dead_leaf_the_screen_begins_with_what_is_wrong(start, pod_net):
    fabric = start(pod_net)
    fabric.ibsim.tell("node off leaf-su01-rail2")
    fabric.wait(lambda s: s["hcas_cut_off"] == 32, "the leaf is gone")
    screen = fabric.fmctl("show", "leaf-su01-rail2").stdout.splitlines()
    assert screen[0] == "switch: leaf-su01-rail2" and re.fullmatch(r"note +all of its links are down since 20\d\d-.*Z", screen[1])
    assert not any(line.startswith(("links cordoned", "links quarantined", "links isolated", "links unhealthy")) for line in screen)
