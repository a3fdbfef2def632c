# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Fabrics of the field, as they are and without GUID files: does each come up as a fat tree?

fmd passes when it says up, by engine ftree, with tables proven and every link Active in ibsim. OpenSM falls back to
min-hop on what its ftree refuses; its reason is the ERR code of its log.
"""
import os
import re

import fabrics
import table
import world as w

LIMIT_S = 60


def fmd_outcome(sm, sim):
    sm.wait_up(LIMIT_S)
    status, links = sm.ask("status"), sim.links()
    proof, not_active = status["proof"], sum(n for state, n in links.items() if state != "Active")
    wrong = [f"{proof[key]} {key.replace('_', ' ')}" for key in ("unreachable", "loops", "credit_cycles") if proof[key]]
    if not_active:
        wrong.append(f"{not_active} port ends not Active")
    return ", ".join([status["engine"], *wrong])


def opensm_outcome(sm, sim):
    sm.wait_up(LIMIT_S)
    with open(sm.log, errors="replace") as log:
        text = log.read()
    used = re.findall(r"(\w+) tables configured on all switches", text)
    why = re.search(r"ERR (AB\w\w)", text)
    return (used[0] if used else "no tables") + (f" ({why[1]})" if why else "")


def outcome(world, netfile, manager, judge):
    sim = w.Ibsim(world, netfile)
    try:
        sm = manager(world, sim)
        try:
            return judge(sm, sim)
        except w.BenchError as error:
            return f"not up: {error}"
        finally:
            sm.close()
    finally:
        sim.close()


def run(world, options):
    files = fabrics.real()
    if not files:
        raise w.BenchError("no files: set FMD_FABRICS to their folder")
    for netfile in files:
        ours = outcome(world, netfile, w.Fmd, fmd_outcome)
        theirs = outcome(world, netfile, w.Opensm, opensm_outcome)
        name = os.path.splitext(os.path.basename(netfile))[0]
        yield [table.Row(name, ours, theirs, bound="ftree", met=ours == "ftree")], {"file": name}
