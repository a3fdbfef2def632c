# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What fmd writes for schedulers is what they read: topology.conf by Slurm's own controller where it is installed,
topology.yaml and node labels by what their documentation says of them."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import pytest

from conftest import generate_pod
from exporter import Exporters, body
from fabric import ROOT, own_address, poll

SLURM_CONF = """ClusterName=fmd
SlurmctldHost=localhost({address})
CommunicationParameters=NoCtldInAddrAny
SlurmUser={user}
SlurmctldPort=6817
AuthType=auth/none
CredType=cred/none
MpiDefault=none
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/pid
TopologyPlugin=topology/{plugin}
NodeName={nodes} NodeAddr=127.0.0.1 CPUs=1 State=CLOUD
PartitionName=all Nodes=ALL Default=YES State=UP
"""
LABEL = "fabric.topograph.run/tier-"


@pytest.fixture
def two_units(start, tmp_path):
    return start(generate_pod(tmp_path, "--su", "2"))


def read_by_slurmctld(folder, text, nodes, plugin="tree", root=None):
    """What slurmctld, of this machine or of a root, has from topology.conf, as its log says."""
    within, folder = ("/tmp/slurm", root / "tmp/slurm") if root else (folder / "slurm", folder / "slurm")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "state").mkdir(parents=True)
    (folder / "topology.conf").write_text(text)
    (folder / "slurm.conf").write_text(SLURM_CONF.format(folder=within, nodes=nodes, address=own_address(), plugin=plugin,
                                                         user="root" if root else os.environ.get("USER", "root")))
    # It reads /proc: the root's is mounted for it alone.
    command = ["unshare", "-m", "sh", "-c", 'mount -t proc proc "$1/proc" && shift && exec chroot "$@"', "sh", root, root] if root else []
    log = folder / "log"
    with log.open("w") as out:
        run = subprocess.Popen([*command, "slurmctld", "-D", "-vvv", "-f", f"{within}/slurm.conf"], stdout=out, stderr=out, cwd=folder)
    try:
        poll(lambda: run.poll() is not None or "Running as primary controller" in log.read_text(), "slurmctld has read its files")
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
    said = log.read_text()
    assert not re.search(r"(error|fatal|warn).*(topolog|switch|block)", said), said
    return re.findall(r"Switch level:(\d+) name:(\S+) nodes:(\S+) switches:(\S+)" if plugin == "tree" else r"Block name:(\S+) nodes:(\S+)", said)


TREE = [("0", "su01", "dgx-su01-[01-32]", "(null)"), ("0", "su02", "dgx-su02-[01-32]", "(null)"),
        ("1", "tier1-1", "dgx-su01-[01-32],dgx-su02-[01-32]", "su[01-02]")]


@pytest.mark.long  # for its package
@pytest.mark.skipif(not shutil.which("slurmctld"), reason="slurmctld is not installed")
def test_slurms_controller_reads_the_tree(two_units, tmp_path):
    text = two_units.fmctl("topology", "--format", "slurm").stdout
    assert read_by_slurmctld(tmp_path, text, "dgx-su[01-02]-[01-32]") == TREE


@pytest.fixture(scope="session")
def debian13():
    """A root of Debian 13 with its slurmctld; made once, kept in build/."""
    root = pathlib.Path(os.environ.get("DEBIAN13_ROOT", ROOT / "build/debian13"))
    if not (root / "usr/sbin/slurmctld").exists():
        shutil.rmtree(root, ignore_errors=True)
        subprocess.run(["debootstrap", "--variant=minbase", "--include=slurmctld", "trixie", root], check=True, stdout=subprocess.DEVNULL)
    (root / "etc/hosts").write_text(f"127.0.0.1 localhost {socket.gethostname()}\n")  # slurmctld resolves the machine's own name
    return root


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("debootstrap"), reason="a root of Debian 13 takes root and debootstrap")
def test_slurms_controller_of_debian_13_reads_the_tree_and_blocks(start, two_units, debian13, tmp_path):
    text = two_units.fmctl("topology", "--format", "slurm").stdout
    assert read_by_slurmctld(tmp_path, text, "dgx-su[01-02]-[01-32]", root=debian13) == TREE
    hosts = [host["name"] for host in two_units.ask("hosts")]
    exporters = Exporters(hosts)
    try:
        for n, host in enumerate(hosts[:36]):
            exporters.say(host, body(host, extra='DCGM_FI_DEV_GPU_TEMP{gpu="0",DCGM_FI_DEV_FABRIC_CLUSTER_UUID="0cf3c1a2-7d1a-4f0b-9c55-'
                                     f'2f5dc1a7e001"}} 40\nDCGM_FI_DEV_FABRIC_CLIQUE_ID{{gpu="0"}} {n // 18}\n'))
        two_units.write_conf(nvswitch_hosts_file=str(exporters.write_hosts(tmp_path / "hosts")), nvswitch_poll_interval=0.5)
        two_units.fmctl("reload")
        poll(lambda: [len(row["hosts"]) for row in two_units.ask("nvswitch", "blocks")] == [18, 18], "two domains are known")
        text = two_units.fmctl("nvswitch", "blocks").stdout
    finally:
        exporters.stop()
    assert read_by_slurmctld(tmp_path, text, "dgx-su01-[01-32],dgx-su02-[01-04]", "block", debian13) == [
        ("nvl-0cf3c1a2-0", "dgx-su01-[01-18]"), ("nvl-0cf3c1a2-1", "dgx-su01-[19-32],dgx-su02-[01-04]")]


