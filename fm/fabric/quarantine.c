/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_quarantine: cables that are up and can't be trusted.
 *
 * One that falls more than `flap_count` times within `flap_window`, or that somebody else here finds sick, carries
 * no transit for a time, as if it were cordoned: routing takes it only where nothing else leads. The time
 * doubles with each quarantine of the same cable, until it has held for as long as the last one lasted. The end
 * of it is an event, as its beginning; `fmctl release` ends it at once and forgets.
 *
 * A leaf keeps `quarantine_min_uplinks` percent of its uplinks. What takes it below, at first or later when other
 * cables die, is waived, the newest first, and stays so, lest it go to and fro. A host's cable carries no
 * transit: it is told, shown and otherwise left alone.
 *
 * A cable goes by its end with the lower GUID. state_dir/quarantine has a line each: `GUID PORT UNTIL SECONDS WHY`,
 * UNTIL in seconds since 1970.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "fm/fabric/own.h"
#include "topology/dump.h"
#include "topology/mem.h"

#define LISTED_MAX 1024
#define FALLS_MAX  32 /* more than flap_count may be */
#define ERROR_SIZE 512
#define SECOND_US  1000000ull

struct falls {		    /* of a cable */
	cl_map_item_t item; /* key: see falls_key() */
	guid_t node;
	uint8_t port;
	unsigned count;
	uint64_t at_us[FALLS_MAX]; /* the latest, as a ring */
};

struct quarantines {
	struct fabric *f;
	struct quarantine *list; /* oldest first */
	unsigned count;
	struct loop_timer *due;
	cl_qmap_t falls;
	size_t tidy_at; /* this many falls are worth a look at which are old */
};

static struct inventory *inventory_of(const struct fabric *f)
{
	return sweep_inventory(f->sweep);
}

/* ---- Cables -------------------------------------------------------------------------------------- */

static struct inv_port *port_of(const struct fabric *f, guid_t guid, unsigned num,
				struct inv_node **node)
{
	*node = inventory_find(inventory_of(f), guid);
	return *node && num && num <= (*node)->nports ? &(*node)->ports[num] : NULL;
}

static void take_lower_end(const struct fabric *f, guid_t *guid, uint8_t *num)
{
	struct inv_node *node;
	const struct inv_port *port = port_of(f, *guid, *num, &node);
	const struct inv_node *peer = port ? port->peer : NULL;

	if (!peer || peer->guid > *guid || (peer->guid == *guid && port->peer_port > *num))
		return;
	*guid = peer->guid;
	*num = port->peer_port;
}

static struct inv_link_name name_of(const struct fabric *f, const struct quarantine *q)
{
	return inventory_link_name(sweep_inventory(f->sweep), q->node, q->port);
}

static bool is_between_switches(const struct fabric *f, const struct quarantine *q)
{
	struct inv_node *node;
	const struct inv_port *port = port_of(f, q->node, q->port, &node);

	return port && port->peer && inv_is_switch(node) && inv_is_switch(port->peer);
}

/* ---- The list and its file ----------------------------------------------------------------------- */

static struct quarantine *find(const struct fabric *f, guid_t guid, uint8_t num)
{
	struct quarantines *qs = f->quarantines;

	for (unsigned i = 0; i < qs->count; i++)
		if (qs->list[i].node == guid && qs->list[i].port == num)
			return &qs->list[i];
	return NULL;
}

static struct quarantine *append(struct quarantines *qs, const struct quarantine *q)
{
	qs->list = mem_resize(qs->list, qs->count + 1, sizeof(*q));
	qs->list[qs->count] = *q;
	return &qs->list[qs->count++];
}

/* 1 = an entry, 0 = an empty line or a comment, -1 = neither. */
static int parse_line(const struct fabric *f, const char *line, struct quarantine *q)
{
	uint64_t now = loop_now_us(f->loop);
	long long until, left;
	unsigned num;
	int used = 0;

	*q = (struct quarantine){ 0 };
	if (line[strspn(line, " \t\n")] == '\0' || line[0] == '#')
		return 0;
	if (sscanf(line, "0x%" SCNx64 " %u %lld %u %n", &q->node, &num, &until, &q->seconds,
		   &used) != 4 ||
	    !used || !num || num > UINT8_MAX)
		return -1;
	q->port = (uint8_t)num;
	snprintf(q->why, sizeof(q->why), "%.*s", (int)strcspn(line + used, "\n"), line + used);
	left = until - (long long)time(NULL);
	if (left > (long long)q->seconds) /* the clock was set */
		left = q->seconds;
	q->over = left <= 0;
	q->until_us = q->over ? now : now + left * SECOND_US;
	return 1;
}

