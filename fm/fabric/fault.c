/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fault: from what made the pipe sweep to the last block that followed from it, timed and logged.
 *
 *   open        a trap came, or a light sweep found something            pending
 *   name        the update's snapshot shows what it is
 *   published   its tables are proven and on their way                    answered
 *   programmed  the last block is acknowledged: logged
 *
 * Traps whose sweep is still to come stay pending for the next update. Where an update is published
 * before the one before it is programmed, both are logged as one, from the first trap on. What was
 * found is a fault if anything was lost, else a repair; what made no difference is dropped. A link
 * that came up is in use when it is Active, so its repair stays open for the update that follows
 * bring-up.
 */
#include <inttypes.h>
#include "topology/base/text.h"
#include "fm/fabric/pipe.h"
#include "topology/base/mem.h"
#include "topology/graph/risk.h"

#define URGENT_US 2000000

struct fault {
	bool open;
	bool differs; /* a sweep found something else than what is published */
	bool loss;    /* some of that is lost */
	bool trains;  /* a link came up, and is being brought up */
	char what[256];
	uint64_t event;	      /* number of the first event about it, 0 = there is none */
	uint64_t detected_us; /* trap received, or light sweep answered */
	uint64_t proven_us;   /* 0 until it is published */
};

struct answer { /* of the latest fault, or repair */
	char what[256];
	uint64_t event;
	double proven_ms, programmed_ms; /* since it was detected */
	uint64_t entries;
	unsigned blocks;
};

struct faults {
	struct fault pending;  /* its sweep or update is to come */
	struct fault answered; /* published, and not programmed yet */
	struct answer last_fault, last_repair;
};

/* ---- Open ------------------------------------------------------------------------------------ */

static void end_urgent(struct fabric *f)
{
	if (!f->faults->pending.open && !f->faults->answered.open)
		loop_busy_for(f->loop, 0);
}

static void open_at(struct fault *fault, const char *what, uint64_t when_us)
{
	if (fault->open)
		return;
	*fault = (struct fault){ .open = true, .detected_us = when_us };
	array_printf(fault->what, "%s", what);
}

void fabric_fault_found(struct fabric *f, const char *what, uint64_t when_us)
{
	open_at(&f->faults->pending, what, when_us);

	/*
	 * Requests to the SA have a part of the loop's time only. Each trap renews that; a link may
	 * train for longer, so it ends.
	 */
	loop_busy_for(f->loop, URGENT_US);
}

void fabric_fault_name(struct fabric *f, bool loss, const char *what, uint64_t event)
{
	struct fault *fault = &f->faults->pending;

	fabric_fault_found(f, what, loop_now_us(f->loop));
	fault->differs = true;
	fault->loss = loss;
	fault->event = event;
	array_printf(fault->what, "%s", what);
}

void fabric_fault_none(struct fabric *f, uint64_t waits_since_us)
{
	struct fault *fault = &f->faults->pending;

	if (!fault->differs && !fault->trains && !waits_since_us && !fabric_sweep_running(f))
		fault->open = false;
	end_urgent(f);
}

void fabric_fault_training(struct fabric *f)
{
	fabric_fault_found(f, "link up", loop_now_us(f->loop));
	f->faults->pending.trains = true;
}

void fabric_fault_trained(struct fabric *f, uint64_t waits_since_us)
{
	f->faults->pending.trains = false;
	fabric_fault_none(f, waits_since_us);
}

/* ---- Published ------------------------------------------------------------------------------- */

