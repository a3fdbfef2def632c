/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "topology/files/dump.h"
#include <ctype.h>
#include <inttypes.h>
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/names.h"
#include "topology/base/text.h"
#include "topology/graph/nearness.h"

/* ---- Kubernetes ------------------------------------------------------------------------------ */

/*
 * Labels of Kubernetes nodes that say how near they are, as commands for sh: a merge patch a node,
 * which changes these labels alone and makes no node where there is none. Keys are those of
 * NVIDIA's topograph 1 (docs.nvidia.com/topograph, node labels and annotations):
 * fabric.topograph.run/tier-N for the groups of the tree from the lowest up, and
 * accelerator.topograph.run/domain for the NVLink domain, where it is known. So are values: as they
 * are up to 63 characters, longer ones by their FNV-1a hash behind an x.
 *
 * Kubernetes' node names are in lower case (RFC 1123), as kubelet makes them of a host's name.
 */

#define VALUE_MAX 63 /* of a label */

/* Letters, digits, '-', '_' and '.', of which the last three neither begin nor end a label. */
static void write_value(FILE *out, const char *value)
{
	size_t len = strlen(value);
	bool fits = len && len <= VALUE_MAX;
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++) {
		hash = (hash ^ (unsigned char)value[i]) * 0x100000001b3u;
		fits &= isalnum((unsigned char)value[i]) ||
			(strchr("-_.", value[i]) && i && i + 1 < len);
	}
	if (fits)
		fprintf(out, "\"%s\"", value);
	else
		fprintf(out, "\"x%" PRIx64 "\"", hash);
}

int dump_k8s(const struct topo *t, const char *const *domains, bool shortened, FILE *out)
{
	struct nearness *near = nearness_new(t, shortened);

	fprintf(out, "# labels of %" PRIu32 " nodes, the nearest group first; for sh\n",
		near->nhosts);
	for (uint32_t h = 0; h < t->nhosts; h++) {
		const char *name = near->nodes[h], *at = name;
		uint32_t group = near->group[h];

		/* What RFC 1123 has no letter for, or names only a GUID, is no node's name. */
		while (isalnum((unsigned char)*at) || (at > name && (*at == '-' || *at == '.')))
			at++;
		if (group == TOPO_NONE || *at || !strncmp(name, "0x", 2))
			continue;
		fputs("kubectl patch node ", out);
		for (at = name; *at; at++)
			fputc(tolower((unsigned char)*at), out);
		fputs(" --type=merge -p '{\"metadata\":{\"labels\":{", out);
		if (domains && domains[h]) {
			fputs("\"accelerator.topograph.run/domain\":", out);
			write_value(out, domains[h]);
			fputc(',', out);
		}
		for (unsigned tier = 0; group != TOPO_NONE; tier++) {
			fprintf(out, "%s\"fabric.topograph.run/tier-%u\":", tier ? "," : "", tier);
			write_value(out, near->groups[group].name);
			group = near->groups[group].parent;
		}
		fputs("}}}'\n", out);
	}
	nearness_free(near);
	return mem_flush(out);
}

/* ---- Slurm ----------------------------------------------------------------------------------- */

/*
 * What Slurm places jobs by: topology.conf for topology/tree, and topology.yaml, which
 * Slurm 25.05 and later read instead of it, with a tree and blocks side by side
 * (slurm.schedmd.com/topology.conf.html, slurm.schedmd.com/topology.yaml.html).
 *
 * Blocks are NVLink domains where these are known, else the lowest groups of the tree: scalable
 * units. As each block needs as many nodes as the base block size, that is the smallest block's.
 */

static void write_left_out(const struct nearness *near, FILE *out)
{
	for (uint32_t h = 0; h < near->t->nhosts; h++) {
		if (!near->left_out[h])
			continue;
		fprintf(out, "# left out, %s: ", near->left_out[h]);
		for (const char *at = near->t->hosts[h].name; *at; at++)
			fputc(isprint((unsigned char)*at) ? *at : '?', out);
		fputc('\n', out);
	}
}

/* A group's members in Slurm's short form; the caller frees it. */
static char *member_list(const struct nearness *near, const struct near_group *group)
{
	const char **members = mem_array(members, group->count + 1);

	for (uint32_t i = 0; i < group->count; i++) {
		uint32_t member = near->members[group->first + i];

		members[i] = group->lowest ? near->nodes[member] : near->groups[member].name;
	}

	char *list = hostlist_format(members, group->count);

	free(members);
	return list;
}

