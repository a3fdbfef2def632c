/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <inttypes.h>
#include "fm/control/answer.h"
#include <math.h>
#include <stdarg.h>
#include "fm/multicast/module.h"
#include "fm/partition/module.h"
#include "fm/sm/module.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/*
 * answer_search: what has a text in its name, GUID, LID, MLID or P_Key, as rows {"kind", "name",
 * "what", "detail"}: `what` is how commands name it. Names that begin with the text come
 * first, and of nodes: hosts, switches, HCAs.
 */

#define ROWS_MAX   24
#define HEX_LEAST  4 /* digits of a GUID from which on it is looked for */
#define HEX_MOST   16
#define MLID_FIRST 0xc000

enum rank { FIRST, BEHIND, RANKS };

struct search {
	const struct topo *t;
	const char *text;
	unsigned digits; /* the text as a part of a GUID: so many hex digits of it; 0 = none */
	guid_t part;	 /* the value of these digits */
	long lid;	 /* the text as a LID; -1 = it is none */
	json_t *rows[RANKS];
};

/* How well a name fits. */
static enum rank rank_of(const struct search *s, const char *name)
{
	if (!strncasecmp(name, s->text, strlen(s->text)))
		return FIRST;
	return strcasestr(name, s->text) ? BEHIND : RANKS;
}

/* Takes `detail`. */
static void add(struct search *s, enum rank rank, const char *kind, const char *name,
		const char *what, json_t *detail)
{
	if (json_array_size(s->rows[rank]) < ROWS_MAX)
		json_add(s->rows[rank], "{s:s, s:s, s:s, s:o}", "kind", kind, "name", name, "what",
			 what, "detail", detail);
	else
		json_decref(detail);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static bool has_guid(const struct search *s, guid_t guid)
{
	guid_t mask = s->digits == HEX_MOST ? ~0ull : (1ull << s->digits * 4) - 1;

	for (unsigned low = 0; s->digits && guid && low + s->digits <= HEX_MOST; low++)
		if ((guid >> low * 4 & mask) == s->part)
			return true;
	return false;
}

static bool has_number(const struct search *s, uint32_t n)
{
	const struct topo_node *node = &s->t->nodes[n];

	if (has_guid(s, node->guid))
		return true;
	for (unsigned num = 0; num <= node->nports; num++) {
		const struct topo_port *port = topo_port(s->t, n, num);

		if ((s->lid > 0 && port->lid && s->lid >= port->lid &&
		     s->lid < port->lid + (1l << port->lmc)) ||
		    has_guid(s, port->guid))
			return true;
		if (n < s->t->nswitches)
			break; /* all is on port 0 */
	}
	return false;
}

/* ---- Groups and partitions ------------------------------------------------------------------- */

/* Rows of a document in which one of two members has the text. */
static void add_rows(struct search *s, const char *kind, json_t *rows, const char *name,
		     const char *number, const char *prefix)
{
	JSON_EACH (row, rows) {
		const char *called = json_text(row, name);
		const char *numbered = json_text(row, number);
		char what[64];

		if (!called || !numbered ||
		    (!strcasestr(called, s->text) && !strcasestr(numbered, s->text)))
			continue;
		array_printf(what, "%s%s", prefix, numbered);
		add(s, FIRST, kind, called, what, json_string(numbered));
	}
	json_decref(rows);
}

/* ---- The document ---------------------------------------------------------------------------- */

/* lid:, mlid: .. before a number say what it is; the number alone is looked for everywhere. */
static const char *without_kind(const char *text)
{
	static const char *const kinds[] = { "lid:", "mlid:", "guid:", "pkey:", "S-", "H-" };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strncasecmp(text, kinds[i], strlen(kinds[i])))
			return text + strlen(kinds[i]);
	return text;
}

