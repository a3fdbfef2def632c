/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Reports: who is notified of what, in which order, how often, and for how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/state_rows.h"
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa_impl.h"
#include "fm/sa/sa_state.h"
#include "tests/lib/sa_ask.h"
#include "topology/snapshot/topo_builder.h"

#define NOTICE_AT WIRE_SA_HEADER
#define HEARD_MAX 4096
#define ACK_US	  50
#define ALL	  0xffff

/* What subscribers got, and how they take it. */
struct heard {
	struct world *w;
	unsigned count;
	struct {
		uint16_t lid, trap;
		uint32_t qp;
		struct wire_notice notice;
		guid_t issuer;
		uint64_t at;
	} report[HEARD_MAX];
	unsigned waiting, most; /* reports not acknowledged at a time */
	uint16_t silent;	/* LID that acknowledges nothing */
	struct loop_timer *ack;
	unsigned nacks;
	uint8_t acks[HEARD_MAX][WIRE_MAD_SIZE];
	uint16_t ack_lids[HEARD_MAX]; /* whose they are */
	unsigned changed;
	char logged[256];
};

static void ack_cb(void *arg)
{
	struct heard *h = arg;
	struct io_addr from = { .qp = 1 };
	unsigned n = h->nacks;

	h->nacks = 0;
	h->waiting -= n;
	for (unsigned i = 0; i < n; i++) {
		uint8_t mad[WIRE_MAD_SIZE];

		memcpy(mad, h->acks[i], sizeof(mad));
		mad[3] = WIRE_REPORT_RESP;
		from.lid = h->ack_lids[i];
		h->w->io.recv(h->w->io.arg, &from, mad, sizeof(mad));
	}
}

static void note_report(struct heard *h, const struct io_addr *to, const uint8_t *mad)
{
	unsigned i = h->count++ % HEARD_MAX;

	wire_notice_decode(mad + NOTICE_AT, &h->report[i].notice);
	h->report[i].lid = to->lid;
	h->report[i].qp = to->qp;
	h->report[i].trap = h->report[i].notice.trap;
	h->report[i].at = loop_now_us(h->w->loop);
	h->report[i].issuer = 0;
	for (unsigned b = 0; b < 8; b++)
		h->report[i].issuer = h->report[i].issuer << 8 | mad[NOTICE_AT + 72 + b];
}

static void hook(struct world *w, const struct io_addr *to, const uint8_t *mad)
{
	struct heard *h = w->hook_arg;

	if (mad[3] != WIRE_REPORT)
		return;
	note_report(h, to, mad);
	if (to->lid == h->silent)
		return;
	h->ack_lids[h->nacks] = to->lid;
	memcpy(h->acks[h->nacks++], mad, WIRE_MAD_SIZE);
	if (++h->waiting > h->most)
		h->most = h->waiting;
	loop_timer_set(h->ack, ACK_US);
}

static void record_cb(void *arg, enum sa_kept kept, bool gone, const char *line)
{
	((struct heard *)arg)->changed++;
}

static void reported_cb(void *arg, const struct event_subject *subject, const char *text)
{
	struct heard *h = arg;

	snprintf(h->logged, sizeof(h->logged), "%s", text);
}

static struct heard *listen(struct world *w)
{
	struct heard *h = mem_alloc(1, sizeof(*h));

	h->w = w;
	h->ack = loop_timer_new(w->loop, ack_cb, h);
	w->hook = hook;
	w->hook_arg = h;
	sa_listen(w->sa,
		  &(struct sa_listener){ .record = record_cb, .reported = reported_cb, .arg = h });
	return h;
}

static void unlisten(struct heard *h)
{
	h->w->hook = NULL;
	sa_listen(h->w->sa, &(struct sa_listener){ 0 });
	loop_timer_free(h->ack);
	free(h);
}

static const struct wire_inform_info everything = { .lid_begin = ALL,
						    .generic = true,
						    .subscribe = 1,
						    .type = ALL,
						    .trap = ALL,
						    .producer = 0xffffff };

static uint16_t subscribe_from(struct world *w, guid_t port, const struct wire_inform_info *info,
			       uint64_t sm_key)
{
	uint8_t data[36];
	struct world_request r = { .method = WIRE_SET,
				   .attr = WIRE_SA_INFORM_INFO,
				   .sm_key = sm_key,
				   .from = world_lid(w, port),
				   .qp = 7,
				   .data = data,
				   .len = sizeof(data) };

	wire_inform_info_encode(info, data);
	return ask_status(w, &r);
}

