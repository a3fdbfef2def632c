# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What is no value of an option or a word is wrong usage (2), what the fabric has not is refused (1), for every command that takes one."""
import csv
import io
import json
import pathlib
import re
import subprocess

import pytest

from fabric import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = dict(re.findall(r'^COMMAND\("([^"]+)",\s*"([^"]*)",\s*"', (ROOT / "fm/control/commands.def").read_text(), re.M))
HOST, LEAF = "dgx-su01-01", "leaf-su01-rail0"

# of a usage's word: a value, what is none, and what the reason names
WRONG = {"FORMAT": ("text", "moon", "slurm-yaml"), "N": ("1", "x", "whole number"), "S": ("600", "x", "whole number"), "gpus=N": ("gpus=7", "gpus=x", "gpus=N"), "TIME|DURATION": ("1h", "yesterday", "duration"),
         "PORT": (f"{LEAF}:1", "lid:x", "a LID from 1"), "KIND": ("link-up", "link-upp", "near: 'link-up'"), "LEVEL": ("info", "loud", "debug"), "MODULE": ("mad", "moon", "sweep"),
         "STATE": ("HEALTHY", "MOON", "NO_P2P"), "HOST=STATE": (f"{HOST}=FATAL", f"{HOST}=MOON", "NO_P2P"), "TTL": ("5", "0", "86400"),
         "WHAT": (LEAF, "lid:x", "a LID from 1"), "WHERE": (HOST, "guid:zz", "a GUID as"), "HOST": (HOST, "mlid:1", "an MLID from"),
         "SWITCH": (LEAF, "lid:0", "a LID from"), "LINK|SWITCH": (LEAF, "lid:0", "a LID from"), "FROM": (HOST, "guid:", "a GUID"), "TO": (HOST, "", "a name"),
         "MGID|MLID": ("0xc001", "mlid:1", "0xc000"), "NAME|P_KEY": ("pkey:0xffff", "pkey:0x18001", "P_Key")}
FREE = {"SUBJECT", "DIR", "FILE", "MANAGER", "MASTER", "SOURCE", "REASON", "COMMAND", "FILTER", "NETFILE", "OUT"}  # any text
CASES = [  # (words of a command, with the word of usage that is wrong in braces)
    "topology --format {FORMAT}", "top -n {N}", "history {PORT}", f"history {LEAF}:1 --step {{S}}", "events -n {N}", "events --since {TIME|DURATION}", "events --kind {KIND}", "events --node {WHAT}",
    "events --level {LEVEL}", "loglevel {LEVEL}", "loglevel {MODULE} info", "nodes {WHAT}", "switches {WHAT}", "links {WHAT}", "health {WHAT}",
    "counters {WHAT}", "cables {WHAT}", "top {WHAT}", "hosts {WHAT}", "show {WHAT}", f"show {LEAF} --from {{WHERE}}", "lft {SWITCH}", f"path {{FROM}} {HOST}",
    f"path {HOST} {{TO}}", "groups {MGID|MLID}", "partitions {NAME|P_KEY}", "cordon {WHAT}", "uncordon {WHAT}", "release {WHAT}", "forget {WHAT}",
    "admit {LINK|SWITCH}", "host-accept {WHAT}", "probe ar {SWITCH}", "whatif --fail {WHAT}", "whatif --cordon {WHAT}", "jobs --fail {WHAT}", "whatif --nvswitch {HOST=STATE}", f"nvswitch set {HOST} {{STATE}}", "nvswitch set {HOST} FATAL",
    "nvswitch clear {HOST}", "nvswitch expect {HOST} gpus=7", f"nvswitch expect {HOST} {{gpus=N}}", "nvswitch {HOST}", "nvswitch --host {HOST}", f"health-report s {HOST} {{STATE}} r 5", "health-report s {HOST} FATAL r 5",
    f"health-report s {HOST} FATAL r {{TTL}}"]
PLACES = {"WHAT", "PORT", "WHERE", "HOST", "SWITCH", "LINK|SWITCH", "FROM", "TO"}


def words_of(case, text):
    return [re.sub(r"\{.*\}", lambda _: text, word) for word in case.split(" ")]


def test_every_word_of_every_usage_has_a_case():
    """A command with a new word in its usage belongs into CASES, or into FREE where any text is one."""
    offline = {"plan", "generate", "import-opensm", "help"}
    for name, usage in ROWS.items():
        if name in offline:
            continue
        tried = {re.search(r"\{(.*)\}", case)[1] for case in CASES if case.split(" ")[0] == name}
        for word in re.findall(r"(?:gpus=)?[A-Z][A-Z_]*(?:[|=][A-Z_]+)*", usage):
            assert word in FREE or word in tried, f"{name}: no case for {word}"


@pytest.mark.parametrize("case", CASES)
def test_a_bad_value_is_wrong_usage(pod, case):
    word = re.search(r"\{(.*)\}", case)[1]
    _, bad, expected = WRONG[word]
    done = pod.fmctl(*words_of(case, bad), check=False)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.startswith(f"fmctl: {case.split(' ')[0]}: ") and expected in done.stderr, done.stderr
    assert "\nusage: fmctl " in done.stderr


