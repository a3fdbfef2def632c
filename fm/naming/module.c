/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The node-name-map, labels of ports, and of which host an HCA is. The file is read when fmd starts
 * and at each reload; the inventory borrows what was read, and the update that follows each reload
 * brings the names into the next snapshot. A file that is bad changes nothing: a reload is refused
 * before it comes here, and a start, which must not fail for names, goes on without and has an
 * alert.
 */
#include <inttypes.h>
#include "fm/mad/batch.h"
#include "fm/naming/module.h"
#include "topology/base/mem.h"
#include "topology/base/names.h"

struct naming_room {
	struct fabric *fabric;
	struct fabric_services services;
	struct node_names *names; /* NULL = no map */

	struct batch *batch; /* requests for labels */
	struct loop_timer *timer;
	guid_t next;	  /* where the walk goes on */
	uint32_t shapes;  /* inventory.shapes when the walk began */
	bool walking;	  /* it has not come to its end */
	bool changed;	  /* some port's label has */
	unsigned waiting; /* jobs */

	unsigned conflicts;		/* HCAs whose claim is not believed */
	uint32_t judged, judged_shapes; /* inventory's claims.changes and shapes of then */
};

static struct inv_naming *naming_of(const struct inv_node *node)
{
	return inv_node_cell(node, INV_NAMING, sizeof(struct inv_naming));
}

/* ---- Labels of ports ------------------------------------------------------------------------- */

/*
 * The labels of ports on the devices themselves, cages of switches and slots of adapters. Each port
 * that supports HierarchyInfo is queried once, while the fabric is idle. A device that rejects the
 * query, is silent or contradicts itself is not queried again, and its ports have no labels.
 * Answers go to inv_node.labels.
 *
 * The inventory is walked in small pieces. The first port of a node is queried alone; the others
 * follow when its answer was valid.
 */

#define TICK_US	     100000
#define NODES_A_TICK 500
#define ASKED_MOST   128 /* on their way or waiting */
#define CLAIM_US     30000000

enum naming_job { JOB_LABEL, JOB_CLAIM };

static bool claims(const struct inv_node *node, unsigned num)
{
	const struct inv_port *says = &node->ports[inv_is_switch(node) ? 0 : num];

	return says->capmask & WIRE_CAP_HIERARCHY;
}

static void add_job(struct naming_room *r, struct inv_node *node, unsigned num,
		    enum naming_job kind)
{
	r->waiting++;
	batch_add(r->batch, &(struct batch_job){ .object = node, .arg = num, .kind = kind });
}

static bool make(void *owner, const struct batch_job *job, struct batch_request *request)
{
	struct naming_room *r = owner;
	struct inv_node *node = job->object;

	if (node->removed || node->gone)
		return false;
	if (inv_is_switch(node) || job->kind == JOB_CLAIM)
		request->via.path = node->path;
	else if (!inventory_port_path(r->services.inventory, node, job->arg, &request->via.path))
		return false;
	request->mad.method = WIRE_GET;
	request->mad.attr_id = job->kind == JOB_CLAIM ? WIRE_NODE_DESC : WIRE_HIERARCHY_INFO;
	request->mad.attr_mod = inv_is_switch(node) ? job->arg : 0;
	request->mad.device = node->guid;
	request->mad.doubtful = true;
	return true;
}

