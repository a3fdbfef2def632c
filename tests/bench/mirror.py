#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What the mirror costs, and how soon a standby knows what its master knows: two fmd on fmsim, and a third reader.

    mirror.py [--bin FOLDER] [--json FILE] [--rounds N] [--beside FOLDER] [SIZE...]

The master begins with three groups that every port is a member of and a service of every fourth. Then hosts join and register,
100 times a second in all, in pairs of rounds: in one of each a standby copies the master, in the other there is none. What the mirror
costs is the difference between both of one and the same process, by its own clock and that of its children:
the median of all pairs, and the least and the most. All that the standby takes is its own, less what it takes when nothing changes.

A third reader then stands beside the standby and says when each change arrived at it: of hosts' requests behind the answer, of commands
behind their beginning, of faults behind the cut or their event.

--beside: only how many changes a second a master with a standby answers to one host, which sends the next when it has the answer; by turns with
the build in that folder, and the ratio of each two turns. It takes some 20 seconds a round.
"""
import argparse
import datetime
import json
import os
import re
import socket
import ssl
import statistics
import struct
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True

import fabrics
import managers
import world as w

RATE = 100
SECONDS = 8
ROUNDS = 4
EACH_TURN = 500
LIMIT_S = 300
WARM = "ff12401bffff0000000000000000%04x"
JOINED = "ff12401bffff0000000000000001%04x"
SETTINGS = "sa_rate_limit = 0;\nflap_count = 1;\nrebalance_hold = 1.0;\n"
HERE = os.path.dirname(os.path.abspath(__file__))
CLIENT = """
import struct, sys, time
sys.path.insert(0, sys.argv[1]); sys.path.insert(0, sys.argv[2])
import mcast_join, sa_client
client, gap_s = sa_client.Client(mcast_join.sm_lid()), float(sys.argv[3])
due = time.monotonic()
for line in sys.stdin:
    kind, guid, what = line.split()
    if kind == "join":
        client.change(sa_client.SET, int(guid, 16), what, 1)
    else:
        record = struct.pack(">QQQHHI16s64s", int(what), 0xFE80 << 48, int(guid, 16), 0xFFFF, 0, 0xFFFFFFFF, b"", b"bench")
        client.ask(sa_client.SET, sa_client.SERVICE, 0x57, record, sa_client.SM_KEY)
    print(kind, guid, what, time.monotonic(), flush=True)
    due += gap_s
    time.sleep(max(0, due - time.monotonic()))
