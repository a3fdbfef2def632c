/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * metrics: the table has one row for each metric: its name and help, the path of its figure in the
 * status document, and the factor to the base unit (seconds, bytes). Names and units follow
 * Prometheus' conventions: counters end in _total, times are seconds. A path to an object gives a
 * sample for each member, with the member's name as the label; a path to a list gives its length,
 * or the number of its objects with the same text in a member; a path to a word gives a sample for
 * each word that it may be.
 */
#include <stdbool.h>
#include "fm/http/metrics.h"
#include "topology/base/mem.h"

struct metric {
	const char *name, *help;
	const char *path;	  /* of the figure, members joined by dots */
	double scale;		  /* 0 = 1 */
	const char *label;	  /* several samples: the label's name */
	const char *by;		  /* the path leads to a list: a member of its objects */
	const char *const *words; /* the path leads to one of these, NULL behind the last */
};

#define MS 1e-3

static const char *const states[] = {
	"starting",	 "bringup",   "up",	   "changing", "refused",
	"standby",	 "no-device", "port-busy", "no-link",  "neighbour-silent",
	"foreign-m-key", "asking",    NULL
};
static const char *const roles[] = { "master", "standby", "disabled", "discovering", "none", NULL };

#define METRIC(n, h, p, ...)                                                                       \
	{                                                                                          \
		.name = n, .help = h, .path = p, ##__VA_ARGS__                                     \
	}

