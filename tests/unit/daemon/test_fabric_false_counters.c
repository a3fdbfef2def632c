/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tier: long. Hundreds of fabrics. */
/*
 * Agents that answer Gets of counters with something else now and then: whatever a single answer
 * says, no link is taken out by it, and who lies is named. What two readings say is believed, so
 * nobody lies about the same twice in a row here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "fm/perf/module.h"
#include "tests/fabric/double_falsify.h"
#include "tests/fabric/double_own.h"
#include "tests/fabric/fault.h"
#include "tests/lib/fabric_world.h"

#ifdef __SANITIZE_ADDRESS__
#define SEEDS 10 /* it takes twenty times as long */
#else
#define SEEDS 300
#endif
#define PASS_US	      (10 * SECOND_US)
#define PASSES	      12
#define PER_MILLE     30
#define PERF_CLASS    0x04
#define PORT_AT	      65 /* PortSelect */
#define SYMBOLS_ADDED 3000

struct liar {
	struct world w;
	io_recv_fn *recv;
	void *arg;
	uint64_t seed;
	unsigned per_mille, falsified;
	bool lied[1 << 16]; /* the last time, by who and about what */
};

static void liar_recv(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct liar *l = arg;
	uint8_t copy[4096];
	bool *lied = &l->lied[(from->lid * 2654435761u ^ mad[PORT_AT] * 40503u ^ mad[17] * 97u) %
			      (1 << 16)];
	bool was = *lied;

	*lied = false;
	if (!was && mad[1] == PERF_CLASS && mad[3] & 0x80 && len <= sizeof(copy) &&
	    damage_random(&l->seed) % 1000 < l->per_mille) {
		memcpy(copy, mad, len);
		*lied = true;
		double_falsify(l->w.design, &l->seed,
			       copy); /* counters lie where an SMP's data do */
		l->falsified++;
		mad = copy;
	}
	l->recv(l->arg, from, mad, len);
}

static void liar_init(struct liar *l, uint64_t seed, const struct wire_perf_caps *caps)
{
	struct io *io;

	memset(l, 0, sizeof(*l));
	l->seed = seed;
	world_init(&l->w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	l->w.conf.perf.interval_ms = PASS_US / 1000;
	l->w.conf.perf.action = l->w.conf.perf.fec_action = CONF_QUARANTINE;
	fabric_configure(l->w.fabric, &l->w.conf);
	for (uint32_t n = 0; caps && n < l->w.design->nnodes; n++)
		double_set_perf_caps(l->w.hw, l->w.design->nodes[n].guid, caps);
	/* Links have a past. */
	for (uint32_t p = 0; p < l->w.design->nports; p++) {
		const struct topo_port *port = &l->w.design->ports[p];

		if (port->num && port->peer != TOPO_NONE)
			double_set_counter(l->w.hw, l->w.design->nodes[port->node].guid, port->num,
					   PERF_SYMBOL, damage_random(&l->seed) % 40000);
	}
	io = double_io(l->w.hw);
	l->recv = io->recv;
	l->arg = io->arg;
	io->recv = liar_recv;
	io->arg = l;
}

static unsigned taken_out(struct liar *l)
{
	return (unsigned)count_logged(&l->w, "quarantined", "") +
	       (unsigned)count_logged(&l->w, "link-sick", "");
}

static bool is_believed(uint64_t seed)
{
	static const struct wire_perf_caps wide = { .ext = true, .errors = true, .fec = true };
	static struct liar l;
	unsigned out;

	liar_init(&l, seed, seed % 2 ? &wide : NULL);
	l.per_mille = PER_MILLE;
	run_for(&l.w, PASSES * PASS_US);
	out = taken_out(&l);
	if (out)
		print_error("seed %llu: %u of %u false answers took something out\n",
			    (unsigned long long)seed, out, l.falsified);
	assert_true(l.falsified > 0);
	world_fini(&l.w);
	return out > 0;
}

static void no_single_false_reading_takes_a_link_out(void **state)
{
	unsigned believed = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		believed += is_believed(seed);
	assert_int_equal(believed, 0);
}

static void who_answers_falsely_again_and_again_is_named(void **state)
{
	static struct liar l;

	liar_init(&l, 1, NULL);
	run_for(&l.w, 3 * PASS_US);
	assert_int_equal(status_number(&l.w, "health", "readings_thrown_away"), 0);
	l.per_mille = 200;
	run_for(&l.w, PASSES * PASS_US);
	assert_true(status_number(&l.w, "health", "readings_thrown_away") > 0);
	assert_true(count_logged(&l.w, "alert", "counters can not be true") > 0);
	world_fini(&l.w);
}

static void what_is_so_is_found_among_false_readings(void **state)
{
	static struct liar l;
	const struct topo_node *leaf;
	uint32_t peer;
	unsigned num;

	liar_init(&l, 7, NULL);
	leaf = &l.w.design->nodes[0];
	for (num = 1; num <= leaf->nports; num++) {
		peer = l.w.design->ports[leaf->port0 + num].peer;
		if (peer != TOPO_NONE && l.w.design->ports[peer].node < l.w.design->nswitches)
			break;
	}
	l.per_mille = PER_MILLE;
	for (unsigned i = 1; i <= 6; i++) {
		double_set_counter(l.w.hw, leaf->guid, num, PERF_SYMBOL, i * SYMBOLS_ADDED);
		run_for(&l.w, PASS_US);
	}
	assert_true(count_logged(&l.w, "link-sick", "") >= 1);
	world_fini(&l.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_single_false_reading_takes_a_link_out),
		cmocka_unit_test(who_answers_falsely_again_and_again_is_named),
		cmocka_unit_test(what_is_so_is_found_among_false_readings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
