/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/lib/fabrics.h"

struct topo *pod(unsigned su)
{
	char err[256];

	return generate_superpod(GENERATE_H100, su, true, err, sizeof(err));
}

struct topo *parse_netfile(const char *text)
{
	char err[512] = "";
	struct topo *t = netfile_parse("file", text, strlen(text), err, sizeof(err));

	if (!t)
		fail_msg("%s", err);
	return t;
}

const struct irregular irregulars[IRREGULARS] = {
	{ "storage_3_tiers", 246, false }, { "uneven_groups", 99, false },
	{ "one_slow_link", 96, false },	   { "linked_pair", 12, false },
	{ "missing_link", 30, false },	   { "hosts_on_spines", 76, false },
	{ "selene_storage", 3286, true },  { "psmn_x5", 159, true },
	{ "edr2023", 144, true },	   { "ufm_small", 16, true },
	{ "is4_3l_1944n", 5832, true },	   { "4_ary_2_tree_missing_sw_link", 29, true },
	{ "IS3_128", 256, true },
};

struct topo *irregular_fabric(size_t number)
{
	const struct irregular *it = &irregulars[number];
	const char *folder = it->published ? getenv("FMD_FABRICS") : "tests/fabrics";
	char path[512], err[512] = "";
	struct topo *t;

	snprintf(path, sizeof(path), "%s/%s.net", folder ? folder : "../shared/fabrics", it->name);
	if (it->published && access(path, R_OK))
		return NULL;
	t = netfile_read(path, err, sizeof(err));
	if (!t)
		fail_msg("%s", err);
	return t;
}

uint32_t find_desc(const struct topo *t, const char *desc)
{
	for (uint32_t n = 0; n < t->nnodes; n++)
		if (!strcmp(t->nodes[n].desc, desc))
			return n;
	fail_msg("no node '%s'", desc);
	return 0;
}

const struct topo_node *node_named(const struct topo *t, const char *desc)
{
	return &t->nodes[find_desc(t, desc)];
}

unsigned uplink_of(const struct topo *t, uint32_t leaf)
{
	for (unsigned num = 1; num <= t->nodes[leaf].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, leaf, num));

		if (peer && peer->node < t->nswitches)
			return num;
	}
	fail();
	return 0;
}
