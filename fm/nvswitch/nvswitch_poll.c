/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * nvswitch_poll: exporters are asked in turn, evenly over the interval, so that thousands of hosts are a steady trickle.
 *
 * A turn comes at its time, whatever the answers before it took; only when IN_FLIGHT are under way the next waits for one to end.
 * Each answer is read by a parser of its own as it comes and forgotten when it has been judged.
 *
 * Names are resolved now and then: where an answer came from is where the next is asked for, until that fails.
 *
 * Hosts of a rack have one NMX-T endpoint, which is asked once for all of them; what is kept of it outlives changes of the list of hosts.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/evidence.h"
#include "fm/nvswitch/fields.h"
#include "fm/nvswitch/nmx.h"
#include "fm/nvswitch/nvswitch_own.h"
#include "topology/mem.h"

#define IN_FLIGHT    64
#define ADDRESS_AGE  20 /* answers before the name is resolved again */
#define SOURCE_LINES 5	/* a second, of exporters that fail from the beginning */

struct scrape {
	struct poll *poll;
	struct fetch_job *job;
	uint32_t fields;
	struct evidence evidence; /* of a host; of a rack its nmx has it */
	struct exposition exposition;
};

static struct target *target_of(const struct poll *poll)
{
	return &poll->nv->targets.list[poll - poll->nv->polls];
}

/* ---- Answers ------------------------------------------------------------------------------------- */

/* Of one that was heard, the host's state tells; one that never was is told of once. */
static void note_silent(struct poll *poll, const struct health_source *source, const char *error)
{
	struct nvswitch *nv = poll->nv;

	if (source->heard || strcmp(source->error, "not asked yet"))
		return;
	if (log_allow(&nv->source_limit, loop_now_us(nv->loop), SOURCE_LINES))
		log_line(LOG_NVSWITCH, LOG_WARNING, "%s: %s: %s", target_of(poll)->host,
			 target_of(poll)->where, error);
}

static void hear(struct poll *poll, const struct nvswitch_verdict *verdict, const char *error)
{
	struct nvswitch *nv = poll->nv;

	if (error)
		note_silent(poll, &nv->health.hosts[poll->host].sources[poll->source], error);
	health_hear(&nv->health, poll->host, poll->source, verdict, error, loop_now_us(nv->loop));
	nvswitch_step_soon(nv);
}

/* An exporter that names another host of ours is at the wrong address: what it says is not of this one. */
static bool speaks_of_another(const struct poll *poll, const struct evidence *evidence)
{
	unsigned host = *evidence->host ? health_find(&poll->nv->health, evidence->host) : UINT_MAX;

	return host != UINT_MAX && host != poll->host;
}

/* A sample may be as old as a state must last: what is told within that time after an event proves nothing of it. */
static void weigh(const struct poll *poll, const struct evidence *evidence,
		  struct nvswitch_verdict *verdict)
{
	struct nvswitch *nv = poll->nv;
	struct memory *memory = health_memory(&nv->health, poll->host);
	const struct evidence_context context = {
		.now_us = loop_now_us(nv->loop),
		.settle_us = nv->health.conf.worsen_us + 1000,
		.source = (uint8_t)(poll->source < UINT8_MAX ? poll->source : UINT8_MAX),
		.trust = target_of(poll)->trust,
		.progress = (enum fm_progress)nv->conf.fm_in_progress,
		.earlier_downs = poll->link_downs,
	};

	evidence_remember(evidence, memory, &context);
	evidence_judge(evidence, memory, &context, verdict);
}

static bool is_of(const struct poll *poll, const struct poll *leader)
{
	return poll->nv->polls + poll->leader == leader;
}

/* Of all hosts of the rack. */
static void hear_rack(struct poll *leader, const char *error)
{
	struct nvswitch *nv = leader->nv;
	struct nvswitch_verdict verdict;

	for (unsigned i = 0; i < nv->targets.count; i++) {
		struct poll *poll = &nv->polls[i];

		if (!is_of(poll, leader))
			continue;
		if (error) {
			hear(poll, NULL, error);
			continue;
		}
		nmx_judge(leader->rack->nmx, &target_of(poll)->place, nv->conf.link_window_us,
			  &verdict);
		if (verdict.state == NVSWITCH_UNKNOWN)
			hear(poll, NULL, "it says nothing of NVLinks in that tray or slot");
		else
			hear(poll, &verdict, NULL);
	}
}

