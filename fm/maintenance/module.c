/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <inttypes.h>
#include "fm/conf/lists.h"
#include "fm/fabric/host_verdict.h"
#include "fm/maintenance/maintenance.h"
#include "fm/maintenance/module.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"

#define TIMES_MAX (FLAP_COUNT_MAX + 1)

/* Of a link, in the column of ports at that of its lower end: when it went down, as a ring. */
struct downs {
	unsigned count;
	uint64_t at_us[TIMES_MAX];
};

static void free_downs(void *cell)
{
	free(*(struct downs **)cell);
}

/* only: a port; 0 = all. Returns how many links were down. */
static unsigned forget_links(struct inventory *inv, struct inv_node *node, unsigned only)
{
	unsigned count = 0;

	for (unsigned p = only ? only : 1; p <= (only ? only : node->nports); p++)
		if (p <= node->nports && node->ports[p].peer && !node->ports[p].link_up) {
			inventory_unlink(inv, node, p);
			count++;
		}
	return count;
}

/* What was named: false, with the reason in err, if nothing is so. */
/* subject: a device or port, or the host by that name. */
static bool forget_what(struct fabric *fabric, struct inventory *inv, const char *what, char *name,
			struct event_subject *subject, unsigned *links, char *err)
{
	const struct fabric_view view = fabric_view(fabric);
	struct maintenance *m = fabric_room(fabric, &maintenance_module);
	struct target *targets;
	unsigned count = target_find_all(&view, what, &targets, err);

	for (unsigned i = 0; i < count; i++) {
		struct inv_node *node = inventory_find(inv, targets[i].guid);

		/* Of a port, a cable that is held there goes before the one that is missed. */
		unsigned held = admission_forget(&m->admission, targets[i].guid, targets[i].port);

		if (node && !(held && targets[i].port))
			held += forget_links(inv, node, targets[i].port);
		*links += held;
		strcpy(name, targets[i].name);
		*subject =
			(struct event_subject){ .node = targets[i].guid, .port = targets[i].port };
	}
	if (count > 1)
		*subject = (struct event_subject){ .host = name };
	free(targets);
	return count;
}

static bool is_nowhere(const struct inventory *inv, const struct inv_node *node)
{
	if (!node->gone || node == inv->local)
		return false;
	return !any_of(p, 1, node->nports + 1, node->ports[p].peer);
}

static unsigned forget_nodes(struct fabric *fabric, struct inventory *inv)
{
	struct maintenance *m = fabric_room(fabric, &maintenance_module);
	struct inv_node *node, *next;
	unsigned count = 0;

	for (node = inventory_first(inv); node; node = next) {
		next = inventory_next(inv, node);
		if (!is_nowhere(inv, node))
			continue;
		if (inv_is_switch(node))
			admission_expect(&m->admission, node->guid, HELD_ADMITTED);
		fabric_request_lids_free(fabric, node->guid);
		for (unsigned p = 1; node->port_guids && p <= node->nports; p++)
			fabric_request_lids_free(fabric, node->port_guids[p]);
		inventory_remove(inv, node);
		count++;
	}
	return count;
}

/*
 * Removes links that are down from the design, for only an operator can know that a link will not
 * return: those of `what`, a host, a node or a port; NULL = all links that are down, and the LIDs
 * of ports that left the fabric earlier. A node without any link left is removed too, and its LIDs
 * are free. A link or node that returns later is new. It is answered when the tables that use the
 * freed slots are programmed: fn is called once, with the answer or an error.
 */
