/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <inttypes.h>
#include "fm/cabling/module.h"
#include "fm/fabric/host_verdict.h"
#include "fm/loop/child.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/cabling/cabling.h"

/*
 * findings: links that are not where they should be, as lines of text: what tells one finding from
 * others (its key), a tab, the GUID of the device where to go and its port, a tab, the host of an
 * HCA that nobody ever met, a tab, and what people read. Pure.
 */

struct finding {
	const char *key, *host, *text; /* within findings.lines */
	guid_t node;		       /* 0 = none of the fabric */
	uint8_t port;
};

struct findings { /* zeroed = none */
	char *lines;
	struct finding *list; /* by key */
	unsigned count;
	struct finding *absent; /* HCAs that comparable hosts have, and nobody ever met */
	unsigned nabsent;
};

#define TEXT_SIZE 1024
#define ABSENT	  "hca-missing|" /* how the lines of such HCAs begin */
#define MISSING	  "missing|"	 /* those of cables */

guid_t cabling_node(const struct topo *t, const char *name)
{
	for (uint32_t n = 0; name && n < t->nnodes; n++)
		if (!strcmp(t->nodes[n].name, name))
			return t->nodes[n].guid;
	return 0;
}

SORT_BY(by_key, struct finding, strcmp(a->key, b->key))

static bool is_among(const struct finding *it, const struct findings *f)
{
	return f->count && bsearch(it, f->list, f->count, sizeof(*it), by_key);
}

static void findings_fini(struct findings *f)
{
	free(f->lines);
	free(f->list);
	free(f->absent);
	*f = (struct findings){ 0 };
}

/*
 * All links are compared with the plan (cabling_plan) or with the fabric's own pattern, when nodes
 * or links came, moved or went and nothing did so for QUIET_US. That takes longer than the loop may
 * be held, so a forked copy of the process does it and sends back what it found.
 *
 * What the first comparison of this manager's life finds was so before: it is one event. So is what
 * is beyond LOGGED_ONE_BY_ONE of a later one.
 */

#define QUIET_US	  1000000
#define LATE_US		  9000000 /* more, until a cable that nobody sees is one that is missing */
#define LOGGED_ONE_BY_ONE 20

struct cabling_room {
	struct fabric *fabric;
	struct fabric_services services;
	struct children *children; /* NULL: the loop is simulated */
	struct child *child;	   /* that compares now */
	struct loop_timer *timer;
	char plan[256];		/* by which the latest comparison went */
	bool stale;		/* the fabric, or the plan, is another since */
	bool known;		/* a comparison has ended */
	bool late;		/* the timer is that of LATE_US */
	struct findings latest; /* its findings */
	struct bytes heard;	/* of the child, so far */
};

/* ---- Events and alerts ----------------------------------------------------------------------- */

/* Logs those of `list` that `others` has not. */
static void tell_others(const struct cabling_room *r, const struct findings *list,
			const struct findings *others, const char *kind, int level)
{
	const char *end = level == LOG_WARNING ? "" : ": no more";
	unsigned count = 0;

	for (unsigned i = 0; i < list->count; i++) {
		const struct finding *it = &list->list[i];

		if (is_among(it, others) || count++ >= LOGGED_ONE_BY_ONE)
			continue;

		struct event_subject subject =
			inventory_link_subject(r->services.inventory, it->node, it->port);

		event_log_add(r->services.events, level, kind, it->node ? &subject : NULL, NULL,
			      "%s%s", it->text, end);
	}
	if (count > LOGGED_ONE_BY_ONE)
		event_log_add(r->services.events, level, kind, NULL,
			      json_pack("{si}", "links", count - LOGGED_ONE_BY_ONE),
			      "fabric: %u more findings about cables (fmctl cabling)%s",
			      count - LOGGED_ONE_BY_ONE, end);
}

/* Takes the lines. */
static struct findings findings_of(char *lines)
{
	struct findings now = { .lines = lines };
	char *rest = lines, *line;

	while ((line = strsep(&rest, "\n"))) {
		struct finding it = { .key = strsep(&line, "\t") };
		char *port = strsep(&line, "\t");

		it.host = strsep(&line, "\t");
		it.text = line;
		if (!it.text)
			continue;
		it.node = strtoull(port, &port, 16);
		it.port = strtoul(port, NULL, 10);
		if (!strncmp(it.key, ABSENT, strlen(ABSENT))) {
			now.absent = mem_grow(now.absent, now.nabsent);
			now.absent[now.nabsent++] = it;
			continue;
		}
		now.list = mem_grow(now.list, now.count);
		now.list[now.count++] = it;
	}
	if (now.count)
		qsort(now.list, now.count, sizeof(*now.list), by_key);
	return now;
}

