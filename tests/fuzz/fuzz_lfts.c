/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as a dump of forwarding tables, of the fabric of the seeds (PGFT(2; 2,3; 1,2)): either
 * there is a reason with file and line, or tables whose owners and ports exist, and that can be
 * proven and measured, whatever they do with packets.
 */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "fm/opensm/osm_dump.h"
#include "routing/proof/check.h"
#include "routing/report/congestion.h"
#include "topology/generate/generate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct topo *make_topo(void)
{
	static const unsigned m[] = { 2, 3 }, w[] = { 1, 2 }, p[] = { 1, 1 };
	char err[128];

	return generate_pgft(2, m, w, p, err, sizeof(err));
}

static void check_tables_read(const struct topo *t, const struct osm_tables *got)
{
	assert(got->lids->top == got->tables.top && got->without_table < t->nswitches);
	for (uint32_t lid = 1; lid <= got->lids->top; lid++) {
		uint32_t port = got->lids->port_of_lid[lid];

		assert(port == TOPO_NONE || got->lids->lid_of_port[port] <= lid);
		for (uint32_t sw = 0; sw < t->nswitches; sw++) {
			uint8_t out = tables_row(&got->tables, sw)[lid];

			assert(out == TABLES_NO_ROUTE || out <= t->nodes[sw].nports);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct topo *t = make_topo();
	struct check_report proof;
	struct congestion congestion;
	struct osm_tables got;
	char err[256] = "";

	if (osm_dump_parse_lfts(t, "fuzz", (const char *)data, size, &got, err, sizeof(err))) {
		assert(!strncmp(err, "fuzz:", 5) && isdigit((unsigned char)err[5]));
		assert(strstr(err + 5, ": ") && !got.lids);
	} else {
		check_tables_read(t, &got);
		check_tables(t, got.lids, &got.tables, &proof);
		congestion_study(&(struct congestion_scene){ t, got.lids, &got.tables, NULL },
				 &congestion, NULL);
		osm_tables_fini(&got);
	}
	topo_unref(t);
	return 0;
}
