/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * findings: links that are not where they should be, as lines of text: what tells one finding from
 * others (its key), a tab, and what people read. Pure.
 */
#ifndef FMD_CABLING_FINDINGS_H
#define FMD_CABLING_FINDINGS_H

#include <stdio.h>
#include "topology/topo.h"

struct finding {
	const char *key, *text; /* within findings.lines */
};

struct findings { /* zeroed = none */
	char *lines;
	struct finding *list; /* by key */
	unsigned count;
};

/*
 * Writes the lines of a fabric, by its plan (NULL: by its own pattern). Links that are down, slow
 * or lead to a node that is off are none: other events tell these.
 */
void findings_write(const struct topo *t, const struct topo *plan, FILE *out);
/* Takes over such lines, which are the caller's no more; findings_fini() frees them. */
struct findings findings_take(char *lines);
void findings_fini(struct findings *f);
/* True: one with that key is among them. */
bool findings_have(const struct findings *f, const char *key);

#endif
