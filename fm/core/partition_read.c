/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * partition_read: OpenSM's partitions.conf, as people have it.
 *
 *   NAME = P_KEY , FLAG , FLAG = VALUE ..  :  MEMBER = MEMBERSHIP , ..   mgid = MGID , FLAG = VALUE ..  ;
 *
 * A definition begins on one line, up to its colon; members may go on over many lines, to the semicolon, and an mgid takes the
 * rest of its line. Words may be cut short ("=limi"), as OpenSM takes them. Definitions of one P_Key add up. A definition
 * without a P_Key belongs to the partition of its name, else gets the lowest number that none before it has.
 *
 * OpenSM passes over what it does not understand, or falls back to one open partition for all. Here every such place is an error
 * with its line: a tenant that lands in the wrong partition by a typing error is found by the wrong people. Two more cases are
 * refused for that reason: a P_Key that was given out by number and is defined by hand later (OpenSM joins the two partitions),
 * and a number that does not fit 16 bits (OpenSM cuts it).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "fm/core/partition_own.h"
#include "topology/mem.h"

#define BLANKS	       " \t\r\n\v\f"
#define DEFAULT_SCOPE  2 /* link-local */
#define HOP_LIMIT_MAX  255
#define IPV4_SIGNATURE 0x401b
#define IPV6_SIGNATURE 0x601b
#define MGID_PREFIX    0xff
#define NSCOPES	       16

enum flag { FLAG_MTU, FLAG_RATE, FLAG_SCOPE, FLAG_QKEY, FLAG_TCLASS, FLAG_SL, FLAG_FLOW, FLAGS };

static const struct {
	const char *name;
	uint32_t min, max;
} flag_table[FLAGS] = {
	[FLAG_MTU] = { "mtu", 1, 5 },
	[FLAG_RATE] = { "rate", 2, 26 },
	[FLAG_SCOPE] = { "scope", 1, 15 },
	[FLAG_QKEY] = { "Q_Key", 0, UINT32_MAX },
	[FLAG_TCLASS] = { "TClass", 0, 255 },
	[FLAG_SL] = { "sl", 0, 15 },
	[FLAG_FLOW] = { "FlowLabel", 0, 0xfffff },
};

struct flags {
	uint32_t value[FLAGS];
	uint16_t scopes; /* a bit each; 0 = the default one */
	bool sl_given;
};

static const struct flags default_flags = {
	.value = { [FLAG_MTU] = 4 /* 2048 bytes */, [FLAG_RATE] = 3 /* 10 Gb/s */ },
};

struct definition { /* the one being read */
	bool open;
	struct partition *part;
	struct flags flags;
	enum partition_membership membership; /* of members that say nothing */
	bool ipoib, first;
};

struct reader {
	struct partition_set *set;
	struct partition_options options;
	struct definition now;
	uint32_t rules;	   /* so far, of all partitions */
	uint16_t numbered; /* the last P_Key given to a definition without one */
	const char *path;
	unsigned line;
	char *err;
	size_t err_size;
};

__attribute__((format(printf, 2, 3))) static bool refuse(struct reader *r, const char *format, ...)
{
	int used = snprintf(r->err, r->err_size, "%s:%u: ", r->path, r->line);
	va_list args;

	if (used >= 0 && (size_t)used < r->err_size) {
		va_start(args, format);
		vsnprintf(r->err + used, r->err_size - used, format, args);
		va_end(args);
	}
	return false;
}

/* ---- Words ------------------------------------------------------------------------------------ */

static char *trim(char *text)
{
	char *end;

	text += strspn(text, BLANKS);
	end = text + strlen(text);
	while (end > text && strchr(BLANKS, end[-1]))
		*--end = '\0';
	return text;
}

/* Cuts off what is before `mark`; what is behind it, or NULL. */
static char *cut(char *text, char mark)
{
	char *at = strchr(text, mark);

	if (!at)
		return NULL;
	*at = '\0';
	return at + 1;
}

/* NAME or NAME=VALUE; *value is NULL without one. */
static char *split_value(char *text, char **value)
{
	*value = cut(text, '=');
	if (*value)
		*value = trim(*value);
	return trim(text);
}

/* The word, or a beginning of it. */
static bool is_word(const char *text, const char *word)
{
	return *text && !strncmp(text, word, strlen(text));
}

static bool number_read(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false; /* no sign, no blank */
	errno = 0;
	*value = strtoull(text, &end, 0);
	return !*end && !errno && *value <= max;
}