void maintenance_forget(struct fabric *fabric, const char *what, waiter_fn *fn, void *arg)
{
	static const struct fabric_operation_ops ops = { .keeps = true, .late = true };
	const struct fabric_services services = fabric_services(fabric);
	const struct topo *t = fabric_view(fabric).topo;
	struct inventory *inv = services.inventory;
	char err[TARGET_ERROR_SIZE], name[sizeof(((struct target *)NULL)->name)] = "fabric";
	struct event_subject subject = { 0 };
	unsigned links = 0, lids = 0, nodes;

	if (!t) {
		fn(arg, NULL, "no topology yet");
		return;
	}
	if (what && !forget_what(fabric, inv, what, name, &subject, &links, err)) {
		fn(arg, NULL, err);
		return;
	}
	if (!what) {
		INVENTORY_EACH (inv, node)
			links += forget_links(inv, node, 0);

		/* LIDs of ports that are no part of the fabric, and were not before. */
		const struct lid_memory *lid_memory = services.lids;
		unsigned before = lid_memory->count;

		for (uint32_t i = lid_memory->count; i-- > 0;)
			if (topo_find_port(t, lid_memory->entries[i].port_guid) == TOPO_NONE)
				fabric_request_lids_free(fabric, lid_memory->entries[i].port_guid);
		lids = before - lid_memory->count;
	}
	if (!links && !lids) {
		fn(arg, NULL,
		   what ? "it has no link that is down: nothing to forget"
			: "no link is down: nothing to forget");
		return;
	}
	nodes = forget_nodes(fabric, inv);
	event_log_add(services.events, LOG_NOTICE, "forgotten", &subject,
		      json_pack("{si si si}", "cables", links, "nodes", nodes, "absent", lids),
		      "%s: forgot %u %s that %s down and %u %s; freed the LIDs of %u %s that "
		      "left earlier",
		      name, links, words_plural(links, "link", "links"),
		      words_plural(links, "was", "were"), nodes,
		      words_plural(nodes, "node", "nodes"), lids,
		      words_plural(lids, "port", "ports"));
	fabric_operation_start(fabric, &ops, NULL, fn, arg);
	fabric_request_reroute(fabric, "links were forgotten");
}

#define CHECK_US    10000000 /* between two checks of what is held or refused */
#define REFUSED_MAX 1024
#define SECOND_US   1000000ull
#define SHARE	    200 /* 1 of so many links may be held, if that is more than max_links */

/* ---- Whether a link may be held -------------------------------------------------------------- */

static bool end_is_excluded(const char *patterns, const struct inv_node *node, uint8_t num)
{
	char guid[24], port[sizeof(node->desc) + 8], guid_port[32];

	array_printf(guid, "0x%016" PRIx64, node->guid);
	array_printf(port, "%s:%u", node->desc, num);
	array_printf(guid_port, "%s:%u", guid, num);
	return name_patterns_match(patterns, node->desc, port) ||
	       name_patterns_match(patterns, guid, guid_port);
}

static struct hold_refused *find_refused(const struct holds *h, guid_t node, uint8_t port)
{
	for (unsigned i = 0; i < h->nrefused; i++)
		if (h->refused[i].node == node && h->refused[i].port == port)
			return &h->refused[i];
	return NULL;
}

static struct quarantine *find_held(const struct holds *h, guid_t node, uint8_t port)
{
	struct quarantine *q = quarantines_find(h->quarantines, node, port);

	return q && q->held && !q->over ? q : NULL;
}

static enum hold_answer judge(const struct holds *h, guid_t guid, uint8_t num)
{
	const struct hold_refused *before = find_refused(h, guid, num);
	const struct quarantine_list *known = &h->quarantines->known;
	struct inv_node *node;
	const struct inv_port *port = inventory_port(h->services->inventory, guid, num, &node);

	if (!port || !port->peer || !inv_is_switch(node) || !inv_is_switch(port->peer))
		return HOLD_HOST_LINK;

	const char *patterns = h->services->conf->ber.exclude;
	if (end_is_excluded(patterns, node, num) ||
	    end_is_excluded(patterns, port->peer, port->peer_port))
		return HOLD_EXCLUDED;

	if (before && before->why == HOLD_RELEASED)
		return HOLD_RELEASED;
	if (quarantines_need_link(h->quarantines, guid, num))
		return HOLD_NEEDED;

	/* As many as configured, and no more than a share of all links. */
	const struct topo *t = fabric_view(h->fabric).topo;
	unsigned most = h->services->conf->ber.max_links;
	unsigned share = t ? topo_links(t) / SHARE : 0, held = 0;

