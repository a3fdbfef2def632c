/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * labels: the labels of ports on the devices themselves, cages of switches and slots of adapters.
 * Each port that supports HierarchyInfo is queried once, while the fabric is idle. A device that
 * rejects the query, is silent or contradicts itself is not queried again, and its ports have no
 * labels. Answers go to inv_node.labels.
 */
#ifndef FMD_NAMING_LABELS_H
#define FMD_NAMING_LABELS_H

#include "fm/loop/loop.h"
#include "fm/mad/mad.h"
#include "fm/inventory/inventory.h"

struct labels;
struct labels_ops {
	bool (*may_ask)(void *arg); /* whether queries may be sent now */
	void (*changed)(void *arg); /* all were queried, and some port's label has changed */
};

/* The caller owns it; loop, mad and inventory are borrowed. Free: NULL is fine. */
struct labels *labels_new(struct loop *loop, struct mad *mad, struct inventory *inventory,
			  const struct labels_ops *ops, void *arg);
void labels_free(struct labels *labels);
/* Queries the nodes that were not queried yet, when that is allowed. */
void labels_ask(struct labels *labels);

#endif
