/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* conf_health: keys of fmd.conf about links and hosts that are not well; as conf_keys.h. */
#ifndef FMD_CONF_CONF_HEALTH_H
#define FMD_CONF_CONF_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

struct conf_quarantine {
	int flap_count, flap_window_ms; /* falls within: quarantine; 0 = never */
	int time_ms, time_max_ms;
	int min_uplinks; /* percent that a leaf keeps */
};

struct conf_hosts {
	char hook[256];
	int hook_timeout_ms;
	int worsen_hold_ms, recover_hold_ms; /* how long a verdict must last; 0 = not at all */
	int guard;			     /* percent of the hosts; 100 = none */
};

enum conf_action { CONF_WARN, CONF_QUARANTINE };
struct conf_perf {
	int interval_ms;				 /* of a pass over all counters; 0 = none */
	int symbol_errors, rcv_errors, integrity_errors; /* a minute */
	int link_recoveries, link_losses;		 /* an hour */
	int fec_uncorrected, fec_corrected;		 /* blocks a minute */
	int fec_symbols;				 /* wrong ones in a billion */
	int discards, wait_percent;			 /* a minute; of the time */
	int action;					 /* enum conf_action */
	int fec_action; /* enum conf_action, for what error correction counts */
};

struct conf_ber { /* error rates of links over time */
	int window_ms, long_window_ms;
	double limit, long_limit; /* share of the bits; 0 = not judged */
	int clean_ms;		  /* until a link returns */
	int max_links;		  /* at once, or 0.5 % of them */
	char exclude[1024];	  /* patterns of names, by blanks */
	bool dry_run;
};

#endif
