# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""orphan.py send|read: a client of fmsim that sends, or looks for answers, until the library says that this fails. It prints "begun", then the errno."""
import sys

from neighbour import Neighbour
from sa_client import umad

NOTHING = -11  # EAGAIN


def main():
    neighbour = Neighbour("orphan")
    umad.umad_get_fd(neighbour.port)
    print("begun", flush=True)
    for tid in range(1, 1 << 30):
        if sys.argv[1] == "send":
            status = neighbour.send(tid, 0)
        else:
            status = neighbour.receive(0)
            status = 0 if status in (neighbour.agent, NOTHING) else status
        if status:
            print(status)
            return


main()
