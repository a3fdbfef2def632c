/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/state/disk.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "fm/loop/child.h"
#include "fm/loop/log.h"
#include "fm/state/disk_log.h"
#include "topology/base/mem.h"

#define SECOND_US 1000000
#define LOG_PAGES 16384 /* 64 MiB: the log is written to the database while others wait, too */

struct disk {
	struct loop *loop;
	char *path;
	disk_done_fn *done;
	void *arg;
	struct loop_fd *watch;
	int done_fd; /* to the loop: the batch has ended */
	bool started, busy;
	pthread_t thread;

	pthread_mutex_t lock; /* of all members from here on */
	pthread_cond_t given, ended;
	sqlite3 *db; /* NULL = it can't be opened */
	sqlite3_stmt *put, *drop;
	int pages; /* of its log */
	struct disk_batch batch;
	bool todo, ends;
	bool syncs;	  /* without the lock */
	unsigned fresh;	  /* batches that are to reach the disk itself */
	uint64_t sync_us; /* when they do, however much is written meanwhile */
	bool unread;	  /* there is a database that can't be opened, and was not read */
	int status;
	char why[120];
};

/* ---- SQLite ---------------------------------------------------------------------------------- */

/* -errno, with the reason. */
static int failure(sqlite3 *db, char why[120])
{
	int code = db ? sqlite3_errcode(db) & 0xff : SQLITE_CANTOPEN, system = errno;
	int error = db ? sqlite3_system_errno(db) : system;

	snprintf(why, 120, "%s", db ? sqlite3_errmsg(db) : strerror(errno));
	if (code == SQLITE_IOERR && system)
		error = system; /* SQLite keeps none of a COMMIT */
	if (code == SQLITE_FULL)
		error = ENOSPC;
	else if (code == SQLITE_READONLY)
		error = EROFS;
	if (code == SQLITE_FULL || code == SQLITE_READONLY ||
	    ((code == SQLITE_IOERR || code == SQLITE_CANTOPEN) && error))
		snprintf(why, 120, "%s", strerror(error));
	return error > 0 ? -error : -EIO;
}

static bool run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st = NULL;

	return sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK ? st : NULL;
}

static bool step(sqlite3_stmt *st)
{
	int result = sqlite3_step(st);

	sqlite3_reset(st);
	return result == SQLITE_DONE;
}

static bool change(const struct disk *d, const struct row_change *it)
{
	sqlite3_stmt *st = it->value ? d->put : d->drop;

	sqlite3_bind_text(st, 1, it->kind, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 2, it->key, -1, SQLITE_STATIC);
	if (it->value) {
		sqlite3_bind_text(st, 3, it->value, -1, SQLITE_STATIC);
		sqlite3_bind_int64(st, 4, it->number);
		sqlite3_bind_int64(st, 5, rows_sum(it->kind, it->key, it->value));
	}
	return step(st);
}

static bool write_rows(struct disk *d, const struct disk_batch *b)
{
	struct row_change it;
	size_t at = 0;

	if (!d->put)
		d->put = prepare(d->db, "INSERT OR REPLACE INTO state VALUES(?,?,?,?,?)");
	if (!d->drop)
		d->drop = prepare(d->db, "DELETE FROM state WHERE kind=? AND key=?");

	bool fine = d->put && d->drop && run(d->db, "BEGIN IMMEDIATE") &&
		    (!b->anew || run(d->db, "DELETE FROM state"));

	while (fine && row_bytes_next(b->rows.data, b->rows.end, &at, &it))
		fine = change(d, &it);
	return fine && run(d->db, "COMMIT");
}

static void close_db(struct disk *d)
{
	sqlite3_finalize(d->put);
	sqlite3_finalize(d->drop);
	sqlite3_close(d->db);
	d->put = d->drop = NULL;
	d->db = NULL;
}

/* A table that is there is not written: where the disk is full it could not be opened. */
static const char mode[] =
	"PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA temp_store=MEMORY; "
	"SELECT 1 FROM sqlite_master";
static const char schema[] =
	"BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS state(kind TEXT NOT NULL, key TEXT NOT NULL, "
	"value TEXT NOT "
	"NULL, number INTEGER NOT NULL DEFAULT 0, sum INTEGER, PRIMARY KEY(kind, key)) WITHOUT "
	"ROWID; PRAGMA user_version=1; COMMIT";

static bool is_damage(const sqlite3 *db)
{
	int code = sqlite3_errcode((sqlite3 *)db);

	return code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
}

/*
 * SQLite would write over a log from its begin, and who is killed between the head of a frame and
 * its page would leave what a damaged frame looks like (disk_log.h): a log begins empty.
 */
