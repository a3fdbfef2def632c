#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The page in a headless Chromium, on a fabric of fmsim: what comes over the network until it is drawn, how long that takes, how soon an
event is seen, and what JavaScript's heap has grown by after as many events as an hour has at 20 a second.

    page.py [--units 64] [--tries 5] [--events 72000] [--screens FOLDER]
    page.py --hour [--units 64] [--minutes 60]
    page.py --record FILE [--units 64]
    page.py --recorded FILE [--tries 5] [--screens FOLDER]

The hour is made shorter: a proxy stands between page and fmd, hands on all documents, and sends the stream's events as fast as the page
takes them, with a status for each 40 of them, as in two seconds; meanwhile fmd's own links are cordoned and uncordoned, so that the map
changes all the time. The heap is measured after forced collections: when the page is drawn, and at the end; V8 makes no machine code
meanwhile (--jitless), for that counts as heap too: up to 0.3 MB until all of the page is compiled, after some 30,000 events, and no more.

--record keeps the documents that the page asks for until it is drawn, with a dead leaf and a cut cable; --recorded draws the page of this tree
from them, by a server of its own: what the page itself takes, without a fabric beside it.

--hour takes its time: 20 events a second by the clock, with fmd's status of that moment every two seconds, a cordon or its end every
five, and the heap measured at each quarter.
"""
import argparse
import gzip
import http.client
import http.server
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/integration"))
os.environ.setdefault("FMD_BIN", str(ROOT / "build"))
from browser import Browser  # noqa: E402
from fabric import Fabric, own_address, program  # noqa: E402
import table  # noqa: E402

UNITS, TRIES, EVENTS, A_SECOND, STATUS_EVERY = 64, 5, 72000, 20, 40
BYTES_MOST, DRAWN_MOST_S, SEEN_MOST_S, HEAP_MOST = 1 << 20, 0.4, 1, 0.05
RECORDED = ["status", "map", "events?n=40", "hosts", "nvswitch", "links?down=1&limit=400", "hosts?unhealthy=1"]
AT_A_TIME, PAUSE_S = 40, 0.04
MINUTES, QUARTERS, CORDON_EVERY_S, ASKED_EVERY_S, HEAPS = 60, 4, 5, 1, 5
DRAWN = "window.fmd && performance.getEntriesByName('drawn').length"
SEEN = """new Promise(done => { const look = () => {
  const cell = [...document.querySelectorAll('td.what')].find(cell => cell.innerText.includes(%s));
  if (!cell) return false;
  requestAnimationFrame(() => done(Date.now()));
  return true; };
  if (!look()) { const observer = new MutationObserver(() => { if (look()) observer.disconnect(); });
    observer.observe(document.body, { subtree: true, childList: true }); } })"""


def fabric_of(scratch, units):
    net = scratch / "pod.net"
    with open(net, "w") as out:
        subprocess.run([program("fmctl"), "generate", "superpod", "--su", str(units), "--system", "h100"], stdout=out, check=True)
    address = own_address()
    fabric = Fabric(scratch, net, rig="fmsim", http_listen=f"{address}:9810")
    fabric.address = address, 9810
    return fabric


# ---- Drawing, and events that are seen


def drawing(browser, address):
    """(seconds from the navigation's beginning to the first drawing, bytes that came until then)."""
    browser.open("about:blank")
    browser.call("Network.clearBrowserCache")
    browser.bytes = 0
    browser.open(address)
    browser.wait(DRAWN, "the map is drawn")
    return browser.run("performance.getEntriesByName('drawn')[0].startTime") / 1000, browser.bytes


def seen(fabric, browser, leaf, port):
    """Seconds from an event's time to the frame that shows it."""
    before = fabric.ask("events", "-n", "1")[-1]["seq"]
    fabric.ask("cordon", f"{leaf}:{port}")
    event = next(event for event in fabric.ask("events", "-n", "20") if event["seq"] > before and event["kind"] == "cordoned")
    shown = browser.run(SEEN % json.dumps(event["text"]))
    fabric.ask("uncordon", f"{leaf}:{port}")
    when = browser.run(f"Date.parse({json.dumps(event['time'])})")
    return (shown - when) / 1000


# ---- The hour


class Proxy(http.server.ThreadingHTTPServer):
    """`a_second`: events by the clock; 0 = as fast as the page takes them. A page that comes back is sent what it has not had."""
    daemon_threads = True

    def __init__(self, to, events, a_second=0):
        super().__init__(("127.0.0.1", 0), Hands)
        self.to, self.events, self.a_second = to, events, a_second
        self.frames = None  # those that are not sent yet
        self.waits = True  # for the page to be measured

    def begin(self, first):
        self.frames, self.waits = self.make_frames(first), False

    def make_frames(self, first):
        status, began = self.status(), time.monotonic()
        for n in range(self.events):
            event = {"seq": first + n, "time": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()), "level": ["warning", "notice"][n % 2],
                     "kind": ["link-down", "rerouted"][n % 2],
                     "text": f"leaf-su{n % 64 + 1:02}-rail{n % 8} p{n % 64 + 1} - spine-p{n % 16 + 1:02}-{n % 32 + 1:02} p{n % 61}: down, {n}",
                     "detected_to_programmed_ms": n / 7, "lft_entries_changed": n, "switches": n % 1280}
            if self.a_second:
                time.sleep(max(0, began + n / self.a_second - time.monotonic()))
            yield f"id: {first + n}\nevent: event\ndata: {json.dumps(event)}\n\n"
            if n % STATUS_EVERY == 0:
                status = self.status() if self.a_second else status | {"uptime_s": n // A_SECOND}
                yield f"event: status\ndata: {json.dumps(status)}\n\n"

    def status(self):
        client = http.client.HTTPConnection(*self.to, timeout=60)
        client.request("GET", "/api/v1/status")
        return json.loads(client.getresponse().read())


class Hands(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        try:
            if self.path.startswith("/api/v1/stream"):
                self.stream()
            else:
                self.hand_on()
        except OSError:  # the page has gone
            self.close_connection = True

    def ask(self, path):
        client = http.client.HTTPConnection(*self.server.to, timeout=60)
        client.request("GET", path, headers={key: self.headers[key] for key in ("Accept-Encoding", "If-None-Match") if key in self.headers})
        answer = client.getresponse()
        body = answer.read()
        client.close()
        return answer, body

    def hand_on(self):
        answer, body = self.ask(self.path)
        self.send_response(answer.status)
        for key, value in answer.headers.items():
            if key not in ("Connection", "Date", "Transfer-Encoding", "Content-Length"):
                self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self):
        """All events, once; then statuses until the page goes."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        if not self.server.waits and self.server.frames is None:
            self.server.begin(int(self.headers.get("Last-Event-ID", -1)) + 1)
        at_a_time = 1 if self.server.a_second else AT_A_TIME
        while piece := list(itertools.islice(self.server.frames or (), at_a_time)):
            self.wfile.write("".join(piece).encode())
            if not self.server.a_second:
                time.sleep(PAUSE_S)
        while True:
            self.wfile.write(f"event: status\ndata: {json.dumps(self.server.status())}\n\n".encode())
            time.sleep(2)


def disturb(fabric, leaf, over, pause_s):
    """Links of a leaf are cordoned and uncordoned until it is over."""
    port = 33
    while not over.is_set():
        for command in "cordon", "uncordon":
            fabric.fmctl(command, f"{leaf}:{port}", check=False)
            over.wait(pause_s)
        port = 33 + (port - 32) % 32


def wait_for(browser, seq):
    """Until the page has an event. It is asked seldom, and what the browser tells meanwhile is taken from it."""
    end = time.monotonic() + 2 * 3600
    while browser.run("fmd.state.events.newest") < seq:
        assert time.monotonic() < end, f"event {seq} does not come"
        time.sleep(ASKED_EVERY_S)


def heap(browser):
    """Bytes of JavaScript's heap after a collection: the least of some, for the page works on between a collection and its measure."""
    return min(browser.heap() for _ in range(HEAPS))


def hour(fabric, browser, leaf, events, by_the_clock=False):
    """([bytes of heap when the page was drawn, after each quarter], seconds that it took)."""
    proxy, over = Proxy(fabric.address, events, A_SECOND if by_the_clock else 0), threading.Event()
    pause_s = CORDON_EVERY_S if by_the_clock else 0
    threads = [threading.Thread(target=proxy.serve_forever, daemon=True), threading.Thread(target=disturb, args=(fabric, leaf, over, pause_s), daemon=True)]
    threads[0].start()
    try:
        browser.open(f"http://127.0.0.1:{proxy.server_port}/")
        browser.wait(DRAWN, "the map is drawn")
        browser.wait("fmd.state.events.newest !== null && fmd.stream.heard", "the stream goes")
        first, heaps, began = browser.run("fmd.state.events.newest"), [heap(browser)], time.monotonic()
        proxy.waits = False
        threads[1].start()
        browser.run("fmd.stream.start()")
        for quarter in range(1, QUARTERS + 1):
            wait_for(browser, first + events * quarter // QUARTERS)
            if quarter == QUARTERS:
                took = time.monotonic() - began
                over.set()
                threads[1].join()
                time.sleep(3)
            heaps.append(heap(browser))
            print(f"{events * quarter // QUARTERS:,} events, {time.monotonic() - began:.0f} s: heap {heaps[-1]:,} of {heaps[0]:,}", file=sys.stderr, flush=True)
        return heaps, took
    finally:
        over.set()
        proxy.shutdown()


# ---- Documents that were recorded


def record(file, units):
    with tempfile.TemporaryDirectory() as folder:
        fabric = fabric_of(pathlib.Path(folder), units)
        try:
            fabric.start_fmd()
            fabric.wait_up(deadline_s=300)
            leaves = [row["guid"] for row in fabric.ask("switches") if row["role"] == "leaf"]
            fabric.console(f'Unlink "S-{leaves[1][2:]}"')
            fabric.console(f'Unlink "S-{leaves[2][2:]}"[33]')
            fabric.wait(lambda s: s["hcas_cut_off"] == 32 and s["state"] == "up", "the leaf is dead", deadline_s=300)
            documents = {}
            for name in RECORDED:
                client = http.client.HTTPConnection(*fabric.address, timeout=60)
                client.request("GET", f"/api/v1/{name}")
                documents[name] = client.getresponse().read().decode()
            pathlib.Path(file).write_text(json.dumps(documents))
        finally:
            fabric.stop()


class Recorded(http.server.ThreadingHTTPServer):
    """Serves the page of this tree, and documents of `record`; what was not recorded is an empty list."""
    daemon_threads = True

    def __init__(self, file):
        super().__init__(("127.0.0.1", 0), RecordedHands)
        page = ROOT / "fm/http/page"
        self.documents = {f"/api/v1/{name}": gzip.compress(text.encode()) for name, text in json.loads(pathlib.Path(file).read_text()).items()}
        self.documents["/"] = gzip.compress(subprocess.run(["awk", "-f", page / "join.awk", page / "index.html"], capture_output=True, check=True).stdout)


class RecordedHands(Hands):
    def do_GET(self):
        body = self.server.documents.get(self.path, gzip.compress(b"[]"))
        self.send_response(200)
        if self.path.startswith("/api/v1/stream"):
            self.send_header("Connection", "close")
            self.end_headers()
            while True:  # what was recorded is all there is
                self.wfile.write(b": nothing\n\n")
                time.sleep(1)
        self.send_header("Content-Type", "text/html; charset=utf-8" if self.path == "/" else "application/json")
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def measure_recorded(file, tries, screens):
    server = Recorded(file)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder, Browser(folder, 1280, 720) as browser:
        address = f"http://127.0.0.1:{server.server_port}/"
        drawn = [drawing(browser, address) for _ in range(tries)]
        if screens:
            browser.screenshot(pathlib.Path(screens) / "bench-recorded.png")
        hcas = browser.run("fmd.state.status.hcas")
    server.shutdown()
    return {"units": None, "hcas": hcas, "drawn_s": [s for s, _ in drawn], "bytes": [b for _, b in drawn], "seen_s": [], "events": 0, "errors": browser.errors}


# ---- All of it


def measure(units, tries, events, screens=None, by_the_clock=False):
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        fabric = fabric_of(scratch, units)
        try:
            fabric.start_fmd()
            fabric.wait_up(deadline_s=300)
            leaf = fabric.ask("switches")[0]["guid"]
            with Browser(scratch, 1400, 1100) as browser:
                address = f"http://{fabric.address[0]}:{fabric.address[1]}/"
                drawn = [drawing(browser, address) for _ in range(tries)]
                if screens:
                    browser.screenshot(pathlib.Path(screens) / f"bench-su{units}.png")
                late = [seen(fabric, browser, leaf, 33 + n) for n in range(tries)]
                errors = browser.errors
            with Browser(scratch, 1400, 1100, script_flags=["--jitless"]) as browser:
                heaps, took = hour(fabric, browser, leaf, events, by_the_clock) if events else ([], 0)
                return {"units": units, "hcas": fabric.status()["hcas"], "drawn_s": [s for s, _ in drawn], "bytes": [b for _, b in drawn], "seen_s": late,
                        "heap": heaps, "events": events, "events_took_s": took, "errors": errors + browser.errors}
        finally:
            fabric.stop()


def rows(raw):
    what = f"Page, {raw['hcas']:,} HCAs: to its first drawing"
    made = [table.limit(what, statistics.median(raw["drawn_s"]), None, "s", DRAWN_MOST_S),
            table.limit(table.DETAIL + "bytes that come for it", max(raw["bytes"]), None, "", BYTES_MOST)]
    if raw["seen_s"]:
        made.append(table.limit(table.DETAIL + "an event is seen, worst", max(raw["seen_s"]), None, "s", SEEN_MOST_S))
    if raw["events"]:
        grown = max(raw["heap"][1:]) / raw["heap"][0] - 1
        made.append(table.limit(f"{table.DETAIL}heap grows by, {raw['events']:,} events", max(grown, 0), None, "", HEAP_MOST))
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--units", type=int, default=UNITS)
    parser.add_argument("--tries", type=int, default=TRIES)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--hour", action="store_true", help="events by the clock, 20 a second")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="of --hour")
    parser.add_argument("--screens")
    parser.add_argument("--record", metavar="FILE")
    parser.add_argument("--recorded", metavar="FILE")
    options = parser.parse_args()
    if options.record:
        return record(options.record, options.units)
    events = int(options.minutes * 60 * A_SECOND) if options.hour else options.events
    raw = measure_recorded(options.recorded, options.tries, options.screens) if options.recorded else measure(options.units, options.tries, events, options.screens, options.hour)
    print(json.dumps(raw))
    for row in rows(raw):
        print(" | ".join(row.cells()))
    sys.exit(any(row.met is False for row in rows(raw)))


if __name__ == "__main__":
    main()
