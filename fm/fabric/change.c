/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * change: what differs between the published snapshot and the next one, as events, and by the
 * rooms' hooks.
 *
 * A switch that has lost all its links is one event, as is one that has some again: its links are
 * logged only where the fault is theirs. Of each kind a few are logged one by one and the rest as a
 * count. The gravest change names the fault that is being answered (deploy.c): switches before
 * links, losses before repairs.
 *
 * A link that was up before and is up now may have fallen between two sweeps: its ports are in Init
 * again. Rooms get each such flap by a hook. A link that came up and is not Active yet counts as
 * down (snapshot.c): it is logged when it is Active.
 */
#include <inttypes.h>
#include "fm/fabric/pipe.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"
#include "topology/snapshot/diff.h"
#include "topology/snapshot/topo_builder.h"

/* ---- Warn ------------------------------------------------------------------------------------ */

/*
 * What the present state of the fabric asks an operator for, as alerts: HCAs that are cut off;
 * rooms review theirs with it. Counted again behind each update and light sweep.
 */

/* ---- HCAs that are cut off ------------------------------------------------------------------- */

uint32_t fabric_own_node(const struct fabric *f)
{
	const struct inv_node *local = sweep_inventory(f->sweep)->local;

	return local && f->now.topo ? topo_find(f->now.topo, local->guid) : TOPO_NONE;
}

void fabric_cutoff(const struct fabric *f, struct cutoff *out)
{
	cutoff_find(f->now.topo, fabric_own_node(f), out);
}

/* ---- The others ------------------------------------------------------------------------------ */

void fabric_warn(struct fabric *f)
{
	if (f->now.topo) {
		struct cutoff c;
		char text[256];

		fabric_cutoff(f, &c);
		cutoff_describe(f->now.topo, &c, text, sizeof(text));
		alert_set(f->alerts, c.hcas, "hcas-cut-off", NULL, "%s", text);
	} else
		alert_end(f->alerts, "hcas-cut-off", NULL);

	MODULES_CALL(f->kept.modules, settled, FABRIC_REVIEWED);
}

/* ---- Change ---------------------------------------------------------------------------------- */

#define LOGGED_ONE_BY_ONE 20
#define NAMED		  3 /* switches in the name of a fault */

static const struct {
	const char *kind;
	enum log_level level;
	const char *one, *several; /* `fabric: 180 more ..` */
} change_words[] = {
	[DIFF_NODE_NEW] = { "node-new", LOG_NOTICE, "new node", "new nodes" },
	[DIFF_NODE_GONE] = { "node-gone", LOG_WARNING, "node gone", "nodes gone" },
	[DIFF_LINK_UP] = { "link-up", LOG_NOTICE, "link up", "links up" },
	[DIFF_LINK_DOWN] = { "link-down", LOG_WARNING, "link down", "links down" },
	[DIFF_LINK_NEW] = { "link-new", LOG_NOTICE, "new link", "new links" },
	[DIFF_LINK_GONE] = { "link-gone", LOG_WARNING, "link gone", "links gone" },
	[DIFF_LINK_SPEED] = { "link-speed", LOG_WARNING, "link at another speed or width",
			      "links at another speed or width" },
	[DIFF_DESC] = { "renamed", LOG_NOTICE, "node with another name", "nodes with other names" },
};
#define CHANGE_KINDS ARRAY_SIZE(change_words)

struct changes {
	struct fabric *f;
	const struct topo *older, *newer;
	/* switches of the newer snapshot: that lost all links; that have some again */
	uint32_t *down, *up;
	unsigned ndown, nup;
	unsigned logged[CHANGE_KINDS];
	unsigned bounces, reboots;
	uint64_t first;		     /* number of its first event, if it has any */
	unsigned losses, repairs;    /* of links and nodes, as far as no switch stands for them */
	char loss[256], repair[256]; /* the first of them */
};

/* All events of a fault name the first of them. Takes the reference; NULL = no details. */
static json_t *of_fault(const struct changes *s, json_t *details)
{
	json_t *all = details ? details : json_object();

	json_object_set_new(all, "fault", json_integer(s->first));
	return all;
}

/* ---- Switches that come and go --------------------------------------------------------------- */

/* The link is up, whether or not its ports are Active. */
static bool is_trained(const struct topo *t, const struct topo_port *port)
{
	const struct topo_port *peer = topo_peer(t, port);

	return peer && !t->nodes[peer->node].sharp && port->state >= TOPO_INIT &&
	       peer->state >= TOPO_INIT;
}

