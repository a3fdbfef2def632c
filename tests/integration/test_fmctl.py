# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""fmctl against a control socket that says what the test wants: what it asks, what it shows, how it ends."""
import fcntl
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import termios
import threading
import unicodedata

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FMCTL = pathlib.Path(os.environ.get("FMD_BIN", ROOT / "build")).resolve() / "fmctl"

STATUS = {"state": "up", "fabric_up": True, "sm": "master", "sm_lid": 1, "engine": "ftree", "switches": 12,
          "hcas": 256, "links": 512, "links_down": 1, "lids": 268, "sweep_ms": 12.5, "route_ms": 0.2, "program_ms": 9,
          "lft_blocks_written": 60, "smps_sent": 4000, "smps_timed_out": 0, "uptime_s": 93784, "rss_kb": 20480,
          "last_fault": {"what": "leaf-1 p33 - spine-1 p1: down", "detected_to_programmed_ms": 3.25,
                         "lft_entries_changed": 24, "lft_blocks_written": 9},
          "proof": {"reachable": 65280, "unreachable": 0, "loops": 0, "credit_cycles": 0, "first": ""}}
LINK = {"a": {"name": "leaf-1", "port": 33}, "b": {"name": "spine-1", "port": 1}, "up": False, "state": "Down",
        "speed": "HDR", "width": 4}


