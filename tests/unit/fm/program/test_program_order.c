/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain and sanitized. An apply is superseded at thousands of moments. */
/* program's rounds on the fabric double: what failing switches and superseded applies leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include "fm/loop/log.h"
#include "fm/mad/wire_optional.h"
#include "fm/program/program_priv.h"
#include "routing/ftree/route.h"
#include "tests/fabric/damage.h"
#include "tests/fabric/double_own.h"
#include "tests/fabric/mixture.h"
#include "tests/lib/sweep_bench.h"

#define LIFE_TIME 0x12

#define PARTS 16 /* of a switch here */

/* A switch that forwards by entries of adaptive routing: what is known of them. */
struct entries {
	uint8_t ports[PARTS * PROGRAM_PART_LIDS];
	bool known[PARTS], filled[PARTS], reads[PARTS];
};

struct world {
	struct bench b;
	struct program *program;
	struct entries *entries; /* by switch; NULL = all forward by their LFTs */
	struct program_entries ops;
	struct program_result result;
	struct tables before, after; /* with a cable dead, and with it alive */
	struct tables other;	     /* with another one dead */
	struct mixture mix;
	bool judging;
	char fault[512];
	unsigned written;
};

static uint8_t port_held(const struct world *w, guid_t node, uint32_t lid)
{
	struct wire_ar_entry entry;

	return double_adaptive_entry(w->b.d, node, (uint16_t)lid, &entry)
		       ? entry.port
		       : double_lft(w->b.d, node, (uint16_t)lid);
}

static void set_cb(void *arg, guid_t node, uint16_t attr, uint32_t mod)
{
	struct world *w = arg;
	uint8_t entries[TABLES_BLOCK];
	const char *fault;
	uint32_t i;

	if (attr != (w->entries ? WIRE_AR_LFT : WIRE_LFT))
		return;
	w->written++;
	if (!w->judging || w->fault[0])
		return;
	mod /= w->entries ? PROGRAM_PARTS : 1;
	for (i = 0; i < TABLES_BLOCK; i++)
		entries[i] = port_held(w, node, mod * TABLES_BLOCK + i);
	mixture_write(&w->mix, topo_find(w->b.found, node), mod, entries);
	w->mix.cycles_allowed = w->program->order.drained > TABLES_BLOCK ? UINT32_MAX : 0;
	fault = mixture_fault(&w->mix, mod);
	if (fault)
		strcpy(w->fault, fault);
}

static void tables_without(const struct world *w, const struct topo *cut, struct tables *out)
{
	struct route *route = route_new();

	assert_int_equal(route_compute(route, cut, w->b.lids, NULL, out), 0);
	route_free(route);
}

static void done_cb(void *arg, const struct program_result *result)
{
	struct world *w = arg;

	w->result = *result;
	w->b.sweeps++;
}

static void apply(struct world *w, const struct tables *wanted)
{
	w->written = 0;
	program_apply(w->program, w->b.found, wanted, done_cb, w);
	loop_run(w->b.loop);
	assert_false(w->program->busy);
}

/* The n-th cable between switches, counted from either end. */
static struct topo *cut_cable(const struct topo *t, unsigned n)
{
	struct bench_cable cable = bench_cable(t, 0);

	while (n--)
		cable = bench_cable(t, cable.next);
	return damage_cut(t, topo_find(t, cable.a), cable.port_a);
}

/* ---- Entries of adaptive routing, all Static ------------------------------------------------- */

static struct entries *entries_of(void *arg, const struct inv_node *sw)
{
	const struct world *w = arg;

	return &w->entries[topo_find(w->b.found, sw->guid)];
}

static bool has_entries(void *arg, const struct inv_node *sw)
{
	return true;
}

static bool waits(void *arg)
{
	return false;
}

static unsigned differ(void *arg, const struct inv_node *sw, uint32_t block,
		       const uint8_t ports[TABLES_BLOCK])
{
	const struct world *w = arg;
	const struct entries *e = entries_of(arg, sw);
	unsigned parts = 0;

	for (uint32_t i = 0; i < PROGRAM_PARTS; i++) {
		uint32_t part = block * PROGRAM_PARTS + i, lid = part * PROGRAM_PART_LIDS;

		if (lid <= w->b.lids->top &&
		    (!e->known[part] ||
		     memcmp(e->ports + lid, ports + i * PROGRAM_PART_LIDS, PROGRAM_PART_LIDS) != 0))
			parts |= 1u << i;
	}
	return parts;
}

static void request(void *arg, const struct inv_node *sw, uint32_t part, const uint8_t *ports,
		    struct mad_request *request, uint8_t *data)
{
	struct entries *e = entries_of(arg, sw);

