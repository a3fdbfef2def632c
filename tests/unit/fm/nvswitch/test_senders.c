/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who may send kernel logs, and what is counted of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "fm/nvswitch/intake_logs.h"

static enum sender_verdict verdict_of(struct senders *s, const char *text)
{
	struct sender_address address;

	assert_true(sender_address_parse(&address, text));
	return senders_find(s, &address, 0)->verdict;
}

static void a_configured_list_is_exact(void **state)
{
	struct senders s = { 0 };
	char err[128];

	senders_know_text(&s, "10.9.0.1");
	assert_true(senders_allow(&s, "10.0.0.0/13, 192.168.1.5 fd00::/8", err, sizeof(err)));
	assert_int_equal(verdict_of(&s, "10.7.255.255"), SENDER_LISTED);
	assert_int_equal(verdict_of(&s, "10.8.0.0"), SENDER_REFUSED);
	assert_int_equal(verdict_of(&s, "10.9.0.1"), SENDER_REFUSED); /* known, and not listed */
	assert_int_equal(verdict_of(&s, "192.168.1.5"), SENDER_LISTED);
	assert_int_equal(verdict_of(&s, "192.168.1.4"), SENDER_REFUSED);
	assert_int_equal(verdict_of(&s, "fdff::1"), SENDER_LISTED);
	assert_int_equal(verdict_of(&s, "fe00::1"), SENDER_REFUSED);
	assert_int_equal(verdict_of(&s, "127.0.0.1"), SENDER_REFUSED);
	assert_true(senders_allow(&s, "any", err, sizeof(err)));
	assert_int_equal(verdict_of(&s, "8.8.8.8"), SENDER_LISTED);
	senders_fini(&s);
}

static void without_a_list_known_addresses_may(void **state)
{
	struct senders s = { 0 };

	senders_know_text(&s, "10.9.0.1");
	senders_know_text(&s, "not an address");
	assert_int_equal(verdict_of(&s, "10.9.0.1"), SENDER_ALLOWED);
	assert_int_equal(verdict_of(&s, "127.0.0.1"), SENDER_ALLOWED);
	assert_int_equal(verdict_of(&s, "::1"), SENDER_ALLOWED);
	assert_int_equal(verdict_of(&s, "10.9.0.2"), SENDER_NEW); /* the resolver is asked */
	senders_fini(&s);
}

static void a_wrong_list_is_named_and_changes_nothing(void **state)
{
	static const char *const wrong[] = { "10.0.0.0/33", "10.0.0.0/",  "10.0.0.0/-1",
					     "host",	    "fd00::/129", "10.0.0.1,x/8" };
	struct senders s = { 0 };
	char err[128];

	assert_true(senders_allow(&s, "10.0.0.1", err, sizeof(err)));
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_false(senders_allow(&s, wrong[i], err, sizeof(err)));
		assert_non_null(strstr(err, "not an address"));
	}
	assert_int_equal(verdict_of(&s, "10.0.0.1"), SENDER_LISTED);
	senders_fini(&s);
}

static void forged_addresses_push_nobody_out_who_may(void **state)
{
	struct senders s = { 0 };
	struct sender_address address;
	json_t *totals;

	senders_know_text(&s, "10.9.0.1");
	assert_true(sender_address_parse(&address, "10.9.0.1"));
	senders_find(&s, &address, 0)->understood = 7;
	for (unsigned i = 0; i < 100000; i++) {
		char text[32];

		snprintf(text, sizeof(text), "11.%u.%u.%u", i >> 16, i >> 8 & 255, i & 255);
		assert_true(sender_address_parse(&address, text));
		senders_find(&s, &address, i + 1)->refused++;
	}
	assert_true(sender_address_parse(&address, "10.9.0.1"));
	assert_int_equal(senders_find(&s, &address, 200000)->understood, 7);
	totals = senders_totals(&s);
	assert_int_equal(json_integer_value(json_object_get(totals, "refused")), 100000);
	assert_int_equal(json_integer_value(json_object_get(totals, "understood")), 7);
	json_decref(totals);
	senders_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_configured_list_is_exact),
		cmocka_unit_test(without_a_list_known_addresses_may),
		cmocka_unit_test(a_wrong_list_is_named_and_changes_nothing),
		cmocka_unit_test(forged_addresses_push_nobody_out_who_may),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
