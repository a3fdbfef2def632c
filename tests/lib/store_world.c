/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/lib/store_world.h"
#include "fm/loop/log.h"
#include "topology/base/mem.h"

#include <stdlib.h>
#include <string.h>

static void stop(void *arg)
{
	loop_stop(arg);
}

struct world *store_world_new(void)
{
	return store_world_new_on(loop_new_simulated());
}

struct world *store_world_new_on(struct loop *loop)
{
	struct world *w = mem_alloc(1, sizeof(*w));

	log_set_level(-1, -1);
	strcpy(w->folder, "/tmp/fmd-test-XXXXXX");
	assert_non_null(mkdtemp(w->folder));
	w->loop = loop;
	w->stop = loop_timer_new(w->loop, stop, w->loop);
	return w;
}

int store_world_free(struct world *w)
{
	char command[64];

	loop_timer_free(w->stop);
	loop_free(w->loop);
	snprintf(command, sizeof(command), "rm -rf %s", w->folder);
	free(w);
	return system(command);
}

static void open_store(struct world *w)
{
	w->store = state_open(w->loop, w->folder, w->alerts, w->events);
}

void store_world_open(struct world *w, unsigned events_kept)
{
	w->events = event_log_new(events_kept);
	w->alerts = alerts_new(w->loop, w->events);
	open_store(w);
}

void store_world_close(struct world *w)
{
	state_close(w->store);
	alerts_free(w->alerts);
	event_log_free(w->events);
}

void store_world_reopen(struct world *w)
{
	state_close(w->store);
	open_store(w);
}

void store_world_run(struct world *w, uint64_t us)
{
	loop_timer_set(w->stop, us);
	assert_int_equal(loop_run(w->loop), 0);
}

bool value_line(void *world, const char *line)
{
	struct world *w = world;

	return sscanf(line, "0x1 %u", &w->value_read) == 1;
}

uint64_t value_write(const void *world, uint64_t from, FILE *out)
{
	fprintf(out, "0x1 %u\n", ((const struct world *)world)->value);
	return 0;
}

const struct state_kind value_kind = {
	.name = "generalinfo", .form = "a number", .line = value_line, .write = value_write
};
