/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <ctype.h>
#include <errno.h>
#include <strings.h>
#include "fm/opensm/osm_options.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"

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
	conf->settings = mem_grow(conf->settings, conf->count);
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
		struct osm_lids *lids = r->lids;

		if (!lids->left_out++)
			lids->left_out_line = number;

		return;
	}
	memset(r->taken + first, 1, last - first + 1);
	r->lids->list = mem_grow(r->lids->list, r->lids->count);
	r->lids->list[r->lids->count++] = (struct osm_lid){ guid, first, last, number };
}

static int by_port(const void *va, const void *vb)
{
	const struct osm_lid *a = va, *b = vb;

	return sort_order(a->port, b->port) ?: sort_order(a->line, b->line);
}

int osm_lids_read(const char *path, struct osm_lids *out)
{
	struct lids_reader r = { out, mem_alloc(LID_LAST + 1, 1) };
	int status;

	*out = (struct osm_lids){ 0 };
	status = each_line(path, take_lid, &r);
	free(r.taken);
	if (status) {
		free(out->list);
		*out = (struct osm_lids){ 0 };
	} else {
		/* Of a port that is there twice the first counts. */
		uint32_t kept = 0;

		if (out->count)
			qsort(out->list, out->count, sizeof(*out->list), by_port);
		for (uint32_t i = 0; i < out->count; i++)
			if (kept && out->list[kept - 1].port == out->list[i].port) {
				unsigned number = out->list[i].line;

				if (!out->left_out++)
					out->left_out_line = number;
			} else
				out->list[kept++] = out->list[i];
		out->count = kept;
	}
	return status;
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
	r->guids->list = mem_grow(r->guids->list, r->guids->count);
	r->guids->list[r->guids->count++] = it;
}

int osm_guids_read(const char *path, bool with_key, struct osm_guids *out)
{
	struct guids_reader r = { out, with_key };
	int status;

	*out = (struct osm_guids){ 0 };
	status = each_line(path, take_guid, &r);
	if (status) {
		free(out->list);
		*out = (struct osm_guids){ 0 };
	}
	return status;
}

/* ---- qos-policy.conf ------------------------------------------------------------------------- */

struct levels_reader {
	struct osm_levels *levels;
	struct osm_level now;
	bool inside;
};

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
		struct osm_levels *levels = r->levels;

		levels->list = mem_grow(levels->list, levels->count);
		levels->list[levels->count++] = r->now;
		r->inside = false;
	} else if (r->inside && value) {
		*value++ = '\0';
		value = trim(value);
		if (!strcmp(trim(word), "name"))
			array_printf(r->now.name, "%s", value);
		else if (!strcmp(trim(word), "sl") && read_number(value, &sl) && sl < 16)
			r->now.sl = sl;
	}
}

int osm_levels_read(const char *path, struct osm_levels *out)
{
	struct levels_reader r = { .levels = out };
	int status;

	*out = (struct osm_levels){ 0 };
	status = each_line(path, take_policy, &r);
	if (status) {
		free(out->list);
		*out = (struct osm_levels){ 0 };
	}
	return status;
}

/*
 * The options of OpenSM 3.3.24's opensm.conf, in the order that it has them, then those of NVIDIA's
 * subnet manager that sites are known to set.
 */

#define TAKEN(n, standard_, key_, form_, note_)                                                    \
	{                                                                                          \
		.name = n, .standard = standard_, .fate = OSM_TAKEN, .key = key_, .form = form_,   \
		.note = note_                                                                      \
	}
#define ALIKE(n, standard_, form_, note_) TAKEN(n, standard_, n, form_, note_)
#define QOS(prefix)                                                                                \
	ALIKE(prefix "max_vls", "0", OSM_NUMBER, ""),                                              \
		ALIKE(prefix "high_limit", "-1", OSM_NUMBER, ""),                                  \
		ALIKE(prefix "vlarb_high", "(null)", OSM_TEXT, ""),                                \
		ALIKE(prefix "vlarb_low", "(null)", OSM_TEXT, ""),                                 \
		ALIKE(prefix "sl2vl", "(null)", OSM_TEXT, "")
#define FROM_FILE(n, standard_, key_, note_)                                                       \
	{                                                                                          \
		.name = n, .standard = standard_, .fate = OSM_FILE, .key = key_, .note = note_     \
	}
#define BY_ITSELF(n, standard_, note_)                                                             \
	{                                                                                          \
		.name = n, .standard = standard_, .fate = OSM_BY_ITSELF, .note = note_             \
	}
