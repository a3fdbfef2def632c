/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <spawn.h>
#include <unistd.h>
#include <sys/wait.h>
#include "fm/control/option.h"
#include "topology/base/mem.h"
#include "topology/base/names.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"
#include "fm/fmctl/fmctl.h"
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
	"[--no-sharp] [--grown N]\n"
	"       fmctl generate pgft H m1,.. w1,.. [p1,..]\n"
	"       fmctl generate mixed [--size LEAVES,HOST-PORTS] [--kinds HCASxSPEED,..] [--trunks "
	"CABLESxSPEED,..]\n"
	"       fmctl generate directors LEAVES,UPLINKS,DIRECTORS,CARDS,SPINES\n"
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
		fmctl_fail("generate", "%s", err);
		return FMCTL_USAGE;
	}
	status = netfile_write(t, stdout);
	topo_unref(t);
	return status ? fmctl_fail("generate", "%s", strerror(-status)) : FMCTL_DONE;
}
const struct fmctl_view generate_view = { .run = run_generate, .usage = usage };

/*
 * fmctl cabling: cables in the wrong place. fmd compares the fabric with its own pattern. For a
 * plan, fmd sends the fabric with its links that are down, and fmctl reads the plan and compares:
 * fmd opens no files for its clients.
 */

/* ---- The fabric out of fmd's document -------------------------------------------------------- */

/* The node at an end of a link, which the builder has; its port there gets its label. */
static int end_of(struct topo_builder *b, const json_t *end)
{
	int node = topo_builder_find(b, json_guid_of(end, "guid"));
	const char *label = table_text(end, "label");

	if (*label)
		topo_builder_label(b, node, table_int(end, "port"), label);
	return node;
}

/* NULL when the document is no fabric. */
static struct topo *read_fabric(const json_t *document)
{
	struct topo_builder *b = topo_builder_new();
	int status = 0;

	JSON_EACH (row, json_object_get(document, "nodes"))
		if (status >= 0) {
			const char *type = table_text(row, "type");
			const struct topo_node attr = {
				.guid = json_guid_of(row, "guid"),
				.desc = table_text(row, "description"),
				.label = table_text(row, "name"),
				.nports = table_int(row, "ports"),
				.type = !strcmp(type, "switch")	  ? TOPO_SWITCH
					: !strcmp(type, "router") ? TOPO_ROUTER
								  : TOPO_CA,
				.sharp = !strcmp(table_text(row, "role"), "sharp"),
			};
			status = topo_builder_node(b, &attr);
		}
	JSON_EACH (row, json_object_get(document, "links"))
		if (status >= 0) {
			const json_t *a = json_object_get(row, "a"), *z = json_object_get(row, "b");

			status = topo_builder_link(b, end_of(b, a), table_int(a, "port"),
						   end_of(b, z), table_int(z, "port"),
						   table_is(row, "up"));
		}
	if (status >= 0)
		return topo_freeze(b);
	topo_builder_free(b);
	return NULL;
}

/* What the fabric, as fmd gives it, has otherwise than the plan. */
static enum fmctl_exit add_plan(const struct fmctl *ctl, const char *path, json_t *result)
{
	struct fmctl_answer asked =
		fmctl_ask(ctl, "topology", json_pack("{s:s}", "format", "json"));
	char err[512] = "fmd's answer is not a topology";
	struct topo *t, *plan;
	struct cabling *differ;

	if (asked.status != FMCTL_DONE)
		return asked.status;
	t = read_fabric(asked.result);
	json_decref(asked.result);
	plan = t ? cabling_plan_read(path, t, err, sizeof(err)) : NULL;
	if (!plan) {
		topo_unref(t);
		return fmctl_fail("cabling", "%s", err);
	}
	differ = cabling_compare(plan, t);
	json_object_set_new(result, "plan", cabling_json(differ));
	cabling_free(differ);
	topo_unref(plan);
	topo_unref(t);
	return FMCTL_DONE;
}

