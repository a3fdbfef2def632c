/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Ten thousand traps a second whose sender, or the port that they name, is another each time: what
 * they cost, on the fabric double. The SA answers all the while, and all are counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "tests/lib/trap_world.h"

#define STORM_S	  10
#define APART_US  100
#define TRAPS	  (STORM_S * SECOND_US / APART_US)
#define ASKED_US  100000 /* between two questions to the SA */
#define FORGER	  30	 /* hosts */
#define ASKER	  31
#define LIDS_MOST 0xbfff
#define SWEEPS	  20 /* of all nodes, in a storm.. */
#define SMPS	  4  /* ..of a node each time */
#define BURST	  11 /* of one sender: one more than are no event */
#define EVENTS	  32 /* in a minute, of all kinds */

struct storm {
	struct world w;
	unsigned sent, asked, answered;
	uint64_t smps, heavy; /* before */
	double events, errors, forged, received;
};

static const struct topo_node *host_node(const struct world *w, uint32_t host)
{
	return &w->design->nodes[w->design->nswitches + host];
}

static double events_of(const struct world *w)
{
	return status_number(w, "events_by_level", "error") +
	       status_number(w, "events_by_level", "warning") +
	       status_number(w, "events_by_level", "notice");
}

static void storm_init(struct storm *s)
{
	*s = (struct storm){ 0 };
	world_init(&s->w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	run_for(&s->w, 5 * SECOND_US);
	s->smps = (uint64_t)status_number(&s->w, NULL, "smps_sent");
	s->heavy = double_sent(s->w.hw, WIRE_GET, WIRE_NODE_INFO);
	s->events = events_of(&s->w);
	s->errors = status_number(&s->w, "traps", "errors");
	s->forged = status_number(&s->w, "traps", "forged");
	s->received = status_number(&s->w, "traps", "received");
}

/* Who has a port can have any sender's LID in what it sends. */
static void receive_trap(struct storm *s, uint16_t from_lid, uint16_t trap, uint16_t lid,
			 uint8_t port)
{
	const struct wire_notice notice = { .generic = true,
					    .type = 1,
					    .producer = 2,
					    .trap = trap,
					    .issuer_lid = lid,
					    .lid = lid,
					    .port = port };
	const struct wire_mad header = { .mgmt_class = WIRE_SMI_LID,
					 .class_version = 1,
					 .method = WIRE_TRAP,
					 .attr_id = WIRE_NOTICE,
					 .tid = ++s->sent };
	const struct io_addr from = { .lid = from_lid };
	struct io *io = double_io(s->w.hw);
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mad_encode(&header, mad);
	wire_notice_encode(&notice, wire_smp_data(mad));
	io->recv(io->arg, &from, mad, sizeof(mad));
}

static void heard(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct storm *s = arg;

	s->answered += !mad[4] && !mad[5];
}

static void ask(struct storm *s)
{
	const struct wire_mad header = { .mgmt_class = WIRE_SA,
					 .class_version = 2,
					 .method = WIRE_GET_TABLE,
					 .tid = ++s->asked,
					 .attr_id = WIRE_SA_NODE };
	const struct io_addr to = { .lid = lid_of(&s->w, 0), .qp = 1, .qkey = 0x80010000u };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mad_encode(&header, mad);
	double_inject(s->w.hw, host_node(&s->w, ASKER)->guid, 1, &to, mad, sizeof(mad), heard, s);
}

/* The LIDs of traps, by their number. */
typedef uint16_t lid_fn(const struct storm *s, unsigned i);

static uint16_t any_lid(const struct storm *s, unsigned i)
{
	return (uint16_t)(1 + i / BURST % LIDS_MOST);
}

static uint16_t lid_of_nobody(const struct storm *s, unsigned i)
{
	return (uint16_t)(20000 + i / BURST % 20000);
}

static uint16_t lid_of_forger(const struct storm *s, unsigned i)
{
	return lid_of(&s->w, FORGER);
}

static uint16_t lid_of_a_switch(const struct storm *s, unsigned i)
{
	const struct topo *t = s->w.design;

	return double_port_info(s->w.hw, t->nodes[i % t->nswitches].guid, 0)->lid;
}

static uint16_t lid_of_a_host(const struct storm *s, unsigned i)
{
	return lid_of(&s->w, i / BURST % s->w.design->ncas);
}

static void blow(struct storm *s, uint16_t trap, lid_fn *from, lid_fn *about)
{
	for (unsigned i = 0; i < TRAPS; i++) {
		receive_trap(s, from(s, i), trap, about(s, i), (uint8_t)(i / BURST));
		if (i % (ASKED_US / APART_US) == 0) {
			assert_int_equal(s->answered, s->asked);
			ask(s);
		}
		run_for(&s->w, APART_US);
	}
	run_for(&s->w, SECOND_US);
	assert_int_equal(s->answered, s->asked);
	assert_int_equal(s->asked, STORM_S * SECOND_US / ASKED_US);
	assert_int_equal(status_number(&s->w, "traps", "received") - s->received, TRAPS);
	assert_true(events_of(&s->w) - s->events <= EVENTS);
}

static unsigned node_infos(const struct storm *s)
{
	return (unsigned)(double_sent(s->w.hw, WIRE_GET, WIRE_NODE_INFO) - s->heavy);
}

/* With the light sweeps that are made anyhow. */
static unsigned smps(const struct storm *s)
{
	return (unsigned)(status_number(&s->w, NULL, "smps_sent") - (double)s->smps);
}

static void storm_fini(struct storm *s)
{
	assert_true(is_up(&s->w));
	assert_int_equal(dead_pairs(&s->w), 0);
	world_fini(&s->w);
}

static const uint16_t changes[] = { 128, 144 };
static const uint16_t errors[] = { 129, 256 };
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void changes_from_any_sender_cost_a_bounded_number_of_sweeps(void **state)
{
	static lid_fn *const senders[] = { any_lid, lid_of_nobody, lid_of_a_switch, lid_of_a_host };

	for (size_t i = 0; i < COUNT(changes); i++)
		for (size_t n = 0; n < COUNT(senders); n++) {
			struct storm s;

			storm_init(&s);
			blow(&s, changes[i], senders[n], senders[n]);
			assert_true(node_infos(&s) <= SWEEPS * s.w.design->nnodes);
			assert_true(smps(&s) <= SWEEPS * SMPS * s.w.design->nnodes);
			storm_fini(&s);
		}
}

static void changes_in_the_name_of_others_cost_nothing(void **state)
{
	static lid_fn *const names[] = { any_lid, lid_of_a_switch, lid_of_a_host };

	for (size_t i = 0; i < COUNT(changes); i++)
		for (size_t n = 0; n < COUNT(names); n++) {
			struct storm s;

			storm_init(&s);
			blow(&s, changes[i], lid_of_forger, names[n]);
			assert_true(smps(&s) <= s.w.design->nnodes);
			assert_true(status_number(&s.w, "traps", "forged") - s.forged >=
				    TRAPS - TRAPS / 32);
			storm_fini(&s);
		}
}

static void errors_from_any_sender_are_counted_and_few_are_events(void **state)
{
	static lid_fn *const senders[] = { any_lid, lid_of_nobody, lid_of_a_host, lid_of_forger };

	for (size_t i = 0; i < COUNT(errors); i++)
		for (size_t n = 0; n < COUNT(senders); n++) {
			struct storm s;

			storm_init(&s);
			blow(&s, errors[i], senders[n], errors[i] == 256 ? any_lid : senders[n]);
			assert_true(smps(&s) <= s.w.design->nnodes);
			assert_int_equal(status_number(&s.w, "traps", "errors") - s.errors, TRAPS);
			storm_fini(&s);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_from_any_sender_cost_a_bounded_number_of_sweeps),
		cmocka_unit_test(changes_in_the_name_of_others_cost_nothing),
		cmocka_unit_test(errors_from_any_sender_are_counted_and_few_are_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
