/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The door of the mirror: hooks of the pipe, the configuration, the listening socket and the clock.
 * The room goes on over all changes of role, for it outlives the manager that it copies.
 */
#include <inttypes.h>
#include <unistd.h>
#include "fm/links_out/module.h"
#include "fm/mirror/module.h"
#include "fm/mirror/own.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/* ---- As master ------------------------------------------------------------------------------- */

/*
 * What readers get are the rows of the state: a new one gets all of them first, some thousands at a
 * time, and everybody each change, which gathers for a moment. Until a reader has all rows, changes
 * of rows that it does not have yet are sent all the same: what it gets later is newer.
 */

#define REFUSED_SAY_AGAIN_US 60000000
#define SEND_US		     1000  /* that changes gather for */
#define SEND_APART_US	     20000 /* in a storm of changes: each frame is answered */
#define ROWS_A_SLICE	     2000

static json_t *seq_head(const struct mirror *m)
{
	return json_pack("{sI}", "seq", (json_int_t)m->seq);
}

/* Ahead of whatever says how far a reader has come. */
static void send_news(void *mirror)
{
	struct mirror *m = mirror;
	struct news *news = &m->news;

	for (struct reader *r = m->readers; r && news->rows.end; r = r->next)
		if (r->who.port_guid)
			channel_send(r->channel, FRAME_ROWS, seq_head(m), news->rows.data,
				     news->rows.end);
	news->rows.end = 0;
	news->sent_us = mirror_now(m);
}

/* False: it has all rows now. */
static bool send_slice(const struct mirror *m, struct reader *r)
{
	const struct rowset *rows = state_rows(m->services.state);
	struct bytes bytes = { NULL, 0, 0, 0 };
	const struct row *row = NULL;
	const char *kind;

	for (unsigned n = 0; n < ROWS_A_SLICE && (row = rows_step(rows, &r->at, &kind));)
		for (; row; row = row->next, n++)
			if (row->value && mirror_takes(NULL, kind))
				row_bytes_add(&bytes, &(struct row_change){ kind, row->key,
									    row->value, 0 });
	if (bytes.end)
		channel_send(r->channel, FRAME_ROWS, seq_head(m), bytes.data, bytes.end);
	free(bytes.data);
	return r->at.kind < rows->nkinds;
}

static void send_whole(void *mirror)
{
	struct mirror *m = mirror;
	bool more = false;

	send_news(m);
	for (struct reader *r = m->readers; r; r = r->next) {
		if (!r->sends)
			continue;
		r->sends = send_slice(m, r);
		more |= r->sends;
		if (!r->sends)
			channel_send(r->channel, FRAME_WHOLE, seq_head(m), NULL, 0);
	}
	if (more)
		loop_timer_set(m->whole, 0);
}

static void send_role(struct mirror *m, struct reader *r)
{
	bool master = fabric_is_master(m->fabric);

	r->whole = false;
	channel_send(r->channel, FRAME_ROLE,
		     json_pack("{sb so}", "master", master, "takeovers",
			       generation_json(&m->generation)),
		     NULL, 0);
	r->sends = master;
	r->at = (struct rows_cursor){ 0 };
	if (master)
		loop_timer_set(m->whole, 0);
}

/* Returns a manager that has all rows, borrowed; NULL = there is none. */
static const struct reader *source_copied(const struct mirror *m)
{
	const struct reader *best = NULL;

	for (const struct reader *r = m->readers; r; r = r->next)
		if (r->whole && r->taken == m->seq && (!best || r->heard_us > best->heard_us))
			best = r;
	return best;
}

/* changes, of who has the most */
static uint64_t source_behind(const struct mirror *m)
{
	uint64_t most = 0;

	for (const struct reader *r = m->readers; r; r = r->next)
		if (r->whole && r->taken > most)
			most = r->taken;
	return m->seq - most;
}

/* why not; in words */
static void source_error(const struct mirror *m, char *text, size_t size)
{
	bool anybody = false;

	for (const struct reader *r = m->readers; r; r = r->next)
		anybody |= r->who.port_guid != 0;
	snprintf(text, size, "%s%s%s",
		 anybody ? "copying is not complete yet" : "no standby is connected",
		 m->refused.count ? "; refused: " : "", m->refused.why);
}

