/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/maintenance/flap.h"
#include <stdlib.h>
#include "topology/mem.h"

#define TIMES_MAX (FLAP_COUNT_MAX + 1)

struct falls {		    /* of a link */
	cl_map_item_t item; /* first; key: see key_of() */
	unsigned count;
	uint64_t at_us[TIMES_MAX]; /* the latest, as a ring */
};

/*
 * The port goes where a GUID has its vendor: two links with one key are as good as impossible, and
 * do no harm.
 */
static uint64_t key_of(guid_t node, uint8_t port)
{
	return node ^ (uint64_t)port << 56;
}

static struct falls *find(struct flaps *flaps, uint64_t key)
{
	cl_map_item_t *item = cl_qmap_get(&flaps->links, key);
	struct falls *falls;

	if (item != cl_qmap_end(&flaps->links))
		return (struct falls *)item;
	falls = mem_alloc(1, sizeof(*falls));
	cl_qmap_insert(&flaps->links, key, &falls->item);
	return falls;
}

/* When the link fell, `back` times before the latest. */
static uint64_t fell_at(const struct falls *falls, unsigned back)
{
	return falls->at_us[(falls->count + TIMES_MAX - 1 - back) % TIMES_MAX];
}

static void tidy(struct flaps *flaps, uint64_t window_us, uint64_t now)
{
	cl_map_item_t *item, *next;

	if (cl_qmap_count(&flaps->links) < flaps->tidy_at)
		return;
	for (item = cl_qmap_head(&flaps->links); item != cl_qmap_end(&flaps->links); item = next) {
		next = cl_qmap_next(item);
		if (now - fell_at((struct falls *)item, 0) <= window_us)
			continue;
		cl_qmap_remove_item(&flaps->links, item);
		free(item);
	}
	flaps->tidy_at = 2 * cl_qmap_count(&flaps->links) + 1024;
}

bool flaps_fell(struct flaps *flaps, guid_t node, uint8_t port, unsigned allowed,
		uint64_t window_us, uint64_t now)
{
	struct falls *falls;

	tidy(flaps, window_us, now);
	falls = find(flaps, key_of(node, port));
	falls->at_us[falls->count++ % TIMES_MAX] = now;
	if (falls->count <= allowed || now - fell_at(falls, allowed) > window_us)
		return false;
	falls->count = 0;
	return true;
}

void flaps_init(struct flaps *flaps)
{
	*flaps = (struct flaps){ 0 };
	cl_qmap_init(&flaps->links);
}

void flaps_fini(struct flaps *flaps)
{
	cl_map_item_t *item;

	while ((item = cl_qmap_head(&flaps->links)) != cl_qmap_end(&flaps->links)) {
		cl_qmap_remove_item(&flaps->links, item);
		free(item);
	}
}
