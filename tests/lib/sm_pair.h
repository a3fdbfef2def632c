/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sm_pair: two fmd on one fabric double, and fmd beside a scripted manager. Include cmocka first.
 */
#pragma once

#include "tests/lib/fabric_world.h"

/* a is at the first host and has the lower GUID, b at the last. They share fabric and clock. */
struct pair {
	struct world a, b;
	struct io *io_b;
};

/* GUID of a host by its number. */
guid_t sm_host(const struct world *w, uint32_t number);
/* Starts nothing yet; takes the reference of the design. */
void pair_init(struct pair *p, struct topo *design, int priority_a, int priority_b);
/* a starts by start_fabric(). */
void pair_start_b(struct pair *p);
void pair_stop(struct world *w);
void pair_fini(struct pair *p);
bool has_role(const struct world *w, const char *role);
bool is_master_and_up(const struct world *w);
/* The number of Sets that change the fabric. */
uint64_t sets_by(struct io *io);
/* How often hosts were asked to register with the SA anew, over all hosts. */
unsigned all_reregistered(const struct world *w);

struct handed { /* answers of sm_hand_over() */
	unsigned done, errors;
};
/* arg: struct handed. */
void handed_cb(void *arg, json_t *result, const char *error);
/* The LIDs that ports hold, by node; the caller frees them. */
uint16_t *lids_held(const struct world *w);
/* Fails unless ports hold these LIDs; frees them. */
void assert_lids_are(const struct world *w, uint16_t *lids);
/* Fails unless fmd is master, every link is Active, and the tables are programmed and deliver. */
void assert_well_managed_by(const struct world *w);
/* Makes a host answer SMInfo with `info`. */
void other_sm_at(const struct world *w, uint32_t number, struct wire_sm_info info);
/* Starts fmd on a small fabric with that manager at host 5, and runs 20 s. */
void begin_beside_sm(struct world *w, struct wire_sm_info info);
