/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_trap: what traps make the conductor look at, and when.
 *
 * Trap 128 names a switch, 144 and 145 a port's node. It is held for the hold-down, so that the other end
 * of the same cable joins, and then read. While triggers keep coming in its second half a hold goes on for
 * as long again, to `hold_down_max`; the one after it begins four times as long, and as short as ever when
 * nothing came for its length, and for 16 of the shortest. So a single fault waits 2 ms, a dying line card until it is dead,
 * and a storm costs a few looks a second.
 *
 * A source whose looks find nothing, FREE_LOOKS times in a row, is a babbler: its traps are heeded more and
 * more seldom, each time once at the end of the wait, for one may tell of a change; the first that finds
 * something ends it. Other sources are not held up by it. A trap from nobody we know (GUID 0) asks for a look
 * at everything and is treated the same.
 *
 * Traps about errors (129-131, 256-259) change nothing that a look could find, and traps that name a port which did not send them are not
 * believed: see fm/traps/error_traps.h.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/fabric/own.h"
#include "topology/mem.h"

#define AFTER_A_LOOK 4	/* times longer is the next hold */
#define LULL	     16 /* shortest holds without a trigger, or one of the present length */
#define BABBLERS     256
#define FREE_LOOKS   3
#define DEAF_US	     250000 /* at first; doubles */
#define DEAF_MAX_US  10000000
#define LOG_BURST    20

enum { TRAP_LINK_STATE = 128, TRAP_CAPABILITY = 144, TRAP_SYSTEM_GUID = 145 };

struct babbler {
	guid_t guid;
	unsigned fruitless; /* looks in a row; 0 = slot not used */
	bool owed;	    /* sent some meanwhile: to be heeded at deaf_until_us */
	uint64_t deaf_until_us;
};

struct traps {
	struct fabric *f;
	struct guid_list held;	 /* to be looked at when the hold is over */
	struct guid_list judged; /* by what their look finds */
	unsigned drafted;	 /* of these: in the newest draft */
	struct loop_timer *hold, *late;
	uint64_t length_us, began_us, last_us; /* of the hold; of the latest trigger */
	uint64_t looked_us;		       /* when the hold before began */
	bool fed;			       /* triggers in the hold's second half */
	struct babbler babblers[BABBLERS];
	struct log_limit log;
};

/* ---- The hold-down ------------------------------------------------------------------------------- */

static uint64_t hold_max_us(const struct traps *t)
{
	return (uint64_t)t->f->conf.hold_down_max_ms * 1000;
}

static uint64_t hold_min_us(const struct traps *t)
{
	uint64_t us = (uint64_t)t->f->conf.hold_down_ms * 1000;

	return us < hold_max_us(t) ? us : hold_max_us(t);
}

static void hold_begin(struct traps *t, uint64_t now)
{
	uint64_t lull_us = LULL * hold_min_us(t);

	if (now - t->last_us >= (t->length_us > lull_us ? t->length_us : lull_us) ||
	    t->length_us > hold_max_us(t))
		t->length_us = hold_min_us(t);
	t->began_us = now;
	t->fed = false;
	loop_timer_set(t->hold, t->length_us);
}

void fabric_traps_hold(struct fabric *f, guid_t node)
{
	struct traps *t = f->traps;

	if (!loop_timer_armed(t->hold))
		hold_begin(t, loop_now_us(f->loop));
	guid_list_add(&t->held, node);
}

static void hold_add(struct traps *t, guid_t guid)
{
	uint64_t now = loop_now_us(t->f->loop);

	t->fed |= loop_timer_armed(t->hold) && now - t->began_us > t->length_us / 2;
	fabric_traps_hold(t->f, guid);
	t->last_us = now;
}

static void look_at_held(struct traps *t)
{
	struct fabric *f = t->f;

	for (unsigned i = 0; i < t->held.count; i++) {
		if (t->held.guids[i])
			fabric_request_refresh(f, t->held.guids[i], "trap");
		else
			fabric_request_sweep(f, "trap of an unknown sender");
		guid_list_add(&t->judged, t->held.guids[i]);
	}
	t->held.count = 0;
	t->looked_us = t->began_us;
	if (t->last_us >= t->began_us)
		t->length_us *= AFTER_A_LOOK;
	if (t->length_us > hold_max_us(t))
		t->length_us = hold_max_us(t);
	fabric_look(f);
}

