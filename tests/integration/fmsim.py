# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""fmsim as a rig for the tests, beside ibsim (fabric.py): what tests say to ibsim's console is said to fmsim in its own words.

Unlink, Link, Relink, Clear, Error and PerformanceSet are understood as tests use them: what was cleared has forgotten all, and is without cables till Relink. As there a trap is sent once.
"""
import itertools
import os
import pathlib
import re
import socket
import subprocess

counter = itertools.count(1)

NODE = re.compile(r'^node (\S+) (switch|adapter) (on|off) "(.*)"$')
PORT = re.compile(r"^port (\d+) (\S+) (\S+) (\d+) (in|out)(?: (\S+) (\d+))?$")
COUNTERS = {"SymbolErrorCounter": "symbol_errors", "LinkErrorRecoveryCounter": "link_recovered",
            "LinkDownedCounter": "link_downed", "PortRcvErrors": "rcv_errors", "PortXmitWait": "xmit_wait",
            "PortXmitDiscards": "xmit_discards", "PortXmitData": "xmit_data", "PortRcvData": "rcv_data"}
# ibsim drops that share of what comes to a node; a cable loses MADs both ways, and each passes several.
CABLES_A_WAY = 4


class Fmsim:
    """The simulator with its socket."""
    device = "mlx5_0"

    def __init__(self, scratch, net, folder, poll, end_process, options=()):
        self.scratch, self.net = scratch, pathlib.Path(net).resolve()
        self.program, self.library = folder / "fmsim", folder / "libfmsim-umad.so"
        self.poll, self.end_process, self.options = poll, end_process, options
        self.log = scratch / "fmsim.log"
        self.name = f"/tmp/fmsim-{os.getpid()}-{next(counter)}"  # a socket's path is short
        self.process = self.peer = None
        self.counts = {}

    def environment(self, host):
        environment = {"FMSIM": self.name, "LD_PRELOAD": str(self.library)}
        return {**environment, "FMSIM_NODE": host} if host else environment

    def start(self):
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([self.program, "-c", self.name, "--device", "0us", "--trap-repeats", "0", *self.options, self.net], stdout=log,
                                            stderr=log, cwd=self.scratch)
        self.poll(self.listens, "fmsim listens")
        self.peer = socket.socket(socket.AF_UNIX)
        self.peer.connect(self.name)
        self.answers = self.peer.makefile("r", errors="replace")

    def listens(self):
        assert self.process.poll() is None, f"fmsim ended with {self.process.returncode}:\n{self.log.read_text()}"
        return "ready" in self.log.read_text()

    def tell(self, line):
        """A line in its own words; what it answers."""
        self.peer.sendall(f"{line}\n".encode())
        said = []
        for answer in self.answers:
            if answer == "ok\n":
                return "".join(said)
            assert not answer.startswith("error:"), f"{line}: {answer}"
            said.append(answer)
        raise AssertionError(f"fmsim ended: {line}")

    def state(self):
        """(ports by (node id, number), tables by switch, {node id: on}) as ibsim's Dump is read."""
        ports, tables, power, at = {}, {}, {}, None
        for line in self.tell("state").splitlines():
            if found := NODE.match(line):
                at = found[1]
                power[at] = found[3] == "on"
            elif found := PORT.match(line):
                num, state, physical, lid, cable, peer, peer_port = found.groups()
                there = peer and cable == "in"
                ports[at, int(num)] = {"peer": (peer, int(peer_port)) if there else None, "state": state,
                                       "physical": physical, "lid": int(lid) or None,
                                       "cable": (peer, int(peer_port)) if peer else None, "out": cable == "out"}
            elif line.startswith("lft") and at:
                tables[at] = {int(lid): int(port) for lid, port in (e.split(":") for e in line.split()[1:])}
        for (node, _), port in ports.items():
            if port["peer"] and not (power[node] and power[port["peer"][0]]):
                port["peer"] = None
        return ports, tables, power

    # ---- ibsim's console

    def command(self, text):
        return self.commands([text])

    def commands(self, texts):
        for text in texts:
            for line in self.own_words(text):
                self.tell(line)
        return ""

    def own_words(self, text):
        name, *words = re.findall(r'"[^"]+"(?:\[\d+\])?|\S+', text) or ["#"]
        ends = [re.match(r'"([^"]+)"(?:\[(\d+)\])?$', word) for word in words]
        ends = [(end[1], end[2] and int(end[2])) for end in ends if end]
        if name in ("#", "X"):  # the server sees by itself that a client's process is gone
            return []
        return getattr(self, f"do_{name.lower()}")(ends, words)

    def cables_of(self, node, num, out):
        """Port numbers with a cable that is in or out."""
        return [n for (at, n), port in self.state()[0].items()
                if at == node and num in (None, n) and port["cable"] and port["out"] == out]

    def do_unlink(self, ends, _):
        node, num = ends[0]
        return [f"unlink {node}:{n}" for n in self.cables_of(node, num, False)]

    def do_link(self, ends, _):
        (one, one_num), (two, two_num) = ends
        ports = self.state()[0]
        if ports.get((one, one_num), {}).get("cable") == (two, two_num):
            return [f"link {one}:{one_num}"]
        return [f"link {one}:{one_num} {two}:{two_num}"]

    def do_clear(self, ends, _):
        node = ends[0][0]
        return [f"node off {node}", *self.do_unlink([(node, None)], None), f"node on {node}"]

    def do_relink(self, ends, _):
        node, num = ends[0]
        return [f"link {node}:{n}" for n in self.cables_of(node, num, True)]

    def do_error(self, ends, words):
        node, num = ends[0]
        share = float(words[1])
        if not num:
            share /= CABLES_A_WAY
        ports = [n for (at, n), port in self.state()[0].items() if at == node and num in (None, n) and port["cable"]]
        return [f"lose {node}:{n} {f'{share}%' if share else 'off'}" for n in ports]

    def do_performanceset(self, ends, words):
        node, num = ends[0]
        field, value = words[1].split("=")
        key = node, num, COUNTERS[field.split(".")[1]]
        added, self.counts[key] = int(value) - self.counts.get(key, 0), int(value)
        return [f"count {node}:{num} {key[2]} {added}"]

    def stop(self):
        if self.peer:
            self.answers.close()
            self.peer.close()
        if self.process:
            self.end_process(self.process)
        self.process = self.peer = None
