/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <math.h>
#include "fm/loop/job.h"
#include "fm/mad/batch.h"
#include "fm/perf/perf.h"
#include "topology/base/mem.h"

/* What is kept of nodes and their ports between two passes over their counters. */

struct detail { /* of a port that is not well */
	uint16_t rcv[WIRE_PERF_DETAILS], xmit[WIRE_PERF_DETAILS];
};

struct doubt { /* a reading of a port that is read once more */
	struct doubt *next;
	uint8_t num, kind; /* enum perf_job */
	uint8_t tries;
	uint64_t value[PERF_COUNTERS]; /* or those of error correction */
};

struct pnode {
	cl_map_item_t item; /* key = node GUID */
	guid_t guid;
	struct inv_node *inv; /* of this pass */
	uint32_t silent_in;   /* the pass in which it did not answer */
	bool has_caps, asked_caps, no_details;
	struct wire_perf_caps caps;
	uint64_t due[4]; /* ports that are asked once its capabilities are known, by bit */
	uint8_t nports;
	struct judge_port *judged;	/* [nports + 1] */
	struct port_counters *counters; /* [nports]: of port N at N - 1 */
	struct ber_port *ber;		/* as judged */
	float *bits_s;			/* as judged: when last read */
	struct judge_fec *fec;		/* as judged; NULL = its agent does not count that */
	struct detail **details;	/* [nports + 1], NULL = well */
	struct doubt *doubts;		/* of few ports for a moment */
	double thrown;			/* false readings as of thrown_us, fading within an hour */
	uint64_t thrown_us;
};

/*
 * Who is asked in a pass over all counters, in which order. At 16,384 HCAs that takes longer
 * than the loop may be held, so it is worked out in pieces; the inventory may change in between.
 */

struct round {
	cl_qmap_t *nodes;	     /* what is kept of them; the owner's */
	const struct inventory *inv; /* borrowed */
	struct pnode **order; /* when all are met: those with most ports first, then by GUID */
	unsigned count;
	unsigned total; /* ports that would be asked now */

	/* while they are met */
	struct pnode **met;	      /* by GUID */
	unsigned with[UINT8_MAX + 1]; /* nodes with so many ports */
	guid_t next;
	cl_map_item_t *old; /* of `nodes`, the first that was not come to yet */
};

/*
 * Up to EDR links run with little or no error correction, and are within their specification with
 * more errors than those that correct.
 */
#define BEFORE_FEC_LENIENCE 10

/* `nodes` is the owner's map of all of them. */
static struct pnode *pnode_find(const cl_qmap_t *nodes, guid_t guid)
{
	cl_map_item_t *item = cl_qmap_get(nodes, guid);

	return item == cl_qmap_end(nodes) ? NULL : (struct pnode *)item;
}

static void doubt_end(struct doubt **link)
{
	struct doubt *d = *link;

	*link = d->next;
	free(d);
}

static void pnode_free(cl_qmap_t *nodes, struct pnode *n)
{
	cl_qmap_remove_item(nodes, &n->item);
	for (unsigned i = 0; i <= n->nports; i++) {
		free(n->details[i]);
		ber_forget(&n->ber[i]);
	}
	while (n->doubts)
		doubt_end(&n->doubts);
	free(n->ber);
	free(n->bits_s);
	free(n->details);
	free(n->judged);
	free(n->counters);
	free(n->fec);
	free(n);
}

/*
 * That of a node, for a walk in the order of GUIDs: *old, which the walk hands on, is the first of
 * the map that it has not come to. Those with lower GUIDs are gone, and freed. A new one is made
 * when there is none, or it had another number of ports; the map owns it.
 */
static struct pnode *pnode_take(cl_qmap_t *nodes, cl_map_item_t **old, const struct inv_node *inv)
{
	struct pnode *n;

	while (*old != cl_qmap_end(nodes) && ((struct pnode *)*old)->guid <= inv->guid) {
		n = (struct pnode *)*old;
		*old = cl_qmap_next(*old);
		if (n->guid == inv->guid && n->nports == inv->nports)
			return n;
		pnode_free(nodes, n);
	}
	n = mem_new(n);
	n->guid = inv->guid;
	n->nports = inv->nports;
	n->judged = mem_array(n->judged, inv->nports + 1u);
	n->bits_s = mem_array(n->bits_s, inv->nports + 1u);
	n->ber = mem_array(n->ber, inv->nports + 1u);
	n->counters = mem_array(n->counters, inv->nports);
	n->details = mem_array(n->details, inv->nports + 1u);
	cl_qmap_insert(nodes, inv->guid, &n->item);
	return n;
}

