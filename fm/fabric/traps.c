/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which nodes are swept because of traps, and when.
 *
 * Trap 128 names a switch, 144 and 145 a port's node. The node is held for the hold-down, so that
 * the other end of the same link joins it, and then swept. While triggers keep coming in its second
 * half a hold-down goes on for as long again; the one after a sweep begins four times as long, and
 * as short as ever when nothing came for its length, and for 16 of the shortest. It lasts for eight
 * of the shortest at most, or, up to `hold_down_max`, for a quarter of the time since the storm
 * began; the first trap of a switch in a storm waits for eight of the shortest at any time. So a
 * single fault waits 2 ms, one right behind a repair 16 ms, and a storm that goes on costs less
 * than a sweep a switch and a few a second.
 *
 * A source whose sweeps find nothing, FREE_SWEEPS times in a row, is throttled: its traps are
 * accepted more and more seldom, each time once at the end of the wait, for one may report a
 * change. The first sweep that finds something ends it, as do FORGIVEN_US without a useless one
 * behind the wait. Where a switch had PortStateChange set the trap was true, though another sweep
 * had found what it was about. Where it was clear another manager may have cleared it: the ports
 * are read once all the same. Other sources are not held up by it. A trap from nobody we know (GUID
 * 0) asks for a heavy sweep and is treated the same.
 *
 * Traps about errors (129-131, 256-259) change nothing that a sweep could find, and traps that name
 * a port which did not send them do not count: see fm/traps/module.h.
 */
#include "fm/fabric/traps.h"
#include "fm/conf/lists.h"
#include "fm/loop/log.h"
#include "fm/fabric/pipe.h"
#include "fm/sweep/sweep.h"
#include "topology/base/mem.h"

#define AFTER_A_SWEEP	4  /* times longer is the next hold-down */
#define LULL		16 /* shortest hold-downs without a trigger, or one of the present length */
#define FIRST_MAX	8  /* shortest hold-downs: for the first trigger of a switch in a storm */
#define STORM_PART	4  /* so many times as long as a hold-down has its storm lasted */
#define THROTTLED	256
#define FREE_SWEEPS	3
#define THROTTLE_US	250000 /* at first; doubles */
#define THROTTLE_MAX_US 10000000
#define FORGIVEN_US	10000000
#define LOG_BURST	20

enum { TRAP_LINK_STATE = 128, TRAP_CAPABILITY = 144, TRAP_SYSTEM_GUID = 145 };

struct throttled { /* a source of traps */
	guid_t guid;
	unsigned empty_sweeps;	       /* sweeps in a row; 0 = slot not used */
	bool pending;		       /* sent some meanwhile: one is accepted at until_us */
	uint64_t until_us, pending_us; /* the latter: when the first of these reported a fault */
};

struct traps {
	struct fabric *fabric;
	struct fabric_services services;
	struct guid_list held;	 /* to be swept when the hold-down is over */
	struct guid_list judged; /* by what their sweep finds */
	unsigned collected;	 /* the first of `judged`, which the newest snapshot has */
	struct loop_timer *hold, *late;
	uint64_t length_us, began_us, last_us; /* of the hold-down; of the latest trigger */
	uint64_t swept_us;		       /* when the hold-down before began */
	uint64_t storm_us;		       /* when the first hold-down of the storm began */
	bool fed;			       /* triggers in the hold-down's second half */
	uint32_t storm;			       /* ends when hold-downs are short again */
	bool first;			       /* a switch is held that it has not swept */
	bool unpublished; /* some came while the first update was being computed */
	struct throttled throttled[THROTTLED];
	struct log_limit log;
};

/* ---- The hold-down --------------------------------------------------------------------------- */

static uint64_t now_us(const struct traps *t)
{
	return loop_now_us(t->services.loop);
}

static uint64_t hold_max_us(const struct traps *t)
{
	return (uint64_t)t->services.conf->sweep.hold_down_max_ms * 1000;
}

