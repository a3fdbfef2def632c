# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The processes under measurement: a simulated fabric, and a subnet manager on it.

Both managers are started the same way: on a fresh ibsim whose links are all dark, with nothing remembered from an
earlier run, behind the library that counts what they send (count_umad.c). A World owns the scratch folder and every
process; close() ends them by their ids.

Times are wall-clock seconds from the moment before the manager's process is made. fmd's lines are stamped when they
arrive through a pipe; OpenSM stamps its own log lines, to the microsecond.
"""
import calendar
import contextlib
import glob
import argparse
import json
import mmap
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

SMP_CLASSES = (0x01, 0x81)
GET, SET = 0x01, 0x02
SWITCH_INFO, PORT_INFO = 0x12, 0x15
DUMP_LIMIT_S = 120
COUNTER = struct.Struct("=IIQQ")  # struct counter of count_umad.c


class BenchError(Exception):
    """Something that makes a measurement impossible; the rows of the section are left out and the reason is said."""


class OutOfTime(Exception):
    """The time limit of what is being measured is over. No section catches it."""


@contextlib.contextmanager
def within(limit_s):
    """What is done here is ended by OutOfTime when it takes longer. Main thread only, not nested."""
    def over(*_):
        raise OutOfTime(f"not done within {limit_s:.0f} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Lines(threading.Thread):
    """Lines of a pipe with the time each arrived; reads on until the end, so that the writer never blocks."""

    def __init__(self, pipe):
        super().__init__(daemon=True)
        self.pipe, self.lines, self.ended = pipe, [], False
        self.arrived = threading.Condition()
        self.start()

    def run(self):
        for raw in self.pipe:
            now = time.time()
            with self.arrived:
                self.lines.append((now, raw.decode(errors="replace").rstrip("\n")))
                self.arrived.notify_all()
        with self.arrived:
            self.ended = True
            self.arrived.notify_all()

    def wait(self, pattern, limit_s):
        """(time, match) of the first line that matches; BenchError when none came."""
        until, seen, wanted = time.time() + limit_s, 0, re.compile(pattern)
        with self.arrived:
            while True:
                for when, line in self.lines[seen:]:
                    match = wanted.search(line)
                    if match:
                        return when, match
                seen = len(self.lines)
                if self.ended or time.time() >= until:
                    raise BenchError(f"no {pattern!r}; last words: {self.tail()}")
                self.arrived.wait(until - time.time())

    def tail(self):
        return " | ".join(line for _, line in self.lines[-3:]) or "none"


class Counts:
    """What a process has sent, by class, method and attribute."""

    def __init__(self, path):
        self.path = path

    def read(self):
        """{(class, method, attribute): (sent, time of the last)}"""
        table = {}
        try:
            with open(self.path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
                for key, _, sent, last_ns in COUNTER.iter_unpack(data[:]):
                    if key:
                        mgmt_class = key >> 24 & 0x3f | (key >> 24 & 0x40) << 1
                        table[mgmt_class, key >> 16 & 0xff, key & 0xffff] = sent, last_ns / 1e9
        except (OSError, ValueError):
            raise BenchError(f"{self.path}: the counting library did not run") from None
        return table

    def smps(self):
        return sum(sent for (mgmt_class, _, _), (sent, _) in self.read().items() if mgmt_class in SMP_CLASSES)

    def sent(self, method, attribute):
        return sum(sent for (c, m, a), (sent, _) in self.read().items()
                   if c in SMP_CLASSES and (m, a) == (method, attribute))

    def last(self, method, attribute):
        """When the last such SMP was sent; 0 = none was."""
        return max((last for (c, m, a), (_, last) in self.read().items()
                    if c in SMP_CLASSES and (m, a) == (method, attribute)), default=0)


class World:
    """Scratch folder, programs and processes of one run of the benchmarks."""

    def __init__(self, bin_dir):
        self.dir = tempfile.mkdtemp(prefix="fmd-bench-")
        self.fmd, self.fmctl = (os.path.join(bin_dir, name) for name in ("fmd", "fmctl"))
        self.processes, self.count = [], 0
        self.engines = []  # by which each OpenSM that has ended had routed
        self.umad2sim = (sorted(glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")) or [None])[0]
        self.counter = os.path.join(self.dir, "count_umad.so")
        here = os.path.dirname(os.path.abspath(__file__))
        subprocess.run([os.environ.get("CC", "gcc"), "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC",
                        "-I", os.path.dirname(os.path.dirname(here)), "-o", self.counter,
                        *glob.glob(os.path.join(here, "count_*.c")), "-ldl"], check=True)

    def folder(self, name):
        self.count += 1
        path = os.path.join(self.dir, f"{self.count:03d}-{name}")
        os.mkdir(path)
        return path

    def start(self, argv, **options):
        process = subprocess.Popen(argv, **options)
        self.processes.append(process)
        return process

    def stop(self, process, grace_s=10):
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            try:
                process.wait(grace_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.remove(process)

    def stop_all(self):
        """What a measurement that was broken off has left."""
        for process in list(reversed(self.processes)):
            self.stop(process, grace_s=3)

    def close(self):
        self.stop_all()
        shutil.rmtree(self.dir, ignore_errors=True)

    def generate(self, name, arguments):
        """An ibnetdiscover file of a reference fabric, made once a run."""
        path = os.path.join(self.dir, f"{name}.net")
        if not os.path.exists(path):
            with open(path, "wb") as out:
                subprocess.run([self.fmctl, "generate", *arguments], stdout=out, check=True)
        return path


class Ibsim:
    """A fabric of the file, all links in Init. Its console is how we know what the ports really are."""
    kind = "ibsim"

    def __init__(self, world, netfile):
        self.world, self.name = world, f"fmd-bench-{os.getpid()}-{world.count}"
        self.process = world.start(
            ["ibsim", "-s", "-N", "60000", "-S", "4000", "-P", "400000", "-L", "49151", "-M", "1024", netfile],
            cwd=world.folder("ibsim"), env={**os.environ, "IBSIM_SOCKNAME": self.name}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.library, self.environment = world.umad2sim, {"IBSIM_SOCKNAME": self.name}
        if not self.library:
            raise BenchError("libumad2sim.so is missing (package libumad2sim0)")
        try:
            self._wait_ready(120)
        except BenchError:
            self.close()
            raise

    def _wait_ready(self, limit_s):
        until = time.time() + limit_s
        while f"@{self.name}:out9@" not in open("/proc/net/unix").read():
            if self.process.poll() is not None or time.time() > until:
                raise BenchError("ibsim does not start")
            time.sleep(0.02)

    def say(self, *commands):
        """Lines of ibsim's console."""
        self.process.stdin.write("".join(f"{command}\n" for command in commands).encode())
        self.process.stdin.flush()

    def at(self, node):
        """Environment of sim_port's programs at that node: they speak to ibsim's sockets themselves."""
        return {**self.environment, "SIM_HOST": node}

    def links(self):
        """{state name: port ends in it}, of all ports with a cable, from ibsim itself."""
        self.process.stdin.write(b"Dump\n")
        self.process.stdin.flush()
        limit = threading.Timer(DUMP_LIMIT_S, self.process.kill)
        limit.start()
        try:
            return self._dumped()
        finally:
            limit.cancel()

    def _dumped(self):
        states = {}
        for line in self.process.stdout:
            if line.startswith(b"#  dumped"):
                return states
            line = line.split(b"\t#")[0].rstrip()  # a port that loses packets says so behind it
            if not line.startswith(b"#") and line.endswith(b"/LinkUp") and b'"Sma Port"' not in line:
                state = line.split()[-1].split(b"/")[0].decode()
                states[state] = states.get(state, 0) + 1
        raise BenchError("ibsim died")

    def cpu_s(self):
        return cpu_s(self.process.pid)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.world.stop(self.process)


