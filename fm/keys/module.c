/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <inttypes.h>
#include "fm/conf/lists.h"
#include "fm/inventory/port_setup.h"
#include "fm/keys/lookup.h"
#include "fm/keys/module.h"
#include "fm/mad/wire_perf.h"
#include "fm/sweep/sweep.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"
#include "topology/files/dump.h"

/* ---- Devices that do not answer -------------------------------------------------------------- */

#define ASK_AGAIN_US 60000000
#define TRAP_KEPT_US 600000000
#define LATE_US	     700000 /* by then one that holds a key has sent its trap */
#define AGAIN_US     100000
#define NAME	     320

static const char by_its_link[] = "its link was made Active, and not by this manager";

/* ---- Those that were met before -------------------------------------------------------------- */

/* Why it probably holds an M_Key; NULL = nothing says so. */
static const char *reason_of(const struct silent_device *d)
{
	uint64_t now = loop_now_us(d->list->services->loop);

	if (d->trap_us && now - d->trap_us < TRAP_KEPT_US)
		return "it reports wrong M_Keys (trap 256)";
	return d->answers_gmp ? "it answers PerfMgt, which needs no M_Key" : NULL;
}

static struct silent_device *find(const struct hidden *x, guid_t guid)
{
	struct silent_device *d = x->devices;

	while (d && d->guid != guid)
		d = d->next;
	return d;
}

static void note_device(struct hidden *x, guid_t guid)
{
	struct silent_device *d = find(x, guid);

	if (!d) {
		d = mem_new(d);
		*d = (struct silent_device){ .next = x->devices,
					     .list = x,
					     .guid = guid,
					     .since_us = loop_now_us(x->services->loop) };
		x->devices = d;
	}
	d->seen = true;
}

/* Of a device, the next port behind `num` whose link leads to a node that answers; 0 = none. */
static unsigned next_port(const struct inv_node *device, unsigned num)
{
	while (++num <= device->nports) {
		const struct inv_node *near = device->ports[num].peer;

		if (near && !near->silent && !near->gone &&
		    near->ports[device->ports[num].peer_port].state >= TOPO_INIT)
			return num;
	}
	return 0;
}

static void gmp_answered(void *arg, const struct mad_answer *answer)
{
	struct silent_device *d = arg;

	d->asked = 0;
	d->judged = true;
	d->answers_gmp = answer->result == MAD_OK || answer->result == MAD_STATUS;
	loop_timer_set(d->list->again, 0);
}

static void ask(struct silent_device *d)
{
	const struct fabric_services *s = d->list->services;
	const struct inv_node *node = inventory_find(s->inventory, d->guid);
	uint64_t now = loop_now_us(s->loop);
	struct mad_request request = {
		.mgmt_class = WIRE_PERF,
		.method = WIRE_GET,
		.attr_id = WIRE_PERF_CLASS_PORT_INFO,
		.retries = 1,
		.doubtful = true,
		.device = d->guid,
		.pkey_index = inventory_default_pkey_index(s->inventory),
	};

	if (!node || !node->silent || d->asked || (d->asked_us && now - d->asked_us < ASK_AGAIN_US))
		return;
	request.lid = node->ports[inv_is_switch(node) ? 0 : next_port(node, 0)].lid;
	if (!request.lid)
		return;
	d->asked_us = now;
	d->asked = mad_send(s->mad, &request, gmp_answered, d);
}

/* ---- Those that nobody met ------------------------------------------------------------------- */

struct unknown_port { /* in the order of the inventory */
	const struct inv_node *node;
	uint8_t num;
	unsigned device;  /* whose ports have the same number; 0 = not yet known */
	unsigned attempt; /* the latest that has counted it */
	bool failed;	  /* all tries of a probe of it are over */
};

struct unknown {
	const struct topo *topo; /* NULL = nothing is published yet */
	struct unknown_port *ports;
	unsigned count, size, attempts;
};

