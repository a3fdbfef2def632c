/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/adaptive/module.h"
#include "fm/control/answer.h"
#include "fm/control/filter.h"
#include "fm/control/option.h"
#include "fm/events/event_log.h"
#include "fm/fabric/view.h"
#include "fm/loop/log.h"
#include "fm/hosts/module.h"
#include "fm/links_out/module.h"
#include "fm/naming/module.h"
#include "fm/multicast/module.h"
#include "fm/nvswitch/module.h"
#include "fm/partition/module.h"
#include "fm/sm/module.h"
#include "routing/adaptive/groups.h"
#include "routing/ftree/route.h"
#include "routing/report/report.h"
#include "topology/base/mem.h"
#include "topology/base/names.h"
#include "topology/base/text.h"
#include "topology/cabling/cabling.h"
#include "topology/graph/cutoff.h"
#include "topology/graph/risk.h"
#include "topology/snapshot/topo_builder.h"

/* ---- Whatif ---------------------------------------------------------------------------------- */

/*
 * A copy of the published snapshot with links down or cordoned, and what the engine makes
 * of it: tables, proof, congestion, and how much of the running tables would change.
 *
 * LIDs, classes and engine are those in force, so the answer is what the fault itself would bring.
 * Hosts may be taken to be in another state of their NVLinks. A plan may add links and devices
 * besides; without one the nodes are the same in the copy, and indices and tables agree.
 * Congestion is measured for today's tables too: a figure alone says little. All this takes seconds
 * on a large fabric; a child process has them.
 */

struct whatif {
	const struct command_env *env;
	const struct topo *present;
	struct topo_builder *builder;
	struct topo *faulty, *t; /* the second with what a plan adds, else the same */
	struct lid_map *lids;	 /* of t */
	struct tables tables;
	uint8_t *states;  /* of hosts; NULL = those in force */
	bool *storage;	  /* by node; NULL = not configured */
	uint8_t *classes; /* by port of t */
	double route_ms, check_ms;
	struct fabric_tried tried;
	unsigned failed, cordoned, added; /* links */
	uint8_t *named;			  /* by port, of a link's lower: what was counted */
};

enum { NAMED_FAILED = 1, NAMED_CORDONED = 2 };

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

/* ---- The copy -------------------------------------------------------------------------------- */

/* A link named twice, or from both its ends, is one. */
static bool is_first(struct whatif *w, const struct topo_port *port, uint8_t how)
{
	uint32_t at = port - w->present->ports;

	if (port->peer < at)
		at = port->peer;
	if (w->named[at] & how)
		return false;
	w->named[at] |= how;
	return true;
}

typedef bool change_fn(struct whatif *w, uint32_t node, unsigned num);

static bool fail_link(struct whatif *w, uint32_t node, unsigned num)
{
	const struct topo_port *port = topo_port(w->present, node, num);

	if (port->peer == TOPO_NONE)
		return false;
	w->failed += is_first(w, port, NAMED_FAILED);
	return topo_builder_link_down(w->builder, node, num) == 0;
}

static bool cordon_link(struct whatif *w, uint32_t node, unsigned num)
{
	const struct topo_port *peer = topo_peer(w->present, topo_port(w->present, node, num));

	if (node >= w->present->nswitches || !peer || peer->node >= w->present->nswitches)
		return false;
	w->cordoned += is_first(w, topo_port(w->present, node, num), NAMED_CORDONED);
	return topo_builder_cordon(w->builder, node, num) == 0;
}

/* One port, or all of a node's or host's. */
static bool change_one(struct whatif *w, const char *what, change_fn *change, char *err)
{
	const uint32_t *nodes;
	unsigned count, changed = 0;
	struct what place;

	if (!command_find_what(w->env, what, WHAT_PLACE, &place, err))
		return false;
	count = what_nodes(w->present, &place, &nodes);
	for (unsigned i = 0; i < count; i++)
		for (unsigned num = 1; num <= w->present->nodes[nodes[i]].nports; num++)
			if (!place.port || num == place.port)
				changed += change(w, nodes[i], num);
	return changed || command_refuse(err, "%s: there is no such link", what);
}

