/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * isolation: from a finding to what is in force.
 *
 * What is isolated carries no transit, as if it were cordoned: routing leads nothing through it but
 * what only it reaches (routing/ftree/route.c), so no pair that works is cut off. A switch keeps
 * the tables that it has, and its hosts their paths.
 *
 * What is found within 100 ms is judged together: where it would take more than a quarter of the
 * links of a tier, with what is isolated there already, or a leaf's last uplink, nothing of it is
 * put into force, for then the fault is more likely ours than theirs: one alert says how many
 * refuse, and whether they count violations of our M_Key. What is not in force is judged again with
 * each change of the list.
 */
#ifndef FMD_ISOLATION_ISOLATION_H
#define FMD_ISOLATION_ISOLATION_H

#include "fm/isolation/list.h"

#define ISOLATION_PROBE_US 60000000 /* between Sets to a switch that takes none */

/* Lists it, by whichever end of a link; to say so again changes nothing. */
void isolation_add(struct isolation *is, guid_t node, uint8_t port, enum isolation_cause cause);
/* A switch that was isolated before the restart: in force at once, for it was judged then. */
void isolation_add_judged(struct isolation *is, guid_t sw, enum isolation_cause cause);
/* The fault is over: it is listed no more, and an update follows. */
void isolation_release(struct isolation *is, guid_t node, uint8_t port, enum isolation_cause cause);
void isolation_release_it(struct isolated *it, const char *why);
/* Links that bring-up has given up and that are not Active are judged at once. */
void isolation_judge_links(struct isolation *is);
/* Ahead of a snapshot: what is over is listed no more, and marks of the others are set. */
void isolation_mark(struct isolation *is);
/* Judges what is listed soon: nobody is being asked any more. */
void isolation_judge_soon(struct isolation *is);

/* That switch is listed as one that takes no Set, or is being asked whether it is one. */
bool isolation_is_suspect(const struct isolation *is, guid_t sw);

/* probe: called once a minute while switches are listed that take no Set. */
void isolation_init(struct isolation *is, loop_fn *probe);
void isolation_fini(struct isolation *is); /* ends its alerts */

#endif
