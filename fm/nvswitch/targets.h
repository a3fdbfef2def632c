/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * targets: the exporters of hosts and their URLs, from a file or by one pattern for all hosts of
 * the fabric.
 */
#ifndef FMD_NVSWITCH_TARGETS_H
#define FMD_NVSWITCH_TARGETS_H

#include "fm/nvswitch/fetch.h"
#include "fm/nvswitch/nmx.h"
#include "fm/nvswitch/state.h"

struct target {
	char *host, *where; /* where: the URL as written */
	enum nvswitch_system system;
	enum nvswitch_trust trust; /* of its responses */
	struct nmx_place place;	   /* of the host in responses about a whole rack */
	struct fetch_url url;
};
struct targets {
	struct target *list;
	unsigned count;
};

/*
 * Adds a host by a pattern in which %h is its name. 0, or -1: the result is no URL, or the name has
 * characters that host names have not.
 */
int targets_add(struct targets *targets, const char *host, const char *pattern,
		enum nvswitch_system system);
/* Frees the list; it is empty then. */
void targets_fini(struct targets *targets);

#endif
