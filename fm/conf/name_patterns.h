/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* name_patterns: lists of patterns of names (fnmatch(3)), by blanks, as keys of fmd.conf have. */
#ifndef FMD_CONF_NAME_PATTERNS_H
#define FMD_CONF_NAME_PATTERNS_H

#include <stdbool.h>

/* Whether one of the patterns matches one of the two names (NULL = none). */
bool name_patterns_match(const char *patterns, const char *name, const char *other);

#endif
