/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What exporters' answers come to: one answer of dcgm-exporter for its host, one of NMX-T for all
 * hosts of its rack, answers that are cut off, and endpoints that are not what the list of hosts
 * takes them for. fetch is the test's own: each question is answered by the text for its URL.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/nvswitch/intake_sources.h"
#include "tests/lib/fake_fetch.h"
#include "topology/base/mem.h"

#define INTERVAL_US 15000000ull
#define P2P                                                                                        \
	"DCGM_FI_DEV_P2P_NVLINK_STATUS{gpu=\"%u\",modelName=\"NVIDIA H100 80GB "                   \
	"HBM3\",hostname=\"%s\"} %u\n"
#define NMX                                                                                        \
	"Link_Down{Device_ID=\"GB100\", logical_state=\"%s\", device_num_on_tray=\"1\", "          \
	"tray_index=\"%u\", Node_GUID=\"0x%x\", Port_Number=\"%u\"}  0 1781993954087\n"

struct world {
	struct loop *loop;
	struct loop_timer *stop;
	struct health health;
	struct conf_nvswitch conf;
	struct source_home home;
	struct exporters *exporters;
	char path[32];
};

/* ---- Endpoints, which all answer the same ---------------------------------------------------- */

struct fetch_job {
	struct loop_timer *timer;
	const struct fetch_ops *ops;
	void *arg;
};
static struct loop *clock_of;
static char body[1 << 16];
static const char *failure; /* why an answer ends early, NULL = it is whole */
static unsigned questions;

int fetch_url_parse(const char *text, struct fetch_url *url)
{
	*url = (struct fetch_url){ .port = 80 };
	snprintf(url->host, sizeof(url->host), "%s", text + strlen("http://"));
	snprintf(url->text, sizeof(url->text), "%s", text);
	return 0;
}

static void answer_cb(void *arg)
{
	struct fetch_job *job = arg;

	job->ops->data(job->arg, body, strlen(body));
	job->ops->done(job->arg, failure, "");
	fetch_cancel(job);
}

struct fetch_job *fetch_get(struct fetch *fetch, const struct fetch_url *url, const char *address,
			    const struct fetch_ops *ops, void *arg)
{
	struct fetch_job *job = mem_alloc(1, sizeof(*job));

	*job = (struct fetch_job){ loop_timer_new(clock_of, answer_cb, job), ops, arg };
	loop_timer_set(job->timer, 1000);
	questions++;
	return job;
}

void fetch_cancel(struct fetch_job *job)
{
	loop_timer_free(job->timer);
	free(job);
}

/* ---- The source ------------------------------------------------------------------------------ */

static void nothing_cb(struct source_home *home)
{
}

static void stop_cb(void *arg)
{
	loop_stop(clock_of);
}

/* The exporters of that list of hosts. */
static struct world *world_new(const char *hosts)
{
	static const char *present[] = { "dgx-0", "dgx-1", "dgx-2" };
	struct world *w = mem_alloc(1, sizeof(*w));
	char err[512] = "";
	FILE *out;

	strcpy(w->path, "/tmp/fmd-test-hosts-XXXXXX");
	out = fdopen(mkstemp(w->path), "w");
	fputs(hosts, out);
	fclose(out);
	w->loop = clock_of = loop_new_simulated();
	w->stop = loop_timer_new(w->loop, stop_cb, NULL);
	w->conf = (struct conf_nvswitch){ .poll_interval_ms = INTERVAL_US / 1000,
					  .timeout_ms = 5000,
					  .link_window_ms = 1000 };
	strcpy(w->conf.hosts_file, w->path);
	w->home = (struct source_home){
		.loop = w->loop, .health = &w->health, .conf = &w->conf, .heard = nothing_cb
	};
	health_init(&w->health);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(health_add(&w->health, present[i]), i);
		w->health.hosts[i].present = true;
	}
	w->exporters = source_exporters.open(&w->home, &w->conf, err);
	if (!w->exporters)
		fail_msg("%s", err);
	source_exporters.start(&w->home, w->exporters, NULL);
	source_exporters.announce(w->exporters);
	*body = '\0';
	failure = NULL;
	return w;
}

static void world_free(struct world *w)
{
	source_exporters.close(w->exporters);
	health_fini(&w->health);
	loop_timer_free(w->stop);
	loop_free(w->loop);
	unlink(w->path);
	free(w);
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	size_t used = strlen(body);
	va_list args;

	va_start(args, format);
	vsnprintf(body + used, sizeof(body) - used, format, args);
	va_end(args);
}

