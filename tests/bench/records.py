# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What the SA answers, record by record, beside OpenSM: on one fabric, to the same host, whose LIDs stay as they are.

fmd manages the fabric first, OpenSM after it. The queries are made from what the tables hold: for each component of each record, GetTable by the
values of ROWS rows; for paths, multicast groups and others what clients ask by, with each selector; and what is wrong on purpose. Answers are read where
they are sent, whole, by the library that counts (count_umad.c), since a simulator cuts them. Two answers are the same when their status and
their rows are, whatever the order. Each difference has a reason (REASONS), or is told as one without.
"""
import os
import re
import struct
import subprocess
import sys

import sa

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import parts as p
import sa_client
import table
import world as w

FABRIC = ("pgft", "2", "6,4", "1,3")
LIMIT_S, PART_LIMIT_S = 120, 600
ROWS = 3
GET, TABLE, MULTI = 0x01, 0x12, 0x14
KEY = 1
CPI_SIZE = 72
CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "records_client.py")

# name:width in bits, in the order of the component mask (IBA 15.2.5); those of no name are reserved. In front: the bytes of a row that name it.
LAYOUTS = {
    (0x01, "ClassPortInfo"): (0, "BaseVersion:8 ClassVersion:8 CapabilityMask:16 CapabilityMask2:27 RespTimeValue:5 RedirectGID:128 "
                              "Redirect:320 Trap:64"),
    (0x11, "NodeRecord"): (2, "LID:16 :16 BaseVersion:8 ClassVersion:8 NodeType:8 NumPorts:8 SystemImageGUID:64 NodeGUID:64 PortGUID:64 "
                           "PartitionCap:16 DeviceID:16 Revision:32 LocalPortNum:8 VendorID:24 NodeDescription:512"),
    (0x12, "PortInfoRecord"): (3, "LID:16 PortNum:8 :8 M_Key:64 GIDPrefix:64 PortLID:16 MasterSMLID:16 CapabilityMask:32 DiagCode:16 "
                               "M_KeyLease:16 LocalPortNum:8 LinkWidthEnabled:8 LinkWidthSupported:8 LinkWidthActive:8 LinkSpeedSupported:4 "
                               "PortState:4 PortPhysicalState:4 LinkDownDefaultState:4 M_KeyProtectBits:2 :3 LMC:3 LinkSpeedActive:4 "
                               "LinkSpeedEnabled:4 NeighborMTU:4 MasterSMSL:4 VLCap:4 InitType:4 VLHighLimit:8 VLArbHighCap:8 VLArbLowCap:8 "
                               "InitTypeReply:4 MTUCap:4 VLStallCount:3 HOQLife:5 OperationalVLs:4 EnforceIn:1 EnforceOut:1 FilterIn:1 "
                               "FilterOut:1 M_KeyViolations:16 P_KeyViolations:16 Q_KeyViolations:16 GUIDCap:8 ClientReregister:1 :2 "
                               "SubnetTimeOut:5 :3 RespTimeValue:5 LocalPhyErrors:4 OverrunErrors:4 MaxCreditHint:16 :8 LinkRoundTrip:24"),
    (0x14, "SwitchInfoRecord"): (2, "LID:16 :16 LinearFDBCap:16 RandomFDBCap:16 MulticastFDBCap:16 LinearFDBTop:16 DefaultPort:8 "
                                 "DefaultMcastPrimary:8 DefaultMcastNotPrimary:8 LifeTimeValue:5 PortStateChange:1 OptimizedSLtoVL:2 "
                                 "LIDsPerPort:16 PartitionEnforcementCap:16"),
    (0x15, "LFTRecord"): (4, "LID:16 BlockNum:16 :32 Ports:512"),
    (0x17, "MFTRecord"): (4, "LID:16 Position:4 :3 BlockNum:9 :32 Masks:512"),
    (0x18, "SMInfoRecord"): (2, "LID:16 :16 GUID:64 SM_Key:64 ActCount:32 Priority:4 SMState:4"),
    (0x20, "LinkRecord"): (6, "FromLID:16 FromPort:8 ToPort:8 ToLID:16"),
    (0x30, "GUIDInfoRecord"): (3, "LID:16 BlockNum:8 :8 :32 " + " ".join(f"GUID{i}:64" for i in range(8))),
    (0x33, "P_KeyTableRecord"): (5, "LID:16 BlockNum:16 PortNum:8 :8 :16 P_Keys:512"),
    (0x13, "SLtoVLRecord"): (4, "LID:16 InPort:8 OutPort:8 :32 VLs:64"),
    (0x36, "VLArbitrationRecord"): (4, "LID:16 OutPort:8 BlockNum:8 :32 Weights:512"),
    (0x35, "PathRecord"): (40, "ServiceID_8:8 ServiceID_56:56 DGID:128 SGID:128 DLID:16 SLID:16 RawTraffic:1 :3 FlowLabel:20 HopLimit:8 TClass:8 "
                           "Reversible:1 NumbPath:7 P_Key:16 QoSClass:12 SL:4 MtuSelector:2 Mtu:6 RateSelector:2 Rate:6 LifeSelector:2 Life:6 "
                           "Preference:8"),
    (0x38, "MCMemberRecord"): (32, "MGID:128 PortGID:128 Q_Key:32 MLID:16 MTUSelector:2 MTU:6 TClass:8 P_Key:16 RateSelector:2 Rate:6 LifeSelector:2 "
                               "Life:6 SL:4 FlowLabel:20 HopLimit:8 Scope:4 JoinState:4 ProxyJoin:1"),
}
# (record, difference, reason): the first that matches both; what none does is a difference without one.
REASONS = [(re.compile(record), re.compile(difference), reason) for record, difference, reason in (
    ("", r"status 0x000c, OpenSM silence", "OpenSM does not answer what it does not know, fmd says so"),
    ("SLtoVL", r"status 0x0000, OpenSM death", "OpenSM dies of it (SIGSEGV)"),
    ("NodeRecord", "fewer rows", "OpenSM compares a description up to its first zero"),
    ("PortInfo|ClassPortInfo", "LocalPortNum", "the port that the last SMP came in by: each manager has its own ways"),
    ("PortInfo|SwitchInfo|LFT|MFT|SMInfo|GUIDInfo|SLtoVL|VLArb|P_Key|MCMember|InformInfo", "fewer rows", "OpenSM matches by some components alone, fmd by all of them"),
    ("PortInfo", "more rows", "OpenSM finds no port by its PortLID"),
    ("GUIDInfo", "more rows|status 0x0000, OpenSM 0x0300", "OpenSM finds no GUID, fmd matches by all components"),
    ("P_Key", "other rows", "BlockNum is big-endian, as the standard has it; OpenSM's is in the host's order (sa_pkey_block_host_order)"),
    ("LFT", "Ports", "the routes are each manager's own"),
    ("MFT", "Masks|rows", "the trees are each manager's own"),
    ("SMInfo", "ActCount", "a count of packets"),
    ("PathRecord", "other rows", "one of many paths, where a Get names one end alone; a port's path to itself has no life time in OpenSM"),
    ("MCMember", "Life$", "who creates a group says no life time: OpenSM makes it 0, fmd that of the fabric's paths"),
    ("MCMember", "Scope$", "OpenSM shows the scope that the creator's record held, fmd the MGID's"),
    ("MCMember", "ProxyJoin$", "OpenSM shows it in the lowest bit of the byte, the standard has it in the highest"),
    ("MCMember", "more rows|status 0x0000, OpenSM 0x0300", "these components differ, so what is found by them does"),
    ("ClassPortInfo", "Capability", "each says what it serves"),
    ("ClassPortInfo", "status 0x000c, OpenSM 0x0200", "the status of a method that there is not"),
)]


class Layout:
    def __init__(self, attribute, name, key, words):
        self.attribute, self.name, self.key = attribute, name, key
        self.comps, at = [], 0
        for word in words.split():
            label, width = word.rsplit(":", 1)
            self.comps.append((label, at, int(width)))
            at += int(width)

    def value(self, row, comp):
        _, at, width = comp
        end = at + width
        return int.from_bytes(row[:(end + 7) // 8], "big") >> (-end % 8) & ((1 << width) - 1)

    def data(self, values):
        """A record of these components alone; and its mask."""
        bits, mask = 0, 0
        for i, comp in enumerate(self.comps):
            if comp[0] in values:
                bits |= values[comp[0]] << (2048 - comp[1] - comp[2])
                mask |= 1 << i
        return bits.to_bytes(256, "big")[:200], mask

    def bit(self, name):
        return next(i for i, comp in enumerate(self.comps) if comp[0] == name)

    def of(self, row):
        return {comp[0]: self.value(row, comp) for comp in self.comps if comp[0]}


RECORDS = [Layout(*which, *rest) for which, rest in LAYOUTS.items()]
SERVICE = Layout(0x31, "ServiceRecord", 26, "ServiceID:64 ServiceGID:128 ServiceP_Key:16 :16 Lease:32 ServiceKey:128 ServiceName:512")
RECORDS.append(SERVICE)
NAMED = {record.name: record for record in RECORDS}


class Query:
    def __init__(self, record, values, method=TABLE, modifier=0, key=KEY, attribute=None):
        self.record, self.values, self.method, self.modifier, self.key = record, values, method, modifier, key
        self.attribute = attribute or record.attribute

    def line(self):
        data, mask = self.record.data(self.values)
        return f"{self.method:x} {self.attribute:x} {self.modifier:x} {self.key:x} {mask:x} {data.rstrip(bytes(1)).hex()}\n"

    def __str__(self):
        asked = " ".join(f"{name}=0x{value:x}" for name, value in self.values.items())
        return f"{'Get' if self.method == GET else 'GetTable'}({self.record.name}) {asked}"


class Answer:
    def __init__(self, status, mad):
        self.status, self.rows = status, []
        attribute, size = struct.unpack_from(">H", mad, 16)[0] if mad else 0, struct.unpack_from(">H", mad, 44)[0] * 8 if mad else 0
        size = CPI_SIZE if attribute == NAMED["ClassPortInfo"].attribute else size
        if mad and status == "0x0000" and size:
            rest = mad[56:] if mad[3] == TABLE | 0x80 else mad[56:56 + size]
            self.rows = sorted(rest[i:i + size] for i in range(0, len(rest) - size + 1, size))


def ask(world, sim, sm, host, queries):
    """An Answer to each; to fewer when the manager died of one."""
    begin = os.path.getsize(sm.answers) if os.path.exists(sm.answers) else 0
    environment = {**os.environ, "IBSIM_SOCKNAME": sim.name, "LD_PRELOAD": world.umad2sim, "SIM_HOST": host}
    done = subprocess.run([sys.executable, CLIENT], input="".join(query.line() for query in queries), text=True, capture_output=True,
                          cwd=world.folder("records"), env=environment, timeout=LIMIT_S + len(queries))
    if done.returncode:
        raise w.BenchError(f"records_client at {sm.name}: {done.stderr.strip()}")
    with open(sm.answers, "rb") as file:
        file.seek(begin)
        raw, mads = file.read(), {}
    while raw:
        size, = struct.unpack_from("=I", raw)
        mads[struct.unpack_from(">I", raw, 4 + 12)[0]], raw = raw[4:4 + size], raw[4 + size:]
    return [Answer(status, mads.get(i)) for i, status in enumerate(done.stdout.split(), 1)]


def prepare(guids):
    """Members of two groups, and services, for the tables to hold."""
    group = NAMED["MCMemberRecord"]
    for number, guid in enumerate(guids):
        port = sa_client.PREFIX << 64 | int(guid, 16)
        yield Query(group, {"MGID": 0xFF12A01C << 96 | number % 2, "PortGID": port, "Q_Key": 0xB1B, "TClass": 0, "P_Key": 0xFFFF, "SL": 0, "FlowLabel": 0,
                            "JoinState": 1}, 0x02)
        yield Query(SERVICE, {"ServiceID": 0x1000 + number, "ServiceGID": port, "ServiceP_Key": 0xFFFF, "Lease": 0xFFFFFFFF,
                              "ServiceName": int.from_bytes(f"service-{number}".encode().ljust(64, bytes(1)), "big")}, 0x02)


def spread(rows):
    return [rows[i * (len(rows) - 1) // (ROWS - 1)] for i in range(ROWS)] if rows else []


def by_component(record, rows):
    for row in spread(rows):
        values = record.of(row)
        for name in values:
            if record.name == "ClassPortInfo":
                continue
            yield Query(record, {name: values[name]})
            if "LID" in values or "FromLID" in values:
                yield Query(record, {"LID" if "LID" in values else "FromLID": values.get("LID", values.get("FromLID")), name: values[name]})
                yield Query(record, {name: values[name] ^ 1})


def ends(values, *names):
    return {name: values[name] for name in names}


def of_paths(rows):
    """As rdma_cm, IPoIB, ibacm, srp_daemon and saquery ask; and each selector."""
    record = NAMED["PathRecord"]
    for row in spread(rows):
        v = record.of(row)
        gids, lids = ends(v, "DGID", "SGID"), ends(v, "DLID", "SLID")
        for who in (gids, lids, {**gids, **lids}, ends(v, "SGID"), ends(v, "SLID"), ends(v, "DGID", "SLID"), ends(v, "SGID", "DLID")):
            for method in (GET, TABLE):
                yield Query(record, who, method)
        for more in ({"NumbPath": 1}, {"Reversible": 1, "NumbPath": 1, "P_Key": 0xFFFF}, {"Reversible": 1, "NumbPath": 1, "P_Key": 0xFFFF, "TClass": 0},
                     {"ServiceID_8": 0, "ServiceID_56": 0x1234, "Reversible": 1, "NumbPath": 1, "P_Key": 0xFFFF, "TClass": 0}, {"P_Key": 0x7FFF},
                     {"P_Key": 0x1234}, {"SL": 0}, {"SL": 3}, {"QoSClass": 0}, {"HopLimit": 0}, {"FlowLabel": 0}, {"Preference": 0},
                     {"Reversible": 0}, {"NumbPath": 0x7F}):
            yield Query(record, {**gids, **more}, GET)
            yield Query(record, {**lids, **more})
        for name, values in (("Mtu", (1, 2, 4, 5)), ("Rate", (2, 3, 6, 7, 10)), ("Life", (0, 10, 18, 20))):
            for selector in range(4):
                for value in values:
                    yield Query(record, {**gids, (name if name != "Mtu" else "Mtu") + "Selector": selector, name: value}, GET)
        yield Query(record, {**gids, "DGID": v["DGID"] ^ 0xFFFF}, GET)
        yield Query(record, {**lids, "DLID": 0xBFF0}, GET)
        yield Query(record, {**lids, "DLID": 0xC000}, GET)
    yield Query(record, {}, GET)


def odd_ones(rows):
    """What is no component's own: Get of many, of none; who is not trusted; methods that there are not; matches of capability bits."""
    for record in RECORDS:
        if record.name != "PathRecord":
            yield Query(record, {}, GET)
            yield Query(record, {}, TABLE, key=0)
            if record.name not in ("MCMemberRecord", "GUIDInfoRecord", "ServiceRecord"):
                yield Query(record, {}, 0x02)
        for row in spread(rows[record.name])[:1]:
            yield Query(record, record.of(row), GET)
    for bit in range(32):
        yield Query(NAMED["PortInfoRecord"], {"CapabilityMask": 1 << bit}, modifier=1 << 31)
    yield Query(NAMED["NodeRecord"], {}, attribute=0x99)
    for row in spread(rows["PortInfoRecord"]):
        yield Query(NAMED["PortInfoRecord"], ends(NAMED["PortInfoRecord"].of(row), "LID"), GET)


