# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""README's "Rehearse": fmsim with a command behind it, from where it was built and from where it was installed."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from fabric import ROOT, poll, program


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


# Each line of fmd-tutorial(7) that is typed, its exit code, and what it shows.
TUTORIAL = [
    ("fmctl generate superpod --su 1 > pod.net", 0, r"^$"),
    ("fmsim pod.net --", None, None),
    ("fmctl status", 0, r"fabric +UP;.*\n.*256 HCAs, 12 switches.*\n.*512, 0 down"),
    ("fmctl check", 0, r"65280 port pairs routed, 0 unreachable; 0 loops, 0 credit loops"),
    ("fmctl path dgx-su01-01 dgx-su01-17", 0, r"(dgx-su01-01 mlx5_\d+ .*rail\d\n){8}"),
    ("fmctl health --read", 0, r"0 ports unhealthy, 0 warned"),
    ("fmsim -t 'load shift 16 50%'", 0, r"slowest flow 100%"),
    ("fmctl health --read", 0, r"0 ports unhealthy, 0 warned"),
    ("fmctl top -n 3", 0, r"load known for 512\n.*LOAD %.*(\n.*mlx5.*){3}"),
    ("fmctl whatif --check --fail leaf-su01-rail2", 1, r"^lost +32 HCAs lost: 32 hosts keep 7 of 8 HCAs"),
    ("fmctl hosts leaf-su01-rail2 --hostlist", 0, r"^dgx-su01-\[01-32\]\n$"),
    ("fmsim -t 'node off leaf-su01-rail2'", 0, r""),
    ("fmctl status --check", 2, r"32 HCAs cut off: leaf-su01-rail2 is down"),
    ("fmctl events -n 5", 0, r"leaf switch down: 32 HCAs lost connectivity; rerouted in .* entries"),
    ("fmctl path dgx-su01-01 dgx-su01-17", 1, r"leaf-su01-rail2 is down"),
    ("fmsim -t judge", 0, r"^pairs_dead 0 .*lids_moved 0 loops 0 cycles 0"),
    ("fmsim -t 'node on leaf-su01-rail2'", 0, r""),
    ("fmctl status --check", 0, r"^UP: 256 HCAs, 12 switches, 0 links down"),
    ("fmctl whatif --check --cordon spine-02", 0, r"^lost +no HCA lost"),
    ("fmctl cordon spine-02", 0, r"cordoned, 64 links"),
    ("fmsim -t 'node off spine-02'", 0, r""),
    ("fmctl check", 0, r"65280 port pairs routed, 0 unreachable"),
    ("fmsim -t 'node on spine-02'", 0, r""),
    ("fmctl uncordon spine-02", 0, r"uncordoned, 64 links"),
    ("fmsim -t 'flap leaf-su01-rail0:33 8 200ms'", 0, r""),
    ("fmctl links --sick", 0, r"leaf-su01-rail0 +33 .*went down \d+ times"),
    ("fmctl release leaf-su01-rail0:33", 0, r"released, 1 link"),
    ("exit", None, None),
]


def test_each_line_of_the_tutorial_does_as_it_says(tmp_path):
    """Typed into the shell that fmsim begins, one after the other; what is not so yet is typed again, as a reader does who is too fast."""
    page = (ROOT / "etc/fmd-tutorial.7").read_text().replace("\\-", "-")
    typed = re.findall(r"^\$ (.*)$", page, re.M)
    assert typed == [line for line, _, _ in TUTORIAL]
    environment = {**os.environ, "PATH": f"{program('fmd').parent}:/usr/sbin:/usr/bin:/bin"}
    subprocess.run(["sh", "-c", typed[0]], cwd=tmp_path, env=environment, check=True)
    with subprocess.Popen(["sh", "-c", typed[1]], cwd=tmp_path, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as shell:
        def answer(line):
            shell.stdin.write(f"{line}\necho \"= $?\"\n")
            shell.stdin.flush()
            shown = ""
            for read in shell.stdout:
                if read.startswith("= "):
                    return int(read[2:]), shown
                shown += read
            raise AssertionError(f"the shell ended: {line}: {shown}")

        def is_so(line, code, pattern):
            shown = answer(line)
            return shown[0] == code and re.search(pattern, shown[1])

        for line, code, pattern in TUTORIAL[2:-1]:
            poll(lambda: is_so(line, code, pattern), line, 60)
        shell.stdin.write(typed[-1] + "\n")
        shell.stdin.close()
        shell.stdout.read()
    assert shell.returncode == 0


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
