/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Counters read over the fabric, steadily, from the fabric double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include "tests/lib/sweep_bench.h"
#include "fm/perf/perf.h"
#include "fm/program/program.h"
#include "routing/ftree/route.h"

#define INTERVAL_MS 10000

static const struct perf_conf conf = {
	.interval_ms = INTERVAL_MS,
	.limits = { .limit = { [JUDGE_SYMBOL] = 10, [JUDGE_RCV] = 10 },
		    .confirm = 2,
		    .recover = 3 },
};

struct reader {
	struct bench b;
	struct perf *perf;
	unsigned passes, changes, over;
	enum judge_state state; /* of the last change .. */
	guid_t node;		/* .. and whose */
	uint8_t num;
	struct perf_pass pass;
	unsigned wanted; /* passes after which the loop ends */
	unsigned watched, rated;
	unsigned until;	 /* readings of watched ports after which the loop ends; 0 = none */
	uint64_t errors; /* that passes had read by then */
};

static void changed_cb(void *arg, const struct perf_port *port, enum judge_state before)
{
	struct reader *r = arg;

	assert_int_not_equal(before, port->judged->state);
	r->changes++;
	r->state = (enum judge_state)port->judged->state;
	r->node = port->node;
	r->num = port->num;
}

static void passed_cb(void *arg, const struct perf_pass *pass)
{
	struct reader *r = arg;

	r->pass = *pass;
	if (++r->passes >= r->wanted)
		loop_stop(r->b.loop);
}

static void ber_cb(void *arg, const struct perf_port *port, bool changed)
{
	struct reader *r = arg;

	r->over += changed && ber_is_over(port->ber);
}

static void read_cb(void *arg, guid_t node, uint8_t num, const struct port_counters *counters,
		    bool watched)
{
	struct reader *r = arg;
	struct perf_port found;

	assert_true(perf_find(r->perf, node, num, &found));
	assert_true(watched == (counters != found.counters));
	if (!watched)
		return;
	assert_int_equal(node, r->b.design->nodes[0].guid);
	if (++r->watched == r->until)
		loop_stop(r->b.loop);
	r->rated += counters_rated(counters, PERF_XMIT_DATA);
	r->errors = found.counters->value[PERF_RCV_ERRORS];
}

static void trained_cb(void *arg, struct inv_node *node, uint8_t num)
{
	fail();
}

/* No port has the register. */
static uint64_t measured_cb(void *arg, guid_t node, uint8_t num, bool again, uint64_t *errors)
{
	return 0;
}

static const struct perf_ops ops = {
	changed_cb, ber_cb, read_cb, trained_cb, passed_cb, measured_cb
};

static void programmed_cb(void *arg, const struct program_result *result)
{
	*(unsigned *)arg = result->failed;
}

static void program_tables(struct bench *b)
{
	struct tables tables = { 0 };
	struct route *route = route_new();
	const struct route_params params = { 0 };
	struct program *program = program_new(b->loop, b->mad, sweep_inventory(b->sweep),
					      bringup_conf.packet_life_time);
	unsigned failed = 1;

	assert_int_equal(route_compute(route, b->found, b->lids, &params, &tables), 0);
	program_apply(program, b->found, &tables, programmed_cb, &failed);
	loop_run(b->loop);
	assert_int_equal(failed, 0);
	program_free(program);
	tables_fini(&tables);
	route_free(route);
}

static void reader_init(struct reader *r)
{
	*r = (struct reader){ .wanted = 1 };
	bench_init(&r->b, design_pgft2(), NULL);
	bench_discover(&r->b);
	bench_bringup(&r->b);
	program_tables(&r->b);
	r->perf = perf_new(r->b.loop, r->b.mad, sweep_inventory(r->b.sweep), &conf, &ops, r);
}

static void reader_fini(struct reader *r)
{
	perf_free(r->perf);
	bench_fini(&r->b);
}

static void reader_passes(struct reader *r, unsigned count)
{
	r->wanted = r->passes + count;
	loop_run(r->b.loop);
	assert_int_equal(r->passes, r->wanted);
}