"""


def hosts(netfile):
    """[(node, GUID of its port)] of adapters."""
    text = open(netfile).read()
    return [(name, int(guid, 16)) for name, guid in re.findall(r'^Ca\s+\d+\s+"(H-\w+)".*?\n\[\d+\]\((\w+)\)', text, re.M)]


def certificate(folder):
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=folder)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "peer.key", "-out", "peer.pem", "-subj", "/CN=peer")
    os.chmod(os.path.join(folder, "peer.key"), 0o600)


def fill(state, ports):
    """Files of state_dir as a version before state.db left them, without their first and last lines: they are taken over."""
    os.mkdir(state)
    with open(os.path.join(state, "groups"), "w") as out:
        for number in range(3):
            mgid = WARM % (number + 1)
            out.write(f"group 0x{mgid[:16]} 0x{mgid[16:]} 0x{0xc000 + number:x} 0xffff 0xb1b 4 3 18 0 0x0 0 0\n")
            out.writelines(f"member 0x{guid:016x} 1 0\n" for _, guid in sorted(ports, key=lambda p: p[1]))
    with open(os.path.join(state, "services"), "w") as out:
        for number, (_, guid) in enumerate(ports[::4]):
            record = struct.pack(">QQQHHI16s64s64s", number + 1, 0xFE80 << 48, guid, 0xFFFF, 0, 0xFFFFFFFF, b"", b"warm", b"")
            out.write(f"0 {record.hex().ljust(352, '0')}\n")


class Reader(threading.Thread):
    """A manager that copies, as far as a HELLO goes; notes when what arrived."""

    def __init__(self, folder, port):
        super().__init__(daemon=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(f"{folder}/peer.pem")
        context.load_cert_chain(f"{folder}/peer.pem", f"{folder}/peer.key")
        self.begun = time.monotonic()
        self.channel = context.wrap_socket(socket.create_connection(("127.0.0.1", port)))
        self.say("H", {"protocol": 2, "port_guid": "0x0000000000000777", "name": "reader", "takeovers": []})
        self.frames, self.whole_s, self.received = [], None, 0
        self.start()

    def say(self, kind, head):
        text = json.dumps(head).encode()
        self.channel.sendall(struct.pack(">IB", len(text) + 2, ord(kind)) + text + b"\n")

    def run(self):
        stream = self.channel.makefile("rb")
        try:
            while head := stream.read(5):
                length, kind = struct.unpack(">IB", head)
                body = stream.read(length - 1)
                self.received += length + 4
                self.frames.append((time.monotonic(), chr(kind), body, self.kinds_of(body) if chr(kind) == "K" else set()))
                if chr(kind) == "P":
                    self.say("T", {**json.loads(body), "whole": False})
                if chr(kind) == "W" and self.whole_s is None:
                    self.whole_s = time.monotonic() - self.begun
        except (OSError, ValueError):
            pass

    @staticmethod
    def kinds_of(body):
        """Of the rows of a frame (fm/state/rows.h)."""
        return {kind.decode() for kind in body.partition(b"\n")[2].split(b"\0")[1::4]}

    def when(self, words, since):
        """First arrival of a text in rows; None = never."""
        for at, kind, body, _ in self.frames[since:]:
            if kind == "K" and any(word in body for word in words):
                return at
        return None

    def arrival(self, name, since, limit_s=LIMIT_S):
        """When a change of that kind of rows arrived first behind so many frames."""
        until, seen = time.monotonic() + limit_s, since
        while time.monotonic() < until:
            for at, _, _, kinds_there in self.frames[seen:]:
                seen += 1
                if name in kinds_there:
                    return at
            time.sleep(0.001)
        return float("inf")

    def after(self, act, name):
        """How long behind the beginning of an act rows of that kind change here, in ms."""
        since, begun = len(self.frames), time.monotonic()
        act()
        return round((self.arrival(name, since) - begun) * 1e3, 1)

    def behind_event(self, fmd, act, name, kind, limit_s=20):
        """The same behind the event of that kind that follows from the act: below 0 where the change goes ahead of its event."""
        since, told = len(self.frames), len(fmd.ask("events", "--kind", kind, "-n", "4000"))
        offset = time.time() - time.monotonic()
        act()
        at, until = self.arrival(name, since, limit_s), time.monotonic() + limit_s
        while len(rows := fmd.ask("events", "--kind", kind, "-n", "4000")) == told and time.monotonic() < until:
            time.sleep(0.2)
        return round((at + offset - seconds_of(rows[told]["time"])) * 1e3, 1) if len(rows) > told else float("inf")


def seconds_of(when):
    return datetime.datetime.fromisoformat(when.replace("Z", "+00:00")).timestamp()


class Managed(w.Fmd):
    def __init__(self, world, sim, node, state, settings):
        self.node = node
        super().__init__(world, sim, settings, state)

    def launch(self, argv, **options):
        self.environment.pop("COUNT_UMAD_FILE")
        self.environment.update(self.sim.environment, FMSIM_NODE=self.node, LD_PRELOAD=self.sim.library)
        super().launch(argv, **options)

    def cpu_us(self):
        """Of the process and of its children that ended."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return w.run_us(self.process.pid) + (int(fields[13]) + int(fields[14])) * 1e6 / os.sysconf("SC_CLK_TCK")


