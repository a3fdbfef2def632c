/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the state of a host's NVLinks means for the fabric.
 *
 * A GPU that loses its NVLinks relays nothing within its host any more: what stayed on one rail
 * goes over the spines, to seven other adapters that the usual numbering puts behind one and the
 * same spine index. So a host without peer-to-peer is distributed over the slots by rail
 * (ROUTE_CROSSRAIL) and counted for more; a dead one is expected to be silent and distributed last
 * (ROUTE_IDLE). The table of states is the configuration's (policy.h). Only compute adapters are
 * distributed differently, nobody else's entries move, and every host stays reachable.
 *
 * NVLink switches of the fifth generation look like InfiniBand switches from within their own
 * subnet, which another manager runs. A port into one is refused: nothing is programmed there.
 */
#include "fm/nvswitch/module.h"
#include <stdlib.h>
#include "fm/core/host_verdict.h"
#include "fm/core/name_list.h"
#include "fm/core/name_patterns.h"
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/nvswitch/module_own.h"
#include "topology/mem.h"

/* ---- What the monitor reports ---------------------------------------------------------------- */

static void event_cb(void *arg, enum log_level level, const char *kind, json_t *details,
		     const char *text)
{
	struct nvlink_room *r = arg;

	event_log_add(r->services.events, level, kind, details, "%s", text);
}

static void reroute_cb(void *arg)
{
	struct nvlink_room *r = arg;

	r->requested = true;
	fabric_request_reroute(r->fabric, "NVLink states changed");
	fabric_fault_open(r->fabric, "nvswitch: routing recalculated (NVLink state changed)");
}

static void keep_cb(void *arg)
{
	nvlink_states_changed(arg);
}

static void remember_cb(void *arg)
{
	nvlink_memory_changed(arg);
}

static void states_cb(void *arg)
{
	fabric_report_hosts_changed(((struct nvlink_room *)arg)->fabric);
}

static void trouble_cb(void *arg, const char *what, const char *error)
{
	struct nvlink_room *r = arg;

	trouble_set(r->services.alerts, what, error);
}

static const struct nvswitch_ops monitor_ops = { event_cb,    reroute_cb, keep_cb,
						 remember_cb, trouble_cb, states_cb };

/* ---- Updates --------------------------------------------------------------------------------- */

static const char *admit(void *room, const struct topo *next)
{
	struct nvlink_room *r = room;
	const char *desc = nvlink_find_node(next);

	if (desc && !r->refused)
		event_log_add(
			r->services.events, LOG_ERR, "nvlink-subnet", NULL,
			"%s: an NVLink switch or GPU: this port leads into an NVLink subnet, "
			"which its own manager runs; nothing is programmed. Choose the compute "
			"fabric's port (guid in fmd.conf)",
			desc);
	r->refused = desc != NULL;
	return desc ? "this port leads into an NVLink subnet; see fmctl events" : NULL;
}

static void route_input(const void *room, const struct topo *next, struct fabric_policy *policy)
{
	nvlink_treat(room, next, NULL, policy);
}

static void published(void *room, const struct topo *before)
{
	struct nvlink_room *r = room;
	const struct topo *t = fabric_view(r->fabric).topo;
	const char **names = mem_alloc(t->nhosts + 1, sizeof(*names));

	for (uint32_t h = 0; h < t->nhosts; h++)
		names[h] = t->hosts[h].name;
	nvswitch_present(r->nvswitch, names, t->nhosts);
	free(names);
}

/* ---- Reports --------------------------------------------------------------------------------- */

struct unhealthy_hosts {
	struct name_list fatal, no_p2p;
};

static void add_host(void *arg, const char *host, enum nvswitch_state believed,
		     enum nvswitch_state override)
{
	enum nvswitch_state state = override == NVSWITCH_UNKNOWN ? believed : override;
	struct unhealthy_hosts *hosts = arg;

	if (state == NVSWITCH_FATAL)
		name_list_add(&hosts->fatal, host);
	else if (state == NVSWITCH_NO_P2P)
		name_list_add(&hosts->no_p2p, host);
}

