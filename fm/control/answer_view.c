/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* answer_view: pictures of the fabric: status, topology, rows of what is there, what happened. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fm/adaptive/module.h"
#include "fm/control/answer.h"
#include "fm/control/filter.h"
#include "fm/fabric/view.h"
#include "fm/hosts/module.h"
#include "fm/multicast/module.h"
#include "fm/nvswitch/module.h"
#include "fm/partition/module.h"
#include "fm/perf/module.h"
#include "fm/restart/module.h"
#include "topology/base/mem.h"
#include "topology/files/dump.h"
#include "topology/files/netfile.h"
#include "topology/snapshot/topo.h"

/* ---- Formats for schedulers, with the NVLink domains of hosts -------------------------------- */

/* the fabric as schedulers want it: how near hosts are to one another. */

typedef int dump_near_fn(const struct topo *t, const char *const *domains, FILE *out);

/* ---- NVLink domains -------------------------------------------------------------------------- */

struct domains {
	const char **of_host; /* by host of the snapshot: "UUID.CLIQUE", NULL = not known */
	struct arena *arena;
};

static uint32_t find_host(const struct topo *t, const char *name)
{
	uint32_t place = 0;

	while (place < t->nhosts && strcmp(t->hosts[place].name, name) != 0)
		place++;
	return place;
}

/* As GPU Feature Discovery writes it: the cluster's UUID and the clique within it. */
static const char *name_domain(struct domains *domains, const json_t *row)
{
	char text[96];

	snprintf(text, sizeof(text), "%s.%lld",
		 json_string_value(json_object_get(row, "cluster_uuid")),
		 json_integer_value(json_object_get(row, "clique")));
	return arena_strdup(domains->arena, text);
}

/* ---- Formats ---- */

static dump_near_fn *find_format(const char *name)
{
	if (!strcmp(name, "slurm-yaml"))
		return dump_slurm_yaml;
	return strcmp(name, "k8s") ? NULL : dump_k8s;
}

/*
 * {"text": ..} in the format "slurm-yaml" or "k8s" (topology/files/dump.h), with the NVLink
 * domains that exporters report; NULL with the reason in err, for any other format too.
 */
static json_t *near_text(const struct command_env *env, const struct topo *t, const char *format,
			 char *err)
{
	dump_near_fn *dump = find_format(format);
	struct domains domains;
	char *text = NULL;
	size_t len = 0;
	json_t *result;
	FILE *out;
	int status;

	if (!dump)
		return command_refuse(
			err,
			"unknown format %s: text, json, ibnetdiscover, dot, svg, slurm, "
			"slurm-yaml, k8s or lst",
			format);
	out = open_memstream(&text, &len);

	/* Of domains that several hosts are in; that of one host says nothing of nearness. */
	struct domains domains_domains = {
		mem_alloc(t->nhosts + 1, sizeof(*domains_domains.of_host)), arena_new()
	};
	json_t *all = nvlink_hosts(env->fabric), *row, *host;
	size_t d, h;

	json_array_foreach (json_object_get(all, "domains"), d, row) {
		json_t *hosts = json_object_get(row, "hosts");
		const char *name =
			json_array_size(hosts) > 1 ? name_domain(&domains_domains, row) : NULL;

		json_array_foreach (hosts, h, host)
			domains_domains.of_host[find_host(t, json_string_value(host))] = name;
	}
	json_decref(all);
	domains = domains_domains;

	status = out ? dump(t, domains.of_host, out) : -errno;
	if (out)
		fclose(out);
	result = status ? command_refuse(err, "cannot write the output: %s", strerror(-status))
			: json_pack("{s:s%}", "text", text, len);
	free(text);
	free(domains.of_host);
	arena_free(domains.arena);
	return result;
}

/* ---- Answer view ----------------------------------------------------------------------------- */

static json_t *answer_status(const struct command_env *env, json_t *args, char *err)
{

	return command_unpack(args, err, "{}") ? fabric_status(env->fabric) : NULL;
}
const struct command_run status_run = { .answer = answer_status };

typedef int dump_fn(const struct topo *t, FILE *out);

/* What a writer writes, as {"text": ..}. */
static json_t *text_of(dump_fn *dump, const struct topo *t, char *err)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int status = out ? dump(t, out) : -errno;
	json_t *result;

	if (out)
		fclose(out);
	result = status ? command_refuse(err, "cannot write the output: %s", strerror(-status))
			: json_pack("{s:s%}", "text", text, len);
	free(text);
	return result;
}

static const struct {
	const char *name;
	dump_fn *dump; /* NULL = the JSON document */
} formats[] = {
	{ "text", dump_text }, { "json", NULL },    { "ibnetdiscover", netfile_write },
	{ "dot", dump_dot },   { "svg", dump_svg }, { "slurm", dump_slurm },
	{ "lst", dump_lst },
};

static json_t *answer_topology(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = command_topo(env, err);
	const char *format = "text";

	if (!t || !command_unpack(args, err, "{s?s}", "format", &format))
		return NULL;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(formats[i].name, format))
			return formats[i].dump ? text_of(formats[i].dump, t, err) : dump_json(t);
	return near_text(env, t, format, err);
}
const struct command_run topology_run = { .answer = answer_topology, .long_answer = true };

static bool rows_nodes(const struct command_env *env, json_t *args, command_put_fn *put, void *arg,
		       char *err)
{
	const struct topo *t = command_topo(env, err);

	if (!t || !command_unpack(args, err, "{}"))
		return false;
	for (uint32_t n = 0; n < t->nnodes; n++)
		if (filter_has_node(env->filter, n))
			put(arg, dump_json_node(t, n));
	return true;
}
const struct command_run nodes_run = { .rows = rows_nodes, .long_answer = true };

