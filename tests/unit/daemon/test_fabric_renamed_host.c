/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain. Hours of 256 HCAs are simulated. */
/*
 * Each host's root writes what its HCAs call themselves: a host is its GUIDs all the same. Nothing
 * that is said of a host, and no unit or rail, follows from what another host calls itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/hosts/module.h"
#include "fm/naming/module.h"
#include "tests/lib/fabric_world.h"

#define SEEDS	100
#define HOLD_MS 1000 /* of verdicts that are worse; and better */

static void begin(struct world *w)
{
	world_init_stopped(w, pod(1));
	w->conf.hosts.worsen_hold_ms = HOLD_MS;
	w->conf.hosts.recover_hold_ms = HOLD_MS;
	start_fabric(w);
	run_for(w, 60 * SECOND_US);
	assert_true(is_up(w));
}

static uint32_t random_of(uint64_t *seed, uint32_t most)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % most;
}

static const struct topo_node *ca_of(const struct world *w, uint32_t ca)
{
	return &w->design->nodes[w->design->nswitches + ca];
}

static const struct topo_node *hca(const struct world *w, const struct topo_host *host, uint32_t i)
{
	return &w->design->nodes[w->design->host_cas[host->first + i]];
}

static const char *host_of(const struct world *w, guid_t guid)
{
	const struct topo *t = fabric_topo(w->fabric);

	return t->hosts[t->nodes[topo_find(t, guid)].host].name;
}

/* Rows of all hosts but one, with their verdicts, and units and rails of all nodes. */
static char *said_of_others(const struct world *w, const char *but)
{
	json_t *rows = hosts_document(w->fabric, NULL, NULL), *row, *said = json_array();
	const struct topo *t = fabric_topo(w->fabric);
	char *text;
	size_t i;

	json_array_foreach (rows, i, row)
		if (strcmp(json_string_value(json_object_get(row, "name")), but) != 0)
			json_array_append(said, row);
	for (uint32_t n = 0; n < t->nnodes; n++)
		json_array_append_new(said, json_pack("[iis]", t->nodes[n].su, t->nodes[n].rail,
						      t->nodes[n].name));
	text = json_dumps(said, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(rows);
	json_decref(said);
	return text;
}

static uint64_t latest_event(const struct world *w)
{
	json_t *events = fabric_events(w->fabric, 1);
	uint64_t seq = json_integer_value(json_object_get(json_array_get(events, 0), "seq"));

	json_decref(events);
	return seq;
}

/* Verdicts reported since then, each of which is a hook too, of hosts but one. */
static unsigned verdicts_of_others(const struct world *w, uint64_t since, const char *but)
{
	json_t *events = fabric_events(w->fabric, 1000), *it;
	unsigned count = 0;
	size_t i;

	json_array_foreach (events, i, it) {
		const char *kind = json_string_value(json_object_get(it, "kind"));
		const char *host = json_string_value(json_object_get(it, "host"));

		count += (uint64_t)json_integer_value(json_object_get(it, "seq")) > since &&
			 !strcmp(kind, "host") && (!host || strcmp(host, but) != 0);
	}
	json_decref(events);
	return count;
}

static void claim_name(const struct world *w, const struct topo_node *victim, unsigned kind,
		       char desc[65])
{
	const char *host = w->design->hosts[victim->host].name;

	if (kind == 0)
		snprintf(desc, 65, "%s", victim->desc);
	else if (kind == 1)
		snprintf(desc, 65, "%s HCA-9", host);
	else
		snprintf(desc, 65, "'%s' mlx5_%u", host, kind);
}

/* Some HCAs of one host take the names of others, and then go down. */
static void in_a_hundred_seeds_no_host_that_takes_others_names_changes_what_is_said_of_them(
	void **state)
{
	unsigned verdicts = 0, differ = 0, alerts = 0;
	struct world w;

	begin(&w);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t random = seed, since = latest_event(&w);
		/* Any host but fmd's own, which is the first. */
		const struct topo_node *first =
			ca_of(&w, 8 + random_of(&random, w.design->ncas - 8));
		const struct topo_host *host = &w.design->hosts[first->host];
		uint32_t count = 1 + random_of(&random, host->ncas);
		char *before = said_of_others(&w, host->name), *after, desc[65];

		for (uint32_t i = 0; i < count; i++) {
			const struct topo_node *it = hca(&w, host, i);
			const struct topo_node *victim;

			do
				victim = ca_of(&w, random_of(&random, w.design->ncas));
			while (victim->host == first->host);
			claim_name(&w, victim, random_of(&random, 4), desc);
			double_set_desc(w.hw, it->guid, desc);
		}
		run_for(&w, 5 * SECOND_US);
		alerts += count_alerts(&w, "name-conflict", "") == count;
		for (uint32_t i = 0; i < count; i++)
			double_cut(w.hw, hca(&w, host, i)->guid, 1);
		run_for(&w, 5 * SECOND_US);
		after = said_of_others(&w, host->name);
		differ += strcmp(before, after) != 0;
		verdicts += verdicts_of_others(&w, since, host->name);
		for (uint32_t i = 0; i < count; i++)
			double_join(w.hw, hca(&w, host, i)->guid, 1);
		run_for(&w, 5 * SECOND_US);
		for (uint32_t i = 0; i < count; i++) {
			const struct topo_node *it = hca(&w, host, i);

			double_set_desc(w.hw, it->guid, it->desc);
		}
		run_for(&w, 5 * SECOND_US);
		assert_int_equal(count_alerts(&w, "name-conflict", ""), 0);
		free(before);
		free(after);
	}
	print_message("renamed host: %u seeds, %u with all alerts; others: %u verdicts (hooks), %u "
		      "changed documents\n",
		      SEEDS, alerts, verdicts, differ);
	assert_int_equal(verdicts, 0);
	assert_int_equal(differ, 0);
	assert_int_equal(alerts, SEEDS);
	world_fini(&w);
}

