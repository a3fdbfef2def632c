# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Completion offers what there is in the fabric, as bash has to have it."""
from test_command_list import complete_in_bash


def test_names_of_the_fabric_are_offered(pod):
    ask = f"fmctl -s {pod.socket} "
    assert complete_in_bash(ask + "links leaf-su01-r", ask + "hosts --leaf spi", ask + "nodes dgx-su01-05", ask + "lft spine-0", ask + "path dgx-su01-3") == [
        [f"leaf-su01-rail{rail}" for rail in range(8)], [""], ["dgx-su01-05"], [f"spine-0{n}" for n in range(1, 5)],
        ["dgx-su01-30", "dgx-su01-31", "dgx-su01-32"]]


def test_hcas_come_behind_their_host_and_ports_behind_their_node(pod):
    ask = f"fmctl -s {pod.socket} "
    hcas, quoted, ports, of_quoted = complete_in_bash(ask + "path dgx-su01-05\\ ml", ask + "path 'dgx-su01-05 mlx5_1", ask + "cordon leaf-su01-rail0:6",
                                                      ask + "links 'dgx-su01-05 mlx5_0:")
    assert len(hcas) == 8 and hcas[0] == "dgx-su01-05\\ mlx5_0"
    assert quoted == ["dgx-su01-05 mlx5_10", "dgx-su01-05 mlx5_11"]
    assert ports == ["6", "60", "61", "62", "63", "64", "65"]  # bash keeps what stands before the ':'
    assert of_quoted == ["dgx-su01-05 mlx5_0:1"]


def test_kinds_of_events_are_offered(pod):
    assert complete_in_bash(f"fmctl -s {pod.socket} events --kind u", f"fmctl -s {pod.socket} events --level n") == [["uncordoned", "unheard", "unreachable", "up"], ["notice"]]


def test_without_fmd_nothing_is_offered_and_nothing_is_said(tmp_path):
    assert complete_in_bash(f"fmctl -s {tmp_path}/none links leaf") == [[""]]
