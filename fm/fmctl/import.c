/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/fmctl/import.h"
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include "topology/base/text.h"
#include "fm/fmctl/fmctl.h"
#include "topology/base/mem.h"
#include "topology/snapshot/naming.h"

/* Where files are, and what was found of them. */

/* An absolute path, the caller's; NULL = no file there. */
static char *file_at(const char *path)
{
	struct stat st;

	return stat(path, &st) || !S_ISREG(st.st_mode) ? NULL : realpath(path, NULL);
}

/*
 * import.c: the path of a file in one of the folders, or `else_at`; the caller frees it.
 * NULL = there is none.
 */
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

/* The report of `fmctl import-opensm`, and its table of options. */

/* import.c: new documents, owned by the caller, of the import and of all options; as text. */
static json_t *import_document(const struct import *im)
{
	return json_pack("{ss sO sO sO sO sO si si si}", "output", im->out, "read", im->read,
			 "missing", im->missing, "taken", im->taken, "not_taken", im->not_taken,
			 "warnings", im->warnings, "standard", (int)im->standard, "ports",
			 (int)im->lids.count, "ports_left_out", (int)im->lids.left_out);
}

static const char *text(const json_t *row, const char *key)
{
	const char *value = json_string_value(json_object_get(row, key));

	return value ? value : "";
}

static long long number(const json_t *doc, const char *key)
{
	return json_integer_value(json_object_get(doc, key));
}

static void import_show(const json_t *doc)
{
	size_t keys = json_array_size(json_object_get(doc, "taken")), i;
	const json_t *row;

	json_array_foreach (json_object_get(doc, "read"), i, row)
		printf("read       %-16s %s: %s\n", text(row, "what"), text(row, "path"),
		       text(row, "said"));
	json_array_foreach (json_object_get(doc, "missing"), i, row)
		printf("missing    %s\n", json_string_value(row));
	json_array_foreach (json_object_get(doc, "taken"), i, row)
		printf("taken      %s %s: %s = %s\n", text(row, "option"), text(row, "value"),
		       text(row, "key"), text(row, "setting"));
	json_array_foreach (json_object_get(doc, "not_taken"), i, row)
		printf("not taken  %s %s: %s\n", text(row, "option"), text(row, "value"),
		       text(row, "why"));
	json_array_foreach (json_object_get(doc, "warnings"), i, row)
		printf("warning    %s %s: %s\n", text(row, "option"), text(row, "value"),
		       text(row, "why"));
	printf("as is      %lld options are OpenSM's defaults and need nothing\n",
	       number(doc, "standard"));
	printf("written    %s/fmd.conf: %zu %s\n", text(doc, "output"), keys,
	       words_plural(keys, "key", "keys"));
	if (number(doc, "ports"))
		printf("written    %s/state/lids: %lld %s\n", text(doc, "output"),
		       number(doc, "ports"),
		       words_plural((uint64_t)number(doc, "ports"), "port", "ports"));
}

/* ---- The table ------------------------------------------------------------------------------- */

static const char *becomes(const struct osm_option *option)
{
	return option->key ? option->key : "";
}

static json_t *import_options_document(void)
{
	json_t *rows = json_array();
	const struct osm_option *o;

	for (size_t i = 0; (o = osm_option(i)); i++)
		json_array_append_new(rows,
				      json_pack("{ss ss* ss ss ss}", "option", o->name, "standard",
						o->standard, "fate", osm_fate_name(o->fate), "key",
						becomes(o), "note", o->note));
	return rows;
}

static void import_show_options(void)
{
	const struct osm_option *o;

	for (size_t i = 0; (o = osm_option(i)); i++) {
		printf("%-40s %s", o->name, osm_fate_name(o->fate));
		if (o->key)
			printf(" as %s", o->key);
		printf("%s%s\n", *o->note ? ": " : "", o->note);
	}
}

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
	char why[512] = "";
	bool good = import_try(im, text, why, sizeof(why));

	if (good) {
		free(im->text);
		im->text = text;
		json_array_append_new(im->taken,
				      json_pack("{ss ss ss ss}", "option", option, "value", value,
						"key", key, "setting", setting));
	} else {
		free(text);
		not_taken(im, option, value, why);
	}
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

/* The first engine of the list that fmd has too. */
static void take_engine(struct import *im, const char *value)
{
	char *list = mem_strdup(value), *rest = list, *name;
	const char *found = NULL;

	while (!found && (name = strtok_r(rest, ", \t", &rest)))
		if (!strcmp(name, "ftree") || !strcmp(name, "updn"))
			found = name;
	if (found) {
		char *setting = quoted(found);

		set_key(im, "routing_engine", setting, "routing_engine", value);
		free(setting);
	} else {
		not_taken(im, "routing_engine", value, osm_option_find("routing_engine")->note);
	}
	free(list);
}

