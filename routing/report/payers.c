/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "routing/report/payers.h"
#include <stdlib.h>
#include "topology/mem.h"

struct payer {
	uint32_t port;
	double before, then;
};

struct payers {
	const struct topo *t;
	struct payer *list;
	uint32_t count, others, hosts;
	double before, then; /* sums over all others */
};

static int by_growth(const void *a, const void *b)
{
	const struct payer *x = a, *y = b;
	double grows = y->then - y->before - (x->then - x->before);

	if (grows != 0)
		return grows > 0 ? 1 : -1;
	return x->port < y->port ? -1 : x->port > y->port;
}

static void find(struct payers *p, const double *before, const double *then, const uint8_t *aside)
{
	for (uint32_t i = 0; i < p->t->nports; i++) {
		if (!(before[i] > 0) || aside[p->t->ports[i].node])
			continue;
		p->others++;
		p->before += before[i];
		p->then += then[i];
		if (then[i] > before[i] * PAYERS_MARGIN)
			p->list[p->count++] = (struct payer){ i, before[i], then[i] };
	}
	qsort(p->list, p->count, sizeof(*p->list), by_growth);
}

static void count_hosts(struct payers *p)
{
	bool *seen = mem_alloc(p->t->nhosts + 1, sizeof(*seen));

	for (uint32_t i = 0; i < p->count; i++) {
		uint32_t host = p->t->nodes[p->t->ports[p->list[i].port].node].host;

		if (host == TOPO_NONE || seen[host])
			continue;
		seen[host] = true;
		p->hosts++;
	}
	free(seen);
}

static json_t *row(const struct topo *t, const struct payer *payer)
{
	const struct topo_port *port = &t->ports[payer->port], *leaf = topo_peer(t, port);

	return json_pack("{ss ss* sf sf}", "hca", t->nodes[port->node].name, "leaf",
			 leaf ? t->nodes[leaf->node].name : NULL, "before", payer->before, "then",
			 payer->then);
}

static json_t *rows(const struct payers *p)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < p->count && i < PAYERS_SHOWN; i++)
		json_array_append_new(list, row(p->t, &p->list[i]));
	return list;
}

json_t *payers_json(const struct congestion_scene *now, const struct congestion_scene *then,
		    const uint8_t *aside)
{
	struct payers p = { .t = then->t, .list = mem_alloc(then->t->nports + 1, sizeof(*p.list)) };
	double *before = mem_alloc(then->t->nports + 1, sizeof(*before));
	double *after = mem_alloc(then->t->nports + 1, sizeof(*after));
	json_t *found;

	congestion_by_host(now, aside, before);
	congestion_by_host(then, aside, after);
	find(&p, before, after, aside);
	count_hosts(&p);
	found = json_pack("{si si sf sf so}", "hcas", (int)p.count, "hosts", (int)p.hosts,
			  "mean_before", p.others ? p.before / p.others : 0.0, "mean",
			  p.others ? p.then / p.others : 0.0, "rows", rows(&p));
	free(before);
	free(after);
	free(p.list);
	return found;
}
