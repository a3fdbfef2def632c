/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * metrics: one row of the table a metric: its name, what it is, where the figure lies in the status
 * document and what makes of it the base unit (seconds, bytes). Names and units follow Prometheus'
 * conventions: counters end in _total, times are seconds. A path that leads to an object gives one
 * sample a member, the member's name as the label; one to a list, its length, or how many of its
 * objects have the same text in a member; one to a word, a sample for each word that it may be.
 */
#include <stdbool.h>
#include <string.h>
#include "fm/http/metrics.h"

struct metric {
	const char *name, *type, *help;
	const char *path;	  /* of the figure, members joined by dots */
	double scale;		  /* 0 = 1 */
	const char *label;	  /* several samples: the label's name */
	const char *by;		  /* the path leads to a list: a member of its objects */
	const char *const *words; /* the path leads to one of these, NULL behind the last */
};

#define GAUGE	"gauge"
#define COUNTER "counter"
#define MS	1e-3

static const char *const states[] = { "starting",	  "bringup",	   "up",
				      "changing",	  "refused",	   "standby",
				      "no-device",	  "port-busy",	   "no-link",
				      "neighbour-silent", "foreign-m-key", NULL };
static const char *const roles[] = { "master", "standby", "disabled", "discovering", "none", NULL };

#define METRIC(n, t, h, p, ...)                                                                    \
	{                                                                                          \
		.name = n, .type = t, .help = h, .path = p, ##__VA_ARGS__                          \
	}

