/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state_manifest: which files of state_dir were ever written, and a summary of each
 * (state_store.h). Pure but for its file.
 */
#ifndef FMD_STATE_STATE_MANIFEST_H
#define FMD_STATE_STATE_MANIFEST_H

#include <stdbool.h>
#include "fm/state/state_file.h"
#include "fm/state/state_store.h"

#define STATE_MANIFEST "manifest"

struct listed;
struct state_manifest {
	struct listed *list;
};

/* Takes over what the file at that path lists. c: as of state_file_load(); its content is freed. */
enum state_result state_manifest_load(struct state_manifest *m, const char *path,
				      struct state_content *c);
/* True: a file of that name was written once. */
bool state_manifest_lists(const struct state_manifest *m, const char *name);
/* What it says of that file, borrowed from the manifest until it changes; "" = nothing. */
const char *state_manifest_summary(const struct state_manifest *m, const char *name);
void state_manifest_each(const struct state_manifest *m, state_name_fn *fn, void *arg);
/* The file is about to be written. True: the manifest is another by that. */
bool state_manifest_note(struct state_manifest *m, const struct state_file *file,
			 const void *owner);
int state_manifest_save(struct state_manifest *m, const char *path); /* 0 or -errno */
void state_manifest_fini(struct state_manifest *m);

#endif
