/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* contents: files by name. Pure. */
#ifndef FMD_MIRROR_CONTENTS_H
#define FMD_MIRROR_CONTENTS_H

#include <stdbool.h>
#include <stdint.h>
#include "fm/mirror/delta.h"

#define CONTENTS_MOST  64	    /* files */
#define CONTENTS_BYTES (512u << 20) /* of all together, with their records */

struct content {
	char *name;
	struct text text;
	struct text records; /* lines, behind it */
	bool pushed;	     /* the text was had ahead of the disk once */
	bool stale;	     /* the disk has another text, which is this one and records.. */
	size_t told;	     /* ..of so many bytes since.. */
	uint64_t sent_us;    /* ..the text was sent */
};

/* Zero-initialised is empty. */
struct contents {
	struct content list[CONTENTS_MOST];
	unsigned count;
};

/* Of that file; empty when there is none. Until the next call that changes it. */
const struct text *contents_text(const struct contents *c, const char *name);
struct content *contents_find(struct contents *c, const char *name); /* NULL = there is none */
/* Takes over the text; records stay. False: too many files or bytes, and the text is freed. */
bool contents_set(struct contents *c, const char *name, struct text text);
/* Of that file, which is made when there is none. False: too many files or bytes. */
bool contents_append(struct contents *c, const char *name, const char *lines, size_t length);
void contents_fini(struct contents *c); /* empty again */

#endif
