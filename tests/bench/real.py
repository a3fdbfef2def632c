# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Fabrics of the field, as they are and without GUID files: does each come up as a fat tree?

fmd passes when it says up, by engine ftree, with tables proven and every link Active in ibsim. OpenSM falls back to
min-hop on what its ftree refuses; its reason is the ERR code of its log.
"""
import os

import fabrics
import parts as p
import table
import world as w

LIMIT_S, PART_LIMIT_S = 30, 150


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
    engine, why = sm.engine()
    return (engine or "no tables") + (f" ({why.split(':')[0]})" if why else "")


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


def compare(world):
    files = fabrics.real()
    if not files:
        raise w.BenchError("no files: set FMD_FABRICS to their folder")
    outcomes = [(outcome(world, netfile, w.Fmd, fmd_outcome), outcome(world, netfile, w.Opensm, opensm_outcome)) for netfile in files]
    names = [os.path.splitext(os.path.basename(netfile))[0] for netfile in files]
    good = [sum(side == "ftree" for side in sides) for sides in zip(*outcomes)]
    total = table.Row(f"{len(files)} published fabrics: come up as fat trees", *good, bound=str(len(files)), met=good[0] == len(files))
    details = [table.Row(table.DETAIL + name, *sides, bound="ftree", met=sides[0] == "ftree") for name, sides in zip(names, outcomes)]
    return table.readme(total) + details, dict(zip(names, outcomes))


def parts(world, options):
    return [p.Part("published fabrics: come up as fat trees", PART_LIMIT_S, lambda: compare(world))]