	request->attr_id = WIRE_AR_LFT;
	request->attr_mod = part;
	e->reads[part] = !ports;
	if (!ports)
		return;
	e->known[part] = false;
	e->filled[part] = true;
	memcpy(e->ports + part * PROGRAM_PART_LIDS, ports, PROGRAM_PART_LIDS);
	for (unsigned i = 0; i < PROGRAM_PART_LIDS; i++)
		wire_ar_entry_encode(
			&(struct wire_ar_entry){ .state = WIRE_AR_STATIC, .port = ports[i] },
			data + i * WIRE_AR_ENTRY_BYTES);
}

static bool answered(void *arg, const struct inv_node *sw, uint32_t part, const uint8_t *data)
{
	struct entries *e = entries_of(arg, sw);
	struct wire_ar_entry entry;

	e->known[part] = e->filled[part] = true;
	for (unsigned i = 0; i < PROGRAM_PART_LIDS; i++) {
		uint8_t *port = &e->ports[part * PROGRAM_PART_LIDS + i];

		wire_ar_entry_decode(data + i * WIRE_AR_ENTRY_BYTES, &entry);
		e->known[part] &= e->reads[part] || *port == entry.port;
		*port = e->reads[part] ? entry.port : *port;
	}
	return e->known[part];
}

static void refused(void *arg, const struct inv_node *sw)
{
}

static bool ports_of(void *arg, const struct inv_node *sw, uint32_t block,
		     uint8_t ports[TABLES_BLOCK])
{
	const struct world *w = arg;
	const struct entries *e = entries_of(arg, sw);
	bool all = true;

	for (uint32_t part = block * PROGRAM_PARTS; part < (block + 1) * PROGRAM_PARTS; part++)
		all &= e->filled[part] || part * PROGRAM_PART_LIDS > w->b.lids->top;
	memcpy(ports, e->ports + block * TABLES_BLOCK, TABLES_BLOCK);
	return all;
}

/* All switches forward by entries, which are in none of their blocks yet. */
static void forward_by_entries(struct world *w)
{
	struct double_packing packing = double_packing_draw(1, 1000);

	packing.lft_block = 0;
	w->entries = calloc(w->b.found->nswitches, sizeof(*w->entries));
	for (uint32_t row = 0; row < w->b.found->nswitches; row++) {
		guid_t guid = w->b.found->nodes[row].guid;
		struct dnode *sw = double_node(w->b.d, guid);
		struct wire_ar_info info;

		memset(w->entries[row].ports, TABLES_NO_ROUTE, sizeof(w->entries[row].ports));
		double_adaptive_able(w->b.d, guid, &packing, NULL);
		wire_ar_info_decode(sw->adaptive, &info);
		info.on = true;
		wire_ar_info_encode(&info, sw->adaptive);
	}
	w->ops = (struct program_entries){ .arg = w,
					   .has = has_entries,
					   .waits = waits,
					   .differ = differ,
					   .request = request,
					   .answered = answered,
					   .refused = refused,
					   .ports = ports_of };
}

/* ---- Worlds ---------------------------------------------------------------------------------- */

static void world_discover(struct world *w)
{
	struct topo *design = design_pgft3();

	*w = (struct world){ .written = 0 };
	bench_init(&w->b, design, NULL);
	bench_discover(&w->b);
	w->b.lids = lid_plan(w->b.found, NULL, 0);
}

/* `before` lacks one cable between switches, `other` another one; `after` has them all. */
static void world_init(struct world *w, unsigned first, unsigned second, bool by_entries)
{
	struct topo *cut;

	world_discover(w);
	cut = cut_cable(w->b.found, first);
	tables_without(w, cut, &w->before);
	topo_unref(cut);
	cut = cut_cable(w->b.found, second);
	tables_without(w, cut, &w->other);
	topo_unref(cut);
	tables_without(w, w->b.found, &w->after);
	w->program = program_new(w->b.loop, w->b.mad, sweep_inventory(w->b.sweep), LIFE_TIME);
	if (by_entries)
		forward_by_entries(w);
	program_use_entries(w->program, by_entries ? &w->ops : NULL);
	double_on_set(w->b.d, set_cb, w);
	apply(w, &w->before);
	mixture_init(&w->mix, w->b.found, w->b.lids, &w->before, &w->after);
	w->judging = true;
}

static void world_fini(struct world *w)
{
	mixture_fini(&w->mix);
	program_free(w->program);
	free(w->entries);
	tables_fini(&w->before);
	tables_fini(&w->after);
	tables_fini(&w->other);
	bench_fini(&w->b);
}

static void assert_sound(const struct world *w)
{
	if (w->fault[0])
		fail_msg("%s", w->fault);
}

