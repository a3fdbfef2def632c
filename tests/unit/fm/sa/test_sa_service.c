/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ServiceRecords: who may register, replace and delete, leases, keys, and what outlives the
 * process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa_impl.h"
#include "fm/sa/sa_state.h"
#include "tests/lib/sa_ask.h"

#define MOST	  16384 /* services */
#define SECOND_US 1000000ull
#define RID	  (WIRE_BIT(WIRE_SERVICE(id)) | WIRE_BIT(WIRE_SERVICE(gid)))
#define LEASE	  WIRE_BIT(WIRE_SERVICE(lease))
#define KEY	  WIRE_BIT(WIRE_SERVICE(key))
#define PKEY	  WIRE_BIT(WIRE_SERVICE(pkey))
#define NAME	  WIRE_BIT(6)
#define ALL_PARTS ((1ull << 37) - 1)

static struct wire_service service(uint64_t id, unsigned host, const char *name)
{
	struct wire_service s = { .id = id, .gid = { WORLD_PREFIX, HOST(host) }, .pkey = 0xffff };

	snprintf((char *)s.name, sizeof(s.name), "%s", name);
	s.data[0] = (uint8_t)id;
	return s;
}

struct ask {
	uint8_t method;
	uint64_t mask;
	unsigned host;
	uint64_t sm_key;
};

/* Time passes a second at most meanwhile. */
static void stop_cb(void *arg)
{
	loop_stop(arg);
}

static void pass(struct world *w, uint64_t us)
{
	struct loop_timer *stop = loop_timer_new(w->loop, stop_cb, w->loop);

	loop_timer_set(stop, us);
	loop_run(w->loop);
	loop_timer_free(stop);
}

static uint16_t ask(struct world *w, const struct wire_service *s, struct ask how)
{
	const struct wire_mad header = { .mgmt_class = WIRE_SA,
					 .class_version = 2,
					 .method = how.method,
					 .attr_id = WIRE_SA_SERVICE,
					 .key = how.sm_key };
	struct io_addr from = { .lid = world_lid(w, HOST(how.host)), .qp = 1 };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };
	unsigned before = w->nsent;

	wire_mad_encode(&header, mad);
	for (unsigned i = 0; i < 8; i++)
		mad[48 + i] = (uint8_t)(how.mask >> (56 - 8 * i));
	wire_service_encode(s, mad + WIRE_SA_HEADER);
	w->io.recv(w->io.arg, &from, mad, sizeof(mad));
	assert_int_equal(w->nsent, before + 1);
	return world_status(w);
}

static struct wire_service answered(const struct world *w, unsigned i)
{
	struct wire_service s;

	wire_service_decode(world_row(w, i), &s);
	return s;
}

static uint16_t put(struct world *w, const struct wire_service *s, uint64_t mask)
{
	return ask(w, s, (struct ask){ .method = WIRE_SET, .mask = mask, .host = 1 });
}

static unsigned count(struct world *w, const struct wire_service *like, uint64_t mask)
{
	assert_int_equal(ask(w, like, (struct ask){ WIRE_GET_TABLE, mask, 2, 0 }), WIRE_SA_OK);
	return world_rows(w);
}

/* ---- Registration ---------------------------------------------------------------------------- */