/* What the key was set to, as fmd.conf has it; NULL = it was not. */
static const char *setting_of(const struct import *im, const char *key)
{
	const json_t *row;
	size_t i;

	json_array_foreach (im->taken, i, row)
		if (!strcmp(json_string_value(json_object_get(row, "key")), key))
			return json_string_value(json_object_get(row, "setting"));
	return NULL;
}

static bool is_short_lease(const char *value)
{
	return strtoll(value, NULL, 0) > 0 &&
	       strtoll(value, NULL, 0) < strtoll(SHORTEST_LEASE, NULL, 0);
}

static bool take_otherwise(struct import *im, const char *name, const char *value)
{
	if (!strcmp(name, "routing_engine"))
		take_engine(im, value);
	else if (!strcmp(name, "no_partition_enforcement"))
		set_key(im, "part_enforce", "\"off\"", name, value);
	else if (!strcmp(name, "sweep_interval") && strtoll(value, NULL, 0) == 0)
		not_taken(im, name, value, osm_option_find(name)->note);
	else if (!strcmp(name, "m_key_lease_period") && is_short_lease(value))
		set_key(im, name, SHORTEST_LEASE, name, value);
	else
		return false;
	return true;
}

static void take(struct import *im, const struct osm_option *option, const struct osm_setting *s)
{
	char *setting;

	if (setting_of(im, option->key)) {
		not_taken(im, s->name, s->value, "already set by another option");
		return;
	}
	if (take_otherwise(im, s->name, s->value))
		return;
	setting = formed(option->form, s->value);
	if (setting)
		set_key(im, option->key, setting, s->name, s->value);
	else
		not_taken(im, s->name, s->value, "not a number");
	free(setting);
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
		take(im, option, s);
	} else {
		why = mem_printf("%s%s%s", osm_fate_name(option->fate), *option->note ? ": " : "",
				 option->note);
		not_taken(im, s->name, s->value, why);
		free(why);
	}
}

/* The last of a name counts, as in OpenSM. */
static bool is_last(const struct osm_conf *conf, uint32_t i)
{
	return osm_conf_value(conf, conf->settings[i].name) == conf->settings[i].value;
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

/* import.c: takes the options of opensm.conf in order; files that they name; M_Keys. */
static void import_options(struct import *im)
{
	for (uint32_t i = 0; i < im->conf.count; i++)
		if (is_last(&im->conf, i))
			take_setting(im, &im->conf.settings[i]);
	warn_of_priority(im);
}

/* ---- M_Keys ---------------------------------------------------------------------------------- */

static unsigned count_key(const struct osm_guids *mkeys, uint64_t key)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < mkeys->count; i++)
		count += mkeys->list[i].key == key;
	return count;
}

