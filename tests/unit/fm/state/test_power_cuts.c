/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Kills and power cuts between any two writes of the database. All that SQLite writes, cuts and
 * syncs is recorded below it, by a VFS of this test. For a cut behind so many of these calls the
 * files are made as they could be then, and the state is opened from them:
 *
 *   kill   the process ends: the system has all that was written
 *   power  the machine ends: what was synced is there; of the rest each sector is, or is not
 *
 * Rows must be those behind some change, and no earlier one than was reported as kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>
#include "fm/loop/log.h"
#include "fm/state/state.h"
#include "topology/base/mem.h"

#define SECTOR	  512
#define CHANGES	  60u
#define ROWS	  24u /* that a change puts.. */
#define KEYS	  200u
#define VALUE	  2000
#define CUTS	  15u
#define CUTS_LONG 300u
#define NAMES	  4

/* ---- The recorder ---------------------------------------------------------------------------- */

enum call_kind { CALL_WRITE, CALL_TRUNCATE, CALL_SYNC, CALL_DELETE };

struct call {
	enum call_kind kind;
	unsigned file; /* of `names` */
	int64_t at;
	int length;
	char *bytes;
};

struct recorded_file {
	sqlite3_file base; /* first */
	unsigned file;
	sqlite3_file *real; /* behind this struct */
};

static struct call *calls;
static size_t ncalls;
static bool records;
static char names[NAMES][128]; /* last parts of the paths */
static sqlite3_vfs *system_vfs, recorder;

static void note(struct call call)
{
	if (!records)
		return;
	if (!(ncalls & (ncalls - 1)))
		calls = mem_array_resize(calls, ncalls ? 2 * ncalls : 1);
	if (call.bytes)
		call.bytes = memcpy(mem_alloc_unset(call.length, 1), call.bytes, call.length);
	calls[ncalls++] = call;
}

static unsigned file_of(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	unsigned i = 0;

	while (i < NAMES && *names[i] && strcmp(names[i], name))
		i++;
	assert_true(i < NAMES);
	array_printf(names[i], "%s", name);
	return i;
}

#define REAL(file) (((struct recorded_file *)(file))->real)
#define FILE_OF(f) (((struct recorded_file *)(f))->file)

static int vfs_close(sqlite3_file *f)
{
	return REAL(f)->pMethods ? REAL(f)->pMethods->xClose(REAL(f)) : SQLITE_OK;
}

static int vfs_read(sqlite3_file *f, void *to, int length, sqlite3_int64 at)
{
	return REAL(f)->pMethods->xRead(REAL(f), to, length, at);
}

static int vfs_write(sqlite3_file *f, const void *from, int length, sqlite3_int64 at)
{
	note((struct call){ CALL_WRITE, FILE_OF(f), at, length, (char *)from });
	return REAL(f)->pMethods->xWrite(REAL(f), from, length, at);
}

static int vfs_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	note((struct call){ .kind = CALL_TRUNCATE, .file = FILE_OF(f), .at = size });
	return REAL(f)->pMethods->xTruncate(REAL(f), size);
}

static int vfs_sync(sqlite3_file *f, int flags)
{
	note((struct call){ .kind = CALL_SYNC, .file = FILE_OF(f) });
	return SQLITE_OK;
}

static int vfs_size(sqlite3_file *f, sqlite3_int64 *size)
{
	return REAL(f)->pMethods->xFileSize(REAL(f), size);
}

static int vfs_lock(sqlite3_file *f, int level)
{
	return REAL(f)->pMethods->xLock(REAL(f), level);
}

static int vfs_unlock(sqlite3_file *f, int level)
{
	return REAL(f)->pMethods->xUnlock(REAL(f), level);
}

static int vfs_reserved(sqlite3_file *f, int *is)
{
	return REAL(f)->pMethods->xCheckReservedLock(REAL(f), is);
}

static int vfs_control(sqlite3_file *f, int op, void *arg)
{
	return REAL(f)->pMethods->xFileControl(REAL(f), op, arg);
}

static int vfs_sector(sqlite3_file *f)
{
	return REAL(f)->pMethods->xSectorSize(REAL(f));
}

static int vfs_device(sqlite3_file *f)
{
	return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f));
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
	static const sqlite3_io_methods methods = {
		.iVersion = 1,
		.xClose = vfs_close,
		.xRead = vfs_read,
		.xWrite = vfs_write,
		.xTruncate = vfs_truncate,
		.xSync = vfs_sync,
		.xFileSize = vfs_size,
		.xLock = vfs_lock,
		.xUnlock = vfs_unlock,
		.xCheckReservedLock = vfs_reserved,
		.xFileControl = vfs_control,
		.xSectorSize = vfs_sector,
		.xDeviceCharacteristics = vfs_device,
	};
	struct recorded_file *own = (struct recorded_file *)f;
	int status;

	own->real = (sqlite3_file *)(own + 1);
	own->file = file_of(name);
	status = system_vfs->xOpen(system_vfs, name, own->real, flags, out);
	f->pMethods = status == SQLITE_OK ? &methods : NULL;
	return status;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	note((struct call){ .kind = CALL_DELETE, .file = file_of(name) });
	return system_vfs->xDelete(system_vfs, name, sync);
}