static void a_service_is_found_by_any_of_its_components(void **state)
{
	struct world *w = *state;
	struct wire_service a = service(10, 1, "mount"), b = service(11, 1, "mount"), like = { 0 };

	assert_int_equal(put(w, &a, RID | NAME), WIRE_SA_OK);
	assert_int_equal(w->sent[3], WIRE_GET_RESP);
	assert_int_equal(answered(w, 0).lease, WIRE_LEASE_FOREVER);
	assert_int_equal(put(w, &b, RID | NAME), WIRE_SA_OK);
	assert_int_equal(count(w, &like, 0), 2);
	assert_int_equal(count(w, &a, NAME), 2);
	assert_int_equal(count(w, &a, WIRE_BIT(WIRE_SERVICE(id))), 1);
	assert_int_equal(count(w, &b, WIRE_BIT(7)), 1); /* ServiceData8.1 */
	assert_int_equal(answered(w, 0).id, 11);
	like.data[0] = 12;
	assert_int_equal(count(w, &like, WIRE_BIT(7)), 0);
	assert_int_equal(ask(w, &like, (struct ask){ WIRE_GET, WIRE_BIT(7), 2, 0 }),
			 WIRE_SA_NO_RECORDS);
	assert_int_equal(ask(w, &a, (struct ask){ WIRE_GET, NAME, 2, 0 }),
			 WIRE_SA_TOO_MANY_RECORDS);
	assert_int_equal(sa_stats(w->sa).services, 2);
}

static void the_same_identity_is_replaced(void **state)
{
	struct world *w = *state;
	struct wire_service a = service(10, 1, "old"), b = service(10, 1, "new");

	put(w, &a, RID | NAME);
	assert_int_equal(put(w, &b, RID | NAME), WIRE_SA_OK);
	assert_int_equal(count(w, &a, RID), 1);
	assert_string_equal((char *)answered(w, 0).name, "new");
}

static void identity_must_be_named(void **state)
{
	struct world *w = *state;
	struct wire_service a = service(10, 1, "x");

	assert_int_equal(put(w, &a, NAME), WIRE_SA_INSUF_COMPS);
	assert_int_equal(put(w, &a, WIRE_BIT(WIRE_SERVICE(id))), WIRE_SA_INSUF_COMPS);
	assert_int_equal(sa_stats(w->sa).services, 0);
}

static void delete_gives_the_record_back(void **state)
{
	struct world *w = *state;
	struct wire_service a = service(10, 1, "mount");

	put(w, &a, RID | NAME);
	a.name[0] = 0;
	assert_int_equal(ask(w, &a, (struct ask){ WIRE_DELETE, RID, 1, 0 }), WIRE_SA_OK);
	assert_int_equal(w->sent[3], WIRE_DELETE_RESP);
	assert_string_equal((char *)answered(w, 0).name, "mount");
	assert_int_equal(ask(w, &a, (struct ask){ WIRE_DELETE, RID, 1, 0 }), WIRE_SA_NO_RECORDS);
	assert_int_equal(count(w, &a, 0), 0);
}

/* ---- Partitions and keys --------------------------------------------------------------------- */

static void foreign_partitions_are_refused_and_not_seen(void **state)
{
	struct world *w = *state;
	struct wire_service a = service(10, 1, "x");

	a.pkey = 0x8123;
	assert_int_equal(put(w, &a, RID | PKEY), WIRE_SA_REQ_INVALID);
	assert_int_equal(put(w, &a, RID), WIRE_SA_OK); /* not named: the default one */
	assert_int_equal(answered(w, 0).pkey, 0xffff);
	sa_service_put(w->sa, &a, 0); /* a member's, from the file */
	assert_int_equal(sa_stats(w->sa).services, 2);
	assert_int_equal(count(w, &a, 0), 1);
}

static void a_key_keeps_others_off(void **state)
{
	struct world *w = *state;
	struct wire_service a = service(10, 1, "mine"), thief = service(10, 1, "his");

	memset(a.key, 7, sizeof(a.key));
	assert_int_equal(put(w, &a, RID | KEY | NAME), WIRE_SA_OK);
	assert_int_equal(answered(w, 0).key[0], 0); /* shown to the trusted alone */
	assert_int_equal(ask(w, &thief, (struct ask){ WIRE_SET, RID, 3, 0 }), WIRE_SA_REQ_INVALID);
	assert_int_equal(ask(w, &thief, (struct ask){ WIRE_DELETE, RID, 3, 0 }),
			 WIRE_SA_REQ_INVALID);
	thief.key[0] = 7;
	assert_int_equal(ask(w, &thief, (struct ask){ WIRE_SET, RID | KEY, 3, 0 }),
			 WIRE_SA_REQ_INVALID);
	assert_int_equal(count(w, &a, KEY), 1);
	assert_int_equal(answered(w, 0).key[0], 0);
	assert_int_equal(count(w, &thief, KEY), 0);
	assert_int_equal(ask(w, &a, (struct ask){ WIRE_GET, KEY, 3, WORLD_SM_KEY }), WIRE_SA_OK);
	assert_int_equal(answered(w, 0).key[0], 7);
	assert_int_equal(ask(w, &a, (struct ask){ WIRE_SET, RID | KEY, 3, 0 }), WIRE_SA_OK);
	assert_int_equal(put(w, &thief, RID), WIRE_SA_OK); /* of the port it is on */
}