def drive(world, sim, node, lines, rate):
    """Answers by change: {(kind, guid, what): when}."""
    client = world.start([sys.executable, "-c", CLIENT, HERE, os.path.join(HERE, "..", "integration"), str(1 / rate)], env={**os.environ, **sim.at(node)},
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    said, _ = client.communicate("\n".join(lines).encode(), timeout=LIMIT_S)
    world.processes.remove(client)
    rows = [row.split() for row in said.decode().splitlines()]
    if len(rows) != len(lines):
        raise w.BenchError(f"only {len(rows)} of {len(lines)} changes were answered")
    return {tuple(row[:3]): float(row[3]) for row in rows}


def changes(ports, begin, count):
    """Every second one a host that joins: each port once, then each the next group."""
    made = []
    for i in range(begin, begin + count):
        _, guid = ports[i % len(ports)]
        made.append(f"join 0x{guid:016x} {JOINED % (i // len(ports))}" if i % 2 else f"service 0x{guid:016x} {0x100000 + i}")
    return made


def marks(change):
    kind, guid, what = change
    if kind == "join":
        return [f"joined 0x{what[:16]} 0x{what[16:]} {guid}\0".encode()]
    return [struct.pack(">QQQ", int(what), 0xFE80 << 48, int(guid, 16)).hex().encode()]


def ready(fmd, what, test, limit_s=LIMIT_S):
    until = time.time() + limit_s
    while time.time() < until:
        try:
            if test(fmd.ask("status")):
                return
        except w.BenchError:
            pass
        time.sleep(0.1)
    raise w.BenchError(f"not within {limit_s} s: {what}; {fmd.log.tail()}")


class Pair:
    """A master with its peers configured, and a standby that comes and goes."""

    def __init__(self, world, sim, ports):
        self.world, self.sim, self.ports, self.folder, self.standby, self.used = world, sim, ports, world.folder("peers"), None, 0
        certificate(self.folder)
        self.listens, self.state = [managers.free_port(), managers.free_port()], os.path.join(self.folder, "state")
        fill(self.state, ports)
        self.master = self.begin(0, ports[0][0], self.state)
        self.master.wait_up(LIMIT_S)

    def begin(self, i, node, state):
        files = "".join(f'peer_{kind} = "{self.folder}/peer.{end}";\n' for kind, end in (("cert", "pem"), ("key", "key"), ("ca", "pem")))
        return Managed(self.world, self.sim, node, state, f'{SETTINGS}peer_listen = "127.0.0.1:{self.listens[i]}";\n'
                       f'peers = "127.0.0.1:{self.listens[1 - i]}";\n{files}')

    def accompany(self, there):
        """A standby that has a whole copy; or none."""
        if there and not self.standby:
            self.standby = self.begin(1, self.ports[-1][0], os.path.join(self.folder, "state2"))
            ready(self.standby, "a whole copy", lambda s: s["mirror"]["whole"])
        elif self.standby and not there:
            self.standby.close()
            self.standby = None
        ready(self.master, "it knows of that", lambda s: len(s["mirror"]["standbys"]) == there and (s["mirror"]["whole"] or not there))
        time.sleep(4)

    def drive(self, count, rate):
        made = changes(self.ports, self.used, count)
        self.used += count
        return drive(self.world, self.sim, self.ports[len(self.ports) // 2][0], made, rate)

    def cost(self, what):
        """Percent of a core that each manager takes meanwhile."""
        both = [fmd for fmd in (self.master, self.standby) if fmd]
        at, begun = [fmd.cpu_us() for fmd in both], time.monotonic()
        what()
        took = (time.monotonic() - begun) * 1e4
        return [(fmd.cpu_us() - before) / took for fmd, before in zip(both, at)]

    def close(self):
        for fmd in (self.master, self.standby):
            if fmd:
                fmd.close()


def spread(values):
    return {"median": round(statistics.median(values), 2), "least": round(min(values), 2), "most": round(max(values), 2)}


def costs(pair, rounds):
    """Of both managers, in percent of a core, at RATE changes a second: pairs of rounds, whose order changes."""
    took, idle, standby = {True: [], False: []}, {True: [], False: []}, []
    for i in range(rounds):
        for there in (True, False) if i % 2 else (False, True):
            pair.accompany(there)
            idle[there].append(pair.cost(lambda: time.sleep(3)))
            took[there].append(pair.cost(lambda: (pair.drive(RATE * SECONDS, RATE), time.sleep(3))))
    pair.accompany(True)
    for busy, quiet in zip(took[True], idle[True]):
        standby.append(busy[1] - quiet[1])
    return {"rate": RATE, "rounds": rounds,
            "mirror, master": spread([a[0] - b[0] for a, b in zip(took[True], took[False])]),
            "mirror, master, no changes": spread([a[0] - b[0] for a, b in zip(idle[True], idle[False])]),
            "standby": spread(standby), "standby, no changes": spread([row[1] for row in idle[True]]),
            "master with": spread([row[0] for row in took[True]]), "master without": spread([row[0] for row in took[False]])}


def quarantine(sim, link):
    for _ in range(3):
        sim.tell(f"unlink {link}")
        time.sleep(0.7)
        sim.tell(f"link {link}")
        time.sleep(0.7)


def kinds(pair, reader):
    """By kind, to its arrival, in ms: from the command (fmctl's own start with it), the cut, or the master's event."""
    master, sim, ports = pair.master, pair.sim, pair.ports
    switches = master.ask("switches")
    spine = max(switches, key=lambda row: row.get("level") or 0)["guid"]
    host_names = [row["name"] for row in master.ask("hosts")][:5]
    took = {}

    def note(what, value, pause_s=3):
        took.setdefault(what, []).append(value)
        time.sleep(pause_s)

    for number, (host, _) in enumerate(ports[10:15]):
        begun = time.monotonic()
        master.ask("partitions")
        note("fmctl alone", round((time.monotonic() - begun) * 1e3, 1), 0)
        note("cordon", reader.after(lambda: master.ask("cordon", spine), "cordons"))
        note("uncordon", reader.after(lambda: master.ask("uncordon", spine), "cordons"))
        note("NVLink state", reader.after(lambda: master.ask("nvswitch", "set", host_names[number], "NO_P2P"), "nvswitch"))
        note("host off, from the cut", reader.after(lambda: sim.tell(f"unlink {host}:1"), "cables"))
        note("host on, from the link", reader.after(lambda: sim.tell(f"link {host}:1"), "cables"))
        sim.tell(f"unlink {host}:1")
        time.sleep(3)
        since = len(reader.frames)
        note("forget: links", reader.after(lambda: master.ask("forget", "--down"), "cables"), 0)
        note("forget: LIDs, behind its links", round((reader.arrival("lids", since) - reader.arrival("cables", since)) * 1e3, 1))
        note("new host: cables", reader.after(lambda: sim.tell(f"link {host}:1"), "cables"))
    links = [f'{row["a"]["name"]}:{row["a"]["port"]}' for row in master.ask("links") if row["a"].get("role") != "hca"][-400::80]
    for link in links[:3]:
        note("quarantine, from its event", reader.behind_event(master, lambda: quarantine(sim, link), "quarantine", "quarantined"))
    sim.tell(f"unlink {links[-1]}")
    note("overrides, from their event", reader.behind_event(master, lambda: None, "overrides", "rebalanced", 30))
    return took


def lags(pair, reader, count, rate):
    since = len(reader.frames)
    answered = pair.drive(count, rate)
    time.sleep(6)
    took = [(at - when) * 1e3 if (at := reader.when(marks(change), since)) else float("inf") for change, when in answered.items()]
    return {"median": round(statistics.median(took), 1), "p99": round(sorted(took)[len(took) * 99 // 100], 1), "most": round(max(took), 1)}


def changes_a_second(pair, count):
    answers = sorted(pair.drive(count, 1e6).values())
    return (len(answers) - 1) / (answers[-1] - answers[0])


def beside(worlds, size, rounds):
    """By turns, of two builds: changes a second of each, and the first one's share of the other's."""
    sims, pairs, got = [], [], []
    try:
        for world in worlds:
            netfile = fabrics.generated(world, size)
            sims.append(w.Fmsim(world, netfile, "0us"))
            pairs.append(Pair(world, sims[-1], hosts(netfile)))
            pairs[-1].accompany(True)
        for i in range(rounds):
            turn = {k: changes_a_second(pairs[k], EACH_TURN) for k in ((0, 1) if i % 2 else (1, 0))}
            got.append((turn[0], turn[1]))
        return {"changes a second": spread([one for one, _ in got]), "beside": spread([other for _, other in got]),
                "ratio": spread([one / other for one, other in got])}
    finally:
        for it in (*pairs, *sims):
            it.close()


def measure(world, size, rounds):
    netfile = fabrics.generated(world, size)
    sim, pair = w.Fmsim(world, netfile, "0us"), None
    try:
        pair = Pair(world, sim, hosts(netfile))
        time.sleep(8)
        result = {"percent of a core": costs(pair, rounds)}
        reader = Reader(pair.folder, pair.listens[0])
        until = time.time() + 60
        while reader.whole_s is None and time.time() < until:
            time.sleep(0.01)
        result["first copy"] = {"s": reader.whole_s, "bytes": reader.received}
        result["seen at 5/s, ms"] = lags(pair, reader, 50, 5)
        result[f"seen at {RATE}/s, ms"] = lags(pair, reader, 500, RATE)
        result["loop"] = [pair.master.ask("status")[key] for key in ("loop_longest_us", "loop_longest_step")]
        result["kinds, ms"] = kinds(pair, reader)
        return result
    finally:
        if pair:
            pair.close()
        sim.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("FMD_BIN", "build"))
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--beside")
    parser.add_argument("sizes", nargs="*", type=int, default=[1024, 4096, 16384])
    options = parser.parse_args()
    worlds, document = [w.World(os.path.abspath(folder)) for folder in (options.bin, options.beside) if folder], {}
    try:
        for size in options.sizes:
            document[size] = beside(worlds, size, options.rounds) if options.beside else measure(worlds[0], size, options.rounds)
            print(size, json.dumps(document[size], indent=1), flush=True)
    finally:
        for world in worlds:
            world.close()
    if options.json:
        with open(options.json, "w") as out:
            json.dump(document, out, indent=1)


if __name__ == "__main__":
    main()
