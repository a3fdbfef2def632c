/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* miswiring_judge: findings held against the mistakes that were made. */
#include <stdlib.h>
#include <string.h>
#include "tests/lib/miswiring_own.h"
#include "topology/base/mem.h"

static bool is_end(const struct miswiring *m, const struct cabling_end *end, uint32_t port)
{
	return end->name && !strcmp(end->name, node_of(m, port)->desc) &&
	       (!end->port || end->port == m->t->ports[port].num);
}

static bool names_port(const struct miswiring *m, const struct cabling_item *i, uint32_t port)
{
	const struct cabling_end *const ends[] = { &i->at,	&i->found, &i->expected,
						   &i->belongs, &i->other, &i->other_found,
						   &i->a,	&i->b };

	for (size_t e = 0; e < sizeof(ends) / sizeof(ends[0]); e++)
		if (is_end(m, ends[e], port))
			return true;
	return false;
}

/* Is the finding about a port that the mistake touched? A whole host is named by its name. */
static bool is_about(const struct miswiring *m, const struct cabling_item *item, uint32_t number)
{
	if (item->kind == CABLING_HOST) {
		for (uint32_t h = 0; h < m->t->nhosts; h++)
			if (!strcmp(m->t->hosts[h].name, item->found.name)) {
				uint32_t ca = m->t->host_cas[m->t->hosts[h].first];

				return m->owner[m->t->nodes[ca].port0 + 1] == number + 1;
			}
		return false;
	}
	for (uint32_t p = 0; p < m->t->nports; p++)
		if (m->owner[p] == number + 1 &&
		    (is_end(m, &item->at, p) || is_end(m, &item->found, p)))
			return true;
	return false;
}

static bool names_mistake(const struct miswiring *m, const struct cabling_item *item,
			  const struct planted *planted, bool planned)
{
	unsigned kinds = planned ? planted->plan_kinds : planted->kinds;

	if (!(kinds & 1u << item->kind))
		return false;
	for (uint32_t k = 0;
	     k < planted->nkeys && item->kind != CABLING_ABSENT &&
	     planted->mistake != MISTAKE_SAME_UNIT && planted->mistake != MISTAKE_WHOLE_HOSTS;
	     k++)
		if (!names_port(m, item, planted->keys[k]))
			return false;
	return true;
}

unsigned miswiring_judge(const struct miswiring *m, const struct cabling *c, bool planned,
			 struct verdict *verdicts, FILE *out)
{
	bool *mine = mem_alloc(c->count + 1, sizeof(*mine));
	unsigned strange = 0;

	for (uint32_t n = 0; n < m->nplanted; n++) {
		const struct planted *planted = &m->planted[n];
		struct verdict *v = &verdicts[planted->mistake];
		bool found = false, named = false;

		if (planned && !planted->plan_kinds)
			continue;
		for (uint32_t i = 0; i < c->count; i++) {
			if (!is_about(m, &c->items[i], n))
				continue;
			mine[i] = found = true;
			named |= names_mistake(m, &c->items[i], planted, planned);
		}
		v->planted++;
		v->found += found;
		v->named += named;
		if (out && !named && (planned || !mistake_words[planted->mistake].hidden))
			fprintf(out, "not named: %s at %s port %u\n",
				mistake_words[planted->mistake].name,
				node_of(m, planted->keys[0])->desc,
				m->t->ports[planted->keys[0]].num);
	}
	for (uint32_t i = 0; i < c->count; i++) {
		char text[1024];

		if (mine[i] && !(out && getenv("MISWIRING_ALL")))
			continue;
		strange += !mine[i];
		cabling_describe(&c->items[i], text, sizeof(text));
		if (out)
			fprintf(out, "%s: %s\n", mine[i] ? "mine" : "false alarm", text);
	}
	free(mine);
	return strange;
}
