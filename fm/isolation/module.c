/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/inventory/port_setup.h"
#include "fm/isolation/isolation.h"
#include "fm/isolation/module.h"
#include "fm/keys/lookup.h"
#include "fm/sweep/bringup.h"
#include "fm/sweep/sweep.h"
#include "topology/base/mem.h"

/* ---- How many may be isolated ---------------------------------------------------------------- */

/* A link counts once, by its end with the lower index, in the tier of its lower switch. */

#define SHARE 4 /* of a tier, a quarter */

enum { IN_FORCE = 1, WANTED = 2 };

struct judge {
	const struct topo *t;
	uint8_t *links;						    /* by port of their lower end */
	unsigned all[TOPO_MAX_LEVEL + 1], gone[TOPO_MAX_LEVEL + 1]; /* by tier */
	bool *bare; /* by switch: a leaf that would lose its last uplink */
};

/* The far end of a link to another switch, else NULL. */
static const struct topo_port *far_end(const struct topo *t, const struct topo_port *port)
{
	const struct topo_port *peer = topo_peer(t, port);

	return port->num && peer && peer->node < t->nswitches && peer->node != port->node ? peer
											  : NULL;
}

static uint32_t link_of(const struct topo *t, const struct topo_port *port)
{
	uint32_t at = port - t->ports;

	return at < port->peer ? at : port->peer;
}

static unsigned tier_of(const struct topo *t, const struct topo_port *port)
{
	unsigned a = t->nodes[port->node].level, b = t->nodes[t->ports[port->peer].node].level;

	return a < b ? a : b;
}

/* Ports that an ask is about are from..to. */
static void ask_ports(const struct topo *t, const struct isolate_ask *ask, unsigned *from,
		      unsigned *to)
{
	*from = ask->port ? ask->port : 1;
	*to = ask->port ? ask->port : t->nodes[ask->node].nports;
}

/* Whether new isolations would take the last of a leaf's uplinks that are in use. */
static bool is_bared(const struct judge *j, uint32_t sw)
{
	unsigned wanted = 0, left = 0;

	for (unsigned num = 1; num <= j->t->nodes[sw].nports; num++) {
		const struct topo_port *port = topo_port(j->t, sw, num);
		const struct topo_port *peer = far_end(j->t, port);

		if (!peer || !port->link_up)
			continue;

		uint8_t link = j->links[link_of(j->t, port)];

		wanted += link == WANTED;
		left += !link && !port->cordoned && !peer->cordoned;
	}
	return wanted && !left;
}

static bool is_allowed(const struct judge *j, const struct isolate_ask *ask)
{
	unsigned from, to;

	ask_ports(j->t, ask, &from, &to);
	for (unsigned num = from; num <= to; num++) {
		const struct topo_port *port = topo_port(j->t, ask->node, num);
		const struct topo_port *peer = far_end(j->t, port);

		if (!peer)
			continue;
		if (j->gone[tier_of(j->t, port)] * SHARE > j->all[tier_of(j->t, port)] ||
		    j->bare[peer->node] || (ask->port && j->bare[ask->node]))
			return false;
	}
	return true;
}

uint32_t isolate_judge(const struct topo *t, struct isolate_ask *asks, uint32_t count)
{
	struct judge j = { .t = t,
			   .links = mem_alloc(t->nswitch_ports + 1u, 1),
			   .bare = mem_array(j.bare, t->nswitches + 1u) };
	uint32_t refused = 0;

	for (uint32_t p = 0; p < j.t->nswitch_ports; p++)
		if (far_end(j.t, &j.t->ports[p]) && p < j.t->ports[p].peer)
			j.all[tier_of(j.t, &j.t->ports[p])]++;
	for (uint32_t i = 0; i < count; i++) {
		unsigned from, to;

		ask_ports(j.t, &asks[i], &from, &to);
		for (unsigned num = from; num <= to; num++) {
			const struct topo_port *port = topo_port(j.t, asks[i].node, num);

			if (!far_end(j.t, port) || !port->link_up)
				continue; /* what carries nothing can't be taken away */
			uint8_t *link = &j.links[link_of(j.t, port)];

			j.gone[tier_of(j.t, port)] += !*link;
			*link |= asks[i].in_force ? IN_FORCE : WANTED;
		}
	}
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		j.bare[sw] = t->nodes[sw].level == 0 && is_bared(&j, sw);
	for (uint32_t i = 0; i < count; i++) {
		asks[i].allowed = asks[i].in_force || is_allowed(&j, &asks[i]);
		refused += !asks[i].allowed;
	}
	free(j.links);
	free(j.bare);
	return refused;
}

