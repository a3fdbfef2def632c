# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What srp_daemon and ibacm ask of a subnet manager and of each other, for a rig without verbs: the same bytes by umad.

    host_client.py SM_LID targets            srp_daemon: all targets in the fabric, each with its I/O controllers
    host_client.py SM_LID ports              srp_daemon where the SA does not match masks: all ports
    host_client.py SM_LID watch COUNT        srp_daemon: subscribes to traps 64 and 144, tells of so many Reports
    host_client.py SM_LID target NAME        is a target: answers device management until it is ended
    host_client.py SM_LID resolve GUID GUID  ibacm: joins its group, then asks for the path from one port to another

From rdma-core: srp_daemon/srp_daemon.c (check_sm_cap, do_dm_port_list, get_node, get_port_info, get_shared_pkeys, get_lid, do_full_port_list,
set_class_port_info, get_iou_info, get_ioc_prof, get_svc_entries), srp_daemon/srp_handle_traps.c (register_to_trap, response_to_trap),
ibacm/prov/acmp/src/acmp.c (acmp_init_join, acmp_format_mgid, acmp_init_path_query) and ibacm/src/acm.c (acm_path_comp_mask).
What is told is one JSON document, or one a line.
"""
import ctypes
import json
import struct
import sys

import sa_client
from sa_client import HEADER, MAD, PATIENCE_MS, PREFIX, QKEY, RMPP, SA, VERSION, umad

GET, SET, REPORT, GET_TABLE, GET_RESP, REPORT_RESP = 0x01, 0x02, 0x06, 0x12, 0x81, 0x86
CLASS_PORT_INFO, INFORM_INFO, NODE, PORT_INFO, PATH, MCMEMBER = 0x01, 0x03, 0x11, 0x12, 0x35, 0x38
DM, IOU_INFO, IOC_PROFILE, SERVICE_ENTRIES = 0x06, 0x10, 0x11, 0x12
MASK_MATCH, IS_DM, BY_BITS = 1 << 13, 1 << 19, 1 << 31
ROOM = 1 << 20
DM_DATA = 64


def gid(guid):
    return struct.pack(">QQ", PREFIX, guid)


class Host(sa_client.Client):
    def __init__(self, sm_lid, mgmt_class=SA, methods=()):
        super().__init__(sm_lid)
        self.buffer = ctypes.create_string_buffer(umad.umad_size() + ROOM)
        mask = (ctypes.c_long * 2)(sum(1 << method for method in methods), 0)
        self.listener = umad.umad_register(self.port, mgmt_class, VERSION if mgmt_class == SA else 1, RMPP if mgmt_class == SA else 0, mask) if methods else None

    def put(self, agent, lid, mad, timeout_ms):
        ctypes.memmove(umad.umad_get_mad(self.buffer), mad.ljust(MAD, b"\0"), MAD)
        umad.umad_set_addr(self.buffer, lid, 1, 0, ctypes.c_int(QKEY - (1 << 32)))
        if umad.umad_send(self.port, agent, self.buffer, MAD, timeout_ms, 0):
            sys.exit("host_client: cannot send")

    def take(self, timeout_ms=PATIENCE_MS):
        """(MAD, LID it came from)"""
        length = ctypes.c_int(ROOM)
        if umad.umad_recv(self.port, self.buffer, ctypes.byref(length), timeout_ms) < 0:
            sys.exit("host_client: silence")
        status = struct.unpack_from("=I", self.buffer, 4)[0]  # agent, status, timeout, retries, length, then the address
        if status:
            sys.exit(f"host_client: given back, {status}")
        lid = struct.unpack_from(">H", self.buffer, 28)[0]
        return ctypes.string_at(umad.umad_get_mad(self.buffer), length.value), lid

    def ask_sa(self, method, attribute, mask, data=b"", modifier=0):
        """The answer's rows; [] where there are none."""
        self.tid += 1
        header = struct.pack(">BBBBHHQHHI", 1, SA, VERSION, method, 0, 0, self.tid, attribute, 0, modifier)
        rmpp = struct.pack(">BBBBII", 1, 1, 0, 0, 0, 0) if method == GET_TABLE else bytes(12)
        self.put(self.agent, self.sm_lid, header + rmpp + struct.pack(">QHHQ", 0, 0, 0, mask) + data, PATIENCE_MS)
        answer, _ = self.take()
        status, = struct.unpack_from(">H", answer, 4)
        if status == 0x0300:  # no records
            return []
        if status:
            sys.exit(f"host_client: attribute {attribute:#x}: status {status:#06x}")
        size = struct.unpack_from(">H", answer, 44)[0] * 8
        if method != GET_TABLE:
            return [answer[HEADER:]]
        return [answer[at:at + size] for at in range(HEADER, len(answer) - size + 1, size)] if size else []

    def ask_device(self, lid, method, attribute, data=b"", modifier=0):
        """(status, data). By the agent for the SA, as srp_daemon does."""
        self.tid += 1
        header = struct.pack(">BBBBHHQHHI", 1, DM, 1, method, 0, 0, self.tid, attribute, 0, modifier)
        self.put(self.agent, lid, header.ljust(DM_DATA, b"\0") + data, PATIENCE_MS)
        answer, _ = self.take()
        return struct.unpack_from(">H", answer, 4)[0], answer[DM_DATA:]

    # ---- srp_daemon

    def own_port(self):
        """(LID, port GUID): what srp_daemon reads in sysfs."""
        class Port(ctypes.Structure):  # umad_port_t as far as that
            _fields_ = [("ca", ctypes.c_char * 20), ("num", ctypes.c_int), ("lid", ctypes.c_uint), ("lmc", ctypes.c_uint),
                        ("sm_lid", ctypes.c_uint), ("sm_sl", ctypes.c_uint), ("state", ctypes.c_uint), ("phys", ctypes.c_uint),
                        ("rate", ctypes.c_uint), ("capmask", ctypes.c_uint32), ("prefix", ctypes.c_uint64), ("guid", ctypes.c_uint64),
                        ("rest", ctypes.c_char * 64)]
        port = Port()
        if umad.umad_get_port(None, 0, ctypes.byref(port)):
            sys.exit("host_client: no port")
        return port.lid, int.from_bytes(port.guid.to_bytes(8, "little"), "big")

    def matches_masks(self):
        return bool(struct.unpack_from(">H", self.ask_sa(GET, CLASS_PORT_INFO, 0)[0], 2)[0] & MASK_MATCH)

    def targets(self):
        here, guid = self.own_port()
        found = [self.target(here, guid, struct.unpack_from(">H", row)[0])
                 for row in self.ask_sa(GET_TABLE, PORT_INFO, 1 << 7, bytes(4 + 20) + struct.pack(">I", IS_DM), BY_BITS)]
        return {"mask_match": self.matches_masks(), "targets": found}

    def target(self, here, guid, lid):
        node = self.ask_sa(GET, NODE, 1, struct.pack(">H", lid))[0]
        port = self.ask_sa(GET, PORT_INFO, 1, struct.pack(">H", lid))[0]
        there = struct.unpack_from(">Q", node, 4 + 20)[0]
        shared = self.ask_sa(GET, PATH, 1 << 4 | 1 << 5 | 1 << 13, struct.pack(">40xHH4xHH", lid, here, 0, 0xFFFF))
        raw = self.ask_sa(GET, PATH, 4 | 8 | 64 | 512 | 4096, struct.pack(">8x16s16sHHIBB", gid(there), gid(there), 0, 0, 1 << 31, 0, 1))
        told = {"lid": lid, "port_guid": f"{there:#018x}", "prefix": struct.unpack_from(">Q", port, 4 + 8)[0] == PREFIX,
                "is_dm": bool(struct.unpack_from(">I", port, 4 + 20)[0] & IS_DM),
                "pkey": struct.unpack_from(">H", shared[0], 50)[0] if shared else None,
                "lid_by_gid": struct.unpack_from(">H", raw[0], 40)[0] if raw else None}
        return {**told, "controllers": self.controllers(lid, here, guid)}

    def controllers(self, lid, here, guid):
        trap_to = struct.pack(">40x16s4xH", gid(guid), here)  # ClassPortInfo: TrapGID, TrapLID
        status, _ = self.ask_device(lid, SET, CLASS_PORT_INFO, trap_to.ljust(72, b"\0"))
        if status:
            return None
        _, unit = self.ask_device(lid, GET, IOU_INFO)
        names = []
        for slot in range(1, unit[2] + 1):
            if unit[4 + (slot - 1) // 2] >> (4 if slot & 1 else 0) & 0xF != 1:
                continue
            _, profile = self.ask_device(lid, GET, IOC_PROFILE, modifier=slot)
            entries = profile[54]
            _, services = self.ask_device(lid, GET, SERVICE_ENTRIES, modifier=slot << 16 | (min(entries, 4) - 1) << 8)
            names.append({"ioc": profile[64:128].split(b"\0")[0].decode(),
                          "services": [services[at:at + 40].split(b"\0")[0].decode() for at in range(0, 48 * min(entries, 4), 48)]})
        return names

    def ports(self):
        """LID and port GUID of all, as srp_daemon asks a manager that does not match masks."""
        return [[struct.unpack_from(">H", row)[0], f"{struct.unpack_from('>Q', row, 24)[0]:#018x}"]
                for row in self.ask_sa(GET_TABLE, NODE, 0)]

    def watch(self, count):
        for trap, kind, producer in ((64, 3, 4), (144, 4, 1)):
            info = struct.pack(">16sHHHBBHHIBBH", b"", 0xFFFF, 0, 0, 1, 1, kind, trap, 0, 0, 0, producer)
            self.ask_sa(SET, INFORM_INFO, 1 << 1 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 12, info)
        print("subscribed", flush=True)
        for _ in range(count):
            report, lid = self.take()
            notice = report[HEADER:]
            trap, issuer = struct.unpack_from(">HH", notice, 4)
            told = {"trap": trap, "issuer": issuer}
            if trap == 64:
                told["guid"] = f"{struct.unpack_from('>Q', notice, 24)[0]:#018x}"
            else:
                told["lid"], told["capmask"] = struct.unpack_from(">H2xI", notice, 12)
                shown = self.ask_sa(GET, PORT_INFO, 1, struct.pack(">H", told["lid"]))[0]  # at once, as srp_daemon does
                told["shown"] = struct.unpack_from(">I", shown, 4 + 20)[0]
            print(json.dumps(told), flush=True)
            self.put(self.listener, lid, report[:3] + bytes([REPORT_RESP]) + report[4:], 0)

    # ---- a target, as ib_srpt is one

    def serve(self, name):
        print("serves", flush=True)
        while True:
            request, lid = self.take(-1)
            attribute, modifier = struct.unpack_from(">H2xI", request, 16)
            data = {CLASS_PORT_INFO: request[DM_DATA:], IOU_INFO: struct.pack(">HBB", 1, 1, 0) + b"\x10",
                    IOC_PROFILE: bytes(54) + b"\x01" + bytes(9) + b"a target",
                    SERVICE_ENTRIES: name.encode().ljust(40, b"\0") + struct.pack(">Q", 7)}.get(attribute)
            status = 0 if data is not None else 0x000C
            answer = request[:3] + bytes([GET_RESP]) + struct.pack(">H", status) + request[6:DM_DATA] + (data or b"")
            self.put(self.listener, lid, answer[:MAD], 0)

    # ---- ibacm

    def resolve(self, source, target):
        """Of the group its MLID, of the path from the one to the other both LIDs, P_Key, MTU and rate."""
        lid = self.own_port()[0]
        rate, mtu = 3, 4  # of the group; its MGID has both
        mgid = struct.pack(">BBBBHBBB7x", 0xFF, 0x15, 0x40, 0x01, 0xFFFF, 0, rate, mtu)
        member = struct.pack(">16s16sIHBBHBBIB3x", mgid, gid(source), QKEY, 0, 2 << 6 | mtu, 0, 0xFFFF, 2 << 6 | rate, 0, 0, 5 << 4 | 1)
        mask = sum(1 << comp for comp in (0, 1, 2, 4, 5, 6, 7, 8, 9, 12, 13, 15, 16))
        group = self.ask_sa(SET, MCMEMBER, mask, member)[0]
        wish = struct.pack(">8x16s16sHHIBBHH", gid(target), gid(source), 0, lid, 0, 0, 0x80 | 1, 0xFFFF, 0)
        path = self.ask_sa(GET, PATH, 1 << 2 | 1 << 3 | 1 << 5 | 1 << 11 | 1 << 13, wish)[0]
        dlid, slid, pkey = struct.unpack_from(">HH6xH", path, 40)
        return {"mlid": struct.unpack_from(">H", group, 36)[0], "slid": slid, "dlid": dlid, "pkey": pkey,
                "mtu": path[54] & 0x3F, "rate": path[55] & 0x3F}


def main():
    sm_lid, act, rest = int(sys.argv[1], 0), sys.argv[2], sys.argv[3:]
    if act == "watch":
        Host(sm_lid, SA, (REPORT,)).watch(int(rest[0]))
    elif act == "target":
        Host(sm_lid, DM, (GET, SET)).serve(rest[0])
    elif act == "resolve":
        print(json.dumps(Host(sm_lid).resolve(*(int(word, 0) for word in rest))))
    else:
        print(json.dumps(getattr(Host(sm_lid), act)()))


if __name__ == "__main__":
    main()
