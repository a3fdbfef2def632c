# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""import-state: a state_dir of files and a journal becomes rows; what of it is damaged is reported."""
import os
import sqlite3
import subprocess

import pytest

from fabric import program

IMPORT = program("fmd").parent / "import-state"
SERVICE = "a" * 352


def checksum(data):
    """As those versions summed bytes."""
    total = 0
    for word in (len(data), *(int.from_bytes(data[at:at + 8], "little") for at in range(0, len(data), 8))):
        total = (total + word + 1) * 0x9E3779B97F4A7C15 % 2**64
        total ^= total >> 32
    return total


class Old:
    """A state_dir of before, and the database that is made of it."""

    def __init__(self, folder):
        self.folder, self.number, self.rows, self.kinds, self.lost = folder, 0, {}, set(), {}

    def write(self, name, *lines):
        text = "".join(f"{line}\n" for line in lines).encode()
        (self.folder / name).write_bytes(f"# fmd state 2: {name}\n".encode() + text + f"# end {len(text):020} {checksum(text):016x}\n".encode())

    def journal(self, segment, word, name, text):
        self.number += 1
        body = f"{self.number} {word} {name} {text}"
        with open(self.folder / f"journal-{segment}", "a") as out:
            out.write(f"{checksum(body.encode()):016x} {body}\n")

    def read(self):
        subprocess.run([IMPORT, self.folder], check=True)
        assert {path.name for path in self.folder.iterdir()} <= {"before-state.db", "lock", "state.db"}
        assert (self.folder / "state.db").stat().st_mode & 0o777 == 0o600
        with sqlite3.connect(self.folder / "state.db") as db:
            for kind, key, value, number, total in db.execute("SELECT * FROM state"):
                if total == 0:
                    self.lost[kind, key] = value
                elif kind == "kinds":
                    self.kinds.add(key)
                else:
                    self.rows[kind, key] = value


@pytest.fixture
def old(tmp_path):
    return Old(tmp_path)


def test_files_become_rows(old):
    old.write("lids", "0x01 5 0", "0x02 6 0 1700000000")
    old.write("cordons", "0x05 0 2026-11-29T00:00:00Z")
    old.write("groups", "group 0xff 0x1 0xc000 0xffff", "member 0x9 1 0", "member 0xa 4 1", "group 0xff 0x2 0xc001 0xffff", "member 0x9 1 0")
    old.write("cables", "switch 0x05 64 0x05 713 leaf one", "port 0x06 1 0x07", "cable 0x05 1 0x06 2 0")
    old.write("subscriptions", "0x9 1 2 3 1 66 0 1 4 0 0 0xfe 0x8")
    old.write("plan", "# a plan", "A B")
    old.write("events-1", '{"seq": 513, "text": "x"}')
    old.write("nvlink", "log h1", "log h1")
    old.write("nvswitch")
    old.read()
    assert not old.lost and old.kinds == {kind for kind, _ in old.rows} | {"nvswitch"}, "one that was kept and is empty, too"
    assert old.rows == {("lids", "0x01"): "5 0", ("lids", "0x02"): "6 0 1700000000", ("cordons", "0x05 0"): "2026-11-29T00:00:00Z",
                        ("groups", "group 0xff 0x1"): "0xc000 0xffff", ("groups", "joined 0xff 0x1 0x9"): "1 0", ("groups", "joined 0xff 0x1 0xa"): "4 1",
                        ("groups", "group 0xff 0x2"): "0xc001 0xffff", ("groups", "joined 0xff 0x2 0x9"): "1 0",
                        ("nodes", "0x05"): "switch 64 0x05 713 leaf one", ("ports", "0x06 1"): "0x07", ("cables", "0x05 1"): "0x06 2 0",
                        ("subscriptions", "0x9 1 66 0 1 4 0 0 0xfe 0x8"): "2 3 1", ("plan", "text"): "# a plan\nA B\n",
                        ("events", "513"): '{"seq": 513, "text": "x"}', ("nvlink", "log h1"): "", ("nvlink", "log h1 1"): ""}


