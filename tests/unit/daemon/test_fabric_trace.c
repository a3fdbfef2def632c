/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The order of things: what the manager sets in the fabric and what it logs, from a cold start to
 * its end, against the traces kept in tests/unit/daemon/trace/. A line is an event, or what was set
 * since the line before: attributes in the order of their first Set, how many Sets and at how many
 * nodes. TRACE=write writes the traces anew: read the difference before it is committed.
 *
 * Of the rooms' hooks hooks.txt has which rooms each one calls, in their order; and pairs of rooms
 * are swapped: it shows an order that fm/rooms.c demands, and any other makes no difference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <ctype.h>
#include "fm/fabric/pipe.h"
#include "fm/perf/module.h"
#include "fm/sm/election.h"
#include "tests/lib/fabric_world.h"

#define TRACES	  "tests/unit/daemon/trace/"
#define NODES_MAX 256

struct attribute {
	uint16_t id;
	const char *name;
};

static const struct attribute ATTRIBUTES[] = {
	{ 0x12, "SwitchInfo" },	      { 0x14, "GUIDInfo" },
	{ 0x15, "PortInfo" },	      { 0x16, "P_KeyTable" },
	{ 0x17, "SLtoVLMapping" },    { 0x18, "VLArbitration" },
	{ 0x19, "LinearForwarding" }, { 0x1b, "MulticastForwarding" },
	{ 0x20, "SMInfo" },
};

struct sets {
	uint16_t id;
	unsigned count, nnodes;
	guid_t nodes[NODES_MAX];
};

struct trace {
	FILE *out;
	char *text;
	size_t length;
	struct sets sets[16]; /* since the last line */
	unsigned nsets;
};

static const char *name_of(uint16_t id)
{
	for (size_t i = 0; i < sizeof(ATTRIBUTES) / sizeof(*ATTRIBUTES); i++)
		if (ATTRIBUTES[i].id == id)
			return ATTRIBUTES[i].name;
	return "another attribute";
}

static void count_node(struct sets *s, guid_t node)
{
	for (unsigned i = 0; i < s->nnodes; i++)
		if (s->nodes[i] == node)
			return;
	assert_true(s->nnodes < NODES_MAX);
	s->nodes[s->nnodes++] = node;
}

static void set_cb(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	struct trace *trace = arg;
	unsigned i = 0;

	while (i < trace->nsets && trace->sets[i].id != attr_id)
		i++;
	if (i == trace->nsets) {
		assert_true(i < sizeof(trace->sets) / sizeof(*trace->sets));
		trace->sets[trace->nsets++] = (struct sets){ .id = attr_id };
	}
	trace->sets[i].count++;
	count_node(&trace->sets[i], node);
}

static void end_of_sets(struct trace *trace)
{
	for (unsigned i = 0; i < trace->nsets; i++)
		fprintf(trace->out, "%sSet %s x %u at %u", i ? ", " : "  ",
			name_of(trace->sets[i].id), trace->sets[i].count, trace->sets[i].nnodes);
	if (trace->nsets)
		putc('\n', trace->out);
	trace->nsets = 0;
}

/*
 * Times are the simulated fabric's, and other figures of a text may change with it; the words tell
 * what was done.
 */
static void write_masked(FILE *out, const char *text)
{
	for (; *text; text++)
		if (!isdigit((unsigned char)*text))
			putc(*text, out);
		else if (!isdigit((unsigned char)text[1]))
			putc('#', out);
}

static void event_cb(void *arg, const json_t *event)
{
	struct trace *trace = arg;

	end_of_sets(trace);
	fprintf(trace->out, "%s: ", json_string_value(json_object_get(event, "kind")));
	write_masked(trace->out, json_string_value(json_object_get(event, "text")));
	putc('\n', trace->out);
}

static void follow(struct trace *trace, struct world *w)
{
	trace->out = open_memstream(&trace->text, &trace->length);
	assert_non_null(trace->out);
	double_on_set(w->hw, set_cb, trace);
	fabric_follow(w->fabric, event_cb, trace);
}

