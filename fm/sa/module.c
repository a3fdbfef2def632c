/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/sa/module.h"
#include <arpa/inet.h>
#include <inttypes.h>
#include <unistd.h>
#include "fm/mad/batch.h"
#include "fm/sa/sa_impl.h"
#include "fm/sa/sa_state.h"
#include "topology/base/mem.h"
#include "fm/inventory/port_setup.h"
#include "fm/sweep/bringup.h"
#include "topology/base/text.h"

/*
 * The key that makes a request to the SA a trusted one (SM_Key of the SA header, IBA 15.2.1.1).
 *
 * This key is not `sm_key`, which subnet managers show one another. Its default is 1, as OpenSM's,
 * so everybody knows it. Where the site protects its fabric by keys of its own (m_key, or another
 * sm_key) and sets no `sa_key`, fmd makes a random key and keeps it in state_dir, because the
 * default must not make a request trusted there. Several managers need the same key: the site then
 * sets it on all of them.
 */

#define KNOWN_TO_ALL 1ull

static bool take_key(void *arg, const char *line)
{
	uint64_t key;
	char rest;

	if (sscanf(line, "0x%" SCNx64 " %c", &key, &rest) != 1 || key <= KNOWN_TO_ALL)
		return false;
	*(uint64_t *)arg = key;
	return true;
}

static uint64_t write_key(const void *arg, uint64_t from, FILE *out)
{
	fprintf(out, "0x%016" PRIx64 "\n", *(const uint64_t *)arg);
	return 0;
}

static const struct state_kind key_kind = {
	.name = "sa_key",
	.form = "a key",
	.line = take_key,
	.write = write_key,
};

/*
 * The key of the configuration, else the made one (0 = none yet), which it reads or makes the first
 * time.
 */
static uint64_t sa_key_get(uint64_t *made, const struct fabric_services *services)
{
	const struct conf *conf = services->conf;

	if (conf->sa.key)
		return conf->sa.key;
	if (!conf->sm.mkey && !conf->sm.mkey_secret.set && conf->sm.key == KNOWN_TO_ALL)
		return KNOWN_TO_ALL;
	if (!*made)
		state_read(services->state, &key_kind, made);
	if (*made)
		return *made;
	do
		if (getentropy(made, sizeof(*made)))
			abort(); /* no kernel that runs this lacks it */
	while (*made <= KNOWN_TO_ALL);
	log_line(LOG_SA, LOG_NOTICE,
		 "sa_key is not set, but m_key or sm_key is: generated an sa_key, which is kept in "
		 "%s; "
		 "with several managers, set the same sa_key in all",
		 conf->state_dir);
	state_changed(services->state, &key_kind, made);
	return *made;
}

/*
 * GUID tables of ports, as hosts asked for them (fm/sa/record_node.c), on their way to the ports
 * (IBA 14.2.5.5).
 *
 * A port loses its table when it loses power. So the room writes a table when it changes, and the
 * whole table when the port is back in service. At its start fmd assumes that no port has its
 * table. If a port does not take its table, the room tries again when the fabric next settles.
 */

struct holder {		    /* a port with a table */
	cl_map_item_t item; /* key: port GUID */
	bool written;	    /* or on its way */
	bool lost, refuses; /* it was written again; and was lost again */
};

struct sa_room {
	struct fabric *fabric;
	struct fabric_services services;
	uint64_t key;	     /* made by this manager; 0 = none yet */
	struct batch *batch; /* GUID tables on their way */
	struct loop_timer *soon;
	cl_qmap_t holders;
	cl_qlist_t promises;
};

static struct holder *holder_get(struct sa_room *r, guid_t port)
{
	struct holder *holder = sa_map_find(&r->holders, port);

	if (holder)
		return holder;
	holder = mem_new(holder);
	cl_qmap_insert(&r->holders, port, &holder->item);
	return holder;
}

