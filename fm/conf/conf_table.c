/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The keys of fmd.conf, a row each. A test holds etc/fmd.conf and the manual against it.
 */
#include "fm/conf/conf_table.h"
#include "fm/loop/log.h"
#include "routing/balance/rebalance.h"
#include "routing/lid_plan.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/* ---- Texts ----------------------------------------------------------------------------------- */

/*
 * What can never work is refused with its line, before it is used. Whether a port is free or a
 * server answers is not checked: that changes, and what can't be opened now is tried again.
 * True: the text may be such a value. False: it may not, and why has the reason.
 */
static bool check_path(const char *text, char *why, size_t size)
{
	if (!*text)
		snprintf(why, size, "a path is expected");
	return *text;
}

/* Where HTTP is served, or peers are listened for; or "". */
static bool check_listen(const char *text, char *why, size_t size)
{
	struct address address;

	return (!*text || (address_parse(text, &address) && *address.host)) ||
	       text_wrong(why, size, "\"%.60s\": ADDRESS:PORT is expected", text);
}

/* HOST:PORT or HOST:PORT=NAME,NAME by blanks, or "". */
static bool check_peers(const char *text, char *why, size_t size)
{
	char word[CONF_PEER];
	struct address address;
	int used;

	for (; sscanf(text, CONF_PEER_SCAN "%n", word, &used) == 1; text += used) {
		char *names = word + strcspn(word, "=");
		bool any = *names;

		*names = '\0';
		if (!address_parse(word, &address) || !*address.host)
			return text_wrong(why, size, "\"%.60s\": HOST:PORT is expected", word);
		names[0] = ',';
		if (any && (!names[1] || strstr(names, ",,") || names[strlen(names) - 1] == ','))
			return text_wrong(why, size, "\"%.60s\": HOST:PORT=NAME,NAME is expected",
					  word);
	}
	return true;
}

/* GUIDs by blanks, or "". */
static bool check_guids(const char *text, char *why, size_t size)
{
	char word[80], *end;
	int used;

	for (; sscanf(text, "%79s%n", word, &used) == 1; text += used)
		if (strncmp(word, "0x", 2) || !strtoull(word, &end, 16) || *end || end - word > 18)
			return text_wrong(
				why, size,
				"\"%.60s\": a port GUID such as 0x0002c90300001234 is expected",
				word);
	return true;
}

/* The same; a zero is none, as it was when this was a number. */
static bool check_own_guids(const char *text, char *why, size_t size)
{
	return !strcmp(text, "0x0000000000000000") || check_guids(text, why, size);
}

static bool check_devices(const char *text, char *why, size_t size)
{
	snprintf(why, size, "\"%.60s\": a port number has its own key, port", text);
	return !strchr(text, ':');
}

/* FIRST-LAST, or "". */
static bool check_range(const char *text, char *why, size_t size)
{
	unsigned first, last;
	char rest;

	return (!*text || (sscanf(text, "%u-%u%c", &first, &last, &rest) == 2 && first &&
			   first <= last && last < LID_SPACE)) ||
	       text_wrong(why, size, "\"%.60s\": FIRST-LAST is expected, of 1 to %u", text,
			  LID_SPACE - 1);
}

/* Of a server, or "". */
static bool check_server(const char *text, char *why, size_t size)
{
	size_t scheme = !strncmp(text, "http://", 7) ? 7 : !strncmp(text, "https://", 8) ? 8 : 0;
	size_t host = strcspn(text + scheme, "/?#");
	const char *wrong = NULL;

	if (*text && !scheme)
		wrong = "http:// or https:// is expected";
	else if (*text && (!host || strcspn(text, " \t\"<>@") != strlen(text)))
		wrong = "is not the URL of a server";
	if (wrong)
		snprintf(why, size, "\"%.60s\": %s", text, wrong);
	return !wrong;
}

/* A pattern with %h, or "". */
static bool check_url(const char *text, char *why, size_t size)
{
	if (!check_server(text, why, size))
		return false;
	if (*text && !strstr(text, "%h"))
		snprintf(why, size, "\"%.60s\": %%h is expected in place of the host's name", text);
	return !*text || strstr(text, "%h");
}

/* ---- Rows ------------------------------------------------------------------------------------ */

#define OPTION(n, k, f, ...)                                                                       \
	{                                                                                          \
		.name = n, .kind = CONF_##k, .offset = offsetof(struct conf, f),                   \
		.size = sizeof(((struct conf *)0)->f), __VA_ARGS__                                 \
	}
