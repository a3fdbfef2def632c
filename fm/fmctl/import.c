/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * import-opensm: the steps, options into keys, files, the report, and the folder that is written.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <strings.h>
#include <unistd.h>
#include <sys/stat.h>
#include "fm/conf/conf.h"
#include "fm/fmctl/table.h"
#include "fm/opensm/osm_options.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"
#include "topology/snapshot/naming.h"

struct import {
	char *const *dirs; /* where OpenSM's files are looked for, in this order */
	int ndirs;
	struct osm_conf conf;
	struct osm_lids lids;
	struct osm_guids mkeys;

	const char *out; /* the folder that is made */
	char *place;	 /* its real path */
	char *made;	 /* a folder beside it, which replaces it when all is written */
	char *text;	 /* fmd.conf so far: lines that were checked */
	json_t *read, *missing, *taken, *not_taken;
	json_t *warnings;  /* of keys that are taken, and mean more here than with OpenSM */
	unsigned standard; /* options of opensm.conf that are OpenSM's defaults */
};

/* ---- The folder that is written -------------------------------------------------------------- */

/*
 * The folder that is written: OUT/fmd.conf, files of OUT/state and a marker, by which a later run
 * knows that it may replace it. All is made in a folder beside it first, which then takes its
 * place: what can't be finished leaves OUT as it was. Nothing is written to /etc/fmd, /var/lib/fmd,
 * a folder of somebody else, or one in which a fmd has run.
 */

#define MARKER "made-by-fmctl-import-opensm"

static int refuse(const char *path, const char *why)
{
	fprintf(stderr, "fmctl: import-opensm: %s: %s\n", path, why);
	return -1;
}

static int failed(const char *path)
{
	return refuse(path, strerror(errno));
}

/* ---- May it be written? ---------------------------------------------------------------------- */

/* The folder's real path, also where its last part is still to come; the caller's. NULL: errno. */
static char *real_path(const char *path)
{
	char *whole = realpath(path, NULL), *copy, *slash, *parent, *joined;

	if (whole || errno != ENOENT)
		return whole;
	copy = mem_strdup(path);
	for (size_t len = strlen(copy); len > 1 && copy[len - 1] == '/'; len--)
		copy[len - 1] = '\0';
	slash = strrchr(copy, '/');
	if (slash)
		*slash = '\0';
	parent = realpath(!slash ? "." : slash == copy ? "/" : copy, NULL);
	joined = parent ? mem_printf("%s/%s", strcmp(parent, "/") ? parent : "",
				     slash ? slash + 1 : copy)
			: NULL;
	free(parent);
	free(copy);
	return joined;
}

static bool is_within(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return !strncmp(path, folder, len) && (!path[len] || path[len] == '/');
}

/* Whether the folder has nothing but these; one that is not there has nothing. */
static bool has_only(const char *folder, const char *const *names)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	bool only = true;

	while (only && dir && (entry = readdir(dir))) {
		unsigned i = 0;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		while (names[i] && strcmp(names[i], entry->d_name))
			i++;
		only = names[i];
	}
	if (dir)
		closedir(dir);
	return only;
}

static enum fmctl_exit import(struct import *im);

/*
 * begins the folder, and puts it in its place: 0, or -1 with the reason on stderr.
 * end: removes a folder that is not in its place, and frees its names.
 */
static int import_out_begin(struct import *im)
{
	static const char *const in_out[] = { MARKER, "fmd.conf", "state", NULL };
	static const char *const in_state[] = { "lids", "guid2mkey", NULL };
	char *place = im->place = real_path(im->out), *state, *marker;
	const char *why = NULL; /* it may be made, or replaced */

	if (!place)
		return failed(im->out);
	state = mem_printf("%s/state", place);
	marker = mem_printf("%s/%s", place, MARKER);
	if (is_within(place, "/etc/fmd") || is_within(place, "/var/lib/fmd"))
		why = "is a directory that fmd uses: choose another --output, and copy from there "
		      "what you want";
	else if (!access(place, F_OK) && access(marker, F_OK))
		why = "exists and was not made by import-opensm: choose another --output";
	else if (!has_only(state, in_state))
		why = "an fmd has run with the state in it: choose another --output";
	else if (!has_only(place, in_out))
		why = "has files that are not import-opensm's: choose another --output";
	free(state);
	free(marker);
	if (why)
		return refuse(im->out, why);
	im->made = mem_printf("%s.XXXXXX", im->place);
	if (mkdtemp(im->made))
		return 0;
	failed(im->made);
	free(im->made);
	im->made = NULL;
	return -1;
}

