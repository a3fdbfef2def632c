/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The limits of counters, as configured, and why a port is over one. */
#include "fm/perf/module_own.h"

#define CONFIRM 2  /* readings in a row over a limit: sick */
#define RECOVER 10 /* under half of all: well */

struct judge_limits link_health_limits(const struct conf *c)
{
	return (struct judge_limits){ .limit = { [JUDGE_SYMBOL] = c->perf.symbol_errors,
						 [JUDGE_RCV] = c->perf.rcv_errors,
						 [JUDGE_INTEGRITY] = c->perf.integrity_errors,
						 [JUDGE_RECOVERED] = c->perf.link_recoveries,
						 [JUDGE_DOWNED] = c->perf.link_losses,
						 [JUDGE_FEC_UNCORRECTED] = c->perf.fec_uncorrected,
						 [JUDGE_FEC_CORRECTED] = c->perf.fec_corrected,
						 [JUDGE_FEC_SYMBOLS] = c->perf.fec_symbols,
						 [JUDGE_DISCARDS] = c->perf.discards,
						 [JUDGE_WAIT] = c->perf.wait_percent },
				      .confirm = CONFIRM,
				      .recover = RECOVER };
}

json_t *link_health_why(const struct link_health *h, const struct judge_port *judged)
{
	struct judge_limits limits = link_health_limits(h->services.conf);

	return json_sprintf("%.4g %s (limit %.4g)", judged->rate[judged->why],
			    judge_name((enum judge_kind)judged->why), limits.limit[judged->why]);
}
