/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <inttypes.h>
#include "fm/isolation/list.h"
#include "fm/keys/lookup.h"
#include "fm/sweep/sweep.h"
#include "topology/base/mem.h"

struct inv_node *isolated_node(const struct isolated *it)
{
	struct inv_node *node = inventory_find(it->list->services.inventory, it->node);

	return node && it->port <= node->nports ? node : NULL;
}

bool isolated_is_transit(const struct inv_node *node, unsigned num)
{
	const struct inv_node *peer = node->ports[num].peer;

	return inv_is_switch(node) && peer && inv_is_switch(peer);
}

bool isolated_is_active(const struct inv_port *port)
{
	return port->peer && port->state == TOPO_ACTIVE &&
	       port->peer->ports[port->peer_port].state == TOPO_ACTIVE;
}

bool isolated_has_foreign_key(const struct isolation *is, const struct inv_node *node)
{
	return inv_is_switch(node) && !node->gone &&
	       port_key_is_foreign(is->services.inventory, node, 0);
}

struct isolated *isolated_find(const struct isolation *is, guid_t node, uint8_t port,
			       enum isolation_cause cause)
{
	for (unsigned i = 0; i < is->count; i++)
		if (is->all[i]->node == node && is->all[i]->port == port &&
		    is->all[i]->cause == cause)
			return is->all[i];
	return NULL;
}

/* ---- Marks ----------------------------------------------------------------------------------- */

/* Marks its switch as one that is sent no Sets, or (on = false) may be sent Sets again. */
static void isolated_set_no_sets(const struct isolated *it, bool on)
{
	struct inv_node *node = isolated_node(it);

	if (!node || (it->cause != ISOLATED_NO_SETS && it->cause != ISOLATED_FOREIGN_KEY))
		return;
	inv_node_mark(node, INV_NO_SETS, on);
	sweep_node(node)->keeps_change &= on;
}

static void mark_port(struct inv_node *node, unsigned num, bool isolated, bool kept)
{
	const struct inv_port *port = &node->ports[num];

	inv_port_mark(node, num, INV_ISOLATED, isolated);
	inv_port_mark(node, num, INV_KEPT, kept);
	if (port->peer)
		inv_port_mark(port->peer, port->peer_port, INV_KEPT, kept);
}

static void unmark(const struct isolated *it)
{
	struct inv_node *node = isolated_node(it);

	for (unsigned p = it->port ? it->port : 1;
	     node && p <= (it->port ? it->port : node->nports); p++)
		mark_port(node, p, false, false);
}

void isolated_mark_all(struct isolation *is)
{
	for (unsigned i = 0; i < is->count; i++)
		unmark(is->all[i]);
	for (unsigned i = 0; i < is->count; i++) {
		/*
		 * A link that is not Active counts as down without a mark
		 * (inventory.active_decides).
		 */
		const struct isolated *it = is->all[i];
		const struct topo *published = fabric_view(it->list->fabric).topo;
		bool not_active = it->cause == ISOLATED_NOT_ACTIVE;
		struct inv_node *node = isolated_node(it);
		uint32_t at = published ? topo_port_of(published, it->node, it->port) : TOPO_NONE;

		for (unsigned p = it->port ? it->port : 1;
		     node && p <= (it->port ? it->port : node->nports); p++) {
			bool isolated = it->in_force && !not_active && isolated_is_transit(node, p);
			/* What may not be isolated, and was routed over, stays so. */
			bool kept = not_active && !it->in_force && at != TOPO_NONE &&
				    published->ports[at].link_up;

			mark_port(node, p, isolated || inv_port_is(node, p, INV_ISOLATED),
				  kept || inv_port_is(node, p, INV_KEPT));
		}
		isolated_set_no_sets(it, true);
	}
}

/* ---- The list -------------------------------------------------------------------------------- */

struct isolated *isolated_add(struct isolation *is, guid_t node, uint8_t port,
			      enum isolation_cause cause)
{
	if (is->count == ISOLATION_LISTED_MAX)
		return NULL;

	struct isolated *it = mem_new(it);

	*it = (struct isolated){ .node = node,
				 .port = port,
				 .cause = cause,
				 .since_us = loop_now_us(is->services.loop),
				 .list = is };
	is->all = mem_grow(is->all, is->count);
	is->all[is->count++] = it;
	isolated_set_no_sets(it, true);
	return it;
}

void isolated_remove(struct isolated *it)
{
	struct isolation *is = it->list;
	unsigned i = 0;

	while (is->all[i] != it)
		i++;
	memmove(&is->all[i], &is->all[i + 1], (--is->count - i) * sizeof(*is->all));
	isolated_set_no_sets(it, false);
	unmark(it);
	mad_cancel(is->services.mad, it->probe);
	free(it);
}

