# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Faults and repairs: cables, spines, leaves, hosts, tables, lost packets. In the end all is as it was before."""
import json

import pytest

from fabric import until

SM_HOST, SM_LEAF = "H-0002c90380000100", "S-0002c90300000100"
LEAVES = [f"S-0002c90300000{n}00" for n in range(1, 9)]
SPINES = [f"S-0002c90300000{n}00" for n in "9abc"]
HOST = "H-0002c90380000a00"  # on the second leaf, port 2
ALL_PAIRS = (256 * 255, 256 * 255)


def clean(status):
    proof = status["proof"]
    return not (proof["unreachable"] or proof["loops"] or proof["credit_cycles"])


class Before:
    """What has to be again when the fault is mended."""

    def __init__(self, fabric):
        self.fabric, self.lids, self.tables = fabric, fabric.lids(), fabric.tables()

    def holds_again(self):
        """In the end: what is whole may fall again for a moment, as long as fmd has traps to heed."""
        self.fabric.wait_up(lambda s: s["links_down"] == 0 and s["hcas"] == 256, "all is mended")
        until(self.holds)

    def holds(self):
        fabric, status = self.fabric, self.fabric.status()
        assert (status["state"], status["links_down"], status["hcas"]) == ("up", 0, 256)
        assert clean(status)
        assert fabric.dark_links() == {}
        assert fabric.lids() == self.lids
        assert fabric.tables() == self.tables
        assert fabric.ask("check", "--readback")["differ"] == 0
        assert fabric.pairs_reached() == ALL_PAIRS


# ---- A cable

@pytest.mark.parametrize("sm", [SM_HOST, SM_LEAF, SPINES[3]])
@pytest.mark.parametrize("leaf, port, spine, spine_port", [
    (LEAVES[0], 33, SPINES[0], 1), (LEAVES[3], 64, SPINES[3], 32)])
@pytest.mark.on_ibsim("a trap and a reroute")
def test_cut_cable_is_rerouted_and_comes_back_the_same(start, pod_net, sm, leaf, port, spine, spine_port):
    fabric = start(pod_net, sm, sweep_interval=1.0)
    before = Before(fabric)
    fabric.console(f'Unlink "{leaf}"[{port}]')
    status = fabric.wait_up(lambda s: s["links_down"] == 1, "the cut is seen")
    assert clean(status) and status["proof"]["reachable"] == 256 * 255
    fault = status["last_fault"]
    assert f"p{port} - spine-" in fault["what"] and fault["what"].endswith("down")
    assert 0 < fault["lft_entries_changed"] < 100 and 0 < fault["lft_blocks_written"] <= 12
    assert fault["detected_to_programmed_ms"] > 0
    down = fabric.ask("links", "--down")
    assert [(link["a"]["port"], link["b"]["port"], link["up"]) for link in down] == [(port, spine_port, False)]
    assert fabric.tables() != before.tables
    assert fabric.pairs_reached() == ALL_PAIRS
    fabric.console(f'Link "{leaf}"[{port}] "{spine}"[{spine_port}]')
    before.holds_again()


def test_a_quiet_fabric_is_balanced_around_its_damage_and_mended_as_before(start, pod_net):
    fabric = start(pod_net, SM_HOST, rebalance_hold=0.3)
    before = Before(fabric)
    fabric.console(f'Unlink "{LEAVES[0]}"[33]', f'Unlink "{LEAVES[4]}"[50]')
    status = fabric.wait_up(lambda s: s["links_down"] == 2 and s["rebalance"]["overrides"] > 0
                            and s["rebalance"]["state"] == "done", "tables are balanced")
    assert clean(status)
    assert status["rebalance"]["after"]["all_to_all_ratio"] < status["rebalance"]["before"]["all_to_all_ratio"]
    event = [event for event in fabric.ask("events") if event["kind"] == "rebalanced"]
    assert event and event[-1]["entries"] > 0
    assert fabric.pairs_reached() == ALL_PAIRS
    assert fabric.ask("check", "--readback")["differ"] == 0
    fabric.console(f'Link "{LEAVES[0]}"[33] "{SPINES[0]}"[1]', f'Link "{LEAVES[4]}"[50] "{SPINES[2]}"[34]')
    before.holds_again()


