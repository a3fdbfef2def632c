/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * diff: what is different between two snapshots.
 *
 * Nodes are the same when their GUIDs are, and links when both their ends are (node GUID and
 * port number). A link is listed once, at its end with the lower node GUID; at one node, with the
 * lower port. Links of a node that came or went are not listed: one line for the node replaces 64.
 *
 * The order puts first what went wrong, and causes before what follows from them: nodes gone,
 * links gone, links down; then nodes new, links new, links up, speeds, names. Within a kind it
 * is the snapshots' own.
 */
#include "topology/snapshot/diff.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/snapshot/topo_builder.h"

#include <inttypes.h>

struct diff_work {
	const struct topo *older, *newer;
	uint32_t *new_of_old, *old_of_new; /* node indices, TOPO_NONE where absent */
	struct diff *diff;
};

static void add(struct diff_work *w, enum diff_kind kind, uint32_t old_node, uint32_t new_node,
		uint8_t port)
{
	struct diff *d = w->diff;

	d->items = mem_grow(d->items, d->count);
	d->items[d->count++] = (struct diff_item){ kind, old_node, new_node, port };
}

/* ---- Links ------------------------------------------------------------------------- */

static bool names_link(const struct topo *t, const struct topo_port *port,
		       const struct topo_port *peer)
{
	return port->node == peer->node ? port->num < peer->num
					: t->nodes[port->node].guid < t->nodes[peer->node].guid;
}

/*
 * The port in `to` of the link that is listed at `port` in `from`; NULL = `to` does not have that
 * link. *known: whether `to` has both nodes. map: by node of `from`, its index in `to`.
 */
static const struct topo_port *same_link(const struct topo *from, const struct topo *to,
					 const uint32_t *map, const struct topo_port *port,
					 bool *known)
{
	const struct topo_port *peer = topo_peer(from, port), *other;
	uint32_t node = map[port->node], peer_node = map[peer->node];

	*known = node != TOPO_NONE && peer_node != TOPO_NONE;
	if (!*known || port->num > to->nodes[node].nports)
		return NULL;
	other = topo_peer(to, topo_port(to, node, port->num));
	if (!other || other->node != peer_node || other->num != peer->num)
		return NULL;
	return topo_port(to, node, port->num);
}

bool diff_is_other_speed(const struct topo_port *was, const struct topo_port *is)
{
	return was->speed && was->width && is->speed && is->width &&
	       (was->speed != is->speed || was->width != is->width);
}

static void compare_link(struct diff_work *w, const struct topo_port *was,
			 const struct topo_port *is)
{
	if (was->link_up != is->link_up)
		add(w, is->link_up ? DIFF_LINK_UP : DIFF_LINK_DOWN, was->node, is->node, is->num);
	else if (is->link_up && diff_is_other_speed(was, is))
		add(w, DIFF_LINK_SPEED, was->node, is->node, is->num);
}

static void compare_links(struct diff_work *w)
{
	const struct topo *older = w->older, *newer = w->newer;
	bool known;

	for (uint32_t p = 0; p < older->nports; p++) {
		const struct topo_port *was = &older->ports[p], *peer = topo_peer(older, was), *is;

		if (!peer || !names_link(older, was, peer))
			continue;
		is = same_link(older, newer, w->new_of_old, was, &known);
		if (is)
			compare_link(w, was, is);
		else if (known)
			add(w, DIFF_LINK_GONE, was->node, w->new_of_old[was->node], was->num);
	}
	for (uint32_t p = 0; p < newer->nports; p++) {
		const struct topo_port *is = &newer->ports[p], *peer = topo_peer(newer, is);

		if (!peer || !names_link(newer, is, peer))
			continue;
		if (!same_link(newer, older, w->old_of_new, is, &known) && known)
			add(w, DIFF_LINK_NEW, w->old_of_new[is->node], is->node, is->num);
	}
}

static int compare_items(const void *va, const void *vb)
{
	static const uint8_t order[] = {
		[DIFF_NODE_GONE] = 0,  [DIFF_LINK_GONE] = 1, [DIFF_LINK_DOWN] = 2,
		[DIFF_NODE_NEW] = 3,   [DIFF_LINK_NEW] = 4,  [DIFF_LINK_UP] = 5,
		[DIFF_LINK_SPEED] = 6, [DIFF_DESC] = 7,
	};
	const struct diff_item *a = va, *b = vb;

	return sort_order(order[a->kind], order[b->kind]) ?: sort_order(a->new_node, b->new_node) ?:
	       sort_order(a->old_node, b->old_node) ?: sort_order(a->port, b->port);
}

