/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * source_logs: kernel logs as sources: syslog by UDP and by TCP, this machine's kmsg, and a unix
 * socket for journald or syslog. One log_server each; who may send, and which host a line is about,
 * is log_intake's.
 */
#include "fm/nvswitch/log_intake.h"
#include "fm/nvswitch/source.h"

static void *open_log(struct source_home *home, enum log_server_kind kind, const char *where,
		      char *err, size_t err_size)
{
	return log_server_new(home->loop, kind, where, log_intake_senders(home->intake),
			      &log_intake_ops, home->intake, err, err_size);
}

static void *open_udp(struct source_home *home, const struct nvswitch_conf *conf, char *err,
		      size_t err_size)
{
	return open_log(home, LOG_SERVER_UDP, conf->keys.syslog_listen, err, err_size);
}

static void *open_tcp(struct source_home *home, const struct nvswitch_conf *conf, char *err,
		      size_t err_size)
{
	return open_log(home, LOG_SERVER_TCP, conf->keys.syslog_listen, err, err_size);
}

static void *open_kmsg(struct source_home *home, const struct nvswitch_conf *conf, char *err,
		       size_t err_size)
{
	return open_log(home, LOG_SERVER_KMSG, conf->keys.kmsg, err, err_size);
}

static void *open_socket(struct source_home *home, const struct nvswitch_conf *conf, char *err,
			 size_t err_size)
{
	return open_log(home, LOG_SERVER_UNIX, conf->keys.log_socket, err, err_size);
}

static void close_log(void *source)
{
	log_server_free(source);
}

static void count_log(const void *source, struct log_server_stats *sum)
{
	struct log_server_stats s = log_server_stats(source);

	sum->lines += s.lines;
	sum->events += s.events;
	sum->bad += s.bad;
	sum->connections += s.connections;
	sum->refused += s.refused;
}

const struct health_source_ops source_syslog_udp = {
	.name = "syslog UDP",
	.by = { SOURCE_TEXT(syslog_listen) },
	.stays = true,
	.open = open_udp,
	.close = close_log,
	.count = count_log,
};

const struct health_source_ops source_syslog_tcp = {
	.name = "syslog TCP",
	.by = { SOURCE_TEXT(syslog_listen) },
	.stays = true,
	.open = open_tcp,
	.close = close_log,
	.count = count_log,
};

const struct health_source_ops source_kmsg = {
	.name = "kmsg",
	.by = { SOURCE_TEXT(kmsg) },
	.stays = true,
	.open = open_kmsg,
	.close = close_log,
	.count = count_log,
};

const struct health_source_ops source_log_socket = {
	.name = "log socket",
	.by = { SOURCE_TEXT(log_socket) },
	.stays = true,
	.open = open_socket,
	.close = close_log,
	.count = count_log,
};