/* Whether a switch is behind the nearest port below or above of which that is known. */
static bool is_beside_switch(const struct inv_node *node, unsigned num)
{
	for (int step = -1; step <= 1; step += 2) {
		int p = (int)num + step;

		while (p > 0 && p <= node->nports && !node->ports[p].peer)
			p += step;
		if (p > 0 && p <= node->nports && inv_is_switch(node->ports[p].peer))
			return true;
	}
	return false;
}

static unsigned level_of(const struct unknown *u, const struct inv_node *node)
{
	uint32_t index = u->topo ? topo_find(u->topo, node->guid) : TOPO_NONE;

	return index == TOPO_NONE ? 0 : u->topo->nodes[index].level;
}

/*
 * How many ports are silent where the links of that switch lead, on that level, each link counting
 * one at most; 0 = less than half of these. They get that number, unless it is 0.
 */
static unsigned count_places(struct unknown *u, const struct inv_node *sister, unsigned level,
			     unsigned device)
{
	unsigned links = 0, places = 0;

	u->attempts++;
	for (unsigned p = 1; p <= sister->nports; p++) {
		const struct inv_node *near = sister->ports[p].peer;

		if (!near || !inv_is_switch(near) || level_of(u, near) != level)
			continue;
		links++;

		uint32_t i = sort_place(0, u->count, at, u->ports[at].node->guid < near->guid);

		while (i < u->count && u->ports[i].node == near &&
		       (u->ports[i].device || u->ports[i].attempt == u->attempts))
			i++;
		if (i == u->count || u->ports[i].node != near)
			continue;
		u->ports[i].attempt = u->attempts;
		u->ports[i].device = device;
		places++;
	}
	return 2 * places >= links ? places : 0;
}

/* Whether the port leads to a switch: its ports have the number of a device then. */
static bool is_of_switch(struct unknown *u, unsigned i, unsigned device)
{
	const struct inv_node *node = u->ports[i].node, *best = NULL;
	const unsigned level = level_of(u, node);
	unsigned most = 0;

	for (unsigned p = 1; p <= node->nports; p++) {
		const struct inv_node *sister = node->ports[p].peer;

		if (!sister || !inv_is_switch(sister) || sister == node->ports[p - 1].peer)
			continue;

		unsigned places = count_places(u, sister, level, 0);

		best = places > most ? sister : best;
		most = places > most ? places : most;
	}
	if (best)
		count_places(u, best, level, device);
	return best;
}

static bool has_common_neighbour(const struct inv_node *a, const struct inv_node *b)
{
	for (unsigned p = 1; p <= a->nports; p++)
		for (unsigned q = 1; a->ports[p].peer && q <= b->nports; q++)
			if (b->ports[q].peer == a->ports[p].peer)
				return true;
	return false;
}

/*
 * A switch between two others has sisters that lead to the same switches below, and sisters that
 * lead to the same ones above, which are others. What it has on the other side is where no switch
 * that answers leads from this side.
 */
static void take_other_side(struct unknown *u, unsigned i, unsigned device)
{
	const struct inv_node *near = u->ports[i].node;

	for (unsigned k = i + 1; k < u->count; k++) {
		const struct unknown_port *port = &u->ports[k];
		int step = (int)level_of(u, port->node) - (int)level_of(u, near);

		if (!port->device && (step == 2 || step == -2) &&
		    is_beside_switch(port->node, port->num) &&
		    !has_common_neighbour(near, port->node) && is_of_switch(u, k, device))
			return;
	}
}

/* ---- Alerts ---------------------------------------------------------------------------------- */

/* Who is behind, where that is known; otherwise the end that answers. */
static void name_of(const struct hidden *x, const struct hidden_port *h, char name[NAME])
{
	const struct inv_node *node = inventory_find(x->services->inventory, h->node);
	const struct inv_node *behind = node ? node->ports[h->num].peer : NULL;

	snprintf(name, NAME, "%s behind %s", behind ? inventory_name(behind, -1).text : "port",
		 node ? inventory_name(node, h->num).text : "?");
}