static void answered(void *owner, const struct batch_job *job, const struct batch_path *via,
		     const struct mad_answer *answer)
{
	struct naming_room *r = owner;
	struct inv_node *node = job->object;
	struct wire_hierarchy info;
	char label[WIRE_HIERARCHY_LABEL] = "", desc[65];

	r->waiting--;
	if (node->removed)
		return;
	if (job->kind == JOB_CLAIM) {
		if (answer->result == MAD_OK) {
			wire_node_desc_decode(answer->data, desc);
			inventory_met_desc(r->services.inventory, node, desc);
		}
		if (r->judged != r->services.inventory->claims.changes)
			fabric_request_reroute(r->fabric, "an HCA calls itself otherwise");
		return;
	}

	bool good = answer->result == MAD_OK && wire_hierarchy_decode(answer->data, &info) &&
		    wire_hierarchy_label(&info, inv_is_switch(node), label);

	if (!good)
		*label = '\0';
	if (!node->labels && *label)
		node->labels = mem_array(node->labels, node->nports + 1u);
	if (node->labels && strcmp(node->labels[job->arg], label)) {
		snprintf(node->labels[job->arg], sizeof(node->labels[0]), "%s", label);
		r->changed = true;
	}
	for (unsigned num = 2; good && job->arg == 1 && num <= node->nports; num++)
		if (claims(node, num))
			add_job(r, node, num, JOB_LABEL);
}

static void unwanted(void *owner, const struct batch_job *job)
{
	((struct naming_room *)owner)->waiting--;
}

static void tick(void *arg)
{
	struct naming_room *r = arg;
	struct inventory *inv = r->services.inventory;

	if (r->walking && r->waiting < ASKED_MOST && fabric_is_quiet(r->fabric)) {
		struct inv_node *node = inventory_from(inv, r->next);

		for (unsigned i = 0; node && i < NODES_A_TICK && r->waiting < ASKED_MOST; i++) {
			struct inv_naming *cell = naming_of(node);

			if (!cell->asked && !node->gone && !node->silent && !node->removed &&
			    claims(node, 1)) {
				cell->asked = true;
				add_job(r, node, 1, JOB_LABEL);
			}
			r->next = node->guid + 1;
			node = inventory_next(inv, node);
		}
		r->walking = node;
	}
	if (r->walking || r->waiting) {
		loop_timer_set(r->timer, TICK_US);
		return;
	}
	if (r->changed) {
		r->changed = false;
		inv->shapes++; /* the next snapshot is made again, with them */
		fabric_request_reroute(r->fabric, "ports have other labels");
	}
	if (r->conflicts) { /* a single answer may have been wrong */
		INVENTORY_EACH (inv, node)
			if (naming_of(node)->claim)
				add_job(r, node, 1, JOB_CLAIM);
		loop_timer_set(r->timer, CLAIM_US);
	}
}

