/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "fm/control/option.h"
#include "topology/base/text.h"
#include "fm/fmctl/fmctl.h"
#include "fm/fmctl/table.h"
#include "topology/cabling/cabling.h"
#include "topology/generate/generate.h"
#include "topology/graph/cutoff.h"
#include "topology/files/netfile.h"
#include "topology/snapshot/topo_builder.h"

/*
 * fmctl generate: a reference fabric as an ibnetdiscover file on stdout; the arguments are
 * generate_parse()'s.
 */

static const char usage[] =
	"usage: fmctl generate superpod --su N [--system a100|h100|b200] "
	"[--no-sharp]\n"
	"       fmctl generate pgft H m1,.. w1,.. [p1,..]\n"
	"       fmctl generate torus|ring|hypercube|hyperx|dragonfly+|jellyfish "
	"SIZE[,SIZE]..\n"
	"                      [--hosts N] [--cables N] [--seed N]\n";

static enum fmctl_exit run_generate(const struct fmctl *ctl, int argc, char **argv)
{
	char err[256] = "";
	struct topo *t;
	int status;

	if (argc < 2) {
		fputs(usage, stderr);
		return FMCTL_USAGE;
	}
	t = generate_parse(argc - 1, argv + 1, err, sizeof(err));
	if (!t) {
		fprintf(stderr, "fmctl: generate: %s\n", err);
		return FMCTL_USAGE;
	}
	status = netfile_write(t, stdout);
	topo_unref(t);
	if (!status)
		return FMCTL_DONE;
	fprintf(stderr, "fmctl: generate: %s\n", strerror(-status));
	return FMCTL_FAILED;
}
const struct fmctl_view generate_view = { .run = run_generate, .usage = usage };

/* fmctl path: hop by hop; between machines with several HCAs a row for each pair. */

/* "leaf-01 > spine-02 > leaf-07", or why there is none. */
static json_t *via_text(const json_t *row)
{
	const json_t *list = json_object_get(row, "via"), *name;
	char text[512] = "";
	size_t i;

	if (json_object_get(row, "error"))
		return json_incref(json_object_get(row, "error"));
	json_array_foreach ((json_t *)list, i, name)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " > " : "",
			 json_string_value(name));
	return json_string(text);
}

static void show_path(const struct fmctl *ctl, const json_t *result)
{
	static const struct table_column columns[] = {
		{ "FROM", "from" }, { "TO", "to" }, { "LID", "dlid" }, { "BY", "by" }, { 0 },
	};
	json_t *paths = json_object_get(result, "paths"), *rows, *row;
	size_t i;

	if (!paths) {
		show_columns(ctl, result);
		return;
	}
	rows = json_deep_copy(paths);
	json_array_foreach (rows, i, row)
		json_object_set_new(row, "by", via_text(row));
	table_print(ctl, rows, columns);
	json_decref(rows);
}
const struct fmctl_view path_view = { .show = show_path };

/* traffic: counters of ports and the busiest links, as people read them. */

#define ENDS	    4 /* of the columns of `counters`: which port */
#define VALUES	    8 /* behind these */
#define COLUMNS_MAX 16

/* Errors that no port has are left out. */
static void show_counters(const struct fmctl *ctl, const json_t *result)
{
	const struct table_column *all = ctl->command->columns;
	struct table_column shown[COLUMNS_MAX + 1] = { 0 };
	unsigned count = 0;

	for (unsigned i = 0; all[i].title && count < COLUMNS_MAX; i++)
		if (i < ENDS || (i >= ENDS + VALUES) == ctl->given)
			shown[count++] = all[i];
	show_rows(ctl, result, shown, ctl->given ? 0 : VALUES - 2);
}
const struct fmctl_view counters_view = { .show = show_counters };

