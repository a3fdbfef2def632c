/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: each room adds its part to a host's verdict on request (fabric_judge_host()); this one
 * adds HCAs and links of the snapshot. The fates of HCAs are computed once for each publication,
 * when they are first needed.
 */
#include "fm/hosts/module.h"
#include <stdlib.h>
#include "fm/fabric/host.h"
#include "fm/fabric/view.h"
#include "fm/hosts/ib_parts.h"
#include "fm/hosts/room.h"
#include "topology/cutoff.h"
#include "topology/dump.h"
#include "topology/mem.h"

/* ---- Verdicts -------------------------------------------------------------------------------- */

static void take_fates(struct hosts_room *r, const struct topo *t)
{
	const struct inv_node *local = r->services.inventory->local;

	if (!r->fates)
		r->fates = cutoff_fates(t, local ? topo_find(t, local->guid) : TOPO_NONE);
}

static void judge(void *room, uint32_t host, struct host_verdict *verdict)
{
	struct hosts_room *r = room;
	const struct topo *t = fabric_view(r->fabric).topo;

	take_fates(r, t);
	ib_parts_add(t, r->fates, host, verdict);
}

void hosts_judge(struct fabric *fabric, uint32_t host, struct host_verdict *out)
{
	fabric_judge_host(fabric, host, out);
}

/* ---- Documents ------------------------------------------------------------------------------- */

static json_t *reasons_json(const struct host_verdict *v)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < v->count; i++)
		json_array_append_new(list, json_string(v->reasons[i].text));
	if (v->more)
		json_array_append_new(list, json_sprintf("and %u more", v->more));
	return list;
}

void hosts_add_verdict(const struct host_verdict *v, json_t *row)
{
	json_object_set_new(row, "verdict", json_string(host_state_name(v->state)));
	json_object_set_new(row, "reasons", reasons_json(v));
	json_object_set_new(row, "hcas_up", json_integer(v->hcas_up));
	json_object_set_new(row, "hcas_known", json_integer(v->hcas));
}

json_t *hosts_document(struct fabric *fabric, hosts_asked_fn *asked, const void *arg)
{
	const struct topo *t = fabric_view(fabric).topo;
	json_t *rows = json_array();

	for (uint32_t host = 0; host < t->nhosts; host++) {
		struct host_verdict verdict;
		json_t *row;

		fabric_judge_host(fabric, host, &verdict);
		if (asked && !asked(arg, host, &verdict))
			continue;
		row = dump_json_host(t, host);
		hosts_add_verdict(&verdict, row);
		json_array_append_new(rows, row);
	}
	return rows;
}

static void status(const void *room, json_t *doc)
{
	const struct hosts_room *r = room;
	json_t *counts = json_object();

	for (int state = 0; state < HOST_STATES; state++)
		json_object_set_new(counts, host_state_name((enum host_state)state),
				    json_integer(r->counts[state]));
	json_object_set_new(doc, "host_verdicts", counts);
}

/* ---- What changes ---------------------------------------------------------------------------- */

/* A node's index may be another's by now. */
static void publishing(void *room, const struct topo *before)
{
	struct hosts_room *r = room;

	free(r->fates);
	r->fates = NULL;
	passes_restart(r);
}

static void hosts_changed(void *room)
{
	passes_request(room);
}

/* Links had the time to come up. */
static void settled(void *room)
{
	struct hosts_room *r = room;

	if (r->settled)
		return;
	r->settled = true;
	passes_restart(r);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static int check(const struct conf *conf, char *err, size_t err_size)
{
	return hook_check("host_hook", conf->hosts.hook, err, err_size);
}

static void configure(void *room)
{
	passes_configure(room);
}

static void load(void *room)
{
	passes_load(room);
	passes_configure(room);
}

static void *init(struct fabric *fabric)
{
	struct hosts_room *r = mem_alloc(1, sizeof(*r));

	r->fabric = fabric;
	r->services = fabric_services(fabric);
	passes_init(r);
	return r;
}

static void fini(void *room)
{
	struct hosts_room *r = room;

	passes_fini(r);
	free(r->fates);
	free(r);
}

const struct fabric_module hosts_module = { .name = "hosts",
					    .check = check,
					    .init = init,
					    .fini = fini,
					    .load = load,
					    .configure = configure,
					    .update.publishing = publishing,
					    .update.shown = publishing,
					    .deploy.settled = settled,
					    .report.host = judge,
					    .report.hosts_changed = hosts_changed,
					    .report.status = status };
