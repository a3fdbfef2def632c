/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/core/name_list.h"
#include <stdio.h>
#include <string.h>

#define SHOWN 5

void name_list_add(struct name_list *list, const char *name)
{
	size_t used = strlen(list->text);

	if (list->count++ < SHOWN)
		snprintf(list->text + used, sizeof(list->text) - used, "%s%.60s", used ? ", " : "",
			 name);
}

void name_list_alert(struct alerts *alerts, const char *kind, struct name_list *list,
		     const char *one, const char *several)
{
	size_t used = strlen(list->text);

	if (!list->count) {
		alert_end(alerts, kind, NULL);
		return;
	}
	if (list->count > SHOWN)
		snprintf(list->text + used, sizeof(list->text) - used, " and %u more",
			 list->count - SHOWN);
	alert_raise(alerts, kind, NULL, "%u %s: %s", list->count, list->count == 1 ? one : several,
		    list->text);
}
