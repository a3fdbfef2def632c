/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * old_files: the state_dir of a version before state.db, read once and made into rows.
 *
 * It had a file of lines for each kind, as `# fmd state 2: NAME`, the lines and `# end LENGTH SUM`,
 * or, in the oldest form, the lines alone; and a journal of two segments, `SUM SEQ WORD NAME TEXT`
 * each, with changes that no file had yet: a `record` behind the last `saved` of its file.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fm/state/state_own.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define HEAD	   "# fmd state "
#define END_SIZE   44
#define GONE	   "gone "
#define AWAY	   "before-" DISK_NAME
#define SERVICE_ID 52 /* hexadecimal digits of a ServiceRecord that name it */

/* ---- The sum --------------------------------------------------------------------------------- */

static uint64_t add_word(uint64_t sum, uint64_t word)
{
	sum = (sum + word + 1) * 0x9e3779b97f4a7c15ull;
	return sum ^ sum >> 32;
}

static uint64_t sum_of(const void *bytes, size_t length)
{
	uint64_t sum = add_word(0, length);

	for (size_t at = 0; at < length; at += sizeof(sum)) {
		uint64_t word = 0;

		memcpy(&word, (const char *)bytes + at,
		       length - at < sizeof(word) ? length - at : sizeof(word));
		sum = add_word(sum, word);
	}
	return sum;
}

struct reader { /* of one file, or of its records */
	struct old_files *old;
	struct rows_kind *kind;
	bool record;
	char group[64]; /* MGID of the group whose members follow */
};

/* ---- Files ----------------------------------------------------------------------------------- */

/* The content of a file, the caller's; NULL = it is none, *why: it is damaged. */
static char *load(const char *path, const char *name, const char **why)
{
	char *first = mem_printf(HEAD "2: %s\n", name), *text, *content = NULL;
	size_t size, head = strlen(first);
	uint64_t length, sum;

	*why = NULL;
	text = mem_read_path(path, &size);
	if (!text) {
		*why = errno == ENOENT ? NULL : strerror(errno);
	} else if (strncmp(text, HEAD, strlen(HEAD))) {
		content = mem_strdup(text);
		if (strstr(text, "\n# end "))
			*why = "its first line is missing";
	} else if (strncmp(text, first, head) || size < head + END_SIZE ||
		   sscanf(text + size - END_SIZE, "# end %" SCNu64 " %" SCNx64, &length, &sum) !=
			   2) {
		*why = "its first or last line is not what was written";
	} else if (length != size - head - END_SIZE || sum != sum_of(text + head, length)) {
		*why = "wrong checksum";
	} else {
		content = mem_printf("%.*s", (int)length, text + head);
	}
	free(text);
	free(first);
	if (*why) {
		free(content);
		content = NULL;
	}
	return content;
}

static void lose(struct old_files *old, const char *name, const char *why, const char *had)
{
	char *more = mem_printf("%s%s%s: %s%s%s", old->lost ? old->lost : "", old->lost ? "; " : "",
				name, why, *had ? "; it had: " : "", had);

	free(old->lost);
	old->lost = more;
}

/* ---- Lines into rows ------------------------------------------------------------------------- */

/* The so many-th word of a line, and how long it is. */
static const char *word(const char *line, unsigned number, int *length)
{
	while (number-- && *line) {
		line += strcspn(line, " ");
		line += *line == ' ';
	}
	*length = strcspn(line, " ");
	return line;
}

static void put(struct rows_kind *kind, const char *key, const char *value)
{
	if (value)
		rows_set(kind, key, value, false);
	else
		rows_drop(kind, key);
}

/* Rows whose key, or value, begins so. */
static void drop_all(struct rows_kind *kind, const char *begin, bool value)
{
	struct row **list = rows_list(kind, false);
	size_t count = kind->count;

	for (size_t i = 0; i < count; i++)
		if (!strncmp(value ? list[i]->value : list[i]->key, begin, strlen(begin)))
			rows_drop(kind, list[i]->key);
	free(list);
}

static void take_plain(struct reader *r, const char *line)
{
	const struct state_rule *rule = state_rule(r->kind->name);
	size_t length = state_key_length(rule, line);
	char *key = mem_printf("%.*s", (int)length, line), *own = NULL;

	for (unsigned n = 1; !r->record && rows_find(r->kind, own ? own : key); n++) {
		free(own);
		own = mem_printf("%s %u", key, n);
	}
	put(r->kind, own ? own : key, line + length + (line[length] == ' '));
	free(own);
	free(key);
}

