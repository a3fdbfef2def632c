/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * From a publication to the next one:
 *
 *   SHRINKS  groups are made and compared with those before, while tables wait; those of switches
 *            that have it on become smaller; answers are awaited until none comes for a while, also
 *            that of a switch that is being turned on: until then it forwards by its LFT
 *   TABLES   program writes the tables, entries that turn Static first
 *   ASKS     who may join is asked for its AdaptiveRoutingInfo
 *   GROUPS   the groups are proven, written and read back
 *   STATES   program writes the entries
 *   READS    entries of who joins are read back
 *   TURNS    it is turned on, and read back; behind it masks of HCAs are read, and set
 *
 * From ASKS on nothing waits for it: another publication begins with SHRINKS again.
 */
#include "fm/adaptive/module.h"
#include "fm/adaptive/write_own.h"
#include "fm/fabric/request.h"
#include "fm/loop/job.h"
#include "routing/proof/check.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"

#define OFF	     "adaptive-routing" /* the alert */
#define PATIENCE_US  20000
#define PATIENCE_MAX 100000 /* us that tables wait, however slowly answers come */
#define TRIES	     3
#define AUDIT_US     1000000
#define AUDIT_MOST   1000 /* blocks at a time */
#define DIFFERS_MOST 3	  /* findings, since it was turned on */

static void forget_tables(struct ar_switch *ar)
{
	free(ar->entries);
	free(ar->groups);
	ar->entries = ar->groups = NULL;
	ar->nentries = ar->ngroups = 0;
}

static void removed(void *cell)
{
	struct ar_switch *ar = *(struct ar_switch **)cell;

	if (ar)
		forget_tables(ar);
	free(ar);
	*(struct ar_switch **)cell = NULL;
}

static void drop_job(struct writer *w)
{
	loop_timer_stop(w->patience);
	job_stop(w->job);
	if (w->proof)
		check_groups_end(w->proof);
	w->proof = NULL;
	free(w->compared);
	w->compared = NULL;
}

static void drop_next(struct writer *w)
{
	if (w->next != w->base.groups)
		ar_groups_free(w->next);
	w->next = NULL;
}

static void drop_base(struct writer *w)
{
	if (w->base.groups != w->next)
		ar_groups_free(w->base.groups);
	w->base.groups = NULL;
	topo_unref(w->base.topo);
	w->base.topo = NULL;
}

/* One that has booted has forgotten all. */
static void note_boot(struct ar_switch *ar, const struct inv_node *node)
{
	if (ar->reboots == node->reboots)
		return;
	forget_tables(ar);
	ar->reboots = node->reboots;
	ar->stage = PLAIN;
	ar->failed = false;
	*ar->firmware = '\0';
}

/* Its row in the published snapshot. */
static uint32_t row_of(const struct writer *w, guid_t guid)
{
	uint32_t row = w->topo ? topo_find(w->topo, guid) : TOPO_NONE;

	return w->topo && row < w->topo->nswitches ? row : TOPO_NONE;
}

/* Whether any switch has it on, or is about to; each is found in the snapshot again. */
static bool place_switches(struct writer *w)
{
	bool any = false;

	AR_EACH (w, node, ar) {
		ar->row = row_of(w, ar->guid);
		ar->gone = node->gone;
		note_boot(ar, node);
		ar->failed &= *ar->firmware != '\0'; /* it may have been lost: it is asked again */
		if (ar->stage == JOINS || ar->stage == READY) /* its LFT is in force */
			ar->stage = PLAIN;
		if (ar->stage == TURNING && ar->was_set)
			ar_add_job(w, JOB_ON_READ, ar->guid, 0);
		if (ar->stage >= TURNING && !ar_fits(w, ar))
			ar_fails(w, node, "LIDs have no place by what fmctl probe ar found");
		any |= ar->stage >= TURNING;
	}
	return any;
}

static void make_groups(struct writer *w, const struct fabric_view *view)
{
	struct fabric_policy policy = fabric_policy(w->fabric, view->topo, NULL);
	uint16_t *caps = mem_array(caps, view->topo->nswitches + 1);
	const struct ar_params params = { .classes = policy.classes, .caps = caps };

	for (uint32_t row = 0; row < view->topo->nswitches; row++)
		caps[row] = AR_GROUPS_MAX;
	AR_EACH_ROW (w, node, ar)
		if (ar->row != TOPO_NONE && !ar->why)
			caps[ar->row] = ar->info.group_cap;
	if (strcmp(view->engine, "updn-root") != 0)
		w->next = ar_groups_make(&w->maker, view->topo, view->lids, &params);
	free(caps);
	fabric_policy_fini(&policy);
}

