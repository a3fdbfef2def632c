/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A process that was stopped and goes on does not notice. As master it would meet the standby that
 * took over meanwhile as two masters meet, and where it has the higher rank be handed the fabric
 * back: then what it knew when it was stopped goes before all that hosts and operators have asked
 * of the other since. So it begins as a manager does that returns: it stands by where another is
 * master, and copies from that one.
 *
 * How long a standby waits is its own sminfo_polling_timeout times polling_retry_number; this
 * manager's are taken for them, less one poll, since the one under way had begun earlier.
 */
#include "fm/sm/module_own.h"

#define BEATS 4 /* in the time that a standby waits */

static uint64_t patience_us(const struct sm_room *r)
{
	const struct conf_sm *conf = &r->services.conf->sm;
	unsigned polls = conf->polling_retries > 1 ? (unsigned)conf->polling_retries - 1 : 1;

	return (uint64_t)conf->polling_timeout_ms * 1000 * polls;
}

static bool knows_standby(const struct sm_room *r)
{
	for (unsigned i = 0; i < r->rounds.nothers; i++)
		if (r->rounds.others[i]->info.state == SM_STANDBY)
			return true;
	return false;
}

static void ask_anew(struct sm_room *r, uint64_t us)
{
	event_log_add(r->services.events, LOG_WARNING, "stood-still", NULL,
		      "fabric: this manager stood still for %.1f s, and another may be master now: "
		      "it asks first",
		      (double)us / 1e6);
	fabric_pause(r->fabric, true, "stood still");
	sm_take(r, ELECTION_STOOD_STILL, NULL);
	r->reports.taking.begun_us = 0;
	r->was_away = true;
}

static void set_beat(struct sm_room *r)
{
	r->still.beat_us = loop_boot_us(r->services.loop);
	r->still.patience_us = patience_us(r);
	loop_timer_set(r->still.beat, r->still.patience_us / BEATS);
}

void sm_still_check(struct sm_room *r)
{
	uint64_t us = loop_boot_us(r->services.loop) - r->still.beat_us;
	bool still = us > r->still.patience_us;

	set_beat(r);
	if (still && r->core.state == SM_MASTER && knows_standby(r))
		ask_anew(r, us);
}

static void beat(void *arg)
{
	sm_still_check(arg);
}

void sm_still_init(struct sm_room *r)
{
	r->still.beat = loop_timer_new(r->services.loop, beat, r);
	set_beat(r);
}

void sm_still_fini(struct sm_room *r)
{
	loop_timer_free(r->still.beat);
}
