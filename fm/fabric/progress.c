/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/fabric/progress.h"
#include "fm/fabric/pipe.h"

bool fabric_sweep_running(const struct fabric *f)
{
	return sweep_busy(f->sweep);
}

bool fabric_updating(const struct fabric *f)
{
	return f->progress.updating;
}

bool fabric_programming(const struct fabric *f)
{
	return f->progress.programming;
}

bool fabric_is_settled(const struct fabric *f)
{
	return !f->progress.due && !fabric_updating(f);
}

bool fabric_is_up(const struct fabric *f)
{
	return f->progress.state == FABRIC_UP;
}

bool fabric_is_quiet(const struct fabric *f)
{
	return f->progress.state != FABRIC_STARTING && fabric_is_master(f) &&
	       !f->progress.programming && !f->progress.bringing_up && !fabric_updating(f) &&
	       !fabric_requests_wait(f) && !fabric_sweep_running(f);
}

uint64_t fabric_quiet_since_us(const struct fabric *f)
{
	return fabric_is_up(f) && fabric_is_quiet(f) ? f->progress.settled_us : 0;
}

void fabric_note_sweep(struct fabric *f, const struct sweep_result *result)
{
	f->figures->sweep_smps = result->smps;
	f->figures->silent = result->silent;
	f->figures->partial = result->partial;
}

const struct program_result *fabric_last_programmed(const struct fabric *f)
{
	return &f->figures->programmed;
}
