/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mixture: see mixture.h. Packets are followed one by one. Who came by one port and leaves by
 * another waits for it: each such pair is counted by LIDs, and a cycle has one in it that was not
 * there before the write.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/mixture.h"
#include "tests/fabric/plain_judge.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

static enum plain_end follow(const struct mixture *m, const struct tables *tables, uint32_t sw,
			     uint32_t lid)
{
	return plain_follow(m->topo, m->lids, tables, sw, lid);
}

/* ---- Who waits for whom ---------------------------------------------------------------------- */

static uint32_t next_switch(const struct mixture *m, uint32_t port)
{
	return m->topo->ports[m->topo->ports[port].peer].node;
}

/* The port by which a packet goes on to another switch, TOPO_NONE = it does not. */
static uint32_t exit_of(const struct mixture *m, uint32_t sw, uint32_t lid)
{
	const struct topo_node *node = &m->topo->nodes[sw];
	unsigned out = tables_row(&m->now, sw)[lid];
	uint32_t port = node->port0 + out;

	return out && out <= node->nports && m->topo->ports[port].link_up &&
			       next_switch(m, port) < m->topo->nswitches
		       ? port
		       : TOPO_NONE;
}

static void count_wait(struct mixture *m, uint32_t by, uint32_t on, int change)
{
	uint32_t *lids;

	if (by == TOPO_NONE || on == TOPO_NONE)
		return;
	lids = &m->waits[by * m->width + on - m->topo->nodes[m->topo->ports[on].node].port0];
	if (!*lids)
		m->begun[on] = true;
	*lids += change;
}

/* Of those who come to the switch and go to the LID, and of those who go on from it. */
static void count_entry(struct mixture *m, uint32_t sw, uint32_t lid, int change)
{
	const struct topo_node *node = &m->topo->nodes[sw];
	uint32_t out = exit_of(m, sw, lid);

	if (out == TOPO_NONE)
		return;
	count_wait(m, out, exit_of(m, next_switch(m, out), lid), change);
	for (unsigned num = 1; num <= node->nports; num++) {
		const struct topo_port *peer =
			topo_peer(m->topo, &m->topo->ports[node->port0 + num]);

		if (peer && peer->node < m->topo->nswitches && peer->node != sw &&
		    exit_of(m, peer->node, lid) == m->topo->ports[node->port0 + num].peer)
			count_wait(m, m->topo->ports[node->port0 + num].peer, out, change);
	}
}

enum met { UNMET, ON_THE_WAY, ENDS };

/* Whether nobody who is waited for from here on waits for himself. */
static bool ends(struct mixture *m, uint32_t port)
{
	uint32_t on = m->topo->nodes[next_switch(m, port)].port0;

	if (m->met[port])
		return m->met[port] == ENDS;
	m->met[port] = ON_THE_WAY;
	for (uint32_t num = 1; num < m->width; num++)
		if (m->waits[port * m->width + num] && !ends(m, on + num))
			return false;
	m->met[port] = ENDS;
	return true;
}

