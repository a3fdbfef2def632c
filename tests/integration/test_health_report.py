# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`fmctl health-report`: a program beside fmd as a source of a host's NVLink health, with no exporter configured."""
import pytest

HOST = "dgx-su01-05"


def row(fabric):
    return next(h for h in fabric.ask("nvswitch")["hosts"] if h["host"] == HOST)


def test_report_is_believed_shown_and_taken_back(start, pod_net):
    fabric = start(pod_net, nvswitch_worsen_hold=0, nvswitch_recover_hold=0)
    said = fabric.ask("health-report", "redfish", HOST, "FATAL", "baseboard: NVSwitch tray off", "600")
    assert said == {"host": HOST, "source": "redfish", "state": "FATAL", "ttl_s": 600.0}
    fabric.wait(lambda status: row(fabric)["state"] == "FATAL", "the report counts")
    found = row(fabric)
    assert found["reason"] == "baseboard: NVSwitch tray off"
    assert [(s["url"], s["up"], s["trust"]) for s in found["sources"]] == [("health-report:redfish", True, "proven")]
    assert "health-report:redfish" in fabric.fmctl("nvswitch", HOST).stdout
    said = fabric.fmctl("health-report", "redfish", HOST, "HEALTHY", "", "600").stdout
    assert said == f"{HOST}: HEALTHY, reported by redfish for 600 s\n"
    fabric.wait(lambda status: row(fabric)["state"] == "HEALTHY", "it is well again")


def test_a_first_report_that_has_to_last_is_the_reason_for_unknown(start, pod_net):
    fabric = start(pod_net, nvswitch_worsen_hold=3600)
    fabric.fmctl("health-report", "redfish", HOST, "FATAL", "baseboard: NVSwitch tray off", "600")
    fabric.wait(lambda status: row(fabric)["observed"] == "FATAL", "the report was read")
    assert row(fabric)["state"] == "UNKNOWN" and "nvswitch_worsen_hold" in row(fabric)["reason"]


def test_report_that_is_not_renewed_is_silence(start, pod_net):
    fabric = start(pod_net, nvswitch_worsen_hold=0)
    fabric.fmctl("health-report", "redfish", HOST, "DEGRADED_LINK", "links down", "1")
    fabric.wait(lambda status: row(fabric)["state"] == "UNKNOWN" and row(fabric)["sources"][0]["error"], "its TTL is over")
    assert row(fabric)["sources"][0]["error"] == "no report within its TTL of 1 s"
    assert row(fabric)["observed"] == "DEGRADED_LINK"


@pytest.mark.parametrize("arguments, reason, status", [
    (["redfish", "moon", "FATAL", "x", "60"], "no host moon", 1), (["redfish", HOST, "ILL", "x", "60"], "ILL", 2),
    (["redfish", HOST, "FATAL", "x", "soon"], "TTL", 2), (["red fish", HOST, "FATAL", "x", "60"], "a source is", 1),
    (["redfish", HOST, "FATAL", "", "60"], "a reason is expected", 1)])
def test_refusal_names_the_command_and_its_reason(pod, arguments, reason, status):
    done = pod.fmctl("health-report", *arguments, check=False)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith("fmctl: health-report: ") and reason in done.stderr


def test_operators_say_how_many_gpus_a_host_has(start, pod_net):
    fabric = start(pod_net)
    said = fabric.fmctl("nvswitch", "expect", HOST, "gpus=7").stdout
    assert said == f"{HOST}: so many GPUs from now on\n"
    assert row(fabric)["gpus_declared"] == 7 and "declared with 7 GPUs" in fabric.fmctl("nvswitch", HOST).stdout
    fabric.stop_fmd()
    fabric.start_fmd()
    fabric.wait_up()
    assert row(fabric)["gpus_declared"] == 7
    answer = fabric.ask("nvswitch", "expect", HOST, "gpus=0")
    assert answer["host"] == HOST and answer["gpus_declared"] == 0
    assert row(fabric)["gpus_declared"] is None
    for words, status in ((["gpus=17"], 1), (["7"], 2), (["gpus=x"], 2), ([], 2)):
        assert fabric.fmctl("nvswitch", "expect", HOST, *words, check=False).returncode == status, words


def test_too_few_words_are_wrong_usage(pod):
    done = pod.fmctl("health-report", "redfish", HOST, check=False)
    assert (done.returncode, done.stderr) == (2, "usage: fmctl health-report SOURCE HOST STATE REASON TTL\n")
