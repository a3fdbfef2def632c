/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/maintenance/flap.h"
#include <stdlib.h>
#include "topology/mem.h"

#define TIMES_MAX (FLAP_COUNT_MAX + 1)

struct downs {		    /* the times at which a link went down */
	cl_map_item_t item; /* the first member; key: see key_of() */
	unsigned count;
	uint64_t at_us[TIMES_MAX]; /* the latest, as a ring */
};

/*
 * The port is mixed into the GUID's vendor bits. Two links with the same key are next to
 * impossible, and would only share a count.
 */
static uint64_t key_of(guid_t node, uint8_t port)
{
	return node ^ (uint64_t)port << 56;
}

static struct downs *find(struct flaps *flaps, uint64_t key)
{
	cl_map_item_t *item = cl_qmap_get(&flaps->links, key);
	struct downs *downs;

	if (item != cl_qmap_end(&flaps->links))
		return (struct downs *)item;
	downs = mem_alloc(1, sizeof(*downs));
	cl_qmap_insert(&flaps->links, key, &downs->item);
	return downs;
}

/* When the link went down, `back` times before the latest. */
static uint64_t went_down_at(const struct downs *downs, unsigned back)
{
	return downs->at_us[(downs->count + TIMES_MAX - 1 - back) % TIMES_MAX];
}

static void tidy(struct flaps *flaps, uint64_t window_us, uint64_t now)
{
	cl_map_item_t *item, *next;

	if (cl_qmap_count(&flaps->links) < flaps->tidy_at)
		return;
	for (item = cl_qmap_head(&flaps->links); item != cl_qmap_end(&flaps->links); item = next) {
		next = cl_qmap_next(item);
		if (now - went_down_at((struct downs *)item, 0) <= window_us)
			continue;
		cl_qmap_remove_item(&flaps->links, item);
		free(item);
	}
	flaps->tidy_at = 2 * cl_qmap_count(&flaps->links) + 1024;
}

bool flaps_note_down(struct flaps *flaps, guid_t node, uint8_t port, unsigned allowed,
		     uint64_t window_us, uint64_t now)
{
	struct downs *downs;

	tidy(flaps, window_us, now);
	downs = find(flaps, key_of(node, port));
	downs->at_us[downs->count++ % TIMES_MAX] = now;
	if (downs->count <= allowed || now - went_down_at(downs, allowed) > window_us)
		return false;
	downs->count = 0;
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
