# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""state.db: what was acknowledged outlives kill -9 and power cuts, what is damaged is told, and the state_dir of earlier versions is taken over."""
import contextlib
import pathlib
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import threading

import pytest

from fabric import ROOT, poll, program

SM_HOST, HOST = "H-0002c90380000100", "H-0002c90380008300"
GUID = f"0x{int(HOST[2:], 16) + 1:016x}"
HERE = pathlib.Path(__file__).parent
MGID = "ff12401bffff0000000000000000%04x"
SPINES = ["spine-0001", "spine-0002"]
STEADY = """
import sys
sys.path.insert(0, sys.argv[1])
import sa_client
client, number = sa_client.Client(int(sys.argv[2], 0)), int(sys.argv[4])
for number in range(number, number + int(sys.argv[5])):
    if number % 2:
        client.change(sa_client.SET, int(sys.argv[3], 0), "ff12401bffff0000000000000000%04x" % number, 1)
    else:
        client.register(int(sys.argv[3], 0), number, "steady")
    print(number, flush=True)
"""
EACH, ROUNDS = 80, 6  # joins and services of a round: a host may register 256 services
CUTS, FLIPS = 12, 12


def client(fabric, *arguments):
    return fabric.run(sys.executable, HERE / "sa_client.py", fabric.status()["sm_lid"], *arguments, host=HOST)


def again(fabric):
    fabric.stop_fmd(signal.SIGKILL)
    fabric.start_fmd(SM_HOST)
    return fabric.wait_up()


def joined(fabric):
    return sum(1 for group in fabric.ask("groups") if group["full"])


def lost(fabric):
    return [alert["text"] for alert in fabric.status()["alerts"] if alert["what"] == "state-lost"]


# ---- kill -9


@pytest.mark.long
def test_what_was_acknowledged_just_before_a_kill_is_there_after_it(start, pod_net):
    fabric = start(pod_net, SM_HOST)
    for step in range(4):
        client(fabric, "join", GUID, MGID % (step + 1))
        again(fabric)
        client(fabric, "register", GUID, str(step + 1), f"service-{step}")
        again(fabric)
        if step == 0:
            client(fabric, "subscribe")
        sa = again(fabric)["sa"]
        assert (joined(fabric), sa["services"], sa["subscriptions"]) == (step + 1, step + 1, 1)
    client(fabric, "leave", GUID, MGID % 1)
    again(fabric)
    client(fabric, "delete", GUID, "1")
    sa = again(fabric)["sa"]
    assert (joined(fabric), sa["services"]) == (3, 3)
    assert not [e for e in fabric.ask("events", "-n", "200") if "register anew" in e["text"] or e["kind"] == "state-lost"]


@pytest.mark.long
def test_what_an_operator_was_answered_just_before_a_kill_is_in_force_after_it(start, pod_net):
    fabric = start(pod_net, SM_HOST)
    off = ["H-0002c90380000a00", "H-0002c90380000b00"]
    fabric.wait_up()
    fabric.fmctl("cordon", "S-0002c90300000900")
    cordoned = again(fabric)["links_cordoned"]
    assert cordoned > 0
    fabric.fmctl("uncordon", "S-0002c90300000900")
    assert again(fabric)["links_cordoned"] == 0
    fabric.fmctl("nvswitch", "set", "dgx-su01-05", "NO_P2P")
    again(fabric)
    assert [h["override"] for h in fabric.ask("nvswitch")["hosts"] if h["host"] == "dgx-su01-05"] == ["NO_P2P"]
    fabric.fmctl("nvswitch", "clear", "dgx-su01-05")
    again(fabric)
    assert not [h for h in fabric.ask("nvswitch")["hosts"] if h["host"] == "dgx-su01-05" and h["override"]]
    fabric.console(*[f'Unlink "{host}"' for host in off])
    before = fabric.wait_up(lambda s: s["links_down"] == len(off), "two hosts are off")
    fabric.fmctl("forget", "--down")
    after = again(fabric)
    assert after["links_down"] == 0 and after["hcas"] == before["hcas"] - len(off)
    assert not [n for n in fabric.ask("nodes") if f"H-{n['guid'][2:]}" in off]
    assert not {f"0x{int(host[2:], 16) + 1:016x}" for host in off} & fabric.rows("lids").keys()


