/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * answer_search: what has a text in its name, GUID, LID, MLID or P_Key, as rows {"kind", "name",
 * "what", "detail"}: `what` is how commands are told of it. Names that begin with the text come
 * first, and of nodes: hosts, switches, HCAs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/control/answer.h"
#include "fm/multicast/module.h"
#include "fm/partition/module.h"
#include "topology/text.h"

#define ROWS_MAX   24
#define HEX_LEAST  4 /* digits of a GUID from which on it is looked for */
#define HEX_MOST   16
#define MLID_FIRST 0xc000

enum rank { FIRST, BEHIND, RANKS };

struct search {
	const struct topo *t;
	const char *text;
	unsigned digits; /* the text as a part of a GUID: so many hex digits of it.. */
	guid_t part;	 /* ..and their value; digits 0 = it is none */
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

static bool is_full(const struct search *s)
{
	return json_array_size(s->rows[FIRST]) >= ROWS_MAX;
}

/* Takes `detail`. */
static void add(struct search *s, enum rank rank, const char *kind, const char *name,
		const char *what, json_t *detail)
{
	if (json_array_size(s->rows[rank]) < ROWS_MAX)
		json_array_append_new(s->rows[rank],
				      json_pack("{s:s, s:s, s:s, s:o}", "kind", kind, "name", name,
						"what", what, "detail", detail));
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

static bool has_lid(const struct search *s, const struct topo_port *port)
{
	return s->lid > 0 && port->lid && s->lid >= port->lid &&
	       s->lid < port->lid + (1l << port->lmc);
}

static bool has_number(const struct search *s, uint32_t n)
{
	const struct topo_node *node = &s->t->nodes[n];

	if (has_guid(s, node->guid))
		return true;
	for (unsigned num = 0; num <= node->nports; num++) {
		const struct topo_port *port = topo_port(s->t, n, num);

		if (has_lid(s, port) || has_guid(s, port->guid))
			return true;
		if (n < s->t->nswitches)
			break; /* all is on port 0 */
	}
	return false;
}

/* By its name, else by what the device itself says. */
static enum rank rank_of_node(const struct search *s, const struct topo_node *node)
{
	enum rank rank = rank_of(s, node->name);

	return rank != RANKS ? rank : rank_of(s, node->desc);
}

static void add_node(struct search *s, uint32_t n)
{
	const struct topo_node *node = &s->t->nodes[n];
	enum rank rank = rank_of_node(s, node);
	const struct topo_port *port = topo_port(s->t, n, n < s->t->nswitches ? 0 : 1);
	char guid[20];

	if (rank == RANKS && !has_number(s, n))
		return;
	snprintf(guid, sizeof(guid), "0x%016llx", (unsigned long long)node->guid);
	add(s, rank == RANKS ? FIRST : rank,
	    n < s->t->nswitches ? topo_role_name(node->role) : "HCA", node->name, guid,
	    json_sprintf("%s, LID %u", guid, port->lid));
}

static void add_hosts(struct search *s)
{
	for (uint32_t i = 0; i < s->t->nhosts && !is_full(s); i++) {
		const struct topo_host *host = &s->t->hosts[i];
		enum rank rank = rank_of(s, host->name);

		if (rank != RANKS)
			add(s, rank, "host", host->name, host->name,
			    json_sprintf("%u HCA%s", host->ncas, host->ncas == 1 ? "" : "s"));
	}
}

static void add_nodes(struct search *s)
{
	add_hosts(s);
	for (uint32_t n = 0; n < s->t->nnodes && !is_full(s); n++)
		add_node(s, n);
}

/* ---- Groups and partitions ------------------------------------------------------------------- */

/* Rows of a document in which one of two members has the text. */
static void add_rows(struct search *s, const char *kind, json_t *rows, const char *name,
		     const char *number, const char *prefix)
{
	json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		const char *called = json_string_value(json_object_get(row, name));
		const char *numbered = json_string_value(json_object_get(row, number));
		char what[64];

		if (!called || !numbered ||
		    (!strcasestr(called, s->text) && !strcasestr(numbered, s->text)))
			continue;
		snprintf(what, sizeof(what), "%s%s", prefix, numbered);
		add(s, FIRST, kind, called, what, json_string(numbered));
	}
	json_decref(rows);
}

/* ---- The document ---------------------------------------------------------------------------- */

/* lid:, mlid: .. before a number say what it is; the number alone is looked for everywhere. */
static const char *without_kind(const char *text)
{
	static const char *const kinds[] = { "lid:", "mlid:", "guid:", "pkey:", "S-", "H-" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strncasecmp(text, kinds[i], strlen(kinds[i])))
			return text + strlen(kinds[i]);
	return text;
}

static void read_numbers(struct search *s)
{
	const char *digits = !strncasecmp(s->text, "0x", 2) ? s->text + 2 : s->text;
	size_t count = strspn(digits, "0123456789abcdefABCDEF");
	char *end;
	long lid = strtol(s->text, &end, 0);

	if (count >= HEX_LEAST && count <= HEX_MOST && !digits[count]) {
		s->digits = (unsigned)count;
		s->part = strtoull(digits, NULL, 16);
	}
	s->lid = *end || end == s->text || lid >= MLID_FIRST ? -1 : lid;
}

static json_t *joined(struct search *s)
{
	json_array_extend(s->rows[FIRST], s->rows[BEHIND]);
	json_decref(s->rows[BEHIND]);
	while (json_array_size(s->rows[FIRST]) > ROWS_MAX)
		json_array_remove(s->rows[FIRST], ROWS_MAX);
	return s->rows[FIRST];
}

static json_t *answer_search(const struct command_env *env, json_t *args, char *err)
{
	struct search s = { .t = command_topo(env, err) };

	if (!s.t || !command_unpack(args, err, "{s:s}", "text", &s.text))
		return NULL;
	s.text = without_kind(s.text);
	if (!*s.text)
		return json_array();
	read_numbers(&s);
	s.rows[FIRST] = json_array();
	s.rows[BEHIND] = json_array();
	add_nodes(&s);
	add_rows(&s, "group", multicast_groups(env->fabric), "mgid", "mlid", "mlid:");
	add_rows(&s, "partition", partitions_document(env->fabric, NULL), "name", "pkey", "pkey:");
	return joined(&s);
}
const struct command_run search_run = { .answer = answer_search };
