#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""One process that plays the exporters of thousands of hosts: it answers a request for any path with the same body of BYTES bytes.

    exporters.py BYTES [S]   prints `listening on PORT`, then `asked N` each second: the requests so far

With S, those whose path ends with an odd number accept a request and never answer, and `longest G` is printed too: seconds between two requests
to one that answers, at most, from S seconds on.
"""
import asyncio
import pathlib
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from exporter import body  # noqa: E402

asked, longest, latest = 0, 0.0, {}


def note(path, began, settled_s):
    global longest
    now = time.monotonic()
    if now - began > settled_s and path in latest:
        longest = max(longest, now - latest[path])
    latest[path] = now


async def serve(size, settled_s):
    began = time.monotonic()
    text = body(padding=size - len(body())).encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(text) + text

    async def client(reader, writer):
        global asked
        try:
            path = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1]
            asked += 1
            if settled_s and int(path[-1:]) % 2:
                await reader.read()  # until it is given up
                return
            note(path, began, settled_s)
            writer.write(answer)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(client, "127.0.0.1", 0, backlog=1024)
    print(f"listening on {server.sockets[0].getsockname()[1]}", flush=True)
    while True:
        await asyncio.sleep(1)
        print(f"asked {asked} longest {longest:.2f}", flush=True)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
