/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * evidence_judge: a scrape goes into the memory of its host, and what the host's last states come
 * to, against what the machine should have and ever showed. Events are not judged here: they stand
 * in the host's memory.
 *
 *   FATAL          an NVSwitch that wants a reset; the fabric manager not done for any GPU; a GPU
 *                  that asks for a reboot
 *   NO_P2P         a GPU does not reach another by NVLink, or is gone; the fabric manager not done
 *                  for it; its routes unhealthy; it asks for a reset
 *   DEGRADED_LINK  links down or absent while every GPU reaches every other; capacity reported as
 *                  limited; DCGM's own warnings
 *   UNKNOWN        nothing was reported about NVLinks
 *
 * A link that was down when the exporter began is not in its answer, so links are counted against
 * what the machine has. A GPU that is cut up (MIG) is out of peer-to-peer on purpose, of its peers
 * too, and with A100 its links are off: it is left out of all that.
 *
 * Which status of the fabric manager is a failure, and which mask, is as in DCGM's own health watch
 * (DcgmHealthWatch.cpp, 4.5.0).
 *
 *   states    what is reported replaces what was; what is not reported stays
 *   gauges    DCGM's Xid and SXid gauges show the last number until the host engine restarts. A
 *             number that was not there before is an event. One that is there at the first sight is
 *             old where its GPU proves that it works, else an event too.
 *   counters  what is higher than before is an event
 *   births    a GPU of another UUID, an energy counter that restarted, or an Xid gauge that is
 *             gone when the exporter answers again after a minute, begin a new incarnation. Events
 *             of an earlier one end when the states of the present one are whole.
 *   proof     an event ends when its subject proves that it works: every state that is reported of
 *             it is well, and either the driver asks for no recovery, or what was lost meanwhile
 *             (P2P, the GPU itself) is whole again. What is reported within `settle_us` of an event
 *             may be a sample from before it and proves nothing.
 */
#include "fm/nvswitch/evidence.h"
#include "topology/base/sort.h"

#define RESTART_US 60000000 /* a shorter silence is a pod's restart, not a machine's */

struct judge {
	const struct evidence *e;
	struct memory *m;
	const struct evidence_context *c;
	struct nvswitch_verdict *verdict;
	unsigned gpus;	/* that the machine has */
	unsigned links; /* of a GPU, 0 = not known */
	/* GPUs by bit: all; absent by an operator's word; these, in MIG or without partition */
	uint32_t all, absent, exempt;
	/* Of this scrape: those that report anything, or prove a state; those once lost. */
	uint32_t there, whole, lost, no_action, dipped;
};

/* ---- Findings -------------------------------------------------------------------------------- */

#define ABOUT(g, k, r)                                                                             \
	((struct nvswitch_finding){ .kind = (k), .remedy = (r), .gpu = (g), .sw = -1, .link = -1 })
#define GPU(n)	   ABOUT(n, NVSWITCH_IS_STATE, NVSWITCH_RESET_GPU)
#define GONE(n, r) ABOUT(n, NVSWITCH_IS_SILENCE, r)
#define EVENT(n)   ABOUT(n, NVSWITCH_IS_EVENT, NVSWITCH_RESET_GPU)
#define NOWHERE	   GPU(-1)

static struct nvswitch_finding seen_by(const struct judge *j, struct nvswitch_finding f)
{
	f.trust = j->c->trust;
	if (f.gpu >= 0)
		memcpy(f.pci, j->m->gpus[f.gpu].pci, sizeof(f.pci));
	return f;
}

#define find(j, state, place, ...)                                                                 \
	nvswitch_find((j)->verdict, state, seen_by(j, place), __VA_ARGS__)

/* Of the memory. */
static void happened(const struct judge *j, enum nvswitch_state state, struct nvswitch_finding f)
{
	f = seen_by(j, f);
	f.state = state;
	if (state != NVSWITCH_HEALTHY)
		memory_note(j->m, &f, 1u << (j->c->source < 7 ? j->c->source : 6), j->c->now_us);
}

/* ---- Incarnations ---------------------------------------------------------------------------- */