/* A port with an M_Key of another manager is sent no Set. */
static bool in_service(const struct sa_room *r, const struct topo *t, guid_t guid)
{
	uint32_t port = topo_find_port(t, guid);
	const struct topo_port *p = port == TOPO_NONE ? NULL : &t->ports[port];

	if (!p || (p->node >= t->nswitches && !p->link_up))
		return false;

	const struct inv_node *known =
		inventory_find(r->services.inventory, t->nodes[p->node].guid);

	return !known || p->num > known->nports ||
	       port_setup(known, p->num)->obstacle != INV_OBSTACLE_KEY;
}

/* Writes the tables of ports that came into service, or whose table is another. */
static void write_due(void *arg)
{
	struct sa_room *r = arg;
	const struct sa *sa = r->services.sa;
	const struct topo *topo = fabric_view(r->fabric).topo;

	for (guid_t port = sa_alias_next(sa, 0); topo && port; port = sa_alias_next(sa, port)) {
		struct holder *holder = holder_get(r, port);
		bool was = holder->written;
		uint8_t data[WIRE_SMP_DATA];

		holder->written = in_service(r, topo, port);
		for (unsigned block = 0;
		     holder->written && !was && sa_alias_block(sa, port, block, data); block++)
			batch_add(r->batch, &(struct batch_job){ .object = holder, .arg = block });
	}
}

/* ---- Requests -------------------------------------------------------------------------------- */

static bool make(void *owner, const struct batch_job *job, struct batch_request *request)
{
	struct sa_room *r = owner;
	const struct topo *topo = fabric_view(r->fabric).topo;
	guid_t guid = cl_qmap_key(job->object); /* a holder's item is first */
	uint32_t port = topo_find_port(topo, guid);
	struct inventory *inv = r->services.inventory;
	const struct inv_node *node =
		port == TOPO_NONE ? NULL
				  : inventory_find(inv, topo->nodes[topo->ports[port].node].guid);

	if (!node || node->gone || node->silent ||
	    !inventory_port_path(inv, node, topo->ports[port].num, &request->via.path) ||
	    !sa_alias_block(r->services.sa, guid, job->arg, request->data))
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
	struct sa_room *r = owner;
	struct holder *holder = job->object;
	const struct topo *t = fabric_view(r->fabric).topo;
	guid_t port = cl_qmap_key(&holder->item);
	const struct event_subject subject = event_subject_port(t, topo_find_port(t, port));

	inventory_path_result(r->services.inventory, &via->path, answer->result != MAD_TIMEOUT,
			      via->stamp);
	if (answer->result == MAD_OK)
		return;
	holder->written = false;
	event_log_add(r->services.events, LOG_WARNING, "guids-refused", &subject, NULL,
		      "port 0x%016" PRIx64 ": does not apply block %u of its GUID table", port,
		      job->arg);
}

static const struct batch_ops ops = { .make = make, .done = done };

bool sa_holds_guids(const struct fabric *fabric, guid_t port, unsigned block,
		    struct port_table *table)
{
	struct sa_room *r = fabric_room(fabric, &sa_module);
	const struct holder *holder = sa_map_find(&r->holders, port);

	*table = (struct port_table){
		.attr_id = WIRE_GUID_INFO,
		.modifier = block,
		.entries = 8,
		.bits = 64,
		.mask = UINT64_MAX,
		.change = { .attribute = "GUIDInfo", .field = "GUID", .at = 8 * block }
	};
	return holder && !batch_in_flight(r->batch) && holder->written && !holder->refuses &&
	       sa_alias_block(r->services.sa, port, block, table->want);
}

void sa_read_guids(const struct fabric *fabric, const struct inv_node *node, uint8_t num,
		   const struct port_table *table, const uint8_t *data)
{
	struct sa_room *r = fabric_room(fabric, &sa_module);
	struct holder *holder = holder_get(r, inventory_key_guid(node, num));
	const struct event_subject subject = inventory_subject(node, num);
	struct inv_change change;
	bool differs = port_table_differs(table, data, &change);

	holder->refuses = differs && holder->lost;
	if (holder->refuses)
		event_log_add(r->services.events, LOG_WARNING, "guids-refused", &subject, NULL,
			      "%s: does not hold block %u of its GUID table",
			      inventory_name(node, num).text, table->modifier);
	else if (differs)
		inventory_report(r->services.inventory, node, num, &change);
	holder->lost = differs;
	holder->written &= !differs || holder->refuses;
	loop_timer_set(r->soon, 0);
}