#define INT_OPTION(n, f, lo, hi, value, u)                                                         \
	OPTION(n, INTEGER, f, .min = lo, .max = hi, .number = value, .unit = u)
#define SECONDS_OPTION(n, f, lo, hi, value)                                                        \
	OPTION(n, SECONDS, f, .min = lo, .max = hi, .number = value, .unit = "s")
#define REAL_OPTION(n, f, lo, hi, value) OPTION(n, REAL, f, .min = lo, .max = hi, .number = value)
#define HEX_OPTION(n, f, value)		 OPTION(n, HEX64, f, .text = value)
#define CHECKED_OPTION(n, f, value, fn)	 OPTION(n, TEXT, f, .text = value, .check = fn)
#define TEXT_OPTION(n, f, value)	 CHECKED_OPTION(n, f, value, NULL)
#define FLAG_OPTION(n, f)		 OPTION(n, FLAG, f, .number = 0)
#define WORD_OPTION(n, f, value, ...)	 OPTION(n, WORD, f, .number = value, .words = { __VA_ARGS__ })
#define QOS_OPTIONS(prefix, f)                                                                     \
	INT_OPTION(prefix "max_vls", f.max_vls, 0, 15, 0, NULL),                                   \
		INT_OPTION(prefix "high_limit", f.high_limit, -1, 255, -1, NULL),                  \
		CHECKED_OPTION(prefix "vlarb_high", f.vlarb_high, "", qos_check_vlarb),            \
		CHECKED_OPTION(prefix "vlarb_low", f.vlarb_low, "", qos_check_vlarb),              \
		CHECKED_OPTION(prefix "sl2vl", f.sl2vl, "", qos_check_sl2vl)

