/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A standby takes over a fabric whose ports hold M_Keys: its own, or those of another secret. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/conf/m_keys.h"
#include "tests/lib/sm_pair.h"

static struct m_key_secret secret(const char *text)
{
	struct m_key_secret s = { .set = true, .length = (uint16_t)strlen(text) };

	memcpy(s.bytes, text, s.length);
	return s;
}

static const struct wire_port_info *info_of(const struct world *w, uint32_t n)
{
	return double_port_info(w->hw, w->design->nodes[n].guid, n < w->design->nswitches ? 0 : 1);
}

/* Ports that hold the key that `conf` gives them, at its level. */
static unsigned holders(const struct world *w, const struct conf *conf)
{
	const struct m_key_conf source = conf_m_keys(conf);
	const struct topo *t = w->design;
	struct m_keys *keys = m_keys_new();
	unsigned count = 0;

	m_keys_configure(keys, &source);
	for (uint32_t n = 0; n < t->nnodes; n++) {
		guid_t guid =
			n < t->nswitches ? t->nodes[n].guid : t->ports[t->nodes[n].port0 + 1].guid;

		count += info_of(w, n)->mkey == m_keys_wanted(keys, guid) &&
			 info_of(w, n)->mkey_protect == source.protect;
	}
	m_keys_free(keys);
	return count;
}

static unsigned violations(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t n = 0; n < w->design->nnodes; n++)
		count += info_of(w, n)->mkey_violations;
	return count;
}

/* a is up, and b has what the mirror would have given it. */
static void begin(struct pair *p, int protect, const char *other_secret)
{
	char command[300];

	pair_init(p, small_tree(), 9, 3);
	p->a.conf.sm.mkey_secret = p->b.conf.sm.mkey_secret = secret("a secret of the site");
	p->a.conf.sm.mkey_per_port = p->b.conf.sm.mkey_per_port = true;
	p->a.conf.sm.mkey_protect = p->b.conf.sm.mkey_protect = protect;
	if (other_secret)
		p->b.conf.sm.mkey_secret = secret(other_secret);
	start_fabric(&p->a);
	run_for(&p->a, 30 * SECOND_US);
	assert_int_equal(holders(&p->a, &p->a.conf), p->a.design->nnodes);
	snprintf(command, sizeof(command), "cp %s/* %s", p->a.state_dir, p->b.state_dir);
	assert_int_equal(system(command), 0);
	rows_replace(p->b.state_dir, "guid2mkey", "");
	pair_start_b(p);
	run_for(&p->a, 15 * SECOND_US);
}

static void a_standby_with_the_same_secret_takes_over_at_every_level(void **state)
{
	for (int protect = 0; protect <= 3; protect++) {
		struct pair p;

		begin(&p, protect, NULL);
		assert_true(has_role(&p.b, "standby"));
		pair_stop(&p.a);
		run_for(&p.b, 30 * SECOND_US);
		assert_well_managed_by(&p.b);
		assert_int_equal(holders(&p.b, &p.b.conf), p.b.design->nnodes);
		assert_int_equal(violations(&p.b), 0);
		assert_int_equal(count_alerts(&p.b, "", ""), 0);
		pair_fini(&p);
	}
}

/* At levels 2 and 3 not even its own port answers it. */
static void one_with_another_secret_tells_it_and_sets_nothing(void **state)
{
	for (int protect = 0; protect <= 3; protect++) {
		struct pair p;
		uint16_t *lids;
		uint64_t before;

		begin(&p, protect, "another site's secret");
		lids = lids_held(&p.a);
		pair_stop(&p.a);
		run_for(&p.b, 60 * SECOND_US);
		assert_int_equal(count_alerts(&p.b, protect < 2 ? "foreign-m-key" : "no-link",
					      protect < 2 ? "m_key_secret_file does not match"
							  : "does not answer"),
				 1);
		assert_int_equal(holders(&p.b, &p.a.conf), p.b.design->nnodes);
		assert_false(is_up(&p.b));
		before = sets_by(p.io_b);
		run_for(&p.b, 300 * SECOND_US);
		assert_int_equal(sets_by(p.io_b), before);
		assert_lids_are(&p.b, lids);
		if (protect < 2)
			assert_int_equal(violations(&p.b), 0);
		pair_fini(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_standby_with_the_same_secret_takes_over_at_every_level),
		cmocka_unit_test(one_with_another_secret_tells_it_and_sets_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