class Operator(threading.Thread):
    """Cordons ports of a spine and takes them back, one by one, until fmd ends."""

    def __init__(self, fabric, chance):
        super().__init__()
        self.fabric, self.chance, self.acknowledged, self.asked, self.count = fabric, chance, set(cordons(fabric)), None, 0

    def run(self):
        while True:
            port = self.chance.randrange(1, 33)
            then = self.acknowledged ^ {port}
            self.asked = then
            done = self.fabric.fmctl("cordon" if port in then else "uncordon", f"spine-01:{port}", check=False)
            if done.returncode:
                return
            self.acknowledged, self.count = then, self.count + 1


def cordons(fabric):
    """Ports of the spine, as they are on disk."""
    return {int(key.split()[1]) for key in fabric.rows("cordons")}


@pytest.mark.long
def test_kills_at_any_moment_of_joins_and_cordons_lose_nothing_that_was_acknowledged(start, pod_net):
    fabric = start(pod_net, SM_HOST)
    number, chance = 1, random.Random(4711)
    for _ in range(ROUNDS):
        lid, environment = fabric.status()["sm_lid"], fabric.environment(HOST)
        operator = Operator(fabric, chance)
        steady = subprocess.Popen([sys.executable, "-c", STEADY, HERE, str(lid), GUID, str(number), str(EACH)], env=environment, stdout=subprocess.PIPE, text=True)
        operator.start()
        try:
            for _ in range(chance.randrange(3, EACH - 20)):
                number = int(steady.stdout.readline()) + 1
            fabric.stop_fmd(signal.SIGKILL)
        finally:
            steady.send_signal(signal.SIGTERM)
            rest, _ = steady.communicate()
            operator.join()
        number = max([number, *(int(line) + 1 for line in rest.split())])
        fabric.start_fmd(SM_HOST)
        status = fabric.wait_up()
        acknowledged = number - 1
        services, groups = status["sa"]["services"], joined(fabric)
        print(acknowledged, services, groups, operator.count)
        # What was being asked for may be there, too.
        assert acknowledged <= services + groups <= acknowledged + 1
        assert services >= acknowledged // 2 and groups >= (acknowledged + 1) // 2
        assert cordons(fabric) in (operator.acknowledged, operator.asked)
        assert not lost(fabric)
        number = services + groups + 1


# ---- Power cuts


def after_power_cut(fabric, synced):
    """fmd is killed, and its state_dir is what had reached the disk itself."""
    fabric.stop_fmd(signal.SIGKILL)
    for path in fabric.state_dir.glob("state.db*"):
        path.unlink()
        if (synced / path.name).exists():
            shutil.copy(synced / path.name, fabric.state_dir)
    fabric.start_fmd(SM_HOST)
    return fabric.wait_up()


def test_a_power_cut_loses_nothing_that_was_answered_where_state_is_synchronous(start, small_net, bad_disk, tmp_path):
    synced = tmp_path / "synced"
    synced.mkdir()
    fabric = start(small_net, fmd=False, state_synchronous="full")
    fabric.start_fmd(library=bad_disk, SYNCED_DISK=synced)
    fabric.wait_up()
    leaf = leaf_of(fabric)
    for port in range(1, 5):
        fabric.fmctl("cordon", f"{leaf}:{uplinks(fabric, leaf)[port % 2]}" if port < 3 else SPINES[port - 3])
    held = fabric.rows("cordons")
    after_power_cut(fabric, synced)
    assert fabric.rows("cordons") == held and len(held) >= 2 and not lost(fabric)


