# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""fmctl import-opensm: files that OpenSM itself made become fmd's, and fmd takes the fabric over without moving a LID."""
import json
import os
import pathlib
import random
import re
import subprocess

import pytest

from fabric import DEADLINE_S, Fabric, end_process, poll, program

ROOT = pathlib.Path(__file__).resolve().parents[2]
OFF = "node-0007"  # the host that has no power when fmd comes


def fmctl(*words, code=0):
    done = subprocess.run([program("fmctl"), *map(str, words)], capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def report(*words):
    return json.loads(fmctl("--json", "import-opensm", "--accept", *words).stdout)


def check_config(path, code=0):
    done = subprocess.run([program("fmd"), "--check-config", path], capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def made_by_opensm(tmp_path_factory):
    """opensm.conf as OpenSM writes it with every option at its default."""
    folder = tmp_path_factory.mktemp("opensm-c")
    subprocess.run(["opensm", "-c", folder / "opensm.conf"], capture_output=True, timeout=DEADLINE_S)
    return folder / "opensm.conf"


@pytest.fixture
def site(made_by_opensm, tmp_path):
    """(etc, cache): OpenSM's folders of a site that has set something."""
    etc, cache = tmp_path / "etc", tmp_path / "cache"
    etc.mkdir()
    cache.mkdir()
    (etc / "opensm.conf").write_text(made_by_opensm.read_text())
    return etc, cache


def set_options(etc, **values):
    text = (etc / "opensm.conf").read_text()
    for name, value in values.items():
        assert re.search(rf"^{name} ", text, re.M), name
        text = re.sub(rf"^{name} .*", f"{name} {value}", text, flags=re.M)
    (etc / "opensm.conf").write_text(text)


def keys_of(conf):
    return dict(re.findall(r"^(\w+) = (.*?);", conf.read_text(), re.M))


def test_a_file_of_defaults_leaves_fmds_defaults(site):
    etc, _ = site
    said = report(etc)
    assert said["taken"] == said["not_taken"] == [] and said["standard"] > 140
    assert {"guid2lid", "guid2mkey", "partitions.conf", "node-name-map"} <= set(said["missing"])
    assert keys_of(etc / "fmd" / "fmd.conf") == {}
    check_config(etc / "fmd" / "fmd.conf")


def test_options_that_were_set_are_taken_or_named_with_the_reason(site):
    etc, cache = site
    set_options(etc, sm_priority=5, subnet_timeout="0x13", m_key="0x1234", routing_engine="updn,minhop", qos="TRUE", qos_vlarb_low="0:1,1:64",
                part_enforce="out", sweep_interval=0, lmc=9, force_link_speed="5  # of old cables, ftree", consolidate_ipv6_snm_req="TRUE", sa_key="0x7")
    with open(etc / "opensm.conf", "a") as conf:
        conf.write("ar_mode 1\nfuture_option 7\nsm_priority 6\n")
    (cache / "guid2mkey").write_text("0x10 0x99\n\n0x11 0x1234\n\n0x12 0x99\n\n0x13 0x98\n\n")
    said = report(etc, cache)
    assert keys_of(etc / "fmd" / "fmd.conf") == {
        "sm_priority": "6", "subnet_timeout": "19", "m_key": '"0x0000000000001234"', "old_m_key": '"0x0000000000000099"', "routing_engine": '"updn"',
        "qos": "true", "qos_vlarb_low": '"0:1,1:64"', "part_enforce": '"out"', "consolidate_ipv6_snm_req": "1", "sa_key": '"0x0000000000000007"'}
    why = {row["option"]: row["why"] for row in said["not_taken"]}
    assert why.keys() == {"sweep_interval", "lmc", "force_link_speed", "ar_mode", "future_option"}
    assert "outside 0..7" in why["lmc"] and all(why.values())
    assert why["force_link_speed"].startswith("not offered: ") and ("force_link_speed", "5") in {(row["option"], row["value"]) for row in said["not_taken"]}
    for option in why:
        assert re.search(rf"^# {option} ", (etc / "fmd" / "fmd.conf").read_text(), re.M), option
    check_config(etc / "fmd" / "fmd.conf")
    keys = etc / "fmd" / "state" / "guid2mkey"
    assert "0x0000000000000013 0x0000000000000098\n" in keys.read_text() and keys.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("options, warned", [
    ({"sm_priority": 15}, "(14 by default)"), ({"sm_priority": 9, "master_sm_priority": 8}, "(8)"),
    ({"sm_priority": 14}, ""), ({"sm_priority": 15, "master_sm_priority": 15}, "")])
def test_a_priority_above_a_masters_is_taken_with_a_warning(site, options, warned):
    etc, _ = site
    with open(etc / "opensm.conf", "a") as conf:
        conf.writelines(f"{name} {value}\n" for name, value in options.items())
    said = report(etc)
    assert [(row["option"], row["value"]) for row in said["warnings"]] == ([("sm_priority", str(options["sm_priority"]))] if warned else [])
    assert all(warned in row["why"] and "fmd's default, 0" in row["why"] for row in said["warnings"])
    assert keys_of(etc / "fmd" / "fmd.conf")["sm_priority"] == str(options["sm_priority"])
    assert ("\n# sm_priority " in (etc / "fmd" / "fmd.conf").read_text()) == bool(warned)
    check_config(etc / "fmd" / "fmd.conf")


def test_files_are_followed_to_where_the_options_say(site, tmp_path):
    etc, _ = site
    far = tmp_path / "far"
    far.mkdir()
    (far / "tenants.conf").write_text("Default=0x7fff, ipoib: ALL=full;\n")
    (far / "names").write_text('0x10 "leaf 1"\n')
    (far / "io").write_text("# storage\n0x0002c90380000a00\n0x11 second\n")
    (far / "roots").write_text("0x20\n")
    (etc / "qos-policy.conf").write_text("qos-levels\n  qos-level\n    name: storage\n    sl: 3\n  end-qos-level\nend-qos-levels\n")
    set_options(etc, partition_config_file=far / "tenants.conf", node_name_map_name=far / "names", io_guid_file=far / "io",
                root_guid_file=far / "roots", cn_guid_file=far / "nothing")
    said = report(etc, "--output", tmp_path / "out")
    keys = keys_of(tmp_path / "out" / "fmd.conf")
    assert keys["partition_config_file"] == f'"{far}/tenants.conf"' and keys["node_name_map"] == f'"{far}/names"'
    assert keys["storage_nodes"] == '"0x0002c90380000a00 0x0000000000000011"'
    assert f"{far}/nothing" in said["missing"]
    named = {(row["option"], row["value"]) for row in said["not_taken"]}
    assert named == {("root_guid_file", f"{far}/roots"), ("qos-level", "storage, SL 3")}
    check_config(tmp_path / "out" / "fmd.conf")
    (far / "tenants.conf").write_text("tenant=zero: ALL;\n")
    said = report(etc, "--output", tmp_path / "out")
    assert [row["why"] for row in said["not_taken"] if row["option"] == "partition_config_file"][0].endswith("tenants.conf:1: P_Key is expected") or \
        f"{far}/tenants.conf:1: " in str(said["not_taken"])
    check_config(tmp_path / "out" / "fmd.conf")


def test_what_is_lost_stands_first_and_is_an_error(site):
    etc, _ = site
    set_options(etc, force_link_speed=5, max_wire_smps2=8, root_guid_file=etc / "roots")
    with open(etc / "opensm.conf", "a") as conf:
        conf.write("calculate_missing_routes TRUE\nsweep_intreval 5\n")
    (etc / "roots").write_text("0x20\n")
    (etc / "qos-policy.conf").write_text("qos-ulps\n  default: 0 # default SL\n  sdp, port-num 10000-20000: 2\nend-qos-ulps\n"
                                         "qos-match-rules\n  qos-match-rule\n    use: by class\n    qos-class: 7-9\n  end-qos-match-rule\nend-qos-match-rules\n")
    (etc / "prefix-routes.conf").write_text("# of two routers\n* 0x30\nfec0:0:0:141::/64 0x31\n")
    shown = fmctl("import-opensm", etc, code=1)
    assert "6 settings are lost" not in shown.stderr and "7 settings are lost" in shown.stderr
    headings = {text.split(" (")[0]: text for text in shown.stdout.split("\n\n")[1:]}
    assert list(headings) == ["LOST", "DIFFERENT", "NOTHING TO DO"]
    assert all(word in headings["LOST"] for word in ("force_link_speed 5", "sweep_intreval 5: not an option of OpenSM 3.3; near: sweep_interval",
                                                     "qos-ulps sdp, port-num 10000-20000: 2", "qos-match-rule use: by class, qos-class: 7-9", "prefix route * 0x30"))
    assert "root_guid_file" in headings["DIFFERENT"] and "calculate_missing_routes TRUE: by itself" in headings["DIFFERENT"]
    assert "max_wire_smps2 8: not needed" in headings["NOTHING TO DO"]
    fmctl("import-opensm", etc, "--accept")


def test_lids_that_two_ports_share_are_left_out_and_named(site):
    etc, cache = site
    (cache / "guid2lid").write_text("0x10 0x0001 0x0001\n\n0x11 0x4 0x7\n\n0x12 0x5 0x5\n\n0x13 0xc000 0xc000\n\n0x10 0x9 0x9\n\nnonsense\n")
    said = report(cache)
    assert "opensm.conf" in said["missing"] and (said["ports"], said["ports_left_out"]) == (2, 4)
    assert (cache / "fmd" / "state" / "lids").read_text() == "0x0000000000000010 1 0\n0x0000000000000011 4 2\n"


def test_a_key_that_is_no_number_is_not_taken(site):
    etc, _ = site
    set_options(etc, m_key="secret", sa_key="0x7 0x8")
    assert {(row["option"], row["why"]) for row in report(etc)["not_taken"]} == {("m_key", "not a number"), ("sa_key", "not a number")}


def test_any_bytes_are_taken_or_named_and_never_break_it(site):
    etc, cache = site
    chance = random.Random(1)
    for _ in range(12):
        for path in (etc / "opensm.conf", etc / "node-name-map", etc / "partitions.conf", etc / "qos-policy.conf", cache / "guid2lid", cache / "guid2mkey"):
            path.write_bytes(b"".join(chance.choice((b"0x10", b"m_key", b"guid", b" ", b"\n", b"qos-level", b"sl: 3", b"1", chance.randbytes(3))) for _ in range(60)))
        said = report(etc, cache)
        assert {"opensm.conf", "guid2lid", "guid2mkey", "qos-policy.conf"} <= {row["what"] for row in said["read"]}
        check_config(etc / "fmd" / "fmd.conf")


def test_nothing_to_import_is_an_error(tmp_path):
    assert "neither opensm.conf nor guid2lid" in fmctl("import-opensm", tmp_path, code=1).stderr
    assert "moon" in fmctl("import-opensm", tmp_path / "moon", code=1).stderr
    assert fmctl("import-opensm", code=2).stderr.startswith("usage: ")
    assert list(tmp_path.iterdir()) == []


def test_only_what_it_made_itself_is_replaced(site, tmp_path):
    etc, _ = site
    own = tmp_path / "own"
    own.mkdir()
    assert "not made by import-opensm" in fmctl("import-opensm", etc, "--output", own, code=1).stderr
    for place in ("/etc/fmd", "/etc/fmd/new", "/var/lib/fmd"):
        if pathlib.Path(place).parent.exists():
            assert "choose another --output" in fmctl("import-opensm", etc, "--output", place, code=1).stderr
    fmctl("import-opensm", etc)
    set_options(etc, sm_priority=5)
    fmctl("import-opensm", etc)
    assert keys_of(etc / "fmd" / "fmd.conf") == {"sm_priority": "5"}
    (etc / "fmd" / "state" / "manifest").write_text("")
    before = (etc / "fmd" / "fmd.conf").read_text()
    set_options(etc, sm_priority=6)
    assert "an fmd has run" in fmctl("import-opensm", etc, code=1).stderr
    assert (etc / "fmd" / "fmd.conf").read_text() == before
    assert sorted(p.name for p in etc.iterdir()) == ["fmd", "opensm.conf"]


def test_the_table_knows_every_option_that_opensm_writes(made_by_opensm):
    rows = json.loads(fmctl("--json", "import-opensm", "--options").stdout)
    table = {row["option"]: row for row in rows}
    for line in made_by_opensm.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        name, _, value = line.partition(" ")
        assert name in table, name
    keys = set(re.findall(r"^#?(\w+) = ", (ROOT / "etc/fmd.conf").read_text(), re.M))
    assert {row["key"] for row in rows if row["key"]} <= keys


# ---- OpenSM routed a fabric, and fmd takes it over ----


class OpenSm:
    def __init__(self, fabric, etc, cache):
        self.log = cache / "osm.log"
        environment = {**fabric.environment(), "OSM_TMP_DIR": str(cache), "OSM_CACHE_DIR": str(cache)}
        self.process = subprocess.Popen(["opensm", "-F", etc / "opensm.conf", "-f", self.log, "-d2"], cwd=cache, env=environment,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def is_up(self):
        return self.log.exists() and "SUBNET UP" in self.log.read_text(errors="replace")


def port_lids(fabric):
    """LID by port, of the simulator."""
    return {end: port["lid"] for end, port in fabric.simulated().items() if port["lid"]}


def page():
    """Lines of fmd-migration(7) that are typed, as people type them."""
    text = (ROOT / "etc/fmd-migration.7").read_text()
    lines = [line for block in re.findall(r"^\.RS\n(.*?)^\.RE$", text, re.M | re.S) for line in block.splitlines()]
    return [line.replace("\\-", "-").replace("\\e", "\\") for line in lines]


@pytest.fixture
def routed(site, small_net, tmp_path):
    """(fabric that OpenSM routes and has left, its folders, the LIDs it gave, a function that starts it anew)"""
    etc, cache = site
    scratch = tmp_path / "fabric"
    scratch.mkdir()
    fabric, started = Fabric(scratch, small_net, rig="fmsim"), []

    def run_opensm():
        started.append(OpenSm(fabric, etc, cache))
        poll(started[-1].is_up, "OpenSM's subnet is up")
        end_process(started[-1].process)

    try:
        run_opensm()
        yield fabric, site, port_lids(fabric), run_opensm
    finally:
        for opensm in started:
            if opensm.process.poll() is None:
                end_process(opensm.process)
        fabric.stop()


def begin_by(fabric, out):
    """fmd with what was imported, and a socket of its own."""
    (out / "fmd.conf").chmod(0o600)
    fabric.conf.write_text((out / "fmd.conf").read_text() + f'state_dir = "{out}/state";\nsocket = "{fabric.socket}";\n')
    fabric.start_fmd()


def test_fmd_takes_over_from_opensm_and_no_lid_moves(routed, tmp_path):
    fabric, (etc, cache), before, _ = routed
    fabric.ibsim.tell(f"node off {OFF}")
    assert report(etc, cache, "--output", tmp_path / "out")["ports"] == len(before) == 22
    begin_by(fabric, tmp_path / "out")
    fabric.wait_up()
    now = port_lids(fabric)
    assert {end: lid for end, lid in now.items() if before[end] != lid} == {} and len(now) >= 21
    fabric.ibsim.tell(f"node on {OFF}")
    fabric.wait_up(lambda status: status["hcas"] == 16 and status["links_down"] == 0, "the host is back")
    poll(lambda: port_lids(fabric) == before, "every port has the LID that OpenSM gave it, the one that was off too")


def test_the_way_back_to_opensm_moves_no_lid_either(routed, tmp_path):
    fabric, (etc, cache), before, run_opensm = routed
    report(etc, cache, "--output", tmp_path / "out")
    begin_by(fabric, tmp_path / "out")
    fabric.wait_up()
    assert fabric.stop_fmd() == 0
    lines = page()
    back = "\n".join(lines[next(i for i, line in enumerate(lines) if line.startswith("sqlite3 ")):][:2])
    (cache / "guid2lid").unlink()
    command = back.replace("/var/lib/fmd", str(tmp_path / "out/state")).replace("/var/cache/opensm", str(cache))
    subprocess.run(["sh", "-c", command], check=True)
    assert report(cache, "--output", tmp_path / "again")["ports"] == len(before)
    run_opensm()
    assert port_lids(fabric) == before


# ---- The page ----


def test_the_page_has_the_table_of_options():
    text = (ROOT / "etc/fmd-migration.7").read_text().replace("\\-", "-").replace("\\e", "\\")
    told = dict(re.findall(r"^\.TP\n\.B (\S+)\n(.*)$", text[text.index(".SH OPTIONS OF OPENSM.CONF"):], re.M))
    rows = json.loads(fmctl("--json", "import-opensm", "--options").stdout)
    assert told == {row["option"]: row["fate"] + (f" as {row['key']}" if row["key"] else "") + (f": {row['note']}" if row["note"] else "")
                    for row in rows}


def test_commands_of_the_page_are_there():
    for line in page():
        words = line.split()
        if words[0] == "fmctl":
            done = subprocess.run([program("fmctl"), "help", words[1]], capture_output=True, text=True, timeout=DEADLINE_S)
            assert done.returncode == 0, line
            for word in words[2:]:
                assert not word.startswith("--") or word in done.stdout, line
