/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * faults: switches and links that are present and unusable: who finds them, and how fmd learns that
 * the fault is over.
 *
 * Findings within 100 ms are judged together (limits.c): where they would take too much none of
 * them is put in force, for then the fault is more likely fmd's than the devices'. One alert has
 * how many devices refuse, and whether they count violations of fmd's M_Key. Findings that are not
 * in force are judged again with each change of the table.
 *
 * A switch that did not take a Set is probed first (OUT_SUSPECT), by Get(SwitchInfo) and Set of the
 * same content, as all tries of a Set may be lost on a bad path. Each Set without an answer is
 * followed by Get(PortInfo), which shows whose M_Key it holds.
 *
 * A switch whose block was written again and was wrong twice, or whose LinearFDBTop is reset as
 * often as it is set, is not repaired again. Once in a minute that block, or LinearFDBTop, is
 * written and read. No tree leads through an isolated switch, so its multicast blocks are to be
 * empty, and a switch that takes nothing may hold that by chance: before such a trial an entry for
 * port 0, which closes no loop, is changed in the block of the first ports, read, and changed back.
 */
#include <inttypes.h>
#include "fm/fabric/request.h"
#include "fm/inventory/port_setup.h"
#include "fm/keys/lookup.h"
#include "fm/links_out/rules.h"
#include "fm/sweep/bringup.h"
#include "fm/sweep/sweep.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define GATHER_US 100000
#define SETS_LOST 4	 /* Sets, all tries of each, between Gets that are answered: no loss */
#define SOON_US	  250000 /* the first probe behind a cold start; then at twice the time */

/* Whether it is a switch that is present, and its M_Key is somebody else's. */
static bool has_foreign_key(const struct links_out *table, const struct inv_node *node)
{
	return inv_is_switch(node) && !node->gone &&
	       port_key_is_foreign(table->services.inventory, node, 0);
}

/* Whether both ends of its link are Active. */
static bool is_active(const struct inv_port *port)
{
	return port->peer && port->state == TOPO_ACTIVE &&
	       port->peer->ports[port->peer_port].state == TOPO_ACTIVE;
}

/* To the switch, or to the CA's port; borrows the request's data. 0 = no path leads there. */
static mad_token send_smp(const struct out *it, struct mad_request *request, mad_done_fn *fn,
			  void *arg)
{
	const struct fabric_services *services = &it->table->services;
	const struct inv_node *node = out_node(it);
	uint8_t num = node && inv_is_switch(node) ? 0 : it->port;
	struct mad_path path;

	if (!node || !inventory_port_path(services->inventory, node, num, &path))
		return 0;
	request->path = &path;
	request->device = it->node;
	request->attr_mod = num;
	return mad_send(services->mad, request, fn, arg);
}

/* ---- Names, alerts, the status --------------------------------------------------------------- */

static struct inv_link_name name_of(const struct out *it)
{
	const struct inv_node *node = out_node(it);
	struct inv_link_name name;

	if (it->port)
		return inventory_link_name(it->table->services.inventory, it->node, it->port);
	if (node && node->have_desc)
		array_printf(name.text, "%s 0x%016" PRIx64, node->name, it->node);
	else
		array_printf(name.text, "switch 0x%016" PRIx64, it->node);
	return name;
}

/*
 * The alert is one of fm/keys: a switch with a foreign M_Key, and a link whose device does not
 * answer, or has not yet.
 */
static bool is_named_elsewhere(const struct out *it)
{
	const struct inv_node *node = out_node(it);
	const struct inv_node *peer = node && it->port ? node->ports[it->port].peer : NULL;

	return (it->state == OUT_IN_FORCE && it->cause == OUT_FOREIGN_KEY) ||
	       (peer &&
		(node->silent || sweep_node(node)->lost || peer->silent || sweep_node(peer)->lost));
}

