#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What hardening costs, in instructions of the manager's own code: hardening.c in two builds, counted by valgrind's callgrind. The work is the same in both.

    hardening.py PLAIN HARDENED     build folders, one made with HARDEN=
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile


def part_of(file):
    """What glibc's headers put in place of memcpy and the like is of who calls it: the product above all."""
    if "tests/" in file:
        return "double"
    return "own" if re.search(r"(^|/)(fm|routing|topology)/|^/usr/include/", file) else "libraries"


def counted(folder, work):
    """Instructions by part: the product's own files, the libraries that it calls (with what the double has of these), the double."""
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "out"
        subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "-q", pathlib.Path(folder) / "bench/hardening", work], check=True,
                       stderr=subprocess.DEVNULL)
        files, sums, file, skip = {}, collections.Counter(), "", False
        for line in out.read_text().splitlines():
            if found := re.match(r"(fl|fi|fe)=\((\d+)\)(?: (.*))?", line):
                if found[3]:
                    files[found[2]] = found[3]
                file = files[found[2]]
            elif line.startswith("cfi=") or line.startswith("cfl="):
                found = re.match(r"cf[il]=\((\d+)\)(?: (.*))?", line)
                if found[2]:
                    files[found[1]] = found[2]
            elif line.startswith("calls="):
                skip = True
            elif re.match(r"[+*\-\d]", line):
                if not skip:
                    sums[part_of(file)] += int(line.split()[1])
                skip = False
        return sums


def main():
    table = {work: [counted(folder, work) for folder in sys.argv[1:3]] for work in ("start", "fault", "sa")}
    for work, (plain, hard) in table.items():
        base = table["start"] if work != "start" else [collections.Counter()] * 2
        for kind in ("own", "libraries", "double"):
            one, two = plain[kind] - base[0][kind], hard[kind] - base[1][kind]
            print(f"{work:6} {kind:9} plain {one:14,} hardened {two:14,} ratio {two / one:.4f}")


if __name__ == "__main__":
    main()
