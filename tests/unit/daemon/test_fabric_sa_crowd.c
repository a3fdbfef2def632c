/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Thousands of hosts that ask the SA at once, on the fabric double: all are answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "tests/lib/fabric_world.h"

#define QP1_QKEY      0x80010000u
#define CAPMASK_AT    (8 + 8 + 2 + 2) /* in a PortInfoRecord's PortInfo, behind 4 bytes of RID */
#define IS_SM	      2
#define CAPMASK_COMP  7
#define CAPMASK_MATCH (1u << 31)

struct asker {
	struct world *w;
	uint32_t host; /* not the first, where fmd is */
	unsigned answers, refused;
	size_t rows;
};

static void heard(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct asker *a = arg;

	a->answers++;
	a->refused += mad[4] || mad[5];
	a->rows = len;
}

/* The ports that have a subnet manager: what saquery -s and srp_daemon ask. */
static void ask_who_is_sm(struct asker *a, uint64_t tid)
{
	const struct wire_mad header = { .mgmt_class = WIRE_SA,
					 .class_version = 2,
					 .method = WIRE_GET_TABLE,
					 .tid = tid,
					 .attr_id = WIRE_SA_PORT_INFO,
					 .attr_mod = CAPMASK_MATCH };
	const struct io_addr to = { .lid = lid_of(a->w, 0), .qp = 1, .qkey = QP1_QKEY };
	const struct topo *t = a->w->design;
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mad_encode(&header, mad);
	mad[55] = 1u << CAPMASK_COMP;
	mad[WIRE_SA_HEADER + 4 + CAPMASK_AT + 3] = IS_SM;
	double_inject(a->w->hw, t->nodes[t->nswitches + a->host].guid, 1, &to, mad, sizeof(mad),
		      heard, a);
}

static void assert_all_are_answered(unsigned units, unsigned hosts)
{
	struct asker *askers = mem_alloc(hosts, sizeof(*askers));
	struct world w;

	world_init(&w, pod(units));
	assert_true(w.design->ncas > hosts);
	for (unsigned i = 0; i < hosts; i++) {
		askers[i] = (struct asker){ .w = &w, .host = 1 + i };
		ask_who_is_sm(&askers[i], 1);
	}
	run_for(&w, 10 * SECOND_US);
	for (unsigned i = 0; i < hosts; i++) {
		assert_int_equal(askers[i].answers, 1);
		assert_int_equal(askers[i].refused, 0);
		assert_int_equal(askers[i].rows, askers[0].rows);
	}
	assert_int_equal(status_number(&w, "sa", "busy"), 0);
	assert_int_equal(status_number(&w, "sa", "waiting"), 0);
	free(askers);
	world_fini(&w);
}

static void hundreds_that_ask_for_a_table_at_once_are_answered(void **state)
{
	assert_all_are_answered(1, 200);
}

static void thousands_that_ask_for_a_table_at_once_are_answered(void **state)
{
	assert_all_are_answered(17, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hundreds_that_ask_for_a_table_at_once_are_answered),
		cmocka_unit_test(thousands_that_ask_for_a_table_at_once_are_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
