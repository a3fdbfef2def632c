/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * risk: counts, switch by switch, the neighbours of a higher level and the links to them. The
 * switch at greatest risk is one that the next fault may cut off, else the one whose hosts have
 * lost the most of their uplinks' capacity. Of equal switches it is the one with the smallest share
 * of parents left, then with the smallest share of links, then the lowest in the tree, then the
 * first of the snapshot.
 */
#include "topology/base/mem.h"
#include "topology/graph/risk.h"
#include "topology/base/text.h"

enum { SEEN = 1, REACHED = 2 };

static bool is_parent(const struct topo *t, uint32_t node, uint32_t sw)
{
	return node < t->nswitches && t->nodes[node].level > t->nodes[sw].level;
}

/* Whether one parent or none is left of several. */
static bool has_single_parent(const struct risk *r)
{
	return r->hosts && r->parents <= 1 && r->parents_of > 1;
}

static bool is_worse(const struct topo *t, const struct risk *a, const struct risk *b)
{
	uint64_t a_harm = (uint64_t)a->hosts * (a->links_of - a->links) * b->links_of;
	uint64_t b_harm = (uint64_t)b->hosts * (b->links_of - b->links) * a->links_of;
	unsigned a_parents = a->parents * b->parents_of, b_parents = b->parents * a->parents_of;
	unsigned a_links = a->links * b->links_of, b_links = b->links * a->links_of;

	if (has_single_parent(a) != has_single_parent(b))
		return has_single_parent(a);
	if (a_harm != b_harm)
		return a_harm > b_harm;
	if (a_parents != b_parents)
		return a_parents < b_parents;
	return a_links != b_links ? a_links < b_links
				  : t->nodes[a->sw].level < t->nodes[b->sw].level;
}

/* Hosts that each switch has below it by links that are up, level by level. */
static uint32_t *count_hosts(const struct topo *t)
{
	uint32_t *hosts = mem_array(hosts, t->nswitches + 1);
	uint32_t *last = mem_array(last, t->nswitches + 1); /* who counted it, + 1 */

	for (unsigned level = 0; level < t->nlevels; level++)
		for (uint32_t sw = 0; sw < t->nswitches; sw++)
			if (t->nodes[sw].level == level)
				TOPO_LINKS (t, sw, port, peer) {
					uint32_t to = peer->node;

					if (!port->link_up)
						continue;
					if (to >= t->nswitches) {
						hosts[sw] += topo_is_host(t, to);
					} else if (t->nodes[to].level < level &&
						   last[to] != sw + 1) {
						last[to] = sw + 1;
						hosts[sw] += hosts[to];
					}
				}
	free(last);
	return hosts;
}

bool risk_find(const struct topo *t, struct risk *out)
{
	uint32_t *hosts = NULL;
	uint8_t *seen = mem_alloc(t->nswitches, 1);
	uint32_t switches = 0;

	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		/*
		 * `seen`: by switch, zero before and after. False: no port is up, or no switch is
		 * above.
		 */
		bool alive = false;
		struct risk r = (struct risk){ .sw = sw };

		TOPO_LINKS (t, sw, port, peer) {
			uint32_t parent = peer->node;
			bool up = port->link_up;

			alive |= up;
			if (!is_parent(t, parent, sw))
				continue;
			r.above = parent;
			r.links_of++;
			r.links += up;
			r.parents_of += !seen[parent];
			r.parents += up && !(seen[parent] & REACHED);
			seen[parent] |= up ? SEEN | REACHED : SEEN;
		}
		TOPO_LINKS (t, sw, port, peer)
			if (is_parent(t, peer->node, sw))
				seen[peer->node] = 0;
		if (!(alive && r.links_of) || r.links == r.links_of)
			continue;

		hosts = hosts ? hosts : count_hosts(t); /* counted only where uplinks are missing */
		r.hosts = hosts[sw];
		if (!switches++ || is_worse(t, &r, out))
			*out = r;
	}
	free(hosts);
	free(seen);
	if (switches)
		out->switches = switches;
	return switches > 0;
}

int risk_describe(const struct topo *t, const struct risk *r, char *buf, size_t size)
{
	const char *name = t->nodes[r->sw].name, *above = topo_role_name(t->nodes[r->above].role);
	char more[48] = "";

	if (r->switches > 1)
		array_printf(more, ", %u more switch%s some", r->switches - 1,
			     r->switches == 2 ? " lacks" : "es lack");
	if (r->parents < r->parents_of)
		return snprintf(buf, size, "%s has %u of %u %ss%s", name, r->parents, r->parents_of,
				above, more);
	return snprintf(buf, size, "%s has %u of %u links to its %ss%s", name, r->links,
			r->links_of, above, more);
}

json_t *risk_json(const struct topo *t)
{
	struct risk r;
	char text[256];

	if (!risk_find(t, &r))
		return json_null();
	risk_describe(t, &r, text, sizeof(text));

	json_t *doc = json_pack("{ss% ss si si si si si}", "text", text, strlen(text), "above",
				topo_role_name(t->nodes[r.above].role), "has", r.parents, "of",
				r.parents_of, "cables", r.links, "cables_of", r.links_of,
				"switches", r.switches);

	if (!doc)
		return json_null();
	json_object_set_new(doc, "guid", json_guid(t->nodes[r.sw].guid));
	return doc;
}
