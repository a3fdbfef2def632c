/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What hosts registered with another SA: what fmd's own SA shows a trusted asker makes the same
 * files again, and rows that are no good, or hide something, are not taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/state_rows.h"
#include "fm/mad/wire_sa.h"
#include "fm/sa/mcast_group.h"
#include "fm/sa/sa_state.h"
#include "fm/sa/sa_impl.h"
#include "tests/fabric/mad_world.h"
#include "tests/lib/sa_mcast_ask.h"

#define NOW 5000

/* The bytes behind the common header of the SA's latest answer, as a table. */
static struct wire_sa_table table_of(const struct world *w, size_t row_size)
{
	struct wire_sa_table table;

	assert_null(wire_sa_table_decode(w->sent + WIRE_MAD_HEADER, w->sent_len - WIRE_MAD_HEADER,
					 row_size, &table));
	return table;
}

static struct wire_sa_table ask_table(struct world *w, uint16_t attr, uint64_t key, size_t row_size)
{
	const struct world_request r = {
		.method = WIRE_GET_TABLE, .attr = attr, .sm_key = key, .from = 0
	};

	assert_int_equal(world_ask(w, &r), 1);
	assert_int_equal(world_status(w), 0);
	return table_of(w, row_size);
}

struct text {
	char *bytes;
	size_t length;
	FILE *out;
};

static void assert_same(struct text *a, struct text *b)
{
	fclose(a->out);
	fclose(b->out);
	assert_true(a->length > 0);
	if (strcmp(a->bytes, b->bytes))
		fprintf(stderr, "%s---\n%s", a->bytes, b->bytes);
	assert_int_equal(a->length, b->length);
	assert_memory_equal(a->bytes, b->bytes, a->length);
	free(a->bytes);
	free(b->bytes);
}

static void write_all(const struct sa_groups *groups, FILE *out)
{
	for (unsigned mlid = MCAST_FIRST_MLID; mlid <= sa_groups_top(groups); mlid++)
		mcast_group_write(groups, mlid, out);
}

/* The groups have MLIDs with gaps between, and unlike attributes. */
static void join(struct world *w, guid_t port, unsigned number, uint8_t state)
{
	struct wire_mcmember attr = { .mgid = { some_mgid.prefix, some_mgid.guid + number },
				      .qkey = 0x80010000u + number,
				      .flow_label = number,
				      .pkey = 0xffff,
				      .mtu = MTU_2048,
				      .rate = RATE_10,
				      .life = (uint8_t)(10 + number),
				      .tclass = (uint8_t)number,
				      .sl = (uint8_t)number,
				      .hop_limit = 3 };
	struct sa_group *group = sa_groups_find(w->sa->groups, &attr.mgid);

	if (!group)
		group = sa_groups_create(w->sa->groups, &attr,
					 (uint16_t)(MCAST_FIRST_MLID + 3 * number), 0);
	assert_non_null(group);
	sa_groups_join(w->sa->groups, group, port, state, number == 2);
}

static void members_make_the_same_groups_again(void **state)
{
	static const struct sa_groups_ops nobody;
	struct world *w = *state;
	struct sa_groups *groups = sa_groups_new(&nobody, NULL);
	struct text own = { .length = 0 }, copy = { .length = 0 };
	struct wire_sa_table table;

	for (unsigned i = 0; i < 24; i++)
		join(w, HOST(i * 5 % 6), i % 4, i < 18 ? WIRE_JOIN_FULL : WIRE_JOIN_SEND_ONLY);
	table = ask_table(w, WIRE_SA_MCMEMBER, WORLD_SM_KEY, WIRE_MCMEMBER_SIZE);
	assert_int_equal(table.count, sa_groups_use(w->sa->groups)->members);
	for (size_t i = table.count; i-- > 0;) /* in whatever order they come */
		assert_int_equal(sa_foreign_member(groups, table.rows + i * table.size),
				 SA_FOREIGN_TAKEN);
	own.out = open_memstream(&own.bytes, &own.length);
	copy.out = open_memstream(&copy.bytes, &copy.length);
	write_all(w->sa->groups, own.out);
	write_all(groups, copy.out);
	assert_same(&own, &copy);
	sa_groups_free(groups);
}