/* change NULL: states of hosts, "HOST=STATE". */
static bool take_all(struct whatif *w, const json_t *list, change_fn *change, char *err)
{
	if (list && !json_is_array(list))
		return command_refuse(err, "arguments: a list of names is expected");
	JSON_EACH (what, list) {
		const char *text = json_string_value(what);

		if (!text)
			return command_refuse(err, "arguments: a name must be text");
		if (change ? !change_one(w, text, change, err)
			   : nvlink_assume(w->env->fabric, text, &w->states, err) != 0)
			return false;
	}
	return true;
}

/* ---- The answer ------------------------------------------------------------------------------ */

void command_congestion(json_t *doc, const struct congestion_scene *scene, uint64_t *by_port)
{
	struct congestion congestion;
	struct ebb ebb;

	congestion_study(scene, &congestion, by_port);
	ebb_measure(scene, NULL, &ebb);
	json_object_set_new(doc, "congestion", report_congestion(&congestion));
	json_object_set_new(doc, "ebb", report_ebb(&ebb));
}

bool *command_storage(const struct fabric *fabric, const struct topo *t)
{
	uint8_t *classes = fabric_port_classes(fabric);
	bool *storage = NULL;

	if (classes) {
		storage = mem_array(storage, t->nnodes);
		for (uint32_t n = 0; n < t->nnodes; n++)
			storage[n] = classes[t->nodes[n].port0] == ROUTE_STORAGE;
		free(classes);
	}
	return storage;
}

/* The running tables as those of t: what is new is as it will be there. */
static struct tables running_tables(const struct whatif *w)
{
	const struct fabric_view view = fabric_view(w->env->fabric);
	struct tables out = { 0 };

	tables_copy(&out, &w->tables);
	for (uint32_t sw = 0; sw < w->t->nswitches; sw++) {
		uint32_t was = topo_find(w->present, w->t->nodes[sw].guid);

		for (unsigned lid = 1; was != TOPO_NONE && lid <= view.lids->top; lid++)
			if (view.lids->port_of_lid[lid] != TOPO_NONE)
				tables_row(&out, sw)[lid] = tables_row(view.tables, was)[lid];
	}
	return out;
}

/* What a plan brings: links, LIDs, pairs; and LIDs that move, which none should. */
static json_t *growth_json(const struct whatif *w, const struct check_report *before,
			   const struct check_report *after)
{
	const struct lid_map *lids = fabric_view(w->env->fabric).lids;
	unsigned new = 0, moved = 0;

	for (uint32_t i = 0; i < w->lids->nports; i++) {
		uint32_t was = topo_find_port(w->present, w->t->ports[i].guid);
		uint16_t lid = was == TOPO_NONE ? 0 : lids->lid_of_port[was];

		new += w->lids->lid_of_port[i] && !lid;
		moved += lid && lid != w->lids->lid_of_port[i];
	}
	return json_pack("{si si si sI}", "links", w->added, "lids_new", new, "lids_moved", moved,
			 "pairs_gained",
			 (json_int_t)after->reachable - (json_int_t)before->reachable);
}

static void try_tables(struct whatif *w)
{
	struct fabric_policy policy = fabric_policy(w->env->fabric, w->t, NULL);

	w->lids = fabric_try(w->env->fabric, w->t, &policy, &w->tables, &w->tried);
	w->classes = policy.classes;
	policy.classes = NULL;
	fabric_policy_fini(&policy);
}

/* Adds what the scene has, and would have with groups of adaptive routing. */
static void add_bandwidth(json_t *doc, const struct congestion_scene *scene, const char *engine,
			  const uint8_t *classes)
{
	struct ar_groups *groups;
	struct check_report proof;
	bool sound;

	command_congestion(doc, scene, NULL);
	if (!strcmp(engine, "updn-root"))
		return;
	groups = ar_groups_new(scene->t, scene->lids, &(struct ar_params){ .classes = classes });
	sound = check_groups(scene->t, scene->lids, scene->tables, groups, &proof);
	json_object_set_new(doc, "adaptive", report_groups(scene, groups, sound, &proof));
	ar_groups_free(groups);
}

