/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_retry: ports that refuse their settings, or do not answer Sets. Bring-up gives such a port up; it is asked again by one
 * Set, later and later, up to once a minute (bringup.h), from what is published: that takes no sweep, no update, and the rest of
 * the fabric is up meanwhile. What comes of it is shown as after an update.
 *
 * One event tells of a port that was given up for the first time. One that goes on refusing is an alert with its name for as long
 * as it does: a link that does not become Active is isolated (isolate.h), any other port is named here.
 */
#include "fm/core/words.h"
#include "fm/fabric/isolate.h"
#include "fm/fabric/own.h"

#define NAMED_AFTER 3 /* refusals in a row */
#define NAMED	    20

static void retried(void *arg, const struct bringup_result *result)
{
	struct fabric *f = arg;

	f->settle.due |= result->cured > 0;
	fabric_brought_up(f, result);
	fabric_watch_doubt(f);
}

/* What is under way comes here when it ends, and says then what is to be tried again. */
static void retry_cb(void *arg)
{
	struct fabric *f = arg;

	if (!f->topo || f->bringing_up || fabric_updates(f) || !fabric_rules(f))
		return;
	f->bringing_up = bringup_retry(f->bringup, retried, f);
}

/* ---- Telling ------------------------------------------------------------------------------------- */

static void tell_new(struct fabric *f, const struct bringup_result *result)
{
	char more[48] = "";

	if (result->links_new > 1)
		snprintf(more, sizeof(more), ", and %u more", result->links_new - 1);
	event_log_add(f->events, LOG_WARNING, "links-failed",
		      json_pack("{si}", "links", (int)result->links_new),
		      "fabric: %u %s did not come up: %s%s; tried again, less and less",
		      result->links_new, words_plural(result->links_new, "link", "links"),
		      result->first_new, more);
}

/* Its link may be Active all the same: then the port does not take its LID, say. */
static void name_port(struct fabric *f, const struct inv_node *node, unsigned num, unsigned *named)
{
	const struct inv_port *port = &node->ports[num];
	struct inv_name name = inventory_name(node, (int)num);

	if (num && port->state != TOPO_ACTIVE)
		fabric_isolate(f, node->guid, (uint8_t)num, ISOLATED_NOT_ACTIVE);
	else if ((*named)++ < NAMED)
		alert_raise(f->alerts, "port-refuses", name.text, "%s: %s", name.text,
			    port->refusal);
}

static void name_ports(struct fabric *f)
{
	const struct inventory *inv = sweep_inventory(f->sweep);
	unsigned named = 0;

	alerts_review(f->alerts, "port-refuses");
	for (const struct inv_node *n = inventory_first(inv); n; n = inventory_next(inv, n))
		for (unsigned p = 0; !n->gone && p <= n->nports; p++)
			if (n->ports[p].given_up >= NAMED_AFTER && (!p || n->ports[p].link_up))
				name_port(f, n, p, &named);
	if (named > NAMED)
		alert_raise(f->alerts, "port-refuses", "", "%u more ports refuse their settings",
			    named - NAMED);
	alerts_reviewed(f->alerts, "port-refuses");
}

void fabric_retry_note(struct fabric *f, const struct bringup_result *result)
{
	if (result->links_new)
		tell_new(f, result);
	if (result->links_failed || f->figures.links_failed)
		name_ports(f);
	f->figures.links_failed = result->links_failed;
	f->figures.links_fresh = result->links_fresh;
	if (result->retry_at_us) {
		uint64_t now = loop_now_us(f->loop);

		loop_timer_set(f->retry_timer,
			       result->retry_at_us > now ? result->retry_at_us - now : 0);
	} else {
		loop_timer_stop(f->retry_timer);
	}
}

/* ---- Life ---------------------------------------------------------------------------------------- */

void fabric_retry_init(struct fabric *f)
{
	f->retry_timer = loop_timer_new(f->loop, retry_cb, f);
}

void fabric_retry_fini(struct fabric *f)
{
	alerts_review(f->alerts, "port-refuses");
	alerts_reviewed(f->alerts, "port-refuses");
	loop_timer_free(f->retry_timer);
}
