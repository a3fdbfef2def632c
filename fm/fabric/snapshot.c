/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/fabric/pipe.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"
#include "topology/base/sort.h"

/* ---- Which links tables may lead over -------------------------------------------------------- */

/*
 * Data pass a link when both its ends are Active. Once the fabric was up, a link between two
 * switches that is not counts for routing like one that is down: its place in the design stays
 * free. So a repair is brought up first, then published, and the safe order (routing/order/order.h)
 * leads nothing over it before; a link that cannot be made Active takes none of the traffic.
 *
 * A link that bounced, and is up again when it is swept, goes on to count while it is brought up:
 * that is quicker than to lead around it. Not so where its switch rebooted, nor for longer than
 * LATE_US.
 *
 * A dark fabric has nothing to lose: no link between switches is Active, or most were not when it
 * was first met and it was not up since. Its links are activated beside the writing of its tables,
 * and count as soon as they are up. The same holds for a leaf none of whose links to other switches
 * is Active.
 *
 * When bring-up has ended, or LATE_US after it began to make links Active if it takes so long, the
 * next update publishes those.
 */

#define LATE_US 50000

struct links {
	struct loop_timer *late; /* bring-up takes long, or a bounced link does not come back */
	bool lit; /* the fabric was up when it was first met: most of its links were Active */
};

static struct inventory *inventory_of(const struct fabric *f)
{
	return sweep_inventory(f->sweep);
}

static bool decides(const struct fabric *f)
{
	return inventory_of(f)->nactive && (f->progress.up_us || f->links->lit);
}

void fabric_links_published(struct fabric *f, const struct topo *before)
{
	const struct topo *now = fabric_view(f).topo;

	if (inventory_of(f)->nbounced)
		loop_timer_set(f->links->late, LATE_US);
	if (before && topo_is_again(before, now))
		return;
	for (uint32_t sw = 0; sw < now->nswitches; sw++) {
		struct inv_node *node = inventory_find(inventory_of(f), now->nodes[sw].guid);

		if (node)
			inv_node_mark(node, INV_LEAF, now->nodes[sw].level == 0);
	}
}

static bool differ(const struct fabric *f)
{
	const struct inventory *inv = inventory_of(f);

	return f->now.topo &&
	       (!f->now.links.active_decides ? decides(f) && inv->nactive != inv->nbetween
					     : !decides(f) || f->now.links.turns != inv->turns);
}

bool fabric_links_follow(struct fabric *f)
{
	if (fabric_updating(f) || !differ(f))
		return false;
	fabric_request_reroute(f, "links became active");
	return true;
}

bool fabric_links_brought_up(struct fabric *f)
{
	inventory_end_bounces(inventory_of(f));
	return fabric_links_follow(f);
}

static void late_cb(void *arg)
{
	fabric_links_brought_up(arg);
}

void fabric_link_activated(void *arg)
{
	struct fabric *f = arg;

	if (f->now.links.active_decides && !loop_timer_armed(f->links->late))
		loop_timer_set(f->links->late, LATE_US);
}

void fabric_links_init(struct fabric *f)
{
	f->links = mem_new(f->links);
	f->links->late = loop_timer_new(f->loop, late_cb, f);
}

void fabric_links_fini(struct fabric *f)
{
	loop_timer_free(f->links->late);
	free(f->links);
}

/* ---- Snapshot -------------------------------------------------------------------------------- */

struct snapshot_parts fabric_snapshot_collect(struct fabric *f)
{
	struct inventory *inv = sweep_inventory(f->sweep);
	struct snapshot_parts draft = { .shapes = inv->shapes,
					.min_share = f->conf.routing.transit_min_share };

	MODULES_CALL(f->kept.modules, annotate, inv);
	traps_collected(f->traps);

	struct inventory *rule_inv = inventory_of(f);

	/* Before there are levels: SHARP's aggregation nodes look like hosts, at any height. */
	if (!f->now.topo)
		INVENTORY_EACH (rule_inv, node)
			inv_node_mark(node, INV_LEAF,
				      inv_is_switch(node) &&
					      any_of(p, 1, node->nports + 1,
						     node->ports[p].peer &&
							     !inv_is_switch(node->ports[p].peer) &&
							     !inv_is_sharp(node->ports[p].peer)));
	if (!f->now.topo)
		f->links->lit = 2 * rule_inv->nactive > rule_inv->nbetween;
	rule_inv->active_decides = decides(f);
	draft.links = (struct link_rule){ .turns = rule_inv->turns,
					  .active_decides = rule_inv->active_decides };

	if (f->now.topo)
		draft.topo = inventory_snapshot_ports(inv, f->now.topo, f->now.shapes);
	if (!draft.topo)
		draft.builder = inventory_snapshot_builder(inv);
	return draft;
}

struct topo *fabric_snapshot_freeze(struct snapshot_parts *draft)
{
	struct topo *t = draft->topo ? draft->topo : topo_freeze(draft->builder);

	topo_hold_slow(t, draft->min_share);
	*draft = (struct snapshot_parts){ .shapes = draft->shapes, .links = draft->links };
	return t;
}

void fabric_snapshot_drop(struct snapshot_parts *draft)
{
	topo_builder_free(draft->builder);
	topo_unref(draft->topo);
	*draft = (struct snapshot_parts){ 0 };
}