static void add_hidden(struct hidden *x, const struct inv_node *near, unsigned num, bool first,
		       const char *why)
{
	if (x->count == x->size) {
		x->size = x->size ? 2 * x->size : 16;
		x->ports = mem_array_resize(x->ports, x->size);
	}
	x->ports[x->count++] = (struct hidden_port){ near->guid, num, first, why };
	x->probable += first;
}

struct silent {
	struct name_list names;
	bool unmet, locked; /* some were never met; of these, links are Armed or Active */
};

static void add_silent(struct silent *of, const char *name, json_t *ports)
{
	name_list_add(&of->names, name);
	of->names.ports = of->names.ports ? of->names.ports : json_array();
	json_array_extend(of->names.ports, ports);
}

static void add_known(struct hidden *x, const struct silent_device *d, struct silent all[])
{
	const struct inv_node *node = inventory_find(x->services->inventory, d->guid);
	const unsigned first = node ? next_port(node, 0) : 0;
	const char *why = reason_of(d);
	json_t *ports = NULL;
	char name[NAME];

	if (!why && !d->judged && loop_now_us(x->services->loop) - d->since_us < LATE_US) {
		loop_timer_set(x->again, AGAIN_US);
		return;
	}
	for (unsigned p = first; p; p = next_port(node, p)) {
		const struct inv_port *own = &node->ports[p];

		inventory_add_port(&ports, own->peer, own->peer_port);
		if (why)
			add_hidden(x, own->peer, own->peer_port, p == first, why);
	}
	if (first && why && x->probable <= ALERTS_NAMED) {
		struct event_subject subject =
			inventory_subject(node, inv_is_switch(node) ? -1 : (int)first);

		name_of(x, &x->ports[x->count - json_array_size(ports)], name);
		subject.name = name;
		subject.ports = ports;
		alert_raise(x->services->alerts, "m-key-probable", &subject,
			    "%s: answers no SMP, but %s: it probably holds an M_Key that this "
			    "manager does not know, with protection level 2 or 3; nothing is "
			    "written to it",
			    name, why);
	} else if (node && !why && node->silent && !node->gone)
		add_silent(&all[inv_is_switch(node) ? SILENT_SWITCHES : SILENT_HCAS], node->name,
			   ports);
	json_decref(ports);
}

/* Of the device that the port leads to, with all its ports. */
static void add_unknown(struct hidden *x, struct unknown *u, unsigned i, unsigned device,
			struct silent all[])
{
	bool is_switch =
		is_beside_switch(u->ports[i].node, u->ports[i].num) && is_of_switch(u, i, device);
	struct silent *of = &all[is_switch ? SILENT_SWITCHES : SILENT_HCAS];
	const unsigned before = x->count;
	unsigned failed = 0, count = 0;
	json_t *ports = NULL;
	char name[NAME];

	u->ports[i].device = device;
	if (is_switch)
		take_other_side(u, i, device);
	for (unsigned k = i; k < u->count; k++) {
		count += u->ports[k].device == device;
		failed += u->ports[k].device == device && u->ports[k].failed;
	}
	if (2 * failed < count) { /* it may be slow */
		loop_timer_set(x->again, AGAIN_US);
		return;
	}
	for (unsigned k = i; k < u->count; k++) {
		const struct unknown_port *port = &u->ports[k];

		if (port->device != device)
			continue;
		inventory_add_port(&ports, port->node, port->num);
		if (port->node->ports[port->num].state >= TOPO_ARMED)
			add_hidden(x, port->node, port->num, x->count == before, by_its_link);
	}
	array_printf(name, "the one behind %s", inventory_ports_name(ports).text);
	add_silent(of, name, ports);
	of->unmet = true;
	of->locked |= x->count > before;
	json_decref(ports);
}