/* ---- Files ----------------------------------------------------------------------------------- */

typedef void write_fn(const struct import *im, FILE *out);

/* Its content may be keys: for its owner alone. */
static int write_file(const struct import *im, const char *name, write_fn *write)
{
	char *path = mem_printf("%s/%s", im->made, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), status = -1;
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (out) {
		write(im, out);
		status = fflush(out) || fsync(fd) || ferror(out) ? -1 : 0;
		status = fclose(out) ? -1 : status;
	}
	if (status)
		failed(path);
	free(path);
	return status;
}

static void write_try(const struct import *im, FILE *out)
{
	fputs(im->text, out);
}

static void write_reasons(const char *title, const json_t *rows, FILE *out)
{
	if (json_array_size(rows))
		fprintf(out, "\n# %s:\n", title);
	JSON_EACH (row, rows)
		fprintf(out, "# %s %s: %s\n", json_string_value(json_object_get(row, "option")),
			json_string_value(json_object_get(row, "value")),
			json_string_value(json_object_get(row, "why")));
}

static void write_conf(const struct import *im, FILE *out)
{
	fputs("# fmd.conf, made of OpenSM's files by `fmctl import-opensm`. Options that are\n# "
	      "not listed have fmd's default; see fmd.conf(5).\n#\n"
	      "# LIDs and M_Keys are in the directory state beside this file. To use them, copy "
	      "its "
	      "files\n"
	      "# to /var/lib/fmd before the first start, or set state_dir to that directory for a "
	      "trial.\n\n",
	      out);
	fputs(im->text, out);
	write_reasons("Warnings", im->warnings, out);
	write_reasons("Not taken", im->not_taken, out);
}

/* The form of fmd's file of LIDs. */
static void write_lids(const struct import *im, FILE *out)
{
	for (uint32_t i = 0; i < im->lids.count; i++) {
		const struct osm_lid *it = &im->lids.list[i];

		fprintf(out, "0x%016" PRIx64 " %" PRIu32 " %d\n", it->port, it->first,
			__builtin_ctz(it->last - it->first + 1));
	}
}

static void write_mkeys(const struct import *im, FILE *out)
{
	for (uint32_t i = 0; i < im->mkeys.count; i++)
		fprintf(out, "0x%016" PRIx64 " 0x%016" PRIx64 "\n", im->mkeys.list[i].guid,
			im->mkeys.list[i].key);
}

static void write_marker(const struct import *im, FILE *out)
{
	fputs("A later `fmctl import-opensm` may replace this directory.\n", out);
}

/* ---- Taking its place ------------------------------------------------------------------------ */

static void remove_folder(const char *folder)
{
	static const char *const names[] = { "state/lids", "state/guid2mkey", "state", "fmd.conf",
					     MARKER };

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		char *path = mem_printf("%s/%s", folder, names[i]);

		if (!strcmp(names[i], "state"))
			rmdir(path);
		else
			unlink(path);
		free(path);
	}
	rmdir(folder);
}

static int import_out_write(struct import *im)
{
	char *old = mem_printf("%s.old", im->made), *state = mem_printf("%s/state", im->made);
	int status = write_file(im, "fmd.conf", write_conf);

	if (!status && mkdir(state, 0700))
		status = failed(state);
	if (!status && im->lids.count)
		status = write_file(im, "state/lids", write_lids);
	if (!status && im->mkeys.count)
		status = write_file(im, "state/guid2mkey", write_mkeys);
	if (!status)
		status = write_file(im, MARKER, write_marker);
	if (!status && rename(im->place, old) && errno != ENOENT)
		status = failed(im->place);
	if (!status && rename(im->made, im->place)) {
		status = failed(im->place);
		rename(old, im->place);
	}
	if (!status) {
		remove_folder(old);
		free(im->made);
		im->made = NULL;
	}
	free(old);
	free(state);
	return status;
}

