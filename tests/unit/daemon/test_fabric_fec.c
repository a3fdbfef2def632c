/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * PAM4 links live with symbols that error correction mends: that warns, and takes no transit away.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_world.h"

#define PASS_US (10 * SECOND_US)

static void corrected_symbols_warn_and_quarantine_nothing(void **state)
{
	const struct wire_perf_caps caps = { .fec = true };
	struct world w;
	unsigned port;
	guid_t leaf;

	world_init_stopped(&w, pod(1));
	w.conf.perf.interval_ms = PASS_US / 1000;
	assert_int_equal(w.conf.perf.action, CONF_QUARANTINE); /* the default */
	leaf = w.design->nodes[0].guid;
	port = uplink_of(w.design, 0);
	double_set_perf_caps(w.hw, leaf, &caps);
	start_fabric(&w);
	run_for(&w, 2 * PASS_US);
	for (unsigned i = 1; i <= 8; i++) {
		double_set_fec(w.hw, leaf, port, WIRE_FEC_SYMBOLS, i * 100000000000ull);
		run_for(&w, PASS_US);
	}
	assert_int_equal(status_number(&w, "health", "warned"), 1);
	assert_int_equal(status_number(&w, "health", "sick"), 0);
	assert_int_equal(status_number(&w, NULL, "links_quarantined"), 0);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(corrected_symbols_warn_and_quarantine_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
