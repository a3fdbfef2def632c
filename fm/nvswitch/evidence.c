/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/nvswitch/evidence.h"
#include <ctype.h>
#include <math.h>

/* ---- Prometheus' text format ----------------------------------------------------------------- */

/*
 *   NAME [{ LABEL="value" , .. }] VALUE [TIMESTAMP] [# EXEMPLAR]
 *
 * with blanks between any two of these, `# ..` for remarks, and \\ \" \n in label values. Values
 * are strtod's, with NaN, +Inf and -Inf; words that exporters write for no value ("N/A",
 * "<<<NOT_SUPPORTED>>>") are NaN.
 *
 * Two thousand hosts say 100 KB each every quarter of a minute, nearly all of it of no interest
 * here. So a line costs a copy and one comparison with the name of the line before; labels and
 * value are looked at only where the name is wanted.
 */

#define NUMBER_MAX 63 /* characters of a value */

void exposition_init(struct exposition *e, const struct exposition_ops *ops, void *arg)
{
	*e = (struct exposition){ .ops = ops, .arg = arg, .kind = -1 };
}

static struct lex_text take_name(struct lex *l)
{
	struct lex_text name = { .p = l->p };

	while (l->p < l->end && (isalpha((unsigned char)*l->p) || *l->p == '_' || *l->p == ':' ||
				 (l->p > name.p && isdigit((unsigned char)*l->p))))
		l->p++;
	name.len = l->p - name.p;
	return name;
}

static bool take_mark(struct lex *l, char mark)
{
	lex_skip_blanks(l);
	return lex_take_char(l, mark);
}

/* From behind `{` to behind `}`: NAME="value", with a comma behind each, the last one or not. */
static bool read_labels(struct lex *l, struct exposition_sample *sample)
{
	do {
		struct lex_text name, value;

		if (take_mark(l, '}'))
			return true;
		name = take_name(l);
		if (!name.len || !take_mark(l, '=') || !take_mark(l, '"'))
			return false;
		value.p = l->p;
		while (l->p < l->end && *l->p != '"')
			l->p += 1 + (*l->p == '\\');
		if (l->p >= l->end)
			return false;
		value.len = l->p++ - value.p;
		if (sample->nlabels < EXPOSITION_LABELS) {
			sample->labels[sample->nlabels].name = name;
			sample->labels[sample->nlabels++].value = value;
		}
	} while (take_mark(l, ','));
	return lex_take_char(l, '}');
}

/* What exporters write where they have no value; DCGM's own texts are in angle brackets. */
static const char blanks[] = "N/A|[N/A]|NA|null|nil|None|-|blank|<<<NULL>>>|<<<NOT_FOUND>>>|"
			     "<<<NOT_SUPPORTED>>>|<<<NOT_PERM>>>|NotSupported|not_supported|"
			     "unsupported|Not Supported|[Not Supported]|Not Available|No Value|"
			     "No data|";

static bool is_blank(const struct lex *l, size_t len)
{
	return l->p + len >= l->end || l->p[len] == ' ' || l->p[len] == '\t';
}

/* A number up to a blank, or words for none. */
static bool take_number(struct lex *l, double *value)
{
	char copy[NUMBER_MAX + 1], *end;
	size_t len;

	*value = NAN;
	for (const char *word = blanks; *word; word += len + 1) {
		len = strcspn(word, "|");
		if (l->p + len <= l->end && is_blank(l, len) && !strncasecmp(l->p, word, len)) {
			l->p += len;
			return true;
		}
	}
	for (len = 0; !is_blank(l, len); len++)
		;
	if (!len || len > NUMBER_MAX)
		return false;
	memcpy(copy, l->p, len);
	copy[len] = '\0';
	*value = strtod(copy, &end);
	l->p += len;
	return end == copy + len;
}

/* Of a line, or what is left is an exemplar of OpenMetrics, or a remark. */
static bool is_end(struct lex *l)
{
	lex_skip_blanks(l);
	return lex_done(l) || *l->p == '#';
}

