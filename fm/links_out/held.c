/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * held: who is held and why, what becomes of the port at our end, and what is read of the fabric
 * behind a link (admission.c).
 */
#include <inttypes.h>
#include "fm/fabric/request.h"
#include "fm/mad/batch.h"
#include "fm/links_out/rules.h"
#include "fm/sm/module.h"
#include "fm/sweep/sweep.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"
#include "topology/cabling/cabling.h"
#include "topology/snapshot/naming.h"

#define SIGHT_US      300000 /* for the managers on both sides to read what is behind a link */
#define SIGHT_TICK_US 5000
#define AGAIN_US      1000000
#define HOSTS_COUNTED 1024
#define POLLING	      2 /* PortPhysicalState */
#define DISABLED      3
#define HELD_SYNC_US  10000

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The row of a link of which that is an end; peer 0 = whatever the other one is. */
static struct out *find(const struct admission *a, guid_t node, unsigned port, guid_t peer,
			unsigned peer_port)
{
	OUT_ROWS (a->table, it) {
		bool near = it->node == node && it->port == port;
		bool far = it->peer == node && it->peer_port == port;

		if (it->rule->group != OUT_NOT_ADMITTED)
			continue;
		if ((near &&
		     (!peer || !it->peer || (it->peer == peer && it->peer_port == peer_port))) ||
		    (far && (!peer || (it->node == peer && it->port == peer_port))))
			return it;
	}
	return NULL;
}

struct out *admission_find(const struct admission *a, const struct out *it)
{
	return find(a, it->node, it->port, it->peer, it->peer_port);
}

/* The disk has it when this returns, if it is no slow one. */
static void record(struct admission *a)
{
	out_keep(a->table, OUT_FOREIGN);
	state_sync(a->services->state, &a->table->kinds[a->table->rules[OUT_FOREIGN].kind],
		   HELD_SYNC_US);
}

/* ---- Names, events, alerts ------------------------------------------------------------------- */

static bool is_held(const struct out *it)
{
	return it->cause >= OUT_FOREIGN && it->cause <= OUT_UNSEEN;
}

static struct event_subject subject_of(const struct admission *a, const struct out *it)
{
	const struct inventory *inv = a->services->inventory;
	struct event_subject subject = inventory_link_subject(inv, it->node, it->port);
	const struct inv_node *peer = inventory_find(inv, it->peer);

	subject.host = subject.name = NULL;
	subject.peer = it->peer;
	subject.peer_name = peer ? peer->name : NULL;
	subject.peer_port = it->peer_port;
	return subject;
}

static void name_of(const struct admission *a, const struct out *it, char name[HELD_NAME])
{
	const struct event_subject subject = subject_of(a, it);
	char near[24], far[24];

	array_printf(near, "0x%016" PRIx64, it->node);
	array_printf(far, "0x%016" PRIx64, it->peer);
	if (!it->peer)
		array_printf(far, it->cause == OUT_UNSEEN ? "unseen" : "another fabric");
	snprintf(name, HELD_NAME, "%s p%u - %s p%u", subject.node_name ? subject.node_name : near,
		 it->port, subject.peer_name ? subject.peer_name : far, it->peer_port);
}

static const char *alert_of(const struct out *it)
{
	return it->cause == OUT_MISWIRED || it->cause == OUT_PLAN ? "miswired" : "link-held";
}

static void raise_alert(const struct admission *a, const struct out *it)
{
	const struct event_subject subject = subject_of(a, it);
	char name[HELD_NAME];

	name_of(a, it, name);
	alert_raise(a->services->alerts, alert_of(it), &subject,
		    "%s: held, %s: %s; pull the cable%s%s", name,
		    it->cause == OUT_UNSEEN ? "its other end may be disabled"
		    : !it->peer		    ? "its other end is disabled"
		    : it->shut		    ? "its port here is disabled"
					    : "it stays in Init",
		    it->reason ? it->reason : it->rule->word,
		    it->shut || !it->peer ? " and `fmctl forget` the port" : "",
		    it->cause == OUT_UNSEEN ? "" : ", or `fmctl admit` if it is meant");
}

static void end_alert(const struct admission *a, const struct out *it)
{
	const struct event_subject subject = subject_of(a, it);

	alert_end(a->services->alerts, alert_of(it), &subject);
}