static void judge_rack(struct scrape *scrape)
{
	struct poll *poll = scrape->poll;

	if (!exposition_end(&scrape->exposition)) {
		hear_rack(poll, scrape->exposition.fault);
		return;
	}
	nmx_end(poll->rack->nmx);
	hear_rack(poll, NULL);
}

static void judge(struct scrape *scrape)
{
	struct poll *poll = scrape->poll;
	struct nvswitch_verdict verdict;
	char text[80];

	if (!exposition_end(&scrape->exposition)) {
		hear(poll, NULL, scrape->exposition.fault);
		return;
	}
	if (speaks_of_another(poll, &scrape->evidence)) {
		snprintf(text, sizeof(text), "it speaks of %.60s", scrape->evidence.host);
		hear(poll, NULL, text);
		return;
	}
	poll->fields = scrape->fields;
	weigh(poll, &scrape->evidence, &verdict);
	poll->link_downs = scrape->evidence.nmx ? scrape->evidence.link_downs : UINT64_MAX;
	if (verdict.state == NVSWITCH_UNKNOWN)
		hear(poll, NULL, "it says nothing about NVLinks");
	else
		hear(poll, &verdict, NULL);
}

static void note_address(struct poll *poll, const char *error, const char *address)
{
	if (error || ++poll->address_age >= ADDRESS_AGE) {
		*poll->address = '\0';
		poll->address_age = 0;
	} else {
		snprintf(poll->address, sizeof(poll->address), "%s", address);
		senders_know_text(&poll->nv->senders, address);
	}
}

static void start_due(struct nvswitch *nv);

static const char *data_cb(void *arg, const char *data, size_t len)
{
	struct scrape *scrape = arg;

	return exposition_feed(&scrape->exposition, data, len) ? NULL : scrape->exposition.fault;
}

static void done_cb(void *arg, const char *error, const char *address)
{
	struct scrape *scrape = arg;
	struct poll *poll = scrape->poll;

	poll->scrape = NULL;
	poll->nv->in_flight--;
	note_address(poll, error, address);
	if (poll->rack && error)
		hear_rack(poll, error);
	else if (poll->rack)
		judge_rack(scrape);
	else if (error)
		hear(poll, NULL, error);
	else
		judge(scrape);
	free(scrape);
	start_due(poll->nv);
}

/* ---- Questions ----------------------------------------------------------------------------------- */

static int kind_cb(void *arg, struct exposition_text name)
{
	struct scrape *scrape = arg;

	fields_note(&scrape->fields, name);
	return evidence_ops.kind(&scrape->evidence, name);
}

static void sample_cb(void *arg, int kind, const struct exposition_sample *sample)
{
	struct scrape *scrape = arg;

	evidence_ops.sample(&scrape->evidence, kind, sample);
}

static void begin_reading(struct scrape *scrape)
{
	static const struct exposition_ops ops = { kind_cb, sample_cb };
	struct poll *poll = scrape->poll;

	if (poll->rack) {
		nmx_begin(poll->rack->nmx, loop_now_us(poll->nv->loop));
		exposition_init(&scrape->exposition, &nmx_ops, poll->rack->nmx);
		return;
	}
	evidence_init(&scrape->evidence, target_of(poll)->system);
	exposition_init(&scrape->exposition, &ops, scrape);
}

static void ask(struct poll *poll)
{
	static const struct fetch_ops ops = { data_cb, done_cb };
	struct scrape *scrape = mem_alloc(1, sizeof(*scrape));

	scrape->poll = poll;
	begin_reading(scrape);
	poll->scrape = scrape;
	poll->nv->in_flight++;
	scrape->job =
		fetch_get(poll->nv->fetch, &target_of(poll)->url, poll->address, &ops, scrape);
}

