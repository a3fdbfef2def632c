/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * registers: asks NVIDIA's devices why a link went down (PDDR page 6), which module a port has
 * (page 3) and how many bits were wrong (PPCNT groups 0x16, 0x23), by AccessRegister; Get alone,
 * never a Set nor a clear bit.
 *
 * A device is asked once whether it has AccessRegister (GeneralInfo, bit 20), and again when a link
 * of it is back: its firmware and how long it runs are in the same answer. One that has not, or
 * that does not answer, is left alone for an hour, and what was to be asked of it has no answer.
 * Requests go by LID to the device, WAITING_MOST of them at a time, while may_ask() is true: a
 * reroute goes before them.
 *
 * Why a link went down is asked at once. All else has 30 requests a second together. Laps meet all
 * ports with an Active link: bit errors once since the link came up, then each hour; the module
 * once, then each day where there are 98,304 such ports, more often where there are fewer, and each
 * minute where the module is about as hot as it may be. Bit errors are read between laps too where
 * somebody asks for that.
 *
 * Switches without HierarchyInfo are asked for the cage of each port, once, and HCAs with a link of
 * XDR for their planes.
 */
#pragma once

#include "fm/inventory/inventory.h"
#include "fm/loop/loop.h"
#include "fm/mad/batch.h"
#include "fm/mad/wire_registers.h"

enum register_state {
	REGISTER_UNASKED,
	REGISTER_WANTED,
	REGISTER_ASKED,
	REGISTER_READ,
	REGISTER_UNKNOWN, /* the device does not have it, or does not answer */
};

enum register_kind {
	REGISTER_DOWN,
	REGISTER_MODULE,
	REGISTER_BER,
	REGISTER_HISTOGRAM,
	REGISTER_KINDS,
	/* Of a device, and of a plane of a port. */
	REGISTER_DEVICE = REGISTER_KINDS,
	REGISTER_PLANES,
	REGISTER_PLANE,
	REGISTER_IB_PORT,
	REGISTER_CAGE,
};

struct register_detail { /* of a port, as registers_read() asked for it last */
	bool histogram;
	uint64_t bins[WIRE_HISTOGRAM_BINS];
	bool plane[WIRE_PLANES_MOST];
	struct wire_ber planes[WIRE_PLANES_MOST];
};

enum register_fall { REGISTER_STOOD, REGISTER_FELL, REGISTER_EXCUSED };

struct register_port {		       /* one end of a link; zeroed = nothing is known */
	uint8_t state[REGISTER_KINDS]; /* enum register_state; `down` counts where it was read */
	uint8_t peer_port;
	uint8_t fall; /* enum register_fall: since its device was asked how long it runs */
	bool again;   /* the module is asked for once more */
	guid_t peer;  /* the other end of the link that went down */
	/* When it was asked for since the link came up; 0 = not yet. */
	uint64_t asked_us[REGISTER_BER + 1];
	struct wire_down down;
	struct wire_module module; /* as last read, or of the link before where it was not */
	struct wire_ber ber;
	uint64_t ber_us;		/* when that was read; 0 = it is not known */
	struct register_detail *detail; /* NULL = not known */
};

struct register_device {
	uint64_t read_us; /* 0 = never */
	struct wire_device info;
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
	/* It started again since its links fell; what it reports now it has behind this call. */
	void (*rebooted)(void *arg, guid_t node, const struct wire_device *before,
			 const struct wire_device *now);
	void (*read)(void *arg); /* nothing of registers_read() is on its way any more */
	/* A port is in that cage of a device that has no HierarchyInfo. */
	void (*label)(void *arg, guid_t node, uint8_t port, const char *label);
};

/*
 * A Get that goes by LID to the device's agent, an HCA's to that port, with the VS_Key. False: it
 * cannot be reached so. And what it answers to GeneralInfo, of itself; false: nothing sound.
 */
bool registers_get(const struct inventory *inventory, const struct inv_node *node, unsigned num,
		   uint64_t key, struct batch_request *request);
bool registers_take_device(const struct mad_answer *answer, struct wire_device *device);

struct registers;
/*
 * Of the caller; loop, mad, inventory, key and ops are borrowed, ops is called with arg. Requests
 * carry the VS_Key that *key is then, 0 = none.
 */
struct registers *registers_new(struct loop *loop, struct mad *mad, struct inventory *inventory,
				const uint64_t *key, const struct registers_ops *ops, void *arg);
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
/* Reads the bit errors of a port whose link is up, if requests are left for that. */
void registers_watch(struct registers *r, guid_t node, uint8_t port);
/* The same with the histogram and each plane, ahead of all others. False: nothing was asked. */
bool registers_read(struct registers *r, guid_t node, uint8_t port);
/* NULL: never read. Borrowed until control returns to the loop. */
const struct register_device *registers_device(const struct registers *r, guid_t node);
/* The fall of the link there is not its cable's fault. False: that is known already. */
bool registers_excuse(struct registers *r, guid_t node, uint8_t port);
/*
 * Since registers_new(); of a kind up to REGISTER_DEVICE: GeneralInfo, and what else is asked of
 * devices.
 */
struct ask_counts registers_counts(const struct registers *r, unsigned kind);