static bool membership_read(struct reader *r, const char *text,
			    enum partition_membership *membership)
{
	static const char *const words[] = { [PARTITION_LIMITED] = "limited",
					     [PARTITION_FULL] = "full",
					     [PARTITION_BOTH] = "both" };

	for (unsigned i = 0; text && i < sizeof(words) / sizeof(words[0]); i++) {
		if (is_word(text, words[i])) {
			*membership = i;
			return true;
		}
	}
	return refuse(r, "membership \"%s\" is none of full, limited, both", text ? text : "");
}

/* ---- Flags ------------------------------------------------------------------------------------ */

static bool flag_store(struct reader *r, struct flags *flags, enum flag flag, const char *text)
{
	uint64_t value;

	if (!number_read(text, flag_table[flag].max, &value) || value < flag_table[flag].min)
		return refuse(r, "%s=%s: a number of %u..%u is expected", flag_table[flag].name,
			      text ? text : "", flag_table[flag].min, flag_table[flag].max);
	flags->value[flag] = (uint32_t)value;
	if (flag == FLAG_SCOPE)
		flags->scopes |= (uint16_t)(1u << value);
	flags->sl_given |= flag == FLAG_SL;
	return true;
}

static bool group_flag(struct reader *r, struct flags *flags, const char *name, const char *value,
		       bool *known)
{
	*known = true;
	for (enum flag flag = 0; flag < FLAGS; flag++)
		if (is_word(name, flag_table[flag].name))
			return flag_store(r, flags, flag, value);
	*known = false;
	return true;
}

static bool partition_flag(struct reader *r, char *text)
{
	struct definition *d = &r->now;
	char *value, *name = split_value(text, &value);
	bool known;

	if (!*name && !value)
		return true; /* a comma too many */
	if (!group_flag(r, &d->flags, name, value, &known))
		return false;
	if (known)
		return true;
	if (is_word(name, "ipoib"))
		d->ipoib = true;
	else if (!strcmp(name, "indx0"))
		d->first = true;
	else if (is_word(name, "defmember"))
		return membership_read(r, value, &d->membership);
	else
		return refuse(r, "unknown partition flag \"%s\"", name);
	return true;
}

/* ---- Groups ----------------------------------------------------------------------------------- */

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

static void group_add_scope(struct reader *r, const uint8_t mgid[16], const struct flags *flags,
			    uint8_t scope)
{
	struct partition_group group = {
		.pkey = r->now.part->base | PKEY_FULL,
		.rate = (uint8_t)flags->value[FLAG_RATE],
		.mtu = (uint8_t)flags->value[FLAG_MTU],
		.sl = (uint8_t)flags->value[FLAG_SL],
		.scope = scope,
		.tclass = (uint8_t)flags->value[FLAG_TCLASS],
		.hop_limit = scope == DEFAULT_SCOPE ? 0 : HOP_LIMIT_MAX,
		.qkey = flags->value[FLAG_QKEY],
		.flow_label = flags->value[FLAG_FLOW],
	};

	memcpy(group.mgid, mgid, sizeof(group.mgid));
	group.mgid[1] = (uint8_t)((mgid[1] & 0xf0) | scope);
	if (!group_known(r->set, group.mgid))
		partition_add_group(r->set, &group);
}

static void group_add(struct reader *r, const uint8_t mgid[16], const struct flags *flags)
{
	uint16_t scopes = flags->scopes ? flags->scopes : 1u << DEFAULT_SCOPE;

	for (uint8_t scope = 0; scope < NSCOPES; scope++)
		if (scopes & 1u << scope)
			group_add_scope(r, mgid, flags, scope);
}

