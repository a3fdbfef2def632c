/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "topology/snapshot/host.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "topology/base/hostlist.h"
#include "topology/base/mem.h"
#include "topology/base/names.h"
#include "topology/snapshot/naming.h"

/*
 * hostlist: names that differ in a number at their end, written once.
 *
 * Names with the same text before their last digits form a run while they follow one another;
 * within it, numbers that count up by one with the same width (n01 n02 n03, or n8 n9 n10 without
 * leading zeros) form a range. Slurm takes ranges only at a name's end, so a name that ends
 * otherwise stands for itself.
 */

#define NUMBER_DIGITS 18 /* what fits an uint64_t with room to add one */

struct part { /* of one name */
	const char *name;
	size_t prefix; /* bytes before the number */
	size_t digits; /* 0 = the name does not end in a number */
	uint64_t number;
};

static struct part hostlist_split(const char *name)
{
	size_t len = strlen(name);
	struct part p = { .name = name, .prefix = len };

	while (p.prefix && p.digits < NUMBER_DIGITS && isdigit((unsigned char)name[p.prefix - 1])) {
		p.prefix--;
		p.digits++;
	}
	p.number = p.digits ? strtoull(name + p.prefix, NULL, 10) : 0;
	return p;
}

static bool same_prefix(const struct part *a, const struct part *b)
{
	return a->digits && b->digits && a->prefix == b->prefix &&
	       memcmp(a->name, b->name, a->prefix) == 0;
}

/* Does b follow a in a range? Widths must agree, but for 9 -> 10 without leading zeros. */
static bool follows(const struct part *a, const struct part *b)
{
	if (b->number != a->number + 1)
		return false;
	return a->digits == b->digits || (a->name[a->prefix] != '0' && b->name[b->prefix] != '0');
}

/* Prints one range from parts[i] and returns the index behind it. */
static uint32_t print_range(FILE *out, const struct part *parts, uint32_t i, uint32_t end)
{
	uint32_t last = i;

	while (last + 1 < end && follows(&parts[last], &parts[last + 1]))
		last++;
	fputs(parts[i].name + parts[i].prefix, out);
	if (last > i)
		fprintf(out, "-%s", parts[last].name + parts[last].prefix);
	return last + 1;
}

char *hostlist_format(const char *const *names, uint32_t count)
{
	struct part *parts = mem_alloc(count, sizeof(*parts));
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (uint32_t i = 0; i < count; i++)
		parts[i] = hostlist_split(names[i]);
	for (uint32_t i = 0, end; i < count && out; i = end) {
		for (end = i + 1; end < count && same_prefix(&parts[i], &parts[end]);)
			end++;
		if (i)
			fputc(',', out);
		if (end == i + 1) {
			fputs(names[i], out);
			continue;
		}
		fprintf(out, "%.*s[", (int)parts[i].prefix, names[i]);
		for (uint32_t j = i; j < end;) {
			if (j > i)
				fputc(',', out);
			j = print_range(out, parts, j, end);
		}
		fputc(']', out);
	}
	free(parts);
	if (out)
		fclose(out);
	return text ? text : mem_strdup("");
}

/*
 * host: which CAs are in one machine.
 *
 * This is known only from the node description that the host's rdma-ndd writes: host name first,
 * then the device: "dgx-su01-07 mlx5_3", "node018 HCA-1", "'host' HCA-1", and in expanded ibutils
 * topologies "H-9/U1". A factory description ("MT25408 ConnectX Mellanox Technologies") or an unset
 * host name names no host: such a CA is a host of its own, named by its GUID. SHARP aggregation
 * nodes and routers are no hosts.
 *
 * A name of the node-name-map is used if it has that form, host and device ("dgx-07 mlx5_3"). A
 * name of another form names the CA alone, and the description decides which CAs are one machine;
 * if that names no host, the CA is a host of the map's name.
 *
 * Hosts are in natural order of their names, so that neither GUIDs nor the order of discovery
 * affect what people read or what is numbered by hosts.
 */

struct slice {
	const char *text;
	size_t len;
};

struct host_work {
	struct topo *t;
	struct arena *arena;
	struct names hosts, devices;
	uint32_t *host;	  /* by node: id, later place in natural order; TOPO_NONE for all but hosts'
			     CAs */
	uint32_t *device; /* the same of its device name */
};

static struct slice trim(const char *text, size_t len)
{
	while (len && (isspace((unsigned char)*text) || strchr("'\"/", *text)))
		text++, len--;
	while (len && (isspace((unsigned char)text[len - 1]) || strchr("'\"", text[len - 1])))
		len--;
	return (struct slice){ text, len };
}

static bool starts(struct slice s, const char *text)
{
	return s.len > strlen(text) && strncasecmp(s.text, text, strlen(text)) == 0;
}

/* "mlx5_3", "HCA-1", "U1", and nothing behind it. */
static bool is_device(struct slice s)
{
	static const char *const kinds[] = { "mlx", "HCA", "hfi", "qib", "ib", "U" };

	if (!s.len || !isdigit((unsigned char)s.text[s.len - 1]) || memchr(s.text, ' ', s.len))
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (starts(s, kinds[i]))
			return true;
	return false;
}

