/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * what: what operators write for a part of the fabric (WHAT), the same for every command.
 *
 *   leaf-01  "MF0;leaf-01:MQM9790/U1"  S-b8599f0300fc6de4      a node, by its name or description
 *                                                              (whole, a word of it, its
 *                                                              beginning) or GUID
 *   dgx-07                                                     a host: all of its HCAs
 *   dgx-07 mlx5_3, dgx-07/mlx5_3                               one of them
 *   NODE:12  NODE[12]  NODE p12  "NODE"[12]                    a port, and its link
 *   leaf-01:cage 9/1, "leaf-01 cage 9/1"                       a port by what is written beside it
 *   leaf-01:33 - spine-02:7, leaf-01 - spine-02                a link, by both ends
 *   33  0x21  lid:33                                           who has the LID
 *   0xc003  mlid:0xc003  ff12:401b:ffff::1                     a multicast group
 *   0xb8599f0300fc6de4  guid:..  fe80::b859:9f03:fc:6de4       a node's or port's GUID,
 *                                                              or an alias of a port's
 *   pkey:0x8001  partition:storage  storage                    a partition
 *
 * A bare number is a LID, from 0xc000 on a MLID; 0x with more than four digits that is no 16-bit
 * number is a GUID. In double quotes a text is a name or a GUID, never a number. Of several
 * meanings the most exact one counts, and it must name one thing.
 */
#pragma once

#include "topology/snapshot/topo.h"

#define WHAT_ERROR_SIZE 512

enum what_kind { /* bits: a command says which it takes */
		 WHAT_NODE = 1,
		 WHAT_HOST = 2,
		 WHAT_PORT = 4,
		 WHAT_MLID = 8,
		 WHAT_MGID = 16,
		 WHAT_PKEY = 32,
};
#define WHAT_PLACE (WHAT_NODE | WHAT_HOST | WHAT_PORT)
#define WHAT_GROUP (WHAT_MLID | WHAT_MGID)
#define WHAT_ANY   (WHAT_PLACE | WHAT_GROUP | WHAT_PKEY)

/* How the operator named it, where that says more than the thing itself. */
enum what_by { WHAT_BY_NAME, WHAT_BY_LID, WHAT_BY_GUID, WHAT_BY_LINK };

struct what {
	enum what_kind kind;
	enum what_by by;
	uint32_t node;	 /* NODE, PORT: index in topo.nodes; else TOPO_NONE */
	uint32_t host;	 /* HOST: index in topo.hosts; else TOPO_NONE */
	unsigned port;	 /* PORT: its number, 1 .. nports; else 0 */
	unsigned number; /* the LID, MLID or P_Key as it was written; else 0 */
	guid_t guid;	 /* the GUID that was written; else 0 */
	uint8_t mgid[16];
};

/* True if there is a partition of that name, with its P_Key in *pkey. */
typedef bool what_partition_fn(const void *arg, const char *name, unsigned *pkey);

/* The GUID of the port that has `guid` as an alias (GUIDInfo); 0: nobody's alias. */
typedef guid_t what_alias_fn(const void *arg, guid_t guid);

struct what_scope {
	const struct topo *topo; /* NULL: nothing is known yet, and nothing found */
	/* a LID plan (routing/lid_plan.h), [top_lid + 1]; NULL: LIDs are those that ports hold */
	const uint32_t *port_of_lid;
	unsigned top_lid;
	what_partition_fn *partition; /* NULL: partitions are not found by name */
	const void *partition_arg;
	what_alias_fn *alias; /* NULL: ports are not found by alias GUIDs */
	const void *alias_arg;
	bool number_is_pkey; /* a bare number is a P_Key */
};

/*
 * Fills *what with the one thing that `text` names, of the kinds in `accepts` (bits of enum
 * what_kind). False with the reason in err: it names none, several, or a thing of another kind.
 */
bool what_find(const struct what_scope *scope, const char *text, unsigned accepts,
	       struct what *what, char *err, size_t err_size);

/*
 * Whether the text can name a thing of any fabric: it is not empty, and what follows `lid:`,
 * `mlid:`, `guid:`, `gid:`, `mgid:` or `pkey:` can be one. False with the reason in err: what is
 * expected there.
 */
bool what_is_sound(const char *text, char *err, size_t err_size);

/*
 * The nodes of a NODE, PORT or HOST: their number, 0 for all other kinds. *nodes points into the
 * snapshot or into `what` and is valid as long as both.
 */
unsigned what_nodes(const struct topo *t, const struct what *what, const uint32_t **nodes);

/* Writes `leaf-01`, `leaf-01 p12`, `dgx-07` or `MLID 0xc003`. Returns snprintf's length. */
int what_name(const struct topo *t, const struct what *what, char *buf, size_t size);
