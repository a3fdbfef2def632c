/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/evidence.h"
#include "fm/nvswitch/evidence_sxid.h"

/* ---- The catalog ----------------------------------------------------------------------------- */

/*
 * Error numbers of NVSwitches (SXid) and GPUs (Xid), and what NVIDIA says is to be done
 * about each.
 *
 * Sources, as read in November 2026:
 *   Xid   "Analyzing Xid Errors with the Xid Catalog",
 *         docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html, column "Resolution Bucket
 *         (Immediate Action)", for Ampere and newer. 144 to 150 (WORKFLOW_NVLINK5_ERR), 154 and 74
 *         say more in their words.
 *   SXid  the appendix of the Fabric Manager User Guide,
 *         docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide, "NVSwitch SXid errors" (which
 *         need a reset of one GPU, which of the whole host); for numbers that it leaves out, the
 *         severities in NVIDIA's open kernel modules 595.45.04 for NVSwitch 2 and 3, the graver
 *         where they differ.
 *
 * What is not in here goes by its words, where there are any.
 */

/* ---- SXid ------------------------------------------------------------------------------------ */

static const struct {
	uint16_t first, last;
	uint8_t class;
} ranges[] = {
	{ 10001, 10002, SXID_NOTE },	 { 10003, 10003, SXID_ALWAYS },
	{ 10004, 10005, SXID_NOTE },	 { 10006, 10006, SXID_ALWAYS },
	{ 10007, 10007, SXID_NOTE },	 { 10008, 10009, SXID_ALWAYS },
	{ 10010, 10010, SXID_NOTE },	 { 11001, 11001, SXID_PORT },
	{ 11004, 11004, SXID_NONFATAL }, { 11009, 11009, SXID_PORT },
	{ 11011, 11012, SXID_NONFATAL }, { 11013, 11013, SXID_PORT },
	{ 11014, 11016, SXID_NONFATAL }, { 11017, 11020, SXID_PORT },
	{ 11021, 11027, SXID_NONFATAL }, { 11028, 11030, SXID_PORT },
	{ 11031, 11047, SXID_NONFATAL }, { 12001, 12014, SXID_PORT },
	{ 12020, 12020, SXID_ALWAYS },	 { 12021, 12021, SXID_NONFATAL },
	{ 12022, 12022, SXID_PORT },	 { 12023, 12023, SXID_NONFATAL },
	{ 12024, 12027, SXID_PORT },	 { 12028, 12028, SXID_NONFATAL },
	{ 12029, 12035, SXID_PORT },	 { 12036, 12038, SXID_NONFATAL },
	{ 12039, 12039, SXID_PORT },	 { 12040, 12040, SXID_NONFATAL },
	{ 12041, 12041, SXID_PORT },	 { 12042, 12042, SXID_NONFATAL },
	{ 12043, 12043, SXID_PORT },	 { 12044, 12046, SXID_NONFATAL },
	{ 12047, 12047, SXID_PORT },	 { 12048, 12051, SXID_NONFATAL },
	{ 14001, 14002, SXID_PORT },	 { 14007, 14007, SXID_NONFATAL },
	{ 14008, 14008, SXID_PORT },	 { 14009, 14009, SXID_NONFATAL },
	{ 14010, 14018, SXID_PORT },	 { 15001, 15001, SXID_PORT },
	{ 15002, 15003, SXID_NONFATAL }, { 15006, 15006, SXID_PORT },
	{ 15008, 15008, SXID_NONFATAL }, { 15009, 15010, SXID_PORT },
	{ 15011, 15011, SXID_NONFATAL }, { 15012, 15017, SXID_PORT },
	{ 15018, 15018, SXID_NONFATAL }, { 15019, 15019, SXID_PORT },
	{ 15020, 15020, SXID_NONFATAL }, { 18018, 18020, SXID_PORT },
	{ 19004, 19048, SXID_PORT },	 { 19049, 19049, SXID_NONFATAL },
	{ 19050, 19054, SXID_PORT },	 { 19055, 19055, SXID_NONFATAL },
	{ 19056, 19056, SXID_PORT },	 { 19057, 19057, SXID_NONFATAL },
	{ 19058, 19058, SXID_PORT },	 { 19059, 19059, SXID_NONFATAL },
	{ 19060, 19061, SXID_PORT },	 { 19062, 19062, SXID_NONFATAL },
	{ 19063, 19064, SXID_PORT },	 { 19065, 19065, SXID_NONFATAL },
	{ 19066, 19067, SXID_PORT },	 { 19068, 19068, SXID_NONFATAL },
	{ 19069, 19070, SXID_PORT },	 { 19071, 19079, SXID_NONFATAL },
	{ 19080, 19081, SXID_PORT },	 { 19082, 19082, SXID_NONFATAL },
	{ 19083, 19083, SXID_PORT },	 { 19084, 19084, SXID_NONFATAL },
	{ 20001, 20002, SXID_NONFATAL }, { 20004, 20008, SXID_PORT },
	{ 20009, 20012, SXID_NONFATAL }, { 20014, 20038, SXID_PORT },
	{ 22003, 22011, SXID_ALWAYS },	 { 22012, 22012, SXID_PORT },
	{ 22013, 22013, SXID_NONFATAL }, { 23001, 23017, SXID_ALWAYS },
	{ 24001, 24003, SXID_NONFATAL }, { 24004, 24010, SXID_PORT },
	{ 25001, 25006, SXID_NONFATAL }, { 25007, 25009, SXID_PORT },
	{ 26001, 26001, SXID_ALWAYS },	 { 26002, 26005, SXID_NONFATAL },
	{ 26006, 26006, SXID_ALWAYS },	 { 26007, 26007, SXID_NONFATAL },
	{ 26008, 26008, SXID_ALWAYS },	 { 27000, 27007, SXID_NONFATAL },
	{ 29001, 29001, SXID_NONFATAL }, { 29002, 29002, SXID_PORT },
	{ 29003, 29003, SXID_NONFATAL }, { 29004, 29005, SXID_PORT },
	{ 29006, 29006, SXID_NONFATAL }, { 30001, 30001, SXID_NONFATAL },
	{ 30002, 30002, SXID_PORT },	 { 30003, 30003, SXID_NONFATAL },
	{ 30004, 30005, SXID_PORT },	 { 30006, 30006, SXID_NONFATAL },
};

