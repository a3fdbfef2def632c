# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A judge of adaptive routing in the form of ibdiagnet2.far: it reads the text and the cables, and shares nothing with who made it.

    far_judge.py NETFILE FAR [LFTS]

NETFILE is what ibnetdiscover prints; FAR and LFTS may be pipes. Of LFTS (opensm-lfts.dump) the first switch is read alone: whose LID is
which. Prints a JSON line and ends with 1 where something is wrong: `loops` LIDs whose packets may go around, `cycles` channels that wait
for each other in a circle with all members at once, `lost` pairs (switch with HCAs, LID of an HCA) of which some choice of members does
not deliver, `thin` groups that one dead link empties, `bad` lines, members and static ports that cannot be, `strangers` LIDs that are
delivered to a port which is not theirs.

LIDs are taken together where all switches have the same ports for them; what leads to their owner's port counts as the same everywhere.
"""
import json
import re
import sys

NODE = re.compile(r'(Switch|Ca)\s+\d+ "[SH]-([0-9a-f]+)"\s*(?:# "(.*?)")?')
CABLE = re.compile(r'\[(\d+)\](?:\([0-9a-f]+\))?\s+"[SH]-([0-9a-f]+)"\[(\d+)\](?:\(([0-9a-f]+)\))?')
OWNER = re.compile(r"0x([0-9A-Fa-f]{4}) (\d+) [#:] \(?(Switch|Channel Adapter) portguid 0x([0-9A-Fa-f]+)")
NOTHING, DELIVERS = 0, 1  # numbers of sets of ports


class Cables:
    """peers: of a switch by GUID, {port: (GUID, port)}; hcas: GUIDs of nodes that are hosts' adapters; ports: of adapters, by port GUID"""

    def __init__(self, path):
        self.peers, self.hcas, self.ports, here = {}, set(), {}, None
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                node = NODE.match(line)
                if node:
                    guid, switch = int(node[2], 16), node[1] == "Switch"
                    here = self.peers.setdefault(guid, {}) if switch else None
                    if not switch and "Aggregation Node" not in (node[3] or ""):
                        self.hcas.add(guid)
                    continue
                cable = CABLE.match(line)
                if cable and here is not None:
                    here[int(cable[1])] = peer = int(cable[2], 16), int(cable[3])
                    if cable[4]:
                        self.ports[int(cable[4], 16)] = peer


class Verdict:
    def __init__(self):
        self.loops = self.cycles = self.lost = self.pairs = self.thin = self.bad = self.strangers = self.free = self.groups = 0
        self.first = None

    def note(self, key, what, count=1):
        setattr(self, key, getattr(self, key) + count)
        self.first = self.first or f"{key}: {what}"

    @property
    def sound(self):
        return not (self.loops or self.cycles or self.lost or self.thin or self.bad or self.strangers)


