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

/* Whose word alone is enough. */
static enum nvswitch_trust trust_needed(const char *word)
{
	if (!strcmp(word, "never"))
		return NVSWITCH_ANYONE;
	return strcmp(word, "pushed") ? NVSWITCH_PROVEN : NVSWITCH_ASKED;
}

static enum fm_progress progress_of(const char *word)
{
	if (!strcmp(word, "normal"))
		return FM_PROGRESS_NORMAL;
	return strcmp(word, "failed") ? FM_PROGRESS_DEGRADED : FM_PROGRESS_FAILED;
}

struct nvswitch_conf nvlink_conf(const struct conf *c)
{
	const struct nvswitch_policy policy = nvswitch_policy(c);
	bool asks = c->nvswitch_poll_interval_ms > 0;
	struct nvswitch_conf conf = {
		.url = asks ? c->nvswitch_url : "",
		.hosts_file = asks ? c->nvswitch_hosts_file : "",
		.alias_file = c->nvswitch_alias_file,
		.ca_file = c->nvswitch_ca_file,
		.syslog_listen = c->syslog_listen,
		.syslog_allow = c->syslog_allow,
		.log_socket = c->log_socket,
		.kmsg = c->kmsg,
		.hook = c->nvswitch_hook,
		.system = (enum nvswitch_system)nvswitch_system_parse(c->nvswitch_system),
		.interval_us = c->nvswitch_poll_interval_ms * 1000ull,
		.timeout_ms = limit_ms(c->nvswitch_timeout_ms),
		.hook_timeout_ms = limit_ms(c->nvswitch_hook_timeout_ms),
		.body_max = (size_t)c->nvswitch_body_limit << 10,
		.link_window_us = c->nvswitch_link_window_ms * 1000ull,
		.retry_us = c->retry_interval_ms * 1000ull,
		.fm_in_progress = progress_of(c->nvswitch_fm_in_progress),
		.health = { .worsen_us = c->nvswitch_worsen_hold_ms * 1000ull,
			    .recover_us = c->nvswitch_recover_hold_ms * 1000ull,
			    .interval_us = c->nvswitch_reroute_interval_ms * 1000ull,
			    .stale_us = c->nvswitch_poll_interval_ms * 1000ull * STALE_INTERVALS,
			    .sure = trust_needed(c->nvswitch_second_source),
			    .guard_percent = (unsigned)c->nvswitch_guard },
	};

	nvswitch_policy_number(&policy, conf.health.treatment);
	return conf;
}
