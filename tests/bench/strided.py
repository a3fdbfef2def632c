#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Strided reads: client i reads from server i mod S, of S servers that stand evenly among N hosts, or are the first S of them.

    strided.py FMCTL GENERATE-ARGUMENTS..

Prints for each S that divides N: flows on a server's own link (N / S, which all tables have in common), on the fullest link
between switches, and their ratio. Above 1 the tables make reads slower than the servers' links do; up to 1 they cost nothing.
"""
import collections
import re
import subprocess
import sys
import tempfile


def read(fmctl, arguments):
    with tempfile.TemporaryDirectory() as folder:
        net = folder + "/f.net"
        with open(net, "w") as out:
            subprocess.run([fmctl, "generate", *arguments], stdout=out, check=True)
        subprocess.run([fmctl, "plan", net, "--lfts", folder + "/lfts"], stdout=subprocess.DEVNULL, check=True)
        peer, node = {}, None
        for line in open(net):
            if m := re.match(r'(?:Switch|Ca)\s+\d+\s+"([^"]+)"', line):
                node = m[1]
            elif (m := re.match(r'\[(\d+)\](?:\([^)]*\))?\s+"([^"]+)"\[(\d+)\]', line)) and node:
                peer[node, int(m[1])] = m[2], int(m[3])
        tables, switch, special = {}, None, set()
        for line in open(folder + "/lfts"):
            if m := re.match(r"Unicast lids .* guid 0x([0-9a-f]+)", line):
                switch = tables.setdefault("S-" + m[1], {})
            elif m := re.match(r"0x([0-9a-f]+) (\d+)", line):
                switch[int(m[1], 16)] = int(m[2])
                if "Aggregation Node" in line:
                    special.add(int(m[1], 16))
    return peer, tables, special


def main():
    peer, tables, special = read(sys.argv[1], sys.argv[2:])
    hosts = []  # by LID: (LID, leaf)
    for switch, row in tables.items():
        for lid, port in row.items():
            at = peer.get((switch, port), ("",))[0]
            if at.startswith("H-") and port and lid not in special:
                hosts.append((lid, switch))
    hosts.sort()
    n = len(hosts)
    print(f"{' '.join(sys.argv[2:])}: {n} hosts")
    for s in range(2, n):
        if n % s:
            continue
        for where, apart in ("spread", n // s), ("first", 1):
            flows = collections.Counter()
            for i, (lid, leaf) in enumerate(hosts):
                at = hosts[i % s * apart][1]
                while at != leaf:
                    port = tables[at][lid]
                    flows[at, port] += 1
                    at = peer[at, port][0]
            worst = max(flows.values(), default=0)
            print(f"  S {s:5} {where:6}: own link {n // s:5}, between switches {worst:5}, ratio {worst * s / n:.2f}")


main()
