/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <inttypes.h>
#include "topology/files/dump.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/names.h"
#include "topology/snapshot/topo.h"

/*
 * What a picture of the fabric shows, before it is decided how: rows of boxes, and lines.
 *
 * A picture of every HCA would show nothing, so hosts that have like links share a box: a unit
 * of 32 rail-optimised nodes is one box with a line to each of its eight leaves. Parallel links
 * are one line. SHARP aggregation nodes and routers, being no hosts, are left out. Columns
 * follow natural order of names, leaves by unit and rail.
 */

struct drawing_box {
	char *label; /* a switch's name, or hosts in short form */
	uint32_t row, column;
	uint32_t nhosts; /* 0 = a switch */
};

struct drawing_line {	       /* all links between two boxes */
	uint32_t a, b;	       /* a < b */
	uint32_t upper, lower; /* the same by their rows */
	uint32_t links, down;
};

/*
 * Row 0 is the top tier, the last row the hosts. Box s is switch s of the snapshot; after the
 * switches come boxes for hosts: one for each scalable unit, and one for all other hosts whose
 * first CA with a link is on the same switch.
 */
struct drawing {
	uint32_t nrows, widest; /* boxes in the fullest row */
	uint32_t nboxes, nlines;
	struct drawing_box *boxes;
	struct drawing_line *lines; /* each pair of boxes once, in order */
	uint32_t *row_boxes;	    /* by row: how many */
};

/* ---- Which box ---------------------------------------------------------------------- */

static uint32_t first_switch(const struct topo *t, const struct topo_host *host)
{
	for (uint32_t i = 0; i < host->ncas; i++) {
		uint32_t sw = topo_leaf_of(t, t->host_cas[host->first + i]);

		if (sw != TOPO_NONE)
			return sw;
	}
	return t->nswitches; /* no switch: all such hosts share a box */
}

/* By host: its box. Boxes are numbered in the order of their first hosts. */
static uint32_t *group_hosts(const struct topo *t, struct drawing *d)
{
	uint32_t keys = t->nswitches + 1 + INT16_MAX + 1, *box_of_key = mem_array(box_of_key, keys);
	uint32_t *box = mem_array(box, t->nhosts);

	d->nboxes = t->nswitches;
	for (uint32_t h = 0; h < t->nhosts; h++) {
		int su = t->nodes[t->host_cas[t->hosts[h].first]].su;
		uint32_t key = su >= 0 ? t->nswitches + 1 + su : first_switch(t, &t->hosts[h]);

		if (!box_of_key[key])
			box_of_key[key] = ++d->nboxes;
		box[h] = box_of_key[key] - 1;
	}
	free(box_of_key);
	return box;
}

static void label_groups(const struct topo *t, struct drawing *d, const uint32_t *box)
{
	const char **names = mem_array(names, t->nhosts);
	uint32_t *first = mem_array(first, d->nboxes + 1), *next = mem_array(next, d->nboxes);

	for (uint32_t h = 0; h < t->nhosts; h++)
		d->boxes[box[h]].nhosts++;
	for (uint32_t b = 0; b < d->nboxes; b++) {
		next[b] = first[b];
		first[b + 1] = first[b] + d->boxes[b].nhosts;
	}
	for (uint32_t h = 0; h < t->nhosts; h++)
		names[next[box[h]]++] = t->hosts[h].name;
	for (uint32_t b = t->nswitches; b < d->nboxes; b++)
		d->boxes[b].label = hostlist_format(names + first[b], d->boxes[b].nhosts);
	free(names);
	free(first);
	free(next);
}

/* ---- Where -------------------------------------------------------------------------- */

struct place {
	uint32_t row, box, rank;
	int16_t su, rail;
};

SORT_BY(compare_places, struct place,
	sort_order(a->row, b->row) ?:
	sort_order((uint16_t)a->su, (uint16_t)b->su) ?: /* -1 last */
	sort_order((uint16_t)a->rail, (uint16_t)b->rail) ?: sort_order(a->rank, b->rank) ?:
	sort_order(a->box, b->box))

static struct place *sorted_places(const struct topo *t, const struct drawing *d)
{
	struct place *places = mem_array(places, d->nboxes);
	struct names names = { 0 };

