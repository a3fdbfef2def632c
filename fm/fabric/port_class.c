/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * port_class: what routing goes by beside the snapshot. Which end ports are storage and which
 * management is said by patterns of node descriptions (fnmatch(3)) from the configuration, each
 * held against the whole description and against the host's name; rooms add the rest
 * (fm/fabric/policy.h).
 */
#include "fm/fabric/port_class.h"
#include <stdlib.h>
#include <string.h>
#include "fm/core/name_patterns.h"
#include "fm/fabric/pipe.h"
#include "topology/mem.h"

static bool matches_any(const char *patterns, const struct topo *t, const struct topo_node *node)
{
	const char *host = node->host == TOPO_NONE ? NULL : t->hosts[node->host].name;

	return name_patterns_match(patterns, node->desc, host) ||
	       name_patterns_match(patterns, node->name, NULL);
}

uint8_t *fabric_classes_by_name(const struct fabric *f, const struct topo *t)
{
	const struct conf *conf = &f->conf;
	uint8_t *classes;

	if (!*conf->routing.storage_nodes && !*conf->routing.management_nodes)
		return NULL;
	classes = mem_alloc(t->nports, 1);
	for (uint32_t n = t->nswitches; n < t->nnodes; n++) {
		const struct topo_node *node = &t->nodes[n];
		enum route_class class =
			matches_any(conf->routing.storage_nodes, t, node)      ? ROUTE_STORAGE
			: matches_any(conf->routing.management_nodes, t, node) ? ROUTE_MANAGEMENT
									       : ROUTE_COMPUTE;

		memset(classes + node->port0, class, node->nports + 1u);
	}
	return classes;
}

struct fabric_policy fabric_policy(const struct fabric *f, const struct topo *t,
				   const struct fabric_module *without)
{
	struct fabric_policy policy = { .classes = fabric_classes_by_name(f, t) };

	modules_route_input(f->modules, without, t, &policy);
	return policy;
}

void fabric_policy_fini(struct fabric_policy *policy)
{
	free(policy->classes);
	free(policy->weights);
	free(policy->overrides);
	*policy = (struct fabric_policy){ 0 };
}

struct route_params fabric_route_params(const struct fabric *f, const struct fabric_policy *policy)
{
	return (struct route_params){ .engine = route_engine_name(f->conf.routing.engine),
				      .classes = policy->classes,
				      .weights = policy->weights,
				      .overrides = policy->overrides,
				      .noverrides = policy->noverrides };
}
