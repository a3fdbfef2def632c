# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""LIDs outlive fmd, its state folder and the ports' own memory."""
import shutil
import signal

from fabric import poll

SM_HOST = "H-0002c90380000100"
SHIFT = 1000  # away from the LIDs that fmd gives by itself


def shift_lids(fabric):
    """Moves the LIDs in state_dir, so that what is kept differs from what would be given anew."""
    rows = {guid: value.split() for guid, value in fabric.rows("lids").items()}
    assert len(rows) == 280
    fabric.change_database(*[("UPDATE state SET value = ?, sum = NULL WHERE kind = 'lids' AND key = ?", (f"{int(lid) + SHIFT} {lmc}", guid))
                             for guid, (lid, lmc) in rows.items()])


def shifted(lids):
    return {guid: lid + SHIFT for guid, lid in lids.items()}


def restart(fabric):
    fabric.start_fmd(SM_HOST)
    fabric.wait_up()
    return fabric.lids()


def held(fabric):
    """The LIDs that the simulator's ports hold."""
    return sorted(port["lid"] for port in fabric.simulated().values() if port["lid"])


def test_restart_keeps_every_lid(start, pod_net):
    fabric = start(pod_net, SM_HOST)
    before, tables = fabric.lids(), fabric.tables()
    assert len(set(before.values())) == 280
    assert fabric.stop_fmd() == 0
    assert restart(fabric) == before
    assert held(fabric) == sorted(before.values())
    assert fabric.tables() == tables


def test_ports_that_lost_their_lids_get_those_of_the_state(start, pod_net):
    fabric = start(pod_net, SM_HOST)
    before = fabric.lids()
    fabric.stop_fmd()
    shift_lids(fabric)
    fabric.restart_ibsim()
    assert held(fabric) == []
    assert restart(fabric) == shifted(before)
    assert held(fabric) == sorted(shifted(before).values())
    assert fabric.pairs_reached() == (256 * 255, 256 * 255)


def test_ports_lids_serve_where_the_state_is_gone(start, pod_net):
    fabric = start(pod_net, SM_HOST)
    before = fabric.lids()
    fabric.stop_fmd()
    shift_lids(fabric)
    fabric.restart_ibsim()  # ports that run would keep theirs
    restart(fabric)  # the ports hold the shifted ones now
    fabric.stop_fmd()
    shutil.rmtree(fabric.state_dir)
    assert restart(fabric) == shifted(before)
    poll(lambda: len(fabric.rows("lids")) == 280, "the state is kept again")


def test_host_that_joins_later_takes_nobodys_lid(start, pod_net):
    fabric = start(pod_net, fmd=False)
    fabric.console('Unlink "H-0002c90380000a00"')
    fabric.start_fmd(SM_HOST)
    fabric.wait_up(lambda s: s["hcas"] == 255)
    before = fabric.lids()
    fabric.console('Relink "H-0002c90380000a00"')
    fabric.wait_up(lambda s: s["hcas"] == 256)
    after = fabric.lids()
    new = after.pop("0x0002c90380000a00")
    assert after == before and new not in before.values()
    fabric.wait(lambda _: fabric.dark_links() == {}, "every link is Active")
    assert fabric.pairs_reached() == (256 * 255, 256 * 255)


def test_a_spoilt_row_is_dropped_and_told(start, pod_net):
    fabric = start(pod_net, SM_HOST)
    before = fabric.lids()
    fabric.stop_fmd()
    guid, lid = next(iter(fabric.rows("lids").items()))
    fabric.spoil_row("lids", guid, lid.replace(" 0", " 1"))
    assert restart(fabric) == before  # the ports hold them
    lost = [alert for alert in fabric.status()["alerts"] if alert["what"] == "state-lost"]
    assert len(lost) == 1 and f"lids: `{guid} {lid[:-1]}1` is not what was written" in lost[0]["text"], lost
    assert f"`{guid} {lid[:-1]}1` is not what was written" in fabric.log.read_text()
    assert fabric.rows("lids")[guid] == lid


def test_crash_keeps_lids_and_its_socket_is_taken_over(start, pod_net):
    fabric = start(pod_net, SM_HOST)
    before = fabric.lids()
    assert fabric.stop_fmd(signal.SIGKILL) == -signal.SIGKILL
    assert fabric.socket.exists()
    assert fabric.fmctl("status", check=False).returncode == 3
    fabric.console("X 0")  # what the kernel does for a process that dies
    assert restart(fabric) == before


def test_sigterm_in_the_middle_of_a_sweep_ends_it_too(start, pod_net):
    fabric = start(pod_net, fmd=False)
    fabric.start_fmd(SM_HOST)
    fabric.wait(lambda s: s["smps_sent"] > 100, "it is under way")
    assert fabric.stop_fmd(signal.SIGTERM) == 0
