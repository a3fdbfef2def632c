/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * netfile_write: a snapshot as ibnetdiscover(8) would print it, so that ibsim and every tool that
 * reads that loads it.
 *
 * Nodes are named by type and GUID, in snapshot order, switches first. A link that is down is left
 * out at both ends: ibnetdiscover would not have seen it. The rate behind a link is left out where
 * it is not known. Lines stay below the 255 bytes that ibsim reads, as descriptions have at
 * most 64.
 */
#include "topology/netfile.h"

#include <errno.h>
#include <inttypes.h>

static char type_letter(const struct topo_node *node)
{
	return node->type == TOPO_SWITCH ? 'S' : node->type == TOPO_ROUTER ? 'R' : 'H';
}

static void write_header(const struct topo_node *node, const struct topo_port *port0, FILE *out)
{
	static const char *const words[] = {
		[TOPO_CA] = "ca", [TOPO_SWITCH] = "switch", [TOPO_ROUTER] = "rt"
	};
	static const char *const kinds[] = {
		[TOPO_CA] = "Ca", [TOPO_SWITCH] = "Switch", [TOPO_ROUTER] = "Rt"
	};

	fprintf(out, "\nvendid=0x%x\ndevid=0x%x\n", node->vendor, node->device);
	if (node->sys_guid)
		fprintf(out, "sysimgguid=0x%" PRIx64 "\n", node->sys_guid);
	fprintf(out, "%sguid=0x%" PRIx64, words[node->type], node->guid);
	if (node->type == TOPO_SWITCH)
		fprintf(out, "(%" PRIx64 ")", node->guid);
	fprintf(out, "\n%s\t%u \"%c-%016" PRIx64 "\"\t\t# \"%s\"", kinds[node->type], node->nports,
		type_letter(node), node->guid, node->label);
	if (node->type == TOPO_SWITCH)
		fprintf(out, " %s port 0 lid %u lmc %u", node->enhanced_port0 ? "enhanced" : "base",
			port0->lid, port0->lmc);
	fputc('\n', out);
}

static void write_port(const struct topo *t, const struct topo_port *port, FILE *out)
{
	const struct topo_port *peer = topo_peer(t, port);
	const struct topo_node *node = &t->nodes[port->node], *other;

	if (!peer || !port->link_up)
		return;
	other = &t->nodes[peer->node];
	fprintf(out, "[%u]", port->num);
	if (node->type != TOPO_SWITCH)
		fprintf(out, "(%" PRIx64 ")", port->guid);
	fprintf(out, "\t\"%c-%016" PRIx64 "\"[%u]", type_letter(other), other->guid, peer->num);
	if (other->type != TOPO_SWITCH)
		fprintf(out, "(%" PRIx64 ")", peer->guid);
	fputs("\t\t# ", out);
	if (node->type != TOPO_SWITCH)
		fprintf(out, "lid %u lmc %u ", port->lid, port->lmc);
	fprintf(out, "\"%s\" lid %u", other->label,
		other->type == TOPO_SWITCH ? topo_port(t, peer->node, 0)->lid : peer->lid);
	if (port->speed && port->width)
		fprintf(out, " %ux%s", port->width, topo_speed_name(port->speed));
	fputc('\n', out);
}

int netfile_write(const struct topo *t, FILE *out)
{
	fprintf(out,
		"# Topology file: %" PRIu32 " switches, %" PRIu32 " channel adapters, %" PRIu32
		" links\n",
		t->nswitches, t->ncas, topo_links(t) - topo_links_down(t));
	for (uint32_t n = 0; n < t->nnodes; n++) {
		write_header(&t->nodes[n], topo_port(t, n, 0), out);
		for (unsigned num = 1; num <= t->nodes[n].nports; num++)
			write_port(t, topo_port(t, n, num), out);
	}
	return ferror(out) || fflush(out) ? -(errno ? errno : EIO) : 0;
}