/*
 * What was typed: lists of places and of states, by the names of their options, and true of a flag;
 * *file: the value of an option 'p'. NULL = wrong usage.
 */
static json_t *read_lists(const struct fmctl *ctl, int argc, char **argv,
			  const struct option *longs, const char **file)
{
	json_t *args = json_object();
	int c, which;

	for (const struct option *it = longs; it->name; it++)
		if (it->has_arg && it->val != 'p')
			json_object_set_new(args, it->name, json_array());
	while ((c = getopt_long(argc, argv, "", longs, &which)) > 0 && c != '?') {
		const char *name = longs[which].name;

		if (c == 'p')
			*file = optarg;
		else if (!longs[which].has_arg)
			json_object_set_new(args, name, json_true());
		else if (fmctl_is_value(ctl, c == 'n' ? "HOST=STATE" : "WHAT", optarg))
			json_array_append_new(json_object_get(args, name), json_string(optarg));
		else
			break;
	}
	if (c == -1 && optind == argc)
		return args;
	json_decref(args);
	return NULL;
}

static enum fmctl_exit run_cabling(const struct fmctl *ctl, int argc, char **argv)
{
	static const struct option longs[] = { { "plan", required_argument, NULL, 'p' },
					       { "check", no_argument, NULL, 'c' },
					       { 0 } };
	const char *plan = NULL;
	json_t *args = read_lists(ctl, argc, argv, longs, &plan);
	struct fmctl_answer asked = { .status = FMCTL_USAGE };

	if (args)
		asked = fmctl_ask(ctl, "cabling", json_object());
	if (asked.status == FMCTL_DONE && plan)
		asked.status = add_plan(ctl, plan, asked.result);
	if (asked.status == FMCTL_DONE) {
		(ctl->json ? show_json : show_answer)(ctl, asked.result);
		if (table_is(args, "check") &&
		    (json_array_size(table_value(asked.result, "pattern.differ")) ||
		     json_array_size(table_value(asked.result, "plan.differ"))))
			asked.status = FMCTL_FAILED;
	}
	json_decref(asked.result);
	json_decref(args);
	return asked.status;
}
const struct fmctl_view cabling_view = { .run = run_cabling };

/* Adds the file's name and text to a request. False: it was reported why there is none. */
static bool read_plan(const struct fmctl *ctl, const char *path, json_t *args)
{
	char *text = mem_read_path(path, &(size_t){ 0 });
	const char *why = !text ? strerror(errno) : *text ? NULL : "the file is empty";

	if (why)
		fmctl_fail(ctl->command->name, "%s: %s", path, why);
	json_object_set_new(args, "file", json_string(path));
	json_object_set_new(args, "plan", json_string(text ?: ""));
	free(text);
	return !why;
}

static enum fmctl_exit run_admit(const struct fmctl *ctl, int argc, char **argv)
{
	json_t *args = json_object();
	int first = fmctl_read_options(ctl->command, argc, argv, args);
	const char *path = json_text(args, "plan");
	bool none = table_is(args, "no-plan");
	enum fmctl_exit status = FMCTL_USAGE;

	if (first >= 0 && argc - first + !!path + none == 1 &&
	    (argc == first || fmctl_is_value(ctl, "what", argv[first]))) {
		json_object_del(args, "no-plan");
		if (!path)
			json_object_set_new(args, none ? "plan" : "what",
					    json_string(none ? "" : argv[first]));
		status = path && !read_plan(ctl, path, args)
				 ? FMCTL_FAILED
				 : fmctl_ask_and_show(ctl, "admit", json_incref(args), show_answer);
	}
	json_decref(args);
	return status;
}
const struct fmctl_view admit_view = { .run = run_admit };

/*
 * fmctl whatif: what a failure, a cordon or degraded NVLinks would change in the running fabric,
 * with fmd's LIDs, classes and tables. `fmctl plan --fail` computes the same for a file.
 */