static json_t *answer_switches(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = command_topo(env, err);
	json_t *rows;

	if (!t || !command_unpack(args, err, "{}"))
		return NULL;
	rows = adaptive_switches(env->fabric);
	filter_switches(env->filter, rows);
	return rows;
}
const struct command_run switches_run = { .answer = answer_switches, .long_answer = true };

/* Those that are down have since when, those that are not trusted have why. */
static bool rows_links(const struct command_env *env, json_t *args, command_put_fn *put, void *arg,
		       char *err)
{
	const struct filter *filter = env->filter;
	int sick = 0;
	json_t *rows, *row;
	size_t i;

	if (!command_topo(env, err) || !command_unpack(args, err, "{s?b}", "sick", &sick))
		return false;
	if (!sick && !(filter && (filter->unhealthy || filter->down))) {
		const struct topo *t = fabric_view(env->fabric).topo;

		for (uint32_t p = 0; p < t->nports; p++)
			if (t->ports[p].peer != TOPO_NONE && t->ports[p].peer > p &&
			    filter_has_link(env->filter, p))
				put(arg, dump_json_link(t, p));

		return true;
	}
	rows = sick || (filter && filter->unhealthy) ? link_health_links(env->fabric)
						     : links_down(env->fabric);
	filter_links(filter, rows);
	json_array_foreach (rows, i, row)
		put(arg, json_incref(row));
	json_decref(rows);
	return true;
}
const struct command_run links_run = { .rows = rows_links, .long_answer = true };

static json_t *answer_health(const struct command_env *env, json_t *args, char *err)
{
	json_t *doc;
	int now = 0;

	if (!command_unpack(args, err, "{s?b}", "read", &now))
		return NULL;
	doc = link_health(env->fabric);
	filter_links(env->filter, json_object_get(doc, "links"));
	return doc;
}
const struct command_run health_run = { .answer = answer_health,
					.long_answer = true,
					.begin = link_health_read,
					.answers_after = true };

/* Of hosts the verdict says whether they are healthy, whose links are but a part of that. */
static bool is_asked(const void *arg, uint32_t host, const struct host_verdict *verdict)
{
	struct filter places = *(const struct filter *)arg;

	if (places.unhealthy && verdict->state == HOST_HEALTHY)
		return false;
	places.unhealthy = false;
	return filter_has_host(&places, host);
}

static json_t *answer_hosts(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = command_topo(env, err);

	return t && command_unpack(args, err, "{}")
		       ? hosts_document(env->fabric, env->filter ? is_asked : NULL, env->filter)
		       : NULL;
}
const struct command_run hosts_run = { .answer = answer_hosts, .long_answer = true };

/* Of the rows only that of a host; false = there is none. */
static bool keep_host(json_t *rows, const char *name)
{
	for (size_t i = json_array_size(rows); i-- > 0;)
		if (strcmp(json_string_value(json_object_get(json_array_get(rows, i), "host")),
			   name))
			json_array_remove(rows, i);
	return json_array_size(rows);
}

static json_t *answer_nvswitch(const struct command_env *env, json_t *args, char *err)
{
	struct filter places = env->filter ? *env->filter : (struct filter){ 0 };
	const char *name = NULL, *known;
	json_t *doc, *hosts;

	if (!command_unpack(args, err, "{s?s}", "name", &name))
		return NULL;
	doc = nvlink_hosts(env->fabric);
	hosts = json_object_get(doc, "hosts");
	known = name ? command_find_host(env, name) : NULL;
	if (name && !keep_host(hosts, known ? known : name)) {
		json_decref(doc);
		return command_refuse(err, "no host %s", name);
	}
	if (places.unhealthy) {
		for (size_t i = json_array_size(hosts); i-- > 0;) {
			const json_t *state = json_object_get(json_array_get(hosts, i), "state");

			if (json_is_string(state) && !strcmp(json_string_value(state), "HEALTHY"))
				json_array_remove(hosts, i);
		}
	}
	places.unhealthy = false; /* that was said of NVLinks, not of links */
	filter_hosts(env->filter ? &places : NULL, hosts, "host");
	return doc;
}
const struct command_run nvswitch_run = { .answer = answer_nvswitch, .long_answer = true };

/* ---- Multicast ---- */

/* All groups, or those that an MGID or a MLID names. */
static json_t *answer_groups(const struct command_env *env, json_t *args, char *err)
{
	const char *name = NULL;
	struct what what;
	json_t *groups;

	if (!command_unpack(args, err, "{s?s}", "group", &name) ||
	    (name && !command_find_number(env, name, WHAT_GROUP, &what, err)))
		return NULL;
	groups = name ? multicast_groups_of(env->fabric, what.number,
					    what.kind == WHAT_MGID ? what.mgid : NULL)
		      : multicast_groups(env->fabric);
	if (!name || json_array_size(groups))
		return groups;
	json_decref(groups);
	return command_refuse(err, "no multicast group %s", name);
}
const struct command_run groups_run = { .answer = answer_groups, .long_answer = true };

static json_t *answer_partitions(const struct command_env *env, json_t *args, char *err)
{
	const char *which = NULL;
	struct what what;
	char pkey[16];
	json_t *rows;

	if (!command_unpack(args, err, "{s?s}", "partition", &which))
		return NULL;
	rows = partitions_document(env->fabric, which);
	if (!rows && command_find_number(env, which, WHAT_PKEY, &what, err)) {
		snprintf(pkey, sizeof(pkey), "0x%x", what.number);
		rows = partitions_document(env->fabric, pkey);
	}
	return rows ? rows : command_refuse(err, "no partition %s", which);
}
const struct command_run partitions_run = { .answer = answer_partitions, .long_answer = true };
