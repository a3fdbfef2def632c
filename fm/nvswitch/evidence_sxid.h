/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sxid: what NVSwitch errors (SXid) and GPU errors (Xid) mean for a host's NVLinks, by number
 * and by the kernel's own words.
 */
#ifndef FMD_NVSWITCH_EVIDENCE_SXID_H
#define FMD_NVSWITCH_EVIDENCE_SXID_H

#include <stddef.h>
#include "fm/nvswitch/state.h"

enum sxid_class {		 /* of an SXid's number, after NVIDIA's catalog */
		  SXID_UNKNOWN,	 /* not in the catalog */
		  SXID_NOTE,	 /* not about links */
		  SXID_NONFATAL, /* logged; many of them are a degraded link */
		  SXID_PORT,	 /* affects one link and the jobs of its GPU */
		  SXID_ALWAYS,	 /* affects the host's NVLink fabric */
};

struct sxid_event {		   /* one line of a kernel log */
	enum nvswitch_state state; /* HEALTHY: no fault by itself */
	bool nonfatal;		   /* counted: many in a short time are a fault */
	bool driver_start;	   /* kernel or NVLink driver started: earlier events are over */
	bool gpu_reset;		   /* a GPU was reset, by its UUID */
	bool recovered;		   /* the driver asks for no recovery of finding.pci any more */
	bool names_gpu;		   /* no fault: the next line is about finding.pci */
	char uuid[48];		   /* of the GPU, "" = not in the line */
	enum nvswitch_trust trust; /* of the sender; set by the receiver */
	struct nvswitch_finding finding;
};
/*
 * Reads the text behind the syslog header: len bytes of any kind. True = *event is
 * what it says about NVLinks; false = it is about something else.
 */
bool sxid_read(const char *text, size_t len, struct sxid_event *event);

/* The state of a host with that error number; fatal: by the metric's name. */
enum nvswitch_state sxid_state(unsigned number, bool fatal);

enum catalogue_kind {
	CATALOGUE_XID,
	CATALOGUE_SXID,
	CATALOGUE_ACTION, /* NVML's recovery actions */
	CATALOGUE_MASK,	  /* NVML's fabric health mask: by the shift of a field */
	CATALOGUE_LINE,	  /* a kernel's line without a number that says what it is */
	CATALOGUE_KINDS
};
struct xid { /* a row of the catalogue: a range of numbers; the `state` of an SXid is a class */
	uint8_t kind;	       /* enum catalogue_kind */
	uint16_t first, last;  /* in `unknown`, which no row has, 0 to 0 */
	uint8_t state, remedy; /* enum nvswitch_state, enum nvswitch_remedy */
	uint8_t condition;     /* 0 = none; see etc/nvlink/catalogue.tsv */
	uint32_t value;	       /* of the condition */
	char unit[64];	       /* that its words begin with, "" = any; of a line: that are in it */
	char words[92];	       /* that describe it, "" = none */
};
/*
 * What an Xid means, by the words behind its number (NULL = a gauge, which has none); never NULL,
 * valid until catalogue_read(), like the others here.
 */
const struct xid *xid_of(unsigned number, const char *words);
const struct xid *sxid_of(unsigned number);
/* What a recovery action asks for: its name, what that makes of the host; never NULL. */
const struct xid *action_of(unsigned action);
/* What a value of the field at that shift of the mask means; never NULL, words "" = nothing. */
const struct xid *mask_of(unsigned shift, unsigned value);
/*
 * Reads a file in place of the catalogue that is within the program ("" = that one; kinds that a
 * file has no row of are its), and has it count if `use`. 0, or -1 with `FILE:LINE: reason` in err
 * and nothing changed.
 */
int catalogue_read(const char *path, bool use, char *err, size_t err_size);

#endif