static uint64_t hold_min_us(const struct traps *t)
{
	const struct conf_sweep *conf = &t->services.conf->sweep;

	return 1000ull * (unsigned)(conf->hold_down_ms < conf->hold_down_max_ms
					    ? conf->hold_down_ms
					    : conf->hold_down_max_ms);
}

/* What a hold-down may last at this time of a storm. */
static uint64_t hold_most_us(const struct traps *t)
{
	uint64_t least_us = FIRST_MAX * hold_min_us(t);
	uint64_t part_us = (now_us(t) - t->storm_us) / STORM_PART;
	uint64_t most_us = part_us > least_us ? part_us : least_us;

	return most_us < hold_max_us(t) ? most_us : hold_max_us(t);
}

static void hold(struct traps *t, guid_t guid)
{
	const struct inv_node *node = inventory_find(t->services.inventory, guid);
	uint64_t now = now_us(t), first_us = FIRST_MAX * hold_min_us(t);

	if (!loop_timer_armed(t->hold)) {
		uint64_t lull_us = LULL * hold_min_us(t);

		if (now - t->last_us >= (t->length_us > lull_us ? t->length_us : lull_us) ||
		    t->length_us > hold_max_us(t)) {
			t->length_us = hold_min_us(t);
			t->storm_us = now;
			t->storm++;
		}
		t->began_us = now;
		t->first = t->fed = false;
		loop_timer_set(t->hold, t->length_us);
	}
	/* Of switches alone: those of hosts may be thousands. */
	if (t->began_us + t->length_us > now + first_us && !t->first && node &&
	    inv_is_switch(node) && sweep_node(node)->storm != t->storm) {
		t->first = true;
		loop_timer_set(t->hold, first_us);
	}
	guid_list_add(&t->held, guid);
}

/* A trap's, which makes the hold-down longer. */
static void trigger(struct traps *t, guid_t node)
{
	uint64_t now = now_us(t);

	t->fed |= loop_timer_armed(t->hold) && now - t->began_us > t->length_us / 2;
	hold(t, node);
	t->last_us = now;
}

static void hold_over(void *arg)
{
	struct traps *t = arg;
	const struct sweep *sweep = t->services.sweep;
	uint64_t held_us = now_us(t) - t->began_us, most_us = hold_most_us(t);
	uint64_t left_us = held_us < most_us ? most_us - held_us : 0;
	uint64_t more_us = held_us < left_us ? held_us : left_us;

	if (t->fed && more_us && !t->first) {
		t->fed = false;
		t->length_us = held_us + more_us;
		loop_timer_set(t->hold, more_us);
	} else if (sweep_discovers(sweep) && !sweep_trails(sweep)) {
		loop_timer_set(t->hold, hold_min_us(t));
	} else {
		for (unsigned i = 0; i < t->held.count; i++) {
			struct inv_node *node =
				inventory_find(t->services.inventory, t->held.guids[i]);

			if (node)
				sweep_node(node)->storm = t->storm;
			if (t->held.guids[i])
				fabric_request_refresh(t->fabric, t->held.guids[i], "trap");
			else
				fabric_request_sweep(t->fabric, "trap from an unknown sender");
			guid_list_add(&t->judged, t->held.guids[i]);
		}
		t->held.count = 0;
		t->swept_us = t->began_us;
		if (t->last_us >= t->began_us)
			t->length_us *= AFTER_A_SWEEP;
		if (t->length_us > most_us)
			t->length_us = most_us;
	}
}

uint64_t traps_pending_since(const struct traps *t)
{
	if (t->judged.count)
		return t->swept_us;
	return t->held.count ? t->began_us : 0;
}

/* ---- Sources that are throttled -------------------------------------------------------------- */

static struct throttled *find_throttled(struct traps *t, guid_t guid)
{
	for (unsigned i = 0; i < THROTTLED; i++)
		if (t->throttled[i].empty_sweeps && t->throttled[i].guid == guid)
			return &t->throttled[i];
	return NULL;
}

