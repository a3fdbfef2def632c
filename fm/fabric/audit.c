/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_audit: when the audit of forwarding tables may run, and what follows from a finding: an update,
 * which writes what the switch does not hold, and an event once that is acknowledged. For a block of a multicast table it is a
 * round of mcast.c's.
 */
#include <stdlib.h>
#include "fm/fabric/own.h"
#include "topology/mem.h"

#define TOLD_ONE_BY_ONE 20

static uint64_t idle_since(void *arg)
{
	const struct fabric *f = arg;
	bool idle = f->state == FABRIC_UP && !f->programming && !f->bringing_up &&
		    !fabric_updates(f) && !fabric_requests_wait(f) && !f->readers.first &&
		    !sweep_busy(f->sweep) && !fabric_mcast_busy(f) && !modules_busy(f->modules);

	return idle ? f->settled_us : 0;
}

void fabric_audit_found(struct fabric *f, guid_t sw, uint32_t block)
{
	if (fabric_untrue(f, sw))
		return; /* known not to hold what it acknowledges */
	f->spoilt = mem_resize(f->spoilt, f->nspoilt + 1, sizeof(*f->spoilt));
	f->spoilt[f->nspoilt++] = (struct spoilt){ sw, block };
	fabric_request_reroute(f, "a table block differs from what was written");
}

static void found(void *arg, guid_t sw, uint32_t block)
{
	fabric_audit_found(arg, sw, block);
}

static bool mft_found_spoilt(void *arg, guid_t sw, uint16_t block, unsigned position)
{
	struct fabric *f = arg;

	if (fabric_untrue(f, sw))
		return false;
	f->mft_spoilt = mem_resize(f->mft_spoilt, f->nmft_spoilt + 1, sizeof(*f->mft_spoilt));
	f->mft_spoilt[f->nmft_spoilt++] = (struct spoilt){ sw, block * MCAST_POSITIONS + position };
	fabric_report_mft_mismatch(f);
	return true;
}

static const char *name_of(const struct fabric *f, guid_t guid)
{
	uint32_t sw = topo_find(f->topo, guid);

	return sw == TOPO_NONE ? "gone" : f->topo->nodes[sw].desc;
}

void fabric_audit_tell(struct fabric *f, guid_t sw, uint32_t block)
{
	f->audit_repaired++;
	if (!log_allow(&f->audit_log, loop_now_us(f->loop), TOLD_ONE_BY_ONE))
		return;
	event_log_add(f->events, LOG_WARNING, "audit", json_pack("{si}", "block", (int)block),
		      "sw %s 0x%016llx: block %u differs from what was written: repaired",
		      name_of(f, sw), (unsigned long long)sw, block);
}

void fabric_audit_tell_mft(struct fabric *f, guid_t sw, unsigned block, unsigned position)
{
	f->audit_repaired++;
	if (!log_allow(&f->audit_log, loop_now_us(f->loop), TOLD_ONE_BY_ONE))
		return;
	event_log_add(f->events, LOG_WARNING, "audit",
		      json_pack("{si si}", "mft_block", (int)block, "position", (int)position),
		      "sw %s 0x%016llx: multicast block %u, ports from %u, differs from what was "
		      "written: repaired",
		      name_of(f, sw), (unsigned long long)sw, block, position * MCAST_POSITION);
}

/* Behind an update whose blocks are all acknowledged: they are read before that is said. */
void fabric_audit_repaired(struct fabric *f)
{
	unsigned count = f->nspoilt;

	f->nspoilt = 0;
	for (unsigned i = 0; i < count; i++)
		fabric_untrue_repaired(f, f->spoilt[i].sw, f->spoilt[i].block);
}

/* The same behind a round of multicast. */
void fabric_audit_mft_repaired(struct fabric *f)
{
	unsigned count = f->nmft_spoilt;

	f->nmft_spoilt = 0;
	for (unsigned i = 0; i < count; i++)
		fabric_untrue_mft_repaired(f, f->mft_spoilt[i].sw,
					   (uint16_t)(f->mft_spoilt[i].block / MCAST_POSITIONS),
					   f->mft_spoilt[i].block % MCAST_POSITIONS);
}

void fabric_audit_init(struct fabric *f)
{
	static const struct audit_ops ops = { .idle_since = idle_since,
					      .differs = found,
					      .mft_differs = mft_found_spoilt };

	f->audit = audit_new(f->loop, f->mad, f->program, f->mft, &ops, f);
	fabric_audit_configure(f);
}

void fabric_audit_configure(struct fabric *f)
{
	audit_configure(f->audit, (unsigned)f->conf.audit.rate,
			(uint64_t)f->conf.audit.after_ms * 1000);
}

void fabric_audit_fini(struct fabric *f)
{
	audit_free(f->audit);
	free(f->spoilt);
	free(f->mft_spoilt);
}
