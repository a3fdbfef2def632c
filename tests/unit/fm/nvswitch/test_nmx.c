/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What NMX-T says of a rack's NVLinks, and which host it is about. The rows are shaped as one
 * recorded on a GB200.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/evidence.h"

#define WINDOW_US 300000000ull
#define PORTS	  18
#define DEVICES	  4

struct port {
	const char *state, *blame; /* state NULL = no row */
	unsigned downs;
	double ber;
};
struct rack {
	struct nmx *nmx;
	struct exposition *e;
	uint64_t now_us;
	struct port ports[2][DEVICES][PORTS]; /* of trays 17 and 18 */
};

static int set_up(void **state)
{
	struct rack *r = calloc(1, sizeof(*r));

	nmx_at(&r->nmx, "rack");
	r->e = malloc(sizeof(*r->e));
	for (unsigned i = 0; i < 2 * DEVICES * PORTS; i++)
		(&r->ports[0][0][0])[i] = (struct port){ "ACT", "Unknown", 3, 1.5e-254 };
	*state = r;
	return 0;
}

static int tear_down(void **state)
{
	struct rack *r = *state;

	nmx_free(r->nmx);
	free(r->e);
	free(r);
	return 0;
}

static void say_row(struct rack *r, const char *name, unsigned t, unsigned d, unsigned p,
		    const char *value)
{
	const struct port *port = &r->ports[t][d][p];
	char line[1024];
	int len;

	if (!port->state)
		return;
	len = snprintf(
		line, sizeof(line),
		"%s{Device_ID=\"GB100\", port_label=\"GPUP%u\", logical_state=\"%s\", "
		"device_num_on_tray=\"%u\", board_type=\"3\", chassis_slot_index=\"%u\", "
		"tray_index=\"%u\", chassis_id=\"1820325172739\", down_blame=\"%s\", "
		"Node_GUID=\"0xe1d04a69816f%02x%02x\", Port_Number=\"%u\"}  %s 1781993954087\n",
		name, p, port->state, d + 1, t + 27, t + 17, port->blame, t, d, p + 1, value);
	assert_true(exposition_feed(r->e, line, (size_t)len));
}

static void say(struct rack *r)
{
	char value[32];

	nmx_begin(r->nmx, r->now_us);
	exposition_init(r->e, &nmx_ops, r->nmx);
	for (unsigned metric = 0; metric < 3; metric++)
		for (unsigned i = 0; i < 2 * DEVICES * PORTS; i++) {
			unsigned t = i / (DEVICES * PORTS), d = i / PORTS % DEVICES, p = i % PORTS;
			const struct port *port = &r->ports[t][d][p];

			snprintf(value, sizeof(value), metric == 1 ? "%.2e" : "%.0f",
				 metric == 1 ? port->ber : (double)port->downs);
			say_row(r,
				metric == 0   ? "Link_Down"
				: metric == 1 ? "Effective_BER"
					      : "lid",
				t, d, p, value);
		}
	assert_true(exposition_end(r->e));
	nmx_end(r->nmx);
}

static struct nvswitch_verdict judge(const struct rack *r, unsigned tray)
{
	const struct nmx_place place = { (int)tray, -1, "", true };
	struct nvswitch_verdict verdict;

	nmx_judge(r->nmx, &place, WINDOW_US, &verdict);
	return verdict;
}

static void a_healthy_rack_is_healthy(void **state)
{
	struct rack *r = *state;

	say(r);
	assert_int_equal(judge(r, 17).state, NVSWITCH_HEALTHY);
	assert_int_equal(judge(r, 17).count, 0);
	assert_int_equal(judge(r, 18).state, NVSWITCH_HEALTHY);
	assert_int_equal(judge(r, 19).state, NVSWITCH_UNKNOWN);
}

static void a_link_that_is_down_is_its_hosts_with_the_blame(void **state)
{
	struct rack *r = *state;

	say(r);
	r->ports[0][1][10].state = "DOWN";
	r->ports[0][1][10].blame = "Remote_phy";
	say(r);
	assert_int_equal(judge(r, 17).state, NVSWITCH_DEGRADED_LINK);
	assert_string_equal(judge(r, 17).findings[0].text,
			    "1 NVLinks not active, first device 2 port 11: DOWN, blame Remote_phy");
	assert_int_equal(judge(r, 18).state, NVSWITCH_HEALTHY);
}

static void a_counter_that_rose_counts_for_a_while_though_one_answer_shows_it(void **state)
{
	struct rack *r = *state;

	say(r);
	r->now_us += 15000000;
	r->ports[1][3][0].downs++;
	say(r);
	for (unsigned i = 0; i < 19; i++) { /* seen in one answer only */
		assert_int_equal(judge(r, 18).state, NVSWITCH_DEGRADED_LINK);
		assert_int_equal(judge(r, 17).state, NVSWITCH_HEALTHY);
		r->now_us += 15000000;
		say(r);
	}
	r->now_us += 15000000;
	say(r);
	assert_int_equal(judge(r, 18).state, NVSWITCH_HEALTHY);
}

static void a_counter_that_begins_anew_is_no_fault(void **state)
{
	struct rack *r = *state;

	say(r);
	for (unsigned p = 0; p < PORTS; p++)
		r->ports[0][0][p].downs = 0;
	say(r);
	assert_int_equal(judge(r, 17).state, NVSWITCH_HEALTHY);
}

