/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What all generators are made of: nodes, cables, and numbers of their arguments. */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include "topology/generate/generate_own.h"

#define GUID_PREFIX 0x0002c90300000000u
#define GUID_HCA    0x80000000u
#define GUID_AN	    0xc0000000u
#define AN_DEVICE   0xcf09
#define AN_NAME	    "Mellanox Technologies Aggregation Node"
#define MTU_4096    5

static struct topo_port_attr live_port(const struct generator *g)
{
	return (struct topo_port_attr){
		.state = TOPO_INIT, .speed = g->speed, .width = 4, .mtu = MTU_4096
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
		.type = made->type,
		.nports = made->nports,
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

void generate_host_cable(struct generator *g, int hca, unsigned hca_port, int sw, unsigned sw_port)
{
	struct topo_port_attr attr = live_port(g);
	int error = topo_builder_port(g->builder, sw, sw_port, &attr);

	assert(!error);
	error = topo_builder_link(g->builder, hca, hca_port, sw, sw_port, true);
	assert(!error);
	(void)error;
}

void generate_cable(struct generator *g, int a, unsigned a_port, int b, unsigned b_port)
{
	struct topo_port_attr attr = live_port(g);

	topo_builder_port(g->builder, a, a_port, &attr);
	generate_host_cable(g, a, a_port, b, b_port);
}

void generate_aggregation(struct generator *g, int sw, unsigned port)
{
	guid_t guid = GUID_PREFIX + GUID_AN + ((guid_t)g->switches << 8);
	int node = make_node(g, &(struct made){ TOPO_CA, guid, AN_DEVICE, 1, AN_NAME });

	generate_host_cable(g, node, 1, sw, port);
}

bool generate_number(const char *text, unsigned most, unsigned *value, const char **end)
{
	char *stop;
	unsigned long n = strtoul(text, &stop, 10);

	*value = n;
	*end = stop;
	return isdigit((unsigned char)text[0]) && n >= 1 && n <= most;
}

bool generate_list(const char *text, unsigned count, unsigned *list)
{
	for (unsigned i = 0; i < count; i++) {
		char *end;
		unsigned long n = strtoul(text, &end, 10);

		if (!isdigit((unsigned char)text[0]) || n > 100000 ||
		    *end != (i + 1 < count ? ',' : '\0'))
			return false;
		list[i] = n;
		text = end + 1;
	}
	return true;
}
