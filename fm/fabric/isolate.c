/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_isolate: switches and links that are there and can not be worked with: a port that does not become Active, a switch
 * that takes no Set or does not hold what it acknowledged.
 *
 * What is isolated carries no transit, as if it were cordoned: routing leads nothing through it but what only it reaches
 * (routing/ftree/route.c), so no pair that works is cut off. A switch keeps the tables that it has, and its hosts their paths.
 *
 * Whoever finds such a fault says so by fabric_isolate(), whoever finds it gone by fabric_isolate_release(). What is said within
 * GATHER_US is judged together: where it would take more than a quarter of the cables of a tier, with what is
 * isolated there already, or a leaf's last uplink, nothing of it is put into force, for then the fault is more
 * likely ours than theirs: one alert says how many refuse, and whether they count violations of our M_Key. What is not in force is
 * judged again with each change of the list.
 *
 * A switch that takes no Set is sent none but a probe a minute, PROBE_US apart: the first that it takes releases it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/core/words.h"
#include "fm/fabric/isolate.h"
#include "fm/fabric/own.h"
#include "topology/mem.h"

#define GATHER_US  100000
#define PROBE_US   60000000
#define NAMED	   20 /* by an alert each */
#define SETS_LOST  4  /* Sets, all tries of each, between Gets that are answered: that is no loss */
#define LISTED_MAX 4096

struct isolated {
	guid_t node;
	uint8_t port; /* 0 = the switch */
	enum isolation_cause cause;
	bool judged, in_force;
	uint64_t since_us;
	mad_token probe;
	struct isolation *list;
};

struct suspect { /* a switch that did not take a Set, and is asked whether it answers a Get */
	struct suspect *next;
	struct isolation *list;
	guid_t node;
	unsigned lost; /* Sets */
	mad_token token;
};

struct isolation {
	struct fabric *f;
	struct suspect *suspects;
	struct isolated **all; /* oldest first */
	unsigned count, size;
	struct loop_timer *judge, *probe;
	enum { KEYS_UNKNOWN, KEYS_GOOD, KEYS_VIOLATED } keys; /* of one that refuses, as answered */
	mad_token asked_keys;
};

static const char *const cause_words[] = {
	[ISOLATED_NOT_ACTIVE] = "can not be made Active",
	[ISOLATED_NO_SETS] = "answers, and takes no Set",
	[ISOLATED_WRONG_TABLES] = "does not hold the tables that it acknowledged",
};

static struct inventory *inventory_of(const struct isolation *is)
{
	return sweep_inventory(is->f->sweep);
}

static struct inv_node *node_of(const struct isolated *it)
{
	struct inv_node *node = inventory_find(inventory_of(it->list), it->node);

	return node && it->port <= node->nports ? node : NULL;
}

static bool is_transit(const struct inv_node *node, unsigned num)
{
	const struct inv_node *peer = node->ports[num].peer;

	return inv_is_switch(node) && peer && inv_is_switch(peer);
}

static struct isolated *find(const struct isolation *is, guid_t node, uint8_t port,
			     enum isolation_cause cause)
{
	for (unsigned i = 0; i < is->count; i++)
		if (is->all[i]->node == node && is->all[i]->port == port &&
		    is->all[i]->cause == cause)
			return is->all[i];
	return NULL;
}

/* ---- Telling ------------------------------------------------------------------------------------- */

static struct inv_link_name name_of(const struct isolated *it)
{
	const struct inv_node *node = node_of(it);
	struct inv_link_name name;

	if (it->port)
		return inventory_link_name(sweep_inventory(it->list->f->sweep), it->node, it->port);
	if (node && node->have_desc)
		snprintf(name.text, sizeof(name.text), "%s 0x%016" PRIx64, node->desc, it->node);
	else
		snprintf(name.text, sizeof(name.text), "switch 0x%016" PRIx64, it->node);
	return name;
}

