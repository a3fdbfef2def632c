#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""An fmd that only observes, beside a master and an hour of faults: what it sent, and what the master logged of it.

    observe.py [--bin FOLDER] [--seed N] [--minutes N] [--hcas N] [--beside WORDS] [--json FILE]

On fmsim, 1,024 HCAs. Beside opensm and fmd, so many minutes each (60), a fault in two seconds: cables of spines and of HCAs are pulled and plugged in again, cables come up slower,
spines lose their power. By fmsim's record the observer may send no Set, no line of the master's log may name its GUIDs, its name or its LID, and at the end it shows the links that are.
A line a master; exit status 1 where one is not "ok".
"""
import os
import random
import re
import time

import fabrics
import managers as m
import world as w

FAULT_S, LASTS_S = 2, 8


class Faults:
    """What is broken and when it is mended; the observer's own leaf and cable are left alone."""

    def __init__(self, sim, dice, links, spared):
        self.sim, self.dice, self.out, self.count = sim, dice, [], 0
        ends = [(a, b) for a, b in links if not {a[0], b[0]} & spared]
        self.cables = [a for a, _ in ends]
        leaves = {a[0] for a, b in links if b[0].startswith("H-")}
        self.spines = sorted({end[0] for link in ends for end in link if end[0].startswith("S-")} - leaves)

    def mend(self, now=None):
        due = [back for when, back in self.out if now is None or when <= now]
        self.out = [] if now is None else [fault for fault in self.out if fault[0] > now]
        for line in due:
            self.sim.tell(line)

    def next(self):
        self.mend(time.time())
        busy = {line for _, line in self.out}
        kind = self.dice.choice(("pulled", "pulled", "slow", "off"))
        if kind == "off":
            node = self.dice.choice(self.spines)
            there, back = f"node off {node}", f"node on {node}"
        else:
            node, port = self.dice.choice(self.cables)
            there, back = (f"unlink {node}:{port}", f"link {node}:{port}") if kind == "pulled" else (f"train {node}:{port} HDR", f"train {node}:{port} NDR")
        if back not in busy and not any(node in line for line in busy):
            self.sim.tell(there)
            self.out.append((time.time() + LASTS_S, back))
            self.count += 1


def lines_about(path, begin, words):
    """Lines of the log behind its first `begin` bytes that name one of the words."""
    with open(path, errors="replace") as log:
        log.seek(begin)
        return [line.rstrip() for line in log if any(re.search(word, line, re.I) for word in words)]


def links_up(sim):
    return sum(sim.links().values()) // 2


def play(world, options, beside):
    dice = random.Random(options.seed)
    netfile = fabrics.generated(world, options.hcas)
    sim = w.Fmsim(world, netfile)
    hosts = m.hosts(netfile)
    (master_at, _), (at, guid) = hosts[0], hosts[-1]
    master = m.Opensm(world, sim, master_at) if beside == "opensm" else m.Fmd(world, sim, master_at)
    master.start()
    m.until(master.is_master, f"{beside} is master", options.limit)
    machines = {node for node, _ in hosts}
    links = [((a, pa), (b, pb)) for a, pa, b, pb in m.cables(sim) if b.startswith("S-") or b in machines]
    leaf = next(a[0] for a, b in links if b[0] == at)
    faults = Faults(sim, dice, links, {at, master_at, leaf, next(a[0] for a, b in links if b[0] == master_at)})
    lid = m.tables(sim)[1][at, 1]
    log = master.file if beside == "opensm" else None
    begin, lines_begin = os.path.getsize(log) if log else 0, len(master.log.lines) if master.log else 0
    observer = m.Fmd(world, sim, at, observe=True, sm_priority=15)
    observer.start()
    observer.wait(lambda status: status["state"] == "observing" and status["switches"], "it observes", options.limit)
    node = next(row for row in observer.ask("nodes") if row["guid"] == "0x" + at.split("-")[1])
    words = [at.split("-")[1], guid, re.escape(node["name"]) + r"\b", rf"\blid[ :=]+(0x0*{lid:x}|{lid})\b"]
    end = time.time() + 60 * options.minutes
    while time.time() < end:
        faults.next()
        if not observer.runs() or not master.runs():
            raise w.BenchError("a manager ended")
        time.sleep(FAULT_S)
    faults.mend()
    try:
        observer.wait(lambda status: status["links"] + status["links_special"] - status["links_down"] == links_up(sim), "it shows the links that are", 180)
        shows = True
    except w.BenchError:
        shows = False
    status = observer.status()
    sets = int(sim.tell(f"sets {at}"))
    about = lines_about(log, begin, words) if log else [line for _, line in master.log.lines[lines_begin:] if any(re.search(word, line, re.I) for word in words)]
    row = {"beside": beside, "hcas": options.hcas, "minutes": options.minutes, "faults": faults.count, "sets": sets, "refused": status["mads_refused"], "lines": len(about), "first": about[:3],
           "shows": shows, "cpu_percent": round(100 * w.cpu_s(observer.process.pid) / (60 * options.minutes), 2), "ok": not sets and not about and shows and faults.count > 0}
    observer.end()
    master.end()
    sim.close()
    return row


def main():
    parser = w.parser(__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--hcas", type=int, default=1024)
    parser.add_argument("--beside", default="opensm,fmd")
    parser.add_argument("--limit", type=float, default=m.LIMIT_S, help="seconds until the first tables")
    options = parser.parse_args()
    w.trials(options, lambda world: (play(world, options, beside) for beside in options.beside.split(",")))


if __name__ == "__main__":
    main()
