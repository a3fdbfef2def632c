/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Multicast: the SA answers a join at once and keeps the groups; what follows is here: trees and
 * the switches' tables (trees.c), members whose ports are out of service (absent.c), how many
 * groups there may be (mlids.c), and the groups over a restart (group_file.c).
 */
#include "fm/multicast/module.h"
#include <stdlib.h>
#include "fm/multicast/room.h"
#include "topology/mem.h"

static void group_changed(void *arg, uint16_t mlid)
{
	struct multicast *m = arg;

	mlids_check(m);
	group_file_changed(m);
	trees_changed(m, mlid);
}

static void share_mlids(struct multicast *m)
{
	sa_groups_share_snm(m->groups, m->services.conf->sa.consolidate_ipv6_snm);
}

/* Ahead of subscriptions, which are loaded: groups of an earlier life are no news. */
static void restore(void *room)
{
	struct multicast *m = room;

	group_file_read(m);
	share_mlids(m);
	if (!m->known)
		fabric_request_reregister(m->fabric, "multicast groups are not known");
}

static void configure(void *room)
{
	share_mlids(room);
}

/* The graph of the tables in force goes with it. */
static void proving(void *room)
{
	trees_keep_proof(room);
}

static void published(void *room, const struct topo *before)
{
	struct multicast *m = room;

	trees_published(m);
	mlids_published(m);
	absent_published(m, before);
}

static void shown(void *room, const struct topo *before)
{
	trees_same_links(room, before);
}

/* Unicast's blocks come first; what they carry is part of any tree. */
static void programmed(void *room, const struct program_result *result)
{
	trees_start(room);
}

static void mft_mismatch(void *room)
{
	trees_rewrite(room);
}

static bool busy(const void *room)
{
	const struct multicast *m = room;

	return job_steps(m->trees.job) != NULL;
}

static void status(const void *room, json_t *doc)
{
	json_object_set_new(doc, "multicast", multicast_figures_json(room));
}

const struct mcast_plan *multicast_trees(const struct fabric *fabric)
{
	const struct multicast *m = fabric_room(fabric, &multicast_module);

	return &m->trees.plan;
}

json_t *multicast_groups(const struct fabric *fabric)
{
	return multicast_groups_of(fabric, 0, NULL);
}

json_t *multicast_groups_of(const struct fabric *fabric, unsigned mlid, const uint8_t mgid[16])
{
	return multicast_groups_json(fabric_room(fabric, &multicast_module), mlid, mgid);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void grace_over(void *arg)
{
	assumed_end(arg, trees_changed);
}

static void *init(struct fabric *fabric)
{
	static const struct sa_groups_ops ops = { .changed = group_changed,
						  .record = group_file_record };
	struct multicast *m = mem_alloc(1, sizeof(*m));

	m->fabric = fabric;
	m->services = fabric_services(fabric);
	m->groups = sa_mcast_groups(m->services.sa);
	trees_init(m);
	absent_init(m);
	assumed_init(m, grace_over);
	sa_mcast_follow(m->services.sa, &ops, m);
	return m;
}

static void fini(void *room)
{
	struct multicast *m = room;

	sa_mcast_follow(m->services.sa, NULL, NULL);
	assumed_fini(m);
	absent_fini(m);
	trees_fini(m);
	free(m);
}

const struct fabric_module multicast_module = { .name = "multicast",
						.init = init,
						.fini = fini,
						.restore = restore,
						.configure = configure,
						.update.proving = proving,
						.update.published = published,
						.update.shown = shown,
						.deploy.programmed = programmed,
						.deploy.mft_mismatch = mft_mismatch,
						.deploy.busy = busy,
						.report.status = status };