static enum job_result compare(void *arg)
{
	struct writer *w = arg;

	return ar_compare_go(w, fabric_view(w->fabric).tables) ? JOB_MORE : JOB_NEXT;
}

static enum job_result shrink(void *arg)
{
	struct writer *w = arg;

	/* Of one that was not set up here it is not known what its entries name. */
	AR_EACH_ROW (w, node, ar)
		if (ar->stage >= TURNING && ar->ngroups && ar->row != TOPO_NONE && !node->gone &&
		    !node->silent && w->next && w->base.groups &&
		    (ar->strays || !w->rows[ar->row].alike))
			ar_write_groups(w, ar);
	w->changes.known_us = loop_now_us(w->services.loop);
	loop_timer_set(w->patience, PATIENCE_US);
	batch_wake(w->batch);
	fabric_request_program(w->fabric, "groups of adaptive routing are known");
	return JOB_END;
}

static const struct job_step shrink_steps[] = { { "adaptive-compare", compare },
						{ "adaptive-shrink", shrink },
						{ NULL, NULL } };

static void publish(struct writer *w)
{
	const struct fabric_view view = fabric_view(w->fabric);

	drop_next(w);
	topo_unref(w->topo);
	lid_map_free(w->lids);
	w->topo = topo_ref(view.topo);
	w->lids = lid_map_copy(view.lids);
	w->proven = false;
	ar_place_rows(w);
}

void writer_published(struct writer *w)
{
	const struct fabric_view view = fabric_view(w->fabric);

	drop_job(w);
	batch_drop_queue(w->batch);
	publish(w);
	w->phase = SHRINKS;
	if (!place_switches(w)) { /* nothing of it is in force */
		drop_base(w);
		ar_set_changes(&w->changes, NULL, 0);
		w->phase = TABLES;
		return;
	}
	make_groups(w, &view);
	ar_compare_begin(w);
	fabric_hold_program(w->fabric);
	job_start(w->job, shrink_steps, NULL);
}

static void shrunk(void *arg)
{
	struct writer *w = arg;

	loop_timer_stop(w->patience);
	if (w->phase != SHRINKS)
		return;
	w->phase = TABLES;
	program_entries_go(w->services.program);
}

/* ---- Who joins ------------------------------------------------------------------------------- */

#define NO_FIRMWARE "it does not say which firmware it has (GeneralInfo, by LID)"

/*
 * Takes the packing of its kind of device, and says why it cannot join; NULL = it can, or it has to
 * be asked for its firmware.
 */
static const char *judge(const struct writer *w, const struct inv_node *node, struct ar_switch *ar)
{
	char device[16];
	const json_t *kind, *row, *lft, *group;
	const char *subgroups;
	uint32_t sets = ar->info.group_cap * (ar->info.subgroups ? ar->info.subgroups : 1u);

	array_printf(device, "0x%04x", node->info.device);
	kind = json_object_get(w->packings, device);
	if (kind && !*ar->firmware)
		return NULL;
	row = json_object_get(kind, ar->firmware);
	lft = json_object_get(json_object_get(row, "lft"), "bit");
	group = json_object_get(json_object_get(row, "group"), "bit");
	if (!lft || !group)
		return "nothing was found by fmctl probe ar on its kind of device and firmware";
	ar->lft_bit = json_integer_value(lft);
	ar->group_bit = json_integer_value(group);
	subgroups = json_text(row, "subgroups");
	ar->stacked = !subgroups || strcmp(subgroups, "interleaved");
	if (ar->info.subgroups < 1 || ar->info.subgroups > ar->info.subgroup_cap ||
	    ar->info.group_top > ar->info.group_cap)
		return "what it says of its groups contradicts itself";
	if (ar->info.group_cap < 2)
		return "it has no groups";
	if (SLS(w) != UINT16_MAX && !ar->info.by_sl_able)
		return "it cannot leave SLs out (adaptive_routing_sl)";
	if ((sets / 2 << ar->group_bit) >> ar->group_bit != sets / 2 || !ar_fits(w, ar))
		return "its last group or LID has no place by what fmctl probe ar found";
	return NULL;
}

