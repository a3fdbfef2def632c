/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Options of opensm.conf become keys of fmd.conf, a line each. A line stands only when fmd takes
 * the file with it: what is out of fmd's bounds is named with fmd's own reason, and left out.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "fm/fmctl/import.h"
#include "topology/mem.h"
#include "topology/node_names.h"

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

void import_options(struct import *im)
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
void import_mkeys(struct import *im, const struct osm_guids *mkeys)
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
	node_names_unref(names);
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

void import_named_files(struct import *im)
{
	take_partitions(im);
	take_names(im);
	take_guid_file(im, "root_guid_file");
	take_guid_file(im, "cn_guid_file");
	take_guid_file(im, "io_guid_file");
	take_levels(im);
}