enum sxid_class sxid_class(unsigned number)
{
	size_t low = 0, high = sizeof(ranges) / sizeof(ranges[0]);

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (number < ranges[middle].first)
			high = middle;
		else if (number > ranges[middle].last)
			low = middle + 1;
		else
			return ranges[middle].class;
	}
	return SXID_UNKNOWN;
}

enum nvswitch_state sxid_state(unsigned number, bool fatal)
{
	enum sxid_class class = sxid_class(number);

	if (!number)
		return NVSWITCH_HEALTHY;
	if (class == SXID_ALWAYS)
		return NVSWITCH_FATAL;
	return fatal || class == SXID_PORT ? NVSWITCH_NO_P2P : NVSWITCH_HEALTHY;
}

enum nvswitch_remedy sxid_remedy(unsigned number)
{
	switch (sxid_class(number)) {
	case SXID_ALWAYS:
		return NVSWITCH_REBOOT;
	case SXID_PORT:
		return NVSWITCH_RESET_GPU;
	case SXID_UNKNOWN:
		return NVSWITCH_CONTACT_SUPPORT;
	default:
		return NVSWITCH_REMEDY_NONE;
	}
}

/* ---- Xid ------------------------------------------------------------------------------------- */

#define OK   NVSWITCH_HEALTHY
#define DEGR NVSWITCH_DEGRADED_LINK
#define LOST NVSWITCH_NO_P2P

/*
 * By number. A GPU that has to be reset takes no part in anything until it is; what an application
 * did is over when that ends.
 */
