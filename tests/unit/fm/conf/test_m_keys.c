/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which M_Key a port is to hold, and which it may hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "fm/conf/m_keys.h"

#define GUID 0x0002c90300a1b2c3ull

static struct m_key_secret secret(const char *text)
{
	struct m_key_secret s = { .set = true, .length = (uint16_t)strlen(text) };

	memcpy(s.bytes, text, s.length);
	return s;
}

static uint64_t wanted(const struct m_key_conf *conf, guid_t guid)
{
	struct m_keys *keys = m_keys_new();
	uint64_t key;

	m_keys_configure(keys, conf);
	key = m_keys_wanted(keys, guid);
	assert_int_equal(m_keys_wanted(keys, guid), key); /* remembered */
	m_keys_free(keys);
	return key;
}

/* printf '\x00\x02\xc9\x03\x00\xa1\xb2\xc3' | openssl dgst -sha256 -hmac 'a secret of the site' */
static void keys_are_those_that_openssl_makes_of_the_secret(void **state)
{
	const struct m_key_conf conf = { .secret = secret("a secret of the site"),
					 .per_port = true };

	assert_int_equal(wanted(&conf, GUID), 0x0080ec9b20bd8351ull);
	assert_int_not_equal(wanted(&conf, GUID + 1), wanted(&conf, GUID));
}

static void one_key_of_all_is_the_same_for_all(void **state)
{
	const struct m_key_conf derived = { .secret = secret("a secret of the site") };
	const struct m_key_conf given = { .key = 0x77 };

	assert_int_equal(wanted(&derived, GUID), wanted(&derived, GUID + 1));
	assert_int_equal(wanted(&given, GUID), 0x77);
	assert_int_equal(wanted(&(struct m_key_conf){ 0 }, GUID), 0);
	assert_int_equal(m_keys_wanted(NULL, GUID), 0);
}

static void all_that_a_port_may_hold_is_listed_once(void **state)
{
	struct m_key_conf conf = { .secret = secret("the new secret is this"),
				   .old_secret = secret("the old secret is that"),
				   .old_key = 0x77,
				   .per_port = true };
	struct m_keys *keys = m_keys_new();
	uint64_t list[M_KEYS_MOST];

	m_keys_configure(keys, &conf);
	assert_int_equal(m_keys_of(keys, GUID, list), 4);
	assert_int_equal(list[0], m_keys_wanted(keys, GUID));
	assert_int_equal(list[3], 0x77);
	assert_true(m_keys_change(keys));
	assert_true(m_keys_may_be(keys, GUID, 0x77));
	assert_false(m_keys_may_be(keys, GUID, 0x78));
	assert_int_equal(m_keys_of(keys, GUID + 1, list), 4);
	conf = (struct m_key_conf){ .key = 0x77, .old_key = 0x77 };
	m_keys_configure(keys, &conf);
	assert_int_equal(m_keys_of(keys, GUID + 1, list), 1);
	m_keys_free(keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_those_that_openssl_makes_of_the_secret),
		cmocka_unit_test(one_key_of_all_is_the_same_for_all),
		cmocka_unit_test(all_that_a_port_may_hold_is_listed_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
