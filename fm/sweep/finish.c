/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The end of a sweep: which nodes did not answer, and why.
 *
 *   up, but the one behind does not answer    silent: kept, asked again by each poll
 *   up, and the one behind answers elsewhere  the link passes no SMPs: taken for down
 *   not met, behind a silent one              unknown: left as it was; a switch whose agent hangs
 *                                             still forwards
 *   not met otherwise                         gone: in the record, with its links down
 */
#include <stdlib.h>
#include "fm/sweep/sweep_priv.h"
#include "topology/base/mem.h"

#define LOG_BURST 20

static void say(struct sweep *s, const struct inv_node *node, int port, const char *what)
{
	if (log_allow(&s->silent_log, loop_now_us(s->loop), LOG_BURST))
		log_line(LOG_SWEEP, LOG_WARNING, "%s: %s", inventory_name(node, port).text, what);
}

static void finish_failed_port(struct sweep *s, struct inv_node *node, unsigned num)
{
	struct inv_port *port = &node->ports[num];

	if (!port->peer) {
		say(s, node, (int)num, "link up, but the neighbour does not answer");
	} else if (!sweep_port(node, num)->seen) {
		return;
	} else if (sweep_answered(port->peer)) {
		say(s, node, (int)num, "link up, but no packet passes: treated as down");
		inventory_link_down(&s->inv, node, (uint8_t)num);
	} else if (!port->peer->silent && port->link_up) {
		say(s, port->peer, -1, "does not answer");
		port->peer->silent = s->incomplete = true;
	}
}

static void finish_probes(struct sweep *s)
{
	struct inv_node *node;
	unsigned p;

	for (node = inventory_first(&s->inv); node && s->incomplete;
	     node = inventory_next(&s->inv, node))
		for (p = 1; p <= node->nports; p++)
			if (sweep_port(node, p)->probe == PROBE_FAILED)
				finish_failed_port(s, node, p);
}

/*
 * What is behind a silent node can't be known: it is marked as met. Recursion is by rounds, a
 * silent chain is short.
 */
static bool finish_keep_behind(struct sweep *s, struct inv_node *node)
{
	bool news = false;
	unsigned p;

	for (p = 1; p <= node->nports; p++) {
		struct inv_port *port = &node->ports[p];

		if (!port->peer || !port->link_up || sweep_node(port->peer)->seen == s->number)
			continue;
		sweep_node(port->peer)->seen = s->number;
		news = true;
	}
	return news;
}

static void finish_keep_unknown(struct sweep *s)
{
	struct inv_node *node;
	bool news;

	for (node = inventory_first(&s->inv); node; node = inventory_next(&s->inv, node))
		if (node->silent)
			sweep_node(node)->seen = s->number;
	do {
		news = false;
		for (node = inventory_first(&s->inv); node; node = inventory_next(&s->inv, node))
			if (sweep_node(node)->seen == s->number && !sweep_answered(node))
				news |= finish_keep_behind(s, node);
	} while (news);
}

static void finish_unseen(struct sweep *s)
{
	struct inv_node *node;
	unsigned p;

	finish_keep_unknown(s);
	for (node = inventory_first(&s->inv); node; node = inventory_next(&s->inv, node)) {
		if (sweep_node(node)->seen == s->number)
			continue;
		if (!node->gone)
			say(s, node, -1, "gone");
		for (p = 1; p <= node->nports; p++)
			inventory_link_down(&s->inv, node, (uint8_t)p);
	}
}

static bool finish_count_node(struct sweep *s, const struct inv_node *node)
{
	const struct sweep_node *cell = sweep_node(node);
	unsigned failed = 0, p;

	s->result.silent += node->silent && !node->gone;
	s->result.partial += cell->partial && !node->gone;
	s->result.gone += node->gone;
	s->result.refusing += cell->keeps_change && !node->gone && !inv_node_is(node, INV_NO_SETS);
	s->result.untrue += cell->keeps_no_top && !node->gone;
	for (p = 1; p <= node->nports; p++) {
		if (sweep_port(node, p)->probe != PROBE_FAILED)
			continue;
		failed++;
		s->result.silent += !node->ports[p].peer;
	}
	return node->silent || cell->partial || cell->keeps_change || cell->keeps_no_top || failed;
}

