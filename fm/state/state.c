/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/state/state.h"
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>
#include "fm/loop/log.h"
#include "fm/state/state_own.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define KINDS	     "kinds"	/* a row for each kind that was ever kept: its summary */
#define MADE	     "manifest" /* this file says that there was a state.db */
#define SLOW_US	     5000000	/* a disk that has not answered for so long is an alert */
#define CHECK_US     10000000
#define PENDING_MOST (128u << 20) /* bytes; of more, all rows are the shorter message */
#define LINES_A_CALL STATE_LINES
#define LOST	     "state-lost"
#define TAKEN_US     20000 /* that a master's rows gather at its standby */
#define FEW_BYTES    1024  /* what one request changes: written sooner than the loop is woken */
#define AT_ONCE_US   200   /* that such a write is waited for, at most */

struct kept { /* by the index of its kind in rows */
	const struct state_kind *kind;
	void *owner;		  /* NULL = it has ended */
	bool due;		  /* the owner is to be asked */
	uint64_t since_us, at_us; /* its first change, and when to ask */
	bool lost;		  /* rows of it may be missing */
	uint32_t pass; /* of its latest lines: even; rows put since it began have one more */
};

struct waiter {
	struct waiter *next;
	state_fn *fn;
	void *arg;
	uint64_t due;	 /* a bit for each kind whose owner is to be asked first */
	uint64_t number; /* of the change that is to be on disk, once none is due */
};

struct state {
	struct loop *loop;
	char *folder;
	struct alerts *alerts;
	struct event_log *events;
	struct rowset rows;
	struct kept kept[ROWS_KINDS];
	bool reading, writable;
	bool full; /* what was answered survives a power cut */
	bool marks[STATE_MARKS];
	uint64_t number;	 /* of the latest change */
	uint64_t given, on_disk; /* of those that the disk was given, and has */

	struct disk *disk;
	struct disk_batch pending;
	bool failing;
	uint64_t retry_us, began_us;
	struct loop_timer *ask, *write, *look;
	struct {			/* the owner who is asked, some lines at a time */
		struct rows_kind *kind; /* NULL = nobody is */
		uint64_t place;		/* where it goes on */
		char *text, *rest;	/* its latest lines, and those that are not taken yet */
	} asked;
	char *aside; /* a database that was damaged; NULL = none */

	struct waiter *waiters;
	state_change_fn *follower;
	void *follower_arg;
};

/* ---- Writing --------------------------------------------------------------------------------- */

static bool is_pending(const struct state *s)
{
	return s->pending.rows.end || s->pending.anew;
}

static void write_due(void *arg)
{
	struct state *s = arg;
	struct rows_cursor at = { 0 };
	const struct row *row;
	const char *kind;

	if (disk_is_busy(s->disk) || !is_pending(s))
		return;
	while (s->pending.anew && (row = rows_step(&s->rows, &at, &kind)))
		for (; row; row = row->next)
			if (row->value)
				row_bytes_add(&s->pending.rows,
					      &(struct row_change){ kind, row->key, row->value,
								    row->number });
	s->given = s->number;
	s->began_us = loop_now_us(s->loop);
	if (!loop_timer_armed(s->look)) /* it comes while one write follows the other, too */
		loop_timer_set(s->look, SLOW_US);
	s->pending.full = s->full;

	bool few = s->pending.rows.end <= FEW_BYTES && !s->full;

	disk_write(s->disk, &s->pending);
	if (few)
		disk_wait(s->disk, AT_ONCE_US);
}

/* All rows are to be written. */
static void pend_all(struct state *s)
{
	s->pending.rows.end = 0;
	s->pending.anew = true;
}

static void pending_add(struct state *s, const struct row_change *change)
{
	if (s->pending.rows.end >= PENDING_MOST)
		pend_all(s);
	if (!s->pending.anew)
		row_bytes_add(&s->pending.rows, change);
	if (!s->failing && (s->writable || !loop_timer_armed(s->write)))
		loop_timer_set(s->write, s->writable ? 0 : TAKEN_US);
}

/* They are off the list before the first is called. */
static void call_waiters(struct state *s)
{
	struct waiter *due = NULL, **link = &s->waiters;

	for (struct waiter *it; (it = *link);) {
		if (it->due || (!s->failing && it->number > s->on_disk)) {
			link = &it->next;
			continue;
		}
		*link = it->next;
		it->next = due;
		due = it;
	}
	for (struct waiter *it; (it = due); free(it)) {
		due = it->next;
		it->fn(it->arg);
	}
}

