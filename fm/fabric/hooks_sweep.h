/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hooks_sweep: what is seen of the fabric: traps, sweeps, and what was asked a second time.
 * A sweep, of all or of some nodes, may end while this manager is not master (yet).
 * See fm/fabric/module.h for who calls them and when; a hook that is NULL is not needed.
 */
#ifndef FMD_FABRIC_HOOKS_SWEEP_H
#define FMD_FABRIC_HOOKS_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

struct sweep_result;
struct wire_notice;

struct fabric_sweep_hooks {
	/*
	 * A trap of the fabric, `times` of it at once; repeated ones are left out. forged: it names
	 * a port that did not send it.
	 */
	void (*trap)(void *room, const struct wire_notice *notice, uint16_t from_lid,
		     unsigned times, bool forged);
	/*
	 * Since when something waits for its sweep, or for the update behind that, by the loop's
	 * clock; 0 = nothing does.
	 */
	uint64_t (*pending_since)(const void *room);
	/*
	 * A sweep is about to send its first request. light: it asks switches for PortStateChange.
	 */
	void (*sweeping)(void *room, bool light);
	/*
	 * A sweep has ended. Not NULL: the own port is in no fabric, or in another one, so what was
	 * found is of no use. Rooms behind it are not called, and operators who wait get this text;
	 * it is good until control returns to the loop.
	 */
	const char *(*swept)(void *room, const struct sweep_result *result);
	/* A light sweep has ended: all switches were asked for PortStateChange. */
	void (*polled)(void *room);
	/*
	 * What fabric_request_verification() asked is answered: so many nodes answered otherwise
	 * than before.
	 */
	void (*verified)(void *room, unsigned changed);
};

#endif
