/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * double_smp: an SMP at a node's agent. A function of an attribute finds the request in `data`,
 * leaves the answer there, and gives 0 or a status.
 */
#pragma once

#include "tests/fabric/double_own.h"

#define STATUS_BAD_METHOD  0x08
#define STATUS_UNSUPPORTED 0x0c
#define STATUS_BAD_FIELD   0x1c

struct smp_request {
	uint64_t key;
	struct double_fabric *d;
	struct dnode *node;
	struct dport *arrival;
	uint32_t mod;
	uint8_t *data; /* 64 bytes */
};

typedef uint16_t smp_fn(struct smp_request *r); /* 0 or a status */

/* double_smp.c */
struct dport *smp_port(struct smp_request *r);	/* that the modifier names, or NULL */
bool smp_is_external(const struct dport *port); /* of a switch, but for its port 0 */

/* double_smp_tables.c */
smp_fn smp_lft_get;
smp_fn smp_lft_set;
smp_fn smp_mft_get;
smp_fn smp_mft_set;
smp_fn smp_pkeys_get;
smp_fn smp_pkeys_set;
smp_fn smp_sl2vl_get;
smp_fn smp_sl2vl_set;
smp_fn smp_arb_get;
smp_fn smp_arb_set;

/* double_smp_nvidia.c */
smp_fn smp_general_get, smp_hierarchy_get;
smp_fn smp_ext_port_get, smp_ext_port_set;
smp_fn smp_private_get;
smp_fn smp_private_set;
smp_fn smp_adaptive_get;
smp_fn smp_adaptive_set;

/* double_adaptive.c */
smp_fn smp_ar_lft_get, smp_ar_lft_set;
smp_fn smp_ar_groups_get, smp_ar_groups_set;
smp_fn smp_ar_copy_set;