#define GATHER_US 100000

/* ---- The judgement --------------------------------------------------------------------------- */

static void put_in_force(struct isolated *it)
{
	it->judged = it->in_force = true;
	if (it->cause == ISOLATED_WRONG_TABLES)
		wrong_list_changed(it->list);
}

/* Judges switches and links between them. True = something new is in force. */
static bool judge_switches(struct isolation *is, const struct topo *t)
{
	struct isolate_ask *asks = mem_array(asks, is->count + 1u);
	unsigned *of = mem_array(of, is->count + 1u);

	/*
	 * Collects the entries that are switches, or links between them, of the published snapshot.
	 */
	uint32_t count = 0;

	for (unsigned i = 0; i < is->count; i++) {
		const struct isolated *it = is->all[i];
		uint32_t node = topo_find(t, it->node);

		/*
		 * Whether other switches are still being probed: their number decides about this
		 * one too.
		 */
		if (node >= t->nswitches || it->port > t->nodes[node].nports ||
		    ((it->cause == ISOLATED_NO_SETS || it->cause == ISOLATED_FOREIGN_KEY) &&
		     !it->judged && is->suspects))
			continue;
		of[count] = i;
		asks[count++] = (struct isolate_ask){ .node = node,
						      .port = it->port,
						      .in_force = it->in_force };
	}

	bool changed = false;

	isolate_judge(t, asks, count);
	for (uint32_t i = 0; i < count; i++) {
		struct isolated *it = is->all[of[i]];

		it->judged = true;
		if (!asks[i].allowed)
			isolation_ask_keys(is, it);
		else if (!it->in_force) {
			put_in_force(it);
			changed = true;
		}
	}
	free(asks);
	free(of);
	return changed;
}

static void reroute(struct isolation *is)
{
	fabric_request_reroute(is->fabric, "isolations changed");
}

static void judge_now(struct isolation *is, const struct topo *t)
{
	loop_timer_stop(is->judge);
	is->keys = KEYS_UNKNOWN;

	/*
	 * Puts hosts and their links in force: no traffic passes through them, they are only
	 * reported.
	 */
	for (unsigned i = 0; i < is->count; i++) {
		struct isolated *it = is->all[i];
		const struct inv_node *node = isolated_node(it);

		if (node && !it->in_force &&
		    (it->port ? !isolated_is_transit(node, it->port) : !inv_is_switch(node)))
			put_in_force(it);
	}

	if (judge_switches(is, t))
		reroute(is);
	isolation_raise_alerts(is);
}

static void judge_cb(void *arg)
{
	struct isolation *is = arg;
	const struct topo *t = fabric_view(is->fabric).topo;

	if (t)
		judge_now(is, t);
	else
		loop_timer_set(is->judge, GATHER_US);
}

/* ---- Adding and releasing -------------------------------------------------------------------- */

static void arm_probe(struct isolation *is)
{
	for (unsigned i = 0; i < is->count; i++)
		if (is->all[i]->cause == ISOLATED_NO_SETS) {
			if (!loop_timer_armed(is->probe))
				loop_timer_set(is->probe, ISOLATION_PROBE_US);
			return;
		}
	loop_timer_stop(is->probe);
}

/* Names a link by its end at a switch; of two switches by the one with the lower GUID. */
static void take_end(const struct inventory *inv, guid_t *guid, uint8_t *num)
{
	const struct inv_node *node = inventory_find(inv, *guid);
	const struct inv_node *peer = node && *num <= node->nports ? node->ports[*num].peer : NULL;

	if (!peer || !inv_is_switch(peer) || (inv_is_switch(node) && peer->guid >= node->guid))
		return;
	*guid = peer->guid;
	*num = node->ports[*num].peer_port;
}

