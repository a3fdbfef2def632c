/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * host_verdict: how a machine is, over its InfiniBand ports and its NVLinks: the worst of its
 * parts, with the reasons. A value: a room that knows a part adds it.
 */
#pragma once

/* From good to bad. Not known is worse than healthy, and better than anything that is known bad. */
enum host_state {
	HOST_HEALTHY,
	HOST_UNKNOWN,  /* its NVLinks are to be watched, and no telemetry source reports them */
	HOST_DEGRADED, /* an HCA or a link is down, slow or unhealthy; NVLinks are down */
	HOST_NO_P2P,   /* some GPUs do not reach each other by NVLink */
	HOST_FATAL,    /* its NVLink fabric is down */
	HOST_CUT_OFF,  /* none of its HCAs is reached */
	HOST_STATES
};

#define HOST_REASONS 16
#define HOST_REASON  128

struct host_reason {
	enum host_state state; /* what it makes of the host */
	char text[HOST_REASON];
};

struct host_verdict { /* all zero = healthy, nothing known */
	enum host_state state;
	unsigned hcas, hcas_up; /* known, also those that are down; reached by an Active port */
	unsigned count;		/* reasons, the worst first */
	unsigned more;		/* beyond HOST_REASONS: none worse than those kept */
	struct host_reason reasons[HOST_REASONS];
};

/* "HEALTHY", "CUT_OFF" ..: a literal; and the state of such a name, -1 = it is none. */
const char *host_state_name(enum host_state state);
int host_state_parse(const char *name);

/*
 * Adds a part of the host that is not healthy, and its reason, cut to HOST_REASON. The same reason
 * twice counts once.
 */
__attribute__((format(printf, 3, 4))) void host_verdict_add(struct host_verdict *verdict,
							    enum host_state state,
							    const char *format, ...);
/* The worst reason, valid until one is added; "" = there is none. */
const char *host_verdict_reason(const struct host_verdict *verdict);