static void raise_alerts(struct links_out *table)
{
	static const char *const keys[] = {
		[KEYS_UNKNOWN] = "check m_key",
		[KEYS_GOOD] = "they count no M_Key violations, so m_key is right",
		[KEYS_VIOLATED] = "they count M_Key violations: check m_key",
	};
	struct alerts *alerts = table->services.alerts;
	unsigned in_force = 0, refused = 0;
	const struct out *first = NULL;

	alerts_review(alerts, "isolated");
	OUT_ROWS (table, it) {
		if (it->rule->group != OUT_FAULT || is_named_elsewhere(it))
			continue;
		if (it->state == OUT_IN_FORCE && in_force++ < ALERTS_NAMED) {
			const struct inv_node *node = out_node(it);
			bool transit = node && (!it->port || out_is_transit(node, it->port));
			struct inv_link_name name = name_of(it);
			struct event_subject subject = inventory_link_subject(
				table->services.inventory, it->node, it->port);

			subject.name = name.text;
			alert_raise(alerts, "isolated", &subject, "%s: %s%s", name.text,
				    it->rule->word, transit ? "; isolated from routing" : "");
		} else if (it->state == OUT_WAIVED && !refused++)
			first = it;
	}
	alert_more(alerts, "isolated", in_force, "links and switches are isolated");
	alerts_reviewed(alerts, "isolated");
	alert_set(alerts, refused, "refusing", NULL,
		  "%u %s (first: %s, %s): this is too much of a tier, or a leaf's last "
		  "uplink, so routing is not changed; %s",
		  refused, refused == 1 ? "device rejects Sets" : "devices reject Sets",
		  name_of(first).text, first->rule->word, keys[table->keys]);
}

json_t *faults_json(const struct links_out *table)
{
	uint64_t now = loop_now_us(table->services.loop);
	json_t *rows = json_array();

	OUT_ROWS (table, it) {
		const char *word = it->rule->word;

		if (it->rule->group == OUT_FAULT && it->state != OUT_ABSENT)
			json_add(rows, "{ss ss sb sf}", "what", name_of(it).text, "why", word,
				 "in_force", it->state == OUT_IN_FORCE, "since_s",
				 (now - it->since_us) / 1e6);
	}
	return rows;
}

static void keys_answered(void *arg, const struct mad_answer *answer)
{
	struct links_out *table = arg;
	struct wire_port_info now;

	table->asked_keys = 0;
	if (answer->result != MAD_OK)
		return;
	wire_port_info_decode(answer->data, &now);
	table->keys = now.mkey_violations ? KEYS_VIOLATED : KEYS_GOOD;
	raise_alerts(table);
}

/* Reads it; the alert has it when the device has answered. One device at a time. */
static void ask_keys(const struct out *it)
{
	struct links_out *table = it->table;

	if (!table->asked_keys)
		table->asked_keys = send_smp(
			it, &(struct mad_request){ .method = WIRE_GET, .attr_id = WIRE_PORT_INFO },
			keys_answered, table);
}

/* ---- The judgement --------------------------------------------------------------------------- */

static void put_in_force(struct out *it)
{
	it->state = OUT_IN_FORCE;
	out_keep(it->table, it->cause);
}

/* Judges switches and links between them. True = something new is in force. */
static bool judge_switches(struct links_out *table, const struct topo *t)
{
	struct out **rows = mem_array(rows, table->count + 1u);
	bool changed = false;
	uint32_t count = 0;

	OUT_ROWS (table, it) {
		uint32_t node = it->rule->group == OUT_FAULT ? topo_find(t, it->node) : TOPO_NONE;
		bool of_sets = it->cause == OUT_NO_SETS || it->cause == OUT_FOREIGN_KEY;

		/* How many other switches take no Set decides about this one too. */
		if (node < t->nswitches && it->port <= t->nodes[node].nports &&
		    it->state != OUT_ABSENT &&
		    !(of_sets && it->state == OUT_LISTED && table->counts[OUT_SUSPECT]))
			rows[count++] = it;
	}
	if (count)
		isolate_judge(t, rows, count);
	for (uint32_t i = 0; i < count; i++) {
		if (rows[i]->state == OUT_WAIVED)
			ask_keys(rows[i]);
		if (rows[i]->state != OUT_LISTED)
			continue;
		put_in_force(rows[i]);
		changed = true;
	}
	free(rows);
	return changed;
}