	/* A hold that is waived isolates nothing and takes nobody's place. */
	for (unsigned i = 0; i < known->count; i++)
		held += known->list[i].held && !known->list[i].over && !known->list[i].waived;
	if (held >= (most && share > most ? share : most))
		return HOLD_FULL;
	return h->services->conf->ber.dry_run ? HOLD_DRY_RUN : HOLD_YES;
}

/* ---- Requests -------------------------------------------------------------------------------- */

static const char *const reasons[] = {
	[HOLD_HOST_LINK] = "a host's link stays in use",
	[HOLD_EXCLUDED] = "excluded by health_ber_exclude, it stays in use",
	[HOLD_RELEASED] = "released by an operator, it stays in use",
	[HOLD_NEEDED] = "it stays in use: a switch would have too few other links to the next tier",
	[HOLD_FULL] = "it stays in use: health_ber_max_links are isolated already",
	[HOLD_DRY_RUN] = "dry run: it would be isolated from routing",
};

static void check_soon(struct holds *h)
{
	if (!loop_timer_armed(h->timer))
		loop_timer_set(h->timer, CHECK_US);
}

static struct hold_refused *note_refused(struct holds *h, guid_t node, uint8_t port)
{
	struct hold_refused *it = find_refused(h, node, port);

	if (it || h->nrefused == REFUSED_MAX)
		return it;
	h->refused = mem_grow(h->refused, h->nrefused);
	it = &h->refused[h->nrefused++];
	*it = (struct hold_refused){ .node = node, .port = port, .why = HOLD_YES };
	check_soon(h);
	return it;
}

/* ---- Ends ------------------------------------------------------------------------------------ */

/* A link that is down is not clean, whatever was read before. */
static uint64_t clean_us(const struct holds *h, guid_t guid, uint8_t num, uint64_t read_us)
{
	struct inv_node *node;
	const struct inv_port *port = inventory_port(h->services->inventory, guid, num, &node);

	return port && port->link_up && port->peer ? read_us : 0;
}

static bool any_held(const struct holds *h)
{
	const struct quarantine_list *known = &h->quarantines->known;

	return any_of(i, 0, known->count, known->list[i].held && !known->list[i].over);
}

static void timer_cb(void *arg)
{
	struct holds *h = arg;

	/* A link whose hold is waived carries traffic: it is judged again with its next errors. */
	const struct quarantine_list *known = &h->quarantines->known;

	for (unsigned i = known->count; i-- > 0;) {
		struct quarantine *q = &known->list[i];

		if (!q->held || q->over)
			continue;
		if (q->waived)
			quarantines_drop_hold(h->quarantines, q);
		else if (clean_us(h, q->node, q->port, q->clean_us) >= q->seconds * SECOND_US)
			quarantines_end_hold(h->quarantines, q);
	}

	for (unsigned i = h->nrefused; i-- > 0;) {
		struct hold_refused *it = &h->refused[i];

		if (clean_us(h, it->node, it->port, it->clean_us))
			*it = h->refused[--h->nrefused];
	}

	if (any_held(h) || h->nrefused)
		check_soon(h);
}

/* ---- Commands -------------------------------------------------------------------------------- */

void maintenance_cordon(struct fabric *fabric, const char *what, bool on, waiter_fn *fn, void *arg)
{
	struct maintenance *m = fabric_room(fabric, &maintenance_module);
	const struct fabric_view view = fabric_view(fabric);
	const struct topo *t = view.topo;
	char err[TARGET_ERROR_SIZE] = "";
	struct change *change;
	struct target target;

	if (!target_find(&view, what, &target, err) &&
	    (on || !cordons_find_absent(&m->cordons, what, &target))) {
		fn(arg, NULL, err);
		return;
	}
	change = change_new(m, &target, on ? CHANGE_CORDON : CHANGE_UNCORDON);
	change->links = target_count_links(t, &target);
	if (!cordons_plan(&m->cordons, t, &target, on, &change->cordons, err)) {
		fn(arg, NULL, err);
		change_free(change);
	} else if (change->cordons.count) {
		cordons_change(&m->cordons, &change->cordons, on);
		change_start(change, NULL, fn, arg);
	} else
		change_start(change, on ? "already cordoned" : "not cordoned", fn, arg);
}

