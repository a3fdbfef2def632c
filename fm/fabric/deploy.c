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
 * for as long as it does: a link that does not become Active is isolated (fm/links_out), any other
 * port is named here.
 */
#include "fm/fabric/pipe.h"
#include "fm/inventory/port_setup.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"
#include "topology/graph/risk.h"

/* ---- To the devices -------------------------------------------------------------------------- */

/* Ports wait for tables no longer than that: it may be much, or its switch silent. */
#define BEHIND_TABLES_US 20000

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
	INVENTORY_EACH (inv, n)
		for (unsigned p = 0; !n->gone && p <= n->nports; p++)
			if (bringup_refuses(port_setup(n, p)) && (!p || n->ports[p].link_up)) {
				/*
				 * Its link may be Active all the same: then the port does not take
				 * its LID, say.
				 */
				const struct inv_port *port = &n->ports[p];
				struct inv_name name = inventory_name(n, p);
				struct event_subject subject = inventory_subject(n, p);

				subject.name = name.text;
				if ((!p || port->state == TOPO_ACTIVE) && named++ < ALERTS_NAMED)
					alert_raise(f->alerts, "port-refuses", &subject, "%s: %s",
						    name.text,
						    setback_of(port_setup(n, p))->refusal);
			}
	alert_more(f->alerts, "port-refuses", named, "ports reject their settings");
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
			array_printf(more, ", and %u more", result->links_new - 1);
		event_log_add(f->events, LOG_WARNING, "links-failed", NULL,
			      json_pack("{si}", "links", result->links_new),
			      "fabric: %u %s did not come up: %s%s; retried at growing intervals",
			      result->links_new, words_plural(result->links_new, "link", "links"),
			      result->first_new, more);
	}
	if (result->links_failed || f->figures->links_failed)
		name_ports(f);
	f->figures->links_failed = result->links_failed;
	f->figures->links_fresh = result->links_fresh;

	uint64_t at_us = result->retry_at_us, now = loop_now_us(f->loop);

	if (at_us)
		loop_timer_set(f->deploy->retry, at_us > now ? at_us - now : 0);
	else
		loop_timer_stop(f->deploy->retry);

	MODULES_CALL(f->kept.modules, programmed, &(struct fabric_programmed){ .ports = result });
	if (!fabric_links_brought_up(f))
		fabric_fault_trained(f, traps_pending_since(f->traps));
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

	if (f->now.topo && !f->progress.bringing_up && !fabric_updating(f) && fabric_is_master(f))
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
		f->figures->program_ms =
			result->sent_us ? (loop_clock_us(f->loop) - result->sent_us) / 1e3 : 0;
		f->figures->reroutes += result->blocks > 0;
		if (result->blocks)
			f->figures->rerouted_us = loop_now_us(f->loop);
	}
	if (result->drained) {
		double ms = result->drained_us / 1e3;

		f->figures->drained = (struct drained){ result->drained, ms };
		event_log_add(
			f->events, LOG_WARNING, "drained", NULL,
			json_pack("{si sf}", "lids", result->drained, "ms", ms),
			"fabric: drained %u LIDs for %.1f ms, of hosts %u at a time: no order of "
			"writes is safe between these tables",
			result->drained, ms, result->at_a_time);
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
	if (fabric_observes(f))
		return;
	program_use_spanning(f->program, f->now.spanning);
	program_apply(f->program, f->now.topo, &f->now.tables, programmed, f);
}

void fabric_hold_program(struct fabric *f)
{
	f->deploy->held = true;
}

void fabric_request_program(struct fabric *f, const char *reason)
{
	log_line(LOG_CORE, LOG_DEBUG, "fabric: programming: %s", reason);
	f->progress.programming = true;
	program(f);
}

void fabric_deploy(struct fabric *f, const struct topo *before)
{
	bool acts = !fabric_observes(f);

	fabric_deploy_adopt(f);
	f->progress.programming = f->progress.bringing_up = acts;
	f->progress.due = true;
	f->progress.retrying = f->requests.retry;
	f->requests.retry = false;
	f->progress.unread = 0;
	f->progress.state = f->progress.up_us ? FABRIC_CHANGING : FABRIC_BRINGUP;
	f->deploy->held = false;
	MODULES_CALL(f->kept.modules, published, FABRIC_PUBLISHED, before);
	traps_update_ended(f->traps);
	fabric_fault_published(f, traps_pending_since(f->traps));
	if (!acts)
		return;
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
	f->progress.bringing_up = !fabric_observes(f);
	f->progress.due = true;
	if (f->progress.up_us)
		f->progress.state = FABRIC_CHANGING;
	MODULES_CALL(f->kept.modules, published, FABRIC_SHOWN, before);
	if (f->progress.bringing_up)
		bringup_apply(f->bringup, f->now.topo, f->now.lids, f->now.sm_lid, brought_up, f);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void fabric_deploy_init(struct fabric *f, loop_fn *ended)
{
	fabric_faults_init(f);
	f->deploy = mem_new(f->deploy);
	*f->deploy =
		(struct deploy){ .ended = ended, .retry = loop_timer_new(f->loop, retry_cb, f) };
	bringup_on_active(f->bringup, fabric_link_activated, f);
}

void fabric_deploy_fini(struct fabric *f)
{
	alerts_end(f->alerts, "port-refuses");
	loop_timer_free(f->deploy->retry);
	free(f->deploy);
}
