# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What operators do to a fabric that runs: cordons, what-if, the audit, cabling, events as they come."""
import fcntl
import json
import os
import pathlib
import pty
import random
import re
import shlex
import struct
import subprocess
import termios

import pytest

from fabric import DEADLINE_S, poll, program

LEAF, SPINE = "leaf-su01-rail0", "spine-01"


def entries_through(fabric, spine):
    """Entries for adapters in the simulator's leaf tables that lead to the spine, but for the aggregation node behind it."""
    ports, tables = fabric.simulated_tables()
    adapters = {port["lid"] for (node, _), port in ports.items()
                if node.startswith("H-") and port["lid"] and (port["peer"] or ("",))[0] != spine}
    return sum(1 for switch, table in tables.items() for lid, out in table.items()
               if lid in adapters and (ports.get((switch, out), {}).get("peer") or ("",))[0] == spine)


def guid_of(fabric, name):
    return next(node["guid"] for node in fabric.ask("switches") if node["name"] == name)


# ---- Cordons

def test_cordon_empties_a_spine_and_uncordon_fills_it_again(start, pod_net):
    fabric = start(pod_net)
    spine = "S-" + guid_of(fabric, SPINE)[2:]
    before = fabric.tables()
    assert entries_through(fabric, spine) > 0
    done = fabric.ask("cordon", SPINE)
    assert (done["what"], done["unreachable"]) == (SPINE, 0)
    assert done["lft_entries_changed"] > 0 and done["lft_blocks_written"] > 0 and done["ports"] == 64
    assert entries_through(fabric, spine) == 0
    assert fabric.pairs_reached() == (256 * 255, 256 * 255)
    assert fabric.status()["links_cordoned"] == 64
    assert sum(link["cordoned"] for link in fabric.ask("links")) == 64
    assert next(s for s in fabric.ask("switches") if s["name"] == SPINE)["links_cordoned"] == 64
    assert "CORDONED" in fabric.fmctl("links").stdout and "64 cordoned" in fabric.fmctl("status").stdout
    fabric.stop_fmd()
    fabric.start_fmd()
    fabric.wait_up()
    assert entries_through(fabric, spine) == 0
    again = fabric.fmctl("cordon", SPINE)
    assert again.returncode == 0 and "already cordoned" in again.stdout
    assert "uncordoned" in fabric.fmctl("uncordon", SPINE).stdout
    assert fabric.tables() == before
    assert "CORDONED" not in fabric.fmctl("switches").stdout
    kinds = [event["kind"] for event in fabric.ask("events", "-n", "1000")]
    assert [kind for kind in kinds if "cordoned" in kind][-1] == "uncordoned"


def test_cordon_that_can_not_be_is_refused(pod):
    for what, reason in (("moon", "moon"), ("dgx-su01-01 mlx5_0", "nothing to cordon"), (f"{LEAF}:1", "nothing to")):
        done = pod.fmctl("cordon", what, check=False)
        assert (done.returncode, done.stdout) == (1, "") and reason in done.stderr


def test_cordons_that_can_not_be_kept_are_named(start, pod_net):
    fabric = start(pod_net)
    for spine in ("spine-01", "spine-02", "spine-03"):
        assert fabric.ask("cordon", spine)["not_honoured"] == []
    shown = fabric.fmctl("cordon", "spine-04").stdout
    for spine in ("spine-01", "spine-02", "spine-03", "spine-04"):
        assert f"OVERRIDDEN  the cordon of {spine}: some hosts have no other path to " in shown
    assert fabric.ask("uncordon", "spine-02")["not_honoured"] == []
    assert fabric.status()["proof"]["unreachable"] == 0


def test_cordon_that_can_not_be_saved_is_in_force_and_told(start, pod_net, bad_disk, tmp_path):
    fabric = start(pod_net, fmd=False)
    fabric.start_fmd(library=bad_disk, FULL_DISK=tmp_path / "full")
    fabric.wait_up()
    (tmp_path / "full").touch()
    done = fabric.fmctl("cordon", SPINE, check=False)
    assert done.returncode == 1 and "cordoned, 64 links" in done.stdout
    assert "applied, but not saved, so a restart would undo it: not saved: No space left on device" in done.stderr
    assert fabric.status()["links_cordoned"] == 64
    assert "state_dir/state.db: not saved" in fabric.fmctl("status").stdout
    (tmp_path / "full").unlink()
    fabric.wait(lambda s: not s["troubles"], "there is room")
    assert fabric.rows("cordons")


