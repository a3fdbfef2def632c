/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * contest: what a probe's answer may change, where it contradicts the record (contest.c). Private
 * to fm/sweep.
 */
#ifndef FMD_SWEEP_CONTEST_H
#define FMD_SWEEP_CONTEST_H

#include "fm/inventory/inventory.h"

struct sweep;

struct parked { /* a probe's answer that waits for what a node's known place says */
	struct inv_node *from, *node;
	uint8_t num, node_num;
};

struct parking {
	struct parked *list;
	unsigned count, room;
};

enum claim { CLAIM_ACCEPTED, CLAIM_ASKED, CLAIM_REFUSED };
enum claim contest_claim(struct sweep *s, struct inv_node *from, uint8_t num,
			 const struct wire_node_info *info); /* ASKED: once more */
enum place { PLACE_FREE, PLACE_ASKED, PLACE_TAKEN };
/* May node's port be behind that port? ASKED: the probe is sent again when that is known. */
enum place contest_place(struct sweep *s, struct inv_node *from, uint8_t num, struct inv_node *node,
			 uint8_t node_num);
/* Nothing is on its way any more. True: an answer was waiting for that, and the sweep goes on. */
bool contest_ends(struct sweep *s);
void contest_go_on(struct sweep *s); /* behind each answer, and each request given up */

#endif