/* Ports whose turn it was in the latest pass: in ten passes each port's PortInfo is read once. */
static unsigned paces(const struct reader *r)
{
	const struct topo *t = r->b.design;
	unsigned count = 0;

	for (uint32_t p = 0; p < t->nports; p++)
		count += t->ports[p].num && t->ports[p].peer != TOPO_NONE &&
			 !((r->passes + t->nodes[t->ports[p].node].guid + t->ports[p].num) % 10);
	return count;
}

/* The first switch's first cable. */
static guid_t some_port(const struct reader *r, unsigned *num)
{
	*num = 1;
	return r->b.design->nodes[0].guid;
}

static void every_cabled_port_is_read_once_a_pass(void **state)
{
	unsigned read;
	struct reader r;

	reader_init(&r);
	reader_passes(&r, 1);
	read = paces(&r);
	assert_int_equal(r.pass.ports, 2 * r.b.design->nlinks);
	assert_int_equal(r.pass.silent, 0);
	assert_int_equal(r.pass.mads, 2 * r.b.design->nlinks + paces(&r) + r.b.design->nnodes);
	reader_passes(&r, 1); /* what agents can do is asked once */
	read += paces(&r);
	assert_int_equal(r.pass.mads, 2 * r.b.design->nlinks + paces(&r));
	assert_int_equal(r.changes, 0);
	while (r.passes < 10) {
		reader_passes(&r, 1);
		read += paces(&r);
		assert_int_equal(r.pass.mads, 2 * r.b.design->nlinks + paces(&r));
	}
	assert_int_equal(read, 2 * r.b.design->nlinks);
	reader_fini(&r);
}

static void pass_is_spread_over_the_interval(void **state)
{
	uint64_t begin;
	struct reader r;

	reader_init(&r);
	reader_passes(&r, 1);
	begin = r.pass.ended_us;
	assert_in_range(r.pass.took_us, INTERVAL_MS * 700, INTERVAL_MS * 900);
	reader_passes(&r, 1);
	assert_in_range(r.pass.ended_us - begin, INTERVAL_MS * 950, INTERVAL_MS * 1050);
	reader_fini(&r);
}

static void reading_on_demand_is_quick(void **state)
{
	struct reader r;

	reader_init(&r);
	perf_read_now(r.perf);
	reader_passes(&r, 1);
	assert_int_equal(r.pass.ports, 2 * r.b.design->nlinks);
	assert_in_range(r.pass.took_us, 1, 50000);
	reader_fini(&r);
}

static void errors_of_a_port_are_found_and_reported(void **state)
{
	struct perf_port found;
	struct reader r;
	unsigned num;
	guid_t node;

	reader_init(&r);
	node = some_port(&r, &num);
	reader_passes(&r, 1);
	for (unsigned i = 1; i <= 4; i++) {
		double_set_counter(r.b.d, node, num, PERF_RCV_ERRORS, 30 * i);
		reader_passes(&r, 1);
	}
	assert_int_equal(r.changes, 2);
	assert_int_equal(r.state, JUDGE_SICK);
	assert_int_equal(r.node, node);
	assert_int_equal(r.num, num);
	assert_true(perf_find(r.perf, node, (uint8_t)num, &found));
	assert_int_equal(found.counters->value[PERF_RCV_ERRORS], 120);
	assert_int_equal(found.rcv_details[0], 120);
	reader_fini(&r);
}

/* Passes are ten minutes apart, and one has run. Returns the node, and in *num a port of it. */
static guid_t slow_reader_init(struct reader *r, unsigned *num)
{
	const struct wire_perf_caps caps = { .ext = true, .errors = true };
	struct perf_conf slow = conf;
	guid_t node;

	reader_init(r);
	node = some_port(r, num);
	double_set_perf_caps(r->b.d, node, &caps);
	slow.interval_ms = 600000;
	perf_configure(r->perf, &slow);
	perf_read_now(r->perf);
	reader_passes(r, 1);
	return node;
}