/* fmctl jobs: of squeue's list; where standard input is a terminal, of fmd's job_command. */
static enum fmctl_exit run_jobs(const struct fmctl *ctl, int argc, char **argv)
{
	static const struct option longs[] = { { "fail", required_argument, NULL, 'f' },
					       { "cordon", required_argument, NULL, 'c' },
					       { "hit", no_argument, NULL, 'h' },
					       { 0 } };
	json_t *args = read_lists(ctl, argc, argv, longs, NULL), *jobs;
	char *line = NULL;
	size_t size = 0;

	if (!args)
		return FMCTL_USAGE;
	if (!isatty(STDIN_FILENO)) {
		jobs = json_array();
		while (getline(&line, &size, stdin) > 0)
			hostlist_add_job(jobs, line);
		json_object_set_new(args, "jobs", jobs);
		free(line);
	}
	return fmctl_ask_and_show(ctl, "jobs", args, show_answer);
}
const struct fmctl_view jobs_view = { .run = run_jobs };

static enum fmctl_exit run_whatif(const struct fmctl *ctl, int argc, char **argv)
{
	static const struct option longs[] = { { "fail", required_argument, NULL, 'f' },
					       { "cordon", required_argument, NULL, 'c' },
					       { "nvswitch", required_argument, NULL, 'n' },
					       { "plan", required_argument, NULL, 'p' },
					       { "check", no_argument, NULL, 'k' },
					       { 0 } };
	const char *plan = NULL;
	json_t *args = read_lists(ctl, argc, argv, longs, &plan);
	struct fmctl_answer answer = { .status = FMCTL_USAGE };
	bool check = table_is(args, "check");

	json_object_del(args, "check");
	if (plan ? args && read_plan(ctl, plan, args)
		 : json_array_size(json_object_get(args, "fail")) ||
			    json_array_size(json_object_get(args, "cordon")) ||
			    json_array_size(json_object_get(args, "nvswitch")))
		answer = fmctl_ask(ctl, "whatif", json_incref(args));
	json_decref(args);
	if (answer.status == FMCTL_DONE) {
		(ctl->json ? show_json : show_answer)(ctl, answer.result);
		/* Whether somebody loses something, or has no path to what links lead to. */
		if (check && (lost_any(json_object_get(answer.result, "lost")) ||
			      table_int(answer.result, "proof.unreachable")))
			answer.status = FMCTL_FAILED;
	}
	json_decref(answer.result);
	return answer.status;
}
const struct fmctl_view whatif_view = { .run = run_whatif };

/*
 * events: what happened, a line each, so that `events -f` and grep go together. A fault and what
 * was made of it (rerouted, restored) are one line where both are at hand: events of one fault have
 * the number of its first in "fault". So are the reasons that links of one device went down for,
 * one behind the other; fmd is asked for more events than there are to be lines.
 */
#define EVENTS_A_LINE 10
#define EVENTS_MOST   10000
#define EVENTS_SHOWN  20

static bool is_answer(const json_t *event)
{
	const char *kind = table_text(event, "kind");

	return !strcmp(kind, "rerouted") || !strcmp(kind, "restored");
}

/* The answer to the fault that the event is the first to tell of; NULL = none is at hand. */
static const json_t *find_answer(const json_t *events, size_t index)
{
	long long fault = table_int(json_array_get(events, index), "fault");
	const json_t *it = json_array_get(events, index);

	if (!fault || fault != table_int(it, "seq"))
		return NULL;
	while (it && !(is_answer(it) && table_int(it, "fault") == fault))
		it = json_array_get(events, ++index);
	return it;
}

