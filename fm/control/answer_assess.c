/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * answer_assess: a report on the fabric as it is, by its master or by an observer. Findings come
 * the gravest first, and each names its device and port. What alerts, unhealthy links and the
 * comparison of cables say is taken from there. The tables that switches hold are proven and
 * walked, and measured beside tables that fmd would compute for the same links and LIDs.
 *
 * An observer sweeps all and reads all tables first, so that the report shows what there was when
 * it was asked for. A link is named once: what is found first stands.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "fm/cabling/module.h"
#include "fm/control/answer.h"
#include "fm/inforce/module.h"
#include "fm/registers/module.h"
#include "fm/registrations/module.h"
#include "fm/sa/module.h"
#include "routing/multicast/mcast_tree.h"
#include "routing/path.h"
#include "routing/proof/in_force.h"
#include "routing/report/report.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"
#include "topology/cabling/cabling.h"
#include "topology/graph/cutoff.h"

enum gravity { CRITICAL, WARNING, NOTICE, GRAVITIES };
static const char *const gravities[] = { "critical", "warning", "notice" };

struct assess {
	struct fabric *fabric;
	const struct inventory *inv;
	const struct topo *t;
	const struct lid_map *lids;
	const struct tables *held; /* what switches hold, as far as that is known */
	json_t *found[GRAVITIES];
	bool *named; /* by port: a finding is about its link */
};

/* Both ends of the port's link in one text. */
static struct inv_link_name link_name(const struct assess *a, uint32_t p)
{
	const struct topo_port *port = &a->t->ports[p];

	return inventory_link_name(a->inv, a->t->nodes[port->node].guid, port->num);
}

/* Adds a finding, borrowed. remedy: what to do, NULL = it follows from the text. */
__attribute__((format(printf, 6, 7))) static json_t *find(struct assess *a, enum gravity gravity,
							  const char *kind,
							  struct event_subject subject,
							  const char *remedy, const char *format,
							  ...)
{
	json_t *row = json_pack("{ss ss ss*}", "severity", gravities[gravity], "kind", kind,
				"remedy", remedy);
	va_list list;

	va_start(list, format);
	json_object_set_new(row, "text", json_vsprintf(format, list));
	va_end(list);
	event_subject_put(&subject, row);
	json_array_append_new(a->found[gravity], row);
	return row;
}

/* Whether nothing was found about the port's link yet; it is taken. */
static bool take_link(struct assess *a, uint32_t p)
{
	bool first = !a->named[p];

	a->named[p] = true;
	if (a->t->ports[p].peer != TOPO_NONE)
		a->named[a->t->ports[p].peer] = true;
	return first;
}

/* ---- Forwarding tables ----------------------------------------------------------------------- */

/* What is wrong with a switch's entry for a LID: packets end there, or come back. */
enum flaw { SOUND, NO_ENTRY, DEAD_PORT, WRONG_PORT, LOOP, FLAWS };

static enum flaw flaw_of(const struct assess *a, const bool *active, uint32_t sw, uint16_t lid)
{
	const struct topo_node *node = &a->t->nodes[sw];
	unsigned out = tables_row(a->held, sw)[lid];
	struct path path;

	if (out > node->nports || !out)
		return NO_ENTRY;
	if (!active[node->port0 + out])
		return DEAD_PORT;

	int status = path_trace(a->t, a->lids, a->held, node->port0, lid, &path);
	bool at_another = status && path.count == 2 && path.hops[1].node >= a->t->nswitches;
	bool comes_back = status == -ELOOP && any_of(i, 1, path.count, path.hops[i].node == sw);

	return comes_back ? LOOP : at_another ? WRONG_PORT : SOUND;
}