struct diff *diff_new(const struct topo *older, const struct topo *newer)
{
	struct diff_work w = { .older = older, .newer = newer, .diff = mem_new(w.diff) };

	if (topo_is_again(older, newer)) {
		/* Nothing but ports differs. */
		for (uint32_t p = 0; p < w.older->nports; p++) {
			const struct topo_port *was = &w.older->ports[p], *is = &w.newer->ports[p];

			if ((was->link_up != is->link_up || was->speed != is->speed ||
			     was->width != is->width) &&
			    is->peer != TOPO_NONE &&
			    names_link(w.newer, is, topo_peer(w.newer, is)))
				compare_link(&w, was, is);
		}
	} else {
		w.new_of_old = mem_array(w.new_of_old, w.older->nnodes);
		w.old_of_new = mem_array(w.old_of_new, w.newer->nnodes);
		memset(w.old_of_new, 0xff, w.newer->nnodes * sizeof(*w.old_of_new));
		for (uint32_t n = 0; n < w.older->nnodes; n++) {
			w.new_of_old[n] = topo_find(w.newer, w.older->nodes[n].guid);
			if (w.new_of_old[n] != TOPO_NONE)
				w.old_of_new[w.new_of_old[n]] = n;
		}
		for (uint32_t n = 0; n < w.older->nnodes; n++) {
			uint32_t now = w.new_of_old[n];

			if (now == TOPO_NONE)
				add(&w, DIFF_NODE_GONE, n, TOPO_NONE, 0);
			else if (strcmp(w.older->nodes[n].desc, w.newer->nodes[now].desc))
				add(&w, DIFF_DESC, n, now, 0);
		}
		for (uint32_t n = 0; n < w.newer->nnodes; n++)
			if (w.old_of_new[n] == TOPO_NONE)
				add(&w, DIFF_NODE_NEW, TOPO_NONE, n, 0);

		compare_links(&w);
	}
	if (w.diff->count)
		qsort(w.diff->items, w.diff->count, sizeof(*w.diff->items), compare_items);
	free(w.new_of_old);
	free(w.old_of_new);
	return w.diff;
}

void diff_free(struct diff *d)
{
	if (!d)
		return;
	free(d->items);
	free(d);
}

/* ---- Text --------------------------------------------------------------------------- */

int diff_describe(const struct topo *older, const struct topo *newer, const struct diff_item *item,
		  char *buf, size_t size)
{
	const struct topo_node *node = item->new_node != TOPO_NONE ? &newer->nodes[item->new_node]
								   : &older->nodes[item->old_node];

	switch (item->kind) {
	case DIFF_NODE_NEW:
		return snprintf(buf, size, "%s 0x%016" PRIx64 ": new", node->name, node->guid);
	case DIFF_NODE_GONE:
		return snprintf(buf, size, "%s 0x%016" PRIx64 ": gone", node->name, node->guid);
	case DIFF_DESC:
		return snprintf(buf, size, "%s 0x%016" PRIx64 ": name changed, was '%s'",
				node->name, node->guid, older->nodes[item->old_node].desc);
	default: {
		static const char *const what[] = {
			[DIFF_LINK_UP] = "up",
			[DIFF_LINK_DOWN] = "down",
			[DIFF_LINK_NEW] = "new",
			[DIFF_LINK_GONE] = "gone",
		};
		const struct topo *t = item->kind == DIFF_LINK_GONE ? older : newer;
		uint32_t n = item->kind == DIFF_LINK_GONE ? item->old_node : item->new_node;
		const struct topo_port *port = topo_port(t, n, item->port),
				       *peer = topo_peer(t, port), *was;
		const char *name = t->nodes[n].name, *peer_name = t->nodes[peer->node].name;

		if (item->kind != DIFF_LINK_SPEED)
			return snprintf(buf, size, "%s p%u - %s p%u: %s", name, port->num,
					peer_name, peer->num, what[item->kind]);
		was = topo_port(older, item->old_node, item->port);
		return snprintf(buf, size, "%s p%u - %s p%u: %ux%s, was %ux%s", name, port->num,
				peer_name, peer->num, port->width, topo_speed_name(port->speed),
				was->width, topo_speed_name(was->speed));
	}
	}
}