static json_t *document(struct whatif *w)
{
	struct fabric *fabric = w->env->fabric;
	struct check_report proof, before;
	struct delta delta = { 0 };
	double start = now_ms();
	const struct fabric_view view = fabric_view(fabric);

	try_tables(w);
	w->route_ms = now_ms() - start;
	start = now_ms();

	bool sound = check_tables(w->t, w->lids, &w->tables, &proof);

	w->check_ms = now_ms() - start;

	if (!w->added)
		w->storage = command_storage(fabric, w->t);

	struct tables running = running_tables(w);

	delta_count(&running, &w->tables, &delta);
	delta.entries_minimum = delta_minimum(w->t, w->lids, w->tried.engine, &running, &w->tables);
	tables_fini(&running);
	fabric_check(fabric, &before);

	json_t *now = json_pack("{so}", "proof", report_proof(&before));

	uint8_t *classes = fabric_port_classes(fabric);

	add_bandwidth(now,
		      &(struct congestion_scene){ w->present, view.lids, view.tables, w->storage },
		      view.engine, classes);
	free(classes);

	json_t *doc = json_pack(
		"{si si si sf sf sb so so so so so so* ss ss* so*}", "links_failed", w->failed,
		"links_cordoned", w->cordoned, "links_down", topo_links_down(w->t), "route_ms",
		w->route_ms, "check_ms", w->check_ms, "sound", sound, "proof", report_proof(&proof),
		"before", now, "delta", report_delta(&delta), "at_risk", risk_json(w->t), "lost",
		lost_json(w->present, w->faulty, fabric_own_node(fabric)), "growth",
		w->t == w->faulty ? NULL : growth_json(w, &before, &proof), "engine",
		w->tried.engine, "engine_why", w->tried.why[0] ? w->tried.why : NULL, "nvswitch",
		w->states ? nvlink_trial(fabric, w->t, w->states, &w->tables) : NULL);

	add_bandwidth(doc, &(struct congestion_scene){ w->t, w->lids, &w->tables, w->storage },
		      w->tried.engine, w->classes);
	return doc;
}

/*
 * A copy of the present with faults and cordons, into w->faulty; nvswitch: states of hosts. False:
 * the reason is in err. whatif_end() frees all that w has.
 */
static bool whatif_begin(struct whatif *w, const json_t *fail, const json_t *cordon,
			 const json_t *nvswitch, char *err)
{
	w->named = mem_alloc(w->present->nports + 1, 1);
	w->builder = topo_builder_from(w->present);
	if (!take_all(w, fail, fail_link, err) || !take_all(w, cordon, cordon_link, err) ||
	    !take_all(w, nvswitch, NULL, err))
		return false;
	w->faulty = topo_freeze(w->builder);
	w->builder = NULL;
	return true;
}

static void whatif_end(struct whatif *w)
{
	topo_builder_free(w->builder);
	topo_unref(w->t);
	topo_unref(w->faulty);
	lid_map_free(w->lids);
	tables_fini(&w->tables);
	free(w->states);
	free(w->storage);
	free(w->classes);
	free(w->named);
}

/* {"fail": [WHAT ..], "cordon": [WHAT ..], "nvswitch": ["HOST=STATE" ..], "plan": TEXT} */
static json_t *whatif_answer(const struct command_env *env, json_t *args, char *err)
{
	struct whatif w = { .env = env, .present = fabric_view(env->fabric).topo };
	json_t *fail = NULL, *cordon = NULL, *nvswitch = NULL, *result = NULL;
	const char *plan = NULL, *file = "plan";

	if (!w.present)
		return command_refuse(err, "no topology yet: the first sweep has not finished");
	if (!command_unpack(args, err, "{s?o, s?o, s?o, s?s, s?s}", "fail", &fail, "cordon",
			    &cordon, "nvswitch", &nvswitch, "plan", &plan, "file", &file))
		return NULL;
	if (whatif_begin(&w, fail, cordon, nvswitch, err)) {
		struct topo *more = plan ? cabling_plan_parse(file, plan, strlen(plan), w.present,
							      err, COMMAND_ERROR_SIZE)
					 : NULL;

		if (!plan)
			w.t = topo_ref(w.faulty);
		else if (more &&
			 cabling_plan_fits(more, w.present, file, plan, err, COMMAND_ERROR_SIZE))
			w.t = cabling_plan_add(more, w.faulty, &w.added);
		topo_unref(more);
		result = w.t ? document(&w) : NULL;
	}
	whatif_end(&w);
	return result;
}

const struct command_run whatif_run = { .answer = whatif_answer, .long_answer = true };

/* ---- Jobs ------------------------------------------------------------------------------------ */