static void write_trace(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static void compare(const char *path, const char *text)
{
	size_t length;
	char *wanted = mem_read_path(path, &length);

	assert_non_null(wanted);
	assert_string_equal(text, wanted);
	free(wanted);
}

/* What has happened since follow() is what the file says. */
static void assert_trace(struct trace *trace, const char *name)
{
	char path[128];

	end_of_sets(trace);
	fclose(trace->out);
	snprintf(path, sizeof(path), TRACES "%s.txt", name);
	if (getenv("TRACE") && !strcmp(getenv("TRACE"), "write"))
		write_trace(path, trace->text);
	compare(path, trace->text);
	free(trace->text);
	*trace = (struct trace){ 0 };
}

/* ---- The stages of a manager's life ---------------------------------------------------------- */

static void init_stopped(struct world *w, struct trace *trace)
{
	const struct mad_conf mad = {
		.window_max = 64, .window_device = 16, .timeout_ms = 200, .retries = 3
	};

	*trace = (struct trace){ 0 };
	world_init_stopped(w, small_tree());
	w->mad = mad_new(w->loop, double_io(w->hw), &mad);
	w->fabric = fabric_new(w->loop, w->mad, &w->conf, fabric_rooms);
	follow(trace, w);
}

static void init(struct world *w, struct trace *trace)
{
	init_stopped(w, trace);
	fabric_start(w->fabric);
	run_for(w, 2 * SECOND_US);
}

/* Up, and what led there is not looked at. */
static void init_up(struct world *w, struct trace *trace)
{
	init(w, trace);
	assert_true(is_up(w));
	trace->nsets = 0;
	fclose(trace->out);
	free(trace->text);
	trace->out = open_memstream(&trace->text, &trace->length);
}

static void fini(struct world *w)
{
	double_on_set(w->hw, NULL, NULL);
	world_fini(w);
}

static void a_cold_start(void **state)
{
	struct trace trace;
	struct world w;

	init(&w, &trace);
	assert_true(is_up(&w));
	assert_trace(&trace, "cold-start");
	fini(&w);
}

static void a_fault_and_its_repair(void **state)
{
	struct trace trace;
	struct world w;
	guid_t leaf;

	init_up(&w, &trace);
	leaf = w.design->nodes[far_leaf(&w)].guid;
	double_cut(w.hw, leaf, 5);
	run_for(&w, 5 * SECOND_US);
	end_of_sets(&trace);
	fputs("-- the cable is back\n", trace.out);
	double_join(w.hw, leaf, 5);
	run_for(&w, 60 * SECOND_US);
	assert_trace(&trace, "fault");
	fini(&w);
}

static void a_cordon_and_its_end(void **state)
{
	struct trace trace;
	struct world w;

	init_up(&w, &trace);
	for (unsigned on = 2; on-- > 0;) {
		struct reply r = cordon(&w, w.design->nodes[far_leaf(&w) + 1].desc, on);

		assert_string_equal(r.error, "");
		json_decref(r.result);
		run_for(&w, 5 * SECOND_US);
	}
	assert_trace(&trace, "cordon");
	fini(&w);
}

static void a_reload(void **state)
{
	struct trace trace;
	struct world w;

	init_up(&w, &trace);
	w.conf.ports.packet_life_time++;
	w.conf.audit.rate = 100;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 5 * SECOND_US);
	assert_trace(&trace, "reload");
	fini(&w);
}

static void another_manager(struct world *w, struct trace *trace, const char *what,
			    const struct wire_sm_info *info)
{
	double_set_sm(w->hw, w->design->nodes[w->design->nswitches + 5].guid, 1, info);
	run_for(w, 120 * SECOND_US);
	end_of_sets(trace);
	fprintf(trace->out, "-- until here %s\n", what);
}

static void standing_by_taking_over_and_handing_over(void **state)
{
	struct wire_sm_info other = { .sm_key = 1, .priority = 15, .state = SM_MASTER };
	struct trace trace = { 0 };
	struct world w;

	init_stopped(&w, &trace);
	other.guid = w.design->ports[w.design->nodes[w.design->nswitches + 5].port0 + 1].guid;
	another_manager(&w, &trace, "nobody was started", &other);
	fabric_start(w.fabric);
	another_manager(&w, &trace, "another one was master", &other);
	another_manager(&w, &trace, "nobody else was there", NULL);
	other.state = SM_STANDBY;
	other.act_count++;
	another_manager(&w, &trace, "one that outranks it refused to take over", &other);
	assert_trace(&trace, "handover");
	fini(&w);
}

