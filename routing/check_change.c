/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * check_change: proves what changed (see check_change.h). Why it is enough, given a sound base with
 * the same nodes, cables and LIDs:
 *
 *   ends      An entry is looked at when its block changed, or when a port of its switch went up or
 *             down. Any other leads where it led, and that is alive as before.
 *   cycles    A dependency is two entries for one LID, at a switch and the next: it is new when
 *             either is, so from a changed block one looks at the next switches and at all
 *             neighbours that send there. Dependencies are added, never taken away, but for those
 *             of a port that went up or down: then all are forgotten, and found again by the
 *             entries just said (before, nothing led there: the base was sound). So the graph holds
 *             all there are, and may hold some that are past: these go when they close a cycle
 *             (detours come and go, and those of one fault may not suit those of the next). Its order
 *             (cdg.h) proves a superset.
 *   arrival   The marks of LIDs with a gap (check.c: not plain) are made by the same pairs of
 *             entries, and by entries of switches with hosts; who gets his first host has a
 *             port that came up. Marked LIDs are walked again when one of their blocks changed, or
 *             when hosts or connected parts did; else their counts stand.
 *
 * Changed blocks are found by fingerprints, not by a second copy of the tables: at 11,664 HCAs that
 * copy is 22 MB. What the switches have acknowledged (program's store) would be a copy that is there
 * anyhow, but mixed while an older change is still on its way, which is when haste matters; and the
 * judge would hang on the one who is judged. The engine's word for what it changed is no base either.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/check_change.h"
#include "routing/check_own.h"
#include "routing/check_print.h"
#include "topology/mem.h"

#define TIDY_AT_ONCE 4000 /* dependencies; each takes two rows of bytes, some microseconds */
#define WORTHWHILE   10	  /* of so many blocks one may have changed; else the whole is no dearer */

struct base_node {
	guid_t guid;
	uint8_t type, nports;
	bool sharp;
};

struct base_port {
	uint32_t peer;
	uint16_t lid;
	bool link_up;
};

struct base_turn { /* a dependency */
	uint32_t channel;
	uint8_t out;
};

struct check_base {
	bool good;
	/* What was proven. */
	uint32_t nnodes, nswitches, nports;
	struct base_node *nodes;
	struct base_port *ports;
	uint16_t top, lid_top;
	uint8_t lmc;
	struct check_prints prints;
	/* What it left. */
	struct check_report report;
	struct cdg cdg;
	bool *walk;
	struct check_count *counts;
	uint32_t *hosts, *specials, *parts; /* by switch */
	struct base_turn *added;	    /* since all was proven, but for what went again */
	uint32_t nadded, added_room, tidied;
	struct check_change last;
};

struct change {
	struct check c;
	struct check_base *base;
	struct check_blocks blocks; /* that changed */
	bool *rows;		    /* by switch: a port of it went up or down */
	bool *dirty;		    /* by block of LIDs: it changed at some switch */
	bool wrong;		    /* something is to be looked at as a whole */
};

struct check_base *check_base_new(uint64_t seed)
{
	struct check_base *base = mem_alloc(1, sizeof(*base));

	check_prints_init(&base->prints, seed);
	return base;
}

static void forget(struct check_base *base)
{
	cdg_fini(&base->cdg);
	free(base->nodes);
	free(base->ports);
	free(base->walk);
	free(base->counts);
	free(base->hosts);
	free(base->specials);
	free(base->parts);
	base->nodes = NULL;
	base->ports = NULL;
	base->walk = NULL;
	base->counts = NULL;
	base->hosts = base->specials = base->parts = NULL;
	base->nadded = 0;
	base->good = false;
}

void check_base_free(struct check_base *base)
{
	if (!base)
		return;
	forget(base);
	check_prints_fini(&base->prints);
	free(base->added);
	free(base);
}

struct check_change check_change_last(const struct check_base *base)
{
	return base->last;
}

/* ---- Is it a change of what was proven? -------------------------------------------------------- */

static bool same_node(const struct base_node *was, const struct topo_node *is)
{
	return was->guid == is->guid && was->type == is->type && was->nports == is->nports &&
	       was->sharp == is->sharp;
}

static bool same_cables_and_lids(const struct check_base *base, const struct topo *t,
				 const struct lid_map *lids)
{
	for (uint32_t i = 0; i < t->nports; i++)
		if (base->ports[i].peer != t->ports[i].peer ||
		    base->ports[i].lid != lids->lid_of_port[i])
			return false;
	return true;
}

static bool comparable(const struct check_base *base, const struct topo *t,
		       const struct lid_map *lids, const struct tables *tables)
{
	if (!base->good || base->nnodes != t->nnodes || base->nswitches != t->nswitches ||
	    base->nports != t->nports || base->top != tables->top || base->lmc != lids->lmc ||
	    base->lid_top != lids->top || tables->nswitches != t->nswitches)
		return false;
	for (uint32_t n = 0; n < t->nnodes; n++)
		if (!same_node(&base->nodes[n], &t->nodes[n]))
			return false;
	return same_cables_and_lids(base, t, lids);
}

/* ---- Entries ----------------------------------------------------------------------------------- */

/* Some LID goes that way: by the channel, and then by the port. */
static bool in_use(void *arg, uint32_t channel, uint8_t next)
{
	const struct check *c = arg;
	const struct topo_port *port = &c->t->ports[c->cdg.port_of[channel]];
	const uint8_t *here = tables_row(c->tables, port->node);
	const uint8_t *there = tables_row(c->tables, c->t->ports[port->peer].node);
	uint32_t lid = 0, end;

	for (; lid <= c->tables->top; lid = end) {
		uint8_t hits = 0;

		end = lid + TABLES_BLOCK; /* rows are of whole blocks */
		for (uint32_t i = lid; i < end; i++)
			hits |= (here[i] == port->num) & (there[i] == next);
		if (hits)
			return true;
	}
	return false;
}

static void note_added(struct check_base *base, uint32_t channel, uint8_t out)
{
	if (base->nadded == base->added_room) {
		base->added_room = base->added_room ? base->added_room * 2 : 256;
		base->added = mem_resize(base->added, base->added_room, sizeof(*base->added));
	}
	base->added[base->nadded++] = (struct base_turn){ channel, out };
	base->last.added = base->nadded;
}

static void depend(struct change *w, uint32_t channel, uint8_t next)
{
	if (next == TABLES_NO_ROUTE || w->wrong || cdg_has(&w->c.cdg, channel, next))
		return;
	note_added(w->base, channel, next);
	w->wrong |= !cdg_grow(&w->c.cdg, channel, next, in_use, &w->c);
}

struct outs {			 /* of one switch, by output port */
	const uint8_t *row[256]; /* next switch's row; NULL = no switch there */
	uint32_t port0;
};

static void find_outs(const struct check *c, uint32_t sw, struct outs *outs)
{
	memset(outs->row, 0, sizeof(outs->row));
	outs->port0 = c->t->nodes[sw].port0;
	for (unsigned num = 1; num <= c->t->nodes[sw].nports; num++) {
		const struct topo_port *port = &c->t->ports[outs->port0 + num];

		if (check_is_channel(c, outs->port0 + num))
			outs->row[num] = tables_row(c->tables, c->t->ports[port->peer].node);
	}
}

/* Its own entries of LIDs [lid, end): where they lead, and what follows there. */
static void inspect_own(struct change *w, uint32_t sw, const struct outs *outs, uint32_t lid,
			uint32_t end)
{
	struct check *c = &w->c;
	const uint8_t *row = tables_row(c->tables, sw);
	bool sources = c->hosts[sw] || c->specials[sw];

	for (; lid < end && !w->wrong; lid++) {
		unsigned out = row[lid];

		if (out == TABLES_NO_ROUTE) {
			c->walk[lid] |= sources;
		} else if (outs->row[out]) {
			c->walk[lid] |= outs->row[out][lid] == TABLES_NO_ROUTE;
			depend(w, c->cdg.channel[outs->port0 + out], outs->row[out][lid]);
		} else {
			w->wrong |= !check_delivers(c, sw, out, lid);
		}
	}
}

/* The entries of a neighbour that send to sw by port `num` there. */
static void inspect_sender(struct change *w, const uint8_t *row, uint8_t num, uint32_t channel,
			   const uint8_t *next, uint32_t lid, uint32_t end)
{
	for (; lid < end; lid++) {
		if (row[lid] != num)
			continue;
		w->c.walk[lid] |= next[lid] == TABLES_NO_ROUTE;
		depend(w, channel, next[lid]);
	}
}

static void inspect_senders(struct change *w, uint32_t sw, uint32_t lid, uint32_t end)
{
	const struct check *c = &w->c;
	const struct topo_node *node = &c->t->nodes[sw];

	for (unsigned num = 1; num <= node->nports && !w->wrong; num++) {
		uint32_t peer = c->t->ports[node->port0 + num].peer;

		if (peer != TOPO_NONE && check_is_channel(c, peer))
			inspect_sender(w, tables_row(c->tables, c->t->ports[peer].node),
				       c->t->ports[peer].num, c->cdg.channel[peer],
				       tables_row(c->tables, sw), lid, end);
	}
}

static void inspect_block(struct change *w, const struct outs *outs,
			  const struct check_block *changed)
{
	uint32_t lid = changed->block * TABLES_BLOCK, end = lid + TABLES_BLOCK;

	lid += lid == 0;
	end = end > w->c.tables->top ? w->c.tables->top + 1u : end;
	inspect_own(w, changed->sw, outs, lid, end);
	inspect_senders(w, changed->sw, lid, end);
	w->dirty[changed->block] = true;
}

static void inspect_changed(struct change *w)
{
	uint32_t of = TOPO_NONE;
	struct outs outs;

	for (uint32_t i = 0; i < w->blocks.count && !w->wrong; i++) {
		if (w->blocks.list[i].sw != of)
			find_outs(&w->c, of = w->blocks.list[i].sw, &outs);
		inspect_block(w, &outs, &w->blocks.list[i]);
	}
	for (uint32_t sw = 0; sw < w->c.t->nswitches && !w->wrong; sw++) {
		if (!w->rows[sw])
			continue;
		find_outs(&w->c, sw, &outs);
		inspect_own(w, sw, &outs, 1, w->c.tables->top + 1u);
	}
}

/* ---- Ports that went up or down ---------------------------------------------------------------- */

static void note_ports(struct change *w)
{
	const struct topo *t = w->c.t;

	for (uint32_t i = 0; i < t->nports; i++) {
		if (w->base->ports[i].link_up == t->ports[i].link_up)
			continue;
		w->base->ports[i].link_up = t->ports[i].link_up;
		if (t->ports[i].node < t->nswitches)
			w->rows[t->ports[i].node] = true;
		if (w->c.cdg.channel[i] != TOPO_NONE)
			cdg_forget(&w->c.cdg, t, w->c.cdg.channel[i]);
	}
}

/* ---- Who reaches whom -------------------------------------------------------------------------- */

/* Connected parts by their first switch, so that equal partitions look equal. */
static uint32_t *label_parts(const struct check *c)
{
	uint32_t *first = mem_alloc(c->t->nnodes + 1, sizeof(*first));
	uint32_t *parts = mem_alloc(c->t->nswitches + 1, sizeof(*parts));

	for (uint32_t sw = 0; sw < c->t->nswitches; sw++) {
		uint32_t part = check_part(c, sw);

		if (!first[part])
			first[part] = sw + 1;
		parts[sw] = first[part];
	}
	free(first);
	return parts;
}

/* Keeps where the hosts are, and tells whether that is other than it was. */
static bool keep_places(struct check_base *base, struct check *c)
{
	size_t size = c->t->nswitches * sizeof(uint32_t);
	uint32_t *parts = label_parts(c);
	bool moved = !base->parts || memcmp(base->parts, parts, size) != 0 ||
		     memcmp(base->hosts, c->hosts, size) != 0 ||
		     memcmp(base->specials, c->specials, size) != 0;

	free(base->parts);
	base->parts = parts;
	base->hosts = mem_resize(base->hosts, c->t->nswitches + 1, sizeof(uint32_t));
	base->specials = mem_resize(base->specials, c->t->nswitches + 1, sizeof(uint32_t));
	memcpy(base->hosts, c->hosts, size);
	memcpy(base->specials, c->specials, size);
	return moved;
}

static void walk_marked(struct change *w)
{
	bool moved = keep_places(w->base, &w->c);

	for (uint32_t lid = 1; lid <= w->c.lids->top; lid++) {
		if (!w->c.walk[lid] || !(moved || w->dirty[lid / TABLES_BLOCK]) ||
		    !check_host_port(&w->c, lid))
			continue;
		check_walk_lid(&w->c, lid);
		w->base->last.walked++;
	}
}

/* ---- A change, or the whole -------------------------------------------------------------------- */

static bool prove_change(struct change *w)
{
	struct check *c = &w->c;
	uint32_t all = c->t->nswitches * tables_blocks(c->tables);

	check_prints_take(&w->base->prints, c->tables, &w->blocks);
	w->base->last.blocks = w->blocks.count;
	if (w->blocks.count > all / WORTHWHILE + c->t->nswitches)
		return false;
	note_ports(w);
	check_find_parts(c);
	inspect_changed(w);
	if (w->wrong)
		return false;
	walk_marked(w);
	check_sum(c);
	return !c->report->loops;
}

/* False: nothing is known. The base may be spoilt then. */
static bool try_change(struct check_base *base, const struct topo *t, const struct lid_map *lids,
		       const struct tables *tables, struct check_report *report)
{
	struct change w = { .base = base,
			    .c = { .t = t,
				   .lids = lids,
				   .tables = tables,
				   .report = report,
				   .cdg = base->cdg,
				   .walk = base->walk,
				   .counts = base->counts } };
	bool proven;

	*report = (struct check_report){ .max_hops = base->report.max_hops,
					 .mean_hops = base->report.mean_hops };
	check_scratch_init(&w.c);
	w.rows = mem_alloc(t->nswitches + 1, sizeof(*w.rows));
	w.dirty = mem_alloc(tables_blocks(tables), sizeof(*w.dirty));
	proven = prove_change(&w);
	base->cdg.marks = w.c.cdg.marks;	  /* the rest of the graph is shared */
	report->max_hops = base->report.max_hops; /* the walks' are of some LIDs alone */
	check_scratch_fini(&w.c);
	free(w.rows);
	free(w.dirty);
	free(w.blocks.list);
	return proven;
}

static void keep_fabric(struct check_base *base, const struct check *c)
{
	base->nnodes = c->t->nnodes;
	base->nswitches = c->t->nswitches;
	base->nports = c->t->nports;
	base->top = c->tables->top;
	base->lid_top = c->lids->top;
	base->lmc = c->lids->lmc;
	base->nodes = mem_alloc(c->t->nnodes + 1, sizeof(*base->nodes));
	base->ports = mem_alloc(c->t->nports + 1, sizeof(*base->ports));
	for (uint32_t n = 0; n < c->t->nnodes; n++) {
		const struct topo_node *node = &c->t->nodes[n];

		base->nodes[n] =
			(struct base_node){ node->guid, node->type, node->nports, node->sharp };
	}
	for (uint32_t i = 0; i < c->t->nports; i++)
		base->ports[i] = (struct base_port){ c->t->ports[i].peer, c->lids->lid_of_port[i],
						     c->t->ports[i].link_up };
}

static bool prove_all(struct check_base *base, const struct topo *t, const struct lid_map *lids,
		      const struct tables *tables, struct check_report *report)
{
	struct check c = { .t = t, .lids = lids, .tables = tables, .report = report };

	forget(base);
	base->last = (struct check_change){ .whole = true };
	check_scratch_init(&c);
	if (check_all(&c)) {
		base->cdg = c.cdg;
		base->walk = c.walk;
		base->counts = c.counts;
		keep_fabric(base, &c);
		keep_places(base, &c);
		check_prints_take(&base->prints, tables, NULL);
		base->good = true;
	}
	check_scratch_fini(&c);
	return base->good;
}

bool check_change(struct check_base *base, const struct topo *t, const struct lid_map *lids,
		  const struct tables *tables, struct check_report *report)
{
	base->last = (struct check_change){ .added = base->last.added };
	if (!comparable(base, t, lids, tables) || !try_change(base, t, lids, tables, report))
		prove_all(base, t, lids, tables, report);
	base->report = *report;
	return base->good;
}

void check_change_tidy(struct check_base *base, const struct topo *t, const struct tables *tables)
{
	struct check c = { .t = t, .tables = tables, .cdg = base->cdg };

	if (!base->good || base->nports != t->nports || base->top != tables->top)
		return;
	for (unsigned n = 0; n < TIDY_AT_ONCE && n < base->nadded; n++) {
		uint32_t at = base->tidied < base->nadded ? base->tidied : 0;
		struct base_turn turn = base->added[at];
		bool stays = cdg_has(&base->cdg, turn.channel, turn.out) &&
			     in_use(&c, turn.channel, turn.out);

		base->tidied = at + stays;
		if (stays)
			continue;
		cdg_drop(&base->cdg, turn.channel, turn.out);
		base->added[at] = base->added[--base->nadded];
	}
}