/* The first word, and what follows it. */
static void split(const char *text, struct slice *first, struct slice *rest)
{
	struct slice all = trim(text, strlen(text));

	*first = all;
	for (first->len = 0; first->len < all.len; first->len++)
		if (isspace((unsigned char)all.text[first->len]) ||
		    strchr("'\"/", all.text[first->len]))
			break;
	*rest = trim(first->text + first->len, all.len - first->len);
}

/* A CA that no text assigns to a host is a host of its own. */
static void by_itself(struct host_work *w, const struct topo_node *node, struct slice *first,
		      struct slice *rest)
{
	char *name = arena_alloc(w->arena, 1, sizeof("0x0123456789abcdef"));

	sprintf(name, "0x%016" PRIx64, node->guid);
	*first = node->label == node->desc ? (struct slice){ name, strlen(name) }
					   : trim(node->label, strlen(node->label));
	rest->len = 0;
}

static void read_names(struct host_work *w, uint32_t n)
{
	const struct topo_node *node = &w->t->nodes[n];
	struct slice first, rest;

	split(node->label, &first, &rest);
	if (node->label == node->desc || !is_device(rest)) {
		split(node->desc, &first, &rest);
		if (naming_is_factory(node->desc))
			by_itself(w, node, &first, &rest);
	}
	w->host[n] = names_id(&w->hosts, first.text, first.len);
	w->device[n] = rest.len ? names_id(&w->devices, rest.text, rest.len) : TOPO_NONE;
}

/* Turns ids into places in natural order; returns these by id, the caller frees them. */
static uint32_t *to_ranks(const struct host_work *w, uint32_t *ids, const struct names *names)
{
	uint32_t *rank = names_rank(names);

	for (uint32_t n = 0; n < w->t->nnodes; n++)
		if (ids[n] != TOPO_NONE)
			ids[n] = rank[ids[n]];
	return rank;
}

static void make_hosts(struct host_work *w)
{
	struct topo_host *hosts = arena_alloc(w->arena, w->hosts.count, sizeof(*hosts));
	uint32_t *rank = to_ranks(w, w->host, &w->hosts), first = 0;

	for (uint32_t id = 0; id < w->hosts.count; id++) {
		const struct name *name = &w->hosts.list[id];
		char *text = arena_alloc(w->arena, name->len + 1, 1);

		memcpy(text, name->text, name->len);
		hosts[rank[id]].name = text;
	}
	free(rank);
	for (uint32_t n = w->t->nswitches; n < w->t->nnodes; n++)
		if (w->host[n] != TOPO_NONE)
			hosts[w->host[n]].ncas++;
	for (uint32_t h = 0; h < w->hosts.count; h++) {
		hosts[h].first = first;
		first += hosts[h].ncas;
	}
	w->t->hosts = hosts;
	w->t->nhosts = w->hosts.count;
}

/*
 * Nodes come by ascending GUID, so that stable insertion by device leaves equal devices in that
 * order.
 */
static void fill_host(const struct host_work *w, uint32_t *cas, uint32_t used, uint32_t n)
{
	uint32_t at = used;

	for (; at > 0 && w->device[cas[at - 1]] > w->device[n]; at--)
		cas[at] = cas[at - 1];
	cas[at] = n;
}

static void fill_hosts(struct host_work *w)
{
	struct topo_node *nodes = (struct topo_node *)w->t->nodes;
	uint32_t *used = mem_alloc(w->t->nhosts, sizeof(*used));
	uint32_t *cas = arena_alloc(w->arena, w->t->ncas, sizeof(*cas));

	for (uint32_t n = w->t->nswitches; n < w->t->nnodes; n++) {
		uint32_t h = nodes[n].host = w->host[n];

		if (h != TOPO_NONE)
			fill_host(w, cas + w->t->hosts[h].first, used[h]++, n);
	}
	w->t->host_cas = cas;
	free(used);
}

uint32_t *host_group(struct topo *t, struct arena *arena)
{
	struct host_work w = {
		.t = t,
		.arena = arena,
		.host = mem_alloc(t->nnodes, sizeof(*w.host)),
		.device = mem_alloc(t->nnodes, sizeof(*w.device)),
	};

	memset(w.host, 0xff, t->nnodes * sizeof(*w.host));
	memset(w.device, 0xff, t->nnodes * sizeof(*w.device));
	for (uint32_t n = t->nswitches; n < t->nnodes; n++)
		if (t->nodes[n].type == TOPO_CA && !t->nodes[n].sharp)
			read_names(&w, n);
	free(to_ranks(&w, w.device, &w.devices));
	make_hosts(&w);
	fill_hosts(&w);
	names_fini(&w.hosts);
	names_fini(&w.devices);
	free(w.host);
	return w.device;
}

const char *host_device(const struct topo *t, uint32_t ca)
{
	const struct topo_node *node = &t->nodes[ca];
	const char *host = node->host == TOPO_NONE ? "" : t->hosts[node->host].name;
	const char *rest = *host ? strstr(node->label, host) : NULL;

	if (*host && !rest)
		rest = strstr(node->desc, host);
	if (!rest)
		return node->name;
	rest += strlen(host);
	rest += strspn(rest, " \t'\"/");
	return *rest ? rest : node->name;
}
