/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The key of trusted requests to the SA: apart from the subnet managers' own, and made where a site
 * protects its fabric.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <inttypes.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "tests/lib/fabric_world.h"

#define HOST 3

/* Statuses of PortInfo and P_Key tables asked with a key. */
struct asked {
	unsigned answers;
	uint16_t status;
};

static void hear_cb(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct asked *asked = arg;

	asked->answers++;
	asked->status = (uint16_t)(mad[4] << 8 | mad[5]);
}

/* A P_Key table is for trusted requests alone. */
static struct asked ask_pkeys(struct world *w, uint64_t key)
{
	const struct io_addr to = { .lid = lid_of(w, 0), .qp = 1 };
	const struct wire_mad header = { .mgmt_class = WIRE_SA,
					 .class_version = 2,
					 .method = WIRE_GET_TABLE,
					 .tid = 1,
					 .key = key,
					 .attr_id = WIRE_SA_PKEY };
	guid_t host = w->design->nodes[w->design->nswitches + HOST].guid;
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };
	struct asked asked = { 0 };

	wire_mad_encode(&header, mad);
	double_inject(w->hw, host, 1, &to, mad, sizeof(mad), hear_cb, &asked);
	run_for(w, SECOND_US);
	return asked;
}

static bool is_trusted(struct world *w, uint64_t key)
{
	struct asked asked = ask_pkeys(w, key);

	return asked.answers && !asked.status;
}

/* 0 = there is none. */
static uint64_t kept_key(const struct world *w)
{
	char *rows = state_lines(w, "sa_key");
	uint64_t key = 0;

	sscanf(rows, "0x%" SCNx64, &key);
	free(rows);
	return key;
}

static void without_other_keys_it_is_one_as_opensms(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	assert_true(is_trusted(&w, 1));
	assert_false(is_trusted(&w, 0));
	assert_int_equal(kept_key(&w), 0);
	world_fini(&w);
}

static void a_site_with_keys_of_its_own_has_one_made_and_kept(void **state)
{
	struct world w;
	uint64_t key;

	world_init_stopped(&w, small_tree());
	w.conf.sm.key = 0x1122334455667788;
	start_fabric(&w);
	run_for(&w, 5 * SECOND_US);
	key = kept_key(&w);
	assert_true(key > 1 && key != w.conf.sm.key);
	assert_int_equal(ask_pkeys(&w, 1).answers, 0); /* a wrong key is answered nothing */
	assert_int_equal(ask_pkeys(&w, w.conf.sm.key).answers, 0);
	assert_true(is_trusted(&w, key));

	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, 5 * SECOND_US);
	assert_int_equal(kept_key(&w), key);
	assert_true(is_trusted(&w, key));
	world_fini(&w);
}

static void a_configured_one_is_taken_as_it_is(void **state)
{
	struct world w;

	world_init_stopped(&w, small_tree());
	w.conf.sm.key = 0x1122334455667788;
	w.conf.sa.key = 0x99;
	start_fabric(&w);
	run_for(&w, 5 * SECOND_US);
	assert_true(is_trusted(&w, 0x99));
	assert_int_equal(kept_key(&w), 0);
	w.conf.sa.key = 0x9a;
	fabric_configure(w.fabric, &w.conf);
	assert_true(is_trusted(&w, 0x9a));
	assert_int_equal(ask_pkeys(&w, 0x99).answers, 0);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_other_keys_it_is_one_as_opensms),
		cmocka_unit_test(a_site_with_keys_of_its_own_has_one_made_and_kept),
		cmocka_unit_test(a_configured_one_is_taken_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
