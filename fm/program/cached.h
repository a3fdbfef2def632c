/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cached: what switches are assumed to hold of their tables, by the file of an earlier run or after
 * another manager's work, until it was read (cached.c). Part of program (program_priv.h).
 */
#ifndef FMD_PROGRAM_CACHED_H
#define FMD_PROGRAM_CACHED_H

#include "fm/mad/batch.h"
#include "fm/program/store.h"

struct program;
struct table_reader;

struct program_cached {
	struct table_reader *reader; /* of content, until its end; NULL = nothing is left to read */
	char *content;		     /* the file's, owned */
	bool some;		     /* a switch may have cached blocks */
	bool all;   /* assume of each block that the file does not have that it is as wanted */
	bool first; /* these assumptions are read before it is reported that all is written */
	bool wrong; /* a block was found that differs: none is relied on unread any more */
	struct store_set columns; /* numbers of the blocks that are read now */
	bool every;		  /* of all switches; false: of those where they are to change */
	uint32_t block, row;	  /* the next one to be asked for */
	unsigned read, differed;  /* blocks read, and those that differed; not reported yet */
};

/* Takes some more records of the file. True: there are more, call again. */
bool cached_load(struct program *p);
/* Assumes what program_read_first() asked for; no effect without it. */
void cached_assume(struct program *p);
void cached_forget_file(struct program *p); /* frees its reader and content; neither is fine */

/*
 * Reading before the first write: choose nothing, then the blocks of each switch that are about to
 * change, then begin. False: there is nothing to read.
 */
void cached_recheck_none(struct program *p);
void cached_recheck(struct program *p, const struct store_switch *sw);
bool cached_begin(struct program *p);
/* Begins to read all that is left. False: there is nothing, but at switches that are away. */
bool cached_rest(struct program *p);
/* The number of blocks that are left to read at switches that answer. */
unsigned cached_count(const struct program *p);
/* Queues some Gets. False: all were asked. */
bool cached_more(struct program *p);
/* Fills in the Get of a block. False: it is not wanted any more. */
bool cached_make(const struct store_switch *sw, uint32_t block, struct batch_request *request);
/* The answer: the block counts as known from now on. */
void cached_answer(struct program *p, struct store_switch *sw, uint32_t block, const uint8_t *data);
/* Nothing is assumed of that switch any more: its blocks are unknown. */
void cached_drop(struct store_switch *sw);

#endif
