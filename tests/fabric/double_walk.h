/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* double_walk: ways through tables and links as they are. */
#pragma once

#include "tests/fabric/double_state.h"

enum walk_end {
	WALK_ARRIVES,
	WALK_NO_ENTRY,	   /* the switch's table has none, or it is beyond LinearFDBTop */
	WALK_NOT_BY_TABLE, /* the switch forwards otherwise: adaptive routing, private LFT */
	WALK_LOOP,
	WALK_DEAD_LINK,	 /* the port has no link */
	WALK_NOT_ACTIVE, /* one end of the link is not */
	WALK_NO_LANE,	 /* SL2VL names VL 15, or one that is not operational */
	WALK_PKEY_OUT,	 /* the switch's port does not let it out.. */
	WALK_PKEY_IN,	 /* ..or not in */
	WALK_PKEY_END,	 /* its end has no such P_Key */
	WALK_WRONG_HOST, /* comes to a CA that it is not for */
	WALK_LOST,	 /* by a fault of a cable */
	WALK_NO_PORT,	 /* of a directed route: the node has none of that number */
	WALK_ENDS
};
const char *walk_end_text(enum walk_end end);

/* What goes by LID. */
struct packet {
	uint16_t dlid, pkey;
	uint8_t sl;
	bool data; /* not an SMP: passes Active links alone, by lanes and P_Keys */
	bool bare; /* its SL and P_Key are not looked at */
	bool look; /* only asked: nothing is lost by chance, counted or told */
};

struct walk {
	enum walk_end end;
	struct dport *at;     /* where it ended: arrived, or the port where it died */
	struct dport **trail; /* NULL, or room for HOPS_MAX + 1: the ports that it left by */
	unsigned hops;
	unsigned late_us; /* by faults of cables */
	bool twice;
};
/* True where it arrives. A walk's faults and trail are the caller's to clear and give. */
bool walk_lid(struct double_fabric *d, struct dport *from, const struct packet *packet,
	      struct walk *walk);
/* The ports that a switch may send packets to the LID out of, by groups or its table. */
void walk_exits(const struct dnode *sw, uint16_t lid, struct double_ports *exits);
/* Over one cable. */
bool walk_cross(struct double_fabric *d, struct dport *out, const struct packet *packet,
		struct walk *walk);
/*
 * The port's own table has it, and one of both is a full member (IBA 10.9.3). Where a switch passes
 * packets on it is the partition that counts: managers give such a port the table of the host
 * behind it, limited memberships too.
 */
/* The place in its table of one that lets a packet with that P_Key in; -1 = none does. */
int pkey_find(const struct dport *port, uint16_t pkey);
bool pkey_passes(const struct dport *port, uint16_t pkey);
uint16_t port_pkey(const struct dport *port, unsigned index);
