# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Rows of results: what was measured of fmd and of OpenSM, how they compare, what was to be reached, and was it.

Three kinds of comparison: share() wants fmd's figure to be at most some part of OpenSM's, faster() wants OpenSM's to be
at least so many times fmd's, limit() wants fmd's figure itself to be small enough. A bound of None is no demand.
"""

DETAIL = "— "  # begins rows that say more of the row above them


class Row:
    def __init__(self, what, fmd, opensm=None, unit="", ratio=None, bound=None, met=None, note=""):
        self.what, self.fmd, self.opensm, self.unit = what, fmd, opensm, unit
        self.ratio, self.bound, self.met, self.note = ratio, bound, met, note

    def spoil(self, note):
        """The figure stands, and does not count as reached: something besides it was not as it has to be."""
        self.met, self.note = False, "; ".join(filter(None, (self.note, note)))

    def cells(self):
        met = "" if self.met is None else "yes" if self.met else "**no**"
        return [self.what + (f" ({self.note})" if self.note else ""), show(self.fmd, self.unit),
                show(self.opensm, self.unit), self.ratio or "", self.bound or "", met]

    def json(self, section):
        return {"section": section, **self.__dict__}


def share(what, fmd, opensm, unit, bound=None):
    ratio = fmd / opensm if fmd is not None and opensm else None
    return Row(what, fmd, opensm, unit, "" if ratio is None else f"{ratio:.3f}",
               "" if bound is None else f"≤ {bound:.3g}",
               None if bound is None else ratio is not None and ratio <= bound)


def faster(what, fmd, opensm, unit, bound=None):
    ratio = opensm / fmd if fmd and opensm is not None else None
    return Row(what, fmd, opensm, unit, "" if ratio is None else f"{ratio:,.0f}x",
               "" if bound is None else f"≥ {bound:,}x",
               None if bound is None else ratio is not None and ratio >= bound)


def limit(what, fmd, opensm, unit, bound):
    return Row(what, fmd, opensm, unit, None, f"≤ {show(bound, unit)}", fmd is not None and fmd <= bound)


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


def markdown(rows, opensm_name):
    """Aligned, so that it reads in a terminal as in a README."""
    table = [["", "fmd", opensm_name, "ratio", "bound", "met"], *(row.cells() for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(6)]
    pad = [[cell.ljust(width) for cell, width in zip(line, widths)] for line in table]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join("| " + " | ".join(line) + " |" for line in [pad[0], rule, *pad[1:]])
