/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/adaptive/generalinfo.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "topology/mem.h"
#include "topology/sort.h"

struct entry {
	guid_t sw;
	uint16_t device;
	uint32_t revision;
};

struct unanswered {
	struct state_store *state;
	struct entry *list; /* by GUID */
	uint32_t count, size;
};

static uint32_t place_of(const struct unanswered *u, guid_t sw)
{
	return sort_place(0, u->count, at, u->list[at].sw < sw);
}

static bool is_at(const struct unanswered *u, uint32_t place, guid_t sw)
{
	return place < u->count && u->list[place].sw == sw;
}

bool unanswered_has(const struct unanswered *u, const struct inv_node *node)
{
	uint32_t place = place_of(u, node->guid);

	return is_at(u, place, node->guid) && u->list[place].device == node->info.device &&
	       u->list[place].revision == node->info.revision;
}

static void insert(struct unanswered *u, uint32_t place, struct entry it)
{
	if (u->count == u->size) {
		u->size = u->size ? 2 * u->size : 64;
		u->list = mem_resize(u->list, u->size, sizeof(*u->list));
	}
	memmove(u->list + place + 1, u->list + place, (u->count++ - place) * sizeof(*u->list));
	u->list[place] = it;
}

static void take_out(struct unanswered *u, uint32_t place)
{
	memmove(u->list + place, u->list + place + 1, (--u->count - place) * sizeof(*u->list));
}

static unsigned read_list(void *owner, FILE *in)
{
	struct unanswered *u = owner;
	char line[128], rest;

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++) {
		struct entry it;

		if (sscanf(line, "0x%" SCNx64 " %" SCNu16 " %" SCNu32 " %c", &it.sw, &it.device,
			   &it.revision, &rest) != 3 ||
		    (u->count && u->list[u->count - 1].sw >= it.sw))
			return number;
		insert(u, u->count, it);
	}
	return 0;
}

static void forget_list(void *owner)
{
	struct unanswered *u = owner;

	u->count = 0;
}

static void write_list(const void *owner, FILE *out)
{
	const struct unanswered *u = owner;

	for (uint32_t i = 0; i < u->count; i++)
		fprintf(out, "0x%016" PRIx64 " %u %" PRIu32 "\n", u->list[i].sw, u->list[i].device,
			u->list[i].revision);
}

static const struct state_file list_file = {
	.name = "generalinfo",
	.form = "`GUID DEVICE REVISION`, by GUID",
	.read = read_list,
	.forget = forget_list,
	.write = write_list,
	.gather_us = 1000000,
	.gather_max_us = 60000000,
};

void unanswered_note(struct unanswered *u, const struct inv_node *node, bool silent)
{
	uint32_t place = place_of(u, node->guid);

	if (silent == unanswered_has(u, node))
		return;
	if (is_at(u, place, node->guid))
		take_out(u, place);
	if (silent)
		insert(u, place,
		       (struct entry){ node->guid, node->info.device, node->info.revision });
	state_store_changed(u->state, &list_file, u);
}

void unanswered_load(struct unanswered *u)
{
	state_store_read(u->state, &list_file, u);
}

struct unanswered *unanswered_new(struct state_store *state)
{
	struct unanswered *u = mem_alloc(1, sizeof(*u));

	u->state = state;
	return u;
}

void unanswered_free(struct unanswered *u)
{
	free(u->list);
	free(u);
}
