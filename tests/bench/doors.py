#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""How much later a cut link is rerouted while a door of fmd is flooded: paired with no flood, block by block.

    doors.py [--units 2] [--blocks 6] [--cuts 10] [--flooders 4] [DOOR...]

DOORs: http (TLS handshakes, each given up), peers (the same at peer_listen), requests (of /api/v1/links), control (`links` without end), log (lines to log_socket).
In each block one link is cut CUTS times: without a flood, with the same flood at a stand-in, and with the flood at fmd's door. The stand-in is a process of the flooders' priority that
answers as often as fmd does: what it costs is the flooders' own share of the machine. A time is from the cut to fmd's event `rerouted`, by the clock of both.
Printed for each door: the medians in milliseconds, the ratios of the flooded to the quiet one and to the stand-in's, and how often the flooders had an answer.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))
os.environ.setdefault("FMD_BIN", str(ROOT / "build"))
from fabric import Fabric, free_door, own_address, program  # noqa: E402
from test_mirror import certificate  # noqa: E402
from fault import Plan  # noqa: E402

QUIET_S, PATIENCE_S = 0.25, 20
ANSWER = 250_000  # bytes, of /api/v1/links and `links`


def handshake(context, address):
    with socket.create_connection(address, timeout=5) as plain, context.wrap_socket(plain):
        pass


def http_request(context, address):
    with socket.create_connection(address, timeout=5) as plain, context.wrap_socket(plain) as it:
        it.sendall(f"GET /api/v1/links HTTP/1.1\r\nHost: {address[0]}\r\nConnection: close\r\n\r\n".encode())
        while it.recv(65536):
            pass


def unix(path, words, answers):
    with socket.socket(socket.AF_UNIX) as it:
        it.settimeout(5)
        it.connect(path)
        it.sendall(words)
        while answers and b"\n" not in it.recv(1 << 20):
            pass


def flood(kind, *where):
    """In a process of its own: prints a line when it begins, and how often when it is ended."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    address = (where[0], int(where[1])) if len(where) > 1 else None
    what = {"http": lambda: handshake(context, address), "peers": lambda: handshake(context, address),
            "requests": lambda: http_request(context, address),
            "control": lambda: unix(where[0], b'{"cmd":"links"}\n', True),
            "log": lambda: unix(where[0], b"<3>May  1 00:00:00 nobody kernel: NVRM: Xid\n" * 20, False)}[kind]
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))  # of another machine, most of them
    count, end = 0, []
    signal.signal(signal.SIGTERM, lambda *_: end.append(1))
    print("begins", flush=True)
    while not end:
        try:
            what()
            count += 1
        except OSError:
            time.sleep(0.001)
    print(count)


def stand_in(kind, where, folder, rate):
    """A door of nobody's, in a process of its own: as many answers a second as fmd gives."""
    local, period, due = kind in ("control", "log"), 1 / float(rate), 0.0
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/one.pem", f"{folder}/one.key")
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    with socket.socket(socket.AF_UNIX if local else socket.AF_INET) as door:
        door.bind(where if local else (where, 0))
        door.listen(64)
        print(where if local else door.getsockname()[1], flush=True)
        while True:
            plain = door.accept()[0]
            due = max(time.monotonic(), due + period)
            time.sleep(max(0, due - time.monotonic()))
            with contextlib.suppress(OSError), plain if local else context.wrap_socket(plain, server_side=True) as it:
                if kind not in ("http", "peers"):
                    it.recv(1 << 16)
                if kind in ("requests", "control"):
                    it.sendall(b"x" * ANSWER + b"\n")


def flooders(kind, where, many):
    """They run: what it costs to start them, at this priority, is no part of the flood."""
    command = [sys.executable, __file__, "--flood", kind, *map(str, where)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(many)]
    for it in running:
        it.stdout.readline()
    return running


def event_after(fabric, kind, began):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        time.sleep(QUIET_S)
        for row in json.loads(fabric.fmctl("--json", "events", "-n", "20").stdout):
            when = datetime.datetime.fromisoformat(row["time"].replace("Z", "+00:00")).timestamp()
            if row["kind"] == kind and when > began - 0.001:
                return (when - began) * 1000
    raise SystemExit(f"no event {kind}:\n{fabric.fmctl('events').stdout}")


