/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mixture: the tables that switches hold while a change is under way, judged after every write. The
 * judge knows cables and bytes, nothing of how the order was made.
 */
#ifndef FMD_TESTS_MIXTURE_H
#define FMD_TESTS_MIXTURE_H

#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/topo.h"

struct mixture {
	const struct topo *topo; /* with the cables as they are now */
	const struct lid_map *lids;
	struct tables now;
	bool *owed;	 /* by switch and LID: works before and after */
	bool *excused;	 /* by LID: the order says that it goes dark for a time */
	bool hosts_owed; /* even so not the ways between hosts */
	unsigned writes;
	char fault[512];
};

void mixture_init(struct mixture *m, const struct topo *t, const struct lid_map *lids,
		  const struct tables *older, const struct tables *newer);
void mixture_fini(struct mixture *m);

/* Back to the beginning. */
void mixture_rewind(struct mixture *m, const struct tables *older);
void mixture_write(struct mixture *m, uint32_t sw, uint32_t block, const uint8_t *entries);

/* What is wrong after a write to the block, or NULL. */
const char *mixture_fault(struct mixture *m, uint32_t block);

#endif