#define NOT_NEEDED(n, standard_, note_)                                                            \
	{                                                                                          \
		.name = n, .standard = standard_, .fate = OSM_NOT_NEEDED, .note = note_            \
	}
#define NOT_OFFERED(n, standard_, note_)                                                           \
	{                                                                                          \
		.name = n, .standard = standard_, .fate = OSM_NOT_OFFERED, .note = note_           \
	}

static const struct osm_option options[] = {
	ALIKE("guid", "0x0000000000000000", OSM_HEX, ""),
	ALIKE("m_key", "0x0000000000000000", OSM_HEX, ""),
	ALIKE("sm_key", "0x0000000000000001", OSM_HEX, ""),
	ALIKE("sa_key", "0x0000000000000001", OSM_HEX,
	      "1 is not taken, as it is publicly known: fmd also uses 1 by default, and generates "
	      "a key if m_key or sm_key is set"),
	ALIKE("subnet_prefix", "0xfe80000000000000", OSM_HEX, ""),
	ALIKE("m_key_lease_period", "0", OSM_NUMBER, "30 s at least; fmd renews it"),
	ALIKE("m_key_protection_level", "0", OSM_NUMBER, "default 1 if an m_key is set"),
	BY_ITSELF("m_key_lookup", "TRUE",
		  "guid2mkey is taken along; the most frequent of its keys becomes old_m_key"),
	ALIKE("sweep_interval", "10", OSM_NUMBER,
	      "0 is not taken: light sweeps find faults whose trap was lost"),
	ALIKE("max_wire_smps", "4", OSM_NUMBER,
	      "OpenSM's default of 4 is not taken: fmd adapts the number of outstanding SMPs"),
	NOT_NEEDED("max_wire_smps2", "4",
		   "max_wire_smps is an upper limit; fmd adapts the number below it"),
	NOT_NEEDED("max_smps_timeout", "600000", "as max_wire_smps2"),
	NOT_NEEDED("console", "off", "use fmctl"),
	NOT_NEEDED("console_port", "10000", "use fmctl"),
	ALIKE("transaction_timeout", "200", OSM_NUMBER, ""),
	ALIKE("transaction_retries", "3", OSM_NUMBER, ""),
	NOT_NEEDED("long_transaction_timeout", "500", "fmd has one timeout for all requests"),
	NOT_NEEDED("max_msg_fifo_timeout", "10000",
		   "SA requests are queued fairly by client; see sa_rate_limit"),
	ALIKE("sm_priority", "0", OSM_NUMBER, ""),
	ALIKE("lmc", "0", OSM_NUMBER, ""),
	NOT_OFFERED("lmc_esp0", "FALSE", "enhanced switch ports 0 have one LID"),
	ALIKE("max_op_vls", "5", OSM_NUMBER, ""),
	NOT_OFFERED("force_link_speed", "15", "fmd leaves LinkSpeedEnabled as the port has it"),
	NOT_OFFERED("force_link_speed_ext", "31",
		    "fmd leaves LinkSpeedExtEnabled as the port has it"),
	NOT_OFFERED("force_link_width", "255", "fmd leaves LinkWidthEnabled as the port has it"),
	NOT_OFFERED("fdr10", "1", "FDR10 stays as the port has it"),
	NOT_OFFERED("reassign_lids", "FALSE",
		    "LIDs never change; fmctl forget frees LIDs of removed ports"),
	NOT_OFFERED("ignore_other_sm", "FALSE",
		    "two masters damage each other's work; see sm_priority"),
	NOT_NEEDED("single_thread", "FALSE", "fmd runs in one thread"),
	NOT_OFFERED("disable_multicast", "FALSE", "IPoIB needs multicast"),
	ALIKE("subnet_timeout", "18", OSM_NUMBER, ""),
	ALIKE("packet_life_time", "0x12", OSM_NUMBER, ""),
	ALIKE("vl_stall_count", "0x07", OSM_NUMBER, ""),
	ALIKE("leaf_vl_stall_count", "0x07", OSM_NUMBER, ""),
	ALIKE("head_of_queue_lifetime", "0x12", OSM_NUMBER, ""),
	ALIKE("leaf_head_of_queue_lifetime", "0x10", OSM_NUMBER, ""),
	NOT_OFFERED("local_phy_errors_threshold", "0x08",
		    "fmd does not change the thresholds of traps 129 and 130; it reads all error "
		    "counters itself"),
	NOT_OFFERED("overrun_errors_threshold", "0x08", "as local_phy_errors_threshold"),
	BY_ITSELF("use_mfttop", "TRUE", "on switches that support it"),
	ALIKE("sminfo_polling_timeout", "10000", OSM_NUMBER,
	      "OpenSM's default of 10 s is not taken; fmd's is 0.6 s"),
	ALIKE("polling_retry_number", "4", OSM_NUMBER,
	      "OpenSM's default of 4 is not taken; fmd's is 3"),
	NOT_NEEDED("force_heavy_sweep", "FALSE",
		   "after a fault fmd reads what may have changed; fmctl sweep reads everything"),
	NOT_NEEDED("port_prof_ignore_file", "(null)",
		   "balancing goes by position in the tree, not by counting paths"),
	NOT_OFFERED("hop_weights_file", "(null)", ""),
	NOT_OFFERED("dimn_ports_file", "(null)", "OpenSM uses it for dor"),
	NOT_OFFERED("port_search_ordering_file", "(null)", ""),
	NOT_NEEDED("port_profile_switch_nodes", "FALSE", "as port_prof_ignore_file"),
	BY_ITSELF("sweep_on_trap", "TRUE", ""),
	ALIKE("routing_engine", "(null)", OSM_TEXT,
	      "ftree and updn; others become ftree, which changes to updn-root by itself where the "
	      "links are no tree"),
	BY_ITSELF(
		"avoid_throttled_links", "FALSE",
		"slow and failing links are found by their speed and counters; see health_action"),
	BY_ITSELF("connect_roots", "FALSE",
		  "switches of the top tier reach each other wherever a legal path exists"),
	NOT_NEEDED("use_ucast_cache", "FALSE",
		   "tables do not depend on history: a node that comes back gets its previous "
		   "entries"),
	NOT_NEEDED("log_file", "/var/log/opensm.log",
		   "fmd logs to stderr, which systemd keeps in its journal"),
	NOT_NEEDED("log_max_size", "0", "systemd limits the size of the journal"),
	NOT_NEEDED("log_flags", "0x03", "see log_level and fmctl loglevel"),
	NOT_NEEDED("force_log_flush", "FALSE", ""),
	NOT_NEEDED("accum_log_file", "TRUE", ""),
	FROM_FILE("partition_config_file", "/etc/opensm/partitions.conf", "partition_config_file",
		  "the file stays in its place and serves both managers"),
	TAKEN("no_partition_enforcement", "FALSE", "part_enforce", OSM_TEXT,
	      "TRUE is part_enforce = \"off\""),
	ALIKE("part_enforce", "both", OSM_TEXT, ""),
	ALIKE("allow_both_pkeys", "FALSE", OSM_FLAG, ""),
	BY_ITSELF("keep_pkey_indexes", "TRUE", ""),
	NOT_OFFERED("sm_assigned_guid", "0x00", "hosts choose alias GUIDs"),
	ALIKE("qos", "FALSE", OSM_FLAG, ""),
	FROM_FILE("qos_policy_file", "/etc/opensm/qos-policy.conf", NULL,
		  "its levels are listed; in fmd the SL of a path is that of its partition (sl= in "
		  "partitions.conf)"),
	BY_ITSELF("suppress_sl2vl_mad_status_errors", "FALSE",
		  "a port that rejects is reported once and retried at growing intervals"),
	NOT_NEEDED("dump_files_dir", "/var/log/", "fmctl dump DIR"),
	NOT_OFFERED("lid_matrix_dump_file", "(null)", ""),
	NOT_OFFERED("lfts_file", "(null)",
		    "fmctl plan --tables verifies and measures the tables of a file"),
	FROM_FILE("root_guid_file", "(null)", NULL,
		  "fmd derives the tiers from the links, also from those that are down; compare "
		  "with fmctl switches"),
	FROM_FILE("cn_guid_file", "(null)", NULL,
		  "all nodes that are neither storage nor management are compute nodes"),
	FROM_FILE("io_guid_file", "(null)", "storage_nodes",
		  "I/O nodes are balanced separately over the spines"),
	NOT_NEEDED("port_shifting", "FALSE", "balancing goes by position in the tree"),
	NOT_OFFERED("scatter_ports", "0",
		    "random choice collides; balancing goes by position in the tree"),
	BY_ITSELF("max_reverse_hops", "0",
		  "nodes connected to spines are reached where that closes no credit loop"),
	NOT_NEEDED("ids_guid_file", "(null)", "tables do not depend on GUIDs"),
	NOT_NEEDED("guid_routing_order_file", "(null)", "balancing goes by position in the tree"),
	NOT_NEEDED("guid_routing_order_no_scatter", "FALSE", ""),
	NOT_NEEDED("sa_db_file", "(null)",
		   "groups, services and subscriptions are kept in state_dir; hosts register anew "
		   "when fmd takes over"),
	NOT_NEEDED("sa_db_dump", "FALSE", "as sa_db_file"),
	NOT_OFFERED("torus_config", "/etc/opensm/torus-2QoS.conf",
		    "updn-root routes a torus without credit loops"),
	NOT_NEEDED("do_mesh_analysis", "FALSE", "option of lash"),
	NOT_NEEDED("exit_on_fatal", "TRUE",
		   "a duplicate GUID is an alert, and the node found second is ignored"),
	BY_ITSELF("honor_guid2lid_file", "FALSE",
		  "LIDs of all ports ever met are kept; at a takeover ports keep the LIDs that "
		  "they hold"),
	NOT_NEEDED("daemon", "FALSE", "systemd"),
	NOT_OFFERED("sm_inactive", "FALSE", "do not start fmd"),
	BY_ITSELF("babbling_port_policy", "FALSE",
		  "senders of too many traps are throttled, and links that keep going down are "
		  "quarantined"),
	BY_ITSELF("drop_event_subscriptions", "FALSE",
		  "subscriptions of ports that left the fabric end"),
	BY_ITSELF("ipoib_mcgroup_creation_validation", "TRUE", ""),
	BY_ITSELF("mcgroup_join_validation", "TRUE", ""),
	NOT_OFFERED("use_original_extended_sa_rates_only", "FALSE", ""),
	NOT_OFFERED("max_rate_enum", "22", ""),
	BY_ITSELF("use_optimized_slvl", "FALSE",
		  "one Set for all ports on switches that support it"),
	BY_ITSELF("fsync_high_avail_files", "TRUE", ""),
	BY_ITSELF("perfmgr", "FALSE", "counters are read at perf_interval and never cleared"),
	NOT_OFFERED("perfmgr_redir", "TRUE", ""),
	TAKEN("perfmgr_sweep_time_s", "180", "perf_interval", OSM_NUMBER,
	      "OpenSM's default of 180 s is not taken; fmd's is 60 s"),
	NOT_NEEDED("perfmgr_max_outstanding_queries", "500", ""),
	NOT_OFFERED("perfmgr_ignore_cas", "FALSE", "HCA counters are always read"),
	NOT_NEEDED("event_db_dump_file", "(null)",
		   "use fmctl events, fmctl counters or HTTP /metrics"),
	NOT_NEEDED("perfmgr_rm_nodes", "TRUE", ""),
	BY_ITSELF("perfmgr_log_errors", "TRUE",
		  "links over a limit are reported as events; see health_*"),
	BY_ITSELF("perfmgr_query_cpi", "TRUE", ""),
	BY_ITSELF("perfmgr_xmit_wait_log", "FALSE", "see health_wait_percent"),
	NOT_OFFERED("perfmgr_xmit_wait_threshold", "65535",
		    "health_wait_percent limits the share of time"),
	NOT_OFFERED("event_plugin_name", "(null)",
		    "use fmctl events -f --json, HTTP, host_hook or nvswitch_hook"),
	NOT_OFFERED("event_plugin_options", "(null)", "as event_plugin_name"),
	FROM_FILE("node_name_map_name", "(null)", "node_name_map",
		  "the file stays in its place and serves both managers"),
	QOS("qos_"),
	QOS("qos_ca_"),
	QOS("qos_sw0_"),
	QOS("qos_swe_"),
	QOS("qos_rtr_"),
	NOT_OFFERED("congestion_control", "FALSE",
		    "fmd does not change the settings of HCAs and switches"),
	NOT_OFFERED("cc_key", "0x0000000000000000", "as congestion_control"),
	NOT_OFFERED("cc_max_outstanding_mads", "500", "as congestion_control"),
	NOT_OFFERED("cc_sw_cong_setting_control_map", "0x0", "as congestion_control"),
	NOT_OFFERED("cc_sw_cong_setting_victim_mask", "0x0", "as congestion_control"),
	NOT_OFFERED("cc_sw_cong_setting_credit_mask", "0x0", "as congestion_control"),
	NOT_OFFERED("cc_sw_cong_setting_threshold", "0x00", "as congestion_control"),
	NOT_OFFERED("cc_sw_cong_setting_packet_size", "0", "as congestion_control"),
	NOT_OFFERED("cc_sw_cong_setting_credit_starvation_threshold", "0x00",
		    "as congestion_control"),
	NOT_OFFERED("cc_sw_cong_setting_credit_starvation_return_delay", "0:0",
		    "as congestion_control"),
	NOT_OFFERED("cc_sw_cong_setting_marking_rate", "0", "as congestion_control"),
	NOT_OFFERED("cc_ca_cong_setting_port_control", "0x0000", "as congestion_control"),
	NOT_OFFERED("cc_ca_cong_setting_control_map", "0x0000", "as congestion_control"),
	NOT_OFFERED("cc_ca_cong_setting_ccti_timer", "0 0", "as congestion_control"),
	NOT_OFFERED("cc_ca_cong_setting_ccti_increase", "0 0", "as congestion_control"),
	NOT_OFFERED("cc_ca_cong_setting_trigger_threshold", "0 0", "as congestion_control"),
	NOT_OFFERED("cc_ca_cong_setting_ccti_min", "0 0", "as congestion_control"),
	NOT_OFFERED("cc_cct", "(null)", "as congestion_control"),
	NOT_NEEDED("enable_quirks", "FALSE", ""),
	BY_ITSELF("no_clients_rereg", "FALSE",
		  "hosts are asked to register anew only if their registrations are not known"),
	NOT_OFFERED("prefix_routes_file", "/etc/opensm/prefix-routes.conf",
		    "fmd manages one subnet without routers"),
	ALIKE("consolidate_ipv6_snm_req", "FALSE", OSM_NUMBER, ""),
	NOT_NEEDED("lash_start_vl", "0", "option of lash"),
	ALIKE("sm_sl", "0", OSM_NUMBER, ""),
	NOT_NEEDED("nue_max_num_vls", "1", "option of nue"),
	NOT_NEEDED("nue_include_switches", "FALSE", "option of nue"),
	NOT_NEEDED("log_prefix", "(null)", ""),
	NOT_NEEDED("per_module_logging_file", "/etc/opensm/per-module-logging.conf",
		   "fmctl loglevel MODULE LEVEL"),
	NOT_NEEDED("quasi_ftree_indexing", "FALSE", "balancing does not depend on it"),
	ALIKE("master_sm_priority", NULL, OSM_NUMBER, ""),
	ALIKE("max_wire_smps_per_device", NULL, OSM_NUMBER, ""),
	NOT_OFFERED("ar_*", NULL,
		    "adaptive routing: fmd turns it off where another manager left it on, and "
		    "routes by LFTs alone"),
	NOT_OFFERED("shield_mode", NULL, "as ar_*"),
	NOT_OFFERED("pfrn_*", NULL, "as ar_*"),
	NOT_OFFERED("hbf_*", NULL, "as ar_*"),
	NOT_OFFERED("fast_recovery_*", NULL, ""),
	NOT_OFFERED("enable_ar_*", NULL, "as ar_*"),
	NOT_NEEDED("dfp_*", NULL, "updn-root routes Dragonfly+"),
	NOT_NEEDED("pqft_structure", NULL, "the tiers are derived from the links"),
	NOT_NEEDED("find_roots_color_algorithm", NULL, "the tiers are derived from the links"),
	NOT_NEEDED("max_cas_on_spine", NULL, "the tiers are derived from the links"),
	NOT_NEEDED("updn_lid_tracking_mode", NULL, ""),
	BY_ITSELF("calc_missing_routes", NULL, ""),
	BY_ITSELF("offsweep_balancing_*", NULL, "see rebalance"),
	NOT_NEEDED("routing_threads_num", NULL, ""),
	NOT_NEEDED("routing_flags", NULL, ""),
	BY_ITSELF("enable_queries_during_routing", NULL, ""),
	BY_ITSELF("enable_inc_mc_routing", NULL,
		  "a multicast tree that is still valid does not change"),
	NOT_OFFERED("mc_primary_root_guid", NULL, "fmd chooses roots by position in the tree"),
	NOT_OFFERED("mc_secondary_root_guid", NULL, "fmd chooses roots by position in the tree"),
	NOT_OFFERED("mc_roots_file", NULL, "fmd chooses roots by position in the tree"),
	BY_ITSELF("hm_*", NULL, "see flap_count, health_action and fmctl links --sick"),
	NOT_NEEDED("osm_stats_*", NULL, "use fmctl status or HTTP /metrics"),
	BY_ITSELF("sharp_enabled", NULL,
		  "aggregation nodes have paths; for SHARP's manager write the topology with fmctl "
		  "dump"),
	NOT_OFFERED("virt_*", NULL, "virtual ports of HCAs"),
	NOT_OFFERED("pgrp_policy_file", NULL, ""),
	NOT_OFFERED("topo_policy_file", NULL, ""),
	NOT_OFFERED("rch_policy_file", NULL, ""),
	NOT_OFFERED("device_configuration_file", NULL, ""),
	NOT_OFFERED("held_back_sw_file", NULL, "use fmctl cordon to take a switch out of routing"),
	NOT_OFFERED("m_key_per_port", NULL, "use m_key_secret_file"),
	NOT_OFFERED("vs_key_*", NULL, ""),
	NOT_OFFERED("n2n_key_*", NULL, ""),
	NOT_OFFERED("key_mgr_seed", NULL, ""),
	NOT_OFFERED("cc_key_enable", NULL, ""),
	NOT_OFFERED("mlnx_congestion_control", NULL,
		    "fmd does not change the settings of HCAs and switches"),
	NOT_OFFERED("ppcc_*", NULL, "as mlnx_congestion_control"),
	NOT_OFFERED("congestion_control_policy_file", NULL, "as mlnx_congestion_control"),
	NOT_OFFERED("global_flid_*", NULL, "fmd manages one subnet without routers"),
	NOT_OFFERED("local_flid_*", NULL, "as global_flid_*"),
	NOT_OFFERED("rtr_*", NULL, "as global_flid_*"),
	NOT_OFFERED("nvl_*", NULL, "fmd does not manage NVLink subnets"),
	NOT_OFFERED("nvlink_*", NULL, "fmd does not manage NVLink subnets"),
	BY_ITSELF("sa_rate_threshold", NULL, "see sa_rate_limit"),
	NOT_OFFERED("sa_enhanced_trust_model", NULL, ""),
	BY_ITSELF("sa_check_sgid_spoofing", NULL, "clients are identified by their LID"),
	NOT_OFFERED("allowed_sm_guids", NULL, "set allowed_sm_guids by hand"),
	NOT_OFFERED("topo_config_*", NULL, "use fmctl cabling --plan FILE"),
	NOT_OFFERED("fabric_mode_profile", NULL, ""),
	NOT_NEEDED("smp_threads", NULL, ""),
	NOT_NEEDED("gmp_threads", NULL, ""),
	NOT_NEEDED("enable_subnet_lst", NULL, "use fmctl topology --format lst"),
	BY_ITSELF("validate_smps", NULL, "contradictory answers are asked for again, then ignored"),
};
#define NOPTIONS ARRAY_SIZE(options)