static bool closes_a_cycle(struct mixture *m)
{
	bool closed = false;

	memset(m->met, UNMET, m->topo->nports);
	for (uint32_t port = 0; port < m->topo->nports && !closed; port++)
		closed = m->begun[port] && !ends(m, port);
	if (!closed)
		memset(m->begun, 0, m->topo->nports * sizeof(*m->begun));
	return closed;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void make_room(struct mixture *m)
{
	const struct topo *t = m->topo;

	m->excused = mem_alloc(m->older->stride, sizeof(*m->excused));
	m->known = mem_alloc(m->older->stride, sizeof(*m->known));
	m->gone = mem_alloc(m->older->stride, sizeof(*m->gone));
	m->owed = mem_alloc((size_t)t->nswitches * m->older->stride, sizeof(*m->owed));
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (t->nodes[sw].nports >= m->width)
			m->width = t->nodes[sw].nports + 1u;
	m->waits = mem_alloc((size_t)t->nports * m->width, sizeof(*m->waits));
	m->begun = mem_alloc(t->nports, sizeof(*m->begun));
	m->dark = mem_alloc(t->nports, sizeof(*m->dark));
	m->dark_first = mem_alloc(t->nports, sizeof(*m->dark_first));
	m->met = mem_alloc(t->nports, 1);
	m->ends = mem_alloc(t->nswitches, 1);
}

void mixture_rewind(struct mixture *m)
{
	tables_copy(&m->now, m->older);
	memcpy(m->dark, m->dark_first, m->topo->nports * sizeof(*m->dark));
	m->writes = m->cycles = m->ngone = m->most_gone = 0;
	memset(m->gone, 0, m->older->stride * sizeof(*m->gone));
	memset(m->waits, 0, (size_t)m->topo->nports * m->width * sizeof(*m->waits));
	for (uint32_t sw = 0; sw < m->topo->nswitches; sw++)
		for (uint32_t lid = 1; lid <= m->lids->top; lid++) {
			uint32_t out = exit_of(m, sw, lid);

			if (out != TOPO_NONE)
				count_wait(m, out, exit_of(m, next_switch(m, out), lid), 1);
		}
	m->cyclic = closes_a_cycle(m);
}

void mixture_init(struct mixture *m, const struct topo *t, const struct lid_map *lids,
		  const struct tables *older, const struct tables *newer)
{
	*m = (struct mixture){ .topo = t, .lids = lids, .older = older, .newer = newer };
	make_room(m);
	mixture_rewind(m);
}

void mixture_link_dark(struct mixture *m, uint32_t port)
{
	m->dark_first[port] = m->dark_first[m->topo->ports[port].peer] = true;
	mixture_link(m, port, false);
}

void mixture_link(struct mixture *m, uint32_t port, bool active)
{
	m->dark[port] = m->dark[m->topo->ports[port].peer] = !active;
}

void mixture_goes_by(struct mixture *m, const struct tables *between)
{
	assert(m->nbetween < MIXTURE_BETWEEN);
	m->between[m->nbetween++] = between;
}

void mixture_fini(struct mixture *m)
{
	tables_fini(&m->now);
	free(m->known);
	free(m->gone);
	free(m->owed);
	free(m->excused);
	free(m->waits);
	free(m->begun);
	free(m->dark);
	free(m->dark_first);
	free(m->met);
	free(m->ends);
}

/* ---- Writes ---------------------------------------------------------------------------------- */

/* At the beginning, over a link that was not Active. */
static bool was_dark(const struct mixture *m, uint32_t sw, uint32_t lid)
{
	for (uint32_t hops = 0; hops <= m->topo->nswitches; hops++) {
		const struct topo_node *node = &m->topo->nodes[sw];
		unsigned out = tables_row(m->older, sw)[lid];
		uint32_t port = node->port0 + out;

		if (!out || out > node->nports || !m->topo->ports[port].link_up ||
		    next_switch(m, port) >= m->topo->nswitches)
			return false;
		if (m->dark_first[port])
			return true;
		sw = next_switch(m, port);
	}
	return false;
}

static bool works_throughout(const struct mixture *m, uint32_t sw, uint32_t lid)
{
	return follow(m, m->older, sw, lid) == PLAIN_ARRIVES && !was_dark(m, sw, lid) &&
	       follow(m, m->newer, sw, lid) == PLAIN_ARRIVES &&
	       !any_of(i, 0, m->nbetween, follow(m, m->between[i], sw, lid) != PLAIN_ARRIVES);
}

/* At the LID's first write. */
static void find_owed(struct mixture *m, uint32_t lid)
{
	if (m->known[lid] || lid > m->lids->top)
		return;
	m->known[lid] = true;
	for (uint32_t sw = 0; sw < m->topo->nswitches; sw++)
		m->owed[(size_t)sw * m->now.stride + lid] = works_throughout(m, sw, lid);
}

/* A block is taken over at one stroke: what others wait for in between is nobody's. */
void mixture_write(struct mixture *m, uint32_t sw, uint32_t block, const uint8_t *entries)
{
	uint8_t *row = tables_row(&m->now, sw) + (size_t)block * TABLES_BLOCK;

	m->changed = 0;
	for (unsigned i = 0; i < TABLES_BLOCK; i++) {
		uint32_t lid = block * TABLES_BLOCK + i;

		if (row[i] == entries[i])
			continue;
		m->changed |= 1ull << i;
		find_owed(m, lid);
		count_entry(m, sw, lid, -1);
		row[i] = entries[i];
		count_entry(m, sw, lid, 1);
	}
	m->writes++;
}

static bool is_host_lid(const struct mixture *m, uint32_t lid)
{
	return m->topo->ports[m->lids->port_of_lid[lid]].node >= m->topo->nswitches;
}

static bool between_hosts(const struct mixture *m, uint32_t sw, uint32_t lid)
{
	return m->topo->nodes[sw].role == TOPO_LEAF && is_host_lid(m, lid);
}

static bool is_owed(const struct mixture *m, uint32_t sw, uint32_t lid)
{
	return m->owed[(size_t)sw * m->now.stride + lid] && !m->excused[lid] &&
	       (!m->hosts_owed || between_hosts(m, sw, lid));
}

/* Whoever comes by where he was goes round. */
static enum plain_end end_from(struct mixture *m, uint32_t sw, uint32_t lid)
{
	uint32_t out = exit_of(m, sw, lid);

	if (m->ends[sw])
		return m->ends[sw] - 1;
	m->ends[sw] = 1 + PLAIN_LOOPS;
	m->ends[sw] = 1 + (out != TOPO_NONE && m->dark[out] ? PLAIN_ELSEWHERE
			   : out == TOPO_NONE		    ? follow(m, &m->now, sw, lid)
					      : end_from(m, next_switch(m, out), lid));
	return m->ends[sw] - 1;
}

static bool lid_sound(struct mixture *m, uint32_t lid)
{
	m->ngone -= m->gone[lid];
	m->gone[lid] = false;
	memset(m->ends, 0, m->topo->nswitches);
	for (uint32_t sw = 0; sw < m->topo->nswitches; sw++) {
		enum plain_end end = end_from(m, sw, lid);

		if (end != PLAIN_LOOPS && (end == PLAIN_ARRIVES || !is_owed(m, sw, lid)))
			continue;
		/* Beside LIDs of hosts that may go those of switches may. */
		if (end != PLAIN_LOOPS && m->gone_allowed && !is_host_lid(m, lid))
			continue;
		if (end != PLAIN_LOOPS) {
			m->ngone += !m->gone[lid];
			m->gone[lid] = true;
			if (m->ngone > m->most_gone)
				m->most_gone = m->ngone;
			if (m->ngone <= m->gone_allowed)
				continue;
		}
		snprintf(m->fault, sizeof(m->fault), "write %u: from %s to LID %u: %s", m->writes,
			 m->topo->nodes[sw].desc, lid, end == PLAIN_LOOPS ? "a loop" : "dark");
		return false;
	}
	return true;
}

const char *mixture_fault(struct mixture *m, uint32_t block)
{
	uint32_t lid = block * TABLES_BLOCK, end = lid + TABLES_BLOCK;

	for (lid += !lid; lid < end && lid <= m->lids->top; lid++)
		if ((m->changed >> lid % TABLES_BLOCK & 1) && !lid_sound(m, lid))
			return m->fault;
	if (!closes_a_cycle(m))
		m->cyclic = false;
	else if (!m->cyclic)
		m->cycles++;
	if (m->cycles <= m->cycles_allowed)
		return NULL;
	snprintf(m->fault, sizeof(m->fault), "write %u: a credit cycle", m->writes);
	return m->fault;
}
