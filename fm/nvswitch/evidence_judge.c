/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * evidence_judge: a whole scrape against what the machine should have.
 *
 *   FATAL          an error of an NVSwitch that takes all down; a switch that wants a reset; the fabric manager failed for every GPU; a GPU
 *                  off the bus while it failed for one
 *   NO_P2P         a GPU does not reach another by NVLink, or is gone; the fabric manager failed for it; fatal errors of a port
 *   DEGRADED_LINK  links down or absent while every GPU reaches every other; capacity said to be limited
 *   UNKNOWN        nothing was said about NVLinks
 *
 * A link that was down when the exporter began is not in its answer, so links are counted against what the machine has. On A100 a GPU
 * that is cut up (MIG) has its NVLinks off on purpose: it and its links are left out of all this.
 */
#include <stdarg.h>
#include <stdio.h>
#include "fm/nvswitch/evidence.h"
#include "fm/nvswitch/sxid.h"

#define XID_FELL_OFF_BUS 79
#define BER_SICK	 1e-12 /* effective, after error correction */

struct judge {
	const struct evidence *e;
	const struct nvswitch_expect *expect;
	enum nvswitch_system system;
	unsigned gpus;	 /* that the machine has */
	uint64_t exempt; /* GPUs with their links off on purpose, by bit */
	unsigned nexempt;
	struct nvswitch_verdict *verdict;
};

struct place { /* what a finding is about; -1 = no such thing */
	int gpu, sw, link;
	uint32_t code;
};
#define NOWHERE ((struct place){ -1, -1, -1, 0 })
#define GPU(n)	((struct place){ (int)(n), -1, -1, 0 })

__attribute__((format(printf, 4, 5))) static void find(const struct judge *j,
						       enum nvswitch_state state,
						       struct place place, const char *format, ...)
{
	struct nvswitch_finding finding = { .state = (uint8_t)state,
					    .gpu = (int8_t)place.gpu,
					    .sw = (int8_t)place.sw,
					    .link = (int16_t)place.link,
					    .code = place.code };
	va_list args;

	va_start(args, format);
	vsnprintf(finding.text, sizeof(finding.text), format, args);
	va_end(args);
	nvswitch_verdict_add(j->verdict, &finding);
}

/* ---- GPUs ---------------------------------------------------------------------------------------- */

static bool is_exempt(const struct judge *j, unsigned gpu)
{
	return j->exempt >> gpu & 1;
}

static void judge_peers(const struct judge *j, unsigned g)
{
	const struct evidence_gpu *gpu = &j->e->gpus[g];
	uint64_t others = ((1ull << j->gpus) - 1) & ~(1ull << g) & ~j->exempt;
	uint64_t lost = others & ~gpu->p2p;

	if (gpu->p2p_seen && lost)
		find(j, NVSWITCH_NO_P2P, GPU(g),
		     "GPU %u: no NVLink to %d of %d GPUs, the first GPU %d", g,
		     __builtin_popcountll(lost), __builtin_popcountll(others),
		     __builtin_ctzll(lost));
	else if (gpu->lost_pair)
		find(j, NVSWITCH_NO_P2P, GPU(g), "GPU %u: no NVLink to another GPU", g);
}

static void judge_xid(const struct judge *j, unsigned g)
{
	uint32_t xid = j->e->gpus[g].xid;
	enum nvswitch_state state = xid_state(xid);

	if (state != NVSWITCH_HEALTHY)
		find(j, state, (struct place){ (int)g, -1, -1, xid }, "GPU %u: Xid %u", g, xid);
}

static void judge_gpu(const struct judge *j, unsigned g)
{
	const struct evidence_gpu *gpu = &j->e->gpus[g];

	if (!gpu->seen || is_exempt(j, g))
		return;
	judge_peers(j, g);
	judge_xid(j, g);
	if (gpu->fm_seen && gpu->fm_status == EVIDENCE_FM_FAILURE)
		find(j, NVSWITCH_NO_P2P, GPU(g), "GPU %u: the fabric manager failed", g);
	if (gpu->summary == EVIDENCE_UNHEALTHY)
		find(j, NVSWITCH_NO_P2P, GPU(g), "GPU %u: NVLink fabric unhealthy", g);
	if (gpu->summary == EVIDENCE_LIMITED)
		find(j, NVSWITCH_DEGRADED_LINK, GPU(g), "GPU %u: NVLink capacity limited", g);
}

/* Told first: that others do not reach it follows from it. */
static void judge_absent(const struct judge *j)
{
	for (unsigned g = 0; g < j->gpus; g++)
		if (!j->e->gpus[g].seen)
			find(j, NVSWITCH_NO_P2P, GPU(g), "GPU %u: absent", g);
}

static void judge_all_gpus(const struct judge *j)
{
	unsigned told = 0, failed = 0;
	bool off_bus = false;

	for (unsigned g = 0; g < j->gpus; g++) {
		const struct evidence_gpu *gpu = &j->e->gpus[g];

		told += gpu->seen;
		failed += gpu->fm_seen && gpu->fm_status == EVIDENCE_FM_FAILURE;
		off_bus |= gpu->xid == XID_FELL_OFF_BUS;
	}
	if (told && failed == told)
		find(j, NVSWITCH_FATAL, NOWHERE, "the fabric manager failed for every GPU");
	else if (off_bus && failed)
		find(j, NVSWITCH_FATAL, NOWHERE,
		     "a GPU fell off the bus and the fabric manager failed");
}

