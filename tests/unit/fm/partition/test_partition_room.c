/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which partitions are in force, and from when on: the room alone, with a pipe that only looks like
 * one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "fm/partition/module.h"
#include "tests/lib/sa_ask.h"
#include "tests/lib/fake_pipe.h"

#define TENANT "tenant=0x1, ipoib, defmember=full: ALL;\nother=0x2: ALL;\n"

/* The room beside the SA of a small fabric; its snapshot is the published one. */
static void begin(struct fabric *f, struct world *w)
{
	fake_pipe_init_sa(f, &partition_module, topo_ref(w->topo), w->mad, w->sa);
	f->module->load(f->room, FABRIC_LOAD);
}

static void publish(struct fabric *f)
{
	f->module->published(f->room, FABRIC_PUBLISHED, f->view.topo);
}

static void write_file(struct fabric *f, const char *text)
{
	FILE *out;

	snprintf(f->conf.partition.file, sizeof(f->conf.partition.file), "%s/partitions.conf",
		 f->folder);
	out = fopen(f->conf.partition.file, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void configure(struct fabric *f, const char *text)
{
	write_file(f, text);
	f->module->configure(f->room);
}

static unsigned presets(struct fabric *f)
{
	const struct sa_groups *groups = sa_mcast_groups(f->services.sa);
	unsigned count = 0;

	for (unsigned mlid = MCAST_FIRST_MLID; mlid <= sa_groups_top(groups); mlid++)
		for (const struct sa_group *g = sa_groups_by_mlid(groups, (uint16_t)mlid); g;
		     g = g->next)
			count += g->preset;
	return count;
}

static void a_file_is_in_force_from_the_next_publication_on(void **state)
{
	const struct partition_set *before;
	struct fabric f;

	begin(&f, *state);
	assert_null(f.view.partitions);
	publish(&f);
	before = f.view.partitions;
	assert_true(before->built_in);
	assert_null(f.view.pkeys);
	configure(&f, TENANT);
	assert_ptr_equal(f.view.partitions, before);
	assert_int_equal(fake_events(&f, "partitions", NULL), 0);
	publish(&f);
	assert_non_null(partition_find(f.view.partitions, 0x8001));
	assert_non_null(f.view.pkeys);
	assert_int_equal(fake_events(&f, "partitions", NULL), 1);
	assert_true(before->built_in); /* readable while rooms are being told */
	f.module->settled(f.room, FABRIC_SETTLED);
	publish(&f);
	assert_int_equal(fake_events(&f, "partitions", NULL), 1);
	fake_pipe_fini(&f);
}

static void a_bad_file_changes_nothing_and_is_an_alert(void **state)
{
	const struct partition_set *before;
	struct fabric f;

	begin(&f, *state);
	configure(&f, TENANT);
	publish(&f);
	before = f.view.partitions;
	configure(&f, "tenant=zero: ALL;\n");
	publish(&f);
	assert_ptr_equal(f.view.partitions, before);
	assert_int_equal(fake_events(&f, "partitions-refused", NULL), 1);
	assert_non_null(trouble_error(f.services.alerts, "partition_config_file"));
	configure(&f, TENANT);
	assert_null(trouble_error(f.services.alerts, "partition_config_file"));
	fake_pipe_fini(&f);
}

static void who_starts_with_a_bad_file_goes_on_by_the_last_good_one(void **state)
{
	struct fabric f;

	begin(&f, *state);
	assert_false(partitions_kept(&f.conf));
	configure(&f, TENANT);
	write_file(&f, "tenant=zero: ALL;\n");
	fake_pipe_restart(&f);
	assert_true(partitions_kept(&f.conf));
	publish(&f);
	assert_non_null(partition_find(f.view.partitions, 0x8001));
	fake_pipe_fini(&f);
}

static void with_a_bad_file_and_no_other_ports_talk_to_the_manager_alone(void **state)
{
	const uint16_t *keys;
	struct fabric f;
	unsigned n;

	begin(&f, *state);
	write_file(&f, "tenant=zero: ALL;\n");
	fake_pipe_restart(&f);
	publish(&f);
	assert_int_equal(f.view.partitions->count, 1);
	n = pkey_map_keys(f.view.pkeys, f.view.topo->nports - 1, &keys);
	assert_int_equal(n, 1);
	assert_int_equal(keys[0], 0x7fff); /* limited members do not talk to each other */
	fake_pipe_fini(&f);
}

static void groups_are_there_in_advance_at_a_start_and_end_with_their_partition(void **state)
{
	struct fabric f;

	begin(&f, *state);
	assert_int_equal(presets(&f), 1); /* of the default partition */
	publish(&f);
	configure(&f, "Default=0x7fff, ipoib: ALL;\n" TENANT);
	assert_int_equal(presets(&f), 1);
	publish(&f);
	assert_int_equal(presets(&f), 2);
	configure(&f, "Default=0x7fff: ALL;\n");
	publish(&f);
	assert_int_equal(presets(&f), 0);
	assert_int_equal(sa_groups_use(sa_mcast_groups(f.services.sa))->groups, 0);
	fake_pipe_fini(&f);
}

static void the_document_has_members_by_name_and_by_p_key(void **state)
{
	json_t *all, *one, *same, *row;
	struct fabric f;

	begin(&f, *state);
	configure(&f, TENANT);
	publish(&f);
	all = partitions_document(&f, NULL);
	one = partitions_document(&f, "tenant");
	same = partitions_document(&f, "0x8001");
	assert_int_equal(json_array_size(all), 3);
	assert_int_equal(json_array_size(one), 1);
	assert_true(json_equal(one, same));
	row = json_array_get(one, 0);
	assert_true(json_integer_value(json_object_get(row, "full")) > 0);
	assert_int_equal(json_array_size(json_object_get(row, "members")),
			 json_integer_value(json_object_get(row, "full")));
	assert_null(partitions_document(&f, "nobody"));
	json_decref(all);
	json_decref(one);
	json_decref(same);
	fake_pipe_fini(&f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sa_setup, sa_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_in_force_from_the_next_publication_on),
		TEST(a_bad_file_changes_nothing_and_is_an_alert),
		TEST(who_starts_with_a_bad_file_goes_on_by_the_last_good_one),
		TEST(with_a_bad_file_and_no_other_ports_talk_to_the_manager_alone),
		TEST(groups_are_there_in_advance_at_a_start_and_end_with_their_partition),
		TEST(the_document_has_members_by_name_and_by_p_key),
	};

	log_set_level(-1, LOG_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
