/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "routing/report/affected.h"
#include <stdlib.h>
#include "topology/mem.h"

struct affected_port {
	uint32_t port;
	double before, then;
};

struct affected {
	const struct topo *t;
	struct affected_port *list;
	uint32_t count, others, hosts;
	double before, then; /* sums over all others */
};

static int by_growth(const void *a, const void *b)
{
	const struct affected_port *x = a, *y = b;
	double grows = y->then - y->before - (x->then - x->before);

	if (grows != 0)
		return grows > 0 ? 1 : -1;
	return x->port < y->port ? -1 : x->port > y->port;
}

static void find(struct affected *p, const double *before, const double *then, const uint8_t *aside)
{
	for (uint32_t i = 0; i < p->t->nports; i++) {
		if (!(before[i] > 0) || aside[p->t->ports[i].node])
			continue;
		p->others++;
		p->before += before[i];
		p->then += then[i];
		if (then[i] > before[i] * AFFECTED_MARGIN)
			p->list[p->count++] = (struct affected_port){ i, before[i], then[i] };
	}
	qsort(p->list, p->count, sizeof(*p->list), by_growth);
}

static void count_hosts(struct affected *p)
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

static json_t *row(const struct topo *t, const struct affected_port *it)
{
	const struct topo_port *port = &t->ports[it->port], *leaf = topo_peer(t, port);

	return json_pack("{ss ss* sf sf}", "hca", t->nodes[port->node].name, "leaf",
			 leaf ? t->nodes[leaf->node].name : NULL, "before", it->before, "then",
			 it->then);
}

static json_t *rows(const struct affected *p)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < p->count && i < AFFECTED_SHOWN; i++)
		json_array_append_new(list, row(p->t, &p->list[i]));
	return list;
}

json_t *affected_json(const struct congestion_scene *now, const struct congestion_scene *then,
		      const uint8_t *aside)
{
	struct affected p = { .t = then->t,
			      .list = mem_alloc(then->t->nports + 1, sizeof(*p.list)) };
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
