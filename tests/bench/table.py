# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Rows of results: what was measured of fmd and of OpenSM, how they compare, what was to be reached, and was it.

Three kinds of comparison: share() wants fmd's figure to be at most some part of OpenSM's, faster() wants OpenSM's to be
at least so many times fmd's, limit() wants fmd's figure itself to be small enough. A bound of None is no demand.
"""

DETAIL = "— "  # begins rows that say more of the row above them
LACKING = "not measured"


class Row:
    """engine: what OpenSM's figure was routed by; None = whatever OpenSM had in that part of the section. missing: why it is not measured."""

    def __init__(self, what, fmd=None, opensm=None, unit="", ratio=None, bound=None, met=None, note="", engine=None, missing=None, in_readme=False):
        self.what, self.fmd, self.opensm, self.unit = what, fmd, opensm, unit
        self.ratio, self.bound, self.met, self.note = ratio, bound, met, note
        self.engine, self.missing, self.in_readme = engine, missing, in_readme

    def spoil(self, note):
        """The figure stands, and does not count as reached: something besides it was not as it has to be."""
        self.met, self.note = False, "; ".join(filter(None, (self.note, note)))

    def lacks_opensm(self, why):
        """fmd's figure stands, for itself."""
        self.opensm, self.note = LACKING, "; ".join(filter(None, (self.note, f"OpenSM: {why}")))

    def theirs(self):
        return show(self.opensm, self.unit) + (f" ({self.engine})" if self.engine else "")

    def cells(self):
        if self.missing:
            return [f"{self.what}: not measured: {self.missing}", "", "", "", "", ""]
        met = "" if self.met is None else "yes" if self.met else "**no**"
        return [self.what + (f" ({self.note})" if self.note else ""), show(self.fmd, self.unit),
                self.theirs(), self.ratio or "", self.bound or "", met]

    def json(self, section):
        return {"section": section, **self.__dict__}


def unmeasured(what, why):
    return Row(what, missing=" ".join(str(why).split())[:200])


def readme(*rows):
    """The rows, which README's table has too."""
    for row in rows:
        row.in_readme = True
    return list(rows)


def share(what, fmd, opensm, unit, bound=None, **more):
    ratio = fmd / opensm if fmd is not None and opensm else None
    return Row(what, fmd, opensm, unit, "" if ratio is None else f"{ratio:.3f}",
               "" if bound is None else f"≤ {bound:.3g}",
               None if bound is None or ratio is None else ratio <= bound, **more)


def faster(what, fmd, opensm, unit, bound=None, **more):
    ratio = opensm / fmd if fmd and opensm is not None else None
    return Row(what, fmd, opensm, unit, "" if ratio is None else f"{ratio:,.0f}x",
               "" if bound is None else f"≥ {bound:,}x",
               None if bound is None or ratio is None else ratio >= bound, **more)


def limit(what, fmd, opensm, unit, bound, **more):
    return Row(what, fmd, opensm, unit, None, f"≤ {show(bound, unit)}", fmd is not None and fmd <= bound, **more)


def show(value, unit=""):
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if unit == "s" and value < 1:
        value, unit = value * 1000, "ms"
    if unit == "ms" and value >= 10000:
        value, unit = value / 1000, "s"
    if isinstance(value, int) or value >= 1000:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.3g}" if value < 100 else f"{value:.0f}"
    return f"{text} {unit}".strip()


def aligned(lines):
    """A markdown table that reads in a terminal as in a README; the first line is its head, the first column its words."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    pad = [[cell.ljust(width) for cell, width in zip(line, widths)] for line in lines]
    rule = ["-" * widths[0], *("-" * max(1, width - 1) + ":" for width in widths[1:])]
    return "\n".join("| " + " | ".join(line) + " |" for line in [pad[0], rule, *pad[1:]])


def markdown(rows, opensm_name):
    measured, missing = ([row.cells() for row in rows if bool(row.missing) == which] for which in (False, True))
    said = [aligned([["", "fmd", opensm_name, "ratio", "bound", "met"], *measured])] if measured else []
    return "\n".join(said + [cells[0] for cells in missing])