static void judge_now(struct links_out *table, const struct topo *t)
{
	loop_timer_stop(table->judge);
	table->keys = KEYS_UNKNOWN;
	/* Hosts and their links are only reported: no traffic passes through them. */
	OUT_ROWS (table, it) {
		const struct inv_node *node = it->rule->group == OUT_FAULT ? out_node(it) : NULL;

		if (node && it->state != OUT_IN_FORCE && it->state != OUT_ABSENT &&
		    (it->port ? !out_is_transit(node, it->port) : !inv_is_switch(node)))
			put_in_force(it);
	}
	if (judge_switches(table, t))
		fabric_request_reroute(table->fabric, "isolations changed");
	raise_alerts(table);
}

static void judge_cb(void *arg)
{
	struct links_out *table = arg;
	const struct topo *t = fabric_view(table->fabric).topo;

	if (t)
		judge_now(table, t);
	else
		loop_timer_set(table->judge, GATHER_US);
}

/* Whether a switch is listed as one that takes no Set, or is being probed for that. */
static bool is_suspect(const struct links_out *table, guid_t sw)
{
	return out_find(table, sw, 0, OUT_SUSPECT) || out_find(table, sw, 0, OUT_NO_SETS);
}

struct out *faults_add(struct links_out *table, guid_t guid, uint8_t port, enum out_cause cause)
{
	struct out row = { .cause = cause,
			   .state = OUT_LISTED,
			   .since_us = loop_now_us(table->services.loop) },
		   *it;

	out_take_end(table, cause, &guid, &port);
	row.node = guid;
	row.port = port;

	const struct inv_node *node =
		out_node(&(struct out){ .table = table, .node = guid, .port = port });
	const struct inv_node *peer = node ? node->ports[port].peer : NULL;

	/* Where a switch at one of the link's ends is suspect, it is judged first. */
	if (out_find(table, guid, port, cause) ||
	    (cause == OUT_NOT_ACTIVE &&
	     (is_suspect(table, guid) || (peer && is_suspect(table, peer->guid)))))
		return NULL;
	it = out_add(table, &row);
	if (it && !loop_timer_armed(table->judge))
		loop_timer_set(table->judge, GATHER_US);
	return it;
}

/* Others may be put in force then. */
static void drop(struct out *it)
{
	struct links_out *table = it->table;

	out_remove(it);
	loop_timer_set(table->judge, 0);
}

static void release(struct out *it, const char *why)
{
	struct links_out *table = it->table;
	enum out_cause cause = it->cause;

	log_line(LOG_SWEEP, LOG_NOTICE, "%s: %s", name_of(it).text, why);
	drop(it);
	out_changed(table, cause);
}

bool fault_is_over(const struct out *it)
{
	const struct inv_node *node = out_node(it);

	if (!node || (it->port && !node->ports[it->port].peer))
		return true;
	if (it->cause == OUT_NO_SETS)
		return node->gone || node->rebooted ||
		       out_find(it->table, it->node, 0, OUT_FOREIGN_KEY);
	if (it->cause == OUT_FOREIGN_KEY)
		return !has_foreign_key(it->table, node);
	return it->cause == OUT_NOT_ACTIVE &&
	       (!node->ports[it->port].link_up || is_active(&node->ports[it->port]));
}