def test_only_what_used_the_cable_moves(start, pod_net):
    fabric = start(pod_net, SM_HOST)
    before = fabric.simulated_tables()[1]
    fabric.console(f'Unlink "{LEAVES[2]}"[40]')
    fault = fabric.wait_up(lambda s: s["links_down"] == 1)["last_fault"]
    after = fabric.simulated_tables()[1]
    moved = [(switch, lid, port) for switch, table in before.items() for lid, port in table.items()
             if after[switch][lid] != port]
    assert len(moved) == fault["lft_entries_changed"]
    used_it = sum(1 for port in before[LEAVES[2]].values() if port == 40)
    used_it += sum(1 for port in before[SPINES[0]].values() if port == 24)  # its other end
    assert used_it <= len(moved) <= 3 * used_it


@pytest.mark.parametrize("sm, leaf, port", [(SM_HOST, LEAVES[1], 50), (SM_HOST, SM_LEAF, 50), (SM_LEAF, SM_LEAF, 2)])
def test_trap_alone_is_enough(start, pod_net, sm, leaf, port):
    """The last one: of the SM's own switch, and about a host, which tells nothing itself."""
    fabric = start(pod_net, sm, sweep_interval=0)
    before = Before(fabric)
    fabric.console(f'Unlink "{leaf}"[{port}]')
    assert clean(fabric.wait_up(lambda s: s["links_down"] == 1, "the trap is heeded"))
    fabric.console(f'Relink "{leaf}"[{port}]')
    before.holds_again()


def test_poll_finds_what_no_trap_told(start, pod_net):
    """At the moment of the cut nothing reaches the SM's port."""
    fabric = start(pod_net, SM_HOST, sweep_interval=1.0)
    before = Before(fabric)
    said = len(fabric.log.read_text())
    fabric.console(f'Error "{SM_HOST}"[1] 100', f'Unlink "{LEAVES[1]}"[50]', f'Error "{SM_HOST}"[1] 0')
    status = fabric.wait_up(lambda s: s["links_down"] == 1, "the poll finds it")
    assert "trap 128" not in fabric.log.read_text()[said:]
    assert clean(status) and status["last_fault"]["lft_entries_changed"] > 0
    fabric.console(f'Error "{SM_HOST}"[1] 100', f'Relink "{LEAVES[1]}"[50]', f'Error "{SM_HOST}"[1] 0')
    before.holds_again()
    assert "trap 128" not in fabric.log.read_text()[said:]


def test_cut_that_is_mended_at_once_leaves_the_tables_as_they_were(start, pod_net):
    fabric = start(pod_net, SM_HOST, sweep_interval=1.0)
    before = Before(fabric)
    for port in (33, 41, 49, 57):
        fabric.console(f'Unlink "{LEAVES[4]}"[{port}]', f'Relink "{LEAVES[4]}"[{port}]')
    fabric.wait(lambda _: "trap 128" in fabric.log.read_text(), "a trap is heeded")
    before.holds_again()
    status = fabric.status()
    assert status["route_ms"] > 0 and status["check_ms"] > 0  # of the tables in force


def test_all_cables_of_a_leaf_to_one_spine_are_cut(start, pod_net):
    fabric = start(pod_net, SM_HOST, sweep_interval=1.0)
    before = Before(fabric)
    fabric.console(*(f'Unlink "{LEAVES[0]}"[{port}]' for port in range(33, 41)))
    assert clean(fabric.wait_up(lambda s: s["links_down"] == 8, "all eight are down"))
    assert fabric.pairs_reached() == ALL_PAIRS
    fabric.console(*(f'Relink "{LEAVES[0]}"[{port}]' for port in range(33, 41)))
    before.holds_again()


# ---- A switch

@pytest.mark.parametrize("sm", [SM_HOST, SM_LEAF])
@pytest.mark.parametrize("how", ["Unlink", "Clear"])
def test_spine_dies_and_comes_back(start, pod_net, sm, how):
    fabric = start(pod_net, sm, sweep_interval=1.0)
    before = Before(fabric)
    fabric.console(f'{how} "{SPINES[2]}"')
    status = fabric.wait_up(lambda s: s["links_down"] == 64, "the spine is missed")
    assert clean(status) and status["proof"]["reachable"] == 256 * 255
    assert fabric.pairs_reached() == ALL_PAIRS
    assert fabric.status()["last_fault"]["lft_entries_changed"] > 0  # though a trap a cable came
    fabric.console(f'Relink "{SPINES[2]}"')
    before.holds_again()


