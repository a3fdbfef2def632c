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
	if (load.losing || load.lost_packets > 0)
		fprintf(a->out, "; flows that lose packets %u, packets lost so far %.0f",
			load.losing, load.lost_packets);
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

/* `random FLOWS SEED [SHARE]`: what they lose is counted from then on. */
static int load_random(struct args *a)
{
	unsigned share = 1000;
	uint64_t flows, seed;

	if (!next_number(a, &flows, 100000) || !next_number(a, &seed, UINT64_MAX) ||
	    (a->next < a->count && !next_share(a, &share)))
		return -EINVAL;
	double_load_random(a->d, (unsigned)flows, seed, share);
	double_load_at_once(a->d);
	return load_show(a);
}

/* `ebb [SAMPLES [SEED]]` */
static int load_ebb(struct args *a)
{
	uint64_t samples = 10, seed = 1;
	struct double_ebb ebb;

	if ((a->next < a->count && !next_number(a, &samples, 1000)) ||
	    (a->next < a->count && !next_number(a, &seed, UINT64_MAX)))
		return -EINVAL;
	ebb = double_ebb(a->d, (unsigned)samples, seed);
	fprintf(a->out,
		"{\"samples\": %u, \"flows\": %u, \"stopped\": %zu, \"mean\": %.4f, "
		"\"slowest_tenth\": %.4f, \"worst_link\": %.3f}\n",
		ebb.samples, ebb.flows, ebb.stopped, ebb.mean, ebb.slowest_tenth, ebb.worst_link);
	return 0;
}

static int do_load(struct args *a)
{
	if (a->count == 1)
		return load_show(a);
	if (next_is(a, "shift"))
		return load_shift(a);
	if (next_is(a, "pair"))
		return load_pair(a);
	if (next_is(a, "random"))
		return load_random(a);
	if (next_is(a, "ebb"))
		return load_ebb(a);
	if (!next_is(a, "off"))
		return bad(a, "'%s' is none of shift, pair, random, ebb, off", a->words[1]);
	double_load_off(a->d);
	return 0;
}

const struct command commands_load[] = {
	{ "load", "[shift N|pair A B|random FLOWS SEED|off] [SHARE] | ebb [SAMPLES [SEED]]",
	  "each host sends to the one N on, or A to B, or random ones, whose losses are counted; "
	  "what "
	  "goes on now; or what random pairs of all would get",
	  0, 4, do_load },
	{ 0 },
};