static void import_out_end(struct import *im)
{
	if (im->made)
		remove_folder(im->made);
	free(im->made);
	free(im->place);
	im->made = im->place = NULL;
}

/* ---- Where files are, and what was found of them --------------------------------------------- */

/* An absolute path, the caller's; NULL = no file there. */
static char *file_at(const char *path)
{
	struct stat st;

	return stat(path, &st) || !S_ISREG(st.st_mode) ? NULL : realpath(path, NULL);
}

/* The path of a file in one of the folders, or `else_at`; the caller frees it. NULL = none. */
static char *import_find(const struct import *im, const char *name, const char *else_at)
{
	char *found = NULL;

	for (int i = 0; i < im->ndirs && !found; i++) {
		char *path = mem_printf("%s/%s", im->dirs[i], name);

		found = file_at(path);
		free(path);
	}
	if (!found && else_at && *else_at == '/')
		found = file_at(else_at);
	return found;
}

/* Add a row to `read` (its text by the format), and to `missing`. */
static void import_note_read(struct import *im, const char *what, const char *path,
			     const char *format, ...)
{
	char said[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(said, sizeof(said), format, arguments);
	va_end(arguments);
	json_array_append_new(im->read,
			      json_pack("{ss ss ss}", "what", what, "path", path, "said", said));
}

static void import_note_missing(struct import *im, const char *what)
{
	json_array_append_new(im->missing, json_string(what));
}

/* ---- The report ------------------------------------------------------------------------------ */

static void show_options_of(const json_t *rows, const char *title)
{
	JSON_EACH (row, rows)
		printf("%-10s %s %s: %s\n", title, table_text(row, "option"),
		       table_text(row, "value"), table_text(row, "why"));
}

/* ---- The table ------------------------------------------------------------------------------- */

/*
 * Options of opensm.conf become keys of fmd.conf, a line each. A line stands only when fmd takes
 * the file with it: what is out of fmd's bounds is named with fmd's own reason, and left out.
 */

#define SHORTEST_LEASE	"30" /* m_key_lease_period takes no less but 0 */
#define MASTER_PRIORITY 14   /* default of master_sm_priority, which opensm.conf may not have */

static void not_taken(struct import *im, const char *option, const char *value, const char *why)
{
	json_array_append_new(im->not_taken, json_pack("{ss ss ss}", "option", option, "value",
						       value, "why", why));
}

/* `setting` is the value as fmd.conf has it. */
static bool set_key(struct import *im, const char *key, const char *setting, const char *option,
		    const char *value)
{
	char *text = mem_printf("%s%s = %s;  # %s %s\n", im->text, key, setting, option, value);
	struct import aside = { .made = im->made, .text = text };
	char *path = mem_printf("%s/fmd.conf", im->made), err[512] = "could not be written";
	struct conf conf;
	bool good = !write_file(&aside, "fmd.conf", write_try) &&
		    !conf_load(path, &conf, err, sizeof(err));
	size_t len = strlen(path);
	const char *reason = err;
	char *why;

	if (good) {
		free(im->text);
		im->text = text;
		json_array_append_new(im->taken,
				      json_pack("{ss ss ss ss}", "option", option, "value", value,
						"key", key, "setting", setting));
	} else {
		if (!strncmp(err, path, len) && err[len] == ':')
			reason = err + len + 1 + strspn(err + len + 1, "0123456789: ");
		why = mem_printf("fmd rejects it: %s", reason);
		not_taken(im, option, value, why);
		free(why);
		free(text);
	}
	free(path);
	return good;
}

static char *quoted(const char *text)
{
	char *copy = mem_alloc(2 * strlen(text) + 3, 1), *to = copy;

	*to++ = '"';
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			*to++ = '\\';
		*to++ = *text;
	}
	*to = '"';
	return copy;
}