@pytest.mark.long
def test_two_spines_die_at_once(start, pod_net):
    fabric = start(pod_net, SM_HOST, sweep_interval=1.0)
    before = Before(fabric)
    fabric.console(f'Clear "{SPINES[0]}"', f'Clear "{SPINES[3]}"')
    assert clean(fabric.wait_up(lambda s: s["links_down"] == 128, "both are missed"))
    assert fabric.pairs_reached() == ALL_PAIRS
    fabric.console(f'Relink "{SPINES[0]}"', f'Relink "{SPINES[3]}"')
    before.holds_again()


def test_leaf_dies_with_its_hosts_and_comes_back(start, pod_net):
    fabric = start(pod_net, SM_HOST, sweep_interval=1.0)
    before = Before(fabric)
    fabric.console(f'Clear "{LEAVES[5]}"')
    status = fabric.wait_up(lambda s: s["links_down"] == 64, "the leaf is missed")
    assert clean(status) and status["proof"]["reachable"] == 224 * 223
    assert fabric.pairs_reached() == (224 * 223, 224 * 223)
    fabric.console(f'Relink "{LEAVES[5]}"')
    before.holds_again()


@pytest.mark.long
def test_switch_that_lost_its_tables_while_away_gets_them_again(start, pod_net):
    fabric = start(pod_net, SM_HOST, sweep_interval=1.0)
    before = Before(fabric)
    fabric.console(f'Clear "{SPINES[1]}"')
    fabric.wait_up(lambda s: s["links_down"] == 64, "the spine is missed")
    fabric.lose_tables(SPINES[1])
    fabric.console(f'Relink "{SPINES[1]}"')
    before.holds_again()


@pytest.mark.long
@pytest.mark.parametrize("switch", [SPINES[1], LEAVES[1], SM_LEAF])
def test_switch_that_lost_its_tables_in_its_place_gets_them_again(start, pod_net, switch):
    fabric = start(pod_net, SM_HOST, sweep_interval=1.0, audit_rate=0)
    before = Before(fabric)
    written = fabric.status()["lft_blocks_written"]
    fabric.lose_tables(switch)
    fabric.wait(lambda s: s["lft_blocks_written"] > written and fabric.pairs_reached() == ALL_PAIRS, "the tables are back")
    before.holds_again()


# ---- A host

@pytest.mark.parametrize("how", ["Unlink", "Clear"])
def test_host_leaves_and_comes_back_with_its_lid(start, pod_net, how):
    """Clear: with a port that has forgotten everything."""
    fabric = start(pod_net, SM_HOST, sweep_interval=1.0)
    before = Before(fabric)
    lid = before.lids["0x" + HOST[2:]]
    fabric.console(f'{how} "{HOST}"')
    status = fabric.wait_up(lambda s: s["links_down"] == 1, "the host is missed")
    assert clean(status) and status["proof"]["reachable"] == 255 * 254
    assert fabric.fmctl("path", "dgx-su01-01 mlx5_0", HOST, check=False).returncode == 1
    fabric.console(f'Relink "{HOST}"')
    before.holds_again()
    assert fabric.simulated(HOST)[HOST, 1]["lid"] == lid


def test_two_hosts_with_swapped_cables_keep_their_lids(start, pod_net):
    """dgx-su01-02's adapters on rails 1 and 2 go to each other's leaf."""
    fabric = start(pod_net, SM_HOST, sweep_interval=1.0)
    before = Before(fabric)
    one, two = '"H-0002c90380000a00"[1]', '"H-0002c90380000b00"[1]'
    fabric.console(f"Unlink {one}", f"Unlink {two}", f'Link {one} "{LEAVES[2]}"[2]', f'Link {two} "{LEAVES[1]}"[2]')

    def found_at(leaf):
        """Known already, and there; between two looks one of the two hosts may be nowhere, and its path refused."""
        path = fabric.fmctl("--json", "path", "dgx-su01-01 mlx5_0", "H-0002c90380000a00", check=False)
        return path.returncode == 0 and json.loads(path.stdout)["hops"][-2]["guid"] == "0x" + leaf[2:]

    def whole(status):
        return status["links_down"] == 0 and status["links"] == 512 and status["hcas"] == 256

    fabric.wait_up(lambda s: whole(s) and found_at(LEAVES[2]), "both hosts are found where they are")
    assert fabric.lids() == before.lids
    fabric.wait(lambda _: fabric.dark_links() == {}, "both links are Active")
    assert fabric.pairs_reached() == ALL_PAIRS
    fabric.console(f"Unlink {one}", f"Unlink {two}", f'Link {one} "{LEAVES[1]}"[2]', f'Link {two} "{LEAVES[2]}"[2]')
    fabric.wait_up(lambda s: whole(s) and found_at(LEAVES[1]), "they are back")
    before.holds_again()


