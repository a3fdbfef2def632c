/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * log_server: one place where kernel logs come in: syslog by UDP, by TCP, or a local kmsg. What is not about NVLinks is
 * dropped at once, so nothing here grows with what is sent.
 */
#ifndef FMD_NVSWITCH_LOG_SERVER_H
#define FMD_NVSWITCH_LOG_SERVER_H

#include "fm/core/loop.h"
#include "fm/nvswitch/sxid.h"

/* host "" = this machine. */
typedef void log_server_fn(void *arg, const char *host, const struct sxid_event *event);

struct log_server;

enum log_server_kind { LOG_SERVER_UDP, LOG_SERVER_TCP, LOG_SERVER_KMSG, LOG_SERVER_KINDS };

/* where: "ADDRESS:PORT", for kmsg a path. NULL with the reason in err. */
struct log_server *log_server_new(struct loop *loop, enum log_server_kind kind, const char *where,
				  log_server_fn *fn, void *arg, char *err, size_t err_size);
void log_server_free(struct log_server *server); /* NULL is fine */

struct log_server_stats {
	uint64_t lines, events, bad; /* bad: no header that is known */
	unsigned connections, refused;
};
struct log_server_stats log_server_stats(const struct log_server *server);

#endif