static void find_births(const struct judge *j)
{
	struct memory *m = j->m;
	const struct evidence *e = j->e;
	bool replaced = false, counts_on = false, gauge_gone = false;
	bool long_silent = j->c->silent_us >= RESTART_US;
	uint32_t began = 0; /* GPUs whose energy did, by bit */

	for (unsigned g = 0; g < MEMORY_GPUS; g++) {
		const struct memory_gpu *report = &e->gpus[g];
		struct memory_gpu *gpu = &m->gpus[g];

		/* Not where GPUs are only numbered in another way, as when one of them is gone. */
		if (*gpu->uuid && *report->uuid && strcmp(gpu->uuid, report->uuid) &&
		    !any_of(i, 0, MEMORY_GPUS,
			    !strcmp(m->gpus[i].uuid, report->uuid) ||
				    !strcmp(e->gpus[i].uuid, gpu->uuid))) {
			memory_reset(m, g, gpu->pci);
			gpu->energy = gpu->xid = 0;
			replaced = m->ended = true;
		}
		counts_on |= report->energy >= gpu->energy && gpu->energy;
		began |= report->energy && report->energy < gpu->energy ? 1u << g : 0;
		gauge_gone |= gpu->xid && !report->xid && gpu->gauge_source == j->c->source &&
			      report->last.has & HAS_ANY;
		gpu->energy = report->energy ? report->energy : gpu->energy;
		gpu->gauge_source = report->xid ? j->c->source : gpu->gauge_source;
	}
	for (unsigned n = 0; n < MEMORY_SWITCHES; n++) {
		const struct memory_switch *report = &e->switches[n];
		struct memory_switch *sw = &m->switches[n];

		gauge_gone |= sw->sxid && !report->sxid && sw->gauge_source == j->c->source;
		if (report->sxid || report->link_sxid)
			sw->gauge_source = j->c->source;
	}
	if (replaced || (!counts_on && (began || (gauge_gone && long_silent))))
		memory_reborn(m, -1, true);
	for (unsigned g = 0; g < MEMORY_GPUS && counts_on; g++)
		if (began >> g & 1)
			memory_reborn(m, g, long_silent);
}

/* ---- States ---------------------------------------------------------------------------------- */

/* What is reported of a GPU replaces what was; the rest stays. */
static const struct {
	uint16_t has, at, size;
} parts[] = {
#define PART(bit, member)                                                                          \
	{                                                                                          \
		bit, offsetof(struct gpu_report, member), sizeof(((struct gpu_report *)0)->member) \
	}
	PART(HAS_P2P, peers),	PART(HAS_PAIRS, pairs_lost),   PART(HAS_FM, fm_status),
	PART(HAS_MASK, mask),	PART(HAS_SUMMARY, summary),    PART(HAS_ACTION, action),
	PART(HAS_WATCH, watch), PART(HAS_WATCH, probe_failed),
};

static void keep_states(struct memory *m, const struct evidence *e)
{
	enum nvswitch_system system = e->configured ? e->configured : e->learnt;

	if (system) {
		m->system = system;
		m->links = e->links;
	}
	if (*e->cluster)
		memcpy(m->cluster, e->cluster, sizeof(m->cluster));
	m->clique = e->clique ? e->clique : m->clique;
	for (unsigned g = 0; g < MEMORY_GPUS; g++) {
		const struct memory_gpu *now = &e->gpus[g];
		const struct gpu_report *report = &now->last;
		struct memory_gpu *gpu = &m->gpus[g];
		struct gpu_report *kept = &gpu->last;

		if (*now->pci)
			memcpy(gpu->pci, now->pci, sizeof(gpu->pci));
		if (*now->uuid)
			memcpy(gpu->uuid, now->uuid, sizeof(gpu->uuid));
		gpu->seen |= (report->has & HAS_ANY) != 0;
		ARRAY_EACH (part, parts, ARRAY_SIZE(parts))
			if (report->has & part->has)
				memcpy((char *)kept + part->at, (const char *)report + part->at,
				       part->size);
		kept->links_down = (kept->links_down | report->links_down) & ~report->links_up;
		kept->links_up = (kept->links_up & ~report->links_down) | report->links_up;
		/* An instance's label is there or not; the mode may be blank for once. */
		if (report->has & ~HAS_MIG && !(kept->has_mig_mode && !(report->has & HAS_MIG)))
			kept->mig = false;
		kept->mig |= report->mig;
		kept->has_mig_mode |= report->has_mig_mode;
		kept->has |= report->has;
	}
	for (unsigned n = 0; n < MEMORY_SWITCHES; n++) {
		const struct memory_switch *now = &e->switches[n];
		const struct switch_report *report = &now->last;
		struct memory_switch *sw = &m->switches[n];

		sw->seen |= !e->repeated && (report->present || now->sxid || e->nonfatal[n]);
		if (report->has_reset)
			sw->last.reset_required = report->reset_required;
		for (unsigned w = 0; w < MEMORY_LINKS / 64; w++) {
			sw->last.links_down[w] &= ~report->links_seen[w];
			sw->last.links_down[w] |= report->links_down[w];
			sw->last.links_seen[w] |= report->links_seen[w];
		}
	}
}

