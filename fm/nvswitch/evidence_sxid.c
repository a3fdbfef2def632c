/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/nvswitch/evidence.h"

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

static struct rows { /* of the process: numbers mean the same for all hosts */
	struct xid *list;
	unsigned count;
} catalogue[CATALOGUE_KINDS];

/* Of SXids: what each is for the host where the words do not call it fatal, as a state. */
static const char *const classes[] = { "note", "nonfatal", "port", "always" };
static const char *const conditions[] = { "", "status=", "info=", "only=", "value=", "severity=" };
static const char *const kinds[CATALOGUE_KINDS] = {
#define KIND(id, name) name,
#include "fm/nvswitch/kinds.def"
};

static const char *read_row(void *arg, char *line)
{
	enum { KIND, NUMBERS, SUB, STATE, REMEDY, MEANING, SOURCE, DATE, FIELDS };
	struct rows *rows = arg;
	struct xid row = { 0 };
	char *field[FIELDS] = { 0 }, *rest = line, *end;
	unsigned count = 0;

	while (count < FIELDS && (field[count] = strtok_r(rest, "\t", &rest)))
		count++;
	if (!count)
		return NULL;

	int kind = nvswitch_word(field[KIND], kinds, CATALOGUE_KINDS);

	if (count < FIELDS || kind < 0)
		return "a row of sxid, xid, action, mask, fm, summary, watch, line, metric or "
		       "model has eight fields";
	row.kind = kind;
	row.first = row.last = strtoul(field[NUMBERS], &end, 10);
	if (*end == '-')
		row.last = strtoul(end + 1, &end, 10);
	if ((!row.first && row.kind <= CATALOGUE_SXID) || row.last < row.first || *end ||
	    (row.kind == CATALOGUE_METRIC && row.last >= CATALOGUE_METRICS))
		return "a number, or FIRST-LAST, is expected";

	int state = kind == CATALOGUE_SXID
			    ? nvswitch_word(field[STATE], classes, ARRAY_SIZE(classes))
			    : nvswitch_state_parse(field[STATE]);
	int remedy = nvswitch_word(field[REMEDY], nvswitch_remedies, NVSWITCH_REMEDIES);

	if (state < 0 || state == NVSWITCH_UNKNOWN || remedy < 0)
		return "unknown state or remedy";

	const char *sub = strcmp(field[SUB], "-") ? field[SUB] : "";
	size_t unit = row.kind >= CATALOGUE_LINE ? strlen(sub) : strcspn(sub, " =");

	unit = sub[unit] == '=' ? 0 : unit;
	snprintf(row.unit, unit < sizeof(row.unit) ? unit + 1 : 1, "%s", sub);
	sub += unit + (sub[unit] == ' ');
	for (uint8_t i = 1; *sub && !row.condition && i < ARRAY_SIZE(conditions); i++)
		if (!strncmp(sub, conditions[i], strlen(conditions[i])))
			row.condition = i;
	row.value = strtoul(sub + strlen(conditions[row.condition]), &end, 0);
	if (unit >= sizeof(row.unit) || (*sub && (!row.condition || *end)))
		return "unknown condition: UNIT, status=MASK, info=N or only=MASK is expected";
	row.state = state;
	row.remedy = remedy;
	if (strcmp(field[MEANING], "-"))
		array_printf(row.words, "%s", field[MEANING]);
	rows += row.kind;
	rows->list = mem_grow(rows->list, rows->count);
	rows->list[rows->count++] = row;
	return NULL;
}

int catalogue_read(const char *path, bool use, char *err)
{
	struct rows next[CATALOGUE_KINDS] = { 0 }, own[CATALOGUE_KINDS] = { 0 };
	int status = *path ? lines_read(path, read_row, next, err) : 0;
	char *text = mem_strdup(nvlink_catalogue_text);
	unsigned number;

	lines_take(text, read_row, own, &number);
	free(text);
	for (unsigned kind = 0; kind < CATALOGUE_KINDS; kind++) {
		struct rows taken = next[kind].count ? next[kind] : own[kind];
		struct rows before = catalogue[kind];

		if (next[kind].count)
			free(own[kind].list);
		if (use && !status)
			catalogue[kind] = taken;
		free(use && !status ? before.list : taken.list);
	}
	return status;
}

