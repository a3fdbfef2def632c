/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sources: all sources of the state of hosts' NVLinks (source.h) that one configuration wants.
 *
 * When fmd starts, a source that cannot be opened (a port that another daemon has, a list that does
 * not exist yet) raises an alert and is retried; the others work. Later configurations are applied
 * as a whole or refused, and the one before stays; a source that was not open before and has the
 * same configuration is no reason to refuse.
 */
#ifndef FMD_NVSWITCH_SOURCES_H
#define FMD_NVSWITCH_SOURCES_H

#include "fm/nvswitch/source.h"

struct sources;
struct sources_opened; /* by a configuration that is not applied yet */

/* Without open sources. The caller owns it; `home` is borrowed. Free closes all; NULL is fine. */
struct sources *sources_new(struct source_home *home);
void sources_free(struct sources *sources);

/*
 * Opens what conf wants beside what is open; the caller gives it to sources_take(). NULL with the
 * reason in err: the configuration is refused and nothing has changed.
 */
struct sources_opened *sources_open(struct sources *sources, const struct nvswitch_conf *conf,
				    char *err, size_t err_size);
/* Replaces the sources by what was opened and frees `opened`; home->conf is the new one then. */
void sources_take(struct sources *sources, struct sources_opened *opened);
/* Whether the files that a configuration names can be used: 0, or -1 with the reason in err. */
int sources_check(const struct nvswitch_conf *conf, char *err, size_t err_size);

/* home->present has changed; and the memory of a host was read from its state file. */
void sources_hosts_changed(struct sources *sources);
void sources_recall(const struct sources *sources, unsigned host);

/* Adds "inputs", whether each source that is wanted is open, and "input_errors", why one is not. */
void sources_add_inputs(const struct sources *sources, json_t *doc);
/* Sums up what all sources counted of kernel logs; false: no source of kernel logs is open. */
bool sources_count(const struct sources *sources, struct log_server_stats *sum);
/* A list, which the caller owns, of what source `number` of a host does not report but should. */
json_t *sources_missing(const struct sources *sources, unsigned host, unsigned number);

#endif
