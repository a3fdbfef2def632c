# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""NVLink health from real sources: exporters over HTTP and HTTPS, kernel logs, operators, and the hook."""
import os
import re
import signal
import socket
import stat
import subprocess
import time

import pytest

import exporter
from exporter import Exporters, body
from fabric import ROOT, Fabric, poll, tail, until

HOSTS = [f"dgx-su01-{number:02}" for number in range(1, 33 if os.environ.get("LONG") else 10)]
SICK, OTHER = "dgx-su01-05", "dgx-su01-06"
QUICK = {"nvswitch_poll_interval": 0.5,  # all exporters in one process of Python: who is late for three of these is UNKNOWN
         "nvswitch_worsen_hold": 0, "nvswitch_recover_hold": 0,
         "nvswitch_timeout": 30,  # on a busy machine an answer may take its time
         "nvswitch_second_source": "never"}
LINE = "nvidia-nvswitch{switch}: SXid (PCI:0000:85:00.0): {number}, Fatal, Link {link:02} LTSSM Fault Up"


class World:
    """A scalable unit, exporters of HOSTS, fmd that asks them, and a socket for kernel logs."""

    def __init__(self, scratch, net, **conf):
        self.exporters = Exporters(HOSTS, conf.pop("certificate", None))
        self.log_socket = scratch / "log.sock"
        keys = {"nvswitch_hosts_file": self.exporters.write_hosts(scratch / "hosts"),
                "log_socket": str(self.log_socket), **QUICK, **conf}
        self.fabric = Fabric(scratch, net, **keys)
        self.fabric.start_fmd("H-0002c90380000100")
        self.fabric.wait_up()
        self.whole = self.fabric.tables()  # those of hosts that are well, or not heard of yet

    def row(self, host):
        return self.fabric.ask("nvswitch", host)

    def wait_state(self, host, state):
        try:
            poll(lambda: self.row(host)["state"] == state, f"{host} is {state}")
        except AssertionError as late:
            raise AssertionError(f"{late}; it is {self.row(host)}") from None

    def wait_well(self):
        """All hosts, and the tables are those of hosts that are well: routing follows the states a little later."""
        self.fabric.wait_up(lambda s: s["nvswitch"]["states"]["HEALTHY"] == len(HOSTS) and self.fabric.tables() == self.whole,
                            "all hosts are well")

    def send(self, host, text):
        with self.collector() as out:
            out.sendall(f"<3>Nov 21 01:02:03 {host} kernel: {text}\n".encode())

    def collector(self):
        out = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        out.connect(str(self.log_socket))
        return out

    def log_lines(self, word, behind=0):
        """Those behind so many characters."""
        return [line for line in self.fabric.log.read_text(errors="replace")[behind:].splitlines() if word in line]

    def stop(self):
        self.fabric.stop()
        self.exporters.stop()


@pytest.fixture(scope="module")
def world(pod_net, tmp_path_factory):
    it = World(tmp_path_factory.mktemp("nvswitch"), pod_net)
    yield it
    it.stop()


@pytest.fixture(autouse=True)
def all_well(request):
    """Each test begins and ends with a fabric whose hosts are all well."""
    if "world" not in request.fixturenames:
        yield
        return
    it = request.getfixturevalue("world")
    it.wait_well()
    yield
    for host in HOSTS:
        it.exporters.say(host, body(host))
        if it.row(host)["evidence"] or it.row(host)["override"]:
            it.fabric.fmctl("nvswitch", "clear", host)
    it.wait_well()


# ---- Exporters


def test_hosts_that_are_well_are_shown_with_their_system(world):
    def well():
        """On a busy machine an exporter is late now and then."""
        shown = world.fabric.fmctl("nvswitch").stdout
        assert re.match(r"{0} HEALTHY(, \d+ UNKNOWN)?; {0} of {0} sources up".format(len(HOSTS)), shown)
        assert len(re.findall(r"dgx-su01-\d\d +h100 +HEALTHY +HEALTHY", shown)) == len(HOSTS)

    until(well)