class Judge:
    def __init__(self, cables):
        self.cables, self.verdict = cables, Verdict()
        self.guids = sorted(cables.peers)
        self.number = {guid: at for at, guid in enumerate(self.guids)}
        # By switch: a row of set numbers by LID, and the sets: ((port, number of the next switch) ..)
        self.rows, self.sets = [None] * len(self.guids), [None] * len(self.guids)
        self.delivered = {}  # by LID: where it is delivered: (GUID, port), None = at several places

    # ---- The text ------------------------------------------------------------------------------

    def read(self, lines):
        at, block = None, []
        for line in lines:
            if line.startswith("Switch 0x"):
                self.take(at, block)
                at, block = line, []
            elif at:
                block.append(line)
        self.take(at, block)
        width = max((len(row) for row in self.rows if row), default=0)
        for at, row in enumerate(self.rows):
            if row is None:
                self.verdict.note("bad", f"switch 0x{self.guids[at]:016x} is not in the text")
                self.sets[at] = [(), ()]
            self.rows[at] = (row or []) + [NOTHING] * (width - len(row or []))

    def take(self, head, block):
        if head is None:
            return
        at = self.number.get(int(head.split()[1], 16))
        if at is None or self.rows[at] is not None:
            self.verdict.note("bad", head.strip())
            return
        middle = next((i for i, line in enumerate(block) if line.startswith("LFT")), len(block))
        groups = {}
        for line in block[:middle]:
            words = line.split()
            if len(words) == 4 and words[0].isdigit():
                ports = tuple(int(port) for port in words[3].split(",") if port)
                groups[words[0]] = ports
                self.verdict.groups += 1
                if len(set(ports)) < 2:
                    self.verdict.note("thin", f"{head.strip()}: group {words[0]}")
        self.rows[at], self.sets[at] = self.entries(at, block[middle:], groups)

    def entries(self, at, lines, groups):
        peers, note = self.cables.peers[self.guids[at]], self.verdict.note
        row, known, sets, members, free = [], {}, [(), ()], {}, set()
        for line in lines:
            if line[:2] != "0x":
                continue
            lid, rest = int(line[2:6], 16), line[6:]
            number = known.get(rest)
            if number is None:
                static, state, group = (rest.split() + ["0"])[:3]
                static = int(static)
                ports = groups.get(group, ()) if state in ("Free", "HBF") else (static,)
                if static not in ports:
                    note("bad", f"{self.guids[at]:x}: port {static} is no member of group {group}")
                ends = [port for port in ports if peers.get(port, (None,))[0] not in self.number]
                if ports == (static,) and ends and static in peers:
                    number = DELIVERS
                elif ports == (0,):
                    number = DELIVERS
                    self.delivered[lid] = None if lid in self.delivered else (self.guids[at], 0)
                else:
                    if ends:
                        note("bad", f"{self.guids[at]:x}: entry {lid} has port {ends[0]} without a switch behind it")
                    ports = tuple(sorted(ports))
                    number = members.get(ports)
                    if number is None:
                        number = members[ports] = len(sets)
                        sets.append(tuple((port, self.number[peers[port][0]]) for port in ports
                                          if peers.get(port, (None,))[0] in self.number))
                    known[rest] = number
                    if state in ("Free", "HBF"):
                        free.add(rest)
                if number == DELIVERS and static:
                    self.delivered[lid] = None if lid in self.delivered else peers[static]
            self.verdict.free += rest in free
            if len(row) <= lid:
                row.extend([NOTHING] * (lid + 1 - len(row)))
            row[lid] = number
        return row, sets

    # ---- The verdict ---------------------------------------------------------------------------

    def judge(self, owners):
        """owners: by LID, the (GUID, port) that it belongs to."""
        for lid, end in self.delivered.items():
            # The first switch has no entry for a switch that it has no path to: of such a LID nobody says whose it is.
            if owners is not None and end != owners.get(lid, end if end and end[0] not in self.cables.hcas else None):
                self.verdict.note("strangers", f"LID {lid} is delivered to {end}")
        hosts = {end[0]: 0 for end in self.delivered.values() if end and end[0] in self.cables.hcas}
        sources = [at for at, guid in enumerate(self.guids)
                   if any(peer[0] in self.cables.hcas for peer in self.cables.peers[guid].values())]
        columns = {}
        for lid, column in enumerate(zip(*self.rows)):
            if any(column):
                columns.setdefault(column, []).append(lid)
        waits = [[0] * (max(self.cables.peers[guid], default=0) + 1) for guid in self.guids]
        masks = [[sum(1 << port for port, _ in ports) for ports in sets] for sets in self.sets]
        arrived = 0
        for column, lids in columns.items():
            ended = []
            for at, number in enumerate(column):
                if number > DELIVERS:
                    for port, to in self.sets[at][number]:
                        waits[at][port] |= masks[to][column[to]]
                        if not column[to]:
                            ended.append(at)
            wanted = sum(1 for lid in lids if (self.delivered.get(lid) or (None,))[0] in hosts)
            lost = self.lost(column, ended, sources) if ended or any(not column[at] for at in sources) else 0
            arrived += wanted
            self.verdict.pairs += wanted * (len(sources) - lost)
            if wanted and lost:
                self.verdict.note("lost", f"LID {lids[0]} from {lost} switches", wanted * lost)
        missing = len(self.cables.hcas) - arrived
        if missing > 0:
            self.verdict.note("lost", f"{missing} HCA ports have no LID that is delivered", missing * len(sources))
        self.verdict.cycles = self.circular(waits)
        if self.verdict.cycles:
            self.verdict.note("cycles", "channels wait for each other", 0)
            self.verdict.loops = sum(len(lids) for column, lids in columns.items() if self.loops(column))
        return self.verdict

    def lost(self, column, ended, sources):
        """Sources from which some choice ends without an entry: all that lead to one in `ended`."""
        back = {}
        for at, number in enumerate(column):
            if number > DELIVERS:
                for _, to in self.sets[at][number]:
                    back.setdefault(to, set()).add(at)
        bad, todo = set(ended), list(ended)
        while todo:
            for at in back.get(todo.pop(), ()):
                if at not in bad:
                    bad.add(at)
                    todo.append(at)
        return sum(1 for at in sources if at in bad or not column[at])

    def loops(self, column):
        state, stack = {}, []
        for start in range(len(column)):
            if start in state:
                continue
            state[start] = True
            stack.append((start, iter(self.sets[start][column[start]])))
            while stack:
                step = next(stack[-1][1], None)
                if step is None:
                    state[stack.pop()[0]] = False
                elif step[1] not in state:
                    state[step[1]] = True
                    stack.append((step[1], iter(self.sets[step[1]][column[step[1]]])))
                elif state[step[1]]:
                    return True
        return False

    def circular(self, waits):
        """Channels that are left when those that wait for nobody were taken away, again and again."""
        after, before, free = {}, {}, []
        for at, ports in enumerate(waits):
            peers = self.cables.peers[self.guids[at]]
            for port in range(len(ports)):
                to = self.number.get(peers.get(port, (None,))[0])
                if to is None:
                    continue
                mask, count = ports[port], 0
                while mask:
                    on = (mask & -mask).bit_length() - 1
                    mask &= mask - 1
                    before.setdefault((to, on), []).append((at, port))
                    count += 1
                after[at, port] = count
                if not count:
                    free.append((at, port))
        left = len(after)
        while free:
            left -= 1
            for channel in before.get(free.pop(), ()):
                after[channel] -= 1
                if not after[channel]:
                    free.append(channel)
        return left


