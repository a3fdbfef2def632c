/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * labels: what is written beside ports on the devices themselves, cages of switches and slots of
 * adapters, asked of each port that says it knows (HierarchyInfo), once, while nothing else is to
 * be done. A device that refuses, is silent or contradicts itself is left alone from then on, and
 * its ports have no label. What is answered goes to inv_node.labels.
 */
#ifndef FMD_NAMING_LABELS_H
#define FMD_NAMING_LABELS_H

#include "fm/core/loop.h"
#include "fm/mad/mad.h"
#include "fm/sweep/inventory.h"

struct labels;
struct labels_ops {
	bool (*may_ask)(void *arg);
	void (*changed)(
		void *arg); /* all were asked, and some port has another label than before */
};

/* Loop, mad and inventory are borrowed. */
struct labels *labels_new(struct loop *loop, struct mad *mad, struct inventory *inventory,
			  const struct labels_ops *ops, void *arg);
void labels_free(struct labels *labels); /* NULL is fine */
void labels_ask(struct labels *labels);	 /* there may be nodes that were not asked */

#endif
