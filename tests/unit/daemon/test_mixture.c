/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The whole daemon on the fabric double, with every write to a forwarding table and to a port
 * recorded: the mixture that the switches hold after each of them is judged by the cables as they
 * are then, and by the states of both ends of each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/loop/log.h"
#include "fm/fabric/fabric.h"
#include "fm/fabric/view.h"
#include "fm/rooms.h"
#include "tests/fabric/damage.h"
#include "tests/fabric/double.h"
#include "tests/fabric/mixture.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"

#define SECOND_US   1000000ull
#define CHAOS_STEPS 150
#define DOWN_MAX    4

struct record { /* a block as a switch took it over, or the state of a link */
	guid_t sw;
	bool is_link, active;
	uint32_t block; /* or port */
	uint8_t entries[TABLES_BLOCK];
};

struct world {
	char state_dir[64];
	struct topo *design;
	struct loop *loop;
	struct double_fabric *hw;
	struct mad *mad;
	struct conf conf;
	struct fabric *fabric;
	struct loop_timer *stop;
	struct record *records;
	uint32_t nrecords, size;
	unsigned judged, drained; /* writes; entries emptied on the way to another port */
};

static void stop_cb(void *arg)
{
	loop_stop(arg);
}

static void run_for(struct world *w, uint64_t us)
{
	loop_timer_set(w->stop, us);
	assert_int_equal(loop_run(w->loop), 0);
}

static bool is_active(const struct world *w, guid_t guid, unsigned num)
{
	uint32_t node = topo_find(w->design, guid);
	const struct topo_port *peer = topo_peer(w->design, topo_port(w->design, node, num));

	return double_link_state(w->hw, guid, num) == TOPO_ACTIVE &&
	       double_link_state(w->hw, w->design->nodes[peer->node].guid, peer->num) ==
		       TOPO_ACTIVE;
}

static bool is_between_switches(const struct topo *t, uint32_t node, unsigned num)
{
	const struct topo_port *peer = num ? topo_peer(t, topo_port(t, node, num)) : NULL;

	return node < t->nswitches && peer && peer->node < t->nswitches;
}

static void set_cb(void *arg, guid_t node, uint16_t attr, uint32_t mod)
{
	struct world *w = arg;
	uint32_t at = topo_find(w->design, node);
	struct record *record;

	mod &= attr == WIRE_PORT_INFO ? UINT8_MAX : UINT32_MAX;
	if (attr != WIRE_LFT &&
	    (attr != WIRE_PORT_INFO || !is_between_switches(w->design, at, mod)))
		return;
	if (w->nrecords == w->size) {
		w->size = w->size ? 2 * w->size : 256;
		w->records = mem_resize(w->records, w->size, sizeof(*w->records));
	}
	record = &w->records[w->nrecords++];
	*record = (struct record){ .sw = node, .is_link = attr != WIRE_LFT, .block = mod };
	if (record->is_link) {
		record->active = is_active(w, node, mod);
		return;
	}
	for (uint32_t i = 0; i < TABLES_BLOCK; i++)
		record->entries[i] = double_lft(w->hw, node, (uint16_t)(mod * TABLES_BLOCK + i));
}

static void world_init(struct world *w, struct topo *design)
{
	const struct mad_conf mad = {
		.window_max = 64, .window_device = 16, .timeout_ms = 200, .retries = 3
	};

	assert_non_null(design);
	log_set_level(-1, LOG_ERR);
	*w = (struct world){ .design = design, .loop = loop_new_simulated() };
	strcpy(w->state_dir, "/tmp/fmd-test-XXXXXX");
	assert_non_null(mkdtemp(w->state_dir));
	conf_default(&w->conf);
	snprintf(w->conf.state_dir, sizeof(w->conf.state_dir), "%s", w->state_dir);
	w->hw = double_new(w->loop, design, design->nodes[design->nswitches].guid, 1, NULL);
	w->stop = loop_timer_new(w->loop, stop_cb, w->loop);
	w->mad = mad_new(w->loop, double_io(w->hw), &mad);
	w->fabric = fabric_new(w->loop, w->mad, &w->conf, fabric_rooms);
	fabric_start(w->fabric);
	run_for(w, 2 * SECOND_US);
	double_on_set(w->hw, set_cb, w);
}

static void world_fini(struct world *w)
{
	char path[128];

	fabric_free(w->fabric);
	mad_free(w->mad);
	double_free(w->hw);
	loop_timer_free(w->stop);
	loop_free(w->loop);
	snprintf(path, sizeof(path), "%s/lids", w->state_dir);
	unlink(path);
	rmdir(w->state_dir);
	topo_unref(w->design);
	free(w->records);
}

static struct topo *tree(void)
{
	static const unsigned m[] = { 6, 4, 3 }, w[] = { 1, 4, 2 }, p[] = { 1, 1, 1 };
	char err[256];

	return generate_pgft(3, m, w, p, err, sizeof(err));
}

static void tables_held(const struct world *w, struct tables *out)
{
	const struct topo *t = fabric_view(w->fabric).topo;

	tables_resize(out, t->nswitches, fabric_view(w->fabric).tables->top);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (uint32_t lid = 0; lid < out->stride; lid++)
			tables_row(out, sw)[lid] =
				lid > out->top ? TABLES_NO_ROUTE
					       : double_lft(w->hw, t->nodes[sw].guid, lid);
}

static void write_record(struct mixture *mix, const struct record *record)
{
	if (record->is_link)
		mixture_link(mix, topo_port_of(mix->topo, record->sw, record->block),
			     record->active);
	else
		mixture_write(mix, topo_find(mix->topo, record->sw), record->block,
			      record->entries);
}