/* Queries the nodes that were not queried yet. */
static void settled(void *room, enum fabric_settle_step step)
{
	struct naming_room *r = room;

	if (step != FABRIC_SETTLED || (!r->walking && r->shapes == r->services.inventory->shapes))
		return;
	r->walking = true;
	r->shapes = r->services.inventory->shapes;
	r->next = 0;
	loop_timer_set(r->timer, TICK_US);
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* Reads the file into *names (NULL = none is configured). False = it is bad, which is an event. */
static bool load_file(const struct naming_room *r, struct node_names **names)
{
	const char *path = r->services.conf->node_name_map;
	char err[512];

	*names = *path ? node_names_read(path, err, sizeof(err)) : NULL;
	if (*path && !*names) {
		event_log_add(r->services.events, LOG_ERR, "names-refused", NULL, NULL,
			      "fabric: previous node names kept: %s", err);
		trouble_set(r->services.alerts, "node_name_map", err);
		return false;
	}
	trouble_set(r->services.alerts, "node_name_map", NULL);
	return true;
}

static void configure(void *room)
{
	struct naming_room *r = room;
	struct node_names *next, *before = r->names;
	uint32_t count, here = 0;

	if (!load_file(r, &next))
		return;
	if (node_names_equal(next, before)) {
		node_names_free(next);
		return;
	}
	r->names = next;
	inventory_name_nodes(r->services.inventory, next);
	node_names_free(before);
	count = node_names_count(next);
	for (uint32_t i = 0; i < count; i++)
		here += inventory_find(r->services.inventory, node_names_guid(next, i)) != NULL;
	if (count)
		event_log_add(r->services.events, LOG_NOTICE, "names", NULL,
			      json_pack("{si si}", "names", count, "nodes", here),
			      "fabric: %u node names from %s, %u of them of known nodes", count,
			      r->services.conf->node_name_map, here);
	else
		event_log_add(r->services.events, LOG_NOTICE, "names", NULL, NULL,
			      "fabric: node_name_map was removed, nodes are named by their "
			      "NodeDescriptions");
}

/* ---- Whose HCA it is ------------------------------------------------------------------------- */

/*
 * A host is its GUIDs. What an HCA calls itself is its host's root's to write, so a known HCA takes
 * the name of another host only when that name is free. A name is held by the HCAs that have it and
 * by those that were met with it, whether they are there or gone. Who shares such a name with one
 * of its own host, or was met with it, takes it: so all HCAs of a host that is renamed move one by
 * one. An HCA that is new is of the host that it names.
 *
 * Else the HCA stays with its host, and in snapshots, tables and files has the description that it
 * had, until the operator accepts the other one, or `forget` has made the name free. It is read
 * again from time to time, for one answer may have been false. A description that names no host
 * ("MT4129 ConnectX7": its driver starts) changes nothing.
 */

#define CONFLICT       "name-conflict"
#define CONFLICTS_MOST 20 /* that have an alert; others follow when these are over */

static void cell_removed(void *cell)
{
	struct inv_naming *it = cell;

	free(it->claim);
	free(it->first);
}

static void host_of(const struct naming_room *r, const struct inv_node *node, const char *desc,
		    char host[NAMING_MAX])
{
	naming_host(desc, node_names_find(r->names, node->guid), host);
}

/* The host that it was met as. */
static const char *first_of(const struct inv_node *node, const char *host)
{
	const char *first = naming_of(node)->first;

	return first ? first : host;
}

struct taken { /* names, and `NAME FIRST` for each host that has one */
	struct names names;
	struct arena *arena;
};

static void hold(struct taken *taken, const char *text)
{
	if (names_find(&taken->names, text, strlen(text)) == NAMES_NONE)
		names_id(&taken->names, arena_strdup(taken->arena, text), strlen(text));
}

static void hold_name(struct taken *taken, const char *host, const char *first)
{
	char both[2 * NAMING_MAX];

	array_printf(both, "%s %s", host, first);
	hold(taken, host);
	hold(taken, first);
	hold(taken, both);
}

static bool may_take(const struct taken *taken, const char *claimed, const char *first)
{
	char both[2 * NAMING_MAX];
	int len = array_printf(both, "%s %s", claimed, first);

	return !strcmp(claimed, first) || names_find(&taken->names, both, len) != NAMES_NONE ||
	       names_find(&taken->names, claimed, strlen(claimed)) == NAMES_NONE;
}

/* It is of that host from now on; first: of that one before. */
static void take_claim(struct inventory *inv, struct inv_node *node, const char *first)
{
	struct inv_naming *cell = naming_of(node);
	char *kept = first ? mem_strdup(first) : NULL;

	inventory_set_desc(inv, node, cell->claim);
	cell_removed(cell);
	cell->claim = NULL;
	cell->first = kept;
}

static void judge_claims(struct naming_room *r, struct inventory *inv)
{
	char host[NAMING_MAX], claimed[NAMING_MAX];
	struct taken taken = { .arena = arena_new() };
	unsigned conflicts = 0;

	INVENTORY_EACH (inv, node) {
		host_of(r, node, node->desc, host);
		if (!inv_is_switch(node) && *first_of(node, host))
			hold_name(&taken, host, first_of(node, host));
	}
	alerts_review(r->services.alerts, CONFLICT);
	INVENTORY_EACH (inv, node) {
		if (inv_is_switch(node) || !naming_of(node)->claim)
			continue;
		host_of(r, node, node->desc, host);
		host_of(r, node, naming_of(node)->claim, claimed);

		const char *first = first_of(node, host);

		if (!*first || !strcmp(claimed, host)) {
			take_claim(inv, node, naming_of(node)->first);
		} else if (topo_named_sharp(naming_of(node)->claim)) {
			take_claim(inv, node, first);
		} else if (*claimed && may_take(&taken, claimed, first)) {
			hold_name(&taken, claimed, first);
			take_claim(inv, node, strcmp(claimed, first) ? first : NULL);
		} else if (*claimed && conflicts++ < CONFLICTS_MOST) {
			struct event_subject subject = inventory_subject(node, -1);

			subject.host = first;
			alert_raise(r->services.alerts, CONFLICT, &subject,
				    "%s: calls itself \"%s\", a name of another host's HCAs: it "
				    "stays with host %s; if that is right: fmctl host-accept "
				    "0x%016" PRIx64,
				    inventory_name(node, -1).text, naming_of(node)->claim,
				    *host ? host : first, node->guid);
		}
	}
	alerts_reviewed(r->services.alerts, CONFLICT);
	r->conflicts = conflicts;
	if (conflicts)
		loop_timer_set(r->timer, TICK_US);
	names_fini(&taken.names);
	arena_free(taken.arena);
}

static void annotate(void *room, struct inventory *inv)
{
	const struct inv_claims *claims = &inv->claims;
	struct naming_room *r = room;

	if (!claims->open || (r->judged == claims->changes && r->judged_shapes == inv->shapes))
		return;
	judge_claims(r, inv);
	r->judged = claims->changes;
	r->judged_shapes = inv->shapes;
}

static json_t *accepted(void *data)
{
	return json_pack("{so}", "accepted", json_incref(data));
}

static void free_accepted(void *data)
{
	json_decref(data);
}

void naming_accept(struct fabric *fabric, const char *what, waiter_fn *fn, void *arg)
{
	static const struct fabric_operation_ops ops = { .result = accepted,
							 .free = free_accepted };
	struct naming_room *r = fabric_room(fabric, &naming_module);
	struct inventory *inv = r->services.inventory;
	json_t *names = json_array();
	char host[NAMING_MAX], why[512];

	INVENTORY_EACH (inv, n) {
		host_of(r, n, n->desc, host);
		if (inv_is_switch(n) || !naming_of(n)->claim ||
		    (strcmp(what, host) && strcmp(what, n->name) &&
		     strtoull(what, NULL, 0) != n->guid))
			continue;
		json_array_append_new(names, json_string(naming_of(n)->claim));
		take_claim(inv, n, NULL);
		inv->claims.changes++;
	}
	if (json_array_size(names)) {
		fabric_operation_start(fabric, &ops, names, fn, arg);
		fabric_request_reroute(fabric, "a host's new name was accepted");
	} else {
		json_decref(names);
		array_printf(why, "%s: no HCA of that host, name or GUID has the alert %s", what,
			     CONFLICT);
		fn(arg, NULL, why);
	}
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	static const struct batch_ops batch_ops = { .make = make,
						    .done = answered,
						    .unwanted = unwanted };
	struct naming_room *r = ROOM_NEW(r, fabric);

	if (load_file(r, &r->names))
		inventory_name_nodes(r->services.inventory, r->names);
	inventory_open_column(r->services.inventory, INV_NAMING, sizeof(struct inv_naming),
			      cell_removed);
	r->batch = batch_new(r->services.loop, r->services.mad, &batch_ops, r);
	r->timer = loop_timer_new(r->services.loop, tick, r);
	return r;
}

static void fini(void *room)
{
	struct naming_room *r = room;

	batch_free(r->batch);
	loop_timer_free(r->timer);
	inventory_name_nodes(r->services.inventory, NULL);
	node_names_free(r->names);
	free(r);
}

const struct fabric_module naming_module = {
	.name = "naming",
	.init = init,
	.fini = fini,
	.configure = configure,
	.settled = settled,
	.annotate = annotate,
};