static void services_make_the_same_lines_again(void **state)
{
	struct world *w = *state;
	struct text own = { .length = 0 }, copy = { .length = 0 };
	struct wire_sa_table table;

	for (unsigned i = 0; i < 6; i++) {
		struct wire_service s = { .id = 100 + i,
					  .gid = { WORLD_PREFIX, HOST(i) },
					  .pkey = 0xffff,
					  .lease = i % 2 ? 600 : WIRE_LEASE_FOREVER,
					  .key = { (uint8_t)i, 7 },
					  .name = "storage",
					  .data = { 1, 2, (uint8_t)i } };
		sa_service_put(w->sa, &s, 0);
	}
	own.out = open_memstream(&own.bytes, &own.length);
	sa_services_write(w->sa, 0, own.out, NOW); /* first: the clock runs while the SA is asked */
	table = ask_table(w, WIRE_SA_SERVICE, WORLD_SM_KEY, 176);
	assert_int_equal(table.count, 6);
	copy.out = open_memstream(&copy.bytes, &copy.length);
	for (size_t i = 0; i < table.count; i++)
		assert_int_equal(sa_foreign_service(table.rows + i * table.size, NOW, copy.out),
				 SA_FOREIGN_TAKEN);
	assert_same(&own, &copy);
}

static struct subscription wish(uint16_t trap)
{
	return (struct subscription){ .info = { .lid_begin = 0xffff,
						.generic = true,
						.subscribe = 1,
						.type = 4,
						.trap = trap,
						.qpn = 1 + trap,
						.producer = 0xffffff },
				      .trusted = trap == 257 };
}

static void subscriptions_make_the_same_lines_again(void **state)
{
	static const uint16_t traps[] = { 64, 128, 144, 257, 0xffff };
	struct world *w = *state;
	struct text own = { .length = 0 }, copy = { .length = 0 };
	struct wire_sa_table table;

	for (unsigned i = 0; i < 5; i++) {
		struct subscription s = wish(traps[i]);

		assert_non_null(sa_subscribe(w->sa, HOST(i % 3), &s));
	}
	table = ask_table(w, WIRE_SA_INFORM_INFO_RECORD, WORLD_SM_KEY, 64);
	assert_int_equal(table.count, 5);
	own.out = open_memstream(&own.bytes, &own.length);
	copy.out = open_memstream(&copy.bytes, &copy.length);
	sa_subscriptions_write(w->sa, 0, own.out);
	for (size_t i = 0; i < table.count; i++)
		assert_int_equal(sa_foreign_subscription(table.rows + i * table.size, copy.out),
				 SA_FOREIGN_TAKEN);
	assert_same(&own, &copy);
}

static void what_an_untrusted_asker_sees_is_not_taken(void **state)
{
	static const struct sa_groups_ops nobody;
	struct world *w = *state;
	struct sa_groups *groups = sa_groups_new(&nobody, NULL);
	struct wire_mcmember rec = member_record(HOST(1));
	struct subscription s = wish(64);
	struct wire_sa_table table;

	assert_int_equal(set_member(w, MASK_NEW, &rec), 0);
	assert_non_null(sa_subscribe(w->sa, HOST(1), &s));
	table = ask_table(w, WIRE_SA_MCMEMBER, 0, WIRE_MCMEMBER_SIZE);
	assert_int_equal(table.count, 1);
	assert_int_equal(sa_foreign_member(groups, table.rows), SA_FOREIGN_HIDDEN);
	assert_int_equal(sa_groups_use(groups)->groups, 0);
	table = ask_table(w, WIRE_SA_INFORM_INFO_RECORD, 0, 64);
	assert_int_equal(sa_foreign_subscription(table.rows, stderr), SA_FOREIGN_HIDDEN);
	sa_groups_free(groups);
}

static enum sa_foreign_result take(struct sa_groups *groups, const struct wire_mcmember *m)
{
	uint8_t row[WIRE_MCMEMBER_SIZE];

	wire_mcmember_encode(m, row);
	return sa_foreign_member(groups, row);
}

static void a_liars_rows_are_not_taken(void **state)
{
	static const struct sa_groups_ops nobody;
	struct sa_groups *groups = sa_groups_new(&nobody, NULL);
	struct wire_mcmember good = member_record(HOST(1)), m;

	good.mlid = 0xc005;
	good.mtu = 4;
	assert_int_equal(take(groups, &good), SA_FOREIGN_TAKEN);
	assert_int_equal(take(groups, &good), SA_FOREIGN_TAKEN); /* said twice */
#define BAD(change)                                                                                \
	do {                                                                                       \
		m = good;                                                                          \
		change;                                                                            \
		assert_int_equal(take(groups, &m), SA_FOREIGN_BAD);                                \
	} while (0)
	BAD(m.mlid = 0xc006);				      /* one group, two MLIDs */
	BAD(m.mgid.guid++);				      /* two groups, one MLID */
	BAD((m.mgid.guid++, m.mlid = 0xbfff));		      /* a LID */
	BAD((m.mgid.guid++, m.mlid = 0xffff));		      /* permissive */
	BAD(m.join_state = 0);				      /* no member */
	BAD((m.mgid.prefix = WORLD_PREFIX, m.mlid = 0xc007)); /* no multicast GID */
	BAD((m.mgid.guid++, m.mlid = 0xc007, m.mtu = 9));
	assert_int_equal(sa_groups_use(groups)->groups, 1);
	assert_int_equal(sa_groups_use(groups)->members, 1);
	sa_groups_free(groups);
}

