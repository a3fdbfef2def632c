/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* double_events: what the hardware does by itself. */
#pragma once

#include "topology/snapshot/topo.h"

struct double_fabric;

/*
 * Down and up again: PortStateChange at switches, and trap 128 to the SM LID if it can be reached.
 */
void double_cut(struct double_fabric *d, guid_t node, unsigned port);
void double_join(struct double_fabric *d, guid_t node, unsigned port);
/* The cables of two ports change places, while both are cut. */
void double_swap(struct double_fabric *d, guid_t a, unsigned port_a, guid_t b, unsigned port_b);
/* A cable from one port to the other; what they had in was cut before. */
void double_plug(struct double_fabric *d, guid_t a, unsigned port_a, guid_t b, unsigned port_b);
/*
 * The cable comes up again, and can no more than that; TOPO_SPEED_NONE, 0 lanes: as much as the
 * ports.
 */
void double_set_cable(struct double_fabric *d, guid_t node, unsigned port, enum topo_speed speed,
		      unsigned lanes);
/* Another manager makes the link Active, at both ends. */
void double_activate(struct double_fabric *d, guid_t node, unsigned port);
/* All the node was told is forgotten, its links bounce. */
void double_reboot(struct double_fabric *d, guid_t node);
/*
 * How long links train and devices boot, least and most, from now on; an adapter boots in a tenth
 * of that. All 0, as at first: at once.
 */
struct double_times {
	unsigned train_us[2], boot_us[2];
};
void double_set_times(struct double_fabric *d, const struct double_times *times);
/*
 * The link goes on with that speed or so many lanes, and nobody is told; TOPO_SPEED_NONE, 0 lanes:
 * what it trains to.
 */
void double_degrade(struct double_fabric *d, guid_t node, unsigned port, enum topo_speed speed,
		    unsigned lanes);
/* A port's LID after each power-on; 0 = none. */
void double_set_flash(struct double_fabric *d, guid_t node, unsigned port, uint16_t lid);
/* The cable comes up again with so many lanes. */
void double_retrain(struct double_fabric *d, guid_t node, unsigned port, unsigned lanes);
/* Another device in its place: new GUIDs (of ports: the numbers behind it), and nothing known. */
void double_replace(struct double_fabric *d, guid_t node, guid_t guid);
void double_set_desc(struct double_fabric *d, guid_t node, const char *desc); /* with trap 144 */
/* Likewise, and nobody is told. */
void double_rename(struct double_fabric *d, guid_t node, const char *desc);
