/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Errors in the partitions' file, with file and line.
 */
#include <stdarg.h>
#include <stdio.h>
#include "fm/conf/partition_read.h"

bool partition_refuse(struct partition_reader *r, const char *format, ...)
{
	int used = snprintf(r->err, r->err_size, "%s:%u: ", r->path, r->line);
	va_list args;

	if (used >= 0 && (size_t)used < r->err_size) {
		va_start(args, format);
		vsnprintf(r->err + used, r->err_size - used, format, args);
		va_end(args);
	}
	return false;
}
