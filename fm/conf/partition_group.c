/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * partition_group: the multicast groups of partitions.conf. Flags of a definition or an mgid are
 * read here, and become groups: one for each scope that was named. Groups of IP over InfiniBand
 * carry the P_Key of their partition in the MGID, and have the parameters of its broadcast group
 * (RFC 4391, 4).
 */
#include <arpa/inet.h>
#include <string.h>
#include "fm/conf/partition_read.h"
#include "topology/base/text.h"

#define DEFAULT_SCOPE  2 /* link-local */
#define HOP_LIMIT_MAX  255
#define IPV4_SIGNATURE 0x401b
#define IPV6_SIGNATURE 0x601b
#define MGID_PREFIX    0xff
#define NSCOPES	       16

static const struct {
	const char *name;
	uint32_t min, max;
} flag_table[PARTITION_FLAGS] = {
	[PARTITION_FLAG_MTU] = { "mtu", 1, 5 },
	[PARTITION_FLAG_RATE] = { "rate", 2, 26 },
	[PARTITION_FLAG_SCOPE] = { "scope", 1, 15 },
	[PARTITION_FLAG_QKEY] = { "Q_Key", 0, UINT32_MAX },
	[PARTITION_FLAG_TCLASS] = { "TClass", 0, 255 },
	[PARTITION_FLAG_SL] = { "sl", 0, 15 },
	[PARTITION_FLAG_FLOW] = { "FlowLabel", 0, 0xfffff },
};

const struct partition_flags partition_default_flags = {
	.value = { [PARTITION_FLAG_MTU] = 4 /* 2048 bytes */,
		   [PARTITION_FLAG_RATE] = 3 /* 10 Gb/s */ },
};

/* ---- Flags ----------------------------------------------------------------------------------- */

static bool flag_store(struct partition_reader *r, struct partition_flags *flags,
		       enum partition_flag flag, const char *text)
{
	uint64_t value;

	if (!words_number(text, flag_table[flag].max, &value) || value < flag_table[flag].min)
		return partition_refuse(r, "%s=%s: a number of %u..%u is expected",
					flag_table[flag].name, text ? text : "",
					flag_table[flag].min, flag_table[flag].max);
	flags->value[flag] = (uint32_t)value;
	if (flag == PARTITION_FLAG_SCOPE)
		flags->scopes |= (uint16_t)(1u << value);
	flags->sl_given |= flag == PARTITION_FLAG_SL;
	return true;
}

