/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * log_server: one socket or file from which kernel logs are read: syslog by UDP, by TCP, journald's
 * records or syslog by a unix socket, or a local kmsg. Lines that are not about NVLinks are dropped
 * at once, so nothing here grows with what is sent. Each line is counted for its sender
 * (senders.h); lines of senders that are not allowed are not read.
 */
#ifndef FMD_NVSWITCH_LOG_SERVER_H
#define FMD_NVSWITCH_LOG_SERVER_H

#include "fm/loop/loop.h"
#include "fm/nvswitch/senders.h"
#include "fm/nvswitch/sxid.h"

struct log_server_ops {
	/*
	 * Takes a line about NVLinks. host: the name in the line, else the sender's address; "" =
	 * this machine.
	 */
	void (*event)(void *arg, const char *host, const struct sxid_event *event);
	/*
	 * Takes a line of a sender that is neither allowed nor refused yet; host as in event(),
	 * event NULL = the line is about something else. False: the line counts as refused.
	 */
	bool (*undecided)(void *arg, struct sender *sender, const char *host,
			  const struct sxid_event *event);
	/* A line came from a sender that is refused. */
	void (*refused)(void *arg, const struct sender *sender);
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
 * Opens a server at `where`: "ADDRESS:PORT", or a path for kmsg and the unix socket. The caller
 * owns it; loop, senders and ops are borrowed until it is freed (NULL is fine). Returns NULL with
 * the reason in err.
 */
struct log_server *log_server_new(struct loop *loop, enum log_server_kind kind, const char *where,
				  struct senders *senders, const struct log_server_ops *ops,
				  void *arg, char *err, size_t err_size);
void log_server_free(struct log_server *server);

struct log_server_stats {
	uint64_t lines, events, bad; /* bad: without a known header */
	unsigned connections, refused;
};
/* What the server has counted since it was opened. */
struct log_server_stats log_server_stats(const struct log_server *server);

#endif