static void review(void *room)
{
	struct nvlink_room *r = room;
	struct alerts *alerts = r->services.alerts;
	struct unhealthy_hosts hosts = { 0 };

	if (fabric_view(r->fabric).topo)
		nvswitch_each(r->nvswitch, add_host, &hosts);
	name_list_alert(alerts, "hosts-fatal", &hosts.fatal, "host FATAL", "hosts FATAL");
	name_list_alert(alerts, "hosts-no-p2p", &hosts.no_p2p, "host NO_P2P", "hosts NO_P2P");
}

/* Nobody expects NVLinks of storage and management hosts. */
static bool is_compute(const struct nvlink_room *r, const struct topo *t, uint32_t host)
{
	const struct conf_routing *conf = &r->services.conf->routing;
	const char *name = t->hosts[host].name;
	const char *desc = t->nodes[t->host_cas[t->hosts[host].first]].desc;

	return !name_patterns_match(conf->storage_nodes, desc, name) &&
	       !name_patterns_match(conf->management_nodes, desc, name);
}

/* A host that no source watches has no NVLink part in its verdict. */
static void host_part(void *room, uint32_t host, struct host_verdict *verdict)
{
	static const enum host_state host_states[NVSWITCH_STATES] = {
		[NVSWITCH_HEALTHY] = HOST_HEALTHY, [NVSWITCH_DEGRADED_LINK] = HOST_DEGRADED,
		[NVSWITCH_NO_P2P] = HOST_NO_P2P,   [NVSWITCH_FATAL] = HOST_FATAL,
		[NVSWITCH_UNKNOWN] = HOST_UNKNOWN,
	};
	const struct nvlink_room *r = room;
	const struct topo *t = fabric_view(r->fabric).topo;
	const struct nvswitch_known known = nvswitch_known(r->nvswitch, t->hosts[host].name);

	if (!known.watched || known.state == NVSWITCH_HEALTHY)
		return;
	if (known.state == NVSWITCH_UNKNOWN && !is_compute(r, t, host))
		return;
	host_verdict_add(verdict, host_states[known.state], "NVLinks %s%s%s",
			 nvswitch_state_name(known.state), *known.reason ? ": " : "", known.reason);
}

static void status(const void *room, json_t *doc)
{
	const struct nvlink_room *r = room;

	json_object_set_new(doc, "nvswitch", nvswitch_summary(r->nvswitch));
}

/* ---- Life ------------------------------------------------------------------------------------ */

static int check(const struct conf *conf, char *err, size_t err_size)
{
	const struct nvswitch_conf monitor = nvlink_conf(conf);

	return nvswitch_check(&monitor, err, err_size);
}

static void configure(void *room)
{
	struct nvlink_room *r = room;
	const struct nvswitch_conf conf = nvlink_conf(r->services.conf);
	char err[512] = "";

	if (nvswitch_configure(r->nvswitch, &conf, err, sizeof(err)))
		event_log_add(r->services.events, LOG_ERR, "nvswitch-conf", NULL,
			      "nvswitch: previous exporters and logs kept: %s", err);
}

static void load(void *room)
{
	nvlink_files_load(room);
	configure(room);
}

static void *init(struct fabric *fabric)
{
	struct nvlink_room *r = mem_alloc(1, sizeof(*r));

	r->fabric = fabric;
	r->services = fabric_services(fabric);
	r->nvswitch = nvswitch_new(r->services.loop, &monitor_ops, r);
	return r;
}

static void fini(void *room)
{
	struct nvlink_room *r = room;

	nvswitch_free(r->nvswitch);
	free(r);
}

const struct fabric_module nvlink_module = { .name = "nvlink",
					     .check = check,
					     .init = init,
					     .fini = fini,
					     .load = load,
					     .configure = configure,
					     .update.admit = admit,
					     .update.route_input = route_input,
					     .update.published = published,
					     .report.review = review,
					     .report.host = host_part,
					     .report.status = status };