static uint64_t throttle_us(unsigned empty_sweeps)
{
	unsigned doublings = empty_sweeps - FREE_SWEEPS;

	if (empty_sweeps < FREE_SWEEPS)
		return 0;
	return doublings < 6 ? (uint64_t)THROTTLE_US << doublings : THROTTLE_MAX_US;
}

/* What a sweep that is still under way asks is not in this snapshot. */
void traps_collected(struct traps *t)
{
	bool sweeps = sweep_busy(t->services.sweep) && !sweep_trails(t->services.sweep);

	t->collected = sweeps ? 0 : t->judged.count;
}

void traps_compared(struct traps *t, bool differs)
{
	for (unsigned i = 0; i < t->collected; i++) {
		guid_t guid = t->judged.guids[i];
		struct throttled *source = find_throttled(t, guid);
		struct inv_node *node = inventory_find(t->services.inventory, guid);
		bool had_change = node && sweep_node(node)->had_change;

		if (had_change)
			sweep_node(node)->had_change = false;
		if (differs || had_change) {
			if (source)
				source->empty_sweeps = 0;
			continue;
		}
		if (!source) {
			/* The slot of the source that was silent longest is reused. */
			source = &t->throttled[0];
			for (unsigned k = 1; k < THROTTLED; k++)
				if (t->throttled[k].until_us < source->until_us)
					source = &t->throttled[k];
			*source = (struct throttled){ .guid = guid };
		}
		if (now_us(t) > source->until_us + FORGIVEN_US)
			source->empty_sweeps = 0;
		if (!source->empty_sweeps++ && node && inv_is_switch(node)) {
			sweep_node(node)->ports_read = false;
			fabric_request_refresh(t->fabric, guid, "trap without PortStateChange");
		}
		source->until_us = now_us(t) + throttle_us(source->empty_sweeps);
	}
	if (!t->collected)
		return;
	t->judged.count -= t->collected;
	memmove(t->judged.guids, t->judged.guids + t->collected,
		t->judged.count * sizeof(*t->judged.guids));
	t->collected = 0;
}

static void late_arm(struct traps *t)
{
	uint64_t now = now_us(t), due = UINT64_MAX;

	for (unsigned i = 0; i < THROTTLED; i++)
		if (t->throttled[i].pending && t->throttled[i].until_us < due)
			due = t->throttled[i].until_us;
	if (due != UINT64_MAX)
		loop_timer_set(t->late, due > now ? due - now : 0);
}

static void late_cb(void *arg)
{
	struct traps *t = arg;
	uint64_t now = now_us(t);

	for (unsigned i = 0; i < THROTTLED; i++) {
		if (!t->throttled[i].pending || t->throttled[i].until_us > now)
			continue;
		t->throttled[i].pending = false;
		if (t->throttled[i].pending_us)
			fabric_fault_found(t->fabric, "trap", t->throttled[i].pending_us);
		trigger(t, t->throttled[i].guid);
	}
	late_arm(t);
}

/* ---- Traps ----------------------------------------------------------------------------------- */

/* fault_us: when the fault showed that it tells of; 0 = it is about none. */
static void accept(struct traps *t, guid_t guid, const char *name, uint64_t fault_us)
{
	struct throttled *source = find_throttled(t, guid);

	if (source && now_us(t) < source->until_us) {
		if (!source->pending)
			source->pending_us = fault_us;
		source->pending = true;
		if (!loop_timer_armed(t->late))
			late_arm(t);
		return;
	}
	if (fault_us)
		fabric_fault_found(t->fabric, name, fault_us);
	trigger(t, guid);
}

