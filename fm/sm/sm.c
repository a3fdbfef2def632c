/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The subnet manager as others see it: the IsSM bit, SMInfo (IBA 14.2.5.13), and the receiving end
 * of traps (IBA 14.2.5.1, 14.3.13).
 *
 * Get(SMInfo) is answered in any state; an SM_Key of a site's own is shown to who has our M_Key, so
 * to nobody where there is none (IBA 14.2.5.13). The one that everybody knows is shown to all:
 * OpenSM takes who shows another than its own for no manager, 0 too. Set(SMInfo) carries the
 * election's control packets in its modifier (IBA 14.4.1): the election (election.h) obeys
 * it or gives a reason why not, which goes to the log, and the answer says that it is not valid, or
 * there is none. An answer is the request turned round: for a directed route that is the direction
 * bit, and the hop pointer stays where it arrived, one past the route's end; the driver walks it
 * back from there (IBA 14.2.2.4).
 *
 * Traps are for the master: in STANDBY and NOT-ACTIVE they are left to that one. A sender
 * repeats a trap until TrapRepress reaches it, so each one is repressed, but for those of a port
 * that babbles. A switch whose links all fall and come back sends two for each of its ports: BURST
 * are repressed at once, and RATE more of one kind in each FOLD_US. The first is handed on at once.
 * More of the kind (from the same LID, about the same port) within FOLD_US are held back and handed
 * on as one at the end of that time, since they may report a second change (two flips of one switch
 * look alike); unless the TID says that it is the same again.
 */
#include <inttypes.h>
#include "fm/keys/lookup.h"
#include "fm/loop/log.h"
#include "fm/sm/sm.h"
#include "topology/base/mem.h"

#define FOLD_US	       20000
#define BURST	       512 /* traps of a kind that are repressed at once */
#define RATE	       10  /* in each FOLD_US behind that */
#define TRAPS	       512 /* kinds remembered, each in the one slot where its hash leads */
#define LID_PERMISSIVE 0xffff
#define DOUBTED_US     150000 /* later on its sender does not wait for an answer any more */
#define INVALID_FIELD  0x001C /* MAD status: attribute or modifier not valid (IBA 13.4.7) */
#define TRAP_LOCAL     144    /* capabilities, description or the manager's priority changed */

struct trap {
	struct wire_notice notice; /* the latest */
	uint16_t lid;
	uint64_t tid;
	uint64_t handed_at; /* 0 = slot not used */
	unsigned repressed; /* of BURST */
	unsigned held;	    /* to be handed on as one at handed_at + FOLD_US */
	uint64_t came_us;   /* when the first of the held ones came */
};

struct doubted { /* a control packet that is not answered yet */
	struct io_addr from;
	struct wire_mad mad;
	uint8_t raw[WIRE_MAD_SIZE];
	uint64_t at_us; /* 0 = there is none */
};

struct sm {
	struct loop *loop;
	struct mad *mad;
	struct sm_conf conf;
	enum sm_state state;
	sm_trap_fn *trap;
	struct sm_ops ops;
	void *arg;
	struct trap traps[TRAPS];
	unsigned nheld; /* slots that hold some back */
	struct loop_timer *fold;
	struct sm_stats stats;
	struct log_limit refused;
	struct doubted doubted; /* the latest */
	uint64_t announced;
};

/* ---- SMInfo ---------------------------------------------------------------------------------- */

static void answer(struct sm *sm, const struct io_addr *from, const struct wire_mad *request,
		   const uint8_t *raw, uint8_t method, uint16_t status, const uint8_t *data)
{
	struct wire_mad header = *request;
	struct io_addr to = *from;
	uint8_t mad[WIRE_MAD_SIZE];

	header.method = method;
	header.status = status;
	if (method ==
	    WIRE_TRAP_REPRESS) /* checked as a Set's is (IBA 14.2.4.1); a trap's own may be 0 */
		header.key = sm->ops.key_of ? sm->ops.key_of(sm->arg, from->lid)
					    : port_key_own(sm->conf.inventory);
	if (request->mgmt_class == WIRE_SMI_DR) {
		header.returning = true;
		to.lid = LID_PERMISSIVE;
	}
	memcpy(mad, raw, WIRE_MAD_SIZE);
	wire_mad_encode(&header, mad);
	if (data)
		memcpy(wire_smp_data(mad), data, WIRE_SMP_DATA);
	mad_reply(sm->mad, &to, mad, sizeof(mad));
}

/* ActCount tells others that this SM lives: it moves with whatever the SM does. */
struct wire_sm_info sm_info(const struct sm *sm)
{
	return (struct wire_sm_info){
		.guid = mad_port_info(sm->mad)->port_guid,
		.sm_key = sm->conf.sm_key,
		.act_count = mad_stats(sm->mad).sent + sm->stats.sm_info_answered,
		.priority = sm->conf.priority,
		.state = sm->state,
	};
}

