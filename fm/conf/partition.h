/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * partition: who may talk to whom, as configured. Reads the syntax of OpenSM's partitions.conf into
 * one immutable value; on a snapshot that value comes to a pkey_map. Without a file there is one
 * partition, 0x7fff, with IPoIB and every port a full member.
 *
 * As in OpenSM: a file that does not mention the default partition makes every port a limited
 * member of it, and the subnet manager's own port is a full member of it in any case. Of several
 * rules for a port in a partition the last one holds.
 */
#pragma once

#include "topology/snapshot/topo.h"

#define PARTITION_IPOIB_QKEY 0x0b1bu

/*
 * A multicast group that is there before anybody joins, and stays when nobody is left (IBA
 * 15.2.5.17).
 */
struct partition_group {
	uint8_t mgid[16];  /* as on the wire, scope and P_Key filled in */
	uint16_t pkey;	   /* with the full bit */
	uint8_t rate, mtu; /* codes; exactly these */
	uint8_t sl, scope;
	uint8_t tclass, hop_limit;
	uint32_t qkey, flow_label;
};

enum partition_who {
	PARTITION_ALL,
	PARTITION_CAS,
	PARTITION_SWITCHES,
	PARTITION_ROUTERS,
	PARTITION_SELF,
	PARTITION_PORT
};
enum partition_membership { PARTITION_LIMITED, PARTITION_FULL, PARTITION_BOTH };

struct partition_rule {
	enum partition_who who;
	enum partition_membership membership;
	guid_t guid;	/* PARTITION_PORT: of the port */
	uint32_t order; /* of all rules, as they stand in the file */
	bool first;	/* indx0: the P_Key's place is index 0 of the port's table */
};

struct partition {
	const char *name; /* of the first definition; "" = none was given */
	uint16_t base;	  /* P_Key without the full bit */
	uint8_t sl;	  /* of paths that don't ask for one */
	bool ipoib;
	bool numbered; /* its P_Key is none that anybody wrote */
	uint32_t nrules;
	struct partition_rule *rules; /* in the file's order */
};

struct partition_set {
	/* by base ascending; the default partition is always there, the last one */
	struct partition *list;
	uint32_t count;
	struct partition_group *groups; /* in the file's order, each MGID once */
	uint32_t ngroups;
	uint16_t *place; /* by base: index in list + 1, 0 = no such partition */
	bool both;
	bool built_in; /* the default, no file */
};

struct partition_options {
	bool qos;  /* off: partitions' SLs count as 0 */
	bool both; /* a port may hold both P_Keys of a partition; off: "both" means full */
};

/* The set without a file; the caller's, never NULL. */
struct partition_set *partition_default(void);
/* The caller's. NULL with `FILE:LINE: reason` in err. An empty path is the default. */
struct partition_set *partition_load(const char *path, const struct partition_options *options,
				     char *err, size_t err_size)
	__attribute__((warn_unused_result));
/* The same of a text that ends in a zero byte and is changed, or NULL; `path` is for messages. */
struct partition_set *partition_parse(const char *path, char *text,
				      const struct partition_options *options, char *err,
				      size_t err_size) __attribute__((warn_unused_result));
void partition_free(struct partition_set *set); /* NULL is fine */

/* By the P_Key, whatever its membership bit; by the name of its definition. The set's, or NULL. */
const struct partition *partition_find(const struct partition_set *set, uint16_t pkey);
const struct partition *partition_find_name(const struct partition_set *set, const char *name);

/*
 * Which port of t holds which P_Keys; sm_port = index of the subnet manager's own. The caller frees
 * it by pkey_map_free(). NULL: every port is a full member of the default partition alone.
 */
struct pkey_map *partition_resolve(const struct partition_set *set, const struct topo *t,
				   uint32_t sm_port);

/* ---- Pkey map -------------------------------------------------------------------------------- */

/*
 * Which end port is a member of which partition; what a partition configuration comes to
 * on one snapshot.
 *
 * A P_Key is 15 bits that name the partition and, in bit 15, full membership. Two ports may talk in
 * a partition when both are members and at least one of them is a full one (IBA 10.9.3). Without a
 * map (NULL) every port is a full member of the default partition and of no other.
 */

#define PKEY_DEFAULT	0xffff
#define PKEY_FULL	0x8000
#define PKEY_BASE(pkey) ((uint16_t)((pkey)&0x7fff))

struct pkey_map { /* of a snapshot: by its port indices */
	uint32_t nports;
	uint32_t *first; /* [nports + 1]: where a port's keys begin in `keys` */
	uint16_t *keys; /* of a port: by base ascending; with both memberships the full one first */
	uint16_t *index0; /* [nports]: what has index 0 of its table; 0 = default; or NULL */
};
void pkey_map_free(struct pkey_map *map); /* NULL is fine */

/* The number of a port's keys; *keys points to them, valid as long as the map. */
unsigned pkey_map_keys(const struct pkey_map *map, uint32_t port, const uint16_t **keys);
/* The port's own P_Key in a partition, the full one if it has both; 0 = no member. */
uint16_t pkey_map_member(const struct pkey_map *map, uint32_t port, uint16_t pkey);
/* Whether a and b may talk in the partition of `pkey`. A member may always talk to itself. */
bool pkey_map_talk(const struct pkey_map *map, uint32_t a, uint32_t b, uint16_t pkey);
/*
 * The P_Key, as a holds it, of the first partition in which they may talk, the default one before
 * all; 0 = none.
 */
uint16_t pkey_map_shared(const struct pkey_map *map, uint32_t a, uint32_t b);
