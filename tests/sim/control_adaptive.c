/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Commands about adaptive routing (tests/fabric/double_adaptive.h). */
#include "tests/sim/control_own.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "fm/mad/wire_optional.h"

static const char *const answers[DOUBLE_AR_ANSWERS] = {
	[DOUBLE_AR_TRUE] = "true",	 [DOUBLE_AR_GARBAGE] = "garbage",
	[DOUBLE_AR_NOISE] = "noise",	 [DOUBLE_AR_ZEROS] = "zeros",
	[DOUBLE_AR_SAME] = "same",	 [DOUBLE_AR_NEAR] = "near",
	[DOUBLE_AR_REFUSES] = "refuses",
};

static uint16_t top_lid(const struct double_fabric *d)
{
	uint16_t top = 0;

	for (uint32_t i = 0; i < d->topo->nports; i++) {
		const struct wire_port_info *info = &d->ports[i].info;
		uint16_t last = (uint16_t)(info->lid + (info->lid ? (1u << info->lmc) - 1 : 0));

		if (last > top)
			top = last;
	}
	return top;
}

/* One packing in all switches of NVIDIA's, which are of one device, for each firmware. */
static int able(struct args *a)
{
	struct double_ar_caps caps = { 0 };
	uint64_t seed, groups = 0, subgroups = 0;

	if (!next_number(a, &seed, UINT64_MAX) ||
	    (a->next < a->count &&
	     (!next_number(a, &groups, 0xfff) || !next_number(a, &subgroups, 0xff))))
		return -EINVAL;
	caps.groups = (uint16_t)groups;
	caps.subgroups = (uint8_t)subgroups;
	for (uint32_t i = 0; i < a->d->topo->nnodes; i++) {
		const struct dnode *node = &a->d->nodes[i];

		const uint16_t *told = node->firmware;
		const struct double_packing packing = double_packing_draw(
			seed + 1000000ull * told[0] + 1000ull * told[1] + told[2], top_lid(a->d));

		if (is_switch(node) && wire_adaptive_vendor(node->ni.vendor))
			double_adaptive_able(a->d, node->guid, &packing, &caps);
	}
	return 0;
}

static int run(struct args *a)
{
	struct double_ar_plan plan;
	uint64_t seed;

	if (!next_number(a, &seed, UINT64_MAX))
		return -EINVAL;
	plan = double_ar_plan_draw(seed);
	double_adaptive_run(a->d, &plan);
	return 0;
}

/* `answers KIND [SWITCH]` */
static int answer(struct args *a)
{
	const char *word = next_word(a);
	struct dnode *node = NULL;
	unsigned how = 0;

	while (how < DOUBLE_AR_ANSWERS && strcmp(word ? word : "", answers[how]))
		how++;
	if (how == DOUBLE_AR_ANSWERS)
		return bad(a, "'%s' is none of true, garbage, noise, zeros, same, near, refuses",
			   word ? word : "");
	if (a->next < a->count && !next_node(a, &node))
		return -EINVAL;
	if (node && !node->ar)
		return bad(a, "%s has no adaptive routing: adaptive able", node_name(node));
	for (uint32_t i = 0; i < a->d->topo->nnodes; i++)
		if (a->d->nodes[i].ar && (!node || node == &a->d->nodes[i]))
			double_adaptive_answers(a->d, a->d->nodes[i].guid, how);
	return 0;
}

/* `recovery off|fr|rn` */
static int recover(struct args *a)
{
	static const char *const words[] = { "off", "fr", "rn" };

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (next_is(a, words[i])) {
			double_adaptive_recovery(a->d, (enum double_recovery)i);
			return 0;
		}
	return bad(a, "recovery is off, fr or rn");
}

/* `read FILE`: ibdiagnet2.far */
static int take(struct args *a)
{
	const char *path = next_word(a);
	char err[256];
	FILE *in = path ? fopen(path, "re") : NULL;
	int count;

	if (!in)
		return bad(a, "%s: %s", path ? path : "no file", strerror(path ? errno : EINVAL));
	count = double_adaptive_read(a->d, in, err, sizeof(err));
	fclose(in);
	if (count < 0)
		return bad(a, "%s: %s", path, err);
	fprintf(a->out, "switches %d\n", count);
	return 0;
}

/* `write FILE`: a line a block of entries, and of groups, as the first private LFT has them. */
static int save(struct args *a)
{
	const char *path = next_word(a);
	FILE *out = path ? fopen(path, "we") : NULL;

	if (!out)
		return bad(a, "%s: %s", path ? path : "no file", strerror(path ? errno : EINVAL));
	for (uint32_t i = 0; i < a->d->topo->nnodes; i++) {
		const struct dnode *node = &a->d->nodes[i];

		for (unsigned kind = 0; node->ar && kind < 2; kind++) {
			const struct dar_table *table =
				kind ? &node->ar->groups[0][0] : &node->ar->lft[0];

			for (uint32_t block = 0; block < table->count; block++) {
				const uint8_t *data = table->blocks + block * WIRE_SMP_DATA;

				fprintf(out, "%016" PRIx64 " %s %u ", node->guid,
					kind ? "groups" : "entries", block);
				for (unsigned byte = 0; byte < WIRE_SMP_DATA; byte++)
					fprintf(out, "%02x", data[byte]);
				fputc('\n', out);
			}
		}
	}
	return fclose(out) ? bad(a, "%s: %s", path, strerror(errno)) : 0;
}

/* A line a switch that can: what is on of it, and where fields of the modifiers lie. */
static int show(struct args *a)
{
	for (uint32_t i = 0; i < a->d->topo->nnodes; i++) {
		const struct dnode *node = &a->d->nodes[i];
		const struct double_packing *p = node->ar ? &node->ar->packing : NULL;
		struct wire_ar_info info;

		if (!p)
			continue;
		wire_ar_info_decode(node->adaptive, &info);
		fprintf(a->out,
			"%s: %s, sub-groups %u, group top %u, lft_block %u lft_plft %u group_block "
			"%u "
			"group_table %u group_plft %u %s, answers %s\n",
			node_name(node), info.on ? "on" : "off", info.subgroups, info.group_top,
			p->lft_block, p->lft_plft, p->group_block, p->group_table, p->group_plft,
			p->stacked ? "stacked" : "interleaved", answers[node->ar->answers]);
	}
	return 0;
}

static int do_adaptive(struct args *a)
{
	if (a->count == 1)
		return show(a);
	if (next_is(a, "able"))
		return able(a);
	if (next_is(a, "run"))
		return run(a);
	if (next_is(a, "answers"))
		return answer(a);
	if (next_is(a, "read"))
		return take(a);
	if (next_is(a, "write"))
		return save(a);
	if (next_is(a, "recovery"))
		return recover(a);
	return bad(a, "'%s' is none of able, run, read, write, recovery, answers", a->words[1]);
}

const struct command commands_adaptive[] = {
	{ "adaptive",
	  "[able SEED [GROUPS SUBGROUPS]|run SEED|read FILE.far|write FILE|recovery "
	  "off|fr|rn|answers "
	  "KIND [SWITCH]]",
	  "switches have adaptive routing, a manager has set it up, they hold what a file says, or "
	  "what they answer of it",
	  0, 4, do_adaptive },
	{ 0 },
};
