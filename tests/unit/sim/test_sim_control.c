/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What is said to a simulated fabric, line by line: commands, errors, scripts, and that a run is
 * the same each time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/double_world.h"
#include "tests/sim/control.h"

struct said {
	struct double_world w;
	struct sim_control *c;
	char *text; /* of the last line */
	size_t size;
};

static void said_init(struct said *s, const struct double_conf *conf)
{
	*s = (struct said){ 0 };
	double_world_init(&s->w, conf);
	s->c = sim_control_new(s->w.d);
}

static void said_fini(struct said *s)
{
	free(s->text);
	sim_control_free(s->c);
	double_world_fini(&s->w);
}

static int say(struct said *s, const char *line)
{
	FILE *out;
	int status;

	free(s->text);
	out = open_memstream(&s->text, &s->size);
	status = sim_control_line(s->c, line, out);
	fclose(out);
	return status;
}

static void assert_says(struct said *s, const char *line, const char *part)
{
	assert_int_equal(say(s, line), 0);
	if (!strstr(s->text, part))
		fail_msg("%s: '%s' is not in: %s", line, part, s->text);
}

static void assert_complains(struct said *s, const char *line, const char *part)
{
	assert_int_equal(say(s, line), -EINVAL);
	assert_memory_equal(s->text, "error: ", 7);
	if (!strstr(s->text, part))
		fail_msg("%s: '%s' is not in: %s", line, part, s->text);
	assert_ptr_equal(strchr(s->text, '\n'), s->text + s->size - 1); /* one line */
}

/* ---- Commands -------------------------------------------------------------------------------- */

static void cables_are_pulled_and_plugged(void **state)
{
	struct said s;

	said_init(&s, NULL);
	double_world_bring_up(&s.w);
	assert_int_equal(say(&s, "unlink leaf-01:9"), 0);
	assert_int_equal(double_link_state(s.w.d, SPINE, 1), TOPO_DOWN);
	assert_int_equal(say(&s, "link spine-01:1"), 0);
	assert_int_equal(double_link_state(s.w.d, LEAF1, 9), TOPO_INIT);
	assert_int_equal(say(&s, "unlink \"leaf-01\"[9] spine-01:1"), 0);
	assert_int_equal(say(&s, "unlink leaf-02:9"), 0);
	assert_int_equal(say(&s, "link leaf-01:10 spine-01:1"), 0); /* another port of the leaf */
	assert_int_equal(double_link_state(s.w.d, LEAF1, 10), TOPO_INIT);
	assert_int_equal(double_link_state(s.w.d, SPINE, 1), TOPO_INIT);
	assert_complains(&s, "link leaf-01:9", "no cable is in leaf-01:9");
	assert_complains(&s, "link leaf-01:10 leaf-02:9", "leaf-01:10 already");
	assert_complains(&s, "unlink leaf-01:10 spine-01:2", "leads to spine-01:1");
	said_fini(&s);
}

