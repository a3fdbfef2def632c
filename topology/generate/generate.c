/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "topology/generate/generate.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "topology/generate/generate_own.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"

/*
 * generate_make: what all generators share: nodes with running GUIDs, cables as they are after
 * power-on (see generate_own.h).
 */

#define GUID_PREFIX 0x0002c90300000000u
#define GUID_HCA    0x80000000u
#define GUID_AN	    0xc0000000u
#define AN_DEVICE   0xcf09
#define AN_NAME	    "Mellanox Technologies Aggregation Node"
#define MTU_4096    5

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

/* Makes the SHARP aggregation node of a switch, behind the extra port that it was made with. */
static void generate_aggregation_node(struct generator *g, int sw, unsigned sw_port)
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

/*
 * generate: the compute fabrics of DGX SuperPODs. (PGFTs: generate_shapes.c; fabrics that are no
 * trees: generate_shapes.c.)
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

#define RAILS 8

struct system {
	const char *name;
	unsigned nodes; /* of a scalable unit */
	unsigned radix; /* ports of a switch */
	unsigned max_su;
	uint16_t hca_device, switch_device;
	enum topo_speed speed;
	uint8_t hca[RAILS]; /* N of mlx5_N, by rail */
};

/* DGX H100 user guide, table 6; A100: devices that carry the compute network. */
static const struct system systems[] = {
	[GENERATE_A100] = { "a100",
			    20,
			    40,
			    7,
			    0x101b,
			    0xd2f0,
			    TOPO_HDR,
			    { 0, 1, 2, 3, 6, 7, 8, 9 } },
	[GENERATE_H100] = { "h100",
			    32,
			    64,
			    64,
			    0x1021,
			    0xd2f2,
			    TOPO_NDR,
			    { 0, 3, 4, 5, 6, 9, 10, 11 } },
	[GENERATE_B200] = { "b200",
			    32,
			    64,
			    64,
			    0x1021,
			    0xd2f2,
			    TOPO_NDR,
			    { 0, 1, 2, 3, 4, 5, 6, 7 } },
};

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
	struct generator g;
	bool sharp;  /* aggregation nodes are shown */
	int *leaves; /* [su][rail] */
	int *spines; /* [pod][spine] */
	int *cores;  /* [group][core] */
};

