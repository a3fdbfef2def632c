/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_adaptive: switches that another manager left with adaptive routing on (fm/program/adaptive.h). The first programming of this
 * manager's life waits until all are asked and off: till then nothing is known of what they forward by. Switches that are met later are asked
 * beside what else goes on, and programmed once more when something had to be turned off.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "fm/fabric_own.h"
#include "fm/program/adaptive.h"
#include "topology/dump.h"

#define ON "adaptive-routing"

static const char *name_of(const struct fabric *f, guid_t guid)
{
	const struct inv_node *node = inventory_find(sweep_inventory(f->sweep), guid);

	return node ? node->desc : "a switch";
}

static void turned(void *arg, const struct adaptive_switch *sw)
{
	struct fabric *f = arg;
	const char *name = name_of(f, sw->guid);

	if (sw->failed) {
		alert_raise(f->alerts, ON, name,
			    "%s: adaptive routing of another manager is on and could not be turned "
			    "off: "
			    "it forwards by tables that are not known here",
			    name);
	} else {
		alert_end(f->alerts, ON, name);
		event_log_add(
			f->events, LOG_WARNING, "adaptive-routing-off",
			json_pack("{ss sI}", "switch", name, "took_us", (json_int_t)sw->took_us),
			"%s 0x%016" PRIx64 ": another manager had left adaptive routing on: all "
			"blocks written, turned "
			"off and read back in %.1f ms",
			name, sw->guid, sw->took_us / 1e3);
	}
	if (!f->adaptive_begun)
		return;
	program_forget(f->program, sw->guid);
	f->want_reroute = true;
	loop_timer_set(f->hold_timer, 0);
}

static void program(struct fabric *f)
{
	f->adaptive_begun = true;
	program_apply(f->program, f->topo, &f->tables, fabric_programmed, f);
}

static void done(void *arg)
{
	struct fabric *f = arg;

	if (!f->adaptive_begun)
		program(f);
}

void fabric_adaptive_program(struct fabric *f)
{
	if (adaptive_check(f->adaptive, f->topo, &f->tables) || f->adaptive_begun)
		program(f);
}

/* ---- For operators --------------------------------------------------------------------------------- */

static const char *word_of(const struct inv_node *node)
{
	static const char *const words[] = { [INV_ADAPTIVE_CAPABLE] = "capable",
					     [INV_ADAPTIVE_ON] = "on",
					     [INV_ADAPTIVE_OFF] = "off" };

	return node && node->adaptive >= INV_ADAPTIVE_CAPABLE ? words[node->adaptive] : NULL;
}

json_t *fabric_switches(const struct fabric *f)
{
	json_t *rows = dump_json_nodes(f->topo, true), *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		const char *guid = json_string_value(json_object_get(row, "guid"));
		const struct inv_node *node = inventory_find(sweep_inventory(f->sweep),
							     guid ? strtoull(guid, NULL, 0) : 0);
		const char *word = word_of(node);

		json_object_set_new(row, "ar", word ? json_string(word) : json_null());
	}
	return rows;
}

/* ---- Life ------------------------------------------------------------------------------------------ */

void fabric_adaptive_init(struct fabric *f)
{
	static const struct adaptive_ops ops = { turned, done };

	f->adaptive = adaptive_new(f->loop, f->mad, sweep_inventory(f->sweep), &ops, f);
}

void fabric_adaptive_fini(struct fabric *f)
{
	alerts_review(f->alerts, ON);
	alerts_reviewed(f->alerts, ON);
	adaptive_free(f->adaptive);
}
