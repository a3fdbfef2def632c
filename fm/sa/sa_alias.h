/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_alias: ports by more than one GUID (IBA 15.2.5.18, GUIDInfoRecord by Set and Delete), as the
 * virtual functions of an HCA have them. Private to fm/sa; what is of use outside is in sa.h.
 */
#ifndef FMD_SA_SA_ALIAS_H
#define FMD_SA_SA_ALIAS_H

#include <complib/cl_qmap.h>
#include "fm/mad/wire_sa.h"

struct sa;

#define SA_GUIDS_A_BLOCK 8

struct aliases {
	cl_qmap_t tables; /* struct alias_table by port GUID */
	cl_qmap_t owners; /* struct alias by its GUID */
	uint32_t made;	  /* GUIDs of our making */
};

void sa_alias_init(struct sa *sa); /* without aliases; sa_aliases_forget() is its end */
/* The port of that GUID, be it an alias; TOPO_NONE = nobody's. */
uint32_t sa_port_by_guid(const struct sa *sa, guid_t guid);
/* A block of a port's table, its own GUID first. */
void sa_alias_guids(const struct sa *sa, guid_t port, unsigned block,
		    guid_t guids[SA_GUIDS_A_BLOCK]);
/* The port's GUIDs one by one, its own first: the first with *at = 0. 0: those were all. */
guid_t sa_alias_each(const struct sa *sa, guid_t port, unsigned *at);

/* A change to one block of a port's table. */
struct sa_alias_change {
	guid_t port;
	unsigned first, end; /* entries of the block */
	uint8_t mask;	     /* which of these are changed, bit 0 the first */
	guid_t want[SA_GUIDS_A_BLOCK];
	bool differs; /* out: something is another than before */
};
/* Takes the GUIDs wanted, zero = one of our making. NO_RESOURCES: too many ports have tables. */
enum wire_sa_status sa_alias_set(struct sa *sa, struct sa_alias_change *c);
/* Removes them. DENIED, and nothing changed: one of them is in a multicast group. */
enum wire_sa_status sa_alias_delete(struct sa *sa, struct sa_alias_change *c);
/* Reports all of them to the listener (sa_record()). */
void sa_alias_record(struct sa *sa, const struct sa_alias_change *c);

#endif