/* Names the switch at which packets of so many pairs end: of each flaw and port the first LID. */
static void find_ends(struct assess *a, const bool *active, uint32_t sw, uint64_t pairs)
{
	static const char *const words[] = { [NO_ENTRY] = "no entry for",
					     [DEAD_PORT] = "a port without an Active link for",
					     [WRONG_PORT] = "a port that leads elsewhere for",
					     [LOOP] = "a loop for" };
	const struct topo *t = a->t;
	unsigned count[FLAWS][256] = { 0 }, first[FLAWS][256];

	for (uint32_t lid = 1; lid <= a->lids->top; lid++) {
		uint32_t to = a->lids->port_of_lid[lid];

		if (to == TOPO_NONE || !topo_is_host(t, t->ports[to].node) || !t->ports[to].link_up)
			continue;
		enum flaw flaw = flaw_of(a, active, sw, lid);
		unsigned out = flaw == NO_ENTRY ? 0 : tables_row(a->held, sw)[lid];

		if (!count[flaw][out]++)
			first[flaw][out] = lid;
	}
	for (unsigned i = NO_ENTRY * 256; i < FLAWS * 256; i++) {
		unsigned flaw = i / 256, out = i % 256, lid = first[flaw][out];
		char by[16] = "", more[64] = "";

		if (!count[flaw][out])
			continue;
		if (out)
			array_printf(by, " p%u", out);
		if (count[flaw][out] > 1)
			array_printf(more, " and %u more", count[flaw][out] - 1);
		find(a, CRITICAL, flaw == LOOP ? "loop" : "no-path",
		     out ? event_subject_port(t, t->nodes[sw].port0 + out)
			 : event_subject_node(t, sw),
		     NULL,
		     "%s%s: packets of %" PRIu64 " pairs of HCAs end here: it has %s LID %u (%s)%s",
		     t->nodes[sw].name, by, pairs, words[flaw], lid,
		     t->nodes[t->ports[a->lids->port_of_lid[lid]].node].name, more);
	}
}

static void find_tables(struct assess *a, json_t *doc)
{
	const struct topo *t = a->t;
	bool *active = mem_array(active, t->nports);
	struct check_report proof = { 0 };
	struct in_force force;
	uint64_t named = 0;

	for (uint32_t p = 0; p < t->nports; p++)
		active[p] = t->ports[p].link_up && t->ports[p].state == TOPO_ACTIVE &&
			    topo_peer(t, &t->ports[p])->state == TOPO_ACTIVE;

	struct in_force_job *job = in_force_begin(&(struct in_force_view){
		.topo = t, .lids = a->lids, .held = a->held, .active = active });

	while (in_force_go(job, UINT32_MAX))
		;
	in_force_end(job, &force);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (force.ends[sw]) {
			find_ends(a, active, sw, force.ends[sw]);
			named += force.ends[sw];
		}
	free(force.ends);
	free(force.cut_off);
	free(active);

	check_tables(t, a->lids, a->held, &proof);
	if (proof.credit_cycles)
		find(a, CRITICAL, "credit-loop", (struct event_subject){ 0 },
		     "route by an engine whose paths close no cycle",
		     "%" PRIu64 " groups of links wait for one another in a ring, so that packets "
		     "can stop for ever: %s",
		     proof.credit_cycles, proof.cycle);
	if ((proof.loops || proof.bad_ports) && !named)
		find(a, WARNING, "tables", (struct event_subject){ 0 }, NULL,
		     "%" PRIu64 " entries lead into a loop and %" PRIu64 " to no device: %s",
		     proof.loops, proof.bad_ports, proof.first);
	if (proof.disconnected)
		find(a, CRITICAL, "disconnected", (struct event_subject){ 0 }, NULL,
		     "fabric: no links connect %" PRIu64 " pairs of HCAs", proof.disconnected);
	json_object_set_new(doc, "proof", report_proof(&proof));
}

