/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/opensm/osm_files.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "topology/mem.h"
#include "topology/text.h"

#define LID_LAST 0xbfff
#define LMC_MOST 7

typedef void take_line_fn(void *out, char *line, unsigned number);

/* Calls take with each line, its end cut off. 0 or -errno. */
static int each_line(const char *path, take_line_fn *take, void *out)
{
	FILE *in = fopen(path, "re");
	unsigned number = 0;
	char *line = NULL;
	size_t room = 0;
	int status;

	if (!in)
		return -errno;
	while (getline(&line, &room, in) >= 0) {
		line[strcspn(line, "\r\n")] = '\0';
		take(out, line, ++number);
	}
	status = ferror(in) ? -EIO : 0;
	free(line);
	fclose(in);
	return status;
}

/* The next word, which it ends, and what follows; "" = there is none. */
static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " \t");

	*rest = word + strcspn(word, " \t");
	if (**rest)
		*(*rest)++ = '\0';
	return word;
}

static bool read_number(const char *word, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(word, &end, 0);
	return *word && isxdigit((unsigned char)*word) && !*end && !errno;
}

static bool is_remark(const char *line)
{
	line += strspn(line, " \t");
	return !*line || *line == '#';
}

/* ---- opensm.conf ----------------------------------------------------------------------------- */

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t");
	len = strlen(text);
	while (len && strchr(" \t", text[len - 1]))
		text[--len] = '\0';
	if (len > 1 && *text == '"' && text[len - 1] == '"') {
		text[len - 1] = '\0';
		text++;
	}
	return text;
}

static void take_setting(void *out, char *line, unsigned number)
{
	struct osm_conf *conf = out;
	char *rest = line, *name, *value;

	if (is_remark(line))
		return;
	for (char *c = line; *c; c++)
		if (*c == '\t')
			*c = ' ';
	text_clean(line, strlen(line), line);
	name = next_word(&rest);
	if (strstr(rest, " #"))
		*strstr(rest, " #") = '\0';
	value = trim(rest);
	conf->settings = mem_resize(conf->settings, conf->count + 1, sizeof(*conf->settings));
	conf->settings[conf->count++] =
		(struct osm_setting){ mem_strdup(name), mem_strdup(value), number };
}

int osm_conf_read(const char *path, struct osm_conf *out)
{
	int status;

	*out = (struct osm_conf){ 0 };
	status = each_line(path, take_setting, out);
	if (status)
		osm_conf_fini(out);
	return status;
}

void osm_conf_fini(struct osm_conf *conf)
{
	for (uint32_t i = 0; i < conf->count; i++) {
		free(conf->settings[i].name);
		free(conf->settings[i].value);
	}
	free(conf->settings);
	*conf = (struct osm_conf){ 0 };
}

const char *osm_conf_value(const struct osm_conf *conf, const char *name)
{
	for (uint32_t i = conf->count; i > 0; i--)
		if (!strcmp(conf->settings[i - 1].name, name))
			return conf->settings[i - 1].value;
	return NULL;
}

/* ---- guid2lid -------------------------------------------------------------------------------- */

struct lids_reader {
	struct osm_lids *lids;
	uint8_t *taken; /* by LID */
};

/* 2^LMC LIDs that begin at a multiple of so many, none of which another port has. */
static bool fits(const struct lids_reader *r, uint64_t first, uint64_t last)
{
	uint64_t count = last - first + 1;

	if (!first || last < first || last > LID_LAST || count > 1u << LMC_MOST ||
	    count & (count - 1) || first % count)
		return false;
	for (uint64_t lid = first; lid <= last; lid++)
		if (r->taken[lid])
			return false;
	return true;
}

static void leave_out(struct osm_lids *lids, unsigned number)
{
	if (!lids->left_out++)
		lids->left_out_line = number;
}

static void take_lid(void *out, char *line, unsigned number)
{
	struct lids_reader *r = out;
	uint64_t guid, first, last;
	char *rest = line;

	if (is_remark(line))
		return;
	if (!read_number(next_word(&rest), &guid) || !guid ||
	    !read_number(next_word(&rest), &first) || !read_number(next_word(&rest), &last) ||
	    !is_remark(rest) || !fits(r, first, last)) {
		leave_out(r->lids, number);
		return;
	}
	memset(r->taken + first, 1, last - first + 1);
	r->lids->list = mem_resize(r->lids->list, r->lids->count + 1, sizeof(*r->lids->list));
	r->lids->list[r->lids->count++] =
		(struct osm_lid){ guid, (uint32_t)first, (uint32_t)last, number };
}

