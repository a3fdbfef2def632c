/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/isolation/report.h"
#include <inttypes.h>
#include <stdio.h>

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
		snprintf(name.text, sizeof(name.text), "%s 0x%016" PRIx64, node->name, it->node);
	else
		snprintf(name.text, sizeof(name.text), "switch 0x%016" PRIx64, it->node);
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

static void alert_one(const struct isolated *it)
{
	const struct inv_node *node = isolated_node(it);
	bool transit = node && (!it->port || isolated_is_transit(node, it->port));
	struct inv_link_name name = isolated_name(it);
	struct event_subject subject =
		inventory_link_subject(it->list->services.inventory, it->node, it->port);

	subject.name = name.text;
	alert_raise(it->list->services.alerts, "isolated", &subject, "%s: %s%s", name.text,
		    cause_words[it->cause], transit ? "; isolated from routing" : "");
}

static void alert_refusing(const struct isolation *is, unsigned count, const struct isolated *first)
{
	if (!count)
		alert_end(is->services.alerts, "refusing", NULL);
	else
		alert_raise(is->services.alerts, "refusing", NULL,
			    "%u %s (first: %s, %s): this is too much of a tier, or a leaf's last "
			    "uplink, so routing is not changed; %s",
			    count, count == 1 ? "device rejects Sets" : "devices reject Sets",
			    isolated_name(first).text, cause_words[first->cause], keys_text(is));
}

void isolation_raise_alerts(struct isolation *is)
{
	struct alerts *alerts = is->services.alerts;
	unsigned in_force = 0, refused = 0;
	const struct isolated *first = NULL;

	alerts_review(alerts, "isolated");
	for (unsigned i = 0; i < is->count; i++) {
		const struct isolated *it = is->all[i];

		if (it->in_force && in_force++ < NAMED)
			alert_one(it);
		else if (it->judged && !it->in_force && !refused++)
			first = it;
	}
	if (in_force > NAMED)
		alert_raise(alerts, "isolated", NULL, "%u more links and switches are isolated",
			    in_force - NAMED);
	alerts_reviewed(alerts, "isolated");
	alert_refusing(is, refused, first);
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
	uint8_t num;

	if (!node || is->asked_keys)
		return;
	num = inv_is_switch(node) ? 0 : it->port;
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
