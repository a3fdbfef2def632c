# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The house's own checks can fail, the sums are right, and what is installed is where it belongs. Needs no fabric."""
import os
import pathlib
import re
import signal
import subprocess

import pytest

from fabric import poll

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("FMD_BIN", ROOT / "build")).resolve()


def run(*command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, **options)


# ---- check-layers

def layers(root, path, line):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"/* a file */\n{line}\n")
    return run(ROOT / "tests/check-layers", root)


def test_this_tree_keeps_its_layers():
    result = run(ROOT / "tests/check-layers", ROOT)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("path, line", [
    ("topology/a.c", '#include "routing/ftree/route.h"'),
    ("topology/a.h", '#include "fm/loop/log.h"'),
    ("routing/a.c", '#include "fm/loop/loop.h"'),
    ("fm/loop/a.c", '#include "fm/mad/mad.h"'),
    ("fm/mad/a.c", '#include "fm/inventory/inventory.h"'),
    ("fm/sa/a.c", '#include "fm/sweep/sweep.h"'),
    ("fm/program/a.c", '#include "fm/fabric/fabric.h"'),
    ("fm/fabric/fabric.c", '#include "fm/control/control.h"'),
    ("fm/fabric/watch.c", '#include "fm/http/http.h"'),
    ("fm/fabric/warn.c", '#include "fm/nvswitch/nvswitch.h"'),
    ("fm/rebalance/module.c", '#include "fm/restart/links_own.h"'),
    ("fm/rebalance/module.c", '#include "fm/fabric/pipe.h"'),
    ("fm/nvswitch/nvswitch.c", '#include "fm/fabric/request.h"'),
    ("fm/control/a.c", '#include "fm/inventory/inventory.h"'),
    ("fm/fmctl/a.c", '#include "fm/loop/log.h"'),
    ("fm/opensm/a.c", '#include "fm/fabric/fabric.h"'),
    ("fm/conf/conf.c", "#include <event2/event.h>"),
    ("fm/sweep/a.c", "#include <infiniband/umad.h>"),
    ("fm/sweep/a.c", "lid = ntohs(raw);"),
    ("routing/a.c", "x = cl_hton16(y);"),
    ("fm/sa/a.c", "x = __builtin_bswap32(y);"),
])
def test_upward_arrow_is_found_and_named(tmp_path, path, line):
    result = layers(tmp_path, path, line)
    assert result.returncode == 1
    assert result.stdout.startswith(f"{path}:2: ")


@pytest.mark.parametrize("path, line", [
    ("routing/a.c", '#include "topology/snapshot/topo.h"'),
    ("fm/program/a.c", '#include "fm/inventory/inventory.h"'),
    ("fm/fabric/fabric.c", '#include "fm/sa/sa.h"'),
    ("fm/mad/wire_sa.c", "lid = ntohs(raw);"),
    ("fm/loop/loop.c", "#include <event2/event.h>"),
    ("fm/sweep/a.c", "/* ntohs(raw) would be wrong here */"),
    ("fm/main.c", '#include "fm/control/control.h"'),
])
def test_downward_arrow_is_fine(tmp_path, path, line):
    assert layers(tmp_path, path, line).returncode == 0


def test_empty_tree_is_no_success(tmp_path):
    assert run(ROOT / "tests/check-layers", tmp_path).returncode == 1


# ---- check-headers

def headers(root, text):
    """What check-headers says of a header with this text from its line 4 on."""
    file = root / "fm/new/a.h"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"/* a: a header. */\n#ifndef A_H\n\n{text}\n#endif\n")
    result = run(ROOT / "tests/check-headers", root)
    return result.returncode, result.stdout.strip()


def test_the_headers_of_this_tree_say_what_their_functions_do():
    result = run(ROOT / "tests/check-headers", ROOT)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("line, text, what", [
    (4, "void a(int x);", "a(): no comment"),
    (6, "/* Of a struct. */\nstruct b { int x; };\nvoid a(int x);", "a(): no comment"),
    (6, "/* A comment of other lines. */\n\nvoid a(int x,\n\tint y);", "a(): no comment"),
    (5, "void b(void); /* Its own. */\nvoid a(void);", "a(): no comment"),
    (6, "void b(void) __attribute__((cold)); /* Its own\n * on two lines. */\nvoid a(void);", "a(): no comment"),
    (5, "/* Makes one. */\nstruct b *a(void);", "a(): whose is what it returns, until when is it valid, when is it NULL?"),
    (5, "/* The name. */\nconst char *a(int x);", "a(): whose is what it returns, until when is it valid, when is it NULL?"),
    (5, "/* Writes x. */\nint a(int x);", "a(): what do the values mean that it returns?"),
    (5, "/* Writes x. */\nbool a(int x) __attribute__((warn_unused_result));", "a(): what do the values mean that it returns?"),
])
def test_prototype_without_its_words_is_found_and_named(tmp_path, line, text, what):
    assert headers(tmp_path, text) == (1, f"fm/new/a.h:{line}: {what}")


