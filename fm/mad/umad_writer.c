/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <complib/cl_qlist.h>
#include <infiniband/umad.h>
#include "fm/mad/umad_own.h"
#include "fm/loop/child.h"
#include "topology/base/mem.h"

#define LIDS	   0xC000 /* unicast */
#define HEADER_MAX 128	  /* of umad */
#define HEAD_MAX   256

/* Belongs to the loop, then to the thread, then to the loop again. */
struct job {
	cl_list_item_t item; /* first */
	struct umad_answer answer;
	uint8_t address[HEADER_MAX], head[HEAD_MAX];
	int error;
};

struct level { /* what may be under way; runs out evenly */
	uint64_t bytes, at_us;
};

struct umad_writer {
	struct loop *loop;
	umad_written_fn *fn;
	void *arg;
	struct loop_fd *watch;
	int done_fd; /* how many are done, to the loop */
	unsigned left;
	struct level all, *each; /* by LID */
	size_t header;		 /* bytes of umad's */
	bool started;
	pthread_t thread;

	pthread_mutex_t lock; /* of all members from here on */
	pthread_cond_t given; /* signals the thread that todo or ends has changed */
	cl_qlist_t todo, done;
	bool ends;
};

/* ---- The thread ------------------------------------------------------------------------------ */

static int write_out(const struct umad_writer *w, const struct job *job)
{
	const struct umad_answer *a = &job->answer;
	uint8_t *umad = malloc(w->header + a->len), *mad = umad + w->header;
	int error = 0;

	if (!umad)
		return ENOMEM;
	memcpy(umad, job->address, w->header);
	memcpy(mad, job->head, a->head_len);
	memcpy(mad + a->head_len, a->body->data + a->head_len, a->len - a->head_len);
	errno = 0;
	if (umad_send(a->port, a->agent, umad, a->len, a->timeout_ms, a->retries))
		error = errno ? errno : EIO;
	free(umad);
	return error;
}

static void *thread_main(void *arg)
{
	struct umad_writer *w = arg;
	const uint64_t one = 1;

	for (;;) {
		pthread_mutex_lock(&w->lock);
		while (!w->ends && !cl_qlist_count(&w->todo))
			pthread_cond_wait(&w->given, &w->lock);

		struct job *job = w->ends ? NULL : (struct job *)cl_qlist_remove_head(&w->todo);

		pthread_mutex_unlock(&w->lock);
		if (!job)
			return NULL;
		job->error = write_out(w, job);
		pthread_mutex_lock(&w->lock);
		cl_qlist_insert_tail(&w->done, &job->item);
		pthread_mutex_unlock(&w->lock);

		ssize_t written = write(w->done_fd, &one, sizeof(one)); /* the counter holds 2^64 */

		(void)written;
	}
}

/* ---- The loop -------------------------------------------------------------------------------- */

static uint64_t level_now(const struct level *level, uint64_t most, uint64_t now_us)
{
	uint64_t gone_us = now_us - level->at_us;
	uint64_t gone =
		gone_us >= UMAD_WRITER_LIFE_US ? most : most / UMAD_WRITER_LIFE_US * gone_us;

	return level->bytes > gone ? level->bytes - gone : 0;
}

bool umad_writer_count(struct umad_writer *w, uint16_t lid, size_t len)
{
	uint64_t now = loop_now_us(w->loop);
	struct level *one = &w->each[lid < LIDS ? lid : 0];
	uint64_t each = level_now(one, UMAD_WRITER_EACH, now) + len;
	uint64_t all = level_now(&w->all, UMAD_WRITER_ALL, now) + len;

	if (each > UMAD_WRITER_EACH || all > UMAD_WRITER_ALL)
		return false;
	*one = (struct level){ each, now };
	w->all = (struct level){ all, now };
	return true;
}

unsigned umad_writer_left(const struct umad_writer *w)
{
	return w->left;
}

int umad_writer_give(struct umad_writer *w, const struct umad_answer *answer)
{
	int error = w->started ? 0 : thread_start(&w->thread, thread_main, w);

	if (error)
		return -error;
	w->started = true;
	if (!umad_writer_count(w, answer->lid, answer->len))
		return -EAGAIN;

	struct job *job = mem_new(job);

	job->answer = *answer;
	memcpy(job->address, answer->address, w->header);
	memcpy(job->head, answer->head, answer->head_len);
	answer->body->refs++;
	w->left++;
	pthread_mutex_lock(&w->lock);
	cl_qlist_insert_tail(&w->todo, &job->item);
	pthread_cond_signal(&w->given);
	pthread_mutex_unlock(&w->lock);
	return 0;
}

static void job_free(struct job *job)
{
	io_body_unref(job->answer.body);
	free(job);
}

static void drop(cl_qlist_t *jobs)
{
	cl_list_item_t *item;

	while ((item = cl_qlist_remove_head(jobs)) != cl_qlist_end(jobs))
		job_free((struct job *)item);
}

/* Reports one answer a round: fn may close the port, and free this writer with it. */
static void done_cb(void *arg, unsigned events)
{
	struct umad_writer *w = arg;
	struct job *job = NULL;
	uint64_t count;

	pthread_mutex_lock(&w->lock);
	if (cl_qlist_count(&w->done))
		job = (struct job *)cl_qlist_remove_head(&w->done);
	pthread_mutex_unlock(&w->lock);
	if (!job || read(w->done_fd, &count, sizeof(count)) != sizeof(count))
		return;

	struct umad_written written = { job->error, job->answer.lid, job->answer.len, --w->left };

	job_free(job);
	w->fn(w->arg, &written);
}

struct umad_writer *umad_writer_new(struct loop *loop, umad_written_fn *fn, void *arg)
{
	int done_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC | EFD_SEMAPHORE);

	if (done_fd < 0)
		return NULL;

	struct umad_writer *w = mem_new(w);

	w->loop = loop;
	w->fn = fn;
	w->arg = arg;
	w->header = umad_size();
	w->each = mem_array(w->each, LIDS);
	w->done_fd = done_fd;
	w->watch = loop_fd_new(loop, w->done_fd, LOOP_READ, done_cb, w);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->given, NULL);
	cl_qlist_init(&w->todo);
	cl_qlist_init(&w->done);
	return w;
}

void umad_writer_free(struct umad_writer *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->ends = true;
	pthread_cond_signal(&w->given);
	pthread_mutex_unlock(&w->lock);
	if (w->started)
		pthread_join(w->thread, NULL);
	drop(&w->todo);
	drop(&w->done);
	loop_fd_free(w->watch);
	close(w->done_fd);
	pthread_cond_destroy(&w->given);
	pthread_mutex_destroy(&w->lock);
	free(w->each);
	free(w);
}
