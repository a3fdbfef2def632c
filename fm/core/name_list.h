/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* name_list: names in a sentence that stays short, `a, b and 3 more`. All zero = none. */
#ifndef FMD_CORE_NAME_LIST_H
#define FMD_CORE_NAME_LIST_H

#include "fm/core/alert.h"

struct name_list {
	unsigned count; /* of all */
	char text[256]; /* the first few */
};

void name_list_add(struct name_list *list, const char *name);
/*
 * An alert of that kind that there are some, in the words for one or for several; its end where
 * there are none.
 */
void name_list_alert(struct alerts *alerts, const char *kind, struct name_list *list,
		     const char *one, const char *several);

#endif