def test_what_is_written_reaches_the_disk_itself_however_much_follows(start, small_net, bad_disk, tmp_path):
    """By default within a second: also where there is a change in each."""
    synced = tmp_path / "synced"
    synced.mkdir()
    fabric = start(small_net, fmd=False)
    fabric.start_fmd(library=bad_disk, SYNCED_DISK=synced)
    fabric.wait_up()
    leaf = leaf_of(fabric)
    first, port = uplinks(fabric, leaf)[:2]
    fabric.fmctl("cordon", f"{leaf}:{first}")

    def reached():
        fabric.fmctl("uncordon" if reached.cordoned else "cordon", f"{leaf}:{port}")
        reached.cordoned = not reached.cordoned
        return any(path.suffix != ".new" and f" {first}".encode() in rows_in(path, "cordons") for path in synced.glob("state.db*"))

    reached.cordoned = False
    poll(reached, "the first change is on disk")
    after_power_cut(fabric, synced)
    assert [key for key in fabric.rows("cordons") if key.endswith(f" {first}")] and not lost(fabric)


def rows_in(path, kind):
    """Bytes of a file that follow that kind's name: keys of its rows begin them."""
    return b"".join(piece[:40] for piece in path.read_bytes().split(kind.encode())[1:])


def leaf_of(fabric):
    return next(s["name"] for s in fabric.ask("switches") if s["name"].startswith("leaf"))


def uplinks(fabric, leaf):
    """Ports of a leaf to spines."""
    ends = [(link[one], link[other]) for link in fabric.ask("links") for one, other in (("a", "b"), ("b", "a"))]
    return sorted(one["port"] for one, other in ends if one["name"] == leaf and other["name"].startswith("spine"))


# ---- Damage


def frames_of(log):
    """Ends of the changes in a -wal, as offsets behind their last frame, and the salts of the log."""
    if len(log) < 32:
        return [], b""
    page, salts = struct.unpack(">I", log[8:12])[0], log[16:24]
    ends = []
    for at in range(32, len(log) - 24 - page + 1, 24 + page):
        if log[at + 8:at + 16] != salts:
            break
        if log[at + 4:at + 8] != bytes(4):
            ends.append(at + 24 + page)
    return ends, salts


@pytest.fixture(scope="module")
def history(small_net, tmp_path_factory):
    """(an fmd that has ended, its state_dir as kill -9 left it, and for each of its cordons what the -wal had then: its salts, and the end of its last change)"""
    from fabric import Fabric
    fabric = Fabric(tmp_path_factory.mktemp("history"), small_net)
    try:
        fabric.start_fmd()
        fabric.wait_up()
        poll(lambda: fabric.rows("lids") and fabric.rows("cables"), "all is kept")
        steps = []
        for link in fabric.ask("links"):
            if not all(link[end]["name"].startswith(("leaf", "spine")) for end in "ab"):
                continue
            fabric.fmctl("cordon", f"{link['a']['name']}:{link['a']['port']}")
            key, copy = (fabric.rows("cordons").keys() - {step[0] for step in steps}).pop(), fabric.state_copy()
            ends, salts = frames_of((copy / "state.db-wal").read_bytes())
            steps.append((key, salts, ends[-1] if ends else 0))
            if ends:  # a checkpoint leaves the log empty
                kept, count = fabric.scratch / f"kept-{len(steps)}", len(steps)
                copy_state(copy, kept)
                shutil.copy(fabric.state_dir / "manifest", kept)
        fabric.stop_fmd(signal.SIGKILL)
        del steps[count:]
        yield fabric, kept, steps
    finally:
        fabric.stop()


def copy_state(folder, to):
    shutil.copytree(folder, to, ignore=lambda _, names: [name for name in names if not name.startswith(("state.db", "manifest"))])


def begin_with(fabric, kept, change):
    """fmd with a state_dir of which one file is another; its cordons. change: (name, what is done to its bytes)."""
    shutil.rmtree(fabric.state_dir)
    copy_state(kept, fabric.state_dir)
    name, how = change
    path = fabric.state_dir / name
    path.write_bytes(how(path.read_bytes()))
    fabric.start_fmd()
    fabric.wait_up()
    found = set(fabric.rows("cordons")), lost(fabric)
    fabric.stop_fmd()
    return found