static void show_top(const struct fmctl *ctl, const json_t *result)
{
	static const struct table_column columns[] = {
		{ "FROM", "from.name" },      { "PORT", "from.port" },	    { "TO", "to.name" },
		{ "PORT", "to.port" },	      { "LOAD %", "load_percent" }, { "Gb/s", "gbps" },
		{ "BACK Gb/s", "back_gbps" }, { "WIDTH", "width" },	    { "SPEED", "speed" },
		{ "ERR/s", "errors_per_s" },  { "READ s AGO", "age_s" },    { 0 }
	};
	const json_t *hottest = json_object_get(result, "hottest");
	const json_t *errors = json_object_get(result, "errors");

	json_int_t links = json_integer_value(json_object_get(result, "links"));

	printf("%lld %s up, load known for %lld\n", (long long)links,
	       links == 1 ? "link is" : "links are",
	       (long long)json_integer_value(json_object_get(result, "known")));
	if (json_array_size(hottest))
		show_rows(ctl, hottest, columns, 0);
	if (!json_array_size(errors))
		return;
	puts("\nmost errors");
	show_rows(ctl, errors, columns, 0);
}
const struct fmctl_view top_view = { .show = show_top };

/*
 * fmctl cabling: cables in the wrong place. fmd compares the fabric with its own pattern. For a
 * plan, fmd sends the fabric with its links that are down, and fmctl reads the plan and compares:
 * fmd opens no files for its clients.
 */

/* ---- The fabric out of fmd's document -------------------------------------------------------- */

static const char *string(const json_t *object, const char *key)
{
	const char *text = json_string_value(table_value(object, key));

	return text ? text : "";
}

static guid_t guid(const json_t *object, const char *key)
{
	return strtoull(string(object, key), NULL, 16);
}

static int add_node(struct topo_builder *b, const json_t *row)
{
	const char *type = string(row, "type");
	const struct topo_node_attr attr = {
		.guid = guid(row, "guid"),
		.desc = string(row, "description"),
		.label = string(row, "name"),
		.nports = (uint8_t)json_integer_value(table_value(row, "ports")),
		.type = !strcmp(type, "switch")	  ? TOPO_SWITCH
			: !strcmp(type, "router") ? TOPO_ROUTER
						  : TOPO_CA,
		.sharp = !strcmp(string(row, "role"), "sharp"),
	};

	return topo_builder_node(b, &attr);
}

static void add_label(struct topo_builder *b, const json_t *row, const char *end)
{
	const json_t *at = json_object_get(row, end);
	const char *label = string(at, "label");

	if (*label)
		topo_builder_label(b, topo_builder_find(b, guid(at, "guid")),
				   (unsigned)json_integer_value(json_object_get(at, "port")),
				   label);
}

static int add_link(struct topo_builder *b, const json_t *row)
{
	add_label(b, row, "a");
	add_label(b, row, "b");
	return topo_builder_link(b, topo_builder_find(b, guid(row, "a.guid")),
				 (unsigned)json_integer_value(table_value(row, "a.port")),
				 topo_builder_find(b, guid(row, "b.guid")),
				 (unsigned)json_integer_value(table_value(row, "b.port")),
				 json_is_true(table_value(row, "up")));
}

/* NULL when the document is no fabric. */
static struct topo *read_fabric(const json_t *document)
{
	struct topo_builder *b = topo_builder_new();
	const json_t *row;
	int status = 0;
	size_t i;

	json_array_foreach (json_object_get(document, "nodes"), i, row)
		if (status >= 0)
			status = add_node(b, row);
	json_array_foreach (json_object_get(document, "links"), i, row)
		if (status >= 0)
			status = add_link(b, row);
	if (status >= 0)
		return topo_freeze(b);
	topo_builder_free(b);
	return NULL;
}

/* ---- The answer ------------------------------------------------------------------------------ */

static size_t count_findings(const json_t *part)
{
	return json_array_size(json_object_get(part, "differ"));
}

static void print_finding(const json_t *row)
{
	const char *instruction = string(row, "instruction");
	json_int_t of = json_integer_value(table_value(row, "of"));

	printf("  %s\n", string(row, "text"));
	printf("      %s", instruction);
	if (of && !table_value(row, "expected.width") && strcmp(string(row, "kind"), "host") != 0)
		printf(" (%lld of %lld agree)", json_integer_value(table_value(row, "votes")), of);
	putchar('\n');
}