/*
 * Entries that are emptied only to be filled again: the last resort against a credit cycle. Ways to
 * their LIDs are excused, but none between hosts: what comes in the way of one another here is
 * management's.
 */
static void excuse_drains(struct world *w, struct mixture *mix, const struct tables *after)
{
	for (uint32_t n = 0; n < w->nrecords; n++) {
		const struct record *record = &w->records[n];
		uint32_t sw = topo_find(mix->topo, record->sw), lid = record->block * TABLES_BLOCK;

		for (uint32_t i = 0; i < TABLES_BLOCK && !record->is_link; i++, lid++) {
			if (record->entries[i] != TABLES_NO_ROUTE ||
			    tables_row(&mix->now, sw)[lid] == TABLES_NO_ROUTE ||
			    tables_row(after, sw)[lid] == TABLES_NO_ROUTE)
				continue;
			mix->excused[lid] = true;
			w->drained++;
		}
		write_record(mix, record);
	}
}

/* By port of the design: links between switches that are not Active. */
static bool *dark_links(const struct world *w)
{
	const struct topo *t = w->design;
	bool *dark = mem_alloc(t->nports, sizeof(*dark));

	for (uint32_t p = 0; p < t->nports; p++)
		if (is_between_switches(t, t->ports[p].node, t->ports[p].num))
			dark[p] = !is_active(w, t->nodes[t->ports[p].node].guid, t->ports[p].num);
	return dark;
}

static uint32_t port_known_as(const struct world *w, uint32_t p)
{
	const struct topo_port *port = &w->design->ports[p];

	return topo_port_of(fabric_view(w->fabric).topo, w->design->nodes[port->node].guid,
			    port->num);
}

/* Runs until a change is answered, then judges what the switches held after each write for it. */
static void judge_change(struct world *w, uint64_t us, const char *what)
{
	struct tables before = { 0 }, after = { 0 };
	struct mixture mix;
	bool *dark = dark_links(w);

	tables_held(w, &before);
	w->nrecords = 0;
	run_for(w, us);
	tables_held(w, &after);
	mixture_init(&mix, fabric_view(w->fabric).topo, fabric_view(w->fabric).lids, &before,
		     &after);
	for (uint32_t p = 0; p < w->design->nports; p++)
		if (dark[p])
			mixture_link_dark(&mix, port_known_as(w, p));
	free(dark);
	excuse_drains(w, &mix, &after);
	mixture_rewind(&mix);
	mix.hosts_owed = true;
	for (uint32_t i = 0; i < w->nrecords; i++) {
		const char *fault;

		write_record(&mix, &w->records[i]);
		if (w->records[i].is_link)
			continue; /* who is dark by it is found at the next write to a table */
		fault = mixture_fault(&mix, w->records[i].block);
		if (fault)
			fail_msg("%s: %s", what, fault);
	}
	w->judged += w->nrecords;
	assert_memory_equal(mix.now.lft, after.lft, (size_t)after.nswitches * after.stride);
	assert_memory_equal(fabric_view(w->fabric).tables->lft, after.lft,
			    (size_t)after.nswitches * after.stride);
	mixture_fini(&mix);
	tables_fini(&before);
	tables_fini(&after);
}

struct cable {
	guid_t node;
	unsigned port;
};

/* A cable between switches that is up. */
static struct cable some_cable(const struct world *w, uint64_t *seed)
{
	for (;;) {
		uint32_t sw = damage_random(seed) % w->design->nswitches;
		unsigned port = 1 + damage_random(seed) % w->design->nodes[sw].nports;
		const struct topo_port *peer = topo_peer(w->design, topo_port(w->design, sw, port));
		struct cable cable = { w->design->nodes[sw].guid, port };

		if (peer && peer->node < w->design->nswitches &&
		    double_link_state(w->hw, cable.node, port) != TOPO_DOWN)
			return cable;
	}
}

static void a_cut_and_a_repair_disturb_nobody_on_the_way(void **state)
{
	struct world w;
	uint64_t seed = 3;

	world_init(&w, tree());
	for (unsigned i = 0; i < 20; i++) {
		struct cable cable = some_cable(&w, &seed);

		double_cut(w.hw, cable.node, cable.port);
		judge_change(&w, SECOND_US / 2, "cut");
		assert_true(w.nrecords > 0);
		double_join(w.hw, cable.node, cable.port);
		judge_change(&w, SECOND_US / 2, "repair");
		assert_true(w.nrecords > 0);
	}
	assert_int_equal(w.drained, 0);
	world_fini(&w);
}

static void random_faults_and_repairs_disturb_nobody_on_the_way(void **state)
{
	struct world w;
	struct cable down[DOWN_MAX];
	unsigned ndown = 0;
	uint64_t seed = 4711;

	world_init(&w, tree());
	for (unsigned step = 0; step < CHAOS_STEPS; step++) {
		if (ndown == DOWN_MAX || (ndown && damage_random(&seed) % 2)) {
			unsigned i = damage_random(&seed) % ndown;

			double_join(w.hw, down[i].node, down[i].port);
			down[i] = down[--ndown];
		} else {
			down[ndown] = some_cable(&w, &seed);
			double_cut(w.hw, down[ndown].node, down[ndown].port);
			ndown++;
		}
		judge_change(&w, SECOND_US / 2, "random");
	}
	print_message("%u writes judged, %u entries drained\n", w.judged, w.drained);
	assert_true(w.judged > CHAOS_STEPS);
	assert_true(w.drained * 20 < w.judged);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cut_and_a_repair_disturb_nobody_on_the_way),
		cmocka_unit_test(random_faults_and_repairs_disturb_nobody_on_the_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
