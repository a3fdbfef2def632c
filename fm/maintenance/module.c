/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/maintenance/module.h"
#include <stdlib.h>
#include "fm/core/host_verdict.h"
#include "fm/fabric/view.h"
#include "fm/maintenance/forget.h"
#include "fm/maintenance/maintenance.h"
#include "topology/host.h"
#include "topology/mem.h"

/* ---- Commands -------------------------------------------------------------------------------- */

void maintenance_cordon(struct fabric *fabric, const char *what, bool on, waiter_fn *fn, void *arg)
{
	struct maintenance *m = fabric_room(fabric, &maintenance_module);
	const struct fabric_view view = fabric_view(fabric);
	const struct topo *t = view.topo;
	char err[TARGET_ERROR_SIZE] = "";
	struct change *change;
	struct target target;

	if (!target_find(&view, what, &target, err) &&
	    (on || !cordons_find_absent(&m->cordons, what, &target))) {
		fn(arg, NULL, err);
		return;
	}
	change = change_new(m, &target, on ? CHANGE_CORDON : CHANGE_UNCORDON);
	change->links = target_count_links(t, &target);
	if (!cordons_plan(&m->cordons, t, &target, on, &change->cordons, err)) {
		fn(arg, NULL, err);
		change_free(change);
	} else if (change->cordons.count) {
		cordons_change(&m->cordons, &change->cordons, on);
		change_start(change, fn, arg);
	} else {
		change_unchanged(change, on ? "already cordoned" : "not cordoned", fn, arg);
	}
}

const char *maintenance_cordoned_since(const struct fabric *fabric, guid_t node, unsigned port)
{
	const struct maintenance *m = fabric_room(fabric, &maintenance_module);
	const char *since = cordons_since(&m->cordons, node, port);

	return since || !port ? since : cordons_since(&m->cordons, node, 0);
}

void maintenance_release(struct fabric *fabric, const char *what, waiter_fn *fn, void *arg)
{
	struct maintenance *m = fabric_room(fabric, &maintenance_module);
	const struct fabric_view view = fabric_view(fabric);
	char err[TARGET_ERROR_SIZE];
	struct target *targets;
	struct change *change;
	unsigned count = target_find_all(&view, what, &targets, err);

	if (!count) {
		fn(arg, NULL, err);
		return;
	}
	change = change_new(m, &targets[0], CHANGE_RELEASE);
	for (unsigned i = 0; i < count; i++)
		change->links +=
			quarantines_release(&m->quarantines, &targets[i], &change->released);
	free(targets);
	holds_released(&m->holds, &change->released);
	if (change->released.count)
		change_start(change, fn, arg);
	else
		change_unchanged(change, "not quarantined", fn, arg);
}

void maintenance_forget(struct fabric *fabric, const char *what, waiter_fn *fn, void *arg)
{
	const struct fabric_services services = fabric_services(fabric);

	forget(fabric, &services, what, fn, arg);
}

/* ---- Hooks ----------------------------------------------------------------------------------- */

static void load(void *room)
{
	struct maintenance *m = room;

	cordons_load(&m->cordons);
	quarantines_load(&m->quarantines);
	holds_load(&m->holds);
}

static void annotate(void *room, struct inventory *inventory)
{
	struct maintenance *m = room;

	cordons_mark(&m->cordons);
	quarantines_mark(&m->quarantines);
}

static void quarantine(void *room, guid_t node, uint8_t port, const char *why)
{
	quarantines_add(&((struct maintenance *)room)->quarantines, node, port, why);
}

static void hold(void *room, guid_t node, uint8_t port, const char *why)
{
	holds_request(&((struct maintenance *)room)->holds, node, port, why);
}

static void link_fell(void *room, guid_t node, uint8_t port)
{
	struct maintenance *m = room;
	const struct conf *conf = m->services.conf;
	uint64_t window_us = (uint64_t)conf->quarantine.flap_window_ms * 1000;
	char why[QUARANTINE_WHY];

	if (!conf->quarantine.flap_count)
		return;
	quarantines_take_lower_end(&m->quarantines, &node, &port);
	if (!flaps_note_down(&m->flaps, node, port, (unsigned)conf->quarantine.flap_count,
			     window_us, loop_now_us(m->services.loop)))
		return;
	snprintf(why, sizeof(why), "went down %d times within %g s",
		 conf->quarantine.flap_count + 1, conf->quarantine.flap_window_ms / 1e3);
	quarantines_add(&m->quarantines, node, port, why);
}

static void review(void *room)
{
	holds_review(&((struct maintenance *)room)->holds);
}

static void unhealthy(const void *room, json_t *rows)
{
	const struct maintenance *m = room;

	quarantines_rows(&m->quarantines, fabric_view(m->fabric).topo, rows);
}

/* A host's link stays in use, whatever is known of it. */
static void host_part(void *room, uint32_t host, struct host_verdict *verdict)
{
	const struct maintenance *m = room;
	const struct topo *t = fabric_view(m->fabric).topo;
	const struct topo_host *it = &t->hosts[host];

	for (uint32_t i = 0; i < it->ncas && m->quarantines.known.count; i++) {
		uint32_t ca = t->host_cas[it->first + i];

		for (unsigned num = 1; num <= t->nodes[ca].nports; num++) {
			const char *why =
				quarantines_why(&m->quarantines, t->nodes[ca].guid, (uint8_t)num);

			if (why)
				host_verdict_add(verdict, HOST_DEGRADED,
						 "%.60s: link is unhealthy: %s", host_device(t, ca),
						 why);
		}
	}
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	struct maintenance *m = mem_alloc(1, sizeof(*m));

	m->fabric = fabric;
	m->services = fabric_services(fabric);
	m->cordons = (struct cordons){ .fabric = fabric, .services = &m->services };
	quarantines_init(&m->quarantines, fabric, &m->services);
	holds_init(&m->holds, fabric, &m->services, &m->quarantines);
	flaps_init(&m->flaps);
	return m;
}

static void fini(void *room)
{
	struct maintenance *m = room;

	cordons_fini(&m->cordons);
	holds_fini(&m->holds);
	quarantines_fini(&m->quarantines);
	flaps_fini(&m->flaps);
	free(m);
}

const struct fabric_module maintenance_module = { .name = "maintenance",
						  .init = init,
						  .fini = fini,
						  .load = load,
						  .update.annotate = annotate,
						  .update.quarantine = quarantine,
						  .update.hold = hold,
						  .update.link_fell = link_fell,
						  .report.review = review,
						  .report.unhealthy = unhealthy,
						  .report.host = host_part };
