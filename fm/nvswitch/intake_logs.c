/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <jansson.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "fm/loop/log.h"
#include "fm/nvswitch/intake_logs.h"
#include "fm/nvswitch/intake_syslog.h"
#include "fm/nvswitch/intake_sources.h"
#include "fm/os/listener.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/* ---- Senders: a table with four places for each hash of an address --------------------------- */

/*
 * Who comes when all four are taken has the place of the one that was silent longest, one that may
 * not send before one that may; what it had counted stays in the totals.
 */

#define WAYS	    4
#define KNOWN_MAX   65536
#define LIST_TEXT   1024
#define UNDECIDE_US (600 * 1000000ull) /* a refusal is thought over: names get other addresses */

/* ---- Addresses ------------------------------------------------------------------------------- */

static void map_v4(struct sender_address *to, const void *v4)
{
	*to = (struct sender_address){ { [10] = 0xff, [11] = 0xff } };
	memcpy(to->bytes + 12, v4, 4);
}

/* Copies the address of an AF_INET or AF_INET6 socket address; all zero for other families. */
static void sender_address_of(struct sender_address *to, const struct sockaddr *from)
{
	*to = (struct sender_address){ 0 };
	if (from->sa_family == AF_INET)
		map_v4(to, &((const struct sockaddr_in *)from)->sin_addr);
	else if (from->sa_family == AF_INET6)
		memcpy(to->bytes, &((const struct sockaddr_in6 *)from)->sin6_addr, 16);
}

bool sender_address_parse(struct sender_address *to, const char *text)
{
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1) {
		map_v4(to, &v4);
		return true;
	}
	return inet_pton(AF_INET6, text, to->bytes) == 1;
}

