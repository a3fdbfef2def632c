/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * change: what cordon, uncordon and release have in common: an operation (fm/fabric/operation.h),
 * its answer and its event.
 */
#include <stdlib.h>
#include "fm/core/words.h"
#include "fm/fabric/view.h"
#include "fm/maintenance/maintenance.h"
#include "fm/maintenance/transit.h"
#include "topology/mem.h"

/* By kind: in the answer's text, and the kind of the event. */
static const char *const verbs[] = { [CHANGE_CORDON] = "cordoned",
				     [CHANGE_UNCORDON] = "uncordoned",
				     [CHANGE_RELEASE] = "released" };

static json_t *result(void *data)
{
	const struct change *change = data;
	const struct maintenance *m = change->room;
	const struct fabric_view view = fabric_view(m->fabric);
	const struct fabric_written written = fabric_written(m->fabric);
	bool changed = change->cordons.count || change->released.count;
	json_t *result = json_pack(
		"{ss sb si sI sI sf sI}", "what", change->what,
		change->kind == CHANGE_RELEASE ? "released" : "cordoned",
		change->kind != CHANGE_UNCORDON, "ports", (int)change->links, "lft_entries_changed",
		(json_int_t)(changed ? written.entries : 0), "lft_blocks_written",
		(json_int_t)(written.blocks - change->blocks_before), "took_ms",
		(loop_now_us(m->services.loop) - change->asked_us) / 1e3, "unreachable",
		(json_int_t)(view.proof ? view.proof->unreachable : 0));

	json_object_set_new(result, "not_honoured",
			    transit_overridden(&view, &m->cordons.in_force));
	if (change->note)
		json_object_set_new(result, "note", json_string(change->note));
	return result;
}

static void log_done(const struct change *change, json_t *result)
{
	struct event_log *events = change->room->services.events;
	json_int_t entries = json_integer_value(json_object_get(result, "lft_entries_changed"));
	json_int_t blocks = json_integer_value(json_object_get(result, "lft_blocks_written"));
	const char *unsaved = json_string_value(json_object_get(result, "not_saved"));
	unsigned overridden = (unsigned)json_array_size(json_object_get(result, "not_honoured"));

	if (overridden)
		event_log_add(events, LOG_WARNING, "cordons-bent", NULL,
			      "fabric: %u %s transit traffic although cordoned: some hosts have no "
			      "other path",
			      overridden,
			      words_plural(overridden, "switch or link carries",
					   "switches or links carry"));
	event_log_add(events, LOG_NOTICE, verbs[change->kind], json_incref(result),
		      "%s: %s, %u %s: %lld %s in %lld %s, %.1f ms%s%s", change->what,
		      verbs[change->kind], change->links,
		      words_plural(change->links, "link", "links"), entries,
		      words_plural((uint64_t)entries, "entry", "entries"), blocks,
		      words_plural((uint64_t)blocks, "block", "blocks"),
		      json_real_value(json_object_get(result, "took_ms")), unsaved ? ", but " : "",
		      unsaved ? unsaved : "");
}

static void reported(void *data, json_t *result, const char *error)
{
	const struct change *change = data;

	if (change->note)
		return;
	if (error)
		event_log_add(change->room->services.events, LOG_WARNING, verbs[change->kind], NULL,
			      "%s: %s, but not applied: %s", change->what, verbs[change->kind],
			      error);
	else
		log_done(change, result);
}

static void rollback(void *data)
{
	const struct change *change = data;
	struct maintenance *m = change->room;

	if (change->kind == CHANGE_RELEASE)
		quarantines_restore(&m->quarantines, &change->released);
	else
		cordons_change(&m->cordons, &change->cordons, change->kind == CHANGE_UNCORDON);
}

static void free_data(void *data)
{
	change_free(data);
}

static const struct fabric_operation_ops cordon_ops = { .file = "cordons",
							.rollback = rollback,
							.result = result,
							.reported = reported,
							.free = free_data };

static const struct fabric_operation_ops release_ops = { .file = "quarantine",
							 .rollback = rollback,
							 .result = result,
							 .reported = reported,
							 .free = free_data };

static const struct fabric_operation_ops *ops_of(const struct change *change)
{
	return change->kind == CHANGE_RELEASE ? &release_ops : &cordon_ops;
}

void change_start(struct change *change, waiter_fn *fn, void *arg)
{
	fabric_operation_start(change->room->fabric, ops_of(change), change, fn, arg);
}

void change_unchanged(struct change *change, const char *note, waiter_fn *fn, void *arg)
{
	change->note = note;
	fabric_operation_done(change->room->fabric, ops_of(change), change, fn, arg);
}

struct change *change_new(struct maintenance *m, const struct target *target, enum change_kind kind)
{
	struct change *change = mem_alloc(1, sizeof(*change));

	*change = (struct change){ .room = m,
				   .kind = kind,
				   .asked_us = loop_now_us(m->services.loop),
				   .blocks_before = fabric_written(m->fabric).blocks };
	snprintf(change->what, sizeof(change->what), "%s", target->name);
	return change;
}

void change_free(struct change *change)
{
	free(change->cordons.list);
	free(change->released.list);
	free(change);
}