/* The busiest link between switches, and switches that carry nothing, by all-to-all flows. */
static void find_shares(struct assess *a, const uint64_t *flows, json_t *doc)
{
	uint32_t busiest = TOPO_NONE;

	for (uint32_t sw = 0; sw < a->t->nswitches; sw++) {
		const struct topo_node *node = &a->t->nodes[sw];
		uint64_t carried = 0;
		unsigned up = 0;

		for (uint32_t p = node->port0 + 1; p <= node->port0 + node->nports; p++) {
			const struct topo_port *port = &a->t->ports[p];

			carried += flows[p];
			up += port->link_up && !port->cordoned;
			if (flows[p] && a->t->ports[port->peer].node < a->t->nswitches &&
			    (busiest == TOPO_NONE || flows[p] > flows[busiest]))
				busiest = p;
		}
		if (up && !carried && node->level)
			find(a, WARNING, "unused", event_subject_node(a->t, sw), NULL,
			     "%s: no path of HCAs leads over this %s, which has %u links up",
			     node->name, topo_role_name(node->role), up);
	}
	if (busiest != TOPO_NONE) {
		struct event_subject subject = event_subject_port(a->t, busiest);
		json_t *row = json_pack("{ss sI}", "text", link_name(a, busiest).text, "flows",
					(json_int_t)flows[busiest]);

		event_subject_put(&subject, row);
		json_object_set_new(doc, "busiest", row);
	}
}

/* What fmd would compute for these links, how it differs, and what both give. */
static void add_own(struct assess *a, json_t *doc)
{
	struct fabric_policy policy = fabric_policy(a->fabric, a->t, NULL);
	struct tables tables = { 0 };
	struct fabric_tried tried;
	struct lid_map *lids = fabric_try(a->fabric, a->t, &policy, &tables, &tried);
	json_t *own = json_pack("{ss}", "engine", tried.engine);
	uint64_t *flows = mem_array(flows, a->t->nports), entries = 0, of = 0;
	bool *storage = command_storage(a->fabric, a->t);
	uint32_t switches = 0;

	for (uint32_t sw = 0; sw < a->t->nswitches; sw++) {
		uint64_t before = entries;

		for (uint32_t lid = 1; lid <= a->lids->top && lid <= lids->top; lid++)
			if (lids->port_of_lid[lid] != TOPO_NONE &&
			    lids->port_of_lid[lid] == a->lids->port_of_lid[lid]) {
				of++;
				entries += tables_row(&tables, sw)[lid] !=
					   tables_row(a->held, sw)[lid];
			}
		switches += entries != before;
	}
	json_put(doc, "{s{sI sI si}}", "differ", "entries", (json_int_t)entries, "of",
		 (json_int_t)of, "switches", switches);
	command_congestion(own, &(struct congestion_scene){ a->t, lids, &tables, storage }, NULL);
	command_congestion(doc, &(struct congestion_scene){ a->t, a->lids, a->held, storage },
			   flows);
	find_shares(a, flows, doc);
	json_object_set_new(doc, "own", own);
	free(storage);
	free(flows);
	lid_map_free(lids);
	tables_fini(&tables);
	fabric_policy_fini(&policy);
}

/* ---- What rooms report ----------------------------------------------------------------------- */

/* All but those that other findings name more closely, and those about managers. */
static void find_alerts(struct assess *a)
{
	static const char *const others[] = { "unsound-tables", "unreachable", "miswired",
					      "trouble",	"two-masters", "foreign-master" };
	json_t *alerts = fabric_alerts(a->fabric);

	JSON_EACH (alert, alerts) {
		const char *what = json_text(alert, "what");
		bool grave = !strcmp(what, "hcas-cut-off") || !strcmp(what, "guid-twice");

		if (!any_of(i, 0, ARRAY_SIZE(others), !strcmp(others[i], what)))
			event_subject_copy(alert, find(a, grave ? CRITICAL : WARNING, what,
						       (struct event_subject){ 0 }, NULL, "%s",
						       json_text(alert, "text")));
	}
	json_decref(alerts);
}

static void find_unhealthy(struct assess *a)
{
	json_t *rows = link_health_links(a->fabric);

	JSON_EACH (row, rows) {
		uint32_t p = command_port_of(a->t, json_object_get(row, "a"));

		if (p != TOPO_NONE && take_link(a, p))
			find(a, WARNING, json_text(row, "sick"), event_subject_port(a->t, p), NULL,
			     "%s: %s", link_name(a, p).text, json_text(row, "why") ?: "");
	}
	json_decref(rows);
}