/* ---- Readers --------------------------------------------------------------------------------- */

static void drop(struct reader *r)
{
	struct reader **link = &r->mirror->readers;
	const struct mirror *m = r->mirror;

	while (*link != r)
		link = &(*link)->next;
	*link = r->next;
	if (m->listener)
		listener_done(m->listener, r->fd, false);
	free(r);
}

static void opened(void *arg, struct channel *channel)
{
	const struct reader *r = arg;

	channel_send(channel, FRAME_HELLO, mirror_hello(r->mirror, channel), NULL, 0);
}

/*
 * NULL, or what is wrong with it: nobody has what was never sent. The number of who is not whole
 * may be an earlier connection's.
 */
static const char *taken(struct reader *r, const struct frame *frame)
{
	json_int_t seq = 0;
	int whole = 0;

	if (json_unpack(frame->head, "{sI sb}", "seq", &seq, "whole", &whole))
		return NULL;
	if (whole && (seq < 0 || (uint64_t)seq > r->mirror->seq))
		return "it confirmed what was never sent to it";
	r->taken = whole ? seq : 0;
	r->whole = whole;
	r->heard_us = loop_now_us(r->mirror->services.loop);
	if (r->whole && r->taken > r->mirror->shared)
		r->mirror->shared = r->taken;
	if (fabric_is_master(r->mirror->fabric)) /* a standby's is what it has copied itself */
		state_mark(r->mirror->services.state, STATE_COPIED, source_copied(r->mirror));
	return NULL;
}

/* Of who is not known anybody can come to the port: one line in the log for many. */
static void log_end(const struct reader *r, const char *why)
{
	struct mirror *m = r->mirror;
	uint64_t now = mirror_now(m);
	struct refusals *refused = &m->refused;

	if (r->who.port_guid) {
		log_line(LOG_CORE, LOG_NOTICE, "%s stopped copying this manager's state: %s",
			 r->who.name, why);
		return;
	}
	array_printf(refused->why, "%s: %s", r->from, why);
	if (!refused->count++ || now - refused->logged_us > REFUSED_SAY_AGAIN_US) {
		refused->logged_us = now;
		log_line(LOG_CORE, LOG_WARNING,
			 "peer_listen: connection refused from %s (%" PRIu64 " refused so far)",
			 refused->why, refused->count);
	}
}

static void let_go(struct reader *r, const char *why)
{
	log_end(r, why);
	channel_close(r->channel);
	drop(r);
}

/* NULL, or why it is refused. */
static const char *meet(struct reader *r, const struct frame *hello)
{
	struct mirror *m = r->mirror;
	struct manager who = r->who;
	const char *why = mirror_meet(m, r->channel, &who, hello);
	unsigned count = 0;

	if (why)
		return why;
	for (const struct reader *it = m->readers; it; it = it->next) {
		count += it->who.port_guid != 0;
		if (it->who.port_guid == who.port_guid &&
		    memcmp(it->who.proof, who.proof, sizeof(who.proof)))
			return "another manager with its port GUID and another certificate is "
			       "connected";
	}
	if (count == MIRROR_READERS)
		return "too many managers copy this one";
	r->who = who;
	listener_done(m->listener, r->fd, true);
	/* A manager connects anew where it lost a connection that has not ended here yet. */
	for (struct reader *it = r->next, *next; it; it = next) {
		next = it->next;
		if (it->who.port_guid == who.port_guid)
			let_go(it, "it connected again");
	}
	if (fabric_is_master(m->fabric))
		lineage_meet(m, &r->who);
	send_role(m, r);
	copy_connect(m, true); /* it may be master next */
	return NULL;
}

static void received(void *arg, struct channel *channel, const struct frame *frame)
{
	struct reader *r = arg;
	const char *wrong = NULL;

	if (frame->type == FRAME_HELLO)
		wrong = meet(r, frame);
	else if (!r->who.port_guid)
		wrong = MIRROR_NO_HELLO;
	else if (frame->type == FRAME_TAKEN)
		wrong = taken(r, frame);
	else if (frame->type == FRAME_CORDONS && frame->length &&
		 fabric_is_master(r->mirror->fabric))
		links_out_cordon_too(r->mirror->fabric, frame->body, frame->length);
	if (wrong)
		let_go(r, wrong);
}