static const struct xid xids[] = {
	{ 8, 8, OK, NVSWITCH_RESTART_JOB, "GPU stopped processing" },
	{ 11, 11, OK, NVSWITCH_RESTART_JOB, "push buffer" },
	{ 13, 13, OK, NVSWITCH_RESTART_JOB, "graphics engine exception" },
	{ 14, 14, OK, NVSWITCH_REMEDY_NONE, "" },
	{ 25, 25, OK, NVSWITCH_RESTART_JOB, "" },
	{ 31, 31, OK, NVSWITCH_RESTART_JOB, "memory page fault" },
	{ 32, 32, OK, NVSWITCH_RESTART_JOB, "push buffer" },
	{ 37, 38, OK, NVSWITCH_REMEDY_NONE, "" },
	{ 39, 41, OK, NVSWITCH_RESTART_JOB, "copy engine" },
	{ 43, 44, OK, NVSWITCH_REMEDY_NONE, "channel reset" },
	{ 45, 45, OK, NVSWITCH_RESTART_JOB, "preemptive clean-up" },
	{ 46, 46, LOST, NVSWITCH_RESET_GPU, "GPU timed out" },
	{ 48, 48, DEGR, NVSWITCH_RESET_GPU, "double-bit ECC error" },
	{ 54, 54, OK, NVSWITCH_CONTACT_SUPPORT, "power cable" },
	{ 60, 60, OK, NVSWITCH_RESTART_JOB, "" },
	{ 62, 62, LOST, NVSWITCH_RESET_GPU, "micro-controller halted" },
	{ 63, 63, OK, NVSWITCH_REMEDY_NONE, "row to be remapped" },
	{ 64, 64, LOST, NVSWITCH_RESET_GPU, "row not remapped" },
	{ 66, 67, OK, NVSWITCH_REMEDY_NONE, "" },
	{ 68, 72, OK, NVSWITCH_RESTART_JOB, "engine" },
	{ 74, 74, LOST, NVSWITCH_RESET_GPU, "NVLink error" },
	{ 75, 77, OK, NVSWITCH_RESTART_JOB, "copy engine" },
	{ 78, 78, OK, NVSWITCH_CONTACT_SUPPORT, "vGPU start" },
	{ 79, 79, LOST, NVSWITCH_REBOOT, "fallen off the bus" },
	{ 80, 80, OK, NVSWITCH_RESTART_JOB, "" },
	{ 82, 86, OK, NVSWITCH_RESTART_JOB, "engine" },
	{ 88, 89, OK, NVSWITCH_RESTART_JOB, "engine" },
	{ 92, 93, OK, NVSWITCH_REMEDY_NONE, "" },
	{ 94, 94, OK, NVSWITCH_RESTART_JOB, "contained ECC error" },
	{ 95, 95, LOST, NVSWITCH_RESET_GPU, "uncontained ECC error" },
	{ 96, 105, OK, NVSWITCH_RESTART_JOB, "engine" },
	{ 106, 108, OK, NVSWITCH_REMEDY_NONE, "" },
	{ 109, 109, LOST, NVSWITCH_RESET_GPU, "context switch timed out" },
	{ 110, 110, LOST, NVSWITCH_RESET_GPU, "security fault" },
	{ 119, 120, LOST, NVSWITCH_RESET_GPU, "GPU system processor" },
	{ 121, 121, OK, NVSWITCH_REMEDY_NONE, "chip-to-chip link" },
	{ 126, 135, OK, NVSWITCH_RESTART_JOB, "copy engine" },
	{ 136, 136, LOST, NVSWITCH_RESET_GPU, "NVLink training failed" },
	{ 137, 137, OK, NVSWITCH_REMEDY_NONE, "NVLink privilege error" },
	{ 139, 139, OK, NVSWITCH_RESTART_JOB, "engine" },
	{ 140, 140, LOST, NVSWITCH_RESET_GPU, "unrecovered ECC error" },
	{ 141, 141, OK, NVSWITCH_REMEDY_NONE, "" },
	{ 142, 142, OK, NVSWITCH_CONTACT_SUPPORT, "" },
	{ 143, 143, LOST, NVSWITCH_RESET_GPU, "GPU initialization" },
	{ 144, 146, DEGR, NVSWITCH_RESET_GPU, "NVLink5 error" },
	{ 147, 148, OK, NVSWITCH_CONTACT_SUPPORT, "NVLink5 error" }, /* non-fatal, all of them */
	{ 149, 150, DEGR, NVSWITCH_RESET_GPU, "NVLink5 error" },
	{ 151, 151, OK, NVSWITCH_REBOOT, "key rotation" },
	{ 154, 154, DEGR, NVSWITCH_RESET_GPU, "recovery action changed" },
	{ 155, 155, LOST, NVSWITCH_RESET_GPU, "NVLink error by software" },
	{ 156, 156, LOST, NVSWITCH_RESET_GPU, "" },
	{ 158, 158, LOST, NVSWITCH_RESET_GPU, "" },
};

const struct xid *xid_of(unsigned number)
{
	static const struct xid unknown = { 0, 0, OK, NVSWITCH_CONTACT_SUPPORT, "" };

	for (unsigned i = 0; i < sizeof(xids) / sizeof(xids[0]); i++)
		if (number >= xids[i].first && number <= xids[i].last)
			return &xids[i];
	return &unknown;
}

