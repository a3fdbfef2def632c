/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <signal.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "fm/loop/log.h"
#include "fm/state/state_copy.h"
#include "fm/state/state_store_own.h"
#include "topology/base/mem.h"

#define REAP_MIN_US 1000 /* a small file on a good disk */
#define REAP_MAX_US 100000
#define MANIFEST_US 1000000 /* before it is tried again alone */

/* ---- Which to write, and when ---------------------------------------------------------------- */

/* Its owner writes it; else what is held of an owner before is written, whoever is master. */
static bool wants(const struct state_store *s, const struct kept *k)
{
	return (k->held || (k->due && !k->in_memory && s->writable)) && !k->lane;
}

void state_store_schedule(struct state_store *s)
{
	uint64_t now = loop_now_us(s->loop), next = UINT64_MAX;

	for (unsigned i = 0; i < LANES; i++)
		if (s->lanes[i].pid && now + s->lanes[i].wait_us < next)
			next = now + s->lanes[i].wait_us;
	for (const struct kept *k = s->files; k; k = k->next)
		if (wants(s, k) && !s->lanes[k->file->gather_us ? GATHERED : AT_ONCE].pid &&
		    k->at_us < next)
			next = k->at_us;
	if (s->manifest.due && !s->lanes[AT_ONCE].pid) { /* alone, if no file takes it along */
		uint64_t soon = now + MANIFEST_US;

		soon = s->manifest.at_us > soon ? s->manifest.at_us : soon;
		next = soon < next ? soon : next;
	}
	if (next == UINT64_MAX)
		loop_timer_stop(s->timer);
	else
		loop_timer_set(s->timer, next > now ? next - now : 0);
}

/* Of `us`, as long as it does gather: less where another manager waits for it. */
static uint64_t gather_us(const struct state_store *s, const struct kept *k, uint64_t us)
{
	uint64_t least = STATE_SHARE * k->took_us;

	if (least < STATE_HASTE_US)
		least = STATE_HASTE_US;
	if (s->haste == STATE_CALM || (s->haste == STATE_HASTE && k->file->record))
		return us;
	return least < us ? least : us;
}

void state_store_changed(struct state_store *s, const struct state_file *file, void *owner)
{
	struct kept *k = state_store_kept(s, file);
	uint64_t now = loop_now_us(s->loop), gather = gather_us(s, k, file->gather_us);
	uint64_t most =
		gather_us(s, k, file->gather_max_us ? file->gather_max_us : file->gather_us);

	k->owner = owner;
	if (!k->due)
		k->since_us = now;
	k->due = k->untold = true;
	k->in_memory = k->failed = false;
	k->at_us = now + gather < k->since_us + most ? now + gather : k->since_us + most;
	state_push_changed(s, k);
	state_store_schedule(s);
}

void state_store_hasten(struct state_store *s, const struct state_file *file)
{
	state_store_kept(s, file)->at_us = loop_now_us(s->loop);
	state_store_schedule(s);
}

void state_store_unchanged(struct state_store *s, const struct state_file *file)
{
	struct kept *k = state_store_kept(s, file);

	k->due = k->reform;
	state_store_schedule(s);
}