static const struct metric metrics[] = {
	METRIC("fmd_fabric_up", GAUGE, "Whether the fabric is as wanted (1)", "fabric_up"),
	METRIC("fmd_state", GAUGE, "1 = fmd is in this state (the words of fmctl status)", "state",
	       .label = "state", .words = states),
	METRIC("fmd_role", GAUGE, "1 = this subnet manager has this role", "role", .label = "role",
	       .words = roles),
	METRIC("fmd_sm_state", GAUGE, "0 disabled, 1 discovering, 2 standby, 3 master (IBA 14.4.1)",
	       "election.state"),
	METRIC("fmd_role_changes_total", COUNTER,
	       "Times that this manager became master or standby, or ceased to be", "role_changes"),
	METRIC("fmd_sm_others", GAUGE, "Other subnet managers, when last asked", "election.others"),
	METRIC("fmd_sm_two_masters", GAUGE, "Whether another is master as well (1)",
	       "election.two_masters"),
	METRIC("fmd_sm_take_overs_total", COUNTER, "Times that another's fabric was taken over",
	       "election.take_overs"),
	METRIC("fmd_sm_take_over_seconds", GAUGE,
	       "The latest, from the other's last sign of life until all was as wanted",
	       "election.take_over_ms", .scale = MS),
	METRIC("fmd_sm_controls_refused_total", COUNTER, "Control packets of others refused",
	       "election.controls_refused"),
	METRIC("fmd_mirror_whole", GAUGE,
	       "As standby: it has all that its master keeps; as master: a standby has (1)",
	       "mirror.whole"),
	METRIC("fmd_mirror_age_seconds", GAUGE, "Since that was so last", "mirror.age_ms",
	       .scale = MS),
	METRIC("fmd_mirror_behind", GAUGE, "As master: changes that no standby has confirmed",
	       "mirror.behind"),
	METRIC("fmd_mirror_refused_total", COUNTER,
	       "Connections to peer_listen that ended before it was known whose they are",
	       "mirror.refused"),
	METRIC("fmd_registrations_whole", GAUGE,
	       "Standby without a mirror: whether it has what hosts registered with its master (1)",
	       "registrations.whole"),
	METRIC("fmd_registrations_age_seconds", GAUGE,
	       "How old that is, or how long its master's SA was asked in vain",
	       "registrations.age_ms", .scale = MS),
	METRIC("fmd_registrations_members", GAUGE, "Members of multicast groups in it",
	       "registrations.members"),
	METRIC("fmd_alerts", GAUGE, "What asks for an operator now; status has their names",
	       "alerts"),
	METRIC("fmd_alerts_by_kind", GAUGE, "Of these, by what is wrong", "alerts", .label = "what",
	       .by = "what"),
	METRIC("fmd_troubles", GAUGE, "What does not work as configured; status has their names",
	       "troubles"),
	METRIC("fmd_events_total", COUNTER, "Events, by level", "events_by_level",
	       .label = "level"),
	METRIC("fmd_uptime_seconds", GAUGE, "Since this process began", "uptime_s"),
	METRIC("fmd_resident_memory_bytes", GAUGE, "Resident set", "rss_kb", .scale = 1024),
	METRIC("fmd_loop_longest_seconds", GAUGE, "Longest hold of the event loop, last 10 to 20 s",
	       "loop_longest_us", .scale = 1e-6),
	METRIC("fmd_switches", GAUGE, "Switches known", "switches"),
	METRIC("fmd_hcas", GAUGE, "Channel adapters known", "hcas"),
	METRIC("fmd_hcas_cut_off", GAUGE, "Known channel adapters behind what is dead or isolated",
	       "hcas_cut_off"),
	METRIC("fmd_hcas_off", GAUGE, "Known channel adapters whose own link is seen down",
	       "hcas_off"),
	METRIC("fmd_hosts", GAUGE, "Machines by the verdict on their HCAs, links and NVLinks",
	       "host_verdicts", .label = "verdict"),
	METRIC("fmd_links", GAUGE, "Cables known, links of aggregation nodes left out", "links"),
	METRIC("fmd_aggregation_nodes", GAUGE, "SHARP aggregation nodes", "aggregation_nodes"),
	METRIC("fmd_links_special", GAUGE, "Links of aggregation nodes, inside of switches",
	       "links_special"),
	METRIC("fmd_links_down", GAUGE, "Cables that are down", "links_down"),
	METRIC("fmd_links_cordoned", GAUGE, "Links cordoned by an operator: isolated from routing",
	       "links_cordoned"),
	METRIC("fmd_links_quarantined", GAUGE,
	       "Unhealthy links in quarantine: isolated from routing", "links_quarantined"),
	METRIC("fmd_links_isolated", GAUGE,
	       "Links that can not be worked with: isolated from routing", "links_isolated"),
	METRIC("fmd_isolated", GAUGE,
	       "Links and switches that are isolated; status has their names", "isolated"),
	METRIC("fmd_lid_top", GAUGE, "Highest LID in use", "lids"),
	METRIC("fmd_sweep_seconds", GAUGE, "The latest sweep", "sweep_ms", .scale = MS),
	METRIC("fmd_route_seconds", GAUGE, "The latest computation of tables", "route_ms",
	       .scale = MS),
	METRIC("fmd_check_seconds", GAUGE, "The latest proof of tables", "check_ms", .scale = MS),
	METRIC("fmd_program_seconds", GAUGE, "The latest programming of switches", "program_ms",
	       .scale = MS),
	METRIC("fmd_bringup_seconds", GAUGE, "The latest bringing up of ports and links",
	       "bringup_ms", .scale = MS),
	METRIC("fmd_lft_blocks_written_total", COUNTER, "Blocks that switches acknowledged",
	       "lft_blocks_written"),
	METRIC("fmd_lft_blocks_unread", GAUGE,
	       "Blocks assumed since a restart and not yet read back", "lft_blocks_unread"),
	METRIC("fmd_lft_blocks_failed", GAUGE,
	       "Blocks that switches did not acknowledge when they were written last",
	       "lft_blocks_failed"),
	METRIC("fmd_smps_sent_total", COUNTER, "Subnet management packets sent, retries included",
	       "smps_sent"),
	METRIC("fmd_smps_retried_total", COUNTER, "Of these, sent again", "smps_retried"),
	METRIC("fmd_smps_timed_out_total", COUNTER, "Requests given up", "smps_timed_out"),
	METRIC("fmd_mads_dropped_total", COUNTER, "Packets that matched nothing or were malformed",
	       "mads_dropped"),
	METRIC("fmd_smp_window", GAUGE, "Requests that may be on their way at once", "smp_window"),
	METRIC("fmd_nodes_silent", GAUGE, "Nodes and ports that do not answer", "silent"),
	METRIC("fmd_duplicate_guids", GAUGE, "GUIDs met twice", "duplicate_guids"),
	METRIC("fmd_proof_pairs_reachable", GAUGE, "Ordered pairs of hosts that the tables connect",
	       "proof.reachable"),
	METRIC("fmd_proof_pairs_unreachable", GAUGE, "Pairs that cables connect and tables do not",
	       "proof.unreachable"),
	METRIC("fmd_proof_pairs_unreachable_special", GAUGE, "Of pairs with aggregation nodes",
	       "proof.unreachable_special"),
	METRIC("fmd_proof_pairs_disconnected", GAUGE, "Pairs that no cables connect",
	       "proof.disconnected"),
	METRIC("fmd_proof_bad_ports", GAUGE, "Entries that lead to a port without a link",
	       "proof.bad_ports"),
	METRIC("fmd_proof_hops_max", GAUGE, "Switches on the longest path", "proof.max_hops"),
	METRIC("fmd_proof_loops", GAUGE, "Forwarding loops", "proof.loops"),
	METRIC("fmd_proof_credit_cycles", GAUGE, "Cycles of channel dependencies",
	       "proof.credit_cycles"),
	METRIC("fmd_last_fault_seconds", GAUGE, "The latest fault, detected to programmed",
	       "last_fault.detected_to_programmed_ms", .scale = MS),
	METRIC("fmd_last_fault_lft_entries", GAUGE, "Entries that changed for it",
	       "last_fault.lft_entries_changed"),
	METRIC("fmd_last_fault_proven_seconds", GAUGE, "The latest fault, detected to proven",
	       "last_fault.detected_to_proven_ms", .scale = MS),
	METRIC("fmd_last_repair_seconds", GAUGE, "The latest repair, detected to programmed",
	       "last_repair.detected_to_programmed_ms", .scale = MS),
	METRIC("fmd_reroutes_total", COUNTER, "Updates that changed tables", "reroutes"),
	METRIC("fmd_last_reroute_age_seconds", GAUGE, "Since tables were changed last",
	       "reroute_age_s"),
	METRIC("fmd_rebalance_overrides", GAUGE, "Entries that re-balancing moved",
	       "rebalance.overrides"),
	METRIC("fmd_polls_total", COUNTER, "Light sweeps: one packet a switch", "polls"),
	METRIC("fmd_traps_total", COUNTER, "Traps received", "traps.received"),
	METRIC("fmd_traps_repeated_total", COUNTER, "Of these, folded into others",
	       "traps.repeated"),
	METRIC("fmd_traps_errors_total", COUNTER, "Of these, about errors of ports and keys",
	       "traps.errors"),
	METRIC("fmd_traps_forged_total", COUNTER,
	       "Of these, naming a port that did not send them; not believed", "traps.forged"),
	METRIC("fmd_audit_blocks_total", COUNTER, "Blocks read back and compared", "audit.blocks"),
	METRIC("fmd_audit_repaired_total", COUNTER, "Of these, repaired", "audit.repaired"),
	METRIC("fmd_sa_requests_total", COUNTER, "Requests to the subnet administrator",
	       "sa.requests"),
	METRIC("fmd_sa_answered_total", COUNTER, "Of these, answered with records", "sa.answered"),
	METRIC("fmd_sa_busy_total", COUNTER,
	       "Of these, not answered: above sa_rate_limit, too many, or too early", "sa.busy"),
	METRIC("fmd_sa_waiting", GAUGE, "SA requests that wait for their turn", "sa.waiting"),
	METRIC("fmd_sa_bad_total", COUNTER, "Of these, refused as wrong", "sa.bad"),
	METRIC("fmd_sa_unsupported_total", COUNTER, "Of these, of no known kind", "sa.unsupported"),
	METRIC("fmd_sa_reports_total", COUNTER, "Reports sent to subscribers", "sa.reports"),
	METRIC("fmd_sa_reports_unanswered_total", COUNTER, "Of these, never answered",
	       "sa.reports_unanswered"),
	METRIC("fmd_sa_subscriptions", GAUGE, "Subscriptions to reports (InformInfo)",
	       "sa.subscriptions"),
	METRIC("fmd_sa_services", GAUGE, "Services registered (ServiceRecord)", "sa.services"),
	METRIC("fmd_multicast_groups", GAUGE, "Multicast groups", "multicast.groups"),
	METRIC("fmd_multicast_mlids", GAUGE, "Multicast LIDs in use", "multicast.mlids"),
	METRIC("fmd_multicast_mlids_room", GAUGE,
	       "Multicast LIDs that the switch with the smallest multicast table has room for",
	       "multicast.mlids_room"),
	METRIC("fmd_mlids_used", GAUGE, "Multicast LIDs in use", "multicast.mlids"),
	METRIC("fmd_mlids_capacity", GAUGE,
	       "Multicast LIDs that the smallest multicast table of a switch has room for",
	       "multicast.mlids_room"),
	METRIC("fmd_multicast_members", GAUGE, "Members of multicast groups", "multicast.members"),
	METRIC("fmd_multicast_blocks_written_total", COUNTER,
	       "Blocks of multicast tables that switches acknowledged",
	       "multicast.mft_blocks_written"),
	METRIC("fmd_multicast_members_waiting", GAUGE,
	       "Ports that can't be reached, and stay members of multicast groups",
	       "multicast.waiting"),
	METRIC("fmd_nvswitch_hosts", GAUGE, "Hosts by the state of their NVSwitches and NVLinks",
	       "nvswitch.states", .label = "state"),
	METRIC("fmd_nvswitch_sources_up", GAUGE,
	       "Exporters that answer, and sources of health reports that speak",
	       "nvswitch.sources_up"),
	METRIC("fmd_nvswitch_input_open", GAUGE, "Whether a configured input could be opened (1)",
	       "nvswitch.inputs", .label = "input"),
	METRIC("fmd_nvswitch_log_lines_total", COUNTER,
	       "Lines of kernel logs: understood (about NVLinks), ignored (about something else), "
	       "malformed, refused (senders that may not)",
	       "nvswitch.logs.by_use", .label = "use"),
	METRIC("fmd_nvswitch_log_unread_total", COUNTER,
	       "Malformed and refused lines by sender, the 32 worst", "nvswitch.logs.unread",
	       .label = "sender"),
	METRIC("fmd_health_ports_over_error_rate", GAUGE,
	       "Ports whose error rate over minutes or hours is over its limit",
	       "health.over_error_rate"),
	METRIC("fmd_health_links_sick", GAUGE, "Cables past a threshold of their counters",
	       "health.sick"),
	METRIC("fmd_health_links_slow", GAUGE, "Links that run below what both ends can",
	       "health.slow"),
	METRIC("fmd_health_ports_warned", GAUGE, "Ports past a threshold once, or congested",
	       "health.warned"),
	METRIC("fmd_counters_pass_age_seconds", GAUGE,
	       "Since the latest pass over the counters of all ports ended", "health.pass_age_s"),
	METRIC("fmd_counters_interval_seconds", GAUGE, "perf_interval; 0 = on demand alone",
	       "health.interval_s"),
	METRIC("fmd_counters_pass_seconds", GAUGE, "What that pass took", "health.pass_ms",
	       .scale = MS),
	METRIC("fmd_counters_ports_read", GAUGE, "Ports read in it", "health.ports_read"),
	METRIC("fmd_counters_ports_silent", GAUGE, "Requests not answered in it", "health.silent"),
};