static void raise_silent(struct hidden *x, enum silent_kind kind, struct silent *all)
{
	static const char *const kinds[] = { "switches-silent", "hcas-silent" };
	static const char *const words[][2] = { { "switch does", "switches do" },
						{ "HCA does", "HCAs do" },
						{ "device does", "devices do" } };
	char text[2][128];

	for (unsigned i = 0; i < 2; i++)
		array_printf(text[i], "%s not answer%s",
			     words[kind == SILENT_HCAS && all->unmet ? 2 : kind][i],
			     all->locked
				     ? " (hung, or behind an M_Key that this manager does not know)"
				     : "");
	name_list_alert(x->services->alerts, kinds[kind], &all->names, text[0], text[1]);
}

/* ---- Review ---------------------------------------------------------------------------------- */

/* Frees those that were not seen. True: there were some. */
static bool drop_unseen(struct hidden *x)
{
	struct silent_device **link = &x->devices, *d;
	bool any = false;

	while ((d = *link)) {
		if (d->seen) {
			link = &d->next;
			continue;
		}
		*link = d->next;
		mad_cancel(x->services->mad, d->asked);
		free(d);
		any = true;
	}
	return any;
}

/* Finds all that do not answer. */
static void find_all(struct hidden *x, struct unknown *u)
{
	const struct inventory *inv = x->services->inventory;

	INVENTORY_EACH (inv, node) {
		if (node->silent && !node->gone)
			note_device(x, node->guid);
		for (unsigned p = 1; !node->gone && p <= node->nports; p++) {
			const struct inv_node *peer = node->ports[p].peer;

			/* Mostly nobody is silent, and then the list need not be searched. */
			if (!sweep_is_silent_behind(node, p, true))
				continue;
			if (!peer) {
				if (u->count == u->size) {
					u->size = u->size ? 2 * u->size : 16;
					u->ports = mem_array_resize(u->ports, u->size);
				}
				u->ports[u->count++] = (struct unknown_port){
					.node = node,
					.num = p,
					.failed = sweep_is_silent_behind(node, p, false)
				};
			} else if (find(x, peer->guid) || sweep_is_silent_behind(node, p, false))
				note_device(x, peer->guid);
		}
	}
}

/*
 * Looks for devices that do not answer, asks PerfMgt of those that have a LID, each once a minute,
 * and raises or ends their alerts. For a master; other roles forget all.
 */
static void hidden_review(struct hidden *x, bool master)
{
	struct alerts *alerts = x->services->alerts;
	struct silent all[SILENT_KINDS] = { 0 };
	struct unknown u = { .topo = fabric_view(x->fabric).topo };
	const unsigned probable = x->probable;
	unsigned devices = 0;

	for (struct silent_device *d = x->devices; d; d = d->next)
		d->seen = false;
	loop_timer_stop(x->again);
	if (master)
		find_all(x, &u);

	bool fewer = drop_unseen(x);

	x->count = x->probable = 0;
	alerts_review(alerts, "m-key-probable");
	for (struct silent_device *d = x->devices; d; d = d->next) {
		ask(d);
		add_known(x, d, all);
	}
	alert_more(alerts, "m-key-probable", x->probable,
		   "devices answer no SMP and probably hold an M_Key that this "
		   "manager does not know");
	alerts_reviewed(alerts, "m-key-probable");
	for (unsigned i = 0; i < u.count; i++)
		if (!u.ports[i].device)
			add_unknown(x, &u, i, ++devices, all);
	for (unsigned kind = 0; kind < SILENT_KINDS; kind++)
		raise_silent(x, kind, &all[kind]);
	free(u.ports);
	if (master && (fewer || x->probable < probable))
		fabric_request_reroute(x->fabric, "M_Key"); /* it may need its own */
}

static void review_again(void *arg)
{
	struct hidden *x = arg;

	hidden_review(x, fabric_is_master(x->fabric));
}

