/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/adaptive/module.h"
#include <inttypes.h>
#include "fm/adaptive/calibrate.h"
#include "fm/adaptive/probe.h"
#include "fm/adaptive/write.h"
#include "fm/mad/batch.h"
#include "fm/program/program.h"
#include "topology/files/dump.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"

/*
 * One batch sends queries, beside everything else: GeneralInfo of each switch not queried yet,
 * PrivateLFTInfo and AdaptiveRoutingInfo of those that have them. Switches with a mode on are
 * listed, and turned off by another batch in phases, each of which ends when that batch is idle:
 *
 *   BLOCKS  all blocks of one switch that has a mode on
 *   OFF     its modes are turned off
 *   VERIFY  its modes are read back; then BLOCKS of the next switch
 *
 * Switches are queried during the first route, and the first programming waits for those that
 * answer: until then it is not known what they forward by. Switches that are found later are
 * queried beside other work, and programmed once more if something had to be turned off.
 *
 * Switches that do not answer GeneralInfo are queried again when nothing was published for QUIET_US
 * and the fabric is idle, LATER_AT_ONCE of them each LATER_US: they may have another firmware by
 * then.
 */

#define ON	      "adaptive-routing" /* the alert */
#define PATIENCE_US   20000		 /* since the latest answer */
#define QUIET_US      30000000
#define LATER_US      1000000
#define LATER_AT_ONCE 8

enum phase { IDLE, BLOCKS, OFF, VERIFY };
enum mode { PRIVATE, ADAPTIVE, MODES };
/* Each mode is read, and turned off. */
enum job {
	JOB_GENERAL,
	JOB_READ,
	JOB_BLOCK = JOB_READ + MODES,
	JOB_OFF,
	JOB_FIRMWARE = JOB_OFF + MODES
};

static const struct {
	uint16_t attr;
	bool (*on)(const uint8_t *info);
	void (*off)(uint8_t *info);
} modes[] = { { WIRE_PRIVATE_LFT_INFO, wire_private_lft_on, wire_private_lft_off },
	      { WIRE_ADAPTIVE_INFO, wire_adaptive_on, wire_adaptive_off } };

struct turning { /* a switch that has a mode on */
	guid_t guid;
	bool own;			/* this manager had turned it on */
	char firmware[DEVICE_FIRMWARE]; /* "" = not known */
	bool has[MODES];
	uint8_t info[MODES][WIRE_SMP_DATA];
};

/* Of each node: adaptive routing, or another mode in which a switch does not forward by its LFT. */
enum adaptive_mode {
	ADAPTIVE_UNKNOWN,
	ADAPTIVE_LATER, /* not known, and nothing waits for it */
	ADAPTIVE_ASKED,
	ADAPTIVE_NONE,	  /* can't */
	ADAPTIVE_CAPABLE, /* can, and it was off */
	ADAPTIVE_ON,
	ADAPTIVE_OFF, /* was on until this manager turned it off */
};

struct adaptive {
	struct fabric *fabric;
	struct fabric_services services;
	bool programmed; /* the first programming has begun */
	struct batch *asks, *batch;
	struct loop_timer *patience, *later; /* later: silent ones are asked again */
	enum phase phase;
	const struct topo *topo; /* referenced */
	const struct tables *tables;
	struct turning *list;
	uint32_t count, at;
	uint64_t began_us, answered_us;
	bool failed;
	/* The first programming is due when `awaited` requests are answered, or patience ends. */
	bool pending;
	unsigned awaited;
	struct probe *probe; /* NULL = none is under way */
	struct waiters probers;
	json_t *packings;	     /* by device, then firmware: rows of probe.h */
	struct writer *writer;	     /* NULL: adaptive_routing was never on */
	struct calibrate *calibrate; /* NULL: nor "calibrate" */
};

/* ---- Those that do not answer, over a restart ------------------------------------------------ */

#define GUID_TEXT 18 /* characters, as a row begins */