static const char *keys_text(const struct isolation *is)
{
	switch (is->keys) {
	case KEYS_VIOLATED:
		return "they count violations of the M_Key: is m_key theirs?";
	case KEYS_GOOD:
		return "they count no violation of the M_Key (m_key)";
	default:
		return "is m_key theirs?";
	}
}

static void alert_one(const struct isolated *it)
{
	const struct inv_node *node = node_of(it);
	bool transit = node && (!it->port || is_transit(node, it->port));
	struct inv_link_name name = name_of(it);

	alert_raise(it->list->f->alerts, "isolated", name.text, "%s: %s%s", name.text,
		    cause_words[it->cause], transit ? "; isolated from routing" : "");
}

/* Some of those that are in force by name; those that may not be as a count. */
static void alert(struct isolation *is)
{
	struct alerts *alerts = is->f->alerts;
	unsigned in_force = 0, refused = 0;
	const struct isolated *first = NULL;

	alerts_review(alerts, "isolated");
	for (unsigned i = 0; i < is->count; i++) {
		const struct isolated *it = is->all[i];

		if (it->in_force && in_force++ < NAMED)
			alert_one(it);
		else if (it->judged && !it->in_force && !refused++)
			first = it;
	}
	if (in_force > NAMED)
		alert_raise(alerts, "isolated", "", "%u more can not be worked with",
			    in_force - NAMED);
	alerts_reviewed(alerts, "isolated");
	if (first)
		alert_raise(alerts, "refusing", "",
			    "%u %s (the first: %s, %s): too much of a tier, or a leaf's last "
			    "uplink, so "
			    "nothing more is moved; %s",
			    refused, words_plural(refused, "device refuses", "devices refuse"),
			    name_of(first).text, cause_words[first->cause], keys_text(is));
	else
		alert_end(alerts, "refusing", "");
}

/* ---- Our own keys -------------------------------------------------------------------------------- */

static void keys_answered(void *arg, const struct mad_answer *answer)
{
	struct isolation *is = arg;
	struct wire_port_info now;

	is->asked_keys = 0;
	if (answer->result != MAD_OK)
		return;
	wire_port_info_decode(answer->data, &now);
	is->keys = now.mkey_violations ? KEYS_VIOLATED : KEYS_GOOD;
	alert(is);
}

/* Of one that refuses: does it count packets with a wrong M_Key (IBA 14.2.4)? A switch does at its port 0. */
static void ask_keys(struct isolation *is, const struct isolated *it)
{
	struct inv_node *node = node_of(it);
	struct mad_request request = { .method = WIRE_GET, .attr_id = WIRE_PORT_INFO };
	struct mad_path path;
	uint8_t num;

	if (!node || is->asked_keys)
		return;
	num = inv_is_switch(node) ? 0 : it->port;
	if (!inventory_port_path(inventory_of(is), node, num, &path))
		return;
	request.path = &path;
	request.device = it->node;
	request.attr_mod = num;
	is->asked_keys = mad_send(is->f->mad, &request, keys_answered, is);
}

/* ---- The judgement ------------------------------------------------------------------------------- */

/* Others may refuse too, and are being asked: how many do decides. */
static bool is_early(const struct isolated *it)
{
	return it->cause == ISOLATED_NO_SETS && !it->judged && it->list->suspects;
}

/* What the published snapshot knows, and is between switches. */
static uint32_t collect_asks(const struct isolation *is, struct isolate_ask *asks, unsigned *of)
{
	const struct topo *t = is->f->topo;
	uint32_t count = 0;

	for (unsigned i = 0; i < is->count; i++) {
		const struct isolated *it = is->all[i];
		uint32_t node = topo_find(t, it->node);

		if (node >= t->nswitches || it->port > t->nodes[node].nports || is_early(it))
			continue;
		of[count] = i;
		asks[count++] = (struct isolate_ask){ .node = node,
						      .port = it->port,
						      .in_force = it->in_force };
	}
	return count;
}

static void put_in_force(struct isolated *it)
{
	it->judged = it->in_force = true;
	if (it->cause == ISOLATED_WRONG_TABLES)
		fabric_untrue_changed(it->list->f);
}

