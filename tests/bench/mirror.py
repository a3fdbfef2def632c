#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What the mirror costs, and how soon a standby knows what a host asked its master for: two fmd on fmsim, and a third reader.

    mirror.py [--bin FOLDER] [--json FILE] [SIZE...]

The master begins with three groups that every port is a member of and a service of every fourth. Then hosts join and register,
100 times a second in all. A third reader stands beside the standby and says when each change arrived at it. What the mirror costs is the
processor time of the master and of the children that write its files, with peers less without, and all that the standby takes.
"""
import argparse
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
import world as w

RATE = 100
SECONDS = 20
LIMIT_S = 300
WARM = "ff12401bffff0000000000000000%04x"
JOINED = "ff12401bffff00000000000000007777"
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


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def fill(state, ports):
    """Files of state_dir as an earlier life would have left them, without their first and last lines."""
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
        self.say("H", {"protocol": 1, "port_guid": "0x0000000000000777", "name": "reader", "takeover": 0, "records": True})
        self.frames, self.texts, self.whole_s, self.received = [], {}, None, 0
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
                name = json.loads(body.partition(b"\n")[0]).get("name")
                self.frames.append((time.monotonic(), chr(kind), self.changed(body) if chr(kind) == "F" else body, name))
                if chr(kind) == "P":
                    self.say("T", {**json.loads(body), "whole": False})
                if chr(kind) == "W" and self.whole_s is None:
                    self.whole_s = time.monotonic() - self.begun
        except (OSError, ValueError):
            pass

    def changed(self, body):
        """What a FILE frame changed, with the lines around it: its piece may begin within one."""
        head, _, piece = body.partition(b"\n")
        head = json.loads(head)
        old = self.texts.get(head["name"], b"")
        text = old[:head["keep_head"]] + piece + old[len(old) - head["keep_tail"]:]
        self.texts[head["name"]] = text
        return text[max(0, head["keep_head"] - 600):head["keep_head"] + len(piece) + 600]

    def when(self, words, since):
        """First arrival of a text in a file or a record; None = never."""
        for at, kind, body, _ in self.frames[since:]:
            if kind in "FC" and any(word in body for word in words):
                return at
        return None

    def after(self, act, name):
        """How long behind the beginning of an act the file of that name changes here, in ms."""
        since, begun = len(self.frames), time.monotonic()
        act()
        while time.monotonic() < begun + LIMIT_S:
            for at, kind, _, named in self.frames[since:]:
                if kind in "FC" and named == name:
                    return round((at - begun) * 1e3, 1)
            time.sleep(0.001)
        return float("inf")


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
    made = []
    for i in range(begin, begin + count):
        _, guid = ports[i % len(ports)]
        made.append(f"join 0x{guid:016x} {JOINED}" if i % 2 and i < len(ports) else f"service 0x{guid:016x} {0x100000 + i}")
    return made


def marks(change):
    kind, guid, what = change
    if kind == "join":
        return [f"member {guid} ".encode(), f"joined 0x{JOINED[:16]} 0x{JOINED[16:]} {guid} ".encode()]
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


def percent(before, after, seconds):
    return (after - before) / seconds / 1e4


def measure(world, size, mirrored):
    netfile = fabrics.generated(world, size)
    ports = hosts(netfile)
    sim, closing = w.Fmsim(world, netfile, "0us"), []
    try:
        folder = world.folder("peers")
        certificate(folder)
        state, listens = os.path.join(folder, "state"), [free_port(), free_port()]
        fill(state, ports)
        files = "".join(f'peer_{kind} = "{folder}/peer.{end}";\n' for kind, end in (("cert", "pem"), ("key", "key"), ("ca", "pem")))
        settings = [f'peer_listen = "127.0.0.1:{listens[i]}";\npeers = "127.0.0.1:{listens[1 - i]}";\n{files}' for i in (0, 1)]
        plain = "sa_rate_limit = 0;\n"
        master = Managed(world, sim, ports[0][0], state, plain + (settings[0] if mirrored else ""))
        closing.append(master)
        master.wait_up(LIMIT_S)
        standby = None
        if mirrored:
            standby = Managed(world, sim, ports[-1][0], os.path.join(folder, "state2"), plain + settings[1])
            closing.append(standby)
            ready(standby, "a whole copy", lambda s: s["mirror"]["whole"])
        time.sleep(12)
        return watch(world, sim, ports, master, standby, (folder, listens[0]) if mirrored else None)
    finally:
        for fmd in closing:
            fmd.close()
        sim.close()


def kinds(sim, ports, master, reader):
    """From the command (fmctl's own start with it) or the fault to the arrival, in ms, of what is no record of a host."""
    switches = master.ask("switches")
    spine = max(switches, key=lambda row: row.get("level") or 0)["guid"]
    took = {"fmctl alone": []}
    for host, _ in ports[10:15]:
        begun = time.monotonic()
        master.ask("partitions")
        took["fmctl alone"].append(round((time.monotonic() - begun) * 1e3, 1))
        for what, name, act in (("cordon", "cordons", lambda: master.ask("cordon", spine)),
                                ("uncordon", "cordons", lambda: master.ask("uncordon", spine)),
                                ("host off", "cables", lambda: sim.tell(f"unlink {host}:1")),
                                ("host on", "cables", lambda: sim.tell(f"link {host}:1"))):
            took.setdefault(what, []).append(reader.after(act, name))
            time.sleep(3)
    return took


def watch(world, sim, ports, master, standby, where):
    result, both = {}, [fmd for fmd in (master, standby) if fmd]
    names = ["master", "standby"]
    at = [fmd.cpu_us() for fmd in both]
    begin = time.monotonic()
    drive(world, sim, ports[len(ports) // 2][0], changes(ports, 0, RATE * SECONDS), RATE)
    took = time.monotonic() - begin
    result["rate"] = RATE * SECONDS / took
    for name, fmd, before in zip(names, both, at):
        result[name] = percent(before, fmd.cpu_us(), took)
    at, begin = [fmd.cpu_us() for fmd in both], time.monotonic()
    time.sleep(5)
    for name, fmd, before in zip(names, both, at):
        result[f"{name} idle"] = percent(before, fmd.cpu_us(), time.monotonic() - begin)
    if where:
        reader = Reader(*where)
        until = time.time() + 60
        while reader.whole_s is None and time.time() < until:
            time.sleep(0.01)
        result["first copy s"], result["first copy bytes"] = reader.whole_s, reader.received
        for rate, count in ((5, 50), (RATE, 500)):
            since, offset = len(reader.frames), RATE * SECONDS + (0 if rate == 5 else 50)
            answered = drive(world, sim, ports[len(ports) // 2][0], changes(ports, offset, count), rate)
            time.sleep(6)
            lags = [(arrived - when) * 1e3 if (arrived := reader.when(marks(change), since)) else float("inf") for change, when in answered.items()]
            result[f"seen at {rate}/s ms"] = [round(x, 1) for x in (statistics.median(lags), sorted(lags)[len(lags) * 99 // 100], max(lags))]
        result["kinds ms"] = kinds(sim, ports, master, reader)
        result["loop_longest_us"] = [master.ask("status")[key] for key in ("loop_longest_us", "loop_longest_step")]
        result["bytes"] = reader.received
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("FMD_BIN", "build"))
    parser.add_argument("--json")
    parser.add_argument("sizes", nargs="*", type=int, default=[1024, 4096, 16384])
    options = parser.parse_args()
    world, document = w.World(os.path.abspath(options.bin)), {}
    try:
        for size in options.sizes:
            with_mirror, without = measure(world, size, True), measure(world, size, False)
            cost = {"master": with_mirror["master"] - without["master"], "standby": with_mirror["standby"] - with_mirror["standby idle"]}
            document[size] = {"with": with_mirror, "without": without, "cost % of a core": cost}
            print(size, json.dumps(document[size], indent=1), flush=True)
    finally:
        world.close()
    if options.json:
        with open(options.json, "w") as out:
            json.dump(document, out, indent=1)


if __name__ == "__main__":
    main()
