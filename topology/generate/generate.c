/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/generate/generate_own.h"

#define PGFT_LEVELS 8 /* at most, of switches */

/* ---- DGX SuperPODs --------------------------------------------------------------------------- */

/*
 * The compute fabrics of DGX SuperPODs.
 *
 * A scalable unit (SU) is so many nodes with eight HCAs, HCA k of each on the unit's leaf k
 * (rail k). Leaves have half their ports down and half up, so a fabric is non-blocking when
 * every tier above has as many cables up as down. "a x b" below is a parents with b parallel
 * cables to each.
 *
 * H100, B200 (SU = 32 nodes, 64-port switches, 32 down 32 up):
 *   SU       leaves  spines  cores  leaf's uplinks
 *   1             8       4      -   4 x 8    two tiers up to 8 SU: the smallest power of two of
 *   2            16       8      -   8 x 4    spines that has the ports; cables spread evenly;
 *   3..4       8*SU      16      -  16 x 2    3 SU use 48 of a spine's 64 ports,
 *   5..8       8*SU      32      -  32 x 1    5..7 SU 40..56
 *   9..16      8*SU     128     64  32 x 1    three tiers: pods of 32 spines, each for two rails,
 *   17..32     8*SU     256    128  32 x 1    one rail,
 *   33..64     8*SU     512    256  32 x 1    or half of one, over all SUs
 *
 * Traffic within a rail thus stays below the cores (up to 32 SU). Spine i of every pod goes to
 * the same 2, 4 or 8 cores, core by core with parallel cables: 32 up at full size, as many as
 * there are leaves below (rounded up to the cores) when it is not full. The published counts (16
 * SU 128/128/64, 32 SU 256/256/128, 64 SU 512/512/256) come out exactly.
 *
 * A100 (SU = 20 nodes, 40-port switches, 20 down 20 up):
 *   1             8       4      -   4 x 5
 *   2            16      10      -  10 x 2    32 of a spine's 40 ports in use
 *   3..5       8*SU      20      -  20 x 1    24, 32, 40 in use
 *   6            48      80     24  10 x 2    three tiers: 10 spines for each rail, 12 down 12 up
 *   7            56      80     28  10 x 2    14 down 14 up
 * with spines 0..4 of every pod on the first half of the cores and 5..9 on the second: cores
 * have 40 ports in use. Each of these is non-blocking; the published table was not at hand for
 * them.
 *
 * QM8700 (40 ports) and QM9700 (64 ports) switches show their SHARP aggregation node as a CA on
 * one port more, 41 and 65.
 */

struct system {
	const char *name;
	unsigned nodes; /* of a scalable unit */
	unsigned radix; /* ports of a switch */
	unsigned max_su;
	uint16_t hca_device, switch_device;
	enum topo_speed speed;
	uint8_t hca[RAILS]; /* N of mlx5_N, by rail */
};

/*
 * In the order of enum generate_system. DGX H100 user guide, table 6; A100: devices that carry the
 * compute network.
 */
static const struct system systems[] = {
	{ "a100", 20, 40, 7, 0x101b, 0xd2f0, TOPO_HDR, { 0, 1, 2, 3, 6, 7, 8, 9 } },
	{ "h100", 32, 64, 64, 0x1021, 0xd2f2, TOPO_NDR, { 0, 3, 4, 5, 6, 9, 10, 11 } },
	{ "b200", 32, 64, 64, 0x1021, 0xd2f2, TOPO_NDR, { 0, 1, 2, 3, 4, 5, 6, 7 } },
};

#define SYSTEMS ARRAY_SIZE(systems)

struct design {
	unsigned su;
	unsigned pods; /* groups of leaves with spines of their own; 1 = two tiers */
	unsigned pod_spines;
	unsigned leaf_cables; /* parallel, from a leaf to each spine of its pod */
	unsigned groups;      /* of cores; spine i of a pod is in group i * groups / pod_spines */
	unsigned group_cores;
	unsigned core_cables; /* parallel, from a spine to each core of its group */
	unsigned rails_a_pod; /* 0 = half of one */
};