void faults_review(struct links_out *table)
{
	const struct inventory *inv = table->services.inventory;

	/* Ahead of the first write: the key was read by the sweep that this snapshot is made of. */
	INVENTORY_EACH (inv, node)
		if (has_foreign_key(table, node))
			faults_add(table, node->guid, 0, OUT_FOREIGN_KEY);
	OUT_EACH (table, it) {
		if (it->rule->group != OUT_FAULT)
			continue;
		if (it->cause == OUT_WRONG_TABLES && !out_node(it))
			it->state = OUT_ABSENT; /* until its next trial */
		else if (it->state == OUT_ABSENT) {
			/* In force at once, as it was judged before the restart. */
			it->since_us = loop_now_us(table->services.loop);
			put_in_force(it);
			if (!loop_timer_armed(table->judge))
				loop_timer_set(table->judge, GATHER_US);
			log_line(LOG_SWEEP, LOG_WARNING,
				 "%s: did not hold the tables that it acknowledged before the "
				 "restart",
				 out_node(it)->name);
		} else if (it->rule->over(it))
			drop(it);
	}
}

/* ---- Switches that do not hold their tables -------------------------------------------------- */

static struct table_source source_of(const struct out *it)
{
	const struct fabric_services *services = &it->table->services;
	struct fabric_view view = fabric_view(it->table->fabric);

	return (struct table_source){ .mad = services->mad,
				      .inventory = services->inventory,
				      .mft = services->mft,
				      .topo = view.topo,
				      .tables = view.tables };
}

/*
 * The content to write in this step of the trial; in a multicast trial entries of the first ports
 * are changed and changed back.
 */
static struct table_block block_of(const struct out *it)
{
	struct table_block at = it->at;

	if (it->step != TRY_BLOCK)
		at.position = 0;
	at.altered = it->step == TRY_CHANGED;
	return at;
}

static mad_done_fn written;

static void write_block(struct out *it)
{
	struct table_source source = source_of(it);
	struct table_block at = block_of(it);

	it->token = table_block_set(&source, &at, written, it);
}

static void was_read(void *arg, const struct mad_answer *answer)
{
	struct out *it = arg;
	struct links_out *table = it->table;
	struct table_source source = source_of(it);
	struct table_block at = block_of(it);

	it->token = 0;
	it->failed |= answer->result != MAD_OK || !table_block_held(&source, &at, answer->data);
	if (it->step == TRY_CHANGED) {
		it->step = TRY_BACK; /* whatever was read */
		write_block(it);
	} else if (it->failed) {
		return;
	} else if (it->step == TRY_BACK) {
		it->step = TRY_BLOCK;
		write_block(it);
	} else if (!mft_busy(table->services.mft)) {
		program_forget(table->services.program, it->node);
		mft_forget(table->services.mft, it->node);
		release(it, "works again");
	}
}

static void written(void *arg, const struct mad_answer *answer)
{
	struct out *it = arg;
	struct table_source source = source_of(it);
	struct table_block at = block_of(it);

	it->token = 0;
	if (answer->result == MAD_OK)
		it->token = table_block_get(&source, &at, was_read, it);
}

void fault_try(struct out *it)
{
	struct links_out *table = it->table;
	bool is_master = fabric_is_master(table->fabric);

	if (is_master && fabric_view(table->fabric).topo && !out_node(it)) {
		out_remove(it); /* it has left the fabric */
		out_keep(table, OUT_WRONG_TABLES);
	} else if (is_master && !it->token) {
		it->failed = false;
		it->step = it->at.kind == TABLE_MFT ? TRY_CHANGED : TRY_BLOCK;
		write_block(it);
	}
}

void faults_unheld(void *table, const struct table_block *block)
{
	struct out *it = faults_add(table, block->sw, 0, OUT_WRONG_TABLES);

	if (it)
		it->at = *block;
}

/* ---- Switches that take no Set --------------------------------------------------------------- */

static void suspect_drop(struct out *it)
{
	struct links_out *table = it->table;

	out_remove(it);
	/* The others were waiting until no switch is probed any more. */
	if (!table->counts[OUT_SUSPECT])
		loop_timer_set(table->judge, 0);
}

