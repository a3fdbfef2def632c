/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <unistd.h>
#include "fm/adaptive/module.h"
#include "fm/nvswitch/state.h"
#include "fm/registers/module.h"
#include "tests/lib/control_fabric.h"

struct fabric_view fabric_view(const struct fabric *f)
{
	if (!f->topo)
		return (struct fabric_view){ 0 };
	return (struct fabric_view){
		.topo = f->topo, .lids = &f->lids, .tables = &f->tables, .engine = "ftree"
	};
}

json_t *fabric_status(const struct fabric *f)
{
	return json_pack("{s:s}", "state", "master");
}

struct fabric_services fabric_services(struct fabric *f)
{
	static const struct conf conf;
	static struct inventory inventory; /* nothing was swept */

	cl_qmap_init(&inventory.nodes);
	return (struct fabric_services){ .conf = &conf, .inventory = &inventory };
}

/* All hosts are healthy except the one that the test has set. */
json_t *hosts_document(struct fabric *f, hosts_asked_fn *asked, const void *arg)
{
	json_t *rows = json_array();

	for (uint32_t h = 0; h < f->topo->nhosts; h++) {
		const struct host_verdict verdict = { .state = h + 1 == f->unhealthy_host
								       ? HOST_DEGRADED
								       : HOST_HEALTHY };

		if (!asked || asked(arg, h, &verdict))
			json_array_append_new(rows, dump_json_host(f->topo, h));
	}
	return rows;
}

json_t *inforce_json(const struct fabric *f)
{
	return json_pack("{si}", "pairs_waiting", (int)f->pairs_waiting);
}

const struct tables *inforce_tables(struct fabric *f)
{
	return &f->tables;
}

json_t *inforce_waits_json(struct fabric *f, uint32_t from, uint16_t lid)
{
	return f->pairs_waiting ? json_pack("{ss ss}", "node", "leaf-1", "why", "takes no Sets")
				: NULL;
}

const struct mcast_plan *multicast_trees(const struct fabric *f)
{
	return NULL;
}

json_t *partitions_document(const struct fabric *f, const char *which)
{
	if (which && strcmp(which, "tenant-a") && strcmp(which, "0x8001"))
		return NULL;
	return json_pack("[{s:s, s:s}]", "name", "tenant-a", "pkey", "0x0001");
}

json_t *multicast_groups(const struct fabric *f)
{
	return json_pack("[{s:s, s:s}, {s:s, s:s}]", "mgid", "ff12:401b:ffff::1", "mlid", "0xc000",
			 "mgid", "ff12:401b:ffff::2", "mlid", "0xc001");
}

json_t *multicast_groups_of(const struct fabric *f, unsigned mlid, const uint8_t mgid[16])
{
	json_t *groups = multicast_groups(f);

	for (size_t i = json_array_size(groups); i-- > 0;)
		if ((mlid && mlid != 0xc000 + i) || (mgid && mgid[15] != i + 1))
			json_array_remove(groups, i);
	return groups;
}

const char *sm_refuses(const struct fabric *f)
{
	return f->refusal;
}

json_t *fabric_events(const struct fabric *f, unsigned count)
{
	json_t *events = f->events ? json_deep_copy(f->events) : json_array();

	for (unsigned i = 0; i < count && !f->events; i++)
		json_array_append_new(events, json_integer(i));
	return events;
}

json_t *fabric_find_events(const struct fabric *f, const struct event_query *query, unsigned count)
{
	return fabric_events(f, count);
}

uint32_t fabric_own_node(const struct fabric *f)
{
	return TOPO_NONE;
}

bool fabric_check(const struct fabric *f, struct check_report *report)
{
	return check_tables(f->topo, &f->lids, &f->tables, report);
}

void finish_operation(struct fabric *f, json_t *result, const char *error)
{
	fabric_done_fn *fn = f->act_fn;

	f->act_fn = NULL;
	fn(f->act_arg, result, error);
	json_decref(result);
}

void fabric_reroute(struct fabric *f, fabric_done_fn *fn, void *arg)
{
	f->acts++;
	f->act_fn = fn;
	f->act_arg = arg;
	if (f->instant)
		finish_operation(f, json_pack("{s:i}", "blocks", 7), NULL);
}

