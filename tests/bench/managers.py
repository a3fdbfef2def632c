# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Several subnet managers on one simulated fabric (fmsim), and what hosts and switches have of it: what interop.py, kills.py, forged.py and takeover.py share.

A Manager runs at a node, its log is read as it comes, so that a moment of its life is known to some milliseconds. Books is a client of the SA at a host
that registers, and reads back what is registered; Paths is one that asks for paths without end. All are processes of a World.
"""
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import time

import sa
import world as w

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))
import fabric  # noqa: E402

LIMIT_S = 180
UP = r"fabric: up:"
BLOCK = 64
ports = iter(random.Random().sample(range(12000, 32000), 1000))


def free_port():
    """Below the ports that connections get, so none takes it before who asked for it listens there; another each time."""
    for port in ports:
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("no free port")


def secret(world):
    path = pathlib.Path(world.folder("psk")) / "psk"
    path.write_text("00112233445566778899aabbccddeeff\n")
    path.chmod(0o600)
    return path


def until(holds, what, limit_s=LIMIT_S, every_s=0.02):
    """The first true value of holds()."""
    end = time.time() + limit_s
    while True:
        value = holds()
        if value:
            return value
        if time.time() > end:
            raise w.BenchError(f"not within {limit_s} s: {what}")
        time.sleep(every_s)


# ---- Managers

class Fmd:
    """At a node. With peers it copies, and is copied by, the others of `ports`, of which the first is its own."""
    kind = "fmd"

    def __init__(self, world, sim, node, ports=(), psk=None, **conf):
        self.dir, self.world, self.sim, self.node = world.folder("fmd"), world, sim, node
        self.socket, self.path = os.path.join(self.dir, "fmd.sock"), os.path.join(self.dir, "fmd.conf")
        self.state_dir = os.path.join(self.dir, "state")
        self.environment = {**os.environ, **sim.at(node)}
        self.environment.pop("NOTIFY_SOCKET", None)
        self.process = self.log = None
        self.frozen = False
        self.conf = {"state_dir": self.state_dir, "socket": self.socket, "sa_rate_limit": 0, **conf}
        if ports:
            self.conf.update(peer_listen=f"127.0.0.1:{ports[0]}", peers=" ".join(f"127.0.0.1:{port}" for port in ports[1:]), peer_psk_file=str(psk))
        self.configure()

    def configure(self, **conf):
        self.conf.update(conf)
        self.write("".join(f'{key} = "{value}";\n' if isinstance(value, str) else f"{key} = {value};\n" for key, value in self.conf.items()))

    def write(self, text):
        """At once: a manager that starts may be reading it."""
        with open(self.path + ".new", "w") as out:
            out.write(text)
        os.replace(self.path + ".new", self.path)

    def start(self):
        self.process = self.world.start([self.world.fmd, "-c", self.path], cwd=self.dir, env=self.environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.log = w.Lines(self.process.stderr)

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def stamps(self, pattern, after=0):
        """When lines of its log came."""
        wanted = re.compile(pattern)
        return [when for when, line in self.log.lines if when >= after and wanted.search(line)] if self.log else []

    def ask(self, *command, limit_s=120):
        """What fmctl answers; None where it does not, or says no."""
        run = subprocess.run([self.world.fmctl, "-s", self.socket, "--timeout", str(limit_s), "--json", *map(str, command)], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, timeout=2 * limit_s)
        self.refusal = run.stderr.decode().strip()
        return json.loads(run.stdout) if not run.returncode else None

    def status(self):
        return self.ask("status") if self.runs() and not self.frozen else None

    def wait(self, holds, what, limit_s=LIMIT_S):
        def seen():
            if not self.runs():
                raise w.BenchError(f"{what}: fmd at {self.node} ended: {self.log.tail()}")
            status = self.status()
            return status if status and holds(status) else None

        return until(seen, f"{what}; fmd at {self.node}: {self.log.tail()}", limit_s)

    def is_master(self):
        status = self.status()
        return bool(status) and status["sm"] == "master" and status["state"] == "up"

    def stands_by(self):
        status = self.status()
        return bool(status) and status["sm"] == "standby"

    def master_since(self, after):
        """When it had all as wanted as master, of what came after that moment."""
        turned = self.stamps("sm: now master", after)
        return next(iter(self.stamps(UP, turned[0])), None) if turned else None

    def tell(self, number):
        self.frozen = number == signal.SIGSTOP
        self.process.send_signal(number)

    def forget(self):
        """The process has ended."""
        self.process.wait(30)
        self.world.processes.remove(self.process)
        self.process = None

    def end(self, number=signal.SIGTERM):
        if self.runs():
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
        if self.process:
            self.forget()


class Opensm(Fmd):
    """With ftree; it asks for its master's life as fmd does by default, and sweeps often, for its own interval is ten seconds."""
    kind = "OpenSM"
    DEFAULTS = {"routing_engine": "ftree", "sminfo_polling_timeout": 1000, "polling_retry_number": 3, "sweep_interval": 2,
                "log_max_size": 256}  # MB: without its simulator it tells of nothing else, a million times a second

    def __init__(self, world, sim, node, ports=(), psk=None, **conf):
        super().__init__(world, sim, node, **conf)
        self.file = os.path.join(self.dir, "osm.log")
        self.environment.update(OSM_TMP_DIR=self.dir, OSM_CACHE_DIR=self.dir, TZ="UTC")

    def configure(self, **conf):
        self.conf.update(conf)
        words = {key: value for key, value in self.conf.items() if key not in ("state_dir", "socket", "sa_rate_limit")}
        self.path = w.write_opensm_conf(self.dir, **{**self.DEFAULTS, **words})

    def start(self):
        self.started = time.time()
        self.process = self.world.start(["opensm", "-F", self.path, "-f", self.file, "-d2"], cwd=self.dir, env=self.environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stamps(self, pattern, after=0):
        wanted = re.compile(pattern)
        try:
            with open(self.file, errors="replace") as lines:
                found = [w.stamp_of(line, self.started) for line in lines if wanted.search(line)]
        except OSError:
            return []
        return [when for when in found if when and when >= after]

    def state(self):
        turned = [(when, state) for state in ("MASTER", "STANDBY", "DISCOVERING") for when in self.stamps(f"Entering {state} state")]
        return max(turned)[1] if turned and self.runs() else None

    def is_master(self):
        turned = self.stamps("Entering MASTER state")
        return self.state() == "MASTER" and bool(self.stamps("SUBNET UP", turned[-1]))

    def stands_by(self):
        return self.state() == "STANDBY"

    def status(self):
        return None

    def wait(self, holds, what, limit_s=LIMIT_S):
        raise w.BenchError("OpenSM has no status")

    def master_since(self, after):
        turned = self.stamps("Entering MASTER state", after)
        return next(iter(self.stamps("SUBNET UP", turned[0])), None) if turned else None

    def end(self, number=signal.SIGTERM):
        if self.runs():
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
        if self.process:
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
            self.forget()


# ---- Clients

class Client:
    """A process at a host that is told by lines of JSON, and answers by them."""

    def __init__(self, world, sim, node, program, *arguments):
        self.world = world
        self.process = world.start([sys.executable, os.path.join(HERE, program), *map(str, arguments)], env={**os.environ, **sim.at(node)},
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise w.BenchError(f"{program} does not start at {node}")

    def ask(self, **words):
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise w.BenchError("a client ended")
        return json.loads(line)

    def finish(self):
        """What it says behind the end of its input."""
        said = self.process.communicate(timeout=LIMIT_S)[0]
        self.world.processes.remove(self.process)
        return said


class Books(Client):
    """Registers for any port, and reads what is registered."""

    def __init__(self, world, sim, node, sa_key=1):
        super().__init__(world, sim, node, "sa_books.py", sa_key)

    def do(self, **words):
        """Until it is answered with success."""
        return until(lambda: (answer := self.ask(**words))["ok"] and answer, f"the SA does {words}")

    def read(self):
        """{"members": .., "services": .., "subscriptions": ..}: a set each; None while the SA does not answer all three."""
        answer = self.ask(do="read")
        return {key: {tuple(row) for row in answer[key]} for key in ("members", "services", "subscriptions")} if answer["ok"] else None

    def read_all(self):
        return until(self.read, "the SA tells what is registered")


class Paths(Client):
    """Asks for paths from its port, RATE a second, each patient for TRY_MS and sent TRIES times."""

    def __init__(self, world, sim, node, own, others, rate, try_ms, tries):
        super().__init__(world, sim, node, "sa_paths.py", rate, try_ms, tries, ",".join([own, *others]))

    def samples(self):
        """[(when it was sent, microseconds that it took; -1 = never answered with a path)]"""
        return sorted((float(sent), int(us)) for sent, us in (line.split() for line in self.finish().splitlines()))


# ---- The fabric

def tables(sim):
    """({switch: {LID: port}}, {(node, port): LID} of ports that have one and are not down), as the devices hold them."""
    lfts, lids, node = {}, {}, None
    for line in sim.tell("state").splitlines():
        words = line.split()
        if words[0] == "node":
            node = words[1] if words[3] == "on" else None
        elif node and words[0] == "port" and words[4] != "0" and words[3] == "LinkUp":
            lids[node, int(words[1])] = int(words[4])
        elif node and words[0] == "lft":
            lfts[node] = dict(tuple(map(int, entry.split(":"))) for entry in words[1:])
    return lfts, lids


def cables(sim):
    """[(switch, port, other node, its port)], each once."""
    found, node = [], None
    for line in sim.tell("state").splitlines():
        words = line.split()
        if words[0] == "node":
            node = words[1]
        elif words[0] == "port" and len(words) == 8 and node.startswith("S-") and not (words[6].startswith("S-") and words[6] < node):
            found.append((node, int(words[1]), words[6], int(words[7])))
    return found


def changed(before, after):
    """(entries, blocks) of the tables, and LIDs of ports that are up in both."""
    entries, blocks = 0, set()
    for switch in before[0].keys() & after[0].keys():
        one, two = before[0][switch], after[0][switch]
        for lid in one.keys() | two.keys():
            if one.get(lid, 255) != two.get(lid, 255):
                entries += 1
                blocks.add((switch, lid // BLOCK))
    return entries, len(blocks), sum(before[1][end] != after[1][end] for end in before[1].keys() & after[1].keys())


def hosts(netfile):
    """[(node, GUID of its port)] of adapters in machines."""
    special = fabric.aggregation_nodes(netfile)
    return [(node, guid) for node, guid in zip(*sa.hosts(netfile)) if node not in special]