static int record(void **state)
{
	sqlite3_initialize();
	system_vfs = sqlite3_vfs_find(NULL);
	recorder = *system_vfs;
	recorder.zName = "recorder";
	recorder.szOsFile += sizeof(struct recorded_file);
	recorder.xOpen = vfs_open;
	recorder.xDelete = vfs_delete;
	return sqlite3_vfs_register(&recorder, 1);
}

static void forget_calls(void)
{
	for (size_t i = 0; i < ncalls; i++)
		free(calls[i].bytes);
	free(calls);
	calls = NULL;
	ncalls = 0;
	memset(names, 0, sizeof(names));
}

static int forget(void **state)
{
	forget_calls();
	return 0;
}

/* ---- The state ------------------------------------------------------------------------------- */

struct world {
	char folder[40];
	struct loop *loop;
	struct loop_timer *stop;
	struct event_log *events;
	struct alerts *alerts;
	struct state *state;
};

static void stop(void *arg)
{
	loop_stop(arg);
}

static void begin(struct world *w, bool full)
{
	w->loop = loop_new_simulated();
	w->stop = loop_timer_new(w->loop, stop, w->loop);
	w->events = event_log_new(100);
	w->alerts = alerts_new(w->loop, w->events);
	w->state = state_open(w->loop, w->folder, w->alerts, w->events);
	state_configure(w->state, 1000000, full);
}

static void end(struct world *w)
{
	char command[64];

	state_close(w->state);
	alerts_free(w->alerts);
	event_log_free(w->events);
	loop_timer_free(w->stop);
	loop_free(w->loop);
	array_printf(command, "rm -rf %s", w->folder);
	assert_int_equal(system(command), 0);
}

static void new_folder(struct world *w)
{
	strcpy(w->folder, "/tmp/fmd-test-XXXXXX");
	assert_non_null(mkdtemp(w->folder));
}

static bool take(void *owner, const char *line)
{
	return true;
}

static const struct state_kind lids = { .name = "lids", .form = "a LID", .line = take };

/* The key that a change puts as its so many-th, and the value; every seventh row goes instead. */
static unsigned key_of(unsigned change, unsigned row)
{
	return (change * 37 + row * row * 11 + row) % KEYS;
}

static bool is_removed(unsigned change, unsigned row)
{
	return (change + row) % 7 == 0;
}

static void change_rows(struct world *w, unsigned change)
{
	char line[VALUE + 64], rest[VALUE];

	memset(rest, 'a' + change % 26, sizeof(rest));
	for (unsigned row = 0; row < ROWS; row++) {
		unsigned key = key_of(change, row);

		array_printf(line, "0x%x %u %.*s", key, change, (int)(key * 53 % VALUE), rest);
		if (is_removed(change, row))
			state_remove(w->state, &lids, w, line);
		else
			state_put(w->state, &lids, w, line);
	}
	array_printf(line, "version %u", change); /* so no two are the same */
	state_put(w->state, &lids, w, line);
	/* The log is synced once a second, and behind a change that is alone in one emptied. */
	loop_timer_set(w->stop, change % 10 < 2 ? 1100000 : 300000);
	assert_int_equal(loop_run(w->loop), 0);
	assert_true(state_is_kept(w->state));
}

/* ---- A history ------------------------------------------------------------------------------- */

static size_t begun[CHANGES + 1], kept[CHANGES + 1]; /* by change: calls until then */

static void make_history(bool full)
{
	struct world w;

	forget_calls();
	new_folder(&w);
	records = true;
	begin(&w, full);
	begun[0] = 0;
	kept[0] = ncalls;
	for (unsigned change = 1; change <= CHANGES; change++) {
		begun[change] = ncalls;
		change_rows(&w, change);
		kept[change] = ncalls;
	}
	records = false;
	end(&w);
}

/* By key: the change whose value it has behind that one; 0 = none. */
static void rows_behind(unsigned change, unsigned of[KEYS])
{
	memset(of, 0, KEYS * sizeof(*of));
	for (unsigned c = 1; c <= change; c++)
		for (unsigned row = 0; row < ROWS; row++)
			of[key_of(c, row)] = is_removed(c, row) ? 0 : c;
}

/* ---- Cuts ------------------------------------------------------------------------------------ */

static uint64_t chance(uint64_t *seed)
{
	return *seed = *seed * 6364136223846793005ull + 1442695040888963407ull, *seed >> 33;
}

