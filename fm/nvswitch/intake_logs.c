/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <limits.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "fm/loop/log.h"
#include "fm/nvswitch/evidence_sxid.h"
#include "fm/nvswitch/intake_logs.h"
#include "fm/nvswitch/intake_sources.h"
#include "fm/nvswitch/intake_syslog.h"
#include "fm/os/listener.h"
#include "topology/base/mem.h"

#include <systemd/sd-journal.h> /* last: it defines syslog's levels, which are the log's too */

/* ---- Which host a line is about -------------------------------------------------------------- */

#define STRANGER_LINES 1 /* a second */

struct log_intake {
	struct source_home *home;
	char own_name[256]; /* of this machine */
	struct log_counts counts;
	uint64_t heard_us;
	struct log_limit unknown_limit;
};

/*
 * A host by what a line calls it: its name, or one of the names in a chain of relays. UINT_MAX =
 * nobody.
 */
static unsigned find_host(const struct log_intake *in, const char *name)
{
	char copy[SYSLOG_HOST], *rest = copy, *part;
	unsigned host = health_find(in->home->health, *name ? name : in->own_name);

	if (host != UINT_MAX || !strchr(name, '/'))
		return host;
	snprintf(copy, sizeof(copy), "%s", name);
	while (host == UINT_MAX && (part = strtok_r(rest, "/", &rest)))
		host = health_find(in->home->health, part);
	return host;
}

/* A line, as journal_fn. What collects the lines vouches for them. */
static void take(void *arg, bool known, const struct syslog_message *m)
{
	struct log_intake *in = arg;
	uint64_t now_us = loop_now_us(in->home->loop);
	struct sxid_event event;
	unsigned host;

	in->heard_us = now_us;
	in->counts.lines++;
	in->counts.malformed += !known;
	if (!known)
		return;
	if (!sxid_read(m->text, m->len, &event)) {
		in->counts.ignored++;
		return;
	}
	in->counts.understood++;
	event.trust = NVSWITCH_PROVEN;
	host = find_host(in, m->host);
	if (host != UINT_MAX) {
		health_hear_log(in->home->health, host, &event, now_us);
		source_heard(in->home);
		return;
	}
	in->counts.strangers++;
	if (log_allow(&in->unknown_limit, now_us, STRANGER_LINES))
		log_line(LOG_NVSWITCH, LOG_WARNING,
			 "kernel log of a host that is not in the fabric: %s: %s",
			 *m->host ? m->host : in->own_name, event.finding.text);
}

static void syslog_line_cb(void *arg, const char *line, size_t len)
{
	struct syslog_message m;

	take(arg, syslog_read(line, len, &m), &m);
}

struct log_intake *log_intake_new(struct source_home *home)
{
	struct log_intake *in = mem_alloc(1, sizeof(*in));

	in->home = home;
	if (gethostname(in->own_name, sizeof(in->own_name) - 1))
		*in->own_name = '\0';
	return in;
}

void log_intake_free(struct log_intake *in)
{
	free(in);
}

/* ---- Documents ------------------------------------------------------------------------------- */

#define COLLECTOR "this machine" /* whoever writes to the socket */

json_t *log_intake_json(const struct log_intake *in)
{
	const struct log_counts *c = &in->counts;
	json_t *unread = json_object();

	if (c->malformed)
		json_object_set_new(unread, COLLECTOR, json_integer((json_int_t)c->malformed));
	return json_pack("{sI sI sI sI si si s{sI sI sI si} so}", "lines", (json_int_t)c->lines,
			 "events", (json_int_t)c->understood, "bad", (json_int_t)c->malformed,
			 "strangers", (json_int_t)c->strangers, "connections", c->connections,
			 "refused", c->refused, "by_use", "understood", (json_int_t)c->understood,
			 "ignored", (json_int_t)c->ignored, "malformed", (json_int_t)c->malformed,
			 "refused", 0, "unread", unread);
}

json_t *log_intake_senders(const struct log_intake *in)
{
	const struct log_counts *c = &in->counts;
	json_t *rows = json_array();

	if (c->lines)
		json_array_append_new(
			rows,
			json_pack("{sI sI sI si ss sb sf}", "understood", (json_int_t)c->understood,
				  "ignored", (json_int_t)c->ignored, "malformed",
				  (json_int_t)c->malformed, "refused", 0, "sender", COLLECTOR,
				  "allowed", true, "heard_s",
				  (loop_now_us(in->home->loop) - in->heard_us) / 1e6));
	return rows;
}

/* ---- The socket and the journal -------------------------------------------------------------- */

/*
 * Who may write to the unix socket is said by its file's owner and mode (0660). The first byte of a
 * connection says whether it is journald's or syslog. When there are as many connections as may be,
 * the one that was silent longest makes room.
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
	bool begun;
	struct journal_stream *journal; /* NULL = it is syslog */
	struct syslog_stream stream;
};

struct log_server {
	struct loop *loop;
	struct log_intake *intake;
	char *path; /* of the unix socket, ours to remove */
	int fd;
	struct listener *listener;
	sd_journal *journal;
	struct loop_fd *watch;	 /* of the journal */
	struct loop_timer *more; /* of its records are there */
	struct connection *connections[CONNECTIONS];
};

