/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <fnmatch.h>
#include "fm/conf/lists.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"

void guid_list_add(struct guid_list *list, guid_t guid)
{
	for (unsigned i = 0; i < list->count; i++)
		if (list->guids[i] == guid)
			return;
	list->guids = mem_grow(list->guids, list->count);
	list->guids[list->count++] = guid;
}

bool name_patterns_match(const char *patterns, const char *name, const char *other)
{
	char *list = mem_strdup(patterns), *rest = list, *pattern;
	bool found = false;

	while (!found && (pattern = strtok_r(rest, " \t", &rest)))
		found = !fnmatch(pattern, name, 0) || (other && !fnmatch(pattern, other, 0));
	free(list);
	return found;
}

#define SHOWN 5

void name_list_add(struct name_list *list, const char *name)
{
	if (list->count++ < SHOWN)
		array_add(list->text, "%s%.120s", *list->text ? ", " : "", name);
}

void name_list_alert(struct alerts *alerts, const char *kind, struct name_list *list,
		     const char *one, const char *several)
{
	if (!list->count)
		alert_end(alerts, kind, NULL);
	if (list->count > SHOWN)
		array_add(list->text, " and %u more", list->count - SHOWN);
	if (list->count)
		alert_raise(alerts, kind, &(struct event_subject){ .ports = list->ports },
			    "%u %s: %s", list->count, list->count == 1 ? one : several, list->text);
	json_decref(list->ports);
	list->ports = NULL;
}

struct node_patterns {
	char *text; /* cut into words */
	const char **globs;
	guid_t *guids; /* ascending */
	uint32_t nglobs, nguids;
};

SORT_BY(compare_guids, guid_t, sort_order(*a, *b))

struct node_patterns *node_patterns_new(const char *text)
{
	struct node_patterns *p = mem_new(p);
	size_t most = strlen(text) / 2 + 1;
	char *rest, *word, *end;

	p->text = rest = mem_strdup(text);
	p->globs = mem_array(p->globs, most);
	p->guids = mem_array(p->guids, most);
	while ((word = strtok_r(rest, " \t", &rest))) {
		guid_t guid = strncmp(word, "0x", 2) ? 0 : strtoull(word, &end, 16);

		if (guid && !*end)
			p->guids[p->nguids++] = guid;
		else
			p->globs[p->nglobs++] = word;
	}
	if (p->nguids)
		qsort(p->guids, p->nguids, sizeof(*p->guids), compare_guids);
	return p;
}

void node_patterns_free(struct node_patterns *p)
{
	if (!p)
		return;
	free(p->text);
	free(p->globs);
	free(p->guids);
	free(p);
}

static bool has_guid(const struct node_patterns *p, guid_t guid)
{
	uint32_t at = sort_place(0, p->nguids, i, p->guids[i] < guid);

	return at < p->nguids && p->guids[at] == guid;
}

static bool has_name(const struct node_patterns *p, const char *name)
{
	return any_of(i, 0, p->nglobs, !fnmatch(p->globs[i], name, 0));
}

bool node_patterns_match(const struct node_patterns *p, const struct topo *t,
			 const struct topo_node *node)
{
	if (p->nglobs &&
	    (has_name(p, node->desc) || (node->name != node->desc && has_name(p, node->name)) ||
	     (node->host != TOPO_NONE && has_name(p, t->hosts[node->host].name))))
		return true;
	if (!p->nguids)
		return false;
	if (has_guid(p, node->guid))
		return true;
	return any_of(num, 1, node->nports + 1, has_guid(p, t->ports[node->port0 + num].guid));
}
