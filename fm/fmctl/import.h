/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * import: what the parts of `fmctl import-opensm` share: import.c what is done in which order,
 * import_conf.c options to keys, import_files.c where files are, import_out.c the folder that is
 * written, import_show.c the report.
 * Private to them.
 */
#ifndef FMD_FMCTL_IMPORT_H
#define FMD_FMCTL_IMPORT_H

#include <jansson.h>
#include <stdio.h>
#include "fm/opensm/osm_files.h"
#include "fm/opensm/osm_options.h"

struct import {
	char *const *dirs; /* where OpenSM's files are looked for, in this order */
	int ndirs;
	struct osm_conf conf;
	struct osm_lids lids;
	struct osm_guids mkeys;

	const char *out; /* the folder that is made.. */
	char *place;	 /* ..its real path.. */
	char *made;	 /* ..and the one beside it that takes its place when all is written */
	char *text;	 /* fmd.conf so far: lines that were checked */
	json_t *read, *missing, *taken, *not_taken;
	unsigned standard; /* options of opensm.conf that are OpenSM's defaults */
};

/* import_files.c. Its path, the caller's; NULL = in none of the folders, nor at `else_at`. */
char *import_find(const struct import *im, const char *name, const char *else_at);
void import_note_read(struct import *im, const char *what, const char *path, const char *format,
		      ...) __attribute__((format(printf, 4, 5)));
void import_note_missing(struct import *im, const char *what);

/* import_conf.c */
void import_options(struct import *im);	    /* of opensm.conf, in its order */
void import_named_files(struct import *im); /* those that options name */
void import_mkeys(struct import *im, const struct osm_guids *mkeys);

/*
 * import_out.c. Each but import_try(): 0, or -1 with the reason on stderr. begin: OUT may be
 * written. try: whether fmd takes that text as its configuration; else the reason is in why.
 */
int import_out_begin(struct import *im);
bool import_try(const struct import *im, const char *text, char *why, size_t size);
int import_out_write(struct import *im);
void import_out_end(struct import *im); /* what was made and has no place yet goes */

/* import_show.c */
json_t *import_document(const struct import *im);
void import_show(const json_t *doc);
void import_show_options(void);
json_t *import_options_document(void);

#endif
