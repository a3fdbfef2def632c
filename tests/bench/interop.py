#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Two and three subnet managers on one fabric, fmd and OpenSM in every role: what a change of masters costs, a line an event.

    interop.py [--bin FOLDER] [--no-peers] [--json FILE] [--rows WORDS]

On fmsim, 256 HCAs. 28 memberships of groups, 4 services and 1 subscription are registered first, and beside two fmd a cable is cordoned. Columns: until the new master
had all as wanted; LFT entries/blocks that are others in the switches, LIDs that are others at ports that are up; memberships/services/subscriptions
that the SA of the new master does not have; cordons that hold. Client: a PathRecord every 25 ms, 500 ms patience, sent once, to the SM LID of its port:
how many were not answered, longest time without an answer. fmd has its defaults; OpenSM polls as fmd does, its own default is 10 s x 4.
Without peers (--no-peers) fmd has what its master's SA tells, for builds that know of it.
"""
import argparse
import json
import os
import re
import signal
import sys
import time

sys.dont_write_bytecode = True

import fabrics
import managers as m
import world as w

RATE, TRY_MS, TRIES = 40, 500, 1
BEFORE_S, AFTER_S = 0.5, 1.5
GROUPS, MEMBERS, SERVICES = 2, 28, 4
MGID = "ff12401bffff000000000000000000%02x"
LATER = MGID % 0x77
STOPPED_S = 10
KNOWN = ("members", "services", "subscriptions")
WAIT_S = 60
CONF = {"rebalance": 0}  # which moves entries when nothing happens
REFUSED_S = 15
SA_KEY = "0x5a5a"
HEAD = ("event", "new master", "entries/blocks", "LIDs", "lost mc/svc/sub", "cordons", "failed", "gap", "")
WIDTHS = (58, 10, 14, 4, 15, 7, 6, 7, 0)
ROWS = []


def row(*names):
    """A function that makes rows with these names, of one scene."""
    def keep(function):
        ROWS.append((names, function))
        return function
    return keep


class Scene:
    """A fabric with its managers: a (which is master first), b, c; cables by what they join."""

    def __init__(self, world, options):
        self.world, self.options, self.rows, self.started, self.clients = world, options, [], [], []
        netfile = fabrics.generated(world, 256)
        self.sim, self.hosts = w.simulator(world, netfile), m.hosts(netfile)
        self.cables = m.cables(self.sim)
        self.leaf = {two: one for one, _, two, _ in self.cables if not two.startswith("S-")}
        leaves = sorted({self.leaf[node] for node, _ in self.hosts})
        spines = sorted({two for one, _, two, _ in self.cables if one in leaves and two.startswith("S-")})
        half = len(leaves) // 2
        self.halves = [set(leaves[:half] + spines[:len(spines) // 2]), set(leaves[half:] + spines[len(spines) // 2:])]
        self.by_leaf = [[host for host in self.hosts if self.leaf[host[0]] == leaf] for leaf in leaves]
        self.places = [self.by_leaf[0][0], self.by_leaf[-1][-1], self.by_leaf[half][-1]]  # of the managers, by their GUIDs: a, c, b
        self.places = sorted(self.places[:1] + self.places[2:] + self.places[1:2], key=lambda host: int(host[1], 16))
        self.registered = [host for leaf in (1, 2, half + 1, half + 2) for host in self.by_leaf[leaf][4:9]][:MEMBERS // GROUPS]
        self.ports, self.psk = [m.free_port() for _ in self.places], m.secret(world)
        self.books = m.Books(world, self.sim, self.by_leaf[half + 1][0][0])
        self.before = self.known = None
        self.cordoned = 0

    # ---- Managers

    def fmd(self, place, peers=True, **conf):
        others = [port for at, port in enumerate(self.ports) if at != place]
        ports = [] if self.options.no_peers or not peers else [self.ports[place], *others]
        return self.enter(m.Fmd(self.world, self.sim, self.places[place][0], ports, self.psk, **{**CONF, **conf}))

    def opensm(self, place, **conf):
        return self.enter(m.Opensm(self.world, self.sim, self.places[place][0], **conf))

    def enter(self, manager):
        self.started.append(manager)
        return manager

    def lead(self, manager):
        manager.start()
        m.until(manager.is_master, f"{manager.kind} is master")
        return manager

    def follow(self, manager, master):
        manager.start()
        m.until(manager.stands_by, f"{manager.kind} stands by")
        self.ready(manager, master)
        return manager

    def ready(self, manager, master):
        """The master knows of it, and it has of it what it can have."""
        if manager.kind == "fmd" and master.kind == "fmd" and not self.options.no_peers:
            manager.wait(lambda s: s["mirror"]["whole"], "it has a whole copy", WAIT_S)
        if manager.kind == "fmd" and (master.kind != "fmd" or self.options.no_peers) and self.known and "mirror_interval" in manager.conf:
            wanted = tuple(len(self.known[key]) for key in KNOWN)
            manager.wait(lambda s: tuple((s.get("registrations") or {}).get(key) or 0 for key in KNOWN) >= wanted, "it has its master's registrations", WAIT_S)
        if master.kind == "fmd":
            master.wait(lambda s: any(other["state"] == "standby" for other in s["election"]["others"]), "the master knows of it", WAIT_S)
        if master.kind == "fmd" and manager.kind == "fmd" and not self.options.no_peers:
            master.wait(lambda s: s["mirror"]["whole"] and all(row.get("behind", 0) == 0 for row in s["mirror"]["standbys"]), "and that it has all", WAIT_S)

    def register(self, master, cordon=True):
        for number, (_, guid) in enumerate(self.registered):
            for group in range(GROUPS):
                self.books.do(do="join", guid=f"0x{guid}", mgid=MGID % (group + 1))
            if number < SERVICES:
                self.books.do(do="register", guid=f"0x{guid}", id=number + 1)
        self.books.do(do="subscribe")
        if cordon and master.kind == "fmd":
            switch, port = next((one, port) for one, port, two, _ in self.cables if one == self.leaf[self.registered[0][0]] and two.startswith("S-"))
            if master.ask("cordon", f"{self.name_of(master, switch)}:{port}") is None:
                raise w.BenchError(f"no cordon: {master.refusal}")
        self.note(master)

    def name_of(self, master, switch):
        guid = f"0x{switch[2:]}"
        return next(node["name"] for node in master.ask("switches") if node["guid"] == guid)

    def note(self, master):
        """What is to be kept from here on."""
        self.known = self.books.read_all()
        self.before = m.tables(self.sim)
        self.cordoned = self.cordons(master)

    def cordons(self, manager):
        return manager.status()["links_cordoned"] if manager.kind == "fmd" else None

    # ---- The fabric

    def cut(self, cables):
        for one, port, _, _ in cables:
            self.sim.tell(f"unlink {one}:{port}")

    def mend(self, cables):
        for one, port, _, _ in cables:
            self.sim.tell(f"link {one}:{port}")

    def between_halves(self):
        return [cable for cable in self.cables if cable[2].startswith("S-") and (cable[0] in self.halves[0]) != (cable[2] in self.halves[0])]

    def cable_of(self, manager):
        return [cable for cable in self.cables if cable[2] == manager.node]

    # ---- A row

    def client(self, leaf):
        others = [guid for _, guid in self.by_leaf[leaf][10:30]]
        node, own = self.by_leaf[leaf][2]
        self.clients.append(m.Paths(self.world, self.sim, node, own, others, RATE, TRY_MS, TRIES))
        return self.clients[-1]

    def measure(self, name, act, new, settled=lambda: True, part=None, clients=(5,), within_s=WAIT_S, note=lambda when: ""):
        """new: the manager that is to be master then, or None: nobody new. part: GUIDs that can be registered there."""
        running = [self.client(leaf) for leaf in clients]
        time.sleep(BEFORE_S)
        when = time.time()
        act()
        took = "stays"
        if new:
            try:
                took = f"{m.until(lambda: new.master_since(when), f'{name}: it is master', within_s) - when:.2f} s"
            except w.BenchError:
                took = f"> {within_s} s"
        m.until(settled, f"{name}: it is settled")
        time.sleep(AFTER_S)
        samples = sorted(sum((client.samples() for client in running), []))
        self.clients.clear()
        answered = sorted(sent + us / 1e6 for sent, us in samples if us >= 0 and sent + us / 1e6 > when)
        gap = max((b - a for a, b in zip([when, *answered], answered)), default=float("nan"))
        self.add(name, took, new, part, sum(us < 0 for _, us in samples), gap, note(when))

    def add(self, name, took, new, part, failed, gap, note):
        """The row, by what there is now. Without anybody who is master the SA is not asked."""
        masters = [manager for manager in self.started if manager.runs() and manager.is_master()]
        entries, blocks, lids = m.changed(self.before, m.tables(self.sim))
        lost = "-"
        if masters:
            now = self.books.read_all()
            gone = [[known for known in self.known[key] - now[key] if part is None or known[1 if key != "subscriptions" else 0] in part] for key in KNOWN]
            lost = "/".join(str(len(rows)) for rows in gone)
        kept = "-"
        one = new if new in masters else masters[0] if masters else None
        if self.cordoned and one and one.kind == "fmd":
            kept = f"{self.cordons(one)}/{self.cordoned}"
        if one and one.kind == "fmd":
            checked = one.ask("check", "--readback")
            if not checked or checked["differ"] or checked["failed"]:
                note += f" readback: {(checked['differ'], checked['failed']) if checked else one.refusal}"
        if len(masters) != 1:
            note += f" {len(masters)} masters"
        self.rows.append({"event": name, "took": took, "blocks": f"{entries}/{blocks}", "lids": lids, "lost": lost, "cordons": kept, "failed": failed,
                          "gap_s": gap, "note": note.strip()})
        show(self.rows[-1])

    def close(self):
        for manager in self.started:
            manager.end(signal.SIGKILL if manager.kind == "OpenSM" else signal.SIGTERM)
        for client in [self.books, *self.clients]:
            client.finish()
        self.sim.close()


def show(line):
    cells = [line["event"], line["took"], line["blocks"], str(line["lids"]), line["lost"], line["cordons"], str(line["failed"]), f"{line['gap_s']:.2f} s", line["note"]]
    print("  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS)).rstrip(), flush=True)


def one_master(*two):
    """Of those exactly one is master, and the others stand by."""
    return lambda: sum(it.is_master() for it in two) == 1 and sum(it.stands_by() for it in two) == len(two) - 1


def ended(manager, how):
    def act():
        manager.tell(how)
    return act


def overlap(loser):
    """How long it was a master too."""
    def said(when):
        turned = loser.stamps("now standby" if loser.kind == "fmd" else "Entering STANDBY state", when)
        return f"two masters for {turned[0] - when:.2f} s" if turned else "it goes on as master"
    return said


def changes(manager, **conf):
    def act():
        manager.configure(**conf)
        if manager.ask("reload") is None:
            raise w.BenchError(f"no reload: {manager.refusal}")
    return act


def handed(manager):
    def act():
        if manager.ask("handover") is None:
            raise w.BenchError(f"no hand-over: {manager.refusal}")
    return act


def frozen(scene, old, new):
    """Stopped for so long; something is registered with the new one meanwhile."""
    def act():
        old.tell(signal.SIGSTOP)

    def thaw():
        m.until(new.is_master, "the other is master")
        guid = scene.registered[-1][1]
        scene.books.do(do="join", guid=f"0x{guid}", mgid=LATER)
        scene.books.do(do="register", guid=f"0x{guid}", id=77)
    return act, thaw


# ---- Two fmd

def pair(scene, **conf):
    a, b = scene.lead(scene.fmd(0, **conf)), scene.fmd(1, **conf)
    scene.follow(b, a)
    scene.register(a)
    scene.ready(b, a)
    return a, b


@row("fmd+fmd kill -9")
def kill(scene):
    a, b = pair(scene)
    scene.measure("fmd+fmd kill -9", ended(a, signal.SIGKILL), b)


@row("fmd+fmd SIGTERM")
def sigterm(scene):
    a, b = pair(scene)
    scene.measure("fmd+fmd SIGTERM", ended(a, signal.SIGTERM), b)


@row("fmd+fmd fmctl handover", "  and back")
def handover(scene):
    a, b = pair(scene)
    scene.measure("fmd+fmd fmctl handover", handed(a), b, one_master(a, b))
    scene.ready(a, b)
    scene.measure("  and back", handed(b), a, one_master(a, b))


@row("fmd+fmd lower priority, reload", "  back: raises its own, reload")
def lower(scene):
    a, b = pair(scene, sm_priority=5)
    scene.measure("fmd+fmd lower priority, reload", changes(a, sm_priority=1), b, one_master(a, b))
    scene.ready(a, b)
    scene.measure("  back: raises its own, reload", changes(a, sm_priority=15), a, one_master(a, b))


def stopped(scene, name, a, b):
    act, thaw = frozen(scene, a, b)
    scene.measure(f"{name} SIGSTOP", act, b)
    begun = time.time()
    thaw()
    time.sleep(max(0, STOPPED_S - (time.time() - begun)))
    meanwhile = scene.books.read_all()
    scene.note(b)
    scene.known = meanwhile
    scene.measure("  SIGCONT 10 s later", ended(a, signal.SIGCONT), None, one_master(a, b),
                  note=lambda when: f"{'the first' if a.is_master() else 'the second'} is master")


@row("fmd+fmd SIGSTOP", "  SIGCONT 10 s later")
def stop(scene):
    stopped(scene, "fmd+fmd", *pair(scene))


def port_cut(scene, name, a, b):
    cable = scene.cable_of(a)
    scene.measure(f"{name} cable of master's port cut", lambda: scene.cut(cable), b)
    scene.measure("  cable back", lambda: scene.mend(cable), None, one_master(a, b), note=overlap(a))


@row("fmd+fmd cable of master's port cut", "  cable back")
def port(scene):
    port_cut(scene, "fmd+fmd", *pair(scene))


@row("fmd+fmd master's leaf switch dies", "  is back")
def leaf(scene):
    a, b = pair(scene)
    switch = scene.leaf[a.node]
    scene.measure("fmd+fmd master's leaf switch dies", lambda: scene.sim.tell(f"node off {switch}"), b)
    scene.measure("  is back", lambda: scene.sim.tell(f"node on {switch}"), None, one_master(a, b), note=overlap(a))


def halved(scene, name, a, b):
    cables = scene.between_halves()
    part = {int(guid, 16) for node, guid in scene.hosts if scene.leaf[node] in scene.halves[1]}
    scene.measure(f"{name} halves, {len(cables)} cables cut", lambda: scene.cut(cables), b, part=part, clients=(1, 5))
    scene.measure("  merge", lambda: scene.mend(cables), None, one_master(a, b), clients=(1, 5), note=lambda when: overlap(a if b.is_master() else b)(when))


@row("fmd+fmd halves", "  merge")
def halves(scene):
    halved(scene, "fmd+fmd", *pair(scene))


@row("fmd+fmd both started at once")
def at_once(scene):
    a, b = scene.fmd(0), scene.fmd(1)
    begun = time.time()
    a.start()
    b.start()
    m.until(one_master(a, b), "one of them is master")
    first = a if a.is_master() else b
    took = first.master_since(begun) - begun
    scene.register(first, cordon=False)
    proof = first.status()["proof"]
    never = not (b if first is a else a).stamps("sm: now master")
    scene.add("fmd+fmd both started at once", f"{took:.2f} s", None, None, 0, 0, f"{proof['reachable']} pairs, {'never' if never else 'for a moment'} two masters")


@row("fmd x3, master killed", "  and the next")
def three(scene):
    a, b, c = scene.lead(scene.fmd(0)), scene.fmd(1), scene.fmd(2)
    for it in (b, c):
        scene.follow(it, a)
    scene.register(a)
    for it in (b, c):
        scene.ready(it, a)
    a.tell(signal.SIGKILL)
    begun = time.time()
    heir = m.until(lambda: next((it for it in (b, c) if it.master_since(begun)), None), "one is master")
    scene.add("fmd x3, master killed", f"{heir.master_since(begun) - begun:.2f} s", heir, None, 0, 0, "")
    other = c if heir is b else b
    scene.ready(other, heir)
    scene.measure("  and the next", ended(heir, signal.SIGKILL), other)


@row("fmd x3, two at once killed")
def two_of_three(scene):
    a, b, c = scene.lead(scene.fmd(0)), scene.fmd(1), scene.fmd(2)
    for it in (b, c):
        scene.follow(it, a)
    scene.register(a)
    for it in (b, c):
        scene.ready(it, a)

    def both():
        a.tell(signal.SIGKILL)
        b.tell(signal.SIGKILL)
    scene.measure("fmd x3, two at once killed", both, c)


@row("fmd, then fmd with lower GUID, equal priority")
def lower_guid(scene):
    b, a = scene.lead(scene.fmd(1)), scene.fmd(0)
    scene.register(b)

    def act():
        a.start()
    scene.measure("fmd, then fmd with lower GUID, equal priority", act, None, one_master(a, b), note=lambda when: "the first stays" if b.is_master() else "the second leads")


def alerted(*managers):
    """One of them has an alert, or there has been time enough for one."""
    end = time.time() + REFUSED_S
    return lambda: time.time() > end or any((it.status() or {}).get("alerts") for it in managers)


def troubles(*managers):
    return lambda when: "; ".join(f"{name}: {it.status()['sm']}, {', '.join(sorted({alert['what'] for alert in it.status()['alerts']})) or 'no alert'}"
                                  for name, it in zip("AB", managers) if it.runs())


def stranger(scene, name, first, **conf):
    a, b = scene.lead(scene.fmd(0, **first)), scene.fmd(1, **conf)
    scene.register(a)

    def act():
        b.start()
    scene.measure(f"{name}: comes", act, None, lambda: b.status() and b.status()["sm"] in ("standby", "master"), note=troubles(a, b))
    scene.measure("  master killed", ended(a, signal.SIGKILL), b, within_s=REFUSED_S, note=troubles(a, b))


@row("fmd+fmd other sm_key: comes")
def sm_key(scene):
    a, b = scene.lead(scene.fmd(0)), scene.fmd(1, sm_key="0x2")
    scene.register(a)
    scene.measure("fmd+fmd other sm_key: comes", b.start, None, alerted(a, b), note=troubles(a, b))


@row("fmd+fmd other subnet_prefix: comes", "  master killed")
def prefix(scene):
    stranger(scene, "fmd+fmd other subnet_prefix", {}, subnet_prefix="0xfec0000000000000")


@row("fmd+fmd other m_key: comes", "  master killed")
def m_key(scene):
    scene.books.finish()
    scene.books = m.Books(scene.world, scene.sim, scene.by_leaf[5][0][0], SA_KEY)
    stranger(scene, "fmd+fmd other m_key", {"m_key": "0x4321", "sa_key": SA_KEY}, m_key="0x1234", sa_key=SA_KEY)


# ---- fmd and OpenSM

def before_opensm(scene, priority=3, **conf):
    """fmd is master, OpenSM stands by."""
    a = scene.lead(scene.fmd(0, peers=False, sm_priority=5, **conf))
    b = scene.follow(scene.opensm(1, sm_priority=priority), a)
    scene.register(a, cordon=False)
    return a, b


def after_opensm(scene, priority=0):
    """OpenSM is master, fmd stands by, and asks its SA twice a second."""
    a = scene.lead(scene.opensm(0, sm_priority=5))
    scene.register(a)
    b = scene.follow(scene.fmd(1, peers=False, sm_priority=priority, mirror_interval=0.5), a)
    return a, b


@row("fmd M + OpenSM S: kill -9", "  fmd back, higher priority")
def kill_opensm(scene):
    a, b = before_opensm(scene)
    scene.measure("fmd M + OpenSM S: kill -9", ended(a, signal.SIGKILL), b)
    scene.note(b)
    a.forget()
    a.configure(sm_priority=15)
    scene.measure("  fmd back, higher priority", a.start, a, one_master(a, b))


@row("fmd M + OpenSM S: SIGTERM")
def term_opensm(scene):
    a, b = before_opensm(scene)
    scene.measure("fmd M + OpenSM S: SIGTERM", ended(a, signal.SIGTERM), b)


@row("fmd M + OpenSM S: fmctl handover")
def handover_opensm(scene):
    a, b = before_opensm(scene)
    scene.measure("fmd M + OpenSM S: fmctl handover", handed(a), b, one_master(a, b))


@row("fmd M + OpenSM S: SIGSTOP", "  SIGCONT 10 s later")
def stop_opensm(scene):
    stopped(scene, "fmd M + OpenSM S:", *before_opensm(scene))


@row("fmd M + OpenSM S: fmd lowers, reload")
def lower_opensm(scene):
    a, b = before_opensm(scene)
    scene.measure("fmd M + OpenSM S: fmd lowers, reload", changes(a, sm_priority=1), b, one_master(a, b))


@row("fmd M + OpenSM S: cable of master's port cut", "  cable back")
def port_opensm(scene):
    port_cut(scene, "fmd M + OpenSM S:", *before_opensm(scene))


@row("fmd M + OpenSM S: halves", "  merge")
def halves_opensm(scene):
    halved(scene, "fmd M + OpenSM S:", *before_opensm(scene))


@row("OpenSM M + fmd S: kill -9")
def opensm_killed(scene):
    a, b = after_opensm(scene)
    scene.measure("OpenSM M + fmd S: kill -9", ended(a, signal.SIGKILL), b)


@row("OpenSM M + fmd S: SIGTERM")
def opensm_ended(scene):
    a, b = after_opensm(scene)
    scene.measure("OpenSM M + fmd S: SIGTERM", ended(a, signal.SIGTERM), b)


@row("OpenSM M + fmd S: SIGSTOP", "  SIGCONT 10 s later")
def opensm_stopped(scene):
    stopped(scene, "OpenSM M + fmd S:", *after_opensm(scene))


@row("OpenSM M + fmd S: fmd raises its own, reload")
def opensm_outranked(scene):
    a, b = after_opensm(scene)
    scene.measure("OpenSM M + fmd S: fmd raises its own, reload", changes(b, sm_priority=15), b, one_master(a, b))


@row("OpenSM M, fmd higher later")
def opensm_yields(scene):
    a = scene.lead(scene.opensm(0, sm_priority=5))
    scene.register(a)
    b = scene.fmd(1, peers=False, sm_priority=15, mirror_interval=0.5)
    scene.measure("OpenSM M, fmd higher later", b.start, b, one_master(a, b))


@row("fmd M, OpenSM higher later")
def opensm_later(scene):
    a, b = scene.lead(scene.fmd(0, peers=False, sm_priority=5)), scene.opensm(1, sm_priority=9)
    scene.register(a, cordon=False)
    scene.measure("fmd M, OpenSM higher later", b.start, None, one_master(a, b), note=lambda when: "fmd stays" if a.is_master() else "OpenSM leads")


@row("fmd M undamped, OpenSM higher later")
def opensm_later_undamped(scene):
    a, b = scene.lead(scene.fmd(0, peers=False, sm_priority=5, master_sm_priority=0)), scene.opensm(1, sm_priority=9)
    scene.register(a, cordon=False)
    scene.measure("fmd M undamped, OpenSM higher later", b.start, b, one_master(a, b))


@row("fmd M undamped, OpenSM at lower GUID, equal priority")
def opensm_lower_guid(scene):
    a, b = scene.lead(scene.fmd(1, peers=False, master_sm_priority=0)), scene.opensm(0)
    scene.register(a, cordon=False)
    scene.measure("fmd M undamped, OpenSM at lower GUID, equal priority", b.start, b, one_master(a, b))


@row("fmd M at lower GUID, OpenSM comes, equal priority")
def fmd_lower_guid(scene):
    a, b = scene.lead(scene.fmd(0, peers=False, master_sm_priority=0)), scene.opensm(1)
    scene.register(a, cordon=False)
    scene.measure("fmd M at lower GUID, OpenSM comes, equal priority", b.start, None, one_master(a, b), note=lambda when: "fmd stays" if a.is_master() else "OpenSM leads")


@row("fmd M + OpenSM, other sm_key: comes")
def opensm_sm_key(scene):
    a, b = scene.lead(scene.fmd(0, peers=False)), scene.opensm(1, sm_priority=9, sm_key="0x2")
    scene.register(a, cordon=False)
    scene.measure("fmd M + OpenSM, other sm_key: comes", b.start, None, alerted(a), note=lambda when: f"OpenSM {b.state()}; {troubles(a)(when)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("FMD_BIN", "build"))
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--rows", default="")
    parser.add_argument("--json")
    options = parser.parse_args()
    os.environ["RIG"] = "fmsim"
    world, rows = w.World(os.path.abspath(options.bin)), []
    print("  ".join(cell.ljust(width) for cell, width in zip(HEAD, WIDTHS)).rstrip())
    try:
        for names, function in ROWS:
            if not re.search(options.rows, names[0]):
                continue
            scene = Scene(world, options)
            try:
                function(scene)
            except w.BenchError as why:
                print(f"{names[0]}: NOT MEASURED: {why}", flush=True)
            finally:
                rows += scene.rows
                scene.close()
    finally:
        world.close()
    if options.json:
        with open(options.json, "w") as out:
            json.dump(rows, out, indent=1)


if __name__ == "__main__":
    main()
