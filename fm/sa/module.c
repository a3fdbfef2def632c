/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The SA's settings, its events, and what hosts have asked it for: subscriptions to notices
 * and services, in state_dir, so that a restart of fmd is nothing that a host would notice.
 *
 * The room writes changes GATHER_US after the first of them, and at the end. It keeps the lease of
 * a service as the second, by the system's clock, at which it ends, so the lease runs on while fmd
 * is stopped. If there is no file to read, hosts are asked to register anew.
 */
#include "fm/sa/module.h"
#include <stdlib.h>
#include <time.h>
#include "fm/fabric/request.h"
#include "fm/sa/module_own.h"
#include "fm/sa/sa_known.h"
#include "fm/sa/sa_state.h"
#include "topology/mem.h"

#define GATHER_US 2000000

struct sa_room {
	struct fabric *fabric;
	struct fabric_services services;
	struct sa_key key;
	struct guid_tables *guids;
	bool read; /* what an earlier life kept */
};

static unsigned read_subscriptions(void *arg, FILE *in)
{
	struct sa_room *r = arg;

	r->read = true;
	return sa_subscriptions_read(r->services.sa, in);
}

static void forget_subscriptions(void *arg)
{
	struct sa_room *r = arg;

	r->read = false;
	sa_subscriptions_forget(r->services.sa);
}

static void write_subscriptions(const void *arg, FILE *out)
{
	const struct sa_room *r = arg;

	sa_subscriptions_write(r->services.sa, out);
}

static bool take_subscription(void *arg, const char *line)
{
	struct sa_room *r = arg;

	r->read = true;
	return sa_subscriptions_take(r->services.sa, line);
}

static const struct state_file subscriptions_file = {
	.name = "subscriptions",
	.form = "a subscription",
	.read = read_subscriptions,
	.forget = forget_subscriptions,
	.write = write_subscriptions,
	.record = take_subscription,
	.gather_us = GATHER_US,
	.gather_max_us = GATHER_US,
};

static unsigned read_services(void *arg, FILE *in)
{
	struct sa_room *r = arg;

	return sa_services_read(r->services.sa, in, time(NULL));
}

static void forget_services(void *arg)
{
	struct sa_room *r = arg;

	sa_services_forget(r->services.sa);
}

static void write_services(const void *arg, FILE *out)
{
	const struct sa_room *r = arg;

	sa_services_write(r->services.sa, out, time(NULL));
}

static bool take_service(void *arg, const char *line)
{
	struct sa_room *r = arg;

	return sa_services_take(r->services.sa, line, time(NULL));
}

static const struct state_file services_file = {
	.name = "services",
	.form = "a service",
	.read = read_services,
	.forget = forget_services,
	.write = write_services,
	.record = take_service,
	.gather_us = GATHER_US,
	.gather_max_us = GATHER_US,
};

static unsigned read_aliases(void *arg, FILE *in)
{
	struct sa_room *r = arg;

	return sa_aliases_read(r->services.sa, in);
}

static void forget_aliases(void *arg)
{
	struct sa_room *r = arg;

	sa_aliases_forget(r->services.sa);
}

static void write_aliases(const void *arg, FILE *out)
{
	const struct sa_room *r = arg;

	sa_aliases_write(r->services.sa, out);
}

static bool take_alias(void *arg, const char *line)
{
	struct sa_room *r = arg;

	return sa_aliases_take(r->services.sa, line);
}

static const struct state_file aliases_file = {
	.name = "aliases",
	.form = "a GUID of a port",
	.read = read_aliases,
	.forget = forget_aliases,
	.write = write_aliases,
	.record = take_alias,
	.gather_us = GATHER_US,
	.gather_max_us = GATHER_US,
};

/* ---- What hosts ask for ---------------------------------------------------------------------- */

static const struct state_file *const files[SA_KEPT] = { [SA_ALIASES] = &aliases_file,
							 [SA_SERVICES] = &services_file,
							 [SA_SUBSCRIPTIONS] = &subscriptions_file };

static void recorded(void *arg, enum sa_kept kept, const char *line)
{
	struct sa_room *r = arg;

	state_store_record(r->services.state, files[kept], r, line);
}

static void reported(void *arg, const char *text)
{
	struct sa_room *r = arg;

	event_log_add(r->services.events, LOG_WARNING, "sa", NULL, "%s", text);
}

static void guids_changed(void *arg, guid_t port)
{
	struct sa_room *r = arg;

	guid_tables_changed(r->guids, port);
}

