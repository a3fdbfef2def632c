/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Two managers compare what M_Keys they give to ports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "fm/conf/m_keys.h"

static const uint8_t session[M_KEY_SESSION] = "what both ends of a channel have";

static struct m_key_secret secret(const char *text)
{
	struct m_key_secret s = { .set = true, .length = (uint16_t)strlen(text) };

	memcpy(s.bytes, text, s.length);
	return s;
}

static bool agree(const struct m_key_conf *a, const struct m_key_conf *b)
{
	struct m_key_proofs of_a, of_b;

	m_key_prove(a, session, &of_a);
	m_key_prove(b, session, &of_b);
	assert_true(m_key_proofs_agree(&of_a, &of_b) == m_key_proofs_agree(&of_b, &of_a));
	return m_key_proofs_agree(&of_a, &of_b);
}

static void the_same_keys_agree_and_others_do_not(void **state)
{
	const struct m_key_conf none = { 0 }, key = { .key = 0x77 }, other = { .key = 0x78 };
	const struct m_key_conf all = { .secret = secret("a secret of the site") };
	struct m_key_conf port = all, theirs = all;

	port.per_port = true;
	theirs.secret = secret("a secret of another site");
	assert_true(agree(&none, &none));
	assert_true(agree(&key, &key));
	assert_true(agree(&all, &all));
	assert_true(agree(&port, &port));
	assert_false(agree(&none, &key));
	assert_false(agree(&none, &port));
	assert_false(agree(&key, &other));
	assert_false(agree(&all, &theirs));
	assert_false(agree(&all, &port));
	assert_false(agree(&all, &key));
}

/* Each step of fmd(8), MANAGEMENT KEYS, on one manager before the other. */
static void the_steps_of_a_rotation_agree(void **state)
{
	const struct m_key_secret before = secret("the secret of this year");
	const struct m_key_secret next = secret("the secret of next year");
	const struct m_key_conf steps[] = {
		{ .secret = before, .per_port = true },
		{ .secret = before, .old_secret = next, .per_port = true },
		{ .secret = next, .old_secret = before, .per_port = true },
		{ .secret = next, .per_port = true },
	};

	for (unsigned i = 0; i < 3; i++)
		assert_true(agree(&steps[i], &steps[i + 1]));
	assert_false(agree(&steps[0], &steps[3]));
}

static void a_key_that_becomes_a_secret_agrees_while_it_is_the_old_one(void **state)
{
	const struct m_key_conf key = { .key = 0x77 };
	struct m_key_conf next = { .secret = secret("a secret of the site"), .per_port = true };

	assert_false(agree(&key, &next));
	next.old_key = 0x77;
	assert_false(agree(&key, &next)); /* the other does not know the secret yet */
}

static void a_proof_says_nothing_in_another_session_and_has_no_key_in_it(void **state)
{
	const struct m_key_conf conf = { .key = 0x1122334455667788 };
	uint8_t another[M_KEY_SESSION] = { 1 };
	struct m_key_proofs a, b;

	m_key_prove(&conf, session, &a);
	m_key_prove(&conf, another, &b);
	assert_int_equal(a.count, 1);
	assert_false(m_key_proofs_agree(&a, &b));
	assert_null(strstr(a.text[0], "1122334455667788"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_keys_agree_and_others_do_not),
		cmocka_unit_test(the_steps_of_a_rotation_agree),
		cmocka_unit_test(a_key_that_becomes_a_secret_agrees_while_it_is_the_old_one),
		cmocka_unit_test(a_proof_says_nothing_in_another_session_and_has_no_key_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
