/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <fcntl.h>
#include <unistd.h>
#include "fm/cabling/module.h"
#include "fm/conf/lists.h"
#include "fm/hosts/module.h"
#include "fm/links_out/module.h"
#include "fm/nvswitch/module.h"
#include "fm/os/helper.h"
#include "fm/perf/module.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"
#include "topology/files/dump.h"
#include "topology/graph/cutoff.h"

struct job_list { /* what job_command prints */
	struct waiters waiters;
	struct helper_run *run; /* NULL = it does not run */
	struct loop_timer *late;
	struct loop_fd *watch;
	struct bytes text;
	int fd; /* the end of a pipe that is read */
};

struct hosts_room {
	struct fabric *fabric;
	struct fabric_services services;
	uint8_t *fates; /* enum cutoff_fate by node of the published snapshot; NULL = not known */

	struct watch watch;
	struct hook *hook;
	struct job_list jobs;
	struct loop_timer *timer; /* of the next slice, pass or report */
	bool settled;		  /* once since the room began: links had the time to come up */
	bool passing, reporting;  /* a pass is under way; its results are being reported */
	bool again;		  /* another pass is to follow */
	uint32_t next;		  /* the next host of the pass or report */
	uint64_t next_us;	  /* from the end of the pass till something is due */
	bool logged[HOST_STATES]; /* in one event for all hosts */
	unsigned counting[HOST_STATES], counts[HOST_STATES]; /* of this pass; of the latest one */
};

/* ---- When a change is reported --------------------------------------------------------------- */

/*
 * The guard: if very many hosts are cut off at once, the manager itself is more likely cut
 * off, with its own leaf, and jobs on those hosts go on.
 */

#define GUARD_MIN 1 /* this many hosts may always be cut off */

static void free_list(struct watched *list, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		free(list[i].name);
	free(list);
}

void watch_fini(struct watch *w)
{
	free_list(w->list, w->count);
	free_list(w->next, w->nnext);
	names_fini(&w->names);
}

static struct watched *find(const struct watch *w, const char *host)
{
	uint32_t id = names_find(&w->names, host, strlen(host));

	return id == NAMES_NONE ? NULL : &w->list[id];
}

void watch_recall(struct watch *w, const char *host, enum host_state reported)
{
	struct watched *it = find(w, host);

	if (!it) {
		w->list = mem_grow(w->list, w->count);
		it = &w->list[w->count++];
		*it = (struct watched){ .name = mem_strdup(host) };
		names_id(&w->names, it->name, strlen(it->name));
	}
	it->reported = it->now = reported;
}

/* ---- Passes ---------------------------------------------------------------------------------- */

void watch_begin(struct watch *w)
{
	free_list(w->next, w->nnext);
	w->next = NULL;
	w->nnext = 0;
}

void watch_take(struct watch *w, const char *host, enum host_state now, bool held, uint64_t now_us)
{
	const struct watched *before = find(w, host);
	struct watched it = { .reported = HOST_STATES, .since_us = now_us };
	int8_t side;

	if (before)
		it = *before;
	if (it.reported == HOST_STATES)
		side = now == HOST_HEALTHY ? 0 : 1;
	else
		side = (now > it.reported) - (now < it.reported);
	if (side != it.side || (now == HOST_UNKNOWN) != (it.now == HOST_UNKNOWN))
		it.since_us = now_us;
	it.side = side;
	it.now = now;
	it.held = held;
	it.due = false;
	if (!side)
		it.reported = now;
	it.name = mem_strdup(host);
	w->next = mem_grow(w->next, w->nnext);
	w->next[w->nnext++] = it;
}

