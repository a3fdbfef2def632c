/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sources: all paths by which fmd learns how hosts' NVLinks are (source.h), as one configuration
 * wants them.
 *
 * When fmd begins, a source that can't be opened (a port that another daemon has, a list that is
 * not there yet) leaves the others alone: it is an alert, and opened again and again. Later
 * configurations are taken whole or not at all, since there is something to stay with; a source
 * that they leave as it was, and that was not open before, does not speak against them.
 */
#ifndef FMD_NVSWITCH_SOURCES_H
#define FMD_NVSWITCH_SOURCES_H

#include "fm/nvswitch/source.h"

struct sources;
struct sources_opened; /* by a configuration that does not count yet */

struct sources *sources_new(struct source_home *home);
void sources_free(struct sources *sources); /* closes all; NULL is fine */

/*
 * What conf wants is opened aside. NULL with the reason in err: it is refused and nothing has
 * changed.
 */
struct sources_opened *sources_open(struct sources *sources, const struct nvswitch_conf *conf,
				    char *err, size_t err_size);
/* home->conf is the one that was opened: it counts. Frees opened. */
void sources_take(struct sources *sources, struct sources_opened *opened);
/* Whether the files that a configuration names can be used: 0, or -1 with the reason in err. */
int sources_check(const struct nvswitch_conf *conf, char *err, size_t err_size);

void sources_hosts_changed(struct sources *sources); /* home->present is another list */
void sources_recall(const struct sources *sources, unsigned host); /* its memory was read */

/* Adds "inputs", whether each source that is wanted is open, and "input_errors", why one is not. */
void sources_add_inputs(const struct sources *sources, json_t *doc);
/* What all of them counted of kernel logs; false: none is open that hears any. */
bool sources_count(const struct sources *sources, struct log_server_stats *sum);
/* What a host's health source leaves out of what it should report: a list, the caller's. */
json_t *sources_missing(const struct sources *sources, unsigned host, unsigned number);

#endif