@pytest.mark.long
def test_a_log_that_was_cut_has_all_changes_that_ended_before(history):
    fabric, kept, steps = history
    log = (kept / "state.db-wal").read_bytes()
    ends, salts = frames_of(log)
    chance = random.Random(4)
    assert len(steps) >= 8 and ends and steps[-1][1] == salts
    for length in sorted({0, 31, 32, ends[-1] - 1, ends[-1], *(chance.randrange(ends[-1]) for _ in range(CUTS))}):
        found, told = begin_with(fabric, kept, ("state.db-wal", lambda log, length=length: log[:length]))
        least = sum(its != salts or end <= length for _, its, end in steps)
        assert found in [{key for key, _, _ in steps[:count]} for count in range(least, len(steps) + 1)], (length, told)
        assert not told, "a log that ends early is what a kill leaves"


@pytest.mark.long
@pytest.mark.parametrize("name", ["state.db", "state.db-wal"])
def test_bits_that_flipped_are_told_where_they_lose_anything(history, name):
    fabric, kept, steps = history
    size = frames_of((kept / name).read_bytes())[0][-1] if name.endswith("-wal") else (kept / name).stat().st_size
    chance, silent = random.Random(5), 0
    for _ in range(FLIPS):
        at, bit = chance.randrange(size), 1 << chance.randrange(8)

        def flip(data, at=at, bit=bit):
            return data[:at] + bytes([data[at] ^ bit]) + data[at + 1:]

        found, told = begin_with(fabric, kept, (name, flip))
        assert found == {key for key, _, _ in steps} or told, (at, bit)
        assert found <= {key for key, _, _ in steps}, (at, bit)
        silent += not told
    print(name, "flips that lost nothing:", silent, "of", FLIPS)


def test_damaged_pages_are_put_aside_told_and_what_can_be_read_is_kept(start, small_net):
    fabric = start(small_net)
    fabric.fmctl("cordon", SPINES[0])
    lids = fabric.lids()
    assert fabric.stop_fmd() == 0
    path = fabric.state_dir / "state.db"
    data = path.read_bytes()
    page = data.index(b"lids0x") // 4096
    path.write_bytes(data[:page * 4096] + bytes(range(256)) * 16 + data[(page + 1) * 4096:])
    fabric.start_fmd()
    fabric.wait_up()
    told = lost(fabric)
    assert len(told) == 1 and "state.db.bad" in told[0], told
    assert (fabric.state_dir / "state.db.bad").exists() and fabric.lids() == lids
    assert sorted(int(value.split()[0]) for value in fabric.rows("lids").values()) == sorted(lids.values()), "they are kept again"
    (fabric.state_dir / "state.db.bad").unlink()
    fabric.wait(lambda s: not s["alerts"], "who took it away has seen it")


@pytest.mark.parametrize("what", ["no database", "empty", "a text"])
def test_a_database_that_is_gone_is_told(start, small_net, what):
    fabric = start(small_net)
    fabric.fmctl("cordon", SPINES[0])
    lids = fabric.lids()
    assert fabric.stop_fmd() == 0
    if what == "no database":
        (fabric.state_dir / "state.db").unlink()
    else:
        (fabric.state_dir / "state.db").write_text("no database, but long enough to be taken for one\n" * 400 if what == "a text" else "")
    fabric.start_fmd()
    status = fabric.wait_up()
    assert lost(fabric) and status["links_cordoned"] == 0 and fabric.lids() == lids, "ports hold their LIDs"
    poll(lambda: fabric.rows("lids"), "there is one again")


def test_who_deletes_the_database_of_an_fmd_that_runs_loses_nothing(start, small_net):
    fabric = start(small_net)
    fabric.fmctl("cordon", SPINES[0])
    held = fabric.rows("cordons")
    for path in fabric.state_dir.glob("state.db*"):
        path.unlink()
    fabric.fmctl("cordon", SPINES[1], check=False)
    poll(lambda: len(fabric.rows("cordons")) == 2 and not fabric.status()["troubles"], "it is written anew")
    assert held.items() <= fabric.rows("cordons").items() and fabric.rows("lids")


# ---- What an operator sees and does


