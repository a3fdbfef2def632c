# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Two fmd of which the standby mirrors its master: what one knows, the other knows when it takes over."""
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys

import pytest

from fabric import RIG, aggregation_nodes, free_door, split

HERE, THERE, HOST = "H-0002c90380000100", "H-0002c9038000ff00", "H-0002c90380008300"
CLIENT = pathlib.Path(__file__).with_name("sa_client.py")
MGID = "ff12401bffff00000000000000000042"
SPINE = "S-0002c90300000900"
OFF = ["H-0002c90380000a00", "H-0002c90380000b00", "H-0002c90380000c00"]
FAST = {"sminfo_polling_timeout": 1500}


def port_guid(host):
    return f"0x{int(host[2:], 16) + 1:016x}"


def managed(status):
    return status["sm"] == "master" and status["state"] == "up"


def secret(path, text="00112233445566778899aabbccddeeff\n", mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    return str(path)


@pytest.fixture
def two(start, pod_net, tmp_path):
    """two(**conf of both): a master and its standby, each other's peers."""
    mine = []

    def begin(conf=None, standby_conf=None):
        doors = free_door(), free_door()
        psk = {"peer_psk_file": secret(tmp_path / "psk")} if conf is None else conf
        master = start(pod_net, HERE, peer_listen=doors[0], peers=doors[1], **psk, **FAST)
        mine.append(master.another(peer_listen=doors[1], peers=doors[0],
                                   **(psk if standby_conf is None else standby_conf), **FAST))
        mine[-1].start_fmd(THERE)
        mine[-1].wait(lambda s: s["sm"] == "standby", "it stands by")
        return master, mine[-1]

    try:
        yield begin
    finally:
        for it in mine:
            it.stop()


def whole(standby):
    return standby.wait(lambda s: s["mirror"]["whole"], "it has a whole copy")


MIRRORED = ["cables", "cordons", "groups", "lids", "modules", "nodes", "nvswitch", "ports", "services", "subscriptions"]
BY_ITSELF = ["cables", "lids", "nodes", "ports"]  # what a master writes within seconds of being one, some of it behind "up"


def rows(fabric):
    """By kind, as they are on disk."""
    return fabric.kinds(*MIRRORED)


def client(fabric, *arguments, host=HOST):
    return fabric.run(sys.executable, CLIENT, fabric.status()["sm_lid"], *arguments, host=host)


def kept(fabric):
    status = fabric.status()
    return {"lids": fabric.lids(), "down": sorted((r["a"]["name"], r["b"]["name"]) for r in fabric.ask("links", "--down")),
            "cordoned": status["links_cordoned"], "hosts": {h["host"]: h["state"] for h in fabric.ask("nvswitch")["hosts"]},
            "members": {g["mgid"]: g["full"] for g in fabric.ask("groups")}}


@pytest.mark.long
@pytest.mark.skipif(RIG == "ibsim", reason="ibsim can not exchange cables")
def test_a_standby_that_takes_over_holds_what_was_held_and_goes_by_the_plan(two, tmp_path):
    """Leaf 0 to leaf 1 is not planned, leaf 2 to leaf 3 is."""
    master, standby = two()
    whole(standby)
    for n in range(4):
        master.ibsim.tell(f"unlink leaf-su01-rail{n}:33")
    guids = {switch["name"]: switch["guid"] for switch in master.ask("switches")}
    plan = tmp_path / "topoconfig.conf"
    plan.write_text(f"{guids['leaf-su01-rail2']},33,{guids['leaf-su01-rail3']},33,Any,Active\n")
    master.ibsim.tell("link leaf-su01-rail0:33 leaf-su01-rail1:33")
    master.wait(lambda s: s["links_held"] == 1, "the wrong cable is held")
    shown = master.ask("show", "leaf-su01-rail1:33")["held"]
    assert [row["cause"] for row in shown] == ["miswired"] and "leaf-su01-rail0 p33" in shown[0]["link"]
    assert master.ask("admit", "--plan", str(plan))["links"] == 1
    before = master.ask("held")
    master.wait(lambda s: all(standby.rows(kind) == master.rows(kind) != {} for kind in ("held", "plan")), "the standby has the list and the plan")
    master.wait(lambda s: s["mirror"]["standbys"][0]["behind"] == 0, "the standby has taken all")
    master.stop_fmd(signal.SIGKILL)
    status = standby.wait(managed, "it has taken over")
    assert (status["links_held"], status["links_planned"]) == (1, 1)
    facts = ("link", "cause", "since")
    assert [[row[key] for key in facts] for row in standby.ask("held")] == [[row[key] for key in facts] for row in before]
    standby.ibsim.tell("link leaf-su01-rail2:33 leaf-su01-rail3:33")
    standby.wait(lambda s: any({r["a"]["name"], r["b"]["name"]} == {"leaf-su01-rail2", "leaf-su01-rail3"} for r in standby.ask("links")),
                 "the planned cable is in use")
    assert standby.status()["links_held"] == 1 and standby.ask("links", "--down")


@pytest.mark.long
def test_a_killed_master_leaves_its_standby_all_that_it_knew(two):
    master, standby = two()
    whole(standby)
    master.console(*[f'Unlink "{host}"' for host in OFF])
    master.wait_up(lambda s: s["links_down"] == len(OFF), "three hosts are off")
    master.fmctl("cordon", SPINE)
    master.fmctl("nvswitch", "set", "dgx-su01-05", "NO_P2P")
    client(master, "join", port_guid(HOST), MGID, "1")
    client(master, "register", port_guid(HOST), "0x1234", "storage")
    client(master, "subscribe")
    master.wait(lambda s: any(g["full"] and g["tree"] for g in master.ask("groups")), "a host has joined")
    before = kept(master)
    assert before["cordoned"] > 0 and len(before["down"]) == len(OFF)
    master.wait(lambda s: all(rows(master).values()) and rows(standby) == rows(master), "the standby's rows are the master's")
    known = {(e["time"], e["text"]) for e in master.ask("events", "-n", "4000")}
    master.wait(lambda s: s["mirror"]["standbys"][0]["behind"] == 0, "the standby has taken it")
    master.stop_fmd(signal.SIGKILL)
    status = standby.wait(managed, "it has taken over")
    assert status["lft_blocks_written"] == 0 and status["multicast"]["mft_blocks_written"] == 0
    assert (status["sa"]["services"], status["sa"]["subscriptions"]) == (1, 1)
    assert not [e for e in standby.ask("events", "-n", "200") if "register anew" in e["text"] or "cleared" in e["text"]]
    standby.wait(lambda s: kept(standby) == before, "all is as it was")
    assert status["mirror"]["takeovers"] == 2
    history = {(e["time"], e["text"]) for e in standby.ask("events", "-n", "4000")}
    assert known <= history and len(history) > len(known)
    assert {e["manager"] for e in standby.ask("events", "-n", "4000")} == {socket.gethostname()[:63]}


@pytest.mark.long
def test_who_returns_has_what_was_done_meanwhile(two):
    master, standby = two()
    whole(standby)
    master.fmctl("cordon", SPINE)
    standby.wait(lambda s: standby.rows("cordons"), "the cordon is there")
    master.stop_fmd(signal.SIGKILL)
    standby.wait(managed, "it has taken over")
    assert standby.status()["links_cordoned"] > 0
    standby.fmctl("uncordon", SPINE)
    master.start_fmd(HERE)
    master.wait(lambda s: s["sm"] == "standby", "the first stands by now")
    whole(master)
    standby.stop_fmd(signal.SIGKILL)
    status = master.wait(managed, "it is master again")
    assert status["links_cordoned"] == 0 and status["mirror"]["takeovers"] == 3


OTHER_SPINE = "S-0002c90300000a00"


def cordons(fabric, kind="cordons"):
    """GUIDs of what is cordoned."""
    return {key.split()[0] for key in fabric.rows(kind)}


@pytest.mark.long
def test_who_was_master_of_its_own_is_told_and_its_rows_are_kept(two):
    """A dies, B takes over and cordons, B dies; A returns alone with its older state and cordons something else; then B returns."""
    a, b = two()
    whole(b)
    a.stop_fmd(signal.SIGKILL)
    b.wait(managed, "it has taken over")
    b.fmctl("cordon", SPINE)
    b.stop_fmd(signal.SIGKILL)
    a.start_fmd(HERE)
    assert a.wait(managed, "it is back, alone")["links_cordoned"] == 0  # it can't know
    a.fmctl("cordon", OTHER_SPINE)
    b.start_fmd(THERE)
    b.wait(lambda s: s["sm"] == "standby" and s["mirror"]["whole"], "the other is back")
    told = a.wait(lambda s: s["mirror"]["takeovers"] == 3, "its take-over counts behind the other's") and a.ask("events", "--kind", "mirror")
    assert sum("was master in take-over 2 without this manager" in e["text"] for e in told) == 1
    told = [e["text"] for e in b.ask("events", "--kind", "mirror") if "whose state is in force now" in e["text"]]
    assert len(told) == 1 and "cordons.aside" in told[0]
    guid = SPINE[2:]
    b.wait(lambda s: cordons(b, "cordons.aside") == {f"0x{guid}"}, "what it had is aside")
    b.wait(lambda s: b.kinds("cordons", "takeovers") == a.kinds("cordons", "takeovers"), "it is a copy of the first")
    before = kept(a)["cordoned"]
    a.stop_fmd(signal.SIGKILL)
    status = b.wait(managed, "it takes over once more")
    assert status["mirror"]["takeovers"] == 4 and status["links_cordoned"] == before > 0
    assert cordons(b) == {f"0x{OTHER_SPINE[2:]}", f"0x{guid}"}, "what either took out of transit stays so"
    a.start_fmd(HERE)  # an ordinary return: nobody is told of two histories any more
    a.wait(lambda s: s["sm"] == "standby" and s["mirror"]["whole"], "the first is a standby")
    assert not [e for e in a.ask("events", "--kind", "mirror") if "whose state is in force now" in e["text"]]


def unshared(fabric):
    return int(fabric.rows("unshared").get("text", "0")) > 0


def same_takeovers(a, b):
    return a.rows("takeovers") == b.rows("takeovers") != {}


def put_aside(fabric):
    """Kinds of which rows were put aside."""
    return [kind for kind in fabric.kinds() if kind.endswith(".aside")]


def return_behind_its_standby(a, b):
    """B is off, A dies, B becomes master before A returns."""
    a.stop_fmd(signal.SIGKILL)
    b.start_fmd(THERE)
    b.wait(managed, "it is master of what it had")
    a.start_fmd(HERE)
    a.wait(lambda s: s["sm"] == "standby" and s["mirror"]["whole"], "the first is back")
    return [e["text"] for e in a.ask("events", "--kind", "mirror") if "whose state is in force now" in e["text"]]


@pytest.mark.long
def test_what_a_master_changed_without_its_standby_is_kept_when_that_one_returns_first(two):
    a, b = two()
    whole(b)
    a.wait(lambda s: s["mirror"]["whole"] and same_takeovers(a, b), "the standby has all")
    b.stop_fmd(signal.SIGKILL)
    a.fmctl("cordon", SPINE)
    a.wait(lambda s: unshared(a), "what no standby has is noted")
    told = return_behind_its_standby(a, b)
    assert len(told) == 1 and "made changes of which no copy reached" in told[0] and "cordons.aside" in told[0]
    a.wait(lambda s: cordons(a, "cordons.aside") == {f"0x{SPINE[2:]}"}, "what it had is aside")
    assert sum("changed what no standby had copied" in e["text"] for e in b.ask("events", "--kind", "mirror")) == 1
    a.wait(lambda s: not unshared(a), "that is over")


@pytest.mark.long
def test_a_master_that_changed_nothing_without_its_standby_has_nothing_to_keep(two):
    a, b = two()
    whole(b)
    a.fmctl("cordon", SPINE)
    a.wait(lambda s: s["mirror"]["whole"] and s["mirror"]["standbys"][0]["behind"] == 0, "the standby has all")
    a.wait(lambda s: len(a.ask("cables")) == 2 * (s["links"] + s["links_special"]), "all modules were read, which are rows too")
    b.wait(lambda s: all(a.kinds(*BY_ITSELF, "cordons").values()) and rows(a) == rows(b) and same_takeovers(a, b), "both have the same on disk")
    b.stop_fmd(signal.SIGKILL)
    a.wait(lambda s: not s["mirror"]["standbys"], "the standby is off")
    age_ms = a.status()["mirror"]["age_ms"]
    a.wait(lambda s: s["mirror"]["age_ms"] > age_ms + 2000, "it was looked at more than once since")
    assert not return_behind_its_standby(a, b)
    assert not put_aside(a)


def written(status):
    """Blocks of tables since this process began."""
    return status.get("multicast", {}).get("mft_blocks_written", 0), status.get("lft_blocks_written", 0)


def test_a_hand_over_waits_for_what_was_changed_a_moment_ago(two):
    master, standby = two()
    whole(standby)
    for step in range(6):
        one, other = (master, standby) if step % 2 == 0 else (standby, master)
        one.wait(lambda s: s["mirror"]["whole"] and s["election"]["others"][0]["state"] == "standby", "the other has a whole copy")
        client(one, "join", port_guid(HOST), f"ff12401bffff0000000000000000{step:04x}", "1")
        client(one, "register", port_guid(HOST), str(step + 1), f"storage-{step}")
        before = written(other.status())
        answer = one.ask("handover")
        other.wait(managed, "it was handed the fabric")
        status = other.status()
        assert sum(g["full"] > 0 for g in other.ask("groups")) == step + 1
        assert status["sa"]["services"] == step + 1
        assert written(status) == before
        print(step, answer["took_ms"], "ms")
    assert not [e for e in standby.ask("events", "-n", "200") if "has a current copy of this master's state" in e["text"]]


def has_group(fabric, number):
    return any(key.startswith("group ") and key.endswith(f" 0x{number:016x}") for key in fabric.rows("groups"))


@pytest.mark.long
def test_what_was_answered_a_moment_ago_outlives_its_master(two):
    master, standby = two()
    whole(standby)
    other = "ff12401bffff00000000000000000043"
    for mgid in (MGID, other):
        client(master, "join", port_guid(HOST), mgid, "1")
    client(master, "register", port_guid(HOST), "1", "first")
    master.wait(lambda s: has_group(master, 0x43) and rows(standby) == rows(master) and master.rows("services"), "both have it on disk")
    client(master, "leave", port_guid(HOST), other)
    client(master, "join", port_guid(HOST), "ff12401bffff00000000000000000044", "1")
    client(master, "delete", port_guid(HOST), "1")
    client(master, "register", port_guid(HOST), "2", "second")
    client(master, "subscribe")
    master.wait(lambda s: s["mirror"]["standbys"][0]["behind"] == 0, "the standby has taken it")
    known = kept(master)["members"]
    master.stop_fmd(signal.SIGKILL)
    status = standby.wait(managed, "it has taken over")
    assert kept(standby)["members"] == known and sum(known.values()) == 2
    assert (status["sa"]["services"], status["sa"]["subscriptions"]) == (1, 1)
    standby.wait(lambda s: has_group(standby, 0x44) and not has_group(standby, 0x43), "it writes what it took")


@pytest.mark.long
def test_hosts_that_were_off_at_take_overs_keep_their_lids(two, pod_net):
    """They return in another order than they have LIDs in, first to the second manager, then to the first when it is back."""
    master, standby = two()
    whole(standby)
    lids = master.lids()
    special = aggregation_nodes(pod_net) | {HERE, THERE}
    off = random.Random(1).sample(sorted(node for node, _ in master.simulated() if node.startswith("H-") and node not in special), 24)

    def power(some, on):
        for host in some:
            master.ibsim.tell(f"node {'on' if on else 'off'} {host}")

    power(off, False)
    master.wait_up(lambda s: s["links_down"] == len(off), "they are off")
    master.wait(lambda s: master.rows("cables") and rows(standby) == rows(master), "the standby's rows are the master's")
    master.stop_fmd(signal.SIGKILL)
    standby.wait(lambda s: managed(s) and s["links_down"] == len(off), "it has taken over, and knows that they are off")
    power(off[::-2], True)
    standby.wait_up(lambda s: s["links_down"] == len(off) - len(off[::-2]), "half of them are back")
    assert {guid: lid for guid, lid in standby.lids().items() if lid}.items() <= lids.items()
    master.start_fmd(HERE)
    master.wait(lambda s: s["sm"] == "standby" and s["mirror"]["whole"], "the first is back, and has a whole copy")
    standby.wait(lambda s: s["mirror"]["whole"] and "standby" in [o["state"] for o in s["election"]["others"]], "its master knows")
    standby.ask("handover")
    master.wait(managed, "it was handed the fabric")
    power([host for host in reversed(off) if host not in off[::-2]], True)
    master.wait_up(lambda s: s["links_down"] == 0, "all are back")
    assert master.lids() == lids


def test_what_a_cable_went_through_is_known_to_the_next_master(two):
    if RIG == "ibsim":
        pytest.skip("ibsim has no registers")
    master, standby = two()
    whole(standby)
    end = "leaf-su01-rail0:33"
    master.wait(lambda s: len(master.ask("cables", end)) == 2, "its cable was read")
    master.ibsim.tell(f"unlink {end}")
    master.wait(lambda s: s["links_down"] == 1, "its link went down")
    master.ibsim.tell(f"link {end}")
    master.wait_up(lambda s: not s["links_down"], "it is up again")
    before = [(row["serial"], row["flaps"], row["flap_ports"]) for row in master.ask("cables", end)]
    assert [row[1] for row in before] == [1, 1]
    master.wait(lambda s: s["mirror"]["standbys"][0]["behind"] == 0, "the standby has taken it")
    master.stop_fmd(signal.SIGKILL)
    standby.wait(managed, "it has taken over")
    assert [(row["serial"], row["flaps"], row["flap_ports"]) for row in standby.ask("cables", end)] == before


def test_a_link_that_its_master_held_is_held_by_who_takes_over(two):
    """Two uplinks of leaves in each other. Whoever is master then can admit it."""
    if RIG == "ibsim":
        pytest.skip("ibsim can not exchange cables")
    master, standby = two()
    whole(standby)
    ends = ["leaf-su01-rail0:33", "leaf-su01-rail1:33"]
    for end in ends:
        master.ibsim.tell(f"unlink {end}")
    master.ibsim.tell(f"link {' '.join(ends)}")
    master.wait(lambda s: s["links_held"] == s["miswired"] == 1 and s["links_missing"] == 2, "it holds the link")
    master.wait(lambda s: all(it.rows("held") for it in (master, standby)), "the standby has the list")
    master.stop_fmd(signal.SIGKILL)
    standby.wait(lambda s: managed(s) and s["links_held"] == 1 and s["links_missing"] == 2, "it has taken over, and holds the link")
    row, = standby.ask("held")
    assert row["cause"] == "miswired" and {f"{end['name']}:{end['port']}" for end in (row["a"], row["b"])} == set(ends)
    assert standby.ask("admit", ends[0], "--dry-run")["lids_to_move"] == []
    assert standby.status()["links_held"] == 1
    standby.ask("admit", ends[0])
    standby.wait(lambda s: s["links_held"] == 0 and s["links_missing"] == 0, "it is in use, and took the place of the two")


def certificate(folder, name, ca):
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=folder)

    if not (folder / f"{ca}.key").exists():
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{ca}.key", "-out", f"{ca}.pem", "-subj", f"/CN={ca}")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", "-CAcreateserial", "-out", f"{name}.pem")
    (folder / f"{name}.key").chmod(0o600)
    return {"peer_cert": str(folder / f"{name}.pem"), "peer_key": str(folder / f"{name}.key"), "peer_ca": str(folder / f"{ca}.pem")}