/* Whether a switch is listed as one that takes no Set, or is being probed for that. */
static bool isolation_is_suspect(const struct isolation *is, guid_t sw)
{
	for (const struct suspect *it = is->suspects; it; it = it->next)
		if (it->node == sw)
			return true;
	return isolated_find(is, sw, 0, ISOLATED_NO_SETS);
}

void isolation_add(struct isolation *is, guid_t guid, uint8_t port, enum isolation_cause cause)
{
	const struct inv_node *node, *peer;

	take_end(is->services.inventory, &guid, &port);
	node = inventory_find(is->services.inventory, guid);
	peer = node && port <= node->nports ? node->ports[port].peer : NULL;
	/* Where a switch at one of the link's ends is suspect, it is judged first. */
	if (isolated_find(is, guid, port, cause) ||
	    (cause == ISOLATED_NOT_ACTIVE &&
	     (isolation_is_suspect(is, guid) || (peer && isolation_is_suspect(is, peer->guid)))) ||
	    !isolated_add(is, guid, port, cause))
		return;
	arm_probe(is);
	if (!loop_timer_armed(is->judge))
		loop_timer_set(is->judge, GATHER_US);
}

/* Removes an entry; others may be put in force then. */
static void drop(struct isolated *it)
{
	struct isolation *is = it->list;

	isolated_remove(it);
	arm_probe(is);
	loop_timer_set(is->judge, 0);
}

static void isolation_release_it(struct isolated *it, const char *why)
{
	struct isolation *is = it->list;

	log_line(LOG_SWEEP, LOG_NOTICE, "%s: %s", isolated_name(it).text, why);
	drop(it);
	reroute(is);
}

/* ---- Links that do not become Active --------------------------------------------------------- */

/* ---- Marks ----------------------------------------------------------------------------------- */

/*
 * Whether the fault is over: its device is gone, works, has rebooted, or the fault is known to be a
 * foreign key.
 */
static bool has_ended(const struct isolated *it)
{
	const struct inv_node *node = isolated_node(it);

	if (!node || (it->port && !node->ports[it->port].peer))
		return true;
	if (it->cause == ISOLATED_NO_SETS)
		return node->gone || node->rebooted ||
		       isolated_find(it->list, it->node, 0, ISOLATED_FOREIGN_KEY);
	if (it->cause == ISOLATED_FOREIGN_KEY)
		return !isolated_has_foreign_key(it->list, node);
	return it->cause == ISOLATED_NOT_ACTIVE &&
	       (!node->ports[it->port].link_up || isolated_is_active(&node->ports[it->port]));
}

/*
 * Called before a snapshot: lists switches with an M_Key of another manager, drops what is over,
 * and sets the marks of the rest.
 */