# ---- What if

def test_whatif_says_beforehand_what_a_cordon_changes(start, pod_net):
    fabric = start(pod_net)
    before = fabric.tables()
    answer = fabric.ask("whatif", "--cordon", SPINE)
    assert fabric.tables() == before and fabric.status()["links_cordoned"] == 0
    assert answer["sound"] and answer["proof"]["unreachable"] == 0 and answer["links_cordoned"] == 64
    assert answer["congestion"]["shift_max"] >= answer["before"]["congestion"]["shift_max"]
    assert 0 < answer["ebb"]["bisection"]["mean"] <= answer["before"]["ebb"]["bisection"]["mean"] <= 1
    done = fabric.ask("cordon", SPINE)
    assert done["lft_entries_changed"] == answer["delta"]["entries"]
    assert done["lft_blocks_written"] == answer["delta"]["blocks"]


def test_whatif_of_a_failure_is_plans_answer(pod, pod_net):
    answer = pod.ask("whatif", "--fail", SPINE, "--fail", f"{LEAF}:1")
    plan = pod.ask("plan", pod_net, "--fail", SPINE, "--fail", f"{LEAF}:1")
    assert answer["links_failed"] == 66 and answer["links_down"] == 65
    twice = pod.ask("whatif", "--fail", SPINE, "--fail", SPINE, "--fail", f"{SPINE}:1", "--cordon", SPINE)
    assert (twice["links_failed"], twice["links_cordoned"]) == (65, 64)
    for key in ("shift_max", "rail_shift_max", "all_to_all_ratio"):
        assert abs(answer["congestion"][key] - plan["congestion"][key]) < 1e-3, key
    assert answer["delta"]["entries"] == plan["delta"]["entries"]
    assert answer["proof"]["reachable"] == plan["proof"]["reachable"] == 255 * 254
    shown = pod.fmctl("whatif", "--fail", SPINE).stdout
    assert "least possible" in shown and "rail shift" in shown


@pytest.mark.parametrize("words, hcas, first", [
    (["--fail", LEAF], 32, "lost        32 HCAs lost: 32 hosts keep 7 of 8 HCAs (dgx-su01-[01-32])"),
    (["--fail", SPINE], 0, "lost        no HCA lost; 8 switches keep 3 of 4 spines (leaf-su01-rail[0-7])"),
    (["--cordon", SPINE], 0, "lost        no HCA lost; 8 switches keep 3 of 4 spines (leaf-su01-rail[0-7])"),
    (["--fail", f"{LEAF}:33"], 0, "lost        no HCA lost; 1 switch keeps 31 of 32 uplinks (leaf-su01-rail0)"),
    (["--cordon", LEAF], 0, "lost        nothing: no HCA is lost"),
    (["--cordon", SPINE, "--fail", "dgx-su01-07", "--fail", f"{LEAF}:1"], 9,
     "lost        9 HCAs lost: 1 host cut off (dgx-su01-07), 1 host keeps 7 of 8 HCAs (dgx-su01-01); "
     "8 switches keep 3 of 4 spines (leaf-su01-rail[0-7])")])
def test_whatif_says_first_who_loses_what_as_plan_does(pod, pod_net, words, hcas, first):
    done = pod.fmctl("whatif", "--check", *words, check=False)
    assert (done.returncode, done.stdout.splitlines()[0]) == (int(hcas > 0), first)
    lost = pod.ask("whatif", *words)["lost"]
    assert len(lost["hcas"]) == hcas and first.endswith(lost["text"])
    if "--cordon" not in words:
        assert lost == pod.ask("plan", pod_net, *words)["lost"]


