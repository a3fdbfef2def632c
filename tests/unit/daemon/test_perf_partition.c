/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Counters are asked for in the default partition, wherever the own port's P_Key table has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_world.h"

static void perf_world_init(struct world *w)
{
	world_init_stopped(w, small_tree());
	w->conf.perf.interval_ms = 5000;
}

static void write_partitions(struct world *w, const char *text)
{
	FILE *out;

	snprintf(w->conf.partition.file, sizeof(w->conf.partition.file), "%s/partitions.conf",
		 w->state_dir);
	out = fopen(w->conf.partition.file, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static guid_t own_port(const struct world *w, guid_t *node)
{
	const struct topo_node *own = &w->design->nodes[w->design->nswitches];

	*node = own->guid;
	return w->design->ports[own->port0 + 1].guid;
}

static void assert_all_are_read(struct world *w)
{
	run_for(w, 12 * SECOND_US);
	assert_true(is_up(w));
	assert_int_equal((int)status_number(w, "health", "silent"), 0);
	assert_int_equal((int)status_number(w, "health", "ports_read"), 2 * w->design->nlinks);
}

/* The file may give index 0 to another partition, in which the others are not. */
static void counters_are_read_when_the_default_partition_is_not_at_index_0(void **state)
{
	unsigned count;
	const uint16_t *keys;
	char text[256];
	struct world w;
	guid_t node;

	perf_world_init(&w);
	snprintf(text, sizeof(text),
		 "Default=0x7fff, defmember=full: ALL;\n"
		 "Control=0x5, indx0, defmember=full: 0x%llx;\n",
		 (unsigned long long)own_port(&w, &node));
	write_partitions(&w, text);
	start_fabric(&w);
	assert_all_are_read(&w);
	keys = double_pkeys(w.hw, node, 1, &count);
	assert_int_equal(keys[0], 0x8005);
	world_fini(&w);
}

static void counters_are_read_without_partitions(void **state)
{
	struct world w;

	perf_world_init(&w);
	start_fabric(&w);
	assert_all_are_read(&w);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_are_read_when_the_default_partition_is_not_at_index_0),
		cmocka_unit_test(counters_are_read_without_partitions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
