/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dump_json: a snapshot as JSON, the same shapes for `fmctl --json` and for HTTP.
 *
 * A row of nodes, switches or hosts has name (as people know it), guid, lid, role, rail, su,
 * state, speed, width, and what its kind adds, for a node its NodeDescription; GUIDs are texts
 * "0x%016x", as JSON's numbers end at 2^53; a rail or unit that a node does not have is null. A
 * node's state, speed and width are those of its best port, a host's those of its worst CA: the one
 * that makes a job wait. A switch's links_cordoned are the links that are cordoned at its own end.
 * A row of links has its two ends under "a" and "b", the end with the lower node index (switches
 * first) as a.
 */
#include "topology/dump.h"
#include "topology/mem.h"

#include <inttypes.h>
#include <stdlib.h>

static json_t *json_guid(guid_t guid)
{
	char text[sizeof("0x0123456789abcdef")];

	snprintf(text, sizeof(text), "0x%016" PRIx64, guid);
	return json_string(text);
}

static json_t *json_index(int value)
{
	return value < 0 ? json_null() : json_integer(value);
}

/* The port that stands for the node: the most alive one, of these the fastest. */
static const struct topo_port *best_port(const struct topo *t, uint32_t n)
{
	const struct topo_port *best = topo_port(t, n, t->nodes[n].nports ? 1 : 0);

	for (unsigned num = 2; num <= t->nodes[n].nports; num++) {
		const struct topo_port *p = topo_port(t, n, num);

		if (p->state > best->state ||
		    (p->state == best->state && p->speed * p->width > best->speed * best->width))
			best = p;
	}
	return best;
}

static void set_rate(json_t *row, const struct topo_port *port)
{
	json_object_set_new(row, "state", json_string(topo_state_name(port->state)));
	json_object_set_new(row, "speed", json_string(topo_speed_name(port->speed)));
	json_object_set_new(row, "width", json_integer(port->width));
}

static uint16_t node_lid(const struct topo *t, uint32_t n, const struct topo_port *best)
{
	return t->nodes[n].type == TOPO_SWITCH ? topo_port(t, n, 0)->lid : best->lid;
}

static bool by_operator(const struct topo_port *port)
{
	return port->cordoned && !port->quarantined && !port->isolated;
}

static void set_links(const struct topo *t, uint32_t n, json_t *row)
{
	unsigned up = 0, down = 0, cordoned = 0;

	for (unsigned num = 1; num <= t->nodes[n].nports; num++) {
		const struct topo_port *p = topo_port(t, n, num);

		up += p->link_up;
		down += p->peer != TOPO_NONE && !p->link_up;
		cordoned += by_operator(p);
	}
	json_object_set_new(row, "ports", json_integer(t->nodes[n].nports));
	json_object_set_new(row, "links", json_integer(up));
	json_object_set_new(row, "links_down", json_integer(down));
	if (t->nodes[n].type == TOPO_SWITCH)
		json_object_set_new(row, "links_cordoned", json_integer(cordoned));
}

json_t *dump_json_node(const struct topo *t, uint32_t n)
{
	static const char *const types[] = { "?", "ca", "switch", "router" };
	const struct topo_node *node = &t->nodes[n];
	const struct topo_port *best = best_port(t, n);
	json_t *row = json_object();

	json_object_set_new(row, "name", json_string(node->name));
	json_object_set_new(row, "description", json_string(node->desc));
	json_object_set_new(row, "guid", json_guid(node->guid));
	json_object_set_new(row, "lid", json_integer(node_lid(t, n, best)));
	json_object_set_new(row, "type", json_string(types[node->type]));
	json_object_set_new(row, "role", json_string(topo_role_name(node->role)));
	json_object_set_new(row, "rail", json_index(node->rail));
	json_object_set_new(row, "su", json_index(node->su));
	set_rate(row, best);
	set_links(t, n, row);
	if (node->type == TOPO_SWITCH)
		json_object_set_new(row, "level", json_integer(node->level));
	if (node->host != TOPO_NONE)
		json_object_set_new(row, "host", json_string(t->hosts[node->host].name));
	return row;
}

json_t *dump_json_nodes(const struct topo *t, bool switches_only)
{
	json_t *rows = json_array();

	for (uint32_t n = 0; n < (switches_only ? t->nswitches : t->nnodes); n++)
		json_array_append_new(rows, dump_json_node(t, n));
	return rows;
}