/* The line that is carried. Returns what is wrong with it; one that is too long is cut. */
static const char *read_line(struct exposition *e)
{
	struct lex l = { e->carry, e->carry + e->carried };
	struct exposition_sample sample; /* set where the name is wanted */
	double timestamp;

	if (e->carried && l.end[-1] == '\r')
		l.end--;
	if (is_end(&l))
		return NULL;

	struct lex_text name = take_name(&l);

	if (!name.len || lex_done(&l) || !strchr("{ \t", *l.p))
		return "a line has no metric name";
	if (name.len != e->name_len || memcmp(name.p, e->name, name.len)) {
		e->kind = e->ops->kind(e->arg, name); /* else as in the line before */
		e->name_len = name.len < sizeof(e->name) ? name.len : 0;
		memcpy(e->name, name.p, e->name_len);
	}
	if (e->kind < 0)
		return NULL;
	if (e->carried == sizeof(e->carry))
		return "a line is too long";
	sample.nlabels = 0;
	if (take_mark(&l, '{') && !read_labels(&l, &sample))
		return "labels are malformed";
	if (is_end(&l) || !take_number(&l, &sample.value) ||
	    (!is_end(&l) && !take_number(&l, &timestamp)) || !is_end(&l))
		return "a value is not a number";
	e->ops->sample(e->arg, e->kind, &sample);
	return NULL;
}

bool exposition_feed(struct exposition *e, const char *data, size_t len)
{
	while (len && !e->fault) {
		const char *newline = memchr(data, '\n', len);
		size_t part = newline ? (size_t)(newline - data) : len;
		size_t space = sizeof(e->carry) - e->carried, taken = part < space ? part : space;

		memcpy(e->carry + e->carried, data, taken);
		e->carried += taken;
		if (newline) {
			e->fault = read_line(e);
			e->carried = 0;
		}
		part += newline != NULL;
		data += part;
		len -= part;
	}
	return !e->fault;
}

bool exposition_end(struct exposition *e)
{
	if (!e->fault && e->carried)
		e->fault = "it ends within a line";
	return !e->fault;
}

/* ---- Labels ---------------------------------------------------------------------------------- */

/* Whether a name or a value is that word. */
static bool exposition_is(struct lex_text text, const char *word)
{
	return text.len == strlen(word) && !memcmp(text.p, word, text.len);
}

/*
 * The value of a label, of the first of "NAME|OTHER.." that the sample has, within the sample; its
 * `p` is NULL if it has none.
 */
static struct lex_text exposition_label(const struct exposition_sample *sample, const char *names)
{
	for (size_t len; *names; names += len + (names[len] == '|')) {
		len = strcspn(names, "|");
		ARRAY_EACH (label, sample->labels, sample->nlabels)
			if (label->name.len == len && !memcmp(label->name.p, names, len))
				return label->value;
	}
	return (struct lex_text){ 0 };
}

void exposition_copy(struct lex_text text, char *to, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < text.len && used + 1 < size; i++) {
		char c = text.p[i];

		if (c == '\\' && i + 1 < text.len) {
			c = text.p[++i];
			c = c == 'n' ? '\n' : c;
		}
		to[used++] = c;
	}
	to[used] = '\0';
}

/* For what is shown, and kept in a file by words: what is not printable becomes `?`. */
static void exposition_copy_shown(struct lex_text text, char *to, size_t size)
{
	exposition_copy(text, to, size);
	for (; *to; to++)
		if (*to <= ' ' || *to > '~')
			*to = '?';
}

#define copy_label(sample, names, to)                                                              \
	exposition_copy_shown(exposition_label(sample, names), to, sizeof(to))

/* ---- dcgm-exporter --------------------------------------------------------------------------- */