int dump_slurm(const struct topo *t, const char *const *domains, bool shortened, FILE *out)
{
	struct nearness *near = nearness_new(t, shortened);

	fprintf(out, "# topology.conf for TopologyPlugin=topology/tree: %" PRIu32 " hosts\n",
		near->nhosts);
	write_left_out(near, out);
	for (uint32_t g = 0; g < near->ngroups; g++) {
		char *list = member_list(near, &near->groups[g]);

		fprintf(out, "SwitchName=%s %s=%s\n", near->groups[g].name,
			near->groups[g].lowest ? "Nodes" : "Switches", list);
		free(list);
	}
	nearness_free(near);
	return mem_flush(out);
}

/* ---- topology.yaml --------------------------------------------------------------------------- */

static void write_blocks(const struct nearness *near, const char *const *domains, FILE *out)
{
	struct names names = { 0 };
	uint32_t smallest = UINT32_MAX;
	struct block {
		const char *name;
		uint32_t count;
		const char **hosts;
	} *blocks = mem_array(blocks, near->t->nhosts + 1);

	for (uint32_t h = 0; h < near->t->nhosts; h++) {
		/* Of a host: its NVLink domain, else its lowest group. */
		uint32_t group = near->group[h];
		const char *name = domains && domains[h] ? domains[h]
				   : group != TOPO_NONE	 ? near->groups[group].name
							 : NULL;

		if (group == TOPO_NONE)
			continue;
		struct block *block = &blocks[names_id(&names, name, strlen(name))];

		block->name = block->name ?: name;
		block->hosts = mem_grow(block->hosts, block->count);
		block->hosts[block->count++] = near->nodes[h];
	}
	for (uint32_t b = 0; b < names.count; b++)
		if (blocks[b].count < smallest)
			smallest = blocks[b].count;
	if (names.count)
		fprintf(out,
			"- topology: block\n  cluster_default: false\n  block:\n    block_sizes:\n"
			"      - %" PRIu32 "\n    blocks:\n",
			smallest);
	for (uint32_t b = 0; b < names.count; b++) {
		char *list = hostlist_format(blocks[b].hosts, blocks[b].count);

		fprintf(out, "      - block: \"%s\"\n        nodes: \"%s\"\n", blocks[b].name,
			list);
		free(list);
		free(blocks[b].hosts);
	}
	names_fini(&names);
	free(blocks);
}

