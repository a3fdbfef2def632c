/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * double_adaptive: switches with adaptive routing: AdaptiveRoutingInfo, groups of ports and a
 * table whose entries name a group (ARLinearForwardingTable). How the modifiers of the two tables
 * select a block is not public, so each double has a packing of its own, drawn from a seed.
 */
#pragma once

#include <stdio.h>
#include "fm/mad/wire_optional.h"
#include "topology/snapshot/topo.h"

struct double_fabric;

/* Where fields lie in the modifiers: the lowest bit of each. */
struct double_packing {
	uint8_t lft_block, lft_bits;	 /* of ARLinearForwardingTable: 16 LIDs; and its width */
	uint8_t lft_plft;		 /* a byte */
	uint8_t group_block;		 /* of ARGroupTable: two sets of ports; GROUP_BITS wide */
	uint8_t group_table, group_plft; /* bytes */
	/* The sets of a sub-group lie behind each other; else those of a group do. */
	bool stacked;
	/* Bits of no field, and blocks beyond the last one, are ignored; else they are refused. */
	bool lenient;
};

/* top: the highest LID that the table has to reach. */
struct double_packing double_packing_draw(uint64_t seed, uint16_t top);

/* The switch can do it, and nothing is on; 0 groups or sub-groups: as many as there can be. */
struct double_ar_caps {
	uint16_t groups;
	uint8_t subgroups, tables;
};
void double_adaptive_able(struct double_fabric *d, guid_t sw, const struct double_packing *packing,
			  const struct double_ar_caps *caps);

/*
 * What another manager leaves: entries of LIDs of HCAs are Free, by the LFT that the switch holds,
 * with the ports on shortest paths as their group, all others are Static; adaptive routing and fast
 * recovery are on.
 */
struct double_ar_plan {
	bool own_numbers; /* equal sets of a switch are one group; else a leaf has one everywhere */
	bool hbf;	  /* the state of entries is HBF in place of Free */
	bool thin;	  /* one port is a group too; else its entries are Static */
	bool second;	  /* the second sub-group is all links to switches; else it is empty */
	uint8_t subgroups, tables, plfts; /* in use; 0 = 1 */
};
struct double_ar_plan double_ar_plan_draw(uint64_t seed);
void double_adaptive_run(struct double_fabric *d, const struct double_ar_plan *plan);

/* How the agent answers of the two tables. */
enum double_ar_answers {
	DOUBLE_AR_TRUE,
	DOUBLE_AR_GARBAGE, /* other bytes each time */
	DOUBLE_AR_NOISE,   /* bytes that follow from the modifier */
	DOUBLE_AR_ZEROS,
	DOUBLE_AR_SAME,	   /* the same block, whatever is asked for */
	DOUBLE_AR_NEAR,	   /* entries lead to the port behind the right one */
	DOUBLE_AR_REFUSES, /* with a status */
	DOUBLE_AR_ANSWERS
};
void double_adaptive_answers(struct double_fabric *d, guid_t sw, enum double_ar_answers how);

/* Of an entry that is there, by the first private LFT: false: adaptive routing is not on. */
bool double_adaptive_entry(const struct double_fabric *d, guid_t sw, uint16_t lid,
			   struct wire_ar_entry *entry);
/* The packing, NULL = the switch was never made able. */
const struct double_packing *double_adaptive_packing(const struct double_fabric *d, guid_t sw);

/* A set of ports. */
struct double_ports {
	uint64_t word[4];
};
static inline void double_ports_add(struct double_ports *ports, unsigned num)
{
	ports->word[num / 64] |= 1ull << num % 64;
}
/* The lowest one from `num` on; 256 = there is none. */
static inline unsigned double_ports_next(const struct double_ports *ports, unsigned num)
{
	for (; num < 256; num = (num / 64 + 1) * 64) {
		uint64_t left = ports->word[num / 64] >> num % 64;

		if (left)
			return num + (unsigned)__builtin_ctzll(left);
	}
	return 256;
}

/*
 * The text of ibdiagnet2.far: switches that can do it get its groups and entries, with adaptive
 * routing and fast recovery on; what they had goes. Returns how many; -1 with the reason in err:
 * a line is none of such a text, or names what the fabric does not have. Switches of the lines
 * before are changed then.
 */
int double_adaptive_read(struct double_fabric *d, FILE *in, char *err, size_t err_size);

/*
 * Fast recovery of all switches that forward by groups: none; FR: a member whose link is not Active
 * is not chosen; RN: besides, a switch without a live member for a LID tells its neighbours, which
 * do not choose it for that LID. How RN's tables are set is not public: no manager's writes are
 * judged by it.
 */
enum double_recovery { DOUBLE_RECOVERY_OFF, DOUBLE_RECOVERY_FR, DOUBLE_RECOVERY_RN };
void double_adaptive_recovery(struct double_fabric *d, enum double_recovery how);

/* ---- For the double's files ------------------------------------------------------------------ */

#define DOUBLE_PLFTS 2

struct dnode;
struct dar { /* of a switch */
	struct double_packing packing;
	enum double_ar_answers answers;
	bool by_lft; /* it holds all that it is sent, and goes on to forward by its LFT */
	uint64_t random;
	struct dar_table {
		uint8_t *blocks; /* of 64 bytes */
		uint32_t count;
	} lft[DOUBLE_PLFTS], groups[DOUBLE_PLFTS][16];
	uint32_t *sent; /* by port: packets that chose it */
	uint64_t *live; /* by LID: twice the count of changes when it was found, plus 1 if so */
	uint32_t numbers[16]; /* by table: of groups that have own numbers */
};
void adaptive_forget(struct dnode *sw);				    /* as after power-on */
uint16_t adaptive_take_info(struct dnode *sw, const uint8_t *data); /* 0 or a status */
void adaptive_free(struct dnode *sw);

/* It forwards by groups; and not by its LFT, whatever else it does. */
bool adaptive_forwards(const struct dnode *sw);
bool adaptive_hides_lft(const struct dnode *sw);
/* The entry, by the private LFT in use. */
struct wire_ar_entry adaptive_entry(const struct dnode *sw, uint16_t lid);
/* What it may send packets to the LID out of: the members, or else the port of the entry. */
void adaptive_exits(const struct dnode *sw, uint16_t lid, struct double_ports *exits);
