/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/maintenance/hold.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "fm/core/name_list.h"
#include "fm/core/name_patterns.h"
#include "fm/fabric/announce.h"
#include "fm/fabric/view.h"
#include "topology/mem.h"

#define CHECK_US    10000000 /* between two checks of what is held or refused */
#define REFUSED_MAX 1024
#define SECOND_US   1000000ull
#define SHARE	    200 /* 1 of so many links may be held, if that is more than max_links */

static struct inv_link_name name_of(const struct holds *h, guid_t node, uint8_t port)
{
	return inventory_link_name(h->services->inventory, node, port);
}

/* ---- Whether a link may be held -------------------------------------------------------------- */

static const struct inv_port *port_of(const struct holds *h, guid_t guid, uint8_t num,
				      const struct inv_node **node)
{
	*node = inventory_find(h->services->inventory, guid);
	return *node && num && num <= (*node)->nports ? &(*node)->ports[num] : NULL;
}

static bool end_is_excluded(const char *patterns, const struct inv_node *node, uint8_t num)
{
	char *guid = mem_printf("0x%016" PRIx64, node->guid);
	char *port = mem_printf("%s:%u", node->desc, num),
	     *guid_port = mem_printf("%s:%u", guid, num);
	bool is = name_patterns_match(patterns, node->desc, port) ||
		  name_patterns_match(patterns, guid, guid_port);

	free(guid);
	free(port);
	free(guid_port);
	return is;
}

static bool is_excluded(const struct holds *h, const struct inv_node *node,
			const struct inv_port *port, uint8_t num)
{
	const char *patterns = h->services->conf->ber.exclude;

	return end_is_excluded(patterns, node, num) ||
	       end_is_excluded(patterns, port->peer, port->peer_port);
}

/* A hold that is waived isolates nothing and takes nobody's place. */
static unsigned count_held(const struct holds *h)
{
	const struct quarantine_list *known = &h->quarantines->known;
	unsigned count = 0;

	for (unsigned i = 0; i < known->count; i++)
		count += known->list[i].held && !known->list[i].over && !known->list[i].waived;
	return count;
}

static unsigned held_max(const struct holds *h)
{
	const struct topo *t = fabric_view(h->fabric).topo;
	unsigned most = (unsigned)h->services->conf->ber.max_links;
	unsigned share = t ? topo_links(t) / SHARE : 0;

	return most && share > most ? share : most;
}

static struct hold_refused *find_refused(const struct holds *h, guid_t node, uint8_t port)
{
	for (unsigned i = 0; i < h->nrefused; i++)
		if (h->refused[i].node == node && h->refused[i].port == port)
			return &h->refused[i];
	return NULL;
}

static enum hold_answer judge(const struct holds *h, guid_t guid, uint8_t num)
{
	const struct hold_refused *before = find_refused(h, guid, num);
	const struct inv_node *node;
	const struct inv_port *port = port_of(h, guid, num, &node);

	if (!port || !port->peer || !inv_is_switch(node) || !inv_is_switch(port->peer))
		return HOLD_HOST_LINK;
	if (is_excluded(h, node, port, num))
		return HOLD_EXCLUDED;
	if (before && before->why == HOLD_RELEASED)
		return HOLD_RELEASED;
	if (quarantines_need_link(h->quarantines, guid, num))
		return HOLD_NEEDED;
	if (count_held(h) >= held_max(h))
		return HOLD_FULL;
	return h->services->conf->ber.dry_run ? HOLD_DRY_RUN : HOLD_YES;
}

/* ---- Requests -------------------------------------------------------------------------------- */

static const char *const reasons[] = {
	[HOLD_HOST_LINK] = "a host's link stays in use",
	[HOLD_EXCLUDED] = "excluded by health_ber_exclude, it stays in use",
	[HOLD_RELEASED] = "released by an operator, it stays in use",
	[HOLD_NEEDED] = "it stays in use: a switch would have too few other links to the next tier",
	[HOLD_FULL] = "it stays in use: health_ber_max_links are isolated already",
	[HOLD_DRY_RUN] = "dry run: it would be isolated from routing",
};

static void check_soon(struct holds *h)
{
	if (!loop_timer_armed(h->timer))
		loop_timer_set(h->timer, CHECK_US);
}

static struct hold_refused *note_refused(struct holds *h, guid_t node, uint8_t port)
{
	struct hold_refused *it = find_refused(h, node, port);

