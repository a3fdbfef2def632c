/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * quarantine: a line of state_dir/quarantine is `GUID PORT UNTIL SECONDS WHY`, UNTIL in seconds
 * since 1970, -1 for a hold. What is over is kept in it for as long as it is remembered.
 */
#include "fm/maintenance/maintenance.h"
#include <inttypes.h>
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "topology/files/dump.h"
#include "topology/base/mem.h"

#define LISTED_MAX  1024
#define SECOND_US   1000000ull
#define HELD	    -1	  /* in the place of UNTIL */
#define CLEAN_MAX_S 86400 /* that a hold grows to */

/* ---- Links ----------------------------------------------------------------------------------- */

void quarantines_take_lower_end(const struct quarantines *qs, guid_t *guid, uint8_t *num)
{
	struct inv_node *node;
	const struct inv_port *port = inventory_port(qs->services->inventory, *guid, *num, &node);
	const struct inv_node *peer = port ? port->peer : NULL;

	if (!peer || peer->guid > *guid || (peer->guid == *guid && port->peer_port > *num))
		return;
	*guid = peer->guid;
	*num = port->peer_port;
}

static struct inv_link_name name_of(const struct quarantines *qs, const struct quarantine *q)
{
	return inventory_link_name(qs->services->inventory, q->node, q->port);
}

static struct event_subject subject_of(const struct quarantines *qs, const struct quarantine *q)
{
	return inventory_link_subject(qs->services->inventory, q->node, q->port);
}

static bool is_between_switches(const struct quarantines *qs, const struct quarantine *q)
{
	struct inv_node *node;
	const struct inv_port *port =
		inventory_port(qs->services->inventory, q->node, q->port, &node);

	return port && port->peer && inv_is_switch(node) && inv_is_switch(port->peer);
}

/* ---- The list and its file ------------------------------------------------------------------- */

struct quarantine *quarantines_find(const struct quarantines *qs, guid_t guid, uint8_t num)
{
	for (unsigned i = 0; i < qs->known.count; i++)
		if (qs->known.list[i].node == guid && qs->known.list[i].port == num)
			return &qs->known.list[i];
	return NULL;
}

static void append(struct quarantine_list *list, const struct quarantine *q)
{
	list->list = mem_grow(list->list, list->count);
	list->list[list->count++] = *q;
}

static bool take_line(void *arg, const char *line)
{
	struct quarantines *qs = arg;
	struct quarantine q = { .until_us = UINT64_MAX };
	uint64_t now = loop_now_us(qs->services->loop);
	long long until, left;
	unsigned num;
	int used = 0;

	if (sscanf(line, "0x%" SCNx64 " %u %lld %u %n", &q.node, &num, &until, &q.seconds, &used) !=
		    4 ||
	    !used || !num || num > UINT8_MAX)
		return false;
	q.port = num;
	array_printf(q.why, "%.*s", (int)strcspn(line + used, "\n"), line + used);
	q.held = until == HELD;
	left = until - time(NULL);
	if (left > q.seconds) /* the clock was set */
		left = q.seconds;
	q.over = !q.held && left <= 0;
	if (!q.held)
		q.until_us = q.over ? now : now + left * SECOND_US;
	if (!quarantines_find(qs, q.node, q.port) && qs->known.count < LISTED_MAX)
		append(&qs->known, &q);
	return true;
}

/* By the wall-clock, for the file. */
static long long until_of(const struct quarantines *qs, const struct quarantine *q)
{
	int64_t now_us = loop_now_us(qs->services->loop);

	if (q->held && !q->over)
		return HELD;
	return (long long)time(NULL) + ((int64_t)q->until_us - now_us) / (int64_t)SECOND_US;
}

static void write_list(const void *arg, FILE *out)
{
	const struct quarantines *qs = arg;

	for (unsigned i = 0; i < qs->known.count; i++) {
		const struct quarantine *q = &qs->known.list[i];

		fprintf(out, "0x%016" PRIx64 " %u %lld %u %s\n", q->node, q->port, until_of(qs, q),
			q->seconds, q->why);
	}
}