def test_monitoring_and_path_end_with_what_is_wrong(start, pod_net, tmp_path):
    fabric = start(pod_net)

    def run(*words, socket=None):
        done = subprocess.run([program("fmctl"), *words], capture_output=True, text=True, env={**os.environ, "FMD_SOCKET": str(socket or fabric.socket)})
        return done.returncode, done.stdout + done.stderr

    fabric.wait_up(lambda s: s["in_force"]["pairs_waiting"] == 0 and not s["hcas_cut_off"], "all pairs are in force")
    assert run("status", "--check") == (0, "UP: 256 HCAs, 12 switches, 0 links down\n")
    assert run("path", "dgx-su01-01", "dgx-su01-02")[0] == 0
    fabric.console(f'Unlink "S-{guid_of(fabric, "spine-04")[2:]}"')
    fabric.wait_up(lambda s: s["lost"]["redundancy"], "a spine is down")
    assert run("status", "--check")[0] == 1
    fabric.console(f'Relink "S-{guid_of(fabric, "spine-04")[2:]}"')
    fabric.wait_up(lambda s: not s["lost"]["redundancy"], "it is back")
    fabric.console(f'Unlink "S-{guid_of(fabric, "leaf-su01-rail2")[2:]}"')
    fabric.wait_up(lambda s: s["hcas_cut_off"] == 32, "the leaf is down")
    code, line = run("status", "--check")
    assert (code, line) == (2, "UP (DEGRADED): 32 HCAs cut off: leaf-su01-rail2 is down, 64 links down\n")
    status = run("status")[1]
    assert "fabric      UP (DEGRADED)" in status and "lost        32 HCAs lost: 32 hosts keep 7 of 8 HCAs (dgx-su01-[01-32])" in status
    code, text = run("path", "dgx-su01-01", "dgx-su01-02")
    assert code == 1 and "no path from dgx-su01-01 mlx5_4 to dgx-su01-02 mlx5_4: leaf-su01-rail2 is down" in text
    code, text = run("path", "dgx-su01-01 mlx5_4", "dgx-su01-02 mlx5_4")
    assert code == 1 and "leaf-su01-rail2 is down" in text
    ports = fabric.ask("show", "dgx-su01-02")["ports"]
    assert [port["out_gbps"] for port in ports if port["state"] == "Down"] == [None]
    code, text = run("status", "--check", socket=tmp_path / "none")
    assert code == 3 and text.startswith("UNKNOWN: ")


def test_status_says_after_random_faults_what_whatif_said_before(start, pod_net):
    """FAULTS of them, each of up to five switches, hosts and links at once, and repaired behind it; not those by which fmd is reached."""
    fabric = start(pod_net, flap_count=0)
    chance = random.Random(os.environ.get("SEED", 1))
    switches = {node["name"]: f"S-{node['guid'][2:]}" for node in fabric.ask("switches")}
    ids = {**switches, **{node["name"]: f"H-{node['guid'][2:]}" for node in fabric.ask("nodes") if node["role"] == "host"}}
    links = [link for link in fabric.ask("links") if {link["a"]["name"], link["b"]["name"]} <= set(ids)]
    own = next(node["name"] for node in fabric.ask("nodes") if node["lid"] == fabric.status()["sm_lid"])
    spared = {own} | {end["name"] for link in links for end in (link["a"], link["b"]) if own in (link["a"]["name"], link["b"]["name"])}
    hosts = {name.split()[0] for name in ids if name not in switches} - {own.split()[0]}
    links = [f"{link['a']['name']}:{link['a']['port']}" for link in links if own not in (link["a"]["name"], link["b"]["name"])]
    places = [sorted(set(switches) - spared), sorted(hosts), links]
    assert not fabric.status()["lost"]["redundancy"]
    for fault in range(int(os.environ.get("FAULTS", 25))):
        failing = {chance.choice(chance.choice(places)) for _ in range(chance.randint(1, 5))}
        said = fabric.ask("whatif", *[word for what in sorted(failing) for word in ("--fail", what)])["lost"]
        cut = []
        for what in failing:
            name, _, port = what.partition(":")
            cut += [f'"{ids[name]}"[{port}]'] if port else [f'"{node}"' for other, node in ids.items() if other == name or other.split()[0] == name]
        fabric.console(*[f"Unlink {what}" for what in cut])
        seen = fabric.ask("sweep")["lost"]
        assert seen == said, f"fault {fault}: {sorted(failing)}"
        fabric.console(*[f"Relink {what}" for what in cut])
        fabric.wait(lambda s: fabric.ask("sweep")["lost"]["text"] == "nothing: no HCA is lost", "all is repaired")


# ---- fmd-troubleshooting(7)