/* {"port", "why"} of each that has a reason; the caller owns it. */
static json_t *hidden_json(const struct hidden *x)
{
	json_t *rows = json_array();

	for (unsigned i = 0; i < x->count; i++) {
		char name[NAME];

		if (!x->ports[i].first)
			continue;
		name_of(x, &x->ports[i], name);
		json_array_append_new(rows,
				      json_pack("{ss ss}", "port", name, "why", x->ports[i].why));
	}
	return rows;
}

/* ---- Module ---------------------------------------------------------------------------------- */

/* It is there, and has a key or may have one. */
static bool is_there(const struct inv_node *node, unsigned num)
{
	return port_has_key(node, num) && !node->gone && (!num || node->ports[num].link_up);
}

static bool is_foreign(const struct inv_node *node, unsigned num)
{
	return is_there(node, num) && port_setup(node, num)->obstacle == INV_OBSTACLE_KEY;
}

#define EACH_FOREIGN(inv, node, p)                                                                 \
	INVENTORY_EACH (inv, node)                                                                 \
		for (unsigned p = 0; p <= node->nports; p++)                                       \
			if (is_foreign(node, p))

/* The port by which a device is named; a switch has none. */
static int shown(const struct inv_node *node, unsigned num)
{
	return inv_is_switch(node) ? -1 : (int)num;
}

/* Looks at all ports, and raises or ends their alerts (kind "port-m-key"). How many there are. */
static unsigned foreign_review(const struct fabric_services *services)
{
	unsigned count = 0;

	alerts_review(services->alerts, "port-m-key");
	EACH_FOREIGN (services->inventory, node, num) {
		struct inv_name name = inventory_name(node, shown(node, num));
		struct event_subject subject = inventory_subject(node, shown(node, num));
		/* a switch: it would take no new table (fm/links_out) */
		bool isolated = any_of(p, 1, node->nports + 1u, inv_port_is(node, p, INV_ISOLATED));

		subject.name = name.text;
		if (count++ < ALERTS_NAMED)
			alert_raise(services->alerts, "port-m-key", &subject,
				    "%s: holds an M_Key that this manager does not know: it is %s, "
				    "and nothing is written to it",
				    name.text,
				    isolated ? "isolated from routing" : "used as it is");
	}
	alert_more(services->alerts, "port-m-key", count,
		   "ports hold an M_Key that this manager does not know");
	alerts_reviewed(services->alerts, "port-m-key");
	return count;
}

#define TICK_US	       250000
#define PARTS	       3 /* of a lease: all ports are asked in one of them */
#define FOREIGN_US     60000000
#define FOREIGN_A_TICK 64

