# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A running fmd holds nothing that it does not need, and goes on managing where somebody in it tries for more. That all else works within the
sandbox the other files prove: it is on in all of them."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from fabric import ROOT, poll

EPERM, ENOENT, EACCES, EINVAL = 1, 2, 13, 22
NOBODY = 65534
INTRUDER = pathlib.Path(__file__).with_name("intruder.c")
HOOK = "#!/bin/sh\ngrep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status >{0}.new && mv {0}.new {0}\n"
NOTHING = f"{0:016x}"


def facts(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":", 1) for line in lines)


def fact(pid, key):
    return facts(pid)[key].strip()


def helper_of(pid):
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(OSError):  # it ends: a child that answered somebody
            if fact(child, "Name") == "fmd-helper":
                return int(child)
    raise AssertionError("fmd has no helper")


def test_a_running_fmd_has_no_capability_and_a_filter_in_each_thread(start, small_net):
    fabric = start(small_net)
    pid = fabric.fmd.pid
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        at = f"{pid}/task/{task.name}"
        assert {fact(at, key) for key in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {NOTHING}
        assert fact(at, "NoNewPrivs") == "1" and fact(at, "Seccomp") == "2"
    helper = helper_of(pid)
    assert fact(helper, "NoNewPrivs") == "1" and fact(helper, "Seccomp") == "2" and int(fact(helper, "CapEff"), 16) in (0, 1 << 10)
    if os.geteuid() == 0:
        assert fact(pid, "CapBnd") == fact(helper, "CapBnd") == NOTHING
    assert not fabric.status()["troubles"]


@pytest.fixture(scope="module")
def intruder(tmp_path_factory):
    library = tmp_path_factory.mktemp("intruder") / "intruder.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, INTRUDER], check=True)
    return library


def inhabit(fabric, library, order, monkeypatch):
    """fmd runs, and somebody in it waits for orders."""
    own = fabric.environment

    def environment(host=None):
        before = own(host)
        return {**before, "LD_PRELOAD": f"{library} {before['LD_PRELOAD']}", "INTRUDER": str(order)}

    monkeypatch.setattr(fabric, "environment", environment)
    fabric.start_fmd()
    monkeypatch.setattr(fabric, "environment", own)
    fabric.wait_up()


def result_of(order):
    result = order.with_suffix(".result")
    poll(result.exists, "the intruder has tried")
    return {name: int(error) for name, error in (line.split() for line in result.read_text().splitlines())}


def intrude(fabric, library, order, monkeypatch):
    """What each call came to."""
    inhabit(fabric, library, order, monkeypatch)
    order.touch()
    return result_of(order)


# What THREATS says of who has taken over fmd, in its words, and the tries of each; of what is not refused by a filter, what it comes to.
CANT = {"run a program": ["execve", "execveat"],
        "write into another process": ["writev"],
        "also by /proc/PID/mem (Landlock)": [],  # the test below
        "gain a privilege": ["setuid", "capset", "unshare", "mount", "module"],
        "open raw sockets": ["raw", "packet"],
        "attach to processes": ["ptrace", "getfd", "kill"],
        "make data in memory code (seccomp)": ["writable-code", "data-to-code"],
        "write into its own code": ["memory"],
        "unless it is root's": [],
        "have the helper run anything but the configured hooks": ["helper-other-program", "helper-no-hook", "helper-preload"]}
OTHERS = {"helper-other-program": ENOENT, "helper-no-hook": ENOENT, "helper-preload": EINVAL}


def as_nobody(*folders):
    """fmd's start as a user without privileges, whose these are."""
    for folder in folders:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
    for path in folders[0].parents:
        if path.owner() == "root" and path != pathlib.Path("/"):
            path.chmod(path.stat().st_mode | 0o011)

    def before():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    return before


def try_all(start, small_net, intruder, tmp_path, monkeypatch, user):
    """Each try that THREATS says comes to nothing, from inside of fmd's process."""
    (tmp_path / "hook").write_text("#!/bin/sh\n")
    (tmp_path / "hook").chmod(0o755)
    fabric = start(small_net, rig="fmsim", fmd=False, host_hook=str(tmp_path / "hook"))
    if os.geteuid() or user == "root":
        monkeypatch.setitem(OTHERS, "memory", 0 if os.geteuid() == 0 else EACCES)  # its own code is root's to write
    else:
        before, begin = as_nobody(tmp_path, fabric.scratch, intruder.parent), fabric.start_fmd
        os.chmod(fabric.ibsim.name, 0o777)
        monkeypatch.setattr(fabric, "start_fmd", lambda: begin(before=before))
        monkeypatch.setitem(OTHERS, "memory", EACCES)
    tried = intrude(fabric, intruder, tmp_path / "order", monkeypatch)
    assert tried == {name: OTHERS.get(name, EPERM) for names in CANT.values() for name in names}
    status = fabric.wait(lambda s: s["troubles"], "it is told")
    trouble, = (t for t in status["troubles"] if t["what"] == "sandbox")
    assert re.match(r"\d+ system calls were refused, the latest: ", trouble["error"])
    assert "sandbox: the system call mount (" in fabric.log.read_text()
    assert status["fabric_up"]  # it goes on


def test_who_has_taken_over_fmd_gets_no_further_and_it_is_told(start, small_net, intruder, tmp_path, monkeypatch):
    try_all(start, small_net, intruder, tmp_path, monkeypatch, "root")


def test_who_has_taken_over_fmd_of_a_user_gets_no_further_and_does_not_write_its_code(start, small_net, intruder, tmp_path, monkeypatch):
    try_all(start, small_net, intruder, tmp_path, monkeypatch, "nobody")


def test_each_word_of_threats_about_a_process_taken_over_has_its_tries():
    page = (ROOT / "etc/fmd-security.7").read_text().replace("\n", " ")
    said = re.search(r"taken over fmd by a defect.*? Cannot: (.*?)\. \.TP", page)[1]
    assert re.split(r"[,;] ", said) == list(CANT)


def test_who_has_taken_over_fmd_writes_no_code_into_a_hook_or_the_helper(start, small_net, intruder, tmp_path, monkeypatch):
    """They are of the same user, and may execute programs."""
    told, order = tmp_path / "told", tmp_path / "order"
    (tmp_path / "hook").write_text(f"#!/bin/sh\necho $$ >{told}.new && mv {told}.new {told}\nexec sleep 600\n")
    (tmp_path / "hook").chmod(0o755)
    fabric = start(small_net, rig="fmsim", fmd=False, host_worsen_hold=0.1, host_hook=str(tmp_path / "hook"), host_hook_timeout=600.0)
    inhabit(fabric, intruder, order, monkeypatch)
    fabric.ibsim.tell("unlink node-0005:1")
    poll(told.exists, "the hook runs")
    hook, helper = int(told.read_text()), helper_of(fabric.fmd.pid)
    (tmp_path / "new").write_text(f"{hook} {helper}\n")
    (tmp_path / "new").rename(order)
    assert result_of(order) == {str(hook): EACCES, str(helper): EACCES}
    os.kill(hook, signal.SIGKILL)
    assert fabric.status()["fabric_up"]


def test_what_is_off_refuses_nothing(start, small_net, tmp_path, monkeypatch):
    """The other way round: so it is the sandbox that refuses."""
    library, source = tmp_path / "harmless.so", tmp_path / "harmless.c"
    source.write_text(INTRUDER.read_text().replace("\t\ttry_all(out);", '\t\tnote(out, "unshare", unshare(CLONE_FS)); (void)try_all;'))
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    fabric = start(small_net, fmd=False, sandbox="off")
    assert intrude(fabric, library, tmp_path / "order", monkeypatch) == {"unshare": 0}
    assert not fabric.status()["troubles"] and fact(fabric.fmd.pid, "Seccomp") == "0"


def test_a_hook_that_a_reload_brings_runs_without_capabilities(start, small_net, tmp_path):
    told = tmp_path / "told"
    (tmp_path / "hook").write_text(HOOK.format(told))
    (tmp_path / "hook").chmod(0o755)
    fabric = start(small_net, rig="fmsim", host_worsen_hold=0.1)
    with open(fabric.conf, "a") as conf:
        conf.write(f'host_hook = "{tmp_path}/hook";\n')
    fabric.fmctl("reload")
    fabric.ibsim.tell("unlink node-0005:1")
    poll(told.exists, "the hook ran")
    now = {name: value.strip() for name, value in (line.split(":") for line in told.read_text().splitlines())}
    assert now["CapEff"] == now["CapPrm"] == NOTHING and now["NoNewPrivs"] == "1" and now["Seccomp"] == "2"


def test_a_helper_that_ends_is_told_and_the_fabric_stays_managed(start, small_net):
    fabric = start(small_net)
    os.kill(helper_of(fabric.fmd.pid), signal.SIGKILL)
    status = fabric.wait(lambda s: s["troubles"], "it is told")
    assert [trouble["what"] for trouble in status["troubles"]] == ["helper"] and status["fabric_up"]


def test_the_manual_lists_the_calls_of_the_source():
    source = (ROOT / "fm/os/sandbox_calls.c").read_text()
    lists = {name: set(re.findall(r'"(\w+)"', body)) for name, body in re.findall(r"const char \*const (\w+)\[\] = \{(.*?)\};", source, re.S)}
    assert set(lists) == {"sandbox_calls", "sandbox_bounded_calls", "sandbox_helper_calls"}
    section = re.search(r"^\.SH SANDBOX\n(.*?)^\.SH ", (ROOT / "etc/fmd.8").read_text(), re.S | re.M)[1]
    allowed, of_helper = section.split("cannot make these calls:\n")
    shown = re.findall(r"^\.TP\n\.B .*\n(.*)$", allowed, re.M)
    assert {name for line in shown[:-1] for name in line.split(", ")} == lists["sandbox_calls"]
    assert set(re.sub(r" \(.*?\)", "", shown[-1]).split(", ")) == lists["sandbox_bounded_calls"]
    assert set(of_helper.split(".\n")[0].split(", ")) == lists["sandbox_helper_calls"]


def test_what_fmd_writes_is_its_users_alone(start, small_net):
    """Whatever umask it was started with."""
    fabric = start(small_net, fmd=False, m_key="0x77")
    fabric.start_fmd(before=lambda: os.umask(0) and None)
    fabric.wait_up()
    poll(lambda: all(fabric.kinds("lids", "guid2mkey").values()), "all is written")
    assert (fabric.state_dir / "state.db-wal").exists()
    open_to_others = [path.name for path in fabric.state_dir.iterdir() if path.stat().st_mode & 0o077]
    assert not open_to_others and fabric.state_dir.stat().st_mode & 0o777 == 0o700


def test_a_token_that_everybody_can_read_is_told(start, small_net, tmp_path):
    token = tmp_path / "token"
    token.write_text("0123456789abcdef0123\n")
    token.chmod(0o644)
    fabric = start(small_net, http_token_file=str(token))
    trouble, = fabric.wait(lambda s: s["troubles"], "it is told")["troubles"]
    assert trouble["what"] == "http_token_file" and str(token) in trouble["error"]
    token.chmod(0o640)
    fabric.fmctl("reload")
    fabric.wait(lambda s: not s["troubles"], "it is over")


def test_a_configuration_with_keys_that_everybody_can_read_is_told(start, small_net):
    fabric = start(small_net, fmd=False, m_key="0x77")
    fabric.write_conf(m_key="0x77")
    fabric.conf.chmod(0o644)
    fabric.start_fmd()
    trouble, = fabric.wait(lambda s: s["troubles"], "it is told")["troubles"]
    assert trouble["what"] == "configuration" and str(fabric.conf) in trouble["error"]
    said = fabric.run(fabric.fmd.args[0], "--check-config", fabric.conf)
    assert said.returncode == 0 and "warning: configuration: " in said.stderr
    fabric.conf.chmod(0o640)
    fabric.fmctl("reload")
    fabric.wait(lambda s: not s["troubles"], "it is over")
    assert not fabric.run(fabric.fmd.args[0], "--check-config", fabric.conf).stderr


def expand(name, sets):
    return set().union(*(expand(word, sets) if word.startswith("@") else {word} for word in sets.get(name, [])))


def test_what_the_unit_lets_fmd_write_it_does_not_let_it_run():
    unit = dict(re.findall(r"^(\w+)=(.*)$", (ROOT / "etc/fmd.service").read_text(), re.M))
    written = {f"-%S/{unit['StateDirectory']}", f"-%t/{unit['RuntimeDirectory']}"}
    assert set(unit["NoExecPaths"].split()) == written and unit["ProtectSystem"] == "strict" and unit["LimitCORE"] == "0", unit


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze")
def test_the_unit_allows_all_that_the_sandbox_does():
    """But for calls that only some architectures and libraries know."""
    sets, name = {}, None
    for line in subprocess.run(["systemd-analyze", "syscall-filter"], capture_output=True, text=True, check=True).stdout.splitlines():
        word = re.sub("\x1b\\[[0-9;]*m", "", line).strip()
        if word.startswith("@") and not line.startswith(" "):
            name = word
            sets[name] = []
        elif name and word and not word.startswith("#"):
            sets[name].append(word)
    allowed = expand("@system-service", sets) - expand("@privileged", sets) - expand("@resources", sets) | {"capset", "fchown", "seccomp", "setpriority"}
    assert {"read", "epoll_wait", "clone"} <= allowed and "mount" not in allowed
    source = (ROOT / "fm/os/sandbox_calls.c").read_text().split("sandbox_helper_calls")[0]
    assert set(re.findall(r'"(\w+)"', source)) <= allowed, sorted(set(re.findall(r'"(\w+)"', source)) - allowed)


def test_the_unit_lets_fmd_enter_it():
    filters = re.findall(r"^SystemCallFilter=(.*)$", (ROOT / "etc/fmd.service").read_text(), re.M)
    assert filters[0] == "@system-service" and filters[1].startswith("~@privileged") and filters[2] == "capset fchown seccomp setpriority landlock_create_ruleset landlock_restrict_self"
