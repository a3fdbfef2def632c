/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/keys/foreign.h"
#include "topology/dump.h"

#define NAMED 20 /* by an alert each, and in the status */

typedef bool each_fn(void *arg, const struct inv_node *node, unsigned num); /* false: enough */

static bool has_foreign(const struct inv_node *node, unsigned num)
{
	return !node->gone && node->ports[num].foreign_key && inventory_has_key(node, num) &&
	       (!num || node->ports[num].link_up);
}

static void each_foreign(const struct fabric_services *s, each_fn *fn, void *arg)
{
	for (const struct inv_node *node = inventory_first(s->inventory); node;
	     node = inventory_next(s->inventory, node)) {
		unsigned last = inv_is_switch(node) ? 0 : node->nports;

		for (unsigned p = inv_is_switch(node) ? 0 : 1; p <= last; p++)
			if (has_foreign(node, p) && !fn(arg, node, p))
				return;
	}
}

static struct inv_name name_of(const struct inv_node *node, unsigned num)
{
	return inventory_name(node, inv_is_switch(node) ? -1 : (int)num);
}

struct review {
	const struct fabric_services *services;
	unsigned count;
};

static bool name_one(void *arg, const struct inv_node *node, unsigned num)
{
	struct review *r = arg;
	struct inv_name name = name_of(node, num);

	if (r->count++ < NAMED)
		alert_raise(r->services->alerts, "port-m-key", name.text,
			    "%s: holds an M_Key that this manager does not know: it is used as it "
			    "is, and nothing is written to it",
			    name.text);
	return true;
}

unsigned foreign_review(const struct fabric_services *services)
{
	struct review r = { .services = services };

	alerts_review(services->alerts, "port-m-key");
	each_foreign(services, name_one, &r);
	if (r.count > NAMED)
		alert_raise(services->alerts, "port-m-key", "",
			    "%u more ports hold an M_Key that this manager does not know",
			    r.count - NAMED);
	alerts_reviewed(services->alerts, "port-m-key");
	return r.count;
}

void foreign_end(const struct fabric_services *services)
{
	alerts_review(services->alerts, "port-m-key");
	alerts_reviewed(services->alerts, "port-m-key");
}

/* ---- For operators --------------------------------------------------------------------------- */

struct rows {
	const struct topo *topo;
	json_t *rows;
};

static bool add_row(void *arg, const struct inv_node *node, unsigned num)
{
	struct rows *r = arg;
	uint32_t index = topo_find(r->topo, node->guid);

	if (index != TOPO_NONE && num <= r->topo->nodes[index].nports)
		json_array_append_new(r->rows,
				      dump_json_unhealthy_link(
					      r->topo, r->topo->nodes[index].port0 + num, "m-key",
					      json_string("holds an M_Key of "
							  "somebody else")));
	return true;
}

void foreign_unhealthy(const struct fabric_services *services, const struct fabric_view *view,
		       json_t *rows)
{
	if (view->topo)
		each_foreign(services, add_row, &(struct rows){ view->topo, rows });
}

static bool add_name(void *arg, const struct inv_node *node, unsigned num)
{
	json_array_append_new(arg, json_string(name_of(node, num).text));
	return json_array_size(arg) < NAMED;
}

json_t *foreign_names(const struct fabric_services *services)
{
	json_t *names = json_array();

	each_foreign(services, add_name, names);
	return names;
}