void maintenance_cordon_too(struct fabric *fabric, const char *lines, size_t length)
{
	struct maintenance *m = fabric_room(fabric, &maintenance_module);
	unsigned before = m->cordons.in_force.count;
	FILE *in = fmemopen((char *)lines, length, "r");
	char line[128];

	while (m->cordons.in_force.count < UINT16_MAX && fgets(line, sizeof(line), in))
		cordons_kind.line(&m->cordons, line);
	fclose(in);
	if (m->cordons.in_force.count == before)
		return;
	event_log_add(m->services.events, LOG_WARNING, "cordoned", NULL, NULL,
		      "fabric: %u cordons more, of a manager that was master too, hold",
		      m->cordons.in_force.count - before);
	cordons_change(&m->cordons, &(struct cordon_list){ 0 }, true);
}

const char *maintenance_cordoned_since(const struct fabric *fabric, guid_t node, unsigned port)
{
	const struct maintenance *m = fabric_room(fabric, &maintenance_module);
	const char *since = cordons_since(&m->cordons, node, port);

	return since || !port ? since : cordons_since(&m->cordons, node, 0);
}

void maintenance_release(struct fabric *fabric, const char *what, waiter_fn *fn, void *arg)
{
	struct maintenance *m = fabric_room(fabric, &maintenance_module);
	const struct fabric_view view = fabric_view(fabric);
	char err[TARGET_ERROR_SIZE];
	struct target *targets;
	struct change *change;
	unsigned count = target_find_all(&view, what, &targets, err);

	if (!count) {
		fn(arg, NULL, err);
		return;
	}
	change = change_new(m, &targets[0], CHANGE_RELEASE);
	for (unsigned i = 0; i < count; i++)
		change->links +=
			quarantines_release(&m->quarantines, &targets[i], &change->released);
	free(targets);

	/*
	 * An operator has released those quarantines: their links are not held until they were
	 * clean.
	 */
	for (unsigned i = 0; i < change->released.count; i++) {
		const struct quarantine *q = &change->released.list[i];
		struct hold_refused *it = note_refused(&m->holds, q->node, q->port);

		if (it)
			it->why = HOLD_RELEASED;
	}

	change_start(change, change->released.count ? NULL : "not quarantined", fn, arg);
}

/* ---- For rooms that find links unhealthy ----------------------------------------------------- */

void maintenance_quarantine(struct fabric *fabric, guid_t node, uint8_t port, const char *why)
{
	struct maintenance *m = fabric_room(fabric, &maintenance_module);

	quarantines_add(&m->quarantines, node, port, why);
}

/* Holds a link, by either end, or refuses with an event; why: cut to QUARANTINE_WHY. */
void maintenance_hold(struct fabric *fabric, guid_t node, uint8_t port, const char *why)
{
	struct holds *h = &((struct maintenance *)fabric_room(fabric, &maintenance_module))->holds;
	const struct inventory *inv = h->services->inventory;
	const struct quarantine *q;
	struct hold_refused *refused;
	struct quarantine *held;
	enum hold_answer answer;

	quarantines_take_lower_end(h->quarantines, &node, &port);
	q = quarantines_find(h->quarantines, node, port);
	if (q && !q->over)
		return; /* after its end the hold is requested again */
	answer = judge(h, node, port);
	if (answer != HOLD_YES) {
		struct event_subject subject = inventory_link_subject(inv, node, port);

		refused = note_refused(h, node, port);
		if (refused && refused->why != answer) {
			refused->why = answer;
			event_log_add(h->services->events, LOG_WARNING, "quarantine-refused",
				      &subject, json_pack("{ss}", "why", why), "%s: %s; %s",
				      inventory_link_name(inv, node, port).text, why,
				      reasons[answer]);
		}
		return;
	}
	refused = find_refused(h, node, port);
	if (refused)
		*refused = h->refused[--h->nrefused];
	quarantines_hold(h->quarantines, node, port, why);
	held = find_held(h, node, port);
	if (held)
		held->clean_us = 0;
	check_soon(h);
}