@pytest.mark.parametrize("text", [
    "/* Above it. */\nvoid a(void);",
    "void a(int x,\n\tint y); /* Behind it. */",
    "/* Above a run: false when there is none. */\nbool a(void);\nbool b(void); /* this one for x */\nbool c(void);",
    "/* The name of x, a literal. */\nconst char *a(int x);",
    "/* The caller frees it; NULL when x is 0. */\nstruct b *a(int x);",
    "/* 0 or -errno. */\nint a(int x);",
    "/* Of the port at the other end. */\nbool a_is_open(void);",
    "typedef void fn(int x);\nextern const int y;\nstruct b { int (*a)(int x); };\n#define A(x) f(x)",
    "/* A body. */\nstatic inline int a(int x)\n{\n\treturn b(x);\n}",
])
def test_prototype_with_its_words_is_fine(tmp_path, text):
    assert headers(tmp_path, text) == (0, "check-headers: 1 headers say what their functions do")


@pytest.mark.parametrize("line, text, what", [
    (4, "struct a { bool said; };", "not the field's word: said"),
    (5, "/* Takes it.\n * Nobody is told of it. */\nvoid a(int x);", "not the field's word: told"),
    (4, "enum { LINK_TOLD_US = 1 };", "not the field's word: TOLD"),
    (4, "void a_make_room(int x); /* Frees memory. */", "not the field's word: make_room"),
    (4, "/* False: there is no room for it. */\nbool a(int x);", "not the field's word: is no room"),
    (4, "/* Not in haste. */\nvoid a(int x);", "not the field's word: haste"),
    (4, "/* Ends the trouble of it. */\nvoid a(int x);", "not the field's word: trouble"),
    (5, "struct a { int x;\n\tint y; }; /* ..up to there */", "a comment that another one continues"),
    (4, "struct a { int x; /* from here, .. */\n\tint y; };", "a comment that another one continues"),
])
def test_a_word_that_is_not_the_fields_is_found_and_named(tmp_path, line, text, what):
    assert headers(tmp_path, text) == (1, f"fm/new/a.h:{line}: {what}")


@pytest.mark.parametrize("text", [
    '#define A "nobody said or told: no room for trouble"',
    '/* Written as {"told", "trouble"} and told=1f, and 1 .. 3; "" .. "x". */\nvoid a(int x);',
    "struct a_room { struct room *room; }; /* a room of the manager, and no room calls it */",
    "/* A backseat, fables untold, the hasty, a fold. */\nvoid trouble_set(int x);",
])
def test_the_contracts_words_and_other_words_are_fine(tmp_path, text):
    assert headers(tmp_path, text) == (0, "check-headers: 1 headers say what their functions do")


def test_words_are_looked_for_in_sources_too(tmp_path):
    (tmp_path / "fm/new").mkdir(parents=True)
    (tmp_path / "fm/new/a.c").write_text("/* a source. */\nint said;\n")
    assert headers(tmp_path, "/* Takes it. */\nvoid a(int x);") == (1, "fm/new/a.c:2: not the field's word: said")


# ---- check-sizes

@pytest.fixture
def sized(tmp_path):
    """A tree of one folder with three code lines in one function; what check-sizes says of it under a budget, line by line."""
    (tmp_path / "fm/new").mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / "fm/new/a.c").write_text("/* a file */\nint a(void)\n{ return 1;\n}\n")

    def check(budget):
        (tmp_path / "tests/budget").write_text(budget)
        result = run(ROOT / "tests/check-sizes", tmp_path)
        return result.returncode, result.stdout.splitlines()
    return check


def test_a_folder_within_its_budget_is_fine(sized):
    assert sized("folder fm/new 3  # all of it\nfunctions 1\n")[0] == 0


