/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A pass queries an SA once for its tables of members, services and subscriptions, one after the
 * other, and writes each that came complete into state_dir: a local MAD reads the master's LID from
 * the own port; then that LID is queried. A fabric of 16,384 hosts has some 65,000 members, 4 MB in
 * one RMPP answer, which is copied and processed row by row in a job. The tables are read some
 * milliseconds apart and need not be consistent with each other.
 *
 * A table is used only if each of its rows is valid, as an incomplete one would pass for complete
 * at a take-over. When a mirror has a copy
 * meanwhile, that is newer, and nothing is written any more.
 *
 * A standby queries each mirror_interval while the mirror has no copy, and sooner after a failure.
 * The room runs through all changes of role. It never marks the copy as complete
 * (STATE_COPIED): what hosts registered in the last interval is not in it, so a
 * take-over asks hosts to register anew, and until they do only registrations of that interval are
 * missing.
 */
#include "fm/registrations/module.h"
#include <inttypes.h>
#include "fm/loop/job.h"
#include "fm/mad/wire_sa.h"
#include "fm/sa/mcast_group.h"
#include "fm/sa/sa_state.h"
#include "fm/state/state.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define PATIENCE_MS    10000 /* for a whole table */
#define BYTES_MAX      (64u << 20)
#define ROWS_A_CALL    256
#define MEMBERS_A_CALL 1024
#define MLIDS_A_CALL   64
#define KNOWN_TO_ALL   1ull /* the SA's key where none is set, as OpenSM's */

enum registrations_table { TABLE_MEMBERS, TABLE_SERVICES, TABLE_SUBSCRIPTIONS, TABLES };

struct pass_figures { /* of a pass that has ended */
	unsigned rows[TABLES], left_out;
	size_t bytes; /* of the answers */
	uint64_t took_us;
};

struct pass {
	struct registrations *owner;
	struct fabric_services services;
	bool under_way, for_reader; /* for_reader: members alone, of which nothing is written */
	mad_token token;
	struct job *job;
	uint64_t began_us;
	struct wire_port_info port;
	struct pass_figures figures;
	unsigned kind;	 /* the table in turn */
	uint8_t *answer; /* its bytes */
	struct wire_sa_table table;
	size_t at; /* the row that is next */
	unsigned hidden, bad;
	struct sa_groups *groups;
	unsigned mlid; /* that is written next */
	FILE *out;
	char *text, *rest;
	size_t length;
};

struct registrations {
	struct fabric *fabric;
	struct fabric_services services; /* those of the present life */
	struct pass pass;
	struct loop_timer *timer;
	guid_t master;	   /* who is asked, by port GUID; 0 = nobody */
	guid_t copied;	   /* whose registrations state_dir has; 0 = nobody's */
	uint64_t whole_us; /* they are of then, or nobody's since then */
	struct pass_figures figures;
	char error[160]; /* of the latest try, "" = none */
	struct wire_mcmember *members;
	uint32_t nmembers;
	char unread[160]; /* why these are not known */
};

/*
 * A pass has ended. error NULL: all is in state_dir, or no longer needed; else the reason in words,
 * and state_dir has the tables that came complete before.
 */
static void passed(struct registrations *r, const char *error);

static const struct kind {
	uint16_t attr_id;
	size_t row_size;
	const char *record, *kind; /* kind: its kind in state_dir */
} kinds[TABLES] = {
	[TABLE_MEMBERS] = { WIRE_SA_MCMEMBER, WIRE_MCMEMBER_SIZE, "MCMemberRecord", "groups" },
	[TABLE_SERVICES] = { WIRE_SA_SERVICE, 176, "ServiceRecord", "services" },
	[TABLE_SUBSCRIPTIONS] = { WIRE_SA_INFORM_INFO_RECORD, 64, "InformInfoRecord",
				  "subscriptions" },
};

/* ---- Ends ------------------------------------------------------------------------------------ */

static void table_forget(struct pass *p)
{
	static const struct wire_sa_table none;

	if (p->out)
		fclose(p->out);
	p->out = NULL;
	free(p->text);
	p->text = NULL;
	free(p->answer);
	p->answer = NULL;
	sa_groups_free(p->groups);
	p->groups = NULL;
	p->table = none;
	p->at = p->hidden = p->bad = p->mlid = 0;
}

/* Stops a pass without a callback. */
static void pass_stop(struct pass *p)
{
	if (!p->under_way)
		return;
	p->under_way = false;
	mad_cancel(p->services.mad, p->token);
	p->token = 0;
	job_stop(p->job);
	table_forget(p);
}

