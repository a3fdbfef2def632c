/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* module: subnet administration as a room of the fabric manager (fm/fabric/module.h). */
#pragma once

#include "fm/fabric/module.h"
#include "fm/sa/sa.h"

extern const struct fabric_module sa_module;

/*
 * What an end port, by its own GUID, has asked of the SA: {"alias_guids", "groups", "services",
 * "subscriptions"}, a row each; the caller owns it.
 */
json_t *sa_known_of_port(const struct fabric *fabric, guid_t port);

struct wire_gid;
json_t *sa_gid_json(const struct wire_gid *gid); /* as an IPv6 address; the caller's */

struct port_table;
struct inv_node;

/* A block of a port's GUID table, as it acknowledged it (fm/sweep/bringup.h). False: it did not. */
bool sa_holds_guids(const struct fabric *fabric, guid_t port, unsigned block,
		    struct port_table *table);
/*
 * The audit has read that block. What differs is reported and written again; a port that has lost
 * it again by the next pass is left alone until its table is another.
 */
void sa_read_guids(const struct fabric *fabric, const struct inv_node *node, uint8_t num,
		   const struct port_table *table, const uint8_t *data);

/* The own GUID of the port that has this one as an alias; 0: nobody has. */
guid_t sa_port_of_alias(const struct fabric *fabric, guid_t alias);