/* So many reasons follow that one, all about links of one device, whose name is in *of. */
static size_t reasons_behind(const json_t *events, size_t index, const char **of)
{
	static const char *const ends[][2] = { { "node", "node_name" }, { "peer", "peer_name" } };
	const json_t *event = json_array_get(events, index), *next;
	size_t most = 0;

	for (unsigned i = 0; i < 2; i++) {
		const char *guid = table_text(event, ends[i][0]);
		size_t count = 0;

		while ((next = json_array_get(events, index + count + 1)) &&
		       !strcmp(table_text(next, "kind"), "link-down-reason") && *guid &&
		       (!strcmp(table_text(next, "node"), guid) ||
			!strcmp(table_text(next, "peer"), guid)))
			count++;
		if (count > most) {
			most = count;
			*of = table_text(event, ends[i][1]);
		}
	}
	return strcmp(table_text(event, "kind"), "link-down-reason") ? 0 : most;
}

/*
 * Whether the event has a line, and how many behind it have none because of it. Numbers of events
 * rise, but for gaps.
 */
static bool has_line(const json_t *events, size_t index, size_t *behind, const char **of)
{
	const json_t *event = json_array_get(events, index);
	long long fault = table_int(event, "fault");
	uint32_t place;

	*behind = reasons_behind(events, index, of);
	if (!is_answer(event))
		return true;
	place = sort_place(0, (uint32_t)json_array_size(events), at,
			   table_int(json_array_get(events, at), "seq") < fault);
	return table_int(json_array_get(events, place), "seq") != fault;
}

static void show_events(const struct fmctl *ctl, const json_t *events)
{
	const char *first = table_text(json_array_get(events, 0), "manager"), *of = "";
	/* They are of more than one manager: who took over has its master's events, too. */
	const bool named =
		any_of(i, 0, json_array_size(events),
		       strcmp(table_text(json_array_get(events, i), "manager"), first) != 0);
	size_t lines = 0, behind = 0;

	for (size_t i = 0; ctl->lines && i < json_array_size(events); i += 1 + behind)
		lines += has_line(events, i, &behind, &of);
	lines = lines > ctl->lines ? lines - ctl->lines : 0; /* older than those to be shown */
	behind = 0;
	JSON_EACH (event, events) {
		const char *level = table_text(event, "level");
		bool bad = ctl->colour && (!strcmp(level, "error") || !strcmp(level, "warning"));
		const json_t *answer;

		if (ctl->json) {
			json_dumpf(event, stdout, JSON_COMPACT);
			putchar('\n');
		} else if (behind) {
			behind--;
		} else if (has_line(events, event_at, &behind, &of) && !(lines && lines--)) {
			answer = find_answer(events, event_at);
			printf("%s  %-7s  ", table_text(event, "time"), level);
			if (named)
				printf("%s  ", json_object_get(event, "manager")
						       ? table_text(event, "manager")
						       : "-");
			printf("%s%s%s", bad ? "\033[31m" : "", table_text(event, "text"),
			       bad ? "\033[0m" : "");
			if (behind)
				printf("; %zu more %s of %s", behind, behind > 1 ? "links" : "link",
				       of);
			if (answer) {
				/* What stands in its text behind the fault's name. */
				const char *text = table_text(answer, "text");
				const char *what = table_text(answer, "what");
				size_t len = strlen(what);
				bool named_so = len && !strncmp(text, what, len) &&
						!strncmp(text + len, ": ", 2);

				printf("; %s", named_so ? text + len + 2 : text);
			}
			putchar('\n');
		}
	}
}

static enum fmctl_exit run_events(const struct fmctl *ctl, int argc, char **argv)
{
	json_t *args = json_object();
	int first = fmctl_read_options(ctl->command, argc, argv, args);
	bool follow = table_is(args, "follow");

	json_object_del(args, "follow");
	if (first != argc) {
		json_decref(args);
		return FMCTL_USAGE;
	}
	if (follow)
		return fmctl_ask_events(ctl, args, show_events);

