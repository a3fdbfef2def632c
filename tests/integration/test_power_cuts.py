# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""All devices lose power and come back at random moments, some of them ill: what they forward in the end, by fmsim's judge and no manager's word.

How long it takes is measured by tests/bench/powercut.py.
"""
import json

import pytest

from fabric import poll

ILLS = ["", *(pytest.param(ill, marks=pytest.mark.long) for ill in ("deaf", "hung", "refusing", "slow", "flapping", "swapped", "factory", "flash", "all"))]


@pytest.mark.parametrize("ills", ILLS)
def test_after_a_power_cut_all_pairs_that_cables_connect_are_alive_again(start, pod_net, ills):
    fabric = start(pod_net, rig="fmsim")

    def judge():
        return json.loads(fabric.ibsim.tell("judge --json"))

    whole = judge()
    assert (whole["pairs"], whole["dead"], whole["loops"], whole["cycles"]) == (256 * 255, 0, 0, 0)
    fabric.ibsim.tell("judge mark")
    devices = fabric.ibsim.tell("state").count("node ")
    assert f"{devices} devices are off" in fabric.ibsim.tell(f"powercut 3 4 {ills}")
    poll(lambda: not judge()["off"], "all devices have power")

    def alive():
        now = judge()
        assert not now["loops"] and not now["cycles"], now
        return now["pairs"] == whole["pairs"] and not now["dead"]

    poll(alive, "all pairs are alive")
    assert not judge()["moved"]
