/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * filter: which rows of a list are asked for. All that was asked has to be true of a row: of a link
 * by either of its ends, of a host by one of its HCAs.
 *
 *   what         a host's HCAs, a node, or a port's link; of switches and hosts, also the nodes
 *                at the other ends of their links
 *   leaf, host   that switch, that host's HCAs, and the nodes at the other ends of their links
 *   rail, su     a node's own
 *   down         with a link that is down
 *   unhealthy    with a link that is not trusted (`links --sick`)
 *   class        what routing takes an HCA for; no switch is of a class
 */
#pragma once

#include "fm/control/answer.h"
#include "topology/snapshot/topo.h"
#include "topology/what/what.h"

struct filter {
	const struct topo *topo;      /* that of the answer; borrowed */
	struct what what, leaf, host; /* neither of a node nor a host: anywhere */
	int rail, su, class;	      /* from 0; -1 = any */
	bool down, unhealthy;
	uint8_t *classes; /* enum route_class by port of topo; NULL = all compute */
	bool *sick;	  /* by port of topo, where unhealthy is asked for */
};

/*
 * Takes the arguments that are the filters' out of args. False: what they name is not there, the
 * reason is in err[COMMAND_ERROR_SIZE]. filter_fini() ends it, whatever came of it.
 */
bool filter_read(struct filter *f, const struct command_env *env, unsigned filters, json_t *args,
		 char *err);
void filter_fini(struct filter *f);

/* Whether the row is asked for; a filter of NULL asks for all. port: either end of the link. */
bool filter_has_node(const struct filter *f, uint32_t node);
bool filter_has_host(const struct filter *f, uint32_t host);
bool filter_has_link(const struct filter *f, uint32_t port);
/* A port that has a link; what: of a node its own ports, of a port both ends. */
bool filter_has_port(const struct filter *f, uint32_t port);
/*
 * Takes the others out of rows that were made without it: rows of links by "a", of switches by
 * "guid". A row that tells of none stays.
 */
void filter_rows(const struct filter *f, json_t *rows);

/* ---- What operators' words name in the published fabric, for commands ------------------------ */

/* accepts: bits of enum what_kind. False: the reason is in err[COMMAND_ERROR_SIZE]. */
bool command_find_what(const struct command_env *env, const char *text, unsigned accepts,
		       struct what *what, char *err);
/* A switch as a whole, by its index; TOPO_NONE: the reason is in err. */
uint32_t command_find_switch(const struct command_env *env, const char *text, char *err);
/*
 * A multicast group or partition; where nothing is published yet, too. False: the reason is in err.
 */
bool command_find_number(const struct command_env *env, const char *text, unsigned accepts,
			 struct what *what, char *err);
/* The name of the host that is meant, the snapshot's; NULL: nothing or more than one is. */
const char *command_find_host(const struct command_env *env, const char *text);

/*
 * The ports with a LID that packets to or from a place use, by index: the one that was named, a
 * switch's own, of each HCA of a host the first. The caller frees the list. 0: the reason is in
 * err.
 */
unsigned command_end_ports(const struct command_env *env, const char *text, uint32_t **ports,
			   char *err);

/* A host by its whole name; TOPO_NONE = none. */
uint32_t place_host(const struct topo *t, const char *name);
