/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * child_reply: the child writes its head and then the body. The response begins when the head has
 * come, so the child decides its code, encoding and entity tag.
 */
#include <inttypes.h>
#include "fm/os/listener.h"
#include "fm/http/child_reply.h"
#include "topology/base/mem.h"

#define CHILDREN_MAX 16 /* at a time */
#define PER_CLIENT   8	/* for one address, which may read slowly */
#define OUT_HIGH                                                                                   \
	(256 << 10) /* bytes not yet sent to the client from which on the child is paused */
#define PIECE 65536 /* of a response, at most so many bytes at a time */

struct reply {
	struct request request;
	const struct child_reply_ops *ops;
	void *arg;
	char client[SERVE_ADDRESS];
	bool waits, started; /* for its child; it had one */
	struct child *child; /* NULL = it has ended */
	bool whole;	     /* and the body is complete */
	struct bytes had;    /* received from the child and not passed on */
};

static void reply_end(struct request *request)
{
	struct reply *r = (struct reply *)request;

	request_fini(request);
	child_kill(r->child);
	r->ops->free(r->arg);
	free(r->had.data);
	free(r);
}

/* ---- The child ------------------------------------------------------------------------------- */

static int child_write(void *arg, FILE *out)
{
	const struct reply *r = arg;

	if (r->ops->write(r->arg, out))
		return -1;
	return ferror(out) ? -1 : 0;
}

static void child_data(void *arg, const char *data, size_t len)
{
	struct reply *r = arg;

	bytes_add(&r->had, data, len);
	if (bytes_held(&r->had) > OUT_HIGH)
		child_pause(r->child, true);
	request_resume(&r->request);
}

static void child_end(void *arg, bool whole)
{
	struct reply *r = arg;

	r->child = NULL;
	r->whole = whole;
	request_resume(&r->request);
}

static const struct child_ops child_ops = { child_write, child_data, child_end };

/* ---- The response ---------------------------------------------------------------------------- */

/*
 * libmicrohttpd's callback for more of the body. If the child failed the connection is closed
 * without the last chunk, so that the client sees an incomplete document.
 */
static ssize_t body_read(void *arg, uint64_t pos, char *to, size_t most)
{
	struct reply *r = arg;
	size_t len = bytes_held(&r->had);

	if (!len && r->child) {
		request_suspend(&r->request);
		return 0;
	}
	if (!len)
		return r->whole ? MHD_CONTENT_READER_END_OF_STREAM
				: MHD_CONTENT_READER_END_WITH_ERROR;
	if (len > most)
		len = most;
	memcpy(to, r->had.data + r->had.start, len);
	r->had.start += len;
	if (r->child && bytes_held(&r->had) <= OUT_HIGH)
		child_pause(r->child, false);
	return len;
}

/* Queues the response when the child's head is there. */
static enum MHD_Result reply_go_on(struct request *request)
{
	struct reply *r = (struct reply *)request;
	struct MHD_Response *response;
	struct child_head head;
	char rows[24];

	if (bytes_held(&r->had) < sizeof(head) && (r->child || r->waits)) {
		request_suspend(request);
		return MHD_YES;
	}
	if (!r->started)
		return reply_refuse(request->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				    "cannot start a process for the answer");
	if (bytes_held(&r->had) < sizeof(head))
		return reply_refuse(request->connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
				    "the answer could not be written");
	mem_copy(&head, r->had.data + r->had.start, 1);
	r->had.start += sizeof(head);
	if (head.len)
		response = MHD_create_response_from_callback(head.len, PIECE, body_read, r, NULL);
	else
		response = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
	if (head.rows != CHILD_REPLY_UNKNOWN) {
		array_printf(rows, "%" PRIu64, head.rows);
		MHD_add_response_header(response, "X-Total-Count", rows);
	}
	return reply_queue(request->connection, head.code, head.type, *head.tag ? head.tag : NULL,
			   head.gzip, response);
}

static const struct request_ops reply_ops = { reply_go_on, reply_end };

void child_reply_start(void *requests)
{
	struct requests *all = requests;
	struct reply *oldest = NULL;
	uint64_t began = loop_clock_us(all->loop);
	unsigned count = 0;

	for (struct request *request = all->first; request; request = request->next) {
		struct reply *r = (struct reply *)request;

		if (request->ops != &reply_ops || !r->waits)
			continue;
		oldest = r;
		count++;
	}
	if (oldest && !listener_rest_us(all->loop)) {
		oldest->waits = false;
		oldest->child = child_start(all->children, &child_ops, oldest, -1);
		listener_worked(all->loop, began);
		oldest->started = oldest->child;
		if (!oldest->child)
			request_resume(&oldest->request);
		count--;
	}
	if (count)
		loop_timer_set(all->starter, listener_rest_us(all->loop));
}

enum MHD_Result child_reply(struct requests *all, struct MHD_Connection *connection,
			    const struct child_reply_ops *ops, void *arg, void **request)
{
	struct reply *r = mem_new(r);

	serve_client(connection, r->client);

	/*
	 * Whether a client has to wait for children to end. A reply whose child has ended costs no
	 * more than its text.
	 */
	unsigned count = 0, same = 0;

	for (const struct request *other = all->first; other; other = other->next) {
		const struct reply *reply = (const struct reply *)other;

		if (other->ops != &reply_ops || (!reply->child && !reply->waits))
			continue;
		count++;
		same += !strcmp(reply->client, r->client);
	}

	bool full = count >= CHILDREN_MAX || same >= PER_CLIENT;

	request_init(&r->request, &reply_ops, all, connection);
	r->ops = ops;
	r->arg = arg;
	if (full) {
		reply_end(&r->request);
		return reply_refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				    "too many long answers at a time");
	}
	r->waits = true;
	loop_timer_set(all->starter, listener_rest_us(all->loop));
	*request = r;
	return reply_go_on(&r->request);
}