static const json_t *find(const json_t *at, const char *path)
{
	char name[64];

	while (at && *path) {
		size_t len = strcspn(path, ".");

		snprintf(name, sizeof(name), "%.*s", (int)len, path);
		at = json_object_get(at, name);
		path += len + (path[len] == '.');
	}
	return at;
}

static bool is_figure(const json_t *value)
{
	return json_is_number(value) || json_is_boolean(value) || json_is_array(value);
}

static double figure(const json_t *value)
{
	if (json_is_array(value))
		return (double)json_array_size(value);
	return json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
}

static void write_labelled(const struct metric *m, const char *label, double value, FILE *out)
{
	fprintf(out, "%s{%s=\"", m->name, m->label);
	for (; *label; label++)
		if (*label == '\n')
			fputs("\\n", out);
		else
			fprintf(out, "%s%c", *label == '\\' || *label == '"' ? "\\" : "", *label);
	fprintf(out, "\"} %.15g\n", value * (m->scale ? m->scale : 1));
}

static void write_members(const struct metric *m, const json_t *object, FILE *out)
{
	const char *member;
	json_t *each;

	json_object_foreach ((json_t *)object, member, each)
		if (is_figure(each))
			write_labelled(m, member, figure(each), out);
}

static void write_by(const struct metric *m, const json_t *list, FILE *out)
{
	json_t *counts = json_object(), *each;
	size_t i;

	json_array_foreach (list, i, each) {
		const char *text = json_string_value(json_object_get(each, m->by));
		json_int_t count = json_integer_value(json_object_get(counts, text ? text : ""));

		json_object_set_new(counts, text ? text : "", json_integer(count + 1));
	}
	write_members(m, counts, out);
	json_decref(counts);
}

