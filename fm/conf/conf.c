/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * conf: fmd.conf and what conf.d beside it has, by libconfig, into one plain struct.
 *
 * Defaults, validation and messages are read off the table of keys (conf_table.c), and a test holds
 * etc/fmd.conf against it, so none of the four can drift from the others.
 *
 * Loading builds a struct aside, from defaults, key by key. Each thing wrong is a line `FILE:LINE:
 * reason`; with any, the caller's struct stays as it was. Keys that no row names are wrong too: a
 * misspelt key that is passed over in silence is the dearest kind of typing error.
 *
 * Conditions between keys are checked last. Loading reads the partitions' file too, so that a
 * configuration is taken whole or not at all.
 *
 * 64-bit values are written as strings ("0x248a070300123456"): libconfig cuts a long hexadecimal
 * number without its L suffix to 32 bits and says nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <libconfig.h>
#include <unistd.h>
#include <sys/stat.h>
#include "fm/conf/conf.h"
#include "fm/conf/conf_table.h"
#include "topology/base/mem.h"
#include "topology/base/names.h"
#include "topology/base/text.h"
#include "topology/snapshot/naming.h"

/* ---- The table ------------------------------------------------------------------------------- */

static const struct conf_option *option_find(const char *name)
{
	for (size_t i = 0; i < conf_noptions; i++)
		if (!strcmp(conf_options[i].name, name))
			return &conf_options[i];
	return NULL;
}

static void *field(struct conf *conf, const struct conf_option *option)
{
	return (char *)conf + option->offset;
}

/* The whole of `text` is one number of up to 16 hexadecimal or 20 decimal digits. */
static bool parse_hex64(const char *text, uint64_t *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false; /* no sign, no blank */
	errno = 0;
	*value = strtoull(text, &end, 0);
	return !*end && !errno;
}

void conf_default(struct conf *conf)
{
	mem_zero(conf, 1);
	for (size_t i = 0; i < conf_noptions; i++) {
		const struct conf_option *o = &conf_options[i];

		switch (o->kind) {
		case CONF_INTEGER:
		case CONF_WORD:
			*(int *)field(conf, o) = o->number;
			break;
		case CONF_FLAG:
			*(bool *)field(conf, o) = o->number;
			break;
		case CONF_SECONDS:
			*(int *)field(conf, o) = o->number * 1000;
			break;
		case CONF_REAL:
			*(double *)field(conf, o) = o->number;
			break;
		case CONF_HEX64:
			parse_hex64(o->text, field(conf, o));
			break;
		case CONF_TEXT:
			snprintf(field(conf, o), o->size, "%s", o->text);
		}
	}
}

/* ---- One key of the file --------------------------------------------------------------------- */

#define LIST_MOST 1024

/* The files that are loaded, what they fill, and where their errors go. */
struct load {
	config_t *files; /* what is in a later one counts */
	unsigned count;	 /* of those that were read */
	const char *file;
	unsigned line; /* of the error of a whole file; 0 = none */
	struct conf conf;
	char *err;
	size_t err_size;
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct load *load,
							const config_setting_t *at,
							const char *format, ...)
{
	const char *file = at ? config_setting_source_file(at) : load->file;
	va_list args;
	size_t used = strlen(load->err);

	/* A line that has no space is left out, as are those behind it. */
	used += snprintf(load->err + used, load->err_size - used, "%s%s:%u: ", used ? "\n" : "",
			 file, at ? config_setting_source_line(at) : load->line);
	if (used < load->err_size) {
		va_start(args, format);
		vsnprintf(load->err + used, load->err_size - used, format, args);
		va_end(args);
	}
	return -1;
}

/* An array of texts is the same as a text with blanks between them. NULL: it is neither. */
static const char *text_of(const config_setting_t *setting, char list[LIST_MOST])
{
	size_t used = 0;

	if (config_setting_type(setting) != CONFIG_TYPE_ARRAY)
		return config_setting_get_string(setting);
	list[0] = '\0';
	for (int i = 0; i < config_setting_length(setting) && used < LIST_MOST; i++) {
		const char *text = config_setting_get_string_elem(setting, i);

		if (!text)
			return NULL;
		used += snprintf(list + used, LIST_MOST - used, "%s%s", i ? " " : "", text);
	}
	return list;
}

