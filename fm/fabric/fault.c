/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_fault: from what made us look to the last block that followed from it, timed and told.
 *
 *   open        a trap came, or a poll found something            f->fault
 *   name        an update found what it was
 *   published   its tables are proven and on their way            f->answered
 *   programmed  the last block is acknowledged: told
 *
 * Triggers whose look is still to come stay behind for the next update. Where an update is published before
 * the one before it is programmed, one answer is told for both, from the first trigger on. What was found
 * is a fault if anything was lost, else a repair; what made no difference is forgotten. A link that came up is in use when it is
 * Active: its repair stays open for the update that follows bring-up.
 */
#include <stdio.h>
#include <string.h>
#include "fm/core/words.h"
#include "fm/fabric/own.h"
#include "topology/risk.h"

#define URGENT_US 2000000

/* Since when traps, or rooms, wait for their sweep; 0 = none do. */
static uint64_t waits_since(const struct fabric *f)
{
	return modules_pending_since(f->modules);
}

static double ms_between(uint64_t from_us, uint64_t to_us)
{
	return (to_us - from_us) / 1e3;
}

/*
 * While a fault is open requests to the SA have a part of the time only, also where switches are waited for: from each trigger on for so long at
 * most, since a link may train for longer.
 */
static void urgent(struct fabric *f)
{
	loop_busy_for(f->loop, URGENT_US);
}

static void urgent_no_more(struct fabric *f)
{
	if (!f->fault.open && !f->answered.open)
		loop_busy_for(f->loop, 0);
}

static void open_at(struct fabric *f, const char *what, uint64_t when_us)
{
	if (f->fault.open)
		return;
	f->fault = (struct fault){ .open = true, .detected_us = when_us };
	snprintf(f->fault.what, sizeof(f->fault.what), "%s", what);
}

void fabric_fault_open(struct fabric *f, const char *what)
{
	open_at(f, what, loop_now_us(f->loop));
	urgent(f);
}

void fabric_fault_name(struct fabric *f, bool loss, const char *what)
{
	fabric_fault_open(f, what);
	f->fault.differs = true;
	f->fault.loss = loss;
	snprintf(f->fault.what, sizeof(f->fault.what), "%s", what);
}

/* The older one is not programmed yet: it began first, and what was lost gives the name. */
static void join(struct fault *newer, const struct fault *older)
{
	newer->detected_us = older->detected_us;
	if (older->differs && (older->loss || !newer->loss) && !(newer->differs && newer->loss))
		snprintf(newer->what, sizeof(newer->what), "%s", older->what);
	newer->differs |= older->differs;
	newer->loss |= older->loss;
}

void fabric_fault_none(struct fabric *f)
{
	if (!f->fault.differs && !f->fault.trains && !waits_since(f) && !sweep_busy(f->sweep))
		f->fault.open = false;
	urgent_no_more(f);
}

void fabric_fault_found_by(struct fabric *f, uint64_t trap_us)
{
	if (f->fault.open && !f->fault.differs && trap_us > f->fault.detected_us)
		f->fault.detected_us = trap_us;
}

void fabric_fault_trains(struct fabric *f)
{
	fabric_fault_open(f, "link up");
	f->fault.trains = true;
}

void fabric_fault_trained(struct fabric *f)
{
	f->fault.trains = false;
	fabric_fault_none(f);
}

void fabric_fault_published(struct fabric *f)
{
	uint64_t waits_since_us = waits_since(f);
	struct fault older = f->answered;

	if (!f->fault.open || (!f->fault.differs && (waits_since_us || f->fault.trains)))
		return; /* nothing, or its look or its link is still to come */
	f->answered = f->fault;
	f->answered.proven_us = loop_now_us(f->loop);
	if (older.open)
		join(&f->answered, &older);
	f->fault.open = false;
	if (f->answered.trains && f->answered.loss)
		open_at(f, "link up", f->answered.detected_us);
	else if (waits_since_us)
		open_at(f, "", waits_since_us);
	f->fault.trains = f->fault.open && f->answered.trains && f->answered.loss;
}

/* What is at risk is told as it is now: standing damage too, for the next fault meets both. */
static void tell(struct fabric *f, const struct answered *a, bool loss)
{
	json_t *risk = risk_json(f->topo);
	const char *text = json_string_value(json_object_get(risk, "text"));

	event_log_add(f->events, LOG_NOTICE, loss ? "rerouted" : "restored",
		      json_pack("{sf sf sI si si so}", "detected_to_proven_ms", a->proven_ms,
				"detected_to_programmed_ms", a->programmed_ms,
				"lft_entries_changed", (json_int_t)a->entries, "lft_blocks_written",
				(int)a->blocks, "switches", (int)f->figures.programmed.switches,
				"at_risk", json_incref(risk)),
		      "%s: %s in %.1f ms (verified at %.1f ms), %llu %s in %u %s on %u %s%s%s",
		      a->what, loss ? "rerouted" : "in use", a->programmed_ms, a->proven_ms,
		      (unsigned long long)a->entries, words_plural(a->entries, "entry", "entries"),
		      a->blocks, words_plural(a->blocks, "block", "blocks"),
		      f->figures.programmed.switches,
		      words_plural(f->figures.programmed.switches, "switch", "switches"),
		      text ? "; at risk: " : "", text ? text : "");
	json_decref(risk);
}

void fabric_fault_programmed(struct fabric *f)
{
	const struct fault *fault = &f->answered;
	bool loss = fault->loss || !fault->differs;
	struct answered *a = loss ? &f->figures.last_fault : &f->figures.last_repair;

	if (!fault->open)
		return;
	f->answered.open = false;
	urgent_no_more(f);
	if (!fault->differs && !f->figures.programmed.blocks)
		return; /* a late trap: an earlier look had found what it tells */
	snprintf(a->what, sizeof(a->what), "%s", fault->what);
	a->proven_ms = ms_between(fault->detected_us, fault->proven_us);
	a->programmed_ms = ms_between(fault->detected_us, loop_now_us(f->loop));
	a->entries = f->figures.programmed.entries;
	a->blocks = f->figures.programmed.blocks;
	tell(f, a, loss);
}