static const struct metric metrics[] = {
	METRIC("fmd_fabric_up",
	       "Whether the fabric is programmed and up and this manager is its master (1)",
	       "fabric_up"),
	METRIC("fmd_state", "1 = fmd is in this state, as in fmctl status", "state",
	       .label = "state", .words = states),
	METRIC("fmd_role", "1 = this subnet manager has this role", "role", .label = "role",
	       .words = roles),
	METRIC("fmd_sm_state",
	       "SMInfo:SMState of this manager: 0 not active, 1 discovering, 2 standby, 3 master "
	       "(IBA 14.4.1)",
	       "election.state"),
	METRIC("fmd_role_changes_total", "Changes of the role of this manager", "role_changes"),
	METRIC("fmd_sm_others", "Other subnet managers found", "election.others"),
	METRIC("fmd_sm_two_masters", "Whether another subnet manager is master too (1)",
	       "election.two_masters"),
	METRIC("fmd_sm_master_idle",
	       "Standby: whether its master has served this manager's port with nothing for 10 s "
	       "(1)",
	       "election.master_idle"),
	METRIC("fmd_sm_take_overs_total", "Takeovers from another master", "election.take_overs"),
	METRIC("fmd_sm_take_over_seconds",
	       "Latest takeover, from the previous master's last answer until the fabric was up",
	       "election.take_over_ms", .scale = MS),
	METRIC("fmd_sm_controls_refused_total",
	       "SMInfo control packets of other managers that were refused",
	       "election.controls_refused"),
	METRIC("fmd_mirror_whole",
	       "Whether a standby has a complete copy of its master's state (1)", "mirror.whole"),
	METRIC("fmd_mirror_age_seconds", "Time since the copy of the master's state was complete",
	       "mirror.age_ms", .scale = MS),
	METRIC("fmd_mirror_behind", "Master: changes of its state that no standby has confirmed",
	       "mirror.behind"),
	METRIC("fmd_mirror_refused_total",
	       "Connections to peer_listen that ended before the peer authenticated",
	       "mirror.refused"),
	METRIC("fmd_registrations_whole",
	       "Whether a standby without peers has read all registrations of its master's SA (1)",
	       "registrations.whole"),
	METRIC("fmd_registrations_age_seconds",
	       "Age of the registrations read from the master's SA, or time without any",
	       "registrations.age_ms", .scale = MS),
	METRIC("fmd_registrations_members", "Multicast group members read from the master's SA",
	       "registrations.members"),
	METRIC("fmd_alerts", "Conditions that need an operator now; fmctl status lists them",
	       "alerts"),
	METRIC("fmd_alerts_by_kind", "Conditions that need an operator now, by kind", "alerts",
	       .label = "what", .by = "what"),
	METRIC("fmd_troubles",
	       "Inputs and programs that do not work as configured; fmctl status lists them",
	       "troubles"),
	METRIC("fmd_events_total", "Events by level", "events_by_level", .label = "level"),
	METRIC("fmd_uptime_seconds", "Time since fmd started", "uptime_s"),
	METRIC("fmd_resident_memory_bytes", "Resident memory of fmd", "rss_kb", .scale = 1024),
	METRIC("fmd_loop_longest_seconds",
	       "Longest step of fmd's event loop in the last 10 to 20 s", "loop_longest_us",
	       .scale = 1e-6),
	METRIC("fmd_switches", "Switches known", "switches"),
	METRIC("fmd_hcas", "HCAs known", "hcas"),
	METRIC("fmd_hcas_cut_off", "HCAs without a path, though their own link is not seen down",
	       "hcas_cut_off"),
	METRIC("fmd_hcas_off", "HCAs whose own link is down", "hcas_off"),
	METRIC("fmd_hosts", "Hosts by the verdict on their HCAs, links and NVLinks",
	       "host_verdicts", .label = "verdict"),
	METRIC("fmd_links", "Links known, without those of aggregation nodes", "links"),
	METRIC("fmd_aggregation_nodes", "SHARP aggregation nodes", "aggregation_nodes"),
	METRIC("fmd_links_special", "Links of aggregation nodes, which are inside of switches",
	       "links_special"),
	METRIC("fmd_links_down", "Links that are down", "links_down"),
	METRIC("fmd_links_missing", "Known links that are not there", "links_missing"),
	METRIC("fmd_links_held", "New links kept out of the fabric", "links_held"),
	METRIC("fmd_miswired", "Links that contradict the cabling", "miswired"),
	METRIC("fmd_links_cordoned", "Links cordoned by an operator, isolated from routing",
	       "links_cordoned"),
	METRIC("fmd_links_quarantined", "Links quarantined by fmd, isolated from routing",
	       "links_quarantined"),
	METRIC("fmd_links_isolated",
	       "Links isolated from routing because an end does not accept settings",
	       "links_isolated"),
	METRIC("fmd_isolated",
	       "Links and switches isolated because they do not accept or hold settings; fmctl "
	       "status lists them",
	       "isolated"),
	METRIC("fmd_sms_not_allowed",
	       "Ports with a subnet manager that allowed_sm_guids does not name",
	       "sms_not_allowed"),
	METRIC("fmd_ports_foreign_mkey",
	       "Ports with an M_Key that fmd does not know; fmd writes nothing to them",
	       "m_keys.foreign"),
	METRIC("fmd_ports_probable_mkey",
	       "Ports that answer no SMP, probably because of an M_Key that fmd does not know",
	       "m_keys.probable"),
	METRIC("fmd_mkey_leases_expired_total",
	       "Ports found unprotected because the lease of their M_Key had expired",
	       "m_keys.expired"),
	METRIC("fmd_lid_top", "Highest LID in use", "lids"),
	METRIC("fmd_sweep_seconds", "Duration of the latest sweep", "sweep_ms", .scale = MS),
	METRIC("fmd_route_seconds", "Duration of the latest computation of forwarding tables",
	       "route_ms", .scale = MS),
	METRIC("fmd_check_seconds", "Duration of the latest verification of forwarding tables",
	       "check_ms", .scale = MS),
	METRIC("fmd_program_seconds",
	       "From the first block of the latest forwarding tables to the last acknowledged",
	       "program_ms", .scale = MS),
	METRIC("fmd_bringup_seconds", "Duration of the latest setup of ports and links",
	       "bringup_ms", .scale = MS),
	METRIC("fmd_lft_blocks_written_total", "LFT blocks written and acknowledged by switches",
	       "lft_blocks_written"),
	METRIC("fmd_lft_blocks_unread",
	       "LFT blocks known from before a restart and not yet read back", "lft_blocks_unread"),
	METRIC("fmd_lft_blocks_failed",
	       "LFT blocks that switches did not acknowledge in the latest programming",
	       "lft_blocks_failed"),
	METRIC("fmd_smps_sent_total", "SMPs sent, with retries", "smps_sent"),
	METRIC("fmd_smps_retried_total", "SMPs sent again", "smps_retried"),
	METRIC("fmd_smps_timed_out_total", "SMPs without an answer after all retries",
	       "smps_timed_out"),
	METRIC("fmd_mads_dropped_total",
	       "MADs received that were too short, late, or matched no request", "mads_dropped"),
	METRIC("fmd_mads_malformed_total",
	       "Answers with a field that no device can have; asked again", "mads_malformed"),
	METRIC("fmd_smp_window", "SMPs that may be outstanding at once", "smp_window"),
	METRIC("fmd_nodes_silent", "Nodes and ports that do not answer", "silent"),
	METRIC("fmd_duplicate_guids", "GUIDs that more than one node has", "duplicate_guids"),
	METRIC("fmd_proof_pairs_reachable",
	       "Ordered pairs of hosts that the forwarding tables connect", "proof.reachable"),
	METRIC("fmd_pairs_in_force",
	       "Ordered pairs of hosts that devices forward between, by what they acknowledged",
	       "in_force.pairs_in_force"),
	METRIC("fmd_proof_pairs_unreachable",
	       "Ordered pairs of hosts that links connect but the forwarding tables do not",
	       "proof.unreachable"),
	METRIC("fmd_proof_pairs_unreachable_special",
	       "Ordered pairs with an aggregation node that the forwarding tables do not connect",
	       "proof.unreachable_special"),
	METRIC("fmd_proof_pairs_disconnected", "Ordered pairs of hosts that no links connect",
	       "proof.disconnected"),
	METRIC("fmd_proof_bad_ports", "LFT entries that lead to a port without a link",
	       "proof.bad_ports"),
	METRIC("fmd_proof_hops_max", "Switches on the longest path", "proof.max_hops"),
	METRIC("fmd_proof_loops", "Forwarding loops", "proof.loops"),
	METRIC("fmd_proof_credit_cycles", "Credit loops (cycles of channel dependencies)",
	       "proof.credit_cycles"),
	METRIC("fmd_last_fault_seconds",
	       "Latest fault, from detection until switches were programmed",
	       "last_fault.detected_to_programmed_ms", .scale = MS),
	METRIC("fmd_last_fault_lft_entries", "LFT entries that the latest fault changed",
	       "last_fault.lft_entries_changed"),
	METRIC("fmd_last_fault_proven_seconds",
	       "Latest fault, from detection until the new tables were verified",
	       "last_fault.detected_to_proven_ms", .scale = MS),
	METRIC("fmd_last_repair_seconds",
	       "Latest repair, from detection until switches were programmed",
	       "last_repair.detected_to_programmed_ms", .scale = MS),
	METRIC("fmd_reroutes_total", "Updates that changed forwarding tables", "reroutes"),
	METRIC("fmd_last_reroute_age_seconds", "Time since forwarding tables changed",
	       "reroute_age_s"),
	METRIC("fmd_rebalance_overrides", "LFT entries moved by re-balancing",
	       "rebalance.overrides"),
	METRIC("fmd_polls_total", "Light sweeps (one packet a switch)", "polls"),
	METRIC("fmd_traps_total", "Traps received", "traps.received"),
	METRIC("fmd_traps_repeated_total", "Traps received that repeated one being handled",
	       "traps.repeated"),
	METRIC("fmd_traps_errors_total", "Traps received about port errors and key violations",
	       "traps.errors"),
	METRIC("fmd_traps_forged_total",
	       "Traps received that name a port other than their sender's; ignored",
	       "traps.forged"),
	METRIC("fmd_audit_blocks_total", "Forwarding table blocks read back and compared",
	       "audit.blocks"),
	METRIC("fmd_audit_repaired_total",
	       "Forwarding table blocks read back that differed and were repaired",
	       "audit.repaired"),
	METRIC("fmd_sa_requests_total", "Requests to the subnet administration", "sa.requests"),
	METRIC("fmd_sa_answered_total", "SA requests answered with records", "sa.answered"),
	METRIC("fmd_sa_busy_total",
	       "SA requests dropped: more of one port than there was time for, or before the first "
	       "sweep ended",
	       "sa.busy"),
	METRIC("fmd_sa_waiting", "SA requests waiting", "sa.waiting"),
	METRIC("fmd_sa_bad_total", "SA requests rejected as invalid", "sa.bad"),
	METRIC("fmd_sa_unsupported_total",
	       "SA requests for attributes or methods that fmd does not support", "sa.unsupported"),
	METRIC("fmd_sa_reports_total", "Notices forwarded to subscribers", "sa.reports"),
	METRIC("fmd_sa_reports_unanswered_total",
	       "Notices forwarded to subscribers that did not acknowledge them",
	       "sa.reports_unanswered"),
	METRIC("fmd_sa_subscriptions", "Subscriptions to notices (InformInfo)", "sa.subscriptions"),
	METRIC("fmd_sa_services", "Services registered (ServiceRecord)", "sa.services"),
	METRIC("fmd_multicast_groups", "Multicast groups", "multicast.groups"),
	METRIC("fmd_multicast_mlids", "Multicast LIDs in use", "multicast.mlids"),
	METRIC("fmd_multicast_mlids_room",
	       "Multicast LIDs that fit into the smallest multicast table of a switch",
	       "multicast.mlids_room"),
	METRIC("fmd_mlids_used", "Multicast LIDs in use", "multicast.mlids"),
	METRIC("fmd_mlids_capacity",
	       "Multicast LIDs that fit into the smallest multicast table of a switch",
	       "multicast.mlids_room"),
	METRIC("fmd_multicast_members", "Members of multicast groups", "multicast.members"),
	METRIC("fmd_multicast_blocks_written_total",
	       "MFT blocks written and acknowledged by switches", "multicast.mft_blocks_written"),
	METRIC("fmd_multicast_members_waiting",
	       "Members of multicast groups that are unreachable at present", "multicast.waiting"),
	METRIC("fmd_nvswitch_hosts", "Hosts by the state of their NVSwitches and NVLinks",
	       "nvswitch.states", .label = "state"),
	METRIC("fmd_nvswitch_sources_up", "Exporters that answer, and valid health reports",
	       "nvswitch.sources_up"),
	METRIC("fmd_nvswitch_input_open", "1 = the configured input could be opened",
	       "nvswitch.inputs", .label = "input"),
	METRIC("fmd_nvswitch_log_lines_total",
	       "Kernel log lines: understood (about NVLinks), ignored (about something else), "
	       "malformed, refused (sender not allowed)",
	       "nvswitch.logs.by_use", .label = "use"),
	METRIC("fmd_nvswitch_log_unread_total",
	       "Malformed and refused kernel log lines of the 32 worst senders",
	       "nvswitch.logs.unread", .label = "sender"),
	METRIC("fmd_links_miswired", "Links that are not where they should be", "miswired"),
	METRIC("fmd_health_ports_over_error_rate",
	       "Ports over a bit error rate limit (health_ber_*)", "health.over_error_rate"),
	METRIC("fmd_health_links_sick", "Unhealthy links: a port is over an error limit",
	       "health.sick"),
	METRIC("fmd_health_links_slow", "Links below the speed or width that both ends support",
	       "health.slow"),
	METRIC("fmd_health_ports_warned", "Ports over an error limit once, or congested",
	       "health.warned"),
	METRIC("fmd_counters_pass_age_seconds", "Time since all port counters were read",
	       "health.pass_age_s"),
	METRIC("fmd_counters_interval_seconds", "perf_interval; 0 = read on demand only",
	       "health.interval_s"),
	METRIC("fmd_counters_pass_seconds", "Duration of the latest reading of all port counters",
	       "health.pass_ms", .scale = MS),
	METRIC("fmd_counters_pass_exceeds",
	       "Whether the present or the latest pass takes longer than the interval (1)",
	       "health.pass_exceeds"),
	METRIC("fmd_counters_ports_read", "Ports read in the latest reading of port counters",
	       "health.ports_read"),
	METRIC("fmd_counters_ports_silent",
	       "Requests without an answer in the latest reading of port counters",
	       "health.silent"),
};

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
		if (json_is_number(each) || json_is_boolean(each) || json_is_array(each))
			write_labelled(m, member, figure(each), out);
}

