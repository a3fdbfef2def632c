/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/links_out/module.h"
#include "fm/audit/module.h"
#include "fm/conf/lists.h"
#include "fm/fabric/host_verdict.h"
#include "fm/links_out/rules.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"
#include "topology/files/dump.h"

/* ---- For rooms that find links unhealthy ----------------------------------------------------- */

static void quarantine(struct links_out *table, const struct out_ask *ask)
{
	const struct fabric_services *services = &table->services;
	struct out row = { .node = ask->node, .port = ask->port, .cause = ask->cause }, *last;
	bool hold = ask->cause == OUT_HOLD;
	struct inv_node *node;

	out_take_end(table, ask->cause, &row.node, &row.port);
	last = out_quarantine(table, row.node, row.port);
	/* Behind the end of a quarantine a hold is asked for again. */
	if (last && last->state != OUT_OVER && (hold || last->cause == OUT_HOLD))
		return;

	const struct event_subject subject =
		inventory_link_subject(services->inventory, row.node, row.port);
	const struct inv_link_name name =
		inventory_link_name(services->inventory, row.node, row.port);
	const char *stays = hold ? limit_hold(table, row.node, row.port) : NULL;

	if (stays) {
		if (out_exempt(table, row.node, row.port, stays))
			event_log_add(services->events, LOG_WARNING, "quarantine-refused", &subject,
				      json_pack("{ss}", "why", ask->why), "%s: %s; %s", name.text,
				      ask->why, stays);
		return;
	}
	row.seconds = table->rules[ask->cause].seconds(last, services->conf);
	row.until_us = loop_now_us(services->loop) + row.seconds * 1000000ull;
	row.due_us = hold ? 0 : row.until_us;
	array_printf(row.why, "%s", ask->why);
	if (last)
		out_remove(last);
	last = hold ? out_find(table, row.node, row.port, OUT_EXEMPT) : NULL;
	if (last)
		out_remove(last);
	if (!out_add(table, &row))
		return;

	json_t *details = json_pack("{si ss}", "seconds", row.seconds, "why", row.why);

	if (hold || (inventory_port(services->inventory, row.node, row.port, &node) &&
		     out_is_transit(node, row.port)))
		event_log_add(services->events, LOG_WARNING, "quarantined", &subject, details,
			      hold ? "%s: quarantined until it is clean for %u s, isolated from "
				     "routing: %s"
				   : "%s: quarantined for %u s, isolated from routing: %s",
			      name.text, row.seconds, row.why);
	else
		event_log_add(services->events, LOG_WARNING, "flapping", &subject, details,
			      "%s: %s; a host's link stays in use", name.text, row.why);
	out_changed(table, ask->cause);
}

void links_out_ask(struct fabric *fabric, const struct out_ask *ask)
{
	struct links_out *table = fabric_room(fabric, &links_out_module);

	if (table->rules[ask->cause].mark == INV_QUARANTINED)
		quarantine(table, ask);
	else
		faults_add(table, ask->node, ask->port, ask->cause);
}

uint64_t *links_out_clean_us(const struct fabric *fabric, guid_t node, uint8_t port)
{
	const struct links_out *table = fabric_room(fabric, &links_out_module);

	if (!table->counts[OUT_HOLD] && !table->counts[OUT_EXEMPT])
		return NULL;
	out_take_end(table, OUT_HOLD, &node, &port);

	struct out *it = out_find(table, node, port, OUT_HOLD);

	it = it && it->state != OUT_OVER ? it : out_find(table, node, port, OUT_EXEMPT);
	return it ? &it->clean_us : NULL;
}

/* ---- Links that fall ------------------------------------------------------------------------- */

#define FLAP_COUNT_MAX 31 /* of the key flap_count */
#define TIMES_MAX      (FLAP_COUNT_MAX + 1)

/* Of a link, in the column of ports at that of its lower end: when it went down, as a ring. */
struct downs {
	unsigned count;
	uint64_t at_us[TIMES_MAX];
};

static void free_downs(void *cell)
{
	free(*(struct downs **)cell);
}

/* More than so many falls within the window are a quarantine; the count starts again then. */
static void link_fell(struct links_out *table, guid_t guid, uint8_t num)
{
	const struct conf_quarantine *conf = &table->services.conf->quarantine;
	uint64_t window_us = (uint64_t)conf->flap_window_ms * 1000;
	uint64_t now = loop_now_us(table->services.loop);
	unsigned allowed = conf->flap_count;
	char why[OUT_WHY];
	struct inv_node *node;

	out_take_end(table, OUT_QUARANTINE, &guid, &num);
	if (!allowed || !inventory_port(table->services.inventory, guid, num, &node))
		return;

	struct downs **downs = inv_port_cell(node, num, INV_DOWNS, sizeof(*downs));

	*downs = *downs ?: mem_new(*downs);
	(*downs)->at_us[(*downs)->count++ % TIMES_MAX] = now;
	if ((*downs)->count <= allowed ||
	    now - (*downs)->at_us[((*downs)->count - 1 - allowed) % TIMES_MAX] > window_us)
		return;
	(*downs)->count = 0;
	array_printf(why, "went down %d times within %g s", allowed + 1,
		     conf->flap_window_ms / 1e3);
	quarantine(table, &(struct out_ask){
				  .cause = OUT_QUARANTINE, .node = guid, .port = num, .why = why });
}

/* ---- Hooks ----------------------------------------------------------------------------------- */

