# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""One verdict a machine over its HCAs and its NVLinks, and the operators' hook that hears of it."""
import subprocess

from fabric import ROOT, poll, program

HOST = "dgx-su01-05"
HOLDS = {"host_worsen_hold": 0.3, "host_recover_hold": 0.3}
HOOK = """#!/bin/sh
printf '%s\\n' "$FMD_HOST $FMD_OLD_STATE $FMD_STATE $FMD_HCAS $FMD_REASON" >>"$(dirname "$0")/calls"
"""


def row(fabric):
    return next(host for host in fabric.ask("hosts") if host["name"] == HOST)


def cable(fabric, number):
    """The HCA of that number, as the simulator's console has it."""
    return f'"H-{row(fabric)["hcas"][number]["guid"][2:]}"[1]'


def write_hook(folder):
    (folder / "hook").write_text(HOOK)
    (folder / "hook").chmod(0o755)
    return folder / "hook"


def calls(folder):
    file = folder / "calls"
    return file.read_text().splitlines() if file.exists() else []


def wait_verdict(fabric, verdict):
    poll(lambda: row(fabric)["verdict"] == verdict, f"{HOST} is {verdict}")
    return row(fabric)


def test_the_hook_hears_once_of_each_verdict_and_of_the_way_back(start, pod_net, tmp_path):
    fabric = start(pod_net, host_hook=str(write_hook(tmp_path)), **HOLDS)
    poll(lambda: fabric.status()["host_verdicts"]["HEALTHY"] == 32, "all were judged")
    assert (row(fabric)["verdict"], row(fabric)["reasons"], row(fabric)["hcas_up"]) == ("HEALTHY", [], 8)
    hcas = [cable(fabric, number) for number in range(8)]
    fabric.console(f"Unlink {hcas[0]}")
    degraded = wait_verdict(fabric, "DEGRADED")
    assert (degraded["hcas_up"], degraded["hcas_known"], len(degraded["hcas"])) == (7, 8, 8)
    assert len(degraded["reasons"]) == 1 and degraded["reasons"][0].startswith("mlx5_0: link to leaf-su01-rail0")
    poll(lambda: len(calls(tmp_path)) == 1, "the hook ran")
    assert calls(tmp_path)[0].startswith(f"{HOST} HEALTHY DEGRADED 7/8 mlx5_0: link to leaf-su01-rail0")
    shown = next(line for line in fabric.fmctl("hosts").stdout.splitlines() if line.startswith(HOST + " "))
    assert " DEGRADED " in shown and " 7/8 " in shown and degraded["reasons"][0] in shown

    fabric.fmctl("nvswitch", "set", HOST, "NO_P2P")
    wait_verdict(fabric, "NO_P2P")
    poll(lambda: len(calls(tmp_path)) == 2, "the hook ran again")
    for hca in hcas[1:]:
        fabric.console(f"Unlink {hca}")
    wait_verdict(fabric, "CUT_OFF")
    poll(lambda: len(calls(tmp_path)) == 3, "the hook ran a third time")
    assert calls(tmp_path)[2] == f"{HOST} NO_P2P CUT_OFF 0/8 none of its 8 HCAs is reachable"
    poll(lambda: fabric.status()["host_verdicts"]["CUT_OFF"] == 1, "it is counted")

    fabric.fmctl("nvswitch", "clear", HOST)
    for hca in hcas:
        fabric.console(f"Relink {hca}")
    wait_verdict(fabric, "HEALTHY")
    poll(lambda: calls(tmp_path)[-1].startswith(f"{HOST} ") and " HEALTHY 8/8 " in calls(tmp_path)[-1], "the hook heard of the end")
    assert not [call for call in calls(tmp_path) if not call.startswith(HOST)]


def test_a_restart_tells_the_hook_nothing_twice(start, pod_net, tmp_path):
    fabric = start(pod_net, host_hook=str(write_hook(tmp_path)), **HOLDS)
    fabric.fmctl("nvswitch", "set", HOST, "FATAL")
    poll(lambda: len(calls(tmp_path)) == 1, "the hook ran")
    poll(lambda: fabric.rows("hosts"), "it is on disk")
    fabric.stop_fmd()
    fabric.start_fmd()
    fabric.wait_up()
    poll(lambda: fabric.status()["host_verdicts"]["FATAL"] == 1, "all were judged anew")
    fabric.fmctl("nvswitch", "clear", HOST)
    poll(lambda: len(calls(tmp_path)) == 2, "the hook heard of the end")
    assert calls(tmp_path)[1] == f"{HOST} FATAL HEALTHY 8/8 "


def test_a_hook_that_is_none_is_found_by_a_check(tmp_path):
    conf = tmp_path / "fmd.conf"
    conf.write_text(f'host_hook = "{tmp_path}/nothing";\n')
    done = subprocess.run([program("fmd"), "--check-config", conf], capture_output=True, text=True)
    assert done.returncode == 1 and "host_hook: " in done.stderr
    conf.write_text(f'host_hook = "{ROOT}/etc/hooks/slurm-drain";\n')
    assert subprocess.run([program("fmd"), "--check-config", conf]).returncode == 0