@pytest.mark.parametrize("budget, what", [
    ("folder fm/new 2\n", "tests/budget: folder fm/new: 3, at most 2"),
    ("folder fm/new 3\nfunctions_per_kloc 45\n", "tests/budget: functions_per_kloc: 250, at most 45"),
    ("folder fm/new 3\nfolder fm/old 9\n", "tests/budget: folder fm/old: there is none"),
    ("# nothing\n", "tests/budget: folder fm/new: has no bound (code lines: 3)"),
])
def test_what_grew_past_its_budget_is_named(sized, budget, what):
    assert sized(budget) == (1, [what])


def test_a_long_function_is_named(sized, tmp_path):
    (tmp_path / "fm/new/a.c").write_text("int a(void)\n{\n" + "\t;\n" * 58 + "}\n")
    assert sized("folder fm/new 99\n") == (1, ["fm/new/a.c:1: a function of 61 lines, at most 60: int a(void)"])


# ---- check-calls

def calls(tmp_path, **files):
    """What check-calls says of sources like {"fm_sweep_a": "b c"}: a function of each name, which calls those."""
    for name, called in files.items():
        path = tmp_path / (name.replace("_", "/") + ".c")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"void {c}(void);\n" for c in called.split()) +
                        f"void {path.stem}(void)\n{{\n" + "".join(f"\t{c}();\n" for c in called.split()) + "}\n")
        subprocess.run(["cc", "-c", "-o", path.with_suffix(".o"), path], check=True)
    result = run(ROOT / "tests/check-calls", tmp_path, tmp_path)
    return result.returncode, [line for line in result.stdout.splitlines() if ": note it there" not in line]


def test_rooms_that_call_each_other_by_a_third_are_found(tmp_path):
    status, told = calls(tmp_path, fm_sweep_a="b", fm_program_b="c", fm_sm_c="a")
    assert (status, told) == (1, ["rooms call each other: fm/program fm/sm fm/sweep"])


def test_files_of_a_room_that_call_each_other_are_found(tmp_path):
    status, told = calls(tmp_path, fm_sm_a="b", fm_sm_b="c", fm_sm_c="a")
    assert (status, told) == (1, ["fm/sm: circles of [3] files where KNOWN has []: fm/sm/a fm/sm/b fm/sm/c"])


def test_calls_that_all_lead_down_are_fine(tmp_path):
    assert calls(tmp_path, fm_sweep_a="b c", fm_sweep_b="c", fm_core_c="")[1] == []


def test_the_main_file_is_above_all_rooms_and_called_by_none(tmp_path):
    assert calls(tmp_path, fm_main="control", fm_control_control="fabric", fm_fabric="")[1] == []
    status, told = calls(tmp_path, fm_main="control", fm_control_control="fabric", fm_fabric="main")
    assert (status, told) == (1, ["rooms call each other: fm fm/control fm/main"])


# ---- run-tests

def program(folder, name, text, status):
    file = folder / name
    file.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {status}\n")
    file.chmod(0o755)
    return file


PASSING = "[==========] 3 test(s) run.\n[  PASSED  ] 2 test(s).\n[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] x"
FAILING = "[  PASSED  ] 1 test(s).\n[  FAILED  ] 2 test(s), listed below:\n[  FAILED  ] a\n[  FAILED  ] b"


def sums(*what):
    result = run(ROOT / "tests/run-tests", *what)
    return result.returncode, result.stdout.splitlines()[-1]


def test_results_of_programs_and_pytest_are_summed(tmp_path):
    (tmp_path / "py").mkdir()
    (tmp_path / "py" / "test_two.py").write_text("def test_a(): pass\ndef test_b(): pass\n")
    good = program(tmp_path, "good", PASSING, 0)
    assert sums(good, good, tmp_path / "py") == (0, "6 passed, 0 failed, 2 skipped")


def test_a_marker_chooses_tests_and_their_simulator(tmp_path):
    (tmp_path / "test_rig.py").write_text(
        "import os\ndef test_a(): assert (os.environ['ONLY'], os.environ['RIG']) == ('on_ibsim', 'ibsim')\n")
    assert sums(f"on_ibsim:{tmp_path}") == (0, "1 passed, 0 failed, 0 skipped")


