/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * generate_shapes: fabrics that are no trees: torus (ring and hypercube are tori of one dimension
 * and of two switches each path), HyperX (every two switches that differ in one coordinate have a
 * cable), dragonfly+ (groups of leaves and spines, spines of any two groups cabled) and jellyfish
 * (a random regular graph). A switch's hosts come first, from port 1 on.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "topology/generate.h"
#include "topology/generate_own.h"
#include "topology/mem.h"
#include "topology/random.h"
#include "topology/topo_builder.h"

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

bool generate_is_shape(const char *name)
{
	static const char *const names[] = { "torus",  "ring",	     "hypercube",
					     "hyperx", "dragonfly+", "jellyfish" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

struct topo *generate_shape(int argc, char **argv, char *err, size_t err_size)
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
