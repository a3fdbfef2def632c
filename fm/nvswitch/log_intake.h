/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * log_intake: assigns lines of kernel logs to the hosts that they are about. All log servers share
 * one. It counts lines by sender, and asks the system's resolver whether a sender with an unknown
 * address may send for the host that its line names.
 */
#ifndef FMD_NVSWITCH_LOG_INTAKE_H
#define FMD_NVSWITCH_LOG_INTAKE_H

#include "fm/nvswitch/log_server.h"

struct source_home;
struct log_intake;

/* The caller owns it; `home` is borrowed until log_intake_free(), for which NULL is fine. */
struct log_intake *log_intake_new(struct source_home *home);
void log_intake_free(struct log_intake *intake);

extern const struct log_server_ops log_intake_ops; /* arg: the intake */

/* The table of senders, owned by the intake. */
struct senders *log_intake_senders(struct log_intake *intake);
/* The number of lines about NVLinks of hosts that the fabric does not have. */
uint64_t log_intake_unknown(const struct log_intake *intake);

#endif
