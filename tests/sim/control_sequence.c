/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sequence: each block of a forwarding table is kept as a switch takes it over, and judged
 * afterwards: the tables that switches held after each (tests/fabric/mixture.h).
 */
#include "tests/sim/control_own.h"
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/mixture.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"

struct write {
	uint32_t sw, block;
	uint8_t entries[TABLES_BLOCK];
};

struct sequence {
	struct double_fabric *d;
	struct tables before;
	struct write *writes;
	uint32_t count;
};

static void block_of(const struct dnode *node, uint32_t block, uint8_t *entries)
{
	uint32_t at = block * TABLES_BLOCK;

	memset(entries, TABLES_NO_ROUTE, TABLES_BLOCK);
	if (at < node->lft_size)
		memcpy(entries, node->lft + at, TABLES_BLOCK);
}

static void set_cb(void *arg, guid_t guid, uint16_t attr, uint32_t mod)
{
	struct sequence *s = arg;

	if (attr != WIRE_LFT)
		return;
	s->writes = mem_grow(s->writes, s->count);
	s->writes[s->count] = (struct write){ topo_find(s->d->topo, guid), mod, { 0 } };
	block_of(&s->d->nodes[s->writes[s->count].sw], mod, s->writes[s->count].entries);
	s->count++;
}

static void tables_held(const struct double_fabric *d, struct tables *out)
{
	tables_resize(out, d->topo->nswitches, TABLES_MAX_LID);
	for (uint32_t sw = 0; sw < d->topo->nswitches; sw++)
		for (uint32_t block = 0; block < TABLES_BLOCKS; block++)
			block_of(&d->nodes[sw], block, tables_block(out, sw, block));
}

void sequence_free(struct sequence *s)
{
	if (!s)
		return;
	double_on_set(s->d, NULL, NULL);
	tables_fini(&s->before);
	free(s->writes);
	free(s);
}

/* Without cables that are out and devices that are off. */
static struct topo *cables_now(const struct double_fabric *d)
{
	struct topo *t = topo_alike(d->topo);

	for (uint32_t i = 0; i < t->nports; i++)
		if (d->ports[i].peer && (d->ports[i].cut || d->ports[i].node->off))
			topo_alike_cut(t, i);
	return t;
}

/* The LIDs that ports have now. */
static void lids_held(const struct double_fabric *d, struct lid_map *lids)
{
	for (uint32_t i = 0; i < d->topo->nports; i++)
		if (d->ports[i].info.lid > lids->top && d->ports[i].info.lid < LID_SPACE)
			lids->top = d->ports[i].info.lid;
	lids->port_of_lid = mem_array_unset(lids->port_of_lid, lids->top + 1u);
	for (uint32_t lid = 0; lid <= lids->top; lid++)
		lids->port_of_lid[lid] = TOPO_NONE;
	for (uint32_t i = 0; i < d->topo->nports; i++)
		if (d->ports[i].info.lid && d->ports[i].info.lid <= lids->top)
			lids->port_of_lid[d->ports[i].info.lid] = i;
}

static void narrow(struct tables *to, const struct tables *from, uint16_t top)
{
	tables_resize(to, from->nswitches, top);
	for (uint32_t sw = 0; sw < from->nswitches; sw++)
		memcpy(tables_row(to, sw), tables_row(from, sw), to->stride);
}

/* How many LIDs of hosts were dark at most at a time, from any switch or from those with hosts. */
static unsigned play(struct mixture *m, const struct sequence *s, bool hosts, const char **fault)
{
	mixture_rewind(m);
	m->hosts_owed = hosts;
	m->gone_allowed = m->cycles_allowed = UINT32_MAX;
	for (uint32_t i = 0; i < s->count && !*fault; i++) {
		const struct write *w = &s->writes[i];

		if (w->block >= tables_blocks(&m->now))
			continue;
		mixture_write(m, w->sw, w->block, w->entries);
		*fault = mixture_fault(m, w->block);
	}
	return m->most_gone;
}

static void judge(struct args *a, const struct sequence *s)
{
	struct topo *t = cables_now(a->d);
	struct lid_map lids = { .nports = t->nports };
	struct tables now = { 0 }, before = { 0 }, after = { 0 };
	const char *fault = NULL;
	unsigned dark, dark_hosts;
	struct mixture m;
	bool cyclic;

	lids_held(a->d, &lids);
	tables_held(a->d, &now);
	narrow(&before, &s->before, lids.top);
	narrow(&after, &now, lids.top);
	mixture_init(&m, t, &lids, &before, &after);
	cyclic = m.cyclic;
	dark = play(&m, s, false, &fault);
	dark_hosts = play(&m, s, true, &fault);
	fprintf(a->out,
		"{\"writes\": %u, \"dark\": %u, \"dark_hosts\": %u, \"cycles\": %u, "
		"\"cyclic_before\": %s, \"fault\": ",
		s->count, dark, dark_hosts, m.cycles, cyclic ? "true" : "false");
	fprintf(a->out, fault ? "\"%s\"}\n" : "null}\n", fault);
	mixture_fini(&m);
	free(lids.port_of_lid);
	tables_fini(&now);
	tables_fini(&before);
	tables_fini(&after);
	topo_unref(t);
}

static int do_sequence(struct args *a)
{
	struct sequence **s = sim_control_sequence(a->c);

	if (next_is(a, "begin")) {
		sequence_free(*s);
		*s = mem_alloc(1, sizeof(**s));
		(*s)->d = a->d;
		tables_held(a->d, &(*s)->before);
		double_on_set(a->d, set_cb, *s);
		return 0;
	}
	if (a->next < a->count)
		return bad(a, "'%s' is not begin", next_word(a));
	if (!*s)
		return bad(a, "nothing is kept: sequence begin");
	judge(a, *s);
	return 0;
}

const struct command commands_sequence[] = {
	{ "sequence", "[begin]",
	  "from here on writes to forwarding tables are kept; what was held after each of them", 0,
	  1, do_sequence },
	{ 0 },
};
