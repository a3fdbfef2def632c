/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state_journal: which records the journal has (journal.h), what becomes of those that an earlier
 * life left, and when a segment is not needed any more.
 *
 * What is replayed becomes records of its file, as if another manager had sent them: who reads the
 * file takes them behind it, and writes it anew. A segment is needed until the disk has every file
 * with all of its records that the segment holds. Records of a file that has no owner here, and
 * lines that this version does not know, move to the next segment: nobody here can write them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <unistd.h>
#include "fm/loop/child.h"
#include "fm/loop/log.h"
#include "fm/loop/loop.h"
#include "fm/state/journal.h"
#include "fm/state/state_file.h"
#include "fm/state/state_store_own.h"
#include "topology/base/mem.h"

/* ---- Lines ----------------------------------------------------------------------------------- */

#define SUM_SIZE 17 /* digits and a blank */

/* The word that ends at a blank, copied; what follows the blank, NULL = there is no such word. */
static const char *take_word(const char *from, const char *end, char *word, size_t size)
{
	const char *blank = memchr(from, ' ', end - from);
	size_t length = blank ? (blank - from) : 0;

	if (!length || length >= size || memchr(from, '\0', length))
		return NULL;
	memcpy(word, from, length);
	word[length] = '\0';
	return blank + 1;
}

/* Only the form that was written counts: no sign, no blank, no zero in front. */
static bool take_number(const char *text, int base, const char *form, uint64_t *value)
{
	char again[24];
	char *end;

	*value = strtoull(text, &end, base);
	array_printf(again, form, *value);
	return !*end && !strcmp(again, text);
}

static bool parse(const char *from, const char *end, struct journal_line *line)
{
	char sum[SUM_SIZE], seq[24];
	const char *body = take_word(from, end, sum, sizeof(sum)), *at;
	uint64_t wanted;

	if (!body || !take_number(sum, 16, "%016" PRIx64, &wanted) ||
	    wanted != state_sum(body, end - body))
		return false;
	at = take_word(body, end, seq, sizeof(seq));
	if (!at || !take_number(seq, 10, "%" PRIu64, &line->seq))
		return false;
	at = take_word(at, end, line->word, sizeof(line->word));
	at = at ? take_word(at, end, line->name, sizeof(line->name)) : NULL;
	line->text = at;
	line->length = at ? (end - at) : 0;
	return at;
}

enum journal_result journal_next(struct journal_reader *r, struct journal_line *line)
{
	const char *from, *end;

	r->at = r->next;
	if (r->at == r->length)
		return JOURNAL_END;
	from = r->bytes + r->at;
	end = memchr(from, '\n', r->length - r->at);
	if (!end)
		return JOURNAL_TORN;
	if (!parse(from, end, line))
		return JOURNAL_DAMAGED;
	r->next = end + 1 - r->bytes;
	return JOURNAL_LINE;
}

static bool is_word(const char *word, size_t size)
{
	return *word && strlen(word) < size && !strpbrk(word, " \n");
}

bool journal_put(struct records *to, const struct journal_line *line)
{
	char sum[SUM_SIZE + 1] = "                 ", front[128];
	size_t begin = to->length;

	if (!is_word(line->word, sizeof(line->word)) || !is_word(line->name, sizeof(line->name)) ||
	    (line->length && memchr(line->text, '\n', line->length)))
		return false;
	records_add(to, sum, SUM_SIZE);
	records_add(to, front,
		    array_printf(front, "%" PRIu64 " %s %s ", line->seq, line->word, line->name));
	records_add(to, line->text, line->length);
	array_printf(sum, "%016" PRIx64 " ",
		     state_sum(to->bytes + begin + SUM_SIZE, to->length - begin - SUM_SIZE));
	memcpy(to->bytes + begin, sum, SUM_SIZE);
	records_add(to, "\n", 1);
	return true;
}

/* ---- Disk ------------------------------------------------------------------------------------ */

/*
 * What a journal does that may wait for a disk, by a thread of its own, which begins with the first
 * order. With a simulated loop it is done by the caller.
 */

#define ORDERS 8

struct order {
	int fd;
	atomic_bool *under_way; /* NULL = fdatasync() */
};

