/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* cabling: compares a fabric's cables with its own pattern; the order of the steps. */
#include "topology/cabling_own.h"

struct cabling *cabling_pattern(const struct topo *t)
{
	struct wiring w;
	struct tiers tiers;

	wiring_init(&w, t);
	tiers_init(&tiers, t);
	cabling_expect_hosts(&w);
	cabling_find_lost_hcas(&w);
	cabling_expect_uplinks(&w, &tiers);
	cabling_find_strays(&w, &tiers);
	cabling_find_moved_hosts(&w);
	cabling_report(&w, &tiers);
	cabling_find_slow(&w);
	cabling_sort(w.result);
	tiers_fini(&tiers);
	wiring_fini(&w);
	return w.result;
}