static void find_cabling(struct assess *a)
{
	struct cabling *c = cabling_pattern(a->t);

	for (uint32_t i = 0; i < c->count; i++) {
		const struct cabling_item *item = &c->items[i];
		bool slow = item->kind == CABLING_SPEED || item->kind == CABLING_WIDTH;
		const guid_t guid = cabling_node(a->t, item->at.name);
		const struct inv_node *node = inventory_find(a->inv, guid);
		uint32_t p = topo_port_of(a->t, guid, item->at.port);
		struct event_subject subject =
			item->at.port ? event_subject_port(a->t, p)
				      : event_subject_node(a->t, topo_find(a->t, guid));
		char text[1024], remedy[1024];

		if (!guid)
			subject = (struct event_subject){ .node_name = item->at.name,
							  .port = item->at.port };
		/* What answers no SMP though its cable is plugged is find_devices()'s. */
		if ((slow && p != TOPO_NONE && !take_link(a, p)) ||
		    ((item->kind == CABLING_MISSING || item->kind == CABLING_NO_HCA) && node &&
		     fabric_is_silent_behind(node, item->at.port)))
			continue;
		cabling_describe(item, text, sizeof(text));
		cabling_instruct(item, remedy, sizeof(remedy));
		find(a, WARNING, "cabling", subject, remedy, "%s", text);
	}
	cabling_free(c);
}

/* ---- Devices, ports, LIDs -------------------------------------------------------------------- */

static void find_switches(struct assess *a)
{
	const struct topo *t = a->t;

	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		const struct topo_node *node = &t->nodes[sw];
		unsigned up = 0, links = 0;

		TOPO_LINKS (t, sw, port, peer) {
			bool counts = !t->nodes[peer->node].sharp;

			links += counts;
			up += counts && port->state > TOPO_DOWN && peer->state > TOPO_DOWN;
		}
		if (up || !links)
			continue;
		for (unsigned num = 1; num <= node->nports; num++)
			take_link(a, node->port0 + num);
		find(a, node->level ? WARNING : CRITICAL, "switch-down", event_subject_node(t, sw),
		     NULL, "%s: %s is down, with all its %u links", node->name,
		     topo_role_name(node->role), links);
	}
}

static void find_links(struct assess *a)
{
	const struct topo *t = a->t;
	uint8_t *fates = cutoff_fates(t, fabric_own_node(a->fabric));

	TOPO_CABLES (t, port, peer) {
		uint32_t p = port - t->ports;
		const struct event_subject subject = event_subject_port(t, p);
		struct link_down_reason why = { 0 };

		if (t->nodes[peer->node].sharp)
			continue;

		unsigned state = port->state < peer->state ? port->state : peer->state;

		if (state > TOPO_DOWN && state < TOPO_ACTIVE && take_link(a, p))
			find(a, WARNING, "port-state", subject, NULL,
			     "%s: in %s and not Active: no manager has brought it up",
			     link_name(a, p).text, topo_state_name(state));
		if (state > TOPO_DOWN || !take_link(a, p))
			continue;
		link_down_reason(a->fabric, subject.node, subject.port, &why);
		find(a, fates[peer->node] == CUTOFF_OFF ? NOTICE : WARNING, "link-down", subject,
		     NULL, "%s: down%s%s%s", link_name(a, p).text,
		     fates[peer->node] == CUTOFF_OFF ? ", the HCA is off" : "",
		     *why.reason ? ": " : "", why.reason);
	}
	free(fates);
}

/* PortInfo as last answered; false: it was not read. */
static bool port_info(const struct inv_node *node, unsigned num, struct wire_port_info *info)
{
	if (num <= node->nports && node->ports[num].known)
		wire_port_info_decode(node->ports[num].info, info);
	return num <= node->nports && node->ports[num].known;
}

/* NeighborMTU of both ends is the smaller of what both can (IBA 14.2.5.6). */
static void find_mtus(struct assess *a, const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];
	struct wire_port_info one, other;
	uint32_t p = topo_port_of(a->t, node->guid, num);

	if (p == TOPO_NONE || port->state != TOPO_ACTIVE || !inventory_is_first_end(node, num) ||
	    !port_info(node, num, &one) || !port_info(port->peer, port->peer_port, &other))
		return;
	unsigned can = one.mtu_cap < other.mtu_cap ? one.mtu_cap : other.mtu_cap;

	if ((one.neighbor_mtu != can || other.neighbor_mtu != can) && take_link(a, p))
		find(a, WARNING, "mtu", event_subject_port(a->t, p), NULL,
		     "%s: the ends send packets of %u and %u bytes at most, and both can %u",
		     link_name(a, p).text, 128u << one.neighbor_mtu, 128u << other.neighbor_mtu,
		     128u << can);
}