/* ---- What operators see of a port ------------------------------------------------------------ */

json_t *sa_gid_json(const struct wire_gid *gid)
{
	char text[INET6_ADDRSTRLEN];
	uint8_t raw[16];

	wire_gid_encode(gid, raw);
	inet_ntop(AF_INET6, raw, text, sizeof(text));
	return json_string(text);
}

static void add_groups(const struct sa *sa, guid_t port, guid_t own, json_t *rows)
{
	unsigned top = sa_groups_port(sa->groups, port) ? sa_groups_top(sa->groups) : 0;

	for (unsigned mlid = MCAST_FIRST_MLID; mlid <= top; mlid++)
		for (const struct sa_group *g = sa_groups_by_mlid(sa->groups, mlid); g;
		     g = g->next) {
			const struct sa_member *member = sa_group_member(g, port);

			if (!member)
				continue;

			json_t *row = json_pack("{so so so ss}", "mlid", json_sprintf("0x%x", mlid),
						"mgid", sa_gid_json(&g->attr.mgid), "pkey",
						json_sprintf("0x%04x", g->attr.pkey), "joined",
						sa_member_joined(member));

			if (port != own)
				json_object_set_new(row, "guid", json_guid(port));
			json_array_append_new(rows, row);
		}
}

static json_t *services(const struct sa *sa, guid_t port)
{
	json_t *rows = json_array();
	const struct service *s;
	uint64_t number = 0;

	if (!sa_service_owner(sa, port))
		return rows;
	while ((s = sa_service_next(sa, &number))) {
		char name[sizeof(s->record.name) + 1];
		uint32_t lease = sa_service_lease(sa, s);

		if (s->owner != port)
			continue;
		text_clean((const char *)s->record.name, sizeof(s->record.name), name);
		json_add(rows, "{ss so so so so}", "name", name, "id", json_guid(s->record.id),
			 "gid", sa_gid_json(&s->record.gid), "pkey",
			 json_sprintf("0x%04x", s->record.pkey), "lease_s",
			 lease == WIRE_LEASE_FOREVER ? json_null() : json_integer(lease));
	}
	return rows;
}

static json_t *subscriptions(const struct sa *sa, guid_t port)
{
	const struct subscriber *by = sa_map_find(&sa->reports.subscribers, port);
	json_t *rows = json_array();

	for (unsigned i = 0; by && i < by->count; i++) {
		const struct wire_inform_info *info = &by->subs[i]->info;

		json_add(rows, "{ss so si so}", "notices", info->generic ? "generic" : "vendor",
			 "trap",
			 info->trap == 0xffff ? json_string("all") : json_integer(info->trap),
			 "unanswered", by->subs[i]->failures, "qpn",
			 json_sprintf("0x%06" PRIx32, info->qpn));
	}
	return rows;
}

/*
 * The SA's settings, its events, and what hosts have asked it for: subscriptions to notices
 * and services, in state_dir, so that a restart of fmd is nothing that a host would notice.
 *
 * The room writes changes GATHER_US after the first of them, and at the end. It keeps the lease of
 * a service as the second, by the system's clock, at which it ends, so the lease runs on while fmd
 * is stopped. If there is no file to read, hosts are asked to register again.
 */

#define GATHER_US 2000000

static bool line_of_services(void *sa, const char *line)
{
	return sa_services_line(sa, line, time(NULL));
}

static uint64_t write_services(const void *sa, uint64_t from, FILE *out)
{
	return sa_services_write(sa, from, out, time(NULL));
}

/* ---- What hosts ask for ---------------------------------------------------------------------- */