static void sm_info_answer(struct sm *sm, const struct io_addr *from, const struct wire_mad *mad,
			   const uint8_t *raw, uint16_t status)
{
	uint8_t data[WIRE_SMP_DATA];

	sm->stats.sm_info_answered++;

	struct wire_sm_info info = sm_info(sm);

	if (sm->conf.sm_key != ELECTION_PUBLIC_KEY &&
	    !port_key_may_be_own(sm->conf.inventory, mad->key))
		info.sm_key = 0;
	wire_sm_info_encode(&info, data);
	answer(sm, from, mad, raw, WIRE_GET_RESP, status, data);
}

static void control_answer(struct sm *sm, const struct io_addr *from, const struct wire_mad *mad,
			   const uint8_t *raw)
{
	enum control_verdict verdict = CONTROL_REFUSED;
	const char *why = "not participating";
	struct wire_sm_info sender;

	if (port_key_own(sm->conf.inventory) &&
	    !port_key_may_be_own(sm->conf.inventory, mad->key)) {
		sm->stats.controls_refused++;
		return;
	}
	wire_sm_info_decode(wire_smp_data((uint8_t *)raw), &sender);
	if (sm->ops.control)
		verdict = sm->ops.control(sm->arg, mad->attr_mod, &sender, &why);
	if (verdict != CONTROL_OBEYED) {
		sm->stats.controls_refused++;
		if (log_allow(&sm->refused, loop_now_us(sm->loop), 1))
			log_line(LOG_SM, LOG_WARNING,
				 "sm 0x%016" PRIx64 ": SMInfo control %u refused while %s: %s",
				 sender.guid, mad->attr_mod, sm_state_name(sm->state), why);
	}
	if (verdict == CONTROL_DOUBTED) {
		sm->doubted = (struct doubted){ .from = *from,
						.mad = *mad,
						.at_us = loop_now_us(sm->loop) };
		memcpy(sm->doubted.raw, raw, WIRE_MAD_SIZE);
	} else
		sm_info_answer(sm, from, mad, raw, verdict == CONTROL_REFUSED ? INVALID_FIELD : 0);
}

void sm_judge_doubted(struct sm *sm)
{
	struct doubted it = sm->doubted;

	if (!it.at_us || loop_now_us(sm->loop) - it.at_us > DOUBTED_US)
		return;
	sm->doubted.at_us = 0;
	control_answer(sm, &it.from, &it.mad, it.raw);
	if (sm->doubted.at_us) /* still: its sender may be met later */
		sm->doubted.at_us = it.at_us;
}

/* OpenSM's masters look at who is there when they hear this. */
void sm_announce(struct sm *sm, uint16_t to_lid, uint16_t own_lid, uint32_t capmask)
{
	const struct wire_mad header = { .mgmt_class = WIRE_SMI_LID,
					 .class_version = 1,
					 .method = WIRE_TRAP,
					 .tid = ++sm->announced,
					 .attr_id = WIRE_NOTICE,
					 .key = port_key_own(sm->conf.inventory) };
	const struct wire_notice notice = { .generic = true,
					    .type = 4, /* informational */
					    .producer = 1,
					    .trap = TRAP_LOCAL,
					    .issuer_lid = own_lid,
					    .lid = own_lid,
					    .capmask = capmask,
					    .priority_changed = true };
	const struct io_addr to = { .lid = to_lid };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mad_encode(&header, mad);
	wire_notice_encode(&notice, wire_smp_data(mad));
	mad_reply(sm->mad, &to, mad, sizeof(mad));
}

/* ---- Traps ----------------------------------------------------------------------------------- */

static void trap_hand_on(struct sm *sm, struct trap *trap)
{
	unsigned times = trap->held ? trap->held : 1;
	uint64_t now = loop_now_us(sm->loop), came_us = trap->held ? trap->came_us : now;
	uint64_t regained = (now - trap->handed_at) / FOLD_US * RATE;

	sm->nheld -= trap->held > 0;
	trap->held = 0;
	trap->repressed -= regained < trap->repressed ? (unsigned)regained : trap->repressed;
	trap->handed_at = now;
	sm->trap(sm->arg, &trap->notice, trap->lid, times, came_us);
}

static void fold_arm(struct sm *sm)
{
	uint64_t now = loop_now_us(sm->loop), due = UINT64_MAX;

	for (unsigned i = 0; i < TRAPS && sm->nheld; i++)
		if (sm->traps[i].held && sm->traps[i].handed_at + FOLD_US < due)
			due = sm->traps[i].handed_at + FOLD_US;
	if (due != UINT64_MAX)
		loop_timer_set(sm->fold, due > now ? due - now : 0);
}