struct superpod {
	const struct system *sys;
	struct design d;
	unsigned units; /* that are there: less than d.su = half grown */
	struct generator g;
	bool sharp;  /* aggregation nodes are shown */
	int *leaves; /* [su][rail] */
	int *spines; /* [pod][spine] */
	int *cores;  /* [group][core] */
};

static struct design two_tiers(unsigned su, unsigned spines, unsigned cables)
{
	return (struct design){ su, 1, spines, cables, .rails_a_pod = RAILS };
}

static struct design design_64(unsigned su)
{
	struct design d = { .su = su, .pod_spines = 32, .leaf_cables = 1, .groups = 32 };
	unsigned leaves, spines = 4;

	if (su <= 8) {
		while (spines < 4 * su)
			spines *= 2;
		return two_tiers(su, spines, 32 / spines);
	}
	d.pods = su <= 16 ? 4 : su <= 32 ? 8 : 16;
	d.rails_a_pod = RAILS / d.pods;
	leaves = d.rails_a_pod ? su * d.rails_a_pod : (su + 1) / 2;
	d.group_cores = d.pods / 2;
	d.core_cables = (leaves + d.group_cores - 1) / d.group_cores;
	return d;
}

static struct design design_40(unsigned su)
{
	if (su == 1)
		return two_tiers(su, 4, 5);
	if (su == 2)
		return two_tiers(su, 10, 2);
	if (su <= 5)
		return two_tiers(su, 20, 1);
	return (struct design){ .su = su,
				.pods = RAILS,
				.pod_spines = 10,
				.leaf_cables = 2,
				.groups = 2,
				.group_cores = 2 * su,
				.core_cables = 1,
				.rails_a_pod = 1 };
}

static int make_switch(struct superpod *sp, const char *name)
{
	unsigned radix = sp->sys->radix;
	int sw = generate_switch(&sp->g, radix + sp->sharp, name);

	if (sp->sharp)
		generate_aggregation(&sp->g, sw, radix + 1);
	return sw;
}

static void make_switches(struct superpod *sp)
{
	const struct design *d = &sp->d;
	char name[40];

	for (unsigned i = 0; i < sp->units * RAILS; i++) {
		array_printf(name, "leaf-su%02u-rail%u", i / RAILS + 1, i % RAILS);
		sp->leaves[i] = make_switch(sp, name);
	}
	for (unsigned i = 0; i < d->pods * d->pod_spines; i++) {
		if (d->pods > 1)
			array_printf(name, "spine-p%02u-%02u", i / d->pod_spines + 1,
				     i % d->pod_spines + 1);
		else
			array_printf(name, "spine-%02u", i + 1);
		sp->spines[i] = make_switch(sp, name);
	}
	for (unsigned i = 0; i < d->groups * d->group_cores; i++) {
		array_printf(name, "core-%0*u", d->groups * d->group_cores > 99 ? 3 : 2, i + 1);
		sp->cores[i] = make_switch(sp, name);
	}
}

static struct topo *make_superpod(struct superpod *sp)
{
	const struct design *d = &sp->d;
	unsigned up = sp->sys->radix / 2 + 1; /* the first port towards the next tier */

