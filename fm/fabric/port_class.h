/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* port_class: what routing goes by beside the snapshot, for the pipe. */
#ifndef FMD_FABRIC_PORT_CLASS_H
#define FMD_FABRIC_PORT_CLASS_H

#include "fm/fabric/policy.h"
#include "routing/ftree/route.h"

/* enum route_class by port and by name alone: the caller frees them; NULL = all compute. */
uint8_t *fabric_classes_by_name(const struct fabric *f, const struct topo *t);
/* With the configured engine; points to what the policy has. */
struct route_params fabric_route_params(const struct fabric *f, const struct fabric_policy *policy);

#endif
