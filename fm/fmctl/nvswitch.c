/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdlib.h>
#include <string.h>
#include "fm/fmctl/fmctl.h"
#include "fm/fmctl/table.h"
#include "topology/base/names.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

static enum fmctl_exit list(const struct fmctl *ctl, const char *name, json_t *args);

/*
 * fmctl nvswitch blocks: hosts of one NVLink domain as a block of Slurm's topology/block, in
 * topology.conf's form, so that a job is placed within one domain where it fits.
 *
 * A block is named after the domain's UUID and clique. The size that Slurm plans with is that of
 * the smallest block: each must have so many hosts at least.
 */

#define UUID_SHOWN 8 /* digits in a block's name */

static int compare_names(const void *a, const void *b)
{
	return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names that Slurm would read otherwise are left out, and said to be. */
static uint32_t take_names(const json_t *hosts, const char **names)
{
	const json_t *host;
	uint32_t count = 0;
	size_t i;

	json_array_foreach (hosts, i, host) {
		const char *name = json_string_value(host);

		if (name && text_is_host_name(name))
			names[count++] = name;
		else
			puts("# a host is left out: its name is not valid in Slurm");
	}
	qsort(names, count, sizeof(*names), compare_names);
	return count;
}

/* Its number of hosts. */
static uint32_t print_block(const json_t *domain)
{
	const json_t *hosts = json_object_get(domain, "hosts");
	const char *uuid = json_string_value(json_object_get(domain, "cluster_uuid"));
	const char **names = mem_alloc(json_array_size(hosts) + 1, sizeof(*names));
	uint32_t count = take_names(hosts, names);
	char *list = hostlist_format(names, count);

	if (count)
		printf("BlockName=nvl-%.*s-%lld Nodes=%s\n", UUID_SHOWN, uuid ? uuid : "",
		       (long long)json_integer_value(json_object_get(domain, "clique")), list);
	free(list);
	free(names);
	return count;
}

/* nvswitch.c: prints a block of text for each host. Returns the exit code. */
static enum fmctl_exit fmctl_nvswitch_blocks(const struct fmctl *ctl, const json_t *result)
{
	const json_t *domains = json_object_get(result, "domains"), *domain;
	uint32_t smallest = 0;
	size_t i;

	if (ctl->json) {
		show_json(ctl, domains);
		return FMCTL_DONE;
	}
	if (!json_array_size(domains)) {
		fputs("fmctl: nvswitch blocks: no exporter reports an NVLink domain "
		      "(DCGM_FI_DEV_FABRIC_CLUSTER_UUID)\n",
		      stderr);
		return FMCTL_FAILED;
	}
	json_array_foreach (domains, i, domain) {
		uint32_t count = print_block(domain);

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
 */

static const char *text_of(const json_t *row, const char *key)
{
	const char *text = json_string_value(table_value(row, key));

	return text ? text : "";
}

static double number_of(const json_t *row, const char *key)
{
	return json_number_value(table_value(row, key));
}

static void print_summary(const json_t *summary)
{
	const char *name, *comma = "";
	json_t *count, *error;

	json_object_foreach (json_object_get(summary, "states"), name, count) {
		if (!json_integer_value(count))
			continue;
		printf("%s%lld %s", comma, (long long)json_integer_value(count), name);
		comma = ", ";
	}
	printf("%s; %.0f of %.0f sources up%s\n", *comma ? "" : "no host",
	       number_of(summary, "sources_up"), number_of(summary, "sources"),
	       json_is_true(json_object_get(summary, "guarded"))
		       ? "\nGUARD: too many hosts look unhealthy at once; the sources are suspect, "
			 "so routing is not changed"
		       : "");
	if (json_is_object(json_object_get(summary, "logs")))
		printf("%.0f lines of kernel logs understood, %.0f ignored, %.0f malformed, %.0f "
		       "refused\n",
		       number_of(summary, "logs.by_use.understood"),
		       number_of(summary, "logs.by_use.ignored"),
		       number_of(summary, "logs.by_use.malformed"),
		       number_of(summary, "logs.by_use.refused"));
	json_object_foreach (json_object_get(summary, "input_errors"), name, error)
		printf("NOT OPEN: %s: %s\n", name, json_string_value(error));
}

/* NVLink domains: hosts whose GPUs reach each other. */
static void print_domains(const json_t *domains)
{
	const json_t *domain, *host;
	size_t index, i;

	json_array_foreach (domains, index, domain) {
		printf("NVLink domain %s, clique %.0f:", text_of(domain, "cluster_uuid"),
		       number_of(domain, "clique"));
		json_array_foreach (json_object_get(domain, "hosts"), i, host)
			printf(" %s", json_string_value(host));
		putchar('\n');
	}
}

/* Cells that a table can't work out by itself. */
static json_t *rows_of(const json_t *hosts)
{
	json_t *rows = json_array(), *host;
	size_t index;

	json_array_foreach ((json_t *)hosts, index, host) {
		json_t *row = json_copy(host);

		json_object_set_new(row, "since",
				    json_sprintf("%.0f s", number_of(host, "since_s")));
		json_object_set_new(row, "up",
				    json_sprintf("%.0f/%.0f", number_of(host, "sources_up"),
						 number_of(host, "sources_count")));
		json_array_append_new(rows, row);
	}
	return rows;
}

static void show_hosts_state(const struct fmctl *ctl, const json_t *result)
{
	static const struct table_column columns[] = {
		{ "HOST", "host" },	{ "SYSTEM", "system" },
		{ "STATE", "state" },	{ "ROUTED AS", "routed" },
		{ "SINCE", "since" },	{ "SOURCES", "up" },
		{ "REASON", "reason" }, { 0 }
	};
	json_t *rows = rows_of(json_object_get(result, "hosts"));

	print_summary(json_object_get(result, "summary"));
	table_print(ctl, rows, columns);
	print_domains(json_object_get(result, "domains"));
	json_decref(rows);
}

/* ---- Senders of kernel logs ------------------------------------------------------------------ */

static void show_senders(const struct fmctl *ctl, const json_t *result)
{
	static const struct table_column columns[] = {
		{ "SENDER", "sender" },		{ "MAY", "may" },
		{ "UNDERSTOOD", "understood" }, { "IGNORED", "ignored" },
		{ "MALFORMED", "malformed" },	{ "REFUSED", "refused" },
		{ "HEARD", "heard" },		{ 0 }
	};
	json_t *rows = json_array(), *sender;
	size_t index;

	json_array_foreach (json_object_get(result, "senders"), index, sender) {
		json_t *row = json_copy(sender);

		json_object_set_new(row, "may",
				    json_string(json_is_true(json_object_get(sender, "allowed"))
							? "yes"
							: "no"));
		json_object_set_new(row, "heard",
				    json_sprintf("%.0f s ago", number_of(sender, "heard_s")));
		json_array_append_new(rows, row);
	}
	table_print(ctl, rows, columns);
	json_decref(rows);
}

/* ---- One host -------------------------------------------------------------------------------- */

/* An event or a silence is said to be one; a state goes without saying. */
static void print_finding(const json_t *it)
{
	const char *kind = text_of(it, "kind"), *remedy = text_of(it, "remedy");
	bool told = strcmp(kind, "state") != 0, helps = *remedy && strcmp(remedy, "none") != 0;

	printf("evidence    %s: %s (%s, for %.0f s%s%s%s%s)\n", text_of(it, "state"),
	       text_of(it, "text"), text_of(it, "source"), number_of(it, "since_s"),
	       told ? ", " : "", told ? kind : "", helps ? "; asks for: " : "",
	       helps ? remedy : "");
}

static void print_missing(const json_t *source)
{
	const json_t *it;
	size_t index;

	json_array_foreach (json_object_get(source, "missing"), index, it)
		printf("missing     %s (%s or later): fmd does not know %s\n", text_of(it, "field"),
		       text_of(it, "since"), text_of(it, "unknown"));
}

static void print_evidence(const json_t *host)
{
	const json_t *it;
	size_t index;

	json_array_foreach (json_object_get(host, "sources"), index, it) {
		printf("source      %s: %s\n", text_of(it, "url"),
		       json_is_true(json_object_get(it, "up")) ? "up" : text_of(it, "error"));
		print_missing(it);
	}
	json_array_foreach (json_object_get(host, "evidence"), index, it)
		print_finding(it);
}

static void print_domain(const json_t *host)
{
	const json_t *domain = json_object_get(host, "domain");

	if (json_is_object(domain))
		printf("domain      %s, clique %.0f\n", text_of(domain, "cluster_uuid"),
		       number_of(domain, "clique"));
}

static void show_host_state(const struct fmctl *ctl, const json_t *host)
{
	printf("%s: %s", text_of(host, "host"), text_of(host, "state"));
	if (number_of(host, "since_s") > 0) /* 0: it was never known */
		printf(" for %.0f s", number_of(host, "since_s"));
	printf("%s%s\n", *text_of(host, "reason") ? ": " : "", text_of(host, "reason"));
	printf("system      %s\n", text_of(host, "system"));
	printf("observed    %s\n", text_of(host, "observed"));
	printf("routed as   %s\n", text_of(host, "routed"));
	if (*text_of(host, "ends_when"))
		printf("ends when   %s\n", text_of(host, "ends_when"));
	if (json_is_true(json_object_get(host, "unconfirmed")))
		puts("unconfirmed a worse state was reported by a source that needs a second one "
		     "(nvswitch_second_source)");
	print_domain(host);
	print_evidence(host);
}

/* By its name, or what it calls itself before a dot. */
static void show_one(const struct fmctl *ctl, const json_t *result)
{
	const json_t *host = json_array_get(json_object_get(result, "hosts"), 0);

	(ctl->json ? show_json : show_host_state)(ctl, host);
}

/* ---- What if --------------------------------------------------------------------------------- */

void show_trial(const json_t *rows)
{
	const json_t *row;
	size_t index;

	json_array_foreach (rows, index, row) {
		printf("%-12s%s: %s, was %s: class %s, weight %.0f\n", "nvswitch",
		       text_of(row, "host"), text_of(row, "state"), text_of(row, "was"),
		       text_of(row, "class"), number_of(row, "weight"));
		printf("%-12scross-rail flows on the busiest of its leaves' uplinks: %.0f now, "
		       "%.0f then\n",
		       "", number_of(row, "cross_rail_before.worst_uplink"),
		       number_of(row, "cross_rail.worst_uplink"));
	}
}

#define AFFECTED_PRINTED 16

void show_affected(const json_t *pays)
{
	const json_t *rows = json_object_get(pays, "rows"), *row;
	size_t index;

	if (!pays)
		return;
	if (!json_array_size(rows)) {
		printf("%-12sno other hosts: their flows on the worst link of a path in shifts, "
		       "mean: %.2f now, %.2f then\n",
		       "affected", number_of(pays, "mean_before"), number_of(pays, "mean"));
		return;
	}
	printf("%-12s%.0f HCAs of %.0f other hosts; flows on the worst link of a path in shifts, "
	       "mean of all others: %.3f now, %.3f then\n",
	       "affected", number_of(pays, "hcas"), number_of(pays, "hosts"),
	       number_of(pays, "mean_before"), number_of(pays, "mean"));
	json_array_foreach ((json_t *)rows, index, row) {
		if (index == AFFECTED_PRINTED)
			break;
		printf("%-12s%s at %s: from %.2f to %.2f\n", "", text_of(row, "hca"),
		       text_of(row, "leaf"), number_of(row, "before"), number_of(row, "then"));
	}
	if (number_of(pays, "hcas") > AFFECTED_PRINTED)
		printf("%-12sand %.0f more\n", "", number_of(pays, "hcas") - AFFECTED_PRINTED);
}

/* ---- Commands -------------------------------------------------------------------------------- */

static void show_set(const struct fmctl *ctl, const json_t *result)
{
	double entries = number_of(result, "lft_entries_changed");
	double blocks = number_of(result, "lft_blocks_written");
	const char *state = text_of(result, "state");

	printf("%s: %s%s\n", text_of(result, "host"), *state ? state : "as reported by its sources",
	       *state ? " from now on" : " again");
	if (json_is_true(json_object_get(result, "rerouted")))
		printf("tables      %.0f %s changed, %.0f %s written, %.1f ms\n", entries,
		       words_plural((uint64_t)entries, "entry", "entries"), blocks,
		       words_plural((uint64_t)blocks, "block", "blocks"),
		       number_of(result, "took_ms"));
	else
		puts("tables      unchanged");
}

static enum fmctl_exit set(const struct fmctl *ctl, const char *host, const char *state)
{
	struct fmctl_answer answer;
	json_t *args;

	if (!fmctl_is_value(ctl, "HOST", host))
		return FMCTL_USAGE;
	args = json_pack("{s:s}", "host", host);
	if (state)
		json_object_set_new(args, "state", json_string(state));
	answer = fmctl_ask(ctl, "nvswitch-set", args);
	if (answer.status == FMCTL_DONE) {
		(ctl->json ? show_json : show_set)(ctl, answer.result);
		answer.status = fmctl_was_saved("nvswitch", answer.result);
	}
	json_decref(answer.result);
	return answer.status;
}

static enum fmctl_exit list(const struct fmctl *ctl, const char *name, json_t *args)
{
	bool logs = name && !strcmp(name, "logs"), blocks = name && !strcmp(name, "blocks");
	struct fmctl_answer answer;

	if (name && !logs && !blocks && !fmctl_is_value(ctl, "HOST", name))
		return FMCTL_USAGE;
	if (name && !logs && !blocks)
		json_object_set_new(args, "name", json_string(name));
	answer = fmctl_ask(ctl, "nvswitch", json_incref(args));
	if (answer.status == FMCTL_DONE && logs)
		(ctl->json ? show_json : show_senders)(
			ctl, ctl->json ? json_object_get(answer.result, "senders") : answer.result);
	else if (answer.status == FMCTL_DONE && blocks)
		answer.status = fmctl_nvswitch_blocks(ctl, answer.result);
	else if (answer.status == FMCTL_DONE && name)
		show_one(ctl, answer.result);
	else if (answer.status == FMCTL_DONE)
		(ctl->json ? show_json : show_hosts_state)(ctl, answer.result);
	json_decref(answer.result);
	return answer.status;
}

static enum fmctl_exit run_words(const struct fmctl *ctl, int argc, char **argv, json_t *args)
{
	bool filtered = json_object_size(args) > 0;

	if (argc == 3 && !strcmp(argv[0], "set") && !filtered) {
		const char *state = strcmp(argv[2], "clear") != 0 ? argv[2] : NULL;

		return state && !fmctl_is_value(ctl, "STATE", state) ? FMCTL_USAGE
								     : set(ctl, argv[1], state);
	}
	if (argc == 2 && !strcmp(argv[0], "clear") && !filtered)
		return set(ctl, argv[1], NULL);
	if (!argc)
		return list(ctl, NULL, args);
	if (argc == 1 && strcmp(argv[0], "set") && strcmp(argv[0], "clear") && !filtered)
		return list(ctl, argv[0], args);
	return FMCTL_USAGE;
}

static enum fmctl_exit run_nvswitch(const struct fmctl *ctl, int argc, char **argv)
{
	json_t *args = json_object();
	int first = fmctl_read_options(ctl->command, argc, argv, args);
	enum fmctl_exit status =
		first < 0 ? FMCTL_USAGE : run_words(ctl, argc - first, argv + first, args);

	json_decref(args);
	return status;
}
const struct fmctl_view nvswitch_view = { .run = run_nvswitch };

static void show_reported(const struct fmctl *ctl, const json_t *result)
{
	printf("%s: %s, reported by %s for %.0f s\n", text_of(result, "host"),
	       text_of(result, "state"), text_of(result, "source"), number_of(result, "ttl_s"));
}
const struct fmctl_view health_report_view = { .show = show_reported };