	sp->leaves = mem_array(sp->leaves, d->su * RAILS);
	sp->spines = mem_array(sp->spines, d->pods * d->pod_spines);
	sp->cores = mem_array(sp->cores, d->groups * d->group_cores);
	make_switches(sp);
	for (unsigned su = 0; su < sp->units; su++) {
		char name[40];

		for (unsigned node = 0; node < sp->sys->nodes; node++)
			for (unsigned rail = 0; rail < RAILS; rail++) {
				array_printf(name, "dgx-su%02u-%02u mlx5_%u", su + 1, node + 1,
					     sp->sys->hca[rail]);

				int hca = generate_hca(&sp->g, 1, name);

				generate_host_cable(&sp->g, hca, 1, sp->leaves[su * RAILS + rail],
						    node + 1);
			}
	}
	for (unsigned i = 0; i < sp->units * RAILS; i++) {
		/* Which pod the leaf of a rail in a unit belongs to, and its place there. */
		unsigned su = i / RAILS, rail = i % RAILS, half = (d->su + 1) / 2;
		unsigned pod = d->rails_a_pod ? rail / d->rails_a_pod : rail * 2 + su / half;
		unsigned place =
			d->rails_a_pod ? su * d->rails_a_pod + rail % d->rails_a_pod : su % half;

		for (unsigned c = 0; c < d->pod_spines * d->leaf_cables; c++)
			generate_cable(&sp->g, sp->leaves[i], up + c,
				       sp->spines[pod * d->pod_spines + c / d->leaf_cables],
				       1 + place * d->leaf_cables + c % d->leaf_cables);
	}
	for (unsigned i = 0; i < d->pods * d->pod_spines && d->groups; i++) {
		/*
		 * A core's ports: pod by pod, in it spine by spine of its group, in it cable by
		 * cable.
		 */
		unsigned pod = i / d->pod_spines, s = i % d->pod_spines;
		unsigned group_spines = d->pod_spines / d->groups, group = s / group_spines;
		unsigned below = pod * group_spines + s % group_spines;

		for (unsigned c = 0; c < d->group_cores * d->core_cables; c++)
			generate_cable(&sp->g, sp->spines[i], up + c,
				       sp->cores[group * d->group_cores + c / d->core_cables],
				       1 + below * d->core_cables + c % d->core_cables);
	}
	free(sp->leaves);
	free(sp->spines);
	free(sp->cores);
	return topo_freeze(sp->g.builder);
}

static struct topo *grow_superpod(enum generate_system system, unsigned su, unsigned units,
				  bool sharp, char *err, size_t err_size)
{
	const struct system *sys = &systems[system];
	struct superpod sp = {
		.sys = sys,
		.units = units,
		.sharp = sharp,
		.g = { .speed = sys->speed,
		       .hca_device = sys->hca_device,
		       .switch_device = sys->switch_device },
	};

	if (su < 1 || su > sys->max_su) {
		snprintf(err, err_size, "a SuperPOD of %s has 1 to %u scalable units, not %u",
			 sys->name, sys->max_su, su);
		return NULL;
	}
	if (units < 1 || units > su) {
		snprintf(err, err_size, "of %u scalable units %u can't be there", su, units);
		return NULL;
	}
	sp.d = system == GENERATE_A100 ? design_40(su) : design_64(su);
	sp.g.builder = topo_builder_new();
	return make_superpod(&sp);
}

struct topo *generate_superpod(enum generate_system system, unsigned su, bool sharp, char *err,
			       size_t err_size)
{
	return grow_superpod(system, su, su, sharp, err, err_size);
}

/* ---- PGFTs ----------------------------------------------------------------------------------- */

