# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A restart of fmd is nothing to the fabric, damaged or not."""
import ctypes
import os
import subprocess

import pytest

SM_HOST = "H-0002c90380000100"
LEAVES = [f"S-0002c9030000{number:02x}00" for number in range(1, 9)]
SPINES = [f"S-0002c9030000{number:02x}00" for number in range(9, 13)]
ALL_PAIRS = (256 * 255, 256 * 255)


def seen(fabric):
    """
    Without the hops: they are of the last whole proof, and which one that was depends on how the damage came. Without what devices report of the fall of a link:
    that is asked as it falls.
    """
    status = fabric.status()
    for figure in ("mean_hops", "max_hops"):
        del status["proof"][figure]
    down = [{key: value for key, value in row.items() if key not in ("reason", "blame")} for row in fabric.ask("links", "--down")]
    return {"tables": fabric.tables(), "lids": fabric.lids(), "down": down,
            **{key: status[key] for key in ("switches", "hcas", "links", "links_down", "at_risk", "proof")}}


def restart(fabric, *while_away):
    assert fabric.stop_fmd() == 0
    if while_away:
        fabric.console(*while_away)
    fabric.start_fmd(SM_HOST)
    return fabric.wait_up()


@pytest.mark.on_ibsim("what is read back is what was written")
def test_damage_is_remembered_and_no_table_is_written(start, pod_net):
    fabric = start(pod_net, SM_HOST, rebalance=0)
    fabric.console(f'Unlink "{LEAVES[6]}"[33]', 'Unlink "H-0002c90380000a00"', f'Clear "{SPINES[1]}"')
    fabric.wait_up(lambda s: s["links_down"] == 66, "all damage is seen")
    before, held = seen(fabric), fabric.simulated_tables()[1]
    assert before["at_risk"] and all(row["since"] for row in before["down"])
    status = restart(fabric)
    assert status["lft_blocks_written"] == 0
    assert seen(fabric) == before
    assert fabric.simulated_tables()[1] == held
    told = [event for event in fabric.ask("events", "-n", "100") if event["kind"] == "tables-held"]
    assert len(told) == 1 and (told[0]["differed"], told[0]["written"]) == (0, 0) and told[0]["read"] > 0
    fabric.console(f'Relink "{SPINES[1]}"', f'Relink "{LEAVES[6]}"[33]', 'Relink "H-0002c90380000a00"')
    fabric.wait_up(lambda s: s["links_down"] == 0 and fabric.pairs_reached() == ALL_PAIRS, "all is mended")


def test_what_happens_meanwhile_is_found_and_no_more_is_written(start, pod_net):
    fabric = start(pod_net, SM_HOST, rebalance=0)
    whole = seen(fabric)
    blocks = fabric.status()["lft_blocks_written"]
    status = restart(fabric, f'Unlink "{LEAVES[6]}"[33]')
    assert (status["links_down"], status["links"]) == (1, whole["links"])
    assert 0 < status["lft_blocks_written"] < blocks
    assert fabric.pairs_reached() == ALL_PAIRS
    assert fabric.stop_fmd() == 0
    fabric.console(f'Relink "{LEAVES[6]}"[33]')
    fabric.lose_tables(LEAVES[2])
    fabric.start_fmd(SM_HOST)
    fabric.wait_up()
    assert seen(fabric) == whole
    assert fabric.pairs_reached() == ALL_PAIRS


def test_what_is_forgotten_stays_forgotten(start, pod_net):
    fabric = start(pod_net, SM_HOST, rebalance=0)
    fabric.console(f'Unlink "{LEAVES[6]}"[33]', 'Unlink "H-0002c90380000a00"')
    fabric.wait_up(lambda s: s["links_down"] == 2, "both are seen")
    assert fabric.fmctl("forget", "H-0002c90380000100", check=False).returncode == 1  # nothing of it is down
    fabric.fmctl("forget", "--down")
    status = restart(fabric)
    assert (status["links"], status["links_down"], status["hcas"], status["lft_blocks_written"]) == (510, 0, 255, 0)
    fabric.console(f'Relink "{LEAVES[6]}"[33]', 'Relink "H-0002c90380000a00"')
    fabric.wait_up(lambda s: (s["links"], s["hcas"]) == (512, 256), "they are back")
    assert fabric.pairs_reached() == ALL_PAIRS


def read_only(folder):
    """For this process alone, as where a file system was mounted again without writing."""
    libc, path = ctypes.CDLL(None), str(folder).encode()
    newns, bind, remount, rdonly, private = 0x20000, 0x1000, 0x20, 0x1, 0x44000
    if libc.unshare(newns) or libc.mount(None, b"/", None, private, None) or libc.mount(path, path, None, bind, None) or libc.mount(
            None, path, None, bind | remount | rdonly, None):
        raise OSError("no mounts here")


@pytest.mark.skipif(os.geteuid() != 0, reason="root's")
def test_a_state_dir_that_cannot_be_written_is_read_and_told(start, small_net):
    fabric = start(small_net)
    fabric.fmctl("cordon", fabric.ask("switches")[-1]["name"])
    lids, cordoned = fabric.lids(), fabric.status()["links_cordoned"]
    assert fabric.stop_fmd() == 0
    before = {path.name: path.read_bytes() for path in fabric.state_dir.iterdir()}
    try:
        fabric.start_fmd(before=lambda: read_only(fabric.state_dir))
    except subprocess.SubprocessError:
        pytest.skip("no mounts here")
    status = fabric.wait_up(lambda s: s["alerts"], "it is told")
    assert status["links_cordoned"] == cordoned > 0 and fabric.lids() == lids
    assert [alert for alert in status["alerts"] if "Read-only file system" in alert["text"]], status["alerts"]
    said = fabric.fmctl("cordon", fabric.ask("switches")[-2]["name"], check=False)
    assert said.returncode == 1 and "not saved" in said.stderr, said
    assert {path.name: path.read_bytes() for path in fabric.state_dir.iterdir()} == before
    log = fabric.log.read_text()
    assert "lock: Read-only file system: state is read and not kept" in log
    assert log.count("Read-only") < 40, "no flood"