	struct fmctl folds = *ctl;
	bool given = json_object_get(args, "count");
	unsigned count = given ? (unsigned)table_int(args, "count") : EVENTS_SHOWN;

	if (!ctl->json && count && (given || !json_object_get(args, "since"))) {
		folds.lines = count;
		count = count < EVENTS_MOST / EVENTS_A_LINE ? count * EVENTS_A_LINE : EVENTS_MOST;
		json_object_set_new(args, "count", json_integer(count));
	}
	return fmctl_ask_and_show(&folds, "events", args, show_events);
}
const struct fmctl_view events_view = { .run = run_events };

/*
 * fmctl nvswitch blocks: hosts of one NVLink domain as a block of Slurm's topology/block, in
 * topology.conf's form, so that a job is placed within one domain where it fits.
 *
 * A block is named after the domain's UUID and clique. The size that Slurm plans with is that of
 * the smallest block: each must have so many hosts at least.
 */

#define UUID_SHOWN 8 /* digits in a block's name */

static void show_hosts(const struct fmctl *ctl, const json_t *rows)
{
	const char **names = mem_array(names, json_array_size(rows) + 1);
	char *list;

	JSON_EACH (row, rows)
		names[row_at] = table_text(row, "name");
	list = hostlist_format(names, json_array_size(rows));
	if (ctl->given)
		puts(list);
	else
		show_answer(ctl, rows);
	free(list);
	free(names);
}
const struct fmctl_view hosts_view = { .show = show_hosts };

SORT_BY(compare_names, char *const, strverscmp(*a, *b))

/* Prints a block of text for each domain. Returns the exit code. */
static enum fmctl_exit show_blocks(const struct fmctl *ctl, const json_t *result)
{
	const json_t *domains = json_object_get(result, "domains");
	uint32_t smallest = 0;

	if (ctl->json) {
		show_json(ctl, domains);
		return FMCTL_DONE;
	}
	if (!json_array_size(domains))
		return fmctl_fail("nvswitch blocks", "no exporter reports an NVLink domain "
						     "(DCGM_FI_DEV_FABRIC_CLUSTER_UUID)");
	JSON_EACH (domain, domains) {
		const json_t *hosts = json_object_get(domain, "nodes");
		const char **names = mem_array(names, json_array_size(hosts) + 1);

		/* Names that Slurm would read otherwise are left out, and named on stderr. */
		uint32_t count = 0;

		JSON_EACH (host, hosts) {
			const char *name = json_string_value(host);

			if (name && text_is_host_name(name))
				names[count++] = name;
			else
				puts("# a host is left out: its name is not valid in Slurm");
		}
		qsort(names, count, sizeof(*names), compare_names);

		char *list = hostlist_format(names, count);

		if (count)
			printf("BlockName=nvl-%.*s-%lld Nodes=%s\n", UUID_SHOWN,
			       table_text(domain, "cluster_uuid"), table_int(domain, "clique"),
			       list);
		free(list);
		free(names);
		if (count && (!smallest || count < smallest))
			smallest = count;
	}
	printf("BlockSizes=%u\n", smallest);
	return FMCTL_DONE;
}

/*
 * fmctl nvswitch: how the NVLinks of hosts are. Without arguments a row a host; with a host's name
 * all that is known of it: sources, evidence. `logs` shows who sends kernel logs, `blocks` NVLink
 * domains as Slurm has them. `set HOST STATE` is an operator's word, `clear HOST` takes it back.
 * `expect HOST gpus=N`: it has so many GPUs.
 */

/* ---- Commands -------------------------------------------------------------------------------- */

/* gpus < 0: its state. */
static enum fmctl_exit set(const struct fmctl *ctl, const char *host, const char *state, int gpus)
{
	struct fmctl_answer answer;
	json_t *args;