/*
 * Parallel-ports generalised fat trees.
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

static uint64_t pgft_product(const unsigned *factors, unsigned first, unsigned last)
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
		uint64_t n = pgft_product(f->w, 1, level) * pgft_product(f->m, level + 1, f->h);

		if ((level ? down_ports(f, level) : 0) +
			    (level < f->h ? f->w[level + 1] * f->p[level + 1] : 0) >
		    254)
			return "a switch has at most 254 ports";
		if (n > LIDS)
			return "more nodes than there are LIDs (49151)";
		f->nodes[level] = n;
		lids += level ? n : n * f->p[1];
	}
	return lids > LIDS ? "more ports than there are LIDs (49151)" : NULL;
}

static void make_level(struct pgft *f, unsigned level)
{
	static const char *const tiers[] = { "node", "leaf", "spine", "core" };
	int digits = f->nodes[level] > 9999 ? 5 : 4;
	char name[40];

	f->handle[level] = mem_array(f->handle[level], f->nodes[level]);
	for (unsigned i = 0; i < f->nodes[level]; i++) {
		if (level <= 2 || level == f->h)
			array_printf(name, "%s-%0*u%s", tiers[level > 2 ? 3 : level], digits, i + 1,
				     level ? "" : " HCA-1");
		else
			array_printf(name, "spine%u-%0*u", level, digits, i + 1);
		f->handle[level][i] =
			level ? generate_switch(&f->g,
						down_ports(f, level) +
							(level < f->h
								 ? f->w[level + 1] * f->p[level + 1]
								 : 0),
						name)
			      : generate_hca(&f->g, f->p[1], name);
	}
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
	for (unsigned level = 1; level <= h; level++) {
		/* All pairs of levels l-1 and l whose digits but the l-th agree. */
		unsigned below = level > 1 ? down_ports(&f, level - 1) : 0, level_p = f.p[level];
		unsigned lows = pgft_product(f.w, 1, level - 1);

		for (unsigned child = 0; child < f.nodes[level - 1]; child++) {
			unsigned low = child % lows, level_m = child / lows % f.m[level];
			unsigned high = child / lows / f.m[level];

			for (unsigned up = 0; up < f.w[level] * level_p; up++) {
				unsigned parent = low + lows * (up / level_p + f.w[level] * high);

				(level > 1 ? generate_cable : generate_host_cable)(
					&f.g, f.handle[level - 1][child], below + up + 1,
					f.handle[level][parent],
					level_m * level_p + up % level_p + 1);
			}
		}
	}
	for (unsigned level = 0; level <= h; level++)
		free(f.handle[level]);
	return topo_freeze(f.g.builder);
}

/* ---- Fabrics that are no trees --------------------------------------------------------------- */

/*
 * Torus (ring and hypercube are tori of one dimension
 * and of two switches each path), HyperX (every two switches that differ in one coordinate have a
 * cable), dragonfly+ (groups of leaves and spines, spines of any two groups cabled) and jellyfish
 * (a random regular graph). A switch's hosts come first, from port 1 on.
 */

#define DIMENSIONS_MAX	12
#define JELLYFISH_TRIES 1000

struct shape {
	const char *name;
	unsigned n[DIMENSIONS_MAX], ndims; /* the first argument */
	unsigned hosts, cables;		   /* of each switch that has any; side by side */
	uint64_t seed;
	unsigned nswitches;
	bool leaves; /* only these have hosts */
	struct {
		unsigned a, b;
	} * links;
	unsigned nlinks;
};

static unsigned hosts_of(const struct shape *s, unsigned sw)
{
	return s->leaves && sw % (s->n[1] + s->n[2]) >= s->n[1] ? 0 : s->hosts;
}

static void link_up(struct shape *s, unsigned a, unsigned b)
{
	s->links = mem_grow(s->links, s->nlinks);
	s->links[s->nlinks].a = a;
	s->links[s->nlinks++].b = b;
}

/* ---- Coordinates: torus, HyperX -------------------------------------------------------------- */

/* To a higher coordinate of each dimension: the next one, the first from the last, or all. */
static void link_coordinates(struct shape *s)
{
	bool all = !strcmp(s->name, "hyperx");

	for (unsigned sw = 0; sw < s->nswitches; sw++)
		for (unsigned dim = 0, step = 1; dim < s->ndims; step *= s->n[dim++]) {
			unsigned at = sw / step % s->n[dim], size = s->n[dim];

			for (unsigned to = at + 1; to < size; to++)
				if (all || to == at + 1 || (size > 2 && at == 0 && to == size - 1))
					link_up(s, sw, sw + (to - at) * step);
		}
}

/* ---- Dragonfly+: n = groups, leaves, spines of a group --------------------------------------- */