static void checkpoint(sqlite3 *db)
{
	sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
}

static int log_grew(void *arg, sqlite3 *db, const char *name, int pages)
{
	((struct disk *)arg)->pages = pages;
	return SQLITE_OK;
}

/* What was written is to survive a power cut; a checkpoint is worth it where nobody waits. */
static void sync_log(struct disk *d, bool quiet)
{
	sqlite3_file *log = NULL;

	if (!quiet && d->pages < LOG_PAGES)
		sqlite3_file_control(d->db, NULL, SQLITE_FCNTL_JOURNAL_POINTER, &log);
	if (!log || !log->pMethods || log->pMethods->xSync(log, SQLITE_SYNC_NORMAL))
		checkpoint(d->db);
}

/* NULL: it can't be used; why. */
static sqlite3 *open_as(const char *path, int flags, const char *sql, bool *damaged, char why[120])
{
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK &&
	    run(db, sql))
		return db;
	*damaged = db && is_damage(db);
	failure(db, why);
	sqlite3_close(db);
	/* What the system says of the file is clearer. */
	if (access(path, W_OK) && errno != ENOENT)
		snprintf(why, 120, "%s", strerror(errno));
	return NULL;
}

/* A new one is its user's alone, as its log will be. */
static sqlite3 *open_to_write(struct disk *d, bool *damaged, char why[120])
{
	const char *path = d->path;
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);

	sqlite3 *db = open_as(path, flags, mode, damaged, why);
	sqlite3_stmt *st =
		db ? prepare(db, "SELECT kind, key, value, number, sum FROM state") : NULL;

	if (db && !st && !run(db, schema)) {
		failure(db, why);
		*damaged = is_damage(db);
		sqlite3_close(db);
		db = NULL;
	}
	sqlite3_finalize(st);
	if (db)
		sqlite3_wal_hook(db, log_grew, d);
	return db;
}

/* Where nothing can be written its log can't be read either, which has the latest changes. */
static sqlite3 *open_to_read(const char *path)
{
	char why[120], *as_it_is = mem_printf("file:%s?immutable=1", path);
	const char *sql = "PRAGMA user_version; SELECT 1 FROM sqlite_master";
	bool damaged;
	sqlite3 *db = open_as(path, SQLITE_OPEN_READONLY, sql, &damaged, why);

	if (!db)
		db = open_as(as_it_is, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, sql, &damaged, why);
	free(as_it_is);
	return db;
}

/* Where it is now, the caller's; NULL = nowhere. */
static char *put_aside(const struct disk *d)
{
	char *log = mem_printf("%s-wal", d->path), *aside = mem_printf("%s.bad", d->path),
	     *log_aside = mem_printf("%s.bad-wal", d->path);

	if (rename(d->path, aside)) {
		free(aside);
		aside = NULL;
	}
	unlink(log_aside);
	if (rename(log, log_aside))
		unlink(log);
	free(log);
	free(log_aside);
	return aside;
}

/* What is there is of no use, and all rows are to be written: -ESTALE. */
static int begin_anew(struct disk *d)
{
	bool damaged;

	if (d->db || d->unread)
		free(put_aside(d));
	close_db(d);
	d->unread = false;
	d->db = open_to_write(d, &damaged, d->why);
	return d->db ? -ESTALE : -EIO;
}