static void suspect_get(struct out *it, uint16_t attr_id, mad_done_fn *fn)
{
	it->token = send_smp(it, &(struct mad_request){ .method = WIRE_GET, .attr_id = attr_id },
			     fn, it);
	if (!it->token)
		suspect_drop(it);
}

static mad_token set_switch_info(struct out *it, const struct wire_switch_info *info, bool once,
				 mad_done_fn *fn)
{
	uint8_t data[64];

	wire_switch_info_encode(info, data);
	return send_smp(it,
			&(struct mad_request){ .method = WIRE_SET,
					       .attr_id = WIRE_SWITCH_INFO,
					       .data = data,
					       .once = once,
					       .doubtful = true },
			fn, it);
}

/* Lists it for its key, if that is somebody else's, otherwise as one that takes no Set. */
static void suspect_judge(struct out *it)
{
	const struct inv_node *node = out_node(it);

	if (node)
		faults_add(it->table, it->node, 0,
			   has_foreign_key(it->table, node) ? OUT_FOREIGN_KEY : OUT_NO_SETS);
	suspect_drop(it);
}

static mad_done_fn suspect_answered;

/*
 * PortInfo behind a Set that got no answer. A port that hides its key has counted the Set as a
 * violation, if the key is somebody else's (fm/inventory/inv_keys.c).
 */
static void key_answered(void *arg, const struct mad_answer *answer)
{
	struct out *it = arg;
	struct inventory *inv = it->table->services.inventory;
	struct inv_node *node = out_node(it);

	it->token = 0;
	if (answer->result == MAD_OK && node) {
		bringup_port_read(inv, node, 0, answer->data);
		inventory_port_changed(inv, node, 0);
	}
	if (it->lost < SETS_LOST && !(node && has_foreign_key(it->table, node)))
		suspect_get(it, WIRE_SWITCH_INFO, suspect_answered);
	else
		suspect_judge(it);
}

static void set_answered(void *arg, const struct mad_answer *answer)
{
	struct out *it = arg;

	it->token = 0;
	if (answer->result == MAD_TIMEOUT) {
		it->lost++;
		suspect_get(it, WIRE_PORT_INFO, key_answered);
	} else if (answer->result == MAD_STATUS)
		suspect_judge(it);
	else
		suspect_drop(it);
}

/*
 * The suspect answered a Get: sends it a Set of what the answer contained, as the inventory may be
 * older. PortStateChange is left for the sweep to clear.
 */
static void suspect_answered(void *arg, const struct mad_answer *answer)
{
	struct out *it = arg;
	struct wire_switch_info info;

	it->token = 0;
	if (answer->result == MAD_OK && out_node(it)) {
		wire_switch_info_decode(answer->data, &info);
		info.port_state_change = false;
		it->token = set_switch_info(it, &info, false, set_answered);
	}
	if (!it->token)
		suspect_drop(it);
}

/*
 * A switch did not take a Set: probes it, and lists it if it takes none now. A switch that does not
 * answer a Get either is left to the sweep.
 */
static void suspect(void *arg, guid_t sw)
{
	const struct out row = { .node = sw, .cause = OUT_SUSPECT, .state = OUT_LISTED };
	struct out *it = is_suspect(arg, sw) ? NULL : out_add(arg, &row);

	if (it)
		suspect_get(it, WIRE_SWITCH_INFO, suspect_answered);
}

/* The probe has cleared PortStateChange: all its ports are read. */
static void probe_answered(void *arg, const struct mad_answer *answer)
{
	struct out *it = arg;
	struct inv_node *node = out_node(it);

	it->token = 0;
	if (answer->result != MAD_OK || !node)
		return;
	sweep_node(node)->ports_read = false;
	fabric_request_refresh(it->table->fabric, it->node, "accepts Sets again");
	release(it, "accepts Sets again");
}

