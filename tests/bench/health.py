# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What it costs fmd to know how the NVLinks of a cluster are: exporters of 2,048 hosts asked every 15 s, and a flood of kernel logs.

ibsim has no descriptor to wait on, so fmd under it is never quite idle: what it takes without exporters is measured first, in
the same process, and taken off. OpenSM knows nothing of NVLinks, so there is nothing to compare with.
"""
import os
import pathlib
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

import fabrics
import parts as p
import table
import world as w

HOSTS, BODY, INTERVAL_S = 2048, 527 << 10, 15
IDLE_S, MEASURED_S, LIMIT_S, PART_LIMIT_S = 5, 2 * INTERVAL_S, 120, 300
LINES_PER_S, FLOOD_S, PIECE = 10_000, 5, 50
CPU_SHARE, MEMORY_KB = 0.25, 64 << 10
HUNG_BODY, SETTLED_S, HUNG_S = 100 << 10, 4 * INTERVAL_S, 6 * INTERVAL_S
HUNG_CPU_SHARE, HUNG_MEMORY_KB, GAP = 0.10, 35 << 10, 1.2  # GAP: intervals between two requests
FAULT = "nvidia-nvswitch0: SXid (PCI:0000:85:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
NOISE = "usb 1-1: new high-speed USB device number 7 using xhci_hcd, and so on for as long as lines are"


def start_exporters(world, *arguments):
    """(process, port, its lines)"""
    process = world.start([sys.executable, os.path.join(os.path.dirname(__file__), "exporters.py"), *map(str, arguments)],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    lines = w.Lines(process.stdout)
    return process, int(lines.wait(r"listening on (\d+)", LIMIT_S)[1][1]), lines


def cpu_share(fmd, seconds):
    began, cpu = time.monotonic(), fmd.cpu_s()
    time.sleep(seconds)
    return (fmd.cpu_s() - cpu) / (time.monotonic() - began)


def resident_kb(fmd):
    return fmd.ask("status")["rss_kb"]


def ask_exporters(fmd, world, port, log_socket, answer=HOSTS):
    """By a reload, as an operator does it; until so many answer."""
    hosts = os.path.join(world.folder("hosts"), "hosts")
    with open(hosts, "w") as out:
        out.writelines(f"node-{n:04} http://127.0.0.1:{port}/node-{n:04}\n" for n in range(HOSTS))
    with open(os.path.join(fmd.dir, "fmd.conf"), "a") as out:
        out.write(f'nvswitch_hosts_file = "{hosts}";\nnvswitch_poll_interval = {INTERVAL_S}.0;\n'
                  f'log_socket = "{log_socket}";\n')
    fmd.ask("reload")
    end = time.monotonic() + LIMIT_S
    while fmd.ask("status")["nvswitch"]["sources_up"] < answer:
        if time.monotonic() > end:
            raise w.BenchError(f"not all of {answer} exporters were heard within {LIMIT_S} s")
        time.sleep(0.5)


def flood(fmd, log_socket):
    """(lines sent, lines read, faults sent, hosts with a fault), at LINES_PER_S."""
    sent, faults, began = 0, 0, time.monotonic()
    before = fmd.ask("status")["nvswitch"]["logs"]
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as out:
        out.connect(log_socket)
        while sent < LINES_PER_S * FLOOD_S:
            for _ in range(PIECE):
                faulty = sent % 250 == 0
                text = f"<3>Nov 21 01:02:03 node-{sent // 250:04} kernel: {FAULT if faulty else NOISE}"
                out.sendall(text.encode() + b"\n")
                sent, faults = sent + 1, faults + faulty
            time.sleep(max(0, began + sent / LINES_PER_S - time.monotonic()))
    took = time.monotonic() - began
    time.sleep(1)
    after = fmd.ask("status")["nvswitch"]["logs"]
    return {"lines_sent": sent, "lines_read": after["lines"] - before["lines"], "faults_sent": faults,
            "faults_read": after["events"] - before["events"], "lines_per_s": sent / took}


def measure(world):
    sim = w.Ibsim(world, fabrics.generated(world, 256))
    exporters, port, _ = start_exporters(world, BODY)
    log_socket = os.path.join(world.folder("log"), "socket")
    try:
        fmd = w.Fmd(world, sim)
        try:
            fmd.wait_up(LIMIT_S)
            idle, before = cpu_share(fmd, IDLE_S), resident_kb(fmd)
            ask_exporters(fmd, world, port, log_socket)
            share = cpu_share(fmd, MEASURED_S) - idle
            rss = resident_kb(fmd)
            began = fmd.cpu_s()
            raw = flood(fmd, log_socket)
            return {"idle_share": idle, "cpu_share": share, "rss_kb_before": before, "rss_kb": rss,
                    "flood_cpu_s": fmd.cpu_s() - began, **raw}
        finally:
            fmd.close()
    finally:
        world.stop(exporters)
        sim.close()


def measure_hung(world):
    """Half of them accept and never answer."""
    sim = w.Ibsim(world, fabrics.generated(world, 256))
    exporters, port, lines = start_exporters(world, HUNG_BODY, SETTLED_S)
    try:
        fmd = w.Fmd(world, sim)
        try:
            fmd.wait_up(LIMIT_S)
            idle, before = cpu_share(fmd, IDLE_S), resident_kb(fmd)
            ask_exporters(fmd, world, port, os.path.join(world.folder("log"), "socket"), HOSTS // 2)
            time.sleep(SETTLED_S)
            share, unknown = cpu_share(fmd, HUNG_S - INTERVAL_S) - idle, 0
            for host in fmd.ask("nvswitch")["hosts"]:
                hangs = int(host["host"][-1]) % 2 if host["host"].startswith("node-") else True
                unknown += host["state"] == "UNKNOWN" and not hangs
            gap = float(lines.lines[-1][1].split()[-1])
            return {"idle_share": idle, "cpu_share": share, "rss_kb_before": before, "rss_kb": resident_kb(fmd), "unknown": unknown,
                    "longest_gap_s": gap}
        finally:
            fmd.close()
    finally:
        world.stop(exporters)
        sim.close()


def hung(world):
    raw = measure_hung(world)
    what = f"NVLink health: half of {HOSTS:,} exporters hang"
    return [
        table.limit(f"{what}, intervals between two requests to another", raw["longest_gap_s"] / INTERVAL_S, None, "", GAP),
        table.limit(table.DETAIL + "of the others UNKNOWN", raw["unknown"], None, "", 0),
        table.limit(table.DETAIL + "share of a core", raw["cpu_share"], None, "", HUNG_CPU_SHARE),
        table.limit(table.DETAIL + "memory for it", raw["rss_kb"] - raw["rss_kb_before"], None, "KB", HUNG_MEMORY_KB)], raw


def rows(raw):
    what = f"NVLink health: {HOSTS:,} exporters of {BODY >> 10} KiB asked every {INTERVAL_S} s"
    lost = raw["faults_sent"] - raw["faults_read"]
    return table.readme(table.limit(f"{what}, share of a core", raw["cpu_share"], None, "", CPU_SHARE),
                        table.limit(table.DETAIL + "memory for it", raw["rss_kb"] - raw["rss_kb_before"], None, "KB", MEMORY_KB),
                        table.limit(f"{table.DETAIL}faults lost in {raw['lines_per_s']:,.0f} lines/s of logs", lost, None, "", 0))


def whole(world):
    raw = measure(world)
    return rows(raw), raw


def parts(world, options):
    return [p.Part(f"NVLink health: {HOSTS:,} exporters", PART_LIMIT_S, lambda: whole(world)),
            p.Part(f"NVLink health: half of {HOSTS:,} exporters hang", PART_LIMIT_S, lambda: hung(world))]
