/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* source: what a master sends to all managers that copy it (source.c). */
#ifndef FMD_MIRROR_SOURCE_H
#define FMD_MIRROR_SOURCE_H

#include <sys/socket.h>
#include "fm/mirror/own.h"

/* Another manager has connected: takes the descriptor. */
void source_accept(struct mirror *m, int fd, const struct sockaddr *from);
/* This manager is master now: what is on disk goes to all that are connected. */
void source_begin(struct mirror *m);
/* It is master no more, and says so. */
void source_end(struct mirror *m);
/* The file is on disk: what of it is new goes to all. */
void source_wrote(struct mirror *m, const char *name);
/* It could not be written: its text goes to all from memory. */
void source_could_not_write(struct mirror *m, const char *name);
/* Files that readers have as records behind an older text: sent, if that is so long ago. */
void source_freshen(struct mirror *m, uint64_t rest_us);
/* A file has changed to that text, which is copied; the disk does not have it yet. */
void source_pushed(struct mirror *m, const char *name, const char *bytes, size_t length);
/* A line of that file has changed; it is copied, and sent soon if there is a reader. */
void source_recorded(struct mirror *m, const char *name, const char *line);
void source_send(struct mirror *m); /* what has gathered since it was recorded */
void source_ping(struct mirror *m);
/* Returns a manager that has all that is on disk, borrowed; NULL = there is none. */
const struct reader *source_copied(const struct mirror *m);
uint64_t source_behind(const struct mirror *m); /* changes, of who has the most */
void source_error(const struct mirror *m, char *text, size_t size); /* why not; in words */
void source_close(struct mirror *m);				    /* all channels */
/* Returns "standbys" of the status, an array, the caller's. */
json_t *source_json(const struct mirror *m);

#endif
