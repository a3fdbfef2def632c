/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * damage: fabrics with faults in them, seeded, for tests. Every function gives a new snapshot; the
 * old one stays the caller's.
 */
#pragma once

#include "routing/lid_plan.h"
#include "topology/snapshot/topo.h"

uint64_t damage_random(uint64_t *state); /* splitmix64 */
/*
 * Of many random fabrics a sanitized program takes one in so many, for it is several times as slow,
 * unless the environment has LONG: then it takes all, as one without sanitizers does.
 */
unsigned damage_stride(unsigned sanitized);

/* Takes down each switch-to-switch cable with the probability `percent`. */
struct topo *damage_links(const struct topo *t, unsigned percent, uint64_t seed);
/* Takes each away with that probability: nobody ever knew of it. */
struct topo *damage_remove(const struct topo *t, unsigned percent, uint64_t seed);
/* Takes down one cable, or (port 0) all cables of a node. */
struct topo *damage_cut(const struct topo *t, uint32_t node, unsigned port);
/* The same fabric later (topo_with_ports): a tenth of all links down, and some cordoned. */
struct topo *damage_moment(const struct topo *t, uint64_t seed);
/* The same cables between the same names under other GUIDs. */
struct topo *damage_new_guids(const struct topo *t, uint64_t seed);
/*
 * The same switches; where several cables join two of them, the ends are plugged otherwise, and
 * others of them are down.
 */
struct topo *damage_new_cables(const struct topo *t, uint64_t seed);
/* The plan's LIDs, dealt to other ports. */
struct lid_map *damage_new_lids(const struct topo *t, uint64_t seed);

/* Small fabrics that are no textbook tree. */
struct topo *damage_ring(unsigned switches, unsigned hosts_each);
/* Switches cabled at random: several times to one another, to themselves, some cables down. */
struct topo *damage_tangle(uint64_t seed);
/*
 * Pods of `wide` leaves, with a host a spine, and as many spines; each of `wide` cores is cabled to
 * every second spine of all pods.
 */
struct topo *damage_crossed_pods(unsigned pods, unsigned wide);
/* A random PGFT of two or three tiers with at most a few hundred hosts. */
struct topo *damage_random_pgft(uint64_t seed);
