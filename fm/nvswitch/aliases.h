/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * aliases: other names of hosts, from a file: what a kernel log, a service processor or an exporter
 * calls a machine that the fabric knows by its node description. Also how names are compared at
 * all: in small letters, with their first part where that is enough.
 */
#ifndef FMD_NVSWITCH_ALIASES_H
#define FMD_NVSWITCH_ALIASES_H

#include <stddef.h>
#include "topology/names.h"

#define NAME_MAX_LEN 255

/* In small letters, ended by a zero byte and cut to what a name may have; its length. */
size_t name_fold(const char *name, char to[NAME_MAX_LEN + 1]);
size_t name_first_part(const char *name, size_t len); /* its length, up to a dot */

struct aliases {	    /* zeroed = none */
	struct names names; /* folded */
	char **texts;	    /* .. which are these, by id */
	char **hosts;	    /* by id */
};

/*
 * Adds the lines `HOST NAME...` of a file; # begins a remark. 0, or -1 with `FILE:LINE: reason` in
 * err: no host's name, or a name of two hosts.
 */
int aliases_read(struct aliases *aliases, const char *path, char *err, size_t err_size);
/* The host that has this name, else the one that has its first part; NULL = nobody. */
const char *aliases_find(const struct aliases *aliases, const char *name);
void aliases_fini(struct aliases *aliases);

#endif