#define HIDDEN ": it hangs, or an M_Key of protection level 2 or 3 keeps it from this manager"

/* Devices that do not answer, MTUs, and M_Keys as far as ports show them. */
static void find_devices(struct assess *a, json_t *doc)
{
	unsigned unread = 0, shown = 0, hidden = 0;
	json_t *what = json_array();
	struct inv_name first = { "" };

	INVENTORY_EACH (a->inv, node) {
		if (node->gone)
			continue;
		if (node->silent)
			find(a, CRITICAL, "silent", inventory_subject(node, -1), NULL,
			     "%s: its links are up, and it answers no SMP" HIDDEN, node->name);
		for (unsigned num = 0; num <= node->nports; num++) {
			bool end = inv_is_switch(node) ? !num : node->ports[num].peer != NULL;
			struct wire_port_info info;

			if (num && node->ports[num].peer)
				find_mtus(a, node, num);
			else if (num && fabric_is_silent_behind(node, num))
				find(a, CRITICAL, "silent", inventory_subject(node, (int)num), NULL,
				     "%s: its link is up, and who is behind it answers no "
				     "SMP" HIDDEN,
				     inventory_name(node, (int)num).text);
			if (!end)
				continue;
			if (!port_info(node, num, &info)) {
				first = unread++ ? first : inventory_name(node, (int)num);
				continue;
			}
			shown += info.mkey != 0;
			hidden += !info.mkey && info.mkey_protect;
		}
	}
	if (unread)
		json_array_append_new(
			what,
			json_sprintf("PortInfo of %u end ports, the first %s: they are silent, or "
				     "an M_Key of protection level 2 or 3 keeps it from this "
				     "manager",
				     unread, first.text));
	if (hidden)
		json_array_append_new(
			what,
			json_sprintf("the M_Keys of %u end ports, which protect them", hidden));
	json_put(doc, "{s{si si si} so}", "m_keys", "shown", shown, "hidden", hidden, "unread",
		 unread, "unreadable", what);
}

/*
 * Devices that run another firmware than most of their kind: vendor, device and PSID. All are
 * counted first; what was found has less than none then.
 */
static void find_firmware(struct assess *a)
{
	const uint32_t all = a->t->nnodes;
	json_t *kinds = json_object(); /* {kind: {firmware: devices}} */

	for (uint32_t i = 0; i < 2 * all; i++) {
		const struct topo_node *node = &a->t->nodes[i % all];
		json_t *facts = device_facts(a->fabric, node->guid), *kind, *it;
		const char *firmware = json_text(facts, "firmware"), *other, *usual = "";
		json_int_t same, of = 0;
		char name[64];

		if (!firmware)
			continue;
		array_printf(name, "0x%06x 0x%04x %s", node->vendor, node->device,
			     json_text(facts, "psid"));
		kind = json_object_get(kinds, name);
		if (!kind)
			json_object_set_new(kinds, name, kind = json_object());
		same = json_number(kind, firmware);
		json_object_foreach (kind, other, it) {
			of += llabs(json_integer_value(it));
			usual = json_integer_value(it) > json_number(kind, usual) ? other : usual;
		}
		if (i >= all && same > 0 && strcmp(firmware, usual))
			find(a, NOTICE, "firmware", event_subject_node(a->t, i % all), NULL,
			     "%s: has firmware %s, as %lld of %lld devices of its kind (%s); most "
			     "have %s",
			     node->name, firmware, same, of, name, usual);
		if (i < all || strcmp(firmware, usual))
			json_put(kind, "{sI}", firmware, i < all ? same + 1 : -llabs(same));
		json_decref(facts);
	}
	json_decref(kinds);
}