/*
 * evidence: samples as they come, put where they belong: to a GPU, an NVSwitch, a link.
 *
 * dcgm-exporter 4.9 (DCGM 4.7) gave a score of metrics and some labels other names; both
 * generations are taken:
 *
 *   gpu="3" | UUID, uuid, gpu_uuid     modelName | model_name
 *   hostname | Hostname                nvswitch="nvswitch2" | "2"
 *
 * GPU_I_ID marks a GPU that is cut up (MIG); so does MIG_MODE, before there is an instance. Of
 * series that come twice the worst counts: an exporter with several NVSwitches called them all
 * nvswitch0 for a while, so a repetition also means that what is absent is not known.
 *
 * Blank is what DCGM writes for "no value": numbers from 0x7ffffff0, 0x7ffffffffffffff0 and 2^47 on
 * (dcgm_structs.h, DCGM_INT32_BLANK ..), and the words that exposition knows. A blank sample is
 * none at all.
 */

enum metric { /* as the catalogue numbers them; from LINK_STATUS on of an NVSwitch */
#define METRIC(number, name) name = number,
#include "fm/nvswitch/metrics.def"
#include "topology/base/text.h"
	      DCGM_OTHER = CATALOGUE_METRICS, /* none of these, but DCGM's */
};

/* Numbers that exporters report of a GPU. */
const struct reported evidence_reported[REPORTED] = {
	{ HAS_FM, offsetof(struct gpu_report, fm_status), CATALOGUE_FM, "the fabric manager ",
	  FM_STATUS, 0, FM_STATUSES - 1 },
	{ HAS_ACTION, offsetof(struct gpu_report, action), CATALOGUE_ACTION,
	  "recovery action: ", RECOVERY_ACTION, 0, UINT8_MAX - 1 },
	{ HAS_SUMMARY, offsetof(struct gpu_report, summary), CATALOGUE_SUMMARY, "NVLink ", SUMMARY,
	  1, SUMMARY_LIMITED },
	{ HAS_WATCH, offsetof(struct gpu_report, watch), CATALOGUE_WATCH,
	  "DCGM's health watch of NVLinks: ", HEALTH_WATCH, 0, UINT8_MAX - 1 },
};

enum { LINK_OFF = 0, LINK_ERROR = 3 }; /* DCGM's link states */
enum { P2P_OK = 0, P2P_UNKNOWN = 6 };  /* DCGM_EXP_P2P_STATUS */

#define INT32_BLANK  0x7ffffff0
#define DOUBLE_BLANK 140737488355328.0 /* 2^47; the 64-bit one is far above */
#define BLANKS	     16

/* Which metrics an exporter has is noted, whether a value is blank or not. */
static int metric_of(void *arg, struct lex_text name)
{
	struct lex rest = { name.p, name.p + name.len };
	const struct xid *row = NULL;
	struct evidence *e = arg;

	e->rack |= nmx_ops.kind(NULL, name) >= 0;
	if (lex_take_word(&rest, "DCGM_")) {
		e->metrics |= 1u << DCGM_OTHER;
		if (lex_take_word(&rest, "FI_DEV_") || lex_take_word(&rest, "FI_SYSTEM_"))
			name = (struct lex_text){ rest.p, rest.end - rest.p };
	}
	while ((row = catalogue_next(CATALOGUE_METRIC, row)))
		if (exposition_is(name, row->unit)) {
			e->metrics |= 1u << row->last;
			return row->last;
		}
	return -1;
}

/*
 * Rows of the catalogue say since when there is a metric, and what is not known without it: whether
 * GPUs have links to each other is asked of no card, and NVL72's NVSwitches are not the host's.
 */
json_t *evidence_missing(uint32_t seen, enum nvswitch_system system)
{
	bool asked = seen >> DCGM_OTHER & 1 && system != NVSWITCH_SYSTEM_OTHER;
	const struct xid *row = NULL;
	json_t *rows = json_array();

	while (asked && (row = catalogue_next(CATALOGUE_METRIC, row))) {
		const char *unknown = strstr(row->words, ": ");

		if (unknown && !(seen & ((2u << row->last) - (1u << row->first))) &&
		    (row->last < LINK_STATUS || system != NVSWITCH_SYSTEM_NVL72))
			json_add(rows, "{ss+ ss% ss}", "field", "DCGM_FI_DEV_", row->unit, "since",
				 row->words, unknown - row->words, "unknown", unknown + 2);
	}
	return rows;
}