static void subscribe_to(struct world *w, guid_t port, uint16_t trap)
{
	struct wire_inform_info info = everything;

	info.trap = trap;
	assert_int_equal(subscribe_from(w, port, &info, 0), WIRE_SA_OK);
}

static struct inv_port *port_of(struct world *w, unsigned host)
{
	return &inventory_find(&w->inv, WORLD_CA(host))->ports[1];
}

/* A look found the host's link so; the view follows. */
static void republish(struct world *w, unsigned host, uint8_t state, bool up)
{
	struct topo *before = w->topo;

	port_of(w, host)->state = state;
	port_of(w, host)->link_up = up;
	port_of(w, host)->peer->ports[port_of(w, host)->peer_port].link_up = up;
	w->topo = topo_freeze(inventory_snapshot_builder(&w->inv));
	w->view.topo = w->topo;
	sa_publish(w->sa, &w->view);
	topo_unref(before);
	loop_run(w->loop);
}

/* ---- Ports ----------------------------------------------------------------------------------- */

static void ports_that_go_and_come_are_reported(void **state)
{
	struct world *w = *state;
	struct heard *h = listen(w);

	subscribe_to(w, HOST(1), 64);
	subscribe_to(w, HOST(1), 65);
	subscribe_to(w, HOST(2), 65);
	republish(w, 3, TOPO_DOWN, false);
	assert_int_equal(h->count, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(h->report[i].trap, 65);
		assert_int_equal(h->report[i].notice.guid, HOST(3));
		assert_int_equal(h->report[i].notice.type, 3);
		assert_int_equal(h->report[i].notice.producer, 4);
		assert_int_equal(h->report[i].notice.issuer_lid, w->view.sm_lid);
		assert_int_equal(h->report[i].issuer, HOST(0));
		assert_int_equal(h->report[i].qp, 7);
	}
	assert_int_equal(h->report[0].lid + h->report[1].lid,
			 world_lid(w, HOST(1)) + world_lid(w, HOST(2)));
	republish(w, 3, TOPO_INIT, true); /* not usable yet */
	assert_int_equal(h->count, 2);
	republish(w, 3, TOPO_ACTIVE, true);
	assert_int_equal(h->count, 3);
	assert_int_equal(h->report[2].trap, 64);
	assert_int_equal(h->report[2].lid, world_lid(w, HOST(1)));
	unlisten(h);
}

static void host_that_rebooted_unseen_went_and_came(void **state)
{
	struct world *w = *state;
	struct heard *h = listen(w);

	subscribe_to(w, HOST(1), ALL);
	republish(w, 3, TOPO_INIT, true);
	republish(w, 3, TOPO_ACTIVE, true);
	assert_int_equal(h->count, 2);
	assert_int_equal(h->report[0].trap, 65);
	assert_int_equal(h->report[1].trap, 64);
	unlisten(h);
}

static void the_first_view_makes_no_reports(void **state)
{
	struct world *w = world_new();
	struct heard *h;

	assert_non_null(sa_subscribe(w->sa, HOST(1), &(struct subscription){ .info = everything }));
	h = listen(w);
	world_publish(w);
	loop_run(w->loop);
	assert_int_equal(h->count, 0);
	sa_publish(w->sa, &w->view);
	loop_run(w->loop);
	assert_int_equal(h->count, 0);
	unlisten(h);
	world_free(w);
}

/* ---- Traps and groups ------------------------------------------------------------------------ */

static void notify(struct world *w, uint16_t trap, guid_t from)
{
	struct wire_notice notice = {
		.generic = true, .type = 1, .producer = TOPO_SWITCH, .trap = trap
	};
	uint32_t sw = topo_find(w->topo, from);
	uint32_t port = sw == TOPO_NONE ? world_port_of(w, from) : w->topo->nodes[sw].port0;

	sa_notice(w->sa, &notice, w->lids->lid_of_port[port]);
	loop_run(w->loop);
}

