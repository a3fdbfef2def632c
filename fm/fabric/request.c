/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* request: one set of merged requests; the scheduler serves it from the loop. */
#include "fm/fabric/request.h"
#include <stdlib.h>
#include "fm/loop/log.h"
#include "fm/fabric/pipe.h"

static void serve_soon(struct fabric *f, const char *what, const char *reason)
{
	log_line(LOG_CORE, LOG_DEBUG, "fabric: %s requested: %s", what, reason);
	loop_timer_set(f->requests.timer, 0);
}

void fabric_request_sweep(struct fabric *f, const char *reason)
{
	f->requests.sweep = true;
	serve_soon(f, "sweep", reason);
}

void fabric_request_refresh(struct fabric *f, guid_t node, const char *reason)
{
	guid_list_add(&f->requests.dirty, node);
	serve_soon(f, "refresh", reason);
}

void fabric_request_reroute(struct fabric *f, const char *reason)
{
	f->requests.reroute = true;
	serve_soon(f, "reroute", reason);
}

void fabric_request_retry(struct fabric *f, const char *reason)
{
	log_line(LOG_CORE, LOG_DEBUG, "fabric: retry requested: %s", reason);
	f->requests.retry = true;
}

void fabric_request_reregister(struct fabric *f, const char *reason)
{
	log_line(LOG_CORE, LOG_DEBUG, "fabric: registration anew requested: %s", reason);
	f->requests.reregister = true;
}

void fabric_report_hosts_changed(struct fabric *f)
{
	MODULES_CALL(f->kept.modules, published, FABRIC_HOSTS_CHANGED, NULL);
}

void fabric_request_lids_free(struct fabric *f, guid_t port_guid)
{
	lid_memory_drop(&f->memory, port_guid);
}

void fabric_request_improvement(struct fabric *f, const char *reason)
{
	serve_soon(f, "improvement", reason);
}

bool fabric_sweeping(const struct fabric *f)
{
	return f->requests.sweep || sweep_discovers(f->sweep);
}

bool fabric_requests_wait(const struct fabric *f)
{
	return f->requests.sweep || f->requests.reroute || f->requests.dirty.count;
}

void fabric_publish_partitions(struct fabric *f, const struct partition_set *set,
			       const struct pkey_map *pkeys)
{
	f->now.partitions = set;
	f->now.pkeys = pkeys;
	bringup_set_pkeys(f->bringup, pkeys);
}

void fabric_request_reregister_port(struct fabric *f, guid_t node, uint8_t port)
{
	bringup_reregister_port(f->bringup, node, port);
}

void fabric_requests_init(struct fabric *f, loop_fn *serve)
{
	f->requests.timer = loop_timer_new(f->loop, serve, f);
}

void fabric_requests_fini(struct fabric *f)
{
	loop_timer_free(f->requests.timer);
	free(f->requests.dirty.guids);
}
