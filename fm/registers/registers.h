/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * registers: asks NVIDIA's devices why a link went down (PDDR page 6, by AccessRegister; Get alone,
 * never a Set nor a clear bit).
 *
 * A device is asked once whether it has AccessRegister (GeneralInfo, bit 20). One that has not, or
 * that does not answer, is left alone for an hour, and what was to be asked of it has no answer.
 * Requests go by LID to the device, WAITING_MOST of them at a time, while may_ask() is true: a
 * reroute goes before them.
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

struct register_port { /* one end of a link; zeroed = nothing is known */
	uint8_t state; /* enum register_state; `down` counts where it is REGISTER_READ */
	uint8_t peer_port;
	guid_t peer; /* the other end of the link that went down */
	struct wire_down down;
};

struct registers_counts { /* since registers_new() */
	uint64_t asked;	  /* GeneralInfo apart; one that is asked again counts again */
	uint64_t read, refused, malformed, unanswered;
};

struct registers_ops {
	bool (*may_ask)(void *arg);
	/* What was wanted of that port has come to an end. */
	void (*ended)(void *arg, guid_t node, uint8_t port);
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
/* Ports that wait or are asked. */
unsigned registers_waiting(const struct registers *r);
struct registers_counts registers_counts(const struct registers *r);

#endif
