/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <unistd.h>
#include "fm/nvswitch/intake_sources.h"
#include "fm/os/listener.h"

#include <systemd/sd-journal.h> /* last: it defines syslog's levels, which are the log's too */

/* ---- Which host a line is about -------------------------------------------------------------- */

#define STRANGER_LINES 1 /* a second */

struct log_intake {
	struct source_home *home;
	char own_name[256]; /* of this machine */
	json_int_t lines;
	json_int_t understood; /* about NVLinks */
	json_int_t malformed;  /* without a known header */
	json_int_t strangers;  /* understood, of hosts that the fabric does not have */
	unsigned connections, refused;
	uint64_t heard_us;
	struct log_limit unknown_limit;
};

/* A line, as log_stream_fn. What collects the lines vouches for them. */
static void take(void *arg, bool known, const struct syslog_message *m)
{
	struct log_intake *in = arg;
	uint64_t now_us = loop_now_us(in->home->loop);
	struct sxid_event event;
	char copy[SYSLOG_HOST], *rest = copy, *part;
	const char *name = *m->host ? m->host : in->own_name;

	in->heard_us = now_us;
	in->lines++;
	in->malformed += !known;
	if (!known || !sxid_read(m->text, m->len, &event))
		return;
	in->understood++;

	/* A host by its name, or by one of the names in a chain of relays. */
	unsigned host = health_find(in->home->health, name);

	array_printf(copy, "%s", strchr(m->host, '/') ? m->host : "");
	while (host == UINT_MAX && (part = strtok_r(rest, "/", &rest)))
		host = health_find(in->home->health, part);
	if (host != UINT_MAX) {
		health_hear_log(in->home->health, host, &event, now_us);
		in->home->heard(in->home);
		return;
	}
	in->strangers++;
	if (log_allow(&in->unknown_limit, now_us, STRANGER_LINES))
		log_line(LOG_NVSWITCH, LOG_WARNING,
			 "kernel log of a host that is not in the fabric: %s: %s", name,
			 event.finding.text);
}

struct log_intake *log_intake_new(struct source_home *home)
{
	struct log_intake *in = mem_new(in);

	in->home = home;
	gethostname(in->own_name, sizeof(in->own_name) - 1);
	return in;
}

/* ---- Documents ------------------------------------------------------------------------------- */

#define COLLECTOR "this machine" /* programs that write to the socket */

/* How many messages were of which use, for both documents. */
static json_t *uses(const struct log_intake *in)
{
	return json_pack("{sI sI sI si}", "understood", in->understood, "ignored",
			 in->lines - in->understood - in->malformed, "malformed", in->malformed,
			 "refused", 0);
}

json_t *log_intake_json(const struct log_intake *in)
{
	json_t *unread = json_pack(in->malformed ? "{sI}" : "{}", COLLECTOR, in->malformed);

	return json_pack("{sI sI sI sI si si so so}", "lines", in->lines, "events", in->understood,
			 "bad", in->malformed, "strangers", in->strangers, "connections",
			 in->connections, "refused", in->refused, "by_use", uses(in), "unread",
			 unread);
}

json_t *log_intake_senders(const struct log_intake *in)
{
	json_t *row = in->lines ? uses(in) : NULL; /* jansson takes NULL */

	json_put(row, "{ss sb sf}", "sender", COLLECTOR, "allowed", true, "heard_s",
		 (loop_now_us(in->home->loop) - in->heard_us) / 1e6);
	return row ? json_pack("[o]", row) : json_array();
}

/* ---- The socket and the journal -------------------------------------------------------------- */

/*
 * The owner and mode (0660) of the unix socket's file decide who may write to it. The first byte of
 * a connection shows whether it is journald's or syslog. When there are as many connections as may
 * be, a new one replaces the one that was silent longest.
 *
 * The journal is this machine's, or a folder of other machines' that systemd-journal-remote writes.
 */

#define READ_SIZE   16384
#define CONNECTIONS 64
#define RECORDS	    256 /* a round */

struct connection {
	struct log_server *server;
	struct loop_fd *watch;
	int fd;
	uint64_t heard_us;
	struct log_stream stream;
};

struct log_server {
	struct loop *loop;
	struct log_intake *intake;
	char *path; /* of the unix socket, ours to remove */
	int fd;
	struct listener *listener;
	sd_journal *journal;
	struct loop_fd *watch; /* of the journal */
	/* armed: of its records there are more, or connections are not read now */
	struct loop_timer *more;
	struct connection *connections[CONNECTIONS];
};

static void connection_free(struct connection *c)
{
	struct log_intake *in = c->server->intake;
	struct connection **at = c->server->connections;

	while (*at != c)
		at++;
	*at = c->server->connections[--in->connections];
	log_stream_end(&c->stream, take, in);
	loop_fd_free(c->watch);
	close(c->fd);
	free(c);
}

static void rested_cb(void *arg)
{
	const struct log_server *s = arg;

	ARRAY_EACH (c, s->connections, s->intake->connections)
		loop_fd_set((*c)->watch, LOOP_READ);
}

