# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A simulated fabric for a test: ibsim on a topology file, fmd on ibsim, and people's tools on both.

    fabric = Fabric(tmp_path, NET)       ibsim runs, nothing manages it yet
    fabric.start_fmd()
    fabric.wait_up()
    fabric.console('Unlink "S-0002c90300000100"[33]')
    fabric.wait(lambda s: s["links_down"] == 1, "the cut is seen")
    fabric.run("saquery", "-p", host="H-0002c90380000100")
    fabric.stop()

Everything lives in the scratch folder. What is waited for is asked for again and again with a deadline, never slept
for. Only processes begun here are ended, by their ids.

ibsim: its socket name is our own, so that fabrics stand side by side. Its console is a FIFO; a command has been
executed when the remark sent behind it is echoed. Each client works in a folder of its own, since libumad2sim makes
`sys-PID` there. ibsim has room for ten clients, and a client that is killed keeps its place: so they are asked to end.
"""
import contextlib
import ctypes.util
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

from fmsim import Fmsim

ROOT = pathlib.Path(__file__).resolve().parents[2]
FABRICS = ROOT.parent / "shared" / "fabrics"
RIG = os.environ.get("RIG", "fmsim")
SAQUERY_MS = 30000
ASKINGS = 5  # of what is lost on its way
DEADLINE_S = 120  # of one wait: far beyond what anything here takes on a busy machine
POLL_S, POLL_MAX_S = 0.02, 0.2  # between two looks: a tenth of what was waited already, within these
TAIL_LINES = 40

SWITCH_INFO, LINEAR_FORWARDING_TABLE = 0x12, 0x19  # attributes
LFT_BLOCK = 64  # entries
NO_ROUTE = 255

NOISE = r"cannot parse speed|^$|^[^i].*\t|^#\s"  # of ibsim: speeds it does not know, and what Dump says

counter = itertools.count(1)
running = []  # fabrics that a test that fails may tell about
addresses = itertools.cycle(range(100, 250))


def program(name):
    """fmd or fmctl. FMD_BIN is the folder with both, or fmd itself; FMCTL_BIN is fmctl."""
    built = pathlib.Path(os.environ.get("FMD_BIN", ROOT / "build")).resolve()
    folder = built if built.is_dir() else built.parent
    if name == "fmd":
        return folder / name if built.is_dir() else built
    return pathlib.Path(os.environ.get("FMCTL_BIN", folder / name)).resolve()


def multiarch_folder():
    """The folder of libibumad as the linker's cache has it: /usr/lib/<triplet>."""
    name = ctypes.util.find_library("ibumad")
    cache = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    found = re.search(rf"^\s*{re.escape(name or 'libibumad.so.3')} .*=> (\S+)$", cache, re.M)
    if not found:
        raise RuntimeError("libibumad is not installed")
    return pathlib.Path(os.path.realpath(found.group(1))).parent


def simulator_library():
    library = multiarch_folder() / "umad2sim" / "libumad2sim.so"
    if not library.exists():
        raise RuntimeError(f"{library} is missing: install libumad2sim0")
    return library


def tail(path, but=None):
    """The last lines, those that have `but` in them left out."""
    if not path.exists():
        return f"({path.name}: absent)\n"
    lines = [line for line in path.read_text(errors="replace").splitlines() if not (but and re.search(but, line))]
    return "\n".join(lines[-TAIL_LINES:]) + "\n"


def own_address():
    """An address of this machine that nobody else uses: its ports are free, and stay so."""
    process = os.getpid()
    return f"127.{next(addresses)}.{process >> 8 & 255}.{process & 255 or 1}"


def free_door():
    """ADDRESS:PORT to listen at; below the ports that connections get, so no connection takes it or meets itself there."""
    return f"{own_address()}:9811"


def split(door):
    address, port = door.rsplit(":", 1)
    return address, int(port)


def rest(begun):
    """Between two looks of one who has looked since then: each takes processor time from what is waited for."""
    time.sleep(min(max(POLL_S, (time.monotonic() - begun) / 10), POLL_MAX_S))


def poll(condition, what, deadline_s=DEADLINE_S):
    """The first true value of condition(); AssertionError when the deadline passes without one."""
    begun = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < begun + deadline_s, f"not within {deadline_s} s: {what}"
        rest(begun)