/*
 * What jobs lose and what they get of the fabric, as it is and with failures or cordons. The
 * scheduler's list says which hosts a job has. A host that several jobs name sends for the first.
 */

struct jobs {
	const struct topo *t;
	struct names hosts;
	uint32_t *job_of;  /* by host */
	uint32_t job;	   /* whose list is read */
	struct names lost; /* HCAs */
	json_t *unknown;
	unsigned hosts_known, hcas_lost;
	const char **losing; /* names of hosts */
	uint32_t nlosing;
};

static void take_job_host(void *arg, const char *name)
{
	struct jobs *j = arg;
	uint32_t host = names_find(&j->hosts, name, strlen(name));
	unsigned lost = 0;

	if (host == NAMES_NONE) {
		json_array_append_new(j->unknown, json_string(name));
		return;
	}
	for (uint32_t i = 0; i < j->t->hosts[host].ncas; i++) {
		uint32_t node = j->t->host_cas[j->t->hosts[host].first + i];

		lost += names_find(&j->lost, j->t->nodes[node].name,
				   strlen(j->t->nodes[node].name)) != NAMES_NONE;
	}
	j->hosts_known++;
	j->hcas_lost += lost;
	if (lost && j->nlosing < j->t->nhosts)
		j->losing[j->nlosing++] = j->t->hosts[host].name;
	if (j->job_of[host] == TOPO_NONE)
		j->job_of[host] = j->job;
}

/* [[JOB, HOSTLIST] ..] as rows; NULL: the reason is in err. */
static json_t *job_rows(struct jobs *j, const json_t *list, char *err)
{
	json_t *rows = json_array();

	JSON_EACH (pair, list) {
		const char *name, *hosts;
		char *losing = NULL;

		j->unknown = json_array();
		j->hosts_known = j->hcas_lost = j->nlosing = 0;
		j->job = pair_at;
		if (json_unpack((json_t *)pair, "[ss!]", &name, &hosts) ||
		    !hostlist_each(hosts, take_job_host, j)) {
			json_decref(j->unknown);
			json_decref(rows);
			return command_refuse(err,
					      "job %zu of the list: a job and its list of "
					      "hosts are expected, 4711 gpu-[001-004]",
					      (size_t)pair_at + 1);
		}
		if (j->nlosing)
			losing = hostlist_format(j->losing, j->nlosing);
		json_add(rows, "{ss ss si so* si ss*}", "job", name, "nodes", hosts, "hosts",
			 j->hosts_known, "unknown", json_array_size(j->unknown) ? j->unknown : NULL,
			 "hcas_lost", j->hcas_lost, "losing", losing);
		if (!json_array_size(j->unknown))
			json_decref(j->unknown);
		free(losing);
	}
	return rows;
}

/* Puts what each job gets into its row, as that key; the caller frees the result, by job. */
static struct ebb_job *add_shares(struct jobs *j, json_t *rows, const struct topo *t,
				  const struct lid_map *lids, const struct tables *tables,
				  const char *key)
{
	const struct congestion_scene scene = { .t = t, .lids = lids, .tables = tables };
	uint32_t count = json_array_size(rows);
	struct ebb_job *jobs = mem_array(jobs, count + 1);

	ebb_jobs(&scene, j->job_of, count, jobs);
	JSON_EACH (row, rows)
		json_object_set_new((json_t *)row, key,
				    json_pack("{sf sf sf}", "share", jobs[row_at].share, "alone",
					      jobs[row_at].alone, "time", jobs[row_at].time));
	return jobs;
}