/* A minute long, each ten seconds, and none of it counts against the link. */
static void a_port_that_is_watched_is_read_every_ten_seconds_and_judged_by_passes(void **state)
{
	struct perf_port found;
	struct reader r;
	unsigned num;
	guid_t node;

	node = slow_reader_init(&r, &num);
	double_set_counter(r.b.d, node, num, PERF_RCV_ERRORS, 300);
	for (unsigned i = 0; i < 3; i++) /* as often as a page asks: it stays one port */
		perf_watch(r.perf, node, num);
	reader_passes(&r, 1);
	assert_in_range(r.watched, 6, 7);
	assert_int_equal(r.rated, r.watched - 1);
	assert_int_equal(r.errors, 0); /* those of the port are a pass's to find */
	assert_true(perf_find(r.perf, node, num, &found));
	assert_int_equal(found.counters->value[PERF_RCV_ERRORS], 300);
	perf_watch(r.perf, node, num); /* again, and a pass in the midst of it */
	perf_watch(r.perf, node, num + 1);
	perf_read_now(r.perf);
	reader_passes(&r, 2);
	assert_true(r.watched > 12);
	reader_fini(&r);
}

/* The slot of one that nobody watches any more is free, and comes before the port's own. */
static void a_port_that_is_asked_for_again_is_read_once_each_ten_seconds(void **state)
{
	struct reader r;
	unsigned num;
	guid_t node;

	node = slow_reader_init(&r, &num);
	perf_watch(r.perf, node, num);
	r.until = 5; /* 40 s */
	loop_run(r.b.loop);
	perf_watch(r.perf, node, num + 1);
	r.until = 10; /* 70 s: two more of the one, which ended at 60 s, and three of the other */
	loop_run(r.b.loop);
	perf_watch(r.perf, node, num + 1);
	reader_passes(&r, 1);
	assert_int_equal(r.watched, 10 + 6);
	reader_fini(&r);
}

static void a_port_is_not_watched_where_passes_are_as_close_or_none_runs(void **state)
{
	struct perf_conf none = conf;
	struct reader r;
	unsigned num;
	guid_t node;

	reader_init(&r);
	node = some_port(&r, &num);
	reader_passes(&r, 1);
	perf_watch(r.perf, node, num);
	reader_passes(&r, 3);
	none.interval_ms = 0;
	perf_configure(r.perf, &none);
	perf_watch(r.perf, node, num);
	perf_read_now(r.perf);
	reader_passes(&r, 1);
	assert_int_equal(r.watched, 0);
	reader_fini(&r);
}

static void wide_counters_are_read_where_there_are_any(void **state)
{
	const struct wire_perf_caps caps = { .ext = true, .errors = true };
	struct perf_port found;
	struct reader r;
	unsigned num;
	guid_t node;

	reader_init(&r);
	node = some_port(&r, &num);
	double_set_perf_caps(r.b.d, node, &caps);
	double_set_counter(r.b.d, node, num, PERF_SYMBOL, 70000); /* more than 16 bits */
	reader_passes(&r, 2);
	for (unsigned i = 1; i <= 3; i++) {
		double_set_counter(r.b.d, node, num, PERF_SYMBOL, 70000 + 100 * i);
		reader_passes(&r, 1);
	}
	assert_int_equal(r.state, JUDGE_SICK);
	assert_true(perf_find(r.perf, node, (uint8_t)num, &found));
	assert_int_equal(found.counters->value[PERF_SYMBOL], 70300);
	assert_int_equal(found.judged->full, 0);
	reader_fini(&r);
}

/*
 * Counters of 64 bits for traffic and of 16 for errors: both attributes are read, of the ports of
 * that node alone.
 */
static void traffic_of_64_bits_is_read_beside_errors_of_16(void **state)
{
	const struct wire_perf_caps caps = { .ext = true };
	struct perf_port found;
	unsigned num, more = 0;
	struct reader r;
	guid_t node;

	reader_init(&r);
	node = some_port(&r, &num);
	double_set_perf_caps(r.b.d, node, &caps);
	for (unsigned i = 1; i <= r.b.design->nodes[0].nports; i++)
		more += topo_port(r.b.design, 0, i)->peer != TOPO_NONE;
	double_set_counter(r.b.d, node, num, PERF_RCV_DATA, 1ull << 40);
	double_set_counter(r.b.d, node, num, PERF_SYMBOL, 1ull << 40);
	reader_passes(&r, 1); /* what agents can do is known before counters are read */
	assert_true(perf_find(r.perf, node, (uint8_t)num, &found));
	assert_int_equal(found.counters->value[PERF_RCV_DATA], 4ull << 40);
	reader_passes(&r, 1);
	assert_int_equal(r.pass.mads, 2 * r.b.design->nlinks + paces(&r) + more);
	assert_int_equal(r.pass.ports, 2 * r.b.design->nlinks);
	assert_true(perf_find(r.perf, node, (uint8_t)num, &found));
	assert_int_equal(found.counters->value[PERF_SYMBOL], UINT16_MAX);
	assert_int_equal(found.counters->full, 1u << PERF_SYMBOL);
	reader_fini(&r);
}