static void the_trusted_may_delete_what_has_a_key(void **state)
{
	struct world *w = *state;
	struct wire_service a = service(10, 1, "mine");

	memset(a.key, 7, sizeof(a.key));
	put(w, &a, RID | KEY);
	assert_int_equal(ask(w, &a, (struct ask){ WIRE_DELETE, RID, 3, WORLD_SM_KEY }), WIRE_SA_OK);
	assert_int_equal(sa_stats(w->sa).services, 0);
}

/* ---- Leases ---------------------------------------------------------------------------------- */

static void a_lease_runs_down_and_ends(void **state)
{
	struct world *w = *state;
	struct wire_service a = service(10, 1, "x"), b = service(11, 1, "y");

	a.lease = 10;
	b.lease = 30;
	put(w, &a, RID | LEASE);
	assert_int_equal(answered(w, 0).lease, 10);
	put(w, &b, RID | LEASE);
	pass(w, 4 * SECOND_US);
	count(w, &a, RID);
	assert_int_equal(answered(w, 0).lease, 6);
	pass(w, 6 * SECOND_US - 1);
	assert_int_equal(count(w, &a, 0), 2);
	pass(w, 1);
	assert_int_equal(count(w, &a, 0), 1);
	assert_int_equal(answered(w, 0).id, 11);
	put(w, &b, RID | LEASE); /* renewed */
	pass(w, 29 * SECOND_US);
	assert_int_equal(count(w, &a, 0), 1);
	pass(w, 1 * SECOND_US);
	assert_int_equal(count(w, &a, 0), 0);
}

static void who_ends_sooner_does_not_wait_for_others(void **state)
{
	struct world *w = *state;
	struct wire_service a = service(10, 1, "x"), b = service(11, 1, "y"),
			    c = service(12, 1, "z");

	a.lease = 100;
	b.lease = 10;
	c.lease = 50;
	put(w, &a, RID | LEASE);
	put(w, &b, RID | LEASE);
	put(w, &c, RID | LEASE);
	pass(w, 10 * SECOND_US);
	assert_int_equal(count(w, &a, 0), 2);
	a.lease = 20; /* which it had longer */
	put(w, &a, RID | LEASE);
	pass(w, 20 * SECOND_US);
	assert_int_equal(count(w, &a, 0), 1);
	assert_int_equal(answered(w, 0).id, 12);
	sa_services_forget(w->sa);
	put(w, &c, RID | LEASE);
	pass(w, 50 * SECOND_US);
	assert_int_equal(count(w, &a, 0), 0);
}

struct ends {
	struct world *w;
	struct loop_timer *other;
	unsigned ended, seen, most;
};

static void note_end(void *arg, enum sa_kept kept, bool gone, const char *line)
{
	struct ends *e = arg;

	e->ended += gone;
}

/* Somebody else's turn: what ended since the one before. */
static void other_turn(void *arg)
{
	struct ends *e = arg;

	if (e->ended - e->seen > e->most)
		e->most = e->ended - e->seen;
	e->seen = e->ended;
	loop_timer_set(e->other, 0);
	if (e->ended)
		loop_stop(e->w->loop);
}

