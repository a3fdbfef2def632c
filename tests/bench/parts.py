# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Sections are made of parts. A part is measured as a whole, within a time limit of its own; one that cannot be measured is a row that says why.

A section is a module with parts(world, options), a list of Part in the order of their rows. Nothing is measured before measure() is called.
"""
import sys
import time
import traceback

import table
import world as w


class Part:
    """measure() returns (rows, raw figures) or ends by an exception; limit_s is several times what it takes on a quiet machine of two cores.
    routed: OpenSM's figures depend on its routing engine, which the rows name then."""

    def __init__(self, what, limit_s, measure, routed=False):
        self.what, self.limit_s, self.measure, self.routed = what, limit_s, measure, routed


def say(text):
    print(text, file=sys.stderr, flush=True)


def name_engines(rows, engines):
    """Where OpenSM had but one engine in a part, its figures are of that."""
    for row in rows:
        heading = not row.what.startswith(table.DETAIL)
        if heading and row.engine is None and len(set(engines)) == 1 and isinstance(row.opensm, (int, float)):
            row.engine = engines[0]


def measured(world, part, limit_s):
    """(rows, raw figures) of a part, of which one row says why if it is not measured. Nothing of it runs any more afterwards."""
    began, world.engines = time.monotonic(), []
    try:
        with w.within(limit_s):
            rows, raw = part.measure()
    except (w.OutOfTime, w.BenchError, OSError, w.subprocess.SubprocessError) as why:
        rows, raw = [table.unmeasured(part.what, why)], None
    except Exception as why:  # the others are measured all the same
        traceback.print_exc()
        rows, raw = [table.unmeasured(part.what, f"{type(why).__name__}: {why}")], None
    finally:
        world.stop_all()
    if part.routed:
        name_engines(rows, world.engines)
    for row in rows:
        say("  " + " | ".join(filter(None, row.cells())))
    say(f"  {time.monotonic() - began:.0f} s of at most {limit_s:.0f}: {part.what}")
    return rows, raw