static void agent_that_refuses_counters_of_64_bits_is_read_by_the_others(void **state)
{
	const struct wire_perf_caps caps = { .ext = true }, none = { 0 };
	struct perf_port found;
	struct reader r;
	unsigned num;
	guid_t node;

	reader_init(&r);
	node = some_port(&r, &num);
	double_set_perf_caps(r.b.d, node, &caps);
	reader_passes(&r, 2);
	double_set_perf_caps(r.b.d, node, &none); /* and fmd does not ask that again */
	double_set_counter(r.b.d, node, num, PERF_RCV_PACKETS, 77);
	reader_passes(&r, 2);
	assert_int_equal(r.pass.mads, 2 * r.b.design->nlinks + paces(&r));
	assert_true(perf_find(r.perf, node, (uint8_t)num, &found));
	assert_int_equal(found.counters->value[PERF_RCV_PACKETS], 77);
	reader_fini(&r);
}

/* All nodes but those of hosts. */
static unsigned fec_on_switches(struct reader *r, bool on)
{
	const struct wire_perf_caps caps = { .fec = on };
	const struct topo *t = r->b.design;
	unsigned ports = 0;

	for (uint32_t p = 0; p < t->nports; p++)
		ports += t->ports[p].peer != TOPO_NONE && t->ports[p].node < t->nswitches;
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		double_set_perf_caps(r->b.d, t->nodes[sw].guid, &caps);
	return ports;
}

static void fec_takes_one_packet_more_of_ports_that_count_it(void **state)
{
	struct reader r;
	unsigned more;

	reader_init(&r);
	more = fec_on_switches(&r, true);
	reader_passes(&r, 2); /* in the first, what agents can do is not known yet */
	assert_int_equal(r.pass.mads, 2 * r.b.design->nlinks + paces(&r) + more);
	assert_int_equal(r.pass.ports, 2 * r.b.design->nlinks);
	assert_int_equal(r.pass.silent, 0);
	reader_fini(&r);
}

static void blocks_beyond_correction_make_a_link_unhealthy(void **state)
{
	struct perf_conf strict = conf;
	struct perf_port found;
	struct reader r;
	unsigned num;
	guid_t node;

	reader_init(&r);
	strict.limits.limit[JUDGE_FEC_UNCORRECTED] = 5;
	perf_configure(r.perf, &strict);
	node = some_port(&r, &num);
	fec_on_switches(&r, true);
	double_set_fec(r.b.d, node, num, WIRE_FEC_UNCORRECTED, 1000); /* of the past */
	reader_passes(&r, 4);
	assert_int_equal(r.changes, 0);
	for (unsigned i = 1; i <= 4; i++) {
		double_set_fec(r.b.d, node, num, WIRE_FEC_UNCORRECTED, 1000 + 20 * i);
		reader_passes(&r, 1);
	}
	assert_int_equal(r.changes, 2); /* warned, then sick */
	assert_int_equal(r.state, JUDGE_SICK);
	assert_int_equal(r.node, node);
	assert_int_equal(r.num, num);
	assert_true(perf_find(r.perf, node, (uint8_t)num, &found));
	assert_int_equal(found.judged->why, JUDGE_FEC_UNCORRECTED);
	assert_int_equal(found.fec->last[WIRE_FEC_UNCORRECTED], 1080);
	reader_fini(&r);
}

