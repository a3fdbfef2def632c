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

struct source_home;
struct log_intake;

/* The caller's, which frees it by free(3); `home` is borrowed until then. */
struct log_intake *log_intake_new(struct source_home *home);

/* New documents, which the caller owns: the counts; a row for the collector, once it wrote. */
json_t *log_intake_json(const struct log_intake *intake);
json_t *log_intake_senders(const struct log_intake *intake);

#endif