static void a_port_that_is_gone_is_missed_and_a_tray_that_is_off_is_unknown(void **state)
{
	struct rack *r = *state;

	say(r);
	r->ports[0][2][5].state = NULL;
	say(r);
	assert_int_equal(judge(r, 17).state, NVSWITCH_DEGRADED_LINK);
	assert_string_equal(judge(r, 17).findings[0].text, "1 of 72 NVLinks absent");
	for (unsigned p = 0; p < PORTS; p++)
		r->ports[0][2][p].state = NULL;
	say(r);
	assert_int_equal(judge(r, 17).state, NVSWITCH_NO_P2P);
	for (unsigned i = 0; i < DEVICES * PORTS; i++)
		(&r->ports[0][0][0])[i].state = NULL;
	say(r);
	assert_int_equal(judge(r, 17).state, NVSWITCH_UNKNOWN);
	assert_int_equal(judge(r, 18).state, NVSWITCH_HEALTHY);
}

static void all_links_of_a_gpu_and_of_a_tray_are_worse(void **state)
{
	struct rack *r = *state;

	say(r);
	for (unsigned p = 0; p < PORTS; p++)
		r->ports[0][2][p].state = "INIT";
	say(r);
	assert_int_equal(judge(r, 17).state, NVSWITCH_NO_P2P);
	for (unsigned i = 0; i < DEVICES * PORTS; i++)
		(&r->ports[0][0][0])[i].state = "DOWN";
	say(r);
	assert_int_equal(judge(r, 17).state, NVSWITCH_FATAL);
}

static void bit_errors_are_an_unhealthy_link(void **state)
{
	struct rack *r = *state;

	r->ports[1][0][7].ber = 3e-9;
	say(r);
	assert_int_equal(judge(r, 18).state, NVSWITCH_DEGRADED_LINK);
}

static void an_answer_that_is_cut_off_changes_nothing(void **state)
{
	struct rack *r = *state;

	say(r);
	nmx_begin(r->nmx, r->now_us);
	exposition_init(r->e, &nmx_ops, r->nmx);
	assert_true(exposition_feed(r->e, "Link_Down{", 10));
	assert_false(exposition_end(r->e)); /* and nmx_end() is not called */
	assert_int_equal(judge(r, 17).state, NVSWITCH_HEALTHY);
}

static void places_are_read(void **state)
{
	static const char *const wrong[] = { "tray=", "tray=x",	  "tray=-1", "tray=99999",
					     "row=1", "chassis=", "slot=1 " };
	struct nmx_place place = NMX_NOWHERE;

	assert_false(place.set);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(nmx_place_parse(&place, wrong[i]));
	assert_true(nmx_place_parse(&place, "slot=27"));
	assert_true(place.set);
	assert_true(nmx_place_parse(&place, "tray=17"));
	assert_true(nmx_place_parse(&place, "chassis=1820325172739"));
	assert_int_equal(place.tray, 17);
	assert_int_equal(place.slot, 27);
}

static void slot_and_chassis_tell_hosts_apart_too(void **state)
{
	struct rack *r = *state;
	struct nmx_place place = { -1, 28, "1820325172739", true };
	struct nvswitch_verdict verdict;

	r->ports[1][0][7].state = "DOWN";
	say(r);
	nmx_judge(r->nmx, &place, WINDOW_US, &verdict);
	assert_int_equal(verdict.state, NVSWITCH_DEGRADED_LINK);
	strcpy(place.chassis, "9");
	nmx_judge(r->nmx, &place, WINDOW_US, &verdict);
	assert_int_equal(verdict.state, NVSWITCH_UNKNOWN);
}

static void trays_of_two_chassis_are_not_one(void **state)
{
	struct rack *r = *state;
	struct nmx_place place = { 17, -1, "", true };
	struct nvswitch_verdict verdict;
	static const char other[] =
		"lid{Device_ID=\"GB100\",logical_state=\"ACT\",tray_index=\"17\",chassis_id=\"9\","
		"Node_GUID=\"0x9\",Port_Number=\"1\"} 0\n";

	say(r);
	exposition_init(r->e, &nmx_ops, r->nmx);
	assert_true(exposition_feed(r->e, other, strlen(other)));
	nmx_end(r->nmx);
	assert_non_null(strstr(nmx_judge(r->nmx, &place, WINDOW_US, &verdict), "chassis="));
	assert_int_equal(verdict.state, NVSWITCH_UNKNOWN);
	strcpy(place.chassis, "1820325172739");
	assert_null(nmx_judge(r->nmx, &place, WINDOW_US, &verdict));
	assert_int_equal(verdict.state, NVSWITCH_HEALTHY);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_healthy_rack_is_healthy),
		TEST(a_link_that_is_down_is_its_hosts_with_the_blame),
		TEST(a_counter_that_rose_counts_for_a_while_though_one_answer_shows_it),
		TEST(a_counter_that_begins_anew_is_no_fault),
		TEST(a_port_that_is_gone_is_missed_and_a_tray_that_is_off_is_unknown),
		TEST(all_links_of_a_gpu_and_of_a_tray_are_worse),
		TEST(bit_errors_are_an_unhealthy_link),
		TEST(an_answer_that_is_cut_off_changes_nothing),
		TEST(places_are_read),
		TEST(slot_and_chassis_tell_hosts_apart_too),
		TEST(trays_of_two_chassis_are_not_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
