/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * document: /api/v1/NAME, the document of `fmctl --json NAME`, for those commands whose row has a
 * document. All of them only read.
 */
#ifndef FMD_HTTP_DOCUMENT_H
#define FMD_HTTP_DOCUMENT_H

#include "fm/control/answer.h"
#include "fm/http/request.h"

enum MHD_Result document_reply(struct requests *all, const struct command_env *env,
			       struct MHD_Connection *connection, const char *name, void **request);

#endif
