/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "tests/lib/sa_ask.h"

int sa_setup(void **state)
{
	struct world *w = world_new();

	world_publish(w);
	*state = w;
	return 0;
}

int sa_teardown(void **state)
{
	world_free(*state);
	return 0;
}

uint16_t ask_status(struct world *w, const struct world_request *r)
{
	assert_int_equal(world_ask(w, r), 1);
	return world_status(w);
}

unsigned ask_rows(struct world *w, const struct world_request *r)
{
	assert_int_equal(ask_status(w, r), WIRE_SA_OK);
	return world_rows(w);
}

unsigned table_rows(struct world *w, uint16_t attr)
{
	return ask_rows(w, &(struct world_request){ .method = WIRE_GET_TABLE, .attr = attr });
}

unsigned pick_below(unsigned below)
{
	static unsigned short seed[3] = { 20, 25, 11 };

	return (unsigned)nrand48(seed) % below;
}
