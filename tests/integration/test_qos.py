# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Service levels and virtual lanes as configured, and as people's tools read them at ports and from the SA."""
import re

SM_HOST, HOST, LEAF = "H-0002c90380000100", "H-0002c90380008300", "S-0002c90300000200"
SL2VL = "0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,15"


def lid(fabric, node):
    return fabric.lids()["0x" + node[2:]]


def cells(line):
    """The numbers between the bars of a table's line."""
    return ",".join(re.findall(r"\w+", line.rpartition(":")[2]))


def test_ports_hold_the_configured_lanes(start, pod_net):
    fabric = start(pod_net, SM_HOST, qos=True, qos_sl2vl=SL2VL, qos_ca_vlarb_low="0:9,1:8,2:7")
    (host,) = re.findall(r"^ports.*", fabric.run("smpquery", "sl2vl", lid(fabric, HOST), 1).stdout, re.M)
    assert cells(host) == SL2VL
    leaf = re.findall(r"^ports.*", fabric.run("smpquery", "sl2vl", lid(fabric, LEAF), 2).stdout, re.M)
    assert len(leaf) == 66 and {cells(line) for line in leaf} == {SL2VL}
    low, high = re.findall(r"^WEIGHT.*", fabric.run("smpquery", "vlarb", lid(fabric, HOST), 1).stdout, re.M)
    assert cells(low).startswith("0x9,0x8,0x7,0x0") and cells(high).startswith("0x4,0x0")


def test_saquery_shows_the_lanes_at_a_host_that_is_not_the_sms(start, pod_net):
    fabric = start(pod_net, SM_HOST, qos=True, qos_sl2vl=SL2VL, qos_ca_vlarb_low="0:9,1:8,2:7")
    mapping = fabric.run("saquery", "SL2VL", lid(fabric, HOST), host=HOST).stdout
    assert cells(re.search(r"VL:.*15\|$", mapping, re.M).group()) == SL2VL
    weights = fabric.run("saquery", "VLAR", f"{lid(fabric, HOST)}/1/1", host=HOST).stdout
    assert cells(re.search(r"Weight:.*", weights).group()).startswith("9,8,7,0")


def test_a_path_has_the_service_level_of_its_partition(start, pod_net, tmp_path):
    file = tmp_path / "partitions.conf"
    file.write_text("Default=0x7fff, ipoib, sl=3: ALL=full;\n")
    fabric = start(pod_net, SM_HOST, qos=True, partition_config_file=str(file))
    ends = f"--slid={lid(fabric, HOST)}", f"--dlid={lid(fabric, SM_HOST)}"
    assert re.search(r"\bsl\.+0x3\b", fabric.run("saquery", *ends, "PR", host=HOST).stdout)
