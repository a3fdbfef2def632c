/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * partition_read: OpenSM's partitions.conf, as people have it.
 *
 *   NAME = P_KEY , FLAG , FLAG = VALUE ..  :
 *       MEMBER = MEMBERSHIP , ..   mgid = MGID , FLAG = VALUE ..  ;
 *
 * A definition begins on one line, up to its colon; members may go on over many lines, to the
 * semicolon, and an mgid takes the rest of its line. Words may be cut short ("=limi"), as OpenSM
 * takes them. Definitions of one P_Key add up. A definition without a P_Key belongs to the
 * partition of its name, else gets the lowest number that none before it has.
 *
 * OpenSM passes over what it does not understand, or falls back to one open partition for all. Here
 * every such place is an error with its line: a tenant that lands in the wrong partition by a
 * typing error is found by the wrong people. Two more cases are refused for that reason: a P_Key
 * that was given out by number and is defined by hand later (OpenSM joins the two partitions), and
 * a number that does not fit 16 bits (OpenSM cuts it).
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "fm/conf/partition_read.h"
#include "topology/base/text.h"
#include "topology/base/mem.h"

/* ---- Members --------------------------------------------------------------------------------- */

static bool membership_read(struct partition_reader *r, const char *text,
			    enum partition_membership *membership)
{
	static const char *const words[] = { [PARTITION_LIMITED] = "limited",
					     [PARTITION_FULL] = "full",
					     [PARTITION_BOTH] = "both" };

	for (unsigned i = 0; text && i < sizeof(words) / sizeof(words[0]); i++) {
		if (words_abbreviate(text, words[i])) {
			*membership = i;
			return true;
		}
	}
	return partition_refuse(r, "membership \"%s\" is not one of full, limited, both",
				text ? text : "");
}

static bool member_who(const char *name, enum partition_who *who)
{
	static const char *const words[] = { [PARTITION_ALL] = "ALL",
					     [PARTITION_CAS] = "ALL_CAS",
					     [PARTITION_SWITCHES] = "ALL_SWITCHES",
					     [PARTITION_ROUTERS] = "ALL_ROUTERS",
					     [PARTITION_SELF] = "SELF" };

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (words_abbreviate(name, words[i])) {
			*who = i;
			return true;
		}
	}
	return false;
}

/* Virtual ports are not known here: their P_Keys are their port's. */
static bool is_nobody(const char *name)
{
	return words_abbreviate(name, "NONE") || !strcmp(name, "ALL_VCAS");
}

