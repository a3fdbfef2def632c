/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * report: see report.h; the members' meanings are those of check.h, congestion.h, load_map.h and
 * delta.h.
 */
#include "routing/report/report.h"

json_t *report_proof(const struct check_report *r)
{
	return json_pack("{sI sI sI sI sI sI sI si sf ss}", "reachable", (json_int_t)r->reachable,
			 "unreachable", (json_int_t)r->unreachable, "unreachable_special",
			 (json_int_t)r->unreachable_special, "disconnected",
			 (json_int_t)r->disconnected, "loops", (json_int_t)r->loops, "bad_ports",
			 (json_int_t)r->bad_ports, "credit_cycles", (json_int_t)r->credit_cycles,
			 "max_hops", (int)r->max_hops, "mean_hops", r->mean_hops, "first",
			 r->first);
}

json_t *report_congestion(const struct congestion *c)
{
	return json_pack("{si si si si sf sf sf sf sf sI si}", "shift_max", (int)c->shift_max,
			 "rail_shift_max", (int)c->rail_shift_max, "random_max", (int)c->random_max,
			 "storage_max", (int)c->storage_max, "shift_mean", c->shift_mean,
			 "rail_shift_mean", c->rail_shift_mean, "random_mean", c->random_mean,
			 "storage_mean", c->storage_mean, "all_to_all_ratio", c->all_to_all_ratio,
			 "all_to_all_max", (json_int_t)c->all_to_all_max, "storage_ports",
			 (int)c->storage_ports);
}

static json_t *direction(const struct load_tier *tier, enum load_direction d)
{
	json_t *bins = json_array();

	for (unsigned i = 0; i < LOAD_BINS; i++)
		json_array_append_new(bins, json_integer(tier->bins[d][i]));
	return json_pack("{si sf sI so}", "channels", (int)tier->channels[d], "mean", tier->mean[d],
			 "max", (json_int_t)tier->max[d], "bins", bins);
}

json_t *report_tier(const struct load_tier *tier)
{
	return json_pack("{si so so}", "level", (int)tier->level, "up", direction(tier, LOAD_UP),
			 "down", direction(tier, LOAD_DOWN));
}

json_t *report_delta(const struct delta *d)
{
	return json_pack("{sI sI sI sI}", "entries", (json_int_t)d->entries, "entries_minimum",
			 (json_int_t)d->entries_minimum, "blocks", (json_int_t)d->blocks,
			 "switches", (json_int_t)d->switches);
}
