/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* show_node: a switch, an HCA, a router or an aggregation node. */
#include "fm/adaptive/module.h"
#include "fm/control/show.h"
#include "fm/hosts/module.h"
#include "fm/links_out/module.h"
#include "fm/multicast/module.h"
#include "fm/nvswitch/module.h"
#include "fm/restart/module.h"
#include "routing/path.h"
#include "fm/registers/module.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/* ---- A machine: its HCAs rail by rail, those that are missing, its NVLinks, its verdict ------ */

#define RAILS_MAX 64

/* ---- HCAs ------------------------------------------------------------------------------------ */

/* What of a name is behind the host's: "mlx5_3". */
static const char *device_of(const struct topo *t, uint32_t ca)
{
	const char *name = t->nodes[ca].name, *blank = strpbrk(name, " /");

	return blank && blank[1] ? blank + 1 : name;
}

/* The port that stands for an HCA: with a LID, else with a link, else the first. */
static uint32_t port_of(const struct show *s, uint32_t ca)
{
	const struct topo_node *node = &s->t->nodes[ca];

	for (unsigned num = 1; num <= node->nports; num++)
		if (s->view.lids->lid_of_port[node->port0 + num])
			return node->port0 + num;

	const struct topo_port *cabled = topo_link_from(s->t, ca, 1);

	return node->port0 + (cabled ? cabled->num : 1);
}

static json_t *hca_row(struct show *s, uint32_t ca)
{
	const struct topo_node *node = &s->t->nodes[ca];
	uint32_t at = port_of(s, ca);
	uint16_t lid = s->view.lids->lid_of_port[at];
	char *note = show_note(s, at);
	json_t *row = json_pack("{ss so so ss*}", "hca", device_of(s->t, ca), "rail",
				json_index(node->rail), "lid", json_index(lid ? lid : -1), "label",
				show_label(s, at));

	show_link(s, row, at);
	show_rates(s, row, at);
	json_put(row, "{ss? so}", "note", note, "guid", json_guid(node->guid));
	free(note);
	return row;
}

/* ---- What is missing ------------------------------------------------------------------------- */

struct missing {
	json_t *list;
	unsigned unknown; /* HCAs that others have and that were never met here */
};

static bool is_up(const struct show *s, uint32_t ca)
{
	const struct topo_port *port = &s->t->ports[port_of(s, ca)];

	return port->link_up && port->state == TOPO_ACTIVE;
}

/* Rails that most hosts of its unit have, and it has not. */
static void add_unknown(struct show *s, const struct topo_host *host, struct missing *m)
{
	const struct topo *t = s->t;
	int16_t su = t->nodes[t->host_cas[host->first]].su;
	unsigned have[RAILS_MAX] = { 0 }, hosts = 0;
	bool own[RAILS_MAX] = { false };

	for (uint32_t h = 0; su >= 0 && h < t->nhosts; h++) {
		const uint32_t *cas = t->host_cas + t->hosts[h].first;

		if (t->nodes[cas[0]].su != su)
			continue;
		hosts++;
		for (uint32_t i = 0; i < t->hosts[h].ncas; i++) {
			int16_t rail = t->nodes[cas[i]].rail;

			if (rail < 0 || rail >= RAILS_MAX)
				continue;
			have[rail]++;
			own[rail] = own[rail] || &t->hosts[h] == host;
		}
	}
	for (unsigned rail = 0; rail < RAILS_MAX; rail++)
		if (have[rail] * 2 > hosts && !own[rail]) {
			m->unknown++;
			json_array_append_new(m->list,
					      json_sprintf("rail %u: no HCA was ever seen", rail));
		}
}

/* ---- NVLinks --------------------------------------------------------------------------------- */

static void show_nvlinks(struct show *s, const char *name)
{
	static const char *const keys[][2] = {
		{ "state", "nvlink_state" },	   { "since_s", "nvlink_since_s" },
		{ "reason", "nvlink_reason" },	   { "system", "system" },
		{ "observed", "nvlink_observed" }, { "routed", "routed_as" }
	};
	json_t *all = nvlink_hosts(s->env->fabric);

	JSON_EACH (row, json_object_get(all, "hosts")) {
		const char *host = json_text(row, "host");

		if (!host || strcmp(host, name))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(keys); k++)
			if (json_object_get(row, keys[k][0]))
				json_object_set(s->doc, keys[k][1],
						json_object_get(row, keys[k][0]));
	}
	json_decref(all);
}

/* ---- */

