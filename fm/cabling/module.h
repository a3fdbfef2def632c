/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: links that are not where they should be (topology/cabling/cabling.h), as a room
 * (fm/fabric/module.h): an event when such a finding is new, and one when it is gone.
 */
#ifndef FMD_CABLING_MODULE_H
#define FMD_CABLING_MODULE_H

#include <stdio.h>
#include "fm/fabric/module.h"
#include "topology/snapshot/topo.h"

/*
 * findings: links that are not where they should be, as lines of text: what tells one finding from
 * others (its key), a tab, and what people read. Pure.
 */

struct finding {
	const char *key, *text; /* within findings.lines */
};

struct findings { /* zeroed = none */
	char *lines;
	struct finding *list; /* by key */
	unsigned count;
};

extern const struct fabric_module cabling_module;

#endif
