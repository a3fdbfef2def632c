/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_link: MTU and rate of every link of the view, and codes of rates (sa_link.c). Private to
 * fm/sa.
 */
#ifndef FMD_SA_SA_LINK_H
#define FMD_SA_SA_LINK_H

#include <stdbool.h>
#include <stdint.h>

struct sa;

struct sa_link {	/* by port index, for the link at the port */
	uint8_t mtu;	/* code; lower of both ends */
	uint8_t rate;	/* PathRecord code of the active speed and width */
	uint16_t knows; /* end ports: WIRE_CAP2_* of the rates that it understands */
};

/* Drops all links; the next sa_link() computes them from the view and the inventory. */
void sa_links_forget(struct sa *sa);
/* The link at a port of the view; the SA's, valid until the next publish. Never NULL. */
const struct sa_link *sa_link(struct sa *sa, uint32_t port);

/* Codes of rates (IBA 15.2.5.16); they are not in the order of what they mean. */
bool sa_rate_known(uint8_t rate); /* true: it is a code of that table */
/* Negative, 0, positive: a is slower than b, as fast, faster; an unknown code is below all. */
int sa_rate_compare(uint8_t a, uint8_t b);
uint8_t sa_rate_below(uint8_t rate); /* the next lower one, 0 = none */
/* The rate, or the highest below it that a port with these capabilities knows. */
uint8_t sa_rate_clip(uint8_t rate, uint16_t knows);

#endif
