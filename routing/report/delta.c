/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * delta: compares tables, and says which changes had to be (see delta.h).
 *
 * An old entry may stay when its link lives and its next switch is a minimal legal next hop in the
 * new fabric (legal.h).
 */
#include <string.h>
#include "routing/report/delta.h"
#include "routing/ftree/legal.h"

static uint64_t entries_that_differ(const uint8_t *a, const uint8_t *b)
{
	uint64_t differ = 0;

	if (!memcmp(a, b, TABLES_BLOCK))
		return 0;
	for (unsigned i = 0; i < TABLES_BLOCK; i++)
		differ += a[i] != b[i];
	return differ;
}

/* A block beyond a table's rows is all gaps. */
static const uint8_t *block_of(const struct tables *t, uint32_t sw, uint32_t block,
			       const uint8_t *gaps)
{
	return block * TABLES_BLOCK < t->stride ? tables_row(t, sw) + block * TABLES_BLOCK : gaps;
}

void delta_count(const struct tables *older, const struct tables *newer, struct delta *out)
{
	uint32_t blocks = tables_blocks(older) > tables_blocks(newer) ? tables_blocks(older)
								      : tables_blocks(newer);

	uint8_t gaps[TABLES_BLOCK];

	memset(gaps, TABLES_NO_ROUTE, sizeof(gaps));
	out->entries = out->blocks = out->switches = 0;
	for (uint32_t sw = 0; sw < newer->nswitches; sw++) {
		uint32_t before = out->blocks;

		for (uint32_t block = 0; block < blocks; block++) {
			uint64_t differ = entries_that_differ(block_of(older, sw, block, gaps),
							      block_of(newer, sw, block, gaps));

			out->entries += differ;
			out->blocks += differ > 0;
		}
		out->switches += out->blocks > before;
	}
}

/* ---- The minimum ----------------------------------------------------------------------------- */

/* The ports that entries of one switch for what is behind another might have. */
struct judge {
	const struct legal *legal;
	uint32_t sw, d; /* of `ports` */
	struct legal_ports ports;
};

static bool may_stay(struct judge *j, uint32_t sw, uint16_t lid, uint8_t out)
{
	const struct dests *dests = &j->legal->d;
	uint32_t d = dests->sw[lid];

	if (d == TOPO_NONE || d == sw)
		return out == (d == sw ? dests->port[lid] : TABLES_NO_ROUTE);
	if (sw != j->sw || d != j->d)
		legal_ports(j->legal->g, &j->legal->r, sw, d, &j->ports);
	j->sw = sw;
	j->d = d;
	if (out == TABLES_NO_ROUTE)
		return !j->ports.n;
	return memchr(j->ports.port, out, j->ports.n) != NULL;
}

static bool had_to_change(struct judge *j, uint32_t sw, uint16_t lid, uint8_t was, uint8_t is)
{
	return was != is && (was == TABLES_NO_ROUTE || !may_stay(j, sw, lid, was));
}

static uint64_t minimum_by_tiers(const struct topo *t, const struct lid_map *lids,
				 const struct tables *older, const struct tables *newer)
{
	static const struct route_params defaults;
	struct legal legal;
	struct judge j = { .legal = &legal, .sw = TOPO_NONE };
	uint64_t moved = 0;

	legal_init(&legal, t, lids, &defaults, (struct graph_how){ .orientation = GRAPH_BY_LEVEL });
	legal_fill(&legal);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (uint32_t lid = 1; lid <= lids->top && lid < older->stride; lid++)
			moved += had_to_change(&j, sw, lid, tables_row(older, sw)[lid],
					       tables_row(newer, sw)[lid]);
	legal_fini(&legal);
	return moved;
}

static bool leads_nowhere(const struct topo *t, uint32_t sw, uint8_t out)
{
	const struct topo_port *port;

	if (out == TABLES_NO_ROUTE || out > t->nodes[sw].nports)
		return true;
	port = topo_port(t, sw, out);
	return out && !port->link_up;
}

static uint64_t minimum_by_links(const struct topo *t, const struct lid_map *lids,
				 const struct tables *older, const struct tables *newer)
{
	uint64_t moved = 0;

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (uint32_t lid = 1; lid <= lids->top && lid < older->stride; lid++)
			moved += tables_row(older, sw)[lid] != tables_row(newer, sw)[lid] &&
				 leads_nowhere(t, sw, tables_row(older, sw)[lid]);
	return moved;
}

uint64_t delta_minimum(const struct topo *t, const struct lid_map *lids, const char *engine,
		       const struct tables *older, const struct tables *newer)
{
	return strcmp(engine, "updn-root") ? minimum_by_tiers(t, lids, older, newer)
					   : minimum_by_links(t, lids, older, newer);
}
