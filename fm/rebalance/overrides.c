/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/rebalance/overrides.h"
#include <inttypes.h>
#include <stdlib.h>
#include "routing/tables.h"
#include "topology/base/mem.h"

struct overrides overrides_found(const struct rebalance_result *result, const struct topo *t)
{
	struct overrides o = { .entries = mem_alloc(result->count + 1, sizeof(*o.entries)),
			       .count = result->count };

	for (uint32_t i = 0; i < result->count; i++) {
		const struct route_override *it = &result->overrides[i];

		o.entries[i] = (struct override){ t->nodes[it->sw].guid, it->lid, it->port };
	}
	return o;
}

bool overrides_equal(const struct overrides *a, const struct overrides *b)
{
	for (uint32_t i = 0; i < a->count && a->count == b->count; i++) {
		const struct override *x = &a->entries[i], *y = &b->entries[i];

		if (x->sw != y->sw || x->lid != y->lid || x->port != y->port)
			return false;
	}
	return a->count == b->count;
}

/* Both lists are in the order of GUIDs. */
uint32_t overrides_resolve(const struct overrides *o, const struct topo *t,
			   struct route_override **list)
{
	uint32_t sw = 0, n = 0;

	*list = o->count ? mem_alloc(o->count, sizeof(**list)) : NULL;
	for (uint32_t i = 0; i < o->count; i++) {
		const struct override *it = &o->entries[i];

		while (sw < t->nswitches && t->nodes[sw].guid < it->sw)
			sw++;
		if (sw < t->nswitches && t->nodes[sw].guid == it->sw)
			(*list)[n++] = (struct route_override){ sw, it->lid, it->port };
	}
	return n;
}

void overrides_fini(struct overrides *o)
{
	free(o->entries);
	*o = (struct overrides){ 0 };
}

/* ---- A file of them -------------------------------------------------------------------------- */

static bool parse_line(const char *line, struct override *override)
{
	unsigned lid, port;
	char rest;

	if (sscanf(line, "0x%" SCNx64 " %u %u %c", &override->sw, &lid, &port, &rest) != 3)
		return false;
	override->lid = (uint16_t)lid;
	override->port = (uint8_t)port;
	return override->sw && lid && lid <= TABLES_MAX_LID && port && port < TABLES_NO_ROUTE;
}

static bool comes_after(const struct override *a, const struct override *b)
{
	return a->sw > b->sw || (a->sw == b->sw && a->lid > b->lid);
}

unsigned overrides_read(struct overrides *o, FILE *in)
{
	uint32_t size = o->count;
	char line[128];

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++) {
		struct override override;

		if (o->count == REBALANCE_MOST || !parse_line(line, &override) ||
		    (o->count && !comes_after(&override, &o->entries[o->count - 1])))
			return number;
		if (o->count == size) {
			size = size ? 2 * size : 64;
			o->entries = mem_resize(o->entries, size, sizeof(*o->entries));
		}
		o->entries[o->count++] = override;
	}
	return 0;
}

void overrides_write(const struct overrides *o, FILE *out)
{
	for (uint32_t i = 0; i < o->count; i++)
		fprintf(out, "0x%016" PRIx64 " %u %u\n", o->entries[i].sw, o->entries[i].lid,
			o->entries[i].port);
}
