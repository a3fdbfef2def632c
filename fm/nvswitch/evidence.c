/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/nvswitch/evidence.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/evidence_sxid.h"

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
 * nvswitch0 for a while, so a repetition also means that nothing can be said about what is absent.
 *
 * Blank is what DCGM writes for "no value": numbers from 0x7ffffff0, 0x7ffffffffffffff0 and 2^47 on
 * (dcgm_structs.h, DCGM_INT32_BLANK ..), and the words that exposition knows. A blank sample is
 * none at all.
 */

enum kind {
	/* Of a GPU */
	PRESENT,
	XID,
	XID_COUNT,
	P2P_BITMAP,
	P2P_PAIR,
	FM_STATUS,
	HEALTH_MASK,
	SUMMARY,
	RECOVERY_ACTION,
	RECOVERY_FAILED,
	ENERGY,
	HEALTH_WATCH,
	MIG_MODE,
	CLIQUE,
	/* .. and one of its links */
	GPU_LINK_STATE,
	/* Of an NVSwitch */
	SWITCH_PRESENT,
	SWITCH_FATAL,
	SWITCH_NONFATAL,
	SWITCH_RESET,
	/* .. and one of its links */
	LINK_STATUS,
	LINK_FATAL,
	LINK_NONFATAL,
};

enum { LINK_OFF = 0, LINK_ERROR = 3 }; /* DCGM's link states */
enum { P2P_OK = 0, P2P_UNKNOWN = 6 };  /* DCGM_EXP_P2P_STATUS */

#define INT32_BLANK  0x7ffffff0
#define DOUBLE_BLANK 140737488355328.0 /* 2^47; the 64-bit one is far above */
#define BLANKS	     16

/* DCGM's without their prefix DCGM_FI_DEV_. */
static const struct {
	const char *name;
	enum kind kind;
} metrics[] = {
	{ "GPU_TEMP", PRESENT },
	{ "GPU_TEMP_CELSIUS", PRESENT },
	{ "POWER_USAGE", PRESENT },
	{ "BOARD_POWER_WATTS", PRESENT },
	{ "TOTAL_ENERGY_CONSUMPTION", ENERGY },
	{ "XID_ERRORS", XID },
	{ "XID_ERROR", XID },
	{ "DCGM_EXP_XID_ERRORS_COUNT", XID_COUNT },
	{ "P2P_NVLINK_STATUS", P2P_BITMAP },
	{ "NVLINK_P2P_STATUS", P2P_BITMAP },
	{ "DCGM_EXP_P2P_STATUS", P2P_PAIR },
	{ "FABRIC_MANAGER_STATUS", FM_STATUS },
	{ "FABRIC_HEALTH_MASK", HEALTH_MASK },
	{ "FABRIC_HEALTH_SUMMARY", SUMMARY },
	{ "GET_GPU_RECOVERY_ACTION", RECOVERY_ACTION },
	{ "GPU_RECOVERY_ACTION", RECOVERY_ACTION },
	{ "NVLINK_RECOVERY_FAILED_TOTAL", RECOVERY_FAILED },
	{ "NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS", RECOVERY_FAILED },
	{ "DCGM_EXP_GPU_HEALTH_STATUS", HEALTH_WATCH },
	{ "MIG_MODE", MIG_MODE },
	{ "FABRIC_CLIQUE_ID", CLIQUE },
	{ "NVLINK_GET_STATE", GPU_LINK_STATE },
	{ "NVSWITCH_FATAL_ERRORS", SWITCH_FATAL },
	{ "SXID_FATAL_ERROR", SWITCH_FATAL },
	{ "NVSWITCH_NON_FATAL_ERRORS", SWITCH_NONFATAL },
	{ "SXID_NON_FATAL_ERROR", SWITCH_NONFATAL },
	{ "NVSWITCH_RESET_REQUIRED", SWITCH_RESET },
	{ "NVSWITCH_PHYS_ID", SWITCH_PRESENT },
	{ "NVSWITCH_PHYSICAL_ID", SWITCH_PRESENT },
	{ "NVSWITCH_TEMPERATURE_CURRENT", SWITCH_PRESENT },
	{ "NVSWITCH_TEMP_CELSIUS", SWITCH_PRESENT },
	{ "NVSWITCH_VOLTAGE_MVOLT", SWITCH_PRESENT },
	{ "NVSWITCH_LINK_STATUS", LINK_STATUS },
	{ "NVSWITCH_LINK_FATAL_ERRORS", LINK_FATAL },
	{ "NVSWITCH_LINK_NON_FATAL_ERRORS", LINK_NONFATAL },
};

static bool drop_prefix(struct exposition_text *name, const char *prefix)
{
	size_t len = strlen(prefix);

	if (name->len < len || memcmp(name->at, prefix, len))
		return false;
	name->at += len;
	name->len -= len;
	return true;
}

