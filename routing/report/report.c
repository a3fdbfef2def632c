/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "routing/ftree/legal.h"
#include "routing/adaptive/groups.h"
#include "routing/report/report.h"
#include "topology/base/mem.h"

/*
 * delta: compares tables, and says which changes had to be (see delta.h).
 *
 * An old entry may stay when its link lives and its next switch is a minimal legal next hop in the
 * new fabric (legal.h).
 */

/* A block beyond a table's rows is all gaps. */
static const uint8_t *block_of(const struct tables *t, uint32_t sw, uint32_t block,
			       const uint8_t *gaps)
{
	return block * TABLES_BLOCK < t->stride ? tables_block(t, sw, block) : gaps;
}

void delta_count(const struct tables *older, const struct tables *newer, struct delta *out)
{
	uint32_t blocks = tables_blocks(older) > tables_blocks(newer) ? tables_blocks(older)
								      : tables_blocks(newer);
	uint8_t gaps[TABLES_BLOCK];

	memset(gaps, TABLES_NO_ROUTE, sizeof(gaps));
	out->entries = out->blocks = out->switches = 0;
	for (uint32_t sw = 0; sw < newer->nswitches; sw++) {
		uint32_t before = out->blocks;

		for (uint32_t block = 0; block < blocks; block++) {
			const uint8_t *a = block_of(older, sw, block, gaps);
			const uint8_t *b = block_of(newer, sw, block, gaps);
			uint64_t differ = 0;

			if (!memcmp(a, b, TABLES_BLOCK))
				continue;
			for (unsigned i = 0; i < TABLES_BLOCK; i++)
				differ += a[i] != b[i];
			out->entries += differ;
			out->blocks++;
		}
		out->switches += out->blocks > before;
	}
}

/* ---- The minimum ----------------------------------------------------------------------------- */

uint64_t delta_minimum(const struct topo *t, const struct lid_map *lids, const char *engine,
		       const struct tables *older, const struct tables *newer)
{
	static const struct route_params defaults;
	bool tiers = strcmp(engine, "updn-root") != 0;
	struct legal legal = { 0 };
	uint64_t moved = 0;

	if (tiers) {
		legal_init(&legal, t, lids, &defaults,
			   (struct graph_how){ .orientation = GRAPH_BY_LEVEL });
		legal_fill(&legal);
	}
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		struct legal_ports ports;
		uint32_t to = TOPO_NONE; /* whose ports these are */

		for (uint32_t lid = 1; lid <= lids->top && lid < older->stride; lid++) {
			uint8_t was = tables_row(older, sw)[lid];
			uint32_t d = tiers ? legal.d.sw[lid] : TOPO_NONE;

			if (was == tables_row(newer, sw)[lid])
				continue;
			if (was == TABLES_NO_ROUTE || was > t->nodes[sw].nports ||
			    (tiers && d == TOPO_NONE)) {
				moved++;
			} else if (!tiers) {
				moved += was && !topo_port(t, sw, was)->link_up;
			} else if (d == sw) {
				moved += was != legal.d.port[lid];
			} else {
				if (d != to)
					legal_ports(legal.g, &legal.r, sw, d, &ports);
				to = d;
				moved += !memchr(ports.port, was, ports.n);
			}
		}
	}
	legal_fini(&legal);
	return moved;
}

/*
 * report: see report.h; the members' meanings are those of check.h, congestion.h, load_map.h and
 * delta.h.
 */

json_t *report_proof(const struct check_report *r)
{
	return json_pack("{sI sI sI sI sI sI sI si sf ss}", "reachable", (json_int_t)r->reachable,
			 "unreachable", (json_int_t)r->unreachable, "unreachable_special",
			 (json_int_t)r->unreachable_special, "disconnected",
			 (json_int_t)r->disconnected, "loops", (json_int_t)r->loops, "bad_ports",
			 (json_int_t)r->bad_ports, "credit_cycles", (json_int_t)r->credit_cycles,
			 "max_hops", r->max_hops, "mean_hops", r->mean_hops, "first", r->first);
}

json_t *report_congestion(const struct congestion *c)
{
	return json_pack("{si si si si sf sf sf sf sf sI si}", "shift_max", c->shift_max,
			 "rail_shift_max", c->rail_shift_max, "random_max", c->random_max,
			 "storage_max", c->storage_max, "shift_mean", c->shift_mean,
			 "rail_shift_mean", c->rail_shift_mean, "random_mean", c->random_mean,
			 "storage_mean", c->storage_mean, "all_to_all_ratio", c->all_to_all_ratio,
			 "all_to_all_max", (json_int_t)c->all_to_all_max, "storage_ports",
			 c->storage_ports);
}

json_t *report_ebb(const struct ebb *ebb)
{
	static const char *const names[EBB_PATTERNS] = {
		[EBB_BISECTION] = "bisection", [EBB_JOB] = "job", [EBB_STORAGE] = "storage"
	};
	json_t *all = json_object();

	for (unsigned p = 0; p < EBB_PATTERNS; p++)
		json_object_set_new(all, names[p],
				    json_pack("{sf sf sf}", "mean", ebb->of[p].mean,
					      "slowest_tenth", ebb->of[p].slowest_tenth,
					      "worst_link", ebb->of[p].worst_link));
	return all;
}

static json_t *direction(const struct load_tier *tier, enum load_direction d)
{
	json_t *bins = json_array();

	for (unsigned i = 0; i < LOAD_BINS; i++)
		json_array_append_new(bins, json_integer(tier->bins[d][i]));
	return json_pack("{si sf sI so}", "channels", tier->channels[d], "mean", tier->mean[d],
			 "max", (json_int_t)tier->max[d], "bins", bins);
}

json_t *report_groups(const struct congestion_scene *scene, const struct ar_groups *groups,
		      bool sound, const struct check_report *proof)
{
	unsigned most = 0;
	struct ebb ebb;

	if (sound)
		ebb_measure(scene, groups, &ebb);
	for (uint32_t sw = 0; sw < groups->nswitches; sw++) {
		unsigned n = groups->first[sw + 1] - groups->first[sw];

		most = n > most ? n : most;
	}
	return json_pack("{sb so so* si}", "sound", sound, "proof", report_proof(proof), "ebb",
			 sound ? report_ebb(&ebb) : NULL, "groups_most", most);
}

json_t *report_tier(const struct load_tier *tier)
{
	return json_pack("{si so so}", "level", tier->level, "up", direction(tier, LOAD_UP), "down",
			 direction(tier, LOAD_DOWN));
}

json_t *report_delta(const struct delta *d)
{
	return json_pack("{sI sI sI sI}", "entries", (json_int_t)d->entries, "entries_minimum",
			 (json_int_t)d->entries_minimum, "blocks", (json_int_t)d->blocks,
			 "switches", (json_int_t)d->switches);
}
