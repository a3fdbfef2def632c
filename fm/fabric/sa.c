/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_sa: the SA's settings, its events, and what hosts have asked it for: subscriptions to notices
 * and services, in state_dir, so that a restart of fmd is nothing that a host would notice.
 *
 * Changes are written once they have gathered for SAVE_US, and at the end. A lease of a service is kept
 * as the second it ends at by the system's clock: it goes on while fmd is away. When there is nothing to
 * be read, hosts are asked to register anew.
 */
#include <time.h>
#include "fm/fabric/own.h"

#define GATHER_US 2000000

static unsigned read_subscriptions(void *arg, FILE *in)
{
	struct fabric *f = arg;

	f->sa_state_read = true;
	return sa_subscriptions_read(f->sa, in);
}

static void forget_subscriptions(void *arg)
{
	struct fabric *f = arg;

	f->sa_state_read = false;
	sa_subscriptions_forget(f->sa);
}

static void write_subscriptions(const void *arg, FILE *out)
{
	const struct fabric *f = arg;

	sa_subscriptions_write(f->sa, out);
}

static const struct state_file subscriptions_file = {
	.name = "subscriptions",
	.form = "a subscription",
	.read = read_subscriptions,
	.forget = forget_subscriptions,
	.write = write_subscriptions,
	.gather_us = GATHER_US,
	.gather_max_us = GATHER_US,
};

static unsigned read_services(void *arg, FILE *in)
{
	struct fabric *f = arg;

	return sa_services_read(f->sa, in, time(NULL));
}

static void forget_services(void *arg)
{
	struct fabric *f = arg;

	sa_services_forget(f->sa);
}

static void write_services(const void *arg, FILE *out)
{
	const struct fabric *f = arg;

	sa_services_write(f->sa, out, time(NULL));
}

static const struct state_file services_file = {
	.name = "services",
	.form = "a service",
	.read = read_services,
	.forget = forget_services,
	.write = write_services,
	.gather_us = GATHER_US,
	.gather_max_us = GATHER_US,
};

static unsigned read_aliases(void *arg, FILE *in)
{
	struct fabric *f = arg;

	return sa_aliases_read(f->sa, in);
}

static void forget_aliases(void *arg)
{
	struct fabric *f = arg;

	sa_aliases_forget(f->sa);
}

static void write_aliases(const void *arg, FILE *out)
{
	const struct fabric *f = arg;

	sa_aliases_write(f->sa, out);
}

static const struct state_file aliases_file = {
	.name = "aliases",
	.form = "a GUID of a port",
	.read = read_aliases,
	.forget = forget_aliases,
	.write = write_aliases,
	.gather_us = GATHER_US,
	.gather_max_us = GATHER_US,
};

static void changed(void *arg)
{
	fabric_state_changed(arg, &services_file);
	fabric_state_changed(arg, &subscriptions_file);
	fabric_state_changed(arg, &aliases_file);
}

static void told(void *arg, const char *text)
{
	struct fabric *f = arg;

	event_log_add(f->events, LOG_WARNING, "sa", NULL, "%s", text);
}

static void guids_changed(void *arg, guid_t port)
{
	fabric_alias_changed(arg, port);
}

static struct sa_conf sa_conf(struct fabric *f)
{
	const struct conf *c = &f->conf;

	return (struct sa_conf){ .gid_prefix = c->subnet_prefix,
				 .sa_key = fabric_sa_key(f),
				 .sm_priority = c->sm_priority,
				 .subnet_timeout = c->subnet_timeout,
				 .groups_limit = (unsigned)c->mcast_groups_per_port,
				 .proxy_join = c->sa_proxy_join,
				 .pkey_host_order = c->sa_pkey_host_order,
				 .rate_limit = (unsigned)c->sa_rate_limit };
}

void fabric_sa_init(struct fabric *f)
{
	const struct sa_conf conf = sa_conf(f);

	f->sa = sa_new(f->loop, f->mad, sweep_inventory(f->sweep), &conf);
	sa_listen(f->sa,
		  &(struct sa_listener){
			  .changed = changed, .told = told, .guids = guids_changed, .arg = f });
	fabric_alias_init(f);
}

void fabric_sa_configure(struct fabric *f)
{
	const struct sa_conf conf = sa_conf(f);

	sa_configure(f->sa, &conf);
}

/* What was just read is no change. A file that is missing or spoilt means that hosts know more than we do. */
void fabric_sa_load(struct fabric *f)
{
	static const struct state_file *const files[] = { &aliases_file, &services_file,
							  &subscriptions_file };

	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		fabric_state_read(f, files[i]);
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		fabric_state_unchanged(f, files[i]);
	f->reregister = !f->sa_state_read || !fabric_mcast_known(f);
	if (!f->sa_state_read)
		changed(f);
}

void fabric_sa_reregister(struct fabric *f)
{
	if (!f->reregister)
		return;
	f->reregister = false;
	bringup_reregister(f->bringup);
}

void fabric_sa_fini(struct fabric *f)
{
	fabric_alias_fini(f);
	sa_free(f->sa);
}
