/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/core/name_patterns.h"
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include "topology/mem.h"

bool name_patterns_match(const char *patterns, const char *name, const char *other)
{
	char *list = mem_strdup(patterns), *rest = list, *pattern;
	bool found = false;

	while (!found && (pattern = strtok_r(rest, " \t", &rest)))
		found = !fnmatch(pattern, name, 0) || (other && !fnmatch(pattern, other, 0));
	free(list);
	return found;
}