static int kind_of(void *arg, struct exposition_text name)
{
	if (!drop_prefix(&name, "DCGM_FI_DEV_"))
		drop_prefix(&name, "DCGM_FI_SYSTEM_");
	for (unsigned i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		if (strlen(metrics[i].name) == name.len &&
		    !memcmp(metrics[i].name, name.at, name.len))
			return metrics[i].kind;
	return -1;
}

void evidence_init(struct evidence *e, enum nvswitch_system configured)
{
	*e = (struct evidence){ .configured = configured };
	for (unsigned i = 0; i < EVIDENCE_SWITCHES; i++)
		e->switches[i].link_fatal_link = -1;
}

/* ---- Labels ---------------------------------------------------------------------------------- */

static struct exposition_text either_label(const struct exposition_sample *s, const char *one,
					   const char *other)
{
	struct exposition_text text = exposition_label(s, one);

	return text.at ? text : exposition_label(s, other);
}

/* The number that a value ends with ("nvswitch2", "2"), -1 = none, or not below `bound`. */
static int trailing_number(struct exposition_text text, unsigned bound)
{
	size_t first = text.len;
	unsigned number = 0;

	while (first > 0 && text.at[first - 1] >= '0' && text.at[first - 1] <= '9')
		first--;
	if (first == text.len || text.len - first > 4)
		return -1;
	for (size_t i = first; i < text.len; i++)
		number = number * 10 + (text.at[i] - '0');
	return number < bound ? (int)number : -1;
}

/* What is shown, and kept in a file by words. */
static void copy_shown(struct exposition_text text, char *to, size_t size)
{
	exposition_copy(text, to, size);
	for (char *p = to; *p; p++)
		if (*p <= ' ' || *p > '~')
			*p = '?';
}

static void take_clique(struct evidence *e, uint32_t clique)
{
	e->cliques_differ |= e->has_clique && e->clique != clique;
	if (!e->has_clique)
		e->clique = clique;
	e->has_clique = true;
}

/* DCGM's text fields are exported as labels of all other metrics. No domain: all zero. */
static void learn_domain(struct evidence *e, const struct exposition_sample *s)
{
	struct exposition_text cluster = either_label(s, "DCGM_FI_DEV_FABRIC_CLUSTER_UUID",
						      "DCGM_FI_SYSTEM_FABRIC_CLUSTER_UUID");
	struct exposition_text clique = exposition_label(s, "DCGM_FI_DEV_FABRIC_CLIQUE_ID");
	char text[sizeof(e->cluster)];

	if (cluster.at && !*e->cluster) {
		copy_shown(cluster, text, sizeof(text));
		if (text[strspn(text, "0-")] && *text != '<')
			memcpy(e->cluster, text, sizeof(text));
		e->no_domain |= *text && !text[strspn(text, "0-")];
	}
	if (!clique.at || !clique.len || clique.len > 9)
		return;
	exposition_copy(clique, text, sizeof(text));
	if (!text[strspn(text, "0123456789")])
		take_clique(e, strtoul(text, NULL, 10));
}

static struct evidence_gpu *gpu_of(struct evidence *e, const struct exposition_sample *s)
{
	int number = trailing_number(exposition_label(s, "gpu"), EVIDENCE_GPUS);
	struct exposition_text pci = exposition_label(s, "pci_bus_id");
	struct exposition_text uuid = either_label(s, "UUID", "gpu_uuid");
	struct evidence_gpu *gpu;
	unsigned domain, bus, device;
	char copy[32];

	if (number < 0)
		return NULL;
	gpu = &e->gpus[number];
	if (!*gpu->pci &&
	    pci.at) { /* "00000000:1B:00.0" as the kernel's log has it: "0000:1b:00" */
		exposition_copy(pci, copy, sizeof(copy));
		if (sscanf(copy, "%8x:%2x:%2x", &domain, &bus, &device) == 3 && domain <= 0xffff)
			snprintf(gpu->pci, sizeof(gpu->pci), "%04x:%02x:%02x", domain, bus, device);
	}
	if (!uuid.at)
		uuid = exposition_label(s, "uuid");
	if (!*gpu->uuid && uuid.at)
		copy_shown(uuid, gpu->uuid, sizeof(gpu->uuid));
	if (exposition_label(s, "GPU_I_ID").len) {
		gpu->said.has |= HAS_MIG;
		gpu->said.mig = true;
	}
	return gpu;
}

static struct evidence_switch *switch_of(struct evidence *e, const struct exposition_sample *s)
{
	int number = trailing_number(exposition_label(s, "nvswitch"), EVIDENCE_SWITCHES);

	return number < 0 ? NULL : &e->switches[number];
}

/* ---- Samples: GPUs --------------------------------------------------------------------------- */

static uint32_t whole(double value)
{
	return value >= 1 && value <= UINT32_MAX ? value : 0;
}

/* A status of a few values: UINT8_MAX = none of them. */
static uint8_t status_of(double value)
{
	return value >= 0 && value < UINT8_MAX ? (uint8_t)value : UINT8_MAX;
}

static void take_xid_count(struct evidence *e, const struct evidence_gpu *gpu,
			   const struct exposition_sample *s)
{
	int xid = trailing_number(exposition_label(s, "xid"), UINT16_MAX);
	struct xid_count *count;

	if (xid <= 0 || !whole(s->value) || e->ncounts == MEMORY_COUNTS)
		return;
	if (xid_of(xid, NULL)->state == NVSWITCH_HEALTHY)
		return;
	count = &e->counts[e->ncounts++];
	count->gpu = gpu - e->gpus;
	count->xid = xid;
	count->count = whole(s->value);
}

/* How grave a status is: success least, and what failed more than what has not come to its end. */
static const uint8_t fm_gravity[FM_STATUSES] = {
	[FM_NOT_SUPPORTED] = 0, [FM_SUCCESS] = 1,     [FM_IN_PROGRESS] = 2, [FM_NVML_TOO_OLD] = 3,
	[FM_UNRECOGNIZED] = 4,	[FM_NOT_STARTED] = 5, [FM_FAILURE] = 6
};

/* What a number says: of equal series the worst counts. */
static void take_status(struct gpu_said *said, enum kind kind, double value)
{
	uint32_t number = whole(value);
	uint8_t status = status_of(value);
	bool more;

	switch (kind) {
	case P2P_BITMAP:
		if (value < 0)
			return;
		said->peers = said->has & HAS_P2P ? said->peers & number : number;
		said->has |= HAS_P2P;
		return;
	case FM_STATUS:
		if (status >= FM_STATUSES)
			return;
		if (!(said->has & HAS_FM) || fm_gravity[status] > fm_gravity[said->fm_status])
			said->fm_status = status;
		said->has |= HAS_FM;
		return;
	case HEALTH_MASK: /* 0 = the driver supports none of it */
		if (!number || number > UINT16_MAX)
			return;
		said->mask = number;
		said->has |= HAS_MASK;
		return;
	case SUMMARY: /* unhealthy, then limited, then anything else; 0 = not supported */
		if (!status || status > SUMMARY_LIMITED)
			return;
		if (status == SUMMARY_UNHEALTHY || said->summary < SUMMARY_UNHEALTHY)
			said->summary = status;
		said->has |= HAS_SUMMARY;
		return;
	case RECOVERY_ACTION:
		if (status == UINT8_MAX)
			return;
		more = memory_action(status)->state > memory_action(said->action)->state;
		if (!(said->has & HAS_ACTION) || more)
			said->action = status;
		said->has |= HAS_ACTION;
		return;
	default: /* MIG_MODE */
		said->mig |= value == 1;
		said->has_mig_mode = true;
		said->has |= HAS_MIG;
	}
}

static void take_watch(struct gpu_said *said, const struct exposition_sample *s)
{
	struct exposition_text watch = exposition_label(s, "health_watch");
	struct exposition_text code = exposition_label(s, "health_error_code");
	static const char probe[] = "FABRIC_PROBE";

	if (watch.len != 6 || memcmp(watch.at, "NVLINK", 6) || status_of(s->value) == UINT8_MAX)
		return;
	if (!(said->has & HAS_WATCH) || s->value > said->watch)
		said->watch = status_of(s->value);
	if (s->value >= WATCH_FAIL && code.at &&
	    memmem(code.at, code.len, probe, sizeof(probe) - 1))
		said->probe_failed = true;
	said->has |= HAS_WATCH;
}

static void take_gpu(struct evidence *e, enum kind kind, const struct exposition_sample *s)
{
	struct evidence_gpu *gpu = gpu_of(e, s);
	uint32_t number = whole(s->value);
	bool valid = s->value >= 0;
	int peer, link;

	if (!gpu)
		return;
	switch (kind) {
	case PRESENT:
		gpu->said.has |= HAS_PRESENT;
		return;
	case XID:
		if (number && xid_of(number, NULL)->state >= xid_of(gpu->xid, NULL)->state)
			gpu->xid = number;
		return;
	case XID_COUNT:
		take_xid_count(e, gpu, s);
		return;
	case P2P_PAIR:
		peer = trailing_number(exposition_label(s, "peer_gpu"), EVIDENCE_GPUS);
		if (peer < 0 || s->value < P2P_OK || s->value >= P2P_UNKNOWN)
			return;
		gpu->said.has |= HAS_PAIRS;
		if (s->value > P2P_OK)
			gpu->said.pairs_lost |= 1u << peer;
		return;
	case RECOVERY_FAILED:
		gpu->has_failures = true;
		gpu->failed_recoveries += s->value > 0 ? (uint64_t)s->value : 0;
		return;
	case ENERGY:
		gpu->energy = s->value > 0 ? s->value : 0;
		return;
	case HEALTH_WATCH:
		take_watch(&gpu->said, s);
		return;
	case CLIQUE:
		if (valid && s->value <= UINT32_MAX)
			take_clique(e, s->value);
		return;
	case GPU_LINK_STATE: /* NVML's: 0 = inactive, 1 = active, 2 = asleep */
		link = trailing_number(exposition_label(s, "nvlink"), 64);
		if (link < 0 || !valid)
			return;
		if (s->value == 0)
			gpu->said.links_down |= 1ull << link;
		else
			gpu->said.links_up |= 1ull << link;
		gpu->said.has |= HAS_LINKS;
		return;
	default:
		take_status(&gpu->said, kind, s->value);
	}
}

/* ---- Samples: NVSwitches --------------------------------------------------------------------- */

/* The graver of two errors; between equals the newer. True: it is this one. */
static bool take_sxid(uint32_t *kept, uint32_t sxid)
{
	bool takes = sxid && sxid_class(sxid) >= sxid_class(*kept);

	if (takes)
		*kept = sxid;
	return takes;
}

static void take_link(struct evidence *e, enum kind kind, const struct exposition_sample *s)
{
	int link = trailing_number(exposition_label(s, "nvlink"), EVIDENCE_LINKS);
	struct evidence_switch *sw = switch_of(e, s);
	uint64_t bit;

	if (link < 0 || !sw)
		return;
	if (kind == LINK_FATAL && take_sxid(&sw->link_fatal, whole(s->value)))
		sw->link_fatal_link = link;
	if (kind != LINK_STATUS || s->value < 0) /* below 0: unknown */
		return;
	bit = 1ull << link % 64;
	e->states++;
	sw->said.present = true;
	e->repeated |= (sw->said.links_seen[link / 64] & bit) != 0;
	sw->said.links_seen[link / 64] |= bit;
	if (s->value == LINK_OFF || s->value == LINK_ERROR)
		sw->said.links_down[link / 64] |= bit;
}

/* ---- All of them ----------------------------------------------------------------------------- */

static void take_sample(void *arg, int kind, const struct exposition_sample *s)
{
	struct evidence *e = arg;
	struct exposition_text model, host;
	char text[64];

	if (isnan(s->value) || s->value >= DOUBLE_BLANK ||
	    (s->value >= INT32_BLANK && s->value < (double)INT32_BLANK + BLANKS))
		return;
	e->samples++;
	if (!*e->host) {
		host = either_label(s, "hostname", "Hostname");
		if (host.at)
			copy_shown(host, e->host, sizeof(e->host));
	}
	model = either_label(s, "modelName", "model_name");
	if (model.at && e->learnt == NVSWITCH_SYSTEM_AUTO) {
		exposition_copy(model, text, sizeof(text));
		e->learnt = nvswitch_system_of_model(text);
		e->links = nvswitch_links_of_model(text);
	}
	learn_domain(e, s);
	if (kind <= GPU_LINK_STATE)
		take_gpu(e, kind, s);
	else if (kind <= SWITCH_RESET) {
		enum kind what = kind;
		struct evidence_switch *sw = switch_of(e, s);

		if (!sw)
			return;
		if (what == SWITCH_FATAL) {
			take_sxid(&sw->fatal, whole(s->value));
		} else if (what == SWITCH_NONFATAL) {
			take_sxid(&sw->nonfatal, whole(s->value));
		} else if (what == SWITCH_RESET) {
			e->repeated |= sw->said.has_reset;
			e->states++;
			sw->said.present = sw->said.has_reset = true;
			sw->said.reset_required |= s->value > 0;
		} else {
			sw->said.present = true;
		}
	} else
		take_link(e, kind, s);
}

const struct exposition_ops evidence_ops = { kind_of, take_sample };

/* ---- A scrape goes into memory --------------------------------------------------------------- */

/*
 * A scrape goes into the memory of its host.
 *
 *   states    what is reported replaces what was; what is not reported stays
 *   gauges    DCGM's Xid and SXid gauges show the last number until the host engine begins anew. A
 *             number that was not there before is an event. One that is there at the first sight is
 *             old where its GPU proves that it works, else an event too.
 *   counters  what is higher than before is an event
 *   births    a GPU of another UUID, an energy counter that began anew, or an Xid gauge that is
 *             gone when the exporter answers again after a minute, begin a new incarnation. Events
 *             of an earlier one end when the states of the present one are whole.
 *   proof     an event ends when its subject proves that it works: every state that is reported of
 *             it is well, and either the driver asks for no recovery, or what was lost meanwhile
 *             (P2P, the GPU itself) is whole again. What is reported within `settle_us` of an event
 *             may be a sample from before it and proves nothing.
 */

#define RESTART_US 60000000 /* a shorter silence is a pod's restart, not a machine's */

/* ---- Incarnations ---------------------------------------------------------------------------- */

/* Not where GPUs are only numbered in another way, as when one of them is gone. */
static bool is_replaced(const struct evidence *e, const struct memory *m, unsigned g)
{
	const char *before = m->gpus[g].uuid, *now = e->gpus[g].uuid;

	if (!*before || !*now || !strcmp(before, now))
		return false;
	for (unsigned i = 0; i < MEMORY_GPUS; i++)
		if (!strcmp(m->gpus[i].uuid, now) || !strcmp(e->gpus[i].uuid, before))
			return false;
	return true;
}

static void find_births(struct memory *m, const struct evidence *e,
			const struct evidence_context *c)
{
	bool replaced = false, began = false, counts_on = false, gauge_gone = false;
	bool long_silent = c->silent_us >= RESTART_US;

	for (unsigned g = 0; g < MEMORY_GPUS; g++) {
		const struct evidence_gpu *said = &e->gpus[g];
		struct memory_gpu *gpu = &m->gpus[g];

		if (is_replaced(e, m, g)) {
			memory_reset(m, g, gpu->pci, NVSWITCH_PROVEN);
			gpu->energy = gpu->xid = 0;
			replaced = m->ended = true;
		}
		began |= said->energy < gpu->energy && said->energy;
		counts_on |= said->energy >= gpu->energy && gpu->energy;
		gauge_gone |= gpu->xid && !said->xid && gpu->gauge_source == c->source &&
			      said->said.has & (HAS_STATES | HAS_PRESENT);
	}
	for (unsigned n = 0; n < MEMORY_SWITCHES; n++)
		gauge_gone |= m->switches[n].sxid && !e->switches[n].fatal &&
			      m->switches[n].gauge_source == c->source;
	if (replaced || (began && !counts_on) || (gauge_gone && long_silent && !counts_on))
		memory_reborn(m, -1, true);
	for (unsigned g = 0; g < MEMORY_GPUS; g++) {
		if (e->gpus[g].energy < m->gpus[g].energy && e->gpus[g].energy && counts_on)
			memory_reborn(m, g, long_silent);
		if (e->gpus[g].energy)
			m->gpus[g].energy = e->gpus[g].energy;
	}
}

/* ---- States ---------------------------------------------------------------------------------- */

static void keep_gpu(struct gpu_said *kept, const struct gpu_said *said)
{
	const uint16_t has = said->has;
	bool mig_stays = kept->has_mig_mode && !(has & HAS_MIG);

	if (has & HAS_P2P)
		kept->peers = said->peers;
	if (has & HAS_PAIRS)
		kept->pairs_lost = said->pairs_lost;
	if (has & HAS_FM)
		kept->fm_status = said->fm_status;
	if (has & HAS_MASK)
		kept->mask = said->mask;
	if (has & HAS_SUMMARY)
		kept->summary = said->summary;
	if (has & HAS_ACTION)
		kept->action = said->action;
	if (has & HAS_WATCH) {
		kept->watch = said->watch;
		kept->probe_failed = said->probe_failed;
	}
	if (has & HAS_LINKS) {
		kept->links_down = (kept->links_down | said->links_down) & ~said->links_up;
		kept->links_up = (kept->links_up & ~said->links_down) | said->links_up;
	}
	/* An instance's label is there or not; the mode may be blank for once. */
	if (has & ~HAS_MIG && !mig_stays)
		kept->mig = said->mig;
	else
		kept->mig |= said->mig;
	kept->has_mig_mode |= said->has_mig_mode;
	kept->has |= has;
}

static void keep_states(struct memory *m, const struct evidence *e)
{
	for (unsigned g = 0; g < MEMORY_GPUS; g++) {
		const struct evidence_gpu *said = &e->gpus[g];
		struct memory_gpu *gpu = &m->gpus[g], before = *gpu;

		if (*said->pci)
			snprintf(gpu->pci, sizeof(gpu->pci), "%s", said->pci);
		if (*said->uuid)
			snprintf(gpu->uuid, sizeof(gpu->uuid), "%s", said->uuid);
		gpu->seen |= (said->said.has & (HAS_STATES | HAS_PRESENT)) != 0;
		keep_gpu(&gpu->last, &said->said);
		m->changed |= gpu->seen != before.seen || strcmp(gpu->pci, before.pci) ||
			      strcmp(gpu->uuid, before.uuid) ||
			      memcmp(&before.last, &gpu->last, sizeof(before.last));
	}
	for (unsigned n = 0; n < MEMORY_SWITCHES; n++) {
		const struct evidence_switch *said = &e->switches[n];
		struct memory_switch *sw = &m->switches[n];
		struct switch_said before = sw->last;
		bool shown = said->said.present || said->fatal || said->nonfatal;

		if (shown && !sw->seen && !e->repeated)
			sw->seen = m->changed = true;
		if (!e->repeated || said->said.present) {
			if (said->said.has_reset)
				sw->last.reset_required = said->said.reset_required;
			for (unsigned w = 0; w < MEMORY_LINKS / 64; w++) {
				uint64_t up = said->said.links_seen[w] & ~said->said.links_down[w];

				sw->last.links_down[w] =
					(sw->last.links_down[w] & ~up) | said->said.links_down[w];
				sw->last.links_seen[w] |= said->said.links_seen[w];
			}
		}
		m->changed |= memcmp(&before, &sw->last, sizeof(before)) != 0;
	}
}

/* ---- What is well ---------------------------------------------------------------------------- */

/* Nothing reported of it is unhealthy, and what was ever reported is reported now. */
static bool shows_no_fault(const struct evidence *e, const struct memory *m, unsigned g,
			   enum fm_progress progress)
{
	const struct gpu_said *said = &e->gpus[g].said;
	uint16_t silent = m->gpus[g].last.has & HAS_STATES & ~said->has & ~HAS_LINKS;

	if (silent)
		return false;
	if (said->has & HAS_FM && (evidence_fm_failed(said->fm_status, progress) ||
				   (said->fm_status == FM_IN_PROGRESS && progress)))
		return false;
	if (said->has & HAS_ACTION && said->action != ACTION_NONE)
		return false;
	return !(said->has & HAS_SUMMARY && said->summary == SUMMARY_UNHEALTHY);
}

struct proof { /* of a GPU, in this scrape */
	bool whole, lost, no_action;
};

static struct proof prove(const struct evidence *e, const struct memory *m, unsigned g,
			  const struct evidence_context *c)
{
	const struct gpu_said *said = &e->gpus[g].said;
	uint32_t exempt = evidence_exempt(m, c->progress);
	uint32_t others = ((1u << evidence_gpus_expected(e, m)) - 1) & ~(1u << g) & ~exempt;
	uint32_t lost = said->has & HAS_P2P ? others & ~said->peers : others & said->pairs_lost;
	bool has_p2p = said->has & (HAS_P2P | HAS_PAIRS);
	bool peers_matter = !(exempt >> g & 1), whole = has_p2p && !lost, any = false;
	bool well = shows_no_fault(e, m, g, c->progress);

	for (unsigned i = 0; i < MEMORY_GPUS; i++)
		any |= (e->gpus[i].said.has & HAS_STATES) != 0;
	return (struct proof){
		.whole = well && whole && peers_matter,
		.lost = any && peers_matter && (!(said->has & HAS_STATES) || (has_p2p && !whole)),
		.no_action = well && said->has & HAS_ACTION && (whole || !has_p2p || !peers_matter),
	};
}

/* ---- Events ---------------------------------------------------------------------------------- */

struct what { /* happened, by a number */
	int gpu, sw, link;
	uint32_t code;
	enum nvswitch_state state;
	enum nvswitch_remedy remedy;
	const char *text;
};

static void happen(struct memory *m, const struct evidence_context *c, const struct what *what)
{
	struct nvswitch_finding f = { .state = what->state,
				      .kind = NVSWITCH_IS_EVENT,
				      .trust = c->trust,
				      .remedy = what->remedy,
				      .gpu = what->gpu,
				      .sw = what->sw,
				      .link = what->link,
				      .code = what->code };

	if (what->gpu >= 0)
		snprintf(f.pci, sizeof(f.pci), "%s", m->gpus[what->gpu].pci);
	snprintf(f.text, sizeof(f.text), "%s", what->text);
	memory_note(m, &f, 1u << (c->source < 7 ? c->source : 6), c->now_us);
}

static void xid_happened(struct memory *m, const struct evidence_context *c, unsigned g,
			 uint32_t number)
{
	const struct xid *xid = xid_of(number, NULL);
	char text[92];
	const struct what what = { g, -1, -1, number, xid->state, xid->remedy, text };

	snprintf(text, sizeof(text), "GPU %u: Xid %u%s%s", g, number, *xid->words ? ", " : "",
		 xid->words);
	if (what.state != NVSWITCH_HEALTHY)
		happen(m, c, &what);
}

/*
 * A gauge that an exporter does not show has vanished only where this exporter showed it: another
 * of the host's may not ask for it.
 */
static bool gauge_is_here(bool shown, uint8_t *source, const struct evidence_context *c)
{
	if (shown)
		*source = c->source;
	return *source == c->source;
}

/*
 * DCGM's counts are of the last minutes: what is in one is new, whatever came before. What this
 * exporter counted before is over, what others did stays.
 */
static void take_counts(struct memory *m, const struct evidence *e,
			const struct evidence_context *c)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < e->ncounts; i++) {
		const struct xid_count *now = &e->counts[i];
		uint32_t before = 0;

		for (unsigned k = m->ncounts; k-- > 0;)
			if (m->counts[k].gpu == now->gpu && m->counts[k].xid == now->xid)
				before = m->counts[k].count;
		if (now->count > before)
			xid_happened(m, c, now->gpu, now->xid);
	}
	for (unsigned i = 0; i < m->ncounts; i++)
		if (m->counts[i].source != c->source)
			m->counts[kept++] = m->counts[i];
	for (unsigned i = 0; i < e->ncounts && kept < MEMORY_COUNTS; i++) {
		m->counts[kept] = e->counts[i];
		m->counts[kept++].source = c->source;
	}
	m->ncounts = kept;
}

