# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The table of commands (fm/control/commands.def) and all that is made of it or held to it: help, completion, manual page."""
import os
import pathlib
import re
import shlex
import subprocess

import pytest

from fabric import DEADLINE_S

ROOT = pathlib.Path(__file__).resolve().parents[2]
FMCTL = pathlib.Path(os.environ.get("FMD_BIN", ROOT / "build")).resolve() / "fmctl"
ROW = re.compile(r'^COMMAND\("([^"]+)",\s*"([^"]*)",\s*(NULL|")', re.M)
TYPED = {name: arguments for name, arguments, help in ROW.findall((ROOT / "fm/control/commands.def").read_text()) if help != "NULL"}
OWN = re.compile(r'\{ \.name = "([^"]+)",\s*\.arguments = "([^"]*)"')  # of fmctl alone
TYPED.update(OWN.findall((ROOT / "fm/fmctl/commands.c").read_text()))


def complete(*words):
    return subprocess.run([FMCTL, "--complete-line", " ".join(["fmctl", *words, ""])], capture_output=True, text=True, timeout=DEADLINE_S, check=True).stdout.split()


def manual_tags():
    """What stands at the head of each paragraph of the manual's commands, without its fonts."""
    page = (ROOT / "etc/fmctl.1").read_text()
    commands = page[page.index(".SH LIVE COMMANDS"):]
    tags = re.findall(r"^\.TP\n\.[BIR]+ (.*)$", commands, re.M)
    return [re.sub(r"\s+", " ", re.sub(r"\\f[BIRP]|\"", "", tag).replace("\\-", "-")) for tag in tags]


def test_help_names_each_command_with_its_arguments_in_the_order_of_the_table():
    text = subprocess.run([FMCTL, "--help"], capture_output=True, text=True, timeout=DEADLINE_S, check=True).stdout
    shown = re.findall(r"^  ([^-\s]\S*) (.*)$", text, re.M)
    assert [name for name, _ in shown if name in TYPED] == list(TYPED)
    for name, rest in shown:
        assert rest.startswith(TYPED[name])


@pytest.mark.parametrize("name", TYPED)
def test_help_of_a_command_has_usage_options_columns_and_exit_codes(name):
    text = subprocess.run([FMCTL, "help", name], capture_output=True, text=True, timeout=DEADLINE_S, check=True).stdout
    assert text.startswith(f"usage: fmctl {name}") and "exit codes:" in text
    assert subprocess.run([FMCTL, name, "--help"], capture_output=True, text=True, timeout=DEADLINE_S, check=True).stdout == text
    for option in complete(name):
        assert not option.startswith("--") or option in text


def test_help_of_what_is_no_command_is_a_usage_error():
    for words in (["help", "moon"], ["help", "follow"], ["help", "links", "nodes"]):
        done = subprocess.run([FMCTL, *words], capture_output=True, text=True, timeout=DEADLINE_S)
        assert done.returncode == 2 and done.stdout == "" and done.stderr


def test_what_only_fmctl_asks_for_can_not_be_typed():
    for name in ("follow", "nvswitch-set"):
        assert name not in TYPED
        assert subprocess.run([FMCTL, name], capture_output=True, timeout=DEADLINE_S).returncode == 2


@pytest.mark.parametrize("name", TYPED)
def test_manual_has_the_command(name):
    assert any(re.match(rf"(.*, )?{re.escape(name)}\b(?!-)", tag) for tag in manual_tags()), f"etc/fmctl.1 does not tell of {name}"


@pytest.mark.parametrize("name", TYPED)
def test_manual_has_its_options(name):
    page = re.sub(r"\\f[BIRP]|\"", "", (ROOT / "etc/fmctl.1").read_text()).replace("\\-", "-")
    for option in re.findall(r"(?<![\w-])--?[a-z]+", TYPED[name]):
        assert re.search(rf"(?<![\w-]){option}\b", page), f"etc/fmctl.1 does not tell of {name} {option}"


def test_readme_names_commands_that_there_are():
    named = re.findall(r"`fmctl ([a-z][a-z-]*)", (ROOT / "README.md").read_text())
    assert len(set(named)) >= 5 and set(named) <= set(TYPED)


def test_completion_begins_with_the_commands():
    assert complete()[:len(TYPED)] == list(TYPED)
    assert complete("--json", "-s", "status") [:len(TYPED)] == list(TYPED)


@pytest.mark.parametrize("words, offered", [
    (["links"], ["--leaf", "--rail", "--su", "--host", "--down", "--unhealthy", "--class", "--sick", "--sort"]),
    (["links", "--class"], ["compute", "storage", "management"]), (["links", "--leaf"], []),
    (["topology"], ["--format"]),
    (["topology", "--format"], ["text", "json", "ibnetdiscover", "dot", "svg", "slurm", "slurm-yaml", "k8s", "lst"]),
    (["--json", "-s", "/run/x", "check"], ["--readback"]),
    (["nvswitch"], ["--leaf", "--su", "--host", "--unhealthy", "--sort", "logs", "blocks", "set", "clear", "expect"]),
    (["whatif", "--cordon"], []), (["path"], []), (["moon"], []), (["follow"], []),
    (["plan", "--engine"], ["ftree", "updn", "updn-root"]),
    (["generate", "--system"], ["a100", "h100", "b200"])])
def test_completion_offers_what_usage_spells_out(words, offered):
    assert complete(*words) == offered


def complete_in_bash(*lines):
    """What bash would put in place of the last word, by the function that is installed."""
    script = f"PATH={FMCTL.parent}:$PATH; source {ROOT}/etc/completion/fmctl\n" + "".join(
        f'COMP_LINE={shlex.quote(line)}; COMP_POINT=${{#COMP_LINE}}; _fmctl; printf "%s|" "${{COMPREPLY[@]}}"; echo\n' for line in lines)
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=DEADLINE_S, check=True)
    return [line.rstrip("|").split("|") for line in done.stdout.splitlines()]


def test_completion_works_in_bash():
    assert complete_in_bash("fmctl topology --format s", "fmctl un", "fmctl --json  links --le", "fmctl links --sort -up", "fmctl help unc", "fmctl links --class=st", "fmctl links --class='st") == [
        ["svg", "slurm", "slurm-yaml"], ["uncordon"], ["--leaf"], ["-up"], ["uncordon"], ["storage"], ["storage"]]
