# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A connection between two programs of this machine that a test can make slow, cut, or false.

    link = BadLink(target)           programs connect to link.address; both are "ADDRESS:PORT"
    link.mode = "drip"               from now on, of all connections
    link.stop()

Modes: "pass"; "late": each piece 500 ms after it came; "drip": a byte a second; "hole": what comes is lost, and
nobody is told; "garble": one bit of each piece is another; "cut": connections are closed, and new ones at once.
"""
import select
import socket
import threading
import time

from fabric import free_door, split

LATE_S = 0.5
PIECE = 65536


class BadLink:
    def __init__(self, target):
        self.target, self.mode, self.recorded = target, "pass", b""
        self.address = free_door()
        self.server = socket.create_server(split(self.address), backlog=64)
        self.ended = False
        self.pairs, self.lock = [], threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while not self.ended:
            try:
                one, _ = self.server.accept()
            except OSError:
                return
            if self.mode == "cut":
                one.close()
                continue
            try:
                two = socket.create_connection(split(self.target))
            except OSError:
                one.close()
                continue
            with self.lock:
                self.pairs.append((one, two))
            threading.Thread(target=self.carry, args=(one, two, True), daemon=True).start()
            threading.Thread(target=self.carry, args=(two, one, False), daemon=True).start()

    def carry(self, source, sink, forth):
        """Pieces on their way, oldest first, each with the moment that it is due."""
        on_way, dripped = [], 0.0
        ready = select.poll()  # select() takes no descriptor of 1024 and above
        try:
            ready.register(source, select.POLLIN)
            while not self.ended and self.mode != "cut":
                if ready.poll(20):
                    piece = source.recv(PIECE)
                    if not piece and not on_way:
                        break
                    if forth:
                        self.recorded += piece
                    if piece and self.mode != "hole":
                        on_way.append((time.monotonic() + (LATE_S if self.mode == "late" else 0), piece))
                if not on_way or on_way[0][0] > time.monotonic():
                    continue
                piece = on_way.pop(0)[1]
                if self.mode == "drip":
                    if time.monotonic() - dripped < 1:
                        on_way.insert(0, (0, piece))
                        continue
                    dripped = time.monotonic()
                    if piece[1:]:
                        on_way.insert(0, (0, piece[1:]))
                    piece = piece[:1]
                elif self.mode == "garble":
                    piece = piece[:-1] + bytes([piece[-1] ^ 0x40])
                sink.sendall(piece)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def stop(self):
        self.ended = True
        self.server.shutdown(socket.SHUT_RDWR)  # close() alone leaves accept() waiting, and its port open
        self.server.close()
        for pair in self.pairs:
            for end in pair:
                end.close()
