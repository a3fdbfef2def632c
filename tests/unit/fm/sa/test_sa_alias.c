/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Alias GUIDs: GUIDInfoRecord by Set and Delete, and what goes by an alias then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/state_rows.h"
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa_state.h"
#include "tests/lib/sa_mcast_ask.h"
#include "tests/lib/sa_path_ask.h"

#define PLACE	 (WIRE_BIT(WIRE_SA_LID) | WIRE_BIT(WIRE_GUID_BLOCK))
#define ENTRY(n) WIRE_BIT(WIRE_GUID_FIRST + (n))
#define ALIAS(n) (0xabcd000000000000ull + (n))
#define OUR_OUI	 0x001405

struct guid_ask {
	uint8_t method;
	uint64_t mask;
	guid_t of, from; /* ports; from 0 = the same */
	uint8_t block;
	bool trusted;
	guid_t guids[8];
};

static uint16_t ask_guids(struct world *w, const struct guid_ask *a)
{
	uint8_t row[72] = { 0 };
	struct world_request r = { .method = a->method ? a->method : WIRE_SET,
				   .attr = WIRE_SA_GUID_INFO,
				   .mask = a->mask,
				   .sm_key = a->trusted ? WORLD_SM_KEY : 0,
				   .data = row,
				   .len = sizeof(row),
				   .from = world_lid(w, a->from ? a->from : a->of) };

	wire_put(row, 2, world_lid(w, a->of));
	row[2] = a->block;
	for (unsigned i = 0; i < 8; i++)
		wire_put(row + 8 + 8 * i, 8, a->guids[i]);
	return ask_status(w, &r);
}

static guid_t answered_guid(const struct world *w, unsigned entry)
{
	return wire_get(world_row(w, 0) + 8 + 8 * entry, 8);
}

/* Gives host 1's port the alias at entry 3. */
static void give_alias(struct world *w, guid_t alias)
{
	struct guid_ask a = { .of = HOST(1), .mask = PLACE | ENTRY(3), .guids = { [3] = alias } };

	assert_int_equal(ask_guids(w, &a), WIRE_SA_OK);
	assert_true(answered_guid(w, 3) == alias);
}

static void a_port_gets_the_guids_it_asks_for(void **state)
{
	struct world *w = *state;
	struct guid_ask a = { .of = HOST(1),
			      .mask = PLACE | ENTRY(1) | ENTRY(2),
			      .guids = { 0, ALIAS(1), ALIAS(2), ALIAS(3) } };

	assert_int_equal(ask_guids(w, &a), WIRE_SA_OK);
	assert_int_equal(w->sent[3], WIRE_GET_RESP);
	assert_true(answered_guid(w, 0) == HOST(1));
	assert_true(answered_guid(w, 1) == ALIAS(1) && answered_guid(w, 2) == ALIAS(2));
	assert_true(answered_guid(w, 3) == 0); /* not meant by the mask */
	a = (struct guid_ask){ .method = WIRE_GET, .of = HOST(1), .mask = PLACE };
	assert_int_equal(ask_guids(w, &a), WIRE_SA_OK);
	assert_true(answered_guid(w, 2) == ALIAS(2));
	a = (struct guid_ask){ .of = HOST(1), .mask = PLACE | ENTRY(1), .guids = { 0, ALIAS(9) } };
	assert_int_equal(ask_guids(w, &a), WIRE_SA_OK); /* another in its place */
	assert_true(answered_guid(w, 1) == ALIAS(9));
	assert_true(sa_alias_port(w->sa, ALIAS(9)) == HOST(1));
	assert_true(sa_alias_port(w->sa, ALIAS(1)) == 0);
	a = (struct guid_ask){
		.of = HOST(1), .block = 1, .mask = PLACE | ENTRY(0), .guids = { ALIAS(10) }
	};
	assert_int_equal(ask_guids(w, &a), WIRE_SA_OK); /* only of block 0 is it the port's own */
	assert_true(answered_guid(w, 0) == ALIAS(10));
}

static void who_asks_for_zero_gets_a_guid_and_the_same_again(void **state)
{
	struct world *w = *state;
	struct guid_ask a = { .of = HOST(1), .mask = PLACE | ENTRY(1) | ENTRY(2) };
	guid_t first, second;

	assert_int_equal(ask_guids(w, &a), WIRE_SA_OK);
	first = answered_guid(w, 1);
	second = answered_guid(w, 2);
	assert_true(first && second && first != second && first >> 40 == OUR_OUI);
	assert_int_equal(ask_guids(w, &a), WIRE_SA_OK);
	assert_true(answered_guid(w, 1) == first);
	a.method = WIRE_DELETE;
	assert_int_equal(ask_guids(w, &a), WIRE_SA_OK);
	assert_int_equal(w->sent[3], WIRE_DELETE_RESP);
	assert_true(answered_guid(w, 1) == 0);
	a.method = WIRE_SET;
	assert_int_equal(ask_guids(w, &a), WIRE_SA_OK);
	assert_true(answered_guid(w, 1) == first && answered_guid(w, 2) == second);
}

