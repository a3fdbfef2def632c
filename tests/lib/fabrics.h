/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fabrics: snapshots that many tests use, and searches in them. Include cmocka first. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "topology/generate/generate.h"
#include "topology/files/netfile.h"

/* A SuperPOD of `su` scalable units of 32 hosts; and a snapshot of a text. The caller owns them. */
struct topo *pod(unsigned su);
struct topo *parse_netfile(const char *text);

/*
 * Irregular fabrics: those of tests/fabrics, which are modelled on real ones, and published ones
 * where FMD_FABRICS (else ../shared/fabrics) has them. Tests run in the top folder.
 */
struct irregular {
	const char *name;
	unsigned links;
	bool published; /* in a folder of its own, which may be absent */
};

#define IRREGULARS 13
extern const struct irregular irregulars[IRREGULARS];
/* The caller owns it; NULL = a published one that is not on this machine. */
struct topo *irregular_fabric(size_t number);
uint32_t find_desc(const struct topo *t, const char *desc);
const struct topo_node *node_named(const struct topo *t, const char *desc);
/* A leaf's first port to a spine. */
unsigned uplink_of(const struct topo *t, uint32_t leaf);
