/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * deploy: what is published goes to the devices.
 *
 * Tables are programmed and, beside that, ports and links brought up. A newer publication may come
 * while an older one is still under way: program and bringup go on from what was acknowledged.
 * After a restart programming ends twice: what waits for the tables goes on while the rest of them
 * is read.
 *
 * A port that refuses its settings, or does not answer Sets, is given up by bring-up and asked
 * again by one Set, later and later, up to once a minute (bringup.h), from what is published: that
 * takes no sweep and no update, and the rest of the fabric is up meanwhile. One event reports a
 * port that was given up for the first time. One that goes on refusing is an alert with its name
 * for as long as it does: a link that does not become Active is isolated (fm/isolation), any other
 * port is named here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/fabric/pipe.h"
#include "fm/inventory/port_setup.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"
#include "topology/graph/risk.h"

/* ---- Timed faults ---------------------------------------------------------------------------- */

/*
 * From what made the pipe sweep to the last block that followed from it, timed and logged.
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

static double ms_between(uint64_t from_us, uint64_t to_us)
{
	return (to_us - from_us) / 1e3;
}

/* ---- Open ------------------------------------------------------------------------------------ */

static void open_at(struct fault *fault, const char *what, uint64_t when_us)
{
	if (fault->open)
		return;
	*fault = (struct fault){ .open = true, .detected_us = when_us };
	snprintf(fault->what, sizeof(fault->what), "%s", what);
}

void fabric_fault_open(struct fabric *f, const char *what)
{
	open_at(&f->faults->pending, what, loop_now_us(f->loop));

	/*
	 * Requests to the SA have a part of the loop's time only. Each trap renews that; a link may
	 * train for longer, so it ends.
	 */
	loop_busy_for(f->loop, URGENT_US);
}

void fabric_fault_name(struct fabric *f, bool loss, const char *what, uint64_t event)
{
	struct fault *fault = &f->faults->pending;

	fabric_fault_open(f, what);
	fault->differs = true;
	fault->loss = loss;
	fault->event = event;
	snprintf(fault->what, sizeof(fault->what), "%s", what);
}

void fabric_fault_none(struct fabric *f, uint64_t waits_since_us)
{
	struct fault *fault = &f->faults->pending;

	if (!fault->differs && !fault->trains && !waits_since_us && !fabric_sweep_running(f))
		fault->open = false;
	if (!f->faults->pending.open && !f->faults->answered.open)
		loop_busy_for(f->loop, 0);
}

void fabric_fault_found_by(struct fabric *f, uint64_t detected_us)
{
	struct fault *fault = &f->faults->pending;

	if (fault->open && !fault->differs && detected_us > fault->detected_us)
		fault->detected_us = detected_us;
}

void fabric_fault_training(struct fabric *f)
{
	fabric_fault_open(f, "link up");
	f->faults->pending.trains = true;
}

/* ---- Programmed ------------------------------------------------------------------------------ */

/* Its subject is that of the fault's first event. */
static json_t *details(const struct fabric *f, const struct answer *a, unsigned switches,
		       json_t *risk)
{
	json_t *doc = json_pack("{ss sf sf sI si si sO}", "what", a->what, "detected_to_proven_ms",
				a->proven_ms, "detected_to_programmed_ms", a->programmed_ms,
				"lft_entries_changed", (json_int_t)a->entries, "lft_blocks_written",
				(int)a->blocks, "switches", (int)switches, "at_risk", risk);

	if (a->event) {
		json_object_set_new(doc, "fault", json_integer((json_int_t)a->event));
		event_subject_copy(event_log_at(f->events, a->event), doc);
	}
	return doc;
}

static void fabric_fault_programmed(struct fabric *f)
{
	const struct program_result *programmed = fabric_last_programmed(f);
	struct fault *fault = &f->faults->answered;
	bool loss = fault->loss || !fault->differs;
	struct answer *a = loss ? &f->faults->last_fault : &f->faults->last_repair;

	if (!fault->open)
		return;
	fault->open = false;
	if (!f->faults->pending.open && !f->faults->answered.open)
		loop_busy_for(f->loop, 0);
	if (!fault->differs && !programmed->blocks)
		return; /* a late trap: an earlier sweep had found what it says */
	snprintf(a->what, sizeof(a->what), "%s", fault->what);
	a->event = fault->event;
	a->proven_ms = ms_between(fault->detected_us, fault->proven_us);
	a->programmed_ms = ms_between(fault->detected_us, loop_now_us(f->loop));
	a->entries = programmed->entries;
	a->blocks = programmed->blocks;

	/* The risk is that of now, standing damage with it, for the next fault meets both. */
	unsigned switches = fabric_last_programmed(f)->switches;
	json_t *risk = risk_json(fabric_view(f).topo);
	const char *text = json_string_value(json_object_get(risk, "text"));

	event_log_add(f->events, LOG_NOTICE, loss ? "rerouted" : "restored", NULL,
		      details(f, a, switches, risk),
		      "%s: %s in %.1f ms (verified at %.1f ms), %llu %s in %u %s on %u %s%s%s",
		      a->what, loss ? "rerouted" : "restored", a->programmed_ms, a->proven_ms,
		      (unsigned long long)a->entries, words_plural(a->entries, "entry", "entries"),
		      a->blocks, words_plural(a->blocks, "block", "blocks"), switches,
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
			 (json_int_t)a->entries, "lft_blocks_written", (int)a->blocks);
}

