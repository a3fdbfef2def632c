/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Times that fmd reports, against the rig's own clock: a judge on the manager's wire notes when
 * what showed a fault arrived, when the last block was acknowledged, and when a bring-up's first
 * request left and its last setting was acknowledged. FAULTS= asks for more of them, SEED= for
 * others.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire.h"
#include "tests/lib/fabric_world.h"

#define ARRIVALS 4096
#define SETS	 (1u << 16) /* places of those under way, by TID */
#define PORTS	 (1u << 16) /* places of ports, by their path and number */
#define MOST_CUT 5
#define REFUSED	 0x1c /* of a status: a link that is down does not become Armed */
#define TO_NODE	 1000 /* us, of a MAD and of its answer: a sweep takes many of that */

struct judge {
	struct world *w;
	struct io_ops ops;
	const struct io_ops *real;
	io_recv_fn *recv;
	void *arg;
	uint64_t arrivals[ARRIVALS]; /* of what shows that something is not as it was */
	unsigned narrivals;
	uint64_t trap_us;	/* the first that came since quiet() */
	uint64_t first_sent_us; /* the first question who is there, likewise */
	uint64_t lft_us;	/* the latest block of LFT acknowledged */
	uint64_t heard_us,
		up_us;	      /* the latest answer to an SMP, and when fmd said that it was up */
	uint16_t sets[SETS];  /* attribute of the Set under way */
	uint8_t ports[PORTS]; /* 1 + down, up or Active when that port was read */
	/* Each fault is told of by traps, and nothing else; if not, any arrival may have told. */
	bool alone;
	unsigned reported, judged;
	double worst_ms;
};

static struct judge *the_judge; /* io's functions are given the io alone */

static uint16_t at16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* The lower half of the TID, folded: no two under way share it often, and a wrong one shows. */
static uint16_t place(const uint8_t *mad)
{
	return (uint16_t)(at16(mad + 12) ^ at16(mad + 14));
}

static guid_t own(const struct world *w)
{
	return w->design->nodes[w->design->nswitches].guid;
}

static int judge_send(struct io *io, const struct io_addr *to, const uint8_t *mad, size_t len,
		      unsigned timeout_ms)
{
	struct judge *j = the_judge;
	bool wire = mad[1] == WIRE_SMI_LID || (mad[1] == WIRE_SMI_DR && mad[7] > 0);

	if (mad[3] == WIRE_GET && at16(mad + 16) == WIRE_NODE_INFO && !j->first_sent_us)
		j->first_sent_us = loop_now_us(j->w->loop);
	if (wire && mad[3] == WIRE_SET)
		j->sets[place(mad)] = at16(mad + 16);
	return j->real->send(io, to, mad, len, timeout_ms);
}

/* Of a PortInfo that was read: the link is another than when it was last read by that path. */
static bool link_differs(struct judge *j, const uint8_t *mad)
{
	struct wire_port_info info;
	uint32_t hash = 2166136261u;
	uint8_t *was, is;

	for (unsigned i = 7; i < 192; i = i == 7 ? 20 : i == 23 ? 128 : i + 1)
		hash = (hash ^ mad[i]) * 16777619u;
	was = &j->ports[(hash ^ hash >> 16) % PORTS];
	wire_port_info_decode(wire_smp_data((uint8_t *)mad), &info);
	is = (uint8_t)(1 + (info.state >= TOPO_INIT) + (info.state >= TOPO_ACTIVE));
	if (*was == is)
		return false;
	*was = is;
	return true;
}

static void arrived(struct judge *j, uint64_t now)
{
	if (j->narrivals < ARRIVALS)
		j->arrivals[j->narrivals++] = now;
}

static void judge_recv(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct judge *j = the_judge;
	uint64_t now = loop_now_us(j->w->loop);
	bool smp = mad[1] == WIRE_SMI_LID || mad[1] == WIRE_SMI_DR;
	struct wire_switch_info info;

	if (smp && mad[3] == WIRE_TRAP)
		arrived(j, now);
	if (smp && mad[3] == WIRE_TRAP && !j->trap_us)
		j->trap_us = now;
	if (smp && mad[3] & 0x80 && at16(mad + 16) == WIRE_SWITCH_INFO) {
		wire_switch_info_decode(wire_smp_data((uint8_t *)mad), &info);
		if (info.port_state_change)
			arrived(j, now);
	}
	if (smp && mad[3] & 0x80 && at16(mad + 16) == WIRE_PORT_INFO &&
	    (link_differs(j, mad) || at16(mad + 4) & REFUSED))
		arrived(j, now);
	if (smp && mad[3] & 0x80)
		j->heard_us = now;
	if (smp && mad[3] & 0x80 && j->sets[place(mad)]) {
		if (j->sets[place(mad)] == WIRE_LFT)
			j->lft_us = now;
		j->sets[place(mad)] = 0;
	}
	j->recv(j->arg, from, mad, len);
}

/* All that was injected has been reported: what arrived until now belongs to nothing later. */
static void quiet(struct judge *j)
{
	j->narrivals = 0;
	j->first_sent_us = j->trap_us = 0;
}

