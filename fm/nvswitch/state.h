/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* state: the state of a host's NVLinks and its reasons: types that all of fm/nvswitch shares. */
#ifndef FMD_NVSWITCH_STATE_H
#define FMD_NVSWITCH_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* Room for the reason why something failed, `err` of all functions here. */
#define NVSWITCH_ERROR 512

/* From healthy to worst; UNKNOWN is not part of that order. */
enum nvswitch_state {
	NVSWITCH_HEALTHY,
	NVSWITCH_DEGRADED_LINK, /* links down, every GPU still reaches every other */
	NVSWITCH_NO_P2P,	/* some GPUs do not reach each other by NVLink */
	NVSWITCH_FATAL,		/* the NVLink fabric of the host is down */
	NVSWITCH_UNKNOWN,
	NVSWITCH_STATES
};
/* The static name, "HEALTHY"; and the state of a name, in any case, -1 = no such name. */
const char *nvswitch_state_name(enum nvswitch_state state);
int nvswitch_state_parse(const char *text);

enum nvswitch_system {			     /* the kind of machine, and so what to expect of it */
		       NVSWITCH_SYSTEM_AUTO, /* by the GPUs' model name */
		       NVSWITCH_SYSTEM_A100,
		       NVSWITCH_SYSTEM_H100,
		       NVSWITCH_SYSTEM_H200,
		       NVSWITCH_SYSTEM_H20,
		       NVSWITCH_SYSTEM_B200,
		       NVSWITCH_SYSTEM_NVL72,
		       NVSWITCH_SYSTEM_OTHER, /* no NVSwitches: nothing is expected */
		       NVSWITCH_SYSTEMS
};
struct nvswitch_expect {
	const char *name;
	uint8_t gpus, switches, links; /* of a machine; links of one GPU */
};
/* What a machine of that system has; static. */
const struct nvswitch_expect *nvswitch_expect(enum nvswitch_system system);
/* The system of a name ("h100"), -1 = no such name. */
int nvswitch_system_parse(const char *text);

/* The kind of a finding, which says what can end it. */
enum nvswitch_kind {
	NVSWITCH_IS_STATE,   /* reported repeatedly: ends when it is reported healthy */
	NVSWITCH_IS_EVENT,   /* reported once: ended by a reset, a boot, proof that it works */
	NVSWITCH_IS_SILENCE, /* no longer reported, though it was: ends when it is reported again */
	NVSWITCH_IS_REPORT,  /* by `health-report`: ends when its source reports another state */
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
/* Static names: "anyone", "reset GPU". */
const char *nvswitch_trust_name(enum nvswitch_trust trust);
const char *nvswitch_remedy_name(enum nvswitch_remedy remedy);

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
};

/* In an initializer: it is about no GPU, NVSwitch or link so far. */
#define NVSWITCH_NOWHERE .gpu = -1, .sw = -1, .link = -1

#define NVSWITCH_FINDINGS 8
struct nvswitch_verdict { /* the report of one source on a host */
	enum nvswitch_state state;
	enum nvswitch_system system;
	uint8_t count;
	uint16_t more; /* findings for which there was no room; the worst are kept */
	struct nvswitch_finding findings[NVSWITCH_FINDINGS];
};
/* Adds a finding and worsens the state by it. */
void nvswitch_verdict_add(struct nvswitch_verdict *verdict, const struct nvswitch_finding *finding);
/* The same, of that state and with a formatted text. */
void nvswitch_find(struct nvswitch_verdict *verdict, enum nvswitch_state state,
		   struct nvswitch_finding finding, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
