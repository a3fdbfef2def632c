/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: one verdict a machine over its InfiniBand ports and its NVLinks
 * (fm/fabric/host_verdict.h), as a room (fm/fabric/module.h).
 */
#ifndef FMD_HOSTS_MODULE_H
#define FMD_HOSTS_MODULE_H

#include "fm/fabric/host_verdict.h"
#include "fm/fabric/module.h"
#include "topology/snapshot/topo.h"

/* ib_parts: the state of a machine's HCAs and their links by a snapshot. Pure. */

extern const struct fabric_module hosts_module;

/* Sets *out to the present verdict on a host of the published snapshot, by index. */
void hosts_judge(struct fabric *fabric, uint32_t host, struct host_verdict *out);
/* Adds "verdict", "reasons", "hcas_up" and "hcas_known" to a row about that host. */
void hosts_add_verdict(const struct host_verdict *verdict, json_t *row);
/* Whether a host is wanted in hosts_document(). */
typedef bool hosts_asked_fn(const void *arg, uint32_t host, const struct host_verdict *verdict);
/*
 * The document of `fmctl --json hosts`: the wanted hosts (asked NULL = all) of the published
 * snapshot with their verdicts; the caller owns it.
 */
json_t *hosts_document(struct fabric *fabric, hosts_asked_fn *asked, const void *arg);

#endif
