/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdlib.h>
#include <string.h>
#include "fm/perf/readings.h"
#include "topology/mem.h"

struct pnode *pnode_find(const cl_qmap_t *nodes, guid_t guid)
{
	cl_map_item_t *item = cl_qmap_get(nodes, guid);

	return item == cl_qmap_end(nodes) ? NULL : (struct pnode *)item;
}

static void pnode_free(cl_qmap_t *nodes, struct pnode *n)
{
	cl_qmap_remove_item(nodes, &n->item);
	for (unsigned i = 0; i <= n->nports; i++)
		free(n->details[i]);
	free(n->details);
	free(n->judged);
	free(n->counters);
	free(n->fec);
	free(n);
}

struct pnode *pnode_of(cl_qmap_t *nodes, const struct inv_node *inv)
{
	struct pnode *n = pnode_find(nodes, inv->guid);

	if (n && n->nports == inv->nports)
		return n;
	if (n)
		pnode_free(nodes, n);
	n = mem_alloc(1, sizeof(*n));
	n->guid = inv->guid;
	n->nports = inv->nports;
	n->judged = mem_alloc(inv->nports + 1u, sizeof(*n->judged));
	n->counters = mem_alloc(inv->nports, sizeof(*n->counters));
	n->details = mem_alloc(inv->nports + 1u, sizeof(struct detail *));
	cl_qmap_insert(nodes, inv->guid, &n->item);
	return n;
}

void pnode_forget_gone(cl_qmap_t *nodes, const struct inventory *inv)
{
	cl_map_item_t *item = cl_qmap_head(nodes);

	while (item != cl_qmap_end(nodes)) {
		struct pnode *n = (struct pnode *)item;

		item = cl_qmap_next(item);
		if (!inventory_find(inv, n->guid))
			pnode_free(nodes, n);
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
				  .counters = &n->counters[num - 1] };
	const struct detail *detail = n->details[num];

	port.fec = n->fec ? &n->fec[num] : NULL;
	if (detail) {
		memcpy(port.rcv_details, detail->rcv, sizeof(detail->rcv));
		memcpy(port.xmit_details, detail->xmit, sizeof(detail->xmit));
	}
	return port;
}
