/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Polls of the master by a STANDBY, or by whom it has disabled (IBA 14.4.1.3): one each
 * sminfo_polling_timeout, of several packets, by directed route and when that fails by LID in
 * turns.
 */
#include "fm/sm/module_own.h"
#include "fm/state/state_copy.h"

#define POLL_TRIES     4  /* packets of a poll */
#define ANNOUNCE_EVERY 10 /* polls of a master that we outrank */
#define READING_US     10000000

static void answered(void *arg, const struct mad_answer *answer)
{
	struct sm_room *r = arg;
	struct polls *p = &r->polls;
	const struct conf *conf = r->services.conf;
	uint64_t now = loop_now_us(r->services.loop),
		 next = p->polled_us + (uint64_t)conf->sm.polling_timeout_ms * 1000;
	struct wire_sm_info info;
	enum election_event event;

	p->poll = 0;
	if (answer->result == MAD_OK)
		wire_sm_info_decode(answer->data, &info);
	event = election_polled(&r->core, answer->result == MAD_OK ? &info : NULL,
				(unsigned)conf->sm.polling_retries, now);
	if (!r->core.missed)
		p->heard_us = now;
	if (event == ELECTION_ALIVE)
		loop_timer_set(r->due, next > now ? next - now : 0);
	p->polled(r, event);
}

/*
 * A master should know who stands by. One that we outrank is to hand over, and hears of us now and
 * then.
 */
static void announce(struct sm_room *r)
{
	const struct polls *p = &r->polls;
	bool outranked = r->core.master.state == SM_MASTER &&
			 !election_outranks_us(&r->core, &r->core.master);

	if (p->master.lid && r->rounds.own_lid &&
	    (p->count == 1 || (outranked && p->count % ANNOUNCE_EVERY == 1)))
		sm_announce(r->sm, p->master.lid, r->rounds.own_lid, r->rounds.own_capmask);
}

/* ---- A master that would hand over at once --------------------------------------------------- */

void sm_begin_reading(struct sm_room *r)
{
	struct polls *p = &r->polls;

	if (!r->services.conf->mirror.interval_ms || r->core.state != SM_STANDBY ||
	    fabric_is_master(r->fabric) || p->master.info.state != SM_MASTER ||
	    election_outranks_us(&r->core, &p->master.info))
		return;
	state_store_set_read(r->services.state, false);
	p->reading_until_us = loop_now_us(r->services.loop) + READING_US;
	r->core.reading = true;
	sm_set_priority(r->sm, election_priority(&r->core));
}

/* The master is told at once: it learns of a priority by asking. */
static void review_reading(struct sm_room *r)
{
	if (!r->core.reading ||
	    (!state_store_is_read(r->services.state) && !state_store_is_copied(r->services.state) &&
	     loop_now_us(r->services.loop) < r->polls.reading_until_us))
		return;
	r->core.reading = false;
	r->polls.count = 0;
	sm_set_priority(r->sm, election_priority(&r->core));
}

void sm_poll(struct sm_room *r)
{
	struct polls *p = &r->polls;
	bool by_lid = r->core.missed % 2 && p->master.lid;

	review_reading(r);
	p->polled_us = loop_now_us(r->services.loop);
	p->count++;
	if (r->core.state == SM_STANDBY)
		announce(r);
	p->poll = mad_send(r->services.mad,
			   &(struct mad_request){
				   .path = by_lid ? NULL : &p->master.path,
				   .lid = by_lid ? p->master.lid : 0,
				   .method = WIRE_GET,
				   .attr_id = WIRE_SM_INFO,
				   .timeout_ms = (unsigned)r->services.conf->sm.polling_timeout_ms /
						 POLL_TRIES,
				   .retries = POLL_TRIES - 1,
				   .urgent = true,
				   .doubtful = true },
			   answered, r);
}

void sm_stop_polling(struct sm_room *r)
{
	mad_cancel(r->services.mad, r->polls.poll);
	r->polls.poll = 0;
}
