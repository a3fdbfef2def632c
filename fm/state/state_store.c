/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fm/core/log.h"
#include "fm/state/state_file.h"
#include "fm/state/state_store.h"
#include "topology/mem.h"

#define LANE_FILES  16
#define REAP_MIN_US 1000 /* a small file on a good disk */
#define REAP_MAX_US 100000
#define MAY_NOT_US  1000000 /* who may not write is asked again */
#define MANIFEST_US 1000000 /* before it is tried again alone */

enum { AT_ONCE, GATHERED, LANES };

struct kept {
	struct kept *next;
	const struct state_file *file;
	void *owner; /* NULL = it is gone, and nobody has come yet: what it had is held or dropped */
	bool due;    /* differs from what is on disk or on its way */
	bool in_memory; /* .. but for what `held` has: its owner is gone */
	bool failed;	/* the last write, and nothing has changed since */
	bool reform; /* what is on disk is of the old form, or lost: to be written whatever its owner says */
	bool lane_held;	   /* what is on its way is `held` */
	uint64_t since_us; /* the first change that is due */
	uint64_t at_us;	   /* it is to be written */
	struct lane *lane; /* on its way; NULL = not */
	char *held;	   /* rendered, and not on disk yet */
	size_t held_length;
};

struct lane {
	pid_t pid; /* 0 = idle */
	int said;  /* a pipe: a status a file */
	struct kept *files[LANE_FILES];
	unsigned count;
	bool lists;	  /* writes the manifest as well */
	uint64_t wait_us; /* before it is looked at again */
};

struct listed { /* in the manifest */
	struct listed *next;
	char *name, *summary;
};

struct state_store {
	struct loop *loop;
	char *folder;
	void *arg; /* of ops */
	struct state_ops ops;
	uint64_t retry_us;
	struct kept *files;
	struct listed *manifest;
	bool has_manifest; /* there is one on disk, or it was lost and that was told */
	bool manifest_due;
	uint64_t manifest_at_us; /* not before: the latest try failed */
	struct lane lanes[LANES];
	struct loop_timer *timer;
};

static char *path_of(const struct state_store *s, const char *name)
{
	return mem_printf("%s/%s", s->folder, name);
}

static struct kept *kept_of(struct state_store *s, const struct state_file *file)
{
	struct kept **link = &s->files;

	while (*link && (*link)->file != file)
		link = &(*link)->next;
	if (!*link) {
		*link = mem_alloc(1, sizeof(**link));
		(*link)->file = file;
	}
	return *link;
}

/* ---- The manifest ---------------------------------------------------------------------------------- */

#define MANIFEST "manifest"

static struct listed *listed_of(const struct state_store *s, const char *name)
{
	struct listed *it = s->manifest;

	while (it && strcmp(it->name, name))
		it = it->next;
	return it;
}

static struct listed *list_file(struct state_store *s, const char *name)
{
	struct listed *it = listed_of(s, name);

	if (it)
		return it;
	it = mem_alloc(1, sizeof(*it));
	*it = (struct listed){ s->manifest, mem_strdup(name), mem_strdup("") };
	s->manifest = it;
	return it;
}

static void take_line(struct state_store *s, char *line)
{
	char *space = strchr(line, ' ');
	struct listed *it;

	if (space)
		*space++ = '\0';
	if (!*line)
		return;
	it = list_file(s, line);
	free(it->summary);
	it->summary = mem_strdup(space ? space : "");
}

static void tell_manifest(struct state_store *s, const char *why)
{
	static const struct state_file manifest = { .name = MANIFEST };

	s->has_manifest = true;
	s->ops.lost(s->arg, &manifest, why, NULL, "");
}