static struct design two_tiers(unsigned su, unsigned spines, unsigned cables)
{
	return (struct design){ .su = su,
				.pods = 1,
				.pod_spines = spines,
				.leaf_cables = cables,
				.rails_a_pod = RAILS };
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

/* Which pod the leaf of a rail in a unit belongs to, and its place there. */
static unsigned pod_of(const struct design *d, unsigned su, unsigned rail, unsigned *place)
{
	unsigned half = (d->su + 1) / 2;

	if (!d->rails_a_pod) {
		*place = su % half;
		return rail * 2 + su / half;
	}
	*place = su * d->rails_a_pod + rail % d->rails_a_pod;
	return rail / d->rails_a_pod;
}

static int make_switch(struct superpod *sp, const char *name)
{
	unsigned radix = sp->sys->radix;
	int sw = generate_switch(&sp->g, radix + sp->sharp, name);

	if (sp->sharp)
		generate_aggregation_node(&sp->g, sw, radix + 1);
	return sw;
}

static void make_switches(struct superpod *sp)
{
	const struct design *d = &sp->d;
	char name[40];

	for (unsigned i = 0; i < d->su * RAILS; i++) {
		snprintf(name, sizeof(name), "leaf-su%02u-rail%u", i / RAILS + 1, i % RAILS);
		sp->leaves[i] = make_switch(sp, name);
	}
	for (unsigned i = 0; i < d->pods * d->pod_spines; i++) {
		if (d->pods > 1)
			snprintf(name, sizeof(name), "spine-p%02u-%02u", i / d->pod_spines + 1,
				 i % d->pod_spines + 1);
		else
			snprintf(name, sizeof(name), "spine-%02u", i + 1);
		sp->spines[i] = make_switch(sp, name);
	}
	for (unsigned i = 0; i < d->groups * d->group_cores; i++) {
		snprintf(name, sizeof(name), "core-%0*u", d->groups * d->group_cores > 99 ? 3 : 2,
			 i + 1);
		sp->cores[i] = make_switch(sp, name);
	}
}

static void make_unit(struct superpod *sp, unsigned su)
{
	char name[40];

	for (unsigned node = 0; node < sp->sys->nodes; node++)
		for (unsigned rail = 0; rail < RAILS; rail++) {
			int hca;

			snprintf(name, sizeof(name), "dgx-su%02u-%02u mlx5_%u", su + 1, node + 1,
				 sp->sys->hca[rail]);
			hca = generate_hca(&sp->g, 1, name);
			generate_host_cable(&sp->g, hca, 1, sp->leaves[su * RAILS + rail],
					    node + 1);
		}
}

static void cable_leaf(struct superpod *sp, unsigned su, unsigned rail)
{
	const struct design *d = &sp->d;
	unsigned place, pod = pod_of(d, su, rail, &place);

	for (unsigned s = 0; s < d->pod_spines; s++)
		for (unsigned lane = 0; lane < d->leaf_cables; lane++)
			generate_cable(&sp->g, sp->leaves[su * RAILS + rail],
				       sp->sys->radix / 2 + 1 + s * d->leaf_cables + lane,
				       sp->spines[pod * d->pod_spines + s],
				       1 + place * d->leaf_cables + lane);
}

/* A core's ports: pod by pod, in it spine by spine of its group, in it cable by cable. */
static void cable_spine(struct superpod *sp, unsigned pod, unsigned s)
{
	const struct design *d = &sp->d;
	unsigned group_spines = d->pod_spines / d->groups, group = s / group_spines;
	unsigned below = pod * group_spines + s % group_spines;

	for (unsigned c = 0; c < d->group_cores; c++)
		for (unsigned lane = 0; lane < d->core_cables; lane++)
			generate_cable(&sp->g, sp->spines[pod * d->pod_spines + s],
				       sp->sys->radix / 2 + 1 + c * d->core_cables + lane,
				       sp->cores[group * d->group_cores + c],
				       1 + below * d->core_cables + lane);
}

static struct topo *make_superpod(struct superpod *sp)
{
	const struct design *d = &sp->d;

	sp->leaves = mem_alloc(d->su * RAILS, sizeof(int));
	sp->spines = mem_alloc(d->pods * d->pod_spines, sizeof(int));
	sp->cores = mem_alloc(d->groups * d->group_cores, sizeof(int));
	make_switches(sp);
	for (unsigned su = 0; su < d->su; su++)
		make_unit(sp, su);
	for (unsigned i = 0; i < d->su * RAILS; i++)
		cable_leaf(sp, i / RAILS, i % RAILS);
	for (unsigned i = 0; i < d->pods * d->pod_spines && d->groups; i++)
		cable_spine(sp, i / d->pod_spines, i % d->pod_spines);
	free(sp->leaves);
	free(sp->spines);
	free(sp->cores);
	return topo_freeze(sp->g.builder);
}

static struct topo *generate(enum generate_system system, unsigned su, bool sharp, char *err,
			     size_t err_size)
{
	const struct system *sys = &systems[system];
	struct superpod sp = {
		.sys = sys,
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
	sp.d = system == GENERATE_A100 ? design_40(su) : design_64(su);
	sp.g.builder = topo_builder_new();
	return make_superpod(&sp);
}

struct topo *generate_superpod(enum generate_system system, unsigned su, char *err, size_t err_size)
{
	return generate(system, su, true, err, err_size);
}

struct topo *generate_superpod_no_sharp(enum generate_system system, unsigned su, char *err,
					size_t err_size)
{
	return generate(system, su, false, err, err_size);
}

int generate_find_system(const char *name)
{
	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		if (strcmp(name, systems[i].name) == 0)
			return (int)i;
	return -1;
}
