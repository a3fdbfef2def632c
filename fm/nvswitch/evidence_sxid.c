/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <limits.h>
#include "fm/nvswitch/evidence.h"
#include "fm/nvswitch/evidence_sxid.h"
#include "fm/nvswitch/intake_syslog.h"
#include "topology/base/mem.h"

/* ---- The catalogue --------------------------------------------------------------------------- */

/*
 * etc/nvlink/catalogue.tsv, which says what its fields are, lies within the program; another file
 * may take its place. What is not in it goes by its words, where there are any.
 */
__asm__(".pushsection .rodata\n"
	"nvlink_catalogue_text:\n"
	".incbin \"etc/nvlink/catalogue.tsv\"\n"
	".byte 0\n"
	".popsection\n");
extern const char nvlink_catalogue_text[];

static struct catalogue {
	struct xid *rows;
	unsigned count;
} catalogue; /* of the process: numbers mean the same for all hosts */

static const char *const classes[] = { "", "note", "nonfatal", "port", "always" };
static const char *const conditions[] = { "", "status=", "info=", "only=" };

static bool read_sub(struct xid *row, const char *sub)
{
	size_t unit = strcspn(sub, " =");
	char *end;

	if (sub[unit] == '=')
		unit = 0;
	if (unit >= sizeof(row->unit))
		return false;
	memcpy(row->unit, sub, unit);
	sub += unit + (sub[unit] == ' ');
	for (uint8_t i = 1; *sub && !row->condition && i < 4; i++)
		if (!strncmp(sub, conditions[i], strlen(conditions[i])))
			row->condition = i;
	row->value = strtoul(sub + strlen(conditions[row->condition]), &end, 0);
	return !*sub || (row->condition && !*end);
}

static const char *read_row(void *arg, char *line)
{
	enum { KIND, NUMBERS, SUB, STATE, REMEDY, MEANING, SOURCE, DATE, FIELDS };
	struct catalogue *c = arg;
	struct xid row = { 0 };
	char *field[FIELDS] = { 0 }, *rest = line, *end;
	unsigned count = 0;
	bool sxid;
	int state, remedy = 0;

	while (count < FIELDS && (field[count] = strtok_r(rest, "\t", &rest)))
		count++;
	if (!count)
		return NULL;
	sxid = !strcmp(field[KIND], "sxid");
	if (count < FIELDS || (!sxid && strcmp(field[KIND], "xid")))
		return "a row of sxid or xid has eight fields";
	row.first = row.last = strtoul(field[NUMBERS], &end, 10);
	if (*end == '-')
		row.last = strtoul(end + 1, &end, 10);
	if (!row.first || row.last < row.first || *end)
		return "a number, or FIRST-LAST, is expected";
	state = sxid ? SXID_ALWAYS : nvswitch_state_parse(field[STATE]);
	while (sxid && state >= 0 && strcmp(classes[state], field[STATE]))
		state--;
	while (remedy < NVSWITCH_REMEDIES && strcmp(field[REMEDY], nvswitch_remedy_name(remedy)))
		remedy++;
	if (state < sxid || state == NVSWITCH_UNKNOWN + sxid || remedy == NVSWITCH_REMEDIES)
		return "unknown state or remedy";
	if (strcmp(field[SUB], "-") && !read_sub(&row, field[SUB]))
		return "unknown condition: UNIT, status=MASK, info=N or only=MASK is expected";
	row.state = state;
	row.remedy = remedy;
	if (strcmp(field[MEANING], "-"))
		array_printf(row.words, "%s", field[MEANING]);
	row.sxid = sxid;
	c->rows = mem_grow(c->rows, c->count);
	c->rows[c->count++] = row;
	return NULL;
}

static void read_own(struct catalogue *own)
{
	char *text = mem_strdup(nvlink_catalogue_text), *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		line[strcspn(line, "#")] = '\0';
		read_row(own, line);
	}
	free(text);
}

