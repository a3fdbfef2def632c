/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sxid: what NVSwitch errors (SXid) and GPU errors (Xid) mean for a host's NVLinks, by number
 * (catalog.c) and by the kernel's own words.
 */
#ifndef FMD_NVSWITCH_SXID_H
#define FMD_NVSWITCH_SXID_H

#include <stddef.h>
#include "fm/nvswitch/state.h"

enum sxid_class {
	SXID_UNKNOWN,  /* no such number is known */
	SXID_NOTE,     /* says nothing about links */
	SXID_NONFATAL, /* for the log; many of them are a degraded link */
	SXID_PORT,     /* one link and the jobs of its GPU */
	SXID_ALWAYS,   /* the host's NVLink fabric */
};
enum sxid_class sxid_class(unsigned number);

struct sxid_event {		   /* one line of a kernel log */
	enum nvswitch_state state; /* HEALTHY: no fault by itself */
	bool nonfatal;		   /* counted: many in a short time are a fault */
	bool driver_start;	   /* kernel or NVLink driver began: what was said before is over */
	bool gpu_reset;		   /* a GPU was reset, by its UUID */
	bool recovered;		   /* the driver asks for no recovery of finding.pci any more */
	bool names_gpu;		   /* no fault: the line behind it is about finding.pci */
	char uuid[48];		   /* of the GPU, "" = not said */
	enum nvswitch_trust trust; /* of who sent it: the receiver's to say */
	struct nvswitch_finding finding;
};
/*
 * The text behind the syslog header or kmsg prefix, len bytes of any kind. False: it is about
 * something else.
 */
bool sxid_read(const char *text, size_t len, struct sxid_event *event);

/* What an error number in a metric makes of a host; `fatal`: the metric's name says so. */
enum nvswitch_state sxid_state(unsigned number, bool fatal);
enum nvswitch_remedy sxid_remedy(unsigned number);
enum nvswitch_state xid_state(unsigned number);
enum nvswitch_remedy xid_remedy(unsigned number);
const char *xid_words(unsigned number); /* "" = none */
bool xid_is_known(unsigned number);

#endif