static void nodes_go_off_and_come_back_with_nothing(void **state)
{
	struct said s;

	said_init(&s, NULL);
	double_world_bring_up(&s.w);
	assert_int_equal(say(&s, "node off spine-01"), 0);
	assert_int_equal(double_link_state(s.w.d, LEAF1, 9), TOPO_DOWN);
	assert_int_equal(double_world_get(&s.w, &to_spine, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_complains(&s, "reboot spine-01", "off");
	assert_says(&s, "status", "of them off 1;");
	assert_int_equal(say(&s, "node on spine-01"), 0);
	assert_int_equal(double_link_state(s.w.d, LEAF1, 9), TOPO_INIT);
	assert_int_equal(double_world_get(&s.w, &to_spine, WIRE_NODE_INFO, 0), MAD_OK);
	assert_int_equal(double_lft(s.w.d, SPINE, LID_H1), 255);
	said_fini(&s);
}

static void a_port_gets_and_loses_capabilities(void **state)
{
	struct said s;

	said_init(&s, NULL);
	double_world_bring_up(&s.w);
	assert_int_equal(say(&s, "capability h2 0x80000 on"), 0);
	loop_run(s.w.loop);
	assert_true(double_port_info(s.w.d, H2, 1)->capmask & 0x80000);
	assert_int_equal(s.w.trap.trap, 144);
	assert_true(s.w.trap.capmask & 0x80000);
	assert_int_equal(say(&s, "capability h2 0x80000 off"), 0);
	assert_false(double_port_info(s.w.d, H2, 1)->capmask & 0x80000);
	assert_complains(&s, "capability h2 0x80000 maybe", "maybe");
	assert_complains(&s, "capability h2 many on", "many");
	said_fini(&s);
}

static void switches_get_adaptive_routing_and_lose_it(void **state)
{
	struct said s;

	said_init(&s, NULL);
	double_world_bring_up(&s.w);
	assert_complains(&s, "adaptive able", "no number");
	assert_complains(&s, "adaptive answers zeros spine-01", "no adaptive routing");
	assert_int_equal(say(&s, "adaptive able 7 100 1"), 0);
	assert_says(&s, "adaptive", "spine-01: off, sub-groups 1");
	assert_int_equal(say(&s, "adaptive run 3"), 0);
	assert_says(&s, "adaptive", "spine-01: on,");
	assert_says(&s, "packet h1 h2", "arrives after");
	assert_int_equal(say(&s, "adaptive answers zeros spine-01"), 0);
	assert_says(&s, "adaptive", "answers zeros");
	assert_complains(&s, "adaptive answers nothing", "'nothing' is none of");
	assert_complains(&s, "adaptive maybe", "none of able, run, read, write, recovery, answers");
	assert_int_equal(say(&s, "reboot spine-01"), 0);
	assert_says(&s, "adaptive", "spine-01: off");
	said_fini(&s);
}

static void faults_are_named_as_in_their_table(void **state)
{
	struct said s;

	said_init(&s, NULL);
	assert_int_equal(say(&s, "hang spine-01"), 0);
	assert_int_equal(double_world_get(&s.w, &to_spine, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(say(&s, "hang spine-01 off"), 0);
	assert_int_equal(double_world_get(&s.w, &to_spine, WIRE_NODE_INFO, 0), MAD_OK);
	assert_int_equal(say(&s, "slow leaf-02 2ms"), 0);
	assert_int_equal(double_world_get(&s.w, &to_leaf2, WIRE_NODE_INFO, 0), MAD_OK);
	assert_in_range(s.w.last.rtt_us, 2000, 2100);
	assert_int_equal(say(&s, "lose leaf-01:9 100%"), 0);
	assert_int_equal(double_world_get(&s.w, &to_spine, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(say(&s, "lose off"), 0);
	assert_int_equal(double_world_get(&s.w, &to_spine, WIRE_NODE_INFO, 0), MAD_OK);
	assert_int_equal(say(&s, "lose 100%"), 0); /* everywhere */
	assert_int_equal(double_world_get(&s.w, &to_leaf1, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(say(&s, "mend"), 0);
	assert_int_equal(say(&s, "slow 3ms"), 0);
	assert_int_equal(double_world_get(&s.w, &to_h2, WIRE_NODE_INFO, 0), MAD_OK);
	assert_in_range(s.w.last.rtt_us, 3000, 3100);
	assert_int_equal(say(&s, "slow 1ms leaf-01"), 0);
	assert_int_equal(double_world_get(&s.w, &to_leaf1, WIRE_NODE_INFO, 0), MAD_OK);
	assert_in_range(s.w.last.rtt_us, 1000, 1100);
	assert_complains(&s, "hang", "a node is missing");
	assert_complains(&s, "lose 5% leaf-01", "which port");
	assert_int_equal(say(&s, "mend"), 0);
	assert_int_equal(double_world_get(&s.w, &to_spine, WIRE_NODE_INFO, 0), MAD_OK);
	said_fini(&s);
}

static void what_is_wrong_is_named(void **state)
{
	struct said s;

	said_init(&s, NULL);
	assert_complains(&s, "unplug leaf-01:9", "no command is named 'unplug'");
	assert_complains(&s, "unlink leaf-77:9", "leaf-77");
	assert_complains(&s, "unlink leaf-01:99", "99");
	assert_complains(&s, "unlink leaf-01", "which port of 'leaf-01'? it has 1 to 40");
	assert_complains(&s, "unlink", "it goes: unlink A:PORT");
	assert_complains(&s, "unlink leaf-01:9 spine-01:1 more", "too many words");
	assert_complains(&s, "slow leaf-01 2", "'2' is no time");
	assert_complains(&s, "slow leaf-01 -2ms", "no time");
	assert_complains(&s, "slow leaf-01 1e9s", "no time");
	assert_complains(&s, "lose leaf-01:9 5", "'5' is no share");
	assert_complains(&s, "lose leaf-01:9 101%", "no share");
	assert_complains(&s, "lose leaf-01:9 0.01%", "no share");
	assert_complains(&s, "lose leaf-01:9 5% both", "'both' is too much");
	assert_complains(&s, "node up leaf-01", "neither on nor off");
	assert_complains(&s, "dump lft h1", "not a switch");
	assert_complains(&s, "hang \"leaf-01", "quote");
	assert_complains(&s, "at 2s unplug leaf-01:9", "no command is named 'unplug'");
	assert_complains(&s, "packet h1 h2", "no LID");
	assert_complains(&s, "script /nonexistent/file", "No such file");
	assert_int_equal(say(&s, ""), 0);
	assert_int_equal(say(&s, "   # unlink leaf-01:9"), 0);
	assert_int_equal(double_link_state(s.w.d, LEAF1, 9), TOPO_INIT);
	said_fini(&s);
}

static void help_has_a_line_for_each_command(void **state)
{
	static const char *const names[] = { "\n  unlink ", "\n  packet ", "\n  lose ", "\n  node ",
					     "\n  at ",	    "\n  slow ",   "\n  stuck " };
	struct said s;

	said_init(&s, NULL);
	assert_int_equal(say(&s, "help"), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_non_null(strstr(s.text, names[i]));
	said_fini(&s);
}

/* ---- Looks ----------------------------------------------------------------------------------- */

static void a_packet_is_walked_and_dies_where_it_dies(void **state)
{
	struct said s;

	said_init(&s, NULL);
	double_world_bring_up(&s.w);
	assert_says(&s, "packet h1 h2",
		    "arrives after 4 hops at h2 mlx5_0:1\n"
		    "  h1 mlx5_0:1 -> leaf-01:1\n"
		    "  leaf-01:9 -> spine-01:1\n"
		    "  spine-01:2 -> leaf-02:9\n"
		    "  leaf-02:1 -> h2 mlx5_0:1\n");
	say(&s, "entry spine-01 2 255");
	assert_says(&s, "packet h1 h2", "dies after 2 hops at spine-01:1: the table has no entry");
	say(&s, "entry spine-01 2 1");
	assert_says(&s, "packet h1 h2", "loop");
	say(&s, "entry spine-01 2 2");
	say(&s, "unlink leaf-02:1");
	assert_says(&s, "packet h1 h2", "dies after 3 hops at leaf-02:1: the link is down");
	say(&s, "link leaf-02:1");
	assert_says(&s, "packet h1 h2", "the link is not Active");
	assert_says(&s, "packet h1 leaf-02", "arrives after 3 hops at leaf-02:0");
	assert_int_equal(double_drops(s.w.d)->dead_link, 0); /* it only looked */
	said_fini(&s);
}

static void tables_and_ports_are_dumped(void **state)
{
	struct said s;

	said_init(&s, NULL);
	double_world_bring_up(&s.w);
	assert_says(&s, "dump lft spine-01", "LinearFDBTop 5\n1: 1\n2: 2\n3: 1\n4: 2\n5: 0\n");
	assert_says(&s, "dump ports leaf-01", "9: Active 4xXDR to spine-01:1\n");
	double_grow_mft(s.w.d, SPINE);
	double_flip_mft(s.w.d, SPINE, 0xc001, 2);
	assert_says(&s, "dump mft spine-01", "0xc001: 2\n");
	say(&s, "forget spine-01 mft");
	assert_says(&s, "dump mft spine-01", "");
	assert_int_equal(s.size, 0);
	say(&s, "forget spine-01 lft");
	assert_says(&s, "packet h1 h2", "no entry");
	assert_says(&s, "count leaf-01:9 symbol_errors 12", "");
	assert_says(&s, "dump counters leaf-01", "9: symbol_errors 12\n");
	said_fini(&s);
}

static void a_load_is_shown_as_it_goes(void **state)
{
	struct said s;

	said_init(&s, NULL);
	double_world_bring_up(&s.w);
	assert_says(&s, "load pair h1 h2",
		    "flows 1, without a way 0; Gb/s wanted 400.0, carried 100.0;");
	assert_says(&s, "load shift 1 10%",
		    "flows 2, without a way 0; Gb/s wanted 50.0, carried 50.0;");
	say(&s, "unlink leaf-02:9");
	assert_says(&s, "load", "flows 2, without a way 2; Gb/s wanted 50.0, carried 0.0");
	assert_complains(&s, "load shift", "no number");
	assert_complains(&s, "load swift 3", "none of shift");
	say(&s, "load off");
	assert_says(&s, "load", "flows 0");
	said_fini(&s);
}

/* ---- Time ------------------------------------------------------------------------------------ */

static void a_script_keeps_its_times(void **state)
{
	struct said s;
	char err[256] = "", *log = NULL;
	size_t size = 0;
	FILE *out;

	said_init(&s, NULL);
	double_world_bring_up(&s.w);
	sim_control_free(s.c);
	s.c = sim_control_new(s.w.d); /* the clock begins */
	out = open_memstream(&log, &size);
	sim_control_set_log(s.c, out);
	assert_int_equal(sim_control_script_text(s.c, "day",
						 "# a cable\n"
						 "at 2.5s unlink leaf-01:9  # falls\n"
						 "\n"
						 "at 1s hang leaf-02\n"
						 "mum leaf-01\n"
						 "at 3s link leaf-01:9\n"
						 "at 4s packet h1 h2",
						 err, sizeof(err)),
			 0);
	assert_int_equal(double_link_state(s.w.d, LEAF1, 9), TOPO_ACTIVE);
	loop_run(s.w.loop);
	assert_int_equal(double_link_state(s.w.d, LEAF1, 9), TOPO_INIT);
	sim_control_set_log(s.c, NULL);
	fclose(out);
	assert_string_equal(log, "1.000000 hang leaf-02\n"
				 "2.500000 unlink leaf-01:9  # falls\n"
				 "3.000000 link leaf-01:9\n"
				 "4.000000 packet h1 h2\n"
				 "dies after 1 hops at leaf-01:9: the link is not Active\n"
				 "  h1 mlx5_0:1 -> leaf-01:1\n");
	free(log);
	assert_int_equal(
		sim_control_script_text(s.c, "day", "hang leaf-01\nhang it\n", err, sizeof(err)),
		-EINVAL);
	assert_memory_equal(err, "day:2: error: hang: ", 20);
	said_fini(&s);
}

static void a_flap_is_so_many_falls(void **state)
{
	struct said s;

	said_init(&s, NULL);
	double_world_bring_up(&s.w);
	assert_int_equal(say(&s, "flap leaf-02:9 5 100ms"), 0);
	loop_run(s.w.loop);
	assert_int_equal(double_link_state(s.w.d, LEAF2, 9), TOPO_INIT);
	assert_int_equal(s.w.traps,
			 5 * 3); /* the spine's; the leaf's have a way when the link is up */
	said_fini(&s);
}

/* ---- A run is the same each time ------------------------------------------------------------- */

struct trace {
	io_recv_fn *recv;
	void *arg;
	struct loop *loop;
	FILE *out;
};

static void trace_recv(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct trace *t = arg;

	fprintf(t->out, "%llu %u %zu", (unsigned long long)loop_now_us(t->loop), from->lid, len);
	for (size_t i = 0; i < len; i++)
		fprintf(t->out, "%02x", i >= 8 && i < 16 ? 0 : mad[i]); /* TIDs begin anywhere */
	fputc('\n', t->out);
	t->recv(t->arg, from, mad, len);
}

/* Everything that arrived at h1, and when, of a bad day; to be freed. */
static char *bad_day(uint64_t seed)
{
	static const char script[] =
		"lose leaf-01:9 20%\nreorder leaf-02:9 30%\nduplicate leaf-02:9 30%\n"
		"lie spine-01 20%\nslow leaf-02 1ms\n"
		"at 50ms flap leaf-02:1 3 40ms\nat 200ms reboot leaf-02\n"
		"at 300ms lose leaf-01:9 60% one-way\nat 900ms mend\n";
	const struct double_conf conf = { .seed = seed, .device_us = 20, .trap_repeats = 3 };
	struct trace t;
	struct said s;
	char *text = NULL, err[128];
	size_t size = 0;

	said_init(&s, &conf);
	double_world_bring_up(&s.w);
	t = (struct trace){ .loop = s.w.loop, .out = open_memstream(&text, &size) };
	t.recv = double_io(s.w.d)->recv;
	t.arg = double_io(s.w.d)->arg;
	double_io(s.w.d)->recv = trace_recv;
	double_io(s.w.d)->arg = &t;
	assert_int_equal(sim_control_script_text(s.c, "bad-day", script, err, sizeof(err)), 0);
	for (unsigned i = 0; i < 40; i++) {
		double_world_get(&s.w, i % 2 ? &to_spine : &to_leaf2, WIRE_PORT_INFO, 1);
		double_world_get(&s.w, &to_h2, WIRE_NODE_DESC, 0);
	}
	fclose(t.out);
	said_fini(&s);
	return text;
}

static void the_same_seed_and_script_give_the_same_run(void **state)
{
	char *one = bad_day(7), *again = bad_day(7), *other = bad_day(8);

	assert_true(strlen(one) > 10000);
	assert_string_equal(one, again);
	assert_string_not_equal(one, other);
	free(one);
	free(again);
	free(other);
}

static void writes_to_tables_are_kept_and_judged(void **state)
{
	struct said s;

	said_init(&s, NULL);
	assert_complains(&s, "sequence", "sequence begin");
	assert_complains(&s, "sequence end", "not begin");
	assert_says(&s, "sequence begin", "");
	assert_says(&s, "sequence", "\"writes\": 0, \"dark\": 0");
	said_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_to_tables_are_kept_and_judged),
		cmocka_unit_test(cables_are_pulled_and_plugged),
		cmocka_unit_test(nodes_go_off_and_come_back_with_nothing),
		cmocka_unit_test(a_port_gets_and_loses_capabilities),
		cmocka_unit_test(switches_get_adaptive_routing_and_lose_it),
		cmocka_unit_test(faults_are_named_as_in_their_table),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(help_has_a_line_for_each_command),
		cmocka_unit_test(a_packet_is_walked_and_dies_where_it_dies),
		cmocka_unit_test(tables_and_ports_are_dumped),
		cmocka_unit_test(a_load_is_shown_as_it_goes),
		cmocka_unit_test(a_script_keeps_its_times),
		cmocka_unit_test(a_flap_is_so_many_falls),
		cmocka_unit_test(the_same_seed_and_script_give_the_same_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