static int load_text(struct load *load, const struct conf_option *option,
		     const config_setting_t *setting)
{
	char why[128], list[LIST_MOST];
	const char *text = text_of(setting, list), *file = config_setting_source_file(setting);
	struct stat st;

	if (!text)
		return refuse(load, setting, "%s: a text in quotes is expected", option->name);
	if (option->kind == CONF_HEX64) {
		if (!parse_hex64(text, field(&load->conf, option)))
			return refuse(load, setting,
				      "%s = \"%s\" is not a 64-bit number such as \"0x1234\"",
				      option->name, text);
		/* What must stay secret; 1, the default of sm_key and sa_key, everybody knows. */
		if (strstr(option->name, "_key") &&
		    *(const uint64_t *)field(&load->conf, option) > 1 && !stat(file, &st) &&
		    st.st_mode & (S_IROTH | S_IWOTH))
			array_printf(load->conf.sm.open_keys, "%s", file);
		return 0;
	}
	if (option->kind == CONF_WORD) {
		char known[128] = "";

		for (const char *const *word = option->words; *word; word++) {
			if (!strcmp(*word, text)) {
				*(int *)field(&load->conf, option) =
					option->first + (word - option->words);
				return 0;
			}
			array_add(known, "%s%s", *known ? ", " : "", *word);
		}
		return refuse(load, setting, "%s = \"%s\" is not one of %s", option->name, text,
			      known);
	}
	if (strlen(text) >= option->size)
		return refuse(load, setting, "%s: longer than %zu characters", option->name,
			      option->size - 1);
	if (option->check && !option->check(text, why, sizeof(why)))
		return refuse(load, setting, "%s: %s", option->name, why);
	strcpy(field(&load->conf, option), text);
	return 0;
}

/* Of a key that is a time: how many of its unit a second has; 0 = it is none. */
static double time_unit_of(const struct conf_option *option)
{
	if (option->kind == CONF_SECONDS)
		return 1;
	if (option->kind != CONF_INTEGER || !option->unit)
		return 0;
	return !strcmp(option->unit, "ms") ? 1000 : !strcmp(option->unit, "s") ? 1 : 0;
}

/* "10s", "200ms", "2h", in the unit of that key. */
static bool parse_time(const char *text, const struct conf_option *option, double *value)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = { { "ms", 1e-3 }, { "s", 1 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 } };
	char *end;
	double number = strtod(text, &end);

	end += strspn(end, " ");
	for (unsigned i = 0; end != text && number >= 0 && i < ARRAY_SIZE(units); i++)
		if (!strcmp(end, units[i].name)) {
			*value = number * units[i].seconds * time_unit_of(option);
			return time_unit_of(option) > 0;
		}
	return false;
}

static int load_setting(struct load *load, const config_setting_t *setting)
{
	const struct conf_option *option = option_find(config_setting_name(setting));

	for (size_t i = 0; !option && i < conf_ngone; i++)
		if (!strcmp(conf_gone[i].name, config_setting_name(setting))) {
			load->conf.gone |= 1ull << i;
			return 0;
		}
	if (!option) {
		struct near_names near = { 0 };

		for (size_t i = 0; i < conf_noptions; i++)
			near_names_add(&near, config_setting_name(setting), conf_options[i].name);
		refuse(load, setting, "unknown key %s", config_setting_name(setting));
		near_names_say(&near, load->err, load->err_size);
		return -1;
	}
	switch (option->kind) {
	case CONF_INTEGER:
	case CONF_SECONDS:
	case CONF_REAL: {
		bool fraction = option->kind != CONF_INTEGER;
		const char *unit = option->unit ? option->unit : "";
		int type = config_setting_type(setting);
		double value;

		if (type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64)
			value = (double)config_setting_get_int64(setting);
		else if (type == CONFIG_TYPE_FLOAT && fraction)
			value = config_setting_get_float(setting);
		else if (type != CONFIG_TYPE_STRING ||
			 !parse_time(config_setting_get_string(setting), option, &value))
			return refuse(load, setting, "%s: a%s number is expected%s", option->name,
				      fraction ? "" : " whole",
				      time_unit_of(option) ? ", or a time such as \"90s\"" : "");
		if (!(fraction && value == 0) && !(value >= option->min && value <= option->max))
			return refuse(load, setting, "%s = %g is outside %g..%g%s%s%s",
				      option->name, value, option->min, option->max,
				      *unit ? " " : "", unit, fraction ? " (0 = off)" : "");
		if (option->kind == CONF_REAL)
			*(double *)field(&load->conf, option) = value;
		else
			*(int *)field(&load->conf, option) =
				option->kind == CONF_SECONDS ? (value * 1000 + 0.5) : value;
		return 0;
	}
	case CONF_FLAG:
		if (config_setting_type(setting) != CONFIG_TYPE_BOOL)
			return refuse(load, setting, "%s: true or false is expected", option->name);
		*(bool *)field(&load->conf, option) = config_setting_get_bool(setting);
		return 0;
	default:
		return load_text(load, option, setting);
	}
}

