/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_share: how much of the time requests to the SA may take. Without other work all that they
 * want; while a fault is being answered, or an update is under way, one part in SA_SHARE_PART of
 * the time that passes, however often the loop comes round meanwhile. Requests that nobody reads
 * wait in the kernel (200,000 MADs), and hosts repeat theirs.
 *
 * Pure: times are given.
 */
#ifndef FMD_MAD_SA_SHARE_H
#define FMD_MAD_SA_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#define SA_SHARE_PART 20

struct sa_share {	/* all 0: nothing was seen yet */
	uint64_t at_us; /* when it was looked at last */
	/*
	 * in parts of a microsecond, SA_SHARE_PART to one; below 0: more was taken than there was
	 */
	int64_t left;
};

/*
 * It is now_us, and other work is under way or not. True: another request, or a few, may be served.
 * At most a part of slice_us is saved up.
 */
bool sa_share_may(struct sa_share *share, uint64_t now_us, uint64_t slice_us, bool busy);
/*
 * Requests took so long, of processor time; where no other work was under way that costs nothing.
 */
void sa_share_spend(struct sa_share *share, uint64_t us);

#endif
