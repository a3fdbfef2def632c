/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* double_own: what the double's files have of each other. */
#pragma once

#include "tests/fabric/double.h"
#include "tests/fabric/double_execute.h"
#include "tests/fabric/double_state.h"
#include "tests/fabric/double_walk.h"

struct dclient *double_client(struct double_fabric *d, const struct dport *port); /* or NULL */
struct dnode *double_node(const struct double_fabric *d, guid_t guid);
struct dport *double_port(const struct double_fabric *d, guid_t guid, unsigned port);
/* Gives the cable in it the numbers that it was delivered with, unless it has some. */
/* What the device's agent names. */
void double_firmware(const struct double_fabric *d, guid_t guid, char text[32]);
void double_name_cable(const struct double_fabric *d, struct dport *port);
bool double_chance(struct double_fabric *d, unsigned per_mille);
uint64_t double_random(struct double_fabric *d);
/* A time of that range, by chance. */
uint64_t double_span(struct double_fabric *d, const unsigned range[2]);
unsigned double_pkey_cap(const struct dport *port); /* entries of its P_Key table */

/* double_net.c */
void net_send(struct double_fabric *d, struct dport *from, const struct io_addr *to,
	      const uint8_t *mad, size_t len);
/* Between the two nothing happens at once. hold() says what release() is to be told. */
bool net_hold(struct double_fabric *d);
void net_release(struct double_fabric *d, bool held);

/*
 * double_trap.c: to the SM that the node's port names, as often as conf says until it is repressed.
 */
void net_trap(struct double_fabric *d, struct dnode *node, const struct wire_notice *notice);
void trap_repressed(struct double_fabric *d, struct dnode *node, uint64_t tid);
void traps_forget(struct dnode *node);
/*
 * A bad P_Key came to the port, a wrong M_Key to the node: counted, and told by a trap now and
 * then.
 */
void port_set_capmask(struct double_fabric *d, struct dport *port, uint32_t capmask); /* trap 144 */
void port_bad_pkey(struct double_fabric *d, struct dport *port);
void node_bad_mkey(struct double_fabric *d, struct dport *own);

/* double_load.c */
struct dload;
void load_count(struct double_fabric *d, struct dport *port); /* up to now */
void load_refresh(struct double_fabric *d);
void load_changed(struct double_fabric *d);
void load_free(struct double_fabric *d);
double load_offered(struct double_fabric *d, const struct dport *port); /* Mb/s by now */

/* Something changed that a packet's way may depend on. */
static inline void ways_changed(struct double_fabric *d)
{
	d->ways++;
	if (d->load)
		load_changed(d);
}

/* double_link.c */
void port_power_on(struct double_fabric *d, struct dport *port);
void link_update(struct double_fabric *d, struct dport *port); /* after cut, disabled changed */
void link_drop(struct dport *port); /* silently; link_update() brings it up again */
uint8_t port_set_state(struct double_fabric *d, struct dport *port,
		       uint8_t state); /* the state asked for; 0 or a status */