void fabric_faults_status(const struct fabric *f, json_t *doc)
{
	json_object_set_new(doc, "last_fault", answer_json(&f->faults->last_fault));
	json_object_set_new(doc, "last_repair", answer_json(&f->faults->last_repair));
}

/* ---- To the devices -------------------------------------------------------------------------- */

/* Ports wait for tables no longer than that: it may be much, or its switch silent. */
#define BEHIND_TABLES_US 20000
#define NAMED		 20

struct deploy {
	loop_fn *ended;
	struct loop_timer *retry; /* of ports that were given up */
	bool logged_failed;	  /* of blocks that are not acknowledged */
	bool held;		  /* a room has tables programmed when it is ready */
};

/* ---- Ports that were given up ---------------------------------------------------------------- */

static void name_ports(struct fabric *f)
{
	const struct inventory *inv = sweep_inventory(f->sweep);
	unsigned named = 0;

	alerts_review(f->alerts, "port-refuses");
	for (const struct inv_node *n = inventory_first(inv); n; n = inventory_next(inv, n))
		for (unsigned p = 0; !n->gone && p <= n->nports; p++)
			if (port_setup(n, p)->given_up >= BRINGUP_REFUSES &&
			    (!p || n->ports[p].link_up)) {
				/*
				 * Its link may be Active all the same: then the port does not take
				 * its LID, say.
				 */
				const struct inv_port *port = &n->ports[p];
				struct inv_name name = inventory_name(n, (int)p);
				struct event_subject subject = inventory_subject(n, (int)p);

				subject.name = name.text;
				if ((!p || port->state == TOPO_ACTIVE) && named++ < NAMED)
					alert_raise(f->alerts, "port-refuses", &subject, "%s: %s",
						    name.text,
						    setback_of(port_setup(n, p))->refusal);
			}
	if (named > NAMED)
		alert_raise(f->alerts, "port-refuses", NULL, "%u more ports reject their settings",
			    named - NAMED);
	alerts_reviewed(f->alerts, "port-refuses");
}

/* ---- Ends ------------------------------------------------------------------------------------ */

static void programmed(void *arg, const struct program_result *result);

static void brought_up(void *arg, const struct bringup_result *result)
{
	struct fabric *f = arg;

	f->progress.bringing_up = false;
	if (f->progress.due)
		f->figures->bringup_ms = result->took_us / 1e3;
	f->progress.wrote |= result->links_activated > 0;
	if (result->links_new) {
		char more[48] = "";

		if (result->links_new > 1)
			snprintf(more, sizeof(more), ", and %u more", result->links_new - 1);
		event_log_add(f->events, LOG_WARNING, "links-failed", NULL,
			      json_pack("{si}", "links", (int)result->links_new),
			      "fabric: %u %s did not come up: %s%s; retried at growing intervals",
			      result->links_new, words_plural(result->links_new, "link", "links"),
			      result->first_new, more);
	}
	if (result->links_failed || f->figures->links_failed)
		name_ports(f);
	f->figures->links_failed = result->links_failed;
	f->figures->links_fresh = result->links_fresh;

	uint64_t at_us = result->retry_at_us;
	uint64_t now = loop_now_us(f->loop);

	if (at_us)
		loop_timer_set(f->deploy->retry, at_us > now ? at_us - now : 0);
	else
		loop_timer_stop(f->deploy->retry);

	MODULES_CALL(f->kept.modules, programmed, &(struct fabric_programmed){ .ports = result });
	if (!fabric_links_brought_up(f)) {
		uint64_t waits_since_us = traps_pending_since(f->traps);

		f->faults->pending.trains = false;
		fabric_fault_none(f, waits_since_us);
	}
	f->deploy->ended(f);
}

static void retried(void *arg, const struct bringup_result *result)
{
	struct fabric *f = arg;

	f->progress.due |= result->cured > 0;
	brought_up(f, result);
	fabric_poll_recheck(f);
}

/* What is under way comes here when it ends, and says then what is to be tried again. */
static void retry_cb(void *arg)
{
	struct fabric *f = arg;

	if (!f->now.topo || f->progress.bringing_up || fabric_updating(f) || !fabric_is_master(f))
		return;
	f->progress.bringing_up = bringup_retry(f->bringup, retried, f);
}