int dump_slurm_yaml(const struct topo *t, const char *const *domains, bool shortened, FILE *out)
{
	struct nearness *near = nearness_new(t, shortened);

	fprintf(out, "# topology.yaml for Slurm 25.05 and later: %" PRIu32 " hosts\n",
		near->nhosts);
	write_left_out(near, out);
	fputs("---\n", out);
	fputs("- topology: tree\n  cluster_default: true\n  tree:\n    switches:", out);
	fputs(near->ngroups ? "\n" : " []\n", out);
	for (uint32_t g = 0; g < near->ngroups; g++) {
		char *list = member_list(near, &near->groups[g]);

		fprintf(out, "      - switch: \"%s\"\n        %s: \"%s\"\n", near->groups[g].name,
			near->groups[g].lowest ? "nodes" : "children", list);
		free(list);
	}
	write_blocks(near, domains, out);
	nearness_free(near);
	return mem_flush(out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/*
 * A snapshot as JSON, the same shapes for `fmctl --json` and for HTTP.
 *
 * A row of nodes, switches or hosts has name (as people know it), guid, lid, role, rail, su,
 * state, speed, width, and what its kind adds, for a node its NodeDescription; GUIDs are texts
 * "0x%016x", as JSON's numbers end at 2^53; a rail or unit that a node does not have is null. A
 * node's state, speed and width are those of its best port, a host's those of its worst CA: the one
 * that makes a job wait. A switch's links_cordoned are the links that are cordoned at its own end.
 * A row of links has its two ends under "a" and "b", the end with the lower node index (switches
 * first) as a.
 */

/* Whether a port is more alive than another, or as much and faster. */
static bool is_better(const struct topo_port *a, const struct topo_port *b)
{
	return a->state > b->state ||
	       (a->state == b->state && a->speed * a->width > b->speed * b->width);
}

/* The port that stands for the node. */
static const struct topo_port *best_port(const struct topo *t, uint32_t n)
{
	const struct topo_port *best = topo_port(t, n, t->nodes[n].nports ? 1 : 0);

	for (unsigned num = 2; num <= t->nodes[n].nports; num++)
		if (is_better(topo_port(t, n, num), best))
			best = topo_port(t, n, num);
	return best;
}

static void set_rate(json_t *row, const struct topo_port *port)
{
	json_put(row, "{ss ss si}", "state", topo_state_name(port->state), "speed",
		 topo_speed_name(port->speed), "width", port->width);
}

static bool by_operator(const struct topo_port *port)
{
	return port->cordoned && !port->quarantined && !port->isolated;
}

json_t *dump_json_node(const struct topo *t, uint32_t n)
{
	static const char *const types[] = { "?", "ca", "switch", "router" };
	const struct topo_node *node = &t->nodes[n];
	const struct topo_port *best = best_port(t, n);
	bool is_switch = node->type == TOPO_SWITCH;
	json_t *row = json_pack("{ss ss so si ss ss so so}", "name", node->name, "description",
				node->desc, "guid", json_guid(node->guid), "lid",
				is_switch ? topo_port(t, n, 0)->lid : best->lid, "type",
				types[node->type], "role", topo_role_name(node->role), "rail",
				json_index(node->rail), "su", json_index(node->su));
	unsigned up = 0, down = 0, cordoned = 0;

	set_rate(row, best);
	for (unsigned num = 1; num <= node->nports; num++) {
		const struct topo_port *p = topo_port(t, n, num);

		up += p->link_up;
		down += p->peer != TOPO_NONE && !p->link_up;
		cordoned += by_operator(p);
	}
	json_put(row, "{si si si}", "ports", node->nports, "links", up, "links_down", down);
	if (is_switch)
		json_put(row, "{si si}", "links_cordoned", cordoned, "level", node->level);
	if (node->host != TOPO_NONE)
		json_put(row, "{ss}", "host", t->hosts[node->host].name);
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
	const char *label = topo_port_label(t, port - t->ports);

	return json_pack("{ss so si ss* ss so so}", "name", node->name, "guid",
			 json_guid(node->guid), "port", port->num, "label", *label ? label : NULL,
			 "role", topo_role_name(node->role), "rail", json_index(node->rail), "su",
			 json_index(node->su));
}

static json_t *link_row(const struct topo *t, const struct topo_port *a, const struct topo_port *b)
{
	json_t *row = json_pack("{so so}", "a", link_end(t, a), "b", link_end(t, b));

	set_rate(row, a->state <= b->state ? a : b); /* a link is as far up as its slower end */
	json_put(row, "{sb sb sb sb}", "up", a->link_up, "cordoned",
		 by_operator(a) || by_operator(b), "quarantined", a->quarantined || b->quarantined,
		 "isolated", a->isolated || b->isolated);
	return row;
}

json_t *dump_json_link(const struct topo *t, uint32_t port)
{
	const struct topo_port *a = &t->ports[port], *b = topo_peer(t, a);

	if (b)
		return a->peer < port ? link_row(t, b, a) : link_row(t, a, b);

	json_t *row = json_pack("{so so}", "a", link_end(t, a), "b", json_null());

	set_rate(row, a);
	json_put(row, "{sb}", "up", a->state > TOPO_DOWN);
	return row;
}

json_t *dump_json_unhealthy_link(const struct topo *t, uint32_t port, const char *state,
				 json_t *why)
{
	json_t *row = dump_json_link(t, port);

	json_put(row, "{ss so*}", "sick", state, "why", why);
	return row;
}

json_t *dump_json_links(const struct topo *t, bool down_only)
{
	json_t *rows = json_array();

	TOPO_CABLES (t, port, peer)
		if (!down_only || !port->link_up)
			json_array_append_new(rows, link_row(t, port, peer));
	return rows;
}

json_t *dump_json_host(const struct topo *t, uint32_t h)
{
	const struct topo_host *host = &t->hosts[h];
	const uint32_t *cas = t->host_cas + host->first;
	const struct topo_port *worst = NULL;
	json_t *row, *hcas = json_array();

	for (uint32_t i = 0; i < host->ncas; i++) {
		const struct topo_port *best = best_port(t, cas[i]);

		if (!worst || is_better(worst, best))
			worst = best;
		json_array_append_new(hcas, dump_json_node(t, cas[i]));
	}
	row = json_pack("{ss so si ss so so}", "name", host->name, "guid",
			json_guid(t->nodes[cas[0]].guid), "lid", best_port(t, cas[0])->lid, "role",
			topo_role_name(TOPO_HOST), "rail",
			json_index(host->ncas == 1 ? t->nodes[cas[0]].rail : -1), "su",
			json_index(t->nodes[cas[0]].su));
	set_rate(row, worst);
	json_object_set_new(row, "hcas", hcas);
	return row;
}

json_t *dump_json(const struct topo *t)
{
	json_t *hosts = json_array();

	for (uint32_t h = 0; h < t->nhosts; h++)
		json_array_append_new(hosts, dump_json_host(t, h));
	return json_pack("{so so so si}", "nodes", dump_json_nodes(t, false), "links",
			 dump_json_links(t, false), "hosts", hosts, "levels", t->nlevels);
}

/* ---- Text, and opensm-subnet.lst ------------------------------------------------------------- */

/*
 * A snapshot as text for people, and as OpenSM's opensm-subnet.lst.
 *
 * The text goes from the top tier down: first the counts, then every switch above the leaves on
 * one line, then the leaves by scalable unit and rail with their hosts in short form, then what
 * is down. Within each the order is natural by name.
 *
 * The .lst has one line for each end of each link, in the field order that ibutils' parsers
 * expect:
 *   { KIND Ports:HH SystemGUID:.. NodeGUID:.. PortGUID:.. VenID:.. DevID:.. Rev:.. {DESC}
 *   LID:HHHH PN:HH } {..} PHY= LOG= SPD=
 * where the LID is that of port 0 for a switch and that of the port for a CA.
 */

/* ---- Text --------------------------------------------------------------------------- */

struct text_order { /* one switch's place in what people read */
	uint32_t node;
	uint32_t rank; /* natural, of its description */
	int16_t su, rail;
	uint8_t level;
};

SORT_BY(compare_text_order, struct text_order,
	sort_order(b->level, a->level) ?: /* highest tier first */
	sort_order((uint16_t)a->su, (uint16_t)b->su) ?: /* -1 last */
	sort_order((uint16_t)a->rail, (uint16_t)b->rail) ?: sort_order(a->rank, b->rank) ?:
	sort_order(a->node, b->node))

static void text_summary(const struct topo *t, FILE *out)
{
	uint32_t roles[TOPO_SHARP] = { 0 };

	for (uint32_t n = 0; n < t->nnodes; n++)
		if (t->nodes[n].role < TOPO_SHARP)
			roles[t->nodes[n].role]++;
	fprintf(out, "%" PRIu32 " switch%s in %u tier%s", t->nswitches,
		t->nswitches == 1 ? "" : "es", t->nlevels, t->nlevels == 1 ? "" : "s");
	for (int role = TOPO_CORE; role >= TOPO_LEAF; role--)
		if (roles[role])
			fprintf(out, ", %" PRIu32 " %s", roles[role], topo_role_name(role));
	fprintf(out, "; %" PRIu32 " HCA%s in %" PRIu32 " host%s", t->ncas, t->ncas == 1 ? "" : "s",
		t->nhosts, t->nhosts == 1 ? "" : "s");
	if (t->nspecials)
		fprintf(out, ", %" PRIu32 " aggregation node%s", t->nspecials,
			t->nspecials == 1 ? "" : "s");
	fprintf(out, "; %" PRIu32 " link%s, %" PRIu32 " down\n", topo_links(t),
		topo_links(t) == 1 ? "" : "s", topo_links_down(t));
}

static void text_switch(const struct topo *t, uint32_t sw, FILE *out)
{
	const struct topo_node *node = &t->nodes[sw];
	unsigned up = 0, down = 0, outer = node->nports;

	for (unsigned num = 1; num <= node->nports; num++) {
		const struct topo_port *port = topo_port(t, sw, num);

		if (t->ends[node->port0 + num].special) {
			outer--;
			continue;
		}
		up += port->link_up;
		down += port->peer != TOPO_NONE && !port->link_up;
	}
	fprintf(out, "  %-32s 0x%016" PRIx64 "  lid %-5u  %u of %u ports up", node->name,
		node->guid, topo_port(t, sw, 0)->lid, up, outer);
	if (node->rail >= 0)
		fprintf(out, ", rail %d", node->rail);
	if (down)
		fprintf(out, ", %u down", down);
	fputc('\n', out);
}

SORT_BY(compare_index, uint32_t, sort_order(*a, *b))

/* The hosts on a switch, each once, in the snapshot's (natural) order. */
static void text_hosts(const struct topo *t, uint32_t sw, FILE *out)
{
	uint32_t hosts[UINT8_MAX], n = 0, count = 0;
	const char *names[UINT8_MAX];

	TOPO_LINKS (t, sw, port, peer)
		if (t->nodes[peer->node].host != TOPO_NONE)
			hosts[n++] = t->nodes[peer->node].host;
	qsort(hosts, n, sizeof(*hosts), compare_index);
	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || hosts[i] != hosts[i - 1])
			names[count++] = t->hosts[hosts[i]].name;
	if (!count)
		return;

	char *list = hostlist_format(names, count);

	fprintf(out, "    %" PRIu32 " host%s: %s\n", count, count == 1 ? "" : "s", list);
	free(list);
}

int dump_text(const struct topo *t, FILE *out)
{
	struct text_order *order = mem_array(order, t->nswitches);
	struct names names = { 0 };

	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		const struct topo_node *node = &t->nodes[sw];

		order[sw] =
			(struct text_order){ sw, names_id(&names, node->name, strlen(node->name)),
					     node->su, node->rail, node->level };
	}

	uint32_t *rank = names_rank(&names);

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		order[sw].rank = rank[order[sw].rank];
	free(rank);
	names_fini(&names);
	qsort(order, t->nswitches, sizeof(*order), compare_text_order);

	text_summary(t, out);
	for (uint32_t i = 0; i < t->nswitches; i++) {
		const struct text_order *o = &order[i];

		if (i && o->level == o[-1].level && (o->level || o->su == o[-1].su))
			; /* under the same title */
		else if (o->level)
			fprintf(out, "\ntier %u: %s switches\n", o->level + 1,
				topo_role_name(t->nodes[o->node].role));
		else if (o->su >= 0)
			fprintf(out, "\nscalable unit %d\n", o->su + 1);
		else
			fprintf(out, "\nleaf switches\n");
		text_switch(t, o->node, out);
		text_hosts(t, o->node, out);
	}
	if (t->nlinks_down)
		fprintf(out, "\nlinks down\n");
	TOPO_CABLES (t, a, b)
		if (!a->link_up)
			fprintf(out, "  %s p%u - %s p%u\n", t->nodes[a->node].name, a->num,
				t->nodes[b->node].name, b->num);
	free(order);
	return mem_flush(out);
}