static void agent_that_refuses_fec_after_all_is_asked_for_the_rest(void **state)
{
	struct perf_port found;
	struct reader r;
	unsigned num;
	guid_t node;

	reader_init(&r);
	node = some_port(&r, &num);
	fec_on_switches(&r, true);
	reader_passes(&r, 2);
	double_set_fec(r.b.d, node, num, WIRE_FEC_CORRECTED, 500);
	reader_passes(&r, 1);
	assert_true(perf_find(r.perf, node, (uint8_t)num, &found));
	assert_true(found.judged->rate[JUDGE_FEC_CORRECTED] > 0);
	assert_int_equal(found.fec->last[WIRE_FEC_CORRECTED], 500);
	fec_on_switches(&r, false);
	reader_passes(&r, 1);
	assert_int_equal(r.pass.ports, 2 * r.b.design->nlinks);
	reader_passes(&r, 1);
	assert_int_equal(r.pass.mads, 2 * r.b.design->nlinks + paces(&r));
	assert_true(perf_find(r.perf, node, (uint8_t)num, &found));
	assert_true(found.judged->rate[JUDGE_FEC_CORRECTED] == 0);
	assert_null(found.fec);
	reader_fini(&r);
}

static void silent_node_is_left_alone_for_the_rest_of_the_pass(void **state)
{
	struct reader r;
	unsigned num;

	reader_init(&r);
	reader_passes(&r, 1);
	double_set_loss(r.b.d, design_sm(r.b.design)->guid, 1, 1000); /* nothing comes through */
	reader_passes(&r, 1);
	assert_in_range(r.pass.ports, 0, 1); /* the own one */
	assert_true(r.pass.silent <= r.b.design->nnodes);
	double_set_loss(r.b.d, design_sm(r.b.design)->guid, 1, 0);
	reader_passes(&r, 1);
	assert_int_equal(r.pass.ports, 2 * r.b.design->nlinks);
	assert_true(some_port(&r, &num));
	reader_fini(&r);
}

static void lost_answers_make_no_link_unhealthy(void **state)
{
	struct reader r;

	reader_init(&r);
	double_set_loss(r.b.d, design_sm(r.b.design)->guid, 1, 300);
	reader_passes(&r, 10);
	assert_int_equal(r.changes, 0);
	reader_fini(&r);
}

/* What leaves the own port takes 5 ms. */
static void answer_late(struct reader *r)
{
	double_set_direction_fault(r->b.d, design_sm(r->b.design)->guid, 1, DOUBLE_LATE, 1000,
				   5000);
}

/* Answers come slower than the interval asks for. */
static void pass_that_outlasts_its_interval_is_finished_and_the_next_follows(void **state)
{
	struct perf_conf hasty = conf;
	struct reader r;
	uint64_t ended;

	reader_init(&r);
	answer_late(&r);
	hasty.interval_ms = 1;
	perf_configure(r.perf, &hasty);
	for (unsigned i = 0; i < 5; i++) {
		ended = loop_now_us(r.b.loop);
		reader_passes(&r, 1);
		assert_int_equal(r.pass.ports, 2 * r.b.design->nlinks);
		assert_int_equal(r.pass.silent, 0);
		assert_true(r.pass.took_us > hasty.interval_ms * 1000);
		assert_false(r.pass.hurried);
	}
	assert_int_equal(r.pass.ended_us - ended, r.pass.took_us); /* it began at once */
	reader_fini(&r);
}

static void rates_go_by_the_time_between_readings_not_by_the_interval(void **state)
{
	const struct wire_perf_caps caps = { .ext = true, .errors = true };
	struct perf_conf hasty = conf;
	struct perf_port before, now;
	unsigned num;
	struct reader r;
	guid_t node;
	double span_s;

	reader_init(&r);
	node = some_port(&r, &num);
	double_set_perf_caps(r.b.d, node, &caps);
	answer_late(&r);
	hasty.interval_ms = 1;
	perf_configure(r.perf, &hasty);
	reader_passes(&r, 2);
	assert_true(perf_find(r.perf, node, (uint8_t)num, &before));
	span_s = -(double)before.counters->read_us[COUNTERS_LINK] / 1e6;
	double_set_counter(r.b.d, node, num, PERF_RCV_PACKETS, 1000000);
	reader_passes(&r, 1);
	assert_true(perf_find(r.perf, node, (uint8_t)num, &now));
	span_s += now.counters->read_us[COUNTERS_LINK] / 1e6;
	assert_true(span_s > hasty.interval_ms / 1e3);
	assert_float_equal(now.counters->rate[PERF_RCV_PACKETS] * span_s / 1e6, 1, 0.3);
	assert_int_equal(now.counters->span_ms[COUNTERS_LINK], (unsigned)(span_s * 1e3));
	reader_fini(&r);
}

