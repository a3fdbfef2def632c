/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * generate_pgft: parallel-ports generalised fat trees.
 *
 * PGFT(h; m1..mh; w1..wh; p1..ph), after Zahavi: hosts are level 0, switches levels 1..h. A node of
 * level l is named by h digits: digits 1..l count w_1..w_l ways (which of the parallel trees),
 * digits l+1..h count m_l+1..m_h ways (which subtree). Level l-1 and l nodes are cabled when all
 * digits but the l-th agree, with p_l cables; so a level-l switch has m_l children (distinguished
 * by their digit l, below m_l) and a node of level l-1 has w_l parents (distinguished by theirs,
 * below w_l). Hence prod(w_1..w_l) * prod(m_l+1..m_h) nodes of level l.
 *
 * The index of a node is its digits read with digit h most significant, so that hosts of one
 * subtree lie together:
 *   index = low + L * (digit_l + D * high), low = digits 1..l-1, high = digits l+1..h.
 * For the cables between l-1 and l only digit l differs: D is m_l below and w_l above. Down
 * ports come first, child by child with its parallel cables together, then up ports in the same
 * manner. Hosts have one parent (w1 = 1).
 */
#include "topology/generate.h"
#include "topology/generate_own.h"
#include "topology/mem.h"
#include "topology/topo_builder.h"

#include <stdio.h>
#include <stdlib.h>

#define LIDS 0xBFFF /* unicast LIDs, IBA 4.1.3 */

struct pgft {
	unsigned h;
	unsigned m[PGFT_LEVELS + 1], w[PGFT_LEVELS + 1], p[PGFT_LEVELS + 1]; /* [1..h] */
	unsigned nodes[PGFT_LEVELS + 1];				     /* of each level */
	int *handle[PGFT_LEVELS + 1];
	struct generator g;
};

static unsigned down_ports(const struct pgft *f, unsigned level)
{
	return f->m[level] * f->p[level];
}

static unsigned up_ports(const struct pgft *f, unsigned level)
{
	return level < f->h ? f->w[level + 1] * f->p[level + 1] : 0;
}

static uint64_t product(const unsigned *factors, unsigned first, unsigned last)
{
	uint64_t n = 1;

	for (unsigned i = first; i <= last && n <= UINT32_MAX; i++)
		n *= factors[i];
	return n;
}

static const char *check_pgft(struct pgft *f)
{
	uint64_t lids = 0;

	for (unsigned i = 1; i <= f->h; i++) {
		if (!f->m[i] || !f->w[i] || !f->p[i])
			return "every m, w and p is at least 1";
		if (f->m[i] > 254 || f->w[i] > 254 || f->p[i] > 254)
			return "no m, w or p above 254: a switch has at most 254 ports";
	}
	if (f->w[1] != 1)
		return "w1 is the leaves a host is on, and must be 1";
	for (unsigned level = 0; level <= f->h; level++) {
		uint64_t n = product(f->w, 1, level) * product(f->m, level + 1, f->h);

		if ((level ? down_ports(f, level) : 0) + up_ports(f, level) > 254)
			return "a switch has at most 254 ports";
		if (n > LIDS)
			return "more nodes than there are LIDs (49151)";
		f->nodes[level] = (unsigned)n;
		lids += level ? n : n * f->p[1];
	}
	return lids > LIDS ? "more ports than there are LIDs (49151)" : NULL;
}

static void name_node(const struct pgft *f, unsigned level, unsigned index, char *name, size_t size)
{
	static const char *const tiers[] = { "node", "leaf", "spine", "core" };
	int digits = f->nodes[level] > 9999 ? 5 : 4;

	if (level <= 2 || level == f->h)
		snprintf(name, size, "%s-%0*u%s", tiers[level > 2 ? 3 : level], digits, index + 1,
			 level ? "" : " HCA-1");
	else
		snprintf(name, size, "spine%u-%0*u", level, digits, index + 1);
}

static void make_level(struct pgft *f, unsigned level)
{
	char name[40];

	f->handle[level] = mem_alloc(f->nodes[level], sizeof(int));
	for (unsigned i = 0; i < f->nodes[level]; i++) {
		name_node(f, level, i, name, sizeof(name));
		f->handle[level][i] =
			level ? generate_switch(&f->g, down_ports(f, level) + up_ports(f, level),
						name)
			      : generate_hca(&f->g, f->p[1], name);
	}
}

static void cable_pair(struct pgft *f, unsigned level, unsigned child, unsigned parent,
		       unsigned child_digit, unsigned parent_digit)
{
	unsigned below = level > 1 ? down_ports(f, level - 1) : 0;

	for (unsigned lane = 0; lane < f->p[level]; lane++) {
		unsigned up = below + parent_digit * f->p[level] + lane + 1;
		unsigned down = child_digit * f->p[level] + lane + 1;

		(level > 1 ? generate_cable : generate_host_cable)(
			&f->g, f->handle[level - 1][child], up, f->handle[level][parent], down);
	}
}

/* All pairs of levels l-1 and l whose digits but the l-th agree. */
static void cable_level(struct pgft *f, unsigned level)
{
	unsigned lows = (unsigned)product(f->w, 1, level - 1),
		 highs = (unsigned)product(f->m, level + 1, f->h);

	for (unsigned high = 0; high < highs; high++)
		for (unsigned m = 0; m < f->m[level]; m++)
			for (unsigned low = 0; low < lows; low++)
				for (unsigned w = 0; w < f->w[level]; w++)
					cable_pair(f, level, low + lows * (m + f->m[level] * high),
						   low + lows * (w + f->w[level] * high), m, w);
}

struct topo *generate_pgft(unsigned h, const unsigned *m, const unsigned *w, const unsigned *p,
			   char *err, size_t err_size)
{
	struct pgft f = {
		.h = h, .g = { .speed = TOPO_NDR, .hca_device = 0x1021, .switch_device = 0xd2f2 }
	};
	const char *reason = h < 1 || h > PGFT_LEVELS ? "a PGFT has 1 to 8 levels" : NULL;

	for (unsigned i = 1; i <= h && !reason; i++) {
		f.m[i] = m[i - 1];
		f.w[i] = w[i - 1];
		f.p[i] = p ? p[i - 1] : 1;
	}
	if (!reason)
		reason = check_pgft(&f);
	if (reason) {
		snprintf(err, err_size, "%s", reason);
		return NULL;
	}
	f.g.builder = topo_builder_new();
	for (unsigned level = 0; level <= h; level++)
		make_level(&f, level);
	for (unsigned level = 1; level <= h; level++)
		cable_level(&f, level);
	for (unsigned level = 0; level <= h; level++)
		free(f.handle[level]);
	return topo_freeze(f.g.builder);
}
