#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Power cuts: all devices and all managers lose power and come back at random moments, some devices ill; how long until all pairs that cables connect are alive.

    powercut.py [--bin FOLDER] [--size HCAS] [--seeds FIRST-LAST] [--seconds N] [--ills "WORD .."] [--managers 0..2] [--opensm] [--load N]
                [--train] [--settle S] [--limit S] [--watch S] [--no-ages] [--keep FOLDER] [--json FILE]

On fmsim, by its commands `powercut' and `judge': what devices forward counts, no manager's word. One line a seed: the seconds from the last link up (of cables that do
not flap) until no pair is dead; which share of all pairs were dead for so many seconds or longer, though links connected them with each other and with a manager that ran as long: each
pair from the last of these links up, by switches that can be programmed, and how long it took for 99 of 100 pairs; LIDs that moved, of ports that were Armed or Active; LFT loops and credit cycles that were seen at any moment; what was dead in the --watch seconds behind that; what fmd says in the end.
--managers 0: the managers keep running, as on a power supply of their own; their HCAs go off as all. Else so many are killed, and start at random moments. --load: so many
busy loops beside. --no-ages: pairs are not judged by their age; at 4,096 HCAs on a busy machine these judges take seconds, in which nobody sees that all is alive. --settle: so long the fabric is up before the cut, for files that are not written at once (8). --train: links train for 1 to 3 s. --keep: what was
said, logs and state of each seed that is not as it should be. Exit status 1 if there was one.
"""
import json
import pathlib
import random
import re
import signal
import sys
import time

sys.dont_write_bytecode = True

import fabrics
import managers as m
import world as w

AGES_S = (0.25, 0.5, 1, 2, 3, 5, 10, 20)
AGE_S = 2
BOUND_S, LOAD_BOUND_S, PAIR_BOUND_S, PAIR_SHARE = 3, 10, 2, 0.01
ALL = "deaf hung refusing slow flapping swapped factory flash"


def host_nodes(sim, count):
    """GUIDs of HCAs at either end of the list: of hosts that share no leaf's first ports."""
    guids = [line.split()[1][2:] for line in sim.tell("state").splitlines() if line.startswith("node H-") and "Aggregation" not in line]
    return [f"0x{guid}" for guid in (guids[0], guids[len(guids) // 2 + 5])[:count]]


class Trial:
    def __init__(self, world, options, seed):
        self.world, self.options, self.seed = world, options, seed
        self.random = random.Random(seed)
        self.sim = w.Fmsim(world, fabrics.generated(world, options.size))
        self.done = w.Lines(self.sim.process.stdout)  # by fmsim, when its time had come
        self.row = {"seed": seed, "size": options.size, "ills": options.ills, "manager": "OpenSM" if options.opensm else "fmd"}
        kind = m.Opensm if options.opensm else m.Fmd
        nodes = host_nodes(self.sim, max(options.managers, 1))
        ports = [m.free_port() for _ in nodes] if len(nodes) > 1 and not options.opensm else []
        psk = m.secret(world) if ports else None
        self.managers = [kind(world, self.sim, node, ports[i:] + ports[:i], psk) for i, node in enumerate(nodes)]
        self.every_s = 0.03 if options.size <= 256 else 0.1 if options.size <= 1024 else 0.5  # what a judge finds alive is alive since the last change before it
        self.late_every_s = 1 if options.size > 1024 else 0  # several judges each time
        self.ages = AGES_S if options.size <= 1024 else AGES_S[3:5]  # a judge reads for 130 ms at 4,096, two for each age; longer beside busy managers
        if options.no_ages:
            self.ages = ()

    def judge(self, age=""):
        return json.loads(self.sim.tell(f"judge --json {age}"))

    def bring_up(self):
        for manager in self.managers:
            manager.start()
            m.until(manager.is_master if manager is self.managers[0] else manager.stands_by, "the fabric is up", every_s=0.2)
        if len(self.managers) > 1 and not self.options.opensm:
            m.until(lambda: (self.managers[1].status() or {}).get("mirror", {}).get("whole"), "the standby has a whole copy", every_s=0.2)
        m.until(lambda: not self.judge()["dead"], "all pairs are alive", every_s=0.2)
        time.sleep(self.options.settle)
        self.sim.tell("judge mark")

    def cut(self):
        self.said = self.sim.tell(f"powercut {self.seed} {self.options.seconds} {self.options.ills}")
        self.row["victims"] = " ".join(re.findall(r"^at 0.000s (deaf|hang|refuse|slow|swap) ", self.said, re.M))
        self.began = time.monotonic()
        self.cut_at = self.judge()["now"]
        self.starts, self.since = [], {}
        if not self.options.managers:
            self.since = {manager: 0 for manager in self.managers}
        if self.options.managers:
            for manager in self.managers:
                manager.end(signal.SIGKILL)
                self.starts.append((self.random.uniform(0, self.options.seconds), manager))
        self.row["managers_at"] = [round(at, 2) for at, _ in self.starts]

    def start_managers(self):
        for at, manager in [each for each in self.starts if each[0] <= time.monotonic() - self.began]:
            manager.start()
            self.since[manager] = time.monotonic()
            self.starts.remove((at, manager))

    def watch(self):
        """Until all is alive, and for some seconds more."""
        row, last_up, first_alive, dead_since, late_at, sound = self.row, None, None, None, 0, []
        row.update(loops=0, cycles=0, moved=0, dead_again=0, dead_again_s=0.0, alive_s=None)
        self.late, self.waited, self.read_at = [], dict.fromkeys(self.ages, 0), dict.fromkeys(self.ages)
        while True:
            self.start_managers()
            now = self.judge()
            if now["now"] - late_at >= self.late_every_s:
                late_at = now["now"]
                self.count_late(now)
            for key in ("loops", "cycles", "moved"):
                row[key] = max(row[key], now[key])
            sound = [] if now["dead"] else [*sound, (now["now"], now["changed"])]  # the last link is found late beside one that flaps, which trains again and again
            if last_up is None and not now["off"] and not now["training"] and not self.starts:
                last_up = max(now["last_up"], self.last_start())
                row.update(last_up=round(last_up, 3), pairs=now["pairs"])
            if last_up is not None:
                if now["dead"] and first_alive is None:
                    row["last_dead"] = now["dead"], now["from"], now["to"]
                if not now["dead"] and first_alive is None:
                    first_alive = next(changed for at, changed in sound if at >= last_up or at == now["now"])
                    row["alive_s"] = round(max(first_alive - last_up, 0), 3)
                elif now["dead"] and first_alive:
                    dead_since = dead_since or now["now"]
                    row["dead_again"] = max(row["dead_again"], now["dead"])
                    row["dead_again_s"] = max(row["dead_again_s"], round(now["now"] - dead_since, 2))
                else:
                    dead_since = None
                if now["now"] - last_up > self.options.limit or (first_alive and now["now"] - first_alive > self.options.watch):
                    row.update(dead=now["dead"], dead_late=self.judge(f"{AGE_S}s")["dead"], example=(now["from"], now["to"]), moved_end=now["moved"])
                    row["waited"] = {age: count / row.get("pairs", now["pairs"]) for age, count in self.waited.items()}
                    row["pairs_p99_s"] = next((age for age in self.ages if row["waited"][age] <= PAIR_SHARE), None)
                    return
            time.sleep(self.every_s if last_up is not None else max(self.every_s, self.late_every_s))

    def count_late(self, now):
        """For each age, pairs that became so old while they were dead: those of that age, without those that were as old when it was asked before.

        A pair is as old as the youngest of the links that connect it with the manager that runs for longest, by switches that can be programmed, and as that manager.
        """
        if not self.since:
            return
        manager = min(self.since, key=self.since.get)
        ages = [each for each in self.ages if each <= time.monotonic() - self.since[manager]]
        if not ages:
            return
        older = [age + now["now"] - (self.read_at[age] or now["now"]) for age in ages]
        told = self.sim.tell(f"judge --json sound {','.join(f'{age:.6f}s' for age in ages + older)} {manager.node}:1")
        verdicts = [json.loads(line) for line in told.splitlines()]
        for age, verdict, as_old in zip(ages, verdicts, verdicts[len(ages):]):
            dead = verdict["dead"]
            if self.read_at[age]:
                dead -= min(dead, as_old["dead"])
            self.read_at[age] = now["now"]
            if dead and age >= PAIR_BOUND_S:
                self.late.append(f"{now['now']:.3f} {dead} pairs are dead since {age} s: {verdict['from']} {verdict['to']}\n")
            self.waited[age] += dead

    def last_start(self):
        """A manager that has power last is what all waits for: on fmsim's clock, to some milliseconds."""
        clock = self.judge()["now"] - (time.monotonic() - self.began)
        return clock + max(self.row["managers_at"], default=0)

    def says(self):
        """What the master says in the end."""
        for manager in self.managers:
            status = manager.status()
            if status and status.get("sm") == "master":
                self.row.update(state=status["state"], off=status["hcas_off"], in_force=(status.get("in_force") or {}).get("pairs_in_force"),
                                unreachable=(status.get("proof") or {}).get("unreachable"), alerts=sorted(alert["what"] for alert in status["alerts"]))
                return status
        return None

    def run(self):
        try:
            self.bring_up()
            if self.options.train:
                self.sim.tell("times train 1s 3s")
            self.cut()
            self.watch()
            status = self.says()
            bound = LOAD_BOUND_S if self.options.load else BOUND_S
            row = self.row
            row["ok"] = (row["alive_s"] is not None and row["alive_s"] <= bound and not (row["moved"] or row["loops"] or row["cycles"] or row["dead"])
                         and (self.options.no_ages or row["pairs_p99_s"] is not None and row["pairs_p99_s"] <= PAIR_BOUND_S))
            if self.options.keep and (self.late or not row["ok"]):
                self.keep(status)
            return row
        finally:
            for manager in self.managers:
                manager.end(signal.SIGKILL)
            self.sim.close()

    def keep(self, status):
        folder = pathlib.Path(self.options.keep) / f"{self.options.size}-{self.seed}-{self.row['manager']}-{self.options.ills.replace(' ', '+') or 'none'}"
        folder.mkdir(parents=True, exist_ok=True)
        folder.joinpath("row.json").write_text(json.dumps(self.row, indent=1))
        folder.joinpath("late").write_text("".join(self.late))
        folder.joinpath("powercut").write_text(self.said)
        folder.joinpath("fmsim").write_text("".join(f"{line}\n" for _, line in self.done.lines))
        folder.joinpath("judge").write_text(self.sim.tell("judge"))
        folder.joinpath("state").write_text(self.sim.tell("state"))
        if self.row.get("example", (None,))[0]:
            folder.joinpath("packet").write_text(self.sim.tell("packet " + " ".join(self.row["example"])))
        folder.joinpath("status").write_text(json.dumps(status, indent=1))
        folder.joinpath("cut-at").write_text(f"{self.cut_at:.3f} s on fmsim's clock\n")
        for number, manager in enumerate(self.managers):
            if manager.runs() and not self.options.opensm:
                folder.joinpath(f"events-{number}").write_text(json.dumps(manager.ask("events", "-n", 500), indent=1))
            if manager.log:
                folder.joinpath(f"log-{number}").write_text("".join(f"{when - self.began_wall():.3f} {line}\n" for when, line in manager.log.lines))

    def began_wall(self):
        return time.time() - (time.monotonic() - self.began)


def line(row):
    alive = f"{row['alive_s']:.2f} s" if row["alive_s"] is not None else f"NEVER ({row['dead']} dead, {row['dead_late']} of old links)"
    again = f"; again dead {row['dead_again']} pairs, {row['dead_again_s']:.2f} s" if row["dead_again"] else ""
    waited = ", ".join(f"{100 * share:.2g}% after {age} s" for age, share in row["waited"].items() if share) or f"all within {min(row['waited'], default='?')} s"
    return (f"{row['manager']} {row['size']} seed {row['seed']} [{row['ills'] or 'no ills'}{': ' if row['victims'] else ''}{row['victims']}]: {'ok' if row['ok'] else 'BAD'}: {alive} from the last of power "
            f"({row['last_up']:.1f} s) until 0 of {row['pairs']} dead; pairs, from their last link: 99% within {row['pairs_p99_s']} s ({waited}); "
            f"LIDs moved {row['moved']}; loops {row['loops']}, cycles {row['cycles']}{again}; says {row.get('state')}, {row.get('in_force')} pairs in force, "
            f"{row.get('unreachable')} unreachable, {row.get('off')} HCAs off, alerts {' '.join(row.get('alerts', [])) or 'none'}; managers at {row['managers_at']}")


def play(world, options):
    for _ in range(options.load):
        world.start([sys.executable, "-c", "while True: pass"])
    for seed in w.seeds(options.seeds):
        yield Trial(world, options, seed).run()


def main():
    parser = w.parser(__doc__)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--seeds", default="1-3")
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--ills", default=ALL)
    parser.add_argument("--managers", type=int, default=1)
    parser.add_argument("--opensm", action="store_true")
    parser.add_argument("--load", type=int, default=0)
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--settle", type=float, default=8)
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--watch", type=float, default=10)
    parser.add_argument("--no-ages", action="store_true")
    parser.add_argument("--keep")
    options = parser.parse_args()
    w.trials(options, lambda world: play(world, options), line)


if __name__ == "__main__":
    main()
