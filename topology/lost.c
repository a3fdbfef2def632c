/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "topology/lost.h"
#include <stdio.h>
#include <stdlib.h>
#include "topology/cutoff.h"
#include "topology/hostlist.h"
#include "topology/mem.h"

#define LISTED 512 /* hosts of a sort that the text names; the lists name all */

struct loss { /* of a host that loses something */
	uint32_t host;
	uint32_t had, kept; /* HCAs */
};

struct losses {
	const struct topo *t;
	uint8_t *before, *after; /* by node: links that reach the fabric */
	json_t *hcas;
	struct loss *list;
	uint32_t count;
};

static void count_host(struct losses *l, uint32_t host)
{
	const struct topo_host *it = &l->t->hosts[host];
	struct loss loss = { .host = host };
	bool any = false;

	for (uint32_t i = 0; i < it->ncas; i++) {
		uint32_t ca = l->t->host_cas[it->first + i];

		loss.had += l->before[ca] > 0;
		loss.kept += l->after[ca] > 0;
		any |= l->after[ca] < l->before[ca];
		if (l->before[ca] && !l->after[ca])
			json_array_append_new(l->hcas, json_string(l->t->nodes[ca].name));
	}
	if (any)
		l->list[l->count++] = loss;
}

/* Those that are cut off first, then by what they keep; of equal ones in natural order. */
static int compare_losses(const void *a, const void *b)
{
	const struct loss *x = a, *y = b;

	if (x->kept != y->kept)
		return x->kept < y->kept ? -1 : 1;
	if (x->had != y->had)
		return x->had < y->had ? -1 : 1;
	return x->host < y->host ? -1 : 1;
}

/* ---- The text -------------------------------------------------------------------------------- */

/* "32 hosts keep 7 of 8 HCAs (dgx-su01-[01-32])", of hosts that are alike. */
static void print_alike(const struct losses *l, const struct loss *first, uint32_t count, FILE *out)
{
	uint32_t listed = count < LISTED ? count : LISTED;
	const char **names = mem_alloc(listed, sizeof(*names)), *s = count == 1 ? "s" : "";
	char *list;

	for (uint32_t i = 0; i < listed; i++)
		names[i] = l->t->hosts[first[i].host].name;
	list = hostlist_format(names, listed);
	fprintf(out, "%u host%s ", count, count == 1 ? "" : "s");
	if (!first->kept)
		fputs("cut off", out);
	else if (first->kept == first->had)
		fprintf(out, "keep%s all HCAs, with fewer links", s);
	else
		fprintf(out, "keep%s %u of %u HCAs", s, first->kept, first->had);
	fprintf(out, " (%s%s)", list, listed < count ? ",.." : "");
	free(list);
	free(names);
}

static void print_losses(const struct losses *l, FILE *out)
{
	size_t hcas = json_array_size(l->hcas);

	if (hcas)
		fprintf(out, "%zu HCA%s cut off", hcas, hcas == 1 ? "" : "s");
	else
		fputs(l->count ? "no HCA cut off" : "nothing: no HCA is cut off", out);
	for (uint32_t i = 0, end; i < l->count; i = end) {
		for (end = i + 1; end < l->count && l->list[end].kept == l->list[i].kept &&
				  l->list[end].had == l->list[i].had;)
			end++;
		fputs(i ? ", " : ": ", out);
		print_alike(l, &l->list[i], end - i, out);
	}
}

static json_t *text_of(const struct losses *l)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *value;

	if (!out)
		abort();
	print_losses(l, out);
	fclose(out);
	value = json_string(text);
	free(text);
	return value;
}

/* ---- The document ---------------------------------------------------------------------------- */

json_t *lost_json(const struct topo *before, const struct topo *after)
{
	json_t *cut_off = json_array(), *degraded = json_array(), *doc;
	struct losses l = { .t = before,
			    .before = cutoff_links(before, NULL),
			    .hcas = json_array(),
			    .list = mem_alloc(before->nhosts, sizeof(*l.list)) };

	l.after = cutoff_links(after, l.before);
	for (uint32_t host = 0; host < before->nhosts; host++)
		count_host(&l, host);
	for (uint32_t i = 0; i < l.count; i++)
		json_array_append_new(l.list[i].kept ? degraded : cut_off,
				      json_string(before->hosts[l.list[i].host].name));
	if (l.count)
		qsort(l.list, l.count, sizeof(*l.list), compare_losses);
	free(l.before);
	free(l.after);
	doc = json_pack("{so so so so}", "hcas", l.hcas, "hosts_cut_off", cut_off, "hosts_degraded",
			degraded, "text", text_of(&l));
	free(l.list);
	return doc;
}

bool lost_any(const json_t *lost)
{
	return json_array_size(json_object_get(lost, "hcas")) ||
	       json_array_size(json_object_get(lost, "hosts_degraded"));
}