# What each answer has in it, with leaf-su01-rail2 dead and the counters read.
ANSWERS = {
    "fmctl status": r"cut off +32 HCAs cut off: leaf-su01-rail2 is down",
    "fmctl status --check": r"^UP \(DEGRADED\): 32 HCAs cut off: leaf-su01-rail2 is down, 64 links down$",
    "fmctl hosts --unhealthy --hostlist": r"^dgx-su01-\[01-32\]$",
    "fmctl hosts leaf-su01-rail2 --hostlist": r"^dgx-su01-\[01-32\]$",
    "squeue | fmctl jobs --hit": r"(?m)^71 .* 16 +dgx-su01-\[01-16\]",
    "squeue | fmctl jobs --hit --fail spine-01": r"THEN +TIME.*\n71 +16 .* 0\.\d\d +\d\.\d\d",
    "fmctl whatif --check --fail leaf-su01-rail1": r"32 HCAs lost: 32 hosts keep 6 of 7 HCAs",
    "fmctl whatif --check --cordon spine-02": r"no HCA lost; 7 switches keep 3 of 4 spines",
    "fmctl events -n 10 --level warning": r"(?m)error +32 HCAs cut off: leaf-su01-rail2 is down$",
    "fmctl cables leaf-su01-rail0:33": r"leaf-su01-rail0 +33 .*(passive copper|active|optical).* SIM\w{8,} ",
    "fmctl links dgx-su01-02 --down": r"leaf-su01-rail2 +2 +dgx-su01-02 mlx5_4 .*20\d\d-",
    "fmctl nodes dgx-su01-02": r"dgx-su01-02 mlx5_4 +0x\w{16} +\d+ +host .* Down",
    "fmctl path dgx-su01-01 dgx-su01-02": r"no path from dgx-su01-01 mlx5_4 to dgx-su01-02 mlx5_4: leaf-su01-rail2 is down",
    "fmctl health dgx-su01-05 --read": r"latest reading: \d+ ports",
    "fmctl switches": r"(?m)^leaf-su01-rail2 .* Down",
    "fmctl health": r"0 ports unhealthy",
    "fmctl links --sick": r"^FROM +PORT",
    "fmctl top -n 5": r"load known for 448",
    "fmctl check": r"49952 port pairs routed, 0 unreachable; 0 loops, 0 credit loops",
    "fmctl check --readback": r"as programmed: \d+ blocks read, 0 differ",
    "fmctl cabling": r"no cabling errors found",
    "fmctl held": r"^FROM +PORT",
    "fmctl nvswitch dgx-su01-05": r"no telemetry source configured",
    "fmctl partitions": r"0x7fff +Default +280",
    "fmctl collect DIR": r"",  # into the directory
}