/* Nothing leads through a host or its cable: they are named. */
static void judge_hosts(struct isolation *is)
{
	for (unsigned i = 0; i < is->count; i++) {
		struct isolated *it = is->all[i];
		const struct inv_node *node = node_of(it);

		if (node && !it->in_force &&
		    (it->port ? !is_transit(node, it->port) : !inv_is_switch(node)))
			put_in_force(it);
	}
}

/* False: nothing new is in force. */
static bool judge_switches(struct isolation *is)
{
	struct isolate_ask *asks = mem_alloc(is->count + 1u, sizeof(*asks));
	unsigned *of = mem_alloc(is->count + 1u, sizeof(*of));
	uint32_t count = collect_asks(is, asks, of);
	bool changed = false;

	isolate_judge(is->f->topo, asks, count);
	for (uint32_t i = 0; i < count; i++) {
		struct isolated *it = is->all[of[i]];

		it->judged = true;
		if (!asks[i].allowed)
			ask_keys(is, it);
		else if (!it->in_force) {
			put_in_force(it);
			changed = true;
		}
	}
	free(asks);
	free(of);
	return changed;
}

static void reroute(struct fabric *f)
{
	fabric_request_reroute(f, "isolations changed");
}

static void judge_now(struct isolation *is)
{
	loop_timer_stop(is->judge);
	is->keys = KEYS_UNKNOWN;
	judge_hosts(is);
	if (judge_switches(is))
		reroute(is->f);
	alert(is);
}

static void judge_cb(void *arg)
{
	struct isolation *is = arg;

	if (is->f->topo)
		judge_now(is);
	else
		loop_timer_set(is->judge, GATHER_US);
}

/* ---- The list ------------------------------------------------------------------------------------ */

static void no_sets(const struct isolated *it, bool on)
{
	struct inv_node *node = node_of(it);

	if (!node || it->cause != ISOLATED_NO_SETS)
		return;
	node->no_sets = on;
	node->keeps_change &= on;
}

static void mark_port(struct inv_port *port, bool isolated, bool kept)
{
	port->isolated = isolated;
	port->kept = kept;
	if (port->peer)
		port->peer->ports[port->peer_port].kept = kept;
}

static void unmark(const struct isolated *it)
{
	struct inv_node *node = node_of(it);

	for (unsigned p = it->port ? it->port : 1;
	     node && p <= (it->port ? it->port : node->nports); p++)
		mark_port(&node->ports[p], false, false);
}

static void arm_probe(struct isolation *is)
{
	for (unsigned i = 0; i < is->count; i++)
		if (is->all[i]->cause == ISOLATED_NO_SETS) {
			if (!loop_timer_armed(is->probe))
				loop_timer_set(is->probe, PROBE_US);
			return;
		}
	loop_timer_stop(is->probe);
}

/* A link goes by the end at its switch, of two by the lower GUID. */
static void take_end(const struct fabric *f, guid_t *guid, uint8_t *num)
{
	const struct inv_node *node = inventory_find(sweep_inventory(f->sweep), *guid);
	const struct inv_node *peer = node && *num <= node->nports ? node->ports[*num].peer : NULL;

	if (!peer || !inv_is_switch(peer) || (inv_is_switch(node) && peer->guid >= node->guid))
		return;
	*guid = peer->guid;
	*num = node->ports[*num].peer_port;
}

static bool is_suspect(const struct isolation *is, guid_t guid)
{
	for (const struct suspect *it = is->suspects; it; it = it->next)
		if (it->node == guid)
			return true;
	return find(is, guid, 0, ISOLATED_NO_SETS) != NULL;
}

/* What is wrong may be the switch at one of its ends: that one is asked first. */
static bool is_of_suspect(const struct isolation *is, guid_t guid, uint8_t num)
{
	const struct inv_node *node = inventory_find(inventory_of(is), guid);
	const struct inv_node *peer = node && num <= node->nports ? node->ports[num].peer : NULL;

	return is_suspect(is, guid) || (peer && is_suspect(is, peer->guid));
}