static void load(void *room, enum fabric_load_step step)
{
	struct links_out *table = room;

	if (step != FABRIC_LOAD)
		return;
	admission_load(&table->admission);
	out_load(table);
}

static void annotate(void *room, struct inventory *inventory)
{
	faults_review(room);
	out_mark_all(room);
}

static void settled(void *room, enum fabric_settle_step step)
{
	struct links_out *table = room;
	struct name_list links = { 0 };

	if (step == FABRIC_SETTLED)
		faults_settled(table);
	if (step != FABRIC_REVIEWED)
		return;
	admission_review(&table->admission);
	/* Raises or ends the alert on links with too many errors that stay in use. */
	OUT_ROWS (table, it) {
		if ((it->cause == OUT_HOLD && it->state == OUT_WAIVED) ||
		    (it->reason && (it->reason == limit_needed || it->reason == limit_full)))
			name_list_add(&links, inventory_link_name(table->services.inventory,
								  it->node, it->port)
						      .text);
	}
	name_list_alert(table->services.alerts, "links-errors", &links,
			"link with too many errors stays in use",
			"links with too many errors stay in use");
}

static const char *swept(void *room, const struct fabric_swept *swept)
{
	if (swept->step == FABRIC_LINK_FELL)
		link_fell(room, swept->node, swept->port);
	else if (swept->result) {
		faults_swept(room, swept->result);
		admission_swept(&((struct links_out *)room)->admission);
	}
	return NULL;
}

static void published(void *room, enum fabric_update_step step, const struct topo *before)
{
	if (step == FABRIC_PUBLISHED)
		admission_published(&((struct links_out *)room)->admission);
}

static void configure(void *room)
{
	admission_configure(&((struct links_out *)room)->admission);
}

static void status(const void *room, json_t *doc)
{
	const struct links_out *table = room;

	/* fm/cabling adds its findings to `miswired`, which are of links in use. */
	const struct admission *a = &table->admission;
	unsigned wrong = table->counts[OUT_MISWIRED] + table->counts[OUT_PLAN];

	json_object_set_new(doc, "isolated", faults_json(table));
	json_put(doc, "{si si si}", "links_held", admission_held(a), "miswired", wrong,
		 "links_planned", a->plan.topo ? topo_links(a->plan.topo) : 0);
}

/* ---- Reports --------------------------------------------------------------------------------- */

void links_out_rows(const struct fabric *fabric, json_t *rows)
{
	const struct links_out *table = fabric_room(fabric, &links_out_module);
	const struct topo *t = fabric_view(fabric).topo;
	uint64_t now = loop_now_us(table->services.loop);

	OUT_ROWS (table, it) {
		uint32_t port = topo_port_of(t, it->node, it->port);
		const struct inv_node *node = out_node(it);
		bool held = it->cause == OUT_HOLD;
		uint64_t left_us = it->until_us > now ? it->until_us - now : 0;

		if (it->rule->mark != INV_QUARANTINED || port == TOPO_NONE || it->state == OUT_OVER)
			continue;

		json_t *row = dump_json_unhealthy_link(t, port,
						       !node || !out_is_transit(node, it->port)
							       ? "flapping"
						       : it->state == OUT_WAIVED ? "waived"
										 : "quarantined",
						       json_string(it->why));

		json_put(row, "{si so sb}", "seconds", it->seconds, "left_s",
			 held ? json_null() : json_integer(left_us / 1000000), "until_clean", held);
		json_array_append_new(rows, row);
	}
}

/* A host's link stays in use, whatever is known of it. */
void links_out_judge_host(const struct fabric *fabric, uint32_t host, struct host_verdict *verdict)
{
	const struct links_out *table = fabric_room(fabric, &links_out_module);
	const struct topo *t = fabric_view(fabric).topo;
	const struct topo_host *it = &t->hosts[host];

	for (uint32_t i = 0;
	     i < it->ncas && (table->counts[OUT_QUARANTINE] || table->counts[OUT_HOLD]); i++) {
		uint32_t ca = t->host_cas[it->first + i];

		for (unsigned num = 1; num <= t->nodes[ca].nports; num++) {
			guid_t node = t->nodes[ca].guid;
			uint8_t port = (uint8_t)num;

			out_take_end(table, OUT_QUARANTINE, &node, &port);

			const struct out *out = out_quarantine(table, node, port);

			if (out && out->state != OUT_OVER)
				host_verdict_add(verdict, HOST_DEGRADED,
						 "%.60s: link is unhealthy: %s", host_device(t, ca),
						 out->why);
		}
	}
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	struct links_out *table = mem_new(table);

	out_init(table, fabric);
	out_use_rules(table);
	faults_init(table);
	audit_listen(fabric, faults_unheld, table);
	admission_init(table);
	inventory_open_column(table->services.inventory, INV_DOWNS, sizeof(struct downs *),
			      free_downs);
	return table;
}

static void fini(void *room)
{
	struct links_out *table = room;

	audit_listen(table->fabric, NULL, NULL);
	admission_fini(&table->admission);
	out_fini(table);
	faults_fini(table);
	free(table);
}

struct admission *links_out_admission(const struct fabric *fabric)
{
	return &((struct links_out *)fabric_room(fabric, &links_out_module))->admission;
}

const struct fabric_module links_out_module = { .name = "links_out",
						.init = init,
						.fini = fini,
						.load = load,
						.configure = configure,
						.annotate = annotate,
						.swept = swept,
						.published = published,
						.programmed = faults_programmed,
						.settled = settled,
						.status = status };