int catalogue_read(const char *path, bool use, char *err, size_t err_size)
{
	struct catalogue next = { 0 };
	int status = *path ? lines_read(path, read_row, &next, err, err_size) : 0;

	if (status || !use) {
		free(next.rows);
		return status;
	}
	if (!*path)
		read_own(&next);
	free(catalogue.rows);
	catalogue = next;
	return 0;
}

/* Registers are the numbers in hexadecimal behind `(`. */
static bool fits(const struct xid *row, const char *words)
{
	uint32_t registers[7] = { 0 }, others = 0;
	const char *at = words ? strstr(words, "(0x") : NULL;
	unsigned count = 0;

	if (*row->unit && (!words || strncmp(words, row->unit, strlen(row->unit))))
		return false;
	for (; at && count < 7 && (at = strstr(at, "0x")); at += 2) {
		registers[count] = strtoul(at, NULL, 16);
		others |= count ? registers[count] : 0;
		count++;
	}
	switch (row->condition) {
	case 0:
		return true;
	case 1:
		return count > 1 && registers[1] & row->value;
	case 2:
		return count && (registers[0] >> 20 & 63) == row->value;
	default:
		return count && registers[0] && !(registers[0] & ~row->value) && !others;
	}
}

static const struct xid *find_row(bool sxid, unsigned number, const char *words)
{
	static const struct xid unknown = { .remedy = NVSWITCH_CONTACT_SUPPORT };

	if (!catalogue.count)
		read_own(&catalogue);
	for (unsigned i = 0; i < catalogue.count; i++) {
		const struct xid *row = &catalogue.rows[i];

		if (row->sxid == sxid && number >= row->first && number <= row->last &&
		    fits(row, words))
			return row;
	}
	return &unknown;
}

const struct xid *xid_of(unsigned number, const char *words)
{
	return find_row(false, number, words);
}

const struct xid *sxid_of(unsigned number)
{
	return find_row(true, number, NULL);
}

enum nvswitch_state sxid_state(unsigned number, bool fatal)
{
	enum sxid_class class = sxid_of(number)->state;

