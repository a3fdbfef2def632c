/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * view: the published state of the fabric, read-only.
 *
 * All members belong to one publication: they are replaced together and never changed in place. The
 * one exception: the snapshot may be replaced by one in which only port states differ. All members
 * are borrowed until control returns to the loop.
 */
#pragma once

#include "fm/conf/partition.h"
#include "fm/conf/qos.h"
#include "routing/lid_plan.h"
#include "routing/proof/check.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"
#include "topology/what/what.h"

struct fabric;

struct fabric_view {
	const struct topo *topo; /* NULL: nothing is published yet, and all else is NULL or 0 */
	const struct lid_map *lids;
	const struct tables *tables;
	const struct check_report *proof;
	const char *engine; /* that made the tables; a literal (routing/ftree/route.h) */
	bool uneven;	    /* the design, as far as it is a tree (routing/balance/rebalance.h) */
	/*
	 * some hosts are reached by cordoned links alone: cordons are overridden
	 * (routing/ftree/route.h)
	 */
	bool cordons_overridden;
	const bool *spanning; /* what multicast trees are parts of, by port; NULL = they are free */
	const struct partition_set *partitions; /* NULL: no file is configured */
	const struct pkey_map *pkeys;		/* of partitions and topo */
	const struct qos_set *qos;
	/* a link between switches that is not Active at both ends is down in topo */
	bool active_decides;
	uint16_t sm_lid; /* host order; 0 = the own port has none */
};

/* What was written to forwarding tables of switches, and acknowledged. */
struct fabric_written {
	uint64_t entries; /* that the latest programming changed */
	uint64_t blocks;  /* since this manager is master */
};

struct fabric_written fabric_written(const struct fabric *fabric); /* as of now */

struct inv_node;
/* Whether the link of that port is up, and who is behind it answers no SMP. */
bool fabric_is_silent_behind(const struct inv_node *node, unsigned port);

#define OBSERVED_WORDS 32
struct observed_block {	   /* that an observer read */
	bool multicast;	   /* of the MFT; else of P_Keys */
	uint8_t port;	   /* P_Keys: whose */
	uint32_t modifier; /* AttributeModifier */
	uint16_t words[OBSERVED_WORDS];
};
struct observed_blocks {
	struct observed_block *list;
	unsigned count;
};
/* Those of that node, borrowed until control returns to the loop; of a master there are none. */
struct observed_blocks fabric_observed(const struct fabric *fabric, guid_t guid);
/* it.list is each of them in turn. */
#define OBSERVED_EACH(fabric, guid, it)                                                            \
	for (struct observed_blocks it = fabric_observed(fabric, guid); it.count;                  \
	     it.list++, it.count--)

/* The latest publication, or zeros: a struct of borrowed pointers, see above. */
struct fabric_view fabric_view(const struct fabric *fabric);
/* The node of the own port in the published snapshot; TOPO_NONE = none is known. */
uint32_t fabric_own_node(const struct fabric *fabric);
/* route_even() of the latest computation, NULL = none; borrowed until the next one begins. */
struct even *fabric_even(const struct fabric *fabric);

/* The end port that has a LID, by index; TOPO_NONE = no port has it. */
uint32_t fabric_view_port_of_lid(const struct fabric_view *view, uint16_t lid);
/*
 * The description of that port's node, valid as long as the view; "unknown" = no port has the LID.
 */
const char *fabric_view_name_of_lid(const struct fabric_view *view, uint16_t lid);

/* The scope in which WHAT (topology/what/what.h) is looked up; valid as long as the view. */
struct what_scope fabric_view_scope(const struct fabric_view *view);

/* ---- Policy ---------------------------------------------------------------------------------- */

/*
 * What routing goes by beside the snapshot, as rooms make it by their route_input()
 * (fm/fabric/module.h).
 */
struct fabric_module;
struct route_override;

/* Lists belong to the policy; the room that adds the first entry allocates a list. */
struct fabric_policy {
	uint8_t *classes; /* enum route_class by port of the snapshot; NULL = all compute */
	struct route_override *overrides;
	uint32_t noverrides;
};

/*
 * The policy for that snapshot, the published one or another of the same fabric. without: the room
 * whose part is left out, NULL = none. The caller ends it by fabric_policy_fini().
 */
struct fabric_policy fabric_policy(const struct fabric *fabric, const struct topo *topo,
				   const struct fabric_module *without);
/* Frees its lists; one that is all 0 is fine. */
void fabric_policy_fini(struct fabric_policy *policy);