static void closed(void *arg, struct channel *channel, const char *why)
{
	struct reader *r = arg;
	const struct mirror *m = r->mirror;
	bool here = r->who.port_guid || !m->listener || listener_done(m->listener, r->fd, false);

	log_end(r, here ? why : "it did not introduce itself in time: another has its place");
	drop(r);
}

/* Another manager has connected: takes the descriptor. Of the listener. */
static void source_accept(void *mirror, int fd, const struct sockaddr *from)
{
	static const struct channel_ops ops = { opened, received, closed };
	struct mirror *m = mirror;
	struct reader *new = mem_new(new);

	new->mirror = m;
	new->fd = fd;
	address_print(from, new->from, sizeof(new->from));
	if (fd < 0) {
		log_end(new, "no data received from it in time");
		free(new);
		return;
	}
	new->heard_us = mirror_now(m);
	new->next = m->readers;
	m->readers = new;
	new->channel = channel_accept(m->services.loop, m->tls, fd, &ops, new);
}

/* ---- What changes ---------------------------------------------------------------------------- */

/* Of the state: a row has changed; it is copied, and sent soon if there is a reader. */
static void row_changed(void *mirror, const struct row_change *change)
{
	struct mirror *m = mirror;
	uint64_t now = mirror_now(m), next = m->news.sent_us + SEND_APART_US;

	if (!(m->tls && fabric_is_master(m->fabric)) || !mirror_takes(NULL, change->kind))
		return;
	m->seq = change->number;
	/* Of events, of event_hook, and who was master, nobody is served by having each line. */
	if (strncmp(change->kind, "event", 5) != 0 && strcmp(change->kind, "takeovers") != 0)
		m->matters = change->number;
	state_mark(m->services.state, STATE_COPIED, false);
	if (!m->readers)
		return;
	row_bytes_add(&m->news.rows,
		      &(struct row_change){ change->kind, change->key, change->value, 0 });
	if (!loop_timer_armed(m->news.send))
		loop_timer_set(m->news.send, next > now + SEND_US ? next - now : SEND_US);
}

/* Returns "standbys" of the status, an array, the caller's. */
static json_t *source_json(const struct mirror *m)
{
	uint64_t now = mirror_now(m);
	json_t *rows = json_array();

	for (const struct reader *r = m->readers; r; r = r->next)
		if (r->who.port_guid)
			json_add(rows, "{ss so sb sb sI sI}", "name", r->who.name, "port_guid",
				 json_guid(r->who.port_guid), "whole", r->whole, "other_m_keys",
				 r->who.other_keys, "behind", (json_int_t)(m->seq - r->taken),
				 "age_ms", (json_int_t)((now - r->heard_us) / 1000));
	return rows;
}

/* ---- Module ---------------------------------------------------------------------------------- */

#define LISTEN_AGAIN_US 2000000
#define ALONE_US	30000000 /* without a whole copy, until that is an alert */

/* ---- The role -------------------------------------------------------------------------------- */

static void role(void *room, enum fabric_role now, enum fabric_role_step step)
{
	struct mirror *m = room;

	if (step != FABRIC_ROLE_IN_FORCE) {
		copy_finish(m);
		return;
	}
	m->services = fabric_services(m->fabric);
	m->whole_us = mirror_now(m);
	/* Who asks for the next master has still what its master until now has sent. */
	if (m->was_master || now == FABRIC_ROLE_STANDBY || now == FABRIC_ROLE_MASTER)
		state_mark(m->services.state, STATE_COPIED, false);
	m->was_master = now == FABRIC_ROLE_MASTER;
	m->news.rows.end = 0;
	if (m->was_master) { /* all rows go to all that are connected */
		lineage_take_over(m);
		m->copied = 0;
		m->seq = state_number(m->services.state);
		m->matters = m->shared = 0;
	}
	for (struct reader *r = m->readers; r; r = r->next)
		if (r->who.port_guid)
			send_role(m, r);
	if (!m->was_master) {
		lineage_load(m);
		copy_follow(m);
	}
}