/* An aggregation node's link is inside of the switch and says nothing of whether that is there. */
static unsigned live_links(const struct topo *t, uint32_t node)
{
	unsigned live = 0;

	TOPO_LINKS (t, node, port, peer)
		live += port->link_up && !t->nodes[peer->node].sharp;
	return live;
}

/* HCAs cabled to the switch whose enum cutoff_fate is that, whenever their links fell. */
static unsigned hcas_at(const struct topo *t, const uint8_t *fates, uint32_t sw, uint8_t fate)
{
	unsigned hcas = 0;

	TOPO_LINKS (t, sw, port, peer)
		hcas += fates[peer->node] == fate;
	return hcas;
}

static void log_switches(struct changes *s, const uint32_t *list, unsigned count, bool down)
{
	uint8_t *fates = count ? cutoff_fates(s->newer, fabric_own_node(s->f)) : NULL;

	for (unsigned i = 0; i < count && i < LOGGED_ONE_BY_ONE; i++) {
		uint32_t sw = list[i];
		const struct topo_node *node = &s->newer->nodes[sw];
		const struct event_subject subject = event_subject_node(s->newer, sw);
		unsigned hosts =
			hcas_at(s->newer, fates, sw, down ? CUTOFF_CUT_OFF : CUTOFF_REACHED);
		unsigned links = down ? live_links(s->older, topo_find(s->older, node->guid))
				      : live_links(s->newer, sw);
		char means[64];

		if (hosts)
			array_printf(means, "%u %s %s connectivity", hosts,
				     words_plural(hosts, "HCA", "HCAs"),
				     down ? "lost" : "regained");
		else
			array_printf(means, "%u %s", links, words_plural(links, "link", "links"));
		event_log_add(
			s->f->events, down ? LOG_WARNING : LOG_NOTICE,
			down ? "switch-down" : "switch-up", &subject,
			of_fault(s, json_pack("{ss si si}", "role", topo_role_name(node->role),
					      "cables", links, "hcas", hosts)),
			"%s 0x%016" PRIx64 ": %s switch %s: %s", node->name, node->guid,
			topo_role_name(node->role), down ? "down" : "up", means);
	}
	free(fates);
	if (count > LOGGED_ONE_BY_ONE)
		event_log_add(s->f->events, down ? LOG_WARNING : LOG_NOTICE,
			      down ? "switch-down" : "switch-up", NULL, of_fault(s, NULL),
			      "fabric: %u more %s %s", count - LOGGED_ONE_BY_ONE,
			      words_plural(count - LOGGED_ONE_BY_ONE, "switch", "switches"),
			      down ? "down" : "up");
}

/* `spine spine-02 down`, or `3 switches down: spine-01, spine-02, ..` */
static void name_switches(const struct changes *s, const uint32_t *list, unsigned count,
			  const char *what, char *buf, size_t size)
{
	const struct topo_node *node = &s->newer->nodes[list[0]];

	if (count == 1) {
		snprintf(buf, size, "%s %s %s", topo_role_name(node->role), node->name, what);
		return;
	}

	int used = snprintf(buf, size, "%u switches %s:", count, what);

	for (unsigned i = 0; i < count && i < NAMED && used > 0 && (size_t)used < size; i++)
		used += snprintf(buf + used, size - used, "%s %s", i ? "," : "",
				 s->newer->nodes[list[i]].name);
	if (count > NAMED && used > 0 && (size_t)used < size)
		snprintf(buf + used, size - used, ", ..");
}

/* ---- Links and nodes ------------------------------------------------------------------------- */

/* The other end of a link that differs, as a node of the newer snapshot. */
static uint32_t other_end(const struct changes *s, const struct diff_item *item)
{
	bool gone = item->kind == DIFF_LINK_GONE;
	const struct topo *t = gone ? s->older : s->newer;
	uint32_t node = gone ? item->old_node : item->new_node;
	const struct topo_port *peer = topo_peer(t, topo_port(t, node, item->port));

	return gone ? topo_find(s->newer, t->nodes[peer->node].guid) : peer->node;
}

/*
 * The link to an aggregation node inside of a switch that is coming up: logged with that, when the
 * others are Active.
 */
static bool is_inside_one_to_come(const struct changes *s, const struct diff_item *item)
{
	if (item->kind != DIFF_LINK_UP)
		return false;

	const struct topo_port *port = topo_port(s->newer, item->new_node, item->port);
	const struct topo_port *peer = topo_peer(s->newer, port);

	return (s->newer->nodes[port->node].sharp || s->newer->nodes[peer->node].sharp) &&
	       !live_links(s->newer, port->node < s->newer->nswitches ? port->node : peer->node);
}

