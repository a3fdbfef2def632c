/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/fmctl/fmctl.h"
#include "fm/fmctl/table.h"
#include "topology/base/names.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

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

/* Prints a block of text for each domain. Returns the exit code. */
static enum fmctl_exit show_blocks(const struct fmctl *ctl, const json_t *result)
{
	const json_t *domains = json_object_get(result, "domains");
	uint32_t smallest = 0;

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
	JSON_EACH (domain, domains) {
		const json_t *hosts = json_object_get(domain, "nodes");
		const char **names = mem_array(names, json_array_size(hosts) + 1);

		/* Names that Slurm would read otherwise are left out, and said to be. */
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

static void print_summary(const json_t *summary)
{
	const char *name, *comma = "";
	json_t *count, *error;

	json_object_foreach (json_object_get(summary, "states"), name, count) {
		if (!json_integer_value(count))
			continue;
		printf("%s%lld %s", comma, json_integer_value(count), name);
		comma = ", ";
	}
	printf("%s; %.0f of %.0f sources up%s\n", *comma ? "" : "no host",
	       table_number(summary, "sources_up"), table_number(summary, "sources"),
	       table_is(summary, "guarded")
		       ? "\nGUARD: too many hosts look unhealthy at once; the sources are suspect"
		       : "");
	if (json_is_object(json_object_get(summary, "logs")))
		printf("%.0f lines of kernel logs understood, %.0f ignored, %.0f malformed\n",
		       table_number(summary, "logs.by_use.understood"),
		       table_number(summary, "logs.by_use.ignored"),
		       table_number(summary, "logs.by_use.malformed"));
	json_object_foreach (json_object_get(summary, "input_errors"), name, error)
		printf("NOT OPEN: %s: %s\n", name, json_string_value(error));
}

static void show_hosts_state(const struct fmctl *ctl, const json_t *result)
{
	static const struct table_column columns[] = {
		{ "HOST", "host" },	{ "SYSTEM", "system" },
		{ "STATE", "state" },	{ "ROUTED AS", "routed" },
		{ "SINCE", "since" },	{ "SOURCES", "up" },
		{ "REASON", "reason" }, { 0 }
	};

	json_t *rows = json_array();

	/* Cells that a table can't work out by itself. */
	JSON_EACH (host, json_object_get(result, "hosts")) {
		json_t *row = json_copy(host);

		json_object_set_new(row, "since",
				    json_sprintf("%.0f s", table_number(host, "since_s")));
		json_object_set_new(row, "up",
				    json_sprintf("%.0f/%.0f", table_number(host, "sources_up"),
						 table_number(host, "sources_count")));
		json_array_append_new(rows, row);
	}
	print_summary(json_object_get(result, "summary"));
	table_print(ctl, rows, columns);
	/* NVLink domains: hosts whose GPUs reach each other. */
	JSON_EACH (domain, json_object_get(result, "domains")) {
		printf("NVLink domain %s, clique %.0f:", table_text(domain, "cluster_uuid"),
		       table_number(domain, "clique"));
		JSON_EACH (host, json_object_get(domain, "hosts"))
			printf(" %s", json_string_value(host));
		putchar('\n');
	}
	json_decref(rows);
}

/* ---- Senders of kernel logs ------------------------------------------------------------------ */

static void show_senders(const struct fmctl *ctl, const json_t *result)
{
	static const struct table_column columns[] = {
		{ "SENDER", "sender" },	  { "UNDERSTOOD", "understood" },
		{ "IGNORED", "ignored" }, { "MALFORMED", "malformed" },
		{ "HEARD", "heard" },	  { 0 }
	};
	json_t *rows = json_array();

	JSON_EACH (sender, json_object_get(result, "senders")) {
		json_t *row = json_copy(sender);

		json_object_set_new(row, "heard",
				    json_sprintf("%.0f s ago", table_number(sender, "heard_s")));
		json_array_append_new(rows, row);
	}
	table_print(ctl, rows, columns);
	json_decref(rows);
}

/* ---- One host -------------------------------------------------------------------------------- */

static void show_host_state(const struct fmctl *ctl, const json_t *host)
{
	printf("%s: %s", table_text(host, "host"), table_text(host, "state"));
	if (table_number(host, "since_s") > 0) /* 0: it was never known */
		printf(" for %.0f s", table_number(host, "since_s"));
	printf("%s%s\n", *table_text(host, "reason") ? ": " : "", table_text(host, "reason"));
	printf("system      %s", table_text(host, "system"));
	if (table_number(host, "gpus_declared") > 0)
		printf(", declared with %.0f GPUs", table_number(host, "gpus_declared"));
	putchar('\n');
	printf("observed    %s\n", table_text(host, "observed"));
	printf("routed as   %s\n", table_text(host, "routed"));
	if (*table_text(host, "ends_when"))
		printf("ends when   %s\n", table_text(host, "ends_when"));
	if (table_is(host, "unconfirmed"))
		puts("unconfirmed a worse state was reported by a source that needs a second one "
		     "(nvswitch_second_source)");

	if (json_is_object(json_object_get(host, "domain")))
		printf("domain      %s, clique %.0f\n", table_text(host, "domain.cluster_uuid"),
		       table_number(host, "domain.clique"));
	JSON_EACH (it, json_object_get(host, "sources")) {
		printf("source      %s: %s\n", table_text(it, "url"),
		       table_is(it, "up") ? "up" : table_text(it, "error"));

		JSON_EACH (missing, json_object_get(it, "missing"))
			printf("missing     %s (%s or later): fmd does not know %s\n",
			       table_text(missing, "field"), table_text(missing, "since"),
			       table_text(missing, "unknown"));
	}
	JSON_EACH (it, json_object_get(host, "evidence")) {
		/* An event or a silence is said to be one; a state goes without saying. */
		const char *kind = table_text(it, "kind"), *remedy = table_text(it, "remedy");
		bool told = strcmp(kind, "state"), helps = *remedy && strcmp(remedy, "none");

		printf("evidence    %s: %s (%s, for %.0f s%s%s%s%s)\n", table_text(it, "state"),
		       table_text(it, "text"), table_text(it, "source"),
		       table_number(it, "since_s"), told ? ", " : "", told ? kind : "",
		       helps ? "; asks for: " : "", helps ? remedy : "");
	}
}

/* ---- What if --------------------------------------------------------------------------------- */

void show_trial(const json_t *rows)
{
	JSON_EACH (row, rows)
		printf("%-12s%s: %s, was %s\n%-12sin links, of %.0f: its cross-rail traffic "
		       "%.2f now, %.2f then; random traffic of the others: %.1f of %.0f now, "
		       "%.1f then, %.1f if it sent nothing\n",
		       "nvswitch", table_text(row, "host"), table_text(row, "state"),
		       table_text(row, "was"), "", table_number(row, "cross_rail.rate_of"),
		       table_number(row, "cross_rail_before.rate"),
		       table_number(row, "cross_rail.rate"),
		       table_number(row, "cross_rail_before.others_rate"),
		       table_number(row, "cross_rail_before.others_flows"),
		       table_number(row, "cross_rail.others_rate"),
		       table_number(row, "cross_rail.others_alone"));
}

/* ---- Commands -------------------------------------------------------------------------------- */

static void show_set(const struct fmctl *ctl, const json_t *result)
{
	const json_t *gpus = json_object_get(result, "gpus_declared");

	if (gpus) {
		printf("%s: %s\n", table_text(result, "host"),
		       json_integer_value(gpus) ? "so many GPUs from now on"
						: "as many GPUs as its model has");
		return;
	}

	double entries = table_number(result, "lft_entries_changed");
	double blocks = table_number(result, "lft_blocks_written");
	const char *state = table_text(result, "state");

	printf("%s: %s%s\n", table_text(result, "host"),
	       *state ? state : "as reported by its sources", *state ? " from now on" : " again");
	if (table_is(result, "rerouted"))
		printf("tables      %.0f %s changed, %.0f %s written, %.1f ms\n", entries,
		       words_plural(entries, "entry", "entries"), blocks,
		       words_plural(blocks, "block", "blocks"), table_number(result, "took_ms"));
	else
		puts("tables      unchanged");
}

/* gpus < 0: its state. */
static enum fmctl_exit set(const struct fmctl *ctl, const char *host, const char *state, int gpus)
{
	struct fmctl_answer answer;
	json_t *args;

	if (!fmctl_is_value(ctl, "HOST", host))
		return FMCTL_USAGE;
	args = json_pack("{s:s}", "host", host);
	if (state)
		json_object_set_new(args, "state", json_string(state));
	if (gpus >= 0)
		json_object_set_new(args, "gpus", json_integer(gpus));
	answer = fmctl_ask(ctl, "nvswitch-set", args);
	if (answer.status == FMCTL_DONE) {
		(ctl->json ? show_json : show_set)(ctl, answer.result);
		answer.status = fmctl_was_saved(gpus < 0 ? "nvswitch" : "nvlink", answer.result);
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
		answer.status = show_blocks(ctl, answer.result);
	else if (answer.status == FMCTL_DONE && name) {
		/* By its name, or what it calls itself before a dot. */
		const json_t *host = json_array_get(json_object_get(answer.result, "hosts"), 0);

		(ctl->json ? show_json : show_host_state)(ctl, host);
	} else if (answer.status == FMCTL_DONE)
		(ctl->json ? show_json : show_hosts_state)(ctl, answer.result);
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
		fprintf(stderr, "fmctl: nvswitch: gpus=N is expected: %s\n", word[2]);
	else if (words == 0 || (words == 1 && !sets && !clears))
		status = list(ctl, words ? word[0] : NULL, args);
	json_decref(args);
	return status;
}
const struct fmctl_view nvswitch_view = { .run = run_nvswitch };

static void show_reported(const struct fmctl *ctl, const json_t *result)
{
	printf("%s: %s, reported by %s for %.0f s\n", table_text(result, "host"),
	       table_text(result, "state"), table_text(result, "source"),
	       table_number(result, "ttl_s"));
}
const struct fmctl_view health_report_view = { .show = show_reported };