static void subscriptions_beyond_a_ports_room_are_left_out(void **state)
{
	struct world *w = *state;
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	sa_configure(w->sa, &(struct sa_conf){ .subscriptions_limit = 64 });
	for (unsigned i = 0; i < 70; i++)
		fprintf(file, "0x%llx %u 64 65535 1 16777215 65535 0 0x0 0x0 0 0 0\n",
			(unsigned long long)HOST(1), i + 1);
	fclose(file);
	assert_int_equal(rows_give(text, sa_subscriptions_line, w->sa), 0);
	assert_int_equal(sa_stats(w->sa).subscriptions, 64);
	free(text);
}

/* As ibsim brings a long answer: its first 256 bytes. */
static void an_answer_without_its_segments_is_none(void **state)
{
	struct world *w = *state;
	struct wire_sa_table table;
	uint8_t *data;

	for (unsigned i = 0; i < 4; i++)
		join(w, HOST(i), 0, WIRE_JOIN_FULL);
	table = ask_table(w, WIRE_SA_MCMEMBER, WORLD_SM_KEY, WIRE_MCMEMBER_SIZE);
	assert_int_equal(table.count, 4);
	data = w->sent + WIRE_MAD_HEADER;
	assert_non_null(wire_sa_table_decode(data, WIRE_GMP_DATA, WIRE_MCMEMBER_SIZE, &table));
	data[31 - WIRE_MAD_HEADER] = 1; /* the number of its first segment: RMPP was there */
	assert_null(wire_sa_table_decode(data, WIRE_GMP_DATA, WIRE_MCMEMBER_SIZE, &table));
	assert_int_equal(table.count, 3);
	assert_non_null(wire_sa_table_decode(data, WIRE_GMP_DATA, 64, &table)); /* short rows */
	assert_non_null(wire_sa_table_decode(data, 20, 0, &table));
}

static void length_cb(void *arg, const struct mad_answer *answer)
{
	assert_int_equal(answer->result, MAD_OK);
	*(size_t *)arg = answer->length;
}

/* An answer is as long as RMPP made it, also where that is less than a MAD. */
static void an_answer_tells_its_length(void **state)
{
	static const size_t lengths[] = { WIRE_SA_HEADER, 112, WIRE_MAD_SIZE, 100000 };
	const struct io_addr from = { .lid = 9 };

	for (unsigned i = 0; i < 4; i++) {
		uint8_t *mad = test_calloc(1, lengths[i] + WIRE_MAD_SIZE);
		struct wire_mad m;
		struct mad_world w;
		size_t length = 0;

		mad_world_init(&w, (struct mad_conf){ 0 });
		mad_send(w.mad,
			 &(struct mad_request){ .lid = 9,
						.mgmt_class = WIRE_SA,
						.method = WIRE_GET_TABLE,
						.attr_id = WIRE_SA_MCMEMBER },
			 length_cb, &length);
		m = mad_world_header(&w, 0);
		m.method = WIRE_GET_TABLE_RESP;
		wire_mad_encode(&m, mad);
		mad[26] = 1; /* RMPP is active */
		w.io->io.recv(w.io->io.arg, &from, mad, lengths[i]);
		assert_int_equal(length, lengths[i] - WIRE_MAD_HEADER);
		mad_world_fini(&w);
		test_free(mad);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sa_setup, sa_teardown)
	const struct CMUnitTest tests[] = {
		TEST(members_make_the_same_groups_again),
		TEST(services_make_the_same_lines_again),
		TEST(subscriptions_make_the_same_lines_again),
		TEST(what_an_untrusted_asker_sees_is_not_taken),
		cmocka_unit_test(a_liars_rows_are_not_taken),
		TEST(subscriptions_beyond_a_ports_room_are_left_out),
		TEST(an_answer_without_its_segments_is_none),
		cmocka_unit_test(an_answer_tells_its_length),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
