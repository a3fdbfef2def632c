/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * log: one event, one line on stderr, with the journal's `<N>` level prefix when stderr is not a
 * terminal. Subject first: `sw leaf-03 0x.. p17: down, 412 LFT blocks to move`.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum log_level {
	LOG_ERR = 3,
	LOG_WARNING = 4,
	LOG_NOTICE = 5,
	LOG_INFO = 6,
	LOG_DEBUG = 7
}; /* syslog's */
enum log_module {
	LOG_CORE,
	LOG_MAD,
	LOG_SWEEP,
	LOG_ROUTE,
	LOG_PROGRAM,
	LOG_SA,
	LOG_SM,
	LOG_TRAP,
	LOG_NVSWITCH,
	LOG_CONTROL,
	LOG_MODULES
};

/*
 * Writes the line unless its module's level is lower. An error of write(2) is dropped: there is no
 * other place to report it. Lines are cut at 1 KiB.
 */
void log_line(enum log_module module, enum log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * The same, and where stderr is the journal's the line has these fields besides, `NAME=value` each.
 */
struct iovec;
void log_fields(enum log_module module, enum log_level level, const char *text,
		const struct iovec *fields, unsigned count);
void log_set_level(int module, enum log_level level); /* module -1 = all */
int log_level_parse(const char *text);	 /* "error" "warning" "notice" "info" "debug", or -1 */
int log_module_parse(const char *text);	 /* of a name as "mad", or -1 */
const char *log_module_name(int module); /* static; NULL = there is no such */

/*
 * A limiter for lines that an unhealthy fabric repeats: at most `burst` in each second. How many
 * were left out is logged before the next one. All 0 = none was logged yet.
 */
struct log_limit {
	uint64_t second;
	unsigned count, suppressed;
};
/* Whether the line may be logged; counts it. */
bool log_allow(struct log_limit *limit, uint64_t now_us, unsigned burst);
