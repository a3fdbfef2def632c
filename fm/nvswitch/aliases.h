/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * aliases: other names of hosts, from a file: the names that kernel logs, service processors and
 * exporters have for a machine that the fabric knows by its node description. Names are compared in
 * lower case, by their first part where that is enough.
 */
#ifndef FMD_NVSWITCH_ALIASES_H
#define FMD_NVSWITCH_ALIASES_H

#include <stddef.h>
#include "topology/base/names.h"

#define NAME_MAX_LEN 255

/* Copies a name in lower case, cut to NAME_MAX_LEN bytes; returns its length. */
size_t name_fold(const char *name, char to[NAME_MAX_LEN + 1]);
/* The length of a name's part before the first dot. */
size_t name_first_part(const char *name, size_t len);

struct aliases {	    /* zeroed = none */
	struct names names; /* folded */
	char **texts;	    /* the texts of `names`, by id */
	char **hosts;	    /* by id */
};

/*
 * Adds the lines `HOST NAME...` of a file; # begins a remark. 0, or -1 with `FILE:LINE: reason` in
 * err: it cannot be read, has an invalid host name, or one name for two hosts.
 */
int aliases_read(struct aliases *aliases, const char *path, char *err, size_t err_size);
/*
 * The host that has this alias, else the one that has its first part; owned by the aliases. NULL =
 * none.
 */
const char *aliases_find(const struct aliases *aliases, const char *name);
/* Frees all; there are no aliases then. */
void aliases_fini(struct aliases *aliases);

#endif