void fabric_isolate(struct fabric *f, guid_t guid, uint8_t port, enum isolation_cause cause)
{
	struct isolation *is = f->isolation;
	struct isolated *it;

	take_end(f, &guid, &port);
	if (find(is, guid, port, cause) || is->count == LISTED_MAX)
		return;
	if (cause == ISOLATED_NOT_ACTIVE && is_of_suspect(is, guid, port))
		return;
	it = mem_alloc(1, sizeof(*it));
	*it = (struct isolated){ .node = guid,
				 .port = port,
				 .cause = cause,
				 .since_us = loop_now_us(f->loop),
				 .list = is };
	if (is->count == is->size) {
		is->size = is->size ? 2 * is->size : 16;
		is->all = mem_resize(is->all, is->size, sizeof(*is->all));
	}
	is->all[is->count++] = it;
	no_sets(it, true);
	arm_probe(is);
	if (!loop_timer_armed(is->judge))
		loop_timer_set(is->judge, GATHER_US);
}

void fabric_isolate_again(struct fabric *f, guid_t sw, enum isolation_cause cause)
{
	struct isolated *it;

	fabric_isolate(f, sw, 0, cause);
	it = find(f->isolation, sw, 0, cause);
	if (it) /* the list may be full */
		put_in_force(it);
}

bool fabric_isolated(const struct fabric *f, guid_t sw, enum isolation_cause cause)
{
	const struct isolated *it = find(f->isolation, sw, 0, cause);

	return it && it->in_force;
}

static void drop(struct isolated *it)
{
	struct isolation *is = it->list;
	unsigned i = 0;

	while (is->all[i] != it)
		i++;
	memmove(&is->all[i], &is->all[i + 1], (--is->count - i) * sizeof(*is->all));
	no_sets(it, false);
	unmark(it);
	mad_cancel(is->f->mad, it->probe);
	free(it);
	arm_probe(is);
	loop_timer_set(is->judge, 0); /* the alert, and whether another may be in force */
}

static void release(struct isolated *it, const char *why)
{
	struct fabric *f = it->list->f;

	log_line(LOG_SWEEP, LOG_NOTICE, "%s: %s", name_of(it).text, why);
	drop(it);
	reroute(f);
}

void fabric_isolate_release(struct fabric *f, guid_t guid, uint8_t port, enum isolation_cause cause)
{
	struct isolated *it;

	take_end(f, &guid, &port);
	it = find(f->isolation, guid, port, cause);
	if (it)
		release(it, "works again");
}

static bool is_active(const struct inv_port *port)
{
	return port->peer && port->state == TOPO_ACTIVE &&
	       port->peer->ports[port->peer_port].state == TOPO_ACTIVE;
}

static bool gave_up(const struct inv_port *port)
{
	return port->given_up || port->peer->ports[port->peer_port].given_up;
}

void fabric_isolate_links(struct fabric *f)
{
	const struct inventory *inv = sweep_inventory(f->sweep);

	if (inv->nactive == inv->nbetween)
		return;
	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		for (unsigned p = 1; inv_is_switch(node) && p <= node->nports; p++)
			if (is_transit(node, p) && node->ports[p].link_up &&
			    !is_active(&node->ports[p]) && gave_up(&node->ports[p]))
				fabric_isolate(f, node->guid, (uint8_t)p, ISOLATED_NOT_ACTIVE);
	judge_now(f->isolation);
}

/* ---- Switches that take no Set ---------------------------------------------------------------------- */

void fabric_isolate_refusing(struct fabric *f)
{
	const struct inventory *inv = sweep_inventory(f->sweep);

	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		if (node->keeps_change && !node->no_sets && !node->gone)
			fabric_isolate_suspect(f, node->guid);
}

