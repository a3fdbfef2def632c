/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * port_class: what routing goes by beside the snapshot. Which end ports are storage and which
 * management ports follows from patterns of nodes (fm/conf/lists.h) in the configuration; rooms add
 * the rest (fm/fabric/view.h).
 */
#include "fm/fabric/pipe.h"
#include "fm/conf/lists.h"
#include "topology/base/mem.h"

uint8_t *fabric_classes_by_name(const struct fabric *f, const struct topo *t)
{
	const struct conf_routing *conf = &f->conf.routing;

	if (!*conf->storage_nodes && !*conf->management_nodes)
		return NULL;

	struct node_patterns *storage = node_patterns_new(conf->storage_nodes);
	struct node_patterns *management = node_patterns_new(conf->management_nodes);

	uint8_t *classes = mem_alloc(t->nports, 1);

	for (uint32_t n = t->nswitches; n < t->nnodes; n++) {
		const struct topo_node *node = &t->nodes[n];
		enum route_class class = node_patterns_match(storage, t, node) ? ROUTE_STORAGE
					 : node_patterns_match(management, t, node)
						 ? ROUTE_MANAGEMENT
						 : ROUTE_COMPUTE;

		memset(classes + node->port0, class, node->nports + 1u);
	}
	node_patterns_free(storage);
	node_patterns_free(management);
	return classes;
}

struct fabric_policy fabric_policy(const struct fabric *f, const struct topo *t,
				   const struct fabric_module *without)
{
	struct fabric_policy policy = { .classes = fabric_classes_by_name(f, t) };

	MODULES_EACH (f->kept.modules, row)
		if (row->module->route_input && row->module != without)
			row->module->route_input(row->room, t, &policy);
	return policy;
}

void fabric_policy_fini(struct fabric_policy *policy)
{
	free(policy->classes);
	free(policy->overrides);
	*policy = (struct fabric_policy){ 0 };
}

struct route_params fabric_route_params(const struct fabric *f, const struct fabric_policy *policy)
{
	return (struct route_params){ .engine = route_engine_name(f->conf.routing.engine),
				      .classes = policy->classes,
				      .overrides = policy->overrides,
				      .noverrides = policy->noverrides };
}
