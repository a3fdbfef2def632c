/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fmctl_heatmap: where all-to-all traffic is dense. A panel a tier: lower switches (leaves) down,
 * upper ones (spines) across, a cell for each pair with links. Its colour is the load of the
 * busiest live link, either way, relative to the mean of the tier and direction: 1 everywhere is
 * perfect. Pairs without a link are blank, pairs whose links are all dead hatched.
 *
 * The text form has one character a cell: the bin of load_map.h.
 */
#include <errno.h>
#include <inttypes.h>
#include "fm/fmctl/plan.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define LABEL_WIDTH  170
#define TITLE_HEIGHT 70
#define LEGEND_WIDTH 300
#define FONT	     9	/* px; labels that would overlap are left out */
#define LABEL_MAX    30 /* bytes of a name that are shown */
#define LABEL_PX     6	/* a byte's width, about */

struct stop {
	double ratio;
	uint8_t r, g, b;
};
/* Blue under the mean, yellow at it, red above: the colour-blind see the difference too. */
static const struct stop stops[] = {
	{ 0, 0x45, 0x75, 0xb4 },   { 0.5, 0xab, 0xd9, 0xe9 }, { 1, 0xff, 0xff, 0xbf },
	{ 1.5, 0xfd, 0xae, 0x61 }, { 2, 0xf4, 0x6d, 0x43 },   { 3, 0xa5, 0x00, 0x26 },
};
#define STOPS ARRAY_SIZE(stops)

static unsigned blend(uint8_t a, uint8_t b, double f)
{
	return a + (b - a) * f + 0.5;
}

static void put_colour(FILE *out, double ratio)
{
	size_t i = 0;
	double f;

	while (i + 2 < STOPS && ratio > stops[i + 1].ratio)
		i++;
	f = (ratio - stops[i].ratio) / (stops[i + 1].ratio - stops[i].ratio);
	f = f > 1 ? 1 : f;
	fprintf(out, "#%02x%02x%02x", blend(stops[i].r, stops[i + 1].r, f),
		blend(stops[i].g, stops[i + 1].g, f), blend(stops[i].b, stops[i + 1].b, f));
}

/*
 * Well-formed whatever the bytes: a character is written whole or not at all, and a byte that is no
 * UTF-8, or nothing that XML takes, as `?` or a blank.
 */
static void put_text(FILE *out, const char *text, size_t most)
{
	while (*text) {
		const char *entity = *text == '&'   ? "&amp;"
				     : *text == '<' ? "&lt;"
				     : *text == '>' ? "&gt;"
						    : NULL;
		uint32_t c = 0;
		size_t n = text_decode(text, strlen(text), &c), bytes;

		if (c < ' ' || (c >= 0x7f && c < 0xa0) || (c & 0xfffe) == 0xfffe)
			n = 0;
		bytes = n ? n : 1;
		if (bytes > most)
			break;
		if (entity)
			fputs(entity, out);
		else if (n)
			fwrite(text, 1, n, out);
		else
			fputc((unsigned char)*text < ' ' ? ' ' : '?', out);
		text += bytes;
		most -= bytes;
	}
}

/* ---- SVG ------------------------------------------------------------------------------------- */

struct panel {
	const struct topo *t;
	const struct load_map *map;
	unsigned cell; /* px */
	unsigned x, y; /* of the first cell */
	unsigned top;
};

static unsigned label_px(const struct topo *t, const uint32_t *switches, uint32_t n)
{
	size_t longest = 0;

	for (uint32_t i = 0; i < n; i++) {
		size_t len = strnlen(t->nodes[switches[i]].name, LABEL_MAX);

		longest = len > longest ? len : longest;
	}
	return longest * LABEL_PX + 14;
}

static const char *tier_name(const struct topo *t, const struct load_map *map, bool upper)
{
	uint32_t sw = upper ? map->columns[0] : map->rows[0];

	return topo_role_name(t->nodes[sw].role);
}

static struct panel panel_at(const struct plan *p, unsigned tier, unsigned top)
{
	const struct load_map *map = p->tiers[tier];
	uint32_t most = map->ncolumns > map->nrows ? map->ncolumns : map->nrows;
	unsigned size = 1200 / (most ? most : 1);

