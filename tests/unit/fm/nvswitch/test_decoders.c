/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What intake_scrape.c hands to decoders: one answer of dcgm-exporter for its host, one of NMX-T
 * for all hosts of its rack, answers that are cut off, and endpoints that are not what the list of
 * hosts takes them for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "fm/nvswitch/intake_fetch.h"
#include "fm/nvswitch/intake_scrape.h"
#include "topology/base/mem.h"

#define P2P                                                                                        \
	"DCGM_FI_DEV_P2P_NVLINK_STATUS{gpu=\"%u\",modelName=\"NVIDIA H100 80GB "                   \
	"HBM3\",hostname=\"%s\"} %u\n"
#define NMX                                                                                        \
	"Link_Down{Device_ID=\"GB100\", logical_state=\"%s\", device_num_on_tray=\"1\", "          \
	"tray_index=\"%u\", Node_GUID=\"0x%x\", Port_Number=\"%u\"}  0 1781993954087\n"

struct world {
	struct loop *loop;
	struct health health;
	struct nvswitch_conf conf;
	struct source_home home;
	struct targets targets;
	void *kept;
	struct exposition exposition;
	struct nvswitch_verdict verdict;
	char error[80];
};

static void changed_cb(void *arg, const struct health_host *host, enum nvswitch_state before)
{
}

static void guard_cb(void *arg, bool on, unsigned bad)
{
}

static int set_up(void **state)
{
	static const struct health_ops ops = { changed_cb, guard_cb };
	struct world *w = mem_alloc(1, sizeof(*w));

	assert_int_equal(fetch_load("key", NULL, 0), 0);
	w->loop = loop_new_simulated();
	health_init(&w->health, &ops, w);
	w->home = (struct source_home){ .loop = w->loop, .health = &w->health, .conf = &w->conf };
	w->conf.link_window_us = 1000000;
	for (unsigned i = 0; i < 3; i++) {
		char name[16];

		snprintf(name, sizeof(name), "dgx-%u", i);
		assert_int_equal(targets_add(&w->targets, name, "http://%h:9400/metrics", 0), 0);
		assert_int_equal(health_add(&w->health, name), i);
		health_source_add(&w->health, i, "exporter", NVSWITCH_ASKED);
	}
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	targets_fini(&w->targets);
	health_fini(&w->health);
	loop_free(w->loop);
	free(w);
	return 0;
}

static void begin(struct world *w, const struct decoder *decoder)
{
	decoder->begin(w->kept, &w->targets.list[0], 0);
	exposition_init(&w->exposition, decoder->ops, w->kept);
}

__attribute__((format(printf, 2, 3))) static void say(struct world *w, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	assert_true(exposition_feed(&w->exposition, text, strlen(text)));
}

static void whole(struct world *w, const struct decoder *decoder)
{
	assert_true(exposition_end(&w->exposition));
	if (decoder->whole)
		decoder->whole(w->kept);
}

static bool judge(struct world *w, const struct decoder *decoder, unsigned host)
{
	const struct decoder_subject subject = { &w->home, &w->targets.list[host], host, 0 };

	*w->error = '\0';
	return decoder->judge(w->kept, &subject, &w->verdict, w->error, sizeof(w->error));
}

/* ---- dcgm-exporter --------------------------------------------------------------------------- */

static void say_gpus(struct world *w, const char *host, unsigned lost)
{
	for (unsigned g = 0; g < 8; g++)
		say(w, P2P, g, host, g == lost ? 0 : 255u & ~(1u << g));
}

static void an_exporter_gives_its_hosts_state_and_what_it_lacks(void **state)
{
	struct world *w = *state;
	json_t *missing;

	w->kept = decoder_dcgm.keep();
	begin(w, &decoder_dcgm);
	say_gpus(w, "dgx-0", 5);
	whole(w, &decoder_dcgm);
	assert_true(judge(w, &decoder_dcgm, 0));
	assert_int_equal(w->verdict.state, NVSWITCH_NO_P2P);
	decoder_dcgm.end(w->kept);
	missing = decoder_dcgm.missing(w->kept, NVSWITCH_SYSTEM_H100);
	assert_int_equal(json_array_size(missing), 7); /* all but P2P_NVLINK_STATUS */
	json_decref(missing);
	decoder_dcgm.drop(w->kept);
}

