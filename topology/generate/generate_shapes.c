/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "topology/generate/generate.h"
#include "topology/generate/generate_own.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/snapshot/topo_builder.h"

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
	unsigned lows = (unsigned)pgft_product(f->w, 1, level - 1),
		 highs = (unsigned)pgft_product(f->m, level + 1, f->h);

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

/*
 * generate_shapes: fabrics that are no trees: torus (ring and hypercube are tori of one dimension
 * and of two switches each path), HyperX (every two switches that differ in one coordinate have a
 * cable), dragonfly+ (groups of leaves and spines, spines of any two groups cabled) and jellyfish
 * (a random regular graph). A switch's hosts come first, from port 1 on.
 */

#define DIMENSIONS_MAX	12
#define SWITCHES_MAX	8192
#define PORTS_MAX	254
#define LIDS_MAX	49151
#define JELLYFISH_TRIES 1000

struct shape {
	const char *name;
	unsigned n[DIMENSIONS_MAX], ndims; /* the first argument */
	unsigned hosts, cables;		   /* of each switch that has any; side by side */
	uint64_t seed;
	unsigned nswitches;
	bool (*has_hosts)(const struct shape *, unsigned sw);
	struct {
		unsigned a, b;
	} * links;
	unsigned nlinks, room;
};

static bool everywhere(const struct shape *s, unsigned sw)
{
	(void)s;
	(void)sw;
	return true;
}

static void link_up(struct shape *s, unsigned a, unsigned b)
{
	if (s->nlinks == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->links = mem_resize(s->links, s->room, sizeof(*s->links));
	}
	s->links[s->nlinks].a = a;
	s->links[s->nlinks++].b = b;
}

/* ---- Coordinates: torus, HyperX -------------------------------------------------------------- */

/* To a higher coordinate of one dimension: the next one, the first from the last, or all. */
static void link_dimension(struct shape *s, unsigned sw, unsigned dim, unsigned step)
{
	unsigned at = sw / step % s->n[dim], size = s->n[dim];
	bool all = !strcmp(s->name, "hyperx");

	for (unsigned to = at + 1; to < size; to++)
		if (all || to == at + 1 || (size > 2 && at == 0 && to == size - 1))
			link_up(s, sw, sw + (to - at) * step);
}

static void link_coordinates(struct shape *s)
{
	for (unsigned sw = 0; sw < s->nswitches; sw++)
		for (unsigned dim = 0, step = 1; dim < s->ndims; step *= s->n[dim++])
			link_dimension(s, sw, dim, step);
}

/* ---- Dragonfly+: n = groups, leaves, spines of a group --------------------------------------- */

static bool on_leaves(const struct shape *s, unsigned sw)
{
	return sw % (s->n[1] + s->n[2]) < s->n[1];
}

/* Cables between two groups go to the spines in turn: `used` counts those of each group. */
static void link_groups(struct shape *s, unsigned a, unsigned b, unsigned *used)
{
	unsigned size = s->n[1] + s->n[2];

	link_up(s, a * size + s->n[1] + used[a]++ % s->n[2],
		b * size + s->n[1] + used[b]++ % s->n[2]);
}

static void link_dragonfly(struct shape *s)
{
	unsigned groups = s->n[0], size = s->n[1] + s->n[2];
	unsigned pair = s->n[3], *used = mem_alloc(groups, sizeof(*used));

	for (unsigned g = 0; g < groups; g++)
		for (unsigned leaf = 0; leaf < s->n[1]; leaf++)
			for (unsigned spine = 0; spine < s->n[2]; spine++)
				link_up(s, g * size + leaf, g * size + s->n[1] + spine);
	for (unsigned c = 0; c < pair; c++)
		for (unsigned far = 1; far <= groups / 2; far++)
			for (unsigned g = 0; g < groups; g++)
				if (far * 2 != groups || g < far)
					link_groups(s, g, (g + far) % groups, used);
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
	unsigned i = (unsigned)(random_next(&s->seed) % s->nlinks), x = s->links[i].a,
		 y = s->links[i].b;

	if (has_link(s, x, a) || has_link(s, y, b))
		return false;
	s->links[i].b = a;
	link_up(s, y, b);
	return true;
}