static void traps_are_handed_on_by_number_type_producer_and_source(void **state)
{
	struct world *w = *state;
	struct wire_inform_info by_lid = everything, by_gid = everything, by_kind = everything;
	struct heard *h = listen(w);
	guid_t leaf = WORLD_SW(0);

	by_lid.lid_begin = by_lid.lid_end = world_lid(w, HOST(3));
	by_gid.gid = (struct wire_gid){ WORLD_PREFIX, HOST(3) };
	by_kind.type = 1;
	by_kind.producer = TOPO_SWITCH;
	subscribe_to(w, HOST(1), 128);
	subscribe_from(w, HOST(2), &by_lid, 0);
	subscribe_from(w, HOST(3), &by_gid, 0);
	subscribe_from(w, HOST(4), &by_kind, 0);
	notify(w, 128, leaf);
	assert_int_equal(h->count, 2); /* by number, by kind */
	assert_int_equal(h->report[0].issuer, leaf);
	notify(w, 144, HOST(3));
	assert_int_equal(h->count, 5); /* by LID, by GID, by kind */
	by_kind.type = 2;
	by_kind.generic = false;
	subscribe_from(w, HOST(5), &by_kind, 0);
	notify(w, 128, leaf);
	assert_int_equal(h->count, 7);
	unlisten(h);
}

static void violated_keys_are_reported_to_trusted_subscribers_alone(void **state)
{
	struct world *w = *state;
	struct heard *h = listen(w);

	subscribe_to(w, HOST(1), ALL);
	subscribe_from(w, HOST(2), &everything, WORLD_SM_KEY);
	notify(w, 257, HOST(3));
	assert_int_equal(h->count, 1);
	assert_int_equal(h->report[0].lid, world_lid(w, HOST(2)));
	unlisten(h);
}

static void groups_made_and_gone_are_reported(void **state)
{
	const struct sa_group group = { .attr = { .mgid = { 0xff12401bffff0000ull, 0xffffffff },
						  .pkey = 0xffff } };
	struct world *w = *state;
	struct heard *h = listen(w);

	subscribe_to(w, HOST(1), 66);
	sa_group_kept(w->sa, &group, true);
	sa_group_kept(w->sa, &group, false);
	loop_run(w->loop);
	assert_int_equal(h->count, 1);
	assert_int_equal(h->report[0].trap, 66);
	assert_int_equal(h->report[0].notice.gid[0], 0xff);
	assert_int_equal(h->report[0].notice.guid, 0xffffffff);
	unlisten(h);
}

/* ---- Partitions ------------------------------------------------------------------------------ */

/*
 * Hosts 0 to 2 are in 0x8001, the others and all switches in 0x8002; nobody is in the default
 * partition.
 */
struct partitions {
	struct pkey_map map;
	uint32_t first[256];
	uint16_t keys[256];
};

static void partitions_make(const struct world *w, struct partitions *p)
{
	for (uint32_t i = 0; i < w->topo->nports; i++) {
		guid_t guid = w->topo->ports[i].guid;

		p->first[i] = i;
		p->keys[i] = guid >= HOST(0) && guid <= HOST(2) ? 0x8001 : 0x8002;
	}
	p->first[w->topo->nports] = w->topo->nports;
	p->map = (struct pkey_map){ .nports = w->topo->nports, .first = p->first, .keys = p->keys };
}

static void hosts_get_reports_of_their_own_partition_alone(void **state)
{
	const struct sa_group group = { .attr = { .mgid = { 0xff12401b80020000ull, 0xffffffff },
						  .pkey = 0x8002 } };
	struct world *w = *state;
	struct partitions p;
	struct heard *h = listen(w);

	partitions_make(w, &p);
	w->view.pkeys = &p.map;
	sa_publish(w->sa, &w->view);
	subscribe_to(w, HOST(1), ALL);
	subscribe_to(w, HOST(4), ALL);
	assert_int_equal(ask_rows(w, &(struct world_request){ .method = WIRE_GET_TABLE,
							      .attr = WIRE_SA_INFORM_INFO_RECORD,
							      .from = world_lid(w, HOST(2)) }),
			 1); /* its neighbour's, not the other's */
	republish(w, 3, TOPO_DOWN, false);
	sa_group_kept(w->sa, &group, true);
	loop_run(w->loop);
	assert_int_equal(h->count, 2);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(h->report[i].lid, world_lid(w, HOST(4)));
	notify(w, 144, HOST(2));
	assert_int_equal(h->count, 3);
	assert_int_equal(h->report[2].lid, world_lid(w, HOST(1)));
	w->view.pkeys = NULL;
	sa_publish(w->sa, &w->view);
	unlisten(h);
}

