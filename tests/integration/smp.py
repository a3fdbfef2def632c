# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""smp.py ATTRIBUTE MODIFIER [HEX]: gets, or sets to HEX, an attribute of the node it runs at, and prints it in hex.
smp.py -: the same for each line of its input.

The management datagram goes the directed route of no hops, so the node needs no LID and no cable. For tests under
ibsim, by way of libibmad.
"""
import ctypes
import ctypes.util
import sys

SUBNET_CLASS, DIRECT_CLASS = 0x01, 0x81
DATA_SIZE = 64
TIMEOUT_MS = 1000


class Path(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int), ("ports", ctypes.c_uint8 * 64), ("slid", ctypes.c_uint16),
                ("dlid", ctypes.c_uint16)]


class PortId(ctypes.Structure):  # libibmad's portid
    _fields_ = [("lid", ctypes.c_int), ("path", Path), ("grh_present", ctypes.c_int), ("gid", ctypes.c_uint8 * 16),
                ("qp", ctypes.c_uint32), ("qkey", ctypes.c_uint32), ("sl", ctypes.c_uint8),
                ("pkey_index", ctypes.c_uint)]


def ask(mad, port, attribute, modifier, value=None):
    data = (ctypes.c_uint8 * DATA_SIZE)(*bytes.fromhex(value or ""))
    call = mad.smp_set_via if value else mad.smp_query_via
    call.restype = ctypes.c_void_p
    call.argtypes = [ctypes.c_void_p, ctypes.POINTER(PortId), ctypes.c_uint, ctypes.c_uint, ctypes.c_uint,
                     ctypes.c_void_p]
    here = PortId(path=Path(slid=0xFFFF, dlid=0xFFFF))
    if not call(data, here, int(attribute, 0), int(modifier, 0), TIMEOUT_MS, port):
        sys.exit("smp: no answer")
    print(bytes(data).hex(), flush=True)


def main():
    mad = ctypes.CDLL(ctypes.util.find_library("ibmad"))
    mad.mad_rpc_open_port.restype = ctypes.c_void_p
    mad.mad_rpc_close_port.argtypes = [ctypes.c_void_p]
    classes = (ctypes.c_int * 2)(SUBNET_CLASS, DIRECT_CLASS)
    port = mad.mad_rpc_open_port(None, 0, classes, len(classes))
    if not port:
        sys.exit("smp: no port")
    for words in (map(str.split, sys.stdin) if sys.argv[1] == "-" else [sys.argv[1:]]):
        ask(mad, port, *words)
    mad.mad_rpc_close_port(port)


main()
