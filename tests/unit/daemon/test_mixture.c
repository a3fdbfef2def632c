/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The whole daemon on the fabric double, with every write to a forwarding table and to a port
 * recorded: the mixture that the switches hold after each of them is judged by the cables as they
 * are then, and by the states of both ends of each. Where several cables come or go at once, tables
 * are wanted on the way that know some of them. SEEDS=n plays n mixtures a fabric, from FIRST=n
 * on, FABRIC="pgft 2 8,6 1,4 1,2" this fabric alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/fabric/foreign.h"
#include "tests/fabric/mixture.h"
#include "tests/lib/fabric_world.h"

#define CHAOS_STEPS   150
#define DOWN_MAX      4
#define MIXTURE_STEPS 8

struct record { /* a block as a switch took it over, or the state of a link */
	guid_t sw;
	bool is_link, active;
	uint32_t block; /* or port */
	uint8_t entries[TABLES_BLOCK];
};

struct played {
	struct world w;
	bool tree;
	struct record *records;
	uint32_t nrecords, size;
	struct tables before;
	unsigned may_go; /* LIDs that may be dark at a time */
	bool detours;	 /* engines for trees need so many that no spanning tree agrees with them */
	bool may_cycle;	 /* there: changes of the engine */
	bool *dark;	 /* by port of the design: links between switches that are not Active */
	unsigned judged, most_gone, cycles; /* writes; as in struct mixture */
	unsigned told;			    /* LIDs that the events told of */
	bool several;			    /* cables at once */
	struct tables between[MIXTURE_BETWEEN];
	unsigned nbetween;
	uint32_t salt; /* of other managers' tables */
};

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

static void note_wanted(struct played *p)
{
	const struct tables *wanted = fabric_tables(p->w.fabric);
	size_t bytes = (size_t)wanted->nswitches * wanted->stride;

	if (p->nbetween && !memcmp(wanted->lft, p->between[p->nbetween - 1].lft, bytes))
		return;
	assert_true(p->nbetween < MIXTURE_BETWEEN);
	tables_copy(&p->between[p->nbetween++], wanted);
}

static void set_cb(void *arg, guid_t node, uint16_t attr, uint32_t mod)
{
	struct played *p = arg;
	uint32_t at = topo_find(p->w.design, node);
	struct record *record;

	mod &= attr == WIRE_PORT_INFO ? UINT8_MAX : UINT32_MAX;
	if (attr != WIRE_LFT &&
	    (attr != WIRE_PORT_INFO || !is_between_switches(p->w.design, at, mod)))
		return;
	if (p->nrecords == p->size) {
		p->size = p->size ? 2 * p->size : 256;
		p->records = mem_resize(p->records, p->size, sizeof(*p->records));
	}
	record = &p->records[p->nrecords++];
	*record = (struct record){ .sw = node, .is_link = attr != WIRE_LFT, .block = mod };
	if (record->is_link) {
		record->active = is_active(&p->w, node, mod);
		return;
	}
	if (p->several)
		note_wanted(p);
	for (uint32_t i = 0; i < TABLES_BLOCK; i++)
		record->entries[i] = double_lft(p->w.hw, node, (uint16_t)(mod * TABLES_BLOCK + i));
}

static void played_init(struct played *p, struct topo *design)
{
	*p = (struct played){ .tree = true };
	world_init(&p->w, design);
	double_on_set(p->w.hw, set_cb, p);
}

static void played_fini(struct played *p)
{
	free(p->dark);
	world_fini(&p->w);
	tables_fini(&p->before);
	for (unsigned i = 0; i < MIXTURE_BETWEEN; i++)
		tables_fini(&p->between[i]);
	free(p->records);
}

static struct topo *fabric_of(const char *text)
{
	char copy[128], err[256] = "", *argv[16], *at = copy;
	int argc = 0;
	struct topo *t;

	snprintf(copy, sizeof(copy), "%s", text);
	while (argc < 16 && (argv[argc] = strsep(&at, " ")))
		argc++;
	t = generate_parse(argc, argv, err, sizeof(err));
	if (!t)
		fail_msg("%s: %s", text, err);
	return t;
}