/* ---- Many, and silence ----------------------------------------------------------------------- */

static void one_report_at_a_time_and_in_order(void **state)
{
	struct world *w = *state;
	struct heard *h = listen(w);

	subscribe_to(w, HOST(1), ALL);
	for (unsigned i = 0; i < 1000; i++)
		sa_notice(
			w->sa,
			&(struct wire_notice){
				.generic = true, .producer = 2, .trap = 128, .count = (uint16_t)i },
			world_lid(w, HOST(3)));
	loop_run(w->loop);
	assert_int_equal(h->count, 1000);
	assert_int_equal(h->most, 1);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(h->report[i].notice.count, i);
	unlisten(h);
}

static void storm_leaves_by_a_window(void **state)
{
	struct world *w = *state;
	struct wire_inform_info info = everything;
	struct heard *h = listen(w);

	for (unsigned i = 0; i < 60; i++) { /* of one host, each for itself */
		info.lid_end = (uint16_t)i;
		subscribe_from(w, HOST(1), &info, 0);
	}
	for (unsigned i = 0; i < 50; i++)
		notify(w, 128, HOST(3));
	for (unsigned i = 0; i < 50; i++)
		sa_notice(w->sa, &(struct wire_notice){ .generic = true, .trap = 128 }, 1);
	loop_run(w->loop);
	assert_int_equal(h->count, 60 * 100);
	assert_in_range(h->most, 2, 32);
	assert_int_equal(mad_stats(w->mad).in_flight, 0);
	unlisten(h);
}

static void a_subscriber_too_far_behind_skips_notices_and_is_logged(void **state)
{
	struct world *w = *state;
	struct heard *h = listen(w);

	subscribe_to(w, HOST(1), 64); /* looks at others, wants none */
	for (unsigned i = 0; i < 32768 + 100; i++)
		sa_notice(w->sa, &(struct wire_notice){ .generic = true, .trap = 128 }, 1);
	loop_run(w->loop);
	assert_int_equal(sa_stats(w->sa).reports_skipped, 100);
	assert_non_null(strstr(h->logged, "100 notices"));
	assert_int_equal(h->count, 0);
	unlisten(h);
}

static void silence_is_asked_again_then_ends_the_subscription(void **state)
{
	struct world *w = *state;
	struct heard *h = listen(w);

	mad_configure(w->mad, &(struct mad_conf){ .retries = 3 });
	subscribe_to(w, HOST(1), 128);
	subscribe_to(w, HOST(2), 128);
	h->silent = world_lid(w, HOST(1));
	h->changed = 0;
	for (unsigned i = 0; i < 4; i++)
		notify(w, 128, HOST(3));
	/* each try of three notices, and one that is heard for each of the four */
	assert_int_equal(h->count, 3 * (1 + 3) + 4);
	assert_int_equal(sa_stats(w->sa).subscriptions, 1);
	assert_int_equal(sa_stats(w->sa).reports_unanswered, 3);
	assert_int_equal(h->changed, 1);
	assert_non_null(strstr(h->logged, "0x0000000000001011: does not answer"));
	unlisten(h);
}

static void a_port_that_answers_nothing_leaves_the_window_to_others(void **state)
{
	struct world *w = *state;
	struct heard *h = listen(w);
	struct wire_inform_info info = everything;
	uint64_t begun;
	unsigned i = 0;

	mad_configure(w->mad, &(struct mad_conf){ .retries = 3, .timeout_ms = 200 });
	for (info.lid_end = 1; info.lid_end <= 64; info.lid_end++) {
		info.lid_begin = 0;
		assert_int_equal(subscribe_from(w, HOST(1), &info, 0), WIRE_SA_OK);
	}
	subscribe_to(w, HOST(2), 128);
	h->silent = world_lid(w, HOST(1));
	begun = loop_now_us(w->loop);
	notify(w, 128, HOST(3));
	while (i < h->count && h->report[i].lid != world_lid(w, HOST(2)))
		i++;
	assert_true(i < h->count);
	assert_true(h->report[i].at - begun < 1000);
	assert_int_equal(mad_stats(w->mad).in_flight, 0);
	unlisten(h);
}

