/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fabrics: those that many tests begin with, and who is who in them. Behind <cmocka.h>. */
#ifndef FMD_TESTS_FABRICS_H
#define FMD_TESTS_FABRICS_H

#include <string.h>
#include "topology/generate.h"
#include "topology/netfile.h"

/* So many scalable units of 32 hosts. */
static inline struct topo *pod(unsigned su)
{
	char err[256];

	return generate_superpod(GENERATE_H100, su, err, sizeof(err));
}

static inline struct topo *parse_netfile(const char *text)
{
	char err[512] = "";
	struct topo *t = netfile_parse("file", text, strlen(text), err, sizeof(err));

	if (!t)
		fail_msg("%s", err);
	return t;
}

static inline uint32_t find_desc(const struct topo *t, const char *desc)
{
	for (uint32_t n = 0; n < t->nnodes; n++)
		if (!strcmp(t->nodes[n].desc, desc))
			return n;
	fail_msg("no node '%s'", desc);
	return 0;
}

static inline const struct topo_node *node_named(const struct topo *t, const char *desc)
{
	return &t->nodes[find_desc(t, desc)];
}

/* A leaf's first port to a spine. */
static inline unsigned uplink_of(const struct topo *t, uint32_t leaf)
{
	for (unsigned num = 1; num <= t->nodes[leaf].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, leaf, num));

		if (peer && peer->node < t->nswitches)
			return num;
	}
	fail();
	return 0;
}

#endif
