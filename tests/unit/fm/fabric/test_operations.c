/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What operators asked for, from the request to its one answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/loop/log.h"
#include "fm/fabric/pipe.h"
#include "fm/state/disk.h"
#include "fm/state/state.h"

struct pipe {
	char folder[32];
	struct loop *loop;
	struct event_log *events;
	struct alerts *alerts;
	struct state *state;
	struct operations *operations;
	unsigned statuses; /* that were made */
};

struct request { /* data of an operation, and what its client hears */
	unsigned results, reports, rollbacks, frees, answers;
	char said[64], error[64], not_saved[64];
	struct pipe *again; /* the client asks anew from its callback */
};

static json_t *result(void *data)
{
	struct request *r = data;

	r->results++;
	return json_pack("{ss}", "what", "leaf-1 p5");
}

static void reported(void *data, json_t *result, const char *error)
{
	struct request *r = data;

	r->reports++;
	assert_int_equal(r->answers, 0);
	assert_true(!result == !!error);
}

static void rollback(void *data)
{
	((struct request *)data)->rollbacks++;
}

static void free_cb(void *data)
{
	((struct request *)data)->frees++;
}

#define FULL .result = result, .reported = reported, .rollback = rollback, .free = free_cb

static const struct fabric_operation_ops plain = { FULL }, behind_sweep = { FULL, .sweeps = true },
					 kept = { FULL, .keeps = true }, bare = { 0 },
					 late = { FULL, .keeps = true, .late = true };

static void answer(void *arg, json_t *result, const char *error)
{
	struct request *r = arg;
	const char *what = json_string_value(json_object_get(result, "what"));
	const char *not_saved = json_string_value(json_object_get(result, "not_saved"));

	r->answers++;
	snprintf(r->said, sizeof(r->said), "%s", what ? what : "");
	snprintf(r->not_saved, sizeof(r->not_saved), "%s", not_saved ? not_saved : "");
	snprintf(r->error, sizeof(r->error), "%s", error ? error : "");
	if (r->again)
		operations_start(r->again->operations, &plain, r, answer, r);
	r->again = NULL;
}

/* ---- The pipe -------------------------------------------------------------------------------- */

static uint64_t write_cordons(const void *owner, uint64_t from, FILE *out)
{
	fputs("0x100 5\n", out);
	return 0;
}

static const struct state_kind cordons = { .name = "cordons", .write = write_cordons };
static const struct state_kind cables = { .name = "cables" };

static unsigned *counter_of(const struct fabric *fabric)
{
	return &((struct pipe *)fabric)->statuses;
}

static json_t *status(const struct fabric *fabric)
{
	++*counter_of(fabric);
	return json_pack("{ss}", "what", "status");
}

static int set_up(void **state)
{
	struct pipe *p = calloc(1, sizeof(*p));

	log_set_level(-1, LOG_ERR);
	strcpy(p->folder, "/tmp/fmd-test-XXXXXX");
	assert_non_null(mkdtemp(p->folder));
	p->loop = loop_new_simulated();
	p->events = event_log_new(100);
	p->alerts = alerts_new(p->loop, p->events);
	p->state = state_open(p->loop, p->folder, p->alerts, p->events);
	p->operations = operations_new((struct fabric *)p, p->state, status);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct pipe *p = *state;
	char command[64];

	operations_free(p->operations);
	state_close(p->state);
	alerts_free(p->alerts);
	event_log_free(p->events);
	loop_free(p->loop);
	snprintf(command, sizeof(command), "rm -r %s", p->folder);
	assert_int_equal(system(command), 0);
	free(p);
	return 0;
}

