/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The order of things: what the manager sets in the fabric and what it logs, from a cold start to
 * its end, against the traces kept in tests/unit/daemon/trace/. A line is an event, or what was set
 * since the line before: attributes in the order of their first Set, how many Sets and at how many
 * nodes. TRACE=write writes the traces anew: read the difference before it is committed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <ctype.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cold_start),
		cmocka_unit_test(a_fault_and_its_repair),
		cmocka_unit_test(a_cordon_and_its_end),
		cmocka_unit_test(a_reload),
		cmocka_unit_test(standing_by_taking_over_and_handing_over),
		cmocka_unit_test(an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