def test_a_lost_peer_moves_no_entry_and_the_rates_are_said(world):
    before = world.fabric.tables()
    world.exporters.say(SICK, body(SICK, lost={2: [0], 0: [2]}))
    world.wait_state(SICK, "NO_P2P")
    row = world.row(SICK)
    assert row["evidence"][0]["text"].startswith("GPU") and row["evidence"][0]["source"] == world.exporters.url(SICK)
    events = [e for e in world.fabric.ask("events", "-n", "200") if e["kind"] == "nvswitch" and e["host"] == SICK]
    assert events[-1]["state"] == "NO_P2P"
    poll(lambda: [e for e in world.fabric.ask("events", "-n", "200") if e["kind"] == "nvswitch-rates" and e["host"] == SICK
                  and "routing kept: 8.00 of 8 as it is" in e["text"]], "its rates are said")
    assert world.fabric.tables() == before
    world.exporters.say(SICK, body(SICK))
    world.wait_state(SICK, "HEALTHY")


SAID = [
    (body(SICK, lost={1: [3]}, old=True), "NO_P2P"),
    pytest.param(body(SICK) + body(SICK, lost={7: [6]}) + body(SICK), "NO_P2P", marks=pytest.mark.long),
    pytest.param(body(SICK, links=30), "DEGRADED_LINK", marks=pytest.mark.long),
    (body(SICK, extra='DCGM_FI_DEV_NVSWITCH_RESET_REQUIRED{nvswitch="nvswitch2"} 1\n'), "FATAL"),
    pytest.param(body(SICK, lost={0: [1]}, padding=400000), "NO_P2P", marks=pytest.mark.long),
]


@pytest.mark.parametrize("text,state", SAID, ids=["old names", "duplicates", "absent links", "a dead switch", "400 KB"])
def test_what_exporters_say_makes_the_state(world, text, state):
    world.exporters.say(SICK, text)
    world.wait_state(SICK, state)


def test_a_chunked_answer_is_read_like_another(world):
    world.exporters.behave(SICK, exporter.chunked(body(SICK, lost={0: [1]}, padding=300000)))
    world.wait_state(SICK, "NO_P2P")


BAD = [exporter.endless, exporter.endless_chunk, exporter.long_line, exporter.binary, exporter.drip, exporter.mute,
       exporter.redirect, exporter.failing, exporter.cut_off, exporter.ends_within_a_line, exporter.no_http,
       exporter.huge_header, exporter.hang_up, exporter.says(""), exporter.says("some_metric 1\n"),
       exporter.says(body(OTHER, lost={0: [1]}))]


ENDLESS = [exporter.endless, exporter.endless_chunk, exporter.drip]
TOLD = {"HTTP 302: redirects are followed within a host only", "HTTP 500", f"it reports another host, {OTHER}", "a line is too long",
        "it reports nothing about NVLinks"}


def wait_told(world, sick):
    """Each of these errors is told one time or another."""
    told = set()

    def all_told():
        told.update(world.row(host)["sources"][0]["error"] for host in sick)
        assert TOLD <= told

    until(all_told)


@pytest.fixture
def impatient(world):
    """For exporters whose answer never ends; others may be late by it now and then."""
    reconfigure(world, nvswitch_timeout=1)
    yield
    reconfigure(world, nvswitch_timeout=QUICK["nvswitch_timeout"])


