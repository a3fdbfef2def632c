/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_alias: GUID tables of ports, as hosts asked for them (fm/sa/sa_alias.c), on their way to the ports (IBA 14.2.5.5).
 *
 * A port forgets its table with its power. So each table is written when it changes, and all of it when the port is back in
 * service; when fmd begins it takes none for written. A port that does not take its table is asked again when the fabric
 * next settles.
 */
#include <stdlib.h>
#include "fm/fabric/own.h"
#include "fm/mad/batch.h"
#include "topology/mem.h"

struct holder {		    /* a port with a table */
	cl_map_item_t item; /* key: port GUID */
	bool written;	    /* or on its way */
};

struct fabric_alias {
	struct batch *batch;
	struct loop_timer *soon;
	cl_qmap_t holders;
};

guid_t fabric_port_guid(const struct fabric *f, guid_t guid)
{
	guid_t port = sa_alias_port(f->sa, guid);

	return port ? port : guid;
}

static struct holder *holder_get(struct fabric_alias *a, guid_t port)
{
	cl_map_item_t *item = cl_qmap_get(&a->holders, port);
	struct holder *holder = (struct holder *)item;

	if (item != cl_qmap_end(&a->holders))
		return holder;
	holder = mem_alloc(1, sizeof(*holder));
	cl_qmap_insert(&a->holders, port, &holder->item);
	return holder;
}

static bool in_service(const struct topo *t, guid_t guid)
{
	uint32_t port = topo_find_port(t, guid);

	return port != TOPO_NONE && (t->ports[port].node < t->nswitches || t->ports[port].link_up);
}

static void write_table(struct fabric *f, struct holder *holder)
{
	uint8_t data[WIRE_SMP_DATA];

	holder->written = true;
	for (unsigned block = 0; sa_alias_block(f->sa, cl_qmap_key(&holder->item), block, data);
	     block++)
		batch_add(f->alias->batch, &(struct batch_job){ .object = holder, .arg = block });
}

/* Writes the tables of ports that came into service, or whose table is another. */
static void write_due(void *arg)
{
	struct fabric *f = arg;

	for (guid_t port = sa_alias_next(f->sa, 0); f->topo && port;
	     port = sa_alias_next(f->sa, port)) {
		struct holder *holder = holder_get(f->alias, port);

		if (!in_service(f->topo, port))
			holder->written = false;
		else if (!holder->written)
			write_table(f, holder);
	}
}

void fabric_alias_settled(struct fabric *f)
{
	write_due(f);
}

void fabric_alias_changed(struct fabric *f, guid_t port)
{
	holder_get(f->alias, port)->written = false;
	loop_timer_set(f->alias->soon, 0);
}

/* ---- Requests ------------------------------------------------------------------------------------ */

static bool make(void *owner, const struct batch_job *job, struct batch_request *request)
{
	struct fabric *f = owner;
	guid_t guid = cl_qmap_key(&((struct holder *)job->object)->item);
	uint32_t port = topo_find_port(f->topo, guid);
	struct inventory *inv = sweep_inventory(f->sweep);
	const struct inv_node *node =
		port == TOPO_NONE
			? NULL
			: inventory_find(inv, f->topo->nodes[f->topo->ports[port].node].guid);

	if (!node || node->gone || node->silent ||
	    !inventory_port_path(inv, node, f->topo->ports[port].num, &request->way.path) ||
	    !sa_alias_block(f->sa, guid, job->arg, request->data))
		return false;
	request->way.stamp = inv->clock;
	request->mad.method = WIRE_SET;
	request->mad.attr_id = WIRE_GUID_INFO;
	request->mad.attr_mod = job->arg;
	request->mad.device = node->info.node_guid;
	request->mad.retries = 1;
	return true;
}

static void done(void *owner, const struct batch_job *job, const struct batch_way *way,
		 const struct mad_answer *answer)
{
	struct fabric *f = owner;
	struct holder *holder = job->object;

	if (answer->result == MAD_TIMEOUT)
		inventory_path_failed(sweep_inventory(f->sweep), &way->path, way->stamp);
	else
		inventory_path_worked(sweep_inventory(f->sweep), &way->path);
	if (answer->result == MAD_OK)
		return;
	holder->written = false;
	event_log_add(f->events, LOG_WARNING, "guids-refused", NULL,
		      "port 0x%016llx: does not take block %u of its GUID table",
		      (unsigned long long)cl_qmap_key(&holder->item), job->arg);
}

static void idle(void *owner)
{
}

static const struct batch_ops ops = { .make = make, .done = done, .idle = idle };

/* ---- Life ---------------------------------------------------------------------------------------- */

void fabric_alias_init(struct fabric *f)
{
	struct fabric_alias *a = mem_alloc(1, sizeof(*a));

	f->alias = a;
	a->batch = batch_new(f->loop, f->mad, &ops, f);
	a->soon = loop_timer_new(f->loop, write_due, f);
	cl_qmap_init(&a->holders);
}

void fabric_alias_fini(struct fabric *f)
{
	struct fabric_alias *a = f->alias;

	batch_free(a->batch);
	loop_timer_free(a->soon);
	while (cl_qmap_count(&a->holders)) {
		cl_map_item_t *item = cl_qmap_head(&a->holders);

		cl_qmap_remove_item(&a->holders, item);
		free(item);
	}
	free(a);
	f->alias = NULL;
}
