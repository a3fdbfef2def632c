/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * catalog: error numbers of NVSwitches (SXid) and GPUs (Xid), and what NVIDIA says is to be done
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
#include "fm/nvswitch/sxid.h"

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
static const struct xid {
	uint16_t first, last;
	uint8_t state, remedy;
	const char *words;
} xids[] = {
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

static const struct xid *find_xid(unsigned number)
{
	for (unsigned i = 0; i < sizeof(xids) / sizeof(xids[0]); i++)
		if (number >= xids[i].first && number <= xids[i].last)
			return &xids[i];
	return NULL;
}

bool xid_is_known(unsigned number)
{
	return find_xid(number) != NULL;
}

enum nvswitch_state xid_state(unsigned number)
{
	const struct xid *xid = find_xid(number);

	return xid ? (enum nvswitch_state)xid->state : NVSWITCH_HEALTHY;
}

enum nvswitch_remedy xid_remedy(unsigned number)
{
	const struct xid *xid = find_xid(number);

	return xid ? (enum nvswitch_remedy)xid->remedy : NVSWITCH_CONTACT_SUPPORT;
}

const char *xid_words(unsigned number)
{
	const struct xid *xid = find_xid(number);

	return xid ? xid->words : "";
}