static double off(double said_ms, uint64_t from_us, uint64_t to_us)
{
	return fabs(said_ms - (double)(to_us - from_us) / 1e3);
}

static void assert_true_time(struct judge *j, const char *what, double said_ms, uint64_t from_us,
			     uint64_t to_us)
{
	double is_ms = (double)(to_us - from_us) / 1e3, differs = off(said_ms, from_us, to_us);

	j->judged++;
	if (differs > j->worst_ms)
		j->worst_ms = differs;
	if (differs > (is_ms / 20 > 1 ? is_ms / 20 : 1))
		fail_msg("%s: %.3f ms said, %.3f ms by the rig's clock", what, said_ms, is_ms);
}

/*
 * The one that fits best: a poll's sweep asks of many ports, also by paths that were not asked
 * before.
 */
static uint64_t arrival_of(const struct judge *j, double said_ms)
{
	uint64_t best = j->narrivals ? j->arrivals[0] : 0;

	for (unsigned i = 1; i < j->narrivals; i++)
		if (j->arrivals[i] <= j->lft_us &&
		    off(said_ms, j->arrivals[i], j->lft_us) < off(said_ms, best, j->lft_us))
			best = j->arrivals[i];
	return best;
}

static double number(const json_t *doc, const char *key)
{
	return json_number_value(json_object_get(doc, key));
}

/* As it is added: the last block that it tells of was acknowledged just now. */
static void judge_event(void *arg, const json_t *event)
{
	struct judge *j = arg;
	const char *kind = json_string_value(json_object_get(event, "kind"));
	const char *text = json_string_value(json_object_get(event, "text")), *said;
	double ms = number(event, "detected_to_programmed_ms"), again = -1;

	if (!strcmp(kind, "up"))
		j->up_us = j->heard_us;
	if ((strcmp(kind, "rerouted") && strcmp(kind, "restored")) ||
	    !number(event, "lft_blocks_written"))
		return;
	j->reported++;
	if (!j->narrivals)
		fail_msg("%s: nothing had arrived that shows it", text);
	assert_true_time(j, text, ms, j->alone ? j->trap_us : arrival_of(j, ms), j->lft_us);
	said = strstr(text, "ed in ");
	assert_int_equal(sscanf(said ? said : "", "ed in %lf ms", &again), 1);
	assert_true(fabs(again - ms) < 0.1);
}

/* To be called behind start_fabric(): mad_new() has set io's functions. */
static void judge_init(struct judge *j, struct world *w)
{
	struct io *io = double_io(w->hw);

	*j = (struct judge){
		.w = w, .ops = *io->ops, .real = io->ops, .recv = io->recv, .arg = io->arg
	};
	j->ops.send = judge_send;
	io->ops = &j->ops;
	io->recv = judge_recv;
	the_judge = j;
	fabric_follow(w->fabric, judge_event, j);
}

static void judge_fini(struct judge *j)
{
	struct io *io = double_io(j->w->hw);

	fabric_unfollow(j->w->fabric, j);
	io->ops = j->real;
	io->recv = j->recv;
}

static double up_ms(const struct world *w)
{
	json_t *events = fabric_events(w->fabric, 1000), *event;
	double ms = -1;
	size_t i;

	json_array_foreach (events, i, event) {
		const char *text = json_string_value(json_object_get(event, "text"));

		if (!strcmp(json_string_value(json_object_get(event, "kind")), "up"))
			sscanf(strstr(text, " SMPs, "), " SMPs, %lf ms", &ms);
	}
	json_decref(events);
	return ms;
}

/* ---- Up -------------------------------------------------------------------------------------- */

static void open_world(struct world *w, struct judge *j)
{
	const struct double_times slow = { .train_us = { 1000, 5000 } };
	const struct double_conf far = { .latency_us = TO_NODE };

	world_init_stopped(w, small_tree());
	double_free(w->hw);
	w->hw = double_new(w->loop, w->design, own(w), 1, &far);
	log_set_level(-1, LOG_ERR - 1);
	double_set_times(w->hw, &slow);
	start_fabric(w);
	judge_init(j, w);
}

static void up_counts_from_when_there_was_a_fabric_to_bring_up(void **state)
{
	static const uint64_t outs[] = { 2, 10, 3600 };
	struct judge j;
	struct world w;

	open_world(&w, &j);
	run_for(&w, 2 * SECOND_US);
	assert_true(is_up(&w));
	assert_true_time(&j, "up", up_ms(&w), j.first_sent_us, j.up_us);
	for (unsigned i = 0; i < sizeof(outs) / sizeof(outs[0]); i++) {
		double_cut(w.hw, own(&w), 1);
		run_for(&w, outs[i] * SECOND_US);
		quiet(&j);
		double_join(w.hw, own(&w), 1);
		run_for(&w, 5 * SECOND_US);
		assert_true(is_up(&w));
		assert_true_time(&j, "up", up_ms(&w), j.first_sent_us, j.up_us);
	}
	judge_fini(&j);
	world_fini(&w);
}