def test_certificates_of_one_ca_serve_both_ends(two, tmp_path):
    _, standby = two(certificate(tmp_path, "one", "ca"), certificate(tmp_path, "two", "ca"))
    assert whole(standby)["mirror"]["peers"][0]["error"] is None


@pytest.mark.parametrize("kind", ["certificate", "psk"])
def test_a_peer_that_can_not_prove_who_it_is_gets_nothing(two, tmp_path, kind):
    if kind == "psk":
        keys = [{"peer_psk_file": secret(tmp_path / f"psk{n}", f"{n}0112233445566778899aabbccddeeff\n")} for n in (1, 2)]
    else:
        keys = [certificate(tmp_path, "one", "ca"), certificate(tmp_path, "two", "otherca")]
    master, standby = two(*keys)
    status = standby.wait(lambda s: s["mirror"]["peers"][0]["error"], "it is refused")
    assert not status["mirror"]["whole"] and not status["mirror"]["peers"][0]["master"]
    assert managed(master.status()) and not master.status()["mirror"]["whole"]


def alerts(status, what):
    return [it["text"] for it in status["alerts"] if it["what"] == what]


def test_managers_with_other_m_keys_are_told_on_both_and_the_same_are_not(two, tmp_path):
    """By a digest of this session: the secret itself does not go over."""
    psk, keys = secret(tmp_path / "psk"), [secret(tmp_path / f"keys{i}", f"secret number {i} of this site\n") for i in range(3)]
    master, standby = two({"peer_psk_file": psk, "m_key_secret_file": keys[0]}, {"peer_psk_file": psk, "m_key_secret_file": keys[1],
                                                                                "old_m_key_secret_file": keys[2]})
    for it in (standby, master):
        it.wait(lambda s: alerts(s, "peer-m-keys"), "the difference is told")
    assert standby.status()["mirror"]["peers"][0]["other_m_keys"]
    pathlib.Path(keys[2]).write_bytes(pathlib.Path(keys[1]).read_bytes())
    pathlib.Path(keys[1]).write_bytes(pathlib.Path(keys[0]).read_bytes())
    standby.fmctl("reload")
    for it in (standby, master):
        it.wait(lambda s: not alerts(s, "peer-m-keys"), "they have the same")
    assert not whole(standby)["mirror"]["peers"][0]["other_m_keys"]


