/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* answer_view: pictures of the fabric: status, topology, rows of what is there, what happened. */
#include <errno.h>
#include <stdlib.h>
#include "fm/adaptive/module.h"
#include "fm/control/answer.h"
#include "fm/control/filter.h"
#include "fm/fabric/view.h"
#include "fm/hosts/module.h"
#include "fm/multicast/module.h"
#include "fm/nvswitch/module.h"
#include "fm/partition/module.h"
#include "fm/perf/module.h"
#include "fm/registers/module.h"
#include "fm/restart/module.h"
#include "topology/base/mem.h"
#include "topology/files/dump.h"
#include "topology/files/netfile.h"
#include "topology/snapshot/topo.h"
#include "topology/base/text.h"

/* ---- Answer view ----------------------------------------------------------------------------- */

static json_t *answer_status(const struct command_env *env, json_t *args, char *err)
{
	int check = 0;

	return command_unpack(args, err, "{s?b}", "check", &check) ? fabric_status(env->fabric)
								   : NULL;
}
const struct command_run status_run = { .answer = answer_status };

typedef int dump_fn(const struct topo *t, FILE *out);
/* For schedulers: how near hosts are to one another; domains: by host, NULL = not known. */
typedef int dump_near_fn(const struct topo *t, const char *const *domains, bool shortened,
			 FILE *out);

static const struct format { /* both NULL: the JSON document */
	const char *name;
	dump_fn *dump;
	dump_near_fn *near;
} formats[] = {
	{ "text", dump_text, NULL },
	{ "json", NULL, NULL },
	{ "ibnetdiscover", netfile_write, NULL },
	{ "dot", dump_dot, NULL },
	{ "svg", dump_svg, NULL },
	{ "slurm", NULL, dump_slurm },
	{ "lst", dump_lst, NULL },
	{ "slurm-yaml", NULL, dump_slurm_yaml },
	{ "k8s", NULL, dump_k8s },
};

/* What a writer writes, as {"text": ..}; NULL with the reason in err. */
static json_t *text_of(const struct format *format, const struct topo *t,
		       const char *const *domains, bool shortened, char *err)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int status = -errno;

	if (out) {
		status = format->near ? format->near(t, domains, shortened, out)
				      : format->dump(t, out);
		fclose(out);
	}

	json_t *result =
		status ? command_refuse(err, "cannot write the output: %s", strerror(-status))
		       : json_pack("{s:s%}", "text", text, len);

	free(text);
	return result;
}

/*
 * The same with the NVLink domains that exporters report, as GPU Feature Discovery writes them: the
 * cluster's UUID and the clique within it. Of domains that several hosts are in; that of one host
 * says nothing of nearness.
 */
static json_t *near_text(const struct command_env *env, const struct topo *t,
			 const struct format *format, char *err)
{
	const char **of_host = mem_array(of_host, t->nhosts + 1);
	json_t *all = nvlink_hosts(env->fabric), *result;
	struct arena *arena = arena_new();

	JSON_EACH (row, json_object_get(all, "domains")) {
		json_t *hosts = json_object_get(row, "hosts");
		char name[96];

		array_printf(name, "%s.%lld", json_text(row, "cluster_uuid"),
			     json_number(row, "clique"));
		JSON_EACH (host, hosts) {
			uint32_t at = place_host(t, json_string_value(host));

			if (at != TOPO_NONE && json_array_size(hosts) > 1)
				of_host[at] = arena_strdup(arena, name);
		}
	}
	json_decref(all);
	result = text_of(format, t, of_host,
			 fabric_services(env->fabric).conf->nvswitch.short_node_names, err);
	free(of_host);
	arena_free(arena);
	return result;
}

static json_t *answer_topology(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = command_topo(env, err);
	const char *format = "text";

	if (!t || !command_unpack(args, err, "{s?s}", "format", &format))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		const struct format *it = &formats[i];

		if (!strcmp(it->name, format))
			return it->near	  ? near_text(env, t, it, err)
			       : it->dump ? text_of(it, t, NULL, false, err)
					  : dump_json(t);
	}
	return command_refuse(err,
			      "unknown format %s: text, json, ibnetdiscover, dot, svg, slurm, "
			      "slurm-yaml, k8s or lst",
			      format);
}
const struct command_run topology_run = { .answer = answer_topology, .long_answer = true };

/* And which firmware it runs, and masks of SLs, where these are known. */
static json_t *with_device(const struct command_env *env, json_t *row, uint32_t n)
{
	const guid_t guid = fabric_view(env->fabric).topo->nodes[n].guid;
	json_t *facts = device_facts(env->fabric, guid);

	json_object_del(facts, "up_s"); /* of which no two answers are alike */
	json_object_update_missing(row, facts);
	json_decref(facts);
	adaptive_show_hca(env->fabric, guid, 0, row);
	return row;
}

static bool rows_nodes(const struct command_env *env, json_t *args, command_put_fn *put, void *arg,
		       char *err)
{
	const struct topo *t = command_topo(env, err);

	if (!t || !command_unpack(args, err, "{}"))
		return false;
	for (uint32_t n = 0; n < t->nnodes; n++)
		if (filter_has_node(env->filter, n))
			put(arg, with_device(env, dump_json_node(t, n), n));
	return true;
}
const struct command_run nodes_run = { .rows = rows_nodes, .long_answer = true };

