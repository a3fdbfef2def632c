/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * evidence_remember: a scrape goes into the memory of its host.
 *
 *   states    what is reported replaces what was; what is not reported stays
 *   gauges    DCGM's Xid and SXid gauges show the last number until the host engine begins anew. A
 *             number that was not there before is an event. One that is there at the first sight is
 *             old where its GPU proves that it works, else an event too.
 *   counters  what is higher than before is an event
 *   proof     an event ends when its subject proves that it works: every state that is reported of
 *             it is well, and either the driver asks for no recovery, or what was lost meanwhile
 *             (P2P, the GPU itself) is whole again. What is reported within `settle_us` of an event
 *             may be a sample from before it and proves nothing.
 */
#include <stdio.h>
#include <string.h>
#include "fm/nvswitch/evidence.h"
#include "fm/nvswitch/sxid.h"

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

static void keep_switch(struct switch_said *kept, const struct switch_said *said)
{
	kept->present |= said->present;
	if (said->has_reset)
		kept->reset_required = said->reset_required;
	kept->has_reset |= said->has_reset;
	for (unsigned w = 0; w < MEMORY_LINKS / 64; w++) {
		uint64_t up = said->links_seen[w] & ~said->links_down[w];

		kept->links_down[w] = (kept->links_down[w] & ~up) | said->links_down[w];
		kept->links_seen[w] |= said->links_seen[w];
	}
}

static void learn_gpu(struct memory *m, unsigned g, const struct evidence_gpu *said)
{
	struct memory_gpu *gpu = &m->gpus[g];

	if (*said->pci && strcmp(gpu->pci, said->pci)) {
		snprintf(gpu->pci, sizeof(gpu->pci), "%s", said->pci);
		m->changed = true;
	}
	if (*said->uuid && strcmp(gpu->uuid, said->uuid)) {
		snprintf(gpu->uuid, sizeof(gpu->uuid), "%s", said->uuid);
		m->changed = true;
	}
	if (said->said.has & (HAS_STATES | HAS_PRESENT) && !gpu->seen)
		gpu->seen = m->changed = true;
}

static void keep_states(struct memory *m, const struct evidence *e)
{
	for (unsigned g = 0; g < MEMORY_GPUS; g++) {
		struct gpu_said before = m->gpus[g].last;

		learn_gpu(m, g, &e->gpus[g]);
		keep_gpu(&m->gpus[g].last, &e->gpus[g].said);
		m->changed |= memcmp(&before, &m->gpus[g].last, sizeof(before)) != 0;
	}
	for (unsigned n = 0; n < MEMORY_SWITCHES; n++) {
		struct switch_said before = m->switches[n].last;
		bool shown = e->switches[n].said.present || e->switches[n].fatal ||
			     e->switches[n].nonfatal;

		if (shown && !m->switches[n].seen && !e->repeated)
			m->switches[n].seen = m->changed = true;
		if (!e->repeated || e->switches[n].said.present)
			keep_switch(&m->switches[n].last, &e->switches[n].said);
		m->changed |= memcmp(&before, &m->switches[n].last, sizeof(before)) != 0;
	}
}

static void keep_host(struct memory *m, const struct evidence *e)
{
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
}

/* ---- What is well ---------------------------------------------------------------------------- */

static bool is_whole(const struct gpu_said *said, uint32_t others)
{
	if (said->has & HAS_P2P)
		return !(others & ~said->peers);
	return said->has & HAS_PAIRS && !(others & said->pairs_lost);
}

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

static bool any_gpu_reports(const struct evidence *e)
{
	for (unsigned g = 0; g < MEMORY_GPUS; g++)
		if (e->gpus[g].said.has & HAS_STATES)
			return true;
	return false;
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
	bool has_p2p = said->has & (HAS_P2P | HAS_PAIRS);
	bool peers_matter = !(exempt >> g & 1);
	bool well = shows_no_fault(e, m, g, c->progress);
	bool whole = has_p2p && is_whole(said, others);

	return (struct proof){
		.whole = well && whole && peers_matter,
		.lost = any_gpu_reports(e) && peers_matter &&
			(!(said->has & HAS_STATES) || (has_p2p && !whole)),
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
	struct nvswitch_finding f = { .state = (uint8_t)what->state,
				      .kind = NVSWITCH_IS_EVENT,
				      .trust = (uint8_t)c->trust,
				      .remedy = (uint8_t)what->remedy,
				      .gpu = (int8_t)what->gpu,
				      .sw = (int8_t)what->sw,
				      .link = (int16_t)what->link,
				      .code = what->code };

	if (what->gpu >= 0)
		snprintf(f.pci, sizeof(f.pci), "%s", m->gpus[what->gpu].pci);
	snprintf(f.text, sizeof(f.text), "%s", what->text);
	memory_note(m, &f, (uint8_t)(1u << (c->source < 7 ? c->source : 6)), c->now_us);
}

static void xid_happened(struct memory *m, const struct evidence_context *c, unsigned g,
			 uint32_t xid)
{
	char text[92];
	const struct what what = { (int)g, -1, -1, xid, xid_state(xid), xid_remedy(xid), text };

	snprintf(text, sizeof(text), "GPU %u: Xid %u%s%s", g, xid, *xid_words(xid) ? ", " : "",
		 xid_words(xid));
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

static void take_xids(struct memory *m, const struct evidence *e, const struct evidence_context *c,
		      bool first)
{
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
}

static uint32_t count_before(const struct memory *m, const struct xid_count *count)
{
	for (unsigned i = 0; i < m->ncounts; i++)
		if (m->counts[i].gpu == count->gpu && m->counts[i].xid == count->xid)
			return m->counts[i].count;
	return 0;
}

/* What this exporter counted before is over, what others did stays. */
static void keep_counts(struct memory *m, const struct evidence *e, uint8_t source)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < m->ncounts; i++)
		if (m->counts[i].source != source)
			m->counts[kept++] = m->counts[i];
	for (unsigned i = 0; i < e->ncounts && kept < MEMORY_COUNTS; i++) {
		m->counts[kept] = e->counts[i];
		m->counts[kept++].source = source;
	}
	m->ncounts = kept;
}