static void remember_failures(struct memory *m, const struct evidence *e,
			      const struct evidence_context *c, bool first)
{
	for (unsigned g = 0; g < MEMORY_GPUS; g++) {
		struct memory_gpu *gpu = &m->gpus[g];
		char text[92];
		const struct what what = {
			g, -1, -1, 0, NVSWITCH_DEGRADED_LINK, NVSWITCH_RESET_GPU, text
		};

		if (!e->gpus[g].has_failures)
			continue;
		snprintf(text, sizeof(text), "GPU %u: a link did not recover", g);
		if (!first && e->gpus[g].failed_recoveries > gpu->failed_recoveries)
			happen(m, c, &what);
		m->changed |= gpu->failed_recoveries != e->gpus[g].failed_recoveries;
		gpu->failed_recoveries = e->gpus[g].failed_recoveries;
	}
}

static void sxid_happened(struct memory *m, const struct evidence_context *c, unsigned n, int link,
			  uint32_t sxid)
{
	char text[92];
	const struct what what = { -1,	n, link, sxid, sxid_state(sxid, true), sxid_remedy(sxid),
				   text };

	if (link < 0)
		snprintf(text, sizeof(text), "NVSwitch %u: fatal SXid %u", n, sxid);
	else
		snprintf(text, sizeof(text), "NVSwitch %u link %d: fatal SXid %u", n, link, sxid);
	happen(m, c, &what);
}