/* Registers so many for 10 s, and goes on to the first turn that others have behind their end. */
static void end_at_once(struct ends *e, unsigned number)
{
	for (uint64_t n = 0; n < number; n++) {
		struct wire_service a = service(n, n % 4, "x");

		a.lease = 10;
		sa_service_put(e->w->sa, &a, 0);
	}
	sa_listen(e->w->sa, &(struct sa_listener){ .record = note_end, .arg = e });
	e->other = loop_timer_new(e->w->loop, other_turn, e);
	loop_timer_set(e->other, 10 * SECOND_US);
	loop_run(e->w->loop);
}

static void leases_that_end_at_once_leave_turns_to_others(void **state)
{
	struct ends e = { .w = *state };

	end_at_once(&e, MOST);
	while (e.ended < MOST)
		loop_run(e.w->loop);
	assert_in_range(e.most, 1, 1024);
	assert_int_equal(sa_stats(e.w->sa).services, 0);
	loop_timer_free(e.other);
}

static void a_lease_that_is_over_is_not_shown(void **state)
{
	struct wire_service like = { 0 };
	struct ends e = { .w = *state };

	end_at_once(&e, 1500);
	assert_true(sa_stats(e.w->sa).services);
	assert_int_equal(count(e.w, &like, 0), 0);
	loop_timer_free(e.other);
}

/* ---- Shares ---------------------------------------------------------------------------------- */

static uint16_t register_as(struct world *w, unsigned host, const struct wire_service *s)
{
	return ask(w, s, (struct ask){ WIRE_SET, RID, host, 0 });
}

static unsigned register_many(struct world *w, unsigned host, uint64_t first, unsigned tries)
{
	unsigned taken = 0;

	for (uint64_t id = first; id < first + tries; id++) {
		struct wire_service a = service(id, host, "x");

		taken += register_as(w, host, &a) == WIRE_SA_OK;
	}
	return taken;
}

static void note(void *arg, const struct event_subject *subject, const char *text)
{
	snprintf(arg, 256, "%s", text);
}

static void one_port_has_its_share_of_services_and_no_more(void **state)
{
	struct wire_service one = service(5, 1, "y");
	struct world *w = *state;
	char logged[256] = "";

	sa_listen(w->sa, &(struct sa_listener){ .reported = note, .arg = logged });
	sa_configure(w->sa, &(struct sa_conf){ .gid_prefix = WORLD_PREFIX,
					       .sa_key = WORLD_SM_KEY,
					       .services_limit = 256 });
	assert_int_equal(register_many(w, 1, 0, 1000), 256);
	assert_non_null(strstr(logged, "host-1"));
	assert_non_null(strstr(logged, "256 services"));
	assert_int_equal(register_as(w, 1, &one), WIRE_SA_OK); /* replaced */
	assert_int_equal(register_many(w, 2, 0, 1), 1);
	assert_int_equal(ask(w, &one, (struct ask){ WIRE_DELETE, RID, 1, 0 }), WIRE_SA_OK);
	assert_int_equal(register_many(w, 1, 5000, 2), 1);
}

static void without_a_limit_a_port_has_a_sixteenth_of_the_store(void **state)
{
	assert_int_equal(register_many(*state, 1, 0, 2000), MOST / 16);
}

/* Many ports with many leave room for who has few. */
static void room_is_kept_for_ports_that_have_few(void **state)
{
	struct world *w = *state;

	for (uint64_t id = 0; id < MOST - 40; id++) {
		struct wire_service a = { .id = id,
					  .gid = { WORLD_PREFIX, 0x999999 },
					  .pkey = 0xffff };

		a.lease = WIRE_LEASE_FOREVER;
		sa_service_put(w->sa, &a, 0x800000 + id / 256);
	}
	assert_int_equal(register_many(w, 1, 0, 20), 4);
	assert_int_equal(register_many(w, 2, 0, 20), 4);
	assert_int_equal(register_many(w, 3, 0, 20), 3);
}