uint64_t watch_end(struct watch *w, const struct watch_conf *conf, uint64_t now_us)
{
	uint64_t next_us = UINT64_MAX;

	/* What was taken is the list. Names of hosts in a snapshot are unique. */
	free_list(w->list, w->count);
	names_fini(&w->names);
	w->names = (struct names){ 0 };
	w->list = w->next;
	w->count = w->nnext;
	w->next = NULL;
	w->nnext = 0;
	w->cut_off = 0;
	for (unsigned i = 0; i < w->count; i++) {
		names_id(&w->names, w->list[i].name, strlen(w->list[i].name));
		w->cut_off += w->list[i].now == HOST_CUT_OFF && w->list[i].reported != HOST_CUT_OFF;
	}
	w->guarded = w->cut_off > GUARD_MIN &&
		     (uint64_t)w->cut_off * 100 > (uint64_t)w->count * conf->guard_percent;
	for (unsigned i = 0; i < w->count; i++) {
		struct watched *it = &w->list[i];
		uint64_t hold_us = it->side > 0 ? conf->worsen_us : conf->recover_us, due_us;

		if (!it->side || (w->guarded && it->now == HOST_CUT_OFF))
			continue;
		if (it->now == HOST_UNKNOWN && hold_us < conf->unknown_us)
			hold_us = conf->unknown_us;
		/* NO_P2P and FATAL are of NVLinks alone, whose room held their end already. */
		if ((it->side > 0 && it->held) ||
		    (it->side < 0 && it->now != HOST_UNKNOWN &&
		     (it->reported == HOST_NO_P2P || it->reported == HOST_FATAL)))
			hold_us = 0;
		due_us = it->since_us + hold_us;
		it->due = due_us <= now_us;
		if (!it->due && due_us - now_us < next_us)
			next_us = due_us - now_us;
	}
	return next_us;
}

enum host_state watch_report(struct watched *it)
{
	enum host_state before = it->reported;

	it->reported = it->now;
	it->side = 0;
	it->due = false;
	return before;
}

/* ---- Passes over all hosts ------------------------------------------------------------------- */

/*
 * Finds hosts whose verdict has changed. After a change, a publication or a finding of a
 * room, all hosts are judged again GATHER_US later, some in each callback, so that no fault waits
 * for it and no callback is long. At the end of a pass the changes that are due are reported by an
 * event and the operators' hook. The verdicts reported last are in state_dir/hosts, `HOST VERDICT`
 * for hosts that are not healthy, so that a restart repeats no report and misses none.
 */

#define GATHER_US	500000
#define HOSTS_A_SLICE	256
#define REPORTS_A_SLICE 64
#define ALIKE_MAX	8 /* more hosts that change alike at once are one event */
#define NAMES_REPORTED	5 /* in its text */

/* ---- state_dir/hosts ------------------------------------------------------------------------- */

static bool take_reported(void *arg, const char *line)
{
	struct hosts_room *r = arg;
	char host[256], word[32], rest;

	if (sscanf(line, "%31s %255[^\n]%c", word, host, &rest) < 2)
		return false;

	int state = host_state_parse(word);

	if (state >= 0)
		watch_recall(&r->watch, host, state);
	return state >= 0;
}

static uint64_t write_reported(const void *arg, uint64_t from, FILE *out)
{
	const struct hosts_room *r = arg;

	for (unsigned i = from; i < r->watch.count; i++) {
		const struct watched *it = &r->watch.list[i];
		const char *owed = hook_owed(r->hook, it->name); /* the state it last ran for */
		enum host_state state =
			owed ? (enum host_state)host_state_parse(owed) : it->reported;

		if (i == from + STATE_LINES)
			return i;
		if (state != HOST_HEALTHY && state != HOST_STATES)
			fprintf(out, "%s %s\n", host_state_name(state), it->name);
	}
	return 0;
}

static const struct state_kind reported_kind = {
	.name = "hosts",
	.form = "`VERDICT HOST`",
	.line = take_reported,
	.write = write_reported,
	.gather_us = 200000,
	.gather_max_us = 2000000,
};

/* ---- Reports --------------------------------------------------------------------------------- */

static const char *word_of(enum host_state reported)
{
	return host_state_name(reported == HOST_STATES ? HOST_UNKNOWN : reported);
}

static void run_hook(struct hosts_room *r, const struct watched *it, enum host_state before,
		     const struct host_verdict *v)
{
	char *reasons = NULL, share[32];
	size_t size;
	FILE *out = open_memstream(&reasons, &size);

	for (unsigned i = 0; out && i < v->count; i++)
		fprintf(out, "%s%s: %s", i ? "\n" : "", host_state_name(v->reasons[i].state),
			v->reasons[i].text);
	if (out)
		fclose(out);
	array_printf(share, "%u/%u", v->hcas_up, v->hcas);
	hook_run(r->hook,
		 &(struct hook_call){ .host = it->name,
				      .state = host_state_name(it->reported),
				      .old_state = word_of(before),
				      .more =
					      (struct hook_variable[]){
						      { "FMD_REASON", host_verdict_reason(v) },
						      { "FMD_EVIDENCE", reasons ? reasons : "" },
						      { "FMD_HCAS", share } },
				      .count = 3 });
	free(reasons);
}