static void judge_gpus(const struct judge *j)
{
	judge_absent(j);
	for (unsigned g = 0; g < j->gpus; g++)
		judge_gpu(j, g);
	judge_all_gpus(j);
}

/* ---- NVSwitches and links ------------------------------------------------------------------------ */

static void judge_switch(const struct judge *j, unsigned n)
{
	const struct evidence_switch *sw = &j->e->switches[n];
	struct place place = { -1, (int)n, -1, 0 };

	if (sw->reset_required)
		find(j, NVSWITCH_FATAL, place, "NVSwitch %u: needs a reset", n);
	place.code = sw->fatal;
	if (sw->fatal)
		find(j, sxid_state(sw->fatal, true), place, "NVSwitch %u: fatal SXid %u", n,
		     sw->fatal);
	place.code = sw->nonfatal;
	if (sw->nonfatal)
		find(j, NVSWITCH_HEALTHY, place, "NVSwitch %u: non-fatal SXid %u", n, sw->nonfatal);
	place.code = sw->link_fatal;
	place.link = sw->link_fatal_link;
	if (sw->link_fatal)
		find(j, sxid_state(sw->link_fatal, true), place,
		     "NVSwitch %u link %d: fatal SXid %u", n, place.link, sw->link_fatal);
}

struct links {
	unsigned seen, down, first_switch, first_link, switches;
};

static void count_links(const struct evidence *e, struct links *l)
{
	for (unsigned n = 0; n < EVIDENCE_SWITCHES; n++) {
		bool any = false;

		for (unsigned w = 0; w < EVIDENCE_LINKS / 64; w++) {
			uint64_t down = e->switches[n].links_down[w];

			if (down && !l->down) {
				l->first_switch = n;
				l->first_link = w * 64 + (unsigned)__builtin_ctzll(down);
			}
			any |= e->switches[n].links_seen[w] != 0;
			l->seen += (unsigned)__builtin_popcountll(e->switches[n].links_seen[w]);
			l->down += (unsigned)__builtin_popcountll(down);
		}
		l->switches += any;
	}
}

static void judge_links(const struct judge *j)
{
	unsigned expected = (j->gpus - j->nexempt) * j->expect->links;
	unsigned off =
		j->nexempt * j->expect->links; /* on purpose, and seen as down or not at all */
	struct links l = { 0 };

	count_links(j->e, &l);
	if (l.down > off)
		find(j, NVSWITCH_DEGRADED_LINK,
		     (struct place){ -1, (int)l.first_switch, (int)l.first_link, 0 },
		     "%u NVLinks down, the first NVSwitch %u link %u", l.down - off, l.first_switch,
		     l.first_link);
	if (!l.seen || j->e->repeated || !j->expect->switches)
		return;
	if (l.seen < expected)
		find(j, NVSWITCH_DEGRADED_LINK, NOWHERE, "%u of %u NVLinks absent",
		     expected - l.seen, expected);
	if (l.switches < j->expect->switches)
		find(j, NVSWITCH_DEGRADED_LINK, NOWHERE, "%u of %u NVSwitches absent",
		     j->expect->switches - l.switches, j->expect->switches);
}

static void judge_nmx(const struct judge *j, uint64_t earlier)
{
	const struct evidence *e = j->e;

	if (earlier != UINT64_MAX && e->link_downs > earlier)
		find(j, NVSWITCH_DEGRADED_LINK, NOWHERE,
		     "%llu NVLinks of the switch tray went down",
		     (unsigned long long)(e->link_downs - earlier));
	if (e->worst_ber > BER_SICK)
		find(j, NVSWITCH_DEGRADED_LINK, (struct place){ -1, -1, e->worst_port, 0 },
		     "switch tray port %d: bit error rate %.1e", e->worst_port, e->worst_ber);
}

/* ---- All of it ----------------------------------------------------------------------------------- */

/* What the machine has, but a board with half the GPUs (HGX with four) is as it shows itself. */
static unsigned count_gpus(const struct judge *j)
{
	unsigned seen = 0, top = 0;

	for (unsigned g = 0; g < EVIDENCE_GPUS; g++) {
		seen += j->e->gpus[g].seen;
		top = j->e->gpus[g].seen ? g + 1 : top;
	}
	return seen > j->expect->gpus / 2u && top <= j->expect->gpus ? j->expect->gpus : top;
}

static void note_exempt(struct judge *j)
{
	for (unsigned g = 0; g < EVIDENCE_GPUS && j->system == NVSWITCH_SYSTEM_A100; g++)
		if (j->e->gpus[g].mig) {
			j->exempt |= 1ull << g;
			j->nexempt++;
		}
}

void evidence_judge(const struct evidence *e, uint64_t earlier_downs,
		    struct nvswitch_verdict *verdict)
{
	struct judge j = { .e = e, .verdict = verdict };

	j.system = e->configured != NVSWITCH_SYSTEM_AUTO ? e->configured : e->learnt;
	j.expect = nvswitch_expect(j.system);
	*verdict = (struct nvswitch_verdict){ .system = j.system };
	if (!e->samples) {
		verdict->state = NVSWITCH_UNKNOWN;
		return;
	}
	j.gpus = count_gpus(&j);
	note_exempt(&j);
	if (j.system != NVSWITCH_SYSTEM_OTHER)
		judge_gpus(&j);
	for (unsigned n = 0; n < EVIDENCE_SWITCHES; n++)
		judge_switch(&j, n);
	judge_links(&j);
	if (e->nmx)
		judge_nmx(&j, earlier_downs);
}
