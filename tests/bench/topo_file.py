#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Makes an ibnetdiscover file of a topology file of ibutils (chassis of line cards and spine cards, ibdm-topo-file(1)).

    topo_file.py [--ibnl FOLDER] [--without CHASSIS[/CARD]]... FILE.topo > FILE.net

The systems' insides come from ibutils' IBNL files (package ibutils; ibdm-ibnl-file(1)). --without leaves a chassis out, or a card of it. What has no
such file and is no switch of one chip is an HCA. ibutils' RhinoBased10K.topo makes 2,520 switches and 10,000 HCAs.
"""
import argparse
import glob
import os
import re
import sys

ARROW = re.compile(r"^\s*(\S+)\s+-(?:\S*-)?>\s*(.*\S)")
GUID = 0x0008F10400000000


def words(text):
    return text.replace(",", " ").split()


class Board:
    """A system of an IBNL file: chips, boards in it, and which of their ports are wired to what."""

    def __init__(self):
        self.chips, self.boards, self.wires = {}, {}, []  # wires: ((part, port), (part or None, port))


def read_ibnl(path):
    """{name: Board}, the name of the top system being the file's."""
    systems, board, part = {}, None, None
    with open(path, errors="replace") as file:
        for line in file:
            line = line.split("#")[0].rstrip()
            head, wire = line.split(), ARROW.match(line)
            if not head:
                continue
            if head[0] in ("SYSTEM", "TOPSYSTEM"):
                board, part = Board(), None
                for name in words(" ".join(head[1:])):
                    systems[name] = board
                if head[0] == "TOPSYSTEM":
                    systems["TOP"] = board
            elif head[0] == "NODE":
                part = head[4]
                board.chips[part] = (head[1], int(head[2]))
            elif head[0] == "SUBSYSTEM":
                part = head[2]
                board.boards[part] = head[1]
            elif wire and part:
                far = wire[2].split()
                board.wires.append(((part, wire[1]), (far[0], far[1]) if len(far) > 1 else (None, far[0])))
    return systems


class Fabric:
    def __init__(self, folder):
        self.folder, self.kinds, self.nodes, self.links = folder, {}, {}, []

    def kind(self, name):
        path = os.path.join(self.folder, f"{name}.ibnl")
        if name not in self.kinds:
            self.kinds[name] = read_ibnl(path) if os.path.exists(path) else None
        return self.kinds[name]

    def build(self, systems, board, name, missing):
        """{front port: (node, port)} of a board, whose chips become nodes."""
        ends, front = {}, {}
        for chip, (what, ports) in board.chips.items():
            self.nodes[f"{name}/{chip}"] = (what, ports)
        for part, kind in board.boards.items():
            if f"{name}/{part}" not in missing:
                ends[part] = self.build(systems, systems[kind], f"{name}/{part}", missing)

        def end(part, port):
            if part in board.chips:
                return f"{name}/{part}", int(port)
            return ends.get(part, {}).get(port)

        for (part, port), (far, far_port) in board.wires:
            near = end(part, port)
            if far is None:
                front[far_port] = near
            elif near and end(far, far_port):
                self.links.append((near, end(far, far_port)))
        return {port: near for port, near in front.items() if near}

    def write(self, out):
        guids = {name: GUID + 0x100 * (i + 1) for i, name in enumerate(self.nodes)}
        peers = {}
        for a, b in self.links:
            peers[a], peers[b] = b, a
        for name, (what, ports) in self.nodes.items():
            guid, switch = guids[name], what == "SW"
            out.write(f"\nvendid=0x8f1\ndevid=0x{0x5a30 if switch else 0x5a44:x}\nsysimgguid=0x{guid:x}\n")
            out.write(f"{'switch' if switch else 'ca'}guid=0x{guid:x}\n")
            out.write(f'{"Switch" if switch else "Ca"}\t{ports} "{"SH"[not switch]}-{guid:016x}"\t\t# "{name}"\n')
            for port in range(1, ports + 1):
                if (name, port) in peers:
                    far, far_port = peers[name, port]
                    letter = "S" if self.nodes[far][0] == "SW" else "H"
                    out.write(f'[{port}]\t"{letter}-{guids[far]:016x}"[{far_port}]\t\t# "{far}" lid 0 4xSDR\n')


def read_topo(fabric, path, missing):
    """Chassis first, then cables: each is told at one end or at both."""
    fronts, cables, name = {}, [], None

    def system(kind, name):
        if name in fronts:
            return
        if name in missing:
            fronts[name] = {}
            return
        known = fabric.kind(kind)
        if known and "TOP" in known and known["TOP"].boards or known and any(
                what == "SW" for what, _ in known["TOP"].chips.values()):
            fronts[name] = fabric.build(known, known["TOP"], name, missing)
        elif kind == "MTS2400" or kind == "MTS800":  # one chip
            ports = 24 if kind == "MTS2400" else 8
            fabric.nodes[name] = ("SW", ports)
            fronts[name] = {f"P{i}": (name, i) for i in range(1, ports + 1)}
        else:
            fabric.nodes[name] = ("CA", 2)
            fronts[name] = {f"P{i}": (name, i) for i in (1, 2)}

    with open(path) as file:
        for line in file:
            line = line.split("#")[0].rstrip()
            wire = ARROW.match(line)
            if wire and name:
                kind, far, *port = wire[2].split()
                system(kind, far)
                cables.append(((name, wire[1]), (far, port[0])))
            elif line and not line[0].isspace():
                kind, name = line.split()[:2]
                system(kind, name)
    done = set()
    for (a, a_port), (b, b_port) in cables:
        near, far = fronts[a].get(a_port), fronts[b].get(b_port)
        if near and far and near not in done and far not in done:
            done |= {near, far}
            fabric.links.append((near, far))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ibnl", default=(glob.glob("/usr/lib/*/ibdm*/ibnl") or ["."])[0])
    parser.add_argument("--without", metavar="CHASSIS[/CARD]", action="append", default=[])
    parser.add_argument("file")
    options = parser.parse_args()
    fabric = Fabric(options.ibnl)
    read_topo(fabric, options.file, set(options.without))
    fabric.write(sys.stdout)


if __name__ == "__main__":
    main()
