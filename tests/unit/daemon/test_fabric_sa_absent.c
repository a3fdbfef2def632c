/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the SA keeps of a host that can not be reached for a while, on the fabric double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "tests/lib/fabric_world.h"

#define SUBSCRIBER     20
#define OTHER	       40 /* goes and comes, and is told of */
#define OUT_OF_SERVICE 65
#define QP1_QKEY       0x80010000u

struct subscriber {
	struct world w;
	bool acknowledges;
	unsigned answers, reports;
};

static guid_t host_guid(const struct world *w, uint32_t host)
{
	return w->design->nodes[w->design->nswitches + host].guid;
}

static void hears(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len);

static void say(struct subscriber *s, const uint8_t *mad)
{
	const struct io_addr to = { .lid = lid_of(&s->w, 0), .qp = 1, .qkey = QP1_QKEY };

	double_inject(s->w.hw, host_guid(&s->w, SUBSCRIBER), 1, &to, mad, WIRE_MAD_SIZE, hears, s);
}

static void hears(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct subscriber *s = arg;
	uint8_t ack[WIRE_MAD_SIZE];

	if (mad[3] != WIRE_REPORT) {
		s->answers++;
		return;
	}
	s->reports++;
	memcpy(ack, mad, sizeof(ack));
	ack[3] = WIRE_REPORT_RESP;
	if (s->acknowledges)
		say(s, ack);
}

static void subscriber_init(struct subscriber *s)
{
	const struct wire_inform_info info = { .lid_begin = 0xffff,
					       .generic = true,
					       .subscribe = 1,
					       .type = 0xffff,
					       .trap = OUT_OF_SERVICE,
					       .producer = 0xffffff };
	const struct wire_mad header = { .mgmt_class = WIRE_SA,
					 .class_version = 2,
					 .method = WIRE_SET,
					 .tid = 1,
					 .attr_id = WIRE_SA_INFORM_INFO };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	world_init(&s->w, small_tree());
	s->acknowledges = true;
	s->answers = s->reports = 0;
	wire_mad_encode(&header, mad);
	wire_inform_info_encode(&info, mad + WIRE_SA_HEADER);
	say(s, mad);
	run_for(&s->w, SECOND_US / 100);
	assert_int_equal(s->answers, 1);
	assert_int_equal(status_number(&s->w, "sa", "subscriptions"), 1);
}

static void isolate_leaf_of(struct world *w, unsigned host, bool on)
{
	const struct topo *t = w->design;
	uint32_t leaf = topo_peer(t, topo_port(t, t->nswitches + host, 1))->node;

	for (unsigned num = 1; num <= t->nodes[leaf].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, leaf, num));

		if (peer && peer->node < t->nswitches)
			(on ? double_cut : double_join)(w->hw, t->nodes[leaf].guid, num);
	}
}

static void bounce_other(struct world *w, unsigned times)
{
	while (times--) {
		double_cut(w->hw, host_guid(w, OTHER), 1);
		run_for(w, 2 * SECOND_US);
		double_join(w->hw, host_guid(w, OTHER), 1);
		run_for(w, 2 * SECOND_US);
	}
}

static void a_subscriber_out_of_reach_stays_one(void **state)
{
	struct subscriber s;
	unsigned before;

	subscriber_init(&s);
	isolate_leaf_of(&s.w, SUBSCRIBER, true);
	bounce_other(&s.w, 8);
	assert_int_equal(status_number(&s.w, "sa", "subscriptions"), 1);
	isolate_leaf_of(&s.w, SUBSCRIBER, false);
	run_for(&s.w, 15 * SECOND_US);
	before = s.reports;
	bounce_other(&s.w, 1);
	assert_int_equal(s.reports, before + 1);
	world_fini(&s.w);
}

/* Its process has died, or never answers. */
static void a_subscriber_in_reach_that_never_answers_is_none(void **state)
{
	struct subscriber s;

	subscriber_init(&s);
	s.acknowledges = false;
	bounce_other(&s.w, 8);
	assert_int_equal(status_number(&s.w, "sa", "subscriptions"), 0);
	world_fini(&s.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_subscriber_out_of_reach_stays_one),
		cmocka_unit_test(a_subscriber_in_reach_that_never_answers_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
