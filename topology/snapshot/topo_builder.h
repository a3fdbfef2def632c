/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * topo_builder: makes snapshots (topology/snapshot/topo.h), from single nodes and links or from an
 * older snapshot of the same fabric.
 */
#pragma once

#include "topology/snapshot/topo.h"

struct node_names;
struct topo_builder;

/*
 * An empty builder; the caller owns it until topo_freeze() consumes it. topo_builder_free() is for
 * a builder that is not frozen; NULL is fine.
 */
struct topo_builder *topo_builder_new(void);
void topo_builder_free(struct topo_builder *b);

/*
 * Adds a node by what its maker knows: port0, host, name and what is derived are of no meaning.
 * Returns its handle (>= 0), -EEXIST (GUID taken) or -EINVAL (type unknown, 255 ports). Texts are
 * copied, cut at 64 bytes and cleaned (topology/base/text.h); label NULL = the description.
 */
int topo_builder_node(struct topo_builder *b, const struct topo_node *attr)
	__attribute__((warn_unused_result));
/* Returns the handle of the node with that NodeGUID, or -ENOENT. */
int topo_builder_find(const struct topo_builder *b, guid_t guid);
/*
 * Sets what is known of a port: all but its node, its number and its link. Returns 0, or -ERANGE:
 * the node has no such port.
 */
int topo_builder_port(struct topo_builder *b, int node, unsigned num, const struct topo_port *attr);
/*
 * Adds a link. Returns 0, -ERANGE (no such port, or port 0), or -EEXIST: one of the ports is in
 * another link (the same link again is fine).
 */
int topo_builder_link(struct topo_builder *b, int node_a, unsigned port_a, int node_b,
		      unsigned port_b, bool up);
/* Keeps a link but marks it down. Returns 0, or -ENOENT: no link is at the port. */
int topo_builder_link_down(struct topo_builder *b, int node, unsigned port);
/* Cordons a port: its link carries no transit. Returns 0, or -ERANGE: no such port. */
int topo_builder_cordon(struct topo_builder *b, int node, unsigned port);
/*
 * Sets what is written beside the port on the device ("cage 9/1"); copied. Returns 0, or -ERANGE:
 * no such port.
 */
int topo_builder_label(struct topo_builder *b, int node, unsigned port, const char *label);
/* Labels each node that the map names with that name. */
void topo_builder_name(struct topo_builder *b, const struct node_names *names);
/* A builder with a copy of all of `t`; the caller owns it. Handles equal node indices of `t`. */
struct topo_builder *topo_builder_from(const struct topo *t);

/*
 * Derives levels, roles, rails, scalable units and hosts, and returns the snapshot with one
 * reference, which the caller owns. Frees the builder.
 */
struct topo *topo_freeze(struct topo_builder *b);

/*
 * A snapshot of the same fabric at a later time: it shares nodes, names, GUIDs and links with the
 * older one. The caller owns one reference and calls topo_with_port() once for each port before it
 * hands the snapshot on; attr->guid is ignored.
 */
struct topo *topo_with_ports(const struct topo *older);
void topo_with_port(struct topo *t, uint32_t port, const struct topo_port *attr, bool up);
/*
 * Cordons, as unhealthy, links between switches that run below so many percent of their kin, the
 * fastest link of the slower of both switches; 0 = none. Once, before the snapshot is handed on.
 */
void topo_hold_slow(struct topo *t, unsigned percent);
/*
 * A snapshot with the same ports, of which the caller owns one reference; topo_alike_cut() then
 * marks the link of a port down.
 */
struct topo *topo_alike(const struct topo *older);
void topo_alike_cut(struct topo *t, uint32_t port);
/* True: both share their nodes and links. False: they may still be equal. */
static inline bool topo_is_again(const struct topo *a, const struct topo *b)
{
	return a->nodes == b->nodes;
}
/*
 * A new reference, which the caller owns, to the snapshot from which t and its relatives were made
 * (t itself, if it was frozen). Its holder recognises later ones by topo_is_again().
 */
struct topo *topo_ref_frozen(const struct topo *t);

/* ---- Inside the layer --------------------------------------------------------------- */
/* Called by topo_freeze() on the not yet published snapshot, in this order. */
struct arena;
void naming_assign(struct topo *t, struct arena *arena); /* naming.c: node.name */
void level_assign(struct topo *t);		       /* level.c: node.level, node.role, nlevels */
void rail_assign(struct topo *t, struct arena *arena); /* rail.c: hosts, node.host, .rail, .su */
