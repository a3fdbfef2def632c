/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the SA reports to its listeners (sa_listen()).
 */
#include <stdarg.h>
#include <stdio.h>
#include "fm/sa/sa_impl.h"

void sa_listen(struct sa *sa, const struct sa_listener *listener)
{
	sa->listener = *listener;
}

void sa_record(struct sa *sa, enum sa_kept kept, const char *line)
{
	if (sa->listener.record)
		sa->listener.record(sa->listener.arg, kept, line);
}

void sa_log(struct sa *sa, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (sa->listener.reported)
		sa->listener.reported(sa->listener.arg, text);
}
