/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_partition: the partitions in force. A configuration brings a set aside; the next update to be published takes it into force
 * at one stroke with the snapshot: who may talk to whom (SA), the groups that are there in advance, and what ports' tables are
 * to hold (bring-up). Until then everybody goes on by the older one.
 *
 * The file was looked into when the configuration was loaded. Should it have become unreadable since, a running fmd keeps what it
 * has; one that starts lets ports talk to itself alone, for a partition that is wide open is found out too late.
 */
#include <inttypes.h>
#include <string.h>
#include "fm/fabric_own.h"

static struct partition_set *load(struct fabric *f)
{
	const struct partition_options options = conf_partition_options(&f->conf);
	char err[512];
	struct partition_set *set =
		partition_load(f->conf.partition_config_file, &options, err, sizeof(err));

	if (!set)
		event_log_add(f->events, LOG_ERR, "partitions-refused", NULL,
			      "fabric: partitions unchanged: %s", err);
	return set;
}

static struct partition_set *nobody_but_us(const struct fabric *f)
{
	const struct partition_options options = conf_partition_options(&f->conf);
	char text[] = "", err[64];

	return partition_parse("", text, &options, err, sizeof(err));
}

void fabric_partitions_init(struct fabric *f)
{
	qos_make(&f->conf.qos, &f->qos);
	f->partitions_next = load(f);
	if (!f->partitions_next)
		f->partitions_next = nobody_but_us(f);
}

void fabric_partitions_configure(struct fabric *f)
{
	struct partition_set *set = load(f);

	qos_make(&f->conf.qos, &f->qos);
	if (!set)
		return;
	partition_free(f->partitions_next);
	f->partitions_next = set;
}

/* The groups that are there in advance, those of the set to come included. */
void fabric_partitions_preset(struct fabric *f)
{
	const struct partition_set *set = f->partitions_next ? f->partitions_next : f->partitions;

	sa_mcast_preset(f->sa, set->groups, set->ngroups);
}

static void tell(struct fabric *f, const struct partition_set *older)
{
	if (!f->partitions->built_in)
		event_log_add(f->events, LOG_NOTICE, "partitions", NULL,
			      "fabric: %u partitions by %s", f->partitions->count,
			      f->conf.partition_config_file);
	else if (older && !older->built_in)
		event_log_add(f->events, LOG_NOTICE, "partitions", NULL,
			      "fabric: no partitions any more, all ports may talk to each other");
}

/* The new snapshot is in place, and nobody has been told of it. What was in force is kept till they have. */
void fabric_partitions_publish(struct fabric *f)
{
	struct partition_set *older = f->partitions;
	uint32_t sm_port = topo_find_port(f->topo, mad_port_info(f->mad)->port_guid);

	f->update.pkeys = f->pkeys;
	if (f->partitions_next) {
		f->partitions = f->partitions_next;
		f->partitions_next = NULL;
		f->update.partitions = older;
		fabric_partitions_preset(f);
		tell(f, older);
	}
	f->pkeys = partition_resolve(f->partitions, f->topo, sm_port);
	bringup_set_pkeys(f->bringup, f->pkeys);
}

void fabric_partitions_forget(struct fabric *f)
{
	pkey_map_free(f->update.pkeys);
	partition_free(f->update.partitions);
	f->update.pkeys = NULL;
	f->update.partitions = NULL;
}

void fabric_partitions_fini(struct fabric *f)
{
	fabric_partitions_forget(f);
	pkey_map_free(f->pkeys);
	partition_free(f->partitions);
	partition_free(f->partitions_next);
}