static void fold_cb(void *arg)
{
	struct sm *sm = arg;
	uint64_t now = loop_now_us(sm->loop);

	for (unsigned i = 0; i < TRAPS; i++)
		if (sm->traps[i].held && sm->traps[i].handed_at + FOLD_US <= now)
			trap_hand_on(sm, &sm->traps[i]);
	fold_arm(sm);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void receive(void *arg, const struct io_addr *from, const struct wire_mad *mad,
		    const uint8_t *raw, size_t len)
{
	struct sm *sm = arg;

	if (len < WIRE_MAD_SIZE || mad->class_version != 1)
		return;
	if (sm->ops.asked && mad->attr_id == WIRE_SM_INFO)
		sm->ops.asked(sm->arg, mad, raw);
	if (mad->method == WIRE_TRAP && mad->attr_id == WIRE_NOTICE) {
		struct wire_notice notice;

		if (sm->state == SM_STANDBY || sm->state == SM_NOT_ACTIVE)
			return;
		wire_notice_decode(wire_smp_data((uint8_t *)raw), &notice);
		sm->stats.traps++;

		uint64_t key = (uint64_t)from->lid << 48 | (uint64_t)notice.trap << 32 |
			       notice.lid << 8 | notice.port;
		struct trap *trap = &sm->traps[(key * 0x9e3779b97f4a7c15u >> 32) % TRAPS];

		/* What the rest of the details says is of no matter to who takes traps here. */
		uint16_t lid = from->lid;
		const struct wire_notice *had = &trap->notice;
		if ((trap->handed_at && trap->lid == lid && had->trap == notice.trap &&
		     had->generic == notice.generic && had->lid == notice.lid &&
		     had->port == notice.port) &&
		    loop_now_us(sm->loop) < trap->handed_at + FOLD_US) {
			sm->stats.traps_repeated++;
			if (!mad->tid || mad->tid != trap->tid) {
				trap->notice = notice;
				trap->tid = mad->tid;
				if (!trap->held)
					trap->came_us = loop_now_us(sm->loop);
				sm->nheld += trap->held++ == 0;
				if (!loop_timer_armed(sm->fold))
					fold_arm(sm);
			}
		} else {
			/* Where two kinds meet in a slot, what is held there is handed on now. */
			if (trap->held)
				trap_hand_on(sm, trap);
			trap->notice = notice;
			trap->lid = lid;
			trap->tid = mad->tid;
			trap_hand_on(sm, trap);
		}

		if (trap->repressed < BURST) {
			trap->repressed++;
			answer(sm, from, mad, raw, WIRE_TRAP_REPRESS, 0, NULL);
		} else {
			sm->stats.traps_not_repressed++;
		}
	} else if (mad->method == WIRE_GET && mad->attr_id == WIRE_SM_INFO)
		sm_info_answer(sm, from, mad, raw, 0);
	else if (mad->method == WIRE_SET && mad->attr_id == WIRE_SM_INFO)
		control_answer(sm, from, mad, raw);
}

struct sm *sm_new(struct loop *loop, struct mad *mad, const struct sm_conf *conf, sm_trap_fn *trap,
		  void *arg)
{
	struct sm *sm = mem_new(sm);

	sm->loop = loop;
	sm->mad = mad;
	sm->conf = *conf;
	sm->state = SM_DISCOVERING;
	sm->trap = trap;
	sm->arg = arg;
	sm->fold = loop_timer_new(loop, fold_cb, sm);
	mad_handle(mad, WIRE_SMI_LID, receive, sm);
	mad_handle(mad, WIRE_SMI_DR, receive, sm);
	return sm;
}

void sm_free(struct sm *sm)
{
	if (!sm)
		return;
	mad_set_is_sm(sm->mad, false);
	mad_handle(sm->mad, WIRE_SMI_LID, NULL, NULL);
	mad_handle(sm->mad, WIRE_SMI_DR, NULL, NULL);
	loop_timer_free(sm->fold);
	free(sm);
}

void sm_follow(struct sm *sm, const struct sm_ops *ops)
{
	sm->ops = *ops;
}

void sm_configure(struct sm *sm, const struct sm_conf *conf)
{
	sm->conf = *conf;
}

void sm_set_inventory(struct sm *sm, const struct inventory *inventory)
{
	sm->conf.inventory = inventory;
}

void sm_set_priority(struct sm *sm, uint8_t priority)
{
	sm->conf.priority = priority;
}

void sm_set_state(struct sm *sm, enum sm_state state)
{
	if (sm->state != state)
		log_line(LOG_SM, LOG_NOTICE, "now %s", sm_state_name(state));
	sm->state = state;
}

enum sm_state sm_state(const struct sm *sm)
{
	return sm->state;
}

struct sm_stats sm_stats(const struct sm *sm)
{
	return sm->stats;
}