/*
 * libconfig's scanner exits the process on what it can't read, for example a directory: so that is
 * checked before.
 */
static int load_file(struct load *load, const char *path)
{
	config_t *config = &load->files[load->count++];
	struct stat st;
	int status = 0;

	config_init(config);
	load->file = path;
	load->line = 0;
	if (stat(path, &st) || access(path, R_OK))
		return refuse(load, NULL, "cannot be opened: %s", strerror(errno));
	if (S_ISDIR(st.st_mode))
		return refuse(load, NULL, "is a directory");
	if (!config_read_file(config, path)) {
		load->file = config_error_file(config) ?: path;
		load->line = config_error_line(config);
		return refuse(load, NULL, "%s", config_error_text(config));
	}

	const config_setting_t *root = config_root_setting(config);

	for (int i = 0; i < config_setting_length(root); i++)
		status |= load_setting(load, config_setting_get_elem(root, i));
	return status;
}

/* ---- Keys together --------------------------------------------------------------------------- */

/* The line of a key that counts, else that of another, where a file has them. */
static const config_setting_t *line_of(const struct load *load, const char *key, const char *other)
{
	const config_setting_t *at = NULL;

	for (unsigned i = load->count; i-- && !at;)
		at = config_lookup(&load->files[i], key);
	return at || !other ? at : line_of(load, other, NULL);
}

static int check_order(const struct load *load, const char *low, const char *high)
{
	const struct conf_option *a = option_find(low), *b = option_find(high);
	int least = *(const int *)((const char *)&load->conf + a->offset);
	int most = *(const int *)((const char *)&load->conf + b->offset);
	double scale = a->kind == CONF_SECONDS ? 1e-3 : 1;

	if (least <= most || (b->kind == CONF_SECONDS && !most))
		return 0;
	return refuse(load, line_of(load, low, high), "%s = %g is more than %s = %g", low,
		      least * scale, high, most * scale);
}

static int read_secret(const struct load *load, const char *key, const char *path,
		       struct m_key_secret *secret)
{
	const char *why = *path ? m_key_secret_read(path, secret) : NULL;

	return why ? refuse(load, line_of(load, key, NULL), "%s = \"%s\": %s", key, path, why) : 0;
}

static bool is_https(const char *url)
{
	return !strncmp(url, "https:", 6);
}