static void link_dragonfly(struct shape *s)
{
	unsigned groups = s->n[0], size = s->n[1] + s->n[2];
	unsigned pair = s->n[3], *used = mem_array(used, groups);

	for (unsigned g = 0; g < groups; g++)
		for (unsigned leaf = 0; leaf < s->n[1]; leaf++)
			for (unsigned spine = 0; spine < s->n[2]; spine++)
				link_up(s, g * size + leaf, g * size + s->n[1] + spine);
	/* Cables between two groups go to the spines in turn: `used` counts those of each group. */
	for (unsigned c = 0; c < pair; c++)
		for (unsigned far = 1; far <= groups / 2; far++)
			for (unsigned a = 0; a < groups && (far * 2 != groups || a < far); a++) {
				unsigned b = (a + far) % groups;

				link_up(s, a * size + s->n[1] + used[a]++ % s->n[2],
					b * size + s->n[1] + used[b]++ % s->n[2]);
			}
	free(used);
}

/* ---- Jellyfish: n = switches, cables of each ------------------------------------------------- */

static bool has_link(const struct shape *s, unsigned a, unsigned b)
{
	for (unsigned i = 0; i < s->nlinks; i++)
		if ((s->links[i].a == a && s->links[i].b == b) ||
		    (s->links[i].a == b && s->links[i].b == a))
			return true;
	return a == b;
}

/* Two free ends that cannot meet break a link up: its ends take one each. */
static bool swap_link(struct shape *s, unsigned a, unsigned b)
{
	unsigned i = random_next(&s->seed) % s->nlinks, x = s->links[i].a, y = s->links[i].b;

	if (has_link(s, x, a) || has_link(s, y, b))
		return false;
	s->links[i].b = a;
	link_up(s, y, b);
	return true;
}

static void link_jellyfish(struct shape *s)
{
	unsigned left = s->n[0] * s->n[1], tries = 0;
	unsigned *ends = mem_array(ends, left + 1);

	for (unsigned i = 0; i < left; i++)
		ends[i] = i / s->n[1];
	while (left > 1 && tries < JELLYFISH_TRIES) {
		unsigned i = random_next(&s->seed) % left, a = ends[i];

		ends[i] = ends[left - 1];
		unsigned j = random_next(&s->seed) % (left - 1), b = ends[j];

		ends[j] = ends[left - 2];
		if (!has_link(s, a, b))
			link_up(s, a, b);
		else if (!s->nlinks || !swap_link(s, a, b)) {
			ends[left - 2] = a;
			ends[left - 1] = b;
			tries++;
			continue;
		}
		left -= 2;
		tries = 0;
	}
	free(ends);
}

/* ---- Switches, hosts, cables ----------------------------------------------------------------- */

/* Ports behind the hosts', in the order of the links. False: a switch has too few. */
static bool number_ports(const struct shape *s, unsigned *ports)
{
	for (unsigned sw = 0; sw < s->nswitches; sw++)
		ports[sw] = hosts_of(s, sw);
	for (unsigned i = 0; i < s->nlinks; i++) {
		ports[s->links[i].a] += s->cables;
		ports[s->links[i].b] += s->cables;
	}
	return !any_of(sw, 0, s->nswitches, ports[sw] > PORTS_MAX);
}

/*
 * ---- Arguments of a shape -----------------------------------------------------------------------
 */

static bool take_sizes(const char *text, struct shape *s)
{
	for (s->ndims = 0; s->ndims < DIMENSIONS_MAX; text++) {
		if (!generate_number(text, SWITCHES_MAX, &s->n[s->ndims++], &text))
			return false;
		if (*text != ',')
			return !*text;
	}
	return false;
}

static bool take_options(struct shape *s, int argc, char **argv)
{
	for (int i = 0; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "", *end = value;
		unsigned n = 0;

		if (!generate_number(value, SWITCHES_MAX, &n, &end) || *end)
			return false;
		if (!strcmp(argv[i], "--hosts"))
			s->hosts = n;
		else if (!strcmp(argv[i], "--cables"))
			s->cables = n;
		else if (!strcmp(argv[i], "--seed"))
			s->seed = n;
		else
			return false;
	}
	return true;
}

