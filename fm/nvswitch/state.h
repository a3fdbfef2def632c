/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state: the state of a host's NVLinks and its reasons, which all of fm/nvswitch shares; files of
 * lines; what if a host were in another state.
 */
#pragma once

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include "routing/report/rates.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/* Bytes of the reason why something failed, `err` of all functions here. */
#define NVSWITCH_ERROR 512
/* Sets that reason, and is -1. */
#define nvswitch_refuse(err, ...) (snprintf(err, NVSWITCH_ERROR, __VA_ARGS__), -1)
#define NVSWITCH_NO_HOST	  "the fabric has no host %s, or several"
#define NVSWITCH_NO_STATE	  "unknown state %.40s: HEALTHY, DEGRADED_LINK, NO_P2P or FATAL"

/* From healthy to worst; UNKNOWN is not part of that order. */
enum nvswitch_state {
	NVSWITCH_HEALTHY,
	NVSWITCH_DEGRADED_LINK, /* links down, every GPU still reaches every other */
	NVSWITCH_NO_P2P,	/* some GPUs do not reach each other by NVLink */
	NVSWITCH_FATAL,		/* the NVLink fabric of the host is down */
	NVSWITCH_UNKNOWN,
	NVSWITCH_STATES
};
/* Their names, "HEALTHY"; and the state of a name, in any case, -1 = no such name. */
extern const char *const nvswitch_states[NVSWITCH_STATES];
int nvswitch_state_parse(const char *text);
/* The number of a word of a list, in any case; -1 = it is none of them. */
int nvswitch_word(const char *text, const char *const *words, unsigned count);

enum nvswitch_system { /* the kind of machine, and so what to expect of it */
#define SYSTEM(id, ...) NVSWITCH_SYSTEM_##id,
#include "fm/nvswitch/systems.def"
#undef SYSTEM
		       NVSWITCH_SYSTEMS
};
/* What a machine of a system has. */
extern const struct nvswitch_expect {
	uint8_t gpus, switches, links; /* of a machine; links of one GPU */
} nvswitch_systems[NVSWITCH_SYSTEMS];
/* Their names, "h100". */
extern const char *const nvswitch_system_names[NVSWITCH_SYSTEMS];

/* The kind of a finding, which says what can end it. */
enum nvswitch_kind {
	NVSWITCH_IS_STATE,   /* reported repeatedly: ends when it is reported healthy */
	NVSWITCH_IS_EVENT,   /* reported once: ended by a reset, a boot, proof that it works */
	NVSWITCH_IS_SILENCE, /* no longer reported, though it was: ends when it is reported again */
	NVSWITCH_IS_REPORT,  /* by `health-report`: ends when its source reports another state */
	NVSWITCH_KINDS
};
/* How far the source of a finding is authenticated. */
enum nvswitch_trust {
	NVSWITCH_ANYONE, /* it came unasked, from an unverified sender */
	NVSWITCH_ASKED,	 /* the response of an address that fmd requested, without a certificate */
	NVSWITCH_PROVEN, /* verified certificate, this machine, a unix socket, an allowed sender */
};
/* What has to be done about it, after NVIDIA's "resolution bucket". */
enum nvswitch_remedy {
	NVSWITCH_REMEDY_NONE,
	NVSWITCH_RESTART_JOB,
	NVSWITCH_RESET_GPU,
	NVSWITCH_REBOOT,
	NVSWITCH_CONTACT_SUPPORT,
	NVSWITCH_REMEDIES
};
/* Their names: "anyone", "reset GPU". */
extern const char *const nvswitch_trusts[], *const nvswitch_remedies[NVSWITCH_REMEDIES];

struct nvswitch_finding {	     /* one thing that was seen */
	uint8_t state;		     /* what it makes of the host */
	uint8_t kind, trust, remedy; /* enums above */
	int8_t gpu, sw;		     /* -1 = not about one */
	uint8_t peers_lost;	     /* GPUs that `gpu` does not reach; 0 = not about pairs */
	int16_t link;		     /* -1 = not about one */
	uint32_t code;		     /* SXid or Xid, 0 = none */
	char pci[16];		     /* of the GPU, "0000:1b:00", "" = not known */
	char text[92];
	uint64_t since_us;
	/* Of an event: when it was last heard, how often; its sources by bit, EVENT_FROM_LOG. */
	uint64_t last_us;
	uint32_t times;
	uint8_t from;
	bool old; /* of an earlier incarnation: ends with whole states */
};
enum { EVENT_FROM_LOG = 1 << 7 }; /* else 1 << source */

/* In an initializer: it is about no GPU, NVSwitch or link so far. */
#define NVSWITCH_NOWHERE .gpu = -1, .sw = -1, .link = -1

#define NVSWITCH_FINDINGS 12
struct nvswitch_verdict { /* the report of one source on a host */
	enum nvswitch_state state;
	enum nvswitch_system system;
	uint8_t count;
	struct nvswitch_finding findings[NVSWITCH_FINDINGS]; /* the worst, and they first */
};
/* Adds a finding and worsens the state by it. False: the verdict is full. */
bool nvswitch_verdict_add(struct nvswitch_verdict *verdict, const struct nvswitch_finding *finding);
/* The same, of that state and with a formatted text. */
void nvswitch_find(struct nvswitch_verdict *verdict, enum nvswitch_state state,
		   struct nvswitch_finding finding, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* ---- Lines of files that people write -------------------------------------------------------- */

/*
 * Takes a line, of which its end and a remark (from # on) were cut off. Returns NULL, or what is
 * wrong with it: a static text.
 */
typedef const char *lines_fn(void *arg, char *line);

/*
 * Calls fn with each line of a file. Returns 0, or -1 with `FILE: reason` (it cannot be read) or
 * `FILE:LINE: reason` in err; the lines before were taken then, which is for the caller to undo.
 */
int lines_read(const char *path, lines_fn *fn, void *arg, char *err);
/* The same of a text, which is cut up; *number: lines that were taken. What is wrong, or NULL. */
const char *lines_take(char *text, lines_fn *fn, void *arg, unsigned *number);

/* ---- What if --------------------------------------------------------------------------------- */

/*
 * What a host whose NVLinks do not relay gets of the InfiniBand fabric, and what it costs others.
 * Routing is the same for all states: no other tables gain such a host 5 percent
 * (tests/unit/routing/report/test_rates.c). Pure, so that fmd, its `whatif` and `fmctl plan` agree.
 */

/* Reads "HOST=STATE" and sets it in states[]. 0, or -1 with the reason in err. */
int nvswitch_policy_assume(const struct topo *t, const char *text, uint8_t *states, char *err);

/* Two fabrics of the same nodes, LIDs and hosts, and the states of the hosts in each. */
struct nvswitch_trial {
	const struct lid_map *lids;
	const uint8_t *classes; /* enum route_class by port; NULL = all compute */
	struct nvswitch_scene {
		const struct topo *topo;
		const struct tables *tables;
		const uint8_t *states; /* NULL = all are healthy */
	} now, then;
};
/* The rates of a host in one of the two fabrics: a new document, which the caller owns. */
json_t *nvswitch_rates_json(const struct nvswitch_trial *trial, const struct nvswitch_scene *scene,
			    uint32_t host);
/*
 * A new list, which the caller owns, with a row for each host whose state differs: the rates of its
 * cross-rail traffic, and those of all others.
 */
json_t *nvswitch_trial_json(const struct nvswitch_trial *trial);
