/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * logs: kernel logs, from a unix socket that a collector of this machine writes to (journald,
 * rsyslog), and from journals of this machine or others. Each line is assigned to the host that it
 * is about. Lines that are not about NVLinks are dropped at once, so nothing here grows with
 * what is sent.
 */
#ifndef FMD_NVSWITCH_INTAKE_LOGS_H
#define FMD_NVSWITCH_INTAKE_LOGS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct source_home;
struct log_intake;

/* The caller's, which frees it by free(3); `home` is borrowed until then. */
struct log_intake *log_intake_new(struct source_home *home);

/* New documents, which the caller owns: the counts; a row for the collector, once it wrote. */
json_t *log_intake_json(const struct log_intake *intake);
json_t *log_intake_senders(const struct log_intake *intake);

enum log_server_kind { LOG_SERVER_JOURNAL, LOG_SERVER_UNIX };

/*
 * Opens a journal ("local", or its folder) or the unix socket at a path. The caller owns it; the
 * intake is borrowed until it is freed. Returns NULL with the reason in err.
 */
void *log_server_new(struct log_intake *intake, enum log_server_kind kind, const char *where,
		     char *err, size_t err_size);
void log_server_free(void *server);

#endif
