/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Answers that fmd did not ask for, on the fabric double: from who guesses transaction IDs, and
 * from who knows one and is not whom it was asked of. None is believed, all are counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "tests/lib/trap_world.h"

#define FORGER	30 /* hosts */
#define GUESSES 20000
#define KNOWN	64 /* transactions that a forger has heard of and has not answered yet */

struct forger {
	struct world w;
	uint64_t seed;
	const struct io_ops *ops; /* the double's */
	struct io_ops heard_by;
	struct {
		uint8_t mad[WIRE_MAD_SIZE];
	} known[KNOWN];
	unsigned nknown, sent;
	struct loop_timer *answer;
	double dropped;
};

static struct forger *present; /* struct io_ops has no argument of its own */

static void receive(struct forger *f, const struct wire_mad *header, const uint8_t *data,
		    uint16_t lid)
{
	const struct io_addr from = { .lid = lid, .qp = wire_is_smi(header->mgmt_class) ? 0 : 1 };
	struct io *io = double_io(f->w.hw);
	uint8_t mad[WIRE_MAD_SIZE];

	memcpy(mad, data, sizeof(mad));
	wire_mad_encode(header, mad);
	f->sent++;
	io->recv(io->arg, &from, mad, sizeof(mad));
}

/* ---- Who guesses ----------------------------------------------------------------------------- */

static void guess(struct forger *f)
{
	static const struct {
		uint8_t mgmt_class, method;
		uint16_t attr_id;
	} kinds[] = {
		{ WIRE_SMI_DR, WIRE_GET_RESP, WIRE_NODE_INFO },
		{ WIRE_SMI_DR, WIRE_GET_RESP, WIRE_PORT_INFO },
		{ WIRE_SMI_DR, WIRE_GET_RESP, WIRE_LFT },
		{ WIRE_SMI_LID, WIRE_GET_RESP, WIRE_SM_INFO },
		{ WIRE_SMI_LID, WIRE_GET_RESP, WIRE_PORT_INFO },
		{ WIRE_SA, WIRE_GET_RESP, WIRE_SA_NODE },
		{ WIRE_SA, WIRE_REPORT_RESP, WIRE_NOTICE },
		{ WIRE_PERF, WIRE_GET_RESP, 0x12 },
	};
	unsigned kind = (unsigned)(damage_random(&f->seed) % (sizeof(kinds) / sizeof(kinds[0])));
	const struct wire_mad header = {
		.mgmt_class = kinds[kind].mgmt_class,
		.class_version = kinds[kind].mgmt_class == WIRE_SA ? 2 : 1,
		.method = kinds[kind].method,
		.attr_id = kinds[kind].attr_id,
		.tid = (uint32_t)damage_random(&f->seed),
		.returning = true,
		.dr_slid = 0xffff,
		.dr_dlid = 0xffff,
		.hop_count = 3,
	};
	uint8_t data[WIRE_MAD_SIZE];

	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)damage_random(&f->seed);
	receive(f, &header, data, lid_of(&f->w, FORGER));
}

/* ---- Who knows ------------------------------------------------------------------------------- */

/* The right ID, class and attribute, all bits of the content turned, from the forger's own LID. */
static void answer_known(void *arg)
{
	struct forger *f = arg;

	for (unsigned i = 0; i < f->nknown; i++) {
		uint8_t *mad = f->known[i].mad;
		struct wire_mad header;

		assert_int_equal(wire_mad_decode(mad, WIRE_MAD_SIZE, &header), 0);
		header.method = WIRE_GET_RESP;
		for (unsigned at = WIRE_MAD_HEADER; at < WIRE_MAD_SIZE; at++)
			mad[at] ^= 0xff;
		receive(f, &header, mad, lid_of(&f->w, FORGER));
	}
	f->nknown = 0;
}

/* A directed route has no sender: who knows an ID of these can't be told from who was asked. */
static int heard(struct io *io, const struct io_addr *to, const uint8_t *mad, size_t len,
		 unsigned timeout_ms)
{
	struct forger *f = present;

	if (timeout_ms && mad[1] != WIRE_SMI_DR && f->nknown < KNOWN &&
	    to->lid != lid_of(&f->w, FORGER)) {
		memcpy(f->known[f->nknown].mad, mad, WIRE_MAD_SIZE);
		f->nknown++;
		loop_timer_set(f->answer, 0);
	}
	return f->ops->send(io, to, mad, len, timeout_ms);
}

/* ---- Both ------------------------------------------------------------------------------------ */

static void forger_init(struct forger *f)
{
	struct io *io;

	*f = (struct forger){ .seed = 1 };
	present = f;
	world_init(&f->w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	io = double_io(f->w.hw);
	f->ops = io->ops;
	f->heard_by = *io->ops;
	f->heard_by.send = heard;
	f->answer = loop_timer_new(f->w.loop, answer_known, f);
	f->dropped = status_number(&f->w, NULL, "mads_dropped");
}

static char *seen(const struct world *w)
{
	json_t *doc = json_array();
	char *text;

	for (uint32_t host = 0; host < w->design->ncas; host++)
		json_array_append_new(doc, json_integer(lid_of(w, host)));
	json_array_append_new(doc, json_real(status_number(w, NULL, "switches")));
	json_array_append_new(doc, json_real(status_number(w, NULL, "hcas")));
	json_array_append_new(doc, json_real(status_number(w, NULL, "links_down")));
	json_array_append_new(doc, json_real(status_number(w, NULL, "role_changes")));
	json_array_append_new(doc, json_real(status_number(w, NULL, "lft_blocks_written")));
	json_array_append_new(doc, json_real(status_number(w, "health", "sick")));
	json_array_append_new(doc, json_real(count_alerts(w, "", "")));
	text = json_dumps(doc, 0);
	json_decref(doc);
	return text;
}

static void forger_fini(struct forger *f, char *before)
{
	char *after = seen(&f->w);

	assert_string_equal(after, before);
	assert_int_equal(status_number(&f->w, NULL, "mads_dropped") - f->dropped, f->sent);
	assert_true(is_up(&f->w));
	assert_hardware_holds_the_tables(&f->w);
	double_io(f->w.hw)->ops = f->ops;
	loop_timer_free(f->answer);
	free(before);
	free(after);
	world_fini(&f->w);
}

static void answers_that_nobody_asked_for_are_dropped_and_counted(void **state)
{
	struct forger f;
	char *before;

	forger_init(&f);
	before = seen(&f.w);
	for (unsigned i = 0; i < GUESSES; i++) {
		if (i % 2000 == 0)
			fabric_request_sweep(f.w.fabric, "test"); /* many are asked for */
		guess(&f);
		run_for(&f.w, 20);
	}
	run_for(&f.w, 2 * SECOND_US);
	assert_int_equal(f.sent, GUESSES);
	assert_int_equal(mad_stats(f.w.mad).dropped_late, GUESSES);
	forger_fini(&f, before);
}

static void answers_from_another_port_than_was_asked_are_dropped_and_counted(void **state)
{
	struct forger f;
	char *before;

	forger_init(&f);
	before = seen(&f.w);
	double_io(f.w.hw)->ops = &f.heard_by;
	run_for(&f.w, 300 * SECOND_US); /* the counters of all ports are read, among others */
	assert_true(f.sent > f.w.design->nnodes);
	assert_int_equal(mad_stats(f.w.mad).dropped_mismatch, f.sent);
	forger_fini(&f, before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_that_nobody_asked_for_are_dropped_and_counted),
		cmocka_unit_test(answers_from_another_port_than_was_asked_are_dropped_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
