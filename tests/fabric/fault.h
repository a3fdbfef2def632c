/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fault: what can be wrong with a device or a cable of the double for a while, by name. One table:
 * tests name its rows, and so do those who talk to a running double. What happens once (a cable is
 * cut, a device reboots, a table is lost) is a call of double.h.
 */
#pragma once

#include "tests/fabric/double.h"

enum fault_scope {
	FAULT_NODE,
	FAULT_PORT,
	FAULT_CABLE, /* both ways of it, or that out of a port */
};

enum fault_amount {
	FAULT_PLAIN, /* 1 = it is so */
	FAULT_SHARE, /* per mille */
	FAULT_TIME,  /* us */
};

struct dport;
struct fault {
	const char *name;
	enum fault_scope scope;
	enum fault_amount amount;
	const char *help;
	void (*set)(struct double_fabric *d, struct dport *at,
		    unsigned amount); /* the table's own */
};

const struct fault *fault_table(void);		  /* ends with a row without a name */
const struct fault *fault_find(const char *name); /* or NULL */

/* Amount 0 mends it. Of a node `port` is any, 0 too. */
void fault_set(struct double_fabric *d, const struct fault *fault, guid_t node, unsigned port,
	       unsigned amount);
/* One way alone: out of that port. For cables. */
void fault_set_direction(struct double_fabric *d, const struct fault *fault, guid_t node,
			 unsigned port, unsigned amount);
/* Of all nodes, or ports. */
void fault_set_all(struct double_fabric *d, const struct fault *fault, unsigned amount);
void fault_end_all(struct double_fabric *d);