unsigned admission_held(const struct admission *a)
{
	unsigned count = 0;

	for (unsigned cause = OUT_FOREIGN; cause <= OUT_UNSEEN; cause++)
		count += a->table->counts[cause];
	return count;
}

/* ---- Our end --------------------------------------------------------------------------------- */

/* One Set at a time. */
static void port_set(void *arg, const struct mad_answer *answer)
{
	struct out *it = arg;
	struct admission *a = &it->table->admission;
	bool done = answer->result == MAD_OK;

	it->token = 0;
	if (done && it->shut == it->sent) {
		it->shut = it->shut == HELD_SHUTS ? HELD_SHUT : HELD_IN_INIT;
		if (it->cause == OUT_REOPENED && !it->shut)
			out_remove(it);
		record(a);
	}
	loop_timer_set(a->due, done ? 0 : AGAIN_US);
}

/*
 * Once one end is disabled the manager on the other side can read nothing more. So an end stays
 * enabled until both have read what they want, SIGHT_US at most: each asks the other for its SMInfo
 * last.
 */
static void due_cb(void *arg)
{
	struct admission *a = arg;
	const struct links_out *table = a->table;
	bool sets = any_of(i, 0, table->count, table->all[i]->shut && table->all[i]->token);
	uint64_t now = loop_now_us(a->services->loop);
	bool were_read = now >= a->sight.until_us || (!batch_in_flight(a->sight.batch) &&
						      now < sm_met_us(a->fabric) + AGAIN_US);

	if (!were_read) {
		loop_timer_set(a->due, SIGHT_TICK_US);
		return;
	}
	for (unsigned i = 0; i < table->count && !sets && fabric_is_master(a->fabric); i++) {
		struct out *it = table->all[a->turn++ % table->count];
		struct inv_node *node;
		const struct inv_port *port =
			inventory_port(a->services->inventory, it->node, it->port, &node);
		struct wire_port_info want;
		struct mad_path path;
		uint8_t data[64];

		if ((it->shut != HELD_SHUTS && it->shut != HELD_OPENS) || !port || !port->known ||
		    !inventory_port_path(a->services->inventory, node, it->port, &path))
			continue;
		wire_port_info_decode(port->info, &want);
		want.state = it->shut == HELD_SHUTS ? TOPO_DOWN : 0;
		want.phys_state = it->shut == HELD_SHUTS ? DISABLED : POLLING;
		want.client_reregister = false;
		wire_port_info_encode(&want, data);
		it->sent = it->shut;
		it->token = mad_send(
			a->services->mad,
			&(struct mad_request){ .path = &path,
					       .method = WIRE_SET,
					       .attr_id = WIRE_PORT_INFO,
					       .attr_mod = inventory_port_modifier(node, it->port),
					       .device = node->guid,
					       .data = data,
					       .urgent = true },
			port_set, it);
		sets = it->token;
	}
}

/* ---- What is behind the link to another fabric ----------------------------------------------- */

/*
 * By Gets alone, until our end is disabled. The tables lead from switch to switch to the manager.
 * The table of the switch beside it has all LIDs of that fabric: a spine's has not those of other
 * spines. The manager's SMInfo comes last; it may be away, and its fabric be there.
 */
enum { SIGHT_TABLE, SIGHT_NODE, SIGHT_SM, SIGHT_SWITCH, SIGHT_LIDS };

static void read_next(struct admission *a, uint8_t step, uint32_t modifier)
{
	batch_add(a->sight.batch,
		  &(struct batch_job){ .kind = step, .arg = modifier, .urgent = true });
}

static bool make_read(void *owner, const struct batch_job *job, struct batch_request *request)
{
	static const uint16_t attributes[] = { WIRE_LFT, WIRE_NODE_INFO, WIRE_SM_INFO,
					       WIRE_SWITCH_INFO, WIRE_LFT };
	const struct admission *a = owner;

	request->via.path = a->sight.path;
	request->via.path.hops += job->kind == SIGHT_SM && a->sight.beside;
	request->mad.method = WIRE_GET;
	request->mad.attr_id = attributes[job->kind];
	request->mad.attr_mod = job->arg;
	request->mad.urgent = request->mad.once = true;
	return true;
}