static void isolation_mark(struct isolation *is)
{
	/* Ahead of the first write: the key was read by the sweep that this snapshot is made of. */
	const struct inventory *inv = is->services.inventory;

	INVENTORY_EACH (inv, node)
		if (isolated_has_foreign_key(is, node))
			isolation_add(is, node->guid, 0, ISOLATED_FOREIGN_KEY);

	for (unsigned i = is->count; i-- > 0;)
		if (has_ended(is->all[i]))
			drop(is->all[i]);
	isolated_mark_all(is);
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* ---- Module ---------------------------------------------------------------------------------- */

#define SOON_US	 250000 /* the first probe behind a cold start; then at twice the time */
#define TRIAL_US 55000000

static struct inv_node *node_of(const struct wrong_table *wrong)
{
	return inventory_find(wrong->isolation->services.inventory, wrong->at.sw);
}

static struct table_source source_of(const struct wrong_table *wrong)
{
	const struct fabric_services *services = &wrong->isolation->services;
	struct fabric_view view = fabric_view(wrong->isolation->fabric);

	return (struct table_source){ .mad = services->mad,
				      .inventory = services->inventory,
				      .mft = services->mft,
				      .topo = view.topo,
				      .tables = view.tables };
}

static void set_mark(const struct wrong_table *wrong, bool on)
{
	struct inv_node *node = node_of(wrong);

	if (node)
		inv_node_mark(node, INV_WRONG_TABLES, on);
}

/* Lists the switch of a block that it does not hold although it was written twice. */
static void wrong_tables_add(struct isolation *is, const struct table_block *at)
{
	if (wrong_list_find(is, at->sw))
		return;

	struct wrong_table *wrong = wrong_list_add(is, at);

	wrong->met = true;
	set_mark(wrong, true);
	isolation_add(is, at->sw, 0, ISOLATED_WRONG_TABLES);
	if (!loop_timer_armed(is->trial))
		loop_timer_set(is->trial, TRIAL_US);
}

/* ---- Trials ---------------------------------------------------------------------------------- */

/*
 * The content to write in this step of the trial; in a multicast trial entries of the first ports
 * are changed and changed back.
 */
static struct table_block block_of(const struct wrong_table *wrong)
{
	struct table_block at = wrong->at;

	if (wrong->step != TRY_BLOCK)
		at.position = 0;
	at.altered = wrong->step == TRY_CHANGED;
	return at;
}

static mad_done_fn written;

static void write_block(struct wrong_table *wrong)
{
	struct table_source source = source_of(wrong);
	struct table_block at = block_of(wrong);

	wrong->token = table_block_set(&source, &at, written, wrong);
}

static void was_read(void *arg, const struct mad_answer *answer)
{
	struct wrong_table *wrong = arg;
	struct table_source source = source_of(wrong);
	struct table_block at = block_of(wrong);

	wrong->token = 0;
	wrong->failed |= answer->result != MAD_OK || !table_block_held(&source, &at, answer->data);
	if (wrong->step == TRY_CHANGED) {
		wrong->step = TRY_BACK; /* whatever was read */
		write_block(wrong);
	} else if (wrong->failed) {
		return;
	} else if (wrong->step == TRY_BACK) {
		wrong->step = TRY_BLOCK;
		write_block(wrong);
	} else if (!mft_busy(wrong->isolation->services.mft)) {
		struct isolation *is = wrong->isolation;
		guid_t sw = wrong->at.sw;

		set_mark(wrong, false);
		wrong_list_remove(wrong);
		program_forget(is->services.program, sw);
		mft_forget(is->services.mft, sw);

		/* The fault is over: removes it from the list, logs why and requests a reroute. */
		uint8_t port = 0;

		take_end(is->services.inventory, &sw, &port);

		struct isolated *it = isolated_find(is, sw, port, ISOLATED_WRONG_TABLES);

		if (it)
			isolation_release_it(it, "works again");

		wrong_list_changed(is);
		fabric_request_reroute(is->fabric, "a switch holds its tables again");
	}
}

static void written(void *arg, const struct mad_answer *answer)
{
	struct wrong_table *wrong = arg;
	struct table_source source = source_of(wrong);
	struct table_block at = block_of(wrong);

	wrong->token = 0;
	if (answer->result == MAD_OK)
		wrong->token = table_block_get(&source, &at, was_read, wrong);
}

static void trial_cb(void *arg)
{
	struct isolation *is = arg;
	bool is_published = fabric_view(is->fabric).topo;
	bool is_master = fabric_is_master(is->fabric);
	struct wrong_table *wrong, *next;

	for (wrong = is->wrong; wrong; wrong = next) {
		next = wrong->next;
		if (is_master && is_published && !node_of(wrong)) { /* it has left the fabric */
			wrong_list_remove(wrong);
			wrong_list_changed(is);
		} else if (is_master && !wrong->token) {
			wrong->failed = false;
			wrong->step = wrong->at.kind == TABLE_MFT ? TRY_CHANGED : TRY_BLOCK;
			write_block(wrong);
		}
	}
	if (is->wrong)
		loop_timer_set(is->trial, TRIAL_US);
}

/* ---- Life ------------------------------------------------------------------------------------ */

#define SETS_LOST 4 /* Sets, all tries of each, between Gets that are answered: that is no loss */

/* 0 = no path leads there. */
static mad_token set_switch_info(struct isolation *is, const struct inv_node *node,
				 const struct wire_switch_info *info, bool once, mad_done_fn *fn,
				 void *arg)
{
	uint8_t data[64];
	struct mad_path path;
	const struct mad_request request = { .method = WIRE_SET,
					     .attr_id = WIRE_SWITCH_INFO,
					     .path = &path,
					     .device = node->guid,
					     .data = data,
					     .once = once,
					     .doubtful = true };

	if (!inventory_port_path(is->services.inventory, node, 0, &path))
		return 0;
	wire_switch_info_encode(info, data);
	return mad_send(is->services.mad, &request, fn, arg);
}

/* ---- Suspects -------------------------------------------------------------------------------- */

static void suspect_free(struct suspect *suspect)
{
	struct isolation *is = suspect->list;
	struct suspect **link = &is->suspects;

	while (*link != suspect)
		link = &(*link)->next;
	*link = suspect->next;
	mad_cancel(is->services.mad, suspect->token);
	free(suspect);
}

static void suspect_drop(struct suspect *suspect)
{
	struct isolation *is = suspect->list;

	suspect_free(suspect);
	/* Judges the list from the loop, as no switch is being probed any more. */
	if (!is->suspects && is->count)
		loop_timer_set(is->judge, 0);
}

static void suspect_get(struct suspect *suspect, uint16_t attr_id, mad_done_fn *fn)
{
	struct isolation *is = suspect->list;
	const struct inv_node *node = inventory_find(is->services.inventory, suspect->node);
	struct mad_request request = { .method = WIRE_GET, .attr_id = attr_id };
	struct mad_path path;

	if (!node || !inventory_port_path(is->services.inventory, node, 0, &path)) {
		suspect_drop(suspect);
		return;
	}
	request.path = &path;
	request.device = suspect->node;
	suspect->token = mad_send(is->services.mad, &request, fn, suspect);
}

/* Lists it for its key, if that is somebody else's, otherwise as one that takes no Set. */
static void suspect_judge(struct suspect *suspect)
{
	struct isolation *is = suspect->list;
	const struct inv_node *node = inventory_find(is->services.inventory, suspect->node);

	if (node)
		isolation_add(is, suspect->node, 0,
			      isolated_has_foreign_key(is, node) ? ISOLATED_FOREIGN_KEY
								 : ISOLATED_NO_SETS);
	suspect_drop(suspect);
}

static mad_done_fn suspect_answered;

/*
 * PortInfo behind a Set that got no answer. A port that hides its key has counted the Set as a
 * violation, if the key is somebody else's (inventory.c).
 */
static void key_answered(void *arg, const struct mad_answer *answer)
{
	struct suspect *suspect = arg;
	struct inventory *inv = suspect->list->services.inventory;
	struct inv_node *node = inventory_find(inv, suspect->node);

	suspect->token = 0;
	if (answer->result == MAD_OK && node) {
		bringup_port_read(inv, node, 0, answer->data);
		inventory_port_changed(inv, node, 0);
	}
	if (suspect->lost < SETS_LOST && !(node && isolated_has_foreign_key(suspect->list, node)))
		suspect_get(suspect, WIRE_SWITCH_INFO, suspect_answered);
	else
		suspect_judge(suspect);
}

static void set_answered(void *arg, const struct mad_answer *answer)
{
	struct suspect *suspect = arg;

	suspect->token = 0;
	if (answer->result == MAD_TIMEOUT) {
		suspect->lost++;
		suspect_get(suspect, WIRE_PORT_INFO, key_answered);
	} else if (answer->result == MAD_STATUS) {
		suspect_judge(suspect);
	} else {
		suspect_drop(suspect);
	}
}

/*
 * The suspect answered a Get: sends it a Set of what the answer contained, as the inventory may be
 * older. PortStateChange is left for the sweep to clear.
 */
static void suspect_answered(void *arg, const struct mad_answer *answer)
{
	struct suspect *suspect = arg;
	const struct inv_node *node =
		inventory_find(suspect->list->services.inventory, suspect->node);
	struct wire_switch_info info;

	suspect->token = 0;
	if (answer->result == MAD_OK && node) {
		wire_switch_info_decode(answer->data, &info);
		info.port_state_change = false;
		suspect->token =
			set_switch_info(suspect->list, node, &info, false, set_answered, suspect);
	}
	if (!suspect->token)
		suspect_drop(suspect);
}

/*
 * A switch did not take a Set: probes it, and lists it if it takes none now. A switch that does not
 * answer a Get either is left to the sweep.
 */
static void refusing_suspect(void *arg, guid_t sw)
{
	struct isolation *is = arg;

	if (isolation_is_suspect(is, sw))
		return;

	struct suspect *suspect = mem_new(suspect);

	*suspect = (struct suspect){ .next = is->suspects, .list = is, .node = sw };
	is->suspects = suspect;
	suspect_get(suspect, WIRE_SWITCH_INFO, suspect_answered);
}

/* ---- Probes ---------------------------------------------------------------------------------- */

/* The probe has cleared PortStateChange: all its ports are read. */
static void probe_answered(void *arg, const struct mad_answer *answer)
{
	struct isolated *it = arg;
	struct inv_node *node = isolated_node(it);

	it->probe = 0;
	if (answer->result != MAD_OK || !node)
		return;
	sweep_node(node)->ports_read = false;
	fabric_request_refresh(it->list->fabric, it->node, "accepts Sets again");
	isolation_release_it(it, "accepts Sets again");
}

static void probe(struct isolated *it)
{
	const struct inv_node *node = isolated_node(it);

	if (it->cause != ISOLATED_NO_SETS || it->probe || !node || node->gone || node->silent)
		return;
	if (isolated_has_foreign_key(it->list, node))
		return; /* listed for that by the next snapshot */
	struct wire_switch_info info = node->sw;

	info.port_state_change = true;
	/* In the minute behind a cold start it may have been packets that were lost. */
	it->probe = set_switch_info(it->list, node, &info, it->list->probe_us == ISOLATION_PROBE_US,
				    probe_answered, it);
}

/* A loop_fn: probes all listed switches, if fmd is master. */
static void refusing_probe(void *isolation)
{
	struct isolation *is = isolation;

	is->probe_us =
		is->probe_us < ISOLATION_PROBE_US / 2 ? 2 * is->probe_us : ISOLATION_PROBE_US;
	loop_timer_set(is->probe, is->probe_us);
	for (unsigned i = 0; i < is->count && fabric_is_master(is->fabric); i++)
		probe(is->all[i]);
}

/* ---- Findings -------------------------------------------------------------------------------- */

static const char *swept(void *room, const struct fabric_swept *swept)
{
	const struct sweep_result *result = swept->result;
	struct isolation *is = room;
	const struct inventory *inv = is->services.inventory;

	if (!result)
		return NULL;
	if (is->count)
		isolation_raise_alerts(is); /* of links whose device has answered meanwhile */
	if (result->refusing) {
		/*
		 * A sweep found switches that answer Gets and take none of many Sets. Of one that
		 * forwards already, or may hold another manager's M_Key, more is asked before it is
		 * isolated; one without tables has nothing to lose, and is asked again soon.
		 */
		INVENTORY_EACH (inv, node) {
			if (!sweep_node(node)->keeps_change || inv_node_is(node, INV_NO_SETS) ||
			    node->gone)
				continue;
			if (node->sw.lft_top || isolated_has_foreign_key(is, node) ||
			    port_key_of(inv, node, 0) == PORT_KEY_HIDDEN) {
				refusing_suspect(is, node->guid);
			} else {
				isolation_add(is, node->guid, 0, ISOLATED_NO_SETS);
				loop_timer_set(is->probe, is->probe_us = SOON_US);
			}
		}
	}
	if (result->untrue) {
		/* A sweep found switches that do not keep LinearFDBTop: lists them. */
		INVENTORY_EACH (inv, node) {
			if (sweep_node(node)->keeps_no_top)
				wrong_tables_add(is, &(struct table_block){ .sw = node->guid,
									    .kind = TABLE_TOP });
			sweep_node(node)->keeps_no_top = false;
		}
	}
	return NULL;
}

/* Links that bring-up has given up again and again; it names other ports. */
static void given_up(struct isolation *is)
{
	INVENTORY_EACH (is->services.inventory, n)
		for (unsigned p = 1; !n->gone && p <= n->nports; p++)
			if (bringup_refuses(port_setup(n, p)) && n->ports[p].link_up &&
			    n->ports[p].state != TOPO_ACTIVE)
				isolation_add(is, n->guid, p, ISOLATED_NOT_ACTIVE);
}

static void programmed(void *room, const struct fabric_programmed *programmed)
{
	struct isolation *is = room;

	if (programmed->tables && programmed->tables->failed)
		program_refusers(is->services.program, refusing_suspect, is);
	if (programmed->ports && programmed->ports->links_failed)
		given_up(is);
}

void isolation_table_unheld(struct fabric *fabric, const struct table_block *block)
{
	struct isolation *is = fabric_room(fabric, &isolation_module);

	if (is)
		wrong_tables_add(is, block);
}

/*
 * From now on links count by being Active: those that bring-up has given up are judged before they
 * cease to count.
 */
static void settled(void *room, enum fabric_settle_step step)
{
	struct isolation *is = room;

	if (step == FABRIC_SETTLED && !fabric_view(is->fabric).active_decides) {
		/*
		 * Lists links that bring-up has given up and that are not Active, and judges at
		 * once.
		 */
		const struct inventory *inv = is->services.inventory;

		if (inv->nactive == inv->nbetween)
			return;
		INVENTORY_EACH (inv, node)
			for (unsigned p = 1; inv_is_switch(node) && p <= node->nports; p++)
				if (isolated_is_transit(node, p) && node->ports[p].link_up &&
				    !isolated_is_active(&node->ports[p]) &&
				    (port_setup(node, p)->given_up ||
				     port_setup(node->ports[p].peer, node->ports[p].peer_port)
					     ->given_up))
					isolation_add(is, node->guid, p, ISOLATED_NOT_ACTIVE);
		judge_now(is, fabric_view(is->fabric).topo);
	}
}

/* ---- What follows ---------------------------------------------------------------------------- */

static void annotate(void *room, struct inventory *inventory)
{
	/*
	 * Called before a snapshot: isolates switches of the state file that the sweep has found;
	 * sets INV_WRONG_TABLES, by which repairs leave them out.
	 */
	struct isolation *is = room;

	for (struct wrong_table *wrong = is->wrong; wrong; wrong = wrong->next) {
		if (!node_of(wrong))
			continue;
		set_mark(wrong, true);
		if (!wrong->met) {
			wrong->met = true;

			/*
			 * Lists a switch that was isolated before the restart: in force at once, as
			 * it was judged then.
			 */
			guid_t sw = wrong->at.sw;

			isolation_add(is, sw, 0, ISOLATED_WRONG_TABLES);

			struct isolated *it = isolated_find(is, sw, 0, ISOLATED_WRONG_TABLES);

			if (it) /* the list may be full */
				put_in_force(it);

			log_line(LOG_SWEEP, LOG_WARNING,
				 "%s: did not hold the tables that it acknowledged before the "
				 "restart",
				 node_of(wrong)->name);
		}
	}

	isolation_mark(room);
}

static void status(const void *room, json_t *doc)
{
	json_object_set_new(doc, "isolated", isolation_json(room));
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void load(void *room, enum fabric_load_step step)
{
	struct isolation *is = room;

	if (step != FABRIC_LOAD)
		return;
	wrong_list_load(is);
	if (is->wrong)
		loop_timer_set(is->trial, TRIAL_US);
}

static void *init(struct fabric *fabric)
{
	struct isolation *is = mem_new(is);

	is->fabric = fabric;
	is->services = fabric_services(fabric);
	is->judge = loop_timer_new(is->services.loop, judge_cb, is);
	is->probe = loop_timer_new(is->services.loop, refusing_probe, is);
	is->probe_us = ISOLATION_PROBE_US;
	is->trial = loop_timer_new(is->services.loop, trial_cb, is);
	return is;
}

static void fini(void *room)
{
	struct isolation *is = room;

	while (is->suspects)
		suspect_free(is->suspects); /* and ends its probes */
	wrong_list_fini(is);
	loop_timer_free(is->trial);

	/* Ends the alerts and frees all. */
	for (unsigned i = 0; i < is->count; i++) {
		mad_cancel(is->services.mad, is->all[i]->probe);
		free(is->all[i]);
	}
	is->count = 0;
	isolation_raise_alerts(is);
	mad_cancel(is->services.mad, is->asked_keys);
	loop_timer_free(is->judge);
	loop_timer_free(is->probe);
	free(is->all);

	free(is);
}

const struct fabric_module isolation_module = { .name = "isolation",
						.init = init,
						.fini = fini,
						.load = load,
						.swept = swept,
						.annotate = annotate,
						.programmed = programmed,
						.settled = settled,
						.status = status };