/* ---- Passes ---------------------------------------------------------------------------------- */

static void pass_end(struct hosts_room *r)
{
	const struct conf *c = r->services.conf;
	const struct watch_conf conf = {
		.worsen_us = c->hosts.worsen_hold_ms * 1000ull,
		.recover_us = c->hosts.recover_hold_ms * 1000ull,
		.unknown_us = 3 * c->nvswitch.poll_interval_ms * 1000ull,
		.guard_percent = c->hosts.guard,
	};

	r->passing = false;
	memcpy(r->counts, r->counting, sizeof(r->counts));
	r->next_us = watch_end(&r->watch, &conf, loop_now_us(r->services.loop));
	alert_set(r->services.alerts, r->watch.guarded, "hosts-guard", NULL,
		  "%u of %u hosts were cut off at once: their verdicts are not reported "
		  "and host_hook is not run for them",
		  r->watch.cut_off, r->watch.count);
	/* Begins the reports of what is due; many hosts with the same change become one event. */
	r->reporting = true;
	r->next = 0;
	for (int state = 0; state < HOST_STATES; state++) {
		unsigned count = 0;

		for (unsigned i = 0; i < r->watch.count; i++)
			count += r->watch.list[i].due &&
				 r->watch.list[i].now == (enum host_state)state;
		r->logged[state] = count > ALIKE_MAX;
		if (r->logged[state]) {
			json_t *names = json_array();
			char text[400] = "";

			for (unsigned i = 0; i < r->watch.count; i++) {
				const struct watched *it = &r->watch.list[i];

				if (!it->due || it->now != (enum host_state)state)
					continue;
				if (json_array_size(names) < NAMES_REPORTED)
					array_add(text, " %s", it->name);
				json_array_append_new(names, json_string(it->name));
			}
			event_log_add(r->services.events,
				      state == HOST_HEALTHY ? LOG_NOTICE : LOG_WARNING, "host",
				      NULL,
				      json_pack("{so ss}", "hosts", names, "verdict",
						host_state_name(state)),
				      "%u hosts: %s:%s ..", count, host_state_name(state), text);
		}
	}
}

/* Judges some more hosts; the last of them ends the pass. */
static void slice(struct hosts_room *r, const struct topo *t)
{
	uint32_t end = r->next + HOSTS_A_SLICE;
	struct host_verdict v;

	if (!r->passing) {
		r->passing = true;
		r->again = false;
		r->next = 0;
		end = HOSTS_A_SLICE;
		mem_zero(&r->counting, 1);
		watch_begin(&r->watch);
	}
	for (; r->next < end && r->next < t->nhosts; r->next++) {
		struct host_verdict nvlinks = { 0 };

		nvlink_judge_host(r->fabric, r->next, &nvlinks);
		hosts_judge(r->fabric, r->next, &v);
		r->counting[v.state]++;
		watch_take(&r->watch, t->hosts[r->next].name, v.state,
			   v.state > HOST_UNKNOWN && nvlinks.state == v.state,
			   loop_now_us(r->services.loop));
	}
	if (r->next == t->nhosts)
		pass_end(r);
}

