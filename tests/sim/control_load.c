/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Commands about traffic. */
#include "tests/sim/control_own.h"
#include <errno.h>

static int load_show(struct args *a)
{
	struct double_load load = double_load(a->d);

	fprintf(a->out, "flows %u, without a way %u; Gb/s wanted %.1f, carried %.1f", load.flows,
		load.stopped, load.offered_mbps / 1000, load.carried_mbps / 1000);
	if (load.port) {
		fprintf(a->out, "; slowest flow %.0f%%; busiest port ", load.slowest * 100);
		print_port(a->out, double_port(a->d, load.node, load.port));
		fprintf(a->out, " %.0f%%", load.busiest * 100);
	}
	fputc('\n', a->out);
	return 0;
}

static int load_pair(struct args *a)
{
	struct dport *from, *to;
	unsigned share = 1000;

	if (!next_port(a, &from) || !next_port(a, &to) ||
	    (a->next < a->count && !next_share(a, &share)))
		return -EINVAL;
	double_load_pair(a->d, from->node->guid, from->num, to->node->guid, to->num, share);
	return load_show(a);
}

static int load_shift(struct args *a)
{
	unsigned share = 1000;
	uint64_t shift;

	if (!next_number(a, &shift, UINT32_MAX / 2) ||
	    (a->next < a->count && !next_share(a, &share)))
		return -EINVAL;
	double_load_shift(a->d, (unsigned)shift, share);
	return load_show(a);
}

static int do_load(struct args *a)
{
	if (a->count == 1)
		return load_show(a);
	if (next_is(a, "shift"))
		return load_shift(a);
	if (next_is(a, "pair"))
		return load_pair(a);
	if (!next_is(a, "off"))
		return bad(a, "'%s' is none of shift, pair, off", a->words[1]);
	double_load_off(a->d);
	return 0;
}

const struct command commands_load[] = {
	{ "load", "[shift N|pair A B|off] [SHARE]",
	  "each host sends to the one N on, or A to B; what goes on now", 0, 4, do_load },
	{ 0 },
};