static bool is_candidate(const struct inv_node *node, const struct ar_switch *ar)
{
	return ar->stage == PLAIN && !ar->why && ar->row != TOPO_NONE && !node->gone &&
	       !node->silent && !inv_node_is(node, INV_NO_SETS);
}

static void take_info(struct ar_switch *ar, const uint8_t info[64])
{
	memcpy(ar->raw, info, WIRE_SMP_DATA);
	wire_ar_info_decode(info, &ar->info);
}

void writer_offer(struct writer *w, const struct inv_node *node, const uint8_t info[64])
{
	struct ar_switch **cell = ar_cell(node), *ar = *cell ?: (*cell = mem_new(ar));

	ar->guid = node->guid;
	take_info(ar, info);
	ar->reboots = node->reboots;
	*ar->firmware = '\0';
	ar->stage = PLAIN;
	ar->row = row_of(w, ar->guid);
}

bool writer_adopt(struct writer *w, const struct inv_node *node, const uint8_t info[64],
		  const char *firmware)
{
	struct ar_switch *ar;

	writer_offer(w, node, info);
	ar = ar_of(node);
	array_printf(ar->firmware, "%s", firmware);
	ar->why = *firmware ? judge(w, node, ar) : NO_FIRMWARE;
	if (ar->why || ar->info.rn_xmit || ar->info.pfrn || ar->info.whbf || ar->info.hbf_by_sl ||
	    (ar->stacked && ar->info.subgroups > 1)) /* where the others are is not known */
		return false;
	ar->stage = ON;
	return true;
}

struct ar_switch *writer_on(const struct inv_node *node)
{
	struct ar_switch *ar = node && node->columns[INV_AR_SWITCH].bytes ? ar_of(node) : NULL;

	return ar && ar->stage == ON ? ar : NULL;
}

/* As the switch holds them; what is not known for certain is Static, by the table in force. */
static void add_held(const struct ar_switch *ar, uint32_t sw, struct ar_groups *g,
		     struct tables *tables)
{
	uint16_t place[AR_GROUPS_MAX] = { 0 };
	struct ar_group group = { 0 };
	struct wire_ar_entry entry;

	for (; group.id < ar->info.group_cap; group.id++)
		if (ar_held_group(ar, group.id, &group.ports)) {
			g->list = mem_grow(g->list, g->first[sw + 1]);
			g->list[g->first[sw + 1]++] = group;
			place[group.id] = g->first[sw + 1] - g->first[sw];
		}
	for (uint32_t lid = 1; lid <= g->top; lid++)
		if (ar_held_entry(ar, lid, &entry)) {
			tables_set(tables, sw, lid, entry.port);
			if (entry.state == WIRE_AR_FREE)
				g->entry[(size_t)sw * g->ndests + lid] = place[entry.group];
		}
}

int adaptive_write_far(struct fabric *fabric, const struct tables *in_force, FILE *out)
{
	const struct fabric_view view = fabric_view(fabric);
	struct ar_groups *g = ar_groups_by_lid(view.topo, view.lids);
	struct tables tables = { 0 };
	bool any = false;
	int status;

	tables_copy(&tables, in_force);
	for (uint32_t sw = 0; sw < view.topo->nswitches; sw++) {
		const struct ar_switch *ar = writer_on(inventory_find(
			fabric_services(fabric).inventory, view.topo->nodes[sw].guid));

		g->first[sw + 1] = g->first[sw];
		any |= ar != NULL;
		if (ar)
			add_held(ar, sw, g, &tables);
	}
	status = any ? ar_far_write(view.topo, view.lids, &tables, g, out) : 0;
	ar_groups_free(g);
	tables_fini(&tables);
	return status;
}