static void nobody_registers_for_anothers_port(void **state)
{
	struct wire_service a = service(10, 1, "mine"), both = service(11, 5, "two ports");
	struct wire_service far = { .id = 12, .gid = { 0xfec0ull << 48, 0x77 } };
	struct world *w = *state;

	assert_int_equal(register_as(w, 3, &a), WIRE_SA_REQ_INVALID);
	assert_int_equal(ask(w, &a, (struct ask){ WIRE_SET, RID, 3, WORLD_SM_KEY }), WIRE_SA_OK);
	assert_int_equal(ask(w, &a, (struct ask){ WIRE_DELETE, RID, 1, 0 }), WIRE_SA_OK);
	both.gid.guid = WORLD_CA(5) + 2; /* the other port of who asks */
	assert_int_equal(register_as(w, 5, &both), WIRE_SA_OK);
	assert_int_equal(register_as(w, 3, &far), WIRE_SA_OK); /* nobody's here */
}

static void what_has_no_key_is_its_owners_alone(void **state)
{
	struct wire_service a = service(10, 1, "mine");
	struct wire_service far = { .id = 12, .gid = { 0xfec0ull << 48, 0x77 } };
	struct world *w = *state;

	assert_int_equal(register_as(w, 1, &a), WIRE_SA_OK);
	assert_int_equal(register_as(w, 3, &a), WIRE_SA_REQ_INVALID);
	assert_int_equal(ask(w, &a, (struct ask){ WIRE_DELETE, RID, 3, 0 }), WIRE_SA_REQ_INVALID);
	assert_int_equal(register_as(w, 3, &far), WIRE_SA_OK);
	assert_int_equal(ask(w, &far, (struct ask){ WIRE_DELETE, RID, 1, 0 }), WIRE_SA_REQ_INVALID);
	assert_int_equal(ask(w, &far, (struct ask){ WIRE_DELETE, RID, 3, 0 }), WIRE_SA_OK);
	assert_int_equal(ask(w, &a, (struct ask){ WIRE_DELETE, RID, 1, 0 }), WIRE_SA_OK);
}

/*
 * A walk of many slices, while records go and others come behind it: those that stay are all
 * answered.
 */
static void a_long_walk_misses_none_that_stays(void **state)
{
	struct world *w = *state;
	const struct world_request all = { .method = WIRE_GET_TABLE, .attr = WIRE_SA_SERVICE };
	const struct wire_mad header = {
		.mgmt_class = WIRE_SA, .class_version = 2, .method = all.method, .attr_id = all.attr
	};
	struct io_addr from = { .lid = world_lid(w, HOST(2)), .qp = 1 };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 }, seen[MOST] = { 0 };
	unsigned before = w->nsent;

	for (uint64_t id = 0; id < MOST; id++) {
		struct wire_service a = service(id, 1, "x");

		a.lease = WIRE_LEASE_FOREVER;
		sa_service_put(w->sa, &a, 0);
	}
	wire_mad_encode(&header, mad);
	w->io.recv(w->io.arg, &from, mad, sizeof(mad));
	assert_int_equal(w->nsent, before); /* the first slice was not all */
	for (uint64_t id = 0; id < 100; id++) {
		struct wire_service a = service(id, 1, "x");

		assert_int_equal(ask(w, &a, (struct ask){ WIRE_DELETE, RID, 1, 0 }), WIRE_SA_OK);
	}
	loop_run(w->loop);
	for (unsigned i = 0; i < world_rows(w); i++)
		seen[answered(w, i).id]++;
	for (uint64_t id = 100; id < MOST; id++)
		assert_int_equal(seen[id], 1);
}

/* ---- Kept ------------------------------------------------------------------------------------ */

/* 0, or the number of the first line that can't be one. */
static unsigned sa_services_read(struct sa *sa, FILE *in, int64_t now)
{
	char line[1024];

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++)
		if (line[strspn(line, " \t\n")] && *line != '#' && !sa_services_line(sa, line, now))
			return number;
	return 0;
}