/* Of a call that is not synced: none of its sectors, all, or each by chance. */
static void apply(int fd, const struct call *call, bool lost, uint64_t *seed)
{
	unsigned how = lost ? chance(seed) % 3 : 1;

	if (call->kind == CALL_TRUNCATE && how)
		assert_int_equal(ftruncate(fd, call->at), 0);
	if (call->kind != CALL_WRITE)
		return;
	for (int64_t at = call->at, end = call->at + call->length, next; at < end; at = next) {
		next = how == 2 && (at / SECTOR + 1) * SECTOR < end ? (at / SECTOR + 1) * SECTOR
								    : end;
		if (how == 1 || (how == 2 && chance(seed) % 2))
			assert_int_equal(pwrite(fd, call->bytes + (at - call->at), next - at, at),
					 next - at);
	}
}

/* The files as they could be behind so many calls. */
static void make_files(const char *folder, size_t cut, bool power, uint64_t seed)
{
	for (unsigned file = 0; file < NAMES && *names[file]; file++) {
		char path[1024];
		size_t synced = 0;
		int fd = -1;

		array_printf(path, "%s/%s", folder, names[file]);
		for (size_t i = 0; i < cut; i++)
			if (calls[i].file == file && calls[i].kind == CALL_SYNC)
				synced = i;
		for (size_t i = 0; i < cut; i++) {
			const struct call *call = &calls[i];

			if (call->file != file)
				continue;
			if (call->kind == CALL_DELETE) {
				unlink(path);
				close(fd);
				fd = -1;
				continue;
			}
			if (fd < 0)
				fd = open(path, O_RDWR | O_CREAT, 0600);
			apply(fd, call, power && i > synced, &seed);
		}
		close(fd);
	}
}

/* The latest change that a power cut there may not take. */
static unsigned least_change(size_t cut, bool power, bool full)
{
	unsigned change = CHANGES;

	if (power && !full) /* what was written before the log was synced */
		while (cut && !(calls[cut - 1].kind == CALL_SYNC &&
				strstr(names[calls[cut - 1].file], "-wal")))
			cut--;
	while (change && kept[change] > cut)
		change--;
	return change;
}

/* UINT_MAX: rows are those behind no change. */
static unsigned version_of(const struct state *state)
{
	const struct rows_kind *kind = rows_kind((struct rowset *)state_rows(state), "lids", false);
	const struct row *version = kind ? rows_find(kind, "version") : NULL;
	unsigned change = version ? strtoul(version->value, NULL, 10) : 0, of[KEYS], count = 0;

	rows_behind(change, of);
	for (unsigned key = 0; key < KEYS; key++) {
		char name[16];
		const struct row *row;

		array_printf(name, "0x%x", key);
		row = kind ? rows_find(kind, name) : NULL;
		if ((row ? strtoul(row->value, NULL, 10) : 0) != of[key])
			return UINT32_MAX;
		count += of[key] != 0;
	}
	return (kind ? kind->count : 0) == count + (change != 0) ? change : UINT32_MAX;
}

static bool reports_a_loss(const struct world *w)
{
	for (uint64_t i = 0; i < event_log_next(w->events); i++) {
		const json_t *what = json_object_get(event_log_at(w->events, i), "what");

		if (what && !strcmp(json_string_value(what), "state-lost"))
			return true;
	}
	return false;
}

static void cut_everywhere(bool full, bool power)
{
	unsigned count = getenv("LONG") ? CUTS_LONG : CUTS, told = 0, behind = 0;
	uint64_t seed = 4711 + 2 * full + power;

	make_history(full);
	for (unsigned i = 0; i < count; i++) {
		size_t cut = ncalls * (uint64_t)(i + 1) / count - chance(&seed) % (ncalls / count);
		unsigned least = least_change(cut, power, full), most = CHANGES, found;
		struct world w;
		bool lost;

		while (begun[most] > cut)
			most--;
		new_folder(&w);
		make_files(w.folder, cut, power, chance(&seed));
		begin(&w, full);
		found = version_of(w.state);
		lost = reports_a_loss(&w);
		end(&w);
		if (found < least || found > most)
			fail_msg("cut behind call %zu of %zu: rows of change %d, not %u to %u", cut,
				 ncalls, (int)found, least, most);
		if (!power && lost)
			fail_msg("a kill behind call %zu is reported as a loss", cut);
		told += lost;
		behind += found < most;
	}
	print_message("%u cuts among %zu calls: %u with a loss reported, %u without the change "
		      "that was under way\n",
		      count, ncalls, told, behind);
}

static void a_kill_between_any_two_writes_loses_nothing_that_was_kept(void **state)
{
	cut_everywhere(false, false);
	cut_everywhere(true, false);
}

static void a_power_cut_loses_nothing_that_was_kept_where_each_change_is_synced(void **state)
{
	cut_everywhere(true, true);
}

static void a_power_cut_loses_nothing_from_before_the_latest_sync_by_default(void **state)
{
	cut_everywhere(false, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kill_between_any_two_writes_loses_nothing_that_was_kept),
		cmocka_unit_test(
			a_power_cut_loses_nothing_that_was_kept_where_each_change_is_synced),
		cmocka_unit_test(a_power_cut_loses_nothing_from_before_the_latest_sync_by_default),
	};

	log_set_level(-1, -1);
	return cmocka_run_group_tests(tests, record, forget);
}