/* ---- The listening socket -------------------------------------------------------------------- */

static void stop_listening(struct mirror *m)
{
	listener_free(m->listener);
	m->listener = NULL;
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
	m->listening[0] = '\0';
}

static void listen_at(struct mirror *m, const char *where)
{
	if (!*where)
		trouble_set(m->services.alerts, "peer_listen", NULL);
	if (!strcmp(m->listening, where))
		return;
	stop_listening(m);
	state_mark(m->services.state, STATE_EXPECTED, false);
	if (!*where)
		return;
	m->listen_us = mirror_now(m) + LISTEN_AGAIN_US;
	m->fd = listener_socket(m->services.loop, where, false);
	trouble_set(m->services.alerts, "peer_listen", m->fd < 0 ? strerror(-m->fd) : NULL);
	if (m->fd < 0)
		return;
	array_printf(m->listening, "%s", where);
	m->listener =
		listener_new(m->services.loop, m->fd, "peers", MIRROR_UNKNOWN, source_accept, m);
	state_mark(m->services.state, STATE_EXPECTED, true);
}

/* ---- The clock ------------------------------------------------------------------------------- */

/* As standby: what state_dir has is not what the master knows. */
static void forget_copy(struct mirror *m)
{
	m->copied = 0;
	if (!fabric_is_master(m->fabric))
		state_mark(m->services.state, STATE_COPIED, false);
}

/* Whether a copy is whole; *us: when one was last, as far as this manager can know. */
static bool is_whole(const struct mirror *m, uint64_t *us)
{
	bool master = fabric_is_master(m->fabric);
	const struct reader *r = master ? source_copied(m) : NULL;
	const struct peer *p = master ? NULL : copy_whole(m);
	uint64_t heard_us = r ? r->heard_us : p ? p->heard_us : 0;

	*us = heard_us > m->whole_us ? heard_us : m->whole_us;
	return r || p;
}

static void tick(void *arg)
{
	struct mirror *m = arg;

	/* The address may be another process's, or none of this machine yet. */
	if (m->fd < 0 && mirror_now(m) >= m->listen_us)
		listen_at(m, m->services.conf->mirror.listen);
	copy_connect(m, false);
	send_news(m);
	for (struct reader *r = m->readers; r; r = r->next)
		if (r->who.port_guid)
			channel_send(r->channel, FRAME_PING,
				     json_pack("{sI}", "seq", (json_int_t)m->seq), NULL, 0);

	lineage_review(m);

	/*
	 * As long as it may take until a dead master's place is taken, a copy of it is as good as
	 * ever.
	 */
	const struct conf_sm *sm = &m->services.conf->sm;
	uint64_t lasts_us =
		2ull * 1000 * (unsigned)sm->polling_timeout_ms * (unsigned)sm->polling_retries +
		4 * MIRROR_TICK_US;
	bool standby = fabric_role(m->fabric) == FABRIC_ROLE_STANDBY && m->npeers;
	char why[300];
	bool whole = is_whole(m, &m->whole_us);
	uint64_t alone_us = mirror_now(m) - m->whole_us;

	if (!whole && fabric_is_master(m->fabric) && *m->services.conf->mirror.listen) {
		source_error(m, why, sizeof(why));
		if (alone_us > ALONE_US)
			alert_raise(m->services.alerts, "mirror", NULL,
				    "no standby has a current copy of this master's state: %s",
				    why);
	} else if (!whole && standby) {
		if (alone_us > lasts_us && m->copied)
			forget_copy(m);
		if (alone_us > ALONE_US)
			alert_raise(m->services.alerts, "mirror", NULL,
				    "this standby has no current copy of the master's state: %s",
				    copy_error(m));
	} else {
		alert_end(m->services.alerts, "mirror", NULL);
	}

	mirror_review_keys(m);
	loop_timer_set(m->tick, MIRROR_TICK_US);
}

/* ---- Configuration --------------------------------------------------------------------------- */

static int check(const struct conf *conf, char *err, size_t err_size)
{
	if (!*conf->mirror.listen && !*conf->mirror.peers)
		return 0;

	struct channel_tls *tls = channel_tls_new(&conf->mirror, err, err_size);

	channel_tls_free(tls);
	return tls ? 0 : -1;
}