/* The value as fmd.conf writes it, the caller's; NULL = it is none of that form. */
static char *formed(enum osm_form form, const char *value)
{
	char *end;
	long long number = strtoll(value, &end, 0);

	switch (form) {
	case OSM_NUMBER:
		if (!strcasecmp(value, "TRUE") || !strcasecmp(value, "FALSE"))
			return mem_printf("%d", osm_is_true(value));
		return *value && !*end ? mem_printf("%lld", number) : NULL;
	case OSM_HEX:
		return *value ? mem_printf("\"0x%016" PRIx64 "\"",
					   (uint64_t)strtoull(value, NULL, 0))
			      : NULL;
	case OSM_FLAG:
		return mem_strdup(osm_is_true(value) ? "true" : "false");
	default:
		return quoted(value);
	}
}

/* ---- Options that are no mere copies --------------------------------------------------------- */

/* What the key was set to, as fmd.conf has it; NULL = it was not. */
static const char *setting_of(const struct import *im, const char *key)
{
	JSON_EACH (row, im->taken)
		if (!strcmp(json_string_value(json_object_get(row, "key")), key))
			return json_string_value(json_object_get(row, "setting"));
	return NULL;
}

static bool take_otherwise(struct import *im, const char *name, const char *value)
{
	if (!strcmp(name, "routing_engine")) {
		/* The first engine of the list that fmd has too. */
		char *list = mem_strdup(value), *rest = list, *engine;
		const char *found = NULL;

		while (!found && (engine = strtok_r(rest, ", \t", &rest)))
			found = !strcmp(engine, "ftree")  ? "\"ftree\""
				: !strcmp(engine, "updn") ? "\"updn\""
							  : NULL;
		if (found)
			set_key(im, name, found, name, value);
		else
			not_taken(im, name, value, osm_option_find(name)->note);
		free(list);
	} else if (!strcmp(name, "no_partition_enforcement"))
		set_key(im, "part_enforce", "\"off\"", name, value);
	else if (!strcmp(name, "sweep_interval") && strtoll(value, NULL, 0) == 0)
		not_taken(im, name, value, osm_option_find(name)->note);
	else if (!strcmp(name, "m_key_lease_period") && strtoll(value, NULL, 0) > 0 &&
		 strtoll(value, NULL, 0) < strtoll(SHORTEST_LEASE, NULL, 0))
		set_key(im, name, SHORTEST_LEASE, name, value);
	else
		return false;
	return true;
}

static void take_setting(struct import *im, const struct osm_setting *s)
{
	const struct osm_option *option = osm_option_find(s->name);
	char *why;

	if (!option) {
		not_taken(im, s->name, s->value, "not an option of OpenSM 3.3");
	} else if (option->fate == OSM_FILE) {
		return; /* import_named_files() */
	} else if (osm_option_is_standard(option, s->value) || osm_is_null(s->value)) {
		im->standard++;
	} else if (option->fate == OSM_TAKEN) {
		char *setting = formed(option->form, s->value);

		if (setting_of(im, option->key))
			not_taken(im, s->name, s->value, "already set by another option");
		else if (take_otherwise(im, s->name, s->value))
			;
		else if (setting)
			set_key(im, option->key, setting, s->name, s->value);
		else
			not_taken(im, s->name, s->value, "not a number");
		free(setting);
	} else {
		why = mem_printf("%s%s%s", osm_fate_name(option->fate), *option->note ? ": " : "",
				 option->note);
		not_taken(im, s->name, s->value, why);
		free(why);
	}
}

/*
 * A priority above the one that a master has: this manager takes the fabric over whenever it
 * starts, also from a master that works.
 */
static void warn_of_priority(struct import *im)
{
	const char *own = setting_of(im, "sm_priority");
	const char *master = setting_of(im, "master_sm_priority");
	char *why;

	if (!own || atoi(own) <= (master ? atoi(master) : MASTER_PRIORITY))
		return;
	why = mem_printf("higher than master_sm_priority (%s): this manager takes the fabric over "
			 "each time that it starts, also from a master that works; of two with %s "
			 "the one with the lower port GUID does. With fmd's default, 0, the master "
			 "stays master",
			 master ? master : "14 by default", own);
	json_array_append_new(im->warnings, json_pack("{ss ss ss}", "option", "sm_priority",
						      "value", own, "why", why));
	free(why);
}

