/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What fmd wrote to devices, and another changed behind its back: found within one pass of the
 * audit, restored, told by one event; nothing else is written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/fabric/request.h"
#include "tests/lib/fabric_world.h"

#define PASS_US	  (15 * SECOND_US)
#define MINUTE_US (60 * SECOND_US)

struct hand {
	struct world w;
	guid_t host, leaf, spine; /* not the management node's */
	unsigned to_host, to_spine;
	unsigned sets, told;
};

static void set_cb(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	((struct hand *)arg)->sets++;
}

/* A fabric with the audit on; lanes: with QoS; partitions: with these, enforced. */
static void begin(struct hand *h, bool lanes, bool wildcards, bool partitions)
{
	const struct double_conf conf = { .arb_cap = lanes ? 8 : 0,
					  .wildcards = wildcards,
					  .state_table = !wildcards };
	struct world *w = &h->w;
	const struct topo_port *peer;
	struct topo *t;

	*h = (struct hand){ 0 };
	world_init_stopped(w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	t = w->design;
	double_free(w->hw);
	w->hw = double_new(w->loop, t, t->nodes[t->nswitches].guid, 1, &conf);
	w->conf.audit.rate = 4000;
	w->conf.audit.after_ms = 1000;
	w->conf.qos.on = lanes;
	if (partitions) {
		FILE *out;

		snprintf(w->conf.partition.file, sizeof(w->conf.partition.file),
			 "%s/partitions.conf", w->state_dir);
		out = fopen(w->conf.partition.file, "w");
		fprintf(out,
			"Default=0x7fff, defmember=full: ALL;\nblue=0x5, defmember=full: ALL;\n");
		fclose(out);
		w->conf.partition.enforce = CONF_ENFORCE_IN | CONF_ENFORCE_OUT;
	}
	h->host = t->nodes[t->nswitches + 17].guid;
	peer = topo_peer(t, topo_port(t, t->nswitches + 17, 1));
	h->leaf = t->nodes[peer->node].guid;
	h->to_host = peer->num;
	for (h->to_spine = 1;; h->to_spine++) {
		const struct topo_port *up = topo_peer(t, topo_port(t, peer->node, h->to_spine));

		if (up && up->node < t->nswitches) {
			h->spine = t->nodes[up->node].guid;
			break;
		}
	}
	start_fabric(w);
	run_for(w, MINUTE_US);
	assert_true(is_up(w));
	double_on_set(w->hw, set_cb, h);
}

static void end(struct hand *h)
{
	double_on_set(h->w.hw, NULL, NULL);
	if (h->w.conf.partition.file[0])
		unlink(h->w.conf.partition.file);
	world_fini(&h->w);
}

static unsigned told(const struct hand *h)
{
	return count_logged(&h->w, "audit", "");
}

/* A value is written behind fmd's back, from which on events and Sets count. */
static void change(struct hand *h)
{
	h->told = told(h);
	h->sets = 0;
}

static int64_t number(const json_t *hex)
{
	return strtoll(json_string_value(hex), NULL, 16);
}

/* One pass is over: the change is told once, with both values, and took `sets` Sets at most. */
static void assert_restored(const struct hand *h, const char *attribute, const char *field,
			    int64_t found, int64_t wanted, unsigned sets)
{
	const struct world *w = &h->w;
	json_t *events = fabric_events(w->fabric, 1000), *event, *last = NULL;
	size_t i;

	json_array_foreach (events, i, event)
		if (!strcmp(json_string_value(json_object_get(event, "kind")), "audit"))
			last = event;
	assert_int_equal(told(h), h->told + 1);
	assert_string_equal(json_string_value(json_object_get(last, "attribute")), attribute);
	assert_string_equal(json_string_value(json_object_get(last, "field")), field);
	if (found >= 0) {
		assert_int_equal(number(json_object_get(last, "found")), found);
		assert_int_equal(number(json_object_get(last, "wanted")), wanted);
	}
	json_decref(events);
	assert_in_range(h->sets, 1, sets);
	assert_int_equal(count_alerts(w, "", ""), 0);
	assert_int_equal(double_ports_not_active(w->hw), 0);
	assert_int_equal(count_logged(w, "link-down", ""), 0);
	assert_true(is_up(w));
}

enum { HOST = 1, PORT0 = 2, TO_HOST = 4, TO_SPINE = 8, ALL_KINDS = 15 };

static const struct {
	const char *name;
	size_t at, bytes;
	uint64_t value;
	unsigned kinds;
} fields[] = {
#define FIELD(name, member, value, kinds)                                                          \
	{                                                                                          \
		name, offsetof(struct wire_port_info, member),                                     \
			sizeof(((struct wire_port_info *)0)->member), value, kinds                 \
	}
	FIELD("LID", lid, 1234, HOST | PORT0),
	FIELD("MasterSMLID", sm_lid, 77, HOST | PORT0),
	FIELD("LMC", lmc, 1, HOST),
	FIELD("GidPrefix", gid_prefix, 0xfec0000000000000, HOST | PORT0),
	FIELD("MasterSMSL", sm_sl, 5, HOST | PORT0),
	FIELD("SubnetTimeOut", subnet_timeout, 7, HOST | PORT0),
	FIELD("NeighborMTU", neighbor_mtu, 1, HOST | TO_HOST | TO_SPINE),
	FIELD("OperationalVLs", op_vls, 1, HOST | TO_HOST | TO_SPINE),
	FIELD("VLHighLimit", vl_high_limit, 99, HOST | TO_HOST | TO_SPINE),
	FIELD("HOQLife", hoq_life, 3, TO_HOST | TO_SPINE),
	FIELD("VLStallCount", vl_stall, 1, TO_HOST | TO_SPINE),
	FIELD("PartitionEnforcementInbound", pkey_enforce_in, 0, TO_HOST),
	FIELD("PartitionEnforcementOutbound", pkey_enforce_out, 0, TO_HOST),
#undef FIELD
};

static void each_field_of_port_info_of_each_kind_of_port_is_restored(void **state)
{
	struct hand h;

	begin(&h, true, false, true);
	for (unsigned f = 0; f < sizeof(fields) / sizeof(fields[0]); f++)
		for (unsigned kind = HOST; kind <= TO_SPINE; kind *= 2) {
			guid_t node = kind == HOST ? h.host : h.leaf;
			unsigned num = kind == HOST	 ? 1
				       : kind == PORT0	 ? 0
				       : kind == TO_HOST ? h.to_host
							 : h.to_spine;
			struct wire_port_info *info = double_change_port(h.w.hw, node, num);
			const struct wire_port_info was = *info;

			if (!(fields[f].kinds & kind))
				continue;
			memcpy((uint8_t *)info + fields[f].at, &fields[f].value, fields[f].bytes);
			assert_memory_not_equal(info, &was, sizeof(was));
			change(&h);
			run_for(&h.w, PASS_US);
			assert_memory_equal((uint8_t *)info + fields[f].at,
					    (const uint8_t *)&was + fields[f].at, fields[f].bytes);
			assert_restored(&h, "PortInfo", fields[f].name, -1, -1, 1);
		}
	end(&h);
}

/* As another manager does: both ends agree, and the link is not bounced. */
static void mtu_changed_at_both_ends_of_a_link_is_restored(void **state)
{
	struct hand h;

	begin(&h, false, false, false);
	double_change_port(h.w.hw, h.host, 1)->neighbor_mtu = 1;
	double_change_port(h.w.hw, h.leaf, h.to_host)->neighbor_mtu = 1;
	run_for(&h.w, PASS_US);
	assert_int_equal(double_port_info(h.w.hw, h.host, 1)->neighbor_mtu, 5);
	assert_int_equal(double_port_info(h.w.hw, h.leaf, h.to_host)->neighbor_mtu, 5);
	assert_int_equal(told(&h), 2);
	assert_int_equal(h.sets, 2);
	assert_int_equal(double_ports_not_active(h.w.hw), 0);
	assert_int_equal(count_logged(&h.w, "link-down", ""), 0);
	end(&h);
}

static void an_emptied_p_key_table_is_restored(void **state)
{
	for (unsigned partitions = 0; partitions < 2; partitions++)
		for (unsigned at_switch = 0; at_switch <= partitions; at_switch++) {
			struct hand h;
			uint16_t *keys, was[32];
			guid_t node;
			unsigned num, at = 0;

			begin(&h, false, false, partitions);
			node = at_switch ? h.leaf : h.host;
			num = at_switch ? h.to_host : 1;
			keys = double_change_pkeys(h.w.hw, node, num);
			memcpy(was, keys, sizeof(was));
			if (partitions)
				while ((was[at] & 0x7fff) != 5)
					at++;
			change(&h);
			if (partitions)
				keys[at] = 0;
			else
				memset(keys, 0, sizeof(was));
			run_for(&h.w, PASS_US);
			assert_memory_equal(double_change_pkeys(h.w.hw, node, num), was,
					    sizeof(was));
			assert_restored(&h, "P_KeyTable", "P_Key", 0, was[at], 1);
			end(&h);
		}
}

static void sl2vl_and_vl_arbitration_of_hosts_and_switches_are_restored(void **state)
{
	for (unsigned at_switch = 0; at_switch < 2; at_switch++)
		for (unsigned wildcards = 0; wildcards < 2; wildcards++) {
			unsigned num, nports;
			struct hand h;
			guid_t node;
			uint8_t *table;

			begin(&h, true, wildcards, false);
			node = at_switch ? h.leaf : h.host;
			num = at_switch ? h.to_host : 1;
			nports = h.w.design->nodes[topo_find(h.w.design, h.leaf)].nports;
			table = double_change_sl2vl(h.w.hw, node, num, at_switch);
			assert_int_equal(table[1], 0x23);
			change(&h);
			for (unsigned in = at_switch; in <= (at_switch ? nports : 0); in++)
				double_change_sl2vl(h.w.hw, node, num, in)[1] = 0x2f;
			run_for(&h.w, PASS_US);
			assert_int_equal(table[1], 0x23);
			assert_restored(&h, "SLtoVLMappingTable", "SL", 15, 3, nports);
			table = double_change_arb(h.w.hw, node, num, 2);
			change(&h);
			table[1] ^= 0x40;
			run_for(&h.w, PASS_US);
			assert_restored(&h, "VLArbitrationTable", "HighPriorityVLWeight",
					(table[0] & 15) << 8 | (table[1] ^ 0x40),
					(table[0] & 15) << 8 | table[1], 1);
			end(&h);
		}
}

static void one_input_ports_sl2vl_is_found_when_its_turn_comes(void **state)
{
	struct hand h;
	uint8_t *table;

	begin(&h, true, true, false);
	table = double_change_sl2vl(h.w.hw, h.leaf, h.to_host, 1);
	table[1] = 0x2f;
	run_for(&h.w, 12 * PASS_US);
	assert_int_equal(table[1], 0x23);
	assert_int_equal(told(&h), 1);
	end(&h);
}

static void nothing_is_written_or_told_where_nothing_differs(void **state)
{
	for (unsigned lanes = 0; lanes < 2; lanes++) {
		struct hand h;

		begin(&h, lanes, false, lanes);
		double_sent_reset(h.w.hw);
		run_for(&h.w, 2 * MINUTE_US);
		assert_int_equal(h.sets, 0);
		assert_int_equal(double_sent(h.w.hw, WIRE_SET, 0), 0);
		assert_int_equal(told(&h), 0);
		assert_true(double_sent(h.w.hw, WIRE_GET, WIRE_PORT_INFO) > 5000);
		assert_true(double_sent(h.w.hw, WIRE_GET, WIRE_PKEY_TABLE) > 500);
		assert_true(!lanes || double_sent(h.w.hw, WIRE_GET, WIRE_SL2VL) > 500);
		assert_true(!lanes || double_sent(h.w.hw, WIRE_GET, WIRE_VL_ARB) > 500);
		end(&h);
	}
}

/* The other tables are not there: after the first refusal nothing is asked again for them. */
static void what_a_device_does_not_have_is_not_asked_or_written(void **state)
{
	struct hand h;

	begin(&h, false, false, false);
	h.w.conf.qos.on = true;
	fabric_configure(h.w.fabric, &h.w.conf);
	run_for(&h.w, MINUTE_US);
	change(&h);
	double_sent_reset(h.w.hw);
	run_for(&h.w, 2 * MINUTE_US);
	assert_int_equal(h.sets, 0);
	assert_int_equal(double_sent(h.w.hw, 0, WIRE_SL2VL), 0);
	assert_int_equal(double_sent(h.w.hw, 0, WIRE_VL_ARB), 0);
	assert_int_equal(told(&h), 0);
	assert_int_equal(count_alerts(&h.w, "", ""), 0);
	end(&h);
}

/* Its firmware insists on less: two tries, then an alert with a try a minute, and no bounce. */
static void a_host_whose_firmware_insists_is_not_fought(void **state)
{
	for (unsigned vls = 0; vls < 2; vls++) {
		struct hand h;

		begin(&h, false, false, false);
		double_set_most(h.w.hw, h.host, 1, vls ? 0 : 3, vls ? 1 : 0);
		run_for(&h.w, PASS_US);
		assert_int_equal(h.sets, 1);
		assert_int_equal(count_alerts(&h.w, "not-held", ""), 1);
		assert_int_equal(count_alerts(&h.w, "", ""), 1);
		run_for(&h.w, 10 * MINUTE_US);
		assert_in_range(h.sets, 2, 13);
		assert_int_equal(told(&h), 1); /* that it was changed; the alert says the rest */
		assert_int_equal(count_logged(&h.w, "link-down", ""), 0);
		assert_int_equal(double_ports_not_active(h.w.hw), 0);
		assert_true(is_up(&h.w));
		double_set_most(h.w.hw, h.host, 1, 0, 0);
		run_for(&h.w, 2 * MINUTE_US);
		assert_int_equal(count_alerts(&h.w, "", ""), 0);
		end(&h);
	}
}

static void a_forwarding_entry_is_restored_and_told_with_what_it_was(void **state)
{
	struct hand h;
	uint16_t lid;
	uint8_t port;

	begin(&h, false, false, false);
	lid = lid_of(&h.w, 3);
	port = double_lft(h.w.hw, h.spine, lid);
	change(&h);
	double_set_lft(h.w.hw, h.spine, lid, 255);
	run_for(&h.w, PASS_US);
	assert_int_equal(double_lft(h.w.hw, h.spine, lid), port);
	assert_restored(&h, "LinearForwardingTable", "LID", 255, port, 100);
	end(&h);
}

/* By default, without a pass of all: LIDs and SM LIDs are read each two seconds. */
static void lid_and_sm_lid_are_restored_within_two_seconds(void **state)
{
	struct hand h;

	begin(&h, false, false, false);
	conf_default(&h.w.conf);
	snprintf(h.w.conf.state_dir, sizeof(h.w.conf.state_dir), "%s", h.w.state_dir);
	fabric_configure(h.w.fabric, &h.w.conf);
	run_for(&h.w, 3 * SECOND_US);
	for (unsigned what = 0; what < 2; what++) {
		struct wire_port_info *info = double_change_port(h.w.hw, h.host, 1);
		uint16_t lid = info->lid, sm_lid = info->sm_lid;

		change(&h);
		*(what ? &info->lid : &info->sm_lid) = 1234;
		run_for(&h.w, 2 * SECOND_US);
		assert_int_equal(info->lid, lid);
		assert_int_equal(info->sm_lid, sm_lid);
		assert_restored(&h, "PortInfo", what ? "LID" : "MasterSMLID", 1234,
				what ? lid : sm_lid, 1);
	}
	end(&h);
}

/* A sweep that somebody else asked for meets the change first, and no update follows it. */
static void what_a_sweep_meets_is_restored_as_well(void **state)
{
	struct hand h;

	begin(&h, false, false, false);
	for (unsigned what = 0; what < 2; what++) {
		guid_t node = what ? h.host : h.leaf;
		struct wire_port_info *info = double_change_port(h.w.hw, node, what);
		uint16_t sm_lid = info->sm_lid;

		change(&h);
		info->sm_lid = 1234;
		fabric_request_refresh(h.w.fabric, node, "a test");
		run_for(&h.w, PASS_US);
		assert_int_equal(info->sm_lid, sm_lid);
		assert_restored(&h, "PortInfo", "MasterSMLID", 1234, sm_lid, 1);
	}
	end(&h);
}

/* A request by LID has no way there yet, and would be waited for until it times out. */
static void what_a_cold_start_wrote_is_read_back_by_directed_routes(void **state)
{
	struct world w;

	world_init_stopped(&w, pod(4));
	w.conf.audit.rate = 16000;
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_equal(status_number(&w, NULL, "smps_timed_out"), 0);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_cold_start_wrote_is_read_back_by_directed_routes),
		cmocka_unit_test(mtu_changed_at_both_ends_of_a_link_is_restored),
		cmocka_unit_test(an_emptied_p_key_table_is_restored),
		cmocka_unit_test(sl2vl_and_vl_arbitration_of_hosts_and_switches_are_restored),
		cmocka_unit_test(one_input_ports_sl2vl_is_found_when_its_turn_comes),
		cmocka_unit_test(nothing_is_written_or_told_where_nothing_differs),
		cmocka_unit_test(what_a_device_does_not_have_is_not_asked_or_written),
		cmocka_unit_test(a_host_whose_firmware_insists_is_not_fought),
		cmocka_unit_test(a_forwarding_entry_is_restored_and_told_with_what_it_was),
		cmocka_unit_test(lid_and_sm_lid_are_restored_within_two_seconds),
		cmocka_unit_test(what_a_sweep_meets_is_restored_as_well),
		cmocka_unit_test(each_field_of_port_info_of_each_kind_of_port_is_restored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
