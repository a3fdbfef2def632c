/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What is said to a simulated fabric about power, times, names and flash: links that train, devices
 * that boot, a power cut with its ills.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/double_own.h"
#include "tests/fabric/double_world.h"
#include "tests/lib/fabrics.h"
#include "tests/sim/control.h"

struct said {
	struct double_world w;
	struct sim_control *c;
	char *text; /* of the last line */
	size_t size;
};

static void said_init(struct said *s)
{
	*s = (struct said){ 0 };
	double_world_init(&s->w, NULL);
	s->c = sim_control_new(s->w.d);
	double_world_bring_up(&s->w);
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
	if (!strstr(s->text, part))
		fail_msg("%s: '%s' is not in: %s", line, part, s->text);
}

static void stop_cb(void *arg)
{
	loop_stop(arg);
}

static void wait_for(struct said *s, uint64_t us)
{
	struct loop_timer *timer = loop_timer_new(s->w.loop, stop_cb, s->w.loop);

	loop_timer_set(timer, us);
	loop_run(s->w.loop);
	loop_timer_free(timer);
}

static const struct dport *port_of(struct said *s, guid_t node, unsigned num)
{
	return double_port(s->w.d, node, num);
}

/* ---- Times ----------------------------------------------------------------------------------- */

static void a_link_trains_before_it_is_up(void **state)
{
	const struct dport *port;
	struct said s;

	said_init(&s);
	port = port_of(&s, LEAF1, 9);
	assert_int_equal(say(&s, "times train 1s 3s"), 0);
	assert_int_equal(say(&s, "unlink leaf-01:9"), 0);
	wait_for(&s, 1000);
	s.w.traps = 0;
	assert_int_equal(say(&s, "link leaf-01:9"), 0);
	assert_int_equal(port->info.state, TOPO_DOWN);
	assert_int_equal(port->info.phys_state, PHYS_TRAINING);
	assert_says(&s, "judge", "links training 1");
	wait_for(&s, 900000);
	assert_int_equal(port->info.state, TOPO_DOWN);
	assert_int_equal(s.w.traps, 0);
	wait_for(&s, 2200000);
	assert_int_equal(port->info.state, TOPO_INIT);
	assert_int_equal(port->peer->info.state, TOPO_INIT);
	assert_int_equal(s.w.traps, 2); /* one of each end */
	assert_int_equal(say(&s, "unlink leaf-01:9"), 0);
	assert_int_equal(say(&s, "link leaf-01:9"), 0);
	assert_int_equal(say(&s, "unlink leaf-01:9"), 0); /* before it was up */
	wait_for(&s, 4000000);
	assert_int_equal(port->info.phys_state, PHYS_POLLING);
	assert_complains(&s, "times train 3s 1s", "least");
	assert_complains(&s, "times often", "often");
	said_fini(&s);
}

static void a_switch_boots_as_long_as_hardware_does(void **state)
{
	const struct dport *port;
	struct said s;

	said_init(&s);
	port = port_of(&s, LEAF1, 9);
	assert_int_equal(say(&s, "times hardware"), 0);
	assert_int_equal(say(&s, "reboot spine-01"), 0);
	assert_int_equal(port->info.state, TOPO_DOWN);
	wait_for(&s, 59000000);
	assert_true(port->peer->node->off);
	assert_int_equal(say(&s, "node off spine-01"), 0); /* while it boots */
	wait_for(&s, 130000000);
	assert_true(port->peer->node->off);
	assert_int_equal(say(&s, "node on spine-01"), 0);
	wait_for(&s, 120000000);
	assert_false(port->peer->node->off);
	wait_for(&s, 3000000);
	assert_int_equal(port->info.state, TOPO_INIT);
	assert_int_equal(say(&s, "times none"), 0);
	assert_int_equal(say(&s, "reboot spine-01"), 0);
	assert_int_equal(port->info.state, TOPO_INIT);
	said_fini(&s);
}

/* ---- What devices do by themselves ----------------------------------------------------------- */

