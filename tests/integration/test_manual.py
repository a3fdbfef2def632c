# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Manual pages say what the sources say."""
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def conf_page():
    return subprocess.run(["awk", "-f", ROOT / "etc/conf-page.awk", ROOT / "etc/fmd.conf"], capture_output=True, text=True, check=True).stdout


def test_every_key_has_its_paragraph_in_a_section_of_fmd_conf_5():
    page = conf_page()
    told = re.findall(r"^\.T[PQ]\n\.B (\w+) = ", page, re.M)
    keys = re.findall(r"^#?([a-z]\w*) = .*;$", (ROOT / "etc/fmd.conf").read_text(), re.M)
    assert told == keys and len(keys) > 100
    assert page.count(".SH ") > 10
    for block in page.split(".TP\n")[1:]:
        assert re.search(r"\n[^.\n]", block), block  # a text follows its keys


def test_the_nine_that_sites_want_come_first_in_fmd_conf_and_in_fmd_8():
    sample = (ROOT / "etc/fmd.conf").read_text()
    nine = re.findall(r"^#     (\w+) = ", sample, re.M)
    manual = (ROOT / "etc/fmd.8").read_text().split("You will want these nine:")[1].split(".PP\n")[0]
    assert re.findall(r"^\.TP\n\.B (\w+)$", manual, re.M) == nine and len(nine) == 9
    assert sample.index("these nine") < min(re.search(rf"^#{key} = ", sample, re.M).start() for key in nine)
    assert re.search(r"^\.SH YOU WILL WANT THESE NINE\n(?s:.*)event_hook = .*fmd-event", conf_page().replace("\\-", "-"), re.M)


PAGES = sorted(p.name for p in (ROOT / "etc").glob("*.[1-8]")) + ["fmd.conf.5"]


def rendered(name, tmp_path, width):
    path = ROOT / "etc" / name
    if name == "fmd.conf.5":
        path = tmp_path / name
        path.write_text(conf_page())
    return subprocess.run(["man", "--warnings", "-l", path], capture_output=True, text=True, env={"MANWIDTH": str(width), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})


@pytest.mark.skipif(not shutil.which("man"), reason="no man here")
@pytest.mark.parametrize("name", PAGES)
def test_pages_have_no_warnings(name, tmp_path):
    said = rendered(name, tmp_path, 100)
    assert said.returncode == 0 and said.stderr == "" and len(said.stdout) > 500


@pytest.mark.skipif(not shutil.which("man"), reason="no man here")
@pytest.mark.parametrize("name", PAGES)
def test_no_sentence_runs_into_the_next(name, tmp_path):
    """A request such as .BR joins its words: what follows the name belongs on a line of its own."""
    assert re.findall(r"[A-Za-z]+[.,;:][A-Z][a-z]+", rendered(name, tmp_path, 1000).stdout) == []