/* Whether a switch is listed, with that device ID and revision; and its row. */
static bool is_listed(const struct adaptive *a, const struct inv_node *node, char row[64])
{
	char guid[GUID_TEXT + 1];
	const char *value;

	snprintf(guid, sizeof(guid), "0x%016" PRIx64, node->guid);
	snprintf(row, 64, "%s %u %" PRIu32, guid, node->info.device, node->info.revision);
	value = state_value(a->services.state, "generalinfo", guid);
	return value && !strcmp(value, row + GUID_TEXT + 1);
}

static bool take_line(void *owner, const char *line)
{
	int words = 0;

	sscanf(line, "0x%*16[0-9a-f] %*u %*u%n", &words);
	return words > GUID_TEXT && !line[words];
}

static const struct state_kind list_kind = { .name = "generalinfo",
					     .form = "`GUID DEVICE REVISION`",
					     .line = take_line };

/* ---- Switches that are asked ----------------------------------------------------------------- */

static uint8_t *mode_of(const struct inv_node *node)
{
	return inv_node_cell(node, INV_ADAPTIVE, 1);
}

static bool can_be_asked(const struct inv_node *node)
{
	return inv_is_switch(node) && !node->gone && !node->silent &&
	       !inv_node_is(node, INV_NO_SETS) && wire_adaptive_vendor(node->info.vendor);
}

static void add_to(struct batch *b, enum job kind, const struct inv_node *node, uint32_t arg)
{
	batch_add(b,
		  &(struct batch_job){
			  .object = (void *)node->guid, .arg = arg, .kind = kind, .urgent = true });
}

static void ask_general(struct adaptive *a, struct inv_node *node, bool patiently)
{
	*mode_of(node) = ADAPTIVE_ASKED;
	a->awaited += !patiently;
	add_to(a->asks, JOB_GENERAL, node, patiently);
}

static struct inv_node *node_of(const struct adaptive *a, const struct batch_job *job)
{
	return inventory_find(a->services.inventory, (uintptr_t)job->object);
}

/* The switch has it on: in the list, of those whose turn is not over, nor too far for that. */
static struct turning *take_mode(struct adaptive *a, guid_t guid, enum mode mode,
				 const uint8_t info[WIRE_SMP_DATA])
{
	uint32_t i = a->at + (a->phase > BLOCKS);

	while (i < a->count && a->list[i].guid != guid)
		i++;
	if (i >= a->count) {
		i = a->count++;
		a->list = mem_array_resize(a->list, a->count);
		a->list[i] = (struct turning){ .guid = guid };
	}
	a->list[i].has[mode] = true;
	memcpy(a->list[i].info[mode], info, WIRE_SMP_DATA);
	return &a->list[i];
}

/* ---- Requests -------------------------------------------------------------------------------- */

