/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <string.h>
#include "fm/nvswitch/evidence.h"
#include "fm/nvswitch/module_own.h"
#include "fm/nvswitch/policy.h"

#define STALE_INTERVALS 3 /* without an answer: nothing is known */
#define LIMIT_MAX_MS	600000

/* There is always one. */
static unsigned limit_ms(int configured)
{
	return configured ? (unsigned)configured : LIMIT_MAX_MS;
}

struct nvswitch_conf nvlink_conf(const struct conf *c)
{
	const struct nvswitch_policy policy = nvswitch_policy(c);
	struct nvswitch_conf conf = {
		.keys = c->nvswitch,
		.interval_us = c->nvswitch.poll_interval_ms * 1000ull,
		.timeout_ms = limit_ms(c->nvswitch.timeout_ms),
		.hook_timeout_ms = limit_ms(c->nvswitch.hook_timeout_ms),
		.body_max = (size_t)c->nvswitch.body_limit << 10,
		.link_window_us = c->nvswitch.link_window_ms * 1000ull,
		.retry_us = c->retry_interval_ms * 1000ull,
		.health = { .worsen_us = c->nvswitch.worsen_hold_ms * 1000ull,
			    .recover_us = c->nvswitch.recover_hold_ms * 1000ull,
			    .interval_us = c->nvswitch.reroute_interval_ms * 1000ull,
			    .stale_us = c->nvswitch.poll_interval_ms * 1000ull * STALE_INTERVALS,
			    .sure = (enum nvswitch_trust)c->nvswitch.second_source,
			    .guard_percent = (unsigned)c->nvswitch.guard },
	};

	if (!c->nvswitch.poll_interval_ms) /* exporters are not asked */
		*conf.keys.url = *conf.keys.hosts_file = 0;
	nvswitch_policy_number(&policy, conf.health.treatment);
	return conf;
}