static void print_part(const char *label, const json_t *part)
{
	const json_t *rows = json_object_get(part, "differ"), *row;
	json_int_t expected = json_integer_value(json_object_get(part, "compared"));
	json_int_t left_out = json_integer_value(json_object_get(part, "not_unique"));
	json_int_t cables = json_integer_value(json_object_get(part, "cables"));
	size_t i;

	printf("%-12s%lld %s, %lld expected by the %s", label, cables,
	       words_plural((uint64_t)cables, "cable", "cables"), expected, label);
	if (json_array_size(rows))
		printf(": %zu finding%s\n", json_array_size(rows),
		       json_array_size(rows) == 1 ? "" : "s");
	else
		printf(": %s\n", expected ? "no cabling errors found" : "too little to compare");
	if (left_out)
		printf("%-12s%lld %s not unique\n", "", left_out,
		       words_plural((uint64_t)left_out, "node ignored: its name is",
				    "nodes ignored: their names are"));
	json_array_foreach ((json_t *)rows, i, row)
		print_finding(row);
}

static void show_cabling(const struct fmctl *ctl, const json_t *result)
{
	const json_t *plan = json_object_get(result, "plan");

	print_part("pattern", json_object_get(result, "pattern"));
	if (plan)
		print_part("plan", plan);
}

struct order {
	const char *plan; /* path, NULL = none */
	bool check;
};

/* The fabric, as fmd gives it; NULL when that failed: *status says how, stderr why. */
static struct topo *ask_fabric(const struct fmctl *ctl, enum fmctl_exit *status)
{
	struct fmctl_answer asked =
		fmctl_ask(ctl, "topology", json_pack("{s:s}", "format", "json"));
	struct topo *t;

	*status = asked.status;
	if (asked.status != FMCTL_DONE)
		return NULL;
	t = read_fabric(asked.result);
	json_decref(asked.result);
	if (!t) {
		fputs("fmctl: cabling: fmd's answer is not a topology\n", stderr);
		*status = FMCTL_FAILED;
	}
	return t;
}

static enum fmctl_exit add_plan(const struct fmctl *ctl, const char *path, json_t *result)
{
	enum fmctl_exit status;
	struct topo *t = ask_fabric(ctl, &status), *plan;
	struct cabling *differ;
	char err[512];

	if (!t)
		return status;
	plan = cabling_plan_read(path, t, err, sizeof(err));
	if (!plan) {
		fprintf(stderr, "fmctl: cabling: %s\n", err);
		topo_unref(t);
		return FMCTL_FAILED;
	}
	differ = cabling_compare(plan, t);
	json_object_set_new(result, "plan", cabling_json(differ));
	cabling_free(differ);
	topo_unref(plan);
	topo_unref(t);
	return FMCTL_DONE;
}

static enum fmctl_exit answer(const struct fmctl *ctl, const struct order *order)
{
	struct fmctl_answer asked = fmctl_ask(ctl, "cabling", json_object());
	size_t findings;

	if (asked.status == FMCTL_DONE && order->plan)
		asked.status = add_plan(ctl, order->plan, asked.result);
	if (asked.status != FMCTL_DONE) {
		json_decref(asked.result);
		return asked.status;
	}
	(ctl->json ? show_json : show_cabling)(ctl, asked.result);
	findings = count_findings(json_object_get(asked.result, "pattern")) +
		   count_findings(json_object_get(asked.result, "plan"));
	json_decref(asked.result);
	return order->check && findings ? FMCTL_FAILED : FMCTL_DONE;
}

static enum fmctl_exit run_cabling(const struct fmctl *ctl, int argc, char **argv)
{
	static const struct option longs[] = { { "plan", required_argument, NULL, 'p' },
					       { "check", no_argument, NULL, 'c' },
					       { 0 } };
	struct order order = { 0 };
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'p')
			order.plan = optarg;
		else if (c == 'c')
			order.check = true;
		else
			return FMCTL_USAGE;
	}
	return optind == argc ? answer(ctl, &order) : FMCTL_USAGE;
}
const struct fmctl_view cabling_view = { .run = run_cabling };

