/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/adaptive/module.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "fm/fabric/progress.h"
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/mad/batch.h"
#include "fm/mad/wire_optional.h"
#include "fm/program/program.h"
#include "topology/files/dump.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/snapshot/topo_builder.h"

struct entry {
	guid_t sw;
	uint16_t device;
	uint32_t revision;
};

struct unanswered {
	struct state_store *state;
	struct entry *list; /* by GUID */
	uint32_t count, size;
};

static uint32_t place_of(const struct unanswered *u, guid_t sw)
{
	return sort_place(0, u->count, at, u->list[at].sw < sw);
}

static bool is_at(const struct unanswered *u, uint32_t place, guid_t sw)
{
	return place < u->count && u->list[place].sw == sw;
}

/* Whether a switch is listed, with that device ID and revision. */
static bool unanswered_has(const struct unanswered *u, const struct inv_node *node)
{
	uint32_t place = place_of(u, node->guid);

	return is_at(u, place, node->guid) && u->list[place].device == node->info.device &&
	       u->list[place].revision == node->info.revision;
}

static void insert(struct unanswered *u, uint32_t place, struct entry it)
{
	if (u->count == u->size) {
		u->size = u->size ? 2 * u->size : 64;
		u->list = mem_resize(u->list, u->size, sizeof(*u->list));
	}
	memmove(u->list + place + 1, u->list + place, (u->count++ - place) * sizeof(*u->list));
	u->list[place] = it;
}

static void take_out(struct unanswered *u, uint32_t place)
{
	memmove(u->list + place, u->list + place + 1, (--u->count - place) * sizeof(*u->list));
}

static unsigned read_list(void *owner, FILE *in)
{
	struct unanswered *u = owner;
	char line[128], rest;

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++) {
		struct entry it;

		if (sscanf(line, "0x%" SCNx64 " %" SCNu16 " %" SCNu32 " %c", &it.sw, &it.device,
			   &it.revision, &rest) != 3 ||
		    (u->count && u->list[u->count - 1].sw >= it.sw))
			return number;
		insert(u, u->count, it);
	}
	return 0;
}

static void forget_list(void *owner)
{
	struct unanswered *u = owner;

	u->count = 0;
}

static void write_list(const void *owner, FILE *out)
{
	const struct unanswered *u = owner;

	for (uint32_t i = 0; i < u->count; i++)
		fprintf(out, "0x%016" PRIx64 " %u %" PRIu32 "\n", u->list[i].sw, u->list[i].device,
			u->list[i].revision);
}

static const struct state_file list_file = {
	.name = "generalinfo",
	.form = "`GUID DEVICE REVISION`, by GUID",
	.read = read_list,
	.forget = forget_list,
	.write = write_list,
	.gather_us = 1000000,
	.gather_max_us = 60000000,
};

/* Adds a silent switch or removes one that answered, and marks the file as changed. */
static void unanswered_note(struct unanswered *u, const struct inv_node *node, bool silent)
{
	uint32_t place = place_of(u, node->guid);

	if (silent == unanswered_has(u, node))
		return;
	if (is_at(u, place, node->guid))
		take_out(u, place);
	if (silent)
		insert(u, place,
		       (struct entry){ node->guid, node->info.device, node->info.revision });
	state_store_changed(u->state, &list_file, u);
}

/* Reads the file; a lost one leaves the list empty. */
static void unanswered_load(struct unanswered *u)
{
	state_store_read(u->state, &list_file, u);
}

/* An empty list, which the caller owns; state is borrowed. */
static struct unanswered *unanswered_new(struct state_store *state)
{
	struct unanswered *u = mem_alloc(1, sizeof(*u));

	u->state = state;
	return u;
}

static void unanswered_free(struct unanswered *u)
{
	free(u->list);
	free(u);
}

/*
 * adaptive: see module.h. One batch sends queries, beside everything else: GeneralInfo of each
 * switch not queried yet, PrivateLFTInfo and AdaptiveRoutingInfo of those that have them. Switches
 * with a mode on are listed, and turned off by another batch in phases, each of which ends when
 * that batch is idle:
 *
 *   BLOCKS  all blocks of one switch that has a mode on
 *   OFF     its modes are turned off
 *   VERIFY  its modes are read back; then BLOCKS of the next switch
 */

