/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * links_out_room: the room of fm/links_out/ alone, with two leaves of two hosts each and four
 * spines, one link from each leaf to each spine, for tests. Behind <cmocka.h>.
 */
#pragma once

#include "fm/links_out/module.h"
#include "routing/ftree/route.h"
#include "tests/lib/fake_pipe.h"

#define LEAVES	   2
#define SPINES	   4
#define LEAF	   0x100ull /* and the next */
#define SPINE	   0x200ull
#define HOST	   0x300ull
#define UPLINK	   5 /* port of a leaf to the first spine, and the next */
#define SECOND_US  1000000ull
#define REPLY_SIZE 512

struct answer {
	unsigned count;
	json_t *result; /* owned by the test */
	char error[REPLY_SIZE];
};

void room_answer_cb(void *arg, json_t *result, const char *error);
struct inv_node *room_node(struct fabric *f, guid_t guid);

/* Publishes as an update does: marks, snapshot, LIDs, tables. */
void room_publish(struct fabric *f);
void room_init(struct fabric *f);

/* Restarts the room with its rows; the inventory is filled again. */
void room_restart(struct fabric *f);
void room_fini(struct fabric *f);

/* What the room kept of a kind is that: lines. */
void room_write_rows(struct fabric *f, const char *kind, const char *text);
json_int_t answer_number(const struct answer *answer, const char *key);
const char *answer_text(const struct answer *answer, const char *key);