static void suspect_drop(struct suspect *suspect)
{
	struct suspect **link = &suspect->list->suspects;

	while (*link != suspect)
		link = &(*link)->next;
	*link = suspect->next;
	mad_cancel(suspect->list->f->mad, suspect->token);
	if (!suspect->list->suspects && suspect->list->count)
		loop_timer_set(suspect->list->judge, 0);
	free(suspect);
}

static void suspect_ask(struct suspect *suspect);

static void set_answered(void *arg, const struct mad_answer *answer)
{
	struct suspect *suspect = arg;

	suspect->token = 0;
	if (answer->result == MAD_TIMEOUT && ++suspect->lost < SETS_LOST) {
		suspect_ask(suspect);
		return;
	}
	if (answer->result == MAD_TIMEOUT || answer->result == MAD_STATUS)
		fabric_isolate(suspect->list->f, suspect->node, 0, ISOLATED_NO_SETS);
	suspect_drop(suspect);
}

/* 0 = no path leads there. */
static mad_token set_switch_info(struct isolation *is, const struct inv_node *node,
				 const struct wire_switch_info *info, bool once, mad_done_fn *fn,
				 void *arg)
{
	uint8_t data[64];
	struct mad_path path;
	const struct mad_request request = { .method = WIRE_SET,
					     .attr_id = WIRE_SWITCH_INFO,
					     .path = &path,
					     .device = node->guid,
					     .data = data,
					     .once = once,
					     .doubtful = true };

	if (!inventory_port_path(inventory_of(is), node, 0, &path))
		return 0;
	wire_switch_info_encode(info, data);
	return mad_send(is->f->mad, &request, fn, arg);
}

/*
 * It answers: where packets get lost, so may all tries of a Set, and of some. Others decide, of what the switch has just said that it
 * holds: what is recorded may be older, and PortStateChange is the sweep's to clear.
 */
static void suspect_answered(void *arg, const struct mad_answer *answer)
{
	struct suspect *suspect = arg;
	const struct inv_node *node = inventory_find(inventory_of(suspect->list), suspect->node);
	struct wire_switch_info info;

	suspect->token = 0;
	if (answer->result == MAD_OK && node) {
		wire_switch_info_decode(answer->data, &info);
		info.port_state_change = false;
		suspect->token =
			set_switch_info(suspect->list, node, &info, false, set_answered, suspect);
	}
	if (!suspect->token)
		suspect_drop(suspect);
}

/* Who does not answer that is left to the sweep. */
static void suspect_ask(struct suspect *suspect)
{
	struct isolation *is = suspect->list;
	const struct inv_node *node = inventory_find(inventory_of(is), suspect->node);
	struct mad_request request = { .method = WIRE_GET, .attr_id = WIRE_SWITCH_INFO };
	struct mad_path path;

	if (!node || !inventory_port_path(inventory_of(is), node, 0, &path)) {
		suspect_drop(suspect);
		return;
	}
	request.path = &path;
	request.device = suspect->node;
	suspect->token = mad_send(is->f->mad, &request, suspect_answered, suspect);
}

void fabric_isolate_suspect(void *arg, guid_t guid)
{
	struct fabric *f = arg;
	struct isolation *is = f->isolation;
	struct suspect *suspect;

	if (is_suspect(is, guid))
		return;
	suspect = mem_alloc(1, sizeof(*suspect));
	*suspect = (struct suspect){ .next = is->suspects, .list = is, .node = guid };
	is->suspects = suspect;
	suspect_ask(suspect);
}

/* ---- Marks --------------------------------------------------------------------------------------- */

/* It is gone, works, or began anew. */
static bool has_ended(const struct isolated *it)
{
	const struct inv_node *node = node_of(it);

	if (!node || (it->port && !node->ports[it->port].peer))
		return true;
	if (it->cause == ISOLATED_NO_SETS && (node->gone || node->rebooted))
		return true;
	return it->cause == ISOLATED_NOT_ACTIVE &&
	       (!node->ports[it->port].link_up || is_active(&node->ports[it->port]));
}