static int check_together(struct load *load)
{
	const struct conf *conf = &load->conf;
	struct conf_sm *sm = &load->conf.sm;
	const struct conf_mirror *m = &conf->mirror;
	const unsigned files = (*m->cert != 0) + (*m->key != 0) + (*m->ca != 0);
	const bool keyed = *m->psk_file;
	int status = check_order(load, "hold_down", "hold_down_max");

	status |= check_order(load, "quarantine_time", "quarantine_time_max");
	status |= check_order(load, "health_ber_window", "health_ber_long_window");
	status |= read_secret(load, "m_key_secret_file", sm->mkey_secret_file, &sm->mkey_secret);
	status |= read_secret(load, "old_m_key_secret_file", sm->old_mkey_secret_file,
			      &sm->old_mkey_secret);
	if (sm->mkey_lease_s && sm->mkey_lease_s < M_KEY_LEASE_LEAST)
		status |= refuse(load, line_of(load, "m_key_lease_period", NULL),
				 "m_key_lease_period = %d: the least is %d s, in which all ports "
				 "of a large fabric can be asked; 0 = keys never expire",
				 sm->mkey_lease_s, M_KEY_LEASE_LEAST);

	const struct {
		bool wrong;
		const char *key, *other, *why; /* the keys whose line it is */
	} rows[] = {
		{ sm->mkey && sm->mkey_secret.set, "m_key_secret_file", "m_key",
		  "set either m_key or m_key_secret_file, not both; to change between them, set "
		  "the current one as old_m_key or old_m_key_secret_file" },
		{ (sm->mkey || sm->mkey_secret.set) && conf->sa.key == 1, "sa_key", "m_key",
		  "m_key is set, but sa_key = 1 is publicly known: set another sa_key, or none to "
		  "have one generated" },
		{ sm->old_mkey && sm->old_mkey == sm->mkey, "old_m_key", "m_key",
		  "old_m_key is the same as m_key" },
		{ !*conf->http.cert_file != !*conf->http.key_file, "http_cert_file",
		  "http_key_file",
		  "http_cert_file and http_key_file go together: one of them is not set" },
		/* Both ends prove who they are: a standby manages by what its master sent. */
		{ files % 3, "peer_cert", "peer_key",
		  "peer_cert, peer_key and peer_ca go together: one of them is not set" },
		{ files == 3 && keyed, "peer_psk_file", "peer_cert",
		  "set either peer_psk_file or peer_cert, peer_key and peer_ca, not both" },
		{ (*m->peers || *m->listen) && !files && !keyed, "peers", "peer_listen",
		  "peers must authenticate: set peer_psk_file, or peer_cert, peer_key and "
		  "peer_ca" },
		{ is_https(conf->nvswitch.url) && !*conf->nvswitch.ca_file, "nvswitch_url",
		  "nvswitch_ca_file", "nvswitch_url is https, but nvswitch_ca_file is not set" },
		{ is_https(conf->nvswitch.prometheus_url) && !*conf->nvswitch.ca_file,
		  "prometheus_url", "nvswitch_ca_file",
		  "prometheus_url is https, but nvswitch_ca_file is not set" },
	};

	ARRAY_EACH (row, rows, ARRAY_SIZE(rows))
		if (row->wrong)
			status |= refuse(load, line_of(load, row->key, row->other), "%s", row->why);
	return status;
}

/* ---- All files ------------------------------------------------------------------------------- */

static int is_part(const struct dirent *entry)
{
	return !fnmatch("*.conf", entry->d_name, FNM_PERIOD);
}

/*
 * fmd.conf, and the files of conf.d beside it in the order of their names; of another FILE, those
 * of FILE.d. A folder that cannot be read stands for its files. Ends with NULL.
 */
static char **files_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *folder = strcmp(name, "fmd.conf")
			       ? mem_printf("%s.d", path)
			       : mem_printf("%.*sconf.d", (int)(name - path), path);
	struct dirent **parts = NULL;
	int count = scandir(folder, &parts, is_part, alphasort);
	bool unread = count < 0 && errno != ENOENT && errno != ENOTDIR;
	char **files = mem_array(files, count > 0 ? count + 2 : 3);

	files[0] = mem_strdup(path);
	if (unread)
		files[1] = mem_strdup(folder);
	for (int i = 0; i < count; i++) {
		files[i + 1] = mem_printf("%s/%s", folder, parts[i]->d_name);
		free(parts[i]);
	}
	free(parts);
	free(folder);
	return files;
}

int conf_load_but_partitions(const char *path, struct conf *conf, char *err, size_t err_size)
{
	struct load load = { .err = err, .err_size = err_size };
	char **files = files_of(path);
	unsigned count = 0;
	int status = 0;

	*err = '\0';
	conf_default(&load.conf);
	while (files[count])
		count++;
	load.files = mem_array(load.files, count);
	for (unsigned i = 0; i < count; i++)
		status |= load_file(&load, files[i]);
	status = status || check_together(&load) ? -1 : 0;
	if (!status)
		*conf = load.conf;
	while (count--) {
		config_destroy(&load.files[count]);
		free(files[count]);
	}
	free(load.files);
	free(files);
	return status;
}

