#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""One process that plays the exporters of thousands of hosts: it answers a request for any path with the same body of BYTES bytes.

    exporters.py BYTES       prints `listening on PORT`, then `asked N` each second: the requests so far
"""
import asyncio
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from exporter import body  # noqa: E402

asked = 0


async def serve(size):
    text = body(padding=size - len(body())).encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(text) + text

    async def client(reader, writer):
        global asked
        try:
            await reader.readuntil(b"\r\n\r\n")
            asked += 1
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
        print(f"asked {asked}", flush=True)


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