static bool is_logged_by_its_switch(const struct changes *s, const struct diff_item *item)
{
	bool down = item->kind == DIFF_LINK_DOWN || item->kind == DIFF_LINK_GONE;
	const uint32_t *list = down ? s->down : s->up;
	unsigned count = down ? s->ndown : s->nup;

	if (is_inside_one_to_come(s, item))
		return true;
	if (!count || !item->port || item->kind == DIFF_LINK_SPEED)
		return false;

	uint32_t other = other_end(s, item);

	return any_of(i, 0, count, list[i] == item->new_node || list[i] == other);
}

/*
 * What was at the far end of a new node's link before, of the same type, and is dark now: NULL =
 * nobody.
 */
static const struct topo_node *predecessor(const struct changes *s, uint32_t node)
{
	TOPO_LINKS (s->newer, node, port, far) {
		uint32_t was = topo_find(s->older, s->newer->nodes[far->node].guid);

		if (was == TOPO_NONE || far->num > s->older->nodes[was].nports)
			continue;

		const struct topo_port *older =
			topo_peer(s->older, topo_port(s->older, was, far->num));

		if (!older || s->older->nodes[older->node].type != s->newer->nodes[node].type)
			continue;

		uint32_t now = topo_find(s->newer, s->older->nodes[older->node].guid);

		if (now == TOPO_NONE || !live_links(s->newer, now))
			return &s->older->nodes[older->node];
	}
	return NULL;
}

static bool is_better(const struct changes *s, const struct diff_item *item)
{
	const struct topo_port *was = topo_port(s->older, item->old_node, item->port);
	const struct topo_port *is = topo_port(s->newer, item->new_node, item->port);

	return topo_lane_mbps(is->speed) * is->width > topo_lane_mbps(was->speed) * was->width;
}

static void log_item(struct changes *s, const struct diff_item *item)
{
	const struct topo_node *before =
		item->kind == DIFF_NODE_NEW ? predecessor(s, item->new_node) : NULL;
	const char *kind = before ? "node-replaced" : change_words[item->kind].kind;

	/* In the newer snapshot, if it is still there. */
	const bool gone = item->new_node == TOPO_NONE || item->kind == DIFF_LINK_GONE;
	const struct topo *t = gone ? s->older : s->newer;
	uint32_t node = gone ? item->old_node : item->new_node;
	const struct event_subject subject =
		item->port ? event_subject_port(t, t->nodes[node].port0 + item->port)
			   : event_subject_node(t, node);

	char text[256];
	int used = diff_describe(s->older, s->newer, item, text, sizeof(text));

	if (before && used > 0 && (size_t)used < sizeof(text))
		snprintf(text + used, sizeof(text) - used, ", in place of %s 0x%016" PRIx64,
			 before->name, before->guid);

	bool loss = item->kind == DIFF_LINK_DOWN || item->kind == DIFF_LINK_GONE ||
		    item->kind == DIFF_NODE_GONE ||
		    (item->kind == DIFF_LINK_SPEED && !is_better(s, item));

	if (item->kind != DIFF_DESC) {
		if (loss && !s->losses++)
			array_printf(s->loss, "%s", text);
		if (!loss && !s->repairs++)
			array_printf(s->repair, "%s", text);
	}

	if (++s->logged[item->kind] <= LOGGED_ONE_BY_ONE)
		event_log_add(s->f->events, change_words[item->kind].level, kind, &subject,
			      of_fault(s, NULL), "%s", text);
}

/*
 * It was Active and is in Init: it fell and came back between two sweeps. Nodes have their places
 * where none came or went.
 */
static bool has_bounced(const struct changes *s, uint32_t p)
{
	const struct topo_port *was = &s->older->ports[p], *now = &s->newer->ports[p];

	return s->older->nports == s->newer->nports && was->link_up && was->state == TOPO_ACTIVE &&
	       is_trained(s->newer, now) &&
	       (now->state == TOPO_INIT || s->newer->ports[now->peer].state == TOPO_INIT);
}

static void link_fell(const struct changes *s, guid_t node, uint8_t port)
{
	MODULES_CALL(
		s->f->kept.modules, swept,
		&(struct fabric_swept){ .step = FABRIC_LINK_FELL, .node = node, .port = port });
}

