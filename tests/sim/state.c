/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "tests/fabric/double_own.h"
#include "tests/sim/state.h"

static const char *const phys_names[] = { "0",	      "Sleep",	"Polling",	  "Disabled",
					  "Training", "LinkUp", "LinkErrRecover", "PhyTest" };

static void id_write(const struct dnode *node, FILE *out)
{
	fprintf(out, "%c-%016llx", is_switch(node) ? 'S' : 'H', (unsigned long long)node->guid);
}

static void port_write(const struct dport *port, FILE *out)
{
	const struct wire_port_info *info = &port->info;
	bool endport = !is_switch(port->node) || !port->num;

	if (!port->peer && !(endport && is_switch(port->node)))
		return;
	fprintf(out, "port %u %s %s %u %s", port->num, topo_state_name(info->state),
		phys_names[info->phys_state & 7], endport ? info->lid : 0,
		port->cut ? "out" : "in");
	if (port->peer) {
		fputc(' ', out);
		id_write(port->peer->node, out);
		fprintf(out, " %u", port->peer->num);
	}
	fputc('\n', out);
}

static void lft_write(const struct dnode *node, FILE *out)
{
	fputs("lft", out);
	for (uint32_t lid = 1; lid <= node->si.lft_top && lid < node->lft_size; lid++)
		if (node->lft[lid] != LFT_NONE)
			fprintf(out, " %u:%u", (unsigned)lid, node->lft[lid]);
	fputc('\n', out);
}

void state_write(const struct double_fabric *d, FILE *out)
{
	for (uint32_t i = 0; i < d->topo->nnodes; i++) {
		const struct dnode *node = &d->nodes[i];

		fputs("node ", out);
		id_write(node, out);
		fprintf(out, " %s %s \"%s\"\n", is_switch(node) ? "switch" : "adapter",
			node->off ? "off" : "on", node->desc);
		for (unsigned n = is_switch(node) ? 0 : 1; n <= node->ni.nports; n++)
			port_write(&node->ports[n], out);
		if (is_switch(node))
			lft_write(node, out);
	}
}

void times_write(const struct double_fabric *d, FILE *out)
{
	struct double_work work = double_work(d);

	fprintf(out, "devices worked %.6f s", (double)work.all_us / 1e6);
	if (work.busiest)
		fprintf(out, ", the busiest %.6f s: \"%s\"", (double)work.busiest_us / 1e6,
			double_node(d, work.busiest)->desc);
	fputc('\n', out);
}