class Server:
    """Answers each connection by answer(request): the bytes to send, or a JSON value."""

    patient = True

    def __init__(self, path, answer):
        self.path, self.answer, self.requests = str(path), answer, []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client, client.makefile("r") as lines:
                request = json.loads(lines.readline())
                self.requests.append((request["cmd"], request["args"]))
                answer = self.answer(request)
                client.sendall(answer if isinstance(answer, bytes) else json.dumps(answer).encode() + b"\n")
                if self.patient:  # as fmd: hangs up when the client does
                    lines.read()

    def stop(self):
        """The descriptor is somebody else's once it is closed, so the thread that accepts by it ends first."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()


@pytest.fixture
def serve(tmp_path):
    servers = []

    def start(answer):
        servers.append(Server(tmp_path / "fmd.sock", answer if callable(answer) else lambda request: answer))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def good(result):
    return {"ok": True, "result": result}


def fmctl(tmp_path, *arguments):
    return subprocess.run([FMCTL, "-s", tmp_path / "fmd.sock", "--timeout", "100", *arguments], capture_output=True, text=True,
                          timeout=120, cwd=tmp_path)


# ---- exit codes

def test_no_daemon_ends_with_3(tmp_path):
    result = fmctl(tmp_path, "status")
    assert result.returncode == 3
    assert "no fmd listens on" in result.stderr and result.stdout == ""


def test_dead_socket_ends_with_3(tmp_path):
    socket.socket(socket.AF_UNIX).bind(str(tmp_path / "fmd.sock"))
    assert fmctl(tmp_path, "status").returncode == 3


@pytest.mark.parametrize("arguments", [
    [], ["frobnicate"], ["--frobnicate"], ["status", "now"], ["links", "--up"], ["links", "a", "b"], ["links", "--su", "0"], ["links", "--rail", "x"], ["links", "--class", "royal"], ["links", "--sort", "moon"], ["switches", "--class", "storage"], ["status", "--su", "1"], ["status", "--watch=0"], ["status", "--watch=x"], ["reroute", "--watch"], ["generate", "superpod", "--su", "1", "--watch"], ["nvswitch", "dgx-01", "--su", "1"], ["release"], ["forget"], ["forget", "a", "b"], ["lft"],
    ["path", "one"], ["dump"], ["events", "-n", "many"], ["events", "-n", "-1"], ["loglevel"],
    ["topology", "--format"], ["topology", "--format", "moon"], ["check", "--readback", "leaf-1"]])
def test_wrong_usage_ends_with_2_and_asks_nobody(tmp_path, serve, arguments):
    server = serve(good({}))
    result = fmctl(tmp_path, *arguments)
    assert result.returncode == 2
    assert result.stderr and result.stdout == ""
    assert server.requests == []


def test_refusal_ends_with_1_and_its_reason(tmp_path, serve):
    serve({"ok": False, "error": "no node named moon"})
    result = fmctl(tmp_path, "lft", "moon")
    assert (result.returncode, result.stderr, result.stdout) == (1, "fmctl: lft: no node named moon\n", "")


@pytest.mark.parametrize("answer", [b"", b"{\"ok\":true,\"result\":", b"nonsense\n", b"[]\n", b"{\"ok\":true}\n"])
def test_broken_answer_ends_with_1(tmp_path, serve, answer):
    serve(answer).patient = False
    result = fmctl(tmp_path, "status")
    assert result.returncode == 1 and result.stderr


@pytest.mark.parametrize("words", [["status"], ["assess", "--html"]])
def test_silence_ends_when_timeout_is_over(tmp_path, words):
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "fmd.sock"))
        silent.listen()
        result = subprocess.run([FMCTL, "-s", tmp_path / "fmd.sock", "--timeout", "1", *words], capture_output=True, text=True, timeout=120)
    assert (result.returncode, result.stderr, result.stdout) == (1, f"fmctl: {words[0]}: no answer from fmd for 1 s\n", "")


def test_full_disk_is_no_success(tmp_path, serve):
    serve(good({"text": "x" * 100000}))
    with open("/dev/full", "w") as full:
        run = subprocess.run([FMCTL, "-s", tmp_path / "fmd.sock", "topology"], stdout=full,
                             stderr=subprocess.PIPE, timeout=120)
    assert run.returncode == 1 and b"No space" in run.stderr


# ---- what is asked

@pytest.mark.parametrize("arguments, asked", [
    (["status"], ("status", {})),
    (["topology"], ("topology", {"format": "text"})),
    (["--json", "topology"], ("topology", {"format": "json"})),
    (["topology", "--format", "slurm"], ("topology", {"format": "slurm"})),
    (["nodes"], ("nodes", {})),
    (["switches"], ("switches", {})),
    (["links"], ("links", {})),
    (["links", "--down", "--json"], ("links", {"down": True})),
    (["links", "--sick"], ("links", {"sick": True})),
    (["links", "--sort", "-down since", "leaf-01", "--su", "2", "--down"], ("links", {"sort": "-down since", "what": "leaf-01", "su": 2, "down": True})),
    (["hosts", "--class", "storage", "--leaf=leaf-01"], ("hosts", {"class": "storage", "leaf": "leaf-01"})),
    (["release", "leaf-01:9"], ("release", {"what": "leaf-01:9"})),
    (["forget", "leaf-01:9"], ("forget", {"what": "leaf-01:9"})),
    (["forget", "--down"], ("forget", {"down": True})),
    (["hosts"], ("hosts", {})),
    (["lft", 'leaf "1"'], ("lft", {"switch": 'leaf "1"'})),
    (["path", "a", "b"], ("path", {"from": "a", "to": "b"})),
    (["check", "--readback"], ("check", {"readback": True})),
    (["events", "-n", "5"], ("events", {"count": 50})),  # several may be one line
    (["reroute"], ("reroute", {})),
    (["sweep"], ("sweep", {})),
    (["reload"], ("reload", {})),
    (["loglevel", "debug"], ("loglevel", {"level": "debug"})),
    (["loglevel", "mad", "debug"], ("loglevel", {"module": "mad", "level": "debug"})),
])
def test_command_asks_its_question(tmp_path, serve, arguments, asked):
    server = serve(good([]))
    fmctl(tmp_path, *arguments)
    assert server.requests == [asked]


# ---- what is shown

def test_json_is_the_document_as_it_came(tmp_path, serve):
    serve(good(STATUS))
    assert json.loads(fmctl(tmp_path, "--json", "status").stdout) == STATUS


def test_status_says_what_is_wrong_in_a_dozen_lines(tmp_path, serve):
    serve(good(STATUS))
    text = fmctl(tmp_path, "status").stdout
    assert "fabric      UP" in text
    assert "512, 1 down" in text
    assert "leaf-1 p33 - spine-1 p1: down" in text and "3.2 ms" in text
    assert "1 d 02:03:04" in text
    assert len(text.splitlines()) <= 12
    assert "\033" not in text


def test_status_of_a_dark_fabric_does_not_claim_a_proof(tmp_path, serve):
    serve(good({**STATUS, "fabric_up": False, "state": "starting", "last_fault": None,
                "proof": {**STATUS["proof"], "reachable": 0}}))
    text = fmctl(tmp_path, "status").stdout
    assert "DOWN" in text and "verified" not in text and "none since fmd started" in text


def test_columns_are_aligned_and_absent_values_are_dashes(tmp_path, serve):
    row = {"name": "leaf-1", "guid": "0x0000000000000100", "lid": 7, "role": "leaf", "rail": None}
    serve(good([row, {**row, "name": "läaf-extra-long", "lid": 12345}]))
    lines = fmctl(tmp_path, "switches").stdout.splitlines()
    assert lines[0].split()[:3] == ["NAME", "GUID", "LID"]
    assert lines[1].index("0x") == lines[2].index("0x") == lines[0].index("GUID")
    assert lines[1].index("    7 ") + 4 == lines[2].index("12345 ") + 4
    assert lines[1].split()[5:7] == ["-", "-"]


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_names_of_wide_and_combining_characters_shift_no_column(tmp_path, serve, locale, monkeypatch):
    monkeypatch.setenv("LC_ALL", locale)
    row = {"name": "leaf-1", "guid": "0x0000000000000100", "lid": 7, "role": "leaf", "rail": None}
    serve(good([row, {**row, "name": "机柜七-交换机"}, {**row, "name": "le\u0301af-2"}]))
    lines = fmctl(tmp_path, "switches").stdout.splitlines()
    assert len({columns(line[:line.index("0x")]) for line in lines[1:]} | {columns(lines[0][:lines[0].index("GUID")])}) == 1, lines


def columns(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


@pytest.mark.parametrize("n, words", [(1, "1 entry (least possible 1) in 1 block on 1 switch"),
                                      (2, "2 entries (least possible 2) in 2 blocks on 2 switches")])
def test_counts_of_a_trial_agree_with_their_words(tmp_path, serve, n, words):
    serve(good({"delta": {"entries": n, "entries_minimum": n, "blocks": n, "switches": n}, "proof": {"reachable": n}}))
    text = fmctl(tmp_path, "whatif", "--fail", "leaf-1:33").stdout
    assert f"change      {words}\n" in text and f": {n} port pair{'s' * (n > 1)} routed" in text, text


@pytest.mark.parametrize("hcas, degraded, unreachable, code", [([], [], 0, 0), (["n1 mlx5_0"], [], 0, 1), ([], ["n1"], 0, 1), ([], [], 1, 1)])
def test_whatif_check_fails_when_somebody_loses_something(tmp_path, serve, hcas, degraded, unreachable, code):
    answer = {"lost": {"hcas": hcas, "hosts_cut_off": [], "hosts_degraded": degraded, "text": "words"}, "proof": {"unreachable": unreachable}}
    serve(good(answer))
    done = fmctl(tmp_path, "whatif", "--check", "--fail", "leaf-1")
    assert done.returncode == code and done.stdout.startswith("lost        words\n")


def test_whatif_of_an_older_fmd_says_nothing_of_losses(tmp_path, serve):
    serve(good({"links_down": 1}))
    assert fmctl(tmp_path, "whatif", "--fail", "leaf-1").stdout.startswith("links ")


def test_facts_that_a_document_lacks_are_no_lines_and_seconds_have_no_fractions(tmp_path, serve):
    serve(good({"kind": "host", "name": "dgx-1", "hcas": "8/8", "nvlink_since_s": 1234567.25}))
    assert fmctl(tmp_path, "show", "dgx-1").stdout.splitlines() == [
        "host: dgx-1", "hcas                8/8", "nvlink since        1234567 s"]


@pytest.mark.parametrize("down, quarantined, words", [
    (0, 0, "0 down"), (1, 0, "1 down  (fmctl links --down)"), (0, 2, "0 down, 2 quarantined  (fmctl links --sick)"),
    (1, 2, "1 down, 2 quarantined  (fmctl links --down, fmctl links --sick)")])
def test_status_names_the_commands_that_list_its_links(tmp_path, serve, down, quarantined, words):
    serve(good({"links": 9, "links_down": down, "links_quarantined": quarantined}))
    assert f"\nlinks       9, {words}\n" in fmctl(tmp_path, "status").stdout


@pytest.mark.parametrize("words, near", [
    (["stauts"], "'status'"), (["help", "hots"], "'hosts'"), (["hosts", "--sort", "-verdit"], "'VERDICT'"), (["blorgfnord"], None)])
def test_a_word_that_is_misspelt_names_those_that_are_near(tmp_path, words, near):
    done = fmctl(tmp_path, *words)
    assert (done.returncode, done.stdout) == (2, "")
    first = done.stderr.splitlines()[0]
    assert (near in first if near else "near" not in first) and "; see fmctl " in first, done.stderr


def test_links_show_both_ends(tmp_path, serve):
    serve(good([LINK]))
    assert fmctl(tmp_path, "links").stdout.splitlines()[1].split() == [
        "leaf-1", "33", "spine-1", "1", "no", "Down", "4", "HDR", "-"]


@pytest.mark.parametrize("result, status", [
    ({"sound": True, "proof": {"reachable": 6, "unreachable": 0}}, 0),
    ({"sound": True, "proof": {"reachable": 5, "unreachable": 1, "first": "a to b"}}, 1),
    ({"sound": False, "proof": {"loops": 1, "first": "leaf-1: LID 7"}}, 1),
])
def test_check_ends_with_its_verdict(tmp_path, serve, result, status):
    serve(good(result))
    run = fmctl(tmp_path, "check")
    assert run.returncode == status
    assert result["proof"].get("first", "") in run.stderr


def test_check_says_which_pairs_its_first_finding_is_of_when_all_is_sound(tmp_path, serve):
    serve(good({"sound": True, "proof": {"reachable": 6, "unreachable": 0, "unreachable_special": 4, "first": "unreachable: from a to b"}}))
    run = fmctl(tmp_path, "check")
    assert run.returncode == 0 and "4 pairs with an aggregation node, without" in run.stdout


def test_readback_that_differs_ends_with_1(tmp_path, serve):
    serve(good({"blocks": 9, "differ": 1, "failed": 0}))
    run = fmctl(tmp_path, "check", "--readback")
    assert run.returncode == 1 and "DIFFER" in run.stdout


# ---- dump

def dump_answer(end):
    return lambda request: b'{"ok":true,"result":{"follows":"text"}}\n' + request["args"]["file"].encode() + end


def test_dump_writes_each_file_whole(tmp_path, serve):
    serve(dump_answer(b" text\n" * 50000 + b"\0"))
    assert fmctl(tmp_path, "dump", "out").returncode == 0
    assert sorted(os.listdir(tmp_path / "out")) == ["fmd.far", "opensm-lfts.dump", "opensm-subnet.lst", "opensm.fdbs",
                                                   "opensm.mcfdbs"]
    assert (tmp_path / "out/opensm.fdbs").read_bytes() == b"opensm.fdbs" + b" text\n" * 50000


def test_dump_takes_away_what_there_is_nothing_of(tmp_path, serve):
    serve(lambda request: dump_answer(b"\0")(request).replace(b"fmd.far", b""))
    (tmp_path / "out").mkdir()
    (tmp_path / "out/fmd.far").write_text("of yesterday")
    run = fmctl(tmp_path, "--json", "dump", "out")
    assert run.returncode == 0 and "fmd.far" not in run.stdout, run
    assert sorted(os.listdir(tmp_path / "out")) == ["opensm-lfts.dump", "opensm-subnet.lst", "opensm.fdbs", "opensm.mcfdbs"]


def test_dump_that_breaks_off_ends_with_1(tmp_path, serve):
    serve(dump_answer(b" te"))
    run = fmctl(tmp_path, "dump", "out")
    assert run.returncode == 1 and "incomplete" in run.stderr


def test_dump_into_a_file_ends_with_1(tmp_path, serve):
    serve(dump_answer(b"\0"))
    (tmp_path / "out").write_text("")
    assert fmctl(tmp_path, "dump", "out").returncode == 1


def test_file_that_can_not_be_written_is_named_whole(tmp_path, serve):
    serve(dump_answer(b"\0"))
    (tmp_path / "out/opensm-lfts.dump").mkdir(parents=True)
    run = fmctl(tmp_path, "dump", "out")
    assert (run.returncode, run.stderr) == (1, "fmctl: out/opensm-lfts.dump: Is a directory\n")


# ---- events

def event(n):
    return {"seq": n, "time": f"2026-11-20T10:00:0{n}.000Z", "level": "notice", "kind": "fault", "text": f"event {n}"}


def lines(*values):
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def test_events_follow_shows_each_once(tmp_path, serve):
    server = serve(lines(good([event(1), event(2)]), {"event": event(3)}, {"event": event(4)}))
    run = subprocess.Popen([FMCTL, "-s", tmp_path / "fmd.sock", "events", "-f", "-n", "2"], stdout=subprocess.PIPE, text=True,
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # ignored in a shell's background jobs
    try:
        for n in range(1, 5):
            assert run.stdout.readline().endswith(f"event {n}\n")
        run.send_signal(signal.SIGINT)
        assert run.stdout.read() == ""
        assert server.requests == [("follow", {"count": 2})]
    finally:
        run.kill()
        run.wait()


def test_events_follow_ends_with_the_daemon(tmp_path, serve):
    serve(lines(good([event(1)]), {"event": event(2)})).patient = False
    run = fmctl(tmp_path, "events", "-f")
    assert run.returncode == 3 and "closed the connection" in run.stderr
    assert [line.split()[-1] for line in run.stdout.splitlines()] == ["1", "2"]


@pytest.mark.parametrize("last, reason", [({"ok": False, "error": "not read fast enough"}, "fast enough"),
                                          ([], "invalid event")])
def test_events_follow_ends_with_1_when_dropped(tmp_path, serve, last, reason):
    serve(lines(good([]), {"event": event(1)}, last)).patient = False
    run = fmctl(tmp_path, "--json", "events", "-f")
    assert run.returncode == 1 and reason in run.stderr
    assert json.loads(run.stdout.splitlines()[0]) == event(1)


# ---- offline

def test_generate_writes_what_plan_reads(tmp_path):
    net = tmp_path / "pod.net"
    with open(net, "w") as out:
        assert subprocess.run([FMCTL, "generate", "superpod", "--su", "1"], stdout=out).returncode == 0
    plan = json.loads(fmctl(tmp_path, "--json", "plan", net).stdout)
    assert (plan["hcas"], plan["switches"]) == (256, 12)
    assert plan["proof"]["unreachable"] == plan["proof"]["loops"] == plan["proof"]["credit_cycles"] == 0


@pytest.mark.parametrize("arguments", [["generate"], ["generate", "cube"], ["generate", "superpod", "--su", "0"],
                                       ["generate", "pgft", "2", "4,4"], ["plan"]])
def test_offline_usage_ends_with_2(tmp_path, arguments):
    run = fmctl(tmp_path, *arguments)
    assert run.returncode == 2 and run.stderr and run.stdout == ""


# ---- Again and again

def heed_interrupts():
    """What is started in the background of a shell without job control is born deaf to them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_watch_asks_again_and_again_until_it_is_interrupted(tmp_path, serve):
    server = serve(good([LINK]))
    process = subprocess.Popen([FMCTL, "-s", tmp_path / "fmd.sock", "links", "--watch=0.1", "--down"], stdout=subprocess.PIPE,
                               text=True, preexec_fn=heed_interrupts)
    try:
        lines = [process.stdout.readline() for _ in range(9)]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=100)
    assert [line[:6] for line in lines] == 3 * ["FROM  ", "leaf-1", "\n"]
    assert "\033" not in "".join(lines)
    assert server.requests[:3] == 3 * [("links", {"down": True})]