/* The IPv4 broadcast group of the partition (RFC 4391, 4). */
static void broadcast_add(struct reader *r)
{
	uint8_t mgid[16] = { MGID_PREFIX, 0x12, 0x40, 0x1b, [12] = 0xff, 0xff, 0xff, 0xff };
	struct flags flags = r->now.flags;

	mgid_set_word(mgid, 4, r->now.part->base | PKEY_FULL);
	if (!flags.value[FLAG_QKEY])
		flags.value[FLAG_QKEY] = PARTITION_IPOIB_QKEY;
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

/* A group of IP over InfiniBand carries its P_Key, and is like the partition's broadcast group (RFC 4391, 4). */
static bool ip_group(struct reader *r, const char *text, uint8_t mgid[16], struct flags *flags)
{
	uint16_t pkey = r->now.part->base | PKEY_FULL, has = mgid_word(mgid, 4);

	if (has && has != pkey && !is_broadcast(mgid))
		return refuse(r, "mgid=%s: its P_Key 0x%04x is not the partition's, 0x%04x", text,
			      has, pkey);
	if (flags->value[FLAG_RATE] != r->now.flags.value[FLAG_RATE] ||
	    flags->value[FLAG_MTU] != r->now.flags.value[FLAG_MTU])
		return refuse(r,
			      "mgid=%s: rate and mtu of an IP group are the partition's, %u and %u",
			      text, r->now.flags.value[FLAG_RATE], r->now.flags.value[FLAG_MTU]);
	mgid_set_word(mgid, 4, pkey);
	if (!flags->value[FLAG_QKEY])
		flags->value[FLAG_QKEY] = PARTITION_IPOIB_QKEY;
	return true;
}

static bool group_read(struct reader *r, const char *text, char *rest)
{
	struct flags flags = r->now.flags;
	uint8_t mgid[16];

	if (!text || inet_pton(AF_INET6, text, mgid) != 1 || mgid[0] != MGID_PREFIX)
		return refuse(r, "mgid=%s is not a multicast GID", text ? text : "");
	while (rest) {
		char *next = cut(rest, ','), *value, *name = split_value(rest, &value);
		bool known = true;

		if ((*name || value) && !group_flag(r, &flags, name, value, &known))
			return false;
		if (!known)
			return refuse(r, "unknown group flag \"%s\"", name);
		rest = next;
	}
	if (is_ip(mgid) && !ip_group(r, text, mgid, &flags))
		return false;
	group_add(r, mgid, &flags);
	return true;
}

/* ---- Members ---------------------------------------------------------------------------------- */

static bool member_who(const char *name, enum partition_who *who)
{
	static const char *const words[] = { [PARTITION_ALL] = "ALL",
					     [PARTITION_CAS] = "ALL_CAS",
					     [PARTITION_SWITCHES] = "ALL_SWITCHES",
					     [PARTITION_ROUTERS] = "ALL_ROUTERS",
					     [PARTITION_SELF] = "SELF" };

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (is_word(name, words[i])) {
			*who = i;
			return true;
		}
	}
	return false;
}

/* Virtual ports are not known here: their P_Keys are their port's. */
static bool is_nobody(const char *name)
{
	return is_word(name, "NONE") || !strcmp(name, "ALL_VCAS");
}

static bool member_read(struct reader *r, const char *name, const char *membership)
{
	struct partition_rule rule = { .membership = r->now.membership, .first = r->now.first };

	if (!*name && !membership)
		return true;
	if (is_nobody(name))
		return !membership || membership_read(r, membership, &rule.membership);
	if (!member_who(name, &rule.who)) {
		rule.who = PARTITION_PORT;
		if (!number_read(name, UINT64_MAX, &rule.guid) || !rule.guid)
			return refuse(r,
				      "member \"%s\" is no port GUID and none of ALL, ALL_CAS, "
				      "ALL_SWITCHES, ALL_ROUTERS, SELF "
				      "(is a ; missing before it?)",
				      name);
	}
	if (membership && !membership_read(r, membership, &rule.membership))
		return false;
	rule.order = r->rules++;
	partition_add_rule(r->set, r->now.part, &rule);
	return true;
}

static bool members_read(struct reader *r, char *text)
{
	while (text) {
		char *next = cut(text, ','), *value, *name = split_value(text, &value);

		if (!strcmp(name, "mgid"))
			return group_read(r, value, next);
		if (!member_read(r, name, value))
			return false;
		text = next;
	}
	return true;
}

/* ---- Definitions ------------------------------------------------------------------------------ */

static struct partition *part_by_name(const struct partition_set *set, const char *name)
{
	for (uint32_t i = 0; *name && i < set->count; i++)
		if (!strcmp(set->list[i].name, name))
			return &set->list[i];
	return NULL;
}

static struct partition *part_numbered(struct reader *r, const char *name)
{
	struct partition *part = part_by_name(r->set, name);

	if (part)
		return part;
	while (++r->numbered < PKEY_BASE(PKEY_DEFAULT))
		if (!partition_find(r->set, r->numbered)) {
			part = partition_add(r->set, name, r->numbered);
			part->numbered = true;
			return part;
		}
	refuse(r, "no P_Key is left for \"%s\"", name);
	return NULL;
}

/* The partition that NAME=ID is about. */
static struct partition *part_read(struct reader *r, const char *name, const char *id)
{
	const struct partition *found;
	struct partition *part;
	uint64_t pkey = 0;