/* The quarantines in force by name, for the alert that the file was lost. */
static void sum_up(const void *arg, FILE *out)
{
	const struct quarantines *qs = arg;
	const char *between = "";

	for (unsigned i = 0; i < qs->known.count; i++) {
		const struct quarantine *q = &qs->known.list[i];

		if (q->over)
			continue;
		fprintf(out, "%s%s", between, name_of(qs, q).text);
		between = ", ";
	}
}

static const struct state_kind list_kind = {
	.name = "quarantine",
	.summary = sum_up,
	.form = "`GUID PORT UNTIL SECONDS WHY`",
	.line = take_line,
	.write = write_list,
};

/* ---- Marks ----------------------------------------------------------------------------------- */

static bool carries(const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	return port->link_up && !inv_port_is(node, num, INV_CORDONED | INV_QUARANTINED) &&
	       !inv_port_is(port->peer, port->peer_port, INV_CORDONED | INV_QUARANTINED);
}

/* Whether a leaf (a switch with hosts) would have too few uplinks without that one. */
static bool leaf_needs(const struct quarantines *qs, const struct inv_node *node, unsigned uplink)
{
	unsigned uplinks = 0, left = 0;
	bool has_hosts = false;

	for (unsigned p = 1; p <= node->nports; p++) {
		const struct inv_node *peer = node->ports[p].peer;

		if (!peer)
			continue;
		if (!inv_is_switch(peer)) {
			has_hosts = true;
			continue;
		}
		uplinks++;
		left += p != uplink && carries(node, p);
	}
	return has_hosts && left * 100 < uplinks * qs->services->conf->quarantine.min_uplinks;
}

/* Whether that is the switch's last link that carries transit to the other's tier. */
static bool is_last_link(const struct topo *t, const struct inv_node *node, unsigned link)
{
	uint32_t far = topo_find(t, node->ports[link].peer->guid);

	for (unsigned p = 1; p <= node->nports && far != TOPO_NONE; p++) {
		const struct inv_port *port = &node->ports[p];
		uint32_t other = port->peer ? topo_find(t, port->peer->guid) : TOPO_NONE;

		if (p != link && other < t->nswitches && carries(node, p) &&
		    t->nodes[other].level == t->nodes[far].level)
			return false;
	}
	return true;
}

static bool is_needed(const struct quarantines *qs, const struct inv_node *node, unsigned num,
		      bool held)
{
	const struct inv_port *port = &node->ports[num];
	const struct topo *t = fabric_view(qs->fabric).topo;

	if (leaf_needs(qs, node, num) || leaf_needs(qs, port->peer, port->peer_port))
		return true;
	return held && t &&
	       (is_last_link(t, node, num) || is_last_link(t, port->peer, port->peer_port));
}

bool quarantines_need_link(const struct quarantines *qs, guid_t guid, uint8_t num)
{
	const struct quarantine q = { .node = guid, .port = num };
	struct inv_node *node;
	const struct inv_port *port = inventory_port(qs->services->inventory, guid, num, &node);

	return !port || !is_between_switches(qs, &q) || !fabric_view(qs->fabric).topo ||
	       is_needed(qs, node, num, true);
}

void quarantines_mark(struct quarantines *qs)
{
	struct inv_node *node;

	for (unsigned i = 0; i < qs->known.count; i++) {
		const struct quarantine *q = &qs->known.list[i];

		if (inventory_port(qs->services->inventory, q->node, q->port, &node))
			inv_port_mark(node, q->port, INV_QUARANTINED, false);
	}
	for (unsigned i = 0; i < qs->known.count; i++) {
		struct quarantine *q = &qs->known.list[i];

		if (q->over || q->waived || !is_between_switches(qs, q))
			continue;
		node = inventory_find(qs->services->inventory, q->node);
		if (is_needed(qs, node, q->port, q->held)) {
			const struct event_subject subject = subject_of(qs, q);

			q->waived = true;
			event_log_add(qs->services->events, LOG_WARNING, "quarantine-waived",
				      &subject, NULL,
				      "%s: carries traffic although quarantined: a leaf would have "
				      "less than %d%% "
				      "of its uplinks",
				      name_of(qs, q).text,
				      qs->services->conf->quarantine.min_uplinks);
		}
		inv_port_mark(node, q->port, INV_QUARANTINED, !q->waived);
	}
}