static void programmed(void *arg, const struct program_result *result)
{
	struct fabric *f = arg;
	bool again = f->progress.unread > 0;

	f->progress.programming = false;
	bringup_wait(f->bringup, 0);
	f->progress.unread = result->unread;
	if (!again || result->blocks) {
		f->figures->programmed = *result;
		f->figures->program_ms = result->took_us / 1e3;
		f->figures->reroutes += result->blocks > 0;
		if (result->blocks)
			f->figures->rerouted_us = loop_now_us(f->loop);
	}
	f->progress.wrote |= result->blocks > 0;
	f->requests.retry |= result->failed > 0;
	if (result->failed && !f->deploy->logged_failed)
		event_log_add(
			f->events, LOG_WARNING, "program-failed", NULL, NULL,
			"fabric: %u LFT blocks were not acknowledged; retried at growing intervals",
			result->failed);
	f->deploy->logged_failed = result->failed > 0;

	MODULES_CALL(f->kept.modules, programmed, &(struct fabric_programmed){ .tables = result });
	fabric_fault_programmed(f);
	f->progress.due |= again;
	f->deploy->ended(f);
}

/* ---- Begins ---------------------------------------------------------------------------------- */

void fabric_deploy_adopt(struct fabric *f)
{
	struct inventory *inv = sweep_inventory(f->sweep);

	for (struct inv_node *node = inventory_first(inv); node && inv->nunpublished;
	     node = inventory_next(inv, node)) {
		if (!node->unpublished || node->gone)
			continue;
		inventory_set_unpublished(inv, node, false);
		if (node->sw.port_state_change)
			guid_list_add(&f->requests.dirty, node->guid);
	}
}

static void program(struct fabric *f)
{
	program_apply(f->program, f->now.topo, &f->now.tables, programmed, f);
}

void fabric_hold_program(struct fabric *f)
{
	f->deploy->held = true;
}

void fabric_request_program(struct fabric *f, const char *reason)
{
	log_line(LOG_CORE, LOG_DEBUG, "fabric: programming: %s", reason);
	program(f);
}

void fabric_deploy(struct fabric *f, const struct topo *before)
{
	fabric_deploy_adopt(f);
	f->progress.programming = f->progress.bringing_up = f->progress.due = true;
	f->progress.retrying = f->requests.retry;
	f->requests.retry = false;
	f->progress.unread = 0;
	f->progress.state = f->progress.up_us ? FABRIC_CHANGING : FABRIC_BRINGUP;
	f->deploy->held = false;
	MODULES_CALL(f->kept.modules, published, FABRIC_PUBLISHED, before);
	traps_update_ended(f->traps);

	uint64_t waits_since_us = traps_pending_since(f->traps);
	struct fault *pending = &f->faults->pending, *answered = &f->faults->answered;
	struct fault older = *answered;

	/* nothing, or its sweep or its link is still to come */
	if (pending->open && !(!pending->differs && (waits_since_us || pending->trains))) {
		*answered = *pending;
		answered->proven_us = loop_now_us(f->loop);
		if (older.open) {
			/*
			 * The older one is not programmed yet: it began first, and what was lost
			 * gives the name.
			 */
			answered->detected_us = older.detected_us;
			if (older.differs && (older.loss || !answered->loss) &&
			    !(answered->differs && answered->loss))
				snprintf(answered->what, sizeof(answered->what), "%s", older.what);
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

	if (!f->deploy->held)
		program(f);

	/* Before the first bring-up, if what hosts asked for is not known. */
	if (f->requests.reregister)
		bringup_reregister(f->bringup);
	f->requests.reregister = false;

	bringup_apply(f->bringup, f->now.topo, f->now.lids, f->now.sm_lid, brought_up, f);
	if (f->progress.up_us)
		bringup_wait(f->bringup, BEHIND_TABLES_US);
}

void fabric_deploy_ports(struct fabric *f, const struct topo *before)
{
	f->progress.bringing_up = f->progress.due = true;
	if (f->progress.up_us)
		f->progress.state = FABRIC_CHANGING;
	MODULES_CALL(f->kept.modules, published, FABRIC_SHOWN, before);
	bringup_apply(f->bringup, f->now.topo, f->now.lids, f->now.sm_lid, brought_up, f);
}

void fabric_deploy_read_back(struct fabric *f, unsigned ports)
{
	f->progress.bringing_up = bringup_read_back(f->bringup, ports, brought_up, f);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void fabric_deploy_init(struct fabric *f, loop_fn *ended)
{
	f->faults = mem_alloc(1, sizeof(*f->faults));
	f->deploy = mem_alloc(1, sizeof(*f->deploy));
	*f->deploy =
		(struct deploy){ .ended = ended, .retry = loop_timer_new(f->loop, retry_cb, f) };
	bringup_on_active(f->bringup, fabric_link_activated, f);
}

void fabric_deploy_fini(struct fabric *f)
{
	alerts_review(f->alerts, "port-refuses");
	alerts_reviewed(f->alerts, "port-refuses");
	loop_timer_free(f->deploy->retry);
	free(f->deploy);
}