static void log_items(struct changes *s, const struct diff *d)
{
	for (uint32_t i = 0; i < d->count; i++) {
		const struct diff_item *item = &d->items[i];
		const struct topo_port *now =
			item->kind == DIFF_LINK_DOWN
				? topo_port(s->newer, item->new_node, item->port)
				: NULL;

		if (now && (has_bounced(s, (uint32_t)(now - s->newer->ports)) ||
			    has_bounced(s, now->peer))) {
			/* It came back at another speed. */
			const struct topo_port *was =
				topo_port(s->older, item->old_node, item->port);
			struct diff_item speed = *item;

			speed.kind = DIFF_LINK_SPEED;
			if (diff_is_other_speed(was, now))
				log_item(s, &speed);

			continue;
		}
		if (now)
			link_fell(s, s->older->nodes[item->old_node].guid, item->port);
		if (!is_logged_by_its_switch(s, item))
			log_item(s, item);
	}
	for (unsigned kind = 0; kind < CHANGE_KINDS; kind++) {
		unsigned rest = s->logged[kind] > LOGGED_ONE_BY_ONE
					? s->logged[kind] - LOGGED_ONE_BY_ONE
					: 0;

		if (rest)
			event_log_add(s->f->events, change_words[kind].level,
				      change_words[kind].kind, NULL, of_fault(s, NULL),
				      "fabric: %u more %s", rest,
				      words_plural(rest, change_words[kind].one,
						   change_words[kind].several));
	}
}

/* ---- What snapshots do not show -------------------------------------------------------------- */

/* The switch restarted, and its links with it. */
static const struct inv_node *rebooted(const struct changes *s, uint32_t node)
{
	const struct inv_node *inv =
		node < s->newer->nswitches
			? inventory_find(sweep_inventory(s->f->sweep), s->newer->nodes[node].guid)
			: NULL;

	return inv && inv->rebooted ? inv : NULL;
}

/* Links of a switch that restarted are logged by that. */
static void log_bounces(struct changes *s)
{
	const struct topo *newer = s->newer;

	TOPO_CABLES (newer, now, peer) {
		uint32_t p = now - newer->ports;

		if (!has_bounced(s, p))
			continue;
		link_fell(s, newer->nodes[now->node].guid, now->num);
		if (!rebooted(s, now->node) && !rebooted(s, peer->node)) {
			const struct event_subject subject = event_subject_port(newer, p);
			char text[256];

			array_printf(text, "%s p%u - %s p%u: went down and came back",
				     newer->nodes[now->node].name, now->num,
				     newer->nodes[peer->node].name, peer->num);
			if (!now->link_up && now->speed == s->older->ports[p].speed &&
			    now->width == s->older->ports[p].width &&
			    !s->losses++) /* others lead around it meanwhile */
				array_printf(s->loss, "%s", text);
			if (s->bounces++ < LOGGED_ONE_BY_ONE)
				event_log_add(s->f->events, LOG_WARNING, "link-bounced", &subject,
					      of_fault(s, NULL), "%s", text);
		}
	}
	if (s->bounces > LOGGED_ONE_BY_ONE)
		event_log_add(s->f->events, LOG_WARNING, "link-bounced", NULL, of_fault(s, NULL),
			      "fabric: %u more links went down and came back",
			      s->bounces - LOGGED_ONE_BY_ONE);
}

/*
 * Called before program_apply(), which resets the mark. A switch that had no link is not lost by
 * that: it comes back, and its first links are its event.
 */
static void log_reboots(struct changes *s)
{
	for (uint32_t sw = 0; sw < s->newer->nswitches; sw++) {
		const struct inv_node *node = rebooted(s, sw);
		const struct event_subject subject = event_subject_node(s->newer, sw);
		uint32_t was = node ? topo_find(s->older, node->guid) : TOPO_NONE;

		s->reboots += node != NULL;
		if (!node || was == TOPO_NONE || !live_links(s->older, was))
			continue;
		event_log_add(s->f->events, LOG_WARNING, "switch-rebooted", &subject,
			      of_fault(s, NULL),
			      "%s 0x%016" PRIx64 ": rebooted, its forwarding tables are empty",
			      node->name, node->guid);
		if (!s->losses++)
			array_printf(s->loss, "switch %s rebooted", node->name);
	}
}

