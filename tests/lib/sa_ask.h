/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sa_ask: asking the SA of a sa_world from cmocka tests. Include cmocka first. */
#ifndef FMD_TESTS_SA_ASK_H
#define FMD_TESTS_SA_ASK_H

#include "tests/lib/sa_world.h"

#define HOST(i) (WORLD_CA(i) + 1)

static inline int setup(void **state)
{
	struct world *w = world_new();

	world_publish(w);
	*state = w;
	return 0;
}

static inline int teardown(void **state)
{
	world_free(*state);
	return 0;
}

static inline uint16_t ask_status(struct world *w, const struct world_request *r)
{
	assert_int_equal(world_ask(w, r), 1);
	return world_status(w);
}

static inline unsigned ask_rows(struct world *w, const struct world_request *r)
{
	assert_int_equal(ask_status(w, r), WIRE_SA_OK);
	return world_rows(w);
}

static inline unsigned table_rows(struct world *w, uint16_t attr)
{
	return ask_rows(w, &(struct world_request){ .method = WIRE_GET_TABLE, .attr = attr });
}

/* Random numbers of a fixed sequence. */
static inline unsigned pick(unsigned below)
{
	static unsigned short seed[3] = { 20, 25, 11 };

	return (unsigned)nrand48(seed) % below;
}

#endif