def until(check, deadline_s=DEADLINE_S):
    """What check() returns the first time that none of its assertions fails; the last failure when the deadline passes."""
    begun = time.monotonic()
    while True:
        try:
            return check()
        except AssertionError:
            if time.monotonic() > begun + deadline_s:
                raise
        rest(begun)


def without(document, members):
    """A document without members of these names, at any depth."""
    if isinstance(document, dict):
        return {name: without(value, members) for name, value in document.items() if name not in members}
    return [without(value, members) for value in document] if isinstance(document, list) else document


def alike(one, other, but=()):
    """What two looks at a manager that works both tell, in the end: one may be before a change, the other behind it. `but`: members that may differ."""
    def same():
        first, second = without(one(), but), without(other(), but)
        assert first == second
        return first

    return until(same)


def settled(look, but=()):
    """What look() tells, once two looks in a row tell the same. `but`: members that may differ."""
    return alike(look, look, but)


def end_process(process, how=signal.SIGTERM, deadline_s=DEADLINE_S):
    """Asks a process to end; its exit status."""
    if process.poll() is None:
        process.send_signal(how)
    try:
        return process.wait(timeout=deadline_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise AssertionError(f"{process.args[0]}: no end within {deadline_s} s of signal {how}") from None


class Ibsim:
    """The simulator with its console."""
    device = "ibsim0"

    def __init__(self, scratch, net):
        self.name = f"fmd-test-{os.getpid()}-{next(counter)}"
        self.scratch, self.net = scratch, pathlib.Path(net).resolve()
        self.log = scratch / "ibsim.log"
        self.process = self.fifo = None
        self.marks = itertools.count(1)

    def environment(self, host):
        environment = {"IBSIM_SOCKNAME": self.name, "LD_PRELOAD": str(simulator_library())}
        return {**environment, "SIM_HOST": host} if host else environment

    def start(self):
        pipe = self.scratch / "console"
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.fifo = open(pipe, "w")  # there is a reader already, so it opens at once
        os.set_blocking(reader, True)
        command = ["ibsim", "-s", "-N", "60000", "-S", "4000", "-P", "400000", "-L", "49151", "-M", "1024", self.net]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, stdin=reader, stdout=log, stderr=log, cwd=self.scratch,
                                            env={**os.environ, "IBSIM_SOCKNAME": self.name})
        os.close(reader)
        poll(self.listens, "ibsim listens")

    def listens(self):
        assert self.process.poll() is None, f"ibsim ended with {self.process.returncode}:\n{tail(self.log)}"
        with open("/proc/net/unix") as sockets:  # the last one it makes
            return f"@{self.name}:out9" in sockets.read().replace("\0", "")

    def command(self, text):
        """Runs a console command; what ibsim said to it."""
        assert len(text) < 120, "ibsim's console takes 127 characters a line"
        mark = f"#mark-{next(self.marks)}#"
        begin = self.log.stat().st_size
        self.fifo.write(f"{text}\n{mark}\n")
        self.fifo.flush()

        def answered():
            with open(self.log, errors="replace") as log:
                log.seek(begin)
                said, found, _ = log.read().partition(mark)
            return (said,) if found else None

        return poll(answered, f"ibsim obeys: {text}")[0].replace("sim> ", "")

    def commands(self, texts):
        """Several commands at one stroke: no packet is handled in between."""
        (self.scratch / "batch").write_text("\n".join(texts) + "\n")
        return self.command("!batch")

    def stop(self):
        if self.process:
            end_process(self.process)
        if self.fifo:
            self.fifo.close()
        self.process = self.fifo = None