/* HCA by HCA, by traps, a second apart. */
static void a_host_that_is_renamed_takes_all_its_hcas_with_it(void **state)
{
	struct world w;
	char desc[65];

	begin(&w);
	const struct topo_host *host = &w.design->hosts[3];

	for (unsigned round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < host->ncas; i++) {
			snprintf(desc, sizeof(desc), "%s mlx5_%u", round ? host->name : "gpu-42",
				 i);
			double_set_desc(w.hw, hca(&w, host, i)->guid, desc);
			run_for(&w, SECOND_US);
		}
		for (uint32_t i = 0; i < host->ncas; i++)
			assert_string_equal(host_of(&w, hca(&w, host, i)->guid),
					    round ? host->name : "gpu-42");
		assert_int_equal(count_logged(&w, "alert", "calls itself"), 0);
	}
	world_fini(&w);
}

static void an_hca_that_is_new_is_of_the_host_that_it_names(void **state)
{
	const guid_t new = 0x0002c90300777700;
	struct world w;

	begin(&w);
	const struct topo_node *old = ca_of(&w, 9);

	double_replace(w.hw, old->guid, new);
	run_for(&w, 30 * SECOND_US);
	assert_string_equal(host_of(&w, new), w.design->hosts[old->host].name);
	assert_int_equal(count_alerts(&w, "name-conflict", ""), 0);
	world_fini(&w);
}

/* Over a restart too, until it is accepted. */
static void an_operator_accepts_what_an_hca_calls_itself(void **state)
{
	struct reply r = { 0 };
	struct world w;

	begin(&w);
	const struct topo_node *it = ca_of(&w, 3), *other = ca_of(&w, w.design->ncas - 1);
	const char *from = w.design->hosts[it->host].name, *to = w.design->hosts[other->host].name;
	char desc[65];

	snprintf(desc, sizeof(desc), "%s HCA-9", to);
	double_set_desc(w.hw, it->guid, desc);
	run_for(&w, 10 * SECOND_US);
	assert_string_equal(host_of(&w, it->guid), from);
	assert_int_equal(count_alerts(&w, "name-conflict", desc), 1);
	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, 60 * SECOND_US);
	assert_string_equal(host_of(&w, it->guid), from);
	assert_int_equal(count_alerts(&w, "name-conflict", desc), 1);

	naming_accept(w.fabric, "nobody", reply_cb, &r);
	assert_int_equal(r.count, 1);
	assert_null(r.result);
	naming_accept(w.fabric, from, reply_cb, &r);
	run_for(&w, 10 * SECOND_US);
	assert_int_equal(r.count, 2);
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(r.result, "accepted"), 0)), desc);
	json_decref(r.result);
	assert_string_equal(host_of(&w, it->guid), to);
	assert_int_equal(count_alerts(&w, "name-conflict", ""), 0);
	world_fini(&w);
}

/* One answer was false; no trap tells of the next one. */
static void a_name_that_an_hca_does_not_say_again_is_no_conflict_for_long(void **state)
{
	struct world w;

	begin(&w);
	const struct topo_node *it = ca_of(&w, 3);

	double_set_desc(w.hw, it->guid, ca_of(&w, w.design->ncas - 1)->desc);
	run_for(&w, 10 * SECOND_US);
	assert_int_equal(count_alerts(&w, "name-conflict", ""), 1);
	double_rename(w.hw, it->guid, it->desc);
	run_for(&w, 31 * SECOND_US);
	assert_int_equal(count_alerts(&w, "name-conflict", ""), 0);
	world_fini(&w);
}

/* Its driver starts, or its host boots. */
static void a_text_that_names_no_host_leaves_an_hca_with_its_own(void **state)
{
	struct world w;

	begin(&w);
	const struct topo_node *it = ca_of(&w, 3);

	double_set_desc(w.hw, it->guid, "MT4129 ConnectX7   Mellanox Technologies");
	run_for(&w, 10 * SECOND_US);
	assert_string_equal(host_of(&w, it->guid), w.design->hosts[it->host].name);
	double_set_desc(w.hw, it->guid, ca_of(&w, w.design->ncas - 1)->desc);
	run_for(&w, 10 * SECOND_US);
	assert_string_equal(host_of(&w, it->guid), w.design->hosts[it->host].name);
	assert_int_equal(count_alerts(&w, "name-conflict", ""), 1);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			in_a_hundred_seeds_no_host_that_takes_others_names_changes_what_is_said_of_them),
		cmocka_unit_test(a_host_that_is_renamed_takes_all_its_hcas_with_it),
		cmocka_unit_test(an_hca_that_is_new_is_of_the_host_that_it_names),
		cmocka_unit_test(an_operator_accepts_what_an_hca_calls_itself),
		cmocka_unit_test(a_name_that_an_hca_does_not_say_again_is_no_conflict_for_long),
		cmocka_unit_test(a_text_that_names_no_host_leaves_an_hca_with_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