void fault_probe(struct out *it)
{
	const struct inv_node *node = out_node(it);

	/* Soon again, where it was listed by a cold start. */
	it->wait_us = it->wait_us < it->rule->wait_us / 2 ? 2 * it->wait_us : 0;
	if (it->wait_us)
		out_set_due(it, loop_now_us(it->table->services.loop) + it->wait_us);
	if (!fabric_is_master(it->table->fabric) || it->token || !node || node->gone ||
	    node->silent || has_foreign_key(it->table, node))
		return; /* one with a key is listed for that by the next snapshot */

	struct wire_switch_info info = node->sw;

	info.port_state_change = true;
	/* In the minute behind a cold start it may have been packets that were lost. */
	it->token = set_switch_info(it, &info, !it->wait_us, probe_answered);
}

/* ---- Findings -------------------------------------------------------------------------------- */

void faults_swept(struct links_out *table, const struct sweep_result *result)
{
	const struct inventory *inv = table->services.inventory;

	raise_alerts(table); /* of links whose device has answered meanwhile */
	/*
	 * Switches that answer Gets and take none of many Sets. Of one that forwards already, or
	 * may hold another manager's M_Key, more is asked before it is isolated; one without tables
	 * has nothing to lose, and is asked again soon.
	 */
	if (result->refusing)
		INVENTORY_EACH (inv, node) {
			if (!sweep_node(node)->keeps_change || inv_node_is(node, INV_NO_SETS) ||
			    node->gone)
				continue;
			if (node->sw.lft_top || has_foreign_key(table, node) ||
			    port_key_of(inv, node, 0) == PORT_KEY_HIDDEN) {
				suspect(table, node->guid);
				continue;
			}

			struct out *it = faults_add(table, node->guid, 0, OUT_NO_SETS);

			if (it) {
				it->wait_us = SOON_US;
				out_set_due(it, loop_now_us(table->services.loop) + SOON_US);
			}
		}
	/* Switches that do not keep LinearFDBTop. */
	if (result->untrue)
		INVENTORY_EACH (inv, node) {
			if (sweep_node(node)->keeps_no_top)
				faults_unheld(table, &(struct table_block){ .sw = node->guid,
									    .kind = TABLE_TOP });
			sweep_node(node)->keeps_no_top = false;
		}
}

void faults_programmed(void *arg, const struct fabric_programmed *programmed)
{
	struct links_out *table = arg;

	if (programmed->tables && programmed->tables->failed)
		program_refusers(table->services.program, suspect, table);
	if (!programmed->ports || !programmed->ports->links_failed)
		return;
	/* Links that bring-up has given up again and again; it names other ports. */
	INVENTORY_EACH (table->services.inventory, n)
		for (unsigned p = 1; !n->gone && p <= n->nports; p++)
			if (bringup_refuses(port_setup(n, p)) && n->ports[p].link_up &&
			    n->ports[p].state != TOPO_ACTIVE)
				faults_add(table, n->guid, p, OUT_NOT_ACTIVE);
}

/*
 * From now on links count by being Active: those that bring-up has given up and that are not are
 * judged before they cease to count.
 */
void faults_settled(struct links_out *table)
{
	const struct inventory *inv = table->services.inventory;

	if (fabric_view(table->fabric).active_decides || inv->nactive == inv->nbetween)
		return;
	INVENTORY_EACH (inv, node)
		for (unsigned p = 1; p <= node->nports; p++)
			if (out_is_transit(node, p) && node->ports[p].link_up &&
			    !is_active(&node->ports[p]) &&
			    (port_setup(node, p)->given_up ||
			     port_setup(node->ports[p].peer, node->ports[p].peer_port)->given_up))
				faults_add(table, node->guid, p, OUT_NOT_ACTIVE);
	judge_now(table, fabric_view(table->fabric).topo);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void faults_init(struct links_out *table)
{
	table->judge = loop_timer_new(table->services.loop, judge_cb, table);
}

void faults_fini(struct links_out *table)
{
	raise_alerts(table);
	if (table->asked_keys)
		mad_cancel(table->services.mad, table->asked_keys);
	loop_timer_free(table->judge);
}
