/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/nvswitch/evidence.h"
#include "topology/base/sort.h"
#include <math.h>
#include <stdarg.h>
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

enum metric {
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
	/* None of these, but DCGM's */
	DCGM_OTHER,
};

enum { LINK_OFF = 0, LINK_ERROR = 3 }; /* DCGM's link states */
enum { P2P_OK = 0, P2P_UNKNOWN = 6 };  /* DCGM_EXP_P2P_STATUS */

#define INT32_BLANK  0x7ffffff0
#define DOUBLE_BLANK 140737488355328.0 /* 2^47; the 64-bit one is far above */
#define BLANKS	     16

/* DCGM's without their prefix DCGM_FI_DEV_. */
static const struct {
	const char *name;
	enum metric metric;
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
};

static bool begins(struct exposition_text name, const char *with)
{
	return name.len >= strlen(with) && !memcmp(name.at, with, strlen(with));
}

/* Which metrics an exporter has is noted, whether a value is blank or not. */
static int metric_of(void *arg, struct exposition_text name)
{
	static const char *const prefixes[] = { "DCGM_FI_DEV_", "DCGM_FI_SYSTEM_" };
	struct evidence *e = arg;

	if (begins(name, "DCGM_"))
		e->metrics |= 1u << DCGM_OTHER;
	e->rack |= nmx_ops.kind(NULL, name) >= 0;
	for (unsigned i = 0; i < 2; i++)
		if (begins(name, prefixes[i])) {
			name.at += strlen(prefixes[i]);
			name.len -= strlen(prefixes[i]);
			break;
		}
	for (unsigned i = 0; i < ARRAY_SIZE(metrics); i++)
		if (exposition_is(name, metrics[i].name)) {
			e->metrics |= 1u << metrics[i].metric;
			return metrics[i].metric;
		}
	return -1;
}

void evidence_init(struct evidence *e, enum nvswitch_system configured)
{
	*e = (struct evidence){ .configured = configured };
}

/* ---- What an exporter leaves out ------------------------------------------------------------- */

/*
 * Names and releases are of NVIDIA/DCGM's history of dcgm_fields.h up to 4.6.0, which gave some
 * other names. A metric that is silent on a machine that is well (an NVSwitch's last error) is none
 * of these.
 */

#define CARDS	  (1u << NVSWITCH_SYSTEM_OTHER)
#define NO_SWITCH (CARDS | 1u << NVSWITCH_SYSTEM_NVL72) /* NVSwitches are not the host's */

static const struct {
	const char *name, *since, *unknown;
	uint32_t metrics; /* by bit: any of these */
	uint32_t without; /* systems that have no use for it, by bit */
} fields[] = {
	{ "P2P_NVLINK_STATUS", "DCGM 4.3", "whether GPUs reach each other by NVLink",
	  1u << P2P_BITMAP | 1u << P2P_PAIR, CARDS },
	{ "FABRIC_MANAGER_STATUS", "DCGM 4.0", "whether the fabric manager has set up the GPUs",
	  1u << FM_STATUS, CARDS },
	{ "NVSWITCH_LINK_STATUS", "DCGM 3.1", "which NVLinks are down",
	  1u << LINK_STATUS | 1u << GPU_LINK_STATE, NO_SWITCH },
	{ "NVLINK_GET_STATE", "DCGM 4.5", "which NVLinks of GPUs are down", 1u << GPU_LINK_STATE,
	  CARDS },
	{ "NVSWITCH_RESET_REQUIRED", "DCGM 3.1", "whether an NVSwitch needs a reset, or is gone",
	  1u << SWITCH_RESET, NO_SWITCH },
	{ "GET_GPU_RECOVERY_ACTION", "DCGM 4.5", "whether the driver wants a GPU reset or a reboot",
	  1u << RECOVERY_ACTION, CARDS },
	{ "FABRIC_HEALTH_MASK", "DCGM 4.4.2",
	  "whether routes and bandwidth of the NVLink fabric are whole",
	  1u << HEALTH_MASK | 1u << SUMMARY, CARDS },
	{ "MIG_MODE", "DCGM 3", "whether a GPU is out of P2P on purpose (MIG)", 1u << MIG_MODE,
	  CARDS },
};