static json_t *answer_search(const struct command_env *env, json_t *args, char *err)
{
	struct search s = { .t = command_topo(env, err) };

	if (!s.t || !command_unpack(args, err, "{s:s}", "text", &s.text))
		return NULL;
	s.text = without_kind(s.text);
	if (!*s.text)
		return json_array();

	const char *digits = !strncasecmp(s.text, "0x", 2) ? s.text + 2 : s.text;
	size_t count = strspn(digits, "0123456789abcdefABCDEF");
	char *end;
	long lid = strtol(s.text, &end, 0);

	if (count >= HEX_LEAST && count <= HEX_MOST && !digits[count]) {
		s.digits = count;
		s.part = strtoull(digits, NULL, 16);
	}
	s.lid = *end || end == s.text || lid >= MLID_FIRST ? -1 : lid;

	s.rows[FIRST] = json_array();
	s.rows[BEHIND] = json_array();
	for (uint32_t i = 0; i < s.t->nhosts && json_array_size(s.rows[FIRST]) < ROWS_MAX; i++) {
		const struct topo_host *host = &s.t->hosts[i];
		enum rank rank = rank_of(&s, host->name);

		if (rank != RANKS)
			add(&s, rank, "host", host->name, host->name,
			    json_sprintf("%u HCA%s", host->ncas, host->ncas == 1 ? "" : "s"));
	}

	for (uint32_t n = 0; n < s.t->nnodes && json_array_size(s.rows[FIRST]) < ROWS_MAX; n++) {
		const struct topo_node *node = &s.t->nodes[n];

		/* By its name, else by what the device itself says. */
		enum rank node_rank = rank_of(&s, node->name);
		enum rank rank = node_rank != RANKS ? node_rank : rank_of(&s, node->desc);

		const struct topo_port *port = topo_port(s.t, n, n < s.t->nswitches ? 0 : 1);
		char guid[20];

		if (rank == RANKS && !has_number(&s, n))
			continue;
		array_printf(guid, "0x%016" PRIx64, node->guid);
		add(&s, rank == RANKS ? FIRST : rank,
		    n < s.t->nswitches ? topo_role_name(node->role) : "HCA", node->name, guid,
		    json_sprintf("%s, LID %u", guid, port->lid));
	}

	add_rows(&s, "group", multicast_groups(env->fabric), "mgid", "mlid", "mlid:");
	add_rows(&s, "partition", partitions_document(env->fabric, NULL), "name", "pkey", "pkey:");
	json_array_extend(s.rows[FIRST], s.rows[BEHIND]);
	json_decref(s.rows[BEHIND]);
	while (json_array_size(s.rows[FIRST]) > ROWS_MAX)
		json_array_remove(s.rows[FIRST], ROWS_MAX);
	return s.rows[FIRST];
}
const struct command_run search_run = { .answer = answer_search };

/*
 * answer_map: the switches and what is between them, small enough to draw a fabric of 16,384 HCAs:
 *
 *   {"levels": N,
 *    "switches": {"name": [..], "guid": [..], "lid": .., "role": .., "level": .., "su": ..,
 *                 "rail": .., "links": .., "links_down": .., "hcas": .., "hcas_down": ..},
 *    "trunks": [[LOWER, UPPER, LINKS, DOWN, CORDONED, SET_ASIDE, UNHEALTHY, LOAD, ERRORS, LOAD_UP,
 *                LOAD_DOWN, WAIT], ..]}
 *
 * A column has one value for each switch. A trunk is all links between two switches, by their
 * places in the columns, the lower tier first: how many links there are and how many of them are
 * down, cordoned, set aside (in quarantine or isolated), unhealthy; the load of the busiest in per
 * cent of its rate; errors a minute, of all; the load of the busiest from the lower tier, and to
 * it; the share of time, in per cent, of the port that waits most to send. Zeros at a trunk's end
 * are left out.
 */

#define MINUTE_S 60

enum { LINKS, DOWN, CORDONED, SET_ASIDE, UNHEALTHY, LOAD, ERRORS, LOAD_UP, LOAD_DOWN, WAIT };
#define FIGURES (WAIT + 1)

struct trunk {
	uint32_t upper;
	double figure[FIGURES];
};

struct map {
	const struct topo *t;
	bool *unhealthy;		       /* by port */
	const struct port_counters **counters; /* by port */
	struct trunk *trunks;		       /* of the switch at hand */
	uint32_t *place;		       /* in trunks, by upper switch; TOPO_NONE = none */
	uint32_t ntrunks;
};

