/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_service: the store of registered services (sa_service.c). Private to fm/sa.
 */
#ifndef FMD_SA_SA_SERVICE_H
#define FMD_SA_SA_SERVICE_H

#include <complib/cl_fleximap.h>
#include <complib/cl_qmap.h>
#include "fm/mad/wire_service.h"

struct sa;
struct loop_timer;

struct service {
	cl_fmap_item_t item;	/* key: the record, by what identifies it */
	cl_map_item_t numbered; /* key: a number of its own, the later the higher */
	struct wire_service record;
	uint64_t ends; /* by the loop's clock; UINT64_MAX = never */
	/* port GUID: of the port the service is on, else of the one that registered it */
	guid_t owner;
};

struct services {
	cl_fmap_t map;
	cl_qmap_t numbered; /* to walk over while others come and go */
	uint64_t next;	    /* number */
	uint32_t count;
	cl_qmap_t owners;	  /* struct service_owner by port GUID */
	struct loop_timer *lease; /* armed for `due`, not later than the first lease ends */
	uint64_t due;		  /* by the loop's clock; UINT64_MAX = not armed */
};

struct service_owner {
	cl_map_item_t item; /* first; key: port GUID */
	unsigned count;	    /* of records, never 0 */
	bool reported;	    /* that it has too many */
};

/*
 * Adds a record, or renews it. owner 0: the port that has the record's GID, if it is known. Whether
 * there is room is for the caller to ask.
 */
void sa_service_put(struct sa *sa, const struct wire_service *record, guid_t owner);
/* The record behind *number (from 0 on), which becomes its own; the SA's. NULL: there is none. */
struct service *sa_service_next(const struct sa *sa, uint64_t *number);
uint32_t sa_service_lease(const struct sa *sa, const struct service *s); /* seconds left */
void sa_services_init(struct sa *sa);
void sa_services_fini(struct sa *sa);

/* The record with this ID, GID, P_Key and key; the SA's. NULL: there is none. */
struct service *sa_service_find(const struct sa *sa, const struct wire_service *what);
void sa_service_drop(struct sa *sa, struct service *s); /* and frees it */
/* Of a port that has records; NULL: it has none. */
struct service_owner *sa_service_owner(const struct sa *sa, guid_t port);

#endif