def make_queries(rows):
    queries = []
    for record in RECORDS:
        queries += by_component(record, rows[record.name])
    return queries + list(of_paths(rows["PathRecord"])) + list(odd_ones(rows))


def components(record, ours, theirs):
    """The names of those in which rows of one name differ; `rows` where one has what the other has not."""
    key = record.key
    mine, other = ({row[:key]: row for row in rows} for rows in (ours, theirs))
    if mine.keys() != other.keys() or len(ours) != len(theirs):
        return {"more rows" if len(ours) > len(theirs) else "fewer rows" if len(ours) < len(theirs) else "other rows"}
    return {comp[0] or "reserved" for name in mine for comp in record.comps
            if record.value(mine[name], comp) != record.value(other[name], comp)}


def differences(query, ours, theirs):
    if ours.status != theirs.status:
        return {f"status {ours.status}, OpenSM {theirs.status}"}
    return set() if ours.rows == theirs.rows else components(query.record, ours.rows, theirs.rows)


def started(world, sim, manager):
    answers = os.path.join(world.dir, f"answers-{manager.__name__}")
    os.environ["COUNT_UMAD_ANSWERS"] = answers
    try:
        sm = manager(world, sim)
    finally:
        del os.environ["COUNT_UMAD_ANSWERS"]
    sm.answers = answers
    sm.wait_up(LIMIT_S)
    return sm