static void an_end(void **state)
{
	struct trace trace;
	struct world w;

	init_up(&w, &trace);
	fabric_free(w.fabric);
	assert_trace(&trace, "end");
	w.fabric = fabric_new(w.loop, w.mad, &w.conf, fabric_rooms); /* for world_fini() */
	fini(&w);
}

/* ---- Which room each hook calls, and when ---------------------------------------------------- */

#define ROOMS_MAX 24
#define CALLS_MAX 16384

/*
 * Rooms as the pipe sees them, each in place of a true one: a hook notes that it was called, and
 * calls the true one. A room's own functions find it by fabric_room() below.
 */
struct spy {
	void *room;
	const struct fabric_module *module;
};

struct call {
	const char *hook;
	int step;
	unsigned room;
};

static struct spy spies[ROOMS_MAX];
static struct fabric_module spied[ROOMS_MAX];
static struct call calls[CALLS_MAX];
static unsigned ncalls;

static bool is_spied(const struct fabric_module *module)
{
	return module >= spied && module < spied + ROOMS_MAX;
}

void *fabric_room(const struct fabric *f, const struct fabric_module *module)
{
	MODULES_EACH (f->kept.modules, row) {
		const struct spy *spy = is_spied(row->module) ? &spies[row->module - spied] : NULL;

		if (row->module == module)
			return row->room;
		if (spy && spy->module == module)
			return row->room ? spy->room : NULL;
	}
	return NULL;
}

static const struct spy *note(const void *room, const char *hook, int step)
{
	const struct spy *spy = room;

	assert_true(ncalls < CALLS_MAX);
	calls[ncalls++] = (struct call){ hook, step, (unsigned)(spy - spies) };
	return spy;
}

