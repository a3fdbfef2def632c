# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What saquery can't do at a host: to subscribe to notices, to register services, to join groups. Under ibsim, by libibumad.

    sa_client.py SM_LID subscribe             to everything
    sa_client.py SM_LID register GUID ID NAME [LEASE]
    sa_client.py SM_LID delete GUID ID
    sa_client.py SM_LID join|leave GUID MGID [STATE]    for that port (another one by the SM_Key); MGID in 32 hexadecimal digits
"""
import ctypes
import os
import ctypes.util
import struct
import sys

SA, VERSION, RMPP = 0x03, 2, 1
SET, DELETE = 0x02, 0x15
INFORM_INFO, SERVICE, MCMEMBER = 0x0003, 0x0031, 0x0038
SM_KEY = 1
JOIN, CREATE = 0x10003, 0x130C7  # components: MGID, PortGID, JoinState; and those of a new group
QKEY = 0x80010000
PREFIX = 0xFE80000000000000
HEADER, MAD = 56, 256
PATIENCE_MS = 60000

# fmsim's library stands in for the whole of libibumad; ibsim's, for what that one asks of the system.
umad = ctypes.CDLL(os.environ["LD_PRELOAD"] if "FMSIM" in os.environ else ctypes.util.find_library("ibumad"))
umad.umad_get_mad.restype = ctypes.c_void_p
umad.umad_get_mad.argtypes = [ctypes.c_void_p]


class Client:
    def __init__(self, sm_lid):
        self.sm_lid, self.tid = sm_lid, 0
        umad.umad_init()
        self.port = umad.umad_open_port(None, 0)
        self.agent = umad.umad_register(self.port, SA, VERSION, RMPP, None)
        if self.port < 0 or self.agent < 0:
            sys.exit("sa_client: no port")
        self.buffer = ctypes.create_string_buffer(umad.umad_size() + MAD)

    def send(self, mad):
        ctypes.memmove(umad.umad_get_mad(self.buffer), mad, MAD)
        umad.umad_set_addr(self.buffer, self.sm_lid, 1, 0, ctypes.c_int(QKEY - (1 << 32)))
        if umad.umad_send(self.port, self.agent, self.buffer, MAD, PATIENCE_MS, 0):
            sys.exit("sa_client: cannot send")

    def receive(self):
        length = ctypes.c_int(MAD)
        if umad.umad_recv(self.port, self.buffer, ctypes.byref(length), PATIENCE_MS) < 0:
            sys.exit("sa_client: silence")
        return ctypes.string_at(umad.umad_get_mad(self.buffer), MAD)

    def ask(self, method, attribute, mask, data, key=0, wait=True):
        self.tid += 1
        header = struct.pack(">BBBBHHQHHI", 1, SA, VERSION, method, 0, 0, self.tid, attribute, 0, 0)
        self.send((header + bytes(12) + struct.pack(">QIQ", key, 0, mask) + data).ljust(MAD, b"\0"))
        if wait:
            self.answer()

    def answer(self):
        status = struct.unpack_from(">H", self.receive(), 4)[0]
        if status:
            sys.exit(f"sa_client: status 0x{status:04x}")

    def subscribe(self):
        everything = struct.pack(">16sHHHBBHHIBBH", b"", 0xFFFF, 0, 0, 1, 1, 0xFFFF, 0xFFFF, 0, 0, 0xFF, 0xFFFF)
        self.ask(SET, INFORM_INFO, 0, everything)

    def register(self, guid, number, name, lease=0xFFFFFFFF):
        record = struct.pack(">QQQHHI16s64s", number, PREFIX, guid, 0xFFFF, 0, lease, b"", name.encode())
        self.ask(SET, SERVICE, 0x57, record)

    def delete(self, guid, number):
        self.ask(DELETE, SERVICE, 0x07, struct.pack(">QQQH", number, PREFIX, guid, 0xFFFF))

    def change(self, method, guid, mgid, state, wait=True):
        record = struct.pack(">16sQQIHBBHBBIB", bytes.fromhex(mgid), PREFIX, guid, 0xB1B, 0, 0x84, 0, 0xFFFF, 0x83, 0, 0,
                             0x20 | state)
        self.ask(method, MCMEMBER, CREATE if method == SET else JOIN, record, SM_KEY, wait)


def main():
    client, act, rest = Client(int(sys.argv[1], 0)), sys.argv[2], sys.argv[3:]
    if act == "subscribe":
        client.subscribe()
    elif act == "register":
        client.register(int(rest[0], 0), int(rest[1], 0), rest[2], *(int(word, 0) for word in rest[3:]))
    elif act == "delete":
        client.delete(int(rest[0], 0), int(rest[1], 0))
    else:
        state = int(rest[2], 0) if len(rest) > 2 else 1
        client.change(SET if act == "join" else DELETE, int(rest[0], 0), rest[1], state)


if __name__ == "__main__":
    main()
