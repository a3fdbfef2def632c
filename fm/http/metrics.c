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

static const char *const states[] = {
	"starting",	 "bringup",   "up",	   "changing", "refused",
	"standby",	 "no-device", "port-busy", "no-link",  "neighbour-silent",
	"foreign-m-key", "asking",    NULL
};
static const char *const roles[] = { "master", "standby", "disabled", "discovering", "none", NULL };

#define METRIC(n, t, h, p, ...)                                                                    \
	{                                                                                          \
		.name = n, .type = t, .help = h, .path = p, ##__VA_ARGS__                          \
	}

static const struct metric metrics[] = {
	METRIC("fmd_fabric_up", GAUGE,
	       "Whether the fabric is programmed and up and this manager is its master (1)",
	       "fabric_up"),
	METRIC("fmd_state", GAUGE, "1 = fmd is in this state, as in fmctl status", "state",
	       .label = "state", .words = states),
	METRIC("fmd_role", GAUGE, "1 = this subnet manager has this role", "role", .label = "role",
	       .words = roles),
	METRIC("fmd_sm_state", GAUGE,
	       "SMInfo:SMState of this manager: 0 not active, 1 discovering, 2 standby, 3 master "
	       "(IBA 14.4.1)",
	       "election.state"),
	METRIC("fmd_role_changes_total", COUNTER, "Changes of the role of this manager",
	       "role_changes"),
	METRIC("fmd_sm_others", GAUGE, "Other subnet managers found", "election.others"),
	METRIC("fmd_sm_two_masters", GAUGE, "Whether another subnet manager is master too (1)",
	       "election.two_masters"),
	METRIC("fmd_sm_master_idle", GAUGE,
	       "Standby: whether its master has served this manager's port with nothing for 10 s "
	       "(1)",
	       "election.master_idle"),
	METRIC("fmd_sm_take_overs_total", COUNTER, "Takeovers from another master",
	       "election.take_overs"),
	METRIC("fmd_sm_take_over_seconds", GAUGE,
	       "Latest takeover, from the previous master's last answer until the fabric was up",
	       "election.take_over_ms", .scale = MS),
	METRIC("fmd_sm_controls_refused_total", COUNTER,
	       "SMInfo control packets of other managers that were refused",
	       "election.controls_refused"),
	METRIC("fmd_mirror_whole", GAUGE,
	       "Whether a standby has a complete copy of its master's state (1)", "mirror.whole"),
	METRIC("fmd_mirror_age_seconds", GAUGE,
	       "Time since the copy of the master's state was complete", "mirror.age_ms",
	       .scale = MS),
	METRIC("fmd_mirror_behind", GAUGE,
	       "Master: changes of its state that no standby has confirmed", "mirror.behind"),
	METRIC("fmd_mirror_refused_total", COUNTER,
	       "Connections to peer_listen that ended before the peer authenticated",
	       "mirror.refused"),
	METRIC("fmd_registrations_whole", GAUGE,
	       "Whether a standby without peers has read all registrations of its master's SA (1)",
	       "registrations.whole"),
	METRIC("fmd_registrations_age_seconds", GAUGE,
	       "Age of the registrations read from the master's SA, or time without any",
	       "registrations.age_ms", .scale = MS),
	METRIC("fmd_registrations_members", GAUGE,
	       "Multicast group members read from the master's SA", "registrations.members"),
	METRIC("fmd_alerts", GAUGE, "Conditions that need an operator now; fmctl status lists them",
	       "alerts"),
	METRIC("fmd_alerts_by_kind", GAUGE, "Conditions that need an operator now, by kind",
	       "alerts", .label = "what", .by = "what"),
	METRIC("fmd_troubles", GAUGE,
	       "Inputs and programs that do not work as configured; fmctl status lists them",
	       "troubles"),
	METRIC("fmd_events_total", COUNTER, "Events by level", "events_by_level", .label = "level"),
	METRIC("fmd_uptime_seconds", GAUGE, "Time since fmd started", "uptime_s"),
	METRIC("fmd_resident_memory_bytes", GAUGE, "Resident memory of fmd", "rss_kb",
	       .scale = 1024),
	METRIC("fmd_loop_longest_seconds", GAUGE,
	       "Longest step of fmd's event loop in the last 10 to 20 s", "loop_longest_us",
	       .scale = 1e-6),
	METRIC("fmd_switches", GAUGE, "Switches known", "switches"),
	METRIC("fmd_hcas", GAUGE, "HCAs known", "hcas"),
	METRIC("fmd_hcas_cut_off", GAUGE,
	       "HCAs without a path, though their own link is not seen down", "hcas_cut_off"),
	METRIC("fmd_hcas_off", GAUGE, "HCAs whose own link is down", "hcas_off"),
	METRIC("fmd_hosts", GAUGE, "Hosts by the verdict on their HCAs, links and NVLinks",
	       "host_verdicts", .label = "verdict"),
	METRIC("fmd_links", GAUGE, "Links known, without those of aggregation nodes", "links"),
	METRIC("fmd_aggregation_nodes", GAUGE, "SHARP aggregation nodes", "aggregation_nodes"),
	METRIC("fmd_links_special", GAUGE,
	       "Links of aggregation nodes, which are inside of switches", "links_special"),
	METRIC("fmd_links_down", GAUGE, "Links that are down", "links_down"),
	METRIC("fmd_links_missing", GAUGE, "Known links that are not there", "links_missing"),
	METRIC("fmd_links_held", GAUGE, "New links kept out of the fabric", "links_held"),
	METRIC("fmd_miswired", GAUGE, "Links that contradict the cabling", "miswired"),
	METRIC("fmd_links_cordoned", GAUGE, "Links cordoned by an operator, isolated from routing",
	       "links_cordoned"),
	METRIC("fmd_links_quarantined", GAUGE, "Links quarantined by fmd, isolated from routing",
	       "links_quarantined"),
	METRIC("fmd_links_isolated", GAUGE,
	       "Links isolated from routing because an end does not accept settings",
	       "links_isolated"),
	METRIC("fmd_isolated", GAUGE,
	       "Links and switches isolated because they do not accept or hold settings; fmctl "
	       "status lists them",
	       "isolated"),
	METRIC("fmd_sms_not_allowed", GAUGE,
	       "Ports with a subnet manager that allowed_sm_guids does not name",
	       "sms_not_allowed"),
	METRIC("fmd_ports_foreign_mkey", GAUGE,
	       "Ports with an M_Key that fmd does not know; fmd writes nothing to them",
	       "m_keys.foreign"),
	METRIC("fmd_ports_probable_mkey", GAUGE,
	       "Ports that answer no SMP, probably because of an M_Key that fmd does not know",
	       "m_keys.probable"),
	METRIC("fmd_mkey_leases_expired_total", COUNTER,
	       "Ports found unprotected because the lease of their M_Key had expired",
	       "m_keys.expired"),
	METRIC("fmd_lid_top", GAUGE, "Highest LID in use", "lids"),
	METRIC("fmd_sweep_seconds", GAUGE, "Duration of the latest sweep", "sweep_ms", .scale = MS),
	METRIC("fmd_route_seconds", GAUGE,
	       "Duration of the latest computation of forwarding tables", "route_ms", .scale = MS),
	METRIC("fmd_check_seconds", GAUGE,
	       "Duration of the latest verification of forwarding tables", "check_ms", .scale = MS),
	METRIC("fmd_program_seconds", GAUGE,
	       "Duration of the latest programming of forwarding tables", "program_ms",
	       .scale = MS),
	METRIC("fmd_bringup_seconds", GAUGE, "Duration of the latest setup of ports and links",
	       "bringup_ms", .scale = MS),
	METRIC("fmd_lft_blocks_written_total", COUNTER,
	       "LFT blocks written and acknowledged by switches", "lft_blocks_written"),
	METRIC("fmd_lft_blocks_unread", GAUGE,
	       "LFT blocks known from before a restart and not yet read back", "lft_blocks_unread"),
	METRIC("fmd_lft_blocks_failed", GAUGE,
	       "LFT blocks that switches did not acknowledge in the latest programming",
	       "lft_blocks_failed"),
	METRIC("fmd_smps_sent_total", COUNTER, "SMPs sent, with retries", "smps_sent"),
	METRIC("fmd_smps_retried_total", COUNTER, "SMPs sent again", "smps_retried"),
	METRIC("fmd_smps_timed_out_total", COUNTER, "SMPs without an answer after all retries",
	       "smps_timed_out"),
	METRIC("fmd_mads_dropped_total", COUNTER,
	       "MADs received that were too short, late, or matched no request", "mads_dropped"),
	METRIC("fmd_mads_malformed_total", COUNTER,
	       "Answers with a field that no device can have; asked again", "mads_malformed"),
	METRIC("fmd_smp_window", GAUGE, "SMPs that may be outstanding at once", "smp_window"),
	METRIC("fmd_nodes_silent", GAUGE, "Nodes and ports that do not answer", "silent"),
	METRIC("fmd_duplicate_guids", GAUGE, "GUIDs that more than one node has",
	       "duplicate_guids"),
	METRIC("fmd_proof_pairs_reachable", GAUGE,
	       "Ordered pairs of hosts that the forwarding tables connect", "proof.reachable"),
	METRIC("fmd_pairs_in_force", GAUGE,
	       "Ordered pairs of hosts that devices forward between, by what they acknowledged",
	       "in_force.pairs_in_force"),
	METRIC("fmd_proof_pairs_unreachable", GAUGE,
	       "Ordered pairs of hosts that links connect but the forwarding tables do not",
	       "proof.unreachable"),
	METRIC("fmd_proof_pairs_unreachable_special", GAUGE,
	       "Ordered pairs with an aggregation node that the forwarding tables do not connect",
	       "proof.unreachable_special"),
	METRIC("fmd_proof_pairs_disconnected", GAUGE,
	       "Ordered pairs of hosts that no links connect", "proof.disconnected"),
	METRIC("fmd_proof_bad_ports", GAUGE, "LFT entries that lead to a port without a link",
	       "proof.bad_ports"),
	METRIC("fmd_proof_hops_max", GAUGE, "Switches on the longest path", "proof.max_hops"),
	METRIC("fmd_proof_loops", GAUGE, "Forwarding loops", "proof.loops"),
	METRIC("fmd_proof_credit_cycles", GAUGE, "Credit loops (cycles of channel dependencies)",
	       "proof.credit_cycles"),
	METRIC("fmd_last_fault_seconds", GAUGE,
	       "Latest fault, from detection until switches were programmed",
	       "last_fault.detected_to_programmed_ms", .scale = MS),
	METRIC("fmd_last_fault_lft_entries", GAUGE, "LFT entries that the latest fault changed",
	       "last_fault.lft_entries_changed"),
	METRIC("fmd_last_fault_proven_seconds", GAUGE,
	       "Latest fault, from detection until the new tables were verified",
	       "last_fault.detected_to_proven_ms", .scale = MS),
	METRIC("fmd_last_repair_seconds", GAUGE,
	       "Latest repair, from detection until switches were programmed",
	       "last_repair.detected_to_programmed_ms", .scale = MS),
	METRIC("fmd_reroutes_total", COUNTER, "Updates that changed forwarding tables", "reroutes"),
	METRIC("fmd_last_reroute_age_seconds", GAUGE, "Time since forwarding tables changed",
	       "reroute_age_s"),
	METRIC("fmd_rebalance_overrides", GAUGE, "LFT entries moved by re-balancing",
	       "rebalance.overrides"),
	METRIC("fmd_polls_total", COUNTER, "Light sweeps (one packet a switch)", "polls"),
	METRIC("fmd_traps_total", COUNTER, "Traps received", "traps.received"),
	METRIC("fmd_traps_repeated_total", COUNTER,
	       "Traps received that repeated one being handled", "traps.repeated"),
	METRIC("fmd_traps_errors_total", COUNTER,
	       "Traps received about port errors and key violations", "traps.errors"),
	METRIC("fmd_traps_forged_total", COUNTER,
	       "Traps received that name a port other than their sender's; ignored",
	       "traps.forged"),
	METRIC("fmd_audit_blocks_total", COUNTER, "Forwarding table blocks read back and compared",
	       "audit.blocks"),
	METRIC("fmd_audit_repaired_total", COUNTER,
	       "Forwarding table blocks read back that differed and were repaired",
	       "audit.repaired"),
	METRIC("fmd_sa_requests_total", COUNTER, "Requests to the subnet administration",
	       "sa.requests"),
	METRIC("fmd_sa_answered_total", COUNTER, "SA requests answered with records",
	       "sa.answered"),
	METRIC("fmd_sa_busy_total", COUNTER,
	       "SA requests dropped: more of one port than there was time for, or before the first "
	       "sweep ended",
	       "sa.busy"),
	METRIC("fmd_sa_waiting", GAUGE, "SA requests waiting", "sa.waiting"),
	METRIC("fmd_sa_bad_total", COUNTER, "SA requests rejected as invalid", "sa.bad"),
	METRIC("fmd_sa_unsupported_total", COUNTER,
	       "SA requests for attributes or methods that fmd does not support", "sa.unsupported"),
	METRIC("fmd_sa_reports_total", COUNTER, "Notices forwarded to subscribers", "sa.reports"),
	METRIC("fmd_sa_reports_unanswered_total", COUNTER,
	       "Notices forwarded to subscribers that did not acknowledge them",
	       "sa.reports_unanswered"),
	METRIC("fmd_sa_subscriptions", GAUGE, "Subscriptions to notices (InformInfo)",
	       "sa.subscriptions"),
	METRIC("fmd_sa_services", GAUGE, "Services registered (ServiceRecord)", "sa.services"),
	METRIC("fmd_multicast_groups", GAUGE, "Multicast groups", "multicast.groups"),
	METRIC("fmd_multicast_mlids", GAUGE, "Multicast LIDs in use", "multicast.mlids"),
	METRIC("fmd_multicast_mlids_room", GAUGE,
	       "Multicast LIDs that fit into the smallest multicast table of a switch",
	       "multicast.mlids_room"),
	METRIC("fmd_mlids_used", GAUGE, "Multicast LIDs in use", "multicast.mlids"),
	METRIC("fmd_mlids_capacity", GAUGE,
	       "Multicast LIDs that fit into the smallest multicast table of a switch",
	       "multicast.mlids_room"),
	METRIC("fmd_multicast_members", GAUGE, "Members of multicast groups", "multicast.members"),
	METRIC("fmd_multicast_blocks_written_total", COUNTER,
	       "MFT blocks written and acknowledged by switches", "multicast.mft_blocks_written"),
	METRIC("fmd_multicast_members_waiting", GAUGE,
	       "Members of multicast groups that are unreachable at present", "multicast.waiting"),
	METRIC("fmd_nvswitch_hosts", GAUGE, "Hosts by the state of their NVSwitches and NVLinks",
	       "nvswitch.states", .label = "state"),
	METRIC("fmd_nvswitch_sources_up", GAUGE, "Exporters that answer, and valid health reports",
	       "nvswitch.sources_up"),
	METRIC("fmd_nvswitch_input_open", GAUGE, "1 = the configured input could be opened",
	       "nvswitch.inputs", .label = "input"),
	METRIC("fmd_nvswitch_log_lines_total", COUNTER,
	       "Kernel log lines: understood (about NVLinks), ignored (about something else), "
	       "malformed, refused (sender not allowed)",
	       "nvswitch.logs.by_use", .label = "use"),
	METRIC("fmd_nvswitch_log_unread_total", COUNTER,
	       "Malformed and refused kernel log lines of the 32 worst senders",
	       "nvswitch.logs.unread", .label = "sender"),
	METRIC("fmd_links_miswired", GAUGE, "Links that are not where they should be", "miswired"),
	METRIC("fmd_health_ports_over_error_rate", GAUGE,
	       "Ports over a bit error rate limit (health_ber_*)", "health.over_error_rate"),
	METRIC("fmd_health_links_sick", GAUGE, "Unhealthy links: a port is over an error limit",
	       "health.sick"),
	METRIC("fmd_health_links_slow", GAUGE,
	       "Links below the speed or width that both ends support", "health.slow"),
	METRIC("fmd_health_ports_warned", GAUGE, "Ports over an error limit once, or congested",
	       "health.warned"),
	METRIC("fmd_counters_pass_age_seconds", GAUGE, "Time since all port counters were read",
	       "health.pass_age_s"),
	METRIC("fmd_counters_interval_seconds", GAUGE, "perf_interval; 0 = read on demand only",
	       "health.interval_s"),
	METRIC("fmd_counters_pass_seconds", GAUGE,
	       "Duration of the latest reading of all port counters", "health.pass_ms",
	       .scale = MS),
	METRIC("fmd_counters_pass_exceeds", GAUGE,
	       "Whether the present or the latest pass takes longer than the interval (1)",
	       "health.pass_exceeds"),
	METRIC("fmd_counters_ports_read", GAUGE,
	       "Ports read in the latest reading of port counters", "health.ports_read"),
	METRIC("fmd_counters_ports_silent", GAUGE,
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
		fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name, m->type);
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