void fabric_fault_published(struct fabric *f, uint64_t waits_since_us)
{
	struct fault *pending = &f->faults->pending, *answered = &f->faults->answered;
	struct fault older = *answered;

	if (!pending->open || (!pending->differs && (waits_since_us || pending->trains)))
		return; /* nothing, or its sweep or its link is still to come */
	*answered = *pending;
	answered->proven_us = loop_clock_us(f->loop); /* a step of a job began before */
	if (older.open) {
		/*
		 * The older one is not programmed yet: it began first, and what was lost gives the
		 * name.
		 */
		answered->detected_us = older.detected_us;
		if (older.differs && (older.loss || !answered->loss) &&
		    !(answered->differs && answered->loss))
			array_printf(answered->what, "%s", older.what);
		if (older.event)
			answered->event = older.event;
		answered->differs |= older.differs;
		answered->loss |= older.loss;
	}
	pending->open = false;
	if (answered->trains && answered->loss)
		open_at(pending, "link up", answered->detected_us);
	else if (waits_since_us)
		open_at(pending, "", waits_since_us);
	pending->trains = pending->open && answered->trains && answered->loss;
}

/* ---- Programmed ------------------------------------------------------------------------------ */

/* Its subject is that of the fault's first event. */
static json_t *details(const struct fabric *f, const struct answer *a, unsigned switches,
		       json_t *risk)
{
	json_t *doc = json_pack("{ss sf sf sI si si sO}", "what", a->what, "detected_to_proven_ms",
				a->proven_ms, "detected_to_programmed_ms", a->programmed_ms,
				"lft_entries_changed", (json_int_t)a->entries, "lft_blocks_written",
				a->blocks, "switches", switches, "at_risk", risk);

	if (a->event) {
		json_object_set_new(doc, "fault", json_integer(a->event));
		event_subject_copy(event_log_at(f->events, a->event), doc);
	}
	return doc;
}

void fabric_fault_programmed(struct fabric *f)
{
	const struct program_result *programmed = fabric_last_programmed(f);
	struct fault *fault = &f->faults->answered;
	bool loss = fault->loss || !fault->differs;
	struct answer *a = loss ? &f->faults->last_fault : &f->faults->last_repair;

	if (!fault->open)
		return;
	fault->open = false;
	end_urgent(f);
	if (!fault->differs && !programmed->blocks)
		return; /* a late trap: an earlier sweep had found what it says */
	array_printf(a->what, "%s", fault->what);
	a->event = fault->event;
	a->proven_ms = (fault->proven_us - fault->detected_us) / 1e3;
	a->programmed_ms = (loop_now_us(f->loop) - fault->detected_us) / 1e3;
	a->entries = programmed->entries;
	a->blocks = programmed->blocks;

	/* The risk is that of now, standing damage with it, for the next fault meets both. */
	unsigned switches = fabric_last_programmed(f)->switches;
	json_t *risk = risk_json(fabric_view(f).topo);
	const char *text = json_text(risk, "text");

	event_log_add(f->events, LOG_NOTICE, loss ? "rerouted" : "restored", NULL,
		      details(f, a, switches, risk),
		      "%s: %s in %.1f ms (verified at %.1f ms), %" PRIu64
		      " %s in %u %s on %u %s%s%s",
		      a->what, loss ? "rerouted" : "restored", a->programmed_ms, a->proven_ms,
		      a->entries, words_plural(a->entries, "entry", "entries"), a->blocks,
		      words_plural(a->blocks, "block", "blocks"), switches,
		      words_plural(switches, "switch", "switches"), text ? "; at risk: " : "",
		      text ? text : "");
	json_decref(risk);
}

/* ---- Status and life ------------------------------------------------------------------------- */

static json_t *answer_json(const struct answer *a)
{
	if (!a->what[0])
		return json_null();
	return json_pack("{ss sf sf sI si}", "what", a->what, "detected_to_proven_ms", a->proven_ms,
			 "detected_to_programmed_ms", a->programmed_ms, "lft_entries_changed",
			 (json_int_t)a->entries, "lft_blocks_written", a->blocks);
}

void fabric_faults_status(const struct fabric *f, json_t *doc)
{
	json_object_set_new(doc, "last_fault", answer_json(&f->faults->last_fault));
	json_object_set_new(doc, "last_repair", answer_json(&f->faults->last_repair));
}

void fabric_faults_init(struct fabric *f)
{
	f->faults = mem_new(f->faults);
}
