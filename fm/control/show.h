/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * show: what the files of `fmctl show WHAT` share. The document is flat: scalars are facts, in the
 * order in which they are to be read, lists of texts are texts, lists of objects are tables. "kind"
 * says what it is about, "name" which. The files call each other downward:
 *
 *   answer_show.c   the command: from what was typed to the kind of document; multicast groups,
 *                   partitions, LIDs
 *   show_node.c     machines; switches, HCAs, routers; the path to a LID
 *   show_port.c     ports and links
 *   show_rows.c     rows of tables about ports; who they belong to; alerts and events that name it
 *
 * It runs in a child of fmd (answer.h, long_answer): what it reads does not change meanwhile, and
 * it may take its time.
 */
#pragma once

#include "fm/control/filter.h"
#include "fm/events/event_query.h"
#include "fm/fabric/view.h"
#include "fm/perf/module.h"
#include "routing/report/congestion.h"

struct show {
	const struct command_env *env;
	struct fabric_view view;
	const struct topo *t; /* the view's */
	struct link_use_scene scene;
	uint32_t from;	   /* where paths begin, a port by index; TOPO_NONE = nobody asked */
	json_t *unhealthy; /* rows of links that are */
	json_t *doc;
};

/* The path from s->from, else from the subnet manager. */
void show_path(struct show *s, unsigned lid);
void show_host(struct show *s, uint32_t host);
void show_node(struct show *s, uint32_t node);
void show_port(struct show *s, uint32_t port, bool as_link); /* by index */

/* ---- show_rows.c ----------------------------------------------------------------------------- */

/* "leaf, tier 1 of 3, SU 2, rail 3": counted as people do. */
void show_place(struct show *s, json_t *to, uint32_t node);
/* State, width, speed, and what is at the other end of a port. */
void show_link(struct show *s, json_t *to, uint32_t port);
/* Why a link is not as it should be, in one text; NULL = it is. The caller's to free. */
char *show_note(struct show *s, uint32_t port);
/* The row of `unhealthy` about the link at that port; NULL = there is none. */
const json_t *show_unhealthy(const struct show *s, uint32_t port);
/* Of the latest readings, borrowed; NULL: TOPO_NONE, or the port was never read. */
const struct port_counters *show_counters_at(const struct show *s, uint32_t port);
/* Rates of the latest readings; null where they are not known. */
void show_rates(struct show *s, json_t *to, uint32_t port);
/* What is written beside the port on the device; NULL = not known. */
const char *show_label(struct show *s, uint32_t port);
/* Which error correction a port uses; NULL = it does not tell. */
json_t *show_fec(struct show *s, uint32_t port);
/* Facts: the same, null where it has not, and which it can and may use. */
void show_fec_facts(struct show *s, uint32_t port);
/* A row a port, as in the table "ports"; lids: how many leave by it, or NULL. */
json_t *show_port_row(struct show *s, uint32_t port, const uint32_t *lids);
/* What the SA and partitions know of an end port: partitions, groups and services. */
void show_end_ports(struct show *s, const uint32_t *ports, unsigned count);

/* ---- News ------------------------------------------------------------------------------------ */

/* A fact: when the newest event of that kind about it happened; nothing, if there is none. */
void show_since(struct show *s, const char *key, const char *kind, const struct event_about *about);
/* Tables "alerts" and "events": what is about it. */
void show_news(struct show *s, const struct event_about *about);
