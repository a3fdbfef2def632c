# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Partitions as operators configure them and as hosts' tools see them: saquery and smpquery at hosts of two tenants."""
import re

SM_HOST, A1, A2, B = "H-0002c90380000100", "H-0002c90380008300", "H-0002c90380000a00", "H-0002c90380001500"


def guid(host):
    return f"0x{int(host[2:], 16) + 1:016x}"


def lid(fabric, host):
    return fabric.lids()["0x" + host[2:]]


def tenants(*members_of_a):
    members = ", ".join(guid(host) for host in members_of_a)
    return (f"Default=0x7fff, ipoib: ALL=limited, ALL_SWITCHES=full;\n"
            f"tenant-a=0x8001, defmember=full: {members};\ntenant-b=2: {guid(B)}=full;\n")


def begin(start, net, folder, text, **keys):
    (folder / "partitions.conf").write_text(text)
    return start(net, SM_HOST, partition_config_file=str(folder / "partitions.conf"), **keys)


def path_pkeys(fabric, source, target):
    said = fabric.run("saquery", f"--slid={lid(fabric, source)}", f"--dlid={lid(fabric, target)}", "PR", host=source,
                      check=False).stdout
    return re.findall(r"pkey\.+(0x[0-9a-f]+)", said.lower())


def table(fabric, host):
    """The P_Keys of a host's port, as smpquery reads them at the port itself."""
    said = fabric.run("smpquery", "pkeys", lid(fabric, host), 1).stdout
    return [key for key in re.findall(r"0x[0-9a-f]{4}", said) if int(key, 16)]


def test_tenants_have_paths_and_keys_of_their_own(start, pod_net, tmp_path):
    fabric = begin(start, pod_net, tmp_path, tenants(A1, A2))
    assert path_pkeys(fabric, A1, A2) == ["0x8001"]
    assert path_pkeys(fabric, A1, SM_HOST) == ["0x7fff"]
    assert path_pkeys(fabric, A1, B) == path_pkeys(fabric, B, A2) == []
    assert table(fabric, A1) == table(fabric, A2) == ["0x7fff", "0x8001"]
    assert table(fabric, B) == ["0x7fff", "0x8002"]
    assert table(fabric, SM_HOST) == ["0xffff"]


def test_leaf_ports_hold_what_their_hosts_may_use(start, pod_net, tmp_path):
    fabric = begin(start, pod_net, tmp_path, tenants(A1, A2))
    (peer, port), = (p["peer"] for end, p in fabric.simulated(A1).items() if end[0] == A1 and p["peer"])
    said = fabric.run("smpquery", "pkeys", lid(fabric, peer), port).stdout
    assert [key for key in re.findall(r"0x[0-9a-f]{4}", said) if int(key, 16)] == ["0x7fff", "0x8001"]


def test_saquery_prints_blocks_by_their_number(start, pod_net, tmp_path):
    fabric = begin(start, pod_net, tmp_path, tenants(A1, A2), sa_pkey_block_host_order=True)
    said = fabric.run("saquery", "--smkey", "1", "PKTR", f"{lid(fabric, A1)}/1/1").stdout
    assert re.search(r"Block\.+1\b", said), said
    said = fabric.run("saquery", "--smkey", "1", "PKTR", f"{lid(fabric, A1)}/1/0").stdout
    assert re.search(r"Block\.+0\b", said) and "0x8001" in said, said


def test_a_reload_moves_a_host_and_a_bad_file_moves_none(start, pod_net, tmp_path):
    fabric = begin(start, pod_net, tmp_path, tenants(A1, A2))
    file = tmp_path / "partitions.conf"
    file.write_text("tenant-a=1\n")
    refused = fabric.fmctl("reload", check=False)
    assert refused.returncode == 1 and f"{file}:1: " in refused.stderr
    assert table(fabric, A2) == ["0x7fff", "0x8001"]
    file.write_text(tenants(A1))
    fabric.fmctl("reload")
    fabric.wait_up(lambda _: table(fabric, A2) == ["0x7fff"], "the host has left")
    assert path_pkeys(fabric, A1, A2) == []


def test_fmctl_shows_partitions_and_members(start, pod_net, tmp_path):
    fabric = begin(start, pod_net, tmp_path, tenants(A1, A2))
    rows = {row["name"]: row for row in fabric.ask("partitions")}
    assert rows["tenant-a"] == {"name": "tenant-a", "pkey": "0x0001", "sl": 0, "ipoib": False, "full": 2, "limited": 0}
    assert rows["Default"]["full"] == 1 + 12 and rows["Default"]["limited"] == 255 + 12
    assert {member["guid"] for member in fabric.ask("partitions", "0x8001")[0]["members"]} == {guid(A1), guid(A2)}
    text = fabric.fmctl("partitions", "tenant-b").stdout
    assert guid(B) in text and "full" in text
    assert fabric.fmctl("partitions", "nobody", check=False).returncode == 1
