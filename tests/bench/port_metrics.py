#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What a scrape of /metrics/ports costs: series and bytes, seconds on the clock, fmd's own seconds of work, and the longest hold of its loop.

    port_metrics.py [--units 32] [--scrapes 10] [--ports switches|all] [--counters essential|all] [--prometheus 600]

Counters of all ports are read once before, with --prometheus each minute and under a load. The hold is fmd's own figure (loop_longest_us of the last
10 to 20 s); on a busy machine it has in it what others took.

--prometheus: a real one, set up by etc/prometheus/fmd-scrape.yml and with the rules of fmd, scrapes for so many seconds; its memory is printed each
half minute, and the most that it had. It is build/tools/prometheus (`make promtool`).
"""
import argparse
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))
os.environ.setdefault("FMD_BIN", str(ROOT / "build"))
from fabric import Fabric, own_address, program  # noqa: E402


def work_s(process):
    """User and system seconds of a process."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def scrape(address):
    """(seconds, bytes): by a client that does nothing but take them."""
    room, size, began = bytearray(1 << 20), 0, time.monotonic()
    with socket.create_connection((address, 9810)) as client:
        client.sendall(f"GET /metrics/ports HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n".encode())
        while taken := client.recv_into(room):
            size += taken
    return time.monotonic() - began, size


def run_prometheus(scratch, address, seconds):
    config = (ROOT / "etc/prometheus/fmd-scrape.yml").read_text().replace("127.0.0.1:9810", f"{address}:9810")
    (scratch / "prometheus.yml").write_text(f"rule_files: [{ROOT}/etc/prometheus/fmd-rules.yml]\n{config}")
    with open(scratch / "prometheus.log", "w") as log:
        server = subprocess.Popen([ROOT / "build/tools/prometheus", f"--config.file={scratch}/prometheus.yml", f"--storage.tsdb.path={scratch}/data",
                                   f"--web.listen-address={address}:9090", "--log.level=warn"], stdout=log, stderr=log)
    try:
        for second in range(30, seconds + 1, 30):
            time.sleep(30)
            sizes = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{server.pid}/status").read_text().splitlines() if line.startswith("Vm"))
            series = urllib.request.urlopen(f"http://{address}:9090/metrics").read().decode().split("\nprometheus_tsdb_head_series ")[1].split("\n")[0]
            now, most = (int(sizes[name].split()[0]) * 1024 / 1e6 for name in ("VmRSS", "VmHWM"))
            print(f"prometheus: {second} s: {float(series):.0f} series, {now:.0f} MB, at most {most:.0f} MB", flush=True)
    finally:
        server.terminate()
        server.wait()


def count_series(address):
    with urllib.request.urlopen(f"http://{address}:9810/metrics/ports", timeout=120) as answer:
        return sum(not line.startswith(b"#") for line in answer)


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--units", type=int, default=32)
    words.add_argument("--scrapes", type=int, default=10)
    words.add_argument("--ports", default="switches")
    words.add_argument("--counters", default="essential")
    words.add_argument("--prometheus", type=int, default=0)
    words = words.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        net, address = pathlib.Path(scratch) / "pod.net", own_address()
        with open(net, "w") as out:
            subprocess.run([program("fmctl"), "generate", "superpod", "--su", str(words.units)], stdout=out, check=True)
        fabric = Fabric(scratch, net, rig="fmsim", http_listen=f"{address}:9810", perf_interval=60 if words.prometheus else 0, port_metrics=words.ports, port_metrics_counters=words.counters)
        try:
            fabric.start_fmd()
            fabric.wait_up(lambda s: s["switches"] + s["hcas"] > 0)
            if words.prometheus:
                fabric.ibsim.tell("load shift 33 60%")
            fabric.fmctl("health", "--read")
            series = count_series(address)
            began = work_s(fabric.fmd)
            times, sizes = zip(*[scrape(address) for _ in range(words.scrapes)])
            work = (work_s(fabric.fmd) - began) / words.scrapes
            status = fabric.status()
            if words.prometheus:
                run_prometheus(pathlib.Path(scratch), address, words.prometheus)
        finally:
            fabric.stop()
    print(f"{status['health']['ports_read']} ports read, {series} series, {sizes[0] / 1e6:.1f} MB")
    print(f"a scrape: median {1e3 * statistics.median(times):.0f} ms, worst {1e3 * max(times):.0f} ms; work of fmd {1e3 * work:.0f} ms; "
          f"longest hold of the loop {status['loop_longest_us'] / 1e3:.1f} ms ({status['loop_longest_step']})")


main()
