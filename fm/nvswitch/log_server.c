/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/nvswitch/log_server.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "topology/base/text.h"
#include "fm/os/listener.h"
#include "fm/loop/log.h"
#include "fm/nvswitch/journal.h"
#include "fm/nvswitch/syslog.h"
#include "topology/base/mem.h"

/*
 * journal: records of journald.
 *
 *   _HOSTNAME=dgx-01\n                            FIELD=value, up to the end of the line
 *   MESSAGE\n <8 bytes, little-endian: size> ..\n   a value that has a newline in it
 *   \n                                            ends a record
 *
 *   {"_HOSTNAME":"dgx-01","MESSAGE":"..", ..}\n    MESSAGE is a list of bytes where it is no UTF-8
 */

enum at { NAME, VALUE, SIZE, BINARY, BINARY_END, LOST, JSON };
enum field { OTHER, HOST, MESSAGE };

bool journal_begins(char first)
{
	return first == '{' || first == '_' || isupper((unsigned char)first);
}

/* ---- A record -------------------------------------------------------------------------------- */

static void deliver(struct journal_stream *s, journal_fn *fn, void *arg)
{
	s->message.text = s->text;
	s->message.len = s->text_used;
	if (s->any)
		fn(arg, s->text_used > 0, &s->message);
	s->any = false;
	s->text_used = s->host_used = 0;
	*s->message.host = '\0';
}

static void keep(struct journal_stream *s, const char *data, size_t len)
{
	size_t room = sizeof(s->text) - s->text_used;

	if (s->field == MESSAGE) {
		len = len < room ? len : room;
		memcpy(s->text + s->text_used, data, len);
		s->text_used += (uint32_t)len;
	} else if (s->field == HOST) {
		room = sizeof(s->message.host) - 1 - s->host_used;
		len = len < room ? len : room;
		memcpy(s->message.host + s->host_used, data, len);
		s->host_used += (uint32_t)len;
		s->message.host[s->host_used] = '\0';
		if (!syslog_host_is_text(s->message.host))
			*s->message.host = '?', s->message.host[1] = '\0';
	}
}

static enum field field_of(const struct journal_stream *s)
{
	static const char host[] = "_HOSTNAME", message[] = "MESSAGE";

	if (s->name_used == sizeof(host) - 1 && !memcmp(s->name, host, s->name_used))
		return HOST;
	if (s->name_used == sizeof(message) - 1 && !memcmp(s->name, message, s->name_used))
		return MESSAGE;
	return OTHER;
}

/* ---- The export format ----------------------------------------------------------------------- */

static void feed_name(struct journal_stream *s, char c, journal_fn *fn, void *arg)
{
	if (c == '\n' && !s->name_used) {
		deliver(s, fn, arg);
		return;
	}
	s->any = true;
	if (c == '=' || c == '\n') {
		s->field = (uint8_t)field_of(s);
		s->at = c == '=' ? VALUE : SIZE;
		s->name_used = s->size_used = 0;
		s->left = 0;
	} else if (s->name_used == sizeof(s->name) || (unsigned char)c <= ' ') {
		fn(arg, false, &s->message); /* no field's name: all up to an empty line is lost */
		s->any = false;
		s->name_used = 0;
		s->at = LOST;
	} else {
		s->name[s->name_used++] = c;
	}
}

static void feed_size(struct journal_stream *s, char c)
{
	s->left |= (uint64_t)(uint8_t)c << 8 * s->size_used;
	if (++s->size_used == sizeof(s->size))
		s->at = s->left ? BINARY : BINARY_END;
}

/* name_used counts newlines in a row. */
static void feed_lost(struct journal_stream *s, char c)
{
	s->name_used = c == '\n' ? s->name_used + 1 : 0;
	if (s->name_used < 2)
		return;
	s->name_used = 0;
	s->at = NAME;
}

static size_t feed_value(struct journal_stream *s, const char *data, size_t len)
{
	const char *newline = memchr(data, '\n', len);
	size_t part = newline ? (size_t)(newline - data) : len;

	keep(s, data, part);
	if (!newline)
		return len;
	s->at = NAME;
	return part + 1;
}

