/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pkey_map: which end port is a member of which partition; what a partition configuration comes to
 * on one snapshot.
 *
 * A P_Key is 15 bits that name the partition and, in bit 15, full membership. Two ports may talk in
 * a partition when both are members and at least one of them is a full one (IBA 10.9.3). Without a
 * map (NULL) every port is a full member of the default partition and of no other.
 */
#ifndef FMD_CONF_PKEY_MAP_H
#define FMD_CONF_PKEY_MAP_H

#include <stdbool.h>
#include <stdint.h>

#define PKEY_DEFAULT	0xffff
#define PKEY_FULL	0x8000
#define PKEY_BASE(pkey) ((uint16_t)((pkey)&0x7fff))

struct pkey_map { /* of a snapshot: by its port indices */
	uint32_t nports;
	uint32_t *first; /* [nports + 1]: where a port's keys begin in `keys` */
	uint16_t *keys; /* of a port: by base ascending; with both memberships the full one first */
	uint16_t *index0; /* [nports]: what has index 0 of its table; 0 = default; or NULL */
};
void pkey_map_free(struct pkey_map *map); /* NULL is fine */

/* The number of a port's keys; *keys points to them, valid as long as the map. */
unsigned pkey_map_keys(const struct pkey_map *map, uint32_t port, const uint16_t **keys);
/* The port's own P_Key in a partition, the full one if it has both; 0 = no member. */
uint16_t pkey_map_member(const struct pkey_map *map, uint32_t port, uint16_t pkey);
/* Whether a and b may talk in the partition of `pkey`. A member may always talk to itself. */
bool pkey_map_talk(const struct pkey_map *map, uint32_t a, uint32_t b, uint16_t pkey);
/*
 * The P_Key, as a holds it, of the first partition in which they may talk, the default one before
 * all; 0 = none.
 */
uint16_t pkey_map_shared(const struct pkey_map *map, uint32_t a, uint32_t b);

#endif