/* A leaf that came is asked in the next pass, one that went is forgotten by it. */
static void nodes_that_come_and_go_are_met_by_the_next_pass(void **state)
{
	struct reader r;
	uint8_t nports;
	guid_t leaf;

	reader_init(&r);
	reader_passes(&r, 1);
	leaf = r.b.design->nodes[1].guid;
	assert_non_null(perf_counters(r.perf, leaf, &nports));
	inventory_remove(sweep_inventory(r.b.sweep), inv(&r.b, leaf));
	reader_passes(&r, 1);
	assert_null(perf_counters(r.perf, leaf, &nports));
	bench_discover(&r.b);
	reader_passes(&r, 1);
	assert_non_null(perf_counters(r.perf, leaf, &nports));
	reader_fini(&r);
}

static void reading_on_demand_amid_a_pass_ends_that_and_is_whole(void **state)
{
	struct reader r;

	reader_init(&r);
	reader_passes(&r, 1);
	for (unsigned i = 0; i < 3; i++) {
		perf_read_now(r.perf);
		perf_read_now(r.perf);
		reader_passes(&r, 1);
		assert_true(r.pass.hurried);
		assert_int_equal(r.pass.ports, 2 * r.b.design->nlinks);
	}
	reader_passes(&r, 1);
	assert_false(r.pass.hurried);
	reader_fini(&r);
}

static void interval_of_nothing_reads_on_demand_alone(void **state)
{
	struct perf_conf off = conf;
	struct reader r;

	reader_init(&r);
	off.interval_ms = 0;
	perf_configure(r.perf, &off);
	loop_run(r.b.loop);
	assert_int_equal(r.passes, 0);
	perf_read_now(r.perf);
	reader_passes(&r, 1);
	loop_run(r.b.loop);
	assert_int_equal(r.passes, 1);
	reader_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cabled_port_is_read_once_a_pass),
		cmocka_unit_test(pass_is_spread_over_the_interval),
		cmocka_unit_test(reading_on_demand_is_quick),
		cmocka_unit_test(errors_of_a_port_are_found_and_reported),
		cmocka_unit_test(
			a_port_that_is_watched_is_read_every_ten_seconds_and_judged_by_passes),
		cmocka_unit_test(a_port_that_is_asked_for_again_is_read_once_each_ten_seconds),
		cmocka_unit_test(a_port_is_not_watched_where_passes_are_as_close_or_none_runs),
		cmocka_unit_test(wide_counters_are_read_where_there_are_any),
		cmocka_unit_test(traffic_of_64_bits_is_read_beside_errors_of_16),
		cmocka_unit_test(agent_that_refuses_counters_of_64_bits_is_read_by_the_others),
		cmocka_unit_test(fec_takes_one_packet_more_of_ports_that_count_it),
		cmocka_unit_test(blocks_beyond_correction_make_a_link_unhealthy),
		cmocka_unit_test(agent_that_refuses_fec_after_all_is_asked_for_the_rest),
		cmocka_unit_test(silent_node_is_left_alone_for_the_rest_of_the_pass),
		cmocka_unit_test(lost_answers_make_no_link_unhealthy),
		cmocka_unit_test(pass_that_outlasts_its_interval_is_finished_and_the_next_follows),
		cmocka_unit_test(rates_go_by_the_time_between_readings_not_by_the_interval),
		cmocka_unit_test(nodes_that_come_and_go_are_met_by_the_next_pass),
		cmocka_unit_test(reading_on_demand_amid_a_pass_ends_that_and_is_whole),
		cmocka_unit_test(interval_of_nothing_reads_on_demand_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