#define MLID_BLOCKS ((0x10000 - MCAST_FIRST_MLID) / MCAST_BLOCK)
#define DIGITS_MAX  8

struct wrong_table *wrong_list_find(const struct isolation *is, guid_t sw)
{
	struct wrong_table *wrong = is->wrong;

	while (wrong && wrong->at.sw != sw)
		wrong = wrong->next;
	return wrong;
}

struct wrong_table *wrong_list_add(struct isolation *is, const struct table_block *at)
{
	struct wrong_table *wrong = mem_new(wrong);

	*wrong = (struct wrong_table){ .next = is->wrong, .isolation = is, .at = *at };
	is->wrong = wrong;
	return wrong;
}

void wrong_list_remove(struct wrong_table *wrong)
{
	struct wrong_table **link = &wrong->isolation->wrong;

	while (*link != wrong)
		link = &(*link)->next;
	*link = wrong->next;
	mad_cancel(wrong->isolation->services.mad, wrong->token);
	free(wrong);
}

void wrong_list_fini(void *arg)
{
	struct isolation *is = arg;

	while (is->wrong)
		wrong_list_remove(is->wrong);
}

/* ---- The file -------------------------------------------------------------------------------- */

static bool parse_block(const char *word, struct table_block *at)
{
	int end = -1;

	if (!strcmp(word, "top")) {
		at->kind = TABLE_TOP;
		return true;
	}
	if (strlen(word) > DIGITS_MAX)
		return false; /* sscanf() takes a number that is too large for another one */
	if (sscanf(word, "%" SCNu32 ".%u%n", &at->block, &at->position, &end) == 2 && !word[end]) {
		at->kind = TABLE_MFT;
		return at->block < MLID_BLOCKS && at->position < MCAST_POSITIONS;
	}
	if (sscanf(word, "%" SCNu32 "%n", &at->block, &end) != 1 || word[end])
		return false;
	at->kind = TABLE_LFT;
	return at->block <= TABLES_MAX_LID / TABLES_BLOCK;
}

static bool take_line(void *owner, const char *line)
{
	struct isolation *is = owner;
	struct table_block at = { 0 };
	char word[32], rest;

	if (sscanf(line, "0x%" SCNx64 " %31s %c", &at.sw, word, &rest) != 2 || !at.sw ||
	    !parse_block(word, &at))
		return false;
	if (!wrong_list_find(is, at.sw))
		wrong_list_add(is, &at);
	return true;
}

static bool is_saved(const struct wrong_table *wrong)
{
	const struct isolated *it =
		isolated_find(wrong->isolation, wrong->at.sw, 0, ISOLATED_WRONG_TABLES);

	return !wrong->met || (it && it->in_force);
}

/* The switches by name, for the alert that the file was lost. */
static void sum_up(const void *owner, FILE *out)
{
	const struct isolation *is = owner;
	const char *comma = "";

	for (const struct wrong_table *wrong = is->wrong; wrong; wrong = wrong->next) {
		const struct inv_node *node = inventory_find(is->services.inventory, wrong->at.sw);

		if (!is_saved(wrong))
			continue;
		if (node)
			fprintf(out, "%s%s", comma, node->name);
		else
			fprintf(out, "%s0x%016" PRIx64, comma, wrong->at.sw);
		comma = ", ";
	}
}

static void write_list(const void *owner, FILE *out)
{
	const struct isolation *is = owner;

	for (const struct wrong_table *wrong = is->wrong; wrong; wrong = wrong->next) {
		const struct table_block *at = &wrong->at;

		if (!is_saved(wrong))
			continue;
		fprintf(out, "0x%016" PRIx64 " ", at->sw);
		if (at->kind == TABLE_TOP)
			fprintf(out, "top\n");
		else if (at->kind == TABLE_MFT)
			fprintf(out, "%" PRIu32 ".%u\n", at->block, at->position);
		else
			fprintf(out, "%" PRIu32 "\n", at->block);
	}
}

static const struct state_kind list_kind = {
	.name = "untrue",
	.summary = sum_up,
	.form = "`GUID BLOCK`",
	.line = take_line,
	.write = write_list,
};

void wrong_list_load(struct isolation *is)
{
	state_read(is->services.state, &list_kind, is);
}

void wrong_list_changed(struct isolation *is)
{
	state_changed(is->services.state, &list_kind, is);
}

/* ---- Names ----------------------------------------------------------------------------------- */

#define NAMED 20 /* by an alert each */

static const char *const cause_words[] = {
	[ISOLATED_NOT_ACTIVE] = "cannot be made Active",
	[ISOLATED_NO_SETS] = "answers Gets, but no Sets",
	[ISOLATED_WRONG_TABLES] = "does not hold the tables that it acknowledged",
	[ISOLATED_FOREIGN_KEY] = "holds an M_Key of another manager, so it is sent no Set",
};