/* ---- M_Keys ---------------------------------------------------------------------------------- */

/* Ports that hold another key than m_key, from before: most of them have one and the same. */
static void import_mkeys(struct import *im, const struct osm_guids *mkeys)
{
	const char *text = osm_conf_value(&im->conf, "m_key");
	uint64_t own = text ? strtoull(text, NULL, 0) : 0, old = 0;
	unsigned most = 0, others = 0;
	char value[64];

	for (uint32_t i = 0; i < mkeys->count; i++) {
		uint64_t key = mkeys->list[i].key;
		unsigned count = 0;

		for (uint32_t j = 0; key && key != own && j < mkeys->count; j++)
			count += mkeys->list[j].key == key;
		others += count > 0;
		if (count > most) {
			most = count;
			old = key;
		}
	}
	if (!others)
		return;
	array_printf(value, "%u of %u ports", others, mkeys->count);
	if (own) {
		char *setting = mem_printf("\"0x%016" PRIx64 "\"", old);

		set_key(im, "old_m_key", setting, "guid2mkey", value);
		free(setting);
	} else {
		not_taken(im, "guid2mkey", value,
			  "they hold an M_Key, and opensm.conf has no m_key for them");
	}
}

/* ---- Files that options name ----------------------------------------------------------------- */

/* Where the option's file is, the caller's: as a folder has it, else as the option says. */
static char *named_file(struct import *im, const char *option, const char *usual)
{
	const char *value = osm_conf_value(&im->conf, option), *name = usual;

	if (value && osm_is_null(value))
		value = NULL;
	if (value)
		name = strrchr(value, '/') ? strrchr(value, '/') + 1 : value;
	return name ? import_find(im, name, value) : NULL;
}

static bool is_named(const struct import *im, const char *option)
{
	const char *value = osm_conf_value(&im->conf, option);

	return value && !osm_is_null(value) &&
	       !osm_option_is_standard(osm_option_find(option), value);
}

static bool set_path(struct import *im, const char *option, const char *path)
{
	char *setting = quoted(path);
	bool good = set_key(im, osm_option_find(option)->key, setting, option, path);

	free(setting);
	return good;
}

static void take_names(struct import *im)
{
	char *path = named_file(im, "node_name_map_name", NULL), err[512];
	struct node_names *names;

	if (!path)
		path = import_find(im, "node-name-map", NULL);
	if (!path)
		path = import_find(im, "ib-node-name-map", NULL);
	if (!path) {
		import_note_missing(im, "node-name-map");
		return;
	}
	names = node_names_read(path, err, sizeof(err));
	if (set_path(im, "node_name_map_name", path))
		import_note_read(im, "node-name-map", path, "%u names, stays where it is",
				 node_names_count(names));
	node_names_free(names);
	free(path);
}

static void take_guid_file(struct import *im, const char *option)
{
	char *path = is_named(im, option) ? named_file(im, option, NULL) : NULL;
	struct osm_guids guids;

	if (is_named(im, option) && !path)
		import_note_missing(im, osm_conf_value(&im->conf, option));
	if (!path)
		return;
	if (osm_guids_read(path, false, &guids)) {
		import_note_missing(im, path);
	} else {
		import_note_read(im, option, path, "%u GUIDs%s", guids.count,
				 guids.bad_line ? ", and invalid lines" : "");
		if (!strcmp(option, "io_guid_file")) {
			/* As patterns of storage_nodes, which may be GUIDs. */
			char *list = mem_strdup("\"");

			for (uint32_t i = 0; i < guids.count; i++) {
				char *longer =
					mem_printf("%s0x%016" PRIx64 "%s", list, guids.list[i].guid,
						   i + 1 < guids.count ? " " : "\"");

				free(list);
				list = longer;
			}
			if (guids.count)
				set_key(im, "storage_nodes", list, "io_guid_file", path);
			free(list);
		} else
			not_taken(im, option, path, osm_option_find(option)->note);
		free(guids.list);
	}
	free(path);
}

