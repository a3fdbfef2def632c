# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The service and the package: who fmd runs as and within which bounds, and that a package is all that a simulated fabric needs. Nothing is installed."""
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest

from fabric import ROOT, Fabric, program

pytestmark = pytest.mark.long

BIN = program("fmd").parent
EXPOSURE = 2.0
ENDBR64 = b"\xf3\x0f\x1e\xfa"


def run(*command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, **options)


def needs(tool):
    return pytest.mark.skipif(not shutil.which(tool), reason=f"no {tool}")


@pytest.fixture(scope="module")
def make():
    """make that takes what is built already: -o keeps it from building that again."""
    kept = [word for name in ("fmd", "fmctl", "fmsim", "libfmsim-umad.so") for word in ("-o", str(BIN / name))]
    return ["make", "-C", str(ROOT), f"BIN={BIN}", *kept]


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """The folder in which `make deb` left the source package and the packages, of the programs that are built already."""
    if not shutil.which("dh") or not shutil.which("blhc"):
        pytest.skip("no debhelper, or no blhc: `make deps-release`")
    out = tmp_path_factory.mktemp("package")
    with open(out / "log", "w") as log:
        subprocess.run(["make", "-C", str(ROOT), "deb", f"DEB_OUT={out}", "VERSION=1.2.3"], stdout=log, stderr=log, check=True,
                       env={**os.environ, "FMD_BUILT": str(BIN), "DEB_BUILD_OPTIONS": "parallel=2"})
    assert " -c -o " not in (out / "log").read_text()
    return out


@pytest.fixture(scope="module")
def package(build):
    """(the .deb, the folder that it was unpacked to)"""
    deb, = build.glob("fmd_1.2.3_*.deb")
    assert run("dpkg-deb", "-x", deb, build / "root").returncode == 0
    return deb, build / "root"


@needs("systemd-analyze")
def test_the_service_is_bounded(package, tmp_path):
    unit = package[1] / "lib/systemd/system/fmd.service"
    said = run("systemd-analyze", "security", "--offline=true", unit)
    exposure = re.search(r"Overall exposure level for fmd.service: ([\d.]+)", said.stdout)
    assert exposure and float(exposure[1]) <= EXPOSURE, said.stdout + said.stderr
    open_unit = tmp_path / "fmd.service"  # the figure is not always low
    open_unit.write_text("".join(line for line in unit.open() if not line.startswith(("User=", "Capability", "Protect", "SystemCall"))))
    said = run("systemd-analyze", "security", "--offline=true", open_unit)
    assert float(re.search(r"level for fmd.service: ([\d.]+)", said.stdout)[1]) > EXPOSURE


@needs("systemd-sysusers")
def test_its_user_and_groups_are_made(package, tmp_path):
    (tmp_path / "etc").mkdir()
    made = run("systemd-sysusers", f"--root={tmp_path}", package[1] / "usr/lib/sysusers.d/fmd.conf")
    assert made.returncode == 0, made.stderr
    users = dict(line.split(":", 1) for line in (tmp_path / "etc/passwd").read_text().splitlines())
    groups = {line.split(":")[0]: line.split(":")[3] for line in (tmp_path / "etc/group").read_text().splitlines()}
    assert "fmd" in users and {"fmd", "fmd-admin"} <= set(groups)
    assert groups["fmd-admin"] == "fmd" and groups["fmd"] == ""
    unit = (package[1] / "lib/systemd/system/fmd.service").read_text()
    assert "User=fmd\nGroup=fmd\nSupplementaryGroups=fmd-admin\n" in unit


def test_the_management_devices_are_given_to_its_user_alone(package):
    """Group fmd is of those who may look, and a device is the whole fabric."""
    rule, = [line for line in (package[1] / "lib/udev/rules.d/60-fmd.rules").read_text().splitlines() if not line.startswith("#")]
    assert 'SUBSYSTEM=="infiniband_mad"' in rule and "umad[0-9]*|issm[0-9]*" in rule
    assert 'OWNER="fmd"' in rule and 'MODE="0600"' in rule


