/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <math.h>
#include "fm/adaptive/module.h"
#include "fm/control/show.h"
#include "fm/links_out/module.h"
#include "fm/restart/module.h"
#include "fm/sa/module.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/* ---- News ------------------------------------------------------------------------------- */

#define EVENTS_READ  10000
#define EVENTS_SHOWN 20

/* The newest of those rows that are about it, oldest first. Takes the rows. */
static json_t *take_rows(json_t *rows, const struct event_about *about, const char *const keys[],
			 unsigned nkeys)
{
	json_t *list = json_array();

	for (size_t i = json_array_size(rows); i-- > 0 && json_array_size(list) < EVENTS_SHOWN;) {
		json_t *row = json_array_get(rows, i), *copy = json_object();

		for (unsigned k = 0; k < nkeys; k++)
			json_object_set(copy, keys[k], json_object_get(row, keys[k]));
		if (event_is_about(row, about))
			json_array_insert(list, 0, copy);
		json_decref(copy);
	}
	json_decref(rows);
	return list;
}

void show_since(struct show *s, const char *key, const char *kind, const struct event_about *about)
{
	json_t *events = fabric_events(s->env->fabric, EVENTS_READ);

	for (size_t i = json_array_size(events); i-- > 0;) {
		const json_t *event = json_array_get(events, i);
		const char *is = json_text(event, "kind");

		if (!is || strcmp(is, kind) || !event_is_about(event, about))
			continue;
		json_object_set(s->doc, key, json_object_get(event, "time"));
		break;
	}
	json_decref(events);
}

void show_news(struct show *s, const struct event_about *about)
{
	static const char *const alert[] = { "since", "what", "text" };
	static const char *const event[] = { "time", "level", "kind", "text" };
	static const char *const held[] = { "since", "cause", "link", "why" };
	json_t *rows = admission_rows(links_out_admission(s->env->fabric));

	json_put(s->doc, "{so so so}", "alerts",
		 take_rows(fabric_alerts(s->env->fabric), about, alert, 3), "events",
		 take_rows(fabric_events(s->env->fabric, EVENTS_READ), about, event, 4), "held",
		 take_rows(rows, about, held, 4));
}

/* ---- Place ----------------------------------------------------------------------------------- */

void show_place(struct show *s, json_t *to, uint32_t n)
{
	const struct topo_node *node = &s->t->nodes[n];
	char tier[32] = "", su[32] = "", rail[32] = "";

	if (n < s->t->nswitches)
		array_printf(tier, ", tier %u of %u", node->level + 1u, s->t->nlevels);
	if (node->su >= 0)
		array_printf(su, ", SU %d", node->su + 1);
	if (node->rail >= 0)
		array_printf(rail, ", rail %d", node->rail);
	json_put(to, "{so ss so* so so}", "place",
		 json_sprintf("%s%s%s%s", topo_role_name(node->role), tier, su, rail), "role",
		 topo_role_name(node->role), "level",
		 n < s->t->nswitches ? json_integer(node->level) : NULL, "su", json_index(node->su),
		 "rail", json_index(node->rail));
}

/* ---- Links ----------------------------------------------------------------------------------- */

void show_link(struct show *s, json_t *to, uint32_t at)
{
	const struct topo_port *port = &s->t->ports[at], *peer = topo_peer(s->t, port);

	json_put(to, "{ss si ss ss? so}", "state", topo_state_name(port->state), "width",
		 port->width, "speed", topo_speed_name(port->speed), "to",
		 peer ? s->t->nodes[peer->node].name : NULL, "to_port",
		 json_index(peer ? peer->num : -1));
	adaptive_show_hca(s->env->fabric, s->t->nodes[port->node].guid, port->num, to);
}

const json_t *show_unhealthy(const struct show *s, uint32_t at)
{
	JSON_EACH (row, s->unhealthy)
		if (command_port_of(s->t, json_object_get(row, "a")) == at ||
		    command_port_of(s->t, json_object_get(row, "b")) == at)
			return row;
	return NULL;
}

/* Appends to a list of texts. */
static void add_note(char *note, size_t size, const char *text)
{
	if (text && *text)
		text_add(note, size, "%s%s", *note ? ", " : "", text);
}

static void add_unhealthy(char *note, size_t size, const json_t *row)
{
	const char *why = json_text(row, "why");
	const json_t *left = json_object_get(row, "left_s");
	char text[256];

	if (!row)
		return;
	array_printf(text, "%s%s%s", json_text(row, "sick"), why ? ": " : "", why ? why : "");
	add_note(note, size, text);
	if (json_is_true(json_object_get(row, "until_clean")))
		array_printf(text, "until it was clean for %" JSON_INTEGER_FORMAT " s",
			     json_number(row, "seconds"));
	else if (json_is_integer(left))
		array_printf(text, "for %" JSON_INTEGER_FORMAT " s more", json_integer_value(left));
	else
		return;
	add_note(note, size, text);
}

char *show_note(struct show *s, uint32_t at)
{
	const struct topo_port *port = &s->t->ports[at], *peer = topo_peer(s->t, port);
	const json_t *row = show_unhealthy(s, at);
	char note[512] = "", since[LINK_SINCE], text[LINK_SINCE + 16];

	if (!peer)
		return NULL;
	if (!port->link_up) {
		link_down_since(s->env->fabric, at, since);
		array_printf(text, "down%s%s", *since ? " since " : "", since);
		add_note(note, sizeof(note), text);
	} else if (port->state != TOPO_ACTIVE || peer->state != TOPO_ACTIVE) {
		add_note(note, sizeof(note), "not Active");
	}
	if ((port->cordoned && !port->quarantined && !port->isolated) ||
	    (peer->cordoned && !peer->quarantined && !peer->isolated))
		add_note(note, sizeof(note), "cordoned");
	if ((port->quarantined || peer->quarantined) && !row)
		add_note(note, sizeof(note), "quarantined");
	if (port->isolated || peer->isolated)
		add_note(note, sizeof(note), "isolated");
	add_unhealthy(note, sizeof(note), row);
	return *note ? mem_strdup(note) : NULL;
}

