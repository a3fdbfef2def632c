/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* show_port: a port and the link at it, with both of its ends. */
#include <math.h>
#include <stdlib.h>
#include "fm/control/show.h"
#include "fm/links_out/module.h"
#include "fm/multicast/module.h"
#include "fm/registers/module.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/* ---- Counters of both ends ------------------------------------------------------------------- */

/* A counter of one end, and its rate. */
static void add_reading(json_t *row, const struct port_counters *c, unsigned counter,
			const char *value, const char *rate)
{
	bool have = c && counters_have(c, counter);

	json_put(row, "{so so}", value,
		 have ? json_integer((json_int_t)c->value[counter]) : json_null(), rate,
		 have && counters_rated(c, counter) ? json_real(round(c->rate[counter] * 1e3) / 1e3)
						    : json_null());
}

static void show_counters(struct show *s, uint32_t at)
{
	const struct port_counters *here = show_counters_at(s, at);
	const struct port_counters *there = show_counters_at(s, s->t->ports[at].peer);
	json_t *rows = json_array();

	for (unsigned counter = 0; counter < COUNTERS_ALL; counter++) {
		json_t *row;

		if (!(here && counters_have(here, counter)) &&
		    !(there && counters_have(there, counter)))
			continue;
		row = json_pack("{ss}", "counter", counters_name(counter));
		add_reading(row, here, counter, "here", "here_per_s");
		add_reading(row, there, counter, "there", "there_per_s");
		json_array_append_new(rows, row);
	}
	json_object_set_new(s->doc, "counters", rows);
}

/* ---- Use by tables --------------------------------------------------------------------------- */

/* "1-4, 9" of the LIDs that a switch sends by a port, cut after some. */
static json_t *lid_ranges(const struct show *s, const struct topo_port *port)
{
	const uint8_t *row = tables_row(s->view.tables, port->node);
	char text[200] = "";

	for (unsigned lid = 1, last; lid <= s->view.lids->top; lid = last + 1) {
		last = lid;
		if (row[lid] != port->num || s->view.lids->port_of_lid[lid] == TOPO_NONE)
			continue;
		while (last < s->view.lids->top && row[last + 1] == port->num &&
		       s->view.lids->port_of_lid[last + 1] != TOPO_NONE)
			last++;
		if (strlen(text) > sizeof(text) - 32) {
			array_add(text, ", ..");
			break;
		}
		array_add(text, last > lid ? "%s%u-%u" : "%s%u", *text ? ", " : "", lid, last);
	}
	return json_string(text);
}

/* ---- Ends ------------------------------------------------------------------------------------ */