void fabric_sweep(struct fabric *f, fabric_done_fn *fn, void *arg)
{
	fabric_reroute(f, fn, arg);
}

void audit_readback(struct fabric *f, fabric_done_fn *fn, void *arg)
{
	fabric_reroute(f, fn, arg);
}

void links_out_cordon(struct fabric *f, const char *what, bool on, fabric_done_fn *fn, void *arg)
{
	f->cordon_on = on;
	snprintf(f->cordoned, sizeof(f->cordoned), "%s", what);
	fabric_reroute(f, fn, arg);
}

const char *links_out_cordoned_since(const struct fabric *f, guid_t node, unsigned port)
{
	return node == f->cordoned_node && !port ? "2026-11-20T01:00:00.000Z" : NULL;
}

void links_out_release(struct fabric *f, const char *what, fabric_done_fn *fn, void *arg)
{
	links_out_cordon(f, what, false, fn, arg);
}

void links_out_forget(struct fabric *f, const char *what, fabric_done_fn *fn, void *arg)
{
	links_out_cordon(f, what ? what : "all that is down", false, fn, arg);
}

/* Of this double the fabric stands for what it holds. */
struct admission *links_out_admission(const struct fabric *f)
{
	return (struct admission *)f;
}

void admission_admit(struct admission *a, const char *what, bool dry, fabric_done_fn *fn, void *arg)
{
	links_out_cordon((struct fabric *)a, what, dry, fn, arg);
}

void admission_plan(struct admission *a, const char *name, const char *text, bool dry,
		    fabric_done_fn *fn, void *arg)
{
	(void)text;
	links_out_cordon((struct fabric *)a, name, dry, fn, arg);
}

json_t *admission_rows(const struct admission *a)
{
	return json_array();
}

void sm_hand_over(struct fabric *f, const char *manager, fabric_done_fn *fn, void *arg)
{
	links_out_cordon(f, manager ? manager : "the highest", false, fn, arg);
}

json_t *links_down(const struct fabric *f)
{
	return dump_json_links(f->topo, true);
}

json_t *adaptive_switches(const struct fabric *f)
{
	return dump_json_nodes(f->topo, true);
}

json_t *link_health_links(const struct fabric *f)
{
	return f->unhealthy ? json_deep_copy(f->unhealthy)
			    : json_pack("[{s:s}]", "sick", "quarantined");
}

void nvlink_set(struct fabric *f, const char *host, const char *state, int gpus, waiter_fn *fn,
		void *arg)
{
	if (gpus >= 0)
		snprintf(f->cordoned, sizeof(f->cordoned), "%s %d GPUs", host, gpus);
	else
		snprintf(f->cordoned, sizeof(f->cordoned), "%s %s", host,
			 state ? state : "as it is");
	fabric_reroute(f, fn, arg);
}

json_t *nvlink_hear_report(struct fabric *f, const struct health_report *report, char *err)
{
	if (!(report->ttl_s >= 1)) {
		strcpy(err, "the TTL is no time");
		return NULL;
	}
	snprintf(f->cordoned, sizeof(f->cordoned), "%s %s %s %s", report->source, report->host,
		 report->state, report->reason);
	return json_pack("{ss sf}", "host", report->host, "ttl_s", report->ttl_s);
}

json_t *nvlink_hosts(const struct fabric *f)
{
	return json_pack("{s:[]}", "hosts");
}

json_t *link_health(const struct fabric *f)
{
	return json_pack("{si s:[]}", "process", (int)getpid(), "links");
}

void link_health_read(struct fabric *f, fabric_done_fn *fn, void *arg)
{
	fabric_reroute(f, fn, arg);
}

uint64_t link_health_now_us(const struct fabric *f)
{
	return f->now_us;
}

void link_health_each_port(const struct fabric *f, port_counters_fn *fn, void *arg)
{
	for (uint32_t p = 0; f->counters && p < f->topo->nports; p++)
		if (f->topo->ports[p].peer != TOPO_NONE)
			fn(arg, p, counters_read_us(&f->counters[p]) ? &f->counters[p] : NULL);
}