static bool member_read(struct partition_reader *r, const char *name, const char *membership)
{
	struct partition_rule rule = { .membership = r->now.membership, .first = r->now.first };

	if (!*name && !membership)
		return true;
	if (is_nobody(name))
		return !membership || membership_read(r, membership, &rule.membership);
	if (!member_who(name, &rule.who)) {
		rule.who = PARTITION_PORT;
		if (!words_number(name, UINT64_MAX, &rule.guid) || !rule.guid)
			return partition_refuse(
				r,
				"member \"%s\" is neither a port GUID nor one of ALL, ALL_CAS, "
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

static bool members_read(struct partition_reader *r, char *text)
{
	while (text) {
		char *next = words_cut(text, ','), *value, *name = words_split(text, &value);

		if (!strcmp(name, "mgid"))
			return partition_group_read(r, value, next);
		if (!member_read(r, name, value))
			return false;
		text = next;
	}
	return true;
}

/* ---- Definitions ----------------------------------------------------------------------------- */

static struct partition *part_by_name(const struct partition_set *set, const char *name)
{
	for (uint32_t i = 0; *name && i < set->count; i++)
		if (!strcmp(set->list[i].name, name))
			return &set->list[i];
	return NULL;
}

static struct partition *part_numbered(struct partition_reader *r, const char *name)
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
	partition_refuse(r, "no P_Key is left for \"%s\"", name);
	return NULL;
}

/* The partition that NAME=ID is about. */
static struct partition *part_read(struct partition_reader *r, const char *name, const char *id)
{
	const struct partition *found;
	struct partition *part;
	uint64_t pkey = 0;

	if (!id && *name >= '0' && *name <= '9')
		id = name, name = "";
	if (id && !words_number(id, UINT16_MAX, &pkey)) {
		partition_refuse(r, "P_Key \"%s\" is not a number of 16 bits", id);
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
	partition_refuse(r,
			 "P_Key 0x%04x was assigned to partition \"%s\", which has no number in "
			 "the file: give it one",
			 part->base, part->name);
	return NULL;
}

static bool flag_read(struct partition_reader *r, char *text)
{
	struct partition_definition *d = &r->now;
	char *value, *name = words_split(text, &value);
	bool known;

	if (!*name && !value)
		return true; /* a comma too many */
	if (!partition_group_flag(r, &d->flags, name, value, &known))
		return false;
	if (known)
		return true;
	if (words_abbreviate(name, "ipoib"))
		d->ipoib = true;
	else if (!strcmp(name, "indx0"))
		d->first = true;
	else if (words_abbreviate(name, "defmember"))
		return membership_read(r, value, &d->membership);
	else
		return partition_refuse(r, "unknown partition flag \"%s\"", name);
	return true;
}

static bool definition_begin(struct partition_reader *r, char *text)
{
	struct partition_definition *d = &r->now;
	char *flag = words_cut(text, ','), *id, *name = words_split(text, &id);

	*d = (struct partition_definition){ .open = true,
					    .flags = partition_default_flags,
					    .membership = PARTITION_LIMITED };
	while (flag) {
		char *next = words_cut(flag, ',');

		if (!flag_read(r, flag))
			return false;
		flag = next;
	}
	d->part = part_read(r, name, id);
	if (!d->part)
		return false;
	if (!r->options.qos)
		d->flags.value[PARTITION_FLAG_SL] = 0;
	if (d->flags.sl_given)
		d->part->sl = (uint8_t)d->flags.value[PARTITION_FLAG_SL];
	d->part->ipoib |= d->ipoib;
	if (d->ipoib)
		partition_group_broadcast(r);
	return true;
}

/* What one line has of one definition. */
static bool piece_read(struct partition_reader *r, char *text)
{
	if (!r->now.open) {
		char *members;

		if (!*words_trim(text))
			return true;
		members = words_cut(text, ':');
		if (!members)
			return partition_refuse(
				r,
				"\"%s\": a partition's definition ends in a colon, on its "
				"first line",
				words_trim(text));
		if (!definition_begin(r, text))
			return false;
		text = members;
	}
	return members_read(r, text);
}

static bool line_read(struct partition_reader *r, char *line)
{
	char *rest;

	words_cut(line, '#');
	for (; line; line = rest) {
		rest = words_cut(line, ';');
		if (!piece_read(r, line))
			return false;
		if (rest)
			r->now.open = false;
	}
	return true;
}

static bool text_read(struct partition_reader *r, char *text)
{
	while (text) {
		char *next = words_cut(text, '\n');

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
	struct partition_reader r = { .set = partition_new(false),
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

/* ---- Where it comes from --------------------------------------------------------------------- */

struct partition_set *partition_default(void)
{
	const struct partition_options options = { .both = false };
	struct partition_reader r = { .set = partition_new(true) };

	r.now.part = &r.set->list[0];
	r.now.part->ipoib = true;
	r.now.flags = partition_default_flags;
	partition_group_broadcast(&r);
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
		snprintf(err, err_size, "%s:0: is not a file", path);
		return NULL;
	}
	in = fopen(path, "r");
	if (!in) {
		snprintf(err, err_size, "%s:0: cannot be opened: %s", path, strerror(errno));
		return NULL;
	}
	text = stream_read(in);
	if (!text)
		snprintf(err, err_size, "%s:0: cannot be read as text", path);
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