def on_screen(fabric, command, lines=24, columns=100):
    """What a terminal of that size shows of it: its lines, without colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    words = shlex.split(command.split("fmctl ")[1])
    with subprocess.Popen([program("fmctl"), "-s", fabric.socket, *words], stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"}) as run:
        os.close(theirs)
        if command.startswith("squeue"):
            run.stdin.write(SQUEUE.encode())
        run.stdin.close()
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # it has ended
                break
            shown += part
            if b"\x1b[?7h" in shown:  # a command that goes on and on has shown its first screen
                run.terminate()
        os.close(ours)
    assert run.returncode in (0, 1, 2, -15)
    return re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", shown.decode().replace("\r\n", "\n")).rstrip("\n").split("\n")


def page_of(name):
    return (pathlib.Path(__file__).parents[2] / "etc" / name).read_text().replace("\\-", "-")


def test_each_question_of_the_page_has_its_answer_on_one_screen(start, pod_net, tmp_path):
    page = page_of("fmd-troubleshooting.7").split(".SH QUESTIONS\n")[1].split(".SH SYMPTOMS")[0]
    questions = re.findall(r"^\.TP\n(.*\?.*)\n\.B ((?:squeue \| )?fmctl .*)$", page, re.M)
    assert [command for _, command in questions] == list(ANSWERS) and len(questions) == page.count(".TP") == 25
    fabric = start(pod_net)
    fabric.console(f'Unlink "S-{guid_of(fabric, "leaf-su01-rail2")[2:]}"')
    fabric.wait_up(lambda s: s["hcas_cut_off"] == 32, "the leaf is down")
    for _ in range(2):
        fabric.ask("health", "--read")
    poll(lambda: fabric.ask("cables", "leaf-su01-rail0:33"), "modules are read, one after the other")
    for question, command in questions:
        answer = on_screen(fabric, command.replace("DIR", str(tmp_path / "bundle")))
        assert re.search(ANSWERS[command], "\n".join(answer)), (question, command, answer)
        assert len(answer) <= 24 and max(map(len, answer)) <= 100, (question, command, answer)
    assert "leaf-su01-rail2" in (tmp_path / "bundle/status.json").read_text()
    piped = fabric.fmctl("events", "--kind", "switch-down").stdout
    assert re.fullmatch(r".{60,} leaf switch down: \d+ HCAs lost connectivity.*\n", piped)  # grep has whole lines
    for words in ("events", "-n", "20"), ("links", "--down"), ("cables",), ("status",):  # a pager's screen, where that is asked for
        narrow = subprocess.run([program("fmctl"), "-s", fabric.socket, *words], capture_output=True, text=True, env={**os.environ, "COLUMNS": "100"}).stdout
        assert narrow and max(map(len, narrow.splitlines())) <= 100, words
    assert max(map(len, fabric.fmctl("events", "-n", "20").stdout.splitlines())) > 100


def test_symptoms_name_commands_events_alerts_and_keys_that_exist():
    root = pathlib.Path(__file__).parents[2]
    page = page_of("fmd-troubleshooting.7")
    symptoms, asked = page.split(".SH SYMPTOMS\n")[1].split(".SH FREQUENTLY ASKED QUESTIONS\n")
    assert symptoms.count(".TP\n") >= 20 and asked.split(".SH ")[0].count(".TP\n") >= 10
    sources = "".join(path.read_text() for path in (root / "fm").rglob("*.[chd]*") if path.suffix in (".c", ".h", ".def"))
    for bold in re.findall(r"\\fB(.*?)\\fR", symptoms + asked):
        if bold.startswith("fmctl "):
            words = bold.split()
            helped = subprocess.run([program("fmctl"), "help", words[1]], capture_output=True, text=True)
            assert helped.returncode == 0, bold
            for option in (word for word in words if word.startswith("--")):
                assert option in helped.stdout, bold
        elif re.fullmatch(r"[a-z]+(?:-[a-z]+)+", bold):
            assert f'"{bold}"' in sources or (root / "etc" / f"{bold}.7").exists() or bold in page.split(".TP\n.B ")[0], bold
    sample = (root / "etc/fmd.conf").read_text()
    for key in set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", symptoms + asked)) - {"ib_write_bw", "rdma_cm", "state_dir"}:
        assert f"#{key} = " in sample, key


# ---- Jobs

SQUEUE = """             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
                71     gpu    train     anna  R    1:02:03     16 dgx-su01-[01-16]
                72     gpu    train     bert  R       3:04      8 dgx-su01-[17-20,22,24-26]
                73     gpu     eval     cleo  R       0:10      1 dgx-su01-32
                74     gpu    other     dora  R       0:10      2 dgx-su01-31,moon-1
                75     gpu     next     emil PD       0:00      8 (Resources)