static unsigned read_list(void *arg, FILE *in)
{
	struct fabric *f = arg;
	char line[256];

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++) {
		struct quarantine q;
		int kind = parse_line(f, line, &q);

		if (kind < 0)
			return number;
		if (kind > 0 && !find(f, q.node, q.port) && f->quarantines->count < LISTED_MAX)
			append(f->quarantines, &q);
	}
	return 0;
}

static void forget_list(void *arg)
{
	struct fabric *f = arg;

	f->quarantines->count = 0;
}

static void write_list(const void *arg, FILE *out)
{
	const struct fabric *f = arg;
	const struct quarantines *qs = f->quarantines;
	int64_t now_us = (int64_t)loop_now_us(f->loop);

	for (unsigned i = 0; i < qs->count; i++) {
		const struct quarantine *q = &qs->list[i];
		int64_t left_s = ((int64_t)q->until_us - now_us) / (int64_t)SECOND_US;

		fprintf(out, "0x%016" PRIx64 " %u %lld %u %s\n", q->node, q->port,
			(long long)(time(NULL) + left_s), q->seconds, q->why);
	}
}

/* Those in force by name, for whom the file was lost. */
static void sum_up(const void *arg, FILE *out)
{
	const struct fabric *f = arg;
	const char *between = "";

	for (unsigned i = 0; i < f->quarantines->count; i++) {
		const struct quarantine *q = &f->quarantines->list[i];

		if (q->over)
			continue;
		fprintf(out, "%s%s", between, name_of(f, q).text);
		between = ", ";
	}
}

static const struct state_file list_file = {
	.name = "quarantine",
	.summary = sum_up,
	.form = "`GUID PORT UNTIL SECONDS WHY`",
	.read = read_list,
	.forget = forget_list,
	.write = write_list,
};

/* ---- Marks --------------------------------------------------------------------------------------- */

/* Would this leaf be left with too little if that cable carried none? A leaf is who has hosts. */
static bool leaf_needs(const struct fabric *f, const struct inv_node *node,
		       const struct inv_port *cable)
{
	unsigned uplinks = 0, left = 0;
	bool has_hosts = false;

	for (unsigned p = 1; p <= node->nports; p++) {
		const struct inv_port *port = &node->ports[p];
		const struct inv_port *far =
			port->peer ? &port->peer->ports[port->peer_port] : NULL;

		if (!far)
			continue;
		if (!inv_is_switch(port->peer)) {
			has_hosts = true;
			continue;
		}
		uplinks++;
		left += port != cable && port->link_up && !port->cordoned && !far->cordoned &&
			!port->quarantined && !far->quarantined;
	}
	return has_hosts && left * 100 < uplinks * (unsigned)f->conf.quarantine_min_uplinks;
}

static bool is_needed(const struct fabric *f, const struct inv_node *node,
		      const struct inv_port *port)
{
	return leaf_needs(f, node, port) ||
	       leaf_needs(f, port->peer, &port->peer->ports[port->peer_port]);
}

static void waive(struct fabric *f, struct quarantine *q)
{
	q->waived = true;
	event_log_add(f->events, LOG_WARNING, "quarantine-waived", NULL,
		      "%s: carries traffic in spite of its quarantine: a leaf would have less than "
		      "%d%% of its uplinks",
		      name_of(f, q).text, f->conf.quarantine_min_uplinks);
}

void fabric_quarantine_mark(struct fabric *f)
{
	struct quarantines *qs = f->quarantines;
	struct inv_node *node;

	for (unsigned i = 0; i < qs->count; i++) {
		struct inv_port *port = port_of(f, qs->list[i].node, qs->list[i].port, &node);

		if (port)
			port->quarantined = false;
	}
	for (unsigned i = 0; i < qs->count; i++) {
		struct quarantine *q = &qs->list[i];
		struct inv_port *port = port_of(f, q->node, q->port, &node);

		if (q->over || q->waived || !is_between_switches(f, q))
			continue;
		if (is_needed(f, node, port))
			waive(f, q);
		port->quarantined = !q->waived;
	}
}

/* What was decided is put to work by an update. */
static void changed(struct fabric *f)
{
	fabric_state_changed(f, &list_file);
	fabric_request_reroute(f, "quarantines changed");
}

/* An entry leaves the list; its mark goes at once. */
static void drop(struct fabric *f, struct quarantine *q)
{
	struct quarantines *qs = f->quarantines;
	struct inv_node *node;
	struct inv_port *port = port_of(f, q->node, q->port, &node);

	if (port)
		port->quarantined = false;
	qs->count--;
	memmove(q, q + 1, (size_t)(qs->list + qs->count - q) * sizeof(*q));
}

/* ---- Beginning and end --------------------------------------------------------------------------- */

/* A quarantine lasts to until_us, and is remembered for as long again. */
static uint64_t next_due(const struct quarantine *q)
{
	return q->over ? q->until_us + q->seconds * SECOND_US : q->until_us;
}

