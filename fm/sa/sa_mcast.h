/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_mcast: the SA's multicast groups: their life (sa_mcast.c), what a request asks of one
 * (sa_mcast.c), new ones (sa_mcast.c), showing them (record_mcmember.c). Private to fm/sa.
 */
#ifndef FMD_SA_SA_MCAST_H
#define FMD_SA_SA_MCAST_H

#include "fm/mad/wire_sa_comp.h"
#include "fm/sa/sa_impl.h"

#define SA_COMPS_TO_JOIN                                                                           \
	(WIRE_BIT(WIRE_MC_MGID) | WIRE_BIT(WIRE_MC_PORT_GID) | WIRE_BIT(WIRE_MC_JOIN_STATE))

/* sa_mcast.c */
void sa_mcast_init(struct sa *sa);
void sa_mcast_fini(struct sa *sa);
struct sa_mcast_share {
	unsigned groups;
	struct sa_group_port *any; /* one of these GUIDs that is in a group, or NULL */
};
/* The groups of a port, over all of its GUIDs. */
struct sa_mcast_share sa_mcast_share(const struct sa *sa, guid_t port);

/*
 * sa_mcast.c: what the request asks of a group.
 *
 * Whether a selector (enum wire_selector) holds for a value that is below (negative), equal to or
 * above (positive) the wanted one; and whether the request has both selector and value.
 */
bool sa_mcast_selects(uint8_t selector, int have_to_want);
bool sa_mcast_asks_life(const struct sa_query *q);
/* Whether the group has the MTU and the rate that are asked for; and all other components. */
bool sa_mcast_quality_fits(const struct sa_query *q, const struct sa_group_attr *attr);
bool sa_mcast_fits(const struct sa_query *q, const struct sa_group_attr *attr);
/* Whether they are of one partition, and not both limited: two limited members can't talk. */
bool sa_mcast_pkey_fits(uint16_t a, uint16_t b);
/* The port's P_Key of the partition of pkey, 0 = it is no member. */
uint16_t sa_mcast_pkey_held(const struct sa_query *q, uint32_t port, uint16_t pkey);
/* The record of a group without a member. */
struct wire_mcmember sa_mcast_record(const struct sa_group_attr *attr, uint16_t mlid);

/*
 * sa_mcast.c: the attributes that a group made for this request would have, or why there can't
 * be such a group; and that group, the SA's, NULL = no MLID is left.
 */
enum wire_sa_status sa_mcast_choose(const struct sa_query *q, uint32_t port,
				    struct sa_group_attr *attr);
struct sa_group *sa_mcast_make(struct sa_query *q, const struct sa_group_attr *attr);
/* A group made in advance becomes what is configured now, if nobody is in it. */
void sa_mcast_renew(struct sa *sa, struct sa_group *group);

#endif