static bool same(const struct sender_address *a, const struct sender_address *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static bool within(const struct sender_address *a, const struct sender_prefix *p)
{
	unsigned whole = p->bits / 8, rest = p->bits % 8;
	uint8_t mask = (uint8_t)(0xff00 >> rest);

	if (memcmp(a->bytes, p->address.bytes, whole))
		return false;
	return !rest || !((a->bytes[whole] ^ p->address.bytes[whole]) & mask);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static bool parse_prefix(struct sender_prefix *p, char *word)
{
	char *slash = strchr(word, '/'), *end = NULL;
	unsigned long bits;
	bool v4;

	if (!strcmp(word, "any")) {
		*p = (struct sender_prefix){ 0 };
		return true;
	}
	if (slash)
		*slash = '\0';
	v4 = !strchr(word, ':');
	if (!sender_address_parse(&p->address, word))
		return false;
	bits = slash ? strtoul(slash + 1, &end, 10) : v4 ? 32 : 128;
	if (slash) {
		bool good = end != slash + 1 && !*end && slash[1] != '-' && slash[1] != '+';

		*slash = '/'; /* the word is shown as it stands */
		if (!good)
			return false;
	}
	p->bits = (uint8_t)(bits + (v4 ? 96 : 0));
	return bits <= (v4 ? 32 : 128);
}

bool senders_allow(struct senders *s, const char *list, char *err, size_t err_size)
{
	char copy[LIST_TEXT], *rest = copy, *word;
	struct sender_prefix *allow = NULL;
	unsigned count = 0;

	snprintf(copy, sizeof(copy), "%s", list);
	while ((word = strtok_r(rest, ", \t", &rest))) {
		allow = mem_resize(allow, count + 1, sizeof(*allow));
		if (parse_prefix(&allow[count++], word))
			continue;
		snprintf(err, err_size, "`%.80s` is not an address or ADDRESS/BITS", word);
		free(allow);
		return false;
	}
	free(s->allow);
	s->allow = allow;
	s->nallow = count;
	s->listed = count > 0;
	for (unsigned i = 0; s->table && i < SENDERS_MAX; i++)
		s->table[i].verdict = SENDER_NEW;
	return true;
}

static bool is_known(const struct senders *s, const struct sender_address *address)
{
	for (unsigned i = 0; i < s->nknown; i++)
		if (same(&s->known[i], address))
			return true;
	return false;
}

static void senders_know(struct senders *s, const struct sender_address *address)
{
	if (s->nknown >= KNOWN_MAX || is_known(s, address))
		return;
	s->known = mem_resize(s->known, s->nknown + 1, sizeof(*s->known));
	s->known[s->nknown++] = *address;
}

void senders_know_text(struct senders *s, const char *text)
{
	struct sender_address address;

	if (sender_address_parse(&address, text))
		senders_know(s, &address);
}

void senders_know_own(struct senders *s)
{
	struct ifaddrs *all, *one;

	free(s->known);
	s->known = NULL;
	s->nknown = 0;
	if (getifaddrs(&all))
		return;
	for (one = all; one; one = one->ifa_next) {
		struct sender_address address;

		if (!one->ifa_addr ||
		    (one->ifa_addr->sa_family != AF_INET && one->ifa_addr->sa_family != AF_INET6))
			continue;
		sender_address_of(&address, one->ifa_addr);
		senders_know(s, &address);
	}
	freeifaddrs(all);
}

void senders_fini(struct senders *s)
{
	free(s->table);
	free(s->allow);
	free(s->known);
	*s = (struct senders){ 0 };
}

/* ---- The table ------------------------------------------------------------------------------- */

static void add_counts(struct sender *to, const struct sender *from)
{
	to->understood += from->understood;
	to->ignored += from->ignored;
	to->malformed += from->malformed;
	to->refused += from->refused;
}

static bool gives_way_to(const struct sender *a, const struct sender *b)
{
	if (a->used != b->used)
		return !a->used;
	if (sender_may(a) != sender_may(b))
		return !sender_may(a);
	return a->heard_us < b->heard_us;
}

static struct sender *place_of(struct senders *s, const struct sender_address *address)
{
	bool v4 = IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)address->bytes);
	uint32_t hash = 2166136261u;
	struct sender *row, *victim;

	for (unsigned i = 0; i < sizeof(address->bytes); i++)
		hash = (hash ^ address->bytes[i]) * 16777619u;
	if (!s->table)
		s->table = mem_alloc(SENDERS_MAX, sizeof(*s->table));
	row = victim = s->table + (hash ^ hash >> 15) % (SENDERS_MAX / WAYS) * WAYS;
	for (unsigned i = 0; i < WAYS; i++) {
		if (row[i].used && same(&row[i].address, address))
			return &row[i];
		if (gives_way_to(&row[i], victim))
			victim = &row[i];
	}
	add_counts(&s->gone, victim);
	*victim = (struct sender){ .used = true, .address = *address };
	if (!inet_ntop(v4 ? AF_INET : AF_INET6, address->bytes + (v4 ? 12 : 0), victim->name,
		       sizeof(victim->name)))
		*victim->name = '\0';
	return victim;
}

struct sender *senders_find(struct senders *s, const struct sender_address *address,
			    uint64_t now_us)
{
	static const struct sender_prefix loopback4 = {
		{ { [10] = 0xff, [11] = 0xff, [12] = 127 } }, 104
	};
	static const struct sender_prefix loopback6 = { { { [15] = 1 } }, 128 };
	struct sender *sender = place_of(s, address);
	bool old = sender->verdict == SENDER_REFUSED && now_us - sender->decided_us >= UNDECIDE_US;

	sender->heard_us = now_us;
	if (sender->verdict == SENDER_NEW || old) {
		bool good = !s->listed &&
			    (within(&sender->address, &loopback4) ||
			     within(&sender->address, &loopback6) || is_known(s, &sender->address));

		for (unsigned i = 0; i < s->nallow && !good; i++)
			good = within(&sender->address, &s->allow[i]);
		if (good)
			sender->verdict = s->listed ? SENDER_LISTED : SENDER_ALLOWED;
		else
			sender->verdict = s->listed ? SENDER_REFUSED : SENDER_NEW;
		sender->decided_us = now_us;
	}
	return sender;
}

