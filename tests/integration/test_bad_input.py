# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Bad input: said with file, line and reason, by the exit code of the contract, and never a partial fabric."""
import re

import pytest

from fabric import program

SWITCH = 'switchguid=0x10(10)\nSwitch\t4 "S-0000000000000010"\t# "leaf" enhanced port 0 lid 0 lmc 0\n'
HOST = 'caguid=0x20\nCa\t1 "H-0000000000000020"\t# "host"\n'


@pytest.fixture
def run(tmp_path):
    import subprocess

    def go(*command):
        return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, cwd=tmp_path)

    return go


@pytest.mark.parametrize("text, line, reason", [
    ("this is no topology\n", 1, ""),
    ("\x7fELF\x02\x01\x01\0\0\0\n", 1, ""),
    (SWITCH + '[9]\t"H-0000000000000020"[1](21)\t# "host" lid 0 4xHDR\n', 3, "9"),
    (SWITCH + '[0]\t"H-0000000000000020"[1](21)\t# "host" lid 0 4xHDR\n', 3, "0"),
    (SWITCH + '[1]\t"H-0000000000000020"[1](21)\t# "host" lid 0 4xHDR\n'
     '[2]\t"H-0000000000000020"[1](21)\t# "host" lid 0 4xHDR\n\n' + HOST
     + '[1](21)\t"S-0000000000000010"[1]\t# lid 0 lmc 0 "leaf" lid 0 4xHDR\n', 4, ""),
    (SWITCH + '[1]\t"H-0000000000000020"[1](21)\n[1]\t"H-0000000000000030"[1](31)\n\n' + HOST
     + '[1](21)\t"S-0000000000000010"[1]\t# lid 0 lmc 0 "leaf" lid 0 4xHDR\n\n' + HOST.replace("20", "30"), 4, ""),
    (SWITCH + "\n" + SWITCH, 5, ""),
    (SWITCH.replace("4 ", "999 "), 2, "999"),
], ids=["prose", "a program", "port outside the switch", "port 0", "one port in two links", "port twice",
        "switch twice", "too many ports"])
def test_plan_refuses_what_is_no_fabric(run, tmp_path, text, line, reason):
    net = tmp_path / "bad.net"
    net.write_text(text)
    done = run(program("fmctl"), "plan", net)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.search(rf"{re.escape(str(net))}:{line}: .*{reason}", done.stderr), done.stderr


def test_plan_refuses_a_file_that_is_cut_off(run, pod_net, tmp_path):
    net = tmp_path / "cut.net"
    text = pod_net.read_text()
    net.write_text(text[:text.rindex('"S-') + 4])
    done = run(program("fmctl"), "plan", net)
    assert done.returncode == 1
    assert re.search(rf"{re.escape(str(net))}:\d+: ", done.stderr), done.stderr


@pytest.mark.parametrize("what", ["S-0000000000000999", "leaf-su01-rail0:99", "dgx", "S-0002c90300000100:0x"])
def test_plan_refuses_a_failure_of_what_is_not_there(run, pod_net, what):
    done = run(program("fmctl"), "plan", pod_net, "--fail", what)
    assert (done.returncode, done.stdout) == (1, "")
    assert what in done.stderr


@pytest.mark.parametrize("line, reason", [
    ("sweep_intervall = 10.0;", "sweep_intervall"), ("port = 255;", "outside"), ("sm_priority = -1;", "outside"),
    ("sweep_interval = 0.01;", "outside"), ("max_op_vls = 6;", "outside"), ('routing_engine = "magic";', "magic"),
    ('port = "one";', "number"), ("guid = 0x1234;", "text"), ('guid = "0xyz";', "0xyz"), ("sm_sl = ;", ""),
    ("transaction_timeout = 1.5;", "whole"), ('log_level = "loud";', "loud"), ("port = 1; port = 1;", "")])
def test_configuration_is_refused_by_file_and_line(run, tmp_path, line, reason):
    conf = tmp_path / "fmd.conf"
    conf.write_text(f"# one\nvl_stall_count = 1;\n{line}\nmax_wire_smps = 8;\n")
    checked = run(program("fmd"), "--check-config", conf)
    assert checked.returncode == 1
    assert re.search(rf"^{re.escape(str(conf))}:[34]: .*{reason}", checked.stderr), checked.stderr
    begun = run(program("fmd"), "-c", conf)
    assert begun.returncode == 2
    assert checked.stderr in begun.stderr


@pytest.mark.parametrize("conf, word", [
    ({"device": "nosuch_0"}, "nosuch_0"), ({"port": 77}, "77"), ({"guid": "0x0000000000abcdef"}, "abcdef"),
    ({"device": "THE-DEVICE", "port": 9}, "9")])
def test_port_that_is_not_there_is_waited_for(start, pod_net, conf, word):
    fabric = start(pod_net, fmd=False)
    fabric.write_conf(**{key: fabric.ibsim.device if value == "THE-DEVICE" else value for key, value in conf.items()})
    fabric.start_fmd()
    status = fabric.wait(lambda s: s["state"] == "no-device", "it says so")
    assert not status["fabric_up"] and status["sm"] != "master"
    assert [alert["what"] for alert in status["alerts"]] == ["no-device"] and word in status["alerts"][0]["text"]
    refused = fabric.fmctl("sweep", check=False)
    assert refused.returncode == 1 and word in refused.stderr, refused
    assert {port["lid"] for port in fabric.simulated().values()} <= {0, None}  # nothing was touched