static void end(struct pass *p, const char *error)
{
	p->figures.took_us = loop_now_us(p->services.loop) - p->began_us;
	pass_stop(p);
	passed(p->owner, error);
}

static void fail(struct pass *p, const char *why)
{
	char error[160];

	array_printf(error, "%s: %s", kinds[p->kind].record, why);
	end(p, error);
}

/* ---- A table's rows -------------------------------------------------------------------------- */

static void ask(struct pass *p);

/* Keeps the rows for registrations_members(). */
static void take_members(struct registrations *r, const struct wire_sa_table *table)
{
	r->members = mem_array(r->members, table->count + 1);
	for (r->nmembers = 0; r->nmembers < table->count; r->nmembers++)
		wire_mcmember_decode(table->rows + r->nmembers * table->size,
				     &r->members[r->nmembers]);
}

static enum job_result take_rows(void *arg)
{
	struct pass *p = arg;

	for (unsigned n = 0; n < ROWS_A_CALL && p->at < p->table.count; n++) {
		const uint8_t *row = p->table.rows + p->at++ * p->table.size;
		enum sa_foreign_result result =
			p->kind == TABLE_MEMBERS    ? sa_foreign_member(p->groups, row)
			: p->kind == TABLE_SERVICES ? sa_foreign_service(row, time(NULL), p->out)
						    : sa_foreign_subscription(row, p->out);

		p->hidden += result == SA_FOREIGN_HIDDEN;
		p->bad += result == SA_FOREIGN_BAD;
	}
	return p->at < p->table.count ? JOB_MORE : JOB_NEXT;
}

/*
 * As many groups as have so many members; one that has more goes alone. Each is dropped then: to
 * free all members at once takes longer than the loop may be held.
 */
static enum job_result write_groups(void *arg)
{
	struct pass *p = arg;
	unsigned members = p->groups ? sa_groups_use(p->groups)->members : 0;
	struct sa_group *g;

	for (unsigned n = 0; n < MLIDS_A_CALL; n++, p->mlid++) {
		if (p->kind != TABLE_MEMBERS || p->mlid > sa_groups_top(p->groups))
			return JOB_NEXT;
		if (members - sa_groups_use(p->groups)->members >= MEMBERS_A_CALL)
			return JOB_MORE;
		mcast_group_write(p->groups, p->mlid, p->out);
		while ((g = sa_groups_by_mlid(p->groups, p->mlid)))
			sa_groups_leave(p->groups, g, g->members[g->nmembers - 1].port,
					WIRE_JOIN_BITS, 1);
	}
	return JOB_MORE;
}

static enum job_result finish_table(void *arg)
{
	struct pass *p = arg;

	fclose(p->out);
	p->out = NULL;
	if (state_is(p->services.state, STATE_COPIED)) {
		end(p, NULL);
		return JOB_END;
	}
	p->figures.rows[p->kind] = p->table.count;
	p->figures.left_out += p->hidden + p->bad;
	if (p->hidden || p->bad) {
		fail(p, p->hidden ? "the records lack what only trusted requests see: is sa_key "
				    "the master's?"
				  : "the records are invalid or contradict each other");
		return JOB_END;
	}
	p->rest = p->text;
	state_take_begin(p->services.state, kinds[p->kind].kind);
	return JOB_NEXT;
}

static enum job_result take_lines(void *arg)
{
	struct pass *p = arg;

	if (state_take_lines(p->services.state, kinds[p->kind].kind, &p->rest))
		return JOB_MORE;
	table_forget(p);
	if (++p->kind < TABLES)
		ask(p);
	else
		end(p, NULL);
	return JOB_END;
}

static const struct job_step steps[] = { { "registrations-rows", take_rows },
					 { "registrations-lines", write_groups },
					 { "registrations-judge", finish_table },
					 { "registrations-put", take_lines },
					 { NULL, NULL } };

/* ---- Asking ---------------------------------------------------------------------------------- */

static void take_answer(struct pass *p, const struct mad_answer *answer)
{
	const struct kind *kind = &kinds[p->kind];

	if (answer->length > BYTES_MAX) {
		fail(p, "the answer is too long");
		return;
	}
	p->answer = memcpy(mem_alloc_unset(answer->length, 1), answer->data, answer->length);

	const char *wrong =
		wire_sa_table_decode(p->answer, answer->length, kind->row_size, &p->table);

	if (wrong) {
		fail(p, wrong);
		return;
	}
	p->figures.bytes += answer->length;
	if (p->for_reader) {
		take_members(p->owner, &p->table);
		end(p, NULL);
		return;
	}
	if (p->kind == TABLE_MEMBERS) {
		static const struct sa_groups_ops nobody;

		p->groups = sa_groups_new(&nobody, NULL);
		sa_groups_share_snm(p->groups, true);
		p->mlid = MCAST_FIRST_MLID;
	}
	p->out = open_memstream(&p->text, &p->length);
	if (!p->out)
		abort();
	job_start(p->job, steps, NULL);
}

