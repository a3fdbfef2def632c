/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sm_pair: two fmd on one fabric double, and fmd beside a scripted manager. Include cmocka first.
 */
#ifndef FMD_TESTS_SM_PAIR_H
#define FMD_TESTS_SM_PAIR_H

#include "tests/lib/fabric_world.h"

/*
 * a sits at the first host and has the lower GUID, b at the last. They share the fabric and the
 * clock.
 */
struct pair {
	struct world a, b;
	struct io *io_b;
};

/* GUID of a host by its number. */
guid_t sm_host(const struct world *w, uint32_t number);
/* Nothing runs yet; the design is owned. */
void pair_init(struct pair *p, struct topo *design, int priority_a, int priority_b);
/* a starts by start_fabric(). */
void pair_start_b(struct pair *p);
void pair_stop(struct world *w);
void pair_fini(struct pair *p);
bool has_role(const struct world *w, const char *role);
bool is_master_and_up(const struct world *w);
/* Sets of what changes the fabric. */
uint64_t sets_by(struct io *io);
/* Asked to register with the SA anew: over all hosts. */
unsigned all_reregistered(const struct world *w);

struct handed { /* answers of sm_hand_over() */
	unsigned done, errors;
};
/* arg: struct handed. */
void handed_cb(void *arg, json_t *result, const char *error);
/* By node, as ports have them; the caller frees. */
uint16_t *lids_held(const struct world *w);
/* Frees lids. */
void assert_lids_are(const struct world *w, uint16_t *lids);
/* Master, every link Active, tables in place and delivering. */
void assert_well_managed_by(const struct world *w);
/* That host answers SMInfo so. */
void other_sm_at(const struct world *w, uint32_t number, struct wire_sm_info info);
/* A small fabric with that manager at host 5, and 20 s of fmd. */
void begin_beside_sm(struct world *w, struct wire_sm_info info);

#endif