static void take_sxids(struct memory *m, const struct evidence *e, const struct evidence_context *c,
		       bool first)
{
	unsigned whole = 0, lost = 0;
	bool old;

	/* Old where all GPUs that are there say that they are whole. */
	for (unsigned g = 0; first && g < evidence_gpus_expected(e, m); g++) {
		struct proof p = prove(e, m, g, c);

		whole += p.whole;
		lost += p.lost;
	}
	old = first && whole && !lost;
	for (unsigned n = 0; n < MEMORY_SWITCHES; n++) {
		const struct evidence_switch *said = &e->switches[n];
		struct memory_switch *sw = &m->switches[n];

		if (!gauge_is_here(said->fatal || said->link_fatal, &sw->gauge_source, c))
			continue;
		if (said->fatal && said->fatal != sw->sxid && !old)
			sxid_happened(m, c, n, -1, said->fatal);
		if (said->link_fatal && said->link_fatal != sw->link_sxid && !old)
			sxid_happened(m, c, n, said->link_fatal_link, said->link_fatal);
		m->changed |= sw->sxid != said->fatal || sw->link_sxid != said->link_fatal;
		sw->sxid = said->fatal;
		sw->link_sxid = said->link_fatal;
	}
}

/* ---- Proof ----------------------------------------------------------------------------------- */

