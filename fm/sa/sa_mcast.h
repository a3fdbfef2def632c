/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_mcast: the SA's multicast groups: their life (sa_mcast.c), what a request asks of one
 * (sa_mcast_fit.c), new ones (sa_mcast_make.c), showing them (sa_mcast_get.c). Private to fm/sa.
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
/* Of a port, by all of its GUIDs. */
struct sa_mcast_share {
	unsigned groups;
	struct sa_group_port *any; /* one of these GUIDs that is in a group, or NULL */
};
struct sa_mcast_share sa_mcast_share(const struct sa *sa, guid_t port);

/* sa_mcast_fit.c: what the request asks of a group */
bool sa_mcast_selects(uint8_t selector, int have_to_want);
bool sa_mcast_asks_mtu(const struct sa_query *q);
bool sa_mcast_asks_rate(const struct sa_query *q);
bool sa_mcast_asks_life(const struct sa_query *q);
bool sa_mcast_quality_fits(const struct sa_query *q,
			   const struct sa_group_attr *attr);			/* MTU, rate */
bool sa_mcast_fits(const struct sa_query *q, const struct sa_group_attr *attr); /* the rest */
/*
 * Of one partition; two limited members can't talk, so such a pair of P_Keys does not match either.
 */
bool sa_mcast_pkey_fits(uint16_t a, uint16_t b);
uint16_t sa_mcast_pkey_held(const struct sa_query *q, uint32_t port,
			    uint16_t pkey); /* 0 = none of the partition */
struct wire_mcmember sa_mcast_record(const struct sa_group_attr *attr, uint16_t mlid);

/*
 * sa_mcast_make.c: what the group would be that the request asks to be made; and that group, NULL =
 * no MLID is left
 */
enum wire_sa_status sa_mcast_choose(const struct sa_query *q, uint32_t port,
				    struct sa_group_attr *attr);
struct sa_group *sa_mcast_make(struct sa_query *q, const struct sa_group_attr *attr);
/* A group made in advance becomes what is configured now, if nobody is in it. */
void sa_mcast_renew(struct sa *sa, struct sa_group *group);

/* sa_mcast_get.c: Get and GetTable */
enum wire_sa_status sa_mcast_get(struct sa_query *q);
void sa_mcast_rows(struct sa_query *q, uint32_t item);

#endif