/* ---- What there should be, and what is well -------------------------------------------------- */

/* What the fabric manager's status means; as if it were done where it is not reported. */
static const struct xid *fm_of(const struct judge *j, const struct gpu_report *report)
{
	return catalogue_find(CATALOGUE_FM, report->has & HAS_FM ? report->fm_status : FM_SUCCESS,
			      NULL, j->c->progress);
}

static uint32_t others_of(const struct judge *j, unsigned g)
{
	return j->all & ~(1u << g) & ~j->exempt;
}

/* GPUs that it does not reach, by bit. */
static uint32_t lost_by(const struct judge *j, unsigned g, const struct gpu_report *now)
{
	return (now->pairs_lost | (now->has & HAS_P2P ? ~now->peers : 0)) & others_of(j, g);
}

/* Nothing reported of it is unhealthy, and what was ever reported is reported now. */
static bool shows_no_fault(const struct judge *j, unsigned g)
{
	const struct gpu_report *report = &j->e->gpus[g].last;
	uint16_t silent = j->m->gpus[g].last.has & HAS_STATES & ~report->has & ~HAS_LINKS;

	return !silent && !fm_of(j, report)->state &&
	       !(report->has & HAS_ACTION && report->action != ACTION_NONE) &&
	       !(report->has & HAS_SUMMARY && report->summary == SUMMARY_UNHEALTHY);
}