static void take_alias(struct reader *r, const char *line)
{
	if (strstr(line, " 0x0000000000000000 0x0000000000000000"))
		drop_all(r->kind, line, false);
	take_plain(r, line);
}

static void take_group(struct reader *r, const char *line)
{
	char mgid[64], port[24], key[128], value[16];
	unsigned state, proxy;

	if (sscanf(line, "joined %63[0-9a-fx ]", mgid) == 1) {
		int at = state_key_length(state_rule("groups"), line);

		array_printf(key, "%.*s", at, line);
		sscanf(line + at, "%u", &state);
		put(r->kind, key, state ? line + at + 1 : NULL);
	} else if (sscanf(line, "end %63[0-9a-fx ]", mgid) == 1) {
		array_printf(key, "group %s", mgid);
		rows_drop(r->kind, key);
		array_printf(key, "joined %s ", mgid);
		drop_all(r->kind, key, false);
	} else if (sscanf(line, "member %23s %u %u", port, &state, &proxy) == 3) {
		array_printf(key, "joined %s %s", r->group, port);
		array_printf(value, "%u %u", state, proxy);
		put(r->kind, key, value);
	} else if (!strncmp(line, "group ", 6)) {
		int at = state_key_length(state_rule("groups"), line);

		array_printf(r->group, "%.*s", at - 6, line + 6);
		take_plain(r, line);
	}
}

static void take_service(struct reader *r, const char *line)
{
	bool gone = !strncmp(line, GONE, strlen(GONE));
	const char *hex;
	char *key, *value;
	int ends, length;

	line += gone ? strlen(GONE) : 0;
	word(line, 0, &ends);
	hex = word(line, 1, &length);
	if (length <= SERVICE_ID)
		return;
	key = mem_printf("%.*s", SERVICE_ID, hex);
	value = mem_printf("%.*s %.*s", length - SERVICE_ID, hex + SERVICE_ID, ends, line);
	put(r->kind, key, gone ? NULL : value);
	free(key);
	free(value);
}

static void take_subscription(struct reader *r, const char *line)
{
	static const unsigned order[] = { 0, 1, 5, 6, 7, 8, 9, 10, 11, 12, 2, 3, 4 };
	bool gone = !strncmp(line, GONE, strlen(GONE));
	char text[2][256] = { "", "" };

	line += gone ? strlen(GONE) : 0;
	for (unsigned i = 0; i < ARRAY_SIZE(order); i++) {
		char *to = text[i >= 10];
		int length;
		const char *it = word(line, order[i], &length);

		snprintf(to + strlen(to), 256 - strlen(to), "%s%.*s", *to ? " " : "", length, it);
	}
	put(r->kind, text[0], gone ? NULL : text[1]);
}

/* Of what the record says is not there, or is another. */
static void take_held(struct reader *r, const char *line)
{
	int cause, shut;
	const char *what = word(line, 4, &cause), *how = word(line, 5, &shut);

	take_plain(r, line);
	if (r->record && cause == 4 && !strncmp(what, "none", 4) && *how != '3') {
		char *key =
			mem_printf("%.*s", (int)state_key_length(state_rule("held"), line), line);

		rows_drop(r->kind, key);
		free(key);
	}
}

/* Whatever cable was at that end, `GUID PORT`. */
static void drop_cable(struct rows_kind *cables, const char *end)
{
	char *begin = mem_printf("%s ", end);

	rows_drop(cables, end);
	drop_all(cables, begin, true);
	free(begin);
}

