/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* role: the role in force, and the change that waits for the loop; fabric.c serves that. */
#include "fm/fabric/role.h"
#include <stdlib.h>
#include "fm/fabric/pipe.h"
#include "topology/base/mem.h"

static const char *role_name(enum fabric_role role)
{
	static const char *const names[] = {
		[FABRIC_ROLE_AWAY] = "away",
		[FABRIC_ROLE_ASKING] = "asking",
		[FABRIC_ROLE_LOCKED_OUT] = "locked out",
		[FABRIC_ROLE_STANDBY] = "standby",
		[FABRIC_ROLE_MASTER] = "master",
	};

	return names[role];
}

enum fabric_role fabric_role(const struct fabric *f)
{
	return f->role->now;
}

bool fabric_is_master(const struct fabric *f)
{
	return f->role->now == FABRIC_ROLE_MASTER;
}

bool fabric_may_sweep(const struct fabric *f)
{
	return !f->role->paused && f->role->now != FABRIC_ROLE_AWAY &&
	       f->role->now != FABRIC_ROLE_STANDBY;
}

guid_t fabric_master(const struct fabric *f)
{
	return f->role->now == FABRIC_ROLE_STANDBY ? f->role->master : 0;
}

bool fabric_took_over(const struct fabric *f)
{
	return f->role->took_over;
}

static void keep_sets_back(struct fabric *f)
{
	mad_set_quiet(f->mad, f->role->paused || (f->role->now != FABRIC_ROLE_ASKING &&
						  f->role->now != FABRIC_ROLE_MASTER));
}

void fabric_pause(struct fabric *f, bool on, const char *reason)
{
	log_line(LOG_CORE, LOG_DEBUG, "fabric: %s: %s", on ? "paused" : "goes on", reason);
	f->role->paused = on;
	f->role->resumes = false;
	keep_sets_back(f);
}

void fabric_change_role(struct fabric *f, const struct fabric_role_change *change,
			const char *reason)
{
	bool anew = change->anew || (f->role->waits && f->role->next.anew);

	log_line(LOG_CORE, LOG_DEBUG, "fabric: role %s, from the loop %s: %s",
		 role_name(f->role->now), role_name(change->role), reason);
	f->role->next = *change;
	f->role->next.anew = anew;
	f->role->waits = f->role->resumes = true;
	loop_timer_set(f->role->timer, 0);
}

void fabric_role_enter(struct fabric *f)
{
	f->role->now = f->role->next.role;
	f->role->took_over = f->role->next.took_over;
	f->role->master = f->role->next.master;
	f->role->paused &= !f->role->resumes;
	f->role->waits = false;
	keep_sets_back(f);
	state_store_set_writable(f->kept.store, fabric_is_master(f));
}

void fabric_role_init(struct fabric *f, loop_fn *serve)
{
	f->role = mem_alloc(1, sizeof(*f->role));
	f->role->timer = loop_timer_new(f->loop, serve, f);
	keep_sets_back(f);
}

void fabric_role_fini(struct fabric *f)
{
	loop_timer_free(f->role->timer);
	free(f->role);
}
