/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* MultiPathRecords against what PathRecords say of each pair; and QoS tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa_impl.h"
#include "tests/lib/sa_ask.h"

#define REQUESTS 3000
#define COUNTS	 (WIRE_BIT(WIRE_MULTI_SGID_COUNT) | WIRE_BIT(WIRE_MULTI_DGID_COUNT))
#define PORTS	 7
#define PATHS	 512

static const guid_t ports[PORTS] = { HOST(0), HOST(1), HOST(2),	       HOST(3),
				     HOST(4), HOST(5), WORLD_CA(5) + 2 };

static void gid_put(uint8_t *at, guid_t guid)
{
	const struct wire_gid gid = { WORLD_PREFIX, guid };

	wire_gid_encode(&gid, at);
}

struct multi {
	uint8_t data[200];
	unsigned nsrc, ndst;
	guid_t ends[11];
	uint64_t mask;
};

static void multi_end(struct multi *m, guid_t guid)
{
	unsigned i = m->nsrc + m->ndst;

	m->ends[i] = guid;
	gid_put(m->data + 24 + 16 * i, guid);
}

static struct multi multi_make(unsigned nsrc, unsigned ndst)
{
	struct multi m = { .mask = COUNTS };

	while (m.nsrc < nsrc) {
		multi_end(&m, ports[pick_below(PORTS)]);
		m.nsrc++;
	}
	while (m.ndst < ndst) {
		multi_end(&m, ports[pick_below(PORTS)]);
		m.ndst++;
	}
	m.data[15] = (uint8_t)nsrc;
	m.data[16] = (uint8_t)ndst;
	return m;
}

static uint16_t ask_multi(struct world *w, const struct multi *m)
{
	return ask_status(w, &(struct world_request){ .method = WIRE_GET_MULTI,
						      .attr = WIRE_SA_MULTI_PATH,
						      .mask = m->mask,
						      .data = m->data,
						      .len = sizeof(m->data) });
}

/*
 * Components that both records have, by (MultiPath bit, byte; PathRecord bit, byte), values random.
 */
static void values_pick(struct multi *m, uint8_t path[200], uint64_t *path_mask)
{
	static const struct {
		uint8_t bit, at, path_bit, path_at;
	} parts[] = { { 5, 5, 11, 49 },	  { 9, 9, 15, 53 },   { 10, 10, 16, 54 },
		      { 11, 10, 17, 54 }, { 12, 11, 18, 55 }, { 13, 11, 19, 55 },
		      { 14, 12, 20, 56 }, { 15, 12, 21, 56 } };
	static const uint8_t mtu[] = { 4, 5 | 0x80, 5 | 0x40, 3 | 0xc0 },
			     rate[] = { 16, 15 | 0x80, 21 | 0x40, 2 },
			     life[] = { 18, 18 | 0x80, 0x52 };

	m->data[5] = path[49] = (uint8_t)(pick_below(2) << 7);
	m->data[9] = path[53] = (uint8_t)pick_below(16);
	m->data[10] = path[54] = mtu[pick_below(4)];
	m->data[11] = path[55] = rate[pick_below(4)];
	m->data[12] = path[56] = life[pick_below(3)];
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (pick_below(3) == 0) {
			m->mask |= WIRE_BIT(parts[i].bit);
			*path_mask |= WIRE_BIT(parts[i].path_bit);
		}
}

/*
 * All PathRecords of all pairs, one pair after the other; their GIDs as a MultiPath answer has
 * them.
 */
static unsigned reference(struct world *w, const struct multi *m, const uint8_t like[200],
			  uint64_t mask, uint8_t rows[PATHS][64])
{
	unsigned n = 0;

	for (unsigned s = 0; s < m->nsrc; s++)
		for (unsigned d = 0; d < m->ndst; d++) {
			uint8_t data[200];

			memcpy(data, like, sizeof(data));
			gid_put(data + 8, m->ends[m->nsrc + d]);
			gid_put(data + 24, m->ends[s]);
			ask_rows(w,
				 &(struct world_request){ .method = WIRE_GET_TABLE,
							  .attr = WIRE_SA_PATH,
							  .mask = mask | WIRE_BIT(WIRE_PATH(sgid)) |
								  WIRE_BIT(WIRE_PATH(dgid)),
							  .data = data,
							  .len = sizeof(data) });
			for (unsigned i = 0; i < world_rows(w); i++)
				memcpy(rows[n++], world_row(w, i), 64);
		}
	return n;
}

static void answers_are_the_path_records_of_each_pair(void **state)
{
	struct world *w = *state;
	uint8_t rows[PATHS][64];
	unsigned with_rows = 0;

	for (unsigned i = 0; i < REQUESTS; i++) {
		unsigned nsrc = 1 + pick_below(4), n, limit = pick_below(3) ? 127 : pick_below(20);
		struct multi m = multi_make(nsrc, 1 + pick_below(5));
		uint8_t path[200] = { 0 };
		uint64_t mask = 0;

		values_pick(&m, path, &mask);
		if (limit != 127) {
			m.mask |= WIRE_BIT(6);
			m.data[5] |= (uint8_t)limit;
		}
		n = reference(w, &m, path, mask, rows);
		n = n < limit ? n : limit;
		assert_int_equal(ask_multi(w, &m), WIRE_SA_OK);
		assert_int_equal(w->sent[3], WIRE_GET_MULTI_RESP);
		assert_int_equal(world_rows(w), n);
		with_rows += n > 0;
		if (n)
			assert_memory_equal(w->sent + WIRE_SA_HEADER, rows, n * 64);
	}
	assert_true(with_rows > REQUESTS / 3);
}