	if (!number)
		return NVSWITCH_HEALTHY;
	if (class == SXID_ALWAYS)
		return NVSWITCH_FATAL;
	return fatal || class == SXID_PORT ? NVSWITCH_NO_P2P : NVSWITCH_HEALTHY;
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
	XID_NVLINK5_TLW = 146, /* its fatal ones are no loss of a link by themselves */
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
	array_printf(finding->text, "%s %u: %s", what, finding->code, text);
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
static bool read_sxid(const char *text, const char *at, struct sxid_event *event)
{
	const char *words;
	unsigned number;

	at = strstr(at, "): "); /* behind `(PCI:..)` */
	number = at ? strtoul(at + 3, (char **)&words, 10) : 0;
	if (!at || words == at + 3 || !starts(words, ", "))
		return false;
	words += 2;
	if (starts(words, "Severity ") || starts(words, "Data "))
		return false;
	event->finding.code = number;
	event->finding.sw = number_after(text, "nvswitch", INT8_MAX);
	event->finding.link = number_after(words, "Link ", INT16_MAX);
	event->finding.remedy = sxid_of(number)->remedy;
	if (starts(words, "Fatal")) {
		event->state = sxid_state(number, true);
		if (sxid_of(number)->state == SXID_UNKNOWN && !strstr(words, "Link "))
			event->state = NVSWITCH_FATAL;
	} else if (starts(words, "Non-fatal") || starts(words, "Correctable")) {
		event->nonfatal = starts(words, "Non-fatal");
		event->finding.remedy = NVSWITCH_REMEDY_NONE;
	} else {
		event->state = sxid_state(number, false);
		event->nonfatal = sxid_of(number)->state == SXID_NONFATAL;
	}
	set_text(&event->finding, "SXid", words);
	return true;
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
	const struct xid *xid = xid_of(number, words);
	bool nvlink5 = number >= XID_NVLINK5_FIRST && number <= XID_NVLINK5_LAST;
	bool nvlink = strcasestr(words, "nvlink"), nonfatal = strcasestr(words, "non-fatal") ||
							      strcasestr(words, "nonfatal") ||
							      strcasestr(words, "correctable");

	event->state = xid->state;
	event->finding.remedy = xid->remedy;
	if (xid->condition) {
		event->nonfatal = xid->state == NVSWITCH_HEALTHY;
	} else if (!xid->first && strstr(words, "fallen off the bus")) {
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

static bool read_xid(const char *text, const char *at, struct sxid_event *event)
{
	const char *number = strstr(at, "): "), *words, *nvlink, *to; /* behind `(PCI:..): ` */
	const struct memory_action *action;
	int link;

	if (!number)
		return false;
	number += 3;
	memory_pci(strchr(at, '(') + 1, event->finding.pci);
	event->finding.code = (unsigned)strtoul(number, (char **)&words, 10);
	if (words == number || (*words && !strchr(",\r\n ", *words)))
		return false;
	words += strspn(words, ", ");
	link = number_after(words, "link ", INT_MAX);
	if (link < 0)
		link = number_after(words, "Link ", INT_MAX);
	event->finding.link = link <= INT16_MAX ? link : -1;
	judge_xid(event, words);
	/* "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)" */
	to = event->finding.code == XID_RECOVERY_ACTION ? strstr(words, ") to 0x") : NULL;
	if (to) {
		unsigned wanted = strtoul(to + 7, NULL, 16);

		action = memory_action(wanted);
		event->recovered = wanted == ACTION_NONE;
		event->state = action->state;
		event->finding.remedy = action->remedy;
	}
	nvlink = strstr(words, "NVLink:");
	set_text(&event->finding, "Xid", nvlink ? nvlink : words + strspn(words, " "));
	return true;
}

static bool read_manager(const char *text, const char *at, struct sxid_event *event)
{
	int fatal = number_after(at, "NVSwitch fatal error ", INT_MAX);
	int nonfatal = number_after(at, "NVSwitch non-fatal error ", INT_MAX);

	if (fatal < 0 && nonfatal < 0)
		return false;
	event->nonfatal = fatal < 0;
	event->finding.code = fatal < 0 ? nonfatal : fatal;
	event->finding.sw = number_after(at, "physical id ", INT8_MAX);
	event->finding.link = number_after(at, " port ", INT16_MAX);
	event->state = fatal < 0 ? NVSWITCH_HEALTHY : sxid_state(fatal, true);
	if (fatal >= 0)
		event->finding.remedy = sxid_of(fatal)->remedy;
	set_text(&event->finding, "SXid", at);
	return true;
}

/* ---- Lines without a number ------------------------------------------------------------------ */

static bool read_reset(const char *text, const char *at, struct sxid_event *event)
{
	const char *uuid = at + strlen("GPU reset executed: ");
	size_t len = strcspn(uuid, ", \r\n");

	if (strstr(uuid, "success: false") || !starts(uuid, "GPU-") || len >= sizeof(event->uuid))
		return false;
	memcpy(event->uuid, uuid, len);
	return event->gpu_reset = true;
}

static bool read_named(const char *text, const char *at, struct sxid_event *event)
{
	memory_pci(at + strlen("The NVIDIA GPU "), event->finding.pci);
	return event->names_gpu = *event->finding.pci != '\0';
}

/* The NVLink driver starts; or a boot's first line, behind the header or the kernel's own time. */
static bool read_start(const char *text, const char *at, struct sxid_event *event)
{
	bool first =
		at == text || (at - text >= 2 && at[-1] == ' ' && (at[-2] == ']' || at[-2] == ':'));

	if (*at == 'N')
		return event->driver_start = true;
	return event->driver_start = first && at[14] >= '0' && at[14] <= '9';
}

#define OFF_BUS                                                                                    \
	.code = XID_FELL_OFF_BUS, .state = NVSWITCH_NO_P2P, .remedy = NVSWITCH_REBOOT,             \
	.means = "a GPU has fallen off the bus"

/*
 * Few of the lines that come are about NVLinks: those that are have one of these in them. The first
 * counts. One without a reader says what stands behind it, or nothing; a GPU that it names behind
 * "NVRM: GPU " is meant.
 */
static const struct {
	const char *words;
	bool (*read)(const char *text, const char *at, struct sxid_event *event); /* at: `words` */
	uint32_t code;
	enum nvswitch_state state;
	enum nvswitch_remedy remedy;
	const char *means;
} readers[] = {
	{ .words = "SXid (", .read = read_sxid }, /* the device is named before it */
	{ .words = "Xid (", .read = read_xid },
	{ .words = "NV_WARN_NOTHING_TO_DO" }, /* no NVSwitch in this machine */
	{ .words = "detected NVSwitch ", .read = read_manager },
	{ .words = "detected number of NVSwitches don't match",
	  .state = NVSWITCH_FATAL,
	  .remedy = NVSWITCH_CONTACT_SUPPORT,
	  .means = "the fabric manager does not start: another number of NVSwitches than any "
		   "system has" },
	{ .words = "uvm encountered global fatal error",
	  .state = NVSWITCH_FATAL,
	  .remedy = NVSWITCH_REBOOT,
	  .means = "the driver's memory manager (UVM) requires a reboot" },
	{ .words = "postRxDetLinkMask failed",
	  .state = NVSWITCH_NO_P2P,
	  .remedy = NVSWITCH_REBOOT,
	  .means = "NVLinks were not detected when the driver started" },
	{ .words = "nvidia-fabricmanager.service: Failed with result",
	  .state = NVSWITCH_DEGRADED_LINK,
	  .remedy = NVSWITCH_CONTACT_SUPPORT,
	  .means = "the fabric manager's service failed" },
	/* NVLink SHARP's multicast objects can't be made: jobs that use it fail, others run. */
	{ .words = "in the multicast team request setup",
	  .state = NVSWITCH_DEGRADED_LINK,
	  .remedy = NVSWITCH_RESET_GPU,
	  .means = "the fabric manager can't set up NVLink multicast (NVLS)" },
	{ .words = "GPU has fallen off the bus", OFF_BUS },
	/* The second of three lines, of which the first names the GPU. */
	{ .words = "fallen off the bus and is not responding", OFF_BUS },
	{ .words = "The NVIDIA GPU ", .read = read_named },
	{ .words = "GPU reset executed: ", .read = read_reset },
	{ .words = "Nvlink Core is being initialized", .read = read_start },
	{ .words = "Linux version ", .read = read_start },
};
#define READERS ARRAY_SIZE(readers)

bool sxid_read(const char *text, size_t len, struct sxid_event *event)
{
	char copy[TEXT_MAX];
	const char *at = NULL, *gpu;
	unsigned i = 0;

	*event = (struct sxid_event){ .finding = { .gpu = -1, .sw = -1, .link = -1 } };
	len = len < sizeof(copy) ? len : sizeof(copy) - 1;
	/* Nearly all lines have none of these: a search for each is all that they cost. */
	while (i < READERS && !(at = memmem(text, len, readers[i].words, strlen(readers[i].words))))
		i++;
	if (i == READERS || (!readers[i].read && !readers[i].means))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	at = copy + (at - text);
	if (readers[i].read) {
		if (!readers[i].read(copy, at, event))
			return false;
	} else {
		gpu = strstr(copy, "NVRM: GPU ");
		if (gpu)
			memory_pci(gpu + strlen("NVRM: GPU "), event->finding.pci);
		event->state = readers[i].state;
		event->finding.code = readers[i].code;
		event->finding.remedy = readers[i].remedy;
		strcpy(event->finding.text, readers[i].means);
	}
	event->finding.state = event->state;
	event->finding.kind = NVSWITCH_IS_EVENT;
	return true;
}
