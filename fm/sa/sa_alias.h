/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_alias: ports by more than one GUID (IBA 15.2.5.18, GUIDInfoRecord by Set and Delete), as the virtual functions of an
 * HCA have them. Private to fm/sa; what is of use outside is in sa.h.
 */
#ifndef FMD_SA_SA_ALIAS_H
#define FMD_SA_SA_ALIAS_H

#include <complib/cl_qmap.h>
#include "fm/mad/wire_sa.h"

struct sa;
struct sa_query;

struct aliases {
	cl_qmap_t tables; /* struct alias_table by port GUID */
	cl_qmap_t owners; /* struct alias by its GUID */
	uint32_t made;	  /* GUIDs of our making */
};

void sa_alias_init(struct sa *sa);
/* The port of that GUID, be it an alias; TOPO_NONE = nobody's. */
uint32_t sa_port_by_guid(const struct sa *sa, guid_t guid);
/* A block of a port's table, its own GUID first. */
void sa_alias_guids(const struct sa *sa, guid_t port, unsigned block, guid_t guids[8]);
/* The port's GUIDs one by one, its own first: the first with *at = 0. 0: those were all. */
guid_t sa_alias_each(const struct sa *sa, guid_t port, unsigned *at);
enum wire_sa_status sa_alias_change(struct sa_query *q); /* Set and Delete */

#endif
