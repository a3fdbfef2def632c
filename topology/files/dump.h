/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* dump: a snapshot for people and programs. */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "topology/snapshot/topo.h"

/*
 * The writers flush `out` and leave it open. They return 0, or -errno when the stream has an error;
 * part of the document may have been written then.
 */
int dump_text(const struct topo *t, FILE *out); /* for people: tiers, units, leaves, hosts */
int dump_dot(const struct topo *t, FILE *out);	/* Graphviz, switches ranked by level */
int dump_svg(const struct topo *t, FILE *out);	/* a picture, top tier first */
int dump_lst(const struct topo *t, FILE *out);	/* OpenSM's opensm-subnet.lst, LIDs from ports */
/*
 * dump_slurm() writes topology.conf of Slurm's topology/tree, dump_slurm_yaml() topology/tree and
 * topology/block of Slurm 25.05 (topology.yaml), dump_k8s() labels of Kubernetes nodes. domains:
 * NVLink domain of each host, NULL = not known; or NULL. shortened: names of nodes are
 * (text_node_name()). They return 0 or -errno, as the writers above.
 */
int dump_slurm(const struct topo *t, const char *const *domains, bool shortened, FILE *out);
int dump_slurm_yaml(const struct topo *t, const char *const *domains, bool shortened, FILE *out);
int dump_k8s(const struct topo *t, const char *const *domains, bool shortened, FILE *out);

/*
 * New JSON values, never NULL; the caller owns each. Rows have the keys of `fmctl --json` nodes,
 * switches, links, hosts. dump_json(): {"nodes":[..],"links":[..],"hosts":[..],"levels":N};
 * dump_json_links(): each link once. dump_json_link(): the row of a link by either of its ports;
 * "b" is null when no link is known at the port. dump_json_unhealthy_link(): that row with a state
 * and the reason, whose reference it takes.
 */
json_t *dump_json(const struct topo *t);
json_t *dump_json_node(const struct topo *t, uint32_t node);
json_t *dump_json_nodes(const struct topo *t, bool switches_only);
json_t *dump_json_link(const struct topo *t, uint32_t port);
json_t *dump_json_unhealthy_link(const struct topo *t, uint32_t port, const char *state,
				 json_t *why);
json_t *dump_json_links(const struct topo *t, bool down_only);
json_t *dump_json_host(const struct topo *t, uint32_t host);