static uint64_t product(const struct shape *s)
{
	uint64_t all = 1;

	for (unsigned i = 0; i < s->ndims && all <= SWITCHES_MAX; i++)
		all *= s->n[i];
	return all;
}

/* Sizes as a shape wants them. NULL = fine. */
static const char *check_sizes(struct shape *s)
{
	uint64_t switches = product(s);

	if (!strcmp(s->name, "hypercube")) {
		if (s->ndims != 1 || s->n[0] > DIMENSIONS_MAX)
			return "hypercube DIMENSIONS, 12 at most";
		s->ndims = s->n[0];
		for (unsigned i = 0; i < s->ndims; i++)
			s->n[i] = 2;
		switches = product(s);
	} else if (!strcmp(s->name, "ring") && s->ndims != 1) {
		return "ring SWITCHES";
	} else if (!strcmp(s->name, "jellyfish")) {
		if (s->ndims != 2 || s->n[1] >= s->n[0])
			return "jellyfish SWITCHES,CABLES-OF-EACH";
		switches = s->n[0];
	} else if (!strcmp(s->name, "dragonfly+")) {
		if (s->ndims == 3)
			s->n[s->ndims++] = 1;
		if (s->ndims != 4)
			return "dragonfly+ GROUPS,LEAVES,SPINES[,CABLES-OF-EACH-PAIR-OF-GROUPS]";
		switches = (uint64_t)s->n[0] * (s->n[1] + s->n[2]);
		s->leaves = true;
	}
	s->nswitches = switches;
	return switches > SWITCHES_MAX || switches * (s->hosts + 1) > LIDS_MAX
		       ? "more than the LID space"
		       : NULL;
}

/*
 * Fabrics that are no trees. argv[0] = "torus", "ring", "hypercube", "hyperx", "dragonfly+" or
 * "jellyfish", argv[1] = its sizes with commas between, then --hosts N (of a switch; 4), --cables N
 * (side by side; 1), --seed N (jellyfish). NULL for a word or number that does not fit.
 */
static struct topo *generate_shape(int argc, char **argv, char *err, size_t err_size)
{
	struct shape s = { .name = argv[0], .hosts = 4, .cables = 1, .seed = 1 };
	const char *reason = "SIZE[,SIZE].. [--hosts N] [--cables N] [--seed N]";

	if (argc >= 2 && take_sizes(argv[1], &s) && take_options(&s, argc - 2, argv + 2))
		reason = check_sizes(&s);
	if (reason) {
		snprintf(err, err_size, "%s: %s", argv[0], reason);
		return NULL;
	}
	if (!strcmp(s.name, "dragonfly+"))
		link_dragonfly(&s);
	else if (!strcmp(s.name, "jellyfish"))
		link_jellyfish(&s);
	else
		link_coordinates(&s);

	unsigned *ports = mem_array(ports, s.nswitches + 1);
	struct topo *t = NULL;

	if (number_ports(&s, ports)) {
		struct generator g = { .speed = TOPO_NDR,
				       .hca_device = 0x1021,
				       .switch_device = 0xd2f2 };
		int *handles = mem_array(handles, s.nswitches);
		unsigned *next = mem_array(next, s.nswitches);
		char name[40];

		g.builder = topo_builder_new();
		for (unsigned sw = 0; sw < s.nswitches; sw++) {
			next[sw] = hosts_of(&s, sw);
			array_printf(name, "%s-%04u", next[sw] ? "switch" : "spine", sw + 1);
			handles[sw] = generate_switch(&g, ports[sw], name);
		}
		for (unsigned sw = 0; sw < s.nswitches; sw++)
			for (unsigned h = 1; h <= hosts_of(&s, sw); h++) {
				array_printf(name, "node-%04u-%02u mlx5_0", sw + 1, h);
				generate_host_cable(&g, generate_hca(&g, 1, name), 1, handles[sw],
						    h);
			}
		for (unsigned i = 0; i < s.nlinks; i++)
			for (unsigned c = 0; c < s.cables; c++)
				generate_cable(&g, handles[s.links[i].a], ++next[s.links[i].a],
					       handles[s.links[i].b], ++next[s.links[i].b]);
		free(handles);
		free(next);
		t = topo_freeze(g.builder);
	} else
		snprintf(err, err_size, "a switch has at most %u ports", PORTS_MAX);
	free(ports);
	free(s.links);
	return t;
}