/* Mostly nobody is to be counted, and a fault does not wait for it. */
static void finish_count(struct sweep *s)
{
	struct inv_node *node;
	bool incomplete = false;

	s->result.silent = s->result.partial = s->result.gone = s->result.refusing = 0;
	s->result.untrue = 0;
	if (!s->incomplete && !s->inv.ngone)
		return;
	for (node = inventory_first(&s->inv); node; node = inventory_next(&s->inv, node))
		incomplete |= finish_count_node(s, node);
	s->incomplete = incomplete;
}

/* Over known links, up or down. Returns how many it came to, marked as of this walk. */
static uint32_t walk_known(struct sweep *s, struct inv_node **queue)
{
	uint32_t head = 0, tail = 0;

	inventory_walk_begin(&s->inv);
	inventory_meet(&s->inv, s->inv.local);
	queue[tail++] = s->inv.local;
	while (head < tail) {
		struct inv_node *node = queue[head++];

		for (unsigned p = 1; p <= node->nports; p++) {
			struct inv_node *peer = node->ports[p].peer;

			if (!peer || inventory_was_met(&s->inv, peer))
				continue;
			inventory_meet(&s->inv, peer);
			queue[tail++] = peer;
		}
	}
	return tail;
}

/*
 * Nodes that no known link leads to, not even one that is down: others were met in all their
 * places. They are no part of the fabric.
 */
static void finish_islands(struct sweep *s)
{
	struct inv_node **queue, *node, *next;
	uint32_t count = (uint32_t)cl_qmap_count(&s->inv.nodes);

	if (!s->inv.local)
		return;
	queue = mem_alloc(count, sizeof(struct inv_node *));
	if (walk_known(s, queue) < count)
		for (node = inventory_first(&s->inv); node; node = next) {
			next = inventory_next(&s->inv, node);
			if (inventory_was_met(&s->inv, node))
				continue;
			say(s, node, -1, "not found any more: removed");
			inventory_remove(&s->inv, node);
			s->inv.ngone--;
		}
	free(queue);
}

/*
 * The end that can be asked never said that its link was up: what was answered over another port
 * named this one.
 */
static bool is_no_link(const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	return port->peer && !port->link_up && !sweep_port(node, num)->ever_up && port->known &&
	       !node->gone && !port->link_verified;
}

/* Nothing can be known of links that no path leads to. */
static void finish_gone(struct sweep *s)
{
	struct inv_node *node;
	unsigned p;

	if (!s->inv.ngone)
		return;
	for (node = inventory_first(&s->inv); node; node = inventory_next(&s->inv, node)) {
		if (node->gone) {
			sweep_node(node)->ports_read = false;
			inventory_set_unpublished(&s->inv, node, true);
		}
		for (p = 1; node->gone && p <= node->nports; p++)
			inventory_link_down(&s->inv, node, (uint8_t)p);
		for (p = 1; p <= node->nports; p++)
			if (is_no_link(node, p))
				inventory_unlink(&s->inv, node, (uint8_t)p);
	}
}

/* Those that were visited, and answered nothing impossible this time, are cleared. */
static void finish_flaws(struct sweep *s)
{
	struct inv_node *node = s->inv.nflawed ? inventory_first(&s->inv) : NULL;

	s->inv.nflawed = 0;
	for (; node; node = inventory_next(&s->inv, node)) {
		struct sweep_node *cell = sweep_node(node);

		if (cell->seen == s->number && cell->flawed_in != s->number)
			cell->flaw = NULL;
		s->inv.nflawed += cell->flaw != NULL;
	}
}

void finish_early(struct sweep *s)
{
	if (s->inv.paths_stale)
		inventory_update_paths(&s->inv);
	finish_gone(s);
	finish_count(s);
}

void finish_sweep(struct sweep *s)
{
	if (s->result.error)
		return;
	if (s->kind != SWEEP_POLL)
		finish_probes(s);
	if (s->kind == SWEEP_DISCOVER)
		finish_unseen(s);
	if (s->kind != SWEEP_POLL || s->inv.paths_stale)
		inventory_update_paths(&s->inv);
	if (s->kind != SWEEP_POLL)
		finish_gone(s);
	if (s->kind != SWEEP_POLL && s->inv.ngone)
		finish_islands(s);
	finish_flaws(s);
	finish_count(s);
}