	for (uint32_t b = 0; b < d->nboxes; b++)
		places[b] = (struct place){ d->nrows - 1, b, b, -1, -1 };
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		const struct topo_node *node = &t->nodes[sw];

		places[sw] = (struct place){ t->nlevels - 1u - node->level, sw,
					     names_id(&names, node->name, strlen(node->name)),
					     node->su, node->rail };
	}

	uint32_t *rank = names_rank(&names);

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		places[sw].rank = rank[places[sw].rank];
	free(rank);
	names_fini(&names);
	qsort(places, d->nboxes, sizeof(*places), compare_places);
	return places;
}

/* ---- Lines -------------------------------------------------------------------------- */

static uint32_t box_of_node(const struct topo *t, const uint32_t *box_of_host, uint32_t n)
{
	if (n < t->nswitches)
		return n;
	return t->nodes[n].host == TOPO_NONE ? TOPO_NONE : box_of_host[t->nodes[n].host];
}

SORT_BY(compare_lines, struct drawing_line, sort_order(a->a, b->a) ?: sort_order(a->b, b->b))

/* Boxes and lines of a snapshot, all in memory of its own; the caller frees it, not with NULL. */
static struct drawing *drawing_new(const struct topo *t)
{
	struct drawing *d = mem_new(d);
	uint32_t *box_of_host = group_hosts(t, d), n = 0;

	d->nrows = t->nlevels + 1u;
	d->boxes = mem_array(d->boxes, d->nboxes);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		d->boxes[sw].label = mem_strdup(t->nodes[sw].name);
	label_groups(t, d, box_of_host);

	struct place *places = sorted_places(t, d);

	d->row_boxes = mem_array(d->row_boxes, d->nrows);
	for (uint32_t i = 0; i < d->nboxes; i++) {
		uint32_t row = places[i].row;

		d->boxes[places[i].box].row = row;
		d->boxes[places[i].box].column = d->row_boxes[row]++;
		if (d->row_boxes[row] > d->widest)
			d->widest = d->row_boxes[row];
	}
	free(places);
	d->lines = mem_array(d->lines, t->nlinks);
	TOPO_CABLES (t, port, peer) {
		uint32_t a = box_of_node(t, box_of_host, port->node);
		uint32_t b = box_of_node(t, box_of_host, peer->node);

		if (a != b && a != TOPO_NONE && b != TOPO_NONE)
			d->lines[d->nlines++] = (struct drawing_line){ .a = a < b ? a : b,
								       .b = a < b ? b : a,
								       .links = 1,
								       .down = !port->link_up };
	}

	qsort(d->lines, d->nlines, sizeof(*d->lines), compare_lines);
	for (uint32_t i = 0; i < d->nlines; i++) {
		if (n && compare_lines(&d->lines[n - 1], &d->lines[i]) == 0) {
			d->lines[n - 1].links++;
			d->lines[n - 1].down += d->lines[i].down;
		} else {
			d->lines[n++] = d->lines[i];
		}
	}
	d->nlines = n;
	for (uint32_t i = 0; i < n; i++) {
		struct drawing_line *line = &d->lines[i];
		bool a_above = d->boxes[line->a].row <= d->boxes[line->b].row;

		line->upper = a_above ? line->a : line->b;
		line->lower = a_above ? line->b : line->a;
	}
	free(box_of_host);
	return d;
}

static void drawing_free(struct drawing *d)
{
	for (uint32_t b = 0; b < d->nboxes; b++)
		free(d->boxes[b].label);
	free(d->boxes);
	free(d->lines);
	free(d->row_boxes);
	free(d);
}

/* ---- Pictures -------------------------------------------------------------------------------- */

/*
 * The fabric as a picture: for Graphviz to lay out (dot), and laid out here (svg).
 *
 * Both show a struct drawing: one row a tier, top tier first, hosts below. The number at a line
 * is that of its parallel links where there are several. A line with links down is red, dashed
 * when all are. In SVG each box and line has a title, which browsers show under the pointer;
 * long labels are cut there and whole in the title.
 */

#define BOX_WIDTH   112 /* SVG units */
#define BOX_HEIGHT  26
#define COLUMN_STEP 124
#define ROW_STEP    150
#define MARGIN	    20
#define LABEL_CHARS 17