def test_what_the_journal_has_behind_the_files_comes_on_top(old):
    old.write("groups", "group 0xff 0x1 0xc000 0xffff", "member 0x9 1 0")
    old.write("cables", "switch 0x05 64 a", "switch 0x06 64 b", "cable 0x05 1 0x06 2 0", "cable 0x05 3 0x06 4 0")
    old.number = 10  # the other segment is the older one
    old.journal(1, "journal", "1", "")
    old.journal(1, "record", "groups", "joined 0xff 0x1 0x9 0 0")  # 12: saved below
    old.journal(1, "record", "cables", "down 0x05 1 1700000000")
    old.journal(0, "journal", "1", "")
    old.journal(0, "record", "groups", "group 0xff 0x3 0xc001 0xffff")
    old.journal(0, "record", "groups", "joined 0xff 0x3 0xb 1 0")
    old.journal(0, "saved", "groups", "12")
    old.journal(0, "record", "cables", "cable 0x05 3 0x06 9 0")  # moved
    old.journal(0, "record", "services", "gone 0 00")
    old.journal(0, "record", "of-tomorrow", "what is this")
    old.read()
    assert not old.lost
    assert (old.rows["groups", "joined 0xff 0x1 0x9"], old.rows["groups", "joined 0xff 0x3 0xb"]) == ("1 0", "1 0")
    assert (old.rows["cables", "0x05 1"], old.rows["cables", "0x05 3"]) == ("0x06 2 1700000000", "0x06 9 0")


def test_a_group_that_ended_and_a_node_that_was_forgotten_are_gone(old):
    old.write("groups", "group 0xff 0x1 0xc000 0xffff", "member 0x9 1 0")
    old.write("cables", "switch 0x05 64 a", "ca 0x06 2 b", "port 0x06 1 0x07", "cable 0x05 1 0x06 1 0")
    old.journal(0, "journal", "1", "")
    old.journal(0, "record", "groups", "end 0xff 0x1")
    old.journal(0, "record", "cables", "no-node 0x06")
    old.read()
    assert old.rows == {("nodes", "0x05"): "switch 64 a"}


def test_what_is_held_and_what_no_longer_is(old):
    old.write("held", "0x05 1 0x06 2 isolated 1 why", "0x05 3 0x06 4 held 1 why", "beyond 0x05 5 0x07 1 none 3")
    old.journal(0, "journal", "1", "")
    old.journal(0, "record", "held", "0x05 1 0x06 2 none 1 why")
    old.journal(0, "record", "held", "0x05 3 0x06 4 none 3 shut")
    old.read()
    assert old.rows == {("held", "0x05 3 0x06 4"): "none 3 shut", ("held", "beyond 0x05 5 0x07 1"): "none 3"}


def test_a_cable_of_the_journal_takes_both_of_its_ends(old):
    old.write("cables", "cable 0x05 1 0x06 1 0", "cable 0x07 1 0x08 1 0", "cable 0x09 1 0x0a 1 0")
    old.journal(0, "journal", "1", "")
    old.journal(0, "record", "cables", "cable 0x05 1 0x08 1 0")
    old.journal(0, "record", "cables", "no-cable 0x0a 1")
    old.read()
    assert old.rows == {("cables", "0x05 1"): "0x08 1 0"}


def test_a_service_is_named_by_its_first_digits(old):
    old.write("services", f"1800000000 {SERVICE}", f"0 {SERVICE[:40]}")
    old.read()
    assert old.rows == {("services", SERVICE[:52]): f"{SERVICE[52:]} 1800000000"}


def test_what_is_damaged_or_missing_is_told_with_what_it_had(old):
    old.write("lids", "0x01 5 0")
    old.write("hosts", "DEGRADED h1")
    old.write("quarantine", "0x01 1 5 6 why")
    old.write("manifest", "cordons spine-01, leaf-02", "lids", "hosts")
    os.truncate(old.folder / "lids", 20)
    (old.folder / "quarantine").write_bytes((old.folder / "quarantine").read_bytes().replace(b"why", b"who"))
    old.journal(0, "journal", "1", "")
    old.journal(0, "record", "cordons", "0x05 0 now")
    with open(old.folder / "journal-0", "a") as out:
        out.write("0123456789abcdef 3 record cordons 0x06 0 now\n")
    old.read()
    assert old.lost == {("cordons", "file cordons"): "the file is missing; it had: spine-01, leaf-02",
                        ("lids", "file lids"): "its first or last line is not what was written", ("quarantine", "file quarantine"): "wrong checksum",
                        ("journal", "file journal"): "it is damaged: what stands behind that is lost"}
    assert old.rows == {("hosts", "DEGRADED h1"): "", ("cordons", "0x05 0"): "now"}


def test_files_that_were_read_are_put_away(old):
    old.write("lids", "0x01 5 0")
    old.write("manifest", "lids")
    (old.folder / "lock").touch()
    old.read()
    assert {path.name for path in old.folder.iterdir()} == {"before-state.db", "lock", "state.db"}
    assert {path.name for path in (old.folder / "before-state.db").iterdir()} == {"lids", "manifest"}