/* A last line without newline counts. */
static void connection_free(struct connection *c)
{
	struct log_counts *counts = &c->server->intake->counts;
	struct connection **at = c->server->connections;

	while (*at != c)
		at++;
	*at = c->server->connections[--counts->connections];
	if (!c->journal)
		syslog_stream_feed(&c->stream, "\n", 1, syslog_line_cb, c->server->intake);
	loop_fd_free(c->watch);
	close(c->fd);
	if (c->journal)
		journal_fini(c->journal);
	free(c->journal);
	free(c);
}

static void connection_cb(void *arg, unsigned events)
{
	struct connection *c = arg;
	struct log_intake *in = c->server->intake;
	char data[READ_SIZE];
	ssize_t len = read(c->fd, data, sizeof(data));

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->heard_us = loop_now_us(c->server->loop);
	if (!c->begun && len > 0 && journal_begins(*data))
		c->journal = mem_alloc(1, sizeof(*c->journal));
	c->begun = true;
	if (c->journal && len > 0)
		journal_feed(c->journal, data, len, take, in);
	else if (len > 0)
		syslog_stream_feed(&c->stream, data, len, syslog_line_cb, in);
	if (len <= 0)
		connection_free(c);
}

static void accept_cb(void *arg, int fd, const struct sockaddr *from)
{
	struct log_server *s = arg;
	struct log_counts *counts = &s->intake->counts;
	struct connection *c = s->connections[0];

	listener_done(s->listener, fd, true);
	if (counts->connections == CONNECTIONS) { /* the one silent longest makes room */
		for (unsigned i = 1; i < CONNECTIONS; i++)
			if (s->connections[i]->heard_us < c->heard_us)
				c = s->connections[i];
		connection_cb(c, LOOP_READ); /* what it wrote is read, or it has ended */
		counts->refused += counts->connections == CONNECTIONS;
		if (counts->connections == CONNECTIONS)
			connection_free(c);
	}
	c = mem_alloc(1, sizeof(*c));
	c->server = s;
	c->fd = fd;
	c->heard_us = loop_now_us(s->loop);
	c->watch = loop_fd_new(s->loop, fd, LOOP_READ, connection_cb, c);
	s->connections[counts->connections++] = c;
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
			snprintf(m.host, sizeof(m.host), "%.*s", (int)len - 10,
				 (const char *)data + 10);
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

/* Begun at its end: what was logged before fmd began may be long repaired. */
static int open_journal(struct log_server *s, const char *where)
{
	bool local = !strcmp(where, "local");
	int status = local ? sd_journal_open(&s->journal, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM)
			   : sd_journal_open_directory(&s->journal, where, 0);
	int fd = status ? status : sd_journal_get_fd(s->journal);

	if (fd < 0)
		return fd;
	status = sd_journal_seek_tail(s->journal);
	if (!status && !sd_journal_previous(s->journal))
		status = sd_journal_seek_head(s->journal); /* there are no records */
	s->more = loop_timer_new(s->loop, journal_cb, s);
	s->watch = loop_fd_new(s->loop, fd, LOOP_READ, journal_fd_cb, s);
	return status;
}

/*
 * One that another process listens on is left alone; what a process that ended left behind is taken
 * away.
 */
static int clear_path(int fd, const struct sockaddr_un *at)
{
	struct stat st;

	if (lstat(at->sun_path, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	if (!connect(fd, (const struct sockaddr *)at, sizeof(*at)) || errno == EAGAIN)
		return -EADDRINUSE;
	return unlink(at->sun_path) ? -errno : 0;
}

static int open_unix(struct log_server *s, const char *where)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int trial, status;

	if (strlen(where) >= sizeof(at.sun_path))
		return -ENAMETOOLONG;
	strcpy(at.sun_path, where);
	trial = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	status = trial < 0 ? -errno : clear_path(trial, &at);
	if (trial >= 0)
		close(trial);
	if (status)
		return status;
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd < 0 || bind(s->fd, (struct sockaddr *)&at, sizeof(at)))
		return -errno;
	s->path = mem_strdup(where);
	if (chmod(where, 0660) || listen(s->fd, SOMAXCONN))
		return -errno;
	s->listener = listener_new(s->loop, s->fd, "log_socket", 1, accept_cb, s);
	return 0;
}

struct log_server *log_server_new(struct log_intake *in, enum log_server_kind kind,
				  const char *where, char *err, size_t err_size)
{
	struct log_server *s = mem_alloc(1, sizeof(*s));
	int status;

	s->loop = in->home->loop;
	s->intake = in;
	s->fd = -1;
	status = kind == LOG_SERVER_JOURNAL ? open_journal(s, where) : open_unix(s, where);
	if (!status)
		return s;
	snprintf(err, err_size, "%s: %s", where, strerror(-status));
	log_server_free(s);
	return NULL;
}

void log_server_free(struct log_server *s)
{
	if (!s)
		return;
	while (s->connections[0] && s->intake->counts.connections)
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
