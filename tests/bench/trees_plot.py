# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A plain SVG of curves: what trees.py measures against dead cables."""
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 860, 520
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 50, 50
CURVES = (("shift, with aggregation nodes", "#c0392b", ""), ("all-to-all, with aggregation nodes", "#1f618d", ""),
          ("shift, without", "#e59866", "6 4"), ("all-to-all, without", "#7fb3d5", "6 4"))


def svg(title, rows):
    """rows: the share of dead cables in percent, then a value for each of CURVES."""
    most_x = max(row[0] for row in rows) or 1
    most_y = max(value for row in rows for value in row[1:]) * 1.05

    def x(value):
        return LEFT + (WIDTH - LEFT - RIGHT) * value / most_x

    def y(value):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / most_y

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="13">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           f'<text x="{LEFT}" y="28" font-size="16">{escape(title)}</text>']
    step = 1 if most_y < 12 else 5
    for value in range(0, int(most_y) + 1, step):
        out += [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>',
                f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value}</text>']
    for share in range(0, int(most_x) + 1, 5):
        out.append(f'<text x="{x(share):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{share} %</text>')
    out.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 10}" text-anchor="middle">dead cables between switches</text>')
    for i, (name, colour, dash) in enumerate(CURVES):
        points = " ".join(f"{x(row[0]):.1f},{y(row[i + 1]):.1f}" for row in rows)
        style = f'stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dash}" fill="none"'
        out += [f'<polyline points="{points}" {style}/>',
                f'<line x1="{LEFT + 20}" x2="{LEFT + 60}" y1="{TOP + 16 + 20 * i}" y2="{TOP + 16 + 20 * i}" {style}/>',
                f'<text x="{LEFT + 68}" y="{TOP + 20 + 20 * i}">{escape(name)}</text>']
    return "\n".join([*out, "</svg>"]) + "\n"