void show_host(struct show *s, uint32_t h)
{
	const struct topo_host *host = &s->t->hosts[h];
	const struct event_about about = event_about_host(s->t, h);
	const uint32_t *cas = s->t->host_cas + host->first;
	struct missing missing = { .list = json_array() };
	uint32_t *ports = mem_array(ports, host->ncas);
	struct host_verdict verdict = { 0 };
	json_t *rows = json_array();
	unsigned up = 0;

	for (uint32_t i = 0; i < host->ncas; i++) {
		up += is_up(s, cas[i]);
		ports[i] = port_of(s, cas[i]);
		json_array_append_new(rows, hca_row(s, cas[i]));
	}
	for (uint32_t i = 0; i < host->ncas; i++) {
		uint32_t ca = s->t->host_cas[host->first + i], at = port_of(s, ca);
		const struct topo_port *peer = topo_peer(s->t, &s->t->ports[at]);

		if (is_up(s, ca))
			continue;

		char *note = show_note(s, at);

		json_array_append_new(
			missing.list,
			peer ? json_sprintf("%s at %s p%u: %s", device_of(s->t, ca),
					    s->t->nodes[peer->node].name, peer->num,
					    note ? note : topo_state_name(s->t->ports[at].state))
			     : json_sprintf("%s: no link is known", device_of(s->t, ca)));
		free(note);
	}

	add_unknown(s, host, &missing);
	hosts_judge(s->env->fabric, h, &verdict);
	json_put(s->doc, "{ss ss so}", "kind", "host", "name", host->name, "hcas",
		 json_sprintf("%u/%u", up, host->ncas + missing.unknown));
	hosts_add_verdict(&verdict, s->doc);
	json_put(s->doc, "{so so}", "missing", missing.list, "su",
		 json_index(s->t->nodes[cas[0]].su));
	show_nvlinks(s, host->name);
	json_object_set_new(s->doc, "ports", rows);
	show_end_ports(s, ports, host->ncas);
	show_news(s, &about);
	free(ports);
}

/* ---- How packets get to a LID ---------------------------------------------------------------- */

void show_path(struct show *s, unsigned lid)
{
	uint32_t from =
		s->from != TOPO_NONE ? s->from : fabric_view_port_of_lid(&s->view, s->view.sm_lid);
	json_t *rows = json_array();
	struct path path;

	if (from != TOPO_NONE)
		json_put(s->doc, "{ss}", "path_from", s->t->nodes[s->t->ports[from].node].name);
	if (from != TOPO_NONE && !path_trace(s->t, s->view.lids, s->view.tables, from, lid, &path))
		for (unsigned i = 0; i < path.count; i++) {
			const struct path_hop *hop = &path.hops[i];
			const struct topo_node *node = &s->t->nodes[hop->node];

			json_add(rows, "{ss ss so so}", "name", node->name, "role",
				 topo_role_name(node->role), "in_port",
				 json_index(hop->in_port ? hop->in_port : -1), "out_port",
				 json_index(hop->out_port ? hop->out_port : -1));
		}
	json_object_set_new(s->doc, "path", rows);
}

/* ---- Show node ------------------------------------------------------------------------------- */

/* ---- Neighbours ------------------------------------------------------------------------------ */

struct around {
	unsigned up, down, cordoned, quarantined, isolated, unhealthy, hosts;
	unsigned transit; /* links to switches */
};

static struct around look_around(struct show *s, uint32_t n)
{
	const struct topo *t = s->t;
	struct around a = { 0 };

	TOPO_LINKS (t, n, port, peer) {
		bool transit = peer->node < t->nswitches;

		a.up += port->link_up;
		a.down += !port->link_up;
		a.isolated += port->isolated || peer->isolated;
		a.quarantined += port->quarantined || peer->quarantined;
		/* Left out by an operator's word, and for no other reason. */
		a.cordoned += transit && (port->cordoned || peer->cordoned) && !port->quarantined &&
			      !peer->quarantined && !port->isolated && !peer->isolated;
		a.unhealthy += show_unhealthy(s, port - t->ports) != NULL;
		a.hosts += topo_is_host(t, peer->node);
		a.transit += transit;
	}
	return a;
}

/* How many different switches of a higher tier, or of a lower, its links lead to. */
static unsigned count_switches(const struct topo *t, uint32_t n, bool above)
{
	bool *met = mem_array(met, t->nswitches + 1u);
	unsigned count = 0;

	TOPO_LINKS (t, n, port, peer) {
		if (peer->node >= t->nswitches || met[peer->node] ||
		    t->nodes[peer->node].level == t->nodes[n].level ||
		    (t->nodes[peer->node].level > t->nodes[n].level) != above)
			continue;
		met[peer->node] = true;
		count++;
	}
	free(met);
	return count;
}

