/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * registers: asks NVIDIA's devices why a link went down (PDDR page 6) and which module a port has
 * (page 3), by AccessRegister; Get alone, never a Set nor a clear bit.
 *
 * A device is asked once whether it has AccessRegister (GeneralInfo, bit 20). One that has not, or
 * that does not answer, is left alone for an hour, and what was to be asked of it has no answer.
 * Requests go by LID to the device, WAITING_MOST of them at a time, while may_ask() is true: a
 * reroute goes before them.
 *
 * Why a link went down is asked at once. Modules are met in laps over all ports with an Active
 * link, ASKS_A_S requests a second at most: once since the link came up, then each day where there
 * are 98,304 such ports, more often where there are fewer, and each minute where the module is
 * about as hot as it may be.
 */
#ifndef FMD_REGISTERS_REGISTERS_H
#define FMD_REGISTERS_REGISTERS_H

#include "fm/inventory/inventory.h"
#include "fm/loop/loop.h"
#include "fm/mad/mad.h"
#include "fm/mad/wire_registers.h"

enum register_state {
	REGISTER_UNASKED,
	REGISTER_WANTED,
	REGISTER_ASKED,
	REGISTER_READ,
	REGISTER_UNKNOWN, /* the device does not have it, or does not answer */
};

enum register_kind { REGISTER_DOWN, REGISTER_MODULE, REGISTER_KINDS };

struct register_port {		       /* one end of a link; zeroed = nothing is known */
	uint8_t state[REGISTER_KINDS]; /* enum register_state; `down` counts where it was read */
	uint8_t peer_port;
	bool again;	    /* the module is asked for once more */
	guid_t peer;	    /* the other end of the link that went down */
	uint64_t module_us; /* when the module was asked for since the link came up; 0 = not yet */
	struct wire_down down;
	struct wire_module module; /* as last read, or of the link before where it was not */
};

struct registers_counts { /* since registers_new() */
	uint64_t asked;	  /* GeneralInfo apart; one that is asked again counts again */
	uint64_t read, refused, malformed, unanswered;
};

struct registers_ops {
	bool (*may_ask)(void *arg);
	/* Why a link went down, which was wanted of that port, has come to an end. */
	void (*ended)(void *arg, guid_t node, uint8_t port);
	/* Was read, and is what the port has behind this call. False: it is asked for once more. */
	bool (*module)(void *arg, guid_t node, uint8_t port, const struct wire_module *module);
	/* The lap has come to a port whose module is hotter than it may be; it has ended. */
	void (*hot)(void *arg, const struct inv_node *node, uint8_t port,
		    const struct wire_module *module);
	void (*lapped)(void *arg);
};

struct registers;
/* Of the caller; loop, mad, inventory and ops are borrowed, ops is called with arg. */
struct registers *registers_new(struct loop *loop, struct mad *mad, struct inventory *inventory,
				const struct registers_ops *ops, void *arg);
void registers_free(struct registers *r); /* NULL is fine; nothing is called any more */
/* The link between these went down: both ends are asked why. */
void registers_link_fell(struct registers *r, guid_t node, uint8_t port, guid_t peer,
			 uint8_t peer_port);
/* NULL: nothing was asked of it. Borrowed until control returns to the loop. */
const struct register_port *registers_port(const struct registers *r, guid_t node, uint8_t port);
/* That module was in the port before this process began; nothing, where there is no such port. */
void registers_restore(struct registers *r, guid_t node, uint8_t port, const char *serial);
/*
 * Of the module of a port whose link is up: below REGISTER_READ it is still to be read since that
 * came up. REGISTER_UNKNOWN: it has no such link, or is not read.
 */
enum register_state registers_module_state(const struct registers *r, guid_t node, uint8_t port);
/* Ports of which it is not known yet why their link went down. */
unsigned registers_waiting(const struct registers *r);
struct registers_counts registers_counts(const struct registers *r, enum register_kind kind);

#endif