static void find_lids(struct assess *a)
{
	const struct topo *t = a->t;
	uint32_t *owner = mem_array(owner, UINT16_MAX + 1);

	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *port = &t->ports[p];
		const struct topo_node *node = &t->nodes[port->node];
		unsigned last = port->lid + (1u << port->lmc) - 1;
		bool end = port->node < t->nswitches ? !port->num : port->num && port->link_up;
		uint32_t other = 0;

		if (!end || !port->lid) {
			if (end && port->num && port->state == TOPO_ACTIVE)
				find(a, CRITICAL, "no-lid", event_subject_port(t, p), NULL,
				     "%s p%u: Active, and has no LID", node->name, port->num);
			continue;
		}
		for (unsigned lid = port->lid; lid <= last && lid <= UINT16_MAX; lid++) {
			other = other ? other : owner[lid];
			owner[lid] = owner[lid] ? owner[lid] : p + 1;
		}
		if (other)
			find(a, CRITICAL, "lid-twice", event_subject_port(t, p), NULL,
			     "%s p%u: has LID %u, as %s p%u has", node->name, port->num, port->lid,
			     t->nodes[t->ports[other - 1].node].name, t->ports[other - 1].num);
		if (last > TABLES_MAX_LID || (port->lid & ((1u << port->lmc) - 1)))
			find(a, CRITICAL, "lid", event_subject_port(t, p), NULL,
			     "%s p%u: LID %u with LMC %u is no unicast LID", node->name, port->num,
			     port->lid, port->lmc);
	}
	free(owner);
}

/* ---- What an observer read beside the forwarding tables -------------------------------------- */

/* P_Keys of HCAs, and of the switch ports that filter for them (IBA 14.2.5.7). */
static void find_partitions(struct assess *a, json_t *doc)
{
	enum { LIMITED, FULL, PASSES, KEYS = 1 << 15 };
	uint32_t *of[3] = { mem_array(of[0], KEYS), mem_array(of[0], KEYS),
			    mem_array(of[0], KEYS) };
	json_t *list = json_array();
	unsigned unread = 0;

	for (uint32_t p = 0; p < a->t->nports; p++) {
		const struct topo_port *port = &a->t->ports[p], *peer = topo_peer(a->t, port);
		unsigned filtered = 0, read = 0, missing = 0, lacks_default = PKEY_DEFAULT;

		if (!peer || !port->link_up || !topo_is_host(a->t, port->node))
			continue;
		OBSERVED_EACH(a->fabric, a->t->nodes[peer->node].guid, block)
		for (unsigned i = 0; block.list->port == peer->num && i < OBSERVED_WORDS; i++) {
			of[PASSES][PKEY_BASE(block.list->words[i])] = p + 1;
			filtered++;
		}
		OBSERVED_EACH(a->fabric, a->t->nodes[port->node].guid, block)
		for (unsigned i = 0; block.list->port == port->num && i < OBSERVED_WORDS; i++) {
			uint16_t key = block.list->words[i], base = PKEY_BASE(key);

			read++;
			if (!base)
				continue;
			of[key & PKEY_FULL ? FULL : LIMITED][base]++;
			if (base == PKEY_BASE(PKEY_DEFAULT))
				lacks_default = 0;
			if (filtered && of[PASSES][base] != p + 1)
				missing = key;
		}
		unread += !read;
		if (missing)
			find(a, WARNING, "pkey", event_subject_port(a->t, port->peer), NULL,
			     "%s: the HCA has P_Key 0x%04x, and the switch lets no packet of that "
			     "partition pass",
			     link_name(a, p).text, missing);
		else if (read && lacks_default)
			find(a, WARNING, "pkey", event_subject_port(a->t, p), NULL,
			     "%s p%u: is no member of the default partition, so it can't ask the "
			     "SA",
			     a->t->nodes[port->node].name, port->num);
	}
	for (unsigned base = 1; base < KEYS; base++)
		if (of[FULL][base] || of[LIMITED][base])
			json_add(list, "{so si si}", "pkey", json_sprintf("0x%04x", base), "full",
				 of[FULL][base], "limited", of[LIMITED][base]);
	if (unread)
		json_array_append_new(json_object_get(doc, "unreadable"),
				      json_sprintf("the P_Key tables of %u ports", unread));
	json_object_set_new(doc, "partitions", list);
	for (int i = LIMITED; i <= PASSES; i++)
		free(of[i]);
}