/* Decimal, also with zeros before it; or 0x. */
static bool read_number(const char *text, uint64_t max, uint64_t *number)
{
	while (*text == '0' && text[1] >= '0' && text[1] <= '9')
		text++;
	return words_number(text, max, number);
}

/* A label's number ("2", "nvswitch2"); `none` where it has none, or one above `max`. */
static uint64_t number_in(const struct exposition_sample *s, const char *label, uint64_t max,
			  uint64_t none)
{
	char copy[24];
	uint64_t number;

	exposition_copy(exposition_label(s, label), copy, sizeof(copy));
	return read_number(copy + strcspn(copy, "-0123456789"), max, &number) ? number : none;
}

static void take_clique(struct evidence *e, uint32_t clique)
{
	e->cliques_differ |= e->clique && e->clique != clique + 1ull;
	e->clique = e->clique ? e->clique : clique + 1ull;
}

/* ---- Samples: GPUs --------------------------------------------------------------------------- */

static uint32_t whole(double value)
{
	return value >= 1 && value <= UINT32_MAX ? value : 0;
}

static enum nvswitch_state state_of(enum catalogue_kind kind, unsigned number)
{
	return catalogue_find(kind, number, NULL, FM_PROGRESS_DEGRADED)->state;
}

/* The graver of two errors; between equals the newer. True: it is this one. */
static bool take_error(enum catalogue_kind kind, uint32_t *kept, double value)
{
	uint32_t number = whole(value);
	bool takes = number && state_of(kind, number) >= state_of(kind, *kept);

	*kept = takes ? number : *kept;
	return takes;
}

static void take_state(struct gpu_report *r, enum metric metric, const struct exposition_sample *s)
{
	struct lex_text code = exposition_label(s, "health_error_code");
	uint32_t number = whole(s->value);
	int link = number_in(s, "nvlink", 63, -1),
	    peer = number_in(s, "peer_gpu", MEMORY_GPUS - 1, -1);

	if (metric == P2P_BITMAP) {
		r->peers = r->has & HAS_P2P ? r->peers & number : number;
		r->has |= HAS_P2P;
	} else if (metric == P2P_PAIR && peer >= 0 && s->value < P2P_UNKNOWN) {
		r->pairs_lost |= s->value > P2P_OK ? 1u << peer : 0;
		r->has |= HAS_PAIRS;
	} else if (metric == MIG_MODE) {
		r->mig |= number == 1;
		r->has_mig_mode = true;
		r->has |= HAS_MIG;
	} else if (metric == HEALTH_MASK && number && number <= UINT16_MAX) {
		r->mask = number; /* 0 = the driver supports none of it */
		r->has |= HAS_MASK;
	} else if (metric == GPU_LINK_STATE && link >= 0) {
		/* NVML's: 0 = inactive, 1 = active, 2 = asleep */
		*(s->value == 0 ? &r->links_down : &r->links_up) |= 1ull << link;
		r->has |= HAS_LINKS;
	} else if (metric == HEALTH_WATCH &&
		   !exposition_is(exposition_label(s, "health_watch"), "NVLINK")) {
		return;
	}
	/* Of equal series the gravest counts. */
	ARRAY_EACH (it, evidence_reported, REPORTED) {
		uint8_t *kept = (uint8_t *)r + it->at;

		if (metric != it->metric || s->value < it->least || s->value > it->most)
			continue;
		if (!(r->has & it->has) || state_of(it->kind, number) > state_of(it->kind, *kept))
			*kept = number;
		r->has |= it->has;
		r->probe_failed |= metric == HEALTH_WATCH && number >= WATCH_FAIL && code.len &&
				   memmem(code.p, code.len, "FABRIC_PROBE", 12);
	}
}

