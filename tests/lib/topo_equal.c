/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "tests/lib/topo_equal.h"

static void assert_same_node(const struct topo_node *a, const struct topo_node *b)
{
	assert_int_equal(a->guid, b->guid);
	assert_int_equal(a->sys_guid, b->sys_guid);
	assert_string_equal(a->desc, b->desc);
	assert_string_equal(a->label, b->label);
	assert_string_equal(a->name, b->name);
	assert_int_equal(a->port0, b->port0);
	assert_int_equal(a->vendor, b->vendor);
	assert_int_equal(a->device, b->device);
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->nports, b->nports);
	assert_int_equal(a->host, b->host);
	assert_int_equal(a->role, b->role);
	assert_int_equal(a->level, b->level);
	assert_int_equal(a->rail, b->rail);
	assert_int_equal(a->su, b->su);
	assert_int_equal(a->enhanced_port0, b->enhanced_port0);
	assert_int_equal(a->sharp, b->sharp);
}

static void assert_same_port(const struct topo_port *a, const struct topo_port *b)
{
	assert_int_equal(a->guid, b->guid);
	assert_int_equal(a->node, b->node);
	assert_int_equal(a->peer, b->peer);
	assert_int_equal(a->lid, b->lid);
	assert_int_equal(a->lmc, b->lmc);
	assert_int_equal(a->num, b->num);
	assert_int_equal(a->state, b->state);
	assert_int_equal(a->speed, b->speed);
	assert_int_equal(a->width, b->width);
	assert_int_equal(a->mtu, b->mtu);
	assert_int_equal(a->link_up, b->link_up);
	assert_int_equal(a->cordoned, b->cordoned);
}

void assert_same_topo(const struct topo *a, const struct topo *b)
{
	assert_int_equal(a->nnodes, b->nnodes);
	assert_int_equal(a->nswitches, b->nswitches);
	assert_int_equal(a->nports, b->nports);
	assert_int_equal(a->nlinks, b->nlinks);
	assert_int_equal(a->nlinks_special, b->nlinks_special);
	assert_int_equal(a->nlinks_down, b->nlinks_down);
	assert_int_equal(a->ncordoned, b->ncordoned);
	assert_int_equal(a->ncas, b->ncas);
	assert_int_equal(a->nspecials, b->nspecials);
	assert_int_equal(a->nlevels, b->nlevels);
	assert_int_equal(a->nhosts, b->nhosts);
	for (uint32_t n = 0; n < a->nnodes; n++)
		assert_same_node(&a->nodes[n], &b->nodes[n]);
	for (uint32_t p = 0; p < a->nports; p++)
		assert_same_port(&a->ports[p], &b->ports[p]);
	for (uint32_t h = 0; h < a->nhosts; h++) {
		assert_string_equal(a->hosts[h].name, b->hosts[h].name);
		assert_int_equal(a->hosts[h].first, b->hosts[h].first);
		assert_int_equal(a->hosts[h].ncas, b->hosts[h].ncas);
	}
	for (uint32_t i = 0; i < a->ncas; i++)
		assert_int_equal(a->host_cas[i], b->host_cas[i]);
}