static void take_levels(struct import *im)
{
	char *path = named_file(im, "qos_policy_file", "qos-policy.conf");
	struct osm_levels levels;

	if (!path && is_named(im, "qos_policy_file"))
		import_note_missing(im, osm_conf_value(&im->conf, "qos_policy_file"));
	if (!path)
		return;
	if (!osm_levels_read(path, &levels)) {
		import_note_read(im, "qos-policy.conf", path, "%u levels", levels.count);
		for (uint32_t i = 0; i < levels.count; i++) {
			char *value = mem_printf("%s, SL %d", levels.list[i].name,
						 levels.list[i].sl < 0 ? 0 : levels.list[i].sl);

			not_taken(im, "qos-level", value,
				  "paths have the SL of their partition: sl= in partitions.conf");
			free(value);
		}
		free(levels.list);
	}
	free(path);
}

/* ---- The whole ------------------------------------------------------------------------------- */

/*
 * fmctl import-opensm: converts OpenSM's configuration and state into fmd.conf and a
 * state_dir.
 *
 * Files are searched in the given folders, in this order (Debian has /etc/opensm and
 * /var/cache/opensm), then at the path in opensm.conf. Missing files are listed. Options that
 * cannot be taken are listed with the reason, in the report and in the fmd.conf that is made.
 */

/* ---- What there is --------------------------------------------------------------------------- */

/* Reads opensm.conf and guid2lid. False: none of them is there. */
static bool read_both(struct import *im)
{
	char *conf = import_find(im, "opensm.conf", NULL),
	     *lids = import_find(im, "guid2lid", NULL);
	bool has_conf = conf && !osm_conf_read(conf, &im->conf);
	bool has_lids = lids && !osm_lids_read(lids, &im->lids);
	char more[64] = "";

	if (has_conf)
		import_note_read(im, "opensm.conf", conf, "%u options", im->conf.count);
	else
		import_note_missing(im, "opensm.conf");
	if (im->lids.left_out)
		array_printf(more, "; %u left out, the first in line %u", im->lids.left_out,
			     im->lids.left_out_line);
	if (has_lids)
		import_note_read(im, "guid2lid", lids, "LIDs of %u %s%s", im->lids.count,
				 words_plural(im->lids.count, "port", "ports"), more);
	else
		import_note_missing(im, "guid2lid");
	free(conf);
	free(lids);
	return has_conf || has_lids;
}

static enum fmctl_exit import(struct import *im)
{
	if (!read_both(im)) {
		fprintf(stderr, "fmctl: import-opensm: neither opensm.conf nor guid2lid is in");
		for (int i = 0; i < im->ndirs; i++)
			fprintf(stderr, " %s", im->dirs[i]);
		fputc('\n', stderr);
		return FMCTL_FAILED;
	}
	if (import_out_begin(im))
		return FMCTL_FAILED;

	/* The options of opensm.conf in order, of a name the last, as in OpenSM. */
	for (uint32_t i = 0; i < im->conf.count; i++)
		if (osm_conf_value(&im->conf, im->conf.settings[i].name) ==
		    im->conf.settings[i].value)
			take_setting(im, &im->conf.settings[i]);
	warn_of_priority(im);

	char *path = named_file(im, "partition_config_file", "partitions.conf");

	if (!path)
		import_note_missing(im, "partitions.conf");
	else if (set_path(im, "partition_config_file", path))
		import_note_read(im, "partitions.conf", path, "stays where it is");
	free(path);

	take_names(im);
	take_guid_file(im, "root_guid_file");
	take_guid_file(im, "cn_guid_file");
	take_guid_file(im, "io_guid_file");
	take_levels(im);

	char *keys = import_find(im, "guid2mkey", NULL);

	if (keys && !osm_guids_read(keys, true, &im->mkeys)) {
		import_note_read(im, "guid2mkey", keys, "keys of %u %s", im->mkeys.count,
				 words_plural(im->mkeys.count, "port", "ports"));
		import_mkeys(im, &im->mkeys);
	} else {
		import_note_missing(im, "guid2mkey");
	}
	free(keys);