static void hold_over(void *arg)
{
	struct traps *t = arg;
	uint64_t held_us = loop_now_us(t->f->loop) - t->began_us;
	uint64_t left_us = held_us < hold_max_us(t) ? hold_max_us(t) - held_us : 0;

	if (t->fed && left_us) {
		t->fed = false;
		t->length_us = held_us < left_us ? held_us * 2 : hold_max_us(t);
		loop_timer_set(t->hold, held_us < left_us ? held_us : left_us);
	} else if (sweep_discovers(t->f->sweep) && !sweep_trails(t->f->sweep)) {
		loop_timer_set(t->hold, hold_min_us(t));
	} else {
		look_at_held(t);
	}
}

/* ---- Babblers ------------------------------------------------------------------------------------ */

static struct babbler *find_babbler(struct traps *t, guid_t guid)
{
	for (unsigned i = 0; i < BABBLERS; i++)
		if (t->babblers[i].fruitless && t->babblers[i].guid == guid)
			return &t->babblers[i];
	return NULL;
}

/* Who was silent longest gives way. */
static struct babbler *new_babbler(struct traps *t, guid_t guid)
{
	struct babbler *slot = &t->babblers[0];

	for (unsigned i = 1; i < BABBLERS; i++)
		if (t->babblers[i].deaf_until_us < slot->deaf_until_us)
			slot = &t->babblers[i];
	*slot = (struct babbler){ .guid = guid };
	return slot;
}

static uint64_t deaf_us(unsigned fruitless)
{
	unsigned doublings = fruitless - FREE_LOOKS;

	if (fruitless < FREE_LOOKS)
		return 0;
	return doublings < 6 ? (uint64_t)DEAF_US << doublings : DEAF_MAX_US;
}

static void judge(struct traps *t, guid_t guid, bool differs)
{
	struct babbler *b = find_babbler(t, guid);

	if (differs) {
		if (b)
			b->fruitless = 0;
		return;
	}
	if (!b)
		b = new_babbler(t, guid);
	b->fruitless++;
	b->deaf_until_us = loop_now_us(t->f->loop) + deaf_us(b->fruitless);
}

uint64_t fabric_traps_looked_since(const struct fabric *f)
{
	return f->traps->looked_us;
}

uint64_t fabric_traps_wait_since(const struct fabric *f)
{
	const struct traps *t = f->traps;

	if (t->judged.count)
		return t->looked_us;
	return t->held.count ? t->began_us : 0;
}

void fabric_traps_drafted(struct fabric *f)
{
	bool looks = sweep_busy(f->sweep) && !sweep_trails(f->sweep);

	f->traps->drafted = looks ? 0 : f->traps->judged.count;
}

void fabric_traps_judge(struct fabric *f, bool differs)
{
	struct traps *t = f->traps;

	for (unsigned i = 0; i < t->drafted; i++)
		judge(t, t->judged.guids[i], differs);
	if (!t->drafted)
		return;
	t->judged.count -= t->drafted;
	memmove(t->judged.guids, t->judged.guids + t->drafted,
		t->judged.count * sizeof(*t->judged.guids));
	t->drafted = 0;
}

static void late_arm(struct traps *t)
{
	uint64_t now = loop_now_us(t->f->loop), due = UINT64_MAX;

	for (unsigned i = 0; i < BABBLERS; i++)
		if (t->babblers[i].owed && t->babblers[i].deaf_until_us < due)
			due = t->babblers[i].deaf_until_us;
	if (due != UINT64_MAX)
		loop_timer_set(t->late, due > now ? due - now : 0);
}

static void late_cb(void *arg)
{
	struct traps *t = arg;
	uint64_t now = loop_now_us(t->f->loop);

	for (unsigned i = 0; i < BABBLERS; i++) {
		if (!t->babblers[i].owed || t->babblers[i].deaf_until_us > now)
			continue;
		t->babblers[i].owed = false;
		hold_add(t, t->babblers[i].guid);
	}
	late_arm(t);
}

