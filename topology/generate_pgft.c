/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * generate_pgft: parallel-ports generalised fat trees, what all generators share, and the
 * arguments of `fmctl generate`.
 *
 * PGFT(h; m1..mh; w1..wh; p1..ph), after Zahavi: hosts are level 0, switches levels 1..h. A node
 * of level l is named by h digits: digits 1..l count w_1..w_l ways (which of the parallel
 * trees), digits l+1..h count m_l+1..m_h ways (which subtree). Level l-1 and l nodes are cabled
 * when all digits but the l-th agree, with p_l cables; so a level-l switch has m_l children
 * (told apart by their digit l, below m_l) and a node of level l-1 has w_l parents (told apart
 * by theirs, below w_l). Hence prod(w_1..w_l) * prod(m_l+1..m_h) nodes of level l.
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

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUID_PREFIX 0x0002c90300000000u
#define GUID_HCA    0x80000000u
#define GUID_AN	    0xc0000000u
#define AN_DEVICE   0xcf09
#define AN_NAME	    "Mellanox Technologies Aggregation Node"
#define LIDS	    0xBFFF /* unicast LIDs, IBA 4.1.3 */
#define PGFT_LEVELS 8
#define MTU_4096    5

/* ---- Shared ------------------------------------------------------------------------- */

static struct topo_port_attr live_port(const struct generator *g)
{
	return (struct topo_port_attr){
		.state = TOPO_INIT, .speed = (uint8_t)g->speed, .width = 4, .mtu = MTU_4096
	};
}

struct made { /* a node of a generated fabric */
	enum topo_type type;
	guid_t guid;
	uint16_t device;
	unsigned nports;
	const char *name;
};

static int make_node(struct generator *g, const struct made *made)
{
	bool is_switch = made->type == TOPO_SWITCH;
	struct topo_node_attr attr = {
		.guid = made->guid,
		.sys_guid = made->guid,
		.desc = made->name,
		.vendor = 0x2c9,
		.device = made->device,
		.type = (uint8_t)made->type,
		.nports = (uint8_t)made->nports,
		.enhanced_port0 = is_switch,
		.sharp = topo_named_sharp(made->name),
	};
	int node = topo_builder_node(g->builder, &attr);

	for (unsigned num = 0; num <= made->nports && node >= 0; num++) {
		struct topo_port_attr port = live_port(g);

		port.guid = made->guid + num;
		/* A switch's ports come alive with their cables; an HCA's are all cabled. */
		if (num == 0 || is_switch)
			port = (struct topo_port_attr){ .state = num ? TOPO_DOWN : TOPO_ACTIVE };
		if (num || is_switch)
			topo_builder_port(g->builder, node, num, &port);
	}
	return node;
}

int generate_switch(struct generator *g, unsigned nports, const char *name)
{
	guid_t guid = GUID_PREFIX + ((guid_t)++g->switches << 8);

	return make_node(g, &(struct made){ TOPO_SWITCH, guid, g->switch_device, nports, name });
}

int generate_hca(struct generator *g, unsigned nports, const char *name)
{
	guid_t guid = GUID_PREFIX + GUID_HCA + ((guid_t)++g->hcas << 8);

	return make_node(g, &(struct made){ TOPO_CA, guid, g->hca_device, nports, name });
}

/* Generators number ports within what they asked for, each once: these cannot fail. */
static void cable(struct generator *g, int a, unsigned a_port, int b, unsigned b_port)
{
	struct topo_port_attr attr = live_port(g);
	int error = topo_builder_port(g->builder, b, b_port, &attr);

	assert(!error);
	error = topo_builder_link(g->builder, a, a_port, b, b_port, true);
	assert(!error);
	(void)error;
}

void generate_aggregation_node(struct generator *g, int sw, unsigned sw_port)
{
	guid_t guid = GUID_PREFIX + GUID_AN + ((guid_t)g->switches << 8);
	int node = make_node(g, &(struct made){ TOPO_CA, guid, AN_DEVICE, 1, AN_NAME });

	cable(g, node, 1, sw, sw_port);
}

void generate_host_cable(struct generator *g, int hca, unsigned hca_port, int sw, unsigned sw_port)
{
	cable(g, hca, hca_port, sw, sw_port);
}

void generate_cable(struct generator *g, int a, unsigned a_port, int b, unsigned b_port)
{
	struct topo_port_attr attr = live_port(g);

	topo_builder_port(g->builder, a, a_port, &attr);
	cable(g, a, a_port, b, b_port);
}

/* ---- PGFT --------------------------------------------------------------------------- */

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

/* ---- Arguments ---------------------------------------------------------------------- */

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
