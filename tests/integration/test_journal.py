# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A manager without a standby that is killed: what it had acknowledged to hosts is there when it is back."""
import pathlib
import random
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.long

SM_HOST, HOST = "H-0002c90380000100", "H-0002c90380008300"
GUID = f"0x{int(HOST[2:], 16) + 1:016x}"
HERE = pathlib.Path(__file__).parent
MGID = "ff12401bffff0000000000000000%04x"
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


def client(fabric, *arguments):
    return fabric.run(sys.executable, HERE / "sa_client.py", fabric.status()["sm_lid"], *arguments, host=HOST)


def again(fabric):
    fabric.stop_fmd(signal.SIGKILL)
    fabric.start_fmd(SM_HOST)
    return fabric.wait_up()


def members(fabric):
    return {group["mgid"].replace(":", "").lower(): group["full"] for group in fabric.ask("groups")}


def joined(fabric):
    return sum(1 for group in fabric.ask("groups") if group["full"])


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
    lids = (fabric.state_dir / "lids").read_text()
    assert not [host for host in off if f"0x{int(host[2:], 16) + 1:016x} " in lids]


def test_kills_at_any_moment_of_joins_lose_nothing_that_was_acknowledged(start, pod_net):
    fabric = start(pod_net, SM_HOST)
    number, chance = 1, random.Random(4711)
    for _ in range(ROUNDS):
        lid, environment = fabric.status()["sm_lid"], fabric.environment(HOST)
        steady = subprocess.Popen([sys.executable, "-c", STEADY, HERE, str(lid), GUID, str(number), str(EACH)], env=environment, stdout=subprocess.PIPE, text=True)
        try:
            for _ in range(chance.randrange(3, EACH - 20)):
                number = int(steady.stdout.readline()) + 1
            fabric.stop_fmd(signal.SIGKILL)
        finally:
            steady.send_signal(signal.SIGTERM)
            rest, _ = steady.communicate()
        number = max([number, *(int(line) + 1 for line in rest.split())])
        fabric.start_fmd(SM_HOST)
        status = fabric.wait_up()
        acknowledged = number - 1
        services, groups = status["sa"]["services"], joined(fabric)
        print(acknowledged, services, groups)
        # The one that was being asked for may be there, too.
        assert acknowledged <= services + groups <= acknowledged + 1
        assert services >= acknowledged // 2 and groups >= (acknowledged + 1) // 2
        number = services + groups + 1
