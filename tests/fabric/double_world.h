/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * double_world: the smallest fabric with a spine, in the double, and transactions over it, for the
 * double's own tests.
 *
 *   h1 p1 - p1 leaf1 p9 - p1 spine p2 - p9 leaf2 p1 - p1 h2        we are at h1
 */
#pragma once

#include "fm/mad/mad.h"
#include "tests/fabric/double.h"

enum { LEAF1 = 0x1, LEAF2 = 0x2, SPINE = 0x3, H1 = 0x110, H2 = 0x120 };
enum { LID_H1 = 1, LID_H2 = 2, LID_LEAF1 = 3, LID_LEAF2 = 4, LID_SPINE = 5 };

struct double_world {
	struct loop *loop;
	struct topo *topo;
	struct double_fabric *d;
	struct mad *mad;
	unsigned done;
	unsigned ok; /* a test's own count */
	struct mad_answer last;
	uint8_t data[64];
	unsigned traps;
	struct wire_notice trap;
	struct wire_mad heard;
	unsigned sets, caught;
	uint8_t caught_mad[1024];
	size_t caught_len;
};

extern const struct mad_path to_h1, to_leaf1, to_spine, to_leaf2, to_h2;

void double_world_init(struct double_world *w, const struct double_conf *conf);
void double_world_fini(struct double_world *w);

/* Asks and waits; the answer's data is in w->data. */
enum mad_result double_world_ask(struct double_world *w, struct mad_request request);
enum mad_result double_world_send(struct double_world *w,
				  struct mad_request request); /* with its own method */
enum mad_result double_world_get(struct double_world *w, const struct mad_path *path,
				 uint16_t attr_id, uint32_t mod);
enum mad_result double_world_set(struct double_world *w, const struct mad_path *path,
				 uint16_t attr_id, uint32_t mod, const uint8_t data[64]);

/*
 * A MAD of another class, as it is, from h2's QP 1 to that of a LID; what came back until all was
 * quiet.
 */
struct double_heard {
	unsigned count;
	uint8_t mad[WIRE_MAD_SIZE]; /* the latest */
};
struct double_heard double_world_ask_gmp(struct double_world *w, uint16_t lid,
					 const uint8_t mad[WIRE_MAD_SIZE]);

/* Get(PortInfo), change, Set. */
typedef void port_change_fn(struct wire_port_info *info, unsigned value);
enum mad_result double_world_change(struct double_world *w, const struct mad_path *path,
				    unsigned port, port_change_fn *change, unsigned value);
void change_state(struct wire_port_info *info, unsigned value);
void change_lid(struct wire_port_info *info, unsigned value); /* and h1 as the SM */
void change_phys(struct wire_port_info *info, unsigned value);
void change_mtu(struct wire_port_info *info, unsigned value);

/* LinearFDBTop; clears PortStateChange as well. */
void double_world_set_top(struct double_world *w, const struct mad_path *path, uint16_t top);
/* LIDs, tables and Active links, all by SMPs. */
void double_world_bring_up(struct double_world *w);