static void arm(struct quarantines *qs)
{
	uint64_t now = loop_now_us(qs->f->loop), due = UINT64_MAX;

	for (unsigned i = 0; i < qs->count; i++)
		if (next_due(&qs->list[i]) < due)
			due = next_due(&qs->list[i]);
	if (due == UINT64_MAX)
		loop_timer_stop(qs->due);
	else
		loop_timer_set(qs->due, due > now ? due - now : 0);
}

static void end_one(struct fabric *f, struct quarantine *q)
{
	q->over = true;
	event_log_add(f->events, LOG_NOTICE, "released", NULL, "%s: released after %u s",
		      name_of(f, q).text, q->seconds);
}

static void due_cb(void *arg)
{
	struct quarantines *qs = arg;
	uint64_t now = loop_now_us(qs->f->loop);

	for (unsigned i = qs->count; i-- > 0;) {
		struct quarantine *q = &qs->list[i];

		if (next_due(q) > now)
			continue;
		if (q->over)
			drop(qs->f, q);
		else
			end_one(qs->f, q);
	}
	changed(qs->f);
	arm(qs);
}

/* Twice as long as the last one, while that is remembered. */
static unsigned next_length(const struct fabric *f, const struct quarantine *last)
{
	unsigned first = (unsigned)f->conf.quarantine_time_ms / 1000;
	unsigned longest = (unsigned)f->conf.quarantine_time_max_ms / 1000;
	unsigned length = last ? last->seconds * 2 : first;

	return length < longest ? length : longest > first ? longest : first;
}

static void tell_begin(struct fabric *f, const struct quarantine *q)
{
	json_t *details = json_pack("{si ss}", "seconds", (int)q->seconds, "why", q->why);

	if (is_between_switches(f, q))
		event_log_add(f->events, LOG_WARNING, "quarantined", details,
			      "%s: quarantined for %u s, isolated from routing: %s",
			      name_of(f, q).text, q->seconds, q->why);
	else
		event_log_add(f->events, LOG_WARNING, "flapping", details,
			      "%s: %s; a host's cable stays in use", name_of(f, q).text, q->why);
}

void fabric_quarantine_add(struct fabric *f, guid_t guid, uint8_t num, const char *why,
			   unsigned seconds)
{
	struct quarantines *qs = f->quarantines;
	struct quarantine *last, new = { .node = guid, .port = num };

	take_lower_end(f, &new.node, &new.port);
	last = find(f, new.node, new.port);
	if (!last && qs->count == LISTED_MAX)
		return;
	new.seconds = seconds ? seconds : next_length(f, last);
	new.until_us = loop_now_us(f->loop) + new.seconds *SECOND_US;
	snprintf(new.why, sizeof(new.why), "%s", why);
	if (last)
		*last = new;
	else
		append(qs, &new);
	tell_begin(f, &new);
	changed(f);
	arm(qs);
}

bool fabric_quarantine_release(struct fabric *f, guid_t guid, uint8_t num)
{
	struct quarantine *q;

	take_lower_end(f, &guid, &num);
	q = find(f, guid, num);
	if (!q)
		return false;
	drop(f, q);
	changed(f);
	arm(f->quarantines);
	return true;
}

/* ---- Falls --------------------------------------------------------------------------------------- */

/* Ports in the byte that is the vendor's first: two cables with one key are as good as impossible, and do no harm. */
static uint64_t falls_key(guid_t guid, uint8_t num)
{
	return guid ^ (uint64_t)num << 56;
}

static struct falls *falls_find(struct quarantines *qs, guid_t guid, uint8_t num)
{
	uint64_t key = falls_key(guid, num);
	cl_map_item_t *item = cl_qmap_get(&qs->falls, key);
	struct falls *falls;

	if (item != cl_qmap_end(&qs->falls))
		return (struct falls *)item; /* the item is its first member */
	falls = mem_alloc(1, sizeof(*falls));
	falls->node = guid;
	falls->port = num;
	cl_qmap_insert(&qs->falls, key, &falls->item);
	return falls;
}

static uint64_t window_us(const struct fabric *f)
{
	return (uint64_t)f->conf.flap_window_ms * 1000;
}

static void falls_tidy(struct quarantines *qs, uint64_t now)
{
	cl_map_item_t *item, *next;

	if (cl_qmap_count(&qs->falls) < qs->tidy_at)
		return;
	for (item = cl_qmap_head(&qs->falls); item != cl_qmap_end(&qs->falls); item = next) {
		struct falls *falls = (struct falls *)item;

		next = cl_qmap_next(item);
		if (now - falls->at_us[(falls->count + FALLS_MAX - 1) % FALLS_MAX] <=
		    window_us(qs->f))
			continue;
		cl_qmap_remove_item(&qs->falls, item);
		free(falls);
	}
	qs->tidy_at = 2 * cl_qmap_count(&qs->falls) + 1024;
}