static void written(void *arg, int status, const char *why)
{
	struct state *s = arg;
	char error[160];

	array_printf(error, "not saved: %s", why);
	s->failing = status;
	if (status == -ESTALE || (status && s->pending.anew))
		s->pending.anew = true;
	else if (status)
		disk_take_back(s->disk, &s->pending);
	else
		s->on_disk = s->given;
	if (s->pending.anew) {
		pend_all(s);
		rows_clear(rows_kind(&s->rows, "tables", true));
	}
	trouble_set(s->alerts, "state_dir/" DISK_NAME, status ? error : NULL);
	if (is_pending(s))
		loop_timer_set(s->write, status && status != -ESTALE ? s->retry_us : 0);
	call_waiters(s);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static struct kept *kept_of(struct state *s, const struct rows_kind *kind)
{
	return &s->kept[kind - s->rows.kinds];
}

/* value NULL: it goes. */
static void set(struct state *s, struct rows_kind *kind, const char *key, const char *value,
		bool passed)
{
	const struct state_rule *rule = state_rule(kind->name);
	struct row_change change = { kind->name, key, value, s->number + 1 };
	struct row *row = NULL;

	if (value)
		row = rows_set(kind, key, value, rule && rule->cold);
	if (value ? !row : !rows_find(kind, key))
		return;
	s->number++;
	if (row)
		row->number = s->number;
	pending_add(s, &change);
	if (passed && s->follower)
		s->follower(s->follower_arg, &change);
	if (!value) /* the key may be the row's */
		rows_drop(kind, key);
}

/* A kind that is empty is another thing than one that was never kept. */
static void know(struct state *s, const struct rows_kind *kind, const struct kept *k, bool passed)
{
	struct rows_kind *kinds = rows_kind(&s->rows, KINDS, true);
	const struct row *row = rows_find(kinds, kind->name);
	char *text = NULL;
	size_t length;

	if (!strcmp(kind->name, KINDS) || (row && (!k || !k->owner || !k->kind->summary)))
		return;
	if (k && k->owner && k->kind->summary) {
		FILE *out = open_memstream(&text, &length);

		k->kind->summary(k->owner, out);
		fclose(out);
	}
	set(s, kinds, kind->name, text ? text : "", passed);
	free(text);
}

/* The key of a line, the caller's; *value: the rest of it. */
static char *key_of(const struct state_rule *rule, const char *line, const char **value)
{
	size_t length = state_key_length(rule, line);

	if (rule->words == KIND_TEXT) {
		*value = line;
		return mem_strdup("text");
	}
	*value = line + length + (line[length] == ' ');
	return mem_printf("%.*s", (int)length, line);
}

/* Rows of one key, as NVLink memories have them, are numbered from the second on. */
static void take_line(struct state *s, struct rows_kind *kind, const struct state_rule *rule,
		      const char *line, uint32_t pass, bool passed)
{
	const char *value;
	char *key = key_of(rule, line, &value), *own = NULL;
	struct row *row = rows_find(kind, key);

	for (unsigned n = 1; row && row->pass == pass && rule->words != KIND_LINE; n++) {
		free(own);
		own = mem_printf("%s %u", key, n);
		row = rows_find(kind, own);
	}
	set(s, kind, own ? own : key, value, passed);
	rows_find(kind, own ? own : key)->pass = pass;
	free(own);
	free(key);
}

/* So many lines of the text at most; *text moves behind them. False: that was all. */
static bool take_lines(struct state *s, struct rows_kind *kind, char **text, size_t most,
		       bool passed)
{
	const struct state_rule *rule = state_rule(kind->name);

	if (rule->words == KIND_TEXT) {
		set(s, kind, "text", *text, passed);
		return false;
	}
	for (; most && **text; most--) {
		char *line = *text;

		*text += strcspn(line, "\n");
		if (**text)
			*(*text)++ = '\0';
		take_line(s, kind, rule, line, kept_of(s, kind)->pass, passed);
	}
	return **text;
}

/* Of all lines that there are none is a row's that is older. */
static void drop_others(struct state *s, struct rows_kind *kind, bool passed)
{
	const uint32_t pass = kept_of(s, kind)->pass;
	struct row **list = rows_list(kind, false);

	for (size_t i = 0, count = kind->count; i < count; i++)
		if (list[i]->pass < pass)
			set(s, kind, list[i]->key, NULL, passed);
	free(list);
}

/*
 * The next lines of the owner who is asked become rows. What it puts meanwhile is newer, and where
 * it says that its kind has changed places may be others: no row goes then, until it is asked
 * again. False: that was all, or nobody is asked.
 */
static bool take_asked(struct state *s)
{
	struct rows_kind *kind = s->asked.kind;
	struct kept *k = kind ? kept_of(s, kind) : NULL;
	size_t length;

	if (!kind)
		return false;
	if (!s->asked.text && k->kind->write) {
		FILE *out = open_memstream(&s->asked.text, &length);

		s->asked.place = k->kind->write(k->owner, s->asked.place, out);
		fclose(out);
		s->asked.rest = s->asked.text;
	}
	if (s->asked.text && take_lines(s, kind, &s->asked.rest, LINES_A_CALL, true))
		return true;
	free(s->asked.text);
	s->asked.text = NULL;
	if (s->asked.place)
		return true;
	s->asked.kind = NULL;
	if (k->kind->write && state_rule(kind->name)->words != KIND_TEXT && !k->due)
		drop_others(s, kind, true);
	know(s, kind, k, true);
	for (struct waiter *it = s->waiters; it && !k->due; it = it->next) {
		if (it->due == 1ull << (k - s->kept))
			it->number = s->number;
		it->due &= ~(1ull << (k - s->kept));
	}
	return false;
}

/* ---- What owners say ------------------------------------------------------------------------- */

static struct rows_kind *kind_of(struct state *s, const struct state_kind *kind, void *owner)
{
	struct rows_kind *rows = rows_kind(&s->rows, kind->name, true);
	struct kept *k = kept_of(s, rows);

	k->kind = kind;
	k->owner = owner;
	return rows;
}

static void schedule(struct state *s)
{
	uint64_t now = loop_now_us(s->loop), next = UINT64_MAX;

	ARRAY_EACH (k, s->kept, s->rows.nkinds)
		if (k->due && s->writable && k->at_us < next)
			next = k->at_us;
	if (s->asked.kind)
		next = now;
	if (next == UINT64_MAX)
		loop_timer_stop(s->ask);
	else
		loop_timer_set(s->ask, next > now ? next - now : 0);
}

/* The first whose time has come. False: there is none. */
static bool ask_next(struct state *s, uint64_t now)
{
	struct kept *k = s->kept, *end = k + s->rows.nkinds;

	while (k < end && !(k->due && s->writable && k->at_us <= now))
		k++;
	if (k == end)
		return false;
	k->due = false;
	k->pass += 2;
	s->asked.kind = &s->rows.kinds[k - s->kept];
	s->asked.place = 0;
	return true;
}

/* Some have tens of thousands of rows: some lines a turn of the loop. */
static void ask_due(void *arg)
{
	struct state *s = arg;

	if (s->asked.kind || ask_next(s, loop_now_us(s->loop)))
		take_asked(s);
	schedule(s);
	call_waiters(s);
}

void state_changed(struct state *s, const struct state_kind *kind, void *owner)
{
	struct kept *k = kept_of(s, kind_of(s, kind, owner));
	uint64_t now = loop_now_us(s->loop), soon = now + kind->gather_us;
	uint64_t most = kind->gather_max_us ? kind->gather_max_us : kind->gather_us;

	if (!k->due)
		k->since_us = now;
	k->due = true;
	k->at_us = soon < k->since_us + most ? soon : k->since_us + most;
	schedule(s);
}

static void one_row(struct state *s, const struct state_kind *kind, void *owner, const char *line,
		    bool gone)
{
	struct rows_kind *rows = kind_of(s, kind, owner);
	struct kept *k = kept_of(s, rows);
	const char *value;

	if (s->reading) {
		state_changed(s, kind, owner);
		return;
	}
	if (!s->writable && !kind->always)
		return;
	while (s->asked.kind == rows && s->asked.text) /* these lines are older */
		take_asked(s);

	char *key = key_of(state_rule(kind->name), line, &value);

	set(s, rows, key, gone ? NULL : value, true);

	struct row *row = gone ? NULL : rows_find(rows, key);

	if (row)
		row->pass = k->pass + 1;
	know(s, rows, k, true);
	free(key);
}

void state_put(struct state *s, const struct state_kind *kind, void *owner, const char *line)
{
	one_row(s, kind, owner, line, false);
}

void state_remove(struct state *s, const struct state_kind *kind, void *owner, const char *line)
{
	one_row(s, kind, owner, line, true);
}

/* What is due until then becomes rows now. */
static void settle(struct state *s, uint64_t until)
{
	do
		while (take_asked(s))
			;
	while (ask_next(s, until));
	schedule(s);
	if (s->waiters) /* for one of these kinds, which may be as the disk has it */
		loop_timer_set(s->ask, 0);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool read_row(const struct state_rule *rule, const struct state_kind *kind, void *owner,
		     const char *key, const char *value)
{
	int length = state_key_length(rule, key);
	char *line = rule->words == KIND_TEXT
			     ? mem_strdup(value)
			     : mem_printf("%.*s%s%s", length, key, *value ? " " : "", value);
	bool taken = kind->line(owner, line);

	free(line);
	return taken;
}

struct cold_reader {
	struct rows_kind *rows;
	const struct state_kind *kind;
	void *owner;
};

static void read_cold(void *arg, const struct row_change *row, enum disk_sum sum)
{
	const struct cold_reader *r = arg;

	if (sum == DISK_FINE &&
	    read_row(state_rule(row->kind), r->kind, r->owner, row->key, row->value))
		rows_set(r->rows, row->key, row->value, true);
}

int state_read(struct state *s, const struct state_kind *kind, void *owner)
{
	const struct state_rule *rule = state_rule(kind->name);
	struct rows_kind *rows = kind_of(s, kind, owner);
	struct kept *k = kept_of(s, rows);
	struct row **list = rows_list(rows, true);
	bool reading = s->reading, lost = k->lost;
	size_t count = rows->count;

	s->reading = true;
	if (rule->cold)
		disk_read(s->disk, kind->name, read_cold,
			  &(struct cold_reader){ rows, kind, owner });
	for (size_t i = 0; i < count && !rule->cold; i++) {
		if (read_row(rule, kind, owner, list[i]->key, list[i]->value))
			continue;
		alert_raise(s->alerts, LOST, &(struct event_subject){ .name = kind->name },
			    "%s: `%s %s` is not %s, and is not used", kind->name, list[i]->key,
			    list[i]->value, kind->form);
		set(s, rows, list[i]->key, NULL, true);
		lost = true;
	}
	s->reading = reading;
	free(list);
	k->lost = false;
	if (lost)
		return -EINVAL;
	return rows->count || rows_find(rows_kind(&s->rows, KINDS, true), kind->name) ? 0 : -ENOENT;
}

const char *state_value(const struct state *s, const char *name, const char *key)
{
	const struct rows_kind *kind = rows_kind((struct rowset *)&s->rows, name, false);
	const struct row *row = kind ? rows_find(kind, key) : NULL;

	return row ? row->value : NULL;
}

char *state_text(const struct state *s, const char *name)
{
	const char *text = state_value(s, name, "text");

	return text ? mem_strdup(text) : NULL;
}

/* ---- Waiting --------------------------------------------------------------------------------- */

bool state_is_kept(const struct state *s)
{
	return s->on_disk == s->number || s->failing;
}

void state_sync(struct state *s, const struct state_kind *kind, uint64_t us)
{
	struct kept *k = kept_of(s, rows_kind(&s->rows, kind->name, true)), *other;

	if (s->asked.kind && (other = kept_of(s, s->asked.kind)) != k) { /* from the begin, later */
		other->due = true;
		s->asked.kind = NULL;
		free(s->asked.text);
		s->asked.text = NULL;
	}
	k->at_us = 0;
	settle(s, 0);
	disk_wait(s->disk, us / 2);
	write_due(s);
	disk_wait(s->disk, us / 2);
}

static bool wait_for(struct state *s, uint64_t due, state_fn *fn, void *arg)
{
	if (!due && state_is_kept(s))
		return false;

	struct waiter *w = mem_new(w);

	*w = (struct waiter){
		.next = s->waiters, .fn = fn, .arg = arg, .due = due, .number = s->number
	};
	s->waiters = w;
	return true;
}

bool state_when_kept(struct state *s, state_fn *fn, void *arg)
{
	return wait_for(s, 0, fn, arg);
}

/* Its owner has rows that are to be put. */
static uint64_t hasten(struct state *s)
{
	uint64_t due = 0;

	for (unsigned i = 0; i < s->rows.nkinds && s->writable; i++)
		if (s->kept[i].due || s->asked.kind == &s->rows.kinds[i]) {
			s->kept[i].at_us = 0;
			due |= 1ull << i;
		}
	schedule(s);
	return due;
}

bool state_when_settled(struct state *s, state_fn *fn, void *arg)
{
	return wait_for(s, hasten(s), fn, arg);
}

void state_forget(struct state *s, const void *arg)
{
	for (struct waiter **link = &s->waiters, *it; (it = *link);) {
		if (it->arg != arg) {
			link = &it->next;
			continue;
		}
		*link = it->next;
		free(it);
	}
}

void state_report(const struct state *s, json_t *result)
{
	const char *error = trouble_error(s->alerts, "state_dir/" DISK_NAME);

	if (error)
		json_object_set_new(result, "not_saved", json_string(error));
}

/* Who has taken away what was damaged has seen it; and a disk that does not answer is an alert. */
static void look(void *arg)
{
	struct state *s = arg;
	char text[96];

	if (s->aside && access(s->aside, F_OK)) {
		alert_end(s->alerts, LOST, &(struct event_subject){ .name = DISK_NAME });
		free(s->aside);
		s->aside = NULL;
	}
	if (disk_is_busy(s->disk)) {
		array_printf(text, "not saved: the disk has not answered for %" PRIu64 " s",
			     (loop_now_us(s->loop) - s->began_us) / 1000000);
		if (loop_now_us(s->loop) - s->began_us >= SLOW_US)
			trouble_set(s->alerts, "state_dir/" DISK_NAME, text);
	}
	if (s->aside || disk_is_busy(s->disk))
		loop_timer_set(s->look, disk_is_busy(s->disk) ? SLOW_US : CHECK_US);
}

/* ---- Other managers -------------------------------------------------------------------------- */

const struct rowset *state_rows(const struct state *s)
{
	return &s->rows;
}

uint64_t state_number(const struct state *s)
{
	return s->number;
}

void state_follow(struct state *s, state_change_fn *fn, void *arg)
{
	s->follower = fn;
	s->follower_arg = arg;
}

bool state_take(struct state *s, const char *name, const char *key, const char *value)
{
	struct rows_kind *kind = rows_kind(&s->rows, name, true);

	if (kind)
		set(s, kind, key, value, false);
	return kind;
}

void state_take_begin(struct state *s, const char *name)
{
	struct rows_kind *kind = rows_kind(&s->rows, name, true);

	kept_of(s, kind)->pass += 2;
	know(s, kind, NULL, false);
}

bool state_take_lines(struct state *s, const char *name, char **text)
{
	struct rows_kind *kind = rows_kind(&s->rows, name, true);

	if (take_lines(s, kind, text, LINES_A_CALL, false))
		return true;
	drop_others(s, kind, false);
	return false;
}

void state_drop_kind(struct state *s, const char *name)
{
	struct rows_kind *kind = rows_kind(&s->rows, name, false);
	struct row **list = kind ? rows_list(kind, false) : NULL;

	for (size_t i = 0, count = kind ? kind->count : 0; i < count; i++)
		set(s, kind, list[i]->key, NULL, false);
	free(list);
}

void state_mark(struct state *s, enum state_mark mark, bool on)
{
	s->marks[mark] = on;
}

bool state_is(const struct state *s, enum state_mark mark)
{
	return s->marks[mark];
}

bool state_passed_on(struct state *s)
{
	return !hasten(s) && state_is_kept(s) &&
	       (s->marks[STATE_COPIED] || !s->marks[STATE_EXPECTED]);
}

/* ---- The end, and a change of role ----------------------------------------------------------- */

void state_set_writable(struct state *s, bool writable)
{
	s->writable = writable;
	schedule(s);
}

void state_detach(struct state *s)
{
	settle(s, UINT64_MAX);
	ARRAY_EACH (k, s->kept, s->rows.nkinds) {
		k->due = false;
		k->owner = NULL;
	}
	schedule(s);
}

void state_flush(struct state *s)
{
	settle(s, UINT64_MAX);
	do {
		disk_wait(s->disk, 10 * SLOW_US);
		write_due(s);
	} while (disk_is_busy(s->disk) && disk_wait(s->disk, 10 * SLOW_US) && !s->failing &&
		 is_pending(s));
}

/* ---- The beginning --------------------------------------------------------------------------- */

static void lose(struct state *s, const char *name, const char *why)
{
	alert_raise(s->alerts, LOST, &(struct event_subject){ .name = name }, "%s: %s", name, why);
}

static void take_row(void *arg, const struct row_change *row, enum disk_sum sum)
{
	struct state *s = arg;
	struct rows_kind *kind = rows_kind(&s->rows, row->kind, true);
	const struct state_rule *rule = state_rule(row->kind);

	if (!kind)
		return;
	if (sum == DISK_EDITED && rule && rule->sealed)
		sum = DISK_DAMAGED;
	if (row->number > s->number)
		s->number = row->number;
	if (sum == DISK_EDITED) {
		event_log_add(s->events, LOG_NOTICE, "state-edited", NULL,
			      json_pack("{ss ss}", "kept", row->kind, "key", row->key),
			      "state_dir/" DISK_NAME ": %s %s has no checksum (edited by hand); "
			      "read anyway",
			      row->kind, row->key);
	} else if (sum == DISK_DAMAGED) {
		char *why = mem_printf("`%s %s` is not what was written, and is not used", row->key,
				       row->value);

		lose(s, row->kind, why);
		free(why);
		kept_of(s, kind)->lost = true;
		pending_add(s, &(struct row_change){ row->kind, row->key, NULL, 0 });
		return;
	}
	rows_set(kind, row->key, row->value, false);
	if (sum == DISK_EDITED)
		pending_add(s, row);
}

/* All kinds: which rows are missing nobody knows. What people would have to know is logged. */
static void lose_all(struct state *s, const char *why)
{
	struct rows_kind *kinds = rows_kind(&s->rows, KINDS, true);
	struct row **list = rows_list(kinds, true);
	char *text = mem_printf("%s%s%s", why, s->aside ? "; it was saved as " : "",
				s->aside ? s->aside : "");

	for (const struct state_rule *rule = state_rules; rule->name; rule++)
		kept_of(s, rows_kind(&s->rows, rule->name, true))->lost = true;
	for (size_t i = 0; i < kinds->count; i++)
		if (*list[i]->value) {
			char *more =
				mem_printf("%s; %s had: %s", text, list[i]->key, list[i]->value);

			free(text);
			text = more;
		}
	lose(s, DISK_NAME, text);
	free(list);
	free(text);
	if (s->aside)
		loop_timer_set(s->look, CHECK_US);
}

/* That there is a database is noted beside it: one that is missing was lost. */
static void note_made(struct state *s, bool made)
{
	char *path = mem_printf("%s/" MADE, s->folder);
	bool was = access(path, F_OK) == 0;

	if (made && was && !s->number)
		lose_all(s, "the file is missing or empty");

	FILE *out = was ? NULL : fopen(path, "we");

	if (out) {
		fputs("What fmd keeps is in " DISK_NAME ".\n", out);
		fclose(out);
	}
	free(path);
}

struct state *state_open(struct loop *loop, const char *folder, struct alerts *alerts,
			 struct event_log *events)
{
	const char *old = NULL;
	int taken = old_files_take(folder, &old); /* ahead of what makes a database */
	struct state *s = mem_new(s);
	struct disk_found found;

	*s = (struct state){ .loop = loop,
			     .folder = mem_strdup(folder),
			     .alerts = alerts,
			     .events = events,
			     .writable = true,
			     .retry_us = SLOW_US };
	s->ask = loop_timer_new(loop, ask_due, s);
	s->write = loop_timer_new(loop, write_due, s);
	s->look = loop_timer_new(loop, look, s);
	for (const struct state_rule *rule = state_rules; rule->name; rule++)
		rows_kind(&s->rows, rule->name, true); /* whatever else there is */
	s->disk = disk_open(loop, folder, take_row, &found, written, s);
	s->on_disk = s->number;
	s->aside = found.kept;
	if (*found.why) {
		pend_all(s);
		loop_timer_set(s->write, 0);
		lose_all(s, found.why);
	}
	if (taken)
		event_log_add(events, LOG_NOTICE, "state-taken-over", NULL,
			      json_pack("{si}", "files", taken),
			      "state_dir: %d files of an earlier version are in " DISK_NAME
			      " now, and were moved to before-" DISK_NAME,
			      taken);
	else if (old)
		lose(s, old,
		     "this file of an earlier version was not read, for the rows of " DISK_NAME
		     " are newer; to use it, stop fmd and move " DISK_NAME "* away");
	note_made(s, found.made);
	return s;
}

void state_configure(struct state *s, uint64_t retry_us, bool full)
{
	s->retry_us = retry_us;
	s->full = full;
}

void state_close(struct state *s)
{
	if (!s)
		return;
	disk_close(s->disk);
	loop_timer_free(s->ask);
	loop_timer_free(s->write);
	loop_timer_free(s->look);
	free(s->pending.rows.data);
	free(s->asked.text);
	for (struct waiter *it; (it = s->waiters); free(it))
		s->waiters = it->next;
	rows_fini(&s->rows);
	free(s->aside);
	free(s->folder);
	free(s);
}