static void timer_cb(void *arg)
{
	struct hosts_room *r = arg;
	const struct topo *t = fabric_view(r->fabric).topo;

	if (!t || !r->settled || !fabric_is_master(r->fabric)) {
		r->again = false; /* settled() asks again */
		return;
	}
	if (r->reporting) {
		/*
		 * False: there are more. The watch's list is in the order of the snapshot's hosts.
		 */
		unsigned reports = 0;

		for (; r->next < r->watch.count && reports < REPORTS_A_SLICE; r->next++) {
			struct watched *it = &r->watch.list[r->next];
			struct host_verdict verdict;

			if (!it->due)
				continue;
			reports++;

			enum host_state before = watch_report(it);

			hosts_judge(r->fabric, r->next, &verdict);
			if (!r->logged[it->reported]) {
				const char *reason = host_verdict_reason(&verdict);

				event_log_add(
					r->services.events,
					it->reported == HOST_HEALTHY ? LOG_NOTICE : LOG_WARNING,
					"host", &(struct event_subject){ .host = it->name },
					json_pack("{ss ss ss ss}", "host", it->name, "verdict",
						  host_state_name(it->reported), "before",
						  word_of(before), "reason", reason),
					"host %s: %s, was %s%s%s", it->name,
					host_state_name(it->reported), word_of(before),
					*reason ? ": " : "", reason);
			}
			run_hook(r, it, before, &verdict);
		}
		if (reports)
			state_changed(r->services.state, &reported_kind, r);
		r->reporting = !(r->next == r->watch.count);
	} else
		slice(r, t);
	if (r->passing || r->reporting)
		loop_timer_set(r->timer, 0);
	else if (r->again)
		loop_timer_set(r->timer, GATHER_US);
	else if (r->next_us != UINT64_MAX)
		loop_timer_set(r->timer, r->next_us);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void hook_done(void *arg, const char *host, const char *error)
{
	struct hosts_room *r = arg;
	struct name_list failing = { 0 };
	const char *name;

	for (unsigned n = 0; (name = hook_failing(r->hook, n)); n++)
		name_list_add(&failing, name);
	name_list_alert(r->services.alerts, "host-hook", &failing, "host's host_hook failed",
			"hosts' host_hook failed");
	state_changed(r->services.state, &reported_kind, r);
	if (error)
		event_log_add(r->services.events, LOG_WARNING, "host-hook",
			      &(struct event_subject){ .host = host },
			      json_pack("{ss}", "host", host), "hook %s for %s: %s",
			      r->services.conf->hosts.hook, host, error);
}

/* ---- The room -------------------------------------------------------------------------------- */

/*
 * Each room adds its part to a host's verdict on request; this one asks, and adds HCAs and links of
 * the snapshot. The fates of HCAs are computed once for each publication, when they are first
 * needed.
 */

/* ---- Verdicts -------------------------------------------------------------------------------- */

static void judge(struct hosts_room *r, uint32_t host, struct host_verdict *v)
{
	const struct topo *t = fabric_view(r->fabric).topo;
	const struct topo_host *it = &t->hosts[host];

	if (!r->fates)
		r->fates = cutoff_fates(t, fabric_own_node(r->fabric));
	v->hcas = it->ncas;
	for (uint32_t i = 0; i < it->ncas; i++) {
		uint32_t ca = t->host_cas[it->first + i];
		enum cutoff_fate fate = r->fates[ca];
		bool links = false, up = false;

		TOPO_LINKS (t, ca, port, peer) {
			links = true;
			up |= port->link_up && port->state == TOPO_ACTIVE;

			/*
			 * Of a port with a known link: "mlx5_3", and which of its ports where it
			 * has several links.
			 */
			const char *device = host_device(t, port->node),
				   *far = t->nodes[peer->node].name;
			char name[64];

			if (t->nodes[port->node].nports > 1)
				array_printf(name, "%.50s port %u", device, port->num);
			else
				array_printf(name, "%.60s", device);
			if (fate == CUTOFF_CUT_OFF)
				host_verdict_add(v, HOST_DEGRADED, "%s: cut off at %.40s port %u",
						 name, far, peer->num);
			else if (!port->link_up)
				host_verdict_add(v, HOST_DEGRADED,
						 "%s: link to %.40s port %u is down", name, far,
						 peer->num);
			else if (!(port->link_up && port->state == TOPO_ACTIVE))
				host_verdict_add(v, HOST_DEGRADED,
						 "%s: link to %.40s port %u is %s, not Active",
						 name, far, peer->num,
						 topo_state_name(port->state));
		}
		if (!links)
			host_verdict_add(v, HOST_DEGRADED, "%.60s: no link is known",
					 host_device(t, ca));
		v->hcas_up += up && fate != CUTOFF_CUT_OFF; /* packets reach it */
	}
	if (v->hcas && !v->hcas_up)
		host_verdict_add(v, HOST_CUT_OFF,
				 v->hcas == 1 ? "its HCA is unreachable"
					      : "none of its %u HCAs is reachable",
				 v->hcas);
}

void hosts_judge(struct fabric *fabric, uint32_t host, struct host_verdict *out)
{
	*out = (struct host_verdict){ 0 };
	nvlink_judge_host(fabric, host, out);
	links_out_judge_host(fabric, host, out);
	link_health_judge_host(fabric, host, out);
	judge(fabric_room(fabric, &hosts_module), host, out);
	cabling_judge_host(fabric, host, out);
}

/* ---- Documents ------------------------------------------------------------------------------- */

void hosts_add_verdict(const struct host_verdict *v, json_t *row)
{
	json_t *reasons = json_array();

	for (unsigned i = 0; i < v->count; i++)
		json_array_append_new(reasons, json_string(v->reasons[i].text));
	if (v->more)
		json_array_append_new(reasons, json_sprintf("and %u more", v->more));
	json_put(row, "{ss so si si}", "verdict", host_state_name(v->state), "reasons", reasons,
		 "hcas_up", v->hcas_up, "hcas_known", v->hcas);
}

json_t *hosts_document(struct fabric *fabric, hosts_asked_fn *asked, const void *arg)
{
	const struct topo *t = fabric_view(fabric).topo;
	json_t *rows = json_array();

	for (uint32_t host = 0; host < t->nhosts; host++) {
		struct host_verdict verdict;

		hosts_judge(fabric, host, &verdict);
		if (asked && !asked(arg, host, &verdict))
			continue;

		json_t *row = dump_json_host(t, host);

		hosts_add_verdict(&verdict, row);
		json_array_append_new(rows, row);
	}
	return rows;
}

static void status(const void *room, json_t *doc)
{
	const struct hosts_room *r = room;
	json_t *counts = json_object();

	for (int state = 0; state < HOST_STATES; state++)
		json_object_set_new(counts, host_state_name(state), json_integer(r->counts[state]));
	json_object_set_new(doc, "host_verdicts", counts);
}

/* ---- Jobs ------------------------------------------------------------------------------------ */

#define JOBS_MOST (2u << 20) /* bytes of a list */

static void jobs_read(void *arg, unsigned events)
{
	struct job_list *j = arg;
	char piece[65536];
	ssize_t len;

	while ((len = read(j->fd, piece, sizeof(piece))) > 0 && bytes_held(&j->text) < JOBS_MOST)
		bytes_add(&j->text, piece, len);
	if (len >= 0)
		loop_fd_set(j->watch, 0); /* it prints no more, or too much: that ends it late */
}

/* Answers those that wait; error NULL: with what was printed. */
static void jobs_end(struct job_list *j, const char *error)
{
	json_t *list = json_array(), *doc = json_pack("{so}", "jobs", list);
	struct bytes text = j->text;
	char *rest = NULL, *line;

	j->run = NULL;
	j->text = (struct bytes){ 0 };
	loop_timer_stop(j->late);
	loop_fd_free(j->watch);
	close(j->fd);
	bytes_add(&text, "", 1);
	for (line = strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		hostlist_add_job(list, line);
	waiters_answer(&j->waiters, doc, error);
	json_decref(doc);
	free(text.data);
}

static void jobs_ended(void *arg, int error, int status)
{
	struct job_list *j = arg;
	const char *why = error ? strerror(error) : status ? "its status is not 0" : NULL;
	char text[120];

	jobs_read(j, LOOP_READ);
	if (bytes_held(&j->text) >= JOBS_MOST)
		why = "its list is too long";
	array_printf(text, "job_command failed: %s", why ?: "");
	jobs_end(j, why ? text : NULL);
}

static void jobs_late(void *arg)
{
	struct job_list *j = arg;

	helper_stop(j->run);
	jobs_end(j, "job_command took too long, or printed too much, and was killed");
}

void hosts_jobs(struct fabric *fabric, json_t *args, waiter_fn *fn, void *arg)
{
	struct hosts_room *r = fabric_room(fabric, &hosts_module);
	struct helper *helper = loop_helper(r->services.loop);
	struct job_list *j = &r->jobs;
	int fds[2];

	if (json_object_get(args, "jobs")) {
		fn(arg, NULL, NULL);
		return;
	}
	if (!*r->services.conf->hosts.job_command) {
		fn(arg, NULL, "no list of jobs: squeue | fmctl jobs, or configure job_command");
		return;
	}
	waiters_add(&j->waiters, fn, arg);
	if (j->run)
		return;
	if (!helper || pipe2(fds, O_CLOEXEC)) {
		waiters_answer(&j->waiters, NULL, "job_command can't be run");
		return;
	}
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	j->fd = fds[0];
	j->watch = loop_fd_new(r->services.loop, j->fd, LOOP_READ, jobs_read, j);
	j->run = helper_start_program(helper, HELPER_JOB_COMMAND, "FMD_JOBS=1",
				      sizeof("FMD_JOBS=1"), fds[1], jobs_ended, j);
	close(fds[1]);
	if (j->run)
		loop_timer_set(j->late, r->services.conf->hosts.job_command_timeout_ms * 1000ull);
	else
		jobs_end(j, "job_command can't be run now");
}

static void role(void *room, enum fabric_role now, enum fabric_role_step step)
{
	struct hosts_room *r = room;

	if (step == FABRIC_ROLE_LEFT)
		waiters_answer(&r->jobs.waiters, NULL, FABRIC_ROLE_CHANGED);
}

/* ---- What changes ---------------------------------------------------------------------------- */

static void restart(struct hosts_room *r)
{
	r->passing = r->reporting = false;
	r->again = true;
	loop_timer_set(r->timer, GATHER_US);
}

/* The verdict on some host may have changed: starts a pass a little later, in slices. */
static void judge_soon(struct hosts_room *r)
{
	if (r->again)
		return;
	r->again = true;
	if (!r->passing && !r->reporting)
		loop_timer_set(r->timer, GATHER_US);
}

/* A node's index may be another's by now. The pass under way starts again. */
static void published(void *room, enum fabric_update_step step, const struct topo *before)
{
	struct hosts_room *r = room;

	if (step == FABRIC_HOSTS_CHANGED)
		judge_soon(r);
	if (step != FABRIC_PUBLISHED && step != FABRIC_SHOWN)
		return;
	free(r->fates);
	r->fates = NULL;
	restart(r);
}

/* Links had the time to come up. */
static void settled(void *room, enum fabric_settle_step step)
{
	struct hosts_room *r = room;

	if (step != FABRIC_SETTLED)
		return;
	if (!r->settled)
		restart(r);
	r->settled = true;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static int check(const struct conf *conf, char *err, size_t err_size)
{
	return hook_check("host_hook", conf->hosts.hook, err, err_size) ||
			       hook_check("event_hook", conf->hosts.event_hook, err, err_size) ||
			       hook_check("job_command", conf->hosts.job_command, err, err_size)
		       ? -1
		       : 0;
}

static void configure(void *room)
{
	struct hosts_room *r = room;
	const struct conf_hosts *c = &r->services.conf->hosts;

	hook_configure(r->hook, c->hook, c->hook_timeout_ms,
		       r->services.conf->nvswitch.short_node_names);
	judge_soon(r);
}

static void load(void *room, enum fabric_load_step step)
{
	struct hosts_room *r = room;

	if (step != FABRIC_LOAD)
		return;
	state_read(r->services.state, &reported_kind, r);
	configure(r);
}

static void *init(struct fabric *fabric)
{
	struct hosts_room *r = ROOM_NEW(r, fabric);

	r->hook = hook_new(r->services.loop, HELPER_HOST_HOOK, hook_done, r);
	r->timer = loop_timer_new(r->services.loop, timer_cb, r);
	r->jobs.late = loop_timer_new(r->services.loop, jobs_late, &r->jobs);
	return r;
}

static void fini(void *room)
{
	struct hosts_room *r = room;

	waiters_fini(&r->jobs.waiters);
	if (r->jobs.run)
		jobs_late(&r->jobs);
	loop_timer_free(r->jobs.late);
	loop_timer_free(r->timer);
	hook_free(r->hook);
	watch_fini(&r->watch);
	free(r->fates);
	free(r);
}

const struct fabric_module hosts_module = { .name = "hosts",
					    .check = check,
					    .init = init,
					    .fini = fini,
					    .load = load,
					    .configure = configure,
					    .role = role,
					    .settled = settled,
					    .status = status,
					    .published = published };