	if (!fmctl_is_value(ctl, "HOST", host))
		return FMCTL_USAGE;
	args = json_pack("{ss ss* so*}", "host", host, "state", state, "gpus",
			 gpus < 0 ? NULL : json_integer(gpus));
	answer = fmctl_ask(ctl, "nvswitch-set", args);
	if (answer.status == FMCTL_DONE) {
		if (ctl->json)
			show_json(ctl, answer.result);
		else
			show_document(ctl, gpus < 0 ? "nvswitch set" : "nvswitch expect",
				      answer.result);
		answer.status = fmctl_was_saved(gpus < 0 ? "nvswitch" : "nvlink", answer.result);
	}
	json_decref(answer.result);
	return answer.status;
}

static enum fmctl_exit list(const struct fmctl *ctl, const char *name, json_t *args)
{
	bool logs = name && !strcmp(name, "logs"), blocks = name && !strcmp(name, "blocks");
	struct fmctl_answer answer;

	if (ctl->csv && (logs || blocks)) {
		fmctl_fail("nvswitch", "--csv: its answer is no table");
		return FMCTL_USAGE;
	}
	if (name && !logs && !blocks && !fmctl_is_value(ctl, "HOST", name))
		return FMCTL_USAGE;
	if (name && !logs && !blocks)
		json_object_set_new(args, "name", json_string(name));
	answer = fmctl_ask(ctl, "nvswitch", json_incref(args));
	if (answer.status == FMCTL_DONE && blocks)
		answer.status = show_blocks(ctl, answer.result);
	else if (answer.status == FMCTL_DONE) {
		/* One host: by its name, or what it calls itself before a dot. */
		const json_t *part =
			logs   ? json_object_get(answer.result, "senders")
			: name ? json_array_get(json_object_get(answer.result, "hosts"), 0)
			       : answer.result;

		if (ctl->json)
			show_json(ctl, part);
		else if (ctl->csv)
			show_csv(ctl, answer.result);
		else
			show_document(ctl,
				      logs   ? "nvswitch logs"
				      : name ? "nvswitch HOST"
					     : "nvswitch",
				      logs ? answer.result : part);
	}
	json_decref(answer.result);
	return answer.status;
}

static enum fmctl_exit run_nvswitch(const struct fmctl *ctl, int argc, char **argv)
{
	json_t *args = json_object();
	int first = fmctl_read_options(ctl->command, argc, argv, args);
	int words = first < 0 || (first < argc && json_object_size(args)) ? -1 : argc - first;
	char **word = argv + first;
	bool sets = words > 0 && !strcmp(word[0], "set"),
	     clears = words > 0 && !strcmp(word[0], "clear");
	enum fmctl_exit status = FMCTL_USAGE;
	unsigned gpus;
	char rest;

	if (words == 3 && sets && !strcmp(word[2], "clear"))
		status = set(ctl, word[1], NULL, -1);
	else if (words == 3 && sets && fmctl_is_value(ctl, "STATE", word[2]))
		status = set(ctl, word[1], word[2], -1);
	else if (words == 2 && clears)
		status = set(ctl, word[1], NULL, -1);
	else if (words == 3 && !strcmp(word[0], "expect") &&
		 sscanf(word[2], "gpus=%3u%c", &gpus, &rest) == 1)
		status = set(ctl, word[1], NULL, gpus);
	else if (words == 3 && !strcmp(word[0], "expect"))
		fmctl_fail("nvswitch", "gpus=N is expected: %s", word[2]);
	else if (words == 0 || (words == 1 && !sets && !clears))
		status = list(ctl, words ? word[0] : NULL, args);
	json_decref(args);
	return status;
}
const struct fmctl_view nvswitch_view = { .run = run_nvswitch };

/* ---- The table of commands ------------------------------------------------------------------- */

/*
 * fmctl's table of commands, and how one runs by its row alone: the words and the options
 * that were typed make the request, the answer goes to the row's view. Views with a `run` of their
 * own do all that themselves.
 */

