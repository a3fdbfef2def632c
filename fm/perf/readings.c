/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "fm/perf/readings.h"
#include "topology/mem.h"

/*
 * Up to EDR links run with little or no error correction, and are within their specification with
 * more errors than those that correct.
 */
#define BEFORE_FEC_LENIENCE 10

struct pnode *pnode_find(const cl_qmap_t *nodes, guid_t guid)
{
	cl_map_item_t *item = cl_qmap_get(nodes, guid);

	return item == cl_qmap_end(nodes) ? NULL : (struct pnode *)item;
}

static void pnode_free(cl_qmap_t *nodes, struct pnode *n)
{
	cl_qmap_remove_item(nodes, &n->item);
	for (unsigned i = 0; i <= n->nports; i++) {
		free(n->details[i]);
		ber_forget(&n->ber[i]);
	}
	free(n->ber);
	free(n->bits_s);
	free(n->details);
	free(n->judged);
	free(n->counters);
	free(n->fec);
	free(n);
}

static struct pnode *pnode_new(cl_qmap_t *nodes, const struct inv_node *inv)
{
	struct pnode *n = mem_alloc(1, sizeof(*n));

	n->guid = inv->guid;
	n->nports = inv->nports;
	n->judged = mem_alloc(inv->nports + 1u, sizeof(*n->judged));
	n->bits_s = mem_alloc(inv->nports + 1u, sizeof(*n->bits_s));
	n->ber = mem_alloc(inv->nports + 1u, sizeof(*n->ber));
	n->counters = mem_alloc(inv->nports, sizeof(*n->counters));
	n->details = mem_alloc(inv->nports + 1u, sizeof(struct detail *));
	cl_qmap_insert(nodes, inv->guid, &n->item);
	return n;
}

struct pnode *pnode_take(cl_qmap_t *nodes, cl_map_item_t **old, const struct inv_node *inv)
{
	while (*old != cl_qmap_end(nodes) && ((struct pnode *)*old)->guid <= inv->guid) {
		struct pnode *n = (struct pnode *)*old;

		*old = cl_qmap_next(*old);
		if (n->guid == inv->guid && n->nports == inv->nports)
			return n;
		pnode_free(nodes, n);
	}
	return pnode_new(nodes, inv);
}

void pnode_drop_from(cl_qmap_t *nodes, cl_map_item_t *old)
{
	while (old != cl_qmap_end(nodes)) {
		struct pnode *n = (struct pnode *)old;

		old = cl_qmap_next(old);
		pnode_free(nodes, n);
	}
}

uint16_t port_lid(const struct inv_node *node, unsigned num)
{
	return node->ports[inv_is_switch(node) ? 0 : num].lid;
}

bool port_is_asked(const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = num <= node->nports ? &node->ports[num] : NULL;

	return port && num && port->link_up && port->state == TOPO_ACTIVE && !node->gone &&
	       !node->silent && !node->removed && port_lid(node, num);
}

void pnode_forget_ber(cl_qmap_t *nodes)
{
	for (cl_map_item_t *item = cl_qmap_head(nodes); item != cl_qmap_end(nodes);
	     item = cl_qmap_next(item)) {
		struct pnode *n = (struct pnode *)item;

		for (unsigned num = 0; num <= n->nports; num++)
			ber_forget(&n->ber[num]);
	}
}

void pnode_free_all(cl_qmap_t *nodes)
{
	while (!cl_is_qmap_empty(nodes))
		pnode_free(nodes, (struct pnode *)cl_qmap_head(nodes));
}

struct perf_port pnode_port(const struct pnode *n, uint8_t num)
{
	struct perf_port port = { .node = n->guid,
				  .num = num,
				  .judged = &n->judged[num],
				  .ber = &n->ber[num],
				  .bits_s = n->bits_s[num],
				  .counters = &n->counters[num - 1] };
	const struct detail *detail = n->details[num];

	port.fec = n->fec ? &n->fec[num] : NULL;
	if (detail) {
		memcpy(port.rcv_details, detail->rcv, sizeof(detail->rcv));
		memcpy(port.xmit_details, detail->xmit, sizeof(detail->xmit));
	}
	return port;
}

/* What was added to a counter with its last reading; 0 = not known. */
static double added(const struct port_counters *c, unsigned counter)
{
	if (!counters_rated(c, counter))
		return 0;
	return c->rate[counter] * (double)c->span_ms[counters_group(counter)] / 1e3;
}

struct ber_reading pnode_ber_reading(const struct pnode *n, uint8_t num, uint64_t now_us)
{
	const struct port_counters *c = &n->counters[num - 1];
	const struct inv_port *port = &n->inv->ports[num];
	/* What error correction did may be of an earlier pass. */
	bool fec = c->read_us[COUNTERS_FEC] > n->ber[num].last_us;
	double blocks = fec ? added(c, COUNTERS_FEC_FIRST + WIRE_FEC_UNCORRECTED) : 0;

	return (struct ber_reading){
		.errors = { [BER_SYMBOL] = (uint32_t)lround(added(c, PERF_SYMBOL)),
			    [BER_EFFECTIVE] = (uint32_t)lround(blocks) },
		.raw = fec ? added(c, COUNTERS_FEC_FIRST + WIRE_FEC_SYMBOLS) : 0,
		.trained = added(c, PERF_DOWNED) > 0 || added(c, PERF_RECOVERED) > 0,
		.bits_s = topo_lane_mbps(port->speed) * 1e6 * port->lanes,
		.lenience = port->speed <= TOPO_EDR ? BEFORE_FEC_LENIENCE : 1,
		.now_us = now_us,
	};
}