class Fmsim:
    """The same in fmsim, where a device works so long at one SMP."""
    kind = "fmsim"

    def __init__(self, world, netfile, device=None):
        folder = world.folder("fmsim")
        self.world, self.name = world, os.path.join(folder, "s")
        self.program = os.path.join(os.path.dirname(world.fmd), "fmsim")
        self.library = os.path.join(os.path.dirname(os.path.abspath(world.fmd)), "libfmsim-umad.so")
        self.environment = {"FMSIM": self.name}
        self.process = world.start([self.program, "-c", self.name, "-d", device or os.environ.get("BENCH_DEVICE", "20us"), netfile],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if self.process.stdout.readline() != b"ready\n":
            raise BenchError("fmsim does not start")
        self.peer = socket.socket(socket.AF_UNIX)
        self.peer.settimeout(DUMP_LIMIT_S)
        self.peer.connect(self.name)
        self.answers = self.peer.makefile("r", errors="replace")

    def tell(self, line):
        """A line in its own words; what it answers."""
        self.peer.sendall(f"{line}\n".encode())
        said = []
        for answer in self.answers:
            if answer == "ok\n":
                return "".join(said)
            if answer.startswith("error:"):
                raise BenchError(f"fmsim: {line}: {answer}")
            said.append(answer)
        raise BenchError("fmsim ended")

    def say(self, *commands):
        """Lines of ibsim's console, as far as the sections say any."""
        for command in commands:
            name, *ends = re.findall(r'^\w+|"[^"]+"(?:\[\d+\])?', command)
            first = re.match(r'"([^"]+)"(?:\[(\d+)\])?', ends[0])
            if name == "Clear":
                self.tell(f"node off {first[1]}")
            elif name in ("Link", "Unlink"):
                self.tell(f"{name.lower()} {first[1]}:{first[2]}")
            else:
                raise BenchError(f"fmsim has no word for {command}")

    def at(self, node):
        return {**self.environment, "FMSIM_NODE": node, "LD_PRELOAD": self.library}

    def busiest_s(self):
        """How long the busiest device has worked at SMPs."""
        found = re.search(r"the busiest ([0-9.]+) s", self.tell("times"))
        return float(found[1]) if found else 0.0

    def links(self):
        """{state name: port ends in it}, of all ports with a cable."""
        said = self.tell("state")
        states = {}
        for state in re.findall(r"^port \d+ (\S+) LinkUp \d+ in ", said, re.M):
            states[state] = states.get(state, 0) + 1
        return states

    def cpu_s(self):
        return cpu_s(self.process.pid)

    def close(self):
        self.answers.close()
        self.peer.close()
        self.world.stop(self.process)
        self.process.stdout.close()


def seeds(words):
    """FIRST-LAST, or one."""
    first, _, last = words.partition("-")
    return range(int(first), int(last or first) + 1)


def finish(rows, path):
    """The end of trials: their rows go to a file, if one is named; ends with 1 where one is not "ok"."""
    if path:
        with open(path, "w") as file:
            json.dump(rows, file, indent=1)
    sys.exit(0 if all(row["ok"] for row in rows) else 1)


def parser(doc):
    """The options that programs of trials share; each adds its own."""
    options = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bin", default=os.environ.get("FMD_BIN", "build"))
    options.add_argument("--json")
    return options


def trials(options, play, shown=json.dumps):
    """Plays trials in a world of their own, as play(world) yields their rows, and prints each as it comes. Ends as finish() does."""
    world, rows = World(os.path.abspath(options.bin)), []
    try:
        for row in play(world):
            rows.append(row)
            print(shown(row), flush=True)
    finally:
        world.close()
    finish(rows, options.json)


def rig():
    """ibsim or fmsim, as RIG says."""
    return Fmsim if os.environ.get("RIG") == "fmsim" else Ibsim


def simulator(world, netfile):
    return rig()(world, netfile)


def cpu_s(pid):
    """Seconds of processor time, user and system, of all threads."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_us(pid):
    """Processor time of all threads that are there, in microseconds."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat") as stat:
            total += int(stat.read().split()[0])
    return total / 1e3