void traps_take(struct traps *t, const struct wire_notice *notice, uint16_t from_lid,
		uint64_t came_us)
{
	bool change = notice->trap == TRAP_LINK_STATE || notice->trap == TRAP_CAPABILITY ||
		      notice->trap == TRAP_SYSTEM_GUID;

	if (notice->generic && change) {
		/*
		 * Before the first publication nobody has a LID: a sweep is under way, or follows
		 * behind the update being computed.
		 */
		uint16_t lid = notice->lid ? notice->lid : from_lid;
		struct fabric_view view = fabric_view(t->fabric);
		uint32_t port = fabric_view_port_of_lid(&view, lid);
		const struct topo_node *node =
			port == TOPO_NONE ? NULL : &view.topo->nodes[view.topo->ports[port].node];

		if (lid == view.sm_lid && notice->trap == TRAP_CAPABILITY) /* our own IsSM bit */
			return;
		if (log_allow(&t->log, now_us(t), LOG_BURST))
			log_line(LOG_TRAP, LOG_INFO, "trap %u from LID %u (%s)", notice->trap, lid,
				 node ? node->name : "unknown");
		if (node && notice->trap == TRAP_CAPABILITY) {
			/* Trap 144 reports a new description too (IBA 14.2.5.1, table 140). */
			struct inv_node *other = inventory_find(t->services.inventory, node->guid);

			if (other && !sweep_node(other)->desc)
				sweep_node(other)->desc = DESC_TO_READ;
			/* Who subscribed to it asks the SA for the mask at once. */
			if (other && view.topo->ports[port].num <= other->nports)
				inventory_set_capmask(&other->ports[view.topo->ports[port].num],
						      notice->capmask);
		}
		if (node)
			accept(t, node->guid, node->name,
			       notice->trap == TRAP_LINK_STATE ? came_us : 0);
		else if (view.topo)
			accept(t, 0, "", 0); /* a node that no sweep has met */
		else
			t->unpublished |= fabric_updating(t->fabric);
	}
}

/*
 * A switch sends 128 about itself, a port 129-131, 144 and 145 (IBA 14.2.5.1), so they come from a
 * LID of the port that they name. 64-67 are the SA's own and never come from the fabric. Only
 * 256-259 name others. Before LIDs are published senders can't be distinguished.
 */
static bool is_forged(const struct fabric_view *view, const struct wire_notice *notice,
		      uint16_t from_lid)
{
	uint32_t sender = fabric_view_port_of_lid(view, from_lid);

	if (!notice->generic || notice->trap >= 256)
		return false;
	return (notice->trap >= 64 && notice->trap <= 67) ||
	       (notice->lid && notice->lid != from_lid && view->lids &&
		(sender == TOPO_NONE || sender != fabric_view_port_of_lid(view, notice->lid)));
}

void fabric_trap_received(struct fabric *f, const struct wire_notice *notice, uint16_t from_lid,
			  unsigned times, uint64_t came_us)
{
	struct fabric_view view = fabric_view(f);
	bool forged = is_forged(&view, notice, from_lid);

	MODULES_CALL(f->kept.modules, trap, notice, from_lid, times, forged);
	if (!forged)
		traps_take(f->traps, notice, from_lid, came_us);
}

void traps_update_ended(struct traps *t)
{
	if (t->unpublished)
		fabric_request_sweep(t->fabric, "traps before the first publication");
	t->unpublished = false;
}

/* ---- Sweeps ---------------------------------------------------------------------------------- */

void traps_swept(struct traps *t, const struct sweep_result *result)
{
	if (fabric_is_master(t->fabric)) {
		/*
		 * The other end of what went down may know more, if its own trap was lost. The
		 * update does not wait for that.
		 */
		for (unsigned i = 0; i < result->nchanged; i++) {
			const struct inv_node *node =
				inventory_find(t->services.inventory, result->changed[i]);

			if (node && !node->gone && !sweep_answered(node))
				hold(t, node->guid);
		}
	}
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct traps *traps_new(struct fabric *fabric, const struct fabric_services *services)
{
	struct traps *t = mem_new(t);

	t->fabric = fabric;
	t->services = *services;
	t->hold = loop_timer_new(t->services.loop, hold_over, t);
	t->late = loop_timer_new(t->services.loop, late_cb, t);
	return t;
}

void traps_free(struct traps *t)
{
	loop_timer_free(t->hold);
	loop_timer_free(t->late);
	free(t->held.guids);
	free(t->judged.guids);
	free(t);
}