const struct conf_option conf_options[] = {
	CHECKED_OPTION("guid", port.guids, "", check_own_guids),
	CHECKED_OPTION("device", port.devices, "", check_devices),
	INT_OPTION("port", port.num, 0, 254, 0, NULL),

	CHECKED_OPTION("state_dir", state_dir, "/var/lib/fmd", check_path),
	WORD_OPTION("state_synchronous", mirror.synchronous, false, "normal", "full"),
	CHECKED_OPTION("socket", socket, "/run/fmd/fmd.sock", check_path),
	CHECKED_OPTION("http_listen", http.listen, "", check_listen),
	TEXT_OPTION("http_hosts", http.hosts, ""),
	TEXT_OPTION("http_token_file", http.token_file, ""),
	TEXT_OPTION("http_cert_file", http.cert_file, ""),
	TEXT_OPTION("http_key_file", http.key_file, ""),
	WORD_OPTION("port_metrics", http.port_metrics, CONF_PORTS_SWITCHES, "off", "switches",
		    "all"),
	WORD_OPTION("port_metrics_counters", http.port_metrics_counters, 0, "essential", "all"),
	WORD_OPTION("sandbox", sandbox, SANDBOX_ON, "off", "log", "on"),
	SECONDS_OPTION("retry_interval", retry_interval_ms, 0.1, 3600, 10),

	FLAG_OPTION("observe", sm.observe),
	INT_OPTION("sm_priority", sm.priority, 0, 15, 0, NULL),
	INT_OPTION("master_sm_priority", sm.master_priority, 0, 15, 14, NULL),
	INT_OPTION("sminfo_polling_timeout", sm.polling_timeout_ms, 50, 60000, 600, "ms"),
	INT_OPTION("polling_retry_number", sm.polling_retries, 1, 100, 3, NULL),
	HEX_OPTION("sm_key", sm.key, "0x0000000000000001"),
	HEX_OPTION("old_sm_key", sm.old_key, "0x0000000000000000"),
	CHECKED_OPTION("allowed_sm_guids", sm.allowed, "", check_guids),
	WORD_OPTION("master_idle_action", sm.idle_action, CONF_IDLE_ALERT, "alert", "takeover"),
	WORD_OPTION("foreign_sm_action", sm.foreign_action, CONF_SM_ALERT, "alert", "isolate"),
	CHECKED_OPTION("peer_listen", mirror.listen, "", check_listen),
	CHECKED_OPTION("peers", mirror.peers, "", check_peers),
	TEXT_OPTION("peer_cert", mirror.cert, ""),
	TEXT_OPTION("peer_key", mirror.key, ""),
	TEXT_OPTION("peer_ca", mirror.ca, ""),
	TEXT_OPTION("peer_psk_file", mirror.psk_file, ""),
	SECONDS_OPTION("mirror_interval", mirror.interval_ms, 0, 3600, 30),
	HEX_OPTION("sa_key", sa.key, "0x0000000000000000"),
	HEX_OPTION("old_sa_key", sa.old_key, "0x0000000000000000"),
	HEX_OPTION("m_key", sm.mkey, "0x0000000000000000"),
	HEX_OPTION("old_m_key", sm.old_mkey, "0x0000000000000000"),
	TEXT_OPTION("m_key_secret_file", sm.mkey_secret_file, ""),
	TEXT_OPTION("old_m_key_secret_file", sm.old_mkey_secret_file, ""),
	OPTION("m_key_per_port", FLAG, sm.mkey_per_port, .number = 1),
	INT_OPTION("m_key_protection_level", sm.mkey_protect, 0, 3, 1, NULL),
	INT_OPTION("m_key_lease_period", sm.mkey_lease_s, 0, 65535, 0, "s"),
	HEX_OPTION("vs_key", sm.vs_key, "0x0000000000000000"),
	HEX_OPTION("subnet_prefix", sm.subnet_prefix, "0xfe80000000000000"),
	SECONDS_OPTION("sweep_interval", sweep.interval_ms, 0.1, 86400, 10),
	INT_OPTION("hold_down", sweep.hold_down_ms, 1, 10000, 2, "ms"),
	INT_OPTION("hold_down_max", sweep.hold_down_max_ms, 1, 10000, 250, "ms"),
	INT_OPTION("flap_count", quarantine.flap_count, 0, 31, 5, "falls"),
	SECONDS_OPTION("flap_window", quarantine.flap_window_ms, 1, 86400, 60),
	SECONDS_OPTION("quarantine_time", quarantine.time_ms, 1, 86400, 60),
	SECONDS_OPTION("quarantine_time_max", quarantine.time_max_ms, 1, 604800, 3600),
	INT_OPTION("quarantine_min_uplinks", quarantine.min_uplinks, 0, 100, 50, "%"),
	WORD_OPTION("admission", admission.mode, CONF_ADMIT_GUARD, "guard", "open", "strict"),
	INT_OPTION("admission_max_hosts", admission.max_hosts, 0, 1000, 64, "hosts"),
	WORD_OPTION("routing_engine", routing.engine, CONF_FTREE, "ftree", "updn", "updn-root"),
	CHECKED_OPTION("lid_range", routing.lid_range, "", check_range),
	INT_OPTION("lmc", routing.lmc, 0, 7, 0, NULL),
	INT_OPTION("transit_min_share", routing.transit_min_share, 0, 100, 50, "%"),
	WORD_OPTION("adaptive_routing", routing.adaptive, 0, "off", "on", "calibrate"),
	INT_OPTION("adaptive_routing_sl", routing.adaptive_sl, 1, 0xffff, 0xffff, NULL),
	INT_OPTION("rebalance", rebalance.entries, 0, REBALANCE_MOST, REBALANCE_ENTRIES, "entries"),
	INT_OPTION("rebalance_gain", rebalance.gain, 0, 100, REBALANCE_GAIN, "%"),
	SECONDS_OPTION("rebalance_hold", rebalance.hold_ms, 0.1, 86400, 5),
	TEXT_OPTION("storage_nodes", routing.storage_nodes, ""),
	TEXT_OPTION("management_nodes", routing.management_nodes, ""),
	TEXT_OPTION("node_name_map", node_name_map, ""),
	TEXT_OPTION("cabling_plan", cabling_plan, ""),

	TEXT_OPTION("partition_config_file", partition.file, ""),
	WORD_OPTION("part_enforce", partition.enforce, CONF_ENFORCE_IN | CONF_ENFORCE_OUT, "off",
		    "in", "out", "both"),
	FLAG_OPTION("allow_both_pkeys", partition.allow_both),

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

	CHECKED_OPTION("nvswitch_url", nvswitch.url, "", check_url),
	TEXT_OPTION("nvswitch_hosts_file", nvswitch.hosts_file, ""),
	TEXT_OPTION("nvswitch_alias_file", nvswitch.alias_file, ""),
	WORD_OPTION("nvswitch_system", nvswitch.system, 0, "auto", "a100", "h100", "h200", "h20",
		    "b200", "nvl72", "other"),
	SECONDS_OPTION("nvswitch_poll_interval", nvswitch.poll_interval_ms, 0.1, 3600, 15),
	SECONDS_OPTION("nvswitch_timeout", nvswitch.timeout_ms, 0.1, 60, 5),
	INT_OPTION("nvswitch_body_limit", nvswitch.body_limit, 0, 1048576, 65536, "KiB"),
	SECONDS_OPTION("nvswitch_link_window", nvswitch.link_window_ms, 1, 86400, 300),
	TEXT_OPTION("nvswitch_ca_file", nvswitch.ca_file, ""),
	TEXT_OPTION("nvswitch_credentials_file", nvswitch.credentials_file, ""),
	CHECKED_OPTION("prometheus_url", nvswitch.prometheus_url, "", check_server),
	TEXT_OPTION("prometheus_label", nvswitch.prometheus_label, "Hostname"),
	TEXT_OPTION("nvlink_catalogue", nvswitch.catalogue, ""),
	TEXT_OPTION("log_socket", nvswitch.log_socket, ""),
	TEXT_OPTION("log_journal", nvswitch.log_journal, ""),
	WORD_OPTION("nvswitch_fm_in_progress", nvswitch.fm_in_progress, 1, "normal", "degraded",
		    "failed"),
	WORD_OPTION("nvswitch_second_source", nvswitch.second_source, 1, "never", "pushed",
		    "unproven"),
	SECONDS_OPTION("nvswitch_worsen_hold", nvswitch.worsen_hold_ms, 0.1, 3600, 30),
	SECONDS_OPTION("nvswitch_recover_hold", nvswitch.recover_hold_ms, 0.1, 86400, 300),
	INT_OPTION("nvswitch_guard", nvswitch.guard, 0, 100, 25, "%"),
	FLAG_OPTION("nvswitch_guard_hooks", nvswitch.guard_hooks),
	TEXT_OPTION("nvswitch_hook", nvswitch.hook, ""),
	SECONDS_OPTION("nvswitch_hook_timeout", nvswitch.hook_timeout_ms, 0.1, 600, 10),

	INT_OPTION("max_wire_smps", mad.max_wire_smps, 1, 1024, 64, NULL),
	INT_OPTION("max_wire_smps_per_device", mad.max_wire_smps_per_device, 1, 1024, 16, NULL),
	TEXT_OPTION("host_hook", hosts.hook, ""),
	SECONDS_OPTION("host_hook_timeout", hosts.hook_timeout_ms, 0.1, 600, 10),
	TEXT_OPTION("event_hook", hosts.event_hook, ""),
	SECONDS_OPTION("event_hook_timeout", hosts.event_hook_timeout_ms, 0.1, 600, 10),
	TEXT_OPTION("job_command", hosts.job_command, ""),
	SECONDS_OPTION("job_command_timeout", hosts.job_command_timeout_ms, 0.1, 600, 20),
	SECONDS_OPTION("host_worsen_hold", hosts.worsen_hold_ms, 0.1, 3600, 30),
	SECONDS_OPTION("host_recover_hold", hosts.recover_hold_ms, 0.1, 86400, 60),
	INT_OPTION("host_guard", hosts.guard, 0, 100, 25, "%"),
	FLAG_OPTION("short_node_names", nvswitch.short_node_names),

	SECONDS_OPTION("perf_interval", perf.interval_ms, 1, 86400, 60),
	INT_OPTION("health_symbol_errors", perf.symbol_errors, 0, 1000000, 100, "a minute"),
	INT_OPTION("health_rcv_errors", perf.rcv_errors, 0, 1000000, 20, "a minute"),
	INT_OPTION("health_integrity_errors", perf.integrity_errors, 0, 1000000, 5, "a minute"),
	INT_OPTION("health_link_recoveries", perf.link_recoveries, 0, 1000000, 5, "an hour"),
	INT_OPTION("health_link_losses", perf.link_losses, 0, 1000000, 5, "an hour"),
	INT_OPTION("health_fec_uncorrected", perf.fec_uncorrected, 0, 1000000, 10, "a minute"),
	INT_OPTION("health_fec_corrected", perf.fec_corrected, 0, 1000000000, 0, "a minute"),
	INT_OPTION("health_fec_symbols", perf.fec_symbols, 0, 1000000000, 10000, "in a billion"),
	INT_OPTION("health_discards", perf.discards, 0, 1000000000, 10000, "a minute"),
	INT_OPTION("health_wait_percent", perf.wait_percent, 0, 100, 50, "%"),
	WORD_OPTION("health_action", perf.action, CONF_QUARANTINE, "warn", "quarantine"),
	WORD_OPTION("health_fec_action", perf.fec_action, CONF_WARN, "warn", "quarantine"),
	SECONDS_OPTION("health_ber_window", ber.window_ms, 60, 86400, 720),
	REAL_OPTION("health_ber_limit", ber.limit, 1e-20, 1e-3, 1e-14),
	SECONDS_OPTION("health_ber_long_window", ber.long_window_ms, 60, 604800, 7500),
	REAL_OPTION("health_ber_long_limit", ber.long_limit, 1e-20, 1e-3, 1e-15),
	SECONDS_OPTION("health_ber_clean_time", ber.clean_ms, 1, 604800, 600),
	INT_OPTION("health_ber_max_links", ber.max_links, 0, 1000000, 10, NULL),
	TEXT_OPTION("health_ber_exclude", ber.exclude, ""),
	FLAG_OPTION("health_ber_dry_run", ber.dry_run),

	INT_OPTION("audit_rate", audit.rate, 0, 100000, 16000, "blocks/s"),
	SECONDS_OPTION("audit_after", audit.after_ms, 1, 86400, 1),
	INT_OPTION("transaction_timeout", mad.timeout_ms, 10, 60000, 200, "ms"),
	INT_OPTION("transaction_retries", mad.retries, 0, 20, 3, NULL),

	SECONDS_OPTION("takeover_grace", sa.takeover_grace_ms, 0, 60, 30),
	INT_OPTION("consolidate_ipv6_snm_req", sa.consolidate_ipv6_snm, 0, 1, 0, NULL),
	INT_OPTION("sa_etm_max_num_mcgs", sa.max_mcgs, 0, 16383, 1024, "groups"),
	INT_OPTION("mcast_groups_per_port", sa.max_mcgs, 0, 16383, 1024, "groups"), /* as it was */
	INT_OPTION("sa_etm_max_num_srvcs", sa.max_srvcs, 0, 16383, 256, "services"),
	INT_OPTION("sa_etm_max_num_event_subs", sa.max_event_subs, 0, 65535, 64, "subscriptions"),
	FLAG_OPTION("sa_proxy_join", sa.proxy_join),
	FLAG_OPTION("sa_pkey_block_host_order", sa.pkey_host_order),
	INT_OPTION("sa_rate_limit", sa.rate_limit, 0, 10000000, 5000, "requests/s"),

	INT_OPTION("subnet_timeout", ports.subnet_timeout, 0, 31, 18, NULL),
	INT_OPTION("max_op_vls", ports.max_op_vls, 1, 5, 5, NULL),
	INT_OPTION("packet_life_time", ports.packet_life_time, 0, 31, 18, NULL),
	INT_OPTION("head_of_queue_lifetime", ports.hoq_life, 0, 31, 18, NULL),
	INT_OPTION("leaf_head_of_queue_lifetime", ports.leaf_hoq_life, 0, 31, 16, NULL),
	INT_OPTION("vl_stall_count", ports.vl_stall, 1, 7, 7, NULL),
	INT_OPTION("leaf_vl_stall_count", ports.leaf_vl_stall, 1, 7, 7, NULL),
	INT_OPTION("sm_sl", ports.sm_sl, 0, 15, 0, NULL),

	OPTION("log_level", WORD, log_level, .number = LOG_INFO, .first = LOG_ERR,
	       .words = { "error", "warning", "notice", "info", "debug" }),
};
const size_t conf_noptions = ARRAY_SIZE(conf_options);

