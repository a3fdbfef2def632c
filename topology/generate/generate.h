/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * generate: reference fabrics for planning, tests and benchmarks. GUIDs and names are a function
 * of the arguments.
 *
 * A generator returns a snapshot that the caller releases with topo_unref(), or NULL with the
 * reason in err.
 */
#pragma once

#include "topology/snapshot/topo.h"

enum generate_system { GENERATE_A100, GENERATE_H100, GENERATE_B200 };

/*
 * The compute fabric of a DGX SuperPOD of `su` scalable units: rail-optimised, two tiers while
 * the published tables have two, three above (leaf, spine, core). Node n of a unit is at port
 * n+1 of its eight leaves. sharp: every switch has its SHARP aggregation node, as delivered, on the
 * port after its last; false: SHARP is switched off. NULL when `su` is outside what the system's
 * design allows (1..64; A100 1..7).
 */
struct topo *generate_superpod(enum generate_system system, unsigned su, bool sharp, char *err,
			       size_t err_size);

/*
 * PGFT(h; m1..mh; w1..wh; p1..ph) of Zahavi: h levels of switches over hosts; a level-l node has
 * m_l children and w_l+1 parents, p_l parallel cables to each. NULL for a switch above 254 ports
 * or a fabric above the LID space.
 */
struct topo *generate_pgft(unsigned h, const unsigned *m, const unsigned *w, const unsigned *p,
			   char *err, size_t err_size);

/*
 * Makes the fabric of `fmctl generate`'s arguments: argv[0] = "superpod", "pgft" or one of
 * generate_shape()'s. NULL with the reason in err when they do not name a fabric.
 */
struct topo *generate_parse(int argc, char **argv, char *err, size_t err_size);