static void one_answer_in_between_forgives_earlier_silence(void **state)
{
	struct world *w = *state;
	struct heard *h = listen(w);

	subscribe_to(w, HOST(1), 128);
	for (unsigned i = 0; i < 9; i++) {
		h->silent = i % 3 == 2 ? 0 : world_lid(w, HOST(1));
		notify(w, 128, HOST(3));
	}
	assert_int_equal(sa_stats(w->sa).subscriptions, 1);
	assert_int_equal(sa_stats(w->sa).reports_unanswered, 6);
	unlisten(h);
}

static void an_ended_subscription_gets_no_reports(void **state)
{
	struct world *w = *state;
	struct wire_inform_info info = everything;
	struct heard *h = listen(w);

	h->silent = world_lid(w, HOST(1));
	subscribe_to(w, HOST(1), 128);
	sa_notice(w->sa, &(struct wire_notice){ .generic = true, .trap = 128 }, 1);
	loop_timer_set(h->ack, 0);
	mad_stats(w->mad);
	info.trap = 128;
	info.subscribe = 0;
	info.qpn = 7;
	subscribe_from(w, HOST(1), &info, 0);
	assert_int_equal(sa_stats(w->sa).subscriptions, 0);
	notify(w, 128, HOST(3));
	assert_in_range(h->count, 0, 1);
	assert_int_equal(mad_stats(w->mad).in_flight, 0);
	unlisten(h);
}

/* ---- Kept ------------------------------------------------------------------------------------ */

static void subscriptions_outlive_the_process(void **state)
{
	struct world *w = *state, *next = world_new();
	struct wire_inform_info info = everything;
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	struct heard *h;

	info.gid = (struct wire_gid){ WORLD_PREFIX, HOST(3) };
	subscribe_from(w, HOST(1), &everything, WORLD_SM_KEY);
	subscribe_from(w, HOST(2), &info, 0);
	sa_subscriptions_write(w->sa, 0, file);
	fclose(file);
	assert_int_equal(rows_give(text, sa_subscriptions_line, next->sa), 0);
	free(text);
	assert_int_equal(sa_stats(next->sa).subscriptions, 2);
	world_publish(next);
	h = listen(next);
	notify(next, 258, HOST(3));
	assert_int_equal(h->count, 1); /* trusted, still */
	notify(next, 128, HOST(3));
	assert_int_equal(h->count, 3);
	assert_int_equal(h->report[2].qp, 7);
	unlisten(h);
	world_free(next);
}

static void damaged_lines_are_named(void **state)
{
	static const char *const bad[] = {
		"0x1 1 64 65535 1 16777215 65535 0 0x0 0x0 0 0\n",
		"0x1 1 64 65535 1 16777215 65535 0 0x0 0x0 0 0 0 more\n",
		"0x1 1 64 65535 1 16777215 65535 0 0x0 0x0 16 0 0\n",
		"0x1 1 70000 65535 1 16777215 65535 0 0x0 0x0 0 0 0\n",
		"a port\n",
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[256];

		snprintf(text, sizeof(text), "0x1 1 64 65535 1 16777215 65535 0 0x0 0x0 0 0 0\n%s",
			 bad[i]);
		assert_int_equal(rows_give(text, sa_subscriptions_line, w->sa), 2);
		assert_int_equal(sa_stats(w->sa).subscriptions, 1);
		sa_subscriptions_forget(w->sa);
		assert_int_equal(sa_stats(w->sa).subscriptions, 0);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sa_setup, sa_teardown)
	const struct CMUnitTest tests[] = {
		TEST(ports_that_go_and_come_are_reported),
		TEST(host_that_rebooted_unseen_went_and_came),
		cmocka_unit_test(the_first_view_makes_no_reports),
		TEST(traps_are_handed_on_by_number_type_producer_and_source),
		TEST(violated_keys_are_reported_to_trusted_subscribers_alone),
		TEST(groups_made_and_gone_are_reported),
		TEST(hosts_get_reports_of_their_own_partition_alone),
		TEST(one_report_at_a_time_and_in_order),
		TEST(storm_leaves_by_a_window),
		TEST(a_subscriber_too_far_behind_skips_notices_and_is_logged),
		TEST(silence_is_asked_again_then_ends_the_subscription),
		TEST(a_port_that_answers_nothing_leaves_the_window_to_others),
		TEST(one_answer_in_between_forgives_earlier_silence),
		TEST(an_ended_subscription_gets_no_reports),
		TEST(subscriptions_outlive_the_process),
		TEST(damaged_lines_are_named),
	};

	log_set_level(-1, LOG_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