static json_t *link_end(const struct topo *t, const struct topo_port *port)
{
	const struct topo_node *node = &t->nodes[port->node];
	json_t *end = json_object();

	json_object_set_new(end, "name", json_string(node->name));
	json_object_set_new(end, "guid", json_guid(node->guid));
	json_object_set_new(end, "port", json_integer(port->num));
	if (*topo_port_label(t, (uint32_t)(port - t->ports)))
		json_object_set_new(end, "label",
				    json_string(topo_port_label(t, (uint32_t)(port - t->ports))));
	json_object_set_new(end, "role", json_string(topo_role_name(node->role)));
	json_object_set_new(end, "rail", json_index(node->rail));
	json_object_set_new(end, "su", json_index(node->su));
	return end;
}

static json_t *link_row(const struct topo *t, const struct topo_port *a, const struct topo_port *b)
{
	json_t *row = json_object();

	json_object_set_new(row, "a", link_end(t, a));
	json_object_set_new(row, "b", link_end(t, b));
	set_rate(row, a->state <= b->state ? a : b); /* a link is as far up as its slower end */
	json_object_set_new(row, "up", json_boolean(a->link_up));
	json_object_set_new(row, "cordoned", json_boolean(by_operator(a) || by_operator(b)));
	json_object_set_new(row, "quarantined", json_boolean(a->quarantined || b->quarantined));
	json_object_set_new(row, "isolated", json_boolean(a->isolated || b->isolated));
	return row;
}

json_t *dump_json_link(const struct topo *t, uint32_t port)
{
	const struct topo_port *a = &t->ports[port], *b = topo_peer(t, a);
	json_t *row;

	if (b)
		return a->peer < port ? link_row(t, b, a) : link_row(t, a, b);
	row = json_pack("{so so}", "a", link_end(t, a), "b", json_null());
	set_rate(row, a);
	json_object_set_new(row, "up", json_boolean(a->state > TOPO_DOWN));
	return row;
}

json_t *dump_json_unhealthy_link(const struct topo *t, uint32_t port, const char *state,
				 json_t *why)
{
	json_t *row = dump_json_link(t, port);

	json_object_set_new(row, "sick", json_string(state));
	json_object_set_new(row, "why", why);
	return row;
}

json_t *dump_json_links(const struct topo *t, bool down_only)
{
	json_t *rows = json_array();

	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *port = &t->ports[p];

		if (port->peer == TOPO_NONE || port->peer < p || (down_only && port->link_up))
			continue;
		json_array_append_new(rows, link_row(t, port, &t->ports[port->peer]));
	}
	return rows;
}

json_t *dump_json_host(const struct topo *t, uint32_t h)
{
	const struct topo_host *host = &t->hosts[h];
	const uint32_t *cas = t->host_cas + host->first;
	const struct topo_port *worst = NULL;
	json_t *row = json_object(), *hcas = json_array();

	for (uint32_t i = 0; i < host->ncas; i++) {
		const struct topo_port *best = best_port(t, cas[i]);

		if (!worst || best->state < worst->state ||
		    (best->state == worst->state &&
		     best->speed * best->width < worst->speed * worst->width))
			worst = best;
		json_array_append_new(hcas, dump_json_node(t, cas[i]));
	}
	json_object_set_new(row, "name", json_string(host->name));
	json_object_set_new(row, "guid", json_guid(t->nodes[cas[0]].guid));
	json_object_set_new(row, "lid", json_integer(best_port(t, cas[0])->lid));
	json_object_set_new(row, "role", json_string(topo_role_name(TOPO_HOST)));
	json_object_set_new(row, "rail", json_index(host->ncas == 1 ? t->nodes[cas[0]].rail : -1));
	json_object_set_new(row, "su", json_index(t->nodes[cas[0]].su));
	set_rate(row, worst);
	json_object_set_new(row, "hcas", hcas);
	return row;
}

json_t *dump_json_hosts(const struct topo *t)
{
	json_t *rows = json_array();

	for (uint32_t h = 0; h < t->nhosts; h++)
		json_array_append_new(rows, dump_json_host(t, h));
	return rows;
}

json_t *dump_json(const struct topo *t)
{
	json_t *all = json_object();

	json_object_set_new(all, "nodes", dump_json_nodes(t, false));
	json_object_set_new(all, "links", dump_json_links(t, false));
	json_object_set_new(all, "hosts", dump_json_hosts(t));
	json_object_set_new(all, "levels", json_integer(t->nlevels));
	return all;
}