	if (!id && *name >= '0' && *name <= '9')
		id = name, name = "";
	if (id && !number_read(id, UINT16_MAX, &pkey)) {
		refuse(r, "P_Key \"%s\" is not a number of 16 bits", id);
		return NULL;
	}
	if (!PKEY_BASE(pkey))
		return part_numbered(r, name);
	found = partition_find(r->set, (uint16_t)pkey);
	if (!found)
		return partition_add(r->set, name, PKEY_BASE(pkey));
	part = &r->set->list[found - r->set->list];
	if (!part->numbered)
		return part;
	refuse(r,
	       "P_Key 0x%04x was given to partition \"%s\", which has no number: write one there",
	       part->base, part->name);
	return NULL;
}

static bool definition_begin(struct reader *r, char *text)
{
	struct definition *d = &r->now;
	char *flag = cut(text, ','), *id, *name = split_value(text, &id);

	*d = (struct definition){ .open = true,
				  .flags = default_flags,
				  .membership = PARTITION_LIMITED };
	while (flag) {
		char *next = cut(flag, ',');

		if (!partition_flag(r, flag))
			return false;
		flag = next;
	}
	d->part = part_read(r, name, id);
	if (!d->part)
		return false;
	if (!r->options.qos)
		d->flags.value[FLAG_SL] = 0;
	if (d->flags.sl_given)
		d->part->sl = (uint8_t)d->flags.value[FLAG_SL];
	d->part->ipoib |= d->ipoib;
	if (d->ipoib)
		broadcast_add(r);
	return true;
}

/* What one line has of one definition. */
static bool piece_read(struct reader *r, char *text)
{
	if (!r->now.open) {
		char *members;

		if (!*trim(text))
			return true;
		members = cut(text, ':');
		if (!members)
			return refuse(r,
				      "\"%s\": a partition's definition ends in a colon, on its "
				      "first line",
				      trim(text));
		if (!definition_begin(r, text))
			return false;
		text = members;
	}
	return members_read(r, text);
}

static bool line_read(struct reader *r, char *line)
{
	char *rest;

	cut(line, '#');
	for (; line; line = rest) {
		rest = cut(line, ';');
		if (!piece_read(r, line))
			return false;
		if (rest)
			r->now.open = false;
	}
	return true;
}

static bool text_read(struct reader *r, char *text)
{
	while (text) {
		char *next = cut(text, '\n');

		r->line++;
		if (!line_read(r, text))
			return false;
		text = next;
	}
	return true;
}

struct partition_set *partition_parse(const char *path, char *text,
				      const struct partition_options *options, char *err,
				      size_t err_size)
{
	struct reader r = { .set = partition_new(false),
			    .options = *options,
			    .path = path,
			    .err = err,
			    .err_size = err_size };

	r.rules = 2; /* those of the default partition */
	if (text_read(&r, text)) {
		partition_finish(r.set, options);
		return r.set;
	}
	partition_free(r.set);
	return NULL;
}

/* ---- Where it comes from --------------------------------------------------------------------------------- */

struct partition_set *partition_default(void)
{
	const struct partition_options options = { .both = false };
	struct reader r = { .set = partition_new(true) };

	r.now.part = &r.set->list[0];
	r.now.part->ipoib = true;
	r.now.flags = default_flags;
	broadcast_add(&r);
	partition_finish(r.set, &options);
	return r.set;
}

/* NULL: can't be read, or no text. */
static char *stream_read(FILE *in)
{
	size_t len;
	char *text = mem_read_all(in, &len);

	if (!ferror(in) && strlen(text) == len)
		return text;
	free(text);
	return NULL;
}

static char *file_read(const char *path, char *err, size_t err_size)
{
	struct stat st;
	char *text;
	FILE *in;

	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		snprintf(err, err_size, "%s:0: is no file", path);
		return NULL;
	}
	in = fopen(path, "r");
	if (!in) {
		snprintf(err, err_size, "%s:0: can't be opened: %s", path, strerror(errno));
		return NULL;
	}
	text = stream_read(in);
	if (!text)
		snprintf(err, err_size, "%s:0: can't be read as text", path);
	fclose(in);
	return text;
}

struct partition_set *partition_load(const char *path, const struct partition_options *options,
				     char *err, size_t err_size)
{
	struct partition_set *set;
	char *text;

	if (!*path)
		return partition_default();
	text = file_read(path, err, err_size);
	if (!text)
		return NULL;
	set = partition_parse(path, text, options, err, err_size);
	free(text);
	return set;
}