const struct xid *catalogue_next(enum catalogue_kind kind, const struct xid *row)
{
	const struct rows *rows = &catalogue[kind];

	if (!rows->count)
		catalogue_read("", true, NULL);
	row = row ? row + 1 : rows->list;
	return row < rows->list + rows->count ? row : NULL;
}

/* "A100" in "NVIDIA A100-SXM4-80GB", but not "H200" in "GH200". */
enum nvswitch_system model_of(const char *name, uint8_t *links)
{
	const struct xid *row = NULL;
	int system = -1;

	*links = 0;
	while (system < 0 && (row = catalogue_next(CATALOGUE_MODEL, row)))
		for (const char *at = name; (at = strcasestr(at, row->unit)); at++)
			if ((at == name || strchr(" -", at[-1])) &&
			    strchr(" -", at[strlen(row->unit)])) { /* or the end */
				*links = row->first;
				system = nvswitch_word(row->words, nvswitch_system_names,
						       NVSWITCH_SYSTEMS);
				break;
			}
	return system < 0 ? NVSWITCH_SYSTEM_OTHER : system;
}

static bool is_nonfatal(const char *words)
{
	return strcasestr(words, "non-fatal") || strcasestr(words, "nonfatal") ||
	       strcasestr(words, "correctable");
}

const struct xid *catalogue_find(enum catalogue_kind kind, unsigned number, const char *words,
				 unsigned value)
{
	static const struct xid unknown = { .remedy = NVSWITCH_CONTACT_SUPPORT };
	/* Registers are the numbers in hexadecimal behind `(`. */
	const char *at = words ? strstr(words, "(0x") : NULL;
	uint32_t registers[7] = { 0 }, others = 0;
	bool nonfatal = words && is_nonfatal(words);
	bool fatal = words && !nonfatal && strstr(words, " Fatal");
	const struct xid *row = NULL;
	unsigned count = 0;

	for (; at && count < 7 && (at = strstr(at, "0x")); at += 2) {
		registers[count] = strtoul(at, NULL, 16);
		others |= count ? registers[count] : 0;
		count++;
	}
	while ((row = catalogue_next(kind, row))) {
		if (number < row->first || number > row->last)
			continue;

		const bool met[] = {
			true,
			count > 1 && registers[1] & row->value,
			count && (registers[0] >> 20 & 63) == row->value,
			count && registers[0] && !(registers[0] & ~row->value) && !others,
			value == row->value,
			row->value ? fatal : nonfatal,
		}; /* by condition */

		if (met[row->condition] &&
		    (!*row->unit || (words && !strncmp(words, row->unit, strlen(row->unit)))))
			return row;
	}
	return &unknown;
}

enum nvswitch_state sxid_state(unsigned number, bool fatal)
{
	enum nvswitch_state state = catalogue_find(CATALOGUE_SXID, number, NULL, 0)->state;

