/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* generate_own: what the files of this folder share; nobody else includes it. */
#pragma once

#include "topology/generate/generate.h"
#include "topology/snapshot/topo_builder.h"

#define RAILS	     8
#define SWITCHES_MAX 8192
#define PORTS_MAX    254
#define LIDS_MAX     49151

/*
 * What all generators share: nodes with running GUIDs, cables as they are after power-on. A
 * generator owns the builder and freezes it in the end. Making nodes and cables cannot fail as long
 * as a node has at most 254 ports and each port at most one cable.
 */
struct generator {
	struct topo_builder *builder;
	enum topo_speed speed;
	uint16_t hca_device, switch_device;
	unsigned switches, hcas; /* made so far */
};

/*
 * Make a node and return its handle in the builder. Its GUID is a fixed prefix, the kind and the
 * running number, so GUIDs follow the order of making.
 */
int generate_switch(struct generator *g, unsigned nports, const char *name);
int generate_hca(struct generator *g, unsigned nports, const char *name);
/*
 * Make a cable that is up, its ports as after power-on: to an HCA, and between two switches.
 * Generators number ports within what they asked for, each once: these cannot fail.
 */
void generate_host_cable(struct generator *g, int hca, unsigned hca_port, int sw, unsigned sw_port);
void generate_cable(struct generator *g, int a, unsigned a_port, int b, unsigned b_port);

/* The SHARP aggregation node of the switch that was made last, on that port of it. Cannot fail. */
void generate_aggregation(struct generator *g, int sw, unsigned port);

/* Exactly `count` numbers with commas between, of up to 100,000 each. */
bool generate_list(const char *text, unsigned count, unsigned *list);
/* A number of 1 to `most`; *end is behind it. */
bool generate_number(const char *text, unsigned most, unsigned *value, const char **end);

/*
 * generate_unlike.c: argv[0] = "mixed", or "directors". Returns a snapshot, the caller's; NULL with
 * the reason in err when the words name no such fabric.
 */
struct topo *generate_mixed(int argc, char **argv, char *err, size_t err_size);
struct topo *generate_directors(int argc, char **argv, char *err, size_t err_size);