struct neighbour {
	uint32_t sw;
	unsigned links, up, cordoned;
	uint32_t lids;
	char ports[64];
};

/* A row for each switch that its links lead to. */
static void show_neighbours(struct show *s, uint32_t n, const uint32_t *lids)
{
	struct neighbour list[256];
	unsigned count = 0;
	json_t *rows = json_array();

	TOPO_LINKS (s->t, n, port, peer) {
		unsigned num = port->num;
		struct neighbour *at;

		if (peer->node >= s->t->nswitches)
			continue;
		for (at = list; at < list + count && at->sw != peer->node;)
			at++;
		if (at == list + count)
			list[count++] = (struct neighbour){ .sw = peer->node };
		at->links++;
		at->up += port->link_up;
		at->cordoned += port->cordoned || peer->cordoned;
		at->lids += lids[num];

		/* "33-40, 44": ports come in their order. */
		char *dash = strrchr(at->ports, '-'), *comma = strrchr(at->ports, ',');
		char *last = dash > comma ? dash + 1 : comma ? comma + 2 : at->ports;
		size_t used = strlen(at->ports);
		bool next = used && strtoul(last, NULL, 10) + 1 == num;

		if (next && dash > comma)
			snprintf(last, sizeof(at->ports) - (last - at->ports), "%u", num);
		else if (used + 8 < sizeof(at->ports))
			array_add(at->ports, "%s%u", next ? "-" : used ? ", " : "", num);
	}
	for (unsigned i = 0; i < count; i++) {
		const struct topo_node *node = &s->t->nodes[list[i].sw];

		json_add(rows, "{ss ss si si si si si ss}", "switch", node->name, "role",
			 topo_role_name(node->role), "level", node->level, "cables", list[i].links,
			 "up", list[i].up, "cordoned", list[i].cordoned, "lids", list[i].lids,
			 "ports", list[i].ports);
	}
	json_object_set_new(s->doc, "neighbours", rows);
}

/* ---- Facts ----------------------------------------------------------------------------------- */

/* The first alert about the node, without its name, which stands above. */
static void show_alert(struct show *s, guid_t guid)
{
	json_t *rows = fabric_alerts(s->env->fabric);

	JSON_EACH (row, rows) {
		const char *name = json_text(row, "subject");
		const char *text = json_text(row, "text");
		size_t len = name ? strlen(name) : 0;

		if (!text || json_guid_of(row, "node") != guid || json_object_get(row, "port") ||
		    json_object_get(s->doc, "note"))
			continue;
		if (len && !strncmp(text, name, len) && !strncmp(text + len, ": ", 2))
			text += len + 2;
		json_put(s->doc, "{ss}", "note", text);
	}
	json_decref(rows);
}

static void show_links_facts(struct show *s, uint32_t n)
{
	const struct around a = look_around(s, n);
	const struct topo_node *node = &s->t->nodes[n];

	if (!a.up) {
		/* Nothing is up; since when: the last one went down. */
		char since[LINK_SINCE], last[LINK_SINCE] = "", note[LINK_SINCE + 64];

		for (unsigned num = 1; num <= node->nports; num++) {
			link_down_since(s->env->fabric, node->port0 + num, since);
			if (strcmp(since, last) > 0)
				strcpy(last, since);
		}
		array_printf(note, "%s%s%s",
			     a.down ? "all of its links are down" : "no link is known",
			     *last ? " since " : "", last);
		json_put(s->doc, "{ss}", "note", note);
	} else
		show_alert(s, node->guid);
	json_put(s->doc, "{si si si}", "ports_known", node->nports, "links_up", a.up, "links_down",
		 a.down);
	if (node->type != TOPO_SWITCH)
		return;
	json_put(s->doc, "{si si si sb}", "hcas", a.hosts, "switches_above",
		 count_switches(s->t, n, true), "switches_below", count_switches(s->t, n, false),
		 "cordoned", a.transit && a.cordoned == a.transit);
	if (a.transit && a.cordoned == a.transit) {
		/* Of a cordon whose time is not known, the newest event tells it. */
		const char *since = links_out_cordoned_since(s->env->fabric, node->guid, 0);
		const struct event_about about = event_about_node(s->t, n);

		if (since)
			json_put(s->doc, "{ss}", "cordoned_since", since);
		else
			show_since(s, "cordoned_since", "cordoned", &about);
	}
	json_put(s->doc, "{si si si si}", "links_cordoned", a.cordoned, "links_quarantined",
		 a.quarantined, "links_isolated", a.isolated, "links_unhealthy", a.unhealthy);
}