/* An event that names no GPU is of all of them. */
static bool is_disproved(const struct evidence *e, const struct memory *m,
			 const struct proof *proofs, const struct memory_event *event,
			 const struct evidence_context *c)
{
	const struct nvswitch_finding *f = &event->finding;
	/* GPUs may be numbered in another way by now; the address stays. */
	int gpu = *f->pci ? memory_gpu_by_pci(m, f->pci) : f->gpu;
	unsigned first = gpu >= 0 ? gpu : 0, whole = 0, dipped = 0, no_action = 0;
	unsigned end = gpu >= 0 ? first + 1 : evidence_gpus_expected(e, m), count = 0;
	uint32_t exempt = gpu >= 0 ? 0 : evidence_exempt(m, c->progress);

	if (c->now_us < event->last_us + c->settle_us)
		return false;
	if (f->state == NVSWITCH_DEGRADED_LINK && f->sw >= 0 && f->sw < MEMORY_SWITCHES &&
	    f->link >= 0 && f->link < MEMORY_LINKS) {
		const struct switch_said *said = &e->switches[f->sw].said;
		unsigned word = (unsigned)f->link / 64, bit = (unsigned)f->link % 64;

		if ((said->links_seen[word] & ~said->links_down[word]) >> bit & 1)
			return true; /* that link is up */
	}
	for (unsigned g = first; g < end; g++) {
		if (exempt >> g & 1)
			continue;
		count++;
		whole += proofs[g].whole;
		no_action += proofs[g].no_action;
		dipped += m->gpus[g].dipped;
	}
	if (count && whole == count && dipped)
		return true;
	return count && no_action == count && f->state != NVSWITCH_FATAL;
}

