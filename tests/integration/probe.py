# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""probe.py COUNT: asks the neighbour for its NodeInfo so often, each once, and prints a 1 for each answer and a 0 for each silence. On fmsim."""
import ctypes
import struct
import sys

from sa_client import MAD, umad

DIRECTED, GET, NODE_INFO = 0x81, 0x01, 0x11
PATIENCE_MS = 20


def main():
    umad.umad_init()
    port = umad.umad_open_port(None, 0)
    agent = umad.umad_register(port, DIRECTED, 1, 0, None)
    if port < 0 or agent < 0:
        sys.exit("probe: no port")
    buffer = ctypes.create_string_buffer(umad.umad_size() + MAD)
    heard = []
    for tid in range(1, int(sys.argv[1]) + 1):
        header = struct.pack(">BBBBHBBQHHIQHH", 1, DIRECTED, 1, GET, 0, 0, 1, tid, NODE_INFO, 0, 0, 0, 0xFFFF, 0xFFFF)
        ctypes.memmove(umad.umad_get_mad(buffer), (header.ljust(128, b"\0") + b"\0\1").ljust(MAD, b"\0"), MAD)
        umad.umad_set_addr(buffer, 0xFFFF, 0, 0, 0)
        if umad.umad_send(port, agent, buffer, MAD, PATIENCE_MS, 0):
            sys.exit("probe: cannot send")
        length = ctypes.c_int(MAD)
        umad.umad_recv(port, buffer, ctypes.byref(length), -1)  # the answer, or the request given back
        heard.append("0" if umad.umad_status(buffer) else "1")
    print("".join(heard))


main()
