/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/history/history.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fm/events/event_log.h"
#include "fm/loop/child.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define WEEK_ROWS    (HISTORY_WEEK_S / HISTORY_STEP_S)
#define HEAD_TEXT    "fmd history 1\n"
#define ROWS_AT	     4096ull
#define PORTS_AT     (ROWS_AT + 16ull * HISTORY_ROWS)
#define CHANGES_AT   (PORTS_AT + 16ull * HISTORY_PORTS)
#define NONE	     UINT32_MAX
#define PLACES	     (1u << 18) /* of the hash table of ports */
#define STEPS	     200	/* of a load of 100 % */
#define SLOT(time_s) ((time_s) / HISTORY_PASS_S)

/* All numbers are in the byte order of the machine that wrote them: HEAD_ORDER tells it. */
#define HEAD_ORDER 0x01020304u

struct head { /* of the file */
	char text[16];
	uint32_t order, ports, rows, changes;
};
struct row_head {
	uint64_t changes; /* records that were written so far */
	uint32_t time_s;  /* when the row begins; 0 = there is none */
	uint32_t check;
};
struct port_head {
	guid_t node;
	uint32_t since_s; /* when the port was read first */
	uint8_t port;
	uint8_t unused;
	uint16_t check;
};
struct change {
	uint32_t time_s, column;
	uint32_t kind; /* enum perf_counter, or one of the next */
	uint32_t number;
};
enum {
	CHANGE_PACE = 64, /* lanes << 8 | speed */
	CHANGE_PEER
};

struct column {		/* of a port, by the index of its head */
	uint8_t now[2]; /* in this pass, when watched: 0 = not read, else 1 + load */
	uint16_t sums, pace;
	uint32_t sum;  /* since `bucket` began */
	uint32_t peer; /* column + 1 */
};

struct row { /* that is to be written */
	struct row *next;
	uint32_t index, time_s;
	uint32_t first, ports, columns; /* heads of ports from `first` on; bytes of the row */
	uint32_t nchanges;
	uint64_t change_at;
	struct port_head *heads;
	struct change *changes;
	uint8_t *load;
};

struct history {
	char *path, *bad;
	int fd;
	bool threaded, begun;
	atomic_bool ready;
	pthread_t thread;
	char why[200]; /* written before ready is set */
	atomic_int error;
	char alert[260];

	/* Of the loop, once ready. */
	struct port_head *ports;
	uint32_t count, written; /* ports; of them, whose heads are on their way to the file */
	uint32_t *places;	 /* column + 1 by the hash of a port; 0 = free */
	struct column *columns;
	uint32_t bucket;	      /* of HISTORY_STEP_S; 0 = none yet */
	uint32_t passed_s, watched_s; /* the latest of the last hour's rows; 0 = none */
	uint64_t nchanges;	      /* ever written */
	struct change *pending;
	uint32_t npending, passed; /* of them, of passes that have ended */
	bool full;

	pthread_mutex_t lock; /* of all members from here on */
	pthread_cond_t given;
	struct row *todo, **last;
	bool ends;
};

