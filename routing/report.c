/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* report: see report.h; the members' meanings are those of check.h, congestion.h and delta.h. */
#include "routing/report.h"

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
	return json_pack("{si si sf sf sf}", "shift_max", (int)c->shift_max, "rail_shift_max",
			 (int)c->rail_shift_max, "shift_mean", c->shift_mean, "rail_shift_mean",
			 c->rail_shift_mean, "all_to_all_ratio", c->all_to_all_ratio);
}

json_t *report_delta(const struct delta *d)
{
	return json_pack("{sI sI sI sI}", "entries", (json_int_t)d->entries, "entries_minimum",
			 (json_int_t)d->entries_minimum, "blocks", (json_int_t)d->blocks,
			 "switches", (json_int_t)d->switches);
}
