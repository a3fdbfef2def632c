/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_audit: when the audit of forwarding tables may run, and what follows from a finding: an update,
 * which writes what the switch does not hold, and an event once that is acknowledged.
 */
#include <stdlib.h>
#include "fm/fabric_own.h"
#include "topology/mem.h"

#define TOLD_ONE_BY_ONE 20

static uint64_t idle_since(void *arg)
{
	const struct fabric *f = arg;
	bool idle = f->state == FABRIC_UP && !f->programming && !f->bringing_up &&
		    !fabric_updates(f) && !f->want_discover && !f->want_reroute &&
		    !f->suspects.count && !f->readers && !sweep_busy(f->sweep);

	return idle ? f->settled_us : 0;
}

static void found(void *arg, guid_t sw, uint32_t block)
{
	struct fabric *f = arg;

	f->spoilt = mem_resize(f->spoilt, f->nspoilt + 1, sizeof(*f->spoilt));
	f->spoilt[f->nspoilt++] = (struct spoilt){ sw, block };
	f->want_reroute = true;
	loop_timer_set(f->hold_timer, 0);
}

static void tell_one(struct fabric *f, const struct spoilt *s)
{
	uint32_t sw = topo_find(f->topo, s->sw);
	const char *name = sw == TOPO_NONE ? "gone" : f->topo->nodes[sw].desc;

	event_log_add(f->events, LOG_WARNING, "audit", json_pack("{si}", "block", (int)s->block),
		      "sw %s 0x%016llx: block %u differs from what was written: repaired", name,
		      (unsigned long long)s->sw, s->block);
}

/* Behind an update whose blocks are all acknowledged. */
void fabric_audit_repaired(struct fabric *f)
{
	for (unsigned i = 0; i < f->nspoilt && i < TOLD_ONE_BY_ONE; i++)
		tell_one(f, &f->spoilt[i]);
	if (f->nspoilt > TOLD_ONE_BY_ONE)
		event_log_add(f->events, LOG_WARNING, "audit", NULL,
			      "fabric: %u more blocks differed from what was written: repaired",
			      f->nspoilt - TOLD_ONE_BY_ONE);
	f->audit_repaired += f->nspoilt;
	f->nspoilt = 0;
}

void fabric_audit_init(struct fabric *f)
{
	static const struct audit_ops ops = { .idle_since = idle_since, .differs = found };

	f->audit = audit_new(f->loop, f->mad, f->program, &ops, f);
	fabric_audit_configure(f);
}

void fabric_audit_configure(struct fabric *f)
{
	audit_configure(f->audit, (unsigned)f->conf.audit_rate,
			(uint64_t)f->conf.audit_after_ms * 1000);
}

void fabric_audit_fini(struct fabric *f)
{
	audit_free(f->audit);
	free(f->spoilt);
}