/*
 * fmctl whatif: what a failure, a cordon or degraded NVLinks would change in the running fabric,
 * with fmd's LIDs, classes and tables. `fmctl plan --fail` computes the same for a file.
 */

static json_int_t integer(const json_t *object, const char *key)
{
	return json_integer_value(table_value(object, key));
}

static double number(const json_t *object, const char *key)
{
	return json_number_value(table_value(object, key));
}

static void print_links(const json_t *result)
{
	printf("%-12s", "links");
	if (integer(result, "links_failed"))
		printf("%lld would fail; ", (long long)integer(result, "links_failed"));
	if (integer(result, "links_cordoned"))
		printf("%lld would be cordoned; ", (long long)integer(result, "links_cordoned"));
	printf("%lld down afterwards\n", (long long)integer(result, "links_down"));
}

static void print_pattern(const json_t *result, const char *title, const char *key)
{
	char mean[64], max[64];
	const json_t *now = table_value(result, "before.congestion");
	const json_t *then = table_value(result, "congestion");

	snprintf(mean, sizeof(mean), "%s_mean", key);
	snprintf(max, sizeof(max), "%s_max", key);
	printf("  %-14s %6.2f %5lld   %6.2f %5lld\n", title, number(now, mean),
	       (long long)integer(now, max), number(then, mean), (long long)integer(then, max));
}

static void print_congestion(const json_t *result)
{
	printf("%-12sflows on the worst link, mean and worst of the samples\n", "congestion");
	printf("  %-14s %12s   %12s\n", "", "now", "then");
	print_pattern(result, "shift", "shift");
	print_pattern(result, "rail shift", "rail_shift");
	print_pattern(result, "random", "random");
	print_pattern(result, "to storage", "storage");
	printf("  %-14s %12.2f   %12.2f  of the mean link\n", "all-to-all",
	       number(result, "before.congestion.all_to_all_ratio"),
	       number(result, "congestion.all_to_all_ratio"));
}

static void show_whatif(const struct fmctl *ctl, const json_t *result)
{
	show_lost(ctl, json_object_get(result, "lost"));
	print_links(result);
	show_proof(ctl, json_object_get(result, "proof"));
	table_print_change((uint64_t)integer(result, "delta.entries"),
			   (uint64_t)integer(result, "delta.entries_minimum"),
			   (uint64_t)integer(result, "delta.blocks"),
			   (uint64_t)integer(result, "delta.switches"));
	if (json_is_object(json_object_get(result, "at_risk")))
		printf("%-12s%s\n", "at risk",
		       json_string_value(table_value(result, "at_risk.text")));
	show_trial(json_object_get(result, "nvswitch"));
	show_affected(json_object_get(result, "pays"));
	print_congestion(result);
}

/* With --check: whether somebody loses something, or has no path to what links lead to. */
static enum fmctl_exit verdict(const json_t *result)
{
	return lost_any(json_object_get(result, "lost")) || integer(result, "proof.unreachable")
		       ? FMCTL_FAILED
		       : FMCTL_DONE;
}

enum { CHECK = 'k' };

/* The request, and whether --check is there; NULL = wrong usage. The caller owns it. */
static json_t *whatif_read_arguments(const struct fmctl *ctl, int argc, char **argv, bool *check)
{
	static const struct option longs[] = { { "fail", required_argument, NULL, 'f' },
					       { "cordon", required_argument, NULL, 'c' },
					       { "nvswitch", required_argument, NULL, 'n' },
					       { "check", no_argument, NULL, CHECK },
					       { 0 } };
	json_t *args = json_pack("{s:[], s:[], s:[]}", "fail", "cordon", "nvswitch");
	unsigned named = 0;
	int c, which;

	while ((c = getopt_long(argc, argv, "", longs, &which)) > 0 && c != '?') {
		*check |= c == CHECK;
		if (c == CHECK)
			continue;
		if (!fmctl_is_value(ctl, c == 'n' ? "HOST=STATE" : "WHAT", optarg))
			break;
		json_array_append_new(json_object_get(args, longs[which].name),
				      json_string(optarg));
		named++;
	}
	if (c == -1 && optind == argc && named)
		return args;
	json_decref(args);
	return NULL;
}

