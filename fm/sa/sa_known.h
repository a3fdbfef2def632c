/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sa_known: what a port has asked of the SA and holds there, for operators. */
#ifndef FMD_SA_SA_KNOWN_H
#define FMD_SA_SA_KNOWN_H

#include <jansson.h>
#include "fm/sa/sa.h"

/*
 * By the port's own GUID: {"groups": [{"mlid","mgid","pkey","joined"}], "services": [..],
 * "subscriptions": [..]}; the caller's. One pass over all groups and services.
 */
json_t *sa_known(const struct sa *sa, guid_t port);

#endif