/* ---- The kernel's lines ---------------------------------------------------------------------- */

/*
 * The kernel's lines about NVSwitches and NVLinks.
 *
 *   nvidia-nvswitch0: SXid (PCI:0000:85:00.0): 20034, Fatal, Link 30 LTSSM Fault Up
 *   NVRM: Xid (PCI:0003:00:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error
 *     detected on link 14(..)
 *   NVRM: Xid (PCI:0000:00:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (..)
 *   detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id 00000000:86:00.0
 *     physical id 3 port 33
 *
 * The text's severity counts first and the number second, for numbers have moved between driver
 * releases. `Severity ..` and `Data {..}` lines follow one that was read already.
 *
 *   NVRM: Xid (PCI:0000:34:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset
 *     Required)
 *   NVRM: GPU 0000:29:00.0: GPU has fallen off the bus.
 *   GPU reset executed: GPU-<uuid>, success: true          as NVSentinel logs it
 */

#define TEXT_MAX 512 /* of a message; what counts is in front */

enum {
	XID_NVLINK_ERROR = 74,
	XID_FELL_OFF_BUS = 79,
	XID_NVLINK5_FIRST = 144,
	XID_NVLINK5_TLW = 146, /* its fatal ones are no loss of a link */
	XID_NVLINK5_LAST = 150,
	XID_RECOVERY_ACTION = 154,
};

/* ---- Lines ----------------------------------------------------------------------------------- */

/* The number behind the first `word`; -1 = there is none, or it is above max. */
static int number_after(const char *text, const char *word, int max)
{
	const char *at = strstr(text, word);
	int number;

	if (!at || sscanf(at + strlen(word), "%9d", &number) != 1 || number < 0)
		return -1;
	return number <= max ? number : -1;
}

