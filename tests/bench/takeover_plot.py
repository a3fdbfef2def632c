# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A plain SVG of curves: what takeover.py measures, around the moment of an event."""
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 900, 520
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 50, 50
COLOURS = {"kill": "#c0392b", "sigterm": "#1f618d", "handover": "#117a65", "lower": "#b9770e"}
NAMES = {"kill": "kill -9", "sigterm": "SIGTERM", "handover": "fmctl handover", "lower": "lower priority, reload"}


def svg(title, curves):
    """curves: (event, [(seconds, answers a second)])"""
    points = [point for _, rows in curves for point in rows]
    first, last, most = min(x for x, _ in points), max(x for x, _ in points), max(y for _, y in points) * 1.15

    def x(value):
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - first) / (last - first)

    def y(value):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / most

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="13">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           f'<text x="{LEFT}" y="28" font-size="16">{escape(title)}</text>']
    for value in range(0, int(most) + 1, 200):
        out += [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>',
                f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value}</text>']
    for second in range(int(first), int(last) + 1):
        out.append(f'<text x="{x(second):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{second} s</text>')
    out += [f'<line x1="{x(0):.1f}" x2="{x(0):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#888" stroke-dasharray="3 3"/>',
            f'<text x="{WIDTH / 2}" y="{HEIGHT - 10}" text-anchor="middle">seconds from the event</text>']
    for number, (event, rows) in enumerate(curves):
        style = f'stroke="{COLOURS[event]}" stroke-width="2" fill="none"'
        path = " ".join(f"{x(at):.1f},{y(rate):.1f}" for at, rate in rows)
        top = HEIGHT - BOTTOM - 20 * (len(curves) - number)
        out += [f'<polyline points="{path}" {style}/>', f'<line x1="{WIDTH - 230}" x2="{WIDTH - 190}" y1="{top}" y2="{top}" {style}/>',
                f'<text x="{WIDTH - 182}" y="{top + 4}">{escape(NAMES[event])}</text>']
    return "\n".join([*out, "</svg>"]) + "\n"
