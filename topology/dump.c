/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dump: a snapshot as text for people, and as OpenSM's opensm-subnet.lst.
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
#include "topology/dump.h"
#include "topology/hostlist.h"
#include "topology/mem.h"
#include "topology/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int stream_result(FILE *out)
{
	return ferror(out) || fflush(out) ? -(errno ? errno : EIO) : 0;
}

/* ---- Text --------------------------------------------------------------------------- */

struct text_order { /* one switch's place in what people read */
	uint32_t node;
	uint32_t rank; /* natural, of its description */
	int16_t su, rail;
	uint8_t level;
};

static int compare_text_order(const void *va, const void *vb)
{
	const struct text_order *a = va, *b = vb;

	if (a->level != b->level)
		return a->level > b->level ? -1 : 1; /* highest tier first */
	if (a->su != b->su)
		return (uint16_t)a->su < (uint16_t)b->su ? -1 : 1; /* -1 last */
	if (a->rail != b->rail)
		return (uint16_t)a->rail < (uint16_t)b->rail ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static struct text_order *order_switches(const struct topo *t)
{
	struct text_order *order = mem_alloc(t->nswitches, sizeof(*order));
	struct names names = { 0 };
	uint32_t *rank;

	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		const struct topo_node *node = &t->nodes[sw];

		order[sw] =
			(struct text_order){ sw, names_id(&names, node->name, strlen(node->name)),
					     node->su, node->rail, node->level };
	}
	rank = names_rank(&names);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		order[sw].rank = rank[order[sw].rank];
	free(rank);
	names_fini(&names);
	qsort(order, t->nswitches, sizeof(*order), compare_text_order);
	return order;
}

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
			fprintf(out, ", %" PRIu32 " %s", roles[role],
				topo_role_name((enum topo_role)role));
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

static int compare_index(const void *va, const void *vb)
{
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;

	return a < b ? -1 : a > b;
}

/* Names of the hosts on a switch, each once, in the snapshot's (natural) order. */
static uint32_t hosts_of(const struct topo *t, uint32_t sw, const char **names)
{
	uint32_t hosts[UINT8_MAX], n = 0, count = 0;

	for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

		if (peer && t->nodes[peer->node].host != TOPO_NONE)
			hosts[n++] = t->nodes[peer->node].host;
	}
	qsort(hosts, n, sizeof(*hosts), compare_index);
	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || hosts[i] != hosts[i - 1])
			names[count++] = t->hosts[hosts[i]].name;
	return count;
}

static void text_hosts(const struct topo *t, uint32_t sw, FILE *out)
{
	const char *names[UINT8_MAX];
	uint32_t count = hosts_of(t, sw, names);
	char *list;

	if (!count)
		return;
	list = hostlist_format(names, count);
	fprintf(out, "    %" PRIu32 " host%s: %s\n", count, count == 1 ? "" : "s", list);
	free(list);
}

static void text_tier(const struct topo *t, const struct text_order *o, FILE *out)
{
	if (o->level)
		fprintf(out, "\ntier %u: %s switches\n", o->level + 1,
			topo_role_name(t->nodes[o->node].role));
	else if (o->su >= 0)
		fprintf(out, "\nscalable unit %d\n", o->su + 1);
	else
		fprintf(out, "\nleaf switches\n");
}

static void text_down(const struct topo *t, FILE *out)
{
	if (t->nlinks_down)
		fprintf(out, "\nlinks down\n");
	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *a = &t->ports[p], *b = topo_peer(t, a);

		if (b && p < a->peer && !a->link_up)
			fprintf(out, "  %s p%u - %s p%u\n", t->nodes[a->node].name, a->num,
				t->nodes[b->node].name, b->num);
	}
}

int dump_text(const struct topo *t, FILE *out)
{
	struct text_order *order = order_switches(t);

	text_summary(t, out);
	for (uint32_t i = 0; i < t->nswitches; i++) {
		if (i == 0 || order[i].level != order[i - 1].level ||
		    (!order[i].level && order[i].su != order[i - 1].su))
			text_tier(t, &order[i], out);
		text_switch(t, order[i].node, out);
		text_hosts(t, order[i].node, out);
	}
	text_down(t, out);
	free(order);
	return stream_result(out);
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

	snprintf(desc, sizeof(desc), "%s", node->label);
	for (char *p = desc; *p; p++) /* braces delimit fields */
		if (*p == '{' || *p == '}')
			*p = '.';
	fprintf(out,
		"{ %s Ports:%02X SystemGUID:%016" PRIx64 " NodeGUID:%016" PRIx64
		" PortGUID:%016" PRIx64 " VenID:%06X DevID:%04X Rev:%08X {%s} LID:%04X PN:%02X } ",
		kinds[node->type], node->nports, node->sys_guid, node->guid, base->guid,
		node->vendor, node->device, node->revision, desc, base->lid, port->num);
}

static const char *lst_rate(uint8_t speed)
{
	static const char *const rates[] = {
		[TOPO_SDR] = "2.5",	[TOPO_DDR] = "5",   [TOPO_QDR] = "10",
		[TOPO_FDR10] = "FDR10", [TOPO_FDR] = "14",  [TOPO_EDR] = "25",
		[TOPO_HDR] = "50",	[TOPO_NDR] = "100", [TOPO_XDR] = "200",
	};

	return speed && speed < sizeof(rates) / sizeof(rates[0]) ? rates[speed] : "2.5";
}

int dump_lst(const struct topo *t, FILE *out)
{
	static const char *const states[] = { "DWN", "DWN", "INI", "ARM", "ACT" };

	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *port = &t->ports[p], *peer = topo_peer(t, port);

		if (!peer || !port->link_up)
			continue;
		lst_end(t, port, out);
		lst_end(t, peer, out);
		fprintf(out, "PHY=%ux LOG=%s SPD=%s\n", port->width ? port->width : 4u,
			states[port->state <= TOPO_ACTIVE ? port->state : 0],
			lst_rate(port->speed));
	}
	return stream_result(out);
}