def test_a_reload_is_fmctls_so_that_it_fails_with_the_reason(package, start, pod_net):
    unit = (package[1] / "lib/systemd/system/fmd.service").read_text()
    assert "\nExecReload=/usr/bin/fmctl reload\n" in unit
    fabric = start(pod_net)
    with open(fabric.conf, "a") as conf:
        conf.write("sweep_interval = -3;\n")
    done = run(package[1] / "usr/bin/fmctl", "-s", fabric.socket, "reload")
    assert done.returncode == 1 and re.search(r"fmd\.conf:\d+: .*sweep_interval", done.stderr), done.stderr
    assert fabric.status()["fabric_up"]


def test_from_the_package_to_a_routed_fabric_are_three_commands(package, tmp_path):
    """The first installs; the other two as README has them."""
    block = re.search(r"without any hardware:\n\n```\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1].splitlines()
    assert len(block) == 3 and block[0].startswith("apt-get install -y ./fmd_")
    usr = package[1] / "usr"
    done = run("sh", "-ec", "\n".join(block[1:]), cwd=tmp_path, env={**os.environ, "PATH": f"{usr}/bin:{usr}/sbin:/usr/bin:/bin"})
    assert done.returncode == 0 and "UP; this subnet manager is master" in done.stdout and "256 HCAs" in done.stdout, done.stdout + done.stderr


def test_what_is_installed_sets_the_machine_up_and_starts_nothing(package, tmp_path):
    """With tools that only tell what they were asked."""
    tools, asked = tmp_path / "tools", tmp_path / "asked"
    tools.mkdir()
    for name in ("systemd-sysusers", "systemd-tmpfiles", "udevadm", "systemctl", "deb-systemd-invoke"):
        (tools / name).write_text(f"#!/bin/sh\necho {name} $* >>{asked}\n")
        (tools / name).chmod(0o755)
    files = [package[1] / f"usr/lib/{folder}/fmd.conf" for folder in ("sysusers.d", "tmpfiles.d")]
    done = run(package[1] / "usr/lib/fmd/setup", *files, env={"PATH": f"{tools}:/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    lines = asked.read_text().splitlines()
    assert lines[:2] == [f"systemd-sysusers {files[0]}", f"systemd-tmpfiles --create {files[1]}"]
    assert not [line for line in lines if "start" in line]
    assert run("dpkg-deb", "-e", package[0], tmp_path / "control").returncode == 0
    script = (tmp_path / "control/postinst").read_text()
    assert all(f"/{path.relative_to(package[1])}" in script for path in files) and "/usr/lib/fmd/setup" in script


@pytest.mark.skipif(os.geteuid() != 0 or run("unshare", "-m", "true").returncode, reason="no /proc can be hidden")
@needs("systemd-tmpfiles")
def test_it_is_set_up_where_an_image_is_built_without_proc(package, tmp_path):
    conf = tmp_path / "etc/fmd/fmd.conf"
    conf.parent.mkdir(parents=True)
    conf.touch()
    root = package[1]
    setup = f"DPKG_ROOT={tmp_path} {root}/usr/lib/fmd/setup {root}/usr/lib/sysusers.d/fmd.conf {root}/usr/lib/tmpfiles.d/fmd.conf"
    done = run("unshare", "-m", "sh", "-c", f"mount -t tmpfs none /proc && {setup}")
    assert done.returncode == 0 and "/proc" in done.stderr, done.stderr
    assert "fmd:" in (tmp_path / "etc/passwd").read_text()
    assert run("sh", "-c", setup).returncode == 0 and conf.stat().st_mode & 0o777 == 0o640  # what the first boot does


def unit_line(root, files, key, name):
    """(the command of fmd@NAME.service with the files of a root, its environment)"""
    unit = (root / "lib/systemd/system/fmd@.service").read_text().replace("%i", name).replace("%t", "/run").replace("%S", "/var/lib")
    command = re.search(f"^{key}=(.*)$", unit, re.M)[1].split()
    lines = dict(line.split("=", 1) for line in re.findall("^Environment=(.*)$", unit, re.M))
    kept = dict(re.findall(r"^(\w+Directory)=(.*)$", unit, re.M))
    command = [f"{root}{word}" if word.startswith("/usr/") else word.replace("/etc/fmd", str(files)) for word in command]
    return command, {key: value.replace("/run", str(files)) for key, value in lines.items()}, kept


@needs("systemd-analyze")
def test_one_node_manages_several_fabrics(package, tmp_path):
    """By the lines of fmd@.service: each instance has a fabric, a configuration, a state_dir and a socket that the other never uses."""
    said = run("systemd-analyze", "security", "--offline=true", package[1] / "lib/systemd/system/fmd@.service")
    assert float(re.search(r"level for fmd@.*service: ([\d.]+)", said.stdout)[1]) <= EXPOSURE, said.stdout + said.stderr
    fabrics = []
    try:
        for name, units in (("one", 1), ("two", 2)):
            net = tmp_path / f"{name}.net"
            net.write_text(run(package[1] / "usr/bin/fmctl", "generate", "superpod", "--su", units).stdout)
            start, environment, kept = unit_line(package[1], tmp_path, "ExecStart", name)
            assert kept == {"StateDirectory": f"fmd-{name}", "RuntimeDirectory": f"fmd-{name}"}
            (tmp_path / f"fmd-{name}").mkdir()
            fabric = Fabric(tmp_path / f"fmd-{name}", net, rig="fmsim")
            fabrics.append(fabric)
            fabric.conf.rename(tmp_path / f"{name}.conf")
            with open(fabric.log, "w") as log:
                fabric.fmd = subprocess.Popen(start, stdout=log, stderr=log, env={**fabric.environment(), **environment})
            assert environment["FMD_SOCKET"] == str(fabric.socket)
        for fabric, hcas in zip(fabrics, (256, 512)):
            fabric.wait_up(lambda status: status["hcas"] == hcas)
        reload, environment, _ = unit_line(package[1], tmp_path, "ExecReload", "two")
        with open(tmp_path / "two.conf", "a") as conf:
            conf.write("sweep_interval = -3;\n")
        done = run(*reload, env={**os.environ, **environment})
        assert done.returncode == 1 and "two.conf" in done.stderr, done.stderr
        fabrics[0].stop_fmd()
        assert fabrics[1].status()["fabric_up"] and fabrics[1].status()["hcas"] == 512
        assert all((fabric.state_dir / "state.db").exists() for fabric in fabrics)
    finally:
        for fabric in fabrics:
            fabric.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="root's")
@needs("systemd-sysusers")
def test_a_package_lives_and_goes_as_debians_do(package, tmp_path):
    """By dpkg in a folder of its own: installed, upgraded by the line of fmd-ha(7) over an edited fmd.conf, removed, purged."""
    deb, unpacked = package
    root, newer = tmp_path / "root", tmp_path / "newer"
    for folder in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "etc"):
        (root / folder).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    assert run("dpkg-deb", "-R", deb, newer).returncode == 0
    with open(newer / "etc/fmd/fmd.conf", "a") as conf:
        conf.write("# What is new in this release.\n")
    control = newer / "DEBIAN/control"
    control.write_text(control.read_text().replace("Version: 1.2.3", "Version: 1.2.4"))
    assert run("dpkg-deb", "--root-owner-group", "-b", newer, tmp_path / "newer.deb").returncode == 0

    def dpkg(*words):
        done = run("dpkg", f"--root={root}", "--force-script-chrootless", "--force-depends", *words, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout + done.stderr

    conf, state = root / "etc/fmd/fmd.conf", root / "var/lib/fmd"
    status, said = dpkg("-i", deb)
    assert status == 0, said
    groups = {line.split(":")[0]: int(line.split(":")[2]) for line in (root / "etc/group").read_text().splitlines()}
    assert (conf.stat().st_uid, conf.stat().st_gid, conf.stat().st_mode & 0o777) == (0, groups["fmd-admin"], 0o640)
    assert not list(root.rglob("*.wants")), "it is not enabled by being installed"
    edited = conf.read_text() + 'peers = "10.0.0.2:9811";\n'
    conf.write_text(edited)
    state.mkdir(mode=0o700)
    (state / "lids").write_text("kept")

    keep, = set(re.findall(r"Dpkg::Options::=(\S+)", (ROOT / "etc/fmd-ha.7").read_text().replace("\\-", "-")))
    status, said = dpkg("-i", tmp_path / "newer.deb")
    assert status != 0 and "conffile prompt" in said, "nobody answers: the page tells of that"
    status, said = dpkg(keep, "--configure", "fmd")
    assert status == 0, said
    assert conf.read_text() == edited and "new in this release" in (conf.parent / "fmd.conf.dpkg-dist").read_text()
    assert (conf.stat().st_gid, conf.stat().st_mode & 0o777) == (groups["fmd-admin"], 0o640)
    status, said = dpkg(keep, "-i", tmp_path / "newer.deb")  # once more
    assert status == 0 and conf.read_text() == edited, said

    status, said = dpkg("-r", "fmd")
    assert status == 0 and conf.exists() and (state / "lids").read_text() == "kept", said
    assert not (root / "usr/sbin/fmd").exists()
    status, said = dpkg("-P", "fmd")
    assert status == 0 and not state.exists() and not (root / "etc/fmd").exists(), said
    left = [path for path in root.rglob("*fmd*") if "var/lib/dpkg" not in str(path) and "var/log" not in str(path)]
    assert not left


def test_the_package_says_what_it_is(package):
    fields = run("dpkg-deb", "-f", package[0]).stdout
    assert "Package: fmd\nVersion: 1.2.3\n" in fields and "Recommends: rdma-core" in fields
    assert re.search(r"Depends: .*libibumad3.*systemd", fields)
    for path in ("usr/share/doc/fmd/changelog.gz", "usr/share/doc/fmd/copyright", "usr/share/doc/fmd/grafana/fmd.json", "usr/share/doc/fmd/openapi.json", "usr/share/man/man7/fmd-metrics.7.gz",
                 "usr/share/man/man7/fmd-adaptive.7.gz", "usr/share/man/man7/fmd-json.7.gz", "usr/share/man/man7/fmd-ha.7.gz", "usr/share/man/man7/fmd-performance.7.gz", "usr/share/man/man7/fmd-security.7.gz",
                 "usr/share/man/man7/fmd-troubleshooting.7.gz", "usr/share/man/man7/fmd-tutorial.7.gz", "usr/share/man/man7/fmd-registers.7.gz",
                 "usr/share/bash-completion/completions/fmctl", "usr/lib/tmpfiles.d/fmd.conf"):
        assert (package[1] / path).is_file(), path


def test_a_bill_of_materials_names_each_program_and_library_with_its_package(package):
    root = package[1]
    bill = json.loads((root / "usr/share/doc/fmd/fmd.spdx.json").read_text())
    by_id = {part["SPDXID"]: part for part in bill["packages"] + bill["files"]}
    assert bill["spdxVersion"] == "SPDX-2.3" and bill["name"] == "fmd-1.2.3" and by_id["SPDXRef-fmd"]["versionInfo"] == "1.2.3"
    programs = {f"./{path.relative_to(root)}": path for path in (*root.glob("usr/sbin/*"), *root.glob("usr/bin/*"), *root.glob("usr/lib/fmd/*.so"))}
    assert {file["fileName"] for file in bill["files"]} == set(programs)
    depends = re.search("^Depends: (.*)", run("dpkg-deb", "-f", package[0]).stdout, re.M)[1]
    for file in bill["files"]:
        path = programs[file["fileName"]]
        assert {sum["algorithm"]: sum["checksumValue"] for sum in file["checksums"]}["SHA256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        linked = set(re.findall(r"\(NEEDED\).*\[(.*?)\]", run("readelf", "-d", path).stdout)) | ({"libcurl.so.4"} if path.name == "fmd" else set())
        uses = [by_id[row["relatedSpdxElement"]] for row in bill["relationships"]
                if (row["spdxElementId"], row["relationshipType"]) == (file["SPDXID"], "DYNAMIC_LINK")]
        assert {library["summary"] for library in uses} == linked
        for library in uses:
            assert run("dpkg-query", "-W", "-f", "${Version}", library["name"]).stdout == library["versionInfo"]
            assert library["name"] in depends or path.name.endswith(".so"), library["name"]


def missing_hardening(path):
    """What the ELF lacks, as gcc and ld leave it there; of the stack's probes there is no mark, and of branch targets none where libc's crt1.o has none."""
    elf, names = run("readelf", "-hldnW", path).stdout, run("nm", "-D", path).stdout
    marks = {"PIE": r"FLAGS_1.* PIE", "all relocations read-only": r"FLAGS_1.* NOW|BIND_NOW", "RELRO": r"GNU_RELRO", "no code on the stack": r"GNU_STACK .* RW +0x"}
    missing = {what for what, mark in marks.items() if not re.search(mark, elf)}
    if re.search("Machine: .*X86-64", elf) and path.read_bytes().count(ENDBR64) < 100:
        missing.add("branch targets")
    calls = {"stack protector": r" __stack_chk_fail\b", "checked libc": r" __(?!stack)\w+_chk\b"}
    return missing | {what for what, mark in calls.items() if not re.search(mark, names)}


@needs("readelf")
@pytest.mark.parametrize("name", ["sbin/fmd", "bin/fmctl", "bin/fmsim"])
def test_programs_are_built_and_packaged_with_hardening(package, name, tmp_path):
    built = BIN / pathlib.Path(name).name
    if "__asan_init" in run("nm", built).stdout:
        pytest.skip("sanitizers replace it")
    assert not missing_hardening(built) and not missing_hardening(package[1] / "usr" / name)
    (tmp_path / "plain.c").write_text("#include <stdio.h>\nint main(int n, char **v) { char t[64]; sprintf(t, \"%s\", v[0]); return puts(t); }\n")
    plain = ["-fno-stack-protector", "-no-pie", "-fcf-protection=none", "-Wl,-z,lazy,-z,norelro,-z,execstack"]
    assert run("cc", *plain, "-o", tmp_path / "plain", tmp_path / "plain.c").returncode == 0
    assert len(missing_hardening(tmp_path / "plain")) >= 6  # the marks are really read


@needs("blhc")
def test_a_package_is_built_with_its_distributions_flags(build):
    """Each run of the compiler and of the linker, as make says that it would be, read by blhc."""
    tree = build / "deb/fmd-1.2.3"
    rules = (tree / "debian/rules").read_text()
    options = dict(re.findall(r"^export (DEB_\w+) = (.*)$", rules, re.M))
    flags = dict(line.removeprefix("export ").split("=", 1) for line in run("dpkg-buildflags", "--export=sh", cwd=tree, env={**os.environ, **options}).stdout.splitlines())
    flags = {name: shlex.split(value)[0] if value.strip("\"") else "" for name, value in flags.items()}
    assert "hardening=+all" in options.values() and "-O3" in flags["CFLAGS"]
    would = run("make", "-n", "all", "V=1", "B=build/never", "BIN=build/never", "CCACHE=", cwd=tree, env={**os.environ, **flags})
    runs = [line for line in would.stdout.splitlines() if re.match(r" *(\S*gcc|cc) ", line)]
    assert would.returncode == 0 and len(runs) > 250 and not (tree / "build/never").exists(), would.stderr
    (build / "good").write_text("\n".join(["dpkg-buildpackage: info: source package fmd", *runs, ""]))
    said = run("blhc", "--bindnow", "--debian", build / "good")  # that they are PIE is read off the programs
    assert said.returncode == 0, said.stdout[:2000] + said.stderr
    (build / "bad").write_text((build / "good").read_text().replace("-fstack-protector-strong", ""))
    assert run("blhc", "--bindnow", "--debian", build / "bad").returncode != 0
    assert 'CFLAGS="%{optflags}' in (ROOT / "etc/packaging/fmd.spec").read_text()


def test_the_source_package_is_what_git_has_and_debug_symbols_are_apart(build):
    archive, = build.glob("fmd_1.2.3.tar.xz")
    names = {name.split("/", 1)[1] for name in run("tar", "-tf", archive).stdout.split() if not name.endswith("/")}
    known = {name for name in run("git", "-C", ROOT, "ls-files").stdout.split() if (ROOT / name).exists()}
    assert known <= names | {".gitignore"} and all(name.startswith("debian/") for name in names - known), names ^ known
    symbols, = build.glob("fmd-dbgsym_1.2.3_*.deb")
    assert "/usr/lib/debug/.build-id/" in run("dpkg-deb", "-c", symbols).stdout


def test_packages_are_the_same_byte_by_byte_when_they_are_made_again(build, tmp_path):
    """The source package and the package of the same programs; that the compiler writes the same again is for two whole builds to show."""
    done = run("make", "-C", ROOT, "deb", f"DEB_OUT={tmp_path}", "VERSION=1.2.3", env={**os.environ, "FMD_BUILT": str(BIN), "DEB_BUILD_OPTIONS": "parallel=2"})
    assert done.returncode == 0, done.stderr[-3000:]
    made = sorted(path.name for path in build.glob("fmd*_1.2.3*.*") if path.suffix in (".deb", ".dsc", ".xz"))
    assert len(made) == 4
    assert [name for name in made if (build / name).read_bytes() != (tmp_path / name).read_bytes()] == []


def test_a_release_is_a_tagged_commit_with_its_day(tmp_path):
    tree = tmp_path / "tree"
    assert run("git", "clone", "-q", "--shared", ROOT, tree).returncode == 0
    git = lambda *words: subprocess.run(["git", "-C", str(tree), "-c", "user.name=a", "-c", "user.email=a@b.invalid", *words], check=True, capture_output=True)  # noqa: E731
    make = lambda *words: run("make", "-s", "-C", tree, "--eval", "version:;@echo $(VERSION)", *words)  # noqa: E731
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", make("version").stdout)
    assert make("release-check").returncode and "no tag is here" in make("release-check").stderr
    git("tag", "-a", "v7.8.9", "-m", "a release")
    assert make("version").stdout == "7.8.9\n"
    assert "CHANGELOG.md does not begin with 7.8.9" in make("release-check").stderr
    changes = tree / "CHANGELOG.md"
    changes.write_text(re.sub("## .*", "## 7.8.9 (2026-12-31)", changes.read_text(), count=1))
    assert "not committed" in make("release-check").stderr
    git("commit", "-qam", "7.8.9")
    assert make("version").stdout != "7.8.9\n" or "no tag is here" in make("release-check").stderr
    git("tag", "-f", "-a", "v7.8.9", "-m", "a release")
    assert make("release-check").returncode == 0


@needs("lintian")
def test_lintian_finds_nothing_to_warn_of(build):
    said = run("lintian", "--allow-root", "--tag-display-limit", "0", *build.glob("*.changes"))
    assert not re.findall(r"^[EW]: .*", said.stdout, re.M) and said.returncode == 0, said.stdout + said.stderr


@needs("rpmbuild")
def test_the_spec_builds_a_package_with_the_same_files(make, package, tmp_path):
    built = run(*make, "rpm", f"RPM_OUT={tmp_path}", "VERSION=1.2.3")
    assert built.returncode == 0, built.stdout + built.stderr
    rpm, = tmp_path.glob("fmd-1.2.3-1.*.rpm")
    files = set(run("rpm", "-qpl", "--nosignature", rpm).stdout.split())
    root = package[1]
    ours = {f"/{path.relative_to(root)}" for path in root.rglob("*") if path.is_file()}
    left = {path for path in ours if path not in files and not path.startswith(("/usr/share/doc/fmd/c", "/usr/share/doc/fmd/NEWS", "/usr/share/lintian"))}
    assert {path.replace("/lib/", "/usr/lib/", 1) for path in left} <= files
    if shutil.which("rpmlint"):
        said = run("rpmlint", "-r", ROOT / "etc/packaging/fmd.rpmlintrc", ROOT / "etc/packaging/fmd.spec", rpm)
        assert " 0 errors, 0 warnings" in said.stdout, said.stdout + said.stderr
