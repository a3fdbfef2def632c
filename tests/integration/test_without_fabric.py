# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Every command where no fabric is known: on a standby, and before the first sweep. It answers, or says why not; no answer ends in the middle."""
import json
import re
import socket

import pytest

from fabric import ROOT

HERE, THERE = "H-0002c90380000100", "H-0002c9038000ff00"
HOST, NODE = "dgx-su01-01", "dgx-su01-01 mlx5_0"
FAST = {"sminfo_polling_timeout": 1500}
FILTERS = [["--leaf", "leaf-01"], ["--rail", "0"], ["--su", "1"], ["--host", HOST], ["--down"], ["--unhealthy"], ["--class", "compute"]]
FORMATS = "text json ibnetdiscover dot svg slurm slurm-yaml k8s lst".split()
# Of each command of the table, what is typed behind it; of those that nobody types, the request's arguments.
TYPED = {
    "status": [[]], "topology": [["--format", form] for form in FORMATS], "nodes": [[], [NODE]], "switches": [[], [NODE]],
    "links": [[], [NODE], ["--sick"]], "health": [[], [NODE], ["--read"]], "counters": [[], [NODE], ["--rates"]], "cables": [[], [NODE]], "top": [[], ["-n", "3"]],
    "hosts": [[], [HOST]], "history": [[NODE]], "jobs": [[], ["--hit"], ["--fail", NODE]], "show": [[what] for what in (NODE, HOST, "lid:1", "0xc000", "0x0002c90380000101", "Default")] + [[NODE, "--read"]],
    "lft": [[NODE]], "path": [[HOST, NODE]], "check": [[], ["--readback"]], "cabling": [[]], "assess": [[], ["--markdown"], ["--html"]], "groups": [[], ["0xc000"]],
    "partitions": [[], ["Default"], ["0x7fff"]], "dump": [["DUMP"]], "events": [[], ["-n", "3"], ["--node", NODE], ["--kind", "mirror"]],
    "reroute": [[]], "sweep": [[]], "cordon": [[NODE]], "uncordon": [[NODE]], "release": [[NODE]], "forget": [[NODE], ["--down"]],
    "held": [[]], "admit": [[NODE], ["all", "--dry-run"]], "host-accept": [[NODE]], "handover": [[], ["nobody"]], "takeover": [[], ["nobody"]],
    "probe": [["ar"], ["ar", NODE]], "whatif": [["--fail", NODE], ["--cordon", NODE], ["--nvswitch", f"{HOST}=DEGRADED"]],
    "nvswitch": [[], [HOST], ["logs"], ["blocks"], ["set", HOST, "DEGRADED"], ["clear", HOST]],
    "health-report": [["nvsm", HOST, "DEGRADED", "a word", "60"]], "reload": [[]], "loglevel": [["notice"]],
}
ASKED = {"follow": [{}], "names": [{}], "map": [{}], "search": [{"text": "dgx"}],
         "nvswitch-set": [{"host": HOST, "state": "DEGRADED"}]}


def rows():
    """name: (is it typed, has it filters, is it asked of fmd at all)"""
    text = (ROOT / "fm/control/commands.def").read_text()
    found = re.findall(r'^COMMAND\("([^"]+)",\s*"[^"]*",\s*(NULL|")((?:.|\n(?!COMMAND))*)', text, re.M)
    return {name: (help != "NULL", "FILTER" in rest) for name, help, rest in found if ".offline = true" not in rest}


def request(fabric, name, arguments):
    """The first line of the answer."""
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(60)
        channel.connect(str(fabric.socket))
        channel.sendall(json.dumps({"command": name, "args": arguments}).encode() + b"\n")
        return channel.makefile().readline()


def command_lines():
    for name, (typed, filters) in rows().items():
        for words in TYPED[name] if typed else []:
            yield [name, *words]
        for words in FILTERS if filters else []:
            yield [name, *words]


def assert_all_are_answered(fabric):
    assert set(rows()) == set(TYPED) | set(ASKED), "a command without a line here"
    log, said = fabric.log.stat().st_size, []
    for words in command_lines():
        done = fabric.fmctl(*[str(fabric.scratch / "dump") if word == "DUMP" else word for word in words], check=False)
        if "could not be written" in done.stderr or done.returncode not in (0, 1, 2, 3) or (done.returncode and not done.stderr.strip()):
            said.append((words, done.returncode, done.stderr))
    for name, requests in ASKED.items():
        for arguments in requests:
            answer = request(fabric, name, arguments)
            if not answer or "could not be written" in answer:
                said.append((name, arguments, answer))
    assert not said
    assert not re.search(r"child.*(signal|ended)", fabric.log.read_text()[log:])
    assert fabric.status()


@pytest.fixture
def sources(tmp_path):
    """Hosts whose NVSwitches are asked for, so that nvswitch has rows."""
    (tmp_path / "hosts").write_text("".join(f"dgx-su01-{number:02} http://127.0.0.1:9/metrics\n" for number in range(1, 4)))
    return {"nvswitch_hosts_file": str(tmp_path / "hosts")}


def test_a_standby_answers_every_command_or_says_why_not(start, pod_net, sources):
    master = start(pod_net, HERE, **FAST)
    standby = master.another(**sources, **FAST)
    try:
        standby.start_fmd(THERE)
        standby.wait(lambda s: s["sm"] == "standby", "it stands by")
        assert_all_are_answered(standby)
        assert standby.status()["sm"] == "standby" and master.status()["sm"] == "master"
    finally:
        standby.stop()


def test_before_the_first_sweep_every_command_is_answered_or_says_why_not(start, pod_net, sources):
    fabric = start(pod_net, fmd=False, **sources)
    fabric.console(f'Unlink "{HERE}"[1]')
    fabric.start_fmd(HERE)
    fabric.wait(lambda s: s["state"] == "no-link", "it waits for its link")
    assert_all_are_answered(fabric)