	return (struct panel){
		.t = p->topo,
		.map = map,
		.cell = size < 4    ? 4
			: size > 18 ? 18
				    : size,
		.x = label_px(p->topo, map->rows, map->nrows),
		.y = top + TITLE_HEIGHT + label_px(p->topo, map->columns, map->ncolumns),
		.top = top,
	};
}

static void put_labels(const struct panel *panel, FILE *out)
{
	const struct load_map *map = panel->map;
	unsigned step = (FONT + panel->cell - 1) / panel->cell, half = panel->cell / 2;

	for (uint32_t r = 0; r < map->nrows; r += step) {
		fprintf(out, "<text x=\"%u\" y=\"%u\" text-anchor=\"end\">", panel->x - 4,
			panel->y + r * panel->cell + half + FONT / 3);
		put_text(out, panel->t->nodes[map->rows[r]].name, LABEL_MAX);
		fputs("</text>\n", out);
	}
	for (uint32_t c = 0; c < map->ncolumns; c += step) {
		unsigned x = panel->x + c * panel->cell + half + FONT / 3;

		fprintf(out, "<text x=\"%u\" y=\"%u\" transform=\"rotate(-90 %u %u)\">", x,
			panel->y - 4, x, panel->y - 4);
		put_text(out, panel->t->nodes[map->columns[c]].name, LABEL_MAX);
		fputs("</text>\n", out);
	}
}

static void put_cell(const struct panel *panel, const struct load_cell *cell, FILE *out)
{
	const struct load_map *map = panel->map;
	unsigned size = panel->cell - 1;

	fprintf(out, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"",
		panel->x + cell->column * panel->cell, panel->y + cell->row * panel->cell, size,
		size);
	if (cell->live)
		put_colour(out, cell->ratio);
	else
		fputs("url(#dead)", out);
	fputs(cell->live && cell->live < cell->links ? "\" stroke=\"#000\"><title>" : "\"><title>",
	      out);
	put_text(out, panel->t->nodes[map->rows[cell->row]].name, SIZE_MAX);
	fputs(" - ", out);
	put_text(out, panel->t->nodes[map->columns[cell->column]].name, SIZE_MAX);
	fprintf(out,
		": %u of %u links, up %" PRIu64 ", down %" PRIu64
		" flows, busiest %.2f of the mean</title></rect>\n",
		cell->live, cell->links, cell->up, cell->down, cell->ratio);
}

static void put_legend(unsigned x, unsigned y, FILE *out)
{
	for (unsigned i = 0; i < LEGEND_WIDTH / 3; i++) {
		fprintf(out, "<rect x=\"%u\" y=\"%u\" width=\"3\" height=\"10\" fill=\"", x + i * 3,
			y);
		put_colour(out, 3.0 * i / (LEGEND_WIDTH / 3));
		fputs("\"/>\n", out);
	}
	for (size_t i = 0; i < STOPS; i++)
		fprintf(out, "<text x=\"%u\" y=\"%u\" text-anchor=\"middle\">%g%s</text>\n",
			x + (unsigned)(stops[i].ratio * LEGEND_WIDTH / 3), y + 20, stops[i].ratio,
			i + 1 == STOPS ? "+" : "");
	fprintf(out, "<text x=\"%u\" y=\"%u\">of the mean</text>\n", x + LEGEND_WIDTH + 12, y + 9);
	fprintf(out,
		"<rect x=\"%u\" y=\"%u\" width=\"10\" height=\"10\" fill=\"url(#dead)\"/>"
		"<text x=\"%u\" y=\"%u\">all links down</text>\n",
		x + LEGEND_WIDTH + 90, y, x + LEGEND_WIDTH + 104, y + 9);
	fprintf(out,
		"<rect x=\"%u\" y=\"%u\" width=\"10\" height=\"10\" fill=\"#ffffbf\" "
		"stroke=\"#000\"/><text x=\"%u\" y=\"%u\">some down</text>\n",
		x + LEGEND_WIDTH + 190, y, x + LEGEND_WIDTH + 204, y + 9);
}