/* Its link was there: until it answered there was nothing to bring up. */
static void so_it_does_where_the_first_switch_answers_late(void **state)
{
	const struct topo_port *seat;
	struct judge j;
	struct world w;
	guid_t leaf;

	open_world(&w, &j);
	seat = topo_peer(w.design, topo_port(w.design, w.design->nswitches, 1));
	leaf = w.design->nodes[seat->node].guid;
	double_set_silent(w.hw, leaf, true);
	run_for(&w, 60 * SECOND_US);
	assert_false(is_up(&w));
	quiet(&j);
	double_set_silent(w.hw, leaf, false);
	run_for(&w, 5 * SECOND_US);
	assert_true(is_up(&w));
	assert_true(up_ms(&w) < 1000);
	judge_fini(&j);
	world_fini(&w);
}

/* ---- Faults ---------------------------------------------------------------------------------- */

struct cables {
	uint32_t ends[512];
	bool cut[512];
	unsigned count, ncut;
};

/* Those between two switches, lower end each. */
static void cables_init(struct cables *c, const struct topo *t)
{
	c->count = 0;
	for (uint32_t p = 0; p < t->nports && c->count < 512; p++)
		if (t->ports[p].peer != TOPO_NONE && t->ports[p].peer > p &&
		    t->ports[p].node < t->nswitches &&
		    topo_peer(t, &t->ports[p])->node < t->nswitches)
			c->ends[c->count++] = p;
}

static void turn(struct world *w, struct cables *c, unsigned i)
{
	while (c->ncut == MOST_CUT && !c->cut[i])
		i = (i + 1) % c->count;

	const struct topo_port *end = &w->design->ports[c->ends[i]];

	(c->cut[i] ? double_join : double_cut)(w->hw, w->design->nodes[end->node].guid, end->num);
	c->cut[i] = !c->cut[i];
	c->ncut += c->cut[i] ? 1 : -1;
}

/* A host whose agent takes no Sets is given its cable: its link is being brought up, in vain. */
static void vain(struct world *w, uint32_t host, bool on)
{
	guid_t guid = w->design->nodes[w->design->nswitches + host].guid;

	if (on)
		double_cut(w->hw, guid, 1);
	else
		double_join(w->hw, guid, 1);
	double_set_no_sets(w->hw, guid, on);
}

static void each_fault_is_timed_by_what_showed_it(void **state)
{
	const unsigned faults = getenv("FAULTS") ? (unsigned)atoi(getenv("FAULTS")) : 20;
	uint64_t seed = getenv("SEED") ? (uint64_t)atoi(getenv("SEED")) : 30;
	struct cables c = { 0 };
	struct judge j;
	struct world w;

	open_world(&w, &j);
	w.conf.quarantine.flap_count = 0;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 10 * SECOND_US);
	cables_init(&c, w.design);
	for (unsigned i = 0; i < faults; i++) {
		bool polled = damage_random(&seed) % 4 == 0;

		quiet(&j);
		j.alone = !polled;
		double_set_traps(w.hw, !polled);
		turn(&w, &c, damage_random(&seed) % c.count);
		run_for(&w, (polled ? 15 : 3) * SECOND_US + damage_random(&seed) % SECOND_US);
	}
	print_message("%u faults, %u reported times judged, %.3f ms off at most\n", faults,
		      j.judged, j.worst_ms);
	assert_true(j.reported >= faults / 2);
	judge_fini(&j);
	world_fini(&w);
}

/* It has been on its way for seconds when the fault comes, and goes on being. */
static void a_link_that_is_being_brought_up_in_vain_is_no_part_of_a_later_fault(void **state)
{
	static const uint64_t later_ms[] = { 300, 1000, 4000, 20000 };
	struct cables c = { 0 };
	struct judge j;
	struct world w;

	open_world(&w, &j);
	run_for(&w, 10 * SECOND_US);
	cables_init(&c, w.design);
	for (unsigned i = 0; i < sizeof(later_ms) / sizeof(later_ms[0]); i++) {
		vain(&w, 9, true);
		run_for(&w, 3 * SECOND_US);
		double_set_no_sets(w.hw, w.design->nodes[w.design->nswitches + 9].guid, true);
		double_join(w.hw, w.design->nodes[w.design->nswitches + 9].guid, 1);
		run_for(&w, later_ms[i] * 1000);
		quiet(&j);
		j.alone = true;
		turn(&w, &c, 2 * i);
		j.reported = 0;
		run_for(&w, SECOND_US);
		assert_true(j.reported > 0);
		j.alone = false;
		vain(&w, 9, false);
		run_for(&w, 90 * SECOND_US);
	}
	judge_fini(&j);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(up_counts_from_when_there_was_a_fabric_to_bring_up),
		cmocka_unit_test(so_it_does_where_the_first_switch_answers_late),
		cmocka_unit_test(each_fault_is_timed_by_what_showed_it),
		cmocka_unit_test(
			a_link_that_is_being_brought_up_in_vain_is_no_part_of_a_later_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