/* ---- Documents ------------------------------------------------------------------------------- */

static uint64_t useless(const struct sender *s)
{
	return s->malformed + s->refused;
}

static int compare(const void *a, const void *b)
{
	const struct sender *const *one = a, *const *other = b;
	uint64_t x = useless(*one), y = useless(*other);

	return x != y ? (x < y ? 1 : -1) : strcmp((*one)->name, (*other)->name);
}

/* All that ever sent, sorted; the caller frees the list. */
static const struct sender **sorted(const struct senders *s, unsigned *count)
{
	const struct sender **list = mem_alloc(SENDERS_MAX + 1, sizeof(struct sender *));

	*count = 0;
	if (s->devices.used)
		list[(*count)++] = &s->devices;
	for (unsigned i = 0; s->table && i < SENDERS_MAX; i++)
		if (s->table[i].used)
			list[(*count)++] = &s->table[i];
	qsort(list, *count, sizeof(*list), compare);
	return list;
}

static json_t *counts_json(const struct sender *s)
{
	return json_pack("{sI sI sI sI}", "understood", (json_int_t)s->understood, "ignored",
			 (json_int_t)s->ignored, "malformed", (json_int_t)s->malformed, "refused",
			 (json_int_t)s->refused);
}

json_t *senders_json(const struct senders *s, uint64_t now_us)
{
	json_t *rows = json_array();
	unsigned count;
	const struct sender **list = sorted(s, &count);

	for (unsigned i = 0; i < count; i++) {
		json_t *row = counts_json(list[i]);

		json_object_set_new(row, "sender", json_string(list[i]->name));
		json_object_set_new(row, "allowed", json_boolean(sender_may(list[i])));
		json_object_set_new(row, "heard_s", json_real((now_us - list[i]->heard_us) / 1e6));
		json_array_append_new(rows, row);
	}
	free(list);
	return rows;
}

json_t *senders_totals(const struct senders *s)
{
	struct sender sum = s->gone;
	unsigned count;
	const struct sender **list = sorted(s, &count);

	for (unsigned i = 0; i < count; i++)
		add_counts(&sum, list[i]);
	free(list);
	return counts_json(&sum);
}

json_t *senders_worst(const struct senders *s, unsigned most)
{
	json_t *doc = json_object();
	unsigned count;
	const struct sender **list = sorted(s, &count);

	for (unsigned i = 0; i < count && i < most && useless(list[i]); i++)
		json_object_set_new(doc, list[i]->name, json_integer((json_int_t)useless(list[i])));
	free(list);
	return doc;
}

/* ---- Servers --------------------------------------------------------------------------------- */

