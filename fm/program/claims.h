/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * claims: what switches are said to hold of their tables, by a file of an earlier life or because
 * another manager was here, until it was read. Part of program (program_priv.h).
 */
#ifndef FMD_PROGRAM_CLAIMS_H
#define FMD_PROGRAM_CLAIMS_H

#include "fm/mad/batch.h"
#include "fm/program/store.h"

struct program;
struct table_reader;

struct program_claims {
	struct table_reader *reader; /* not read to its end yet.. */
	char *content;		     /* ..of this */
	bool some;		     /* there may be claims */
	bool all; /* of each block that nobody claims it is claimed that it is as wanted */
	/* .. which nobody believes: it is read before anybody is told that all is written */
	bool first;
	bool wrong;		  /* one was found: the others are not believed unread */
	struct store_set columns; /* blocks that are looked at now.. */
	bool every;		  /* ..of all switches, or of those where they are to change */
	uint32_t block, row;	  /* the next one to be asked for */
	unsigned read, differed;  /* from what was claimed; not told yet */
};

bool claims_load(struct program *p);   /* more of the file; true: call again */
void claims_assume(struct program *p); /* what program_read_first() asked for */
void claims_forget_file(struct program *p);
/* Rows are doubted, then reading begins: false = there is nothing to read. */
void claims_doubt_none(struct program *p);
void claims_doubt(struct program *p, const struct store_switch *sw);
bool claims_begin(struct program *p);
bool claims_rest(struct program *p); /* begins to read what is left */
unsigned claims_count(const struct program *p);
bool claims_more(struct program *p); /* adds jobs; false = all were asked */
bool claims_make(const struct store_switch *sw, uint32_t block, struct batch_request *request);
void claims_answer(struct program *p, struct store_switch *sw, uint32_t block, const uint8_t *data);
void claims_drop(struct store_switch *sw); /* it is not known what it holds */

#endif