static uint32_t mix(uint64_t a, uint64_t b)
{
	uint64_t x = (a ^ 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;

	x = ((x ^ x >> 33) + b) * 0xc4ceb9fe1a85ec53ull;
	return (uint32_t)(x >> 32) | 1;
}

static uint32_t row_check(const struct row_head *head, uint32_t index)
{
	return mix(head->changes, (uint64_t)head->time_s << 32 | index);
}

static uint16_t port_check(const struct port_head *head)
{
	return mix(head->node, (uint64_t)head->since_s << 8 | head->port) >> 8;
}

/* ---- Ports ----------------------------------------------------------------------------------- */

/* The place of a port in the hash table, or the free one where it would be. */
static uint32_t *place_of(const struct history *h, guid_t node, uint8_t port)
{
	uint32_t i = mix(node, port) >> 1;

	for (;; i++) {
		uint32_t *place = &h->places[i % PLACES];

		if (!*place ||
		    (h->ports[*place - 1].node == node && h->ports[*place - 1].port == port))
			return place;
	}
}

static uint32_t column_new(struct history *h, guid_t node, uint8_t port)
{
	uint32_t *place = place_of(h, node, port);

	if (!*place && h->count == HISTORY_PORTS)
		h->full = true;
	else if (!*place) {
		h->ports[h->count] = (struct port_head){ .node = node, .port = port };
		*place = ++h->count;
	}
	return *place - 1u;
}

/* ---- The file -------------------------------------------------------------------------------- */

static bool put(struct history *h, const void *data, size_t len, uint64_t at)
{
	for (size_t done = 0; done < len;) {
		ssize_t now = pwrite(h->fd, (const char *)data + done, len - done, at + done);

		if (now < 0 && errno == EINTR)
			continue;
		if (now <= 0)
			return false;
		done += now;
	}
	return true;
}

static bool get(int fd, void *data, size_t len, uint64_t at)
{
	return pread(fd, data, len, (off_t)at) == (ssize_t)len;
}

/* Its time is taken away first and written last: in between there is no row. */
static bool row_put(struct history *h, const struct row *r)
{
	struct row_head head = { 0 };
	uint64_t at = ROWS_AT + r->index * sizeof(head), from = r->change_at % HISTORY_CHANGES;
	uint32_t straight =
		r->nchanges < HISTORY_CHANGES - from ? r->nchanges : HISTORY_CHANGES - from;

	if (!put(h, r->heads, r->ports * sizeof(*r->heads),
		 PORTS_AT + r->first * sizeof(*r->heads)) ||
	    !put(h, r->changes, straight * sizeof(*r->changes),
		 CHANGES_AT + from * sizeof(*r->changes)) ||
	    (straight < r->nchanges &&
	     !put(h, r->changes + straight, (r->nchanges - straight) * sizeof(*r->changes),
		  CHANGES_AT)) ||
	    !put(h, &head, sizeof(head), at) || (h->threaded && fdatasync(h->fd)) ||
	    !put(h, r->load, r->columns, HISTORY_DATA + (uint64_t)r->index * HISTORY_PORTS) ||
	    (h->threaded && fdatasync(h->fd)))
		return false;
	head = (struct row_head){ .changes = r->change_at + r->nchanges, .time_s = r->time_s };
	head.check = row_check(&head, r->index);
	return put(h, &head, sizeof(head), at);
}

static void row_write(struct history *h, struct row *r)
{
	errno = 0;
	atomic_store(&h->error, h->fd >= 0 && row_put(h, r) ? 0 : errno ? errno : EIO);
	free(r->heads);
	free(r->changes);
	free(r->load);
	free(r);
}

/* What is wrong with the file; NULL = nothing. */
static const char *refusal(const struct history *h)
{
	struct stat st;
	struct head head;

	if (fstat(h->fd, &st) || !S_ISREG(st.st_mode))
		return "it is no regular file";
	if (!get(h->fd, &head, sizeof(head), 0) || memcmp(head.text, HEAD_TEXT, sizeof(HEAD_TEXT)))
		return "its head is not that of a history";
	if (head.order != HEAD_ORDER)
		return "a machine of another byte order wrote it";
	if (head.ports != HISTORY_PORTS || head.rows != HISTORY_ROWS ||
	    head.changes != HISTORY_CHANGES || (uint64_t)st.st_size != HISTORY_BYTES)
		return "it has another shape";
	return NULL;
}

static void load(struct history *h)
{
	const struct head head = { HEAD_TEXT, HEAD_ORDER, HISTORY_PORTS, HISTORY_ROWS,
				   HISTORY_CHANGES };
	struct row_head *heads = mem_array(heads, HISTORY_ROWS);
	const char *wrong = NULL;

	h->fd = open(h->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (h->fd < 0 && errno != ENOENT)
		wrong = strerror(errno);
	else if (h->fd >= 0)
		wrong = refusal(h);
	if (wrong) {
		array_printf(h->why, "%s was refused (%s): it is kept as history.bad", h->path,
			     wrong);
		rename(h->path, h->bad);
	}
	if (wrong && h->fd >= 0)
		close(h->fd);
	if (wrong || h->fd < 0) {
		h->fd = open(h->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (h->fd < 0 || ftruncate(h->fd, HISTORY_BYTES) || !put(h, &head, sizeof(head), 0))
			atomic_store(&h->error, errno);
	}
	if (h->fd < 0 || !get(h->fd, h->ports, HISTORY_PORTS * sizeof(*h->ports), PORTS_AT) ||
	    !get(h->fd, heads, HISTORY_ROWS * sizeof(*heads), ROWS_AT))
		mem_zero(h->ports, HISTORY_PORTS);
	while (h->count < HISTORY_PORTS && h->ports[h->count].node &&
	       h->ports[h->count].check == port_check(&h->ports[h->count])) {
		const struct port_head *port = &h->ports[h->count];

		*place_of(h, port->node, port->port) = h->count + 1;
		h->count++;
	}
	h->written = h->count;
	for (uint32_t i = 0; i < HISTORY_ROWS; i++)
		if (heads[i].time_s && heads[i].check == row_check(&heads[i], i) &&
		    heads[i].changes > h->nchanges)
			h->nchanges = heads[i].changes;
	free(heads);
	atomic_store(&h->ready, true);
}

static void *thread_main(void *arg)
{
	struct history *h = arg;

	load(h);
	for (;;) {
		pthread_mutex_lock(&h->lock);
		while (!h->ends && !h->todo)
			pthread_cond_wait(&h->given, &h->lock);

		struct row *row = h->todo;

		if (row && !(h->todo = row->next))
			h->last = &h->todo;
		pthread_mutex_unlock(&h->lock);
		if (!row)
			return NULL;
		row_write(h, row);
	}
}

/*
 * The thread comes with the first reading: capabilities are each thread's own, and the process
 * gives them up after its files are open.
 */
static bool is_ready(struct history *h)
{
	if (!h->begun) {
		h->begun = true;
		h->threaded = h->threaded && !thread_start(&h->thread, thread_main, h);
		if (!h->threaded)
			load(h);
	}
	return atomic_load(&h->ready);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* With the heads of new ports and, of a row of the week, the changes. */
static void row_make(struct history *h, uint32_t index, uint32_t time_s, uint8_t *bytes,
		     bool changes)
{
	struct row *r = mem_new(r);

	*r = (struct row){ .index = index, .time_s = time_s, .load = bytes, .columns = h->count };
	if (atomic_load(&h->error))
		h->written = 0; /* heads of ports may not be there */
	r->first = h->written;
	r->ports = h->count - h->written;
	r->heads = mem_array(r->heads, r->ports + 1u);
	for (uint32_t i = h->written; i < h->count; i++) {
		h->ports[i].since_s = h->ports[i].since_s ?: time_s;
		h->ports[i].check = port_check(&h->ports[i]);
	}
	mem_copy(r->heads, h->ports + h->written, r->ports);
	h->written = h->count;
	r->change_at = h->nchanges;
	if (changes) {
		r->nchanges = h->passed;
		r->changes = mem_array(r->changes, r->nchanges + 1u);
		if (r->nchanges)
			mem_copy(r->changes, h->pending, r->nchanges);
		for (uint32_t i = 0; i < r->nchanges; i++)
			r->changes[i].time_s = time_s;
		h->nchanges += r->nchanges;
		h->npending -= r->nchanges;
		h->passed = 0;
		if (r->nchanges)
			memmove(h->pending, h->pending + r->nchanges,
				h->npending * sizeof(*h->pending));
	}
	if (!h->threaded) {
		row_write(h, r);
		return;
	}
	pthread_mutex_lock(&h->lock);
	*h->last = r;
	h->last = &r->next;
	pthread_cond_signal(&h->given);
	pthread_mutex_unlock(&h->lock);
}

static void bucket_end(struct history *h)
{
	uint8_t *bytes = mem_array(bytes, h->count + 1u);

	for (uint32_t i = 0; i < h->count; i++) {
		struct column *c = &h->columns[i];

		if (c->sums)
			bytes[i] = (c->sum + c->sums / 2u) / c->sums + 1;
		c->sum = c->sums = 0;
	}
	row_make(h, h->bucket % WEEK_ROWS, h->bucket * HISTORY_STEP_S, bytes, true);
}

static uint8_t load_byte(const struct history_reading *r, double bytes_s)
{
	double share = bytes_s * 8 / 1e6 / (topo_lane_mbps(r->speed) * r->lanes);

	return share >= 0 ? 1 + lround(fmin(share, 1) * STEPS) : 0; /* NAN is not */
}

static void change_add(struct history *h, uint32_t column, uint32_t kind, uint32_t number)
{
	if (h->npending == HISTORY_CHANGES)
		return;
	h->pending = mem_grow(h->pending, h->npending);
	h->pending[h->npending++] =
		(struct change){ .column = column, .kind = kind, .number = number };
}

/* Of readings of a pass, or of ports that are watched; time_s 0: there are none. */
static void hour_row(struct history *h, uint32_t time_s, bool watched)
{
	uint32_t place = SLOT(time_s) % (HISTORY_ROWS - WEEK_ROWS);
	uint8_t *bytes;

	if (!time_s)
		return;
	bytes = mem_array(bytes, h->count + 1u);
	for (uint32_t i = 0; i < h->count; i++) {
		bytes[i] = h->columns[i].now[watched];
		h->columns[i].now[watched] = 0;
	}
	row_make(h, WEEK_ROWS + place, time_s, bytes, false);
}

void history_take(struct history *h, const struct history_reading *r)
{
	uint16_t pace = r->lanes << 8 | r->speed;
	bool watched = r->watched_s;

	/* Rows are written in the order of their time. */
	if (!is_ready(h) || (watched && SLOT(r->watched_s) == SLOT(h->passed_s)))
		return;
	if (watched && SLOT(r->watched_s) != SLOT(h->watched_s))
		hour_row(h, h->watched_s, true);

	uint32_t column = column_new(h, r->node, r->port);

	if (column == NONE)
		return;

	struct column *c = &h->columns[column];
	uint32_t peer = r->peer ? column_new(h, r->peer, r->peer_port) : NONE;

	c->now[watched] = load_byte(r, r->bytes_s[0]);
	if (peer != NONE && !h->columns[peer].now[watched])
		h->columns[peer].now[watched] = load_byte(r, r->bytes_s[1]);
	if (watched) {
		h->watched_s = r->watched_s;
		return;
	}
	if (c->pace && c->pace != pace)
		change_add(h, column, CHANGE_PACE, pace);
	if (c->peer && c->peer != peer + 1u)
		change_add(h, column, CHANGE_PEER, peer + 1u);
	c->pace = pace;
	c->peer = peer + 1u;
	for (unsigned i = 0; i < PERF_ERRORS; i++)
		if (r->added[i])
			change_add(h, column, i, r->added[i]);
}

void history_passed(struct history *h, uint32_t now_s)
{
	if (!is_ready(h))
		return;
	if (h->bucket && h->bucket != now_s / HISTORY_STEP_S)
		bucket_end(h);
	h->bucket = now_s / HISTORY_STEP_S;
	for (uint32_t i = 0; i < h->count; i++) {
		struct column *c = &h->columns[i];

		if (c->now[0] && c->sums < UINT16_MAX) {
			c->sum += c->now[0] - 1u;
			c->sums++;
		}
	}
	h->passed = h->npending;
	h->passed_s = now_s;
	hour_row(h, h->watched_s, true);
	h->watched_s = 0;
	hour_row(h, now_s, false);
}

const char *history_alert(struct history *h)
{
	int error = atomic_load(&h->error);

	if (!atomic_load(&h->ready))
		return NULL;
	if (error)
		array_printf(h->alert, "%s can't be written: %s", h->path, strerror(error));
	else if (h->full)
		array_printf(h->alert, "%s keeps %u ports, and there are more", h->path,
			     HISTORY_PORTS);
	else
		array_printf(h->alert, "%s", h->why);
	return *h->alert ? h->alert : NULL;
}

/* ---- Reading --------------------------------------------------------------------------------- */

struct sums { /* of one row of the answer */
	double sum[2], most[2];
	unsigned count[2];
	uint64_t errors;
	char changes[200];
};

struct reading {
	int fd;				/* its own: a child has not that of the thread */
	uint32_t column[2];		/* the port's, its peer's */
	uint32_t since_s[2];		/* from when on they count */
	uint32_t step_s, begin_s, rows; /* of the answer */
	struct sums *sums;
};

static struct sums *sums_at(const struct reading *r, uint32_t time_s)
{
	uint32_t i = (time_s - r->begin_s) / r->step_s;

	return time_s >= r->begin_s && i < r->rows ? &r->sums[i] : NULL;
}

static void add_row(struct reading *r, uint32_t index, uint32_t time_s)
{
	struct sums *s = sums_at(r, time_s);
	uint8_t byte;

	for (unsigned way = 0; s && way < 2; way++) {
		if (r->column[way] == NONE ||
		    time_s < r->since_s[way] / HISTORY_STEP_S * HISTORY_STEP_S ||
		    !get(r->fd, &byte, 1,
			 HISTORY_DATA + (uint64_t)index * HISTORY_PORTS + r->column[way]) ||
		    !byte)
			continue;

		double percent = (byte - 1) * 100.0 / STEPS;

		s->sum[way] += percent;
		s->most[way] = fmax(s->most[way], percent);
		s->count[way]++;
	}
}

static void add_change(struct reading *r, const struct change *c)
{
	struct sums *s = sums_at(r, c->time_s);
	const char *before = s && *s->changes ? ", " : "";

	if (c->column != r->column[0])
		return;
	if (c->kind == CHANGE_PEER)
		r->since_s[1] = c->time_s;
	if (!s)
		return;
	if (c->kind < PERF_ERRORS) {
		s->errors += c->number;
		array_add(s->changes, "%s%s +%u", before, wire_perf_name(c->kind), c->number);
	} else if (c->kind == CHANGE_PACE) {
		array_add(s->changes, "%s%ux %s", before, c->number >> 8,
			  topo_speed_name(c->number & 0xff));
	} else if (c->kind == CHANGE_PEER) {
		array_add(s->changes, "%sanother peer", before);
	}
}

static void add_changes(struct reading *r, uint64_t end)
{
	struct change piece[256];
	uint64_t i = end > HISTORY_CHANGES ? end - HISTORY_CHANGES : 0, most;

	for (; i < end; i += most) {
		most = ARRAY_SIZE(piece) - i % ARRAY_SIZE(piece);
		most = most < end - i ? most : end - i;
		if (!get(r->fd, piece, most * sizeof(*piece),
			 CHANGES_AT + i % HISTORY_CHANGES * sizeof(*piece)))
			return;
		for (uint64_t n = 0; n < most; n++)
			add_change(r, &piece[n]);
	}
}

static json_t *percent_json(const struct sums *s, unsigned way, bool most)
{
	if (!s->count[way])
		return json_null();
	return json_real(most ? s->most[way] : s->sum[way] / s->count[way]);
}

json_t *history_rows(const struct history *h, guid_t node, uint8_t port, guid_t peer,
		     uint8_t peer_port, uint32_t step_s, uint32_t now_s)
{
	bool hour = step_s < HISTORY_STEP_S;
	uint32_t range = hour ? HISTORY_HOUR_S : HISTORY_WEEK_S;
	uint32_t first = hour ? WEEK_ROWS : 0, end = hour ? HISTORY_ROWS : WEEK_ROWS;
	struct row_head *heads = mem_array(heads, HISTORY_ROWS);
	struct reading r = { .fd = -1, .step_s = step_s, .rows = range / step_s + 1 };
	json_t *list = json_array();
	uint64_t changes = 0;

	r.begin_s = (now_s - range) / step_s * step_s;
	r.sums = mem_array(r.sums, r.rows);
	if (atomic_load(&h->ready))
		r.fd = open(h->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (r.fd >= 0 && get(r.fd, heads, HISTORY_ROWS * sizeof(*heads), ROWS_AT)) {
		r.column[0] = *place_of(h, node, port) - 1u; /* NONE: there is none */
		r.column[1] = *place_of(h, peer, peer_port) - 1u;
		for (unsigned way = 0; way < 2; way++)
			if (r.column[way] != NONE)
				r.since_s[way] = h->ports[r.column[way]].since_s;
		for (uint32_t i = 0; i < HISTORY_ROWS; i++) {
			if (heads[i].check != row_check(&heads[i], i))
				heads[i] = (struct row_head){ 0 };
			if (heads[i].changes > changes)
				changes = heads[i].changes;
		}
		if (r.column[0] != NONE)
			add_changes(&r, changes);
		for (uint32_t i = first; i < end && r.column[0] != NONE; i++)
			if (heads[i].time_s && heads[i].time_s <= now_s)
				add_row(&r, i, heads[i].time_s);
	}
	for (uint32_t i = 0; i < r.rows; i++) {
		const struct sums *s = &r.sums[i];
		char when[EVENT_TIME];
		time_t at = r.begin_s + i * step_s;
		struct tm utc;

		if (!s->count[0] && !s->count[1] && !*s->changes)
			continue;
		event_time(when, gmtime_r(&at, &utc), 0);
		json_array_append_new(
			list, json_pack("{ss so so so so sI ss}", "time", when, "sent_percent",
					percent_json(s, 0, false), "sent_most_percent",
					percent_json(s, 0, true), "received_percent",
					percent_json(s, 1, false), "received_most_percent",
					percent_json(s, 1, true), "errors", (json_int_t)s->errors,
					"changes", s->changes));
	}
	if (r.fd >= 0)
		close(r.fd);
	free(r.sums);
	free(heads);
	return list;
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct history *history_open(const char *folder, bool threaded)
{
	struct history *h = mem_new(h);

	h->path = mem_printf("%s/history", folder);
	h->bad = mem_printf("%s.bad", h->path);
	h->fd = -1;
	h->ports = mem_array(h->ports, HISTORY_PORTS);
	h->places = mem_array(h->places, PLACES);
	h->columns = mem_array(h->columns, HISTORY_PORTS);
	h->last = &h->todo;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->given, NULL);
	h->threaded = threaded;
	if (!threaded)
		is_ready(h);
	return h;
}

void history_close(struct history *h)
{
	if (!h)
		return;
	if (atomic_load(&h->ready) && h->bucket)
		bucket_end(h);
	pthread_mutex_lock(&h->lock);
	h->ends = true;
	pthread_cond_signal(&h->given);
	pthread_mutex_unlock(&h->lock);
	if (h->begun && h->threaded)
		pthread_join(h->thread, NULL);
	if (h->fd >= 0)
		close(h->fd);
	pthread_mutex_destroy(&h->lock);
	pthread_cond_destroy(&h->given);
	free(h->pending);
	free(h->ports);
	free(h->places);
	free(h->columns);
	free(h->path);
	free(h->bad);
	free(h);
}
