# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Random faults and repairs, one after the other: after each the tables are proven, complete and in the switches.

CHAOS_STEPS says how many (60 by default; `make chaos` takes 200), CHAOS_SEED which. What fmd should come to see is
worked out here from the cables alone; what the switches really forward by is read from ibsim.
"""
import collections
import os
import random
import re

import pytest

from fabric import aggregation_nodes, reaches, until

pytestmark = pytest.mark.long

STEPS = int(os.environ.get("CHAOS_STEPS", 60))
SEED = int(os.environ.get("CHAOS_SEED", 1))
SM_HOST, SM_LEAF = "H-0002c90380000100", "S-0002c90300000100"
MOST_DEAD = 24  # cables between switches cut one by one, of 256
RSS_GROWTH, EVENT_KB = 1.1, 1.5  # the log of events is a ring that fills

Cable = collections.namedtuple("Cable", "node port peer peer_port")


def read_cables(net):
    cables, node = [], None
    for line in net.read_text().splitlines():
        if head := re.match(r'(Switch|Ca)\s+\d+\s+"([^"]+)"', line):
            node = head[2]
        elif found := re.match(r'\[(\d+)\](?:\([^)]*\))?\s+"([^"]+)"\[(\d+)\]', line):
            cables.append(Cable(node, int(found[1]), found[2], int(found[3])))
    return [c for c in cables if c.node.startswith("S-") and not (c.peer.startswith("S-") and c.peer < c.node)]


class Model:
    """Which cables are cut, and what of the fabric the SM's host can know."""

    def __init__(self, net, seed):
        self.cables, self.dead, self.random = read_cables(net), set(), random.Random(seed)
        self.between = [c for c in self.cables if c.peer.startswith("S-")]
        self.special = aggregation_nodes(net)
        self.spare = [c for c in self.cables if SM_HOST not in (c.node, c.peer)]
        self.switches = sorted({c.node for c in self.cables} | {c.peer for c in self.between})
        self.hosts = sorted({c.peer for c in self.cables} - set(self.switches))
        self.moves = collections.Counter()

    def reached(self):
        near = collections.defaultdict(list)
        for c in self.cables:
            if c not in self.dead:
                near[c.node].append(c.peer)
                near[c.peer].append(c.node)
        seen, edge = {SM_HOST}, [SM_HOST]
        while edge:
            edge = [n for at in edge for n in near[at] if n not in seen and not seen.add(n)]
        return seen

    def links_down(self):
        """Also those of which nothing can be known any more."""
        seen = self.reached()
        return sum(c in self.dead or (c.node not in seen and c.peer not in seen) for c in self.cables if c.peer not in self.special)

    def pairs(self):
        hosts = len(self.reached() & set(self.hosts) - self.special)
        return hosts * (hosts - 1)

    def of_node(self, node):
        return [c for c in self.cables if node in (c.node, c.peer)]

    # ---- Moves: commands for ibsim, and the model follows

    def cut(self, cables):
        cables = [c for c in cables if c not in self.dead]
        self.dead.update(cables)
        return [f'Unlink "{c.node}"[{c.port}]' for c in cables]

    def mend(self, cables):
        cables = [c for c in cables if c in self.dead]
        self.dead.difference_update(cables)
        return [f'Link "{c.node}"[{c.port}] "{c.peer}"[{c.peer_port}]' for c in cables]

    def move_cable(self):
        return self.cut([self.random.choice(self.between)])

    def move_card(self):
        return self.cut(self.random.sample(self.between, 6))

    def move_host(self):
        return self.cut([self.random.choice([c for c in self.spare if c.peer.startswith("H-") and c.peer not in self.special])])

    def move_switch(self):
        """Loses its current, and all it was told."""
        node = self.random.choice([s for s in self.switches if s != SM_LEAF])
        self.dead.update(self.of_node(node))
        return [f'Clear "{node}"']

    def move_mend_one(self):
        return self.mend([self.random.choice(sorted(self.dead))]) if self.dead else []

    def move_mend_node(self):
        nodes = sorted({n for c in self.dead for n in (c.node, c.peer)})
        return self.mend(self.of_node(self.random.choice(nodes))) if nodes else []

    def move_mend_all(self):
        return self.mend(sorted(self.dead))

    def move(self):
        """(name, commands)"""
        faults = ["cable"] * 4 + ["card", "host", "switch"]
        repairs = ["mend_one"] * 2 + ["mend_node"] * 3 + ["mend_all"]
        name = self.random.choice(faults + repairs if len(self.dead) < MOST_DEAD else repairs)
        self.moves[name] += 1
        return name, getattr(self, f"move_{name}")()


def holds(fabric, model, what):
    """The end state of one step, as fmd says and as the switches show."""
    fabric.wait_up(lambda s: s["links_down"] == model.links_down(), f"{what} is seen")
    return until(lambda: holds_now(fabric, model, what))


def holds_now(fabric, model, what):
    status = fabric.status()
    assert (status["state"], status["links_down"]) == ("up", model.links_down()), what
    proof = status["proof"]
    assert not (proof["unreachable"] or proof["loops"] or proof["credit_cycles"]), (what, proof)
    assert proof["reachable"] == model.pairs(), what
    readback = fabric.ask("check", "--readback")
    assert (readback["differ"], readback["failed"]) == (0, 0), (what, readback)
    ports, tables = fabric.simulated_tables()
    seen = model.reached()
    hosts = [h for h in model.hosts if h in seen and h not in model.special]
    assert pairs_of(hosts, ports, tables) == model.pairs(), what
    return status


def pairs_of(hosts, ports, tables):
    reached = 0
    for target in hosts:
        arrives = reaches(ports[target, 1]["lid"], (target, 1), ports, tables)
        reached += sum(bool(arrives.get(ports[host, 1]["peer"][0])) for host in hosts if host != target)
    return reached


@pytest.mark.parametrize("seed", [SEED])
def test_random_faults_and_repairs_are_answered_one_by_one(start, pod_net, seed, capsys):
    fabric = start(pod_net, SM_HOST, sweep_interval=1.0, flap_count=0)  # or cables that fell often would be left out
    model = Model(pod_net, seed)
    before = fabric.tables()
    times, rss, events = [], None, 0
    for step in range(STEPS):
        name, commands = model.move()
        if commands:
            fabric.console(*commands)
        status = holds(fabric, model, f"step {step}: {name} {commands[:2]}")
        if status["last_fault"]:
            times.append(status["last_fault"]["detected_to_programmed_ms"])
        if step == STEPS // 3:
            rss, events = status["rss_kb"], len(fabric.ask("events", "-n", "5000"))
    fabric.console(*model.move_mend_all() or ["#"])
    status = holds(fabric, model, "all is mended")
    assert fabric.tables() == before
    assert status["rss_kb"] <= rss * RSS_GROWTH + EVENT_KB * (len(fabric.ask("events", "-n", "5000")) - events)
    with capsys.disabled():
        print(f"\nchaos: seed {seed}, {STEPS} steps ({', '.join(f'{n} {k}' for k, n in sorted(model.moves.items()))}); "
              f"each proven, complete, read back equal; slowest answer {max(times):.1f} ms; "
              f"resident {rss} -> {status['rss_kb']} kB; tables at the end as at the beginning")
