/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fmctl whatif: what a failure, a cordon or degraded NVLinks would change in the running fabric,
 * with fmd's LIDs, classes and tables. `fmctl plan --fail` computes the same for a file.
 */
#include <getopt.h>
#include <string.h>
#include "fm/fmctl/fmctl.h"
#include "fm/fmctl/table.h"
#include "topology/lost.h"

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
static json_t *read_arguments(const struct fmctl *ctl, int argc, char **argv, bool *check)
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
	json_t *args = read_arguments(ctl, argc, argv, &check);
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
