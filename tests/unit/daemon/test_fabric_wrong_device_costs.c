/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What devices that refuse Sets may cost, in simulated time: a switch that executes no Set and an
 * HCA that rejects them, both at once. The same faults are made in a fabric without them, and the
 * figures compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_world.h"

#define MINUTES	   10
#define FAULTY	   2 /* devices */
#define CUTS	   8
#define DAMAGED	   48
#define PATIENCE_S 600

struct costs {
	double fault_ms, audit_s; /* means */
	uint64_t smps;		  /* in MINUTES, without those of the audit */
};

static guid_t guid_of(const struct world *w, uint32_t node)
{
	return w->design->nodes[node].guid;
}

static uint32_t faulty_spine(const struct world *w)
{
	uint32_t sw = w->design->nswitches - 1;

	while (w->design->nodes[sw].level != 1)
		sw--;
	return sw;
}

/* Each is sent a Set once it is faulty; healthy devices are sent the same. */
static void begin(struct world *w, bool faulty)
{
	uint32_t spine;

	world_init_stopped(w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	w->conf.perf.interval_ms = 0;
	w->conf.audit.rate = 1;
	start_fabric(w);
	run_for(w, 60 * SECOND_US);
	spine = faulty_spine(w);
	double_set_no_sets(w->hw, guid_of(w, spine), faulty);
	double_set_refuses(w->hw, guid_of(w, w->design->nswitches + 9), faulty);
	w->conf.ports.subnet_timeout--;
	fabric_configure(w->fabric, &w->conf);
	double_cut(w->hw, guid_of(w, spine), 1);
	run_for(w, 5 * SECOND_US);
	double_join(w->hw, guid_of(w, spine), 1);
	run_for(w, 180 * SECOND_US);
	assert_true(is_up(w));
	assert_int_equal(count_alerts(w, "", ""), faulty ? FAULTY : 0);
}

static uint64_t idle_smps(struct world *w)
{
	uint64_t before = (uint64_t)status_number(w, NULL, "smps_sent");

	double_sent_reset(w->hw);
	run_for(w, MINUTES * 60 * SECOND_US);
	return (uint64_t)status_number(w, NULL, "smps_sent") - before -
	       double_sent(w->hw, WIRE_GET, WIRE_LFT) - double_sent(w->hw, WIRE_GET, WIRE_MFT);
}

static double fault_ms(struct world *w)
{
	double sum = 0;

	for (unsigned i = 0; i < CUTS; i++) {
		guid_t leaf = guid_of(w, i % 4);
		unsigned num = uplink_of(w->design, i % 4);

		run_for(w, 2 * SECOND_US + i * 370000);
		double_cut(w->hw, leaf, num);
		run_for(w, 5 * SECOND_US);
		sum += status_number(w, "last_fault", "detected_to_programmed_ms");
		double_join(w->hw, leaf, num);
		run_for(w, 5 * SECOND_US);
	}
	return sum / CUTS;
}

static double audit_s(struct world *w)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < DAMAGED; i++) {
		guid_t leaf = guid_of(w, 2 * (i % 6));
		uint16_t lid = lid_of(w, 40 - i % 6);
		uint8_t right = double_lft(w->hw, leaf, lid);
		unsigned s = 0;

		run_for(w, (20 + 7 * (i % 12)) * SECOND_US);
		double_set_lft(w->hw, leaf, lid, 255);
		for (; s < PATIENCE_S && double_lft(w->hw, leaf, lid) != right; s++)
			run_for(w, SECOND_US);
		assert_true(s < PATIENCE_S);
		sum += s;
	}
	return (double)sum / DAMAGED;
}

static struct costs costs_of(bool faulty)
{
	struct costs c;
	struct world w;

	begin(&w, faulty);
	c.smps = idle_smps(&w);
	c.fault_ms = fault_ms(&w);
	c.audit_s = audit_s(&w);
	assert_int_equal(count_alerts(&w, "", ""), faulty ? FAULTY : 0);
	world_fini(&w);
	return c;
}

static void wrong_devices_cost_the_others_next_to_nothing(void **state)
{
	struct costs healthy = costs_of(false), faulty = costs_of(true);

	print_message("a fault elsewhere %.3f ms, with faulty devices %.3f; %u min idle %llu SMPs, "
		      "with them %llu; an entry is audited in %.1f s, with them %.1f\n",
		      healthy.fault_ms, faulty.fault_ms, MINUTES, (unsigned long long)healthy.smps,
		      (unsigned long long)faulty.smps, healthy.audit_s, faulty.audit_s);
	assert_true(healthy.fault_ms > 0);
	assert_true(faulty.fault_ms <= 1.1 * healthy.fault_ms);
	assert_true(faulty.smps <= healthy.smps + FAULTY * MINUTES);
	assert_true(faulty.audit_s <= 1.1 * healthy.audit_s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_devices_cost_the_others_next_to_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
