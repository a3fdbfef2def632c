# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""sa_paths.py RATE TRY_MS TRIES OWN_GUID,GUID,..: asks the SA for paths from its port until its input ends; for managers.py.

As the kernel does, it sends to the SM LID that its port has at that moment, and repeats a request to where it went first. Prints `ready`, and in the
end a line each: when it was sent, and what that took, in microseconds; -1 = it was not answered with a path.
"""
import ctypes
import os
import select
import struct
import sys
import time

SA, GET, GET_RESP, PATH = 0x03, 0x01, 0x81, 0x0035
QKEY = 0x80010000 - (1 << 32)
PREFIX = 0xFE80 << 48
PATIENT_S = 3  # after the end, beyond what the last request takes


class PortInfo(ctypes.Structure):  # umad_port_t, as far as the SM LID
    _fields_ = [("ca", ctypes.c_char * 20), ("port", ctypes.c_int), ("base_lid", ctypes.c_uint), ("lmc", ctypes.c_uint),
                ("sm_lid", ctypes.c_uint), ("rest", ctypes.c_ubyte * 4096)]


class Asker:
    def __init__(self, try_ms, tries, guids):
        self.umad = ctypes.CDLL(os.environ["LD_PRELOAD"])
        self.umad.umad_get_mad.restype = ctypes.c_void_p
        self.umad.umad_get_mad.argtypes = [ctypes.c_void_p]
        self.umad.umad_init()
        self.port = self.umad.umad_open_port(None, 0)
        self.agent = self.umad.umad_register(self.port, SA, 2, 0, None)
        self.out, self.into = (ctypes.create_string_buffer(self.umad.umad_size() + 256) for _ in range(2))
        self.info, self.looked, self.lid = PortInfo(), 0.0, 0
        self.try_ms, self.tries, self.guids = try_ms, tries, guids
        self.sent, self.took, self.number = {}, [], 0

    def look(self, now):
        if now - self.looked > 0.002:
            self.looked = now
            if self.umad.umad_get_port(None, 0, ctypes.byref(self.info)) == 0:
                self.lid = self.info.sm_lid
                self.umad.umad_release_port(ctypes.byref(self.info))

    def send(self):
        self.number += 1
        other = self.guids[self.number % (len(self.guids) - 1) + 1]
        head = struct.pack(">BBBBHHQHHI", 1, SA, 2, GET, 0, 0, self.number, PATH, 0, 0)
        record = struct.pack(">QQQQQHHIBBH", 0, PREFIX, other, PREFIX, self.guids[0], 0, 0, 0, 0, 0x81, 0xFFFF)
        mad = (head + bytes(12) + struct.pack(">QIQ", 0, 0, 1 << 2 | 1 << 3 | 1 << 11 | 1 << 12) + record).ljust(256, b"\0")
        ctypes.memset(self.out, 0, self.umad.umad_size())
        ctypes.memmove(self.umad.umad_get_mad(self.out), mad, 256)
        self.umad.umad_set_addr(self.out, self.lid, 1, 0, ctypes.c_int(QKEY))
        self.sent[self.number] = time.time()
        self.umad.umad_send(self.port, self.agent, self.out, 256, self.try_ms, self.tries)

    def receive(self):
        length = ctypes.c_int(256)
        while self.umad.umad_recv(self.port, self.into, ctypes.byref(length), 0) >= 0:
            mad = ctypes.string_at(self.umad.umad_get_mad(self.into), 256)
            when = self.sent.pop(struct.unpack_from(">Q", mad, 8)[0] & 0xFFFFFFFF, None)
            if when is not None:
                good = mad[3] == GET_RESP and not struct.unpack_from(">H", mad, 4)[0] and not self.umad.umad_status(self.into)
                self.took.append((when, int((time.time() - when) * 1e6) if good else -1))
            length = ctypes.c_int(256)


def main():
    rate, try_ms, tries = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    asker = Asker(try_ms, tries, [int(word, 16) for word in sys.argv[4].split(",")])
    asker.look(time.monotonic())
    print("ready", flush=True)
    begun, ended = time.monotonic(), None
    while ended is None or (asker.sent and time.monotonic() < ended + PATIENT_S + try_ms * (tries + 1) / 1e3):
        now = time.monotonic()
        asker.look(now)
        while ended is None and asker.number < (now - begun) * rate:
            asker.send()
        asker.receive()
        if ended is None and select.select([sys.stdin], [], [], 0)[0]:
            ended = now
        time.sleep(min(0.002, 0.3 / rate))
    for when, us in asker.took + [(when, -1) for when in asker.sent.values()]:
        print(f"{when:.6f} {us}")


if __name__ == "__main__":
    main()
