/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/fabric/modules.h"
#include <stdlib.h>
#include "fm/fabric/pipe.h"
#include "topology/mem.h"

struct modules {
	const struct fabric_module *const *table;
	unsigned count;
	void *rooms[]; /* by row */
};

struct modules *modules_new(fabric_modules table)
{
	struct modules *m;
	unsigned count = 0;

	while (table[count])
		count++;
	m = mem_alloc(1, sizeof(*m) + count * sizeof(m->rooms[0]));
	m->table = table;
	m->count = count;
	return m;
}

void modules_begin(struct modules *m, struct fabric *fabric)
{
	for (unsigned i = 0; i < m->count; i++)
		if (!m->rooms[i])
			m->rooms[i] = m->table[i]->init(fabric);
}

void modules_end(struct modules *m, bool all)
{
	for (unsigned i = m->count; i-- > 0;) {
		if (m->table[i]->lasts && !all)
			continue;
		m->table[i]->fini(m->rooms[i]);
		m->rooms[i] = NULL;
	}
}

void modules_free(struct modules *m)
{
	free(m);
}

/* Calls that hook of each room that has it. */
#define EACH(m, hook, ...)                                                                         \
	for (unsigned i = 0; i < (m)->count; i++)                                                  \
		if ((m)->table[i]->hook)                                                           \
	(m)->table[i]->hook((m)->rooms[i], ##__VA_ARGS__)

void modules_load(struct modules *m)
{
	EACH(m, load);
}

void modules_configure(struct modules *m)
{
	EACH(m, configure);
}

void modules_published(struct modules *m, const struct topo *before)
{
	EACH(m, update.published, before);
}

void modules_shown(struct modules *m, const struct topo *before)
{
	EACH(m, update.shown, before);
}

void modules_settled(struct modules *m)
{
	EACH(m, deploy.settled);
}

void modules_mismatch(struct modules *m, guid_t sw, uint32_t block)
{
	EACH(m, deploy.mismatch, sw, block);
}

void modules_quarantine(struct modules *m, guid_t node, uint8_t port, const char *why)
{
	EACH(m, update.quarantine, node, port, why);
}

void modules_hold(struct modules *m, guid_t node, uint8_t port, const char *why)
{
	EACH(m, update.hold, node, port, why);
}

uint64_t modules_link_clean_us(const struct modules *m, guid_t node, uint8_t port)
{
	for (unsigned i = 0; i < m->count; i++)
		if (m->table[i]->report.link_clean_us)
			return m->table[i]->report.link_clean_us(m->rooms[i], node, port);
	return 0;
}

void modules_review(struct modules *m)
{
	EACH(m, report.review);
}

void modules_cancel(struct modules *m, const void *arg)
{
	EACH(m, report.cancel, arg);
}

void modules_abandon(struct modules *m, const char *why)
{
	EACH(m, report.abandon, why);
}

void *modules_room(const struct modules *m, const struct fabric_module *module)
{
	for (unsigned i = 0; i < m->count; i++)
		if (m->table[i] == module)
			return m->rooms[i];
	return NULL;
}

void modules_restore(struct modules *m)
{
	EACH(m, restore);
}

void modules_programmed(struct modules *m, const struct program_result *result)
{
	EACH(m, deploy.programmed, result);
}

void modules_settled_later(struct modules *m)
{
	EACH(m, deploy.settled_later);
}

void modules_checkpoint(struct modules *m)
{
	EACH(m, checkpoint);
}

void modules_trap(struct modules *m, const struct wire_notice *notice, uint16_t from_lid,
		  unsigned times, bool forged)
{
	EACH(m, sweep.trap, notice, from_lid, times, forged);
}

void modules_unhealthy(const struct modules *m, json_t *rows)
{
	EACH(m, report.unhealthy, rows);
}

void modules_status(const struct modules *m, json_t *doc)
{
	EACH(m, report.status, doc);
}

void modules_host(struct modules *m, uint32_t host, struct host_verdict *verdict)
{
	EACH(m, report.host, host, verdict);
}

void modules_hosts_changed(struct modules *m)
{
	EACH(m, report.hosts_changed);
}

void modules_start(struct modules *m)
{
	EACH(m, start);
}

void modules_role(struct modules *m, enum fabric_role role)
{
	EACH(m, role, role);
}

void modules_sweeping(struct modules *m, bool light)
{
	EACH(m, sweep.sweeping, light);
}

void modules_unchanged(struct modules *m)
{
	EACH(m, update.unchanged);
}

const char *modules_refusal(const struct modules *m)
{
	const char *why = NULL;

	for (unsigned i = 0; i < m->count && !why; i++)
		if (m->table[i]->report.refusal)
			why = m->table[i]->report.refusal(m->rooms[i]);
	return why;
}

bool modules_swept(struct modules *m, const struct sweep_result *result)
{
	for (unsigned i = 0; i < m->count; i++)
		if (m->table[i]->sweep.swept && !m->table[i]->sweep.swept(m->rooms[i], result))
			return false;
	return true;
}

uint64_t modules_pending_since(const struct modules *m)
{
	uint64_t first = 0;

	for (unsigned i = 0; i < m->count; i++) {
		uint64_t since = m->table[i]->sweep.pending_since
					 ? m->table[i]->sweep.pending_since(m->rooms[i])
					 : 0;

		if (since && (!first || since < first))
			first = since;
	}
	return first;
}

bool modules_ready(struct modules *m)
{
	for (unsigned i = 0; i < m->count; i++)
		if (m->table[i]->update.ready && !m->table[i]->update.ready(m->rooms[i]))
			return false;
	return true;
}

const char *modules_admit(struct modules *m, const struct topo *next)
{
	const char *why = NULL;

	for (unsigned i = 0; i < m->count && !why; i++)
		if (m->table[i]->update.admit)
			why = m->table[i]->update.admit(m->rooms[i], next);
	return why;
}

bool modules_improves(struct modules *m)
{
	for (unsigned i = 0; i < m->count; i++)
		if (m->table[i]->update.improves && m->table[i]->update.improves(m->rooms[i]))
			return true;
	return false;
}

void modules_polled(struct modules *m)
{
	EACH(m, sweep.polled);
}

void modules_verified(struct modules *m, unsigned changed)
{
	EACH(m, sweep.verified, changed);
}

void modules_table_unheld(struct modules *m, const struct table_block *block)
{
	EACH(m, deploy.table_unheld, block);
}

void modules_isolate(struct modules *m, guid_t node, uint8_t port, enum isolation_cause cause)
{
	EACH(m, update.isolate, node, port, cause);
}

void modules_updating(struct modules *m)
{
	EACH(m, update.updating);
}

bool modules_may_program(struct modules *m)
{
	bool may = true;

	for (unsigned i = 0; i < m->count; i++)
		if (m->table[i]->deploy.may_program)
			may &= m->table[i]->deploy.may_program(m->rooms[i]);
	return may;
}

void modules_annotate(struct modules *m, struct inventory *inventory)
{
	EACH(m, update.annotate, inventory);
}

void modules_compared(struct modules *m, bool differs)
{
	EACH(m, update.compared, differs);
}

void modules_link_fell(struct modules *m, guid_t node, uint8_t port)
{
	EACH(m, update.link_fell, node, port);
}

void modules_route_input(const struct modules *m, const struct fabric_module *without,
			 const struct topo *next, struct fabric_policy *policy)
{
	for (unsigned i = 0; i < m->count; i++)
		if (m->table[i]->update.route_input && m->table[i] != without)
			m->table[i]->update.route_input(m->rooms[i], next, policy);
}

void modules_lids_changed(struct modules *m)
{
	EACH(m, update.lids_changed);
}

void modules_proving(struct modules *m)
{
	EACH(m, update.proving);
}

void modules_refused(struct modules *m)
{
	EACH(m, update.refused);
}

void modules_publishing(struct modules *m, const struct topo *before)
{
	EACH(m, update.publishing, before);
}

void modules_brought_up(struct modules *m, const struct bringup_result *result)
{
	EACH(m, deploy.brought_up, result);
}

void modules_mft_written(struct modules *m, const struct mft_result *result)
{
	EACH(m, deploy.mft_written, result);
}

void modules_mft_mismatch(struct modules *m)
{
	EACH(m, deploy.mft_mismatch);
}

bool modules_busy(const struct modules *m)
{
	for (unsigned i = 0; i < m->count; i++)
		if (m->table[i]->deploy.busy && m->table[i]->deploy.busy(m->rooms[i]))
			return true;
	return false;
}

void *fabric_room(const struct fabric *f, const struct fabric_module *module)
{
	return modules_room(f->modules, module);
}