/* Of what may not be isolated: what was routed over stays so. */
static bool was_up(const struct fabric *f, const struct isolated *it)
{
	uint32_t port = f->topo ? topo_port_of(f->topo, it->node, it->port) : TOPO_NONE;

	return port != TOPO_NONE && f->topo->ports[port].link_up;
}

/* A link that is not Active counts as down by itself (links.c). */
static void mark(const struct isolated *it)
{
	bool not_active = it->cause == ISOLATED_NOT_ACTIVE;
	struct inv_node *node = node_of(it);

	for (unsigned p = it->port ? it->port : 1;
	     node && p <= (it->port ? it->port : node->nports); p++) {
		struct inv_port *port = &node->ports[p];

		bool isolated = it->in_force && !not_active && is_transit(node, p);
		bool kept = not_active && !it->in_force && was_up(it->list->f, it);

		mark_port(port, port->isolated || isolated, port->kept || kept);
	}
	no_sets(it, true);
}

void fabric_isolate_mark(struct fabric *f)
{
	struct isolation *is = f->isolation;

	fabric_untrue_met(f);
	for (unsigned i = is->count; i-- > 0;)
		if (has_ended(is->all[i]))
			drop(is->all[i]);
	for (unsigned i = 0; i < is->count; i++)
		unmark(is->all[i]);
	for (unsigned i = 0; i < is->count; i++)
		mark(is->all[i]);
}

/* ---- Probes -------------------------------------------------------------------------------------- */

/* Its PortStateChange was cleared by it: all its ports are read. */
static void probe_answered(void *arg, const struct mad_answer *answer)
{
	struct isolated *it = arg;
	struct fabric *f = it->list->f;
	struct inv_node *node = node_of(it);

	it->probe = 0;
	if (answer->result != MAD_OK || !node)
		return;
	node->unread = true;
	fabric_request_refresh(f, it->node, "takes Sets again");
	release(it, "takes Sets again");
}

static void probe(struct isolated *it)
{
	const struct inv_node *node = node_of(it);
	struct wire_switch_info info;

	if (it->cause != ISOLATED_NO_SETS || it->probe || !node || node->gone || node->silent)
		return;
	info = node->sw;
	info.port_state_change = true;
	it->probe = set_switch_info(it->list, node, &info, true, probe_answered, it);
}

static void probe_cb(void *arg)
{
	struct isolation *is = arg;

	loop_timer_set(is->probe, PROBE_US);
	for (unsigned i = 0; i < is->count && fabric_rules(is->f); i++)
		probe(is->all[i]);
}

/* ---- For operators; life ------------------------------------------------------------------------- */

json_t *fabric_isolated_json(const struct fabric *f)
{
	const struct isolation *is = f->isolation;
	json_t *rows = json_array();

	for (unsigned i = 0; i < is->count; i++) {
		const struct isolated *it = is->all[i];

		json_array_append_new(rows, json_pack("{ss ss sb sf}", "what", name_of(it).text,
						      "why", cause_words[it->cause], "in_force",
						      it->in_force, "since_s",
						      (loop_now_us(f->loop) - it->since_us) / 1e6));
	}
	return rows;
}

void fabric_isolation_init(struct fabric *f)
{
	struct isolation *is = mem_alloc(1, sizeof(*is));

	is->f = f;
	is->judge = loop_timer_new(f->loop, judge_cb, is);
	is->probe = loop_timer_new(f->loop, probe_cb, is);
	f->isolation = is;
}

void fabric_isolation_fini(struct fabric *f)
{
	struct isolation *is = f->isolation;

	for (unsigned i = 0; i < is->count; i++) {
		mad_cancel(f->mad, is->all[i]->probe);
		free(is->all[i]);
	}
	is->count = 0;
	alert(is);
	while (is->suspects)
		suspect_drop(is->suspects);
	mad_cancel(f->mad, is->asked_keys);
	loop_timer_free(is->judge);
	loop_timer_free(is->probe);
	free(is->all);
	free(is);
}