	return import_out_write(im) ? FMCTL_FAILED : FMCTL_DONE;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static enum fmctl_exit import_to(const struct fmctl *ctl, char *const *dirs, int ndirs,
				 const char *out)
{
	struct import im = { .dirs = dirs,
			     .ndirs = ndirs,
			     .out = out,
			     .text = mem_strdup(""),
			     .read = json_array(),
			     .missing = json_array(),
			     .taken = json_array(),
			     .not_taken = json_array(),
			     .warnings = json_array() };
	enum fmctl_exit status = import(&im);

	if (status == FMCTL_DONE && ctl->json) {
		json_t *doc =
			json_pack("{ss sO sO sO sO sO si si si}", "output", im.out, "read", im.read,
				  "missing", im.missing, "taken", im.taken, "not_taken",
				  im.not_taken, "warnings", im.warnings, "standard", im.standard,
				  "ports", im.lids.count, "ports_left_out", im.lids.left_out);

		show_json(ctl, doc);
		json_decref(doc);
	} else if (status == FMCTL_DONE) {
		size_t keys = json_array_size(im.taken);

		JSON_EACH (row, im.read)
			printf("read       %-16s %s: %s\n", table_text(row, "what"),
			       table_text(row, "path"), table_text(row, "said"));
		JSON_EACH (row, im.missing)
			printf("missing    %s\n", json_string_value(row));
		JSON_EACH (row, im.taken)
			printf("taken      %s %s: %s = %s\n", table_text(row, "option"),
			       table_text(row, "value"), table_text(row, "key"),
			       table_text(row, "setting"));
		show_options_of(im.not_taken, "not taken");
		show_options_of(im.warnings, "warning");
		printf("as is      %u options are OpenSM's defaults and need nothing\n",
		       im.standard);
		printf("written    %s/fmd.conf: %zu %s\n", im.out, keys,
		       words_plural(keys, "key", "keys"));
		if (im.lids.count)
			printf("written    %s/state/lids: %u %s\n", im.out, im.lids.count,
			       words_plural(im.lids.count, "port", "ports"));
	}
	import_out_end(&im);
	osm_conf_fini(&im.conf);
	free(im.lids.list);
	free(im.mkeys.list);
	free(im.text);
	json_decref(im.read);
	json_decref(im.missing);
	json_decref(im.taken);
	json_decref(im.not_taken);
	json_decref(im.warnings);
	return status;
}

static enum fmctl_exit show_options(const struct fmctl *ctl)
{
	json_t *rows = json_array();
	const struct osm_option *o;

	for (size_t i = 0; (o = osm_option(i)); i++) {
		if (!ctl->json)
			printf("%-40s %s%s%s%s%s\n", o->name, osm_fate_name(o->fate),
			       o->key ? " as " : "", o->key ?: "", *o->note ? ": " : "", o->note);
		json_array_append_new(rows,
				      json_pack("{ss ss* ss ss ss}", "option", o->name, "standard",
						o->standard, "fate", osm_fate_name(o->fate), "key",
						o->key ?: "", "note", o->note));
	}
	if (ctl->json)
		show_json(ctl, rows);
	json_decref(rows);
	return FMCTL_DONE;
}

static enum fmctl_exit run_import(const struct fmctl *ctl, int argc, char **argv)
{
	static const struct option longs[] = { { "output", required_argument, NULL, 'o' },
					       { "options", no_argument, NULL, 'l' },
					       { 0 } };
	struct stat st;
	char *out = NULL;
	bool list = false;
	enum fmctl_exit status;
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == '?')
			return FMCTL_USAGE;
		if (c == 'l')
			list = true;
		else
			out = optarg;
	}
	if (list)
		return optind == argc && !out ? show_options(ctl) : FMCTL_USAGE;
	if (optind == argc || (out && !*out))
		return FMCTL_USAGE;
	for (char **dir = argv + optind; *dir; dir++)
		if (stat(*dir, &st) || (!S_ISDIR(st.st_mode) && (errno = ENOTDIR))) {
			fprintf(stderr, "fmctl: import-opensm: %s: %s\n", *dir, strerror(errno));
			return FMCTL_FAILED;
		}
	out = out ? mem_strdup(out) : mem_printf("%s/fmd", argv[optind]);
	status = import_to(ctl, argv + optind, argc - optind, out);
	free(out);
	return status;
}

const struct fmctl_view import_view = { .run = run_import };