/* {"jobs": [[JOB, HOSTLIST] ..], "hit": bool, "fail": [WHAT ..], "cordon": [WHAT ..]} */
static json_t *jobs_answer(const struct command_env *env, json_t *args, char *err)
{
	struct whatif w = { .env = env, .present = fabric_view(env->fabric).topo };
	json_t *fail = NULL, *cordon = NULL, *lost = NULL, *list, *rows = NULL;
	struct jobs j = { .t = w.present };
	int hit = 0;

	if (!command_topo(env, err) ||
	    !command_unpack(args, err, "{s:o, s?o, s?o, s?b}", "jobs", &list, "fail", &fail,
			    "cordon", &cordon, "hit", &hit))
		return NULL;
	j.job_of = mem_array(j.job_of, j.t->nhosts + 1);
	j.losing = mem_array(j.losing, j.t->nhosts + 1);
	for (uint32_t h = 0; h < j.t->nhosts; h++) {
		names_id(&j.hosts, j.t->hosts[h].name, strlen(j.t->hosts[h].name));
		j.job_of[h] = TOPO_NONE;
	}
	if (whatif_begin(&w, fail, cordon, NULL, err)) {
		bool changed = w.failed || w.cordoned;

		lost = lost_json(changed ? w.present : NULL, w.faulty,
				 fabric_own_node(env->fabric));
		JSON_EACH (hca, json_object_get(lost, "hcas"))
			names_id(&j.lost, json_string_value(hca), json_string_length(hca));
		rows = job_rows(&j, list, err);
		if (rows) {
			const struct fabric_view view = fabric_view(env->fabric);
			struct ebb_job *then = NULL,
				       *now = add_shares(&j, rows, w.present, view.lids,
							 view.tables, "now");

			if (changed) {
				w.t = topo_ref(w.faulty);
				try_tables(&w);
				then = add_shares(&j, rows, w.t, w.lids, &w.tables, "then");
			}
			/* Who is hit loses an HCA, or more than a hundredth of its share. */
			for (size_t i = json_array_size(rows); i-- > 0;) {
				json_t *row = json_array_get(rows, i);
				bool is_hit = json_number(row, "hcas_lost") ||
					      (then && then[i].share < now[i].share * 0.99);

				json_object_set_new(row, "hit", json_boolean(is_hit));
				if (hit && !is_hit)
					json_array_remove(rows, i);
			}
			free(now);
			free(then);
		}
	}
	whatif_end(&w);
	names_fini(&j.hosts);
	free(j.job_of);
	free(j.losing);
	names_fini(&j.lost);
	json_decref(lost);
	return rows;
}

const struct command_run jobs_run = { .answer = jobs_answer,
				      .long_answer = true,
				      .begin_with = hosts_jobs,
				      .answers_after = true,
				      .of_standby = true };

/* ---- Answer operations ----------------------------------------------------------------------- */

/*
 * answer_names: what may be typed next, for a shell's completion: the names of a kind that begin
 * with what is typed already. HCAs come where a host's name is typed out, and ports behind `NODE:`,
 * so that a fabric of 16,384 HCAs offers its 2,048 hosts.
 */

#define NAMES_MAX 8192

struct names_asked {
	const struct command_env *env;
	const struct topo *t; /* NULL = nothing is published yet */
	const char *prefix;
	size_t len;
	json_t *list;
};

static void offer(struct names_asked *n, const char *name)
{
	if (!strncmp(name, n->prefix, n->len) && json_array_size(n->list) < NAMES_MAX)
		json_array_append_new(n->list, json_string(name));
}

/* Whether the prefix is `NODE:`, and maybe more; then its ports are offered. */
static bool is_port_of(struct names_asked *n, uint32_t node)
{
	const struct topo_node *at = &n->t->nodes[node];
	size_t len = strlen(at->name);
	char name[128];

	if (n->len <= len || n->prefix[len] != ':' || strncmp(at->name, n->prefix, len))
		return false;
	TOPO_LINKS (n->t, node, port, peer) {
		array_printf(name, "%s:%u", at->name, port->num);
		offer(n, name);
	}
	return true;
}

static void offer_switches(struct names_asked *n, bool leaves)
{
	for (uint32_t sw = 0; n->t && sw < n->t->nswitches; sw++)
		if (!leaves || n->t->nodes[sw].level == 0)
			offer(n, n->t->nodes[sw].name);
}

static void list_hosts(struct names_asked *n)
{
	for (uint32_t h = 0; n->t && h < n->t->nhosts; h++)
		offer(n, n->t->hosts[h].name);
}

static void list_parts(struct names_asked *n)
{
	size_t before = json_array_size(n->list);

	list_hosts(n);
	offer_switches(n, false);
	for (uint32_t node = 0; n->t && node < n->t->nnodes; node++)
		if (is_port_of(n, node))
			return;
	for (uint32_t node = n->t ? n->t->nswitches : 0; n->t && node < n->t->nnodes; node++)
		if (topo_is_host(n->t, node) &&
		    (strchr(n->prefix, ' ') || json_array_size(n->list) == before))
			offer(n, n->t->nodes[node].name);
}

