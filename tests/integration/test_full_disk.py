# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A state_dir whose disk is full, on a tmpfs of its own: hosts are served, the status says it, nothing that was there is lost, and room heals."""
import contextlib
import ipaddress
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

from fabric import free_door
from test_mirror import FAST, HERE as ONE, THERE as OTHER, managed, secret, whole

pytestmark = pytest.mark.long

SM_HOST, HOST = "H-0002c90380000100", "H-0002c90380008300"
GUID = f"0x{int(HOST[2:], 16) + 1:016x}"
SPINE, OTHER_SPINE = "S-0002c90300000900", "S-0002c90300000a00"
HERE = pathlib.Path(__file__).parent
MGID = "ff12401bffff0000000000000000%04x"
ROOM = 4 << 20  # bytes; the database of this fabric and its log are a tenth of it
BULK = """
import sys
sys.path.insert(0, sys.argv[1])
import sa_client
client = sa_client.Client(int(sys.argv[2], 0))
for number in range(int(sys.argv[4])):
    client.change(sa_client.SET, int(sys.argv[3], 0), "ff12401bffff000000000000%08x" % (0x10000 + number), 1)
    client.change(sa_client.DELETE, int(sys.argv[3], 0), "ff12401bffff000000000000%08x" % (0x10000 + number), 1)
"""


@contextlib.contextmanager
def own_disk(fabric):
    """The manager's state_dir is a file system of its own; yields what fills it up."""
    fabric.state_dir.mkdir(exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM},mode=0700", "fmd-test", fabric.state_dir], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")

    def fill():
        with open(fabric.state_dir / "filler", "wb", buffering=0) as out:
            for piece in (1 << 16, 1):
                try:
                    while out.write(b"x" * piece):
                        pass
                except OSError:
                    pass
        assert shutil.disk_usage(fabric.state_dir).free == 0

    try:
        yield fill
    finally:
        fabric.stop()
        subprocess.run(["umount", "-l", fabric.state_dir], check=True)


@pytest.fixture
def small_disk(start, pod_net):
    """A manager whose state_dir is a file system of its own; yields it, and what fills it up and gives the room back."""
    fabric = start(pod_net, SM_HOST, fmd=False)
    with own_disk(fabric) as fill:
        fabric.start_fmd(SM_HOST)
        fabric.wait_up()
        yield fabric, fill, (fabric.state_dir / "filler").unlink


def client(fabric, *arguments):
    return fabric.run(sys.executable, HERE / "sa_client.py", fabric.status()["sm_lid"], *arguments, host=HOST)


def joined(fabric):
    return {ipaddress.ip_address(g["mgid"]).exploded.replace(":", "") for g in fabric.ask("groups") if g["full"]}


def troubles(status):
    return {row["what"]: row["error"] for row in status["troubles"]}


def fill_log(fabric):
    """Until the database's log has no room: it writes over what a checkpoint has freed, even where the disk is full."""
    for _ in range(20):
        if "state_dir/state.db" in troubles(fabric.status()):
            break
        fabric.run(sys.executable, "-c", BULK, HERE, fabric.status()["sm_lid"], GUID, "20", host=HOST)
    return fabric.wait(lambda s: "state_dir/state.db" in troubles(s), "the database's trouble")


def saved(fabric, what):
    fabric.wait(lambda s: not s["troubles"] and all(fabric.kinds("cables", "lids", "groups", "tables").values()), what)


