/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * document: short documents are made at once, documents that grow with the fabric by a child
 * (fm/loop/child.h), so that they do not hold the loop. A page of rows is cut from the whole
 * document there, in the child's time.
 *
 * The child writes its head and then the body, which is passed on no faster than the client reads.
 * The response begins when the head has come, so the child decides its code, encoding and tag.
 */
#include <inttypes.h>
#include "fm/control/option.h"
#include "fm/http/document.h"
#include "fm/http/query.h"
#include "fm/loop/child.h"
#include "fm/os/listener.h"
#include "topology/base/mem.h"

#define CHILDREN_MAX 16 /* at a time */
#define PER_CLIENT   8	/* for one address, which may read slowly */
#define OUT_HIGH                                                                                   \
	(256 << 10)    /* bytes not yet sent to the client from which on the child is paused */
#define PIECE	 65536 /* of a response, at most so many bytes at a time */
#define NO_COUNT UINT64_MAX

struct child_head { /* what the child writes first */
	unsigned code;
	uint64_t len;	      /* of the body */
	uint64_t rows;	      /* X-Total-Count, or NO_COUNT */
	bool gzip;	      /* the body is */
	char tag[ENCODE_TAG]; /* "" = none */
};

struct reply {
	struct request request; /* while a child is to write it */
	const struct command_env *env;
	struct query query;
	bool gzip;
	char *if_none_match; /* NULL = none */
	char client[SERVE_ADDRESS];
	bool waits, started; /* for its child; it had one */
	struct child *child; /* NULL = it has ended */
	bool whole;	     /* and the body is complete */
	struct bytes had;    /* received from the child and not passed on */
};

static void reply_free(struct reply *r)
{
	json_decref(r->query.args);
	free(r->if_none_match);
	free(r->had.data);
	free(r);
}

static void reply_end(struct request *request)
{
	struct reply *r = (struct reply *)request;

	request_fini(request);
	child_kill(r->child);
	reply_free(r);
}

static enum MHD_Result take_option(void *arg, enum MHD_ValueKind kind, const char *key,
				   const char *value)
{
	query_take(arg, key, value);
	return MHD_YES;
}

/* The document, or NULL with the reason. *rows: how many there are in all, if it was paged. */
static json_t *make(const struct reply *r, uint64_t *rows, char err[COMMAND_ERROR_SIZE])
{
	const struct query *query = &r->query;
	json_t *result = command_answer(r->env, query->command, query->args, err);

	*rows = NO_COUNT;
	if (!result || !query->paged)
		return result;
	if (!command_rows(query->command, result)) {
		json_decref(result);
		return command_refuse(err,
				      "this document has no rows: offset= and limit= do not apply");
	}
	*rows = query_page(query, &result);
	return result;
}

/* ---- The child ------------------------------------------------------------------------------- */

static int child_write(void *arg, FILE *out)
{
	const struct reply *r = arg;
	const struct encode_wish wish = { r->gzip, r->if_none_match };
	struct child_head head = { .code = MHD_HTTP_OK };
	char err[COMMAND_ERROR_SIZE] = "";
	json_t *result = make(r, &head.rows, err);
	char *text = result ? json_dumps(result, JSON_COMPACT) : NULL;

	struct encoded body;

	if (text) {
		body = encode_body(&wish, text, strlen(text));
	} else {
		result = json_pack("{s:s}", "error", err);
		text = result ? json_dumps(result, JSON_COMPACT) : strdup("{}");
		body = (struct encoded){ .body = text, .len = strlen(text) };
		head.code = MHD_HTTP_BAD_REQUEST;
		head.rows = NO_COUNT;
	}
	head.gzip = body.gzip;
	head.len = body.len;
	memcpy(head.tag, body.tag, sizeof(head.tag));
	if (!body.body)
		head.code = MHD_HTTP_NOT_MODIFIED;
	fwrite(&head, sizeof(head), 1, out);
	if (body.body)
		fwrite(body.body, 1, body.len, out);
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
	if (head.rows != NO_COUNT) {
		array_printf(rows, "%" PRIu64, head.rows);
		MHD_add_response_header(response, "X-Total-Count", rows);
	}
	return reply_queue(request->connection, head.code, REPLY_JSON, *head.tag ? head.tag : NULL,
			   head.gzip, response);
}

static const struct request_ops reply_ops = { reply_go_on, reply_end };

void document_start(void *requests)
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

/*
 * Whether a client has to wait for children to end. A reply whose child has ended costs no more
 * than its text.
 */
static bool is_full(const struct requests *all, const char *client)
{
	unsigned count = 0, same = 0;

	for (const struct request *other = all->first; other; other = other->next) {
		const struct reply *reply = (const struct reply *)other;

		if (other->ops != &reply_ops || (!reply->child && !reply->waits))
			continue;
		count++;
		same += !strcmp(reply->client, client);
	}
	return count >= CHILDREN_MAX || same >= PER_CLIENT;
}

enum MHD_Result document_reply(struct requests *all, const struct command_env *env,
			       struct MHD_Connection *connection, const char *name, void **request)
{
	/* The command of a document; NULL = there is none, or it is not read-only. */
	const struct command *found = command_find(name);
	const struct command *command = found && found->document && found->read_only ? found : NULL;
	const struct encode_wish wish = reply_wish(connection);
	char why[COMMAND_ERROR_SIZE] = "";
	unsigned code = MHD_HTTP_BAD_REQUEST;
	bool later = false;
	json_t *result = NULL;
	uint64_t rows;

	if (!command)
		return reply_refuse(connection, MHD_HTTP_NOT_FOUND, "no such document");

	struct reply *r = mem_new(r);

	*r = (struct reply){ .env = env,
			     .query = { .command = command, .args = json_object() },
			     .gzip = wish.gzip };
	if (wish.if_none_match)
		r->if_none_match = mem_strdup(wish.if_none_match);
	MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, take_option, &r->query);
	if (*command->document && !json_object_get(r->query.args, "format"))
		json_object_set_new(r->query.args, "format", json_string(command->document));
	serve_client(connection, r->client);
	if (*r->query.error) {
		strcpy(why, r->query.error);
	} else if (!r->query.paged && !command_is_long(command, r->query.args)) {
		result = make(r, &rows, why);
	} else if (!fabric_view(env->fabric).topo) {
		code = MHD_HTTP_SERVICE_UNAVAILABLE;
		strcpy(why, "no topology yet");
	} else {
		if (command->run->before)
			command->run->before(env, r->query.args);
		code = MHD_HTTP_SERVICE_UNAVAILABLE;
		strcpy(why, "too many long answers at a time");
		later = !is_full(all, r->client);
	}
	if (!later) {
		reply_free(r);
		return result ? reply_json(connection, result)
			      : reply_refuse(connection, code, why);
	}
	request_init(&r->request, &reply_ops, all, connection);
	r->waits = true;
	loop_timer_set(all->starter, listener_rest_us(all->loop));
	*request = r;
	return reply_go_on(&r->request);
}