static void tables_held(const struct world *w, uint16_t top, struct tables *out)
{
	const struct topo *t = w->design;

	tables_resize(out, t->nswitches, top);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (uint32_t lid = 0; lid < out->stride; lid++)
			tables_row(out, sw)[lid] =
				lid > top ? TABLES_NO_ROUTE
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

static uint32_t port_known_as(const struct world *w, uint32_t p)
{
	const struct topo_port *port = &w->design->ports[p];

	return topo_port_of(fabric_topo(w->fabric), w->design->nodes[port->node].guid, port->num);
}

static unsigned lids_told(const struct world *w)
{
	json_t *events = fabric_events(w->fabric, 1000), *event;
	unsigned lids = 0;
	size_t i;

	json_array_foreach (events, i, event)
		if (!strcmp(json_string_value(json_object_get(event, "kind")), "drained"))
			lids += (unsigned)json_integer_value(json_object_get(event, "lids"));
	json_decref(events);
	return lids;
}

/* From here on what switches are written is judged. */
static void judge_from_here(struct played *p)
{
	const struct topo *t = p->w.design;

	free(p->dark);
	p->dark = mem_alloc(t->nports, sizeof(*p->dark));
	for (uint32_t port = 0; port < t->nports; port++)
		if (is_between_switches(t, t->ports[port].node, t->ports[port].num))
			p->dark[port] = !is_active(&p->w, t->nodes[t->ports[port].node].guid,
						   t->ports[port].num);
	tables_held(&p->w, fabric_tables(p->w.fabric)->top, &p->before);
	p->nrecords = p->nbetween = 0;
}

/*
 * What the switches held after each write since then: no loop, no credit cycle that comes and goes,
 * and of a tree nobody dark; of another fabric 64 LIDs of hosts at a time, as the events tell.
 */
static void judge(struct played *p, const char *what)
{
	struct world *w = &p->w;
	const struct topo *t = fabric_topo(w->fabric);
	struct tables after = { 0 };
	struct mixture mix;

	tables_held(w, p->before.top, &after);
	mixture_init(&mix, t, fabric_lids(w->fabric), &p->before, &after);
	mix.gone_allowed = p->may_go;
	mix.hosts_owed = !p->may_go && lids_told(w) > p->told;
	mix.cycles_allowed = p->may_cycle ? UINT32_MAX : 0;
	for (unsigned i = 0; i < p->nbetween; i++)
		mixture_goes_by(&mix, &p->between[i]);
	for (uint32_t port = 0; port < w->design->nports; port++)
		if (p->dark[port] && t->ports[port_known_as(w, port)].peer != TOPO_NONE)
			mixture_link_dark(&mix, port_known_as(w, port));
	for (uint32_t i = 0; i < p->nrecords; i++) {
		const char *fault;

		write_record(&mix, &p->records[i]);
		if (p->records[i].is_link)
			continue; /* who is dark by it is found at the next write to a table */
		fault = mixture_fault(&mix, p->records[i].block);
		if (fault)
			fail_msg("%s: %s", what, fault);
	}
	p->judged += p->nrecords;
	p->cycles += mix.cycles;
	if (mix.most_gone > p->most_gone)
		p->most_gone = mix.most_gone;
	assert_memory_equal(mix.now.lft, after.lft, (size_t)after.nswitches * after.stride);
	assert_memory_equal(fabric_tables(w->fabric)->lft, after.lft,
			    (size_t)after.nswitches * after.stride);
	p->told = lids_told(w);
	assert_true(!mix.most_gone || p->told >= mix.most_gone);
	mixture_fini(&mix);
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
	struct played p;
	uint64_t seed = 3;

	played_init(&p, fabric_of("pgft 3 6,4,3 1,4,2 1,1,1"));
	for (unsigned i = 0; i < 20; i++) {
		struct cable cable = some_cable(&p.w, &seed);

		judge_from_here(&p);
		double_cut(p.w.hw, cable.node, cable.port);
		run_for(&p.w, SECOND_US / 2);
		judge(&p, "cut");
		assert_true(p.nrecords > 0);
		judge_from_here(&p);
		double_join(p.w.hw, cable.node, cable.port);
		run_for(&p.w, SECOND_US / 2);
		judge(&p, "repair");
		assert_true(p.nrecords > 0);
	}
	played_fini(&p);
}

/* ---- Tables of other managers ---------------------------------------------------------------- */

static void hold_foreign_tables(struct played *p, bool minhop, uint32_t root)
{
	const struct topo *t = fabric_topo(p->w.fabric);
	struct tables tables = { 0 };

	foreign_tables(t, fabric_lids(p->w.fabric), minhop, root, p->salt, &tables);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (uint32_t lid = 1; lid <= tables.top; lid++)
			double_set_lft(p->w.hw, t->nodes[sw].guid, (uint16_t)lid,
				       tables_row(&tables, sw)[lid]);
	tables_fini(&tables);
}

/* A manager that knows nothing of this fabric starts on what another one left. */
static void starts_on(struct played *p, bool minhop, uint64_t *seed)
{
	uint32_t root = damage_random(seed) % p->w.design->nswitches;

	hold_foreign_tables(p, minhop, p->tree ? TOPO_NONE : root);
	judge_from_here(p);
	stop_fabric(&p->w);
	remove_all_state(&p->w);
	p->told = 0; /* the events are gone */
	start_fabric(&p->w);
	run_for(&p->w, 2 * SECOND_US);
	assert_true(is_up(&p->w));
	judge(p, minhop ? "start behind minhop" : "start behind updn");
}

static void a_first_start_on_a_running_tree_disturbs_nobody(void **state)
{
	struct played p;
	uint64_t seed = 7;

	played_init(&p, fabric_of("pgft 3 6,4,3 1,4,2 1,1,1"));
	starts_on(&p, true, &seed);
	assert_true(p.judged > 0);
	starts_on(&p, true, &seed);
	played_fini(&p);
}

static void a_first_start_on_a_running_torus_makes_no_loop(void **state)
{
	struct played p;
	uint64_t seed = 9;

	played_init(&p, fabric_of("torus 8,8 --hosts 4"));
	p.tree = false;
	p.may_go = TABLES_BLOCK;
	for (unsigned i = 0; i < 4; i++)
		starts_on(&p, i % 2, &seed);
	print_message("%u writes, %u LIDs dark at most, %u told, %u with a cycle\n", p.judged,
		      p.most_gone, p.told, p.cycles);
	played_fini(&p);
}

/* ---- Everything in turn ---------------------------------------------------------------------- */

struct harm {
	struct cable down[DOWN_MAX];
	unsigned ndown;
	struct cable cordoned;
};

static void cable_falls_or_rises(struct played *p, struct harm *h, uint64_t *seed)
{
	if (h->ndown == DOWN_MAX || (h->ndown && damage_random(seed) % 2)) {
		unsigned i = damage_random(seed) % h->ndown;

		double_join(p->w.hw, h->down[i].node, h->down[i].port);
		h->down[i] = h->down[--h->ndown];
	} else {
		h->down[h->ndown] = some_cable(&p->w, seed);
		double_cut(p->w.hw, h->down[h->ndown].node, h->down[h->ndown].port);
		h->ndown++;
	}
}

static void random_faults_and_repairs_disturb_nobody_on_the_way(void **state)
{
	struct played p;
	struct harm h = { .ndown = 0 };
	uint64_t seed = 4711;

	played_init(&p, fabric_of("pgft 3 6,4,3 1,4,2 1,1,1"));
	for (unsigned step = 0; step < CHAOS_STEPS; step++) {
		judge_from_here(&p);
		cable_falls_or_rises(&p, &h, &seed);
		run_for(&p.w, SECOND_US / 2);
		judge(&p, "random");
	}
	print_message("%u writes judged\n", p.judged);
	assert_true(p.judged > CHAOS_STEPS);
	played_fini(&p);
}

static void cordon_or_not(struct played *p, struct harm *h, uint64_t *seed)
{
	char what[64];
	bool on = !h->cordoned.node;

	if (on)
		h->cordoned = some_cable(&p->w, seed);
	snprintf(what, sizeof(what), "0x%016lx/P%u", h->cordoned.node, h->cordoned.port);
	cordon(&p->w, what, on);
	if (!on)
		h->cordoned = (struct cable){ 0 };
}

static void plays(struct played *p, uint64_t *seed)
{
	static const char *const words[] = { "cables",	 "cables", "cables", "cordon",
					     "capacity", "engine", "quiet",  "restart" };
	struct harm h = { .ndown = 0 };

	for (unsigned step = 0; step < MIXTURE_STEPS; step++) {
		unsigned kind = (unsigned)(damage_random(seed) % 9);
		struct cable slow = some_cable(&p->w, seed);

		p->may_go =
			p->tree && p->w.conf.routing.engine != CONF_UPDN_ROOT ? 0 : TABLES_BLOCK;
		p->may_cycle = kind == 5 && p->detours;
		p->several = kind == 1 || kind == 2;
		if (kind == 8) {
			starts_on(p, damage_random(seed) % 2, seed);
			h.cordoned = (struct cable){ 0 }; /* with the state */
			continue;
		}
		judge_from_here(p);
		if (kind < 3)
			for (unsigned i = 0; i <= kind; i++)
				cable_falls_or_rises(p, &h, seed);
		else if (kind == 3)
			cordon_or_not(p, &h, seed);
		else if (kind == 4)
			double_retrain(p->w.hw, slow.node, slow.port, 1);
		else if (kind == 5)
			p->w.conf.routing.engine = (int)(damage_random(seed) % 3);
		if (kind == 5)
			fabric_configure(p->w.fabric, &p->w.conf);
		if (kind == 5)
			p->may_go = TABLES_BLOCK;
		if (kind == 7) {
			stop_fabric(&p->w);
			start_fabric(&p->w);
		}
		run_for(&p->w, kind == 6 ? 8 * SECOND_US : 2 * SECOND_US);
		judge(p, words[kind]);
	}
}

static unsigned number(const char *name, unsigned usual)
{
	const char *text = getenv(name);

	return text ? (unsigned)atoi(text) : usual;
}

static void play_from(const char *fabric, bool tree, uint64_t first, unsigned n)
{
	unsigned judged = 0, gone = 0, told = 0, cycles = 0;

	for (uint64_t s = first; s < first + n; s++) {
		struct played p;
		uint64_t seed = 1000 * s + 17;

		played_init(&p, fabric_of(fabric));
		p.tree = tree;
		p.salt = s > 2 ? s % 7 : 0;
		p.detours = !strncmp(fabric, "dragonfly+", 10);
		plays(&p, &seed);
		judged += p.judged;
		told += p.told;
		cycles += p.cycles;
		gone = p.most_gone > gone ? p.most_gone : gone;
		played_fini(&p);
	}
	print_message("%s: %u mixtures, %u writes: 0 loops, %u LIDs dark at most, %u told, %u with "
		      "a credit cycle\n",
		      fabric, n, judged, gone, told, cycles);
}

static void play_all(const char *fabric, bool tree)
{
	play_from(fabric, tree, number("FIRST", 1), number("SEEDS", 2));
}

static void all_changes_of_trees_in_any_mixture_disturb_nobody(void **state)
{
	play_all("pgft 3 4,4,3 1,4,2 1,1,2", true);
	play_all("pgft 2 8,6 1,4 1,2", true);
}

static void all_changes_of_other_fabrics_darken_64_lids_at_a_time(void **state)
{
	play_all("torus 4,4 --hosts 6", false);
	play_all("dragonfly+ 4,3,3 --hosts 6", false);
	play_all("hypercube 4 --hosts 6", false);
}

/* Three cables at once: no tree agrees with the older tables that leads to all switches. */
static void where_trees_leave_out_a_few_hosts_64_lids_are_dark_at_a_time(void **state)
{
	play_from("torus 4,4 --hosts 6", false, 54, 1);
}

/* Many entries of spines lead nowhere: detours by other turns. No host is behind these. */
static void engines_that_leave_spines_without_entries_go_by_trees(void **state)
{
	play_from("dragonfly+ 9,8,8", false, 1, 1);
}

/* Not in `make check`. */
static void all_changes_of_the_fabric_that_is_asked_for(void **state)
{
	play_all(getenv("FABRIC"), !strncmp(getenv("FABRIC"), "pgft", 4));
}

int main(void)
{
	const struct CMUnitTest asked[] = {
		cmocka_unit_test(all_changes_of_the_fabric_that_is_asked_for),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cut_and_a_repair_disturb_nobody_on_the_way),
		cmocka_unit_test(random_faults_and_repairs_disturb_nobody_on_the_way),
		cmocka_unit_test(a_first_start_on_a_running_tree_disturbs_nobody),
		cmocka_unit_test(a_first_start_on_a_running_torus_makes_no_loop),
		cmocka_unit_test(all_changes_of_trees_in_any_mixture_disturb_nobody),
		cmocka_unit_test(all_changes_of_other_fabrics_darken_64_lids_at_a_time),
		cmocka_unit_test(where_trees_leave_out_a_few_hosts_64_lids_are_dark_at_a_time),
		cmocka_unit_test(engines_that_leave_spines_without_entries_go_by_trees),
	};

	return getenv("FABRIC") ? cmocka_run_group_tests(asked, NULL, NULL)
				: cmocka_run_group_tests(tests, NULL, NULL);
}
