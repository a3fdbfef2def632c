/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* find: what operators' words name in the published fabric, for commands. */
#ifndef FMD_CONTROL_FIND_H
#define FMD_CONTROL_FIND_H

#include "fm/control/answer.h"
#include "topology/what/what.h"

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

#endif
