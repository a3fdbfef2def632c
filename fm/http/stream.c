/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * stream: each stream has the sequence number of the event that it sends next, and reads it from
 * the log of events when its connection takes more: a client costs a cursor and one frame. Events
 * and the timer of the status resume all streams; the status document is made once for all of them.
 */
#include <errno.h>
#include "fm/http/stream.h"
#include "topology/base/mem.h"

#define STATUS_US 2000000
#define PIECE	  16384 /* of a response, at most so many bytes at a time */
#define BATCH	  64	/* events that are written as text at a time */
#define RETRY	  "retry: 1000\n\n"

struct streams {
	struct requests *all;
	struct fabric *fabric;
	struct loop_timer *timer;
	unsigned count;
	char *status; /* the frame, shared */
	uint64_t status_serial;
};

struct stream {
	struct request request;
	struct streams *streams;
	json_int_t next;	/* the sequence number of its next event */
	uint64_t status_serial; /* of the status that it was sent */
	char *out;		/* what is being sent; NULL = nothing */
	size_t start, end;
};

/* ---- Frames ---------------------------------------------------------------------------------- */

static json_int_t seq_of(const json_t *event)
{
	return json_integer_value(json_object_get(event, "seq"));
}

/* The sequence number that the next event will have. */
static json_int_t next_seq(const struct streams *streams)
{
	json_t *newest = fabric_events(streams->fabric, 1);
	json_int_t next = json_array_size(newest) ? seq_of(json_array_get(newest, 0)) + 1 : 0;

	json_decref(newest);
	return next;
}

/* Fills the empty buffer; false = there is nothing to send. */
static bool fill(struct stream *s)
{
	free(s->out);
	s->out = NULL;
	s->start = s->end = 0;

	FILE *out = open_memstream(&s->out, &s->end);

	/* Events from the stream's next one on, some of them. */
	json_int_t missing = next_seq(s->streams) - s->next;

	if (missing > 0) {
		json_t *events = fabric_events(s->streams->fabric,
					       missing < UINT32_MAX ? missing : UINT32_MAX);
		const json_t *first = json_array_get(events, 0);

		if (first && seq_of(first) > s->next)
			fprintf(out, "event: gap\ndata: {\"lost\":%" JSON_INTEGER_FORMAT "}\n\n",
				seq_of(first) - s->next);
		JSON_EACH (event, events) {
			if (event_at == BATCH)
				break;
			fprintf(out, "id: %" JSON_INTEGER_FORMAT "\nevent: event\ndata: ",
				seq_of(event));
			json_dumpf(event, out, JSON_COMPACT);
			fputs("\n\n", out);

			s->next = seq_of(event) + 1;
		}
		json_decref(events);
	}

	if (s->status_serial != s->streams->status_serial) {
		s->status_serial = s->streams->status_serial;
		fputs(s->streams->status, out);
	}

	fclose(out);
	return s->end;
}

static ssize_t body_read(void *arg, uint64_t pos, char *to, size_t most)
{
	struct stream *s = arg;

	if (s->start == s->end && !fill(s)) {
		request_suspend(&s->request);
		return 0;
	}

	size_t len = s->end - s->start < most ? s->end - s->start : most;

	memcpy(to, s->out + s->start, len);
	s->start += len;
	return len;
}

/* ---- What wakes them ------------------------------------------------------------------------- */

static enum MHD_Result stream_go_on(struct request *request)
{
	return MHD_YES; /* a stream's response is queued when it begins */
}

static void stream_end(struct request *request)
{
	struct stream *s = (struct stream *)request;

	request_fini(request);
	if (!--s->streams->count) {
		fabric_unfollow(s->streams->fabric, s->streams);
		loop_timer_stop(s->streams->timer);
	}
	free(s->out);
	free(s);
}

static const struct request_ops stream_ops = { stream_go_on, stream_end };

static void wake_all(void *arg, const json_t *event)
{
	const struct streams *streams = arg;

	for (struct request *r = streams->all->first; r; r = r->next)
		if (r->ops == &stream_ops)
			request_resume(r);
}

static void make_status(struct streams *streams)
{
	json_t *status = fabric_status(streams->fabric);
	size_t len;

	free(streams->status);

	FILE *out = open_memstream(&streams->status, &len);

	fputs("event: status\ndata: ", out);
	json_dumpf(status, out, JSON_COMPACT);
	fputs("\n\n", out);
	fclose(out);
	json_decref(status);
	streams->status_serial++;
}

static void timer_cb(void *arg)
{
	struct streams *streams = arg;

	make_status(streams);
	wake_all(streams, NULL);
	loop_timer_set(streams->timer, STATUS_US);
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* The event to begin with. An id that was never given is of an earlier run: its events are lost. */
static json_int_t first_seq(const struct streams *streams, struct MHD_Connection *connection,
			    bool *lost)
{
	const char *id = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Last-Event-ID");
	json_int_t next = next_seq(streams);
	char *end;

	if (!id)
		id = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "since");
	*lost = false;
	if (!id || !*id)
		return next;
	errno = 0;

	long long last = strtoll(id, &end, 10);

	*lost = *end || errno || last < -1 || last >= next;
	return *lost ? next : last + 1;
}

enum MHD_Result stream_reply(struct streams *streams, struct MHD_Connection *connection,
			     void **request)
{
	bool lost;

	if (streams->count >= STREAMS_MAX)
		return reply_refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "too many streams");
	if (!streams->count++) {
		fabric_follow(streams->fabric, wake_all, streams);
		make_status(streams);
		loop_timer_set(streams->timer, STATUS_US);
	}

	struct stream *s = mem_new(s);

	request_init(&s->request, &stream_ops, streams->all, connection);
	s->streams = streams;
	s->next = first_seq(streams, connection, &lost);

	/* What a stream begins with. */
	FILE *out = open_memstream(&s->out, &s->end);

	fputs(RETRY, out);
	if (lost)
		fputs("event: gap\ndata: {\"lost\":null}\n\n", out);
	fclose(out);

	*request = s;
	return reply_queue(
		connection, MHD_HTTP_OK, "text/event-stream", NULL, false,
		MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, body_read, s, NULL));
}

struct streams *streams_new(struct requests *all, struct fabric *fabric)
{
	struct streams *streams = mem_new(streams);

	streams->all = all;
	streams->fabric = fabric;
	streams->timer = loop_timer_new(all->loop, timer_cb, streams);
	return streams;
}

void streams_free(struct streams *streams)
{
	if (!streams)
		return;
	loop_timer_free(streams->timer);
	free(streams->status);
	free(streams);
}
