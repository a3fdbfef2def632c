/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * log_server: one place where kernel logs come in: syslog by UDP, by TCP, journald's records or
 * syslog by a unix socket, or a local kmsg. What is not about NVLinks is dropped at once, so
 * nothing here grows with what is sent. Each line is counted for its sender (senders.h); those who
 * may not send are not read.
 */
#ifndef FMD_NVSWITCH_LOG_SERVER_H
#define FMD_NVSWITCH_LOG_SERVER_H

#include "fm/core/loop.h"
#include "fm/nvswitch/senders.h"
#include "fm/nvswitch/sxid.h"

struct log_server_ops {
	/*
	 * A line about NVLinks. host: as the line says, else the sender's address; "" = this
	 * machine.
	 */
	void (*event)(void *arg, const char *host, const struct sxid_event *event);
	/*
	 * Whether the sender may is not decided; host as above, event NULL = the line is about
	 * something else. The sender counts as refused for it when false.
	 */
	bool (*undecided)(void *arg, struct sender *sender, const char *host,
			  const struct sxid_event *event);
	void (*refused)(void *arg, const struct sender *sender); /* a line of one who may not */
};

struct log_server;

enum log_server_kind {
	LOG_SERVER_UDP,
	LOG_SERVER_TCP,
	LOG_SERVER_KMSG,
	LOG_SERVER_UNIX,
	LOG_SERVER_KINDS
};

/*
 * where: "ADDRESS:PORT", for kmsg and the unix socket a path. senders outlive it. NULL with the
 * reason in err.
 */
struct log_server *log_server_new(struct loop *loop, enum log_server_kind kind, const char *where,
				  struct senders *senders, const struct log_server_ops *ops,
				  void *arg, char *err, size_t err_size);
void log_server_free(struct log_server *server); /* NULL is fine */

struct log_server_stats {
	uint64_t lines, events, bad; /* bad: no header that is known */
	unsigned connections, refused;
};
struct log_server_stats log_server_stats(const struct log_server *server);

#endif