static void assert_held(const struct world *w, const struct tables *tables)
{
	uint32_t row, lid;

	for (row = 0; row < w->b.found->nswitches; row++)
		for (lid = 1; lid <= tables->top; lid++)
			assert_int_equal(port_held(w, w->b.found->nodes[row].guid, lid),
					 tables_row(tables, row)[lid]);
}

static void a_change_goes_in_rounds_and_a_cold_start_at_once(void **state)
{
	for (unsigned by_entries = 0; by_entries < 2; by_entries++) {
		struct world w;

		world_init(&w, 0, 1, by_entries);
		assert_int_equal(w.result.rounds, 1);
		apply(&w, &w.after);
		assert_sound(&w);
		assert_true(w.result.rounds > 1);
		assert_int_equal(w.result.blocks, w.written);
		assert_int_equal(w.result.held, 0);
		assert_held(&w, &w.after);
		world_fini(&w);
	}
}

/* Switches that get SwitchInfo first answer while others are still planned for. */
static void a_change_goes_in_rounds_with_a_new_life_time_too(void **state)
{
	struct world w;
	unsigned first;

	for (first = 0; first < 9; first++) {
		world_init(&w, first, first + 1, false);
		loop_set_pace(w.b.loop, (struct loop_pace){ .slice_us = 0, .gap_us = 500 });
		program_configure(w.program, LIFE_TIME + 1);
		apply(&w, &w.after);
		assert_sound(&w);
		assert_true(w.result.rounds > 1);
		assert_int_equal(w.result.blocks, w.written);
		assert_held(&w, &w.after);
		world_fini(&w);
	}
}

/* Whoever fails, nobody loses what he had; and when it is well again, all is as wanted. */
static void fails_in_turn(void (*fail_it)(struct double_fabric *d, guid_t sw, bool on))
{
	unsigned held = 0, row, n;
	struct world w;

	for (row = 0, n = 1; row < n; row++) {
		guid_t sw;

		world_init(&w, 0, 1, false);
		n = w.b.found->nswitches;
		sw = w.b.found->nodes[row].guid;
		fail_it(w.b.d, sw, true);
		apply(&w, &w.after);
		assert_sound(&w);
		held += w.result.held;
		fail_it(w.b.d, sw, false);
		w.judging = false; /* what it holds is not known: no promise */
		apply(&w, &w.after);
		assert_int_equal(w.result.failed + w.result.held, 0);
		assert_held(&w, &w.after);
		world_fini(&w);
	}
	assert_true(held > 0);
}

static void refuse(struct double_fabric *d, guid_t sw, bool on)
{
	double_set_fault(d, sw, DOUBLE_BAD_STATUS, on ? 1000 : 0, 0x1c);
}

static void a_switch_that_refuses_keeps_others_from_sending_there(void **state)
{
	fails_in_turn(refuse);
}

static void a_silent_switch_keeps_others_from_sending_there(void **state)
{
	fails_in_turn(double_set_silent);
}

/* `after` is applied, and `other` in its place; false: the first one was over by then. */
static bool supersede(struct world *w, unsigned when)
{
	struct loop_timer *stop;
	bool busy;

	program_apply(w->program, w->b.found, &w->after, done_cb, w);
	stop = loop_timer_new(w->b.loop, (loop_fn *)loop_stop, w->b.loop);
	loop_timer_set(stop, when);
	loop_run(w->b.loop);
	loop_timer_free(stop);
	busy = w->program->busy;
	apply(w, &w->other);
	assert_sound(w);
	assert_held(w, &w->other);
	return busy;
}

static bool supersede_at(unsigned first, unsigned second, unsigned when, bool by_entries)
{
	struct world w;
	bool busy;

	world_init(&w, first, second, by_entries);
	mixture_goes_by(&w.mix, &w.other);
	busy = supersede(&w, when);
	world_fini(&w);
	return busy;
}

static void a_newer_apply_starts_from_what_is_there(void **state)
{
	unsigned first, second, when;

	for (first = 0; first < 9; first += damage_stride(3))
		for (second = 0; second < 9; second += damage_stride(2)) {
			for (when = 0; supersede_at(first, second, when, false); when += 5)
				;
			assert_true(when > 20 || first == second);
			for (when = 0; supersede_at(first, second, when, true); when += 5)
				;
			assert_true(when > 20 || first == second);
		}
}