static void seen(void *owner, const struct batch_job *job, const struct batch_path *via,
		 const struct mad_answer *answer)
{
	struct admission *a = owner;
	unsigned sm_lid = a->sight.sm_lid;
	struct mad_path *path = &a->sight.path;
	struct wire_switch_info info;
	struct wire_node_info node;
	uint8_t out;

	if (answer->result != MAD_OK)
		return;
	switch (job->kind) {
	case SIGHT_TABLE:
		out = answer->data[sm_lid % WIRE_LFT_BLOCK];
		if (out == UINT8_MAX || path->hops == WIRE_MAX_HOPS)
			break;
		path->ports[path->hops] = out;
		path->hops += out > 0;
		read_next(a, out ? SIGHT_NODE : SIGHT_SWITCH, 0);
		break;
	case SIGHT_NODE:
		wire_node_info_decode(answer->data, &node);
		a->sight.beside = node.type != TOPO_SWITCH;
		path->hops -= a->sight.beside;
		if (!a->sight.beside) {
			read_next(a, SIGHT_TABLE, sm_lid / WIRE_LFT_BLOCK);
			break;
		}
		a->sight.sm.guid = node.port_guid;
		read_next(a, SIGHT_SWITCH, 0);
		break;
	case SIGHT_SM:
		wire_sm_info_decode(answer->data, &a->sight.sm);
		out_keep(a->table, OUT_FOREIGN);
		break;
	case SIGHT_SWITCH:
		wire_switch_info_decode(answer->data, &info);
		a->sight.left = info.lft_top < LID_SPACE ? info.lft_top / WIRE_LFT_BLOCK + 1 : 1;
		for (unsigned block = 0; block < a->sight.left; block++)
			read_next(a, SIGHT_LIDS, block);
		break;
	default:
		memcpy(a->sight.out + job->arg * WIRE_LFT_BLOCK, answer->data, WIRE_LFT_BLOCK);
		if (--a->sight.left)
			break;
		a->sight.whole = true;
		out_keep(a->table, OUT_FOREIGN);
		read_next(a, SIGHT_SM, 0);
	}
}

