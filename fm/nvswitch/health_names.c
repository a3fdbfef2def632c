/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * health_names: which host is meant by a name. Machines call themselves dgx-01, DGX-01 or
 * dgx-01.cluster.example, and the fabric knows one of these. A name is looked for as it stands, in
 * small letters; then among the aliases; then its first part, if only one host has that.
 */
#include <limits.h>
#include <string.h>
#include "fm/nvswitch/health.h"
#include "topology/mem.h"

static unsigned find_as_it_stands(const struct health *h, const char *name)
{
	char text[NAME_MAX_LEN + 1];
	size_t len = name_fold(name, text);
	uint32_t id = names_find(&h->names, text, len);

	return id == NAMES_NONE ? UINT_MAX : id;
}

static unsigned find_by_first_part(const struct health *h, const char *name)
{
	char text[NAME_MAX_LEN + 1];
	size_t len = name_fold(name, text);
	uint32_t id = names_find(&h->firsts, text, name_first_part(text, len));
	return id == NAMES_NONE ? UINT_MAX : h->first_host[id];
}

unsigned health_find(const struct health *h, const char *name)
{
	const char *meant = aliases_find(&h->aliases, name);
	unsigned host = find_as_it_stands(h, name);

	if (host == UINT_MAX && meant) {
		name = meant;
		host = find_as_it_stands(h, name);
	}
	return host == UINT_MAX ? find_by_first_part(h, name) : host;
}

static void index_first(struct health *h, const char *text, size_t len, unsigned host)
{
	uint32_t before = h->firsts.count,
		 id = names_id(&h->firsts, text, name_first_part(text, len));

	h->first_host = mem_resize(h->first_host, h->firsts.count, sizeof(*h->first_host));
	h->first_host[id] = h->firsts.count == before ? UINT_MAX : host;
}

unsigned health_add(struct health *h, const char *name)
{
	char text[NAME_MAX_LEN + 1];
	size_t len = name_fold(name, text);
	uint32_t id = names_find(&h->names, text, len);
	char *kept;

	if (id != NAMES_NONE)
		return id;
	kept = mem_alloc(len + 1, 1);
	memcpy(kept, text, len);
	id = names_id(&h->names, kept, len);
	h->hosts = mem_resize(h->hosts, h->nhosts + 1, sizeof(*h->hosts));
	h->hosts[h->nhosts++] = (struct health_host){ .name = mem_strdup(name),
						      .state = NVSWITCH_UNKNOWN,
						      .override = NVSWITCH_UNKNOWN };
	index_first(h, kept, len, id);
	return id;
}