def cuts(fabric, cables):
    times = []
    for cable in cables:
        began = time.time()
        fabric.console(f'Unlink "{cable.node}"[{cable.port}]')
        times.append(event_after(fabric, "rerouted", began))
        began = time.time()
        fabric.console(f'Link "{cable.node}"[{cable.port}] "{cable.peer}"[{cable.peer_port}]')
        event_after(fabric, "restored", began)
    return times


def flooded_cuts(fabric, kind, where, cables, many):
    """The times, and the answers a second that the flooders had."""
    running, began = flooders(kind, where, many), time.monotonic()
    times = cuts(fabric, cables)
    for it in running:
        os.sched_setscheduler(it.pid, os.SCHED_OTHER, os.sched_param(0))  # it has to end on a machine at work too
        it.terminate()
    answers = sum(int(it.communicate(timeout=30)[0]) for it in running)
    return times, answers / (time.monotonic() - began)


def measure(fabric, kind, where, cables, words):
    quiet, flooded, beside, rates = [], [], [], []
    for block in range(words.blocks):
        quiet += cuts(fabric, cables)
        times, rate = flooded_cuts(fabric, kind, where, cables, words.flooders)
        flooded += times
        path = where[0] if len(where) > 1 else f"{where[0]}.{block}"
        it = subprocess.Popen([sys.executable, __file__, "--stand-in", kind, path, words.scratch, str(rate)], stdout=subprocess.PIPE, text=True)
        door = it.stdout.readline().strip()
        times, other = flooded_cuts(fabric, kind, (path, door) if len(where) > 1 else (path,), cables, words.flooders)
        it.kill()
        it.wait()
        beside += times
        rates.append((rate, other))
    a, b, c = (statistics.median(times) for times in (quiet, beside, flooded))
    print(f"{kind}: quiet {a:.1f} ms, stand-in flooded {b:.1f} ms, fmd flooded {c:.1f} ms (worst {max(flooded):.0f}); to quiet {c / a:.2f}, to the stand-in {c / b:.2f}; "
          f"answers a second {statistics.mean(r[0] for r in rates):.0f}, of the stand-in {statistics.mean(r[1] for r in rates):.0f}", flush=True)


def main():
    words = argparse.ArgumentParser()
    for name, default in ("units", 2), ("blocks", 6), ("cuts", 10), ("flooders", 4):
        words.add_argument(f"--{name}", type=int, default=default)
    words.add_argument("doors", nargs="*", metavar="DOOR", default=["http", "requests", "peers", "control", "log"])
    words = words.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder, words.scratch = pathlib.Path(scratch), scratch
        net = folder / "pod.net"
        with open(net, "w") as out:
            subprocess.run([program("fmctl"), "generate", "superpod", "--su", str(words.units)], stdout=out, check=True)
        keys, web, peers = certificate(folder, "one", "ca"), (own_address(), 9810), free_door()
        log = str(folder / "log.sock")
        fabric = Fabric(folder, net, rig="fmsim", http_listen="%s:%u" % web, http_cert_file=keys["peer_cert"],
                        http_key_file=keys["peer_key"], peer_listen=peers, peers=free_door(), log_socket=log, **keys)
        where = {"http": web, "requests": web, "peers": peers.rsplit(":", 1), "control": (str(fabric.socket),), "log": (log,)}
        try:
            os.sched_setscheduler(fabric.ibsim.process.pid, os.SCHED_FIFO, os.sched_param(1))  # devices wait for no flooder
            fabric.start_fmd()
            fabric.wait_up(lambda s: s["switches"] + s["hcas"] > 0)
            cables = Plan(net).far_cables(words.cuts)
            for kind in words.doors:
                measure(fabric, kind, where[kind], cables, words)
        finally:
            fabric.stop()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--flood"]:
        flood(*sys.argv[2:])
    elif sys.argv[1:2] == ["--stand-in"]:
        stand_in(*sys.argv[2:])
    else:
        main()
