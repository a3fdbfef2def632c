/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * near_names: of many names, those that look most like a text that is none of them: the fewest
 * letters apart (changed, left out, too many), in upper or lower case, as a whole or by one of
 * their words. For `no such .., near: ..` in refusals.
 */
#ifndef FMD_TOPOLOGY_BASE_NEAR_NAMES_H
#define FMD_TOPOLOGY_BASE_NEAR_NAMES_H

#include <stddef.h>

#define NEAR_NAMES 3

struct near_names { /* zeroed = none yet; names are borrowed */
	unsigned count;
	unsigned apart[NEAR_NAMES]; /* ascending */
	const char *name[NEAR_NAMES];
};

/* Takes the name if it looks like the text, and more so than one of those that are in. */
void near_names_add(struct near_names *near, const char *text, const char *name);
/* Appends `; near: 'leaf-01', 'leaf-11'` to err, which is cut where it does not fit; or nothing. */
void near_names_say(const struct near_names *near, char *err, size_t size);

#endif