static void link_jellyfish(struct shape *s)
{
	unsigned left = s->n[0] * s->n[1], tries = 0;
	unsigned *ends = mem_alloc(left + 1, sizeof(*ends));

	for (unsigned i = 0; i < left; i++)
		ends[i] = i / s->n[1];
	while (left > 1 && tries < JELLYFISH_TRIES) {
		unsigned i = (unsigned)(random_next(&s->seed) % left), a = ends[i];

		ends[i] = ends[left - 1];
		unsigned j = (unsigned)(random_next(&s->seed) % (left - 1)), b = ends[j];

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

static void make_hosts(const struct shape *s, struct generator *g, const int *handles)
{
	char name[40];

	for (unsigned sw = 0; sw < s->nswitches; sw++)
		for (unsigned h = 0; s->has_hosts(s, sw) && h < s->hosts; h++) {
			snprintf(name, sizeof(name), "node-%04u-%02u mlx5_0", sw + 1, h + 1);
			generate_host_cable(g, generate_hca(g, 1, name), 1, handles[sw], h + 1);
		}
}

/* Ports behind the hosts', in the order of the links. False: a switch has too few. */
static bool number_ports(const struct shape *s, unsigned *ports)
{
	for (unsigned sw = 0; sw < s->nswitches; sw++)
		ports[sw] = s->has_hosts(s, sw) ? s->hosts : 0;
	for (unsigned i = 0; i < s->nlinks; i++) {
		ports[s->links[i].a] += s->cables;
		ports[s->links[i].b] += s->cables;
	}
	for (unsigned sw = 0; sw < s->nswitches; sw++)
		if (ports[sw] > PORTS_MAX)
			return false;
	return true;
}

static struct topo *make_fabric(const struct shape *s, unsigned *ports)
{
	struct generator g = { .speed = TOPO_NDR, .hca_device = 0x1021, .switch_device = 0xd2f2 };
	int *handles = mem_alloc(s->nswitches, sizeof(*handles));
	unsigned *next = mem_alloc(s->nswitches, sizeof(*next));
	char name[40];

	g.builder = topo_builder_new();
	for (unsigned sw = 0; sw < s->nswitches; sw++) {
		snprintf(name, sizeof(name), "%s-%04u", s->has_hosts(s, sw) ? "switch" : "spine",
			 sw + 1);
		handles[sw] = generate_switch(&g, ports[sw], name);
		next[sw] = s->has_hosts(s, sw) ? s->hosts : 0;
	}
	make_hosts(s, &g, handles);
	for (unsigned i = 0; i < s->nlinks; i++)
		for (unsigned c = 0; c < s->cables; c++)
			generate_cable(&g, handles[s->links[i].a], ++next[s->links[i].a],
				       handles[s->links[i].b], ++next[s->links[i].b]);
	free(handles);
	free(next);
	return topo_freeze(g.builder);
}

static struct topo *build(struct shape *s, char *err, size_t err_size)
{
	unsigned *ports = mem_alloc(s->nswitches + 1, sizeof(*ports));
	struct topo *t = NULL;

	if (number_ports(s, ports))
		t = make_fabric(s, ports);
	else
		snprintf(err, err_size, "a switch has at most %u ports", PORTS_MAX);
	free(ports);
	free(s->links);
	return t;
}

/* ---- Arguments ------------------------------------------------------------------------------- */

static bool take_number(const char *text, unsigned most, unsigned *value, const char **end)
{
	char *stop;
	unsigned long n = strtoul(text, &stop, 10);

	*value = (unsigned)n;
	*end = stop;
	return isdigit((unsigned char)text[0]) && n >= 1 && n <= most;
}

static bool take_sizes(const char *text, struct shape *s)
{
	for (s->ndims = 0; s->ndims < DIMENSIONS_MAX; text++) {
		if (!take_number(text, SWITCHES_MAX, &s->n[s->ndims++], &text))
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

		if (!take_number(value, SWITCHES_MAX, &n, &end) || *end)
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
		s->has_hosts = on_leaves;
	}
	s->nswitches = (unsigned)switches;
	return switches > SWITCHES_MAX || switches * (s->hosts + 1) > LIDS_MAX
		       ? "more than the LID space"
		       : NULL;
}

/* Whether generate_shape() knows the name. */
static bool generate_is_shape(const char *name)
{
	static const char *const names[] = { "torus",  "ring",	     "hypercube",
					     "hyperx", "dragonfly+", "jellyfish" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/*
 * Fabrics that are no trees. argv[0] = "torus", "ring", "hypercube", "hyperx", "dragonfly+" or
 * "jellyfish", argv[1] = its sizes with commas between, then --hosts N (of a switch; 4), --cables N
 * (side by side; 1), --seed N (jellyfish). NULL for a word or number that does not fit.
 */
static struct topo *generate_shape(int argc, char **argv, char *err, size_t err_size)
{
	struct shape s = {
		.name = argv[0], .hosts = 4, .cables = 1, .seed = 1, .has_hosts = everywhere
	};
	const char *reason = NULL;

	if (argc < 2 || !take_sizes(argv[1], &s) || !take_options(&s, argc - 2, argv + 2))
		reason = "SIZE[,SIZE].. [--hosts N] [--cables N] [--seed N]";
	else
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
	return build(&s, err, err_size);
}

/* generate_parse: the arguments of `fmctl generate` (see generate.h), for whichever fabric. */

#define USAGE                                                                                      \
	"superpod --su N [--system a100|h100|b200] [--no-sharp], pgft H m1,.. w1,.. [p1,..], or "  \
	"torus|ring|hypercube|hyperx|dragonfly+|jellyfish SIZE[,SIZE].."

static bool parse_unsigned(const char *text, unsigned *value)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)text[0]) || *end || n > 100000)
		return false;
	*value = (unsigned)n;
	return true;
}

