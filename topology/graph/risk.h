/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * risk: how many of its uplinks each switch has left. An uplink by design is a known link, up or
 * down; cordoned links count as present.
 */
#pragma once

#include <jansson.h>
#include "topology/snapshot/topo.h"

struct risk { /* of the switch that has least left */
	uint32_t sw;
	uint32_t above;		      /* one of its designed parents */
	uint16_t parents, parents_of; /* switches above it: reached now, designed */
	uint16_t links, links_of;     /* the same of links to them */
	uint32_t hosts;		      /* links to HCAs below it; those that are up */
	uint32_t switches; /* of the fabric that lack some; switches without any live link aside */
};

/* Fills *out with the switch at greatest risk. False, *out unchanged: no switch lacks an uplink. */
bool risk_find(const struct topo *t, struct risk *out);
/* `leaf-su02-rail3 has 3 of 4 spines, 7 more switches lack some`. Returns snprintf's length. */
int risk_describe(const struct topo *t, const struct risk *risk, char *buf, size_t size);
/* The same as a JSON object; JSON's null when no switch lacks an uplink. The caller owns it. */
json_t *risk_json(const struct topo *t);
