/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* near: formats for schedulers, with the NVLink domains of hosts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fm/control/near.h"
#include "fm/nvswitch/module.h"
#include "topology/files/dump.h"
#include "topology/base/mem.h"

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

/* Of domains that several hosts are in; that of one host says nothing of nearness. */
static struct domains find_domains(const struct fabric *fabric, const struct topo *t)
{
	struct domains domains = { mem_alloc(t->nhosts + 1, sizeof(*domains.of_host)),
				   arena_new() };
	json_t *all = nvlink_hosts(fabric), *row, *host;
	size_t d, h;

	json_array_foreach (json_object_get(all, "domains"), d, row) {
		json_t *hosts = json_object_get(row, "hosts");
		const char *name = json_array_size(hosts) > 1 ? name_domain(&domains, row) : NULL;

		json_array_foreach (hosts, h, host)
			domains.of_host[find_host(t, json_string_value(host))] = name;
	}
	json_decref(all);
	return domains;
}

/* ---- Formats ---- */

static dump_near_fn *find_format(const char *name)
{
	if (!strcmp(name, "slurm-yaml"))
		return dump_slurm_yaml;
	return strcmp(name, "k8s") ? NULL : dump_k8s;
}

json_t *near_text(const struct command_env *env, const struct topo *t, const char *format,
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
	domains = find_domains(env->fabric, t);
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
