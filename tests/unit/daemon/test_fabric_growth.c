/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A live fabric of two units grows by a third, switch by switch and cable by cable in any order,
 * with wrong and half-plugged cables between. A unit is four leaves with their hosts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/control/answer.h"
#include "tests/lib/fabric_world.h"

#define LEAVES 12
#define OLD    8

extern const struct command_run whatif_run;

static uint32_t dice(uint64_t *seed, uint32_t sides)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33) % sides;
}

static uint32_t leaf_at(const struct topo *t, unsigned which)
{
	for (uint32_t n = 0; n < t->nswitches; n++)
		if (t->nodes[n].level == 0 && !which--)
			return n;
	fail();
	return 0;
}

/* The plan, as topoconfig.conf: all cables but those of leaves from that one on. The caller's. */
static char *plan_with(const struct topo *t, unsigned leaves)
{
	size_t length;
	char *text = NULL;
	FILE *out = open_memstream(&text, &length);
	bool *left_out = mem_alloc(t->nnodes, 1);

	for (unsigned i = leaves; i < LEAVES; i++)
		left_out[leaf_at(t, i)] = true;
	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *a = &t->ports[p], *b = topo_peer(t, a);

		if (b && p < a->peer && !left_out[a->node] && !left_out[b->node])
			fprintf(out, "0x%llx,%u,0x%llx,%u,Any,Active\n",
				(unsigned long long)t->nodes[a->node].guid, a->num,
				(unsigned long long)t->nodes[b->node].guid, b->num);
	}
	fclose(out);
	free(left_out);
	return text;
}

static json_t *whatif(struct world *w, const char *plan)
{
	const struct command_env env = { .fabric = w->fabric };
	char err[COMMAND_ERROR_SIZE] = "";
	json_t *args = json_pack("{ss ss}", "plan", plan, "file", "plan.conf");
	json_t *answer = whatif_run.answer(&env, args, err);

	json_decref(args);
	if (!answer)
		fail_msg("%s", err);
	return answer;
}

static unsigned number(const json_t *doc, const char *part, const char *key)
{
	return (unsigned)json_integer_value(json_object_get(json_object_get(doc, part), key));
}

struct known { /* what runs before a step */
	uint16_t *lids;
	struct tables tables;
	const struct topo *t;
};

static void keep(struct known *k, const struct world *w)
{
	*k = (struct known){ .t = topo_ref(fabric_topo(w->fabric)) };
	k->lids = mem_array(k->lids, w->design->nnodes);
	tables_copy(&k->tables, fabric_tables(w->fabric));
	for (uint32_t n = 0; n < w->design->nnodes; n++)
		if (topo_find(k->t, w->design->nodes[n].guid) != TOPO_NONE)
			k->lids[n] = double_port_info(w->hw, w->design->nodes[n].guid,
						      n < w->design->nswitches ? 0 : 1)
					     ->lid;
}

static void drop(struct known *k)
{
	topo_unref(k->t);
	tables_fini(&k->tables);
	free(k->lids);
}

/* All pairs of hosts that ran before, by the tables that switches hold; and no LID has moved. */
static void assert_nothing_lost(const struct world *w, const struct known *k)
{
	const struct topo *t = w->design;

	for (uint32_t n = 0; n < t->nnodes; n++) {
		if (!k->lids[n])
			continue;
		assert_int_equal(
			double_port_info(w->hw, t->nodes[n].guid, n < t->nswitches ? 0 : 1)->lid,
			k->lids[n]);
		for (uint32_t from = t->nswitches; n >= t->nswitches && from < t->nnodes; from++)
			if (from != n && k->lids[from] &&
			    double_trace(w->hw, t->nodes[from].guid, 1, k->lids[n]) < 0)
				fail_msg("%s to %s", t->nodes[from].desc, t->nodes[n].desc);
	}
}

static void watch(struct world *w, const struct known *k)
{
	for (unsigned i = 0; i < 12; i++) {
		run_for(w, i < 10 ? 5000 : SECOND_US / 4);
		assert_nothing_lost(w, k);
	}
}

static unsigned held(const struct world *w)
{
	return (unsigned)status_number(w, NULL, "links_held");
}

