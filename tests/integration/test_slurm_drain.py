# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""etc/hooks/slurm-drain by itself, with a scontrol of the test's own: when it drains, when it resumes, and what it makes of names."""
import os
import subprocess

import pytest

from fabric import ROOT

# Slurm's own order of a node's fields; its arguments one a line, so that a blank in one is no border.
SCONTROL = """#!/bin/sh
folder=$(dirname "$0")
case "$*" in
*show*) printf 'NodeName=%s Arch=x86_64 CPUTot=224 State=%s ThreadsPerCore=2 Reason=%s\\n' "$4" "$(cat "$folder/state")" \\
	"$(cat "$folder/reason")" ;;
*) printf '%s\\n' "$@" >>"$folder/said" ;;
esac
"""


class Slurm:
    def __init__(self, folder):
        self.folder = folder
        (folder / "scontrol").write_text(SCONTROL)
        (folder / "scontrol").chmod(0o755)
        self.node("IDLE", "")

    def node(self, state, reason):
        (self.folder / "state").write_text(state)
        (self.folder / "reason").write_text(reason)

    def settings(self, **values):
        (self.folder / "settings").write_text("# as a site has it\n" + "".join(f"{k} = {v}\n" for k, v in values.items()))

    def tell(self, state, host="dgx-01", **more):
        """What scontrol was told to change, as a list of arguments; [] = nothing."""
        (self.folder / "said").unlink(missing_ok=True)
        facts = {"FMD_HOST": host, "FMD_STATE": state, "FMD_OLD_STATE": "HEALTHY", "FMD_REASON": "GPU 2: no NVLink to 1 of 7 GPUs",
                 "FMD_SLURM_DRAIN_CONF": str(self.folder / "settings"), "PATH": f"{self.folder}:{os.environ['PATH']}", **more}
        self.done = subprocess.run([ROOT / "etc/hooks/slurm-drain"], env=facts, capture_output=True, text=True)
        said = self.folder / "said"
        return said.read_text().splitlines() if said.exists() else []


@pytest.fixture
def slurm(tmp_path):
    return Slurm(tmp_path)


@pytest.mark.parametrize("drain_at,drains", [(None, ["NO_P2P", "FATAL"]), ("DEGRADED_LINK", ["DEGRADED_LINK", "NO_P2P", "FATAL"]),
                                             ("NO_P2P", ["NO_P2P", "FATAL"]), ("FATAL", ["FATAL"]), ("never", [])])
def test_where_it_drains_is_the_sites_choice(slurm, drain_at, drains):
    if drain_at:
        slurm.settings(drain_at=drain_at)
    did = [state for state in ("HEALTHY", "DEGRADED_LINK", "NO_P2P", "FATAL", "UNKNOWN") if "state=drain" in slurm.tell(state)]
    assert did == drains


@pytest.mark.parametrize("resume_at,resumes", [(None, ["HEALTHY"]), ("HEALTHY", ["HEALTHY"]), ("never", []),
                                               ("DEGRADED_LINK", ["HEALTHY", "DEGRADED_LINK"])])
def test_where_it_resumes_is_the_sites_choice(slurm, resume_at, resumes):
    if resume_at:
        slurm.settings(resume_at=resume_at)
    slurm.node("IDLE+DRAIN", "fmd: NO_P2P GPU 2: no NVLink [root@2026-01-01T00:00:00]")
    did = [state for state in ("HEALTHY", "DEGRADED_LINK", "NO_P2P", "FATAL", "UNKNOWN") if "state=resume" in slurm.tell(state)]
    assert did == resumes


@pytest.mark.parametrize("drain_at,drains", [(None, ["NO_P2P", "FATAL", "CUT_OFF"]), ("DEGRADED", ["DEGRADED", "NO_P2P", "FATAL", "CUT_OFF"]),
                                             ("CUT_OFF", ["CUT_OFF"]), ("never", [])])
def test_it_drains_by_the_verdict_on_a_host(slurm, drain_at, drains):
    if drain_at:
        slurm.settings(drain_at=drain_at)
    did = [state for state in ("HEALTHY", "UNKNOWN", "DEGRADED", "NO_P2P", "FATAL", "CUT_OFF") if "state=drain" in slurm.tell(state)]
    assert did == drains


@pytest.mark.parametrize("evidence", [
    "DEGRADED_LINK: GPU 1: recovery action: drain and reset (http://dgx-01:9400/metrics)",
    "DEGRADED_LINK: Xid 154: GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset) (kernel log)"])
def test_it_drains_where_the_driver_asks_for_that(slurm, evidence):
    assert "state=drain" in slurm.tell("DEGRADED_LINK", FMD_EVIDENCE=evidence, FMD_ACTION="reset GPU")
    assert slurm.tell("DEGRADED_LINK", FMD_EVIDENCE="DEGRADED_LINK: GPU 1: 2 NVLinks down", FMD_ACTION="reset GPU") == []
    assert slurm.tell("HEALTHY", FMD_EVIDENCE=evidence) == []
    slurm.settings(drain_at="FATAL")
    assert slurm.tell("DEGRADED_LINK", FMD_EVIDENCE=evidence) == []


def test_what_others_drained_is_left_alone(slurm):
    slurm.node("DOWN+DRAIN", "bad fan")
    assert slurm.tell("FATAL") == [] and slurm.tell("HEALTHY") == []
    slurm.node("IDLE", "fmd: an old one")
    assert slurm.tell("HEALTHY") == []
    slurm.node("IDLE", "the DRAIN below it is wet")  # a word in a reason is no state
    assert "state=drain" in slurm.tell("NO_P2P")


def test_the_reason_says_what_to_mend(slurm):
    said = slurm.tell("NO_P2P", FMD_GPU="2", FMD_PCI="0000:52:00", FMD_ACTION="reset GPU")
    assert said == ["update", "nodename=dgx-01", "state=drain",
                    "reason=fmd: NO_P2P GPU 2 (0000:52:00) GPU 2: no NVLink to 1 of 7 GPUs; wants: reset GPU"]


def test_arguments_are_data(slurm):
    hostile = 'x"; rm -rf / $(touch gone) `id` state=resume\nnodename=ALL'
    said = "\n".join(slurm.tell("NO_P2P", FMD_REASON=hostile))
    assert said.startswith("update\nnodename=dgx-01\nstate=drain\nreason=fmd: NO_P2P x\"; rm -rf / $(touch gone)")


@pytest.mark.parametrize("name", ["", "ALL", "all", "aLl", "dgx-[01-99]", "dgx-01,dgx-02", "dgx 01", "-h", "dgx*", "a=b", "dgx-01\n"])
def test_what_is_no_single_node_is_refused(slurm, name):
    assert slurm.tell("FATAL", host=name) == [] and slurm.done.returncode == 1 and "no node's name" in slurm.done.stderr


def test_the_node_is_what_schedulers_call_the_host(slurm):
    assert "nodename=dgx-01" in slurm.tell("FATAL", host="DGX-01.cluster.example", FMD_NODE="dgx-01")
    assert slurm.tell("FATAL", FMD_NODE="") == [] and slurm.done.returncode == 1


def test_a_wrong_setting_changes_nothing_and_is_told(slurm):
    slurm.settings(drain_at="SOMETIMES")
    assert slurm.tell("FATAL") == [] and slurm.done.returncode != 0 and "SOMETIMES" in slurm.done.stderr