static json_t *answer_switches(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = command_topo(env, err);

	if (!t || !command_unpack(args, err, "{}"))
		return NULL;

	json_t *rows = adaptive_switches(env->fabric);

	JSON_EACH (row, rows) /* in the order of the snapshot */
		with_device(env, (json_t *)row, row_at);
	filter_rows(env->filter, rows);
	return rows;
}
const struct command_run switches_run = { .answer = answer_switches, .long_answer = true };

/* Those that are down have since when and the reason, those that are not trusted have why. */
static bool rows_links(const struct command_env *env, json_t *args, command_put_fn *put, void *arg,
		       char *err)
{
	const struct filter *filter = env->filter;
	int sick = 0;

	if (!command_topo(env, err) || !command_unpack(args, err, "{s?b}", "sick", &sick))
		return false;
	if (!sick && !(filter && (filter->unhealthy || filter->down))) {
		const struct topo *t = fabric_view(env->fabric).topo;

		TOPO_CABLES (t, port, peer)
			if (filter_has_link(env->filter, port - t->ports))
				put(arg, dump_json_link(t, port - t->ports));

		return true;
	}

	json_t *rows = sick || (filter && filter->unhealthy) ? link_health_links(env->fabric)
							     : links_down(env->fabric);

	filter_rows(filter, rows);
	JSON_EACH (row, rows) {
		const json_t *end = json_object_get(row, "a");
		guid_t guid = json_guid_of(end, "guid");
		struct link_down_reason why;

		if (guid && json_is_false(json_object_get(row, "up")) &&
		    link_down_reason(env->fabric, guid, (uint8_t)json_number(end, "port"), &why))
			json_put(row, "{ss ss*}", "reason", why.reason, "blame",
				 *why.blame ? why.blame : NULL);
		put(arg, json_incref(row));
	}
	json_decref(rows);
	return true;
}
const struct command_run links_run = { .rows = rows_links, .long_answer = true };

static json_t *answer_health(const struct command_env *env, json_t *args, char *err)
{
	int now = 0;

	if (!command_unpack(args, err, "{s?b}", "read", &now))
		return NULL;

	json_t *doc = link_health(env->fabric);

	filter_rows(env->filter, json_object_get(doc, "links"));
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
	int only_names = 0;

	if (!t || !command_unpack(args, err, "{s?b}", "hostlist", &only_names))
		return NULL;

	json_t *rows = hosts_document(env->fabric, env->filter ? is_asked : NULL, env->filter);

	if (only_names) { /* names that a scheduler takes, and nothing else */
		json_t *names = json_array();

		JSON_EACH (row, rows)
			if (text_is_host_name(json_text(row, "name")))
				json_add(names, "{ss}", "name", json_text(row, "name"));
		json_decref(rows);
		rows = names;
	}
	return rows;
}
const struct command_run hosts_run = { .answer = answer_hosts, .long_answer = true };

static json_t *answer_nvswitch(const struct command_env *env, json_t *args, char *err)
{
	struct filter places = env->filter ? *env->filter : (struct filter){ 0 };
	bool unhealthy = places.unhealthy, found = false;
	const char *name = NULL, *known;

	if (!command_unpack(args, err, "{s?s}", "name", &name))
		return NULL;

	json_t *doc = nvlink_hosts(env->fabric);
	json_t *hosts = json_object_get(doc, "hosts");

	known = name ? command_find_host(env, name) ?: name : NULL;
	places.unhealthy = false; /* it was meant of NVLinks, not of links */
	for (size_t i = json_array_size(hosts); i-- > 0;) {
		const json_t *row = json_array_get(hosts, i);
		const char *host = json_text(row, "host"), *state = json_text(row, "state");
		uint32_t at = env->filter ? place_host(places.topo, host) : TOPO_NONE;
		bool is_it = !known || !strcmp(host, known);

		found |= is_it;
		if (!is_it || (unhealthy && state && !strcmp(state, "HEALTHY")) ||
		    (at != TOPO_NONE && !filter_has_host(&places, at)))
			json_array_remove(hosts, i);
	}
	if (!name || found)
		return doc;
	json_decref(doc);
	return command_refuse(err, "no host %s", name);
}
const struct command_run nvswitch_run = { .answer = answer_nvswitch, .long_answer = true };

/* ---- Multicast ---- */

/* All groups, or those that an MGID or a MLID names. */
static json_t *answer_groups(const struct command_env *env, json_t *args, char *err)
{
	const char *name = NULL;
	struct what what;

	if (!command_unpack(args, err, "{s?s}", "group", &name) ||
	    (name && !command_find_number(env, name, WHAT_GROUP, &what, err)))
		return NULL;

	json_t *groups = name ? multicast_groups_of(env->fabric, what.number,
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

	if (!command_unpack(args, err, "{s?s}", "partition", &which))
		return NULL;

	json_t *rows = partitions_document(env->fabric, which);

	if (!rows && command_find_number(env, which, WHAT_PKEY, &what, err)) {
		array_printf(pkey, "0x%x", what.number);
		rows = partitions_document(env->fabric, pkey);
	}
	return rows ? rows : command_refuse(err, "no partition %s", which);
}
const struct command_run partitions_run = { .answer = answer_partitions, .long_answer = true };
