/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the SA reports to its listener: records of what hosts have asked for, as the lines that
 * files have of them (sa_state.c reads these), and what is worth an event.
 */
#include <inttypes.h>
#include <stdarg.h>
#include "fm/sa/sa_impl.h"

void sa_listen(struct sa *sa, const struct sa_listener *listener)
{
	sa->listener = *listener;
}

void sa_record(struct sa *sa, enum sa_kept kept, bool gone, const char *line)
{
	if (sa->listener.record)
		sa->listener.record(sa->listener.arg, kept, gone, line);
}

void sa_log(struct sa *sa, struct event_subject subject, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (sa->listener.reported)
		sa->listener.reported(sa->listener.arg, &subject, text);
}

void sa_subscription_line(guid_t port, const struct subscription *s, char line[SA_LINE])
{
	const struct wire_inform_info *i = &s->info;

	snprintf(line, SA_LINE,
		 "0x%016" PRIx64 " %u %u %u %u %u %u %u 0x%016" PRIx64 " 0x%016" PRIx64 " %u %u %u",
		 port, i->qpn, i->trap, i->type, i->generic, i->producer, i->lid_begin, i->lid_end,
		 i->gid.prefix, i->gid.guid, s->sl, s->pkey_index, s->trusted);
}

void sa_service_line(const struct wire_service *record, uint32_t lease, int64_t now,
		     char line[SA_LINE])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t row[SA_SERVICE_ROW];
	char *at = line;

	wire_service_encode(record, row);
	for (unsigned b = 0; b < SA_SERVICE_ROW; b++) {
		if (2 * b == SA_SERVICE_ID)
			*at++ = ' ';
		*at++ = digits[row[b] >> 4];
		*at++ = digits[row[b] & 15];
	}
	snprintf(at, SA_LINE - (at - line), " %" PRId64,
		 lease == WIRE_LEASE_FOREVER ? 0 : now + lease);
}
