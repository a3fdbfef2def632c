/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * conf: fmd.conf, by libconfig, into one plain struct.
 *
 * One table says all there is to say about a key: its name (OpenSM's where people know it), the
 * field it fills, what it may be and its default. Defaults, validation and messages are read off
 * the table, and a test holds etc/fmd.conf against it, so none of the four can drift from the
 * others.
 *
 * Loading builds a struct aside, from defaults, key by key; the first thing wrong ends it with
 * `FILE:LINE: reason` and the caller's struct as it was. Keys that no row names are wrong too: a
 * misspelt key that is passed over in silence is the dearest kind of typing error.
 *
 * What keys must be to one another is looked at last. Loading looks into the partitions' file too, so that a configuration is taken whole or not at all.
 *
 * 64-bit values are written as strings ("0x248a070300123456"): libconfig cuts a long hexadecimal
 * number without its L suffix to 32 bits and says nothing.
 */
#include <errno.h>
#include <libconfig.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "fm/core/conf.h"
#include "fm/core/conf_check.h"
#include "routing/balance/rebalance.h"

enum kind {
	INTEGER, /* int */
	SECONDS, /* seconds with a fraction, kept as int milliseconds; 0 = off */
	HEX64,	 /* uint64_t, written as a string */
	TEXT,	 /* char array */
	WORD,	 /* char array, one of `words` */
	FLAG,	 /* bool */
};

struct option {
	const char *name;
	enum kind kind;
	size_t offset, size;  /* of the field in struct conf */
	double min, max;      /* INTEGER, SECONDS */
	double number;	      /* default: INTEGER, SECONDS, FLAG */
	const char *text;     /* default: HEX64, TEXT, WORD */
	const char *unit;     /* for messages; NULL = none */
	const char *words[9]; /* WORD, the last NULL */
	/* TEXT, or NULL: what may be written; false with a reason in why */
	bool (*check)(const char *text, char *why, size_t size);
};

#define FIELD(f) .offset = offsetof(struct conf, f), .size = sizeof(((struct conf *)0)->f)
#define INT_OPTION(n, f, lo, hi, value, u)                                                         \
	{                                                                                          \
		.name = n, .kind = INTEGER, FIELD(f), .min = lo, .max = hi, .number = value,       \
		.unit = u                                                                          \
	}
#define SECONDS_OPTION(n, f, lo, hi, value)                                                        \
	{                                                                                          \
		.name = n, .kind = SECONDS, FIELD(f), .min = lo, .max = hi, .number = value,       \
		.unit = "s"                                                                        \
	}
#define HEX_OPTION(n, f, value)                                                                    \
	{                                                                                          \
		.name = n, .kind = HEX64, FIELD(f), .text = value                                  \
	}
#define TEXT_OPTION(n, f, value)                                                                   \
	{                                                                                          \
		.name = n, .kind = TEXT, FIELD(f), .text = value                                   \
	}

#define FLAG_OPTION(n, f)                                                                          \
	{                                                                                          \
		.name = n, .kind = FLAG, FIELD(f)                                                  \
	}
#define CHECKED_OPTION(n, f, value, fn)                                                            \
	{                                                                                          \
		.name = n, .kind = TEXT, FIELD(f), .text = value, .check = fn                      \
	}
#define QOS_OPTIONS(prefix, f)                                                                     \
	INT_OPTION(prefix "max_vls", f.max_vls, 0, 15, 0, NULL),                                   \
		INT_OPTION(prefix "high_limit", f.high_limit, -1, 255, -1, NULL),                  \
		CHECKED_OPTION(prefix "vlarb_high", f.vlarb_high, "", qos_check_vlarb),            \
		CHECKED_OPTION(prefix "vlarb_low", f.vlarb_low, "", qos_check_vlarb),              \
		CHECKED_OPTION(prefix "sl2vl", f.sl2vl, "", qos_check_sl2vl)
#define CLASS_OPTION(n, f, value)                                                                  \
	{                                                                                          \
		.name = n, .kind = WORD, FIELD(f), .text = value, .words = {                       \
			"unchanged",                                                               \
			"crossrail",                                                               \
			"idle"                                                                     \
		}                                                                                  \
	}

static const struct option options[] = {
	HEX_OPTION("guid", guid, "0x0000000000000000"),
	TEXT_OPTION("device", device, ""),
	INT_OPTION("port", port, 0, 254, 0, NULL),

	CHECKED_OPTION("state_dir", state_dir, "/var/lib/fmd", conf_check_path),
	CHECKED_OPTION("socket", socket, "/run/fmd/fmd.sock", conf_check_path),
	CHECKED_OPTION("http_listen", http_listen, "", conf_check_http),
	TEXT_OPTION("http_hosts", http_hosts, ""),
	TEXT_OPTION("http_token_file", http_token_file, ""),
	TEXT_OPTION("http_cert_file", http_cert_file, ""),
	TEXT_OPTION("http_key_file", http_key_file, ""),
	SECONDS_OPTION("retry_interval", retry_interval_ms, 0.1, 3600, 10),

	INT_OPTION("sm_priority", sm_priority, 0, 15, 0, NULL),
	INT_OPTION("master_sm_priority", master_sm_priority, 0, 15, 14, NULL),
	INT_OPTION("sminfo_polling_timeout", sminfo_polling_timeout_ms, 50, 60000, 1000, "ms"),
	INT_OPTION("polling_retry_number", polling_retry_number, 1, 100, 3, NULL),
	HEX_OPTION("sm_key", sm_key, "0x0000000000000001"),
	HEX_OPTION("sa_key", sa_key, "0x0000000000000000"),
	HEX_OPTION("m_key", mkey, "0x0000000000000000"),
	HEX_OPTION("old_m_key", old_mkey, "0x0000000000000000"),
	HEX_OPTION("subnet_prefix", subnet_prefix, "0xfe80000000000000"),
	SECONDS_OPTION("sweep_interval", sweep_interval_ms, 0.1, 86400, 10),
	INT_OPTION("hold_down", hold_down_ms, 1, 10000, 2, "ms"),
	INT_OPTION("hold_down_max", hold_down_max_ms, 1, 10000, 250, "ms"),
	INT_OPTION("flap_count", flap_count, 0, 31, 5, "falls"),
	SECONDS_OPTION("flap_window", flap_window_ms, 1, 86400, 60),
	SECONDS_OPTION("quarantine_time", quarantine_time_ms, 1, 86400, 60),
	SECONDS_OPTION("quarantine_time_max", quarantine_time_max_ms, 1, 604800, 3600),
	INT_OPTION("quarantine_min_uplinks", quarantine_min_uplinks, 0, 100, 50, "%"),
	{ .name = "routing_engine",
	  .kind = WORD,
	  FIELD(routing_engine),
	  .text = "ftree",
	  .words = { "ftree", "updn", "updn-root" } },
	INT_OPTION("lmc", lmc, 0, 7, 0, NULL),
	INT_OPTION("rebalance", rebalance, 0, REBALANCE_MOST, REBALANCE_ENTRIES, "entries"),
	INT_OPTION("rebalance_gain", rebalance_gain, 0, 100, REBALANCE_GAIN, "%"),
	{ .name = "rebalance_hold",
	  .kind = SECONDS,
	  FIELD(rebalance_hold_ms),
	  .min = 0.1,
	  .max = 86400,
	  .number = 5,
	  .unit = "s" },
	TEXT_OPTION("storage_nodes", storage_nodes, ""),
	TEXT_OPTION("management_nodes", management_nodes, ""),

	TEXT_OPTION("partition_config_file", partition_config_file, ""),
	{ .name = "part_enforce",
	  .kind = WORD,
	  FIELD(part_enforce),
	  .text = "both",
	  .words = { "off", "in", "out", "both" } },
	FLAG_OPTION("allow_both_pkeys", allow_both_pkeys),

	FLAG_OPTION("qos", qos.on),
	INT_OPTION("qos_max_vls", qos.all.max_vls, 1, 15, 15, NULL),
	INT_OPTION("qos_high_limit", qos.all.high_limit, 0, 255, 0, NULL),
	CHECKED_OPTION("qos_vlarb_high", qos.all.vlarb_high, QOS_DEFAULT_HIGH, qos_check_vlarb),
	CHECKED_OPTION("qos_vlarb_low", qos.all.vlarb_low, QOS_DEFAULT_LOW, qos_check_vlarb),
	CHECKED_OPTION("qos_sl2vl", qos.all.sl2vl, QOS_DEFAULT_SL2VL, qos_check_sl2vl),
	QOS_OPTIONS("qos_ca_", qos.kind[QOS_CA]),
	QOS_OPTIONS("qos_rtr_", qos.kind[QOS_ROUTER]),
	QOS_OPTIONS("qos_swe_", qos.kind[QOS_SWITCH_PORT]),
	QOS_OPTIONS("qos_sw0_", qos.kind[QOS_SWITCH_PORT0]),

	CHECKED_OPTION("nvswitch_url", nvswitch_url, "", conf_check_url),
	TEXT_OPTION("nvswitch_hosts_file", nvswitch_hosts_file, ""),
	TEXT_OPTION("nvswitch_alias_file", nvswitch_alias_file, ""),
	{ .name = "nvswitch_system",
	  .kind = WORD,
	  FIELD(nvswitch_system),
	  .text = "auto",
	  .words = { "auto", "a100", "h100", "h200", "h20", "b200", "nvl72", "other" } },
	SECONDS_OPTION("nvswitch_poll_interval", nvswitch_poll_interval_ms, 0.1, 3600, 15),
	SECONDS_OPTION("nvswitch_timeout", nvswitch_timeout_ms, 0.1, 60, 5),
	INT_OPTION("nvswitch_body_limit", nvswitch_body_limit, 0, 1048576, 0, "KiB"),
	SECONDS_OPTION("nvswitch_link_window", nvswitch_link_window_ms, 1, 86400, 300),
	TEXT_OPTION("nvswitch_ca_file", nvswitch_ca_file, ""),
	CHECKED_OPTION("syslog_listen", syslog_listen, "", conf_check_syslog),
	TEXT_OPTION("syslog_allow", syslog_allow, ""),
	TEXT_OPTION("log_socket", log_socket, ""),
	TEXT_OPTION("kmsg", kmsg, ""),
	{ .name = "nvswitch_fm_in_progress",
	  .kind = WORD,
	  FIELD(nvswitch_fm_in_progress),
	  .text = "degraded",
	  .words = { "normal", "degraded", "failed" } },
	{ .name = "nvswitch_second_source",
	  .kind = WORD,
	  FIELD(nvswitch_second_source),
	  .text = "pushed",
	  .words = { "never", "pushed", "unproven" } },
	SECONDS_OPTION("nvswitch_log_hold", nvswitch_log_hold_ms, 1, 604800, 3600),
	SECONDS_OPTION("nvswitch_worsen_hold", nvswitch_worsen_hold_ms, 0.1, 3600, 30),
	SECONDS_OPTION("nvswitch_recover_hold", nvswitch_recover_hold_ms, 0.1, 86400, 300),
	SECONDS_OPTION("nvswitch_reroute_interval", nvswitch_reroute_interval_ms, 0.1, 3600, 60),
	INT_OPTION("nvswitch_guard", nvswitch_guard, 0, 100, 25, "%"),
	CLASS_OPTION("nvswitch_degraded_class", nvswitch_degraded_class, "unchanged"),
	INT_OPTION("nvswitch_degraded_weight", nvswitch_degraded_weight, 0, 100, 1, NULL),
	CLASS_OPTION("nvswitch_no_p2p_class", nvswitch_no_p2p_class, "unchanged"),
	INT_OPTION("nvswitch_no_p2p_weight", nvswitch_no_p2p_weight, 0, 100, 1, NULL),
	CLASS_OPTION("nvswitch_fatal_class", nvswitch_fatal_class, "idle"),
	INT_OPTION("nvswitch_fatal_weight", nvswitch_fatal_weight, 0, 100, 0, NULL),
	TEXT_OPTION("nvswitch_hook", nvswitch_hook, ""),
	SECONDS_OPTION("nvswitch_hook_timeout", nvswitch_hook_timeout_ms, 0.1, 600, 10),

	INT_OPTION("max_wire_smps", max_wire_smps, 1, 1024, 64, NULL),
	INT_OPTION("max_wire_smps_per_device", max_wire_smps_per_device, 1, 1024, 16, NULL),
	SECONDS_OPTION("perf_interval", perf_interval_ms, 1, 86400, 60),
	INT_OPTION("health_symbol_errors", health_symbol_errors, 0, 1000000, 100, "a minute"),
	INT_OPTION("health_rcv_errors", health_rcv_errors, 0, 1000000, 20, "a minute"),
	INT_OPTION("health_integrity_errors", health_integrity_errors, 0, 1000000, 5, "a minute"),
	INT_OPTION("health_link_recoveries", health_link_recoveries, 0, 1000000, 5, "an hour"),
	INT_OPTION("health_link_losses", health_link_losses, 0, 1000000, 5, "an hour"),
	INT_OPTION("health_fec_uncorrected", health_fec_uncorrected, 0, 1000000, 10, "a minute"),
	INT_OPTION("health_fec_corrected", health_fec_corrected, 0, 1000000000, 0, "a minute"),
	INT_OPTION("health_fec_symbols", health_fec_symbols, 0, 1000000000, 10000, "in a billion"),
	INT_OPTION("health_discards", health_discards, 0, 1000000000, 10000, "a minute"),
	INT_OPTION("health_wait_percent", health_wait_percent, 0, 100, 50, "%"),
	{ .name = "health_action",
	  .kind = WORD,
	  FIELD(health_action),
	  .text = "quarantine",
	  .words = { "warn", "quarantine" } },

	INT_OPTION("audit_rate", audit_rate, 0, 100000, 100, "blocks/s"),
	SECONDS_OPTION("audit_after", audit_after_ms, 1, 86400, 60),
	INT_OPTION("transaction_timeout", transaction_timeout_ms, 10, 60000, 200, "ms"),
	INT_OPTION("transaction_retries", transaction_retries, 0, 20, 3, NULL),

	INT_OPTION("consolidate_ipv6_snm_req", consolidate_ipv6_snm, 0, 1, 0, NULL),
	INT_OPTION("mcast_groups_per_port", mcast_groups_per_port, 0, 16383, 1024, "groups"),
	FLAG_OPTION("sa_proxy_join", sa_proxy_join),
	FLAG_OPTION("sa_pkey_block_host_order", sa_pkey_host_order),
	INT_OPTION("sa_rate_limit", sa_rate_limit, 0, 10000000, 5000, "requests/s"),

	INT_OPTION("subnet_timeout", subnet_timeout, 0, 31, 18, NULL),
	INT_OPTION("max_op_vls", max_op_vls, 1, 5, 5, NULL),
	INT_OPTION("packet_life_time", packet_life_time, 0, 31, 18, NULL),
	INT_OPTION("head_of_queue_lifetime", hoq_life, 0, 31, 18, NULL),
	INT_OPTION("leaf_head_of_queue_lifetime", leaf_hoq_life, 0, 31, 16, NULL),
	INT_OPTION("vl_stall_count", vl_stall, 1, 7, 7, NULL),
	INT_OPTION("leaf_vl_stall_count", leaf_vl_stall, 1, 7, 7, NULL),
	INT_OPTION("sm_sl", sm_sl, 0, 15, 0, NULL),

	{ .name = "log_level",
	  .kind = WORD,
	  FIELD(log_level),
	  .text = "info",
	  .words = { "error", "warning", "notice", "info", "debug" } },
};
#define OPTIONS (sizeof(options) / sizeof(options[0]))

int conf_check_reload(const struct conf *now, const struct conf *next, char *err, size_t err_size)
{
	const char *why = NULL;

	if (now->lmc != next->lmc)
		why = "lmc can't change while fmd runs: ports would get other LIDs, and "
		      "connections break; nothing was loaded";
	else if (now->mkey != next->mkey)
		why = "m_key can't change while fmd runs: ports hold the present key and would "
		      "refuse the other; nothing was loaded";
	if (why)
		snprintf(err, err_size, "%s", why);
	return why ? -1 : 0;
}

const char *conf_key(size_t index)
{
	return index < OPTIONS ? options[index].name : NULL;
}

/* Where a message goes, and the file that was asked for. */
struct load {
	const char *path;
	char *err;
	size_t err_size;
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct load *load,
							const config_setting_t *at,
							const char *format, ...)
{
	const char *file = at ? config_setting_source_file(at) : NULL;
	va_list args;
	int used = snprintf(load->err, load->err_size, "%s:%u: ", file ? file : load->path,
			    at ? config_setting_source_line(at) : 0);

	if (used >= 0 && (size_t)used < load->err_size) {
		va_start(args, format);
		vsnprintf(load->err + used, load->err_size - used, format, args);
		va_end(args);
	}
	return -1;
}

static void *field(struct conf *conf, const struct option *option)
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

static int store_number(const struct load *load, struct conf *conf, const struct option *option,
			const config_setting_t *setting, double value)
{
	bool off = option->kind == SECONDS && value == 0;
	const char *unit = option->unit ? option->unit : "";

	if (!off && !(value >= option->min && value <= option->max))
		return refuse(load, setting, "%s = %g is outside %g..%g%s%s%s", option->name, value,
			      option->min, option->max, *unit ? " " : "", unit,
			      option->kind == SECONDS ? " (0 = off)" : "");
	*(int *)field(conf, option) =
		option->kind == SECONDS ? (int)(value * 1000 + 0.5) : (int)value;
	return 0;
}

static int load_number(const struct load *load, struct conf *conf, const struct option *option,
		       const config_setting_t *setting)
{
	switch (config_setting_type(setting)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		return store_number(load, conf, option, setting,
				    (double)config_setting_get_int64(setting));
	case CONFIG_TYPE_FLOAT:
		if (option->kind == SECONDS)
			return store_number(load, conf, option, setting,
					    config_setting_get_float(setting));
		break;
	}
	return refuse(load, setting, "%s: a%s number is expected", option->name,
		      option->kind == SECONDS ? "" : " whole");
}

static int check_word(const struct load *load, const struct option *option,
		      const config_setting_t *setting, const char *text)
{
	char known[128] = "";

	for (const char *const *word = option->words; *word; word++) {
		size_t used = strlen(known);

		if (!strcmp(*word, text))
			return 0;
		snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", *word);
	}
	return refuse(load, setting, "%s = \"%s\" is none of %s", option->name, text, known);
}

static int load_text(const struct load *load, struct conf *conf, const struct option *option,
		     const config_setting_t *setting)
{
	const char *text = config_setting_get_string(setting);
	char why[128];

	if (!text)
		return refuse(load, setting, "%s: a text in quotes is expected", option->name);
	if (option->kind == HEX64)
		return parse_hex64(text, field(conf, option))
			       ? 0
			       : refuse(load, setting,
					"%s = \"%s\" is not a 64-bit number such as \"0x1234\"",
					option->name, text);
	if (strlen(text) >= option->size)
		return refuse(load, setting, "%s: longer than %zu characters", option->name,
			      option->size - 1);
	if (option->kind == WORD && check_word(load, option, setting, text))
		return -1;
	if (option->check && !option->check(text, why, sizeof(why)))
		return refuse(load, setting, "%s: %s", option->name, why);
	strcpy(field(conf, option), text);
	return 0;
}

static int load_flag(const struct load *load, struct conf *conf, const struct option *option,
		     const config_setting_t *setting)
{
	if (config_setting_type(setting) != CONFIG_TYPE_BOOL)
		return refuse(load, setting, "%s: true or false is expected", option->name);
	*(bool *)field(conf, option) = config_setting_get_bool(setting);
	return 0;
}

static const struct option *option_find(const char *name)
{
	for (size_t i = 0; i < OPTIONS; i++)
		if (!strcmp(options[i].name, name))
			return &options[i];
	return NULL;
}

static int load_setting(const struct load *load, struct conf *conf, const config_setting_t *setting)
{
	const struct option *option = option_find(config_setting_name(setting));

	if (!option)
		return refuse(load, setting, "unknown key %s", config_setting_name(setting));
	if (option->kind == INTEGER || option->kind == SECONDS)
		return load_number(load, conf, option, setting);
	if (option->kind == FLAG)
		return load_flag(load, conf, option, setting);
	return load_text(load, conf, option, setting);
}

static int load_settings(const struct load *load, struct conf *conf, const config_t *config)
{
	const config_setting_t *root = config_root_setting(config);

	for (int i = 0; i < config_setting_length(root); i++)
		if (load_setting(load, conf, config_setting_get_elem(root, i)))
			return -1;
	return 0;
}

/* libconfig's scanner ends the process on what it can't read, a directory for one: looked at
 * before. */
static int parse_file(const struct load *load, config_t *config)
{
	struct stat st;
	FILE *file = fopen(load->path, "r");
	int ok;

	if (!file)
		return refuse(load, NULL, "can't be opened: %s", strerror(errno));
	if (fstat(fileno(file), &st) || S_ISDIR(st.st_mode)) {
		fclose(file);
		return refuse(load, NULL, "is a directory");
	}
	ok = config_read(config, file);
	fclose(file);
	if (ok)
		return 0;
	snprintf(load->err, load->err_size, "%s:%d: %s",
		 config_error_file(config) ? config_error_file(config) : load->path,
		 config_error_line(config), config_error_text(config));
	return -1;
}

void conf_default(struct conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	for (size_t i = 0; i < OPTIONS; i++) {
		const struct option *o = &options[i];

		if (o->kind == INTEGER)
			*(int *)field(conf, o) = (int)o->number;
		else if (o->kind == FLAG)
			*(bool *)field(conf, o) = o->number;
		else if (o->kind == SECONDS)
			*(int *)field(conf, o) = (int)(o->number * 1000);
		else if (o->kind == HEX64)
			parse_hex64(o->text, field(conf, o));
		else
			snprintf(field(conf, o), o->size, "%s", o->text);
	}
}

struct partition_options conf_partition_options(const struct conf *conf)
{
	return (struct partition_options){ .qos = conf->qos.on, .both = conf->allow_both_pkeys };
}

int conf_check_partitions(const struct conf *conf, char *err, size_t err_size)
{
	const struct partition_options how = conf_partition_options(conf);
	struct partition_set *set =
		partition_load(conf->partition_config_file, &how, err, err_size);

	partition_free(set);
	return set ? 0 : -1;
}

/* The line of a key, else that of another, where the file has them. */
static const config_setting_t *line_of(const config_t *config, const char *key, const char *other)
{
	const config_setting_t *at = config_lookup(config, key);

	return at ? at : config_lookup(config, other);
}

static int check_order(const struct load *load, const struct conf *conf, const config_t *config,
		       const char *low, const char *high)
{
	const struct option *a = option_find(low), *b = option_find(high);
	int least = *(const int *)((const char *)conf + a->offset);
	int most = *(const int *)((const char *)conf + b->offset);
	double scale = a->kind == SECONDS ? 1e-3 : 1;

	if (least <= most || (b->kind == SECONDS && !most))
		return 0;
	return refuse(load, line_of(config, low, high), "%s = %g is more than %s = %g", low,
		      least * scale, high, most * scale);
}

static int check_together(const struct load *load, const struct conf *conf, const config_t *config)
{
	if (check_order(load, conf, config, "hold_down", "hold_down_max") ||
	    check_order(load, conf, config, "quarantine_time", "quarantine_time_max"))
		return -1;
	if (conf->mkey && conf->sa_key == 1)
		return refuse(load, line_of(config, "sa_key", "m_key"),
			      "m_key protects the fabric and sa_key = 1 is known to everybody: set "
			      "another, "
			      "or none, and one is made");
	if (conf->old_mkey && (!conf->mkey || conf->old_mkey == conf->mkey))
		return refuse(load, line_of(config, "old_m_key", "m_key"),
			      conf->mkey ? "old_m_key is the same as m_key"
					 : "old_m_key needs m_key: the one that ports are to hold");
	if (!*conf->http_cert_file != !*conf->http_key_file)
		return refuse(
			load, line_of(config, "http_cert_file", "http_key_file"),
			"http_cert_file and http_key_file go together: one of them is not set");
	if (!strncmp(conf->nvswitch_url, "https:", 6) && !*conf->nvswitch_ca_file)
		return refuse(load, line_of(config, "nvswitch_url", "nvswitch_ca_file"),
			      "nvswitch_url is https: nvswitch_ca_file is needed, and not set");
	return 0;
}

int conf_load_but_partitions(const char *path, struct conf *conf, char *err, size_t err_size)
{
	struct load load = { .path = path, .err = err, .err_size = err_size };
	struct conf aside;
	config_t config;
	int status;

	conf_default(&aside);
	config_init(&config);
	status = parse_file(&load, &config);
	if (!status)
		status = load_settings(&load, &aside, &config);
	if (!status)
		status = check_together(&load, &aside, &config);
	if (!status)
		*conf = aside;
	config_destroy(&config);
	return status;
}

int conf_load(const char *path, struct conf *conf, char *err, size_t err_size)
{
	struct conf aside;

	if (conf_load_but_partitions(path, &aside, err, err_size) ||
	    conf_check_partitions(&aside, err, err_size))
		return -1;
	*conf = aside;
	return 0;
}