#define PATIENCE_US 20000 /* since the latest answer */

enum phase { IDLE, BLOCKS, OFF, VERIFY };
enum job { JOB_GENERAL, JOB_PRIVATE, JOB_ADAPTIVE, JOB_BLOCK, JOB_PRIVATE_OFF, JOB_ADAPTIVE_OFF };

struct turning { /* a switch that has a mode on */
	guid_t guid;
	bool has_private, has_adaptive; /* these were read */
	uint8_t private_info[64], adaptive_info[64];
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
	struct loop *loop;
	struct inventory *inv;
	struct batch *asks, *batch;
	struct loop_timer *patience;
	struct adaptive_ops ops;
	void *arg;
	enum phase phase;
	const struct topo *topo;    /* referenced */
	const struct topo *checked; /* referenced: nothing is unknown of its like */
	const struct tables *tables;
	struct turning *list;
	uint32_t count, at;
	uint64_t began_us, answered_us;
	bool failed;
	bool owed;	  /* ops.done, .. */
	unsigned awaited; /* ..which comes when these are answered, or patience ends */
};

static void keep(const struct topo **place, const struct topo *t)
{
	const struct topo *older = *place;

	*place = t ? topo_ref(t) : NULL;
	topo_unref(older);
}

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
	batch_add(b, &(struct batch_job){ .object = (void *)(uintptr_t)node->guid,
					  .arg = arg,
					  .kind = (uint8_t)kind,
					  .urgent = true });
}

static void add(struct adaptive *a, enum job kind, const struct inv_node *node, uint32_t arg)
{
	add_to(a->batch, kind, node, arg);
}

static void ask_general(struct adaptive *a, struct inv_node *node, bool patiently)
{
	*mode_of(node) = ADAPTIVE_ASKED;
	a->awaited += !patiently;
	add_to(a->asks, JOB_GENERAL, node, patiently);
}

static struct inv_node *node_of(const struct adaptive *a, const struct batch_job *job)
{
	return inventory_find(a->inv, (guid_t)(uintptr_t)job->object);
}

/* Of those whose turn is not over, nor too far for what is met now. */
static struct turning *turning_of(struct adaptive *a, guid_t guid)
{
	for (uint32_t i = a->at + (a->phase > BLOCKS); i < a->count; i++)
		if (a->list[i].guid == guid)
			return &a->list[i];
	a->list = mem_resize(a->list, a->count + 1, sizeof(*a->list));
	a->list[a->count] = (struct turning){ .guid = guid };
	return &a->list[a->count++];
}

/* ---- Requests -------------------------------------------------------------------------------- */

static void fill_set(struct adaptive *a, const struct batch_job *job, struct batch_request *r)
{
	const struct turning *now = &a->list[a->at];
	uint32_t row;

	r->mad.method = WIRE_SET;
	r->mad.attr_mod = 0;
	if (job->kind == JOB_BLOCK) {
		row = topo_find(a->topo, now->guid);
		r->mad.attr_id = WIRE_LFT;
		r->mad.attr_mod = job->arg;
		memcpy(r->data, tables_row(a->tables, row) + job->arg * TABLES_BLOCK, TABLES_BLOCK);
	} else if (job->kind == JOB_PRIVATE_OFF) {
		r->mad.attr_id = WIRE_PRIVATE_LFT_INFO;
		memcpy(r->data, now->private_info, sizeof(now->private_info));
		wire_private_lft_off(r->data);
	} else {
		r->mad.attr_id = WIRE_ADAPTIVE_INFO;
		memcpy(r->data, now->adaptive_info, sizeof(now->adaptive_info));
		wire_adaptive_off(r->data);
	}
}