/* ---- Switches -------------------------------------------------------------------------------- */

static void add_switch(const struct topo *t, uint32_t sw, json_t *columns)
{
	const struct topo_node *node = &t->nodes[sw];
	unsigned up[2] = { 0 }, down[2] = { 0 };
	const char *name;
	json_t *row, *value;

	TOPO_LINKS (t, sw, port, peer) {
		bool to_host = topo_is_host(t, peer->node);

		if (t->nodes[peer->node].sharp)
			continue;
		up[to_host] += port->link_up;
		down[to_host] += !port->link_up;
	}
	row = json_pack("{ss so si ss si so so si si si si}", "name", node->name, "guid",
			json_guid(node->guid), "lid", topo_port(t, sw, 0)->lid, "role",
			topo_role_name(node->role), "level", node->level, "su",
			json_index(node->su), "rail", json_index(node->rail), "links",
			up[0] + up[1], "links_down", down[0] + down[1], "hcas", up[1] + down[1],
			"hcas_down", down[1]);
	json_object_foreach (row, name, value) {
		if (!json_object_get(columns, name))
			json_object_set_new(columns, name, json_array());
		json_array_append(json_object_get(columns, name), value);
	}
	json_decref(row);
}

/* ---- Traffic: what the counters of a port say of its link, by their latest rates */

#define GBPS_A_BYTE 8e-9
#define GBPS_A_MBPS 1e-3

double traffic_gbps(const struct port_counters *c, unsigned counter)
{
	return c && counters_rated(c, counter) ? c->rate[counter] * GBPS_A_BYTE : NAN;
}

double traffic_load(const struct topo_port *port, const struct port_counters *c, unsigned counter)
{
	double most = topo_lane_mbps(port->speed) * port->width * GBPS_A_MBPS;
	/* A tick of waiting is the time of a word, four bytes. */
	most /= counter == PERF_XMIT_WAIT ? 4 : 1;
	double load = most > 0 ? 100 * traffic_gbps(c, counter) / most : NAN;

	return load > 100 ? 100 : load;
}

double traffic_errors(const struct port_counters *c)
{
	return c ? counters_error_rate(c) : NAN;
}

/* ---- Trunks ---------------------------------------------------------------------------------- */

static void add_link(struct map *map, const struct topo_port *a)
{
	const struct topo *t = map->t;
	const struct topo_port *b = topo_peer(t, a);
	uint32_t *place = &map->place[b->node];
	uint32_t ends[2] = { a - t->ports, a->peer };
	bool aside = a->quarantined || a->isolated || b->quarantined || b->isolated;

	if (*place == TOPO_NONE) {
		*place = map->ntrunks++;
		map->trunks[*place] = (struct trunk){ .upper = b->node };
	}

	double *figure = map->trunks[*place].figure;

	figure[LINKS]++;
	figure[DOWN] += !a->link_up;
	figure[SET_ASIDE] += aside;
	figure[CORDONED] += !aside && (a->cordoned || b->cordoned);
	figure[UNHEALTHY] += map->unhealthy[ends[0]];
	for (int i = 0; i < 2 && a->link_up; i++) {
		const struct topo_port *port = &t->ports[ends[i]];
		const struct port_counters *c = map->counters[ends[i]];
		double load = traffic_load(port, c, PERF_XMIT_DATA);

		/* fmax() leaves out what is not known, NAN. */
		figure[LOAD] = fmax(figure[LOAD], load);
		figure[LOAD_UP + i] = fmax(figure[LOAD_UP + i], load);
		figure[WAIT] = fmax(figure[WAIT], traffic_load(port, c, PERF_XMIT_WAIT));
		figure[ERRORS] += fmax(0, traffic_errors(c) * MINUTE_S);
	}
}

/* ---- The document ---------------------------------------------------------------------------- */

static void take_counters(void *arg, uint32_t port, const struct port_counters *counters)
{
	((const struct port_counters **)arg)[port] = counters;
}

