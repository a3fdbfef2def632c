# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The benchmarks' own bookkeeping: parts that cannot be measured, and the tables of README and fmd-performance(7) that are made of their results."""
import os
import pathlib
import signal
import sys
import time

import pytest

BENCH = pathlib.Path(__file__).resolve().parents[1] / "bench"
sys.path.insert(0, str(BENCH))
import parts  # noqa: E402
import readme  # noqa: E402
import run  # noqa: E402
import table  # noqa: E402
import world  # noqa: E402

MACHINE = {"rig": "ibsim", "cpu": "Test CPU", "cpus": 2, "kernel": "6.1", "opensm": "3.3.23", "date": "2026-01-02", "commit": "0123abcd"}
ROWS = [*table.readme(table.share("bring-up, 1,024 HCAs", 0.3, 1.0, "s", 0.25, engine="minhop"), table.share("— peak memory", 15.0, 30.0, "MB")),
        table.share("— SMPs sent", 10, 20, ""), table.unmeasured("tables, 4,096 HCAs", "OpenSM: no line\n within 120 s"),
        *table.readme(table.Row("— their whole proof", 1.5, None, "ms"), table.limit("a cable cut", 20.0, 4000.0, "ms", 80),
                      table.Row("paths asked", 90000.0, 60000.0, "/s"), table.limit("SMPs in a sweep", 48, 48, "", 50))]


def document(rows, **more):
    return {"machine": MACHINE, "rows": [row.json("section") for row in rows], "interrupted": None, **more}


class Processes:
    """What parts.measured wants of a world."""
    def __init__(self):
        self.engines, self.stopped = [], 0

    def stop_all(self):
        self.stopped += 1


def test_readme_has_the_rows_that_were_measured_and_tells_of_missed_bounds():
    made = readme.tables([document(ROWS)], None).splitlines()
    assert made == [".SS On ibsim", "2 x Test CPU, Linux 6.1, 2026-01-02, commit 0123abcd:", ".PP", ".na", ".nh", ".TS",
                    "lw(24n) rw(10n) rw(15n) rw(12n).",
                    "\\&\tfmd\tOpenSM 3.3.23\t",
                    "\\&bring\\-up, 1,024 HCAs\t300 ms\t1 s (minhop)\tT{", "0.30 (bound missed: ≤ 0.25)", "T}",
                    "\\&— peak memory\t15 MB\t30 MB\t0.50",
                    "\\&a cable cut\t20 ms\t4,000 ms\t1/200",
                    "\\&paths asked\t90,000 /s\t60,000 /s\t1.50x",
                    "\\&SMPs in a sweep\t48\t48\t", ".TE", ".hy", ".ad"]


def test_readme_has_five_rows_and_each_is_one_that_the_bench_measures():
    rows = table.readme(*(table.Row(what, 1.0, 2.0, "ms") for what in (*readme.FIVE, "another")))
    made = readme.five(document(rows)).splitlines()
    assert [line.split(" | ")[0] for line in made[4:]] == [f"| {what}" for what in readme.FIVE]
    page = (BENCH.parents[1] / "etc/fmd-performance.7").read_text().replace("\\-", "-")
    assert [what for what in readme.FIVE if what not in page] == []


def test_long_measurements_stand_with_their_date():
    rows = [{**row.json("dump"), "machine": MACHINE} for row in table.readme(table.Row("dump, 16,384 HCAs", 3.0, None, "s"))]
    assert "\\&dump, 16,384 HCAs\t3 s\tT{\n2026\\-01\\-02, 0123abcd\nT}" in readme.tables([document(ROWS)], {"rows": rows})


@pytest.mark.parametrize("lead, trail", [("<!-- ", " -->"), ('.\\" ', "")], ids=["markdown", "roff"])
def test_only_what_is_between_the_markers_is_written(lead, trail):
    begin, end = f"{lead}{readme.BEGIN}{trail}", f"{lead}{readme.END}{trail}"
    text = f"before\n{begin}\nold\n{end}\nbehind\n"
    assert readme.replaced(text, "new") == f"before\n{begin}\nnew\n{end}\nbehind\n"
    assert readme.replaced(readme.replaced(text, "one"), "new") == readme.replaced(text, "new")
    with pytest.raises(readme.NoRun):
        readme.replaced("no markers\n", "new")


def test_readme_stays_as_it_is_without_a_whole_run(tmp_path):
    with pytest.raises(readme.NoRun, match="make bench RIG=fmsim"):
        readme.load(str(tmp_path / "bench-fmsim.json"), "make bench RIG=fmsim")
    with pytest.raises(readme.NoRun, match="interrupted"):
        readme.tables([document(ROWS, interrupted="interrupted")], None)


def test_the_last_line_names_missed_bounds_and_what_was_not_measured():
    assert run.verdict(ROWS) == ("2 of 3 bounds met; missed: bring-up, 1,024 HCAs; "
                                 "not measured: tables, 4,096 HCAs (OpenSM: no line within 120 s)")


@pytest.mark.parametrize("fails, why", [(lambda: time.sleep(60), "not done within 0 s"), (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
                                        (lambda: open("/nowhere"), "No such file")])
def test_a_part_that_fails_or_waits_is_a_row_that_says_why(fails, why):
    processes = Processes()
    (row,), raw = parts.measured(processes, parts.Part("tables", 60, fails), 0.05)
    assert why in row.missing and raw is None and processes.stopped == 1
    assert row.cells()[0].startswith("tables: not measured: ")


def test_an_interrupted_run_keeps_what_it_has(tmp_path, monkeypatch):
    class Section:
        @staticmethod
        def parts(_world, _options):
            def interrupt():
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(60)

            return [parts.Part("first", 60, lambda: ([table.Row("first", 1)], None)), parts.Part("second", 60, interrupt),
                    parts.Part("third", 60, lambda: ([table.Row("third", 3)], None))]

    class Options:
        sections, limit_s = ["one"], 60

    monkeypatch.setitem(run.SECTIONS, "one", Section)
    made = run.Run(Processes(), Options)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
    try:
        assert made.all() == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert [(row.what, row.fmd, row.missing) for row in made.rows] == [("first", 1, None), ("second", None, "interrupted"), ("third", None, "interrupted")]


def test_opensm_reads_nothing_of_the_machine(tmp_path):
    lines = dict(line.split() for line in pathlib.Path(world.write_opensm_conf(str(tmp_path), routing_engine="ftree")).read_text().splitlines())
    assert lines["routing_engine"] == "ftree" and lines["partition_config_file"].startswith(str(tmp_path))
    assert not any(value.startswith("/etc") for value in lines.values())


def test_a_figure_stands_for_itself_where_opensm_has_none():
    row = table.limit("a spine dies", 90.0, None, "ms", 150)
    row.lacks_opensm("no SUBNET UP within 60 s")
    assert row.cells()[1:3] == ["90 ms", "not measured"]
    assert run.verdict([row]) == "1 of 1 bounds met; not measured: a spine dies (OpenSM: no SUBNET UP within 60 s)"
    assert table.faster("tables", 2.0, None, "ms", 300).met is None