/*
 * Cables that are missing are known late: devices that come back, or are isolated meanwhile, have
 * theirs by then.
 */
static void keep_known(struct cabling_room *r, struct findings *now)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < now->count; i++) {
		const struct finding *it = &now->list[i];

		if (strncmp(it->key, MISSING, strlen(MISSING)) || is_among(it, &r->latest))
			now->list[kept++] = *it;
		else
			loop_timer_set(r->timer, LATE_US);
	}
	now->count = kept;
}

static void compared(struct cabling_room *r, char *lines)
{
	struct findings now = findings_of(lines);

	if (!r->late)
		keep_known(r, &now);
	r->late = loop_timer_armed(r->timer);
	alert_set(r->services.alerts, now.count, "miswired", NULL,
		  "fabric: %u finding%s about cables, the first: %s", now.count,
		  now.count == 1 ? "" : "s", now.list[0].text);
	if (r->known) {
		tell_others(r, &now, &r->latest, "miswiring", LOG_WARNING);
		tell_others(r, &r->latest, &now, "miswiring-over", LOG_NOTICE);
	} else if (now.count && !r->late) {
		event_log_add(
			r->services.events, LOG_WARNING, "miswiring", NULL,
			json_pack("{si}", "links", now.count),
			"fabric: %u finding%s about cables that are not where they should be: "
			"see `fmctl cabling`",
			now.count, now.count == 1 ? "" : "s");
	}
	r->known |= !r->late;
	findings_fini(&r->latest);
	r->latest = now;
	fabric_report_hosts_changed(r->fabric);
}

/* ---- The comparison -------------------------------------------------------------------------- */

/* A cable is in the port: its device says that the link is up, whatever is behind it. */
static bool holds_a_cable(const struct cabling_room *r, const struct topo *t,
			  const struct cabling_end *end)
{
	struct inv_node *node;
	const struct inv_port *port =
		inventory_port(r->services.inventory, cabling_node(t, end->name), end->port, &node);

	return port && port->known && port->state > TOPO_DOWN;
}

/*
 * In the child. A plan that can not be read was checked before, and is gone since. Links that are
 * down, slow or lead to a node that is off are none: other events tell these.
 */
static int write_cb(void *arg, FILE *out)
{
	const struct cabling_room *r = arg;
	const struct topo *t = fabric_view(r->fabric).topo;
	char err[512];
	struct topo *plan = *r->plan ? cabling_plan_read(r->plan, t, err, sizeof(err)) : NULL;

	if (*r->plan && !plan)
		return -1;

	struct cabling *c = plan ? cabling_compare(plan, t) : cabling_pattern(t);

	for (uint32_t i = 0; i < c->count; i++) {
		const struct cabling_item *item = &c->items[i];
		const struct cabling_end *const ends[] = { &item->at, &item->found, &item->other };
		enum cabling_kind kind = item->kind;
		char text[TEXT_SIZE], what_to_do[TEXT_SIZE], host[NAMING_MAX] = "";

		if (kind == CABLING_DOWN || kind == CABLING_SPEED || kind == CABLING_WIDTH ||
		    kind == CABLING_ABSENT ||
		    (kind == CABLING_MISSING && holds_a_cable(r, t, &item->at)))
			continue;
		cabling_describe(item, text, sizeof(text));
		cabling_instruct(item, what_to_do, sizeof(what_to_do));
		fputs(cabling_kind_name(kind), out);
		for (unsigned k = 0; k < ARRAY_SIZE(ends); k++)
			fprintf(out, "|%s:%u", ends[k]->name ?: "", ends[k]->port);
		if (kind == CABLING_NO_HCA)
			naming_host(item->expected.name, NULL, host);
		fprintf(out, "\t0x%016" PRIx64 " %u\t%s\t%s: %s\n", cabling_node(t, item->at.name),
			item->at.port, host, text, what_to_do);
	}
	cabling_free(c);
	topo_unref(plan);
	return ferror(out) ? -1 : 0;
}