/*
 * What was just read is no change. A file that is missing or damaged means that hosts know more
 * than we do.
 */
static void load(void *room)
{
	static const enum sa_kept order[] = { SA_ALIASES, SA_SERVICES, SA_SUBSCRIPTIONS };
	struct sa_room *r = room;

	for (unsigned i = 0; i < SA_KEPT; i++)
		state_store_read(r->services.state, files[order[i]], r);
	for (unsigned i = 0; i < SA_KEPT; i++)
		state_store_unchanged(r->services.state, files[i]);
	if (r->read)
		return;
	fabric_request_reregister(r->fabric, "subscriptions are not known");
	for (unsigned i = 0; i < SA_KEPT; i++)
		state_store_changed(r->services.state, files[i], r);
}

/* ---- What is published ----------------------------------------------------------------------- */

static void published(void *room, const struct topo *before)
{
	struct sa_room *r = room;
	struct fabric_view view = fabric_view(r->fabric);

	sa_publish(r->services.sa, &(struct sa_view){ .topo = view.topo,
						      .lids = view.lids,
						      .tables = view.tables,
						      .sm_lid = view.sm_lid,
						      .pkeys = view.pkeys,
						      .partitions = view.partitions,
						      .qos = view.qos,
						      .sls_dropped = qos_dropped(view.qos) });
}

static void trap(void *room, const struct wire_notice *notice, uint16_t from_lid, unsigned times,
		 bool forged)
{
	struct sa_room *r = room;

	if (!forged)
		sa_notice(r->services.sa, notice, from_lid);
}

static void settled(void *room)
{
	struct sa_room *r = room;

	guid_tables_settled(r->guids);
}

static void status(const void *room, json_t *doc)
{
	const struct sa_room *r = room;
	struct sa_stats s = sa_stats(r->services.sa);

	json_object_set_new(doc, "sa",
			    json_pack("{sI sI sI sI sI sI sI sI sI si si si}", "requests",
				      (json_int_t)s.requests, "ignored", (json_int_t)s.ignored,
				      "answered", (json_int_t)s.answered, "busy",
				      (json_int_t)s.busy, "bad", (json_int_t)s.bad, "unsupported",
				      (json_int_t)s.unsupported, "reports", (json_int_t)s.reports,
				      "reports_unanswered", (json_int_t)s.reports_unanswered,
				      "reports_skipped", (json_int_t)s.reports_skipped,
				      "subscriptions", (int)s.subscriptions, "services",
				      (int)s.services, "waiting", (int)s.waiting));
}

json_t *sa_known_of_port(const struct fabric *fabric, guid_t port)
{
	const struct sa_room *r = fabric_room(fabric, &sa_module);

	return sa_known(r->services.sa, port);
}

guid_t sa_port_of_alias(const struct fabric *fabric, guid_t alias)
{
	const struct sa_room *r = fabric_room(fabric, &sa_module);

	return sa_alias_port(r->services.sa, alias);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void configure(void *room)
{
	struct sa_room *r = room;
	const struct conf *c = r->services.conf;

	sa_configure(r->services.sa,
		     &(struct sa_conf){ .gid_prefix = c->sm.subnet_prefix,
					.sa_key = sa_key_get(&r->key, &r->services),
					.old_sa_key = r->services.conf->sa.old_key,
					.sm_priority = c->sm.priority,
					.subnet_timeout = c->ports.subnet_timeout,
					.groups_limit = (unsigned)c->sa.groups_per_port,
					.proxy_join = c->sa.proxy_join,
					.pkey_host_order = c->sa.pkey_host_order,
					.rate_limit = (unsigned)c->sa.rate_limit });
}

static void *init(struct fabric *fabric)
{
	struct sa_room *r = mem_alloc(1, sizeof(*r));

	r->fabric = fabric;
	r->services = fabric_services(fabric);
	r->guids = guid_tables_new(fabric);
	configure(r);
	sa_listen(r->services.sa, &(struct sa_listener){ .record = recorded,
							 .reported = reported,
							 .guids = guids_changed,
							 .arg = r });
	return r;
}

static void fini(void *room)
{
	struct sa_room *r = room;

	sa_listen(r->services.sa, &(struct sa_listener){ 0 });
	guid_tables_free(r->guids);
	free(r);
}

const struct fabric_module sa_module = { .name = "sa",
					 .init = init,
					 .fini = fini,
					 .load = load,
					 .configure = configure,
					 .sweep.trap = trap,
					 .update.published = published,
					 .update.shown = published,
					 .deploy.settled = settled,
					 .report.status = status };