static void independent_paths_use_each_end_before_one_comes_again(void **state)
{
	struct world *w = *state;
	struct multi m = { .mask = COUNTS | WIRE_BIT(17) | WIRE_BIT(6) };
	struct wire_path_record rec[2];

	for (unsigned i = 0; i < 2; i++, m.nsrc++)
		multi_end(&m, ports[i]);
	for (unsigned i = 2; i < 4; i++, m.ndst++)
		multi_end(&m, ports[i]);
	m.data[5] = 2;
	m.data[14] = 1 << 6;
	m.data[15] = m.data[16] = 2;
	assert_int_equal(ask_multi(w, &m), WIRE_SA_OK);
	assert_int_equal(world_rows(w), 2);
	for (unsigned i = 0; i < 2; i++)
		wire_path_record_decode(world_row(w, i), &rec[i]);
	assert_int_not_equal(rec[0].slid, rec[1].slid);
	assert_int_not_equal(rec[0].dlid, rec[1].dlid);
	m.data[5] = 127;
	assert_int_equal(ask_multi(w, &m), WIRE_SA_OK);
	assert_int_equal(world_rows(w), 4);
}

static void independent_paths_of_ports_with_two_lids_use_both(void **state)
{
	struct world *w = *state;
	struct multi m = { .mask = COUNTS | WIRE_BIT(17) };
	struct wire_path_record rec[2];

	multi_end(&m, HOST(4));
	m.nsrc++;
	multi_end(&m, HOST(4));
	m.ndst++;
	m.data[14] = 1 << 6;
	m.data[15] = m.data[16] = 1;
	assert_int_equal(ask_multi(w, &m), WIRE_SA_OK);
	assert_int_equal(world_rows(w), 2);
	for (unsigned i = 0; i < 2; i++)
		wire_path_record_decode(world_row(w, i), &rec[i]);
	assert_int_equal(rec[0].slid + 1, rec[1].slid);
}

static void what_a_multi_path_lacks_is_said(void **state)
{
	struct world *w = *state;
	struct multi m = multi_make(2, 2);

	m.mask = WIRE_BIT(WIRE_MULTI_SGID_COUNT);
	assert_int_equal(ask_multi(w, &m), WIRE_SA_INSUF_COMPS);
	m = multi_make(2, 0);
	assert_int_equal(ask_multi(w, &m), WIRE_SA_INSUF_COMPS);
	m = multi_make(5, 6);
	assert_int_equal(ask_multi(w, &m), WIRE_SA_OK);
	m.data[15] = 6;
	assert_int_equal(ask_multi(w, &m), WIRE_SA_NO_RESOURCES);
	m = multi_make(1, 1);
	gid_put(m.data + 24, 0x4711);
	assert_int_equal(ask_multi(w, &m), WIRE_SA_INVALID_GID);
	m = multi_make(1, 1);
	m.data[24] = 0xfd; /* another subnet */
	assert_int_equal(ask_multi(w, &m), WIRE_SA_INVALID_GID);
	m = multi_make(1, 1);
	m.mask |= WIRE_BIT(12) | WIRE_BIT(13);
	m.data[11] = 0x80 | 63; /* no such rate */
	assert_int_equal(ask_multi(w, &m), WIRE_SA_REQ_INVALID);
	m = multi_make(1, 1);
	m.mask |= WIRE_BIT(16);
	assert_int_equal(ask_multi(w, &m), WIRE_SA_INSUF_COMPS); /* half a ServiceID */
	m = multi_make(1, 1);
	m.mask |= WIRE_BIT(7);
	m.data[6] = 0x12; /* nobody's partition */
	assert_int_equal(ask_multi(w, &m), WIRE_SA_OK);
	assert_int_equal(world_rows(w), 0);
}

/* ---- QoS tables ------------------------------------------------------------------------------ */

static void qos_tables_have_a_row_for_each_port_and_block(void **state)
{
	struct world *w = *state;
	uint8_t data[8] = { 0, 0, 0, 3 };
	const struct world_request out3 = { .method = WIRE_GET_TABLE,
					    .attr = WIRE_SA_SL2VL,
					    .mask = WIRE_BIT(2),
					    .data = data,
					    .len = sizeof(data) };

	assert_int_equal(table_rows(w, WIRE_SA_SL2VL), 4 * 9 * 9 + 7);
	assert_int_equal(ask_rows(w, &out3), 4 * 9);
	assert_int_equal(table_rows(w, WIRE_SA_VL_ARB), 4 * (4 * 9 + 7));
}

/* ---- One host and the others ----------------------------------------------------------------- */

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sa_setup, sa_teardown)
	const struct CMUnitTest tests[] = {
		TEST(answers_are_the_path_records_of_each_pair),
		TEST(independent_paths_use_each_end_before_one_comes_again),
		TEST(independent_paths_of_ports_with_two_lids_use_both),
		TEST(what_a_multi_path_lacks_is_said),
		TEST(qos_tables_have_a_row_for_each_port_and_block),
	};

	log_set_level(-1, LOG_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