#define ROUTED_ALIKE                                                                               \
	"has no effect: routing is the same for all states of NVLinks, as no other gains a host "  \
	"5 "                                                                                       \
	"%; see `fmctl whatif --nvswitch`"
const struct conf_gone conf_gone[] = {
	{ "nvswitch_degraded_class", ROUTED_ALIKE },
	{ "nvswitch_degraded_weight", ROUTED_ALIKE },
	{ "nvswitch_no_p2p_class", ROUTED_ALIKE },
	{ "nvswitch_no_p2p_weight", ROUTED_ALIKE },
	{ "nvswitch_fatal_class", ROUTED_ALIKE },
	{ "nvswitch_fatal_weight", ROUTED_ALIKE },
	{ "nvswitch_reroute_interval", ROUTED_ALIKE },
	{ "syslog_listen",
	  "has no effect: rsyslog or systemd-journal-remote receive logs and hand them to "
	  "log_socket; see KERNEL LOGS in fmd(8)" },
	{ "syslog_allow",
	  "has no effect: rsyslog or systemd-journal-remote decide who may send, by certificates; "
	  "see KERNEL LOGS in fmd(8)" },
	{ "kmsg",
	  "has no effect: log_journal = \"local\" reads this machine's log; see KERNEL LOGS in "
	  "fmd(8)" },
	{ "nvswitch_log_hold",
	  "has no effect: a fault in a kernel log counts until a reset or boot "
	  "is seen, or `fmctl nvswitch clear`" },
};
const size_t conf_ngone = ARRAY_SIZE(conf_gone);