/* One end of the link: what it is, how it is, and what packets leave by it. */
static json_t *end_row(struct show *s, uint32_t at)
{
	const struct topo_port *port = &s->t->ports[at];
	const struct topo_node *node = &s->t->nodes[port->node];
	json_t *row =
		json_pack("{ss si ss* ss ss si ss so*}", "name", node->name, "port", port->num,
			  "label", show_label(s, at), "role", topo_role_name(node->role), "state",
			  topo_state_name(port->state), "width", port->width, "speed",
			  topo_speed_name(port->speed), "fec", show_fec(s, at));
	uint32_t lids[256], of;

	if (port->node < s->t->nswitches) {
		of = link_use_by_port(&s->scene, port->node, lids);
		for (unsigned num = 0; num < 256; num++)
			of += lids[num];
		json_put(row, "{si sf}", "lids", lids[port->num], "share_percent",
			 of ? round(1e3 * lids[port->num] / of) / 10 : 0.0);
	} else
		json_put(row, "{sn sn}", "lids", "share_percent");
	json_put(row, "{sI}", "host_pairs", (json_int_t)link_use_pairs(&s->scene, at));
	show_rates(s, row, at);
	return row;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static bool show_cordoned_since(struct show *s, uint32_t at)
{
	const struct topo_port *port = &s->t->ports[at];
	const char *since =
		links_out_cordoned_since(s->env->fabric, s->t->nodes[port->node].guid, port->num);

	json_put(s->doc, "{ss?}", "cordoned_since", since);
	return since;
}

static void show_port_facts(struct show *s, uint32_t at)
{
	const struct topo_port *port = &s->t->ports[at];
	const struct topo_node *node = &s->t->nodes[port->node];
	uint16_t lid = s->view.lids->lid_of_port[at];
	char *note = show_note(s, at);

	json_put(s->doc, "{ss so si ss*}", "node", node->name, "guid", json_guid(node->guid),
		 "port", port->num, "label", show_label(s, at));
	show_place(s, s->doc, port->node);
	if (port->guid && node->type != TOPO_SWITCH)
		json_put(s->doc, "{so so so*}", "port_guid", json_guid(port->guid), "lid",
			 json_index(lid ? lid : -1), "subnet_manager",
			 lid && lid == s->view.sm_lid ? json_true() : NULL);
	show_link(s, s->doc, at);
	json_put(s->doc, "{sb ss? si sf}", "up", port->link_up, "note", note, "mtu",
		 port->mtu ? 128 << port->mtu : 0, "link_gbps",
		 topo_lane_mbps(port->speed) * port->width / 1e3);
	if (port->link_up)
		show_fec_facts(s, at);

	/* Of a cordon whose time is not known, the newest event tells it. */
	const struct topo_port *b = topo_peer(s->t, port);
	const json_t *row = show_unhealthy(s, at);
	bool special = port->quarantined || port->isolated;
	bool far_special = b && (b->quarantined || b->isolated);
	bool cordoned = (port->cordoned && !special) || (b && b->cordoned && !far_special);
	struct event_about about = event_about_port(s->t, at);

	about.whole = true;
	json_put(s->doc, "{sb}", "cordoned", cordoned);
	if (cordoned && !show_cordoned_since(s, at) && !(b && show_cordoned_since(s, port->peer)))
		show_since(s, "cordoned_since", "cordoned", &about);
	json_put(s->doc, "{sb sb sO? sO? sO*}", "quarantined",
		 port->quarantined || (b && b->quarantined), "isolated",
		 port->isolated || (b && b->isolated), "sick", json_object_get(row, "sick"), "why",
		 json_object_get(row, "why"), "left_s", json_object_get(row, "left_s"));
	if (node->type == TOPO_SWITCH)
		json_object_set_new(s->doc, "lids_out", lid_ranges(s, port));
	free(note);
}

/* What is known of one end, beside its name; NULL = nothing. */
static json_t *read_row(const struct show *s, uint32_t at,
			json_t *(*facts_of)(const struct fabric *fabric, guid_t node, uint8_t port))
{
	const struct topo_port *port = at == TOPO_NONE ? NULL : &s->t->ports[at];
	const struct topo_node *node = port ? &s->t->nodes[port->node] : NULL;
	json_t *facts = node ? facts_of(s->env->fabric, node->guid, port->num) : NULL;
	json_t *row = facts ? json_pack("{ss si}", "name", node->name, "port", port->num) : NULL;

	json_object_update_missing(row, facts);
	json_decref(facts);
	return row;
}

/* The modules at both ends, and how often the link went down with its cable, here or elsewhere. */
static void show_modules(struct show *s, uint32_t at)
{
	const uint32_t ends[] = { at, s->t->ports[at].peer };
	json_t *rows = json_array(), *worst = NULL;

	ARRAY_EACH (end, ends, ARRAY_SIZE(ends)) {
		json_t *module = read_row(s, *end, link_module);

		if (!module)
			continue;
		json_array_append_new(rows, module);
		if (json_number(module, "flaps") > json_number(worst, "flaps"))
			worst = module;
	}
	if (worst)
		json_put(s->doc, "{so}", "flaps",
			 json_sprintf("cable %s: %lld times on %lld ports",
				      json_text(worst, "serial"), json_number(worst, "flaps"),
				      json_number(worst, "flap_ports")));
	json_object_set_new(s->doc, "modules", rows);
}

/* Bit error rates of both ends, and the blocks of error correction by their wrong symbols. */
static void show_bit_errors(struct show *s, uint32_t at)
{
	const uint32_t ends[] = { at, s->t->ports[at].peer };
	static const char *const keys[] = { "here", "there" };
	json_t *rows = json_array(), *bins = json_array();
	size_t last = 0;

	ARRAY_EACH (end, ends, ARRAY_SIZE(ends)) {
		json_t *row = read_row(s, *end, link_bit_errors), *planes;

		if (!row)
			continue;
		JSON_EACH (bin, json_object_get(row, "histogram")) {
			if (bin_at == json_array_size(bins))
				json_add(bins, "{si sn sn}", "symbols", (int)bin_at, "here",
					 "there");
			json_object_set(json_array_get(bins, bin_at), keys[end - ends],
					(json_t *)bin);
			last = json_integer_value(bin) && bin_at >= last ? bin_at + 1 : last;
		}
		planes = json_incref(json_object_get(row, "planes"));
		json_object_del(row, "histogram");
		json_object_del(row, "planes");
		json_array_append_new(rows, row);
		JSON_EACH (plane, planes) {
			row = json_copy(row);
			json_object_update(row, plane);
			json_array_append_new(rows, row);
		}
		json_decref(planes);
	}
	while (json_array_size(bins) > last)
		json_array_remove(bins, last);
	json_put(s->doc, "{so so}", "bit_errors", rows, "fec_histogram", bins);
}

void show_port(struct show *s, uint32_t at, bool as_link)
{
	const struct topo_port *port = &s->t->ports[at];
	const struct what what = { .kind = WHAT_PORT,
				   .by = as_link ? WHAT_BY_LINK : WHAT_BY_NAME,
				   .node = port->node,
				   .port = port->num };
	const struct event_about about = event_about_port(s->t, at);
	struct link_down_reason why;
	char name[256];

	what_name(s->t, &what, name, sizeof(name));
	json_put(s->doc, "{ss ss}", "kind", as_link ? "cable" : "port", "name", name);
	show_port_facts(s, at);
	if (link_down_reason(s->env->fabric, s->t->nodes[port->node].guid, port->num, &why))
		json_put(s->doc, "{ss ss*}", "reason", why.reason, "blame",
			 *why.blame ? why.blame : NULL);
	if (port->peer != TOPO_NONE) {
		json_t *near = end_row(s, at);

		json_put(s->doc, "{s[oo]}", "ends", near, end_row(s, port->peer));
	}
	show_modules(s, at);
	show_bit_errors(s, at);
	show_counters(s, at);
	if (s->from != TOPO_NONE && s->view.lids->lid_of_port[at])
		show_path(s, s->view.lids->lid_of_port[at]);
	if (port->node < s->t->nswitches) {
		const struct mcast_plan *plan = multicast_trees(s->env->fabric);
		guid_t sw = s->t->nodes[port->node].guid;
		json_t *rows = json_array();

		for (uint32_t i = 0; plan && i < plan->ntrees; i++)
			for (uint32_t h = 0; h < plan->trees[i].nhops; h++) {
				const struct mcast_hop *hop = &plan->trees[i].hops[h];

				if (hop->guid == sw && mcast_forwards(hop, port->num))
					json_add(rows, "{so}", "mlid",
						 json_sprintf("0x%x", plan->trees[i].mlid));
			}
		json_object_set_new(s->doc, "multicast_out", rows);
	} else
		show_end_ports(s, &at, 1);
	show_news(s, &about);
}