/* The latest failure, ahead of what the roll-back makes of it. */
static int write_batch(struct disk *d, const struct disk_batch *b, char why[120])
{
	int status;

	if (!d->db) { /* it may be there again, or the disk not full any more */
		status = begin_anew(d);
		snprintf(why, 120, "%s", d->why);
		return status;
	}
	/* Who has deleted the file would not see what is written to it. */
	if (access(d->path, F_OK)) {
		snprintf(why, 120, "the file is missing");
		return begin_anew(d);
	}
	run(d->db, b->full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
	errno = 0;
	if (write_rows(d, b))
		return 0;
	status = failure(d->db, why);
	if (is_damage(d->db))
		return begin_anew(d);
	run(d->db, "ROLLBACK");
	return status;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* False: it ended at what can't be read. */
static bool each_row(sqlite3_stmt *st, disk_row_fn *fn, void *arg)
{
	int result = SQLITE_ERROR;

	while (st && (result = sqlite3_step(st)) == SQLITE_ROW) {
		struct row_change row = { (const char *)sqlite3_column_text(st, 0),
					  (const char *)sqlite3_column_text(st, 1),
					  (const char *)sqlite3_column_text(st, 2),
					  sqlite3_column_int64(st, 3) };
		uint64_t sum = sqlite3_column_int64(st, 4);

		if (row.kind && row.key && row.value)
			fn(arg, &row,
			   sqlite3_column_type(st, 4) == SQLITE_NULL	   ? DISK_EDITED
			   : sum == rows_sum(row.kind, row.key, row.value) ? DISK_FINE
									   : DISK_DAMAGED);
	}
	return result == SQLITE_DONE;
}

static bool read_kind(sqlite3 *db, const char *kind, bool back, disk_row_fn *fn, void *arg)
{
	sqlite3_stmt *st = prepare(db, back ? "SELECT * FROM state WHERE kind=? ORDER BY key DESC"
					    : "SELECT * FROM state WHERE kind=? ORDER BY key");

	if (st)
		sqlite3_bind_text(st, 1, kind, -1, SQLITE_TRANSIENT);

	bool whole = each_row(st, fn, arg);

	sqlite3_finalize(st);
	return whole;
}

/* The kind behind that one, the caller's; NULL = there is none, or it can't be read (*fine). */
static char *next_kind(sqlite3 *db, const char *kind, bool *fine)
{
	sqlite3_stmt *st = prepare(db, "SELECT kind FROM state WHERE kind>? ORDER BY kind LIMIT 1");
	char *next = NULL;
	int result = SQLITE_ERROR;

	if (st) {
		sqlite3_bind_text(st, 1, kind, -1, SQLITE_TRANSIENT);
		result = sqlite3_step(st);
	}
	if (result == SQLITE_ROW)
		next = mem_strdup((const char *)sqlite3_column_text(st, 0));
	*fine &= result == SQLITE_ROW || result == SQLITE_DONE;
	sqlite3_finalize(st);
	return next;
}

/* All rows; false: some can't be read. Around a page that is damaged both sides are read then. */
static bool read_all(sqlite3 *db, disk_row_fn *fn, void *arg)
{
	const struct state_rule *rule;
	bool fine = true;
	char *kind = mem_strdup(""), *next;

	while ((next = next_kind(db, kind, &fine))) {
		free(kind);
		kind = next;
		rule = state_rule(kind);
		if (!rule || !rule->cold)
			fine &= read_kind(db, kind, false, fn, arg);
	}
	free(kind);
	for (rule = state_rules; !fine && rule->name; rule++)
		if (!rule->cold) {
			read_kind(db, rule->name, false, fn, arg);
			read_kind(db, rule->name, true, fn, arg);
		}
	return fine;
}

/* The first page is fine, and so are the others: else what it has to say. */
static bool is_whole(sqlite3 *db, char why[120])
{
	sqlite3_stmt *st = prepare(db, "PRAGMA quick_check(1)");
	const char *text = st && sqlite3_step(st) == SQLITE_ROW
				   ? (const char *)sqlite3_column_text(st, 0)
				   : sqlite3_errmsg(db);
	bool whole = !strcmp(text, "ok");

	if (!whole)
		snprintf(why, 120, "damaged: %s", text + strspn(text, "* ") * (text[0] == '*'));
	for (char *c = why; *c; c++)
		if (*c == '\n')
			*c = ' ';
	sqlite3_finalize(st);
	return whole;
}

static void open_and_read(struct disk *d, disk_row_fn *row, struct disk_found *found, void *arg)
{
	bool damaged = false, log_fine = disk_log_is_whole(d->path);

	struct stat st;

	/* An empty file is none: SQLite takes it for a database that is to be made. */
	bool there = !stat(d->path, &st);

	found->made = there ? S_ISREG(st.st_mode) && !st.st_size : errno == ENOENT;
	damaged = there && !S_ISREG(st.st_mode);
	if (damaged)
		array_printf(d->why, "not a regular file");
	else
		d->db = open_to_write(d, &damaged, d->why);
	if (d->db) {
		bool whole = is_whole(d->db, found->why);

		if (!read_all(d->db, row, arg) && whole)
			failure(d->db, found->why);
		if (whole && !*found->why && !log_fine)
			array_printf(found->why, "damaged: the latest changes, in its -wal");
	} else if (damaged) {
		array_printf(found->why, "%s", d->why);
	} else if (!found->made) {
		/* A file system that takes nothing: what is there is in force. */
		sqlite3 *db = open_to_read(d->path);

		if (db)
			read_all(db, row, arg);
		else
			array_printf(found->why, "%s", d->why);
		d->unread = !db;
		sqlite3_close(db);
		return;
	}
	if (!*found->why && d->db)
		checkpoint(d->db);
	if (!*found->why)
		return;
	close_db(d);
	found->kept = put_aside(d);
	d->db = open_to_write(d, &damaged, d->why);
}

/* ---- The thread ------------------------------------------------------------------------------ */

static void free_batch(struct disk_batch *b)
{
	free(b->rows.data);
	*b = (struct disk_batch){ 0 };
}

/* The lock is held at the beginning and at the end, not while it writes. */
static void write_given(struct disk *d)
{
	char why[120] = "";

	pthread_mutex_unlock(&d->lock);

	int status = write_batch(d, &d->batch, why);

	pthread_mutex_lock(&d->lock);
	d->status = status;
	if (d->db)
		memcpy(d->why, why, sizeof(d->why));
	if (!status || status == -ESTALE)
		free_batch(&d->batch);
	d->todo = false;
	if (!d->fresh++)
		d->sync_us = loop_clock_us(d->loop) + DISK_SYNC_US;
	if (!d->db)
		d->fresh = 0;
	pthread_cond_broadcast(&d->ended);
}

static struct timespec time_of(uint64_t us)
{
	return (struct timespec){ us / SECOND_US, us % SECOND_US * 1000 };
}

/* The lock is held, but not while it syncs. */
static void sync_due(struct disk *d)
{
	bool quiet = d->fresh == 1;

	if (!d->fresh || loop_clock_us(d->loop) < d->sync_us)
		return;
	d->fresh = 0;
	d->syncs = true;
	pthread_mutex_unlock(&d->lock);
	sync_log(d, quiet);
	pthread_mutex_lock(&d->lock);
	d->syncs = false;
	pthread_cond_broadcast(&d->ended);
}

static void *thread_main(void *arg)
{
	struct disk *d = arg;
	const uint64_t one = 1;

	pthread_mutex_lock(&d->lock);
	while (!d->ends || d->todo) {
		int result = 0;

		while (!d->ends && !d->todo && !result) {
			struct timespec until = time_of(d->sync_us);

			result = d->fresh ? pthread_cond_timedwait(&d->given, &d->lock, &until)
					  : pthread_cond_wait(&d->given, &d->lock);
		}
		if (d->todo) {
			write_given(d);
			if (write(d->done_fd, &one, sizeof(one)) < 0)
				break; /* never: a counter */
		}
		sync_due(d);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

/* ---- The loop's side ------------------------------------------------------------------------- */

static void report(struct disk *d)
{
	char why[120];

	d->busy = false;
	array_printf(why, "%s", d->why);
	d->done(d->arg, d->status, why);
}

static void done_cb(void *arg, unsigned events)
{
	struct disk *d = arg;
	uint64_t count;

	/* The count may be of a batch that disk_wait() has reported, and another is written now. */
	pthread_mutex_lock(&d->lock);

	bool ended =
		read(d->done_fd, &count, sizeof(count)) == sizeof(count) && d->busy && !d->todo;

	pthread_mutex_unlock(&d->lock);
	if (ended)
		report(d);
}

bool disk_is_busy(const struct disk *d)
{
	return d->busy;
}

void disk_write(struct disk *d, struct disk_batch *batch)
{
	pthread_mutex_lock(&d->lock);
	free_batch(&d->batch);
	d->batch = *batch;
	*batch = (struct disk_batch){ 0 };
	d->busy = d->todo = true;
	if (!d->started && !loop_is_simulated(d->loop))
		d->started = !thread_start(&d->thread, thread_main, d);
	if (d->started)
		pthread_cond_signal(&d->given);
	else {
		sync_due(d);
		write_given(d);
	}
	pthread_mutex_unlock(&d->lock);
	if (!d->started)
		report(d);
}

void disk_take_back(struct disk *d, struct disk_batch *batch)
{
	struct bytes later = batch->rows;

	*batch = d->batch;
	if (later.end)
		bytes_add(&batch->rows, later.data, later.end);
	free(later.data);
	d->batch = (struct disk_batch){ 0 };
}

bool disk_wait(struct disk *d, uint64_t us)
{
	struct timespec until = time_of(loop_clock_us(d->loop) + us);
	int result = 0;

	if (!d->busy)
		return true;
	pthread_mutex_lock(&d->lock);
	while (d->todo && !result)
		result = pthread_cond_timedwait(&d->ended, &d->lock, &until);
	pthread_mutex_unlock(&d->lock);
	if (!result)
		report(d);
	return !result;
}

void disk_read(struct disk *d, const char *kind, disk_row_fn *row, void *arg)
{
	pthread_mutex_lock(&d->lock);
	while (d->todo || d->syncs)
		pthread_cond_wait(&d->ended, &d->lock);
	if (d->db)
		read_kind(d->db, kind, false, row, arg);
	pthread_mutex_unlock(&d->lock);
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct disk *disk_open(struct loop *loop, const char *folder, disk_row_fn *row,
		       struct disk_found *found, disk_done_fn *done, void *arg)
{
	struct disk *d = mem_new(d);
	pthread_condattr_t monotonic;

	*d = (struct disk){ .loop = loop, .done = done, .arg = arg };
	d->path = mem_printf("%s/%s", folder, DISK_NAME);
	pthread_mutex_init(&d->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&d->given, &monotonic);
	pthread_cond_init(&d->ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
	d->done_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	d->watch = loop_fd_new(loop, d->done_fd, LOOP_READ, done_cb, d);
	*found = (struct disk_found){ 0 };
	open_and_read(d, row, found, arg);
	return d;
}

void disk_close(struct disk *d)
{
	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	d->ends = true;
	pthread_cond_broadcast(&d->given);
	pthread_mutex_unlock(&d->lock);
	if (d->started)
		pthread_join(d->thread, NULL);
	loop_fd_free(d->watch);
	close(d->done_fd);
	close_db(d);
	free_batch(&d->batch);
	pthread_cond_destroy(&d->given);
	pthread_cond_destroy(&d->ended);
	pthread_mutex_destroy(&d->lock);
	free(d->path);
	free(d);
}

/* ---- Of a state_dir that nobody has open ----------------------------------------------------- */

static void take_value(void *arg, const struct row_change *row, enum disk_sum sum)
{
	char **value = arg;

	free(*value);
	*value = mem_strdup(row->value);
}

char *disk_peek(const char *folder, const char *kind, const char *key)
{
	char *path = mem_printf("%s/%s", folder, DISK_NAME), *value = NULL;
	sqlite3 *db = open_to_read(path);
	sqlite3_stmt *st = db ? prepare(db, "SELECT * FROM state WHERE kind=? AND key=?") : NULL;

	if (st) {
		sqlite3_bind_text(st, 1, kind, -1, SQLITE_STATIC);
		sqlite3_bind_text(st, 2, key, -1, SQLITE_STATIC);
		each_row(st, take_value, &value);
	}
	sqlite3_finalize(st);
	sqlite3_close(db);
	free(path);
	return value;
}

static bool is_usable(const char *folder, char *err, size_t err_size)
{
	char *path = mem_printf("%s/%s", folder, DISK_NAME);
	sqlite3 *db = access(path, R_OK) ? NULL : open_to_read(path);
	sqlite3_stmt *st = db ? prepare(db, "PRAGMA user_version") : NULL;
	int version = st && sqlite3_step(st) == SQLITE_ROW ? sqlite3_column_int(st, 0) : 0;

	if (version > DISK_VERSION)
		snprintf(err, err_size,
			 "%s: written by a newer fmd (form %d, this one knows %d): start that "
			 "version, or give this one another state_dir",
			 path, version, DISK_VERSION);
	sqlite3_finalize(st);
	sqlite3_close(db);
	free(path);
	return version <= DISK_VERSION;
}

/* ---- The lock -------------------------------------------------------------------------------- */

/*
 * Where nobody can write (EROFS) such a fabric is managed by the state as it is, and each file that
 * can't be written is an alert.
 */
int state_lock(const char *state_dir)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char *path = mem_printf("%s/lock", state_dir);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), status = -1;
	char err[512];

	if (fd < 0 && errno == EROFS) {
		status = 0;
		log_line(LOG_CORE, LOG_ERR, "%s: %s: state is read and not kept", path,
			 strerror(errno));
	} else if (fd < 0) {
		log_line(LOG_CORE, LOG_ERR, "%s: %s%s", path, strerror(errno),
			 errno == EACCES ? ": state_dir and all in it are to be of the user fmd "
					   "runs as (chown -R)"
					 : "");
	} else if (!fcntl(fd, F_SETLK, &lock)) {
		/* The descriptor stays open, and with it the lock. */
		status = is_usable(state_dir, err, sizeof(err)) ? 0 : -1;
		if (status)
			log_line(LOG_CORE, LOG_ERR, "%s", err);
	} else {
		lock.l_pid = 0;
		fcntl(fd, F_GETLK, &lock);
		log_line(LOG_CORE, LOG_ERR, "%s: another fmd (process %d) uses this state_dir",
			 path, lock.l_pid);
		close(fd);
	}
	free(path);
	return status;
}