static void answered(void *arg, const struct mad_answer *answer)
{
	struct pass *p = arg;
	char why[64];

	p->token = 0;
	switch (answer->result) {
	case MAD_OK:
		take_answer(p, answer);
		break;
	case MAD_STATUS:
		if (answer->status == WIRE_SA_NO_RECORDS) {
			take_answer(p, &(struct mad_answer){ .data = answer->data,
							     .length = WIRE_SA_HEADER -
								       WIRE_MAD_HEADER });
			break;
		}
		array_printf(why, "the answer has status 0x%04x", answer->status);
		fail(p, why);
		break;
	case MAD_TIMEOUT:
		fail(p, "no answer: the master's SA does not serve yet, or its sa_key differs");
		break;
	case MAD_SEND_FAILED:
		fail(p, "the request could not be sent");
	}
}

static void ask(struct pass *p)
{
	const struct conf_sa *conf = &p->services.conf->sa;
	uint8_t data[WIRE_GMP_DATA];

	wire_sa_table_ask(conf->key ? conf->key : KNOWN_TO_ALL, data);
	p->token = mad_send(p->services.mad,
			    &(struct mad_request){ .lid = p->port.sm_lid,
						   .sl = p->port.sm_sl,
						   .mgmt_class = WIRE_SA,
						   .pkey_index = inventory_default_pkey_index(
							   p->services.inventory),
						   .method = WIRE_GET_TABLE,
						   .attr_id = kinds[p->kind].attr_id,
						   .data = data,
						   .doubtful = true,
						   .timeout_ms = PATIENCE_MS,
						   .once = true },
			    answered, p);
}

static void port_answered(void *arg, const struct mad_answer *answer)
{
	struct pass *p = arg;

	p->token = 0;
	if (answer->result == MAD_OK)
		wire_port_info_decode(answer->data, &p->port);
	if (answer->result != MAD_OK)
		end(p, "the own port does not answer");
	else if (!p->port.sm_lid || p->port.sm_lid == p->port.lid)
		end(p, "the master has not assigned an SM LID to this port yet");
	else
		ask(p);
}

/* ---- When the master's SA is queried, and the events and alerts about that ------------------- */

#define FIRST_US 500000	  /* from the beginning of standing by */
#define AGAIN_US 5000000  /* from a try that came to nothing, at most */
#define LATE	 2	  /* intervals */
#define LATE_US	 15000000 /* and so long without a copy are an alert */

static uint64_t interval_us(const struct registrations *r)
{
	return (uint64_t)r->services.conf->mirror.interval_ms * 1000;
}

static void next(struct registrations *r, uint64_t us)
{
	uint64_t interval = interval_us(r);

	if (r->master && interval)
		loop_timer_set(r->timer, us < interval ? us : interval);
	else
		loop_timer_stop(r->timer);
}

static void passed(struct registrations *r, const char *error)
{
	uint64_t now = loop_now_us(r->services.loop);

	if (r->pass.for_reader) {
		array_printf(r->unread, "%s", error ? error : "");
		return;
	}
	array_printf(r->error, "%s", error ? error : "");
	if (error) {
		if (now - r->whole_us > LATE * interval_us(r) + LATE_US)
			alert_raise(r->services.alerts, "registrations", NULL,
				    "this standby has no current registrations of the master's "
				    "SA: %s",
				    r->error);
		next(r, AGAIN_US);
		return;
	}
	if (!state_is(r->services.state, STATE_COPIED) && r->copied != r->master) {
		r->copied = r->master;
		event_log_add(r->services.events, LOG_NOTICE, "registrations", NULL, NULL,
			      "fabric: group members, services and subscriptions were read from "
			      "the SA of port GUID 0x%016" PRIx64 "",
			      r->master);
	}
	r->figures = r->pass.figures;
	state_mark(r->services.state, STATE_READ, true);
	r->whole_us = now;
	alert_end(r->services.alerts, "registrations", NULL);
	next(r, UINT64_MAX);
}