def test_the_sqlite3_shell_shows_rows_of_a_copy_and_edits_them_where_fmd_has_ended(start, small_net):
    if not shutil.which("sqlite3"):
        pytest.skip("no sqlite3")
    fabric = start(small_net)
    fabric.fmctl("cordon", SPINES[0])

    def shell(path, statement):
        return subprocess.run(["sqlite3", path, statement], capture_output=True, text=True, check=True).stdout

    guid = next(s["guid"] for s in fabric.ask("switches") if s["name"] == SPINES[0])
    other = next(s["guid"] for s in fabric.ask("switches") if s["name"] == SPINES[1])
    assert f"{guid} 0" in shell(fabric.state_copy() / "state.db", "SELECT key FROM state WHERE kind = 'cordons'").splitlines()
    assert fabric.stop_fmd() == 0
    shell(fabric.state_dir / "state.db", f"UPDATE state SET key = '{other} 0', sum = NULL WHERE kind = 'cordons'")
    fabric.start_fmd()
    status = fabric.wait_up()
    assert status["links_cordoned"] > 0 and list(fabric.rows("cordons")) == [f"{other} 0"] and not lost(fabric)
    told = fabric.ask("events", "--kind", "state-edited")
    assert len(told) == 1 and (told[0]["kept"], told[0]["key"]) == ("cordons", f"{other} 0"), fabric.ask("events", "-n", "100")
    fabric.stop_fmd(signal.SIGKILL)
    fabric.start_fmd()
    fabric.wait_up()
    assert len(fabric.ask("events", "--kind", "state-edited")) == 1, "it has a sum now"


def test_a_newer_form_is_refused_with_words(start, small_net):
    fabric = start(small_net)
    assert fabric.stop_fmd() == 0
    fabric.change_database(("ALTER TABLE state RENAME TO facts",), ("PRAGMA user_version = 2",))
    before = (fabric.state_dir / "state.db").read_bytes()
    fabric.start_fmd()
    assert fabric.fmd.wait(60) != 0
    fabric.fmd = None
    assert "state.db: written by a newer fmd (form 2, this one knows 1)" in fabric.log.read_text()
    assert (fabric.state_dir / "state.db").read_bytes() == before


# ---- Earlier versions


def state_sum(data):
    """Of fm/state/state_file.h."""
    def add(total, word):
        total = (total + word + 1) * 0x9E3779B97F4A7C15 % 2**64
        return total ^ total >> 32

    total = add(0, len(data))
    for at in range(0, len(data), 8):
        total = add(total, int.from_bytes(data[at:at + 8], "little"))
    return total


def form_2(name, lines):
    text = "".join(f"{line}\n" for line in lines).encode()
    return f"# fmd state 2: {name}\n".encode() + text + f"# end {len(text):020} {state_sum(text):016x}\n".encode()


def journal_line(number, word, name, text):
    body = f"{number} {word} {name} {text}"
    return f"{state_sum(body.encode()):016x} {body}\n"


def test_a_state_dir_of_files_and_a_journal_is_taken_over(start, small_net):
    """As 0.1.0 left it at a kill: files, and behind them changes that no file had yet."""
    fabric = start(small_net)
    lids, spines = fabric.lids(), [next(s["guid"] for s in fabric.ask("switches") if s["name"] == name) for name in SPINES]
    mine = fabric.rows("lids")
    assert fabric.stop_fmd() == 0
    shutil.rmtree(fabric.state_dir)
    fabric.state_dir.mkdir(mode=0o700)
    files = {"lids": [f"{guid} {int(value.split()[0]) + 1000} 0" for guid, value in mine.items()], "cordons": [f"{spines[0]} 0 2026-11-01T10:00:00.000Z"],
             "nvswitch": [], "overrides": []}
    summaries = "".join(f"{name}\n" for name in files).splitlines()
    for name, lines in {**files, "manifest": summaries}.items():
        (fabric.state_dir / name).write_bytes(form_2(name, lines))
    changed = next(iter(mine))
    words = MGID % 7
    records = [(7, "saved", "cordons", "6"), (8, "record", "cordons", f"{spines[1]} 0 2026-11-01T10:00:01.000Z"),
               (9, "record", "groups", f"group 0x{words[:16]} 0x{words[16:]} 0xc0f0 0xffff 0xb1b 4 3 18 0 0x0 0 0"),
               (10, "record", "groups", f"joined 0x{words[:16]} 0x{words[16:]} {GUID} 1 0")]
    (fabric.state_dir / "journal-0").write_text("".join(journal_line(*record) for record in records))
    fabric.restart_ibsim()
    fabric.start_fmd()
    status = fabric.wait_up()
    assert fabric.lids() == {guid: lid + 1000 for guid, lid in lids.items()} and changed in mine
    assert {key.split()[0] for key in fabric.rows("cordons")} == set(spines) and status["links_cordoned"] > 0
    assert [g["mlid"] for g in fabric.ask("groups") if g["full"]] and not lost(fabric)
    told = fabric.ask("events", "--kind", "state-taken-over")
    assert len(told) == 1 and told[0]["files"] == len(files)
    away = {path.name for path in (fabric.state_dir / "before-state.db").iterdir()}
    assert away == {*files, "manifest", "journal-0"}
    assert {path.name for path in fabric.state_dir.iterdir()} >= {"state.db", "manifest", "lock"}
    again(fabric)
    assert len(fabric.ask("events", "--kind", "state-taken-over")) == 1, "once"


