/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Commands that look, and those about control itself. */
#include "tests/sim/control_own.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/fault.h"
#include "tests/sim/view.h"
#include "topology/what/what.h"

/* ---- dump ------------------------------------------------------------------------------------ */

static int dump_lft(struct args *a, const struct dnode *node)
{
	if (!is_switch(node))
		return bad(a, "%s is not a switch", node_name(node));
	fprintf(a->out, "LinearFDBTop %u\n", node->si.lft_top);
	for (unsigned lid = 0; lid < node->lft_size; lid++)
		if (node->lft[lid] != LFT_NONE)
			fprintf(a->out, "%u: %u\n", lid, node->lft[lid]);
	return 0;
}

static int dump_mft(struct args *a, const struct dnode *node)
{
	if (!is_switch(node))
		return bad(a, "%s is not a switch", node_name(node));
	for (unsigned row = 0; node->mft && row < node->si.mft_cap; row++) {
		bool any = false;

		for (unsigned num = 0; num <= node->ni.nports; num++) {
			unsigned mask = node->mft[row * node->columns + num / MFT_PORTS];

			if (!(mask >> num % MFT_PORTS & 1))
				continue;
			if (!any)
				fprintf(a->out, "0x%04x:", MLID_FIRST + row);
			any = true;
			fprintf(a->out, " %u", num);
		}
		if (any)
			fputc('\n', a->out);
	}
	return 0;
}

static int dump_ports(struct args *a, const struct dnode *node)
{
	for (unsigned num = is_switch(node) ? 0 : 1; num <= node->ni.nports; num++) {
		const struct dport *port = &node->ports[num];
		enum topo_speed speed = wire_port_info_speed(&port->info);

		if (num && !port->peer)
			continue;
		fprintf(a->out, "%u: %s", num, topo_state_name((enum topo_state)port->info.state));
		if (port->info.lid)
			fprintf(a->out, " lid %u", port->info.lid);
		if (port->peer && port->info.state > TOPO_DOWN)
			fprintf(a->out, " %ux%s", wire_port_info_lanes(&port->info),
				topo_speed_name(speed));
		if (port->peer) {
			fputs(" to ", a->out);
			print_port(a->out, port->peer);
		}
		if (port->reregistered)
			fprintf(a->out, " asked %u times to register anew", port->reregistered);
		fprintf(a->out, "%s\n", port->cut ? " (unlinked)" : "");
	}
	return 0;
}

static int dump_counters(struct args *a, struct dnode *node)
{
	for (unsigned num = 1; num <= node->ni.nports; num++) {
		const struct wire_perf *perf = perf_now(a->d, &node->ports[num]);

		for (unsigned i = 0; perf && i < PERF_COUNTERS; i++)
			if (perf->value[i])
				fprintf(a->out, "%u: %s %llu\n", num,
					wire_perf_name((enum perf_counter)i),
					(unsigned long long)perf->value[i]);
	}
	return 0;
}

static int do_dump(struct args *a)
{
	const char *what = next_word(a);
	struct dnode *node;

	if (!next_node(a, &node))
		return -EINVAL;
	if (strcmp(what, "lft") == 0)
		return dump_lft(a, node);
	if (strcmp(what, "mft") == 0)
		return dump_mft(a, node);
	if (strcmp(what, "ports") == 0)
		return dump_ports(a, node);
	if (strcmp(what, "counters") == 0)
		return dump_counters(a, node);
	return bad(a, "'%s' is none of lft, mft, ports, counters", what);
}

/* ---- packet ---------------------------------------------------------------------------------- */

/* Of a loop one round. */
static bool been_there(const struct walk *walk, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (walk->trail[k] == walk->trail[i])
			return true;
	return false;
}

static void print_way(struct args *a, const struct walk *walk)
{
	for (unsigned i = 0; i < walk->hops && !been_there(walk, i); i++) {
		fputs("  ", a->out);
		print_port(a->out, walk->trail[i]);
		fputs(" -> ", a->out);
		print_port(a->out, walk->trail[i]->peer);
		fputc('\n', a->out);
	}
}

/* A port that sends and is sent to: a CA's, or port 0 of a switch. */
static bool next_end(struct args *a, struct dport **port)
{
	struct dnode *node;
	unsigned at = a->next;
	char err[256];
	unsigned num;
	uint32_t index = at < a->count
				 ? topo_resolve(a->d->topo, a->words[at], &num, err, sizeof(err))
				 : TOPO_NONE;

	if (index == TOPO_NONE || num || !is_switch(&a->d->nodes[index]))
		return next_port(a, port);
	if (!next_node(a, &node))
		return false;
	*port = &node->ports[0];
	return true;
}

