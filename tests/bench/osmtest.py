# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Which of osmtest's flows pass against fmd, and which against OpenSM, on the same fabric.

Each manager brings up a fresh pod of 256 adapters; osmtest runs at another host, as a client. Flow `c` writes the inventory
file that the validating flows read. A flow that does not end within LIMIT_S counts as hanging (ibsim has no RMPP).

Two flows fail on this rig with any manager; real hardware would show whether they pass. Flow `s` compares a whole
ServiceRecord, but libumad2sim hands over only the first 224 bytes of a MAD, so the last bytes are whatever the buffer held.
Flow `m 1` deletes the groups that a GetTable returns. One MAD without RMPP holds three of them, so the flow then finds
its other groups still there. At its next run these groups are not its own any more, and it passes.
"""
import os
import subprocess
import sys
import time

import fabrics
import parts as p
import sa
import table
import world as w

SIZE = 256
LIMIT_S = 60
UP_LIMIT_S, PART_LIMIT_S = 60, 1500
SETTLE_S = 1.0
SIMULATOR = {"s": "cut by libumad2sim", "m 1": "no RMPP on ibsim"}  # why a flow fails whoever answers
FLOWS = [("c", ()), ("s", ()), ("e", ()), ("q", ()), *(("m", ("-M", str(mode))) for mode in (1, 2, 3, 4)),
         *(("f", ("-s", str(mode))) for mode in (1, 2))]


def name_of(flow, options):
    return " ".join((flow, *options[1:]))


def run_flow(world, sim, folder, client, flow, options):
    """"pass", "fail" or "hang", and the last words."""
    environment = {**os.environ, "IBSIM_SOCKNAME": sim.name, "LD_PRELOAD": world.umad2sim, "SIM_HOST": client[0],
                   "OSM_TMP_DIR": folder, "OSM_CACHE_DIR": folder}
    process = world.start(["osmtest", "-f", flow, *options, "-g", "0x" + client[1], "-i", os.path.join(folder, "inventory")],
                          cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    try:
        out = process.communicate(timeout=LIMIT_S)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        return "hang", ""
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
        world.processes.remove(process)
    said = [line for line in out.splitlines() if line.strip()]
    return "pass" if process.returncode == 0 and "PASS" in out else "fail", " | ".join(said[-3:])


def measure(world, netfile, manager):
    sim = w.Ibsim(world, netfile)
    results = {}
    try:
        sm = manager(world, sim)
        try:
            sm.wait_up(UP_LIMIT_S)
            time.sleep(SETTLE_S)
            folder = world.folder("osmtest")
            client = [names[-1] for names in sa.hosts(netfile)]
            for flow, options in FLOWS:
                results[name_of(flow, options)] = run_flow(world, sim, folder, client, flow, options)
        finally:
            sm.close()
    finally:
        sim.close()
    print(f"  osmtest {sm.name}: " + ", ".join(f"{flow} {result}" for flow, (result, _) in results.items()),
          file=sys.stderr, flush=True)
    return results


def compare(world):
    netfile = fabrics.generated(world, SIZE)
    fmd, opensm = (measure(world, netfile, manager) for manager in (w.Fmd, w.Opensm))
    rows = []
    for flow, (result, _) in fmd.items():
        theirs = opensm[flow][0]
        rows.append(table.Row(f"osmtest {flow}", result, theirs, "", None, "pass" if theirs == "pass" else None,
                              result == "pass" if theirs == "pass" else None,
                              SIMULATOR.get(flow, "") if "pass" not in (result, theirs) else ""))
    return rows, {"size": SIZE, "fmd": fmd, "opensm": opensm}


def parts(world, options):
    return [p.Part("osmtest", PART_LIMIT_S, lambda: compare(world))]
