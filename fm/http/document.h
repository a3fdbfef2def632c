/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* document: /api/v1/NAME, made at once, or by a child process where it grows with the fabric. */
#pragma once

#include "fm/control/answer.h"
#include "fm/http/serve.h"

/*
 * The callback of requests.starter, with the requests as argument: starts the child that waits
 * longest. One a turn of the loop, as at 16,384 HCAs each takes some milliseconds of it.
 */
void document_start(void *requests);
/*
 * Answers with the document of that name: at once, or later by a child, *request then being
 * libmicrohttpd's pointer; 404, 400 or 503 with the reason where there is none, too many are being
 * written, in all or for this client, or no process can be started. Returns libmicrohttpd's
 * verdict: MHD_NO = the connection is to be closed.
 */
enum MHD_Result document_reply(struct requests *all, const struct command_env *env,
			       struct MHD_Connection *connection, const char *name, void **request);