def answers(world, sim, host, manager, queries, guids):
    """What was asked, and the answers; queries None: they are made of what this manager's tables hold."""
    sm = started(world, sim, manager)
    try:
        for answer in ask(world, sim, sm, host, list(prepare(guids))):
            if answer.status != "0x0000":
                raise w.BenchError(f"{sm.name} takes no member or service: {answer.status}")
        if queries is None:
            whole = ask(world, sim, sm, host, [Query(record, {}) for record in RECORDS])
            queries = make_queries({record.name: answer.rows for record, answer in zip(RECORDS, whole)})
        found = ask(world, sim, sm, host, queries)
    finally:
        ended = sm.process.poll()
        sm.close()
    if ended is None and len(found) == len(queries):
        return queries, found
    last = max((i for i, answer in enumerate(found) if answer.status != "silence"), default=-1)
    if ended is None or last + 1 == len(queries):
        raise w.BenchError(f"{sm.name} does not answer, and is there" if ended is None else f"{sm.name} ended with {ended}")
    found[last + 1].status = f"death ({ended})"
    return queries, found[:last + 2] + answers(world, sim, host, manager, queries[last + 2:], guids)[1]


def reason_of(record, difference):
    return next((reason for name, what, reason in REASONS if name.match(record.name) and what.match(difference)), None)