def test_watch_of_a_daemon_that_is_not_there_ends_with_3(tmp_path):
    assert fmctl(tmp_path, "status", "--watch").returncode == 3


def test_watch_of_what_is_refused_ends_with_the_reason(tmp_path, serve):
    server = serve({"ok": False, "error": "no node matches 'leaf-9'"})
    done = fmctl(tmp_path, "nodes", "leaf-9", "--watch", "0.1")
    assert (done.returncode, done.stdout) == (1, "") and "no node matches 'leaf-9'" in done.stderr
    assert len(server.requests) == 1


def test_watch_of_what_finds_something_wrong_goes_on(tmp_path, serve):
    server = serve(good({"sound": False, "proof": {"loops": 1, "first": "leaf-1: LID 7"}}))
    process = subprocess.Popen([FMCTL, "-s", tmp_path / "fmd.sock", "check", "--watch=0.1"], stdout=subprocess.PIPE, text=True,
                               preexec_fn=heed_interrupts)
    try:
        assert any(line == "\n" for line in process.stdout) and any(line == "\n" for line in process.stdout)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=100)
    assert len(server.requests) >= 2


def test_watch_redraws_a_terminal(tmp_path, serve):
    serve(good([LINK]))
    master, slave = os.openpty()
    process = subprocess.Popen([FMCTL, "-s", tmp_path / "fmd.sock", "links", "--watch", "0.1"], stdout=slave, stderr=slave,
                               preexec_fn=heed_interrupts)
    os.close(slave)
    shown = b""
    try:
        while shown.count(b"\033[H\033[2J") < 3:
            shown += os.read(master, 4096)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=100)
        os.close(master)
    assert b"every 0.1 s: fmctl links" in shown and b"leaf-1" in shown