/* A switch did not answer Sets of entries: it holds what it was sent, or what it had before. */
static bool supersede_behind_a_loss(unsigned lost, unsigned when)
{
	struct tables held = { 0 };
	struct world w;
	bool busy;

	world_init(&w, 0, 4, true);
	double_drop(w.b.d, w.b.found->nodes[lost].guid, WIRE_SET, WIRE_AR_LFT, true);
	apply(&w, &w.after);
	double_drop(w.b.d, w.b.found->nodes[lost].guid, WIRE_SET, WIRE_AR_LFT, false);
	assert_sound(&w);
	tables_copy(&held, &w.after);
	for (uint32_t row = 0; row < held.nswitches; row++)
		for (uint32_t lid = 1; lid <= held.top; lid++)
			tables_row(&held, row)[lid] =
				port_held(&w, w.b.found->nodes[row].guid, lid);
	mixture_fini(&w.mix);
	mixture_init(&w.mix, w.b.found, w.b.lids, &held, &w.other);
	mixture_goes_by(&w.mix, &w.after);
	w.judging = true;
	busy = supersede(&w, when);
	world_fini(&w);
	tables_fini(&held);
	return busy;
}

static void a_part_whose_set_was_lost_is_ordered_as_well(void **state)
{
	struct topo *design = design_pgft3();
	uint32_t count = design->nswitches;

	topo_unref(design);
	for (uint32_t lost = 0; lost < count; lost++)
		for (unsigned when = 0; supersede_behind_a_loss(lost, when); when += 25)
			;
}

/*
 * Answers that take longer than is waited: the blocks count as unknown, and are right in the end.
 */
static void answers_are_late(bool by_entries)
{
	struct loop_timer *stop;
	struct world w;
	uint32_t row;

	world_init(&w, 0, 1, by_entries);
	for (row = 0; row < w.b.found->nswitches; row += 2)
		double_set_fault(w.b.d, w.b.found->nodes[row].guid, DOUBLE_DELAY, 1000, 60000);
	w.judging = false;
	program_apply(w.program, w.b.found, &w.after, done_cb, &w);
	stop = loop_timer_new(w.b.loop, (loop_fn *)loop_stop, w.b.loop);
	loop_timer_set(stop, 100);
	loop_run(w.b.loop);
	loop_timer_free(stop);
	assert_true(w.program->busy);
	apply(&w, &w.other);
	assert_int_equal(w.result.failed, 0);
	assert_held(&w, &w.other);
	world_fini(&w);
}

static void a_late_answer_to_an_older_apply_is_waited_for_in_vain(void **state)
{
	answers_are_late(false);
	answers_are_late(true);
}

/*
 * Many paths change as switches come back with empty tables; perhaps one refuses what it is sent.
 */
static void reboots_in_an_upheaval(uint64_t seed, bool refuses)
{
	struct world w;
	struct topo *cut;

	world_discover(&w);
	cut = damage_links(w.b.found, 10 + seed % 30, seed);
	tables_without(&w, cut, &w.before);
	topo_unref(cut);
	cut = damage_links(w.b.found, 10 + seed % 20, ~seed);
	tables_without(&w, cut, &w.after);
	topo_unref(cut);
	w.program = program_new(w.b.loop, w.b.mad, sweep_inventory(w.b.sweep), LIFE_TIME);
	double_on_set(w.b.d, set_cb, &w);
	apply(&w, &w.before);
	tables_copy(&w.other, &w.before);
	for (unsigned n = 0; n < 1 + seed % 4; n++) {
		uint32_t row = (seed / 4 + 5 * n) % w.b.found->nswitches;

		double_reboot(w.b.d, w.b.found->nodes[row].guid);
		memset(tables_row(&w.other, row), TABLES_NO_ROUTE, w.other.stride);
	}
	bench_poll(&w.b);
	bench_refresh(&w.b, w.b.changed, w.b.result.nchanged);
	if (refuses)
		refuse(w.b.d, w.b.found->nodes[(seed / 4 + 2) % w.b.found->nswitches].guid, true);
	mixture_init(&w.mix, w.b.found, w.b.lids, &w.other, &w.after);
	w.mix.gone_allowed = TABLES_BLOCK; /* where an order has to drain some */
	w.judging = true;
	apply(&w, &w.after);
	assert_sound(&w);
	if (!refuses)
		assert_held(&w, &w.after);
	world_fini(&w);
}

static void a_switch_that_lost_its_tables_gets_entries_in_their_turns(void **state)
{
	for (uint64_t seed = 1; seed <= 24; seed++)
		reboots_in_an_upheaval(seed, seed % 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_goes_in_rounds_and_a_cold_start_at_once),
		cmocka_unit_test(a_change_goes_in_rounds_with_a_new_life_time_too),
		cmocka_unit_test(a_switch_that_refuses_keeps_others_from_sending_there),
		cmocka_unit_test(a_silent_switch_keeps_others_from_sending_there),
		cmocka_unit_test(a_newer_apply_starts_from_what_is_there),
		cmocka_unit_test(a_part_whose_set_was_lost_is_ordered_as_well),
		cmocka_unit_test(a_late_answer_to_an_older_apply_is_waited_for_in_vain),
		cmocka_unit_test(a_switch_that_lost_its_tables_gets_entries_in_their_turns),
	};

	log_set_level(-1, LOG_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
