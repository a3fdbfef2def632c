# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""sa_books.py SA_KEY: what hosts register with the SA, done by one client for all of them, and read back; for managers.py. Lines of JSON, an answer each:

    {"do": "join"|"leave", "guid": "0x..", "mgid": 32 digits}      {"do": "register"|"delete", "guid": .., "id": N}
    {"do": "subscribe"}      {"do": "read"}      {"do": "alias", "guid": "0x.."}: of the client's own port

Each has "ok", "status" (-1: silence) and "when" it was answered. To the SM LID that the port has at that moment; asked once, for half a second.
"""
import ctypes
import json
import pathlib
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import sa_client  # noqa: E402
from sa_client import HEADER, INFORM_INFO, MAD, MCMEMBER, PREFIX, QKEY, RMPP, SA, SERVICE, SET, VERSION, umad  # noqa: E402
from sa_paths import PortInfo  # noqa: E402

GET_TABLE, GET_TABLE_RESP, NO_RECORDS, SILENCE = 0x12, 0x92, 0x0300, -1
INFORM_RECORD, GUID_INFO_RECORD = 0x00F3, 0x0030
PATIENCE_MS, ROOM = 500, 8 << 20
NEVER = 145  # the trap of a changed system image GUID
ROWS = {"members": MCMEMBER, "services": SERVICE, "subscriptions": INFORM_RECORD}


class Refused(Exception):
    """The status that was answered."""


class Clerk(sa_client.Client):
    def __init__(self):
        super().__init__(0)
        self.buffer = ctypes.create_string_buffer(umad.umad_size() + ROOM)
        self.info = PortInfo()

    def look(self):
        if umad.umad_get_port(None, 0, ctypes.byref(self.info)) == 0:
            self.sm_lid = self.info.sm_lid
            umad.umad_release_port(ctypes.byref(self.info))

    def ask(self, method, attribute, mask, data=b"", key=None):
        """The whole answer; late answers to earlier questions are passed over."""
        self.look()
        self.tid += 1
        header = struct.pack(">BBBBHHQHHI", 1, SA, VERSION, method, 0, 0, self.tid, attribute, 0, 0)
        rmpp = struct.pack(">BBBBII", 1, 1, 0, 0, 0, 0) if method == GET_TABLE else bytes(12)
        mad = (header + rmpp + struct.pack(">QHHQ", int(sys.argv[1], 0), 0, 0, mask) + data).ljust(MAD, b"\0")
        ctypes.memset(self.buffer, 0, umad.umad_size())
        ctypes.memmove(umad.umad_get_mad(self.buffer), mad, MAD)
        umad.umad_set_addr(self.buffer, self.sm_lid, 1, 0, ctypes.c_int(QKEY - (1 << 32)))
        if umad.umad_send(self.port, self.agent, self.buffer, MAD, PATIENCE_MS, 0):
            raise Refused(SILENCE)
        while True:
            length = ctypes.c_int(ROOM)
            if umad.umad_recv(self.port, self.buffer, ctypes.byref(length), 4 * PATIENCE_MS) < 0:
                raise Refused(SILENCE)
            answer = ctypes.string_at(umad.umad_get_mad(self.buffer), max(length.value, HEADER))
            if struct.unpack_from(">Q", answer, 8)[0] & 0xFFFFFFFF != self.tid:
                continue
            if struct.unpack_from("=I", self.buffer, 4)[0]:  # given back
                raise Refused(SILENCE)
            status = struct.unpack_from(">H", answer, 4)[0]
            if status:
                raise Refused(status)
            return answer

    def rows(self, attribute):
        try:
            answer = self.ask(GET_TABLE, attribute, 0)
        except Refused as refused:
            if refused.args[0] == NO_RECORDS:
                return []
            raise
        size = struct.unpack_from(">H", answer, 44)[0] * 8
        return [answer[at:at + size] for at in range(HEADER, len(answer) - size + 1, size)] if size else []

    # ---- What is said by name

    def do_join(self, guid, mgid):
        self.change(SET, int(guid, 16), mgid, 1)

    def do_leave(self, guid, mgid):
        self.change(sa_client.DELETE, int(guid, 16), mgid, 1)

    def do_register(self, guid, id):
        self.ask(SET, SERVICE, 0x57, struct.pack(">QQQHHI16s64s", id, PREFIX, int(guid, 16), 0xFFFF, 0, 0xFFFFFFFF, b"", b"bench"))

    def do_delete(self, guid, id):
        self.ask(sa_client.DELETE, SERVICE, 0x07, struct.pack(">QQQH", id, PREFIX, int(guid, 16), 0xFFFF))

    def do_subscribe(self):
        """To what never comes: who does not answer Reports is unsubscribed."""
        self.ask(SET, INFORM_INFO, 0, struct.pack(">16sHHHBBHHIBBH", b"", 0xFFFF, 0, 0, 1, 1, 0xFFFF, NEVER, 0, 0, 0xFF, 0xFFFF))

    def do_alias(self, guid):
        """At entry 3 of the first block."""
        self.look()
        mask = 1 << 0 | 1 << 1 | 1 << (4 + 3)  # LID, BlockNum, GUID3
        self.ask(SET, GUID_INFO_RECORD, mask, struct.pack(">HB5x24xQ32x", self.info.base_lid, 0, int(guid, 16)))

    def do_read(self):
        """Rows of members (MGID, port GUID), services (ServiceID, port GUID), subscriptions (port GUID, trap)."""
        members = {(row[:16].hex(), struct.unpack_from(">Q", row, 24)[0], row[48] & 1) for row in self.rows(MCMEMBER)}
        services = [struct.unpack_from(">Q8xQ", row) for row in self.rows(SERVICE)]
        subscriptions = [struct.unpack_from(">8xQ", row) + struct.unpack_from(">H", row, 16 + 8 + 26) for row in self.rows(INFORM_RECORD)]
        return {"members": sorted(members), "services": sorted(services), "subscriptions": sorted(subscriptions)}


def main():
    clerk = Clerk()
    print("ready", flush=True)
    for line in sys.stdin:
        words = json.loads(line)
        try:
            told = {"ok": True, "status": 0, **(getattr(clerk, "do_" + words.pop("do"))(**words) or {})}
        except Refused as refused:
            told = {"ok": False, "status": refused.args[0]}
        print(json.dumps({**told, "when": time.time()}), flush=True)


if __name__ == "__main__":
    main()