bool state_store_waits(const struct state_store *s, const char *name)
{
	for (const struct kept *k = s->files; k; k = k->next)
		if (!strcmp(k->file->name, name))
			return k->held ||
			       ((k->lane || (k->due && !k->failed)) &&
				(k->untold || k->lane_untold || !journal_is_written(s->journal)));
	return false;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void write_content(void *kept, FILE *out)
{
	const struct kept *k = kept;

	if (k->held)
		fwrite(k->held, 1, k->held_length, out);
	else
		k->file->write(k->owner, out);
}

static int write_file(struct state_store *s, struct kept *k)
{
	char *path = mem_printf("%s/%s", s->folder, k->file->name);
	int status = state_file_save(path, k->file->name, write_content, k);

	free(path);
	return status;
}

static void drop_held(struct kept *k)
{
	free(k->held);
	k->held = NULL;
	k->held_records = 0;
}

static void wrote(struct state_store *s, struct kept *k, int status)
{
	k->failed = status;
	if (status) {
		k->untold |= k->lane_untold;
		k->due |= !k->lane_held && k->owner;
		k->at_us = s->retry_us ? loop_now_us(s->loop) + s->retry_us : UINT64_MAX;
	} else {
		records_drop(&k->records, k->lane_records);
		k->held_records -=
			k->lane_records < k->held_records ? k->lane_records : k->held_records;
		k->saved = k->lane_recorded;
		if (k->lane_held)
			drop_held(k);
	}
	k->lane_records = 0;
	k->news |= !status && k->lane_untold;
	k->lane_held = k->lane_untold = false;
	if (!status)
		state_journal_saved(s, k);
	state_alerts_wrote(s, k->file->name, status);
	for (unsigned i = 0; i < STATE_LISTENERS; i++)
		if (s->listeners[i].wrote)
			s->listeners[i].wrote(s->listeners[i].arg, k->file->name, status);
}

static void write_here(struct state_store *s, struct lane *lane)
{
	for (unsigned i = 0; i < lane->count; i++) {
		struct kept *k = lane->files[i];

		k->lane = NULL;
		wrote(s, k, write_file(s, k));
	}
	if (s->manifest.due) {
		s->manifest.due = state_manifest_write(s);
		s->manifest.on_disk |= !s->manifest.due;
	}
	lane->count = 0;
}

static void start(struct state_store *s, struct lane *lane)
{
	int ends[2] = { -1, -1 };

	/* Only one of them at a time. */
	lane->lists = s->manifest.due && loop_now_us(s->loop) >= s->manifest.at_us &&
		      !s->lanes[AT_ONCE].lists && !s->lanes[GATHERED].lists;
	if (!lane->count && !lane->lists)
		return;
	if (pipe(ends) == 0)
		lane->pid = fork();
	if (ends[0] >= 0 && !lane->pid) {
		/*
		 * The child: one status a file, in their order. The manifest goes last: what it
		 * lists is there.
		 */
		int said = ends[1];
		bool all = true;

		prctl(PR_SET_PDEATHSIG, SIGKILL); /* the next daemon writes beside as well */
		/*
		 * A child that outlives its daemon for a moment must not hold the sockets that the
		 * daemon listened on: the next daemon would find its addresses in use.
		 */
		if (said > STDERR_FILENO + 1)
			close_range(STDERR_FILENO + 1, said - 1, 0);
		close_range(said + 1, ~0U, 0);
		for (unsigned i = 0; i < lane->count; i++) {
			int status = write_file(s, lane->files[i]);

			all &= !status;
			if (write(said, &status, sizeof(status)) != sizeof(status))
				_exit(1);
		}
		_exit(lane->lists && (!all || state_manifest_write(s)));
	}
	if (ends[1] >= 0)
		close(ends[1]);
	if (ends[0] < 0 || lane->pid < 0) { /* no room for a child: better late than never */
		if (ends[0] >= 0)
			close(ends[0]);
		lane->pid = 0;
		lane->lists = false;
		write_here(s, lane);
		return;
	}
	lane->said = ends[0];
	lane->began_us = loop_now_us(s->loop);
	lane->wait_us = REAP_MIN_US;
	s->manifest.due &= !lane->lists;
}

static void fill(struct state_store *s, unsigned number, bool all)
{
	struct lane *lane = &s->lanes[number];
	uint64_t now = loop_now_us(s->loop);

	for (struct kept *k = s->files; k && lane->count < LANE_FILES; k = k->next) {
		bool live = k->due && !k->in_memory && s->writable; /* newer than what is held */

		if (!wants(s, k) || (k->file->gather_us ? GATHERED : AT_ONCE) != number ||
		    (!all && k->at_us > now))
			continue;
		k->lane_held = !live;
		k->lane_records = live ? k->records.length : k->held_records;
		k->lane_recorded = live ? k->recorded : k->held_recorded;
		k->lane_untold = k->untold;
		k->untold = false;
		if (live) {
			drop_held(k);
			state_manifest_note(s, k->file, k->owner);
		}
		if (live || k->in_memory)
			k->due = k->in_memory = k->reform = false;
		k->lane = lane;
		lane->files[lane->count++] = k;
	}
}

/* ---- Children that end ----------------------------------------------------------------------- */

/* False: it is at it still. */
static bool reap(struct state_store *s, struct lane *lane, int how)
{
	unsigned count = lane->count;
	struct kept *files[LANE_FILES];
	int end = 0, code;
	pid_t done;

	do
		done = waitpid(lane->pid, &end, how);
	while (done < 0 && errno == EINTR);
	if (!done)
		return false;
	code = done > 0 && WIFEXITED(end) ? WEXITSTATUS(end) : EIO;
	memcpy(files, lane->files, sizeof(files));
	lane->pid = 0;
	lane->count = 0;
	for (unsigned i = 0; i < count; i++) {
		int status = -EIO; /* it was killed ahead of that */

		if (read(lane->said, &status, sizeof(status)) != sizeof(status))
			status = -EIO;
		files[i]->lane = NULL;
		files[i]->took_us = loop_now_us(s->loop) - lane->began_us;
		wrote(s, files[i], status);
	}
	close(lane->said);
	if (lane->lists) { /* with retry_us 0 the next change of what it lists brings it again */
		s->manifest.on_disk |= !code;
		s->manifest.at_us = code ? loop_now_us(s->loop) + s->retry_us : 0;
		s->manifest.due |= code && s->retry_us;
	}
	lane->lists = false;
	return true;
}

static void step(void *arg)
{
	struct state_store *s = arg;

	for (unsigned i = 0; i < LANES; i++) {
		struct lane *lane = &s->lanes[i];

		/* In a simulated loop time stands still while a child works. */
		if (lane->pid && !reap(s, lane, loop_is_simulated(s->loop) ? 0 : WNOHANG))
			lane->wait_us =
				lane->wait_us < REAP_MAX_US / 2 ? 2 * lane->wait_us : REAP_MAX_US;
		if (lane->pid)
			continue;
		fill(s, i, false);
		start(s, lane);
	}
	state_store_schedule(s);
}

/* ---- Pushes ---------------------------------------------------------------------------------- */

/*
 * Small files go to the follower (state_copy.h) when they change, not when the disk has them: a
 * child, fsync() and the look for its end are tenths of a second.
 */

static void schedule(struct state_store *s)
{
	uint64_t now = loop_now_us(s->loop), next = UINT64_MAX;

	for (const struct kept *k = s->files; k; k = k->next)
		if (k->push && k->push_us < next)
			next = k->push_us;
	if (next != UINT64_MAX)
		loop_timer_set(s->push, next > now ? next - now : 0);
}

/* One file in each turn of the loop. */
static void state_push_due(void *store)
{
	struct state_store *s = store;
	uint64_t now = loop_now_us(s->loop), begun_us;
	struct kept *k = s->files;
	size_t length = 0;
	char *text;

	while (k && !(k->push && k->push_us <= now))
		k = k->next;
	if (k)
		k->push = false;
	if (k && k->owner && s->pushed && s->writable) {
		begun_us = loop_clock_us(s->loop);
		text = state_kept_render(k, &length);
		s->pushed(s->follower, k->file->name, text, length);
		free(text);
		k->push_us =
			loop_now_us(s->loop) + STATE_SHARE * (loop_clock_us(s->loop) - begun_us);
	}
	schedule(s);
}

void state_push_changed(struct state_store *s, struct kept *k)
{
	uint64_t soon = loop_now_us(s->loop) + STATE_PUSH_US;

	if (!s->pushed || !k->file->small || s->haste == STATE_CALM || !s->writable || s->reading ||
	    k->push)
		return;
	k->push = true;
	k->push_us = k->push_us > soon ? k->push_us : soon;
	schedule(s);
}

/* ---- The end, and a change of role ----------------------------------------------------------- */

void state_store_render(struct state_store *s, struct kept *k)
{
	FILE *out;

	if (k->due && k->in_memory)
		return; /* of an owner before, and nothing is newer */
	free(k->held);
	k->held = NULL;
	out = open_memstream(&k->held, &k->held_length);
	state_manifest_note(s, k->file, k->owner);
	k->file->write(k->owner, out);
	fclose(out);
	k->held_records = k->records.length;
	k->held_recorded = k->recorded;
	k->due = k->in_memory = true;
	k->lane_held = false; /* what is on its way is older */
	k->at_us = loop_now_us(s->loop);
}

void state_store_detach(struct state_store *s)
{
	for (struct kept *k = s->files; k; k = k->next) {
		if (!s->writable)
			k->due &= k->in_memory;
		else if (k->owner && (k->due || k->lane))
			state_store_render(s, k);
		k->failed = k->push = false;
		k->owner = NULL;
	}
	state_store_schedule(s);
}

void state_store_flush(struct state_store *s)
{
	for (unsigned i = 0; i < LANES; i++)
		if (s->lanes[i].pid)
			reap(s, &s->lanes[i], 0);
	for (unsigned i = 0; i < LANES; i++) {
		fill(s, i, true);
		write_here(s, &s->lanes[i]);
	}
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct state_store *state_store_new(struct loop *loop, const char *folder, struct alerts *alerts,
				    struct event_log *events)
{
	struct state_store *s = mem_new(s);

	*s = (struct state_store){ .loop = loop,
				   .folder = mem_strdup(folder),
				   .alerts = alerts,
				   .events = events,
				   .writable = true };
	s->timer = loop_timer_new(loop, step, s);
	s->push = loop_timer_new(loop, state_push_due, s);
	s->recheck = loop_timer_new(loop, state_lost_check, s);
	state_manifest_read(s);
	state_journal_open(s);
	return s;
}

void state_store_listen(struct state_store *s, state_wrote_fn *fn, void *arg)
{
	for (unsigned i = 0; i < STATE_LISTENERS; i++)
		if (!s->listeners[i].wrote) {
			s->listeners[i].wrote = fn;
			s->listeners[i].arg = arg;
			return;
		}
}

void state_store_unlisten(struct state_store *s, const void *arg)
{
	for (unsigned i = 0; i < STATE_LISTENERS; i++)
		if (s->listeners[i].arg == arg)
			s->listeners[i].wrote = NULL;
}

void state_store_set_writable(struct state_store *s, bool writable)
{
	s->writable = writable;
	state_store_schedule(s);
}

void state_store_retry(struct state_store *s, uint64_t retry_us)
{
	s->retry_us = retry_us;
}

void state_store_free(struct state_store *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < LANES; i++)
		if (s->lanes[i].pid) {
			waitpid(s->lanes[i].pid, NULL, 0);
			close(s->lanes[i].said);
		}
	loop_timer_free(s->timer);
	loop_timer_free(s->push);
	loop_timer_free(s->recheck);
	journal_free(s->journal);
	free(s->unknown.bytes);
	while (s->files) {
		struct kept *k = s->files;

		s->files = k->next;
		if (k->foreign)
			state_kept_free_foreign(k);
		free(k->held);
		free(k->records.bytes);
		free(k);
	}
	state_read_free(s);
	free(s->folder);
	free(s);
}
