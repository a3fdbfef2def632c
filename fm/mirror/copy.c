/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * As standby. What each peer sends is kept in memory; the whole copy of the one that the election
 * made master becomes this manager's state, and from then on each of its changes does: it is whole,
 * for others and for operators, when the disk has it. What the master does not have is removed here
 * as well: the rows of a manager that returns are older than those of who was master meanwhile.
 */
#include <inttypes.h>
#include "topology/base/mem.h"
#include "topology/base/text.h"
#include "fm/mirror/own.h"

#define RETRY_US  2000000
#define COPY_MOST (512u << 20) /* bytes of a copy */

static bool is_followed(const struct peer *p)
{
	return p->master && p->who.port_guid &&
	       fabric_master(p->mirror->fabric) == p->who.port_guid;
}

/* ---- Taking over ----------------------------------------------------------------------------- */

#define ROWS_A_SLICE 1000

/* Of a kind: what the master does not have goes. */
static void drop_others(struct mirror *m, const struct peer *p, const struct rows_kind *kind)
{
	struct rows_kind *theirs = rows_kind((struct rowset *)&p->rows, kind->name, false);
	struct row **list = mirror_takes(NULL, kind->name) ? rows_list(kind, false) : NULL;
	size_t count = list ? kind->count : 0;

	for (size_t i = 0; i < count; i++)
		if (!theirs || !rows_find(theirs, list[i]->key))
			state_take(m->services.state, kind->name, list[i]->key, NULL);
	free(list);
}

static void adopted(struct mirror *m, struct peer *p)
{
	m->adopts.from = NULL;
	if (m->copied != p->who.port_guid)
		event_log_add(m->services.events, LOG_NOTICE, "mirror", NULL, NULL,
			      "fabric: state_dir is a complete copy of that of %s (port GUID "
			      "0x%016" PRIx64 ")",
			      p->who.name, p->who.port_guid);
	m->copied = p->who.port_guid;
	lineage_load(m);
	state_mark(m->services.state, STATE_COPIED, true);
	p->answer = true;
	loop_timer_set(m->answer, 0);
}

/* False: that was all. */
static bool adopt_some(struct mirror *m)
{
	const struct rowset *own = state_rows(m->services.state);
	struct peer *p = m->adopts.from;
	const char *kind;

	for (unsigned n = 0; n < ROWS_A_SLICE;) {
		const struct row *row = rows_step(&p->rows, &m->adopts.at, &kind);

		if (!row) {
			if (m->adopts.dropped < own->nkinds)
				drop_others(m, p, &own->kinds[m->adopts.dropped++]);
			else
				adopted(m, p);
			return m->adopts.from;
		}
		for (; row; row = row->next, n++)
			state_take(m->services.state, kind, row->key, row->value);
	}
	return true;
}

void copy_adopt(void *mirror)
{
	struct mirror *m = mirror;

	if (m->adopts.from && adopt_some(m))
		loop_timer_set(m->adopts.timer, 0);
}

void copy_finish(struct mirror *m)
{
	while (m->adopts.from && adopt_some(m))
		;
}

static void adopt(struct peer *p)
{
	struct mirror *m = p->mirror;
	struct adoption *adopts = &m->adopts;

	copy_finish(m);
	p->kept = false;
	m->confirms_to = NULL;
	lineage_yield(m, p);
	adopts->from = p;
	adopts->at = (struct rows_cursor){ 0 };
	adopts->dropped = 0;
	loop_timer_set(adopts->timer, 0);
}

/* The peer that is master; NULL = none says so. */
static struct peer *followed(const struct mirror *m)
{
	for (unsigned i = 0; i < m->npeers; i++)
		if (is_followed(&m->peers[i]))
			return (struct peer *)&m->peers[i];
	return NULL;
}

void copy_follow(struct mirror *m)
{
	struct peer *p = followed(m);

	if (p && p->whole)
		adopt(p);
}

const struct peer *copy_whole(const struct mirror *m)
{
	struct peer *p = followed(m);

	/* What the disk does not take counts as kept: that is an alert of its own. */
	if (p)
		p->kept |= p->whole && m->adopts.from != p && state_is_kept(m->services.state);
	return p && p->kept ? p : NULL;
}

/* ---- What a peer sends ----------------------------------------------------------------------- */

/* The channel's last word; or ours, and then the channel was closed. */
static void lose(void *peer, struct channel *channel, const char *why)
{
	struct peer *p = peer;

	array_printf(p->error, "%s", why);
	if (p->mirror->adopts.from == p)
		copy_finish(p->mirror);
	if (p->mirror->confirms_to == p)
		p->mirror->confirms_to = NULL;
	rows_fini(&p->rows);
	p->channel = NULL;
	p->opened = p->master = p->whole = p->kept = p->answer = false;
	p->who = (struct manager){ 0 };
	p->seq = 0;
	p->retry_us = loop_now_us(p->mirror->services.loop) + RETRY_US;
}

/* NULL, or what is wrong with it. */
static const char *take_rows(struct peer *p, const struct frame *frame)
{
	bool taken = p->whole && is_followed(p);
	struct row_change change;
	size_t at = 0;

	while (at < frame->length) {
		if (!row_bytes_next(frame->body, frame->length, &at, &change) ||
		    strlen(change.kind) >= MIRROR_NAME)
			return "invalid rows";
		if (!mirror_takes(&p->rows, change.kind))
			continue;

		struct rows_kind *kind = rows_kind(&p->rows, change.kind, true);
		const struct row *had = rows_find(kind, change.key);

		p->bytes -= had ? strlen(change.key) + strlen(had->value) : 0;
		p->bytes += change.value ? strlen(change.key) + strlen(change.value) : 0;
		if (change.value)
			rows_set(kind, change.key, change.value, false);
		else
			rows_drop(kind, change.key);
		if (taken)
			state_take(p->mirror->services.state, change.kind, change.key,
				   change.value);
	}
	return p->bytes > COPY_MOST ? "too many rows" : NULL;
}

