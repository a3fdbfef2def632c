/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * what_names: nodes and hosts by their names.
 *
 * From the most exact meaning to the loosest: what texts call a node (naming.h) or its whole
 * NodeDescription; a host's name, then that without its domain, both in upper or lower case; a
 * host's name and a device of it; one word of a node's name or description; the beginning of one.
 * The first meaning that names anything decides, and all that it names is a match. Where that is
 * one host with all of its HCAs, the host is meant.
 */
#include "topology/what_own.h"
#include "topology/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CANDIDATES_MAX 4

struct name_query {
	const struct topo *t;
	const char *text;
	size_t len;
	uint32_t host; /* of that host alone; TOPO_NONE = of all */
};

typedef bool matches_fn(const struct name_query *q, const char *name);

static bool ends_word(char c)
{
	return c == '\0' || strchr(" ;:/'\"", c) != NULL;
}

static bool is_whole(const struct name_query *q, const char *name)
{
	return strcmp(name, q->text) == 0;
}

static bool has_word(const struct name_query *q, const char *name)
{
	for (const char *p = name; (p = strstr(p, q->text)); p++)
		if ((p == name || ends_word(p[-1])) && ends_word(p[q->len]))
			return true;
	return false;
}

static bool has_beginning(const struct name_query *q, const char *name)
{
	return strncmp(name, q->text, q->len) == 0;
}

/* "dgx-07/mlx5_3" of "'dgx-07' mlx5_3": the host is known, the device is the name's end. */
static bool has_device(const struct name_query *q, const char *name)
{
	size_t len = strlen(name);

	while (len && strchr(" '\"", name[len - 1]))
		len--;
	return len > q->len && memcmp(name + len - q->len, q->text, q->len) == 0 &&
	       ends_word(name[len - q->len - 1]);
}

/* ---- Matches --------------------------------------------------------------------------------- */

/* By what texts call it, or by its NodeDescription. */
static bool is_called(const struct name_query *q, matches_fn *fn, const struct topo_node *node)
{
	if (q->host != TOPO_NONE && node->host != q->host)
		return false;
	return fn(q, node->name) || (node->desc != node->name && fn(q, node->desc));
}

static void collect(const struct name_query *q, matches_fn *fn, struct what_matches *m)
{
	uint32_t room = 0;

	for (uint32_t n = 0; n < q->t->nnodes; n++) {
		if (!is_called(q, fn, &q->t->nodes[n]))
			continue;
		if (m->count == room) {
			room = room ? room * 2 : 16;
			m->nodes = mem_resize(m->nodes, room, sizeof(*m->nodes));
		}
		m->nodes[m->count++] = n;
	}
}

/* All HCAs of one host are the host. */
static void take_for_host(const struct topo *t, struct what_matches *m)
{
	uint32_t host = m->count > 1 ? t->nodes[m->nodes[0]].host : TOPO_NONE;

	for (uint32_t i = 1; i < m->count; i++)
		if (t->nodes[m->nodes[i]].host != host)
			return;
	if (host != TOPO_NONE && t->hosts[host].ncas == m->count)
		m->host = host;
}

static void add_host(const struct topo *t, uint32_t host, struct what_matches *m)
{
	const struct topo_host *h = &t->hosts[host];

	m->nodes = mem_resize(m->nodes, m->count + h->ncas, sizeof(*m->nodes));
	memcpy(m->nodes + m->count, t->host_cas + h->first, h->ncas * sizeof(*m->nodes));
	m->count += h->ncas;
}

/* In upper or lower case; one of them may be without its domain. */
static bool is_host_named(const char *name, const char *text, size_t len, bool whole)
{
	size_t name_len = strlen(name), label = strcspn(name, ".");
	const char *dot = memchr(text, '.', len);

	if (memchr(text, ' ', len) || memchr(text, '/', len))
		return false;
	if (whole)
		return name_len == len && !strncasecmp(name, text, len);
	if (dot)
		return name_len == label && (size_t)(dot - text) == label &&
		       !strncasecmp(name, text, label);
	return label == len && !strncasecmp(name, text, len);
}