static bool make(void *owner, const struct batch_job *job, struct batch_request *r)
{
	struct adaptive *a = owner;
	const struct inv_node *node = node_of(a, job);

	if (!node || node->gone)
		return false;
	r->via.path = node->path;
	r->via.stamp = a->inv->clock;
	r->mad.device = node->guid;
	r->mad.urgent = true;
	if (job->kind >= JOB_BLOCK) {
		fill_set(a, job, r);
		return true;
	}
	r->mad.method = WIRE_GET;
	r->mad.attr_id = job->kind == JOB_GENERAL   ? WIRE_GENERAL_INFO
			 : job->kind == JOB_PRIVATE ? WIRE_PRIVATE_LFT_INFO
						    : WIRE_ADAPTIVE_INFO;
	r->mad.attr_mod = job->kind == JOB_GENERAL ? WIRE_GENERAL_CAPS : 0;
	r->mad.once = job->kind == JOB_GENERAL && job->arg;
	r->mad.retries = 1;
	r->mad.doubtful =
		true; /* old devices do not answer at all: a time-out is no sign of congestion */
	return true;
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void ask_mode(struct adaptive *a, enum job kind, const struct inv_node *node)
{
	a->awaited++;
	add_to(a->asks, kind, node, 0);
}

/* A switch that did not answer at the start is queried once more when the fabric is idle. */
static void general_met(struct adaptive *a, struct inv_node *node, bool patiently,
			const struct mad_answer *answer)
{
	const uint8_t *caps = answer->result == MAD_OK ? answer->data : NULL;
	bool silent = answer->result == MAD_TIMEOUT;

	*mode_of(node) = silent && !patiently ? ADAPTIVE_LATER : ADAPTIVE_NONE;
	a->ops.asked(a->arg, node, silent);
	if (!caps)
		return;
	if (wire_has_cap(caps, WIRE_CAP_PRIVATE_LFT))
		ask_mode(a, JOB_PRIVATE, node);
	if (wire_has_cap(caps, WIRE_CAP_ADAPTIVE)) {
		*mode_of(node) = ADAPTIVE_CAPABLE;
		ask_mode(a, JOB_ADAPTIVE, node);
	}
}

static void mode_met(struct adaptive *a, struct inv_node *node, enum job kind, const uint8_t *info)
{
	struct turning *turning;

	if (!info || !(kind == JOB_PRIVATE ? wire_private_lft_on(info) : wire_adaptive_on(info)))
		return;
	*mode_of(node) = ADAPTIVE_ON;
	turning = turning_of(a, node->guid);
	*(kind == JOB_PRIVATE ? &turning->has_private : &turning->has_adaptive) = true;
	memcpy(kind == JOB_PRIVATE ? turning->private_info : turning->adaptive_info, info, 64);
}

static struct inv_node *answered(struct adaptive *a, const struct batch_job *job,
				 const struct batch_path *via, const struct mad_answer *answer)
{
	if (answer->result != MAD_TIMEOUT)
		inventory_path_worked(a->inv, &via->path);
	return node_of(a, job);
}

/* Of turning off, and of the reading behind it. */
static void adaptive_done(void *owner, const struct batch_job *job, const struct batch_path *via,
			  const struct mad_answer *answer)
{
	struct adaptive *a = owner;

	if (!answered(a, job, via, answer))
		return;
	a->failed |= answer->result != MAD_OK ||
		     (job->kind == JOB_PRIVATE && wire_private_lft_on(answer->data)) ||
		     (job->kind == JOB_ADAPTIVE && wire_adaptive_on(answer->data));
}

/* ---- Phases ---------------------------------------------------------------------------------- */

static void end(struct adaptive *a)
{
	a->phase = IDLE;
	keep(&a->checked, a->topo);
	free(a->list);
	a->list = NULL;
	a->count = a->at = 0;
	if (a->owed) {
		a->owed = false;
		a->ops.done(a->arg);
	}
}

/* The next switch of the list, without those that are gone; NULL = there is no more. */
static struct inv_node *next_switch(struct adaptive *a)
{
	for (; a->at < a->count; a->at++) {
		struct inv_node *node = inventory_find(a->inv, a->list[a->at].guid);

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
		end(a);
		return;
	}
	a->phase = BLOCKS;
	a->failed = false;
	a->began_us = loop_now_us(a->loop);
	for (uint32_t b = 0; b < blocks; b++)
		add(a, JOB_BLOCK, node, b);
	batch_wake(a->batch);
}

/* A request for each of the two attributes that the switch has. */
static void ask_both(struct adaptive *a, const struct inv_node *node, enum job private_job,
		     enum job adaptive_job)
{
	const struct turning *now = &a->list[a->at];

	if (now->has_private)
		add(a, private_job, node, 0);
	if (now->has_adaptive)
		add(a, adaptive_job, node, 0);
	batch_wake(a->batch);
}

static void turn_off(struct adaptive *a, const struct inv_node *node)
{
	a->phase = OFF;
	ask_both(a, node, JOB_PRIVATE_OFF, JOB_ADAPTIVE_OFF);
}

static void verify(struct adaptive *a, const struct inv_node *node)
{
	a->phase = VERIFY;
	ask_both(a, node, JOB_PRIVATE, JOB_ADAPTIVE);
}

static void conclude(struct adaptive *a, struct inv_node *node)
{
	const struct adaptive_switch result = { node->guid, a->failed,
						loop_now_us(a->loop) - a->began_us };

	if (!a->failed)
		*mode_of(node) = ADAPTIVE_OFF;
	a->at++;
	a->ops.turned(a->arg, &result);
	begin_switch(a);
}

static void idle(void *owner)
{
	struct adaptive *a = owner;
	struct inv_node *node = next_switch(a);

	if (a->phase == IDLE)
		return;
	if (!node) /* it went away */
		begin_switch(a);
	else if (a->phase == BLOCKS)
		turn_off(a, node);
	else if (a->phase == OFF)
		verify(a, node);
	else
		conclude(a, node);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

/* Starts to turn modes off, as soon as there are tables to write. */
static void asks_over(void *owner)
{
	struct adaptive *a = owner;

	loop_timer_stop(a->patience);
	if (a->phase == IDLE && (a->owed || (a->count && a->topo)))
		begin_switch(a);
}

static void patience_cb(void *arg)
{
	struct adaptive *a = arg;
	uint64_t end_us = a->answered_us + PATIENCE_US, now = loop_now_us(a->loop);

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
		a->answered_us = loop_now_us(a->loop);
	if (node && job->kind == JOB_GENERAL)
		general_met(a, node, job->arg, answer);
	else if (node)
		mode_met(a, node, (enum job)job->kind, data);
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
	if (!node || *mode_of(node) != ADAPTIVE_UNKNOWN || !can_be_asked(node))
		return;
	if (!node->sw.lft_top || a->ops.is_silent(a->arg, node))
		*mode_of(node) = ADAPTIVE_LATER;
	else
		ask_general(a, node, false);
	a->answered_us = loop_now_us(a->loop);
}

/* Queries the switches of the inventory, so that adaptive_check() has the answers later. */
static void adaptive_ask(struct adaptive *a)
{
	for (struct inv_node *node = inventory_first(a->inv); node;
	     node = inventory_next(a->inv, node))
		ask(a, node);
}

/* Queries up to `count` switches that adaptive_check() does not wait for. False: none is left. */
static bool adaptive_ask_later(struct adaptive *a, unsigned count)
{
	for (struct inv_node *node = inventory_first(a->inv); node;
	     node = inventory_next(a->inv, node)) {
		if (*mode_of(node) != ADAPTIVE_LATER || !can_be_asked(node))
			continue;
		if (!count--)
			return true;
		ask_general(a, node, true);
	}
	return false;
}

/*
 * Called before the switches of `t` are programmed with these tables. True: nothing has to be done,
 * and ops.done is not called. False: ops.done follows. A call before that replaces snapshot and
 * tables, which are borrowed until ops.done.
 */
static bool adaptive_check(struct adaptive *a, const struct topo *t, const struct tables *tables)
{
	bool same = a->checked && topo_is_again(a->checked, t);

	keep(&a->topo, t);
	a->tables = tables;
	if (a->owed || a->phase != IDLE)
		return false;
	for (uint32_t sw = 0; !same && sw < t->nswitches; sw++)
		ask(a, inventory_find(a->inv, t->nodes[sw].guid));
	keep(&a->checked, t);
	if (!a->awaited && !a->count)
		return true;
	a->owed = true;
	loop_timer_set(a->patience, 0);
	return false;
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* The caller owns it; loop, mad and inventory are borrowed, ops is copied. Free: NULL is fine. */
static struct adaptive *adaptive_new(struct loop *loop, struct mad *mad, struct inventory *inv,
				     const struct adaptive_ops *ops, void *arg)
{
	static const struct batch_ops asks = {
		.make = make, .done = adaptive_asked, .unwanted = not_asked, .idle = asks_over
	};
	static const struct batch_ops batch = { .make = make, .done = adaptive_done, .idle = idle };
	struct adaptive *a = mem_alloc(1, sizeof(*a));

	*a = (struct adaptive){ .loop = loop, .inv = inv, .ops = *ops, .arg = arg };
	inventory_open_column(inv, INV_ADAPTIVE, 1, NULL);
	a->asks = batch_new(loop, mad, &asks, a);
	a->batch = batch_new(loop, mad, &batch, a);
	a->patience = loop_timer_new(loop, patience_cb, a);
	return a;
}

static void adaptive_free(struct adaptive *a)
{
	if (!a)
		return;
	batch_free(a->asks);
	batch_free(a->batch);
	loop_timer_free(a->patience);
	keep(&a->topo, NULL);
	keep(&a->checked, NULL);
	free(a->list);
	free(a);
}

/*
 * module: switches that another manager left with adaptive routing on (module.h). They are
 * queried during the first route, and the first programming waits for those that answer: until then
 * it is not known what they forward by. Switches that are found later are queried beside other
 * work, and programmed once more if something had to be turned off.
 *
 * Switches that do not answer GeneralInfo (module.h) are queried again when nothing was
 * published for QUIET_US and the fabric is idle, LATER_AT_ONCE of them each LATER_US: they may have
 * another firmware by then.
 */

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
	struct event_subject subject = inventory_link_subject(r->services.inventory, sw->guid, 0);

	subject.name = name;
	if (sw->failed) {
		alert_raise(r->services.alerts, ON, &subject,
			    "%s: adaptive routing of another manager is on and could not be turned "
			    "off, so the switch may forward by tables unknown to fmd",
			    name);
		return;
	}
	alert_end(r->services.alerts, ON, &subject);
	event_log_add(r->services.events, LOG_WARNING, "adaptive-routing-off", &subject,
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

/* Ahead of the first route: it takes time, as the answers do. */
static void annotate(void *room, struct inventory *inventory)
{
	struct adaptive_room *r = room;

	if (!r->programmed)
		adaptive_ask(r->adaptive);
}

/* Something was published: switches may have been met that are asked in quiet. */
static void published(void *room, enum fabric_update_step step, const struct topo *before)
{
	struct adaptive_room *r = room;
	struct fabric_view view = fabric_view(r->fabric);

	if (step != FABRIC_PUBLISHED)
		return;
	loop_timer_set(r->later, QUIET_US);
	r->programmed |= adaptive_check(r->adaptive, view.topo, view.tables);
	if (!r->programmed)
		fabric_hold_program(r->fabric);
}

static void load(void *room, enum fabric_load_step step)
{
	struct adaptive_room *r = room;

	if (step == FABRIC_LOAD)
		unanswered_load(r->unanswered);
}

/* ---- For operators --------------------------------------------------------------------------- */

static const char *word_of(const struct inv_node *node)
{
	static const char *const words[] = {
		[ADAPTIVE_CAPABLE] = "capable", [ADAPTIVE_ON] = "on", [ADAPTIVE_OFF] = "off"
	};

	return node && *mode_of(node) >= ADAPTIVE_CAPABLE ? words[*mode_of(node)] : NULL;
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
					       .annotate = annotate,
					       .published = published };