static void list_keys(struct names_asked *n, json_t *rows, const char *key)
{
	json_t *seen = json_object();

	JSON_EACH (row, rows) {
		const char *name = json_text(row, key);

		if (name && !json_object_get(seen, name)) {
			json_object_set_new(seen, name, json_true());
			offer(n, name);
		}
	}
	json_decref(seen);
	json_decref(rows);
}

/* False: there are no names of that kind. */
static bool list_names(struct names_asked *n, const char *kind)
{
	const char *event;

	if (!strcmp(kind, "what"))
		list_parts(n);
	else if (!strcmp(kind, "host"))
		list_hosts(n);
	else if (!strcmp(kind, "switch") || !strcmp(kind, "leaf"))
		offer_switches(n, *kind == 'l');
	else if (!strcmp(kind, "group"))
		list_keys(n, multicast_groups(n->env->fabric), "mlid");
	else if (!strcmp(kind, "partition"))
		list_keys(n, partitions_document(n->env->fabric, NULL), "name");
	else if (strcmp(kind, "event"))
		return false;
	else
		for (unsigned i = 0; (event = event_kind_at(i)); i++)
			offer(n, event);
	return true;
}

static json_t *answer_names(const struct command_env *env, json_t *args, char *err)
{
	struct names_asked n = { .env = env, .t = fabric_view(env->fabric).topo, .prefix = "" };
	const char *kind;

	if (!command_unpack(args, err, "{s:s s?s}", "kind", &kind, "prefix", &n.prefix))
		return NULL;
	n.len = strlen(n.prefix);
	n.list = json_array();
	if (list_names(&n, kind))
		return n.list;
	json_decref(n.list);
	return command_refuse(err, "there are no names of kind %s", kind);
}
/* Groups and partitions are listed with all their members. */
const struct command_run names_run = { .answer = answer_names, .long_answer = true };

/* answer_cabling: the cables that are wrong by the regular pattern of the fabric. */

static json_t *answer_cabling(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = command_topo(env, err);

	if (!t || !command_unpack(args, err, "{}"))
		return NULL;

	struct cabling *rails = cabling_rails(t);
	struct cabling *pattern = cabling_pattern(t);
	json_t *result = json_pack("{s:o, s:o}", "rails", cabling_json(rails), "pattern",
				   cabling_json(pattern));

	cabling_free(rails);
	cabling_free(pattern);
	return result;
}
const struct command_run cabling_run = { .answer = answer_cabling, .long_answer = true };

/*
 * answer_operations: commands that change something: operations of the fabric, which calls back
 * when they are done, and settings of the daemon itself.
 */

const struct command_run reroute_run = { .begin = fabric_reroute };
const struct command_run sweep_run = { .begin = fabric_sweep };

static void cordon(struct fabric *fabric, const char *what, fabric_done_fn *fn, void *arg)
{
	links_out_cordon(fabric, what, true, fn, arg);
}

static void uncordon(struct fabric *fabric, const char *what, fabric_done_fn *fn, void *arg)
{
	links_out_cordon(fabric, what, false, fn, arg);
}

const struct command_run cordon_run = { .act = cordon };
const struct command_run uncordon_run = { .act = uncordon };
const struct command_run release_run = { .act = links_out_release };
const struct command_run host_accept_run = { .act = naming_accept };
const struct command_run handover_run = { .act = sm_hand_over };
const struct command_run takeover_run = { .act = sm_take_over, .of_standby = true };

static void begin_probe(struct fabric *fabric, json_t *args, fabric_done_fn *fn, void *arg)
{
	const char *subject = NULL, *name = NULL;
	char err[COMMAND_ERROR_SIZE];
	uint32_t sw = TOPO_NONE;

	if (!command_unpack(args, err, "{s?s, s?s}", "text", &subject, "switch", &name) ||
	    (name && (sw = command_find_switch(&(struct command_env){ .fabric = fabric }, name,
					       err)) == TOPO_NONE))
		fn(arg, NULL, err);
	else if (!subject || strcmp(subject, "ar"))
		fn(arg, NULL, "what to probe: ar is expected");
	else
		adaptive_probe(fabric, sw, fn, arg);
}
const struct command_run probe_run = { .begin_with = begin_probe, .of_standby = true };

