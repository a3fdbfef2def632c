#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Two fmd that mirror each other, of which the master is killed (-9), again and again, by turns; under joins, registrations, cut links and cordons.

    kills.py [--bin FOLDER] [--size HCAS] [--kills N] [--seed N] [--quiet [--off HOSTS]] [--poll MS] [--json FILE] [--self-test]

On fmsim. After each kill: one master; its tables proven, and read back from the switches without a difference; all LIDs as before; and nothing is lost that was
acknowledged more than a second before: memberships and services as the SA tells them, cordons and overrides as fmctl does. Then the killed one is started
again, stands by, and copies. --quiet: nothing happens but the kills. --off: so many hosts, others each time, lose their links before a kill, and return behind it in another
order; all LIDs are compared then. --self-test: behind each kill a membership and a cordon or override are taken away that nobody asked to, and an entry of a table is
changed; the exit status is 0 if all three are found each time. What does not hold is printed with seed and step, and the exit status is 1. In the
end how long each take-over took, from the kill to the line "up".
"""
import argparse
import json
import os
import random
import re
import signal
import statistics
import sys
import threading
import time

sys.dont_write_bytecode = True

import fabrics
import managers as m
import world as w

FILED_S = 6  # until files that are written when nothing has changed for some seconds are
LASTS_S = 1.0  # acknowledged for so long it is not to be lost
SETTLES_S = 300
MGID = "ff12401bffff00000000000000%06x"
GROUPS, SERVICES = 24, 40
MOST_CUT, MOST_CORDONED, OVERRIDDEN = 12, 6, 12
JOIN_GAP_S, CUT_GAP_S, ORDER_GAP_S = 0.03, 0.25, 0.4
BEFORE_S = (0.3, 3.0)
SELF_TEST_FROM = 1  # kills, until there is something to take away
SPARED = 16  # hosts at either end of the list: the managers', and those of the clients


class Ledger:
    """What was asked for by key, and what of that has to be there."""

    def __init__(self):
        self.truth, self.asked, self.lock = {}, {}, threading.Lock()

    def note(self, key, state, acknowledged):
        """acknowledged: when; None = it is not known what became of it."""
        with self.lock:
            self.asked.setdefault(key, []).append((state, acknowledged))

    def allowed(self, key, killed, up):
        states = {self.truth.get(key, False)}
        for state, acknowledged in self.asked.get(key, []):
            holds = acknowledged and (acknowledged < killed - LASTS_S or acknowledged > up)
            states = {state} if holds else states | {state}
        return states

    def wrong(self, there, killed, up):
        """What is there is compared, and is the truth from then on."""
        with self.lock:
            keys = self.truth.keys() | self.asked.keys() | set(there)
            bad = [(key, key in there, self.asked.get(key)) for key in sorted(keys, key=str) if (key in there) not in self.allowed(key, killed, up)]
            self.truth, self.asked = {key: True for key in there}, {}
        return bad


class Load(threading.Thread):
    """Does something every `gap` seconds while it is not held back."""

    def __init__(self, gap, step):
        super().__init__(daemon=True)
        self.gap, self.step_once, self.held, self.ended, self.idle = gap, step, threading.Event(), False, threading.Event()
        self.error = None
        self.start()

    def run(self):
        try:
            while not self.ended:
                if self.held.is_set():
                    self.idle.set()
                else:
                    self.idle.clear()
                    self.step_once()
                time.sleep(self.gap)
        except Exception as error:  # told by who waits for it
            self.error = error
            self.idle.set()

    def hold(self):
        self.held.set()
        self.idle.clear()
        if not self.idle.wait(m.LIMIT_S) or self.error:
            raise w.BenchError(f"the load does not end: {self.error!r}")

    def go_on(self):
        self.held.clear()


class Trial:
    def __init__(self, world, options):
        self.options, self.random = options, random.Random(options.seed)
        netfile = fabrics.generated(world, options.size)
        self.sim, self.hosts = w.simulator(world, netfile), m.hosts(netfile)
        ports, psk = [m.free_port(), m.free_port()], m.secret(world)
        conf = {"flap_count": 0, "sminfo_polling_timeout": options.poll}
        self.one, self.other = (m.Fmd(world, self.sim, self.hosts[-at][0], [ports[at], ports[1 - at]], psk, **conf) for at in (0, 1))
        self.master = self.one
        self.ledger, self.loads = Ledger(), []
        self.cables = [cable for cable in m.cables(self.sim) if cable[2].startswith("S-")]
        self.off = []
        self.cut, self.times, self.failures, self.missed, self.step = set(), [], [], [], 0
        self.one.start()
        m.until(self.one.is_master, "it is master", SETTLES_S)
        self.names = {node["guid"][2:]: node["name"] for node in self.one.ask("switches")}
        self.machines = [row["host"] for row in self.one.ask("nvswitch")["hosts"]][2:2 + OVERRIDDEN]
        self.books = self.reader = None
        if not options.quiet:
            self.books, self.reader = (m.Books(world, self.sim, self.hosts[at][0]) for at in (2, 3))
            self.registering = self.hosts[SPARED:-SPARED]
        self.other.start()
        self.ready(self.other)
        self.lids = m.tables(self.sim)[1]

    # ---- Load

    def register(self):
        """One wish of one host."""
        r = random.Random(self.random.random())
        _, guid = r.choice(self.registering)
        do, undo = r.choice((("join", "leave"), ("join", "leave"), ("register", "delete")))
        if do == "join":
            what = {"mgid": MGID % r.randrange(GROUPS)}
            key = "member", what["mgid"], int(guid, 16)
        else:
            what = {"id": r.randrange(SERVICES) << 32 | int(guid, 16) & 0xffffffff}
            key = "service", what["id"], int(guid, 16)
        on = not self.wished.get(key, False)
        self.wished[key] = on
        answer = self.books.ask(do=do if on else undo, guid=f"0x{guid}", **what)
        self.ledger.note(key, on, answer["when"] if answer["ok"] else None)
        if not answer["ok"]:
            self.wished.pop(key)

    wished = {}

    def cut_or_mend(self):
        cable = self.random.choice(self.cables)
        if len(self.cut) >= MOST_CUT or (self.cut and self.random.random() < 0.4):
            cable = self.random.choice(sorted(self.cut))
        self.sim.tell(f"{'link' if cable in self.cut else 'unlink'} {cable[0]}:{cable[1]}")
        self.cut ^= {cable}

    def order(self):
        """One wish of an operator, of whom is master now."""
        master, r = self.master, self.random
        kinds = [key for key in self.orders if key[0] == "cordon"]
        if r.random() < 0.3:
            key = "override", r.choice(self.machines)
            on = key not in self.orders
            command = ["nvswitch", "set", key[1], "NO_P2P"] if on else ["nvswitch", "clear", key[1]]
        else:
            cable = r.choice(self.cables)
            key = "cordon", f"{self.names[cable[0][2:]]}:{cable[1]}"
            if len(kinds) >= MOST_CORDONED:
                key = r.choice(sorted(kinds))
            on = key not in self.orders
            command = ["cordon" if on else "uncordon", key[1]]
        try:
            done = master.ask(*command, limit_s=30)
        except Exception:  # killed while it was asked
            done = None
        self.ledger.note(key, on, time.time() if done is not None else None)
        if done is not None:
            self.orders ^= {key}

    orders = set()

    def begin(self):
        if not self.options.quiet:
            self.loads = [Load(JOIN_GAP_S, self.register), Load(CUT_GAP_S, self.cut_or_mend), Load(ORDER_GAP_S, self.order)]

    # ---- What has to hold

    def fail(self, what):
        self.failures.append((self.step, what))
        print(f"seed {self.options.seed}, step {self.step}: {what}", flush=True)
        for it in (self.one, self.other):
            if it.log:
                print(f"  {'one' if it is self.one else 'other'} at {it.node}: ...", *(f"    {line[:200]}" for _, line in it.log.lines[-12:]), sep="\n", flush=True)

    def there(self):
        now = self.reader.read_all()
        found = {("member", mgid, guid) for mgid, guid, full in now["members"] if full} | {("service", number, guid) for number, guid in now["services"]}
        for row in self.master.ask("links"):
            if row["cordoned"]:
                found.add(("cordon", f"{row['a']['name']}:{row['a']['port']}"))
        for row in self.master.ask("nvswitch")["hosts"]:
            if row["state"] == "NO_P2P":
                found.add(("override", row["host"]))
        return {self.canonical.get(key[1], key) if key[0] == "cordon" else key for key in found}

    @property
    def canonical(self):
        """Ends of a cable by either name."""
        if not hasattr(self, "_canonical"):
            self._canonical = {}
            for one, port, two, peer in self.cables:
                key = "cordon", f"{self.names[one[2:]]}:{port}"
                self._canonical[key[1]] = key
                self._canonical[f"{self.names[two[2:]]}:{peer}"] = key
        return self._canonical

    def sabotage(self):
        """--self-test: what a manager that forgets would do; nothing of it is in the ledger. [a word of what is to be found]"""
        with self.ledger.lock:
            kept = sorted(key for key, there in self.ledger.truth.items() if there and key not in self.ledger.asked)
        member = next(key for key in kept if key[0] == "member")
        order = next(key for key in kept if key[0] in ("cordon", "override"))
        self.books.do(do="leave", guid=f"0x{member[2]:016x}", mgid=member[1])
        if order[0] == "cordon":
            self.master.ask("uncordon", order[1])
        else:
            self.master.ask("nvswitch", "clear", order[1])
        self.master.wait(lambda s: s["state"] == "up", "it is as wanted", SETTLES_S)
        switch, lfts = next((switch, lft) for switch, lft in sorted(m.tables(self.sim)[0].items()) if lft)
        lid = max(lfts)
        self.sim.tell(f"entry {switch} {lid} {1 + lfts[lid] % 8}")
        return [str(member), str(order), "switches hold something else"]

    def inspect(self, killed, up):
        status = self.master.wait(lambda s: s["sm"] == "master" and s["state"] == "up" and s["links_down"] == len(self.cut) + len(self.off), "cuts are seen", SETTLES_S)
        proof = status["proof"]
        if proof["unreachable"] or proof["loops"] or proof["credit_cycles"]:
            self.fail(f"the tables are not proven: {proof}")
        checked = self.master.ask("check", "--readback")
        if not checked or checked["differ"] or checked["failed"]:
            self.fail(f"the switches hold something else: {checked}")
        if not self.options.quiet:
            for key, is_there, asked in self.ledger.wrong(self.there(), killed, up):
                self.fail(f"{key} is {'there' if is_there else 'not there'}; asked {asked}, killed {killed:.3f}, up {up:.3f}")
            self.orders = {key for key in self.ledger.truth if key[0] in ("cordon", "override")}
            Trial.wished = {key: True for key in self.ledger.truth if key[0] in ("member", "service")}

    def ready(self, standby):
        def seen():
            status = standby.status()
            return status and status["sm"] == "standby" and status["mirror"]["whole"]

        m.until(seen, f"it stands by, with a whole copy: {standby.log.tail()}", SETTLES_S)
        self.master.wait(lambda s: any(o["state"] == "standby" for o in s["election"]["others"]) and s["mirror"]["whole"], "its master knows", SETTLES_S)
        if standby.stamps("sm: now master"):
            self.fail("it was master for a moment beside another")

    def power(self, on):
        for node, _ in self.off:
            self.sim.tell(f"node {'on' if on else 'off'} {node}")
        if on:
            self.off = []
        self.master.wait(lambda s: s["state"] == "up" and s["links_down"] == len(self.cut) + len(self.off), "hosts are off, or back", SETTLES_S)

    def switch_off(self):
        if self.options.off:
            self.off = self.random.sample(self.hosts[SPARED:-SPARED], self.options.off)
            self.power(False)
            self.master.wait(lambda s: s["mirror"]["whole"] and all(row["behind"] == 0 for row in s["mirror"]["standbys"]), "the standby has that", SETTLES_S)
            time.sleep(FILED_S)

    def compare_lids(self):
        moved = [end for end, lid in m.tables(self.sim)[1].items() if self.lids.get(end, lid) != lid]
        if moved:
            self.fail(f"{len(moved)} LIDs are others: {moved[:3]}")

    def kill(self):
        self.switch_off()
        heir = self.other if self.master is self.one else self.one
        time.sleep(self.random.uniform(*BEFORE_S))
        old, killed = self.master, time.time()
        old.tell(signal.SIGKILL)
        old.forget()
        up = m.until(lambda: heir.master_since(killed), f"it takes over: {heir.log.tail()}", SETTLES_S)
        self.times.append(up - killed)
        self.master = heir
        for load in self.loads:
            load.hold()
        planted = self.sabotage() if self.options.self_test and self.step > SELF_TEST_FROM else []
        self.inspect(killed, up)
        self.missed += [word for word in planted if not any(step == self.step and word in what for step, what in self.failures)]
        if not heir.is_master():
            self.fail("nobody is master")
        if self.off:
            self.random.shuffle(self.off)
            self.power(True)
        old.start()
        self.ready(old)
        if self.step % 10 == 0 or self.options.off:
            self.compare_lids()
        for load in self.loads:
            load.go_on()

    def run(self):
        self.begin()
        for self.step in range(1, self.options.kills + 1):
            self.kill()
            known = len(self.ledger.truth)
            print(f"{self.step}: {self.times[-1]:.2f} s; {len(self.cut)} links cut, {known} kept, {len(self.orders)} cordons and overrides", flush=True)

    def close(self):
        for load in self.loads:
            load.ended = True
            load.join(m.LIMIT_S)
        for it in (self.one, self.other):
            it.end()
        for client in (self.books, self.reader):
            if client:
                client.finish()
        self.sim.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("FMD_BIN", "build"))
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--poll", type=int, default=1000)
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--off", type=int, default=0)
    parser.add_argument("--json")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    os.environ["RIG"] = "fmsim"
    world = w.World(os.path.abspath(options.bin))
    trial = Trial(world, options)
    try:
        trial.run()
    finally:
        trial.close()
        world.close()
    times = sorted(trial.times)
    print(f"{options.size} HCAs, {len(times)} kills, seed {options.seed}{', quiet' if options.quiet else ''}: {len(trial.failures)} failures; from the kill to up: median "
          f"{statistics.median(times):.2f} s, 95% {times[len(times) * 95 // 100]:.2f} s, worst {times[-1]:.2f} s")
    if options.json:
        with open(options.json, "w") as out:
            json.dump({"times": trial.times, "failures": trial.failures}, out)
    if options.self_test:
        print(f"self-test: {len(trial.failures)} failures found; missed: {trial.missed or 'none'}")
        sys.exit(1 if trial.missed or not trial.failures else 0)
    sys.exit(1 if trial.failures else 0)


if __name__ == "__main__":
    main()