#define COMMAND(name_, arguments_, help_, run_, view_, ...) extern const struct fmctl_view view_;
#include "fm/control/commands.def"
#undef COMMAND
static const struct fmctl_view bundle_view;

const struct command fmctl_commands[] = {
#define COMMAND(name_, arguments_, help_, run_, view_, ...)                                        \
	{ .name = name_, .arguments = arguments_, .help = help_, .view = &(view_), __VA_ARGS__ },
#include "fm/control/commands.def"
#undef COMMAND
	/* Of fmctl alone: they ask fmd by other commands, which its table has. */
	{ .name = "collect",
	  .arguments = "DIR [--conf FILE]",
	  .help = "write what fmd knows of its fabric into a new directory, without keys and "
		  "credentials",
	  .view = &bundle_view,
	  .read_only = true,
	  .offline = true },
	{ .name = "diff",
	  .arguments = "OLD [NEW] | --since TIME|DURATION",
	  .help = "what differs between two directories of collect, or files of ibnetdiscover; "
		  "without NEW: and the fabric now",
	  .view = &bundle_view,
	  .fails_when = "something differs",
	  .read_only = true,
	  .offline = true },
	{ 0 },
};

const struct fmctl_view by_row = { 0 };

const struct command *fmctl_command_find(const char *name)
{
	for (const struct command *c = fmctl_commands; c->name; c++)
		if (!strcmp(c->name, name) && c->help)
			return c;
	return NULL;
}

/* ---- By the row alone ------------------------------------------------------------------------ */

/* What is asked, by the row; false = the command is not so used. */
static bool read_arguments(const struct fmctl *ctl, int argc, char **argv, json_t *args)
{
	const struct command *command = ctl->command;
	int first = fmctl_read_options(command, argc, argv, args), words = 0;

	while (words < COMMAND_WORDS && command->words[words])
		words++;
	if (first < 0 || argc - first > words || (argc - first < words && !command->words_optional))
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
		ctl->given = command->flag ? table_is(args, command->flag) : optind < argc;
		answer = fmctl_ask(ctl, command->name, json_incref(args));
	}
	json_decref(args);
	if (answer.status == FMCTL_DONE) {
		(ctl->json  ? show_json
		 : ctl->csv ? show_csv
			    : command->view->show ?: show_answer)(ctl, answer.result);
		answer.status = command->view->verdict
					? command->view->verdict(ctl, answer.result)
					: fmctl_was_saved(command->name, answer.result);
		ctl->judged = true;
	} else if (command->view == &status_view && ctl->given) {
		puts("UNKNOWN: fmd gave no status"); /* the reason is on stderr */
		answer.status = FMCTL_NO_DAEMON;
	}
	json_decref(answer.result);
	return answer.status;
}

/*
 * import-opensm is a program of its own, in Python: installed in ../lib/fmd of fmctl's directory,
 * after a build beside it. So is bundle, which gets the command's name first, and asks fmd by this
 * fmctl. Standard error is passed on, for --json makes a document of it.
 */