const struct port_counters **traffic_counters(const struct fabric *fabric, const struct topo *t)
{
	const struct port_counters **counters = mem_array(counters, t->nports + 1u);

	link_health_each_port(fabric, take_counters, counters);
	return counters;
}

bool *command_sick(const struct fabric *fabric, const struct topo *t)
{
	bool *sick = mem_array(sick, t->nports + 1u);
	json_t *rows = link_health_links(fabric);

	JSON_EACH (row, rows) {
		uint32_t port = command_port_of(t, json_object_get(row, "a"));

		if (port == TOPO_NONE)
			continue;
		sick[port] = true;
		if (t->ports[port].peer != TOPO_NONE)
			sick[t->ports[port].peer] = true;
	}
	json_decref(rows);
	return sick;
}

static json_t *answer_map(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = command_topo(env, err);
	const struct fabric *fabric = env->fabric;
	struct map map = { .t = t };
	json_t *columns, *rows;

	if (!t || !command_unpack(args, err, "{}"))
		return NULL;
	columns = json_object();
	rows = json_array();
	map.unhealthy = command_sick(fabric, t);
	map.counters = traffic_counters(fabric, t);
	map.trunks = mem_array(map.trunks, UINT8_MAX + 1);
	map.place = mem_array(map.place, t->nswitches);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		map.place[sw] = TOPO_NONE;
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		add_switch(t, sw, columns);
		map.ntrunks = 0;
		TOPO_LINKS (t, sw, port, peer) {
			unsigned level = t->nodes[sw].level, above;

			if (peer->node >= t->nswitches)
				continue;
			above = t->nodes[peer->node].level;
			if (level < above ||
			    (level == above && sw < peer->node)) /* its lower end */
				add_link(&map, port);
		}
		for (uint32_t i = 0; i < map.ntrunks; i++) {
			map.place[map.trunks[i].upper] = TOPO_NONE;

			const struct trunk *trunk = &map.trunks[i];
			json_t *row = json_pack("[ii]", sw, trunk->upper);
			int last = FIGURES - 1;

			while (trunk->figure[last] <= 0)
				last--;
			for (int at = 0; at <= last; at++) {
				double figure = trunk->figure[at];

				/* What is there is not nothing, however little. */
				figure = fmax(figure, figure > 0);
				json_array_append_new(row, json_integer(llround(figure)));
			}
			json_array_append_new(rows, row);
		}
	}
	free(map.unhealthy);
	free(map.counters);
	free(map.trunks);
	free(map.place);
	return json_pack("{s:i, s:o, s:o}", "levels", t->nlevels, "switches", columns, "trunks",
			 rows);
}
const struct command_run map_run = { .answer = answer_map, .long_answer = true };

/*
 * answer: what the answers to commands share. Arguments are unpacked strictly: a key that a command
 * does not know is refused, with jansson's own words for it.
 */

json_t *command_refuse(char *err, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(err, COMMAND_ERROR_SIZE, format, list);
	va_end(list);
	return NULL;
}

bool command_unpack(json_t *args, char *err, const char *format, ...)
{
	json_error_t why;
	va_list list;

	va_start(list, format);

	int status = json_vunpack_ex(args, &why, JSON_STRICT, format, list);

	va_end(list);
	if (status)
		command_refuse(err, "arguments: %s", why.text);
	return !status;
}

uint32_t command_port_of(const struct topo *t, const json_t *end)
{
	guid_t guid = json_guid_of(end, "guid");

	return guid ? topo_port_of(t, guid, json_number(end, "port")) : TOPO_NONE;
}

const struct topo *command_topo(const struct command_env *env, char *err)
{
	const struct topo *t = fabric_view(env->fabric).topo;

	if (!t)
		command_refuse(err, "%s",
			       sm_refuses(env->fabric)
				       ? sm_refuses(env->fabric)
				       : "no topology yet: the first sweep has not finished");
	return t;
}

const struct tables *command_tables(const struct command_env *env, char *err)
{
	const struct tables *tables = fabric_view(env->fabric).tables;

	if (tables && fabric_view(env->fabric).lids)
		return tables;
	command_refuse(err, "no forwarding tables yet: the first sweep has not finished");
	return NULL;
}