void fabric_quarantine_fell(struct fabric *f, guid_t guid, uint8_t num)
{
	struct quarantines *qs = f->quarantines;
	unsigned allowed = (unsigned)f->conf.flap_count;
	uint64_t now = loop_now_us(f->loop);
	struct falls *falls;
	char why[QUARANTINE_WHY];

	if (!allowed)
		return;
	take_lower_end(f, &guid, &num);
	falls_tidy(qs, now);
	falls = falls_find(qs, guid, num);
	falls->at_us[falls->count++ % FALLS_MAX] = now;
	if (falls->count <= allowed ||
	    now - falls->at_us[(falls->count - 1 - allowed) % FALLS_MAX] > window_us(f))
		return;
	falls->count = 0;
	snprintf(why, sizeof(why), "fell %u times within %g s", allowed + 1,
		 f->conf.flap_window_ms / 1e3);
	fabric_quarantine_add(f, guid, num, why, 0);
}

/* ---- For operators ------------------------------------------------------------------------------- */

static json_t *quarantine_row(const struct fabric *f, const struct quarantine *q, uint32_t port)
{
	bool transit = is_between_switches(f, q);
	uint64_t now = loop_now_us(f->loop);
	json_t *row = dump_json_sick_link(f->topo, port,
					  !transit    ? "flapping"
					  : q->waived ? "waived"
						      : "quarantined",
					  json_string(q->why));

	json_object_set_new(row, "seconds", json_integer(q->seconds));
	json_object_set_new(row, "left_s",
			    json_integer(q->until_us > now ? (q->until_us - now) / SECOND_US : 0));
	return row;
}

json_t *fabric_sick(const struct fabric *f)
{
	const struct quarantines *qs = f->quarantines;
	json_t *rows = json_array();

	for (unsigned i = 0; i < qs->count && f->topo; i++) {
		uint32_t port = topo_port_of(f->topo, qs->list[i].node, qs->list[i].port);

		if (port != TOPO_NONE && !qs->list[i].over)
			json_array_append_new(rows, quarantine_row(f, &qs->list[i], port));
	}
	if (f->topo)
		modules_unhealthy(f->modules, rows);
	return rows;
}

/* All that stand about what was named are taken off the list, into the act. */
static void gather(struct fabric *f, const struct target *target, struct cordon_act *act)
{
	struct quarantines *qs = f->quarantines;
	struct inv_node *node;

	for (unsigned i = qs->count; i-- > 0;) {
		struct quarantine q = qs->list[i];
		const struct inv_port *port = port_of(f, q.node, q.port, &node);
		bool near = q.node == target->guid && (!target->port || q.port == target->port);
		bool far = port && port->peer && port->peer->guid == target->guid &&
			   (!target->port || port->peer_port == target->port);

		if (!near && !far)
			continue;
		act->ports += !q.over;
		act->released = mem_resize(act->released, act->nreleased + 1, sizeof(q));
		act->released[act->nreleased++] = q;
		drop(f, &qs->list[i]);
	}
}

void fabric_release(struct fabric *f, const char *what, fabric_done_fn *fn, void *arg)
{
	struct cordon_act *act;
	char err[ERROR_SIZE] = "";
	struct target target;

	if (!fabric_find_target(f, what, &target, err)) {
		fn(arg, NULL, err);
		return;
	}
	act = fabric_cordon_act(f, &target);
	act->release = true;
	gather(f, &target, act);
	if (!act->nreleased) {
		fabric_cordon_unchanged(act, "not quarantined", fn, arg);
		return;
	}
	changed(f);
	arm(f->quarantines);
	fabric_cordon_start(act, fn, arg);
}

void fabric_quarantine_undo(struct fabric *f, const struct cordon_act *act)
{
	for (unsigned i = act->nreleased; i-- > 0;)
		append(f->quarantines, &act->released[i]);
	changed(f);
	arm(f->quarantines);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

void fabric_quarantine_init(struct fabric *f)
{
	struct quarantines *qs = mem_alloc(1, sizeof(*qs));

	qs->f = f;
	qs->due = loop_timer_new(f->loop, due_cb, qs);
	cl_qmap_init(&qs->falls);
	f->quarantines = qs;
}

void fabric_quarantine_load(struct fabric *f)
{
	fabric_state_read(f, &list_file);
	arm(f->quarantines);
}

void fabric_quarantine_fini(struct fabric *f)
{
	struct quarantines *qs = f->quarantines;
	cl_map_item_t *item;

	while ((item = cl_qmap_head(&qs->falls)) != cl_qmap_end(&qs->falls)) {
		cl_qmap_remove_item(&qs->falls, item);
		free(item);
	}
	loop_timer_free(qs->due);
	free(qs->list);
	free(qs);
}