static void what_cannot_be_is_refused(void **state)
{
	struct world *w = *state;
	struct guid_ask a = { .of = HOST(1), .mask = ENTRY(1) | WIRE_BIT(WIRE_SA_LID) };

	assert_int_equal(ask_guids(w, &a), WIRE_SA_INSUF_COMPS);
	a.mask = ENTRY(1) | WIRE_BIT(WIRE_GUID_BLOCK);
	assert_int_equal(ask_guids(w, &a), WIRE_SA_INSUF_COMPS);
	a.mask = PLACE | ENTRY(0); /* the port's own */
	assert_int_equal(ask_guids(w, &a), WIRE_SA_REQ_INVALID);
	a.method = WIRE_DELETE;
	assert_int_equal(ask_guids(w, &a), WIRE_SA_REQ_INVALID);
	a = (struct guid_ask){ .of = HOST(1), .block = 2, .mask = PLACE | ENTRY(0) };
	assert_int_equal(ask_guids(w, &a), WIRE_SA_NO_RECORDS); /* 16 entries are all */
}

static void a_table_is_its_ports_to_change(void **state)
{
	struct world *w = *state;
	struct guid_ask a = {
		.of = HOST(1), .from = HOST(0), .mask = PLACE | ENTRY(1), .guids = { 0, ALIAS(1) }
	};

	assert_int_equal(ask_guids(w, &a), WIRE_SA_REQ_INVALID);
	a.trusted = true;
	assert_int_equal(ask_guids(w, &a), WIRE_SA_OK);
}

static void a_guid_that_somebody_has_is_not_given_twice(void **state)
{
	struct world *w = *state;
	struct guid_ask a = { .of = HOST(0),
			      .mask = PLACE | ENTRY(1) | ENTRY(2),
			      .guids = { 0, ALIAS(1), HOST(5) } };

	give_alias(w, ALIAS(1));
	assert_int_equal(ask_guids(w, &a), WIRE_SA_OK);
	assert_true(answered_guid(w, 1) == 0); /* another port's alias */
	assert_true(answered_guid(w, 2) == 0); /* another port */
	assert_true(sa_alias_port(w->sa, ALIAS(1)) == HOST(1));
}

static void paths_are_found_by_alias(void **state)
{
	struct world *w = *state;
	struct path_ask ask = by_gid(HOST(0), ALIAS(1));
	struct wire_path_record got;

	assert_int_equal(path_status(w, &ask), WIRE_SA_NO_RECORDS);
	give_alias(w, ALIAS(1));
	got = path_get(w, &ask);
	assert_int_equal(got.dlid, world_lid(w, HOST(1)));
	assert_true(got.dgid.guid == ALIAS(1));
	ask = by_gid(ALIAS(1), HOST(3));
	got = path_get(w, &ask);
	assert_int_equal(got.slid, world_lid(w, HOST(1)));
	assert_true(got.sgid.guid == ALIAS(1));
}

static void groups_are_joined_by_alias_each_for_itself(void **state)
{
	struct world *w = *state;
	struct wire_mcmember rec = member_record(HOST(1)), vf = rec;
	struct ask join = { WIRE_SET, MASK_NEW, false, HOST(1) };
	struct ask end = { WIRE_DELETE, MASK_JOIN, false, HOST(1) };
	struct guid_ask a = { .method = WIRE_DELETE, .of = HOST(1), .mask = PLACE | ENTRY(3) };
	const struct sa_group *group;

	give_alias(w, ALIAS(1));
	vf.port_gid = gid_of(ALIAS(1));
	assert_int_equal(ask_member(w, &join, &rec), WIRE_SA_OK);
	assert_int_equal(ask_member(w, &join, &vf), WIRE_SA_OK);
	assert_true(member_row(w, 0).port_gid.guid == ALIAS(1));
	group = sa_groups_find(sa_mcast_groups(w->sa), &some_mgid);
	assert_int_equal(group->nmembers, 2);
	assert_int_equal(ask_guids(w, &a), WIRE_SA_DENIED); /* it is a member */
	assert_int_equal(ask_member(w, &end, &rec), WIRE_SA_OK);
	assert_int_equal(group->nmembers, 1);
	join.from = HOST(0);
	assert_int_equal(ask_member(w, &join, &vf), WIRE_SA_REQ_INVALID); /* not its alias */
	assert_int_equal(ask_member(w, &end, &vf), WIRE_SA_OK);
	assert_int_equal(ask_guids(w, &a), WIRE_SA_OK);
}