static void an_exporter_of_another_host_is_no_source_for_this_one(void **state)
{
	struct world *w = *state;

	w->kept = decoder_dcgm.keep();
	begin(w, &decoder_dcgm);
	say_gpus(w, "dgx-1", 8);
	whole(w, &decoder_dcgm);
	assert_false(judge(w, &decoder_dcgm, 0));
	assert_string_equal(w->error, "it reports another host, dgx-1");
	assert_null(w->health.hosts[0].memory); /* and nothing of it is remembered */
	decoder_dcgm.drop(w->kept);		/* in the midst of an answer */
}

/* Rows of a whole rack are nobody's: one link of 1,296 would make 18 hosts degraded. */
static void a_racks_answer_for_a_host_without_a_place_says_what_is_needed(void **state)
{
	struct world *w = *state;

	assert_ptr_equal(decoder_nmx.reads(&w->targets.list[0]) ? &decoder_nmx : &decoder_dcgm,
			 &decoder_dcgm);
	w->kept = decoder_dcgm.keep();
	begin(w, &decoder_dcgm);
	say(w, NMX, "DOWN", 3u, 0xabcu, 1u);
	say(w, "Effective_BER{Port_Number=\"9\"} 3e-11\n");
	whole(w, &decoder_dcgm);
	assert_false(judge(w, &decoder_dcgm, 0));
	assert_non_null(strstr(w->error, "tray= or slot="));
	decoder_dcgm.drop(w->kept);
}

/* ---- NMX-T ----------------------------------------------------------------------------------- */

static void say_tray(struct world *w, unsigned tray, unsigned down)
{
	for (unsigned p = 1; p <= 18; p++)
		say(w, NMX, p == down ? "DOWN" : "ACT", tray, 0x100 + tray, p);
}

static void one_answer_is_judged_for_each_host_of_the_rack(void **state)
{
	static const enum nvswitch_state want[] = { NVSWITCH_HEALTHY, NVSWITCH_DEGRADED_LINK };
	struct world *w = *state;

	for (int i = 0; i < 3; i++)
		w->targets.list[i].place.tray = i;
	assert_true(decoder_nmx.reads(&w->targets.list[0]));
	assert_true(decoder_nmx.shared);
	w->kept = decoder_nmx.keep();
	begin(w, &decoder_nmx);
	say_tray(w, 0, 0);
	say_tray(w, 1, 7);
	whole(w, &decoder_nmx);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(judge(w, &decoder_nmx, i));
		assert_int_equal(w->verdict.state, want[i]);
	}
	assert_false(judge(w, &decoder_nmx, 2)); /* no row is its */
	decoder_nmx.drop(w->kept);
}

/* One that is cut off is begun anew: nothing of it counts. */
static void an_answer_that_is_not_whole_counts_for_nothing(void **state)
{
	struct world *w = *state;

	w->targets.list[0].place.tray = 0;
	w->kept = decoder_nmx.keep();
	begin(w, &decoder_nmx);
	say_tray(w, 0, 0);
	whole(w, &decoder_nmx);
	begin(w, &decoder_nmx);
	say_tray(w, 0, 7);
	assert_true(judge(w, &decoder_nmx, 0));
	assert_int_equal(w->verdict.state, NVSWITCH_HEALTHY);
	decoder_nmx.drop(w->kept);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(an_exporter_gives_its_hosts_state_and_what_it_lacks),
		TEST(an_exporter_of_another_host_is_no_source_for_this_one),
		TEST(a_racks_answer_for_a_host_without_a_place_says_what_is_needed),
		TEST(one_answer_is_judged_for_each_host_of_the_rack),
		TEST(an_answer_that_is_not_whole_counts_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
