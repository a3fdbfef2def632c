/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Messages that are shorter than a MAD: those that RMPP put together are whole, all others are
 * malformed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "fm/mad/wire_sa.h"
#include "tests/fabric/mad_world.h"

#define RMPP_FLAGS_AT 26
#define ACTIVE	      1
#define DATA	      28

struct heard {
	unsigned count;
	size_t len;
	uint8_t mad[WIRE_MAD_SIZE];
};

static void heard_cb(void *arg, const struct io_addr *from, const struct wire_mad *mad,
		     const uint8_t *raw, size_t len)
{
	struct heard *heard = arg;

	heard->count++;
	heard->len = len;
	memcpy(heard->mad, raw, len < WIRE_MAD_SIZE ? len : WIRE_MAD_SIZE);
}

/* `len` bytes arrive, in a buffer that is not longer, so that a sanitizer sees whoever reads on. */
static void hear(struct mad_world *w, uint8_t mgmt_class, uint8_t flags, size_t len)
{
	const struct wire_mad m = { .mgmt_class = mgmt_class,
				    .class_version = 2,
				    .method = WIRE_GET_MULTI };
	const struct io_addr from = { .lid = 33 };
	uint8_t whole[WIRE_MAD_SIZE], *mad = test_malloc(len);

	memset(whole, 0x5a, sizeof(whole));
	wire_mad_encode(&m, whole);
	whole[RMPP_FLAGS_AT] = flags;
	memcpy(mad, whole, len);
	w->io->io.recv(w->io->io.arg, &from, mad, len);
	test_free(mad);
}

static void a_short_rmpp_request_is_heard_and_ends_in_zeros(void **state)
{
	const uint8_t zeros[WIRE_MAD_SIZE] = { 0 };
	size_t len = WIRE_SA_HEADER + DATA;
	struct heard sa = { 0 };
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ 0 });
	mad_handle(w.mad, WIRE_SA, heard_cb, &sa);
	hear(&w, WIRE_SA, ACTIVE, len);
	assert_int_equal(sa.count, 1);
	assert_int_equal(sa.len, WIRE_MAD_SIZE);
	assert_int_equal(sa.mad[len - 1], 0x5a);
	assert_memory_equal(sa.mad + len, zeros, WIRE_MAD_SIZE - len);
	assert_int_equal(mad_stats(w.mad).dropped_short, 0);
	mad_world_fini(&w);
}

static void any_other_short_mad_is_malformed(void **state)
{
	struct heard any = { 0 };
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ 0 });
	mad_handle(w.mad, WIRE_SA, heard_cb, &any);
	mad_handle(w.mad, WIRE_SMI_LID, heard_cb, &any);
	hear(&w, WIRE_SA, 0, WIRE_MAD_SIZE - 1);
	hear(&w, WIRE_SA, ACTIVE, WIRE_SA_HEADER - 1);
	hear(&w, WIRE_SMI_LID, ACTIVE, WIRE_MAD_SIZE - 1);
	assert_int_equal(any.count, 0);
	assert_int_equal(mad_stats(w.mad).dropped_short, 3);
	mad_world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_rmpp_request_is_heard_and_ends_in_zeros),
		cmocka_unit_test(any_other_short_mad_is_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