bool maintenance_waits_for_clean(const struct fabric *fabric, guid_t node, uint8_t port)
{
	const struct maintenance *m = fabric_room(fabric, &maintenance_module);

	if (!m->holds.nrefused && !any_held(&m->holds))
		return false;
	quarantines_take_lower_end(&m->quarantines, &node, &port);
	return find_refused(&m->holds, node, port) || find_held(&m->holds, node, port);
}

void maintenance_clean(struct fabric *fabric, guid_t node, uint8_t port, uint64_t clean_us)
{
	const struct maintenance *m = fabric_room(fabric, &maintenance_module);
	struct hold_refused *refused;
	struct quarantine *held;

	quarantines_take_lower_end(&m->quarantines, &node, &port);
	refused = find_refused(&m->holds, node, port);
	held = find_held(&m->holds, node, port);
	if (refused)
		refused->clean_us = clean_us;
	if (held)
		held->clean_us = clean_us;
}

/* ---- Hooks ----------------------------------------------------------------------------------- */

static void load(void *room, enum fabric_load_step step)
{
	struct maintenance *m = room;

	if (step != FABRIC_LOAD)
		return;
	admission_load(&m->admission);
	state_read(m->services.state, &cordons_kind, &m->cordons);
	quarantines_load(&m->quarantines);
	/* Links that were held before the restart are checked. */
	if (any_held(&m->holds))
		check_soon(&m->holds);
}

static void annotate(void *room, struct inventory *inventory)
{
	struct maintenance *m = room;

	cordons_mark(&m->cordons);
	quarantines_mark(&m->quarantines);
}

/* More than so many falls within the window are a quarantine; the count starts again then. */
static void link_fell(struct maintenance *m, guid_t guid, uint8_t num)
{
	const struct conf_quarantine *conf = &m->services.conf->quarantine;
	uint64_t window_us = (uint64_t)conf->flap_window_ms * 1000;
	uint64_t now = loop_now_us(m->services.loop);
	unsigned allowed = conf->flap_count;
	char why[QUARANTINE_WHY];
	struct inv_node *node;
	struct downs **downs;

	quarantines_take_lower_end(&m->quarantines, &guid, &num);
	if (!allowed || !inventory_port(m->services.inventory, guid, num, &node))
		return;
	downs = inv_port_cell(node, num, INV_DOWNS, sizeof(*downs));
	*downs = *downs ?: mem_new(*downs);
	(*downs)->at_us[(*downs)->count++ % TIMES_MAX] = now;
	if ((*downs)->count <= allowed ||
	    now - (*downs)->at_us[((*downs)->count - 1 - allowed) % TIMES_MAX] > window_us)
		return;
	(*downs)->count = 0;
	array_printf(why, "went down %d times within %g s", allowed + 1,
		     conf->flap_window_ms / 1e3);
	quarantines_add(&m->quarantines, guid, num, why);
}

static void settled(void *room, enum fabric_settle_step step)
{
	struct maintenance *m = room;
	const struct inventory *inv = m->services.inventory;
	const struct quarantine_list *known = &m->quarantines.known;
	struct name_list links = { 0 };

	if (step != FABRIC_REVIEWED)
		return;
	admission_review(&m->admission);
	/* Raises or ends the alert on links with too many errors that stay in use. */
	for (unsigned i = 0; i < known->count; i++) {
		const struct quarantine *q = &known->list[i];

		if (q->held && !q->over && q->waived)
			name_list_add(&links, inventory_link_name(inv, q->node, q->port).text);
	}
	for (unsigned i = 0; i < m->holds.nrefused; i++) {
		const struct hold_refused *it = &m->holds.refused[i];

		if (it->why == HOLD_NEEDED || it->why == HOLD_FULL)
			name_list_add(&links, inventory_link_name(inv, it->node, it->port).text);
	}
	name_list_alert(m->services.alerts, "links-errors", &links,
			"link with too many errors stays in use",
			"links with too many errors stay in use");
}