/* Ports that hold another key than m_key, from before: most of them have one and the same. */
static void import_mkeys(struct import *im, const struct osm_guids *mkeys)
{
	const char *text = osm_conf_value(&im->conf, "m_key");
	uint64_t own = text ? strtoull(text, NULL, 0) : 0, old = 0;
	unsigned most = 0, others = 0;
	char value[64];

	for (uint32_t i = 0; i < mkeys->count; i++) {
		uint64_t key = mkeys->list[i].key;
		unsigned count = key && key != own ? count_key(mkeys, key) : 0;

		others += count > 0;
		if (count > most) {
			most = count;
			old = key;
		}
	}
	if (!others)
		return;
	snprintf(value, sizeof(value), "%u of %u ports", others, mkeys->count);
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

static void take_partitions(struct import *im)
{
	char *path = named_file(im, "partition_config_file", "partitions.conf");

	if (!path)
		import_note_missing(im, "partitions.conf");
	else if (set_path(im, "partition_config_file", path))
		import_note_read(im, "partitions.conf", path, "stays where it is");
	free(path);
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

/* As patterns of storage_nodes, which may be GUIDs. */
static void take_io_nodes(struct import *im, const char *path, const struct osm_guids *guids)
{
	char *setting, *list = mem_strdup("");

	for (uint32_t i = 0; i < guids->count; i++) {
		char *longer =
			mem_printf("%s%s0x%016" PRIx64, list, i ? " " : "", guids->list[i].guid);

		free(list);
		list = longer;
	}
	setting = quoted(list);
	if (guids->count)
		set_key(im, "storage_nodes", setting, "io_guid_file", path);
	free(setting);
	free(list);
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
		if (!strcmp(option, "io_guid_file"))
			take_io_nodes(im, path, &guids);
		else
			not_taken(im, option, path, osm_option_find(option)->note);
		osm_guids_fini(&guids);
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
		osm_levels_fini(&levels);
	}
	free(path);
}

static void import_named_files(struct import *im)
{
	take_partitions(im);
	take_names(im);
	take_guid_file(im, "root_guid_file");
	take_guid_file(im, "cn_guid_file");
	take_guid_file(im, "io_guid_file");
	take_levels(im);
}

/*
 * import: fmctl import-opensm: converts OpenSM's configuration and state into fmd.conf and a
 * state_dir.
 *
 * Files are searched in the given folders, in this order (Debian has /etc/opensm and
 * /var/cache/opensm), then at the path in opensm.conf. Missing files are listed. Options that
 * cannot be taken are listed with the reason, in the report and in the fmd.conf that is made.
 */

/* ---- What there is --------------------------------------------------------------------------- */

/* Whether the file is there and was read. */
static bool read_conf(struct import *im)
{
	char *path = import_find(im, "opensm.conf", NULL);
	bool good = path && !osm_conf_read(path, &im->conf);

	if (good)
		import_note_read(im, "opensm.conf", path, "%u options", im->conf.count);
	else
		import_note_missing(im, "opensm.conf");
	free(path);
	return good;
}

static bool read_lids(struct import *im)
{
	char *path = import_find(im, "guid2lid", NULL);
	bool good = path && !osm_lids_read(path, &im->lids);

	if (good && im->lids.left_out)
		import_note_read(im, "guid2lid", path,
				 "LIDs of %u %s; %u left out, the first in line %u", im->lids.count,
				 words_plural(im->lids.count, "port", "ports"), im->lids.left_out,
				 im->lids.left_out_line);
	else if (good)
		import_note_read(im, "guid2lid", path, "LIDs of %u %s", im->lids.count,
				 words_plural(im->lids.count, "port", "ports"));
	else
		import_note_missing(im, "guid2lid");
	free(path);
	return good;
}

static void read_mkeys(struct import *im)
{
	char *path = import_find(im, "guid2mkey", NULL);

	if (path && !osm_guids_read(path, true, &im->mkeys)) {
		import_note_read(im, "guid2mkey", path, "keys of %u %s", im->mkeys.count,
				 words_plural(im->mkeys.count, "port", "ports"));
		import_mkeys(im, &im->mkeys);
	} else {
		import_note_missing(im, "guid2mkey");
	}
	free(path);
}

static enum fmctl_exit import(struct import *im)
{
	bool conf = read_conf(im), lids = read_lids(im);

	if (!conf && !lids) {
		fprintf(stderr, "fmctl: import-opensm: neither opensm.conf nor guid2lid is in");
		for (int i = 0; i < im->ndirs; i++)
			fprintf(stderr, " %s", im->dirs[i]);
		fputc('\n', stderr);
		return FMCTL_FAILED;
	}
	if (import_out_begin(im))
		return FMCTL_FAILED;
	import_options(im);
	import_named_files(im);
	read_mkeys(im);
	return import_out_write(im) ? FMCTL_FAILED : FMCTL_DONE;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void import_fini(struct import *im)
{
	import_out_end(im);
	osm_conf_fini(&im->conf);
	osm_lids_fini(&im->lids);
	osm_guids_fini(&im->mkeys);
	free(im->text);
	json_decref(im->read);
	json_decref(im->missing);
	json_decref(im->taken);
	json_decref(im->not_taken);
	json_decref(im->warnings);
}

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

	if (status == FMCTL_DONE) {
		json_t *doc = import_document(&im);

		if (ctl->json)
			show_json(ctl, doc);
		else
			import_show(doc);
		json_decref(doc);
	}
	import_fini(&im);
	return status;
}

static enum fmctl_exit show_options(const struct fmctl *ctl)
{
	json_t *rows;

	if (!ctl->json) {
		import_show_options();
		return FMCTL_DONE;
	}
	rows = import_options_document();
	show_json(ctl, rows);
	json_decref(rows);
	return FMCTL_DONE;
}

static bool are_folders(char *const *dirs, int ndirs)
{
	struct stat st;

	for (int i = 0; i < ndirs; i++)
		if (stat(dirs[i], &st) || (!S_ISDIR(st.st_mode) && (errno = ENOTDIR))) {
			fprintf(stderr, "fmctl: import-opensm: %s: %s\n", dirs[i], strerror(errno));
			return false;
		}
	return true;
}

static enum fmctl_exit run_import(const struct fmctl *ctl, int argc, char **argv)
{
	static const struct option longs[] = { { "output", required_argument, NULL, 'o' },
					       { "options", no_argument, NULL, 'l' },
					       { 0 } };
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
	if (!are_folders(argv + optind, argc - optind))
		return FMCTL_FAILED;
	out = out ? mem_strdup(out) : mem_printf("%s/fmd", argv[optind]);
	status = import_to(ctl, argv + optind, argc - optind, out);
	free(out);
	return status;
}

const struct fmctl_view import_view = { .run = run_import };
