/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sa_share: see sa_share.h. */
#include "fm/mad/sa_share.h"

#define DEBT_MAX_US 10000 /* nobody waits for ever because of one that took long */

bool sa_share_may(struct sa_share *share, uint64_t now_us, uint64_t slice_us, bool busy)
{
	uint64_t passed = now_us - share->at_us;

	share->at_us = now_us;
	if (!busy) {
		share->left = 0;
		return true;
	}
	share->left += (int64_t)(passed < slice_us ? passed : slice_us);
	if (share->left > (int64_t)slice_us)
		share->left = (int64_t)slice_us;
	return share->left > 0;
}

void sa_share_spend(struct sa_share *share, uint64_t us)
{
	share->left -= (int64_t)(us < DEBT_MAX_US ? us : DEBT_MAX_US) * SA_SHARE_PART;
}