static enum fmctl_exit run_whatif(const struct fmctl *ctl, int argc, char **argv)
{
	bool check = false;
	json_t *args = whatif_read_arguments(ctl, argc, argv, &check);
	struct fmctl_answer answer = { .status = FMCTL_USAGE };

	if (args)
		answer = fmctl_ask(ctl, "whatif", args);
	if (answer.status == FMCTL_DONE) {
		(ctl->json ? show_json : show_whatif)(ctl, answer.result);
		answer.status = check ? verdict(answer.result) : FMCTL_DONE;
	}
	json_decref(answer.result);
	return answer.status;
}
const struct fmctl_view whatif_view = { .run = run_whatif };

/*
 * events: what happened, a line each, so that `events -f` and grep go together. A fault and what
 * was made of it (rerouted, restored) are one line where both are at hand: events of one fault have
 * the number of its first in "fault".
 */

static const char *text_of(const json_t *event, const char *key)
{
	const char *text = json_string_value(json_object_get(event, key));

	return text ? text : "";
}

static bool is_answer(const json_t *event)
{
	const char *kind = text_of(event, "kind");

	return !strcmp(kind, "rerouted") || !strcmp(kind, "restored");
}

/* Numbers rise, but for gaps. */
static const json_t *find_number(const json_t *events, json_int_t number)
{
	size_t low = 0, high = json_array_size(events);

	while (low < high) {
		size_t at = (low + high) / 2;
		const json_t *event = json_array_get(events, at);
		json_int_t seq = json_integer_value(json_object_get(event, "seq"));

		if (seq == number)
			return event;
		if (seq < number)
			low = at + 1;
		else
			high = at;
	}
	return NULL;
}

/* What stands in the answer's text behind the fault's name. */
static const char *answer_of(const json_t *event)
{
	const char *text = text_of(event, "text"), *what = text_of(event, "what");
	size_t len = strlen(what);

	return len && !strncmp(text, what, len) && !strncmp(text + len, ": ", 2) ? text + len + 2
										 : text;
}

/* The answer to the fault that the event is the first to tell of; NULL = none is at hand. */
static const json_t *find_answer(const json_t *events, size_t index)
{
	const json_t *event = json_array_get(events, index), *other;
	json_int_t fault = json_integer_value(json_object_get(event, "fault"));

	if (!fault || fault != json_integer_value(json_object_get(event, "seq")))
		return NULL;
	while ((other = json_array_get(events, ++index)))
		if (is_answer(other) &&
		    json_integer_value(json_object_get(other, "fault")) == fault)
			return other;
	return NULL;
}

/* They are of more than one manager: who took over has its master's events, too. */
static bool are_of_many(const json_t *events)
{
	const json_t *first = json_object_get(json_array_get(events, 0), "manager"), *event;
	size_t index;

	json_array_foreach ((json_t *)events, index, event)
		if (json_object_get(event, "manager") != first &&
		    !json_equal(json_object_get(event, "manager"), first))
			return true;
	return false;
}

static void print_event(const struct fmctl *ctl, const json_t *event, const json_t *answer,
			bool named)
{
	const char *level = text_of(event, "level");
	bool bad = ctl->colour && (!strcmp(level, "error") || !strcmp(level, "warning"));

	printf("%s  %-7s  ", text_of(event, "time"), level);
	if (named)
		printf("%s  ", json_object_get(event, "manager") ? text_of(event, "manager") : "-");
	printf("%s%s%s", bad ? "\033[31m" : "", text_of(event, "text"), bad ? "\033[0m" : "");
	if (answer)
		printf("; %s", answer_of(answer));
	putchar('\n');
}

static void show_events(const struct fmctl *ctl, const json_t *events)
{
	const bool named = are_of_many(events);
	const json_t *event;
	size_t index;

	json_array_foreach ((json_t *)events, index, event) {
		json_int_t fault = json_integer_value(json_object_get(event, "fault"));

		if (ctl->json) {
			json_dumpf(event, stdout, JSON_COMPACT);
			putchar('\n');
		} else if (!is_answer(event) || !find_number(events, fault)) {
			print_event(ctl, event, find_answer(events, index), named);
		}
	}
}

