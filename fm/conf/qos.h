/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * qos: which virtual lane a service level takes, and how lanes share a link, by kind of port, as
 * configured (keys qos_*, as in OpenSM's opensm.conf). Off by default: ports keep what they have.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QOS_SLS		16
#define QOS_ARB_BLOCKS	4
#define QOS_ARB_ENTRIES 64 /* of a VLArbitrationTable: two blocks of 32 */
#define QOS_DROP	15 /* as a VL in sl2vl: packets of that SL are dropped */
#define QOS_TEXT_MAX	512

/* OpenSM's: SL n on VL n, SL 15 on VL 7; VL 0 with high priority, the others alike. */
#define QOS_DEFAULT_HIGH  "0:4,1:0,2:0,3:0,4:0,5:0,6:0,7:0,8:0,9:0,10:0,11:0,12:0,13:0,14:0"
#define QOS_DEFAULT_LOW	  "0:0,1:4,2:4,3:4,4:4,5:4,6:4,7:4,8:4,9:4,10:4,11:4,12:4,13:4,14:4"
#define QOS_DEFAULT_SL2VL "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,7"

enum qos_kind { QOS_CA, QOS_ROUTER, QOS_SWITCH_PORT, QOS_SWITCH_PORT0, QOS_KINDS };

/* As written; of a kind, "", 0 and -1 mean: as the keys without a kind say. */
struct qos_text {
	int max_vls, high_limit;
	char vlarb_high[QOS_TEXT_MAX], vlarb_low[QOS_TEXT_MAX], sl2vl[64];
};
struct qos_keys {
	bool on;
	struct qos_text all, kind[QOS_KINDS];
};

struct qos_weight {
	uint8_t vl, weight; /* weight: in 64 bytes */
};
struct qos_tables {
	uint8_t max_vls;    /* lanes to be used at most */
	uint8_t high_limit; /* PortInfo:VLHighLimit */
	uint8_t sl2vl[QOS_SLS];
	struct qos_weight high[QOS_ARB_ENTRIES], low[QOS_ARB_ENTRIES]; /* unused ones are 0:0 */
};
struct qos_set {
	bool on;
	struct qos_tables kind[QOS_KINDS];
};

/* False with a reason in why. "" is fine. */
bool qos_check_vlarb(const char *text, char *why, size_t size);
bool qos_check_sl2vl(const char *text, char *why, size_t size);
void qos_make(const struct qos_keys *keys, struct qos_set *out); /* of texts that were checked */

/*
 * Tables as they are on the wire, for a port that has `vls` lanes: higher lanes are folded down
 * onto those it has. Arbitration blocks: 0 and 1 of low priority, 2 and 3 of high; *_cap =
 * PortInfo's, entries in all of a table.
 */
unsigned qos_vls(uint8_t op_vls); /* of OperationalVLs' code */
void qos_sl2vl(const struct qos_tables *tables, unsigned vls, uint8_t data[8]);
unsigned qos_arb_entries(unsigned block, uint8_t low_cap, uint8_t high_cap);
void qos_arb(const struct qos_tables *tables, unsigned block, unsigned entries, unsigned vls,
	     uint8_t data[64]);
uint16_t qos_dropped(const struct qos_set *set); /* SLs that lead nowhere, a bit each */