static void start(struct pipe *p, const struct fabric_operation_ops *ops, struct request *r)
{
	operations_start(p->operations, ops, r, answer, r);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void an_update_under_way_does_not_answer_what_is_requested_meanwhile(void **state)
{
	struct pipe *p = *state;
	static struct request before = { 0 }, meanwhile = { 0 };

	start(p, &plain, &before);
	operations_take(p->operations, false);
	start(p, &plain, &meanwhile);
	operations_answer(p->operations, NULL, false);
	assert_int_equal(before.answers, 1);
	assert_string_equal(before.said, "leaf-1 p5");
	assert_int_equal(before.reports, 1);
	assert_int_equal(before.frees, 1);
	assert_int_equal(meanwhile.answers + meanwhile.frees, 0);
	operations_take(p->operations, false);
	operations_answer(p->operations, NULL, false);
	assert_int_equal(before.answers, 1);
	assert_int_equal(meanwhile.answers, 1);
}

static void a_sweep_is_taken_by_the_update_behind_it_alone(void **state)
{
	struct pipe *p = *state;
	static struct request sweep = { 0 }, reroute = { 0 };

	start(p, &behind_sweep, &sweep);
	start(p, &plain, &reroute);
	operations_take(p->operations, true);
	assert_true(operations_taken(p->operations));
	operations_answer(p->operations, NULL, false);
	assert_false(operations_taken(p->operations));
	assert_int_equal(reroute.answers, 1);
	assert_int_equal(sweep.answers, 0);
	operations_take(p->operations, false);
	operations_answer(p->operations, NULL, false);
	assert_int_equal(sweep.answers, 1);
}

static void refused_tables_roll_back_what_they_took(void **state)
{
	struct pipe *p = *state;
	static struct request taken = { 0 }, later = { 0 };

	start(p, &kept, &taken);
	operations_take(p->operations, false);
	start(p, &kept, &later);
	operations_rollback(p->operations);
	operations_answer(p->operations, "new forwarding tables failed verification", false);
	assert_int_equal(taken.rollbacks, 1);
	assert_int_equal(taken.results, 0);
	assert_int_equal(taken.reports, 1);
	assert_string_equal(taken.error, "new forwarding tables failed verification");
	assert_int_equal(later.rollbacks + later.answers, 0);
}

static void it_is_answered_when_its_rows_are_on_disk(void **state)
{
	struct pipe *p = *state;
	static struct request r = { 0 }, at_once = { 0 };

	start(p, &kept, &r);
	state_changed(p->state, &cordons, p);
	operations_take(p->operations, false);
	operations_answer(p->operations, NULL, false);
	operations_done(p->operations, json_object(), answer, &at_once);
	assert_int_equal(r.results, 1);
	assert_int_equal(r.answers + at_once.answers, 0);
	state_flush(p->state);
	assert_int_equal(r.answers, 1);
	assert_int_equal(r.reports, 1);
	assert_string_equal(r.not_saved, "");
	assert_int_equal(at_once.answers, 1);
}

/* Its rows change behind settling. */
static void what_is_late_is_answered_when_the_disk_has_its_rows(void **state)
{
	struct pipe *p = *state;
	static struct request r = { 0 }, refused = { 0 };

	start(p, &late, &r);
	operations_take(p->operations, false);
	operations_answer(p->operations, NULL, false);
	assert_int_equal(r.answers, 0);
	state_put(p->state, &cables, p, "0x100 5 0x200 1 0");
	operations_answer(p->operations, NULL, true);
	assert_int_equal(r.answers, 0);
	state_flush(p->state);
	assert_int_equal(r.answers, 1);
	assert_int_equal(r.frees, 1);
	start(p, &late, &refused);
	operations_take(p->operations, false);
	operations_answer(p->operations, "new forwarding tables failed verification", false);
	assert_int_equal(refused.answers, 1);
}

/* A kind whose owner gathers changes is asked for what the answer is about. */
static void what_owners_gather_is_on_disk_before_the_answer(void **state)
{
	static const struct state_kind gathered = { .name = "cordons",
						    .write = write_cordons,
						    .gather_us = 60000000 };
	struct pipe *p = *state;
	static struct request r = { 0 };
	char *had;

	state_changed(p->state, &gathered, p);
	operations_done(p->operations, json_pack("{ss}", "what", "done"), answer, &r);
	assert_int_equal(r.answers, 0);
	state_flush(p->state);
	assert_int_equal(r.answers, 1);
	state_close(p->state);
	had = disk_peek(p->folder, "cordons", "0x100 5");
	assert_non_null(had);
	free(had);
	p->state = state_open(p->loop, p->folder, p->alerts, p->events);
}

static void what_needed_no_update_is_answered_at_once(void **state)
{
	struct pipe *p = *state;
	static struct request r = { 0 };

	operations_done(p->operations, json_pack("{ss}", "what", "done"), answer, &r);
	assert_int_equal(r.answers, 1);
	assert_string_equal(r.said, "done");
}

static void the_answer_says_that_its_rows_could_not_be_written(void **state)
{
	struct pipe *p = *state;
	static struct request r = { 0 };

	trouble_set(p->alerts, "state_dir/state.db", "not saved: no space");
	operations_done(p->operations, json_pack("{ss}", "what", "done"), answer, &r);
	assert_string_equal(r.not_saved, "not saved: no space");
}

static void the_status_is_the_answer_where_there_is_no_result(void **state)
{
	struct pipe *p = *state;
	static struct request r = { 0 };

	start(p, &bare, &r);
	operations_take(p->operations, false);
	operations_answer(p->operations, NULL, false);
	assert_int_equal(p->statuses, 1);
	assert_string_equal(r.said, "status");
}

static void who_is_master_no_more_abandons_all(void **state)
{
	struct pipe *p = *state;
	static struct request waiting = { 0 }, taken = { 0 }, saving = { 0 };

	start(p, &kept, &saving);
	state_changed(p->state, &cordons, p);
	operations_take(p->operations, false);
	operations_answer(p->operations, NULL, false);
	start(p, &plain, &taken);
	operations_take(p->operations, false);
	start(p, &behind_sweep, &waiting);
	operations_abandon(p->operations, "standby");
	assert_int_equal(waiting.answers + taken.answers + saving.answers, 3);
	assert_string_equal(saving.error, "standby");
	assert_int_equal(waiting.frees + taken.frees + saving.frees, 3);
	assert_int_equal(waiting.reports + taken.reports + saving.reports, 0);
	assert_int_equal(waiting.rollbacks + taken.rollbacks, 0);
	state_flush(p->state);
	assert_int_equal(saving.answers, 1);
}

static void a_client_may_ask_again_from_its_answer(void **state)
{
	struct pipe *p = *state;
	struct request r = { .again = p };

	start(p, &bare, &r);
	operations_take(p->operations, false);
	operations_answer(p->operations, NULL, false);
	assert_int_equal(r.answers, 1);
	assert_false(operations_taken(p->operations));
	r.answers = 0;
	operations_take(p->operations, false);
	operations_answer(p->operations, NULL, false);
	assert_int_equal(r.answers, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_update_under_way_does_not_answer_what_is_requested_meanwhile),
		TEST(a_sweep_is_taken_by_the_update_behind_it_alone),
		TEST(refused_tables_roll_back_what_they_took),
		TEST(it_is_answered_when_its_rows_are_on_disk),
		TEST(what_is_late_is_answered_when_the_disk_has_its_rows),
		TEST(what_owners_gather_is_on_disk_before_the_answer),
		TEST(what_needed_no_update_is_answered_at_once),
		TEST(the_answer_says_that_its_rows_could_not_be_written),
		TEST(the_status_is_the_answer_where_there_is_no_result),
		TEST(who_is_master_no_more_abandons_all),
		TEST(a_client_may_ask_again_from_its_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
