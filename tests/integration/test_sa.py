# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The subnet administration as hosts meet it: every record by saquery, reports, services, and all of it over a restart."""
import pathlib
import re
import sys

import pytest

SM_HOST, HOST, OTHER = "H-0002c90380000100", "H-0002c90380008300", "H-0002c90380000a00"
CLIENT = pathlib.Path(__file__).with_name("sa_client.py")
LEAF = "0x0002c90300000200"


def lid_of(fabric, guid):
    return fabric.lids()[guid if guid.startswith("0x") else "0x" + guid[2:]]


def client(fabric, *arguments, host=HOST, **options):
    return fabric.run(sys.executable, CLIENT, fabric.status()["sm_lid"], *arguments, host=host, **options)


def ask(fabric, *arguments, host=HOST):
    return fabric.run("saquery", *arguments, host=host).stdout


def port_guid(host, port=1):
    return f"0x{int(host[2:], 16) + port:016x}"


# What is asked of one port or switch, so that the answer fits the one MAD that ibsim carries; and what must be in it.
RECORDS = {
    "ClassPortInfo": ("CPI", None, r"Class version\.+2"),
    "NodeRecord": ("NR", "{host}", r"node_guid\.+0x0002c90380008300"),
    "PortInfoRecord": ("PIR", "{host}/1", r"LinkState:\.+Active"),
    "SL2VLTableRecord": ("SL2VL", "{host}", r"LID\.+{host}\b"),
    "PKeyTableRecord": ("PKTR", "{host}/1/0", r"0xffff"),
    "VLArbitrationTableRecord": ("VLAR", "{host}/1/1", r"LID\.+{host}\b"),
    "LinkRecord": ("LR", "{host}", r"ToLID\.+\d+"),
    "LFTRecord": ("LFTR", "{leaf}/0", r"LID\.+{leaf}\b"),
    "GUIDInfoRecord": ("GIR", "{host}/0", r"0x0002c90380008301"),
    "SwitchInfoRecord": ("SWIR", "{leaf}", r"LID\.+{leaf}\b"),
    "SMInfoRecord": ("SMIR", "{sm}", r"SMState\.+3|sm_state\.+3|Master|state.*3"),
    "PathRecord": ("PR", "--slid={host} --dlid={sm}", r"slid\.+{host}"),
}


@pytest.mark.parametrize("record", RECORDS)
def test_saquery_gets_every_record_at_a_host_that_is_not_the_sms(pod, record):
    name, which, wanted = RECORDS[record]
    lids = {"host": lid_of(pod, HOST), "leaf": lid_of(pod, LEAF), "sm": lid_of(pod, SM_HOST)}
    arguments = which.format(**lids).split() if which else []
    key = ["--smkey", "1"] if record == "PKeyTableRecord" else []
    flags = [word for word in arguments if word.startswith("--")]
    said = ask(pod, *key, *flags, name, *(word for word in arguments if word not in flags))
    assert re.search(wanted.format(**lids), said), said


@pytest.mark.on_ibsim("the SA, by libumad2sim instead of our library")
def test_services_are_seen_by_others_and_outlive_a_restart(start, pod_net):
    fabric = start(pod_net, SM_HOST)
    client(fabric, "register", port_guid(HOST), 0x1234, "checkpoints")
    assert "checkpoints" in ask(fabric, "-S", host=OTHER)
    fabric.stop_fmd()
    fabric.start_fmd(SM_HOST)
    fabric.wait_up()
    assert "checkpoints" in ask(fabric, "-S", host=OTHER)
    client(fabric, "delete", port_guid(HOST), 0x1234)
    assert "checkpoints" not in ask(fabric, "-S", host=OTHER)
    assert client(fabric, "delete", port_guid(HOST), 0x1234, check=False).returncode != 0


def test_who_subscribed_and_does_not_answer_is_dropped_and_that_is_told(start, pod_net):
    """ibsim hands requests to subnet managers alone: a host's acknowledgement is tested in the in-process fabric."""
    fabric = start(pod_net, SM_HOST, transaction_timeout=100)
    client(fabric, "subscribe")
    assert re.search(r"trap_num\.+65535", ask(fabric, "-I", host=OTHER)), "the subscription is seen by others"
    fabric.stop_fmd()
    fabric.start_fmd(SM_HOST)
    fabric.wait_up()
    assert re.search(r"trap_num\.+65535", ask(fabric, "-I", host=OTHER)), "and outlives a restart"
    fabric.console(f'Unlink "{OTHER}"')  # traps, and a port out of service
    fabric.wait_up(lambda s: s["links_down"] == 1)
    fabric.console(f'Relink "{OTHER}"')
    fabric.wait(lambda s: any("does not answer reports" in str(event) for event in fabric.ask("events")),
                "the end of the subscription is told")
    fabric.wait_up(lambda s: s["links_down"] == 0, "who asks is back")
    assert "trap_num" not in ask(fabric, "-I", host=OTHER)