/* ---- Graphviz ----------------------------------------------------------------------- */

int dump_dot(const struct topo *t, FILE *out)
{
	struct drawing *d = drawing_new(t);

	fprintf(out, "graph fabric {\n\trankdir=TB;\n\tranksep=1.5;\n\tnode [shape=box, "
		     "fontname=\"sans-serif\"];\n");
	for (uint32_t row = 0; row < d->nrows; row++) {
		fprintf(out, "\t{ rank=same;\n");
		for (uint32_t b = 0; b < d->nboxes; b++) {
			if (d->boxes[b].row != row)
				continue;
			fprintf(out, "\t\tn%" PRIu32 " [label=\"", b);
			for (const char *text = d->boxes[b].label; *text; text++) {
				if (*text == '"' || *text == '\\')
					fputc('\\', out);
				fputc(*text, out);
			}
			if (d->boxes[b].nhosts > 1)
				fprintf(out, "\\n%" PRIu32 " hosts", d->boxes[b].nhosts);
			fprintf(out, "\"%s];\n", d->boxes[b].nhosts ? ", shape=ellipse" : "");
		}
		fprintf(out, "\t}\n");
	}
	for (uint32_t i = 0; i < d->nlines; i++) {
		const struct drawing_line *line = &d->lines[i];
		bool several = line->links > 1, any = several || line->down;

		fprintf(out, "\tn%" PRIu32 " -- n%" PRIu32 "%s", line->upper, line->lower,
			any ? " [" : "");
		if (several)
			fprintf(out, "label=\"%" PRIu32 "\"%s", line->links,
				line->down ? ", " : "");
		if (line->down)
			fprintf(out, "color=red%s",
				line->down == line->links ? ", style=dashed" : "");
		fputs(any ? "];\n" : ";\n", out);
	}
	fprintf(out, "}\n");
	drawing_free(d);
	return mem_flush(out);
}

/* ---- SVG ---------------------------------------------------------------------------- */

/* At most `most` characters; bytes that could be broken UTF-8 are shown as '?'. */
static void svg_text(const char *text, size_t most, FILE *out)
{
	for (size_t i = 0; text[i] && i < most; i++) {
		const char *escaped = text[i] == '&'   ? "&amp;"
				      : text[i] == '<' ? "&lt;"
				      : text[i] == '>' ? "&gt;"
						       : NULL;

		if (escaped)
			fputs(escaped, out);
		else
			fputc((unsigned char)text[i] < 0x80 ? text[i] : '?', out);
	}
}

/* Rows are centred: the middle of a box. */
static double middle_x(const struct drawing *d, uint32_t b)
{
	double free_columns = d->widest - d->row_boxes[d->boxes[b].row];

	return MARGIN + BOX_WIDTH / 2.0 + COLUMN_STEP * (d->boxes[b].column + free_columns / 2);
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
	for (const struct drawing_line *line = d->lines; line < d->lines + d->nlines; line++) {
		const char *class = !line->down ? "up" : line->down < line->links ? "part" : "down";
		uint32_t upper = line->upper, lower = line->lower;

		fprintf(out,
			"<line class=\"%s\" x1=\"%.0f\" y1=\"%u\" x2=\"%.0f\" y2=\"%u\"><title>",
			class, middle_x(d, upper),
			(MARGIN + d->boxes[upper].row * ROW_STEP) + BOX_HEIGHT, middle_x(d, lower),
			MARGIN + d->boxes[lower].row * ROW_STEP);
		svg_text(d->boxes[upper].label, SIZE_MAX, out);
		fputs(" - ", out);
		svg_text(d->boxes[lower].label, SIZE_MAX, out);
		fprintf(out, ": %" PRIu32 " link%s, %" PRIu32 " down</title></line>\n", line->links,
			line->links == 1 ? "" : "s", line->down);
	}
	for (uint32_t b = 0; b < d->nboxes; b++) {
		double x = middle_x(d, b);
		unsigned y = MARGIN + d->boxes[b].row * ROW_STEP;

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
	fputs("</svg>\n", out);
	drawing_free(d);
	return mem_flush(out);
}