int nvlink_assume(const struct fabric *f, const char *text, uint8_t **states, char *err)
{
	if (strcmp(text, "host-1=NO_P2P")) {
		snprintf(err, NVSWITCH_ERROR, "no host there: %s", text);
		return -1;
	}
	free(*states);
	*states = mem_alloc(1, 1);
	return 0;
}

json_t *nvlink_trial(const struct fabric *f, const struct topo *variant, const uint8_t *states,
		     const struct tables *tables)
{
	return json_pack("[{ss}]", "host", "host-1");
}

struct fabric_policy fabric_policy(const struct fabric *f, const struct topo *t,
				   const struct fabric_module *without)
{
	return (struct fabric_policy){ .classes = f->classes };
}

void fabric_policy_fini(struct fabric_policy *policy)
{
}

struct lid_map *fabric_try(const struct fabric *f, const struct topo *variant,
			   const struct fabric_policy *policy, struct tables *out,
			   struct fabric_tried *tried)
{
	*tried = (struct fabric_tried){ .engine = "ftree" };
	tables_copy(out, &f->tables);
	for (uint32_t h = 1; h <= HOSTS; h++)
		if (!topo_port(variant, 0, h)->link_up)
			tables_row(out, 0)[h + 1] = TABLES_NO_ROUTE;
	return lid_map_copy(&f->lids);
}

uint8_t *fabric_port_classes(const struct fabric *f)
{
	return NULL;
}

void fabric_follow(struct fabric *f, fabric_event_fn *fn, void *arg)
{
	f->event_fn = fn;
	f->event_arg = arg;
}

void fabric_unfollow(struct fabric *f, void *arg)
{
	assert(arg == f->event_arg);
	f->event_fn = NULL;
}

/* The list is in the arguments. */
void hosts_jobs(struct fabric *f, json_t *args, waiter_fn *fn, void *arg)
{
	fn(arg, NULL, NULL);
}

/* ---- What `show` asks ------------------------------------------------------------------------ */

json_t *fabric_alerts(const struct fabric *f)
{
	return json_pack("[{ss ss ss}]", "what", "isolated", "since", "2026-11-23T03:00:00.000Z",
			 "text", "host-1: isolated");
}

const struct port_counters *link_health_counters(const struct fabric *f, guid_t node, uint8_t port)
{
	return f->counters ? &f->counters[topo_port_of(f->topo, node, port)] : NULL;
}

/* No port reports why its link went down. */
bool link_down_reason(const struct fabric *f, guid_t node, uint8_t port,
		      struct link_down_reason *out)
{
	*out = (struct link_down_reason){ 0 };
	return false;
}

/* No module was read. */
json_t *link_module(const struct fabric *f, guid_t node, uint8_t port)
{
	return NULL;
}

json_t *link_bit_errors(const struct fabric *f, guid_t node, uint8_t port)
{
	return NULL;
}

void link_bit_errors_read(struct fabric *f, guid_t node, uint8_t port, waiter_fn *fn, void *arg)
{
	fn(arg, NULL, NULL);
}

json_t *device_facts(const struct fabric *f, guid_t node)
{
	return NULL;
}

const struct fec_mode *link_health_fec(const struct fabric *f, guid_t node, uint8_t port)
{
	const struct fec_mode *mode = f->fec ? &f->fec[topo_port_of(f->topo, node, port)] : NULL;

	return mode && mode->state == FEC_KNOWN ? mode : NULL;
}

void link_down_since(const struct fabric *f, uint32_t port, char since[LINK_SINCE])
{
	snprintf(since, LINK_SINCE, "%s", f->down_since ? f->down_since : "");
}

guid_t sa_port_of_alias(const struct fabric *f, guid_t alias)
{
	return f->alias && alias == f->alias ? f->alias_port : 0;
}

json_t *sa_known_of_port(const struct fabric *f, guid_t port)
{
	return json_object();
}

void hosts_judge(struct fabric *f, uint32_t host, struct host_verdict *out)
{
	*out = (struct host_verdict){ .state = HOST_HEALTHY };
}

void hosts_add_verdict(const struct host_verdict *verdict, json_t *row)
{
}
