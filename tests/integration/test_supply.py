# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What the programs are made of (fmd-security(7)): the distribution's libraries of a list, and nothing that a build fetches."""
import re
import subprocess

import pytest

from fabric import ROOT, program

BASE = {"libc", "libm"}
LIBRARIES = {"fmd": {"libevent", "libevent_openssl", "libssl", "libcrypto", "libmicrohttpd", "libz", "libconfig", "libjansson", "libsystemd", "libseccomp",
                     "libibumad", "libosmcomp", "libsqlite3"},
             "fmctl": {"libevent", "libcrypto", "libconfig", "libjansson", "libsystemd"}}  # it logs as fmd does
LOADED = {"libcurl"}  # by dlopen(), with the first exporter
FETCHES = re.compile(r"\b(curl|wget|git clone|pip3? install|npm|apt-get|apt install)\s")


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_program_links_the_libraries_of_the_list_alone(name):
    out = subprocess.run(["readelf", "-d", program(name)], check=True, capture_output=True, text=True).stdout
    linked = {re.split(r"-[\d.]+\.so|\.so", library)[0] for library in re.findall(r"\(NEEDED\).*\[(.*?)\]", out)}
    sanitizers = {library for library in linked if re.match(r"lib(asan|ubsan|tsan|gcc_s|stdc\+\+|pthread|dl|rt)$", library)}
    assert linked - sanitizers - BASE == LIBRARIES[name]


def test_libraries_that_are_loaded_later_are_on_the_list_and_in_the_packages():
    sources = [path.read_text() for folder in ("fm", "routing", "topology") for path in (ROOT / folder).rglob("*.c")]
    loaded = {name for text in sources for name in re.findall(r'dlopen\("(\w+)\.so', text)}
    control = (ROOT / "etc/debian/control").read_text()
    assert loaded == LOADED and all(name in control for name in loaded)


def test_a_build_fetches_nothing():
    """But for cross-build, which no build runs: it makes the root of another machine or Debian, from where this machine has its packages."""
    files = [ROOT / "Makefile", ROOT / ".ci/run", *(ROOT / "etc/packaging").rglob("*"), *(ROOT / "etc/debian").rglob("*")]
    texts = {path: path.read_text(errors="replace") for path in files if path.is_file() and path.name != "cross-build"}
    assert not [path for path, text in texts.items() if "cross-build" in text]
    lines = {f"{path.name}: {line.strip()}" for path, text in texts.items() for line in text.splitlines() if FETCHES.search(line.split("#")[0])}
    assert not lines
