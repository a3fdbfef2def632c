/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdio.h>
#include <stdlib.h>
#include "fm/fabric/pipe.h"
#include "topology/base/mem.h"

struct modules *modules_new(fabric_modules table)
{
	struct modules *m;
	unsigned count = 0;

	while (table[count].module)
		count++;
	m = mem_alloc(1, sizeof(*m) + (count + 1) * sizeof(m->rows[0]));
	m->count = count;
	for (unsigned i = 0; i < count; i++)
		m->rows[i].module = table[i].module;
	return m;
}

static bool stands_before(const struct fabric_row *row, const struct fabric_module *later)
{
	for (row++; row->module; row++)
		if (row->module == later)
			return true;
	return false;
}

int modules_check_order(fabric_modules table, char *err, size_t err_size)
{
	for (const struct fabric_row *row = table; row->module; row++)
		for (unsigned i = 0; row->after && row->after[i]; i++)
			if (stands_before(row, row->after[i])) {
				snprintf(err, err_size, "room %s has to stand behind room %s",
					 row->module->name, row->after[i]->name);
				return -1;
			}
	return 0;
}

void modules_begin(struct modules *m, struct fabric *fabric)
{
	for (unsigned i = 0; i < m->count; i++)
		if (!m->rows[i].room)
			m->rows[i].room = m->rows[i].module->init(fabric);
}

void modules_end(struct modules *m, bool all)
{
	for (unsigned i = m->count; i-- > 0;) {
		if (m->rows[i].module->lasts && !all)
			continue;
		m->rows[i].module->fini(m->rows[i].room);
		m->rows[i].room = NULL;
	}
}

void modules_free(struct modules *m)
{
	free(m);
}

void modules_route_input(const struct modules *m, const struct fabric_module *without,
			 const struct topo *next, struct fabric_policy *policy)
{
	MODULES_EACH (m, row)
		if (row->module->route_input && row->module != without)
			row->module->route_input(row->room, next, policy);
}

void *fabric_room(const struct fabric *f, const struct fabric_module *module)
{
	MODULES_EACH (f->kept.modules, row)
		if (row->module == module)
			return row->room;
	return NULL;
}
