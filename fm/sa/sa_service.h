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
	struct loop_timer *lease; /* armed: not behind the first to end .. */
	uint64_t due;		  /* .. for this time; UINT64_MAX = not armed */
};

struct service_owner {
	cl_map_item_t item; /* first; key: port GUID */
	unsigned count;	    /* of records, never 0 */
	bool told;
};

/*
 * Of this owner, 0 = whoever has the GID, as far as is known. Whether there is room is not asked
 * here.
 */
void sa_service_put(struct sa *sa, const struct wire_service *record, guid_t owner);
struct service *sa_service_next(const struct sa *sa,
				uint64_t *number); /* behind that one, from 0 on; NULL: none */
uint32_t sa_service_lease(const struct sa *sa, const struct service *s); /* seconds left */
void sa_services_init(struct sa *sa);
void sa_services_fini(struct sa *sa);

struct service *sa_service_find(const struct sa *sa,
				const struct wire_service *what); /* NULL: none */
void sa_service_drop(struct sa *sa, struct service *s);		  /* and frees it */
/* Of a port that has records; NULL: it has none. */
struct service_owner *sa_service_owner(const struct sa *sa, guid_t port);

#endif
