/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The door of the mirror: hooks of the pipe, the configuration, the listening socket and the clock.
 * The room goes on over all changes of role, for it outlives the manager that it copies.
 */
#include "fm/mirror/module.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/mirror/own.h"
#include "topology/base/mem.h"

#define LISTEN_AGAIN_US 2000000
#define ALONE_US	30000000 /* without a whole copy, until that is an alert */

/* ---- The role -------------------------------------------------------------------------------- */

static void role(void *room, enum fabric_role now, enum fabric_role_step step)
{
	struct mirror *m = room;

	if (step != FABRIC_ROLE_IN_FORCE)
		return;
	m->services = fabric_services(m->fabric);
	m->whole_us = loop_now_us(m->services.loop);
	/* Who asks for the next master has still what its master until now has sent. */
	if (m->was_master || now == FABRIC_ROLE_STANDBY || now == FABRIC_ROLE_MASTER)
		state_store_mark(m->services.state, STATE_COPIED, false);
	m->was_master = now == FABRIC_ROLE_MASTER;
	if (now == FABRIC_ROLE_MASTER) {
		lineage_take_over(m);
		m->copied = 0;
		source_begin(m);
	} else {
		source_end(m);
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
	state_store_mark(m->services.state, STATE_EXPECTED, false);
	if (!*where)
		return;
	m->listen_us = loop_now_us(m->services.loop) + LISTEN_AGAIN_US;
	m->fd = listener_socket(m->services.loop, where, SOCK_STREAM);
	trouble_set(m->services.alerts, "peer_listen", m->fd < 0 ? strerror(-m->fd) : NULL);
	if (m->fd < 0)
		return;
	snprintf(m->listening, sizeof(m->listening), "%s", where);
	m->listener = listener_new(m->services.loop, m->fd, "peers", source_accept, m);
	state_store_mark(m->services.state, STATE_EXPECTED, true);
}

/* ---- The clock ------------------------------------------------------------------------------- */

/* As standby: what state_dir has is not what the master knows. */
static void forget_copy(struct mirror *m)
{
	m->copied = 0;
	if (!fabric_is_master(m->fabric))
		state_store_mark(m->services.state, STATE_COPIED, false);
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

/* As long as it may take until a dead master's place is taken, a copy of it is as good as ever. */
static void review(struct mirror *m)
{
	const struct conf_sm *sm = &m->services.conf->sm;
	uint64_t lasts_us =
		2ull * 1000 * (unsigned)sm->polling_timeout_ms * (unsigned)sm->polling_retries +
		4 * MIRROR_TICK_US;
	bool standby = fabric_role(m->fabric) == FABRIC_ROLE_STANDBY && m->npeers;
	uint64_t alone_us;
	char why[300];
	bool whole;

	whole = is_whole(m, &m->whole_us);
	alone_us = loop_now_us(m->services.loop) - m->whole_us;
	if (whole) {
		alert_end(m->services.alerts, "mirror", NULL);
	} else if (fabric_is_master(m->fabric) && *m->services.conf->mirror.listen) {
		source_error(m, why, sizeof(why));
		if (alone_us > ALONE_US)
			alert_raise(m->services.alerts, "mirror", NULL,
				    "no standby has a current copy of this master's state: %s",
				    why);
	} else if (!fabric_is_master(m->fabric) && standby) {
		if (alone_us > lasts_us && m->copied)
			forget_copy(m);
		if (alone_us > ALONE_US)
			alert_raise(m->services.alerts, "mirror", NULL,
				    "this standby has no current copy of the master's state: %s",
				    copy_error(m));
	} else {
		alert_end(m->services.alerts, "mirror", NULL);
	}
}

static void tick(void *arg)
{
	struct mirror *m = arg;

	/* The address may be another process's, or none of this machine yet. */
	if (m->fd < 0 && loop_now_us(m->services.loop) >= m->listen_us)
		listen_at(m, m->services.conf->mirror.listen);
	copy_connect(m, false);
	source_ping(m);
	lineage_review(m);
	review(m);
	mirror_review_keys(m);
	loop_timer_set(m->tick, MIRROR_TICK_US);
}

/* ---- Configuration --------------------------------------------------------------------------- */

static int check(const struct conf *conf, char *err, size_t err_size)
{
	struct channel_tls *tls;

	if (!*conf->mirror.listen && !*conf->mirror.peers)
		return 0;
	tls = channel_tls_new(&conf->mirror, err, err_size);
	channel_tls_free(tls);
	return tls ? 0 : -1;
}

static void stop(struct mirror *m)
{
	source_close(m);
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
	const char *text;
	int used;

	stop(m);
	loop_timer_stop(m->tick);
	if ((*c->listen || *c->peers) && !loop_is_simulated(m->services.loop))
		m->tls = channel_tls_new(c, err, sizeof(err));
	trouble_set(m->services.alerts, "peers", *err ? err : NULL);
	listen_at(m, m->tls ? c->listen : "");
	for (text = m->tls ? c->peers : ""; m->npeers < MIRROR_PEERS; text += used) {
		struct peer *p = &m->peers[m->npeers];

		*p = (struct peer){ .mirror = m };
		if (sscanf(text, "%63s%n", p->address, &used) != 1)
			break;
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
	uint64_t whole_us, now = loop_now_us(m->services.loop);
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
			  "refused", (json_int_t)m->refused, "refused_last",
			  m->refused ? m->refused_why : NULL, "takeovers",
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
	struct mirror *m = mem_alloc(1, sizeof(*m));

	m->fabric = fabric;
	m->services = fabric_services(fabric);
	m->fd = -1;
	m->tick = loop_timer_new(m->services.loop, tick, m);
	m->whole_us = loop_now_us(m->services.loop);
	m->send = loop_timer_new(m->services.loop, source_send, m);
	m->answer = loop_timer_new(m->services.loop, copy_answer, m);
	lineage_load(m);
	state_store_listen(m->services.state, source_wrote, m);
	state_store_follow(m->services.state, source_recorded, source_pushed, m);
	return m;
}

static void fini(void *room)
{
	struct mirror *m = room;

	state_store_unlisten(m->services.state, m);
	state_store_follow(m->services.state, NULL, NULL, NULL);
	stop(m);
	stop_listening(m);
	contents_fini(&m->own);
	loop_timer_free(m->tick);
	loop_timer_free(m->send);
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
