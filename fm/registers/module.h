/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: why links went down, which cables they have, how many bits are wrong and which firmware
 * devices run, as they report it, as a room (fm/fabric/module.h).
 */
#pragma once

#include "fm/fabric/module.h"
#include "fm/fabric/operation.h"
#include "fm/mad/batch.h"

extern const struct fabric_module registers_module;

struct link_down_reason {
	char reason[256]; /* "high BER: effective 2e-7, reported by leaf-07 p33" */
	char blame[128];  /* the end that is to blame, as "leaf-07 p33"; "" = not known */
};
/*
 * Why the link at that port went down last, of what both of its ends report. False: it did not, or
 * neither end reports a reason, and *out is empty.
 */
bool link_down_reason(const struct fabric *fabric, guid_t node, uint8_t port,
		      struct link_down_reason *out);

/*
 * The module in a port, as last read: "serial" and what else the module reports of itself, and how
 * often links went down with it. NULL: there is none, or it was never read. The caller owns it; may
 * be called in a child.
 */
json_t *link_module(const struct fabric *fabric, guid_t node, uint8_t port);
/* How hot it is, in C; NAN: that is not known. */
double link_module_celsius(const struct fabric *fabric, guid_t node, uint8_t port);

/*
 * Errors behind error correction that the port has counted. When that was read, by the loop's
 * clock; 0 = it is not known. again: it is read again soon.
 */
uint64_t link_effective_errors(const struct fabric *fabric, guid_t node, uint8_t port, bool again,
			       uint64_t *errors);
/*
 * Bit error rates as last read; lists, empty where they were not read: "histogram", blocks with no
 * wrong symbol, with one, and so on, and "planes", the rates of each. NULL: nothing is known. The
 * caller owns it; may be called in a child.
 */
json_t *link_bit_errors(const struct fabric *fabric, guid_t node, uint8_t port);
/* Reads these now at both ends of a link; then fn is called, with an empty document. */
void link_bit_errors_read(struct fabric *fabric, guid_t node, uint8_t port, waiter_fn *fn,
			  void *arg);

/* "firmware", "psid", "up_s"; NULL: not known. The caller owns it; may be called in a child. */
json_t *device_facts(const struct fabric *fabric, guid_t node);

#define DEVICE_FIRMWARE 32 /* bytes of its text, as "31.2014.1010" */
/*
 * For who asks a switch itself: makes the request (batch_ops.make) of what it is; false: no LID
 * leads to it. And what it answered; false: it names no firmware, and the text is empty.
 */
bool device_ask(const struct fabric_services *services, const struct inv_node *sw,
		struct batch_request *request);
bool device_firmware(const struct mad_answer *answer, char firmware[DEVICE_FIRMWARE]);
