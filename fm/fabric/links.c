/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_links: which links tables may lead over.
 *
 * Data pass a link when both its ends are Active. Once the fabric was up, a link between two switches that is not counts for
 * routing like one that is down: its place in the design stays free. So a repair is brought up first, then published, and the
 * safe order (routing/order/order.h) leads nothing over it before; a link that can not be made Active takes none of the traffic.
 *
 * A link that bounced, and is up again when it is looked at, goes on to count while it is brought up: that is quicker than to lead
 * around it. Not so where its switch rebooted, nor for longer than LATE_US.
 *
 * A dark fabric, one without a link between switches that is Active, or most of whose were not when it was first met and which was not up since,
 * has nothing to lose: its links are activated beside the writing of its tables, and count as soon as they are up.
 *
 * So has a leaf none of whose links to other switches is Active: only its own hosts are behind it.
 *
 * When bring-up has ended, or LATE_US after it began to make links Active if it takes so long, the next update
 * publishes those.
 */
#include "fm/fabric/own.h"

#define LATE_US 50000

static struct inventory *inventory_of(const struct fabric *f)
{
	return sweep_inventory(f->sweep);
}

static bool decides(const struct fabric *f)
{
	return inventory_of(f)->nactive && (f->settle.told_up || f->lit);
}

/* Before there are levels: SHARP's aggregation nodes, which look like hosts, are at any height. */
static bool has_hosts(const struct inv_node *node)
{
	for (unsigned p = 1; p <= node->nports; p++) {
		const struct inv_node *peer = node->ports[p].peer;

		if (peer && !inv_is_switch(peer) && !inv_is_sharp(peer))
			return true;
	}
	return false;
}

static void guess_leaves(const struct inventory *inv)
{
	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		node->leaf = inv_is_switch(node) && has_hosts(node);
}

void fabric_links_published(struct fabric *f, const struct topo *older)
{
	if (inventory_of(f)->nbounced)
		loop_timer_set(f->links_timer, LATE_US);
	if (older && topo_is_again(older, f->topo))
		return;
	for (uint32_t sw = 0; sw < f->topo->nswitches; sw++) {
		struct inv_node *node = inventory_find(inventory_of(f), f->topo->nodes[sw].guid);

		if (node)
			node->leaf = f->topo->nodes[sw].level == 0;
	}
}

struct fabric_links fabric_links_judge(struct fabric *f)
{
	struct inventory *inv = inventory_of(f);

	if (!f->topo)
		guess_leaves(inv);
	if (!f->topo)
		f->lit = 2 * inv->nactive > inv->nbetween;
	inv->active_decides = decides(f);
	return (struct fabric_links){ .turns = inv->turns, .decided = inv->active_decides };
}

static bool differ(const struct fabric *f)
{
	const struct inventory *inv = inventory_of(f);

	if (!f->topo)
		return false;
	if (!f->links.decided)
		return decides(f) && inv->nactive != inv->nbetween;
	return !decides(f) || f->links.turns != inv->turns;
}

bool fabric_links_follow(struct fabric *f)
{
	if (fabric_updates(f) || !differ(f)) /* behind that one bring-up ends anew */
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

	if (f->links.decided && !loop_timer_armed(f->links_timer))
		loop_timer_set(f->links_timer, LATE_US);
}

void fabric_links_init(struct fabric *f)
{
	f->links_timer = loop_timer_new(f->loop, late_cb, f);
}

void fabric_links_fini(struct fabric *f)
{
	loop_timer_free(f->links_timer);
}
