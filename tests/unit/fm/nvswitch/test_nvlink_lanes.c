/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Exporters that hang take nothing from the others: 2,048 of them, in simulated time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/intake_sources.h"
#include "fm/nvswitch/state_monitor.h"
#include "tests/lib/fake_fetch.h"
#include "topology/base/mem.h"

#define HOSTS	    2048
#define INTERVAL_US 15000000ull
#define TIMEOUT_US  5000000ull
#define MS	    1000ull

/* ---- Exporters: the even ones answer after 20 ms, the odd ones never ------------------------- */

struct fetch_job {
	struct loop_timer *timer;
	const struct fetch_ops *ops;
	void *arg;
	unsigned host;
};
static struct loop *clock_of;
static uint64_t asked_us[HOSTS], longest_us, from_us;
static unsigned under_way, most_under_way, questions[HOSTS];
static bool all_answer;

int fetch_url_parse(const char *text, struct fetch_url *url)
{
	*url = (struct fetch_url){ .port = 80 };
	snprintf(url->host, sizeof(url->host), "%s", text + strlen("http://"));
	snprintf(url->text, sizeof(url->text), "%s", text);
	return 0;
}

static void answer_cb(void *arg)
{
	static const char body[] =
		"DCGM_FI_DEV_FABRIC_MANAGER_STATUS{gpu=\"0\",modelName=\"NVIDIA H100\"} 3\n";
	struct fetch_job *job = arg;
	bool hangs = job->host % 2 && !all_answer;

	under_way--;
	if (!hangs)
		job->ops->data(job->arg, body, sizeof(body) - 1);
	job->ops->done(job->arg, hangs ? "timed out" : NULL, "");
	loop_timer_free(job->timer);
	free(job);
}

struct fetch_job *fetch_get(struct fetch *fetch, const struct fetch_url *url, const char *address,
			    const struct fetch_ops *ops, void *arg)
{
	struct fetch_job *job = mem_alloc(1, sizeof(*job));
	uint64_t now_us = loop_now_us(clock_of), gap_us;

	*job = (struct fetch_job){ loop_timer_new(clock_of, answer_cb, job), ops, arg,
				   (unsigned)atoi(url->host + strlen("h")) };
	gap_us = now_us - asked_us[job->host];
	if (asked_us[job->host] >= from_us && job->host % 2 == 0 && gap_us > longest_us)
		longest_us = gap_us;
	asked_us[job->host] = now_us;
	questions[job->host]++;
	under_way++;
	most_under_way = under_way > most_under_way ? under_way : most_under_way;
	loop_timer_set(job->timer, job->host % 2 && !all_answer ? TIMEOUT_US : 20 * MS);
	return job;
}

void fetch_cancel(struct fetch_job *job)
{
	loop_timer_free(job->timer);
	free(job);
	under_way--;
}

/* ---- The source ------------------------------------------------------------------------------ */

static void nothing_cb(struct source_home *home)
{
}

static void stop_cb(void *arg)
{
	loop_stop(clock_of);
}

static void half_of_2048_hang_and_the_others_are_asked_each_interval(void **state)
{
	static struct conf_nvswitch conf = { .poll_interval_ms = INTERVAL_US / 1000,
					     .timeout_ms = TIMEOUT_US / 1000,
					     .url = "http://%h" };
	struct health health;
	struct source_home home = { .health = &health, .conf = &conf, .heard = nothing_cb };
	struct loop_timer *stop;
	unsigned unknown = 0, hung = 0, late = 0;
	char err[512], name[8];
	void *source;

	home.loop = clock_of = loop_new_simulated();
	stop = loop_timer_new(clock_of, stop_cb, NULL);
	health_init(&health);
	for (unsigned i = 0; i < HOSTS; i++) {
		snprintf(name, sizeof(name), "h%u", i);
		assert_int_equal(health_add(&health, name), i);
		health.hosts[i].present = true;
	}
	source = source_exporters.open(&home, &conf, err);
	assert_non_null(source);
	source_exporters.start(&home, source, NULL);
	source_exporters.announce(source);
	from_us = loop_now_us(clock_of);
	loop_timer_set(stop, 20 * INTERVAL_US);
	loop_run(clock_of);
	for (unsigned i = 0; i < HOSTS; i += 2)
		unknown += !health.hosts[i].sources[0].heard ||
			   loop_now_us(clock_of) - health.hosts[i].sources[0].heard_us >
				   3 * INTERVAL_US;
	for (unsigned i = 1; i < HOSTS; i += 2)
		hung += questions[i];
	print_message("longest gap %.2f intervals, %u good hosts UNKNOWN, %u under way at most, "
		      "%.1f questions to a host that hangs, %u to one that answers\n",
		      (double)longest_us / INTERVAL_US, unknown, most_under_way,
		      hung / (HOSTS / 2.0), questions[0]);
	assert_true(longest_us <= INTERVAL_US * 12 / 10);
	assert_int_equal(unknown, 0);
	assert_true(hung < HOSTS / 2 * questions[0] / 2);
	/* They answer again, and are asked as the others. */
	all_answer = true;
	loop_timer_set(stop, 12 * INTERVAL_US);
	loop_run(clock_of);
	for (unsigned i = 0; i < HOSTS; i++)
		late += loop_now_us(clock_of) - asked_us[i] > INTERVAL_US * 12 / 10;
	assert_int_equal(late, 0);
	source_exporters.close(source);
	assert_int_equal(under_way, 0);
	loop_timer_free(stop);
	health_fini(&health);
	loop_free(clock_of);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_of_2048_hang_and_the_others_are_asked_each_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
