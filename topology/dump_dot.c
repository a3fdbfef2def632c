/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dump_dot: the fabric as a picture: for Graphviz to lay out (dot), and laid out here (svg).
 *
 * Both show a struct drawing: one row a tier, top tier first, hosts below. The number at a line
 * is that of its parallel links where there are several. A line with links down is red, dashed
 * when all are. In SVG each box and line has a title, which browsers show under the pointer;
 * long labels are cut there and whole in the title.
 */
#include "topology/dump.h"
#include "topology/drawing.h"

#include <errno.h>
#include <inttypes.h>

#define BOX_WIDTH   112 /* SVG units */
#define BOX_HEIGHT  26
#define COLUMN_STEP 124
#define ROW_STEP    150
#define MARGIN	    20
#define LABEL_CHARS 17

static int stream_result(FILE *out)
{
	return ferror(out) || fflush(out) ? -(errno ? errno : EIO) : 0;
}

/* ---- Graphviz ----------------------------------------------------------------------- */

static void dot_text(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void dot_row(const struct drawing *d, uint32_t row, FILE *out)
{
	fprintf(out, "\t{ rank=same;\n");
	for (uint32_t b = 0; b < d->nboxes; b++) {
		if (d->boxes[b].row != row)
			continue;
		fprintf(out, "\t\tn%" PRIu32 " [label=\"", b);
		dot_text(d->boxes[b].label, out);
		if (d->boxes[b].nhosts > 1)
			fprintf(out, "\\n%" PRIu32 " hosts", d->boxes[b].nhosts);
		fprintf(out, "\"%s];\n", d->boxes[b].nhosts ? ", shape=ellipse" : "");
	}
	fprintf(out, "\t}\n");
}

static void dot_line(const struct drawing *d, const struct drawing_line *line, FILE *out)
{
	bool a_above = d->boxes[line->a].row <= d->boxes[line->b].row;

	fprintf(out, "\tn%" PRIu32 " -- n%" PRIu32, a_above ? line->a : line->b,
		a_above ? line->b : line->a);
	if (line->links > 1 || line->down) {
		fprintf(out, " [");
		if (line->links > 1)
			fprintf(out, "label=\"%" PRIu32 "\"%s", line->links,
				line->down ? ", " : "");
		if (line->down)
			fprintf(out, "color=red%s",
				line->down == line->links ? ", style=dashed" : "");
		fprintf(out, "]");
	}
	fprintf(out, ";\n");
}

int dump_dot(const struct topo *t, FILE *out)
{
	struct drawing *d = drawing_new(t);

	fprintf(out, "graph fabric {\n\trankdir=TB;\n\tranksep=1.5;\n\tnode [shape=box, "
		     "fontname=\"sans-serif\"];\n");
	for (uint32_t row = 0; row < d->nrows; row++)
		dot_row(d, row, out);
	for (uint32_t i = 0; i < d->nlines; i++)
		dot_line(d, &d->lines[i], out);
	fprintf(out, "}\n");
	drawing_free(d);
	return stream_result(out);
}

/* ---- SVG ---------------------------------------------------------------------------- */

/* At most `most` characters; bytes that could be broken UTF-8 are shown as '?'. */
static void svg_text(const char *text, size_t most, FILE *out)
{
	for (size_t i = 0; text[i] && i < most; i++) {
		switch (text[i]) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		default:
			fputc((unsigned char)text[i] < 0x80 ? text[i] : '?', out);
		}
	}
}

/* Rows are centred: the middle of a box. */
static double middle_x(const struct drawing *d, uint32_t b)
{
	double free_columns = d->widest - d->row_boxes[d->boxes[b].row];

	return MARGIN + BOX_WIDTH / 2.0 + COLUMN_STEP * (d->boxes[b].column + free_columns / 2);
}

static unsigned top_y(const struct drawing *d, uint32_t b)
{
	return MARGIN + d->boxes[b].row * ROW_STEP;
}

static void svg_line(const struct drawing *d, const struct drawing_line *line, FILE *out)
{
	bool a_above = d->boxes[line->a].row <= d->boxes[line->b].row;
	uint32_t upper = a_above ? line->a : line->b, lower = a_above ? line->b : line->a;
	const char *class = !line->down ? "up" : line->down < line->links ? "part" : "down";

	fprintf(out, "<line class=\"%s\" x1=\"%.0f\" y1=\"%u\" x2=\"%.0f\" y2=\"%u\"><title>",
		class, middle_x(d, upper), top_y(d, upper) + BOX_HEIGHT, middle_x(d, lower),
		top_y(d, lower));
	svg_text(d->boxes[upper].label, SIZE_MAX, out);
	fputs(" - ", out);
	svg_text(d->boxes[lower].label, SIZE_MAX, out);
	fprintf(out, ": %" PRIu32 " link%s, %" PRIu32 " down</title></line>\n", line->links,
		line->links == 1 ? "" : "s", line->down);
}

static void svg_box(const struct drawing *d, uint32_t b, FILE *out)
{
	double x = middle_x(d, b);
	unsigned y = top_y(d, b);

	fprintf(out, "<g><title>");
	svg_text(d->boxes[b].label, SIZE_MAX, out);
	fprintf(out,
		"</title><rect class=\"%s\" x=\"%.0f\" y=\"%u\" width=\"%d\" height=\"%d\" "
		"rx=\"4\"/>",
		d->boxes[b].nhosts ? "hosts" : "switch", x - BOX_WIDTH / 2.0, y, BOX_WIDTH,
		BOX_HEIGHT);
	fprintf(out, "<text x=\"%.0f\" y=\"%u\">", x, y + BOX_HEIGHT - 9);
	svg_text(d->boxes[b].label, LABEL_CHARS, out);
	fprintf(out, "</text></g>\n");
}

int dump_svg(const struct topo *t, FILE *out)
{
	struct drawing *d = drawing_new(t);
	uint32_t width = 2 * MARGIN + d->widest * COLUMN_STEP,
		 height = 2 * MARGIN + (d->nrows - 1) * ROW_STEP + BOX_HEIGHT;

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%" PRIu32 "\" height=\"%" PRIu32
		"\" viewBox=\"0 0 %" PRIu32 " %" PRIu32 "\">\n",
		width, height, width, height);
	fputs("<style>text{font:11px "
	      "sans-serif;text-anchor:middle;fill:#223}rect{fill:#eef3fa;stroke:#68a}"
	      ".hosts{fill:#f4f1e6;stroke:#a96}line{stroke:#abb;stroke-width:1}"
	      ".part,.down{stroke:#c22;stroke-width:2}.down{stroke-dasharray:5 4}</style>\n",
	      out);
	for (uint32_t i = 0; i < d->nlines; i++)
		svg_line(d, &d->lines[i], out);
	for (uint32_t b = 0; b < d->nboxes; b++)
		svg_box(d, b, out);
	fputs("</svg>\n", out);
	drawing_free(d);
	return stream_result(out);
}