	if (state < NVSWITCH_NO_P2P)
		state = fatal && number ? NVSWITCH_NO_P2P : NVSWITCH_HEALTHY;
	return state;
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

/* ---- Lines ----------------------------------------------------------------------------------- */

/* The number behind the first `word`; -1 = there is none, or it is above max. */
static int number_after(const char *text, const char *word, int max)
{
	const char *at = strstr(text, word);
	int number = -1;
	bool found = at && sscanf(at + strlen(word), "%9d", &number) == 1;

	return found && number >= 0 && number <= max ? number : -1;
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

/* An error of NVSwitches by its number, and how grave it is, as far as that is known. */
static void set_sxid(struct sxid_event *event, unsigned number, bool fatal, bool mild, int sw,
		     int link, const char *words)
{
	event->finding.code = number;
	event->finding.sw = sw;
	event->finding.link = link;
	event->finding.remedy = mild ? NVSWITCH_REMEDY_NONE
				     : catalogue_find(CATALOGUE_SXID, number, NULL, 0)->remedy;
	event->finding.state = mild ? NVSWITCH_HEALTHY : sxid_state(number, fatal);
	set_text(&event->finding, "SXid", words);
}

/* A fatal error of an unknown number that names no link is of the whole switch. */
static bool read_sxid(const char *text, const char *at, struct sxid_event *event)
{
	const char *words;

	at = strstr(at, "): "); /* behind `(PCI:..)` */

	unsigned number = at ? strtoul(at + 3, (char **)&words, 10) : 0;

	if (!at || words == at + 3 || !starts(words, ", "))
		return false;
	words += 2;
	if (starts(words, "Severity ") || starts(words, "Data "))
		return false;

	bool fatal = starts(words, "Fatal");
	bool nonfatal = starts(words, "Non-fatal");

	set_sxid(event, number, fatal, nonfatal || starts(words, "Correctable"),
		 number_after(text, "nvswitch", INT8_MAX), number_after(words, "Link ", INT16_MAX),
		 words);

	const struct xid *row = catalogue_find(CATALOGUE_SXID, number, NULL, 0);

	if (fatal && !row->first && !strstr(words, "Link "))
		event->finding.state = NVSWITCH_FATAL;
	if (nonfatal ||
	    (!fatal && !starts(words, "Correctable") && row->state == NVSWITCH_DEGRADED_LINK))
		event->news = SXID_NONFATALS;
	return true;
}

/* Xids go by number, and by what the catalogue asks of their words; unknown ones by their words. */
static bool read_xid(const char *text, const char *at, struct sxid_event *event)
{
	const char *number = strstr(at, "): "), *words, *nvlink, *to; /* behind `(PCI:..): ` */

	if (!number)
		return false;
	number += 3;
	memory_pci(strchr(at, '(') + 1, event->finding.pci);
	event->finding.code = strtoul(number, (char **)&words, 10);
	if (words == number || (*words && !strchr(",\r\n ", *words)))
		return false;
	words += strspn(words, ", ");

	int link = number_after(words, "link ", INT_MAX);

	if (link < 0)
		link = number_after(words, "Link ", INT_MAX);
	event->finding.link = link <= INT16_MAX ? link : -1;

	const struct xid *xid = catalogue_find(CATALOGUE_XID, event->finding.code, words, 0);

	event->finding.state = xid->state;
	event->finding.remedy = xid->remedy;
	if (xid->condition) {
		event->news = xid->state ? SXID_FAULT : SXID_NONFATALS;
	} else if (!xid->first && strstr(words, "fallen off the bus")) {
		event->finding.state = NVSWITCH_NO_P2P;
	} else if (!xid->first && strcasestr(words, "nvlink") && !is_nonfatal(words)) {
		event->finding.state =
			strcasestr(words, "fatal") ? NVSWITCH_NO_P2P : NVSWITCH_DEGRADED_LINK;
	}
	/* "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)" */
	to = event->finding.code == 154 ? strstr(words, ") to 0x") : NULL;
	if (to) {
		unsigned wanted = strtoul(to + 7, NULL, 16);

		event->news = wanted ? SXID_FAULT : SXID_RECOVERED;
		xid = catalogue_find(CATALOGUE_ACTION, wanted, NULL, 0);
		event->finding.state = xid->state;
		event->finding.remedy = xid->remedy;
	}
	nvlink = strstr(words, "NVLink:");
	set_text(&event->finding, "Xid", nvlink ? nvlink : words);
	return true;
}

static bool read_manager(const char *text, const char *at, struct sxid_event *event)
{
	int fatal = number_after(at, "NVSwitch fatal error ", INT_MAX);
	int nonfatal = number_after(at, "NVSwitch non-fatal error ", INT_MAX);

	event->news = fatal < 0 ? SXID_NONFATALS : SXID_FAULT;
	set_sxid(event, fatal < 0 ? nonfatal : fatal, true, fatal < 0,
		 number_after(at, "physical id ", INT8_MAX), number_after(at, " port ", INT16_MAX),
		 at);
	return fatal >= 0 || nonfatal >= 0;
}

/* ---- Lines without a number ------------------------------------------------------------------ */

/* Resets, boots, and which GPU the next line is about. */
static bool read_news(const char *text, const char *at, struct sxid_event *event)
{
	const char *uuid = at + strlen("GPU reset executed: ");
	bool header = at - text >= 2 && at[-1] == ' ' && (at[-2] == ']' || at[-2] == ':');

	if (starts(at, "GPU reset")) {
		event->news = SXID_RESET;
		array_printf(event->uuid, "%.*s", (int)strcspn(uuid, ", \r\n"), uuid);
		return starts(uuid, "GPU-") && !strstr(uuid, "success: false");
	}
	if (starts(at, "The NVIDIA GPU ")) {
		event->news = SXID_NAMES;
		memory_pci(at + strlen("The NVIDIA GPU "), event->finding.pci);
		return *event->finding.pci;
	}
	/* The NVLink driver; or a boot's first line, behind the header or the kernel's own time. */
	event->news = SXID_START;
	return *at == 'N' || ((at == text || header) && at[14] >= '0' && at[14] <= '9');
}

/*
 * Few of the lines that come are about NVLinks: those that are have one of these in them, or words
 * of the catalogue behind Xid and SXid. The first counts.
 */
static const struct {
	const char *words;
	bool (*read)(const char *text, const char *at, struct sxid_event *event); /* at: `words` */
} readers[] = {
	{ "SXid (", read_sxid }, /* the device is named before it */
	{ "Xid (", read_xid },
	{ "NV_WARN_NOTHING_TO_DO", NULL }, /* no NVSwitch in this machine */
	{ "detected NVSwitch ", read_manager },
	{ "The NVIDIA GPU ", read_news }, /* the first of three lines; the second says what is */
	{ "GPU reset executed: ", read_news },
	{ "Nvlink Core is being initialized", read_news },
	{ "Linux version ", read_news },
};

/* A line of the catalogue; a GPU that it names behind "NVRM: GPU " is meant. */
static bool read_words(const char *text, size_t len, struct sxid_event *event)
{
	const struct xid *row = catalogue_next(CATALOGUE_LINE, NULL);
	static const char named[] = "NVRM: GPU ";

	while (row && !memmem(text, len, row->unit, strlen(row->unit)))
		row = catalogue_next(CATALOGUE_LINE, row);
	if (!row)
		return false;

	const char *gpu = strstr(text, named);

	if (gpu)
		memory_pci(gpu + strlen(named), event->finding.pci);
	event->finding.state = row->state;
	event->finding.code = row->first;
	event->finding.remedy = row->remedy;
	strcpy(event->finding.text, row->words);
	return true;
}

bool sxid_read(const char *text, size_t len, struct sxid_event *event)
{
	char copy[TEXT_MAX];
	const char *at = NULL;
	bool read = false;

	*event = (struct sxid_event){
		.finding = { .kind = NVSWITCH_IS_EVENT, .trust = NVSWITCH_PROVEN, NVSWITCH_NOWHERE }
	};
	len = len < sizeof(copy) ? len : sizeof(copy) - 1;
	memcpy(copy, text, len);
	copy[len] = '\0';
	/* Nearly all lines have none of these: a search for each is all that they cost. */
	ARRAY_EACH (reader, readers, at || read ? 0 : ARRAY_SIZE(readers)) {
		at = memmem(text, len, reader->words, strlen(reader->words));
		if (at)
			read = reader->read && reader->read(copy, copy + (at - text), event);
		else if (reader->read == read_xid)
			read = read_words(copy, len, event);
	}
	return read;
}
