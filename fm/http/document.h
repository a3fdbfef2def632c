/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * document: /api/v1/NAME, the document of `fmctl --json NAME`, for those commands whose row has a
 * document. All of them only read.
 */
#ifndef FMD_HTTP_DOCUMENT_H
#define FMD_HTTP_DOCUMENT_H

#include "fm/control/answer.h"
#include "fm/http/request.h"

/*
 * Answers with the document of that name: at once, or later by a child, *request then being
 * libmicrohttpd's pointer; 404, 400 or 503 with the reason where there is none. Returns
 * libmicrohttpd's verdict: MHD_NO = the connection is to be closed.
 */
enum MHD_Result document_reply(struct requests *all, const struct command_env *env,
			       struct MHD_Connection *connection, const char *name, void **request);

#endif
