/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sxid: the kernel's lines about NVSwitches and NVLinks.
 *
 *   nvidia-nvswitch0: SXid (PCI:0000:85:00.0): 20034, Fatal, Link 30 LTSSM Fault Up
 *   NVRM: Xid (PCI:0003:00:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 14(..)
 *   NVRM: Xid (PCI:0000:00:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (..)
 *   detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id 00000000:86:00.0 physical id 3 port 33
 *
 * The text's severity counts first and the number second, for numbers have moved between driver releases. `Severity ..` and
 * `Data {..}` lines follow one that was read already.
 *
 * The table is of the fabric manager's guide (which errors need a reset of one GPU, which of the whole host) and, for numbers that it
 * leaves out, of the open kernel modules' own severities for NVSwitch 2 and 3 (the graver where they differ).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/sxid.h"

#define TEXT_MAX 512 /* of a message; what counts is in front */

#define XID_NVLINK_ERROR  74
#define XID_FELL_OFF_BUS  79
#define XID_NVLINK5_FIRST 144
#define XID_NVLINK5_LAST  150

static const struct {
	uint16_t first, last;
	uint8_t class;
} ranges[] = {
	{ 10001, 10002, SXID_NOTE },	 { 10003, 10003, SXID_ALWAYS },
	{ 10004, 10006, SXID_NOTE },	 { 11001, 11001, SXID_PORT },
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
	{ 19050, 19061, SXID_PORT },	 { 19062, 19062, SXID_NONFATAL },
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

enum nvswitch_state xid_state(unsigned number)
{
	if (number == XID_NVLINK_ERROR || number == XID_FELL_OFF_BUS)
		return NVSWITCH_NO_P2P;
	return number >= XID_NVLINK5_FIRST && number <= XID_NVLINK5_LAST ? NVSWITCH_DEGRADED_LINK
									 : NVSWITCH_HEALTHY;
}

/* ---- Lines --------------------------------------------------------------------------------------- */

/* The number behind the first `word`, or -1. */
static int number_after(const char *text, const char *word)
{
	const char *at = strstr(text, word);
	int number;

	return at && sscanf(at + strlen(word), "%9d", &number) == 1 && number >= 0 ? number : -1;
}

static int small(int number, int max)
{
	return number <= max ? number : -1;
}

static void tell(struct nvswitch_finding *finding, const char *what, const char *text)
{
	snprintf(finding->text, sizeof(finding->text), "%s %u: %s", what, finding->code, text);
	finding->text[strcspn(finding->text, "\r\n")] = '\0';
	for (char *p = finding->text; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?'; /* it is shown, and put into JSON */
}

/* Behind `(PCI:..): `, where the number is. */
static const char *after_device(const char *text)
{
	const char *at = strstr(text, "): ");

	return at ? at + 3 : NULL;
}

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static void judge_sxid(struct sxid_event *event, const char *words)
{
	unsigned number = event->finding.code;

	if (starts(words, "Fatal")) {
		event->state = sxid_state(number, true);
	} else if (starts(words, "Non-fatal") || starts(words, "Correctable")) {
		event->nonfatal = starts(words, "Non-fatal");
	} else {
		event->state = sxid_state(number, false);
		event->nonfatal = sxid_class(number) == SXID_NONFATAL;
	}
}

static bool read_sxid(const char *text, struct sxid_event *event)
{
	const char *number = after_device(text), *words;

	if (!number)
		return false;
	event->finding.code = (unsigned)strtoul(number, (char **)&words, 10);
	if (words == number || !starts(words, ", "))
		return false;
	words += 2;
	if (starts(words, "Severity ") || starts(words, "Data "))
		return false;
	event->finding.sw = (int8_t)small(number_after(text, "nvswitch"), INT8_MAX);
	event->finding.link = (int16_t)small(number_after(words, "Link "), INT16_MAX);
	judge_sxid(event, words);
	tell(&event->finding, "SXid", words);
	return true;
}

/* NVLink5's Xids say how bad it is; the others are by number. */
static enum nvswitch_state judge_xid(unsigned number, const char *words)
{
	enum nvswitch_state state = xid_state(number);

	if (state == NVSWITCH_DEGRADED_LINK && strstr(words, " Fatal"))
		return NVSWITCH_NO_P2P;
	return state;
}

static bool read_xid(const char *text, struct sxid_event *event)
{
	const char *number = after_device(text), *words, *nvlink;
	int link;

	if (!number)
		return false;
	event->finding.code = (unsigned)strtoul(number, (char **)&words, 10);
	if (words == number || *words++ != ',')
		return false;
	link = number_after(words, "link ");
	event->finding.link =
		(int16_t)small(link >= 0 ? link : number_after(words, "Link "), INT16_MAX);
	event->state = judge_xid(event->finding.code, words);
	nvlink = strstr(words, "NVLink:");
	tell(&event->finding, "Xid", nvlink ? nvlink : words + strspn(words, " "));
	return true;
}

static bool read_manager(const char *text, struct sxid_event *event)
{
	int fatal = number_after(text, "detected NVSwitch fatal error ");
	int nonfatal = number_after(text, "detected NVSwitch non-fatal error ");

	if (fatal < 0 && nonfatal < 0)
		return false;
	event->nonfatal = fatal < 0;
	event->finding.code = (unsigned)(fatal < 0 ? nonfatal : fatal);
	event->finding.sw = (int8_t)small(number_after(text, "physical id "), INT8_MAX);
	event->finding.link = (int16_t)small(number_after(text, " port "), INT16_MAX);
	event->state = fatal < 0 ? NVSWITCH_HEALTHY : sxid_state((unsigned)fatal, true);
	tell(&event->finding, "SXid", strstr(text, "detected"));
	return true;
}

/* Few of the lines that come are about NVLinks: those that are have one of these in them. */
static bool (*find_reader(const char *text, const char **from))(const char *, struct sxid_event *)
{
	if ((*from = strstr(text, "SXid ("))) {
		*from = text; /* the device is named before it */
		return read_sxid;
	}
	if ((*from = strstr(text, "Xid (")))
		return read_xid;
	*from = strstr(text, "detected NVSwitch ");
	return *from ? read_manager : NULL;
}

bool sxid_read(const char *text, size_t len, struct sxid_event *event)
{
	bool (*reader)(const char *, struct sxid_event *);
	char copy[TEXT_MAX];
	const char *from;

	*event = (struct sxid_event){ .finding = { .gpu = -1, .sw = -1, .link = -1 } };
	if (!memmem(text, len, "Xid (", 5) && !memmem(text, len, "NVSwitch ", 9) &&
	    !memmem(text, len, "Nvlink Core", 11))
		return false;
	len = len < sizeof(copy) ? len : sizeof(copy) - 1;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (strstr(copy, "Nvlink Core is being initialized"))
		return event->driver_start = true;
	reader = find_reader(copy, &from);
	if (!reader || !reader(from, event))
		return false;
	event->finding.state = (uint8_t)event->state;
	return true;
}
