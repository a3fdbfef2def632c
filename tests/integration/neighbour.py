# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Get(NodeInfo) for the neighbour, by directed route over the own port, one SMP after the other. On fmsim."""
import ctypes
import struct
import sys

from sa_client import MAD, umad

DIRECTED, GET, NODE_INFO = 0x81, 0x01, 0x11


class Neighbour:
    def __init__(self, program):
        umad.umad_init()
        self.port = umad.umad_open_port(None, 0)
        self.agent = umad.umad_register(self.port, DIRECTED, 1, 0, None)
        if self.port < 0 or self.agent < 0:
            sys.exit(f"{program}: no port")
        self.buffer = ctypes.create_string_buffer(umad.umad_size() + MAD)

    def send(self, tid, patience_ms):
        """What umad_send() returns. Patience 0: nothing is kept, and nothing comes back."""
        header = struct.pack(">BBBBHBBQHHIQHH", 1, DIRECTED, 1, GET, 0, 0, 1, tid, NODE_INFO, 0, 0, 0, 0xFFFF, 0xFFFF)
        ctypes.memmove(umad.umad_get_mad(self.buffer), (header.ljust(128, b"\0") + b"\0\1").ljust(MAD, b"\0"), MAD)
        umad.umad_set_addr(self.buffer, 0xFFFF, 0, 0, 0)
        return umad.umad_send(self.port, self.agent, self.buffer, MAD, patience_ms, 0)

    def receive(self, wait_ms):
        """What umad_recv() returns; wait_ms -1 = until something comes."""
        return umad.umad_recv(self.port, self.buffer, ctypes.byref(ctypes.c_int(MAD)), wait_ms)

    def answered(self):
        """Whether what came last is an answer, and not the request given back."""
        return not umad.umad_status(self.buffer)