static void aliases_outlive_the_process(void **state)
{
	struct world *w = *state;
	struct guid_ask a = { .of = HOST(0), .mask = PLACE | ENTRY(5) };
	char text[1024] = "";
	FILE *file;
	guid_t ours;

	give_alias(w, ALIAS(1));
	assert_int_equal(ask_guids(w, &a), WIRE_SA_OK);
	ours = answered_guid(w, 5);
	a.method = WIRE_DELETE;
	assert_int_equal(ask_guids(w, &a), WIRE_SA_OK);
	file = fmemopen(text, sizeof(text), "w");
	sa_aliases_write(w->sa, 0, file);
	fclose(file);
	sa_aliases_forget(w->sa);
	assert_true(sa_alias_port(w->sa, ALIAS(1)) == 0);
	assert_int_equal(rows_give(text, sa_aliases_line, w->sa), 0);
	assert_true(sa_alias_port(w->sa, ALIAS(1)) == HOST(1));
	a.method = WIRE_SET;
	assert_int_equal(ask_guids(w, &a), WIRE_SA_OK);
	assert_true(answered_guid(w, 5) == ours);
}

static void damaged_lines_are_named(void **state)
{
	static const char *const bad[] = { "0x1 0 0x2 0x0\n",	"0x1 1 0x2 0x0\n0x3 1 0x2 0x0\n",
					   "0x1 256 0x2 0x0\n", "0x1 1 0x2 0x0\n0x1 1 0x3 0x0\n",
					   "0x1 1 2\n",		"0x1 1 0x2 0x0 x\n" };
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(rows_give(bad[i], sa_aliases_line, w->sa), 1 + i % 2 * (i < 5));
		sa_aliases_forget(w->sa);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sa_setup, sa_teardown)
static uint16_t make_group_as(struct world *w, guid_t guid, unsigned number)
{
	struct wire_mcmember rec = member_record(guid);
	struct ask as = { WIRE_SET, MASK_NEW, false, HOST(1) };

	rec.mgid.guid = number;
	return ask_member(w, &as, &rec);
}

static void groups_of_aliases_count_for_their_port(void **state)
{
	struct world *w = *state;

	sa_configure(w->sa, &(struct sa_conf){ .gid_prefix = WORLD_PREFIX,
					       .subnet_timeout = 18,
					       .groups_limit = 3 });
	give_alias(w, ALIAS(1));
	assert_int_equal(make_group_as(w, HOST(1), 1), WIRE_SA_OK);
	assert_int_equal(make_group_as(w, ALIAS(1), 2), WIRE_SA_OK);
	assert_int_equal(make_group_as(w, ALIAS(1), 3), WIRE_SA_OK);
	assert_int_equal(make_group_as(w, ALIAS(1), 4), WIRE_SA_NO_RESOURCES);
	assert_int_equal(make_group_as(w, HOST(1), 4), WIRE_SA_NO_RESOURCES);
}

static uint16_t register_as(struct world *w, guid_t guid, uint64_t id)
{
	const struct wire_service s = { .id = id, .gid = gid_of(guid), .pkey = 0xffff };
	uint8_t data[176] = { 0 };
	const struct world_request r = { .method = WIRE_SET,
					 .attr = WIRE_SA_SERVICE,
					 .mask = WIRE_BIT(WIRE_SERVICE(id)) |
						 WIRE_BIT(WIRE_SERVICE(gid)),
					 .data = data,
					 .len = sizeof(data),
					 .from = world_lid(w, HOST(1)) };

	wire_service_encode(&s, data);
	return ask_status(w, &r);
}

static void services_of_aliases_count_for_their_port(void **state)
{
	struct world *w = *state;
	unsigned taken = 0;

	give_alias(w, ALIAS(1));
	sa_configure(w->sa, &(struct sa_conf){ .gid_prefix = WORLD_PREFIX,
					       .sa_key = WORLD_SM_KEY,
					       .services_limit = 256 });
	for (uint64_t id = 0; id < 1000; id++)
		taken += register_as(w, id % 2 ? HOST(1) : ALIAS(1), id) == WIRE_SA_OK;
	assert_int_equal(taken, 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_port_gets_the_guids_it_asks_for),
		TEST(who_asks_for_zero_gets_a_guid_and_the_same_again),
		TEST(what_cannot_be_is_refused),
		TEST(a_table_is_its_ports_to_change),
		TEST(a_guid_that_somebody_has_is_not_given_twice),
		TEST(paths_are_found_by_alias),
		TEST(groups_are_joined_by_alias_each_for_itself),
		TEST(aliases_outlive_the_process),
		TEST(damaged_lines_are_named),
		TEST(groups_of_aliases_count_for_their_port),
		TEST(services_of_aliases_count_for_their_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