static void services_outlive_the_process_and_leases_go_on(void **state)
{
	struct world *w = *state, *next = world_new();
	struct wire_service a = service(10, 1, "for ever"), b = service(11, 1, "a minute"),
			    c = service(12, 1, "a while");
	FILE *file = tmpfile();

	memset(a.key, 3, sizeof(a.key));
	b.lease = 60;
	c.lease = 600;
	put(w, &a, RID | KEY | NAME);
	put(w, &b, RID | LEASE | NAME);
	put(w, &c, RID | LEASE | NAME);
	sa_services_write(w->sa, 0, file, 5000);
	rewind(file);
	assert_int_equal(sa_services_read(next->sa, file, 5100), 0);
	world_publish(next);
	assert_int_equal(count(next, &a, 0), 2); /* the minute is over */
	assert_int_equal(count(next, &c, NAME), 1);
	assert_int_equal(answered(next, 0).lease, 500);
	assert_int_equal(count(next, &a, NAME | KEY), 1);
	assert_int_equal(answered(next, 0).lease, WIRE_LEASE_FOREVER);
	fclose(file);
	world_free(next);
}

static uint64_t compared;
static cl_pfn_fmap_cmp_t compare;

static int count_and_compare(const void *a, const void *b)
{
	compared++;
	return compare(a, b);
}

static void as_many_as_may_be_are_read_with_few_looks_at_others(void **state)
{
	struct world *w = *state, *next = world_new();
	FILE *file = tmpfile();

	for (uint64_t n = 0; n < MOST; n++) {
		struct wire_service a = service(n * 40503 % MOST, n % 4, "x");

		a.lease = 1000 + n % 7;
		sa_service_put(w->sa, &a, 0);
	}
	for (uint64_t from = 0; (from = sa_services_write(w->sa, from, file, 0));)
		;
	rewind(file);
	compare = next->sa->services.map.pfn_compare;
	next->sa->services.map.pfn_compare = count_and_compare;
	assert_int_equal(sa_services_read(next->sa, file, 0), 0);
	assert_int_equal(sa_stats(next->sa).services, MOST);
	assert_in_range(compared, MOST, MOST * 100);
	fclose(file);
	world_free(next);
}

static void damaged_lines_are_named(void **state)
{
	struct world *w = *state;
	static const char *const bad[] = { "0 12\n", "x\n", "-4 00\n" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		FILE *file = tmpfile();

		fprintf(file, "\n%s", bad[i]);
		rewind(file);
		assert_int_equal(sa_services_read(w->sa, file, 0), 2);
		fclose(file);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sa_setup, sa_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_service_is_found_by_any_of_its_components),
		TEST(the_same_identity_is_replaced),
		TEST(identity_must_be_named),
		TEST(delete_gives_the_record_back),
		TEST(foreign_partitions_are_refused_and_not_seen),
		TEST(a_key_keeps_others_off),
		TEST(the_trusted_may_delete_what_has_a_key),
		TEST(a_lease_runs_down_and_ends),
		TEST(who_ends_sooner_does_not_wait_for_others),
		TEST(leases_that_end_at_once_leave_turns_to_others),
		TEST(a_lease_that_is_over_is_not_shown),
		TEST(one_port_has_its_share_of_services_and_no_more),
		TEST(without_a_limit_a_port_has_a_sixteenth_of_the_store),
		TEST(room_is_kept_for_ports_that_have_few),
		TEST(nobody_registers_for_anothers_port),
		TEST(what_has_no_key_is_its_owners_alone),
		TEST(a_long_walk_misses_none_that_stays),
		TEST(services_outlive_the_process_and_leases_go_on),
		TEST(as_many_as_may_be_are_read_with_few_looks_at_others),
		TEST(damaged_lines_are_named),
	};

	log_set_level(-1, LOG_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