static void survey(struct judge *j)
{
	struct memory *m = j->m;
	const struct nvswitch_expect *usual = &nvswitch_systems[m->system];
	unsigned seen = 0, top = 0, left = m->declared ? m->declared : usual->gpus;
	/* A board of four has none, and so a manager that is not supported. */
	bool switches = any_of(n, 0, MEMORY_SWITCHES, m->switches[n].seen), any = false;

	for (unsigned g = 0; g < MEMORY_GPUS; g++) {
		const struct gpu_report *last = &m->gpus[g].last;

		seen += m->gpus[g].seen;
		top = m->gpus[g].seen ? g + 1 : top;
		switches |= last->has & HAS_FM && last->fm_status != FM_NOT_SUPPORTED;
		any |= (j->e->gpus[g].last.has & HAS_STATES) != 0;
		if (g < usual->gpus && left < usual->gpus && !m->gpus[g].seen) {
			j->absent |= 1u << g;
			left++;
		}
		if (last->mig || (last->has & HAS_FM && last->fm_status == FM_IN_PROGRESS &&
				  j->c->progress == FM_PROGRESS_NORMAL))
			j->exempt |= 1u << g;
	}
	j->exempt |= j->absent;
	j->links = m->links ? m->links : usual->links;
	j->gpus = usual->gpus;
	if (top > usual->gpus || (!j->e->configured && seen <= usual->gpus / 2u && !switches))
		j->gpus = top;
	j->all = (1u << j->gpus) - 1;
	for (unsigned g = 0; g < MEMORY_GPUS; g++) {
		const struct gpu_report *report = &j->e->gpus[g].last;
		bool p2p = report->has & (HAS_P2P | HAS_PAIRS), well = shows_no_fault(j, g);
		bool whole = p2p && !lost_by(j, g, report), matters = !(j->exempt >> g & 1);
		bool lost = any && matters && (!(report->has & HAS_STATES) || (p2p && !whole));

		m->gpus[g].dipped |= lost && m->gpus[g].seen;
		j->there |= (report->has & HAS_ANY ? 1u : 0u) << g;
		j->whole |= (unsigned)(well && whole && matters) << g;
		j->lost |= (unsigned)lost << g;
		j->no_action |=
			(unsigned)(well && report->has & HAS_ACTION && (whole || !p2p || !matters))
			<< g;
		j->dipped |= (unsigned)m->gpus[g].dipped << g;
	}
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* An Xid of a GPU, or the fatal SXid of an NVSwitch (gpu -1) or of one of its links. */
static void error_happened(const struct judge *j, int gpu, int sw, int link, uint32_t number)
{
	const struct xid *row =
		catalogue_find(gpu < 0 ? CATALOGUE_SXID : CATALOGUE_XID, number, NULL, 0);
	struct nvswitch_finding f = EVENT(gpu);
	char at[24] = "";

	f.remedy = row->remedy;
	f.sw = sw;
	f.link = link;
	f.code = number;
	if (link >= 0)
		array_printf(at, " link %d", link);
	if (gpu < 0)
		array_printf(f.text, "NVSwitch %d%s: fatal SXid %u", sw, at, number);
	else
		array_printf(f.text, "GPU %d: Xid %u%s%.66s", gpu, number, *row->words ? ", " : "",
			     row->words);
	happened(j, gpu < 0 ? sxid_state(number, true) : row->state, f);
}

/*
 * A gauge that shows another number than before; of none it shows, another of the host's exporters
 * may ask for it. True: an event, unless it may be old.
 */
static bool gauge_moved(const struct judge *j, uint32_t *kept, uint32_t now, uint8_t source)
{
	if (*kept == now || source != j->c->source)
		return false;
	*kept = now;
	return now;
}

/* What is there at the first sight is old where the GPU, or all of them, prove that they work. */
static void take_events(const struct judge *j)
{
	struct memory *m = j->m;
	const struct evidence *e = j->e;
	bool first = !m->heard, old = first && j->whole & j->all && !(j->lost & j->all);
	unsigned kept = 0;

	for (unsigned g = 0; g < MEMORY_GPUS; g++) {
		const struct memory_gpu *report = &e->gpus[g];
		struct memory_gpu *gpu = &m->gpus[g];
		struct nvswitch_finding failed = EVENT(g);

		if (gauge_moved(j, &gpu->xid, report->xid, gpu->gauge_source) &&
		    !(first && (j->whole | j->no_action) >> g & 1))
			error_happened(j, g, -1, -1, report->xid);
		if (!(report->last.has & HAS_FAILURES))
			continue;
		array_printf(failed.text, "GPU %u: a link did not recover", g);
		if (!first && report->failed_recoveries > gpu->failed_recoveries)
			happened(j, NVSWITCH_DEGRADED_LINK, failed);
		gpu->failed_recoveries = report->failed_recoveries;
	}
	/*
	 * DCGM's counts are of the last minutes: what is in one is new, whatever came before. What
	 * this exporter counted before is over, what others did stays.
	 */
	ARRAY_EACH (now, e->counts, e->ncounts)
		if (!any_of(k, 0, m->ncounts,
			    m->counts[k].gpu == now->gpu && m->counts[k].xid == now->xid &&
				    m->counts[k].count >= now->count))
			error_happened(j, now->gpu, -1, -1, now->xid);
	ARRAY_EACH (count, m->counts, m->ncounts)
		if (count->source != j->c->source)
			m->counts[kept++] = *count;
	ARRAY_EACH (now, e->counts, kept < MEMORY_COUNTS ? e->ncounts : 0u) {
		m->counts[kept] = *now;
		m->counts[kept++].source = j->c->source;
	}
	m->ncounts = kept;
	for (unsigned n = 0; n < MEMORY_SWITCHES; n++) {
		const struct memory_switch *report = &e->switches[n];
		struct memory_switch *sw = &m->switches[n];

		if (gauge_moved(j, &sw->sxid, report->sxid, sw->gauge_source) && !old)
			error_happened(j, -1, n, -1, report->sxid);
		if (gauge_moved(j, &sw->link_sxid, report->link_sxid, sw->gauge_source) && !old)
			error_happened(j, -1, n, e->fatal_link[n], report->link_sxid);
	}
}

/* ---- Proof ----------------------------------------------------------------------------------- */

/* An event that names no GPU is of all of them. */
static bool is_disproved(const struct judge *j, const struct nvswitch_finding *f)
{
	/* GPUs may be numbered in another way by now; the address stays. */
	int gpu = *f->pci ? memory_gpu_by_pci(j->m, f->pci) : f->gpu;
	uint32_t of = gpu >= 0 ? 1u << gpu : j->all & ~j->exempt;

	if (j->c->now_us < f->last_us + j->c->settle_us)
		return false;
	if (f->state == NVSWITCH_DEGRADED_LINK && f->sw >= 0 && f->sw < MEMORY_SWITCHES &&
	    f->link >= 0 && f->link < MEMORY_LINKS) {
		const struct switch_report *report = &j->e->switches[f->sw].last;
		unsigned word = f->link / 64u;

		if ((report->links_seen[word] & ~report->links_down[word]) >> f->link % 64 & 1)
			return true; /* that link is up */
	}
	return of && ((!(of & ~j->whole) && of & j->dipped) ||
		      (!(of & ~j->no_action) && f->state != NVSWITCH_FATAL));
}

static void end_disproved(const struct judge *j)
{
	struct nvswitch_verdict *events = &j->m->events;
	unsigned kept = 0;
	uint32_t concerned = 0; /* GPUs that the events are about, by bit */

	ARRAY_EACH (event, events->findings, events->count) {
		if (is_disproved(j, event))
			continue;
		concerned |= event->gpu < 0 ? UINT32_MAX : 1u << event->gpu;
		events->findings[kept++] = *event;
	}
	events->count = kept;
	for (unsigned g = 0; g < MEMORY_GPUS; g++)
		j->m->gpus[g].dipped &= !((j->whole & ~concerned) >> g & 1);
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

/*
 * What a GPU that is there shows. NVML's mask has fields of two bits, but for the one of what is
 * configured wrongly; the catalogue says which values are bad, and one that nobody knows is
 * reported. Its own links are NVML's, which does not report those that were never up.
 */
static void judge_gpu(const struct judge *j, unsigned g)
{
	const struct gpu_report *last = &j->m->gpus[g].last, *report = &j->e->gpus[g].last;
	unsigned count = __builtin_popcountll(report->links_up | report->links_down);
	unsigned ever = __builtin_popcountll(last->links_up | last->links_down);
	unsigned usual = ever > j->links ? ever : j->links;
	bool exempt = j->exempt >> g & 1;
	uint32_t lost = exempt ? 0 : lost_by(j, g, last);
	struct nvswitch_finding place = GPU(g);
	const struct xid *row;

	place.peers_lost = __builtin_popcount(lost);
	if (lost)
		find(j, NVSWITCH_NO_P2P, place,
		     "GPU %u: no NVLink to %d of %d GPUs, the first GPU %d", g, place.peers_lost,
		     __builtin_popcount(others_of(j, g)), __builtin_ctz(lost));
	place.peers_lost = 0;
	for (unsigned shift = 0, bits; last->has & HAS_MASK && !exempt && shift < 16;
	     shift += bits) {
		char mask[16] = "";

		bits = shift == 8 ? 4 : 2;
		row = catalogue_find(CATALOGUE_MASK, shift, NULL,
				     last->mask >> shift & ((1u << bits) - 1));
		place.remedy = row->remedy;
		if (!row->state)
			array_printf(mask, " 0x%x", last->mask);
		if (*row->words && !(shift == 12 && row->state && /* it waits for its partition */
				     j->c->progress == FM_PROGRESS_NORMAL))
			find(j, row->state, place, "GPU %u: NVLink fabric: %s%s", g, row->words,
			     mask);
	}
	ARRAY_EACH (it, evidence_reported, REPORTED) {
		unsigned value = it->kind == CATALOGUE_WATCH ? last->probe_failed : j->c->progress;

		row = catalogue_find(it->kind, *((const uint8_t *)last + it->at), NULL, value);
		place.remedy = row->remedy;
		if (last->has & it->has && row->state)
			find(j, row->state, place, "GPU %u: %s%s", g, it->text, row->words);
	}
	if (exempt && j->m->system == NVSWITCH_SYSTEM_A100)
		return;
	place = GPU(g);
	place.link = last->links_down ? __builtin_ctzll(last->links_down) : -1;
	if (last->links_down)
		find(j, NVSWITCH_DEGRADED_LINK, place, "GPU %u: %d NVLinks down, the first link %d",
		     g, __builtin_popcountll(last->links_down), place.link);
	if (count && count < usual)
		find(j, NVSWITCH_DEGRADED_LINK, GONE(g, NVSWITCH_RESET_GPU),
		     "GPU %u: %u of %u NVLinks absent", g, usual - count, usual);
}

/* Any word in a scrape that only a GPU that is there has counts; an Xid is none. */
static void judge_gpus(const struct judge *j)
{
	/* Instances of MIG come and go. */
	uint32_t gone = j->all & ~j->there & ~j->exempt;
	unsigned reporting = 0, failed = 0;
	const char *status = "";
	struct nvswitch_finding place = NOWHERE;

	/* First: that others do not reach them follows from it. */
	for (unsigned g = 0; g < j->gpus && j->there & j->all; g++)
		if (gone >> g & 1)
			find(j, NVSWITCH_NO_P2P, GONE(g, NVSWITCH_REBOOT), "GPU %u: absent", g);
	for (unsigned g = 0; g < j->gpus; g++) {
		const struct gpu_report *last = &j->m->gpus[g].last;
		const struct xid *fm = fm_of(j, last);

		if (!(j->there >> g & 1))
			continue;
		reporting += (last->has & HAS_FM) != 0;
		failed += fm->state >= NVSWITCH_NO_P2P;
		status = fm->state >= NVSWITCH_NO_P2P ? fm->words : status;
		judge_gpu(j, g);
	}
	place.remedy = NVSWITCH_REBOOT;
	if (reporting && failed == reporting)
		find(j, NVSWITCH_FATAL, place, "the fabric manager %s, for every GPU", status);
	else if (failed && gone)
		find(j, NVSWITCH_FATAL, place, "a GPU is gone and the fabric manager %s", status);
}

/* ---- NVSwitches and links -------------------------------------------------------------------- */

/* By what each has at all times: an error number is reported only where there was one. */
static void judge_switches(const struct judge *j)
{
	/* Of GPUs that are not in the machine, or cut up: with A100 these are trained off. */
	uint32_t without = j->m->system == NVSWITCH_SYSTEM_A100 ? j->exempt : j->absent;
	unsigned off = __builtin_popcount(without) * j->links;
	unsigned all = j->gpus * j->links, absent = 0, seen = 0, down = 0;
	unsigned there = 0, usual = nvswitch_systems[j->m->system].switches, ever = 0;
	struct nvswitch_finding first = NOWHERE;

	for (unsigned n = 0; n < MEMORY_SWITCHES; n++) {
		const struct memory_switch *sw = &j->m->switches[n];
		const struct switch_report *now = &j->e->switches[n].last;
		struct nvswitch_finding place = NOWHERE;

		place.sw = n;
		if (sw->last.reset_required)
			find(j, NVSWITCH_FATAL, place, "NVSwitch %u: needs a reset", n);
		place.remedy = NVSWITCH_REMEDY_NONE;
		place.code = j->e->nonfatal[n];
		if (place.code)
			find(j, NVSWITCH_HEALTHY, place, "NVSwitch %u: non-fatal SXid %u", n,
			     place.code);
		there += now->present;
		ever += sw->seen;
		for (unsigned w = 0; w < MEMORY_LINKS / 64; w++) {
			uint64_t bits = sw->last.links_down[w];

			if (bits && !down) {
				first.sw = n;
				first.link = w * 64 + __builtin_ctzll(bits);
			}
			down += __builtin_popcountll(bits);
			seen += __builtin_popcountll(now->links_seen[w]);
		}
	}
	ever = ever > usual ? ever : usual;
	if (there && there < ever && !j->e->repeated)
		find(j, NVSWITCH_DEGRADED_LINK, GONE(-1, NVSWITCH_REBOOT),
		     "%u of %u NVSwitches absent", ever - there, ever);
	/* An exporter that began after they were trained off does not report them. */
	if (seen && seen < all && !j->e->repeated && usual)
		absent = all - seen;
	if (absent > off) {
		find(j, NVSWITCH_DEGRADED_LINK, GONE(-1, NVSWITCH_RESET_GPU),
		     "%u of %u NVLinks absent", absent - off, all - off);
		absent = off;
	}
	off -= absent;
	if (down > off)
		find(j, NVSWITCH_DEGRADED_LINK, first,
		     "%u NVLinks down, the first NVSwitch %d link %d", down - off, first.sw,
		     first.link);
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* True: NVLinks were reported. */
static bool judge_states(const struct judge *j)
{
	const struct evidence *e = j->e;
	bool nvl72 = j->m->system == NVSWITCH_SYSTEM_NVL72;

	if (!e->states && !any_of(g, 0, MEMORY_GPUS, e->gpus[g].last.has & HAS_STATES))
		return false;
	if (nvl72 && e->no_domain && !*e->cluster &&
	    any_of(g, 0, MEMORY_GPUS,
		   j->m->gpus[g].last.has & HAS_FM && j->m->gpus[g].last.fm_status == FM_SUCCESS))
		find(j, NVSWITCH_NO_P2P, NOWHERE,
		     "registered without a domain: cluster UUID and clique are zero");
	if (nvl72 && e->cliques_differ)
		find(j, NVSWITCH_NO_P2P, NOWHERE,
		     "GPUs are in different cliques: no NVLink between them");
	if (j->m->system != NVSWITCH_SYSTEM_OTHER)
		judge_gpus(j);
	judge_switches(j);
	return true;
}

void evidence_judge(const struct evidence *e, struct memory *m, const struct evidence_context *c,
		    struct nvswitch_verdict *verdict)
{
	struct judge j = { .e = e, .m = m, .c = c, .verdict = verdict };
	struct memory before; /* but for its energy and who shows a gauge: others in each scrape */

	if (e->samples) {
		find_births(&j);
		memcpy(&before, m, sizeof(before));
		keep_states(m, e);
		survey(&j);
		take_events(&j);
		end_disproved(&j);
		m->heard = true;
		m->changed |= memcmp(&before, m, sizeof(before)) != 0;
	}
	*verdict = (struct nvswitch_verdict){ .system = m->system };
	if (!e->samples || !judge_states(&j))
		verdict->state = NVSWITCH_UNKNOWN;

	/*
	 * Old events end where every GPU is there and shows no fault, and all reach each other as
	 * far as the exporter says. Where it says nothing of NVLinks, that the GPUs are there is
	 * all there is.
	 */
	bool old =
		e->samples && m->ports == PORTS_UP &&
		(verdict->state <= NVSWITCH_DEGRADED_LINK || verdict->state == NVSWITCH_UNKNOWN) &&
		any_of(i, 0, m->events.count, m->events.findings[i].old);

	for (unsigned g = 0; g < MEMORY_GPUS && old; g++)
		if (m->gpus[g].seen && !(j.exempt >> g & 1 && !e->gpus[g].last.has))
			old = j.there >> g & 1 && shows_no_fault(&j, g);
	if (old)
		memory_end_old(m);
}