/*
 * A socket of syslog, or kmsg. Each is an object of its own, so that one that can't be
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

static void refuse(struct log_server *s, struct sender *sender)
{
	sender->refused++;
	s->ops->refused(s->arg, sender);
}

/* A line, as journal_fn. */
static void take(void *arg, bool known, const struct syslog_message *m)
{
	struct log_server *s = arg;
	struct sender *sender = &s->senders->devices;

	if (s->from) {
		sender = senders_find(s->senders, s->from, loop_now_us(s->loop));
	} else {
		sender->used = true;
		sender->verdict = SENDER_LISTED;
		sender->heard_us = loop_now_us(s->loop);
		snprintf(sender->name, sizeof(sender->name), "this machine");
	}
	s->stats.lines++;
	if (sender->verdict == SENDER_REFUSED) {
		refuse(s, sender);
	} else if (!known) {
		s->stats.bad++;
		sender->malformed++;
	} else {
		/*
		 * Takes a line with a known header. A datagram's sender can be forged; a
		 * connection's can not, but what is relayed through it can, unless the relay was
		 * configured.
		 */
		const char *host = *m->host || !s->from ? m->host : sender->name;
		struct sxid_event event;
		bool about = sxid_read(m->text, m->len, &event);
		bool listed = s->kind == LOG_SERVER_TCP && sender->verdict == SENDER_LISTED;

		s->stats.events += about;
		if (about)
			event.trust = !s->from ? NVSWITCH_PROVEN
				      : listed ? NVSWITCH_ASKED
					       : NVSWITCH_ANYONE;
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

/* ---- UDP ------------------------------------------------------------------------------------- */

static void udp_cb(void *arg, unsigned events)
{
	struct log_server *s = arg;
	struct mmsghdr headers[BATCH] = { 0 };
	struct iovec pieces[BATCH];
	struct sockaddr_in6 from[BATCH]; /* room for IPv4 too */
	struct sender_address address;
	int count = BATCH; /* fewer: there are no more */

	for (unsigned round = 0; round < BATCHES && count == BATCH; round++) {
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
	}
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
	if (!c->begun && len > 0) {
		c->begun = true;
		if (s->kind == LOG_SERVER_UNIX && journal_begins(*data))
			c->journal = mem_alloc(1, sizeof(*c->journal));
	}
	if (c->journal && len > 0)
		journal_feed(c->journal, data, (size_t)len, take, s);
	else if (len > 0)
		syslog_stream_feed(&c->stream, data, (size_t)len, syslog_line_cb, s);
	else if (!len && !c->journal)
		syslog_stream_end(&c->stream, syslog_line_cb, s);
	s->from = NULL;
	if (len <= 0)
		connection_free(c);
}

static void accept_cb(void *arg, int fd, const struct sockaddr *from)
{
	struct log_server *s = arg;
	struct connection *c = s->stats.connections ? s->connections[0] : NULL;

	if (s->stats.connections == s->max_connections) { /* the one silent longest makes room */
		for (unsigned i = 1; i < s->stats.connections; i++)
			if (s->connections[i]->heard_us < c->heard_us)
				c = s->connections[i];
		s->stats.refused++;
		connection_free(c);
	}
	c = mem_alloc(1, sizeof(*c));
	c->server = s;
	c->fd = fd;
	c->heard_us = loop_now_us(s->loop);
	sender_address_of(&c->from, from);
	c->watch = loop_fd_new(s->loop, fd, LOOP_READ, connection_cb, c);
	s->connections[s->stats.connections++] = c;
}

/* ---- kmsg ------------------------------------------------------------------------------------ */

/* Each read of the device is a record; EPIPE: records were overwritten before they were read. */
static void kmsg_cb(void *arg, unsigned events)
{
	struct log_server *s = arg;
	char data[SYSLOG_LINE * 4];

	for (unsigned i = 0; i < KMSG_RECORDS; i++) {
		ssize_t len = read(s->fd, data, sizeof(data));

		if (len < 0 && errno == EPIPE)
			continue;
		if (len <= 0)
			return;
		if (s->kmsg_device)
			kmsg_line_cb(s, data, (size_t)len);
		else
			syslog_stream_feed(&s->kmsg_stream, data, (size_t)len, kmsg_line_cb, s);
	}
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

static int open_udp(struct log_server *s, const char *where)
{
	int size = UDP_BUFFER;
	socklen_t len = sizeof(size);

	s->fd = listener_socket(s->loop, where, SOCK_DGRAM);
	if (s->fd < 0)
		return s->fd;
	s->batch = mem_alloc(BATCH, sizeof(*s->batch));
	/* Past the system's bound only with a privilege that a service need not have. */
	if (setsockopt(s->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (!getsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &size, &len) && size < UDP_ENOUGH)
		log_line(LOG_NVSWITCH, LOG_NOTICE,
			 "syslog: a receive buffer of %d KB may lose lines of a flood; see "
			 "net.core.rmem_max",
			 size >> 10);
	s->watch = loop_fd_new(s->loop, s->fd, LOOP_READ, udp_cb, s);
	return 0;
}

static int open_tcp(struct log_server *s, const char *where)
{
	s->fd = listener_socket(s->loop, where, SOCK_STREAM);
	return s->fd < 0 ? s->fd : 0;
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
	return chmod(where, 0660) || listen(s->fd, SOMAXCONN) ? -errno : 0;
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
	if (status) {
		snprintf(err, err_size, "%s: %s", where, strerror(-status));
		log_server_free(s);
		return NULL;
	}
	if (kind == LOG_SERVER_TCP || kind == LOG_SERVER_UNIX) {
		s->max_connections = listener_allowance(FDS_PERCENT, CONNECTIONS);
		s->connections = mem_alloc(s->max_connections, sizeof(struct connection *));
		s->listener = listener_new(s->loop, s->fd, "syslog", accept_cb, s);
	}
	return s;
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

/* ---- Intake: which host a line is about ------------------------------------------------------ */

/*
 * A sender whose address nobody knows may send if the host of the fabric that his line names has
 * that address. The system's resolver is asked beside the loop (getaddrinfo_a(3)); what he sends
 * meanwhile waits, LINES_WAIT lines of it. Anybody else is counted, and reported by one event in
 * REFUSED_US.
 */

#define LOOK_US	       20000
#define LOOKUPS	       8
#define LINES_WAIT     4
#define REFUSED_US     (600 * 1000000ull) /* between two events about refused lines */
#define STRANGER_LINES 1		  /* a second */

struct lookup {
	struct lookup *next;
	struct gaicb ask;
	char name[256];
	struct sender_address sender;
	char sender_name[SENDER_NAME];
	unsigned waiting;
	struct {
		char host[SYSLOG_HOST];
		struct sxid_event event;
	} lines[LINES_WAIT];
};

struct log_intake {
	struct source_home *home;
	struct senders senders;
	char own_name[256];	/* of this machine */
	struct lookup *lookups; /* of senders' addresses, under way */
	unsigned nlookups;
	struct loop_timer *lookup_timer;
	bool refused_reported; /* at refused_us */
	uint64_t refused_us;
	struct log_limit unknown_limit;
};

/* ---- Who is meant ---------------------------------------------------------------------------- */

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

static void event_cb(void *arg, const char *name, const struct sxid_event *event)
{
	struct log_intake *in = arg;
	uint64_t now_us = loop_now_us(in->home->loop);
	unsigned host = find_host(in, name);

	if (host != UINT_MAX) {
		health_hear_log(in->home->health, host, event, now_us);
		source_heard(in->home);
		return;
	}
	in->senders.unknown++;
	if (log_allow(&in->unknown_limit, now_us, STRANGER_LINES))
		log_line(LOG_NVSWITCH, LOG_WARNING,
			 "kernel log of a host that is not in the fabric: %s: %s",
			 *name ? name : in->own_name, event->finding.text);
}

/* ---- Who may not ----------------------------------------------------------------------------- */

static void refused_cb(void *arg, const struct sender *sender)
{
	struct log_intake *in = arg;
	uint64_t now_us = loop_now_us(in->home->loop);
	char text[240];

	if (in->refused_reported && now_us - in->refused_us < REFUSED_US)
		return;
	in->refused_reported = true;
	in->refused_us = now_us;
	snprintf(text, sizeof(text),
		 "nvswitch: syslog from %s is ignored: %s; `fmctl nvswitch logs` lists all senders",
		 sender->name,
		 in->senders.listed ? "it is not in syslog_allow"
				    : "the address belongs to no known host (see syslog_allow)");
	in->home->ops->event(in->home->arg, LOG_WARNING, "nvswitch-sender",
			     json_pack("{ss}", "sender", sender->name), text);
}

/* ---- The resolver ---------------------------------------------------------------------------- */

static bool has_address(const struct lookup *l)
{
	for (const struct addrinfo *at = l->ask.ar_result; at; at = at->ai_next) {
		struct sender_address address;

		sender_address_of(&address, at->ai_addr);
		if (!memcmp(&address, &l->sender, sizeof(address)))
			return true;
	}
	return false;
}

static void look_cb(void *arg)
{
	struct log_intake *in = arg;
	struct lookup **link = &in->lookups;

	while (*link) {
		struct lookup *l = *link;
		int status = gai_error(&l->ask);

		if (status == EAI_INPROGRESS) {
			link = &l->next;
			continue;
		}
		*link = l->next;
		in->nlookups--;

		bool good = status == 0;
		struct sender *sender;

		if (good && has_address(l))
			senders_know(&in->senders, &l->sender);
		sender = senders_find(&in->senders, &l->sender, loop_now_us(in->home->loop));
		sender->verdict = good && has_address(l) ? SENDER_ALLOWED : SENDER_REFUSED;
		sender->decided_us = loop_now_us(in->home->loop);
		for (unsigned i = 0; i < l->waiting; i++)
			if (sender_may(sender))
				event_cb(in, l->lines[i].host, &l->lines[i].event);
		if (sender_may(sender)) {
			sender->understood += l->waiting;
		} else {
			sender->refused += l->waiting;
			refused_cb(in, sender);
		}
		if (l->ask.ar_result)
			freeaddrinfo(l->ask.ar_result);
		free(l);
	}
	if (in->lookups)
		loop_timer_set(in->lookup_timer, LOOK_US);
}

static bool begin_lookup(struct log_intake *in, const struct sender *sender, const char *name)
{
	struct lookup *l = mem_alloc(1, sizeof(*l));
	struct gaicb *list[] = { &l->ask };

	snprintf(l->name, sizeof(l->name), "%s", name);
	snprintf(l->sender_name, sizeof(l->sender_name), "%s", sender->name);
	l->sender = sender->address;
	l->ask.ar_name = l->name;
	if (getaddrinfo_a(GAI_NOWAIT, list, 1, NULL)) {
		free(l);
		return false;
	}
	l->next = in->lookups;
	in->lookups = l;
	in->nlookups++;
	if (!in->lookup_timer)
		in->lookup_timer = loop_timer_new(in->home->loop, look_cb, in);
	loop_timer_set(in->lookup_timer, LOOK_US);
	return true;
}

static bool undecided_cb(void *arg, struct sender *sender, const char *name,
			 const struct sxid_event *event)
{
	struct log_intake *in = arg;
	struct lookup *l = in->lookups;
	unsigned host = find_host(in, name);

	while (l && memcmp(&l->sender, &sender->address, sizeof(l->sender)))
		l = l->next;
	if (!l) {
		if (host == UINT_MAX || in->nlookups == LOOKUPS ||
		    !begin_lookup(in, sender, in->home->health->hosts[host].name))
			return false;
		sender->verdict = SENDER_ASKED;
		l = in->lookups;
	}
	if (!event)
		return true;
	if (l->waiting == LINES_WAIT)
		return false;
	snprintf(l->lines[l->waiting].host, SYSLOG_HOST, "%s", name);
	l->lines[l->waiting++].event = *event;
	return true;
}

const struct log_server_ops log_intake_ops = { event_cb, undecided_cb, refused_cb };

/* ---- Life ------------------------------------------------------------------------------------ */

struct log_intake *log_intake_new(struct source_home *home)
{
	struct log_intake *in = mem_alloc(1, sizeof(*in));

	in->home = home;
	if (gethostname(in->own_name, sizeof(in->own_name) - 1))
		*in->own_name = '\0';
	return in;
}

struct senders *log_intake_senders(struct log_intake *in)
{
	return &in->senders;
}

/* A lookup that can't be stopped is left to its end, with its memory. */
void log_intake_free(struct log_intake *in)
{
	while (in->lookups) {
		struct lookup *l = in->lookups;
		bool over = gai_cancel(&l->ask) != EAI_NOTCANCELED;

		in->lookups = l->next;
		if (over && l->ask.ar_result)
			freeaddrinfo(l->ask.ar_result);
		if (over)
			free(l);
	}
	loop_timer_free(in->lookup_timer);
	senders_fini(&in->senders);
	free(in);
}