static enum fmctl_exit run_events(const struct fmctl *ctl, int argc, char **argv)
{
	json_t *args = json_object();
	int first = fmctl_read_options(ctl->command, argc, argv, args);
	bool follow = json_is_true(json_object_get(args, "follow"));

	json_object_del(args, "follow");
	if (first != argc) {
		json_decref(args);
		return FMCTL_USAGE;
	}
	return follow ? fmctl_ask_events(ctl, args, show_events)
		      : fmctl_ask_and_show(ctl, "events", args, show_events);
}
const struct fmctl_view events_view = { .run = run_events };

/*
 * commands: fmctl's table of commands, and how one runs by its row alone: the words and the options
 * that were typed make the request, the answer goes to the row's view. Views with a `run` of their
 * own do all that themselves.
 */

#define COMMAND(name_, arguments_, help_, run_, view_, ...) extern const struct fmctl_view view_;
#include "fm/control/commands.def"
#undef COMMAND

static const struct command commands[] = {
#define COMMAND(name_, arguments_, help_, run_, view_, ...)                                        \
	{ .name = name_, .arguments = arguments_, .help = help_, .view = &(view_), __VA_ARGS__ },
#include "fm/control/commands.def"
#undef COMMAND
	{ 0 },
};

const struct fmctl_view no_view = { 0 };

const struct command *fmctl_commands(void)
{
	return commands;
}

const struct command *fmctl_command_find(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (!strcmp(c->name, name) && c->help)
			return c;
	return NULL;
}

static int count_words(const struct command *command)
{
	int count = 0;

	while (count < COMMAND_WORDS && command->words[count])
		count++;
	return count;
}

/* ---- By the row alone ------------------------------------------------------------------------ */

/* What is asked, by the row; false = the command is not so used. */
static bool read_arguments(const struct fmctl *ctl, int argc, char **argv, json_t *args)
{
	const struct command *command = ctl->command;
	int first = fmctl_read_options(command, argc, argv, args), words = count_words(command);

	if (first < 0 || (argc - first != words && (argc != first || !command->words_optional)))
		return false;
	for (int i = 0; first + i < argc; i++) {
		if (!fmctl_is_value(ctl, command->words[i], argv[first + i]))
			return false;
		json_object_set_new(args, command->words[i], json_string(argv[first + i]));
	}
	return true;
}

static enum fmctl_exit run_by_row(struct fmctl *ctl, int argc, char **argv)
{
	const struct command *command = ctl->command;
	struct fmctl_answer answer = { .status = FMCTL_USAGE };
	json_t *args = json_object();

	if (read_arguments(ctl, argc, argv, args)) {
		ctl->given = command->flag ? json_is_true(json_object_get(args, command->flag))
					   : optind < argc;
		answer = fmctl_ask(ctl, command->name, json_incref(args));
	}
	json_decref(args);
	if (answer.status == FMCTL_DONE) {
		(ctl->json ? show_json : command->view->show)(ctl, answer.result);
		answer.status = command->view->verdict
					? command->view->verdict(ctl, answer.result)
					: fmctl_was_saved(command->name, answer.result);
	}
	json_decref(answer.result);
	return answer.status;
}

enum fmctl_exit fmctl_command_run(const struct fmctl *ctl, const struct command *command, int argc,
				  char **argv)
{
	struct fmctl run = *ctl;
	enum fmctl_exit status;
	char name[64]; /* getopt's messages begin with it */

	run.command = command;
	snprintf(name, sizeof(name), "fmctl: %s", command->name);
	argv[0] = name;
	optind = 0; /* getopt starts anew */
	status = command->view->run ? command->view->run(&run, argc, argv)
				    : run_by_row(&run, argc, argv);
	if (status == FMCTL_USAGE && !command->view->usage)
		fprintf(stderr, "usage: fmctl %s%s%s\n", command->name,
			*command->arguments ? " " : "", command->arguments);
	return status;
}