static double worst(const struct load_tier *tier, enum load_direction d)
{
	return tier->mean[d] > 0 ? tier->max[d] / tier->mean[d] : 0;
}

int heatmap_write_svg(const struct plan *p, FILE *out)
{
	unsigned width = LEGEND_WIDTH + 340, height = 20, top = 0;

	for (unsigned i = 0; i < p->ntiers; i++) {
		struct panel panel = panel_at(p, i, height);

		width = (panel.x + panel.map->ncolumns * panel.cell + 20) > width
				? (panel.x + panel.map->ncolumns * panel.cell + 20)
				: width;
		height = panel.y + panel.map->nrows * panel.cell + 20;
	}
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		"font-family=\"sans-serif\" font-size=\"%u\">\n"
		"<defs><pattern id=\"dead\" width=\"4\" height=\"4\" "
		"patternUnits=\"userSpaceOnUse\"><rect width=\"4\" height=\"4\" fill=\"#ddd\"/>"
		"<path d=\"M0 4L4 0\" stroke=\"#555\"/></pattern></defs>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		width, height, FONT);
	for (unsigned i = 0; i < p->ntiers; i++) {
		struct panel panel = panel_at(p, i, top);
		const char *slash = strrchr(p->args.netfile, '/');
		const struct load_map *map = panel.map;

		fprintf(out, "<text x=\"10\" y=\"%u\" font-size=\"14\" font-weight=\"bold\">",
			panel.top + 18);
		put_text(out, slash ? slash + 1 : p->args.netfile, SIZE_MAX);
		fprintf(out,
			": %s x %s</text>\n<text x=\"10\" y=\"%u\">%s, all-to-all: worst link %.2f "
			"of the mean up, %.2f down</text>\n",
			tier_name(p->topo, map, false), tier_name(p->topo, map, true),
			panel.top + 32, p->engine, worst(&map->tier, LOAD_UP),
			worst(&map->tier, LOAD_DOWN));
		put_legend(10, panel.top + 40, out);
		put_labels(&panel, out);
		for (uint32_t c = 0; c < map->ncells; c++)
			put_cell(&panel, &map->cells[c], out);
		top = panel.y + panel.map->nrows * panel.cell + 20;
	}
	if (!p->ntiers)
		fputs("<text x=\"10\" y=\"16\">no links between switches</text>\n", out);
	fputs("</svg>\n", out);
	return ferror(out) ? -EIO : 0;
}

/* ---- Text ------------------------------------------------------------------------------------ */

int heatmap_write_text(const struct plan *p, FILE *out)
{
	for (unsigned i = 0; i < p->ntiers; i++) {
		const struct load_map *map = p->tiers[i];
		uint32_t next = 0;

		fprintf(out, "\n%s x %s, all-to-all load of the busiest link\n",
			tier_name(p->topo, map, false), tier_name(p->topo, map, true));
		fprintf(out, "%*s", 28, "");
		for (uint32_t c = 0; c < map->ncolumns; c++)
			fputc(c % 10 ? '.' : '|', out);
		fprintf(out, "\n%*s%s .. %s\n", 28, "", p->topo->nodes[map->columns[0]].name,
			p->topo->nodes[map->columns[map->ncolumns - 1]].name);

		for (uint32_t r = 0; r < map->nrows; r++) {
			uint32_t column = 0;

			fprintf(out, "%-27.27s ", p->topo->nodes[map->rows[r]].name);
			for (; next < map->ncells && map->cells[next].row == r; next++) {
				const struct load_cell *cell = &map->cells[next];
				unsigned bin = 0;

				while (bin < LOAD_BINS - 1 && cell->ratio > load_bin_edges[bin])
					bin++;
				fprintf(out, "%*s%c", cell->column - column, "",
					cell->live ? (char)('0' + bin) : 'x');
				column = cell->column + 1;
			}
			fputc('\n', out);
		}
	}
	fputs("\n0 idle", out);
	for (unsigned i = 1; i < LOAD_BINS - 1; i++)
		fprintf(out, ", %u to %g", i, load_bin_edges[i]);
	fprintf(out, ", %u more of the mean; x all links down\n", LOAD_BINS - 1);
	return ferror(out) ? -EIO : 0;
}