struct partition_options conf_partition_options(const struct conf *conf)
{
	return (struct partition_options){ .qos = conf->qos.on,
					   .both = conf->partition.allow_both };
}

int conf_check_partitions(const struct conf *conf, char *err, size_t err_size)
{
	const struct partition_options how = conf_partition_options(conf);
	struct partition_set *set = partition_load(conf->partition.file, &how, err, err_size);

	partition_free(set);
	return set ? 0 : -1;
}

int conf_load(const char *path, struct conf *conf, char *err, size_t err_size)
{
	struct node_names *names = NULL;
	struct conf aside;

	if (conf_load_but_partitions(path, &aside, err, err_size))
		return -1;

	int status = conf_check_partitions(&aside, err, err_size);
	size_t used = strlen(err);

	if (*aside.node_name_map && used + 1 < err_size) {
		if (used)
			err[used++] = '\n';
		names = node_names_read(aside.node_name_map, err + used, err_size - used);
		node_names_free(names);
		status = names ? status : -1;
	}
	if (!status)
		*conf = aside;
	return status;
}

/* ---- M_Keys, reloads, secrets ---------------------------------------------------------------- */

struct m_key_conf conf_m_keys(const struct conf *conf)
{
	const struct conf_sm *sm = &conf->sm;

	return (struct m_key_conf){ .key = sm->mkey,
				    .old_key = sm->old_mkey,
				    .secret = sm->mkey_secret,
				    .old_secret = sm->old_mkey_secret,
				    .per_port = sm->mkey_per_port,
				    .protect = sm->mkey_protect,
				    .lease_s = sm->mkey_lease_s };
}

int conf_check_reload(const struct conf *now, const struct conf *next, char *err, size_t err_size)
{
	const struct m_key_conf keys = conf_m_keys(now), next_keys = conf_m_keys(next);
	const char *why = NULL;

	if (now->routing.lmc != next->routing.lmc)
		why = "lmc cannot change while fmd runs, as all LIDs would change; nothing was "
		      "loaded";
	else if (!m_key_conf_knows(&next_keys, &keys))
		why = keys.secret.set ? "ports hold M_Keys derived from the current secret: set "
					"old_m_key_secret_file to it; nothing was loaded"
				      : "ports hold the current m_key: to change m_key, set "
					"old_m_key to the current one; nothing was loaded";
	if (why)
		snprintf(err, err_size, "%s", why);
	return why ? -1 : 0;
}

void conf_judge_secrets(const struct conf *conf, conf_secret_fn *fn, void *arg)
{
	const struct {
		const char *key, *path;
		mode_t bits;
		const char *what;
	} files[] = {
		{ "http_token_file", conf->http.token_file, S_IROTH | S_IWOTH,
		  "can be read by every user: chmod 0600 or 0640" },
		{ "http_key_file", conf->http.key_file, S_IROTH | S_IWOTH,
		  "can be read by every user: chmod 0600 or 0640" },
		{ "nvswitch_credentials_file", conf->nvswitch.credentials_file, S_IROTH | S_IWOTH,
		  "can be read by every user: chmod 0600 or 0640" },
		{ "configuration", conf->sm.open_keys, S_IROTH | S_IWOTH,
		  "holds keys and can be read by every user: chmod 0600 or 0640" },
		{ "state_dir", conf->state_dir, S_IWOTH,
		  "can be written to by every user: chmod 0700" },
	};
	char why[512];
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *file = files[i].path;

		array_printf(why, "%s %s", file, files[i].what);
		fn(arg, files[i].key,
		   *file && !stat(file, &st) && st.st_mode & files[i].bits ? why : NULL);
	}
	for (size_t i = 0; i < conf_ngone; i++)
		fn(arg, conf_gone[i].name, conf->gone >> i & 1 ? conf_gone[i].recipe : NULL);
}