static void a_link_falls_to_one_lane_and_nobody_is_told(void **state)
{
	const struct dport *port;
	struct said s;

	said_init(&s);
	port = port_of(&s, LEAF1, 9);
	s.w.traps = 0;
	assert_int_equal(say(&s, "degrade leaf-01:9 1x"), 0);
	assert_int_equal(wire_port_info_lanes(&port->info), 1);
	assert_int_equal(wire_port_info_lanes(&port->peer->info), 1);
	assert_int_equal(say(&s, "degrade leaf-01:9 HDR"), 0);
	assert_int_equal(wire_port_info_speed(&port->info), TOPO_HDR);
	assert_int_equal(port->info.state, TOPO_ACTIVE);
	assert_false(port->node->si.port_state_change);
	assert_int_equal(say(&s, "degrade leaf-01:9 off"), 0);
	assert_int_equal(wire_port_info_lanes(&port->info), 4);
	assert_int_equal(wire_port_info_speed(&port->info), TOPO_XDR);
	loop_run(s.w.loop);
	assert_int_equal(s.w.traps, 0);
	assert_says(&s, "judge", "alive 2, dead 0");
	assert_complains(&s, "degrade leaf-01:9 3x", "neither a width");
	assert_complains(&s, "degrade leaf-01:2 1x", "no cable");
	said_fini(&s);
}

static void an_hca_has_the_lid_of_its_flash_after_power_on(void **state)
{
	struct said s;

	said_init(&s);
	assert_int_equal(say(&s, "judge mark"), 0);
	assert_int_equal(say(&s, "flash h2 77"), 0);
	assert_int_equal(port_of(&s, H2, 1)->info.lid, LID_H2);
	assert_int_equal(say(&s, "reboot h2"), 0);
	assert_int_equal(port_of(&s, H2, 1)->info.lid, 77);
	assert_says(&s, "judge", "lids_moved 0"); /* in Init it is the flash's */
	((struct dport *)port_of(&s, H2, 1))->info.state = TOPO_ARMED;
	assert_says(&s, "judge", "moved 2 -> 77: h2 mlx5_0:1");
	assert_int_equal(say(&s, "flash h2 off"), 0);
	assert_int_equal(say(&s, "reboot h2"), 0);
	assert_int_equal(port_of(&s, H2, 1)->info.lid, 0);
	assert_complains(&s, "flash leaf-01:9 3", "is a switch");
	said_fini(&s);
}

static void a_device_is_renamed_and_nobody_is_told(void **state)
{
	struct said s;

	said_init(&s);
	s.w.traps = 0;
	assert_int_equal(say(&s, "rename h2 \"h1 mlx5_0\\nx\\xff\""), 0);
	assert_int_equal(double_world_get(&s.w, &to_h2, WIRE_NODE_DESC, 0), MAD_OK);
	assert_string_equal((const char *)s.w.data, "h1 mlx5_0\nx\xff");
	assert_int_equal(s.w.traps, 0);
	assert_int_equal(say(&s, "reboot h2"), 0); /* its name here stays */
	said_fini(&s);
}