static void take_gpu(struct evidence *e, enum metric metric, const struct exposition_sample *s)
{
	int at = number_in(s, "gpu", MEMORY_GPUS - 1, -1);
	struct memory_gpu *gpu = &e->gpus[at < 0 ? 0 : at];
	uint32_t number = whole(s->value);
	int xid = number_in(s, "xid", UINT16_MAX, -1);
	char pci[32];

	if (at < 0)
		return;
	if (!*gpu->pci) {
		exposition_copy(exposition_label(s, "pci_bus_id"), pci, sizeof(pci));
		memory_pci(pci, gpu->pci);
	}
	if (!*gpu->uuid)
		copy_label(s, "UUID|gpu_uuid|uuid", gpu->uuid);
	if (exposition_label(s, "GPU_I_ID").len) {
		gpu->last.has |= HAS_MIG;
		gpu->last.mig = true;
	}
	if (s->value < 0 && metric != PRESENT)
		return;
	if (metric == PRESENT) {
		gpu->last.has |= HAS_PRESENT;
	} else if (metric == XID) {
		take_error(CATALOGUE_XID, &gpu->xid, s->value);
	} else if (metric == XID_COUNT) {
		if (xid > 0 && number && e->ncounts < MEMORY_COUNTS &&
		    state_of(CATALOGUE_XID, xid) != NVSWITCH_HEALTHY)
			e->counts[e->ncounts++] = (struct xid_count){ .gpu = gpu - e->gpus,
								      .xid = xid,
								      .count = number };
	} else if (metric == RECOVERY_FAILED) {
		gpu->last.has |= HAS_FAILURES;
		gpu->failed_recoveries += s->value;
	} else if (metric == ENERGY) {
		gpu->energy = s->value;
	} else if (metric == CLIQUE && s->value <= UINT32_MAX) {
		take_clique(e, s->value);
	} else {
		take_state(&gpu->last, metric, s);
	}
}

/* ---- Samples: NVSwitches --------------------------------------------------------------------- */

static void take_switch(struct evidence *e, enum metric metric, const struct exposition_sample *s)
{
	int number = number_in(s, "nvswitch", MEMORY_SWITCHES - 1, -1);
	int link = number_in(s, "nvlink", MEMORY_LINKS - 1, -1);
	uint64_t bit = 1ull << (link < 0 ? 0 : link % 64);
	struct memory_switch *sw = &e->switches[number < 0 ? 0 : number];
	struct switch_report *report = &sw->last;

	if (number < 0)
		return;
	if (metric == SWITCH_PRESENT) {
		report->present = true;
	} else if (metric == SWITCH_FATAL) {
		take_error(CATALOGUE_SXID, &sw->sxid, s->value);
	} else if (metric == SWITCH_NONFATAL) {
		take_error(CATALOGUE_SXID, &e->nonfatal[number], s->value);
	} else if (metric == SWITCH_RESET) {
		e->repeated |= report->has_reset;
		e->states++;
		report->present = report->has_reset = true;
		report->reset_required |= s->value > 0;
	} else if (metric == LINK_FATAL) {
		if (link >= 0 && take_error(CATALOGUE_SXID, &sw->link_sxid, s->value))
			e->fatal_link[number] = link;
	} else if (link >= 0 && s->value >= 0) { /* LINK_STATUS; below 0: unknown */
		e->states++;
		report->present = true;
		e->repeated |= (report->links_seen[link / 64] & bit) != 0;
		report->links_seen[link / 64] |= bit;
		if (s->value == LINK_OFF || s->value == LINK_ERROR)
			report->links_down[link / 64] |= bit;
	}
}

/* ---- All of them ----------------------------------------------------------------------------- */

