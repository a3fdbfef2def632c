/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* mixture: see mixture.h. Packets are followed one by one; credit cycles are check.c's to find. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "routing/check.h"
#include "tests/fabric/mixture.h"
#include "tests/fabric/plain_judge.h"
#include "topology/mem.h"

static enum plain_end follow(const struct mixture *m, const struct tables *tables, uint32_t sw,
			     uint32_t lid)
{
	return plain_follow(m->topo, m->lids, tables, sw, lid);
}

void mixture_init(struct mixture *m, const struct topo *t, const struct lid_map *lids,
		  const struct tables *older, const struct tables *newer)
{
	*m = (struct mixture){ .topo = t, .lids = lids };
	tables_copy(&m->now, older);
	m->owed = mem_alloc((size_t)t->nswitches * m->now.stride, sizeof(*m->owed));
	m->excused = mem_alloc(m->now.stride, sizeof(*m->excused));
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (uint32_t lid = 1; lid <= lids->top; lid++)
			m->owed[(size_t)sw * m->now.stride + lid] =
				follow(m, older, sw, lid) == PLAIN_ARRIVES &&
				follow(m, newer, sw, lid) == PLAIN_ARRIVES;
}

void mixture_fini(struct mixture *m)
{
	tables_fini(&m->now);
	free(m->owed);
	free(m->excused);
}

void mixture_write(struct mixture *m, uint32_t sw, uint32_t block, const uint8_t *entries)
{
	memcpy(tables_row(&m->now, sw) + (size_t)block * TABLES_BLOCK, entries, TABLES_BLOCK);
	m->writes++;
}

void mixture_rewind(struct mixture *m, const struct tables *older)
{
	tables_copy(&m->now, older);
	m->writes = 0;
}

static bool between_hosts(const struct mixture *m, uint32_t sw, uint32_t lid)
{
	return m->topo->nodes[sw].role == TOPO_LEAF &&
	       m->topo->ports[m->lids->port_of_lid[lid]].node >= m->topo->nswitches;
}

static bool is_owed(const struct mixture *m, uint32_t sw, uint32_t lid)
{
	return m->owed[(size_t)sw * m->now.stride + lid] &&
	       (!m->excused[lid] || (m->hosts_owed && between_hosts(m, sw, lid)));
}

static bool lid_sound(struct mixture *m, uint32_t lid)
{
	for (uint32_t sw = 0; sw < m->topo->nswitches; sw++) {
		enum plain_end end = follow(m, &m->now, sw, lid);

		if (end != PLAIN_LOOPS && (end == PLAIN_ARRIVES || !is_owed(m, sw, lid)))
			continue;
		snprintf(m->fault, sizeof(m->fault), "write %u: from %s to LID %u: %s", m->writes,
			 m->topo->nodes[sw].desc, lid, end == PLAIN_LOOPS ? "a loop" : "dark");
		return false;
	}
	return true;
}

const char *mixture_fault(struct mixture *m, uint32_t block)
{
	uint32_t lid = block * TABLES_BLOCK, end = lid + TABLES_BLOCK;
	struct check_report report;

	for (lid += !lid; lid < end && lid <= m->lids->top; lid++)
		if (!lid_sound(m, lid))
			return m->fault;
	check_tables(m->topo, m->lids, &m->now, &report);
	if (!report.credit_cycles && !report.loops)
		return NULL;
	snprintf(m->fault, sizeof(m->fault), "write %u: %llu credit cycles; first finding: %s",
		 m->writes, (unsigned long long)report.credit_cycles, report.first);
	return m->fault;
}
