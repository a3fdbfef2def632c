#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What hosts see of a change of masters: answers of the SA a second, as a plot.

    takeover.py [--bin FOLDER] [--size HCAS] [--times N] [--csv FILE] [--hosts N] [EVENT...]

EVENT: sigterm, handover (fmctl), lower (a reload with a lower priority), kill (-9); all by default. Two fmd on fmsim copy each other's
state_dir. At some hosts a client each asks for paths, RATE a second together. As the kernel does, it sends to the SM LID that its port has at that moment,
and repeats a request 10 times, 100 ms apart, to where it went first. An event is done N times, by turns. Printed for each: how many requests were
never answered, how many only when repeated, the longest time without any answer, and answers in each twentieth of a second around the event
that was worst; the CSV has all of them.
"""
import argparse
import ctypes
import json
import os
import pathlib
import signal
import socket
import statistics
import struct
import subprocess
import sys
import time

RATE, TRY_MS, TRIES = 1000, 100, 10
BEFORE_S, AFTER_S = 0.5, {"sigterm": 2.5, "handover": 2.5, "lower": 2.5, "kill": 7.0}
BIN_S, BAR = 0.05, 60
SA, GET, GET_RESP, PATH = 0x03, 0x01, 0x81, 0x0035
QKEY = 0x80010000 - (1 << 32)


# ---- The client, at a node of the fabric

class PortInfo(ctypes.Structure):  # umad_port_t, as far as the SM LID
    _fields_ = [("ca", ctypes.c_char * 20), ("port", ctypes.c_int), ("base_lid", ctypes.c_uint), ("lmc", ctypes.c_uint),
                ("sm_lid", ctypes.c_uint), ("rest", ctypes.c_ubyte * 4096)]


def client(seconds, rate, prefix_guids):
    """Lines: when it was sent, and what that took, in microseconds; -1 = never answered."""
    umad = ctypes.CDLL(os.environ["LD_PRELOAD"])
    umad.umad_get_mad.restype = ctypes.c_void_p
    umad.umad_get_mad.argtypes = [ctypes.c_void_p]
    umad.umad_init()
    port = umad.umad_open_port(None, 0)
    agent = umad.umad_register(port, SA, 2, 0, None)
    out, into = (ctypes.create_string_buffer(umad.umad_size() + 256) for _ in range(2))
    info = PortInfo()
    guids = [int(word, 16) for word in prefix_guids.split(",")]
    sent, took, lid, looked = {}, [], 0, 0.0
    start = time.monotonic()
    number = 0
    while True:
        now = time.monotonic()
        if now - looked > 0.002:
            looked = now
            if umad.umad_get_port(None, 0, ctypes.byref(info)) == 0:
                lid = info.sm_lid
                umad.umad_release_port(ctypes.byref(info))
        while now - start < seconds and number < (now - start) * rate:
            number += 1
            other = guids[number % (len(guids) - 1) + 1]
            head = struct.pack(">BBBBHHQHHI", 1, SA, 2, GET, 0, 0, number, PATH, 0, 0)
            record = struct.pack(">QQQQQHHIBBH", 0, 0xFE80 << 48, other, 0xFE80 << 48, guids[0], 0, 0, 0, 0, 0x81, 0xFFFF)
            mad = (head + bytes(12) + struct.pack(">QIQ", 0, 0, 1 << 2 | 1 << 3 | 1 << 11 | 1 << 12) + record).ljust(256, b"\0")
            ctypes.memset(out, 0, umad.umad_size())
            ctypes.memmove(umad.umad_get_mad(out), mad, 256)
            umad.umad_set_addr(out, lid, 1, 0, ctypes.c_int(QKEY))
            sent[number] = time.time()
            umad.umad_send(port, agent, out, 256, TRY_MS, TRIES)
        length = ctypes.c_int(256)
        while umad.umad_recv(port, into, ctypes.byref(length), 0) >= 0:
            mad = ctypes.string_at(umad.umad_get_mad(into), 256)
            tid = struct.unpack_from(">Q", mad, 8)[0] & 0xFFFFFFFF
            if tid in sent:
                when = sent.pop(tid)
                good = mad[3] == GET_RESP and not struct.unpack_from(">H", mad, 4)[0] and not umad.umad_status(into)
                took.append((when, int((time.time() - when) * 1e6) if good else -1))
            length = ctypes.c_int(256)
        if now - start > seconds and (not sent or now - start > seconds + TRY_MS * (TRIES + 3) / 1e3):
            break
        time.sleep(0.0003)
    for when, us in took + [(when, -1) for when in sent.values()]:
        print(f"{when:.6f} {us}")


# ---- Two managers

class Fmd:
    def __init__(self, world, sim, w, node, listen, peer, psk):
        self.dir, self.w, self.world, self.peers = world.folder("fmd"), w, world, (listen, peer, psk)
        self.socket, self.conf = os.path.join(self.dir, "fmd.sock"), os.path.join(self.dir, "fmd.conf")
        self.environment = {**os.environ, **sim.at(node)}
        self.environment.pop("NOTIFY_SOCKET", None)
        self.process = None

    def configure(self, priority):
        listen, peer, psk = self.peers
        with open(self.conf, "w") as out:
            out.write(f'state_dir = "{self.dir}/state";\nsocket = "{self.socket}";\nsa_rate_limit = 0;\nsm_priority = {priority};\n'
                      f'peer_listen = "127.0.0.1:{listen}";\npeers = "127.0.0.1:{peer}";\npeer_psk_file = "{psk}";\n')

    def start(self, priority=5):
        self.configure(priority)
        self.process = self.world.start([self.world.fmd, "-c", self.conf], cwd=self.dir, env=self.environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(self.dir + "/log", "a"))

    def ask(self, *command):
        run = subprocess.run([self.world.fmctl, "-s", self.socket, "--json", *command], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, timeout=60)
        return json.loads(run.stdout) if not run.returncode else None

    def wait(self, holds, limit_s=120):
        until = time.time() + limit_s
        while True:
            status = self.ask("status") if self.process.poll() is None else None
            if status and holds(status):
                return
            if time.time() > until:
                raise self.w.BenchError(f"takeover: {self.dir}: not within {limit_s} s")
            time.sleep(0.05)


def is_ready(status):
    others = status["election"]["others"]
    return (status["sm"] == "master" and status["state"] == "up" and others and others[0]["state"] == "standby"
            and status["mirror"]["whole"])


def act(event, master):
    if event in ("sigterm", "kill"):
        master.process.send_signal(signal.SIGTERM if event == "sigterm" else signal.SIGKILL)
    elif event == "handover":
        master.ask("handover")
    else:
        master.configure(1)
        master.ask("reload")


def ends_s(process, since):
    process.wait(30)
    return time.time() - since


def measure(event, master, standby, clients):
    """{unanswered, repeated, gap_ms, ended_ms, samples: (seconds from the event, us)}"""
    running = [start() for start in clients]
    time.sleep(BEFORE_S + 0.3)  # and until the clients run
    when = time.time()
    act(event, master)
    ended = ends_s(master.process, when) if event in ("sigterm", "kill") else None
    samples = sorted((float(sent) - when, int(us)) for it in running for sent, us in map(str.split, it.communicate()[0].decode().splitlines()))
    answers = sorted(sent + us / 1e6 for sent, us in samples if us >= 0)
    gaps = [b - a for a, b in zip(answers, answers[1:])]
    return {"event": event, "asked": len(samples), "unanswered": sum(us < 0 for _, us in samples),
            "repeated": sum(us >= TRY_MS * 1000 for _, us in samples), "gap_ms": max(gaps, default=0) * 1e3,
            "slowest_ms": max((us for _, us in samples), default=0) / 1e3, "ended_ms": ended and ended * 1e3, "samples": samples}


def plot(result):
    bins = {}
    for sent, us in result["samples"]:
        if us >= 0:
            at = int((sent + us / 1e6) // BIN_S)
            bins[at] = bins.get(at, 0) + 1
    for at in range(int(-0.2 / BIN_S), int(min(max(bins, default=0), AFTER_S[result["event"]] / BIN_S)) - 1):
        count = bins.get(at, 0) / BIN_S
        print(f"  {at * BIN_S:6.2f} s {count:6.0f}/s {'#' * int(count / RATE * BAR * 0.5)}")


def show(event, results):
    def spread(key):
        values = [result[key] for result in results if result[key] is not None]
        return f"{statistics.median(values):.0f} / {max(values):.0f}" if values else "-"

    print(f"{event}: {len(results)} times, median / worst: unanswered {spread('unanswered')}, only when repeated {spread('repeated')}, "
          f"longest without any answer {spread('gap_ms')} ms, slowest {spread('slowest_ms')} ms, process ended after {spread('ended_ms')} ms")
    plot(max(results, key=lambda result: (result["unanswered"], result["gap_ms"])))
    sys.stdout.flush()


def run(options, world, w, fabrics, sa):
    netfile = fabrics.generated(world, options.size)
    ids, guids = sa.hosts(netfile)
    psk = pathlib.Path(world.folder("psk")) / "psk"
    psk.write_text("00112233445566778899aabbccddeeff\n")
    psk.chmod(0o600)
    sim = w.simulator(world, netfile)
    ports = []
    for _ in range(2):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            ports.append(s.getsockname()[1])
    master, standby = (Fmd(world, sim, w, ids[at], ports[at], ports[1 - at], psk) for at in (0, 1))
    step = max(1, (len(ids) - 4) // options.hosts)
    places = [2 + i * step for i in range(options.hosts)]

    def starter(place, seconds):
        wanted = ",".join([guids[place]] + guids[2:2 + 40])
        command = [sys.executable, __file__, "--client", str(seconds), str(RATE / options.hosts), wanted]
        return lambda: subprocess.Popen(command, env={**os.environ, **sim.at(ids[place])}, stdout=subprocess.PIPE)

    master.start()
    master.wait(lambda status: status["sm"] == "master" and status["state"] == "up")
    standby.start(priority=4)
    done = []
    try:
        for event in options.events:
            results = []
            for _ in range(options.times):
                master.wait(is_ready)
                clients = [starter(place, BEFORE_S + AFTER_S[event]) for place in places]
                results.append(measure(event, master, standby, clients))
                if master.process.poll() is not None:
                    world.processes.remove(master.process)
                    master.start()
                master, standby = standby, master
            show(event, results)
            done += results
    finally:
        for it in (master, standby):
            if it.process and it.process.poll() is None:
                world.stop(it.process)
        sim.close()
    return done


def main():
    if sys.argv[1:2] == ["--client"]:
        client(float(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("FMD_BIN", "build"))
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--csv")
    parser.add_argument("events", nargs="*", default=[])
    options = parser.parse_args()
    options.events = options.events or list(AFTER_S)
    sys.dont_write_bytecode = True
    os.environ["RIG"] = "fmsim"
    import fabrics
    import sa
    import world as w
    world = w.World(os.path.abspath(options.bin))
    try:
        done = run(options, world, w, fabrics, sa)
    finally:
        world.close()
    if options.csv:
        with open(options.csv, "w") as out:
            out.write("event,run,sent_s,took_us\n")
            for number, result in enumerate(done):
                out.writelines(f"{result['event']},{number},{sent:.6f},{us}\n" for sent, us in result["samples"])


if __name__ == "__main__":
    main()