static void take_sample(void *arg, int metric, const struct exposition_sample *s)
{
	struct evidence *e = arg;
	uint64_t clique = number_in(s, "DCGM_FI_DEV_FABRIC_CLIQUE_ID", UINT32_MAX, UINT64_MAX);
	char text[64];

	if (isnan(s->value) || s->value >= DOUBLE_BLANK ||
	    (s->value >= INT32_BLANK && s->value < (double)INT32_BLANK + BLANKS))
		return;
	e->samples++;
	if (!*e->host)
		copy_label(s, "hostname|Hostname", e->host);
	exposition_copy(exposition_label(s, "modelName|model_name"), text, sizeof(text));
	if (*text && e->learnt == NVSWITCH_SYSTEM_AUTO)
		e->learnt = model_of(text, &e->links);
	/* DCGM's text fields are exported as labels of all other metrics. No domain: all zero. */
	copy_label(s, "DCGM_FI_DEV_FABRIC_CLUSTER_UUID|DCGM_FI_SYSTEM_FABRIC_CLUSTER_UUID", text);
	e->no_domain |= *text && !text[strspn(text, "0-")];
	if (!*e->cluster && text[strspn(text, "0-")] && *text != '<')
		array_printf(e->cluster, "%.47s", text);
	if (clique != UINT64_MAX)
		take_clique(e, clique);
	if (metric < LINK_STATUS)
		take_gpu(e, metric, s);
	else
		take_switch(e, metric, s);
}

const struct exposition_ops evidence_ops = { metric_of, take_sample };

/* ---- Rows of NMX-T, by port ------------------------------------------------------------------ */

/*
 *   Link_Down{Device_ID="GB100", logical_state="ACT", device_num_on_tray="2",
 *     chassis_slot_index="27", tray_index="17", chassis_id="1820325172739", down_blame="Unknown",
 *     Node_GUID="0xe1d04a69816f16bc", Port_Number="11", ..}  0 1781993954087
 *
 * A row is of a GPU where Device_ID begins with G or port_label with GPU; switches' own ports have
 * the same links once more, seen from the other end. Older releases have the logical state as a
 * metric too: IBA's PortState, 4 = Active.
 *
 * What an answer says lies beside what is believed until the answer is whole.
 */

#define DEVICES	     16	   /* of a tray; an NVL72 has 4 */
#define BER_LIMIT    1e-12 /* effective, after error correction */
#define STATE_ACTIVE 4	   /* IBA 14.2.5.6, PortInfo:PortState */

enum kind { LINK_DOWN, BER, STATE, STATE_TOO };

enum link_state { LINK_UNKNOWN, LINK_ACTIVE, LINK_INACTIVE };

struct port_report { /* of a port, by one answer */
	bool there;
	uint8_t link;
	char state[12], blame[20];
	uint64_t downs; /* Link_Down + 1, 0 = not reported */
	double ber;
};
struct port {
	uint16_t number;
	int16_t tray, slot;
	uint8_t device;
	char chassis[20];
	struct port_report now, next; /* of the last whole answer; of the one under way */
	uint64_t rose_us;	      /* its Link_Down, last */
	uint32_t rose_by;	      /* 0 = it never did */
	bool was_active;
};
struct nmx {
	struct port *ports;
	unsigned count;
	json_t *numbers; /* of ports, by "GUID PORT" */
	char *where;	 /* it is asked for */
	struct nmx *next;
	uint64_t now_us;
};

/* ---- Places ---------------------------------------------------------------------------------- */

bool nmx_place_parse(struct nmx_place *place, const char *word)
{
	bool tray = !strncmp(word, "tray=", 5), slot = !strncmp(word, "slot=", 5);
	uint64_t number;

	if (tray || slot) {
		if (!read_number(word + 5, INT16_MAX, &number))
			return false;
		*(tray ? &place->tray : &place->slot) = number;
		return place->set = true;
	}
	if (strncmp(word, "chassis=", 8) || !word[8] || strlen(word + 8) >= sizeof(place->chassis))
		return false;
	strcpy(place->chassis, word + 8);
	return true;
}

/* ---- Ports ----------------------------------------------------------------------------------- */

struct nmx *nmx_at(struct nmx **racks, const char *where)
{
	struct nmx *nmx = *racks;

	while (nmx && strcmp(nmx->where, where))
		nmx = nmx->next;
	if (!nmx) {
		nmx = mem_new(nmx);
		nmx->numbers = json_object();
		nmx->where = mem_strdup(where);
		nmx->next = *racks;
		*racks = nmx;
	}
	return nmx;
}