struct disk {
	struct loop *loop;
	bool started;
	pthread_t thread;

	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t given; /* there is an order, or the end */
	struct order orders[ORDERS];
	unsigned count;
	bool ends;
};

/* A failed fdatasync() or ftruncate() is told by the whole files, which are on the same disk. */
static void carry_out(const struct order *order)
{
	if (!order->under_way) {
		(void)!fdatasync(order->fd);
		return;
	}
	(void)!ftruncate(order->fd, 0);
	atomic_store(order->under_way, false);
}

static void *disk_main(void *arg)
{
	struct disk *d = arg;

	pthread_mutex_lock(&d->lock);
	while (d->count || !d->ends) {
		struct order order = d->orders[0];

		if (!d->count) {
			pthread_cond_wait(&d->given, &d->lock);
			continue;
		}
		d->count--;
		memmove(d->orders, d->orders + 1, d->count * sizeof(order));
		pthread_mutex_unlock(&d->lock);
		carry_out(&order);
		pthread_mutex_lock(&d->lock);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

/*
 * fdatasync(), or ftruncate() to nothing where there is *under_way, which is true until it is done.
 * Both are borrowed until journal_free(); of a descriptor that has such an order already there is
 * no second one. Where there is no thread to be had its owner waits: late is better than never.
 */
static void disk_order(struct disk *d, int fd, atomic_bool *under_way)
{
	const struct order order = { fd, under_way };
	unsigned i = 0;

	if (!d->started && !loop_is_simulated(d->loop))
		d->started = !thread_start(&d->thread, disk_main, d);
	if (!d->started) {
		carry_out(&order);
		return;
	}
	pthread_mutex_lock(&d->lock);
	while (i < d->count && (d->orders[i].fd != fd || d->orders[i].under_way != under_way))
		i++;
	if (i == d->count && i < ORDERS)
		d->orders[d->count++] = order;
	pthread_cond_signal(&d->given);
	pthread_mutex_unlock(&d->lock);
}

/* ---- The journal ----------------------------------------------------------------------------- */

#define PIECE (64u << 10) /* bytes that gather in a turn at most */

struct segment {
	int fd;	      /* -1 = not open yet */
	size_t bytes; /* of it, with those that are gathered */
	bool begun;   /* it has its first line */
	bool dirty;   /* written since it was synchronized last */
	atomic_bool clearing;
};

struct journal {
	struct loop *loop;
	const char *folder;
	journal_wrote_fn *wrote;
	void *arg;
	struct disk disk;
	struct segment segments[JOURNAL_SEGMENTS];
	unsigned current;
	uint64_t seq; /* of the latest line */
	struct records gathered;
	unsigned at_once;	 /* lines that are still written at once in this turn */
	struct loop_timer *turn; /* armed: this turn has lines */
	struct loop_timer *again, *sync;
	bool failed, gap;
	int status;		 /* to be told.. */
	struct loop_timer *tell; /* ..soon, if it is armed */
};

const char *journal_name(unsigned segment)
{
	static const char *const names[JOURNAL_SEGMENTS] = { "journal-0", "journal-1" };

	return names[segment];
}

/* ---- Writing --------------------------------------------------------------------------------- */

static int open_segment(const struct journal *j, unsigned number)
{
	char *path = mem_printf("%s/%s", j->folder, journal_name(number));
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	int error = errno;

	free(path);
	errno = error;
	return fd;
}

/* 0 or -errno; what was written is not gathered any more. */
static int write_gathered(struct journal *j)
{
	struct segment *seg = &j->segments[j->current];

	if (seg->fd < 0)
		seg->fd = open_segment(j, j->current);
	if (seg->fd < 0)
		return -errno;
	while (j->gathered.length) {
		ssize_t done = write(seg->fd, j->gathered.bytes, j->gathered.length);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		records_drop(&j->gathered, done);
	}
	return 0;
}

/* Not from within journal_add(): who is told may add a line. */
static void tell(void *arg)
{
	struct journal *j = arg;

	j->wrote(j->arg, j->status);
}

static void tell_soon(struct journal *j, int status)
{
	j->status = status;
	loop_timer_set(j->tell, 0);
}

static void write_out(struct journal *j)
{
	int status = j->gathered.length ? write_gathered(j) : 0;
	bool had = j->failed;

	j->segments[j->current].dirty = true;
	if (!loop_timer_armed(j->sync))
		loop_timer_set(j->sync, JOURNAL_SYNC_US);
	if (status)
		loop_timer_set(j->again, JOURNAL_AGAIN_US);
	j->failed = status;
	if (status || had)
		tell_soon(j, status);
}

static void turn_over(void *arg)
{
	struct journal *j = arg;

	j->at_once = JOURNAL_AT_ONCE;
	if (j->gathered.length && !j->failed)
		write_out(j);
}

static void try_again(void *arg)
{
	struct journal *j = arg;

	if (!j->gap)
		write_out(j);
}

static void sync_due(void *arg)
{
	struct journal *j = arg;

	for (unsigned i = 0; i < JOURNAL_SEGMENTS; i++) {
		struct segment *seg = &j->segments[i];

		if (seg->dirty && seg->fd >= 0)
			disk_order(&j->disk, seg->fd, NULL);
		seg->dirty = false;
	}
}

static bool gather(struct journal *j, const char *word, const char *name, const char *text,
		   size_t length)
{
	struct segment *seg = &j->segments[j->current];
	struct journal_line line = { .seq = j->seq + 1, .text = text, .length = length };
	size_t had = j->gathered.length;

	if (strlen(word) >= sizeof(line.word) || strlen(name) >= sizeof(line.name))
		return false;
	strcpy(line.word, word);
	strcpy(line.name, name);
	if (!journal_put(&j->gathered, &line))
		return false;
	j->seq++;
	seg->bytes += j->gathered.length - had;
	return true;
}

/* The line's number; 0: it is not kept, for there is a gap or journal_put() refuses it. */
static uint64_t journal_add(struct journal *j, const char *word, const char *name, const char *text,
			    size_t length)
{
	struct segment *seg = &j->segments[j->current];

	if (!j->gap && (j->gathered.length > JOURNAL_GATHER || seg->bytes > JOURNAL_MOST)) {
		j->gap = true;
		tell_soon(j, j->failed ? j->status : -EFBIG);
	}
	if (j->gap)
		return 0;
	if (!seg->begun)
		seg->begun = gather(j, JOURNAL_BEGIN, JOURNAL_VERSION, "", 0);
	if (!gather(j, word, name, text, length))
		return 0;
	if (!loop_timer_armed(j->turn))
		loop_timer_set(j->turn, 0);
	if ((j->at_once || j->gathered.length > PIECE) && !j->failed) {
		j->at_once -= j->at_once != 0;
		write_out(j);
	}
	return j->seq;
}

/* ---- Segments -------------------------------------------------------------------------------- */

bool journal_is_written(const struct journal *j)
{
	return !j->gathered.length && !j->gap;
}

/*
 * The other segment is appended to from now on. False: it is not, for that one is not empty yet, or
 * lines wait to be written to this one.
 */
static bool journal_turn(struct journal *j)
{
	const struct segment *other = &j->segments[!j->current];

	if (other->bytes || atomic_load(&other->clearing) || (j->gathered.length && !j->gap))
		return false;
	j->current = !j->current;
	j->gathered.length = 0;
	if (j->gap)
		tell_soon(j, 0);
	j->gap = j->failed = false;
	return true;
}

/* Nothing in the segment that is not appended to is needed any more. */
static void journal_clear_other(struct journal *j)
{
	struct segment *other = &j->segments[!j->current];

	if (other->fd < 0)
		other->fd = open_segment(j, !j->current);
	if (other->fd < 0)
		return; /* as it is, it can't be written to either */
	other->bytes = 0;
	other->begun = other->dirty = false;
	atomic_store(&other->clearing, true);
	disk_order(&j->disk, other->fd, &other->clearing);
}

/* ---- An earlier life ------------------------------------------------------------------------- */

struct left { /* a segment of an earlier life */
	unsigned segment;
	uint64_t first; /* number of its first line */
	struct state_content content;
	struct journal_reader reader;
	bool readable;		  /* it has a first line.. */
	enum journal_result said; /* ..and ends like this */
	const char *why;	  /* what is wrong with it; NULL = nothing */
};

/*
 * A line of what an earlier life left, which is read twice from its beginning to its end; pass: 0
 * or 1. The line is valid until the function returns.
 */
static void take(struct state_store *s, unsigned pass, unsigned segment,
		 const struct journal_line *line);

/* Up to its end, or what can't be taken. */
static void read_lines(struct journal *j, struct left *left, unsigned pass, struct state_store *s)
{
	struct journal_line line;

	left->reader.next = 0;
	while (left->readable &&
	       (left->said = journal_next(&left->reader, &line)) == JOURNAL_LINE) {
		j->seq = line.seq > j->seq ? line.seq : j->seq;
		if (strcmp(line.word, JOURNAL_BEGIN))
			take(s, pass, left->segment, &line);
	}
	if (left->said == JOURNAL_DAMAGED) {
		left->why = left->why ? left->why : "not what was written (checksum)";
		left->reader.length = left->reader.at; /* in the next pass, too */
	}
}

static void put_aside(struct journal *j, const struct left *left, struct journal_found *found)
{
	char *path = mem_printf("%s/%s", j->folder, journal_name(left->segment)),
	     *aside = mem_printf("%s.bad", path);

	if (rename(path, aside)) {
		free(aside);
		aside = NULL;
	}
	free(path);
	if (found->damaged >= 0) {
		free(aside);
		return;
	}
	found->damaged = left->segment;
	found->kept = aside;
	array_printf(found->why, "offset %zu: %s", left->reader.at, left->why);
}

/* Behind the first that is damaged all is put aside; the last one goes on. */
static void conclude(struct journal *j, struct left left[], struct journal_found *found)
{
	for (unsigned i = 0; i < JOURNAL_SEGMENTS; i++) {
		const struct left *l = &left[i];
		struct segment *seg = &j->segments[l->segment];

		if (l->why || found->damaged >= 0) {
			if (l->content.bytes || l->why)
				put_aside(j, l, found);
			continue;
		}
		if (l->said == JOURNAL_TORN) { /* what was being written when it ended */
			char *path = mem_printf("%s/%s", j->folder, journal_name(l->segment));
			size_t at = l->reader.at;

			log_line(LOG_CORE, LOG_WARNING,
				 "%s: offset %zu: the last line has no end, %zu bytes are dropped",
				 path, at, l->reader.length - at);
			if (truncate(path, at))
				log_line(LOG_CORE, LOG_WARNING, "%s: %s", path, strerror(errno));
			free(path);
		}
		seg->bytes = l->reader.at;
		seg->begun = seg->bytes;
		if (seg->bytes)
			j->current = l->segment;
	}
	if (found->damaged >= 0)
		j->current = found->damaged;
}

/*
 * Goes first, once. A torn end is cut off and logged; behind a damaged line nothing is taken, and
 * that segment, which is put aside as NAME.bad, begins anew.
 */
static struct journal_found journal_replay(struct journal *j, struct state_store *s)
{
	struct left left[JOURNAL_SEGMENTS] = { 0 };
	struct journal_found found = { .damaged = -1 };

	for (unsigned i = 0; i < JOURNAL_SEGMENTS; i++) {
		struct left *l = &left[i];
		char *path = mem_printf("%s/%s", j->folder, journal_name(i));
		enum state_result said = state_file_load(path, journal_name(i), &l->content);
		struct journal_line line;

		free(path);
		l->segment = i;
		l->said = JOURNAL_END;
		if (said != STATE_OLD) {
			if (said != STATE_ABSENT)
				l->why = l->content.why ? l->content.why : "no journal";
			continue;
		}
		l->reader = (struct journal_reader){ l->content.bytes, l->content.length, 0, 0 };
		l->said = journal_next(&l->reader, &line);
		if (l->said == JOURNAL_DAMAGED)
			l->why = "not what was written (checksum)";
		if (l->said != JOURNAL_LINE)
			continue; /* it was just begun, or is damaged */
		l->first = line.seq;
		if (strcmp(line.word, JOURNAL_BEGIN) || strcmp(line.name, JOURNAL_VERSION))
			l->why = "not the beginning of a journal of this version";
		else
			l->readable = true;
	}
	if (left[0].first > left[1].first) {
		struct left first = left[1];

		left[1] = left[0];
		left[0] = first;
	}
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < JOURNAL_SEGMENTS; i++)
			if (!i || !left[0].why)
				read_lines(j, &left[i], pass, s);
	conclude(j, left, &found);
	for (unsigned i = 0; i < JOURNAL_SEGMENTS; i++)
		free(left[i].content.bytes);
	return found;
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* loop and folder are borrowed. Opens nothing. The caller's: journal_free(). Never NULL. */
static struct journal *journal_new(struct loop *loop, const char *folder, journal_wrote_fn *wrote,
				   void *arg)
{
	struct journal *j = mem_new(j);

	*j = (struct journal){ .loop = loop,
			       .folder = folder,
			       .wrote = wrote,
			       .arg = arg,
			       .at_once = JOURNAL_AT_ONCE };
	for (unsigned i = 0; i < JOURNAL_SEGMENTS; i++)
		j->segments[i].fd = -1;
	j->disk.loop = loop;
	pthread_mutex_init(&j->disk.lock, NULL);
	pthread_cond_init(&j->disk.given, NULL);
	j->turn = loop_timer_new(loop, turn_over, j);
	j->tell = loop_timer_new(loop, tell, j);
	j->again = loop_timer_new(loop, try_again, j);
	j->sync = loop_timer_new(loop, sync_due, j);
	return j;
}

void journal_free(struct journal *j)
{
	struct disk *d = &j->disk;

	if (!j)
		return;
	if (j->gathered.length && !j->gap)
		write_gathered(j);
	pthread_mutex_lock(&d->lock);
	d->ends = true; /* what was ordered is carried out */
	pthread_cond_signal(&d->given);
	pthread_mutex_unlock(&d->lock);
	if (d->started)
		pthread_join(d->thread, NULL);
	pthread_cond_destroy(&d->given);
	pthread_mutex_destroy(&d->lock);
	for (unsigned i = 0; i < JOURNAL_SEGMENTS; i++)
		if (j->segments[i].fd >= 0)
			close(j->segments[i].fd);
	loop_timer_free(j->turn);
	loop_timer_free(j->tell);
	loop_timer_free(j->again);
	loop_timer_free(j->sync);
	free(j->gathered.bytes);
	free(j);
}

/* ---- State journal --------------------------------------------------------------------------- */

#define UNKNOWN_MOST (1u << 20) /* bytes of lines that this version does not know */

/* ---- Segments that are not needed any more --------------------------------------------------- */

static bool is_needed(const struct state_store *s, unsigned segment)
{
	for (const struct kept *k = s->files; k; k = k->next)
		if (k->in_segment[segment] > k->saved)
			return true;
	return false;
}

static bool add(struct state_store *s, struct kept *k, const char *line, size_t length)
{
	uint64_t seq = journal_add(s->journal, JOURNAL_RECORD, k->file->name, line, length);

	if (!seq)
		return false;
	k->recorded = seq;
	k->in_segment[s->journal->current] = seq;
	return true;
}

/* All of its records, once more: what was there of them is not needed then. */
static void add_again(struct state_store *s, struct kept *k)
{
	const char *at = k->records.bytes, *end = at + k->records.length, *line;
	size_t length;

	while ((line = records_line(&at, end, &length)))
		add(s, k, line, length);
}

/* Of what the other segment has, what will not be saved here. */
static void move(struct state_store *s, unsigned from)
{
	for (struct kept *k = s->files; k; k = k->next)
		if (k->in_segment[from] > k->saved && !k->held && (!k->owner || !s->writable)) {
			add_again(s, k);
			if (!s->journal->gap && from != s->journal->current)
				k->in_segment[from] = 0;
		}
}

/* Each is `WORD NAME TEXT`, as take() has put it there; no NUL ends the last one. */
static void move_unknown(struct state_store *s)
{
	const char *at = s->unknown.bytes, *end = at ? at + s->unknown.length : at, *line;
	char word[16], name[JOURNAL_NAME_SIZE];
	size_t length;

	while ((line = records_line(&at, end, &length))) {
		const char *first = memchr(line, ' ', length);
		const char *second = memchr(first + 1, ' ', line + length - first - 1);

		array_printf(word, "%.*s", (int)(first - line), line);
		array_printf(name, "%.*s", (int)(second - first - 1), first + 1);
		journal_add(s->journal, word, name, second + 1, line + length - second - 1);
	}
}

static void review(struct state_store *s)
{
	struct journal *j = s->journal;
	unsigned current = j->current;
	size_t size = j->segments[current].bytes;
	bool gap = j->gap;

	if (j->segments[!current].bytes && !is_needed(s, !current))
		journal_clear_other(j);
	/* What is left where nothing waits to be saved is not worth another segment. */
	if (!gap && size <= JOURNAL_LARGE && (!size || is_needed(s, current) || s->unknown.length))
		return;
	if (!journal_turn(j))
		return;
	for (struct kept *k = gap ? s->files : NULL; k; k = k->next)
		if (k->records.length) /* what it did not take behind the gap */
			add_again(s, k);
	move(s, current);
	move_unknown(s);
	if (!is_needed(s, current))
		journal_clear_other(j);
}

/* ---- What is written ------------------------------------------------------------------------- */

bool state_journal_record(struct state_store *s, struct kept *k, const char *line, size_t length)
{
	bool taken = add(s, k, line, length);

	if (s->journal->segments[s->journal->current].bytes > JOURNAL_LARGE)
		review(s);
	return taken || !s->journal->gap;
}

/* Records that the disk has are not to come back on top of a file that is newer than they are. */
void state_journal_saved(struct state_store *s, struct kept *k)
{
	char seq[24];
	int length;

	review(s);
	if (!k->in_segment[0] && !k->in_segment[1])
		return;
	for (unsigned i = 0; i < JOURNAL_SEGMENTS; i++)
		if (!s->journal->segments[i].bytes)
			k->in_segment[i] = 0;
	if (!k->in_segment[0] && !k->in_segment[1])
		return;
	length = array_printf(seq, "%" PRIu64, k->saved);
	journal_add(s->journal, JOURNAL_SAVED, k->file->name, seq, length);
}

static void wrote(void *arg, int status)
{
	struct state_store *s = arg;

	state_alerts_wrote(s, "journal", status);
}

/* ---- What an earlier life left --------------------------------------------------------------- */

/* First what was saved, then what was not. */
static void take(struct state_store *s, unsigned pass, unsigned segment,
		 const struct journal_line *line)
{
	bool saved = !strcmp(line->word, JOURNAL_SAVED);
	struct kept *k;

	if (!pass && saved) {
		uint64_t seq = strtoull(line->text, NULL, 10); /* a line feed ends it */

		k = state_store_named(s, line->name);
		k->saved = seq > k->saved ? seq : k->saved;
	} else if (pass && !strcmp(line->word, JOURNAL_RECORD)) {
		k = state_store_named(s, line->name);
		if (line->seq <= k->saved)
			return;
		records_add(&k->records, line->text, line->length);
		records_add(&k->records, "\n", 1);
		k->recorded = k->in_segment[segment] = line->seq;
	} else if (pass && !saved && s->unknown.length + line->length <= UNKNOWN_MOST) {
		records_add(&s->unknown, line->word, strlen(line->word));
		records_add(&s->unknown, " ", 1);
		records_add(&s->unknown, line->name, strlen(line->name));
		records_add(&s->unknown, " ", 1);
		records_add(&s->unknown, line->text, line->length);
		records_add(&s->unknown, "\n", 1);
	}
}

void state_journal_open(struct state_store *s)
{
	struct journal_found found;
	size_t records = 0;

	s->journal = journal_new(s->loop, s->folder, wrote, s);
	found = journal_replay(s->journal, s);
	for (const struct kept *k = s->files; k; k = k->next)
		for (size_t i = 0; i < k->records.length; i++)
			records += k->records.bytes[i] == '\n';
	if (records)
		log_line(LOG_CORE, LOG_NOTICE,
			 "state_dir: %zu changes that no file has yet are taken from the journal",
			 records);
	if (found.damaged >= 0) { /* it begins anew, with what was read of it */
		state_alerts_lost(s, journal_name(found.damaged), found.why, found.kept, "");
		move(s, found.damaged);
		move_unknown(s);
	}
	free(found.kept);
}