/* It has an Active link and can be reached by LID; false too where there is no such port. */
static bool port_is_asked(const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = num <= node->nports ? &node->ports[num] : NULL;

	return port && num && port->link_up && port->state == TOPO_ACTIVE && !node->gone &&
	       !node->silent && !node->removed && node->ports[inv_is_switch(node) ? 0 : num].lid;
}

static struct perf_port pnode_port(const struct pnode *n, uint8_t num)
{
	struct perf_port port = { .node = n->guid,
				  .num = num,
				  .judged = &n->judged[num],
				  .ber = &n->ber[num],
				  .bits_s = n->bits_s[num],
				  .counters = &n->counters[num - 1] };
	const struct detail *detail = n->details[num];

	port.fec = n->fec ? &n->fec[num] : NULL;
	if (detail) {
		memcpy(port.rcv_details, detail->rcv, sizeof(detail->rcv));
		memcpy(port.xmit_details, detail->xmit, sizeof(detail->xmit));
	}
	return port;
}

/* A port that could not be read has no rates; that of before is not one of now. */
static void rates_forget(struct pnode *n, unsigned num)
{
	n->counters[num - 1].rated = 0;
}

/* What was added to a counter with its last reading; 0 = not known. */
static double added(const struct port_counters *c, unsigned counter)
{
	if (!counters_rated(c, counter))
		return 0;
	return c->rate[counter] * (double)c->span_ms[counters_group(counter)] / 1e3;
}

/*
 * Both the inventory and what is kept of nodes are sorted by GUID, so one walk goes along both:
 * nodes of the one alone are new, of the other alone are gone.
 */

#define PORTS_A_PIECE 2048

/* ---- Passes over all counters ---------------------------------------------------------------- */

/*
 * A pass goes by port numbers first, nodes second, so that neighbours in time are different
 * devices; the inventory may change under it. Twenty times a second as many ports are asked as the
 * pass is behind its pace, or on demand as many as the window takes.
 *
 * Requests are LID-routed to the node's own LID: switches have one for all ports, adapters one
 * each. What is kept of nodes is made and freed when a pass begins, when no request is on its way.
 */

#define TICK_US 50000
#define PACE_SHARE                                                                                 \
	0.8 /* of the interval that a pass takes; the rest is for answers that come late */
#define FULL_SPEED   128   /* waiting requests at a time, on demand */
#define LOOKS_A_TICK 20000 /* places looked at in one callback */
#define BITS_A_WORD  32.0

#define PACE_PASSES 10 /* in so many each port is read by which lanes its link runs */

#define WATCH_US   10000000ull	  /* between two readings of a port that somebody watches */
#define WATCHED_US 60000000ull	  /* after it was asked about */
#define WATCHED	   64		  /* ports at a time */
#define JOB_WATCH  (JOB_PACE + 1) /* its object is a struct watched */

enum perf_job {
	JOB_CAPS,
	JOB_FEC,
	JOB_TRAFFIC,
	JOB_COUNTERS,
	JOB_EXT,
	JOB_RCV,
	JOB_XMIT,
	JOB_PACE
};

static const uint16_t job_attr[] = {
	[JOB_CAPS] = WIRE_PERF_CLASS_PORT_INFO,	     [JOB_FEC] = WIRE_PERF_EXT_SPEEDS,
	[JOB_TRAFFIC] = WIRE_PERF_COUNTERS_EXT,	     [JOB_COUNTERS] = WIRE_PORT_COUNTERS,
	[JOB_EXT] = WIRE_PERF_COUNTERS_EXT,	     [JOB_RCV] = WIRE_PERF_RCV_ERROR_DETAILS,
	[JOB_XMIT] = WIRE_PERF_XMIT_DISCARD_DETAILS, [JOB_PACE] = WIRE_PORT_INFO,
	[JOB_WATCH] = WIRE_PERF_COUNTERS_EXT,
};

struct watched {     /* a port; its readings are apart from those of passes, and judge nothing */
	guid_t node; /* 0 = free */
	uint8_t num;
	uint64_t until_us;
	struct port_counters counters;
};

