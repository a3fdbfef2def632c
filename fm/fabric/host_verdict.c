/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/fabric/host_verdict.h"
#include "topology/base/sort.h"
#include <stdarg.h>
#include <stdbool.h>

static const char *const names[HOST_STATES] = {
	[HOST_HEALTHY] = "HEALTHY", [HOST_UNKNOWN] = "UNKNOWN", [HOST_DEGRADED] = "DEGRADED",
	[HOST_NO_P2P] = "NO_P2P",   [HOST_FATAL] = "FATAL",	[HOST_CUT_OFF] = "CUT_OFF",
};

const char *host_state_name(enum host_state state)
{
	return names[state];
}

int host_state_parse(const char *name)
{
	for (int state = 0; state < HOST_STATES; state++)
		if (!strcmp(names[state], name))
			return state;
	return -1;
}

void host_verdict_add(struct host_verdict *v, enum host_state state, const char *format, ...)
{
	struct host_reason reason = { .state = state };
	va_list args;

	va_start(args, format);
	vsnprintf(reason.text, sizeof(reason.text), format, args);
	va_end(args);
	if (state > v->state)
		v->state = state;
	if (!any_of(i, 0, v->count,
		    v->reasons[i].state == reason.state &&
			    !strcmp(v->reasons[i].text, reason.text))) {
		/*
		 * Behind those that are as bad: reasons of one kind stay in the order of their
		 * HCAs.
		 */
		unsigned at = v->count;

		while (at && v->reasons[at - 1].state < reason.state)
			at--;
		if (v->count == HOST_REASONS)
			v->more++;
		else
			v->count++;
		if (at == HOST_REASONS)
			return;
		memmove(&v->reasons[at + 1], &v->reasons[at],
			(v->count - at - 1) * sizeof(v->reasons[0]));
		v->reasons[at] = reason;
	}
}

const char *host_verdict_reason(const struct host_verdict *v)
{
	return v->count ? v->reasons[0].text : "";
}
