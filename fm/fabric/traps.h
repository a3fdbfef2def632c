/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * traps: which nodes are swept because of traps, and when (see traps.c). It uses the pipe as rooms
 * do, so a test has it without one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fabric;
struct fabric_services;
struct sweep_result;
struct traps;
struct wire_notice;

/* The caller's, never NULL; fabric is borrowed, services are copied. */
struct traps *traps_new(struct fabric *fabric, const struct fabric_services *services);
void traps_free(struct traps *traps);

/* A trap of the port that it names. */
void traps_take(struct traps *traps, const struct wire_notice *notice, uint16_t from_lid,
		uint64_t came_us);
/* A sweep has ended that was not light. */
void traps_swept(struct traps *traps, const struct sweep_result *result);
/*
 * The inventory was copied into a snapshot; then that was compared with the published one. differs:
 * sources whose sweeps never find anything are throttled.
 */
void traps_collected(struct traps *traps);
void traps_compared(struct traps *traps, bool differs);
/* Tables were published, or refused: what came before the first publication is swept now. */
void traps_update_ended(struct traps *traps);
/*
 * Since when a trap waits for its sweep, or for the update behind that, by the loop's clock; 0 =
 * none does.
 */
uint64_t traps_pending_since(const struct traps *traps);