def test_a_full_disk_is_told_and_loses_nothing_that_was_there_and_room_heals(small_disk):
    fabric, fill, give_room = small_disk
    client(fabric, "join", GUID, MGID % 1, "1")
    fabric.fmctl("cordon", SPINE)
    assert any(key.startswith("joined") and f"{1:016x} " in key for key in fabric.rows("groups")), "the group is on disk"
    saved(fabric, "all is on disk")
    lids, tables = fabric.lids(), fabric.rows("tables")
    fill()
    # Hosts and operators are served; what can't be kept is told first of all.
    fill_log(fabric)
    client(fabric, "join", GUID, MGID % 2, "1")
    client(fabric, "register", GUID, "1", "while full")
    done = fabric.fmctl("cordon", OTHER_SPINE, check=False)
    assert done.returncode == 1 and "not saved: No space left on device" in done.stderr
    status = fabric.status()
    assert {MGID % 1, MGID % 2} <= joined(fabric) and status["sa"]["services"] == 1 and status["links_cordoned"] == 128
    shown = fabric.fmctl("status", check=False).stdout.splitlines()
    assert any("state_dir/state.db: not saved" in line for line in shown[:4]), shown[:8]
    # Killed while it is full: what was there before is there again, whole.
    fabric.stop_fmd(signal.SIGKILL)
    fabric.start_fmd(SM_HOST)
    status = fabric.wait_up()
    assert fabric.lids() == lids and MGID % 1 in joined(fabric) and status["links_cordoned"] == 64
    assert not [a for a in fabric.status()["alerts"] if a["what"] == "state-lost"] and not list(fabric.state_dir.glob("*.bad"))
    assert status["lft_blocks_written"] > 0 or fabric.rows("tables") == tables
    # Room: it heals by itself, and what was acknowledged meanwhile outlives the next kill.
    client(fabric, "join", GUID, MGID % 3, "1")
    client(fabric, "register", GUID, "2", "while full")
    fill_log(fabric)
    give_room()
    saved(fabric, "it heals")
    fabric.stop_fmd(signal.SIGKILL)
    fabric.start_fmd(SM_HOST)
    status = fabric.wait_up()
    assert {MGID % 1, MGID % 3} <= joined(fabric) and fabric.lids() == lids
    assert status["sa"]["services"] in (1, 2), "the second one, and the first if the log had room for it"


def test_a_log_that_ran_out_of_room_in_a_change_goes_on_with_it(small_disk):
    """The disk fills up in the midst of a storm of joins, has room for some bytes, and then for all."""
    fabric, fill, give_room = small_disk
    fill()
    with open(fabric.state_dir / "filler", "r+b") as filler:
        size = os.fstat(filler.fileno()).st_size
        filler.truncate(size - 4096)
    fill_log(fabric)
    client(fabric, "join", GUID, MGID % 4, "1")
    with open(fabric.state_dir / "filler", "r+b") as filler:
        filler.truncate(size - 3 * 4096)
    client(fabric, "join", GUID, MGID % 5, "1")
    give_room()
    fabric.wait(lambda s: not s["troubles"], "it heals")
    fabric.stop_fmd(signal.SIGKILL)
    fabric.start_fmd(SM_HOST)
    fabric.wait_up()
    assert joined(fabric) == {MGID % 4, MGID % 5}
    assert not [a for a in fabric.status()["alerts"] if a["what"] == "state-lost"] and not list(fabric.state_dir.glob("*.bad"))


@pytest.fixture
def two_managers(start, pod_net, tmp_path):
    """Two, each other's peers, of which none runs yet; the second has a disk of its own. Yields both, and what fills that disk."""
    doors, psk = (free_door(), free_door()), {"peer_psk_file": secret(tmp_path / "psk")}
    one = start(pod_net, ONE, fmd=False, peer_listen=doors[0], peers=doors[1], **psk, **FAST)
    other = one.another(peer_listen=doors[1], peers=doors[0], **psk, **FAST)
    with own_disk(other) as fill:
        yield one, other, fill


def cordoned_after_the_end_of(gone, left):
    gone.stop_fmd(signal.SIGKILL)
    return left.wait(managed, "it has taken over")["links_cordoned"]


def test_who_begins_to_copy_a_manager_with_a_full_disk_has_what_that_one_could_not_write(two_managers):
    one, full, fill = two_managers
    full.start_fmd(OTHER)
    full.wait_up()
    fill()
    assert "not saved" in full.fmctl("cordon", SPINE, check=False).stderr
    one.start_fmd(ONE)
    one.wait(lambda s: s["sm"] == "standby", "it stands by")
    whole(one)
    assert cordoned_after_the_end_of(full, one) == 64


def test_what_a_standby_with_a_full_disk_copied_goes_on_to_the_next_one(two_managers):
    """The first manager has written it, and would lose it by copying the second one, which has it in memory alone."""
    one, full, fill = two_managers
    one.start_fmd(ONE)
    one.wait_up()
    full.start_fmd(OTHER)
    full.wait(lambda s: s["sm"] == "standby", "it stands by")
    whole(full)
    fill()
    one.fmctl("cordon", SPINE)
    one.wait(lambda s: s["mirror"]["standbys"][0]["behind"] == 0, "the standby has taken it")
    full.wait(lambda s: "state_dir/state.db" in troubles(s), "it could not write it")
    assert cordoned_after_the_end_of(one, full) == 64
    one.start_fmd(ONE)
    one.wait(lambda s: s["sm"] == "standby", "it stands by")
    whole(one)
    assert cordoned_after_the_end_of(full, one) == 64