static void begin_forget(struct fabric *fabric, json_t *args, fabric_done_fn *fn, void *arg)
{
	char err[COMMAND_ERROR_SIZE];
	const char *what = NULL;
	int down = 0;

	if (!command_unpack(args, err, "{s?s, s?b}", "what", &what, "down", &down))
		fn(arg, NULL, err);
	else if (!what == !down)
		fn(arg, NULL, "arguments: give either what or down");
	else
		links_out_forget(fabric, what, fn, arg);
}
const struct command_run forget_run = { .begin_with = begin_forget };

static void begin_admit(struct fabric *fabric, json_t *args, fabric_done_fn *fn, void *arg)
{
	char err[COMMAND_ERROR_SIZE];
	const char *what = NULL, *plan = NULL, *file = "plan";
	int dry = 0, revoke = 0;

	if (!command_unpack(args, err, "{s?s, s?b, s?b, s?s, s?s}", "what", &what, "dry-run", &dry,
			    "revoke", &revoke, "plan", &plan, "file", &file))
		fn(arg, NULL, err);
	else if (!what == !plan || (revoke && (plan || dry)))
		fn(arg, NULL, "arguments: give either what or a plan");
	else if (revoke)
		admission_revoke(links_out_admission(fabric), what, fn, arg);
	else if (what)
		admission_admit(links_out_admission(fabric), what, dry, fn, arg);
	else
		admission_plan(links_out_admission(fabric), file, plan, dry, fn, arg);
}
const struct command_run admit_run = { .begin_with = begin_admit };

static json_t *answer_held(const struct command_env *env, json_t *args, char *err)
{
	return command_unpack(args, err, "{}") ? admission_rows(links_out_admission(env->fabric))
					       : NULL;
}
const struct command_run held_run = { .answer = answer_held };

static void begin_nvswitch(struct fabric *fabric, json_t *args, fabric_done_fn *fn, void *arg)
{
	const char *host, *state = NULL;
	char err[COMMAND_ERROR_SIZE];
	int gpus = -1;

	if (command_unpack(args, err, "{s:s, s?s, s?i}", "host", &host, "state", &state, "gpus",
			   &gpus)) {
		const struct command_env env = { .fabric = fabric };
		const char *known = command_find_host(&env, host);

		nvlink_set(fabric, known ? known : host, state, gpus, fn, arg);
	} else
		fn(arg, NULL, err);
}
const struct command_run nvswitch_set_run = { .begin_with = begin_nvswitch };

static json_t *answer_health_report(const struct command_env *env, json_t *args, char *err)
{
	struct health_report report;
	json_t *ttl;

	if (!command_unpack(args, err, "{s:s, s:s, s:s, s:s, s:o}", "source", &report.source,
			    "host", &report.host, "state", &report.state, "reason", &report.reason,
			    "ttl", &ttl))
		return NULL;

	/* As a number, or as it was typed; 0 = neither, which no TTL is. */
	const char *text = json_string_value(ttl);
	char *end;

	report.ttl_s = text ? strtod(text, &end) : json_number_value(ttl);
	report.ttl_s = text && (!*text || *end) ? 0 : report.ttl_s;
	return nvlink_hear_report(env->fabric, &report, err);
}
const struct command_run health_report_run = { .answer = answer_health_report };

static json_t *answer_reload(const struct command_env *env, json_t *args, char *err)
{
	if (!command_unpack(args, err, "{}") ||
	    env->reload(env->reload_arg, err, COMMAND_ERROR_SIZE))
		return NULL;
	return json_object();
}
const struct command_run reload_run = { .answer = answer_reload };

static json_t *answer_loglevel(const struct command_env *env, json_t *args, char *err)
{
	const char *module = NULL, *level;

	if (!command_unpack(args, err, "{s:s, s?s}", "level", &level, "module", &module) ||
	    !value_check("LEVEL", level, err, COMMAND_ERROR_SIZE) ||
	    (module && !value_check("MODULE", module, err, COMMAND_ERROR_SIZE)))
		return NULL;
	log_set_level(module ? log_module_parse(module) : -1, log_level_parse(level));
	return json_pack("{s:s, s:s}", "module", module ? module : "all", "level", level);
}
const struct command_run loglevel_run = { .answer = answer_loglevel };