static void write_words(const struct metric *m, const char *word, FILE *out)
{
	bool known = false;

	for (const char *const *it = m->words; *it; it++) {
		known |= !strcmp(*it, word);
		write_labelled(m, *it, !strcmp(*it, word), out);
	}
	if (!known)
		write_labelled(m, word, 1, out);
}

static bool has_samples(const struct metric *m, const json_t *value)
{
	if (m->words)
		return json_is_string(value);
	if (m->by)
		return json_is_array(value);
	return m->label ? json_is_object(value) : is_figure(value);
}

static void write_metric(const struct metric *m, const json_t *value, FILE *out)
{
	if (!has_samples(m, value))
		return;
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name, m->type);
	if (m->words)
		write_words(m, json_string_value(value), out);
	else if (m->by)
		write_by(m, value, out);
	else if (m->label)
		write_members(m, value, out);
	else
		fprintf(out, "%s %.15g\n", m->name, figure(value) * (m->scale ? m->scale : 1));
}

void metrics_write(const json_t *status, FILE *out)
{
	const char *engine = json_string_value(json_object_get(status, "engine"));
	const char *state = json_string_value(json_object_get(status, "state"));

	fprintf(out,
		"# HELP fmd_info What runs\n# TYPE fmd_info gauge\n"
		"fmd_info{version=\"%s\",engine=\"%s\",state=\"%s\"} 1\n",
		FMD_VERSION, engine ? engine : "", state ? state : "");
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		write_metric(&metrics[i], find(status, metrics[i].path), out);
}