/* The blocks of a switch's multicast table for the same MLIDs, by position. */
struct mft_row {
	const struct observed_block *at[16];
};

static bool mft_has(const struct mft_row *row, unsigned entry, unsigned num)
{
	const struct observed_block *block = row->at[num / MCAST_POSITION];

	return block && block->words[entry] >> num % MCAST_POSITION & 1;
}

/* The links over which both ends forward an MLID: a ring of them, or several trees with HCAs. */
static bool find_tree(struct assess *a, const struct mft_row *rows, unsigned entry, unsigned mlid)
{
	const struct topo *t = a->t;
	uint32_t *parent = mem_array(parent, t->nswitches + 1u), first = TOPO_NONE;
	uint32_t ring = TOPO_NONE, other = TOPO_NONE;
	bool any = false;

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		parent[sw] = sw;
	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t p = 0; p < t->nports; p++) {
			const struct topo_port *port = &t->ports[p], *peer = topo_peer(t, port);

			if (!peer || !port->link_up || port->node >= t->nswitches ||
			    !mft_has(&rows[port->node], entry, port->num))
				continue;
			any = true;
			if (!pass && port->peer > p && peer->node < t->nswitches &&
			    mft_has(&rows[peer->node], entry, peer->num)) {
				uint32_t one = sort_root(parent, port->node),
					 two = sort_root(parent, peer->node);

				ring = one == two && ring == TOPO_NONE ? p : ring;
				parent[one] = two;
			} else if (pass && topo_is_host(t, peer->node)) {
				first = first == TOPO_NONE ? port->node : first;
				if (sort_root(parent, port->node) != sort_root(parent, first))
					other = port->node;
			}
		}
	if (ring != TOPO_NONE)
		find(a, CRITICAL, "multicast-loop", event_subject_port(t, ring), NULL,
		     "%s: packets of MLID 0x%04x go round in a ring over this link",
		     link_name(a, ring).text, mlid);
	if (other != TOPO_NONE)
		find(a, WARNING, "multicast-split", event_subject_node(t, other), NULL,
		     "%s: HCAs there and HCAs at %s receive MLID 0x%04x, and no tree joins them",
		     t->nodes[other].name, t->nodes[first].name, mlid);
	free(parent);
	return any;
}

/* Members of groups, as the master's SA has them, to whom their leaf sends no packet. */
static void find_members(struct assess *a, const struct mft_row *rows, unsigned first_mlid,
			 const struct wire_mcmember *members, uint32_t count)
{
	unsigned all[OBSERVED_WORDS] = { 0 }, missing[OBSERVED_WORDS] = { 0 };
	uint32_t first[OBSERVED_WORDS] = { 0 }, at;

	for (uint32_t i = 0; i < count; i++) {
		const struct topo_port *leaf;
		unsigned entry = members[i].mlid - first_mlid;

		if (entry >= OBSERVED_WORDS || !members[i].port_gid.guid)
			continue;
		all[entry]++;
		at = topo_find_port(a->t, members[i].port_gid.guid);
		leaf = at == TOPO_NONE ? NULL : topo_peer(a->t, &a->t->ports[at]);
		if (leaf && a->t->ports[at].link_up && leaf->node < a->t->nswitches &&
		    members[i].join_state & (WIRE_JOIN_FULL | WIRE_JOIN_NON) &&
		    !mft_has(&rows[leaf->node], entry, leaf->num))
			first[entry] = missing[entry]++ ? first[entry] : i;
	}
	for (unsigned i = 0; i < OBSERVED_WORDS; i++) {
		const struct wire_mcmember *it = &members[first[i]];
		json_t *mgid;

		if (!missing[i] || all[i] < 2)
			continue;
		mgid = sa_gid_json(&it->mgid);
		at = topo_find_port(a->t, it->port_gid.guid);
		find(a, WARNING, "multicast-member", event_subject_port(a->t, at), NULL,
		     "%s: is a member of group %s (MLID 0x%04x), and is sent none of its packets, "
		     "as %u of %u members",
		     link_name(a, at).text, json_string_value(mgid), it->mlid, missing[i], all[i]);
		json_decref(mgid);
	}
}

