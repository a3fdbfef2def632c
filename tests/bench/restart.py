# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The manager is started anew on a fabric that runs: with nothing changed, and with a cable cut while nobody was there.

Each finds what its earlier self left: fmd its state_dir, OpenSM its cache folder. Right is when the last block that had to be
written is acknowledged, or, where there is none, when the manager answers again: fmd's first publish and OpenSM's SUBNET UP.
fmd then reads the tables of before; the row below says until when.
"""
import sys
import time

import fabrics
import fault
import parts as p
import table
import world as w

SIZES = (4096,)
TIME_BOUND = {4096: 1 / 3}
LIMIT_S, PART_LIMIT_S = 120, 180
LFT = 0x19


class Fmd(w.Fmd):
    def again_s(self):
        """Seconds until faults and hosts are answered, until every link and block is known to be as wanted."""
        up_s = self.wait_up(LIMIT_S)
        return self.log.wait(r"sm: now master", LIMIT_S)[0] - self.started, up_s


class Opensm(w.Opensm):
    def again_s(self):
        up_s = self.wait_up(LIMIT_S)
        return up_s, up_s


def life(world, sim, manager, kept):
    """One life of a manager: (seconds until all is right, until all is known to be, LFT blocks written)."""
    sm = manager(world, sim, **kept)
    try:
        answers_s, known_s = sm.again_s()
        cpu_s = w.run_us(sm.process.pid) / 1e6
        blocks = sm.counts.sent(w.SET, LFT)
        right_s = max(answers_s, sm.counts.last(w.SET, LFT) - sm.started) if blocks else answers_s
        time.sleep(fault.QUIET_S)
    finally:
        sm.close()
    return {"right_s": right_s, "known_s": known_s, "blocks": blocks, "cpu_s": cpu_s}


def measure(world, netfile, manager, kept):
    plan, sim = fault.Plan(netfile), w.simulator(world, netfile)
    try:
        life(world, sim, manager, kept)
        whole = life(world, sim, manager, kept)
        fault.console(sim, fault.cut(plan.far_cables(2)[1]))
        damaged = life(world, sim, manager, kept)
    finally:
        sim.close()
    print(f"  restart {manager.__name__}: {whole}, cable cut: {damaged}", file=sys.stderr, flush=True)
    return {"whole": whole, "damaged": damaged}


def rows(size, fmd, osm):
    def both(which, key):
        return fmd[which][key], osm[which][key]

    made = [table.share(f"restart of the manager, {size:,} HCAs: until it answers again", *both("whole", "right_s"), "s",
                        TIME_BOUND.get(size)),
            table.share("— the manager's processor time, until all is read", *both("whole", "cpu_s"), "s"),
            table.limit("— table blocks written", *both("whole", "blocks"), "", 0),
            table.share(f"restart, a cable cut meanwhile, {size:,} HCAs: until the tables are right",
                        *both("damaged", "right_s"), "s", TIME_BOUND.get(size)),
            table.Row("— table blocks written", *both("damaged", "blocks")),
            table.Row("— until all other blocks were read back", fmd["damaged"]["known_s"], None, "s")]
    if not fmd["damaged"]["blocks"]:
        made[3].spoil("nothing was written")
    return made


def compare(world, size):
    netfile = fabrics.generated(world, size)
    fmd = measure(world, netfile, Fmd, {"state": world.folder("state")})
    osm = measure(world, netfile, Opensm, {"cache": world.folder("cache")})
    made = rows(size, fmd, osm)
    table.readme(made[0], made[3])
    return made, {"size": size, "fmd": fmd, "opensm": osm}


def parts(world, options):
    return [p.Part(f"restart of the manager, {size:,} HCAs", PART_LIMIT_S, lambda size=size: compare(world, size), routed=True) for size in options.sizes or SIZES]