static bool parse_list(const char *text, unsigned count, unsigned *list)
{
	for (unsigned i = 0; i < count; i++) {
		char *end;
		unsigned long n = strtoul(text, &end, 10);

		if (!isdigit((unsigned char)text[0]) || n > 100000 ||
		    *end != (i + 1 < count ? ',' : '\0'))
			return false;
		list[i] = (unsigned)n;
		text = end + 1;
	}
	return true;
}

static struct topo *refuse(char *err, size_t err_size, const char *what, const char *text)
{
	snprintf(err, err_size, "%s '%s': %s", what, text, USAGE);
	return NULL;
}

static struct topo *parse_superpod(int argc, char **argv, char *err, size_t err_size)
{
	int system = GENERATE_H100;
	unsigned su = 0;
	bool sharp = true;

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (strcmp(argv[i], "--no-sharp") == 0) {
			sharp = false;
		} else if (strcmp(argv[i], "--su") == 0) {
			if (!parse_unsigned(value, &su))
				return refuse(err, err_size,
					      "not a number of scalable units:", value);
			i++;
		} else if (strcmp(argv[i], "--system") == 0) {
			system = generate_find_system(value);
			if (system < 0)
				return refuse(err, err_size, "unknown system", value);
			i++;
		} else {
			return refuse(err, err_size, "unknown argument", argv[i]);
		}
	}
	return (sharp ? generate_superpod : generate_superpod_no_sharp)(
		(enum generate_system)system, su, err, err_size);
}

static struct topo *parse_pgft(int argc, char **argv, char *err, size_t err_size)
{
	unsigned h, m[PGFT_LEVELS], w[PGFT_LEVELS], p[PGFT_LEVELS];

	if (argc < 4 || argc > 5)
		return refuse(err, err_size, "wrong number of arguments for", argv[0]);
	if (!parse_unsigned(argv[1], &h) || h < 1 || h > PGFT_LEVELS)
		return refuse(err, err_size, "not a height of 1 to 8:", argv[1]);
	for (unsigned i = 0; i < h; i++)
		p[i] = 1;
	if (!parse_list(argv[2], h, m))
		return refuse(err, err_size, "not one number for each level:", argv[2]);
	if (!parse_list(argv[3], h, w))
		return refuse(err, err_size, "not one number for each level:", argv[3]);
	if (argc == 5 && !parse_list(argv[4], h, p))
		return refuse(err, err_size, "not one number for each level:", argv[4]);
	return generate_pgft(h, m, w, p, err, err_size);
}

struct topo *generate_parse(int argc, char **argv, char *err, size_t err_size)
{
	if (argc > 0 && strcmp(argv[0], "superpod") == 0)
		return parse_superpod(argc, argv, err, err_size);
	if (argc > 0 && strcmp(argv[0], "pgft") == 0)
		return parse_pgft(argc, argv, err, err_size);
	if (argc > 0 && generate_is_shape(argv[0]))
		return generate_shape(argc, argv, err, err_size);
	return refuse(err, err_size, "unknown fabric", argc > 0 ? argv[0] : "");
}