struct perf {
	struct loop *loop;
	struct inventory *inv;
	struct perf_conf conf;
	const struct perf_ops *ops;
	void *arg;
	struct batch *batch;
	struct loop_timer *tick;
	cl_qmap_t nodes;

	uint32_t pass; /* the running or latest */
	bool running, hurried, all_asked;
	struct round round; /* all nodes, in the order of the pass */
	struct job *job;    /* puts the nodes of `round` in order */
	bool preparing;	    /* the job is at work */
	unsigned num, next; /* place of the pass: port number, index in round.order */
	unsigned asked;	    /* ports of this pass */
	uint64_t began_us, mads_before;
	struct perf_pass now, last;
	uint64_t thrown; /* readings, since it began */
	struct watched watched[WATCHED];
	struct loop_timer *watch;
};

/* ---- Questions ------------------------------------------------------------------------------- */

static void ask(struct perf *p, struct pnode *n, uint8_t num, enum perf_job kind)
{
	batch_add(p->batch, &(struct batch_job){ .object = n, .arg = num, .kind = kind });
}

/*
 * What a reading is made of, one after another: FEC, traffic where that is apart, errors, which end
 * it. first: JOB_FEC, JOB_TRAFFIC or JOB_COUNTERS, what is to be asked next if there is such a
 * thing.
 */
static void ask_from(struct perf *p, struct pnode *n, uint8_t num, enum perf_job first)
{
	if (first == JOB_FEC && n->caps.fec)
		ask(p, n, num, JOB_FEC);
	else if (first != JOB_COUNTERS && n->caps.ext && !n->caps.errors)
		ask(p, n, num, JOB_TRAFFIC);
	else
		ask(p, n, num, n->caps.errors ? JOB_EXT : JOB_COUNTERS);
}

/* Which counters there are is known, or that there are but the oldest. */
static void caps_met(struct perf *p, struct pnode *n)
{
	n->has_caps = true;
	for (unsigned num = 1; num <= n->nports; num++)
		if (n->due[num / 64] >> num % 64 & 1)
			ask_from(p, n, num, JOB_FEC);
	mem_zero(&n->due, 1);
}

