/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire_path: PathRecord and MultiPathRecord (IBA 15.2.5.16, 15.2.5.20) between bytes and host
 * order.
 */
#ifndef FMD_MAD_WIRE_PATH_H
#define FMD_MAD_WIRE_PATH_H

#include "fm/mad/wire_sa.h"

enum wire_selector { WIRE_GREATER = 0, WIRE_LESS = 1, WIRE_EXACT = 2, WIRE_BEST = 3 };
struct wire_path_record { /* IBA 15.2.5.16 */
	uint64_t service_id;
	struct wire_gid dgid, sgid;
	uint16_t dlid, slid;
	bool raw, reversible;
	uint32_t flow_label;
	uint8_t hop_limit, tclass, num_path;
	uint16_t pkey, qos_class;
	uint8_t sl;
	uint8_t mtu_sel, mtu, rate_sel, rate, life_sel, life; /* selectors: enum wire_selector */
	uint8_t preference;
};
enum { /* component numbers */
       WIRE_PATH_SERVICE_ID_MSB,
       WIRE_PATH_SERVICE_ID_LSB,
       WIRE_PATH_DGID,
       WIRE_PATH_SGID,
       WIRE_PATH_DLID,
       WIRE_PATH_SLID,
       WIRE_PATH_RAW,
       WIRE_PATH_FLOW = 8,
       WIRE_PATH_HOP,
       WIRE_PATH_TCLASS,
       WIRE_PATH_REVERSIBLE = 11,
       WIRE_PATH_NUM_PATH,
       WIRE_PATH_PKEY,
       WIRE_PATH_QOS_CLASS,
       WIRE_PATH_SL,
       WIRE_PATH_MTU_SEL,
       WIRE_PATH_MTU,
       WIRE_PATH_RATE_SEL,
       WIRE_PATH_RATE,
       WIRE_PATH_LIFE_SEL,
       WIRE_PATH_LIFE,
};
/* The whole record; neither fails. */
void wire_path_record_decode(const uint8_t row[64], struct wire_path_record *out);
void wire_path_record_encode(const struct wire_path_record *in, uint8_t row[64]);

#define WIRE_MULTI_GIDS 11 /* that fit one MAD */
struct wire_multi_path {   /* IBA 15.2.5.20; path: what is asked of each, its ends apart */
	struct wire_path_record path;
	bool independent;
	uint8_t nsrc, ndst; /* as asked for, whatever fits */
	struct wire_gid gids[WIRE_MULTI_GIDS];
};
enum { /* component numbers */
       WIRE_MULTI_SGID_COUNT = 19,
       WIRE_MULTI_DGID_COUNT = 20,
};
/* Never fails: nsrc and ndst are what the request says, and may be more than WIRE_MULTI_GIDS. */
void wire_multi_path_decode(const uint8_t data[WIRE_SA_DATA], struct wire_multi_path *out);
/* The mask of a PathRecord that asks for the same. */
uint64_t wire_multi_path_mask(uint64_t comp_mask);

#endif