struct inv_link_name isolated_name(const struct isolated *it)
{
	const struct inv_node *node = isolated_node(it);
	struct inv_link_name name;

	if (it->port)
		return inventory_link_name(it->list->services.inventory, it->node, it->port);
	if (node && node->have_desc)
		array_printf(name.text, "%s 0x%016" PRIx64, node->name, it->node);
	else
		array_printf(name.text, "switch 0x%016" PRIx64, it->node);
	return name;
}

/* ---- Alerts ---------------------------------------------------------------------------------- */

static const char *keys_text(const struct isolation *is)
{
	switch (is->keys) {
	case KEYS_VIOLATED:
		return "they count M_Key violations: check m_key";
	case KEYS_GOOD:
		return "they count no M_Key violations, so m_key is right";
	default:
		return "check m_key";
	}
}

/*
 * The alert is one of fm/keys: a switch with a foreign M_Key, and a link whose device does not
 * answer, or has not yet.
 */
static bool is_named_elsewhere(const struct isolated *it)
{
	const struct inv_node *node = isolated_node(it);
	const struct inv_node *peer = node && it->port ? node->ports[it->port].peer : NULL;

	return (it->in_force && it->cause == ISOLATED_FOREIGN_KEY) ||
	       (peer && (node->silent || sweep_node(node)->lost)) ||
	       (peer && (peer->silent || sweep_node(peer)->lost));
}

void isolation_raise_alerts(struct isolation *is)
{
	struct alerts *alerts = is->services.alerts;
	unsigned in_force = 0, refused = 0;
	const struct isolated *first = NULL;

	alerts_review(alerts, "isolated");
	for (unsigned i = 0; i < is->count; i++) {
		const struct isolated *it = is->all[i];

		if (is_named_elsewhere(it))
			continue;
		if (it->in_force && in_force++ < NAMED) {
			const struct inv_node *node = isolated_node(it);
			bool transit = node && (!it->port || isolated_is_transit(node, it->port));
			struct inv_link_name name = isolated_name(it);
			struct event_subject subject = inventory_link_subject(
				it->list->services.inventory, it->node, it->port);

			subject.name = name.text;
			alert_raise(it->list->services.alerts, "isolated", &subject, "%s: %s%s",
				    name.text, cause_words[it->cause],
				    transit ? "; isolated from routing" : "");
		} else if (it->judged && !it->in_force && !refused++)
			first = it;
	}
	if (in_force > NAMED)
		alert_raise(alerts, "isolated", NULL, "%u more links and switches are isolated",
			    in_force - NAMED);
	alerts_reviewed(alerts, "isolated");
	if (!refused)
		alert_end(is->services.alerts, "refusing", NULL);
	else
		alert_raise(is->services.alerts, "refusing", NULL,
			    "%u %s (first: %s, %s): this is too much of a tier, or a leaf's last "
			    "uplink, so routing is not changed; %s",
			    refused, refused == 1 ? "device rejects Sets" : "devices reject Sets",
			    isolated_name(first).text, cause_words[first->cause], keys_text(is));
}

/* ---- Our own keys ---------------------------------------------------------------------------- */

static void keys_answered(void *arg, const struct mad_answer *answer)
{
	struct isolation *is = arg;
	struct wire_port_info now;

	is->asked_keys = 0;
	if (answer->result != MAD_OK)
		return;
	wire_port_info_decode(answer->data, &now);
	is->keys = now.mkey_violations ? KEYS_VIOLATED : KEYS_GOOD;
	isolation_raise_alerts(is);
}

/* A switch counts violations at its port 0. */
void isolation_ask_keys(struct isolation *is, const struct isolated *it)
{
	struct inv_node *node = isolated_node(it);
	struct mad_request request = { .method = WIRE_GET, .attr_id = WIRE_PORT_INFO };
	struct mad_path path;

	if (!node || is->asked_keys)
		return;

	uint8_t num = inv_is_switch(node) ? 0 : it->port;

	if (!inventory_port_path(is->services.inventory, node, num, &path))
		return;
	request.path = &path;
	request.device = it->node;
	request.attr_mod = num;
	is->asked_keys = mad_send(is->services.mad, &request, keys_answered, is);
}

/* ---- The status ------------------------------------------------------------------------------ */

json_t *isolation_json(const struct isolation *is)
{
	uint64_t now = loop_now_us(is->services.loop);
	json_t *rows = json_array();

	for (unsigned i = 0; i < is->count; i++) {
		const struct isolated *it = is->all[i];

		json_array_append_new(
			rows, json_pack("{ss ss sb sf}", "what", isolated_name(it).text, "why",
					cause_words[it->cause], "in_force", it->in_force, "since_s",
					(now - it->since_us) / 1e6));
	}
	return rows;
}