static void take_cable(struct reader *r, const char *line)
{
	struct rowset *rows = &r->old->rows;
	struct rows_kind *nodes = rows_kind(rows, "nodes", true),
			 *ports = rows_kind(rows, "ports", true), *cables = r->kind;
	char type[16], a[24], b[24], key[64], other[64], value[512];
	unsigned port_a, port_b;
	int64_t since;
	int used = 0;

	if (sscanf(line, "cable %23s %u %23s %u %" SCNd64, a, &port_a, b, &port_b, &since) == 5) {
		array_printf(key, "%s %u", a, port_a);
		array_printf(other, "%s %u", b, port_b);
		array_printf(value, "%s %" PRId64, other, since);
		if (r->record) {
			drop_cable(cables, key);
			drop_cable(cables, other);
		}
		put(cables, key, value);
	} else if (sscanf(line, "port %23s %u %23s", a, &port_a, b) == 3) {
		array_printf(key, "%s %u", a, port_a);
		put(ports, key, b);
	} else if (sscanf(line, "down %23s %u %" SCNd64, a, &port_a, &since) == 3) {
		const struct row *row;

		array_printf(key, "%s %u", a, port_a);
		row = rows_find(cables, key);
		if (row && sscanf(row->value, "%23s %u", b, &port_b) == 2) {
			array_printf(value, "%s %u %" PRId64, b, port_b, since);
			put(cables, key, value);
		}
	} else if (sscanf(line, "no-cable %23s %u", a, &port_a) == 2) {
		array_printf(key, "%s %u", a, port_a);
		drop_cable(cables, key);
	} else if (sscanf(line, "no-node %23s", a) == 1) {
		array_printf(key, "%s ", a);
		rows_drop(nodes, a);
		drop_all(ports, key, false);
		drop_all(cables, key, false);
		drop_all(cables, key, true);
	} else if (sscanf(line, "%15s %23s %n", type, a, &used) == 2 && used) {
		array_printf(value, "%s %s", type, line + used);
		put(nodes, a, value);
	}
}

static void take_event(struct reader *r, const char *line)
{
	json_t *event = json_loads(line, 0, NULL);
	char key[24];

	array_printf(key, "%" JSON_INTEGER_FORMAT,
		     json_integer_value(json_object_get(event, "seq")));
	if (event)
		put(r->kind, key, line);
	json_decref(event);
}

static const struct {
	const char *file, *kind;
	void (*take)(struct reader *r, const char *line); /* NULL = take_plain() */
} files[] = {
	{ "aliases", "aliases", take_alias },
	{ "cables", "cables", take_cable },
	{ "cordons", "cordons", NULL },
	{ "events-0", "events", take_event },
	{ "events-1", "events", take_event },
	{ "events-2", "events", take_event },
	{ "events-3", "events", take_event },
	{ "events-4", "events", take_event },
	{ "events-5", "events", take_event },
	{ "events-6", "events", take_event },
	{ "events-7", "events", take_event },
	{ "generalinfo", "generalinfo", NULL },
	{ "groups", "groups", take_group },
	{ "guid2mkey", "guid2mkey", NULL },
	{ "held", "held", take_held },
	{ "hosts", "hosts", NULL },
	{ "lids", "lids", NULL },
	{ "nvlink", "nvlink", NULL },
	{ "nvswitch", "nvswitch", NULL },
	{ "overrides", "overrides", NULL },
	{ "partitions", "partitions", NULL },
	{ "peer_keys", "peer_keys", NULL },
	{ "plan", "plan", NULL },
	{ "quarantine", "quarantine", NULL },
	{ "sa_key", "sa_key", NULL },
	{ "services", "services", take_service },
	{ "subscriptions", "subscriptions", take_subscription },
	{ "takeovers", "takeovers", NULL },
	{ "unshared", "unshared", NULL },
	{ "untrue", "untrue", NULL },
};
static const char *const others[] = { "manifest", "journal-0", "journal-1", "tables" };

/* UINT_MAX = none. */
static unsigned file_of(const char *name)
{
	unsigned i = 0;

	while (i < ARRAY_SIZE(files) && strcmp(files[i].file, name))
		i++;
	return i < ARRAY_SIZE(files) ? i : UINT32_MAX;
}

static void take_line(struct old_files *old, unsigned file, struct reader *r, const char *line)
{
	r->old = old;
	r->kind = rows_kind(&old->rows, files[file].kind, true);
	if (!line[strspn(line, " \t")] || *line == '#')
		return;
	if (files[file].take)
		files[file].take(r, line);
	else
		take_plain(r, line);
}

static void take_file(struct old_files *old, unsigned file, char *text)
{
	struct rows_kind *kind = rows_kind(&old->rows, files[file].kind, true);
	struct reader r = { .record = false };
	char *rest = NULL;

	if (state_rule(files[file].kind)->words == KIND_TEXT) {
		put(kind, "text", text);
		return;
	}
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		take_line(old, file, &r, line);
}

/* ---- The journal ----------------------------------------------------------------------------- */

struct entry {
	uint64_t seq;
	char what[16], name[64];
	const char *text;
};