static uint16_t lease_s(const struct asking *a)
{
	const struct m_keys *keys = key_lookup_keys(a->services->inventory);
	const struct m_key_conf *conf = keys ? m_keys_conf(keys) : NULL;

	return conf && m_key_conf_any(conf) ? conf->lease_s : 0;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* What was read of a port that is known otherwise: a sweep reads it, and bring-up follows. */
static void compare(struct asking *a, struct inv_node *node, unsigned num, const uint8_t data[64])
{
	const struct inventory *inv = a->services->inventory;
	const struct inv_port *port = &node->ports[num];
	struct wire_port_info known, now;

	if (!port->known)
		return;
	wire_port_info_decode(port->info, &known);
	wire_port_info_decode(data, &now);
	/*
	 * A sweep may have read it since bring-up judged it: then the record agrees with the
	 * answer, and bring-up does not.
	 */
	if (now.mkey == known.mkey && now.mkey_protect == known.mkey_protect &&
	    now.mkey_lease == known.mkey_lease &&
	    (port_setup(node, num)->obstacle == INV_OBSTACLE_KEY) ==
		    port_key_is_foreign(inv, node, num))
		return;
	if (known.mkey_protect && !now.mkey_protect && now.mkey &&
	    now.mkey == m_keys_wanted(key_lookup_keys(inv), inventory_key_guid(node, num))) {
		struct inv_name name = inventory_name(node, shown(node, num));
		const struct event_subject subject = inventory_subject(node, shown(node, num));

		a->expired++;
		event_log_add(
			a->services->events, LOG_WARNING, "m-key-expired", &subject, NULL,
			"%s: the lease of its M_Key has expired, for somebody used another one and "
			"no packet with the right one came in time; it is protected again",
			name.text);
	}
	sweep_node(node)->ports_read = false;
	fabric_request_refresh(a->fabric, node->guid, "M_Key");
	fabric_request_reroute(a->fabric, "M_Key"); /* no snapshot differs by a key */
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* A job's object is the node, its arg the port. */
static bool make(void *owner, const struct batch_job *job, struct batch_request *request)
{
	const struct asking *a = owner;
	const struct inv_node *node = job->object;

	request->mad.method = WIRE_GET;
	request->mad.attr_id = WIRE_PORT_INFO;
	request->mad.attr_mod = inventory_port_modifier(node, job->arg);
	request->mad.device = node->guid;
	return !node->removed &&
	       inventory_port_path(a->services->inventory, node, job->arg, &request->via.path);
}

static void answered(void *owner, const struct batch_job *job, const struct batch_path *via,
		     const struct mad_answer *answer)
{
	struct asking *a = owner;
	struct inv_node *node = job->object;

	if (answer->result != MAD_OK)
		return;
	a->renewed++;
	if (!node->removed)
		compare(a, node, job->arg, answer->data);
}

/* How many of its ports were asked; all that have a key, or those of somebody else. */
static unsigned ask_node(struct asking *a, struct inv_node *node, bool foreign)
{
	unsigned count = 0;

	for (unsigned p = 0; p <= node->nports; p++)
		if (!node->silent && (foreign ? is_foreign : is_there)(node, p)) {
			batch_add(a->batch, &(struct batch_job){ .object = node, .arg = p });
			count++;
		}
	return count;
}

static void tick(void *arg)
{
	struct asking *a = arg;

	if (lease_s(a)) {
		for (unsigned i = 0; i < a->nsoon; i++) {
			struct inv_node *node = inventory_find(a->services->inventory, a->soon[i]);

			if (node)
				ask_node(a, node, false);
		}
		a->nsoon = 0;

		/*
		 * Those that are due by now. Behind the last one the next pass begins with the next
		 * tick.
		 */
		struct inventory *inv = a->services->inventory;
		double pass_us = lease_s(a) * 1e6 / PARTS;
		uint32_t ports = a->ports ? a->ports : cl_qmap_count(&inv->nodes);

		a->owed += ports * TICK_US / pass_us;
		while (a->owed >= 1) {
			struct inv_node *node = inventory_from(inv, a->next);

			if (node) {
				unsigned count = ask_node(a, node, false);

				a->owed -= count;
				a->counted += count;
				node = inventory_next(inv, node);
			}
			a->next = node ? node->guid : 0;
			if (node)
				continue;
			a->ports = a->counted;
			a->counted = 0;
			break;
		}
	}
	if (loop_now_us(a->services->loop) >= a->foreign_due_us) {
		struct inventory *inv = a->services->inventory;
		struct inv_node *node = inventory_from(inv, a->foreign);
		unsigned count = 0;

		for (; node && count < FOREIGN_A_TICK; node = inventory_next(inv, node))
			count += ask_node(a, node, true);
		a->foreign = node ? node->guid : 0;
		if (!node)
			a->foreign_due_us = loop_now_us(a->services->loop) + FOREIGN_US;
	}
	loop_timer_set(a->tick, lease_s(a) || a->foreign ? TICK_US : FOREIGN_US);
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* The role or the configuration may be another: begins, or ends. */
static void asking_configure(struct asking *a)
{
	if (fabric_is_master(a->fabric))
		loop_timer_set(a->tick, TICK_US);
	else
		loop_timer_stop(a->tick);
}

#define GATHER_US 5000000

/* OpenSM leaves every second line empty. */
static bool take_key(void *keys, const char *line)
{
	char rest[8];
	guid_t guid;
	uint64_t key;

	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %7s", &guid, &key, rest) != 2 || !guid)
		return false;
	m_keys_remember(keys, guid, key);
	return true;
}

static void write_key(void *arg, guid_t guid, uint64_t key)
{
	fprintf(arg, "0x%016" PRIx64 " 0x%016" PRIx64 "\n", guid, key);
}

static uint64_t write_keys(const void *arg, uint64_t from, FILE *out)
{
	return m_keys_each(arg, from, STATE_LINES, write_key, out);
}

static const struct state_kind keys_kind = {
	.name = "guid2mkey",
	.form = "a port GUID and its M_Key",
	.line = take_key,
	.write = write_keys,
	.gather_us = GATHER_US,
};

/* What it shows, if that is a key of ours. A port that hides its own shows 0. */
static bool note(const struct inventory *inv, const struct inv_node *node, unsigned num)
{
	enum port_key key = port_key_of(inv, node, num);
	struct wire_port_info info;

	wire_port_info_decode(node->ports[num].info, &info);
	return key != PORT_KEY_HIDDEN && key != PORT_KEY_FOREIGN &&
	       m_keys_remember(key_lookup_keys(inv), inventory_key_guid(node, num), info.mkey);
}

void seen_review(const struct fabric_services *services)
{
	const struct inventory *inv = services->inventory;
	bool news = false;

	INVENTORY_EACH (inv, node)
		for (unsigned p = 0; p <= node->nports; p++)
			if (is_there(node, p) && !node->silent)
				news |= note(inv, node, p);
	if (news)
		state_changed(services->state, &keys_kind, key_lookup_keys(inv));
}

/* The room's hooks. What is asked: module.h; what is found: module.h. */

#define BAD_M_KEY 256 /* trap number, IBA 14.2.5.1 */

struct port_keys {
	struct fabric *fabric;
	struct fabric_services services;
	struct asking asking;
	struct hidden hidden;
	unsigned foreign; /* ports, as last counted */
};

static void role(void *room, enum fabric_role now, enum fabric_role_step step)
{
	struct port_keys *k = room;

	if (step == FABRIC_ROLE_IN_FORCE)
		asking_configure(&k->asking);
}

static void configure(void *room)
{
	struct port_keys *k = room;

	asking_configure(&k->asking);
}

static void load(void *room, enum fabric_load_step step)
{
	const struct port_keys *k = room;

	if (step == FABRIC_LOAD)
		state_read(k->services.state, &keys_kind, key_lookup_keys(k->services.inventory));
	else if (step == FABRIC_START)
		configure(room);
}

/* Its word costs a Get: who sends it in the name of others gains nothing. */
static void trap(void *room, const struct wire_notice *notice, uint16_t from_lid, unsigned times,
		 bool forged)
{
	struct port_keys *k = room;
	struct fabric_view view = fabric_view(k->fabric);

	if (forged || !notice->generic || notice->trap != BAD_M_KEY)
		return;

	uint32_t port = fabric_view_port_of_lid(&view, from_lid);

	if (port == TOPO_NONE)
		return;

	/* Trap 256 came from a port of that node. */
	guid_t node = view.topo->nodes[view.topo->ports[port].node].guid;
	struct asking *a = &k->asking;
	unsigned soon = 0;

	while (soon < a->nsoon && a->soon[soon] != node)
		soon++;
	if (soon == a->nsoon && soon < ASKING_SOON && lease_s(a))
		a->soon[a->nsoon++] = node;

	struct silent_device *silent = find(&k->hidden, node);

	if (silent)
		silent->trap_us = loop_now_us(k->services.loop);
}

/* What waits for a device that does not answer is not settled for long. */
static const char *swept(void *room, const struct fabric_swept *swept)
{
	struct port_keys *k = room;

	if (swept->result && swept->result->silent)
		hidden_review(&k->hidden, fabric_is_master(k->fabric));
	return NULL;
}

static void settled(void *room, enum fabric_settle_step step)
{
	struct port_keys *k = room;

	if (step == FABRIC_SETTLED_LATER)
		seen_review(&k->services);
	if (step != FABRIC_REVIEWED)
		return;
	k->foreign = foreign_review(&k->services);
	hidden_review(&k->hidden, fabric_is_master(k->fabric));
}

static void add_row(json_t *rows, const struct topo *t, guid_t node, uint8_t num, json_t *why)
{
	const uint32_t port = topo_port_of(t, node, num);

	if (port == TOPO_NONE)
		json_decref(why);
	else
		json_array_append_new(rows, dump_json_unhealthy_link(t, port, "m-key", why));
}

void port_keys_unhealthy(const struct fabric *fabric, json_t *rows)
{
	const struct port_keys *k = fabric_room(fabric, &port_keys_module);
	struct fabric_view view = fabric_view(k->fabric);

	if (k->foreign && view.topo)
		EACH_FOREIGN (k->services.inventory, node, p)
			add_row(rows, view.topo, node->guid, p,
				json_string("holds an M_Key of somebody else"));
	for (unsigned i = 0; view.topo && i < k->hidden.count; i++)
		add_row(rows, view.topo, k->hidden.ports[i].node, k->hidden.ports[i].num,
			json_sprintf("answers no SMP, but %s: probably a foreign M_Key",
				     k->hidden.ports[i].why));
}

static void status(const void *room, json_t *doc)
{
	const struct port_keys *k = room;
	const struct m_key_conf *conf = m_keys_conf(key_lookup_keys(k->services.inventory));
	json_t *foreign = json_array(); /* the names of the first of them */

	if (k->foreign)
		EACH_FOREIGN (k->services.inventory, node, p)
			if (json_array_size(foreign) < ALERTS_NAMED)
				json_add(foreign, "s", inventory_name(node, shown(node, p)).text);
	json_object_set_new(
		doc, "m_keys",
		json_pack("{sb sb si si sI sI si so si so}", "set", m_key_conf_any(conf),
			  "per_port", conf->secret.set && conf->per_port, "protection",
			  conf->protect, "lease_s", conf->lease_s, "asked",
			  (json_int_t)k->asking.renewed, "expired", (json_int_t)k->asking.expired,
			  "foreign", k->foreign, "foreign_ports", foreign, "probable",
			  k->hidden.probable, "probable_ports", hidden_json(&k->hidden)));
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	static const struct batch_ops batch_ops = { .make = make, .done = answered };
	struct port_keys *k = ROOM_NEW(k, fabric);

	/* Asks nobody until asking_configure() says so. */
	k->asking = (struct asking){ .fabric = fabric, .services = &k->services };
	k->asking.tick = loop_timer_new(k->services.loop, tick, &k->asking);
	k->asking.batch = batch_new(k->services.loop, k->services.mad, &batch_ops, &k->asking);

	k->hidden = (struct hidden){ .fabric = fabric, .services = &k->services };
	k->hidden.again = loop_timer_new(k->services.loop, review_again, &k->hidden);
	return k;
}

static void fini(void *room)
{
	struct port_keys *k = room;

	loop_timer_free(k->asking.tick);
	batch_free(k->asking.batch);

	/* Cancels what is on its way, and ends the alerts. */
	hidden_review(&k->hidden, false);
	free(k->hidden.ports);
	loop_timer_free(k->hidden.again);
	alerts_end(k->services.alerts, "port-m-key");
	free(k);
}

const struct fabric_module port_keys_module = { .name = "keys",
						.init = init,
						.fini = fini,
						.load = load,
						.role = role,
						.trap = trap,
						.status = status,
						.configure = configure,
						.swept = swept,
						.settled = settled };