static void stop(struct mirror *m)
{
	/* all channels */
	while (m->readers) {
		channel_close(m->readers->channel);
		drop(m->readers);
	}

	copy_close(m);
	channel_tls_free(m->tls);
	m->tls = NULL;
}

/* Certificates and keys may be others under the same names: all connections begin anew. */
static void configure(void *room)
{
	struct mirror *m = room;
	const struct conf_mirror *c = &m->services.conf->mirror;
	char err[512] = "";
	int used;

	stop(m);
	mirror_read_owners(m);
	loop_timer_stop(m->tick);
	if ((*c->listen || *c->peers) && !loop_is_simulated(m->services.loop))
		m->tls = channel_tls_new(c, err, sizeof(err));
	trouble_set(m->services.alerts, "peers", *err ? err : NULL);
	listen_at(m, m->tls ? c->listen : "");
	for (const char *text = m->tls ? c->peers : ""; m->npeers < MIRROR_PEERS; text += used) {
		struct peer *p = &m->peers[m->npeers];

		*p = (struct peer){ .mirror = m };
		if (sscanf(text, CONF_PEER_SCAN "%n", p->address, &used) != 1)
			break;

		char *names = p->address + strcspn(p->address, "=");

		p->names = *names ? names + 1 : "";
		*names = '\0';
		m->npeers++;
	}
	if (!m->npeers)
		forget_copy(m);
	mirror_review_keys(m);
	if (m->tls)
		loop_timer_set(m->tick, 0);
	else
		alert_end(m->services.alerts, "mirror", NULL);
}

/* ---- Hooks ----------------------------------------------------------------------------------- */

static void status(const void *room, json_t *doc)
{
	const struct mirror *m = room;
	const bool master = fabric_is_master(m->fabric);
	uint64_t whole_us, now = mirror_now(m);
	bool whole = is_whole(m, &whole_us);
	char why[300] = "";

	if (!m->tls)
		return;
	if (master)
		source_error(m, why, sizeof(why));
	json_object_set_new(
		doc, "mirror",
		json_pack("{sb sI sI so sI ss* sI so so}", "whole", whole, "age_ms",
			  (json_int_t)((now - whole_us) / 1000), "behind",
			  (json_int_t)(master ? source_behind(m) : 0), "error",
			  whole ? json_null() : json_string(master ? why : copy_error(m)),
			  "refused", (json_int_t)m->refused.count, "refused_last",
			  m->refused.count ? m->refused.why : NULL, "takeovers",
			  (json_int_t)generation_number(&m->generation), "peers", copy_json(m),
			  "standbys", source_json(m)));
}

static void load(void *room, enum fabric_load_step step)
{
	if (step == FABRIC_START)
		configure(room);
}

static void *init(struct fabric *fabric)
{
	struct mirror *m = ROOM_NEW(m, fabric);

	m->fd = -1;
	m->tick = loop_timer_new(m->services.loop, tick, m);
	m->whole_us = mirror_now(m);
	m->news.send = loop_timer_new(m->services.loop, send_news, m);
	m->whole = loop_timer_new(m->services.loop, send_whole, m);
	m->adopts.timer = loop_timer_new(m->services.loop, copy_adopt, m);
	m->answer = loop_timer_new(m->services.loop, copy_answer, m);
	lineage_load(m);
	state_follow(m->services.state, row_changed, m);
	return m;
}

static void fini(void *room)
{
	struct mirror *m = room;

	state_follow(m->services.state, NULL, NULL);
	stop(m);
	stop_listening(m);
	free(m->news.rows.data);
	loop_timer_free(m->tick);
	loop_timer_free(m->news.send);
	loop_timer_free(m->whole);
	loop_timer_free(m->adopts.timer);
	loop_timer_free(m->answer);
	free(m);
}

const struct fabric_module mirror_module = { .name = "mirror",
					     .lasts = true,
					     .check = check,
					     .init = init,
					     .fini = fini,
					     .configure = configure,
					     .role = role,
					     .status = status,
					     .load = load };