/* The owner of the rows is the SA itself. */
static const struct state_kind kinds[SA_KEPT] = {
	[SA_ALIASES] = {
		.name = "aliases",
		.form = "a GUID of a port",
		.line = sa_aliases_line,
		.write = sa_aliases_write,
	},
	[SA_SERVICES] = {
		.name = "services",
		.form = "a service",
		.line = line_of_services,
		.write = write_services,
	},
	[SA_SUBSCRIPTIONS] = {
		.name = "subscriptions",
		.form = "a subscription",
		.line = sa_subscriptions_line,
		.write = sa_subscriptions_write,
	},
};

static void recorded(void *arg, enum sa_kept kept, bool gone, const char *line)
{
	struct sa_room *r = arg;

	(gone ? state_remove : state_put)(r->services.state, &kinds[kept], r->services.sa, line);
}

#define PROMISES_MOST 16384

struct promise {	     /* an answer that waits for the disk */
	cl_list_item_t item; /* first */
	struct sa_room *room;
	struct io_addr from;
	uint8_t mad[WIRE_MAD_SIZE];
};

static void keep_promise(void *arg)
{
	struct promise *p = arg;

	cl_qlist_remove_item(&p->room->promises, &p->item);
	sa_answer(p->room->services.sa, &p->from, p->mad, sizeof(p->mad));
	free(p);
}

/* Who gets no answer for there are too many, as a disk hangs, asks again. */
static bool promised(void *arg, const struct io_addr *from, const uint8_t mad[WIRE_MAD_SIZE])
{
	struct sa_room *r = arg;

	if (cl_qlist_count(&r->promises) == PROMISES_MOST)
		return true;

	struct promise *p = mem_new(p);

	p->room = r;
	p->from = *from;
	memcpy(p->mad, mad, sizeof(p->mad));
	if (!state_when_kept(r->services.state, keep_promise, p)) {
		free(p);
		return false;
	}
	cl_qlist_insert_tail(&r->promises, &p->item);
	return true;
}

static void reported(void *arg, const struct event_subject *subject, const char *text)
{
	struct sa_room *r = arg;

	event_log_add(r->services.events, LOG_WARNING, "sa", subject, NULL, "%s", text);
}

static void guids_changed(void *arg, guid_t port)
{
	struct sa_room *r = arg;
	struct holder *holder = holder_get(r, port);

	holder->written = holder->lost = holder->refuses = false;
	loop_timer_set(r->soon, 0);
}

/* Rows that were never there, or were lost, mean that hosts know more than we do. */
static void load(void *room, enum fabric_load_step step)
{
	struct sa_room *r = room;
	struct state *state = r->services.state;
	struct sa *sa = r->services.sa;

	if (step != FABRIC_LOAD)
		return;

	state_read(state, &kinds[SA_ALIASES], sa);
	state_read(state, &kinds[SA_SERVICES], sa);
	if (!state_read(state, &kinds[SA_SUBSCRIPTIONS], sa))
		return;
	fabric_request_reregister(r->fabric, "subscriptions are not known");
	for (unsigned i = 0; i < SA_KEPT; i++)
		state_changed(state, &kinds[i], sa);
}

/* ---- What is published ----------------------------------------------------------------------- */

static void published(void *room, enum fabric_update_step step, const struct topo *before)
{
	struct sa_room *r = room;
	struct fabric_view view = fabric_view(r->fabric);

	/* What is observed is for operators; requests are the master's to answer. */
	if ((step != FABRIC_PUBLISHED && step != FABRIC_SHOWN) || fabric_observes(r->fabric))
		return;

	sa_publish(r->services.sa, &(struct sa_view){ .topo = view.topo,
						      .lids = view.lids,
						      .tables = view.tables,
						      .sm_lid = view.sm_lid,
						      .pkeys = view.pkeys,
						      .partitions = view.partitions,
						      .qos = view.qos,
						      .sls_dropped = qos_dropped(view.qos) });
}

static void trap(void *room, const struct wire_notice *notice, uint16_t from_lid, unsigned times,
		 bool forged)
{
	struct sa_room *r = room;

	if (!forged)
		sa_notice(r->services.sa, notice, from_lid);
}