static void confirm(const struct peer *p, uint64_t seq, bool whole)
{
	channel_send(p->channel, FRAME_TAKEN,
		     json_pack("{sI sb}", "seq", (json_int_t)seq, "whole", whole), NULL, 0);
}

/* The disk has what was there when it was asked for, whatever has come since. */
static void on_disk(void *mirror)
{
	struct mirror *m = mirror;
	struct peer *p = m->confirms_to;

	m->confirms_to = NULL;
	if (p && is_followed(p)) {
		p->kept = true;
		confirm(p, m->confirms, true);
	}
	copy_answer(m);
}

/* Frames that came together are answered together. */
void copy_answer(void *mirror)
{
	struct mirror *m = mirror;

	for (struct peer *p = m->peers; p < m->peers + m->npeers; p++) {
		bool whole = p->whole && is_followed(p);

		if (!p->answer || !p->channel || (whole && m->adopts.from == p))
			continue; /* adopted() answers */
		if (!whole || state_is_kept(m->services.state)) {
			p->kept |= whole;
			confirm(p, p->seq, whole);
		} else if (m->confirms_to != p) {
			/* What it has is on its way to the disk: a hand-over counts on it. */
			state_forget(m->services.state, m);
			state_when_kept(m->services.state, on_disk, m);
			m->confirms_to = p;
			m->confirms = p->seq;
		} else {
			continue;
		}
		p->answer = false;
	}
}

static void received(void *arg, struct channel *channel, const struct frame *frame)
{
	struct peer *p = arg;
	const char *wrong = NULL;
	json_int_t seq = 0;

	p->heard_us = loop_now_us(p->mirror->services.loop);
	if (p->who.port_guid && !json_unpack(frame->head, "{sI}", "seq", &seq))
		p->seq = seq;
	if (frame->type == FRAME_HELLO) {
		wrong = mirror_meet(p->mirror, channel, &p->who, frame);
		if (!wrong)
			channel_take_long(channel);
	} else if (!p->who.port_guid)
		wrong = MIRROR_NO_HELLO;
	else if (frame->type == FRAME_ROLE) {
		/* NULL, or what is wrong with it. */
		int master = 0;

		json_unpack(frame->head, "{sb}", "master", &master);
		if (p->mirror->adopts.from == p)
			copy_finish(p->mirror);
		rows_fini(&p->rows);
		p->bytes = 0;
		generation_parse(&p->who.generation, json_object_get(frame->head, "takeovers"));
		p->master = master;
		p->whole = p->kept = false;
		if (p->mirror->confirms_to == p)
			p->mirror->confirms_to = NULL;
		wrong = generation_is_plausible(&p->who.generation, &p->mirror->generation)
				? NULL
				: MIRROR_IMPLAUSIBLE;
	} else if (frame->type == FRAME_ROWS) {
		wrong = take_rows(p, frame);
	} else if (frame->type == FRAME_WHOLE) {
		p->whole = true;
		if (is_followed(p))
			adopt(p);
	}
	if (wrong) {
		channel_close(p->channel);
		lose(p, channel, wrong);
	} else if (p->whole || frame->type == FRAME_PING)
		p->answer = true;
	if (p->answer)
		loop_timer_set(p->mirror->answer, 0);
}

static void opened(void *arg, struct channel *channel)
{
	struct peer *p = arg;

	p->opened = true;
	p->error[0] = '\0';
	p->heard_us = loop_now_us(p->mirror->services.loop);
	channel_send(channel, FRAME_HELLO, mirror_hello(p->mirror, channel), NULL, 0);
}

/* ---- Connections ----------------------------------------------------------------------------- */

void copy_connect(struct mirror *m, bool at_once)
{
	static const struct channel_ops ops = { opened, received, lose };
	uint64_t now = mirror_now(m);
	struct address at;

	for (struct peer *p = m->peers; p < m->peers + m->npeers; p++)
		if (!p->channel && (at_once || now >= p->retry_us) &&
		    address_parse(p->address, &at))
			p->channel = channel_connect(m->services.loop, m->tls, at.host, at.port,
						     p->names, &ops, p);
}

void copy_close(struct mirror *m)
{
	state_forget(m->services.state, m);
	for (unsigned i = 0; i < m->npeers; i++) {
		if (m->peers[i].channel)
			channel_close(m->peers[i].channel);
		lose(&m->peers[i], m->peers[i].channel, "closed");
	}
	m->npeers = 0;
}

/* ---- For operators --------------------------------------------------------------------------- */

const char *copy_error(const struct mirror *m)
{
	for (unsigned i = 0; i < m->npeers; i++)
		if (m->peers[i].error[0])
			return m->peers[i].error;
	return followed(m) ? "copying is not complete yet"
			   : "no connected peer is master of this fabric";
}

json_t *copy_json(const struct mirror *m)
{
	uint64_t now = mirror_now(m);
	json_t *rows = json_array();

	for (unsigned i = 0; i < m->npeers; i++) {
		const struct peer *p = &m->peers[i];

		json_add(rows, "{ss ss so sb sb sb sb sI so}", "address", p->address, "name",
			 p->who.name, "port_guid", json_guid(p->who.port_guid), "connected",
			 p->opened, "master", p->master, "whole", p->kept, "other_m_keys",
			 p->who.other_keys, "age_ms",
			 (json_int_t)(p->opened ? (now - p->heard_us) / 1000 : 0), "error",
			 p->error[0] ? json_string(p->error) : json_null());
	}
	return rows;
}
