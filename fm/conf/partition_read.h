/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * partition_read: what the parts share that read partitions.conf: partition_read.c definitions and
 * members, partition_group.c flags and groups. Private to them.
 */
#ifndef FMD_CONF_PARTITION_READ_H
#define FMD_CONF_PARTITION_READ_H

#include "fm/conf/partition_own.h"

enum partition_flag {
	PARTITION_FLAG_MTU,
	PARTITION_FLAG_RATE,
	PARTITION_FLAG_SCOPE,
	PARTITION_FLAG_QKEY,
	PARTITION_FLAG_TCLASS,
	PARTITION_FLAG_SL,
	PARTITION_FLAG_FLOW,
	PARTITION_FLAGS
};

struct partition_flags {
	uint32_t value[PARTITION_FLAGS];
	uint16_t scopes; /* a bit each; 0 = the default one */
	bool sl_given;
};

extern const struct partition_flags partition_default_flags;

struct partition_definition { /* the one being read */
	bool open;
	struct partition *part;
	struct partition_flags flags;
	enum partition_membership membership; /* of members that say nothing */
	bool ipoib, first;
};

struct partition_reader {
	struct partition_set *set;
	struct partition_options options;
	struct partition_definition now;
	uint32_t rules;	   /* so far, of all partitions */
	uint16_t numbered; /* the last P_Key given to a definition without one */
	const char *path;
	unsigned line;
	char *err;
	size_t err_size;
};

/* Writes the reason, with file and line, into err. Always false. */
__attribute__((format(printf, 2, 3))) bool partition_refuse(struct partition_reader *r,
							    const char *format, ...);

/* Reads NAME=VALUE; *known: whether it is a flag of groups. False: refused, err has the reason. */
bool partition_group_flag(struct partition_reader *r, struct partition_flags *flags,
			  const char *name, const char *value, bool *known);
/* Adds a group by its MGID; rest: its flags, or NULL. False: refused, and err has the reason. */
bool partition_group_read(struct partition_reader *r, const char *text, char *rest);
/* Adds the IPv4 broadcast groups of the partition, one for each of its scopes. */
void partition_group_broadcast(struct partition_reader *r);

#endif