const struct osm_option *osm_option(size_t index)
{
	return index < NOPTIONS ? &options[index] : NULL;
}

static bool is_named(const struct osm_option *option, const char *name)
{
	size_t len = strlen(option->name);

	if (option->name[len - 1] == '*')
		return !strncmp(option->name, name, len - 1);
	return !strcmp(option->name, name);
}

const struct osm_option *osm_option_find(const char *name)
{
	for (size_t i = 0; i < NOPTIONS; i++)
		if (is_named(&options[i], name))
			return &options[i];
	return NULL;
}

const char *osm_fate_name(enum osm_fate fate)
{
	static const char *const names[] = { [OSM_TAKEN] = "taken",
					     [OSM_FILE] = "file",
					     [OSM_BY_ITSELF] = "by itself",
					     [OSM_NOT_NEEDED] = "not needed",
					     [OSM_NOT_OFFERED] = "not offered" };

	return names[fate];
}

bool osm_is_null(const char *value)
{
	return !*value || !strcmp(value, "(null)");
}

bool osm_is_true(const char *value)
{
	return !strcasecmp(value, "TRUE") || !strcasecmp(value, "yes") || !strcmp(value, "1");
}

/* "0x12", "18" and "18 " are one number. */
static bool same_number(const char *a, const char *b)
{
	char *a_end, *b_end;
	unsigned long long x = strtoull(a, &a_end, 0), y = strtoull(b, &b_end, 0);

	return a_end != a && b_end != b && !*a_end && !*b_end && x == y;
}

bool osm_option_is_standard(const struct osm_option *option, const char *value)
{
	const char *standard = option->standard;

	if (!standard)
		return false;
	return !strcasecmp(standard, value) || (osm_is_null(standard) && osm_is_null(value)) ||
	       same_number(standard, value);
}