static void end_disproved(struct memory *m, const struct evidence *e,
			  const struct evidence_context *c)
{
	struct proof proofs[MEMORY_GPUS];
	unsigned kept = 0;
	uint32_t concerned = 0; /* GPUs that the events are about, by bit */

	for (unsigned g = 0; g < MEMORY_GPUS; g++) {
		proofs[g] = prove(e, m, g, c);
		m->changed |= proofs[g].lost && m->gpus[g].seen && !m->gpus[g].dipped;
		m->gpus[g].dipped |= proofs[g].lost && m->gpus[g].seen;
	}
	for (unsigned i = 0; i < m->nevents; i++)
		if (!is_disproved(e, m, proofs, &m->events[i], c))
			m->events[kept++] = m->events[i];
	m->changed |= kept != m->nevents;
	m->nevents = kept;
	for (unsigned i = 0; i < kept; i++)
		concerned |=
			m->events[i].finding.gpu < 0 ? UINT32_MAX : 1u << m->events[i].finding.gpu;
	for (unsigned g = 0; g < MEMORY_GPUS; g++)
		if (proofs[g].whole && m->gpus[g].dipped && !(concerned >> g & 1)) {
			m->gpus[g].dipped = false;
			m->changed = true;
		}
}

/*
 * Old events end where every GPU is there and shows no fault, and all reach each other as far as
 * the exporter says. Where it says nothing of NVLinks, that the GPUs are there is all there is.
 */
