# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""probe.py COUNT: asks the neighbour for its NodeInfo so often, each once, and prints a 1 for each answer and a 0 for each silence. On fmsim."""
import sys

from neighbour import Neighbour

PATIENCE_MS = 20


def main():
    neighbour, heard = Neighbour("probe"), []
    for tid in range(1, int(sys.argv[1]) + 1):
        if neighbour.send(tid, PATIENCE_MS):
            sys.exit("probe: cannot send")
        neighbour.receive(-1)
        heard.append("1" if neighbour.answered() else "0")
    print("".join(heard))


main()