static int do_packet(struct args *a)
{
	struct dport *from, *to, *trail[HOPS_MAX + 1];
	struct packet packet = { .data = true, .look = true };
	struct walk walk = { .trail = trail };
	uint64_t sl = 0, pkey;

	if (!next_end(a, &from) || !next_end(a, &to))
		return -EINVAL;
	if (a->next < a->count && !next_number(a, &sl, 15))
		return -EINVAL;
	pkey = port_pkey(from, 0);
	if (a->next < a->count && !next_number(a, &pkey, UINT16_MAX))
		return -EINVAL;
	if (!to->info.lid)
		return bad(a, "%s:%u has no LID", node_name(to->node), to->num);
	packet.dlid = to->info.lid;
	packet.sl = (uint8_t)sl;
	packet.pkey = (uint16_t)pkey;
	walk_lid(a->d, from, &packet, &walk);
	fprintf(a->out, "%s after %u hops at ", walk.end == WALK_ARRIVES ? "arrives" : "dies",
		walk.hops);
	print_port(a->out, walk.at);
	if (walk.end != WALK_ARRIVES)
		fprintf(a->out, ": %s", walk_end_text(walk.end));
	fputc('\n', a->out);
	print_way(a, &walk);
	return 0;
}

static int do_status(struct args *a)
{
	const struct double_drops *drops = &a->d->drops;
	unsigned off = 0, cut = 0;

	for (uint32_t i = 0; i < a->d->topo->nnodes; i++)
		off += a->d->nodes[i].off;
	for (uint32_t i = 0; i < a->d->topo->nports; i++)
		cut += a->d->ports[i].cut;
	fprintf(a->out,
		"nodes %u, of them off %u; cables unlinked %u; ports up and not Active %u\n",
		a->d->topo->nnodes, off, cut / 2, double_ports_not_active(a->d));
	fprintf(a->out,
		"dropped: lost %llu, dead link %llu, not Active %llu, no entry %llu, loop %llu, "
		"bad route "
		"%llu, M_Key %llu, P_Key %llu, lane %llu, queue %llu, silent %llu, Sets %llu, "
		"nobody %llu\n",
		(unsigned long long)drops->lost, (unsigned long long)drops->dead_link,
		(unsigned long long)drops->inactive, (unsigned long long)drops->no_entry,
		(unsigned long long)drops->loop, (unsigned long long)drops->bad_route,
		(unsigned long long)drops->mkey, (unsigned long long)drops->pkey,
		(unsigned long long)drops->lane, (unsigned long long)drops->queue,
		(unsigned long long)drops->silent, (unsigned long long)drops->sets,
		(unsigned long long)drops->nobody);
	return 0;
}

/* ---- Control itself -------------------------------------------------------------------------- */

static int do_at(struct args *a)
{
	const struct command *command;
	uint64_t us;

	if (!next_time(a, &us))
		return -EINVAL;
	command = sim_control_find(a->words[2]);
	if (!command && !fault_find(a->words[2]))
		return bad(a, "no command is named '%s': see help", a->words[2]);
	sim_control_put_off(a->c, us, a->line + a->starts[2]);
	return 0;
}

static int do_seed(struct args *a)
{
	uint64_t seed;

	if (!next_number(a, &seed, UINT64_MAX))
		return -EINVAL;
	if (!seed)
		return bad(a, "a seed is not 0");
	a->d->random = seed;
	return 0;
}

static int do_script(struct args *a)
{
	char err[512];

	if (!sim_control_script(a->c, next_word(a), err, sizeof(err)))
		return 0;
	return bad(a, "%s", err);
}

static bool help_row(void *arg, const struct command *command)
{
	char head[64];

	snprintf(head, sizeof(head), "%s %s", command->name, command->args);
	fprintf(arg, "  %-38s %s\n", head, command->help);
	return true;
}

static const char *fault_args(const struct fault *fault)
{
	static const char *const args[][3] = {
		[FAULT_NODE] = { "NODE [off]", "NODE SHARE|off", "NODE TIME|off" },
		[FAULT_PORT] = { "A:PORT [off]", "A:PORT SHARE|off", "A:PORT TIME|off" },
		[FAULT_CABLE] = { "A:PORT [off] [one-way]", "A:PORT SHARE|off [one-way]",
				  "A:PORT TIME|off [one-way]" },
	};

	return args[fault->scope][fault->amount];
}

static int do_help(struct args *a)
{
	sim_control_each(help_row, a->out);
	fputs("faults, till `off`:\n", a->out);
	for (const struct fault *fault = fault_table(); fault->name; fault++) {
		const struct command row = { .name = fault->name,
					     .args = fault_args(fault),
					     .help = fault->help };

		help_row(a->out, &row);
	}
	fputs("The amount may stand before the place, and alone: everywhere.\n", a->out);
	fputs("NODE: name, GUID, \"name with blanks\"; A:PORT: leaf-01:33 or \"leaf 1\"[33].  "
	      "TIME: 20us, "
	      "2ms, 2.5s.  SHARE: 5%, 0.1%.\n",
	      a->out);
	return 0;
}

const struct command commands_look[] = {
	{ "dump", "lft|mft|ports|counters NODE", "what it holds", 2, 2, do_dump },
	{ "packet", "FROM TO [SL [P_KEY]]", "the path of a packet by the present tables", 2, 4,
	  do_packet },
	{ "status", "", "how many are off, and what was dropped why", 0, 0, do_status },
	{ "at", "TIME COMMAND..", "run it after a delay", 2, CONTROL_WORDS, do_at },
	{ "seed", "NUMBER", "reset the random seed", 1, 1, do_seed },
	{ "script", "FILE", "run its lines", 1, 1, do_script },
	{ "help", "", "this", 0, 0, do_help },
	{ 0 },
};