static int by_port(const void *va, const void *vb)
{
	const struct osm_lid *a = va, *b = vb;

	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

/* Of a port that is there twice the first counts. */
static void drop_doubles(struct osm_lids *lids)
{
	uint32_t kept = 0;

	if (lids->count)
		qsort(lids->list, lids->count, sizeof(*lids->list), by_port);
	for (uint32_t i = 0; i < lids->count; i++)
		if (kept && lids->list[kept - 1].port == lids->list[i].port)
			leave_out(lids, lids->list[i].line);
		else
			lids->list[kept++] = lids->list[i];
	lids->count = kept;
}

int osm_lids_read(const char *path, struct osm_lids *out)
{
	struct lids_reader r = { out, mem_alloc(LID_LAST + 1, 1) };
	int status;

	*out = (struct osm_lids){ 0 };
	status = each_line(path, take_lid, &r);
	free(r.taken);
	if (status)
		osm_lids_fini(out);
	else
		drop_doubles(out);
	return status;
}

void osm_lids_fini(struct osm_lids *lids)
{
	free(lids->list);
	*lids = (struct osm_lids){ 0 };
}

/* ---- GUIDs ----------------------------------------------------------------------------------- */

struct guids_reader {
	struct osm_guids *guids;
	bool with_key;
};

static void take_guid(void *out, char *line, unsigned number)
{
	struct guids_reader *r = out;
	struct osm_guid it = { 0 };
	char *rest = line;

	if (is_remark(line))
		return;
	if (!read_number(next_word(&rest), &it.guid) || !it.guid ||
	    (r->with_key && !read_number(next_word(&rest), &it.key))) {
		if (!r->guids->bad_line)
			r->guids->bad_line = number;
		return;
	}
	r->guids->list = mem_resize(r->guids->list, r->guids->count + 1, sizeof(it));
	r->guids->list[r->guids->count++] = it;
}

int osm_guids_read(const char *path, bool with_key, struct osm_guids *out)
{
	struct guids_reader r = { out, with_key };
	int status;

	*out = (struct osm_guids){ 0 };
	status = each_line(path, take_guid, &r);
	if (status)
		osm_guids_fini(out);
	return status;
}

void osm_guids_fini(struct osm_guids *guids)
{
	free(guids->list);
	*guids = (struct osm_guids){ 0 };
}

/* ---- qos-policy.conf ------------------------------------------------------------------------- */

struct levels_reader {
	struct osm_levels *levels;
	struct osm_level now;
	bool inside;
};

static void end_level(struct levels_reader *r)
{
	struct osm_levels *levels = r->levels;

	levels->list = mem_resize(levels->list, levels->count + 1, sizeof(*levels->list));
	levels->list[levels->count++] = r->now;
	r->inside = false;
}

static void take_policy(void *out, char *line, unsigned number)
{
	struct levels_reader *r = out;
	char *value = strchr(line, ':'), *word;
	uint64_t sl;

	if (is_remark(line))
		return;
	word = trim(line);
	if (!strcmp(word, "qos-level")) {
		r->inside = true;
		r->now = (struct osm_level){ .sl = -1 };
	} else if (!strcmp(word, "end-qos-level") && r->inside) {
		end_level(r);
	} else if (r->inside && value) {
		*value++ = '\0';
		value = trim(value);
		if (!strcmp(trim(word), "name"))
			snprintf(r->now.name, sizeof(r->now.name), "%s", value);
		else if (!strcmp(trim(word), "sl") && read_number(value, &sl) && sl < 16)
			r->now.sl = (int)sl;
	}
}

int osm_levels_read(const char *path, struct osm_levels *out)
{
	struct levels_reader r = { .levels = out };
	int status;

	*out = (struct osm_levels){ 0 };
	status = each_line(path, take_policy, &r);
	if (status)
		osm_levels_fini(out);
	return status;
}

void osm_levels_fini(struct osm_levels *levels)
{
	free(levels->list);
	*levels = (struct osm_levels){ 0 };
}
