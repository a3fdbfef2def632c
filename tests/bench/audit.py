#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What fmd wrote, changed behind its back: seconds until the device holds it again, and what the watch costs while nothing changes.

    audit.py [--bin FOLDER] [--sizes HCAS ..] [--tries N] [--slow N] [--idle S] [--limit S] [--set "KEY = VALUE;"] [--only PATTERN]

On fmsim. Rows come in groups. A try changes one attribute of each row of the group at once, each on a device of its own; of rows that the
long pass finds all tries (--slow) are changed at once. A row has the median and the worst of its tries, a group the events that report them.
Idle: MADs sent a second by kind, and the share of a processor that fmd takes, once 70 s behind the start and of --idle seconds.
"""
import argparse
import os
import random
import re
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import fabrics
import managers as m
import world as w

PORT_INFO, GUID_INFO, PKEYS, SL2VL, VL_ARB, LFT = 0x15, 0x14, 0x16, 0x17, 0x18, 0x19
NAMES = {PORT_INFO: "PortInfo", GUID_INFO: "GUIDInfo", PKEYS: "P_Key", SL2VL: "SL2VL", VL_ARB: "VLArb", LFT: "LFT", 0x1B: "MFT", 0x12: "SwitchInfo",
         0x11: "NodeInfo", 0x10: "NodeDesc", 0x20: "SMInfo"}
QOS = 'qos = true;\nqos_max_vls = 4;\nqos_sl2vl = "0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3";\n'


class Agent:
    """Gets and Sets of attributes of a node, by its own console."""

    def __init__(self, world, sim, node):
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration", "smp.py")
        self.process = world.start([sys.executable, program, "-"], env={**os.environ, **sim.at(node)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True)

    def ask(self, attribute, modifier, data=b""):
        self.process.stdin.write(f"{attribute} {modifier} {data.hex()}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise w.BenchError("an agent does not answer")
        return bytearray.fromhex(line)


def port_info(at, value):
    """With that byte, and no change of the state."""
    def change(data):
        data[32] &= 0xF0
        data[33] &= 0x0F
        data[at] = value(data[at])

    return PORT_INFO, change


def byte(at, value):
    def change(data):
        data[at] = value(data[at])

    return change


def emptied(data):
    data[:] = bytes(len(data))


# Where, attribute, modifier (None: 0 at an HCA), what a stranger writes.
PORTS = {
    "HCA's LID": ("hca", *port_info(17, lambda old: old ^ 0x80)),
    "HCA's SM LID": ("hca", *port_info(19, lambda old: old ^ 0x80)),
    "HCA's MTU": ("hca", *port_info(36, lambda old: old & 0xF | 0x10)),
    "HCA's VLs": ("hca", *port_info(43, lambda old: old & 0xF | 0x10)),
    "HCA's SubnetTimeOut": ("hca", *port_info(51, lambda old: old ^ 1)),
    "leaf's SM LID": ("leaf 0", *port_info(19, lambda old: old ^ 0x80)),
    "leaf port's HOQLife": ("leaf", *port_info(42, lambda old: old ^ 1)),
    "HCA's P_Keys": ("hca", PKEYS, emptied),
    "HCA's SL2VL": ("hca", SL2VL, byte(0, lambda old: old ^ 1)),
    "HCA's VLArb": ("hca arb", VL_ARB, byte(1, lambda old: old ^ 0x40)),
    "leaf port's SL2VL": ("leaf all", SL2VL, byte(0, lambda old: old ^ 1)),
    "leaf port's VLArb": ("leaf arb", VL_ARB, byte(1, lambda old: old ^ 0x40)),
}


class Bench:
    def __init__(self, world, options, size):
        self.options, self.random, self.used, self.agents = options, random.Random(1), set(), []
        netfile = fabrics.generated(world, size)
        self.world, self.sim = world, w.Fmsim(world, netfile)
        words = re.findall(r'^(Switch|Ca)\s+(\d+) "([^"]+)"', open(netfile, encoding="ascii").read(), re.M)
        self.switches = [(node, int(ports)) for kind, ports, node in words if kind == "Switch"]
        self.hcas = [node for kind, ports, node in words if kind == "Ca" and ports == "1"]
        self.fmd = w.Fmd(world, self.sim, settings=QOS + options.set)
        self.fmd.wait_up(120)
        self.up_at = time.time()
        self.names = {node["guid"]: node for node in self.fmd.ask("nodes")}

    def close(self):
        self.fmd.close()
        self.sim.close()

    # ---- What it costs

    def idle(self):
        time.sleep(max(0, self.up_at + 70 - time.time()) if self.options.idle else 3)
        if not self.options.idle:
            return
        before, cpu, began = self.fmd.counts.read(), self.fmd.cpu_s(), time.time()
        time.sleep(self.options.idle)
        after, took = self.fmd.counts.read(), time.time() - began
        rates = {}
        for key, (sent, _) in after.items():
            name = NAMES.get(key[2], hex(key[2])) if key[0] in w.SMP_CLASSES else f"class {key[0]}"
            rates[name] = rates.get(name, 0) + (sent - before.get(key, (0, 0))[0]) / took
        parts = ", ".join(f"{name} {rate:.1f}" for name, rate in sorted(rates.items(), key=lambda row: -row[1]) if rate >= 0.05)
        print(f"  idle: {sum(rates.values()):.0f} MADs/s, {100 * (self.fmd.cpu_s() - cpu) / took:.1f} % of a processor: {parts}", flush=True)

    # ---- What is found

    def reported(self):
        return sum("was written" in line for _, line in self.fmd.log.lines)

    def wait_restored(self, rows):
        """Seconds of each, from its own change on. rows: functions that prepare a change; they return one that makes it, and one that says whether it is undone."""
        ready = [prepare() for prepare in rows]
        began, taken = [], [None] * len(ready)
        for change, _ in ready:
            change()
            began.append(time.time())
        while None in taken:
            for i, (_, undone) in enumerate(ready):
                late = time.time() - began[i] > self.options.limit
                if taken[i] is None and (late or undone()):
                    taken[i] = float("inf") if late else time.time() - began[i]
            time.sleep(0.01)
        for agent in self.agents:
            self.world.stop(agent.process)
        self.agents = []
        return taken

    def agent(self, node):
        self.agents.append(Agent(self.world, self.sim, node))
        return self.agents[-1]

    def unused(self, nodes):
        """One that no change was made to yet, as long as there is one."""
        node = self.random.choice([node for node in nodes if node not in self.used] or nodes)
        self.used.add(node)
        return node

    def change_port(self, where, attribute, change):
        place, *how = where.split()
        hca = self.unused(self.hcas[8:])
        found = re.search(rf'^\[1\]\S*\s+"([^"]+)"\[(\d+)\]', self.of(hca), re.M)
        agent = self.agent(hca if place == "hca" else found[1])
        port = 0 if place == "hca" or how == ["0"] else int(found[2])
        modifiers = [port]
        if how == ["arb"]:
            modifiers = [3 << 16 | port]
        elif how == ["all"]:
            modifiers = [into << 8 | port for into in range(1, dict(self.switches)[found[1]] + 1) if into != port]
        was = {modifier: agent.ask(attribute, modifier) for modifier in modifiers}
        size = 52 if attribute == PORT_INFO else 64

        def write():
            for modifier, data in was.items():
                data = bytearray(data)
                change(data)
                agent.ask(attribute, modifier, data)

        return write, lambda: all(agent.ask(attribute, modifier)[:size] == was[modifier][:size] for modifier in modifiers)

    def change_alias(self):
        """The alias GUID that a host asked the SA for."""
        hca = self.unused(self.hcas[8:])
        books, agent = m.Books(self.world, self.sim, hca), self.agent(hca)
        books.do(do="alias", guid=f"0x{self.random.getrandbits(56):x}")
        was = m.until(lambda: any((data := agent.ask(GUID_INFO, 0))[24:32]) and data, "the alias is written")
        books.finish()
        return lambda: agent.ask(GUID_INFO, 0, was[:24] + bytes(8) + was[32:64]), lambda: agent.ask(GUID_INFO, 0) == was

    def of(self, node):
        with open(os.path.join(self.world.dir, f"{self.size}.net"), encoding="ascii") as lines:
            text = lines.read()
        at = text.index(f'"{node}"', text.index(f"\nCa\t") if node[0] == "H" else 0)
        return text[at:text.find("\n\n", at)]

    def dump(self, kind, switch):
        return self.sim.tell(f"dump {kind} 0x{switch[2:]}")

    def lose(self, kind, line):
        switch = self.unused([node for node, _ in self.switches])
        before = self.dump(kind, switch)

        def forget():
            self.sim.tell(line(switch))
            assert self.dump(kind, switch) != before

        return forget, lambda: self.dump(kind, switch) == before

    def rows(self, rows, tries, together=False):
        """together: all tries at once."""
        rows = {name: once for name, once in rows.items() if re.search(self.options.only, name)}
        before, taken = self.reported(), []
        for changes in [list(rows.values()) * tries] if together else [list(rows.values())] * tries:
            time.sleep(1 + 4 * self.random.random())
            taken += self.wait_restored(changes)
        time.sleep(1)
        for i, name in enumerate(rows):
            print(f"  {name:22} {statistics.median(taken[i::len(rows)]):6.2f} s, worst {max(taken[i::len(rows)]):6.2f} s", flush=True)
        if rows:
            print(f"  {'':22} reported {self.reported() - before} of {len(taken)}", flush=True)

    def run(self, size):
        self.size = size
        print(f"{size} HCAs, {len(self.switches)} switches:", flush=True)
        self.idle()
        lids = [node["lid"] for node in self.names.values() if node["lid"]]
        # One by one: behind a finding nothing is read until its update is over and audit_after has passed.
        self.rows({"LFT entry": lambda: self.lose("lft", lambda switch: f"entry 0x{switch[2:]} {self.random.choice(lids)} 255")}, self.options.tries)
        self.rows({"LFT, whole": lambda: self.lose("lft", lambda switch: f"forget 0x{switch[2:]} lft")}, self.options.tries)
        ports = {name: (lambda row=row: self.change_port(*row)) for name, row in PORTS.items()}
        fast = [name for name, row in PORTS.items() if row[0] in ("hca", "leaf 0") and row[1] == PORT_INFO]
        self.rows({name: ports[name] for name in fast}, self.options.tries)
        self.rows({**{name: ports[name] for name in ports if name not in fast}, "HCA's GUIDInfo": self.change_alias}, self.options.slow, together=True)
        books = m.Books(self.world, self.sim, self.hcas[9])
        for hca in self.hcas[8::max(1, len(self.hcas) // 32)]:
            books.do(do="join", guid="0x" + self.port_guid(hca), mgid="ff12601bffff" + 19 * "0" + "7")
        time.sleep(3)
        self.switches = [row for row in self.switches if re.search(r"[1-9a-f]", self.dump("mft", row[0]))]
        if self.switches:
            self.rows({"MFT, whole": lambda: self.lose("mft", lambda switch: f"forget 0x{switch[2:]} mft")}, self.options.tries)

    def port_guid(self, hca):
        return re.search(r"^\[1\]\(([0-9a-f]+)\)", self.of(hca), re.M)[1]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--bin", default="build")
    options.add_argument("--sizes", type=int, nargs="+", default=[256, 1024])
    options.add_argument("--tries", type=int, default=5)
    options.add_argument("--slow", type=int, default=2)
    options.add_argument("--idle", type=float, default=20)
    options.add_argument("--limit", type=float, default=900)
    options.add_argument("--set", default="")
    options.add_argument("--only", default="")
    options = options.parse_args()
    world = w.World(os.path.abspath(options.bin))
    try:
        for size in options.sizes:
            bench = Bench(world, options, size)
            try:
                bench.run(size)
            finally:
                bench.close()
    finally:
        world.close()


if __name__ == "__main__":
    main()
