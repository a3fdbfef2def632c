/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* module: subnet administration as a room of the fabric manager (fm/fabric/module.h). */
#ifndef FMD_SA_MODULE_H
#define FMD_SA_MODULE_H

#include <jansson.h>
#include "fm/fabric/module.h"
#include "fm/sa/sa.h"

extern const struct fabric_module sa_module;

/*
 * What an end port, by its own GUID, has asked of the SA: {"alias_guids", "groups", "services",
 * "subscriptions"}, a row each; the caller owns it.
 */
json_t *sa_known_of_port(const struct fabric *fabric, guid_t port);

/* The own GUID of the port that has this one as an alias; 0: nobody has. */
guid_t sa_port_of_alias(const struct fabric *fabric, guid_t alias);

#endif
