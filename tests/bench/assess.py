#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Defects of a fabric that OpenSM manages: how many `fmctl assess` names, by an fmd that only observes.

    assess.py [--bin FOLDER] [--seed N] [--scenes WORDS] [--json FILE]

On fmsim, 256 HCAs (and tori of 50 to 128). Scenes: intact (OpenSM's ftree, updn and minhop in a pod: what is found there is false), cables (8 exchanged, 6 slow, 2 pulled, 2 hot),
tables (2 spines without power, 8 entries that end or turn packets), left (OpenSM is gone: 2 links in Init, 2 LIDs that another port has, 2 MTUs, 3 GUIDs that
another device has), rings (3 fabrics whose tables by minhop wait for one another in a ring). A defect is named where a finding of the right kind names its device and port. A line a
scene; exit status 1 where one is not named, or something is found that is not there.
"""
import os
import random
import re
import subprocess
import sys

sys.dont_write_bytecode = True

import fabrics
import managers as m
import world as w

SMP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration", "smp.py")
PORT_INFO, LID_AT, STATES_AT, MTU_AT = "0x15", 16, 32, 36
SEEN_S = 120  # until OpenSM has answered what was planted
RINGS = (("torus", "5,5"), ("ring", "8"), ("torus", "4,4,4"))


class Scene:
    def __init__(self, world, netfile, engine="ftree"):
        self.world, self.sim = world, w.Fmsim(world, netfile)
        hosts = m.hosts(netfile)
        self.opensm = m.Opensm(world, self.sim, hosts[0][0], routing_engine=engine, exit_on_fatal="FALSE")
        self.fmd = m.Fmd(world, self.sim, hosts[1][0], observe=True)
        self.opensm.start()
        m.until(lambda: self.opensm.stamps("SUBNET UP"), "OpenSM is master")
        self.fmd.start()
        self.fmd.wait(lambda status: status["state"] == "observing" and status["proof"]["max_hops"], "it observes")
        self.names = {row["guid"]: row["name"] for row in self.fmd.ask("nodes")}
        self.links = [(self.name(a), pa, self.name(b), pb) for a, pa, b, pb in m.cables(self.sim)]
        self.links = [link for link in self.links if "Aggregation" not in link[0] + link[2]]
        used = {self.name(hosts[0][0]), self.name(hosts[1][0])}
        self.uplinks = [link if "leaf" in link[0] else link[2:] + link[:2] for link in self.links if "leaf" in link[0] + link[2] and "spine" in link[0] + link[2]]
        self.downlinks = [link for link in self.links if "leaf" in link[0] and not link[2].startswith(("leaf", "spine")) and link[2] not in used]
        self.ids = {self.name(node): node for node, _ in hosts}

    def name(self, node):
        return self.names["0x" + node.split("-")[1]]

    def plug(self, a, pa, b, pb):
        self.sim.tell(f'link "{a}":{pa} "{b}":{pb}')

    def exchange(self, one, two):
        for link in (one, two):
            self.sim.tell(f'unlink "{link[0]}":{link[1]}')
        self.plug(*one[:2], *two[2:])
        self.plug(*two[:2], *one[2:])

    def set_port(self, host, change):
        """Sets PortInfo of an HCA's port to what `change` makes of it, as the devices' own tools would."""
        def smp(*words):
            run = subprocess.run([sys.executable, SMP, PORT_INFO, "1", *words], env={**os.environ, **self.sim.at(self.ids[host])}, capture_output=True, text=True, timeout=30)
            if run.returncode:
                raise w.BenchError(run.stderr.strip())
            return bytearray.fromhex(run.stdout.strip())

        data = smp()
        data[STATES_AT] &= 0xf0
        data[STATES_AT + 1] = 0
        change(data)
        smp(data.hex())

    def report(self):
        return self.fmd.ask("assess")

    def judge(self, defects, seen_s):
        """(defects that are named, those that are not, findings), when all are named or the time is over; the report reads the fabric itself."""
        left, findings = list(defects), []

        def all_named():
            nonlocal left, findings
            findings = self.report()["findings"]
            left = [defect for defect in defects if not any(is_named(defect, finding) for finding in findings)]
            return not left

        try:
            m.until(all_named, "all are named", seen_s, every_s=2)
        except w.BenchError:
            pass
        return len(defects) - len(left), left, findings

    def close(self):
        self.fmd.end()
        self.opensm.end()
        self.sim.close()


def is_named(defect, finding):
    """(kinds, parts that each have to be in its text, or be (device, port) at an end of its link)"""
    kinds, parts = defect
    text = finding["text"] + " " + finding.get("remedy", "")
    ends = [(finding.get(f"{end}_name"), finding.get(port)) for end, port in (("node", "port"), ("peer", "peer_port"))]
    ends += [(at.get("node_name"), at.get("port")) for at in finding.get("ports", ())]

    def has(part):
        if isinstance(part, tuple):
            return part in ends or f"{part[0]} p{part[1]}" in text
        return re.search(rf"(?<![\w-]){re.escape(part)}(?![\w-])", text)

    return finding["kind"] in kinds and all(has(part) for part in parts)


def intact(world, dice):
    for engine in ("ftree", "updn", "minhop"):
        scene = Scene(world, fabrics.generated(world, 256), engine)
        try:
            m.until(lambda: not scene.report()["findings"], f"nothing is found under {engine}", 40, every_s=2)
            found = []
        except w.BenchError:
            found = scene.report()["findings"]
        scene.close()
        yield {"scene": f"intact {engine}", "planted": 0, "named": 0, "false": [finding["text"] for finding in found], "ok": not found}


def cables(world, dice):
    scene, defects = Scene(world, fabrics.generated(world, 256)), []
    up, down = scene.uplinks[:], scene.downlinks[:]
    dice.shuffle(up)
    dice.shuffle(down)

    def pair(links):
        one = links.pop()
        two = next(link for link in links if link[0] != one[0] and link[2] != one[2])
        links.remove(two)
        return one, two

    hot = [up.pop(), down.pop()]
    for link in hot:
        scene.sim.tell(f'heat "{link[0]}":{link[1]} 90')
        defects.append((("modules-hot",), (link[:2],)))
    # Each module is read once, at 30 a second, while nothing is swept.
    m.until(lambda: sum(all(f"{link[0]} p{link[1]}" in alert["text"] for link in hot) for alert in scene.fmd.status()["alerts"]), "hot modules are an alert", 3 * SEEN_S, every_s=2)
    for links in (up, down):
        for _ in range(4):
            one, two = pair(links)
            scene.exchange(one, two)
            defects.append((("cabling", "miswired"), (one[0],) if links is up else (one[2],)))
    for links, rate in ((up, "EDR"), (up, "HDR"), (up, "NDR 1"), (down, "EDR"), (down, "HDR"), (down, "NDR 1")):
        link = links.pop()
        scene.sim.tell(f'train "{link[0]}":{link[1]} {rate}')
        defects.append((("slow", "cabling"), (link[:2],)))
    for links in (up, down):
        link = links.pop()
        scene.sim.tell(f'unlink "{link[0]}":{link[1]}')
        defects.append((("link-down",), (link[:2],)))
    yield row("cables", scene, defects, SEEN_S)


def tables(world, dice):
    scene, defects = Scene(world, fabrics.generated(world, 256)), []
    spines = sorted({link[2] for link in scene.uplinks})
    for spine in spines[:2]:
        scene.sim.tell(f'node off "{spine}"')
        defects.append((("switch-down",), (spine,)))
    m.until(lambda: not any(finding["kind"] == "no-path" for finding in scene.report()["findings"]) and scene.report()["links_down"], "OpenSM leads around the spines", SEEN_S, every_s=2)
    lids = {node["name"]: node["lid"] for node in scene.fmd.ask("nodes")}
    leaves = sorted({link[0] for link in scene.uplinks})
    by_leaf = {leaf: [link for link in scene.downlinks if link[0] == leaf] for leaf in leaves}
    for i, leaf in enumerate(leaves):
        target = by_leaf[leaves[(i + 1) % len(leaves)]][i]
        own = by_leaf[leaf][0]
        # nothing; a port without a cable, or of a dead spine; another HCA; a leaf that sends its own HCA's packets up: a loop
        if i % 4 == 3:
            to, port = own[2], next(link[1] for link in scene.uplinks if link[0] == leaf and link[2] not in spines[:2])
        else:
            to, port = target[2], (255, next(link[1] for link in scene.uplinks if link[0] == leaf and link[2] == spines[0]), own[1])[i % 4]
        scene.sim.tell(f'entry "{leaf}" {lids[to]} {port}')
        parts = (f"LID {lids[to]}",) if i % 4 == 3 else (leaf, f"LID {lids[to]}")
        defects.append((("loop", "no-path"), parts))
    yield row("tables", scene, defects)


def left(world, dice):
    scene, defects = Scene(world, fabrics.generated(world, 256)), []
    scene.opensm.end()
    hosts = scene.downlinks[:]
    dice.shuffle(hosts)
    lids = {node["name"]: node["lid"] for node in scene.fmd.ask("nodes")}
    for _ in range(2):
        link, other = hosts.pop(), hosts.pop()

        def lid(data, to=lids[other[2]]):
            data[LID_AT:LID_AT + 2] = to.to_bytes(2, "big")

        scene.set_port(link[2], lid)
        defects.append((("lid-twice",), (f"LID {lids[other[2]]}", link[2], other[2])))
    for _ in range(2):
        link = hosts.pop()

        def mtu(data):
            data[MTU_AT] = data[MTU_AT] & 0x0f | 0x30

        scene.set_port(link[2], mtu)
        defects.append((("mtu",), (link[2:],)))
    for _ in range(2):
        link = hosts.pop()
        scene.sim.tell(f'unlink "{link[0]}":{link[1]}')
        scene.sim.tell(f'link "{link[0]}":{link[1]}')
        defects.append((("port-state",), (link[:2],)))
    for _ in range(3):
        link, other = hosts.pop(), hosts.pop()
        guid = next(guid for guid, name in scene.names.items() if name == other[2])
        scene.sim.tell(f'guid "{link[2]}" {guid}')
        defects.append((("guid-twice",), (link[:2],)))
    yield row("left", scene, defects)


def rings(world, dice):
    for shape, size in RINGS:
        scene = Scene(world, world.generate(f"{shape}-{size}", [shape, size, "--hosts", "2"]), "minhop")
        yield row(f"{shape} {size}", scene, [(("credit-loop",), ())])


def row(name, scene, defects, seen_s=0):
    named, missed, findings = scene.judge(defects, seen_s)
    scene.close()
    return {"scene": name, "planted": len(defects), "named": named, "missed": missed, "findings": len(findings),
            "texts": [f"{finding['kind']}: {finding['text']}" for finding in findings] if missed else [], "ok": not missed}


SCENES = {"intact": intact, "cables": cables, "tables": tables, "left": left, "rings": rings}


def main():
    parser = w.parser(__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scenes", default=",".join(SCENES))
    options = parser.parse_args()

    def play(world):
        planted = named = wrong = 0
        for name in options.scenes.split(","):
            for result in SCENES[name](world, random.Random(options.seed)):
                planted, named, wrong = planted + result["planted"], named + result["named"], wrong + len(result.get("false", ()))
                yield result
        yield {"scene": "all", "planted": planted, "named": named, "false": wrong, "ok": planted == named and not wrong}

    w.trials(options, play)


if __name__ == "__main__":
    main()
