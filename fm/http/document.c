/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * document: short documents are made at once, documents that grow with the fabric by a child. A
 * page of rows is cut from the whole document there, in the child's time.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/fabric/view.h"
#include "fm/http/child_reply.h"
#include "fm/http/document.h"
#include "fm/http/query.h"
#include "fm/http/reply.h"
#include "topology/mem.h"

struct document {
	const struct command_env *env;
	struct query query;
	bool gzip;
	char *if_none_match; /* NULL = none */
};

static void document_free(void *arg)
{
	struct document *d = arg;

	json_decref(d->query.args);
	free(d->if_none_match);
	free(d);
}

/* The command of a document; NULL = there is none, or it is not read-only. */
static const struct command *document_find(const char *name)
{
	const struct command *command = command_find(name);

	return command && command->document && command->read_only ? command : NULL;
}

static enum MHD_Result take_option(void *arg, enum MHD_ValueKind kind, const char *key,
				   const char *value)
{
	query_take(arg, key, value);
	return MHD_YES;
}

/* The document, or NULL with the reason. *rows: how many there are in all, if it was paged. */
static json_t *make(const struct document *d, uint64_t *rows, char err[COMMAND_ERROR_SIZE])
{
	const struct query *query = &d->query;
	json_t *result = command_answer(d->env, query->command, query->args, err);

	*rows = CHILD_REPLY_UNKNOWN;
	if (!result || !query->paged)
		return result;
	if (!query_has_rows(query, result)) {
		json_decref(result);
		return command_refuse(err,
				      "this document has no rows: offset= and limit= do not apply");
	}
	*rows = query_page(query, &result);
	return result;
}

/* ---- By a child ------------------------------------------------------------------------------ */

static int write_refusal(FILE *out, const char *why)
{
	json_t *document = json_pack("{s:s}", "error", why);
	char *text = document ? json_dumps(document, JSON_COMPACT) : strdup("{}");
	const struct child_head head = { .code = MHD_HTTP_BAD_REQUEST,
					 .type = REPLY_JSON,
					 .len = strlen(text),
					 .rows = CHILD_REPLY_UNKNOWN };

	child_reply_head(out, &head);
	fputs(text, out);
	return 0;
}

static int child_write(void *arg, FILE *out)
{
	const struct document *d = arg;
	const struct encode_wish wish = { d->gzip, d->if_none_match };
	struct child_head head = { .code = MHD_HTTP_OK, .type = REPLY_JSON };
	char err[COMMAND_ERROR_SIZE] = "";
	json_t *result = make(d, &head.rows, err);
	char *text = result ? json_dumps(result, JSON_COMPACT) : NULL;
	struct encoded body;

	if (!text)
		return write_refusal(out, err);
	body = encode_body(&wish, text, strlen(text));
	head.gzip = body.gzip;
	head.len = body.len;
	memcpy(head.tag, body.tag, sizeof(head.tag));
	if (!body.body)
		head.code = MHD_HTTP_NOT_MODIFIED;
	child_reply_head(out, &head);
	if (body.body)
		fwrite(body.body, 1, body.len, out);
	return 0;
}

static const struct child_reply_ops by_child = { child_write, document_free };

/* ---- Requests -------------------------------------------------------------------------------- */

static enum MHD_Result answer_now(struct document *d, struct MHD_Connection *connection)
{
	char err[COMMAND_ERROR_SIZE] = "";
	uint64_t rows;
	json_t *result = make(d, &rows, err);

	document_free(d);
	return result ? reply_json(connection, result)
		      : reply_refuse(connection, MHD_HTTP_BAD_REQUEST, err);
}

static enum MHD_Result answer(struct requests *all, struct document *d,
			      struct MHD_Connection *connection, void **request)
{
	bool by_now = !command_is_long(d->query.command, d->query.args);

	if (*d->query.error) {
		char why[QUERY_ERROR];

		strcpy(why, d->query.error);
		document_free(d);
		return reply_refuse(connection, MHD_HTTP_BAD_REQUEST, why);
	}
	if (by_now && !d->query.paged)
		return answer_now(d, connection);
	if (!fabric_view(d->env->fabric).topo) {
		document_free(d);
		return reply_refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "no topology yet");
	}
	return child_reply(all, connection, &by_child, d, request);
}

enum MHD_Result document_reply(struct requests *all, const struct command_env *env,
			       struct MHD_Connection *connection, const char *name, void **request)
{
	const struct command *command = document_find(name);
	const struct encode_wish wish = reply_wish(connection);
	struct document *d;

	if (!command)
		return reply_refuse(connection, MHD_HTTP_NOT_FOUND, "no such document");
	d = mem_alloc(1, sizeof(*d));
	*d = (struct document){ .env = env,
				.query = { .command = command, .args = json_object() },
				.gzip = wish.gzip };
	if (wish.if_none_match)
		d->if_none_match = mem_strdup(wish.if_none_match);
	MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, take_option, &d->query);
	if (*command->document && !json_object_get(d->query.args, "format"))
		json_object_set_new(d->query.args, "format", json_string(command->document));
	return answer(all, d, connection, request);
}