static void attributes_are_dropped_alone(void **state)
{
	struct said s;

	said_init(&s);
	assert_int_equal(say(&s, "drop spine-01 PortInfo set"), 0);
	assert_int_equal(say(&s, "drop leaf-02 nodeinfo"), 0);
	assert_int_equal(say(&s, "drop leaf-02 0x12"), 0);
	assert_int_equal(double_world_get(&s.w, &to_spine, WIRE_PORT_INFO, 1), MAD_OK);
	assert_int_equal(double_world_set(&s.w, &to_spine, WIRE_PORT_INFO, 1, s.w.data),
			 MAD_TIMEOUT);
	assert_int_equal(double_world_get(&s.w, &to_leaf2, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(double_world_get(&s.w, &to_leaf2, WIRE_SWITCH_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(double_world_get(&s.w, &to_leaf2, WIRE_PORT_INFO, 1), MAD_OK);
	assert_int_equal(say(&s, "drop leaf-02 NodeInfo off"), 0);
	assert_int_equal(double_world_get(&s.w, &to_leaf2, WIRE_NODE_INFO, 0), MAD_OK);
	assert_int_equal(double_world_get(&s.w, &to_leaf2, WIRE_SWITCH_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(say(&s, "mend"), 0);
	assert_int_equal(double_world_get(&s.w, &to_leaf2, WIRE_SWITCH_INFO, 0), MAD_OK);
	assert_complains(&s, "drop leaf-02 Nonsense", "Nonsense");
	assert_complains(&s, "drop leaf-02 LFT sometimes", "sometimes");
	said_fini(&s);
}

static void change_vls(struct wire_port_info *info, unsigned value)
{
	info->op_vls = (uint8_t)value;
}

static void clear_violations(struct wire_port_info *info, unsigned value)
{
	info->pkey_violations = (uint16_t)value;
}

static void strict_devices_do_as_iba_has_it(void **state)
{
	struct dport *port;
	struct said s;

	said_init(&s);
	port = double_port(s.w.d, LEAF2, 9);
	port->info.pkey_violations = 7;
	assert_int_equal(double_world_change(&s.w, &to_leaf2, 9, clear_violations, 0), MAD_OK);
	assert_int_equal(port->info.pkey_violations, 7);
	assert_int_equal(say(&s, "strict on"), 0);
	assert_int_equal(double_world_change(&s.w, &to_leaf2, 9, clear_violations, 0), MAD_OK);
	assert_int_equal(port->info.pkey_violations, 0);
	assert_int_equal(double_world_change(&s.w, &to_leaf2, 9, change_vls, 2), MAD_STATUS);
	assert_int_equal(double_world_change(&s.w, &to_leaf2, 9, change_mtu, 3), MAD_STATUS);
	assert_int_equal(double_world_change(&s.w, &to_leaf2, 9, change_mtu, 4), MAD_OK);

	port->info.state = TOPO_ARMED; /* the far end is Active */
	assert_int_equal(double_trace_data(s.w.d, H1, 1, LID_H2), -ENOTCONN);
	assert_int_equal(port->info.state, TOPO_ARMED); /* who only looks changes nothing */
	double_inject(s.w.d, H1, 1, &(struct io_addr){ .lid = LID_H2, .qp = 1 },
		      (uint8_t[WIRE_MAD_SIZE]){ 1, WIRE_PERF, 1, WIRE_GET }, WIRE_MAD_SIZE, NULL,
		      NULL);
	loop_run(s.w.loop);
	assert_int_equal(port->info.state, TOPO_ACTIVE);

	for (unsigned n = 1; n <= 4; n++)
		if (double_port(s.w.d, SPINE, n)->peer)
			double_cut(s.w.d, SPINE, n);
	assert_int_equal(say(&s, "reboot spine-01"), 0);
	assert_true(double_node(s.w.d, SPINE)->si.port_state_change);
	assert_int_equal(say(&s, "strict off"), 0);
	assert_int_equal(say(&s, "reboot spine-01"), 0);
	assert_false(double_node(s.w.d, SPINE)->si.port_state_change);
	said_fini(&s);
}

static void a_repress_needs_the_m_key_where_devices_are_strict(void **state)
{
	static const char *const words[] = { "strict off", "strict on" };

	for (unsigned strict = 0; strict < 2; strict++) {
		struct wire_mad repress = { .mgmt_class = WIRE_SMI_LID,
					    .class_version = 1,
					    .method = WIRE_TRAP_REPRESS,
					    .attr_id = WIRE_NOTICE };
		uint8_t mad[WIRE_MAD_SIZE] = { 0 };
		struct said s;

		said_init(&s);
		s.w.d->conf.trap_repeats = 3;
		assert_int_equal(say(&s, words[strict]), 0);
		double_hold_mkey(s.w.d, LEAF1, 0, 0x77, 1, 0);
		double_trap(s.w.d, LEAF1, 128, 0);
		wait_for(&s, 1000);
		repress.tid = s.w.heard.tid;
		wire_mad_encode(&repress, mad);
		double_inject(s.w.d, H2, 1, &(struct io_addr){ .lid = LID_LEAF1 }, mad, sizeof(mad),
			      NULL, NULL);
		wait_for(&s, 1000);
		assert_int_equal(double_node(s.w.d, LEAF1)->traps != NULL, strict);
		assert_int_equal(double_port(s.w.d, LEAF1, 0)->info.mkey_violations, strict);
		said_fini(&s);
	}
}

/* ---- The judge's words ----------------------------------------------------------------------- */

static void a_verdict_is_a_line_of_json(void **state)
{
	struct said s;

	said_init(&s);
	assert_says(&s, "judge --json",
		    "{\"pairs_dead\": 0, \"pairs_cut\": 0, \"lids_moved\": 0, \"pairs\": 2, "
		    "\"alive\": 2, \"dead\": 0, \"hcas\": 2, \"dark\": 0, ");
	assert_says(&s, "judge --json", "\"from\": null, \"to\": null, \"cycle\": null}\n");
	assert_int_equal(say(&s, "entry spine-01 2 255"), 0);
	assert_says(&s, "judge", "alive 1, dead 1");
	assert_says(&s, "judge", "dead: packet 0x0000000000000110:1 0x0000000000000120:1\n");
	assert_says(&s, "packet 0x0000000000000110:1 0x0000000000000120:1", "dies");
	assert_says(&s, "judge --json 1s", "\"from\": \"0x0000000000000110:1\"");
	assert_complains(&s, "judge soon", "no time");
	assert_complains(&s, "judge 1s often", "often");
	assert_says(&s, "judge 0s h1", "pairs 2, alive 1, dead 1");
	assert_int_equal(say(&s, "unlink h1"), 0);
	assert_says(&s, "judge 0s h1", "pairs 0, alive 0, dead 0");
	assert_says(&s, "judge", "pairs_dead 0 pairs_cut 2 lids_moved 0 loops 0 cycles 0\n");
	said_fini(&s);
}

/* ---- Power cuts ------------------------------------------------------------------------------ */

struct pod {
	struct loop *loop;
	struct topo *topo;
	struct double_fabric *d;
	struct sim_control *c;
	char *text;
};

static void pod_init(struct pod *p)
{
	char err[128];

	*p = (struct pod){ .loop = loop_new_simulated(), .topo = pod(1) };
	p->d = double_new(p->loop, p->topo, p->topo->nodes[0].guid, 0, NULL);
	for (uint32_t i = 0; i < p->topo->nports; i++)
		if (p->topo->nodes[p->topo->ports[i].node].type == TOPO_CA)
			p->d->ports[i].info.lid = (uint16_t)(i + 1);
	p->c = sim_control_new(p->d);
	assert_int_equal(sim_control_script_text(p->c, "x", "judge mark", err, sizeof(err)), 0);
}

static int pod_say(struct pod *p, const char *line)
{
	size_t size;
	FILE *out;
	int status;

	free(p->text);
	out = open_memstream(&p->text, &size);
	status = sim_control_line(p->c, line, out);
	fclose(out);
	return status;
}

static void pod_fini(struct pod *p)
{
	sim_control_free(p->c);
	double_free(p->d);
	topo_unref(p->topo);
	loop_free(p->loop);
	free(p->text);
}

static unsigned count_off(const struct pod *p)
{
	unsigned off = 0;

	for (uint32_t i = 0; i < p->topo->nnodes; i++)
		off += p->d->nodes[i].off;
	return off;
}

static void all_devices_lose_power_and_come_back(void **state)
{
	struct pod p;
	char line[64];
	uint64_t began;

	pod_init(&p);
	began = loop_now_us(p.loop);
	snprintf(line, sizeof(line), "powercut 7 40 but 0x%llx",
		 (unsigned long long)p.d->nodes[p.topo->nnodes - 1].guid);
	assert_int_equal(pod_say(&p, line), 0);
	assert_int_equal(count_off(&p), p.topo->nnodes - 1);
	assert_false(p.d->nodes[p.topo->nnodes - 1].off);
	loop_run(p.loop);
	assert_int_equal(count_off(&p), 0);
	assert_in_range(loop_now_us(p.loop) - began, 30000000, 40000001);
	pod_fini(&p);
}

/* What a cut says it did, and which device came back when; to be freed. */
static char *cut_log(uint64_t seed)
{
	char *log = NULL, line[64];
	size_t size;
	FILE *out = open_memstream(&log, &size);
	struct pod p;

	pod_init(&p);
	sim_control_set_log(p.c, out);
	snprintf(line, sizeof(line), "powercut %llu 5 all", (unsigned long long)seed);
	assert_int_equal(pod_say(&p, line), 0);
	fputs(p.text, out);
	loop_run(p.loop);
	fclose(out);
	pod_fini(&p);
	return log;
}

static void a_power_cut_follows_from_its_seed(void **state)
{
	char *one = cut_log(3), *again = cut_log(3), *other = cut_log(4);

	assert_string_equal(one, again);
	assert_string_not_equal(one, other);
	free(one);
	free(again);
	free(other);
}

static void each_ill_has_its_victims(void **state)
{
	unsigned deaf = 0, named = 0, flashed = 0, elsewhere = 0;
	struct pod p;

	pod_init(&p);
	assert_int_equal(pod_say(&p, "powercut 5 10 deaf swapped factory flash flapping"), 0);
	for (uint32_t i = 0; i < p.topo->nnodes; i++) {
		deaf += p.d->nodes[i].no_sets;
		named += strcmp(p.d->nodes[i].desc, p.topo->nodes[i].desc) != 0;
	}
	for (uint32_t i = 0; i < p.topo->nports; i++) {
		const struct dport *port = &p.d->ports[i];

		flashed += port->flash_lid != 0 && port->flash_lid != i + 1;
		elsewhere += port->peer && port->peer != &p.d->ports[p.topo->ports[i].peer];
		assert_false(port->peer && port->cut);
	}
	assert_int_equal(deaf, 1);
	assert_true(named > 1);
	assert_int_equal(flashed, 12);
	assert_int_equal(elsewhere, 4);
	loop_run(p.loop);
	named = 0;
	for (uint32_t i = 0; i < p.topo->nnodes; i++)
		named += strcmp(p.d->nodes[i].desc, p.topo->nodes[i].desc) != 0;
	assert_int_equal(named, 1); /* the switch */
	assert_int_equal(pod_say(&p, "powercut 5 10 sad"), -EINVAL);
	assert_int_equal(pod_say(&p, "powercut 5 10 all but"), -EINVAL);
	assert_int_equal(pod_say(&p, "powercut 5 10 but nobody"), -EINVAL);
	assert_int_equal(count_off(&p), 0);
	pod_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_trains_before_it_is_up),
		cmocka_unit_test(a_switch_boots_as_long_as_hardware_does),
		cmocka_unit_test(a_link_falls_to_one_lane_and_nobody_is_told),
		cmocka_unit_test(an_hca_has_the_lid_of_its_flash_after_power_on),
		cmocka_unit_test(a_device_is_renamed_and_nobody_is_told),
		cmocka_unit_test(attributes_are_dropped_alone),
		cmocka_unit_test(strict_devices_do_as_iba_has_it),
		cmocka_unit_test(a_repress_needs_the_m_key_where_devices_are_strict),
		cmocka_unit_test(a_verdict_is_a_line_of_json),
		cmocka_unit_test(all_devices_lose_power_and_come_back),
		cmocka_unit_test(a_power_cut_follows_from_its_seed),
		cmocka_unit_test(each_ill_has_its_victims),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