static void set_text(struct nvswitch_finding *finding, const char *what, const char *text)
{
	snprintf(finding->text, sizeof(finding->text), "%s %u: %s", what, finding->code, text);
	finding->text[strcspn(finding->text, "\r\n")] = '\0';
	for (char *p = finding->text; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?'; /* it is shown, and put into JSON */
}

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* A fatal error of an unknown number that names no link is of the whole switch. */
static bool read_sxid(const char *text, struct sxid_event *event)
{
	const char *at = strstr(text, "): "), *words; /* behind `(PCI:..): ` */
	unsigned number;

	if (!at)
		return false;
	at += 3;
	number = (unsigned)strtoul(at, (char **)&words, 10);
	if (words == at || !starts(words, ", "))
		return false;
	words += 2;
	if (starts(words, "Severity ") || starts(words, "Data "))
		return false;
	event->finding.code = number;
	event->finding.sw = (int8_t)number_after(text, "nvswitch", INT8_MAX);
	event->finding.link = (int16_t)number_after(words, "Link ", INT16_MAX);
	event->finding.remedy = (uint8_t)sxid_remedy(number);
	if (starts(words, "Fatal")) {
		event->state = sxid_state(number, true);
		if (sxid_class(number) == SXID_UNKNOWN && !strstr(words, "Link "))
			event->state = NVSWITCH_FATAL;
	} else if (starts(words, "Non-fatal") || starts(words, "Correctable")) {
		event->nonfatal = starts(words, "Non-fatal");
		event->finding.remedy = NVSWITCH_REMEDY_NONE;
	} else {
		event->state = sxid_state(number, false);
		event->nonfatal = sxid_class(number) == SXID_NONFATAL;
	}
	set_text(&event->finding, "SXid", words);
	return true;
}

/* "PCI:0000:34:00", "0000:03:00", "0000:29:00.0" at the beginning. */
static void take_pci(struct nvswitch_finding *finding, const char *text)
{
	unsigned domain, bus, device;

	if (starts(text, "PCI:"))
		text += 4;
	if (sscanf(text, "%8x:%2x:%2x", &domain, &bus, &device) == 3 && domain <= 0xffff)
		snprintf(finding->pci, sizeof(finding->pci), "%04x:%02x:%02x", domain, bus, device);
}

/*
 * NVLink5's Xids say how bad it is; others go by number, and unknown numbers by their words.
 *
 * NVLink5's non-fatal Xids end the job that caused them, at most: NVIDIA's catalogue says "ignore",
 * or "restart the application" unless an Xid 154 follows, whose own line says what the driver
 * wants.
 */
static void judge_xid(struct sxid_event *event, const char *words)
{
	unsigned number = event->finding.code;
	const struct xid *xid = xid_of(number);
	bool nvlink5 = number >= XID_NVLINK5_FIRST && number <= XID_NVLINK5_LAST;
	bool nvlink = strcasestr(words, "nvlink") != NULL,
	     nonfatal = strcasestr(words, "non-fatal") || strcasestr(words, "nonfatal") ||
			strcasestr(words, "correctable");

	event->state = (enum nvswitch_state)xid->state;
	event->finding.remedy = xid->remedy;
	if (!xid->first && strstr(words, "fallen off the bus")) {
		event->state = NVSWITCH_NO_P2P;
	} else if (!xid->first && nvlink && !nonfatal) {
		event->state =
			strcasestr(words, "fatal") ? NVSWITCH_NO_P2P : NVSWITCH_DEGRADED_LINK;
	} else if (number == XID_NVLINK_ERROR && nonfatal) {
		event->state = NVSWITCH_DEGRADED_LINK;
	} else if (nvlink5 && nonfatal) {
		event->nonfatal = true;
		event->state = NVSWITCH_HEALTHY;
		event->finding.remedy = NVSWITCH_REMEDY_NONE;
	} else if (nvlink5 && strstr(words, " Fatal")) {
		event->state = number == XID_NVLINK5_TLW ? NVSWITCH_DEGRADED_LINK : NVSWITCH_NO_P2P;
	}
}

static bool read_xid(const char *text, struct sxid_event *event)
{
	const char *number = strstr(text, "): "), *words, *nvlink, *to; /* behind `(PCI:..): ` */
	const struct memory_action *action;
	int link;

	if (!number)
		return false;
	number += 3;
	take_pci(&event->finding, strchr(text, '(') + 1);
	event->finding.code = (unsigned)strtoul(number, (char **)&words, 10);
	if (words == number || *words++ != ',')
		return false;
	link = number_after(words, "link ", INT_MAX);
	if (link < 0)
		link = number_after(words, "Link ", INT_MAX);
	event->finding.link = (int16_t)(link <= INT16_MAX ? link : -1);
	judge_xid(event, words);
	/* "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)" */
	to = event->finding.code == XID_RECOVERY_ACTION ? strstr(words, ") to 0x") : NULL;
	if (to) {
		unsigned wanted = (unsigned)strtoul(to + 7, NULL, 16);

		action = memory_action(wanted);
		event->recovered = wanted == ACTION_NONE;
		event->state = action->state;
		event->finding.remedy = (uint8_t)action->remedy;
	}
	nvlink = strstr(words, "NVLink:");
	set_text(&event->finding, "Xid", nvlink ? nvlink : words + strspn(words, " "));
	return true;
}

static bool read_manager(const char *text, struct sxid_event *event)
{
	int fatal = number_after(text, "detected NVSwitch fatal error ", INT_MAX);
	int nonfatal = number_after(text, "detected NVSwitch non-fatal error ", INT_MAX);

	if (fatal < 0 && nonfatal < 0)
		return false;
	event->nonfatal = fatal < 0;
	event->finding.code = (unsigned)(fatal < 0 ? nonfatal : fatal);
	event->finding.sw = (int8_t)number_after(text, "physical id ", INT8_MAX);
	event->finding.link = (int16_t)number_after(text, " port ", INT16_MAX);
	event->state = fatal < 0 ? NVSWITCH_HEALTHY : sxid_state((unsigned)fatal, true);
	if (fatal >= 0)
		event->finding.remedy = (uint8_t)sxid_remedy((unsigned)fatal);
	set_text(&event->finding, "SXid", strstr(text, "detected"));
	return true;
}

/* ---- Lines without a number ------------------------------------------------------------------ */

static void note_words(struct sxid_event *event, enum nvswitch_state state,
		       enum nvswitch_remedy remedy, const char *words)
{
	event->state = state;
	event->finding.remedy = (uint8_t)remedy;
	snprintf(event->finding.text, sizeof(event->finding.text), "%s", words);
}

/* Two forms; the second is one of three lines, of which the first names the GPU. */
static bool read_off_bus(const char *text, struct sxid_event *event)
{
	const char *gpu = strstr(text, "NVRM: GPU ");

	if (gpu)
		take_pci(&event->finding, gpu + 10);
	event->finding.code = XID_FELL_OFF_BUS;
	note_words(event, NVSWITCH_NO_P2P, NVSWITCH_REBOOT, "a GPU has fallen off the bus");
	return true;
}

static bool read_reset(const char *text, struct sxid_event *event)
{
	const char *uuid = strstr(text, "GPU reset executed: ") + 20;
	size_t len = strcspn(uuid, ", \r\n");

	if (strstr(uuid, "success: false") || !starts(uuid, "GPU-") || len >= sizeof(event->uuid))
		return false;
	memcpy(event->uuid, uuid, len);
	event->uuid[len] = '\0';
	return event->gpu_reset = true;
}

static bool read_named(const char *text, struct sxid_event *event)
{
	take_pci(&event->finding, strstr(text, "The NVIDIA GPU ") + 15);
	return event->names_gpu = *event->finding.pci != '\0';
}

/* The NVLink driver starts; or a boot's first line, behind the header or the kernel's own time. */
static bool read_start(const char *text, struct sxid_event *event)
{
	const char *at = strstr(text, "Linux version ");
	bool first;

	if (strstr(text, "Nvlink Core is being initialized"))
		return event->driver_start = true;
	first = at == text || (at - text >= 2 && at[-1] == ' ' && (at[-2] == ']' || at[-2] == ':'));
	return event->driver_start = first && at[14] >= '0' && at[14] <= '9';
}

/*
 * Few of the lines that come are about NVLinks: those that are have one of these in them. The first
 * counts. One without a reader says what stands behind it, or nothing.
 */
static const struct {
	const char *words;
	bool (*read)(const char *text, struct sxid_event *event);
	bool whole; /* it reads all of the line, not from the words on */
	enum nvswitch_state state;
	enum nvswitch_remedy remedy;
	const char *means;
} readers[] = {
	{ .words = "SXid (", .read = read_sxid, .whole = true }, /* the device is named before it */
	{ .words = "Xid (", .read = read_xid },
	{ .words = "NV_WARN_NOTHING_TO_DO" }, /* no NVSwitch in this machine */
	{ .words = "detected NVSwitch ", .read = read_manager },
	{ .words = "detected number of NVSwitches don't match",
	  .state = NVSWITCH_FATAL,
	  .remedy = NVSWITCH_CONTACT_SUPPORT,
	  .means = "the fabric manager does not start: another number of NVSwitches than any "
		   "system has" },
	/* NVLink SHARP's multicast objects can't be made: jobs that use it fail, others run. */
	{ .words = "in the multicast team request setup",
	  .state = NVSWITCH_DEGRADED_LINK,
	  .remedy = NVSWITCH_RESET_GPU,
	  .means = "the fabric manager can't set up NVLink multicast (NVLS)" },
	{ .words = "GPU has fallen off the bus", .read = read_off_bus, .whole = true },
	{ .words = "fallen off the bus and is not responding",
	  .read = read_off_bus,
	  .whole = true },
	{ .words = "The NVIDIA GPU ", .read = read_named, .whole = true },
	{ .words = "GPU reset executed: ", .read = read_reset, .whole = true },
	{ .words = "Nvlink Core is being initialized", .read = read_start, .whole = true },
	{ .words = "Linux version ", .read = read_start, .whole = true },
};
#define READERS (sizeof(readers) / sizeof(readers[0]))

bool sxid_read(const char *text, size_t len, struct sxid_event *event)
{
	char copy[TEXT_MAX];
	const char *at = NULL;
	unsigned i = 0;

	*event = (struct sxid_event){ .finding = { .gpu = -1, .sw = -1, .link = -1 } };
	/* Nearly all lines have none of these: a search for each is all that they cost. */
	if (!memmem(text, len, "Xid (", 5) && !memmem(text, len, "NVSwitch", 8) &&
	    !memmem(text, len, "GPU", 3) && !memmem(text, len, "Nvlink Core", 11) &&
	    !memmem(text, len, "fallen off", 10) && !memmem(text, len, "Linux version ", 14))
		return false;
	len = len < sizeof(copy) ? len : sizeof(copy) - 1;
	memcpy(copy, text, len);
	copy[len] = '\0';
	while (i < READERS && !(at = strstr(copy, readers[i].words)))
		i++;
	if (i == READERS || (!readers[i].read && !readers[i].means))
		return false;
	if (!readers[i].read)
		note_words(event, readers[i].state, readers[i].remedy, readers[i].means);
	else if (!readers[i].read(readers[i].whole ? copy : at, event))
		return false;
	event->finding.state = (uint8_t)event->state;
	event->finding.kind = NVSWITCH_IS_EVENT;
	return true;
}