def test_the_oldest_form_keeps_lids_cordons_groups_and_overrides(start, pod_net):
    old = ROOT / "tests/state/v1"
    fabric = start(pod_net, fmd=False)
    shutil.copytree(old, fabric.state_dir)
    fabric.start_fmd(SM_HOST)
    status = fabric.wait_up()
    kept = dict(line.split()[:2] for line in (old / "lids").read_text().splitlines())
    rows = fabric.rows("lids")
    assert {guid: value.split()[0] for guid, value in rows.items()}.items() >= kept.items() and len(kept) == 268
    assert status["links_cordoned"] == 64
    assert [h["override"] for h in fabric.ask("nvswitch")["hosts"] if h["host"] == "dgx-su01-05"] == ["NO_P2P"]
    words = [line.split()[1:3] for line in (old / "groups").read_text().splitlines() if line.startswith("group")]
    assert {f"group {high} {low}" for high, low in words} <= fabric.rows("groups").keys()
    assert not lost(fabric) and (fabric.state_dir / "before-state.db" / "lids").exists()


def test_a_file_of_an_earlier_version_beside_the_database_is_not_passed_over_silently(start, small_net):
    fabric = start(small_net)
    lids, rows = fabric.lids(), fabric.rows("lids")
    assert fabric.stop_fmd() == 0
    (fabric.state_dir / "lids").write_text("".join(f"{guid} {int(value.split()[0]) + 1000} 0\n" for guid, value in rows.items()))
    fabric.start_fmd()
    fabric.wait_up()
    assert [text for text in lost(fabric) if text.startswith("lids: this file") and "was not read" in text] and fabric.lids() == lids
    assert fabric.stop_fmd() == 0
    assert (fabric.state_dir / "lids").exists()
    for path in fabric.state_dir.glob("state.db*"):
        path.unlink()
    fabric.restart_ibsim()
    fabric.start_fmd()
    fabric.wait_up()
    assert fabric.lids() == {guid: lid + 1000 for guid, lid in lids.items()} and not lost(fabric), "as the alert advises"


def test_fmd_does_not_start_where_it_cannot_read_the_files_of_an_earlier_version(start, small_net, monkeypatch, tmp_path):
    for name in ("fmd", "fmctl"):
        shutil.copy(program(name), tmp_path)
    fabric = start(small_net, fmd=False)
    shutil.copytree(ROOT / "tests/state/v1", fabric.state_dir)
    monkeypatch.setenv("FMD_BIN", str(tmp_path))
    fabric.start_fmd()
    assert fabric.fmd.wait(60) == 1
    fabric.fmd = None
    assert "has files of an earlier version, which" in fabric.log.read_text()
    monkeypatch.undo()
    fabric.start_fmd()
    fabric.wait_up()
    assert fabric.rows("cordons") and not lost(fabric), "nothing was lost by that"
