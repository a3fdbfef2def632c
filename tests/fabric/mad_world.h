/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mad_world: transactions over an io that only notes what it is given, for the tests of mad. The
 * test answers as it likes, when it likes; the clock is simulated.
 */
#pragma once

#include "fm/mad/mad.h"

#define SENT_MAX   4096
#define TIMEOUT_MS 200 /* where the test sets none */

struct note_io {
	struct io io;
	struct {
		uint8_t mad[WIRE_MAD_SIZE];
		struct io_addr to;
		unsigned timeout_ms;
		uint64_t at;
	} sent[SENT_MAX];
	unsigned nsent, expected;
	int result; /* of the next `results` sends */
	unsigned results;
	uint8_t refused[WIRE_MAD_SIZE]; /* the latest that was not sent */
	bool is_sm;
	struct loop *loop;
};

struct mad_world {
	struct loop *loop;
	struct note_io *io;
	struct mad *mad;
	unsigned done; /* callbacks, all requests */
	struct mad_answer last;
	uint8_t last_data[64];
	uint64_t last_at;
	bool in_send;
};

extern const struct mad_path mad_world_path; /* one hop */

void mad_world_init(struct mad_world *w, struct mad_conf conf);
void mad_world_init_on(struct mad_world *w, struct loop *loop, struct mad_conf conf);
void mad_world_fini(struct mad_world *w);

/* Unset fields: one hop, Get(NodeDescription). Answers land in the world. */
mad_token mad_world_ask(struct mad_world *w, struct mad_request request);
void mad_world_ask_many(struct mad_world *w, unsigned count, guid_t device, uint32_t mod);

/* The header that a proper answer to the i-th MAD sent has; its modifier alone. */
struct wire_mad mad_world_header(const struct mad_world *w, unsigned i);
uint32_t mad_world_sent_mod(const struct mad_world *w, unsigned i);

/*
 * The i-th MAD sent comes back under that header, from where it went to or from another LID; or as
 * a proper answer.
 */
void mad_world_receive_from(struct mad_world *w, unsigned i, uint16_t lid, const struct wire_mad *m,
			    size_t len);
void mad_world_receive(struct mad_world *w, unsigned i, const struct wire_mad *m, size_t len);
void mad_world_answer(struct mad_world *w, unsigned i);

void mad_world_pass(struct mad_world *w, uint64_t us); /* lets simulated time pass */