static void read_manifest(struct state_store *s)
{
	char *path = path_of(s, MANIFEST), *rest = NULL;
	struct state_content c;
	enum state_said said = state_file_load(path, MANIFEST, &c);

	s->has_manifest = said == STATE_WHOLE;
	if (said == STATE_WHOLE)
		for (char *line = strtok_r(c.bytes, "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest))
			take_line(s, line);
	else if (said != STATE_ABSENT)
		tell_manifest(s, said == STATE_OLD ? "without its first and last line" : c.why);
	free(c.bytes);
	free(path);
}

static void write_manifest(void *arg, FILE *out)
{
	const struct state_store *s = arg;

	for (const struct listed *it = s->manifest; it; it = it->next)
		fprintf(out, "%s%s%s\n", it->name, *it->summary ? " " : "", it->summary);
}

/* Notes that the file is about to be written. True: the manifest is another by that. */
static bool note_summary(struct state_store *s, const struct state_file *file, const void *owner)
{
	bool fresh = !listed_of(s, file->name);
	struct listed *it = list_file(s, file->name);
	char *text = NULL;
	size_t length = 0;
	FILE *out;

	if (!file->summary)
		return fresh;
	out = open_memstream(&text, &length);
	file->summary(owner, out);
	fclose(out);
	for (char *c = text; *c; c++)
		if (*c == '\n')
			*c = ' ';
	fresh |= strcmp(text, it->summary) != 0;
	free(it->summary);
	it->summary = text;
	return fresh;
}

/* ---- Reading --------------------------------------------------------------------------------------- */

/* Out of the way, for people to look at. */
static void lose(struct state_store *s, const struct state_file *file, const char *why, bool keep)
{
	const struct listed *it = listed_of(s, file->name);
	char *path = path_of(s, file->name), *aside = mem_printf("%s.bad", path);
	bool kept = keep && rename(path, aside) == 0;

	s->ops.lost(s->arg, file, why, kept ? aside : NULL, it ? it->summary : "");
	free(path);
	free(aside);
}

/* Whole or old, and nothing speaks against using it. */
static int judge(struct state_store *s, const struct state_file *file, enum state_said said,
		 const struct state_content *c)
{
	bool listed = listed_of(s, file->name) != NULL;

	if (said == STATE_ABSENT && !listed)
		return -ENOENT;
	if (said == STATE_ABSENT)
		lose(s, file, "is gone", false);
	else if (said == STATE_DAMAGED)
		lose(s, file, c->why, true);
	else if (said == STATE_OLD && listed && !c->length)
		lose(s, file, "empty", true);
	else if (said == STATE_OLD && listed && !file->read)
		lose(s, file, "without its first and last line", true);
	else
		return 0;
	return -EINVAL;
}

/* A change of role may come before the disk has what was true before. */
static bool from_memory(struct state_store *s, const struct state_file *file, char **content,
			size_t *length)
{
	const struct kept *k = kept_of(s, file);

	if (!k->held)
		return false;
	*content = mem_alloc(k->held_length + 1, 1);
	memcpy(*content, k->held, k->held_length);
	*length = k->held_length;
	return true;
}

/* Its owner is known by then. */
static void reform(struct state_store *s, const struct state_file *file)
{
	struct kept *k = kept_of(s, file);

	k->reform = true;
	state_store_changed(s, file, k->owner);
}

int state_store_load(struct state_store *s, const struct state_file *file, void *owner,
		     char **content, size_t *length)
{
	struct state_content c;
	enum state_said said;
	char *path;
	int status;

	kept_of(s, file)->owner = owner;
	if (from_memory(s, file, content, length))
		return 0;
	path = path_of(s, file->name);
	said = state_file_load(path, file->name, &c);
	status = judge(s, file, said, &c);
	free(path);
	if (!status && said == STATE_WHOLE && !s->has_manifest && !s->manifest_due)
		tell_manifest(s, "is gone");
	if (!status && said == STATE_OLD && listed_of(s, file->name))
		s->ops.foreign(s->arg, file);
	if (said == STATE_OLD || status == -EINVAL)
		reform(s, file);
	if (status)
		free(c.bytes);
	*content = status ? NULL : c.bytes;
	*length = status ? 0 : c.length;
	return status;
}

int state_store_read(struct state_store *s, const struct state_file *file, void *owner)
{
	char *content, why[128];
	size_t length;
	int status = state_store_load(s, file, owner, &content, &length);
	unsigned bad;
	FILE *in;

	if (status)
		return status;
	in = length ? fmemopen(content, length, "r") : fopen("/dev/null", "r");
	bad = in ? file->read(owner, in) : 1;
	if (bad) {
		snprintf(why, sizeof(why), "line %u is not %s", bad, file->form);
		file->forget(owner);
		lose(s, file, why, true);
		reform(s, file);
		status = -EINVAL;
	}
	if (in)
		fclose(in);
	free(content);
	return status;
}

/* ---- Which to write, and when ---------------------------------------------------------------------- */

static unsigned lane_of(const struct state_file *file)
{
	return file->gather_us ? GATHERED : AT_ONCE;
}

static bool wants(const struct kept *k)
{
	return (k->due || k->held) && !k->lane;
}

/* When the manifest is written alone, if no file takes it along. */
static uint64_t manifest_us(const struct state_store *s)
{
	uint64_t soon = loop_now_us(s->loop) + MANIFEST_US;

	return s->manifest_at_us > soon ? s->manifest_at_us : soon;
}

/* The next time that something is to be done; UINT64_MAX = never. */
static uint64_t next_us(const struct state_store *s)
{
	uint64_t now = loop_now_us(s->loop), next = UINT64_MAX;

	for (unsigned i = 0; i < LANES; i++)
		if (s->lanes[i].pid && now + s->lanes[i].wait_us < next)
			next = now + s->lanes[i].wait_us;
	for (const struct kept *k = s->files; k; k = k->next)
		if (wants(k) && !s->lanes[lane_of(k->file)].pid && k->at_us < next)
			next = k->at_us;
	if (s->manifest_due && !s->lanes[AT_ONCE].pid && manifest_us(s) < next)
		next = manifest_us(s);
	return next;
}

static void schedule(struct state_store *s)
{
	uint64_t now = loop_now_us(s->loop), next = next_us(s);

	if (next == UINT64_MAX)
		loop_timer_stop(s->timer);
	else
		loop_timer_set(s->timer, next > now ? next - now : 0);
}

void state_store_changed(struct state_store *s, const struct state_file *file, void *owner)
{
	struct kept *k = kept_of(s, file);
	uint64_t now = loop_now_us(s->loop);
	uint64_t most = file->gather_max_us ? file->gather_max_us : file->gather_us;

	k->owner = owner;
	if (!k->due)
		k->since_us = now;
	k->due = true;
	k->in_memory = k->failed = false;
	k->at_us = now + file->gather_us < k->since_us + most ? now + file->gather_us
							      : k->since_us + most;
	schedule(s);
}

void state_store_unchanged(struct state_store *s, const struct state_file *file)
{
	struct kept *k = kept_of(s, file);

	k->due = k->reform;
	schedule(s);
}

bool state_store_is_due(const struct state_store *s, const struct state_file *file)
{
	return kept_of((struct state_store *)s, file)->due;
}

bool state_store_waits(const struct state_store *s, const char *name)
{
	for (const struct kept *k = s->files; k; k = k->next)
		if (!strcmp(k->file->name, name))
			return k->lane || k->held || (k->due && !k->failed);
	return false;
}

/* ---- Writing --------------------------------------------------------------------------------------- */

struct source { /* of a file's content */
	const struct state_store *store;
	const struct kept *kept;
};

static void write_content(void *arg, FILE *out)
{
	const struct source *source = arg;
	const struct kept *k = source->kept;

	if (k->held)
		fwrite(k->held, 1, k->held_length, out);
	else
		k->file->write(k->owner, out);
}

static int write_file(struct state_store *s, const struct kept *k)
{
	struct source source = { s, k };
	char *path = path_of(s, k->file->name);
	int status = state_file_save(path, k->file->name, write_content, &source);

	free(path);
	return status;
}

static int write_list(struct state_store *s)
{
	char *path = path_of(s, MANIFEST);
	int status = state_file_save(path, MANIFEST, write_manifest, s);

	free(path);
	return status;
}

/* What is live is newer than what is held. */
static void take_up(struct state_store *s, struct kept *k, bool live)
{
	k->lane_held = !live;
	if (live) {
		free(k->held);
		k->held = NULL;
		s->manifest_due |= note_summary(s, k->file, k->owner);
	}
	if (live || k->in_memory)
		k->due = k->in_memory = k->reform = false;
}

static void wrote(struct state_store *s, struct kept *k, int status)
{
	k->failed = status != 0;
	if (status) {
		k->due |= !k->lane_held && k->owner;
		k->at_us = s->retry_us ? loop_now_us(s->loop) + s->retry_us : UINT64_MAX;
	} else if (k->lane_held) {
		free(k->held);
		k->held = NULL;
	}
	k->lane_held = false;
	s->ops.wrote(s->arg, k->file, status);
}

/* The child: one status a file, in the order of the lane. The manifest goes last: what it lists is there. */
static void write_and_exit(struct state_store *s, const struct lane *lane, int said)
{
	bool all = true;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* the next daemon writes beside as well */
	for (unsigned i = 0; i < lane->count; i++) {
		int status = write_file(s, lane->files[i]);

		all &= !status;
		if (write(said, &status, sizeof(status)) != sizeof(status))
			_exit(1);
	}
	_exit(lane->lists && (!all || write_list(s)));
}

static void write_here(struct state_store *s, struct lane *lane)
{
	for (unsigned i = 0; i < lane->count; i++) {
		struct kept *k = lane->files[i];

		k->lane = NULL;
		wrote(s, k, write_file(s, k));
	}
	if (s->manifest_due)
		s->manifest_due = write_list(s) != 0;
	lane->count = 0;
}

/* Only one of them at a time. */
static bool may_list(const struct state_store *s)
{
	return s->manifest_due && loop_now_us(s->loop) >= s->manifest_at_us &&
	       !s->lanes[AT_ONCE].lists && !s->lanes[GATHERED].lists;
}

static void start(struct state_store *s, struct lane *lane)
{
	int ends[2] = { -1, -1 };

	lane->lists = may_list(s);
	if (!lane->count && !lane->lists)
		return;
	if (pipe(ends) == 0)
		lane->pid = fork();
	if (ends[0] >= 0 && !lane->pid)
		write_and_exit(s, lane, ends[1]);
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
	lane->wait_us = REAP_MIN_US;
	s->manifest_due &= !lane->lists;
}

static void fill(struct state_store *s, unsigned number, bool all)
{
	struct lane *lane = &s->lanes[number];
	uint64_t now = loop_now_us(s->loop);

	for (struct kept *k = s->files; k && lane->count < LANE_FILES; k = k->next) {
		bool live;

		if (!wants(k) || lane_of(k->file) != number || (!all && k->at_us > now))
			continue;
		live = k->due && !k->in_memory;
		if (live && !all && !s->ops.may_write(s->arg)) {
			k->at_us = now + MAY_NOT_US;
			live = false;
			if (!k->held)
				continue;
		}
		take_up(s, k, live);
		k->lane = lane;
		lane->files[lane->count++] = k;
	}
}

/* ---- Children that end ----------------------------------------------------------------------------- */

/* With retry_us 0 the next change of what it lists brings it again, and that alone. */
static void manifest_wrote(struct state_store *s, int code)
{
	s->manifest_at_us = code ? loop_now_us(s->loop) + s->retry_us : 0;
	s->manifest_due |= code && s->retry_us;
}

static void close_lane(struct state_store *s, struct lane *lane, int code)
{
	unsigned count = lane->count;
	struct kept *files[LANE_FILES];

	memcpy(files, lane->files, sizeof(files));
	lane->pid = 0;
	lane->count = 0;
	for (unsigned i = 0; i < count; i++) {
		int status = -EIO; /* it was killed ahead of that */

		if (read(lane->said, &status, sizeof(status)) != sizeof(status))
			status = -EIO;
		files[i]->lane = NULL;
		wrote(s, files[i], status);
	}
	close(lane->said);
	if (lane->lists)
		manifest_wrote(s, code);
	lane->lists = false;
}

/* False: it is at it still. */
static bool reap(struct state_store *s, struct lane *lane, int how)
{
	int status = 0;
	pid_t done;

	do
		done = waitpid(lane->pid, &status, how);
	while (done < 0 && errno == EINTR);
	if (!done)
		return false;
	close_lane(s, lane, done > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EIO);
	return true;
}

/* In a simulated loop time stands still while a child works. */
static int patience(const struct state_store *s)
{
	return loop_is_simulated(s->loop) ? 0 : WNOHANG;
}

static void step(void *arg)
{
	struct state_store *s = arg;

	for (unsigned i = 0; i < LANES; i++) {
		struct lane *lane = &s->lanes[i];

		if (lane->pid && !reap(s, lane, patience(s)))
			lane->wait_us =
				lane->wait_us < REAP_MAX_US / 2 ? 2 * lane->wait_us : REAP_MAX_US;
		if (lane->pid)
			continue;
		fill(s, i, false);
		start(s, lane);
	}
	schedule(s);
}

/* ---- The end, and a change of role ------------------------------------------------------------------ */

static void render(struct state_store *s, struct kept *k)
{
	FILE *out;

	if (k->due && k->in_memory)
		return; /* of an owner before, and nothing is newer */
	free(k->held);
	k->held = NULL;
	out = open_memstream(&k->held, &k->held_length);
	s->manifest_due |= note_summary(s, k->file, k->owner);
	k->file->write(k->owner, out);
	fclose(out);
	k->due = k->in_memory = true;
	k->lane_held = false; /* what is on its way is older */
	k->at_us = loop_now_us(s->loop);
}

void state_store_detach(struct state_store *s, bool drop)
{
	for (struct kept *k = s->files; k; k = k->next) {
		if (drop)
			k->due &= k->in_memory;
		else if (k->owner && (k->due || k->lane))
			render(s, k);
		k->failed = false;
		k->owner = NULL;
	}
	schedule(s);
}

void state_store_flush(struct state_store *s, bool drop)
{
	for (unsigned i = 0; i < LANES; i++)
		if (s->lanes[i].pid)
			reap(s, &s->lanes[i], 0);
	for (struct kept *k = s->files; k; k = k->next)
		k->due &= !drop || k->in_memory;
	for (unsigned i = 0; i < LANES; i++) {
		fill(s, i, true);
		write_here(s, &s->lanes[i]);
	}
}

/* ---- Life ------------------------------------------------------------------------------------------ */

struct state_store *state_store_new(struct loop *loop, const char *folder, void *arg,
				    const struct state_ops *ops)
{
	struct state_store *s = mem_alloc(1, sizeof(*s));

	*s = (struct state_store){
		.loop = loop, .folder = mem_strdup(folder), .arg = arg, .ops = *ops
	};
	s->timer = loop_timer_new(loop, step, s);
	read_manifest(s);
	return s;
}

void state_store_retry(struct state_store *s, uint64_t retry_us)
{
	s->retry_us = retry_us;
}

static void kept_free(struct state_store *s)
{
	while (s->files) {
		struct kept *k = s->files;

		s->files = k->next;
		free(k->held);
		free(k);
	}
	while (s->manifest) {
		struct listed *it = s->manifest;

		s->manifest = it->next;
		free(it->name);
		free(it->summary);
		free(it);
	}
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
	kept_free(s);
	free(s->folder);
	free(s);
}
