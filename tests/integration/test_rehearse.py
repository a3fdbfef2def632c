# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""README's "Rehearse": fmsim with a command behind it, from where it was built and from where it was installed."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from fabric import ROOT, program


@pytest.fixture(params=["built", "installed"])
def home(request, tmp_path):
    """Folder of fmsim and fmctl."""
    built = program("fmd").parent
    if request.param == "built":
        return built
    for name, folder in (("fmsim", "bin"), ("fmctl", "bin"), ("fmd", "sbin"), ("libfmsim-umad.so", "lib/fmd")):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        shutil.copy(built / name, tmp_path / folder / name)
    return tmp_path / "bin"


def rehearse(home, net, *command, **more):
    environment = {**os.environ, "PATH": f"{home}:/usr/sbin:/usr/bin:/bin"}
    return subprocess.run(["fmsim", net, "--", *command], cwd=net.parent, env=environment, capture_output=True, text=True, timeout=120, **more)


def test_the_lines_of_the_readme_do_as_they_say(home, pod_net):
    """Each line of the block is typed as it stands there, but for a cable that this fabric has."""
    block = re.search(r"## Rehearse.*?```\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
    lines = [re.sub(r"\s+#.*", "", line).replace("leaf-01:33", "leaf-su01-rail0:33") for line in block.splitlines()]
    make, begin, *typed = lines
    assert make.startswith("fmctl topology") and begin == "fmsim my.net --"
    before = rehearse(home, pod_net, "sh", "-ec", make)
    assert before.returncode == 0, before.stderr
    net = pod_net.parent / "my.net"
    assert net.read_text().count("\nSwitch") == 12
    done = rehearse(home, net, "sh", "-ec", "\n".join([*typed, "until fmctl events | grep 'rail0 p33.*rerouted'; do :; done"]))
    assert done.returncode == 0 and "leaf-su01-rail0 p33" in done.stdout, done.stdout + done.stderr


def test_a_shell_begins_where_no_command_is_named(home, pod_net):
    done = rehearse(home, pod_net, input="fmctl status\nsminfo\nexit 3\n")
    assert done.returncode == 3 and "256 HCAs" in done.stdout and "SMINFO_MASTER" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("long", [False, True], ids=["TMPDIR", "a TMPDIR too long for a socket"])
def test_nothing_is_left_behind(home, pod_net, long):
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        scratch = pathlib.Path(short, "t" * 60 if long else "t")
        scratch.mkdir()
        done = subprocess.run([home / "fmsim", pod_net, "--", "sh", "-c", "echo $FMSIM"], env={**os.environ, "TMPDIR": str(scratch)},
                              capture_output=True, text=True, timeout=120)
        socket = pathlib.Path(done.stdout.strip())
        assert socket.parent.parent == (pathlib.Path("/tmp") if long else scratch), done.stderr
        assert not socket.parent.exists() and not list(scratch.iterdir())