/* ---- Counters -------------------------------------------------------------------------------- */

static json_t *gbps(const struct port_counters *c, unsigned counter)
{
	return c && counters_rated(c, counter)
		       ? json_real(round((double)c->rate[counter] * 8 / 1e6) / 1e3)
		       : json_null();
}

const struct port_counters *show_counters_at(const struct show *s, uint32_t at)
{
	const struct topo_port *port = &s->t->ports[at];

	return at == TOPO_NONE ? NULL
			       : link_health_counters(s->env->fabric, s->t->nodes[port->node].guid,
						      port->num);
}

void show_rates(struct show *s, json_t *to, uint32_t at)
{
	const struct port_counters *c = show_counters_at(s, at);
	uint64_t read_us = c ? counters_read_us(c) : 0;

	json_put(to, "{so so so so}", "out_gbps", gbps(c, PERF_XMIT_DATA), "in_gbps",
		 gbps(c, PERF_RCV_DATA), "errors_per_s",
		 json_figure(c ? counters_error_rate(c) : NAN), "age_s",
		 read_us ? json_real((link_health_now_us(s->env->fabric) - read_us) / 1e6)
			 : json_null());
}

/* ---- Rows ------------------------------------------------------------------------------------ */

const char *show_label(struct show *s, uint32_t at)
{
	const char *label = topo_port_label(s->t, at);

	return *label ? label : NULL;
}

static const struct fec_mode *fec_of(const struct show *s, uint32_t at)
{
	const struct topo_port *port = &s->t->ports[at];

	return port->link_up
		       ? link_health_fec(s->env->fabric, s->t->nodes[port->node].guid, port->num)
		       : NULL;
}

json_t *show_fec(struct show *s, uint32_t at)
{
	const struct fec_mode *mode = fec_of(s, at);

	return mode ? json_string(fec_mode_name(mode->active).text) : NULL;
}

static json_t *fec_names(uint16_t modes)
{
	json_t *list = json_array();

	for (unsigned mode = 0; mode < WIRE_FEC_MODES; mode++)
		if (modes >> mode & 1)
			json_array_append_new(list, json_string(fec_mode_name(mode).text));
	return list;
}

void show_fec_facts(struct show *s, uint32_t at)
{
	const struct fec_mode *mode = fec_of(s, at);

	json_put(s->doc, "{so? so* so*}", "fec", show_fec(s, at), "fec_supported",
		 mode ? fec_names(mode->supported) : NULL, "fec_enabled",
		 mode ? fec_names(mode->enabled) : NULL);
}

json_t *show_port_row(struct show *s, uint32_t at, const uint32_t *lids)
{
	const struct topo_port *port = &s->t->ports[at];
	json_t *row = json_object();
	char *note = show_note(s, at);

	json_put(row, "{si ss*}", "port", port->num, "label", show_label(s, at));
	show_link(s, row, at);
	json_put(row, "{so* so*}", "fec", show_fec(s, at), "lids",
		 lids ? json_integer(lids[port->num]) : NULL);
	show_rates(s, row, at);
	json_put(row, "{ss?}", "note", note);
	free(note);
	return row;
}

/* ---- End ports ------------------------------------------------------------------------------- */

/* Rows that are alike but for their count are one. Takes the row. */
static void add_counted(json_t *rows, json_t *row)
{
	JSON_EACH (other, rows) {
		json_int_t count = json_number(other, "ports");

		json_object_set_new(row, "ports", json_integer(count));
		if (!json_equal(row, other))
			continue;
		json_object_set_new(other, "ports", json_integer(count + 1));
		json_decref(row);
		return;
	}
	json_object_set_new(row, "ports", json_integer(1));
	json_array_append_new(rows, row);
}

void show_end_ports(struct show *s, const uint32_t *ports, unsigned count)
{
	json_t *partitions = json_array();

	json_object_set_new(s->doc, "partitions", partitions);
	for (unsigned i = 0; i < count; i++) {
		const uint16_t *keys;
		unsigned nkeys = pkey_map_keys(s->view.pkeys, ports[i], &keys);

		for (unsigned k = 0; k < nkeys; k++) {
			const struct partition *p =
				s->view.partitions ? partition_find(s->view.partitions, keys[k])
						   : NULL;

			add_counted(partitions,
				    json_pack("{so ss ss}", "pkey", json_sprintf("0x%04x", keys[k]),
					      "name", p ? p->name : "", "membership",
					      keys[k] & PKEY_FULL ? "full" : "limited"));
		}

		/* The rows of each list go behind those of the same name. Takes `from`. */
		json_t *to = s->doc;
		json_t *from = sa_known_of_port(s->env->fabric, s->t->ports[ports[i]].guid);
		const char *key;
		json_t *list;

		json_object_foreach (from, key, list) {
			if (!json_object_get(to, key))
				json_object_set_new(to, key, json_array());
			JSON_EACH (row, list)
				add_counted(json_object_get(to, key), json_incref(row));
		}
		json_decref(from);
	}
}
