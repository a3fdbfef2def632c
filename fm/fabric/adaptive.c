/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_adaptive: switches that another manager left with adaptive routing on (fm/program/adaptive.h). They are asked beside the first
 * route, and the first programming of this manager's life waits for those that answer: till then nothing is known of what they forward by.
 * Switches that are met later are asked beside what else goes on, and programmed once more when something had to be turned off.
 *
 * state_dir/generalinfo has the switches that do not answer GeneralInfo, `GUID DEVICE REVISION` each, by GUID, so that the next start does
 * not ask them ahead of anything. They are asked again when the fabric was quiet for QUIET_US, LATER_AT_ONCE each LATER_US: another firmware may answer.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "fm/fabric/own.h"
#include "fm/program/adaptive.h"
#include "topology/dump.h"
#include "topology/mem.h"
#include "topology/sort.h"

#define ON	      "adaptive-routing"
#define QUIET_US      30000000 /* since something was published; then.. */
#define LATER_US      1000000
#define LATER_AT_ONCE 8

struct mute { /* does not answer GeneralInfo */
	guid_t sw;
	uint16_t device;
	uint32_t revision;
};

struct mutes {
	struct mute *list; /* by GUID */
	uint32_t count, size;
	struct loop_timer *later;
};

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
	fabric_request_reroute(f, "adaptive routing is off");
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

/* ---- Those that do not answer ---------------------------------------------------------------------- */

static uint32_t place_of(const struct mutes *m, guid_t sw)
{
	return sort_place(0, m->count, at, m->list[at].sw < sw);
}

static bool is_at(const struct mutes *m, uint32_t place, guid_t sw)
{
	return place < m->count && m->list[place].sw == sw;
}

static bool is_mute(void *arg, const struct inv_node *node)
{
	const struct fabric *f = arg;
	const struct mutes *m = f->mutes;
	uint32_t place = place_of(m, node->guid);

	return is_at(m, place, node->guid) && m->list[place].device == node->info.device &&
	       m->list[place].revision == node->info.revision;
}

static void insert(struct mutes *m, uint32_t place, struct mute it)
{
	if (m->count == m->size) {
		m->size = m->size ? 2 * m->size : 64;
		m->list = mem_resize(m->list, m->size, sizeof(*m->list));
	}
	memmove(m->list + place + 1, m->list + place, (m->count++ - place) * sizeof(*m->list));
	m->list[place] = it;
}

static void take_out(struct mutes *m, uint32_t place)
{
	memmove(m->list + place, m->list + place + 1, (--m->count - place) * sizeof(*m->list));
}

static unsigned read_mutes(void *arg, FILE *in)
{
	struct fabric *f = arg;
	struct mutes *m = f->mutes;
	char line[128], rest;

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++) {
		struct mute it;

		if (sscanf(line, "0x%" SCNx64 " %" SCNu16 " %" SCNu32 " %c", &it.sw, &it.device,
			   &it.revision, &rest) != 3 ||
		    (m->count && m->list[m->count - 1].sw >= it.sw))
			return number;
		insert(m, m->count, it);
	}
	return 0;
}

static void forget_mutes(void *arg)
{
	struct fabric *f = arg;

	f->mutes->count = 0;
}

static void write_mutes(const void *arg, FILE *out)
{
	const struct fabric *f = arg;
	const struct mutes *m = f->mutes;

	for (uint32_t i = 0; i < m->count; i++)
		fprintf(out, "0x%016" PRIx64 " %u %" PRIu32 "\n", m->list[i].sw, m->list[i].device,
			m->list[i].revision);
}

static const struct state_file mutes_file = {
	.name = "generalinfo",
	.form = "`GUID DEVICE REVISION`, by GUID",
	.read = read_mutes,
	.forget = forget_mutes,
	.write = write_mutes,
	.gather_us = 1000000,
	.gather_max_us = 60000000,
};

static void asked(void *arg, const struct inv_node *node, bool mute)
{
	struct fabric *f = arg;
	uint32_t place = place_of(f->mutes, node->guid);

	if (mute == is_mute(f, node))
		return;
	if (is_at(f->mutes, place, node->guid))
		take_out(f->mutes, place);
	if (mute)
		insert(f->mutes, place,
		       (struct mute){ node->guid, node->info.device, node->info.revision });
	fabric_state_changed(f, &mutes_file);
}

static void later_cb(void *arg)
{
	struct fabric *f = arg;
	bool quiet = f->state == FABRIC_UP && fabric_rules(f) && !sweep_busy(f->sweep) &&
		     !fabric_updates(f);

	if (!quiet || adaptive_ask_later(f->adaptive, LATER_AT_ONCE))
		loop_timer_set(f->mutes->later, LATER_US);
}

/* Something was published: there may be some that were met. */
static void look_later(struct fabric *f)
{
	loop_timer_set(f->mutes->later, QUIET_US);
}

void fabric_adaptive_ask(struct fabric *f)
{
	if (!f->adaptive_begun)
		adaptive_ask(f->adaptive);
}

void fabric_adaptive_program(struct fabric *f)
{
	look_later(f);
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
	static const struct adaptive_ops ops = { turned, done, is_mute, asked };

	f->mutes = mem_alloc(1, sizeof(*f->mutes));
	f->mutes->later = loop_timer_new(f->loop, later_cb, f);
	f->adaptive = adaptive_new(f->loop, f->mad, sweep_inventory(f->sweep), &ops, f);
}

void fabric_adaptive_fini(struct fabric *f)
{
	alerts_review(f->alerts, ON);
	alerts_reviewed(f->alerts, ON);
	adaptive_free(f->adaptive);
	loop_timer_free(f->mutes->later);
	free(f->mutes->list);
	free(f->mutes);
}

void fabric_adaptive_load(struct fabric *f)
{
	fabric_state_read(f, &mutes_file);
}