#define NOTED(hook, step, ...)                                                                     \
	const struct spy *spy = note(room, #hook, step);                                           \
	return spy->module->hook(spy->room, ##__VA_ARGS__)

static void spy_fini(void *room)
{
	NOTED(fini, -1);
}

static void spy_load(void *room, enum fabric_load_step step)
{
	NOTED(load, step, step);
}

static void spy_configure(void *room)
{
	NOTED(configure, -1);
}

static void spy_role(void *room, enum fabric_role role, enum fabric_role_step step)
{
	NOTED(role, step, role, step);
}

static void spy_trap(void *room, const struct wire_notice *notice, uint16_t from_lid,
		     unsigned times, bool forged)
{
	NOTED(trap, -1, notice, from_lid, times, forged);
}

static const char *spy_swept(void *room, const struct fabric_swept *swept)
{
	NOTED(swept, (int)swept->step * 2 + swept->light, swept);
}

static void spy_annotate(void *room, struct inventory *inventory)
{
	NOTED(annotate, -1, inventory);
}

static const char *spy_admit(void *room, const struct topo *next)
{
	NOTED(admit, next != NULL, next);
}

static void spy_route_input(const void *room, const struct topo *next, struct fabric_policy *policy)
{
	NOTED(route_input, -1, next, policy);
}

static void spy_published(void *room, enum fabric_update_step step, const struct topo *before)
{
	NOTED(published, step, step, before);
}

static void spy_programmed(void *room, const struct fabric_programmed *what)
{
	NOTED(programmed, what->tables ? 0 : what->multicast ? 1 : 2, what);
}

static void spy_settled(void *room, enum fabric_settle_step step)
{
	NOTED(settled, step, step);
}

static bool spy_improves(void *room)
{
	NOTED(improves, -1);
}

static void spy_status(const void *room, json_t *doc)
{
	NOTED(status, -1, doc);
}

#define SPY_INIT(n)                                                                                \
	static void *spy_init_##n(struct fabric *f)                                                \
	{                                                                                          \
		note(&spies[n], "init", -1);                                                       \
		spies[n].room = spies[n].module->init(f);                                          \
		return &spies[n];                                                                  \
	}
/* clang-format off */
#define SPIES(X) \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) \
	X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)
/* clang-format on */
SPIES(SPY_INIT)
#define SPY_INIT_OF(n) spy_init_##n,
static void *(*const inits[ROOMS_MAX])(struct fabric *f) = { SPIES(SPY_INIT_OF) };

static unsigned count_rooms(void)
{
	unsigned count = 0;

	while (fabric_rooms[count].module)
		count++;
	assert_true(count <= ROOMS_MAX);
	return count;
}

#define SPY(hook) spied[i].hook = true_one->hook ? spy_##hook : NULL

/* The rooms of fabric_rooms, spied upon, in their order, but that `a` and `b` change places. */
static void spy_on_rooms(struct fabric_row *rows, unsigned a, unsigned b)
{
	unsigned count = count_rooms();

	ncalls = 0;
	for (unsigned i = 0; i < count; i++) {
		const struct fabric_module *true_one = fabric_rooms[i].module;

		spied[i] = (struct fabric_module){ .name = true_one->name,
						   .lasts = true_one->lasts,
						   .check = true_one->check,
						   .init = inits[i] };
		spies[i] = (struct spy){ .module = true_one };
		SPY(fini);
		SPY(load);
		SPY(configure);
		SPY(role);
		SPY(trap);
		SPY(swept);
		SPY(annotate);
		SPY(admit);
		SPY(route_input);
		SPY(published);
		SPY(programmed);
		SPY(settled);
		SPY(improves);
		SPY(status);
		rows[i == a ? b : i == b ? a : i] = (struct fabric_row){ .module = &spied[i] };
	}
	rows[count] = (struct fabric_row){ 0 };
}

/* What the fabric, and who looks at it, have of a life with faults, operators and a reload. */
struct life {
	char *text;   /* events and Sets, as above */
	char *hooks;  /* each hook with the rooms that it called in a row, once */
	char *own;    /* room by room: its own hooks in their order */
	json_t *rows; /* unhealthy links, and alerts */
};

static void add_hook(FILE *out, const struct call *c)
{
	fprintf(out, c->step < 0 ? "%s:" : "%s %d:", c->hook, c->step);
}

/* A line for each run of calls of one hook; each line once. */
static char *hook_lines(void)
{
	char *text = NULL, *line = NULL;
	size_t size, length;
	FILE *out = open_memstream(&text, &size);

	for (unsigned i = 0, end; i < ncalls; i = end) {
		FILE *one = open_memstream(&line, &length);

		add_hook(one, &calls[i]);
		for (end = i; end < ncalls && calls[end].hook == calls[i].hook &&
			      calls[end].step == calls[i].step &&
			      (end == i || calls[end].room != calls[i].room);
		     end++)
			fprintf(one, " %s", spies[calls[end].room].module->name);
		putc('\n', one);
		fclose(one);
		fflush(out);
		if (!strstr(text, line))
			fputs(line, out);
		free(line);
	}
	fclose(out);
	return text;
}

static char *own_hooks(unsigned count)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (unsigned room = 0; room < count; room++) {
		fprintf(out, "%s", spies[room].module->name);
		for (unsigned i = 0; i < ncalls; i++) {
			if (calls[i].room != room)
				continue;
			putc(' ', out);
			add_hook(out, &calls[i]);
		}
		putc('\n', out);
	}
	fclose(out);
	return text;
}

static void live(struct world *w)
{
	guid_t leaf = w->design->nodes[far_leaf(w)].guid;
	struct reply r;

	double_cut(w->hw, leaf, 5);
	run_for(w, 2 * SECOND_US);
	double_join(w->hw, leaf, 5);
	run_for(w, 10 * SECOND_US);
	r = cordon(w, w->design->nodes[far_leaf(w) + 1].desc, true);
	assert_string_equal(r.error, "");
	json_decref(r.result);
	w->conf.ports.packet_life_time++;
	fabric_configure(w->fabric, &w->conf);
	run_for(w, 5 * SECOND_US);
}

static struct life life_of(unsigned a, unsigned b)
{
	struct fabric_row rows[ROOMS_MAX + 1];
	struct trace trace = { 0 };
	struct life life = { 0 };
	struct world w;
	const struct mad_conf mad = {
		.window_max = 64, .window_device = 16, .timeout_ms = 200, .retries = 3
	};

