# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""records_client.py: asks the SA for each line `METHOD ATTRIBUTE MODIFIER KEY MASK DATA` of its input (hexadecimal), and prints the status of
each answer, or `silence`. The line's number, from 1, is the lower half of its TID. Ends after PATIENCE silences in a row: the manager is dead."""
import ctypes
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import mcast_join  # noqa: E402
import sa_client  # noqa: E402

PATIENCE_MS, PATIENCE = 300, 10


def ask(client, number, line):
    method, attribute, modifier, key, mask = (int(word, 16) for word in line.split()[:5])
    header = struct.pack(">BBBBHHQHHI", 1, sa_client.SA, sa_client.VERSION, method, 0, 0, number, attribute, 0, modifier)
    data = bytes.fromhex((line.split() + [""])[5])
    client.send((header + bytes(12) + struct.pack(">QIQ", key, 0, mask) + data).ljust(sa_client.MAD, b"\0"))
    while True:
        length = ctypes.c_int(sa_client.MAD)
        if sa_client.umad.umad_recv(client.port, client.buffer, ctypes.byref(length), PATIENCE_MS) < 0:
            return "silence"
        mad = ctypes.string_at(sa_client.umad.umad_get_mad(client.buffer), sa_client.MAD)
        if struct.unpack_from(">I", mad, 12)[0] == number and mad[3] & 0x80:
            return f"0x{struct.unpack_from('>H', mad, 4)[0]:04x}"


def main():
    client = sa_client.Client(mcast_join.sm_lid())
    silent = 0
    for number, line in enumerate(sys.stdin, 1):
        said = ask(client, number, line)
        print(said)
        silent = silent + 1 if said == "silence" else 0
        if silent == PATIENCE:
            break


if __name__ == "__main__":
    main()
