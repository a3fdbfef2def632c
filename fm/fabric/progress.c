/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/fabric/progress.h"
#include "fm/fabric/own.h"

bool fabric_sweep_running(const struct fabric *f)
{
	return sweep_busy(f->sweep);
}

bool fabric_updating(const struct fabric *f)
{
	return job_steps(f->update.job) != NULL;
}

bool fabric_programming(const struct fabric *f)
{
	return f->programming;
}

bool fabric_is_settled(const struct fabric *f)
{
	return !f->settle.due && !fabric_updating(f);
}

bool fabric_is_up(const struct fabric *f)
{
	return f->state == FABRIC_UP;
}

bool fabric_is_quiet(const struct fabric *f)
{
	return f->state != FABRIC_STARTING && fabric_is_master(f) && !f->programming &&
	       !f->bringing_up && !fabric_updating(f) && !fabric_requests_wait(f) &&
	       !fabric_sweep_running(f);
}

uint64_t fabric_quiet_since_us(const struct fabric *f)
{
	return fabric_is_up(f) && fabric_is_quiet(f) ? f->settled_us : 0;
}

const struct program_result *fabric_last_programmed(const struct fabric *f)
{
	return &f->figures.programmed;
}