class Manager:
    """What both subnet managers share: environment, counts, memory, end. Subclasses start one and know its words."""

    def __init__(self, world, sim, name):
        self.world, self.sim, self.name = world, sim, name
        self.dir = world.folder(name)
        self.counts = Counts(os.path.join(self.dir, "smps"))
        self.environment = {**os.environ, **sim.environment, "COUNT_UMAD_FILE": self.counts.path,
                            "COUNT_UMAD_REROUTE": self.counts.path + ".reroute",
                            "LD_PRELOAD": f"{world.counter}:{sim.library}", "TZ": "UTC",
                            "OSM_TMP_DIR": self.dir, "OSM_CACHE_DIR": self.dir}
        self.environment.pop("NOTIFY_SOCKET", None)

    def launch(self, argv, **options):
        self.started = time.time()
        self.process = self.world.start(argv, cwd=self.dir, env=self.environment, stdin=subprocess.DEVNULL, **options)

    def peak_kb(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1])

    def cpu_s(self):
        return cpu_s(self.process.pid)

    def last_set_s(self):
        """From start to the last Set(PortInfo): when the last link was told to go Active."""
        return self.counts.last(SET, PORT_INFO) - self.started

    def close(self):
        self.world.stop(self.process)


class Fmd(Manager):
    def __init__(self, world, sim, settings="", state=None):
        super().__init__(world, sim, "fmd")
        self.socket = os.path.join(self.dir, "fmd.sock")
        conf = os.path.join(self.dir, "fmd.conf")
        with open(conf, "w") as out:
            out.write(f'state_dir = "{state or self.dir + "/state"}";\nsocket = "{self.socket}";\n{settings}')
        self.launch([world.fmd, "-c", conf], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.log = Lines(self.process.stderr)

    def wait_up(self, limit_s):
        """Seconds from start until fmd says that every link is Active and all tables are written."""
        return self.log.wait(r"fabric: up:", limit_s)[0] - self.started

    def ask(self, *command):
        run = subprocess.run([self.world.fmctl, "-s", self.socket, "--json", *command], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, timeout=120)
        if run.returncode:
            raise BenchError(f"fmctl {' '.join(command)}: {run.stderr.decode().strip()}")
        return json.loads(run.stdout)


MACHINES_FILES = ("partition_config_file", "qos_policy_file", "prefix_routes_file", "per_module_logging_file", "torus_config")


def write_opensm_conf(folder, **settings):
    """Path of a configuration file of OpenSM in the folder. The files that it would read from /etc/opensm are not there either."""
    path = os.path.join(folder, "opensm.conf")
    words = {**{key: os.path.join(folder, key) for key in MACHINES_FILES}, **settings}
    with open(path + ".new", "w") as out:
        out.writelines(f"{key} {value}\n" for key, value in words.items())
    os.replace(path + ".new", path)  # at once: one that starts may be reading it
    return path


class Opensm(Manager):
    """OpenSM with its defaults, but asked for ftree, and nothing of the machine's own. -d2 only flushes the lines of its log as they come."""

    def __init__(self, world, sim, engine="ftree", options=(), flush=True, cache=None, **settings):
        super().__init__(world, sim, "opensm")
        self.asked, self.ends = engine, None
        self.environment["OSM_CACHE_DIR"] = cache or self.dir
        self.log = os.path.join(self.dir, "osm.log")
        conf = write_opensm_conf(self.dir, routing_engine=engine, **settings)
        self.launch(["opensm", "-F", conf, "-f", self.log, *(("-d2",) if flush else ()), *options],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def engine(self):
        """(the engine that its last tables are of or None, why the one it was asked for gave up or "")."""
        try:
            with open(self.log, errors="replace") as log:
                text = log.read()
        except OSError:
            return None, ""
        used, why = re.findall(r"(\w+) tables configured on all switches", text), re.search(r"ERR (AB\w\w: .*)", text)
        return used[-1] if used else None, why[1].strip() if why else ""

    def close(self):
        super().close()
        engine, why = self.engine()
        if engine:
            self.world.engines.append(engine)
            if engine != self.asked:
                print(f"  OpenSM's {self.asked} gave up ({why or 'no reason in its log'}): {engine}", file=sys.stderr, flush=True)

    def stamp(self, pattern, after=0):
        """Time of the first line of the log that matches and is not older than `after`, or None."""
        wanted = re.compile(pattern)
        try:
            with open(self.log, errors="replace") as log:
                for line in log:
                    if wanted.search(line):
                        when = stamp_of(line, self.started)
                        if when and when >= after:
                            return when
        except OSError:
            pass
        return None

    def wait(self, pattern, limit_s, after=0, every_s=0.05):
        """When that line was written. Not beyond `ends`, a time of day, if there is one."""
        limit_s = min(limit_s, self.ends - time.time()) if self.ends else limit_s
        until = time.time() + limit_s
        while True:
            ended = self.process.poll() is not None
            when = self.stamp(pattern, after)
            if when:
                return when
            if ended or time.time() > until:
                raise BenchError(f"OpenSM has {'ended' if ended else f'no {pattern!r} within {max(limit_s, 0):.0f} s'}")
            time.sleep(every_s)

    def wait_up(self, limit_s):
        return self.wait("SUBNET UP", limit_s) - self.started


def stamp_of(line, near):
    """Time of an OpenSM log line (`Nov 20 23:08:19 702319 ...`, UTC, no year)."""
    try:
        year = time.gmtime(near).tm_year
        when = calendar.timegm(time.strptime(f"{year} {line[:15]}", "%Y %b %d %H:%M:%S"))
        return when + int(line[16:22]) / 1e6
    except ValueError:
        return None


def opensm_version():
    try:
        out = subprocess.run(["opensm", "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        return re.search(r"OpenSM (\S+)", out.decode())[1]
    except (OSError, TypeError):
        return None
