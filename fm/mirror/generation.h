/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * generation: how new what a state_dir holds is, as the take-overs that led to it, oldest first.
 * Who becomes master adds one, whose number is above all that it ever heard of. Pure.
 *
 * Of two managers one has copied the other when its take-overs are the beginning of the other's.
 * Where each has one that the other has not, both were master without knowing of each other.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "topology/snapshot/topo.h"

#define GENERATION_KEPT 32 /* take-overs; older ones are forgotten */

struct takeover {
	uint64_t number;
	guid_t master; /* its port; 0 = not known, of an older version */
};

/* Zero-initialised: nobody was ever master. */
struct generation {
	struct takeover list[GENERATION_KEPT];
	unsigned count;
};

enum generation_result {
	GENERATION_SAME,
	GENERATION_BEHIND, /* mine is the beginning of theirs */
	GENERATION_AHEAD,  /* theirs is the beginning of mine */
	GENERATION_APART,  /* each has what the other has not */
};
/* Returns what mine is to theirs; neither changes. */
enum generation_result generation_compare(const struct generation *mine,
					  const struct generation *theirs);
/* Returns the number of the latest take-over; 0 = there was none. */
uint64_t generation_number(const struct generation *g);
/*
 * Whether what another manager says of its take-overs can be: nobody is master so much more often
 * than all that this one has heard of (GENERATION_AHEAD_MOST). A number that was counted from is
 * counted from for ever.
 */
#define GENERATION_AHEAD_MOST 1000000
bool generation_is_plausible(const struct generation *theirs, const struct generation *mine);
/*
 * A take-over by that master, whose number is above `heard` and all that are listed. Where there is
 * no such number, the list begins anew.
 */
void generation_add(struct generation *g, guid_t master, uint64_t heard);

/*
 * As text: the latest number, alone in the first line, then `NUMBER MASTER` each. False: it is
 * none, and *g is empty. The first line alone is what older versions have.
 */
bool generation_read(struct generation *g, const char *text);
void generation_write(const struct generation *g, FILE *out);
/* As JSON, [[NUMBER, "MASTER"]] oldest first, the caller's; and back: false as above. */
json_t *generation_json(const struct generation *g);
bool generation_parse(struct generation *g, const json_t *json);
