/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * double_judge: what the double's devices really forward at this moment: by their tables up to
 * LinearFDBTop, over links that are Active at both ends. No word of a manager counts. SLs, P_Keys
 * and multicast are not judged.
 *
 * A pair is two HCA ports, in an order, that cables connect: cables that are in, between devices
 * that have power, whose links are trained. SHARP aggregation nodes are no HCAs here, but packets
 * to and from them count for loops and cycles.
 */
#pragma once

#include "tests/fabric/double_state.h"

struct verdict {
	uint64_t pairs, alive;
	uint64_t cut; /* of all HCA ports, pairs that cables do not connect now */
	/* HCA ports with a cable and power, and those of them whose link is not Active */
	unsigned hcas, dark;
	/* and those that no packet of another one reaches */
	unsigned unreached;
	/* ports that had a LID at the mark, and those of them that hold another one now */
	unsigned lids, moved;
	/* LIDs in use whose entries lead around in a circle */
	unsigned loops;
	/* dependencies between channels that close a cycle; 0 = no credit loop */
	unsigned cycles;
	/* devices without power or booting, links that train */
	unsigned off, training;
	/* when a link came up last, of those that do not flap; 0 = none has */
	uint64_t up_us;
	/* when a table, a port or a link was set or changed last: all is as judged since then */
	uint64_t changed_us;
	/* a pair that is dead, and the port that sends on a channel of a cycle; NULL = none */
	const struct dport *from, *to, *cycle;
};

/*
 * `age_us`: links that came up later connect nobody: what is dead then is dead though it was
 * connected for so long. 0 = all links that are up. `with`: pairs that these links connect with
 * that port as well, a manager's; NULL = all. `sound`: links of switches that nobody can program
 * connect nobody: those that hang, take no Set, store no table, or work at an SMP for half a
 * second; and what is dead because a cable that was told to flap is down is not dead.
 */
void double_judge(const struct double_fabric *d, uint64_t age_us, const struct dport *with,
		  bool sound, struct verdict *verdict);

/* The same for several ages: `verdicts` has a row for each. */
void double_judge_ages(const struct double_fabric *d, const uint64_t *ages, unsigned nages,
		       const struct dport *with, bool sound, struct verdict *verdicts);

/* LIDs are as they should be, from now on. */
void double_judge_mark(struct double_fabric *d);
/*
 * A port that had a LID at the mark and holds another one. A port without a LID has not moved, nor
 * has one that is not Armed yet: what it holds is its flash's.
 */
bool double_lid_moved(const struct dport *port);