def owners_of(lines, cables):
    """The LIDs of the first switch of an opensm-lfts.dump, and the HCAs' ports that have them."""
    owners, began = {}, False
    for line in lines:
        if line.startswith("Unicast lids"):
            if began:
                break
            began = True
        found = OWNER.match(line)
        if found:
            guid = int(found[4], 16)
            owners[int(found[1], 16)] = (guid, 0) if found[3] == "Switch" else cables.ports.get(guid)
    return owners


def read(far):
    """By GUID of a switch: the ports of its groups by number, and its entries (port, group or None) by LID."""
    switches, groups, entries = {}, None, None
    with open(far, encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if line.startswith("Switch 0x"):
                groups, entries = switches.setdefault(int(words[1], 16), ({}, {}))
            elif len(words) == 4 and words[0].isdigit():
                groups[int(words[0])] = {int(port) for port in words[3].split(",") if port}
            elif len(words) == 4 and words[2] in ("Static", "Free"):
                entries[int(words[0], 16)] = int(words[1]), int(words[3]) if words[2] == "Free" else None
    return switches


def judge(netfile, far, lfts=None):
    cables = Cables(netfile)
    judged = Judge(cables)
    with open(far, encoding="utf-8") as lines:
        judged.read(lines)
    owners = None
    if lfts:
        with open(lfts, encoding="utf-8") as lines:
            owners = owners_of(lines, cables)
    return judged.judge(owners)


def main():
    verdict = judge(*sys.argv[1:])
    print(json.dumps({**vars(verdict), "sound": verdict.sound}))
    return not verdict.sound


if __name__ == "__main__":
    sys.exit(main())
