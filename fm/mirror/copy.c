/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * As standby. What each peer sends is kept in memory; of the one that the election made master a
 * whole copy is put on disk, and from then on each of its changes: it is whole, for others and for
 * operators, when the disk had it. What it does not have is empty
 * here as well: the files of a manager that returns are older than those of who was master
 * meanwhile.
 */
#include <inttypes.h>
#include "topology/base/mem.h"
#include "topology/base/text.h"
#include "fm/mirror/own.h"
#include "fm/state/state_file.h"

#define RETRY_US 2000000
#define KEPT_US	 20000

static bool is_followed(const struct peer *p)
{
	return p->master && p->who.port_guid &&
	       fabric_master(p->mirror->fabric) == p->who.port_guid;
}

/* ---- On disk --------------------------------------------------------------------------------- */

static void put(struct mirror *m, const struct content *file)
{
	state_store_put(m->services.state, file->name, file->text.bytes, file->text.length);
	if (file->records.length)
		state_store_append(m->services.state, file->name, file->records.bytes,
				   file->records.length);
}

static void empty_others(void *arg, const char *name)
{
	struct peer *p = arg;
	size_t length = 0;

	if (!mirror_has(name) || contents_find(&p->contents, name))
		return;
	free(state_store_text(p->mirror->services.state, name, &length));
	if (length)
		state_store_put(p->mirror->services.state, name, "", 0);
}

static void adopt(struct peer *p)
{
	struct mirror *m = p->mirror;

	p->kept = false;
	lineage_yield(m, p);
	for (unsigned i = 0; i < p->contents.count; i++)
		put(m, &p->contents.list[i]);
	state_store_each(m->services.state, empty_others, p);
	if (m->copied != p->who.port_guid)
		event_log_add(m->services.events, LOG_NOTICE, "mirror", NULL, NULL,
			      "fabric: state_dir is a complete copy of that of %s (port GUID "
			      "0x%016" PRIx64 ")",
			      p->who.name, p->who.port_guid);
	m->copied = p->who.port_guid;
	lineage_load(m);
	state_store_mark(m->services.state, STATE_COPIED, true);
}

/* The peer that is master; NULL = none says so. */
static struct peer *followed(const struct mirror *m)
{
	for (unsigned i = 0; i < m->npeers; i++)
		if (is_followed(&m->peers[i]))
			return (struct peer *)&m->peers[i];
	return NULL;
}

/* What the disk does not take counts as kept: that is an alert of its own. */
static bool is_kept(struct peer *p)
{
	p->kept |= p->whole && is_followed(p) && !state_store_holds(p->mirror->services.state);
	return p->kept;
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

	return p && is_kept(p) ? p : NULL;
}

/* ---- What a peer sends ----------------------------------------------------------------------- */

/* The channel's last word; or ours, and then the channel was closed. */
static void lose(void *peer, struct channel *channel, const char *why)
{
	struct peer *p = peer;

	array_printf(p->error, "%s", why);
	contents_fini(&p->contents);
	p->channel = NULL;
	p->opened = p->master = p->whole = p->kept = p->answer = false;
	p->who = (struct manager){ 0 };
	p->seq = 0;
	p->retry_us = loop_now_us(p->mirror->services.loop) + RETRY_US;
}

static bool is_plain_name(const char *name)
{
	return *name && !strchr(name, '/') && *name != '.' && strlen(name) < MIRROR_NAME;
}

/* NULL, or what is wrong with it. */
static const char *take_file(struct peer *p, const struct frame *frame)
{
	json_int_t keep_head, keep_tail, length, seq;
	const char *name, *sum;
	struct text text;
	struct delta d;

	if (json_unpack(frame->head, "{ss sI sI sI ss sI}", "name", &name, "keep_head", &keep_head,
			"keep_tail", &keep_tail, "length", &length, "sum", &sum, "seq", &seq) ||
	    !is_plain_name(name) || keep_head < 0 || keep_tail < 0)
		return "an invalid file";
	if (!mirror_takes(p->mirror, &p->contents, name))
		return NULL;
	d = (struct delta){ keep_head, keep_tail, frame->body, frame->length };
	if (!delta_apply(contents_text(&p->contents, name), &d, &text))
		return "a change to a file that was not copied";
	if (text.length != (size_t)length ||
	    strtoull(sum, NULL, 16) != state_sum(text.bytes, text.length)) {
		free(text.bytes);
		return "a change that gave a wrong checksum";
	}
	if (!contents_set(&p->contents, name, text))
		return "too many files";
	contents_find(&p->contents, name)->records.length = 0; /* it has them, or they follow */
	p->seq = seq;
	if (p->whole && is_followed(p))
		put(p->mirror, contents_find(&p->contents, name));
	return NULL;
}

static const char *take_records(struct peer *p, const struct frame *frame)
{
	const char *name;
	json_int_t seq;

	if (json_unpack(frame->head, "{ss sI}", "name", &name, "seq", &seq) ||
	    !is_plain_name(name) || !frame->length || frame->body[frame->length - 1] != '\n')
		return "invalid changes";
	if (!mirror_takes(p->mirror, &p->contents, name))
		return NULL;
	if (!contents_append(&p->contents, name, frame->body, frame->length))
		return "too many files";
	p->seq = seq;
	if (p->whole && is_followed(p))
		state_store_append(p->mirror->services.state, name, frame->body, frame->length);
	return NULL;
}

/* Frames that came together are answered together. */
void copy_answer(void *mirror)
{
	struct mirror *m = mirror;

	for (struct peer *p = m->peers; p < m->peers + m->npeers; p++) {
		bool whole = p->whole && is_followed(p);

		if (whole && !is_kept(p)) { /* it is on its way to the disk */
			loop_timer_set(m->answer, KEPT_US);
			continue;
		}
		if (p->answer && p->channel)
			channel_send(
				p->channel, FRAME_TAKEN,
				json_pack("{sI sb}", "seq", (json_int_t)p->seq, "whole", whole),
				NULL, 0);
		p->answer = false;
	}
}

static void received(void *arg, struct channel *channel, const struct frame *frame)
{
	struct peer *p = arg;
	const char *wrong = NULL;
	json_int_t seq = 0;

	p->heard_us = loop_now_us(p->mirror->services.loop);
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
		contents_fini(&p->contents);
		generation_parse(&p->who.generation, json_object_get(frame->head, "takeovers"));
		p->master = master;
		p->whole = p->kept = false;
		wrong = generation_is_plausible(&p->who.generation, &p->mirror->generation)
				? NULL
				: MIRROR_IMPLAUSIBLE;
	} else if (frame->type == FRAME_FILE)
		wrong = take_file(p, frame);
	else if (frame->type == FRAME_RECORDS)
		wrong = take_records(p, frame);
	else if (frame->type == FRAME_WHOLE) {
		json_unpack(frame->head, "{sI}", "seq", &seq);
		p->seq = seq;
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

		json_array_append_new(
			rows,
			json_pack("{ss ss so sb sb sb sb sI so}", "address", p->address, "name",
				  p->who.name, "port_guid", json_guid(p->who.port_guid),
				  "connected", p->opened, "master", p->master, "whole", p->kept,
				  "other_m_keys", p->who.other_keys, "age_ms",
				  (json_int_t)(p->opened ? (now - p->heard_us) / 1000 : 0), "error",
				  p->error[0] ? json_string(p->error) : json_null()));
	}
	return rows;
}
