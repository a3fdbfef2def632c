/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * GUID tables of ports, as hosts asked for them (fm/sa/sa_alias.c), on their way to the ports (IBA
 * 14.2.5.5).
 *
 * A port loses its table when it loses power. So the room writes a table when it changes, and the
 * whole table when the port is back in service. At its start fmd assumes that no port has its
 * table. If a port does not take its table, the room tries again when the fabric next settles.
 */
#include <stdlib.h>
#include "fm/mad/batch.h"
#include "fm/sa/module_own.h"
#include "topology/mem.h"

struct holder {		    /* a port with a table */
	cl_map_item_t item; /* key: port GUID */
	bool written;	    /* or on its way */
};

struct guid_tables {
	const struct fabric *fabric;
	struct fabric_services services;
	struct batch *batch;
	struct loop_timer *soon;
	cl_qmap_t holders;
};

static struct holder *holder_get(struct guid_tables *g, guid_t port)
{
	cl_map_item_t *item = cl_qmap_get(&g->holders, port);
	struct holder *holder = (struct holder *)item;

	if (item != cl_qmap_end(&g->holders))
		return holder;
	holder = mem_alloc(1, sizeof(*holder));
	cl_qmap_insert(&g->holders, port, &holder->item);
	return holder;
}

static bool has_foreign_key(const struct guid_tables *g, const struct topo_node *node, unsigned num)
{
	const struct inv_node *known = inventory_find(g->services.inventory, node->guid);

	return known && num <= known->nports && known->ports[num].foreign_key;
}

/* A port with an M_Key of another manager is sent no Set. */
static bool in_service(const struct guid_tables *g, const struct topo *t, guid_t guid)
{
	uint32_t port = topo_find_port(t, guid);

	return port != TOPO_NONE &&
	       (t->ports[port].node < t->nswitches || t->ports[port].link_up) &&
	       !has_foreign_key(g, &t->nodes[t->ports[port].node], t->ports[port].num);
}

static void write_table(struct guid_tables *g, struct holder *holder)
{
	uint8_t data[WIRE_SMP_DATA];

	holder->written = true;
	for (unsigned block = 0;
	     sa_alias_block(g->services.sa, cl_qmap_key(&holder->item), block, data); block++)
		batch_add(g->batch, &(struct batch_job){ .object = holder, .arg = block });
}

/* Writes the tables of ports that came into service, or whose table is another. */
static void write_due(void *arg)
{
	struct guid_tables *g = arg;
	const struct sa *sa = g->services.sa;
	const struct topo *topo = fabric_view(g->fabric).topo;

	for (guid_t port = sa_alias_next(sa, 0); topo && port; port = sa_alias_next(sa, port)) {
		struct holder *holder = holder_get(g, port);

		if (!in_service(g, topo, port))
			holder->written = false;
		else if (!holder->written)
			write_table(g, holder);
	}
}

void guid_tables_settled(struct guid_tables *g)
{
	write_due(g);
}

void guid_tables_changed(struct guid_tables *g, guid_t port)
{
	holder_get(g, port)->written = false;
	loop_timer_set(g->soon, 0);
}

/* ---- Requests -------------------------------------------------------------------------------- */

static bool make(void *owner, const struct batch_job *job, struct batch_request *request)
{
	struct guid_tables *g = owner;
	const struct topo *topo = fabric_view(g->fabric).topo;
	guid_t guid = cl_qmap_key(&((struct holder *)job->object)->item);
	uint32_t port = topo_find_port(topo, guid);
	struct inventory *inv = g->services.inventory;
	const struct inv_node *node =
		port == TOPO_NONE ? NULL
				  : inventory_find(inv, topo->nodes[topo->ports[port].node].guid);

	if (!node || node->gone || node->silent ||
	    !inventory_port_path(inv, node, topo->ports[port].num, &request->via.path) ||
	    !sa_alias_block(g->services.sa, guid, job->arg, request->data))
		return false;
	request->via.stamp = inv->clock;
	request->mad.method = WIRE_SET;
	request->mad.attr_id = WIRE_GUID_INFO;
	request->mad.attr_mod = job->arg;
	request->mad.device = node->info.node_guid;
	request->mad.retries = 1;
	return true;
}

static void done(void *owner, const struct batch_job *job, const struct batch_path *via,
		 const struct mad_answer *answer)
{
	struct guid_tables *g = owner;
	struct holder *holder = job->object;

	if (answer->result == MAD_TIMEOUT)
		inventory_path_failed(g->services.inventory, &via->path, via->stamp);
	else
		inventory_path_worked(g->services.inventory, &via->path);
	if (answer->result == MAD_OK)
		return;
	holder->written = false;
	event_log_add(g->services.events, LOG_WARNING, "guids-refused", NULL,
		      "port 0x%016llx: does not apply block %u of its GUID table",
		      (unsigned long long)cl_qmap_key(&holder->item), job->arg);
}

static void idle(void *owner)
{
}

static const struct batch_ops ops = { .make = make, .done = done, .idle = idle };

/* ---- Life ------------------------------------------------------------------------------------ */

struct guid_tables *guid_tables_new(struct fabric *fabric)
{
	struct guid_tables *g = mem_alloc(1, sizeof(*g));

	g->fabric = fabric;
	g->services = fabric_services(fabric);
	g->batch = batch_new(g->services.loop, g->services.mad, &ops, g);
	g->soon = loop_timer_new(g->services.loop, write_due, g);
	cl_qmap_init(&g->holders);
	return g;
}

void guid_tables_free(struct guid_tables *g)
{
	batch_free(g->batch);
	loop_timer_free(g->soon);
	while (cl_qmap_count(&g->holders)) {
		cl_map_item_t *item = cl_qmap_head(&g->holders);

		cl_qmap_remove_item(&g->holders, item);
		free(item);
	}
	free(g);
}