def test_alerts_of_a_mirror_end_with_it(two, tmp_path):
    psk = secret(tmp_path / "psk")
    keys = [secret(tmp_path / f"keys{i}", f"secret number {i} of this site\n") for i in range(2)]
    master, standby = two({"peer_psk_file": psk, "m_key_secret_file": keys[0]}, {"peer_psk_file": psk, "m_key_secret_file": keys[1]})
    for it in (standby, master):
        it.wait(lambda s: alerts(s, "peer-m-keys"), "the difference is told")
    standby.write_conf(m_key_secret_file=keys[1], peers="", peer_listen="", peer_psk_file="", **FAST)
    standby.fmctl("reload")
    standby.wait(lambda s: "mirror" not in s, "it copies nothing any more")
    assert not alerts(standby.status(), "peer-m-keys")


@pytest.mark.parametrize("listens", [True, False])
def test_a_copy_of_before_is_not_taken_for_one_when_peers_are_taken_away(two, tmp_path, listens):
    """What hosts registered since is not in it: the master's SA is asked, as where there never was a mirror."""
    psk = {"peer_psk_file": secret(tmp_path / "psk")}
    _, standby = two()
    assert "registrations" not in whole(standby)
    standby.write_conf(**({"peer_listen": free_door(), **psk} if listens else {}), mirror_interval=1, **FAST)
    standby.fmctl("reload")
    standby.wait(lambda s: s.get("registrations", {}).get("whole"), "it knows what hosts registered")


