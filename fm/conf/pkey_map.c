/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pkey_map: membership questions over one sorted row of P_Keys a port (IBA 10.9). What makes a map
 * is partition.c; what asks it are the path records, multicast joins and the ports' own tables.
 */
#include <stdlib.h>
#include "fm/conf/pkey_map.h"

static const uint16_t default_keys[] = { PKEY_DEFAULT };

void pkey_map_free(struct pkey_map *map)
{
	if (!map)
		return;
	free(map->first);
	free(map->keys);
	free(map->index0);
	free(map);
}

unsigned pkey_map_keys(const struct pkey_map *map, uint32_t port, const uint16_t **keys)
{
	*keys = map ? map->keys + map->first[port] : default_keys;
	return map ? map->first[port + 1] - map->first[port] : 1;
}

uint16_t pkey_map_member(const struct pkey_map *map, uint32_t port, uint16_t pkey)
{
	const uint16_t *keys;
	unsigned n = pkey_map_keys(map, port, &keys);

	for (unsigned i = 0; i < n; i++)
		if (PKEY_BASE(keys[i]) == PKEY_BASE(pkey))
			return keys[i];
	return 0;
}

bool pkey_map_talk(const struct pkey_map *map, uint32_t a, uint32_t b, uint16_t pkey)
{
	uint16_t of_a = pkey_map_member(map, a, pkey), of_b = pkey_map_member(map, b, pkey);

	return of_a && of_b && (a == b || ((of_a | of_b) & PKEY_FULL));
}

uint16_t pkey_map_shared(const struct pkey_map *map, uint32_t a, uint32_t b)
{
	const uint16_t *keys;
	unsigned n = pkey_map_keys(map, a, &keys);

	if (pkey_map_talk(map, a, b, PKEY_DEFAULT))
		return pkey_map_member(map, a, PKEY_DEFAULT);
	for (unsigned i = 0; i < n; i++)
		if (pkey_map_talk(map, a, b, keys[i]))
			return keys[i];
	return 0;
}
