# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Documents for people: as short as a reader has patience for, and what they name is there."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name, most", [("README.md", 900), ("ARCHITECTURE.md", 2500), ("CHANGELOG.md", 300)])
def test_a_document_is_no_longer_than_its_bound(name, most):
    assert len((ROOT / name).read_text().split()) <= most


def test_each_file_that_the_architecture_names_is_there():
    folders = [path for top in ("fm", "routing", "topology", "tests", "etc") for path in (ROOT / top).rglob("*")]
    paths = [str(path.relative_to(ROOT)) for path in folders]
    text = re.sub(r"```.*?```", "", (ROOT / "ARCHITECTURE.md").read_text(), flags=re.S)
    named = [word for word in re.findall(r"`([^`]+)`", text) if re.fullmatch(r"[\w./]*[\w]\.(c|h|py|def|conf|1|7|8)|(fm|routing|topology|tests|etc)/[\w./-]*", word)]
    named = [word for word in named if not re.search(r"NAME|recipe", word)]
    assert len(named) > 80
    assert [word for word in named if not any(path == word.rstrip("/") or path.endswith("/" + word.rstrip("/")) for path in paths)] == []


def test_each_test_that_the_page_of_security_names_is_there():
    page = (ROOT / "etc/fmd-security.7").read_text()
    named = set(re.findall(r"\btest_\w+\.(?:py|c)\b", page))
    there = {path.name for path in (ROOT / "tests").rglob("test_*")}
    assert len(named) > 20 and named <= there