static void find_multicast(struct assess *a, json_t *doc)
{
	struct mft_row *rows = mem_array(rows, a->t->nswitches + 1u);
	unsigned mlids = 0, last = 0;
	const char *why;
	uint32_t count;
	const struct wire_mcmember *members = registrations_members(a->fabric, &count, &why);

	if (why)
		json_array_append_new(json_object_get(doc, "unreadable"),
				      json_sprintf("the members of multicast groups: %s", why));
	for (uint32_t i = 0; i < count; i++)
		if ((members[i].mlid - MCAST_FIRST_MLID) / OBSERVED_WORDS > (int)last)
			last = (members[i].mlid - MCAST_FIRST_MLID) / OBSERVED_WORDS;
	for (unsigned block = 0; block <= last; block++) {
		memset(rows, 0, a->t->nswitches * sizeof(*rows));
		for (uint32_t sw = 0; sw < a->t->nswitches; sw++)
			OBSERVED_EACH(a->fabric, a->t->nodes[sw].guid, it)
			{
				unsigned number = it.list->modifier & 0x1ff;

				if (!it.list->multicast)
					continue;
				last = number > last ? number : last;
				if (number == block)
					rows[sw].at[it.list->modifier >> 28] = it.list;
			}
		for (unsigned i = 0; i < OBSERVED_WORDS; i++)
			mlids += find_tree(a, rows, i,
					   MCAST_FIRST_MLID + block * OBSERVED_WORDS + i);
		find_members(a, rows, MCAST_FIRST_MLID + block * OBSERVED_WORDS, members, count);
	}
	json_put(doc, "{s{si si}}", "multicast", "mlids", mlids, "members", count);
	free(rows);
}

/* ---- The document ---------------------------------------------------------------------------- */

static json_t *answer_assess(const struct command_env *env, json_t *args, char *err)
{
	struct assess a = { .fabric = env->fabric, .t = command_topo(env, err) };
	const struct fabric_view view = fabric_view(env->fabric);
	char now[EVENT_TIME];

	if (!a.t || !command_tables(env, err) || !command_unpack(args, err, "{}"))
		return NULL;
	a.inv = fabric_services(env->fabric).inventory;
	a.lids = view.lids;
	a.held = fabric_observes(env->fabric) ? view.tables : inforce_tables(env->fabric);
	a.named = mem_array(a.named, a.t->nports);
	for (int i = 0; i < GRAVITIES; i++)
		a.found[i] = json_array();
	event_now(now);

	json_t *doc = json_pack("{ss sb ss* si si si si si}", "time", now, "observer",
				fabric_observes(env->fabric), "engine", view.engine, "switches",
				a.t->nswitches, "hcas", a.t->ncas, "links", topo_links(a.t),
				"links_down", topo_links_down(a.t), "levels", a.t->nlevels);

	find_tables(&a, doc);
	find_firmware(&a);
	find_lids(&a);
	find_alerts(&a);
	find_switches(&a);
	find_unhealthy(&a);
	find_links(&a);
	find_cabling(&a);
	find_devices(&a, doc);
	if (fabric_observes(env->fabric)) {
		find_partitions(&a, doc);
		find_multicast(&a, doc);
	}
	add_own(&a, doc);

	json_t *all = json_array();

	for (int i = 0; i < GRAVITIES; i++) {
		json_put(doc, "{si}", gravities[i], (int)json_array_size(a.found[i]));
		json_array_extend(all, a.found[i]);
		json_decref(a.found[i]);
	}
	json_object_set_new(doc, "findings", all);
	free(a.named);
	return doc;
}

static void read_first(struct fabric *fabric, fabric_done_fn *fn, void *arg)
{
	if (fabric_observes(fabric)) {
		registrations_read_members(fabric);
		fabric_sweep(fabric, fn, arg);
	} else
		fn(arg, NULL, NULL);
}
const struct command_run assess_run = { .answer = answer_assess,
					.long_answer = true,
					.begin = read_first,
					.answers_after = true,
					.of_standby = true };
