# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""mcast_join.py GAP_US [WINDOW]: joins ports to groups, for the lines `GUID MGID` of its input; prints the seconds it took.

By the SM_Key, so that one client of ibsim joins for a whole fabric. One after the other, with GAP_US between two, or WINDOW at a time.
"""
import ctypes
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import sa_client  # noqa: E402


class Port(ctypes.Structure):  # the beginning of libibumad's umad_port_t
    _fields_ = [("name", ctypes.c_char * 20), ("num", ctypes.c_int), ("lid", ctypes.c_uint), ("lmc", ctypes.c_uint),
                ("sm_lid", ctypes.c_uint), ("rest", ctypes.c_uint8 * 4096)]


def sm_lid():
    port = Port()
    sa_client.umad.umad_init()
    if sa_client.umad.umad_get_port(None, 0, ctypes.byref(port)):
        sys.exit("mcast_join: no port")
    return port.sm_lid


def main():
    client, gap_s = sa_client.Client(sm_lid()), int(sys.argv[1]) / 1e6
    window = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    lines = [line.split() for line in sys.stdin]
    begin, waits = time.monotonic(), 0
    for guid, mgid in lines:
        client.change(sa_client.SET, int(guid, 16), mgid, 1, wait=False)
        waits += 1
        if waits == window:
            client.answer()
            waits -= 1
        if gap_s:
            time.sleep(gap_s)
    for _ in range(waits):
        client.answer()
    print(time.monotonic() - begin)


if __name__ == "__main__":
    main()
