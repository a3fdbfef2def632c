/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What is shown and kept of hosts' NVLinks: evidence with its kind and end, domains, the file of
 * the memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "fm/state/state.h"
#include "fm/nvswitch/state_monitor.h"

static void keep_cb(void *arg, bool memories)
{
}

static void states_changed_cb(void *arg)
{
}

static const struct nvswitch_ops ops = { NULL, keep_cb, states_changed_cb };

static const char *const kept[] = {
	"host gb-01 system=nvl72 links=18 told=HEALTHY heard=1 ports=0 "
	"cluster=0cf3c1a2-7d1a-4f0b-9c55-2f5dc1a7e001 clique=7",
	"gpu gb-01 n=2 seen=1 pci=0008:01:00 uuid=GPU-2 xid=74 xidsource=1 failed=0 energy=7 "
	"dipped=0 "
	"told=2 mig=0 "
	"migmode=0 fm=0 summary=0 action=0 "
	"watch=0 probe=0 mask=0 peers=b pairs=0 up=0 down=0",
	"switch gb-01 n=1 seen=1 sxid=20034 linksxid=0 sxidsource=1 reset=0 seen0=ff seen1=0 "
	"down0=0 down1=0",
	"event gb-01 state=NO_P2P remedy=2 trust=2 from=128 gpu=2 sw=-1 link=-1 code=74 "
	"pci=0008:01:00 old=1 times=3 text=Xid 74: NVLink: "
	"fatal error",
	"host gb-02 system=nvl72 links=18 told=HEALTHY heard=1 ports=0 "
	"cluster=0cf3c1a2-7d1a-4f0b-9c55-2f5dc1a7e001 clique=7",
	"host gb-03 system=nvl72 links=18 told=HEALTHY heard=1 ports=0 "
	"cluster=0cf3c1a2-7d1a-4f0b-9c55-2f5dc1a7e001 clique=8",
	"host dgx-01 system=h100 links=18 told=DEGRADED_LINK heard=0 ports=1",
};

static bool read_line(struct nvswitch *nv, const char *line)
{
	return nvswitch_memory_kind.line(nv, line);
}

static struct nvswitch *remembered(struct loop *loop)
{
	struct nvswitch *nv = nvswitch_new(loop, NULL, NULL, &ops, NULL);

	for (unsigned i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (!read_line(nv, kept[i]))
			fail_msg("%s", kept[i]);
	return nv;
}

static void the_memory_is_written_as_it_was_read(void **state)
{
	struct loop *loop = loop_new_simulated();
	struct nvswitch *nv = remembered(loop);
	static char text[1 << 14];
	FILE *out = fmemopen(text, sizeof(text), "w");
	char *line;

	for (uint64_t from = 0; (from = nvswitch_memory_kind.write(nv, from, out));)
		;
	fclose(out);
	line = strtok(text, "\n");
	for (unsigned i = 0; i < sizeof(kept) / sizeof(kept[0]); i++, line = strtok(NULL, "\n"))
		assert_string_equal(line, kept[i]);
	assert_null(line);
	assert_false(read_line(nv, "gpu gb-01 n=16 seen=1"));
	assert_false(read_line(nv, "event"));
	assert_false(read_line(nv, "host bad;name system=h100"));
	nvswitch_free(nv);
	loop_free(loop);
}

static const json_t *row_of(const json_t *doc, const char *name)
{
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(doc, "hosts"), i, row)
		if (!strcmp(json_string_value(json_object_get(row, "host")), name))
			return row;
	fail_msg("no %s", name);
	return NULL;
}

static void a_finding_says_what_it_is_and_what_would_end_it(void **state)
{
	struct loop *loop = loop_new_simulated();
	struct nvswitch *nv = remembered(loop);
	json_t *doc = nvswitch_json(nv);
	const json_t *row = row_of(doc, "gb-01");
	const json_t *finding = json_array_get(json_object_get(row, "evidence"), 0);
	const char *kind, *trust, *remedy, *pci, *ends, *source;

	assert_int_equal(json_unpack((json_t *)finding, "{ss ss ss ss ss ss}", "kind", &kind,
				     "trust", &trust, "remedy", &remedy, "pci", &pci, "ends_when",
				     &ends, "source", &source),
			 0);
	assert_string_equal(kind, "event");
	assert_string_equal(trust, "proven");
	assert_string_equal(remedy, "reset GPU");
	assert_string_equal(pci, "0008:01:00");
	assert_string_equal(source, "kernel log");
	assert_non_null(strstr(ends, "reset or boot"));
	assert_string_equal(json_string_value(json_object_get(row, "ends_when")), ends);
	assert_true(json_is_null(json_object_get(row_of(doc, "dgx-01"), "ends_when")));
	json_decref(doc);
	nvswitch_free(nv);
	loop_free(loop);
}

static void hosts_of_equal_cluster_and_clique_are_a_domain(void **state)
{
	struct loop *loop = loop_new_simulated();
	struct nvswitch *nv = remembered(loop);
	json_t *doc = nvswitch_json(nv), *domains = json_object_get(doc, "domains");
	json_t *first = json_object_get(json_array_get(domains, 0), "hosts");

	assert_int_equal(json_array_size(domains), 2);
	assert_int_equal(json_array_size(first), 2);
	assert_string_equal(json_string_value(json_array_get(first, 1)), "gb-02");
	assert_true(json_is_null(json_object_get(row_of(doc, "dgx-01"), "domain")));
	json_decref(doc);
	nvswitch_free(nv);
	loop_free(loop);
}

/* A host that nothing reports on is not observed to be healthy, whatever it was before. */
static void what_nobody_reports_is_not_observed(void **state)
{
	struct loop *loop = loop_new_simulated();
	struct nvswitch *nv = remembered(loop);
	json_t *doc = nvswitch_json(nv);

	assert_string_equal(json_string_value(json_object_get(row_of(doc, "gb-02"), "observed")),
			    "UNKNOWN");
	json_decref(doc);
	nvswitch_free(nv);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_memory_is_written_as_it_was_read),
		cmocka_unit_test(what_nobody_reports_is_not_observed),
		cmocka_unit_test(a_finding_says_what_it_is_and_what_would_end_it),
		cmocka_unit_test(hosts_of_equal_cluster_and_clique_are_a_domain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
