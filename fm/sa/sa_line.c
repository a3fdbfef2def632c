/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Records of what hosts have asked for, as the lines that files have of them (sa_state.c). */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include "fm/mad/wire_inform.h"
#include "fm/mad/wire_service.h"
#include "fm/sa/sa_line.h"

#define SERVICE_ROW 176
#define SECOND_US   1000000ull

void sa_subscription_line(guid_t port, const struct subscription *s, char line[SA_LINE])
{
	const struct wire_inform_info *i = &s->info;

	snprintf(line, SA_LINE,
		 "0x%016" PRIx64 " %u %u %u %u %u %u %u %u %u %u 0x%016" PRIx64 " 0x%016" PRIx64,
		 port, i->qpn, s->sl, s->pkey_index, s->trusted, i->trap, i->type, i->generic,
		 i->producer, i->lid_begin, i->lid_end, i->gid.prefix, i->gid.guid);
}

void sa_subscription_record(struct sa *sa, const struct subscription *s, bool gone)
{
	char line[SA_LINE], record[SA_LINE + sizeof(SA_GONE)];

	sa_subscription_line(cl_qmap_key(&s->by->item), s, line);
	snprintf(record, sizeof(record), "%s%s", gone ? SA_GONE : "", line);
	sa_record(sa, SA_SUBSCRIPTIONS, record);
}

uint32_t sa_service_lease(const struct sa *sa, const struct service *s)
{
	uint64_t now = loop_now_us(sa->loop);

	if (s->ends == UINT64_MAX)
		return WIRE_LEASE_FOREVER;
	return s->ends <= now ? 0 : (uint32_t)((s->ends - now + SECOND_US - 1) / SECOND_US);
}

void sa_service_line(const struct wire_service *record, uint32_t lease, int64_t now,
		     char line[SA_LINE])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t row[SERVICE_ROW];
	char *at = line;

	wire_service_encode(record, row);
	at += snprintf(line, SA_LINE, "%" PRId64 " ",
		       lease == WIRE_LEASE_FOREVER ? 0 : now + lease);
	for (unsigned b = 0; b < SERVICE_ROW; b++) {
		*at++ = digits[row[b] >> 4];
		*at++ = digits[row[b] & 15];
	}
	*at = '\0';
}

void sa_service_record(struct sa *sa, const struct service *s, bool gone)
{
	char line[SA_LINE], record[SA_LINE + sizeof(SA_GONE)];

	sa_service_line(&s->record, sa_service_lease(sa, s), time(NULL), line);
	snprintf(record, sizeof(record), "%s%s", gone ? SA_GONE : "", line);
	sa_record(sa, SA_SERVICES, record);
}