json_t *adaptive_choices(struct fabric *fabric, guid_t guid, uint16_t lid)
{
	const struct ar_switch *ar =
		writer_on(inventory_find(fabric_services(fabric).inventory, guid));
	struct wire_ar_entry entry;
	struct ar_ports ports;
	unsigned count = 0;
	char list[1200] = "";

	if (!ar || !ar_held_entry(ar, lid, &entry) || entry.state != WIRE_AR_FREE ||
	    !ar_held_group(ar, entry.group, &ports))
		return NULL;
	for (unsigned num = 0; num < 256; num++)
		if (ar_has(&ports, num))
			text_add(list, sizeof(list), "%s%u", count++ ? ", " : "", num);
	return json_sprintf("one of %u ports: %s", count, list);
}

void writer_left(struct writer *w, const struct inv_node *node)
{
	struct ar_switch *ar = ar_of(node);

	if (!ar)
		return;
	ar->stage = PLAIN;
	forget_tables(ar);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static void alert(struct writer *w)
{
	const struct inv_node *first = NULL;
	unsigned count = 0;

	AR_EACH (w, node, ar) {
		if (!ar->why || node->gone)
			continue;
		first = first ?: node;
		count++;
	}
	if (first && w->services.conf->routing.adaptive)
		alert_raise(w->services.alerts, OFF, NULL,
			    "adaptive_routing is on, and stays off at %u %s: %s (device 0x%04x, "
			    "firmware %s): %s",
			    count, words_plural(count, "switch", "switches"), first->name,
			    first->info.device,
			    *ar_of(first)->firmware ? ar_of(first)->firmware : "not known",
			    ar_of(first)->why);
	else
		alert_end(w->services.alerts, OFF, NULL);
}

#define HAS_UNKNOWN(blocks, count) any_of(i, 0, count, (blocks)[i].filled && !(blocks)[i].known)

static void finish(struct writer *w)
{
	AR_EACH (w, node, ar)
		ar->strays = ar->strays && (ar->stage != ON || ar->away ||
					    HAS_UNKNOWN(ar->entries, ar->nentries) ||
					    HAS_UNKNOWN(ar->groups, ar->ngroups));
	w->phase = SETTLED;
	w->grows = false;
	alert(w);
	if (!w->next)
		return;
	ar_set_changes(&w->changes, mem_array(w->changes.of, w->lids->top + 1u), w->lids->top);
	if (w->turned)
		event_log_add(w->services.events, LOG_NOTICE, "adaptive-routing-on", NULL,
			      json_pack("{si}", "switches", w->turned),
			      "fabric: adaptive routing was turned on at %u %s", w->turned,
			      words_plural(w->turned, "switch", "switches"));
	w->turned = 0;
	w->masks.changed = true;
	ar_masks_read(w);
	batch_wake(w->batch);
}

/* ---- Groups that may grow -------------------------------------------------------------------- */

static enum job_result prove(void *arg)
{
	struct writer *w = arg;
	const struct fabric_view view = fabric_view(w->fabric);

	if (!w->next) {
		make_groups(w, &view);
		if (w->next)
			return JOB_MORE;
	}
	if (w->next && !w->proof) {
		w->proof = check_groups_begin(w->topo, w->lids, view.tables, w->next, &w->report);
		return JOB_MORE;
	}
	if (w->proof && check_groups_go(w->proof))
		return JOB_MORE;
	w->proven = w->proof && check_groups_end(w->proof);
	w->proof = NULL;
	if (w->next && !w->proven) {
		log_line(LOG_CORE, LOG_WARNING, "adaptive routing: its groups are refused: %s",
			 w->report.first);
		drop_next(w);
	}
	w->row = 0;
	tables_resize(&w->base.spare, view.tables->nswitches, view.tables->top);
	return JOB_NEXT;
}

#define ROWS_A_CALL 64

/* Copies what switches hold, which is a part of what was proven. */
static enum job_result copy_rows(void *arg)
{
	struct writer *w = arg;
	const struct tables *tables = fabric_view(w->fabric).tables;
	uint32_t end = w->next ? w->topo->nswitches : 0;

	for (unsigned i = 0; i < ROWS_A_CALL && w->row < end; i++, w->row++) {
		memcpy(tables_row(&w->base.spare, w->row), tables_row(tables, w->row),
		       tables->stride);
		program_held(w->services.program, w->topo, tables, w->row, &w->base.spare);
	}
	return w->row < end ? JOB_MORE : JOB_NEXT;
}

/* Of all that has it on or joins, groups that are proven. All that is on its way is so too. */
static enum job_result grow(void *arg)
{
	struct writer *w = arg;

	drop_base(w);
	if (w->next) {
		struct tables spare = w->base.spare;

		w->base.spare = w->base.tables;
		w->base.tables = spare;
		w->base.topo = topo_ref(w->topo);
		w->base.groups = w->next;
		for (uint32_t row = 0; row < w->topo->nswitches; row++)
			w->rows[row].old = row;
	}
	AR_EACH (w, node, ar) {
		ar->away = ar->gone || node->gone;
		ar->strays |= ar->away;
	}
	w->phase = GROUPS;
	w->grows = true;
	AR_EACH (w, node, ar)
		if (w->proven && ar->row != TOPO_NONE && ar->stage >= JOINS)
			ar_write_groups(w, ar);
	batch_wake(w->batch);
	return JOB_END;
}

static const struct job_step grow_steps[] = { { "adaptive-prove", prove },
					      { "adaptive-copy", copy_rows },
					      { "adaptive-grow", grow },
					      { NULL, NULL } };

static void begin_asks(struct writer *w)
{
	w->phase = ASKS;
	AR_EACH (w, node, ar) {
		/* Some may have it on though it is to be off: those that are not turned off yet. */
		if (!w->services.conf->routing.adaptive || !is_candidate(node, ar))
			continue;
		ar->stage = JOINS;
		ar_add_job(w, JOB_INFO, ar->guid, 0);
	}
	batch_wake(w->batch);
}

static void begin_states(struct writer *w)
{
	w->phase = STATES;
	AR_EACH (w, node, ar)
		if (ar->stage == JOINS)
			ar->stage = w->proven ? READY : PLAIN;
	fabric_request_program(w->fabric, "groups of adaptive routing are written");
}

static void begin_reads(struct writer *w)
{
	w->phase = READS;
	AR_EACH (w, node, ar)
		for (uint32_t part = 0; ar->stage == READY && part < ar->nentries; part++)
			ar_add_job(w, JOB_ENTRIES_READ, ar->guid, part);
	batch_wake(w->batch);
}

static void begin_turns(struct writer *w)
{
	w->phase = TURNS;
	AR_EACH (w, node, ar)
		if (ar->stage == READY ||
		    (ar->stage == ON && (ar->info.by_sl ? ar->info.sl_mask : UINT16_MAX) != SLS(w)))
			ar_add_job(w, JOB_ON, ar->guid, 0);
	batch_wake(w->batch);
}

void writer_programmed(struct writer *w, const struct program_result *result)
{
	if (result->unread || result->failed)
		return;
	if (w->phase == TABLES && w->changes.count)
		begin_asks(w);
	else if (w->phase == TABLES)
		w->phase = SETTLED;
	else if (w->phase == STATES)
		begin_reads(w);
}

void writer_settled(struct writer *w)
{
	bool any = false;

	AR_EACH (w, node, ar) {
		if (!w->services.conf->routing.adaptive)
			continue;
		note_boot(ar, node);
		if (ar->stage == PLAIN && !ar->failed)
			ar->why = judge(w, node, ar);
		any |= is_candidate(node, ar) || (ar->stage == ON && !w->base.groups);
	}
	alert(w);
	if (any && w->phase == SETTLED && fabric_is_up(w->fabric) &&
	    !fabric_programming(w->fabric) && !fabric_updating(w->fabric)) {
		if (!w->base.groups)
			publish(w);
		begin_asks(w);
	}
}

static void idle(void *owner)
{
	struct writer *w = owner;

	if (job_steps(w->job))
		return;
	if (w->phase == SHRINKS)
		shrunk(w);
	else if (w->phase == ASKS)
		job_start(w->job, grow_steps, NULL);
	else if (w->phase == GROUPS)
		begin_states(w);
	else if (w->phase == READS)
		begin_turns(w);
	else if (w->phase == TURNS)
		finish(w);
	else if (w->phase == SETTLED && w->masks.changed)
		ar_masks_judge(w);
}

/* ---- Read again in quiet --------------------------------------------------------------------- */

/* A second's share of entries and groups, switch by switch. */
static void audit_cb(void *arg)
{
	struct writer *w = arg;
	int rate = w->services.conf->audit.rate, left = rate < AUDIT_MOST ? rate : AUDIT_MOST;
	uint32_t at = w->audited;

	loop_timer_set(w->audit, AUDIT_US);
	if (w->phase != SETTLED || !fabric_quiet_since_us(w->fabric))
		return;
	AR_EACH (w, node, ar) {
		uint32_t count = ar->stage == ON ? ar->nentries + ar->ngroups : 0;

		for (; at < count && left > 0; at++, left--, w->audited++)
			if (at < ar->nentries)
				ar_add_job(w, JOB_ENTRIES_READ, ar->guid, at);
			else
				ar_add_job(w, JOB_GROUPS_READ, ar->guid, at - ar->nentries);
		at -= at < count ? at : count;
	}
	w->audited = left > 0 ? 0 : w->audited;
	ar_masks_audit(w, left);
}

/* Somebody else wrote it, or the switch forgot it: all is written again, not for ever. */
static void differs(struct writer *w, const struct inv_node *node, struct ar_switch *ar,
		    const char *what)
{
	struct event_subject subject = inventory_link_subject(w->services.inventory, node->guid, 0);

	if (ar->reboots != node->reboots)
		return;
	ARRAY_EACH (block, ar->entries, ar->nentries)
		block->known = false;
	ARRAY_EACH (block, ar->groups, ar->ngroups)
		block->known = false;
	subject.name = node->name;
	event_log_add(w->services.events, LOG_WARNING, "audit", &subject, NULL,
		      "%s: %s of adaptive routing differ from what was written, are written again",
		      node->name, what);
	if (++ar->differed > DIFFERS_MOST)
		ar_fails(w, node, "it does not keep what it acknowledged");
	fabric_request_reroute(w->fabric, "adaptive routing differs from what was written");
}

/* ---- Requests and answers -------------------------------------------------------------------- */

static void encode_on(const struct writer *w, const struct ar_switch *ar, uint8_t *data)
{
	struct wire_ar_info info = ar->info;

	memcpy(data, ar->raw, WIRE_SMP_DATA);
	info.on = true;
	info.fr = info.fr_able;
	info.by_sl = SLS(w) != UINT16_MAX;
	info.sl_mask = SLS(w);
	info.subgroups = ar->stacked ? 1 : info.subgroups;
	/* UD and UC, whose packets stay in order. */
	info.transport_off = info.by_transport_able ? 0x5 : info.transport_off;
	info.group_top = ar->ngroups * 2u < info.group_cap ? ar->ngroups * 2u : info.group_cap - 1u;
	wire_ar_info_encode(&info, data);
}

static bool make(void *owner, const struct batch_job *job, struct batch_request *r)
{
	static const uint16_t attributes[] = {
		[JOB_INFO] = WIRE_ADAPTIVE_INFO,       [JOB_ON] = WIRE_ADAPTIVE_INFO,
		[JOB_ON_READ] = WIRE_ADAPTIVE_INFO,    [JOB_GROUPS] = WIRE_AR_GROUPS,
		[JOB_GROUPS_READ] = WIRE_AR_GROUPS,    [JOB_ENTRIES_READ] = WIRE_AR_LFT,
		[JOB_MASKS] = WIRE_MLNX_EXT_PORT_INFO, [JOB_MASKS_SET] = WIRE_MLNX_EXT_PORT_INFO,
	};
	struct writer *w = owner;
	const struct inv_node *node = inventory_find(w->services.inventory, (uintptr_t)job->object);
	struct ar_switch *ar = node ? ar_of(node) : NULL;
	bool set = job->kind == JOB_GROUPS || job->kind == JOB_ON || job->kind == JOB_MASKS_SET;

	if (!node || node->gone || node->silent ||
	    (job->kind < JOB_MASKS && (!ar || ar->stage == PLAIN)) ||
	    (job->kind == JOB_ON && ar->stage != READY && ar->stage != ON))
		return false;
	if (job->kind == JOB_FIRMWARE)
		return device_ask(&w->services, node, r);
	r->via.path = node->path;
	r->via.stamp = w->services.inventory->clock;
	r->mad.device = node->guid;
	r->mad.urgent = job->urgent;
	r->mad.method = set ? WIRE_SET : WIRE_GET;
	r->mad.attr_id = attributes[job->kind];
	r->mad.attr_mod = job->arg;
	if (job->kind == JOB_GROUPS || job->kind == JOB_GROUPS_READ) {
		if (job->arg >= ar->ngroups)
			return false;
		r->mad.attr_mod <<= ar->group_bit;
		ar->groups[job->arg].busy |= set;
		memcpy(r->data, ar->groups[job->arg].data, set ? WIRE_SMP_DATA : 0);
	} else if (job->kind == JOB_ENTRIES_READ) {
		r->mad.attr_mod <<= ar->lft_bit;
	} else if (job->kind == JOB_ON) {
		ar->stage = TURNING;
		ar->was_set = false;
		encode_on(w, ar, r->data);
	} else if (job->kind == JOB_MASKS_SET) {
		ar_masks_fill(w, node, job->arg, r->data);
	}
	return true;
}

static void groups_answered(struct writer *w, const struct inv_node *node, struct ar_switch *ar,
			    const struct batch_job *job, const struct mad_answer *answer)
{
	const uint8_t *data = answer->result == MAD_OK ? answer->data : NULL;
	struct block *block = job->arg < ar->ngroups ? &ar->groups[job->arg] : NULL;
	bool same = block && data && !memcmp(data, block->data, WIRE_SMP_DATA);
	struct batch_job again = *job;

	again.tries++;
	if (!block)
		return;
	if (job->kind == JOB_GROUPS_READ) {
		if (block->known && data && !same && w->phase == SETTLED)
			differs(w, node, ar, "groups");
		else if (block->known && data && !same)
			ar_fails(w, node, "it does not hold the groups that it acknowledged");
		return;
	}
	block->busy = false;
	block->known = same;
	if (w->phase == SHRINKS && !job_steps(w->job) && answer->result != MAD_TIMEOUT &&
	    loop_now_us(w->services.loop) - w->changes.known_us < PATIENCE_MAX)
		loop_timer_set(w->patience, PATIENCE_US);
	if (same && w->phase != SHRINKS)
		ar_add_job(w, JOB_GROUPS_READ, ar->guid, job->arg);
	else if (!same && job->tries + 1 < TRIES)
		batch_add(w->batch, &again);
	else if (!same && (answer->result != MAD_TIMEOUT || ar->stage < TURNING))
		ar_fails(w, node, "it rejects groups, or does not answer");
}

/* Of what was asked of it to join. */
static void refuse(struct ar_switch *ar, const char *why)
{
	if (ar->stage != JOINS)
		return;
	ar->why = why;
	ar->failed = why != NULL;
	ar->stage = why ? PLAIN : JOINS;
}

static void info_answered(struct writer *w, const struct inv_node *node, struct ar_switch *ar,
			  const struct batch_job *job, const uint8_t *data)
{
	struct wire_ar_info info = { 0 };

	if (data)
		wire_ar_info_decode(data, &info);
	if (job->kind == JOB_INFO) {
		if (data)
			take_info(ar, data);
		refuse(ar, !data     ? "it does not answer"
			   : info.on ? "another manager turned it on"
				     : NULL);
		if (ar->stage == JOINS)
			ar_add_job(w, JOB_FIRMWARE, ar->guid, 0);
		return;
	}
	if (ar->stage != TURNING)
		return;
	if (job->kind == JOB_ON) {
		ar->was_set = true;
		ar_add_job(w, JOB_ON_READ, ar->guid, 0);
		return;
	}
	if (data && info.on) {
		take_info(ar, data);
		ar->stage = ON;
		ar->differed = 0;
		w->turned++;
	} else if (data) { /* its LFT is in force, and older than its entries */
		ar->why = "it does not turn on";
		ar->failed = true;
		ar->stage = PLAIN;
		program_forget(w->services.program, node->guid);
		fabric_request_reroute(w->fabric, "a switch did not turn on adaptive routing");
	} else if (job->tries + 1 < TRIES) {
		batch_add(w->batch, &(struct batch_job){ .object = job->object,
							 .kind = JOB_ON_READ,
							 .tries = job->tries + 1 });
	} /* else the next publication asks again */
}

static void answered(void *owner, const struct batch_job *job, const struct batch_path *via,
		     const struct mad_answer *answer)
{
	struct writer *w = owner;
	const struct inv_node *node = inventory_find(w->services.inventory, (uintptr_t)job->object);
	struct ar_switch *ar = node ? ar_of(node) : NULL;
	const uint8_t *data = answer->result == MAD_OK ? answer->data : NULL;
	bool same;

	if (answer->result != MAD_TIMEOUT)
		inventory_path_result(w->services.inventory, &via->path, true, via->stamp);
	if (!node || (!ar && job->kind < JOB_MASKS))
		return;
	switch (job->kind) {
	case JOB_FIRMWARE:
		refuse(ar,
		       device_firmware(answer, ar->firmware) ? judge(w, node, ar) : NO_FIRMWARE);
		break;
	case JOB_MASKS:
	case JOB_MASKS_SET:
		ar_masks_answered(w, node, job, data);
		break;
	case JOB_GROUPS:
	case JOB_GROUPS_READ:
		groups_answered(w, node, ar, job, answer);
		break;
	case JOB_ENTRIES_READ:
		same = data && job->arg < ar->nentries &&
		       !memcmp(data, ar->entries[job->arg].data, WIRE_SMP_DATA);
		if (ar->stage == READY && !(same && ar->entries[job->arg].known))
			ar_fails(w, node, "it does not hold the entries that it acknowledged");
		if (ar->stage == ON && w->phase == SETTLED && data && !same &&
		    job->arg < ar->nentries && ar->entries[job->arg].known)
			differs(w, node, ar, "entries");
		break;
	default:
		info_answered(w, node, ar, job, data);
		break;
	}
}

/* It cannot be asked now what it has to say before it joins. */
static void not_asked(void *owner, const struct batch_job *job)
{
	struct writer *w = owner;
	const struct inv_node *node = inventory_find(w->services.inventory, (uintptr_t)job->object);

	if (node && ar_of(node) && (job->kind == JOB_INFO || job->kind == JOB_FIRMWARE))
		refuse(ar_of(node), "it cannot be reached");
}

/* ---- Life ------------------------------------------------------------------------------------ */

void writer_configure(struct writer *w)
{
	AR_EACH (w, node, ar) {
		if (w->services.conf->routing.adaptive)
			ar->failed = false;
		else if (ar->stage >= TURNING)
			w->leave(w->arg, node, ar->raw);
		else
			ar->stage = PLAIN;
	}
	if (w->services.conf->routing.adaptive)
		return;
	alert_end(w->services.alerts, OFF, NULL);
	alert_end(w->services.alerts, AR_MASKS, NULL);
}

struct writer *writer_new(struct fabric *fabric, const json_t *packings, writer_leave_fn *leave,
			  void *arg)
{
	static const struct batch_ops ops = {
		.make = make, .done = answered, .unwanted = not_asked, .idle = idle
	};
	struct writer *w = mem_new(w);

	w->fabric = fabric;
	w->services = fabric_services(fabric);
	w->packings = packings;
	w->leave = leave;
	w->arg = arg;
	w->batch = batch_new(w->services.loop, w->services.mad, &ops, w);
	w->patience = loop_timer_new(w->services.loop, shrunk, w);
	w->job = job_new(w->services.loop, w);
	w->audit = loop_timer_new(w->services.loop, audit_cb, w);
	loop_timer_set(w->audit, AUDIT_US);
	w->entries = ar_entries;
	w->entries.arg = w;
	inventory_open_column(w->services.inventory, INV_AR_SWITCH, sizeof(struct ar_switch *),
			      removed);
	inventory_open_column(w->services.inventory, INV_AR_MASKS, sizeof(struct ar_masks), NULL);
	program_use_entries(w->services.program, &w->entries);
	return w;
}

void writer_free(struct writer *w)
{
	if (!w)
		return;
	alert_end(w->services.alerts, AR_MASKS, NULL);
	program_use_entries(w->services.program, NULL);
	INVENTORY_EACH (w->services.inventory, node)
		removed(ar_cell(node));
	drop_job(w);
	job_free(w->job);
	batch_free(w->batch);
	loop_timer_free(w->patience);
	loop_timer_free(w->audit);
	drop_next(w);
	drop_base(w);
	tables_fini(&w->base.tables);
	tables_fini(&w->base.spare);
	ar_maker_free(w->maker);
	ar_set_changes(&w->changes, NULL, 0);
	free(w->changes.moves);
	free(w->rows);
	topo_unref(w->topo);
	lid_map_free(w->lids);
	free(w);
}
