# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Ports with an M_Key of somebody else, as an operator sees them: status and fmctl show."""
import pytest

PORT_INFO, HOST, LEAF = 0x15, "H-0002c90380000600", "leaf-0002"
M_KEY_PROTECT = 34  # byte of PortInfo, in its two highest bits


def lock(fabric, level):
    """Root on the host gives its port an M_Key."""
    info = bytearray(fabric.get_smp(HOST, PORT_INFO, 1))
    info[0:8] = b"\x99" * 8
    info[32] &= 0xF0  # PortState and PortPhysicalState: as they are
    info[33] &= 0x0F
    info[M_KEY_PROTECT] = info[M_KEY_PROTECT] & 0x3F | level << 6
    fabric.set_smp(HOST, PORT_INFO, 1, bytes(info))


@pytest.mark.parametrize("level", [2, 3])
def test_a_port_that_hides_behind_a_foreign_key_is_shown_as_probable(start, small_net, level):
    fabric = start(small_net, rig="fmsim", sweep_interval=1)
    lock(fabric, level)
    fabric.fmctl("sweep", check=False)
    status = fabric.wait(lambda status: status["m_keys"]["probable"] == 1, "the port is reported")
    row, = status["m_keys"]["probable_ports"]
    assert "node-0006" in row["port"] and ("PerfMgt" in row["why"] or "trap 256" in row["why"])
    assert "probably" in fabric.fmctl("show", LEAF).stdout
    assert [a for a in status["alerts"] if a["what"] == "m-key-probable"]
