/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * import: what import.c (the steps, options into keys, files, the report) and import_out.c (the
 * folder that is written) share. Private to them.
 */
#ifndef FMD_FMCTL_IMPORT_H
#define FMD_FMCTL_IMPORT_H

#include <jansson.h>
#include <stdio.h>
#include "fm/opensm/osm_options.h"

struct import {
	char *const *dirs; /* where OpenSM's files are looked for, in this order */
	int ndirs;
	struct osm_conf conf;
	struct osm_lids lids;
	struct osm_guids mkeys;

	const char *out; /* the folder that is made */
	char *place;	 /* its real path */
	char *made;	 /* a folder beside it, which replaces it when all is written */
	char *text;	 /* fmd.conf so far: lines that were checked */
	json_t *read, *missing, *taken, *not_taken;
	json_t *warnings;  /* of keys that are taken, and mean more here than with OpenSM */
	unsigned standard; /* options of opensm.conf that are OpenSM's defaults */
};

/*
 * import_out.c: begins the folder, and puts it in its place: 0, or -1 with the reason on stderr.
 * end: removes a folder that is not in its place, and frees its names.
 */
int import_out_begin(struct import *im);
int import_out_write(struct import *im);
void import_out_end(struct import *im);
/* Whether fmd accepts that text as its configuration; false with the reason in why. */
bool import_try(const struct import *im, const char *text, char *why, size_t size);

#endif