	if (it || h->nrefused == REFUSED_MAX)
		return it;
	h->refused = mem_resize(h->refused, h->nrefused + 1, sizeof(*h->refused));
	it = &h->refused[h->nrefused++];
	*it = (struct hold_refused){ .node = node, .port = port, .why = HOLD_YES };
	check_soon(h);
	return it;
}

static void refuse(struct holds *h, guid_t node, uint8_t port, enum hold_answer answer,
		   const char *why)
{
	struct hold_refused *it = note_refused(h, node, port);

	if (!it || it->why == answer)
		return;
	it->why = answer;
	event_log_add(h->services->events, LOG_WARNING, "quarantine-refused",
		      json_pack("{ss}", "why", why), "%s: %s; %s", name_of(h, node, port).text, why,
		      reasons[answer]);
}

static void drop_refused(struct holds *h, struct hold_refused *it)
{
	*it = h->refused[--h->nrefused];
}

void holds_request(struct holds *h, guid_t node, uint8_t port, const char *why)
{
	const struct quarantine *q;
	struct hold_refused *refused;
	enum hold_answer answer;

	quarantines_take_lower_end(h->quarantines, &node, &port);
	q = quarantines_find(h->quarantines, node, port);
	if (q && !q->over)
		return; /* after its end the hold is requested again */
	answer = judge(h, node, port);
	if (answer != HOLD_YES) {
		refuse(h, node, port, answer, why);
		return;
	}
	refused = find_refused(h, node, port);
	if (refused)
		drop_refused(h, refused);
	quarantines_hold(h->quarantines, node, port, why);
	check_soon(h);
}

void holds_released(struct holds *h, const struct quarantine_list *released)
{
	for (unsigned i = 0; i < released->count; i++) {
		const struct quarantine *q = &released->list[i];
		struct hold_refused *it = note_refused(h, q->node, q->port);

		if (it)
			it->why = HOLD_RELEASED;
	}
}

void holds_review(struct holds *h)
{
	const struct quarantine_list *known = &h->quarantines->known;
	struct name_list links = { 0 };

	for (unsigned i = 0; i < known->count; i++)
		if (known->list[i].held && !known->list[i].over && known->list[i].waived)
			name_list_add(&links,
				      name_of(h, known->list[i].node, known->list[i].port).text);
	for (unsigned i = 0; i < h->nrefused; i++)
		if (h->refused[i].why == HOLD_NEEDED || h->refused[i].why == HOLD_FULL)
			name_list_add(&links,
				      name_of(h, h->refused[i].node, h->refused[i].port).text);
	name_list_alert(h->services->alerts, "links-errors", &links,
			"link with too many errors stays in use",
			"links with too many errors stay in use");
}

/* ---- Ends ------------------------------------------------------------------------------------ */

/* A link whose hold is waived carries traffic: it is judged again with its next errors. */
static void check_held(struct holds *h)
{
	const struct quarantine_list *known = &h->quarantines->known;

	for (unsigned i = known->count; i-- > 0;) {
		const struct quarantine *q = &known->list[i];

		if (!q->held || q->over)
			continue;
		if (q->waived)
			quarantines_drop_hold(h->quarantines, q->node, q->port);
		else if (fabric_link_clean_us(h->fabric, q->node, q->port) >=
			 q->seconds * SECOND_US)
			quarantines_end_hold(h->quarantines, q->node, q->port);
	}
}

static void forget_clean(struct holds *h)
{
	for (unsigned i = h->nrefused; i-- > 0;)
		if (fabric_link_clean_us(h->fabric, h->refused[i].node, h->refused[i].port))
			drop_refused(h, &h->refused[i]);
}

static bool any_held(const struct holds *h)
{
	const struct quarantine_list *known = &h->quarantines->known;

	for (unsigned i = 0; i < known->count; i++)
		if (known->list[i].held && !known->list[i].over)
			return true;
	return false;
}

static void timer_cb(void *arg)
{
	struct holds *h = arg;

	check_held(h);
	forget_clean(h);
	if (any_held(h) || h->nrefused)
		check_soon(h);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void holds_load(struct holds *h)
{
	if (any_held(h))
		check_soon(h);
}

void holds_init(struct holds *h, struct fabric *fabric, const struct fabric_services *services,
		struct quarantines *quarantines)
{
	*h = (struct holds){ .fabric = fabric, .services = services, .quarantines = quarantines };
	h->timer = loop_timer_new(services->loop, timer_cb, h);
}

void holds_fini(struct holds *h)
{
	loop_timer_free(h->timer);
	free(h->refused);
}