/* One under way is stopped. services: borrowed until its end. */
static void start(struct registrations *r, bool for_reader)
{
	const struct mad_path here = { 0 };

	pass_stop(&r->pass);
	r->pass.services = r->services;
	if (!r->pass.job)
		r->pass.job = job_new(r->services.loop, &r->pass);
	r->pass.figures = (struct pass_figures){ 0 };
	r->pass.kind = 0;
	r->pass.under_way = true;
	r->pass.for_reader = for_reader;
	r->pass.began_us = loop_now_us(r->services.loop);
	r->pass.token =
		mad_send(r->services.mad,
			 &(struct mad_request){ .path = &here,
						.method = WIRE_GET,
						.attr_id = WIRE_PORT_INFO,
						.attr_mod = mad_port_info(r->services.mad)->port,
						.doubtful = true,
						.local = true },
			 port_answered, &r->pass);
}

void registrations_read_members(struct fabric *fabric)
{
	struct registrations *r = fabric_room(fabric, &registrations_module);

	if (r->pass.under_way && !r->pass.for_reader)
		return; /* those of the time before stand */
	free(r->members);
	r->members = NULL;
	r->nmembers = 0;
	array_printf(r->unread, "its SA has not answered yet");
	start(r, true);
}

const struct wire_mcmember *registrations_members(const struct fabric *fabric, uint32_t *count,
						  const char **why)
{
	const struct registrations *r = fabric_room(fabric, &registrations_module);

	*count = r->nmembers;
	*why = *r->unread ? r->unread : NULL;
	return r->members;
}

/* What peers have sent is all of it, and newer. */
static void due(void *arg)
{
	struct registrations *r = arg;

	if (r->pass.under_way && r->pass.for_reader) {
		next(r, AGAIN_US);
		return;
	}
	if (state_is(r->services.state, STATE_COPIED)) {
		r->copied = 0;
		r->whole_us = loop_now_us(r->services.loop);
		alert_end(r->services.alerts, "registrations", NULL);
		next(r, UINT64_MAX);
		return;
	}

	start(r, false);
}

/* ---- Hooks ----------------------------------------------------------------------------------- */

static void role(void *room, enum fabric_role now, enum fabric_role_step step)
{
	struct registrations *r = room;

	if (step != FABRIC_ROLE_IN_FORCE)
		return;
	pass_stop(&r->pass);
	r->services = fabric_services(r->fabric);

	guid_t master = now == FABRIC_ROLE_STANDBY ? fabric_master(r->fabric) : 0;

	if (master != r->master) {
		r->whole_us = loop_now_us(r->services.loop);
		r->error[0] = '\0';
		alert_end(r->services.alerts, "registrations", NULL);
	}
	r->master = master;
	next(r, FIRST_US);
	if (now != FABRIC_ROLE_MASTER)
		return;
	r->copied = 0;
}

static void configure(void *room)
{
	struct registrations *r = room;

	if (!interval_us(r)) {
		pass_stop(&r->pass);
		alert_end(r->services.alerts, "registrations", NULL);
	}
	if (!r->pass.under_way)
		next(r, FIRST_US);
}

static void status(const void *room, json_t *doc)
{
	const struct registrations *r = room;
	const struct pass_figures *f = &r->figures;
	uint64_t age = loop_now_us(r->services.loop) - r->whole_us;
	bool known = r->master && r->copied == r->master;

	if (!r->master || !interval_us(r) || state_is(r->services.state, STATE_COPIED))
		return;
	json_object_set_new(
		doc, "registrations",
		json_pack("{ss so sf sb sI si si si sI sf so}", "source",
			  "queries of the master's SA", "port_guid", json_guid(r->master),
			  "interval_s", (double)interval_us(r) / 1e6, "whole", known, "age_ms",
			  (json_int_t)(age / 1000), "members", f->rows[TABLE_MEMBERS], "services",
			  f->rows[TABLE_SERVICES], "subscriptions", f->rows[TABLE_SUBSCRIPTIONS],
			  "bytes", (json_int_t)f->bytes, "took_ms", (double)f->took_us / 1e3,
			  "error", r->error[0] ? json_string(r->error) : json_null()));
}

static void *init(struct fabric *fabric)
{
	struct registrations *r = ROOM_NEW(r, fabric);

	r->pass.owner = r;
	r->timer = loop_timer_new(r->services.loop, due, r);
	array_printf(r->unread, "nobody asked for them");
	return r;
}

static void fini(void *room)
{
	struct registrations *r = room;

	pass_stop(&r->pass);
	job_free(r->pass.job);
	loop_timer_free(r->timer);
	free(r->members);
	free(r);
}

const struct fabric_module registrations_module = { .name = "registrations",
						    .lasts = true,
						    .init = init,
						    .fini = fini,
						    .configure = configure,
						    .role = role,
						    .status = status };
