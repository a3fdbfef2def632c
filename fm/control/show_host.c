/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* show_host: a machine: its HCAs rail by rail, those that are missing, its NVLinks, its verdict. */
#include <stdlib.h>
#include <string.h>
#include "fm/control/show.h"
#include "fm/hosts/module.h"
#include "fm/nvswitch/module.h"
#include "topology/base/mem.h"

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
	for (unsigned num = 1; num <= node->nports; num++)
		if (topo_port(s->t, ca, num)->peer != TOPO_NONE)
			return node->port0 + num;
	return node->port0 + 1;
}

static json_t *hca_row(struct show *s, uint32_t ca)
{
	const struct topo_node *node = &s->t->nodes[ca];
	uint32_t at = port_of(s, ca);
	uint16_t lid = s->view.lids->lid_of_port[at];
	char *note = show_note(s, at);
	json_t *row = json_object();

	show_text(row, "hca", device_of(s->t, ca));
	show_index(row, "rail", node->rail);
	show_index(row, "lid", lid ? lid : -1);
	show_label(s, row, at);
	show_link(s, row, at);
	show_rates(s, row, at);
	show_text(row, "note", note);
	show_guid(row, "guid", node->guid);
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

static void add_down(struct show *s, const struct topo_host *host, struct missing *m)
{
	for (uint32_t i = 0; i < host->ncas; i++) {
		uint32_t ca = s->t->host_cas[host->first + i], at = port_of(s, ca);
		const struct topo_port *peer = topo_peer(s->t, &s->t->ports[at]);
		char *note;

		if (is_up(s, ca))
			continue;
		note = show_note(s, at);
		json_array_append_new(
			m->list,
			peer ? json_sprintf("%s at %s p%u: %s", device_of(s->t, ca),
					    s->t->nodes[peer->node].name, peer->num,
					    note ? note : topo_state_name(s->t->ports[at].state))
			     : json_sprintf("%s: no link is known", device_of(s->t, ca)));
		free(note);
	}
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
	json_t *all = nvlink_hosts(s->env->fabric), *row;
	size_t i;

	json_array_foreach (json_object_get(all, "hosts"), i, row) {
		const char *host = json_string_value(json_object_get(row, "host"));

		if (!host || strcmp(host, name))
			continue;
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
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
	const uint32_t *cas = s->t->host_cas + host->first;
	struct missing missing = { .list = json_array() };
	uint32_t *ports = mem_alloc(host->ncas, sizeof(*ports));
	struct host_verdict verdict = { 0 };
	json_t *rows = json_array();
	unsigned up = 0;

	for (uint32_t i = 0; i < host->ncas; i++) {
		up += is_up(s, cas[i]);
		ports[i] = port_of(s, cas[i]);
		json_array_append_new(rows, hca_row(s, cas[i]));
	}
	add_down(s, host, &missing);
	add_unknown(s, host, &missing);
	hosts_judge(s->env->fabric, h, &verdict);
	show_text(s->doc, "kind", "host");
	show_text(s->doc, "name", host->name);
	json_object_set_new(s->doc, "hcas",
			    json_sprintf("%u/%u", up, host->ncas + missing.unknown));
	hosts_add_verdict(&verdict, s->doc);
	json_object_set_new(s->doc, "missing", missing.list);
	show_index(s->doc, "su", s->t->nodes[cas[0]].su);
	show_nvlinks(s, host->name);
	json_object_set_new(s->doc, "ports", rows);
	show_end_ports(s, ports, host->ncas);
	show_news(s, &host->name, 1);
	free(ports);
}