/* Removes an entry from the list and clears its mark at once. */
static void drop(struct quarantines *qs, struct quarantine *q)
{
	struct inv_node *node;

	if (inventory_port(qs->services->inventory, q->node, q->port, &node))
		inv_port_mark(node, q->port, INV_QUARANTINED, false);
	qs->known.count--;
	memmove(q, q + 1, (qs->known.list + qs->known.count - q) * sizeof(*q));
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

/* A quarantine lasts to until_us, and is remembered for as long again. */
static uint64_t next_due(const struct quarantine *q)
{
	if (q->held && !q->over)
		return UINT64_MAX;
	return q->over ? q->until_us + q->seconds * SECOND_US : q->until_us;
}

static void arm(struct quarantines *qs)
{
	uint64_t now = loop_now_us(qs->services->loop), due = UINT64_MAX;

	for (unsigned i = 0; i < qs->known.count; i++)
		if (next_due(&qs->known.list[i]) < due)
			due = next_due(&qs->known.list[i]);
	if (due == UINT64_MAX)
		loop_timer_stop(qs->due);
	else
		loop_timer_set(qs->due, due > now ? due - now : 0);
}

/* Marks the state file as changed and requests a reroute. */
static void changed(struct quarantines *qs)
{
	state_changed(qs->services->state, &list_kind, qs);
	fabric_request_reroute(qs->fabric, "quarantines changed");
	fabric_report_hosts_changed(qs->fabric);
	arm(qs);
}

static void end(struct quarantines *qs, struct quarantine *q)
{
	const struct event_subject subject = subject_of(qs, q);

	q->over = true;
	event_log_add(qs->services->events, LOG_NOTICE, "released", &subject, NULL,
		      q->held ? "%s: released, clean for %u s" : "%s: released after %u s",
		      name_of(qs, q).text, q->seconds);
}

static void due_cb(void *arg)
{
	struct quarantines *qs = arg;
	uint64_t now = loop_now_us(qs->services->loop);

	for (unsigned i = qs->known.count; i-- > 0;) {
		struct quarantine *q = &qs->known.list[i];

		if (next_due(q) > now)
			continue;
		if (q->over)
			drop(qs, q);
		else
			end(qs, q);
	}
	changed(qs);
}

static void begin(struct quarantines *qs, struct quarantine *last, struct quarantine *new,
		  const char *why)
{
	array_printf(new->why, "%s", why);
	if (last)
		*last = *new;
	else
		append(&qs->known, new);

	const struct event_subject subject = subject_of(qs, new);
	json_t *details = json_pack("{si ss}", "seconds", new->seconds, "why", new->why);

	if (new->held || is_between_switches(qs, new))
		event_log_add(qs->services->events, LOG_WARNING, "quarantined", &subject, details,
			      new->held ? "%s: quarantined until it is clean for %u s, isolated "
					  "from routing: %s"
					: "%s: quarantined for %u s, isolated from routing: %s",
			      name_of(qs, new).text, new->seconds, new->why);
	else
		event_log_add(qs->services->events, LOG_WARNING, "flapping", &subject, details,
			      "%s: %s; a host's link stays in use", name_of(qs, new).text,
			      new->why);

	changed(qs);
}

void quarantines_add(struct quarantines *qs, guid_t guid, uint8_t num, const char *why)
{
	struct quarantine *last, new = { .node = guid, .port = num };

	quarantines_take_lower_end(qs, &new.node, &new.port);
	last = quarantines_find(qs, new.node, new.port);
	if ((!last && qs->known.count == LISTED_MAX) || (last && last->held && !last->over))
		return;

	const struct conf_quarantine *conf = &qs->services->conf->quarantine;
	unsigned first = (unsigned)conf->time_ms / 1000;
	unsigned longest = (unsigned)conf->time_max_ms / 1000;
	unsigned length = last ? last->seconds * 2 : first;
	new.seconds = length < longest ? length : longest > first ? longest : first;

	new.until_us = loop_now_us(qs->services->loop) + new.seconds *SECOND_US;
	begin(qs, last, &new, why);
}

void quarantines_hold(struct quarantines *qs, guid_t guid, uint8_t num, const char *why)
{
	struct quarantine *last = quarantines_find(qs, guid, num);
	struct quarantine new = { .node = guid, .port = num, .held = true, .until_us = UINT64_MAX };

	if (!last && qs->known.count == LISTED_MAX)
		return;
	/* Twice as long as the last one, while that is remembered. */
	new.seconds = last && last->held ? last->seconds * 2
					 : (unsigned)qs->services->conf->ber.clean_ms / 1000;
	new.seconds = new.seconds < CLEAN_MAX_S ? new.seconds : CLEAN_MAX_S;
	begin(qs, last, &new, why);
}

void quarantines_end_hold(struct quarantines *qs, struct quarantine *q)
{
	q->until_us = loop_now_us(qs->services->loop);
	end(qs, q);
	changed(qs);
}

void quarantines_drop_hold(struct quarantines *qs, struct quarantine *q)
{
	drop(qs, q);
	state_changed(qs->services->state, &list_kind, qs);
}

unsigned quarantines_release(struct quarantines *qs, const struct target *target,
			     struct quarantine_list *released)
{
	struct inv_node *node;
	unsigned in_force = 0;

	for (unsigned i = qs->known.count; i-- > 0;) {
		struct quarantine q = qs->known.list[i];
		const struct inv_port *port =
			inventory_port(qs->services->inventory, q.node, q.port, &node);
		bool near = q.node == target->guid && (!target->port || q.port == target->port);
		bool far = port && port->peer && port->peer->guid == target->guid &&
			   (!target->port || port->peer_port == target->port);

		if (!near && !far)
			continue;
		in_force += !q.over;
		append(released, &q);
		drop(qs, &qs->known.list[i]);
	}
	if (released->count)
		changed(qs);
	return in_force;
}

void quarantines_restore(struct quarantines *qs, const struct quarantine_list *released)
{
	for (unsigned i = released->count; i-- > 0;)
		append(&qs->known, &released->list[i]);
	changed(qs);
}

/* ---- For operators --------------------------------------------------------------------------- */

const char *quarantines_why(const struct quarantines *qs, guid_t node, uint8_t port)
{
	const struct quarantine *q;

	if (!qs->known.count)
		return NULL;
	quarantines_take_lower_end(qs, &node, &port);
	q = quarantines_find(qs, node, port);
	return q && !q->over ? q->why : NULL;
}

void quarantines_rows(const struct quarantines *qs, const struct topo *t, json_t *rows)
{
	uint64_t now = loop_now_us(qs->services->loop);

	for (unsigned i = 0; i < qs->known.count; i++) {
		const struct quarantine *q = &qs->known.list[i];
		uint32_t port = topo_port_of(t, q->node, q->port);
		json_t *row;

		if (port == TOPO_NONE || q->over)
			continue;
		row = dump_json_unhealthy_link(t, port,
					       !is_between_switches(qs, q) ? "flapping"
					       : q->waived		   ? "waived"
									   : "quarantined",
					       json_string(q->why));
		json_object_update_new(
			row, json_pack("{si so sb}", "seconds", q->seconds, "left_s",
				       q->held ? json_null()
					       : json_integer(q->until_us > now ? (q->until_us -
										   now) / SECOND_US
										: 0),
				       "until_clean", q->held));
		json_array_append_new(rows, row);
	}
}

/* ---- Life ------------------------------------------------------------------------------------ */

void quarantines_init(struct quarantines *qs, struct fabric *fabric,
		      const struct fabric_services *services)
{
	*qs = (struct quarantines){ .fabric = fabric, .services = services };
	qs->due = loop_timer_new(services->loop, due_cb, qs);
}

void quarantines_load(struct quarantines *qs)
{
	state_read(qs->services->state, &list_kind, qs);
	arm(qs);
}