static bool make(void *owner, const struct batch_job *job, struct batch_request *r)
{
	struct adaptive *a = owner;
	const struct inv_node *node = node_of(a, job);

	if (!node || node->gone)
		return false;
	r->mad.urgent = true;
	if (job->kind == JOB_FIRMWARE)
		return device_ask(&a->services, node, r);
	r->via.path = node->path;
	r->via.stamp = a->services.inventory->clock;
	r->mad.device = node->guid;
	if (job->kind >= JOB_BLOCK) {
		const struct turning *now = &a->list[a->at];
		uint32_t row;

		r->mad.method = WIRE_SET;
		r->mad.attr_mod = 0;
		if (job->kind == JOB_BLOCK) {
			row = topo_find(a->topo, now->guid);
			r->mad.attr_id = WIRE_LFT;
			r->mad.attr_mod = job->arg;
			memcpy(r->data, tables_block(a->tables, row, job->arg), TABLES_BLOCK);
		} else {
			r->mad.attr_id = modes[job->kind - JOB_OFF].attr;
			memcpy(r->data, now->info[job->kind - JOB_OFF], WIRE_SMP_DATA);
			modes[job->kind - JOB_OFF].off(r->data);
		}
		return true;
	}
	r->mad.method = WIRE_GET;
	r->mad.attr_id =
		job->kind == JOB_GENERAL ? WIRE_GENERAL_INFO : modes[job->kind - JOB_READ].attr;
	r->mad.attr_mod = job->kind == JOB_GENERAL ? WIRE_GENERAL_CAPS : 0;
	r->mad.once = job->kind == JOB_GENERAL && job->arg;
	r->mad.retries = 1;
	r->mad.doubtful =
		true; /* old devices do not answer at all: a time-out is no sign of congestion */
	return true;
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void ask_awaited(struct adaptive *a, enum job job, const struct inv_node *node)
{
	a->awaited++;
	add_to(a->asks, job, node, 0);
}

static struct inv_node *answered(struct adaptive *a, const struct batch_job *job,
				 const struct batch_path *via, const struct mad_answer *answer)
{
	if (answer->result != MAD_TIMEOUT)
		inventory_path_result(a->services.inventory, &via->path, true, via->stamp);
	return node_of(a, job);
}

/* Of turning off, and of the reading behind it. */
static void adaptive_done(void *owner, const struct batch_job *job, const struct batch_path *via,
			  const struct mad_answer *answer)
{
	struct adaptive *a = owner;

	if (answered(a, job, via, answer))
		a->failed |=
			answer->result != MAD_OK ||
			(job->kind < JOB_BLOCK && modes[job->kind - JOB_READ].on(answer->data));
}

/* ---- Phases ---------------------------------------------------------------------------------- */

/* The next switch of the list, without those that are gone; NULL = there is no more. */
static struct inv_node *next_switch(struct adaptive *a)
{
	for (; a->at < a->count; a->at++) {
		struct inv_node *node = inventory_find(a->services.inventory, a->list[a->at].guid);

		if (node && !node->gone && topo_find(a->topo, node->guid) < a->topo->nswitches)
			return node;
	}
	return NULL;
}

static void begin_switch(struct adaptive *a)
{
	const struct inv_node *node = next_switch(a);
	uint32_t blocks = tables_blocks(a->tables);

	if (!node) {
		a->phase = IDLE;
		a->count = a->at = 0;
		if (a->pending) {
			a->pending = false;
			if (!a->programmed)
				fabric_request_program(a->fabric,
						       "what is on of adaptive routing is known");
			a->programmed = true;
		}

		return;
	}
	if (a->writer)
		writer_left(a->writer, node);
	a->phase = BLOCKS;
	a->failed = false;
	a->began_us = loop_now_us(a->services.loop);
	for (uint32_t b = 0; b < blocks; b++)
		add_to(a->batch, JOB_BLOCK, node, b);
	batch_wake(a->batch);
}

/* A request for each mode that the switch has on. */
static void ask_both(struct adaptive *a, const struct inv_node *node, enum job job)
{
	for (enum mode mode = 0; mode < MODES; mode++)
		if (a->list[a->at].has[mode])
			add_to(a->batch, job + mode, node, 0);
	batch_wake(a->batch);
}

/* What became of a switch that had a mode on. */
static void report(const struct adaptive *a, const struct inv_node *node)
{
	struct event_subject subject = inventory_link_subject(a->services.inventory, node->guid, 0);
	uint64_t took_us = loop_now_us(a->services.loop) - a->began_us;

	subject.name = node->name;
	if (a->failed) {
		alert_raise(a->services.alerts, ON, &subject,
			    "%s: adaptive routing is on and could not be turned off, so the switch "
			    "may forward by tables unknown to fmd; it is tried again",
			    node->name);
		return;
	}
	bool again = alert_text(a->services.alerts, ON, &subject);

	alert_end(a->services.alerts, ON, &subject);
	event_log_add(a->services.events, LOG_WARNING, "adaptive-routing-off", &subject,
		      json_pack("{ss sI}", "switch", node->name, "took_us", (json_int_t)took_us),
		      "%s 0x%016" PRIx64
		      ": %s: wrote all blocks, turned it off and read it back in "
		      "%.1f ms",
		      node->name, node->guid,
		      again || a->list[a->at].own ? "adaptive routing is over"
						  : "another manager had left adaptive routing on",
		      took_us / 1e3);
}

static void idle(void *owner)
{
	struct adaptive *a = owner;
	struct inv_node *node = next_switch(a);

	if (a->phase == IDLE)
		return;
	if (!node) /* it went away */
		begin_switch(a);
	else if (a->phase == BLOCKS) {
		a->phase = OFF;
		ask_both(a, node, JOB_OFF);
	} else if (a->phase == OFF) {
		a->phase = VERIFY;
		ask_both(a, node, JOB_READ);
	} else {
		if (a->failed) {
			*mode_of(node) = ADAPTIVE_ON;
		} else {
			struct turning *now = &a->list[a->at];

			if (*mode_of(node) != ADAPTIVE_UNKNOWN)
				*mode_of(node) = ADAPTIVE_OFF;
			wire_adaptive_off(now->info[ADAPTIVE]);
			if (a->writer && now->has[ADAPTIVE] && !now->own)
				writer_offer(a->writer, node, now->info[ADAPTIVE]);
		}
		report(a, node);
		if (a->calibrate)
			calibrate_turned_off(a->calibrate, node->guid);
		a->at++;
		if (a->programmed) {
			program_forget(a->services.program, node->guid);
			fabric_request_reroute(a->fabric, "adaptive routing is off");
		}
		begin_switch(a);
	}
}

/* ---- Asking ---------------------------------------------------------------------------------- */

/* Starts to turn modes off that are not to stay, as soon as there are tables to write. */
static void asks_over(void *owner)
{
	struct adaptive *a = owner;
	uint32_t kept = 0;

	loop_timer_stop(a->patience);
	for (uint32_t i = 0; a->writer && a->phase == IDLE && i < a->count; i++) {
		const struct turning *it = &a->list[i];
		const struct inv_node *node = inventory_find(a->services.inventory, it->guid);

		if (!node || it->own || it->has[PRIVATE] || !it->has[ADAPTIVE] ||
		    !a->services.conf->routing.adaptive ||
		    !writer_adopt(a->writer, node, it->info[ADAPTIVE], it->firmware))
			a->list[kept++] = *it;
		else
			*mode_of(node) = ADAPTIVE_CAPABLE;
	}
	a->count = a->writer && a->phase == IDLE ? kept : a->count;
	if (a->phase == IDLE && (a->pending || (a->count && a->topo)))
		begin_switch(a);
}

static void patience_cb(void *arg)
{
	struct adaptive *a = arg;
	uint64_t end_us = a->answered_us + PATIENCE_US, now = loop_now_us(a->services.loop);

	if (a->awaited && now < end_us)
		loop_timer_set(a->patience, end_us - now);
	else
		asks_over(a);
}

static void count_off(struct adaptive *a, const struct batch_job *job)
{
	if (job->kind == JOB_GENERAL && job->arg)
		return;
	if (!--a->awaited)
		asks_over(a);
}

static void adaptive_asked(void *owner, const struct batch_job *job, const struct batch_path *via,
			   const struct mad_answer *answer)
{
	struct adaptive *a = owner;
	struct inv_node *node = answered(a, job, via, answer);
	const uint8_t *data = answer->result == MAD_OK ? answer->data : NULL;

	if (answer->result != MAD_TIMEOUT)
		a->answered_us = loop_now_us(a->services.loop);
	if (node && job->kind == JOB_GENERAL) {
		/*
		 * A switch that did not answer at the start is queried once more when the fabric is
		 * idle.
		 */
		bool patiently = job->arg;
		bool silent = answer->result == MAD_TIMEOUT;
		char row[64];

		*mode_of(node) = silent && !patiently ? ADAPTIVE_LATER : ADAPTIVE_NONE;

		if (silent != is_listed(a, node, row))
			(silent ? state_put : state_remove)(a->services.state, &list_kind, a, row);
		if (data) {
			if (wire_has_cap(data, WIRE_CAP_PRIVATE_LFT))
				ask_awaited(a, JOB_READ + PRIVATE, node);
			if (wire_has_cap(data, WIRE_CAP_ADAPTIVE)) {
				*mode_of(node) = ADAPTIVE_CAPABLE;
				ask_awaited(a, JOB_READ + ADAPTIVE, node);
			}
		}
	} else if (node && job->kind == JOB_FIRMWARE) {
		ARRAY_EACH (it, a->list, a->count)
			if (it->guid == node->guid)
				device_firmware(answer, it->firmware);
	} else if (node) {
		enum mode mode = job->kind - JOB_READ;

		if (data && modes[mode].on(data)) {
			*mode_of(node) = ADAPTIVE_ON;
			take_mode(a, node->guid, mode, data);
			if (mode == ADAPTIVE && a->writer)
				ask_awaited(a, JOB_FIRMWARE, node);
		} else if (data && mode == ADAPTIVE && a->writer) {
			writer_offer(a->writer, node, data);
		}
	}
	count_off(a, job);
}

/* No path leads to the switch any more: it is queried again when one does. */
static void not_asked(void *owner, const struct batch_job *job)
{
	struct inv_node *node = node_of(owner, job);

	if (node && *mode_of(node) == ADAPTIVE_ASKED)
		*mode_of(node) = ADAPTIVE_UNKNOWN;
	count_off(owner, job);
}

/* A switch without any table had no manager before: no mode can be on. */
static void ask(struct adaptive *a, struct inv_node *node)
{
	char row[64];

	if (!node || *mode_of(node) != ADAPTIVE_UNKNOWN || !can_be_asked(node))
		return;
	if (!node->sw.lft_top || is_listed(a, node, row))
		*mode_of(node) = ADAPTIVE_LATER;
	else
		ask_general(a, node, false);
	a->answered_us = loop_now_us(a->services.loop);
}

/* ---- Packings -------------------------------------------------------------------------------- */

static void keep_packing(struct adaptive *a, const char *device, const char *firmware, json_t *row)
{
	if (!json_object_get(a->packings, device))
		json_object_set_new(a->packings, device, json_object());
	json_object_set(json_object_get(a->packings, device), firmware, row);
}

/*
 * `DEVICE FIRMWARE ROW`: what a probe found of a kind of device. "-" for the firmware is of a time
 * when it was not asked for: no switch has that one.
 */
static bool take_packing(void *owner, const char *line)
{
	char device[16], firmware[DEVICE_FIRMWARE];
	int at = 0, words = sscanf(line, "%15s %31s %n", device, firmware, &at);
	json_t *row = json_loads(line + at, 0, NULL);
	const char *own = json_text(row, "firmware");
	bool sound = words == 2 && json_text(row, "device") &&
		     !strcmp(json_text(row, "device"), device) &&
		     !strcmp(own ? own : "-", firmware) && probe_row_is_sound(row);

	if (sound)
		keep_packing(owner, device, firmware, row);
	json_decref(row);
	return sound;
}

static const struct state_kind packing_kind = {
	.name = "ar_packing", .form = "`DEVICE FIRMWARE JSON`", .line = take_packing, .always = true
};

static void found(struct adaptive *a, json_t *row)
{
	const char *device = json_text(row, "device"), *firmware = json_text(row, "firmware");
	char *text = json_dumps(row, JSON_COMPACT);
	json_t *line = json_sprintf("%s %s %s", device, firmware, text);

	keep_packing(a, device, firmware, row);
	state_put(a->services.state, &packing_kind, a, json_string_value(line));
	json_decref(line);
	free(text);
}

/* Who waited for a packing joins. */
static void join(struct adaptive *a)
{
	if (!a->writer || !a->services.conf->routing.adaptive)
		return;
	writer_configure(a->writer);
	writer_settled(a->writer);
}

/* What was found is kept; where nothing is, what was found earlier is shown. */
static void probed(void *arg, json_t *rows)
{
	struct adaptive *a = arg;

	JSON_EACH (row, rows) {
		const char *device = json_text(row, "device");
		const char *firmware = json_text(row, "firmware");
		json_t *earlier = json_object_get(json_object_get(a->packings, device), firmware);

		if (!strcmp(json_text(row, "result"), "found")) {
			found(a, (json_t *)row);
		} else if (earlier) {
			json_object_update_missing((json_t *)row, earlier);
			json_object_set_new((json_t *)row, "result", json_string("found earlier"));
		}
	}
	probe_free(a->probe);
	a->probe = NULL;
	waiters_answer(&a->probers, rows, NULL);
	json_decref(rows);
	join(a);
}

void adaptive_probe(struct fabric *fabric, uint32_t sw, waiter_fn *fn, void *arg)
{
	struct adaptive *a = fabric_room(fabric, &adaptive_module);
	const struct fabric_view view = fabric_view(fabric);

	if (!view.topo || a->probe) {
		fn(arg, NULL,
		   a->probe ? "another probe is under way"
			    : "no topology yet: the first sweep has not finished");
		return;
	}
	waiters_add(&a->probers, fn, arg);
	a->probe = probe_new(&a->services, view.topo, view.lids, sw, probed, a);
}

/* ---- Hooks ----------------------------------------------------------------------------------- */

/* While the fabric is quiet: some of the switches that nothing waits for; then who can joins. */
static void later_cb(void *arg)
{
	struct adaptive *a = arg;
	unsigned most = fabric_quiet_since_us(a->fabric) ? LATER_AT_ONCE : 0, left = most;

	INVENTORY_EACH (a->services.inventory, node) {
		/* Those that are still on could not be turned off. */
		if ((*mode_of(node) != ADAPTIVE_LATER && *mode_of(node) != ADAPTIVE_ON) ||
		    a->phase != IDLE || !can_be_asked(node))
			continue;
		if (!left--) {
			loop_timer_set(a->later, LATER_US);
			return;
		}
		ask_general(a, node, true);
	}
	if (left < most)
		loop_timer_set(a->later, LATER_US);
	else if (a->writer)
		writer_settled(a->writer);
}

/* Ahead of the first route: answers are there when adaptive_check() needs them. */
static void annotate(void *room, struct inventory *inventory)
{
	struct adaptive *a = room;

	for (struct inv_node *node = a->programmed ? NULL : inventory_first(inventory); node;
	     node = inventory_next(inventory, node))
		ask(a, node);
	if (a->calibrate && a->services.conf->routing.adaptive == CONF_CALIBRATE &&
	    fabric_is_master(a->fabric))
		calibrate_choose(a->calibrate);
}

/*
 * Something was published: switches may have been met, which are asked, or that have a mode on.
 * Until that is known nothing is programmed for the first time.
 */
static void published(void *room, enum fabric_update_step step, const struct topo *before)
{
	struct adaptive *a = room;
	struct fabric_view view = fabric_view(a->fabric);

	if (step != FABRIC_PUBLISHED || fabric_observes(a->fabric))
		return;
	loop_timer_set(a->later, QUIET_US);
	topo_unref(a->topo);
	a->topo = topo_ref(view.topo);
	a->tables = view.tables;
	if (!a->pending && a->phase == IDLE) {
		for (uint32_t sw = 0; sw < a->topo->nswitches; sw++)
			ask(a, inventory_find(a->services.inventory, a->topo->nodes[sw].guid));
		a->pending = a->awaited || a->count;
		a->programmed |= !a->pending;
		if (a->pending)
			loop_timer_set(a->patience, 0);
	}
	if (a->calibrate)
		calibrate_published(a->calibrate);
	if (a->writer)
		writer_published(a->writer);
	if (!a->programmed)
		fabric_hold_program(a->fabric);
}

static void programmed(void *room, const struct fabric_programmed *programmed)
{
	struct adaptive *a = room;

	if (a->writer && programmed->tables)
		writer_programmed(a->writer, programmed->tables);
}

static void settled(void *room, enum fabric_settle_step step)
{
	struct adaptive *a = room;

	if (a->calibrate && step == FABRIC_SETTLED && a->phase == IDLE)
		calibrate_settled(a->calibrate);
	if (a->writer && step == FABRIC_SETTLED)
		writer_settled(a->writer);
}

/* What this manager turned on it turns off: its groups are wrong, or not wanted any more. */
static void leave(void *arg, const struct inv_node *node, const uint8_t info[64])
{
	struct adaptive *a = arg;
	take_mode(a, node->guid, ADAPTIVE, info)->own = true;
	loop_timer_set(a->patience, 0);
}

static void calibrated(void *arg, const struct inv_node *leaf, const uint8_t *info, json_t *row)
{
	struct adaptive *a = arg;

	*mode_of(leaf) = ADAPTIVE_UNKNOWN; /* it is asked, for the writer and where it is away */
	leave(a, leaf, info);
	if (row)
		found(a, row);
	json_decref(row);
	join(a);
}

static void configure(void *room)
{
	struct adaptive *a = room;

	if (!a->calibrate && a->services.conf->routing.adaptive == CONF_CALIBRATE)
		a->calibrate = calibrate_new(a->fabric, a->packings, calibrated, a);
	if (a->writer) {
		writer_configure(a->writer);
	} else if (a->services.conf->routing.adaptive && !a->services.conf->sm.observe) {
		a->writer = writer_new(a->fabric, a->packings, leave, a);
		INVENTORY_EACH (a->services.inventory, node)
			if (*mode_of(node) == ADAPTIVE_CAPABLE || *mode_of(node) == ADAPTIVE_OFF)
				ask_awaited(a, JOB_READ + ADAPTIVE, node);
	}
}

/* A lost file leaves the list empty. */
static void load(void *room, enum fabric_load_step step)
{
	struct adaptive *a = room;

	if (step != FABRIC_LOAD)
		return;
	state_read(a->services.state, &list_kind, a);
	state_read(a->services.state, &packing_kind, a);
}

/* ---- For operators --------------------------------------------------------------------------- */

json_t *adaptive_switches(const struct fabric *fabric)
{
	const struct adaptive *a = fabric_room(fabric, &adaptive_module);
	const struct topo *t = fabric_view(fabric).topo;
	json_t *rows = dump_json_nodes(t, true);

	JSON_EACH (row, rows) { /* in the order of the snapshot */
		const struct inv_node *node =
			inventory_find(a->services.inventory, t->nodes[row_at].guid);
		enum adaptive_mode mode = node ? *mode_of(node) : ADAPTIVE_UNKNOWN;
		bool on = mode == ADAPTIVE_ON || writer_on(node);
		const char *word = on			      ? "on"
				   : mode == ADAPTIVE_CAPABLE ? "capable"
				   : mode == ADAPTIVE_OFF     ? "off"
							      : NULL;

		json_object_set_new((json_t *)row, "ar", word ? json_string(word) : json_null());
	}
	return rows;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	static const struct batch_ops asks = {
		.make = make, .done = adaptive_asked, .unwanted = not_asked, .idle = asks_over
	};
	static const struct batch_ops batch = { .make = make, .done = adaptive_done, .idle = idle };
	struct adaptive *a = mem_new(a);
	const struct fabric_services *s = &a->services;

	a->fabric = fabric;
	a->services = fabric_services(fabric);
	a->packings = json_object();
	inventory_open_column(s->inventory, INV_ADAPTIVE, 1, NULL);
	a->asks = batch_new(s->loop, s->mad, &asks, a);
	a->batch = batch_new(s->loop, s->mad, &batch, a);
	a->patience = loop_timer_new(s->loop, patience_cb, a);
	a->later = loop_timer_new(s->loop, later_cb, a);
	configure(a);
	return a;
}

static void role(void *room, enum fabric_role now, enum fabric_role_step step)
{
	if (step == FABRIC_ROLE_LEFT)
		waiters_answer(&((struct adaptive *)room)->probers, NULL, FABRIC_ROLE_CHANGED);
}

static void fini(void *room)
{
	struct adaptive *a = room;

	alerts_review(a->services.alerts, ON);
	alerts_reviewed(a->services.alerts, ON);
	calibrate_free(a->calibrate);
	writer_free(a->writer);
	waiters_fini(&a->probers);
	if (a->probe)
		probe_free(a->probe);
	json_decref(a->packings);
	batch_free(a->asks);
	batch_free(a->batch);
	loop_timer_free(a->patience);
	loop_timer_free(a->later);
	topo_unref(a->topo);
	free(a->list);
	free(a);
}

const struct fabric_module adaptive_module = { .name = "adaptive-routing",
					       .init = init,
					       .fini = fini,
					       .load = load,
					       .configure = configure,
					       .role = role,
					       .annotate = annotate,
					       .published = published,
					       .programmed = programmed,
					       .settled = settled };