static enum fmctl_exit run_program(const struct fmctl *ctl, int argc, char **argv)
{
	const bool imports = ctl->command->view == &import_view;
	const char *name = imports ? "import-opensm" : "bundle";
	char self[PATH_MAX] = "", program[PATH_MAX + 32], text[4096], *words[argc + 3];
	int status, count = 0, errors[2];
	posix_spawn_file_actions_t actions;
	ssize_t got;
	pid_t child;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 || !strrchr(self, '/') ||
	    pipe2(errors, O_CLOEXEC))
		return FMCTL_FAILED;
	setenv("FMCTL", self, 1);
	setenv("FMD_SOCKET", ctl->socket, 1);
	array_printf(text, "%u", ctl->timeout_s);
	setenv("FMCTL_TIMEOUT", text, 1);
	*strrchr(self, '/') = '\0';
	array_printf(program, "%s/../lib/fmd/%s", self, name);
	if (access(program, F_OK))
		array_printf(program, "%s/%s", self, name);
	words[count++] = program;
	if (ctl->json)
		words[count++] = "--json";
	if (!imports)
		words[count++] = (char *)ctl->command->name;
	memcpy(words + count, argv + 1, argc * sizeof(*argv)); /* and the NULL behind them */
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, errors[1], STDERR_FILENO);
	status = posix_spawn(&child, program, &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(errors[1]);
	if (status)
		fprintf(stderr, "%s: %s: %s\n", argv[0], program, strerror(status));
	while (!status && (got = read(errors[0], text, sizeof(text))) > 0)
		fwrite(text, 1, got, stderr);
	close(errors[0]);
	if (status || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return FMCTL_FAILED;
	return WEXITSTATUS(status);
}

const struct fmctl_view import_view = { .run = run_program };
static const struct fmctl_view bundle_view = { .run = run_program };

/* Markdown and HTML are bundle's. */
static enum fmctl_exit run_assess(const struct fmctl *ctl, int argc, char **argv)
{
	return argc > 1 ? run_program(ctl, argc, argv)
			: fmctl_ask_and_show(ctl, "assess", json_object(), show_answer);
}
const struct fmctl_view assess_view = { .run = run_assess };

/* ---- Lines that are longer than the terminal is wide ----------------------------------------- */

struct folded {
	FILE *out;
	unsigned columns;
};

/*
 * A line that is longer is folded at a blank, and goes on below the beginning of its last field.
 * Colours take no columns.
 */
static ssize_t write_folded(void *cookie, const char *data, size_t len)
{
	const struct folded *to = cookie;
	size_t begin = 0, blank = 0;
	unsigned column = 0, indent = 0;

	for (size_t i = 0; i < len; i++) {
		if (blank && blank == i - 1 && data[i] != ' ' && data[blank - 1] == ' ' &&
		    column < to->columns / 2)
			indent = column;
		if (data[i] == '\033') {
			while (i < len && data[i] != 'm')
				i++;
			continue;
		}
		column += ((unsigned char)data[i] & 0xc0) != 0x80; /* not a continuation */
		if (data[i] == ' ')
			blank = i;
		else if (data[i] == '\n')
			blank = column = indent = 0;
		if (column > to->columns && blank > begin) {
			fprintf(to->out, "%.*s\n%*s", (int)(blank - begin), data + begin, indent,
				"");
			begin = blank + 1;
			column = indent + i - blank;
		}
	}
	fwrite(data + begin, 1, len - begin, to->out);
	return fflush(to->out) ? 0 : len;
}

enum fmctl_exit fmctl_command_run(const struct fmctl *ctl, const struct command *command, int argc,
				  char **argv)
{
	struct folded folded = { stdout, ctl->columns };
	/* What --watch shows has no file: it is cut to the screen instead. */
	FILE *narrow = ctl->columns && !ctl->json && !ctl->csv && fileno(stdout) >= 0
			       ? fopencookie(&folded, "w",
					     (cookie_io_functions_t){ .write = write_folded })
			       : NULL;
	struct fmctl run = *ctl;
	enum fmctl_exit status;
	char name[64]; /* getopt's messages begin with it */

	run.command = command;
	array_printf(name, "fmctl: %s", command->name);
	argv[0] = name;
	optind = 0; /* getopt starts anew */
	if (narrow) {
		setvbuf(narrow, NULL, _IOLBF, 0);
		stdout = narrow;
	}
	status = command->view->run ? command->view->run(&run, argc, argv)
				    : run_by_row(&run, argc, argv);
	if (narrow) {
		fclose(narrow);
		stdout = folded.out;
	}
	if (status == FMCTL_USAGE && !command->view->usage && !run.judged)
		fprintf(stderr, "usage: fmctl %s%s%s\n", command->name,
			*command->arguments ? " " : "", command->arguments);
	return status;
}