json_t *evidence_missing(uint32_t seen, enum nvswitch_system system)
{
	json_t *rows = json_array();

	for (unsigned i = 0; seen >> DCGM_OTHER & 1 && i < ARRAY_SIZE(fields); i++)
		if (!(seen & fields[i].metrics) && !(fields[i].without >> system & 1))
			json_array_append_new(
				rows,
				json_pack("{so ss ss}", "field",
					  json_sprintf("DCGM_FI_DEV_%s", fields[i].name), "since",
					  fields[i].since, "unknown", fields[i].unknown));
	return rows;
}

/* ---- Labels ---------------------------------------------------------------------------------- */

/* The value of the first of the names that the sample has. */
static struct exposition_text label_of(const struct exposition_sample *s, const char *one,
				       const char *other)
{
	struct exposition_text text = exposition_label(s, one);

	return text.at ? text : exposition_label(s, other);
}

/* The number that a label's value ends with ("nvswitch2", "2"), -1 = none, or not below `bound`. */
static int number_of(const struct exposition_sample *s, const char *name, unsigned bound)
{
	struct exposition_text text = exposition_label(s, name);
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

static void take_clique(struct evidence *e, uint32_t clique)
{
	e->cliques_differ |= e->clique && e->clique != clique + 1ull;
	e->clique = e->clique ? e->clique : clique + 1ull;
}

static struct evidence_gpu *gpu_of(struct evidence *e, const struct exposition_sample *s)
{
	int number = number_of(s, "gpu", MEMORY_GPUS);
	struct exposition_text pci = exposition_label(s, "pci_bus_id");
	struct exposition_text uuid = label_of(s, "UUID", "gpu_uuid");
	struct evidence_gpu *gpu;
	char copy[32];

	if (number < 0)
		return NULL;
	gpu = &e->gpus[number];
	if (!*gpu->pci && pci.at) {
		exposition_copy(pci, copy, sizeof(copy));
		memory_pci(copy, gpu->pci);
	}
	if (!uuid.at)
		uuid = exposition_label(s, "uuid");
	if (!*gpu->uuid && uuid.at)
		exposition_copy_shown(uuid, gpu->uuid, sizeof(gpu->uuid));
	if (exposition_label(s, "GPU_I_ID").len) {
		gpu->said.has |= HAS_MIG;
		gpu->said.mig = true;
	}
	return gpu;
}

/* ---- Samples: GPUs --------------------------------------------------------------------------- */

static uint32_t whole(double value)
{
	return value >= 1 && value <= UINT32_MAX ? value : 0;
}

/* How grave it is: success least, and what failed more than what has not come to its end. */
static unsigned gravity(enum metric metric, unsigned value)
{
	static const uint8_t fm[FM_STATUSES] = { 0, 5, 2, 1, 6, 4, 3 };

	if (metric == FM_STATUS)
		return fm[value];
	if (metric == SUMMARY)
		return value == SUMMARY_UNHEALTHY ? 2 : value == SUMMARY_LIMITED;
	return action_of(value)->state;
}

static void take_watch(struct gpu_said *said, const struct exposition_sample *s)
{
	struct exposition_text code = exposition_label(s, "health_error_code");
	static const char probe[] = "FABRIC_PROBE";

	if (!exposition_is(exposition_label(s, "health_watch"), "NVLINK") || s->value >= UINT8_MAX)
		return;
	if (!(said->has & HAS_WATCH) || s->value > said->watch)
		said->watch = s->value;
	if (s->value >= WATCH_FAIL && code.at &&
	    memmem(code.at, code.len, probe, sizeof(probe) - 1))
		said->probe_failed = true;
	said->has |= HAS_WATCH;
}

/* Of equal series the gravest counts. */
static void take_state(struct gpu_said *said, enum metric metric, double value)
{
	uint32_t number = whole(value);
	uint16_t bit = HAS_ACTION;
	uint8_t *kept = &said->action, most = UINT8_MAX - 1;

	if (metric == P2P_BITMAP) {
		said->peers = said->has & HAS_P2P ? said->peers & number : number;
		said->has |= HAS_P2P;
		return;
	}
	if (metric == MIG_MODE) {
		said->mig |= value == 1;
		said->has_mig_mode = true;
		said->has |= HAS_MIG;
		return;
	}
	if (metric == HEALTH_MASK) {
		if (number && number <= UINT16_MAX) { /* 0 = the driver supports none of it */
			said->mask = number;
			said->has |= HAS_MASK;
		}
		return;
	}
	if (metric == FM_STATUS) {
		bit = HAS_FM;
		kept = &said->fm_status;
		most = FM_STATUSES - 1;
	} else if (metric == SUMMARY) {
		bit = HAS_SUMMARY;
		kept = &said->summary;
		most = SUMMARY_LIMITED;
	}
	if (value < (metric == SUMMARY) || value > most)
		return;
	if (!(said->has & bit) || gravity(metric, value) > gravity(metric, *kept))
		*kept = value;
	said->has |= bit;
}

static void take_gpu(struct evidence *e, enum metric metric, const struct exposition_sample *s)
{
	struct evidence_gpu *gpu = gpu_of(e, s);
	uint32_t number = whole(s->value);
	int link = number_of(s, "nvlink", 64), xid = number_of(s, "xid", UINT16_MAX);
	int peer = number_of(s, "peer_gpu", MEMORY_GPUS);
	struct gpu_said *said;

	if (!gpu)
		return;
	said = &gpu->said;
	if (s->value < 0 && metric != PRESENT)
		return;
	switch (metric) {
	case PRESENT:
		said->has |= HAS_PRESENT;
		return;
	case XID:
		if (number && xid_of(number, NULL)->state >= xid_of(gpu->xid, NULL)->state)
			gpu->xid = number;
		return;
	case XID_COUNT:
		if (xid > 0 && number && e->ncounts < MEMORY_COUNTS &&
		    xid_of(xid, NULL)->state != NVSWITCH_HEALTHY)
			e->counts[e->ncounts++] = (struct xid_count){ .gpu = gpu - e->gpus,
								      .xid = xid,
								      .count = number };
		return;
	case P2P_PAIR:
		if (peer < 0 || s->value >= P2P_UNKNOWN)
			return;
		said->has |= HAS_PAIRS;
		if (s->value > P2P_OK)
			said->pairs_lost |= 1u << peer;
		return;
	case RECOVERY_FAILED:
		gpu->has_failures = true;
		gpu->failed_recoveries += (uint64_t)s->value;
		return;
	case ENERGY:
		gpu->energy = s->value;
		return;
	case HEALTH_WATCH:
		take_watch(said, s);
		return;
	case CLIQUE:
		if (s->value <= UINT32_MAX)
			take_clique(e, (uint32_t)s->value);
		return;
	case GPU_LINK_STATE: /* NVML's: 0 = inactive, 1 = active, 2 = asleep */
		if (link < 0)
			return;
		*(s->value == 0 ? &said->links_down : &said->links_up) |= 1ull << link;
		said->has |= HAS_LINKS;
		return;
	default:
		take_state(said, metric, s->value);
	}
}

/* ---- Samples: NVSwitches --------------------------------------------------------------------- */

/* The graver of two errors; between equals the newer. True: it is this one. */
static bool take_sxid(uint32_t *kept, double value)
{
	uint32_t sxid = whole(value);
	bool takes = sxid && sxid_of(sxid)->state >= sxid_of(*kept)->state;

	if (takes)
		*kept = sxid;
	return takes;
}

static void take_switch(struct evidence *e, enum metric metric, const struct exposition_sample *s)
{
	int number = number_of(s, "nvswitch", MEMORY_SWITCHES);
	int link = number_of(s, "nvlink", MEMORY_LINKS);
	uint64_t bit = 1ull << (link < 0 ? 0 : link % 64);
	struct evidence_switch *sw = &e->switches[number < 0 ? 0 : number];

	if (number < 0)
		return;
	switch (metric) {
	case SWITCH_PRESENT:
		sw->said.present = true;
		return;
	case SWITCH_FATAL:
		take_sxid(&sw->fatal, s->value);
		return;
	case SWITCH_NONFATAL:
		take_sxid(&sw->nonfatal, s->value);
		return;
	case SWITCH_RESET:
		e->repeated |= sw->said.has_reset;
		e->states++;
		sw->said.present = sw->said.has_reset = true;
		sw->said.reset_required |= s->value > 0;
		return;
	case LINK_FATAL:
		if (link >= 0 && take_sxid(&sw->link_fatal, s->value))
			sw->link_fatal_link = link;
		return;
	default: /* LINK_STATUS; below 0: unknown */
		if (link < 0 || s->value < 0)
			return;
		e->states++;
		sw->said.present = true;
		e->repeated |= (sw->said.links_seen[link / 64] & bit) != 0;
		sw->said.links_seen[link / 64] |= bit;
		if (s->value == LINK_OFF || s->value == LINK_ERROR)
			sw->said.links_down[link / 64] |= bit;
	}
}

/* ---- All of them ----------------------------------------------------------------------------- */

static void take_sample(void *arg, int metric, const struct exposition_sample *s)
{
	struct evidence *e = arg;
	struct exposition_text model, host, cluster, clique;
	char text[64];

	if (isnan(s->value) || s->value >= DOUBLE_BLANK ||
	    (s->value >= INT32_BLANK && s->value < (double)INT32_BLANK + BLANKS))
		return;
	e->samples++;
	host = label_of(s, "hostname", "Hostname");
	if (!*e->host && host.at)
		exposition_copy_shown(host, e->host, sizeof(e->host));
	model = label_of(s, "modelName", "model_name");
	if (model.at && e->learnt == NVSWITCH_SYSTEM_AUTO) {
		exposition_copy(model, text, sizeof(text));
		e->learnt = nvswitch_model(text)->system;
		e->links = nvswitch_model(text)->links;
	}
	/* DCGM's text fields are exported as labels of all other metrics. No domain: all zero. */
	cluster = label_of(s, "DCGM_FI_DEV_FABRIC_CLUSTER_UUID",
			   "DCGM_FI_SYSTEM_FABRIC_CLUSTER_UUID");
	if (cluster.at && !*e->cluster) {
		exposition_copy_shown(cluster, text, sizeof(e->cluster));
		if (text[strspn(text, "0-")] && *text != '<')
			memcpy(e->cluster, text, sizeof(e->cluster));
		e->no_domain |= *text && !text[strspn(text, "0-")];
	}
	clique = exposition_label(s, "DCGM_FI_DEV_FABRIC_CLIQUE_ID");
	exposition_copy(clique, text, sizeof(text));
	if (clique.len && clique.len <= 9 && !text[strspn(text, "0123456789")])
		take_clique(e, strtoul(text, NULL, 10));
	if (metric < SWITCH_PRESENT)
		take_gpu(e, metric, s);
	else
		take_switch(e, metric, s);
}

const struct exposition_ops evidence_ops = { metric_of, take_sample };

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

static void find_births(struct memory *m, const struct evidence *e,
			const struct evidence_context *c)
{
	bool replaced = false, began = false, counts_on = false, gauge_gone = false;
	bool long_silent = c->silent_us >= RESTART_US;

	for (unsigned g = 0; g < MEMORY_GPUS; g++) {
		const struct evidence_gpu *said = &e->gpus[g];
		struct memory_gpu *gpu = &m->gpus[g];

		/* Not where GPUs are only numbered in another way, as when one of them is gone. */
		if (*gpu->uuid && *said->uuid && strcmp(gpu->uuid, said->uuid) &&
		    !any_of(i, 0, MEMORY_GPUS,
			    !strcmp(m->gpus[i].uuid, said->uuid) ||
				    !strcmp(e->gpus[i].uuid, gpu->uuid))) {
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

/* What is reported of a GPU replaces what was; the rest stays. */
static void keep_gpu(struct gpu_said *kept, const struct gpu_said *said)
{
#define PART(bit, member)                                                                          \
	{                                                                                          \
		bit, offsetof(struct gpu_said, member), sizeof(kept->member)                       \
	}
	static const struct {
		uint16_t has, at, size;
	} parts[] = { PART(HAS_P2P, peers),	  PART(HAS_PAIRS, pairs_lost),
		      PART(HAS_FM, fm_status),	  PART(HAS_MASK, mask),
		      PART(HAS_SUMMARY, summary), PART(HAS_ACTION, action),
		      PART(HAS_WATCH, watch),	  PART(HAS_WATCH, probe_failed) };
	bool mig_stays = kept->has_mig_mode && !(said->has & HAS_MIG);

	for (unsigned i = 0; i < ARRAY_SIZE(parts); i++)
		if (said->has & parts[i].has)
			memcpy((char *)kept + parts[i].at, (const char *)said + parts[i].at,
			       parts[i].size);
	kept->links_down = (kept->links_down | said->links_down) & ~said->links_up;
	kept->links_up = (kept->links_up & ~said->links_down) | said->links_up;
	/* An instance's label is there or not; the mode may be blank for once. */
	if (said->has & ~HAS_MIG && !mig_stays)
		kept->mig = said->mig;
	else
		kept->mig |= said->mig;
	kept->has_mig_mode |= said->has_mig_mode;
	kept->has |= said->has;
}

static void keep_states(struct memory *m, const struct evidence *e)
{
	for (unsigned g = 0; g < MEMORY_GPUS; g++) {
		const struct evidence_gpu *said = &e->gpus[g];
		struct memory_gpu *gpu = &m->gpus[g], before = *gpu;

		if (*said->pci)
			memcpy(gpu->pci, said->pci, sizeof(gpu->pci));
		if (*said->uuid)
			memcpy(gpu->uuid, said->uuid, sizeof(gpu->uuid));
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
		m->changed |= memcmp(&before, &sw->last, sizeof(before));
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

/* f: the rest of what happened, about `gpu` (-1 = none). */
__attribute__((format(printf, 5, 6))) static void happen(struct memory *m,
							 const struct evidence_context *c, int gpu,
							 struct nvswitch_finding f,
							 const char *format, ...)
{
	va_list args;

	f.kind = NVSWITCH_IS_EVENT;
	f.trust = c->trust;
	f.gpu = gpu;
	if (gpu >= 0)
		memcpy(f.pci, m->gpus[gpu].pci, sizeof(f.pci));
	va_start(args, format);
	vsnprintf(f.text, sizeof(f.text), format, args);
	va_end(args);
	memory_note(m, &f, 1u << (c->source < 7 ? c->source : 6), c->now_us);
}

static void xid_happened(struct memory *m, const struct evidence_context *c, unsigned g,
			 uint32_t number)
{
	const struct xid *xid = xid_of(number, NULL);
	const struct nvswitch_finding f = {
		.state = xid->state, .remedy = xid->remedy, .sw = -1, .link = -1, .code = number
	};

	if (f.state != NVSWITCH_HEALTHY)
		happen(m, c, g, f, "GPU %u: Xid %u%s%s", g, number, *xid->words ? ", " : "",
		       xid->words);
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

static void sxid_happened(struct memory *m, const struct evidence_context *c, unsigned n, int link,
			  uint32_t sxid)
{
	const struct nvswitch_finding f = { .state = sxid_state(sxid, true),
					    .remedy = sxid_of(sxid)->remedy,
					    .sw = n,
					    .link = link,
					    .code = sxid };

	if (link < 0)
		happen(m, c, -1, f, "NVSwitch %u: fatal SXid %u", n, sxid);
	else
		happen(m, c, -1, f, "NVSwitch %u link %d: fatal SXid %u", n, link, sxid);
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
	static const struct nvswitch_finding failed = {
		.state = NVSWITCH_DEGRADED_LINK, .remedy = NVSWITCH_RESET_GPU, .sw = -1, .link = -1
	};
	enum nvswitch_system system = e->configured ? e->configured : e->learnt;
	bool first = !m->heard;

	if (!e->samples)
		return;
	if (system != NVSWITCH_SYSTEM_AUTO && (m->system != system || m->links != e->links)) {
		m->system = system;
		m->links = e->links;
		m->changed = true;
	}
	if (*e->cluster && strcmp(m->cluster, e->cluster)) {
		memcpy(m->cluster, e->cluster, sizeof(m->cluster));
		m->changed = true;
	}
	if (e->clique && m->clique != e->clique) {
		m->clique = e->clique;
		m->changed = true;
	}

	find_births(m, e, c);
	keep_states(m, e);
	for (unsigned g = 0; g < MEMORY_GPUS; g++) {
		const struct evidence_gpu *said = &e->gpus[g];
		struct memory_gpu *gpu = &m->gpus[g];
		struct proof p = prove(e, m, g, c);
		bool old = first && (p.whole || p.no_action);

		if (gauge_is_here(said->xid, &gpu->gauge_source, c)) {
			if (said->xid && said->xid != gpu->xid && !old)
				xid_happened(m, c, g, said->xid);
			m->changed |= gpu->xid != said->xid;
			gpu->xid = said->xid;
		}
		if (!said->has_failures)
			continue;
		if (!first && said->failed_recoveries > gpu->failed_recoveries)
			happen(m, c, g, failed, "GPU %u: a link did not recover", g);
		m->changed |= said->failed_recoveries != gpu->failed_recoveries;
		gpu->failed_recoveries = said->failed_recoveries;
	}
	take_counts(m, e, c);
	take_sxids(m, e, c, first);
	end_disproved(m, e, c);
	m->heard = true;
	end_old(m, e, c);
}
