/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* lists: short lists of GUIDs and of names, and lists of patterns as keys of fmd.conf have them. */
#pragma once

#include "fm/events/alert.h"
#include "topology/snapshot/topo.h"

/* GUIDs, each of them once. All zero = empty; the owner frees `guids`. */
struct guid_list {
	guid_t *guids;
	unsigned count;
};

/* Adds it unless it is there; compares it with the whole list. */
void guid_list_add(struct guid_list *list, guid_t guid);

/* Names in a sentence that stays short, `a, b and 3 more`. All zero = none. */
struct name_list {
	unsigned count; /* of all */
	char text[640]; /* the first few */
	json_t *ports;	/* members of the alert, or NULL; name_list_alert() takes them */
};

/* Copies the name, cut to 120 bytes; names behind the fifth are counted alone. */
void name_list_add(struct name_list *list, const char *name);
/*
 * Raises the alert of that kind for the names in the list, "COUNT one-or-several: NAMES", with the
 * ports; ends it where the list is empty.
 */
void name_list_alert(struct alerts *alerts, const char *kind, struct name_list *list,
		     const char *one, const char *several);

/*
 * Whether one of the patterns (fnmatch(3), by blanks) matches one of the two names (NULL = none).
 */
bool name_patterns_match(const char *patterns, const char *name, const char *other);

/*
 * Nodes by the patterns of storage_nodes and its like, which are separated by blanks. One that is a
 * GUID ("0x..") means the node, or the node of the port, that has it; any other is compared with
 * the NodeDescription, the name and the host's name (fnmatch(3)).
 */
struct node_patterns;

/* The caller's, for many nodes; text is copied. Any text is valid; never NULL. */
struct node_patterns *node_patterns_new(const char *text);
void node_patterns_free(struct node_patterns *patterns); /* NULL is fine */
/* Whether one of the patterns means this node of t. */
bool node_patterns_match(const struct node_patterns *patterns, const struct topo *t,
			 const struct topo_node *node);