def record_rows(record, found):
    """found: [(query, differences)] of it."""
    reasons, unexplained = {}, []
    for query, differ in found:
        for difference in sorted(differ):
            reason = reason_of(record, difference)
            if reason:
                reasons[reason] = reasons.get(reason, 0) + 1
            else:
                unexplained.append(f"{query}: {difference}")
    same = sum(not differ for _, differ in found)
    yield table.Row(f"{record.name}: queries answered alike", same, len(found), met=not unexplained,
                    note=f"{len(unexplained)} without a reason, as {unexplained[0]}" if unexplained else "")
    for reason, count in reasons.items():
        yield table.Row(f"{table.DETAIL}{reason}", count)


def compare(world):
    netfile = world.generate("records", FABRIC)
    ids, guids = sa.hosts(netfile)
    host, guids = ids[-1], guids[:6]
    sim = w.Ibsim(world, netfile)
    try:
        queries, ours = answers(world, sim, host, lambda *where: w.Fmd(*where, settings=sa.NO_LIMIT), None, guids)
        theirs = answers(world, sim, host, w.Opensm, queries, guids)[1]
    finally:
        sim.close()
    found = [(query, differences(query, mine, other)) for query, mine, other in zip(queries, ours, theirs)]
    rows = [row for record in RECORDS for row in record_rows(record, [it for it in found if it[0].record is record])]
    return rows, {"queries": len(queries), "different": [f"{query}: {', '.join(sorted(differ))}" for query, differ in found if differ]}


def parts(world, options):
    return [p.Part("records of the SA", PART_LIMIT_S, lambda: compare(world))]
