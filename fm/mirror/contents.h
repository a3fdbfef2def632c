/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* contents: files by name, and what has changed of one. Pure. */
#ifndef FMD_MIRROR_CONTENTS_H
#define FMD_MIRROR_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	char *bytes; /* never NULL */
	size_t length;
};

/*
 * What of a file is another than before, as one piece: files of state_dir are sorted lines, and
 * most changes touch one of them.
 */
struct delta {
	size_t keep_head, keep_tail; /* bytes of the old text that stay, and */
	const char *bytes;	     /* of the new one, what stands between */
	size_t length;
};

/* Returns how to make one of the other; its bytes are borrowed from `after`. */
struct delta delta_of(const struct text *before, const struct text *after);
/* The new text, the caller's. False: these are no parts of the old one. */
bool delta_apply(const struct text *before, const struct delta *delta, struct text *after);

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