/* ---- The arguments of `fmctl generate`, for whichever fabric --------------------------------- */

#define USAGE                                                                                      \
	"superpod --su N [--system a100|h100|b200] [--no-sharp] [--grown N], pgft H m1,.. "        \
	"w1,.. [p1,..], mixed [--size LEAVES,PORTS] [--kinds 8xNDR,..] [--trunks 4xNDR,..], "      \
	"directors SIZES, or torus|ring|hypercube|hyperx|dragonfly+|jellyfish SIZE[,SIZE].."

static struct topo *refuse(char *err, size_t err_size, const char *what, const char *text)
{
	snprintf(err, err_size, "%s '%s': %s", what, text, USAGE);
	return NULL;
}

struct topo *generate_parse(int argc, char **argv, char *err, size_t err_size)
{
	static const char *const shapes[] = { "torus",	"ring",	      "hypercube",
					      "hyperx", "dragonfly+", "jellyfish" };

	if (argc > 0 && !strcmp(argv[0], "superpod")) {
		size_t system = GENERATE_H100;
		unsigned su = 0, units = 0;
		bool sharp = true;

		for (int i = 1; i < argc; i++) {
			const char *value = i + 1 < argc ? argv[i + 1] : "";

			if (!strcmp(argv[i], "--no-sharp")) {
				sharp = false;
			} else if (!strcmp(argv[i], "--su") || !strcmp(argv[i], "--grown")) {
				if (!generate_list(value, 1, argv[i][2] == 's' ? &su : &units))
					return refuse(err, err_size,
						      "not a number of scalable units:", value);
				i++;
			} else if (!strcmp(argv[i], "--system")) {
				for (system = 0;
				     system < SYSTEMS && strcmp(value, systems[system].name);)
					system++;
				if (system == SYSTEMS)
					return refuse(err, err_size, "unknown system", value);
				i++;
			} else {
				return refuse(err, err_size, "unknown argument", argv[i]);
			}
		}
		return grow_superpod(system, su, units ? units : su, sharp, err, err_size);
	}
	if (argc > 0 && !strcmp(argv[0], "pgft")) {
		unsigned h, m[PGFT_LEVELS], w[PGFT_LEVELS], p[PGFT_LEVELS];

		if (argc < 4 || argc > 5)
			return refuse(err, err_size, "wrong number of arguments for", argv[0]);
		if (!generate_list(argv[1], 1, &h) || h < 1 || h > PGFT_LEVELS)
			return refuse(err, err_size, "not a height of 1 to 8:", argv[1]);
		unsigned *const lists[] = { m, w, p };

		for (int i = 2; i < argc; i++)
			if (!generate_list(argv[i], h, lists[i - 2]))
				return refuse(err, err_size,
					      "not one number for each level:", argv[i]);
		return generate_pgft(h, m, w, argc == 5 ? p : NULL, err, err_size);
	}
	if (argc > 0 && !strcmp(argv[0], "mixed"))
		return generate_mixed(argc, argv, err, err_size);
	if (argc > 0 && !strcmp(argv[0], "directors"))
		return generate_directors(argc, argv, err, err_size);
	for (size_t i = 0; argc > 0 && i < ARRAY_SIZE(shapes); i++)
		if (!strcmp(argv[0], shapes[i]))
			return generate_shape(argc, argv, err, err_size);
	return refuse(err, err_size, "unknown fabric", argc > 0 ? argv[0] : "");
}