static void data_cb(void *arg, const char *data, size_t len)
{
	struct cabling_room *r = arg;

	bytes_add(&r->heard, data, len);
}

static void end_cb(void *arg, bool whole)
{
	struct cabling_room *r = arg;

	bytes_add(&r->heard, "", 1);

	char *lines = r->heard.data;

	r->heard = (struct bytes){ 0 };
	r->child = NULL;
	if (whole && !strcmp(r->plan, r->services.conf->cabling_plan))
		compared(r, lines);
	else
		free(lines);
	if (r->stale)
		loop_timer_set(r->timer, QUIET_US);
}

static void timer_cb(void *arg)
{
	static const struct child_ops ops = { write_cb, data_cb, end_cb };
	struct cabling_room *r = arg;

	if (r->child || !fabric_view(r->fabric).topo)
		return;
	r->stale = false;
	array_printf(r->plan, "%s", r->services.conf->cabling_plan);
	if (!r->children) {
		size_t length;
		char *lines = NULL;
		FILE *out = open_memstream(&lines, &length);
		int status = write_cb(r, out);

		fclose(out);
		if (status)
			free(lines);
		else
			compared(r, lines);
		return;
	}
	r->child = child_start(r->children, &ops, r, -1);
	if (!r->child) {
		r->stale = true;
		loop_timer_set(r->timer, QUIET_US);
	}
}

/* ---- Hooks ----------------------------------------------------------------------------------- */

static void published(void *room, enum fabric_update_step step, const struct topo *before)
{
	struct cabling_room *r = room;

	if (step != FABRIC_PUBLISHED ||
	    (before && topo_is_again(before, fabric_view(r->fabric).topo)))
		return;
	r->stale = true;
	r->late = false;
	loop_timer_stop(r->timer);
}

static void settled(void *room, enum fabric_settle_step step)
{
	struct cabling_room *r = room;

	if (step == FABRIC_SETTLED && r->stale && !loop_timer_armed(r->timer))
		loop_timer_set(r->timer, QUIET_US);
}

static void configure(void *room)
{
	struct cabling_room *r = room;

	bool same = !strcmp(r->plan, r->services.conf->cabling_plan);

	if ((!r->known && !r->child) || (same && !*r->plan))
		return;	  /* the first comparison is to come; or the pattern stays the measure */
	r->stale = true;  /* the file may have been written again */
	r->known &= same; /* by another measure, all of it is new */
	loop_timer_set(r->timer, QUIET_US);
}

static int check(const struct conf *conf, char *err, size_t err_size)
{
	const char *path = conf->cabling_plan;
	struct topo *plan = *path ? cabling_plan_read(path, NULL, err, err_size) : NULL;
	bool bad = *path && !plan;

	topo_unref(plan);
	return bad ? -1 : 0;
}

static void status(const void *room, json_t *doc)
{
	const struct cabling_room *r = room;

	json_int_t held = json_integer_value(json_object_get(doc, "miswired"));

	json_object_set_new(doc, "miswired",
			    r->known || held ? json_integer(held + r->latest.count) : json_null());
}

void cabling_judge_host(const struct fabric *fabric, uint32_t host, struct host_verdict *verdict)
{
	const struct cabling_room *r = fabric_room(fabric, &cabling_module);
	const struct topo *t = fabric_view(fabric).topo;

	for (unsigned i = 0; i < r->latest.nabsent; i++) {
		if (strcmp(r->latest.absent[i].host, t->hosts[host].name))
			continue;
		verdict->hcas++;
		host_verdict_add(verdict, HOST_DEGRADED, "%s", r->latest.absent[i].text);
	}
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	struct cabling_room *r = ROOM_NEW(r, fabric);

	r->timer = loop_timer_new(r->services.loop, timer_cb, r);
	if (!loop_is_simulated(r->services.loop))
		r->children = children_new(r->services.loop);
	return r;
}

static void fini(void *room)
{
	struct cabling_room *r = room;

	child_kill(r->child);
	children_free(r->children);
	loop_timer_free(r->timer);
	findings_fini(&r->latest);
	free(r->heard.data);
	free(r);
}

const struct fabric_module cabling_module = { .name = "cabling",
					      .check = check,
					      .init = init,
					      .fini = fini,
					      .configure = configure,
					      .published = published,
					      .settled = settled,
					      .status = status };