static bool perf_make(void *owner, const struct batch_job *job, struct batch_request *request)
{
	struct perf *p = owner;
	const struct watched *w = job->kind == JOB_WATCH ? job->object : NULL;
	struct pnode *n = w ? pnode_find(&p->nodes, w->node) : job->object;
	const struct inv_node *node = n ? n->inv : NULL;

	if (!node || !port_is_asked(node, job->arg) || (w && !n->caps.ext))
		return false;
	if (job->kind == JOB_PACE) {
		if (!inventory_port_path(p->inv, node, job->arg, &request->via.path))
			return false;
		request->mad.attr_mod = inventory_port_modifier(node, job->arg);
	} else {
		if (n->silent_in == p->pass) {
			rates_forget(n, job->arg);
			return false;
		}
		wire_perf_ask(job->arg, request->data);
		request->mad.mgmt_class = WIRE_PERF;
		request->mad.lid = node->ports[inv_is_switch(node) ? 0 : job->arg].lid;
		request->mad.pkey_index = inventory_default_pkey_index(p->inv);
	}
	request->mad.method = WIRE_GET;
	request->mad.attr_id = job_attr[job->kind];
	request->mad.device = node->guid;
	request->mad.retries = 1;
	request->mad.doubtful = true; /* a lost one is no reason to slow down what matters more */
	return true;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* 4-byte words a second. */
static double word_rate(const struct inv_port *port)
{
	return topo_lane_mbps(port->speed) * 1e6 * port->lanes / BITS_A_WORD;
}

#define TRIES	 3 /* at a reading that another one goes on from */
#define UNTRUE_S 3600.0

static double thrown_now(const struct pnode *n, uint64_t now_us)
{
	return n->thrown * exp(-(double)(now_us - n->thrown_us) / 1e6 / UNTRUE_S);
}

static struct doubt **doubt_of(struct pnode *n, uint8_t num, enum perf_job kind)
{
	struct doubt **link = &n->doubts;

	while (*link && ((*link)->num != num || (*link)->kind != kind))
		link = &(*link)->next;
	return link;
}

enum held { HELD_NOT, HELD_AGAIN, HELD_GIVEN_UP };

/*
 * Whether a reading is to be taken, as judge_weigh() has it: HELD_NOT. Else it is asked for once
 * more, or given up. A reading that no other one goes on from was false, and is counted against
 * its agent.
 */
static enum held hold(struct perf *p, struct pnode *n, uint8_t num, enum perf_job kind,
		      enum judge_reading verdict, const uint64_t *value, unsigned count)
{
	struct doubt **link = doubt_of(n, num, kind), *d = *link;
	bool again = verdict == JUDGE_TWICE && (!d || d->tries < TRIES);
	bool was_false = false;

	for (unsigned i = 0; d && i < count; i++)
		was_false |= value[i] < d->value[i];
	if (was_false || (verdict == JUDGE_TWICE && !again)) {
		n->thrown = thrown_now(n, loop_now_us(p->loop)) + 1;
		n->thrown_us = loop_now_us(p->loop);
		p->thrown++;
	}
	if (again) {
		if (!d) {
			d = *link = mem_new(d);
			d->num = num;
			d->kind = kind;
		}
		d->tries++;
		memcpy(d->value, value, count * sizeof(*value));
		ask(p, n, num, kind);
		return HELD_AGAIN;
	}
	if (d)
		doubt_end(link);
	return verdict == JUDGE_TWICE ? HELD_GIVEN_UP : HELD_NOT;
}

static bool fec_is_held(struct perf *p, struct pnode *n, uint8_t num,
			const uint64_t now[WIRE_FEC_COUNTERS])
{
	const struct doubt *d = *doubt_of(n, num, JOB_FEC);
	struct judge_fec *fec = &n->fec[num];
	enum judge_reading verdict =
		judge_weigh_fec(&n->judged[num], fec, &p->conf.limits, d ? d->value : NULL, now,
				word_rate(&n->inv->ports[num]), loop_now_us(p->loop));
	enum held held = hold(p, n, num, JOB_FEC, verdict, now, WIRE_FEC_COUNTERS);

	if (held != HELD_AGAIN)
		ask_from(p, n, num, JOB_TRAFFIC);
	if (held == HELD_NOT && verdict == JUDGE_ANEW) {
		judge_anew(NULL, fec);
		counters_take_fec(&n->counters[num - 1], NULL, 0);
	}
	return held != HELD_NOT;
}

static bool errors_are_held(struct perf *p, struct pnode *n, uint8_t num, enum perf_job kind,
			    const struct wire_perf *now)
{
	const struct doubt *d = *doubt_of(n, num, kind);
	enum judge_reading verdict =
		judge_weigh(&n->judged[num], &p->conf.limits, d ? d->value : NULL, now,
			    word_rate(&n->inv->ports[num]), loop_now_us(p->loop));

	if (hold(p, n, num, kind, verdict, now->value, PERF_COUNTERS))
		return true;
	if (verdict == JUDGE_ANEW) {
		judge_anew(&n->judged[num], NULL);
		n->counters[num - 1].rated = n->counters[num - 1].known = 0;
	}
	return false;
}

/* What the last reading of its counters says of the port's error rate. */
static void take_error_rate(struct perf *p, struct pnode *n, uint8_t num)
{
	const struct port_counters *c = &n->counters[num - 1];
	const struct inv_port *port = &n->inv->ports[num];
	struct ber_port *ber = &n->ber[num];
	bool errors =
		added(c, PERF_SYMBOL) + added(c, PERF_RCV_ERRORS) + added(c, PERF_INTEGRITY) > 0;
	/* What error correction did may be of an earlier pass. */
	bool fec = c->read_us[COUNTERS_FEC] > ber->last_us;
	double blocks = fec ? added(c, COUNTERS_FEC_FIRST + WIRE_FEC_UNCORRECTED) : 0;
	bool trained = added(c, PERF_DOWNED) > 0 || added(c, PERF_RECOVERED) > 0, changed;
	uint64_t total, read_us;

	read_us = p->ops->measured(p->arg, n->guid, num,
				   errors || trained || blocks > 0 || ber->ring, &total);

	const struct ber_reading reading = {
		.errors = { [BER_SYMBOL] = lround(added(c, PERF_SYMBOL)),
			    [BER_EFFECTIVE] =
				    read_us ? ber_measured(ber, total, read_us) : lround(blocks) },
		.raw = fec ? added(c, COUNTERS_FEC_FIRST + WIRE_FEC_SYMBOLS) : 0,
		.trained = trained,
		.bits_s = topo_lane_signalling_mbps(port->speed) * 1e6 * port->lanes,
		.lenience = port->speed <= TOPO_EDR ? BEFORE_FEC_LENIENCE : 1,
		.now_us = loop_now_us(p->loop),
	};

	if (errors || trained)
		ask(p, n, num, JOB_PACE);
	if (!read_us)
		ber->measured = 0;
	changed = ber_take(ber, &p->conf.ber, &reading);
	n->bits_s[num] = (float)reading.bits_s;
	p->ops->read(p->arg, n->guid, num, c, false);
	if (changed || ber_is_over(ber)) {
		const struct perf_port over = pnode_port(n, num);

		p->ops->ber(p->arg, &over, changed);
	}
}

static void counters_met(struct perf *p, struct pnode *n, uint8_t num, const struct wire_perf *now)
{
	struct judge_port *judged = &n->judged[num];
	enum judge_state before = judged->state;
	bool changed = judge_take(judged, &p->conf.limits, now, word_rate(&n->inv->ports[num]),
				  loop_now_us(p->loop));

	p->now.ports++;
	if (judged->state == JUDGE_WELL && !judged->over) {
		free(n->details[num]);
		n->details[num] = NULL;
	} else if (!n->details[num]) {
		n->details[num] = mem_array(n->details[num], 1);
	}
	/* What kind of errors they are, unless the agent is known not to count that. */
	if (n->details[num] && !n->no_details && judged->rate[JUDGE_RCV] > 0)
		ask(p, n, num, JOB_RCV);
	if (n->details[num] && !n->no_details && judged->rate[JUDGE_DISCARDS] > 0)
		ask(p, n, num, JOB_XMIT);
	if (changed) {
		const struct perf_port port = pnode_port(n, num);

		p->ops->changed(p->arg, &port, before);
	}
	take_error_rate(p, n, num);
}

static void pace_met(struct perf *p, struct pnode *n, uint8_t num, const uint8_t data[64])
{
	const struct inv_port *port = &n->inv->ports[num];
	struct wire_port_info info;

	wire_port_info_decode(data, &info);
	if (port->peer && info.state == port->state &&
	    (wire_port_info_lanes(&info) != port->lanes ||
	     wire_port_info_speed(&info) != port->speed))
		p->ops->trained(p->arg, n->inv, num);
}

static void answered(struct perf *p, const struct batch_job *job, struct pnode *n,
		     const uint8_t *data)
{
	uint8_t num = job->arg;
	uint64_t fec[WIRE_FEC_COUNTERS];

	switch ((enum perf_job)job->kind) {
	case JOB_CAPS:
		wire_perf_caps_decode(data, &n->caps);
		caps_met(p, n);
		return;
	case JOB_FEC:
		if (!n->caps.fec) { /* another port was refused meanwhile */
			ask_from(p, n, num, JOB_TRAFFIC);
			return;
		}
		if (!n->fec)
			n->fec = mem_array(n->fec, n->nports + 1u);
		wire_fec_decode(data, fec);
		if (fec_is_held(p, n, num, fec))
			return;
		counters_take_fec(&n->counters[num - 1], fec, loop_now_us(p->loop));
		judge_take_fec(&n->judged[num], &n->fec[num], fec, word_rate(&n->inv->ports[num]),
			       loop_now_us(p->loop));
		return;
	case JOB_TRAFFIC:
	case JOB_COUNTERS:
	case JOB_EXT: {
		enum perf_job kind = job->kind;
		struct wire_perf now;

		if (kind == JOB_COUNTERS)
			wire_perf_decode(data, &now);
		else
			wire_perf_ext_decode(data, &now);
		if (kind != JOB_TRAFFIC && errors_are_held(p, n, num, kind, &now))
			return;
		counters_take(&n->counters[num - 1], &now, counters_of(job_attr[kind], &n->caps),
			      loop_now_us(p->loop));
		if (kind == JOB_TRAFFIC)
			ask_from(p, n, num, JOB_COUNTERS);
		else
			counters_met(p, n, num, &now);
	}
		return;
	case JOB_RCV:
		if (n->details[num])
			wire_perf_details_decode(data, n->details[num]->rcv);
		return;
	case JOB_XMIT:
		if (n->details[num])
			wire_perf_details_decode(data, n->details[num]->xmit);
		return;
	case JOB_PACE:
		pace_met(p, n, num, data);
		return;
	}
}

static void watch_met(struct perf *p, struct watched *w, const uint8_t data[])
{
	const struct wire_perf_caps caps = { .ext = true };
	struct wire_perf now;

	wire_perf_ext_decode(data, &now);
	counters_take(&w->counters, &now, counters_of(WIRE_PERF_COUNTERS_EXT, &caps),
		      loop_now_us(p->loop));
	p->ops->read(p->arg, w->node, w->num, &w->counters, true);
}

static void perf_answer(void *owner, const struct batch_job *job, const struct batch_path *via,
			const struct mad_answer *answer)
{
	struct perf *p = owner;
	struct pnode *n = job->object;

	if (job->kind == JOB_WATCH) {
		if (answer->result == MAD_OK)
			watch_met(p, job->object, answer->data);
	} else if (answer->result == MAD_OK) {
		answered(p, job, n, answer->data);
	} else if (answer->result == MAD_STATUS) {
		uint8_t num = job->arg;

		switch ((enum perf_job)job->kind) {
		case JOB_CAPS:
			caps_met(p, n);
			return;
		case JOB_FEC: /* it is not counted after all */
			n->caps.fec = false;
			for (unsigned i = 0; n->fec && i <= n->nports; i++)
				judge_take_fec(&n->judged[i], &n->fec[i], NULL, 0, 0);
			for (unsigned i = 0; i < n->nports; i++)
				counters_take_fec(&n->counters[i], NULL, 0);
			free(n->fec);
			n->fec = NULL;
			ask_from(p, n, num, JOB_TRAFFIC);
			return;
		case JOB_TRAFFIC:
			n->caps.ext = false;
			ask_from(p, n, num, JOB_COUNTERS);
			return;
		case JOB_EXT:
			n->caps.errors = false;
			return;
		case JOB_RCV:
		case JOB_XMIT:
			n->no_details = true;
			return;
		case JOB_COUNTERS:
		case JOB_PACE:
			return;
		}
	} else if (job->kind != JOB_PACE) {
		n->silent_in = p->pass;
		rates_forget(n, job->arg);
		p->now.silent++;
	}
}

/* ---- Passes ---------------------------------------------------------------------------------- */

static void ask_some(struct perf *p, unsigned count)
{
	for (unsigned looks = 0; count && !p->all_asked && looks < LOOKS_A_TICK; looks++) {
		uint8_t num = p->num;

		/* The place moves on to the next number where no node has the present one. */
		if (p->next >= p->round.count || p->round.order[p->next]->nports < p->num) {
			p->next = 0;
			p->num++;
			p->all_asked = !p->round.count || p->round.order[0]->nports < p->num;
			continue;
		}

		struct pnode *n = p->round.order[p->next++];

		if (!port_is_asked(n->inv, p->num))
			continue;
		count--;
		p->asked++;
		if (!((p->pass + n->guid + num) % PACE_PASSES))
			ask(p, n, num, JOB_PACE);
		if (n->has_caps) {
			ask_from(p, n, num, JOB_FEC);
			continue;
		}
		n->due[num / 64] |= 1ull << num % 64;
		if (!n->asked_caps)
			ask(p, n, num, JOB_CAPS);
		n->asked_caps = true;
	}
}

/*
 * A piece of the round; behind the last one the order is good. Nodes that are taken off the
 * inventory meanwhile are marked so, and their memory stays.
 */
static enum job_result prepare(void *owner)
{
	struct perf *p = owner;
	struct round *r = &p->round;
	struct inv_node *inv = inventory_from(r->inv, r->next);
	unsigned place[UINT8_MAX + 1], next = 0;
	struct pnode *n;

	for (unsigned ports = 0; inv && ports < PORTS_A_PIECE;
	     ports += inv ? inv->nports + 1u : 0) {
		n = pnode_take(r->nodes, &r->old, inv);
		n->inv = inv;
		n->asked_caps = false;
		mem_zero(&n->due, 1);
		r->met = mem_grow(r->met, r->count);
		r->order = mem_grow(r->order, r->count);
		r->met[r->count++] = n;
		r->with[n->nports]++;
		for (unsigned num = 1; num <= n->nports; num++)
			r->total += port_is_asked(inv, num);
		r->next = inv->guid + 1;
		inv = inventory_next(r->inv, inv);
	}
	if (inv)
		return JOB_MORE;
	while (r->old != cl_qmap_end(r->nodes)) {
		n = (struct pnode *)r->old;
		r->old = cl_qmap_next(r->old);
		pnode_free(r->nodes, n);
	}
	for (unsigned nports = UINT8_MAX + 1; nports--; next += r->with[nports])
		place[nports] = next;
	for (unsigned i = 0; i < r->count; i++)
		r->order[place[r->met[i]->nports]++] = r->met[i];
	p->preparing = false;
	loop_timer_set(p->tick, 0);
	return JOB_NEXT;
}

static const struct job_step prepare_steps[] = { { "counters-round", prepare }, { 0 } };

static void pass_begin(struct perf *p, bool hurried)
{
	p->pass++;
	p->running = true;
	p->hurried = hurried;
	p->all_asked = false;
	p->num = 1;
	p->next = 0;
	p->asked = 0;
	p->now = (struct perf_pass){ .hurried = hurried };
	p->began_us = loop_now_us(p->loop);
	p->mads_before = batch_smps(p->batch);
	p->preparing = true;
	loop_timer_stop(p->tick);
	/*
	 * From the beginning. What is kept of nodes that are gone is freed meanwhile, so no request
	 * may be on its way.
	 */
	p->round.count = p->round.total = 0;
	p->round.next = 0;
	p->round.old = cl_qmap_head(p->round.nodes);
	mem_zero(&p->round.with, 1);
	job_start(p->job, prepare_steps, NULL);
}

static void perf_tick(void *arg)
{
	struct perf *p = arg;
	double passed_ms = (loop_now_us(p->loop) - p->began_us + TICK_US) / 1e3;
	unsigned count;

	if (!p->running) {
		pass_begin(p, false);
		return;
	}
	if (p->preparing)
		return;

	unsigned waiting = batch_in_flight(p->batch);

	if (p->hurried || !p->conf.interval_ms) {
		count = waiting < FULL_SPEED ? FULL_SPEED - waiting : 0;
	} else { /* how many more are to be asked by now */
		count = (unsigned)(p->round.total * passed_ms /
				   (p->conf.interval_ms * PACE_SHARE)) +
			1;
		count = count > p->asked ? count - p->asked : 0;
	}
	ask_some(p, count);
	if (p->all_asked && !batch_in_flight(p->batch))
		batch_wake(p->batch); /* its end ends the pass, also when nobody was asked */
	else if (!p->all_asked && !p->hurried) /* on demand, each answer lets the next request go */
		loop_timer_set(p->tick, TICK_US);
}

static bool perf_more(void *owner)
{
	struct perf *p = owner;
	unsigned asked = p->asked;

	if (!p->running || p->preparing || !p->hurried || p->all_asked)
		return false;
	ask_some(p, FULL_SPEED);
	return p->asked != asked;
}

static void perf_idle(void *owner)
{
	struct perf *p = owner;

	if (p->running && p->all_asked) {
		uint64_t now = loop_now_us(p->loop),
			 due = p->began_us + p->conf.interval_ms * 1000ull;

		p->running = false;
		p->last = p->now;
		p->last.mads = batch_smps(p->batch) - p->mads_before;
		p->last.took_us = now - p->began_us;
		p->last.ended_us = now;
		if (p->conf.interval_ms)
			loop_timer_set(p->tick, due > now ? due - now : 0);
		p->ops->passed(p->arg, &p->last);
	} else if (p->running && p->hurried) {
		loop_timer_set(p->tick, 0); /* nobody to ask among those looked at */
	}
}

static const struct batch_ops batch_ops = {
	.make = perf_make, .done = perf_answer, .more = perf_more, .idle = perf_idle
};

/* ---- The outside ----------------------------------------------------------------------------- */

void perf_read_now(struct perf *p)
{
	if (p->running && p->hurried)
		return;
	batch_drop(p->batch);
	pass_begin(p, true);
}

static void watch_tick(void *arg)
{
	struct perf *p = arg;

	for (struct watched *w = p->watched; w < p->watched + WATCHED; w++)
		if (w->until_us < loop_now_us(p->loop) || p->conf.interval_ms <= WATCH_US / 1000) {
			*w = (struct watched){ 0 };
		} else {
			batch_add(p->batch, &(struct batch_job){ .object = w,
								 .arg = w->num,
								 .kind = JOB_WATCH });
			loop_timer_set(p->watch, WATCH_US);
		}
}

void perf_watch(struct perf *p, guid_t node, uint8_t num)
{
	struct watched *w = NULL;

	for (struct watched *at = p->watched; at < p->watched + WATCHED; at++)
		if ((at->node == node && at->num == num) || (!at->node && !w))
			w = at;
	if (!w)
		return;
	w->node = node;
	w->num = num;
	w->until_us = loop_now_us(p->loop) + WATCHED_US;
	if (!loop_timer_armed(p->watch))
		loop_timer_set(p->watch, 0);
}

struct perf_pass perf_last_pass(const struct perf *p)
{
	struct perf_pass pass = p->last;

	pass.running_us = p->running ? loop_now_us(p->loop) - p->began_us : 0;
	pass.thrown = p->thrown;
	return pass;
}

void perf_each_untrue(const struct perf *p, double least,
		      void (*fn)(void *arg, const struct inv_node *node), void *arg)
{
	QMAP_EACH (&p->nodes, pnode, n) {
		const struct inv_node *node = inventory_find(p->inv, n->guid);

		if (node && n->thrown > 0 && thrown_now(n, loop_now_us(p->loop)) >= least)
			fn(arg, node);
	}
}

void perf_each_unwell(const struct perf *p, perf_port_fn *fn, void *arg)
{
	QMAP_EACH (&p->nodes, pnode, n)
		for (unsigned num = 1; num <= n->nports; num++) {
			if (n->judged[num].state == JUDGE_WELL && !ber_is_over(&n->ber[num]))
				continue;

			struct perf_port port = pnode_port(n, num);

			fn(arg, &port);
		}
}

bool perf_find(const struct perf *p, guid_t node, uint8_t num, struct perf_port *out)
{
	const struct pnode *n = pnode_find(&p->nodes, node);

	if (!n || num > n->nports || !n->judged[num].read_us)
		return false;
	*out = pnode_port(n, num);
	return true;
}

const struct port_counters *perf_counters(const struct perf *p, guid_t node, uint8_t *nports)
{
	struct pnode *n = pnode_find(&p->nodes, node);
	const struct inv_node *inv = inventory_find(p->inv, node);

	*nports = n ? n->nports : 0;
	for (unsigned num = 1; num <= *nports; num++)
		if (!inv || !port_is_asked(inv, num))
			rates_forget(n, num);
	return n ? n->counters : NULL;
}

void perf_configure(struct perf *p, const struct perf_conf *conf)
{
	bool sooner = conf->interval_ms != p->conf.interval_ms;

	if (memcmp(conf->ber.window_us, p->conf.ber.window_us, sizeof(conf->ber.window_us))) {
		/* error rates are counted from 0 */
		QMAP_EACH (&p->nodes, pnode, n)
			for (unsigned num = 0; num <= n->nports; num++)
				ber_forget(&n->ber[num]);
	}
	p->conf = *conf;
	if (p->running || !sooner)
		return;
	if (conf->interval_ms)
		loop_timer_set(p->tick, conf->interval_ms * 1000ull);
	else
		loop_timer_stop(p->tick);
}

struct perf *perf_new(struct loop *loop, struct mad *mad, struct inventory *inv,
		      const struct perf_conf *conf, const struct perf_ops *ops, void *arg)
{
	struct perf *p = mem_new(p);

	p->loop = loop;
	p->inv = inv;
	p->ops = ops;
	p->arg = arg;
	p->batch = batch_new(loop, mad, &batch_ops, p);
	p->tick = loop_timer_new(loop, perf_tick, p);
	p->watch = loop_timer_new(loop, watch_tick, p);
	cl_qmap_init(&p->nodes);
	p->round = (struct round){ .nodes = &p->nodes, .inv = inv };
	p->job = job_new(loop, p);
	job_yield(p->job);
	perf_configure(p, conf);
	return p;
}

void perf_free(struct perf *p)
{
	if (!p)
		return;
	batch_free(p->batch);
	loop_timer_free(p->tick);
	loop_timer_free(p->watch);
	job_free(p->job);
	free(p->round.met);
	free(p->round.order);
	while (!cl_is_qmap_empty(&p->nodes))
		pnode_free(&p->nodes, (struct pnode *)cl_qmap_head(&p->nodes));
	free(p);
}
