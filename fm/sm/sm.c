/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The subnet manager as others see it: the IsSM bit, SMInfo (IBA 14.2.5.13), and the receiving end
 * of traps (IBA 14.2.5.1, 14.3.13).
 *
 * Get(SMInfo) is answered in any state; an SM_Key of a site's own is shown to who has our M_Key, so
 * to nobody where there is none (IBA 14.2.5.13). The one that everybody knows is shown to all:
 * OpenSM takes who shows another than its own for no manager, 0 too. Set(SMInfo) carries the
 * election's control packets in its modifier (IBA 14.4.1): whoever decides (control_packet.h) obeys
 * it or gives a reason why not, which goes to the log, and the answer says that it is not valid, or
 * there is none. An answer is the request turned round: for a directed route that is the direction
 * bit, and the hop pointer stays where it arrived, one past the route's end; the driver walks it
 * back from there (IBA 14.2.2.4).
 *
 * Traps are for the master: in STANDBY and NOT-ACTIVE they are left to whoever that is. A sender
 * repeats a trap until TrapRepress reaches it, so each one is repressed, but for those of a port
 * that babbles: REPRESSED of one kind within FOLD_US are enough to stop a sender that means it. The
 * first is handed on at once. More of the kind (from the same LID, about the same port) within
 * FOLD_US are held back and handed on as one at the end of that time, since they may report a
 * second change (two flips of one switch look alike); unless the TID says that it is the same
 * again.
 */
#include <string.h>
#include <stdlib.h>
#include "fm/loop/log.h"
#include "fm/conf/m_keys.h"
#include "fm/sm/sm.h"
#include "topology/base/mem.h"

#define FOLD_US	       20000
#define REPRESSED      10  /* in FOLD_US */
#define TRAPS	       512 /* kinds remembered, each in the one slot where its hash leads */
#define LID_PERMISSIVE 0xffff
#define DOUBTED_US     1000000 /* later on its sender does not wait for an answer any more */
#define INVALID_FIELD  0x001C  /* MAD status: attribute or modifier not valid (IBA 13.4.7) */
#define TRAP_LOCAL     144     /* capabilities, description or the manager's priority changed */

struct trap {
	struct wire_notice notice; /* the latest */
	uint16_t lid;
	uint64_t tid;
	uint64_t handed_at; /* 0 = slot not used */
	unsigned repressed; /* since then */
	unsigned held;	    /* to be handed on as one at handed_at + FOLD_US */
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
	sm_control_fn *control; /* NULL: all are refused */
	loop_fn *asked;		/* NULL: nobody wants to know */
	sm_key_fn *key_of;
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

static guid_t own_guid(const struct sm *sm)
{
	return mad_port_info(sm->mad)->port_guid;
}

static uint64_t own_key(const struct sm *sm)
{
	return m_keys_wanted(sm->conf.keys, own_guid(sm));
}

/* That of the own port, or one that it may still hold. */
static bool mkey_known(const struct sm *sm, const struct wire_mad *mad)
{
	return own_key(sm) && m_keys_may_be(sm->conf.keys, own_guid(sm), mad->key);
}

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
		header.key = sm->key_of ? sm->key_of(sm->arg, from->lid) : own_key(sm);
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
		.guid = own_guid(sm),
		.sm_key = sm->conf.sm_key,
		.act_count = (uint32_t)(mad_stats(sm->mad).sent + sm->stats.sm_info_answered),
		.priority = sm->conf.priority,
		.state = (uint8_t)sm->state,
	};
}

static void sm_info_answer(struct sm *sm, const struct io_addr *from, const struct wire_mad *mad,
			   const uint8_t *raw, uint16_t status)
{
	struct wire_sm_info info;
	uint8_t data[WIRE_SMP_DATA];

	sm->stats.sm_info_answered++;
	info = sm_info(sm);
	if (sm->conf.sm_key != ELECTION_PUBLIC_KEY && !mkey_known(sm, mad))
		info.sm_key = 0;
	wire_sm_info_encode(&info, data);
	answer(sm, from, mad, raw, WIRE_GET_RESP, status, data);
}

static void control_refused(struct sm *sm, uint32_t control, const struct wire_sm_info *sender,
			    const char *why)
{
	sm->stats.controls_refused++;
	if (log_allow(&sm->refused, loop_now_us(sm->loop), 1))
		log_line(LOG_SM, LOG_WARNING,
			 "sm 0x%016llx: SMInfo control %u refused while %s: %s",
			 (unsigned long long)sender->guid, control, sm_state_name(sm->state), why);
}

static void doubt(struct sm *sm, const struct io_addr *from, const struct wire_mad *mad,
		  const uint8_t *raw)
{
	sm->doubted =
		(struct doubted){ .from = *from, .mad = *mad, .at_us = loop_now_us(sm->loop) };
	memcpy(sm->doubted.raw, raw, WIRE_MAD_SIZE);
}

static void control_answer(struct sm *sm, const struct io_addr *from, const struct wire_mad *mad,
			   const uint8_t *raw)
{
	enum control_verdict verdict = CONTROL_REFUSED;
	const char *why = "not participating";
	struct wire_sm_info sender;

	if (own_key(sm) && !mkey_known(sm, mad)) {
		sm->stats.controls_refused++;
		return;
	}
	wire_sm_info_decode(wire_smp_data((uint8_t *)raw), &sender);
	if (sm->control)
		verdict = sm->control(sm->arg, mad->attr_mod, &sender, &why);
	if (verdict != CONTROL_OBEYED)
		control_refused(sm, mad->attr_mod, &sender, why);
	if (verdict == CONTROL_DOUBTED)
		doubt(sm, from, mad, raw);
	else
		sm_info_answer(sm, from, mad, raw, verdict == CONTROL_REFUSED ? INVALID_FIELD : 0);
}