@pytest.mark.parametrize("case", [case for case in CASES if re.search(r"\{(.*)\}", case)[1] in PLACES])
def test_what_the_fabric_has_not_is_refused(pod, case):
    done = pod.fmctl(*words_of(case, "nobody"), check=False)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert done.stderr.startswith(f"fmctl: {case.split(' ')[0]}: ") and "nobody" in done.stderr and "usage" not in done.stderr


ONE = """Switch\t4 "S-0000000000000010"\t\t# "only" base port 0 lid 1 lmc 0
[1]\t"H-0000000000000020"[1](21)\t\t# "alone mlx5_0" lid 2 4xNDR

Ca\t1 "H-0000000000000020"\t\t# "alone mlx5_0"
[1](21)\t"S-0000000000000010"[1]\t\t# lid 2 lmc 0 "only" lid 1 4xNDR
"""


def test_tables_of_a_fabric_with_one_hca_are_not_called_missing(start, tmp_path):
    net = tmp_path / "one.net"
    net.write_text(ONE)
    fabric = start(net)
    for command in ("status", "check"):
        shown = fabric.fmctl(command).stdout
        assert "tables      verified: 0 port pairs routed, 0 unreachable" in shown and "none yet" not in shown, shown


@pytest.mark.parametrize("words, code", [
    (["links", "nobody"], 1), (["links", "--rail", "x"], 2), (["moon"], 2), (["--moon"], 2), (["show"], 2), (["events", "--kind", "TYPO"], 2),
    (["events", "-f", "--node", "nobody"], 1), (["plan", "/nonexistent"], 1), (["dump", "/proc/x"], 1), (["cabling", "--plan", "/nonexistent"], 1),
    (["whatif", "--fail", "nobody"], 1), (["loglevel", "loud"], 2), (["handover", "nobody"], 1), (["show", b"\xff"], 1)])
def test_with_json_a_failure_is_a_document_too(pod, words, code):
    done = subprocess.run([program("fmctl"), "-s", pod.socket, "--json", *words], capture_output=True, text=True, timeout=100)
    assert done.returncode == code and done.stderr, done
    told = json.loads(done.stdout)
    assert list(told) == ["error"] and told["error"] and (told["error"] in done.stderr or words[-1] == b"\xff"), (told, done.stderr)


def test_with_json_no_daemon_is_a_document_and_a_full_disk_is_none(pod):
    done = subprocess.run([program("fmctl"), "-s", "/nonexistent", "--json", "status"], capture_output=True, text=True, timeout=100)
    assert done.returncode == 3 and "no fmd listens on" in json.loads(done.stdout)["error"]
    with open("/dev/full", "w") as full:
        done = subprocess.run([program("fmctl"), "-s", pod.socket, "--json", "links"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (1, "fmctl: output: No space left on device\n")


@pytest.mark.parametrize("words, reason", [(["links", "--rail", "8"], "no rail 8: this fabric has 0 to 7"),
                                           (["hosts", "--su", "2"], "no scalable unit 2: this fabric has 1 alone")])
def test_a_rail_or_unit_that_is_not_there_is_refused(pod, words, reason):
    done = pod.fmctl(*words, check=False)
    assert (done.returncode, done.stderr) == (1, f"fmctl: {words[0]}: {reason}\n")


@pytest.mark.parametrize("words, rows", [
    ("nodes", None), ("switches", None), ("links", None), ("links --sick", None), ("health", "links"), ("counters", None), ("counters --rates", None),
    (f"history {LEAF}:1", "rows"), ("hosts", None), (f"lft {LEAF}", "entries"), (f"path {HOST} dgx-su01-02", "hops"), ("groups", None), ("partitions", None),
    ("partitions Default", None), ("held", None), ("nvswitch", "hosts")])
def test_csv_has_a_line_for_each_row_of_the_document(pod, words, rows):
    document = json.loads(pod.fmctl("--json", *words.split()).stdout)
    printed = list(csv.reader(io.StringIO(pod.fmctl(*words.split(), "--csv").stdout)))
    assert len(printed) == 1 + len(document[rows] if rows else document) and {len(line) for line in printed} == {len(printed[0])}
    assert all(re.fullmatch(r"[a-z][a-z_.\[\]/+0-9]*", key) for key in printed[0])


def test_csv_of_what_is_no_table_is_wrong_usage(pod):
    for words in (["status"], ["show", LEAF], ["events"], ["nvswitch", "logs"], ["nvswitch", "blocks"], ["collect", "x"], ["diff", "x"]):
        done = pod.fmctl(*words, "--csv", check=False)
        assert (done.returncode, done.stdout) == (2, "") and "--csv" in done.stderr, (words, done)
    assert pod.fmctl("nodes", "--csv", "--json", check=False).returncode == 2


@pytest.mark.parametrize("name", [name for name in ROWS])
def test_an_option_that_is_none_is_wrong_usage(pod, name):
    done = pod.fmctl(name, "--moon", check=False)
    assert (done.returncode, done.stdout) == (2, "") and "moon" in done.stderr, done
    assert not (pod.scratch / "--moon").exists()