/* ---- Traps --------------------------------------------------------------------------------------- */

static void heed(struct traps *t, guid_t guid, const char *name, bool fault)
{
	struct babbler *b = find_babbler(t, guid);

	if (b && loop_now_us(t->f->loop) < b->deaf_until_us) {
		b->owed = true;
		if (!loop_timer_armed(t->late))
			late_arm(t);
		return;
	}
	if (fault)
		fabric_fault_open(t->f, name);
	hold_add(t, guid);
}

/* Trap 144 tells of a new description too (IBA 14.2.5.1, table 140). */
static void name_may_differ(struct fabric *f, guid_t guid)
{
	struct inv_node *node = inventory_find(sweep_inventory(f->sweep), guid);

	if (node)
		node->desc_stale = true;
}

static void change_trap(struct fabric *f, const struct wire_notice *notice, uint16_t from_lid)
{
	uint16_t lid = notice->lid ? notice->lid : from_lid;
	struct fabric_view view = fabric_view(f);
	uint32_t port = fabric_view_port_of_lid(&view, lid);
	const struct topo_node *node =
		port == TOPO_NONE ? NULL : &f->topo->nodes[f->topo->ports[port].node];

	if (lid == f->sm_lid && notice->trap == TRAP_CAPABILITY) /* our own IsSM bit */
		return;
	if (log_allow(&f->traps->log, loop_now_us(f->loop), LOG_BURST))
		log_line(LOG_TRAP, LOG_INFO, "trap %u from LID %u (%s)", notice->trap, lid,
			 node ? node->desc : "unknown");
	if (node && notice->trap == TRAP_CAPABILITY)
		name_may_differ(f, node->guid);
	if (node)
		heed(f->traps, node->guid, node->desc, notice->trap == TRAP_LINK_STATE);
	else if (f->topo)
		heed(f->traps, 0, "", false); /* somebody we have not met */
	else /* nobody is published yet: behind the first update; before that, a look is under way */
		f->requests.sweep |= fabric_updates(f);
}

/*
 * 128 is the switch's own word, 129-131, 144 and 145 the port's (IBA 14.2.5.1), so they come from a LID of the port that they name. 64-67
 * are the SA's own and never come from the fabric. Only 256-259 name others. Before anybody is known by LID nobody can be told from another.
 */
static bool is_forged(const struct fabric *f, const struct wire_notice *notice, uint16_t from_lid)
{
	struct fabric_view view = fabric_view(f);
	uint32_t sender = fabric_view_port_of_lid(&view, from_lid);

	if (!notice->generic || notice->trap >= 256)
		return false;
	if (notice->trap >= 64 && notice->trap <= 67)
		return true;
	if (!notice->lid || notice->lid == from_lid || !view.lids)
		return false;
	return sender == TOPO_NONE || sender != fabric_view_port_of_lid(&view, notice->lid);
}

void fabric_trap(void *arg, const struct wire_notice *notice, uint16_t from_lid, unsigned times)
{
	struct fabric *f = arg;

	if (is_forged(f, notice, from_lid)) {
		modules_trap(f->modules, notice, from_lid, times, true);
		return;
	}
	modules_trap(f->modules, notice, from_lid, times, false);
	if (notice->generic &&
	    (notice->trap == TRAP_LINK_STATE || notice->trap == TRAP_CAPABILITY ||
	     notice->trap == TRAP_SYSTEM_GUID))
		change_trap(f, notice, from_lid);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

void fabric_traps_init(struct fabric *f)
{
	struct traps *t = mem_alloc(1, sizeof(*t));

	t->f = f;
	t->hold = loop_timer_new(f->loop, hold_over, t);
	t->late = loop_timer_new(f->loop, late_cb, t);
	f->traps = t;
}

void fabric_traps_fini(struct fabric *f)
{
	loop_timer_free(f->traps->hold);
	loop_timer_free(f->traps->late);
	free(f->traps->held.guids);
	free(f->traps->judged.guids);
	free(f->traps);
}