@pytest.mark.long
def test_bad_exporters_make_their_hosts_unknown_and_change_nothing(world, impatient):
    before, rss = world.fabric.tables(), world.fabric.status()["rss_kb"]
    sick = HOSTS[10:10 + len(BAD)]
    for host, behaviour in zip(sick, BAD):
        world.exporters.behave(host, behaviour)
    for host in sick:
        world.wait_state(host, "UNKNOWN")
        poll(lambda: not world.row(host)["sources"][0]["up"], f"{host}'s exporter is known to fail")
    asked, said = world.exporters.asked.copy(), len(world.fabric.log.read_text(errors="replace"))
    poll(lambda: all(world.exporters.asked[h] > asked[h] + 3 for h in HOSTS), "they are asked on and on")
    for host in sick:
        assert world.row(host)["state"] == "UNKNOWN"
        again = world.log_lines(f"nvswitch: {host}: ", said) + world.log_lines(f" {host}: http", said)  # the verdict on the host comes behind
        assert again == [], "what is known is not told again"
    for host in set(HOSTS) - set(sick):
        world.wait_state(host, "HEALTHY")
    assert world.fabric.tables() == before
    assert world.fabric.status()["rss_kb"] - rss < 65536
    # Those that send without end leave the others little of a second.
    for host in (host for host, behaviour in zip(sick, BAD) if behaviour in ENDLESS):
        world.exporters.say(host, body(host))
    reconfigure(world, nvswitch_timeout=QUICK["nvswitch_timeout"])
    wait_told(world, sick)
    for host in sick:
        world.exporters.say(host, body(host))
    for host in sick:
        world.wait_state(host, "HEALTHY")


def all_alerts(world, *whats):
    assert set(whats) <= {alert["what"] for alert in world.fabric.status()["alerts"]}


GUARD_HOLD_S = 4  # more than it takes to hear all hosts once


@pytest.mark.long
def test_too_many_at_once_are_all_shown_and_move_nothing(world):
    before = world.fabric.tables()
    reconfigure(world, nvswitch_worsen_hold=GUARD_HOLD_S)
    for host in HOSTS[:20]:
        world.exporters.say(host, body(host, lost={0: [1]}))
    poll(lambda: world.fabric.status()["nvswitch"]["guarded"], "the guard is up")
    asked, over = world.exporters.asked.copy(), time.monotonic() + GUARD_HOLD_S
    poll(lambda: time.monotonic() > over and all(world.exporters.asked[h] > asked[h] + 8 for h in HOSTS), "the hold-down is over")
    poll(lambda: world.fabric.status()["nvswitch"]["states"]["NO_P2P"] == 20, "all of them are shown")
    until(lambda: all_alerts(world, "nvswitch-guard", "hosts-no-p2p"))
    assert world.fabric.tables() == before
    for host in HOSTS[:20]:
        world.exporters.say(host, body(host))
    poll(lambda: not world.fabric.status()["nvswitch"]["guarded"], "the guard is down")
    reconfigure(world, nvswitch_worsen_hold=0)


def conf_of(fabric):
    """Keys as they are in the file, but for those that Fabric writes itself."""
    found = re.findall(r"^(\w+) = (.*);$", fabric.conf.read_text(), re.M)
    keys = {key: value.strip('"') if value.startswith('"') else float(value) for key, value in found}
    return {key: value for key, value in keys.items() if key not in ("state_dir", "socket")}


def reconfigure(world, **keys):
    world.fabric.write_conf(**{**conf_of(world.fabric), **keys})
    world.fabric.fmctl("reload")


# ---- Kernel logs


def test_lines_by_the_socket_reach_the_host(world):
    world.send(SICK, LINE.format(switch=2, number=20034, link=30))
    world.wait_state(SICK, "NO_P2P")
    evidence = world.row(SICK)["evidence"][0]
    assert (evidence["code"], evidence["switch"], evidence["link"], evidence["source"]) == (20034, 2, 30, "kernel log")
    message = f"<3>1 2024-07-23T07:53:55Z {OTHER}.cluster.example kernel - - - " + LINE.format(switch=1, number=12020, link=3)
    with world.collector() as out:
        out.sendall(f"{message}\n".encode())
        world.wait_state(OTHER, "FATAL")
        out.sendall(f"<3>Nov 21 01:02:03 {HOSTS[8]} kernel: NVRM: Xid (PCI:0000:91:00): 79, pid=1, off the bus\n".encode())
        world.wait_state(HOSTS[8], "NO_P2P")
    with world.collector() as out:  # of this machine, which is none of the fabric
        out.sendall(("<3>kernel: " + LINE.format(switch=0, number=20034, link=1) + "\n").encode())
    poll(lambda: world.fabric.status()["nvswitch"]["logs"]["strangers"] > 0, "the line of this machine is counted")


