/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a standby confirms to the manager that it copies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>
#include "fm/events/event_log.h"
#include "fm/mirror/own.h"

#define MASTER 0x77

static struct world {
	char folder[40];
	struct event_log *events;
	struct alerts *alerts;
	struct mirror m;
	unsigned rows, most; /* that were put, and that are to be */
	unsigned first;	     /* how many were put when the first was confirmed; 0 = none was */
	json_int_t confirmed;
	int whole;
} w;

guid_t fabric_master(const struct fabric *fabric)
{
	return MASTER;
}

void channel_send(struct channel *channel, enum frame_type type, json_t *head, const char *body,
		  size_t length)
{
	assert_int_equal(type, FRAME_TAKEN);
	assert_int_equal(json_unpack(head, "{sI sb}", "seq", &w.confirmed, "whole", &w.whole), 0);
	json_decref(head);
	/* None that the disk has not, as a hand-over counts on it. */
	assert_true(w.confirmed < w.rows || state_is_kept(w.m.services.state));
	w.first = w.first ? w.first : w.rows;
}

/* As a change of the master that arrives whenever the disk has the one before. */
static void another(void *arg)
{
	static const struct state_kind kind = { .name = "cordons" };
	char line[40];

	if (w.rows == w.most)
		return;
	w.rows++;
	snprintf(line, sizeof(line), "0x%x %u", 0x100 + w.rows, w.rows);
	state_put(w.m.services.state, &kind, NULL, line);
	w.m.peers[0].seq++;
	w.m.peers[0].answer = true;
	state_when_kept(w.m.services.state, another, &w);
	if (!loop_timer_armed(w.m.answer))
		loop_timer_set(w.m.answer, 0);
}

static int set_up(void **state)
{
	w = (struct world){ .folder = "/tmp/fmd-test-XXXXXX" };
	assert_non_null(mkdtemp(w.folder));
	log_set_level(-1, LOG_ERR);
	w.m.services.loop = loop_new_simulated();
	w.events = event_log_new(100);
	w.alerts = alerts_new(w.m.services.loop, w.events);
	w.m.services.state = state_open(w.m.services.loop, w.folder, w.alerts, w.events);
	state_configure(w.m.services.state, 1000000, false);
	w.m.answer = loop_timer_new(w.m.services.loop, copy_answer, &w.m);
	w.m.npeers = 1;
	w.m.peers[0] = (struct peer){ .mirror = &w.m,
				      .channel = (struct channel *)&w,
				      .who.port_guid = MASTER,
				      .master = true,
				      .whole = true };
	return 0;
}

static int tear_down(void **state)
{
	char command[64];

	state_forget(w.m.services.state, &w.m);
	loop_timer_free(w.m.answer);
	state_close(w.m.services.state);
	alerts_free(w.alerts);
	event_log_free(w.events);
	loop_free(w.m.services.loop);
	snprintf(command, sizeof(command), "rm -r %s", w.folder);
	return system(command);
}

/* Otherwise a fabric that changes without a pause has no standby that is whole. */
static void changes_that_never_pause_are_confirmed_all_the_same(void **state)
{
	w.most = 100;
	another(NULL);
	assert_int_equal(w.first, 0);
	assert_int_equal(loop_run(w.m.services.loop), 0);
	assert_true(w.whole);
	assert_int_equal(w.confirmed, w.most);
	assert_in_range(w.first, 1, w.most / 2);
	assert_non_null(copy_whole(&w.m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(changes_that_never_pause_are_confirmed_all_the_same,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