def test_failures_count_and_fail_the_run(tmp_path):
    (tmp_path / "py").mkdir()
    (tmp_path / "py" / "test_bad.py").write_text("def test_a(): assert False\n")
    bad = program(tmp_path, "bad", FAILING, 2)
    assert sums(bad) == (1, "1 passed, 2 failed, 0 skipped")
    assert sums(tmp_path / "py") == (1, "0 passed, 1 failed, 0 skipped")


RUNS = """[==========] Running 3 test(s).
[ RUN      ] one
noise of one
[       OK ] one
[ RUN      ] two
expected 1, got 2
two.c:7: error: Failure!

[  FAILED  ] two
[ RUN      ] three
noise of three"""


def failures(*what):
    """What stands between the results and the sums."""
    lines = run(ROOT / "tests/run-tests", *what).stdout.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("failed: "))
    return lines[first:-1]


def test_failed_tests_stand_at_the_end_by_name_with_their_last_lines(tmp_path):
    (tmp_path / "py").mkdir()
    (tmp_path / "py" / "test_bad.py").write_text("import pytest\n\n\ndef test_a():\n    assert 1 == 2, 'told'\n\n\n@pytest.fixture\n"
                                                 "def broken():\n    raise OSError('gone')\n\n\ndef test_b(broken): pass\n")
    bad, mute = program(tmp_path, "bad", f"{RUNS}\n{FAILING}", 2), program(tmp_path, "mute", "a last word", 0)
    assert failures(bad) == [f"failed: {bad}: two", "    expected 1, got 2", "    two.c:7: error: Failure!",
                             f"failed: {bad}: three, not ended", *(f"    {line}" for line in ("noise of three", *FAILING.splitlines()))]
    assert failures(mute) == [f"failed: {mute}: status 0", "    a last word"]
    told = failures(tmp_path / "py")
    file = tmp_path / "py" / "test_bad.py"
    assert [line for line in told if line.startswith("failed: ")] == [f"failed: {file}: test_a", f"failed: {file}: test_b"]
    assert any("told" in line for line in told) and any("OSError: gone" in line for line in told)


def test_program_that_dies_has_failed(tmp_path):
    assert sums(program(tmp_path, "dead", PASSING, "$(kill -SEGV $$)")) == (1, "2 passed, 1 failed, 1 skipped")
    assert sums(tmp_path / "absent") == (1, "0 passed, 1 failed, 0 skipped")


def test_nothing_run_is_no_success(tmp_path):
    (tmp_path / "py").mkdir()
    assert sums(tmp_path / "py") == (1, "0 passed, 0 failed, 0 skipped")
    assert sums(program(tmp_path, "mute", "", 0)) == (1, "0 passed, 1 failed, 0 skipped")


def test_skipped_tests_and_seconds_of_phases_are_told_before_the_sums(tmp_path):
    (tmp_path / "py").mkdir()
    (tmp_path / "py" / "test_one.py").write_text("import pytest\n\n\ndef test_a(): pytest.skip('no lamp')\n")
    lazy = program(tmp_path, "lazy", "[ RUN      ] c\nno rope\n[  SKIPPED ] c\n[  PASSED  ] 0 test(s).\n[  SKIPPED ] 1 test(s), listed below:", 0)
    phases = tmp_path / "phases"
    assert run(ROOT / "tests/phase", "the first", "true", env={**os.environ, "PHASES": str(phases)}).returncode == 0
    assert run(ROOT / "tests/phase", "a bad one", "false", env={**os.environ, "PHASES": str(phases)}).returncode == 1
    told = run(ROOT / "tests/run-tests", lazy, tmp_path / "py", env={**os.environ, "PHASES": str(phases)}).stdout.splitlines()
    assert sorted(told[-4:-2]) == [f"skipped: {lazy}: c: no rope", f"skipped: {tmp_path}/py/test_one.py: test_a: no lamp"]
    assert re.fullmatch(r"seconds: the first [\d.]+, unit [\d.]+, integration [\d.]+, of processors [\d.]+", told[-2])
    assert told[-1] == "0 passed, 0 failed, 2 skipped"


# ---- again

