/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Devices that acknowledge a setting and do not hold it are named while they do, and not written
 * for ever.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_world.h"

#define MINUTE_US (60 * SECOND_US)

struct feint {
	struct world w;
	guid_t node;
	uint16_t attr_id;
	unsigned sets;
};

static void set_cb(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	struct feint *t = arg;

	t->sets += node == t->node && attr_id == t->attr_id;
}

static void feint_init(struct feint *t, bool spine, uint16_t attr_id)
{
	struct world *w = &t->w;
	uint32_t n;

	*t = (struct feint){ .attr_id = attr_id };
	world_init_stopped(w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	w->conf.audit.rate = 160;
	w->conf.audit.after_ms = 1000;
	for (n = 0; spine && w->design->nodes[n].level != 1; n++)
		;
	t->node = w->design->nodes[spine ? n : w->design->nswitches + 7].guid;
}

static void with_lanes(struct feint *t, bool wildcards)
{
	const struct double_conf conf = { .arb_cap = 8, .wildcards = wildcards };
	struct world *w = &t->w;

	double_free(w->hw);
	w->hw = double_new(w->loop, w->design, w->design->nodes[w->design->nswitches].guid, 1,
			   &conf);
	w->conf.qos.on = true;
}

static void begin(struct feint *t)
{
	double_on_set(t->w.hw, set_cb, t);
	start_fabric(&t->w);
	run_for(&t->w, MINUTE_US);
	assert_true(is_up(&t->w));
	assert_int_equal(count_alerts(&t->w, "", ""), 0);
}

static const char *name_of(const struct feint *t)
{
	return t->w.design->nodes[topo_find(t->w.design, t->node)].desc;
}

/* Of one device that feigns from a reload on, `ports` of which are meant. */
static void assert_alert_while_it_lasts(struct feint *t, unsigned ports)
{
	struct world *w = &t->w;

	double_set_feigns(w->hw, t->node, t->attr_id);
	fabric_configure(w->fabric, &w->conf);
	run_for(w, MINUTE_US);
	assert_true(is_up(w));
	assert_int_equal(count_alerts(w, "not-held", name_of(t)), ports);
	assert_int_equal(count_alerts(w, "", ""), ports);
	t->sets = 0;
	run_for(w, 3 * MINUTE_US);
	assert_in_range(t->sets, 1, 4 * ports);
	assert_int_equal(count_alerts(w, "not-held", name_of(t)), ports);
	double_set_feigns(w->hw, t->node, 0);
	run_for(w, 70 * SECOND_US);
	assert_int_equal(count_alerts(w, "", ""), 0);
	assert_true(is_up(w));
	t->sets = 0;
	run_for(w, 3 * MINUTE_US);
	assert_int_equal(t->sets, 0);
}

static void feint_fini(struct feint *t)
{
	double_on_set(t->w.hw, NULL, NULL);
	if (t->w.conf.partition.file[0])
		unlink(t->w.conf.partition.file);
	world_fini(&t->w);
}

static void port_info_of_a_host_is_reported(void **state)
{
	struct feint t;

	feint_init(&t, false, WIRE_PORT_INFO);
	begin(&t);
	t.w.conf.ports.subnet_timeout = 15;
	assert_alert_while_it_lasts(&t, 1);
	assert_int_equal(double_port_info(t.w.hw, t.node, 1)->subnet_timeout, 15);
	feint_fini(&t);
}

static void port_info_of_a_switch_is_reported(void **state)
{
	struct feint t;

	feint_init(&t, true, WIRE_PORT_INFO);
	begin(&t);
	t.w.conf.ports.hoq_life = 15;
	assert_alert_while_it_lasts(&t, 8);
	for (unsigned p = 1; p <= 8; p++)
		assert_int_equal(double_port_info(t.w.hw, t.node, p)->hoq_life, 15);
	feint_fini(&t);
}

static void p_key_table_of_a_host_is_reported(void **state)
{
	struct world *w;
	struct feint t;
	unsigned count;
	FILE *out;

	feint_init(&t, false, WIRE_PKEY_TABLE);
	w = &t.w;
	begin(&t);
	snprintf(w->conf.partition.file, sizeof(w->conf.partition.file), "%s/partitions.conf",
		 w->state_dir);
	out = fopen(w->conf.partition.file, "w");
	fprintf(out, "Default=0x7fff, defmember=full: ALL;\nblue=0x5, defmember=full: ALL;\n");
	fclose(out);
	assert_alert_while_it_lasts(&t, 1);
	assert_int_equal(double_pkeys(w->hw, t.node, 1, &count)[1], 0x8005);
	feint_fini(&t);
}

static void change_lanes(struct feint *t)
{
	struct qos_keys *q = &t->w.conf.qos;

	for (unsigned kind = 0; kind < QOS_KINDS; kind++) {
		strcpy(q->kind[kind].sl2vl, "0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3");
		strcpy(q->kind[kind].vlarb_low, "0:9,1:8,2:7");
	}
}

static void sl2vl_of_a_host_is_reported(void **state)
{
	struct feint t;

	feint_init(&t, false, WIRE_SL2VL);
	with_lanes(&t, false);
	begin(&t);
	change_lanes(&t);
	assert_alert_while_it_lasts(&t, 1);
	feint_fini(&t);
}

static void vl_arbitration_of_a_host_is_reported(void **state)
{
	struct feint t;

	feint_init(&t, false, WIRE_VL_ARB);
	with_lanes(&t, false);
	begin(&t);
	change_lanes(&t);
	assert_alert_while_it_lasts(&t, 1);
	assert_int_equal(double_arb(t.w.hw, t.node, 1, 0)[1], 9);
	feint_fini(&t);
}

static void sl2vl_of_a_switch_by_wildcard_is_reported(void **state)
{
	struct feint t;

	feint_init(&t, true, WIRE_SL2VL);
	with_lanes(&t, true);
	begin(&t);
	change_lanes(&t);
	assert_alert_while_it_lasts(&t, 8);
	for (unsigned p = 1; p <= 8; p++)
		assert_memory_equal(double_sl2vl(t.w.hw, t.node, p, 1), "\x01\x23\x01\x23", 4);
	feint_fini(&t);
}

static void life_time_of_a_switch_is_reported(void **state)
{
	struct feint t;

	feint_init(&t, true, WIRE_SWITCH_INFO);
	begin(&t);
	t.w.conf.ports.packet_life_time = 14;
	assert_alert_while_it_lasts(&t, 1);
	assert_int_equal(double_switch_info(t.w.hw, t.node)->life_time, 14);
	feint_fini(&t);
}

/* Once is somebody else's hand: it is set again, without an alert. */
static void a_setting_changed_once_is_set_again_without_an_event(void **state)
{
	struct world *w;
	struct feint t;

	feint_init(&t, false, WIRE_PORT_INFO);
	w = &t.w;
	begin(&t);
	w->conf.ports.subnet_timeout = 15;
	fabric_configure(w->fabric, &w->conf);
	run_for(w, SECOND_US / 20);
	assert_int_equal(double_port_info(w->hw, t.node, 1)->subnet_timeout, 15);
	double_change_port(w->hw, t.node, 1)->subnet_timeout = 18;
	run_for(w, MINUTE_US);
	assert_int_equal(count_logged(w, "alert", ""), 0);
	assert_int_equal(double_port_info(w->hw, t.node, 1)->subnet_timeout, 15);
	feint_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(port_info_of_a_host_is_reported),
		cmocka_unit_test(port_info_of_a_switch_is_reported),
		cmocka_unit_test(p_key_table_of_a_host_is_reported),
		cmocka_unit_test(sl2vl_of_a_host_is_reported),
		cmocka_unit_test(vl_arbitration_of_a_host_is_reported),
		cmocka_unit_test(sl2vl_of_a_switch_by_wildcard_is_reported),
		cmocka_unit_test(life_time_of_a_switch_is_reported),
		cmocka_unit_test(a_setting_changed_once_is_set_again_without_an_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