static const char *swept(void *room, const struct fabric_swept *swept)
{
	if (swept->step == FABRIC_LINK_FELL)
		link_fell(room, swept->node, swept->port);
	else if (swept->result)
		admission_swept(&((struct maintenance *)room)->admission);
	return NULL;
}

static void published(void *room, enum fabric_update_step step, const struct topo *before)
{
	if (step == FABRIC_PUBLISHED)
		admission_published(&((struct maintenance *)room)->admission);
}

static void configure(void *room)
{
	admission_configure(&((struct maintenance *)room)->admission);
}

static void status(const void *room, json_t *doc)
{
	const struct maintenance *m = room;

	/* fm/cabling adds its findings to `miswired`, which are of links in use. */
	const struct admission *a = &m->admission;
	unsigned wrong = admission_held(a, HELD_MISWIRED) + admission_held(a, HELD_PLAN);

	json_object_update_new(doc,
			       json_pack("{si si si}", "links_held", admission_held(a, HELD_NOT),
					 "miswired", wrong, "links_planned",
					 a->plan.topo ? topo_links(a->plan.topo) : 0));
}

void maintenance_unhealthy(const struct fabric *fabric, json_t *rows)
{
	const struct maintenance *m = fabric_room(fabric, &maintenance_module);

	quarantines_rows(&m->quarantines, fabric_view(m->fabric).topo, rows);
}

/* A host's link stays in use, whatever is known of it. */
void maintenance_judge_host(const struct fabric *fabric, uint32_t host,
			    struct host_verdict *verdict)
{
	const struct maintenance *m = fabric_room(fabric, &maintenance_module);
	const struct topo *t = fabric_view(m->fabric).topo;
	const struct topo_host *it = &t->hosts[host];

	for (uint32_t i = 0; i < it->ncas && m->quarantines.known.count; i++) {
		uint32_t ca = t->host_cas[it->first + i];

		for (unsigned num = 1; num <= t->nodes[ca].nports; num++) {
			const char *why = quarantines_why(&m->quarantines, t->nodes[ca].guid, num);

			if (why)
				host_verdict_add(verdict, HOST_DEGRADED,
						 "%.60s: link is unhealthy: %s", host_device(t, ca),
						 why);
		}
	}
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	struct maintenance *m = mem_new(m);

	m->fabric = fabric;
	m->services = fabric_services(fabric);
	m->cordons = (struct cordons){ .fabric = fabric, .services = &m->services };
	quarantines_init(&m->quarantines, fabric, &m->services);
	admission_init(&m->admission, fabric, &m->services);
	m->holds = (struct holds){ .fabric = fabric,
				   .services = &m->services,
				   .quarantines = &m->quarantines };
	m->holds.timer = loop_timer_new(m->services.loop, timer_cb, &m->holds);
	inventory_open_column(m->services.inventory, INV_DOWNS, sizeof(struct downs *), free_downs);
	return m;
}

static void fini(void *room)
{
	struct maintenance *m = room;

	admission_fini(&m->admission);
	free(m->cordons.in_force.list);
	loop_timer_free(m->holds.timer);
	free(m->holds.refused);
	loop_timer_free(m->quarantines.due);
	free(m->quarantines.known.list);
	free(m);
}

struct admission *maintenance_admission(const struct fabric *fabric)
{
	return &((struct maintenance *)fabric_room(fabric, &maintenance_module))->admission;
}

const struct fabric_module maintenance_module = { .name = "maintenance",
						  .init = init,
						  .fini = fini,
						  .load = load,
						  .configure = configure,
						  .annotate = annotate,
						  .swept = swept,
						  .published = published,
						  .settled = settled,
						  .status = status };