def test_rounds_of_one_tree_are_summed_up_and_gone_on_with(tmp_path):
    good, bad = program(tmp_path, "good", PASSING, 0), program(tmp_path, "bad", FAILING, 1)
    again = [ROOT / "tests/again", "--log", tmp_path / "log"]
    first = run(*again, "--rounds", "1", good)
    assert (first.returncode, first.stdout.splitlines()[-1]) == (0, "1 rounds, 0 failures")
    with open(tmp_path / "log", "a") as log:
        log.write('{"tree": "another", "failed": ["x"]}\n{"tree": "cut')
        log.write("\n")
    more = run(*again, "--rounds", "2", bad)
    assert (more.returncode, more.stdout.splitlines()[-1]) == (1, "2 rounds, 1 failures")
    assert more.stdout.count("round 2 of 2, seed ") == 1 and "round 1 of" not in more.stdout
    assert run(*again, "--rounds", "2", good).stdout.splitlines()[-1] == "2 rounds, 1 failures"


def alive(pid):
    """One that nobody has waited for yet is not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_what_keeps_the_machine_busy_ends_with_the_one_that_is_killed(tmp_path):
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\necho $$ >$0.new\nmv $0.new $0.pid\nexec sleep 600\n")
    slow.chmod(0o755)
    with subprocess.Popen([ROOT / "tests/again", "--rounds", "1", "--log", tmp_path / "log", slow], stdout=subprocess.PIPE, text=True) as again:
        loops = re.fullmatch(r"busy: (\d+) (\d+)\n", again.stdout.readline()).groups()
        test = poll(lambda: (tmp_path / "slow.pid").exists() and int((tmp_path / "slow.pid").read_text()), "the round is under way")
        assert all(alive(loop) for loop in loops)
        again.kill()
    poll(lambda: not any(alive(loop) for loop in loops), "the busy loops are gone")
    os.kill(test, signal.SIGKILL)


# ---- check-names

def names(root, *tests):
    source = root / "tests/unit/test_x.c"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text("".join(f"\t\tcmocka_unit_test(\n\t\t\t{test}),\n" for test in tests))
    result = run(ROOT / "tests/check-names", root)
    return result.returncode, result.stdout.splitlines()


def test_a_test_that_went_without_a_successor_is_named(tmp_path):
    (tmp_path / "tests/names").mkdir(parents=True)
    (tmp_path / "tests/names/known").write_text("a\nb\nb\n")
    assert names(tmp_path, "a", "b", "b", "c")[0] == 0
    assert names(tmp_path, "a", "b") == (1, ["b: 1 of 2 are left, and no successor stands in tests/names/successors"])
    (tmp_path / "tests/names/successors").write_text("b -> c: they are one\n")
    assert names(tmp_path, "a", "b", "c")[0] == 0
    assert names(tmp_path, "a", "b") == (1, ["b: its successor c is no test"])


# ---- touched

def test_a_change_touches_what_includes_it_and_what_mirrors_its_folder(tmp_path):
    for path, text in {"fm/sa/a.c": "", "fm/sa/a.h": "", "fm/sm/b.h": "", "tests/unit/fm/sa/test_c.c": "", "tests/unit/fm/sm/test_d.c": '#include "fm/sa/a.h"\n',
                       "tests/unit/fm/sm/test_e.c": '#include "fm/sm/b.h"\n'}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        run("git", *command, cwd=tmp_path)

    def touched():
        return run(ROOT / "tests/touched", "objects", "times", "40", cwd=tmp_path).stdout.split()

    assert touched() == []
    (tmp_path / "fm/sa/a.c").write_text("int a;\n")
    assert touched() == ["tests/unit/fm/sa/test_c.c", "tests/unit/fm/sm/test_d.c"]
    (tmp_path / "objects/tests/unit/fm/sm").mkdir(parents=True)
    (tmp_path / "objects/tests/unit/fm/sm/test_e.d").write_text("x.o: tests/unit/fm/sm/test_e.c \\\n fm/sm/b.h fm/sa/a.h\n\nfm/sm/b.h:\n")
    (tmp_path / "times").write_text('{"b/tests/test_c": 50}')
    assert touched() == ["tests/unit/fm/sm/test_d.c", "tests/unit/fm/sm/test_e.c"]


# ---- fmd's command line

def test_sample_configuration_is_right():
    result = run(BIN / "fmd", "--check-config", ROOT / "etc/fmd.conf")
    assert (result.returncode, result.stderr) == (0, "")


def test_wrong_configuration_is_named_by_file_and_line(tmp_path):
    conf = tmp_path / "fmd.conf"
    conf.write_text("port = 1;\nsm_priority = 16;\n")
    reason = f"{conf}:2: sm_priority = 16 is outside 0..15"
    result = run(BIN / "fmd", "--check-config", conf)
    assert (result.returncode, result.stderr) == (1, reason + "\n")
    result = run(BIN / "fmd", "-c", conf)
    assert (result.returncode, result.stderr) == (2, f"<3>core: {reason}\n")  # the journal's error level


def test_configuration_that_was_named_has_to_be_there(tmp_path):
    assert run(BIN / "fmd", "-c", tmp_path / "none.conf").returncode == 2


@pytest.mark.parametrize("arguments", [["--frobnicate"], ["-c"], ["extra"]])
def test_wrong_usage_ends_with_2(arguments):
    result = run(BIN / "fmd", *arguments)
    assert result.returncode == 2
    assert "usage: fmd" in result.stderr


def test_version_and_help_end_with_0():
    assert re.fullmatch(r"fmd \d+\.\d+\.\d+(\+[0-9a-f]{7,}(\.changed)?)?\n", run(BIN / "fmd", "--version").stdout)
    assert "--check-config" in run(BIN / "fmd", "--help").stdout


def test_folder_that_cannot_be_made_ends_with_1(tmp_path):
    (tmp_path / "file").write_text("")
    conf = tmp_path / "fmd.conf"
    conf.write_text(f'state_dir = "{tmp_path}/file";\nsocket = "{tmp_path}/fmd.sock";\n')
    result = run(BIN / "fmd", "-c", conf)
    assert (result.returncode, result.stderr) == (1, f"<3>core: {tmp_path}/file is not a directory\n")


# ---- The manual

def test_every_kind_of_event_is_in_the_manual():
    """Those that stand beside their level in the sources; the others are put together there."""
    manual = (ROOT / "etc/fmd-events.7").read_text().replace("\\-", "-")
    known = set(re.split(r"[,\s]+", " ".join(re.findall(r"^\.TP\n\.B (.*)$", manual, re.M))))
    told = set()
    for source in (ROOT / "fm").rglob("*.c"):
        for call in re.findall(r"event_log_add\(([^;]*?)\);", source.read_text(), re.S):
            told |= set(re.findall(r'LOG_[A-Z]+,\s*"([a-z-]+)"', call))
    assert len(told) > 40 and told - known == set()
    listed = re.findall(r'^\t"([a-z-]+)",$', (ROOT / "fm/events/event_kinds.c").read_text(), re.M)
    assert listed == sorted(known)  # what `events --kind` takes


# ---- make install

def install(root, *more):
    """What is built already: -o keeps make from building it again."""
    result = run("make", "-C", ROOT, f"BIN={BIN}", "-o", BIN / "fmd", "-o", BIN / "fmctl", "install",
                 f"DESTDIR={root}", *more)
    assert result.returncode == 0, result.stderr


def test_install_puts_everything_in_place(tmp_path):
    install(tmp_path, "PREFIX=/usr")
    for path in ("usr/sbin/fmd", "usr/bin/fmctl", "usr/share/man/man8/fmd.8", "usr/share/man/man1/fmctl.1", "usr/share/bash-completion/completions/fmctl",
                 "lib/systemd/system/fmd.service", "lib/systemd/system/fmd@.service", "etc/fmd/fmd.conf", "etc/fmd/partitions.conf.example"):
        assert (tmp_path / path).is_file(), path
    unit = (tmp_path / "lib/systemd/system/fmd.service").read_text()
    assert "ExecStart=/usr/sbin/fmd -c /etc/fmd/fmd.conf" in unit
    assert not re.search(r"@\w+@", unit)


def test_the_service_is_started_again_however_long_a_port_is_missing():
    unit = (ROOT / "etc/fmd.service").read_text().splitlines()
    assert "StartLimitIntervalSec=0" in unit  # else systemd gives up after some tries
    assert "Restart=on-failure" in unit
    assert any(line.startswith(("Wants=", "After=")) and "modprobe@ib_umad.service" in line for line in unit)


def test_install_leaves_an_existing_configuration_alone(tmp_path):
    (tmp_path / "etc/fmd").mkdir(parents=True)
    (tmp_path / "etc/fmd/fmd.conf").write_text("# mine\n")
    install(tmp_path)
    assert (tmp_path / "etc/fmd/fmd.conf").read_text() == "# mine\n"
    assert (tmp_path / "usr/local/sbin/fmd").is_file()