void fabric_log_silent(struct fabric *f)
{
	const struct inventory *inv = sweep_inventory(f->sweep);

	if (!f->figures->silent && !f->figures->silent_logged)
		return; /* as after most faults */
	f->figures->silent_logged = 0;
	INVENTORY_EACH (inv, node) {
		bool silent = node->silent && !node->gone;

		f->figures->silent_logged += silent;
		if (inv_node_is(node, INV_LOGGED_SILENT) == silent)
			continue;
		inv_node_mark(node, INV_LOGGED_SILENT, silent);

		struct event_subject subject = inventory_subject(node, -1);

		if (silent)
			event_log_add(f->events, LOG_WARNING, "silent", &subject, NULL,
				      "%s 0x%016" PRIx64
				      ": unresponsive to SMPs (link up); forwarding unchanged",
				      node->name, node->guid);
		else if (!node->gone)
			event_log_add(f->events, LOG_NOTICE, "answers", &subject, NULL,
				      "%s 0x%016" PRIx64 ": answers again", node->name, node->guid);
	}
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void name_more(char *buf, size_t size, const char *first, unsigned count)
{
	if (count > 1)
		snprintf(buf, size, "%s, and %u more", first, count - 1);
	else
		snprintf(buf, size, "%s", first);
}

static void name_fault(const struct changes *s)
{
	uint64_t event = event_log_next(s->f->events) > s->first ? s->first : 0;
	char what[300];

	if (s->ndown)
		name_switches(s, s->down, s->ndown, "down", what, sizeof(what));
	else if (s->losses)
		name_more(what, sizeof(what), s->loss, s->losses);
	if (s->ndown || s->losses) {
		fabric_fault_name(s->f, true, what, event);
		return;
	}
	if (s->nup)
		name_switches(s, s->up, s->nup, "up again", what, sizeof(what));
	else if (s->repairs)
		name_more(what, sizeof(what), s->repair, s->repairs);
	if (s->nup || s->repairs)
		fabric_fault_name(s->f, false, what, event);
}

/* Some link has come up, and is published when it is Active. */
static bool trains(struct changes *s)
{
	for (uint32_t p = 0; p < s->newer->nports && s->older->nports == s->newer->nports; p++) {
		const struct topo_port *was = &s->older->ports[p], *now = &s->newer->ports[p];

		if (now->state > was->state && was->state <= TOPO_DOWN && now->peer != TOPO_NONE &&
		    !now->link_up)
			return true;
	}
	return false;
}

bool fabric_same_marks(const struct topo *older, const struct topo *newer)
{
	if (older->nports != newer->nports)
		return false;
	return !any_of(p, 0, newer->nports,
		       older->ports[p].cordoned != newer->ports[p].cordoned ||
			       older->ports[p].quarantined != newer->ports[p].quarantined);
}

static enum fabric_change what_changed(const struct changes *s, bool differs)
{
	const struct topo *older = s->older, *newer = s->newer;

	if (differs || !topo_is_again(older, newer))
		return FABRIC_CHANGED;
	if (!memcmp(older->ports, newer->ports, newer->nports * sizeof(*newer->ports)))
		return FABRIC_SAME;
	return fabric_same_marks(older, newer) ? FABRIC_STATES : FABRIC_CHANGED;
}

enum fabric_change fabric_log_changes(struct fabric *f, const struct topo *older,
				      const struct topo *newer)
{
	struct changes s = {
		.f = f, .older = older, .newer = newer, .first = event_log_next(f->events)
	};
	struct diff *d = diff_new(older, newer);

	log_bounces(&s);
	if (d->count) {
		s.down = mem_array(s.down, s.newer->nswitches);
		s.up = mem_array(s.up, s.newer->nswitches);
		for (uint32_t sw = 0; sw < s.newer->nswitches; sw++) {
			uint32_t was = topo_is_again(s.older, s.newer)
					       ? sw
					       : topo_find(s.older, s.newer->nodes[sw].guid);
			unsigned before = was == TOPO_NONE ? 0 : live_links(s.older, was);
			unsigned now = live_links(s.newer, sw);

			if (before && !now &&
			    !any_of(num, 1, s.newer->nodes[sw].nports + 1,
				    is_trained(s.newer, topo_port(s.newer, sw, num))))
				s.down[s.ndown++] = sw;
			else if (was != TOPO_NONE && !before && now)
				s.up[s.nup++] = sw;
		}
	}
	log_switches(&s, s.down, s.ndown, true);
	log_reboots(&s);
	log_items(&s, d);
	log_switches(&s, s.up, s.nup, false);
	fabric_log_silent(f);
	name_fault(&s);

	bool differs = d->count || s.bounces || s.losses || s.reboots;
	bool training = trains(&s);

	if (training)
		fabric_fault_training(f);
	traps_compared(f->traps, differs || training);

	enum fabric_change change = what_changed(&s, differs);

	diff_free(d);
	free(s.down);
	free(s.up);
	return change;
}