class Fabric:
    def __init__(self, scratch, net, ibsim=None, rig=None, sim_options=(), **conf):
        """ibsim: the simulator of another Fabric, on which a second fmd is to run; it is that one's to stop. rig: which one, else as RIG says."""
        self.rig = rig or RIG
        self.scratch = pathlib.Path(scratch)
        self.state_dir = self.scratch / "state"
        self.socket = self.scratch / "fmd.sock"
        self.conf = self.scratch / "fmd.conf"
        self.log = self.scratch / "fmd.log"
        self.suppressions = self.scratch / "asan"  # for an fmd with sanitizers: what is not its own
        self.suppressions.write_text("interceptor_via_lib:libumad2sim.so\ninterceptor_via_lib:libfmsim-umad.so\n")
        self.fmd = None
        self.ibsim, self.shared = ibsim, ibsim is not None
        self.sim_options = sim_options
        self.write_conf(**conf)
        if not self.shared:
            self.start_ibsim(net)
        running.append(self)

    def another(self, **conf):
        """A second fmd's side of the same simulator."""
        return Fabric(self.folder("another"), self.ibsim.net, ibsim=self.ibsim, rig=self.rig, **conf)

    # ---- Configuration

    def write_conf(self, **keys):
        values = {"state_dir": str(self.state_dir), "socket": str(self.socket), **keys}
        lines = [f'{key} = "{value}";' if isinstance(value, str) else f"{key} = {value};"
                 for key, value in values.items()]
        self.conf.write_text("\n".join(lines) + "\n")
        self.conf.chmod(0o600)  # it may hold keys

    # ---- Processes

    def folder(self, name):
        return pathlib.Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.scratch))

    def environment(self, host=None):
        environment = {name: value for name, value in os.environ.items() if name not in ("SIM_HOST", "FMSIM_NODE")}
        return {**environment, **self.ibsim.environment(host), "ASAN_OPTIONS": f"suppressions={self.suppressions}"}

    def start_ibsim(self, net):
        """Every port is dark and has no LID."""
        folder = self.folder(self.rig)
        if self.rig == "fmsim":
            self.ibsim = Fmsim(folder, net, program("fmd").parent, poll, end_process, self.sim_options)
        else:
            self.ibsim = Ibsim(folder, net)
        try:
            self.ibsim.start()
        except BaseException:
            self.ibsim.stop()
            raise

    def start_fmd(self, host=None, before=None, library=None, **variables):
        """before: run in the process before it becomes fmd, as subprocess has it. library: to preload, with what it takes from its environment."""
        environment = {**self.environment(host), **{name: str(value) for name, value in variables.items()}}
        if library:
            environment["LD_PRELOAD"] = f"{library} {environment['LD_PRELOAD']}"
        with open(self.log, "a") as log:
            self.fmd = subprocess.Popen([program("fmd"), "-c", self.conf], stdout=log, stderr=log,
                                        cwd=self.folder("fmd"), env=environment, preexec_fn=before)

    def stop_fmd(self, how=signal.SIGTERM):
        """Its exit status."""
        status = end_process(self.fmd, how)
        self.fmd = None
        return status

    def stop(self):
        if self in running:
            running.remove(self)
        try:
            if self.fmd:
                assert self.stop_fmd() == 0, f"fmd did not end with 0:\n{tail(self.log)}"
        finally:
            if not self.shared:
                self.ibsim.stop()

    def restart_ibsim(self):
        """Every port forgets its LID, every switch its tables. fmd must have ended."""
        net = self.ibsim.net
        self.ibsim.stop()
        self.start_ibsim(net)

    def console(self, *commands):
        """Runs commands of ibsim's console, several at one stroke."""
        return self.ibsim.command(*commands) if len(commands) == 1 else self.ibsim.commands(commands)

    def run(self, *command, host=None, check=True, timeout=DEADLINE_S):
        """A tool at a node of the simulated fabric (`H-..`; the first of the file when None)."""
        folder = self.folder(pathlib.Path(command[0]).name)
        if command[0] == "saquery" and "-t" not in command:  # by itself it gives up after a second
            command = (command[0], "-t", SAQUERY_MS, *command[1:])
        process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, cwd=folder, env=self.environment(host))
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            end_process(process)
            raise AssertionError(f"{' '.join(map(str, command))}: no end within {timeout} s") from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
        assert not check or done.returncode == 0, f"{done.args}: {done.returncode}\n{out}{err}"
        return done

    def saquery_heard(self, *arguments, host=None, patience_ms=SAQUERY_MS):
        """(saquery once fmd heard of its request, how many were lost before): it sends that once, and a fabric may lose it."""
        for lost in range(ASKINGS):
            heard = self.status()["sa"]["requests"]
            done = self.run("saquery", "-t", patience_ms, *arguments, host=host, check=False, timeout=120)
            if self.status()["sa"]["requests"] != heard:
                break
        return done, lost

    def set_smp(self, node, attribute, modifier, data):
        """Sets an attribute of a node behind fmd's back, as if by its own console; the node need not be linked."""
        self.run(sys.executable, pathlib.Path(__file__).with_name("smp.py"), attribute, modifier, data.hex(), host=node)

    def get_smp(self, node, attribute, modifier=0):
        done = self.run(sys.executable, pathlib.Path(__file__).with_name("smp.py"), attribute, modifier, host=node)
        return bytes.fromhex(done.stdout)

    def lose_tables(self, switch):
        """As a switch does that was switched off and on."""
        info = bytearray(self.get_smp(switch, SWITCH_INFO))
        top = int.from_bytes(info[6:8], "big")
        for block in range(top // LFT_BLOCK + 1):
            self.set_smp(switch, LINEAR_FORWARDING_TABLE, block, bytes([NO_ROUTE] * LFT_BLOCK))
        info[6:8] = bytes(2)
        self.set_smp(switch, SWITCH_INFO, 0, info)

    # ---- fmctl

    def fmctl(self, *arguments, check=True):
        done = subprocess.run([program("fmctl"), "-s", self.socket, "--timeout", str(DEADLINE_S), *map(str, arguments)],
                              capture_output=True, text=True, timeout=2 * DEADLINE_S, cwd=self.scratch)
        assert not check or done.returncode == 0, f"fmctl {arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def ask(self, *arguments):
        return json.loads(self.fmctl("--json", *arguments).stdout)

    def status(self):
        """None while fmd's socket does not answer. What waits asks for it again and again: by the socket, without a process of fmctl."""
        assert self.fmd.poll() is None, f"fmd ended with {self.fmd.returncode}:\n{tail(self.log)}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
            try:
                control.connect(str(self.socket))
                control.settimeout(DEADLINE_S)
                control.sendall(b'{"cmd": "status", "args": {}}\n')
                answer = json.loads(control.makefile().readline() or "null")
            except (FileNotFoundError, ConnectionError):  # of one that was killed, a child may hold it for a moment
                return None
        assert answer is None or answer["ok"], f"status: {answer['error']}\n{tail(self.log)}"
        return answer and answer["result"]

    def wait(self, condition, what, deadline_s=DEADLINE_S):
        """The first status for which condition(status) holds."""
        last = None

        def holds():
            nonlocal last
            last = self.status() or last
            return last if last and condition(last) else None

        try:
            return poll(holds, what, deadline_s)
        except AssertionError as late:
            raise AssertionError(f"{late}; the last status was {last}") from None

    def wait_up(self, condition=lambda status: True, what="the fabric is up", deadline_s=DEADLINE_S):
        return self.wait(lambda s: s["state"] == "up" and condition(s), what, deadline_s)

    def lids(self):
        """LID by node GUID."""
        return {node["guid"]: node["lid"] for node in self.ask("nodes")}

    def dump(self, folder="dump"):
        """Folder with OpenSM's files, made anew."""
        target = self.scratch / folder
        self.fmctl("dump", target)
        return target

    def tables(self):
        """All forwarding tables, as text."""
        return (self.dump() / "opensm-lfts.dump").read_text()

    # ---- What state_dir has

    def state_copy(self, folder="state-copy"):
        """state.db and its -wal as they are on disk at one moment; a folder, made anew. It works while fmd runs."""
        target, files = self.scratch / folder, [self.state_dir / name for name in ("state.db", "state.db-wal")]

        def looks():
            return [(path.stat().st_mtime_ns, path.stat().st_size) if path.exists() else None for path in files]

        def copied():
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir()
            before = looks()
            for path in files:
                if path.exists():
                    shutil.copy(path, target)
            return looks() == before

        poll(copied, "state.db stands still")
        return target

    def kinds(self, *names):
        """{kind: {key: value}} of these kinds, of all that there are where none is named: as they are on disk."""
        where = f"WHERE kind IN ({', '.join('?' * len(names))})" if names else ""
        found = {name: {} for name in names}
        if not (self.state_dir / "state.db").exists():
            return found
        with contextlib.closing(sqlite3.connect(self.state_copy() / "state.db")) as copy:
            if not copy.execute("SELECT 1 FROM sqlite_master WHERE name = 'state'").fetchall():
                return found
            for kind, key, value in copy.execute(f"SELECT kind, key, value FROM state {where} ORDER BY kind, key", names):
                found.setdefault(kind, {})[key] = value
        return found

    def rows(self, kind):
        """{key: value} of that kind, as it is on disk; also while fmd runs."""
        return self.kinds(kind)[kind]

    def was_kept(self, kind):
        """Whether rows of that kind were ever kept; there need be none any more."""
        return kind in self.rows("kinds")

    def change_database(self, *statements):
        """Statements, each with its values, on state.db of an fmd that has ended."""
        assert not self.fmd, "it has the database open"
        with contextlib.closing(sqlite3.connect(self.state_dir / "state.db", isolation_level=None)) as database:
            for statement in statements:
                database.execute(*statement)

    def edit_row(self, kind, key, value):
        """As an operator does, with the sqlite3 shell: a row without a sum; value None: it is deleted. fmd has ended."""
        if value is None:
            self.change_database(("DELETE FROM state WHERE kind = ? AND key = ?", (kind, key)))
        else:
            self.change_database(("INSERT OR REPLACE INTO state(kind, key, value) VALUES(?, ?, ?)", (kind, key, value)))

    def spoil_row(self, kind, key, value):
        """Another value than its sum is of. fmd has ended."""
        self.change_database(("UPDATE state SET value = ? WHERE kind = ? AND key = ?", (value, kind, key)))

    def logs(self):
        return [("fmd's log", tail(self.log)), (f"{self.rig}'s log", tail(self.ibsim.log, NOISE))]

    # ---- What ibsim itself holds

    PORT = re.compile(r'^([0-9a-f]+)\t\[(\d+)\]\t*(?:"([^"]+)"\[(\d+)\])?(.*?) (\S+)/(\S+?)(?:\t# .*)?$')
    NODE = re.compile(r'^(Switch|Ca|Hca|Router) (\d+) "([^"]+)"')

    ENTRY = re.compile(r"\[(\d+)\]([0-9A-F]+)")

    def simulated(self, node=None):
        """Ports by (node id, port number), of the simulator: peer, state, physical state, LID."""
        if self.rig == "fmsim":
            return {end: port for end, port in self.ibsim.state()[0].items() if node in (None, end[0])}
        return self.parse_dump(self.console(f'Dump "{node}"' if node else "Dump"))[0]

    def simulated_tables(self):
        """(ports as above, forwarding tables by switch: {LID: port}), as the simulator holds them."""
        if self.rig == "fmsim":
            return self.ibsim.state()[:2]
        return self.parse_dump(self.console("Dump"))

    def parse_dump(self, text):
        ports, tables, at = {}, {}, None
        for line in text.splitlines():
            if found := self.NODE.match(line):
                at = found.group(3)
            elif line.startswith("#\tForwarding table"):
                entries = self.ENTRY.findall(line)
                tables.setdefault(at, {}).update((int(lid), int(port, 16)) for lid, port in entries)
            elif at and (found := self.PORT.match(line)):
                _, num, peer, peer_port, rest, state, physical = found.groups()
                lid = re.search(r"\blid (\d+)", rest)
                ports[at, int(num)] = {"peer": (peer, int(peer_port)) if peer and peer != "Sma Port" else None,
                                       "state": state, "physical": physical, "lid": int(lid.group(1)) if lid else None}
        return ports, tables

    def dark_links(self):
        """Cabled ports of the simulator that are not Active."""
        return {end: port for end, port in self.simulated().items() if port["peer"] and port["state"] != "Active"}

    def pairs_reached(self):
        """(pairs of adapters of which the first reaches the second, all pairs), by following ibsim's own tables.

        Aggregation nodes are none: a pair of them may be left without a path by damage that no host feels."""
        ports, tables = self.simulated_tables()
        special = aggregation_nodes(self.ibsim.net)
        ends = {end: port for end, port in ports.items()
                if port["lid"] and port["peer"] and end[0].startswith("H-") and end[0] not in special}
        reached = 0
        for target, port in ends.items():
            arrives = reaches(port["lid"], target, ports, tables)
            reached += sum(1 for end, port in ends.items() if end != target and arrives.get(port["peer"][0]))
        return reached, len(ends) * (len(ends) - 1)


def aggregation_nodes(net):
    """Node ids of the SHARP endpoints inside switches, by their description."""
    return set(re.findall(r'^C[aA]\s+\d+\s+"([^"]+)"\s*# "[^"]*Aggregation Node"', pathlib.Path(net).read_text(), re.M))


def reaches(lid, target, ports, tables):
    """By switch: whether packets to the LID get from there to the target port. A loop is a no."""
    arrives = {}
    for begin in tables:
        way, at = [], begin
        while at not in arrives:
            arrives[at] = False  # until the way is known: coming back here is a loop
            way.append(at)
            peer = ports.get((at, tables[at].get(lid, NO_ROUTE)), {"peer": None})["peer"]
            if not peer or peer == target:
                arrives[at] = peer == target
                break
            if peer[0] not in tables:  # somebody else's adapter
                break
            at = peer[0]
        for switch in way:
            arrives[switch] = arrives[at]
    return arrives