/* Those whose time has come, as many as may be under way. After a halt of more than an interval the rounds that were missed are left out. */
static void start_due(struct nvswitch *nv)
{
	uint64_t now_us = loop_now_us(nv->loop), gap_us = nv->conf.interval_us / nv->targets.count;

	if (now_us - nv->due_us < UINT64_MAX / 2 && now_us - nv->due_us > nv->conf.interval_us)
		nv->due_us = now_us;
	while (nv->due_us <= now_us && nv->in_flight < IN_FLIGHT) {
		if (!nv->polls[nv->cursor].scrape && nv->polls[nv->cursor].leader == nv->cursor)
			ask(&nv->polls[nv->cursor]);
		nv->cursor = (nv->cursor + 1) % nv->targets.count;
		nv->due_us += gap_us;
	}
	loop_timer_set(nv->poll_timer,
		       nv->due_us > now_us ? nv->due_us - now_us : nv->conf.interval_us);
}

static void poll_timer_cb(void *arg)
{
	start_due(arg);
}

/* ---- Racks --------------------------------------------------------------------------------------- */

static struct rack *rack_of(struct nvswitch *nv, const char *where)
{
	struct rack *rack;

	for (unsigned i = 0; i < nv->nracks; i++)
		if (!strcmp(nv->racks[i].where, where))
			return &nv->racks[i];
	nv->racks = mem_resize(nv->racks, nv->nracks + 1, sizeof(*nv->racks));
	rack = &nv->racks[nv->nracks++];
	*rack = (struct rack){ .where = mem_strdup(where), .nmx = nmx_new() };
	return rack;
}

static void free_racks(struct nvswitch *nv, bool all)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < nv->nracks; i++) {
		if (!all && nv->racks[i].used) {
			nv->racks[kept++] = nv->racks[i];
			continue;
		}
		free(nv->racks[i].where);
		nmx_free(nv->racks[i].nmx);
	}
	nv->nracks = kept;
}

/* Racks that no host has any more go before polls point to them. */
static void gather_racks(struct nvswitch *nv)
{
	for (unsigned i = 0; i < nv->nracks; i++)
		nv->racks[i].used = false;
	for (unsigned i = 0; i < nv->targets.count; i++)
		if (nmx_place_is_set(&nv->targets.list[i].place))
			rack_of(nv, nv->targets.list[i].where)->used = true;
	free_racks(nv, false);
	for (unsigned i = 0; i < nv->targets.count; i++) {
		unsigned first = 0;

		nv->polls[i].leader = i;
		if (!nmx_place_is_set(&nv->targets.list[i].place))
			continue;
		nv->polls[i].rack = rack_of(nv, nv->targets.list[i].where);
		while (nv->polls[first].rack != nv->polls[i].rack)
			first++;
		nv->polls[i].leader = first;
	}
}

void nvswitch_racks_fini(struct nvswitch *nv)
{
	free_racks(nv, true);
	free(nv->racks);
}

void nvswitch_polls_start(struct nvswitch *nv)
{
	nv->polls = mem_alloc(nv->targets.count, sizeof(*nv->polls));
	health_sources_begin(&nv->health);
	for (unsigned i = 0; i < nv->targets.count; i++) {
		const struct target *target = &nv->targets.list[i];
		unsigned host = health_add(&nv->health, target->host);

		nv->polls[i] = (struct poll){
			.nv = nv,
			.host = host,
			.source =
				health_source_add(&nv->health, host, target->where, target->trust),
			.link_downs = UINT64_MAX,
		};
	}
	health_sources_end(&nv->health);
	gather_racks(nv);
	nv->cursor = 0;
	nv->due_us = loop_now_us(nv->loop);
	if (!nv->poll_timer)
		nv->poll_timer = loop_timer_new(nv->loop, poll_timer_cb, nv);
	if (nv->fetch && nv->targets.count)
		loop_timer_set(nv->poll_timer, 0);
}

void nvswitch_polls_stop(struct nvswitch *nv)
{
	for (unsigned i = 0; nv->polls && i < nv->targets.count; i++)
		if (nv->polls[i].scrape) {
			fetch_cancel(nv->polls[i].scrape->job);
			free(nv->polls[i].scrape);
		}
	free(nv->polls);
	nv->polls = NULL;
	nv->in_flight = 0;
	if (nv->poll_timer)
		loop_timer_stop(nv->poll_timer);
}
