/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * faults_room: the room of fm/links_out with a fake pipe (fake_pipe.h) on a fabric double whose
 * switches misbehave. Include cmocka first.
 */
#pragma once

#include <inttypes.h>
#include "fm/links_out/module.h"
#include "fm/program/mft.h"
#include "fm/program/program.h"
#include "fm/program/audit.h"
#include "tests/lib/sweep_bench.h"
#include "tests/lib/fake_pipe.h"

#define SECOND_US 1000000ull
#define MINUTE_US (60 * SECOND_US)
#define TRIES	  4 /* of a request, with mad_conf of the bench */

struct room {
	struct bench b;
	struct fabric f;
	struct program *program;
	struct mft *mft;
	struct tables tables;
	guid_t sw; /* a switch that misbehaves */
};

/* 16 leaves below 8 spines, so that a leaf has less than a quarter of the links of its tier. */
struct topo *wide_tree(void);
void isolation_begin_on(struct room *r, struct topo *design);
void isolation_begin(struct room *r);
void isolation_end(struct room *r);
json_t *isolated_rows(const struct room *r);
unsigned count_rows(const struct room *r);
unsigned count_in_force(const struct room *r);
/* Calls the hook that the pipe calls before each snapshot. */
void isolation_annotate(struct room *r);
bool refusing_is_alerted(const struct room *r);