static void settled(void *room, enum fabric_settle_step step)
{
	struct sa_room *r = room;

	if (step == FABRIC_SETTLED && !fabric_observes(r->fabric))
		write_due(r);
}

static void status(const void *room, json_t *doc)
{
	const struct sa_room *r = room;
	struct sa_stats s = sa_stats(r->services.sa);

	json_object_set_new(doc, "sa",
			    json_pack("{sI sI sI sI sI sI sI sI sI si si si}", "requests",
				      (json_int_t)s.requests, "ignored", (json_int_t)s.ignored,
				      "answered", (json_int_t)s.answered, "busy",
				      (json_int_t)s.busy, "bad", (json_int_t)s.bad, "unsupported",
				      (json_int_t)s.unsupported, "reports", (json_int_t)s.reports,
				      "reports_unanswered", (json_int_t)s.reports_unanswered,
				      "reports_skipped", (json_int_t)s.reports_skipped,
				      "subscriptions", s.subscriptions, "services", s.services,
				      "waiting", s.waiting));
}

json_t *sa_known_of_port(const struct fabric *fabric, guid_t port)
{
	const struct sa_room *r = fabric_room(fabric, &sa_module);
	const struct sa *sa = r->services.sa;
	json_t *joined = json_array(), *aliases = json_array();
	unsigned at = 0;
	guid_t guid;

	while ((guid = sa_alias_each(sa, port, &at))) {
		add_groups(sa, guid, port, joined);
		if (guid != port)
			json_add(aliases, "{so si}", "guid", json_guid(guid), "index", at - 2);
	}
	return json_pack("{so so so so}", "alias_guids", aliases, "groups", joined, "services",
			 services(sa, port), "subscriptions", subscriptions(sa, port));
}

guid_t sa_port_of_alias(const struct fabric *fabric, guid_t alias)
{
	const struct sa_room *r = fabric_room(fabric, &sa_module);

	return sa_alias_port(r->services.sa, alias);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void configure(void *room)
{
	struct sa_room *r = room;
	const struct conf *c = r->services.conf;
	const struct conf_sa *sa = &c->sa;

	sa_configure(r->services.sa, &(struct sa_conf){ .gid_prefix = c->sm.subnet_prefix,
							.sa_key = sa_key_get(&r->key, &r->services),
							.old_sa_key = sa->old_key,
							.subnet_timeout = c->ports.subnet_timeout,
							.groups_limit = sa->max_mcgs,
							.services_limit = sa->max_srvcs,
							.subscriptions_limit = sa->max_event_subs,
							.proxy_join = sa->proxy_join,
							.pkey_host_order = sa->pkey_host_order,
							.rate_limit = sa->rate_limit });
}

static void *init(struct fabric *fabric)
{
	struct sa_room *r = ROOM_NEW(r, fabric);

	r->batch = batch_new(r->services.loop, r->services.mad, &ops, r);
	r->soon = loop_timer_new(r->services.loop, write_due, r);
	cl_qmap_init(&r->holders);
	cl_qlist_init(&r->promises);
	configure(r);
	sa_listen(r->services.sa, &(struct sa_listener){ .record = recorded,
							 .promised = promised,
							 .reported = reported,
							 .guids = guids_changed,
							 .arg = r });
	return r;
}

static void fini(void *room)
{
	struct sa_room *r = room;

	sa_listen(r->services.sa, &(struct sa_listener){ 0 });
	while (cl_qlist_count(&r->promises)) {
		cl_list_item_t *item = cl_qlist_remove_head(&r->promises);

		state_forget(r->services.state, item);
		free(item);
	}
	batch_free(r->batch); /* drops what was not written */
	loop_timer_free(r->soon);
	while (cl_qmap_count(&r->holders)) {
		cl_map_item_t *item = cl_qmap_head(&r->holders);

		cl_qmap_remove_item(&r->holders, item);
		free(item);
	}
	free(r);
}

const struct fabric_module sa_module = { .name = "sa",
					 .init = init,
					 .fini = fini,
					 .load = load,
					 .configure = configure,
					 .trap = trap,
					 .published = published,
					 .settled = settled,
					 .status = status };