bool partition_group_flag(struct partition_reader *r, struct partition_flags *flags,
			  const char *name, const char *value, bool *known)
{
	*known = true;
	for (enum partition_flag flag = 0; flag < PARTITION_FLAGS; flag++)
		if (words_abbreviate(name, flag_table[flag].name))
			return flag_store(r, flags, flag, value);
	*known = false;
	return true;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static uint16_t mgid_word(const uint8_t mgid[16], unsigned at)
{
	return (uint16_t)(mgid[at] << 8 | mgid[at + 1]);
}

static void mgid_set_word(uint8_t mgid[16], unsigned at, uint16_t value)
{
	mgid[at] = (uint8_t)(value >> 8);
	mgid[at + 1] = (uint8_t)value;
}

static bool group_known(const struct partition_set *set, const uint8_t mgid[16])
{
	for (uint32_t i = 0; i < set->ngroups; i++)
		if (!memcmp(set->groups[i].mgid, mgid, sizeof(set->groups[i].mgid)))
			return true;
	return false;
}

static void group_add_scope(struct partition_reader *r, const uint8_t mgid[16],
			    const struct partition_flags *flags, uint8_t scope)
{
	struct partition_group group = {
		.pkey = r->now.part->base | PKEY_FULL,
		.rate = (uint8_t)flags->value[PARTITION_FLAG_RATE],
		.mtu = (uint8_t)flags->value[PARTITION_FLAG_MTU],
		.sl = (uint8_t)flags->value[PARTITION_FLAG_SL],
		.scope = scope,
		.tclass = (uint8_t)flags->value[PARTITION_FLAG_TCLASS],
		.hop_limit = scope == DEFAULT_SCOPE ? 0 : HOP_LIMIT_MAX,
		.qkey = flags->value[PARTITION_FLAG_QKEY],
		.flow_label = flags->value[PARTITION_FLAG_FLOW],
	};

	memcpy(group.mgid, mgid, sizeof(group.mgid));
	group.mgid[1] = (uint8_t)((mgid[1] & 0xf0) | scope);
	if (!group_known(r->set, group.mgid))
		partition_add_group(r->set, &group);
}

static void group_add(struct partition_reader *r, const uint8_t mgid[16],
		      const struct partition_flags *flags)
{
	uint16_t scopes = flags->scopes ? flags->scopes : 1u << DEFAULT_SCOPE;

	for (uint8_t scope = 0; scope < NSCOPES; scope++)
		if (scopes & 1u << scope)
			group_add_scope(r, mgid, flags, scope);
}

void partition_group_broadcast(struct partition_reader *r)
{
	uint8_t mgid[16] = { MGID_PREFIX, 0x12, 0x40, 0x1b, [12] = 0xff, 0xff, 0xff, 0xff };
	struct partition_flags flags = r->now.flags;

	mgid_set_word(mgid, 4, r->now.part->base | PKEY_FULL);
	if (!flags.value[PARTITION_FLAG_QKEY])
		flags.value[PARTITION_FLAG_QKEY] = PARTITION_IPOIB_QKEY;
	group_add(r, mgid, &flags);
}

static bool is_ip(const uint8_t mgid[16])
{
	return mgid_word(mgid, 2) == IPV4_SIGNATURE || mgid_word(mgid, 2) == IPV6_SIGNATURE;
}

static bool is_broadcast(const uint8_t mgid[16])
{
	static const uint8_t any[16] = { MGID_PREFIX, 0x12,	   0x40, 0x1b, 0xff,
					 0xff,	      [12] = 0xff, 0xff, 0xff, 0xff };

	return !memcmp(mgid, any, sizeof(any));
}

/*
 * A group of IP over InfiniBand carries its P_Key, and is like the partition's broadcast group (RFC
 * 4391, 4).
 */
static bool ip_group(struct partition_reader *r, const char *text, uint8_t mgid[16],
		     struct partition_flags *flags)
{
	uint16_t pkey = r->now.part->base | PKEY_FULL, has = mgid_word(mgid, 4);

	if (has && has != pkey && !is_broadcast(mgid))
		return partition_refuse(r,
					"mgid=%s: its P_Key 0x%04x is not the partition's, 0x%04x",
					text, has, pkey);
	if (flags->value[PARTITION_FLAG_RATE] != r->now.flags.value[PARTITION_FLAG_RATE] ||
	    flags->value[PARTITION_FLAG_MTU] != r->now.flags.value[PARTITION_FLAG_MTU])
		return partition_refuse(
			r, "mgid=%s: rate and mtu of an IP group are the partition's, %u and %u",
			text, r->now.flags.value[PARTITION_FLAG_RATE],
			r->now.flags.value[PARTITION_FLAG_MTU]);
	mgid_set_word(mgid, 4, pkey);
	if (!flags->value[PARTITION_FLAG_QKEY])
		flags->value[PARTITION_FLAG_QKEY] = PARTITION_IPOIB_QKEY;
	return true;
}

bool partition_group_read(struct partition_reader *r, const char *text, char *rest)
{
	struct partition_flags flags = r->now.flags;
	uint8_t mgid[16];

	if (!text || inet_pton(AF_INET6, text, mgid) != 1 || mgid[0] != MGID_PREFIX)
		return partition_refuse(r, "mgid=%s is not a multicast GID", text ? text : "");
	while (rest) {
		char *next = words_cut(rest, ','), *value, *name = words_split(rest, &value);
		bool known = true;

		if ((*name || value) && !partition_group_flag(r, &flags, name, value, &known))
			return false;
		if (!known)
			return partition_refuse(r, "unknown group flag \"%s\"", name);
		rest = next;
	}
	if (is_ip(mgid) && !ip_group(r, text, mgid, &flags))
		return false;
	group_add(r, mgid, &flags);
	return true;
}
