/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: switches that another manager left with adaptive routing on (adaptive.h). They are
 * queried during the first route, and the first programming waits for those that answer: until then
 * it is not known what they forward by. Switches that are found later are queried beside other
 * work, and programmed once more if something had to be turned off.
 *
 * Switches that do not answer GeneralInfo (generalinfo.h) are queried again when nothing was
 * published for QUIET_US and the fabric is idle, LATER_AT_ONCE of them each LATER_US: they may have
 * another firmware by then.
 */
#include "fm/adaptive/module.h"
#include <inttypes.h>
#include <stdlib.h>
#include "fm/adaptive/adaptive.h"
#include "fm/adaptive/generalinfo.h"
#include "fm/fabric/progress.h"
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/program/program.h"
#include "topology/dump.h"
#include "topology/mem.h"

#define ON	      "adaptive-routing" /* the alert */
#define QUIET_US      30000000
#define LATER_US      1000000
#define LATER_AT_ONCE 8

struct adaptive_room {
	struct fabric *fabric;
	struct fabric_services services;
	struct adaptive *adaptive;
	struct unanswered *unanswered;
	struct loop_timer *later; /* they are asked again */
	bool programmed;	  /* the first programming has begun */
};

/* ---- What became of those that had it on ----------------------------------------------------- */

static const char *name_of(const struct adaptive_room *r, guid_t guid)
{
	const struct inv_node *node = inventory_find(r->services.inventory, guid);

	return node ? node->name : "a switch";
}

static void report(const struct adaptive_room *r, const struct adaptive_switch *sw)
{
	const char *name = name_of(r, sw->guid);

	if (sw->failed) {
		alert_raise(r->services.alerts, ON, name,
			    "%s: adaptive routing of another manager is on and could not be turned "
			    "off, so the switch may forward by tables unknown to fmd",
			    name);
		return;
	}
	alert_end(r->services.alerts, ON, name);
	event_log_add(r->services.events, LOG_WARNING, "adaptive-routing-off",
		      json_pack("{ss sI}", "switch", name, "took_us", (json_int_t)sw->took_us),
		      "%s 0x%016" PRIx64 ": another manager had left adaptive routing on: wrote "
		      "all blocks, turned it off and read it back in %.1f ms",
		      name, sw->guid, sw->took_us / 1e3);
}

static void turned(void *arg, const struct adaptive_switch *sw)
{
	struct adaptive_room *r = arg;

	report(r, sw);
	if (!r->programmed)
		return;
	program_forget(r->services.program, sw->guid);
	fabric_request_reroute(r->fabric, "adaptive routing is off");
}

static void done(void *arg)
{
	struct adaptive_room *r = arg;

	if (r->programmed)
		return;
	r->programmed = true;
	fabric_request_program(r->fabric, "what is on of adaptive routing is known");
}

/* ---- Those that do not answer ---------------------------------------------------------------- */

static bool is_silent(void *arg, const struct inv_node *node)
{
	const struct adaptive_room *r = arg;

	return unanswered_has(r->unanswered, node);
}

static void asked(void *arg, const struct inv_node *node, bool silent)
{
	struct adaptive_room *r = arg;

	unanswered_note(r->unanswered, node, silent);
}

static void later_cb(void *arg)
{
	struct adaptive_room *r = arg;

	if (!fabric_quiet_since_us(r->fabric) || adaptive_ask_later(r->adaptive, LATER_AT_ONCE))
		loop_timer_set(r->later, LATER_US);
}

/* ---- Hooks ----------------------------------------------------------------------------------- */

static void updating(void *room)
{
	struct adaptive_room *r = room;

	if (!r->programmed)
		adaptive_ask(r->adaptive);
}

/* Something was published: switches may have been met that are asked in quiet. */
static bool may_program(void *room)
{
	struct adaptive_room *r = room;
	struct fabric_view view = fabric_view(r->fabric);

	loop_timer_set(r->later, QUIET_US);
	r->programmed |= adaptive_check(r->adaptive, view.topo, view.tables);
	return r->programmed;
}

static void load(void *room)
{
	struct adaptive_room *r = room;

	unanswered_load(r->unanswered);
}

/* ---- For operators --------------------------------------------------------------------------- */

static const char *word_of(const struct inv_node *node)
{
	static const char *const words[] = { [INV_ADAPTIVE_CAPABLE] = "capable",
					     [INV_ADAPTIVE_ON] = "on",
					     [INV_ADAPTIVE_OFF] = "off" };

	return node && node->adaptive >= INV_ADAPTIVE_CAPABLE ? words[node->adaptive] : NULL;
}

json_t *adaptive_switches(const struct fabric *fabric)
{
	const struct adaptive_room *r = fabric_room(fabric, &adaptive_module);
	json_t *rows = dump_json_nodes(fabric_view(fabric).topo, true), *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		const char *guid = json_string_value(json_object_get(row, "guid"));
		const struct inv_node *node =
			inventory_find(r->services.inventory, guid ? strtoull(guid, NULL, 0) : 0);
		const char *word = word_of(node);

		json_object_set_new(row, "ar", word ? json_string(word) : json_null());
	}
	return rows;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	static const struct adaptive_ops ops = { turned, done, is_silent, asked };
	struct adaptive_room *r = mem_alloc(1, sizeof(*r));

	r->fabric = fabric;
	r->services = fabric_services(fabric);
	r->unanswered = unanswered_new(r->services.state);
	r->later = loop_timer_new(r->services.loop, later_cb, r);
	r->adaptive =
		adaptive_new(r->services.loop, r->services.mad, r->services.inventory, &ops, r);
	return r;
}

static void fini(void *room)
{
	struct adaptive_room *r = room;

	alerts_review(r->services.alerts, ON);
	alerts_reviewed(r->services.alerts, ON);
	adaptive_free(r->adaptive);
	loop_timer_free(r->later);
	unanswered_free(r->unanswered);
	free(r);
}

const struct fabric_module adaptive_module = { .name = "adaptive-routing",
					       .init = init,
					       .fini = fini,
					       .load = load,
					       .update.updating = updating,
					       .deploy.may_program = may_program };
