/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * naming: a name consists of a base (label, or what is left of a description) and, where bases are
 * not unique, the last six digits of the GUID; all sixteen where these are equal too. Whether a
 * base is a name by itself depends on its text alone, so that the name of a node that booted with
 * "localhost" does not change with those of others.
 */
#include "topology/snapshot/naming.h"
#include "topology/base/mem.h"
#include "topology/base/names.h"
#include "topology/snapshot/topo_builder.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define END_DIGITS 6

static bool word_is(const char *word, size_t len, const char *text)
{
	return len == strlen(text) && memcmp(word, text, len) == 0;
}

static bool begins(const char *word, size_t len, const char *text)
{
	size_t n = strlen(text);

	return len >= n && memcmp(word, text, n) == 0;
}

bool naming_is_factory(const char *desc)
{
	static const char *const makers[] = {
		"ConnectX",    "InfiniHost", "BlueField", "QLogic",
		"Infiniscale", "SwitchX",    "Switch-IB", "SwitchIB"
	};
	static const char *const whole[] = { "localhost", "(none)",    "localhost.localdomain",
					     "Quantum",	  "Quantum-2", "Quantum-3" };
	const char *word = desc + strspn(desc, " \t'\"/");
	size_t len = strcspn(word, " \t'\"/");

	if (!len || strstr(desc, "Mellanox Technologies"))
		return true;
	if (len > 2 && memcmp(word, "MT", 2) == 0 && isdigit((unsigned char)word[2]))
		return true;
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		if (begins(word, len, makers[i]))
			return true;
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		if (word_is(word, len, whole[i]))
			return true;
	return false;
}

/* "MF0;HOST:MODEL/UNIT": what managed switches of NVIDIA are called. Returns 0, or the length. */
static int strip_managed(const char *desc, char buf[NAMING_MAX])
{
	const char *host = desc + strlen("MF0;"), *model, *unit;

	if (strncmp(desc, "MF0;", strlen("MF0;")) != 0)
		return 0;
	model = strchr(host, ':');
	unit = model ? strchr(model, '/') : NULL;
	if (!unit || model == host || !unit[1])
		return 0;
	return snprintf(buf, NAMING_MAX, "%.*s%s", (int)(model - host), host, unit);
}

/* *alone: whether the base needs no end of the GUID. */
static int make_base(const char *desc, const char *label, guid_t guid, char buf[NAMING_MAX],
		     bool *alone)
{
	int len;

	*alone = true;
	if (label != desc)
		return snprintf(buf, NAMING_MAX, "%s", label);
	if (!*desc)
		return snprintf(buf, NAMING_MAX, "0x%016" PRIx64, guid);
	len = strip_managed(desc, buf);
	if (len)
		return len;
	*alone = !naming_is_factory(desc);
	return snprintf(buf, NAMING_MAX, "%s", desc);
}

static int add_end(char buf[NAMING_MAX], int len, guid_t guid, int digits)
{
	guid_t end = digits < 16 ? guid & ((1ull << 4 * digits) - 1) : guid;

	return len + snprintf(buf + len, NAMING_MAX - (size_t)len, " ..%0*" PRIx64, digits, end);
}

int naming_alone(const char *desc, const char *label, guid_t guid, char buf[NAMING_MAX])
{
	bool alone;
	int len = make_base(desc, label, guid, buf, &alone);

	return alone ? len : add_end(buf, len, guid, END_DIGITS);
}

/* ---- All nodes of a snapshot ----------------------------------------------------------------- */

struct work {
	struct topo_node *nodes;
	uint32_t count;
	struct arena *arena;
	struct names bases, ended;
	uint32_t *base, *uses; /* by node; by base: nodes that have it */
	bool *alone;
};

/* Most nodes are called what their description says: that text serves. */
static const char *keep(struct work *w, const struct topo_node *node, const char *text, int len)
{
	char *copy;

	if (!strcmp(text, node->label))
		return node->label;
	copy = arena_alloc(w->arena, (size_t)len + 1, 1);
	memcpy(copy, text, (size_t)len);
	return copy;
}

static void find_bases(struct work *w)
{
	char buf[NAMING_MAX];

	for (uint32_t n = 0; n < w->count; n++) {
		struct topo_node *node = &w->nodes[n];
		int len = make_base(node->desc, node->label, node->guid, buf, &w->alone[n]);

		node->name = keep(w, node, buf, len);
		w->base[n] = names_id(&w->bases, node->name, (size_t)len);
		w->uses[w->base[n]]++;
	}
}

static bool needs_end(const struct work *w, uint32_t n)
{
	return !w->alone[n] || w->uses[w->base[n]] > 1;
}

static const char *name_with_end(struct work *w, uint32_t n, int digits, int *len)
{
	char buf[NAMING_MAX];

	*len = snprintf(buf, sizeof(buf), "%s", w->bases.list[w->base[n]].text);
	*len = add_end(buf, *len, w->nodes[n].guid, digits);
	return keep(w, &w->nodes[n], buf, *len);
}

static void add_ends(struct work *w)
{
	uint32_t *end = mem_alloc(w->count, sizeof(*end)), *uses;
	int len;

	for (uint32_t n = 0; n < w->count; n++) {
		w->alone[n] = !needs_end(w, n);
		if (w->alone[n])
			continue;
		w->nodes[n].name = name_with_end(w, n, END_DIGITS, &len);
		end[n] = names_id(&w->ended, w->nodes[n].name, (size_t)len);
	}
	uses = mem_alloc(w->ended.count, sizeof(*uses));
	for (uint32_t n = 0; n < w->count; n++)
		uses[end[n]] += !w->alone[n];
	for (uint32_t n = 0; n < w->count; n++)
		if (!w->alone[n] && uses[end[n]] > 1)
			w->nodes[n].name = name_with_end(w, n, 16, &len);
	free(uses);
	free(end);
}

void naming_assign(struct topo *t, struct arena *arena)
{
	struct work w = { .nodes = (struct topo_node *)t->nodes,
			  .count = t->nnodes,
			  .arena = arena };

	w.base = mem_alloc(w.count, sizeof(*w.base));
	w.uses = mem_alloc(w.count, sizeof(*w.uses));
	w.alone = mem_alloc(w.count, sizeof(*w.alone));
	find_bases(&w);
	add_ends(&w);
	names_fini(&w.bases);
	names_fini(&w.ended);
	free(w.base);
	free(w.uses);
	free(w.alone);
}