def hosts_of(hostlist):
    """Slurm's short form, spelled out: "a[1-2],b" is a1, a2, b."""
    hosts = []
    for prefix, ranges, suffix in re.findall(r"([^,\[]+)(?:\[([^\]]*)\])?([^,]*)", hostlist):
        if not ranges:
            hosts.append(prefix + suffix)
        for part in filter(None, ranges.split(",")):
            first, _, last = part.partition("-")
            hosts += [f"{prefix}{n:0{len(first)}d}{suffix}" for n in range(int(first), int(last or first) + 1)]
    return hosts


def assert_is_tree(tree, hosts):
    """slurm.schedmd.com/topology.yaml.html: a switch has a unique name, and children or nodes."""
    assert set(tree) == {"switches"}
    names, children, nodes = [], [], []
    for switch in tree["switches"]:
        assert set(switch) in ({"switch", "children"}, {"switch", "nodes"})
        names.append(switch["switch"])
        children += hosts_of(switch.get("children", "")) if "children" in switch else []
        nodes += hosts_of(switch["nodes"]) if "nodes" in switch else []
    assert len(set(names)) == len(names) and sorted(nodes) == sorted(hosts)
    assert len(set(children)) == len(children) and set(children) < set(names)


def assert_is_block(block, hosts):
    """Blocks have a unique name and nodes, at least as many as the base block size; larger sizes are that times powers of two."""
    assert set(block) == {"block_sizes", "blocks"}
    base, nodes = block["block_sizes"][0], []
    for size in block["block_sizes"]:
        assert size % base == 0 and (size // base) & (size // base - 1) == 0
    for row in block["blocks"]:
        assert set(row) == {"block", "nodes"} and len(hosts_of(row["nodes"])) >= base
        nodes += hosts_of(row["nodes"])
    assert sorted(nodes) == sorted(hosts) and len({row["block"] for row in block["blocks"]}) == len(block["blocks"])


def test_slurm_yaml_has_a_tree_and_blocks_as_slurm_reads_them(two_units):
    yaml = pytest.importorskip("yaml")
    text = two_units.fmctl("topology", "--format", "slurm-yaml").stdout
    hosts = [host["name"] for host in two_units.ask("hosts")]
    document = yaml.safe_load(text)
    assert [row["topology"] for row in document] == ["tree", "block"]
    assert [next(iter(row)) for row in document] == ["topology"] * 2  # "must be the first attribute"
    assert [row["cluster_default"] for row in document] == [True, False]
    for row in document:
        assert set(row) - {"topology", "cluster_default"} == {row["topology"]}
    assert_is_tree(document[0]["tree"], hosts)
    assert_is_block(document[1]["block"], hosts)
    assert document[1]["block"]["block_sizes"] == [32]
    assert two_units.fmctl("topology", "--format", "slurm-yaml").stdout == text


# Nodes in a file, as an API server has them: a patch of one that is not there is an error.
KUBECTL = """#!/bin/sh
[ "$1 $2" = "patch node" ] && [ "$4 $5" = "--type=merge -p" ] && [ $# = 6 ] || exit 2
grep -qx "$3" "$0.nodes" || { echo "Error from server (NotFound): nodes \\"$3\\" not found" >&2; exit 1; }
printf '%s %s\\n' "$3" "$6" >>"$0.patched"
"""


def test_k8s_has_a_patch_for_every_node_and_makes_none(two_units, tmp_path):
    hosts = [host["name"] for host in two_units.ask("hosts")]
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(KUBECTL)
    kubectl.chmod(0o755)
    (tmp_path / "kubectl.nodes").write_text("\n".join(hosts[1:]) + "\n")
    text = two_units.fmctl("topology", "--format", "k8s").stdout
    done = subprocess.run(["sh"], input=text, capture_output=True, text=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert done.stderr.count("NotFound") == 1 and hosts[0] in done.stderr
    patched = [line.split(" ", 1) for line in (tmp_path / "kubectl.patched").read_text().splitlines()]
    assert [node for node, _ in patched] == hosts[1:]
    for node, patch in patched:
        su = re.match(r"dgx-(su\d+)-", node)[1]
        assert json.loads(patch) == {"metadata": {"labels": {LABEL + "0": su, LABEL + "1": "tier1-1"}}}