/* Each endpoint is asked once. */
static void ask_all(struct world *w)
{
	questions = 0;
	loop_timer_set(w->stop, INTERVAL_US);
	loop_run(w->loop);
}

static const struct health_source *source_of(const struct world *w, unsigned host)
{
	return &w->health.hosts[host].sources[0];
}

/* ---- dcgm-exporter --------------------------------------------------------------------------- */

static void say_gpus(const char *host, unsigned lost)
{
	for (unsigned g = 0; g < 8; g++)
		say(P2P, g, host, g == lost ? 0 : 255u & ~(1u << g));
}

static void an_exporter_gives_its_hosts_state_and_what_it_lacks(void **state)
{
	struct world *w = world_new("dgx-0 http://dgx-0\n");
	json_t *missing;

	say_gpus("dgx-0", 5);
	ask_all(w);
	assert_true(source_of(w, 0)->up);
	assert_int_equal(source_of(w, 0)->verdict.state, NVSWITCH_NO_P2P);
	missing = evidence_missing(source_of(w, 0)->metrics, source_of(w, 0)->verdict.system);
	assert_int_equal(json_array_size(missing), 7); /* all but P2P_NVLINK_STATUS */
	json_decref(missing);
	world_free(w);
}

static void an_exporter_of_another_host_is_no_source_for_this_one(void **state)
{
	struct world *w = world_new("dgx-0 http://dgx-0\n");

	say_gpus("dgx-1", 8);
	ask_all(w);
	assert_false(source_of(w, 0)->up);
	assert_string_equal(source_of(w, 0)->error, "it reports another host, dgx-1");
	assert_null(w->health.hosts[0].memory); /* and nothing of it is remembered */
	world_free(w);
}

/* Rows of a whole rack are nobody's: one link of 1,296 would make 18 hosts degraded. */
static void a_racks_answer_for_a_host_without_a_place_says_what_is_needed(void **state)
{
	struct world *w = world_new("dgx-0 http://dgx-0\n");

	say(NMX, "DOWN", 3u, 0xabcu, 1u);
	say("Effective_BER{Port_Number=\"9\"} 3e-11\n");
	ask_all(w);
	assert_false(source_of(w, 0)->up);
	assert_non_null(strstr(source_of(w, 0)->error, "tray= or slot="));
	world_free(w);
}

/* ---- NMX-T ----------------------------------------------------------------------------------- */

#define RACK                                                                                       \
	"dgx-0 http://rack tray=0\n"                                                               \
	"dgx-1 http://rack tray=1\n"                                                               \
	"dgx-2 http://rack tray=2\n"

static void say_tray(unsigned tray, unsigned down)
{
	for (unsigned p = 1; p <= 18; p++)
		say(NMX, p == down ? "DOWN" : "ACT", tray, 0x100 + tray, p);
}

static void one_answer_is_judged_for_each_host_of_the_rack(void **state)
{
	static const enum nvswitch_state want[] = { NVSWITCH_HEALTHY, NVSWITCH_DEGRADED_LINK };
	struct world *w = world_new(RACK);

	say_tray(0, 0);
	say_tray(1, 7);
	ask_all(w);
	assert_int_equal(questions, 1);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(source_of(w, i)->up);
		assert_int_equal(source_of(w, i)->verdict.state, want[i]);
	}
	assert_false(source_of(w, 2)->up); /* no row is its */
	world_free(w);
}

/* One that is cut off is begun anew: nothing of it counts. */
static void an_answer_that_is_not_whole_counts_for_nothing(void **state)
{
	struct world *w = world_new(RACK);

	say_tray(0, 0);
	ask_all(w);
	*body = '\0';
	say_tray(0, 7);
	failure = "the answer is truncated";
	ask_all(w);
	assert_false(source_of(w, 0)->up);
	assert_int_equal(source_of(w, 0)->verdict.state, NVSWITCH_HEALTHY);
	*body = '\0';
	say_tray(0, 0);
	failure = NULL;
	ask_all(w);
	assert_true(source_of(w, 0)->up);
	assert_int_equal(source_of(w, 0)->verdict.state, NVSWITCH_HEALTHY);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exporter_gives_its_hosts_state_and_what_it_lacks),
		cmocka_unit_test(an_exporter_of_another_host_is_no_source_for_this_one),
		cmocka_unit_test(a_racks_answer_for_a_host_without_a_place_says_what_is_needed),
		cmocka_unit_test(one_answer_is_judged_for_each_host_of_the_rack),
		cmocka_unit_test(an_answer_that_is_not_whole_counts_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