@pytest.mark.long
def test_a_flood_loses_no_fault_and_strangers_leave_no_trace(world):
    before, began = world.fabric.status()["nvswitch"], time.monotonic()
    said = len(world.fabric.log.read_text(errors="replace"))
    noise = "usb 1-1: new high-speed USB device number 7 using xhci_hcd " * 2
    faulty = HOSTS[::8]  # fewer than the guard minds

    def taken():
        return world.fabric.status()["nvswitch"]["logs"]["lines"] - before["logs"]["lines"]

    with world.collector() as out:
        for index in range(12000):
            host = faulty[index // 3000] if index % 3000 == 1500 else f"forged-{index}"
            text = LINE.format(switch=0, number=20034, link=index % 64) if index % 2 == 0 else noise
            out.sendall(f"<3>Nov 21 01:02:03 {host} kernel: {text}\n".encode())
    for host in faulty:
        world.wait_state(host, "NO_P2P")
    poll(lambda: taken() == 12000, "every line is taken")
    assert sum(world.fabric.status()["nvswitch"]["states"].values()) == len(HOSTS)
    assert len(world.log_lines("not in the fabric", said)) <= 2 + time.monotonic() - began  # one a second


# ---- Operators


def test_an_operators_word_stands_until_it_is_taken_back_and_over_a_restart(world):
    before = world.fabric.tables()
    said = world.fabric.fmctl("nvswitch", "set", SICK, "NO_P2P").stdout
    assert SICK in said and world.row(SICK)["override"] == "NO_P2P"
    world.fabric.stop_fmd()
    world.fabric.start_fmd("H-0002c90380000100")
    world.fabric.wait_up()
    assert world.fabric.tables() == before and world.row(SICK)["override"] == "NO_P2P"
    world.fabric.fmctl("nvswitch", "set", SICK, "clear")
    refused = world.fabric.fmctl("nvswitch", "set", "moon", "FATAL", check=False)
    assert refused.returncode == 1 and "moon" in refused.stderr
    assert world.fabric.fmctl("nvswitch", "set", SICK, check=False).returncode == 2


@pytest.mark.long
def test_a_restart_forgets_no_event_and_heals_nothing(world):
    world.send(SICK, "NVRM: Xid (PCI:0000:34:00): 79, pid=1, name=x, GPU has fallen off the bus.")
    world.wait_state(SICK, "NO_P2P")
    world.fabric.stop_fmd()
    assert any("code=79" in value for value in world.fabric.rows("nvlink").values())
    world.fabric.start_fmd("H-0002c90380000100")
    world.fabric.wait_up()
    asked = world.exporters.asked.copy()
    poll(lambda: world.exporters.asked[SICK] > asked[SICK] + 3, "its exporter says that all is well")
    row = world.row(SICK)
    assert row["state"] == "NO_P2P" and row["evidence"][0]["kind"] == "event" and row["evidence"][0]["remedy"] == "reboot"
    assert "ends when   a reset or boot is seen" in world.fabric.fmctl("nvswitch", SICK).stdout
    world.send(SICK, "nvidia-nvlink: Nvlink Core is being initialized, major device number 234")
    world.wait_state(SICK, "HEALTHY")


def test_nvlink_domains_are_blocks(world):
    label = 'DCGM_FI_DEV_GPU_TEMP{{gpu="0",DCGM_FI_DEV_FABRIC_CLUSTER_UUID="0cf3c1a2-7d1a-4f0b-9c55-2f5dc1a7e001"}} 40\n' \
            'DCGM_FI_DEV_FABRIC_CLIQUE_ID{{gpu="0"}} {}\n'
    for n, host in enumerate(HOSTS[:4]):
        world.exporters.say(host, body(host, extra=label.format(n // 3)))
    poll(lambda: len(world.fabric.ask("nvswitch", "blocks")) == 2 and
         len(world.fabric.ask("nvswitch", "blocks")[0]["hosts"]) == 3, "two domains are known")
    assert world.fabric.fmctl("nvswitch", "blocks").stdout.splitlines() == [
        "BlockName=nvl-0cf3c1a2-0 Nodes=dgx-su01-[01-03]", "BlockName=nvl-0cf3c1a2-1 Nodes=dgx-su01-04", "BlockSizes=1"]
    domains = [f"NVLink domain 0cf3c1a2-7d1a-4f0b-9c55-2f5dc1a7e001, clique {clique}: {' '.join(hosts)}"
               for clique, hosts in enumerate((HOSTS[:3], HOSTS[3:4]))]
    assert [line for line in world.fabric.fmctl("nvswitch").stdout.splitlines() if "domain" in line] == domains
    assert "domain" not in world.fabric.fmctl("nvswitch", "logs").stdout


# ---- TLS


def make_certificate(folder, name):
    """A self-signed one for 127.0.0.1: it is its own CA."""
    path = folder / f"{name}.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key", "-out", folder / "cert"],
                   check=True, capture_output=True)
    path.write_text((folder / "key").read_text() + (folder / "cert").read_text())
    return path


@pytest.mark.long
def test_https_believes_the_pinned_authority_and_no_other(pod_net, tmp_path):
    good, other = make_certificate(tmp_path, "good"), make_certificate(tmp_path, "other")
    it = World(tmp_path, pod_net, certificate=good, nvswitch_ca_file=str(good))
    try:
        it.wait_state(SICK, "HEALTHY")
        it.fabric.write_conf(**{**conf_of(it.fabric), "nvswitch_ca_file": str(other)})
        it.fabric.fmctl("reload")
        it.wait_state(SICK, "UNKNOWN")
        poll(lambda: "certificate" in (it.row(SICK)["sources"][0]["error"] or ""), "the certificate is refused")
    finally:
        it.stop()


def test_one_prometheus_behind_a_token_serves_all_hosts(pod_net, tmp_path):
    exporters = Exporters(HOSTS)
    exporters.token = "secret"
    exporters.say(SICK, body(SICK, lost={0: [1]}, extra='DCGM_FI_DEV_GPU_TEMP{gpu="0"} 40 1781993954087\n'))
    (tmp_path / "credentials").write_text("bearer secret\n")
    fabric = Fabric(tmp_path, pod_net, prometheus_url=f"http://127.0.0.1:{exporters.server.server_port}", prometheus_label="hostname",
                    nvswitch_credentials_file=str(tmp_path / "credentials"), **QUICK)
    try:
        fabric.start_fmd("H-0002c90380000100")
        fabric.wait_up(lambda s: s["nvswitch"]["states"]["HEALTHY"] == len(HOSTS) - 1 and s["nvswitch"]["states"]["NO_P2P"] == 1,
                       "Prometheus tells of all hosts")
        assert exporters.label == "hostname" and exporters.asked[SICK]
        exporters.token = "another"
        poll(lambda: fabric.ask("nvswitch", SICK)["sources"][0]["error"] == "HTTP 401", "a wrong token is told")
    finally:
        fabric.stop()
        exporters.stop()


# ---- The hook


FAKE_SCONTROL = """#!/bin/sh
# One node's state and reason in a file, as slurmctld keeps them.
echo "$*" >>"$(dirname "$0")/calls"
node=$(echo "$*" | sed -n 's/.*[nN]ode[nN]ame=\\([^ ]*\\).*/\\1/p'); [ -n "$node" ] || node=$4
file="$(dirname "$0")/node-$node"
case "$*" in
*state=drain*) echo "State=IDLE+DRAIN Reason=$(echo "$*" | sed 's/.*reason=//')" >"$file" ;;
*state=resume*) echo "State=IDLE Reason=" >"$file" ;;
*show*) cat "$file" 2>/dev/null || echo "State=IDLE Reason=" ;;
esac
"""


def test_the_slurm_hook_drains_and_resumes_only_what_it_drained(pod_net, tmp_path):
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(FAKE_SCONTROL)
    scontrol.chmod(scontrol.stat().st_mode | stat.S_IXUSR)
    hook = tmp_path / "hook"  # fmd gives it a PATH; scontrol is here
    hook.write_text(f'#!/bin/sh\nPATH={tmp_path}:$PATH exec {ROOT}/etc/hooks/slurm-drain\n')
    hook.chmod(0o755)
    (tmp_path / f"node-{OTHER}").write_text("State=IDLE+DRAIN Reason=bad fan\n")
    it = World(tmp_path, pod_net, nvswitch_hook=str(hook))
    calls = tmp_path / "calls"
    try:
        it.wait_state(SICK, "HEALTHY")
        for host in (SICK, OTHER):
            it.fabric.fmctl("nvswitch", "set", host, "FATAL")
        poll(lambda: calls.exists() and f"nodename={SICK} state=drain" in calls.read_text(), "the sick host is drained")
        poll(lambda: "show node " + OTHER in calls.read_text(), "the other was looked at")
        for host in (SICK, OTHER):
            it.fabric.fmctl("nvswitch", "clear", host)
        poll(lambda: f"nodename={SICK} state=resume" in calls.read_text(), "it is resumed")
        poll(lambda: calls.read_text().count("show node " + OTHER) >= 2, "the other was looked at again")
        assert f"nodename={OTHER}" not in calls.read_text()
        assert "bad fan" in (tmp_path / f"node-{OTHER}").read_text()
    finally:
        it.stop()


@pytest.mark.long
def test_what_slurm_was_down_for_is_done_once_it_is_back_though_fmd_was_killed(pod_net, tmp_path):
    (tmp_path / "real").write_text(FAKE_SCONTROL.replace("$0", f"{tmp_path}/scontrol"))
    scontrol, hook, calls = tmp_path / "scontrol", tmp_path / "hook", tmp_path / "calls"
    scontrol.write_text(f'#!/bin/sh\n[ -e {tmp_path}/up ] || {{ echo x >>{tmp_path}/refused; exit 1; }}\nexec sh {tmp_path}/real "$@"\n')
    hook.write_text(f'#!/bin/sh\nPATH={tmp_path}:$PATH exec {ROOT}/etc/hooks/slurm-drain\n')
    for path in (scontrol, hook):
        path.chmod(0o755)
    it = World(tmp_path, pod_net, nvswitch_hook=str(hook))

    def change(said):
        """.. of a host that slurmctld hears nothing of, while fmd is killed."""
        before = refused()
        it.exporters.say(SICK, said)
        poll(lambda: refused() > before, "the hook has failed")
        it.fabric.stop_fmd(signal.SIGKILL)
        it.fabric.start_fmd()
        it.fabric.wait_up()
        poll(lambda: refused() > before + 1, "it has failed again")
        (tmp_path / "up").touch()

    def refused():
        return len((tmp_path / "refused").read_text().split()) if (tmp_path / "refused").exists() else 0

    try:
        it.wait_state(SICK, "HEALTHY")
        change(body(lost={2: [0], 0: [2]}))
        poll(lambda: calls.exists() and f"nodename={SICK} state=drain" in calls.read_text(), "it is drained")
        (tmp_path / "up").unlink()
        change(body())
        poll(lambda: f"nodename={SICK} state=resume" in calls.read_text(), "it is resumed")
        assert calls.read_text().count("state=drain") == 1
    finally:
        it.stop()


@pytest.mark.long
def test_a_hook_that_hangs_is_killed_and_holds_nothing_up(pod_net, tmp_path):
    hook = tmp_path / "hook"
    hook.write_text(f'#!/bin/sh\necho "$FMD_HOST $FMD_OLD_STATE $FMD_STATE $FMD_REASON" >>{tmp_path}/ran\nsleep 600\n')
    hook.chmod(0o755)
    it = World(tmp_path, pod_net, nvswitch_hook=str(hook), nvswitch_hook_timeout=6.0)
    try:
        it.wait_state(SICK, "HEALTHY")
        for host in HOSTS[:8]:
            it.fabric.fmctl("nvswitch", "set", host, "NO_P2P")
        poll(lambda: len(it.log_lines("took too long and was killed")) >= 8, "eight were killed")
        ran = [line for line in (tmp_path / "ran").read_text().splitlines() if "NO_P2P" in line]
        assert sorted(line.split()[0] for line in ran) == HOSTS[:8]
        assert all(line.endswith("NO_P2P manual override") for line in ran)
    finally:
        it.stop()


def test_the_hook_is_told_which_gpu_and_whether_jobs_run(pod_net, tmp_path):
    hook = tmp_path / "hook"
    hook.write_text(f'#!/bin/sh\nfile="{tmp_path}/$FMD_HOST-$FMD_STATE"\nenv >"$file.new" && mv "$file.new" "$file"\n')
    ill, well = tmp_path / f"{SICK}-NO_P2P", tmp_path / f"{SICK}-HEALTHY"
    hook.chmod(0o755)
    it = World(tmp_path, pod_net, nvswitch_hook=str(hook))
    try:
        it.wait_state(SICK, "HEALTHY")
        it.exporters.say(SICK, body(SICK, lost={2: [0]}))
        poll(ill.exists, "the hook has run")
        said = ill.read_text()
        assert "FMD_GPU=2\n" in said and "FMD_JOBS=no\n" in said and "FMD_ACTION=" in said and "FMD_PCI=" in said
        assert re.search(r"FMD_EVIDENCE=NO_P2P: GPU 2: .*127\.0\.0\.1", said)
        well.unlink(missing_ok=True)  # of the beginning
        it.exporters.say(SICK, body(SICK))
        poll(well.exists, "the hook has run again")
        assert "FMD_JOBS=yes\n" in well.read_text()
    finally:
        it.stop()


def test_what_can_not_be_used_is_told_and_fmd_goes_on(start, pod_net, tmp_path):
    hosts, journal = tmp_path / "none", tmp_path / "journal"
    fabric = start(pod_net, host="H-0002c90380000100", nvswitch_hosts_file=str(hosts), retry_interval=0.1)
    assert f"NOT OPEN: exporters: {hosts}: No such file" in fabric.fmctl("nvswitch").stdout
    fabric.write_conf(nvswitch_hosts_file=str(hosts), log_journal=str(journal), retry_interval=0.1)
    fabric.fmctl("reload")
    assert "kept: " + str(journal) in tail(fabric.log)
    fabric.wait_up()
    assert [trouble["what"] for trouble in fabric.status()["troubles"]] == ["nvswitch: exporters"]
    hosts.write_text("")
    poll(lambda: not fabric.status()["troubles"], "the list of hosts is read")


def test_libcurl_is_loaded_for_exporters_alone_also_within_the_sandbox(start, pod_net, tmp_path, monkeypatch):
    certificate, library = make_certificate(tmp_path, "good"), tmp_path / "libcurl.so.4"
    library.touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    exporters = Exporters(HOSTS, certificate)
    try:
        keys = {"nvswitch_hosts_file": exporters.write_hosts(tmp_path / "hosts"), "nvswitch_ca_file": str(certificate),
                "retry_interval": 0.1, **QUICK}
        fabric = start(pod_net, host="H-0002c90380000100")
        fabric.write_conf(**keys)
        fabric.fmctl("reload")
        assert f"kept: nvswitch_hosts_file: {library}: file too short" in tail(fabric.log)
        assert "exporters" not in fabric.fmctl("nvswitch").stdout
        library.unlink()
        fabric.fmctl("reload")
        healthy = [lambda s: s["nvswitch"]["states"]["HEALTHY"] == len(HOSTS) and not s["troubles"], "the exporters are asked"]
        fabric.wait(*healthy)
        library.touch()
        fabric.stop_fmd()
        fabric.start_fmd("H-0002c90380000100")
        fabric.wait(lambda s: [f"nvswitch_hosts_file: {library}: file too short"] == [t["error"] for t in s["troubles"]], "it is told")
        library.unlink()
        fabric.wait(*healthy)
    finally:
        exporters.stop()