/* Of the last minutes: what is in it is new, whatever came before. */
static void take_counts(struct memory *m, const struct evidence *e,
			const struct evidence_context *c)
{
	for (unsigned i = 0; i < e->ncounts; i++)
		if (e->counts[i].count > count_before(m, &e->counts[i]))
			xid_happened(m, c, e->counts[i].gpu, e->counts[i].xid);
	keep_counts(m, e, c->source);
}

static void take_failures(struct memory *m, const struct evidence *e,
			  const struct evidence_context *c, bool first)
{
	for (unsigned g = 0; g < MEMORY_GPUS; g++) {
		struct memory_gpu *gpu = &m->gpus[g];
		char text[92];
		const struct what what = {
			(int)g, -1, -1, 0, NVSWITCH_DEGRADED_LINK, NVSWITCH_RESET_GPU, text
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

/* All GPUs that are there say that they are whole. */
static bool all_whole(const struct evidence *e, const struct memory *m,
		      const struct evidence_context *c)
{
	unsigned whole = 0;

	for (unsigned g = 0; g < evidence_gpus_expected(e, m); g++) {
		struct proof p = prove(e, m, g, c);

		whole += p.whole;
		if (p.lost)
			return false;
	}
	return whole > 0;
}

static void sxid_happened(struct memory *m, const struct evidence_context *c, unsigned n, int link,
			  uint32_t sxid)
{
	char text[92];
	const struct what what = {
		-1, (int)n, link, sxid, sxid_state(sxid, true), sxid_remedy(sxid), text
	};

	if (link < 0)
		snprintf(text, sizeof(text), "NVSwitch %u: fatal SXid %u", n, sxid);
	else
		snprintf(text, sizeof(text), "NVSwitch %u link %d: fatal SXid %u", n, link, sxid);
	happen(m, c, &what);
}

static void take_sxids(struct memory *m, const struct evidence *e, const struct evidence_context *c,
		       bool first)
{
	bool old = first && all_whole(e, m, c);

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

static bool link_is_up(const struct evidence *e, const struct nvswitch_finding *f)
{
	const struct switch_said *said;
	uint64_t bit;

	if (f->state != NVSWITCH_DEGRADED_LINK || f->sw < 0 || f->sw >= MEMORY_SWITCHES ||
	    f->link < 0 || f->link >= MEMORY_LINKS)
		return false;
	said = &e->switches[f->sw].said;
	bit = 1ull << f->link % 64;
	return said->links_seen[f->link / 64] & ~said->links_down[f->link / 64] & bit;
}

static bool disproved_by(const struct memory_gpu *gpu, const struct proof *p,
			 const struct nvswitch_finding *f)
{
	if (p->whole && gpu->dipped)
		return true;
	return p->no_action && f->state != NVSWITCH_FATAL;
}

/* An event that names no GPU is of all of them. */
static bool is_disproved(const struct evidence *e, const struct memory *m,
			 const struct proof *proofs, const struct memory_event *event,
			 const struct evidence_context *c)
{
	const struct nvswitch_finding *f = &event->finding;
	unsigned whole = 0, dipped = 0, no_action = 0, count = evidence_gpus_expected(e, m);
	int gpu = f->gpu >= 0 ? f->gpu : memory_gpu_by_pci(m, f->pci);

	if (c->now_us < event->last_us + c->settle_us)
		return false;
	if (link_is_up(e, f))
		return true;
	if (gpu >= 0)
		return disproved_by(&m->gpus[gpu], &proofs[gpu], f);
	for (unsigned g = 0; g < count; g++) {
		whole += proofs[g].whole;
		no_action += proofs[g].no_action;
		dipped += m->gpus[g].dipped;
	}
	if (count && whole == count && dipped)
		return true;
	return count && no_action == count && f->state != NVSWITCH_FATAL;
}

static bool concerns(const struct memory *m, unsigned g)
{
	for (unsigned i = 0; i < m->nevents; i++)
		if (m->events[i].finding.gpu < 0 || m->events[i].finding.gpu == (int)g)
			return true;
	return false;
}

static void end_disproved(struct memory *m, const struct evidence *e,
			  const struct evidence_context *c)
{
	struct proof proofs[MEMORY_GPUS];
	unsigned kept = 0;

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
	for (unsigned g = 0; g < MEMORY_GPUS; g++)
		if (proofs[g].whole && m->gpus[g].dipped && !concerns(m, g)) {
			m->gpus[g].dipped = false;
			m->changed = true;
		}
}

/* ---- All of it ------------------------------------------------------------------------------- */

void evidence_remember(const struct evidence *e, struct memory *m, const struct evidence_context *c)
{
	bool first = !m->heard;

	if (!e->samples)
		return;
	keep_host(m, e);
	keep_states(m, e);
	take_xids(m, e, c, first);
	take_counts(m, e, c);
	take_failures(m, e, c, first);
	take_sxids(m, e, c, first);
	end_disproved(m, e, c);
	m->heard = true;
}