	spy_on_rooms(rows, a, b);
	world_init_stopped(&w, small_tree());
	/* A step of each job a turn, on a machine of any load. */
	loop_set_pace(w.loop, (struct loop_pace){ 0 });
	w.mad = mad_new(w.loop, double_io(w.hw), &mad);
	w.fabric = fabric_new(w.loop, w.mad, &w.conf, rows);
	follow(&trace, &w);
	fabric_start(w.fabric);
	run_for(&w, 2 * SECOND_US);
	live(&w);
	life.rows = json_pack("[o, o]", link_health_links(w.fabric), fabric_alerts(w.fabric));
	json_decref(fabric_status(w.fabric));
	fabric_free(w.fabric);
	end_of_sets(&trace);
	fclose(trace.out);
	life.text = trace.text;
	life.hooks = hook_lines();
	life.own = own_hooks(count_rooms());
	w.fabric = fabric_new(w.loop, w.mad, &w.conf, fabric_rooms); /* for world_fini() */
	fini(&w);
	return life;
}

static void life_fini(struct life *life)
{
	free(life->text);
	free(life->hooks);
	free(life->own);
	json_decref(life->rows);
}

static unsigned place_of(const struct fabric_module *module)
{
	unsigned i = 0;

	while (fabric_rooms[i].module && fabric_rooms[i].module != module)
		i++;
	return i;
}

static bool is_after(unsigned row, const struct fabric_module *module)
{
	const struct fabric_module *const *after = fabric_rooms[row].after;

	for (; after && *after; after++)
		if (*after == module)
			return true;
	return false;
}

static void each_hook_calls_rooms_in_their_order(void **state)
{
	struct life life = life_of(0, 0);

	if (getenv("TRACE") && !strcmp(getenv("TRACE"), "write"))
		write_trace(TRACES "hooks.txt", life.hooks);
	compare(TRACES "hooks.txt", life.hooks);
	life_fini(&life);
}

/* Whoever takes a row's .after away and swaps the two rows finds the trace of hooks changed. */
static void rooms_in_the_other_order_than_is_said_are_seen_in_the_trace(void **state)
{
	for (unsigned i = 0; fabric_rooms[i].module; i++) {
		const struct fabric_module *const *after = fabric_rooms[i].after;

		for (; after && *after; after++) {
			struct life life = life_of(place_of(*after), i);
			size_t length;
			char *wanted = mem_read_path(TRACES "hooks.txt", &length);

			assert_non_null(wanted);
			if (!strcmp(life.hooks, wanted))
				fail_msg("%s ahead of %s: nothing shows it",
					 fabric_rooms[i].module->name, (*after)->name);
			free(wanted);
			life_fini(&life);
		}
	}
}

static void neighbours_that_are_in_no_order_do_the_same_in_either(void **state)
{
	struct life usual = life_of(0, 0);

	for (unsigned i = 0; fabric_rooms[i + 1].module; i++) {
		struct life other;

		if (is_after(i + 1, fabric_rooms[i].module))
			continue;
		other = life_of(i, i + 1);
		if (strcmp(usual.text, other.text) || strcmp(usual.own, other.own) ||
		    !json_equal(usual.rows, other.rows))
			fail_msg("%s ahead of %s: not the same effects",
				 fabric_rooms[i + 1].module->name, fabric_rooms[i].module->name);
		life_fini(&other);
	}
	life_fini(&usual);
}

static void an_order_that_a_row_forbids_does_not_start(void **state)
{
	for (unsigned i = 0; fabric_rooms[i].module; i++) {
		const struct fabric_module *const *after = fabric_rooms[i].after;

		for (; after && *after; after++) {
			const struct fabric_row rows[] = { fabric_rooms[i],
							   fabric_rooms[place_of(*after)],
							   { 0 } };
			struct conf conf;
			char err[256];

			conf_default(&conf);
			assert_int_equal(fabric_check_conf(rows, &conf, err, sizeof(err)), -1);
			assert_non_null(strstr(err, (*after)->name));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cold_start),
		cmocka_unit_test(a_fault_and_its_repair),
		cmocka_unit_test(a_cordon_and_its_end),
		cmocka_unit_test(a_reload),
		cmocka_unit_test(standing_by_taking_over_and_handing_over),
		cmocka_unit_test(an_end),
		cmocka_unit_test(each_hook_calls_rooms_in_their_order),
		cmocka_unit_test(rooms_in_the_other_order_than_is_said_are_seen_in_the_trace),
		cmocka_unit_test(neighbours_that_are_in_no_order_do_the_same_in_either),
		cmocka_unit_test(an_order_that_a_row_forbids_does_not_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