/* Some of its cables are plugged wrongly first, or come and go. */
static void plug_leaf(struct world *w, const struct known *k, unsigned which, uint64_t *seed,
		      unsigned *wrong)
{
	const struct topo *t = w->design;
	uint32_t leaf = leaf_at(t, which);
	unsigned ports[64], count = 0;

	for (unsigned p = 1; p <= t->nodes[leaf].nports; p++)
		if (topo_port(t, leaf, p)->peer != TOPO_NONE)
			ports[count++] = p;
	while (count) {
		unsigned i = dice(seed, count), p = ports[i], kind = dice(seed, 4);
		const struct topo_port *far = topo_peer(t, topo_port(t, leaf, p));
		guid_t guid = t->nodes[leaf].guid, peer = t->nodes[far->node].guid;
		bool met = topo_find(fabric_topo(w->fabric), guid) != TOPO_NONE;

		if (kind == 0 && far->node < t->nswitches && met && p > 1) {
			/* Into the port of an uplink beside it, of the same leaf. */
			unsigned other = p;

			for (unsigned j = 0; j < count; j++)
				if (ports[j] != p &&
				    topo_peer(t, topo_port(t, leaf, ports[j]))->node < t->nswitches)
					other = ports[j];
			if (other != p) {
				double_plug(w->hw, guid, other, peer, far->num);
				watch(w, k);
				run_for(w, SECOND_US);
				assert_int_equal(held(w), 1);
				assert_int_equal(count_alerts(w, "miswired", t->nodes[leaf].desc),
						 1);
				double_cut(w->hw, guid, other);
				++*wrong;
			}
		} else if (kind == 1) {
			double_plug(w->hw, guid, p, peer, far->num);
			run_for(w, 2000 + dice(seed, 60000));
			assert_nothing_lost(w, k);
			double_cut(w->hw, guid, p);
			run_for(w, 2000 + dice(seed, 60000));
			assert_nothing_lost(w, k);
		}
		double_plug(w->hw, guid, p, peer, far->num);
		watch(w, k);
		ports[i] = ports[--count];
	}
	run_for(w, 3 * SECOND_US);
	assert_int_equal(held(w), 0);
	assert_nothing_lost(w, k);
}

/* Entries of switches and LIDs that were there before which are others now. */
static unsigned changed(const struct world *w, const struct known *k)
{
	const struct topo *t = fabric_topo(w->fabric);
	unsigned count = 0;

	for (uint32_t sw = 0; sw < k->t->nswitches; sw++) {
		uint32_t is = topo_find(t, k->t->nodes[sw].guid);

		for (uint32_t n = 0; n < w->design->nnodes; n++)
			count += k->lids[n] &&
				 tables_row(&k->tables, sw)[k->lids[n]] !=
					 tables_row(fabric_tables(w->fabric), is)[k->lids[n]];
	}
	return count;
}

static void a_growing_fabric_loses_no_pair_and_does_as_was_said_before(void **state)
{
	static const unsigned m[] = { 3, LEAVES }, width[] = { 1, 4 }, p[] = { 1, 2 };

	for (uint64_t s = 1; s <= 6; s++) {
		uint64_t seed = s;
		unsigned wrong = 0;
		char err[256], *plan;
		struct reply reply = { 0 };
		struct world w;

		world_init_stopped(&w, generate_pgft(2, m, width, p, err, sizeof(err)));
		log_set_level(-1, LOG_ERR - 1);
		for (unsigned i = OLD; i < LEAVES; i++) {
			uint32_t leaf = leaf_at(w.design, i);

			for (unsigned num = 1; num <= w.design->nodes[leaf].nports; num++)
				if (topo_port(w.design, leaf, num)->peer != TOPO_NONE)
					double_cut(w.hw, w.design->nodes[leaf].guid, num);
		}
		start_fabric(&w);
		run_for(&w, 5 * SECOND_US);
		assert_true(is_up(&w));
		plan = plan_with(w.design, LEAVES);
		admission_plan(links_out_admission(w.fabric), "plan", plan, false, reply_cb,
			       &reply);
		free(plan);
		run_for(&w, SECOND_US);
		assert_int_equal(reply.count, 1);
		json_decref(reply.result);
		for (unsigned i = OLD; i < LEAVES; i++) {
			struct known k;
			double pairs = status_number(&w, "proof", "reachable");
			json_t *said;
			unsigned lids = 0;

			plan = plan_with(w.design, i + 1);
			said = whatif(&w, plan);
			free(plan);
			keep(&k, &w);
			plug_leaf(&w, &k, i, &seed, &wrong);
			for (uint32_t n = 0; n < w.design->nnodes; n++)
				lids += !k.lids[n] &&
					topo_find(fabric_topo(w.fabric), w.design->nodes[n].guid) !=
						TOPO_NONE;
			assert_int_equal(number(said, "growth", "lids_new"), lids);
			assert_int_equal(number(said, "growth", "lids_moved"), 0);
			assert_int_equal(number(said, "growth", "pairs_gained"),
					 status_number(&w, "proof", "reachable") - pairs);
			assert_int_equal(number(said, "delta", "entries"), changed(&w, &k));
			json_decref(said);
			drop(&k);
		}
		assert_true(wrong > 0);
		assert_int_equal(double_ports_not_active(w.hw), 0);
		assert_hardware_delivers(&w, s);
		world_fini(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_growing_fabric_loses_no_pair_and_does_as_was_said_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