static bool has_samples(const struct metric *m, const json_t *value)
{
	if (m->words)
		return json_is_string(value);
	if (m->by)
		return json_is_array(value);
	return m->label ? json_is_object(value)
			: (json_is_number(value) || json_is_boolean(value) || json_is_array(value));
}

void metrics_write(const json_t *status, FILE *out)
{
	const char *engine = json_string_value(json_object_get(status, "engine"));
	const char *state = json_string_value(json_object_get(status, "state"));

	fprintf(out,
		"# HELP fmd_info Version, routing engine and state of fmd\n# TYPE fmd_info gauge\n"
		"fmd_info{version=\"%s\",engine=\"%s\",state=\"%s\"} 1\n",
		FMD_VERSION, engine ? engine : "", state ? state : "");
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		const json_t *at = status;
		const char *path = metrics[i].path;
		char name[64];

		while (at && *path) {
			size_t len = strcspn(path, ".");

			array_printf(name, "%.*s", (int)len, path);
			at = json_object_get(at, name);
			path += len + (path[len] == '.');
		}

		const struct metric *m = &metrics[i];

		if (!has_samples(m, at))
			continue;
		fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name,
			strstr(m->name, "_total") ? "counter" : "gauge");
		if (m->words) {
			const char *word = json_string_value(at);
			bool known = false;

			for (const char *const *it = m->words; *it; it++) {
				known |= !strcmp(*it, word);
				write_labelled(m, *it, !strcmp(*it, word), out);
			}
			if (!known)
				write_labelled(m, word, 1, out);
		} else if (m->by) {
			json_t *counts = json_object();

			JSON_EACH (each, at) {
				const char *text = json_string_value(json_object_get(each, m->by));
				json_int_t count = json_integer_value(
					json_object_get(counts, text ? text : ""));

				json_object_set_new(counts, text ? text : "",
						    json_integer(count + 1));
			}
			write_members(m, counts, out);
			json_decref(counts);
		} else if (m->label)
			write_members(m, at, out);
		else
			fprintf(out, "%s %.15g\n", m->name, figure(at) * (m->scale ? m->scale : 1));
	}
}