static void connection_cb(void *arg, unsigned events)
{
	struct connection *c = arg;
	const struct log_server *s = c->server;
	uint64_t began = loop_clock_us(s->loop), rest = listener_rest_us(s->loop);
	char data[READ_SIZE];

	if (rest && events) {
		loop_fd_set(c->watch, 0);
		loop_timer_set(s->more, rest);
		return;
	}

	ssize_t len = read(c->fd, data, sizeof(data));

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->heard_us = loop_now_us(s->loop);
	if (len > 0)
		log_stream_feed(&c->stream, data, (size_t)len, take, s->intake);
	else
		connection_free(c);
	listener_worked(s->loop, began);
}

static void accept_cb(void *arg, int fd, const struct sockaddr *from)
{
	struct log_server *s = arg;
	struct log_intake *in = s->intake;
	struct connection *c = s->connections[0];

	if (in->connections == CONNECTIONS) { /* the one silent longest is closed */
		ARRAY_EACH (other, s->connections, CONNECTIONS)
			if ((*other)->heard_us < c->heard_us)
				c = *other;
		connection_cb(c, 0); /* what it wrote is read, or it has ended */
		in->refused += in->connections == CONNECTIONS;
		if (in->connections == CONNECTIONS)
			connection_free(c);
	}
	c = mem_new(c);
	c->server = s;
	c->fd = fd;
	c->heard_us = loop_now_us(s->loop);
	c->watch = loop_fd_new(s->loop, fd, LOOP_READ, connection_cb, c);
	s->connections[in->connections++] = c;
}

/* Records in the order of their times, of all files that there are and come. */
static void journal_cb(void *arg)
{
	struct log_server *s = arg;
	unsigned count = 0;

	sd_journal_process(s->journal);
	for (; count < RECORDS && sd_journal_next(s->journal) > 0; count++) {
		struct syslog_message m = { .host = "" };
		const void *data;
		size_t len;

		if (!sd_journal_get_data(s->journal, "_HOSTNAME", &data, &len))
			array_printf(m.host, "%.*s", (int)len - 10, (const char *)data + 10);
		if (sd_journal_get_data(s->journal, "MESSAGE", &data, &len))
			continue;
		m.text = (const char *)data + 8;
		m.len = len - 8;
		take(s->intake, syslog_host_is_text(m.host), &m);
	}
	if (count == RECORDS)
		loop_timer_set(s->more, 0);
}

static void journal_fd_cb(void *arg, unsigned events)
{
	journal_cb(arg);
}

static void close_server(void *server)
{
	struct log_server *s = server;

	while (s->connections[0] && s->intake->connections)
		connection_free(s->connections[0]);
	loop_fd_free(s->watch);
	listener_free(s->listener);
	if (s->fd >= 0)
		close(s->fd);
	loop_timer_free(s->more);
	sd_journal_close(s->journal);
	if (s->path)
		unlink(s->path);
	free(s->path);
	free(s);
}

/* NULL with the reason in err, where the status is an error. */
static void *opened(struct log_server *s, int status, const char *where, char *err)
{
	if (status >= 0)
		return s;
	snprintf(err, NVSWITCH_ERROR, "%s: %s", where, strerror(-status));
	close_server(s);
	return NULL;
}

static struct log_server *server_new(struct source_home *home, loop_fn *fn)
{
	struct log_server *s = mem_new(s);

	s->loop = home->loop;
	s->intake = home->intake;
	s->more = loop_timer_new(s->loop, fn, s);
	s->fd = -1;
	return s;
}

static void *open_socket(struct source_home *home, const struct conf_nvswitch *conf, char *err)
{
	struct log_server *s = server_new(home, rested_cb);
	const char *where = conf->log_socket;

	s->fd = listener_unix_socket(where, 0117, SOMAXCONN);
	if (s->fd >= 0) {
		s->path = mem_strdup(where);
		s->listener = listener_new(s->loop, s->fd, "log_socket", 0, accept_cb, s);
	}
	return opened(s, s->fd, where, err);
}

/* Begun at its end: what was logged before fmd began may be long repaired. */
static void *open_journal(struct source_home *home, const struct conf_nvswitch *conf, char *err)
{
	struct log_server *s = server_new(home, journal_cb);
	const char *where = conf->log_journal;
	int fd = strcmp(where, "local")
			 ? sd_journal_open_directory(&s->journal, where, 0)
			 : sd_journal_open(&s->journal, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM);

	fd = fd ? fd : sd_journal_get_fd(s->journal);
	if (fd >= 0) {
		sd_journal_seek_tail(s->journal);
		if (!sd_journal_previous(s->journal))
			sd_journal_seek_head(s->journal); /* there are no records */
		s->watch = loop_fd_new(s->loop, fd, LOOP_READ, journal_fd_cb, s);
	}
	return opened(s, fd, where, err);
}

const struct source_ops source_journal = { .name = "journal",
					   .texts = { SOURCE_TEXT(log_journal) },
					   .stays = true,
					   .open = open_journal,
					   .close = close_server };
const struct source_ops source_socket = { .name = "log socket",
					  .texts = { SOURCE_TEXT(log_socket) },
					  .stays = true,
					  .open = open_socket,
					  .close = close_server };