static size_t feed_binary(struct journal_stream *s, const char *data, size_t len)
{
	size_t part = len < s->left ? len : (size_t)s->left;

	keep(s, data, part);
	s->left -= part;
	if (!s->left)
		s->at = BINARY_END;
	return part;
}

static size_t feed_export(struct journal_stream *s, const char *data, size_t len, journal_fn *fn,
			  void *arg)
{
	if (s->at == VALUE)
		return feed_value(s, data, len);
	if (s->at == BINARY)
		return feed_binary(s, data, len);
	if (s->at == SIZE)
		feed_size(s, *data);
	else if (s->at == BINARY_END)
		s->at = NAME; /* a newline */
	else if (s->at == LOST)
		feed_lost(s, *data);
	else
		feed_name(s, *data, fn, arg);
	return 1;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void keep_json(struct journal_stream *s, enum field field, const json_t *value)
{
	json_t *byte;
	size_t index;

	s->field = (uint8_t)field;
	if (json_is_string(value))
		keep(s, json_string_value(value), json_string_length(value));
	json_array_foreach ((json_t *)value, index, byte) {
		char c = (char)json_integer_value(byte);

		keep(s, &c, 1);
	}
}

static void take_json(struct journal_stream *s, journal_fn *fn, void *arg)
{
	json_t *doc = s->json_used < JOURNAL_JSON_MAX
			      ? json_loadb(s->json, s->json_used, JSON_ALLOW_NUL, NULL)
			      : NULL;

	if (!s->json_used)
		return;
	s->any = true;
	if (json_is_object(doc)) {
		keep_json(s, HOST, json_object_get(doc, "_HOSTNAME"));
		keep_json(s, MESSAGE, json_object_get(doc, "MESSAGE"));
	}
	json_decref(doc);
	s->json_used = 0;
	deliver(s, fn, arg);
}

static size_t feed_json(struct journal_stream *s, const char *data, size_t len, journal_fn *fn,
			void *arg)
{
	const char *newline = memchr(data, '\n', len);
	size_t part = newline ? (size_t)(newline - data) : len;
	size_t room = JOURNAL_JSON_MAX - s->json_used;

	memcpy(s->json + s->json_used, data, part < room ? part : room);
	s->json_used += (uint32_t)(part < room ? part : room);
	if (!newline)
		return len;
	take_json(s, fn, arg);
	return part + 1;
}

void journal_feed(struct journal_stream *s, const char *data, size_t len, journal_fn *fn, void *arg)
{
	if (len && s->at == NAME && !s->any && !s->name_used && *data == '{') {
		s->at = JSON;
		if (!s->json)
			s->json = mem_alloc(JOURNAL_JSON_MAX, 1);
	}
	while (len) {
		size_t taken = s->at == JSON ? feed_json(s, data, len, fn, arg)
					     : feed_export(s, data, len, fn, arg);

		data += taken;
		len -= taken;
	}
}

void journal_fini(struct journal_stream *s)
{
	free(s->json);
	s->json = NULL;
}

/*
 * log_server: a socket of syslog, or kmsg. Each is an object of its own, so that one that can't be
 * opened leaves the others alone.
 *
 * UDP is drained a bounded number of datagrams a round, with a large buffer in the kernel behind
 * it: ten thousand lines a second are a few hundred between two rounds of a busy loop. A TCP
 * connection has one line's buffer; when there are as many connections as may be, the one that was
 * silent longest makes room.
 *
 * Who may write to the unix socket is said by its file's owner and mode (0660); what stands behind
 * it (journald, a relay) vouches for its lines. The first byte of a connection says whether it is
 * journald's or syslog.
 *
 * /dev/kmsg gives a record a read and is begun at its end: what was logged before fmd began may be
 * long repaired. A FIFO or a file in the same form serves tests and other collectors; a file is
 * looked at anew every quarter of a second.
 */

#define UDP_ENOUGH   (1 << 20)
#define UDP_BUFFER   (8 << 20)
#define BATCH	     64 /* datagrams a call */
#define BATCHES	     8	/* calls a round */
#define READ_SIZE    16384
#define CONNECTIONS  4096
#define FDS_PERCENT  50	 /* of what the process may open */
#define KMSG_RECORDS 256 /* a round */
#define FILE_LOOK_US 250000

struct connection {
	struct log_server *server;
	struct loop_fd *watch;
	int fd;
	uint64_t heard_us;
	struct sender_address from;
	bool begun;
	struct journal_stream *journal; /* NULL = it is syslog */
	struct syslog_stream stream;
};

struct log_server {
	struct loop *loop;
	enum log_server_kind kind;
	struct senders *senders;
	const struct log_server_ops *ops;
	void *arg;
	const struct sender_address *from; /* of the lines that are read now; NULL = a device's */
	char *path;			   /* of the unix socket, ours to remove */
	struct log_server_stats stats;
	int fd;
	struct listener *listener;     /* of TCP, of the unix socket */
	struct loop_fd *watch;	       /* NULL: TCP, or kmsg is a plain file.. */
	struct loop_timer *file_timer; /* ..looked at by this */
	bool kmsg_device;
	struct connection **connections; /* likewise */
	unsigned max_connections;
	struct syslog_stream kmsg_stream;
	char (*batch)[SYSLOG_LINE]; /* [BATCH], of UDP */
};

/* ---- Lines ----------------------------------------------------------------------------------- */

static struct sender *sender_of(struct log_server *s)
{
	struct sender *devices = &s->senders->devices;

	if (s->from)
		return senders_find(s->senders, s->from, loop_now_us(s->loop));
	devices->used = true;
	devices->verdict = SENDER_LISTED;
	devices->heard_us = loop_now_us(s->loop);
	snprintf(devices->name, sizeof(devices->name), "this machine");
	return devices;
}

/*
 * A datagram's sender can be forged; a connection's can not, but what is relayed through it can,
 * unless the relay was configured.
 */
static enum nvswitch_trust trust_of(const struct log_server *s, const struct sender *sender)
{
	if (!s->from)
		return NVSWITCH_PROVEN;
	return s->kind == LOG_SERVER_TCP && sender->verdict == SENDER_LISTED ? NVSWITCH_ASKED
									     : NVSWITCH_ANYONE;
}

static void refuse(struct log_server *s, struct sender *sender)
{
	sender->refused++;
	s->ops->refused(s->arg, sender);
}

static void take_known(struct log_server *s, struct sender *sender, const struct syslog_message *m)
{
	const char *host = *m->host || !s->from ? m->host : sender->name;
	struct sxid_event event;
	bool about = sxid_read(m->text, m->len, &event);

	s->stats.events += about;
	if (about)
		event.trust = trust_of(s, sender);
	if (!sender_may(sender) &&
	    !s->ops->undecided(s->arg, sender, host, about ? &event : NULL)) {
		refuse(s, sender);
		return;
	}
	sender->understood += about && sender_may(sender);
	sender->ignored += !about;
	if (about && sender_may(sender))
		s->ops->event(s->arg, host, &event);
}

static void take(struct log_server *s, bool known, const struct syslog_message *m)
{
	struct sender *sender = sender_of(s);

	s->stats.lines++;
	if (sender->verdict == SENDER_REFUSED) {
		refuse(s, sender);
	} else if (!known) {
		s->stats.bad++;
		sender->malformed++;
	} else {
		take_known(s, sender, m);
	}
}

static void syslog_line_cb(void *arg, const char *line, size_t len)
{
	struct syslog_message m;

	take(arg, syslog_read(line, len, &m), &m);
}

static void kmsg_line_cb(void *arg, const char *line, size_t len)
{
	struct syslog_message m;

	take(arg, syslog_read_kmsg(line, len, &m), &m);
}

static void journal_cb(void *arg, bool known, const struct syslog_message *m)
{
	take(arg, known, m);
}

/* ---- UDP ------------------------------------------------------------------------------------- */

/* Datagrams taken; fewer than BATCH: there are no more. */
static int drain_batch(struct log_server *s)
{
	struct mmsghdr headers[BATCH] = { 0 };
	struct iovec pieces[BATCH];
	struct sockaddr_in6 from[BATCH]; /* room for IPv4 too */
	struct sender_address address;
	int count;

	for (unsigned i = 0; i < BATCH; i++) {
		pieces[i] = (struct iovec){ s->batch[i], SYSLOG_LINE };
		headers[i].msg_hdr.msg_iov = &pieces[i];
		headers[i].msg_hdr.msg_iovlen = 1;
		headers[i].msg_hdr.msg_name = &from[i];
		headers[i].msg_hdr.msg_namelen = sizeof(from[i]);
	}
	count = recvmmsg(s->fd, headers, BATCH, MSG_DONTWAIT, NULL);
	s->from = &address;
	for (int i = 0; i < count; i++) {
		sender_address_of(&address, (struct sockaddr *)&from[i]);
		syslog_line_cb(s, s->batch[i], headers[i].msg_len);
	}
	s->from = NULL;
	return count;
}

static void udp_cb(void *arg, unsigned events)
{
	for (unsigned i = 0; i < BATCHES; i++)
		if (drain_batch(arg) < BATCH)
			break;
}

/* ---- Connections ----------------------------------------------------------------------------- */

static void connection_free(struct connection *c)
{
	struct log_server *s = c->server;

	for (unsigned i = 0; i < s->stats.connections; i++)
		if (s->connections[i] == c) {
			s->connections[i] = s->connections[--s->stats.connections];
			break;
		}
	loop_fd_free(c->watch);
	close(c->fd);
	if (c->journal)
		journal_fini(c->journal);
	free(c->journal);
	free(c);
}

static void begin_stream(struct connection *c, char first)
{
	c->begun = true;
	if (c->server->kind == LOG_SERVER_UNIX && journal_begins(first))
		c->journal = mem_alloc(1, sizeof(*c->journal));
}

static void feed(struct connection *c, const char *data, size_t len)
{
	if (!c->begun && len)
		begin_stream(c, *data);
	if (c->journal)
		journal_feed(c->journal, data, len, journal_cb, c->server);
	else if (len)
		syslog_stream_feed(&c->stream, data, len, syslog_line_cb, c->server);
	else
		syslog_stream_end(&c->stream, syslog_line_cb, c->server);
}

static void connection_cb(void *arg, unsigned events)
{
	struct connection *c = arg;
	struct log_server *s = c->server;
	char data[READ_SIZE];
	ssize_t len = read(c->fd, data, sizeof(data));

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->heard_us = loop_now_us(s->loop);
	s->from = s->kind == LOG_SERVER_TCP ? &c->from : NULL;
	if (len >= 0)
		feed(c, data, (size_t)len);
	s->from = NULL;
	if (len <= 0)
		connection_free(c);
}

static void drop_most_silent(struct log_server *s)
{
	struct connection *oldest = s->connections[0];

	for (unsigned i = 1; i < s->stats.connections; i++)
		if (s->connections[i]->heard_us < oldest->heard_us)
			oldest = s->connections[i];
	s->stats.refused++;
	connection_free(oldest);
}

static void connection_new(struct log_server *s, int fd, const struct sockaddr *from)
{
	struct connection *c;

	if (s->stats.connections == s->max_connections)
		drop_most_silent(s);
	c = mem_alloc(1, sizeof(*c));
	c->server = s;
	c->fd = fd;
	c->heard_us = loop_now_us(s->loop);
	sender_address_of(&c->from, from);
	c->watch = loop_fd_new(s->loop, fd, LOOP_READ, connection_cb, c);
	s->connections[s->stats.connections++] = c;
}

static void accept_cb(void *arg, int fd, const struct sockaddr *from)
{
	connection_new(arg, fd, from);
}

/* ---- kmsg ------------------------------------------------------------------------------------ */

/* Each read of the device is a record; EPIPE: records were overwritten before they were read. */
static bool read_kmsg(struct log_server *s)
{
	char data[SYSLOG_LINE * 4];
	ssize_t len = read(s->fd, data, sizeof(data));

	if (len < 0 && errno == EPIPE)
		return true;
	if (len <= 0)
		return false;
	if (s->kmsg_device)
		kmsg_line_cb(s, data, (size_t)len);
	else
		syslog_stream_feed(&s->kmsg_stream, data, (size_t)len, kmsg_line_cb, s);
	return true;
}

static void kmsg_cb(void *arg, unsigned events)
{
	for (unsigned i = 0; i < KMSG_RECORDS && read_kmsg(arg); i++)
		;
}

static void file_cb(void *arg)
{
	struct log_server *s = arg;

	kmsg_cb(s, LOOP_READ);
	loop_timer_set(s->file_timer, FILE_LOOK_US);
}

static int open_kmsg(struct log_server *s, const char *path)
{
	struct stat st;
	bool fifo = !stat(path, &st) && S_ISFIFO(st.st_mode);

	/* Opened for writing too, a FIFO does not end with its writers. */
	s->fd = open(path, (fifo ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_CLOEXEC);
	if (s->fd < 0 || fstat(s->fd, &st))
		return -errno;
	s->kmsg_device = S_ISCHR(st.st_mode);
	s->kmsg_stream.lines_only = true;
	if (!fifo)
		lseek(s->fd, 0, SEEK_END);
	if (!S_ISREG(st.st_mode)) {
		s->watch = loop_fd_new(s->loop, s->fd, LOOP_READ, kmsg_cb, s);
		return 0;
	}
	s->file_timer = loop_timer_new(s->loop, file_cb, s);
	loop_timer_set(s->file_timer, FILE_LOOK_US);
	return 0;
}

/* ---- Listening ------------------------------------------------------------------------------- */

/* Past the system's bound only with a privilege that a service need not have. */
static void enlarge_buffer(int fd)
{
	int size = UDP_BUFFER;
	socklen_t len = sizeof(size);

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (!getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &len) && size < UDP_ENOUGH)
		log_line(LOG_NVSWITCH, LOG_NOTICE,
			 "syslog: a receive buffer of %d KB may lose lines of a flood; see "
			 "net.core.rmem_max",
			 size >> 10);
}

static int open_at(struct log_server *s, const char *where, int type)
{
	s->fd = listener_socket(s->loop, where, type);
	return s->fd < 0 ? s->fd : 0;
}

static int open_udp(struct log_server *s, const char *where)
{
	int status = open_at(s, where, SOCK_DGRAM);

	if (status)
		return status;
	s->batch = mem_alloc(BATCH, sizeof(*s->batch));
	enlarge_buffer(s->fd);
	s->watch = loop_fd_new(s->loop, s->fd, LOOP_READ, udp_cb, s);
	return 0;
}

static void begin_listening(struct log_server *s)
{
	s->max_connections = listener_allowance(FDS_PERCENT, CONNECTIONS);
	s->connections = mem_alloc(s->max_connections, sizeof(struct connection *));
	s->listener = listener_new(s->loop, s->fd, "syslog", accept_cb, s);
}

static int open_tcp(struct log_server *s, const char *where)
{
	int status = open_at(s, where, SOCK_STREAM);

	if (!status)
		begin_listening(s);
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
	begin_listening(s);
	return 0;
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct log_server *log_server_new(struct loop *loop, enum log_server_kind kind, const char *where,
				  struct senders *senders, const struct log_server_ops *ops,
				  void *arg, char *err, size_t err_size)
{
	static int (*const opens[LOG_SERVER_KINDS])(
		struct log_server *, const char *) = { open_udp, open_tcp, open_kmsg, open_unix };
	struct log_server *s = mem_alloc(1, sizeof(*s));
	int status;

	*s = (struct log_server){
		.loop = loop, .kind = kind, .senders = senders, .ops = ops, .arg = arg, .fd = -1
	};
	status = opens[kind](s, where);
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
	while (s->stats.connections)
		connection_free(s->connections[0]);
	loop_fd_free(s->watch);
	listener_free(s->listener);
	if (s->fd >= 0)
		close(s->fd);
	loop_timer_free(s->file_timer);
	if (s->path)
		unlink(s->path);
	free(s->path);
	free(s->connections);
	free(s->batch);
	free(s);
}

struct log_server_stats log_server_stats(const struct log_server *s)
{
	return s->stats;
}