static void end_old(struct memory *m, const struct evidence *e, const struct evidence_context *c)
{
	struct nvswitch_verdict now;
	uint32_t exempt = evidence_exempt(m, c->progress);
	bool old = false, whole = m->ports == PORTS_UP;

	for (unsigned i = 0; i < m->nevents; i++)
		old |= m->events[i].old;
	if (!old || !whole)
		return;
	evidence_judge(e, m, c, &now);
	whole = now.state <= NVSWITCH_DEGRADED_LINK || now.state == NVSWITCH_UNKNOWN;
	for (unsigned g = 0; g < MEMORY_GPUS; g++)
		if (m->gpus[g].seen && !(exempt >> g & 1 && !e->gpus[g].said.has))
			whole &= e->gpus[g].said.has & (HAS_STATES | HAS_PRESENT) &&
				 shows_no_fault(e, m, g, c->progress);
	if (whole)
		memory_end_old(m);
}

/* ---- All of it ------------------------------------------------------------------------------- */

void evidence_remember(const struct evidence *e, struct memory *m, const struct evidence_context *c)
{
	bool first = !m->heard;

	if (!e->samples)
		return;

	enum nvswitch_system system =
		e->configured != NVSWITCH_SYSTEM_AUTO ? e->configured : e->learnt;

	if (system != NVSWITCH_SYSTEM_AUTO && (m->system != system || m->links != e->links)) {
		m->system = system;
		m->links = e->links;
		m->changed = true;
	}
	if (*e->cluster && strcmp(m->cluster, e->cluster)) {
		snprintf(m->cluster, sizeof(m->cluster), "%s", e->cluster);
		m->changed = true;
	}
	if (e->has_clique && (!m->has_clique || m->clique != e->clique)) {
		m->clique = e->clique;
		m->has_clique = m->changed = true;
	}

	find_births(m, e, c);
	keep_states(m, e);
	for (unsigned g = 0; g < MEMORY_GPUS; g++) {
		const struct evidence_gpu *said = &e->gpus[g];
		struct proof p = prove(e, m, g, c);
		bool old = first && (p.whole || p.no_action);

		if (!gauge_is_here(said->xid, &m->gpus[g].gauge_source, c))
			continue;
		if (said->xid && said->xid != m->gpus[g].xid && !old)
			xid_happened(m, c, g, said->xid);
		if (m->gpus[g].xid == said->xid)
			continue;
		m->gpus[g].xid = said->xid;
		m->changed = true;
	}

	take_counts(m, e, c);
	remember_failures(m, e, c, first);
	take_sxids(m, e, c, first);
	end_disproved(m, e, c);
	m->heard = true;
	end_old(m, e, c);
}