static void match_hosts(const struct topo *t, const char *text, size_t len, struct what_matches *m)
{
	uint32_t found = 0, last = TOPO_NONE;

	for (int whole = 1; whole >= 0 && !found; whole--)
		for (uint32_t h = 0; h < t->nhosts; h++) {
			if (!is_host_named(t->hosts[h].name, text, len, whole))
				continue;
			last = h;
			found++;
			add_host(t, h, m);
		}
	if (found == 1)
		m->host = last;
}

static void match_device(const struct topo *t, const char *text, struct what_matches *m)
{
	size_t cut = strcspn(text, " /"), blank = strspn(text + cut, " /");
	struct what_matches host = { .host = TOPO_NONE };
	struct name_query q = { t, text + cut + blank, strlen(text + cut + blank), TOPO_NONE };

	if (!cut || !q.len)
		return;
	match_hosts(t, text, cut, &host);
	q.host = host.host;
	if (q.host != TOPO_NONE)
		collect(&q, has_device, m);
	free(host.nodes);
}

void what_match_names(const struct topo *t, const char *text, bool loose, struct what_matches *m)
{
	const struct name_query q = { t, text, strlen(text), TOPO_NONE };

	*m = (struct what_matches){ .host = TOPO_NONE };
	if (!q.len)
		return;
	collect(&q, is_whole, m);
	if (!m->count)
		match_hosts(t, text, q.len, m);
	if (!m->count)
		match_device(t, text, m);
	if (!m->count && loose)
		collect(&q, has_word, m);
	if (!m->count && loose)
		collect(&q, has_beginning, m);
	if (m->host == TOPO_NONE)
		take_for_host(t, m);
}

/* ---- More than one --------------------------------------------------------------------------- */

/* The hosts of all matches, each once, in their order; NULL = some match is none of a host. */
static uint32_t *hosts_of(const struct topo *t, const struct what_matches *m, uint32_t *count)
{
	bool *met = mem_alloc(t->nhosts + 1, sizeof(*met));
	uint32_t *hosts = mem_alloc(m->count, sizeof(*hosts));

	*count = 0;
	for (uint32_t i = 0; i < m->count; i++) {
		uint32_t host = t->nodes[m->nodes[i]].host;

		if (host == TOPO_NONE) {
			free(met);
			free(hosts);
			return NULL;
		}
		if (!met[host])
			hosts[(*count)++] = host;
		met[host] = true;
	}
	free(met);
	return hosts;
}

static void list_nodes(const struct topo *t, const struct what_matches *m, char *err, size_t size)
{
	for (uint32_t i = 0; i < m->count && i < CANDIDATES_MAX; i++)
		what_append(err, size, "%s'%s' (0x%016" PRIx64 ")", i ? ", " : "",
			    t->nodes[m->nodes[i]].name, t->nodes[m->nodes[i]].guid);
}

static void list_hosts(const struct topo *t, const uint32_t *hosts, uint32_t count, char *err,
		       size_t size)
{
	for (uint32_t i = 0; i < count && i < CANDIDATES_MAX; i++)
		what_append(err, size, "%s'%s'", i ? ", " : "", t->hosts[hosts[i]].name);
}

void what_say_ambiguous(const struct topo *t, const char *text, const struct what_matches *m,
			char *err, size_t size)
{
	uint32_t nhosts = 0, *hosts = hosts_of(t, m, &nhosts);
	bool by_host = hosts && nhosts > 1 && nhosts < m->count;

	snprintf(err, size, "'%.100s' matches %" PRIu32 " %s, among them ", text,
		 by_host ? nhosts : m->count, by_host ? "hosts" : "nodes");
	if (by_host)
		list_hosts(t, hosts, nhosts, err, size);
	else
		list_nodes(t, m, err, size);
	free(hosts);
}
