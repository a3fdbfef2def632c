/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* name_list: names in a sentence that stays short, `a, b and 3 more`. All zero = none. */
#ifndef FMD_CONF_NAME_LIST_H
#define FMD_CONF_NAME_LIST_H

#include "fm/events/alert.h"

struct name_list {
	unsigned count; /* of all */
	char text[256]; /* the first few */
};

/* Copies the name, cut to 60 bytes; names behind the fifth are counted alone. */
void name_list_add(struct name_list *list, const char *name);
/*
 * Raises the alert of that kind for the names in the list, "COUNT one-or-several: NAMES"; ends it
 * where the list is empty.
 */
void name_list_alert(struct alerts *alerts, const char *kind, struct name_list *list,
		     const char *one, const char *several);

#endif