def test_a_port_that_was_in_use_is_listened_at_later(start, pod_net, tmp_path):
    door = free_door()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(split(door))
        other.listen()
        fabric = start(pod_net, HERE, peer_listen=door, peer_psk_file=secret(tmp_path / "psk"))
        fabric.wait(lambda s: any(t["what"] == "peer_listen" for t in s["troubles"]), "it says so")
    fabric.wait(lambda s: not s["troubles"], "it is free")
    socket.create_connection(split(door)).close()


def test_a_copy_is_whole_when_it_is_on_disk(two):
    master, standby = two()
    master.wait(managed, "it manages")
    master.wait(lambda s: s["mirror"]["whole"], "the standby has all")
    standby.stop_fmd(signal.SIGKILL)
    there, its = rows(standby), rows(master)
    assert there["lids"] == its["lids"] and {kind for kind in its if its[kind]} <= {kind for kind in there if there[kind]}
    standby.start_fmd(THERE)
    status = standby.wait(lambda s: s["sm"] == "standby", "it stands by again")
    assert not alerts(status, "state-lost")


@pytest.mark.long
def test_who_was_master_long_ago_and_meets_a_new_one_loses_nothing(start, pod_net, tmp_path):
    """The new one has written nothing when it is asked for all it has."""
    doors, psk = (free_door(), free_door()), {"peer_psk_file": secret(tmp_path / "psk")}
    old = start(pod_net, HERE, peer_listen=doors[0], **psk, **FAST)
    old.wait(lambda s: old.rows("takeovers"), "it was master once")
    old.stop_fmd(signal.SIGKILL)
    new = old.another(peer_listen=doors[1], sm_priority=9, **psk, **FAST)
    try:
        old.write_conf(peer_listen=doors[0], peers=doors[1], **psk, **FAST)
        new.start_fmd(THERE)
        old.start_fmd(HERE)
        new.wait(managed, "it has the higher rank")
        whole(old)
        assert not alerts(old.status(), "state-lost")
    finally:
        new.stop()