/* A second link to the same fabric is not read. */
static void see(struct admission *a, const struct out *link, uint16_t sm_lid)
{
	struct inventory *inv = a->services->inventory;
	struct mad_path path;

	if ((a->sight.whole && a->table->counts[OUT_FOREIGN] > 1) ||
	    batch_in_flight(a->sight.batch) || sm_lid >= LID_SPACE ||
	    !inventory_port_path(inv, inventory_find(inv, link->node), 0, &path) ||
	    path.hops == WIRE_MAX_HOPS)
		return;
	path.ports[path.hops++] = link->port;
	beyond_clear(a);
	a->sight.path = path;
	a->sight.sm_lid = sm_lid;
	a->sight.beside = false;
	a->sight.sm.guid = 0;
	batch_drop(a->sight.batch);
	read_next(a, SIGHT_TABLE, sm_lid / WIRE_LFT_BLOCK);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

/* sm_lid: of the switch behind a link to another fabric. */
static void hold(struct admission *a, const struct out *new, const char *why, uint16_t sm_lid)
{
	struct out *it = admission_find(a, new);
	const struct event_subject subject = subject_of(a, new);
	char name[HELD_NAME];

	if (it)
		out_remove(it);
	it = out_add(a->table, new);
	it->shut = it->cause == OUT_FOREIGN && it->peer ? HELD_SHUTS : HELD_IN_INIT;
	it->reason = why;
	event_now(it->since);
	record(a);
	if (it->shut) {
		if (loop_now_us(a->services->loop) >= a->sight.until_us)
			a->sight.until_us = loop_now_us(a->services->loop) + SIGHT_US;
		loop_timer_set(a->due, SIGHT_TICK_US);
		see(a, it, sm_lid);
	}
	name_of(a, it, name);
	event_log_add(a->services->events, LOG_WARNING, "link-held", &subject,
		      json_pack("{ss ss}", "cause", it->rule->name, "why", why),
		      "%s: new, and held: %s", name, why);
	raise_alert(a, it);
}

/* It is not held any more: admitted beforehand, or judged again when it is met. */
static void let_go(struct admission *a, struct out *it, enum out_cause to)
{
	if (is_held(it))
		end_alert(a, it);
	it->shut = it->shut == HELD_IN_INIT ? HELD_IN_INIT : HELD_OPENS;
	a->table->counts[it->cause]--;
	it->cause = to;
	it->rule = &a->table->rules[to];
	a->table->counts[to]++;
	it->since[0] = '\0';
	if (it->shut)
		loop_timer_set(a->due, 0);
	else if (to == OUT_REOPENED)
		out_remove(it);
	record(a);
}

void admission_expect(struct admission *a, guid_t guid, enum out_cause cause)
{
	out_add(a->table, &(struct out){ .peer = guid, .cause = cause });
	record(a);
}

/* The manager behind it is allowed from now on: it is what the operator wants. */
static void admit(struct admission *a, struct out *it)
{
	guid_t manager = it->cause == OUT_FOREIGN ? a->sight.sm.guid : 0;
	const struct event_subject subject = subject_of(a, it);
	char name[HELD_NAME];

	name_of(a, it, name);
	event_log_add(a->services->events, LOG_NOTICE, "link-admitted", &subject,
		      json_pack("{ss so*}", "cause", it->rule->name, "port_guid",
				manager ? json_guid(manager) : NULL),
		      "%s: admitted", name);
	fabric_request_refresh(a->fabric, it->node, "a link was admitted");
	let_go(a, it, OUT_ADMITTED);
	if (manager) {
		admission_expect(a, manager, OUT_MANAGER);
		sm_allow(a->fabric, manager, true);
	}
}

/* ---- The judgement --------------------------------------------------------------------------- */

/* A host in the port of a missing link between switches: that one would be forgotten. */
static const char *contradiction(const struct admission *a, const struct inv_node *from,
				 uint8_t num, const struct wire_node_info *to)
{
	const struct topo *t = fabric_view(a->fabric).topo;
	uint32_t x = t ? topo_port_of(t, from->guid, num) : TOPO_NONE;
	uint32_t y = t ? topo_port_of(t, to->node_guid, to->local_port) : TOPO_NONE;

	if (x == TOPO_NONE || x >= t->nswitch_ports)
		return NULL;
	if (to->type != TOPO_SWITCH)
		return t->ports[x].peer < t->nswitch_ports ? "its port is one for switches" : NULL;
	return y < t->nswitch_ports ? cabling_contradiction(t, x, y) : NULL;
}

static enum plan_verdict verdict_of(const struct admission *a, guid_t port_guid,
				    const struct out *it)
{
	return plan_judge(&a->plan, a->services->inventory,
			  &(struct wire_node_info){ .node_guid = it->node, .local_port = it->port },
			  &(struct wire_node_info){ .node_guid = it->peer,
						    .port_guid = port_guid,
						    .local_port = it->peer_port });
}

static enum sweep_gate keep_out(struct admission *a, struct out *it)
{
	if (it->shut == HELD_SHUT) { /* its switch has begun anew */
		it->shut = HELD_SHUTS;
		loop_timer_set(a->due, 0);
	}
	return SWEEP_KEEPS_OUT;
}

/* The one behind an admitted link. */
static enum sweep_gate meet_manager(const struct admission *a)
{
	struct mad_path path = a->sight.path;

	path.hops += a->sight.beside;
	if (path.hops) /* not where it was met in an earlier life */
		sm_meet(a->fabric, a->sight.sm.guid, a->sight.sm_lid, &path);
	return SWEEP_ADMITS;
}

static enum sweep_gate gate(void *arg, struct inv_node *from, uint8_t num,
			    const struct inv_node *known, const struct wire_node_info *info,
			    const struct wire_port_info *port0)
{
	struct admission *a = arg;
	const struct inventory *inv = a->services->inventory;
	struct out *it = find(a, from->guid, num, info->node_guid, info->local_port);
	int mode = a->services->conf->admission.mode;
	struct out new = { .node = from->guid,
			   .port = num,
			   .peer = info->node_guid,
			   .peer_port = info->local_port,
			   .cause = OUT_REOPENED };

	if (it && is_held(it) && (!it->peer || (known && it->cause < OUT_MISWIRED))) {
		let_go(a, it, OUT_REOPENED); /* it was met over another link, or not yet */
		it = NULL;
	}
	if (it && is_held(it))
		return keep_out(a, it);
	if (from == inv->local && !known)
		a->judges = false; /* another fabric, or another leaf */
	if (it && it->cause == OUT_ADMITTED)
		return meet_manager(a);
	if (mode == CONF_ADMIT_OPEN || !a->judges || from == inv->local ||
	    inv_port_is(from, num, INV_EARLY) || from->ports[num].state == TOPO_ACTIVE)
		return SWEEP_ADMITS; /* an Active link is not new: an answer was wrong */
	it = find(a, from->guid, num, 0, 0) ?: find(a, from->guid, 0, 0, 0);
	if (it && is_held(it))
		let_go(a, it, OUT_REOPENED); /* another cable is there */

	enum plan_verdict planned = verdict_of(a, info->port_guid, &new);

	if (planned == PLAN_HAS)
		return SWEEP_ADMITS;
	if (planned == PLAN_NOT)
		new.cause = OUT_PLAN;
	else if (mode == CONF_ADMIT_STRICT && planned == PLAN_SILENT)
		new.cause = OUT_STRICT;

	const char *why = a->table->rules[new.cause].word;

	if (new.cause == OUT_REOPENED && (known || info->type != TOPO_SWITCH)) {
		why = contradiction(a, from, num, info);
		new.cause = why ? OUT_MISWIRED : OUT_REOPENED;
	} else if (new.cause == OUT_REOPENED) {
		if (!port0)
			return SWEEP_READS_FIRST;
		if (!find(a, 0, 0, info->node_guid, 0) &&
		    beyond_is_foreign(a, info->node_guid, port0))
			new.cause = OUT_FOREIGN;
		why = a->table->rules[OUT_FOREIGN].word;
		a->met_new |= new.cause == OUT_REOPENED;
	}
	if (new.cause == OUT_REOPENED)
		return SWEEP_ADMITS;
	hold(a, &new, why, port0 ? port0->sm_lid : 0);
	return SWEEP_KEEPS_OUT;
}

/* ---- Switches that come with many hosts ------------------------------------------------------ */

static bool is_new(const struct admission *a, const struct topo *t, const struct inv_node *node)
{
	const struct lid_memory *lids = a->services->lids;

	if (topo_find(t, node->guid) != TOPO_NONE || node->removed)
		return false;
	return !any_of(
		i, 0, lids->count,
		lids->entries[i].port_guid == node->guid ||
			(node->port_guids && lids->entries[i].port_guid == node->port_guids[1]));
}

/*
 * Adds what is behind a new switch and new itself, `part` with it. Returns the number of hosts, 0
 * where a link to them carries data.
 */
static unsigned add_new(struct admission *a, const struct topo *t, struct inv_node *node,
			struct inv_node ***part, unsigned *count)
{
	struct inv_node *hosts[HOSTS_COUNTED];
	unsigned n = 0, at = *count, had;
	bool runs = false; /* it was here before, and could not be met */

	*part = mem_grow(*part, at);
	(*part)[(*count)++] = node;
	inventory_meet(a->services->inventory, node);
	for (; at < *count; at++) {
		node = (*part)[at];
		had = inv_is_switch(node) || inv_is_sharp(node) ? HOSTS_COUNTED : 0;
		while (had < n &&
		       (naming_is_factory(node->desc) ||
			strncmp(hosts[had]->desc, node->desc, strcspn(node->desc, " ") + 1)))
			had++;
		if (had == n && n < HOSTS_COUNTED)
			hosts[n++] = node;
		for (unsigned p = 1; inv_is_switch(node) && p <= node->nports; p++) {
			struct inv_node *peer = node->ports[p].peer;

			if (peer && !is_new(a, t, peer))
				runs |= peer->ports[node->ports[p].peer_port].state == TOPO_ACTIVE;
			if (!peer || inventory_was_met(a->services->inventory, peer) ||
			    !is_new(a, t, peer))
				continue;
			inventory_meet(a->services->inventory, peer);
			*part = mem_grow(*part, *count);
			(*part)[(*count)++] = peer;
		}
	}
	return runs ? 0 : n;
}

/* The other was faster: it has asked by that port, and then disabled its end. */
static void hold_unseen(struct admission *a, guid_t guid, uint8_t num)
{
	struct inv_node *node;
	const struct inv_port *port = inventory_port(a->services->inventory, guid, num, &node);

	if (port && port->state < TOPO_INIT && !find(a, guid, num, 0, 0) && a->judges &&
	    a->services->conf->admission.mode != CONF_ADMIT_OPEN)
		hold(a, &(struct out){ .node = guid, .port = num, .cause = OUT_FOREIGN },
		     "another manager asked this one through it", 0);
}

/* Behind a sweep that met new switches, before what it found is published. */
void admission_swept(struct admission *a)
{
	struct inventory *inv = a->services->inventory;
	const struct topo *t = fabric_view(a->fabric).topo;
	struct inv_node *node, **part = NULL;
	unsigned count = 0, most = a->services->conf->admission.max_hosts;
	uint8_t num;
	guid_t asked = sm_met_by(a->fabric, &num);

	if (t && asked && fabric_is_master(a->fabric))
		hold_unseen(a, asked, num);
	if (!t || (!a->met_new && !a->table->count) || !fabric_is_master(a->fabric))
		return;
	inv->walks++;
	/* The other side holds the link still: what was met behind it has no LID here. */
	OUT_ROWS (a->table, it) {
		node = it->cause == OUT_ADMITTED ? inventory_find(inv, it->peer) : NULL;
		if (node && node->gone && is_new(a, t, node))
			add_new(a, t, node, &part, &count);
	}
	for (node = a->met_new ? inventory_first(inv) : NULL; node;
	     node = inventory_next(inv, node)) {
		unsigned first = count, hosts;

		if (!inv_is_switch(node) || inventory_was_met(inv, node) || !is_new(a, t, node))
			continue;
		hosts = add_new(a, t, node, &part, &count);
		/* Held are the links to what is known, but not if one of them is planned. */
		for (unsigned i = 2 * first; hosts > most && i < 2 * count; i++) {
			bool holds = i >= first + count;
			struct inv_node *new = part[holds ? i - count : i - first];

			for (unsigned p = 1; p <= new->nports; p++) {
				const struct inv_port *port = &new->ports[p];
				struct out link = { .peer = new->guid,
						    .peer_port = p,
						    .port = port->peer_port,
						    .cause = OUT_HOSTS,
						    .hosts = hosts };

				if (!port->peer || is_new(a, t, port->peer))
					continue;
				link.node = port->peer->guid;
				if (holds)
					hold(a, &link, a->table->rules[OUT_HOSTS].word, 0);
				else if (verdict_of(a, new->guid, &link) == PLAN_HAS)
					hosts = 0;
			}
		}
		if (hosts <= most)
			count = first;
	}
	a->met_new = false;
	for (unsigned i = 0; i < count; i++)
		inventory_remove(inv, part[i]);
	free(part);
	if (count)
		inventory_update_paths(inv);
}

static json_t *end_json(const struct admission *a, guid_t guid, unsigned port)
{
	const struct inv_node *node = inventory_find(a->services->inventory, guid);
	char text[24];

	array_printf(text, "0x%016" PRIx64, guid);
	return json_pack("{ss ss si}", "name", node ? node->name : text, "guid", text, "port",
			 port);
}

static json_t *row_of(const struct admission *a, const struct out *it)
{
	char link[HELD_NAME];

	name_of(a, it, link);
	return json_pack("{so so ss ss ss ss sb sI so si so si}", "a",
			 end_json(a, it->node, it->port), "b", end_json(a, it->peer, it->peer_port),
			 "link", link, "cause", it->rule->name, "why",
			 it->reason ? it->reason : it->rule->word, "since", it->since, "disabled",
			 it->shut != HELD_IN_INIT, "hosts", (json_int_t)it->hosts, "node",
			 json_guid(it->node), "port", it->port, "peer", json_guid(it->peer),
			 "peer_port", it->peer_port);
}

/* Held links that are planned are admitted; those that an earlier plan held are judged again. */
static void judge_held(struct admission *a, bool dry, json_t *admitted)
{
	OUT_EACH (a->table, it) {
		enum plan_verdict verdict = is_held(it) ? verdict_of(a, it->peer, it) : PLAN_SILENT;

		if (verdict == PLAN_HAS)
			json_array_append_new(admitted, row_of(a, it));
		if (verdict == PLAN_HAS && !dry)
			admit(a, it);
		else if (it->cause == OUT_PLAN && verdict != PLAN_NOT && !dry)
			let_go(a, it, OUT_REOPENED);
	}
}

/* ---- For the room ---------------------------------------------------------------------------- */

/* What was up when nothing was judged yet is not new, whenever it answers. */
void admission_published(struct admission *a)
{
	bool was_read = a->plan.topo;
	char err[512];
	const struct inventory *inv = a->services->inventory;

	if (beyond_predecessor(a))
		a->predecessor = beyond_predecessor(a);
	plan_read(&a->plan, fabric_view(a->fabric).topo, plan_kind.name, err, sizeof(err));
	if (!was_read && a->plan.topo)
		judge_held(a, false, NULL);
	if (a->starts && a->judges && a->services->conf->admission.mode != CONF_ADMIT_OPEN)
		INVENTORY_EACH (inv, node) {
			struct out link = { .node = node->guid, .cause = OUT_UNSEEN };

			if (beyond_missed(a, node, &link.port))
				hold(a, &link, a->table->rules[OUT_UNSEEN].word, 0);
		}
	a->starts = false;
	if (a->judges)
		return;
	a->judges = true;
	INVENTORY_EACH (inv, node)
		for (unsigned p = 1; inv_is_switch(node) && p <= node->nports; p++)
			if (!node->ports[p].peer && node->ports[p].state != TOPO_DOWN)
				inv_port_mark(node, p, INV_EARLY, true);
}

/* Whether that end shows that the cable is not in it any more. */
static bool is_pulled(const struct inv_node *node, const struct inv_port *port)
{
	return port && !node->gone && !node->silent && port->known &&
	       (port->state < TOPO_INIT || (port->peer && port->link_up));
}

/* Cables that were pulled, and links that became part of the fabric, are listed no more. */
void admission_review(struct admission *a)
{
	const struct inventory *inv = a->services->inventory;
	struct inv_node *node, *peer;

	OUT_EACH (a->table, it) {
		const struct inv_port *port = inventory_port(inv, it->node, it->port, &node);
		const struct inv_port *far = inventory_port(inv, it->peer, it->peer_port, &peer);
		bool linked =
			port && port->state == TOPO_ACTIVE && port->peer &&
			(!it->peer || (port->peer == peer && port->peer_port == it->peer_port));
		bool over = it->shut ? far && !peer->gone /* it is reached over another link */
				     : it->peer && (is_pulled(node, port) || is_pulled(peer, far));

		if (is_held(it) ? over
				: it->cause == OUT_ADMITTED && (linked || (!it->node && peer)))
			let_go(a, it, OUT_REOPENED);
		else if (is_held(it))
			raise_alert(a, it);
	}
	if (a->table->count && !loop_timer_armed(a->due))
		loop_timer_set(a->due, 0);
}

/* ---- For operators --------------------------------------------------------------------------- */

static bool is_at(const struct out *it, guid_t guid, unsigned port)
{
	return (guid == it->node && (!port || port == it->port)) ||
	       (guid == it->peer && (!port || port == it->peer_port));
}

unsigned admission_forget(struct admission *a, guid_t guid, unsigned port)
{
	unsigned count = 0;

	OUT_EACH (a->table, it)
		if (is_held(it) && is_at(it, guid, port)) {
			let_go(a, it, OUT_REOPENED);
			count++;
		}
	return count;
}

json_t *admission_rows(const struct admission *a)
{
	json_t *rows = json_array();

	OUT_ROWS (a->table, it)
		if (is_held(it))
			json_array_append_new(rows, row_of(a, it));
	return rows;
}

/* The answer: the links, and what joins this fabric by them, as far as that was seen. */
void admission_admit(struct admission *a, const char *what, bool dry, waiter_fn *fn, void *arg)
{
	const struct fabric_view view = fabric_view(a->fabric);
	struct target target = { 0 };
	char err[TARGET_ERROR_SIZE];
	bool all = !strcmp(what, "all"), foreign = false, found;
	json_t *rows = json_array(), *moves = NULL, *doc;
	unsigned hosts = 0, lids = 0;
	char master[80] = "this manager";
	int end = 0;

	sscanf(what, "0x%16" SCNx64 "%n", &target.guid, &end);
	found = all || (end && !what[end]) || target_find(&view, what, &target, err);
	OUT_EACH (a->table, it) {
		if (!found || !is_held(it) || it->cause == OUT_UNSEEN ||
		    (!all && !is_at(it, target.guid, target.port)))
			continue;
		json_array_append_new(rows, row_of(a, it));
		foreign |= it->cause == OUT_FOREIGN;
		hosts += it->hosts;
		if (!dry)
			admit(a, it);
	}
	if (!json_array_size(rows)) {
		fn(arg, NULL,
		   found ? "no held link that was met has an end there: see `fmctl held`" : err);
		json_decref(rows);
		return;
	}
	if (foreign && !a->sight.sm.guid)
		array_printf(master, "by the managers' priorities and GUIDs");
	else if (foreign && sm_is_outranked(a->fabric, &a->sight.sm))
		array_printf(master, "0x%016" PRIx64 ", priority %u", a->sight.sm.guid,
			     a->sight.sm.priority);
	if (!foreign || a->sight.whole)
		moves = foreign ? beyond_moves(a, !strcmp(master, "this manager"), &lids)
				: json_array();
	doc = json_pack("{sb so so* ss* si si ss}", "dry_run", dry, "links", rows, "lids_to_move",
			moves, "unread",
			moves ? NULL
			      : "the LIDs of the other fabric could not be read before a port was "
				"disabled: a dry run of its manager lists those of both",
			"hosts", hosts, "lids", lids, "master", master);
	fn(arg, doc, NULL);
	json_decref(doc);
}

void admission_revoke(struct admission *a, const char *what, waiter_fn *fn, void *arg)
{
	guid_t guid = strtoull(what, NULL, 16);
	json_t *doc = NULL;

	OUT_EACH (a->table, it) {
		if (it->cause != OUT_MANAGER || it->peer != guid)
			continue;
		let_go(a, it, OUT_REOPENED);
		doc = doc ?: json_pack("{so}", "port_guid", json_guid(guid));
	}
	if (doc) {
		event_log_add(a->services->events, LOG_NOTICE, "manager-revoked", NULL,
			      json_incref(doc),
			      "fabric: the manager at port GUID 0x%016" PRIx64
			      " is not admitted any more",
			      guid);
		sm_allow(a->fabric, guid, false);
	}
	fn(arg, doc, doc ? NULL : "no manager at a port of that GUID was admitted");
	json_decref(doc);
}

void admission_plan(struct admission *a, const char *name, const char *text, bool dry,
		    waiter_fn *fn, void *arg)
{
	struct plan next = { .text = mem_strdup(text) }, before = a->plan;
	const struct topo *t = fabric_view(a->fabric).topo;
	json_t *admitted = json_array(), *doc;
	char err[512] = "no topology yet";

	if (!t || !plan_read(&next, t, name, err, sizeof(err)) ||
	    (next.topo && !cabling_plan_fits(next.topo, t, name, text, err, sizeof(err)))) {
		plan_fini(&next);
		json_decref(admitted);
		fn(arg, NULL, err);
		return;
	}
	a->plan = next;
	judge_held(a, dry, admitted);
	doc = json_pack("{sb si so}", "dry_run", dry, "links",
			next.topo ? (int)topo_links(next.topo) : 0, "admitted", admitted);
	if (dry)
		a->plan = before;
	plan_fini(dry ? &next : &before);
	if (dry) {
		fn(arg, doc, NULL);
		json_decref(doc);
		return;
	}
	event_log_add(a->services->events, LOG_NOTICE, "plan-admitted", NULL,
		      json_pack("{sO}", "links", json_object_get(doc, "links")),
		      "fabric: %u links are planned", next.topo ? topo_links(next.topo) : 0);
	state_changed(a->services->state, &plan_kind, &a->plan);
	fabric_operation_done(a->fabric, doc, fn, arg);
}

void admission_load(struct admission *a)
{
	a->plan.text = state_text(a->services->state, plan_kind.name);
	a->judges = inventory_first(a->services->inventory);
	a->starts = true;
	if (a->services->sweep)
		sweep_set_gate(a->services->sweep, gate, a);
}

void admission_configure(struct admission *a)
{
	int mode = a->services->conf->admission.mode;

	OUT_EACH (a->table, it)
		if (is_held(it) && (mode == CONF_ADMIT_OPEN ||
				    (it->cause == OUT_STRICT && mode != CONF_ADMIT_STRICT)))
			let_go(a, it, OUT_REOPENED);
}

void admission_init(struct links_out *table)
{
	struct admission *a = &table->admission;
	static const struct batch_ops ops = { .make = make_read, .done = seen };

	*a = (struct admission){ .fabric = table->fabric,
				 .services = &table->services,
				 .table = table };
	a->due = loop_timer_new(table->services.loop, due_cb, a);
	a->sight.batch = batch_new(table->services.loop, table->services.mad, &ops, a);
}

void admission_fini(struct admission *a)
{
	OUT_EACH (a->table, it)
		if (is_held(it))
			end_alert(a, it);
	if (a->services->sweep)
		sweep_set_gate(a->services->sweep, NULL, NULL);
	batch_free(a->sight.batch);
	free(a->sight.out);
	loop_timer_free(a->due);
	plan_fini(&a->plan);
}