void sm_judge_doubted(struct sm *sm)
{
	struct doubted it = sm->doubted;

	if (!it.at_us || loop_now_us(sm->loop) - it.at_us > DOUBTED_US)
		return;
	control_answer(sm, &it.from, &it.mad, it.raw);
	sm->doubted.at_us = 0;
}

/* OpenSM's masters look at who is there when they hear this. */
void sm_announce(struct sm *sm, uint16_t to_lid, uint16_t own_lid, uint32_t capmask)
{
	const struct wire_mad header = { .mgmt_class = WIRE_SMI_LID,
					 .class_version = 1,
					 .method = WIRE_TRAP,
					 .tid = ++sm->announced,
					 .attr_id = WIRE_NOTICE,
					 .key = own_key(sm) };
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

/* What the rest of the details says is of no matter to who takes traps here. */
static bool trap_alike(const struct trap *trap, const struct wire_notice *notice, uint16_t lid)
{
	const struct wire_notice *had = &trap->notice;

	return trap->handed_at && trap->lid == lid && had->trap == notice->trap &&
	       had->generic == notice->generic && had->lid == notice->lid &&
	       had->port == notice->port;
}

static struct trap *trap_slot(struct sm *sm, const struct wire_notice *notice, uint16_t lid)
{
	uint64_t key = (uint64_t)lid << 48 | (uint64_t)notice->trap << 32 | notice->lid << 8 |
		       notice->port;

	return &sm->traps[(key * 0x9e3779b97f4a7c15u >> 32) % TRAPS];
}

static void trap_hand_on(struct sm *sm, struct trap *trap)
{
	unsigned times = trap->held ? trap->held : 1;

	sm->nheld -= trap->held > 0;
	trap->held = trap->repressed = 0;
	trap->handed_at = loop_now_us(sm->loop);
	sm->trap(sm->arg, &trap->notice, trap->lid, times);
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

static void trap_repeated(struct sm *sm, struct trap *trap, const struct wire_notice *notice,
			  uint64_t tid)
{
	sm->stats.traps_repeated++;
	if (tid && tid == trap->tid)
		return;
	trap->notice = *notice;
	trap->tid = tid;
	sm->nheld += trap->held++ == 0;
	if (!loop_timer_armed(sm->fold))
		fold_arm(sm);
}

/* Where two kinds meet in a slot, what is held there is handed on now. */
static void trap_take(struct sm *sm, struct trap *trap, const struct wire_notice *notice,
		      uint16_t lid, uint64_t tid)
{
	if (trap->held)
		trap_hand_on(sm, trap);
	trap->notice = *notice;
	trap->lid = lid;
	trap->tid = tid;
	trap_hand_on(sm, trap);
}

static void trap_receive(struct sm *sm, const struct io_addr *from, const struct wire_mad *mad,
			 const uint8_t *raw)
{
	struct wire_notice notice;
	struct trap *trap;

	if (sm->state == SM_STANDBY || sm->state == SM_NOT_ACTIVE)
		return;
	wire_notice_decode(wire_smp_data((uint8_t *)raw), &notice);
	sm->stats.traps++;
	trap = trap_slot(sm, &notice, from->lid);
	if (trap_alike(trap, &notice, from->lid) &&
	    loop_now_us(sm->loop) < trap->handed_at + FOLD_US)
		trap_repeated(sm, trap, &notice, mad->tid);
	else
		trap_take(sm, trap, &notice, from->lid, mad->tid);
	if (trap->repressed++ < REPRESSED)
		answer(sm, from, mad, raw, WIRE_TRAP_REPRESS, 0, NULL);
	else
		sm->stats.traps_not_repressed++;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void receive(void *arg, const struct io_addr *from, const struct wire_mad *mad,
		    const uint8_t *raw, size_t len)
{
	struct sm *sm = arg;

	if (len < WIRE_MAD_SIZE || mad->class_version != 1)
		return;
	if (sm->asked && mad->attr_id == WIRE_SM_INFO)
		sm->asked(sm->arg);
	if (mad->method == WIRE_TRAP && mad->attr_id == WIRE_NOTICE)
		trap_receive(sm, from, mad, raw);
	else if (mad->method == WIRE_GET && mad->attr_id == WIRE_SM_INFO)
		sm_info_answer(sm, from, mad, raw, 0);
	else if (mad->method == WIRE_SET && mad->attr_id == WIRE_SM_INFO)
		control_answer(sm, from, mad, raw);
}

struct sm *sm_new(struct loop *loop, struct mad *mad, const struct sm_conf *conf, sm_trap_fn *trap,
		  void *arg)
{
	struct sm *sm = mem_alloc(1, sizeof(*sm));

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

int sm_show(struct sm *sm, bool on)
{
	return mad_set_is_sm(sm->mad, on);
}

void sm_on_asked(struct sm *sm, loop_fn *fn)
{
	sm->asked = fn;
}

void sm_on_control(struct sm *sm, sm_control_fn *fn)
{
	sm->control = fn;
}

void sm_on_repress(struct sm *sm, sm_key_fn *fn)
{
	sm->key_of = fn;
}

void sm_configure(struct sm *sm, const struct sm_conf *conf)
{
	sm->conf = *conf;
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