@pytest.mark.parametrize("lines, said", [
    ('peers = ["mgmt2:9811"];', "peers must authenticate"),
    ('peers = ["mgmt2"]; peer_psk_file = "psk";', '"mgmt2": HOST:PORT is expected'),
    ('peer_listen = "0.0.0.0:9811"; peer_cert = "a"; peer_key = "b";', "go together"),
    ('peers = ["mgmt2:9811", "mgmt3:9811"]; peer_psk_file = "PSK";', None)])
def test_what_can_not_work_is_refused_with_its_line(start, pod_net, tmp_path, lines, said):
    fabric = start(pod_net, HERE)
    path = tmp_path / "fmd.conf"
    path.write_text(lines.replace("PSK", secret(tmp_path / "psk")) + "\n")
    done = fabric.run(pathlib.Path(fabric.fmd.args[0]), "--check-config", path, check=False)
    assert (done.returncode, said is None or said in done.stderr) == (1 if said else 0, True), done
    if said:
        assert f"{path}:1:" in done.stderr


def test_a_secret_that_others_can_read_is_refused(start, pod_net, tmp_path):
    fabric = start(pod_net, HERE)
    path = tmp_path / "fmd.conf"
    path.write_text(f'peers = "mgmt2:9811"; peer_psk_file = "{secret(tmp_path / "psk", mode=0o644)}";\n')
    done = fabric.run(pathlib.Path(fabric.fmd.args[0]), "--check-config", path, check=False)
    assert done.returncode == 1 and "chmod 0600" in done.stderr