/* ---- opensm-subnet.lst -------------------------------------------------------------- */

static void lst_end(const struct topo *t, const struct topo_port *port, FILE *out)
{
	static const char *const kinds[] = {
		[TOPO_CA] = "CA", [TOPO_SWITCH] = "SW", [TOPO_ROUTER] = "Rt"
	};
	const struct topo_node *node = &t->nodes[port->node];
	const struct topo_port *base =
		node->type == TOPO_SWITCH ? topo_port(t, port->node, 0) : port;
	char desc[80];

	array_printf(desc, "%s", node->label);
	for (char *p = desc; *p; p++) /* braces delimit fields */
		if (*p == '{' || *p == '}')
			*p = '.';
	fprintf(out,
		"{ %s Ports:%02X SystemGUID:%016" PRIx64 " NodeGUID:%016" PRIx64
		" PortGUID:%016" PRIx64 " VenID:%06X DevID:%04X Rev:%08X {%s} LID:%04X PN:%02X } ",
		kinds[node->type], node->nports, node->sys_guid, node->guid, base->guid,
		node->vendor, node->device, node->revision, desc, base->lid, port->num);
}

int dump_lst(const struct topo *t, FILE *out)
{
	static const char *const states[] = { "DWN", "DWN", "INI", "ARM", "ACT" };
	static const char *const rates[] = { "2.5", "2.5", "5",	 "10",	"FDR10",
					     "14",  "25",  "50", "100", "200" };

	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *port = &t->ports[p], *peer = topo_peer(t, port);

		if (!peer || !port->link_up)
			continue;
		lst_end(t, port, out);
		lst_end(t, peer, out);
		fprintf(out, "PHY=%ux LOG=%s SPD=%s\n", port->width ? port->width : 4u,
			states[port->state <= TOPO_ACTIVE ? port->state : 0],
			rates[port->speed <= TOPO_XDR ? port->speed : 0]);
	}
	return mem_flush(out);
}