"""


def jobs(fabric, *words, text=SQUEUE):
    return subprocess.run([program("fmctl"), "-s", fabric.socket, "jobs", *words], input=text, capture_output=True, text=True, timeout=DEADLINE_S)


def test_jobs_that_a_fault_hits_and_what_they_get(pod):
    rows = json.loads(jobs(pod, "--json").stdout)
    assert [(row["job"], row["hosts"], row["hcas_lost"], row["hit"]) for row in rows] == [("71", 16, 0, False), ("72", 8, 0, False), ("73", 1, 0, False), ("74", 1, 0, False)]
    assert rows[3]["unknown"] == ["moon-1"] and "unknown" not in rows[0] and all("then" not in row and 0 < row["now"]["share"] <= row["now"]["alone"] + 1e-9 <= 1 + 2e-9 for row in rows)
    assert all(row["now"]["time"] >= 1 - 1e-9 for row in rows)
    spine = json.loads(jobs(pod, "--json", "--fail", SPINE).stdout)
    assert not any(row["hcas_lost"] for row in spine) and spine[0]["then"]["share"] < spine[0]["now"]["share"] and spine[0]["hit"]
    assert [row["now"] for row in spine] == [row["now"] for row in rows]
    hit = json.loads(jobs(pod, "--json", "--hit", "--fail", "dgx-su01-22", "--fail", f"{LEAF}:24", "--fail", f"{LEAF}:25").stdout)
    assert [(row["job"], row["hcas_lost"], row["losing"]) for row in hit if row["hcas_lost"]] == [("72", 10, "dgx-su01-[22,24-25]")]
    shown = jobs(pod, "--fail", LEAF).stdout.splitlines()
    assert shown[0].split() == "JOB HOSTS ALONE SHARE TIME THEN TIME LOST HCAS OF HOSTS UNKNOWN".split() and shown[1].split()[-2:] == ["16", "dgx-su01-[01-16]"]


def test_jobs_by_cordons_and_refused_lists(pod):
    rows = json.loads(jobs(pod, "--json", "--cordon", SPINE).stdout)
    assert rows[0]["then"]["share"] < rows[0]["now"]["share"] and not any(row["hcas_lost"] for row in rows)
    for text, fails in (("1 dgx-su01-[02-01]\n", True), ("1 dgx-[1-2\n", True), ("1 a]\n", True), ("1 h[1-99999]\n", True), ("", False), ("1\n", False)):
        done = jobs(pod, text=text)
        assert (done.returncode, done.stdout == "") == (int(fails), fails) and ("job 1 of the list" in done.stderr) == fails
    assert jobs(pod, "--fail", "moon").returncode == 1 and jobs(pod, "dgx").returncode == 2


def jobs_of_fmd(fabric, *words):
    """As typed on a terminal: the list is that of job_command."""
    ours, theirs = pty.openpty()
    try:
        return subprocess.run([program("fmctl"), "-s", fabric.socket, "jobs", *words], stdin=theirs, capture_output=True, text=True, timeout=DEADLINE_S)
    finally:
        os.close(ours)
        os.close(theirs)


def test_jobs_of_job_command_that_a_fault_a_cordon_and_a_whatif_hit(start, pod_net, tmp_path):
    command = tmp_path / "squeue"
    command.write_text(f"#!/bin/sh\necho called >&2\ncat <<END\n{SQUEUE}END\n")
    command.chmod(0o755)
    fabric = start(pod_net, job_command=str(command), job_command_timeout=DEADLINE_S)
    rows = json.loads(jobs_of_fmd(fabric, "--json").stdout)
    assert rows == json.loads(jobs(fabric, "--json").stdout) and [row["job"] for row in rows] == ["71", "72", "73", "74"]
    assert [row["job"] for row in json.loads(jobs(fabric, "--json", text="7 dgx-su01-05\n").stdout)] == ["7"]  # a list goes before
    cordon, fail = (json.loads(jobs_of_fmd(fabric, "--json", "--hit", *words).stdout) for words in (("--cordon", SPINE), ("--fail", "dgx-su01-32")))
    assert cordon[0]["job"] == "71" and not any(row["hcas_lost"] for row in cordon)
    assert [(row["job"], row["hcas_lost"], row["losing"]) for row in fail if row["hcas_lost"]] == [("73", 8, "dgx-su01-32")]
    assert not json.loads(jobs_of_fmd(fabric, "--json", "--hit").stdout)
    fabric.console(f'Unlink "S-{guid_of(fabric, "leaf-su01-rail2")[2:]}"')
    fabric.wait_up(lambda s: s["hcas_cut_off"] == 32, "the leaf is down")
    hit = json.loads(jobs_of_fmd(fabric, "--json", "--hit").stdout)
    assert [(row["job"], row["hcas_lost"]) for row in hit] == [("71", 16), ("72", 8), ("73", 1), ("74", 1)]
    command.write_text(f"#!/bin/sh\necho 71 dgx-su01-01\nexit 3\n")
    failed = jobs_of_fmd(fabric)
    assert failed.returncode == 1 and not failed.stdout and "job_command failed" in failed.stderr
    command.write_text("#!/bin/sh\nexec yes 71 dgx-su01-01\n")
    fabric.write_conf(job_command=str(command), job_command_timeout=0.5)
    fabric.ask("reload")
    late = jobs_of_fmd(fabric)
    assert late.returncode == 1 and not late.stdout and "job_command took too long, or printed too much, and was killed" in late.stderr


def test_jobs_without_a_list_say_where_one_comes_from(pod):
    done = jobs_of_fmd(pod)
    assert done.returncode == 1 and "squeue | fmctl jobs" in done.stderr and "job_command" in done.stderr


def test_hostlist_is_what_squeue_takes(pod):
    assert pod.fmctl("hosts", "--hostlist").stdout == "dgx-su01-[01-32]\n"
    assert pod.fmctl("hosts", "dgx-su01-07", "--hostlist").stdout == "dgx-su01-07\n"
    assert pod.ask("hosts", "dgx-su01-07", "--hostlist") == [{"name": "dgx-su01-07"}]


def test_whatif_of_ill_nvlinks_is_plans_answer(pod, pod_net):
    answer = pod.ask("whatif", "--nvswitch", "dgx-su01-05=NO_P2P", "--nvswitch", "dgx-su01-06=FATAL")
    plan = pod.ask("plan", pod_net, "--nvswitch", "dgx-su01-06=FATAL", "--nvswitch", "dgx-su01-05=NO_P2P")
    assert answer["nvswitch"] == plan["nvswitch"] and answer["delta"] == plan["delta"]
    healthy, dead = answer["nvswitch"]
    assert (healthy["host"], healthy["class"], healthy["weight"]) == ("dgx-su01-05", "unchanged", 1)
    assert (dead["host"], dead["class"], dead["weight"]) == ("dgx-su01-06", "unchanged", 1)
    assert healthy["cross_rail_before"]["worst_uplink"] == 7 and dead["cross_rail"]["rate"] == dead["cross_rail"]["rate_of"] == 8
    assert answer["delta"]["entries"] == 0
    assert not pod.ask("nvswitch")["summary"]["states"]["NO_P2P"]
    shown = pod.fmctl("whatif", "--nvswitch", "dgx-su01-05=NO_P2P").stdout
    assert "dgx-su01-05: NO_P2P, was HEALTHY" in shown and "its cross-rail traffic 8.00 now, 8.00 then" in shown


def test_whatif_needs_something(pod):
    assert pod.fmctl("whatif", check=False).returncode == pod.fmctl("whatif", "--check", check=False).returncode == 2
    assert pod.fmctl("whatif", "--fail", "moon", check=False).returncode == 1
    refused = pod.fmctl("whatif", "--nvswitch", "moon=FATAL", check=False)
    assert refused.returncode == 1 and "no host moon" in refused.stderr


# ---- The audit

def test_audit_finds_and_repairs_an_entry_changed_behind_fmd(start, pod_net):
    fabric = start(pod_net, sweep_interval=0, audit_rate=1000, audit_after=1.0)
    fabric.wait(lambda s: s["audit"]["blocks"] > 100, "the audit runs")
    leaf = guid_of(fabric, LEAF)
    block = bytearray(fabric.get_smp("S-" + leaf[2:], 0x19, 1))
    right = bytes(block)
    block[7] ^= 1
    fabric.set_smp("S-" + leaf[2:], 0x19, 1, block)
    fabric.wait(lambda s: s["audit"]["repaired"] == 1, "the audit repairs")
    assert fabric.get_smp("S-" + leaf[2:], 0x19, 1) == right
    told = [event for event in fabric.ask("events") if event["kind"] == "audit"]
    assert len(told) == 1 and told[0]["block"] == 1
    assert told[0]["text"].startswith(f"sw {LEAF} {leaf}: block 1 differs from what was written: repaired: LID ")
    assert told[0]["attribute"] == "LinearForwardingTable"
    assert (told[0]["at"], told[0]["found"], told[0]["wanted"]) == (64 + 7, hex(block[7]), hex(right[7]))


# ---- Cabling

def test_swapped_rails_are_named_with_and_without_the_plan(start, pod_net, tmp_path):
    """Node 5's first two adapters, each on the other's leaf."""
    lines, at = [], ""
    for line in pod_net.read_text().splitlines():
        if line.startswith(("Switch", "Ca", "Hca")):
            at = line
        first, second = "dgx-su01-05 mlx5_0", "dgx-su01-05 mlx5_3"
        if at.startswith(("Ca", "Hca")) and (first in at or second in at):
            line = line.replace(first, "@").replace(second, first).replace("@", second)
        lines.append(line)
    net = tmp_path / "swapped.net"
    net.write_text("\n".join(lines) + "\n")
    fabric = start(net)
    found = fabric.ask("cabling", "--plan", pod_net)
    assert found["rails"]["compared"] == 256
    assert {row["a"]["name"]: (row["rail"], row["leaf_rail"], row["belongs_on"])
            for row in found["rails"]["differ"]} == {
                "dgx-su01-05 mlx5_0": (0, 1, "leaf-su01-rail0"), "dgx-su01-05 mlx5_3": (1, 0, "leaf-su01-rail1")}
    for part in ("pattern", "plan"):
        assert [row["kind"] for row in found[part]["differ"]] == ["swap"], found[part]
    swap = found["plan"]["differ"][0]
    assert (swap["at"], swap["found"]) == ({"name": "leaf-su01-rail0", "port": 5}, {"name": "dgx-su01-05 mlx5_3", "port": 1})
    shown = fabric.fmctl("cabling").stdout
    assert "belongs on leaf-su01-rail0" in shown and "plan" not in shown
    assert fabric.fmctl("cabling", "--check", check=False).returncode == 1


def test_a_plan_that_is_not_whole_is_refused_and_the_one_in_force_stays(pod, pod_net, tmp_path):
    text, plan = pod_net.read_text(), tmp_path / "plan.net"
    pod.ask("admit", "--plan", pod_net)
    middle = text.index("\n", len(text) // 2) + 1
    for bad, reason in ((text[:middle - 8], r":\d+: "), (text[:middle], r":\d+: "), (text.replace("[33]", "[99]", 1), r":\d+: port 99 "),
                        (text.replace("leaf-su", "leaf-of").replace("spine-", "top-").replace("dgx-", "node-").replace("2c903", "2c904"), r":\d+: .*another fabric"),
                        ("", "the file is empty")):
        plan.write_text(bad)
        refused = pod.fmctl("admit", "--plan", plan, check=False)
        assert refused.returncode == 1 and re.search(re.escape(str(plan)) + ".*" + reason, refused.stderr), refused.stderr
    assert [event["links"] for event in pod.ask("events", "-n", 200) if event["kind"] == "plan-admitted"][-1:] == [512]
    pod.ask("admit", "--no-plan")


def test_fabric_that_is_as_planned_has_no_findings(pod, pod_net, tmp_path):
    found = pod.ask("cabling", "--plan", pod_net)
    assert (found["rails"]["differ"], found["plan"]["differ"]) == ([], [])
    assert (found["plan"]["compared"], found["pattern"]["compared"], found["pattern"]["differ"]) == (512, 512, [])
    assert pod.fmctl("cabling", "--check", "--plan", pod_net).returncode == 0
    table = tmp_path / "plan.csv"
    table.write_text("StartDevice,StartPort,EndDevice,EndPort\ndgx-su01-05 mlx5_0,Port 1,leaf-su01-rail0,Port 6\n")
    rows = pod.ask("cabling", "--plan", table)["plan"]["differ"]
    assert {row["text"] for row in rows if row["kind"] == "elsewhere"} == {
        "not as planned at leaf-su01-rail0 port 5: has dgx-su01-05 mlx5_0, which does not belong there",
        "not as planned at leaf-su01-rail0 port 6: has dgx-su01-06 mlx5_0, expected dgx-su01-05 mlx5_0"}
    assert pod.fmctl("cabling", "--plan", tmp_path / "none.net", check=False).returncode == 1
    assert pod.fmctl("cabling", "now", check=False).returncode == 2


# ---- Events as they come

def test_follower_sees_a_fault_as_it_happens(start, pod_net):
    fabric = start(pod_net)
    leaf = "S-" + guid_of(fabric, LEAF)[2:]
    follower = subprocess.Popen([program("fmctl"), "-s", fabric.socket, "--json", "events", "-f", "-n", "1"],
                                stdout=subprocess.PIPE, text=True)
    try:
        seen = [json.loads(follower.stdout.readline())]
        fabric.console(f'Unlink "{leaf}"[33]')
        while seen[-1]["kind"] != "rerouted":
            seen.append(json.loads(follower.stdout.readline()))
        assert "link-down" in [event["kind"] for event in seen]
        assert [event["seq"] for event in seen] == list(range(seen[0]["seq"], seen[-1]["seq"] + 1))
        fabric.stop_fmd()
        fabric.start_fmd()
        assert follower.wait(timeout=DEADLINE_S) == 3
    finally:
        follower.kill()
        follower.wait()
        follower.stdout.close()
    fabric.wait_up()


# ---- At risk

def test_cut_cable_is_told_with_what_is_left(start, pod_net):
    fabric = start(pod_net)
    leaf = "S-" + guid_of(fabric, LEAF)[2:]
    fabric.console(f'Unlink "{leaf}"[33]')
    status = fabric.wait_up(lambda s: s["links_down"] == 1)
    assert (status["at_risk"]["cables"], status["at_risk"]["cables_of"]) == (31, 32)
    told = [event for event in fabric.ask("events") if event["kind"] == "rerouted"]
    assert f"at risk: {LEAF} has 31 of 32 links to its spines" in told[-1]["text"]
    assert told[-1]["at_risk"]["switches"] == 1
    assert LEAF in fabric.fmctl("status").stdout
