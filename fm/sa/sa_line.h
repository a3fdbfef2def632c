/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sa_line: records of what hosts have asked for, as the lines that files have of them. */
#ifndef FMD_SA_SA_LINE_H
#define FMD_SA_SA_LINE_H

#include "fm/sa/sa_impl.h"

/*
 * The line that its file has, without its end. `lease`: seconds left, WIRE_LEASE_FOREVER: for good.
 * `now` is that of the system's clock.
 */
#define SA_LINE 512
#define SA_GONE "gone "
void sa_subscription_line(guid_t port, const struct subscription *s, char line[SA_LINE]);
void sa_service_line(const struct wire_service *record, uint32_t lease, int64_t now,
		     char line[SA_LINE]);
/* Report it to the listener (sa_record()). */
void sa_subscription_record(struct sa *sa, const struct subscription *s, bool gone);
void sa_service_record(struct sa *sa, const struct service *s, bool gone);

#endif