# ---- Lost packets

def lossy(percent):
    return [f'Error "{switch}" {percent}' for switch in LEAVES + SPINES]


@pytest.mark.long
def test_every_tenth_packet_lost_changes_nothing_in_the_end(start, pod_net):
    fabric = start(pod_net, fmd=False, sweep_interval=1.0)
    fabric.console(*lossy(10))
    fabric.start_fmd(SM_HOST)

    def whole(status):
        return (status["switches"], status["hcas"], status["links"], status["links_down"]) == (12, 256, 512, 0)

    status = fabric.wait_up(lambda s: whole(s) and fabric.dark_links() == {}, "all is found and Active")
    assert status["smps_timed_out"] > 20 and clean(status)  # packets were lost: about a hundred, by chance
    fabric.wait(lambda _: fabric.pairs_reached() == ALL_PAIRS, "every table is whole")
    fabric.console(*lossy(0))
    fabric.fmctl("sweep")
    before = Before(fabric)
    before.holds_again()
    assert sorted(before.lids.values()) == list(range(1, 281))


@pytest.mark.long
def test_fault_is_answered_while_every_tenth_packet_is_lost(start, pod_net):
    fabric = start(pod_net, SM_HOST, sweep_interval=1.0)
    before = Before(fabric)
    fabric.console(*lossy(10), f'Unlink "{LEAVES[6]}"[33]', f'Clear "{SPINES[1]}"')
    fabric.wait_up(lambda s: s["links_down"] == 65 and clean(s), "both faults are seen")
    fabric.wait(lambda _: fabric.pairs_reached() == ALL_PAIRS, "all are reached again")
    fabric.console(f'Relink "{SPINES[1]}"', f'Relink "{LEAVES[6]}"[33]')
    fabric.wait_up(lambda s: s["links_down"] == 0 and fabric.pairs_reached() == ALL_PAIRS, "both are mended")
    fabric.console(*lossy(0))
    before.holds_again()


# ---- Nothing happens

@pytest.mark.long
def test_idle_polls_cost_one_packet_a_switch(start, pod_net):
    fabric = start(pod_net, SM_HOST, sweep_interval=1.0, audit_rate=0, transaction_timeout=10000)  # a busy simulator is not silent
    first = fabric.wait_up()

    def fec_is_read(status):
        """It is asked once behind "up", a pair of MADs a link: a poll in which nothing of it is sent any more."""
        nonlocal first
        sent, polls, first = status["smps_sent"] - first["smps_sent"], status["polls"] - first["polls"], status
        return polls and sent <= (polls + 1) * 13

    fabric.wait(fec_is_read, "the FEC modes of all links are read")
    last = fabric.wait(lambda s: s["polls"] >= first["polls"] + 4, "four polls are over")
    sent, polls = last["smps_sent"] - first["smps_sent"], last["polls"] - first["polls"]
    assert (polls - 1) * 12 <= sent <= (polls + 1) * (12 + 1)  # either status may have been taken amid a poll; 1 for the own port
    assert last["lft_blocks_written"] == first["lft_blocks_written"]
    assert last["smps_timed_out"] == first["smps_timed_out"] == 0


def test_sweep_of_an_unchanged_fabric_writes_nothing(start, pod_net):
    fabric = start(pod_net, SM_HOST)
    before = Before(fabric)
    written = fabric.status()["lft_blocks_written"]
    for act in ("sweep", "reroute", "sweep"):
        assert fabric.ask(act)["fabric_up"] is True
    assert fabric.status()["lft_blocks_written"] == written
    assert fabric.status()["last_fault"] is None
    before.holds_again()