/* Takes the line apart; it ends with a 0. False: it is not what was written. */
static bool parse(const char *line, struct entry *e)
{
	uint64_t sum;
	int body = 0, text = 0;

	if (sscanf(line, "%16" SCNx64 " %n%" SCNu64 " %15s %63s%n", &sum, &body, &e->seq, e->what,
		   e->name, &text) != 4 ||
	    sum != sum_of(line + body, strlen(line + body)) || line[text] != ' ')
		return false;
	e->text = line + text + 1;
	return true;
}

/* First what was saved, then what was not: of one segment. */
static void replay(struct old_files *old, char *text, bool take, uint64_t saved[])
{
	struct reader r = { .record = true };
	char *next = text;
	struct entry e;

	for (char *line = text, *end; *line && (end = strchr(line, '\n')); line = next) {
		bool fine;
		unsigned file;

		*end = '\0';
		fine = parse(line, &e);
		file = fine ? file_of(e.name) : UINT32_MAX;
		next = end + 1;
		if (!fine && take)
			lose(old, "journal", "it is damaged: what stands behind that is lost", "");
		if (!fine) {
			*end = '\n';
			return;
		}
		if (file != UINT32_MAX && !take && !strcmp(e.what, "saved"))
			saved[file] = strtoull(e.text, NULL, 10);
		else if (file != UINT32_MAX && take && !strcmp(e.what, "record") &&
			 e.seq > saved[file])
			take_line(old, file, &r, e.text);
		*end = '\n';
	}
}

static void read_journal(struct old_files *old, const char *folder)
{
	uint64_t saved[ARRAY_SIZE(files)] = { 0 };
	char *text[2];
	uint64_t first[2] = { 0, 0 };
	size_t length;

	for (unsigned i = 0; i < 2; i++) {
		char *path = mem_printf("%s/journal-%u", folder, i);

		text[i] = mem_read_path(path, &length);
		if (text[i])
			sscanf(text[i], "%*s %" SCNu64, &first[i]);
		free(path);
	}
	for (unsigned pass = 0; pass < 4; pass++) {
		unsigned i = (pass & 1) ^ (first[1] < first[0]);

		if (text[i])
			replay(old, text[i], pass >= 2, saved);
	}
	free(text[0]);
	free(text[1]);
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* What the manifest has of a file; NULL = it was never written. The caller's. */
static char *summary_of(const char *manifest, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = manifest; line && *line;
	     line += strcspn(line, "\n"), line += !!*line)
		if (!strncmp(line, name, length) && strchr(" \n", line[length]))
			return mem_printf("%.*s",
					  (int)strcspn(line + length + (line[length] == ' '), "\n"),
					  line + length + (line[length] == ' '));
	return NULL;
}

bool old_files_read(const char *folder, struct old_files *old)
{
	char *path = mem_printf("%s/manifest", folder);
	const char *why;
	char *manifest = load(path, "manifest", &why);

	free(path);
	for (unsigned i = 0; i < ARRAY_SIZE(files); i++) {
		char *text, *had = summary_of(manifest, files[i].file);

		path = mem_printf("%s/%s", folder, files[i].file);
		text = load(path, files[i].file, &why);
		old->count += text || why;
		if (text)
			take_file(old, i, text);
		if (!text && (why || had)) {
			struct rows_kind *kind = rows_kind(&old->rows, files[i].kind, true);

			lose(old, files[i].file, why ? why : "the file is missing", had ? had : "");
			old->lost_kinds[kind - old->rows.kinds] = true;
		}
		free(text);
		free(had);
		free(path);
	}
	read_journal(old, folder);
	free(manifest);
	return old->count || old->rows.nkinds;
}

void old_files_put_away(const char *folder)
{
	char *away = mem_printf("%s/" AWAY, folder);

	mkdir(away, 0700);
	for (unsigned i = 0; i < ARRAY_SIZE(files) + ARRAY_SIZE(others); i++) {
		const char *name =
			i < ARRAY_SIZE(files) ? files[i].file : others[i - ARRAY_SIZE(files)];
		char *from = mem_printf("%s/%s", folder, name),
		     *to = mem_printf("%s/%s", away, name);

		rename(from, to);
		free(from);
		free(to);
	}
	free(away);
}

void old_files_fini(struct old_files *old)
{
	rows_fini(&old->rows);
	free(old->lost);
}
