/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Thousands of subscriptions: what walks them all gives others their turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/state_rows.h"
#include "fm/sa/sa_impl.h"
#include "fm/sa/sa_state.h"
#include "tests/lib/sa_ask.h"

#define MANY_PORTS 500
#define EACH	   40

/* Of ports that are not in the fabric any more, as after a restart. */
static void subscribe_many(struct world *w)
{
	size_t len;
	char *text;
	FILE *out = open_memstream(&text, &len);

	for (unsigned port = 1; port <= MANY_PORTS; port++)
		for (unsigned trap = 0; trap < EACH; trap++)
			fprintf(out, "0x%x 1 %u 65535 1 16777215 65535 0 0x0 0x0 0 0 0\n", port,
				trap);
	fclose(out);
	assert_int_equal(rows_give(text, sa_subscriptions_line, w->sa), 0);
	free(text);
}

/* Lets a request for all of them arrive; its answer is still to come. */
static void ask_for_all(struct world *w)
{
	const struct wire_mad header = { .mgmt_class = WIRE_SA,
					 .class_version = 2,
					 .method = WIRE_GET_TABLE,
					 .tid = 1,
					 .attr_id = WIRE_SA_INFORM_INFO_RECORD };
	const struct io_addr from = { .lid = world_lid(w, HOST(1)), .qp = 1 };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };
	unsigned before = w->nsent;

	wire_mad_encode(&header, mad);
	w->io.recv(w->io.arg, &from, mad, sizeof(mad));
	assert_int_equal(w->nsent, before);
}

static void thousands_of_subscriptions_are_walked_in_slices(void **state)
{
	struct world *w = *state;

	subscribe_many(w);
	ask_for_all(w);
	loop_run(w->loop);
	assert_int_equal(world_rows(w), MANY_PORTS * EACH);
	for (unsigned i = 0; i < MANY_PORTS; i++)
		assert_int_equal(world_row(w, i * EACH)[15], (i + 1) & 0xff); /* each port once */
}

static void subscriptions_that_end_during_a_walk_end_it(void **state)
{
	struct world *w = *state;

	subscribe_many(w);
	ask_for_all(w);
	sa_subscriptions_forget(w->sa);
	loop_run(w->loop);
	assert_int_equal(world_status(w), WIRE_SA_OK);
	assert_in_range(world_rows(w), SA_SLICE * 9 / 10, SA_SLICE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sa_setup, sa_teardown)
	const struct CMUnitTest tests[] = {
		TEST(thousands_of_subscriptions_are_walked_in_slices),
		TEST(subscriptions_that_end_during_a_walk_end_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