void nmx_free(struct nmx *racks)
{
	for (struct nmx *nmx = racks; nmx; nmx = racks) {
		racks = nmx->next;
		json_decref(nmx->numbers);
		free(nmx->ports);
		free(nmx->where);
		free(nmx);
	}
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static int kind_of(void *arg, struct lex_text name)
{
	static const char *const names[] = { "Link_Down", "Effective_BER", "logical_state",
					     "Logical_state", "lid" };
	int kind = ARRAY_SIZE(names) - 1;

	while (kind >= 0 && !exposition_is(name, names[kind]))
		kind--;
	return kind;
}

static void sample_cb(void *arg, int kind, const struct exposition_sample *s)
{
	struct lex_text device = exposition_label(s, "Device_ID");
	struct lex_text label = exposition_label(s, "port_label");
	struct lex_text state = exposition_label(s, "logical_state");
	uint64_t guid = number_in(s, "Node_GUID", UINT64_MAX, 0);
	uint64_t number = number_in(s, "Port_Number", UINT16_MAX, 0);
	bool gpu = device.len ? *device.p == 'G' : label.len > 3 && !memcmp(label.p, "GPU", 3);
	struct nmx *nmx = arg;
	struct port *port;
	char key[40];

	if (!guid || !number || !gpu)
		return;
	array_printf(key, "%" PRIx64 " %" PRIu64, guid, number);

	const json_t *known = json_object_get(nmx->numbers, key);

	if (!known && nmx->count == NMX_PORTS_MAX)
		return;
	if (!known) {
		json_object_set_new(nmx->numbers, key, json_integer(nmx->count));
		nmx->ports = mem_grow(nmx->ports, nmx->count);
		nmx->ports[nmx->count++] = (struct port){ .number = number };
	}
	port = &nmx->ports[known ? json_integer_value(known) : nmx->count - 1];

	struct port_report *report = &port->next;

	if (!report->there) {
		port->tray = number_in(s, "tray_index", INT16_MAX, UINT64_MAX);
		port->slot = number_in(s, "chassis_slot_index", INT16_MAX, UINT64_MAX);
		port->device = number_in(s, "device_num_on_tray", DEVICES - 1, 0);
		copy_label(s, "chassis_id", port->chassis);
	}
	report->there = true;
	if (state.len) {
		exposition_copy_shown(state, report->state, sizeof(report->state));
		copy_label(s, "down_blame", report->blame);

		bool active = exposition_is(state, "ACT") || exposition_is(state, "Active") ||
			      exposition_is(state, "4");

		report->link = active ? LINK_ACTIVE : LINK_INACTIVE;
	}
	if (kind == LINK_DOWN && s->value >= 0 && s->value < 1e15) {
		report->downs = 1 + (uint64_t)s->value;
	} else if (kind == BER && s->value > report->ber) {
		report->ber = s->value;
	} else if (kind == STATE || kind == STATE_TOO) {
		report->link = s->value == STATE_ACTIVE ? LINK_ACTIVE : LINK_INACTIVE;
		array_printf(report->state, "%d", (int)(s->value < 99 ? s->value : 99));
	}
}

const struct exposition_ops nmx_ops = { kind_of, sample_cb };

/* ---- Answers --------------------------------------------------------------------------------- */

void nmx_begin(struct nmx *nmx, uint64_t now_us)
{
	nmx->now_us = now_us;
	ARRAY_EACH (port, nmx->ports, nmx->count)
		port->next = (struct port_report){ 0 };
}

void nmx_end(struct nmx *nmx)
{
	ARRAY_EACH (port, nmx->ports, nmx->count) {
		uint64_t before = port->now.downs;

		port->now = port->next;
		/* What it counted is kept for when it is there again; smaller: it restarted. */
		if (!port->now.downs)
			port->now.downs = before;
		if (before && port->now.downs > before) {
			port->rose_us = nmx->now_us;
			port->rose_by = port->now.downs - before;
		}
		port->was_active |= port->now.link == LINK_ACTIVE;
	}
}

/* ---- A host ---------------------------------------------------------------------------------- */

struct noted {
	unsigned count;
	const struct port *first;
};
struct tally {
	unsigned ports, absent;
	struct noted inactive, rises, high_ber;
	struct {
		unsigned ports, working;
	} devices[DEVICES];
};

static void note(struct noted *noted, const struct port *port, unsigned count)
{
	noted->first = noted->count ? noted->first : port;
	noted->count += count;
}

#define NOWHERE ((struct nvswitch_finding){ NVSWITCH_NOWHERE })

static void judge_tally(const struct tally *t, struct nvswitch_verdict *verdict)
{
	const struct port *p = t->inactive.first;
	unsigned dead = 0, all = 0;

	/* A device without one NVLink that works reaches nobody. */
	for (unsigned d = 0; d < DEVICES; d++) {
		all += t->devices[d].ports > 0;
		if (!t->devices[d].ports || t->devices[d].working)
			continue;
		dead++;
		nvswitch_find(verdict, NVSWITCH_NO_P2P, NOWHERE,
			      "GPU device %u of the tray: none of %u NVLinks works", d,
			      t->devices[d].ports);
	}
	if (all && dead == all)
		nvswitch_find(verdict, NVSWITCH_FATAL, NOWHERE,
			      "none of the tray's %u NVLinks works", t->ports);
	if (p)
		nvswitch_find(verdict, NVSWITCH_DEGRADED_LINK, NOWHERE,
			      "%u NVLinks not active, first device %u port %u: %s, blame %s",
			      t->inactive.count, p->device, p->number, p->now.state,
			      *p->now.blame ? p->now.blame : "unknown");
	if (t->absent)
		nvswitch_find(verdict, NVSWITCH_DEGRADED_LINK, NOWHERE, "%u of %u NVLinks absent",
			      t->absent, t->ports);
	if ((p = t->rises.first))
		nvswitch_find(verdict, NVSWITCH_DEGRADED_LINK, NOWHERE,
			      "NVLinks went down %u times lately, first device %u port %u",
			      t->rises.count, p->device, p->number);
	if ((p = t->high_ber.first))
		nvswitch_find(verdict, NVSWITCH_DEGRADED_LINK, NOWHERE,
			      "%u NVLinks with bit errors, first device %u port %u: %.1e",
			      t->high_ber.count, p->device, p->number, p->now.ber);
}

const char *nmx_judge(const struct nmx *nmx, const struct nmx_place *place, uint64_t window_us,
		      struct nvswitch_verdict *verdict)
{
	struct tally t = { 0 };
	const char *chassis = place->chassis;
	bool others = false;

	*verdict = (struct nvswitch_verdict){ .system = NVSWITCH_SYSTEM_NVL72 };
	ARRAY_EACH (port, nmx->ports, nmx->count) {
		const struct port_report *now = &port->now;

		if ((place->tray >= 0 && port->tray != place->tray) ||
		    (place->slot >= 0 && port->slot != place->slot) ||
		    (*place->chassis &&
		     strncmp(port->chassis, place->chassis, sizeof(port->chassis) - 1)) ||
		    (!now->there && !port->was_active)) /* never worked, and nobody misses it */
			continue;
		if (now->there && !*place->chassis) {
			others |= *chassis && strcmp(chassis, port->chassis);
			chassis = port->chassis;
		}
		t.ports++;
		t.devices[port->device].ports++;
		t.absent += !now->there;
		if (now->there && now->link == LINK_INACTIVE)
			note(&t.inactive, port, 1);
		else if (now->there)
			t.devices[port->device].working++;
		if (port->rose_by && nmx->now_us - port->rose_us < window_us)
			note(&t.rises, port, port->rose_by);
		if (now->ber > BER_LIMIT)
			note(&t.high_ber, port, 1);
	}
	/* A tray that is off is no NVLink fault. */
	if (t.ports && t.absent < t.ports && !others) {
		judge_tally(&t, verdict);
		return NULL;
	}
	verdict->state = NVSWITCH_UNKNOWN;
	return others ? "it reports several chassis: chassis= is needed beside tray= or slot="
		      : "it reports no NVLinks of that tray or slot";
}