@pytest.mark.parametrize("rows", [(12, 30), (30, 3)])
def test_watch_keeps_to_the_terminal_when_that_is_resized(tmp_path, serve, rows):
    serve(good([LINK] * 50))
    master, slave = os.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows[0], 80, 0, 0))
    process = subprocess.Popen([FMCTL, "-s", tmp_path / "fmd.sock", "links", "--watch", "0.1"], stdout=slave, stderr=slave,
                               preexec_fn=heed_interrupts)
    os.close(slave)
    shown = b""

    def drawn(count):
        """A screen with so many lines and its end."""
        return any(screen.count(b"\n") == count and b"\033[?7h" in screen for screen in shown.split(b"\033[H\033[2J")[1:])

    try:
        for count in rows:
            fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", count, 80, 0, 0))
            while not drawn(count - 1):
                shown += os.read(master, 4096)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=100)
        os.close(master)


def test_a_fault_and_its_answer_are_one_line_and_two_events(tmp_path, serve):
    told = [{"seq": 7, "time": "T1", "level": "warning", "kind": "link-down", "text": "leaf-1 p33: down", "fault": 7},
            {"seq": 8, "time": "T2", "level": "notice", "kind": "rerouted", "text": "leaf-1 p33: down: rerouted in 3 ms", "what": "leaf-1 p33: down", "fault": 7},
            {"seq": 9, "time": "T3", "level": "notice", "kind": "restored", "text": "x: restored in 3 ms", "what": "x", "fault": 5}]
    serve(good(told))
    assert fmctl(tmp_path, "events").stdout.splitlines() == ["T1  warning  leaf-1 p33: down; rerouted in 3 ms", "T3  notice   x: restored in 3 ms"]
    assert json.loads(fmctl(tmp_path, "--json", "events").stdout) == told


# ---- documents.def

PRINTED = json.loads(pathlib.Path(__file__).with_name("printed.json").read_text())


@pytest.mark.parametrize("case", PRINTED, ids=lambda case: " ".join(case["arguments"]))
def test_a_document_is_printed_as_it_always_was(tmp_path, serve, case):
    serve(good(case["answer"]))
    run = fmctl(tmp_path, *case["arguments"])
    assert (run.stdout.splitlines(), run.returncode) == (case["printed"], case["status"])