static uint16_t lid_of(const struct show *s, uint32_t n)
{
	bool is_switch = s->t->nodes[n].type == TOPO_SWITCH;

	return s->view.lids->lid_of_port[is_switch ? s->t->nodes[n].port0 : port_of(s, n)];
}

static void show_node_facts(struct show *s, uint32_t n)
{
	const struct topo_node *node = &s->t->nodes[n];
	uint16_t lid = lid_of(s, n);

	json_put(s->doc, "{ss* so so so*}", "description",
		 strcmp(node->name, node->desc) ? node->desc : NULL, "guid", json_guid(node->guid),
		 "lid", json_index(lid ? lid : -1), "subnet_manager",
		 lid && lid == s->view.sm_lid ? json_true() : NULL);
	show_place(s, s->doc, n);
	if (node->type == TOPO_SWITCH) {
		json_t *rows = adaptive_switches(s->env->fabric);
		json_t *ar = json_object_get(json_array_get(rows, n), "ar");

		json_put(s->doc, "{sO? si si}", "ar", ar, "lft_room", node->lft_cap, "mft_room",
			 node->mft_cap);
		json_decref(rows);
	} else {
		const struct topo_port *own = topo_link_from(s->t, n, 1);
		const struct topo_port *leaf = own ? topo_peer(s->t, own) : NULL;

		json_put(s->doc, "{ss? ss? so}", "host",
			 node->host == TOPO_NONE ? NULL : s->t->hosts[node->host].name, "leaf",
			 leaf ? s->t->nodes[leaf->node].name : NULL, "leaf_port",
			 json_index(leaf ? leaf->num : -1));
		adaptive_show_hca(s->env->fabric, node->guid, 0, s->doc);
	}
	show_links_facts(s, n);
	json_put(s->doc, "{so so so}", "vendor", json_sprintf("0x%06x", node->vendor), "device",
		 json_sprintf("0x%04x", node->device), "system_guid", json_guid(node->sys_guid));

	json_t *facts = device_facts(s->env->fabric, node->guid);

	json_object_update_missing(s->doc, facts);
	json_decref(facts);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static void show_own_end_ports(struct show *s, uint32_t n)
{
	const struct topo_node *node = &s->t->nodes[n];
	uint32_t ports[256];
	unsigned count = 0;

	if (node->type == TOPO_SWITCH)
		ports[count++] = node->port0;
	else
		for (unsigned num = 1; num <= node->nports; num++)
			if (topo_port(s->t, n, num)->guid)
				ports[count++] = node->port0 + num;
	show_end_ports(s, ports, count);
}

void show_node(struct show *s, uint32_t n)
{
	const struct topo_node *node = &s->t->nodes[n];
	bool is_switch = node->type == TOPO_SWITCH;
	const struct event_about about = event_about_node(s->t, n);
	uint32_t lids[256];

	json_put(s->doc, "{ss ss}", "kind",
		 node->sharp		     ? "aggregation-node"
		 : is_switch		     ? "switch"
		 : node->type == TOPO_ROUTER ? "router"
					     : "hca",
		 "name", node->name);
	show_node_facts(s, n);
	if (is_switch) {
		uint32_t none = link_use_by_port(&s->scene, n, lids), all = 0;

		for (unsigned num = 0; num < 256; num++)
			all += lids[num];
		const struct mcast_plan *plan = multicast_trees(s->env->fabric);
		unsigned count = 0;

		for (uint32_t i = 0; plan && i < plan->ntrees; i++)
			for (uint32_t h = 0; h < plan->trees[i].nhops; h++)
				count += plan->trees[i].hops[h].guid == node->guid;
		json_put(s->doc, "{si si si}", "lids_forwarded", all, "lids_dropped", none,
			 "multicast_trees", count);
	}
	if (s->from != TOPO_NONE && lid_of(s, n))
		show_path(s, lid_of(s, n));
	if (is_switch)
		show_neighbours(s, n, lids);

	json_t *rows = json_array();

	for (unsigned num = 1; num <= node->nports; num++) {
		const struct topo_port *port = topo_port(s->t, n, num);

		if (port->peer != TOPO_NONE || port->state > TOPO_DOWN)
			json_array_append_new(
				rows, show_port_row(s, node->port0 + num, is_switch ? lids : NULL));
	}
	json_object_set_new(s->doc, "ports", rows);

	show_own_end_ports(s, n);
	show_news(s, &about);
}
