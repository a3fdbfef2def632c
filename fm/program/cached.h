/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * claims: what switches are said to hold of their tables, by a file of an earlier life or because
 * another manager was here, until it was read. Part of program (program_priv.h).
 */
#ifndef FMD_PROGRAM_CACHED_H
#define FMD_PROGRAM_CACHED_H

#include "fm/mad/batch.h"
#include "fm/program/store.h"

struct program;
struct table_reader;

struct program_cached {
	struct table_reader *reader; /* not read to its end yet.. */
	char *content;		     /* ..of this */
	bool some;		     /* there may be claims */
	bool all; /* of each block that nobody claims it is claimed that it is as wanted */
	/* .. which nobody believes: it is read before it is reported that all is written */
	bool first;
	bool wrong;		  /* one was found: the others are not believed unread */
	struct store_set columns; /* blocks that are looked at now.. */
	bool every;		  /* ..of all switches, or of those where they are to change */
	uint32_t block, row;	  /* the next one to be asked for */
	unsigned read, differed;  /* from what was claimed; not reported yet */
};

bool cached_load(struct program *p);   /* more of the file; true: call again */
void cached_assume(struct program *p); /* what program_read_first() asked for */
void cached_forget_file(struct program *p);
/* Rows are doubted, then reading begins: false = there is nothing to read. */
void cached_recheck_none(struct program *p);
void cached_recheck(struct program *p, const struct store_switch *sw);
bool cached_begin(struct program *p);
bool cached_rest(struct program *p); /* begins to read what is left */
unsigned cached_count(const struct program *p);
bool cached_more(struct program *p); /* adds jobs; false = all were asked */
bool cached_make(const struct store_switch *sw, uint32_t block, struct batch_request *request);
void cached_answer(struct program *p, struct store_switch *sw, uint32_t block, const uint8_t *data);
void cached_drop(struct store_switch *sw); /* it is not known what it holds */

#endif
