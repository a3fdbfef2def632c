/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * control: the operators' door: a Unix stream socket. Who may read and who may operate is decided
 * by the client's credentials (peer.h). One request is one line, a JSON object {"cmd": "...",
 * "args": {...}}; the answer is one line {"ok": true, "result": ...} or {"ok": false, "error":
 * "..."}. With "progress": true in the request, lines {"progress": true} come each second until the
 * answer begins. Two send more. `dump`: its result is {"follows": "text"}, and behind the line
 * comes a text that ends with a NUL. `follow`: its result is a list of events, and each event from
 * then on is a line {"event": ...}; a client that does not keep up gets {"ok": false, "error": ...}
 * as its last line.
 */
#pragma once

#include "fm/fabric/fabric.h"

/* socket_file: the place of the control socket in the file system. */

struct control;
typedef int control_reload_fn(void *arg, char *err, size_t err_size); /* 0, or -1 with the reason */

/*
 * NULL with a reason in err (another fmd serves the socket, no permission ..). A dead socket file
 * is replaced.
 */
struct control *control_new(struct loop *loop, struct fabric *fabric, const char *socket_path,
			    control_reload_fn *reload, void *arg, char *err, size_t err_size);
void control_free(struct control *control);
